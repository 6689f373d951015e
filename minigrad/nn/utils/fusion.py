"""A layer and the batch normalization after it as one layer, for evaluation. Mirrors ``torch/nn/utils/fusion.py``."""

from __future__ import annotations

# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportArgumentType=false
import copy
from typing import TYPE_CHECKING

from minigrad._arguments import instance
from minigrad.creation import ones_like, zeros_like
from minigrad.errors import AutogradAssertionError
from minigrad.nn.modules.batchnorm import _BatchNorm
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops import rsqrt
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a convolution that computes what `bn` computes from the output of `conv`.

    Args:
        conv (Module): a convolution, in evaluation mode.
        bn (Module): a batch normalization with running statistics, in evaluation mode.
        transpose (bool): `conv` is a transposed convolution.

    Mirrors ``torch.nn.utils.fusion.fuse_conv_bn_eval``.

    Raises:
        AssertionError: a module is in training mode, or `bn` has no running statistics.

    >>> conv, bn = nn.Conv2d(1, 2, 3).eval(), nn.BatchNorm2d(2).eval()
    >>> x = mg.ones(1, 1, 4, 4)
    >>> mg.allclose(nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    fused = copy_for_fusion(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
                                                    bn.bias, transpose)
    return fused


def copy_for_fusion(layer, bn):
    """Return a copy of `layer`; raise unless both modules can be fused."""
    instance(layer, Module, "the layer", "fuse")
    instance(bn, _BatchNorm, "bn", "fuse", "a batch normalization")
    if layer.training or bn.training:
        raise AutogradAssertionError("MG-E302", "Fusion only for eval!", fix="call .eval() on both modules")
    if bn.running_mean is None or bn.running_var is None:
        raise AutogradAssertionError("MG-E302", "bn.running_mean and bn.running_var must not be None",
                                     fix="a batch normalization with track_running_stats=True")
    return copy.deepcopy(layer)


def check_tensors(function, optional=False, **values):
    """Raise `TypeError` unless the values are tensors, or None if they are `optional`."""
    for name, value in values.items():
        if not (optional and value is None):
            instance(value, Tensor, name, function)


def fuse_conv_bn_weights(conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
                         bn_b: Tensor | None, transpose: bool = False) -> tuple[Parameter, Parameter]:
    """Return weight and bias of the convolution that `fuse_conv_bn_eval` makes.

    Args:
        conv_w, conv_b (Tensor): weight and bias of the convolution.
        bn_rm, bn_rv (Tensor): the running mean and variance.
        bn_eps (float): what is added to the variance.
        bn_w, bn_b (Tensor, optional): weight and bias of the batch normalization.
        transpose (bool): the convolution is a transposed one.

    Mirrors ``torch.nn.utils.fusion.fuse_conv_bn_weights``.

    >>> w, b = nn.utils.fuse_conv_bn_weights(mg.ones(1, 1, 1), None, mg.ones(1), mg.full((1,), 4.), 0.0, None, None)
    >>> w.tolist(), b.tolist()
    ([[[0.5]]], [-0.5])
    """
    check_tensors("fuse_conv_bn_weights", conv_w=conv_w, bn_rm=bn_rm, bn_rv=bn_rv)
    check_tensors("fuse_conv_bn_weights", optional=True, conv_b=conv_b, bn_w=bn_w, bn_b=bn_b)
    bias = zeros_like(bn_rm) if conv_b is None else conv_b
    scale = (ones_like(bn_rm) if bn_w is None else bn_w) * rsqrt(bn_rv + bn_eps)
    shape = [1, -1] if transpose else [-1, 1]
    weight = (conv_w * scale.reshape(shape + [1] * (conv_w.ndim - 2))).to(conv_w.dtype)
    bias = ((bias - bn_rm) * scale + (0.0 if bn_b is None else bn_b)).to(conv_w.dtype if conv_b is None else conv_b.dtype)
    return Parameter(weight, conv_w.requires_grad), Parameter(bias, conv_b is not None and conv_b.requires_grad)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a linear layer that computes what `bn` computes from the output of `linear`.

    Args:
        linear (Module): a `Linear`, in evaluation mode.
        bn (Module): a batch normalization with running statistics, in evaluation mode.

    Mirrors ``torch.nn.utils.fusion.fuse_linear_bn_eval``.

    Raises:
        AssertionError: a module is in training mode, the sizes differ, or `bn` has no running statistics.

    >>> linear, bn = nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval()
    >>> x = mg.ones(4, 3)
    >>> mg.allclose(nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-6)
    True
    """
    fused = copy_for_fusion(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AutogradAssertionError("MG-E302", "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
                                     f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}")
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
                                                      bn.bias)
    return fused


def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor,
                           bn_b: Tensor) -> tuple[Parameter, Parameter]:
    """Return weight and bias of the linear layer that `fuse_linear_bn_eval` makes.

    Args:
        linear_w, linear_b (Tensor): weight and bias of the linear layer.
        bn_rm, bn_rv (Tensor): the running mean and variance.
        bn_eps (float): what is added to the variance.
        bn_w, bn_b (Tensor): weight and bias of the batch normalization.

    Mirrors ``torch.nn.utils.fusion.fuse_linear_bn_weights``.

    >>> w, b = nn.utils.fuse_linear_bn_weights(mg.ones(1, 1), None, mg.ones(1), mg.full((1,), 4.), 0.0, mg.ones(1), mg.zeros(1))
    >>> w.tolist(), b.tolist()
    ([[0.5]], [-0.5])
    """
    check_tensors("fuse_linear_bn_weights", linear_w=linear_w, bn_rm=bn_rm, bn_rv=bn_rv, bn_w=bn_w, bn_b=bn_b)
    check_tensors("fuse_linear_bn_weights", optional=True, linear_b=linear_b)
    bias = zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * rsqrt(bn_rv + bn_eps)
    weight = linear_w * scale.unsqueeze(-1).to(linear_w.dtype)
    bias = ((bias - bn_rm) * scale + bn_b).to(linear_w.dtype if linear_b is None else linear_b.dtype)
    return Parameter(weight, linear_w.requires_grad), Parameter(bias, linear_b is not None and linear_b.requires_grad)
