"""Covariances and correlations: rows are variables, columns are observations.

The functions call other ops; they have no rules.

Mirrors ``aten/src/ATen/native/Correlation.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minigrad.errors import ArgumentError, DtypeError, ShapeError
from minigrad.ops.base.arguments import integer, tensor_argument
from minigrad.ops.reduce.reduction import sum
from minigrad.ops.shape.strided import diagonal
from minigrad.ops.shape.views import reshape, squeeze, transpose, unsqueeze

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["corrcoef", "cov"]


def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None,
        aweights: Tensor | None = None) -> Tensor:
    """The covariance matrix of the rows of `input`. Mirrors ``torch.cov``.

    Args:
        input (Tensor): (variables, observations), or a vector of observations of one variable.
        correction (int): the sum over n observations is divided by n - correction.
        fweights (Tensor, optional): how often each observation was made; integers, (observations).
        aweights (Tensor, optional): the weight of each observation; floating point, (observations).

    Returns:
        Tensor: (variables, variables), or 0-d for one variable.

    Raises:
        RuntimeError: `input` has more than two dimensions or is bool, or the weights do not fit or are negative.

    >>> mg.cov(mg.tensor([[0., 1., 2.], [2., 1., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if tensor_argument("cov", input).ndim > 2:
        raise ShapeError("MG-E205", "cov(): expected input to have two or fewer dimensions but got an input with "
                         f"{input.ndim} dimensions")
    if input.dtype.name == "bool":
        raise DtypeError("MG-E203", "cov(): bool dtype is not supported for input")
    x = input if input.ndim == 2 else reshape(input, (1, -1))
    integer(correction, "correction", "cov")
    n = x.shape[1]
    w = observation_weights(n, fweights, aweights)
    total: Any = n if w is None else sum(w)
    mean = (sum(x, 1, True) if w is None else sum(x * w, 1, True)) / total
    if w is None or aweights is None or correction == 0:
        norm = total - correction
    else:
        norm = total - correction * sum(w * aweights) / total
    norm = max(norm, 0) if w is None else norm.clamp(min=0)
    d = x - mean
    z = (d if w is None else d * w) @ transpose(d, 0, 1).conj() / norm
    return squeeze(z)


def observation_weights(n, fweights, aweights) -> Any:
    """Return the product of the given weights, after checks; None if there are none."""
    found = None
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        if tensor_argument("cov", w, name).ndim > 1 or w.numel() != n:
            raise ShapeError("MG-E204", f"cov(): expected {name} to have one dimension, and as many elements as there are "
                             "observations", found=f"shape {list(w.shape)} and {n} observations")
        if (name == "fweights") == w.dtype.differentiable or w.dtype.is_complex:
            kind = "integral" if name == "fweights" else "floating point"
            raise DtypeError("MG-E203", f"cov(): expected {name} to have {kind} dtype but got {name} with {w.dtype.name} dtype")
        if w.numel() and w.detach().min().item() < 0:
            raise ArgumentError("MG-E302", f"cov(): {name} cannot be negative")
        found = w if found is None else found * w
    return found


def corrcoef(input: Tensor) -> Tensor:
    """The correlation matrix of the rows of `input`: covariances divided by both standard deviations, in [-1, 1].

    Mirrors ``torch.corrcoef``.

    Raises:
        RuntimeError: `input` has more than two dimensions.

    >>> mg.corrcoef(mg.tensor([[0., 1., 2.], [4., 2., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if tensor_argument("corrcoef", input).ndim > 2:
        raise ShapeError("MG-E205", "corrcoef(): expected input to have two or fewer dimensions but got an input with "
                         f"{input.ndim} dimensions")
    c = cov(input)
    if c.ndim == 0:
        return c / c
    s = diagonal(c).real.sqrt() if c.dtype.is_complex else diagonal(c).sqrt()
    z = c / unsqueeze(s, 1) / unsqueeze(s, 0)
    return z if z.dtype.is_complex else z.clamp(-1, 1)
