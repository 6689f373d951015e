"""Sampling an image at any place: `affine_grid` makes the places, `grid_sample` reads there. They are composed of ops.

    grid = F.affine_grid(theta, x.shape, align_corners=False)       theta (N, 2, 3)  ->  places (N, H, W, 2), in [-1, 1]
    F.grid_sample(x, grid, align_corners=False)                     the image x, turned, moved and scaled by theta

For each place, `grid_sample` gathers the pixels around it and adds them with weights: 1 pixel, 2ᵈ in d dimensions, or 16. So the
cost is linear in the number of places, and all derivatives are those of gather, of products and of sums.

Mirrors the functions of ``torch/nn/functional.py`` and ``aten/src/ATen/native/GridSampler.cpp``.
"""

from __future__ import annotations

import functools
import itertools
import operator
import warnings
from typing import TYPE_CHECKING

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportIndexIssue=false, reportOptionalMemberAccess=false
# (the results of ops have no types inside the package)
from minigrad.creation import linspace, ones, zeros
from minigrad.errors import ArgumentError, AutogradNotImplementedError, DtypeError, ShapeError, TensorValueError
from minigrad.ops import cat, floor, gather, matmul, stack, where
from minigrad.ops.base.arguments import flag, in_words, integers, tensor_argument
from minigrad.ops.base.autocast import autocasts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["affine_grid", "grid_sample"]

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
A = -0.75           # of the cubic convolution


