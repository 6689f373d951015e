"""Layer, group and batch normalization and rms_norm, each as one rule. The public functions are in
``nn/functional/_normalization.py``.

    y = (x - mean) r,  r = 1 / √(variance + ε)          over the last dimensions of x
    z = y w + b

y does not change if we add a number to x, or (apart from ε) multiply x by a positive number. So the gradient of x has no part in
these two directions. A projection P removes it:

    P(h) = h - mean(h) - y mean(h y)                    dx = r P(g w)

rms_norm does not subtract the mean: y = x r, r = 1 / √(mean of x² + ε), and P(h) = h - y mean(h y).

In group_norm, the mean is over a group of channels; w and b have a number per channel. In batch_norm, it is over all dimensions
except the channels. In evaluation it uses running statistics instead, and then no part is removed.

Mirrors ``aten/src/ATen/native/layer_norm.cpp`` and ``layer_norm_double_backward`` in ``torch/csrc/autograd/FunctionsManual.cpp``.
"""

from typing import Any

from minigrad._core.record.apply import call
from minigrad.ops.base.precision import in_float32, round_to, to_wide, wide
from minigrad.ops.base.rule import Op, constant, op
from minigrad.ops.elementwise.functions import rsqrt
from minigrad.ops.reduce.reduction import mean, sum
from minigrad.ops.shape.clone_cast import cast
from minigrad.ops.shape.formats import row_major
from minigrad.ops.shape.views import reshape

__all__: list[str] = []


@op("native_layer_norm")
class NativeLayerNorm(Op):
    """z = (x - mean) rstd w + b"""

    inputs = 3
    outputs = ("z", "mean", "rstd")
    torch_names = {"x": "input", "w": "weight", "b": "bias", "mean": "result1", "rstd": "result2"}

    def forward(k, x, w, b, n_dims, eps):
        return k.layer_norm(row_major(k, x), w, b, n_dims, eps)

    def vjp(g, needs, x, w, mean, rstd, n_dims, eps):
        if g[0] is None:
            return (None, None, None)
        dx, dw, db = call(NativeLayerNormBackward.op, (g[0], x, w, constant(mean), constant(rstd), n_dims, eps))
        return dx if needs[0] else None, dw if needs[1] else None, db if needs[2] else None

    def jvp(ts, x, w, n_dims, eps):
        tx, tw, tb = ts
        z = tangent(tx, tw, x, w, n_dims, eps, standardize, project_layer_norm)
        if tb is not None:
            z = tb.expand(x.shape) if z is None else z + tb
        return z, None, None


@op("native_layer_norm_backward")
class NativeLayerNormBackward(Op):
    """dx = rstd P(g w), dw = Σ g y, db = Σ g: the gradients of layer normalization, given the output's gradient g"""

    inputs = 3
    outputs = ("dx", "dw", "db")
    torch_names = {"g": "grad_out", "x": "input", "w": "weight"}

    def forward(k, g, x, w, mean, rstd, n_dims, eps):
        return k.layer_norm_backward(g, x, w, mean, rstd, n_dims)

    def vjp(gs, needs, g, x, w, n_dims, eps):
        v, vw, vb = gs
        dg, dx, dw = adjoints(v, vw, g, x, w, n_dims, eps, standardize, project_layer_norm)
        if vb is not None:
            dg = vb.expand(x.shape) if dg is None else dg + vb
        return dg if needs[0] else None, dx if needs[1] else None, dw if needs[2] else None

    def jvp(ts, g, x, w, n_dims, eps):
        tg, tx, tw = ts
        dx, dw = tangents(tg, tx, tw, g, x, w, n_dims, eps, standardize, project_layer_norm)
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
        tx, tw = ts
        return tangent(tx, tw, x, w, n_dims, eps, divide_by_rms, project_rms_norm), None


