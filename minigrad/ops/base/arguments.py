"""Checks of arguments, for public functions and for rules: an argument that fits is returned, in the form that an op needs.

    tensor_argument             a tensor
    integer, integers           an int of 64 bits; several
    number, real                a number, or the number in a 0-d tensor
    flag, truth                 a bool; any object that is true or false
    dimension, dimensions       dimensions, counted from the front

An argument that does not fit raises the error that PyTorch raises, with the name of the function and of the argument.
"""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.tensor import TensorBase

from minigrad._core.graph.metadata import limits_of, named_dtype
from minigrad.errors import DtypeError, NumberOverflowError, OutOfRangeError, ShapeError, TensorTypeError, TensorValueError

__all__ = ["NUMBERS", "WRITTEN_AS", "check_number_in", "convert_number", "dimension", "dimensions", "flag", "in_words",
           "integer", "number", "outside", "real", "tensor_argument", "tensor_error", "truth", "wrong_type"]

BOOL = named_dtype("bool")
WRITTEN_AS: dict = {named_dtype("float16"): named_dtype("float64")}     # PyTorch writes a number too large for float16 as inf

# The types of numbers: Python's and NumPy's.
NUMBERS: tuple[Any, ...] = (bool, int, float, complex, np.number, np.bool_)
LARGE = 1 << 63             # no int64 reaches it
LARGEST_FLOAT = int(np.finfo(np.float64).max)


def tensor_argument(function, x, name="input", position=1):
    """Return `x`; raise `TypeError` unless it is a tensor."""
    if not isinstance(x, TensorBase):
        raise tensor_error(function, x, name, position)
    return x


def tensor_error(function, x, name, position):
    """Return the error for an argument that must be a tensor."""
    return TensorTypeError(
        "MG-E201", f"{function}(): argument '{name}' (position {position}) must be Tensor, not {type(x).__name__}",
        fix="make it one with minigrad.tensor(...)")


def outside(index, size):
    """Return an element of the int tensor `index` that is not in [0, size), or None. A GPU searches itself, and we wait for it."""
    if size == 0:
        return index.detach().reshape(-1)[0].item() if index.numel() else None
    return index._meta.backend.kernels.class_outside(index._array, size, 0)


def integer(value, name, function="", expected="int") -> int:
    """Return `value` as an int; raise `TypeError` if it is not an integer (a bool is not), `ValueError` beyond 64 bits."""
    if type(value) is not int:
        try:
            if isinstance(value, (bool, np.bool_)):
                raise TypeError
            value = operator.index(value)
        except TypeError:
            raise wrong_type(function, name, expected, value, "MG-E206") from None
    if not -LARGE <= value < LARGE:
        raise TensorValueError("MG-E302", f"{function}(): argument '{name}': Overflow when unpacking long long",
                               expected="an integer of 64 bits", found=f"one of {value.bit_length()} bits")
    return value


def integers(values, name, function):
    """Return a tuple or list of ints as a tuple. Raises like `integer`."""
    if not isinstance(values, (tuple, list)):
        raise wrong_type(function, name, "tuple of ints", values, "MG-E206")
    return tuple([integer(n, name, function, "tuple of ints") for n in values])


def number(value, name, function, expected="Number") -> Any:
    """Return `value`, a number, or the number in a 0-d tensor; raise `TypeError` for anything else.

    A tensor that requires a gradient also raises: the graph would not know that the result depends on it.
    """
    if type(value) is float:
        return value
    if type(value) is int or isinstance(value, NUMBERS):
        if type(value) is int and abs(value) > LARGEST_FLOAT:
            raise NumberOverflowError("MG-E302", f"{function}(): argument '{name}' is too large for a float")
        return value
    if isinstance(value, TensorBase) and value.ndim == 0 and not value.requires_grad:
        return value.item()
    raise wrong_type(function, name, expected, value)


