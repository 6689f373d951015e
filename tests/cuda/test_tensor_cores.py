"""The kernel for tensor cores, on the simulator: warps.py replaces the instructions of a GPU."""

import numpy as np
import pytest

from minigrad import kernels
from minigrad.kernels.cuda.contractions import contraction, tensor_cores
from minigrad.kernels.cuda.runtime.streams import SIMULATED
from tests.cuda import warps
from tests.cuda.test_kernels import CUDA, on_cpu, on_gpu

pytestmark = pytest.mark.skipif(not SIMULATED, reason="what stands in for the instructions is for the simulator")


@pytest.fixture
def products(monkeypatch):
    for name in ("commit", "copy_later", "load_blocks", "load_blocks_transposed", "multiply_add", "make_wait"):
        monkeypatch.setattr(tensor_cores, name, getattr(warps, name))
    for made in (tensor_cores.product_kernel, tensor_cores.copy_functions):
        made.cache_clear()
    yield tensor_cores.product_kernel
    for made in (tensor_cores.product_kernel, tensor_cores.copy_functions):
        made.cache_clear()


def operand(rng, batch, n, k, along_inner):
    """Numbers of shape (batch, n, k) that lie so that one dimension is contiguous, and those in memory."""
    lies = rng.integers(-4, 5, (batch, n, -(-k // 8) * 8) if along_inner else (batch, k, -(-n // 8) * 8)).astype(np.float16)
    return lies[:, :, :k] if along_inner else lies[:, :, :n].transpose(0, 2, 1), lies


# (side of a tile, (batch, m, n, k), parts): edges in all dimensions; few, as a block takes the simulator seconds
CASES = [(32, (2, 40, 13, 43), 2), (64, (1, 37, 50, 40), 1)]


@pytest.mark.parametrize("x_along", [True, False])
@pytest.mark.parametrize("y_along", [True, False])
@pytest.mark.parametrize(("side", "sizes", "parts"), CASES)
def test_products(products, side, sizes, parts, x_along, y_along):
    """A batch, parts of k, and a bias; small integers, so that all sums are exact."""
    if side == 64 and x_along != y_along:
        pytest.skip("its loops are the same for all ways")
    rng = np.random.default_rng(0)
    batch, m, n, k = sizes
    x, x_lies = operand(rng, batch, m, k, x_along)
    y, y_lies = operand(rng, batch, n, k, y_along)
    bias = rng.integers(-4, 5, (m, n)).astype(np.float16)
    z = np.full((parts, batch, m, n), np.nan, np.float32)
    sx, sy = [tuple([s // 2 for s in a.strides]) for a in (x, y)]
    tiles = batch * -(-m // side) * -(-n // side)
    kernel = products(side, x_along, y_along, False, True)
    kernel[tiles * parts, tensor_cores.THREADS](
        (m, n, k), parts, 32 if parts == 2 else 64, z.reshape(-1), 0, batch * m * n, n, 1, x_lies.reshape(-1), 0, *sx[1:],
        y_lies.reshape(-1), 0, *sy[1:], bias.reshape(-1), 0, (n, 1), (batch,), (m * n,), sx[:1], sy[:1])
    np.testing.assert_array_equal(z.sum(0), x.astype(np.float32) @ y.transpose(0, 2, 1).astype(np.float32) + bias)


def test_operands_of_a_product(products, monkeypatch):
    """Operands with a suitable layout are read in place; others are copied."""
    copied = []
    real = contraction.copy_as_matrix
    monkeypatch.setattr(contraction, "SIMULATED", False)
    monkeypatch.setattr(contraction, "SIDES", (32, 32))
    monkeypatch.setattr(contraction, "product_kernel", products)
    monkeypatch.setattr(contraction, "copy_as_matrix", lambda x, *args: copied.append(x.shape) or real(x, *args))
    rng = np.random.default_rng(0)

    def check(expect_copied, name, *args):
        copied.clear()
        found = on_cpu(getattr(CUDA, name)(*[on_gpu(a) if isinstance(a, np.ndarray) else a for a in args]))
        expected = getattr(kernels.NUMPY, name)(*[a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in args])
        np.testing.assert_array_equal(found, expected.astype(np.float16))
        assert len(copied) == expect_copied

    def numbers(*shape):
        return rng.integers(-2, 3, shape).astype(np.float16)
    check(0, "matmul", numbers(2, 9, 24), numbers(24, 16))
    check(0, "matmul", numbers(24, 40).T, numbers(8, 24).T)
    check(0, "addmm", numbers(8), numbers(9, 16), numbers(16, 8))
    check(1, "matmul", numbers(64, 9), numbers(9, 64))
    check(1, "conv", numbers(2, 4, 8, 8), numbers(64, 4, 3, 2), (1, 1), (1, 1), (1, 1), 1)
