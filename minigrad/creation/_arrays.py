"""Arrays from Python data, such as the nested lists of ``tensor([[1, 2], [3, 4]])``.

    as_array                any data
      check_array             an array that can be the memory of a tensor
      array_of_numbers        numbers, in the dtype that belongs to them
      array_of_sequence       nested lists of numbers, arrays or tensors; `check_nested` checks that their lengths agree
      as_lists                other sequences, such as a deque, as lists

Mirrors ``torch/csrc/utils/tensor_new.cpp``. Read next: ``_from_data.py``, which makes tensors of the arrays.
"""

import math
import warnings
from collections.abc import Mapping

import cython
import numpy as np

from minigrad._core.graph.metadata import CPU, dtype_of, dtype_of_numpy
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.operands import translate_kernel_error
from minigrad._core.record.promotion import default_dtype, operands_dtype
from minigrad.errors import DtypeError, OutOfMemoryError, ShapeError, TensorTypeError, TensorValueError
from minigrad.ops.base.arguments import NUMBERS, convert_number

__all__ = ["as_array", "check_array"]


MOST_DIMENSIONS = 64        # NumPy's
MOST_NUMBERS = 1 << 33      # in nested lists, of which each takes 8 bytes for a reference alone


def as_array(data, dtype, copy):
    """Return `data` as an array of `dtype`, or, if `dtype` is None, of the dtype that belongs to it."""
    if type(data) is list:
        array, copy = array_of_any_sequence(data, dtype), False
    elif isinstance(data, TensorBase):
        array = data._meta.backend.kernels.to_host(data._array)
    elif isinstance(data, (np.ndarray, np.generic)):
        array = check_array(np.asarray(data))
    elif isinstance(data, (float, int, complex)):
        array, copy = array_of_numbers(data, dtype), False
    elif hasattr(data, "__array__") and not isinstance(data, type):
        array = check_array(np.asarray(data))
    elif is_sequence(data):
        array, copy = array_of_any_sequence(data, dtype), False
    else:
        raise not_a_number_error(data, dtype)
    if dtype is not None and array.dtype != dtype:
        return cast(array, dtype)
    return np.array(array, order="K" if isinstance(data, TensorBase) else "C") if copy else array


def cast(array, dtype):
    """Convert an array to `dtype`. Of a complex number that becomes a real one, the real part remains."""
    return CPU.backend.kernels.cast(array, dtype)


def check_array(array):
    """Return `array`; raise if a tensor cannot use its memory."""
    if not array.dtype.isnative:
        raise TensorValueError("MG-E305", "given numpy array has byte order different from the native byte order. Conversion "
                               "between byte orders is currently not supported.", fix='array.astype(array.dtype.newbyteorder("="))')
    dtype_of(array)     # says which dtypes there are
    if any(stride < 0 for stride in array.strides):
        raise TensorValueError(
            "MG-E305", "At least one stride in the given numpy array is negative, and tensors with negative strides are "
            "not currently supported.", fix="array.copy() first")
    return array


def not_a_number_error(data, dtype):
    """Return the error for `data` that is not a number."""
    if isinstance(data, (str, bytes)):
        return TensorTypeError("MG-E306", f"new(): invalid data type {type(data).__name__!r}")
    error = DtypeError if dtype is None else TensorTypeError
    return error("MG-E306", f"Could not infer dtype of {type(data).__name__}", fix="give a number, a nested list or an array")


def array_of_numbers(data, dtype):
    """Return a Python number, or nested lists of numbers, as an array of `dtype`, or of the dtype that belongs to them."""
    array = array_of_lists(data)
    kind = array.dtype.kind
    if kind == "f":
        check_range(array, dtype)
        return cast(array, default_dtype().numpy) if dtype is None else array
    if kind in "bi":
        check_range(array, dtype)
        return array
    if kind == "c":
        if dtype is not None and dtype.kind not in "cb":
            raise TensorTypeError("MG-E306", "must be real number, not complex", expected=dtype.name)
        return cast(array, default_dtype().to_complex().numpy if dtype is None else dtype)
    if kind in "uO" and dtype is not None and dtype.kind in "fcbV":
        try:
            return cast(array, dtype)
        except OverflowError as error:
            raise translate_kernel_error("tensor", error) from None
    raise TensorValueError("MG-E306", "Overflow when unpacking long long: an integer does not fit into int64")


def check_range(array, dtype):
    """Raise if `dtype` is an integer dtype that cannot hold the smallest or the largest of the numbers in `array`."""
    if dtype is not None and dtype.kind in "iu" and array.size and array.dtype != dtype:
        for extreme in (array.min(), array.max()):
            convert_number(extreme.item(), dtype_of_numpy(dtype))


def is_sequence(data):
    """Whether `data` has elements in an order. Text is not a sequence of numbers, and a class is not a sequence."""
    return isinstance(data, (list, tuple, range)) or (
        hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes, Mapping, type)))


def array_of_any_sequence(data, dtype):
    """Return nested sequences as an array. Lists, tuples and ranges are the fast case; other sequences become lists first."""
    try:
        return array_of_sequence(data, dtype)
    except (TypeError, ValueError, DtypeError, ShapeError):
        lists = as_lists(data, 0, {})
        if lists is data:
            raise
    return array_of_sequence(lists, dtype)


def as_lists(data, depth, seen):
    """Return nested sequences as nested lists; `data` itself if every sequence in it is a list, a tuple or a range.

    A tensor beside lists counts as a list of its elements. `seen` maps the id of a list to its result, since a list can hold one
    list several times, or itself.
    """
    if isinstance(data, range) or depth > MOST_DIMENSIONS or not is_sequence(data) or hasattr(data, "__array__"):
        return data
    if id(data) not in seen:
        seen[id(data)] = data
        lists = [as_lists(item, depth + 1, seen) for item in elements_of(data)]
        if isinstance(data, (list, tuple)) and all(new is old for new, old in zip(lists, data)):
            lists = data
        seen[id(data)] = lists
    return seen[id(data)]


