"""Smooth activations, each as one rule.

    elu celu            x, below 0 an exponential
    gelu silu mish      x times a soft step
    softplus logsigmoid glu

Each has a second rule for its gradient, as in PyTorch: the node of a second backward. Its formulas do not cancel or overflow for
large x of either sign: we write 1 - sigmoid(x) as sigmoid(-x), and 1 - tanh² as a fraction of decreasing exponentials.

Mirrors ``aten/src/ATen/native/Activation.cpp``. Piecewise linear activations are in ``piecewise.py``.
"""

import math

from cython.cimports.minigrad._core.record.apply import call
from cython.cimports.minigrad.ops.base.rule import conj

from minigrad.ops.base.precision import in_float32, round_to, to_wide
from minigrad.ops.base.rule import Elementwise, Op, constant, op
from minigrad.ops.elementwise.clamp import clamp_max, clamp_min
from minigrad.ops.elementwise.functions import exp, sigmoid, tanh
from minigrad.ops.elementwise.selection import where
from minigrad.ops.shape.cat_split import cat, chunk
from minigrad.ops.shape.formats import row_major

__all__: list[str] = []

ROOT = math.sqrt(8 / math.pi)
# Beyond this x, the other factor is 0. We limit x to it, because infinity times 0 is nan.
LARGE = 1000.0
GRADIENT = {"x": "grad_output", "y": "self"}


# ---- elu ---------------------------------------------------------------------------------------------------------------


@op("elu")
class Elu(Elementwise):
    """z = s x, or where x <= 0, s α (e^(c x) - 1)"""

    inputs = 1
    torch_names = {"x": "self", "z": "result", "inner": "input_scale"}

    def forward(k, x, alpha, scale, inner):
        return exponential_below(k, x, alpha, scale, inner)

    def vjp_x(g, x, alpha, scale, inner):
        return call(EluBackward.op, (g, x, alpha, scale, inner, False))


@op("elu_", "Elu1")
class EluInPlace(Elu):
    """z = s x, or where x <= 0, s α (e^(c x) - 1), written over x. From z alone the slope would be z + s α, which cancels."""

    hidden = ("x",)

    def vjp_x(g, z, x, alpha, scale, inner):
        return call(EluBackward.op, (g, x, alpha, scale, inner, False))


@op("celu")
class Celu(Elementwise):
    """z = x, or where x <= 0, α (e^(x / α) - 1)"""

    inputs = 1

    def forward(k, x, alpha):
        return exponential_below(k, x, alpha, 1, 1 / alpha)

    def vjp_x(g, x, alpha):
        return call(EluBackward.op, (g, x, alpha, 1, 1 / alpha, False))


@op("celu_", "Celu1")
class CeluInPlace(Celu):
    """z = x, or where x <= 0, α (e^(x / α) - 1), written over x"""

    hidden = ("x",)

    def vjp_x(g, z, x, alpha):
        return call(EluBackward.op, (g, x, alpha, 1, 1 / alpha, False))


@op("elu_backward", "EluBackward0")
class EluBackward(Elementwise):
    """z = s x, or where y <= 0, s α c e^(c y) x: the gradient of elu at y, given the output's gradient x"""

    inputs = 2
    torch_names = {"x": "grad_output", "y": "self_or_result", "inner": "input_scale"}

    def forward(k, x, y, alpha, scale, inner, is_result):
        g, v = to_wide(k, x), to_wide(k, y)
        slope = k.mul(k.exp(scaled(k, v, inner)), alpha * scale * inner)
        return round_to(k, k.mul(g, k.where(k.le(v, 0), slope, scale)), x)

    def vjp_x(g, y, alpha, scale, inner, is_result):
        return call(EluBackward.op, (g, y, alpha, scale, inner, is_result))

    @in_float32
    def vjp_y(g, x, y, alpha, scale, inner, is_result):     # the second derivative at 0 counts as 0
        below = y < 0
        return where(below, g * x * exp(where(below, y, 0.0) * inner) * (alpha * scale * inner * inner), 0.0)


def exponential_below(k, x, alpha, scale, inner):
    """The forward of elu and celu."""
    v = to_wide(k, x)
    return round_to(k, k.elu(v, scaled(k, v, inner), alpha * scale, scale), x)


def scaled(k, x, factor):
    """x times a number; x itself if it is 1."""
    return x if factor == 1 else k.mul(x, factor)


# ---- gelu --------------------------------------------------------------------------------------------------------------


