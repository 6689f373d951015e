"""Transforms of each element for itself: exp, powers, sigmoid, tanh, softplus, affine functions, cumulative distribution functions.

Mirrors the elementwise part of ``torch/distributions/transforms.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_numbers, check_tensors
from minigrad.distributions._transform import Transform
from minigrad.distributions.utils import sum_rightmost
from minigrad.nn.functional import logsigmoid
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from minigrad.distributions.distribution import Distribution
    from minigrad.types import Tensor

__all__ = ["AbsTransform", "AffineTransform", "CumulativeDistributionTransform", "ExpTransform", "PowerTransform",
           "SigmoidTransform", "SoftplusTransform", "TanhTransform"]


class Increasing(Transform):
    """Base of the transforms that have no parameter and increase."""

    domain = constraints.real
    bijective = True
    sign = 1

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))


class ExpTransform(Increasing):
    """y = e^x. Mirrors ``torch.distributions.transforms.ExpTransform``.

    >>> mg.distributions.ExpTransform()(mg.tensor(0.))
    tensor(1.)
    """

    codomain = constraints.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        check_tensors("log_abs_det_jacobian", x=x)
        return x


class PowerTransform(Transform):
    """y = x^exponent, for positive x. Mirrors ``torch.distributions.transforms.PowerTransform``.

    Args:
        exponent (Tensor or float): the power, not 0.

    >>> mg.distributions.PowerTransform(2.)(mg.tensor(3.))
    tensor(9.)
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent if isinstance(exponent, mg.Tensor) else mg.tensor(exponent)

    @property
    def sign(self):
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    __hash__ = object.__hash__

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        check_tensors("log_abs_det_jacobian", x=x, y=y)
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return mg.broadcast_shapes(tuple(mg.Size(shape)), tuple(self.exponent.shape))

    def inverse_shape(self, shape):
        return self.forward_shape(shape)


class SigmoidTransform(Increasing):
    """y = 1 / (1 + e^-x), clamped so that it is neither 0 nor 1. Mirrors ``torch.distributions.transforms.SigmoidTransform``.

    >>> t = mg.distributions.SigmoidTransform()
    >>> t(mg.tensor(0.)), t.inv(mg.tensor(0.5))
    (tensor(0.5000), tensor(0.))
    """

    codomain = constraints.unit_interval

    def _call(self, x):
        info = mg.finfo(x.dtype)
        return mg.sigmoid(x).clamp(min=info.tiny, max=1 - info.eps)

    def _inverse(self, y):
        info = mg.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        check_tensors("log_abs_det_jacobian", x=x)
        return logsigmoid(x) + logsigmoid(-x)


class SoftplusTransform(Increasing):
    """y = log(1 + e^x). Mirrors ``torch.distributions.transforms.SoftplusTransform``.

    >>> t = mg.distributions.SoftplusTransform()
    >>> t.inv(t(mg.tensor(2.)))
    tensor(2.)
    """

    codomain = constraints.positive

    def _call(self, x):
        return -logsigmoid(-x)

    def _inverse(self, y):
        return (-mg.expm1(-y)).log() + y

    def log_abs_det_jacobian(self, x, y):
        check_tensors("log_abs_det_jacobian", x=x)
        return logsigmoid(x)


class TanhTransform(Increasing):
    """y = tanh(x). Mirrors ``torch.distributions.transforms.TanhTransform``.

    log |dy/dx| = 2 (log 2 - x + log σ(2x)), which stays exact where 1 - y² rounds to 0.

    >>> t = mg.distributions.TanhTransform()
    >>> t.log_abs_det_jacobian(mg.tensor(30.), t(mg.tensor(30.)))
    tensor(-58.6137)
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return mg.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        check_tensors("log_abs_det_jacobian", x=x)
        return 2 * (math.log(2) - x + logsigmoid(2 * x))


class AbsTransform(Transform):
    """y = |x|, which is not bijective; its inverse returns y. Mirrors ``torch.distributions.transforms.AbsTransform``.

    >>> mg.distributions.AbsTransform()(mg.tensor(-1.))
    tensor(1.)
    """

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other):
        return isinstance(other, AbsTransform)

    def __hash__(self):
        return hash(type(self))

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """y = loc + scale · x, elementwise. Mirrors ``torch.distributions.transforms.AffineTransform``.

    Args:
        loc (Tensor or float): what is added.
        scale (Tensor or float): the factor, not 0.
        event_dim (int): how many of the last dimensions form an event.

    >>> t = mg.distributions.AffineTransform(1., -2.)
    >>> t(mg.tensor(3.)), t.sign
    (tensor(-5.), -1)
    """

    bijective = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        check_numbers("AffineTransform", loc=loc, scale=scale)
        self.loc, self.scale, self._event_dim = loc, scale, integer(event_dim, "event_dim", "AffineTransform")

    @property
    def event_dim(self):
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    def __eq__(self, other):
        return isinstance(other, AffineTransform) and same(self.loc, other.loc) and same(self.scale, other.scale)

    __hash__ = object.__hash__

    @property
    def sign(self):
        if isinstance(self.scale, mg.Tensor):
            return self.scale.sign()
        return 1 if self.scale > 0 else -1 if self.scale < 0 else 0

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        check_tensors("log_abs_det_jacobian", x=x)
        if isinstance(self.scale, mg.Tensor):
            result = self.scale.abs().log()
        else:
            result = mg.full_like(x, math.log(abs(self.scale)))
        return sum_rightmost(result.expand(x.shape) if self._event_dim else mg.broadcast_tensors(result, x)[0], self._event_dim)

    def forward_shape(self, shape):
        own = [tuple(v.shape) for v in (self.loc, self.scale) if isinstance(v, mg.Tensor)]
        return mg.broadcast_shapes(tuple(mg.Size(shape)), *own)

    def inverse_shape(self, shape):
        return self.forward_shape(shape)


def same(a, b):
    """Whether two parameters, tensors or numbers, are equal."""
    equal = a == b
    return bool(equal.all()) if isinstance(equal, mg.Tensor) else bool(equal)


class CumulativeDistributionTransform(Transform):
    """y = F(x), the cumulative distribution function of a distribution; its inverse gives samples from uniform numbers.

    Mirrors ``torch.distributions.transforms.CumulativeDistributionTransform``.

    Args:
        distribution (Distribution): has `cdf`, `icdf` and `log_prob`.

    >>> t = mg.distributions.CumulativeDistributionTransform(mg.distributions.Normal(0., 1.))
    >>> t(mg.tensor(0.)), t.inv(mg.tensor(0.5))
    (tensor(0.5000), tensor(0.))
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)
