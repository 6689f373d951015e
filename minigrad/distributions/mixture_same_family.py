"""A mixture of distributions of one family. Mirrors ``torch/distributions/mixture_same_family.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_tensors
from minigrad.distributions.categorical import Categorical
from minigrad.distributions.distribution import Distribution
from minigrad.errors import TensorValueError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: the component is drawn first, then a sample of it. Mirrors ``torch.distributions.MixtureSameFamily``.

        log p(x) = logsumexp_k (log probs[k] + log p_k(x))

    Args:
        mixture_distribution (Categorical): the weights of the K components.
        component_distribution (Distribution): its last batch dimension, of size K, holds the components.

    Raises:
        ValueError: the first is no `Categorical`, or the batch shapes do not fit.

    >>> d = mg.distributions
    >>> m = d.MixtureSameFamily(d.Categorical(mg.ones(2)), d.Normal(mg.tensor([-1., 1.]), 0.5))
    >>> m.mean, m.variance
    (tensor(0.), tensor(1.2500))
    """

    arg_constraints = {}
    _parameters = {}
    _mixture_distribution: Categorical
    _component_distribution: Distribution

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: bool | None = None) -> None:
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise TensorValueError("MG-E373", "The Mixture distribution needs to be an instance of Categorical",
                                   found=type(mixture_distribution).__name__)
        if not isinstance(component_distribution, Distribution):
            raise TensorValueError("MG-E373", "The Component distribution need to be an instance of Distribution",
                                   found=type(component_distribution).__name__)
        batch, weights = component_distribution.batch_shape[:-1], mixture_distribution.batch_shape
        for size, other in zip(reversed(weights), reversed(batch), strict=False):
            if size != 1 and other != 1 and size != other:
                raise TensorValueError("MG-E373", f"`mixture_distribution.batch_shape` ({weights}) is not compatible with "
                                       f"`component_distribution.batch_shape`({batch})")
        k, components = mixture_distribution.logits.shape[-1], tuple(component_distribution.batch_shape)[-1:]
        if components and k != components[0]:
            raise TensorValueError("MG-E373", f"`mixture_distribution component` ({k}) does not equal "
                                   f"`component_distribution.batch_shape[-1]` ({components[0]})")
        self._num_component = k
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance=None):
        new = super().expand(batch_shape, _instance)
        new._component_distribution = self._component_distribution.expand((*new._batch_shape, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        return new

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        """The distribution of the component."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """The distributions of the components."""
        return self._component_distribution

    def _weights(self):
        """The probabilities of the components, with dimensions of size 1 for the event."""
        probs = self._mixture_distribution.probs
        return probs.reshape(*probs.shape, *[1] * len(self._event_shape))

    def _over_components(self, values):
        """The weighted sum over the components."""
        return (self._weights() * values).sum(-1 - len(self._event_shape))

    @property
    def mean(self):
        return self._over_components(self._component_distribution.mean)

    @property
    def variance(self):
        """E[Var(X | component)] + Var(E[X | component])."""
        means = self._component_distribution.mean
        centred = means - self.mean.unsqueeze(-1 - len(self._event_shape))
        return self._over_components(self._component_distribution.variance) + self._over_components(centred ** 2)

    def cdf(self, value):
        cdf = self._component_distribution.cdf(self._beside(value))
        return (cdf * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logs = self._component_distribution.log_prob(self._beside(value))
        return mg.logsumexp(logs + mg.log_softmax(self._mixture_distribution.logits, -1), -1)

    def _beside(self, value):
        """The values with a dimension for the components."""
        check_tensors("MixtureSameFamily", value=value)
        return value.unsqueeze(-1 - len(self._event_shape))

    def sample(self, sample_shape=()):
        with mg.no_grad():
            dims, events = len(mg.Size(sample_shape)) + len(self._batch_shape), len(self._event_shape)
            index = self._mixture_distribution.sample(sample_shape)
            values = self._component_distribution.sample(sample_shape)
            index = index.reshape(*index.shape, *[1] * (events + 1))
            index = index.expand(tuple(values.shape[:dims]) + (1,) + tuple(self._event_shape))
            return values.gather(dims, index).squeeze(dims)

    def __repr__(self):
        return f"{type(self).__name__}(\n  {self._mixture_distribution!r},\n  {self._component_distribution!r})"