@op("gelu")
class Gelu(Elementwise):
    """z = x Φ(x), or with tanh x σ(2u), where u = √(2/π) (x + 0.044715 x³)"""

    inputs = 1

    def forward(k, x, approximate):
        return k.gelu_tanh(x) if approximate == "tanh" else k.gelu(x)

    def vjp_x(g, x, approximate):
        return call(GeluBackward.op, (g, x, approximate))


@op("gelu_backward", "GeluBackward0")
class GeluBackward(Elementwise):
    """z = x gelu'(y): the gradient of gelu at y, given the output's gradient x"""

    inputs = 2
    torch_names = GRADIENT

    def forward(k, x, y, approximate):
        return k.gelu_tanh_backward(x, y) if approximate == "tanh" else k.gelu_backward(x, y)

    def vjp_x(g, y, approximate):
        return call(GeluBackward.op, (g, y, approximate))

    @in_float32
    def vjp_y(g, x, y, approximate):        # gelu'' = φ(y) (2 - y²)
        if approximate == "tanh":
            return g * x * second_derivative(y)
        return g * x * exp(y * y * -0.5) * (2 - y * y) / math.sqrt(2 * math.pi)


def second_derivative(x):
    """(x σ(v))'' = σ(v) σ(-v) (2 v' + x v'' - x v'² tanh(v/2)), with v = 2u."""
    v = ROOT * (x + 0.044715 * x * x * x)
    slope, curve = ROOT * (1 + 0.134145 * x * x), ROOT * 0.26829 * x
    return sigmoid(v) * sigmoid(-v) * (2 * slope + x * curve - x * slope * slope * tanh(v / 2))


# ---- silu --------------------------------------------------------------------------------------------------------------


@op("silu")
class Silu(Elementwise):
    """z = x σ(x)"""

    kernel = "silu"
    params = ("x",)

    def vjp_x(g, x):
        return call(SiluBackward.op, (g, conj(x)))


@op("silu_backward", "SiluBackward0")
class SiluBackward(Elementwise):
    """z = x (σ(y) + y σ(y) σ(-y)): the gradient of silu at y, given the output's gradient x"""

    inputs = 2
    torch_names = GRADIENT

    kernel = "silu_backward"
    params = ("x", "y")

    def vjp_x(g, y):
        return call(SiluBackward.op, (g, conj(y)))

    @in_float32
    def vjp_y(g, x, y):             # silu'' = σ σ̄ (2 + y (σ̄ - σ)), with σ̄ = σ(-y)
        y = conj(y)
        s, rest = sigmoid(y), sigmoid(-y)
        return g * conj(x) * (s * rest * (2 + y * (rest - s)))


# ---- mish --------------------------------------------------------------------------------------------------------------


@op("mish")
class Mish(Elementwise):
    """z = x tanh(log(1 + eˣ))"""

    kernel = "mish"
    params = ("x",)

    def vjp_x(g, x):
        return call(MishBackward.op, (g, x))


@op("mish_backward", "MishBackward0")
class MishBackward(Elementwise):
    """z = x (t + y σ(y) (1 - t²)), t = tanh(log(1 + e^y)): the gradient of mish at y, given the output's gradient x"""

    inputs = 2
    torch_names = GRADIENT

    kernel = "mish_backward"
    params = ("x", "y")

    def vjp_x(g, y):
        return call(MishBackward.op, (g, y))

    @in_float32
    def vjp_y(g, x, y):             # with m = t' = σ (1 - t²): mish'' = m (2 + y (σ(-y) - 2 t σ))
        above = y > 0
        p, q = exp(clamp_max(y, 0.0)), exp(-clamp_min(y, 0.0))
        low, high = p * (p + 2) + 2, 1 + 2 * q + 2 * q * q
        t = where(above, (1 + 2 * q) / high, p * (p + 2) / low)
        m = where(above, 4 * q * q * (1 + q) / (high * high), 4 * p * (1 + p) / (low * low))
        return g * x * m * (2 + clamp_max(y, LARGE) * (sigmoid(-y) - 2 * t * sigmoid(y)))


# ---- softplus and logsigmoid -------------------------------------------------------------------------------------------


@op("softplus")
class Softplus(Elementwise):
    """z = log(1 + e^(β x)) / β, or where β x is above the threshold, x"""

    inputs = 1

    def forward(k, x, beta, threshold):
        return round_to(k, k.softplus(to_wide(k, x), beta, threshold), x)

    def vjp_x(g, x, beta, threshold):
        return call(SoftplusBackward.op, (g, x, beta, threshold))


