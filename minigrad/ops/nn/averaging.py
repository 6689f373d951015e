"""Means over windows, over 1, 2 or 3 dimensions: products with a sparse matrix along each of them.

    x  1 5 2 0        avg_pool  3 1       z = A x       A = [½ ½ 0 0]
                                                            [0 0 ½ ½]

With a matrix for each dimension, z[i, j] = Σ A[i, y] B[j, x] x[y, x]; the gradient is the same with the transposed matrices,
and so on for all orders. `Resample` is that rule; interpolation (``interpolation.py``) is another use of it.

Mirrors ``aten/src/ATen/native/{AveragePool2d,AveragePool3d,AdaptiveAveragePooling}.cpp``.
"""

from cython.cimports.minigrad._core.record.apply import call

from minigrad.errors import AutogradNotImplementedError, ShapeError
from minigrad.kernels import resampling
from minigrad.ops.base.precision import in_float32, narrowed, widened
from minigrad.ops.base.rule import Linear, flag, integer, op, real, tensor_argument
from minigrad.ops.elementwise.functions import relu
from minigrad.ops.elementwise.selection import abs as absolute
from minigrad.ops.elementwise.selection import sign
from minigrad.ops.nn.convolution import sizes
from minigrad.ops.nn.pooling import check_images, check_not_empty, make_table, pooling_arguments, target_sizes
from minigrad.ops.reduce.reduction import mean
from minigrad.ops.shape.views import squeeze, unsqueeze

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
           "lp_pool1d", "lp_pool2d", "lp_pool3d"]


@op("resample", "Resample0")
class Resample(Linear):
    """z = A x along the last dimensions, with a matrix A (or None: 1) for each"""

    hidden = ("matrices",)
    inputs = 1

    def forward(k, x, matrices):
        order = []
        for i, matrix in enumerate(matrices):
            if matrix is not None:      # what shrinks goes first; of two that grow, the one whose rows are shorter
                ratio = len(matrix) / max(matrix.length, 1)
                order.append((ratio, i if ratio < 1 else -i, x.ndim - len(matrices) + i, matrix))
        z = widened(k, x)
        for _, _, dim, matrix in sorted(order, key=first_two):
            z = k.resample(z, dim, matrix.starts, matrix.columns, matrix.weights)
        return narrowed(k, z, x)

    def vjp_x(g, matrices):
        return call(Resample.op, (g, tuple([None if matrix is None else matrix.adjoint() for matrix in matrices])))


def first_two(entry):
    return entry[:2]


@op("avg_pool2d", "AvgPool2D0")
class AvgPool2d(Resample):
    """z = the mean of each window"""


@op("avg_pool3d", "AvgPool3D0")
class AvgPool3d(Resample):
    """z = the mean of each window of a volume"""


@op("adaptive_avg_pool2d", "AdaptiveAvgPool2D0")
class AdaptiveAvgPool2d(Resample):
    """z = the mean of each of so many windows"""


@op("adaptive_avg_pool3d", "AdaptiveAvgPool3D0")
class AdaptiveAvgPool3d(Resample):
    """z = the mean of each of so many windows of a volume"""


def resampled(rule, x, matrices):
    """Run the rule on planes, or on lines as planes of height 1."""
    if len(matrices) == 1:
        return squeeze(call(rule.op, (unsqueeze(x, -2), (None, *matrices))), -2)
    return call(rule.op, (x, matrices))


def avg_pool(function, n, rule, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor):
    """All of avg_pool1d, avg_pool2d and avg_pool3d."""
    check_images(function, input, n)
    size, stride, padding, _ = pooling_arguments(function, input, n, kernel_size, stride, padding, 1, ceil_mode)
    flag(count_include_pad, "count_include_pad", function)
    if divisor is not None and integer(divisor, "divisor_override", function) == 0:
        raise ShapeError("MG-E210", "divisor must be not zero")
    if n == 3 and any([input.shape[i - 3] < size[i] for i in range(3)]):
        raise ShapeError("MG-E210", f"input image {list(input.shape[-3:])} smaller than kernel size {list(size)}, in "
                         f"{function}()")
    # the divisor is shared among all dimensions: it goes to the last
    weights = [None] * n if divisor is None else [*[1.0] * (n - 1), 1 / divisor]
    return resampled(rule, input, tuple([
        make_table(function, resampling.averages, input.shape[i - n], size[i], stride[i], padding[i], ceil_mode, count_include_pad,
                   weights[i])
        for i in range(n)]))


def adaptive_avg_pool(function, n, rule, input, output_size):
    """All of adaptive_avg_pool1d, adaptive_avg_pool2d and adaptive_avg_pool3d."""
    count = target_sizes(function, input, n, output_size)
    if count == (1,) * n:       # as in PyTorch
        return mean(input, tuple(range(-n, 0)), True) if n > 1 else squeeze(mean(unsqueeze(input, -2), (-2, -1), True), -2)
    check_not_empty(function, input, n)
    if not input.dtype.is_floating_point:
        raise AutogradNotImplementedError("MG-E203", f'"{function}" not implemented for \'{input.dtype.name}\'')
    tables = tuple([make_table(function, resampling.adaptive, input.shape[i - n], count[i]) for i in range(n)])
    return resampled(rule, input, tables)


