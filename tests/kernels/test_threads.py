"""Threads share the loops over large arrays: the result is the same number for number, and that of the twin in NumPy."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import kernels

N = 3 * 65536 + 5       # several pieces, and one that is not whole
NAMES = ["exp", "log", "log1p", "sin", "cos", "tanh", "sqrt", "neg", "sigmoid", "gelu", "silu", "copy", "copy_with_layout", "add", "mul",
         "tanh_backward", "eq", "lt", "where", "batch_norm", "batch_norm_backward", "group_norm",
         "group_norm_backward", "normalize_channels"]
ROWS = ["softmax", "log_softmax", "softmax_backward", "log_softmax_backward", "layer_norm", "layer_norm_backward",
        "sum"]
BROADCAST = {"row": (1, 301), "column": (653, 1), "matrix": (1, 653, 301), "row of three": (1, 1, 301), "rows of three": (3, 1, 301)}


def arguments(name, dtype):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.1, 3, (2, N)).astype(dtype)
    if name.startswith("batch_norm") or name == "normalize_channels":
        x, y = [v[:3 * 65536].reshape(4, 48, 32, 32) for v in (x, y)]
        w, m = rng.uniform(0.5, 2, (2, 48)).astype(dtype)
        return {"batch_norm": (x, w, m, 1e-5), "normalize_channels": (x, m, w, m)}.get(name, (x, y, w, m, w))
    if name.startswith("group_norm"):
        x, y = [v[:3 * 65536].reshape(4, 48, 32, 32) for v in (x, y)]
        w, stats = rng.uniform(0.5, 2, 48).astype(dtype), rng.uniform(0.5, 2, (4, 6)).astype(dtype)
        return (x, w, w, 6, 1e-5) if name == "group_norm" else (x, y, w, stats, stats)
    if name == "where":
        return x > 1, x, y
    return (x, y) if name in ("copy_with_layout", "add", "mul", "tanh_backward", "eq", "lt") else (x,)


@pytest.fixture
def two_threads():
    before = mg.get_num_threads()

    def on(threads, kernel, args):
        mg.set_num_threads(threads)
        return kernel(*args)
    yield on
    mg.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_threads_change_no_bit(name, dtype, two_threads):
    args = arguments(name, dtype)
    kernel = getattr(kernels.CPU, name)
    alone, together = [two_threads(threads, kernel, args) for threads in (1, 2)]
    expected = getattr(kernels.NUMPY, name)(*args)
    if not isinstance(alone, tuple):
        alone, together, expected = (alone,), (together,), (expected,)
    for a, b, e in zip(alone, together, expected):
        assert a.tobytes() == b.tobytes()
        np.testing.assert_allclose(a, e, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-4 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ROWS)
def test_threads_share_rows(name, dtype, two_threads):
    x, y = np.random.default_rng(0).uniform(-2, 2, (2, 653, 301)).astype(dtype)
    w = y[0]
    if name.endswith("softmax_backward"):
        args = (x, getattr(kernels.NUMPY, name.removesuffix("_backward"))(y, 1), 1)
    else:
        args = {"layer_norm": (x, w, w, 1, 1e-5), "sum": (x, (1,), False),
                "layer_norm_backward": (x, y, w, *kernels.NUMPY.layer_norm(y, w, w, 1, 1e-5)[1:], 1)}.get(name, (x, 1))
    alone, together = [two_threads(threads, getattr(kernels.CPU, name), args) for threads in (1, 2)]
    for a, b, e in zip(*[z if isinstance(z, tuple) else (z,) for z in (alone, together, getattr(kernels.NUMPY, name)(*args))]):
        assert a.tobytes() == b.tobytes()
        np.testing.assert_allclose(a, e, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-5 if dtype == "float32" else 1e-12)


def test_threads_share_the_heads_of_attention(two_threads):
    q, s, v, g = np.random.default_rng(0).uniform(-2, 2, (4, 3, 5, 70, 16)).astype("f4")
    w = kernels.NUMPY.attention(q, s, v, 0.25, True)[1]
    for name, args in (("attention", (q, s, v, 0.25, True)), ("attention_backward", (g, q, s, v, w, 0.25, True, (True, True, True)))):
        alone, together = [two_threads(threads, getattr(kernels.CPU, name), args) for threads in (1, 2)]
        for a, b in zip(alone, together):
            assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("shape", BROADCAST.values(), ids=BROADCAST)
def test_threads_share_operands_that_broadcast(shape, first, two_threads):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-2, 2, (3, 653, 301) if len(shape) == 3 else (653, 301)), rng.uniform(-2, 2, shape)
    args = (y, x) if first else (x, y)
    alone, together = [two_threads(threads, kernels.CPU.sub, args) for threads in (1, 2)]
    assert alone.tobytes() == together.tobytes() == np.subtract(*args).tobytes()


@pytest.mark.skipif(kernels.CPU.origin["conv"] == "minigrad.kernels.numpy_ref", reason="interpreted, BLAS decides")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("x, w, pad", [((3, 20, 30, 30), (20, 20, 3, 3), 1), ((21, 24, 12, 9), (26, 24, 5, 5), 0), ((96, 1, 28, 28), (20, 1, 5, 5), 2)],
                         ids=["windows in a row, vectors of taps", "vectors of images", "one channel"])
def test_threads_change_no_bit_of_a_convolution(x, w, pad, dtype, two_threads):
    rng = np.random.default_rng(0)
    options = ((1, 1), (pad, pad), (1, 1), 1)
    x, w = rng.uniform(-1, 1, x).astype(dtype), rng.uniform(-1, 1, w).astype(dtype)
    z = kernels.CPU.conv(x, w, *options)
    g = rng.uniform(-1, 1, z.shape).astype(dtype)
    for name, args in (("conv", (x, w)), ("conv_input", (g, w, x.shape)), ("conv_weight", (g, x, w.shape))):
        alone, *together = [two_threads(threads, getattr(kernels.CPU, name), (*args, *options)) for threads in (1, 2, 3)]
        for z in together:
            assert z.tobytes() == alone.tobytes()
        expected = getattr(kernels.NUMPY, name)(*args, *options)
        np.testing.assert_allclose(alone, expected, atol=(1e-5 if dtype == "float32" else 1e-13) * np.abs(expected).max())


def test_a_copy_of_a_large_array_is_its_own():
    x = np.arange(N, dtype=np.float32)
    for z in (kernels.CPU.copy(x), kernels.CPU.copy_with_layout(x, x)):
        assert not np.shares_memory(x, z) and z.flags.writeable
        np.testing.assert_array_equal(z, x)
