"""Sampling an image at the points of a grid, as spatial transformers do. Mirrors ``aten/src/ATen/native/GridSampler.cpp``.

    grid (N, H', W', 2)         each point is (x, y), and -1 and 1 are the edges of the image
    unnormalize                 to pixels: with align_corners, -1 and 1 are the centres of the outermost pixels
    padding_mode                where points outside the image read
    neighbours                  1 (nearest), 2 per dimension (bilinear) or 4 (bicubic) pixels with their weights
"""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportIndexIssue=false, reportGeneralTypeIssues=false
# (the results of ops have no types inside the package)
import itertools
import warnings
from typing import TYPE_CHECKING

from minigrad.creation import linspace, ones
from minigrad.errors import ShapeError, TensorValueError
from minigrad.ops import fmod, stack, where
from minigrad.ops.base.rule import tensor_argument

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["affine_grid", "grid_sample"]


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Return the points that an affine map sends the points of an image to: a grid for `grid_sample`.

    Args:
        theta (Tensor): the maps, (N, 2, 3), or (N, 3, 4) for volumes.
        size (sequence of int): the size of the result of `grid_sample`, (N, C, H, W) or (N, C, D, H, W).
        align_corners (bool): whether -1 and 1 are the centres of the outermost pixels, or their outer edges.

    Returns:
        Tensor: (N, H, W, 2) or (N, D, H, W, 3).

    Mirrors ``torch.nn.functional.affine_grid``.

    Raises:
        ValueError: the dtype or the shape of `theta` does not fit.
        NotImplementedError: `size` has another number of dimensions.

    >>> F.affine_grid(mg.tensor([[[1., 0., 0.], [0., 1., 0.]]]), (1, 1, 1, 2), align_corners=False)
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    tensor_argument("affine_grid", theta, "theta")
    warn_of_default("affine_grid", align_corners)
    if not theta.is_floating_point():
        raise TensorValueError("MG-E332", f"Expected theta to have floating point type, but got {theta.dtype}")
    n = len(size) - 2
    if n not in (2, 3):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got "
                                  "size "
                                  f"{tuple(size)}.")
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise TensorValueError("MG-E332", f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size "
                                          f"{tuple(size)}. Got "
                               f"{theta.shape}.")
    if min(size) <= 0:
        raise TensorValueError("MG-E332", f"Expected non-zero, positive output size. Got {tuple(size)}")
    spatial = tuple(size[2:])
    axes = []
    for i, count in enumerate(spatial):
        axis = linspace(-1, 1, count, dtype=theta.dtype, device=theta.device)
        if count == 1:
            axis = axis * 0
        elif not align_corners:
            axis = axis * ((count - 1) / count)
        axes.append(axis.view([count if j == i else 1 for j in range(n)]).expand(spatial))
    base = stack([*reversed(axes), ones(spatial, dtype=theta.dtype, device=theta.device)], -1)
    return (base.reshape(1, -1, n + 1) @ theta.transpose(1, 2)).view(theta.shape[0], *spatial, n)


def warn_of_default(function, align_corners):
    """Warn that the default of `align_corners` has changed, if it is not given."""
    if align_corners is None:
        warnings.warn(f"Default {function} behavior has changed to align_corners=False since 1.3.0. Please specify "
                      "align_corners=True "
                      "if the old behavior is desired.", UserWarning, stacklevel=4)


