"""The pictures of the demo: the loss curve, the misread digits, and the graph of an expression.

`Inline` shows a figure in a notebook or a page of the documentation.
"""

import html
import io
import os
import re

import minigrad as mg


def write_atomically(write, path):
    """Call ``write`` so that the file at `path` appears complete or not at all, even after Ctrl-C."""
    temporary = f"{path}.part"
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def save_figure(figure, path):
    """Write a figure as PNG."""
    write_atomically(lambda name: figure.savefig(name, format="png", dpi=110), path)


def loss_curve(history, path):
    """Draw the loss of each step, and the share of misread test digits after each epoch."""
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
    """Draw up to `most` misread digits with their labels and the digits that were read; return the number of misread digits."""
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
    """Draw the graph of ``(w * x + b).tanh()`` with `mg.viz.draw`.

    Returns the path, or None if the package pygraphviz, which draws PNG, is missing.
    """
    w, x, b = [mg.tensor(v, requires_grad=True) for v in (2.0, 3.0, 1.0)]
    drawing = mg.viz.draw((w * x + b).tanh(), names={"w": w, "x": x, "b": b})
    title = "(w * x + b).tanh(): gradients travel along the arrows"
    try:
        write_atomically(lambda name: drawing.save(name, format="png", title=title), path)
    except ImportError:
        return None
    return path


class Inline:
    """A matplotlib figure as SVG in a page. Lines and letters have the colour of the page's text, light or dark.

    The same figure gives the same bytes. Screen readers read `title`. It must be unique on the page, since the ids in the SVG are
    made from it.
    """

    def __init__(self, figure, title):
        import matplotlib
        text = io.StringIO()
        with matplotlib.rc_context({"svg.hashsalt": title, "svg.fonttype": "none"}):
            figure.savefig(text, format="svg", transparent=True,
                           metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
        drawn = text.getvalue().partition("<svg ")[2].replace("#000000", "currentColor")
        drawn = re.sub(r'<g id="[^"]*"', "<g", drawn)       # such as figure_1, which every figure of the page would have
        label = html.escape(title)
        self._html = (f'<svg role="img" aria-label="{label}" fill="currentColor" style="max-width: 100%; height: auto" '
                      f"{drawn.strip()}")

    def _repr_html_(self):
        return self._html
