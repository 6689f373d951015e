"""Type promotion: the dtype in which an op computes if the dtypes of its operands differ.

    int64 tensor   + float32 tensor      -> float32      the higher category wins
    float32 tensor + float64 0-d tensor  -> float32      of a 0-d tensor only the category counts
    float32 tensor + 2.5                 -> float32      the same for a Python number
    int64 tensor   + 2.5                 -> float32      (the default dtype)

Operands have three ranks: tensors with dimensions, 0-d tensors, and Python numbers. Within a rank, dtypes are promoted
pairwise. A lower rank matters only if its category is higher.

Mirrors ``torch.result_type`` (aten/src/ATen/native/TypeProperties.cpp, combine_categories).
"""

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.tensor import TensorBase

from minigrad._core.graph.metadata import BOOL, COMPLEX, FLOAT, INTEGER, DType, dtype_of_numpy, named_dtype
from minigrad.errors import AutogradTypeError, DtypeError

__all__ = ["as_dtype", "check_dtypes", "default_dtype", "dtype_of_number", "operands_dtype", "promote", "ranks_of", "result_dtype",
           "set_default_dtype"]

_default = [named_dtype("float32")]


def default_dtype():
    """The default dtype for floating point results. It is float32 unless `set_default_dtype` has changed it."""
    return _default[0]


def set_default_dtype(dtype):
    """Make `dtype`, a floating point dtype, the default."""
    _default[0] = dtype


def dtype_of_number(number):
    """The dtype of a Python or NumPy number; None if `number` is not a number."""
    if isinstance(number, (bool, np.bool_)):
        return named_dtype("bool")
    if isinstance(number, (int, np.integer)):
        return named_dtype("int64")
    if isinstance(number, (float, np.floating)):
        return _default[0]
    if isinstance(number, (complex, np.complexfloating)):
        return _default[0].to_complex()
    return None


def promote(a, b):
    """The smallest dtype that can hold both. But an integer dtype never widens a floating point dtype."""
    if a is None or a is b:
        return b
    if b is None:
        return a
    if a.category != b.category and min(a.category, b.category) <= INTEGER:
        return a if a.category > b.category else b
    if COMPLEX in (a.category, b.category) and a.category != b.category:
        real = a if a.category == FLOAT else b
        other = b if real is a else a
        return named_dtype("complex128") if real.name == "float64" else other
    if a.itemsize == b.itemsize == 2:       # float16 and bfloat16: one has more digits, the other larger numbers
        return named_dtype("float32")
    return dtype_of_numpy(np.promote_types(a.numpy, b.numpy))


def _combine(higher, lower):
    """The dtype for operands of two ranks, with the dtypes `higher` and `lower` (or None)."""
    if higher is None or lower is None:
        return higher or lower
    if higher.category == COMPLEX:
        return higher
    if higher.category == FLOAT:
        return higher.to_complex() if lower.category == COMPLEX else higher
    if higher.category == BOOL or lower.category >= FLOAT:
        return promote(higher, lower)
    return higher


def result_dtype(operands):
    """The dtype in which an op on `operands` computes.

    Args:
        operands (iterable of pairs): (dtype, rank). The rank is 2 for a tensor with dimensions, 1 for a 0-d tensor, 0 for a
            Python number.

    Returns:
        DType: the dtype.
    """
    found = [None, None, None]
    for dtype, rank in operands:
        found[rank] = promote(found[rank], dtype)
    return _combine(found[2], _combine(found[1], found[0]))


def operands_dtype(operands):
    """The dtype in which an op on these tensors and Python numbers computes."""
    found = None
    for x in operands:
        if isinstance(x, TensorBase):
            dtype = cython.cast(TensorBase, x)._meta.dtype
            if found is None:
                found = dtype
            elif dtype is not found:
                break
        elif found is None or not found.is_floating_point or (type(x) is not float and type(x) is not int):
            break
    else:
        return found        # the usual case: tensors of one dtype, perhaps with a number that does not change it
    return result_dtype(ranks_of(operands))


def ranks_of(operands):
    """The pairs (dtype, rank) of these tensors and Python numbers, for `result_dtype`."""
    return [(x.dtype, 2 if x.ndim > 0 else 1) if isinstance(getattr(x, "dtype", None), DType) else (dtype_of_number(x), 0)
            for x in operands]


def check_dtypes(rule, dtype, operands):
    """Raise `DtypeError` if the op of `rule` does not support `dtype`, in which it computes, or these tensors and numbers."""
    if rule.refuses_complex is not None and dtype.category == COMPLEX:
        raise DtypeError("MG-E203", rule.refuses_complex, found=dtype.name)
    if rule.refuses_bool is not None and dtype.category == BOOL:
        raise DtypeError("MG-E203", rule.refuses_bool)
    if rule.refuses_any_bool is not None and any([d is named_dtype("bool") for d, _ in ranks_of(operands)]):
        raise DtypeError("MG-E203", rule.refuses_any_bool)


def as_dtype(dtype):
    """The `DType` for an argument: a `DType`, a Python type, or a NumPy dtype. Raises `TypeError` for any other."""
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, (type, np.dtype)):
        try:
            return dtype_of_numpy(np.dtype(dtype))
        except TypeError:
            pass
    raise AutogradTypeError("MG-E203", f"dtype must be a minigrad.dtype, not {type(dtype).__name__}",
                            fix="for example minigrad.float32")
