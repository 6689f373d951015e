"""Sorting, searching, taking: values, places, dtypes, ties, nans, edges and errors are PyTorch's. Derivatives are in cases.py."""

import math

import pytest

import minigrad as mg
from tests.ops.alike import check_alike

NAN = float("nan")
INPUTS = {
    "matrix": lambda m: m.tensor([[3.0, 1.0, 2.0], [5.0, 9.0, 4.0]]), "row": lambda m: m.tensor([3, 1, 2]),
    "ties": lambda m: m.tensor([[2, 1, 2], [1, 1, 2], [2, 1, 2]]), "0-d": lambda m: m.tensor(2.5), "empty": lambda m: m.zeros(0),
    "no rows": lambda m: m.zeros(0, 3), "strided": lambda m: m.tensor([[4.0, 2.0, 9.0, 1.0], [3.0, 0.0, 7.0, 8.0]]).t()[::2],
    "nan": lambda m: m.tensor([2.0, NAN, -1.0, float("inf")]), "bool": lambda m: m.tensor([True, False]),
    "uint8": lambda m: m.tensor([1, 250, 3], dtype=m.uint8), "complex": lambda m: m.tensor([1j]),
    "double": lambda m: m.tensor([0.5, 0.25], dtype=m.float64),
}
ONE = {
    "sort": lambda m, x: m.sort(x), "sort down": lambda m, x: x.sort(dim=0, descending=True, stable=True)[0],
    "sort stable": lambda m, x: x.sort(stable=True, dim=-1), "sort stable down": lambda m, x: x.sort(stable=True, descending=True),
    "sort far": lambda m, x: m.sort(x, 4), "argsort": lambda m, x: m.argsort(x, stable=True),
    "argsort 0": lambda m, x: x.argsort(dim=0, stable=True), "msort": lambda m, x: m.msort(x),
    "topk": lambda m, x: m.topk(x, 2)[0], "topk 1": lambda m, x: x.topk(1, 0), "topk 0": lambda m, x: x.topk(0) if x.ndim else None,
    "topk far": lambda m, x: x.topk(9), "topk -1": lambda m, x: x.topk(-1), "topk smallest": lambda m, x: x.topk(1, largest=False)[0],
    "kthvalue": lambda m, x: m.kthvalue(x, 1)[0], "kthvalue 2": lambda m, x: x.kthvalue(2, 0, True)[0],
    "kthvalue 0": lambda m, x: x.kthvalue(0), "median": lambda m, x: m.median(x), "median dim": lambda m, x: x.median(-1)[0],
    "median keepdim": lambda m, x: x.median(0, True)[0], "nanmedian": lambda m, x: x.nanmedian(),
    "nanmedian dim": lambda m, x: m.nanmedian(x, 0)[0],
    "mode 0": lambda m, x: m.mode(x, 0, True)[0], "quantile": lambda m, x: m.quantile(x, 0.4),
    "quantile two": lambda m, x: x.quantile(m.tensor([0.0, 0.7]), 0), "quantile keepdim": lambda m, x: x.quantile(
        m.tensor([0.5]), -1, True),
    "quantile 0-d": lambda m, x: x.quantile(m.tensor(0.5), 0, keepdim=True), "quantile far": lambda m, x: x.quantile(1.5),
    "quantile whole keepdim": lambda m, x: x.quantile(m.tensor([0.5, 1.0]), keepdim=True),
    "nanquantile": lambda m, x: m.nanquantile(x, 0.4), "nanquantile dim": lambda m, x: x.nanquantile(0.4, 0),
    "unique": lambda m, x: m.unique(x), "unique all": lambda m, x: x.unique(return_inverse=True, return_counts=True),
    "unique 0": lambda m, x: m.unique(x.nan_to_num(), dim=0), "unique -1": lambda m, x: m.unique(
        x.nan_to_num(), return_inverse=True, return_counts=True, dim=-1),
    "unique_consecutive": lambda m, x: m.unique_consecutive(x, return_inverse=True, return_counts=True),
    "unique_consecutive 0": lambda m, x: x.unique_consecutive(return_counts=True, dim=0),
    "bincount": lambda m, x: m.bincount(x), "bincount minlength": lambda m, x: x.bincount(minlength=6),
    "bincount weights": lambda m, x: x.bincount(m.tensor([0.5, 1.0, 2.0])), "bincount ints": lambda m, x: x.bincount(m.tensor([1, 2, 3])),
    "bincount misfit": lambda m, x: x.bincount(m.tensor([1, 2])), "bincount -1": lambda m, x: x.bincount(minlength=-1),
    "histc": lambda m, x: m.histc(x, 4), "histc range": lambda m, x: x.histc(3, 1, 5), "histc 0": lambda m, x: x.histc(0),
    "histc inverted": lambda m, x: x.histc(3, 5, 1), "nonzero": lambda m, x: m.nonzero(x),
    "nonzero tuple": lambda m, x: x.nonzero(as_tuple=True), "argwhere": lambda m, x: x.argwhere(),
    "count_nonzero": lambda m, x: m.count_nonzero(x), "count_nonzero 0": lambda m, x: x.count_nonzero(0),
    "searchsorted": lambda m, x: m.searchsorted(m.tensor([0.0, 2.0, 2.0, 4.0]), x),
    "searchsorted right": lambda m, x: m.searchsorted(m.tensor([1, 2, 2, 3]), x, right=True, out_int32=True),
    "searchsorted side": lambda m, x: m.searchsorted(m.tensor([1, 2, 2, 3]), x, side="right"),
    "searchsorted opposites": lambda m, x: m.searchsorted(m.tensor([1, 2]), x, side="left", right=True),
    "searchsorted rows": lambda m, x: m.searchsorted(m.tensor([[0.0, 2.0, 4.0], [0.0, 4.5, 5.0]]), x),
    "searchsorted number": lambda m, x: m.searchsorted(x, 2), "bucketize": lambda m, x: m.bucketize(x, m.tensor([0.0, 2.0, 4.0])),
    "bucketize matrix": lambda m, x: m.bucketize(x, x) if x.ndim != 1 else None, "isin": lambda m, x: m.isin(x.contiguous(), m.tensor([1.0, 2.0])),
    "isin number": lambda m, x: m.isin(x.contiguous(), 2), "isin none": lambda m, x: m.isin(x.contiguous(), m.tensor([])),
    "isin invert": lambda m, x: m.isin(m.tensor([1, 7]), x.contiguous(), invert=True), "isin of number": lambda m, x: m.isin(1, x.contiguous()),
    "one_hot": lambda m, x: m.nn.functional.one_hot(x), "one_hot 5": lambda m, x: m.nn.functional.one_hot(x, 5),
    "one_hot 2": lambda m, x: m.nn.functional.one_hot(x, 2),
    "take": lambda m, x: m.take(x, m.tensor([[0, -1]])), "take far": lambda m, x: x.take(m.tensor([7])),
    "take int32": lambda m, x: x.take(m.tensor([0], dtype=m.int32)), "take none": lambda m, x: x.take(m.zeros(0, dtype=m.int64)),
    "put": lambda m, x: x.put(m.tensor([0, 1]), x.flatten()[:2]), "put misfit": lambda m, x: x.put(m.tensor([0]), x.flatten()[:2]),
    "put accumulate": lambda m, x: x.clone().put_(m.tensor([0, 0]), x.flatten()[:2], accumulate=True),
    "put kinds": lambda m, x: x.put(m.tensor([0]), m.tensor([1 + 1j])),
    "take_along_dim": lambda m, x: m.take_along_dim(x, m.tensor([[1], [0]]), 1), "take_along_dim sorted": lambda m, x: x.take_along_dim(
        x.argsort(-1), -1),
    "take_along_dim flat": lambda m, x: x.contiguous().take_along_dim(m.tensor([[0]])), "take_along_dim far": lambda m, x: x.take_along_dim(
        m.tensor([9])),
} | {
    f"scatter_reduce {how} {own}": lambda m, x, how=how, own=own: m.scatter_reduce(
        x, -1, m.zeros(x.shape, dtype=m.int64), x, how, include_self=own)
    for how in ("sum", "prod", "mean", "amax", "amin", "other") for own in (True, False)
}