@op("softplus_backward", "SoftplusBackward0")
class SoftplusBackward(Elementwise):
    """z = x σ(β y), or where β y is above the threshold, x: the gradient of softplus at y, given the output's gradient x"""

    inputs = 2
    torch_names = GRADIENT

    def forward(k, x, y, beta, threshold):
        g, w = to_wide(k, x), scaled(k, to_wide(k, y), beta)
        return round_to(k, k.where(k.gt(w, threshold), g, k.mul(g, k.sigmoid(w))), x)

    def vjp_x(g, y, beta, threshold):
        return call(SoftplusBackward.op, (g, y, beta, threshold))

    @in_float32
    def vjp_y(g, x, y, beta, threshold):
        w = y * beta
        return where(w > threshold, 0.0, g * x * (sigmoid(w) * sigmoid(-w) * beta))


@op("log_sigmoid")
class LogSigmoid(Op):
    """z = log σ(x) = min(x, 0) - log(1 + u), u = e^-|x|"""

    inputs = 1
    outputs = ("z", "buffer")

    def forward(k, x):
        v = row_major(k, to_wide(k, x))
        u = k.exp(k.neg(k.abs(v)))
        return round_to(k, k.log_sigmoid(v, u), x), round_to(k, u, x)

    def vjp(g, needs, x, buffer):
        return (None if g[0] is None else call(LogSigmoidBackward.op, (g[0], x, constant(buffer))),)

    def jvp(ts, x, buffer):
        return call(LogSigmoidBackward.op, (ts[0], x, constant(buffer))), None


@op("log_sigmoid_backward", "LogSigmoidBackward0")
class LogSigmoidBackward(Elementwise):
    """z = x σ(-y): the gradient of logsigmoid at y, given the output's gradient x. The buffer is u of the forward."""

    inputs = 2
    torch_names = GRADIENT

    def forward(k, x, y, buffer):   # σ(-y) is 1 / (1 + u) below 0, u / (1 + u) elsewhere
        u, v = to_wide(k, buffer), to_wide(k, y)
        return round_to(k, k.mul(to_wide(k, x), k.div(k.where(k.lt(v, 0), 1.0, u), k.add(u, 1.0))), x)

    def vjp_x(g, y, buffer):
        return call(LogSigmoidBackward.op, (g, y, buffer))

    @in_float32
    def vjp_y(g, x, y):
        return -(g * x * (sigmoid(y) * sigmoid(-y)))


# ---- glu ---------------------------------------------------------------------------------------------------------------


@op("glu")
class Glu(Op):
    """z = a σ(b), where x is a and then b along a dimension"""

    inputs = 1

    def forward(k, x, dim):
        return k.glu(x, dim if dim >= 0 else dim + x.ndim)

    def vjp_x(g, x, dim):
        return call(GluBackward.op, (g, x, dim))

    @in_float32
    def jvp_x(t, x, dim):
        (a, b), (ta, tb) = chunk(x, 2, dim), chunk(t, 2, dim)
        s = sigmoid(b)
        return ta * s + tb * a * s * sigmoid(-b)


@op("glu_backward", "GluBackward0")
class GluBackward(Op):
    """z = x σ(b) and then x a σ(b) σ(-b), where y is a and then b: the gradient of glu at y, given the output's gradient x"""

    inputs = 2
    torch_names = GRADIENT

    def forward(k, x, y, dim):
        return k.glu_backward(x, y, dim if dim >= 0 else dim + y.ndim)

    @in_float32
    def vjp_x(g, y, dim):
        (a, b), (ga, gb) = chunk(y, 2, dim), chunk(g, 2, dim)
        s = sigmoid(b)
        return ga * s + gb * a * (s * sigmoid(-b))

    @in_float32
    def vjp_y(g, x, y, dim):
        (a, b), (ga, gb) = chunk(y, 2, dim), chunk(g, 2, dim)
        s, rest = sigmoid(b), sigmoid(-b)
        steep = x * (s * rest)
        return cat([gb * steep, steep * (ga + gb * a * (rest - s))], dim)

    def jvp_x(t, y, dim):
        return call(GluBackward.op, (t, y, dim))

    @in_float32
    def jvp_y(t, x, y, dim):        # the matrix of second derivatives is symmetric
        (a, b), (ta, tb) = chunk(y, 2, dim), chunk(t, 2, dim)
        s, rest = sigmoid(b), sigmoid(-b)
        steep = x * (s * rest)
        return cat([tb * steep, steep * (ta + tb * a * (rest - s))], dim)
