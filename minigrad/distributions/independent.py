"""Batch dimensions as event dimensions. Mirrors ``torch/distributions/independent.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._arguments import instance
from minigrad.distributions import constraints
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.utils import sum_rightmost
from minigrad.errors import TensorValueError
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["Independent"]


class Independent(Distribution):
    """A distribution whose last batch dimensions become event dimensions, so `log_prob` is summed over them.

    Mirrors ``torch.distributions.Independent``.

    Args:
        base_distribution (Distribution): the distribution.
        reinterpreted_batch_ndims (int): how many batch dimensions become event dimensions.

    Raises:
        ValueError: there are fewer batch dimensions.

    >>> d = mg.distributions.Independent(mg.distributions.Normal(mg.zeros(2, 3), 1.), 1)
    >>> d.batch_shape, d.event_shape, d.log_prob(mg.zeros(3)).shape
    (minigrad.Size([2]), minigrad.Size([3]), minigrad.Size([2]))
    """

    arg_constraints = {}
    _parameters = {}
    base_dist: Any

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
        instance(base_distribution, Distribution, "base_distribution", "Independent")
        reinterpreted_batch_ndims = integer(reinterpreted_batch_ndims, "reinterpreted_batch_ndims", "Independent")
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise TensorValueError("MG-E373", "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                                   f"{reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}")
        shape = base_distribution.batch_shape + base_distribution.event_shape
        cut = len(base_distribution.batch_shape) - reinterpreted_batch_ndims
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance=None):
        new = super().expand(batch_shape, _instance)
        new.base_dist = self.base_dist.expand(new._batch_shape + self._event_shape[:self.reinterpreted_batch_ndims])
        return new

    @property
    def has_rsample(self):
        """Whether the base distribution has it."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self):
        """Whether the base distribution has it, and no dimension is reinterpreted."""
        return self.base_dist.has_enumerate_support and not self.reinterpreted_batch_ndims

    @constraints.dependent_property
    def support(self):
        support = self.base_dist.support
        return constraints.independent(support, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else support

    @property
    def mean(self):
        return self.base_dist.mean

    @property
    def mode(self):
        return self.base_dist.mode

    @property
    def variance(self):
        return self.base_dist.variance

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims > 0:
            raise self._missing("enumerate_support over several dimensions", "enumerate base_dist")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_dist!r}, {self.reinterpreted_batch_ndims})"