@pytest.mark.parametrize("name", ONE)
def test_alike(name):
    for make in INPUTS.values():
        check_alike(lambda m, make=make: ONE[name](m, make(m)))


# Where the place is not left open by ties.
@pytest.mark.parametrize("run", [
    lambda m: m.tensor([3.0, 1.0, 2.0, NAN]).median(0), lambda m: m.tensor([3.0, 1.0, 2.0, NAN]).nanmedian(0),
    lambda m: m.tensor([1, 2, 2, 3, 1]).mode(), lambda m: m.tensor([[3.0, 1.0, 2.0]]).kthvalue(2, keepdim=True),
    lambda m: m.tensor([[3.0, 1.0], [2.0, 5.0]]).topk(1, 0), lambda m: m.tensor(3.0).mode(), lambda m: m.tensor(3.0).kthvalue(1),
    lambda m: m.tensor([3.0, NAN, 1.0]).topk(2), lambda m: m.tensor([NAN, NAN]).nanmedian(0),
])
def test_places(run):
    check_alike(run)


@pytest.mark.parametrize("shape", [(3, 2, 2), (4, 3), (5, 1), (1, 5), (2, 3, 1)])
@pytest.mark.parametrize("name", ["unique", "unique_consecutive"])
def test_order_and_strides_of_slices(name, shape):
    for dim in range(-1, len(shape)):
        check_alike(lambda m, dim=dim: [(z, z.stride()) for z in getattr(m.tensor(
            [2.0, 1, 0, 1, 2, 1, 0, 0, 1, 1, 2, 2])[:math.prod(shape)].reshape(shape), name)(dim=dim, return_counts=True)])