@op("_fused_rms_norm_backward")
class FusedRmsNormBackward(Op):
    """dx = rstd P(g w), dw = Σ g y: the gradients of `FusedRmsNorm`, given the output's gradient g"""

    inputs = 3
    outputs = ("dx", "dw")
    torch_names = {"g": "grad_out", "x": "input", "w": "weight"}

    def forward(k, g, x, w, rstd, n_dims, eps):
        return k.rms_norm_backward(g, x, w, rstd, n_dims)

    def vjp(gs, needs, g, x, w, n_dims, eps):
        v, vw = gs
        dg, dx, dw = adjoints(v, vw, g, x, w, n_dims, eps, divide_by_rms, project_rms_norm)
        return dg if needs[0] else None, dx if needs[1] else None, dw if needs[2] else None

    def jvp(ts, g, x, w, n_dims, eps):
        tg, tx, tw = ts
        return tangents(tg, tx, tw, g, x, w, n_dims, eps, divide_by_rms, project_rms_norm)


@op("native_group_norm")
class NativeGroupNorm(Op):
    """z = (x - mean) rstd w + b, with the mean of each group of channels"""

    inputs = 3
    outputs = ("z", "mean", "rstd")
    torch_names = {"x": "input", "w": "weight", "b": "bias", "mean": "result1", "rstd": "result2", "n": "N", "c": "C", "hxw": "HxW"}

    def forward(k, x, w, b, n, c, hxw, group, eps):
        w, b = [None if of is None else to_wide(k, of) for of in (w, b)]
        z, mean, rstd = k.group_norm(to_wide(k, x), w, b, group, eps)
        return round_to(k, z, x), mean, rstd

    def vjp(g, needs, x, w, mean, rstd, n, c, hxw, group, eps):
        if g[0] is None:
            return (None, None, None)
        dx, dw, db = call(NativeGroupNormBackward.op, (g[0], x, w, constant(mean), constant(rstd), (n, c, hxw, group), eps))
        return dx if needs[0] else None, dw if needs[1] else None, db if needs[2] else None

    def jvp(ts, x, w, n, c, hxw, group, eps):
        tx, tw, tb = ts
        sizes = n, c, hxw, group
        parts = [in_groups(of, sizes) for of in (tx, tw, x, w)]
        z = tangent(*parts, None, eps, standardize_groups, project_layer_norm)
        if tb is not None:
            shift = in_groups(tb, sizes)
            z = shift.expand(parts[2].shape) if z is None else z + shift
        return cast(reshape(z, x.shape), x.dtype), None, None


@op("native_group_norm_backward")
class NativeGroupNormBackward(Op):
    """dx = rstd P(g w), dw = Σ g y, db = Σ g: the gradients of group normalization, given the output's gradient g"""

    inputs = 3
    outputs = ("dx", "dw", "db")
    torch_names = {"g": "grad_out", "x": "input", "w": "weight"}

    def forward(k, g, x, w, mean, rstd, sizes, eps):
        dx, dw, db = k.group_norm_backward(to_wide(k, g), to_wide(k, x), None if w is None else to_wide(k, w), mean, rstd)
        return round_to(k, dx, x), dw, db

    def vjp(gs, needs, g, x, w, sizes, eps):
        v, vw, vb = gs
        parts = [in_groups(of, sizes) for of in (v, vw, g, x, w)]
        dg, dx, dw = adjoints(*parts, None, eps, standardize_groups, project_layer_norm)
        if vb is not None:
            more = in_groups(vb, sizes).expand(parts[3].shape)
            dg = more if dg is None else dg + more
        return out_of_groups(dg, x) if needs[0] else None, out_of_groups(dx, x) if needs[1] else None, \
            out_of_groups(dw, w) if needs[2] else None

    def jvp(ts, g, x, w, sizes, eps):
        parts = [in_groups(of, sizes) for of in (*ts, g, x, w)]
        dx, dw = tangents(*parts, None, eps, standardize_groups, project_layer_norm)
        return None if dx is None else cast(reshape(dx, x.shape), x.dtype), None if dw is None else reshape(dw, (x.shape[1],)), \
            None if ts[0] is None else sum(wide(ts[0]), (0, *range(2, x.ndim)))


