"""Picking elements by index tensors: each op that picks, and its adjoint, which adds.

    gather              z[i, j] = x[index[i, j], j]         scatter_add             its adjoint
    index_select        z[i] = x[index[i]]                  index_add               its adjoint
    x[indices]          see ``getitem.py``                  index_put               its adjoint, with ``accumulate=True``

Ops that store instead of adding are in ``scattering.py``.

Mirrors ``aten/src/ATen/native/TensorAdvancedIndexing.*``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad.errors import ArgumentError, DtypeError, OutOfRangeError, ShapeError
from minigrad.ops.base.arguments import dimension, flag, number, outside, tensor_argument
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import INT64, Linear, op
from minigrad.ops.elementwise.selection import where
from minigrad.ops.shape.cat_split import SliceBackward
from minigrad.ops.shape.clone_cast import cast
from minigrad.ops.shape.formats import row_major
from minigrad.ops.shape.views import reshape_temporary, unsqueeze, view

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

__all__ = ["gather", "index_add", "index_select", "scatter_add"]


@op("gather")
class Gather(Linear):
    """z[i, j] = x[index[i, j], j], for dim 0"""

    inputs = 1

    def forward(k, x, dim, index):
        return k.gather(x, dim, index) if index.size else k.empty(index.shape, x.dtype)

    def vjp_x(g, x_shape, dim, index):
        return call(ScatterAdd.op, (g.new_zeros(x_shape), g, dim, index))


@op("scatter_add")
class ScatterAdd(Linear):
    """z = x, with y[i, j] added at [index[i, j], j], for dim 0"""

    hidden = ("y_shape",)
    torch_names = {"x": "self", "y": "src"}

    def forward(k, x, y, dim, index):
        return k.scatter_add(x, dim, index, y) if index.size else k.copy(x)

    def vjp_x(g):
        return g

    def vjp_y(g, y_shape, dim, index):
        return gather_padded(g, y_shape, dim, index)

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return linear_together(cls, args, tangents)


def linear_together(rule, args, tangents):
    """The jvp of an op that is linear in all its inputs together: the op on the tangents, with zeros for missing ones."""
    filled = [x.new_zeros(x.shape) if t is None else t for x, t in zip(args, tangents)]
    return call(rule.op, (*filled, *args[len(tangents):]))


def gather_padded(g, shape, dim, index):
    """The gradient of a source of `shape` that was written to `index`: g at `index`, 0 for elements that were not written."""
    if not index.numel():       # an empty index may have any shape
        return g.new_zeros(shape)
    z = call(Gather.op, (g, dim, index))
    return z if z.shape == shape else pad_to(z, shape)


def pad_to(x, shape):
    """Pad `x` with zeros at the end to `shape`: scatter_add ignores source elements beyond the shape of its index."""
    for dim, size in enumerate(shape):
        if x.shape[dim] != size:
            x = call(SliceBackward.op, (x, (*x.shape[:dim], size, *x.shape[dim + 1:]), dim, 0, x.shape[dim], 1))
    return x


@op("index_select")
class IndexSelect(Linear):
    """z[i] = x[index[i]], for dim 0"""

    inputs = 1

    def forward(k, x, dim, index):
        return k.index_select(x if x.ndim else k.view(x, (1,)), dim, index)

    def vjp_x(g, x_shape, dim, index):
        return call(IndexAdd.op, (g.new_zeros(x_shape), g, dim, index))


@op("index_add")
class IndexAdd(Linear):
    """z = x, with y[i] added at index[i], for dim 0"""

    torch_names = {"x": "self", "y": "source"}

    def forward(k, x, y, dim, index):
        if x.ndim == 0:     # treated as 1-d
            return k.view(k.index_add(k.view(x, (1,)), 0, index, k.view(y, (y.size,))), ())
        return row_major(k, k.index_add(x, dim, index, y))

    def vjp_x(g):
        return g

    def vjp_y(g, y_shape, dim, index):
        return source_slices(g, y_shape, dim, index)

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return linear_together(cls, args, tangents)


def source_slices(g, shape, dim, index):
    """The gradient of a source of `shape`, written to the slices at `index`: these slices of g. A 0-d source is one slice."""
    z = call(IndexSelect.op, (g, dim, index))
    return z if z.shape == shape else view(z, shape)


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

    hidden = ("y_shape",)
    torch_names = {"x": "self", "y": "values"}

    def forward(k, x, y, indices, accumulate):
        return k.index_put(x, indices, k.cast(y, x.dtype), accumulate)

    def write(k, x, y, indices, accumulate):
        k.index_put_(x, indices, k.cast(y, x.dtype), accumulate)

    def vjp_x(g, y_shape, indices, accumulate):
        return g if accumulate else call(IndexPut.op, (g, g.new_zeros(()), indices, False))

    def vjp_y(g, indices):
        return call(Index.op, (g, indices))

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return linear_together(cls, args, tangents)


@op("index_put_mask", "IndexPut0")
class IndexPutMask(Linear):
    """z = y, a 0-d tensor, where mask is True, else x: x[mask] = y"""

    inputs = 2
    hidden = ("mask",)
    torch_names = {"x": "self", "y": "values"}

    def forward(k, x, y, mask):
        return row_major(k, k.where(mask, k.cast(y, x.dtype), x))

    def write(k, x, y, mask):
        k.masked_fill_(x, mask, k.cast(y, x.dtype))

    def vjp_x(g, mask):
        return where(mask, 0.0, g)

    def vjp_y(g, mask):
        return where(mask, g, 0.0).sum()

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return linear_together(cls, args, tangents)


# ---- public functions -------------------------------------------------------------------------------------


def index_argument(function, index, size, dim):
    """Check that the numbers of an index tensor are in [0, size), and return it as int64."""
    tensor_argument(function, index, "index", 3)
    if index._meta.dtype is not INT64 and index.dtype.name != "int32":
        raise DtypeError("MG-E203", f"{function}(): Expected dtype int32/int64 for index, but got {index.dtype.name}")
    bad = outside(index, size)
    if bad is not None:
        error = OutOfRangeError if function.startswith("index") else ArgumentError     # as in PyTorch
        raise error("MG-E301", f"index {bad} is out of bounds for dimension {dim} with size {size}, in {function}()")
    return cast(index, INT64)


def places(function, index, size, dim):
    """Check the index tensor of gather or scatter as `index_argument` does, but let an empty one have any dtype."""
    return index_argument(function, index, size, dim) if index._meta.numel else cast(index, INT64)


def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Tensor | None = None) -> Tensor:
    """The elements of `input` that `index` names along `dim`: ``z[i, j] = input[index[i, j], j]`` for dim 0.

    Args:
        input (Tensor): of any dtype.
        dim (int): the dimension that the indices count along.
        index (Tensor): int64 or int32, with as many dimensions as `input`, none larger except along `dim`; the result
            has its shape. An empty one may have any shape.
        sparse_grad (bool): has no effect: gradients are dense here.

    Mirrors ``torch.gather``.

    Raises:
        RuntimeError: the shapes do not fit, `index` is not int64 or int32, or an index is out of range.
        IndexError: `dim` is out of range.

    >>> mg.gather(mg.tensor([[1., 2.], [3., 4.]]), 1, mg.tensor([[1], [0]]))
    tensor([[2.],
            [3.]])
    """
    if out is not None:
        return into(out, gather, input, dim, index)
    tensor_argument("gather", input)
    flag(sparse_grad, "sparse_grad", "gather")
    at = dimension(dim, input.ndim)
    tensor_argument("gather", index, "index", 3)
    check_fits("gather", input, index, at)
    if input.ndim == 0 or index.ndim == 0:      # treated as 1-d
        z = gather(view(input, (input.numel(),)), 0, view(index, (index.numel(),)))
        return reshape_temporary(z, tuple(index.shape))
    return call(Gather.op, (input, at, places("gather", index, (input.shape or (1,))[at], at)))


def check_fits(function, x, index, dim):
    """Raise unless `index` is empty, or has as many dimensions as `x` and none larger except along `dim`."""
    if not index._meta.numel:
        return
    sizes, limits = index._meta.shape, x._meta.shape
    if max(len(limits), 1) != max(len(sizes), 1):
        raise ShapeError("MG-E204", f"Index tensor must have the same number of dimensions as input tensor, in {function}()",
                         found=f"{len(sizes)} and {len(limits)}")
    for d, (size, limit) in enumerate(zip(sizes, limits)):
        if d != dim and size > limit:
            raise ShapeError("MG-E204", f"Size does not match at dimension {d} expected index {list(sizes)} to be no larger "
                             f"than self {list(limits)} apart from dimension {dim}")


@in_place_too
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor):
    """`input` with `src` added at `index` along `dim`: the adjoint of `gather`. Mirrors ``torch.scatter_add``.

    Args:
        input (Tensor): of any dtype.
        dim (int): the dimension that the indices count along.
        index (Tensor): int64 or int32; ``z[index[i, j], j] += src[i, j]`` for dim 0. Repeated indices add up.
        src (Tensor): of the dtype of `input`, in no dimension smaller than `index`.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or an index is out of range.
        IndexError: `dim` is out of range.

    >>> mg.zeros(3).scatter_add(0, mg.tensor([0, 2, 0]), mg.tensor([1., 2., 3.]))
    tensor([4., 0., 2.])
    """
    return ScatterAdd.op, (input, *scatter_operands("scatter_add", input, dim, index, src))


def scatter_operands(function, x, dim, index, src):
    """Check and return (src, dim, index), the operands of `ScatterAdd` after x. If a tensor is 0-d, src and index become 1-d."""
    tensor_argument(function, src, "src", 4)
    if function == "scatter_add" and src._meta.dtype is not x._meta.dtype:
        raise DtypeError("MG-E203", f"{function}(): Expected self.dtype to be equal to src.dtype", found=f"{x.dtype.name} and "
                         f"{src.dtype.name}", fix="src.to(self.dtype)")
    at = dimension(dim, x._meta.ndim)
    tensor_argument(function, index, "index", 3)
    check_fits(function, x, index, at)
    check_fits(function, src, index, -1)
    if not (x._meta.ndim and index._meta.ndim and src._meta.ndim) and index._meta.numel:
        index, src = view(index, (index.numel(),)), view(src, (src.numel(),))
    return src, at, places(function, index, (x._meta.shape or (1,))[at], at)


def index_select(input: Tensor, dim: int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The slices of `input` at `index` along `dim`: ``z[i] = input[index[i]]`` for dim 0. Mirrors ``torch.index_select``.

    Args:
        input (Tensor): of any dtype.
        dim (int): the dimension of the slices.
        index (Tensor): a vector or 0-d, int64 or int32.

    Raises:
        RuntimeError: `index` is not int64 or int32.
        IndexError: an index or `dim` is out of range, or `index` has more than one dimension.

    >>> mg.index_select(mg.tensor([[1., 2.], [3., 4.]]), 1, mg.tensor([1, 1]))
    tensor([[2., 2.],
            [4., 4.]])
    """
    if out is not None:
        return into(out, index_select, input, dim, index)
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


