"""Initial values of parameters. Each function overwrites a tensor in place, without recording, and returns it.

Glorot & Bengio, "Understanding the difficulty of training deep feedforward neural networks" (2010), and He et al., "Delving deep
into rectifiers" (2015), derive the scales of the `xavier` and `kaiming` functions.

Mirrors ``torch/nn/init.py``.
"""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)
import math
import warnings
from typing import TYPE_CHECKING

from minigrad import creation
from minigrad.autograd.grad_mode import no_grad
from minigrad.creation import empty, empty_like
from minigrad.dtypes import float64
from minigrad.errors import ArgumentError, TensorValueError
from minigrad.ops import diagonal, log1p, where
from minigrad.ops.base.arguments import in_words, integer, number, real, tensor_argument, wrong_type
from minigrad.ops.linalg.factorizations import linalg_qr
from minigrad.random import randperm
from minigrad.random._sampling import floating

if TYPE_CHECKING:
    from minigrad.random import Generator
    from minigrad.types import Tensor

__all__ = ["calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
           "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_"]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with random numbers that are uniform in [a, b).

    Args:
        tensor (Tensor): of any shape; it is overwritten.
        a, b (float): the bounds.
        generator (Generator, optional): the source of random numbers.

    Mirrors ``torch.nn.init.uniform_``.

    >>> nn.init.uniform_(mg.empty(2)).shape
    minigrad.Size([2])
    """
    tensor_argument("uniform_", tensor, "tensor")
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with random numbers from a normal distribution.

    Args:
        tensor (Tensor): of any shape; it is overwritten.
        mean, std (float): its mean and standard deviation.
        generator (Generator, optional): the source of random numbers.

    Mirrors ``torch.nn.init.normal_``.

    >>> nn.init.normal_(mg.empty(2)).shape
    minigrad.Size([2])
    """
    tensor_argument("normal_", tensor, "tensor")
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with the number `val`. Mirrors ``torch.nn.init.constant_``.

    >>> nn.init.constant_(mg.empty(2), 3)
    tensor([3., 3.])
    """
    tensor_argument("constant_", tensor, "tensor")
    with no_grad():
        return tensor.fill_(number(val, "val", "constant_"))


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1. Mirrors ``torch.nn.init.ones_``.

    >>> nn.init.ones_(mg.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0. Mirrors ``torch.nn.init.zeros_``.

    >>> nn.init.zeros_(mg.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity. Mirrors ``torch.nn.init.eye_``.

    Raises:
        ValueError: `tensor` does not have 2 dimensions.

    >>> nn.init.eye_(mg.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    tensor_argument("eye_", tensor, "tensor")
    _expect(tensor.ndim == 2, "Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(creation.eye(*tensor.shape, dtype=tensor.dtype))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that output channel i equals input channel i: only the center of window (i, i) is 1.

    Args:
        tensor (Tensor): ``(outputs, inputs / groups, *window)``, where the window has 1, 2 or 3 dimensions.
        groups (int): the groups of the convolution. Each group copies its own inputs. Additional outputs are 0.

    Mirrors ``torch.nn.init.dirac_``.

    Raises:
        ValueError: `tensor` does not have 3, 4 or 5 dimensions, or `groups` does not divide the number of outputs.

    >>> nn.init.dirac_(mg.empty(2, 2, 3))
    tensor([[[0., 1., 0.],
             [0., 0., 0.]],
    <BLANKLINE>
            [[0., 0., 0.],
             [0., 1., 0.]]])
    """
    tensor_argument("dirac_", tensor, "tensor")
    _expect(tensor.ndim in (3, 4, 5), "Only tensors with 3, 4, or 5 dimensions are supported", str(list(tensor.shape)))
    outputs, inputs, *window = tensor.shape
    _expect(integer(groups, "groups", "dirac_") > 0 and outputs % groups == 0, "dim 0 must be divisible by groups",
            f"{outputs} outputs in {groups} groups")
    own = outputs // groups
    middle = tuple([size // 2 for size in window])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for i in range(min(own, inputs)):
                tensor[(group * own + i, i, *middle)] = 1
    return tensor


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Generator | None = None) -> Tensor:
    """Fill with random numbers from a normal distribution that is truncated to [a, b].

    Samples outside the bounds are drawn again. Where fewer than 30% of the samples are inside, we propose uniform samples instead,
    accept each with a probability proportional to its density, and draw the others again (von Neumann, "Various techniques used in
    connection with random digits", 1951). More than two standard deviations from the mean we draw x = √(a² - 2 log u), and accept
    it with probability a / x (Marsaglia, "Generating a variable from the tail of the normal distribution", 1964).

    Args:
        tensor (Tensor): of any shape and floating point dtype; it is overwritten.
        mean, std (float): of the normal distribution before the truncation.
        a, b (float): the bounds.
        generator (Generator, optional): the source of random numbers.

    Mirrors ``torch.nn.init.trunc_normal_``, which proposes uniform samples in the tail, too.

    Raises:
        RuntimeError: a > b, `std` is not positive, or `tensor` has no floating point dtype.

    >>> nn.init.trunc_normal_(mg.empty(100), std=5).abs().max() <= 2
    tensor(True)
    """
    floating(tensor_argument("trunc_normal_", tensor, "tensor").dtype, "trunc_normal_")
    numbers = {"mean": mean, "std": std, "a": a, "b": b}
    mean, std, a, b = [real(x, name, "trunc_normal_") for name, x in numbers.items()]
    if not std > 0:
        raise ArgumentError("MG-E302", f"trunc_normal_ expects std > 0.0, but found std={std}")
    if a > b:
        raise ArgumentError("MG-E302", f"trunc_normal_ expects to return a [a, b] range, but found a={a} > b={b}")
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.",
                      UserWarning, stacklevel=2)
    if tensor.is_meta:
        return tensor
    low, high = (a - mean) / std, (b - mean) / std
    with no_grad():
        if low > 2 or high < -2:
            x = draw_tail(tensor.shape, min(abs(low), abs(high)), max(abs(low), abs(high)), generator)
            return tensor.copy_((x if low > 2 else -x) * std + mean).clamp_(a, b)
        inside = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2
        draw = draw_normal_between if inside > 0.3 else draw_uniform_by_density
        return tensor.copy_(draw(tensor, mean, std, a, b, generator))


