"""The multivariate normal distribution. Mirrors ``torch/distributions/multivariate_normal.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_tensors
from minigrad.distributions._matrices import check_matrices, half_log_det, mahalanobis, precision_to_scale_tril
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.utils import lazy_property, standard_normal
from minigrad.errors import TensorValueError

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["MultivariateNormal"]


class MultivariateNormal(Distribution):
    """The multivariate normal distribution. Mirrors ``torch.distributions.MultivariateNormal``.

        log p(x) = -½ |L⁻¹ (x - loc)|² - ½ k log(2π) - log det L,    covariance = L Lᵀ

    Everything is computed from L. A covariance or precision matrix is factorized once.

    Args:
        loc (Tensor): the mean, (..., k). The event has the shape (k).
        covariance_matrix (Tensor): positive definite, (..., k, k).
        precision_matrix (Tensor): the inverse of the covariance, instead of it.
        scale_tril (Tensor): the Cholesky factor L of the covariance, instead of it.

    Raises:
        ValueError: not exactly one of the matrices is given, it has fewer than two dimensions or is not positive definite, or `loc`
            has no dimension.

    >>> d = mg.distributions.MultivariateNormal(mg.zeros(2), mg.tensor([[2., 1.], [1., 2.]]))
    >>> d.log_prob(mg.zeros(2)), d.variance
    (tensor(-2.3872), tensor([2.0000, 2.0000]))
    """

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True
    _parameters = {"loc": 1, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}

    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:
        check_tensors("MultivariateNormal", loc=loc)
        if loc.ndim < 1:
            raise TensorValueError("MG-E373", "loc must be at least one-dimensional.")
        name, matrix = check_matrices("MultivariateNormal", covariance_matrix, scale_tril, precision_matrix)
        batch = tuple(mg.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(loc.shape[:-1])))
        self.__dict__[name] = matrix.expand(batch + tuple(matrix.shape[-2:]))
        self.loc = loc.expand(batch + tuple(loc.shape[-1:]))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = mg.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor L of the covariance."""
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """The covariance L Lᵀ."""
        lower = self._unbroadcasted_scale_tril
        return self._matrix(lower @ lower.mT)

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance."""
        return self._matrix(mg.cholesky_inverse(self._unbroadcasted_scale_tril))

    def _matrix(self, matrix):
        return matrix.expand(tuple(self._batch_shape) + 2 * tuple(self._event_shape))

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return (self._unbroadcasted_scale_tril ** 2).sum(-1).expand(tuple(self._batch_shape) + tuple(self._event_shape))

    def rsample(self, sample_shape=()):
        noise = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self):
        entropy = 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + half_log_det(self._unbroadcasted_scale_tril)
        return entropy.expand(self._batch_shape)
