"""Attention with several heads: each looks at its own part of the features, and for another pattern.

    query (L, N, E) --Wq--> (N, H, L, D) \\
    key   (S, N, Ek) -Wk--> (N, H, S, D)  > attention of each head --> (L, N, E) --Wo--> output (L, N, E)
    value (S, N, Ev) -Wv--> (N, H, S, D) /          E = H D

All heads are one product of matrices: they are a dimension beside that of the batch. Masks are numbers that are added to the
scores, -inf where attention is forbidden; both masks become one before they meet them.

Mirrors ``multi_head_attention_forward`` of ``torch/nn/functional.py``.
"""

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportGeneralTypeIssues=false, reportIndexIssue=false
# (the results of ops have no types inside the package)

import math
import warnings

from minigrad.creation import zeros_like
from minigrad.dtypes import bool_
from minigrad.errors import AutogradAssertionError, ShapeError
from minigrad.nn.functional._attention import scaled_dot_product_attention
from minigrad.nn.functional._dropout import dropout
from minigrad.nn.functional._padding import pad
from minigrad.ops import cat, chunk, masked_fill, matmul, reshape, softmax, transpose, unsqueeze
from minigrad.ops.base.rule import integer, real, tensor_argument, truth
from minigrad.ops.linalg.matrix import linear

__all__ = ["multi_head_attention_forward"]


def multi_head_attention_forward(query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v,
                                 add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None,
                                 need_weights=True, attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None,
                                 k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, average_attn_weights=True,
                                 is_causal=False):
    """What `minigrad.nn.MultiheadAttention` computes, with all of its parameters as arguments.

    Args:
        query (Tensor): (L, N, E), or (L, E) without a batch.
        key (Tensor): (S, N, Ek), or (S, Ek).
        value (Tensor): (S, N, Ev), or (S, Ev).
        embed_dim_to_check (int): E.
        num_heads (int): H, which divides E.
        in_proj_weight (Tensor): (3 E, E), those of query, key and value; None with `use_separate_proj_weight`.
        in_proj_bias (Tensor, optional): (3 E).
        bias_k, bias_v (Tensor, optional): (1, 1, E), one more key and value.
        add_zero_attn (bool): one more key and value, of zeros.
        dropout_p (float): how much of the weights is dropped, if `training`.
        out_proj_weight, out_proj_bias (Tensor): (E, E) and (E), the bias optional.
        key_padding_mask (Tensor, optional): (N, S) or (S): True where a key is to be ignored, or numbers that are added.
        need_weights (bool): return the weights too, which is slower.
        attn_mask (Tensor, optional): (L, S) or (N H, L, S): True where attention is forbidden, or numbers that are added.
        use_separate_proj_weight (bool): take `q_proj_weight` (E, E), `k_proj_weight` (E, Ek) and `v_proj_weight` (E, Ev).
        static_k, static_v (Tensor, optional): (N H, S, D), instead of the projected key and value.
        average_attn_weights (bool): return the mean of the weights over the heads.
        is_causal (bool): says that `attn_mask` is the causal mask.

    Returns:
        (output, weights): (L, N, E), and (N, L, S), or (N, H, L, S) if not averaged, or None. Without a batch there is no N.

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
    # The hint can stand for the mask only where no other mask is added to it.
    is_causal = is_causal and key_padding_mask is None and not need_weights
    attn_mask = None if is_causal else added("attn_mask", attn_mask, query.dtype)
    key_padding_mask = added("key_padding_mask", key_padding_mask, query.dtype)
    if not batched:
        query, key, value = one_batch(query, key, value)
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
        weights = [given(w, name) for w, name in ((q_proj_weight, "q"), (k_proj_weight, "k"), (v_proj_weight, "v"))]
        q, k, v = [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]
    else:
        expect(key.shape == value.shape, f"key shape {list(key.shape)} does not match value shape {list(value.shape)}")
        expect(in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        expect(tensor_argument("multi_head_attention_forward", in_proj_weight, "in_proj_weight").shape[:1] == (3 * size,),
               f"in_proj_weight must have {3 * size} rows")
        check_bias(in_proj_bias, size)
        q, k, v = projected(query, key, value, in_proj_weight, in_proj_bias)

    attn_mask = checked_mask(attn_mask, (length, key.shape[0]), batch * num_heads)
    more = 0                # keys that stand behind those of the input
    expect((bias_k is None) == (bias_v is None), "bias_k and bias_v are given together")
    if bias_k is not None:
        expect(static_k is None and static_v is None, "bias cannot be added to static key or value.")
        k, v = [cat([x, b.expand(1, batch, size)]) for x, b in ((k, bias_k), (v, bias_v))]
        more += 1
    q = heads(q, num_heads)
    k, v = [heads(x, num_heads) if static is None else checked_static(static, name, (batch, num_heads, head))
            for x, static, name in ((k, static_k, "static_k"), (v, static_v, "static_v"))]
    if add_zero_attn:
        k, v = [pad(x, (0, 0, 0, 1)) for x in (k, v)]
        more += 1
    source = k.shape[2]
    if more:
        attn_mask, key_padding_mask = [mask if mask is None else pad(mask, (0, more)) for mask in (attn_mask, key_padding_mask)]
    mask = merged(attn_mask, key_padding_mask, batch, num_heads, source)

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
    """Raise unless `bias`, if there is one, has a number for each row of the three matrices."""
    expect(bias is None or tensor_argument("multi_head_attention_forward", bias, "in_proj_bias").shape == (3 * size,),
           f"in_proj_bias must have the shape [{3 * size}]")


def expect(condition, what, expected=None, found=None):
    """Raise `AssertionError`, as PyTorch does here, unless the condition holds."""
    if not condition:
        raise AutogradAssertionError("MG-E360", what, expected=expected, found=found)


def given(weight, letter):
    """A weight that must be there."""
    expect(weight is not None, f"use_separate_proj_weight is True but {letter}_proj_weight is None")
    return weight


def check_inputs(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether there is a batch; raise unless all dimensions say the same."""
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


