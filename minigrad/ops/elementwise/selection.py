"""Elementwise absolute value, sign and choice: abs, maximum, where, clamp; and the real part of complex numbers.

The gradient goes to the operand that was chosen. Where two are equal, maximum and minimum give each of them half.

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/{BinaryOps,TensorCompare}.cpp``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.metadata import meta_of
from cython.cimports.minigrad._core.graph.tensor import TensorBase, is_plain, wrap
from cython.cimports.minigrad._core.record.apply import call
from cython.cimports.minigrad.ops.base.rule import conj

from minigrad._core.graph.metadata import named_dtype
from minigrad._core.graph.upcalls import upcalls as core
from minigrad._core.record.promotion import operands_dtype
from minigrad._core.surface.variable import new_tensor
from minigrad.errors import ArgumentError, DtypeError, TensorTypeError
from minigrad.kernels.contract import NUMBER
from minigrad.ops.base.arguments import LARGE, NUMBERS, WRITTEN_AS, convert_number, tensor_argument, tensor_error
from minigrad.ops.base.broadcasting import call_broadcasting
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import (
    BOOL,
    INT64,
    Elementwise,
    Linear,
    View,
    named,
    op,
    two_operands,
    unary_function,
    write_by_kernel,
)

if TYPE_CHECKING:
    from typing import Any

    from minigrad.types import Number, Tensor

__all__ = ["abs", "absolute", "clamp", "clip", "maximum", "minimum", "sign", "where"]


# Types of limits for which clamp needs no type promotion.
PLAIN = (float, int, type(None))
CLAMP = NUMBER["clamp"]


@op("abs")
class Abs(Elementwise):
    """z = |x|, real for complex x. The derivative at 0 is 0.

    >>> mg.abs(mg.tensor([-1., 2.]))
    tensor([1., 2.])
    """

    kernel = "abs"
    params = ("x",)
    refuses_bool = "abs() is not implemented for bool"

    def vjp_x(g, x):        # dx = g x / |x|
        return g * sgn(x)

    def jvp_x(t, x):
        return real_part(t * conj(sgn(x)))


@op("sign")
class Sign(Elementwise):
    """z = -1, 0 or 1, as x is negative, 0 or positive. The derivative is 0.

    >>> mg.sign(mg.tensor([-3., 0., 2.]))
    tensor([-1.,  0.,  1.])
    """

    kernel = "sign"
    params = ("x",)
    refuses_complex = "Unlike NumPy, sign() is not intended to support complex numbers: divide by abs() instead."

    def vjp_x(g):
        return zeros_like(g)


@op("sgn")
class Sgn(Elementwise):
    """z = x / |x|, 0 where x is 0; the sign of a real x"""

    kernel = "sgn"
    params = ("x",)
    torch_names = {"x": "self", "z": "result"}

    def vjp_x(g, x, z):         # real: 0. For a complex x only the angle matters: dx = i z Im(g z̄) / |x|
        return along_the_circle(g, x, z)

    def jvp_x(t, x, z):         # the same, since the derivative is symmetric
        return along_the_circle(t, x, z)


def along_the_circle(g, x, z):
    """The component of g at right angles to z, divided by |x|; 0 for real x."""
    if not x.dtype.is_complex:
        return zeros_like(g)
    size = abs(x)
    none = size == 0
    return where(none, 0.0, 1j * z * real_part(-1j * g * conj(z)) / where(none, 1.0, size))


@op("maximum")
class Maximum(Elementwise):
    """z = the larger of x and y; nan if one is nan, and then both get the gradient. Where they are equal, each gets half.

    Args:
        input, other (Tensor): x and y. The shapes broadcast, and the dtypes are promoted.

    Mirrors ``torch.maximum``.

    Raises:
        RuntimeError: an operand is complex, or the shapes cannot be broadcast together.

    >>> mg.maximum(mg.tensor([1., 5.]), mg.tensor([2., 3.]))
    tensor([2., 5.])
    """

    kernel = "maximum"
    params = ("x", "y")
    refuses_complex = "maximum not implemented for complex tensors."

    def vjp_x(g, x, y):
        return share(g, x, y, x < y)

    def vjp_y(g, x, y):
        return share(g, x, y, x > y)


@op("minimum")
class Minimum(Elementwise):
    """z = the smaller of x and y; nan if one is nan, and then both get the gradient. Where they are equal, each gets half.

    Args:
        input, other (Tensor): x and y. The shapes broadcast, and the dtypes are promoted.

    Mirrors ``torch.minimum``.

    Raises:
        RuntimeError: an operand is complex, or the shapes cannot be broadcast together.

    >>> mg.minimum(mg.tensor([1., 5.]), mg.tensor([2., 3.]))
    tensor([1., 3.])
    """

    kernel = "minimum"
    params = ("x", "y")
    refuses_complex = "minimum not implemented for complex tensors."

    def vjp_x(g, x, y):
        return share(g, x, y, x > y)

    def vjp_y(g, x, y):
        return share(g, x, y, x < y)


def share(g, x, y, loses):
    """The gradient of an operand: g where it wins, g / 2 where it ties, and 0 (not 0 times g, which may be inf) where it loses."""
    return where(loses, 0.0, where(x == y, g / 2, g))


@op("where")
class Where(Elementwise):
    """z = x where c, else y"""

    inputs = 2
    torch_names = {"c": "condition"}

    def forward(k, x, y, c):
        return k.where(c, x, y)

    def vjp_x(g, c):
        return where(c, g, 0.0)

    def vjp_y(g, c):
        return where(c, 0.0, g)


@op("clamp", "Clamp1")
class Clamp(Elementwise):
    """z = x limited to [low, high]: two numbers, or a number and None"""

    inputs = 1
    torch_names = {"x": "self", "low": "min", "high": "max"}

    def forward(k, x, low, high):
        return k.clamp(x, low, high)

    def write(k, x, low, high):
        write_by_kernel(k, CLAMP, x, low, high)

    def vjp_x(g, x, low, high):
        return where(inside_limits(x, low, high), g, 0.0)


@op("clamp_tensor", "Clamp0")
class ClampTensor(Elementwise):
    """z = x limited to [low, high]: two tensors, or a tensor and None"""

    inputs = 3
    torch_names = {"x": "self", "low": "min", "high": "max"}

    def forward(k, x, low, high):
        return k.clamp(x, low, high)

    def vjp_x(g, x, low, high):
        return where(inside_limits(x, low, high), g, 0.0)

    def vjp_low(g, x, low, high):
        below = x < low
        return where(below if high is None else below & (low < high), g, 0.0)

    def vjp_high(g, x, low, high):
        above = x > high
        return where(above if low is None else above | (high < low), g, 0.0)


def inside_limits(x, low, high):
    """Where clamp leaves x as it is."""
    if low is None:
        return x <= high
    return x >= low if high is None else (x >= low) & (x <= high)


@op("conj")
class Conj(Linear):
    """z = the complex conjugate of x"""

    def forward(k, x):
        return k.conj(x)

    def vjp_x(g):
        return g.conj()


@op("real")
class Real(View):
    """z = the real part of x, a view"""

    def forward(k, x):
        return k.real(x)

    def vjp_x(g):           # the engine makes g complex, as x is
        return g


def real_part(x):
    """The real part of x; x itself if it is real."""
    return call(Real.op, (x,)) if x.dtype.is_complex else x


def sgn(x):
    """x / |x|, 0 at 0."""
    return call(Sgn.op, (x,)) if x.dtype.is_complex else sign(x)

# ---- public functions -------------------------------------------------------------------------------------


abs = absolute = unary_function(Abs)
sign = unary_function(Sign)


def two_tensors(rule):
    """Make the public function of an op on two tensors."""
    name = rule.op.name

    def function(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        if out is not None:
            return into(out, function, input, other)
        tensor_argument(name, input)
        return two_operands(rule.op, input, tensor_argument(name, other, "other", 2))
    return named(function, name, rule.__doc__)

maximum = two_tensors(Maximum)
minimum = two_tensors(Minimum)


def where(condition: Tensor, input: Tensor | Number | None = None, other: Tensor | Number | None = None, *,
          out: Tensor | None = None) -> Any:
    """z = input where condition, else other, elementwise. With a condition alone, the places where it is not 0.

    Args:
        condition (Tensor): bool. The three shapes broadcast together.
        input, other (Tensor or number): of any dtypes, which are promoted. Without both, the result is that of
            ``condition.nonzero(as_tuple=True)``.

    The gradient goes to the operand that was chosen. Mirrors ``torch.where``.

    Raises:
        RuntimeError: the condition is not bool, or the shapes cannot be broadcast together.

    >>> x = mg.tensor([-1., 2.])
    >>> mg.where(x > 0, x, 0.)
    tensor([0., 2.])
    >>> mg.where(x > 0)
    (tensor([1]),)
    """
    if input is None and other is None and out is None:
        found: Any = tensor_argument("where", condition, "condition")
        return found.nonzero(as_tuple=True)
    if out is not None:
        return into(out, where, condition, input, other)
    tensor_argument("where", condition, "condition")
    for position, x in ((2, input), (3, other)):
        if not isinstance(x, (TensorBase, *NUMBERS)):
            raise tensor_error("where", x, "input" if position == 2 else "other", position)
    if condition.dtype.name == "uint8":
        warnings.warn("where received a uint8 condition tensor. This behavior is deprecated. Use a boolean condition instead.",
                      UserWarning, stacklevel=2)
        condition = cast(condition, BOOL)
    if condition.dtype is not BOOL:
        raise DtypeError("MG-E203", f"where expected condition to be a boolean tensor, but got a tensor with dtype "
                         f"{condition.dtype.name}", fix="compare: condition != 0")
    check_numbers(operands_dtype((input, other)), input, other)
    input, other = promote_tensors("where", condition, input, other)
    return call_broadcasting(Where.op, (input, other, condition))


def clamp(input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None, *,
          out: Tensor | None = None) -> Tensor:
    """z = input limited to [min, max], elementwise; where min > max the result is max.

    Args:
        input (Tensor): real numbers.
        min, max (number or Tensor, optional): two numbers or two tensors; one may be None. Tensors are broadcast.

    The derivative is 1 inside the limits, bounds included, and 0 outside. Mirrors ``torch.clamp``.

    Raises:
        RuntimeError: both limits are None, a dtype is complex, or the shapes cannot be broadcast together.
        TypeError: one limit is a number and the other is a tensor.

    >>> mg.clamp(mg.tensor([-1., 0.5, 2.]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if out is not None:
        return into(out, clamp, input, min, max)
    tensor_argument("clamp", input)
    if input._meta.dtype.is_floating_point and type(min) in PLAIN and type(max) in PLAIN and (min is not None or max is not None):
        return call(Clamp.op, (input, min, max))
    given = clamp_limits("clamp", min, max)
    dtype = operands_dtype((input, *given))
    if dtype.is_complex:
        raise DtypeError("MG-E203", "clamp is not supported for complex types")
    if isinstance(given[0], TensorBase):
        return call_broadcasting(ClampTensor.op, (cast(input, dtype), *[None if x is None else cast(x, dtype) for x in (min, max)]))
    if min is not None:
        min = given[0]
    check_numbers(dtype, *given)
    return call(Clamp.op, (cast(input, dtype), min, max))


def clamp_limits(function, min, max):
    """Return the limits of clamp that are not None; raise unless they are tensors only or numbers only, at least one."""
    given = [limit for limit in (min, max) if limit is not None]
    numbers = [limit for limit in given if isinstance(limit, NUMBERS)]
    if not given:
        raise ArgumentError("MG-E302", f"{function}: At least one of 'min' or 'max' must not be None")
    if numbers and isinstance(given[0], TensorBase) and given[0].ndim == 0:     # as in PyTorch, a 0-d tensor counts as a number
        given[0] = given[0].detach().item()
        numbers = given
    if len(numbers) not in (0, len(given)) or not all(isinstance(x, (TensorBase, *NUMBERS)) for x in given):
        raise TensorTypeError("MG-E201", f"{function}(): 'min' and 'max' must be two tensors or two numbers, not "
                              f"{' and '.join(type(x).__name__ for x in given)}")
    return given

clip = clamp


def promote_tensors(function, like, *operands):
    """Convert `operands`, tensors or numbers, to tensors of one dtype. Numbers go to the device of `like`.

    An integer that the dtype cannot hold wraps around, as in every sum: for int8, 300 is 44.
    """
    first: TensorBase | None = operands[0] if isinstance(operands[0], TensorBase) else None
    alike = True
    for position, x in enumerate(operands):
        if isinstance(x, TensorBase):
            alike = alike and first is not None and x._meta.dtype is first._meta.dtype
        elif isinstance(x, NUMBERS):
            alike = False
        else:
            raise tensor_error(function, x, ("input", "other")[position % 2], position + 1)
    if alike:
        return list(operands)
    dtype = operands_dtype(operands)
    return [cast(x, dtype) if isinstance(x, TensorBase) else number_tensor(x, like, dtype) for x in operands]


def check_numbers(dtype, *operands):
    """Raise if `dtype` cannot hold one of the numbers among `operands`, for functions that would write it."""
    for x in operands:
        if not isinstance(x, TensorBase):
            convert_number(x, WRITTEN_AS.get(dtype, dtype))


def number_tensor(number, like, dtype=None):
    """Make a 0-d tensor of `number` on the device of `like`, in the widest dtype, or converted from there to `dtype`."""
    meta = cython.cast(TensorBase, like, typecheck=True)._meta
    kernels = meta.backend.kernels
    if type(number) is float and dtype is not None and dtype.is_floating_point:
        array = kernels.full((), number, dtype.numpy)
    else:
        wide = widest_dtype(number)
        if isinstance(number, int) and wide.is_floating_point and dtype is not None and not dtype.differentiable:
            from minigrad.kernels.refusals import too_long  # with the first error
            raise too_long(number)
        array = kernels.full((), convert_number(number, wide), wide.numpy)
        if dtype is not None:
            array = kernels.cast(array, dtype.numpy)
    if is_plain(like):
        return wrap(array, meta_of(array, meta.device))
    return new_tensor(type(like.detach()), array, False, meta.device)


def widest_dtype(number):
    """The widest dtype for `number`: bool, int64, float64 or complex128."""
    if isinstance(number, (bool, np.bool_)):
        return BOOL
    if isinstance(number, (int, np.integer)):
        return INT64 if -LARGE <= number < LARGE else named_dtype("float64")
    return named_dtype("complex128" if isinstance(number, (complex, np.complexfloating)) else "float64")


def cast(x, dtype):
    """Convert `x` to `dtype`; return `x` itself if it has this dtype."""
    return x if x._meta.dtype is dtype else core.cast(x, dtype)


def float_operands(g, *operands):
    """Convert integer operands to the dtype of the gradient `g`: the square of an int8 may not fit in an int8."""
    return [x if x._meta.dtype.differentiable else cast(x, g._meta.dtype) for x in operands]


def zeros_like(x):
    """Zeros in the shape of `x`, without history."""
    return x.new_zeros(x.shape)
