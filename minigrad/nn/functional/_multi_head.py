"""Multi-head attention: each head attends with its own projection of query, key and value.

    query (L, N, E) --Wq--> (N, H, L, D) \\
    key   (S, N, Ek) -Wk--> (N, H, S, D)  > attention of each head --> (L, N, E) --Wo--> output (L, N, E)
    value (S, N, Ev) -Wv--> (N, H, S, D) /          E = H D

The heads are a dimension beside the batch, so one matrix product computes all of them. A mask holds numbers to add to the scores:
-inf where attention is forbidden. Both masks are merged before that.

Mirrors ``multi_head_attention_forward`` of ``torch/nn/functional.py``.
"""

# pyright: reportOptionalMemberAccess=false
# (None is excluded by a flag)

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportGeneralTypeIssues=false, reportIndexIssue=false
# (the results of ops have no types inside the package)
import math
import warnings
from typing import TYPE_CHECKING

from minigrad.creation import zeros_like
from minigrad.dtypes import bool_
from minigrad.errors import AutogradAssertionError, ShapeError
from minigrad.nn.functional._attention import scaled_dot_product_attention
from minigrad.nn.functional._dropout import dropout
from minigrad.nn.functional._padding import pad
from minigrad.ops import cat, chunk, masked_fill, matmul, reshape, softmax, transpose, unsqueeze
from minigrad.ops.base.arguments import integer, real, tensor_argument, truth
from minigrad.ops.linalg.matrix import linear

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["multi_head_attention_forward"]


