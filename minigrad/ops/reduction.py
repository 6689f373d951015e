"""Reductions: sums, means, extrema, along some dimensions or all.

The gradient of a reduction is spread over what was reduced: `restored` puts the dimensions back with size 1
and repeats them, as a view that takes no memory.

Mirrors ``aten/src/ATen/native/ReduceOps.cpp`` and torch/csrc/autograd/FunctionsManual.cpp.
"""

from collections import namedtuple

import cython
import numpy as np

from minigrad._core.given import given
from minigrad._core.meta import named_dtype
from minigrad._core.promotion import as_dtype, default_dtype
from minigrad._core.tensor import TensorBase
from minigrad.errors import OutOfRangeError, ShapeError, TensorTypeError
from minigrad.ops.base import Linear, Op, dimension, dimensions, flag, op, tensor_argument
from minigrad.ops.elementwise import eq, exp, maximum, minimum, ne, where
from minigrad.ops.indexing import Gather, ScatterAdd
from minigrad.ops.views import cast, expand, view

if not cython.compiled:
    from minigrad._core.apply import call
    from minigrad.ops.base import conj

__all__ = ["all", "amax", "amin", "any", "argmax", "argmin", "logsumexp", "max", "mean", "min", "prod", "std", "sum", "sum_to",
           "var"]

INT64 = named_dtype("int64")


def restored(g, shape, dims, keepdim):
    """`g`, of the shape that a reduction of `dims` left, spread over the whole `shape`."""
    if not keepdim and len(dims) < len(shape):
        g = kept(g, shape, dims, False)
    return expand(g, shape)


def kept(z, shape, dims, keepdim):
    """The result of a reduction with the reduced dimensions put back with size 1."""
    if keepdim:
        return z
    return view(z, tuple([1 if dim in dims else size for dim, size in enumerate(shape)]))


def all_or(dim, ndim):
    """`dimensions`, of which an empty tuple means all."""
    return dimensions(None if no_dims(dim) else dim, ndim)


def no_dims(dim):
    """Whether `dim` is an empty tuple."""
    return isinstance(dim, (tuple, list)) and len(dim) == 0


def count(shape, dims):
    """How many elements a reduction of `dims` takes together."""
    n = 1
    for dim in dims:
        n *= shape[dim]
    return n


class SumRule(Linear):
    """z = Σ x over dims"""

    inputs = 1

    def forward(k, x, dims, keepdim):
        return k.sum(x, dims, keepdim)

    def vjp_x(g, x_shape, dims, keepdim):
        return restored(g, x_shape, dims, keepdim)


@op("sum", "Sum0")
class Sum(SumRule):
    """z = Σ x over everything"""


@op("sum_dim", "Sum1")
class SumDim(SumRule):
    """z = Σ x over some dimensions"""


class MeanRule(Linear):
    """z = Σ x / n over dims"""

    inputs = 1

    def forward(k, x, dims, keepdim):
        n = count(x.shape, dims)
        return k.div(k.sum(x, dims, keepdim), float(n))

    def vjp_x(g, x_shape, dims, keepdim):
        return restored(g / (count(x_shape, dims) or float("nan")), x_shape, dims, keepdim)


@op("mean", "Mean0")
class Mean(MeanRule):
    """z = the mean of everything"""


@op("mean_dim", "Mean1")
class MeanDim(MeanRule):
    """z = the mean over some dimensions"""


class ProdRule(Op):
    """z = Π x over dims"""

    inputs = 1

    def forward(k, x, dims, keepdim):
        return k.prod(x, dims, keepdim)

    def vjp_x(g, x, z, dims, keepdim):
        return restored(g, x.shape, dims, keepdim) * conj(product_of_others(x, z, dims, keepdim))

    def jvp_x(t, x, z, dims, keepdim):
        return call(SumDim.op, (t * product_of_others(x, z, dims, keepdim), dims, keepdim))


