"""Products in the dtypes and shapes that tests/kernels/samples.py has not: rows, columns, parts of k, float16, integers."""

import itertools

import numpy as np
import pytest

from minigrad import kernels
from tests.cuda.test_kernels import CUDA, on_cpu, on_gpu

SHAPES = [((5, 7), (7, 1)), ((1, 7), (7, 5)), ((1, 7), (7, 1)), ((3, 1, 9), (3, 9, 4)), ((3, 1, 5, 6), (2, 6, 1)), ((1, 0), (0, 3)),
          ((2, 70), (70, 3)), ((2, 3, 40), (2, 40, 2)), ((17, 9), (9, 18))]
DTYPES = ["float16", "float32", "int32", "uint8", "complex64"]


def operands(dtype, *shapes):
    rng = np.random.default_rng(0)
    kind = np.int8 if dtype == "uint8" else dtype
    return [np.asarray(rng.standard_normal(shape) * 4).astype(kind).astype(dtype) for shape in shapes]


def check(found, expected, dtype):
    assert (found.shape, found.dtype) == (expected.shape, dtype)
    tolerance = {"float16": 2e-2, "float32": 1e-4, "complex64": 1e-4}.get(dtype, 0)
    np.testing.assert_allclose(found, expected, rtol=tolerance / 10, atol=tolerance)


def in_float32(x):
    return x.astype(np.float32) if x.dtype == np.float16 else x


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_matmul(shapes, dtype):
    x, y = operands(dtype, *shapes)
    expected = kernels.NUMPY.matmul(in_float32(x), in_float32(y))
    for by_columns, backwards in itertools.product((False, True), repeat=2):
        x = x.swapaxes(-1, -2).copy().swapaxes(-1, -2) if by_columns else x
        y = y[..., ::-1].copy()[..., ::-1] if backwards else y
        check(on_cpu(CUDA.matmul(on_gpu(x), on_gpu(y))), expected, dtype)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
@pytest.mark.parametrize("shapes", [((2, 70), (70, 3)), ((1, 7), (7, 5)), ((5, 7), (7, 1)), ((2, 0), (0, 3))], ids=str)
def test_addmm(shapes, dtype):
    (m, _), (_, n) = shapes
    for bias in ((), (n,), (m, 1), (m, n)):
        b, x, y = operands(dtype, bias, *shapes)
        check(on_cpu(CUDA.addmm(on_gpu(b), on_gpu(x), on_gpu(y))), kernels.NUMPY.addmm(*map(in_float32, (b, x, y))), dtype)


@pytest.mark.parametrize("dtype", ["float16", "int64", "complex64"])
def test_convolutions(dtype):
    x, w, g = operands(dtype, (2, 4, 5, 6), (4, 2, 3, 2), (2, 4, 3, 4))
    rest = ((2, 2), (1, 1), (1, 1), 2)
    for name, args in (("conv", (x, w)), ("conv_input", (g, w, x.shape)), ("conv_weight", (g, x, w.shape))):
        mine = [on_gpu(a) for a in args]
        expected = getattr(kernels.NUMPY, name)(*[in_float32(a) if isinstance(a, np.ndarray) else a for a in args], *rest)
        check(on_cpu(getattr(CUDA, name)(*mine, *rest)), expected, dtype)


def test_images_in_turn(monkeypatch):
    """Where the columns of all images are too many, conv_input takes a few at a time."""
    from minigrad.kernels.cuda.contractions import convolution
    monkeypatch.setattr(convolution, "MOST_COLUMNS", 2 * 2 * 9 * 16)
    g, w = operands("float32", (5, 3, 4, 4), (3, 2, 3, 3))
    args = ((5, 2, 4, 4), (1, 1), (1, 1), (1, 1), 1)
    check(on_cpu(CUDA.conv_input(on_gpu(g), on_gpu(w), *args)), kernels.NUMPY.conv_input(g, w, *args), "float32")


def test_bools_are_refused():
    x = np.ones((2, 2), bool)
    with pytest.raises(NotImplementedError, match="bool on 'cuda'"):
        CUDA.matmul(on_gpu(x), on_gpu(x))


def test_shapes_that_do_not_fit():
    for name, shapes in (("matmul", ((2, 3), (4, 2))), ("addmm", ((5,), (2, 3), (3, 4))), ("dot", ((3,), (4,)))):
        with pytest.raises(ValueError):
            getattr(CUDA, name)(*[on_gpu(a) for a in operands("float32", *shapes)])


def test_tables_are_copied_once(monkeypatch):
    from minigrad.kernels import resampling
    from minigrad.kernels.cuda.contractions import pooling
    copied = []
    real = pooling.from_host
    monkeypatch.setattr(pooling, "from_host", lambda *args: copied.append(1) or real(*args))
    means, x = resampling.averages(11, 4, 3, 1, True, False, None), on_gpu(operands("float32", (2, 11))[0])
    for _ in range(3):
        CUDA.resample(x, 1, means.starts, means.columns, means.weights)
    assert len(copied) == 3
    CUDA.resample(x, 1, means.starts.copy(), means.columns, means.weights)
    assert len(copied) == 4


@pytest.mark.parametrize(("g", "w", "rest"), [
    ((1, 2, 3), (2, 1, 2), ((1, 1, 8), (1,), (0,), (3,), 1)), ((1, 2, 4, 4), (2, 3, 3, 3), ((1, 6, 7, 7), (1, 1), (1, 1), (2, 2), 2))])
def test_an_input_with_more_room_than_windows(g, w, rest):
    """The output_padding of a transposed convolution: zeros that no window covers, or numbers that further windows would."""
    arrays = operands("float64", g, w)
    found = CUDA.to_host(CUDA.conv_input(*[on_gpu(a) for a in arrays], *rest))
    np.testing.assert_allclose(found, kernels.NUMPY.conv_input(*arrays, *rest), rtol=1e-12, atol=1e-12)
