"""Max pooling over 1, 2 or 3 dimensions; and unpooling, which puts each maximum back to its place.

    x  1 5 2 0        max_pool  5 2     indices  1 2        max_unpool  0 5 2 0

The windows of `max_pool` have one size and may overlap. `adaptive_max_pool` has a given number of windows, and their sizes follow
from it. The kernel takes a table of places for each dimension (``kernels/resampling.py``). The gradient of a maximum goes to the
place where it was found. We compute one dimension as a plane of height 1.

Mirrors ``aten/src/ATen/native/{DilatedMaxPool2d,DilatedMaxPool3d,AdaptiveMaxPooling2d,MaxUnpooling}.cpp``.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from minigrad._core.record.apply import call
from minigrad._core.record.operands import translate_kernel_error
from minigrad.errors import ArgumentError, AutogradNotImplementedError, DtypeError, ShapeError, TensorTypeError, TensorValueError
from minigrad.kernels import resampling
from minigrad.ops.base.arguments import flag, integer, tensor_argument, truth
from minigrad.ops.base.rule import INT64, Linear, Op, op, variant
from minigrad.ops.nn.convolution_checks import check_image_dims, sizes
from minigrad.ops.shape.views import reshape_array, squeeze, unsqueeze

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "max_pool1d", "max_pool2d", "max_pool3d",
           "max_unpool1d", "max_unpool2d", "max_unpool3d"]


@op("max_pool2d", "MaxPool2DWithIndices0")
class MaxPool2d(Op):
    """The largest element of each window, and its index in the plane"""

    hidden = ("places", "x_shape")
    inputs = 1
    outputs = ("z", "indices")
    torch_names = {"x": "self", "z": "result0", "indices": "result1"}

    def forward(k, x, places):
        return k.max_pool(x, places)

    def vjp(g, needs, x_shape, indices, places):
        return (call(MaxPoolBackward.op, (g[0], indices, x_shape, len(places))),)

    def jvp(ts, indices, places):
        return (call(MaxPoolSelect.op, (ts[0], indices, len(places))), None)


MaxPool3d = variant(MaxPool2d, "max_pool3d", "MaxPool3DWithIndices0",
                    "The largest element of each window, and its index in the volume")
AdaptiveMaxPool2d = variant(MaxPool2d, "adaptive_max_pool2d", "AdaptiveMaxPool2D0",
                            "The largest element of each window, and its index in the plane; the number of windows is given")
AdaptiveMaxPool3d = variant(MaxPool2d, "adaptive_max_pool3d", "AdaptiveMaxPool3D0",
                            "The largest element of each window, and its index in the volume; the number of windows is given")


@op("max_pool_backward", "MaxPool2DWithIndicesBackward0")
class MaxPoolBackward(Linear):
    """z = zeros, with x added at the indices of the maxima"""

    inputs = 1

    def forward(k, x, indices, shape, n):
        return k.max_pool_backward(x, indices, shape, n)

    def vjp_x(g, indices, n):
        return call(MaxPoolSelect.op, (g, indices, n))


@op("max_pool_select", "MaxPool2DSelect0")
class MaxPoolSelect(Linear):
    """z = x at the indices of the maxima"""

    inputs = 1

    def forward(k, x, indices, n):
        return k.max_pool_select(x, indices, n)

    def vjp_x(g, indices, x_shape, n):
        return call(MaxPoolBackward.op, (g, indices, x_shape, n))


@op("max_unpool2d", "MaxUnpool2D0")
class MaxUnpool2d(Linear):
    """z = zeros, with x stored at the indices of the maxima"""

    hidden = ("n",)
    inputs = 1

    def forward(k, x, indices, shape, n):
        lead, size = math.prod(x.shape[:-n]), math.prod(x.shape[-n:])
        z = k.full((lead, math.prod(shape[-n:])), 0, x.dtype)
        z = k.scatter(z, 1, reshape_array(k, indices, (lead, size)), reshape_array(k, x, (lead, size)))
        return k.view(z, shape)

    def vjp_x(g, indices, n):
        return call(MaxPoolSelect.op, (g, indices, n))


MaxUnpool3d = variant(MaxUnpool2d, "max_unpool3d", "MaxUnpool3D0",
                      "z = zeros, with x stored at the indices of the maxima, in a volume")


# ---- arguments ------------------------------------------------------------------------------------------------


def check_images(function, input, n, integers=False):
    """Raise unless `input` is real and has a dimension of channels and n more, none of them empty."""
    check_image_dims(function, input, n)
    if input.dtype.is_complex or input.dtype.name == "bool" or not (integers or input.dtype.is_floating_point):
        raise AutogradNotImplementedError("MG-E203", f'"{function}" not implemented for \'{input.dtype.name}\'')
    if 0 in input.shape[-n - 1:]:
        raise ShapeError("MG-E210", f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with optional 0 dim batch size for "
                         f"input, but got:{list(input.shape)}, in {function}()")


def window_sizes(function, n, kernel_size, stride, padding, dilation, ceil_mode):
    """Return (size, stride, padding, dilation), the common arguments of all poolings, as tuples of n ints."""
    flag(ceil_mode, "ceil_mode", function)
    size = sizes(kernel_size, n, "kernel_size", function)
    stride = size if stride is None or (isinstance(stride, (tuple, list)) and not stride) else sizes(stride, n, "stride", function)
    return size, stride, sizes(padding, n, "padding", function), sizes(dilation, n, "dilation", function)


def check_windows(function, plane, size, stride, padding, dilation, ceil_mode):
    """Raise unless windows with these sizes fit into `plane`, the last dimensions of a shape."""
    if min(size) <= 0 or min(stride) <= 0 or min(dilation) <= 0:
        raise ShapeError("MG-E210", f"{function}() kernel size, stride and dilation must be greater than zero, but got",
                         found=f"{size}, {stride} and {dilation}", expected="positive numbers")
    for length, pad in zip(size, padding):
        if not 0 <= pad <= length // 2:
            raise ShapeError("MG-E210", f"{function}() padding should be at most half of kernel size (pad should be at most half "
                             f"of effective kernel size), and no less than 0, but got padding={pad} and kernel_size={length}")
    count = [resampling.window_count(*each, ceil_mode) for each in zip(plane, size, stride, padding, dilation)]
    if min(count) <= 0:
        raise ShapeError("MG-E210", f"Given input size: {list(plane)}. Calculated output size: {count}. Output size is too "
                         f"small, in {function}()", expected="a window no larger than the padded input")


def make_table(function, make, *args):
    """Make a table with a function of ``kernels/resampling.py``; raise if it does not fit into memory."""
    try:
        return make(*args)
    except (ValueError, MemoryError, OverflowError) as error:
        raise translate_kernel_error(function, error) from None


def run_pooling(rule, x, places, return_indices) -> Any:
    """Run the rule on planes, or on lines as planes of height 1."""
    if len(places) == 1:
        z, indices = call(rule.op, (unsqueeze(x, -2), (resampling.places(1, 1, 1, 0, 1, False), *places)))
        return (squeeze(z, -2), squeeze(indices, -2)) if return_indices else squeeze(z, -2)
    z, indices = call(rule.op, (x, places))
    return (z, indices) if return_indices else z


@lru_cache(resampling.CACHED)
def places_in(function, plane, size, stride, padding, dilation, ceil_mode):
    """The table of each dimension of `plane`, the last dimensions of a shape, after checks."""
    check_windows(function, plane, size, stride, padding, dilation, ceil_mode)
    tables = tuple([make_table(function, resampling.places, *each, ceil_mode)
                    for each in zip(plane, size, stride, padding, dilation)])
    for i, table in enumerate(tables):
        if dilation[i] > 1 and table.max() >= plane[i]:
            raise ShapeError("MG-E210", f"{function}(): no element of a window lies in the input, only padding",
                             found=f"kernel_size={size}, padding={padding}, dilation={dilation} on {list(plane)}")
    return tables


def max_pool(function, n, rule, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices) -> Any:
    """The common code of max_pool1d, max_pool2d and max_pool3d."""
    check_images(function, input, n, integers=True)
    windows = window_sizes(function, n, kernel_size, stride, padding, dilation, ceil_mode)
    places = places_in(function, input.shape[-n:], *windows, ceil_mode)
    return run_pooling(rule, input, places, flag(return_indices, "return_indices", function))


def target_sizes(function, input, n, output_size):
    """Return `output_size` of an adaptive pooling, with None replaced by the size of `input`."""
    tensor_argument(function, input)
    if not isinstance(output_size, (tuple, list)):
        output_size = (integer(output_size, "output_size", function, "tuple of ints"),) * n
    elif n > 1 and len(output_size) >= input.ndim:
        raise TensorValueError("MG-E210", f"{function}(): Input dimension should be at least {len(output_size) + 1}, but got "
                               f"{list(input.shape)}")
    if input.ndim not in (n + 1, n + 2):
        wanted = "2 to 3 dimensions" if n == 1 else f"{n + 1}D or {n + 2}D tensor"
        raise ShapeError("MG-E210", f"{function}(): Expected {wanted}, but got {list(input.shape)}")
    if len(output_size) != n:
        raise ShapeError("MG-E210", f"{function}(): argument 'output_size' must be {n} (should contain one int per dimension), "
                         f"but got {len(output_size)}")
    found = tuple([input.shape[i - n] if size is None and n > 1 else integer(size, "output_size", function)
                   for i, size in enumerate(output_size)])
    if min(found) < 0:
        raise ShapeError("MG-E210", f"{function}: elements of output_size must be greater than or equal to 0 but received a "
                         f"negative dimension {min(found)}")
    return found


def check_not_empty(function, input, n):
    """Raise if one of the last n dimensions is empty."""
    for i in range(input.ndim - n, input.ndim):
        if not input.shape[i]:
            raise ShapeError("MG-E210", f"{function}(): Expected input to have non-zero size for non-batch dimensions, but input "
                             f"has sizes {list(input.shape)} with dimension {i} being empty")


def adaptive_max_pool(function, n, rule, input, output_size, return_indices):
    """The common code of adaptive_max_pool1d, adaptive_max_pool2d and adaptive_max_pool3d."""
    count = target_sizes(function, input, n, output_size)
    return_indices = truth(return_indices, "return_indices", function)
    check_not_empty(function, input, n)
    if not input.dtype.is_floating_point:
        raise AutogradNotImplementedError("MG-E203", f'"{function}" not implemented for \'{input.dtype.name}\'')
    places = tuple([make_table(function, resampling.adaptive, input.shape[i - n], count[i], True) for i in range(n)])
    return run_pooling(rule, input, places, return_indices)


def unpool_size(input, size, stride, padding, output_size):
    """Return the size before the pooling: `output_size`, if given, else one in which the windows end at the edge."""
    n = len(size)
    usual = [(input.shape[i - n] - 1) * stride[i] + size[i] - 2 * padding[i] for i in range(n)]
    if output_size is None:
        return usual
    if not isinstance(output_size, (tuple, list)):
        raise TensorTypeError("MG-E206", f"max_unpool{n}d(): argument 'output_size' must be tuple of ints, not "
                              f"{type(output_size).__name__}")
    output_size = [integer(length, "output_size", f"max_unpool{n}d") for length in output_size]
    if len(output_size) == n + 2:
        output_size = output_size[2:]
    if len(output_size) != n:
        raise TensorValueError("MG-E350", f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a "
                               f"length of '{len(output_size)}'")
    for i in range(n):
        if not usual[i] - stride[i] < output_size[i] < usual[i] + stride[i]:
            raise TensorValueError("MG-E350", f'invalid output_size "{tuple(output_size)}" (dim {i} must be between '
                                   f"{usual[i] - stride[i]} and {usual[i] + stride[i]})")
    return list(output_size)


def max_unpool(function, n, rule, input, indices, kernel_size, stride, padding, output_size):
    """The common code of max_unpool1d, max_unpool2d and max_unpool3d."""
    tensor_argument(function, input)
    tensor_argument(function, indices, "indices", 2)
    if input.ndim not in (n + 1, n + 2):
        raise ShapeError("MG-E210", f"Input to max_unpooling{n}d should be a {n + 1}d or {n + 2}d Tensor, but got a tensor with "
                         f"{input.ndim} dimensions.")
    size, padding = sizes(kernel_size, n, "kernel_size", function), sizes(padding, n, "padding", function)
    stride = size if stride is None else sizes(stride, n, "stride", function)
    plane = unpool_size(input, size, stride, padding, output_size)
    if indices.dtype is not INT64:
        raise DtypeError("MG-E203", f"elements in indices should be type int64 but got: {indices.dtype.name}")
    if indices.shape != input.shape:
        raise ShapeError("MG-E204", f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but "
                         f"got indices tensor with shape: {list(indices.shape)}")
    if indices.numel() and not indices.is_meta and not (indices.min().item() >= 0 and indices.max().item() < math.prod(plane)):
        bad = indices.min().item() if indices.min().item() < 0 else indices.max().item()
        raise ArgumentError("MG-E301", f"Found an invalid max index: {bad} (output volumes are of size "
                            f"{'x'.join(map(str, plane))})")
    if n == 1:
        shape = (*input.shape[:-1], 1, *plane)
        return squeeze(call(rule.op, (unsqueeze(input, -2), unsqueeze(indices, -2), shape, 2)), -2)
    return call(rule.op, (input, indices, (*input.shape[:-n], *plane), n))


# ---- public functions -------------------------------------------------------------------------------------------


def max_pool1d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
               padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Tensor:
    """The largest value of each window of (N, C, L) or (C, L). See `max_pool2d`.

    Mirrors ``torch.nn.functional.max_pool1d``.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.max_pool1d(mg.tensor([[1., 5., 2., 0.]]), 2)
    tensor([[5., 2.]])
    """
    return max_pool("max_pool1d", 1, MaxPool2d, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
               padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Tensor:
    """The largest value of each window.

    Args:
        input (Tensor): (N, C, H, W) or (C, H, W)
        kernel_size, stride, padding, dilation (int or pair): `stride` is `kernel_size` by default; the padding
            counts as minus infinity.
        ceil_mode (bool): round the number of windows up instead of down.
        return_indices (bool): also return the index of each maximum in its plane (int64).

    Returns:
        Tensor, or (Tensor, Tensor) with `return_indices`: (N, C, OH, OW) or (C, OH, OW).

    Mirrors ``torch.nn.functional.max_pool2d``.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.max_pool2d(mg.arange(16.).view(1, 1, 4, 4), 2).flatten()
    tensor([ 5.,  7., 13., 15.])
    """
    return max_pool("max_pool2d", 2, MaxPool2d, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
               padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Tensor:
    """The largest value of each window of (N, C, D, H, W) or (C, D, H, W). See `max_pool2d`.

    Mirrors ``torch.nn.functional.max_pool3d``.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.max_pool3d(mg.arange(16.).view(1, 4, 2, 2), 2).flatten()
    tensor([ 7., 15.])
    """
    return max_pool("max_pool3d", 3, MaxPool3d, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False) -> Tensor:
    """The largest value of each of `output_size` windows that cover (N, C, L) or (C, L). See `adaptive_max_pool2d`.

    Mirrors ``torch.nn.functional.adaptive_max_pool1d``.

    Raises:
        RuntimeError: the sizes do not fit.

    >>> F.adaptive_max_pool1d(mg.tensor([[1., 5., 2., 0., 3.]]), 2)
    tensor([[5., 3.]])
    """
    return adaptive_max_pool("adaptive_max_pool1d", 1, AdaptiveMaxPool2d, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False) -> Tensor:
    """The largest value of each window; `output_size` is the number of windows.

    Args:
        input (Tensor): (N, C, H, W) or (C, H, W), floating point.
        output_size (int or pair): (OH, OW); None in a pair keeps the size of `input`. Along a dimension of size L, window i of n
            goes from ⌊i L / n⌋ to ⌈(i + 1) L / n⌉.
        return_indices (bool): also return the index of each maximum in its plane (int64).

    Returns:
        Tensor, or (Tensor, Tensor) with `return_indices`: (N, C, OH, OW) or (C, OH, OW).

    Mirrors ``torch.nn.functional.adaptive_max_pool2d``.

    Raises:
        RuntimeError: the sizes do not fit.
        ValueError: there is no channel dimension before those of a sequence `output_size`.

    >>> F.adaptive_max_pool2d(mg.arange(12.).view(1, 3, 4), (1, 2))
    tensor([[[ 9., 11.]]])
    """
    return adaptive_max_pool("adaptive_max_pool2d", 2, AdaptiveMaxPool2d, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False) -> Tensor:
    """The largest value of each of `output_size` windows that cover (N, C, D, H, W) or (C, D, H, W).

    See `adaptive_max_pool2d`.

    Mirrors ``torch.nn.functional.adaptive_max_pool3d``.

    Raises:
        RuntimeError: the sizes do not fit.
        ValueError: there is no channel dimension before those of a sequence `output_size`.

    >>> F.adaptive_max_pool3d(mg.arange(16.).view(1, 4, 2, 2), (2, 1, 1)).flatten()
    tensor([ 7., 15.])
    """
    return adaptive_max_pool("adaptive_max_pool3d", 3, AdaptiveMaxPool3d, input, output_size, return_indices)


def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
                 padding: int | Sequence[int] = 0, output_size: Sequence[int] | None = None) -> Tensor:
    """Put the maxima of `max_pool1d` back to their places, with zeros elsewhere. See `max_unpool2d`.

    Mirrors ``torch.nn.functional.max_unpool1d``.

    Raises:
        RuntimeError: an index is out of range, or the shapes do not fit.
        ValueError: `output_size` is not possible.

    >>> F.max_unpool1d(mg.tensor([[5., 2.]]), mg.tensor([[1, 2]]), 2)
    tensor([[0., 5., 2., 0.]])
    """
    return max_unpool("max_unpool1d", 1, MaxUnpool2d, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
                 padding: int | Sequence[int] = 0, output_size: Sequence[int] | None = None) -> Tensor:
    """Put the maxima of `max_pool2d` back to their places, with zeros elsewhere.

    Args:
        input, indices (Tensor): the two results of ``max_pool2d(..., return_indices=True)``.
        kernel_size, stride, padding (int or pair): the arguments of the pooling.
        output_size (sequence, optional): the size before the pooling. Several are possible; there is a default.

    Returns:
        Tensor: of the size before the pooling.

    Mirrors ``torch.nn.functional.max_unpool2d``.

    Raises:
        RuntimeError: an index is out of range, or the shapes do not fit.
        ValueError: `output_size` is not possible.

    >>> F.max_unpool2d(mg.tensor([[[5.]]]), mg.tensor([[[2]]]), 2)
    tensor([[[0., 0.],
             [5., 0.]]])
    """
    return max_unpool("max_unpool2d", 2, MaxUnpool2d, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
                 padding: int | Sequence[int] = 0, output_size: Sequence[int] | None = None) -> Tensor:
    """Put the maxima of `max_pool3d` back to their places, with zeros elsewhere. See `max_unpool2d`.

    Mirrors ``torch.nn.functional.max_unpool3d``.

    Raises:
        RuntimeError: an index is out of range, or the shapes do not fit.
        ValueError: `output_size` is not possible.

    >>> F.max_unpool3d(mg.tensor([[[[5.]]]]), mg.tensor([[[[2]]]]), (1, 2, 2)).flatten()
    tensor([0., 0., 5., 0.])
    """
    return max_unpool("max_unpool3d", 3, MaxUnpool3d, input, indices, kernel_size, stride, padding, output_size)
