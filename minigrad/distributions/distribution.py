"""The base class of all distributions: shapes, checks of arguments, and what each family defines.

    sample_shape + batch_shape + event_shape        the shape of a sample
    (1000,)        (3, 2)        (4,)               1000 draws, from 3 x 2 distributions, of vectors with 4 elements

The batch dimensions hold independent distributions with parameters of their own. The event dimensions hold one event, which has one
probability: `log_prob` of such a sample has the shape (1000, 3, 2).

A family stores its parameters under their names and lists them in `_parameters`, each with the number of its event dimensions. With
this list `expand` works for all families.

Mirrors ``torch/distributions/distribution.py``. Read next: ``normal.py``, then ``kl.py``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad._arguments import instance
from minigrad.distributions import constraints
from minigrad.distributions.utils import lazy_property
from minigrad.errors import AutogradNotImplementedError, TensorValueError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, ClassVar

    from minigrad.types import Tensor

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution: the base class. Mirrors ``torch.distributions.Distribution``.

    Args:
        batch_shape (Size): the shape of the batch of independent distributions.
        event_shape (Size): the shape of one event.
        validate_args (bool, optional): whether parameters and values are checked. The default is what
            `set_default_validate_args` has set, or else True.

    Attributes:
        has_rsample (bool): whether samples have a gradient with respect to the parameters.
        has_enumerate_support (bool): whether `enumerate_support` exists.

    Raises:
        ValueError: a parameter violates its constraint.

    >>> d = mg.distributions.Normal(mg.zeros(3), 1.)
    >>> d.batch_shape, d.event_shape, d.sample((2,)).shape
    (minigrad.Size([3]), minigrad.Size([]), minigrad.Size([2, 3]))
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    _parameters: ClassVar[dict[str, int]] = {}      # name -> the number of its event dimensions; for `expand`

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check their arguments, unless their `validate_args` says otherwise.

        Args:
            value (bool): the new default. Python's ``-O`` makes it False from the start.

        Raises:
            ValueError: `value` is no bool.
        """
        if value not in (True, False):
            raise TensorValueError("MG-E373", f"set_default_validate_args expects True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = mg.Size(batch_shape), mg.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self):
        """Raise unless each parameter satisfies its constraint."""
        try:
            found: Any = self.arg_constraints
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the "
                          "distribution with `validate_args=False` to turn off validation.", stacklevel=3)
            return
        for name, constraint in found.items():
            computed = name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(constraint) or computed:
                continue
            value = getattr(self, name)
            if not bool(constraint.check(value).all()):
                raise TensorValueError(
                    "MG-E370", f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}",
                    fix="correct the values, or use transform_to(constraint) to map real numbers to valid ones")

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """Return the same distribution, its batch expanded to `batch_shape`. The parameters are views, not copies.

        Args:
            batch_shape (Size): the new batch shape; the old one must broadcast to it.

        Raises:
            NotImplementedError: a subclass has an `__init__` but no `expand` of its own.
            RuntimeError: the shapes do not broadcast.
        """
        shape = mg.Size(batch_shape)
        new = self._get_checked_instance(self._family("_parameters"), _instance)
        kept = {name: value for name, value in self.__dict__.items()
                if name in self._parameters or not isinstance(getattr(type(self), name, None), lazy_property)}
        new.__dict__.update(kept)
        for name, dims in self._parameters.items():
            if name in kept:
                value = kept[name]
                new.__dict__[name] = value.expand(shape + tuple(value.shape)[value.ndim - dims:])
        new._batch_shape = shape
        return new

    def _family(self, name):
        """The class that defines the attribute `name`."""
        return next(cls for cls in type(self).__mro__ if name in vars(cls))

    def _get_checked_instance(self, cls, _instance=None):
        """Return a new object for `expand`, without attributes."""
        if _instance is not None:
            return instance(_instance, Distribution, "_instance", "expand")
        if type(self).__init__ is not cls.__init__:
            raise AutogradNotImplementedError(
                "MG-E372", f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method.")
        return type(self).__new__(type(self))

    @property
    def batch_shape(self) -> Any:
        """The shape of the batch of independent distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one event."""
        return self._event_shape

    if TYPE_CHECKING:       # attributes of some classes, properties of others
        arg_constraints: Any
        support: Any
    else:
        @property
        def arg_constraints(self):
            """Parameter name -> the constraint that it must satisfy. It need not be a tensor."""
            raise self._missing("arg_constraints")

        @property
        def support(self):
            """The constraint that samples satisfy."""
            raise self._missing("support")

    @property
    def mean(self) -> Tensor:
        """The expectation E[X]."""
        raise self._missing("mean")

    @property
    def mode(self) -> Tensor:
        """The most probable value, or where the density is largest."""
        raise self._missing("mode")

    @property
    def variance(self) -> Tensor:
        """The variance E[(X - E[X])²]."""
        raise self._missing("variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation, the square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples, without a gradient.

        Args:
            sample_shape (Size): how many; the result has the shape sample_shape + batch_shape + event_shape.
        """
        with mg.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples with a gradient with respect to the parameters (the reparameterisation trick).

        Args:
            sample_shape (Size): how many; the result has the shape sample_shape + batch_shape + event_shape.

        Raises:
            NotImplementedError: the family has no such gradient (`has_rsample` is False).
        """
        raise self._missing("rsample", "use sample() and the score function: log_prob(x) * reward has a gradient")

    def sample_n(self, n: int) -> Tensor:
        """Draw `n` samples. Deprecated in PyTorch: use ``sample((n,))``.

        Args:
            n (int): how many.
        """
        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead.", UserWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability, at `value`.

        Args:
            value (Tensor): its shape broadcasts with batch_shape + event_shape.

        Raises:
            ValueError: `value` is not a tensor, has the wrong shape, or lies outside the support.
        """
        raise self._missing("log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """Return the cumulative distribution function P(X ≤ value).

        Args:
            value (Tensor): its shape broadcasts with the batch.
        """
        raise self._missing("cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """Return the quantile: the x with cdf(x) = value.

        Args:
            value (Tensor): probabilities.
        """
        raise self._missing("icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values of a discrete distribution, along a new first dimension.

        Args:
            expand (bool): whether the values are expanded to the batch shape; otherwise its dimensions are 1.
        """
        raise self._missing("enumerate_support")

    def entropy(self) -> Tensor:
        """Return the entropy E[-log p(X)] in nats, in the shape of the batch."""
        raise self._missing("entropy")

    def perplexity(self) -> Tensor:
        """Return e^entropy: how many equally likely values have the same entropy."""
        return mg.exp(self.entropy())

    def _missing(self, what, fix=None):
        """The error for what a family does not define."""
        return AutogradNotImplementedError("MG-E372", f"{type(self).__name__} does not define {what}", fix=fix)

    def _extended_shape(self, sample_shape=()):
        """The shape of samples."""
        return mg.Size(sample_shape) + self._batch_shape + self._event_shape

    def _enumerated(self, values, expand):
        """`values`, a vector, along a new first dimension before those of the batch."""
        values = values.reshape(-1, *[1] * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def _validate_sample(self, value):
        """Raise unless `value` is a tensor of a fitting shape within the support."""
        if not isinstance(value, mg.Tensor):
            raise TensorValueError("MG-E371", "The value argument to log_prob must be a Tensor", found=type(value).__name__)
        events = len(self._event_shape)
        own = tuple(value.shape)[value.ndim - events:] if value.ndim >= events else tuple(value.shape)
        if own != tuple(self._event_shape):
            raise TensorValueError("MG-E371", "The right-most size of value must match event_shape: "
                                   f"{value.shape} vs {self._event_shape}.")
        wanted = self._extended_shape()
        for i, j in zip(reversed(value.shape), reversed(wanted), strict=False):
            if i != 1 and j not in (1, i):
                raise TensorValueError("MG-E371", "Value is not broadcastable with batch_shape+event_shape: "
                                       f"{value.shape} vs {wanted}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `support` to enable sample validation. Please initialize the distribution "
                          "with `validate_args=False` to turn off validation.", stacklevel=3)
            return
        if not bool(support.check(value).all()):
            raise TensorValueError(
                "MG-E371", f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}")

    def __repr__(self):
        shown = [f"{name}: {show(self.__dict__[name])}" for name in self.arg_constraints if name in self.__dict__]
        return f"{type(self).__name__}({', '.join(shown)})"


def show(parameter):
    """A parameter as text: a number, or a shape."""
    if not isinstance(parameter, mg.Tensor):
        return str(parameter)
    return str(parameter.item()) if parameter.ndim == 0 else str(parameter) if parameter.numel() == 1 else str(parameter.shape)
