"""The distribution of a transformed variable. Mirrors ``torch/distributions/transformed_distribution.py``.

    X ~ base        Y = t_n(... t_1(X))         log p_Y(y) = log p_X(x) - Σ_i log |dt_i|

Log-normal, Pareto, Weibull, Gumbel and other distributions are defined in this way; so are normalizing flows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad._arguments import instance
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_numbers
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.independent import Independent
from minigrad.distributions.transforms import ComposeTransform, Transform
from minigrad.distributions.utils import sum_rightmost
from minigrad.errors import TensorValueError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of Y = t(X) for X of a base distribution. Mirrors ``torch.distributions.TransformedDistribution``.

        log p(y) = log p_X(t⁻¹(y)) - log |dy/dx|

    Args:
        base_distribution (Distribution): the distribution of X.
        transforms (Transform, or list of them): the first one is applied first.

    Raises:
        ValueError: `transforms` are no transforms, or need events of more dimensions than X has.

    >>> d = mg.distributions
    >>> logistic = d.TransformedDistribution(d.Uniform(0., 1.), [d.SigmoidTransform().inv, d.AffineTransform(1., 2.)])
    >>> logistic.log_prob(mg.tensor(1.))        # the density is 1/4 of 1/2
    tensor(-2.0794)
    """

    arg_constraints = {}
    _parameters = {}
    base_dist: Any

    def __init__(self, base_distribution: Distribution, transforms: Transform | Sequence[Transform],
                 validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif not isinstance(transforms, list):
            raise TensorValueError("MG-E373", f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise TensorValueError("MG-E373", "transforms must be a Transform or a list of Transforms")
        else:
            self.transforms = transforms
        instance(base_distribution, Distribution, "base_distribution", type(self).__name__)
        chain = ComposeTransform(self.transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        need, have = chain.domain.event_dim, len(base_distribution.event_shape)
        if len(shape) < need:
            raise TensorValueError("MG-E373", f"base_distribution needs to have shape with size at least {need}, but got "
                                   f"{tuple(shape)}.")
        out_shape = mg.Size(chain.forward_shape(shape))
        expanded = mg.Size(chain.inverse_shape(out_shape))
        if expanded != shape:       # the parameters of a transform broadcast
            base_distribution = base_distribution.expand(expanded[:len(expanded) - have])
        if need > have:
            base_distribution = Independent(base_distribution, need - have)
        self.base_dist = base_distribution
        dims = chain.codomain.event_dim + max(have - need, 0)
        cut = len(out_shape) - dims
        super().__init__(out_shape[:cut], out_shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance=None):
        new = super().expand(batch_shape, _instance)
        shape = mg.Size(batch_shape) + self._event_shape
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[:len(shape) - len(self.base_dist.event_shape)])
        return new

    if TYPE_CHECKING:       # attributes of some subclasses
        support: Any
        has_rsample: Any
    else:
        @constraints.dependent_property(is_discrete=False)
        def support(self):
            if not self.transforms:
                return self.base_dist.support
            support, dims = self.transforms[-1].codomain, len(self._event_shape)
            return constraints.independent(support, dims - support.event_dim) if dims > support.event_dim else support

        @property
        def has_rsample(self):
            """Whether the base distribution has it."""
            return self.base_dist.has_rsample

    def sample(self, sample_shape=()):
        with mg.no_grad():
            return self._transform(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._transform(self.base_dist.rsample(sample_shape))

    def _transform(self, x):
        for t in self.transforms:
            x = t(x)
        return x

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        dims, total, y = len(self._event_shape), 0, value
        for t in reversed(self.transforms):
            x = t.inv(y)
            dims += t.domain.event_dim - t.codomain.event_dim
            total = total - sum_rightmost(t.log_abs_det_jacobian(x, y), dims - t.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def _increasing(self, value):
        """A probability, or 1 minus it if the transforms together decrease."""
        sign = 1
        for t in self.transforms:
            sign = sign * t.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value):
        check_numbers("TransformedDistribution.cdf", value=value)
        for t in reversed(self.transforms):
            value = t.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._increasing(self.base_dist.cdf(value))

    def icdf(self, value):
        check_numbers("TransformedDistribution.icdf", value=value)
        return self._transform(self.base_dist.icdf(self._increasing(value)))
