"""Transforms of vectors and matrices: to probabilities, to Cholesky factors; and several transforms side by side.

    ℝ^k    ── SoftmaxTransform ──▶          simplex in k dimensions (not bijective: a constant added to x changes nothing)
    ℝ^k-1  ── StickBreakingTransform ──▶    simplex in k dimensions
    ℝ^n×n  ── LowerCholeskyTransform ──▶    lower triangular with a positive diagonal
    ℝ^n(n-1)/2 ── CorrCholeskyTransform ──▶ Cholesky factor of a correlation matrix

Mirrors the last part of ``torch/distributions/transforms.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import minigrad as mg
from minigrad._arguments import listed
from minigrad.distributions import constraints
from minigrad.distributions._arguments import check_tensors
from minigrad.distributions._transform import Transform, check_shape
from minigrad.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from minigrad.errors import AutogradAssertionError, TensorValueError
from minigrad.nn.functional import logsigmoid, pad
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CatTransform", "CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "SoftmaxTransform",
           "StackTransform", "StickBreakingTransform"]


class WithoutParameters(Transform):
    """Base of the transforms that are equal if their classes are."""

    def __eq__(self, other):
        return type(self) is type(other)

    def __hash__(self):
        return hash(type(self))


class SoftmaxTransform(WithoutParameters):
    """y = softmax(x) over the last dimension; the inverse is log y. Mirrors ``torch.distributions.transforms.SoftmaxTransform``.

    >>> mg.distributions.SoftmaxTransform()(mg.tensor([0., 0.]))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x):
        return mg.softmax(x, -1)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        return check_shape(shape, 1)

    def inverse_shape(self, shape):
        return check_shape(shape, 1)


