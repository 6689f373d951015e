"""Nonlinearities: what they take, and which op each is.

    leaky_relu elu selu celu        below 0 not 0 but a slope, or an exponential
    gelu silu mish                  x times a soft step
    hardtanh relu6 hardsigmoid hardswish threshold softshrink hardshrink        made of lines
    softplus logsigmoid glu prelu
    tanhshrink softsign softmin     written with ops

The rules are in ``ops/nn/activation.py`` and ``ops/nn/piecewise.py``. In place most are the same rule, whose result is
written over the input; `elu_`, `celu_`, `leaky_relu_` and `threshold_` are rules of their own, as in PyTorch.

Mirrors the activations of ``torch/nn/functional.py`` and ``aten/src/ATen/native/Activation.cpp``.
"""

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false
# (the results of ops have no types inside the package)

import math
import warnings

import numpy as np

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.mutation.inplace import apply_inplace
from minigrad._core.record.apply import call
from minigrad.errors import ShapeError, TensorValueError
from minigrad.ops import abs, reshape, softmax, tanh, where
from minigrad.ops.base.precision import in_float32
from minigrad.ops.base.rule import converted, dimension, number, real, tensor_argument, truth, wrong_type
from minigrad.ops.elementwise.comparison import Ordering
from minigrad.ops.nn.activation import Celu, CeluInPlace, Elu, EluInPlace, Gelu, Glu, LogSigmoid, Mish, Silu, Softplus
from minigrad.ops.nn.piecewise import (
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyRelu,
    LeakyReluInPlace,
    PreluKernel,
    Softshrink,
    Threshold,
    ThresholdInPlace,
)

__all__ = ["celu", "elu", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu",
           "logsigmoid", "mish", "prelu", "relu6", "selu", "silu", "softmin", "softplus", "softshrink", "softsign",
           "tanhshrink", "threshold"]

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def activated(name, rule, input, args=(), inplace=False, in_place=None):
    """The op `rule` on `input` and `args`; in place by the rule `in_place`, if PyTorch counts that as another."""
    if truth(inplace, "inplace", name):
        return apply_inplace((in_place or rule).op, input, args)
    return call(rule.op, (input, *args))


def computed(name, formula, input, inplace=False):
    """``formula(input)``; in place, its numbers are written over those of `input`, and the formula works on a copy of those."""
    return input.copy_(formula(input.clone())) if truth(inplace, "inplace", name) else formula(input)


def floating(name, x):
    """`x`, a tensor of real or complex floating point numbers. Raises for anything else."""
    not_whole(name, tensor_argument(name, x))
    return x


def real_floating(name, x):
    """`x`, a tensor of real floating point numbers. Raises for anything else."""
    if tensor_argument(name, x).dtype.is_complex:
        raise ShapeError("MG-E203", f"{name} is not implemented for complex numbers", found=x.dtype.name)
    return floating(name, x)


def ordered(name, x, *numbers):
    """`x`, a tensor of floating point numbers that is compared with `numbers`. Raises for anything else, and for complex ones."""
    floating(name, x)
    if x.dtype.is_complex or any([isinstance(n, (complex, np.complexfloating)) for n in numbers]):
        raise ShapeError("MG-E203", Ordering.refuses_complex, found=x.dtype.name)
    return x


def real_factor(value, x):
    """The number `value`, by which the real tensor `x` is multiplied or replaced. Raises if it is complex."""
    return converted(value, x.dtype) if isinstance(value, (complex, np.complexfloating)) else value


def not_whole(name, x):
    """Raise for integers."""
    if not x.dtype.differentiable:
        raise ShapeError("MG-E203", f'"{name}" not implemented for {x.dtype.name}', fix="input.float()")


def input_holds_integers(x):
    """Whether `x` is a tensor of integers; bools are none."""
    return isinstance(x, TensorBase) and not x.dtype.differentiable and x.dtype.name != "bool"


def like(x, z):
    """`z` in the dtype of x."""
    return z if z.dtype is x.dtype else z.to(x.dtype)


