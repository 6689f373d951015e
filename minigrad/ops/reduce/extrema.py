"""The largest and smallest elements along dimensions, and their positions.

Mirrors ``aten/src/ATen/native/{ReduceOps,TensorCompare}.cpp``.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.apply import call
from minigrad.errors import DtypeError, OutOfRangeError, ScalarError
from minigrad.ops.base.arguments import dimension, flag, tensor_argument
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import FLOAT32, is_reduced
from minigrad.ops.base.rule import INT64, Linear, Op, constant, op, variant
from minigrad.ops.elementwise.selection import cast, maximum, minimum, where
from minigrad.ops.index.indexing import Gather, ScatterAdd
from minigrad.ops.reduce.reduction import SumDim, add_present, dimensions_or_all, keep_dims
from minigrad.ops.shape.views import view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["amax", "amin", "argmax", "argmin", "max", "min"]


class ExtremumRule(Op):
    """z = the largest or smallest over dims; equal elements share the gradient, and nan is equal to nan"""

    inputs = 1
    torch_names = {"x": "self", "z": "result", "dims": "dim"}

    def vjp_x(g, x, z, dims, keepdim):
        extremum = keep_dims(constant(z), x.shape, dims, keepdim)
        return call(ShareTies.op, (keep_dims(g, x.shape, dims, keepdim), constant(x), extremum, dims))

    def jvp_x(t, x, z, dims, keepdim):
        extremum = keep_dims(constant(z), x.shape, dims, keepdim)
        return view(mean_of_ties(t, constant(x), extremum, dims), z.shape)


@op("share_ties")
class ShareTies(Linear):
    """z = g / n for the n elements over dims that are equal to the extremum, else 0; nan is equal to nan"""

    inputs = 1

    def forward(k, g, x, extremum, dims):
        hits, number = find_ties(k, x, extremum, dims)
        return k.where(hits, k.cast(k.div(k.cast(g, number.dtype), number), g.dtype), k.full((), 0, g.dtype))

    def vjp_g(g, x, extremum, dims):
        return mean_of_ties(g, x, extremum, dims)


def mean_of_ties(t, x, extremum, dims):
    """Σ t / n over the n elements over dims that are equal to the extremum; the other t have no part in it, even if infinite."""
    wide = FLOAT32 if is_reduced(t.dtype) else t.dtype
    shares = call(ShareTies.op, (extremum.new_ones(extremum.shape, dtype=wide), x, extremum, dims))
    return cast(call(SumDim.op, (where(shares == 0, 0.0, cast(t, wide) * shares), dims, True)), t.dtype)


def find_ties(k, x, extremum, dims):
    """Where the array `x` equals `extremum`, and the number of these places over `dims`, in float32 for 16-bit dtypes."""
    hits = k.logical_or(k.eq(x, extremum), k.logical_and(k.ne(x, x), k.ne(extremum, extremum)))
    return hits, k.sum(k.cast(hits, np.dtype(np.float32) if x.dtype.itemsize == 2 else x.dtype), dims, True)


def count_ties(hits, dtype, dims):
    """The number of ties over `dims`, in `dtype`; in float32 for float16 and bfloat16, which cannot count so far."""
    return call(SumDim.op, (cast(hits, FLOAT32 if is_reduced(dtype) else dtype), dims, True))


@op("amax")
class Amax(ExtremumRule):
    """z = the largest over dims"""

    def forward(k, x, dims, keepdim):
        return k.amax(x, dims, keepdim)


@op("amin")
class Amin(ExtremumRule):
    """z = the smallest over dims"""

    def forward(k, x, dims, keepdim):
        return k.amin(x, dims, keepdim)


Max = variant(Amax, "max", "Max1", "z = the largest of everything")
Min = variant(Amin, "min", "Min1", "z = the smallest of everything")


@op("aminmax")
class Aminmax(Op):
    """(min, max) over dims, with the derivatives of `ExtremumRule`"""

    inputs = 1
    outputs = ("min", "max")
    torch_names = {"x": "self", "dims": "dim"}

    def forward(k, x, dims, keepdim):
        return k.amin(x, dims, keepdim), k.amax(x, dims, keepdim)

    def vjp(g, needs, x, min, max, dims, keepdim):
        return (add_present(*[None if one is None else ExtremumRule.vjp_x(one, x, z, dims, keepdim)
                        for one, z in ((g[0], min), (g[1], max))]),)

    def jvp(ts, x, min, max, dims, keepdim):
        return tuple([ExtremumRule.jvp_x(ts[0], x, z, dims, keepdim) for z in (min, max)])


class ExtremumWithIndex(Op):
    """(values, indices) of the extremum along one dimension; the gradient goes to the element at the index"""

    inputs = 1
    outputs = ("values", "indices")

    def vjp(g, needs, x_shape, indices, dim, keepdim):
        place, grad = (indices, g[0]) if keepdim else (indices.unsqueeze(dim), g[0].unsqueeze(dim))
        return (call(ScatterAdd.op, (grad.new_zeros(x_shape), grad, dim, place)),)

    def jvp(ts, indices, dim, keepdim):
        place = indices if keepdim else indices.unsqueeze(dim)
        picked = call(Gather.op, (ts[0], dim, place))
        return (picked if keepdim else picked.squeeze(dim), None)


@op("max_dim", "Max0")
class MaxDim(ExtremumWithIndex):
    """The largest along one dimension, and where it is"""

    def forward(k, x, dim, keepdim):
        return pick(k, x, k.argmax(x, dim, True), dim, keepdim)


@op("min_dim", "Min0")
class MinDim(ExtremumWithIndex):
    """The smallest along one dimension, and where it is"""

    def forward(k, x, dim, keepdim):
        return pick(k, x, k.argmin(x, dim, True), dim, keepdim)


def pick(k, x, index, dim, keepdim):
    """(values, indices): the elements of `x` at `index`, and `index`; without dimension `dim` unless `keepdim`."""
    values = k.gather(x, dim, index)
    if keepdim or not x.ndim:
        return values, index
    shape = tuple(x.shape[:dim] + x.shape[dim + 1:])
    return k.view(values, shape), k.view(index, shape)


@op("argmax")
class Argmax(Op):
    """z = the position of the largest"""

    inputs = 1
    differentiable = False

    def forward(k, x, dim, keepdim):
        return k.argmax(x, dim, keepdim)


@op("argmin")
class Argmin(Op):
    """z = the position of the smallest"""

    inputs = 1
    differentiable = False

    def forward(k, x, dim, keepdim):
        return k.argmin(x, dim, keepdim)

# ---- public functions -------------------------------------------------------------------------------------


def check_ordered(name, input):
    """Raise for complex numbers, which have no order."""
    if input.dtype.is_complex:
        raise DtypeError("MG-E203", f"{name}(): does not support complex input", fix="x.abs() or x.real")


def reduce_extremum(name, rule, input, dim, keepdim):
    """Check the arguments of amax, amin or aminmax, and run `rule`."""
    tensor_argument(name, input)
    flag(keepdim, "keepdim", name)
    check_ordered(name, input)
    dims = dimensions_or_all(dim, input.ndim)
    if input.numel() == 0 and (dim is None or dim == ()):
        raise ScalarError("MG-E208", f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                          "reduction dim with the 'dim' argument.")
    for d in dims:
        if input.ndim and input.shape[d] == 0:
            raise OutOfRangeError("MG-E301", f"{name}(): Expected reduction dim {d} to have non-zero size.")
    return call(rule.op, (input, dims, keepdim))


def amax(input: Tensor, dim: int | Sequence[int] | None = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The largest elements along dimensions, or of the whole tensor. Equal elements share the gradient evenly.

    Args:
        input (Tensor): real numbers. The result is nan where one of them is nan.
        dim (int or tuple, optional): the dimensions that are reduced; all of them by default.
        keepdim (bool): keep them, with size 1.

    Mirrors ``torch.amax``.

    Raises:
        RuntimeError: `input` is complex; or it has no elements, and `dim` is not given.
        IndexError: there is no such dimension, or it is empty.

    >>> mg.amax(mg.tensor([[1., 5.], [4., 2.]]), 0)
    tensor([4., 5.])
    """
    if out is not None:
        return into(out, amax, input, dim, keepdim)
    return reduce_extremum("amax", Amax, input, dim, keepdim)


