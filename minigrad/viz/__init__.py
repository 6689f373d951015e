"""Pictures of what the engine does: step through a record, compare two of them, draw a graph.

    with mg.debug.record() as r:
        loss.backward()
    mg.viz.step(r)              a page to step through what happened                    _step_through.py
    mg.viz.diff(a, b)           two records side by side                                _diff.py
    mg.viz.draw(loss)           the graph behind a tensor                               _draw.py

Each returns an object that a notebook shows as HTML, that prints as a table, and that can be saved. The HTML is one
fragment with its own style, script and pictures: nothing is fetched, and the same program gives the same bytes.

Mirrors nothing: PyTorch has no such views of its engine; torchviz draws graphs.
"""

import sys
from collections.abc import Mapping

from minigrad._arguments import instance
from minigrad._record import Record
from minigrad.autograd.graph import Node
from minigrad.errors import AutogradTypeError, TensorValueError
from minigrad.tensor import Tensor
from minigrad.viz._diff import Diff
from minigrad.viz._draw import Drawing
from minigrad.viz._step_through import Step

__all__ = ["Diff", "Drawing", "Step", "diff", "draw", "step"]

MOST = 1000         # steps on a page


def step(record: Record, first: int = 1, most: int = MOST) -> Step:
    """A page to step through a record: forward, back, by node, or played; and to predict what comes next.

    Args:
        record (Record): what ``with mg.debug.record() as r`` has taken down. A notebook shows `r` itself like this.
        first (int): the step to begin with.
        most (int): how many steps are on the page. What came before is on it all the same, as the state of things at its
            first step; what comes after is not, and the page says how to get there. A thousand steps make about 1 MB and
            a page that reacts at once.

    Returns:
        Step: with ``_repr_html_`` for notebooks and Sphinx, ``save(path)`` for a page of its own; it prints as the record does.

    Raises:
        TypeError: `record` is no record.
        ValueError: `first` is beyond the record, or `most` is not positive.

    The panels: the graph with the node that runs, those that are ready, and those that are done; the ready queue of each
    backward, and what its nodes wait for, with the gradients that have gathered there; the gradients that have reached
    leaves; what nodes have saved, at which version, and in how many bytes; storages with their versions; and the line of the
    program. Lines are known of nodes that were made while the record was being taken, or inside ``mg.debug()``.

    Without a script (in a mail, on paper) the fragment shows all steps as a list, and the panels as they are at the end.

    Without a counterpart in PyTorch.

    >>> x = mg.tensor([1., 2.], requires_grad=True)
    >>> with mg.debug.record() as r:
    ...     y = x.exp().sum()
    ...     y.backward()
    >>> page = mg.viz.step(r)
    >>> page._repr_html_()[:28]
    '<div class="mg-viz mg-step" '
    >>> print(page)                             # the table of the record
    step  event       node               what                     why
       1  made        n1 AccumulateGrad  a new node               the forward pass
       2  made        n2 ExpBackward0    a new node               the forward pass
    ...
    """
    check_record(record, "step")
    if most < 1 or first < 1 or first > max(len(record.events), 1):
        raise TensorValueError("MG-E177", f"viz.step() expects a first step from 1 to {max(len(record.events), 1)} and at least "
                               f"one step, but got first={first}, most={most}")
    return Step(record, first, most)


def diff(a: Record, b: Record, labels: tuple[str, str] = ("a", "b"), most: int = MOST) -> Diff:
    """Two records side by side: with and without ``retain_graph``, or with a hook and without.

    Args:
        a, b (Record): the records.
        labels (tuple of str): what to call them.
        most (int): how many steps of each are on the page.

    Returns:
        Diff: ``pairs`` of steps with a mark: ``=`` the same, ``≠`` the same node does something else, ``−`` only in `a`,
        ``+`` only in `b`. A notebook shows two step-throughs that move together; it prints as the steps that differ.

    Raises:
        TypeError: one is no record.

    Steps are the same if they are told in the same words, but for the numbers of steps. So have both programs make their
    nodes in the same order.

    Without a counterpart in PyTorch.

    >>> def recorded(keep):
    ...     x = mg.tensor([1., 2.], requires_grad=True)
    ...     y = x.exp()
    ...     with mg.debug.record() as r:
    ...         y.backward(mg.ones(2), retain_graph=keep)
    ...     return r
    >>> mg.viz.diff(recorded(False), recorded(True), labels=("freed", "kept"))
    − freed
    + kept
    2 of 13 steps differ
    −    1  begin n1 ExpBackward0: a backward over 2 nodes (saved tensors are freed on the way)
    +    1  begin n1 ExpBackward0: a backward over 2 nodes (the graph is kept)
      ... 6 the same
    −    8  release n1 ExpBackward0: 1 saved tensor (the graph is not to be kept)
      ... 5 the same
    """
    check_record(a, "diff")
    check_record(b, "diff")
    return Diff(a, b, labels, most)


def draw(*tensors: Tensor | Node, names: Mapping[str, Tensor] | None = None) -> Drawing:
    """Draw the graph behind tensors, as it is now.

    Args:
        *tensors (Tensor or Node): where backwards would begin.
        names (dict of Tensor, optional): what to call tensors. None, in a notebook or at the top level of a script: as its
            variables are called. ``dict(model.named_parameters())`` names the parameters of a network.

    Returns:
        Drawing: ``nodes`` (name -> op) and ``edges`` (name, number of the edge, name). A notebook shows the picture, it prints as a
        table, and ``save(path)`` writes HTML, SVG, or, with the package pygraphviz, PNG and PDF.

    Raises:
        TypeError: one of `tensors` is neither a tensor nor a node, or one of `names` is no tensor.

    Leaves are round, ops are boxes in which stands what they have saved and which hooks are on them, views lean, and Functions have
    cut corners. Of tensors that have a name those that are views are drawn too, with a dashed arrow to what they are a view of.
    Graphs of more than 150 nodes are laid out by Graphviz if the package pygraphviz is installed, unless so many long edges go
    through them that it would take seconds.

    Without a counterpart in PyTorch; the package torchviz draws its graphs.

    >>> w = mg.tensor([1., 2.], requires_grad=True)
    >>> y = (w * w).exp()
    >>> mg.viz.draw(y, names={"w": w, "y": y})
    node  op              result          leads to  saved
    n1    ExpBackward0    y: float32 [2]  n2        result [2]
    n2    MulBackward0    float32 [2]     n3, n3    other = w [2], self = w [2]
    n3    AccumulateGrad  w: float32 [2]
    """
    for tensor in tensors:
        if not isinstance(tensor, (Tensor, Node)):
            raise AutogradTypeError("MG-E177", f"viz.draw() expects tensors or nodes, but got {type(tensor).__name__}")
    if names is None:
        frame = sys._getframe(1)
        known = frame.f_globals if frame.f_code.co_name == "<module>" else {}
        names = {name: value for name, value in list(known.items()) if isinstance(value, Tensor) and not name.startswith("_")}
    for name, tensor in instance(names, Mapping, "names", "draw").items():
        if not isinstance(tensor, Tensor):
            raise AutogradTypeError("MG-E177", f"viz.draw() expects the names of tensors, but {name} is a {type(tensor).__name__}")
    return Drawing(list(tensors), names)


def check_record(record, who):
    """Refuse what is no record."""
    if not isinstance(record, Record):
        raise AutogradTypeError("MG-E177", f"viz.{who}() expects a record of mg.debug.record(), but got {type(record).__name__}")
