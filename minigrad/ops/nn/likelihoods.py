"""Binary cross entropies, each as one rule. (Built from logarithms, the gradient would be a difference of two large numbers.)

    binary_cross_entropy                -y log x - (1 - y) log(1 - x)                       dx = (x - y) / (x (1 - x))
    binary_cross_entropy_with_logits    y softplus(-x) + (1 - y) softplus(x)                dx = σ(x) - y

w is the weight of each element. Neither rule has a derivative with respect to w, or to p, the factor of the part with y. If one
of them requires a gradient, ``nn/functional/_losses.py`` multiplies and averages with other ops.

Mirrors ``aten/src/ATen/native/Loss.cpp`` and binary_cross_entropy_with_logits_backward in FunctionsManual.cpp.
"""

from minigrad._core.record.apply import call
from minigrad.ops.base.precision import in_float32, round_to, to_wide
from minigrad.ops.base.rule import Elementwise, op
from minigrad.ops.elementwise.clamp import clamp_min
from minigrad.ops.elementwise.functions import log, log1p
from minigrad.ops.elementwise.pointwise import logaddexp, portion
from minigrad.ops.nn.losses import ElementwiseLoss, average_loss, share

__all__: list[str] = []

LOWEST = -100.0     # the least value of a logarithm: one wrong prediction should not make the loss of a batch infinite


@op("binary_cross_entropy")
class BinaryCrossEntropy(ElementwiseLoss):
    """z = w (-y log x - (1 - y) log(1 - x)), each logarithm at least -100; averaged or summed"""

    torch_names = {"x": "self", "y": "target", "w": "weight"}

    def forward(k, x, y, w, reduction):
        p, t = to_wide(k, x), to_wide(k, y)
        right, wrong = k.clamp(k.log(p), LOWEST, None), k.clamp(k.log1p(k.neg(p)), LOWEST, None)
        loss = k.neg(k.add(k.mul(t, right), k.mul(k.rsub(t, 1.0), wrong)))
        return average_loss(k, loss if w is None else k.mul(loss, to_wide(k, w)), x, reduction)

    @in_float32
    def vjp_x(g, x, y, w, reduction):
        return call(BinaryCrossEntropyBackward.op, (times(share(g, reduction, x), w), x, y))

    @in_float32
    def vjp_y(g, x, w, reduction):
        return times(share(g, reduction, x), w) * (clamp_min(log1p(-x), LOWEST) - clamp_min(log(x), LOWEST))


def times(g, w):
    """g w; g if w is None."""
    return g if w is None else g * w


@op("binary_cross_entropy_backward")
class BinaryCrossEntropyBackward(Elementwise):
    """z = g (x - y) / (x (1 - x)), where x (1 - x) is at least 1e-12"""

    torch_names = {"g": "grad_output", "x": "self", "y": "target"}

    def forward(k, g, x, y):
        p = to_wide(k, x)
        slope = k.div(k.sub(p, to_wide(k, y)), k.clamp(k.mul(p, k.rsub(p, 1.0)), 1e-12, None))
        return round_to(k, k.mul(to_wide(k, g), slope), x)

    def vjp_g(v, x, y):
        return call(BinaryCrossEntropyBackward.op, (v, x, y))

    def vjp_x(v, g, x, y):      # dx = v g (x² (1 - y) + (1 - x)² y) / (x (1 - x))²
        below = clamp_min(x * (1 - x), 1e-12)
        return v * g * ((x / below) * (x / below) * (1 - y) + ((1 - x) / below) * ((1 - x) / below) * y)

    def vjp_y(v, g, x):
        return -v * g / clamp_min(x * (1 - x), 1e-12)


@op("binary_cross_entropy_with_logits")
class BinaryCrossEntropyWithLogits(ElementwiseLoss):
    """z = w (p y softplus(-x) + (1 - y) softplus(x)), averaged or summed"""

    torch_names = {"x": "self", "y": "target", "w": "weight", "p": "pos_weight"}

    def forward(k, x, y, w, p, reduction):
        if p is None:
            loss = k.bce_with_logits(to_wide(k, x), to_wide(k, y))
        else:
            loss = weigh_classes(k, x, y, p)
        return average_loss(k, loss if w is None else k.mul(loss, to_wide(k, w)), x, reduction)

    @in_float32
    def vjp_x(g, x, y, w, p, reduction):
        g = times(share(g, reduction, x, p), w)
        if p is None:
            return g * call(BceWithLogitsSlope.op, (x, y))
        return g * ((1 - y) * portion(x) - p * y * portion(-x))

    @in_float32
    def vjp_y(g, x, w, p, reduction):
        g = times(share(g, reduction, x, p), w)
        return -g * x if p is None else g * (p * softplus(-x) - softplus(x))


@op("bce_with_logits_slope")
class BceWithLogitsSlope(Elementwise):
    """z = σ(x) - y"""

    kernel = "bce_with_logits_slope"
    params = ("x", "y")
    floats_only = True

    def vjp_x(g, x):
        return g * portion(x) * portion(-x)

    def vjp_y(g):
        return -g


@op("weighted_binary_cross_entropy_with_logits", "BinaryCrossEntropyWithLogits0")
class WeightedBinaryCrossEntropyWithLogits(Elementwise):
    """z = p y softplus(-x) + (1 - y) softplus(x)"""

    torch_names = {"x": "self", "y": "target", "p": "pos_weight"}

    def forward(k, x, y, p):
        return round_to(k, weigh_classes(k, x, y, p), x)

    @in_float32
    def vjp_x(g, x, y, p):
        return g * ((1 - y) * portion(x) - p * y * portion(-x))

    @in_float32
    def vjp_y(g, x, p):
        return g * (p * softplus(-x) - softplus(x))

    @in_float32
    def vjp_p(g, x, y):
        return g * y * softplus(-x)


def weigh_classes(k, x, y, p):
    """Return p y softplus(-x) + (1 - y) softplus(x), for arrays."""
    x, t = to_wide(k, x), to_wide(k, y)
    curve = k.log1p(k.exp(k.neg(k.abs(x))))
    hit, miss = k.add(k.clamp(k.neg(x), 0.0, None), curve), k.add(k.clamp(x, 0.0, None), curve)
    return k.add(k.mul(k.mul(t, to_wide(k, p)), hit), k.mul(k.rsub(t, 1.0), miss))


def softplus(x):
    """log(1 + e^x)"""
    return logaddexp(x, x.new_zeros(()))
