"""More ops that pick and store by index: take and put, on the flattened tensor; take_along_dim; scatter_reduce.

    take                z[i] = x.flatten()[index[i]]        put             its adjoint, with ``accumulate=True``
    scatter_reduce      z[index[i]] = x[index[i]] ∘ y[i]; ∘ is a sum, product, mean or extremum

Mirrors ``aten/src/ATen/native/TensorAdvancedIndexing.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minigrad._core.graph.broadcasting import broadcast_shape
from minigrad._core.record.apply import call
from minigrad.errors import DtypeError, OutOfRangeError, ShapeError
from minigrad.ops.base.arguments import dimension, flag, integer, outside, tensor_argument, wrong_type
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import in_float32
from minigrad.ops.base.rule import INT64, Linear, Op, op
from minigrad.ops.elementwise.rounding import remainder
from minigrad.ops.elementwise.selection import where
from minigrad.ops.index.indexing import Gather, ScatterAdd, gather, linear_together, scatter_add, scatter_operands, slices
from minigrad.ops.index.scattering import scatter
from minigrad.ops.scan.scans import Cumsum, after, before, recurrence
from minigrad.ops.shape.clone_cast import cast, clone
from minigrad.ops.shape.formats import order_like
from minigrad.ops.shape.reshaping import flatten
from minigrad.ops.shape.views import expand, reshape, reshape_array
from minigrad.ops.sort.sorting import argsort

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["index_reduce", "put", "scatter_reduce", "take", "take_along_dim"]


@op("take")
class Take(Linear):
    """z = x, flattened, at index"""

    inputs = 1

    def forward(k, x, index):
        return k.index(reshape_array(k, x, (x.size,)), [index])

    def vjp_x(g, x_shape, index):
        return call(Put.op, (g.new_zeros(x_shape), g, index, True))


@op("put")
class Put(Linear):
    """z = x, with y stored at index in the flattened x, or added"""

    torch_names = {"x": "self", "y": "source"}

    def forward(k, x, y, index, accumulate):
        flat, index, y = [reshape_array(k, a, (a.size,)) for a in (x, index, y)]
        z = k.index_put(flat, [index], y, accumulate)
        return order_like(k, k.view(z, tuple(x.shape)), x)

    def vjp_x(g, y_shape, index, accumulate):
        return g if accumulate else call(Put.op, (g, g.new_zeros(y_shape), index, False))

    def vjp_y(g, y_shape, index):
        return reshape(call(Take.op, (g, index)), y_shape)

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return linear_together(cls, args, tangents)


class ScatterReduceRule(Op):
    """z = x, reduced with y[i, j] at [index[i, j], j], for dim 0"""

    torch_names = {"x": "self", "y": "src", "z": "result"}


@op("scatter_product", "ScatterReduce0")
class ScatterProduct(ScatterReduceRule):
    """z = x, times y[i, j] at [index[i, j], j], for dim 0"""

    def forward(k, x, y, dim, index):
        return k.scatter_reduce(x, dim, index, y, "prod")

    def vjp_x(g, x, y, dim, index):         # the product of the other factors: the op itself, with x = 1
        return g * call(ScatterProduct.op, (x * 0 + 1, y, dim, index)).conj()

    def vjp_y(g, x, y, z, dim, index):
        return call(Gather.op, (g, dim, index)) * product_of_others(x, y, z, dim, index).conj()

    def jvp_x(t, x, y, dim, index):
        return t * call(ScatterProduct.op, (x * 0 + 1, y, dim, index))

    def jvp_y(t, x, y, z, dim, index):
        return call(ScatterAdd.op, (t.new_zeros(z.shape), t * product_of_others(x, y, z, dim, index), dim, index))


def product_of_others(x, y, z, dim, index):
    """For each element of y, the product without it: z / y; or, if it is the only 0, the product with a 1 instead of it."""
    zero = y == 0
    number = gather(scatter_add(integer_zeros(x), dim, index, cast(zero, INT64)), dim, index)       # zeros at the place of each
    if bool((number > 1).any()):
        return call(Gather.op, (x, dim, index)) * product_of_others_in_place(x, y, dim, index)
    rest = call(Gather.op, (call(ScatterProduct.op, (x, where(zero, 1.0, y), dim, index)), dim, index))
    return where(zero, rest, call(Gather.op, (z, dim, index)) / where(zero, 1.0, y))


def product_of_others_in_place(x, y, dim, index):
    """For each element of y, the product of the other elements with its place: of those before it times those after it.

    With three zeros at a place all these products are 0, and so are their derivatives, but not their second derivatives. So we
    multiply, and do not write 0.
    """
    numbered = reshape(call(Cumsum.op, (x.new_ones((x.numel(),), dtype=INT64), 0)), x.shape)
    places = flatten(gather(numbered, dim, index))
    order = argsort(places, stable=True)
    places, factors = take(places, order), take(flatten(y), order)
    same = before(places, 0, 0) == places
    ahead = recurrence(where(same, before(factors, 0, 1), 0.0), cast(~same, y.dtype), 0, False)
    same = after(places, 0, 0) == places
    behind = recurrence(where(same, after(factors, 0, 1), 0.0), cast(~same, y.dtype), 0, True)
    return reshape(take(ahead * behind, argsort(order)), y.shape)


def integer_zeros(x):
    """Integer zeros of x's shape."""
    return x.new_zeros(x.shape, dtype=INT64)