def elements_of(data):
    """Return the elements of a sequence. A tensor of several elements beside lists or arrays becomes one of these."""
    if not isinstance(data, (list, tuple)):
        return [data[i] for i in range(len(data))]
    if isinstance(next(iter(data), None), (list, tuple)):
        return [x.tolist() if isinstance(x, TensorBase) else x for x in data]
    if isinstance(next(iter(data), None), np.ndarray):
        return [x._meta.backend.kernels.to_host(x._array) if isinstance(x, TensorBase) else x for x in data]
    return data


def array_of_sequence(data, dtype):
    """Return nested lists or tuples of numbers, arrays or tensors of one element as an array."""
    sizes = sizes_of(data)
    check_size(sizes)
    check_nested(data, sizes, 0, dtype)
    leaf = first_leaf(data)
    if contains_tensor(data):
        found = leaves(data)
        if any([isinstance(x, TensorBase) and x.requires_grad for x in found]):
            warnings.warn("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                          "Consider using tensor.detach() first, or minigrad.stack to keep the history.", UserWarning,
                          stacklevel=1 if cython.compiled else 4)
        kind = operands_dtype(found).numpy
        if dtype is not None and dtype.kind in "iub" and kind.kind in "fc":
            raise TensorTypeError("MG-E306", "only integer tensors of a single element can be converted to an index",
                                  found=kind.name)
        return array_of_lists(unwrap(data)).astype(kind)
    if isinstance(leaf, (np.ndarray, np.generic)):
        array = array_of_lists(unwrap(data))
        if array.dtype.kind in "biufc":
            return array
    if leaf is None:
        return np.empty(sizes, default_dtype().numpy)
    return array_of_numbers(data, dtype)


def array_of_lists(data):
    """Return nested lists of arrays as one array."""
    try:
        return np.array(data)
    except ValueError:
        raise TensorValueError("MG-E306", "only one element tensors can be converted to Python scalars",
                               found="arrays or tensors of different shapes, or beside numbers") from None


def check_size(sizes):
    """Raise if nested lists have more numbers than fit into memory. (Lists that hold one list several times can.)"""
    if math.prod(sizes) > MOST_NUMBERS:
        raise OutOfMemoryError("MG-E311", "tensor(): can't allocate memory", found=f"nested lists of sizes {list(sizes)}")


def contains_tensor(data):
    """Whether nested lists contain a tensor."""
    return any([isinstance(x, TensorBase) or (isinstance(x, (list, tuple)) and contains_tensor(x)) for x in data])


def leaves(data):
    """Return the leaves of nested lists in one list."""
    return [leaf for x in data for leaf in (leaves(x) if isinstance(x, (list, tuple, range)) else [x])]


def unwrap(data):
    """Return nested lists with each tensor, of one element, replaced by its number."""
    return [number_in(x) if isinstance(x, TensorBase) else unwrap(x) if isinstance(x, (list, tuple)) else x for x in data]


def number_in(tensor):
    """Return the only element of a tensor as a 0-d array, which keeps the dtype."""
    if tensor._meta.numel != 1:
        raise TensorValueError("MG-E306", "only one element tensors can be converted to Python scalars",
                               found=f"a tensor of shape {list(tensor.shape)} in a list",
                               fix="minigrad.stack(tensors), which also keeps the history")
    return tensor._meta.backend.kernels.to_host(tensor._array).reshape(())


def sizes_of(data):
    """Return the shape of nested lists, read from their first elements. Raises if they are too deep."""
    sizes = []
    while isinstance(data, (list, tuple, range)):
        try:
            sizes.append(len(data))
        except OverflowError as error:      # of a range
            raise translate_kernel_error("tensor", error) from None
        if len(sizes) > MOST_DIMENSIONS:
            raise TensorValueError("MG-E306", f"too many dimensions {type(data).__name__!r}", expected=f"at most {MOST_DIMENSIONS}")
        if not data:
            break
        data = data[0]
    if isinstance(data, (str, bytes)):
        raise TensorValueError("MG-E306", f"too many dimensions {type(data).__name__!r}: it is not a number")
    return tuple(sizes)


def first_leaf(data):
    """Return the first number of nested lists, or None."""
    while isinstance(data, (list, tuple, range)):
        if not data:
            return None
        data = data[0]
    return data


def check_nested(data, sizes, dim, dtype):
    """Raise unless all lists at one depth have the same length and their leaves are numbers."""
    if dim == len(sizes):
        if isinstance(data, (list, tuple)):
            raise TensorTypeError("MG-E306", f"not a sequence of numbers: a {type(data).__name__} where a number was expected")
        if isinstance(data, (str, bytes)):
            raise TensorTypeError("MG-E306", f"new(): invalid data type {type(data).__name__!r}")
        if isinstance(data, type) or not (isinstance(data, NUMBERS) or hasattr(data, "__array__")):
            raise not_a_number_error(data, dtype)
        return
    if not isinstance(data, (list, tuple, range)):
        raise TensorTypeError("MG-E306", f"not a sequence: a {type(data).__name__} where a list of {sizes[dim]} was expected")
    if len(data) != sizes[dim]:
        raise TensorValueError("MG-E306", f"expected sequence of length {sizes[dim]} at dim {dim} (got {len(data)})")
    innermost = dim + 1 == len(sizes)
    for item in data:
        if not (innermost and (type(item) is float or type(item) is int or type(item) is bool)):
            check_nested(item, sizes, dim + 1, dtype)