def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """Read an image, or a volume, at the points of a grid.

    Args:
        input (Tensor): (N, C, H, W) or (N, C, D, H, W).
        grid (Tensor): the points, (N, H', W', 2) or (N, D', H', W', 3). A point is (x, y) or (x, y, z), and -1 and 1 are the edges.
        mode (str): ``"bilinear"``, ``"nearest"``, or ``"bicubic"`` for images.
        padding_mode (str): what points outside read: ``"zeros"``, ``"border"`` (the nearest pixel) or ``"reflection"``.
        align_corners (bool): whether -1 and 1 are the centres of the outermost pixels, or their outer edges.

    Returns:
        Tensor: (N, C, H', W') or (N, C, D', H', W').

    Mirrors ``torch.nn.functional.grid_sample``.

    Raises:
        ValueError: a mode is unknown.
        RuntimeError: shapes or dtypes do not fit.

    >>> image = mg.tensor([[[[1., 2.], [3., 4.]]]])
    >>> F.grid_sample(image, mg.zeros(1, 1, 1, 2), align_corners=False)
    tensor([[[[2.5000]]]])
    """
    tensor_argument("grid_sample", input)
    tensor_argument("grid_sample", grid, "grid", 2)
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise TensorValueError("MG-E332", "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
                                          "but "
                               f"got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise TensorValueError("MG-E332", "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
                               f"'reflection', but got: '{padding_mode}'")
    warn_of_default("grid_sample", align_corners)
    check_grid(input, grid, mode)
    sizes = tuple(input.shape[:1:-1])         # as the coordinates of a point: W, H, and D
    points = [unnormalize(grid[..., i], size, align_corners) for i, size in enumerate(sizes)]
    if mode != "bicubic":
        points = [pad(x, size, padding_mode, align_corners) for x, size in zip(points, sizes)]
    neighbours = [taps(x, mode) for x in points]
    total: Any = None
    flat = input.flatten(2)
    for chosen in itertools.product(*neighbours):
        weight: Any = None
        inside, index, step = None, 0, 1
        for (at, factor), size in zip(chosen, sizes):
            if mode == "bicubic":
                at = pad(at, size, padding_mode, align_corners)
            within = (at >= 0) & (at <= size - 1)
            inside = within if inside is None else inside & within
            weight = factor if weight is None else weight * factor
            index = index + at.detach().nan_to_num(0.0).clamp(0, size - 1).long() * step
            step *= size
        values = flat.gather(2, index.flatten(1).unsqueeze(1).expand(-1, flat.shape[1], -1))
        part = values * where(inside, weight, weight.new_zeros(())).flatten(1).unsqueeze(1)
        total = part if total is None else total + part
    return total.view(*input.shape[:2], *grid.shape[1:-1])


def check_grid(input, grid, mode):
    """Raise unless the image and the grid fit each other and the mode."""
    n = input.ndim - 2
    if n not in (2, 3) or grid.ndim != input.ndim:
        raise ShapeError("MG-E332", "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got "
                                    "input with "
                         f"sizes {list(input.shape)} and grid with sizes {list(grid.shape)}")
    if input.shape[0] != grid.shape[0]:
        raise ShapeError("MG-E332", "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
                         f"{list(input.shape)} and grid with sizes {list(grid.shape)}")
    if grid.shape[-1] != n:
        raise ShapeError("MG-E332", f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with sizes "
                         f"{list(grid.shape)}")
    if 0 in input.shape[2:]:
        raise ShapeError("MG-E332", "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                         f"{list(input.shape)}")
    if mode == "bicubic" and n != 2:
        raise ShapeError("MG-E332", "grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype is not grid.dtype:
        raise ShapeError("MG-E203", f"grid_sampler(): expected input and grid to have same dtype, but input has {input.dtype} "
                                    "and grid "
                         f"has {grid.dtype}")


def unnormalize(x, size, align_corners):
    """From [-1, 1] to pixels."""
    return (x + 1) * ((size - 1) / 2) if align_corners else ((x + 1) * size - 1) / 2


def pad(x, size, mode, align_corners):
    """Move coordinates outside the image to where they read."""
    if mode == "reflection":
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        if span == 0:
            return x * 0
        away = (x - low).abs()
        rest = fmod(away, span)
        odd = (away.detach() / span).floor() % 2 == 1
        x = where(odd, span - rest, rest) + low
    return x if mode == "zeros" else x.clamp(0, size - 1)


def taps(x, mode):
    """Pairs (coordinate of a pixel, its weight) for the coordinates `x` of one dimension."""
    if mode == "nearest":
        return [(x.detach().round(), x.clamp(0, 0) + 1)]        # a weight of 1, whose gradient is 0
    low = x.detach().floor()
    t = x - low
    if mode == "bilinear":
        return [(low, 1 - t), (low + 1, t)]
    a = -0.75       # Keys' cubic convolution

    def near(d):
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d):
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return [(low - 1, far(t + 1)), (low, near(t)), (low + 1, near(1 - t)), (low + 2, far(2 - t))]