def product_of_others(x, z, dims, keepdim):
    """For each element the product of those that it was multiplied with: z / x, but for zeros.

    With a zero about we multiply them out, n products of n factors, so that the result can be differentiated
    again.
    """
    if not bool((x == 0)._array.any()):
        return restored(z, x.shape, dims, keepdim) / x
    rest = [d for d in range(x.ndim) if d not in dims]
    n = count(x.shape, dims)
    rows = x.permute(*rest, *dims).reshape(*[x.shape[d] for d in rest], n)
    one = rows.new_ones(())
    diagonal = rows.new_tensor(np.eye(n, dtype=bool), dtype=None)
    others = prod(where(diagonal, one, expand(rows.unsqueeze(-2), (*rows.shape[:-1], n, n))), -1)
    order = [0] * x.ndim
    for i, d in enumerate([*rest, *dims]):
        order[d] = i
    return others.reshape(*[x.shape[d] for d in rest], *[x.shape[d] for d in dims]).permute(*order)


@op("prod", "Prod0")
class Prod(ProdRule):
    """z = the product of everything"""


@op("prod_dim", "Prod1")
class ProdDim(ProdRule):
    """z = the product over one dimension"""


@op("var", "Var0")
class Var(Op):
    """z = Σ |x - mean|² / (n - correction)"""

    inputs = 1

    def forward(k, x, dims, correction, keepdim):
        return k.var(x, dims, correction, keepdim)

    def vjp_x(g, x, dims, correction, keepdim):     # dx = 2 g (x - mean) / (n - correction)
        factor = scale(count(x.shape, dims) - correction)
        return restored(factor * g, x.shape, dims, keepdim) * deviation(x, dims)

    def jvp_x(t, x, dims, correction, keepdim):
        factor = scale(count(x.shape, dims) - correction)
        both = t * conj(deviation(x, dims))
        return call(SumDim.op, (factor * (both.real if both.dtype.is_complex else both), dims, keepdim))


def scale(freedom):
    """2 / freedom; infinite without any."""
    return 2 / freedom if freedom > 0 else float("inf")


def deviation(x, dims):
    """x less its mean over `dims`."""
    return x - call(MeanDim.op, (x, dims, True))


class ExtremumRule(Op):
    """z = the largest or smallest over dims; those that tie share the gradient"""

    inputs = 1

    def vjp_x(g, x, z, dims, keepdim):
        hits = (x == kept(z, x.shape, dims, keepdim)).to(g.dtype)
        return restored(g, x.shape, dims, keepdim) * hits / call(SumDim.op, (hits, dims, True))

    def jvp_x(t, x, z, dims, keepdim):
        hits = (x == kept(z, x.shape, dims, keepdim)).to(t.dtype)
        return call(SumDim.op, (t * hits / call(SumDim.op, (hits, dims, True)), dims, keepdim))


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


@op("max", "Max1")
class Max(ExtremumRule):
    """z = the largest of everything"""

    def forward(k, x, dims, keepdim):
        return k.amax(x, dims, keepdim)


@op("min", "Min1")
class Min(ExtremumRule):
    """z = the smallest of everything"""

    def forward(k, x, dims, keepdim):
        return k.amin(x, dims, keepdim)


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
        return picked(k, x, k.argmax(x, dim, True), dim, keepdim)


@op("min_dim", "Min0")
class MinDim(ExtremumWithIndex):
    """The smallest along one dimension, and where it is"""

    def forward(k, x, dim, keepdim):
        return picked(k, x, k.argmin(x, dim, True), dim, keepdim)


def picked(k, x, index, dim, keepdim):
    """The elements of `x` at `index`, and the index."""
    values = k.gather(x, dim, index)
    return (values, index) if keepdim or not x.ndim else (k.copy(k.select(values, dim, 0)), k.copy(k.select(index, dim, 0)))


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


@op("logsumexp")
class Logsumexp(Op):
    """z = log Σ e^x over dims"""

    inputs = 1

    def forward(k, x, dims, keepdim):
        return k.logsumexp(x, dims, keepdim)

    def vjp_x(g, x, z, dims, keepdim):
        return restored(g, x.shape, dims, keepdim) * conj(weights(x, z, dims, keepdim))

    def jvp_x(t, x, z, dims, keepdim):
        return call(SumDim.op, (t * weights(x, z, dims, keepdim), dims, keepdim))


