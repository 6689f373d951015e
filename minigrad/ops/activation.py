"""GELU as a rule of its own: written with ops it takes eight passes over memory, and it is in every transformer.

Mirrors ``aten/src/ATen/native/Activation.cpp``. The other activations are written with ops, in ``nn/_activations.py``.
"""

import math

import cython

from minigrad.ops.base import Elementwise, op
from minigrad.ops.functions import exp, sigmoid

if not cython.compiled:
    from minigrad._core.apply import call

__all__: list[str] = []

ROOT = math.sqrt(8 / math.pi)


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
    """(x σ(v))'' = s (2 v' + x v'' + x v'² (1 - 2σ)), with v = 2u and s = σ (1 - σ)."""
    s = sigmoid(ROOT * (x + 0.044715 * x * x * x))
    slope, curve = ROOT * (1 + 0.134145 * x * x), ROOT * 0.26829 * x
    return s * (1 - s) * (2 * slope + x * curve + x * slope * slope * (1 - 2 * s))