def draw_tail(shape, low, high, generator):
    """Draw samples of the standard normal distribution between `low` and `high`, far to the right of 0. See `trunc_normal_`."""
    def draw_uniform(*bounds):
        return empty(shape, dtype=float64).uniform_(*bounds, generator=generator)

    def propose():
        return (low * low - 2 * log1p(draw_uniform() * math.expm1((low - high) * (low + high) / 2))).sqrt()

    x = propose()
    rejected = draw_uniform() * x > low
    while rejected.any():
        x = where(rejected, propose(), x)
        rejected = rejected & (draw_uniform() * x > low)
    return x


def draw_normal_between(like, mean, std, a, b, generator):
    """Draw normal samples in the shape and dtype of `like`; draw those outside [a, b] again."""
    a, b = [like.new_tensor(bound).item() for bound in (a, b)]      # as numbers of the dtype
    x = empty_like(like).normal_(mean, std, generator=generator)
    outside = (x < a) | (x > b)
    while outside.any():
        x = where(outside, empty_like(like).normal_(mean, std, generator=generator), x)
        outside = (x < a) | (x > b)
    return x


def draw_uniform_by_density(like, mean, std, a, b, generator):
    """Draw uniform samples between a and b, and accept each with probability density(x) / density(mode)."""
    a, b = max(a, mean - 9 * std), min(b, mean + 9 * std)       # beyond lie 2e-19 of all samples
    mode = max(a, min(mean, b))
    log_of_peak = -0.5 * ((mode - mean) / std) ** 2

    def propose():
        x = empty_like(like).uniform_(a, b, generator=generator)
        log_density = ((x - mean) / std) ** 2 * -0.5 - log_of_peak
        return x, empty_like(like).uniform_(generator=generator).log() > log_density

    x, rejected = propose()
    while rejected.any():
        again, rejected_again = propose()
        x, rejected = where(rejected, again, x), rejected & rejected_again
    return x


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a random orthogonal matrix times `gain`: its rows, or its columns if there are fewer, are orthogonal.

    Args:
        tensor (Tensor): (rows, ...). The other dimensions together are the columns.
        gain (float): the length of these rows or columns.
        generator (Generator, optional): the source of random numbers.

    All such matrices are equally likely. Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear neural
    networks", 2014; Mezzadri, "How to generate random matrices from the classical compact groups", 2007.
    Mirrors ``torch.nn.init.orthogonal_``.

    Raises:
        ValueError: `tensor` has fewer than 2 dimensions.

    >>> w = nn.init.orthogonal_(mg.empty(2, 5))
    >>> mg.allclose(w @ w.T, mg.eye(2), atol=1e-6)
    True
    """
    tensor_argument("orthogonal_", tensor, "tensor")
    gain = real(gain, "gain", "orthogonal_")
    _expect(tensor.ndim >= 2, "Only tensors with 2 or more dimensions are supported", str(list(tensor.shape)))
    if not tensor.numel():
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    with no_grad():
        sample = tensor.new_empty(rows, columns).normal_(generator=generator)
        q, r = linalg_qr(sample if rows >= columns else sample.T)
        q = q * where(diagonal(r) < 0, -gain, gain)     # with r's diagonal positive, all matrices are equally likely
        return tensor.copy_((q if rows >= columns else q.T).reshape(tensor.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill a matrix with random numbers from a normal distribution, and set some elements of each column to 0.

    Args:
        tensor (Tensor): (rows, columns); it is overwritten.
        sparsity (float): the fraction of zeros in a column; their number is rounded up.
        std (float): the standard deviation of the other elements.
        generator (Generator, optional): the source of random numbers.

    Martens, "Deep learning via Hessian-free optimization", 2010. Mirrors ``torch.nn.init.sparse_``.

    Raises:
        ValueError: `tensor` does not have 2 dimensions, or `sparsity` is outside [0, 1].

    >>> (nn.init.sparse_(mg.empty(10, 3), sparsity=0.45) == 0).sum(0)
    tensor([5, 5, 5])
    """
    tensor_argument("sparse_", tensor, "tensor")
    _expect(tensor.ndim == 2, "Only tensors with 2 dimensions are supported", str(list(tensor.shape)))
    rows, columns = tensor.shape
    sparsity = real(sparsity, "sparsity", "sparse_")
    _expect(0 <= sparsity <= 1, "sparsity must be a fraction, from 0 to 1", str(sparsity))
    normal_(tensor, 0.0, std, generator)
    with no_grad():
        for column in range(columns):
            tensor[randperm(rows, generator=generator)[:math.ceil(sparsity * rows)], column] = 0
    return tensor


