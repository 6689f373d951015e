"""Attention and its gradients. ``ops/nn/attention.py`` has the formulas.

Causal attention takes BLOCK queries at a time and only the keys up to the last of them, as the kernel in C does. So an infinite key
or value has a part in the same results.
"""

import numpy as np

from minigrad.kernels.numpy_ref.precision import quiet
from minigrad.kernels.numpy_ref.reduction import attention_weights, softmax_backward

__all__ = ["attention", "attention_backward"]

BLOCK = 16
ALL = slice(None)


def by_queries(queries, causal):
    """Pairs: some queries, and the keys that they may see."""
    return [(slice(i, i + BLOCK), slice(i + BLOCK)) for i in range(0, queries, BLOCK)] if causal else [(ALL, ALL)]


def by_keys(keys, causal):
    """Pairs: some keys, and the queries that may see them."""
    return [(slice(i, i + BLOCK), slice(i, None)) for i in range(0, keys, BLOCK)] if causal else [(ALL, ALL)]


def room(x, rows, columns, side_by_side=True):
    """An array of rows x columns for each head of x. Heads of (N, H, L, E) may lie side by side in memory: (N, L, H, E)."""
    if x.ndim != 4 or not side_by_side:
        return np.zeros((*x.shape[:-2], rows, columns), x.dtype)
    n, heads = x.shape[:2]
    return np.zeros((n, rows, heads, columns), x.dtype).transpose(0, 2, 1, 3)


def across(x):
    return x.swapaxes(-1, -2)


@quiet
def attention(q, s, v, scale, causal):
    weights = attention_weights(np.matmul(q, across(s)), scale, causal)
    z = room(q, q.shape[-2], v.shape[-1], q.ndim == 4 and q.strides[1] < q.strides[2])
    for rows, keys in by_queries(q.shape[-2], causal):
        z[..., rows, :] = np.matmul(weights[..., rows, keys], v[..., keys, :])
    return z, weights


@quiet
def attention_backward(g, q, s, v, weights, scale, causal, needs):
    of_q, of_s, of_v = needs
    nothing = np.empty(0, q.dtype)
    dq, ds, dv = [room(x, *x.shape[-2:]) if need else nothing for x, need in zip((q, s, v), needs)]
    scores = np.zeros_like(weights)
    for rows, keys in by_queries(q.shape[-2], causal):
        of_weights = np.matmul(g[..., rows, :], across(v[..., keys, :]))
        slopes = softmax_backward(of_weights, weights[..., rows, keys], weights.ndim - 1)
        scores[..., rows, keys] = slopes * q.dtype.type(scale)
        if of_q:
            dq[..., rows, :] = np.matmul(scores[..., rows, keys], s[..., keys, :])
    for keys, rows in by_keys(s.shape[-2], causal):
        if of_s:
            ds[..., keys, :] = np.matmul(across(scores[..., rows, keys]), q[..., rows, :])
        if of_v:
            dv[..., keys, :] = np.matmul(across(weights[..., rows, keys]), g[..., rows, :])
    return dq, ds, dv
