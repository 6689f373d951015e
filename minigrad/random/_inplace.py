"""Methods that overwrite a tensor with random numbers: ``x.uniform_()`` and its like.

    u uniform in [0, 1)     exponential  -log(1 - u) / λ        geometric  ⌈log u / log(1 - p)⌉
                            cauchy       median + σ tan(π (u - ½))

The values that were there get a gradient of 0, as from any write that does not depend on them.

Mirrors ``aten/src/ATen/native/Distributions.cpp``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.mutation.inplace import apply_inplace
from minigrad.errors import ArgumentError, DtypeError, TensorTypeError
from minigrad.ops.base import overwriting
from minigrad.ops.base.arguments import integer, real
from minigrad.ops.elementwise import sampling
from minigrad.ops.shape.views import expand
from minigrad.random._generator import stream
from minigrad.random._sampling import check_probabilities, check_std, floating, mean_of
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from minigrad.random import Generator


def lower_bound(old, from_, function):
    """Return the keyword argument ``from``, which Python does not allow as a name, or else `from_`."""
    for name in old:
        if name != "from":
            raise TensorTypeError("MG-E201", f"{function}() got an unexpected keyword argument '{name}'")
    return old.get("from", from_)


def uniform_(self, from_: float = 0, to: float = 1, *, generator: Generator | None = None, **old: float) -> Tensor:
    """Fill self with random numbers uniform in [from, to). Mirrors ``torch.Tensor.uniform_``.

    Raises:
        RuntimeError: `to` is less than `from`, or self is no floating point tensor.

    >>> mg.empty(2).uniform_(0, 1).shape
    minigrad.Size([2])
    """
    low, to = real(lower_bound(old, from_, "uniform_"), "from", "uniform_"), real(to, "to", "uniform_")
    floating(self.dtype, "uniform_")
    if to < low:
        raise ArgumentError("MG-E302", f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}")
    numbers = stream(generator)
    return apply_inplace(overwriting.Uniform.op, self,
                 (lambda k, shape, dtype: k.uniform(numbers, shape, low, to, dtype),))


def normal_(self, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill self with random numbers from a normal distribution. Mirrors ``torch.Tensor.normal_``.

    Raises:
        RuntimeError: `std` is negative, or self is no floating point tensor.

    >>> mg.empty(2).normal_().shape
    minigrad.Size([2])
    """
    floating(self.dtype, "normal_")
    mean, std = mean_of(mean, self.dtype, "normal_"), real(std, "std", "normal_")
    check_std(std)
    numbers = stream(generator)
    return apply_inplace(overwriting.Normal.op, self,
                 (lambda k, shape, dtype: k.normal(numbers, shape, mean, std, dtype),))


