"""In-place arithmetic: ``x.add_(y)``, ``x.exp_()``, ``x += y``; and the table of all methods that write to their tensor.

Most are the rule of an out-of-place op whose result replaces the numbers of its first operand
(``_core/mutation/inplace.py``). The rest is in

    inplace_pairs.py            ops that are defined once for both ways
    overwriting.py      copy_, zero_, fill_: ops that exist only in place
    inplace_views.py    t_, squeeze_, resize_: which change the shape, and no number
    getitem.py         x[...] = y
    comparison_inplace.py          eq_, logical_not_: whose results have no derivative out of place

Mirrors the in-place ops of ``tools/autograd/derivatives.yaml``.
"""

from cython.cimports.minigrad._core.graph.tensor import TensorBase

from minigrad._core.mutation.inplace import apply_inplace
from minigrad._core.record.promotion import operands_dtype
from minigrad.errors import ShapeError, TensorTypeError
from minigrad.ops.base import overwriting
from minigrad.ops.base.broadcasting import explain_misfit
from minigrad.ops.base.overwriting import copy_
from minigrad.ops.base.rule import NUMBERS, number
from minigrad.ops.elementwise import arithmetic, comparison_inplace, functions, selection
from minigrad.ops.elementwise.arithmetic import DivMode, scaled
from minigrad.ops.elementwise.selection import Clamp, ClampTensor, clamp_limits, promote_tensors
from minigrad.ops.linalg import matrix
from minigrad.ops.linalg.matrix import addmm_operands
from minigrad.ops.linalg.products import AddmmScaled
from minigrad.ops.shape import inplace_views

__all__ = ["METHODS"]


def operand(name, other):
    """Raise unless `other` is a tensor or a number."""
    if not isinstance(other, TensorBase) and not isinstance(other, NUMBERS):
        raise TensorTypeError("MG-E201", f"{name}(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}")
    return other


def binary_method(rule, name):
    """``x.add_(y)`` and its like."""
    def method(self, other):
        return apply_inplace(rule.op, self, (operand(name, other),))
    return method


def unary_method(rule):
    """``x.exp_()`` and its like."""
    def method(self):
        if rule is selection.Abs and self.dtype.is_complex:
            raise ShapeError("MG-E203", "In-place abs is not supported for complex tensors.", fix="x.abs() gives a real tensor")
        return apply_inplace(rule.op, self, ())
    return method


def add_(self, other, *, alpha=1):
    """self += alpha other

    >>> mg.tensor([1., 2.]).add_(1)
    tensor([2., 3.])
    """
    other = operand("add_", other)
    if type(alpha) is not int or alpha != 1:
        other = scaled("add", self, other, alpha)
    return apply_inplace(arithmetic.Add.op, self, (other,))


def sub_(self, other, *, alpha=1):
    """self -= alpha other

    >>> mg.tensor([1., 2.]).sub_(1)
    tensor([0., 1.])
    """
    other = operand("sub_", other)
    if type(alpha) is not int or alpha != 1:
        other = scaled("sub", self, other, alpha)
    return apply_inplace(arithmetic.Sub.op, self, (other,))


def pow_(self, exponent):
    """self **= exponent

    >>> mg.tensor([1., 2.]).pow_(2)
    tensor([1., 4.])
    """
    rule = arithmetic.Pow if isinstance(exponent, TensorBase) else arithmetic.PowScalar
    if not self.dtype.differentiable and isinstance(exponent, (TensorBase, int)):
        if operands_dtype((self, exponent)).category <= self.dtype.category:
            return copy_(self, arithmetic.pow(self, exponent))
    return apply_inplace(rule.op, self, (operand("pow_", exponent),))


def div_(self, other, *, rounding_mode=None):
    """self /= other; for integers with a rounding mode, see `minigrad.div`. Mirrors ``torch.Tensor.div_``.

    >>> mg.tensor([3., 5.]).div_(2, rounding_mode="floor")
    tensor([1., 2.])
    """
    if rounding_mode is None:
        return apply_inplace(arithmetic.Div.op, self, (operand("div_", other),))
    others = arithmetic.rounded("div_", self, operand("div_", other), rounding_mode)[1:]
    if others[0].dtype.category > self.dtype.category:
        raise ShapeError("MG-E203", f"result type {others[0].dtype.name} can't be cast to the desired output type "
                         f"{self.dtype.name}", fix="convert first: x = x.to(...), or use the out-of-place op")
    return explain_misfit(apply_inplace, DivMode.op, self, others)


def true_divide_(self, other):
    """self /= other. Mirrors ``torch.Tensor.true_divide_``.

    >>> mg.tensor([3., 5.]).true_divide_(2)
    tensor([1.5000, 2.5000])
    """
    return div_(self, other)


def addmm_(self, mat1, mat2, *, beta=1, alpha=1):
    """beta self + alpha mat1 mat2, in place. Mirrors ``torch.Tensor.addmm_``.

    Raises:
        RuntimeError: the shapes do not fit, the dtypes differ, or self may not be written to.

    >>> mg.zeros(1, 1).addmm_(mg.ones(1, 3), mg.ones(3, 1), alpha=2)
    tensor([[6.]])
    """
    addmm_operands("addmm_", self, mat1, mat2)
    beta, alpha = number(beta, "beta", "addmm_"), number(alpha, "alpha", "addmm_")
    if beta == 1 and alpha == 1:
        return apply_inplace(matrix.Addmm.op, self, (mat1, mat2))
    return apply_inplace(AddmmScaled.op, self, (mat1, mat2, beta, alpha))


def clamp_(self, min=None, max=None):
    """Limit self to [min, max]. Mirrors ``torch.Tensor.clamp_``.

    Raises:
        RuntimeError: self is complex, holds integers and a limit is none, the shapes do not fit, or self may not be written to.

    >>> mg.tensor([-1., 2.]).clamp_(0, 1)
    tensor([0., 1.])
    """
    dtype = operands_dtype((self, *clamp_limits("clamp_", min, max)))
    if dtype.is_complex:
        raise ShapeError("MG-E203", "clamp is not supported for complex types")
    if dtype.category > self.dtype.category:
        raise ShapeError("MG-E203", f"result type {dtype.name} can't be cast to the desired output type {self.dtype.name}",
                         fix="convert first: x = x.to(...), or use the out-of-place op")
    if isinstance(min, TensorBase) or isinstance(max, TensorBase):
        limits = tuple([None if limit is None else promote_tensors("clamp_", self, self, limit)[1] for limit in (min, max)])
        return explain_misfit(apply_inplace, ClampTensor.op, self, limits)
    return apply_inplace(Clamp.op, self, (min, max))


def square_(self):
    """self **= 2

    >>> mg.tensor([1., -3.]).square_()
    tensor([1., 9.])
    """
    return pow_(self, 2)


METHODS = {
    **overwriting.METHODS, **inplace_views.METHODS, **comparison_inplace.METHODS,
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
        f"Overwrite this tensor with what `minigrad.{_method[:-1]}` makes of it. Mirrors ``torch.Tensor.{_method}``.\n\n"
        "    >>> x = mg.tensor([0.5, 2.0])\n"
        f"    >>> x.clone().{_method}({_other}).tolist() == x.{_method[:-1]}({_other}).tolist()\n    True\n    ")
