"""``x[...]``, for reading and for writing.

What Python writes between brackets is either *basic* (numbers, slices, None, ...), which gives a view, one
op per item as in PyTorch, or *advanced* (tensors and lists of indices or bools), which copies. A mixture
applies the basic part first.

    x[0, idx]           view = x.select(0, 0);      Index(view, (idx,))
    x[0, idx] = y       the same view;              IndexPut(view, y, (idx,)), in place
    x[0, 1:] = y        view = x.select(0, 0)[1:];  Copy(view, y), in place

Mirrors ``torch/csrc/autograd/python_variable_indexing.cpp`` and ``aten/src/ATen/TensorIndexing.*``.
"""

import operator
import sys
import warnings

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.record.apply import call

from minigrad._core.mutation.inplace import apply_inplace
from minigrad.errors import OutOfRangeError, ShapeError, TensorTypeError, TensorValueError
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.overwriting import broadcasts_to, copy_, fill_
from minigrad.ops.base.rule import INT64, NUMBERS, WRITTEN_AS, converted, flag, outside, tensor_argument
from minigrad.ops.index.indexing import Index, IndexPut
from minigrad.ops.shape.cat_split import Slice, select
from minigrad.ops.shape.clone_cast import cast
from minigrad.ops.shape.views import alias, expand, unsqueeze
from minigrad.ops.shape.views import view as reshaped

__all__ = ["index_put"]

SLICE = cython.declare(object, Slice.op)
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
    """`index`, as a tuple if it is a short sequence of more than numbers: that is how NumPy once read it, and PyTorch does."""
    if not isinstance(index, (list, range)) or len(index) >= FEW or not any(map(is_item, index)):
        return index
    warnings.warn("Using a non-tuple sequence for multidimensional indexing is deprecated; use x[tuple(seq)] instead of x[seq]. "
                  "For an index of the elements write x[minigrad.tensor(seq)].", UserWarning,
                  stacklevel=1 if cython.compiled else 4)
    return tuple(index)


def is_item(x):
    """Whether `x` in a list makes that list a tuple of indices."""
    return x is None or x is Ellipsis or isinstance(x, (slice, TensorBase, np.ndarray, list, tuple, range, str))


def apply_basic_index(x, index, reading=True):
    """Apply the basic part of `index`. Returns the view, and the advanced rest or None.

    Where nothing is left to do the view is x itself, unless it is for `reading`: ``x[...]`` and ``x[:]`` are
    new tensors.
    """
    if cython.cast(TensorBase, x, typecheck=True)._meta.ndim:
        if type(index) is slice:
            return slice_dim(x, 0, index, reading), None
        if type(index) is int:
            return select_dim(x, 0, index), None
    items = [i if type(i) is int or type(i) is slice else index_as_tensor(i, x)
             for i in (index if isinstance(index, tuple) else (index,))]
    consumed = sum([1 if isinstance(i, (slice, int, np.integer)) and not isinstance(i, bool)
                    else i.ndim if is_mask(i) else 0 if i is None or i is Ellipsis or isinstance(i, bool) else 1 for i in items])
    if consumed and x.ndim == 0:
        raise OutOfRangeError("MG-E301", "invalid index of a 0-dim tensor. Use `tensor.item()` to convert it to a number")
    if consumed > x.ndim:
        raise OutOfRangeError("MG-E301", f"too many indices for tensor of dimension {x.ndim}")
    if sum([i is Ellipsis for i in items]) > 1:
        raise OutOfRangeError("MG-E301", "an index can only have a single ellipsis ('...')")
    view = x
    dim = 0
    advanced = {}
    for item in items:
        if item is Ellipsis:
            dim += x.ndim - consumed
        elif item is None:
            view = unsqueeze(view, dim)
            dim += 1
        elif isinstance(item, slice):
            view = slice_dim(view, dim, item, False)
            dim += 1
        elif isinstance(item, (bool, np.bool_)) or (is_mask(item) and item.ndim == 0):
            view = unsqueeze(view, dim)
            advanced[dim] = view.new_tensor([0] if item else [], dtype=INT64)
            dim += 1
        elif isinstance(item, (int, np.integer)) or (isinstance(item, TensorBase) and item.ndim == 0
                                                    and item.dtype.category == INT64.category):
            view = select_dim(view, dim, item)
        elif is_mask(item):
            for position in mask_positions(check_index_tensor(item), view, dim):
                advanced[dim] = position
                dim += 1
        else:
            advanced[dim] = check_index_tensor(item)
            dim += 1
    if not advanced:
        return (alias(x) if view is x and reading else view), None
    return view, check_indices(view, advanced)


