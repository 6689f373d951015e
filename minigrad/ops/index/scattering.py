"""Storing at index tensors: scatter, index_copy, index_fill.

    scatter             z[index[i, j], j] = y[i, j]         for dim 0
    index_copy          z[index[i]] = y[i]
    index_fill          z[index[i]] = a number

Elements of x that are overwritten get the gradient 0. A stored element gets the gradient of its place in z. If an index repeats,
the last element is stored.

Mirrors ``aten/src/ATen/native/TensorAdvancedIndexing.*``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.apply import call
from minigrad.errors import DtypeError, ShapeError
from minigrad.ops.base.arguments import NUMBERS, check_number_in, convert_number, tensor_argument, tensor_error, wrong_type
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.rule import Linear, op
from minigrad.ops.index.indexing import (
    IndexSelect,
    ScatterAdd,
    gather_padded,
    linear_together,
    scatter_operands,
    slices,
    source_slices,
)
from minigrad.ops.shape.clone_cast import cast

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

__all__ = ["index_copy", "index_fill", "scatter"]


@op("index_fill")
class IndexFill(Linear):
    """z = x, with a number at index[i], for dim 0"""

    inputs = 1

    def forward(k, x, dim, index, value):
        return store_slices(k, x, k.full((), value, x.dtype), dim, index)

    def vjp_x(g, dim, index):
        return call(IndexFill.op, (g, dim, index, 0))

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return cls.vjp_x(tangents[0], *args[1:3])


@op("index_fill_tensor", "IndexFill1")
class IndexFillTensor(Linear):
    """z = x, with y, a 0-d tensor, at index[i], for dim 0"""

    torch_names = {"x": "self", "y": "value"}

    def forward(k, x, y, dim, index):
        return store_slices(k, x, y, dim, index)

    def vjp_x(g, dim, index):
        return call(IndexFill.op, (g, dim, index, 0))

    def vjp_y(g, dim, index):       # a slice counts once, even if its index repeats
        return call(IndexSelect.op, (g, dim, index.unique())).sum()

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return linear_together(cls, args, tangents)


@op("index_copy")
class IndexCopy(Linear):
    """z = x, with y[i] at index[i], for dim 0"""

    torch_names = {"x": "self", "y": "source"}

    def forward(k, x, y, dim, index):
        return store_slices(k, x, y, dim, index)

    def vjp_x(g, dim, index):
        return call(IndexFill.op, (g, dim, index, 0))

    def vjp_y(g, y_shape, dim, index):
        return source_slices(g, y_shape, dim, index)

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return linear_together(cls, args, tangents)


def store_slices(k, x, y, dim, index):
    """The array x with y, broadcast, in the slices that `index` names along `dim`."""
    if x.ndim == 0:     # treated as 1-d
        return k.view(k.index_put(k.view(x, (1,)), [index], y, False), ())
    return k.index_put(x, [None] * dim + [index], y, False)


@op("scatter")
class Scatter(Linear):
    """z = x, with y[i, j] at [index[i, j], j], for dim 0"""

    hidden = ("y_shape",)
    torch_names = {"x": "self", "y": "src"}

    def forward(k, x, y, dim, index):
        return k.scatter(x, dim, index, y) if index.size else k.copy(x)

    def vjp_x(g, dim, index):
        return call(ScatterNumber.op, (g, dim, index, 0))

    def vjp_y(g, y_shape, dim, index):
        return gather_padded(g, y_shape, dim, index)

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return linear_together(cls, args, tangents)


@op("scatter_number", "Scatter1")
class ScatterNumber(Linear):
    """z = x, with a number at [index[i, j], j], for dim 0"""

    inputs = 1

    def forward(k, x, dim, index, value):
        return k.scatter(x, dim, index, k.full((), value, x.dtype)) if index.size else k.copy(x)

    def vjp_x(g, dim, index):
        return call(ScatterNumber.op, (g, dim, index, 0))

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return cls.vjp_x(tangents[0], *args[1:3])


# ---- public functions -------------------------------------------------------------------------------------


@in_place_too
def scatter(input: Tensor, dim: int, index: Tensor, src: Tensor | Number, *, reduce: str = ""):
    """`input` with `src` stored at `index` along `dim`. Mirrors ``torch.scatter``.

    Args:
        input (Tensor): of any dtype.
        dim (int): the dimension that the indices count along.
        index (Tensor): int64 or int32; ``z[index[i, j], j] = src[i, j]`` for dim 0. No index should repeat.
        src (Tensor or number): a tensor of the dtype of `input`, in no dimension smaller than `index`; or a number.
        reduce (str, optional): ``"add"`` or ``"multiply"``: combine with the old numbers instead. See also `scatter_reduce`.

    Raises:
        RuntimeError: the shapes do not fit, the dtypes differ, or an index is out of range.
        IndexError: `dim` is out of range.

    >>> mg.zeros(3).scatter(0, mg.tensor([2, 0]), mg.tensor([1., 2.]))
    tensor([2., 0., 1.])
    """
    if not isinstance(reduce, str) or reduce != "":
        return scatter_combined(input, dim, index, src, reduce)
    if isinstance(src, TensorBase):
        if src._meta.dtype is not input._meta.dtype:
            raise DtypeError("MG-E203", "scatter(): Expected self.dtype to be equal to src.dtype", found=f"{input.dtype.name} and "
                             f"{src.dtype.name}", fix="src.to(input.dtype)")
        return Scatter.op, (input, *scatter_operands("scatter", input, dim, index, src))
    if not isinstance(src, NUMBERS):
        raise tensor_error("scatter", src, "src", 4)
    src = convert_number(src, input.dtype)
    _, at, index = scatter_operands("scatter", input, dim, index, index)
    return ScatterNumber.op, (input, at, index, src)


def scatter_combined(input, dim, index, src, reduce):
    """`scatter` with a `reduce`: the rule that adds or multiplies, and its operands."""
    if not isinstance(reduce, str):
        raise wrong_type("scatter", "reduce", "str", reduce)
    if reduce not in ("add", "multiply"):
        raise ShapeError("MG-E206", "reduce argument must be either add or multiply.", found=repr(reduce))
    if not isinstance(src, TensorBase):
        if not isinstance(src, NUMBERS):
            raise tensor_error("scatter", src, "src", 4)
        src = cast(tensor_argument("scatter", index, "index", 3) * 0, input.dtype) + convert_number(src, input.dtype)
    src, at, index = scatter_operands("scatter_add", input, dim, index, src)
    if reduce == "add":
        return ScatterAdd.op, (input, src, at, index)
    for d, n in enumerate(index.shape):
        src = src.narrow(d, 0, n)
    # take.py imports this file, and loads with its first use.
    return import_module("minigrad.ops.index.take").ScatterProduct.op, (input, src, at, index)


@in_place_too
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor):
    """`input` with the slices of `source` stored at `index` along `dim`. Mirrors ``torch.index_copy``.

    Args:
        input (Tensor): of any dtype.
        dim (int): the dimension of the slices.
        index (Tensor): a vector, int64 or int32; ``z[index[i]] = source[i]`` for dim 0.
        source (Tensor): of the dtype of `input`, and of its shape except along `dim`: there it has a slice for each index.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.
        IndexError: an index or `dim` is out of range.

    >>> mg.zeros(3).index_copy(0, mg.tensor([2, 0]), mg.tensor([1., 2.]))
    tensor([2., 0., 1.])
    """
    tensor_argument("index_copy", source, "source", 4)
    at, index = slices("index_copy", input, dim, index, source)
    if source.dtype is not input.dtype:
        raise DtypeError("MG-E203", "index_copy_(): self and source expected to have the same dtype, but got (self) "
                         f"{input.dtype.name} and (source) {source.dtype.name}", fix="source.to(input.dtype)")
    return IndexCopy.op, (input, source, at, index)


@in_place_too
def index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor | Number):
    """`input` with `value` in the slices at `index` along `dim`. Mirrors ``torch.index_fill``.

    Args:
        input (Tensor): of any dtype.
        dim (int): the dimension of the slices.
        index (Tensor): a vector, int64; ``z[index[i]] = value`` for dim 0. Negative indices count from the end.
        value (number or Tensor): is converted to the dtype of `input`. A tensor must be 0-d.

    Raises:
        RuntimeError: `value` has dimensions, or `index` has more than one.
        IndexError: an index or `dim` is out of range, or `index` is not int64.

    >>> mg.zeros(3).index_fill(0, mg.tensor([2, 0]), 1)
    tensor([1., 0., 1.])
    """
    at, index = slices("index_fill", input, dim, index, None)
    if not isinstance(value, TensorBase):
        if not isinstance(value, NUMBERS):
            raise tensor_error("index_fill", value, "value", 4)
        value = convert_number(value, input.dtype)
        return IndexFill.op, (input, at, index, value)
    if value.ndim:
        raise ShapeError("MG-E204", "Only supports 0-dimension value tensor but got tensor with "
                         f"{value.ndim} dimensions, in index_fill()")
    check_number_in(value, input.dtype)
    return IndexFillTensor.op, (input, value, at, index)
