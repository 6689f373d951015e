"""Summaries of tensors for the record: dtype and shape, and the numbers if there are few.

    tensor([1., 2.])        {"dtype": "float32", "shape": [2], "numbers": [1.0, 2.0]}

A summary keeps no tensor alive. Mirrors nothing. Read next: ``observe/recorder.py``.
"""

import numpy as np

from minigrad._core.graph.switches import switches
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.graph.thread_state import current

__all__ = ["call_hook", "describe_type", "summarize"]

FEW = 8         # a summary lists the numbers of a tensor with at most this many elements


def summarize(tensor):
    """A dict with the dtype and shape of a tensor, and a few numbers. None for None; the type's name for other objects."""
    if tensor is None:
        return None
    if not isinstance(tensor, TensorBase):
        return {"type": type(tensor).__name__}
    array = tensor._array
    summary = describe_type(tensor)
    if tensor._meta.numel <= FEW:
        summary["numbers"] = round_numbers(array)
    elif tensor._meta.dtype.is_complex:
        summary["largest"] = round_number(float(abs(array).max()))
    else:
        wide = array.astype("float64")
        with np.errstate(all="ignore"):     # a reader of the record looks for infinities and NaNs: they are no warnings here
            numbers = [round_number(float(x)) for x in (wide.min(), wide.max(), wide.mean())]
        summary["min"], summary["max"], summary["mean"] = numbers
    return summary


def describe_type(tensor):
    """A dict with the dtype and shape of a tensor."""
    return {"dtype": tensor._meta.dtype.name, "shape": list(tensor._meta.shape)}


def round_numbers(array):
    """The numbers of `array` as nested lists, each rounded for the record."""
    rounded = np.array(array.tolist(), object)
    for place in np.ndindex(rounded.shape):
        rounded[place] = round_number(rounded[place])
    return rounded.tolist()


def round_number(value):
    """Round to six digits, where both modes agree. A number that JSON cannot express becomes a string."""
    if isinstance(value, int):
        return value
    if isinstance(value, complex):
        return f"{value:.6g}"
    return float(f"{value:.6g}") if abs(value) < float("inf") else str(value)


def call_hook(kind, hook, seen, *args):
    """Call ``hook(*args)`` and note the call. `seen` is a sequence of the gradients that the hook may change, or its leaf."""
    leaf = isinstance(seen, TensorBase)
    pending = switches.note("hook", current().node, {"hook": kind, "function": hook, "before": [seen.grad] if leaf else seen})
    result = hook(*args)
    after = [seen.grad] if leaf else seen if result is None else result if isinstance(result, tuple) else [result]
    switches.add_to(pending, {"after": [summarize(x) for x in after], "replaced": result is not None})
    return result
