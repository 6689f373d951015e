"""The random numbers drawn in C are those drawn by NumPy, to the last bit, and both leave the stream at the same place."""

import numpy as np
import pytest

from minigrad import kernels
from minigrad.random._stream import RandomStream

FLOATS = [np.dtype("float32"), np.dtype("float64")]
SHAPES = [(), (0,), (1,), (2,), (7,), (15,), (16,), (17,), (3, 11), (2048,), (2049,), (5000,)]


@pytest.fixture(params=["memory", "interface"], autouse=True)
def words_of(request, monkeypatch):
    """Where C finds the words: in the memory of NumPy's generator, or, as if NumPy kept them in another way, by its C interface."""
    if request.param == "interface":
        monkeypatch.setattr(RandomStream, "memory", None)


def both(name, *args):
    """The results of several calls of a kernel, in C and in NumPy, each with the words that its stream draws next."""
    found = []
    for k in (kernels.CPU, kernels.NUMPY):
        stream = RandomStream(7)
        results = [getattr(k, name)(stream, *args) for _ in range(3)]
        flat = [z for result in results for z in (result if isinstance(result, tuple) else (result,))]
        found.append(([(z.dtype, z.shape, z.tobytes()) for z in flat], stream.words(3).tolist(), stream.spare_normal))
    return found


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_floats(shape, dtype):
    for low, high in ((0, 1), (-2, 3), (0, 0.1), (1, 1)):
        ours, numpys = both("uniform", shape, low, high, dtype)
        assert ours == numpys
    for mean, std in ((0, 1), (0.5, 0.1), (0, 0), (-3, 1)):
        ours, numpys = both("normal", shape, mean, std, dtype)
        assert ours == numpys


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype("bool"), np.dtype("int64"), np.dtype("float16")], ids=str)
def test_bernoulli(dtype):
    for p in (0, 1, 0.3, float("nan")):
        ours, numpys = both("bernoulli", (3, 50), p, dtype)
        assert ours == numpys


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype("int64"), np.dtype("float16")], ids=str)
def test_bernoulli_of_each(dtype):
    p = np.random.default_rng(0).random((30, 50)).astype(dtype)
    p.flat[:3] = 0, 1, 0.5
    for chances in (p, p.T, p[::2], p[:0], p[0, 0] + np.zeros((), dtype)):
        ours, numpys = both("bernoulli", chances.shape, chances, dtype)
        assert ours == numpys
    for wide, shape in ((p.astype("float64"), p.shape), (p, (2, *p.shape))):    # another dtype, another shape
        ours, numpys = both("bernoulli", shape, wide, np.dtype("float32"))
        assert ours == numpys


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_dropout(dtype):
    x = np.array([1, -2, 0.0, -0.0, np.inf, -np.inf, np.nan, 1e-3] * 8, dtype)
    ours, numpys = both("dropout", x, 0.3)
    assert ours == numpys


@pytest.mark.parametrize("low, high", [(0, 1), (0, 10), (-5, 5), (0, 2 ** 28 - 1), (0, 2 ** 28), (-2 ** 40, 2 ** 41), (-2 ** 63, 2 ** 63 - 1)])
def test_integers(low, high):
    ours, numpys = both("integers", (4, 9), low, high)
    assert ours == numpys


@pytest.mark.parametrize("n", [0, 1, 2, 100, 4099])
def test_permutation(n):
    ours, numpys = both("permutation", n)
    assert ours == numpys


SHAPE_PARAMETERS = [0, 1e-3, 0.4, 0.999, 1, 1.5, 3, 100, 1e6, float("inf"), float("nan")]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gamma(dtype):
    a = np.array(SHAPE_PARAMETERS * 20, dtype)
    for shapes in (a, a[:1], a[3:10], a[:0], a.reshape(2, -1), a[::2], a[2]):
        ours, numpys = both("standard_gamma", np.asarray(shapes))
        assert ours == numpys
    for k in (kernels.CPU, kernels.NUMPY):
        with pytest.raises(ValueError, match="negative"):
            k.standard_gamma(RandomStream(0), np.array([1, -1], dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_poisson(dtype):
    x = np.array([0, 1e-3, 0.5, 3, 9.9, 10, 20, 1e3, 1e6] * 50, dtype)
    for means in (x, x[:1], x[:0], x.reshape(2, -1), x[::2], x[4]):
        ours, numpys = both("poisson", np.asarray(means))
        assert ours == numpys
