"""Activation functions: they check their arguments and call the op.

    leaky_relu prelu elu selu celu      x, and below 0 a slope or an exponential
    gelu silu mish                      x times a smooth step
    hardtanh relu6 hardsigmoid hardswish threshold softshrink hardshrink        piecewise
    softplus logsigmoid glu
    tanhshrink softsign softmin gumbel_softmax                                  composed of ops

The rules are in ``ops/nn/activation.py`` and ``ops/nn/piecewise.py``. Most rules serve the in-place form too: it writes the result
over the input. `elu`, `celu`, `leaky_relu` and `threshold` have a second rule for it, as in PyTorch.

Mirrors the activations of ``torch/nn/functional.py`` and ``aten/src/ATen/native/Activation.cpp``.
"""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false, reportIndexIssue=false
# (the results of ops have no types inside the package)
import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.mutation.inplace import apply_inplace
from minigrad._core.record.apply import call
from minigrad.errors import ArgumentError, DtypeError, ShapeError, TensorValueError
from minigrad.ops import abs, reshape, softmax, tanh, where
from minigrad.ops.base.precision import in_float32
from minigrad.ops.base.rule import convert_number, dimension, number, real, tensor_argument, truth, wrong_type
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

if TYPE_CHECKING:
    from typing import Literal

    from minigrad.types import DType, Number, Tensor

__all__ = ["celu", "elu", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu",
           "logsigmoid", "mish", "prelu", "relu6", "selu", "silu", "softmin", "softplus", "softshrink", "softsign",
           "tanhshrink", "threshold"]

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def apply_rule(name, rule, input, args=(), inplace=False, in_place=None):
    """Apply the op of `rule` to `input` and `args`. With `inplace`, use the rule `in_place` if there is one."""
    if truth(inplace, "inplace", name):
        return apply_inplace((in_place or rule).op, input, args)
    return call(rule.op, (input, *args))


def apply_formula(name, formula, input, inplace=False):
    """Return ``formula(input)``. With `inplace`, apply the formula to a copy and write the result over `input`."""
    return input.copy_(formula(input.clone())) if truth(inplace, "inplace", name) else formula(input)


def require_floating(name, x):
    """Return `x`; raise unless it is a tensor of real or complex floating point numbers."""
    reject_integers(name, tensor_argument(name, x))
    return x


def require_real(name, x):
    """Return `x`; raise unless it is a tensor of real floating point numbers."""
    if tensor_argument(name, x).dtype.is_complex:
        raise DtypeError("MG-E203", f"{name} is not implemented for complex numbers", found=x.dtype.name)
    return require_floating(name, x)


def require_ordered(name, x, *numbers):
    """Return `x`; raise unless `x` and `numbers` can be compared: a tensor of real floating point numbers and real numbers."""
    require_floating(name, x)
    if x.dtype.is_complex or any([isinstance(n, (complex, np.complexfloating)) for n in numbers]):
        raise DtypeError("MG-E203", Ordering.refuses_complex, found=x.dtype.name)
    return x


def real_factor(value, x):
    """Return `value`, a factor or replacement for elements of the real tensor `x`; raise if it is complex."""
    return convert_number(value, x.dtype) if isinstance(value, (complex, np.complexfloating)) else value


def reject_integers(name, x):
    """Raise if the tensor `x` has an integer dtype."""
    if not x.dtype.differentiable:
        raise DtypeError("MG-E203", f'"{name}" not implemented for {x.dtype.name}', fix="input.float()")


def has_integers(x):
    """Whether `x` is a tensor of integers. A bool does not count as an integer."""
    return isinstance(x, TensorBase) and not x.dtype.differentiable and x.dtype.name != "bool"


def cast_like(x, z):
    """Cast `z` to the dtype of `x`."""
    return z if z.dtype is x.dtype else z.to(x.dtype)