class ScatterExtremum(ScatterReduceRule):
    """z = the extremum of x and y[i, j] at [index[i, j], j]; equal elements share the gradient evenly"""

    def vjp_x(g, x, y, z, dim, index):
        return g * share_of_ties(x, y, z, dim, index, g.dtype)[0]

    def vjp_y(g, x, y, z, dim, index):
        return call(Gather.op, (g, dim, index)) * share_of_ties(x, y, z, dim, index, g.dtype)[1]

    def jvp_x(t, x, y, z, dim, index):
        return t * share_of_ties(x, y, z, dim, index, t.dtype)[0]

    def jvp_y(t, x, y, z, dim, index):
        return call(ScatterAdd.op, (t.new_zeros(z.shape), t * share_of_ties(x, y, z, dim, index, t.dtype)[1], dim, index))


def share_of_ties(x, y, z, dim, index, dtype):
    """The share of the gradient that each element of x gets, and each element of y."""
    hit, other = cast(x == z, dtype), cast(y == call(Gather.op, (z, dim, index)), dtype)
    number = call(ScatterAdd.op, (hit, other, dim, index))
    return hit / number, other / call(Gather.op, (number, dim, index))


@op("scatter_amax", "ScatterReduce0")
class ScatterAmax(ScatterExtremum):
    """z = the larger of x and y[i, j] at [index[i, j], j], for dim 0"""

    def forward(k, x, y, dim, index):
        return k.scatter_reduce(x, dim, index, y, "amax")


@op("scatter_amin", "ScatterReduce0")
class ScatterAmin(ScatterExtremum):
    """z = the smaller of x and y[i, j] at [index[i, j], j], for dim 0"""

    def forward(k, x, y, dim, index):
        return k.scatter_reduce(x, dim, index, y, "amin")


# ---- public functions -------------------------------------------------------------------------------------


def check_flat_index(function, x, index):
    """Check an index into the flattened x; return it as int64 without negative numbers."""
    tensor_argument(function, index, "index", 2)
    if index.dtype is not INT64:
        raise DtypeError("MG-E203", f"{function}(): Expected a long tensor for index, but got {index.dtype.name}")
    n = x.numel()
    if index.numel() and n == 0:
        raise OutOfRangeError("MG-E301", f"{function}(): tried to take from an empty tensor")
    if outside(index, n) is None:
        return index
    bad = outside(index + n, 2 * n)
    if bad is not None:
        raise OutOfRangeError("MG-E301", f"{function}(): out of range: tried to access index {bad - n} on a tensor of {n} "
                              "elements.")
    return where(index < 0, index + n, index)


