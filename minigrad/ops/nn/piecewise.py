"""Piecewise activations, each as one rule.

    leaky_relu prelu threshold          two lines
    hardtanh softshrink hardshrink      three lines
    hardsigmoid hardswish               lines, and a parabola, that approximate sigmoid and silu

Each has a second rule for its gradient, as in PyTorch: the node of a second backward. Where the slope does not depend on x, the
gradient of x in that rule is 0, and not undefined. We choose pieces with `where` and never multiply by 0: 0 times infinity is nan.

Mirrors ``aten/src/ATen/native/Activation.cpp``. Smooth activations are in ``activation.py``.
"""

import numpy as np

from minigrad._core.record.apply import call
from minigrad.ops.base.precision import has_reduced, in_float32, round_to, to_wide
from minigrad.ops.base.rule import Elementwise, Op, op, variant
from minigrad.ops.elementwise.selection import where, zeros_like

__all__: list[str] = []

GRADIENT = {"x": "grad_output", "y": "self"}


class SlopeOfLines(Elementwise):
    """Base of gradients with a slope that is constant on each piece: the gradient of y is 0."""

    inputs = 2
    torch_names = GRADIENT

    def vjp_y(g):
        return zeros_like(g)


# ---- two lines ---------------------------------------------------------------------------------------------------------


@op("leaky_relu")
class LeakyRelu(Elementwise):
    """z = x, or where x <= 0, a x"""

    inputs = 1
    torch_names = {"x": "self", "z": "result", "slope": "negative_slope"}

    def forward(k, x, slope):
        return k.prelu(x, slope)

    def vjp_x(g, x, slope):
        return call(LeakyReluBackward.op, (g, x, slope))


@op("leaky_relu_", "LeakyRelu1")
class LeakyReluInPlace(LeakyRelu):
    """z = x, or where x <= 0, a x, written over x; a >= 0, so that z has the sign of x"""

    def vjp_x(g, z, slope):
        return call(LeakyReluBackward.op, (g, z, slope))


@op("leaky_relu_backward", "LeakyReluBackward0")
class LeakyReluBackward(SlopeOfLines):
    """z = x, or where y <= 0, a x: the gradient of leaky_relu at y, given the output's gradient x"""

    torch_names = {"slope": "negative_slope", **GRADIENT}

    def forward(k, x, y, slope):
        g = to_wide(k, x)
        return round_to(k, k.where(k.gt(y, 0), g, k.mul(g, slope)), x)

    def vjp_x(g, y, slope):
        return call(LeakyReluBackward.op, (g, y, slope))


@op("threshold")
class Threshold(Elementwise):
    """z = x, or where x <= the threshold, a value"""

    inputs = 1

    def forward(k, x, threshold, value):
        v = to_wide(k, x)
        return round_to(k, k.threshold(v, v, threshold, value), x)

    def vjp_x(g, x, threshold):
        return call(ThresholdBackward.op, (g, x, threshold))


ThresholdInPlace = variant(Threshold, "threshold_", "Threshold1", "z = x, or where x <= the threshold, a value, written over x")


@op("threshold_backward", "ThresholdBackward0")
class ThresholdBackward(SlopeOfLines):
    """z = x, or where y <= the threshold, 0: the gradient of threshold at y, given the output's gradient x"""

    def forward(k, x, y, threshold):
        return k.threshold(x, to_wide(k, y), threshold, 0.0)

    def vjp_x(g, y, threshold):
        return call(ThresholdBackward.op, (g, y, threshold))


def result_type(x, w):
    """The dtype of prelu's result: float16 or bfloat16 if x is, else the promoted dtype."""
    return x.dtype if has_reduced(x) else np.result_type(x.dtype, w.dtype)


@op("_prelu_kernel")
class PreluKernel(Elementwise):
    """z = x, or where x <= 0, w x"""

    inputs = 2
    torch_names = {"x": "self", "w": "weight"}

    def forward(k, x, w):
        return k.cast(k.prelu(to_wide(k, x), to_wide(k, w)), result_type(x, w))

    def vjp(g, needs, x, w):
        dx, dw = call(PreluKernelBackward.op, (g, x, w))
        return dx if needs[0] else None, dw if needs[1] else None

    def jvp_x(t, x, w):
        return where(x > 0, t, w * t)

    def jvp_w(t, x):
        return where(x > 0, 0.0, t * x)


