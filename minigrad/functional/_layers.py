"""Layers at the root: ``mg.dropout(x, p, train)`` and others, with the arguments in the order of ``torch._C``.

`nn.functional` has the same functions, with the arguments in the order that programs use. Mirrors ``torch._C._VariableFunctions``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.nn import functional as F
from minigrad.nn.functional import (
    celu,
    cosine_similarity,
    group_norm,
    hardshrink,
    layer_norm,
    pairwise_distance,
    prelu,
    rms_norm,
)
from minigrad.ops.base.arguments import integer, tensor_argument

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["alpha_dropout", "alpha_dropout_", "batch_norm", "celu", "cosine_similarity", "dropout", "dropout_", "embedding",
           "feature_alpha_dropout", "group_norm", "hardshrink", "instance_norm", "layer_norm", "pairwise_distance", "prelu",
           "rms_norm", "selu"]


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`F.dropout`, with all arguments. Mirrors ``torch.dropout``.

    >>> mg.dropout(mg.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return F.dropout(input, p, train)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`F.dropout` in place. Mirrors ``torch.dropout_``.

    >>> mg.dropout_(mg.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return F.dropout(input, p, train, True)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`F.alpha_dropout`, with all arguments. Mirrors ``torch.alpha_dropout``.

    >>> mg.alpha_dropout(mg.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return F.alpha_dropout(input, p, train)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """`F.alpha_dropout` in place. Mirrors ``torch.alpha_dropout_``.

    >>> mg.alpha_dropout_(mg.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return F.alpha_dropout(input, p, train, True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`F.feature_alpha_dropout`, with all arguments. Mirrors ``torch.feature_alpha_dropout``.

    >>> mg.feature_alpha_dropout(mg.ones(1, 2, 1), 0.5, False).shape
    minigrad.Size([1, 2, 1])
    """
    return F.feature_alpha_dropout(input, p, train)


def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
               training: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:
    """`F.batch_norm` in another order. `cudnn_enabled` has no effect. Mirrors ``torch.batch_norm``.

    >>> mg.batch_norm(mg.ones(2, 1), None, None, mg.zeros(1), mg.ones(1), False, 0.1, 0.0, False)
    tensor([[1.],
            [1.]])
    """
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                  running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:
    """`F.instance_norm` in another order. `cudnn_enabled` has no effect. Mirrors ``torch.instance_norm``.

    >>> mg.instance_norm(mg.ones(1, 1, 2), None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[[0., 0.]]])
    """
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def selu(input: Tensor) -> Tensor:
    """`F.selu`, without `inplace`. Mirrors ``torch.selu``.

    >>> mg.selu(mg.tensor([-1., 2.]))
    tensor([-1.1113, 2.1014])
    """
    return F.selu(input)


def embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Tensor:
    """The rows `indices` of `weight`: `F.embedding` in another order. Mirrors ``torch.embedding``.

    >>> mg.embedding(mg.tensor([[1.], [2.]]), mg.tensor([1, 0]))
    tensor([[2.],
            [1.]])
    """
    padding_idx = integer(padding_idx, "padding_idx", "embedding")
    # one that names no row has no effect
    named = tensor_argument("embedding", weight, "weight").ndim and 0 <= padding_idx < weight.shape[0]
    return F.embedding(indices, weight, padding_idx if named else None, scale_grad_by_freq=scale_grad_by_freq,
                       sparse=sparse)
