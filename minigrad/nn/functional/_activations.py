"""Activation functions: they check their arguments and call the op.

    elu selu celu                                   x, and below 0 an exponential
    gelu silu mish                                  x times a smooth step
    softplus logsigmoid glu
    tanhshrink softsign softmin gumbel_softmax      composed of ops

Their rules are in ``ops/nn/activation.py``. Most rules serve the in-place form too: it writes the result over the input. `elu`,
`celu`, `leaky_relu` and `threshold` have a second rule for it, as in PyTorch.

Read next: ``_piecewise.py``, the other activations.

Mirrors the activations of ``torch/nn/functional.py`` and ``aten/src/ATen/native/Activation.cpp``.
"""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportIndexIssue=false
# (the results of ops have no types inside the package)
import warnings
from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.mutation.inplace import apply_inplace
from minigrad._core.record.apply import call
from minigrad._lazy import lazy
from minigrad.errors import ArgumentError, DtypeError, ShapeError
from minigrad.ops import abs, softmax, tanh
from minigrad.ops.base.arguments import dimension, number, real, tensor_argument, truth, wrong_type
from minigrad.ops.base.precision import in_float32
from minigrad.ops.elementwise.comparison import Ordering
from minigrad.ops.nn.activation import Celu, CeluInPlace, Elu, EluInPlace, Gelu, Glu, LogSigmoid, Mish, Silu, Softplus

if TYPE_CHECKING:
    from typing import Literal

    from minigrad.types import DType, Number, Tensor

__all__ = ["celu", "elu", "gelu", "glu", "gumbel_softmax", "logsigmoid", "mish", "selu", "silu", "softmin", "softplus", "softsign",
           "tanhshrink"]
__getattr__, _ = lazy(__name__, names={        # where minigrad 0.1.0 had them
    "._piecewise": "hardshrink hardsigmoid hardswish hardtanh leaky_relu prelu relu6 softshrink threshold"})

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def apply_rule(name, rule, input, args=(), inplace=False, in_place=None):
    """Apply the op of `rule` to `input` and `args`. With `inplace`, use the rule `in_place` if there is one."""
    if inplace is not False and truth(inplace, "inplace", name):
        return apply_inplace((in_place or rule).op, input, args)
    return call(rule.op, (input, *args))


def require_floating(name, x):
    """Return `x`; raise unless it is a tensor of real or complex floating point numbers."""
    reject_integers(name, tensor_argument(name, x))
    return x


def require_real(name, x):
    """Return `x`; raise unless it is a tensor of real floating point numbers."""
    if tensor_argument(name, x).dtype.is_complex:
        raise DtypeError("MG-E203", f"{name} is not implemented for complex numbers", found=x.dtype.name)
    return require_floating(name, x)


def require_ordered(name, x, *numbers):
    """Return `x`; raise unless `x` and `numbers` can be compared: a tensor of real floating point numbers and real numbers."""
    dtype = tensor_argument(name, x).dtype
    if not dtype.is_floating_point:
        reject_integers(name, x)
        raise DtypeError("MG-E203", Ordering.refuses_complex, found=dtype.name)
    for n in numbers:
        if type(n) is not float and isinstance(n, (complex, np.complexfloating)):
            raise DtypeError("MG-E203", Ordering.refuses_complex, found=dtype.name)
    return x


def reject_integers(name, x):
    """Raise if the tensor `x` has an integer dtype."""
    if not x.dtype.differentiable:
        raise DtypeError("MG-E203", f'"{name}" not implemented for {x.dtype.name}', fix="input.float()")


def implicit_dim(name, dim, ndim):
    """Return `dim`. If it is None, warn and return PyTorch's default, which depends on the number of dimensions."""
    if dim is not None:
        return dim
    warnings.warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
                  UserWarning, stacklevel=3)
    return 0 if ndim in (0, 1, 3) else 1


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x, below 0 α (eˣ - 1) (Clevert et al., 2016).

    Args:
        input (Tensor): of any shape and floating point dtype.
        alpha (float): α; the function tends to -α.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.elu``.

    >>> F.elu(mg.tensor([-1., 2.]))
    tensor([-0.6321, 2.0000])
    """
    alpha = number(alpha, "alpha", "elu")
    return apply_rule("elu", Elu, require_real("elu", input), (alpha, 1, 1), inplace, EluInPlace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The elu that keeps mean and variance (Klambauer et al., 2017).

    Args:
        input (Tensor): of any shape and floating point dtype.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.selu``.

    >>> F.selu(mg.tensor([-1., 2.]))
    tensor([-1.1113, 2.1014])
    """
    return apply_rule("selu", Elu, require_real("selu", input), (SELU_ALPHA, SELU_SCALE, 1), inplace, EluInPlace)


def celu(input: Tensor, alpha: Number = 1.0, inplace: bool = False) -> Tensor:
    """x, below 0 α (e^(x/α) - 1) (Barron, 2017).

    Args:
        input (Tensor): of any shape and floating point dtype.
        alpha (float): α; the function tends to -α.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.celu``.

    Raises:
        RuntimeError: `alpha` is 0.

    >>> F.celu(mg.tensor([-1., 2.]), alpha=2.)
    tensor([-0.7869, 2.0000])
    """
    alpha = number(alpha, "alpha", "celu")
    if alpha == 0:
        raise ArgumentError("MG-E332", "ZeroDivisionError: alpha cannot be 0 for CELU")
    return apply_rule("celu", Celu, require_real("celu", input), (alpha,), inplace, CeluInPlace)


