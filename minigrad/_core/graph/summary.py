"""What the record says of a tensor: its dtype and shape, and its numbers if they are few.

    tensor([1., 2.])        {"dtype": "float32", "shape": [2], "numbers": [1.0, 2.0]}

Such a summary keeps no tensor alive. Mirrors nothing: see ``observe/recorder.py``.
"""

import numpy as np

from minigrad._core.graph.switches import switches
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.graph.thread_state import current

__all__ = ["call_hook", "describe_type", "summarize"]

FEW = 8         # so many numbers of a tensor are noted one by one


def summarize(tensor):
    """What a tensor holds now: its dtype and shape, and few numbers. None stays None; what is no tensor is named."""
    if tensor is None:
        return None
    if not isinstance(tensor, TensorBase):
        return {"type": type(tensor).__name__}
    array = tensor._array
    told = describe_type(tensor)
    if tensor._meta.numel <= FEW:
        told["numbers"] = round_numbers(array)
    elif tensor._meta.dtype.is_complex:
        told["largest"] = round_number(float(abs(array).max()))
    else:
        wide = array.astype("float64")
        with np.errstate(all="ignore"):     # infinities and NaNs are what one looks for
            told["min"], told["max"], told["mean"] = [round_number(float(x)) for x in (wide.min(), wide.max(), wide.mean())]
    return told


def describe_type(tensor):
    """The dtype and shape of a tensor."""
    return {"dtype": tensor._meta.dtype.name, "shape": list(tensor._meta.shape)}


def round_numbers(array):
    """Nested lists of the numbers of `array`, as they are shown."""
    shown = np.array(array.tolist(), object)
    for place in np.ndindex(shown.shape):
        shown[place] = round_number(shown[place])
    return shown.tolist()


def round_number(value):
    """A number to six digits, which both modes agree on; what JSON has no number for as a text."""
    if isinstance(value, int):
        return value
    if isinstance(value, complex):
        return f"{value:.6g}"
    return float(f"{value:.6g}") if abs(value) < float("inf") else str(value)


def call_hook(kind, hook, seen, *args):
    """Call ``hook(*args)`` and note it; `seen` are the gradients that the hook may change, or the leaf that has it."""
    leaf = isinstance(seen, TensorBase)
    pending = switches.note("hook", current().node, {"hook": kind, "function": hook, "before": [seen.grad] if leaf else seen})
    result = hook(*args)
    after = [seen.grad] if leaf else seen if result is None else result if isinstance(result, tuple) else [result]
    switches.add_to(pending, {"after": [summarize(x) for x in after], "replaced": result is not None})
    return result
