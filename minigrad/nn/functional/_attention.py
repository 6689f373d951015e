"""Scaled dot-product attention: a mean of values, weighted by how well each key matches the query.

    scores  (..., L, S) = query (..., L, E) @ keyᵀ (..., E, S) · scale
    output  (..., L, Ev) = softmax(scores over S) @ value (..., S, Ev)

Mirrors ``torch.nn.functional.scaled_dot_product_attention`` and ``aten/src/ATen/native/transformers/attention.cpp``.
"""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportIndexIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)
import math
from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad.creation import ones
from minigrad.dtypes import bool_
from minigrad.errors import ArgumentError, ShapeError
from minigrad.nn.functional._dropout import dropout
from minigrad.ops import matmul, reshape, softmax, transpose, tril, where
from minigrad.ops.base.arguments import real, tensor_argument, truth
from minigrad.ops.base.autocast import cast_operands
from minigrad.ops.nn.attention import Attention

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["scaled_dot_product_attention"]


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    """softmax(Q Kᵀ / √E + mask) V (Vaswani et al., "Attention is all you need", 2017).

    Args:
        query (Tensor): (..., L, E).
        key (Tensor): (..., S, E).
        value (Tensor): (..., S, Ev).
        attn_mask (Tensor, optional): broadcasts to (..., L, S). A bool mask is True where attention is allowed; other numbers are
            added to the scores. A query that may attend to no key gets the output 0.
        dropout_p (float): the probability of dropping a weight. It applies outside training too, so pass 0 there.
        is_causal (bool): query i attends to the keys 0 to i only.
        scale (float, optional): the factor of the scores; 1 / √E by default.
        enable_gqa (bool): grouped-query attention: each head of key and value (dimension -3) serves several heads of the query.

    Returns:
        Tensor: (..., L, Ev).

    Mirrors ``torch.nn.functional.scaled_dot_product_attention``.

    Raises:
        RuntimeError: `attn_mask` is given with `is_causal`, or the shapes do not fit.

    >>> q = mg.tensor([[1., 0.]])
    >>> F.scaled_dot_product_attention(q, mg.tensor([[0., 0.], [0., 0.]]), mg.tensor([[1.], [3.]]))
    tensor([[2.]])
    """
    query, key, value, attn_mask = cast_operands("scaled_dot_product_attention", query, key, value, attn_mask)
    for i, (name, x) in enumerate((("query", query), ("key", key), ("value", value)), 1):
        tensor_argument("scaled_dot_product_attention", x, name, i)
        if x.ndim < 2:
            raise ShapeError("MG-E205", "scaled_dot_product_attention: Expected query, key, and value to all be at least 2 "
                             "dimensional", found=f"{name} with {x.ndim} dimensions")
    is_causal, enable_gqa = [truth(x, name, "scaled_dot_product_attention") for x, name in (
        (is_causal, "is_causal"), (enable_gqa, "enable_gqa"))]
    if attn_mask is not None:
        tensor_argument("scaled_dot_product_attention", attn_mask, "attn_mask", 4)
    dropout_p = real(dropout_p, "dropout_p", "scaled_dot_product_attention")
    if attn_mask is not None and is_causal:
        raise ArgumentError("MG-E332", "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        key, value = [repeat_heads(x, query.shape[-3] if query.ndim > 2 else 1) for x in (key, value)]
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else real(scale, "scale", "scaled_dot_product_attention")
    if attn_mask is None and dropout_p == 0 and query.dtype.is_floating_point and has_rule(query, key, value):
        return call(Attention.op, (query, key, value, factor, bool(is_causal)))[0]
    scores = matmul(query * factor, transpose(key, -2, -1))
    if is_causal:
        attn_mask = tril(ones(*scores.shape[-2:], dtype=bool_, device=query.device))
    if attn_mask is not None and attn_mask.dtype is bool_:
        scores = where(attn_mask, scores, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    if attn_mask is None:
        weights = softmax(scores, -1)
    else:       # softmax of a row of -inf would be 0 / 0
        nothing = (scores == -math.inf).all(-1, True)
        weights = where(nothing, 0.0, softmax(where(nothing, 0.0, scores), -1))
    return matmul(dropout(weights, dropout_p) if dropout_p > 0 else weights, value)


def has_rule(query, key, value):
    """Whether the rule `Attention` can compute it: nothing must be broadcast, and all dtypes are equal."""
    return (query.shape[:-2] == key.shape[:-2] == value.shape[:-2] and query.shape[-1] == key.shape[-1]
            and key.shape[-2] == value.shape[-2] and query.dtype is key.dtype is value.dtype)


def repeat_heads(x, heads):
    """(..., H, S, E) -> (..., heads, S, E): each head is repeated heads / H times."""
    if x.ndim < 3 or heads % x.shape[-3]:
        raise ShapeError("MG-E204", "scaled_dot_product_attention: number of heads in key and value must divide the number of "
                         "heads in query", expected=f"a divisor of {heads}", found=f"shape {list(x.shape)}")
    *lead, own, length, size = x.shape
    return reshape(x.unsqueeze(-3).expand(*lead, own, heads // own, length, size), (*lead, heads, length, size))
