"""Tensors on a GPU: moves between devices, gradients across devices, in-place writes, views, and errors."""

import numpy as np
import pytest

import minigrad as mg


def test_there_and_back():
    x = mg.tensor([[1.0, -2.0], [3.0, 4.0]], requires_grad=True)
    y = x.cuda()
    assert y.is_cuda and str(y.device) == "cuda:0" and y.device == mg.device("cuda") == mg.device("cuda", 0)
    assert y.grad_fn.name() == "ToCopyBackward0" and y.cuda() is y and x.cpu() is x
    z = (y * y).cpu()
    assert z.tolist() == [[1, 4], [9, 16]]
    z.backward(mg.ones(2, 2))
    assert x.grad.tolist() == [[2, -4], [6, 8]] and x.grad.device == mg.device("cpu")


def test_a_leaf_on_the_gpu():
    """The gradient is on the device of the leaf; the first is stolen, the second added in place."""
    w = mg.full((3,), 2.0, device="cuda", requires_grad=True)
    g = mg.ones(3, device="cuda")
    (w * 3).backward(g)
    first = w.grad
    (w * w).backward(g)
    assert w.grad is first and first.device == w.device and first.tolist() == [7, 7, 7]


@pytest.mark.parametrize("make", [mg.zeros, mg.ones, mg.empty])
def test_factories(make):
    x = make(2, 3, device="cuda:0", dtype=mg.float64)
    assert x.is_cuda and x.shape == (2, 3) and x.dtype is mg.float64


def test_what_a_tensor_says():
    x = mg.tensor([1.5, 2.0], device="cuda")
    assert repr(x) == "tensor([1.5000, 2.0000], device='cuda:0')"
    assert x.tolist() == [1.5, 2] and x[1].item() == 2 and float(x[0]) == 1.5
    with pytest.raises(TypeError, match=r"can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu\(\)"):
        x.numpy()
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor"):
        np.asarray(x)


def test_devices_do_not_mix():
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu"):
        mg.ones(2, device="cuda") + mg.ones(2)


def test_there_is_no_such_gpu():
    with pytest.raises(RuntimeError, match="invalid device ordinal 63"):
        mg.zeros(2, device="cuda:63")


def test_views_and_writes():
    base = mg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device="cuda")
    row, column = base[0], base.t()[2]
    assert row._is_view() and column.tolist() == [3, 6]
    version = base._version
    row.mul_(10)
    assert base.tolist() == [[10, 20, 30], [4, 5, 6]] and column.tolist() == [30, 6] and base._version == version + 1
    base[:, 1] = 0
    assert base.tolist() == [[10, 0, 30], [4, 0, 6]]
    with pytest.raises(RuntimeError, match="refers to a single memory location"):
        base[:1].expand(4, 3).add_(1)


def test_a_write_to_what_the_backward_needs_is_noticed():
    x = mg.ones(3, device="cuda", requires_grad=True)
    y = x.exp()
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward(mg.ones(3, device="cuda"))


def test_memory_is_counted():
    before = mg.cuda.memory_allocated()
    mg.cuda.reset_peak_memory_stats()
    x = mg.zeros(1000, device="cuda")
    views = [x[:10], x.view(10, 100)]
    assert mg.cuda.memory_allocated() == before + 4000
    del x, views
    assert mg.cuda.memory_allocated() == before and mg.cuda.max_memory_allocated() >= before + 4000


def test_out_of_memory():
    held = mg.cuda.memory_allocated()
    with pytest.raises(mg.OutOfMemoryError, match=r"CUDA out of memory\. Tried to allocate 1073741824\.00 GiB") as caught:
        mg.empty(1 << 60, dtype=mg.uint8, device="cuda")
    assert isinstance(caught.value, RuntimeError) and mg.cuda.OutOfMemoryError is mg.OutOfMemoryError
    assert mg.cuda.memory_allocated() == held


def test_streams():
    s = mg.cuda.Stream()
    default = mg.cuda.current_stream()
    with mg.cuda.stream(s):
        assert mg.cuda.current_stream() == s != default
        x = mg.ones(3, device="cuda") * 2
    s.synchronize()
    assert mg.cuda.current_stream() == default and x.tolist() == [2, 2, 2]
    mg.cuda.synchronize()


def test_pinned_memory():
    x = mg.tensor([1.0, 2.0])
    y = x.pin_memory()
    assert y.is_pinned() and y[1:].is_pinned() and not x.is_pinned() and y.pin_memory() is y and y.tolist() == [1, 2]
    assert y.to("cuda", non_blocking=True).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        y.cuda().pin_memory()


@pytest.mark.parametrize("pin_memory", [False, True])
def test_saved_tensors_on_the_cpu(pin_memory):
    """save_on_cpu moves saved tensors to the host, and back for the backward."""
    x = mg.full((1000,), 3.0, device="cuda", requires_grad=True)
    with mg.autograd.graph.save_on_cpu(pin_memory=pin_memory):
        y = x.exp()
        before = mg.cuda.memory_allocated()
        z = y * y
        assert mg.cuda.memory_allocated() == before + 4000      # z alone
    z.backward(mg.ones(1000, device="cuda"))
    assert x.grad.is_cuda
    np.testing.assert_allclose(x.grad.cpu().numpy(), 2 * np.exp(np.full(1000, 6.0)), rtol=1e-5)


def test_storage_shows_the_memory_on_the_gpu():
    x = mg.tensor([1., 2., 3.], device="cuda")
    assert x[1:].untyped_storage().nbytes() == 12
    assert x[1:].untyped_storage() == x.untyped_storage()


def test_cholesky_inverse_of_a_singular_factor():
    with pytest.raises(RuntimeError, match="diagonal element 2 is zero"):
        mg.cholesky_inverse(mg.tensor([[1., 0.], [0., 0.]], device="cuda"))