@op("_prelu_kernel_backward", "PreluKernelBackward0")
class PreluKernelBackward(Op):
    """dx = g, or where x <= 0, w g; dw = 0, or there x g: the gradients of prelu, given the output's gradient g"""

    inputs = 3
    outputs = ("dx", "dw")
    torch_names = {"g": "grad_output", "x": "self", "w": "weight"}

    def forward(k, g, x, w):
        above, v = k.gt(x, 0), to_wide(k, g)
        dx = k.where(above, v, k.mul(v, to_wide(k, w)))
        return round_to(k, dx, g), k.where(above, 0.0, k.mul(v, to_wide(k, x)))     # many dw are summed: stay in float32

    @in_float32
    def vjp(gs, needs, g, x, w):
        above, (v, vw) = x > 0, gs
        dg, dx, dw = [], None, None
        if v is not None:
            dg, dw = [where(above, v, w * v)], where(above, 0.0, v * g)
        if vw is not None:
            dg, dx = [*dg, where(above, 0.0, vw * x)], where(above, 0.0, vw * g)
        return (dg[0] if len(dg) == 1 else dg[0] + dg[1]) if needs[0] else None, dx if needs[1] else None, dw if needs[2] else None

    @in_float32
    def jvp(ts, g, x, w):
        above, (tg, tx, tw) = x > 0, ts
        dx = dw = 0.0
        if tg is not None:
            dx, dw = where(above, tg, w * tg), where(above, 0.0, x * tg)
        if tw is not None:
            dx = dx + where(above, 0.0, tw * g)
        if tx is not None:
            dw = dw + where(above, 0.0, tx * g)
        return dx if tg is not None or tw is not None else None, dw if tg is not None or tx is not None else None


# ---- three lines -------------------------------------------------------------------------------------------------------


@op("hardtanh")
class Hardtanh(Elementwise):
    """z = x limited to [low, high]"""

    inputs = 1
    torch_names = {"x": "self", "low": "min_val", "high": "max_val"}

    def forward(k, x, low, high):
        return round_to(k, k.clamp(to_wide(k, x), low, high), x)

    def vjp_x(g, x, low, high):
        return call(HardtanhBackward.op, (g, x, low, high))


@op("hardtanh_backward", "HardtanhBackward0")
class HardtanhBackward(SlopeOfLines):
    """z = x, or where y <= low or y >= high, 0: the gradient of hardtanh at y, given the output's gradient x"""

    torch_names = {"low": "min_val", "high": "max_val", **GRADIENT}

    def forward(k, x, y, low, high):
        v = to_wide(k, y)
        return k.where(k.logical_or(k.le(v, low), k.ge(v, high)), 0.0, x)

    def vjp_x(g, y, low, high):
        return call(HardtanhBackward.op, (g, y, low, high))


@op("softshrink")
class Softshrink(Elementwise):
    """z = x - λ above λ, x + λ below -λ, else 0"""

    inputs = 1

    def forward(k, x, lambd):
        return round_to(k, k.softshrink(to_wide(k, x), lambd), x)

    def vjp_x(g, x, lambd):
        return call(SoftshrinkBackward.op, (g, x, lambd))


@op("softshrink_backward", "SoftshrinkBackward0")
class SoftshrinkBackward(SlopeOfLines):
    """z = x, or where |y| <= λ, 0: the gradient of softshrink at y, given the output's gradient x"""

    def forward(k, x, y, lambd):
        return k.zero_within(x, to_wide(k, y), lambd)

    def vjp_x(g, y, lambd):
        return call(SoftshrinkBackward.op, (g, y, lambd))


@op("hardshrink")
class Hardshrink(Elementwise):
    """z = x, or where |x| <= λ, 0"""

    inputs = 1

    def forward(k, x, lambd):
        return k.zero_within(x, to_wide(k, x), lambd)

    def vjp_x(g, x, lambd):
        return call(HardshrinkBackward.op, (g, x, lambd))


@op("hardshrink_backward", "HardshrinkBackward0")
class HardshrinkBackward(SlopeOfLines):
    """z = x, or where |y| <= λ, 0: the gradient of hardshrink at y, given the output's gradient x"""

    torch_names = {"x": "grad_out", "y": "self"}

    def forward(k, x, y, lambd):
        return k.zero_within(x, to_wide(k, y), lambd)

    def vjp_x(g, y, lambd):
        return call(HardshrinkBackward.op, (g, y, lambd))


# ---- approximations of sigmoid and silu --------------------------------------------------------------------------------


@op("hardsigmoid")
class Hardsigmoid(Elementwise):
    """z = (x + 3) / 6, limited to [0, 1]"""

    kernel = "hardsigmoid"
    params = ("x",)

    def vjp_x(g, x):
        return call(HardsigmoidBackward.op, (g, x))


@op("hardsigmoid_backward", "HardsigmoidBackward0")
class HardsigmoidBackward(SlopeOfLines):
    """z = x / 6, or where |y| >= 3, 0: the gradient of hardsigmoid at y, given the output's gradient x"""

    kernel = "hardsigmoid_backward"
    params = ("x", "y")

    def vjp_x(g, y):
        return call(HardsigmoidBackward.op, (g, y))


@op("hardswish")
class Hardswish(Elementwise):
    """z = x (x + 3) / 6, the fraction limited to [0, 1]"""

    kernel = "hardswish"
    params = ("x",)

    def vjp_x(g, x):
        return call(HardswishBackward.op, (g, x))


@op("hardswish_backward", "HardswishBackward0")
class HardswishBackward(Elementwise):
    """z = x (y / 3 + 1/2), or where y <= -3, 0, and y >= 3, x: the gradient of hardswish at y, given the output's gradient x"""

    inputs = 2
    torch_names = GRADIENT

    kernel = "hardswish_backward"
    params = ("x", "y")

    def vjp_x(g, y):
        return call(HardswishBackward.op, (g, y))

    @in_float32
    def vjp_y(g, x, y):
        return where((y > -3) & (y < 3), g * x / 3, 0.0)