@op("native_batch_norm")
class NativeBatchNorm(Op):
    """z = (x - mean) rstd w + b, with the mean of each channel, or the running mean; and the variance"""

    inputs = 3
    outputs = ("z", "mean", "rstd", "variance")
    torch_names = {"x": "input", "w": "weight", "b": "bias", "mean": "result1", "rstd": "result2"}

    def forward(k, x, w, b, running_mean, running_var, training, eps):
        single = to_wide(k, x)
        w, b = [None if of is None else to_wide(k, of) for of in (w, b)]
        if training:
            z, mean, r, variance = k.batch_norm(single, w, b, eps)
            return round_to(k, z, x), mean, r, variance
        mean, variance, w, b = [of if of is None or of.ndim == 1 else k.view(of, (x.shape[1],))
                                for of in (running_mean, running_var, w, b)]
        r = k.rsqrt(k.add(variance, eps))
        z = k.normalize_channels(single, mean, r if w is None else k.mul(r, w), b)
        none = k.full((0,), 0, single.dtype)
        return round_to(k, z, x), none, none, none

    def vjp(g, needs, x, w, mean, rstd, running_mean, running_var, training, eps):
        g = g[0]
        if g is None:
            return (None, None, None)
        if training:
            dx, dw, db = call(NativeBatchNormBackward.op, (g, x, w, constant(mean), constant(rstd), eps))
            return dx if needs[0] else None, dw if needs[1] else None, db if needs[2] else None
        dx = dw = db = None
        g, dims = wide(g), (0, *range(2, x.ndim))
        y, r = normalize_by_running(x, running_mean, running_var, eps)
        if needs[0]:
            dx = times(r, channels(w, x)) * g
        if needs[1]:
            dw = sum(g * y, dims)
        if needs[2]:
            db = sum(g, dims)
        return dx, dw, db

    def jvp(ts, x, w, running_mean, running_var, training, eps):
        tx, tw, tb = [None if t is None else wide(t) for t in ts]
        dims = (0, *range(2, x.ndim))
        if training:
            y, r, *_ = standardize_channels(wide(x), None, eps)
        else:
            y, r = normalize_by_running(x, running_mean, running_var, eps)
        z = None
        if tx is not None:
            z = times(r, channels(w, x)) * (project_layer_norm(tx, y, dims) if training else tx)
        if tw is not None:
            z = y * channels(tw, x) if z is None else z + y * channels(tw, x)
        if tb is not None:
            z = channels(tb, x).expand(x.shape) if z is None else z + channels(tb, x)
        return cast(z, x.dtype), None, None, None


@op("native_batch_norm_backward")
class NativeBatchNormBackward(Op):
    """dx = rstd P(g w), dw = Σ g y, db = Σ g: the gradients of batch normalization by the batch, given the output's gradient g"""

    inputs = 3
    outputs = ("dx", "dw", "db")
    torch_names = {"g": "grad_out", "x": "input", "w": "weight"}

    def forward(k, g, x, w, mean, rstd, eps):
        dx, dw, db = k.batch_norm_backward(to_wide(k, g), to_wide(k, x), None if w is None else to_wide(k, w), mean, rstd)
        return round_to(k, dx, x), dw, db

    def vjp(gs, needs, g, x, w, eps):
        v, vw, vb = gs
        numbers = None if v is None else wide(v), channels(vw, x), wide(g), wide(x), channels(w, x)
        dg, dx, dw = adjoints(*numbers, None, eps, standardize_channels, project_layer_norm)
        if vb is not None:
            more = channels(vb, x).expand(x.shape)
            dg = more if dg is None else dg + more
        return dg if needs[0] else None, dx if needs[1] else None, dw if needs[2] else None

    def jvp(ts, g, x, w, eps):
        tg, tx = [None if t is None else wide(t) for t in ts[:2]]
        numbers = tg, tx, channels(ts[2], x), wide(g), wide(x), channels(w, x)
        dx, dw = tangents(*numbers, None, eps, standardize_channels, project_layer_norm)
        return None if dx is None else cast(dx, x.dtype), dw, None if tg is None else sum(tg, (0, *range(2, x.ndim)))


def channels(w, x) -> Any:
    """Reshape w, which has a number per channel, so that it broadcasts with x."""
    return None if w is None else reshape(wide(w), (w.shape[0], *[1] * (x.ndim - 2)))


def normalize_by_running(x, mean, variance, eps) -> Any:
    """Return (y, r) of x, with the running mean and variance."""
    r = rsqrt(channels(variance, x) + eps)
    return (wide(x) - channels(mean, x)) * r, r


