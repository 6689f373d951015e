"""How a tensor prints.

    tensor([[ 1.0000, -2.5000],
            [ 0.3333, 10.0000]], grad_fn=<MulBackward0>)

All numbers of a tensor are printed with one width and in one style: as integers with a point if they all are
integers, in scientific notation if the largest is over 1000 times the smallest or the sizes are extreme, else
with four digits. Large tensors are abbreviated in the middle of each dimension.

Mirrors ``torch/_tensor_str.py``.
"""

from __future__ import annotations

import math

import numpy as np

from minigrad._arguments import instance
from minigrad._core.graph.thread_state import current
from minigrad._core.record.promotion import default_dtype
from minigrad.errors import TensorValueError
from minigrad.ops.base.arguments import integer, real

__all__ = ["set_printoptions", "tensor_str"]


# The default dtype and the complex one of the same precision print without their names.
COMPLEX = {"float64": "complex128"}


class PrintOptions:
    """See `set_printoptions`."""

    precision = 4
    threshold = 1000
    edgeitems = 3
    linewidth = 80
    sci_mode = None


options = PrintOptions()


def set_printoptions(precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None,
                     linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None) -> None:
    """Set how tensors are printed. Mirrors ``torch.set_printoptions``.

    Args:
        precision (int): digits after the point, 4 at first.
        threshold (int): tensors with more elements are abbreviated, 1000 at first.
        edgeitems (int): how many items an abbreviated dimension shows on each side, 3 at first.
        linewidth (int): characters in a line, 80 at first.
        profile (str): ``"default"``, ``"short"`` or ``"full"``, sets several of these.
        sci_mode (bool): scientific notation always or never; None decides by the numbers.

    >>> mg.set_printoptions(precision=2)
    >>> mg.tensor([0.12345])
    tensor([0.12])
    >>> mg.set_printoptions(profile="default")
    """
    profiles = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}
    if profile is not None:
        if instance(profile, str, "profile", "set_printoptions") not in profiles:
            raise TensorValueError("MG-E302", f"set_printoptions(): there is no profile {profile!r}", expected=", ".join(profiles))
        options.precision, options.threshold, options.edgeitems, options.linewidth = profiles[profile]
    for name, value in (("precision", precision), ("threshold", threshold), ("edgeitems", edgeitems), ("linewidth", linewidth)):
        if value is not None:
            checked = real if name == "threshold" else integer      # inf: nothing is abbreviated
            setattr(options, name, checked(value, name, "set_printoptions"))
    options.sci_mode = sci_mode  # pyright: ignore[reportAttributeAccessIssue]


class Formatter:
    """The style and the width that all numbers of an array print with."""

    def __init__(self, values):
        values = np.asarray(values).reshape(-1)
        self.floating = values.dtype.kind == "f"
        self.integral = True
        self.scientific = False
        self.width = 1
        if not self.floating:
            self.width = max([len(str(v)) for v in values.tolist()], default=1)
            return
        values = values.astype(np.float64)
        nonzero = np.abs(values[np.isfinite(values) & (values != 0)])
        if nonzero.size:
            low, high = nonzero.min(), nonzero.max()
            self.integral = bool((nonzero == np.ceil(nonzero)).all())
            self.scientific = bool(high / low > 1000.0 or high > 1.0e8 or (low < 1.0e-4 and not self.integral))
        if options.sci_mode is not None:
            self.scientific = options.sci_mode
        # As in PyTorch the width is that of the finite numbers: a wider nan or inf sticks out.
        self.width = max([len(self.text(v)) for v in values[np.isfinite(values) & (values != 0)].tolist()], default=1)

    def text(self, value):
        """One number, without padding."""
        if not self.floating:
            return str(value)
        if not math.isfinite(value):
            return str(value)
        if self.scientific:
            return f"{value:.{options.precision}e}"
        if self.integral:
            return f"{value:.0f}."
        return f"{value:.{options.precision}f}"

    def __call__(self, value):
        return self.text(value).rjust(self.width)


