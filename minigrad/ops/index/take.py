"""More ways to pick and store by index: take and put, which see the tensor as flat; take_along_dim; scatter_reduce.

    take                z[i] = x.flatten()[index[i]]        put             the way back
    scatter_reduce      z[index[i]] = x[index[i]] ∘ y[i], ∘ being a sum, product, mean or extremum

Mirrors ``aten/src/ATen/native/TensorAdvancedIndexing.cpp``.
"""

from cython.cimports.minigrad._core.record.apply import call

from minigrad._core.graph.broadcasting import broadcast_shape
from minigrad.errors import OutOfRangeError, ShapeError
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import in_float32
from minigrad.ops.base.rule import INT64, Linear, Op, dimension, flag, integer, op, outside, tensor_argument, wrong_type
from minigrad.ops.elementwise.rounding import remainder
from minigrad.ops.elementwise.selection import where
from minigrad.ops.index.indexing import Gather, ScatterAdd, gather, linear_together, scatter_add, scatter_operands, slices
from minigrad.ops.index.scattering import scatter
from minigrad.ops.scan.scans import Cumsum, after, before, recurrence
from minigrad.ops.shape.clone_cast import cast, clone
from minigrad.ops.shape.reshaping import flatten
from minigrad.ops.shape.views import expand, reshape
from minigrad.ops.sort.sorting import argsort

__all__ = ["index_reduce", "put", "scatter_reduce", "take", "take_along_dim"]


@op("take")
class Take(Linear):
    """z = x, flattened, at index"""

    inputs = 1

    def forward(k, x, index):
        return k.index(k.view(k.copy(x), (x.size,)), [index])

    def vjp_x(g, x_shape, index):
        return call(Put.op, (g.new_zeros(x_shape), g, index, True))


@op("put")
class Put(Linear):
    """z = x with y stored at the places that index names in the flattened x, or added"""

    torch_names = {"x": "self", "y": "source"}

    def forward(k, x, y, index, accumulate):
        flat = k.view(k.copy(x), (x.size,))
        z = k.index_put(flat, [k.view(k.copy(index), (index.size,))], k.view(k.copy(y), (y.size,)), accumulate)
        return k.view(z, tuple(x.shape))

    def vjp_x(g, y_shape, index, accumulate):
        return g if accumulate else call(Put.op, (g, g.new_zeros(y_shape), index, False))

    def vjp_y(g, y_shape, index):
        return reshape(call(Take.op, (g, index)), y_shape)

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        return linear_together(cls, args, tangents)


class ScatterReduceRule(Op):
    """z = x, with y[i, j] taken into account at [index[i, j], j], for dim 0"""

    torch_names = {"x": "self", "y": "src", "z": "result"}


@op("scatter_product", "ScatterReduce0")
class ScatterProduct(ScatterReduceRule):
    """z = x, times y[i, j] at [index[i, j], j], for dim 0"""

    def forward(k, x, y, dim, index):
        return k.scatter_reduce(x, dim, index, y, "prod")

    def vjp_x(g, x, y, dim, index):         # the product of the others, as if x were 1
        return g * call(ScatterProduct.op, (x * 0 + 1, y, dim, index)).conj()

    def vjp_y(g, x, y, z, dim, index):
        return call(Gather.op, (g, dim, index)) * product_of_others(x, y, z, dim, index).conj()

    def jvp_x(t, x, y, dim, index):
        return t * call(ScatterProduct.op, (x * 0 + 1, y, dim, index))

    def jvp_y(t, x, y, z, dim, index):
        return call(ScatterAdd.op, (t.new_zeros(z.shape), t * product_of_others(x, y, z, dim, index), dim, index))


def product_of_others(x, y, z, dim, index):
    """For each element of y the product without it: z / y, or where the element is the only 0, the product with a 1 there."""
    zero = y == 0
    number = gather(scatter_add(integer_zeros(x), dim, index, cast(zero, INT64)), dim, index)       # of zeros in the place of each
    if bool((number > 1).any()):
        return call(Gather.op, (x, dim, index)) * product_of_others_in_place(x, y, dim, index)
    rest = call(Gather.op, (call(ScatterProduct.op, (x, where(zero, 1.0, y), dim, index)), dim, index))
    return where(zero, rest, call(Gather.op, (z, dim, index)) / where(zero, 1.0, y))


