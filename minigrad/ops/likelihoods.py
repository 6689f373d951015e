"""Binary cross entropies as rules of their own. The slope of a sum of logarithms would be the difference of two large numbers.

    binary_cross_entropy                -y log x - (1 - y) log(1 - x)                       dx = (x - y) / (x (1 - x))
    binary_cross_entropy_with_logits    y softplus(-x) + (1 - y) softplus(x)                dx = σ(x) - y

Both are elementwise; ``nn/_losses.py`` averages them.

Mirrors ``aten/src/ATen/native/Loss.cpp`` and binary_cross_entropy_with_logits_backward in FunctionsManual.cpp.
"""

import cython

from minigrad.ops.base import Elementwise, op
from minigrad.ops.functions import log, log1p, sigmoid
from minigrad.ops.limits import clamp_min
from minigrad.ops.pointwise import logaddexp, portion
from minigrad.ops.precision import in_float32, narrowed, widened
from minigrad.ops.selection import where

if not cython.compiled:
    from minigrad._core.apply import call

__all__: list[str] = []

LOWEST = -100.0     # of a logarithm: one wrong prediction is not to make the loss of a batch infinite


@op("binary_cross_entropy")
class BinaryCrossEntropy(Elementwise):
    """z = -y log x - (1 - y) log(1 - x), each logarithm at least -100"""

    torch_names = {"x": "self", "y": "target"}

    def forward(k, x, y):
        p, t = widened(k, x), widened(k, y)
        right, wrong = k.clamp(k.log(p), LOWEST, None), k.clamp(k.log1p(k.neg(p)), LOWEST, None)
        return narrowed(k, k.neg(k.add(k.mul(t, right), k.mul(k.rsub(t, 1.0), wrong))), x)

    def vjp_x(g, x, y):
        return call(BinaryCrossEntropyBackward.op, (g, x, y))

    def vjp_y(g, x):
        return g * (clamp_min(log1p(-x), LOWEST) - clamp_min(log(x), LOWEST))


@op("binary_cross_entropy_backward")
class BinaryCrossEntropyBackward(Elementwise):
    """z = g (x - y) / (x (1 - x)), where x (1 - x) is at least 1e-12"""

    torch_names = {"g": "grad_output", "x": "self", "y": "target"}

    def forward(k, g, x, y):
        p = widened(k, x)
        slope = k.div(k.sub(p, widened(k, y)), k.clamp(k.mul(p, k.rsub(p, 1.0)), 1e-12, None))
        return narrowed(k, k.mul(widened(k, g), slope), x)

    def vjp_g(v, x, y):
        return call(BinaryCrossEntropyBackward.op, (v, x, y))

    def vjp_x(v, g, x, y):      # dx = v g (x² (1 - y) + (1 - x)² y) / (x (1 - x))²
        below = clamp_min(x * (1 - x), 1e-12)
        return v * g * ((x / below) * (x / below) * (1 - y) + ((1 - x) / below) * ((1 - x) / below) * y)

    def vjp_y(v, g, x):
        return -v * g / clamp_min(x * (1 - x), 1e-12)


@op("binary_cross_entropy_with_logits")
class BinaryCrossEntropyWithLogits(Elementwise):
    """z = y softplus(-x) + (1 - y) softplus(x)"""

    torch_names = {"x": "self", "y": "target"}

    def forward(k, x, y):
        hit, miss = softplus_of_both(k, x)
        t = widened(k, y)
        return narrowed(k, k.add(k.mul(t, hit), k.mul(k.rsub(t, 1.0), miss)), x)

    @in_float32
    def vjp_x(g, x, y):         # dx = g (σ(x) - y), of which neither number is almost 1 if the other is
        return g * where(x < 0, sigmoid(x) - y, (1 - y) - sigmoid(-x))

    def vjp_y(g, x):
        return -g * x


@op("weighted_binary_cross_entropy_with_logits", "BinaryCrossEntropyWithLogits0")
class WeightedBinaryCrossEntropyWithLogits(Elementwise):
    """z = p y softplus(-x) + (1 - y) softplus(x)"""

    torch_names = {"x": "self", "y": "target", "p": "pos_weight"}

    def forward(k, x, y, p):
        hit, miss = softplus_of_both(k, x)
        t = widened(k, y)
        return narrowed(k, k.add(k.mul(k.mul(t, widened(k, p)), hit), k.mul(k.rsub(t, 1.0), miss)), x)

    @in_float32
    def vjp_x(g, x, y, p):
        return g * ((1 - y) * portion(x) - p * y * portion(-x))

    @in_float32
    def vjp_y(g, x, p):
        return g * (p * softplus(-x) - softplus(x))

    @in_float32
    def vjp_p(g, x, y):
        return g * y * softplus(-x)


def softplus_of_both(k, x):
    """log(1 + e^-x) and log(1 + e^x), for an array."""
    x = widened(k, x)
    curve = k.log1p(k.exp(k.neg(k.abs(x))))
    return k.add(k.clamp(k.neg(x), 0.0, None), curve), k.add(k.clamp(x, 0.0, None), curve)


def softplus(x):
    """log(1 + e^x)"""
    return logaddexp(x, x.new_zeros(()))
