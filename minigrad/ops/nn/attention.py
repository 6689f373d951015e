"""Attention as one rule: the softmax scales and masks the scores while it reads them.

    S = scale Q Kᵀ          W = softmax(S), causal or not           Z = W V

The weights W are an output too, so that they are saved and second derivatives go through them. Flash attention (Dao et al.,
2022) does not save them, but recomputes them block by block: less memory, the same numbers.

A CPU has a kernel for all of it, and one for the gradients. A GPU computes both by the kernels of products and of softmax. Under
``create_graph`` the gradients are computed by ops (`by_ops`), which are recorded.

For float16 on a CPU, we compute everything in float32, the saved weights too. Only the results, z and the derivatives, are
rounded. (A GPU multiplies float16 matrices many times as fast, so there the scores and the weights are float16.)

Mirrors ``aten/src/ATen/native/transformers/attention.cpp``.
"""

from typing import Any

import numpy as np

from minigrad._core.graph.thread_state import current
from minigrad._core.record.apply import call
from minigrad.ops.base.precision import round_to, to_wide
from minigrad.ops.base.rule import Op, op
from minigrad.ops.linalg.matrix import Bmm
from minigrad.ops.nn.softmax import SoftmaxBackward
from minigrad.ops.shape.clone_cast import cast
from minigrad.ops.shape.views import transpose

__all__: list[str] = []


@op("scaled_dot_product_attention", "ScaledDotProductFlashAttentionForCpu0")
class Attention(Op):
    """z = softmax(scale Q Kᵀ) V"""

    inputs = 3
    outputs = ("z", "weights")
    torch_names = {"q": "query", "s": "key", "v": "value", "z": "output", "causal": "is_causal"}

    def forward(k, q, s, v, scale, causal):
        if isinstance(q, np.ndarray):
            z, weights = k.attention(to_wide(k, q), to_wide(k, s), to_wide(k, v), scale, causal)
            return round_to(k, z, q), weights
        across = k.permute(s, (*range(s.ndim - 2), s.ndim - 1, s.ndim - 2))
        weights = k.attention_weights(k.matmul(q, across), scale, causal)
        return round_to(k, k.matmul(weights, v), q), weights

    def vjp(g, needs, q, s, v, weights, scale, causal):
        gz, gw = g
        state = current()
        if gw is not None or state.grad_enabled or state.forward or q.dtype is not weights.dtype or q.device.type != "cpu":
            return by_ops(gz, gw, needs, q, s, v, weights, scale)
        found = call(AttentionBackward.op, (gz, q, s, v, weights, scale, causal, needs))
        return [d if need else None for d, need in zip(found, needs)]

    def jvp(ts, q, s, v, weights, scale):
        like = q
        tq, tk, tv, q, s, v = [in_dtype_of(x, weights) for x in (*ts, q, s, v)]
        scores = z = tw = None
        if tq is not None:
            scores = product(tq, transpose(s, -2, -1)) * scale
        if tk is not None:
            more = product(q, transpose(tk, -2, -1)) * scale
            scores = more if scores is None else scores + more
        if scores is not None:
            tw = call(SoftmaxBackward.op, (scores, weights, weights.ndim - 1))
            z = product(tw, v)
        if tv is not None:
            z = product(weights, tv) if z is None else z + product(weights, tv)
        return in_dtype_of(z, like), tw


@op("scaled_dot_product_attention_backward")
class AttentionBackward(Op):
    """The gradients of q, s and v on a CPU, of the shape (0,) where they are not needed"""

    inputs = 5
    differentiable = False      # what needs derivatives of them computes them by ops

    def forward(k, g, q, s, v, weights, scale, causal, needs):
        return k.attention_backward(g, q, s, v, weights, scale, causal, needs)


def by_ops(gz, gw, needs, q, s, v, weights, scale):
    """The gradients of q, s and v, given those of z and of the weights; None where they are not needed."""
    like = q
    gz, gw, q, s, v = [in_dtype_of(x, weights) for x in (gz, gw, q, s, v)]
    dq = ds = dv = None
    if gz is not None:
        if needs[2]:
            dv = product(transpose(weights, -2, -1), gz)
        more = product(gz, transpose(v, -2, -1))
        gw = more if gw is None else gw + more
    if gw is not None and (needs[0] or needs[1]):
        scores = call(SoftmaxBackward.op, (gw, weights, weights.ndim - 1))
        if needs[0]:
            dq = product(scores, s) * scale
        if needs[1]:
            ds = product(transpose(scores, -2, -1), q) * scale
    return in_dtype_of(dq, like), in_dtype_of(ds, like), in_dtype_of(dv, like)


def in_dtype_of(x, other) -> Any:
    """Return `x`, if it is not None, in the dtype of `other`. On a CPU, the weights are float32 where the rest is float16."""
    return x if x is None else cast(x, other.dtype)


def product(x, y):
    """x y, for two batches of matrices; they do not broadcast."""
    return call(Bmm.op, (x, y))
