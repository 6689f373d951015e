"""Ops on a GPU and their backward: the same numbers as on the CPU, from kernels of the GPU alone."""

import numpy as np
import pytest

import minigrad as mg
import minigrad.nn.functional as F

CASES = {       # label -> (function, shapes of its tensors)
    "matmul": (lambda x, y: x @ y, (3, 4), (4, 5)),
    "matmul of transposed": (lambda x, y: x.mT @ y.mT, (2, 4, 3), (5, 4)),
    "matrix and vector": (lambda x, y: x @ y, (3, 4), (4,)),
    "row and matrix": (lambda x, y: x @ y, (2, 1, 4), (4, 5)),
    "addmm of a row": (lambda b, x, y: mg.addmm(b, x, y), (1, 5), (1, 4), (4, 5)),
    "dot": (lambda x, y: x @ y, (7,), (7,)),
    "addmm": (lambda b, x, y: mg.addmm(b, x, y), (3, 5), (3, 4), (4, 5)),
    "baddbmm": (lambda b, x, y: mg.baddbmm(b, x, y), (2, 3, 5), (2, 3, 4), (2, 4, 5)),
    "conv1d": (lambda x, w: F.conv1d(x, w, stride=2, padding=1), (2, 2, 7), (3, 2, 3)),
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1), (2, 2, 4, 5), (3, 2, 3, 3)),
    "conv2d, groups": (lambda x, w: F.conv2d(x, w, stride=(2, 1), dilation=(1, 2), groups=2), (1, 4, 5, 6), (4, 2, 2, 2)),
    "conv2d, patches": (lambda x, w: F.conv2d(x, w, stride=2), (1, 2, 4, 5), (3, 2, 2, 2)),
    "conv3d": (lambda x, w: F.conv3d(x, w), (1, 2, 3, 3, 3), (2, 2, 2, 2, 2)),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, stride=2, output_padding=1), (1, 2, 3, 3), (2, 3, 3, 3)),
    "unfold": (lambda x: F.unfold(x, 2, padding=1), (1, 2, 3, 4)),
    "fold": (lambda x: F.fold(x, (3, 4), 2), (1, 8, 6)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1), (2, 2, 5, 6)),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 3), (2, 2, 7)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2, 1), (2, 2, 4, 5)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (2, 3)), (1, 2, 4, 5)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (1, 2, 3, 4)),
}


def results(function, arrays, device):
    """The result, and the gradients where its own is the result itself."""
    tensors = [mg.tensor(a, device=device, requires_grad=True) for a in arrays]
    z = function(*tensors)
    assert z.device.type == device
    z.backward(z.detach())
    assert all(t.grad.device.type == device for t in tensors)
    return [t.detach().cpu().numpy() for t in (z, *[t.grad for t in tensors])]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("label", CASES)
def test_backward_equals_that_of_the_cpu(label, dtype):
    function, *shapes = CASES[label]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    for found, expected in zip(results(function, arrays, "cuda"), results(function, arrays, "cpu"), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-4 if dtype == "float32" else 1e-11, atol=1e-5 if dtype == "float32" else 1e-12)


def test_second_order():
    x = np.random.default_rng(0).standard_normal((1, 2, 4, 4))
    w = np.random.default_rng(1).standard_normal((2, 2, 3, 3))
    found = []
    for device in ("cuda", "cpu"):
        a, b = [mg.tensor(t, device=device, requires_grad=True) for t in (x, w)]
        z = F.conv2d(a, b, padding=1)
        (g,) = mg.autograd.grad(z, a, z * z, create_graph=True)
        found.append([t.cpu().numpy() for t in mg.autograd.grad(g, (a, b), mg.ones_like(g))])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-11)