def corners_argument(function, align_corners):
    """Return `align_corners` as a bool; None warns and means False."""
    if align_corners is None:
        warnings.warn("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
                      "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
                      UserWarning, stacklevel=3)
        return False
    return flag(align_corners, "align_corners", function)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places that `grid_sample` reads for an affine map: for each pixel of the result, theta · (x, y, 1).

    Args:
        theta (Tensor): a matrix for each image of the batch: (N, 2, 3), or (N, 3, 4) for volumes.
        size (tuple of int): of the result of `grid_sample`: (N, C, H, W), or (N, C, D, H, W).
        align_corners (bool, optional): whether -1 and 1 are the centers of the outer pixels, or else their outer edges. Pass the
            same value to `grid_sample`. If it is None, a warning says that it means False.

    Returns:
        Tensor: (N, H, W, 2), or (N, D, H, W, 3).

    Mirrors ``torch.nn.functional.affine_grid``.

    Raises:
        ValueError: theta is not floating point, does not have this shape, or a size is not positive.
        NotImplementedError: the size has another length.

    >>> F.affine_grid(mg.tensor([[[1., 0., 0.], [0., 1., 0.]]]), (1, 1, 2, 2), align_corners=True)
    tensor([[[[-1., -1.],
              [ 1., -1.]],
    <BLANKLINE>
             [[-1.,  1.],
              [ 1.,  1.]]]])
    """
    corners = corners_argument("affine_grid", align_corners)
    if not tensor_argument("affine_grid", theta, "theta").dtype.is_floating_point:
        raise TensorValueError("MG-E203", f"Expected theta to have floating point type, but got {theta.dtype}", fix="theta.float()")
    size = integers(tuple(size) if isinstance(size, tuple) else size, "size", "affine_grid")
    if len(size) not in (4, 5):
        raise AutogradNotImplementedError("MG-E206", "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
                                          f"respectively. Got size {size}.")
    dims = len(size) - 2
    if tuple(theta.shape[1:]) != (dims, dims + 1) or theta.ndim != 3:
        raise TensorValueError("MG-E205", f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size "
                               f"{size}. Got {tuple(theta.shape)}.")
    if min(size) <= 0:
        raise TensorValueError("MG-E206", f"Expected non-zero, positive output size. Got {size}")
    places = [centers(n, corners, theta) for n in size[2:]]
    base = [places[d].reshape([-1 if i == d else 1 for i in range(dims)]).expand(size[2:]) for d in range(dims)]
    base = stack(base[::-1], -1)
    base = cat([base.reshape(-1, dims), ones(base.numel() // dims, 1, dtype=theta.dtype, device=theta.device)], 1)
    return matmul(base, theta.transpose(1, 2)).reshape(theta.shape[0], *size[2:], dims)


def centers(n, corners, like):
    """The centers of n pixels in [-1, 1]."""
    if n == 1:
        return zeros(1, dtype=like.dtype, device=like.device)
    places = linspace(-1, 1, n, dtype=like.dtype, device=like.device)
    return places if corners else places * ((n - 1) / n)


@autocasts
def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """Read the images `input` at the places `grid`, between the pixels too.

    Args:
        input (Tensor): images (N, C, H, W), or volumes (N, C, D, H, W); floating point.
        grid (Tensor): places (N, H', W', 2) in the dtype of `input`: for each pixel of the result, x along the width and y
            along the height, from -1 to 1. For volumes (N, D', H', W', 3).
        mode (str): ``"bilinear"``, ``"nearest"`` or ``"bicubic"`` (images only).
        padding_mode (str): what is outside the image: ``"zeros"``, ``"border"`` (the nearest pixel of the border) or
            ``"reflection"`` (the image, mirrored at its border).
        align_corners (bool, optional): whether -1 and 1 are the centers of the outer pixels, or else their outer edges. If it is
            None, a warning says that it means False.

    Returns:
        Tensor: (N, C, H', W'), or (N, C, D', H', W').

    Mirrors ``torch.nn.functional.grid_sample``.

    Raises:
        ValueError: there is no such mode.
        RuntimeError: the shapes or the dtypes do not fit, or bicubic with volumes.

    >>> x = mg.tensor([[[[1., 2.], [3., 4.]]]])
    >>> F.grid_sample(x, mg.tensor([[[[0., 0.], [1., 1.]]]]), align_corners=True)
    tensor([[[[2.5000, 4.0000]]]])
    """
    for name, value, known in (("mode", mode, MODES), ("padding_mode", padding_mode, PADDINGS)):
        if not isinstance(value, str) or value not in known:
            raise TensorValueError("MG-E302", f"nn.functional.grid_sample(): expected {name} to be {known[0]!r}, {known[1]!r} or "
                                   f"{known[2]!r}, but got: {in_words(value)!r}")
    corners = corners_argument("grid_sample", align_corners)
    check_sampling(input, grid, mode)
    sizes = input.shape[2:]
    # One tensor of coordinates for each dimension of the image, in pixels; the grid has x, the last dimension, first.
    coordinates = [pixels(grid.select(-1, len(sizes) - 1 - d), n, corners) for d, n in enumerate(sizes)]
    if mode != "bicubic" and padding_mode != "zeros":
        coordinates = [pad(x, n, padding_mode, corners) for x, n in zip(coordinates, sizes)]
    around = [AROUND[mode](x) for x in coordinates]
    if mode == "bicubic" and padding_mode != "zeros":
        around = [[(pad(at, n, padding_mode, corners), weight) for at, weight in points] for points, n in zip(around, sizes)]
    around = [[inside(at, weight, n) for at, weight in points] for points, n in zip(around, sizes)]
    return functools.reduce(operator.add, [read(input, points) for points in itertools.product(*around)])


def check_sampling(input, grid, mode):
    """Raise unless the shapes and dtypes of the arguments of grid_sample fit."""
    tensor_argument("grid_sample", input)
    tensor_argument("grid_sample", grid, "grid", 2)
    shapes = f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.dtype is not grid.dtype:
        raise DtypeError("MG-E203", "grid_sampler(): expected input and grid to have same dtype, but input has "
                         f"{input.dtype.name} and grid has {grid.dtype.name}", fix="grid.to(input.dtype)")
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise ShapeError("MG-E205", "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got "
                         f"{shapes}")
    if mode == "bicubic" and input.ndim == 5:
        raise ArgumentError("MG-E302", "grid_sampler(): bicubic interpolation only supports 4D input")
    if input.shape[0] != grid.shape[0]:
        raise ShapeError("MG-E205", f"grid_sampler(): expected grid and input to have same batch size, but got {shapes}")
    if grid.shape[-1] != input.ndim - 2:
        raise ShapeError("MG-E205", f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got grid "
                         f"with sizes {list(grid.shape)}")
    if 0 in input.shape[2:]:
        raise ShapeError("MG-E205", "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                         f"{list(input.shape)}")
    if not input.dtype.is_floating_point:
        raise AutogradNotImplementedError("MG-E203", f'"grid_sampler" not implemented for {input.dtype.name}', fix="input.float()")


def pixels(x, n, corners):
    """Coordinates in [-1, 1] as coordinates in pixels: 0 is the center of the first pixel, n - 1 that of the last."""
    x = where(x.isnan(), -1.0, x)
    return (x + 1) / 2 * (n - 1) if corners else ((x + 1) * n - 1) / 2


def pad(x, n, padding_mode, corners):
    """Coordinates in pixels, moved into the image. At and beyond the border there is no derivative, as in PyTorch."""
    if padding_mode == "reflection":
        x = reflect(x, 0.0, n - 1.0) if corners else reflect(x, -0.5, float(n))
    return where((x > 0) & (x < n - 1), x, x.detach().clamp(0, n - 1))


def reflect(x, least, span):
    """Coordinates outside [least, least + span], mirrored at the ends as often as needed."""
    if span == 0:
        return x * 0
    x = where(x < least, least - x, x - least)
    turns = floor(x.detach() / span)
    rest = x - turns * span
    return where(turns % 2 == 0, rest, span - rest) + least


def nearest(x):
    """[(the nearest pixel, its weight 1, whose gradient is 0)]"""
    return [(x.detach().round(), x.sign() * 0 + 1)]


def linear(x):
    """[(pixel, weight)] of the pixels before and after x"""
    first = floor(x.detach())
    after = x - first
    return [(first, 1 - after), (first + 1, after)]


def cubic(x):
    """[(pixel, weight)] of the two pixels before and the two after x (Keys, 1981)"""
    first = floor(x.detach())
    t = x - first
    return [(first - 1, far(t + 1)), (first, near(t)), (first + 1, near(1 - t)), (first + 2, far(2 - t))]


def near(t):
    """The weight of a pixel at the distance t <= 1."""
    return ((A + 2) * t - (A + 3)) * t * t + 1


def far(t):
    """The weight of a pixel at the distance t between 1 and 2."""
    return ((A * t - 5 * A) * t + 8 * A) * t - 4 * A


AROUND = {"nearest": nearest, "bilinear": linear, "bicubic": cubic}


def inside(at, weight, n):
    """(the pixel as an index, its weight), along a dimension of n pixels: outside the image, and for nan, the weight is 0."""
    valid = (at >= 0) & (at <= n - 1)
    return where(valid, at, 0.0).long(), where(valid, weight, 0.0)


def read(input, points):
    """The pixels at some places times their weights. `points` has (indices, weights) of each dimension."""
    index, weight = points[0]
    for (at, factor), n in zip(points[1:], input.shape[3:]):
        index, weight = index * n + at, weight * factor
    shape = index.shape
    index = index.reshape(shape[0], 1, -1).expand(shape[0], input.shape[1], -1)
    return gather(input.flatten(2), 2, index).reshape(shape[0], input.shape[1], *shape[1:]) * weight.unsqueeze(1)