def weights(x, z, dims, keepdim):
    """e^(x - z): the softmax of x."""
    return exp(x - kept(z, x.shape, dims, keepdim))


# ---- public functions -------------------------------------------------------------------------------------


def sum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum of all elements, or along dimensions.

    Args:
        dim (int or tuple, optional): the dimensions that are reduced; all of them by default.
        keepdim (bool): keep them, with size 1.
        dtype (optional): computes in it. By default integers and bools give int64.

    Mirrors ``torch.sum``.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: a dimension is named twice.

    >>> x = mg.tensor([[1., 2.], [3., 4.]])
    >>> mg.sum(x), mg.sum(x, 0)
    (tensor(10.), tensor([4., 6.]))
    """
    tensor_argument("sum", input)
    if dtype is not None:
        input = cast(input, as_dtype(dtype))
    elif not input.dtype.differentiable:
        input = cast(input, INT64)
    flag(keepdim, "keepdim", "sum")
    if dim is None or no_dims(dim):
        rule = Sum if dim is None else SumDim
        return call(rule.op, (input, tuple(range(input.ndim)), keepdim))
    return call(SumDim.op, (input, dimensions(dim, input.ndim), keepdim))


def mean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean of all elements, or along dimensions; of none it is nan.

    Args:
        dim (int or tuple, optional): the dimensions that are reduced; all of them by default.
        keepdim (bool): keep them, with size 1.
        dtype (optional): computes in it.

    Mirrors ``torch.mean``.

    Raises:
        RuntimeError: the dtype is neither floating point nor complex.
        IndexError: there is no such dimension.

    >>> mg.mean(mg.tensor([[1., 2.], [3., 4.]]), 1)
    tensor([1.5000, 3.5000])
    """
    tensor_argument("mean", input)
    if dtype is not None:
        input = cast(input, as_dtype(dtype))
    if not input.dtype.differentiable:
        raise ShapeError("MG-E203", "mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
                         f"dtype. Got: {input.dtype.name}", fix="x.float().mean()")
    flag(keepdim, "keepdim", "mean")
    if dim is None:
        return call(Mean.op, (input, tuple(range(input.ndim)), keepdim))
    return call(MeanDim.op, (input, all_or(dim, input.ndim), keepdim))


def prod(input, dim=None, keepdim=False, *, dtype=None):
    """The product of all elements, or along one dimension.

    Args:
        dim (int, optional): the dimension that is reduced.
        keepdim (bool): keep it, with size 1.
        dtype (optional): computes in it. By default integers and bools give int64.

    Mirrors ``torch.prod``.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.prod(mg.tensor([2., 3., 4.]))
    tensor(24.)
    """
    tensor_argument("prod", input)
    if dtype is not None:
        input = cast(input, as_dtype(dtype))
    elif not input.dtype.differentiable:
        input = cast(input, INT64)
    flag(keepdim, "keepdim", "prod")
    if dim is None:
        return call(Prod.op, (input, tuple(range(input.ndim)), False))
    at = dimension(dim, input.ndim)
    return call(ProdDim.op, (input, (at,) if input.ndim else (), keepdim))


