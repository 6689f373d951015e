"""What the demo draws: how the loss fell, which digits were misread, and the graph of an expression.

`Inline` shows a figure in a notebook or a page of the documentation.
"""

import html
import io
import os
import re

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
    """The graph of ``(w * x + b).tanh()``, as `mg.viz.draw` has it.

    Returns the path, or None where the package pygraphviz is missing, which draws PNG.
    """
    w, x, b = [mg.tensor(v, requires_grad=True) for v in (2.0, 3.0, 1.0)]
    drawing = mg.viz.draw((w * x + b).tanh(), names={"w": w, "x": x, "b": b})
    title = "(w * x + b).tanh(): gradients travel along the arrows"
    try:
        written_whole(lambda name: drawing.save(name, format="png", title=title), path)
    except ImportError:
        return None
    return path


class Inline:
    """A matplotlib figure as SVG in a page. Lines and letters have the colour of the page's text, be it light or dark.

    The same figure gives the same bytes. `title` is what a screen reader says, and has to differ from those of other
    figures of the page: the names inside of the SVG are made of it.
    """

    def __init__(self, figure, title):
        import matplotlib
        text = io.StringIO()
        with matplotlib.rc_context({"svg.hashsalt": title, "svg.fonttype": "none"}):
            figure.savefig(text, format="svg", transparent=True,
                           metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
        drawn = text.getvalue().partition("<svg ")[2].replace("#000000", "currentColor")
        drawn = re.sub(r'<g id="[^"]*"', "<g", drawn)       # figure_1: each figure of a page would have it
        label = html.escape(title)
        self._html = (f'<svg role="img" aria-label="{label}" fill="currentColor" style="max-width: 100%; height: auto" '
                      f"{drawn.strip()}")

    def _repr_html_(self):
        return self._html