def _expect(condition, what, found=None):
    """Raise `ValueError`, as PyTorch does here, unless the condition holds."""
    if not condition:
        raise TensorValueError("MG-E363", what, found=found)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the gain of a nonlinearity: the factor for weights that makes up for how much it shrinks its input.

    Args:
        nonlinearity (str): ``"linear"``, ``"conv1d"`` and the other convolutions, ``"sigmoid"``, ``"tanh"``, ``"relu"``,
            ``"leaky_relu"`` or ``"selu"``.
        param (float, optional): the slope of a leaky ReLU below 0; 0.01 by default.

    Mirrors ``torch.nn.init.calculate_gain``.

    Raises:
        ValueError: the nonlinearity is unknown.

    >>> nn.init.calculate_gain("relu") == 2 ** 0.5
    True
    """
    if not isinstance(nonlinearity, str):
        raise wrong_type("calculate_gain", "nonlinearity", "str", nonlinearity)
    if nonlinearity in ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
                        "sigmoid"):
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        _expect(param is None or (isinstance(param, (int, float)) and not isinstance(param, bool)),
                f"negative_slope {in_words(param)} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else float(number(param, "param", "calculate_gain"))) ** 2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise TensorValueError("MG-E363", f"Unsupported nonlinearity {nonlinearity}",
                           expected="linear, the convolutions such as conv1d, sigmoid, tanh, relu, leaky_relu or selu")


def _calculate_fan_in_and_fan_out(tensor):
    """Return (fan_in, fan_out): how many elements an output depends on, and how many outputs depend on an element."""
    _expect(tensor.ndim >= 2, "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def _fan(tensor, mode):
    """The fan that `mode` names."""
    if not isinstance(mode, str):
        raise wrong_type("kaiming_uniform_", "mode", "str", mode)
    mode = mode.lower()
    _expect(mode in ("fan_in", "fan_out"), f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with uniform random numbers of variance 2 gain² / (fan_in + fan_out) (Glorot & Bengio).

    Args:
        tensor (Tensor): (out, in, ...), a weight; it is overwritten.
        gain (float): see `calculate_gain`.
        generator (Generator, optional): the source of random numbers.

    Mirrors ``torch.nn.init.xavier_uniform_``.

    Raises:
        ValueError: `tensor` has fewer than 2 dimensions.

    >>> nn.init.xavier_uniform_(mg.empty(3, 2)).shape
    minigrad.Size([3, 2])
    """
    tensor_argument("xavier_uniform_", tensor, "tensor")
    bound = real(gain, "gain", "xavier_uniform_") * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with normal random numbers of variance 2 gain² / (fan_in + fan_out) (Glorot & Bengio). See `xavier_uniform_`.

    Mirrors ``torch.nn.init.xavier_normal_``.

    >>> nn.init.xavier_normal_(mg.empty(3, 2)).shape
    minigrad.Size([3, 2])
    """
    tensor_argument("xavier_normal_", tensor, "tensor")
    gain = real(gain, "gain", "xavier_normal_")
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _warn_if_empty(tensor):
    """Return whether the tensor has no elements; warn if so."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", UserWarning, stacklevel=3)
        return True
    return False


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Generator | None = None) -> Tensor:
    """Fill with uniform random numbers of variance gain² / fan (He et al.): activations keep their scale through rectifiers.

    Args:
        tensor (Tensor): (out, in, ...), a weight; it is overwritten.
        a (float): the slope of a leaky ReLU below 0.
        mode (str): ``"fan_in"`` keeps the scale in the forward, ``"fan_out"`` in the backward.
        nonlinearity (str): see `calculate_gain`.
        generator (Generator, optional): the source of random numbers.

    Mirrors ``torch.nn.init.kaiming_uniform_``.

    Raises:
        ValueError: `tensor` has fewer than 2 dimensions, or the mode or the nonlinearity is unknown.

    >>> nn.init.kaiming_uniform_(mg.empty(3, 2)).shape
    minigrad.Size([3, 2])
    """
    tensor_argument("kaiming_uniform_", tensor, "tensor")
    if _warn_if_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Generator | None = None) -> Tensor:
    """Fill with normal random numbers of variance gain² / fan (He et al.). See `kaiming_uniform_`.

    Mirrors ``torch.nn.init.kaiming_normal_``.

    >>> nn.init.kaiming_normal_(mg.empty(3, 2)).shape
    minigrad.Size([3, 2])
    """
    tensor_argument("kaiming_normal_", tensor, "tensor")
    if _warn_if_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