def var(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance of all elements, or along dimensions.

    Args:
        dim (int or tuple, optional): the dimensions that are reduced; all of them by default.
        unbiased (bool, optional): the older spelling of ``correction=1`` (True) and ``0`` (False).
        keepdim (bool): keep them, with size 1.
        correction (int): subtracted from the number of elements in the divisor; 1 by default.

    Mirrors ``torch.var``.

    Raises:
        RuntimeError: the dtype is neither floating point nor complex.
        IndexError: there is no such dimension.

    >>> mg.var(mg.tensor([1., 2., 3., 4.]))
    tensor(1.6667)
    """
    tensor_argument("var", input)
    if isinstance(dim, bool):
        if correction is not None or keepdim is not False:
            raise TensorTypeError("MG-E206", "var(): argument 'dim' must be int or tuple of ints, not bool")
        dim, unbiased = None, dim
    if not input.dtype.differentiable:
        raise ShapeError("MG-E203", "std and var only support floating point and complex dtypes", found=input.dtype.name)
    flag(keepdim, "keepdim", "var")
    if correction is None:
        correction = 1 if unbiased is None else int(flag(unbiased, "unbiased", "var"))
    elif isinstance(correction, bool) or not isinstance(correction, (int, float)):
        raise TensorTypeError("MG-E201", f"var(): argument 'correction' must be Number, not {type(correction).__name__}")
    return call(Var.op, (input, all_or(dim, input.ndim), correction, keepdim))


def std(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The standard deviation: the square root of `var`, with the same arguments. Mirrors ``torch.std``.

    >>> mg.std(mg.tensor([1., 2., 3., 4.]))
    tensor(1.2910)
    """
    return var(input, dim, unbiased, keepdim, correction=correction).sqrt()


def check_ordered(name, input):
    """Raise for complex numbers, of which none is the largest."""
    if input.dtype.is_complex:
        raise ShapeError("MG-E203", f"{name}(): does not support complex input", fix="x.abs() or x.real")


def reduce_extremum(name, rule, input, dim, keepdim):
    """amax and amin."""
    tensor_argument(name, input)
    flag(keepdim, "keepdim", name)
    check_ordered(name, input)
    dims = all_or(dim, input.ndim)
    if input.numel() == 0 and (dim is None or dim == ()):
        raise ShapeError("MG-E208", f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                         "reduction dim with the 'dim' argument.")
    for d in dims:
        if input.ndim and input.shape[d] == 0:
            raise OutOfRangeError("MG-E301", f"{name}(): Expected reduction dim {d} to have non-zero size.")
    return call(rule.op, (input, dims, keepdim))


def amax(input, dim=(), keepdim=False):
    """The largest element over some dimensions, or all. Those that tie share the gradient evenly.

    Mirrors ``torch.amax``.

    Raises:
        IndexError: there is no such dimension, or it is empty.

    >>> mg.amax(mg.tensor([[1., 5.], [4., 2.]]), 0)
    tensor([4., 5.])
    """
    return reduce_extremum("amax", Amax, input, dim, keepdim)


def amin(input, dim=(), keepdim=False):
    """The smallest element over some dimensions, or all. Those that tie share the gradient evenly.

    Mirrors ``torch.amin``.

    Raises:
        IndexError: there is no such dimension, or it is empty.

    >>> mg.amin(mg.tensor([[1., 5.], [4., 2.]]), 0)
    tensor([1., 2.])
    """
    return reduce_extremum("amin", Amin, input, dim, keepdim)


# The pairs that max and min along a dimension return, as in torch.return_types.
max_result = namedtuple("max", ("values", "indices"))
min_result = namedtuple("min", ("values", "indices"))


def extremum(name, whole, along, pairwise, result, input, dim, keepdim):
    """max and min, in their three forms."""
    tensor_argument(name, input)
    flag(keepdim, "keepdim", name)
    check_ordered(name, input)
    if dim is None:
        if input.numel() == 0:
            raise ShapeError("MG-E208", f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
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


def max(input, dim=None, keepdim=False):
    """The largest element; along a dimension, the largest ones and their positions; or of two tensors.

    Args:
        dim (int or Tensor, optional): a dimension, for the pair (values, indices); a tensor, for `maximum`.
        keepdim (bool): keep the dimension, with size 1.

    Mirrors ``torch.max``.

    Raises:
        RuntimeError: there are no elements.
        IndexError: there is no such dimension.

    >>> mg.max(mg.tensor([[1., 5.], [4., 2.]]), 1)
    max(values=tensor([5., 4.]), indices=tensor([1, 0]))
    """
    return extremum("max", Max, MaxDim, maximum, max_result, input, dim, keepdim)


def min(input, dim=None, keepdim=False):
    """The smallest element; along a dimension, the smallest ones and their positions; or of two tensors.

    Args:
        dim (int or Tensor, optional): a dimension, for the pair (values, indices); a tensor, for `minimum`.
        keepdim (bool): keep the dimension, with size 1.

    Mirrors ``torch.min``.

    Raises:
        RuntimeError: there are no elements.
        IndexError: there is no such dimension.

    >>> mg.min(mg.tensor([3., 1., 2.]))
    tensor(1.)
    """
    return extremum("min", Min, MinDim, minimum, min_result, input, dim, keepdim)


def position(name, rule, input, dim, keepdim):
    """argmax and argmin."""
    tensor_argument(name, input)
    flag(keepdim, "keepdim", name)
    check_ordered(name, input)
    if input.dtype.name == "bool":
        raise ShapeError("MG-E203", f"{name}(): does not support bool input", fix="x.int()")
    if dim is None:
        if input.numel() == 0:
            raise OutOfRangeError("MG-E301", f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        return call(rule.op, (input, None, keepdim))
    at = dimension(dim, input.ndim)
    if input.ndim and input.shape[at] == 0:
        raise OutOfRangeError("MG-E301", f"{name}(): Expected reduction dim {at} to have non-zero size.")
    return call(rule.op, (input, at if input.ndim else None, keepdim))


def argmax(input, dim=None, keepdim=False):
    """The position (int64) of the largest element, the first of several. Mirrors ``torch.argmax``.

    Args:
        dim (int, optional): along this dimension; by default in the flattened tensor.

    Raises:
        IndexError: there are no elements, or no such dimension.

    >>> mg.argmax(mg.tensor([1., 5., 2.]))
    tensor(1)
    """
    return position("argmax", Argmax, input, dim, keepdim)


def argmin(input, dim=None, keepdim=False):
    """The position (int64) of the smallest element, the first of several. Mirrors ``torch.argmin``.

    Args:
        dim (int, optional): along this dimension; by default in the flattened tensor.

    Raises:
        IndexError: there are no elements, or no such dimension.

    >>> mg.argmin(mg.tensor([[3., 1.], [0., 2.]]), 1)
    tensor([1, 0])
    """
    return position("argmin", Argmin, input, dim, keepdim)


def all(input, dim=None, keepdim=False):
    """Whether every element is different from 0, of the whole or along dimensions; of none it is True.

    Mirrors ``torch.all``.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.all(mg.tensor([True, False])), mg.all(mg.tensor([[1, 2], [0, 3]]), 1)
    (tensor(False), tensor([ True, False]))
    """
    tensor_argument("all", input)
    return ne(input, 0) if no_dims(dim) else eq(sum(eq(input, 0), dim, keepdim), 0)


def any(input, dim=None, keepdim=False):
    """Whether some element is different from 0, of the whole or along dimensions; of none it is False.

    Mirrors ``torch.any``.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.any(mg.tensor([True, False])), mg.any(mg.tensor([[0, 0], [0, 3]]), 1)
    (tensor(True), tensor([False,  True]))
    """
    tensor_argument("any", input)
    return ne(input, 0) if no_dims(dim) else ne(sum(ne(input, 0), dim, keepdim), 0)


def logsumexp(input, dim, keepdim=False):
    """The logarithm of the sum of the exponentials, without overflow. Mirrors ``torch.logsumexp``.

    Args:
        dim (int or tuple): the dimensions that are reduced.
        keepdim (bool): keep them, with size 1.

    Raises:
        IndexError: there is no such dimension.

    >>> mg.logsumexp(mg.tensor([0., 0.]), 0)
    tensor(0.6931)
    """
    tensor_argument("logsumexp", input)
    flag(keepdim, "keepdim", "logsumexp")
    if not input.dtype.differentiable:
        input = cast(input, default_dtype())
    return call(Logsumexp.op, (input, all_or(dim, input.ndim), keepdim))


def sum_to(x, shape):
    """`x` summed down to `shape`, which broadcasts to its own: the adjoint of broadcasting."""
    wide: tuple = cython.cast(TensorBase, x)._meta.shape
    lead: cython.Py_ssize_t = len(wide) - len(shape)
    d: cython.Py_ssize_t
    dims = [d for d in range(lead)]
    for d in range(lead, len(wide)):
        if shape[d - lead] == 1 and wide[d] != 1:
            dims.append(d)
    if len(dims) == lead:
        return call(SumDim.op, (x, tuple(dims), False)) if dims else x
    x = call(SumDim.op, (x, tuple(dims), True))
    return view(x, shape) if lead else x


given.sum_to = sum_to
