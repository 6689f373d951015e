"""affine_grid and grid_sample: values and derivatives against PyTorch, finite differences, and the cost."""

import itertools
import warnings

import numpy as np
import pytest

import minigrad as mg
from minigrad.nn import functional as F

MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
CASES = [(dims, mode, padding, corners) for dims, mode, padding, corners in itertools.product((2, 3), MODES, PADDINGS, (True, False))
         if (dims, mode) != (3, "bicubic")]


def case(dims, sizes):
    """An image, places with the corners among them, and the gradient of the result."""
    rng = np.random.default_rng(0)
    shape = (4, 3, 2)[:dims]
    places = rng.uniform(-2.5, 2.5, size=(2, *shape, dims))
    places[0].flat[:4] = [-1, 1, 0, -1]
    return rng.normal(size=(2, 3, *sizes)), places, rng.normal(size=(2, 3, *shape))


def run(m, dims, sizes, *options):
    image, places, gradient = case(dims, sizes)
    x, grid = m.tensor(image, requires_grad=True), m.tensor(places, requires_grad=True)
    y = m.nn.functional.grid_sample(x, grid, *options)
    y.backward(m.tensor(gradient))
    return y.detach().numpy(), x.grad.numpy(), np.zeros_like(places) if grid.grad is None else grid.grad.numpy()


@pytest.mark.parametrize("sizes", [(3, 4, 5), (1, 1, 4)], ids=["image", "one row"])
@pytest.mark.parametrize("dims, mode, padding, corners", CASES)
def test_as_pytorch(dims, mode, padding, corners, sizes):
    torch = pytest.importorskip("torch")
    for ours, theirs in zip(run(mg, dims, sizes[:dims], mode, padding, corners), run(torch, dims, sizes[:dims], mode, padding, corners)):
        assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dims, mode, padding, corners", [c for c in CASES if c[1] != "nearest"])
def test_derivatives(dims, mode, padding, corners):
    rng = np.random.default_rng(1)
    x = mg.tensor(rng.normal(size=(1, 1, *(3, 4, 2)[:dims])), requires_grad=True)
    grid = mg.tensor(rng.uniform(-0.6, 0.6, size=(1, *(2, 1, 2)[:dims], dims)), requires_grad=True)
    assert mg.autograd.gradcheck(lambda x, grid: F.grid_sample(x, grid, mode, padding, corners), (x, grid))


def test_second_derivatives():
    x, grid = mg.rand(1, 1, 3, 3, dtype=mg.float64, requires_grad=True), mg.tensor([[[[0.3, -0.2]]]], dtype=mg.float64, requires_grad=True)
    assert mg.autograd.gradgradcheck(lambda x, grid: F.grid_sample(x, grid, align_corners=False), (x, grid))


@pytest.mark.parametrize("corners", [True, False])
@pytest.mark.parametrize("dims", [2, 3])
def test_affine_grid(dims, corners):
    torch = pytest.importorskip("torch")
    theta = np.random.default_rng(0).normal(size=(2, dims, dims + 1))
    size = (2, 1, *(3, 1, 4)[:dims])
    ours, theirs = [m.nn.functional.affine_grid(m.tensor(theta), size, align_corners=corners).numpy() for m in (mg, torch)]
    assert np.allclose(ours, theirs)


def test_identity():
    """theta = 1 reads the image itself, in every mode; a program learns theta by its gradient."""
    x = mg.rand(2, 3, 4, 5)
    theta = mg.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).repeat(2, 1, 1).requires_grad_()
    for mode, corners in itertools.product(MODES, (True, False)):
        y = F.grid_sample(x, F.affine_grid(theta, x.shape, corners), mode, align_corners=corners)
        assert mg.allclose(y, x, atol=1e-5)
    y.sum().backward()
    assert theta.grad.shape == (2, 2, 3)


def test_places_that_are_no_numbers():
    """nan means -1, and places beyond all numbers are outside."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        places = mg.tensor([[[[float("nan"), 0.0], [float("inf"), 0.0], [1e30, 0.0]]]])
        assert F.grid_sample(mg.ones(1, 1, 2, 2), places, align_corners=False).tolist() == [[[[0.5, 0.0, 0.0]]]]


@pytest.mark.differs(
    what="`grid_sample` at infinite positions, and at nan",
    there="nan with the modes bilinear and bicubic, or the process ends.",
    here="An infinite position lies outside, so that padding with zeros gives 0; nan counts as -1.")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("padding", PADDINGS)
def test_infinite_places(mode, padding):
    """They lie outside, at the border, or, reflected, nowhere; those beside them are read as ever. PyTorch may crash."""
    places = mg.tensor([[[[float("inf"), 0.0], [-float("inf"), 0.0], [0.0, 0.0]]]])
    y = F.grid_sample(mg.tensor([[[[1.0, 2.0, 4.0]]]]), places, mode, padding, align_corners=False).flatten().numpy()
    ends = [0, 0] if padding != "border" else [np.nan, np.nan] if mode == "bicubic" else [4, 1]
    np.testing.assert_array_equal(y, [*ends, 2])
