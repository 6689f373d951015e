"""Comparison and logic in place: ``x.eq_(y)`` writes 1 or 0, as numbers of x's dtype.

Out of place the results are bools, which have no gradient. In place, these ops are in the history of x like any other op.
A small change of the old x does not change the new x, so the gradient of the old x is 0.

    x.gt_(0)        x.grad_fn = GtBackward0 ── edge 0 ──> the old grad_fn of x, which gets zeros

PyTorch has no formula for logical_and_, logical_or_, logical_xor_ and logical_not_: it passes the gradient on as if nothing
had been written. Our gradient is 0.

Mirrors ``tools/autograd/derivatives.yaml``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.mutation.inplace import apply_inplace
from minigrad.ops.base.arguments import NUMBERS, tensor_argument, tensor_error
from minigrad.ops.base.broadcasting import explain_misfit
from minigrad.ops.base.rule import BOOL, Elementwise, named, op, variant
from minigrad.ops.elementwise import comparison
from minigrad.ops.elementwise.selection import zeros_like

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor


class ComparisonInplace(Elementwise):
    """Base of the in-place comparisons: their results are 0 or 1, so both derivatives are 0"""

    def vjp_x(g):
        return zeros_like(g)

    def vjp_y(g):
        return zeros_like(g)


def make_comparison_inplace(rule, name, node_name, **fields):
    """Make the op that writes the result of `rule` to its first operand, and register it as `name`."""
    kernel = {"kernel": rule.kernel, "params": rule.params} if rule.kernel else {"forward": rule.forward}
    return variant(ComparisonInplace, name, node_name, rule.__doc__, **kernel, **fields)


def make_comparison_method(rule):
    """Make the method ``x.eq_(y)`` for the rule of `eq`, and so on."""
    name = rule.op.name
    fields = {"result": BOOL, "refuses_complex": rule.refuses_complex}
    with_number = make_comparison_inplace(rule, name + "_", rule.__name__ + "0", inputs=1, **fields)
    with_tensor = make_comparison_inplace(rule, name + "_tensor_", rule.__name__ + "1", inputs=2, **fields)

    def method(self, other: Tensor | Number) -> Tensor:
        if not isinstance(other, (TensorBase, *NUMBERS)):
            raise tensor_error(name + "_", other, "other", 1)
        return apply_inplace((with_tensor if isinstance(other, TensorBase) else with_number).op, self, (other,))
    return named(method, name + "_", f"""Overwrite self with 1 where `minigrad.{name}` is True, else 0.

    Args:
        other (Tensor or number): broadcast to the shape of self. Its gradient is 0, and so is the gradient of the old self.

    Mirrors ``torch.Tensor.{name}_``.

    >>> mg.tensor([1., 2., 3.]).{name}_(2.).tolist()
    {dict(eq=[0., 1., 0.], ne=[1., 0., 1.], lt=[1., 0., 0.], le=[1., 1., 0.], gt=[0., 0., 1.], ge=[0., 1., 1.])[name]}
    """)


def make_truth_method(rule):
    """Make the method ``x.logical_and_(y)`` for the rule of `logical_and`, and so on."""
    name = rule.op.name
    in_place = make_comparison_inplace(rule, name + "_", rule.__name__ + "0", inputs=2, result=BOOL)

    def method(self, other: Tensor | Number) -> Tensor:
        return explain_misfit(apply_inplace, in_place.op, self, (tensor_argument(name + "_", other, "other", 1),))
    return named(method, name + "_", f"""Overwrite self with 1 where `minigrad.{name}` is True, else 0.

    Args:
        other (Tensor): broadcast to the shape of self. Its gradient is 0, and so is the gradient of the old self.

    Mirrors ``torch.Tensor.{name}_``.

    >>> x, y = mg.tensor([0., 2., 2.]), mg.tensor([0., 0., 1.])
    >>> x.clone().{name}_(y).bool().tolist() == x.{name}(y).tolist()
    True
    """)


def logical_not_(self) -> Tensor:
    """Overwrite self with 1 where it is 0, else 0. Mirrors ``torch.Tensor.logical_not_``.

    >>> mg.tensor([0., 2.]).logical_not_()
    tensor([1., 0.])
    """
    return apply_inplace(LogicalNot.op, self, ())


@op("logical_not_", "LogicalNot0")
class LogicalNot(ComparisonInplace):
    """z = whether x is 0"""

    inputs = 1
    result = BOOL

    def forward(k, x):
        return k.eq(x, 0)


def make_bitwise_method(rule, how):
    """Make the method ``x.bitwise_and_(y)``, which is also ``x &= y``; and so on."""
    name = f"bitwise_{how}_"

    def method(self, other: Tensor | Number) -> Tensor:
        if not isinstance(other, (TensorBase, *NUMBERS)):
            raise tensor_error(name, other, "other", 1)
        comparison.check_bits((self, other), how)
        return apply_inplace(rule.op, self, (other,))
    return named(method, name, f"""In place: `minigrad.bitwise_{how}`. Mirrors ``torch.Tensor.{name}``.

    >>> mg.tensor([6, 3]).{name}(5).tolist() == mg.tensor([6, 3]).bitwise_{how}(5).tolist()
    True
    """)


def bitwise_not_(self) -> Tensor:
    """In place: `minigrad.bitwise_not`. Mirrors ``torch.Tensor.bitwise_not_``.

    >>> mg.tensor([0, 5]).bitwise_not_()
    tensor([-1, -6])
    """
    comparison.check_bits((self,), "not")
    return apply_inplace(comparison.Invert.op, self, ())


METHODS = {"logical_not_": logical_not_, "bitwise_not_": bitwise_not_}
METHODS |= {rule.op.name + "_": make_comparison_method(rule) for rule in (
    comparison.Eq, comparison.Ne, comparison.Lt, comparison.Le, comparison.Gt, comparison.Ge)}
METHODS |= {rule.op.name + "_": make_truth_method(rule) for rule in (
    comparison.LogicalAnd, comparison.LogicalOr, comparison.LogicalXor)}
METHODS |= {f"bitwise_{how}_": make_bitwise_method(rule, how) for how, rule in (
    ("and", comparison.And), ("or", comparison.Or), ("xor", comparison.Xor))}