def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
                                 in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None,
                                 bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor,
                                 out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None,
                                 need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False,
                                 q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
                                 v_proj_weight: Tensor | None = None, static_k: Tensor | None = None,
                                 static_v: Tensor | None = None, average_attn_weights: bool = True,
                                 is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """The computation of `minigrad.nn.MultiheadAttention`, with all of its parameters as arguments.

    Args:
        query (Tensor): (L, N, E), or (L, E) without a batch.
        key (Tensor): (S, N, Ek), or (S, Ek).
        value (Tensor): (S, N, Ev), or (S, Ev).
        embed_dim_to_check (int): E.
        num_heads (int): H, a divisor of E.
        in_proj_weight (Tensor): (3 E, E): the weights of query, key and value; None with `use_separate_proj_weight`.
        in_proj_bias (Tensor, optional): (3 E).
        bias_k, bias_v (Tensor, optional): (1, 1, E), an additional key and value.
        add_zero_attn (bool): add another key and value of zeros.
        dropout_p (float): the probability of dropping a weight, in training.
        out_proj_weight (Tensor): (E, E).
        out_proj_bias (Tensor, optional): (E).
        training (bool): apply dropout.
        key_padding_mask (Tensor, optional): (N, S) or (S). A bool mask is True where a key is ignored; other numbers are added to
            the scores.
        need_weights (bool): return the weights too, which is slower.
        attn_mask (Tensor, optional): (L, S) or (N H, L, S). A bool mask is True where attention is forbidden; other numbers are
            added to the scores.
        use_separate_proj_weight (bool): use `q_proj_weight` (E, E), `k_proj_weight` (E, Ek) and `v_proj_weight` (E, Ev).
        static_k, static_v (Tensor, optional): (N H, S, D), instead of the projected key and value.
        average_attn_weights (bool): return the mean of the weights over the heads.
        is_causal (bool): a hint that `attn_mask` is the causal mask.

    Returns:
        (output, weights): the output is (L, N, E). The weights are (N, L, S), or (N, H, L, S) if not averaged, or None without
        `need_weights`. Without a batch, the dimension N is missing.

    Mirrors ``torch.nn.functional.multi_head_attention_forward``.

    Raises:
        AssertionError: a shape or a dtype does not fit.
        RuntimeError: the shape of `attn_mask` does not fit, or it is missing with `is_causal`.

    >>> x, w = mg.eye(2), mg.cat([mg.eye(2)] * 3)
    >>> y, weights = F.multi_head_attention_forward(x, x, x, 2, 1, w, None, None, None, False, 0.0, mg.eye(2), None)
    >>> weights
    tensor([[0.6698, 0.3302],
            [0.3302, 0.6698]])
    """
    function = "multi_head_attention_forward"
    embed_dim_to_check = integer(embed_dim_to_check, "embed_dim_to_check", function)
    expect(integer(num_heads, "num_heads", function) > 0, f"num_heads must be positive, but got {num_heads}")
    dropout_p = real(dropout_p, "dropout_p", function)
    add_zero_attn, training, need_weights = [truth(x, name, function) for x, name in (
        (add_zero_attn, "add_zero_attn"), (training, "training"), (need_weights, "need_weights"))]
    average_attn_weights, is_causal = [truth(x, name, function) for x, name in (
        (average_attn_weights, "average_attn_weights"), (is_causal, "is_causal"))]
    use_separate_proj_weight = truth(use_separate_proj_weight, "use_separate_proj_weight", function)
    batched = check_inputs(query, key, value, key_padding_mask, attn_mask, num_heads)
    if key_padding_mask is not None and attn_mask is not None and key_padding_mask.dtype is not attn_mask.dtype:
        warnings.warn("Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for both instead.",
                      UserWarning, stacklevel=3)
    if is_causal and attn_mask is None:
        raise ShapeError("MG-E360", "Need attn_mask if specifying the is_causal hint.",
                         fix="attn_mask=nn.Transformer.generate_square_subsequent_mask(L)")
    # The hint can replace the mask only if no other mask is added and no weights are returned.
    is_causal = is_causal and key_padding_mask is None and not need_weights
    attn_mask = None if is_causal else as_float_mask("attn_mask", attn_mask, query.dtype)
    key_padding_mask = as_float_mask("key_padding_mask", key_padding_mask, query.dtype)
    if not batched:
        query, key, value = add_batch_dimension(query, key, value)
        key_padding_mask = None if key_padding_mask is None else unsqueeze(key_padding_mask, 0)
    length, batch, size = query.shape
    expect(size == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}")
    expect(size % num_heads == 0, f"embed_dim {size} not divisible by num_heads {num_heads}")
    head = size // num_heads
    if use_separate_proj_weight:
        expect(key.shape[:2] == value.shape[:2], f"key's sequence and batch dims {list(key.shape[:2])} do not match value's "
               f"{list(value.shape[:2])}")
        check_bias(in_proj_bias, size)
        biases = (None, None, None) if in_proj_bias is None else chunk(in_proj_bias, 3)
        weights = [require_weight(w, name) for w, name in ((q_proj_weight, "q"), (k_proj_weight, "k"), (v_proj_weight, "v"))]
        q, k, v = [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]
    else:
        expect(key.shape == value.shape, f"key shape {list(key.shape)} does not match value shape {list(value.shape)}")
        expect(in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        expect(tensor_argument("multi_head_attention_forward", in_proj_weight, "in_proj_weight").shape[:1] == (3 * size,),
               f"in_proj_weight must have {3 * size} rows")
        check_bias(in_proj_bias, size)
        q, k, v = project(query, key, value, in_proj_weight, in_proj_bias)

    attn_mask = check_attn_mask(attn_mask, (length, key.shape[0]), batch * num_heads)
    more = 0                # additional keys after those of the input
    expect((bias_k is None) == (bias_v is None), "bias_k and bias_v must both be None, or neither")
    if bias_k is not None:
        expect(static_k is None and static_v is None, "bias cannot be added to static key or value.")
        k, v = [cat([x, b.expand(1, batch, size)]) for x, b in ((k, bias_k), (v, bias_v))]
        more += 1
    q = split_heads(q, num_heads)
    k, v = [split_heads(x, num_heads) if static is None else split_static(static, name, (batch, num_heads, head))
            for x, static, name in ((k, static_k, "static_k"), (v, static_v, "static_v"))]
    if add_zero_attn:
        k, v = [pad(x, (0, 0, 0, 1)) for x in (k, v)]
        more += 1
    source = k.shape[2]
    if more:
        attn_mask, key_padding_mask = [mask if mask is None else pad(mask, (0, more)) for mask in (attn_mask, key_padding_mask)]
    mask = merge_masks(attn_mask, key_padding_mask, batch, num_heads, source)

    dropout_p = dropout_p if training else 0.0
    if need_weights:
        scores = matmul(q * (1 / math.sqrt(head)), transpose(k, -2, -1))
        weights = softmax(scores if mask is None else scores + mask, -1)
        weights = dropout(weights, dropout_p) if dropout_p > 0 else weights
        z = matmul(weights, v)
        weights = weights.mean(1) if average_attn_weights else weights
        weights = weights if batched else weights.squeeze(0)
    else:
        z, weights = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal), None
    z = linear(reshape(z.permute(2, 0, 1, 3), (length, batch, size)), out_proj_weight, out_proj_bias)
    return z if batched else z.squeeze(1), weights


def check_bias(bias, size):
    """Raise unless `bias` is None or has an element for each row of the three matrices."""
    expect(bias is None or tensor_argument("multi_head_attention_forward", bias, "in_proj_bias").shape == (3 * size,),
           f"in_proj_bias must have the shape [{3 * size}]")


def expect(condition, what, expected=None, found=None):
    """Raise `AssertionError`, as PyTorch does here, unless the condition holds."""
    if not condition:
        raise AutogradAssertionError("MG-E360", what, expected=expected, found=found)


def require_weight(weight, letter):
    """Return `weight`; raise if it is None."""
    expect(weight is not None, f"use_separate_proj_weight is True but {letter}_proj_weight is None")
    return weight