def convert_number(value, dtype) -> Any:
    """Return the number `value`, real if `dtype` is real; raise `RuntimeError` if `dtype` cannot hold it.

    A dtype cannot hold a finite number beyond its largest. An integer dtype cannot hold nan or inf, and a real dtype cannot hold an
    imaginary part. An unsigned dtype holds a negative number as its two's complement. `bool` holds any number, as true or false.
    """
    if dtype is BOOL:
        return bool(value)
    if type(value) is not float and type(value) is not int and not dtype.is_complex and not value.imag:
        value = value.real
    parts = (value.real, value.imag) if dtype.is_complex else (value,)
    least, most = range_of(dtype.to_real() if dtype.is_complex else dtype)
    for part in parts:
        if isinstance(part, (complex, np.complexfloating)) or not (
                least <= part <= most or (dtype.differentiable and not -math.inf < part < math.inf)):
            raise DtypeError("MG-E203", f"value cannot be converted to type {dtype.name} without overflow", found=str(value),
                             expected=f"numbers from {least} to {most}")
    return value


def check_number_in(value, dtype):
    """Raise if integers of `dtype` cannot hold the number in `value`, a 0-d tensor that is about to be converted and written."""
    if not dtype.differentiable and value.dtype is not dtype and value.device.type != "meta":
        convert_number(value.detach().item(), dtype)


@functools.cache
def range_of(dtype):
    """The least and the largest number of a real `dtype`, below 0 for an unsigned one (see `convert_number`)."""
    if dtype.differentiable:
        return -float(limits_of(dtype).max), float(limits_of(dtype).max)
    most = int(np.iinfo(dtype.numpy).max)
    return (int(np.iinfo(dtype.numpy).min) if np.iinfo(dtype.numpy).min else -most), most


def real(value, name, function) -> Any:
    """Return `value`, a real number. Raises like `number`."""
    if type(value) is float:
        return value
    value = number(value, name, function, "float")
    if isinstance(value, (complex, np.complexfloating)):
        raise wrong_type(function, name, "float", value)
    return value


def wrong_type(function, name, expected, value, code="MG-E201"):
    """Return the error for an argument of the wrong type."""
    fix = None
    if isinstance(value, TensorBase):
        fix = "x.detach(), if it is a constant: there is no derivative with respect to it" if value.requires_grad else "x.item()"
    where = f"{function}(): " if function else ""
    return TensorTypeError(code, f"{where}argument '{name}' must be {expected}, not {type(value).__name__}", fix=fix)


def truth(value, name, function):
    """Return ``bool(value)``, where PyTorch accepts any object; raise `TypeError` for an array, which is neither true nor false."""
    if value is True or value is False:
        return value
    try:
        return bool(value)
    except ValueError:
        raise wrong_type(function, name, "bool", value) from None


def in_words(value):
    """Return text for `value` in a message: a number or string in full, of anything else only the type."""
    return str(value) if value is None or isinstance(value, (str, *NUMBERS)) else f"a {type(value).__name__}"


def flag(value, name, function) -> bool:
    """Return `value`, a bool; raise `TypeError` for anything else."""
    if value is not True and value is not False:
        raise wrong_type(function, name, "bool", value)
    return value


def dimension(dim, ndim):
    """Return `dim` counted from the front; raise `IndexError` if there is no such dimension, `TypeError` if it is not an int."""
    if type(dim) is not int:
        dim = integer(dim, "dim")
    bound = cython.declare(cython.Py_ssize_t, ndim if ndim > 1 else 1)
    at = cython.declare(cython.Py_ssize_t)
    try:
        at = dim
    except OverflowError:       # only in compiled code
        at = bound
    if not -bound <= at < bound:
        raise OutOfRangeError("MG-E301", f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but "
                              f"got {dim})")
    return at + bound if at < 0 else at


ALL_DIMENSIONS = cython.declare(tuple, tuple([tuple(range(ndim)) for ndim in range(8)]))     # those of most tensors, made once


def dimensions(dim, ndim):
    """Return the argument `dim` (None for all, an int, or several) as a sorted tuple, counted from the front."""
    if dim is None:
        return ALL_DIMENSIONS[ndim] if ndim < len(ALL_DIMENSIONS) else tuple(range(ndim))
    if type(dim) is int:
        dim = dimension(dim, ndim)
        return (dim,) if ndim else ()
    if not isinstance(dim, (tuple, list)):
        dim = (dim,)
    dims = [dimension(d, ndim) for d in dim]
    for d in dims:
        if dims.count(d) > 1:
            raise ShapeError("MG-E205", f"dim {d} appears multiple times in the list of dims")
    return tuple(sorted(dims)) if ndim else ()
