"""Initial values of parameters: functions that overwrite a tensor, without recording it.

Mirrors ``torch/nn/init.py``. The scaled ones are from Glorot & Bengio, "Understanding the difficulty of training
deep feedforward neural networks" (2010), and He et al., "Delving deep into rectifiers" (2015).
"""

import math
import warnings

from minigrad.autograd.grad_mode import no_grad

__all__ = ["calculate_gain", "constant_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "uniform_",
           "xavier_normal_", "xavier_uniform_", "zeros_"]


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Fill with numbers uniform in [a, b).

    >>> nn.init.uniform_(mg.empty(2)).shape
    minigrad.Size([2])
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Fill with numbers from a normal distribution.

    >>> nn.init.normal_(mg.empty(2)).shape
    minigrad.Size([2])
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor, val):
    """Fill with `val`.

    >>> nn.init.constant_(mg.empty(2), 3)
    tensor([3., 3.])
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """Fill with 1.

    >>> nn.init.ones_(mg.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Fill with 0.

    >>> nn.init.zeros_(mg.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor):
    """Fill a matrix with the identity.

    Raises:
        ValueError: it is no matrix.

    >>> nn.init.eye_(mg.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    from minigrad.creation import eye
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(eye(*tensor.shape, dtype=tensor.dtype))


def calculate_gain(nonlinearity, param=None):
    """By what factor weights have to be larger to make up for what a nonlinearity takes away.

    Raises:
        ValueError: the nonlinearity is unknown.

    >>> nn.init.calculate_gain("relu") == 2 ** 0.5
    True
    """
    if nonlinearity in ("linear", "conv1d", "conv2d", "conv3d", "sigmoid", "identity"):
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _calculate_fan_in_and_fan_out(tensor):
    """How many numbers go into, and come out of, one unit of a layer with this weight."""
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _fan(tensor, mode):
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform numbers with variance 2 gain² / (fan_in + fan_out) (Glorot & Bengio).

    >>> nn.init.xavier_uniform_(mg.empty(3, 2)).shape
    minigrad.Size([3, 2])
    """
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal numbers with variance 2 gain² / (fan_in + fan_out) (Glorot & Bengio).

    >>> nn.init.xavier_normal_(mg.empty(3, 2)).shape
    minigrad.Size([3, 2])
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _empty(tensor):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", UserWarning, stacklevel=3)
        return True
    return False


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform numbers with variance gain² / fan, which keeps the size of activations through rectifiers (He et al.).

    Args:
        a (float): the slope of a leaky ReLU below 0.
        mode (str): ``"fan_in"`` or ``"fan_out"``.
        nonlinearity (str): see `calculate_gain`.

    >>> nn.init.kaiming_uniform_(mg.empty(3, 2)).shape
    minigrad.Size([3, 2])
    """
    if _empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal numbers with variance gain² / fan (He et al.). See `kaiming_uniform_`.

    >>> nn.init.kaiming_normal_(mg.empty(3, 2)).shape
    minigrad.Size([3, 2])
    """
    if _empty(tensor):
        return tensor
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)
