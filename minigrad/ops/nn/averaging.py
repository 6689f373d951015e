"""Average pooling over 1, 2 or 3 dimensions: a product with a sparse matrix along each dimension.

    x  1 5 2 0        avg_pool  3 1       z = A x       A = [½ ½ 0 0]
                                                            [0 0 ½ ½]

With a matrix for each dimension, z[i, j] = Σ A[i, y] B[j, x] x[y, x]. The gradient has the same form, with the transposed
matrices, and so have all higher derivatives. `Resample` is this rule. Interpolation (``interpolation.py``) uses it too.

Mirrors ``aten/src/ATen/native/{AveragePool2d,AveragePool3d,AdaptiveAveragePooling}.cpp``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad.errors import ArgumentError, AutogradNotImplementedError, ShapeError
from minigrad.kernels import resampling
from minigrad.ops.base.arguments import flag, integer, real, tensor_argument
from minigrad.ops.base.precision import in_float32, round_to, to_wide
from minigrad.ops.base.rule import FLOAT64, INT64, Linear, op, variant
from minigrad.ops.elementwise.arithmetic import div
from minigrad.ops.elementwise.functions import relu
from minigrad.ops.elementwise.selection import abs as absolute
from minigrad.ops.elementwise.selection import cast, sign
from minigrad.ops.nn.convolution_checks import sizes
from minigrad.ops.nn.pooling import check_images, check_not_empty, check_windows, make_table, target_sizes, window_sizes
from minigrad.ops.reduce.reduction import mean
from minigrad.ops.shape.views import squeeze, unsqueeze

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
           "lp_pool1d", "lp_pool2d", "lp_pool3d"]


@op("resample", "Resample0")
class Resample(Linear):
    """z = A x along the last dimensions, with a matrix A (or None: 1) for each"""

    hidden = ("matrices",)
    inputs = 1

    def forward(k, x, matrices):
        z = to_wide(k, x)
        for dim, matrix in resampling.cheapest_first(*matrices):
            z = k.resample(z, x.ndim + dim, matrix.starts, matrix.columns, matrix.weights)
        return round_to(k, z, x)

    def vjp_x(g, matrices):
        return call(Resample.op, (g, tuple([None if matrix is None else matrix.adjoint() for matrix in matrices])))


AvgPool2d = variant(Resample, "avg_pool2d", "AvgPool2D0", "z = the mean of each window")
AvgPool3d = variant(Resample, "avg_pool3d", "AvgPool3D0", "z = the mean of each window of a volume")
AdaptiveAvgPool2d = variant(Resample, "adaptive_avg_pool2d", "AdaptiveAvgPool2D0",
                            "z = the mean of each window; the number of windows is given")
AdaptiveAvgPool3d = variant(Resample, "adaptive_avg_pool3d", "AdaptiveAvgPool3D0",
                            "z = the mean of each window of a volume; the number of windows is given")


def run_resampling(rule, x, matrices):
    """Run the rule on planes, or on lines as planes of height 1."""
    if len(matrices) == 1:
        return squeeze(call(rule.op, (unsqueeze(x, -2), (None, *matrices))), -2)
    return call(rule.op, (x, matrices))


@lru_cache(resampling.CACHED)
def averages_over(function, plane, size, stride, padding, ceil_mode, count_include_pad, divisor):
    """The matrix of each dimension of `plane`, the last dimensions of a shape, after checks."""
    n = len(plane)
    check_windows(function, plane, size, stride, padding, (1,) * n, ceil_mode)
    # one divisor for all dimensions: the matrix of the last dimension divides by it
    weights = [None] * n if divisor is None else [*[1.0] * (n - 1), 1 / divisor]
    return tuple([make_table(function, resampling.averages, *each, ceil_mode, count_include_pad, weight)
                  for *each, weight in zip(plane, size, stride, padding, weights)])


def avg_pool(function, n, rule, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor):
    """The common code of avg_pool1d, avg_pool2d and avg_pool3d."""
    check_images(function, input, n, integers=tensor_argument(function, input).dtype is INT64)
    plane = input.shape[-n:]
    size, stride, padding, _ = window_sizes(function, n, kernel_size, stride, padding, 1, ceil_mode)
    flag(count_include_pad, "count_include_pad", function)
    if divisor is not None:
        divisor = integer(divisor, "divisor_override", function)
        if divisor == 0:
            raise ShapeError("MG-E210", "divisor must be not zero")
    if n == 3 and any([length < least for length, least in zip(plane, size)]):
        raise ShapeError("MG-E210", f"input image {list(plane)} smaller than kernel size {list(size)}, in {function}()")
    windows = function, plane, size, stride, padding, ceil_mode, count_include_pad
    means = averages_over(*windows, divisor)
    if input.dtype is INT64:
        return average_integers(rule, input, means, averages_over(*windows, 1), divisor)
    return run_resampling(rule, input, means)


def average_integers(rule, x, means, sums, divisor):
    """The mean of each window, rounded towards zero: its exact sum divided by the number of elements that its mean divides by."""
    wide = cast(x, FLOAT64)
    if divisor is None:
        ones = wide.new_ones(x.shape)
        divisor = (run_resampling(rule, ones, sums) / run_resampling(rule, ones, means)).round()
    return cast(div(run_resampling(rule, wide, sums), divisor, rounding_mode="trunc"), INT64)


def adaptive_avg_pool(function, n, rule, input, output_size):
    """The common code of adaptive_avg_pool1d, adaptive_avg_pool2d and adaptive_avg_pool3d."""
    count = target_sizes(function, input, n, output_size)
    if count == (1,) * n:       # as in PyTorch
        return mean(input, tuple(range(-n, 0)), True) if n > 1 else squeeze(mean(unsqueeze(input, -2), (-2, -1), True), -2)
    check_not_empty(function, input, n)
    if not input.dtype.is_floating_point:
        raise AutogradNotImplementedError("MG-E203", f'"{function}" not implemented for \'{input.dtype.name}\'')
    tables = tuple([make_table(function, resampling.adaptive, input.shape[i - n], count[i]) for i in range(n)])
    return run_resampling(rule, input, tables)


@in_float32
def lp_pool(function, n, average, input, norm_type, kernel_size, stride, ceil_mode):
    """The common code of lp_pool1d, lp_pool2d and lp_pool3d: (size of a window times the mean of the powers)^(1/p)."""
    tensor_argument(function, input)
    power = real(norm_type, "norm_type", function)
    if power == 0:
        raise ArgumentError("MG-E302", f"{function}(): norm_type must not be 0")
    count = 1
    for size in sizes(kernel_size, n, "kernel_size", function):
        count *= size
    z = average(input ** power, kernel_size, stride, 0, ceil_mode)
    return ((sign(z) * relu(absolute(z))) * count) ** (1.0 / power)


# ---- public functions -------------------------------------------------------------------------------------------


def avg_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
               padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean of each window of (N, C, L) or (C, L). See `avg_pool2d`.

    Mirrors ``torch.nn.functional.avg_pool1d``.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.avg_pool1d(mg.tensor([[1., 5., 2., 0.]]), 2)
    tensor([[3., 1.]])
    """
    return avg_pool("avg_pool1d", 1, AvgPool2d, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
               padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None) -> Tensor:
    """The mean of each window.

    Args:
        input (Tensor): (N, C, H, W) or (C, H, W), floating point. Means of int64 numbers are rounded towards zero.
        kernel_size, stride, padding (int or pair): `stride` is `kernel_size` by default.
        ceil_mode (bool): round the number of windows up instead of down.
        count_include_pad (bool): count the zeros of the padding as elements.
        divisor_override (int, optional): divide the sum of a window by this number.

    Returns:
        Tensor: (N, C, OH, OW) or (C, OH, OW), with OH = (H + 2 padding - kernel_size) // stride + 1.

    Mirrors ``torch.nn.functional.avg_pool2d``.

    Raises:
        RuntimeError: the sizes do not fit, or the divisor is 0.

    >>> F.avg_pool2d(mg.arange(16.).view(1, 1, 4, 4), 2).flatten()
    tensor([ 2.5000,  4.5000, 10.5000, 12.5000])
    """
    return avg_pool("avg_pool2d", 2, AvgPool2d, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
                    divisor_override)


