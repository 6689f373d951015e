"""The questions of a step-through: which node runs next, and will it raise? The record has the answers.

Read next: ``_step_through.py``.
"""

from collections.abc import Iterable
from itertools import islice

from minigrad._debug.events import Event
from minigrad.viz._timeline import Quiz, Timeline

__all__ = ["whether_it_raises", "which_is_next"]

OFFERED = 6         # the largest number of answers to a question


def which_is_next(timeline: Timeline, event: Event, ready: Iterable[str], waiting: Iterable[str], turn: int) -> Quiz | None:
    """The question before a node's turn, except the first. Its answers are ready nodes and some waiting ones."""
    options = [event.node or ""]
    for names in (ready, waiting):
        options += [name for name in islice(names, OFFERED) if name != event.node]
    options = sorted(options[:OFFERED], key=lambda name: int(name[1:]))
    if len(options) < 2 or not turn:
        return None
    return Quiz("Which node runs next?", [timeline.title(name) for name in options], timeline.title(event.node or ""), event.why)


def whether_it_raises(timeline: Timeline, event: Event) -> Quiz | None:
    """The question before a node's first action. If nothing fails in the record, only nodes with saved values have one."""
    node = event.node or ""
    error = timeline.errors.get(event.task)
    raises = error is not None and error.node == node
    if not (raises or timeline.saved.get(node) or (timeline.errors and event.op != "AccumulateGrad")):
        return None
    why = event.why if event.kind == "unpack" else "it needs nothing that is gone or overwritten"
    if error is not None and raises:
        why = error.what
    return Quiz(f"{timeline.title(node)} runs now. Will it raise?", ["yes", "no"], "yes" if raises else "no", why)
