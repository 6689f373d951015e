"""The kernels of float16 and bfloat16 arrays: the ordinary kernels, with a conversion before and after each call.

    float16 arrays ──> float32 ──> the kernel ──> float32 ──> rounded to float16, once

Both are formats for storing numbers, not for computing. float16 ends at 65504: the square of 256 is infinite, and 1 / (1 + e¹²)
is 0. bfloat16 is float32 without the last 16 of its 32 bits: a sum of ones would stop at 256. PyTorch computes in float32 on a CPU,
and so do we. NumPy has loops for float16, which convert each number by itself: they take 10 to 50 times as long. (bfloat16 is not
NumPy's own; the package ml_dtypes adds it.)

A call without such an array goes to the kernel unchanged, since an op in float32 may have one operand of two bytes. The copies in
float32 live as long as the call.

Some kernels differ: `UNCHANGED` move numbers or describe memory, `ADDING` do so unless they add, `WRITING` write to their
arguments, and `ROUND_NUMBERS` round a number beside an array.

Mirrors what ``at::opmath_type`` does in PyTorch's kernels (``aten/src/ATen/OpMathType.h``).
"""

from typing import Any

import numpy as np

from minigrad import kernels
from minigrad.kernels.contract import CONTRACT, NUMBER, Kernels, LateKernel
from minigrad.kernels.numpy_ref.precision import rounded

__all__ = ["ROUNDING"]

CPU: Any = kernels.CPU
SINGLE = np.dtype(np.float32)
MOST = {"float16": 0x7bff, "bfloat16": 0x7f7f}      # the bits of the largest numbers

# They compute nothing, or must return a view of their argument.
UNCHANGED = frozenset((
    "as_strided", "as_strided_scatter", "by_columns", "cast", "cat", "conj", "contiguous", "copy", "copy_", "copy_with_layout",
    "diagonal", "empty", "expand", "fill_", "flip", "from_host", "full", "gather", "geometry", "imag", "index", "index_select",
    "into_slice", "masked_fill_", "masked_scatter", "max_pool_select", "nextafter", "number", "obeys_layout", "owns", "permute",
    "real", "resize", "scatter", "select", "slice", "stack", "storage", "t", "take_grid", "to_host", "transpose", "tril", "triu",
    "unsqueeze", "view", "view_as_complex", "view_as_real"))
# They compute only if their last argument is True.
ADDING = frozenset(("index_put", "index_put_"))
# They write to arguments, whose results are rounded too.
WRITING = frozenset(("add_", "index_put_", "sgd_", "adam_"))
# They round a Python number to the dtype first, as PyTorch does. For the others (add, mul ...) it keeps all its digits.
ROUND_NUMBERS = frozenset((
    "atan2", "copysign", "eq", "fmax", "fmin", "fmod", "ge", "gt", "heaviside", "hypot", "le", "logaddexp", "logaddexp2", "lt",
    "maximum", "minimum", "ne", "pow", "remainder", "xlog1py", "xlogy"))


def is_reduced(x):
    """Whether `x` is an array of float16 or bfloat16."""
    return type(x) is np.ndarray and x.dtype.itemsize == 2 and x.dtype.kind in "fV"      # V: a dtype that NumPy does not have


def widen(x):
    """Return an array of float16 or bfloat16 as float32; anything else as it is."""
    return CPU.cast(x, SINGLE) if is_reduced(x) else x


def narrow(x, dtype):
    """Return a float32 array as `dtype`; anything else as it is."""
    return CPU.cast(x, dtype) if type(x) is np.ndarray and x.dtype == SINGLE else x


def rounding(table, number, round_numbers, writes):
    """Make the kernel that computes in float32 by another one.

    Args:
        table (list): the kernels by number, one of which computes.
        number (int): its number.
        round_numbers (bool): round Python numbers first.
        writes (bool): it writes to some of its arguments. Of the others, which it only reads, some may be read-only.
    """
    def kernel(*args):
        dtype = next((x.dtype for x in args if is_reduced(x)), None)
        if dtype is None:
            return table[number](*args)
        wide = [widen(x) for x in args]
        if round_numbers:
            wide = [rounded(x, dtype) if type(x) is float or type(x) is int else x for x in wide]
        z = table[number](*wide)
        for x, copy in zip(args, wide):
            if writes and is_reduced(x) and x.flags.writeable:
                x[...] = narrow(copy, dtype)
        return tuple([narrow(x, dtype) for x in z]) if type(z) is tuple or type(z) is list else narrow(z, dtype)
    return kernel


try:
    from minigrad.kernels.cpu.rounding import rounding  # pyright: ignore[reportMissingImports]
except ImportError:     # interpreted
    pass


def accumulate(x, y):
    if not CPU.owns(x) or x.shape != y.shape or x.dtype != y.dtype or x.strides != y.strides:
        return False
    ROUNDING.add_(x, y)
    return True


def rms_norm(x, w, n_dims, eps):
    z, rstd = CPU.rms_norm(widen(x), widen(w), n_dims, eps)
    return narrow(z, x.dtype), rstd         # rstd stays float32


def bernoulli(generator, shape, p, dtype):
    return CPU.bernoulli(generator, shape, widen(p), dtype)     # the result has the dtype that the caller asks for


def nan_to_num(x, nan, posinf, neginf):
    if not is_reduced(x):
        return CPU.nan_to_num(x, nan, posinf, neginf)
    most = float(np.array(MOST[x.dtype.name], np.uint16).view(x.dtype))     # where the caller names no number
    return narrow(CPU.nan_to_num(widen(x), nan, most if posinf is None else posinf, -most if neginf is None else neginf), x.dtype)


def unless_adding(unchanged, adding):
    """Make the kernel that is `adding` if its last argument is True, else `unchanged`."""
    def kernel(*args):
        return (adding if args[-1] else unchanged)(*args)
    return kernel


def loaded(name):
    """The kernel `name` of `CPU`, imported now if it is late."""
    found = getattr(CPU, name)
    return found.load() if isinstance(found, LateKernel) else found


OWN = {kernel.__name__: kernel for kernel in (accumulate, bernoulli, nan_to_num, rms_norm)}


class Source:
    """The source of the kernels. Those that compute call a kernel of the table of `CPU`, which may import it then."""

    __name__ = __name__
    LATE = frozenset(name for name in UNCHANGED | ADDING if isinstance(getattr(CPU, name), LateKernel))
    RECYCLE = CPU.recycle

    def __dir__(self):
        return CONTRACT

    def __getattr__(self, name):
        """Make the kernel `name`."""
        if name in OWN:
            return OWN[name]
        if name in UNCHANGED:
            return loaded(name)
        kernel = rounding(CPU.table, NUMBER[name], name in ROUND_NUMBERS, name in WRITING)
        if name in ADDING:
            kernel = unless_adding(loaded(name), kernel)
        kernel.__name__ = kernel.__qualname__ = name
        return kernel


ROUNDING: Any = Kernels("rounding", Source())