def check_inputs(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Return whether the inputs have a batch dimension; raise unless the dimensions of all inputs and masks fit."""
    for i, (name, x) in enumerate((("query", query), ("key", key), ("value", value)), 1):
        tensor_argument("multi_head_attention_forward", x, name, i)
    expect(query.ndim in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query tensor")
    batched = query.ndim == 3
    kind = f"For {'batched (3-D)' if batched else 'unbatched (2-D)'} `query`, expected"
    expect(key.ndim == value.ndim == query.ndim, f"{kind} `key` and `value` to be {query.ndim}-D but found {key.ndim}-D and "
           f"{value.ndim}-D tensors respectively")
    for name, mask in (("key_padding_mask", key_padding_mask), ("attn_mask", attn_mask)):
        if mask is not None:
            tensor_argument("multi_head_attention_forward", mask, name)
    if key_padding_mask is not None:
        wanted, found = query.ndim - 1, key_padding_mask.ndim
        expect(found == wanted, f"{kind} `key_padding_mask` to be `None` or {wanted}-D but found {found}-D tensor instead")
        for dim, size in enumerate((key.shape[1], key.shape[0]) if batched else (key.shape[0],)):
            expect(key_padding_mask.shape[dim] == size,
                   f"Expected key_padded_mask.shape[{dim}] to be {size}, but got {key_padding_mask.shape[dim]}")
    if attn_mask is not None:
        expect(attn_mask.ndim in (2, 3), f"{kind} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D tensor instead")
        if attn_mask.ndim == 3 and not batched:
            wanted = (num_heads, query.shape[0], key.shape[0])
            expect(tuple(attn_mask.shape) == wanted, f"Expected `attn_mask` shape to be {wanted} but got {list(attn_mask.shape)}")
    return batched


def as_float_mask(name, mask, dtype):
    """Return the mask as numbers to add to the scores. True becomes -inf."""
    if mask is None or mask.is_floating_point():
        return mask
    expect(mask.dtype is bool_, f"only bool and floating types of {name} are supported", found=str(mask.dtype))
    return masked_fill(zeros_like(mask, dtype=dtype), mask, -math.inf)


def add_batch_dimension(query, key, value):
    """Add a batch dimension of size 1. Inputs that were the same tensor remain the same tensor: `project` needs that."""
    q = unsqueeze(query, 1)
    k = q if key is query else unsqueeze(key, 1)
    return q, k, k if value is key else unsqueeze(value, 1)


def project(query, key, value, weight, bias):
    """Return (q, k, v), such as q = query Wqᵀ + bq. Inputs that are the same tensor share one matrix product."""
    size = query.shape[-1]
    if query is key and key is value:
        return chunk(linear(query, weight, bias), 3, -1)
    if key is value:
        own, other = weight.split([size, 2 * size])
        b, c = (None, None) if bias is None else bias.split([size, 2 * size])
        return linear(query, own, b), *chunk(linear(key, other, c), 2, -1)
    biases = (None, None, None) if bias is None else chunk(bias, 3)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), chunk(weight, 3), biases)]


def split_heads(x, count):
    """(S, N, E) -> (N, H, S, D)"""
    length, batch, size = x.shape
    return reshape(x, (length, batch, count, size // count)).permute(1, 2, 0, 3)


def split_static(x, name, sizes):
    """(N H, S, D) -> (N, H, S, D); raise unless the shape fits."""
    batch, count, head = sizes
    expect(tensor_argument("multi_head_attention_forward", x, name).ndim == 3, f"{name} must have 3 dimensions", found=f"{x.ndim}")
    expect(x.shape[0] == batch * count, f"expecting {name}.size(0) of {batch * count}, but got {x.shape[0]}")
    expect(x.shape[2] == head, f"expecting {name}.size(2) of {head}, but got {x.shape[2]}")
    return reshape(x, (batch, count, *x.shape[1:]))


def check_attn_mask(mask, scores, rows):
    """Return `mask` with three dimensions; raise unless it fits `scores` = (L, S) and `rows` = N H."""
    if mask is None:
        return None
    wanted = scores if mask.ndim == 2 else (rows, *scores)
    if tuple(mask.shape) != wanted:
        raise ShapeError("MG-E360", f"The shape of the {mask.ndim}D attn_mask is {list(mask.shape)}, but should be {wanted}.")
    return unsqueeze(mask, 0) if mask.ndim == 2 else mask


def merge_masks(attn_mask, key_padding_mask, batch, count, source):
    """Merge both masks, each of which may be None, into one that broadcasts to (N, H, L, S)."""
    if attn_mask is not None and attn_mask.shape[0] != 1:
        attn_mask = reshape(attn_mask, (batch, count, -1, source))
    if key_padding_mask is None:
        return attn_mask
    key_padding_mask = reshape(key_padding_mask, (batch, 1, 1, source))
    return key_padding_mask if attn_mask is None else attn_mask + key_padding_mask
