"""Attention and its gradients. ``ops/nn/attention.py`` has the formulas."""

import numpy as np

from minigrad.kernels.numpy_ref.precision import in_float32, quiet
from minigrad.kernels.numpy_ref.reduction import attention_weights, softmax_backward

__all__ = ["attention", "attention_backward"]


def product(x, y, side_by_side=True):
    """x y. Its heads, of (N, H, L, E), may lie side by side in memory: (N, L, H, E)."""
    if x.ndim != 4 or not side_by_side:
        return np.matmul(x, y)
    n, heads, rows, _ = x.shape
    return np.matmul(x, y, out=np.empty((n, rows, heads, y.shape[-1]), x.dtype).transpose(0, 2, 1, 3))


@quiet
@in_float32
def attention(q, s, v, scale, causal):
    weights = attention_weights(np.matmul(q, s.swapaxes(-1, -2)), scale, causal)
    return product(weights, v, q.ndim == 4 and q.strides[1] < q.strides[2]), weights


@quiet
@in_float32
def attention_backward(g, q, s, v, weights, scale, causal, needs):
    of_q, of_s, of_v = needs
    nothing = np.empty(0, q.dtype)
    scores = softmax_backward(np.matmul(g, v.swapaxes(-1, -2)), weights, weights.ndim - 1) * q.dtype.type(scale)
    return (product(scores, s) if of_q else nothing, product(scores.swapaxes(-1, -2), q) if of_s else nothing,
            product(weights.swapaxes(-1, -2), g) if of_v else nothing)
