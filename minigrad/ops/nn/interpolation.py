"""Interpolation: resizing signals, images and volumes.

    x               1       3
    nearest         1   1   3   3
    linear          1  1.5 2.5  3       each result is computed at the middle of its interval
    align_corners   1 1.67 2.33 3       the first and last results are at the first and last inputs

Every mode is a product with a sparse matrix along each dimension (`Resample`, ``averaging.py``). The modes differ in the matrix
(``kernels/resampling.py``) and in the name of the node.

Mirrors ``aten/src/ATen/native/UpSample*.cpp`` and ``interpolate`` in torch/nn/functional.py.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad.errors import ArgumentError, AutogradNotImplementedError, TensorTypeError, TensorValueError
from minigrad.kernels import resampling
from minigrad.ops.base.arguments import flag, in_words, integer, integers, real, tensor_argument, wrong_type
from minigrad.ops.base.rule import variant
from minigrad.ops.nn.averaging import Resample, adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from minigrad.ops.nn.pooling import make_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]


UpsampleNearest1d = variant(Resample, "upsample_nearest1d", "UpsampleNearest1D0",
                            "z[i] = the x whose interval contains the beginning of interval i")
UpsampleNearest2d = variant(Resample, "upsample_nearest2d", "UpsampleNearest2D0", "The same, of an image")
UpsampleNearest3d = variant(Resample, "upsample_nearest3d", "UpsampleNearest3D0", "The same, of a volume")
UpsampleNearestExact1d = variant(Resample, "upsample_nearest_exact1d", "UpsampleNearestExact1D0",
                                 "z[i] = the x whose interval contains the middle of interval i")
UpsampleNearestExact2d = variant(Resample, "upsample_nearest_exact2d", "UpsampleNearestExact2D0", "The same, of an image")
UpsampleNearestExact3d = variant(Resample, "upsample_nearest_exact3d", "UpsampleNearestExact3D0", "The same, of a volume")
UpsampleLinear1d = variant(Resample, "upsample_linear1d", "UpsampleLinear1D0", "z = the straight line between two neighbours")
UpsampleBilinear2d = variant(Resample, "upsample_bilinear2d", "UpsampleBilinear2D0",
                             "z = the straight line between two neighbours, along both dimensions")
UpsampleTrilinear3d = variant(Resample, "upsample_trilinear3d", "UpsampleTrilinear3D0",
                              "z = the straight line between two neighbours, along all three dimensions")
UpsampleBicubic2d = variant(Resample, "upsample_bicubic2d", "UpsampleBicubic2D0",
                            "z = cubic convolution of four neighbours, along both dimensions")
UpsampleBilinear2dAa = variant(Resample, "upsample_bilinear2d_aa", "UpsampleBilinear2DAa0",
                               "z = the mean of x under a triangle as wide as two results")
UpsampleBicubic2dAa = variant(Resample, "upsample_bicubic2d_aa", "UpsampleBicubic2DAa0",
                              "z = the mean of x under a cubic kernel as wide as four results")
UpsampleLanczos2dAa = variant(Resample, "upsample_lanczos2d_aa", "UpsampleLanczos2DAa0",
                              "z = the mean of x under a windowed sinc as wide as six results")


NEAREST = {1: UpsampleNearest1d, 2: UpsampleNearest2d, 3: UpsampleNearest3d}
EXACT = {1: UpsampleNearestExact1d, 2: UpsampleNearestExact2d, 3: UpsampleNearestExact3d}
# mode -> (dimensions, rule)
SMOOTH = {"linear": (1, UpsampleLinear1d), "bilinear": (2, UpsampleBilinear2d), "trilinear": (3, UpsampleTrilinear3d),
          "bicubic": (2, UpsampleBicubic2d)}
FILTERED = {"bilinear": UpsampleBilinear2dAa, "bicubic": UpsampleBicubic2dAa, "lanczos": UpsampleLanczos2dAa}
AREA = {1: adaptive_avg_pool1d, 2: adaptive_avg_pool2d, 3: adaptive_avg_pool3d}


def target_sizes(input, size, scale_factor, recompute):
    """Return (sizes of the result, factors), after checks. A factor is None if the ratio of the sizes is the factor."""
    n = input.ndim - 2
    if size is not None and scale_factor is not None:
        raise TensorValueError("MG-E351", "only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise TensorValueError("MG-E351", "either size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise TensorValueError("MG-E351", "recompute_scale_factor is not meaningful with an explicit size.")
        if not isinstance(size, (tuple, list)):
            return (integer(size, "size", "interpolate"),) * n, (None,) * n
        if len(size) != n:
            raise TensorValueError("MG-E351", "Input and output must have the same number of spatial dimensions, but got input "
                                   f"with spatial dimensions of {list(input.shape[2:])} and output size of {len(size)} numbers.")
        if any([not isinstance(s, int) for s in size]):
            raise TensorTypeError("MG-E206", "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, "
                                  f"int], but got size with types {[type(s) for s in size]}")
        return integers(size, "size", "interpolate"), (None,) * n
    factors = tuple(scale_factor) if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * n
    if len(factors) != n:
        raise TensorValueError("MG-E351", "Input and scale_factor must have the same number of spatial dimensions, but got input "
                               f"with spatial dimensions of {list(input.shape[2:])} and scale_factor of shape "
                               f"({', '.join(map(in_words, factors))}).")
    factors = [real(factor, "scale_factor", "interpolate") for factor in factors]
    for factor in factors:
        if not math.isfinite(factor):
            raise TensorValueError("MG-E351", f"interpolate(): scale_factor must be finite, but got {factor}")
    sizes = [math.floor(float(input.shape[i + 2]) * factor) for i, factor in enumerate(factors)]
    sizes = integers(sizes, "scale_factor", "interpolate")
    return sizes, (None,) * n if recompute else tuple([float(f) if f > 0 else None for f in factors])


def interpolate(input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None,
                mode: str = "nearest", align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Tensor:
    """Resize a signal, image or volume.

    Args:
        input (Tensor): (N, C, L), (N, C, H, W) or (N, C, D, H, W); floating point, or uint8 for the nearest modes.
        size (int or sequence): the sizes of the last dimensions of the result.
        scale_factor (float or sequence): instead of `size`, the factors of the sizes; products are rounded down.
        mode (str): ``"nearest"``, ``"nearest-exact"`` (by the middle of each result, as image libraries do), ``"area"`` (means);
            ``"linear"`` (3-d input), ``"bilinear"`` and ``"bicubic"`` (4-d), ``"trilinear"`` (5-d); ``"lanczos"`` (4-d, with
            antialias).
        align_corners (bool): for linear and cubic modes. True aligns the centers of the corner elements of input and result,
            False aligns their outer edges.
        recompute_scale_factor (bool): compute coordinates with the ratio of the sizes, and not with `scale_factor`.
        antialias (bool): for bilinear, bicubic and lanczos: average where the result is smaller.

    Mirrors ``torch.nn.functional.interpolate``.

    Raises:
        ValueError: neither or both of `size` and `scale_factor` are given, or their number is not that of the dimensions.
        NotImplementedError: the mode does not support this number of dimensions, or the dtype.
        RuntimeError: a size is 0 or negative.

    >>> F.interpolate(mg.tensor([[[1., 3.]]]), scale_factor=2, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    tensor_argument("interpolate", input)
    if not isinstance(mode, str):
        raise wrong_type("interpolate", "mode", "str", mode)
    options = {"align_corners": align_corners, "recompute_scale_factor": recompute_scale_factor, "antialias": antialias}
    for name, value in options.items():
        if value is not None:
            flag(value, name, "interpolate")
    smooth = mode in SMOOTH or mode == "lanczos"
    if align_corners is not None and not smooth and mode in ("nearest", "nearest-exact", "area"):
        raise TensorValueError("MG-E351", "align_corners option can only be set with the interpolating modes: linear | bilinear "
                               "| bicubic | trilinear")
    n = input.ndim - 2
    if mode == "lanczos" and align_corners:
        raise TensorValueError("MG-E351", "Lanczos mode does not support align_corners=True")
    sizes, factors = target_sizes(input, size, scale_factor, recompute_scale_factor or (mode == "area" and size is None))
    if antialias and not (mode in FILTERED and n == 2):
        raise TensorValueError("MG-E351", "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
                               "a 4-D tensor as input")
    if not 1 <= n <= 3:
        raise mode_error(input, mode)
    if mode == "area":
        return AREA[n](input, sizes if n > 1 else sizes[0])
    if mode in ("nearest", "nearest-exact"):
        rule = (NEAREST if mode == "nearest" else EXACT)[n]
    elif antialias:
        rule = FILTERED[mode]
    elif mode in SMOOTH and SMOOTH[mode][0] == n:
        rule = SMOOTH[mode][1]
    elif mode in SMOOTH and mode != "bicubic":
        raise AutogradNotImplementedError("MG-E351", f"Got {input.ndim}D input, but {mode} mode needs {SMOOTH[mode][0] + 2}D "
                                          "input")
    else:
        raise mode_error(input, mode)
    check(input, sizes, smooth)
    dtype = "float64" if input.dtype.name == "float64" else "float32"
    matrices = []
    for length, count, factor in zip(input.shape[2:], sizes, factors):
        if not smooth:
            matrices.append(make_table("interpolate", resampling.nearest, length, count, factor, mode == "nearest-exact", dtype))
        elif antialias:
            matrices.append(make_table("interpolate", resampling.filtered, length, count, bool(align_corners), factor, mode))
        else:
            make = resampling.cubic if mode == "bicubic" else resampling.linear
            matrices.append(make_table("interpolate", make, length, count, bool(align_corners), factor, dtype))
    return call(rule.op, (input, tuple(matrices)))


def check(input, sizes, smooth):
    """Raise if a size is 0 or negative, or the mode does not support the dtype."""
    if min(sizes) <= 0 or 0 in input.shape[2:]:
        raise ArgumentError("MG-E351", f"Input and output sizes should be greater than 0, but got input {tuple(input.shape[2:])} "
                            f"and output {sizes}")
    if not input.shape[1]:
        raise ArgumentError("MG-E351", f"Non-empty {input.ndim}D data tensor expected but got a tensor with sizes "
                            f"{list(input.shape)}")
    if not input.dtype.is_floating_point and (smooth or input.dtype.name != "uint8"):
        raise AutogradNotImplementedError("MG-E203", f'"interpolate" not implemented for \'{input.dtype.name}\'')


def mode_error(input, mode):
    return AutogradNotImplementedError(
        "MG-E351", f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: nearest | linear "
        f"| bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})")


def warn_deprecated(name):
    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)


def upsample(input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None,
             mode: str = "nearest", align_corners: bool | None = None) -> Tensor:
    """A deprecated name of `interpolate`: it warns. Mirrors ``torch.nn.functional.upsample``.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     F.upsample(mg.tensor([[[1., 3.]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """
    warn_deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: int | Sequence[int] | None = None,
                     scale_factor: float | Sequence[float] | None = None) -> Tensor:
    """A deprecated name of `interpolate` with mode nearest: it warns. Mirrors ``torch.nn.functional.upsample_nearest``.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     F.upsample_nearest(mg.tensor([[[1., 3.]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """
    warn_deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: int | Sequence[int] | None = None,
                      scale_factor: float | Sequence[float] | None = None) -> Tensor:
    """A deprecated name of `interpolate` with mode bilinear and aligned corners: it warns.

    Mirrors ``torch.nn.functional.upsample_bilinear``.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     F.upsample_bilinear(mg.tensor([[[[1., 3.]]]]), (1, 3))
    tensor([[[[1., 2., 3.]]]])
    """
    warn_deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