def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of the flattened `input` at `index`. Mirrors ``torch.take``.

    Args:
        input (Tensor): of any dtype and shape.
        index (Tensor): int64, of any shape, which is the shape of the result. Negative indices count from the end.

    Raises:
        RuntimeError: `index` is not int64.
        IndexError: an index is out of range.

    >>> mg.take(mg.tensor([[1., 2.], [3., 4.]]), mg.tensor([0, -1]))
    tensor([1., 4.])
    """
    if out is not None:
        return into(out, take, input, index)
    tensor_argument("take", input)
    return call(Take.op, (input, check_flat_index("take", input, index)))


@in_place_too
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False):
    """`input` with the elements of `source` stored at `index` of the flattened tensor. Mirrors ``torch.put``.

    Args:
        input (Tensor): of any dtype and shape.
        index (Tensor): int64, of any shape. Negative indices count from the end.
        source (Tensor): of the dtype of `input`, with as many elements as `index`.
        accumulate (bool): add instead of storing; if an index repeats, all its values are added.

    Raises:
        RuntimeError: `index` is not int64, or the dtypes differ.
        IndexError: an index is out of range, or `source` and `index` differ in their number of elements.

    >>> mg.zeros(2, 2).put(mg.tensor([1, -1]), mg.tensor([5., 6.]))
    tensor([[0., 5.],
            [0., 6.]])
    """
    tensor_argument("put", source, "source", 3)
    if source.dtype is not input.dtype:
        raise DtypeError("MG-E203", "put_(): self and source expected to have the same dtype, but got self.dtype = "
                         f"{input.dtype.name} and source.dtype = {source.dtype.name}", fix="source.to(input.dtype)")
    tensor_argument("put", index, "index", 2)
    if source.numel() != index.numel():
        raise OutOfRangeError("MG-E301", "put_(): Expected source and index to have the same number of elements, but got "
                              f"source.numel() = {source.numel()}, index.numel() = {index.numel()}")
    return Put.op, (input, source, check_flat_index("put", input, index), flag(accumulate, "accumulate", "put"))


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The elements of `input` at `indices` along `dim`. The other dimensions broadcast together.

    Args:
        input (Tensor): of any dtype.
        indices (Tensor): int64, with as many dimensions as `input`; for example the result of `argsort`. Along `dim` they are
            taken modulo the size, so -1 is the last.
        dim (int, optional): the dimension that the indices count along; by default both tensors are flattened.

    Mirrors ``torch.take_along_dim``.

    Raises:
        RuntimeError: the shapes do not fit, `indices` is not int64, or an index is out of range and there is no `dim`.
        IndexError: there is no such dimension.

    >>> x = mg.tensor([[3., 1.], [2., 4.]])
    >>> mg.take_along_dim(x, x.argsort(1), 1)
    tensor([[1., 3.],
            [2., 4.]])
    """
    if out is not None:
        return into(out, take_along_dim, input, indices, dim)
    tensor_argument("take_along_dim", input)
    tensor_argument("take_along_dim", indices, "indices", 2)
    if indices.dtype is not INT64:
        raise DtypeError("MG-E203", "torch.take_along_dim(): dtype of indices should be Long but got " + indices.dtype.name)
    if dim is None:
        return gather(flatten(input), 0, flatten(indices))
    if input.ndim != indices.ndim:
        raise ShapeError("MG-E205", "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
                         f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices")
    at = dimension(dim, input.ndim)
    if input.ndim == 0:
        raise OutOfRangeError("MG-E301", f"Dimension specified as {dim} but tensor has no dimensions")
    if input.shape[at] and outside(indices, input.shape[at]) is not None:
        indices = remainder(indices, input.shape[at])
    if all([m == n or d == at for d, (m, n) in enumerate(zip(input.shape, indices.shape))]):
        return gather(input, at, indices)
    one = input.select(at, 0) if input.shape[at] else input.sum(at)
    shape = list(broadcast_shape([one._meta, indices.detach().sum(at)._meta]))
    wide = expand(input, (*shape[:at], input.shape[at], *shape[at:]))
    return gather(wide, at, expand(indices, (*shape[:at], indices.shape[at], *shape[at:])))


IDENTITIES = {"sum": 0, "mean": 0, "prod": 1}
RULES = {"prod": ScatterProduct, "amax": ScatterAmax, "amin": ScatterAmin}


def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True,
                   out: Tensor | None = None) -> Tensor:
    """`input`, reduced at `index` with the elements of `src`: by a sum, a product or another `reduce`.

    Args:
        input (Tensor): of any dtype that the reduction has.
        dim (int): the dimension that the indices count along.
        index (Tensor): int64 or int32; ``src[i, j]`` is reduced into ``z[index[i, j], j]`` for dim 0.
        src (Tensor): of the dtype of `input`, in no dimension smaller than `index`.
        reduce (str): ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
        include_self (bool): False leaves the old element out, where at least one element of `src` arrives.

    Mirrors ``torch.scatter_reduce``.

    Raises:
        RuntimeError: the shapes do not fit, the dtypes differ, `reduce` is not one of these, or an index is out of range.
        IndexError: there is no such dimension.

    >>> mg.zeros(2).scatter_reduce(0, mg.tensor([0, 0, 1]), mg.tensor([1., 5., 3.]), "amax")
    tensor([5., 3.])
    """
    if out is not None:
        return into(out, scatter_reduce, input, dim, index, src, reduce, include_self=include_self)
    tensor_argument("scatter_reduce", input)
    integer(dim, "dim", "scatter_reduce")
    tensor_argument("scatter_reduce", src, "src", 4)
    flag(include_self, "include_self", "scatter_reduce")
    if not isinstance(reduce, str):
        raise wrong_type("scatter_reduce", "reduce", "str", reduce)
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise ShapeError("MG-E206", f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if src.dtype is not input.dtype:
        raise DtypeError("MG-E203", "scatter(): Expected self.dtype to be equal to src.dtype", found=f"{input.dtype.name} and "
                         f"{src.dtype.name}", fix="src.to(input.dtype)")
    if (input.dtype.is_complex and reduce in ("amax", "amin")) or (input.dtype.name == "bool" and reduce == "mean"):
        raise DtypeError("MG-E203", f"scatter_reduce(): {reduce} is not implemented for {input.dtype.name}")
    src, at, index = scatter_operands("scatter_reduce", input, dim, index, src)
    if input.ndim == 0:
        return scatter_reduce(reshape(input, 1), 0, index, src, reduce, include_self=include_self).reshape(())
    if not index.numel():       # an empty index may have any shape
        nothing = (0,) * input.ndim
        src, index = reshape(flatten(src)[:0], nothing), index.new_zeros(nothing)
    elif tuple(src.shape) != tuple(index.shape):
        for d, n in enumerate(index.shape):
            src = src.narrow(d, 0, n)
    whole = input
    if not include_self:
        start = IDENTITIES[reduce] if reduce in IDENTITIES else lowest(input.dtype) if reduce == "amax" else highest(input.dtype)
        whole = scatter(input, at, index, start)
    if reduce in RULES:
        return call(RULES[reduce].op, (whole, src, at, index))
    total = scatter_add(whole, at, index, src)
    if reduce == "sum":
        return total
    counts = integer_zeros(input) + 1 if include_self else scatter(integer_zeros(input) + 1, at, index, 0)
    counts = scatter_add(counts, at, index, index * 0 + 1).clamp(1)
    return total / counts if input.dtype.differentiable else cast(total // counts, input.dtype)


def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True,
                 out: Tensor | None = None) -> Tensor:
    """`input`, reduced at `index` with the slices of `source`: by a product, a mean or another `reduce`.

    Args:
        input (Tensor): of any dtype that the reduction has.
        dim (int): the dimension of the slices.
        index (Tensor): a vector, int64 or int32; ``source[i]`` is reduced into ``z[index[i]]`` for dim 0.
        source (Tensor): of the dtype of `input`, and of its shape except along `dim`: there it has a slice for each index.
        reduce (str): ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
        include_self (bool): False leaves the old slice out, where at least one slice of `source` arrives.

    Mirrors ``torch.index_reduce``.

    Raises:
        RuntimeError: the shapes do not fit, the dtypes differ, or `reduce` is not one of these.
        IndexError: an index or `dim` is out of range.

    >>> mg.ones(2).index_reduce(0, mg.tensor([0, 0]), mg.tensor([2., 3.]), "prod")
    tensor([6., 1.])
    """
    if out is not None:
        return into(out, index_reduce, input, dim, index, source, reduce, include_self=include_self)
    tensor_argument("index_reduce", input)
    tensor_argument("index_reduce", source, "source", 4)
    flag(include_self, "include_self", "index_reduce")
    if not isinstance(reduce, str):
        raise wrong_type("index_reduce", "reduce", "str", reduce)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise ShapeError("MG-E206", f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    at, index = slices("index_reduce", input, integer(dim, "dim", "index_reduce"), index, source)
    if source.dtype is not input.dtype:
        raise DtypeError("MG-E203", f"index_reduce_(): self ({input.dtype.name}) and source ({source.dtype.name}) must have the "
                         "same scalar type", fix="source.to(self.dtype)")
    if input.ndim == 0:
        return reshape(reduce_in_float32(reshape(input, 1), 0, index, reshape(source, 1), reduce, include_self=include_self), ())
    shape = [1] * input.ndim
    shape[at] = index.numel()
    return reduce_in_float32(input, at, expand(reshape(index, shape), source.shape), source, reduce, include_self=include_self)


reduce_in_float32 = in_float32(scatter_reduce)      # float16 is computed in float32


def index_reduce_(self, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """In place: `minigrad.index_reduce`. Mirrors ``torch.Tensor.index_reduce_``.

    >>> mg.ones(2).index_reduce_(0, mg.tensor([0, 0]), mg.tensor([2., 3.]), "amax")
    tensor([3., 1.])
    """
    return self.copy_(index_reduce(clone(self), dim, index, source, reduce, include_self=include_self))


def lowest(dtype) -> Any:
    """The smallest number of a dtype, or -inf."""
    if dtype.is_floating_point:
        return float("-inf")
    return False if dtype.name == "bool" else -1 << (8 * dtype.itemsize - 1) if dtype.is_signed else 0


def highest(dtype):
    """The largest number of a dtype, or inf."""
    if dtype.is_floating_point:
        return float("inf")
    return True if dtype.name == "bool" else ~lowest(dtype) if dtype.is_signed else (1 << 8 * dtype.itemsize) - 1


def scatter_reduce_(self, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
    """In place: `minigrad.scatter_reduce`. Mirrors ``torch.Tensor.scatter_reduce_``.

    >>> mg.ones(2).scatter_reduce_(0, mg.tensor([0, 0]), mg.tensor([2., 3.]), "prod")
    tensor([6., 1.])
    """
    return self.copy_(scatter_reduce(clone(self), dim, index, src, reduce, include_self=include_self))
