"""Reductions along some dimensions or all: sums, means, products, logsumexp, all and any.

The gradient of a sum goes to every element that was added: `expand_reduced` puts the dimensions back with size 1 and
repeats them, as a view that takes no memory.

Mirrors ``aten/src/ATen/native/ReduceOps.cpp`` and torch/csrc/autograd/FunctionsManual.cpp. Read next: ``variance.py`` and
``extrema.py``, the other reductions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.record.apply import call
from cython.cimports.minigrad.ops.base.arguments import dimension, dimensions, flag, tensor_argument
from cython.cimports.minigrad.ops.base.rule import conj

from minigrad._core.graph.upcalls import upcalls
from minigrad._core.record.promotion import as_dtype, default_dtype
from minigrad._lazy import lazy
from minigrad.errors import DtypeError, ShapeError
from minigrad.ops.base.arguments import wrong_type
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import INT64, Linear, Op, op, variant
from minigrad.ops.elementwise.comparison import ne
from minigrad.ops.elementwise.functions import exp
from minigrad.ops.shape.clone_cast import cast
from minigrad.ops.shape.formats import row_major
from minigrad.ops.shape.views import Expand, ViewOp, view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import DType, Tensor

__all__ = ["all", "any", "logsumexp", "mean", "prod", "sum", "sum_to"]
__getattr__, _ = lazy(__name__, names={".variance": "std var"})     # where minigrad 0.1.0 had them


EXPAND = cython.declare(object, Expand.op)
VIEW_OP = cython.declare(object, ViewOp.op)


@cython.ccall
@cython.annotation_typing(True)
def expand_reduced(g, shape, dims: tuple, keepdim: cython.bint):
    """Expand `g`, of the shape after a reduction of the sorted `dims`, to `shape`, the shape before it.

    `expand` adds leading dimensions itself.
    """
    n: cython.Py_ssize_t = len(dims)
    if not keepdim and n > 0 and dims[n - 1] != n - 1:
        g = keep_dims(g, shape, dims, False)
    return call(EXPAND, (g, shape))


@cython.ccall
@cython.annotation_typing(True)
def keep_dims(z, shape, dims: tuple, keepdim: cython.bint):
    """Put the reduced dimensions back into the result `z` of a reduction, with size 1."""
    if keepdim:
        return z
    return call(VIEW_OP, (z, tuple([1 if dim in dims else size for dim, size in enumerate(shape)])))


@cython.ccall
def dimensions_or_all(dim, ndim):
    """Like `dimensions`, but an empty tuple means all dimensions."""
    return dimensions(None if no_dims(dim) else dim, ndim)


@cython.ccall
def no_dims(dim):
    """Whether `dim` is an empty tuple."""
    return isinstance(dim, (tuple, list)) and len(dim) == 0


@cython.ccall
@cython.annotation_typing(True)
def count(shape, dims: tuple):
    """The number of elements that a reduction of `dims` combines into one."""
    n: cython.longlong = 1
    dim: cython.Py_ssize_t
    for dim in dims:
        n *= shape[dim]
    return n


@op("sum_dim", "Sum1")
class SumDim(Linear):
    """z = Σ x over some dimensions"""

    inputs = 1
    torch_names = {"x": "self", "z": "result", "dims": "dim"}
    kernel = "sum"
    params = ("x", "dims", "keepdim")

    def vjp_x(g, x_shape, dims, keepdim):
        return expand_reduced(g, x_shape, dims, keepdim)


Sum = variant(SumDim, "sum", "Sum0", "z = Σ x over everything", hidden=("dims", "keepdim"))


@op("mean_dim", "Mean1")
class MeanDim(Linear):
    """z = the mean over some dimensions"""

    inputs = 1
    torch_names = {"x": "self", "z": "result", "dims": "dim"}
    kernel = "mean"
    params = ("x", "dims", "keepdim")

    def vjp_x(g, x_shape, dims, keepdim):
        return expand_reduced(g / (count(x_shape, dims) or float("nan")), x_shape, dims, keepdim)


Mean = variant(MeanDim, "mean", "Mean0", "z = the mean of everything", hidden=("dims", "keepdim"))


@op("prod_dim", "Prod1")
class ProdDim(Op):
    """z = the product over one dimension"""

    inputs = 1
    torch_names = {"x": "self", "z": "result", "dims": "dim"}

    def forward(k, x, dims, keepdim):
        return k.prod(x, dims, keepdim)

    def vjp_x(g, x, z, dims, keepdim):
        if x.ndim == 0:
            return g
        return expand_reduced(g, x.shape, dims, keepdim) * conj(product_of_others(x, z, dims, keepdim))

    def jvp_x(t, x, z, dims, keepdim):
        if x.ndim == 0:
            return t
        return call(SumDim.op, (t * product_of_others(x, z, dims, keepdim), dims, keepdim))


def product_of_others(x, z, dims, keepdim):
    """For each element, the product of the others that it was multiplied with: z / x. If x contains a 0, it is the product
    before the element times the product after it."""
    if x.is_meta or not bool((x == 0)._array.any()):
        return expand_reduced(z, x.shape, dims, keepdim) / x
    rest = [d for d in range(x.ndim) if d not in dims]
    rows = x.permute(*rest, *dims).reshape(*[x.shape[d] for d in rest], count(x.shape, dims))
    from minigrad.ops.scan.scans import products_of_others  # late: see ops/late.py
    others = products_of_others(rows, len(rest))
    order = [0] * x.ndim
    for i, d in enumerate([*rest, *dims]):
        order[d] = i
    return others.reshape(*[x.shape[d] for d in rest], *[x.shape[d] for d in dims]).permute(*order)


Prod = variant(ProdDim, "prod", "Prod0", "z = the product of everything", hidden=("dims", "keepdim"))


def add_present(*parts):
    """The sum of the gradients that are not None."""
    found = [part for part in parts if part is not None]
    return found[0] if len(found) == 1 else found[0] + found[1]


@op("logsumexp")
class Logsumexp(Op):
    """z = log Σ e^x over dims"""

    inputs = 1
    torch_names = {"x": "self", "z": "result", "dims": "dim"}

    def forward(k, x, dims, keepdim):
        return row_major(k, k.logsumexp(x, dims, keepdim))

    def vjp_x(g, x, z, dims, keepdim):
        return expand_reduced(g, x.shape, dims, keepdim) * conj(weights(x, z, dims, keepdim))

    def jvp_x(t, x, z, dims, keepdim):      # over the sum of the weights, which differs from 1 if a large z was rounded
        w = weights(x, z, dims, keepdim)
        return call(SumDim.op, (t * w, dims, keepdim)) / call(SumDim.op, (w, dims, keepdim))


def weights(x, z, dims, keepdim):
    """e^(x - z): the softmax of x."""
    return exp(x - keep_dims(z, x.shape, dims, keepdim))


# As C globals: no look-up.
SUM, SUM_DIM = cython.declare(object, Sum.op), cython.declare(object, SumDim.op)
MEAN, MEAN_DIM = cython.declare(object, Mean.op), cython.declare(object, MeanDim.op)


@op("all")
class All(Op):
    """z = whether all elements over dims differ from 0"""

    inputs = 1
    differentiable = False

    def forward(k, x, dims, keepdim):
        return k.amin(differs(k, x), dims, keepdim) if x.size else of_nothing(k, x, dims, keepdim, True)


@op("any")
class Any(Op):
    """z = whether any element over dims differs from 0"""

    inputs = 1
    differentiable = False

    def forward(k, x, dims, keepdim):
        return k.amax(differs(k, x), dims, keepdim) if x.size else of_nothing(k, x, dims, keepdim, False)


def differs(k, x):
    """Where the array x differs from 0."""
    return x if x.dtype.kind == "b" else k.ne(x, 0)


def of_nothing(k, x, dims, keepdim, value):
    """The result of `all` or `any` for an array x without elements."""
    return k.full(tuple([1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]), value, np.dtype(bool))


# ---- public functions -------------------------------------------------------------------------------------


def sum(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType | None = None,
        out: Tensor | None = None) -> Tensor:
    """The sum of all elements, or along dimensions. Mirrors ``torch.sum``.

    Args:
        dim (int or tuple, optional): the dimensions that are reduced; all of them by default.
        keepdim (bool): keep them, with size 1.
        dtype (dtype, optional): of the result and the computation; by default int64 for integers and bools.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: a dimension is named twice.

    >>> x = mg.tensor([[1., 2.], [3., 4.]])
    >>> mg.sum(x), mg.sum(x, 0)
    (tensor(10.), tensor([4., 6.]))
    """
    if out is not None:
        return into(out, sum, input, dim, keepdim, dtype=dtype)
    meta = cython.cast(TensorBase, tensor_argument("sum", input))._meta
    if dtype is not None:
        input = cast(input, as_dtype(dtype))
    elif not meta.dtype.differentiable:
        input = cast(input, INT64)
    flag(keepdim, "keepdim", "sum")
    if dim is None or no_dims(dim):
        return call(SUM if dim is None else SUM_DIM, (input, dimensions(None, meta.ndim), keepdim))
    return call(SUM_DIM, (input, dimensions(dim, meta.ndim), keepdim))


def mean(input: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType | None = None,
         out: Tensor | None = None) -> Tensor:
    """The mean of all elements, or along dimensions; nan if there are no elements. Mirrors ``torch.mean``.

    Args:
        dim (int or tuple, optional): the dimensions that are reduced; all of them by default.
        keepdim (bool): keep them, with size 1.
        dtype (dtype, optional): of the result and the computation.

    Raises:
        RuntimeError: the dtype is neither floating point nor complex.
        IndexError: there is no such dimension.

    >>> mg.mean(mg.tensor([[1., 2.], [3., 4.]]), 1)
    tensor([1.5000, 3.5000])
    """
    if out is not None:
        return into(out, mean, input, dim, keepdim, dtype=dtype)
    meta = cython.cast(TensorBase, tensor_argument("mean", input))._meta
    if dtype is not None:
        input = cast(input, as_dtype(dtype))
        meta = cython.cast(TensorBase, input)._meta
    if not meta.dtype.differentiable:
        raise DtypeError("MG-E203", "mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
                         f"dtype. Got: {input.dtype.name}", fix="x.float().mean()")
    flag(keepdim, "keepdim", "mean")
    if dim is None:
        return call(MEAN, (input, dimensions(None, meta.ndim), keepdim))
    return call(MEAN_DIM, (input, dimensions_or_all(dim, meta.ndim), keepdim))


def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: DType | None = None,
         out: Tensor | None = None) -> Tensor:
    """The product of all elements, or along one dimension. Mirrors ``torch.prod``.

    Args:
        dim (int, optional): the dimension that is reduced; all of them by default.
        keepdim (bool): keep it, with size 1.
        dtype (dtype, optional): of the result and the computation; by default int64 for integers and bools.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.prod(mg.tensor([2., 3., 4.]))
    tensor(24.)
    """
    if out is not None:
        return into(out, prod, input, dim, keepdim, dtype=dtype)
    meta = cython.cast(TensorBase, tensor_argument("prod", input))._meta
    if dtype is not None:
        input = cast(input, as_dtype(dtype))
    elif not meta.dtype.differentiable:
        input = cast(input, INT64)
    flag(keepdim, "keepdim", "prod")
    if dim is None:
        return call(Prod.op, (input, dimensions(None, meta.ndim), False))
    at = dimension(dim, meta.ndim)
    return call(ProdDim.op, (input, (at,) if input.ndim else (), keepdim))


def all(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether all elements differ from 0, in the whole tensor or along dimensions; True for no elements. Mirrors ``torch.all``.

    Args:
        dim (int or tuple, optional): the dimensions that are reduced; all of them by default.
        keepdim (bool): keep them, with size 1.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.all(mg.tensor([True, False])), mg.all(mg.tensor([[1, 2], [0, 3]]), 1)
    (tensor(False), tensor([ True, False]))
    """
    if out is not None:
        return into(out, all, input, dim, keepdim)
    return reduce_truth("all", All, input, dim, keepdim)