@in_float32
def lp_pool(function, n, average, input, norm_type, kernel_size, stride, ceil_mode):
    """All of lp_pool1d, lp_pool2d and lp_pool3d: |window| times the mean of the powers."""
    tensor_argument(function, input)
    power = real(norm_type, "norm_type", function)
    if power == 0:
        raise ShapeError("MG-E302", f"{function}(): norm_type must not be 0")
    count = 1
    for size in sizes(kernel_size, n, "kernel_size", function):
        count *= size
    z = average(input ** power, kernel_size, stride, 0, ceil_mode)
    return ((sign(z) * relu(absolute(z))) * count) ** (1.0 / power)


# ---- public functions -------------------------------------------------------------------------------------------


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of (N, C, L) or (C, L). See `avg_pool2d`.

    Mirrors ``torch.nn.functional.avg_pool1d``.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.avg_pool1d(mg.tensor([[1., 5., 2., 0.]]), 2)
    tensor([[3., 1.]])
    """
    return avg_pool("avg_pool1d", 1, AvgPool2d, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """The mean of each window.

    Args:
        input (Tensor): (N, C, H, W) or (C, H, W), of a floating point dtype.
        kernel_size, stride, padding (int or pair): `stride` is `kernel_size` by default.
        ceil_mode (bool): round the number of windows up instead of down.
        count_include_pad (bool): the zeros of the padding count as elements.
        divisor_override (int, optional): divide by this instead.

    Mirrors ``torch.nn.functional.avg_pool2d``.

    Raises:
        RuntimeError: the sizes do not fit, or the divisor is 0.

    >>> F.avg_pool2d(mg.arange(16.).view(1, 1, 4, 4), 2).flatten()
    tensor([ 2.5000,  4.5000, 10.5000, 12.5000])
    """
    return avg_pool("avg_pool2d", 2, AvgPool2d, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
                    divisor_override)


def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W). See `avg_pool2d`.

    Mirrors ``torch.nn.functional.avg_pool3d``.

    Raises:
        RuntimeError: the sizes do not fit, or the divisor is 0.

    >>> F.avg_pool3d(mg.arange(16.).view(1, 4, 2, 2), 2).flatten()
    tensor([ 3.5000, 11.5000])
    """
    return avg_pool("avg_pool3d", 3, AvgPool3d, input, kernel_size, stride, padding, ceil_mode, count_include_pad,
                    divisor_override)


def adaptive_avg_pool1d(input, output_size):
    """The means of `output_size` windows that cover (N, C, L) or (C, L). See `adaptive_avg_pool2d`.

    Mirrors ``torch.nn.functional.adaptive_avg_pool1d``.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.adaptive_avg_pool1d(mg.tensor([[1., 5., 3., 0., 3.]]), 2)
    tensor([[3., 2.]])
    """
    return adaptive_avg_pool("adaptive_avg_pool1d", 1, AdaptiveAvgPool2d, input, output_size)


def adaptive_avg_pool2d(input, output_size):
    """The mean of each window, of which there are as many as asked for.

    Args:
        input (Tensor): (N, C, H, W) or (C, H, W)
        output_size (int or pair): (OH, OW); None in a pair stands for the size that there is. Window i of n over length L goes from
            ⌊i L / n⌋ to ⌈(i + 1) L / n⌉.

    Mirrors ``torch.nn.functional.adaptive_avg_pool2d``.

    Raises:
        RuntimeError: the sizes do not fit.
        ValueError: there is no channel dimension before those of a sequence `output_size`.

    >>> F.adaptive_avg_pool2d(mg.arange(12.).view(1, 3, 4), (1, 2))
    tensor([[[4.5000, 6.5000]]])
    """
    return adaptive_avg_pool("adaptive_avg_pool2d", 2, AdaptiveAvgPool2d, input, output_size)


def adaptive_avg_pool3d(input, output_size):
    """The means of so many windows that cover (N, C, D, H, W) or (C, D, H, W). See `adaptive_avg_pool2d`.

    Mirrors ``torch.nn.functional.adaptive_avg_pool3d``.

    Raises:
        RuntimeError: the sizes do not fit.
        ValueError: there is no channel dimension before those of a sequence `output_size`.

    >>> F.adaptive_avg_pool3d(mg.arange(16.).view(1, 4, 2, 2), (2, 1, 1)).flatten()
    tensor([ 3.5000, 11.5000])
    """
    return adaptive_avg_pool("adaptive_avg_pool3d", 3, AdaptiveAvgPool3d, input, output_size)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of (N, C, L) or (C, L). See `lp_pool2d`.

    Mirrors ``torch.nn.functional.lp_pool1d``.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.lp_pool1d(mg.tensor([[3., 4., 0., 2.]]), 2, 2)
    tensor([[5., 2.]])
    """
    return lp_pool("lp_pool1d", 1, avg_pool1d, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """(Σ xᵖ)^(1/p) over each window of (N, C, H, W) or (C, H, W), with p = `norm_type`; no absolute values are taken.

    Mirrors ``torch.nn.functional.lp_pool2d``.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.lp_pool2d(mg.tensor([[[3., 4.]]]), 2, (1, 2))
    tensor([[[5.]]])
    """
    return lp_pool("lp_pool2d", 2, avg_pool2d, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of (N, C, D, H, W) or (C, D, H, W). See `lp_pool2d`.

    Mirrors ``torch.nn.functional.lp_pool3d``.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.lp_pool3d(mg.tensor([[[[3., 4.]]]]), 2, (1, 1, 2))
    tensor([[[[5.]]]])
    """
    return lp_pool("lp_pool3d", 3, avg_pool3d, input, norm_type, kernel_size, stride, ceil_mode)