def product_of_others_in_place(x, y, dim, index):
    """For each element of y the product of the other elements with its place: of those before it and of those behind it.

    All of them are 0 where three are, and so are their derivatives, but not the derivatives of these. So we multiply.
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
    """Those that tie share the gradient evenly"""

    def vjp_x(g, x, y, z, dim, index):
        return g * share_of_ties(x, y, z, dim, index, g.dtype)[0]

    def vjp_y(g, x, y, z, dim, index):
        return call(Gather.op, (g, dim, index)) * share_of_ties(x, y, z, dim, index, g.dtype)[1]

    def jvp_x(t, x, y, z, dim, index):
        return t * share_of_ties(x, y, z, dim, index, t.dtype)[0]

    def jvp_y(t, x, y, z, dim, index):
        return call(ScatterAdd.op, (t.new_zeros(z.shape), t * share_of_ties(x, y, z, dim, index, t.dtype)[1], dim, index))


def share_of_ties(x, y, z, dim, index, dtype):
    """Which part of the gradient each element of x, and of y, gets."""
    hit, other = cast(x == z, dtype), cast(y == gather(z, dim, index), dtype)
    number = scatter_add(hit, dim, index, other)
    return hit / number, other / gather(number, dim, index)


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


def flat_index(function, x, index):
    """An index into the flattened x, as int64 without negatives."""
    tensor_argument(function, index, "index", 2)
    if index.dtype is not INT64:
        raise ShapeError("MG-E203", f"{function}(): Expected a long tensor for index, but got {index.dtype.name}")
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


def take(input, index, *, out=None):
    """The elements of `input`, seen as flat, at `index`, in its shape. Mirrors ``torch.take``.

    Raises:
        RuntimeError: `index` is not int64.
        IndexError: an index is out of range.

    >>> mg.take(mg.tensor([[1., 2.], [3., 4.]]), mg.tensor([0, -1]))
    tensor([1., 4.])
    """
    if out is not None:
        return into(out, take, input, index)
    tensor_argument("take", input)
    return call(Take.op, (input, flat_index("take", input, index)))


@in_place_too
def put(input, index, source, accumulate=False):
    """`input` with the elements of `source` stored at `index` of the flattened tensor, or added. Mirrors ``torch.put``.

    Raises:
        RuntimeError: `index` is not int64, or the dtypes differ.
        IndexError: an index is out of range, or there are not as many elements as indices.

    >>> mg.zeros(2, 2).put(mg.tensor([1, -1]), mg.tensor([5., 6.]))
    tensor([[0., 5.],
            [0., 6.]])
    """
    tensor_argument("put", source, "source", 3)
    if source.dtype is not input.dtype:
        raise ShapeError("MG-E203", "put_(): self and source expected to have the same dtype, but got self.dtype = "
                         f"{input.dtype.name} and source.dtype = {source.dtype.name}", fix="source.to(input.dtype)")
    tensor_argument("put", index, "index", 2)
    if source.numel() != index.numel():
        raise OutOfRangeError("MG-E301", "put_(): Expected source and index to have the same number of elements, but got "
                              f"source.numel() = {source.numel()}, index.numel() = {index.numel()}")
    return Put.op, (input, source, flat_index("put", input, index), flag(accumulate, "accumulate", "put"))


def take_along_dim(input, indices, dim=None, *, out=None):
    """The elements of `input` that `indices` names along `dim`, the other dimensions being broadcast together.

    Args:
        indices (Tensor): int64, such as those of `argsort`. Along `dim` they count round and round: -1 is the last.
        dim (int, optional): without it `input` is flattened, and `indices` too.

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
        raise ShapeError("MG-E203", "torch.take_along_dim(): dtype of indices should be Long but got " + indices.dtype.name)
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
    one = input.select(at, 0) if input.shape[at] else input.sum(at)
    shape = list(broadcast_shape([one._meta, indices.detach().sum(at)._meta]))
    wide = expand(input, (*shape[:at], input.shape[at], *shape[at:]))
    return gather(wide, at, expand(indices, (*shape[:at], indices.shape[at], *shape[at:])))


