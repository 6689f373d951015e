"""The activations in place: ``F.relu_(x)`` is ``F.relu(x, inplace=True)``. And a loss with a distance of your own.

Mirrors ``torch/nn/functional.py``.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false
# (the results of ops have no types inside the package)
from minigrad.errors import ShapeError, TensorValueError
from minigrad.nn import functional as F
from minigrad.ops import clamp_min, minimum
from minigrad.ops.base.arguments import flag, real, tensor_argument, wrong_type
from minigrad.ops.base.rule import named
from minigrad.ops.nn.losses import reduce_loss, reduction_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from minigrad.types import Tensor

__all__ = ["celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "selu_", "threshold_", "triplet_margin_with_distance_loss"]


def in_place(name):
    """Make ``name_(input, ...)`` of the activation function `name`."""
    activation = getattr(F, name)

    def function(input, *args, **kwargs):
        return activation(input, *args, **kwargs, inplace=True)

    parameters = [p for p in inspect.signature(activation).parameters.values() if p.name != "inplace"]
    vars(function)["__signature__"] = inspect.Signature(parameters, return_annotation="Tensor")
    numbers = "0., 5." if name == "threshold" else ""
    function.__module__ = __name__
    return named(function, name + "_", f"""`F.{name}`, written over `input`. Mirrors ``torch.nn.functional.{name}_``.

    >>> x = mg.tensor([-1., 2.])
    >>> F.{name}_(x{', ' * bool(numbers)}{numbers}) is x
    True
    """)


celu_, elu_, hardtanh_, leaky_relu_ = [in_place(name) for name in ("celu", "elu", "hardtanh", "leaky_relu")]
relu_, selu_, threshold_ = [in_place(name) for name in ("relu", "selu", "threshold")]


def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *,
                                      distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
                                      swap: bool = False, reduction: str = "mean") -> Tensor:
    """max(d(anchor, positive) - d(anchor, negative) + margin, 0), for a distance d of your own.

    Args:
        anchor, positive, negative (Tensor): of the same shape.
        distance_function (optional): the distance d of two tensors; by default `F.pairwise_distance`.
        margin (float): positive.
        swap (bool): use the distance of positive and negative, if that is smaller than the distance of anchor and negative.
        reduction (str): ``"mean"``, ``"sum"`` or ``"none"``.

    Mirrors ``torch.nn.functional.triplet_margin_with_distance_loss``.

    Raises:
        ValueError: the margin is not positive.
        RuntimeError: the tensors have different numbers of dimensions.

    >>> F.triplet_margin_with_distance_loss(mg.zeros(1, 2), mg.zeros(1, 2), mg.ones(1, 2), margin=2.)
    tensor(0.5858)
    """
    name = "triplet_margin_with_distance_loss"
    for label, x in (("anchor", anchor), ("positive", positive), ("negative", negative)):
        tensor_argument(name, x, label)
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ShapeError("MG-E205", f"{name}(): the anchor, positive, and negative tensors are expected to have the same number of "
                         f"dimensions, but got: {anchor.ndim}D, {positive.ndim}D and {negative.ndim}D")
    if distance_function is not None and not callable(distance_function):
        raise wrong_type(name, "distance_function", "Callable", distance_function)
    margin, distance = real(margin, "margin", name), distance_function or F.pairwise_distance
    if margin <= 0:
        raise TensorValueError("MG-E302", f"margin must be greater than 0, got {margin}")
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap is not None and flag(swap, "swap", name):
        far = minimum(far, distance(positive, negative))
    return reduce_loss(clamp_min(near - far + margin, 0), reduction_of(reduction, None, None))
