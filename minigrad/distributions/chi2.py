"""The chi-squared distribution. Mirrors ``torch/distributions/chi2.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.distributions import constraints
from minigrad.distributions.gamma import Gamma
from minigrad.distributions.utils import broadcast_all

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The chi-squared distribution: the sum of the squares of `df` standard normal variables, which is Gamma(df / 2, ½).

    Mirrors ``torch.distributions.Chi2``.

    Args:
        df (Tensor or float): the degrees of freedom, > 0.

    Raises:
        ValueError: `df` is not positive.

    >>> d = mg.distributions.Chi2(3.)
    >>> d.mean, d.variance
    (tensor(3.), tensor(6.))
    """

    arg_constraints = {"df": constraints.positive}
    _parameters = Gamma._parameters

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        half, = broadcast_all(df)
        super().__init__(0.5 * half, 0.5, validate_args=validate_args)

    @property
    def df(self):
        """The degrees of freedom."""
        return self.concentration * 2
