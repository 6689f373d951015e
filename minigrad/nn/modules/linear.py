"""Linear and bilinear layers. Mirrors ``torch/nn/modules/linear.py``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minigrad.creation import empty
from minigrad.errors import TensorValueError
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn._optional import flag_of, register_optional
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from typing import Any

    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["Bilinear", "Identity", "Linear", "NonDynamicallyQuantizableLinear"]


class Identity(Module):
    """Return the input. The constructor ignores its arguments. Mirrors ``torch.nn.Identity``.

    >>> nn.Identity()(mg.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """y = x Wᵀ + b

    Args:
        in_features (int): the size of the last dimension of the input.
        out_features (int): the size of the last dimension of the output.
        bias (bool): whether there is a bias b.
        device, dtype (optional): the device and dtype of the parameters.

    `weight` W is (out_features, in_features) and `bias` b is (out_features). Their initial values are uniform in ±1/√in_features.
    Mirrors ``torch.nn.Linear``.

    >>> layer = nn.Linear(3, 2)
    >>> layer(mg.ones(5, 3)).shape
    minigrad.Size([5, 2])
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty(out_features, in_features, device=device, dtype=dtype))
        register_optional(self, "bias", flag_of(self, "bias", bias), out_features, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """y[o] = x1ᵀ W[o] x2 + b[o]. See `minigrad.nn.functional.bilinear`.

    Args:
        in1_features, in2_features (int): the sizes of the last dimension of the inputs.
        out_features (int): the size of the last dimension of the output.
        bias (bool): whether there is a bias b.
        device, dtype (optional): the device and dtype of the parameters.

    `weight` W is (out_features, in1_features, in2_features) and `bias` b is (out_features). Their initial values are uniform in
    ±1/√in1_features. Mirrors ``torch.nn.Bilinear``.

    Raises:
        ValueError: `in1_features` is not positive.

    >>> layer = nn.Bilinear(3, 4, 2)
    >>> layer(mg.ones(5, 3), mg.ones(5, 4)).shape
    minigrad.Size([5, 2])
    """

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__()
        if integer(in1_features, "in1_features", "Bilinear") <= 0:
            raise TensorValueError("MG-E332", f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(empty(out_features, in1_features, in2_features, device=device, dtype=dtype))
        register_optional(self, "bias", flag_of(self, "bias", bias), out_features, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
                f"bias={self.bias is not None}")


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` with the name that `MultiheadAttention` shows for `out_proj`, as in PyTorch."""
