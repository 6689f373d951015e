"""Convolutions and transposed convolutions over 1, 2 or 3 dimensions: one rule for all.

    z = x * w           each element of z is a sum over a window of x
    transposed          the adjoint: each element of x is spread over a window of z

A convolution is bilinear, so it has three kernels: `conv` computes z from x and w, `conv_input` the gradient of x from those of
z and w, `conv_weight` the gradient of w. Each is a derivative of the others, and a transposed convolution is `conv_input`.
The checks of arguments are in ``convolution_checks.py``.

Mirrors ``aten/src/ATen/native/Convolution.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad.ops.base.autocast import cast_operands
from minigrad.ops.base.precision import round_to, wide_on_cpu
from minigrad.ops.base.rule import Linear, Op, conj, op
from minigrad.ops.nn.convolution_checks import (
    check_operands,
    check_shapes,
    check_transposed_shapes,
    sizes,
    transposed_sizes,
    window_options,
)
from minigrad.ops.reduce.reduction import SumDim
from minigrad.ops.shape.cat_split import SliceBackward, narrow
from minigrad.ops.shape.views import reshape, squeeze, unsqueeze

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]


@op("convolution", "Convolution0")
class Convolution(Op):
    """z[n, o, y, x] = b[o] + Σ w[o, c, i, j] x[n, c, y s + i, x s + j]; transposed: its adjoint as a map of x"""

    torch_names = {"x": "input", "w": "weight"}

    def forward(k, x, w, b, stride, padding, dilation, transposed, output_padding, groups):
        like = x
        if b is not None:       # rounded once, after the bias is added
            x, w, b = wide_on_cpu(k, x), wide_on_cpu(k, w), wide_on_cpu(k, b)
        if transposed:
            found = transposed_sizes(x.shape, w.shape, stride, padding, dilation, output_padding)
            shape = (x.shape[0], w.shape[1] * groups, *found)
            z = k.conv_input(x, w, shape, stride, padding, dilation, groups)
        else:
            z = k.conv(x, w, stride, padding, dilation, groups)
        if b is not None:
            k.add_(z, k.view(b, (1, b.shape[0], *[1] * len(stride))))
        return round_to(k, z, like)

    def vjp_x(g, w, x_shape, stride, padding, dilation, transposed, groups):
        if not transposed:
            return call(ConvolutionInput.op, (g, conj(w), x_shape, stride, padding, dilation, groups))
        z = convolution(g, conj(w), stride, padding, dilation, groups)
        for dim in range(2, len(x_shape)):      # a window in the output padding belongs to no element of x
            if z.shape[dim] != x_shape[dim]:
                z = narrow(z, dim, 0, x_shape[dim])
        return z

    def vjp_w(g, x, w_shape, stride, padding, dilation, transposed, groups):
        first, second = (conj(x), g) if transposed else (g, conj(x))
        return call(ConvolutionWeight.op, (first, second, w_shape, stride, padding, dilation, groups))

    def vjp_b(g):
        planes = call(SumDim.op, (g, tuple(range(2, g.ndim)), False))     # in two steps: these dimensions are adjacent in memory
        return call(SumDim.op, (planes, (0,), False))

    def jvp(ts, x, w, b, stride, padding, dilation, transposed, output_padding, groups):
        tx, tw, tb = ts
        options = (stride, padding, dilation, transposed, output_padding, groups)
        total = None
        for first, second in ((tx, w), (x, tw)):
            if first is not None and second is not None:
                part = call(Convolution.op, (first, second, None, *options))
                total = part if total is None else total + part
        if tb is not None:
            part = reshape(tb, 1, -1, *[1] * len(stride))
            if total is None:
                return part.expand(call(Convolution.op, (x, w, None, *options)).shape)
            total = total + part
        return total


def convolution(x, w, stride, padding, dilation, groups):
    """A convolution without bias, not transposed."""
    return call(Convolution.op, (x, w, None, stride, padding, dilation, False, (0,) * len(stride), groups))


@op("convolution_input", "ConvolutionInput0")
class ConvolutionInput(Linear):
    """The gradient of a convolution's input, given the output's gradient g: bilinear in g and w"""

    def forward(k, g, w, shape, stride, padding, dilation, groups):
        return k.conv_input(g, w, shape, stride, padding, dilation, groups)

    def vjp_g(h, w, stride, padding, dilation, groups):
        return convolution(h, conj(w), stride, padding, dilation, groups)

    def vjp_w(h, g, w_shape, stride, padding, dilation, groups):
        return call(ConvolutionWeight.op, (conj(g), h, w_shape, stride, padding, dilation, groups))


@op("convolution_weight", "ConvolutionWeight0")
class ConvolutionWeight(Linear):
    """The gradient of a convolution's weight, given the output's gradient g: bilinear in g and x"""

    def forward(k, g, x, shape, stride, padding, dilation, groups):
        return k.conv_weight(g, x, shape, stride, padding, dilation, groups)

    def vjp_g(h, x, g_shape, stride, padding, dilation, groups):
        z = convolution(conj(x), h, stride, padding, dilation, groups)
        for dim in range(2, len(g_shape)):
            if z.shape[dim] != g_shape[dim]:
                z = narrow(z, dim, 0, g_shape[dim])
        return z

    def vjp_x(h, g, x_shape, stride, padding, dilation, groups):
        return call(ConvolutionInput.op, (conj(g), h, x_shape, stride, padding, dilation, groups))


# ---- the common code of the functions ---------------------------------------------------------------------------


def convolve(function, n, input, weight, bias, stride, padding, dilation, groups):
    """The common code of conv1d, conv2d and conv3d."""
    input, weight, bias = cast_operands("conv", input, weight, bias)
    check_operands(function, n, input, weight, bias)
    stride, padding, dilation, groups = window_options(function, n, stride, padding, dilation, groups)
    check_shapes(function, input.shape, weight.shape, None if bias is None else bias.shape, stride, padding, dilation, groups)
    x = unsqueeze(input, 0) if input.ndim == n + 1 else input
    if padding == "same":
        x, padding = same_padding(x, weight, dilation)
    z = call(Convolution.op, (x, weight, bias, stride, padding, dilation, False, (0,) * n, groups))
    if x.shape[1] == 0:         # as in PyTorch: without input channels, the result has no channels
        z = narrow(z, 1, 0, 0)
    return z if x.ndim == input.ndim else squeeze(z, 0)


def same_padding(x, weight, dilation):
    """Return (x, padding) so that the result has the size of `x`. If a padding is odd, x gets the extra zero at its end."""
    spans = [d * (size - 1) for d, size in zip(dilation, weight.shape[2:])]
    for i, span in enumerate(spans):
        if span % 2:
            dim = i + 2
            grown = (*x.shape[:dim], x.shape[dim] + 1, *x.shape[dim + 1:])
            x = call(SliceBackward.op, (x, grown, dim, 0, x.shape[dim], 1))
    return x, tuple([span // 2 for span in spans])


def conv_transpose(function, n, input, weight, bias, stride, padding, output_padding, groups, dilation):
    """The common code of conv_transpose1d, conv_transpose2d and conv_transpose3d."""
    input, weight, bias = cast_operands("conv", input, weight, bias)
    check_operands(function, n, input, weight, bias)
    padding, more = sizes(padding, n, "padding", function), sizes(output_padding, n, "output_padding", function)
    stride, padding, dilation, groups = window_options(function, n, stride, padding, dilation, groups)
    check_transposed_shapes(function, input.shape, weight.shape, None if bias is None else bias.shape, stride, padding, dilation,
                            more, groups)
    x = unsqueeze(input, 0) if input.ndim == n + 1 else input
    z = call(Convolution.op, (x, weight, bias, stride, padding, dilation, True, more, groups))
    return z if x.ndim == input.ndim else squeeze(z, 0)


# ---- public functions -------------------------------------------------------------------------------------------


def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1,
           padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1) -> Tensor:
    """A 1-d convolution (cross-correlation): `conv2d` over (N, C, L), with a weight (O, C / groups, K).

    Mirrors ``torch.nn.functional.conv1d``.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or the kernel is larger than the padded input.

    >>> F.conv1d(mg.tensor([[[1., 2., 4.]]]), mg.tensor([[[-1., 1.]]]))
    tensor([[[1., 2.]]])
    """
    return convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1,
           padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1) -> Tensor:
    """A 2-d convolution (cross-correlation).

    Args:
        input (Tensor): (N, C, H, W) or (C, H, W)
        weight (Tensor): (O, C / groups, KH, KW)
        bias (Tensor, optional): (O)
        stride, dilation (int or pair): the distance between windows, and between the elements of a window.
        padding (int, pair, ``"valid"`` or ``"same"``): zeros on each side. ``"valid"`` is none, ``"same"`` keeps the size.
        groups (int): the number of independent groups of input and output channels.

    Returns:
        Tensor: (N, O, OH, OW) with OH = (H + 2 padding - dilation (KH - 1) - 1) // stride + 1

    Mirrors ``torch.nn.functional.conv2d``.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or the kernel is larger than the padded input.

    >>> F.conv2d(mg.ones(1, 1, 3, 3), mg.ones(1, 1, 2, 2)).flatten()
    tensor([4., 4., 4., 4.])
    """
    return convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1,
           padding: int | Sequence[int] | str = 0, dilation: int | Sequence[int] = 1, groups: int = 1) -> Tensor:
    """A 3-d convolution (cross-correlation): `conv2d` over (N, C, D, H, W), with a weight (O, C / groups, KD, KH, KW).

    Mirrors ``torch.nn.functional.conv3d``.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or the kernel is larger than the padded input.

    >>> F.conv3d(mg.ones(1, 1, 3, 3, 3), mg.ones(1, 1, 2, 3, 3)).flatten()
    tensor([18., 18.])
    """
    return convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1,
                     padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1,
                     dilation: int | Sequence[int] = 1) -> Tensor:
    """A 1-d transposed convolution: `conv_transpose2d` over (N, C, L), with a weight (C, O / groups, K).

    Mirrors ``torch.nn.functional.conv_transpose1d``.

    Raises:
        RuntimeError: the shapes or dtypes do not fit.

    >>> F.conv_transpose1d(mg.tensor([[[1., 2.]]]), mg.tensor([[[1., 10.]]]))
    tensor([[[ 1., 12., 20.]]])
    """
    return conv_transpose("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1,
                     padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1,
                     dilation: int | Sequence[int] = 1) -> Tensor:
    """A 2-d transposed convolution: each element of `input` adds a multiple of the kernel to a window of the result.

    It is the backward of a convolution with the same arguments, and not its inverse.

    Args:
        input (Tensor): (N, C, H, W) or (C, H, W)
        weight (Tensor): (C, O / groups, KH, KW)
        bias (Tensor, optional): (O)
        stride, dilation (int or pair): the distance between windows in the result, and between the elements of a window.
        padding (int or pair): how much of the result is cut off on each side.
        output_padding (int or pair): how much is added at the end of each dimension; less than `stride` or `dilation`. A
            convolution maps several sizes to one; this argument chooses among them.
        groups (int): the number of independent groups of input and output channels.

    Returns:
        Tensor: (N, O, OH, OW) with OH = (H - 1) stride - 2 padding + dilation (KH - 1) + output_padding + 1

    Mirrors ``torch.nn.functional.conv_transpose2d``.

    Raises:
        RuntimeError: the shapes or dtypes do not fit.

    >>> F.conv_transpose2d(mg.ones(1, 1, 1, 2), mg.ones(1, 1, 2, 2), stride=2)
    tensor([[[[1., 1., 1., 1.],
              [1., 1., 1., 1.]]]])
    """
    return conv_transpose("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1,
                     padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1,
                     dilation: int | Sequence[int] = 1) -> Tensor:
    """A 3-d transposed convolution: `conv_transpose2d` over (N, C, D, H, W), with a weight (C, O / groups, KD, KH, KW).

    Mirrors ``torch.nn.functional.conv_transpose3d``.

    Raises:
        RuntimeError: the shapes or dtypes do not fit.

    >>> F.conv_transpose3d(mg.ones(1, 1, 1, 1, 2), mg.ones(1, 1, 1, 1, 2)).flatten()
    tensor([1., 2., 1.])
    """
    return conv_transpose("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)
