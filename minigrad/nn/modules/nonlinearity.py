"""More activation functions as modules. ``nn/functional/_activations.py`` and ``_piecewise.py`` have the functions.

The arguments of a constructor are the options of the function. Mirrors ``torch/nn/modules/activation.py``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from minigrad.creation import empty
from minigrad.errors import AutogradAssertionError
from minigrad.nn import functional as F
from minigrad.nn import init as initial
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.base.arguments import real

if TYPE_CHECKING:
    from typing import Literal

    from minigrad.types import DeviceLike, DType, Tensor

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "Mish",
    "PReLU",
    "ReLU6",
    "SiLU",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanhshrink",
    "Threshold",
]


class LeakyReLU(Module):
    """x, below 0 negative_slope · x. See `minigrad.nn.functional.leaky_relu`. Mirrors ``torch.nn.LeakyReLU``.

    >>> nn.LeakyReLU(0.1)(mg.tensor([-1., 2.]))
    tensor([-0.1000, 2.0000])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}{', inplace=True' if self.inplace else ''}"


class ELU(Module):
    """x, below 0 α (eˣ - 1). See `minigrad.nn.functional.elu`. Mirrors ``torch.nn.ELU``.

    >>> nn.ELU()(mg.tensor([-1., 2.]))
    tensor([-0.6321, 2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{', inplace=True' if self.inplace else ''}"


class SELU(Module):
    """The elu that keeps mean and variance. See `minigrad.nn.functional.selu`. Mirrors ``torch.nn.SELU``.

    >>> nn.SELU()(mg.tensor([-1., 2.]))
    tensor([-1.1113, 2.1014])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class CELU(Module):
    """x, below 0 α (e^(x/α) - 1). See `minigrad.nn.functional.celu`. Mirrors ``torch.nn.CELU``.

    >>> nn.CELU(2.)(mg.tensor([-1., 2.]))
    tensor([-0.7869, 2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{', inplace=True' if self.inplace else ''}"


class SiLU(Module):
    """x sigmoid(x). See `minigrad.nn.functional.silu`. Mirrors ``torch.nn.SiLU``.

    >>> nn.SiLU()(mg.tensor([-1., 2.]))
    tensor([-0.2689, 1.7616])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Mish(Module):
    """x tanh(softplus(x)). See `minigrad.nn.functional.mish`. Mirrors ``torch.nn.Mish``.

    >>> nn.Mish()(mg.tensor([-1., 2.]))
    tensor([-0.3034, 1.9440])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Softplus(Module):
    """log(1 + e^(β x)) / β. See `minigrad.nn.functional.softplus`. Mirrors ``torch.nn.Softplus``.

    >>> nn.Softplus()(mg.tensor([-1., 2.]))
    tensor([0.3133, 2.1269])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class LogSigmoid(Module):
    """log(sigmoid(x)). See `minigrad.nn.functional.logsigmoid`. Mirrors ``torch.nn.LogSigmoid``.

    >>> nn.LogSigmoid()(mg.tensor([-1., 2.]))
    tensor([-1.3133, -0.1269])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Hardsigmoid(Module):
    """relu6(x + 3) / 6. See `minigrad.nn.functional.hardsigmoid`. Mirrors ``torch.nn.Hardsigmoid``.

    >>> nn.Hardsigmoid()(mg.tensor([-3., 0.]))
    tensor([0.0000, 0.5000])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)