class ComplexFormatter:
    """The same for complex numbers: one style for the real parts, one for the imaginary parts."""

    def __init__(self, values):
        values = np.asarray(values)
        self.real, self.imag = Formatter(np.real(values)), Formatter(np.imag(values))
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value):
        imaginary = self.imag(value.imag).lstrip()
        return self.real(value.real) + ("" if imaginary.startswith("-") else "+") + imaginary + "j"


def abbreviate(array):
    """The corners of `array` that an abbreviated print shows."""
    edge = options.edgeitems
    for dim, size in enumerate(array.shape):
        if size > 2 * edge:
            before = (slice(None),) * dim       # slices, for an expanded tensor may have more elements than there is memory
            array = np.concatenate([array[(*before, slice(edge))], array[(*before, slice(size - edge, None))]], dim)
    return array


def format_nested(array, indent, summarise, form):
    """Return the numbers of `array` in nested brackets. Lines after the first are indented."""
    if array.ndim == 0:
        return form(array.item())
    edge = options.edgeitems
    cut = summarise and array.shape[0] > 2 * edge
    if array.ndim == 1:
        per_line = max(1, (options.linewidth - indent) // (form.width + 2))
        if cut:
            items = [form(v) for v in array[:edge].tolist()] + [" ..."] + [form(v) for v in array[-edge:].tolist()]
        else:
            items = [form(v) for v in array.tolist()]
        lines = [", ".join(items[i:i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    rows = [format_nested(row, indent + 1, summarise, form) for row in (array[:edge] if cut else array)]
    if cut:
        rows += ["..."] + [format_nested(row, indent + 1, summarise, form) for row in array[-edge:]]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(rows) + "]"


def tensor_str(tensor, prefix="tensor("):
    """Return ``repr(tensor)``; `prefix` is ``"Parameter containing:\\ntensor("`` for a parameter."""
    indent = len(prefix.rpartition("\n")[2])
    suffixes, default = [], default_dtype()
    array = None if tensor.is_meta else tensor._meta.backend.kernels.to_host(tensor._array)
    if tensor.dtype.name == "bfloat16" and array is not None:
        array = array.astype(np.float32)
    if array is None:
        text, plain = "...", tensor.dtype is default
    elif array.size == 0:
        text = "[]"
        if array.ndim != 1:
            suffixes.append(f"size={tuple(array.shape)}")
        plain = tensor.dtype is default
    else:
        summarise = array.size > options.threshold
        shown = abbreviate(array) if summarise else array
        form = ComplexFormatter(shown) if tensor.dtype.is_complex else Formatter(shown)
        text = format_nested(array, indent, summarise, form)
        plain = tensor.dtype is default or tensor.dtype.name in ("int64", "bool", COMPLEX.get(default.name, "complex64"))
    if tensor.device.type != "cpu":
        suffixes.append(f"device='{tensor.device}'")
    if array is None:
        suffixes.append(f"size={tuple(tensor.shape)}")
    if not plain:
        suffixes.append(f"dtype={tensor.dtype}")
    suffixes += history_suffix(tensor)
    if current().forward_enabled and tensor._tangent is not None:
        suffixes.append(f"tangent={tensor._tangent}")
    line_length = len(text.rpartition("\n")[2]) + (indent if "\n" not in text else 0)
    out = prefix + text
    for suffix in suffixes:
        if line_length + len(suffix) + 2 > options.linewidth:
            out += ",\n" + " " * indent + suffix
            line_length = indent + len(suffix)
        else:
            out += ", " + suffix
            line_length += len(suffix) + 2
    return out + ")"


def history_suffix(tensor):
    """``grad_fn=<MulBackward0>`` or ``requires_grad=True``."""
    try:
        node = tensor.grad_fn
    except RuntimeError:
        return ["grad_fn=<Invalid>"]
    if node is not None:
        return [f"grad_fn=<{node.name()}>"]
    return ["requires_grad=True"] if tensor.requires_grad else []
