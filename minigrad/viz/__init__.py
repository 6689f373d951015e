"""Pictures of the engine's work: a record to step through, two records, a graph, a pipeline's schedule, numbers as bars.

    with mg.debug.record() as r:
        loss.backward()
    mg.viz.step(r)              a page to step through the record                       _step_through.py
    mg.viz.diff(a, b)           two records side by side                                _diff.py
    mg.viz.draw(loss)           the graph behind a tensor                               _draw.py
    mg.viz.schedule(found)      which rank of a pipeline did what, and when             _schedule.py
    mg.viz.bars(numbers)        numbers as bars                                         _bars.py

Each returns an object that a notebook shows as HTML and `print` as a table; its `save` writes a file. The HTML is one fragment with
its own style, script and pictures. The browser fetches nothing, and the same program gives the same bytes.

Without a counterpart in PyTorch; the package torchviz draws graphs.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from minigrad._arguments import instance
from minigrad._debug.record import Record
from minigrad.autograd.graph import Node
from minigrad.errors import AutogradTypeError, TensorValueError
from minigrad.tensor import Tensor
from minigrad.viz._bars import Bars
from minigrad.viz._diff import Diff
from minigrad.viz._draw import Drawing
from minigrad.viz._schedule import Schedule
from minigrad.viz._step_through import Step

__all__ = ["Bars", "Diff", "Drawing", "Schedule", "Step", "bars", "diff", "draw", "schedule", "step"]

MOST = 1000         # the largest number of steps on a page, by default


def step(record: Record, first: int = 1, most: int = MOST) -> Step:
    """A page to step through a record: forward, back, by node, or played; it can ask you to predict the next step.

    Args:
        record (Record): the record of ``with mg.debug.record() as r``. A notebook shows `r` itself in the same way.
        first (int, optional): the first step on the page. The state at this step includes all earlier steps.
        most (int, optional): the largest number of steps on the page. Later steps are not on it; the page says how to see them. A
            thousand steps make about 1 MB, and a page that reacts immediately.

    Returns:
        Step: has ``_repr_html_`` for notebooks and Sphinx, and ``save(path)`` for a complete page; it prints like the record.

    Raises:
        TypeError: `record` is not a record.
        ValueError: `first` is not the number of a step of the record, or `most` is not positive.

    The page has these panels:

    - the graph, with the running node, the ready nodes and the finished nodes, their values and gradients;
    - the ready queue of each backward, with the dependencies and the input buffer of each node;
    - the gradients that have reached leaves;
    - the tensors that nodes have saved, their versions, and their bytes;
    - the storages and their versions;
    - the text of the program: the cell or the file, or the functions of a long file. The line that runs is marked, and more lightly
      the line that made the running node. That line is known for nodes made during the record, or inside ``mg.debug()``. If the
      text cannot be read, as at the prompt of Python 3.11, the panel shows that line alone.

    At a node with a formula the step shows it with its numbers. On a narrow page the tables are folded away; *tables* opens
    them. The number of the step is a link to it. *SVG* saves the graph as it is at this step, *▶ SVG* all steps as an animated
    picture for slides, as ``save("steps.svg", animate=1.2)`` does.

    Without a script (in a mail, on paper) the fragment shows all steps as a list, and the panels after the last step.

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
    """Compare two records: for example with and without ``retain_graph``, or with and without a hook.

    Args:
        a, b (Record): the records.
        labels (tuple of str, optional): the names of the two records on the page.
        most (int, optional): the largest number of steps of each record on the page.

    Returns:
        Diff: has ``pairs`` of steps with a mark: ``=`` the same, ``≠`` the same node does something else, ``−`` only in `a`,
        ``+`` only in `b`. A notebook shows two step-throughs that move together; it prints as the steps that differ.

    Raises:
        TypeError: `a` or `b` is not a record.

    Two steps are the same if their descriptions are equal, apart from the numbers of steps in them. So both programs should make
    their nodes in the same order.

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
    −    1  begin n1 ExpBackward0: a backward over 2 nodes (each node frees its saved tensors after it has run)
    +    1  begin n1 ExpBackward0: a backward over 2 nodes (saved tensors are retained)
      ... 6 the same
    −    8  release n1 ExpBackward0: 1 saved tensor (without retain_graph)
      ... 5 the same
    """
    check_record(a, "diff")
    check_record(b, "diff")
    return Diff(a, b, labels, most)


