"""The LKJ distribution of correlation matrices. Mirrors ``torch/distributions/lkj_cholesky.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad.distributions import constraints
from minigrad.distributions.beta import Beta
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.utils import broadcast_all
from minigrad.errors import TensorValueError
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors L of n x n correlation matrices, whose density is proportional to det(L Lᵀ)^(concentration - 1).

    Mirrors ``torch.distributions.LKJCholesky``.

        log p(L) = Σ_i (2 (concentration - 1) + n - i) log L_ii - log Z,    i = 2 ... n

    For concentration 1 all correlation matrices are equally likely; larger ones favour small correlations. Samples come from the
    onion method (Lewandowski, Kurowicka and Joe, 2009), row by row: a length from a beta distribution, and a direction.

    Args:
        dim (int): the size n ≥ 2.
        concentration (Tensor or float): > 0.

    Raises:
        ValueError: `dim` is less than 2, or `concentration` is not positive.

    >>> lower = mg.distributions.LKJCholesky(3, 0.5).sample()
    >>> mg.allclose((lower @ lower.mT).diagonal(), mg.ones(3))
    True
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _parameters = {"concentration": 0}

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        dim = integer(dim, "dim", "LKJCholesky")
        if dim < 2:
            raise TensorValueError("MG-E373", f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        self.concentration, = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)

    def sample(self, sample_shape=()):
        with mg.no_grad():
            shape = tuple(self._extended_shape(sample_shape))
            marginal = self.concentration + 0.5 * (self.dim - 2)
            offset = mg.arange(self.dim - 1, dtype=marginal.dtype, device=marginal.device)
            offset = mg.cat([offset.new_zeros((1,)), offset])       # the first row is (1, 0, ..., 0)
            squared = Beta(0.5 * offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset, validate_args=False).sample(sample_shape)
            direction = mg.randn(shape, dtype=marginal.dtype, device=marginal.device).tril(-1)
            norm = (direction ** 2).sum(-1, keepdim=True).sqrt()
            direction = mg.where(norm > 0, direction / norm, 0.0)
            lengths = squared.unsqueeze(-1).sqrt().expand(norm.shape)
            lengths = mg.cat([mg.zeros_like(lengths[..., :1, :]), lengths[..., 1:, :]], -2)
            lower = lengths * direction
            diagonal = (1 - (lower ** 2).sum(-1)).clamp(min=mg.finfo(lower.dtype).tiny).sqrt()
            return lower + mg.diag_embed(diagonal)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = mg.arange(2, self.dim + 1, dtype=self.concentration.dtype, device=self.concentration.device)
        power = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        steps = self.dim - 1
        alpha = self.concentration + 0.5 * steps
        normalizer = mg.mvlgamma(alpha - 0.5, steps) - mg.lgamma(alpha) * steps + 0.5 * steps * math.log(math.pi)
        return (power * diagonal.log()).sum(-1) - normalizer