def avg_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
               padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None) -> Tensor:
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W). See `avg_pool2d`.

    Mirrors ``torch.nn.functional.avg_pool3d``.

    Raises:
        RuntimeError: the sizes do not fit, or the divisor is 0.

    >>> F.avg_pool3d(mg.arange(16.).view(1, 4, 2, 2), 2).flatten()
    tensor([ 3.5000, 11.5000])
    """
    return avg_pool("avg_pool3d", 3, AvgPool3d, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
                    divisor_override)


def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """The means of `output_size` windows that cover (N, C, L) or (C, L). See `adaptive_avg_pool2d`.

    Mirrors ``torch.nn.functional.adaptive_avg_pool1d``.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.adaptive_avg_pool1d(mg.tensor([[1., 5., 3., 0., 3.]]), 2)
    tensor([[3., 2.]])
    """
    return adaptive_avg_pool("adaptive_avg_pool1d", 1, AdaptiveAvgPool2d, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """The mean of each window; `output_size` is the number of windows.

    Args:
        input (Tensor): (N, C, H, W) or (C, H, W), floating point.
        output_size (int or pair): (OH, OW); None in a pair keeps the size of `input`. Along a dimension of size L, window i of n
            goes from ⌊i L / n⌋ to ⌈(i + 1) L / n⌉.

    Returns:
        Tensor: (N, C, OH, OW) or (C, OH, OW).

    Mirrors ``torch.nn.functional.adaptive_avg_pool2d``.

    Raises:
        RuntimeError: the sizes do not fit.
        ValueError: there is no channel dimension before those of a sequence `output_size`.

    >>> F.adaptive_avg_pool2d(mg.arange(12.).view(1, 3, 4), (1, 2))
    tensor([[[4.5000, 6.5000]]])
    """
    return adaptive_avg_pool("adaptive_avg_pool2d", 2, AdaptiveAvgPool2d, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """The means of `output_size` windows that cover (N, C, D, H, W) or (C, D, H, W). See `adaptive_avg_pool2d`.

    Mirrors ``torch.nn.functional.adaptive_avg_pool3d``.

    Raises:
        RuntimeError: the sizes do not fit.
        ValueError: there is no channel dimension before those of a sequence `output_size`.

    >>> F.adaptive_avg_pool3d(mg.arange(16.).view(1, 4, 2, 2), (2, 1, 1)).flatten()
    tensor([ 3.5000, 11.5000])
    """
    return adaptive_avg_pool("adaptive_avg_pool3d", 3, AdaptiveAvgPool3d, input, output_size)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
              ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of (N, C, L) or (C, L). See `lp_pool2d`.

    Mirrors ``torch.nn.functional.lp_pool1d``.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.lp_pool1d(mg.tensor([[3., 4., 0., 2.]]), 2, 2)
    tensor([[5., 2.]])
    """
    return lp_pool("lp_pool1d", 1, avg_pool1d, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
              ceil_mode: bool = False) -> Tensor:
    """(Σ xᵖ)^(1/p) over each window of (N, C, H, W) or (C, H, W), with p = `norm_type`: without absolute values.

    Mirrors ``torch.nn.functional.lp_pool2d``.

    Args:
        input (Tensor): (N, C, H, W) or (C, H, W), floating point.
        norm_type (number): p, not 0.
        kernel_size, stride (int or pair): `stride` is `kernel_size` by default.
        ceil_mode (bool): round the number of windows up instead of down.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.lp_pool2d(mg.tensor([[[3., 4.]]]), 2, (1, 2))
    tensor([[[5.]]])
    """
    return lp_pool("lp_pool2d", 2, avg_pool2d, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
              ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of (N, C, D, H, W) or (C, D, H, W). See `lp_pool2d`.

    Mirrors ``torch.nn.functional.lp_pool3d``.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.lp_pool3d(mg.tensor([[[[3., 4.]]]]), 2, (1, 1, 2))
    tensor([[[[5.]]]])
    """
    return lp_pool("lp_pool3d", 3, avg_pool3d, input, norm_type, kernel_size, stride, ceil_mode)
