"""New tensors of random numbers.

Mirrors ``aten/src/ATen/native/TensorFactories.cpp`` and ``Distributions.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.record.apply import call
from minigrad._core.record.promotion import default_dtype
from minigrad.creation._filled import like_arguments, sizes_argument
from minigrad.creation._from_data import new_leaf
from minigrad.creation._options import fills_out, takes_storage_options
from minigrad.dtypes import as_device, as_dtype, float64, int64
from minigrad.errors import ArgumentError, AutogradNotImplementedError, DtypeError, ShapeError, TensorTypeError
from minigrad.ops.base.arguments import flag, integer, number, real, tensor_argument
from minigrad.ops.base.broadcasting import explain_misfit
from minigrad.ops.base.inplace_pairs import run
from minigrad.ops.base.out import into
from minigrad.ops.elementwise import sampling
from minigrad.ops.shape.clone_cast import clone
from minigrad.random._generator import stream
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.random import Generator
    from minigrad.types import DeviceLike, DType

__all__ = ["bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
           "randperm"]


def floating(dtype, function):
    """The dtype of random floats."""
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    if not (kind.is_floating_point or (kind.is_complex and function != "bernoulli")):
        raise DtypeError("MG-E203", f"{function}() is not implemented for {kind.name}; it needs a floating point dtype")
    return kind


@fills_out
def rand(*size: int | Sequence[int], generator: Generator | None = None, dtype: DType | None = None,
         device: DeviceLike | None = None, requires_grad: bool = False) -> Tensor:
    """Uniform random numbers in [0, 1). Mirrors ``torch.rand``.

    Args:
        size (ints, or one tuple): the shape.
        generator (Generator, optional): the stream; the default one if not given.

    Raises:
        RuntimeError: a size is negative, or the dtype no floating point one.

    >>> mg.rand(2, 3).shape
    minigrad.Size([2, 3])
    """
    shape = sizes_argument(size, "rand")
    kernels = as_device(device).backend.kernels
    return new_leaf(kernels.uniform(stream(generator), shape, 0, 1, floating(dtype, "rand").numpy), device, requires_grad)


@fills_out
def randn(*size: int | Sequence[int], generator: Generator | None = None, dtype: DType | None = None,
          device: DeviceLike | None = None, requires_grad: bool = False) -> Tensor:
    """Random numbers from the normal distribution of mean 0 and variance 1. Mirrors ``torch.randn``.

    Args:
        size (ints, or one tuple): the shape.
        generator (Generator, optional): the stream; the default one if not given.

    Raises:
        RuntimeError: a size is negative, or the dtype no floating point one.

    >>> mg.randn(2, 3).shape
    minigrad.Size([2, 3])
    """
    shape = sizes_argument(size, "randn")
    kernels = as_device(device).backend.kernels
    return new_leaf(kernels.normal(stream(generator), shape, 0, 1, floating(dtype, "randn").numpy), device, requires_grad)


@takes_storage_options
def rand_like(input: Tensor, *, generator: Generator | None = None, dtype: DType | None = None, device: DeviceLike | None = None,
              requires_grad: bool = False) -> Tensor:
    """`rand` in the shape and dtype of `input`. Mirrors ``torch.rand_like``.

    >>> mg.rand_like(mg.zeros(2)).shape
    minigrad.Size([2])
    """
    dtype, device = like_arguments(input, dtype, device)
    return rand(tuple(input.shape), generator=generator, dtype=dtype, device=device, requires_grad=requires_grad)


@takes_storage_options
def randn_like(input: Tensor, *, generator: Generator | None = None, dtype: DType | None = None, device: DeviceLike | None = None,
               requires_grad: bool = False) -> Tensor:
    """`randn` in the shape and dtype of `input`. Mirrors ``torch.randn_like``.

    >>> mg.randn_like(mg.zeros(2)).shape
    minigrad.Size([2])
    """
    dtype, device = like_arguments(input, dtype, device)
    return randn(tuple(input.shape), generator=generator, dtype=dtype, device=device, requires_grad=requires_grad)


@fills_out
def normal(mean: Tensor | float = 0.0, std: Tensor | float = 1.0, size: int | Sequence[int] | None = None, *,
           generator: Generator | None = None, dtype: DType | None = None, device: DeviceLike | None = None,
           requires_grad: bool = False) -> Tensor:
    """Random numbers from a normal distribution. Mirrors ``torch.normal``.

    Args:
        mean, std (float or Tensor): of the distribution; tensors give one each per element, and get a gradient of 0.
        size (tuple): the shape, where both are numbers.

    Raises:
        TypeError: neither of the two is a tensor and there is no `size`, or there is one beside tensors.
        RuntimeError: `std` is negative.

    >>> mg.normal(0., 1., (2, 3)).shape
    minigrad.Size([2, 3])
    """
    if size is None:
        return normal_of_tensors(mean, std, stream(generator))
    mean, std = mean_of(mean, floating(dtype, "normal"), "normal"), real(std, "std", "normal")
    check_std(std)
    kernels, shape = as_device(device).backend.kernels, sizes_argument((size,), "normal")
    array = kernels.normal(stream(generator), shape, mean, std, floating(dtype, "normal").numpy)
    return new_leaf(array, device, requires_grad)


def normal_of_tensors(mean, std, numbers):
    """Normal random numbers, one for each element of `mean` and `std`, of which at least one is a tensor."""
    of_mean, of_std = isinstance(mean, Tensor), isinstance(std, Tensor)
    if not of_mean:
        tensor_argument("normal", std, "std", 2)
        mean = mean_of(mean, std.dtype, "normal")
    floating((mean if of_mean else std).dtype, "normal")    # pyright: ignore[reportAttributeAccessIssue]
    if of_std and std.dtype.is_complex:
        raise DtypeError("MG-E203", "normal expects standard deviation to be non-complex")
    std = std if of_std else real(std, "std", "normal")
    check_std(std)
    if of_mean and of_std:
        return explain_misfit(run, sampling.NormalOfBoth.op, (mean, std, numbers))
    return call(sampling.NormalOfMean.op, (mean, std, numbers)) if of_mean else call(sampling.NormalOfStd.op, (std, mean, numbers))


def mean_of(mean, dtype, function):
    """The mean of random numbers of `dtype`, a number: a complex one for complex numbers alone."""
    return number(mean, "mean", function) if dtype.is_complex else real(mean, "mean", function)


def check_std(std):
    """Raise if a standard deviation, a number or a tensor of them, is negative."""
    if isinstance(std, Tensor):
        least = std.detach().min().item() if std.numel() and not std.is_meta else 0
    else:
        least = std
    if least < 0:
        raise ArgumentError("MG-E302", f"normal expects std >= 0.0, but found std {least}")


@fills_out
def randint(low: int, high: int | Sequence[int] | None = None, size: int | Sequence[int] | None = None, *,
            generator: Generator | None = None, dtype: DType | None = None, device: DeviceLike | None = None,
            requires_grad: bool = False) -> Tensor:
    """Random integers in [low, high); ``randint(high, size)`` begins at 0. Mirrors ``torch.randint``.

    Raises:
        RuntimeError: the range is empty.

    >>> x = mg.randint(3, (100,)); int(x.min()) >= 0 and int(x.max()) < 3
    True
    """
    if size is None:
        low, high, size = 0, low, high
    if not isinstance(size, (tuple, list)):
        raise TensorTypeError("MG-E206", f"randint(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    shape = sizes_argument((size,), "randint")
    low, high = integer(low, "low", "randint"), integer(high, "high", "randint")
    if low >= high:
        raise ArgumentError("MG-E302", f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    kind = int64 if dtype is None else as_dtype(dtype)
    kernels = as_device(device).backend.kernels
    return new_leaf(kernels.cast(kernels.integers(stream(generator), shape, low, high), kind.numpy), device, requires_grad)


@fills_out
def randperm(n: int, *, generator: Generator | None = None, dtype: DType | None = None, device: DeviceLike | None = None,
             requires_grad: bool = False) -> Tensor:
    """The integers from 0 to n - 1 in random order. Mirrors ``torch.randperm``.

    Raises:
        RuntimeError: `n` is negative.

    >>> sorted(mg.randperm(4).tolist())
    [0, 1, 2, 3]
    """
    if integer(n, "n", "randperm") < 0:
        raise ArgumentError("MG-E302", f"n must be non-negative, got {n}")
    kind = int64 if dtype is None else as_dtype(dtype)
    kernels = as_device(device).backend.kernels
    return new_leaf(kernels.cast(kernels.permutation(stream(generator), n), kind.numpy), device, requires_grad)


def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """1 with the probability that `input` gives, else 0, elementwise. The gradient is 0. Mirrors ``torch.bernoulli``.

    Args:
        p (float, optional): the probability of all elements, instead of `input`, which then gives shape and dtype alone.

    Raises:
        RuntimeError: a probability lies outside [0, 1].

    >>> mg.bernoulli(mg.tensor([0., 1.]))
    tensor([0., 1.])
    """
    if out is not None:
        return into(out, bernoulli, input, p, generator=generator)
    if p is not None:
        copy = clone(tensor_argument("bernoulli", input))
        return copy.bernoulli_(real(p, "p", "bernoulli"), generator=generator)     # pyright: ignore[reportAttributeAccessIssue]
    check_probabilities(tensor_argument("bernoulli", input))
    return call(sampling.Bernoulli.op, (input, stream(generator)))


def check_probabilities(p):
    """Raise unless a tensor holds floating point numbers from 0 to 1."""
    floating(p.dtype, "bernoulli")
    if p.is_meta:
        return
    array = p.device.backend.kernels.to_host(p._array)
    if not ((array >= 0) & (array <= 1)).all():
        raise ArgumentError("MG-E302", "Expected p_in >= 0 && p_in <= 1 to be true: probabilities lie between 0 and 1")


@takes_storage_options
def randint_like(input: Tensor, low: int, high: int | Sequence[int] | None = None, *, generator: Generator | None = None,
                 dtype: DType | None = None, device: DeviceLike | None = None, requires_grad: bool = False) -> Tensor:
    """Random integers in [low, high), or [0, low), in the shape and dtype of `input`. Mirrors ``torch.randint_like``.

    Raises:
        RuntimeError: the range is empty.

    >>> mg.randint_like(mg.zeros(2), 1)
    tensor([0., 0.])
    """
    own = tensor_argument("randint_like", input).dtype
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, tuple(input.shape), generator=generator, dtype=own if dtype is None else dtype, device=device,
                   requires_grad=requires_grad)


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None,
                out: Tensor | None = None) -> Tensor:
    """Indices drawn with the probabilities that are proportional to `input`, a vector, or to each of its rows.

    Args:
        input (Tensor): weights, not negative, (n) or (m, n). They need not add up to 1.
        num_samples (int): how many are drawn for each row.
        replacement (bool): an index may come again.

    There is no derivative. Mirrors ``torch.multinomial``.

    Raises:
        RuntimeError: a weight is negative or not finite, all of a row are 0, the dtype is no floating point one, or more than n are
            drawn without replacement.

    >>> mg.multinomial(mg.tensor([0., 1., 0.]), 4, replacement=True)
    tensor([1, 1, 1, 1])
    """
    if out is not None:
        return into(out, multinomial, input, num_samples, replacement, generator=generator)
    weights = check_weights(tensor_argument("multinomial", input).detach(), integer(num_samples, "num_samples", "multinomial"),
                            flag(replacement, "replacement", "multinomial"))
    if not weights.numel():
        return weights.new_zeros((*weights.shape[:-1], num_samples), dtype=int64)
    if replacement and num_samples > 1:     # where uniform numbers fall among the running sums; what has weight 0 has no width
        sums = weights.cumsum(-1)
        at = rand((*weights.shape[:-1], num_samples), generator=generator, dtype=float64)
        from minigrad.ops import searchsorted  # late: see ops/late.py
        return searchsorted(sums / sums[..., -1:], at, right=True)
    # Of exponential waiting times at the rates w, each is the first with probability w (Efraimidis and Spirakis, 2006).
    times = weights.new_empty(weights.shape).exponential_(generator=generator)
    return (weights / times).topk(num_samples, -1).indices


LARGEST_RATE = 9e18      # the counts have 64 bits


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Random counts whose mean is `input`, elementwise. The gradient is 0. Mirrors ``torch.poisson``.

    Raises:
        RuntimeError: a mean is negative, nan, or too large.
        NotImplementedError: they are no floating point numbers.

    >>> mg.poisson(mg.tensor([0., 0.]))
    tensor([0., 0.])
    """
    if not tensor_argument("poisson", input).dtype.is_floating_point:
        raise AutogradNotImplementedError("MG-E203", f'"poisson" not implemented for \'{input.dtype.name}\'')
    means = input.detach()
    if not bool((means >= 0).all()):
        raise ArgumentError("MG-E302", "invalid Poisson rate, expected rate to be non-negative")
    if not bool((means < LARGEST_RATE).all()):
        raise ArgumentError("MG-E302", f"poisson(): a rate is too large, expected less than {LARGEST_RATE:g}")
    return call(sampling.Poisson.op, (input, stream(generator)))


def check_weights(weights, num_samples, replacement):
    """Weights as float64, checked."""
    if not weights.dtype.is_floating_point:
        raise DtypeError("MG-E203", f"multinomial only supports floating-point dtypes for input, got: {weights.dtype.name}")
    if weights.ndim not in (1, 2):
        raise ShapeError("MG-E205", "prob_dist must be 1 or 2 dim", found=f"{weights.ndim}-d")
    if num_samples <= 0:
        raise ArgumentError("MG-E302", f"cannot sample n_sample <= 0 samples, got {num_samples}")
    if not replacement and num_samples > weights.shape[-1]:
        raise ArgumentError("MG-E302", "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
                            found=f"{num_samples} of {weights.shape[-1]}")
    weights = weights.double()
    if weights.numel():
        if not bool((weights.isfinite() & (weights >= 0)).all()):
            raise ArgumentError("MG-E302", "probability tensor contains either `inf`, `nan` or element < 0")
        if not bool((weights.sum(-1) > 0).all()):
            raise ArgumentError("MG-E302", "invalid multinomial distribution (sum of probabilities <= 0)")
    return weights