class Hardswish(Module):
    """x relu6(x + 3) / 6. See `minigrad.nn.functional.hardswish`. Mirrors ``torch.nn.Hardswish``.

    >>> nn.Hardswish()(mg.tensor([1., 4.]))
    tensor([0.6667, 4.0000])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)


class Tanhshrink(Module):
    """x - tanh(x). See `minigrad.nn.functional.tanhshrink`. Mirrors ``torch.nn.Tanhshrink``.

    >>> nn.Tanhshrink()(mg.tensor([-1., 2.]))
    tensor([-0.2384, 1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softsign(Module):
    """x / (1 + |x|). See `minigrad.nn.functional.softsign`. Mirrors ``torch.nn.Softsign``.

    >>> nn.Softsign()(mg.tensor([-1., 3.]))
    tensor([-0.5000, 0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Softshrink(Module):
    """x - λ where x > λ, x + λ where x < -λ, else 0. See `minigrad.nn.functional.softshrink`. Mirrors ``torch.nn.Softshrink``.

    >>> nn.Softshrink()(mg.tensor([-1., 2.]))
    tensor([-0.5000, 1.5000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(Module):
    """x where |x| > λ, else 0. See `minigrad.nn.functional.hardshrink`. Mirrors ``torch.nn.Hardshrink``.

    >>> nn.Hardshrink()(mg.tensor([-1., 0.25]))
    tensor([-1., 0.])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Threshold(Module):
    """x where x > threshold, else `value`. See `minigrad.nn.functional.threshold`. Mirrors ``torch.nn.Threshold``.

    >>> nn.Threshold(0.5, 9.)(mg.tensor([-1., 2.]))
    tensor([9., 2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}{', inplace=True' if self.inplace else ''}"


class Softmin(Module):
    """The softmax of -x along `dim`. See `minigrad.nn.functional.softmin`. Mirrors ``torch.nn.Softmin``.

    >>> nn.Softmin(dim=0)(mg.tensor([0., 0.]))
    tensor([0.5000, 0.5000])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GLU(Module):
    """a sigmoid(b), where a and b are the halves of the input. See `minigrad.nn.functional.glu`. Mirrors ``torch.nn.GLU``.

    >>> nn.GLU()(mg.tensor([1., 0.]))
    tensor([0.5000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GELU(Module):
    """x Φ(x), where Φ is the distribution function of the standard normal distribution. See `minigrad.nn.functional.gelu`.

    Mirrors ``torch.nn.GELU``.

    >>> nn.GELU("tanh")(mg.tensor([-1., 2.]))
    tensor([-0.1588, 1.9546])
    """

    def __init__(self, approximate: Literal['none', 'tanh'] = "none") -> None:
        super().__init__()
        self.approximate: Any = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardtanh(Module):
    """min(max(x, min_val), max_val). See `minigrad.nn.functional.hardtanh`.

    `min_value` and `max_value` are the old names of the bounds. Mirrors ``torch.nn.Hardtanh``.

    Raises:
        AssertionError: `min_val` is not smaller than `max_val`.

    >>> nn.Hardtanh()(mg.tensor([-3., 0.5]))
    tensor([-1.0000, 0.5000])
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value: float | None = None,
                 max_value: float | None = None) -> None:
        super().__init__()
        for name, value in (("min", min_value), ("max", max_value)):
            if value is not None:
                warnings.warn(f"keyword argument `{name}_value` is deprecated and rename to `{name}_val`", FutureWarning,
                              stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if not real(self.max_val, "max_val", "Hardtanh") > real(self.min_val, "min_val", "Hardtanh"):
            raise AutogradAssertionError("MG-E332", f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}{', inplace=True' if self.inplace else ''}"


class ReLU6(Hardtanh):
    """min(max(x, 0), 6). See `minigrad.nn.functional.relu6`. Mirrors ``torch.nn.ReLU6``.

    >>> nn.ReLU6()(mg.tensor([-3., 7.]))
    tensor([0., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class PReLU(Module):
    """x, below 0 weight · x, with a learnable weight. See `minigrad.nn.functional.prelu`.

    Args:
        num_parameters (int): 1, or the number of channels.
        init (float): the initial value of the weights.
        device, dtype (optional): the device and dtype of the parameter.

    Mirrors ``torch.nn.PReLU``.

    >>> nn.PReLU()(mg.tensor([-1., 2.])).tolist()
    [-0.25, 2.0]
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weights to `init`."""
        initial.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