def added(name, mask, dtype):
    """A mask as numbers to be added to the scores: where a bool mask is True, -inf."""
    if mask is None or mask.is_floating_point():
        return mask
    expect(mask.dtype is bool_, f"only bool and floating types of {name} are supported", found=str(mask.dtype))
    return masked_fill(zeros_like(mask, dtype=dtype), mask, -math.inf)


def one_batch(query, key, value):
    """The inputs with a batch of one. Those that were the same tensor are it still: see `projected`."""
    q = unsqueeze(query, 1)
    k = q if key is query else unsqueeze(key, 1)
    return q, k, k if value is key else unsqueeze(value, 1)


def projected(query, key, value, weight, bias):
    """q = query Wqᵀ + bq and its like; one product for all three where they are one tensor, one for key and value else."""
    size = query.shape[-1]
    if query is key and key is value:
        return chunk(linear(query, weight, bias), 3, -1)
    if key is value:
        own, other = weight.split([size, 2 * size])
        b, c = (None, None) if bias is None else bias.split([size, 2 * size])
        return linear(query, own, b), *chunk(linear(key, other, c), 2, -1)
    biases = (None, None, None) if bias is None else chunk(bias, 3)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), chunk(weight, 3), biases)]


def heads(x, count):
    """(S, N, E) -> (N, H, S, D)"""
    length, batch, size = x.shape
    return reshape(x, (length, batch, count, size // count)).permute(1, 2, 0, 3)


def checked_static(x, name, sizes):
    """(N H, S, D) -> (N, H, S, D)"""
    batch, count, head = sizes
    expect(tensor_argument("multi_head_attention_forward", x, name).ndim == 3, f"{name} must have 3 dimensions", found=f"{x.ndim}")
    expect(x.shape[0] == batch * count, f"expecting {name}.size(0) of {batch * count}, but got {x.shape[0]}")
    expect(x.shape[2] == head, f"expecting {name}.size(2) of {head}, but got {x.shape[2]}")
    return reshape(x, (batch, count, *x.shape[1:]))


def checked_mask(mask, scores, rows):
    """An attn_mask with three dimensions; raise unless it fits the scores (L, S) of `rows` heads."""
    if mask is None:
        return None
    wanted = scores if mask.ndim == 2 else (rows, *scores)
    if tuple(mask.shape) != wanted:
        raise ShapeError("MG-E360", f"The shape of the {mask.ndim}D attn_mask is {list(mask.shape)}, but should be {wanted}.")
    return unsqueeze(mask, 0) if mask.ndim == 2 else mask


def merged(attn_mask, key_padding_mask, batch, count, source):
    """One mask that broadcasts to (N, H, L, S), of the two that may be there."""
    if attn_mask is not None and attn_mask.shape[0] != 1:
        attn_mask = reshape(attn_mask, (batch, count, -1, source))
    if key_padding_mask is None:
        return attn_mask
    key_padding_mask = reshape(key_padding_mask, (batch, 1, 1, source))
    return key_padding_mask if attn_mask is None else attn_mask + key_padding_mask
