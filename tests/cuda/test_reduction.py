"""Reductions on a GPU, beyond the comparison with their twins: empty ones, bools, two launches, and gradients."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import kernels
from minigrad.kernels.cuda.reductions import lanes, reduce
from tests.cuda.test_kernels import CUDA, on_cpu, on_gpu
from tests.kernels.test_contract import close, expected


def agree(name, *args):
    found = on_cpu(getattr(CUDA, name)(*[on_gpu(a) for a in args]))
    close(found, expected(name, args)[0], name)


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
    queue = reduce.queue
    monkeypatch.setattr(reduce, "queue", lambda *args: (queued.append(args[2:4]), queue(*args)))
    n = 2 * lanes.LEAST * reduce.THREADS + 1               # more than one block has to add, and no whole number of packs
    x = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    first, second = [on_cpu(CUDA.sum(on_gpu(x), (0,), False)) for _ in range(2)]
    assert queued == [(True, False), (False, True)] * 2
    assert first.tobytes() == second.tobytes()
    np.testing.assert_allclose(first, x.astype(np.float64).sum(), rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int8", "bool"])
@pytest.mark.parametrize("name", ["sum", "amax", "var", "logsumexp", "argmax"])
def test_packs_and_what_does_not_fill_them(name, dtype):
    """Rows of whole packs, with a rest, that begin between packs, and with gaps. See vector_io.py."""
    if dtype not in {"amax": ("float16", "float32", "int8", "bool"), "argmax": ("float16", "float32", "int8", "bool"),
                     "var": ("float16", "float32", "float64", "complex64"), "logsumexp": ("float16", "float64")}.get(name, dtype):
        pytest.skip(f"no {name} of {dtype}")
    x = (np.random.default_rng(0).standard_normal(7 * 64 + 3) * 9).astype(dtype)
    rest = {"sum": [False], "amax": [False], "var": [1, False], "logsumexp": [False], "argmax": [False]}[name]
    dim = 0 if name == "argmax" else (0,)
    whole = x[:6 * 64].reshape(6, 64)
    with np.errstate(over="ignore"):
        for y in (x[:-3], x, x[1:], x[3::2]):
            agree(name, y, dim, *rest)
        for y in (whole, whole[:, 1:], whole[:, :-3], whole[:, ::2]):
            agree(name, y, 1 if name == "argmax" else (1,), *rest)
        agree(name, whole.reshape(3, 2, 64), 1 if name == "argmax" else (0, 2), *rest)


def test_the_variance_of_large_numbers_that_differ_little():
    x = np.random.default_rng(0).standard_normal((3, 64)).astype(np.float32) + np.float32(1e4)
    found = on_cpu(CUDA.var(on_gpu(x), (1,), 0, False))
    np.testing.assert_allclose(found, x.astype(np.float64).var(1), rtol=1e-3)


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


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int32"])
@pytest.mark.parametrize("name", ["sum", "amax", "var", "logsumexp"])
def test_columns_beside_each_other(name, dtype, monkeypatch):
    """A thread has as many columns as a pack has numbers, if all begin at whole packs. See Note [Lanes along and across]."""
    for module in (lanes, reduce):      # as on the simulator: a GPU does so from four million numbers on
        monkeypatch.setattr(module, "LARGE", 64)
    if dtype not in {"amax": ("float16", "float32", "float64", "int32"), "var": ("float16", "float32", "float64", "complex64"),
                     "logsumexp": ("float16", "float32", "float64")}.get(name, (dtype,)):
        pytest.skip(f"no {name} of {dtype}")
    rng, pack = np.random.default_rng(0), 16 // np.dtype(dtype).itemsize
    others = (1, False) if name == "var" else (False,)
    exact = {"f": "float64", "c": "complex128", "i": dtype}[np.dtype(dtype).kind]
    tolerance = {"float16": 2e-3, "float64": 1e-12}.get(dtype, 1e-5)
    for shape, dim, beside in (((67, 2 * pack), 0, pack), ((9, 8 * pack), 0, pack), ((3, 30, 2 * pack), 1, pack),
                               ((67, 2 * pack + 1), 0, 1)):
        x = rng.integers(-4, 5, shape).astype(dtype)
        gpu = on_gpu(x)
        plan = reduce.make_plan(gpu.shape, gpu.strides, gpu.itemsize, True, (dim,), False)
        assert plan.across and plan.beside == beside, "what this test is about does not happen"
        found = on_cpu(getattr(CUDA, name)(gpu, (dim,), *others))
        expected = getattr(kernels.NUMPY, name)(x.astype(exact), (dim,), *others)
        np.testing.assert_allclose(found, expected, rtol=tolerance, err_msg=f"{name} {shape}")