def implicit_dim(name, dim, ndim):
    """The dimension that PyTorch takes if none is given, with its warning."""
    if dim is not None:
        return dim
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
                  UserWarning, stacklevel=3)
    return 0 if ndim in (0, 1, 3) else 1


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x, below 0 negative_slope · x. Mirrors ``torch.nn.functional.leaky_relu``.

    >>> F.leaky_relu(mg.tensor([-1., 2.]), 0.1)
    tensor([-0.1000, 2.0000])
    """
    negative_slope = number(negative_slope, "negative_slope", "leaky_relu")
    negative_slope = real_factor(negative_slope, ordered("leaky_relu", input))
    # Of a falling slope the result does not say from which side it comes: then a copy of the input is kept.
    in_place = LeakyReluInPlace if negative_slope >= 0 else LeakyRelu
    return activated("leaky_relu", LeakyRelu, input, (negative_slope,), inplace, in_place)


def elu(input, alpha=1.0, inplace=False):
    """x, below 0 α (eˣ - 1) (Clevert et al., 2016). Mirrors ``torch.nn.functional.elu``.

    >>> F.elu(mg.tensor([-1., 2.]))
    tensor([-0.6321, 2.0000])
    """
    alpha = number(alpha, "alpha", "elu")
    return activated("elu", Elu, real_floating("elu", input), (alpha, 1, 1), inplace, EluInPlace)


def selu(input, inplace=False):
    """The elu that keeps mean and variance (Klambauer et al., 2017). Mirrors ``torch.nn.functional.selu``.

    >>> F.selu(mg.tensor([-1., 2.]))
    tensor([-1.1113, 2.1014])
    """
    return activated("selu", Elu, real_floating("selu", input), (SELU_ALPHA, SELU_SCALE, 1), inplace, EluInPlace)


def celu(input, alpha=1.0, inplace=False):
    """x, below 0 α (e^(x/α) - 1) (Barron, 2017). Mirrors ``torch.nn.functional.celu``.

    Raises:
        RuntimeError: `alpha` is 0.

    >>> F.celu(mg.tensor([-1., 2.]), alpha=2.)
    tensor([-0.7869, 2.0000])
    """
    alpha = number(alpha, "alpha", "celu")
    if alpha == 0:
        raise ShapeError("MG-E332", "ZeroDivisionError: alpha cannot be 0 for CELU")
    return activated("celu", Celu, real_floating("celu", input), (alpha,), inplace, CeluInPlace)


def gelu(input, *, approximate="none"):
    """x Φ(x), with the distribution function of the normal distribution (Hendrycks & Gimpel, 2016).

    Args:
        input (Tensor)
        approximate (str): ``"none"``; or ``"tanh"`` for x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))).

    Mirrors ``torch.nn.functional.gelu``.

    Raises:
        RuntimeError: another `approximate`.

    >>> F.gelu(mg.tensor([-1., 2.]), approximate="tanh")
    tensor([-0.1588, 1.9546])
    """
    if not isinstance(approximate, str):
        raise wrong_type("gelu", "approximate", "str", approximate)
    if approximate not in ("none", "tanh"):
        raise ShapeError("MG-E332", "approximate argument must be either none or tanh.", found=repr(approximate))
    return activated("gelu", Gelu, real_floating("gelu", input), (approximate,))


def silu(input, inplace=False):
    """x sigmoid(x), also called swish. Mirrors ``torch.nn.functional.silu``.

    >>> F.silu(mg.tensor([-1., 2.]))
    tensor([-0.2689, 1.7616])
    """
    return activated("silu", Silu, floating("silu", input), (), inplace)


def mish(input, inplace=False):
    """x tanh(softplus(x)) (Misra, 2019). Mirrors ``torch.nn.functional.mish``.

    >>> F.mish(mg.tensor([-1., 2.]))
    tensor([-0.3034, 1.9440])
    """
    return activated("mish", Mish, ordered("mish", input), (), inplace)


def softplus(input, beta=1.0, threshold=20.0):
    """log(1 + e^(β x)) / β, or x where β x is above `threshold`. Mirrors ``torch.nn.functional.softplus``.

    >>> F.softplus(mg.tensor([-1., 2.]))
    tensor([0.3133, 2.1269])
    """
    beta, threshold = number(beta, "beta", "softplus"), number(threshold, "threshold", "softplus")
    return activated("softplus", Softplus, ordered("softplus", input, beta, threshold), (beta, threshold))


def logsigmoid(input):
    """log(sigmoid(x)) = min(x, 0) - log(1 + e^-|x|), which cannot overflow. Mirrors ``torch.nn.functional.logsigmoid``.

    >>> F.logsigmoid(mg.tensor([-1., 2.]))
    tensor([-1.3133, -0.1269])
    """
    return activated("logsigmoid", LogSigmoid, ordered("logsigmoid", input))[0]


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x, between `min_val` and `max_val`; at these and beyond without gradient. Mirrors ``torch.nn.functional.hardtanh``.

    Raises:
        ValueError: `min_val` is above `max_val`.

    >>> F.hardtanh(mg.tensor([-3., 0.5]))
    tensor([-1.0000, 0.5000])
    """
    min_val, max_val = real(min_val, "min_val", "hardtanh"), real(max_val, "max_val", "hardtanh")
    if min_val > max_val:
        raise TensorValueError("MG-E332", "min_val cannot be greater than max_val")
    min_val, max_val = [converted(n, tensor_argument("hardtanh", input).dtype) for n in (min_val, max_val)]
    if input_holds_integers(input):
        return computed("hardtanh", lambda x: like(x, where(x <= min_val, min_val, where(x >= max_val, max_val, x))), input,
                        inplace)
    return activated("hardtanh", Hardtanh, ordered("hardtanh", input), (min_val, max_val), inplace)


