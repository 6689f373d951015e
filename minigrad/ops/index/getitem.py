"""``x[...]``, for reading and for writing.

An index is *basic* (numbers, slices, None, ...) or *advanced* (tensors and lists of indices or bools). A basic
index gives a view, with one op per item as in PyTorch. An advanced index copies. A mixture applies the basic part
first.

    x[0, idx]           view = x.select(0, 0);      Index(view, (idx,))
    x[0, idx] = y       the same view;              IndexPut(view, y, (idx,)), in place
    x[0, 1:] = y        view = x.select(0, 0)[1:];  Copy(view, y), in place

Mirrors ``torch/csrc/autograd/python_variable_indexing.cpp`` and ``aten/src/ATen/TensorIndexing.*``.
"""

from __future__ import annotations

import operator
import sys
import warnings
from typing import TYPE_CHECKING, Any

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.metadata import meta_of
from cython.cimports.minigrad._core.graph.tensor import TensorBase, wrap
from cython.cimports.minigrad._core.record.apply import call

from minigrad._core.graph.metadata import named_dtype
from minigrad._core.mutation.inplace import apply_inplace
from minigrad.errors import DeviceError, DtypeError, OutOfRangeError, ShapeError, TensorTypeError, TensorValueError
from minigrad.ops.base.arguments import NUMBERS, WRITTEN_AS, convert_number, flag, outside, tensor_argument
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.overwriting import broadcasts_to, copy_, fill_
from minigrad.ops.base.rule import BOOL, INT64
from minigrad.ops.elementwise.selection import number_tensor
from minigrad.ops.index.indexing import Index, IndexPut, IndexPutMask
from minigrad.ops.shape.cat_split import Select, Slice
from minigrad.ops.shape.clone_cast import cast
from minigrad.ops.shape.views import alias, expand, unsqueeze
from minigrad.ops.shape.views import view as reshaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["index_put"]

