"""Kernels of a program: numba accepts tensors, and `custom_op` makes ops from kernels."""

import numpy as np
import pytest
from numba import cuda

import minigrad as mg
from minigrad.library import custom_op, get_op, opcheck
from tests.cuda.conftest import SIMULATED


@cuda.jit
def doubled(x, y):
    i = cuda.grid(1)
    while i < x.shape[0]:
        for j in range(x.shape[1]):
            y[i, j] = 2 * x[i, j]
        i += cuda.gridsize(1)


@cuda.jit
def sevenfold(x):
    if cuda.grid(1) == 0:
        x[0] = x[0] * 7


def double(x):
    y = mg.empty_like(x)
    doubled[2, 4, mg.cuda.numba_stream()](mg.cuda.as_numba(x), mg.cuda.as_numba(y))
    return y


VIEWS = {"whole": lambda x: x, "transposed": lambda x: x.t(), "part": lambda x: x[1:, ::2], "repeated": lambda x: x[:1].expand(3, 4)}


@pytest.mark.parametrize("dtype", [mg.float32, mg.float64, mg.int32])
@pytest.mark.parametrize("view", VIEWS)
def test_strides_and_dtypes(view, dtype):
    x = mg.arange(12).reshape(3, 4).to(dtype).cuda()
    assert double(VIEWS[view](x)).tolist() == (VIEWS[view](x.cpu()) * 2).tolist()


def test_writes_are_seen():
    x = mg.ones(4, device="cuda")
    sevenfold[1, 1, mg.cuda.numba_stream()](mg.cuda.as_numba(x[2:]))
    assert x.tolist() == [1.0, 1.0, 7.0, 1.0]


def test_in_the_current_stream():
    x = mg.ones(64, 64, device="cuda")
    mg.cuda.synchronize()
    with mg.cuda.stream(mg.cuda.Stream()):
        assert double(double(x) + 1).sum().item() == 64 * 64 * 6


def test_interface():
    """The keys of version 2, as torch.Tensor gives them: no strides for what is contiguous."""
    x = mg.zeros(2, 3, dtype=mg.float64, device="cuda")
    found = x.__cuda_array_interface__
    assert (found["typestr"], found["shape"], found["strides"], found["version"]) == ("<f8", (2, 3), None, 2)
    assert found["data"] == (x.data_ptr(), False)
    part = x.t()[1:].__cuda_array_interface__
    assert (part["shape"], part["strides"], part["data"][0]) == ((2, 2), (8, 24), x.data_ptr() + 8)
    assert mg.zeros(0, device="cuda").__cuda_array_interface__["data"][0] == 0


def test_no_interface():
    assert not hasattr(mg.zeros(2), "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="non-CUDA tensor"):
        mg.cuda.as_numba(mg.zeros(2))
    x = mg.zeros(2, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match="requires grad"):
        mg.cuda.as_numba(x)
    with mg.no_grad():
        assert mg.cuda.as_numba(x).shape == (2,)


def test_dlpack_says_no():
    x = mg.zeros(2, device="cuda")
    assert x.__dlpack_device__() == (2, 0)
    with pytest.raises(BufferError):
        np.from_dlpack(x)
    with pytest.raises(BufferError, match="cuda:0"):
        x.__dlpack__()


def test_numpy_by_force():
    """tensor_surface: numpy(force=True) of PyTorch copies from the GPU, and detaches."""
    x = mg.ones(2, device="cuda", requires_grad=True)
    assert x.numpy(force=True).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="host memory"):
        x.detach().numpy()


@pytest.mark.skipif(SIMULATED, reason="numba's simulator has no as_cuda_array")
def test_numbas_own_function():
    x = mg.arange(4.0, device="cuda")
    np.testing.assert_array_equal(cuda.as_cuda_array(x).copy_to_host(), np.arange(4.0))
    assert mg.cuda.as_numba(x).__cuda_array_interface__["data"][0] == x.data_ptr()


@custom_op("testcuda::twice", mutates_args=(), device_types="cuda")
def twice(x: mg.Tensor) -> mg.Tensor:
    return double(x)


twice.register_autograd(lambda ctx, g: twice(g))


def test_an_op():
    x = mg.randn(3, 4, dtype=mg.float64).cuda().requires_grad_()
    assert mg.autograd.gradcheck(twice, x)
    assert mg.autograd.gradgradcheck(twice, x)
    assert set(opcheck(twice, (x,), test_utils=("test_schema", "test_autograd_registration", "test_gradcheck",
                                                "test_double_backward")).values()) == {"SUCCESS"}
    twice(x).sum().backward()
    assert x.grad.device == x.device and x.grad.tolist() == [[2.0] * 4] * 3


def test_a_device_without_a_kernel():
    with pytest.raises(NotImplementedError, match="CPU"):
        get_op("testcuda::twice")(mg.zeros(2, 2))


def test_an_output_that_is_an_input():
    """A view of an input shares its block."""
    same = custom_op("testcuda::same", lambda x: x[1:], mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="shares memory with an input"):
        same(mg.zeros(2, device="cuda"))


@pytest.mark.parametrize("fast", [False, True])
def test_the_checkers_on_a_gpu(fast):
    """Their random numbers go where the inputs are."""
    x = mg.randn(2, 3, dtype=mg.float64).cuda().requires_grad_()
    assert mg.autograd.gradcheck(lambda x: x.sin() * x, x, fast_mode=fast, check_forward_ad=True, check_batched_grad=True)
    assert mg.autograd.gradgradcheck(lambda x: x.sin() * x, x, fast_mode=fast, check_fwd_over_rev=True, check_batched_grad=True)
