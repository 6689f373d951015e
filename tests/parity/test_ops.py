"""Every case of tests/ops/cases.py on PyTorch and on minigrad: values, names, gradients, second gradients."""

import numpy as np
import pytest
import torch

import minigrad as mg
from tests.ops.cases import CASES, COMPLEX, PLAIN


def close(a, b, what, rtol=1e-9):
    """Raise unless two tensors, one of each library, are equal.

    In float32, terms of the size of the largest element may cancel to a small one, and BLAS adds them in another order.
    """
    a, b = a.detach().numpy(force=True), b.detach().numpy(force=True)
    assert a.dtype == b.dtype, f"{what}: dtype {a.dtype}, expected {b.dtype}"
    assert a.shape == b.shape, f"{what}: shape {a.shape}, expected {b.shape}"
    atol = np.abs(b[np.isfinite(b)]).max(initial=0) * 1e-7 if b.dtype == np.float32 else 0
    np.testing.assert_allclose(a, b, rtol=rtol, atol=max(atol, 1e-10), err_msg=what)


def run(m, case, arrays, make):
    """(result, first gradients, second gradients) of a case on one library."""
    xs = [make(a).requires_grad_() for a in arrays]
    z = case.run(m, *xs)
    weights = make(np.cos(np.arange(int(np.prod(z.shape)), dtype=z.detach().numpy(force=True).dtype)).reshape(tuple(z.shape)))
    grads = m.autograd.grad(z, xs, weights, create_graph=True, allow_unused=True) if z.requires_grad else [None] * len(xs)
    total = sum((g * g).sum().real for g in grads if g is not None)
    if case.double and getattr(total, "requires_grad", False):
        seconds = m.autograd.grad(total, xs, allow_unused=True)
    else:
        seconds = [None] * len(xs)
    return z, grads, seconds


@pytest.mark.parametrize("case", [*CASES, *COMPLEX], ids=lambda c: c.name)
def test_case(case):
    ours = run(mg, case, case.arrays(), lambda a: mg.tensor(a))
    theirs = run(torch, case, case.arrays(), lambda a: torch.tensor(a))
    close(ours[0], theirs[0], "value")
    if not case.name_differs:
        assert ours[0].grad_fn.name() == theirs[0].grad_fn.name().removeprefix("torch::autograd::")
        assert [n for _, n in ours[0].grad_fn.next_functions] == [n for _, n in theirs[0].grad_fn.next_functions]
    for order, a, b in (("first", ours[1], theirs[1]), ("second", ours[2], theirs[2])):
        for i, (g, h) in enumerate(zip(a, b)):
            if g is None or h is None:      # a gradient of zeros and none at all are the same
                assert all(v is None or not v.detach().numpy(force=True).any() for v in (g, h)), f"{order} {i}"
            else:
                close(g, h, f"{order} gradient of input {i}")


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_float32(case):
    arrays = case.arrays(np.float32)
    if "float64" in case.run.__code__.co_names or "double" in case.run.__code__.co_names:
        pytest.skip("the case makes float64 tensors itself")
    close(case.run(mg, *[mg.tensor(a) for a in arrays]), case.run(torch, *[torch.tensor(a) for a in arrays]), "value", 2e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool], ids=lambda d: d.__name__)
@pytest.mark.parametrize("case", PLAIN, ids=lambda c: c.name)
def test_values_without_a_derivative(case, dtype):
    arrays = [(np.abs(a * 3) if dtype is np.uint8 else a * 3 if dtype is np.int64 else a).astype(dtype) for a in case.arrays()]
    try:
        expected = case.run(torch, *[torch.tensor(a) for a in arrays])
    except (RuntimeError, TypeError) as error:
        with pytest.raises((RuntimeError, TypeError)) as ours:
            case.run(mg, *[mg.tensor(a) for a in arrays])
        assert isinstance(ours.value, TypeError) == isinstance(error, TypeError)
        return
    close(case.run(mg, *[mg.tensor(a) for a in arrays]), expected, "value", 1e-5 if dtype is not np.float64 else 1e-9)