SLICE = cython.declare(object, Slice.op)
SELECT = cython.declare(object, Select.op)
UINT8 = named_dtype("uint8")
FEW = 32        # a longer sequence is never read as a tuple
MOST = cython.declare(cython.Py_ssize_t, sys.maxsize // 2)


# ---- reading ----------------------------------------------------------------------------------------------


def getitem(x, index):
    """``x[index]``"""
    if type(index) is slice and cython.cast(TensorBase, x, typecheck=True)._meta.ndim:
        return slice_dim(x, 0, index, True)
    x, indices = apply_basic_index(x, index_as_tuple(index))
    return x if indices is None else call(Index.op, (x, indices))


def index_as_tuple(index):
    """Convert `index` to a tuple if it is a short list of more than numbers, as PyTorch does and NumPy once did."""
    if not isinstance(index, (list, range)) or len(index) >= FEW or not any(map(is_item, index)):
        return index
    warnings.warn("Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of x[seq]. "
                  "For an index of the elements write x[minigrad.tensor(seq)].", UserWarning,
                  stacklevel=1 if cython.compiled else 4)
    return tuple(index)


def is_item(x):
    """Whether `x` in a list makes that list a tuple of indices."""
    return x is None or x is Ellipsis or isinstance(x, (slice, TensorBase, np.ndarray, list, tuple, range, str))


@cython.annotation_typing(True)
def apply_basic_index(x: TensorBase, index, reading: cython.bint = True):
    """Apply the basic part of `index`; return the view, and the advanced part or None.

    If the index changes nothing, the view is x itself; for `reading` it is a new tensor, as ``x[...]`` and ``x[:]`` are.
    """
    if x._meta.ndim:
        if type(index) is slice:
            return slice_dim(x, 0, index, reading), None
        if type(index) is int:
            return select_dim(x, 0, index), None
    items: list[Any] = [i if type(i) is int or type(i) is slice else index_as_tensor(i, x)
             for i in (index if isinstance(index, tuple) else (index,))]
    consumed: cython.int = 0
    ellipses: cython.int = 0
    for item in items:
        consumed += consumed_dims(item)
        ellipses += item is Ellipsis
    if consumed and x._meta.ndim == 0:
        raise OutOfRangeError("MG-E301", "invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number")
    if consumed > x._meta.ndim:
        raise OutOfRangeError("MG-E301", f"too many indices for tensor of dimension {x._meta.ndim}")
    if ellipses > 1:
        raise OutOfRangeError("MG-E301", "an index can only have a single ellipsis ('...')")
    view = x
    dim: cython.int = 0
    advanced = {}
    inside = set()
    for item in items:
        if isinstance(item, TensorBase):
            ndim = cython.cast(TensorBase, item)._meta.ndim
            if is_mask(item) and ndim:
                for position in mask_positions(item, view, dim):
                    advanced[dim] = position
                    inside.add(dim)
                    dim += 1
            elif is_mask(item):
                view, advanced[dim] = by_condition(view, dim, item)
                dim += 1
            elif ndim == 0 and item.dtype.category == INT64.category:
                view = select_dim(view, dim, item)
            else:
                advanced[dim] = check_index_tensor(item)
                dim += 1
        elif isinstance(item, slice):
            view = slice_dim(view, dim, item, False)
            dim += 1
        elif item is Ellipsis:
            dim += x._meta.ndim - consumed
        elif item is None:
            view = unsqueeze(view, dim)
            dim += 1
        elif isinstance(item, (bool, np.bool_)):
            view, advanced[dim] = by_condition(view, dim, item)
            dim += 1
        elif isinstance(item, (int, np.integer)):
            view = select_dim(view, dim, item)
        else:
            check_index_tensor(item)        # raises
    if not advanced:
        return (alias(x) if view is x and reading else view), None
    return view, check_indices(view, advanced, inside)


@cython.cfunc
@cython.annotation_typing(True)
def consumed_dims(item) -> cython.int:
    """How many dimensions of the tensor an item of its index is for."""
    if isinstance(item, TensorBase):
        return cython.cast(TensorBase, item)._meta.ndim if is_mask(item) else 1
    return 0 if item is None or item is Ellipsis or isinstance(item, (bool, np.bool_)) else 1


@cython.cfunc
@cython.annotation_typing(True)
def slice_dim(x, dim: cython.int, item: slice, alone: cython.bint):
    """``x[..., start:stop:step, ...]``; a full slice changes nothing, and is an op only if it is `alone` in the index."""
    size: cython.Py_ssize_t = cython.cast(TensorBase, x, typecheck=True)._meta.shape[dim]
    step: cython.Py_ssize_t = clip_bound(item.step, 1)
    if step <= 0:
        raise TensorValueError("MG-E303", "step must be greater than zero",
                               fix="to reverse a dimension of size n, index with minigrad.arange(n - 1, -1, -1)")
    begin: cython.Py_ssize_t = clip_bound(item.start, 0)
    end: cython.Py_ssize_t = clip_bound(item.stop, size)
    if not alone and step == 1 and begin == 0 and end >= size:      # x[-3:] is an op even if it is all of x
        return x
    start, stop = clamp_index(begin, size), clamp_index(end, size)
    return call(SLICE, (x, dim, start, max(start, stop), step))


@cython.cfunc
@cython.annotation_typing(True)
def clip_bound(v, default: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """A bound of a slice as an int, or `default` if it is None. A number too large for any tensor is cut to `MOST`."""
    if v is None:
        return default
    if type(v) is not int:
        try:
            v = operator.index(v)
        except TypeError:
            raise TensorTypeError("MG-E304", "slice indices must be integers or None or have an __index__ method",
                                  found=type(v).__name__) from None
    number: cython.Py_ssize_t
    try:
        number = v
    except OverflowError:       # only if compiled
        return MOST if v > 0 else -MOST
    return max(-MOST, min(MOST, number))


@cython.cfunc
@cython.annotation_typing(True)
def clamp_index(v: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Count `v` from the front, and limit it to [0, size]."""
    v = v + size if v < 0 else v
    return 0 if v < 0 else size if v > size else v


def select_dim(x, dim, item):
    """``x[..., number, ...]``"""
    index = item if type(item) is int else operator.index(item.item() if isinstance(item, TensorBase) else item)
    size = cython.cast(TensorBase, x, typecheck=True)._meta.shape[dim]
    if not -size <= index < size:
        raise OutOfRangeError("MG-E301", f"index {index} is out of bounds for dimension {dim} with size {size}",
                              fix=f"valid indices are {-size} to {size - 1}" if size else "the dimension is empty")
    return call(SELECT, (x, dim, index + size if index < 0 else index))


def by_condition(view, dim, condition):
    """(`view` with a new dimension of size 1, the positions in it: 0 if `condition` is true, else none)."""
    return unsqueeze(view, dim), view.new_tensor([0] if condition else [], dtype=INT64)


def index_as_tensor(item, x):
    """Convert a list or an array of indices to a tensor; return anything else as it is."""
    if isinstance(item, np.ndarray):
        return x.new_tensor(item, dtype=None)
    return x.new_tensor(list(item), dtype=None) if isinstance(item, (list, tuple, range)) else item


@cython.cfunc
@cython.annotation_typing(True)
def is_mask(item) -> cython.bint:
    """Whether `item` is a tensor of bools (or uint8, which PyTorch once used instead of bool)."""
    if not isinstance(item, TensorBase):
        return False
    dtype = cython.cast(TensorBase, item)._meta.dtype
    return dtype is BOOL or dtype is UINT8


def check_index_tensor(item):
    """Return `item`; raise unless it is a tensor that can be an advanced index."""
    if not isinstance(item, TensorBase):
        error = TensorTypeError if isinstance(item, str) else OutOfRangeError       # as in PyTorch
        raise error("MG-E304", "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                    f"(got {type(item).__name__})")
    if item._meta.dtype is INT64:
        return item
    if item.ndim == 1 and item.numel() == 0:
        return cast(item, INT64)
    if item.dtype.name not in ("int64", "int32", "bool", "uint8"):
        raise OutOfRangeError("MG-E304", f"tensors used as indices must be long, int, byte or bool tensors, not {item.dtype.name}")
    return item


def mask_positions(mask, x, dim):
    """The positions where `mask` is True, as one index tensor for each dimension of the mask."""
    for i, size in enumerate(mask.shape):
        if x.shape[dim + i] != size:
            raise OutOfRangeError("MG-E301", f"The shape of the mask {list(mask.shape)} at index {i} does not match the shape of "
                                  f"the indexed tensor {list(x.shape)} at index {dim + i}")
    kernels = mask._meta.backend.kernels
    positions = kernels.nonzero(mask._array)
    columns = [kernels.select(positions, 1, i) for i in range(mask.ndim)]
    return [wrap(column, meta_of(column, mask.device)) for column in columns]


@cython.cfunc
@cython.annotation_typing(True)
def check_indices(x: TensorBase, advanced: dict, inside: set) -> tuple:
    """Check the advanced indices; return a tuple, with None for whole dimensions and without negative numbers.

    The numbers for the dimensions in `inside` are known to be in range.
    """
    found: list = []
    index: TensorBase
    shape: tuple | None = None
    differ: cython.bint = False
    for dim in range(x._meta.ndim):
        given = advanced.get(dim)
        if given is None:
            found.append(None)
            continue
        index = given
        if index._meta.device is not x._meta.device and index._meta.device.type != "cpu":
            raise DeviceError("MG-E202", "indices should be either on cpu or on the same device as the indexed tensor "
                              f"({x._meta.device})", found=str(index._meta.device), fix="x[index.to(x.device)]")
        size = x._meta.shape[dim]
        if dim not in inside and outside(index, size) is not None:      # negative numbers count from the end
            array = index._meta.backend.kernels.to_host(index._array)
            low, high = array.min(), array.max()
            if low < -size or high >= size:
                raise OutOfRangeError("MG-E301", f"index {high if high >= size else low} is out of bounds for dimension {dim} with "
                                      f"size {size}")
            given = index_on_device(np.where(array < 0, array + size, array), x)
        elif index._meta.device is not x._meta.device:          # an index on the CPU is allowed for a tensor on the GPU
            given = index_on_device(index._array, x)
        found.append(cast(given, INT64))
        differ |= shape is not None and shape != index._meta.shape
        shape = index._meta.shape
    if differ:
        try:
            common_shape(found)
        except ValueError:
            raise OutOfRangeError("MG-E301", "shape mismatch: indexing tensors could not be broadcast together with shapes "
                                  + ", ".join([str(list(i.shape)) for i in found if i is not None])) from None
    return tuple(found)


def index_on_device(array, x):
    """The index tensor of `array` on the device of x."""
    return x.new_tensor(array, dtype=INT64)


def common_shape(indices):
    """The shape that the indices, tensors or None, broadcast to."""
    shapes = {i._meta.shape for i in indices if i is not None}
    return shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)


def result_shape(x, indices):
    """The shape of ``x[indices]``: the indices' shape replaces their dimensions, or comes first if these are not neighbours."""
    shape = common_shape(indices)
    dims = [d for d, i in enumerate(indices) if i is not None]
    rest = [x.shape[d] for d in range(x.ndim) if d not in dims]
    together = dims[-1] - dims[0] + 1 == len(dims)
    at = dims[0] if together else 0
    return (*rest[:at], *shape, *rest[at:])


# ---- writing ----------------------------------------------------------------------------------------------


@cython.annotation_typing(True)
def setitem(x: TensorBase, index, value):
    """``x[index] = value``. PyTorch takes only tensors and numbers; we also take lists and arrays."""
    if index is False:
        return          # as in PyTorch: this writes nothing
    index = index_as_tuple(index)
    if isinstance(value, NUMBERS):
        value = convert_number(value, WRITTEN_AS.get(x._meta.dtype, x._meta.dtype))
    elif not isinstance(value, TensorBase):
        value = value_as_tensor(value, x)
    if begins_like(x, index) and (not isinstance(value, TensorBase) or value._meta.numel == 1):
        apply_inplace(IndexPutMask.op, x, (check_value(x, value, index), with_dims(index, x._meta.ndim)))
        return
    view, indices = apply_basic_index(x, index, reading=False)
    if indices is None:
        assign(view, value)
    else:
        value = check_value(view, value, index)
        check_broadcasts(value, view, indices)
        apply_inplace(IndexPut.op, view, (value, indices, False))


def value_as_tensor(value, x):
    """Convert a list or an array that is assigned to elements of x to a tensor."""
    try:
        return x.new_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"can't assign a {type(value).__name__} to a {x.dtype.name} tensor") from None


@cython.cfunc
@cython.annotation_typing(True)
def begins_like(x: TensorBase, mask) -> cython.bint:
    """Whether `mask` is a tensor of bools with the first dimensions of x, all of them or fewer, on its device."""
    if not isinstance(mask, TensorBase):
        return False
    meta = cython.cast(TensorBase, mask)._meta
    return meta.dtype is BOOL and meta.ndim > 0 and meta.shape == x._meta.shape[:meta.ndim] and meta.device is x._meta.device


def with_dims(mask, ndim):
    """Return `mask` with as many dimensions: new ones of size 1 at the end."""
    return mask if mask.ndim == ndim else reshaped(mask, (*mask.shape, *(1,) * (ndim - mask.ndim)))


def only_masks(index):
    """Whether the advanced part of `index` consists of masks only. One without dimensions is an index of 0 or 1 to PyTorch."""
    return all((is_mask(i) and i.ndim) or i is None or i is Ellipsis or isinstance(i, (slice, int, np.integer))
               for i in (index if isinstance(index, tuple) else (index,)))


def assign(view, value):
    """Write `value`, a number or a tensor that broadcasts, to all of `view`."""
    if not isinstance(value, TensorBase):
        value = number_tensor(value, view, view.dtype)
    if value.ndim == 0 and view.ndim > 0:
        fill_(view, value)
    elif value.shape == view.shape:
        copy_(view, value)
    else:
        value = reshaped(value, strip_leading_ones(value))
        copy_(view, value if value.shape == view.shape else expand(value, *view.shape))


def strip_leading_ones(value):
    """The shape of `value` without leading dimensions of size 1."""
    shape = tuple(value._meta.shape)
    while shape and shape[0] == 1:
        shape = shape[1:]
    return shape


def dtype_error(target, value):
    """The error for a value of another dtype, which a write to an advanced index does not convert."""
    return DtypeError("MG-E203", f"Index put requires the source and destination dtypes match, got {target.dtype.name} for the "
                      f"destination and {value.dtype.name} for the source.", fix="value.to(x.dtype)")


def check_value(target, value, index):
    """Return the tensor of `value`, a number or a tensor that is written to an advanced index; leading dimensions of 1 are removed.

    If `index` has masks only, a single number may be of another dtype. So it is in PyTorch, which has another op for that case.
    """
    if not isinstance(value, TensorBase):
        return number_tensor(value, target, target._meta.dtype)
    if value.dtype is not target.dtype:
        if not only_masks(index) or value.numel() != 1:
            raise dtype_error(target, value)
        if value.dtype.is_complex and value.detach().item().imag != 0:
            raise DtypeError("MG-E203", f"value cannot be converted to type {target.dtype.name} without overflow")
    shape = strip_leading_ones(value)
    return value if shape == value._meta.shape else reshaped(value, shape)


@in_place_too
def index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False):
    """`input` with `values` stored at ``input[indices]``, or added with `accumulate`. Mirrors ``torch.index_put``.

    Args:
        input (Tensor): of any dtype.
        indices (tuple of Tensor): of integers or bools, one for each dimension of `input`, or for the first dimensions.
        values (Tensor): of the dtype of `input`; it broadcasts to the shape of ``input[indices]``.
        accumulate (bool): add instead of storing; if an index repeats, all its values are added.

    Raises:
        IndexError: an index is out of range.
        RuntimeError: the shape or the dtype of `values` does not fit.
        TypeError: `indices` is not a tuple of tensors.

    >>> mg.zeros(3).index_put((mg.tensor([0, 0]),), mg.tensor([1., 2.]), accumulate=True)
    tensor([3., 0., 0.])
    """
    tensor_argument("index_put", values, "values", 3)
    flag(accumulate, "accumulate", "index_put")
    if not isinstance(indices, (tuple, list)):
        raise TensorTypeError("MG-E304", f"index_put(): argument 'indices' (position 2) must be tuple of Tensors, not "
                              f"{type(indices).__name__}", fix="x.index_put((index,), values)")
    index = tuple([slice(None) if i is None else unsqueeze(i, 0) if isinstance(i, TensorBase) and not i.ndim else i
                   for i in indices])
    _, found = apply_basic_index(input, index, reading=False)
    if found is None:
        raise TensorTypeError("MG-E304", "index_put(): indices must be tensors")
    if values.dtype is not input.dtype:
        raise dtype_error(input, values)
    check_broadcasts(values, input, found)
    return IndexPut.op, (input, values, found, accumulate)


def check_broadcasts(value, view, indices):
    """Raise unless `value` broadcasts to the shape of ``view[indices]``."""
    if not value._meta.ndim:
        return
    target = result_shape(view, indices)
    if not broadcasts_to(value._meta.shape, target):
        raise ShapeError("MG-E204", f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing "
                         f"result of shape {list(target)}")
