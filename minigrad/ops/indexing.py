"""Picking elements: gather, index_select, and ``x[...]`` for reading.

What Python writes between brackets is either *basic* (numbers, slices, None, ...), which gives a view, one
op per item as in PyTorch, or *advanced* (tensors and lists of indices or bools), which copies. A mixture
applies the basic part first.

Each op here has its adjoint in this file too: what `Gather` picks, `ScatterAdd` puts back.

Mirrors ``torch/csrc/autograd/python_variable_indexing.cpp`` and
``aten/src/ATen/native/{TensorAdvancedIndexing,TensorIndexing}.*``.
"""

import operator

import cython
import numpy as np

from minigrad._core.tensor import TensorBase
from minigrad.errors import OutOfRangeError, ShapeError, TensorTypeError, TensorValueError
from minigrad.ops.base import INT64, Linear, dimension, op, tensor_argument
from minigrad.ops.copies import cast
from minigrad.ops.joining import Slice, SliceBackward, select
from minigrad.ops.views import alias, unsqueeze, view

if not cython.compiled:
    from minigrad._core.apply import call

__all__ = ["gather", "index_add", "index_select", "scatter_add"]


@op("gather")
class Gather(Linear):
    """z[i, j] = x[index[i, j], j], for dim 0"""

    inputs = 1

    def forward(k, x, dim, index):
        return k.gather(x, dim, index)

    def vjp_x(g, x_shape, dim, index):
        return call(ScatterAdd.op, (g.new_zeros(x_shape), g, dim, index))


@op("scatter_add")
class ScatterAdd(Linear):
    """z = x, with y[i, j] added at [index[i, j], j], for dim 0"""

    torch_names = {"x": "self", "y": "src"}

    def forward(k, x, y, dim, index):
        return k.scatter_add(x, dim, index, y)

    def vjp_x(g):
        return g

    def vjp_y(g, y_shape, dim, index):
        z = call(Gather.op, (g, dim, index))
        return z if z.shape == y_shape else padded(z, y_shape)

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return linear_together(cls, args, tangents)


def linear_together(rule, args, tangents):
    """The jvp of an op that is linear in its inputs taken together: itself, on zeros where there is no tangent."""
    filled = [x.new_zeros(x.shape) if t is None else t for x, t in zip(args, tangents)]
    return call(rule.op, (*filled, *args[len(tangents):]))


def padded(x, shape):
    """`x` in the corner of zeros of `shape`: scatter_add ignores what its index does not cover."""
    for dim, size in enumerate(shape):
        if x.shape[dim] != size:
            x = call(SliceBackward.op, (x, (*x.shape[:dim], size, *x.shape[dim + 1:]), dim, 0, x.shape[dim], 1))
    return x


@op("index_select")
class IndexSelect(Linear):
    """z[i] = x[index[i]], for dim 0"""

    inputs = 1

    def forward(k, x, dim, index):
        return k.index_select(x, dim, index)

    def vjp_x(g, x_shape, dim, index):
        return call(IndexAdd.op, (g.new_zeros(x_shape), g, dim, index))


@op("index_add")
class IndexAdd(Linear):
    """z = x, with y[i] added at index[i], for dim 0"""

    torch_names = {"x": "self", "y": "source"}

    def forward(k, x, y, dim, index):
        return k.index_add(x, dim, index, y)

    def vjp_x(g):
        return g

    def vjp_y(g, dim, index):
        return call(IndexSelect.op, (g, dim, index))

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return linear_together(cls, args, tangents)


@op("index")
class Index(Linear):
    """z = x[indices], with an index tensor or None (all) for each dimension"""

    inputs = 1

    def forward(k, x, indices):
        return k.index(x, indices)

    def vjp_x(g, x_shape, indices):
        return call(IndexPut.op, (g.new_zeros(x_shape), g, indices, True))


@op("index_put")
class IndexPut(Linear):
    """z = x, with y stored at x[indices], or added"""

    torch_names = {"x": "self", "y": "values"}

    def forward(k, x, y, indices, accumulate):
        return k.index_put(x, indices, y, accumulate)

    def vjp_x(g, y_shape, indices, accumulate):
        return g if accumulate else call(IndexPut.op, (g, g.new_zeros(()), indices, False))

    def vjp_y(g, indices):
        return call(Index.op, (g, indices))

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return linear_together(cls, args, tangents)


# ---- public functions -------------------------------------------------------------------------------------


def index_argument(function, index, size, dim, what="index"):
    """Check an index tensor against the size of its dimension, and return it as int64 without negatives."""
    tensor_argument(function, index, "index", 3)
    if index.dtype.name not in ("int64", "int32"):
        raise ShapeError("MG-E203", f"{function}(): Expected dtype int32/int64 for index, but got {index.dtype.name}")
    array = index._array
    if array.size and (array.min() < 0 or array.max() >= size):
        bad = array[(array < 0) | (array >= size)].flat[0]
        error = OutOfRangeError if function.startswith("index") else ShapeError     # PyTorch's choice
        raise error("MG-E301", f"index {bad} is out of bounds for dimension {dim} with size {size}, in {function}()")
    return cast(index, INT64)


