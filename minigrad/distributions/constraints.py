"""Constraints: which values a parameter may have, and where samples lie.

    constraints.positive.check(mg.tensor([1., -1.]))        tensor([ True, False])

A constraint has `check`, which returns a bool for each event, and `event_dim`: how many of the last dimensions form one event. A
`dependent` constraint is known only when the other parameters are, as the support of a uniform distribution.

Mirrors ``torch/distributions/constraints.py``. Read next: ``constraint_registry.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad._arguments import instance
from minigrad.distributions._arguments import check_instances, check_numbers, check_reals, check_tensors
from minigrad.errors import AutogradNotImplementedError, TensorValueError
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
           "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval", "is_dependent",
           "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot",
           "positive", "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex", "square",
           "stack", "symmetric", "unit_interval"]

SUM_TO_ONE = 1e-6       # how far the sum of probabilities may be from 1


class Constraint:
    """A set of values in which a variable may lie. Mirrors ``torch.distributions.constraints.Constraint``.

    Attributes:
        is_discrete (bool): whether the set is discrete.
        event_dim (int): how many of the last dimensions are checked together.

    >>> mg.distributions.constraints.unit_interval.check(mg.tensor([0.5, 2.]))
    tensor([ True, False])
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Return for each event of `value` whether it lies in the set."""
        raise AutogradNotImplementedError("MG-E372", f"{type(self).__name__} does not define check()",
                                          fix="override check(value) in the subclass")

    def __repr__(self):
        return f"{camel_case(type(self).__name__)}({', '.join([f'{name}={value}' for name, value in self._shown().items()])})"

    def _shown(self):
        """name -> value, for `__repr__`."""
        return {}


def camel_case(name):
    """The name that messages show: greater_than is GreaterThan, and _Real is Real."""
    return "".join([word.capitalize() for word in name.split("_")]) if name.islower() else name.lstrip("_")


class _Dependent(Constraint):
    """A constraint that depends on other variables, so it cannot be checked alone.

    >>> mg.distributions.constraints.is_dependent(mg.distributions.constraints.dependent)
    True
    """

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self):
        if self._is_discrete is NotImplemented:
            raise AutogradNotImplementedError("MG-E372", ".is_discrete cannot be determined statically",
                                              fix="ask the distribution object, not its class")
        return self._is_discrete

    @property
    def event_dim(self):
        if self._event_dim is NotImplemented:
            raise AutogradNotImplementedError("MG-E372", ".event_dim cannot be determined statically",
                                              fix="ask the distribution object, not its class")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        """Return a dependent constraint with these attributes."""
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, value):
        raise TensorValueError("MG-E373", "Cannot determine validity of dependent constraint",
                               fix="ask the distribution object for its support, and check that")


def is_dependent(constraint: Constraint) -> bool:
    """Whether a constraint depends on other variables. Mirrors ``torch.distributions.constraints.is_dependent``.

    >>> mg.distributions.constraints.is_dependent(mg.distributions.Uniform.support)
    True
    """
    return isinstance(constraint, _Dependent)


class dependent_property(property, _Dependent):
    """A property that returns a constraint; asked of the class, it is a dependent constraint.

    Mirrors ``torch.distributions.constraints.dependent_property``.

    >>> class Ours(mg.distributions.Distribution):
    ...     @mg.distributions.constraints.dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return mg.distributions.constraints.interval(self.low, self.high)
    >>> Ours.support.event_dim
    0
    """

    def __init__(self, fn=None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn):     # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the property of a function, for use as a decorator with arguments."""
        return dependent_property(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)

    __repr__ = object.__repr__


