"""Functions that few programs use: a loss, a random activation, and pooling that always returns the indices.

Mirrors ``torch/nn/functional.py``.
"""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportIndexIssue=false, reportReturnType=false
# (the results of ops have no types inside the package)
from typing import TYPE_CHECKING

from minigrad.creation import empty, ones_like, zeros_like
from minigrad.dtypes import float64
from minigrad.errors import ArgumentError, DtypeError, ShapeError
from minigrad.nn.functional._piecewise import apply_formula, leaky_relu
from minigrad.ops import clamp_min, cumprod
from minigrad.ops.base.arguments import flag, real, tensor_argument
from minigrad.ops.base.autocast import autocasts
from minigrad.ops.nn import pooling
from minigrad.ops.nn.losses import reduce_loss, reduction_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices", "multilabel_margin_loss", "rrelu",
           "rrelu_"]


@autocasts
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                           reduction: str = "mean") -> Tensor:
    """Σ max(0, 1 - (x[j] - x[i])) / C, over the classes j of the target and the other classes i.

    Args:
        input (Tensor): the scores, (N, C) or (C).
        target (Tensor): int64, of the shape of `input`: the classes, then -1 after the last one.
        reduction (str): ``"none"``, ``"mean"`` or ``"sum"``.

    `size_average` and `reduce` are the old form of `reduction`. Mirrors ``torch.nn.functional.multilabel_margin_loss``.

    Raises:
        RuntimeError: the shapes differ, or the target is not int64.

    >>> F.multilabel_margin_loss(mg.tensor([0.1, 0.2, 0.4, 0.8]), mg.tensor([3, 0, -1, 1]))
    tensor(0.8500)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    tensor_argument("multilabel_margin_loss", input)
    tensor_argument("multilabel_margin_loss", target, "target", 2)
    if input.ndim not in (1, 2) or input.shape != target.shape:
        raise ShapeError("MG-E204", f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    if target.dtype.name != "int64":
        raise DtypeError("MG-E203", f"expected scalar type Long but found {target.dtype.name}", fix="target.long()")
    x, y = (input, target) if input.ndim == 2 else (input.unsqueeze(0), target.unsqueeze(0))
    valid = cumprod((y >= 0).to(x.dtype), 1)
    index = y.clamp(min=0)
    chosen = zeros_like(x).detach().scatter_add(1, index, valid).clamp(max=1)
    margins = clamp_min(1 - x.gather(1, index).unsqueeze(2) + x.unsqueeze(1), 0)
    loss = (margins * valid.unsqueeze(2) * (1 - chosen).unsqueeze(1)).sum((1, 2)) / x.shape[1]
    loss = loss if input.ndim == 2 else loss.squeeze(0)
    return reduce_loss(loss, reduction)


def slope_bound(value, name):
    """A bound of rrelu as a number, where a complex one has the class of torch's error."""
    if isinstance(value, complex):
        raise DtypeError("MG-E203", "value cannot be converted to type double without overflow", found=f"{name}={value}")
    return real(value, name, "rrelu")


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """x where x ≥ 0, and r x elsewhere. In training, r is random in [lower, upper); otherwise it is the mean of both.

    Args:
        input (Tensor): of any shape and floating point dtype.
        lower, upper (float): the bounds of r.
        training (bool): draw r for each element.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.rrelu``.

    >>> F.rrelu(mg.tensor([-2., 2.]), 0.25, 0.75)
    tensor([-1.,  2.])
    """
    tensor_argument("rrelu", input)
    lower, upper = slope_bound(lower, "lower"), slope_bound(upper, "upper")
    flag(training, "training", "rrelu")
    if lower > upper:
        raise ArgumentError("MG-E332", f"Lower bound should be less than or equal to the upper bound, got {lower} and {upper}")
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slope, below = ones_like(input).detach(), input.detach() <= 0
    if not input.is_meta:       # as in PyTorch, a float64 is drawn for each element that needs one
        slope[below] = empty(int(below.sum().item()), dtype=float64, device=input.device).uniform_(lower, upper).to(input.dtype)
    return apply_formula("rrelu", lambda x: x * slope, input, inplace)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """`rrelu` that writes over its input.

    >>> F.rrelu_(mg.tensor([-2., 2.]), 0.25, 0.75)
    tensor([-1.,  2.])
    """
    return rrelu(input, lower, upper, training, inplace=True)


def max_pool1d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: Any = None, padding: int | Sequence[int] = 0,
                            dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
                            return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """`max_pool1d` that returns the indices of the maxima too.

    >>> F.max_pool1d_with_indices(mg.tensor([[1., 3., 2., 4.]]), 2)
    (tensor([[3., 4.]]), tensor([[1, 3]]))
    """
    return pooling.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: Any = None, padding: int | Sequence[int] = 0,
                            dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
                            return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """`max_pool2d` that returns the indices of the maxima too.

    >>> F.max_pool2d_with_indices(mg.tensor([[[1., 3.], [2., 4.]]]), 2)
    (tensor([[[4.]]]), tensor([[[3]]]))
    """
    return pooling.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d_with_indices(input: Tensor, kernel_size: int | Sequence[int], stride: Any = None, padding: int | Sequence[int] = 0,
                            dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
                            return_indices: bool = False) -> tuple[Tensor, Tensor]:
    """`max_pool3d` that returns the indices of the maxima too.

    >>> F.max_pool3d_with_indices(mg.ones(1, 1, 1, 1), 1)
    (tensor([[[[1.]]]]), tensor([[[[0]]]]))
    """
    return pooling.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)
