"""The multivariate normal distribution with a covariance of low rank.

Mirrors ``torch/distributions/lowrank_multivariate_normal.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_tensors
from minigrad.distributions._matrices import half_log_det, mahalanobis
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.utils import lazy_property, standard_normal
from minigrad.errors import TensorValueError

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["LowRankMultivariateNormal"]


def capacitance_tril(factor, diagonal):
    """The Cholesky factor of the capacitance matrix I + Wᵀ D⁻¹ W, which has the size of the rank."""
    inner = (factor / diagonal.unsqueeze(-1)).mT @ factor
    return mg.linalg.cholesky(inner + mg.eye(factor.shape[-1], dtype=inner.dtype, device=inner.device))


def log_det(diagonal, capacitance):
    """log det(W Wᵀ + D) = log det(capacitance) + log det D, the matrix determinant lemma."""
    return 2 * half_log_det(capacitance) + diagonal.log().sum(-1)


def low_rank_mahalanobis(factor, diagonal, x, capacitance):
    """xᵀ (W Wᵀ + D)⁻¹ x by the formula of Woodbury: xᵀ D⁻¹ x - |C⁻¹ Wᵀ D⁻¹ x|²."""
    projected = (factor.mT @ (x / diagonal).unsqueeze(-1)).squeeze(-1)
    return (x ** 2 / diagonal).sum(-1) - mahalanobis(capacitance, projected)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution with the covariance W Wᵀ + D. The cost grows with the rank of W, not with the dimension.

    Mirrors ``torch.distributions.LowRankMultivariateNormal``.

    Args:
        loc (Tensor): the mean, (..., k).
        cov_factor (Tensor): W, (..., k, rank).
        cov_diag (Tensor): the diagonal of D, positive, (..., k).

    Raises:
        ValueError: the shapes do not fit, or a number in `cov_diag` is not positive.

    >>> d = mg.distributions.LowRankMultivariateNormal(mg.zeros(2), mg.tensor([[1.], [0.]]), mg.ones(2))
    >>> d.covariance_matrix
    tensor([[2., 0.],
            [0., 1.]])
    """

    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}
    support = constraints.real_vector
    has_rsample = True
    _parameters = {"loc": 1, "cov_factor": 2, "cov_diag": 1}

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        check_tensors("LowRankMultivariateNormal", loc=loc, cov_factor=cov_factor, cov_diag=cov_diag)
        if loc.ndim < 1:
            raise TensorValueError("MG-E373", "loc must be at least one-dimensional.")
        k = tuple(loc.shape[-1:])
        if cov_factor.ndim < 2:
            raise TensorValueError("MG-E373", "cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if tuple(cov_factor.shape[-2:-1]) != k:
            raise TensorValueError("MG-E373", f"cov_factor must be a batch of matrices with shape {k[0]} x m",
                                   found=str(tuple(cov_factor.shape)))
        if tuple(cov_diag.shape[-1:]) != k:
            raise TensorValueError("MG-E373", f"cov_diag must be a batch of vectors with shape {k}",
                                   found=str(tuple(cov_diag.shape)))
        try:
            batch = tuple(mg.broadcast_shapes(*[tuple(s) for s in (loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])]))
        except RuntimeError:
            raise TensorValueError("MG-E373", f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                                   f"cov_diag {cov_diag.shape}") from None
        self.loc, self.cov_diag = loc.expand(batch + k), cov_diag.expand(batch + k)
        self.cov_factor = cov_factor.expand(batch + tuple(cov_factor.shape[-2:]))
        super().__init__(batch, k, validate_args=validate_args)
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = capacitance_tril(cov_factor, cov_diag)

    @lazy_property
    def covariance_matrix(self):
        """W Wᵀ + D."""
        return self.cov_factor @ self.cov_factor.mT + mg.diag_embed(self.cov_diag)

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance, D^½ chol(I + D^-½ W Wᵀ D^-½)."""
        root = self.cov_diag.sqrt().unsqueeze(-1)
        scaled = self.cov_factor / root
        k = self._event_shape[0]
        return root * mg.linalg.cholesky(scaled @ scaled.mT + mg.eye(k, dtype=scaled.dtype, device=scaled.device))

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance, D⁻¹ - D⁻¹ W C⁻¹ Wᵀ D⁻¹."""
        scaled = self.cov_factor / self.cov_diag.unsqueeze(-1)
        capacitance = self._capacitance_tril.expand(tuple(self._batch_shape) + tuple(self._capacitance_tril.shape[-2:]))
        half = mg.linalg.solve_triangular(capacitance, scaled.mT, upper=False)
        return mg.diag_embed(1 / self.cov_diag) - half.mT @ half

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return (self.cov_factor ** 2).sum(-1) + self.cov_diag

    def rsample(self, sample_shape=()):
        shape = tuple(self._extended_shape(sample_shape))
        noise = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        low_rank = (self._unbroadcasted_cov_factor @ noise.unsqueeze(-1)).squeeze(-1)
        return self.loc + low_rank + self._unbroadcasted_cov_diag.sqrt() * standard_normal(shape, self.loc)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = low_rank_mahalanobis(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, value - self.loc,
                                        self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def _log_det(self):
        return log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)

    def entropy(self):
        entropy = 0.5 * (self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._log_det())
        return entropy.expand(self._batch_shape)