@pytest.mark.parametrize("name", ["sort", "topk", "kthvalue", "median", "nanmedian", "mode"])
def test_named_pairs(name):
    arguments = {"topk": (1,), "kthvalue": (1,), "median": (0,), "nanmedian": (0,)}.get(name, ())
    pair = getattr(mg.tensor([3.0, 1.0]), name)(*arguments)
    assert type(pair).__name__ == name and pair.values is pair[0] and pair.indices is pair[1] and pair.indices.dtype is mg.int64


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest", "other"])
def test_interpolation(interpolation):
    for q in (0.0, 0.1, 0.5, 0.9, 1.0):
        check_alike(lambda m, q=q: m.tensor([4.0, 1.0, 7.0, 2.0]).quantile(q, interpolation=interpolation))


@pytest.mark.differs(
    what='The tangent of `scatter_reduce("prod")`',
    there="It is wrong.",
    here="It is right, by comparison with differences.")
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_derivatives_of_scatter_reduce(reduce, include_self):
    """Not in cases.py: PyTorch's tangents are wrong for products, and missing where x alone is dual."""
    index = [[0, 1, 1], [2, 0, 2]]

    def run(m, x, y):
        return m.scatter_reduce(x, 1, m.tensor(index), y, reduce, include_self=include_self)

    def inputs(m):
        return [m.tensor(numbers, dtype=m.float64, requires_grad=True) for numbers in (
            [[0.5, -1.0, 2.0], [3.0, 1.2, 0.3]], [[1.5, 0.7, -0.4], [0.9, -2.0, 1.1]])]

    mg.autograd.gradcheck(lambda x, y: run(mg, x, y), inputs(mg), check_forward_ad=True)
    mg.autograd.gradgradcheck(lambda x, y: run(mg, x, y) ** 2, inputs(mg))
    check_alike(lambda m: (lambda x, y: m.autograd.grad((run(m, x, y) ** 2).sum(), (x, y)))(*inputs(m)))


def test_gradient_of_a_product_with_zeros():
    check_alike(lambda m: _product_gradients(m, [0.0, 2.0, 3.0]))
    check_alike(lambda m: _product_gradients(m, [0.0, 0.0, 3.0]))


def _product_gradients(m, numbers):
    x = m.tensor([2.0, 5.0], requires_grad=True)
    y = m.tensor(numbers, requires_grad=True)
    z = m.scatter_reduce(x, 0, m.tensor([0, 0, 1]), y, "prod")
    return m.autograd.grad(z.sum(), (x, y))


def test_a_write_that_reduces():
    x = mg.tensor([1.0, 2.0])
    assert x.scatter_reduce_(0, mg.tensor([0, 0]), mg.tensor([3.0, 4.0]), "sum") is x and x.tolist() == [8.0, 2.0]
    assert x._version == 1
