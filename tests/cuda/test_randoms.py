"""Random numbers on a GPU: the published words of Philox, the same stream for the same seed, and the distributions asked for."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.kernels.cuda.elementwise import randoms
from minigrad.kernels.cuda.runtime.streams import SIMULATED
from minigrad.random._stream import RandomStream
from tests.cuda.test_kernels import CUDA, on_cpu, on_gpu

N = 3000


def drawn(name, a, b, dtype="float32", shape=(N,), seed=0):
    args = (a, b) if name != "bernoulli" else (a,)
    return on_cpu(getattr(CUDA, name)(RandomStream(seed), shape, *args, np.dtype(dtype)))


@pytest.mark.skipif(not SIMULATED, reason="calls a function of the GPU from here")
def test_philox():
    """Known answers of Random123 (kat_vectors, philox4x32 10), whose two upper words of the counter are ours, 0."""
    words = randoms.philox(np.uint64(0), np.uint64(0))
    assert [int(w) for w in words] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert len({int(w) for i in range(50) for w in randoms.philox(np.uint64(i), np.uint64(7))}) == 200


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_uniform(dtype):
    x = drawn("uniform", -1, 3, dtype)
    assert x.dtype == dtype
    assert x.min() >= -1 and (x.max() < 3 or dtype == "float16")
    x = x.astype(float)
    assert abs(x.mean() - 1) < 0.1
    assert abs(x.std() - 4 / 12 ** 0.5) < 0.05
    counts, _ = np.histogram(x, 10, (-1, 3))
    assert (abs(counts - N / 10) < 5 * (N / 10) ** 0.5).all()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_normal(dtype):
    x = drawn("normal", 2, 3, dtype)
    assert x.dtype == dtype
    z = (x.astype(float) - 2) / 3
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3)):
        assert abs((z ** power).mean() - moment) < 0.5 * power ** 0.5 / 4 + 0.02 * power ** 2, power
    assert abs((abs(z) < 1).mean() - 0.6827) < 0.05


@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8", "float16", "float32", "float64", "complex64"])
def test_bernoulli(dtype):
    x = drawn("bernoulli", 0.3, None, dtype)
    assert x.dtype == dtype
    assert set(x.tolist()) == {0, 1}
    assert abs(x.astype(complex).mean() - 0.3) < 0.05


def test_a_probability_per_element():
    p = on_gpu(np.array([0.0, 0.5, 1.0]))
    x = on_cpu(CUDA.bernoulli(RandomStream(0), (400, 3), p, np.dtype("float32")))
    assert x[:, 0].max() == 0 and x[:, 2].min() == 1
    assert abs(x[:, 1].mean() - 0.5) < 0.15


def test_complex():
    z = drawn("normal", 0, 1, "complex64", (600, 2))
    assert z.shape == (600, 2) and z.dtype == "complex64"
    assert abs((abs(z) ** 2).mean() - 1) < 0.2
    assert abs((z.real * z.imag).mean()) < 0.1


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 3), (7,)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_shapes(shape, dtype):
    x = drawn("uniform", 0, 1, dtype, shape)
    assert x.shape == shape and np.unique(x).size == x.size


def test_neighbours_are_not_alike():
    x = drawn("uniform", 0, 1)
    for step in (1, 2, N // 4, N // 2):
        assert abs(np.corrcoef(x[:-step], x[step:])[0, 1]) < 0.12


def test_the_seed_makes_the_stream():
    with mg.random.fork_rng():
        mg.manual_seed(5)
        a, b = mg.rand(4, device="cuda").tolist(), mg.randn(4, device="cuda").tolist()
        mg.manual_seed(5)
        assert mg.rand(4, device="cuda").tolist() == a
        assert mg.randn(4, device="cuda").tolist() == b
        assert mg.rand(4, device="cuda").tolist() != a
        x = mg.empty(5, device="cuda").uniform_(2, 3)
        assert all(2 <= v < 3 for v in x.tolist())
        dropped = mg.nn.functional.dropout(mg.ones(40, device="cuda"), 0.5)
        assert set(dropped.tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("n", [0, 3, 4, 1001])
def test_dropout(dtype, n):
    x = on_gpu(np.arange(1, n + 2).astype(dtype))
    for y in (x, CUDA.slice(x, 0, 1, n + 1, 1)):         # the second begins where no pack does
        z, kept = [on_cpu(a) for a in CUDA.dropout(RandomStream(n), y, 0.25)]
        np.testing.assert_allclose(z, np.where(kept, on_cpu(y) / 0.75, 0), rtol=1e-3)
        assert z.dtype == dtype and (n < 1000 or abs(kept.mean() - 0.75) < 0.1)
        np.testing.assert_array_equal(on_cpu(CUDA.dropout_backward(y, on_gpu(kept), 0.25)), z)


def test_gradient_of_dropout():
    x = mg.rand(50, device="cuda", requires_grad=True)
    z = mg.nn.functional.dropout(x, 0.5)
    z.sum().backward()
    np.testing.assert_allclose(x.grad.cpu().numpy() * x.detach().cpu().numpy(), z.detach().cpu().numpy(), rtol=1e-6)
    assert "NativeDropout" in z.grad_fn.name()