class StickBreakingTransform(WithoutParameters):
    """k - 1 real numbers break a stick of length 1 into k parts, each at the fraction σ(x_i - log(k - i)) of what is left.

    Mirrors ``torch.distributions.transforms.StickBreakingTransform``.

    >>> mg.distributions.StickBreakingTransform()(mg.tensor([0., 0.]))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x):
        z = clipped_sigmoid(x - parts_left(x).log())
        left = (1 - z).cumprod(-1)
        return pad(z, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y):
        cut = y[..., :-1]
        left = (1 - cut.cumsum(-1)).clamp(min=mg.finfo(y.dtype).tiny)
        return cut.log() - left.log() + parts_left(cut).log()

    def log_abs_det_jacobian(self, x, y):
        check_tensors("log_abs_det_jacobian", x=x, y=y)
        x = x - parts_left(x).log()
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        shape = check_shape(shape, 1)
        return mg.Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape):
        shape = check_shape(shape, 1)
        return mg.Size((*shape[:-1], shape[-1] - 1))


def parts_left(x):
    """k - 1, k - 2, ..., 1 for vectors with k - 1 elements."""
    return mg.arange(x.shape[-1], 0, -1, dtype=x.dtype, device=x.device)


def clipped_sigmoid(x):
    info = mg.finfo(x.dtype)
    return mg.sigmoid(x).clamp(min=info.tiny, max=1 - info.eps)


class LowerCholeskyTransform(WithoutParameters):
    """The part below the diagonal as it is, and exp of the diagonal.

    Mirrors ``torch.distributions.transforms.LowerCholeskyTransform``.

    >>> mg.distributions.LowerCholeskyTransform()(mg.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(WithoutParameters):
    """L Lᵀ with L from `LowerCholeskyTransform`. Mirrors ``torch.distributions.transforms.PositiveDefiniteTransform``.

    >>> mg.distributions.PositiveDefiniteTransform()(mg.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(mg.linalg.cholesky(y))


class CorrCholeskyTransform(WithoutParameters):
    """n(n-1)/2 real numbers to the Cholesky factor of an n x n correlation matrix.

    Mirrors ``torch.distributions.transforms.CorrCholeskyTransform``.

    z = tanh(x) are partial correlations. In each row, z² breaks a stick of length 1, and an entry is ± the square root of its part.
    So each row has norm 1.

    >>> y = mg.distributions.CorrCholeskyTransform()(mg.tensor([1.]))
    >>> y @ y.mT
    tensor([[1.0000, 0.7616],
            [0.7616, 1.0000]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        eps = mg.finfo(x.dtype).eps
        r = vec_to_tril_matrix(mg.tanh(x).clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r ** 2).sqrt().cumprod(-1)
        r = r + mg.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        left = 1 - mg.cumsum(y * y, -1)
        below = tril_matrix_to_vec(y, diag=-1)
        beside = tril_matrix_to_vec(pad(left[..., :-1], [1, 0], value=1), diag=-1)
        t = below / beside.sqrt()
        return (t.log1p() - (-t).log1p()) / 2

    def log_abs_det_jacobian(self, x, y):
        check_tensors("log_abs_det_jacobian", x=x, y=y)
        left = 1 - (y * y).cumsum(-1)
        stick = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        tanh = 2 * (math.log(2) - x + logsigmoid(2 * x)).sum(-1)
        return stick + tanh

    def forward_shape(self, shape):
        shape = check_shape(shape, 1)
        entries = shape[-1]
        n = round((0.25 + 2 * entries) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != entries:
            raise TensorValueError("MG-E373", "Input is not a flattened lower-diagonal number", found=f"{entries} entries",
                                   expected="n(n-1)/2 entries for an n x n matrix")
        return mg.Size((*shape[:-1], n, n))

    def inverse_shape(self, shape):
        shape = check_shape(shape, 2)
        if shape[-2] != shape[-1]:
            raise TensorValueError("MG-E373", "Input is not square", found=str(tuple(shape)))
        n = shape[-1]
        return mg.Size((*shape[:-2], n * (n - 1) // 2))


class CatTransform(Transform):
    """Transforms of the parts of a dimension: the counterpart of `minigrad.cat`.

    Mirrors ``torch.distributions.transforms.CatTransform``.

    Args:
        tseq (list of Transform): one for each part.
        dim (int): the dimension.
        lengths (list of int): the sizes of the parts; 1 each by default.

    >>> d = mg.distributions
    >>> d.CatTransform([d.ExpTransform(), d.TanhTransform()], lengths=[2, 1])(mg.zeros(3))
    tensor([1., 1., 0.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0) -> None:
        tseq = check_transforms(tseq)
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq]
        self.lengths = [1] * len(self.transforms) if lengths is None else list(mg.Size(lengths))
        self.dim = integer(dim, "dim", "CatTransform")
        if len(self.lengths) != len(self.transforms):
            raise AutogradAssertionError("MG-E373", f"{len(self.transforms)} transforms but {len(self.lengths)} lengths")

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    @property
    def event_dim(self):
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self):
        """The size of the dimension."""
        return sum(self.lengths)

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _parts(self, value):
        """The parts of a tensor along the dimension."""
        check_tensors("CatTransform", value=value)
        if value.ndim <= self.dim or value.shape[self.dim] != self.length:
            raise AutogradAssertionError("MG-E373", f"CatTransform expects size {self.length} in dimension {self.dim}",
                                         found=str(tuple(value.shape)))
        return value.split(self.lengths, self.dim)

    def _call(self, x):
        return mg.cat([t(part) for t, part in zip(self.transforms, self._parts(x), strict=True)], self.dim)

    def _inverse(self, y):
        return mg.cat([t.inv(part) for t, part in zip(self.transforms, self._parts(y), strict=True)], self.dim)

    def log_abs_det_jacobian(self, x, y):
        terms = []
        for t, before, after in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            term = t.log_abs_det_jacobian(before, after)
            more = self.event_dim - t.event_dim
            terms.append(term.reshape(*term.shape[:term.ndim - more], -1).sum(-1) if more else term)
        dim = self.dim if self.dim < 0 else self.dim - x.ndim
        dim += self.event_dim
        return mg.cat(terms, dim) if dim < 0 else sum(terms[1:], terms[0])


class StackTransform(Transform):
    """Transforms of the slices of a dimension: the counterpart of `minigrad.stack`.

    Mirrors ``torch.distributions.transforms.StackTransform``.

    Args:
        tseq (list of Transform): one for each slice.
        dim (int): the dimension.

    >>> d = mg.distributions
    >>> d.StackTransform([d.ExpTransform(), d.TanhTransform()])(mg.zeros(2))
    tensor([1., 0.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        tseq = check_transforms(tseq)
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq], integer(dim, "dim", "StackTransform")

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _slices(self, value):
        check_tensors("StackTransform", value=value)
        if value.shape[self.dim] != len(self.transforms):
            raise AutogradAssertionError("MG-E373", f"StackTransform expects size {len(self.transforms)} in dimension {self.dim}",
                                         found=str(tuple(value.shape)))
        return value.unbind(self.dim)

    def _call(self, x):
        return mg.stack([t(part) for t, part in zip(self.transforms, self._slices(x), strict=True)], self.dim)

    def _inverse(self, y):
        return mg.stack([t.inv(part) for t, part in zip(self.transforms, self._slices(y), strict=True)], self.dim)

    def log_abs_det_jacobian(self, x, y):
        return mg.stack([t.log_abs_det_jacobian(before, after)
                         for t, before, after in zip(self.transforms, self._slices(x), self._slices(y), strict=True)], self.dim)


def check_transforms(tseq):
    """Return `tseq` as a list; raise unless all are transforms."""
    tseq = listed(tseq, "tseq", "CatTransform and StackTransform", "sequence of Transforms")
    if not all(isinstance(t, Transform) for t in tseq):
        raise AutogradAssertionError("MG-E373", "All elements of tseq must be instances of Transform",
                                     found=", ".join([type(t).__name__ for t in tseq]))
    return tseq
