"""The kernels of bfloat16 arrays: the ordinary kernels, with a conversion before and after each call.

    bfloat16 arrays ──> float32 ──> the kernel ──> float32 ──> rounded to bfloat16, once

bfloat16 is float32 without the last 16 of its 32 bits: the same range, but two to three decimal digits. NumPy lacks it, and the
package ml_dtypes adds it. A NumPy ufunc on bfloat16 rounds after each addition, so that a sum of ones stops at 256. PyTorch
computes in float32 on a CPU, and so do we. A call without a bfloat16 array goes to the kernel unchanged, since an op in float32
may have one bfloat16 operand.

Some kernels differ: `UNCHANGED` move numbers or describe memory, `WRITING` write to their arguments, and `ROUND_NUMBERS` round a
number beside an array.

Mirrors what ``at::opmath_type`` does in PyTorch's kernels (``aten/src/ATen/OpMathType.h``).
"""

import numpy as np

from minigrad.kernels.contract import CONTRACT, Kernels
from minigrad.kernels.numpy_ref.precision import quiet

__all__ = ["rounding_kernels"]

SINGLE = np.dtype(np.float32)

# They compute nothing, or must return a view of their argument.
UNCHANGED = frozenset((
    "accumulate", "add_", "as_strided", "by_columns", "cast", "cat", "conj", "contiguous", "copy", "copy_", "copy_with_layout",
    "diagonal", "empty", "expand", "fill_", "flip", "from_host", "full", "gather", "geometry", "imag", "index", "index_select",
    "masked_fill_", "nextafter", "number", "obeys_layout", "owns", "permute", "real", "resize", "select", "slice", "stack",
    "storage", "t", "to_host", "transpose", "tril", "triu", "unsqueeze", "view", "view_as_complex", "view_as_real"))
# They write to arguments, whose results are rounded too.
WRITING = frozenset(("index_put_", "sgd_", "adam_"))
# They round a Python number to bfloat16 first, as PyTorch does. For the others (add, mul ...) it keeps all its digits.
ROUND_NUMBERS = frozenset((
    "atan2", "copysign", "eq", "fmax", "fmin", "fmod", "ge", "gt", "heaviside", "hypot", "le", "logaddexp", "logaddexp2", "lt",
    "maximum", "minimum", "ne", "pow", "remainder", "xlog1py", "xlogy"))


def rounding_kernels(kernels, reference, dtype):
    """Make the kernels for arrays of `dtype`, which is bfloat16.

    Args:
        kernels (Kernels): compute with the float32 arrays.
        reference (Kernels): move numbers of any dtype.
        dtype (np.dtype): bfloat16.

    Returns:
        Kernels: they take arrays of all dtypes.
    """
    class Source:
        __name__ = __name__

    source = Source()
    for name in CONTRACT:
        if name in UNCHANGED:
            made = getattr(reference, name)
        elif name in WRITING:
            made = writing(getattr(kernels, name), dtype)
        else:
            made = rounding(getattr(kernels, name), dtype, name in ROUND_NUMBERS)
        setattr(source, name, made)
    return Kernels("bfloat16", source)


def rounding(kernel, dtype, round_numbers):
    """Wrap a kernel: it computes in float32 for arrays of `dtype`, and its float32 results are rounded to `dtype`."""
    def computed(*args, **kwargs):
        if not contains(args, dtype):
            return kernel(*args, **kwargs)
        if round_numbers:
            args = [float(round_to(np.array(x), dtype)) if type(x) is float or type(x) is int else x for x in args]
        z = kernel(*[widen(x, dtype) for x in args], **kwargs)
        return tuple([narrow(x, dtype) for x in z]) if type(z) is tuple or type(z) is list else narrow(z, dtype)
    computed.__name__ = computed.__qualname__ = kernel.__name__
    computed.__doc__ = kernel.__doc__
    return computed


def writing(kernel, dtype):
    """Wrap a kernel that writes to some of its arguments: it writes to copies in float32, which are rounded back.

    Of the others, which it only reads, some may be read-only.
    """
    def computed(*args):
        copies = [widen(x, dtype) for x in args]
        kernel(*copies)
        for x, copy in zip(args, copies):
            if copy is not x and isinstance(x, np.ndarray) and x.flags.writeable:
                x[...] = round_to(copy, dtype)
    computed.__name__ = computed.__qualname__ = kernel.__name__
    return computed


def contains(args, dtype):
    """Whether arguments, or the items of a list among them, have an array of `dtype`."""
    for x in args:
        if x.dtype == dtype if type(x) is np.ndarray else (type(x) is list or type(x) is tuple) and contains(x, dtype):
            return True
    return False


def widen(x, dtype):
    """Return an array of `dtype`, or those in a list, as float32; anything else as it is."""
    if type(x) is np.ndarray:
        return x.astype(SINGLE) if x.dtype == dtype else x
    return type(x)([widen(item, dtype) for item in x]) if (type(x) is list or type(x) is tuple) and contains(x, dtype) else x


def narrow(x, dtype):
    """Return a float32 array as `dtype`; anything else as it is."""
    return round_to(x, dtype) if type(x) is np.ndarray and x.dtype == SINGLE else x


@quiet
def round_to(x, dtype):
    """Return `x`, rounded to `dtype`."""
    return x.astype(dtype)
