"""Sorting and counting on a GPU, of rows that are longer than a tile: ties, nan, all dtypes, any layout."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.kernels.cuda.runtime.launch import THREADS
from tests.cuda.test_indexing import RNG, same
from tests.cuda.test_kernels import CUDA, on_gpu

LENGTHS = [1, THREADS - 1, THREADS, THREADS + 1, 2 * THREADS, 5 * THREADS + 3, 8 * THREADS + 1]


def numbers(shape, dtype, nans=True):
    x = RNG.integers(0, 6, shape).astype(dtype)
    if nans and np.dtype(dtype).kind == "f" and x.size:
        x[RNG.random(shape) < 0.2] = np.nan
        x[RNG.random(shape) < 0.1] = np.inf
    return x


@pytest.mark.parametrize("n", LENGTHS)
def test_argsort(n):
    x = numbers((2, n), "float32")
    for descending, order in ((False, x), (True, x[:, ::-1])):
        same("argsort", order, 1, descending)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "uint8", "bool"])
def test_argsort_of_other_numbers(dtype):
    same("argsort", numbers((2, THREADS + 3), dtype), 1, False)
    same("argsort", numbers((THREADS + 3, 1), dtype), 0, True)


def test_argsort_of_nothing_and_of_one():
    same("argsort", np.zeros((0, 3)), 1, False)
    same("argsort", np.zeros((3, 0)), 1, True)
    same("argsort", np.array(2.0), 0, False)
    with pytest.raises(NotImplementedError, match="argsort"):
        CUDA.argsort(on_gpu(np.zeros(3, "complex64")), 0, False)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_median_and_mode(dtype):
    for shape, dim in (((3, 9), 1), ((7, 2), 0), ((1, 6, 2), 1), ((4, 1), 1)):
        for nans in (False, True)[:1 + (dtype == "float32")]:
            x = numbers(shape, dtype, nans)
            same("mode", x, dim)
            for skip in (False, True):
                same("median", x, dim, skip)
    if dtype == "float32":
        same("median", np.full((1, 5), np.nan, dtype), 1, True)


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(right):
    x = np.sort(numbers((2, 3, 13), "float32"))
    y = numbers((2, 3, 5), "float32")
    same("searchsorted", x, y, right)
    same("searchsorted", x[0, 0], y.transpose(2, 0, 1), right)
    same("searchsorted", x[0, 0], np.array(3, "float32"), right)
    same("searchsorted", x[:, :, :0], y, right)


@pytest.mark.parametrize("n", [0, *LENGTHS, THREADS * THREADS + 3])
def test_nonzero(n):
    x = numbers((n,), "float32")
    same("nonzero", x)
    same("nonzero", np.zeros((2, n), "int64"))
    same("nonzero", (numbers((n, 2), "uint8") > 2).T)
    same("nonzero", np.array(n, "float32"))


def test_masked_scatter():
    mask = RNG.random((5, 7)) < 0.4
    for x in (numbers((7,), "float32"), numbers((7, 5), "complex64").T):
        same("masked_scatter", x, mask, np.arange(70).astype(x.dtype)[::2])
        same("masked_scatter", x, mask, np.arange(35).reshape(7, 5).astype(x.dtype).T)
    same("masked_scatter", numbers((5, 7), "float32"), mask[:1], np.arange(35, dtype="float32"))
    same("masked_scatter", numbers((2, 2), "float32"), np.zeros((2, 2), bool), np.zeros(0, "float32"))


def test_tensors():
    rows = [[3., 1., 2., 1., 5., float("-inf")], [0., 0., 7., -1., 2., 2.]]
    x, y = mg.tensor(rows, device="cuda"), mg.tensor(rows)
    for op in (lambda x: x.sort(1)[0], lambda x: x.sort(0, descending=True)[1], lambda x: x.topk(3)[0], lambda x: x.median(1)[0],
               lambda x: x.mode(1)[0], lambda x: x.nonzero(), lambda x: x.argsort(1, descending=True),
               lambda x: x.kthvalue(2)[0], lambda x: x.t().contiguous().sort(0)[0]):
        assert op(x).tolist() == op(y).tolist()
    x.requires_grad_()
    y.requires_grad_()
    for z in (x, y):
        z.sort(1)[0][:, :3].backward(mg.tensor([[1., 2., 3.], [4., 5., 6.]], device=z.device))
    assert x.grad.tolist() == y.grad.tolist()