def any(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether any element differs from 0, in the whole tensor or along dimensions; False for no elements. Mirrors ``torch.any``.

    Args:
        dim (int or tuple, optional): the dimensions that are reduced; all of them by default.
        keepdim (bool): keep them, with size 1.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.any(mg.tensor([True, False])), mg.any(mg.tensor([[0, 0], [0, 3]]), 1)
    (tensor(True), tensor([False,  True]))
    """
    if out is not None:
        return into(out, any, input, dim, keepdim)
    return reduce_truth("any", Any, input, dim, keepdim)


def reduce_truth(name, rule, x, dim, keepdim):
    """Check the arguments of all or any, and run `rule`. The result is uint8 for uint8, which PyTorch once used instead of bool."""
    tensor_argument(name, x)
    found = ne(x, 0) if no_dims(dim) else call(rule.op, (x, dimensions(dim, x.ndim), flag(keepdim, "keepdim", name)))
    return found.to(x.dtype) if x.dtype.name == "uint8" else found


def logsumexp(input: Tensor, dim: int | Sequence[int] | None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the sum of the exponentials along dimensions, without overflow. Mirrors ``torch.logsumexp``.

    Args:
        dim (int or tuple): the dimensions that are reduced.
        keepdim (bool): keep them, with size 1.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.logsumexp(mg.tensor([0., 0.]), 0)
    tensor(0.6931)
    """
    if out is not None:
        return into(out, logsumexp, input, dim, keepdim)
    meta = cython.cast(TensorBase, tensor_argument("logsumexp", input))._meta
    flag(keepdim, "keepdim", "logsumexp")
    if not meta.dtype.differentiable:
        input = cast(input, default_dtype())
    return call(Logsumexp.op, (input, dimensions_or_all(dim, meta.ndim), keepdim))


def sum_to(x: Tensor, shape: int | Sequence[int]) -> Tensor:
    """Sum `x` to `shape`, a tuple that broadcasts to the shape of `x`: the adjoint of broadcasting.

    Raises:
        TypeError: `x` is not a tensor, or `shape` is not a tuple of ints.
        RuntimeError: `shape` does not broadcast to the shape of `x`.

    >>> mg.sum_to(mg.ones(2, 3), (1, 3))
    tensor([[2., 2., 2.]])
    """
    wide = cython.declare(tuple, cython.cast(TensorBase, tensor_argument("sum_to", x, "x"))._meta.shape)
    if not isinstance(shape, tuple):
        raise wrong_type("sum_to", "shape", "tuple of ints", shape)
    lead = cython.declare(cython.Py_ssize_t, len(wide) - len(shape))
    d = cython.declare(cython.Py_ssize_t)
    size = cython.declare(cython.Py_ssize_t)
    fits = cython.declare(cython.bint, lead >= 0)
    dims = cython.declare(list, [])
    for d in range(len(wide)):
        size = shape[d - lead] if d >= lead else 1
        if d < lead or (size == 1 and cython.cast(cython.Py_ssize_t, wide[d]) != 1):
            dims.append(d)
        elif size != cython.cast(cython.Py_ssize_t, wide[d]):
            fits = False
    if not fits:
        raise ShapeError("MG-E204", f"size {list(shape)} is not expandable to size {list(wide)}.")
    if len(dims) == lead:
        return call(SUM_DIM, (x, tuple(dims), False)) if dims else x
    x = call(SUM_DIM, (x, tuple(dims), True))
    return view(x, shape) if lead else x

upcalls.sum_to = sum_to