class independent(Constraint):
    """A constraint on each of the elements that the last dimensions hold: an event is valid if all its elements are.

    Mirrors ``torch.distributions.constraints.independent``.

    Args:
        base_constraint (Constraint): the constraint of the elements.
        reinterpreted_batch_ndims (int): how many more dimensions belong to an event.

    >>> c = mg.distributions.constraints
    >>> c.independent(c.positive, 1).check(mg.tensor([[1., 2.], [1., -2.]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = instance(base_constraint, Constraint, "base_constraint", "independent")
        self.reinterpreted_batch_ndims = integer(reinterpreted_batch_ndims, "reinterpreted_batch_ndims", "independent")

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        check_tensors("check", value=value)
        valid, dims = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        if valid.ndim < dims:
            raise TensorValueError("MG-E373", f"Expected value.dim() >= {self.event_dim} but got {value.ndim}")
        return valid.reshape(*valid.shape[:valid.ndim - dims], -1).all(-1)

    def __repr__(self):
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: a value is valid if it is valid for every component.

    Mirrors ``torch.distributions.constraints.MixtureSameFamilyConstraint``.

    Args:
        base_constraint (Constraint): the support of the components, whose dimension is the last batch dimension.

    >>> c = mg.distributions.constraints
    >>> c.MixtureSameFamilyConstraint(c.positive).check(mg.tensor([1., -1.]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        self.base_constraint = instance(base_constraint, Constraint, "base_constraint", "MixtureSameFamilyConstraint")

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim

    def check(self, value):
        check_tensors("check", value=value)
        dims = self.event_dim
        components = value.unsqueeze(-1 - dims)     # beside each component
        return self.base_constraint.check(components).all(-1)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        check_numbers("check", value=value)
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value):
        check_tensors("check", value=value)
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Real(Constraint):
    def check(self, value):
        check_numbers("check", value=value)
        return value == value       # nan differs from itself


class _Bounded(Constraint):
    """Base of the constraints with a lower or an upper bound: `bounds` are the names of what `__init__` has stored."""

    bounds: tuple[str, ...] = ()

    def _shown(self):
        return {name: getattr(self, name) for name in self.bounds}


class greater_than(_Bounded):
    """x > lower_bound. Mirrors ``torch.distributions.constraints.greater_than``.

    >>> mg.distributions.constraints.greater_than(1.).check(mg.tensor([1., 2.]))
    tensor([False, True])
    """

    bounds = ("lower_bound",)

    def __init__(self, lower_bound: Tensor | float) -> None:
        check_reals(type(self).__name__, lower_bound=lower_bound)
        self.lower_bound: Any = lower_bound

    def check(self, value):
        check_reals("check", value=value)
        return self.lower_bound < value


class greater_than_eq(greater_than):
    """x ≥ lower_bound. Mirrors ``torch.distributions.constraints.greater_than_eq``.

    >>> mg.distributions.constraints.greater_than_eq(1.).check(mg.tensor([1., 2.]))
    tensor([True, True])
    """

    def check(self, value):
        check_reals("check", value=value)
        return self.lower_bound <= value


class less_than(_Bounded):
    """x < upper_bound. Mirrors ``torch.distributions.constraints.less_than``.

    >>> mg.distributions.constraints.less_than(2.).check(mg.tensor([1., 2.]))
    tensor([ True, False])
    """

    bounds = ("upper_bound",)

    def __init__(self, upper_bound: Tensor | float) -> None:
        check_reals(type(self).__name__, upper_bound=upper_bound)
        self.upper_bound: Any = upper_bound

    def check(self, value):
        check_reals("check", value=value)
        return value < self.upper_bound


class interval(_Bounded):
    """lower_bound ≤ x ≤ upper_bound. Mirrors ``torch.distributions.constraints.interval``.

    >>> mg.distributions.constraints.interval(0., 1.).check(mg.tensor([1., 2.]))
    tensor([ True, False])
    """

    bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Tensor | float, upper_bound: Tensor | float) -> None:
        check_reals(type(self).__name__, lower_bound=lower_bound, upper_bound=upper_bound)
        self.lower_bound: Any = lower_bound
        self.upper_bound: Any = upper_bound

    def check(self, value):
        check_reals("check", value=value)
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class half_open_interval(interval):
    """lower_bound ≤ x < upper_bound. Mirrors ``torch.distributions.constraints.half_open_interval``.

    >>> mg.distributions.constraints.half_open_interval(0., 1.).check(mg.tensor([0., 1.]))
    tensor([ True, False])
    """

    def check(self, value):
        check_reals("check", value=value)
        return (self.lower_bound <= value) & (value < self.upper_bound)


class integer_interval(interval):
    """The integers from lower_bound to upper_bound, both included. Mirrors ``torch.distributions.constraints.integer_interval``.

    >>> mg.distributions.constraints.integer_interval(0, 2).check(mg.tensor([0.5, 2.]))
    tensor([False, True])
    """

    is_discrete = True

    def check(self, value):
        check_reals("check", value=value)
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(greater_than):
    is_discrete = True

    def check(self, value):
        check_reals("check", value=value)
        return (value % 1 == 0) & (value >= self.lower_bound)


class multinomial(_Bounded):
    """Vectors of counts, which are not negative and add up to at most `upper_bound`.

    Mirrors ``torch.distributions.constraints.multinomial``.

    >>> mg.distributions.constraints.multinomial(3).check(mg.tensor([[1., 2.], [4., 0.]]))
    tensor([ True, False])
    """

    bounds = ("upper_bound",)
    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Tensor | int) -> None:
        check_reals("multinomial", upper_bound=upper_bound)
        self.upper_bound = upper_bound

    def check(self, value):
        check_tensors("check", value=value)
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value):
        check_tensors("check", value=value)
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < SUM_TO_ONE)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value):
        check_tensors("check", value=value)
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value):
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value):
        check_tensors("check", value=value)
        norm = mg.linalg.norm(value.detach(), dim=-1)
        near = mg.finfo(value.dtype).eps * value.shape[-1] * 10
        return super().check(value) & ((norm - 1).abs() <= near).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value):
        check_tensors("check", value=value)
        return mg.full(tuple(value.shape[:-2]), value.shape[-2] == value.shape[-1], dtype=mg.bool_, device=value.device)


class _Symmetric(_Square):
    def check(self, value):
        square = super().check(value)
        if value.shape[-2] != value.shape[-1]:
            return square
        return mg.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return symmetric & (mg.linalg.eigvalsh(value.detach()) >= 0).all(-1) if bool(symmetric.all()) else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return symmetric & (mg.linalg.cholesky_ex(value.detach()).info == 0) if bool(symmetric.all()) else symmetric


class cat(Constraint):
    """Constraints on the parts of a dimension, of sizes `lengths`: the counterpart of `minigrad.cat`.

    Mirrors ``torch.distributions.constraints.cat``.

    >>> c = mg.distributions.constraints
    >>> c.cat([c.positive, c.real], lengths=[1, 2]).check(mg.tensor([-1., -1., -1.]))
    tensor([False, True, True])
    """

    def __init__(self, cseq, dim: int = 0, lengths=None) -> None:
        self.cseq = check_instances(cseq, Constraint, "cseq", type(self).__name__)
        self.dim = integer(dim, "dim", type(self).__name__)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(mg.Size(lengths))

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self):
        return max(c.event_dim for c in self.cseq)

    def check(self, value):
        check_tensors("check", value=value)
        parts = value.split(self.lengths, self.dim)
        return mg.cat([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


class stack(cat):
    """Constraints on the slices of a dimension: the counterpart of `minigrad.stack`.

    Mirrors ``torch.distributions.constraints.stack``.

    >>> c = mg.distributions.constraints
    >>> c.stack([c.positive, c.real]).check(mg.tensor([-1., -1.]))
    tensor([False, True])
    """

    def __init__(self, cseq, dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self):
        dims = max(c.event_dim for c in self.cseq)
        return dims + 1 if self.dim + dims < 0 else dims

    def check(self, value):
        check_tensors("check", value=value)
        return mg.stack([c.check(part) for c, part in zip(self.cseq, value.unbind(self.dim), strict=True)], self.dim)


dependent = _Dependent()
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
real = _Real()
real_vector = independent(real, 1)
positive = greater_than(0.0)
nonnegative = greater_than_eq(0.0)
unit_interval = interval(0.0, 1.0)
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
