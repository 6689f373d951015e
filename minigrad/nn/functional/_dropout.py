"""Dropout of single elements and of whole channels, and alpha dropout, which goes with selu.

Mirrors ``aten/src/ATen/native/Dropout.cpp``.
"""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)
from minigrad._core.record.apply import call
from minigrad._core.surface.variable import new_tensor
from minigrad.errors import DtypeError, ShapeError, TensorValueError
from minigrad.ops.base.arguments import real, tensor_argument, truth
from minigrad.ops.index.masking import NativeDropout
from minigrad.random._generator import stream
from minigrad.tensor import Tensor

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

ALPHA = 1.7580993408473766          # selu(x) tends to -ALPHA for x -> -inf


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set each element to 0 with probability `p`, and divide the others by 1 - p.

    Args:
        input (Tensor): of any shape and floating point dtype.
        p (float): the probability, in [0, 1].
        training (bool): if False, return `input` unchanged.
        inplace (bool): write the result over `input`.

    On a GPU, a single node draws the random numbers and multiplies. Mirrors ``torch.nn.functional.dropout``.

    Raises:
        ValueError: `p` is outside [0, 1].

    >>> F.dropout(mg.ones(2), training=False)
    tensor([1., 1.])
    """
    p, training, inplace = real(p, "p", "dropout"), truth(training, "training", "dropout"), truth(inplace, "inplace", "dropout")
    if keeps_all("dropout", input, p, training):
        return input
    if input.is_cuda and p < 1 and not inplace and input.dtype.is_floating_point:
        return call(NativeDropout.op, (input, stream(None), p))[0]    # pyright: ignore[reportIndexIssue]
    kept = draw_mask("dropout", input, p, input.shape)
    noise = new_tensor(Tensor, kept if p == 1 else input._meta.backend.kernels.div(kept, 1 - p), False, input.device)
    return input.mul_(noise) if inplace else input * noise


def keeps_all(name, input, p, training):
    """Whether nothing is dropped. Then no random number is drawn either. Raise if `p` is no probability."""
    tensor_argument(name, input)
    if not 0 <= p <= 1:
        raise TensorValueError("MG-E302", f"dropout probability has to be between 0 and 1, but got {p}")
    return not training or p == 0 or input.numel() == 0


def draw_mask(name, input, p, shape):
    """Draw an array of `shape` and input's dtype: each element is 0 with probability `p`, else 1. If all are 0, it is one 0."""
    kernels = input._meta.backend.kernels
    if p == 1:
        return kernels.full((), 0, input.dtype.numpy)
    if not input.dtype.differentiable:
        raise DtypeError("MG-E203", "result type Float can't be cast to the desired output type: dropout divides by 1 - p",
                         found=input.dtype.name, fix="input.float()")
    if input.dtype.is_complex:
        raise DtypeError("MG-E203", f"{name} is not implemented for complex numbers", found=input.dtype.name)
    return kernels.bernoulli(stream(None), tuple(shape), 1 - p, input.dtype.numpy)


def channel_shape(input, unbatched):
    """The shape of a mask with one element per channel. An input with `unbatched` dimensions has no batch dimension."""
    lead = 1 if input.ndim == unbatched else 2
    return [*input.shape[:lead], *[1] * (input.ndim - lead)]


def drop_channels(name, input, p, training, inplace, unbatched):
    """Set each channel to 0 with probability `p`, and divide the others by 1 - p."""
    p, training, inplace = real(p, "p", name), truth(training, "training", name), truth(inplace, "inplace", name)
    if keeps_all(name, input, p, training):
        return input
    noise = new_tensor(Tensor, draw_mask(name, input, p, channel_shape(input, unbatched)), False, input.device)
    noise = noise if p == 1 else noise / (1 - p)
    return input.mul_(noise) if inplace else input * noise


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels to 0 with probability `p`, and divide the others by 1 - p.

    Args:
        input (Tensor): (N, C, L) or (C, L).
        p (float): the probability, in [0, 1].
        training (bool): if False, return `input` unchanged.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.dropout1d``.

    Raises:
        ValueError: `p` is outside [0, 1].
        RuntimeError: the input does not have 2 or 3 dimensions.

    >>> F.dropout1d(mg.ones(2, 2), training=False).shape
    minigrad.Size([2, 2])
    """
    if tensor_argument("dropout1d", input).ndim not in (2, 3):
        raise ShapeError("MG-E205", f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d "
                         "exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an "
                         "optional batch dimension (i.e. 2D or 3D inputs).")
    return drop_channels("dropout1d", input, p, training, inplace, 2)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels to 0 with probability `p`, and divide the others by 1 - p.

    Args:
        input (Tensor): (N, C, H, W). As in PyTorch, three dimensions mean (N, C, L).
        p (float): the probability, in [0, 1].
        training (bool): if False, return `input` unchanged.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.dropout2d``.

    Raises:
        ValueError: `p` is outside [0, 1].

    >>> F.dropout2d(mg.ones(1, 2, 2, 2), training=False).shape
    minigrad.Size([1, 2, 2, 2])
    """
    return drop_channels("dropout2d", input, p, training, inplace, 1)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set whole channels to 0 with probability `p`, and divide the others by 1 - p.

    Args:
        input (Tensor): (N, C, D, H, W) or (C, D, H, W).
        p (float): the probability, in [0, 1].
        training (bool): if False, return `input` unchanged.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.dropout3d``.

    Raises:
        ValueError: `p` is outside [0, 1].

    >>> F.dropout3d(mg.ones(1, 2, 2, 2, 2), training=False).shape
    minigrad.Size([1, 2, 2, 2, 2])
    """
    return drop_channels("dropout3d", input, p, training, inplace, 4)


def drop_to_alpha(name, input, p, training, inplace, shape):
    """Set some elements to -ALPHA, then scale and shift so that mean and variance stay the same."""
    p, training, inplace = real(p, "p", name), truth(training, "training", name), truth(inplace, "inplace", name)
    if keeps_all(name, input, p, training):
        return input
    noise = new_tensor(Tensor, draw_mask(name, input, p, shape), False, input.device)
    if p == 1:
        return input.mul_(noise) if inplace else input * noise
    a = ((ALPHA * ALPHA * p + 1) * (1 - p)) ** -0.5
    shift = (noise - 1) * (ALPHA * a) + ALPHA * a * p
    return input.mul_(noise * a).add_(shift) if inplace else input * (noise * a) + shift


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance: it sets elements to the limit of selu at -∞ (Klambauer et al., 2017).

    Args:
        input (Tensor): of any shape and floating point dtype.
        p (float): the probability, in [0, 1].
        training (bool): if False, return `input` unchanged.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.alpha_dropout``.

    Raises:
        ValueError: `p` is outside [0, 1].

    >>> F.alpha_dropout(mg.ones(2))
    tensor([1., 1.])
    """
    tensor_argument("alpha_dropout", input)
    return drop_to_alpha("alpha_dropout", input, p, training, inplace, input.shape)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels of (N, C, ...). The other arguments are as in `alpha_dropout`.

    Mirrors ``torch.nn.functional.feature_alpha_dropout``.

    Raises:
        ValueError: `p` is outside [0, 1].

    >>> F.feature_alpha_dropout(mg.ones(1, 2, 2)).shape
    minigrad.Size([1, 2, 2])
    """
    tensor_argument("feature_alpha_dropout", input)
    return drop_to_alpha("feature_alpha_dropout", input, p, training, inplace, channel_shape(input, 1))
