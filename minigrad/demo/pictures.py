"""What the demo draws: how the loss fell, which digits were misread, and the graph of an expression."""

import os

import minigrad as mg


def written_whole(write, path):
    """Call ``write(path)`` such that the file appears complete or not at all, also if Ctrl-C comes between."""
    temporary = f"{path}.part"
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def save_figure(figure, path):
    """Write a picture."""
    written_whole(lambda name: figure.savefig(name, format="png", dpi=110), path)


def loss_curve(history, path):
    """The loss of each step, and the accuracy on the test part after each epoch."""
    from matplotlib.figure import Figure
    figure = Figure(figsize=(7, 4), layout="constrained")
    left = figure.subplots()
    left.plot(history.losses, color="tab:blue", linewidth=0.8)
    left.set_yscale("log")
    left.set_xlabel("step")
    left.set_ylabel("cross entropy of the batch", color="tab:blue")
    if history.accuracies:
        per_epoch = len(history.losses) / len(history.accuracies)
        right = left.twinx()
        right.plot([per_epoch * (i + 1) for i in range(len(history.accuracies))],
                   [100 * (1 - a) for a in history.accuracies], "o-", color="tab:red", markersize=3)
        right.set_yscale("symlog", linthresh=1)
        right.set_ylim(bottom=0)
        right.set_ylabel("misread test digits, %", color="tab:red")
    figure.suptitle("Training on 8 by 8 handwritten digits")
    save_figure(figure, path)


def misread_digits(images, labels, found, path, most=12):
    """Up to `most` of the digits that were misread, with what they are and what was read. Returns how many there are."""
    from matplotlib.figure import Figure
    wrong = (found != labels).numpy().nonzero()[0]
    shown = min(len(wrong), most)
    columns = max(min(shown, 6), 3)
    rows = max(-(-shown // columns), 1)
    figure = Figure(figsize=(1.3 * columns, 1.6 * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, columns).ravel()
    for axis in axes:
        axis.axis("off")
    for axis, i in zip(axes, wrong):
        axis.imshow(images[int(i), 0].numpy(), cmap="gray_r")
        axis.set_title(f"a {labels[int(i)].item()}, read as {found[int(i)].item()}", fontsize=8)
    figure.suptitle(f"{len(wrong)} of {len(labels)} test digits were misread")
    save_figure(figure, path)
    return len(wrong)


def expression_graph(path):
    """The graph of ``(w * x + b).tanh()``: boxes are nodes, ovals are the leaves whose ``.grad`` they feed.

    Returns the path, or None where the package pygraphviz is missing.
    """
    try:
        import pygraphviz
    except ImportError:
        return None
    w, x, b = [mg.tensor(v, requires_grad=True) for v in (2.0, 3.0, 1.0)]
    names = {id(w): "w", id(x): "x", id(b): "b"}
    result = (w * x + b).tanh()
    graph = pygraphviz.AGraph(directed=True, rankdir="RL", label="(w * x + b).tanh(): gradients travel along the arrows",
                              fontname="Helvetica", fontsize=11, dpi=110)
    graph.node_attr.update(fontname="Helvetica", fontsize=11)
    graph.edge_attr.update(fontname="Helvetica", fontsize=9)
    stack, seen = [result.grad_fn], set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is None:
            graph.add_node(id(node), label=node.name(), shape="box", style="filled", fillcolor="lightblue")
        else:
            graph.add_node(id(node), label=f"{node.name()}\n{names[id(leaf)]}.grad", shape="oval", style="filled",
                           fillcolor="palegreen")
        for i, (following, _) in enumerate(node.next_functions):
            if following is not None:
                graph.add_edge(id(node), id(following), label=f"edge {i}")
                stack.append(following)

    def draw(name):
        with open(name, "wb") as file:      # given a name, pygraphviz opens it in a way that Python 3.11.2 refuses
            graph.draw(file, format="png", prog="dot")
    written_whole(draw, path)
    return path
