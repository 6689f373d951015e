"""In-place arithmetic: ``x.add_(y)``, ``x.exp_()``, ``x += y``; and a table of in-place methods.

Most methods use the rule of the out-of-place op and write its result over the first operand
(``_core/mutation/inplace.py``). The others are in

    base/inplace_pairs.py                   lerp, lerp_: one definition for both the function and the in-place method
    base/overwriting.py                     copy_, zero_, fill_: ops that exist only in place
    shape/inplace_views.py                  t_, squeeze_, resize_: they change the shape, but not the numbers
    index/getitem.py                        x[...] = y
    elementwise/comparison_inplace.py       eq_, logical_not_: ops without a derivative

Mirrors the in-place ops of ``tools/autograd/derivatives.yaml``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cython.cimports.minigrad._core.graph.tensor import TensorBase

from minigrad._core.mutation.inplace import apply_inplace
from minigrad._core.record.promotion import operands_dtype
from minigrad.errors import DtypeError, TensorTypeError
from minigrad.ops.base import overwriting
from minigrad.ops.base.arguments import NUMBERS, number
from minigrad.ops.base.broadcasting import explain_misfit
from minigrad.ops.base.overwriting import copy_
from minigrad.ops.elementwise import arithmetic, functions, selection
from minigrad.ops.elementwise.arithmetic import DivMode, with_alpha
from minigrad.ops.elementwise.selection import Clamp, ClampTensor, check_numbers, clamp_limits, promote_tensors
from minigrad.ops.linalg import matrix
from minigrad.ops.linalg.matrix import addmm_operands

if TYPE_CHECKING:
    from typing import Literal

    from minigrad.types import Number, Tensor

__all__ = ["METHODS"]


def check_operand(name, other):
    """Return `other`; raise `TypeError` unless it is a tensor or a number."""
    if not isinstance(other, TensorBase) and not isinstance(other, NUMBERS):
        raise TensorTypeError("MG-E201", f"{name}(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
    return other


def binary_method(rule, name):
    """Make the in-place method of a rule with two operands: ``x.mul_(y)``."""
    primitive = rule.op

    def method(self, other: Tensor | Number) -> Tensor:
        return apply_inplace(primitive, self, (check_operand(name, other),))
    return method


def unary_method(rule):
    """Make the in-place method of a rule with one operand: ``x.exp_()``."""
    primitive = rule.op

    def method(self) -> Tensor:
        if rule is selection.Abs and self.dtype.is_complex:
            raise DtypeError("MG-E203", "In-place abs is not supported for complex tensors.", fix="x.abs() gives a real tensor")
        return apply_inplace(primitive, self, ())
    return method


def add_(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """self += alpha other, in place. Mirrors ``torch.Tensor.add_``.

    Args:
        other (Tensor or number): broadcasts to the shape of self.
        alpha (number, optional): the factor of `other`.

    Raises:
        RuntimeError: `other` does not broadcast to self, the result does not fit the dtype, or self may not be written to.
        TypeError: `other` is neither a tensor nor a number.

    >>> mg.tensor([1., 2.]).add_(1)
    tensor([2., 3.])
    """
    other = check_operand("add_", other)
    if type(alpha) is int and alpha == 1:
        return apply_inplace(arithmetic.Add.op, self, (other,))
    op, operands = with_alpha("add", self, other, alpha)
    return explain_misfit(apply_inplace, op, self, operands[1:])


def sub_(self, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """self -= alpha other, in place. Mirrors ``torch.Tensor.sub_``.

    Args:
        other (Tensor or number): broadcasts to the shape of self.
        alpha (number, optional): the factor of `other`.

    Raises:
        RuntimeError: `other` does not broadcast to self, the result does not fit the dtype, or self may not be written to.
        TypeError: `other` is neither a tensor nor a number.

    >>> mg.tensor([1., 2.]).sub_(1)
    tensor([0., 1.])
    """
    other = check_operand("sub_", other)
    if type(alpha) is int and alpha == 1:
        return apply_inplace(arithmetic.Sub.op, self, (other,))
    op, operands = with_alpha("sub", self, other, alpha)
    return explain_misfit(apply_inplace, op, self, operands[1:])


def pow_(self, exponent: Tensor | Number) -> Tensor:
    """self **= exponent, in place. Mirrors ``torch.Tensor.pow_``.

    Raises:
        RuntimeError: `exponent` does not broadcast to self, the result does not fit the dtype, or self may not be written to.
        TypeError: `exponent` is neither a tensor nor a number.

    >>> mg.tensor([1., 2.]).pow_(2)
    tensor([1., 4.])
    """
    rule = arithmetic.Pow if isinstance(exponent, TensorBase) else arithmetic.PowScalar
    if not self.dtype.differentiable and isinstance(exponent, (TensorBase, int)):
        if operands_dtype((self, exponent)).category <= self.dtype.category:
            return copy_(self, arithmetic.pow(self, exponent))
    return apply_inplace(rule.op, self, (check_operand("pow_", exponent),))


def div_(self, other: Tensor | Number, *, rounding_mode: Literal['trunc', 'floor'] | None = None) -> Tensor:
    """self /= other, in place. Mirrors ``torch.Tensor.div_``.

    Args:
        other (Tensor or number): broadcasts to the shape of self.
        rounding_mode (str, optional): ``"trunc"`` or ``"floor"``, see `minigrad.div`. Without one, self cannot hold integers.

    Raises:
        RuntimeError: `other` does not broadcast to self, the result does not fit the dtype, or self may not be written to.
        TypeError: `other` is neither a tensor nor a number.

    >>> mg.tensor([3., 5.]).div_(2, rounding_mode="floor")
    tensor([1., 2.])
    """
    if rounding_mode is None:
        return apply_inplace(arithmetic.Div.op, self, (check_operand("div_", other),))
    others = arithmetic.check_rounded_division("div_", self, check_operand("div_", other), rounding_mode)[1:]
    if others[0].dtype.category > self.dtype.category:
        raise DtypeError("MG-E203", f"result type {others[0].dtype.name} can't be cast to the desired output type "
                         f"{self.dtype.name}", fix="convert first: x = x.to(...), or use the out-of-place op")
    return explain_misfit(apply_inplace, DivMode.op, self, others)


def true_divide_(self, other: Tensor | Number) -> Tensor:
    """self /= other. Mirrors ``torch.Tensor.true_divide_``.

    >>> mg.tensor([3., 5.]).true_divide_(2)
    tensor([1.5000, 2.5000])
    """
    return div_(self, other)


def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """self = beta self + alpha mat1 mat2, in place. Mirrors ``torch.Tensor.addmm_``.

    Args:
        mat1, mat2 (Tensor): matrices of shapes (n, k) and (k, m), in the dtype of self, which has shape (n, m).
        beta, alpha (number, optional): the factors of self and of the product.

    Raises:
        RuntimeError: the shapes do not fit, the dtypes differ, or self may not be written to.

    >>> mg.zeros(1, 1).addmm_(mg.ones(1, 3), mg.ones(3, 1), alpha=2)
    tensor([[6.]])
    """
    addmm_operands("addmm_", self, mat1, mat2)
    beta, alpha = number(beta, "beta", "addmm_"), number(alpha, "alpha", "addmm_")
    if beta == 1 and alpha == 1:
        return apply_inplace(matrix.Addmm.op, self, (mat1, mat2))
    from minigrad.ops.linalg.products import AddmmScaled  # late: see ops/late.py
    return apply_inplace(AddmmScaled.op, self, (mat1, mat2, beta, alpha))


def clamp_(self, min: Tensor | Number | None = None, max: Tensor | Number | None = None) -> Tensor:
    """Limit self to [min, max], in place. Mirrors ``torch.Tensor.clamp_``.

    Args:
        min, max (Tensor or number, optional): at least one is given. A tensor broadcasts to the shape of self.

    Raises:
        RuntimeError: self is complex, holds integers where a limit is floating point, the shapes do not fit, or self may not
            be written to.

    >>> mg.tensor([-1., 2.]).clamp_(0, 1)
    tensor([0., 1.])
    """
    dtype = operands_dtype((self, *clamp_limits("clamp_", min, max)))
    if dtype.is_complex:
        raise DtypeError("MG-E203", "clamp is not supported for complex types")
    if dtype.category > self.dtype.category:
        raise DtypeError("MG-E203", f"result type {dtype.name} can't be cast to the desired output type {self.dtype.name}",
                         fix="convert first: x = x.to(...), or use the out-of-place op")
    if isinstance(min, TensorBase) or isinstance(max, TensorBase):
        limits = tuple([None if limit is None else promote_tensors("clamp_", self, self, limit)[1] for limit in (min, max)])
        return explain_misfit(apply_inplace, ClampTensor.op, self, limits)
    check_numbers(dtype, *[limit for limit in (min, max) if limit is not None])
    return apply_inplace(Clamp.op, self, (min, max))


def square_(self) -> Tensor:
    """self **= 2, in place. Mirrors ``torch.Tensor.square_``.

    >>> mg.tensor([1., -3.]).square_()
    tensor([1., 9.])
    """
    return pow_(self, 2)


METHODS = {
    **overwriting.METHODS,
    "add_": add_, "sub_": sub_, "div_": div_, "true_divide_": true_divide_,
    "pow_": pow_, "square_": square_, "clamp_": clamp_, "addmm_": addmm_,
    "mul_": binary_method(arithmetic.Mul, "mul_"),
    **{name + "_": unary_method(rule) for name, rule in [
        ("neg", arithmetic.Neg), ("exp", functions.Exp), ("log", functions.Log), ("log1p", functions.Log1p),
        ("sqrt", functions.Sqrt), ("rsqrt", functions.Rsqrt), ("reciprocal", functions.Reciprocal),
        ("abs", selection.Abs), ("sign", selection.Sign), ("sin", functions.Sin), ("cos", functions.Cos),
        ("tanh", functions.Tanh), ("sigmoid", functions.Sigmoid), ("relu", functions.Relu)]},
}
for _method in [n for n in METHODS if METHODS[n].__name__ == "method"]:
    METHODS[_method].__name__ = METHODS[_method].__qualname__ = _method
    _other = "2" if _method == "mul_" else ""
    METHODS[_method].__doc__ = (
        f"Overwrite this tensor with the result of `minigrad.{_method[:-1]}`. Mirrors ``torch.Tensor.{_method}``.\n\n"
        "    >>> x = mg.tensor([0.5, 2.0])\n"
        f"    >>> x.clone().{_method}({_other}).tolist() == x.{_method[:-1]}({_other}).tolist()\n    True\n    ")
