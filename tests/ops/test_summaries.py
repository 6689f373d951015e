"""Summaries and running ones: values, dtypes, nans, edges and errors are PyTorch's. Derivatives are in cases.py."""

import pytest

import minigrad as mg
from tests.ops.alike import check_alike

NAN, INF = float("nan"), float("inf")
INPUTS = {
    "matrix": lambda m: m.tensor([[3.0, -1.0, 2.0], [5.0, 0.0, 4.0]]), "nan": lambda m: m.tensor([2.0, NAN, -1.0, INF]),
    "ties": lambda m: m.tensor([[2, 1, 2], [1, 1, 2], [2, 1, 2]]), "0-d": lambda m: m.tensor(2.5), "empty": lambda m: m.zeros(0),
    "no rows": lambda m: m.zeros(0, 3), "strided": lambda m: m.tensor([[4.0, 2.0, 9.0, 1.0], [3.0, 0.0, 7.0, 8.0]]).t()[::2],
    "bool": lambda m: m.tensor([True, False, False]), "complex": lambda m: m.tensor([1j, 2.0]), "-inf": lambda m: m.tensor([-INF, 1.0, 800.0]),
}


def finite(x):
    """`x` without -inf: for -inf, PyTorch's mean beside a variance and its integral are nan."""
    return x.clamp(min=-9) if x.dtype.is_floating_point else x


ONE = {
    "nansum": lambda m, x: m.nansum(x), "nansum dim": lambda m, x: x.nansum(-1, True), "nansum double": lambda m, x: x.nansum(
        dtype=m.float64) if not x.dtype.is_complex else None,
    "nanmean": lambda m, x: m.nanmean(x) if not x.dtype.is_complex else None,
    "nanmean dim": lambda m, x: x.nanmean(0) if not x.dtype.is_complex else None,
    "var_mean": lambda m, x: m.var_mean(finite(x)), "var_mean dim": lambda m, x: m.var_mean(finite(x), -1, keepdim=True, correction=0),
    "std_mean": lambda m, x: m.std_mean(finite(x), False), "aminmax": lambda m, x: m.aminmax(x), "aminmax dim": lambda m, x: x.aminmax(
        dim=0, keepdim=True),
    "diff": lambda m, x: m.diff(x), "diff 0": lambda m, x: x.diff(0), "diff 2": lambda m, x: x.diff(2, 0), "diff 9": lambda m, x: x.diff(9),
    "diff -1": lambda m, x: x.diff(-1), "diff append": lambda m, x: x.diff(append=x, prepend=x), "diff far": lambda m, x: x.diff(1, 5),
    "trapezoid": lambda m, x: m.trapezoid(finite(x)), "trapezoid dx": lambda m, x: m.trapezoid(finite(x), dx=2.5, dim=0),
    "trapezoid x": lambda m, x: m.trapezoid(x, m.tensor([0.0, 1.0, 4.0])), "trapezoid own": lambda m, x: m.trapezoid(x, x),
    "cumulative_trapezoid": lambda m, x: m.cumulative_trapezoid(x, dx=2), "cummax": lambda m, x: m.cummax(x, 0),
    "cummax -1": lambda m, x: x.cummax(-1), "cummin": lambda m, x: m.cummin(x, -1), "cummin far": lambda m, x: m.cummin(x, 3) if x.numel() > 1 else None,
    "logcumsumexp": lambda m, x: m.logcumsumexp(x, -1) if not x.dtype.is_complex else None,
    "logcumsumexp far": lambda m, x: x.logcumsumexp(4),
}


@pytest.mark.parametrize("name", ONE)
def test_alike(name):
    for make in INPUTS.values():
        check_alike(lambda m, make=make: ONE[name](m, make(m)))


@pytest.mark.differs(
    what="The gradient of `logcumsumexp` at -inf",
    there="It is nan.",
    here="It is 0.")
def test_gradient_of_logcumsumexp_far_out():
    """Numbers with exponentials that overflow, and -inf with the exponential 0."""
    for numbers in ([1000.0, 1001.0, -1000.0], [0.0, -INF, 90.0]):
        check_alike(lambda m, numbers=numbers: _gradient(m, numbers))
    assert _gradient(mg, [-INF, 0.0, 1.0])[0].item() == 0.0      # nan in PyTorch


def _gradient(m, numbers):
    x = m.tensor(numbers, dtype=m.float64, requires_grad=True)
    z = m.logcumsumexp(x, 0)
    return m.autograd.grad(z[1:].sum(), x)[0]