@in_place_too
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1):
    """`input` with alpha times the slices of `source` added at `index` along `dim`. Mirrors ``torch.index_add``.

    Args:
        input (Tensor): of any dtype.
        dim (int): the dimension of the slices.
        index (Tensor): a vector, int64 or int32; ``z[index[i]] += alpha source[i]`` for dim 0. If an index repeats, all its slices
            are added.
        source (Tensor): of the dtype of `input`, and of its shape except along `dim`: there it has a slice for each index.
        alpha (number): multiplies `source`.

    Raises:
        RuntimeError: the shapes or dtypes do not fit.
        IndexError: an index or `dim` is out of range.

    >>> mg.zeros(3).index_add(0, mg.tensor([0, 0]), mg.tensor([1., 2.]))
    tensor([3., 0., 0.])
    """
    tensor_argument("index_add", source, "source", 4)
    at, index = slices("index_add", input, dim, index, source)
    alpha = number(alpha, "alpha", "index_add")
    return IndexAdd.op, (input, source if alpha == 1 else alpha * source, at, index)


def slices(function, x, dim, index, source):
    """Check and return (dim, index). `source`, unless it is None, must fit the slices of x at `index`."""
    at = dimension(dim, x.ndim)
    tensor_argument(function, index, "index", 3)
    if source is not None:
        tensor_argument(function, source, "source", 4)
        if function == "index_copy" and (index.ndim > 1 or 0 < x.ndim != source.ndim > 0):
            raise OutOfRangeError("MG-E204", "index_copy_(): Index should have dimension 1 or 0, and source those of self",
                                  found=f"{index.ndim}, and {source.ndim} for {x.ndim}")
        expected = (*x.shape[:at], index.numel(), *x.shape[at + 1:])
        one = source.ndim == 0 and x.ndim <= (function == "index_copy")     # a number counts as one slice
        if one and index.numel() != 1:
            raise OutOfRangeError("MG-E204", f"{function}(): when source is a number, index should have one element",
                                  found=f"{index.numel()}")
        if not one and (tuple(source.shape) != expected or (x.ndim == 0 and function in ("index_add", "index_reduce"))):
            expected = expected if x.ndim else ()
            raise ShapeError("MG-E204", f"{function}(): source has shape {list(source.shape)}, expected {list(expected)}")
    if index.ndim > 1:
        error = ArgumentError if function == "index_fill" else OutOfRangeError      # as in PyTorch
        raise error("MG-E301", f"{function}(): index must be a vector", found=f"{index.ndim}-d")
    if function == "index_fill" and index.dtype is not INT64:
        raise OutOfRangeError("MG-E203", f"index_fill_(): Expected dtype int64 for index, but got {index.dtype.name}")
    if function == "index_add" and source is not None and source.dtype is not x.dtype:
        raise DtypeError("MG-E203", f"index_add_(): self ({x.dtype.name}) and source ({source.dtype.name}) must have the same "
                         "scalar type", fix="source.to(self.dtype)")
    size = (x.shape or (1,))[at]
    if function == "index_fill" and size and outside(index, size) is not None and outside(index + size, 2 * size) is None:
        index = where(index < 0, index + size, index)       # as in PyTorch
    return at, index_argument(function, index if index.ndim else unsqueeze(index, 0), size, at)
