"""Reductions on a GPU, beyond what their twins are compared on: empty ones, bools, two launches, and gradients."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import kernels
from minigrad.kernels.cuda import fold
from tests.cuda.test_kernels import CUDA, on_cpu, on_gpu
from tests.kernels.test_contract import close


def agree(name, *args):
    found = on_cpu(getattr(CUDA, name)(*[on_gpu(a) for a in args]))
    close(found, getattr(kernels.NUMPY, name)(*args), name)


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
def test_bools_and_small_integers(name):
    x = np.random.default_rng(0).integers(-9, 9, (3, 4, 5))
    for y in (x > 5, x > -9, x.astype(np.int8), x.astype(np.int16)):
        agree(name, y, (0, 2), False)


@pytest.mark.parametrize("name", ["amax", "amin"])
def test_nothing_has_no_extreme(name):
    for shape, dims in (((0, 3), (0,)), ((2, 0), (0, 1)), ((0, 0), (1,))):
        with pytest.raises(ValueError, match="dimension of size 0"):
            getattr(CUDA, name)(on_gpu(np.ones(shape)), dims, False)
    agree(name, np.ones((0, 3)), (1,), True)


def test_complex_variance():
    rng = np.random.default_rng(0)
    agree("var", rng.standard_normal((9, 5)) + 1j * rng.standard_normal((9, 5)), (0,), 1, False)
    agree("var", rng.standard_normal((9, 5)), (0, 1), 100, True)


@pytest.mark.parametrize("x", [[np.inf, 1, np.inf], [-np.inf] * 3, [np.nan, np.inf, 1], [np.inf, np.nan, 0], [-1e30, 1e30, 0]])
def test_logsumexp_of_infinities(x):
    agree("logsumexp", np.array(x * 9), (0,), False)


def test_a_large_one_takes_two_launches_and_is_the_same_each_time(monkeypatch):
    queued = []
    queue = fold.queue
    monkeypatch.setattr(fold, "queue", lambda *args: (queued.append(args[2:4]), queue(*args)))
    x = on_gpu(np.random.default_rng(0).standard_normal(301).astype(np.float32))
    first, second = on_cpu(CUDA.sum(x, (0,), False)), on_cpu(CUDA.sum(x, (0,), False))
    assert queued == [(True, False), (False, True)] * 2
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions(name):
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (7, 11, 5))
    for y in (x, x > 0, x.astype(np.float16), np.where(x == 2, np.nan, x), -np.inf * np.ones((3, 4)), x.transpose(2, 0, 1)[::-1]):
        agree(name, y, None, True)              # two launches
        agree(name, y, 0, False)
        agree(name, y, y.ndim - 1, True)
    agree(name, np.ones((0, 3)), 1, False)
    agree(name, np.array(1.0), 0, False)
    with pytest.raises(ValueError, match="dimension of size 0"):
        getattr(CUDA, name)(on_gpu(np.ones((0, 3))), 0, False)


def test_extremes_and_complex_numbers_do_not_go_together():
    with pytest.raises(NotImplementedError, match=r"amax.*complex64"):
        CUDA.amax(on_gpu(np.ones(3, np.complex64)), (0,), False)


def test_gradients():
    x = mg.arange(12.0).reshape(3, 4)
    results = []
    for device in ("cpu", "cuda"):
        y = x.to(device).detach().requires_grad_()
        (y.var(0).sum() + (y * y).mean() + y.logsumexp(1).sum() + y.amax(0).prod()).backward()
        results.append(y.grad.cpu().numpy())
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5)