def amin(input: Tensor, dim: int | Sequence[int] | None = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The smallest elements along dimensions, or of the whole tensor. Equal elements share the gradient evenly.

    Args:
        input (Tensor): real numbers. The result is nan where one of them is nan.
        dim (int or tuple, optional): the dimensions that are reduced; all of them by default.
        keepdim (bool): keep them, with size 1.

    Mirrors ``torch.amin``.

    Raises:
        RuntimeError: `input` is complex; or it has no elements, and `dim` is not given.
        IndexError: there is no such dimension, or it is empty.

    >>> mg.amin(mg.tensor([[1., 5.], [4., 2.]]), 0)
    tensor([1., 2.])
    """
    if out is not None:
        return into(out, amin, input, dim, keepdim)
    return reduce_extremum("amin", Amin, input, dim, keepdim)

# The pairs that max and min along a dimension return, as in torch.return_types.
max_result = namedtuple("max", ("values", "indices"))
min_result = namedtuple("min", ("values", "indices"))


def run_extremum(name, whole, along, pairwise, result, input, dim, keepdim):
    """Run max or min in one of their three forms: of all elements, along `dim`, or of two tensors."""
    tensor_argument(name, input)
    flag(keepdim, "keepdim", name)
    check_ordered(name, input)
    if dim is None:
        if input.numel() == 0:
            raise ScalarError("MG-E208", f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                              "reduction dim with the 'dim' argument.")
        return call(whole.op, (input, tuple(range(input.ndim)), False))
    if isinstance(dim, TensorBase) and (dim.ndim or dim.dtype.differentiable):
        return pairwise(input, dim)
    at = dimension(dim, input.ndim)
    if input.ndim and input.shape[at] == 0:
        raise OutOfRangeError("MG-E301", f"{name}(): Expected reduction dim {at} to have non-zero size.")
    if input.ndim == 0:
        return result(call(whole.op, (input, (), False)), input.new_zeros((), dtype=INT64))
    return result(*call(along.op, (input, at, keepdim)))


def max(input, dim=None, keepdim=False, *, out=None):
    """The largest element; or the largest elements along a dimension and their positions; or `maximum` of two tensors.

    Args:
        input (Tensor): real numbers.
        dim (int or Tensor, optional): a dimension, for the pair (values, indices); a tensor, for `maximum`.
        keepdim (bool): keep the dimension, with size 1.

    Mirrors ``torch.max``.

    Raises:
        RuntimeError: `input` is complex; or it has no elements, and `dim` is not given.
        IndexError: there is no such dimension, or it is empty.

    >>> mg.max(mg.tensor([[1., 5.], [4., 2.]]), 1)
    max(values=tensor([5., 4.]), indices=tensor([1, 0]))
    """
    if out is not None:
        return into(out, max, input, dim, keepdim)
    return run_extremum("max", Max, MaxDim, maximum, max_result, input, dim, keepdim)


def min(input, dim=None, keepdim=False, *, out=None):
    """The smallest element; or the smallest elements along a dimension and their positions; or `minimum` of two tensors.

    Args:
        input (Tensor): real numbers.
        dim (int or Tensor, optional): a dimension, for the pair (values, indices); a tensor, for `minimum`.
        keepdim (bool): keep the dimension, with size 1.

    Mirrors ``torch.min``.

    Raises:
        RuntimeError: `input` is complex; or it has no elements, and `dim` is not given.
        IndexError: there is no such dimension, or it is empty.

    >>> mg.min(mg.tensor([3., 1., 2.]))
    tensor(1.)
    """
    if out is not None:
        return into(out, min, input, dim, keepdim)
    return run_extremum("min", Min, MinDim, minimum, min_result, input, dim, keepdim)


def run_arg_extremum(name, rule, input, dim, keepdim):
    """Check the arguments of argmax or argmin, and run `rule`."""
    tensor_argument(name, input)
    flag(keepdim, "keepdim", name)
    check_ordered(name, input)
    if input.dtype.name == "bool":
        raise DtypeError("MG-E203", f"{name}(): does not support bool input", fix="x.int()")
    if dim is None:
        if input.numel() == 0:
            raise OutOfRangeError("MG-E301", f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        return call(rule.op, (input, None, keepdim))
    at = dimension(dim, input.ndim)
    if input.ndim and input.shape[at] == 0:
        raise OutOfRangeError("MG-E301", f"{name}(): Expected reduction dim {at} to have non-zero size.")
    return call(rule.op, (input, at if input.ndim else None, keepdim))


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The position (int64) of the largest element, the first of several. Mirrors ``torch.argmax``.

    Args:
        input (Tensor): real numbers, but not bools.
        dim (int, optional): the dimension that is reduced; by default the position is in the flattened tensor.
        keepdim (bool): keep the reduced dimension, with size 1.

    Raises:
        RuntimeError: `input` is complex or bool.
        IndexError: there are no elements, or no such dimension.

    >>> mg.argmax(mg.tensor([1., 5., 2.]))
    tensor(1)
    """
    if out is not None:
        return into(out, argmax, input, dim, keepdim)
    return run_arg_extremum("argmax", Argmax, input, dim, keepdim)


def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The position (int64) of the smallest element, the first of several. Mirrors ``torch.argmin``.

    Args:
        input (Tensor): real numbers, but not bools.
        dim (int, optional): the dimension that is reduced; by default the position is in the flattened tensor.
        keepdim (bool): keep the reduced dimension, with size 1.

    Raises:
        RuntimeError: `input` is complex or bool.
        IndexError: there are no elements, or no such dimension.

    >>> mg.argmin(mg.tensor([[3., 1.], [0., 2.]]), 1)
    tensor([1, 0])
    """
    if out is not None:
        return into(out, argmin, input, dim, keepdim)
    return run_arg_extremum("argmin", Argmin, input, dim, keepdim)
