"""Piecewise activation functions: they check their arguments and call the op.

    leaky_relu prelu            x, and below 0 a slope
    hardtanh relu6              x between two bounds
    hardsigmoid hardswish       a step with a straight slope; x times this step
    threshold                   x above a number, else a value
    softshrink hardshrink       0 between -λ and λ; beyond, x moved towards 0, or x itself

Their rules are in ``ops/nn/piecewise.py``. The smooth activations, and what both kinds share, are in ``_activations.py``.

Mirrors the activations of ``torch/nn/functional.py`` and ``aten/src/ATen/native/Activation.cpp``.
"""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportIndexIssue=false
# (the results of ops have no types inside the package)
import math
from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.apply import call
from minigrad.errors import ArgumentError, DtypeError, ShapeError, TensorValueError
from minigrad.nn.functional._activations import apply_rule, require_ordered
from minigrad.ops import reshape, where
from minigrad.ops.base.arguments import convert_number, number, real, tensor_argument, truth
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
    from minigrad.types import Tensor

__all__ = ["hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "prelu", "relu6", "softshrink", "threshold"]


def apply_formula(name, formula, input, inplace=False):
    """Return ``formula(input)``. With `inplace`, apply the formula to a copy and write the result over `input`."""
    return input.copy_(formula(input.clone())) if truth(inplace, "inplace", name) else formula(input)


def real_factor(value, x):
    """Return `value`, a factor or replacement for elements of the real tensor `x`; raise if it is complex."""
    return convert_number(value, x.dtype) if isinstance(value, (complex, np.complexfloating)) else value


def has_integers(x):
    """Whether `x` is a tensor of integers. A bool does not count as an integer."""
    return isinstance(x, TensorBase) and not x.dtype.differentiable and x.dtype.name != "bool"


def cast_like(x, z):
    """Cast `z` to the dtype of `x`."""
    return z if z.dtype is x.dtype else z.to(x.dtype)


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
    dtype = tensor_argument("hardtanh", input).dtype
    return apply_limits(input, convert_number(min_val, dtype), convert_number(max_val, dtype), inplace)


def apply_limits(input, min_val, max_val, inplace):
    """hardtanh, for limits that fit the dtype of `input`."""
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
    return apply_limits(tensor_argument("hardtanh", input), 0.0, 6.0, inplace)


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
        threshold, value = convert_number(threshold, input.dtype), convert_number(value, input.dtype)
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
