"""From a constraint to a transform: `biject_to` for densities, `transform_to` for optimisation.

    x = transform_to(constraint)(real numbers)      x satisfies the constraint; any optimiser may change the real numbers

`biject_to(c)` is bijective and has a Jacobian determinant. `transform_to(c)` may be neither, but is often better conditioned:
for the simplex it is a softmax.

Mirrors ``torch/distributions/constraint_registry.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.distributions import constraints, transforms
from minigrad.errors import AutogradNotImplementedError, AutogradTypeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A table from constraints to transforms. Mirrors ``torch.distributions.constraint_registry.ConstraintRegistry``.

    >>> mg.distributions.transform_to(mg.distributions.constraints.positive)
    ExpTransform()
    """

    def __init__(self) -> None:
        self._registry = {}

    def register(self, constraint: Any, factory: Callable | None = None) -> Any:
        """Register `factory`, a function from a constraint to a transform, for a class of constraints.

        Without `factory` it is a decorator.

        Args:
            constraint (class, or Constraint): the class, or an object of it.
            factory (callable, optional): the function.

        Raises:
            TypeError: `constraint` is neither.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not (isinstance(constraint, type) and issubclass(constraint, constraints.Constraint)):
            raise AutogradTypeError("MG-E373", "Expected constraint to be either a Constraint subclass or instance, but got "
                                    f"{constraint!r}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """Return a transform from real numbers to values that satisfy `constraint`.

        Args:
            constraint (Constraint): the constraint.

        Raises:
            NotImplementedError: no transform is registered for its class.
        """
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise AutogradNotImplementedError("MG-E372", f"Cannot transform {type(constraint).__name__} constraints",
                                              fix="register(constraint class, factory) adds one")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def in_both(*kinds):
    """Register a factory for these constraints in both tables."""
    def decorate(factory):
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory
    return decorate


@in_both(constraints.real)
def _real(constraint):
    return transforms.identity_transform


@biject_to.register(constraints.independent)
def _biject_independent(constraint):
    return transforms.IndependentTransform(biject_to(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@transform_to.register(constraints.independent)
def _transform_independent(constraint):
    return transforms.IndependentTransform(transform_to(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@in_both(constraints.greater_than, constraints.greater_than_eq)
def _greater_than(constraint):
    above_zero = transforms.ExpTransform()
    if isinstance(constraint.lower_bound, (int, float)) and constraint.lower_bound == 0:
        return above_zero
    return transforms.ComposeTransform([above_zero, transforms.AffineTransform(constraint.lower_bound, 1)])


@in_both(constraints.less_than)
def _less_than(constraint):
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)])


@in_both(constraints.interval, constraints.half_open_interval)
def _interval(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@biject_to.register(constraints.simplex)
def _biject_simplex(constraint):
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_simplex(constraint):
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _lower_cholesky(constraint):
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_semidefinite)
@transform_to.register(constraints.positive_definite)
def _positive_definite(constraint):
    return transforms.PositiveDefiniteTransform()


@in_both(constraints.corr_cholesky)
def _corr_cholesky(constraint):
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.cat)
def _biject_cat(constraint):
    return transforms.CatTransform([biject_to(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


@transform_to.register(constraints.cat)
def _transform_cat(constraint):
    return transforms.CatTransform([transform_to(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


@biject_to.register(constraints.stack)
def _biject_stack(constraint):
    return transforms.StackTransform([biject_to(c) for c in constraint.cseq], constraint.dim)


@transform_to.register(constraints.stack)
def _transform_stack(constraint):
    return transforms.StackTransform([transform_to(c) for c in constraint.cseq], constraint.dim)