def implicit_dim(name, dim, ndim):
    """Return `dim`. If it is None, warn and return PyTorch's default, which depends on the number of dimensions."""
    if dim is not None:
        return dim
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
                  UserWarning, stacklevel=3)
    return 0 if ndim in (0, 1, 3) else 1


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x, below 0 negative_slope · x.

    Args:
        input (Tensor): of any shape and floating point dtype.
        negative_slope (float): the slope below 0.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.leaky_relu``.

    >>> F.leaky_relu(mg.tensor([-1., 2.]), 0.1)
    tensor([-0.1000, 2.0000])
    """
    negative_slope = number(negative_slope, "negative_slope", "leaky_relu")
    negative_slope = real_factor(negative_slope, require_ordered("leaky_relu", input))
    # With a negative slope, the result does not tell the sign of x. So this rule saves the input instead of the result.
    in_place = LeakyReluInPlace if negative_slope >= 0 else LeakyRelu
    return apply_rule("leaky_relu", LeakyRelu, input, (negative_slope,), inplace, in_place)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x, below 0 α (eˣ - 1) (Clevert et al., 2016).

    Args:
        input (Tensor): of any shape and floating point dtype.
        alpha (float): α; the function tends to -α.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.elu``.

    >>> F.elu(mg.tensor([-1., 2.]))
    tensor([-0.6321, 2.0000])
    """
    alpha = number(alpha, "alpha", "elu")
    return apply_rule("elu", Elu, require_real("elu", input), (alpha, 1, 1), inplace, EluInPlace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The elu that keeps mean and variance (Klambauer et al., 2017).

    Args:
        input (Tensor): of any shape and floating point dtype.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.selu``.

    >>> F.selu(mg.tensor([-1., 2.]))
    tensor([-1.1113, 2.1014])
    """
    return apply_rule("selu", Elu, require_real("selu", input), (SELU_ALPHA, SELU_SCALE, 1), inplace, EluInPlace)


def celu(input: Tensor, alpha: Number = 1.0, inplace: bool = False) -> Tensor:
    """x, below 0 α (e^(x/α) - 1) (Barron, 2017).

    Args:
        input (Tensor): of any shape and floating point dtype.
        alpha (float): α; the function tends to -α.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.celu``.

    Raises:
        RuntimeError: `alpha` is 0.

    >>> F.celu(mg.tensor([-1., 2.]), alpha=2.)
    tensor([-0.7869, 2.0000])
    """
    alpha = number(alpha, "alpha", "celu")
    if alpha == 0:
        raise ArgumentError("MG-E332", "ZeroDivisionError: alpha cannot be 0 for CELU")
    return apply_rule("celu", Celu, require_real("celu", input), (alpha,), inplace, CeluInPlace)


def gelu(input: Tensor, *, approximate: Literal['none', 'tanh'] = "none") -> Tensor:
    """x Φ(x), where Φ is the distribution function of the standard normal distribution (Hendrycks & Gimpel, 2016).

    Args:
        input (Tensor): of any shape and floating point dtype.
        approximate (str): ``"none"``, or ``"tanh"`` for x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))).

    Mirrors ``torch.nn.functional.gelu``.

    Raises:
        RuntimeError: `approximate` has another value.

    >>> F.gelu(mg.tensor([-1., 2.]), approximate="tanh")
    tensor([-0.1588, 1.9546])
    """
    if not isinstance(approximate, str):
        raise wrong_type("gelu", "approximate", "str", approximate)
    if approximate not in ("none", "tanh"):
        raise ArgumentError("MG-E332", "approximate argument must be either none or tanh.", found=repr(approximate))
    return apply_rule("gelu", Gelu, require_real("gelu", input), (approximate,))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x sigmoid(x), also called swish.

    Args:
        input (Tensor): of any shape and floating point dtype.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.silu``.

    >>> F.silu(mg.tensor([-1., 2.]))
    tensor([-0.2689, 1.7616])
    """
    return apply_rule("silu", Silu, require_floating("silu", input), (), inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x tanh(softplus(x)) (Misra, 2019).

    Args:
        input (Tensor): of any shape and floating point dtype.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.mish``.

    >>> F.mish(mg.tensor([-1., 2.]))
    tensor([-0.3034, 1.9440])
    """
    return apply_rule("mish", Mish, require_ordered("mish", input), (), inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + e^(β x)) / β, or x where β x is above `threshold`.

    Args:
        input (Tensor): of any shape and floating point dtype.
        beta (float): β.
        threshold (float): where β x is larger, the result is x itself.

    Mirrors ``torch.nn.functional.softplus``.

    >>> F.softplus(mg.tensor([-1., 2.]))
    tensor([0.3133, 2.1269])
    """
    beta, threshold = number(beta, "beta", "softplus"), number(threshold, "threshold", "softplus")
    return apply_rule("softplus", Softplus, require_ordered("softplus", input, beta, threshold), (beta, threshold))


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)) = min(x, 0) - log(1 + e^-|x|), which cannot overflow. Mirrors ``torch.nn.functional.logsigmoid``.

    >>> F.logsigmoid(mg.tensor([-1., 2.]))
    tensor([-1.3133, -0.1269])
    """
    return apply_rule("logsigmoid", LogSigmoid, require_ordered("logsigmoid", input))[0]


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """min(max(x, min_val), max_val). The gradient is 0 at the bounds and beyond.

    Args:
        input (Tensor): of any shape; integers are allowed.
        min_val, max_val (float): the bounds.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.hardtanh``.

    Raises:
        ValueError: `min_val` is larger than `max_val`.

    >>> F.hardtanh(mg.tensor([-3., 0.5]))
    tensor([-1.0000, 0.5000])
    """
    min_val, max_val = real(min_val, "min_val", "hardtanh"), real(max_val, "max_val", "hardtanh")
    if min_val > max_val:
        raise TensorValueError("MG-E332", "min_val cannot be greater than max_val")
    min_val, max_val = [convert_number(n, tensor_argument("hardtanh", input).dtype) for n in (min_val, max_val)]
    if has_integers(input):
        return apply_formula("hardtanh", lambda x: cast_like(x, where(x <= min_val, min_val, where(x >= max_val, max_val, x))),
                             input, inplace)
    return apply_rule("hardtanh", Hardtanh, require_ordered("hardtanh", input), (min_val, max_val), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6).

    Args:
        input (Tensor): of any shape; integers are allowed.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.relu6``.

    >>> F.relu6(mg.tensor([-3., 7.]))
    tensor([0., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(x + 3) / 6.

    Args:
        input (Tensor): of any shape and floating point dtype.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.hardsigmoid``.

    >>> F.hardsigmoid(mg.tensor([-3., 0.]))
    tensor([0.0000, 0.5000])
    """
    return apply_rule("hardsigmoid", Hardsigmoid, require_ordered("hardsigmoid", input), (), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x relu6(x + 3) / 6 (Howard et al., 2019).

    Args:
        input (Tensor): of any shape and floating point dtype.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.hardswish``.

    >>> F.hardswish(mg.tensor([1., 4.]))
    tensor([0.6667, 4.0000])
    """
    return apply_rule("hardswish", Hardswish, require_ordered("hardswish", input), (), inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where x > threshold, else `value`.

    Args:
        input (Tensor): of any shape; integers are allowed.
        threshold (float): x stays where it is larger than this.
        value (float): replaces the other elements.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.threshold``.

    >>> F.threshold(mg.tensor([-1., 2.]), 0.5, 9.)
    tensor([9., 2.])
    """
    threshold, value = number(threshold, "threshold", "threshold"), number(value, "value", "threshold")
    if has_integers(input):
        return apply_formula("threshold", lambda x: cast_like(x, where(x <= threshold, value, x)), input, inplace)
    value = real_factor(value, require_ordered("threshold", input, threshold))
    return apply_rule("threshold", Threshold, input, (threshold, value), inplace, ThresholdInPlace)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x - λ where x > λ, x + λ where x < -λ, else 0.

    Args:
        input (Tensor): of any shape and floating point dtype.
        lambd (float): λ, at least 0.

    Mirrors ``torch.nn.functional.softshrink``.

    Raises:
        RuntimeError: λ is negative, infinite or complex.

    >>> F.softshrink(mg.tensor([-1., 0.25, 2.]))
    tensor([-0.5000, 0.0000, 1.5000])
    """
    lambd = number(lambd, "lambd", "softshrink")
    if isinstance(lambd, complex) or not 0 <= lambd < math.inf:
        raise ArgumentError("MG-E332", "lambda must be in range [0, infinity)", found=f"{lambd}")
    return apply_rule("softshrink", Softshrink, require_ordered("softshrink", input), (lambd,))


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x where |x| > λ, else 0.

    Args:
        input (Tensor): of any shape and floating point dtype.
        lambd (float): λ.

    Mirrors ``torch.nn.functional.hardshrink``.

    >>> F.hardshrink(mg.tensor([-1., 0.25, 2.]))
    tensor([-1., 0., 2.])
    """
    if isinstance(lambd, complex):
        raise DtypeError("MG-E203", "value cannot be converted to type float without overflow", found=f"lambd={lambd}")
    lambd = real(lambd, "lambd", "hardshrink")
    return apply_rule("hardshrink", Hardshrink, require_ordered("hardshrink", input), (lambd,))


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x). Mirrors ``torch.nn.functional.tanhshrink``.

    >>> F.tanhshrink(mg.tensor([-1., 2.]))
    tensor([-0.2384, 1.0360])
    """
    return in_float32(lambda x: x - tanh(x))(tensor_argument("tanhshrink", input))  # pyright: ignore[reportReturnType]


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|). Mirrors ``torch.nn.functional.softsign``.

    >>> F.softsign(mg.tensor([-1., 3.]))
    tensor([-0.5000, 0.7500])
    """
    return in_float32(lambda x: x / (abs(x) + 1))(tensor_argument("softsign", input))  # pyright: ignore[reportReturnType]


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """The softmax of -x along `dim`. The arguments are as in `softmax`. Mirrors ``torch.nn.functional.softmin``.

    >>> F.softmin(mg.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    tensor_argument("softmin", input)
    return softmax(-input, implicit_dim("softmin", dim, input.ndim), dtype=dtype)


def glu(input: Tensor, dim: int | None = -1) -> Tensor:
    """a sigmoid(b), where a and b are the halves of `input` along `dim` (Dauphin et al., 2017).

    Args:
        input (Tensor): of any shape and floating point dtype.
        dim (int): a dimension of even size. The result has half that size.

    Mirrors ``torch.nn.functional.glu``.

    Raises:
        RuntimeError: the size of the dimension is odd, or `input` is 0-d.

    >>> F.glu(mg.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """
    tensor_argument("glu", input)
    if input.ndim == 0:
        raise ShapeError("MG-E205", "glu does not support scalars because halving size must be even")
    at = dimension(dim, input.ndim)
    if input.dtype.is_complex:
        raise DtypeError("MG-E203", "glu is not implemented for complex numbers", found=input.dtype.name)
    if input.shape[at] % 2:
        raise ShapeError("MG-E204", f"Halving dimension must be even, but dimension {at} is size {input.shape[at]}")
    reject_integers("glu", input)
    return call(Glu.op, (input, dim))


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x, below 0 weight · x, with a single weight or one per channel (He et al., 2015).

    Args:
        input (Tensor): (N, C, ...), of a floating point dtype; or of any shape with a single weight.
        weight (Tensor): (C), (1) or 0-d.

    Mirrors ``torch.nn.functional.prelu``.

    Raises:
        RuntimeError: the number of weights is neither 1 nor the number of channels.

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
    return call(PreluKernel.op, (require_ordered("prelu", input), reshape(weight, shape)))


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int | None = -1) -> Tensor:
    """Differentiable samples from a categorical distribution: softmax((x + noise) / τ), with Gumbel noise (Jang et al., 2017).

    Args:
        logits (Tensor): logarithms x of unnormalized probabilities.
        tau (float): the temperature τ. The smaller it is, the nearer a sample is to a one-hot vector.
        hard (bool): return one-hot vectors, with the gradient of the soft samples.
        dim (int): the dimension of the categories.

    `eps` has no effect. Mirrors ``torch.nn.functional.gumbel_softmax``.

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
