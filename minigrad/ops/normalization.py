"""Layer normalisation as a rule of its own; the other norms are written with ops, in ``nn/_normalization.py``.

    y = (x - mean) r,  r = 1 / √(variance + ε)          over the last dimensions of x
    z = y w + b

The gradient of y goes through a projection, which takes out what adding a number to x or stretching it would change:

    P(h) = h - mean(h) - y mean(h y)                    dx = r P(g w)

Mirrors ``aten/src/ATen/native/layer_norm.cpp`` and ``layer_norm_double_backward`` in ``torch/csrc/autograd/FunctionsManual.cpp``.
"""

import cython

from minigrad.ops.base import Op, op
from minigrad.ops.functions import rsqrt
from minigrad.ops.reduction import mean, sum

if not cython.compiled:
    from minigrad._core.apply import call

__all__: list[str] = []


@op("native_layer_norm")
class NativeLayerNorm(Op):
    """z = (x - mean) rstd w + b"""

    inputs = 3
    outputs = ("z", "mean", "rstd")
    torch_names = {"x": "input", "w": "weight", "b": "bias", "mean": "result1", "rstd": "result2"}

    def forward(k, x, w, b, n_dims, eps):
        return k.layer_norm(x, w, b, n_dims, eps)

    def vjp(g, needs, x, w, mean, rstd, n_dims, eps):
        if g[0] is None:
            return (None, None, None)
        dx, dw, db = call(NativeLayerNormBackward.op, (g[0], x, w, mean, rstd, n_dims, eps))
        return dx if needs[0] else None, dw if needs[1] else None, db if needs[2] else None

    def jvp(ts, x, w, n_dims, eps):
        tx, tw, tb = ts
        y, r, dims = standardized(x, n_dims, eps)
        z = None
        if tx is not None:
            z = r * projected(tx, y, dims)
            z = z if w is None else z * w
        if tw is not None:
            z = y * tw if z is None else z + y * tw
        if tb is not None:
            z = tb.expand(x.shape) if z is None else z + tb
        return z, None, None


@op("native_layer_norm_backward")
class NativeLayerNormBackward(Op):
    """dx = rstd P(g w), dw = Σ g y, db = Σ g: the gradients of layer normalisation, where its own is g"""

    inputs = 3
    outputs = ("dx", "dw", "db")
    torch_names = {"g": "grad_out", "x": "input", "w": "weight"}

    def forward(k, g, x, w, mean, rstd, n_dims, eps):
        return k.layer_norm_backward(g, x, w, mean, rstd, n_dims)

    def vjp(gs, needs, g, x, w, n_dims, eps):
        v, vw, vb = gs
        y, r, dims = standardized(x, n_dims, eps)
        lead = tuple(range(x.ndim - n_dims))
        dg = dx = dw = None
        if v is not None:
            h, back = times(g, w), r * projected(v, y, dims)
            dg, dw = times(back, w), total(g * back, lead)
            a, b = mean(h * y, dims, True), mean(v * y, dims, True)
            s = mean(v * h, dims, True) - mean(v, dims, True) * mean(h, dims, True) - a * b
            dx = -r * r * (y * s + projected(b * h + a * v, y, dims))
        if vw is not None:
            dg = y * vw if dg is None else dg + y * vw
            more = r * projected(g * vw, y, dims)
            dx = more if dx is None else dx + more
        if vb is not None:
            dg = vb.expand(x.shape) if dg is None else dg + vb
        return dg if needs[0] else None, dx if needs[1] else None, dw if needs[2] else None

    def jvp(ts, g, x, w, n_dims, eps):
        tg, tx, tw = ts
        y, r, dims = standardized(x, n_dims, eps)
        lead = tuple(range(x.ndim - n_dims))
        h, th, dx, dw, db = times(g, w), None, None, None, None
        if tg is not None:
            th, dw, db = times(tg, w), total(tg * y, lead), total(tg, lead)
        if tw is not None:
            th = g * tw if th is None else th + g * tw
        if th is not None:
            dx = r * projected(th, y, dims)
        if tx is not None:
            ty = r * projected(tx, y, dims)
            turn = -r * r * mean(y * tx, dims, True) * projected(h, y, dims) \
                - r * (ty * mean(h * y, dims, True) + y * mean(h * ty, dims, True))
            dx = turn if dx is None else dx + turn
            dw = total(g * ty, lead) if dw is None else dw + total(g * ty, lead)
        return dx, dw, db


def standardized(x, n_dims, eps):
    """(y, r, the dimensions), recorded: so that the derivatives of what is computed from them are right."""
    dims = tuple(range(x.ndim - n_dims, x.ndim))
    d = x - mean(x, dims, True)
    r = rsqrt(mean(d * d, dims, True) + eps)
    return d * r, r, dims


def projected(h, y, dims):
    """P(h)."""
    return h - mean(h, dims, True) - y * mean(h * y, dims, True)


def times(g, w):
    """g w, where there is a w."""
    return g if w is None else g * w


def total(g, lead):
    """The sum over the dimensions before those of w."""
    return sum(g, lead) if lead else g