def gather(input, dim, index):
    """The elements of `input` that `index` names along `dim`: ``z[i, j] = input[index[i, j], j]`` for dim 0.

    Args:
        index (Tensor): int64, with as many dimensions as `input`, none larger except along `dim`; the result
            has its shape.

    Mirrors ``torch.gather``.

    Raises:
        RuntimeError: the shapes do not fit, the dtype of `index` is not an integer one, or an index is out of range.
        IndexError: `dim` is out of range.

    >>> mg.gather(mg.tensor([[1., 2.], [3., 4.]]), 1, mg.tensor([[1], [0]]))
    tensor([[2.],
            [3.]])
    """
    tensor_argument("gather", input)
    at = dimension(dim, input.ndim)
    tensor_argument("gather", index, "index", 3)
    check_fits("gather", input, index, at)
    if input.ndim == 0 or index.ndim == 0:      # as if they had one dimension
        return view(gather(view(input, (input.numel(),)), 0, view(index, (index.numel(),))), index.shape)
    return call(Gather.op, (input, at, index_argument("gather", index, (input.shape or (1,))[at], at)))


def check_fits(function, x, index, dim):
    """Raise unless `index` has x's number of dimensions, and no larger ones except along `dim`."""
    if max(x.ndim, 1) != max(index.ndim, 1):
        raise ShapeError("MG-E204", f"Index tensor must have the same number of dimensions as input tensor, in {function}()",
                         found=f"{index.ndim} and {x.ndim}")
    for d in range(min(x.ndim, index.ndim)):
        if d != dim and index.shape[d] > x.shape[d]:
            raise ShapeError("MG-E204", f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger "
                             f"than self {list(x.shape)} apart from dimension {dim}")


def scatter_add(input, dim, index, src):
    """A copy of `input` with `src` added at the places `index` names along `dim`; repeats add up.

    The adjoint of `gather`. Mirrors ``torch.scatter_add``.

    Raises:
        RuntimeError: the shapes do not fit.
        IndexError: an index or `dim` is out of range.

    >>> mg.scatter_add(mg.zeros(3), 0, mg.tensor([0, 2, 0]), mg.tensor([1., 2., 3.]))
    tensor([4., 0., 2.])
    """
    tensor_argument("scatter_add", input)
    others = scatter_add_operands("scatter_add", input, dim, index, src)
    if input.ndim == 0:
        return view(call(ScatterAdd.op, (view(input, (1,)), *others)), ())
    return call(ScatterAdd.op, (input, *others))


def scatter_add_operands(function, x, dim, index, src):
    """What ScatterAdd takes beside x: (src, dim, index), checked, and none of them 0-d."""
    tensor_argument(function, src, "src", 4)
    at = dimension(dim, x.ndim)
    tensor_argument(function, index, "index", 3)
    check_fits(function, x, index, at)
    check_fits(function, src, index, -1)
    if 0 in (x.ndim, index.ndim, src.ndim):
        index, src = view(index, (index.numel(),)), view(src, (src.numel(),))
    return src, at, index_argument(function, index, (x.shape or (1,))[at], at)