def draw(*tensors: Tensor | Node, names: Mapping[str, Tensor] | None = None) -> Drawing:
    """Draw the graph behind tensors in its current state.

    Args:
        *tensors (Tensor or Node): the tensors or nodes at which a backward would begin.
        names (dict of Tensor, optional): the names of tensors: name -> tensor. By default, in a notebook or at the top level of a
            script, the names of its variables. ``dict(model.named_parameters())`` names the parameters of a network.

    Returns:
        Drawing: has ``nodes`` (name -> op) and ``edges`` (name, number of the edge, name). A notebook shows the picture, `print`
        a table, and ``save(path)`` writes HTML or SVG, and PNG or PDF if the package pygraphviz is installed.

    Raises:
        TypeError: one of `tensors` is neither a tensor nor a node, or a value of `names` is not a tensor.

    Leaves are round. Ops are boxes that list their saved tensors and their hooks; the boxes of views lean, and those of Functions
    have cut corners. A named tensor that is a view has a box too, with a dashed arrow to its base. If the package pygraphviz is
    installed, Graphviz lays out graphs of more than 150 nodes, unless their many long edges would take it seconds.

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


def schedule(planned: Any = None, measured: Any = None, title: str = "") -> Schedule:
    """Draw the schedule of a pipeline: when each rank runs which action, planned beside measured.

    Args:
        planned (Simulation or timeline, optional): what ``simulate`` of ``minigrad.distributed.pipelining`` has returned; or a
            timeline: for each rank, a list of (action, start, end), in a list or in a dict.
        measured (timeline, optional): the same from a step of schedules with ``record = True``:
            ``[schedule.timeline for schedule in schedules]``, or what ``all_gather_object`` has collected.
        title (str, optional): a line above the picture.

    Returns:
        Schedule: has ``halves``, which count the idle time. A notebook shows the picture, `print` a table, and ``save(path)``
        writes HTML or SVG.

    Raises:
        TypeError: one of them is no timeline.
        ValueError: there is neither; one is empty; or there are more than 20,000 actions.

    A box is an action with its kind and its microbatch, and with its stage if a rank has several. Planned and measured times have
    units of their own, so both halves have the same width. A line is idle time.

    Without a counterpart in PyTorch.

    >>> from minigrad.distributed.pipelining import PipelineStage, ScheduleGPipe, simulate
    >>> pipeline = ScheduleGPipe(PipelineStage(mg.nn.Linear(2, 1), 0, 1), 2, loss_fn=mg.nn.MSELoss())
    >>> pipeline.record = True
    >>> y = pipeline.step(mg.ones(4, 2), target=mg.zeros(4, 1))
    >>> len(mg.viz.schedule(simulate("GPipe", 1, 2), [pipeline.timeline]).halves)
    2
    >>> mg.viz.schedule(simulate("GPipe", 2, 2))
             rank  actions  busy  of  idle
    planned  0     4        6     9   33.3 %
    planned  1     4        6     9   33.3 %
    """
    if planned is None and measured is None:
        raise TensorValueError("MG-E177", "viz.schedule() got neither a planned nor a measured schedule",
                               fix='mg.viz.schedule(simulate("1F1B", ranks=4, microbatches=8)), for example')
    return Schedule(planned, measured, title)


def bars(numbers: Mapping[Any, float | Sequence[float]], title: str = "", names: Sequence[str] = ()) -> Bars:
    """Show numbers as horizontal bars.

    Args:
        numbers (dict): label -> a number, or a pair of numbers to compare. A number is finite and at least 0.
        title (str, optional): what the numbers are.
        names (tuple of str, optional): the names of the two numbers, if each label has two.

    Returns:
        Bars: a notebook shows a picture, `print` lines of text; ``save(path)`` writes a page. `rows` has the numbers.

    Raises:
        TypeError: `numbers` is not a dict.
        ValueError: a label has too many or too few numbers, a negative one, nan or an infinite one, or `names` are not two.

    Without a counterpart in PyTorch.

    >>> mg.viz.bars({"1 segment": 64, "8 segments": 15}, "tensors kept")
    tensors kept
     1 segment  64  ########################################
    8 segments  15  #########
    >>> mg.viz.bars({"begin": (8, 8), "end": (0, 8)}, "megabytes", names=("freed", "kept"))
    megabytes
    begin  freed  8  ########################################
           kept   8  ########################################
      end  freed  0
           kept   8  ########################################
    """
    return Bars(numbers, title, names)


def check_record(record, who):
    """Raise if `record` is not a record."""
    if not isinstance(record, Record):
        raise AutogradTypeError("MG-E177", f"viz.{who}() expects a record of mg.debug.record(), but got {type(record).__name__}")
