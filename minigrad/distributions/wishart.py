"""The Wishart distribution of covariance matrices. Mirrors ``torch/distributions/wishart.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_numbers
from minigrad.distributions._matrices import check_matrices, half_log_det, precision_to_scale_tril, solve_lower
from minigrad.distributions.chi2 import Chi2
from minigrad.distributions.exp_family import ExponentialFamily
from minigrad.distributions.utils import lazy_property, standard_normal
from minigrad.errors import TensorValueError

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Wishart"]


def multidigamma(x, p):
    """The derivative of log Γ_p: Σ_i ψ(x - i/2), i = 0 ... p - 1."""
    return mg.digamma(x.unsqueeze(-1) - 0.5 * mg.arange(p, dtype=x.dtype, device=x.device)).sum(-1)


class Wishart(ExponentialFamily):
    """The Wishart distribution: Σ_i x_i x_iᵀ of `df` normal vectors with covariance V = L Lᵀ.

    Mirrors ``torch.distributions.Wishart``.

        log p(X) = ½ (df - p - 1) log det X - ½ tr(V⁻¹ X) - ½ df p log 2 - df log det L - log Γ_p(df / 2)

    Samples come from Bartlett's decomposition and have gradients.

    Args:
        df (Tensor or float): the degrees of freedom, > p - 1.
        covariance_matrix (Tensor): V, positive definite, (..., p, p).
        precision_matrix (Tensor): V⁻¹, instead of V.
        scale_tril (Tensor): L, instead of V.

    Raises:
        ValueError: not exactly one of the matrices is given, or a parameter violates its constraint.

    >>> d = mg.distributions.Wishart(mg.tensor(3.), mg.eye(2))
    >>> d.mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = {"df": 0, "covariance_matrix": 2, "precision_matrix": 2, "scale_tril": 2}

    @property
    def arg_constraints(self):
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self._event_shape[-1] - 1)}

    def __init__(self, df: Tensor | float, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:
        name, matrix = check_matrices("Wishart", covariance_matrix, scale_tril, precision_matrix)
        check_numbers("Wishart", df=df)
        degrees = df if isinstance(df, mg.Tensor) else mg.tensor(df, dtype=matrix.dtype, device=matrix.device)
        event = tuple(matrix.shape[-2:])
        batch = tuple(mg.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(degrees.shape)))
        self.df = degrees.expand(batch)
        if bool((self.df <= event[-1] - 1).any()):
            raise TensorValueError("MG-E370", f"Value of df={df} expected to be greater than ndim - 1 = {event[-1] - 1}.")
        self.__dict__[name] = matrix.expand(batch + event)
        super().__init__(batch, event, validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = mg.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)

    @lazy_property
    def scale_tril(self):
        """L."""
        return self._matrix(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self):
        """V = L Lᵀ."""
        lower = self._unbroadcasted_scale_tril
        return self._matrix(lower @ lower.mT)

    @lazy_property
    def precision_matrix(self):
        """V⁻¹."""
        return self._matrix(mg.cholesky_inverse(self._unbroadcasted_scale_tril))

    def _matrix(self, matrix):
        return matrix.expand(tuple(self._batch_shape) + tuple(self._event_shape))

    @property
    def mean(self):
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self):
        """(df - p - 1) V; nan unless df > p + 1."""
        factor = self.df - self._event_shape[-1] - 1
        return factor.masked_fill(factor <= 0, mg.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self):
        """df (V_ij² + V_ii V_jj)."""
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (v ** 2 + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape=()):
        """X = L A Aᵀ Lᵀ: A has normal numbers below its diagonal, and on it roots of Chi2(df - i)."""
        p = self._event_shape[-1]
        steps = mg.arange(p, dtype=self.df.dtype, device=self.df.device)
        roots = Chi2(self.df.unsqueeze(-1) - steps, validate_args=False).rsample(sample_shape).sqrt()
        noise = standard_normal(self._extended_shape(sample_shape), self.df).tril(-1)
        factor = self._unbroadcasted_scale_tril @ (noise + mg.diag_embed(roots))
        return factor @ factor.mT

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        p, lower = self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = (solve_lower(lower, mg.linalg.cholesky(value)) ** 2).sum((-2, -1))
        half = self.df / 2
        return (0.5 * (self.df - p - 1) * mg.linalg.slogdet(value).logabsdet - 0.5 * trace
                - half * p * math.log(2) - self.df * half_log_det(lower) - mg.mvlgamma(half, p))

    def entropy(self):
        p, half = self._event_shape[-1], self.df / 2
        return ((p + 1) * (half_log_det(self._unbroadcasted_scale_tril) + 0.5 * p * math.log(2)) + mg.mvlgamma(half, p)
                - 0.5 * (self.df - p - 1) * multidigamma(half, p) + half * p)

    @property
    def _natural_params(self):
        return 0.5 * self.df, -0.5 * self.precision_matrix

    def _log_normalizer(self, *natural_params):
        half_df, negative_half_precision = natural_params
        p = self._event_shape[-1]
        return (half_df * (p * math.log(2) - mg.linalg.slogdet(-2 * negative_half_precision).logabsdet)
                + mg.mvlgamma(half_df, p))
