"""Layer normalisation and rms_norm as rules of their own; the other norms are written with ops, in ``nn/_normalization.py``.

    y = (x - mean) r,  r = 1 / √(variance + ε)          over the last dimensions of x
    z = y w + b

The gradient of y goes through a projection, which takes out what adding a number to x or stretching it would change:

    P(h) = h - mean(h) - y mean(h y)                    dx = r P(g w)

rms_norm leaves the mean where it is: y = x r, r = 1 / √(mean of x² + ε), and P(h) = h - y mean(h y).

Mirrors ``aten/src/ATen/native/layer_norm.cpp`` and ``layer_norm_double_backward`` in ``torch/csrc/autograd/FunctionsManual.cpp``.
"""

import cython

from minigrad.ops.base import Op, constant, op
from minigrad.ops.functions import rsqrt
from minigrad.ops.precision import in_float32
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
        dx, dw, db = call(NativeLayerNormBackward.op, (g[0], x, w, constant(mean), constant(rstd), n_dims, eps))
        return dx if needs[0] else None, dw if needs[1] else None, db if needs[2] else None

    def jvp(ts, x, w, n_dims, eps):
        tx, tw, tb = ts
        z = tangent(tx, tw, x, w, n_dims, eps, standardized, projected)
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
        dg, dx, dw = adjoints(v, vw, g, x, w, n_dims, eps, standardized, projected)
        if vb is not None:
            dg = vb.expand(x.shape) if dg is None else dg + vb
        return dg if needs[0] else None, dx if needs[1] else None, dw if needs[2] else None

    def jvp(ts, g, x, w, n_dims, eps):
        tg = ts[0]
        dx, dw = tangents(*ts, g, x, w, n_dims, eps, standardized, projected)
        return dx, dw, None if tg is None else total(tg, tuple(range(x.ndim - n_dims)))


@op("_fused_rms_norm")
class FusedRmsNorm(Op):
    """z = x rstd w"""

    inputs = 2
    outputs = ("z", "rstd")
    torch_names = {"x": "input", "w": "weight", "rstd": "result1"}

    def forward(k, x, w, n_dims, eps):
        return k.rms_norm(x, w, n_dims, eps)

    def vjp(g, needs, x, w, rstd, n_dims, eps):
        if g[0] is None:
            return (None, None)
        dx, dw = call(FusedRmsNormBackward.op, (g[0], x, w, constant(rstd), n_dims, eps))
        return dx if needs[0] else None, dw if needs[1] else None

    def jvp(ts, x, w, n_dims, eps):
        return tangent(*ts, x, w, n_dims, eps, shortened, across), None


@op("_fused_rms_norm_backward")
class FusedRmsNormBackward(Op):
    """dx = rstd P(g w), dw = Σ g y: the gradients of `FusedRmsNorm`, where its own is g"""

    inputs = 3
    outputs = ("dx", "dw")
    torch_names = {"g": "grad_out", "x": "input", "w": "weight"}

    def forward(k, g, x, w, rstd, n_dims, eps):
        return k.rms_norm_backward(g, x, w, rstd, n_dims)

    def vjp(gs, needs, g, x, w, n_dims, eps):
        dg, dx, dw = adjoints(*gs, g, x, w, n_dims, eps, shortened, across)
        return dg if needs[0] else None, dx if needs[1] else None, dw if needs[2] else None

    def jvp(ts, g, x, w, n_dims, eps):
        return tangents(*ts, g, x, w, n_dims, eps, shortened, across)


# ---- what both have in common: r P(g w) and Σ g y, and their derivatives -------------------------------------


@in_float32
def tangent(tx, tw, x, w, n_dims, eps, normed, project):
    """The tangent of y w, given those of x and w; None if there is none."""
    y, r, dims = normed(x, n_dims, eps)
    z = None if tx is None else times(r * project(tx, y, dims), w)
    if tw is not None:
        z = y * tw if z is None else z + y * tw
    return z


@in_float32
def adjoints(v, vw, g, x, w, n_dims, eps, normed, project):
    """What r P(g w) and Σ g y, with gradients v and vw, give g, x and w."""
    dg = dx = dw = None
    y, r, dims = normed(x, n_dims, eps)
    if v is not None:
        h, back = times(g, w), r * project(v, y, dims)
        dg, dw = times(back, w), total(g * back, tuple(range(y.ndim - len(dims))))
        a, b, s = mean(h * y, dims, True), mean(v * y, dims, True), mean(v * project(h, y, dims), dims, True)
        dx = -r * r * (y * s + project(b * h + a * v, y, dims))
    if vw is not None:
        dg = y * vw if dg is None else dg + y * vw
        more = r * project(g * vw, y, dims)
        dx = more if dx is None else dx + more
    return dg, dx, dw


@in_float32
def tangents(tg, tx, tw, g, x, w, n_dims, eps, normed, project):
    """The tangents of r P(g w) and Σ g y, given those of g, x and w."""
    y, r, dims = normed(x, n_dims, eps)
    lead = tuple(range(y.ndim - len(dims)))
    h, th, dx, dw = times(g, w), None, None, None
    if tg is not None:
        th, dw = times(tg, w), total(tg * y, lead)
    if tw is not None:
        th = g * tw if th is None else th + g * tw
    if th is not None:
        dx = r * project(th, y, dims)
    if tx is not None:
        ty = r * project(tx, y, dims)
        turn = -r * r * mean(y * tx, dims, True) * project(h, y, dims) \
            - r * (ty * mean(h * y, dims, True) + y * mean(h * ty, dims, True))
        dx = turn if dx is None else dx + turn
        dw = total(g * ty, lead) if dw is None else dw + total(g * ty, lead)
    return dx, dw


def standardized(x, n_dims, eps):
    """(y, r, the dimensions), recorded: so that the derivatives of what is computed from them are right."""
    dims = tuple(range(x.ndim - n_dims, x.ndim))
    d = x - mean(x, dims, True)
    r = rsqrt(mean(d * d, dims, True) + eps)
    return d * r, r, dims


def shortened(x, n_dims, eps):
    """The same without taking the mean away."""
    dims = tuple(range(x.ndim - n_dims, x.ndim))
    r = rsqrt(mean(x * x, dims, True) + eps)
    return x * r, r, dims


def projected(h, y, dims):
    """P(h) of layer_norm."""
    return h - mean(h, dims, True) - y * mean(h * y, dims, True)


def across(h, y, dims):
    """P(h) of rms_norm."""
    return h - y * mean(h * y, dims, True)


def times(g, w):
    """g w, where there is a w."""
    return g if w is None else g * w


def total(g, lead):
    """The sum over the dimensions before those of w."""
    return sum(g, lead) if lead else g
