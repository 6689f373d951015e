"""Linear algebra for distributions of vectors and matrices: Cholesky factors, and distances measured by them.

Mirrors the functions at the top of ``torch/distributions/multivariate_normal.py`` and ``wishart.py``.
"""

from __future__ import annotations

import minigrad as mg
from minigrad._arguments import instance
from minigrad.errors import TensorValueError

__all__ = ["check_matrices", "half_log_det", "mahalanobis", "precision_to_scale_tril", "solve_lower", "trace_of_square"]


def half_log_det(scale_tril):
    """½ log det of L Lᵀ: the sum of the logarithms of the diagonal of L."""
    return scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def solve_lower(scale_tril, b):
    """L⁻¹ b, where the batch dimensions broadcast."""
    batch = mg.broadcast_shapes(tuple(scale_tril.shape[:-2]), tuple(b.shape[:-2]))
    scale_tril = scale_tril.expand(tuple(batch) + tuple(scale_tril.shape[-2:]))
    return mg.linalg.solve_triangular(scale_tril, b.expand(tuple(batch) + tuple(b.shape[-2:])), upper=False)


def mahalanobis(scale_tril, x):
    """|L⁻¹ x|², the squared Mahalanobis distance of vectors x."""
    return (solve_lower(scale_tril, x.unsqueeze(-1)) ** 2).sum((-2, -1))


def trace_of_square(scale_tril, b):
    """tr((L Lᵀ)⁻¹ b bᵀ) = |L⁻¹ b|²."""
    return (solve_lower(scale_tril, b) ** 2).sum((-2, -1))


def precision_to_scale_tril(precision):
    """The Cholesky factor of P⁻¹, without inverting P.

    Read from the end, P = U Uᵀ with an upper triangular U. So P⁻¹ = U⁻ᵀ U⁻¹, and U⁻ᵀ is lower triangular.
    """
    reversed_factor = mg.linalg.cholesky(mg.flip(precision, (-2, -1)))
    lower = mg.flip(reversed_factor, (-2, -1)).mT       # Uᵀ
    eye = mg.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return solve_lower(lower, eye)


def check_matrices(function, covariance_matrix, scale_tril, precision_matrix):
    """Return (name, matrix) of the one that is given; raise unless there is exactly one, with two or more dimensions."""
    given = [(name, matrix) for name, matrix in (("covariance_matrix", covariance_matrix), ("scale_tril", scale_tril),
                                                 ("precision_matrix", precision_matrix)) if matrix is not None]
    if len(given) != 1:
        raise TensorValueError("MG-E373", "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.",
                               found=", ".join([name for name, _ in given]) or "none")
    name, matrix = given[0]
    instance(matrix, mg.Tensor, name, function)
    if matrix.ndim < 2:
        raise TensorValueError("MG-E373", f"{name} must be at least two-dimensional, with optional leading batch dimensions",
                               found=f"{matrix.ndim} dimensions")
    return name, matrix