def bernoulli_(self, p: float | Tensor = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill self with 1 with probability `p`, else 0. Mirrors ``torch.Tensor.bernoulli_``.

    Args:
        p (float or Tensor): a tensor, which broadcasts to self, has one for each element, and gets a gradient of 0.

    Raises:
        RuntimeError: `p` lies outside [0, 1], or does not broadcast.

    >>> mg.empty(2).bernoulli_(1), mg.empty(2).bernoulli_(mg.tensor([0., 1.]))
    (tensor([1., 1.]), tensor([0., 1.]))
    """
    numbers = stream(generator)
    if isinstance(p, Tensor):
        check_probabilities(p)
        return apply_inplace(sampling.BernoulliWritten.op, self, (expand(p, *self.shape), numbers))
    p = real(p, "p", "bernoulli_")
    if not 0 <= p <= 1:
        raise ArgumentError("MG-E302", f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return apply_inplace(overwriting.Bernoulli.op, self,
                 (lambda k, shape, dtype: k.bernoulli(numbers, shape, p, dtype),))


DOUBLE = np.dtype("float64")

# The integers up to here are numbers of the dtype: `random_` without arguments draws from them.
WHOLE = {"bfloat16": 2 ** 8, "float16": 2 ** 11, "float32": 2 ** 24, "float64": 2 ** 53, "bool": 1}


def check_continuous(x, name):
    """Raise unless x is a floating point tensor."""
    if not x.dtype.is_floating_point:
        raise DtypeError("MG-E203", f"{name} distribution is a continuous probability distribution. dtype must be a floating point "
                         f"but you specified {x.dtype.name}")


def draw_above_0(k, numbers, shape):
    """Uniform random numbers of float64 in (0, 1): one of 2^53 would be 0, whose logarithm is infinite."""
    return k.clamp(k.uniform(numbers, shape, 0, 1, DOUBLE), 2.0 ** -53, None)


def exponential_(self, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill self with random numbers of the density λ e^(-λx), x > 0. Mirrors ``torch.Tensor.exponential_``.

    Raises:
        RuntimeError: `lambd` is not positive, or self is no floating point tensor.

    >>> bool((mg.empty(100).exponential_() > 0).all())
    True
    """
    check_continuous(self, "Exponential")
    lambd = real(lambd, "lambd", "exponential_")
    if not lambd > 0:
        raise ArgumentError("MG-E302", f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    numbers = stream(generator)

    def draw(k, shape, dtype):
        return k.cast(k.div(k.neg(k.log1p(k.neg(draw_above_0(k, numbers, shape)))), lambd), dtype)
    return apply_inplace(overwriting.Exponential.op, self, (draw,))


def geometric_(self, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill self with how many trials of probability `p` it takes to succeed: k with probability (1 - p)^(k-1) p.

    Mirrors ``torch.Tensor.geometric_``.

    Raises:
        RuntimeError: `p` lies outside (0, 1).

    >>> bool((mg.empty(100).geometric_(0.5) >= 1).all())
    True
    """
    p = real(p, "p", "geometric_")
    if not 0 < p < 1:
        raise ArgumentError("MG-E302", f"geometric_ expects p to be in (0, 1), but got p={p}")
    numbers = stream(generator)

    def draw(k, shape, dtype):
        return k.cast(k.ceil(k.div(k.log(draw_above_0(k, numbers, shape)), math.log1p(-float(p)))), dtype)
    return apply_inplace(overwriting.Geometric.op, self, (draw,))


def log_normal_(self, mean: float = 1, std: float = 2, *, generator: Generator | None = None) -> Tensor:
    """Fill self with random numbers whose logarithms are normal. Mirrors ``torch.Tensor.log_normal_``.

    Raises:
        RuntimeError: `std` is not positive, or self is no floating point tensor.

    >>> bool((mg.empty(100).log_normal_() > 0).all())
    True
    """
    check_continuous(self, "LogNormal")
    mean, std = real(mean, "mean", "log_normal_"), real(std, "std", "log_normal_")
    if not std > 0:
        raise ArgumentError("MG-E302", f"log_normal_ expects std > 0.0, but found std={std}")
    numbers = stream(generator)

    def draw(k, shape, dtype):
        return k.cast(k.exp(k.normal(numbers, shape, mean, std, DOUBLE)), dtype)
    return apply_inplace(overwriting.LogNormal.op, self, (draw,))


def cauchy_(self, median: float = 0, sigma: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill self with random numbers of the density σ / (π ((x - median)² + σ²)). Mirrors ``torch.Tensor.cauchy_``.

    Raises:
        RuntimeError: `sigma` is not positive, or self is no floating point tensor.

    >>> mg.empty(3).cauchy_().shape
    minigrad.Size([3])
    """
    check_continuous(self, "Cauchy")
    median, sigma = real(median, "median", "cauchy_"), real(sigma, "sigma", "cauchy_")
    if not sigma > 0:
        raise ArgumentError("MG-E302", f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    numbers = stream(generator)

    def draw(k, shape, dtype):
        angle = k.uniform(numbers, shape, -math.pi / 2, math.pi / 2, DOUBLE)
        return k.cast(k.add(k.mul(k.tan(angle), sigma), median), dtype)
    return apply_inplace(overwriting.Cauchy.op, self, (draw,))


def random_(self, from_: float | None = None, to: float | None = None, *, generator: Generator | None = None,
            **old: float) -> Tensor:
    """Fill self with random integers in [from, to): ``random_(to)`` begins at 0, ``random_()`` takes those that the dtype can hold.

    Mirrors ``torch.Tensor.random_``.

    Raises:
        RuntimeError: the range is empty.

    >>> x = mg.empty(100).random_(2, 5); x.min() >= 2 and x.max() < 5
    tensor(True)
    """
    low = lower_bound(old, from_, "random_")
    numbers = stream(generator)
    if low is None and to is None:
        def draw(k, shape, dtype):
            found = numbers.remainders(math.prod(shape), largest_integer(self.dtype) + 1, self.dtype.itemsize == 8)
            return k.cast(k.from_host(found.reshape(shape), True), dtype)
        return apply_inplace(overwriting.Random.op, self, (draw,))
    if low is None or to is None:
        rule, low, high = overwriting.RandomTo, 0, integer(to if low is None else low, "to", "random_")
    else:
        rule, low, high = overwriting.RandomRange, integer(low, "from", "random_"), integer(to, "to", "random_")
    if low >= high:
        raise ArgumentError("MG-E302", f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return apply_inplace(rule.op, self, (lambda k, shape, dtype: k.cast(k.integers(numbers, shape, low, high), dtype),))


def largest_integer(dtype):
    """The largest integer that `random_` draws for a dtype."""
    return WHOLE.get(dtype.name) or int(np.iinfo(dtype.numpy).max)
