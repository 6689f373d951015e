"""Activations as rules of their own: elu, whose slope next to 0 is not 1 less its value; gelu, which written with ops takes eight
passes over memory, and is in every transformer.

Mirrors ``aten/src/ATen/native/Activation.cpp``. The other activations are written with ops, in ``nn/_activations.py``.
"""

import math

import cython

from minigrad.ops.base import Elementwise, op
from minigrad.ops.functions import exp, sigmoid, tanh
from minigrad.ops.selection import where

if not cython.compiled:
    from minigrad._core.apply import call

__all__: list[str] = []

ROOT = math.sqrt(8 / math.pi)


@op("elu")
class Elu(Elementwise):
    """z = s x, or where x <= 0, s α (e^(c x) - 1)"""

    inputs = 1
    torch_names = {"x": "self_or_result", "scale": "scale", "inner": "input_scale"}

    def forward(k, x, alpha, scale, inner):
        return k.where(k.le(x, 0), k.mul(k.expm1(k.mul(x, inner)), alpha * scale), k.mul(x, scale))

    def vjp_x(g, x, alpha, scale, inner):       # dx = g s α c e^(c x) there: the value plus α would cancel
        below = x <= 0
        return g * where(below, exp(where(x < 0, x, 0.0) * inner) * (alpha * scale * inner), scale)    # of no curvature at 0


@op("celu")
class Celu(Elu):
    """`Elu` with c = 1 / α: PyTorch counts it as another op"""


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
    """z = x gelu'(y): the gradient of gelu at y, where its own is x"""

    inputs = 2
    torch_names = {"x": "grad_output", "y": "self"}

    def forward(k, x, y, approximate):
        return k.gelu_tanh_backward(x, y) if approximate == "tanh" else k.gelu_backward(x, y)

    def vjp_x(g, y, approximate):
        return call(GeluBackward.op, (g, y, approximate))

    def vjp_y(g, x, y, approximate):        # gelu'' = φ(y) (2 - y²)
        if approximate == "tanh":
            return g * x * second_derivative(y)
        return g * x * exp(y * y * -0.5) * (2 - y * y) / math.sqrt(2 * math.pi)


def second_derivative(x):
    """(x σ(v))'' = σ(v) σ(-v) (2 v' + x v'' - x v'² tanh(v/2)), with v = 2u."""
    v = ROOT * (x + 0.044715 * x * x * x)
    slope, curve = ROOT * (1 + 0.134145 * x * x), ROOT * 0.26829 * x
    return sigmoid(v) * sigmoid(-v) * (2 * slope + x * curve - x * slope * slope * tanh(v / 2))