def relu6(input, inplace=False):
    """min(max(x, 0), 6). Mirrors ``torch.nn.functional.relu6``.

    >>> F.relu6(mg.tensor([-3., 7.]))
    tensor([0., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def hardsigmoid(input, inplace=False):
    """relu6(x + 3) / 6. Mirrors ``torch.nn.functional.hardsigmoid``.

    >>> F.hardsigmoid(mg.tensor([-3., 0.]))
    tensor([0.0000, 0.5000])
    """
    return activated("hardsigmoid", Hardsigmoid, ordered("hardsigmoid", input), (), inplace)


def hardswish(input, inplace=False):
    """x relu6(x + 3) / 6 (Howard et al., 2019). Mirrors ``torch.nn.functional.hardswish``.

    >>> F.hardswish(mg.tensor([1., 4.]))
    tensor([0.6667, 4.0000])
    """
    return activated("hardswish", Hardswish, ordered("hardswish", input), (), inplace)


def threshold(input, threshold, value, inplace=False):
    """x where it is above `threshold`, else `value`. Mirrors ``torch.nn.functional.threshold``.

    >>> F.threshold(mg.tensor([-1., 2.]), 0.5, 9.)
    tensor([9., 2.])
    """
    threshold, value = number(threshold, "threshold", "threshold"), number(value, "value", "threshold")
    if input_holds_integers(input):
        return computed("threshold", lambda x: like(x, where(x <= threshold, value, x)), input, inplace)
    value = real_factor(value, ordered("threshold", input, threshold))
    return activated("threshold", Threshold, input, (threshold, value), inplace, ThresholdInPlace)


def softshrink(input, lambd=0.5):
    """x moved towards 0 by λ, and not beyond. Mirrors ``torch.nn.functional.softshrink``.

    Raises:
        RuntimeError: λ is negative.

    >>> F.softshrink(mg.tensor([-1., 0.25, 2.]))
    tensor([-0.5000, 0.0000, 1.5000])
    """
    lambd = number(lambd, "lambd", "softshrink")
    if isinstance(lambd, complex) or not 0 <= lambd < math.inf:
        raise ShapeError("MG-E332", "lambda must be in range [0, infinity)", found=f"{lambd}")
    return activated("softshrink", Softshrink, ordered("softshrink", input), (lambd,))


def hardshrink(input, lambd=0.5):
    """x where it is beyond ±λ, else 0. Mirrors ``torch.nn.functional.hardshrink``.

    >>> F.hardshrink(mg.tensor([-1., 0.25, 2.]))
    tensor([-1., 0., 2.])
    """
    lambd = real(lambd, "lambd", "hardshrink")
    return activated("hardshrink", Hardshrink, ordered("hardshrink", input), (lambd,))


def tanhshrink(input):
    """x - tanh(x). Mirrors ``torch.nn.functional.tanhshrink``.

    >>> F.tanhshrink(mg.tensor([-1., 2.]))
    tensor([-0.2384, 1.0360])
    """
    return in_float32(lambda x: x - tanh(x))(tensor_argument("tanhshrink", input))


def softsign(input):
    """x / (1 + |x|). Mirrors ``torch.nn.functional.softsign``.

    >>> F.softsign(mg.tensor([-1., 3.]))
    tensor([-0.5000, 0.7500])
    """
    return in_float32(lambda x: x / (abs(x) + 1))(tensor_argument("softsign", input))


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """The softmax of -x along `dim`. Mirrors ``torch.nn.functional.softmin``.

    >>> F.softmin(mg.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    tensor_argument("softmin", input)
    return softmax(-input, implicit_dim("softmin", dim, input.ndim), dtype=dtype)


def glu(input, dim=-1):
    """a sigmoid(b), with a and b the halves of the input along `dim` (Dauphin et al., 2017).

    Mirrors ``torch.nn.functional.glu``.

    Raises:
        RuntimeError: the dimension cannot be halved.

    >>> F.glu(mg.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """
    tensor_argument("glu", input)
    if input.ndim == 0:
        raise ShapeError("MG-E205", "glu does not support scalars because halving size must be even")
    at = dimension(dim, input.ndim)
    if input.dtype.is_complex:
        raise ShapeError("MG-E203", "glu is not implemented for complex numbers", found=input.dtype.name)
    if input.shape[at] % 2:
        raise ShapeError("MG-E204", f"Halving dimension must be even, but dimension {at} is size {input.shape[at]}")
    not_whole("glu", input)
    return call(Glu.op, (input, dim))


def prelu(input, weight):
    """x, below 0 weight · x, with one weight for all or one per channel (dimension 1) (He et al., 2015).

    Mirrors ``torch.nn.functional.prelu``.

    Raises:
        RuntimeError: there are not as many weights as channels.

    >>> F.prelu(mg.tensor([-1., 2.]), mg.tensor([0.25]))
    tensor([-0.2500, 2.0000])
    """
    tensor_argument("prelu", input)
    tensor_argument("prelu", weight, "weight", 2)
    if weight.ndim > 1:
        raise ShapeError("MG-E204", f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.numel() != 1:
        channels = input.shape[1] if input.ndim > 1 else 1
        if input.ndim == 0:
            raise ShapeError("MG-E204", "Not allow zero-dim input tensor.")
        if weight.numel() != channels:
            raise ShapeError("MG-E204", "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                             f"{weight.numel()} and channel size = {channels}.")
    shape = [1, weight.numel()] + [1] * (input.ndim - 2) if input.ndim > 1 else [1] * input.ndim
    return call(PreluKernel.op, (ordered("prelu", input), reshape(weight, shape)))


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """Samples of a softmax with a gradient: softmax((x + noise) / τ), the noise after Gumbel (Jang et al., 2017).

    Args:
        logits (Tensor): logarithms of weights.
        tau (float): the temperature; the smaller, the nearer to one-hot.
        hard (bool): one-hot, with the gradient of the soft sample.

    `eps` has no effect any more. Mirrors ``torch.nn.functional.gumbel_softmax``.

    >>> F.gumbel_softmax(mg.tensor([[1., 2.]]), hard=True).sum()
    tensor(1.)
    """
    tensor_argument("gumbel_softmax", logits, "logits")
    real(eps, "eps", "gumbel_softmax")
    tau = real(tau, "tau", "gumbel_softmax")
    noise = -logits.new_empty(logits.shape).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not truth(hard, "hard", "gumbel_softmax"):
        return soft
    at = soft.detach().max(dim, keepdim=True).indices
    return soft.new_zeros(soft.shape).scatter(dim, at, 1.0) - soft.detach() + soft