def _no_grad_uniform_(tensor, a, b, generator=None):
    """`uniform_`, under the name that copies of PyTorch's layers use."""
    return uniform_(tensor, a, b, generator)


def _no_grad_normal_(tensor, mean, std, generator=None):
    """`normal_`, under the name that copies of PyTorch's layers use."""
    return normal_(tensor, mean, std, generator)


def _no_grad_trunc_normal_(tensor, mean, std, a, b, generator=None):
    """`trunc_normal_`, under the name that copies of PyTorch's layers use."""
    return trunc_normal_(tensor, mean, std, a, b, generator)


def _calculate_correct_fan(tensor, mode):
    """The fan that `mode` names, in any case: ``"fan_in"`` or ``"fan_out"``."""
    return _fan(tensor, mode.lower())


_no_grad_fill_, _no_grad_zero_ = constant_, zeros_


def __getattr__(name):
    """The names of older PyTorch, without an underscore at the end: ``init.normal`` is `normal_`, with a warning."""
    new = globals().get(f"{name}_") if f"{name}_" in __all__ else None
    if new is None or name in ("trunc_normal", "ones", "zeros"):        # which PyTorch has never had
        raise AttributeError(f"module 'minigrad.nn.init' has no attribute {name!r}")

    def old(*args, **kwargs):
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return new(*args, **kwargs)
    old.__name__ = name
    old.__doc__ = f"Deprecated: use ``nn.init.{name}_``."
    return old