def in_groups(of, sizes) -> Any:
    """Reshape `of`, which has the shape of x or a number for each channel, to (N, groups, channels of a group, elements)."""
    if of is None:
        return None
    n, c, hxw, groups = sizes
    lead, each = (1, 1) if of.ndim == 1 else (n, hxw)
    return reshape(wide(of), (lead, groups, c // groups, each))


def out_of_groups(z, of) -> Any:
    """Reshape z to the shape of `of`; None stays None."""
    return None if z is None else reshape(z, of.shape)


# ---- r P(g w) and Σ g y, and their derivatives -----------------------------------------------------------------
#
# `normed` computes (y, r, dims, lead) by ops: y and r, the dimensions that are averaged, and those that share an element of w.


@in_float32
def tangent(tx, tw, x, w, n_dims, eps, normed, project):
    """The tangent of y w, given the tangents of x and w; None if both are None."""
    y, r, dims, _ = normed(x, n_dims, eps)
    z = None if tx is None else times(r * project(tx, y, dims), w)
    if tw is not None:
        z = y * tw if z is None else z + y * tw
    return z


@in_float32
def adjoints(v, vw, g, x, w, n_dims, eps, normed, project):
    """Return the gradients of g, x and w, given v and vw, the gradients of r P(g w) and Σ g y."""
    dg = dx = dw = None
    y, r, dims, lead = normed(x, n_dims, eps)
    if v is not None:
        h, back = times(g, w), r * project(v, y, dims)
        dg, dw = times(back, w), total(g * back, lead)
        a, b, s = mean(h * y, dims, True), mean(v * y, dims, True), mean(v * project(h, y, dims), dims, True)
        dx = -r * r * (y * s + project(b * h + a * v, y, dims))
    if vw is not None:
        dg = y * vw if dg is None else dg + y * vw
        more = r * project(g * vw, y, dims)
        dx = more if dx is None else dx + more
    return dg, dx, dw


@in_float32
def tangents(tg, tx, tw, g, x, w, n_dims, eps, normed, project):
    """Return the tangents of r P(g w) and Σ g y, given the tangents of g, x and w."""
    y, r, dims, lead = normed(x, n_dims, eps)
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


def standardize(x, n_dims, eps):
    """`normed` of layer_norm. Ops compute y and r, and so results computed from them have the right derivatives."""
    lead, dims = tuple(range(x.ndim - n_dims)), tuple(range(x.ndim - n_dims, x.ndim))
    d = x - mean(x, dims, True)
    r = rsqrt(mean(d * d, dims, True) + eps)
    return d * r, r, dims, lead


def divide_by_rms(x, n_dims, eps):
    """`normed` of rms_norm: without subtracting the mean."""
    lead, dims = tuple(range(x.ndim - n_dims)), tuple(range(x.ndim - n_dims, x.ndim))
    r = rsqrt(mean(x * x, dims, True) + eps)
    return x * r, r, dims, lead


def standardize_channels(x, n_dims, eps):
    """`normed` of batch_norm, which averages over all dimensions except the channels; w has one element for each channel."""
    dims = (0, *range(2, x.ndim))
    d = x - mean(x, dims, True)
    r = rsqrt(mean(d * d, dims, True) + eps)
    return d * r, r, dims, dims


def standardize_groups(x, n_dims, eps):
    """`normed` of group_norm, for x as `in_groups` makes it; w has one element for each channel."""
    dims = (2, 3)
    d = x - mean(x, dims, True)
    r = rsqrt(mean(d * d, dims, True) + eps)
    return d * r, r, dims, (0, 3)


def project_layer_norm(h, y, dims):
    """P(h) of layer_norm."""
    return h - mean(h, dims, True) - y * mean(h * y, dims, True)


def project_rms_norm(h, y, dims):
    """P(h) of rms_norm."""
    return h - y * mean(h * y, dims, True)


def times(g, w) -> Any:
    """g w; g if w is None."""
    return g if w is None else g * w


def total(g, lead):
    """The sum of g over `lead`, the dimensions that share an element of w."""
    return sum(g, lead) if lead else g
