"""Softmax and its logarithm.

Mirrors ``aten/src/ATen/native/SoftMax.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad._core.record.promotion import as_dtype
from minigrad.errors import DtypeError
from minigrad.ops.base.arguments import dimension, tensor_argument
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import in_float32
from minigrad.ops.base.rule import Op, op
from minigrad.ops.elementwise.functions import exp
from minigrad.ops.reduce.reduction import SumDim
from minigrad.ops.shape.clone_cast import cast

if TYPE_CHECKING:
    from minigrad.types import DType, Tensor

__all__ = ["log_softmax", "softmax"]


def sum_dim(x, dim):
    """Σ x over one dimension, which is kept with size 1."""
    return call(SumDim.op, (x, (dim,), True)) if x.ndim else x


@op("softmax")
class Softmax(Op):
    """z = e^x / Σ e^x"""

    inputs = 1

    def forward(k, x, dim):
        return k.softmax(x, dim)

    def vjp_x(g, z, dim):       # dx = z (g - Σ g z)
        return call(SoftmaxBackward.op, (g, z, dim))

    def jvp_x(t, z, dim):
        return call(SoftmaxBackward.op, (t, z, dim))


@op("softmax_backward", "SoftmaxBackwardData0")
class SoftmaxBackward(Op):
    """z = y (x - Σ x y): the gradient of softmax, whose result is y"""

    torch_names = {"x": "grad_output", "y": "output"}

    def forward(k, x, y, dim):
        return k.softmax_backward(x, y, dim)

    def vjp_x(g, y, dim):
        return call(SoftmaxBackward.op, (g, y, dim))

    @in_float32
    def vjp_y(g, x, y, dim):
        return g * (x - sum_dim(x * y, dim)) - x * sum_dim(g * y, dim)

    def jvp_x(t, y, dim):
        return call(SoftmaxBackward.op, (t, y, dim))

    @in_float32
    def jvp_y(t, x, y, dim):
        return t * (x - sum_dim(x * y, dim)) - y * sum_dim(x * t, dim)


@op("log_softmax", "LogSoftmax0")
class LogSoftmax(Op):
    """z = x - log Σ e^x"""

    inputs = 1

    def forward(k, x, dim):
        return k.log_softmax(x, dim)

    def vjp_x(g, z, dim):       # dx = g - e^z Σ g
        return call(LogSoftmaxBackward.op, (g, z, dim))

    @in_float32
    def jvp_x(t, z, dim):
        return t - sum_dim(t * exp(z), dim)


@op("log_softmax_backward", "LogSoftmaxBackwardData0")
class LogSoftmaxBackward(Op):
    """z = x - e^y Σ x: the gradient of log_softmax, whose result is y"""

    torch_names = {"x": "grad_output", "y": "output"}

    def forward(k, x, y, dim):
        return k.log_softmax_backward(x, y, dim)

    @in_float32
    def vjp_x(g, y, dim):
        return g - sum_dim(g * exp(y), dim)

    @in_float32
    def vjp_y(g, x, y, dim):
        return -g * exp(y) * sum_dim(x, dim)

    def jvp_x(t, y, dim):
        return call(LogSoftmaxBackward.op, (t, y, dim))

    @in_float32
    def jvp_y(t, x, y, dim):
        return -t * exp(y) * sum_dim(x, dim)


def softmax_argument(function, input, dim, dtype):
    """Return (input, dim) of softmax and log_softmax, after checks."""
    tensor_argument(function, input)
    if dtype is not None:
        input = cast(input, as_dtype(dtype))
    if not input.dtype.is_floating_point and input.numel():
        raise DtypeError("MG-E203", f"{function}() is only implemented for floating point tensors, not {input.dtype.name}",
                         fix="x.float()")
    return input, dimension(dim, input.ndim)

# ---- public functions -------------------------------------------------------------------------------------


def softmax(input: Tensor, dim: int, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """e^x / Σ e^x along `dim`: positive numbers that sum to 1.

    Args:
        input (Tensor): floating point.
        dim (int): the dimension along which the results sum to 1.
        dtype (optional): `input` is converted to it first.

    Mirrors ``torch.softmax``.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: the dtype is not a floating point one.

    >>> mg.softmax(mg.tensor([0., 0.]), 0)
    tensor([0.5000, 0.5000])
    """
    if out is not None:
        return into(out, softmax, input, dim, dtype=dtype)
    input, at = softmax_argument("softmax", input, dim, dtype)
    return call(Softmax.op, (input, at))


def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
    """The logarithm of softmax, computed without overflow. Mirrors ``torch.log_softmax``.

    Args:
        input (Tensor): floating point.
        dim (int): the dimension along which the exponentials of the results sum to 1.
        dtype (optional): `input` is converted to it first.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: the dtype is not a floating point one.

    >>> mg.log_softmax(mg.tensor([0., 0.]), 0)
    tensor([-0.6931, -0.6931])
    """
    if out is not None:
        return into(out, log_softmax, input, dim, dtype=dtype)
    input, at = softmax_argument("log_softmax", input, dim, dtype)
    return call(LogSoftmax.op, (input, at))