def gelu(input: Tensor, *, approximate: Literal['none', 'tanh'] = "none") -> Tensor:
    """x Φ(x), where Φ is the distribution function of the standard normal distribution (Hendrycks & Gimpel, 2016).

    Args:
        input (Tensor): of any shape and floating point dtype.
        approximate (str): ``"none"``, or ``"tanh"`` for x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))).

    Mirrors ``torch.nn.functional.gelu``.

    Raises:
        RuntimeError: `approximate` has another value.

    >>> F.gelu(mg.tensor([-1., 2.]), approximate="tanh")
    tensor([-0.1588, 1.9546])
    """
    if not isinstance(approximate, str):
        raise wrong_type("gelu", "approximate", "str", approximate)
    if approximate not in ("none", "tanh"):
        raise ArgumentError("MG-E332", "approximate argument must be either none or tanh.", found=repr(approximate))
    return apply_rule("gelu", Gelu, require_real("gelu", input), (approximate,))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x sigmoid(x), also called swish.

    Args:
        input (Tensor): of any shape and floating point dtype.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.silu``.

    >>> F.silu(mg.tensor([-1., 2.]))
    tensor([-0.2689, 1.7616])
    """
    return apply_rule("silu", Silu, require_floating("silu", input), (), inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x tanh(softplus(x)) (Misra, 2019).

    Args:
        input (Tensor): of any shape and floating point dtype.
        inplace (bool): write the result over `input`.

    Mirrors ``torch.nn.functional.mish``.

    >>> F.mish(mg.tensor([-1., 2.]))
    tensor([-0.3034, 1.9440])
    """
    return apply_rule("mish", Mish, require_ordered("mish", input), (), inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + e^(β x)) / β, or x where β x is above `threshold`.

    Args:
        input (Tensor): of any shape and floating point dtype.
        beta (float): β.
        threshold (float): where β x is larger, the result is x itself.

    Mirrors ``torch.nn.functional.softplus``.

    >>> F.softplus(mg.tensor([-1., 2.]))
    tensor([0.3133, 2.1269])
    """
    beta, threshold = number(beta, "beta", "softplus"), number(threshold, "threshold", "softplus")
    return apply_rule("softplus", Softplus, require_ordered("softplus", input, beta, threshold), (beta, threshold))


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)) = min(x, 0) - log(1 + e^-|x|), which cannot overflow. Mirrors ``torch.nn.functional.logsigmoid``.

    >>> F.logsigmoid(mg.tensor([-1., 2.]))
    tensor([-1.3133, -0.1269])
    """
    return apply_rule("logsigmoid", LogSigmoid, require_ordered("logsigmoid", input))[0]


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x). Mirrors ``torch.nn.functional.tanhshrink``.

    >>> F.tanhshrink(mg.tensor([-1., 2.]))
    tensor([-0.2384, 1.0360])
    """
    return in_float32(lambda x: x - tanh(x))(tensor_argument("tanhshrink", input))  # pyright: ignore[reportReturnType]


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|). Mirrors ``torch.nn.functional.softsign``.

    >>> F.softsign(mg.tensor([-1., 3.]))
    tensor([-0.5000, 0.7500])
    """
    return in_float32(lambda x: x / (abs(x) + 1))(tensor_argument("softsign", input))  # pyright: ignore[reportReturnType]


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """The softmax of -x along `dim`. The arguments are as in `softmax`. Mirrors ``torch.nn.functional.softmin``.

    >>> F.softmin(mg.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    tensor_argument("softmin", input)
    return softmax(-input, implicit_dim("softmin", dim, input.ndim), dtype=dtype)


def glu(input: Tensor, dim: int | None = -1) -> Tensor:
    """a sigmoid(b), where a and b are the halves of `input` along `dim` (Dauphin et al., 2017).

    Args:
        input (Tensor): of any shape and floating point dtype.
        dim (int): a dimension of even size. The result has half that size.

    Mirrors ``torch.nn.functional.glu``.

    Raises:
        RuntimeError: the size of the dimension is odd, or `input` is 0-d.

    >>> F.glu(mg.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """
    tensor_argument("glu", input)
    if input.ndim == 0:
        raise ShapeError("MG-E205", "glu does not support scalars because halving size must be even")
    at = dimension(dim, input.ndim)
    if input.dtype.is_complex:
        raise DtypeError("MG-E203", "glu is not implemented for complex numbers", found=input.dtype.name)
    if input.shape[at] % 2:
        raise ShapeError("MG-E204", f"Halving dimension must be even, but dimension {at} is size {input.shape[at]}")
    reject_integers("glu", input)
    return call(Glu.op, (input, dim))


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int | None = -1) -> Tensor:
    """Differentiable samples from a categorical distribution: softmax((x + noise) / τ), with Gumbel noise (Jang et al., 2017).

    Args:
        logits (Tensor): logarithms x of unnormalized probabilities.
        tau (float): the temperature τ. The smaller it is, the nearer a sample is to a one-hot vector.
        hard (bool): return one-hot vectors, with the gradient of the soft samples.
        dim (int): the dimension of the categories.

    `eps` has no effect. Mirrors ``torch.nn.functional.gumbel_softmax``.

    >>> F.gumbel_softmax(mg.tensor([[1., 2.]]), hard=True).sum()
    tensor(1.)
    """
    tensor_argument("gumbel_softmax", logits, "logits")
    real(eps, "eps", "gumbel_softmax")
    tau = real(tau, "tau", "gumbel_softmax")
    noise = -logits.new_empty(logits.shape).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not truth(hard, "hard", "gumbel_softmax"):
        return soft
    at = soft.detach().max(dim, keepdim=True).indices
    return soft.new_zeros(soft.shape).scatter(dim, at, 1.0) - soft.detach() + soft
