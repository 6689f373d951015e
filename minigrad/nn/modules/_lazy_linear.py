"""The lazy form of `Linear`. Mirrors ``torch/nn/modules/linear.py``."""

from __future__ import annotations

# pyright: reportAttributeAccessIssue=false
# (the parameters are uninitialized at first)
from typing import TYPE_CHECKING

from minigrad.autograd.grad_mode import no_grad
from minigrad.errors import OutOfRangeError
from minigrad.nn.modules.lazy import LazyModuleMixin
from minigrad.nn.modules.linear import Linear
from minigrad.nn.parameter import UninitializedParameter
from minigrad.ops.base.arguments import tensor_argument

if TYPE_CHECKING:
    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["LazyLinear"]


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` that takes ``in_features`` from its first input, and is a `Linear` from then on.

    Args:
        out_features (int): the size of the last dimension of the output.
        bias (bool): whether there is a bias.
        device, dtype (optional): the device and dtype of the parameters.

    Mirrors ``torch.nn.LazyLinear``.

    >>> layer = nn.LazyLinear(2)
    >>> layer(mg.ones(5, 3)).shape
    minigrad.Size([5, 2])
    >>> layer
    Linear(in_features=3, out_features=2, bias=True)
    """

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw new parameters, if their shapes are known."""
        if not self.has_uninitialized_params() and self.in_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take ``in_features`` from the input, or from a weight that has been loaded.

        Args:
            input (Tensor): the input of the first call.
        """
        if tensor_argument("LazyLinear", input).ndim == 0:
            raise OutOfRangeError("MG-E301", "LazyLinear: expected input of shape (..., features)",
                                  found="a tensor without dimensions")
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if not self.in_features:
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from "
                                     f"self.weight: {self.weight.shape[-1]}")
            self.in_features = input.shape[-1]