IDENTITIES = {"sum": 0, "mean": 0, "prod": 1}
RULES = {"prod": ScatterProduct, "amax": ScatterAmax, "amin": ScatterAmin}


def scatter_reduce(input, dim, index, src, reduce, *, include_self=True, out=None):
    """`input` with the elements of `src` that `index` sends to a place reduced there: added, multiplied ...

    Args:
        reduce (str): ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
        include_self (bool): False leaves out what was there, except where nothing arrives.

    Mirrors ``torch.scatter_reduce``.

    Raises:
        RuntimeError: the shapes do not fit, the dtypes differ, there is no such reduction, or an index is out of range.
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
        raise ShapeError("MG-E203", "scatter(): Expected self.dtype to be equal to src.dtype", found=f"{input.dtype.name} and "
                         f"{src.dtype.name}", fix="src.to(input.dtype)")
    if (input.dtype.is_complex and reduce in ("amax", "amin")) or (input.dtype.name == "bool" and reduce == "mean"):
        raise ShapeError("MG-E203", f"scatter_reduce(): {reduce} is not implemented for {input.dtype.name}")
    src, at, index = scatter_operands("scatter_reduce", input, dim, index, src)
    if not index.numel():
        return clone(input)
    if input.ndim == 0:
        return scatter_reduce(reshape(input, 1), 0, index, src, reduce, include_self=include_self).reshape(())
    if tuple(src.shape) != tuple(index.shape):
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


def index_reduce(input, dim, index, source, reduce, *, include_self=True, out=None):
    """`input` with the slices of `source` that the vector `index` sends to a slice reduced there: multiplied, averaged ...

    Args:
        reduce (str): ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
        include_self (bool): False leaves out what was there, except where nothing arrives.

    Mirrors ``torch.index_reduce``.

    Raises:
        RuntimeError: the shapes do not fit, the dtypes differ, or there is no such reduction.
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
        raise ShapeError("MG-E203", f"index_reduce_(): self ({input.dtype.name}) and source ({source.dtype.name}) must have the "
                         "same scalar type", fix="source.to(self.dtype)")
    if input.ndim == 0:
        return reshape(reduce_in_float32(reshape(input, 1), 0, index, reshape(source, 1), reduce, include_self=include_self), ())
    shape = [1] * input.ndim
    shape[at] = index.numel()
    return reduce_in_float32(input, at, expand(reshape(index, shape), source.shape), source, reduce, include_self=include_self)


reduce_in_float32 = in_float32(scatter_reduce)      # of float16


def index_reduce_(self, dim, index, source, reduce, *, include_self=True):
    """In place: `index_reduce`, whose result is written to the tensor. Mirrors ``torch.Tensor.index_reduce_``.

    >>> mg.ones(2).index_reduce_(0, mg.tensor([0, 0]), mg.tensor([2., 3.]), "amax")
    tensor([3., 1.])
    """
    return self.copy_(index_reduce(clone(self), dim, index, source, reduce, include_self=include_self))


def lowest(dtype):
    """What every number is at least."""
    if dtype.is_floating_point:
        return float("-inf")
    return False if dtype.name == "bool" else -1 << (8 * dtype.itemsize - 1) if dtype.is_signed else 0


def highest(dtype):
    """What every number is at most."""
    if dtype.is_floating_point:
        return float("inf")
    return True if dtype.name == "bool" else ~lowest(dtype) if dtype.is_signed else (1 << 8 * dtype.itemsize) - 1


def scatter_reduce_(self, dim, index, src, reduce, *, include_self=True):
    """In place: `scatter_reduce`, whose result is written to the tensor. Mirrors ``torch.Tensor.scatter_reduce_``.

    >>> mg.ones(2).scatter_reduce_(0, mg.tensor([0, 0]), mg.tensor([2., 3.]), "prod")
    tensor([6., 1.])
    """
    return self.copy_(scatter_reduce(clone(self), dim, index, src, reduce, include_self=include_self))