def index_select(input, dim, index):
    """The slices of `input` that the vector `index` names along `dim`. Mirrors ``torch.index_select``.

    Raises:
        IndexError: an index or `dim` is out of range, or `index` has more than one dimension.

    >>> mg.index_select(mg.tensor([[1., 2.], [3., 4.]]), 1, mg.tensor([1, 1]))
    tensor([[2., 2.],
            [4., 4.]])
    """
    tensor_argument("index_select", input)
    at = dimension(dim, input.ndim)
    tensor_argument("index_select", index, "index", 3)
    if index.ndim > 1:
        raise OutOfRangeError("MG-E301", "index_select(): Index is supposed to be a vector", found=f"shape {list(index.shape)}")
    index = index_argument("index_select", index, (input.shape or (1,))[at], at)
    if input.ndim == 0:
        if index.numel() != 1:
            raise ShapeError("MG-E204", f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")
        return call(Index.op, (input, ()))
    return call(IndexSelect.op, (input, at, index if index.ndim else unsqueeze(index, 0)))


def index_add(input, dim, index, source, *, alpha=1):
    """A copy of `input` with alpha times the slices of `source` added at `index`. Mirrors ``torch.index_add``.

    Raises:
        RuntimeError: the shapes do not fit.
        IndexError: an index or `dim` is out of range.

    >>> mg.index_add(mg.zeros(3), 0, mg.tensor([0, 0]), mg.tensor([1., 2.]))
    tensor([3., 0., 0.])
    """
    tensor_argument("index_add", input)
    return call(IndexAdd.op, (input, *index_add_operands("index_add", input, dim, index, source, alpha)))


def index_add_operands(function, x, dim, index, source, alpha):
    """What IndexAdd takes beside x: (alpha times source, dim, index), checked."""
    tensor_argument(function, index, "index", 2)
    tensor_argument(function, source, "source", 4)
    at = dimension(dim, x.ndim)
    expected = (*x.shape[:at], index.numel(), *x.shape[at + 1:])
    if tuple(source.shape) != expected:
        raise ShapeError("MG-E204", f"{function}(): source has shape {list(source.shape)}, expected {list(expected)}")
    return source if alpha == 1 else alpha * source, at, index_argument(function, index, x.shape[at], at)


# ---- x[...] -----------------------------------------------------------------------------------------------


def getitem(x, index):
    """``x[index]``"""
    x, indices = basic(x, index)
    return x if indices is None else call(Index.op, (x, indices))


def basic(x, index, reading=True):
    """Apply the basic part of `index`. Returns the view, and the advanced rest or None.

    Where nothing is left to do the view is x itself, unless it is for `reading`: ``x[...]`` and ``x[:]`` are
    new tensors.
    """
    if type(index) is slice and x.ndim:
        return sliced(x, 0, index, reading), None
    if type(index) is int and x.ndim:
        return at_index(x, 0, index), None
    items = [i if type(i) is int or type(i) is slice else as_tensor(i, x)
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
            view = sliced(view, dim, item, reading and len(items) == 1)
            dim += 1
        elif isinstance(item, (bool, np.bool_)) or (is_mask(item) and item.ndim == 0):
            view = unsqueeze(view, dim)
            advanced[dim] = view.new_tensor([0] if item else [], dtype=INT64)
            dim += 1
        elif isinstance(item, (int, np.integer)) or (isinstance(item, TensorBase) and item.ndim == 0
                                                    and item.dtype.category == INT64.category):
            view = at_index(view, dim, item)
        elif is_mask(item):
            for position in positions(as_index(item), view, dim):
                advanced[dim] = position
                dim += 1
        else:
            advanced[dim] = as_index(item)
            dim += 1
    if not advanced:
        return (alias(x) if view is x and reading else view), None
    return view, in_range(view, advanced)


def sliced(x, dim, item, alone):
    """``x[..., start:stop:step, ...]``; a full slice changes nothing, and is an op only if it stands alone."""
    if item.step is not None and operator.index(item.step) <= 0:
        raise TensorValueError("MG-E303", "step must be greater than zero",
                               fix="to reverse a dimension of size n, index with minigrad.arange(n - 1, -1, -1)")
    size = x._meta.shape[dim]
    if not (plain_bound(item.start) and plain_bound(item.stop) and plain_bound(item.step)):
        item = slice(*[None if v is None else operator.index(v) for v in (item.start, item.stop, item.step)])
    start, stop, step = item.indices(size)
    if not alone and step == 1 and not item.start and (item.stop is None or item.stop >= size):     # x[-3:] is an op all the same
        return x
    return call(Slice.op, (x, dim, start, max(start, stop), step))


@cython.cfunc
def plain_bound(v) -> cython.bint:
    """Whether it is what a bound of a slice nearly always is."""
    return v is None or type(v) is int


def at_index(x, dim, item):
    """``x[..., number, ...]``"""
    index = operator.index(item.item() if isinstance(item, TensorBase) else item)
    size = x.shape[dim]
    if not -size <= index < size:
        raise OutOfRangeError("MG-E301", f"index {index} is out of bounds for dimension {dim} with size {size}",
                              fix=f"valid indices are {-size} to {size - 1}" if size else "the dimension is empty")
    return select(x, dim, index)


def as_tensor(item, x):
    """A list or an array of indices as a tensor; anything else as it is."""
    if isinstance(item, np.ndarray):
        return x.new_tensor(item, dtype=None)
    return x.new_tensor(list(item), dtype=None) if isinstance(item, (list, tuple, range)) else item


def is_mask(item):
    """Whether `item` is a tensor of bools (or bytes, which once were bools)."""
    return isinstance(item, TensorBase) and item.dtype.name in ("bool", "uint8")


def as_index(item):
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


def positions(mask, x, dim):
    """The positions where `mask` holds, one index tensor per dimension of the mask."""
    for i, size in enumerate(mask.shape):
        if x.shape[dim + i] != size:
            raise OutOfRangeError("MG-E301", f"The shape of the mask {list(mask.shape)} at index {i} does not match the shape of "
                                  f"the indexed tensor {list(x.shape)} at index {dim + i}")
    return [x.new_tensor(p, dtype=INT64) for p in np.nonzero(mask._array)]


def in_range(x, advanced):
    """The advanced indices as a tuple with None for whole dimensions, checked, negatives counted from the end."""
    found = []
    for dim in range(x.ndim):
        index = advanced.get(dim)
        if index is None:
            found.append(None)
            continue
        array = index._array
        size = x.shape[dim]
        if array.size:
            low, high = array.min(), array.max()
            if low < -size or high >= size:
                raise OutOfRangeError("MG-E301", f"index {high if high >= size else low} is out of bounds for dimension {dim} with "
                                      f"size {size}")
            if low < 0:
                index = x.new_tensor(np.where(array < 0, array + size, array), dtype=INT64)
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
