"""Elementwise functions of one number: roots, exp and log, sin and cos, and the activations tanh, sigmoid and relu.

Formulas follow PyTorch's convention for complex numbers: the gradient of a real loss L with respect to z is
dL/d(Re z) + i dL/d(Im z). So a vjp multiplies by the conjugate of the derivative. `conj` returns a real value
itself, at no cost.

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/UnaryOps.cpp``.
"""

from cython.cimports.minigrad._core.record.apply import binary
from cython.cimports.minigrad.ops.base.rule import conj

from minigrad.ops.base.rule import Elementwise, op, unary_function

__all__ = ["cos", "exp", "log", "log1p", "reciprocal", "relu", "rsqrt", "sigmoid", "sin", "sqrt", "tanh"]


@op("reciprocal")
class Reciprocal(Elementwise):
    """z = 1 / x

    >>> mg.reciprocal(mg.tensor([2., 4.]))
    tensor([0.5000, 0.2500])
    """

    reads_g_once = True
    kernel = "reciprocal"
    params = ("x",)
    floats_only = True

    def vjp_x(g, z):        # dx = -g z²
        return -g * conj(z * z)


@op("sqrt")
class Sqrt(Elementwise):
    """z = √x

    >>> mg.sqrt(mg.tensor([4., 9.]))
    tensor([2., 3.])
    """

    reads_g_once = True
    kernel = "sqrt"
    params = ("x",)
    floats_only = True

    def vjp_x(g, z):        # dx = g / 2z
        return g / (2 * conj(z))


@op("rsqrt")
class Rsqrt(Elementwise):
    """z = 1 / √x

    >>> mg.rsqrt(mg.tensor([4., 16.]))
    tensor([0.5000, 0.2500])
    """

    reads_g_once = True
    kernel = "rsqrt"
    params = ("x",)
    floats_only = True

    def vjp_x(g, z):        # dx = -g z³ / 2
        return -0.5 * g * conj(z ** 3)


@op("exp")
class Exp(Elementwise):
    """z = e to the power x

    >>> mg.exp(mg.tensor([0., 1.]))
    tensor([1.0000, 2.7183])
    """

    reads_g_once = True
    kernel = "exp"
    params = ("x",)
    floats_only = True

    def vjp_x(g, z):
        return g * conj(z)


@op("log")
class Log(Elementwise):
    """z = natural logarithm of x

    >>> mg.log(mg.tensor([1., 2.]))
    tensor([0.0000, 0.6931])
    """

    reads_g_once = True
    kernel = "log"
    params = ("x",)
    floats_only = True

    def vjp_x(g, x):
        return g / conj(x)


@op("log1p", "Log1P0")
class Log1p(Elementwise):
    """z = log(1 + x), accurate for small x

    >>> mg.log1p(mg.tensor([0., 1.]))
    tensor([0.0000, 0.6931])
    """

    reads_g_once = True
    kernel = "log1p"
    params = ("x",)
    floats_only = True

    def vjp_x(g, x):
        return g / conj(x + 1)


@op("sin")
class Sin(Elementwise):
    """z = sin x, x in radians

    >>> mg.sin(mg.tensor([0., 1.]))
    tensor([0.0000, 0.8415])
    """

    reads_g_once = True
    kernel = "sin"
    params = ("x",)
    floats_only = True

    def vjp_x(g, x):
        return g * conj(cos(x))


@op("cos")
class Cos(Elementwise):
    """z = cos x, x in radians

    >>> mg.cos(mg.tensor([0., 1.]))
    tensor([1.0000, 0.5403])
    """

    reads_g_once = True
    kernel = "cos"
    params = ("x",)
    floats_only = True

    def vjp_x(g, x):
        return g * conj(-sin(x))


@op("tanh")
class Tanh(Elementwise):
    """z = hyperbolic tangent of x

    >>> mg.tanh(mg.tensor([0., 1.]))
    tensor([0.0000, 0.7616])
    """

    reads_g_once = True
    kernel = "tanh"
    params = ("x",)
    floats_only = True

    def vjp_x(g, z):        # dx = g (1 - z²)
        return binary(TanhBackward.op, g, conj(z))


@op("tanh_backward")
class TanhBackward(Elementwise):
    """z = x (1 - y²): the gradient of tanh in one pass"""

    kernel = "tanh_backward"
    params = ("x", "y")
    torch_names = {"x": "grad_output", "y": "result"}

    def vjp_x(g, y):
        return binary(TanhBackward.op, g, conj(y))

    def vjp_y(g, x, y):
        return g * conj(-2 * x * y)


@op("sigmoid")
class Sigmoid(Elementwise):
    """z = 1 / (1 + e to the power -x)

    >>> mg.sigmoid(mg.tensor([0., 1.]))
    tensor([0.5000, 0.7311])
    """

    reads_g_once = True
    kernel = "sigmoid"
    params = ("x",)
    floats_only = True

    def vjp_x(g, z):        # dx = g z (1 - z)
        return binary(SigmoidBackward.op, g, conj(z))


@op("sigmoid_backward")
class SigmoidBackward(Elementwise):
    """z = x y (1 - y): the gradient of sigmoid in one pass"""

    kernel = "sigmoid_backward"
    params = ("x", "y")
    torch_names = {"x": "grad_output", "y": "result"}

    def vjp_x(g, y):
        return binary(SigmoidBackward.op, g, conj(y))

    def vjp_y(g, x, y):
        return g * conj(x * (1 - 2 * y))


@op("relu")
class Relu(Elementwise):
    """z = max(x, 0). The derivative at 0 is 0.

    >>> mg.relu(mg.tensor([-1., 2.]))
    tensor([0., 2.])
    """

    reads_g_once = True
    kernel = "relu"
    params = ("x",)
    refuses_bool = "Boolean inputs not supported for relu"
    refuses_complex = "relu is not supported for complex types"

    def vjp_x(g, z):
        return binary(ReluBackward.op, g, z)


@op("relu_backward", "ThresholdBackward0")
class ReluBackward(Elementwise):
    """z = 0 where y <= 0, else x: the gradient of relu"""

    kernel = "relu_backward"
    params = ("x", "y")
    torch_names = {"x": "grad_output", "y": "self"}

    def vjp_x(g, y):
        return binary(ReluBackward.op, g, y)

    def vjp_y(g):           # at y = 0 there is no derivative, elsewhere it is 0
        return g.new_zeros(g.shape)


# ---- public functions -------------------------------------------------------------------------------------


reciprocal = unary_function(Reciprocal)
sqrt = unary_function(Sqrt)
rsqrt = unary_function(Rsqrt)
exp = unary_function(Exp)
log = unary_function(Log)
log1p = unary_function(Log1p)
sin = unary_function(Sin)
cos = unary_function(Cos)
tanh = unary_function(Tanh)
sigmoid = unary_function(Sigmoid)
relu = unary_function(Relu)
