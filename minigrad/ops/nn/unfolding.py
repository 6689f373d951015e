"""The patches of an image as columns, and back; and rearranging channels.

    unfold          (N, C, H, W) -> (N, C KH KW, L)         one column for each of L windows
    fold            the adjoint: adds each column to the elements of its window
    pixel_shuffle   (..., C r r, H, W) -> (..., C, H r, W r)
    channel_shuffle (N, g c, ...): channel i c + j moves to j g + i

All of them only move or add elements. The derivative of each op is the op in the other direction.

Mirrors ``aten/src/ATen/native/{Im2Col,Col2Im,PixelShuffle,ChanelShuffle}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad.errors import AutogradNotImplementedError, OutOfRangeError, ShapeError
from minigrad.kernels.resampling import window_count
from minigrad.ops.base.arguments import integer, tensor_argument
from minigrad.ops.base.rule import Linear, op
from minigrad.ops.shape.views import reshape_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["channel_shuffle", "fold", "pixel_shuffle", "pixel_unshuffle", "unfold"]


@op("im2col", "Im2Col0")
class Im2Col(Linear):
    """z = the patch of x under each window, as columns"""

    inputs = 1

    def forward(k, x, size, dilation, padding, stride):
        return k.im2col(x, size, stride, padding, dilation)

    def vjp_x(g, x_shape, size, dilation, padding, stride):
        return call(Col2Im.op, (g, x_shape, size, dilation, padding, stride))


@op("col2im", "Col2Im0")
class Col2Im(Linear):
    """z = zeros, with each column added to its window"""

    inputs = 1

    def forward(k, x, shape, size, dilation, padding, stride):
        return k.col2im(x, shape, size, stride, padding, dilation)

    def vjp_x(g, size, dilation, padding, stride):
        return call(Im2Col.op, (g, size, dilation, padding, stride))


@op("pixel_shuffle")
class PixelShuffle(Linear):
    """z[c, y r + i, x r + j] = x[c r r + i r + j, y, x]"""

    torch_names = {"x": "self", "r": "upscale_factor"}
    inputs = 1

    def forward(k, x, r):
        *lead, c, h, w = x.shape
        n = len(lead)
        parts = k.permute(reshape_array(k, x, (*lead, c // (r * r), r, r, h, w)), (*range(n), n, n + 3, n + 1, n + 4, n + 2))
        return k.view(k.copy(parts), (*lead, c // (r * r), h * r, w * r))

    def vjp_x(g, r):
        return call(PixelUnshuffle.op, (g, r))


@op("pixel_unshuffle")
class PixelUnshuffle(Linear):
    """z[c r r + i r + j, y, x] = x[c, y r + i, x r + j]"""

    torch_names = {"x": "self", "r": "downscale_factor"}
    inputs = 1

    def forward(k, x, r):
        *lead, c, h, w = x.shape
        n = len(lead)
        parts = k.permute(reshape_array(k, x, (*lead, c, h // r, r, w // r, r)), (*range(n), n, n + 2, n + 4, n + 1, n + 3))
        return k.view(k.copy(parts), (*lead, c * r * r, h // r, w // r))

    def vjp_x(g, r):
        return call(PixelShuffle.op, (g, r))


@op("channel_shuffle")
class ChannelShuffle(Linear):
    """z[n, j g + i] = x[n, i c + j], with g groups of c channels"""

    hidden = ("x_shape",)
    inputs = 1

    def forward(k, x, groups):
        n, channels, *rest = x.shape
        parts = reshape_array(k, x, (n, groups, channels // groups, *rest))
        return k.view(k.copy(k.permute(parts, (0, 2, 1, *range(3, parts.ndim)))), x.shape)

    def vjp_x(g, x_shape, groups):
        return call(ChannelShuffle.op, (g, x_shape[1] // groups))


# ---- arguments --------------------------------------------------------------------------------------------------


def make_pairs(function, **arguments) -> list[tuple[int, int]]:
    """Return each argument, an int or a pair, as a pair of ints, after checks."""
    found = []
    for name, value in arguments.items():
        if isinstance(value, (tuple, list)):
            if len(value) != 2:
                raise ShapeError("MG-E352", f"It is expected {name} equals to 2, but got size {len(value)}, in {function}()")
            found.append(tuple([integer(v, name, function) for v in value]))
        else:
            found.append((integer(value, name, function),) * 2)
        least = 0 if name == "padding" else 1
        if min(found[-1]) < least and name != "output_size":
            raise ShapeError("MG-E352", f"{name.replace('kernel_size', 'kernel size')} should be "
                             f"{'greater than zero' if least else 'non-negative'}, but got {found[-1]}, in {function}()")
    return found


def check_columns(function, x, ndims, n):
    """Raise unless `x` has one of the numbers of dimensions `ndims`, the last n are not empty, and the dtype is not an integer."""
    tensor_argument(function, x)
    if x.ndim not in ndims or 0 in x.shape[-n:]:
        error = OutOfRangeError if x.ndim < n and function == "unfold" else ShapeError
        raise error("MG-E352", f"Expected {ndims[0]}D or {ndims[1]}D (batch mode) tensor for input with possibly 0 batch size "
                    f"and {'other ' if n == 3 else ''}non-zero dimensions for input, but got: {list(x.shape)}, in {function}()"
                    + (". Dimension out of range" if error is OutOfRangeError else ""))
    if not (x.dtype.is_floating_point or x.dtype.is_complex or x.dtype.name == "bool"):
        raise AutogradNotImplementedError("MG-E203", f'"{function}" not implemented for \'{x.dtype.name}\'')


# ---- public functions -------------------------------------------------------------------------------------------


def unfold(input: Tensor, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
           stride: int | Sequence[int] = 1) -> Tensor:
    """The patches of an image as columns. A convolution is a matrix product of its weight with them.

    Args:
        input (Tensor): (N, C, H, W) or (C, H, W)
        kernel_size, dilation, padding, stride (int or pair): describe the windows, as in `conv2d`.

    Returns:
        Tensor: (N, C KH KW, L), one column for each of the L windows.

    Mirrors ``torch.nn.functional.unfold``.

    Raises:
        RuntimeError: the window is larger than the padded image, or an argument is out of range.

    >>> F.unfold(mg.arange(6.).view(1, 2, 3), (1, 2))
    tensor([[0., 1., 3., 4.],
            [1., 2., 4., 5.]])
    """
    check_columns("unfold", input, (3, 4), 3)
    size, dilation, padding, stride = make_pairs("unfold", kernel_size=kernel_size, dilation=dilation, padding=padding,
                                                 stride=stride)
    count = [window_count(*each) for each in zip(input.shape[-2:], size, stride, padding, dilation)]
    if min(count) < 1:
        raise ShapeError("MG-E352", f"Given input with spatial size {tuple(input.shape[-2:])}, kernel_size={size}, "
                         f"dilation={dilation}, padding={padding}, calculated shape of the array of sliding blocks as "
                         f"{tuple(count)}, but its components must be at least one.")
    return call(Im2Col.op, (input, size, dilation, padding, stride))


def fold(input: Tensor, output_size: int | Sequence[int], kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1,
         padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1) -> Tensor:
    """Put patches together to an image; where they overlap, they are added. The adjoint of `unfold`, not its inverse.

    Args:
        input (Tensor): (N, C KH KW, L) or (C KH KW, L)
        output_size (int or pair): (H, W) of the result.
        kernel_size, dilation, padding, stride (int or pair): describe the windows, as in `unfold`.

    Returns:
        Tensor: (N, C, H, W)

    Mirrors ``torch.nn.functional.fold``.

    Raises:
        RuntimeError: the numbers of columns and windows differ, or an argument is out of range.

    >>> F.fold(mg.ones(2, 4), (2, 3), (1, 2))
    tensor([[[1., 2., 1.],
             [1., 2., 1.]]])
    """
    check_columns("fold", input, (2, 3), 2)
    plane, size, dilation, padding, stride = make_pairs("fold", output_size=output_size, kernel_size=kernel_size, dilation=dilation,
                                                        padding=padding, stride=stride)
    rows, columns = input.shape[-2:]
    if rows % (size[0] * size[1]):
        raise ShapeError("MG-E352", f"Expected size of input's dimension {input.ndim - 2} to be divisible by the product of "
                         f"kernel_size, but got input.size({input.ndim - 2})={rows} and kernel_size={size}.")
    count = [window_count(*each) for each in zip(plane, size, stride, padding, dilation)]
    if count[0] * count[1] != columns or min(count) < 1:
        raise ShapeError("MG-E352", f"Given output_size={plane}, kernel_size={size}, dilation={dilation}, padding={padding}, "
                         f"stride={stride}, expected size of input's dimension {input.ndim - 1} to match the calculated number "
                         f"of sliding blocks {count[0]} * {count[1]} = {count[0] * count[1]}, but got "
                         f"input.size({input.ndim - 1})={columns}.")
    shape = (*input.shape[:-2], rows // (size[0] * size[1]), *plane)
    return call(Col2Im.op, (input, shape, size, dilation, padding, stride))


def check_positive(function, value, name):
    value = integer(value, name, function)
    if value <= 0:
        raise ShapeError("MG-E352", f"{function} expects a positive {name}, but got {value}")
    return value


def check_planes(function, input):
    tensor_argument(function, input)
    if input.ndim < 3:
        raise ShapeError("MG-E352", f"{function} expects input to have at least 3 dimensions, but got input with {input.ndim} "
                         "dimension(s)")


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange r r channels into an image r times as high and wide (Shi et al., "Real-time single image super-resolution", 2016).

    Args:
        input (Tensor): (..., C r r, H, W)
        upscale_factor (int): r

    Returns:
        Tensor: (..., C, H r, W r)

    Mirrors ``torch.nn.functional.pixel_shuffle``.

    Raises:
        RuntimeError: the number of channels is not divisible by r r, or r is not positive.

    >>> F.pixel_shuffle(mg.arange(4.).view(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    check_planes("pixel_shuffle", input)
    r = check_positive("pixel_shuffle", upscale_factor, "upscale_factor")
    if input.shape[-3] % (r * r):
        raise ShapeError("MG-E352", "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                         f"upscale_factor, but input.size(-3)={input.shape[-3]} is not divisible by {r * r}")
    return call(PixelShuffle.op, (input, r))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`. Mirrors ``torch.nn.functional.pixel_unshuffle``.

    Args:
        input (Tensor): (..., C, H r, W r)
        downscale_factor (int): r

    Returns:
        Tensor: (..., C r r, H, W)

    Raises:
        RuntimeError: height or width is not divisible by r, or r is not positive.

    >>> F.pixel_unshuffle(mg.arange(4.).view(1, 2, 2), 2).flatten()
    tensor([0., 1., 2., 3.])
    """
    check_planes("pixel_unshuffle", input)
    r = check_positive("pixel_unshuffle", downscale_factor, "downscale_factor")
    for dim, name in ((-2, "height"), (-1, "width")):
        if input.shape[dim] % r:
            raise ShapeError("MG-E352", f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                             f"input.size({dim})={input.shape[dim]} is not divisible by {r}")
    return call(PixelUnshuffle.op, (input, r))


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Reorder channels: the first of each group, then the second of each group, ... (Zhang et al., "ShuffleNet", 2018).

    Args:
        input (Tensor): (N, C, ...), of at least three dimensions.
        groups (int): the number of groups; C is divisible by it.

    Mirrors ``torch.nn.functional.channel_shuffle``.

    Raises:
        RuntimeError: C is not divisible by `groups`.

    >>> F.channel_shuffle(mg.arange(4.).view(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    tensor_argument("channel_shuffle", input)
    groups = integer(groups, "groups", "channel_shuffle")
    if input.ndim < 3:
        raise ShapeError("MG-E352", f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise ShapeError("MG-E352", f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if input.shape[1] % groups:
        raise ShapeError("MG-E352", f"Number of channels must be divisible by groups. Got {input.shape[1]} channels and {groups} "
                         "groups.")
    return call(ChannelShuffle.op, (input, groups))