@cython.cfunc
def slice_dim(x, dim: cython.int, item: slice, alone: cython.bint) -> object:
    """``x[..., start:stop:step, ...]``; a full slice changes nothing, and is an op only if it stands alone."""
    size: cython.Py_ssize_t = cython.cast(TensorBase, x, typecheck=True)._meta.shape[dim]
    step: cython.Py_ssize_t = clip_bound(item.step, 1)
    if step <= 0:
        raise TensorValueError("MG-E303", "step must be greater than zero",
                               fix="to reverse a dimension of size n, index with minigrad.arange(n - 1, -1, -1)")
    begin: cython.Py_ssize_t = clip_bound(item.start, 0)
    end: cython.Py_ssize_t = clip_bound(item.stop, size)
    if not alone and step == 1 and begin == 0 and end >= size:      # x[-3:] is an op all the same
        return x
    start, stop = clamp_index(begin, size), clamp_index(end, size)
    return call(SLICE, (x, dim, start, max(start, stop), step))


@cython.cfunc
def clip_bound(v, default: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """A bound of a slice, or `default` where it is None. What is too large for any tensor is cut off."""
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
    except OverflowError:       # compiled alone
        return MOST if v > 0 else -MOST
    return max(-MOST, min(MOST, number))


@cython.cfunc
def clamp_index(v: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """`v` counted from the front, not beyond the ends."""
    v = v + size if v < 0 else v
    return 0 if v < 0 else size if v > size else v


def select_dim(x, dim, item):
    """``x[..., number, ...]``"""
    index = item if type(item) is int else operator.index(item.item() if isinstance(item, TensorBase) else item)
    size = cython.cast(TensorBase, x, typecheck=True)._meta.shape[dim]
    if not -size <= index < size:
        raise OutOfRangeError("MG-E301", f"index {index} is out of bounds for dimension {dim} with size {size}",
                              fix=f"valid indices are {-size} to {size - 1}" if size else "the dimension is empty")
    return select(x, dim, index)


def index_as_tensor(item, x):
    """A list or an array of indices as a tensor; anything else as it is."""
    if isinstance(item, np.ndarray):
        return x.new_tensor(item, dtype=None)
    return x.new_tensor(list(item), dtype=None) if isinstance(item, (list, tuple, range)) else item


def is_mask(item):
    """Whether `item` is a tensor of bools (or bytes, which once were bools)."""
    return isinstance(item, TensorBase) and item.dtype.name in ("bool", "uint8")


def check_index_tensor(item):
    """`item`, a tensor that is an advanced index, and nothing else."""
    if not isinstance(item, TensorBase):
        error = TensorTypeError if isinstance(item, str) else OutOfRangeError       # PyTorch's choice
        raise error("MG-E304", "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                    f"(got {type(item).__name__})")
    if item.ndim == 1 and item.numel() == 0:
        return cast(item, INT64)
    if item.dtype.name not in ("int64", "int32", "bool", "uint8"):
        raise OutOfRangeError("MG-E304", f"tensors used as indices must be long, int, byte or bool tensors, not {item.dtype.name}")
    return item


def mask_positions(mask, x, dim):
    """The positions where `mask` holds, one index tensor per dimension of the mask."""
    for i, size in enumerate(mask.shape):
        if x.shape[dim + i] != size:
            raise OutOfRangeError("MG-E301", f"The shape of the mask {list(mask.shape)} at index {i} does not match the shape of "
                                  f"the indexed tensor {list(x.shape)} at index {dim + i}")
    return [x.new_tensor(p, dtype=INT64) for p in np.nonzero(mask._meta.backend.kernels.to_host(mask._array))]


def check_indices(x, advanced):
    """The advanced indices as a tuple with None for whole dimensions, checked, negatives counted from the end."""
    found = []
    for dim in range(x.ndim):
        index = advanced.get(dim)
        if index is None:
            found.append(None)
            continue
        if index.device is not x.device and index.device.type != "cpu":
            raise ShapeError("MG-E202", "indices should be either on cpu or on the same device as the indexed tensor "
                             f"({x.device})", found=str(index.device), fix="x[index.to(x.device)]")
        size = x.shape[dim]
        if outside(index, size) is not None:        # what is negative counts from the end
            array = index._meta.backend.kernels.to_host(index._array)
            low, high = array.min(), array.max()
            if low < -size or high >= size:
                raise OutOfRangeError("MG-E301", f"index {high if high >= size else low} is out of bounds for dimension {dim} with "
                                      f"size {size}")
            index = x.new_tensor(np.where(array < 0, array + size, array), dtype=INT64)
        elif index.device is not x.device:          # a GPU is also indexed from the CPU
            index = x.new_tensor(index._array, dtype=INT64)
        found.append(cast(index, INT64))
    try:
        np.broadcast_shapes(*[i.shape for i in found if i is not None])
    except ValueError:
        raise OutOfRangeError("MG-E301", "shape mismatch: indexing tensors could not be broadcast together with shapes "
                              + ", ".join([str(list(i.shape)) for i in found if i is not None])) from None
    return tuple(found)


def result_shape(x, indices):
    """The shape of ``x[indices]``: that of the indices in the place of the first, or in front if they are apart."""
    shape = np.broadcast_shapes(*[i.shape for i in indices if i is not None])
    dims = [d for d, i in enumerate(indices) if i is not None]
    rest = [x.shape[d] for d in range(x.ndim) if d not in dims]
    together = dims[-1] - dims[0] + 1 == len(dims)
    at = dims[0] if together else 0
    return (*rest[:at], *shape, *rest[at:])


# ---- writing ----------------------------------------------------------------------------------------------


def setitem(x, index, value):
    """``x[index] = value``, of which PyTorch takes tensors and numbers alone, we lists and arrays too."""
    if index is False:
        return          # as in PyTorch: nowhere
    index = index_as_tuple(index)
    if isinstance(value, NUMBERS):
        value = converted(value, WRITTEN_AS.get(x.dtype, x.dtype))
    elif not isinstance(value, TensorBase):
        try:
            value = x.new_tensor(value)
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"can't assign a {type(value).__name__} to a {x.dtype.name} tensor") from None
    view, indices = apply_basic_index(x, index, reading=False)
    if indices is None:
        assign(view, value)
    else:
        put_values(view, indices, value, only_masks(index))


def only_masks(index):
    """Whether the advanced part of an index is masks."""
    return all(is_mask(i) or i is None or i is Ellipsis or isinstance(i, (slice, int, np.integer))
               for i in (index if isinstance(index, tuple) else (index,)))


def assign(view, value):
    """Write `value`, a number or a tensor that broadcasts, to all of `view`."""
    if not isinstance(value, TensorBase):
        value = view.new_tensor(value)
    if value.ndim == 0 and view.ndim > 0:
        fill_(view, value)
    elif value.shape == view.shape:
        copy_(view, value)
    else:
        value = reshaped(value, strip_leading_ones(value))
        copy_(view, value if value.shape == view.shape else expand(value, *view.shape))


def strip_leading_ones(value):
    """The shape of `value` without dimensions of size 1 in front."""
    shape = tuple(value._meta.shape)
    while shape and shape[0] == 1:
        shape = shape[1:]
    return shape


def dtype_error(target, value):
    """The error for numbers of another dtype, which an advanced index does not convert."""
    return ShapeError("MG-E203", f"Index put requires the source and destination dtypes match, got {target.dtype.name} for the "
                      f"destination and {value.dtype.name} for the source.", fix="value.to(x.dtype)")


def put_values(view, indices, value, by_masks):
    """Write `value` to the elements that advanced `indices` name.

    One number may be of another dtype if it is masks that name them; so it is in PyTorch, which has another op for that case.
    """
    if not isinstance(value, TensorBase):
        value = view.new_tensor(value)
    if value.dtype is not view.dtype:
        if not by_masks or value.numel() != 1:
            raise dtype_error(view, value)
        if value.dtype.is_complex and value.detach().item().imag != 0:
            raise ShapeError("MG-E203", f"value cannot be converted to type {view.dtype.name} without overflow")
    shape = strip_leading_ones(value)
    if shape != tuple(value._meta.shape):
        value = reshaped(value, shape)
    check_broadcasts(value, view, indices)
    apply_inplace(IndexPut.op, view, (value, indices, False))


@in_place_too
def index_put(input, indices, values, accumulate=False):
    """input with `values` at ``input[indices]``, or, with `accumulate`, added there. Mirrors ``torch.index_put``.

    Args:
        indices (tuple of Tensor): one per dimension, or fewer.
        values (Tensor): broadcasts to the shape that they index.
        accumulate (bool): add; what is named repeatedly is added to repeatedly.

    Raises:
        IndexError: an index is out of range.
        RuntimeError: the shapes or dtypes do not fit.

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
    target = result_shape(view, indices)
    if not broadcasts_to(value._meta.shape, target):
        raise ShapeError("MG-E204", f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing "
                         f"result of shape {list(target)}")
