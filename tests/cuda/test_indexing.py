"""Indexing on a GPU where elements meet: the last one is stored, all are added, in every dtype and layout."""

import numpy as np
import pytest

from minigrad.kernels.cuda.index import indexing
from tests.cuda.test_kernels import CUDA, on_cpu, on_gpu
from tests.kernels.test_contract import expected as reference

RNG = np.random.default_rng(0)
TIES = np.array([[2, 0, 2, 2], [0, 0, 1, 1], [1, 1, 1, 1]])
REDUCTIONS = ["prod", "amax", "amin"]


def same(name, *args):
    """The kernel of the GPU gives what NumPy's gives, and changes the arguments as it does."""
    mine = tuple(on_gpu(a) for a in args)
    right, found = reference(name, args)[0], on_cpu(getattr(CUDA, name)(*mine))
    for a, b in [(found, right), *[(on_cpu(m), t) for m, t in zip(mine, args) if isinstance(t, np.ndarray)]]:
        assert (a is None and b is None) or (a.dtype, a.shape) == (b.dtype, b.shape)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=2e-3 if a.dtype == np.float16 else 1e-6)


def numbers(shape, dtype):
    x = RNG.integers(-4, 5, shape)
    return (x + 1j * RNG.integers(-4, 5, shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "int32", "uint8", "int16", "bool", "complex64"])
def test_repeated_indices(dtype):
    x, y = numbers((3, 4), dtype), numbers((3, 4), dtype)
    for order in (x, np.asfortranarray(x), x[:, ::-1]):
        same("scatter", order, 0, TIES, y)
        same("scatter_add", order, 0, TIES, y.T.copy().T)
        same("index_add", order, 1, np.array([3, 3, 0, 3]), y)
        for accumulate in (False, True):
            same("index_put", order, [TIES, None], numbers((3, 4, 4), dtype), accumulate)
            same("index_put_", order.copy("K"), [np.array([1, 1, 2]), np.array([0, 0, 3])], numbers((3,), dtype), accumulate)
        if np.dtype(dtype).kind != "c":
            for reduce in REDUCTIONS:
                same("scatter_reduce", order, 0, TIES, y, reduce)


def test_indices_on_any_dimensions():
    x = numbers((2, 3, 4, 2), "float32")
    a, b = np.array([[1], [0]]), np.array([2, 0, 1])
    for indices in ([a, None, b], [None, a, b], [a, b], [None, None, b], [b[1:2], None, None, a], [None], []):
        same("index", x, indices)
        same("index_put", x, indices, np.float32(7) * np.ones((), "float32"), True)
        same("index_put_", x.copy().transpose(0, 1, 3, 2).copy().transpose(0, 1, 3, 2), indices, np.ones(1, "float32"), False)


def test_no_dimensions_and_no_elements():
    x = np.array(3, "float32")
    same("gather", x, 0, np.array([0, 0]))
    same("scatter", x, 0, np.array([0, 0]), np.array([1, 2], "float32"))
    same("scatter_add", x, 0, np.array([0, 0]), np.array([1, 2], "float32"))
    same("index", x, [])
    empty = np.zeros((0, 3), "float32")
    same("gather", empty, 1, np.zeros((0, 2), int))
    same("index_select", empty, 1, np.array([2, 2]))
    same("scatter_add", empty, 1, np.zeros((0, 2), int), np.zeros((0, 2), "float32"))
    same("index", numbers((3, 2), "float32"), [np.zeros(0, int)])
    same("scatter_reduce", numbers((3, 2), "float32"), 0, np.zeros((0, 2), int), np.zeros((0, 2), "float32"), "amax")


def test_an_index_smaller_than_the_array():
    x, y = numbers((4, 5), "float32"), numbers((4, 5), "float32")
    corner = np.array([[3, 0], [3, 1]])
    same("gather", x, 0, corner)
    same("scatter", x, 0, corner, y)
    same("scatter_add", x, 1, corner, y)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8", "bool", "complex64", "complex128"])
def test_rows_by_packs(dtype, monkeypatch):
    """What lies beside each other in the result and in x is read 16 bytes at a time; what does not, or begins between packs, is not."""
    widths = []
    kernel = indexing.read_kernel
    monkeypatch.setattr(indexing, "read_kernel", lambda few, width: (widths.append(width), kernel(few, width))[1])
    pack = 16 // np.dtype(dtype).itemsize
    x = (RNG.random((3, 6, 2 * pack + 1)) * 2).astype(dtype)
    index = np.array([5, 0, 0, 3])
    whole, odd = x[..., :2 * pack].copy(), x[..., 1:]
    for array, dim, expected in ((whole, 1, pack), (whole, 0, pack), (whole, 2, 1), (x, 1, 1 if pack > 1 else pack), (odd, 1, 1)):
        i = index % array.shape[dim]
        found = CUDA.to_host(CUDA.index_select(on_gpu(array), dim, on_gpu(i)))
        np.testing.assert_array_equal(found, np.take(array, i, dim))
        assert widths.pop() == expected and not widths
    i, j = np.array([[2], [0]]), np.array([[5, 1]])
    np.testing.assert_array_equal(CUDA.to_host(CUDA.index(on_gpu(whole), (on_gpu(i), on_gpu(j), None))), whole[i, j])
    assert widths == [pack]
