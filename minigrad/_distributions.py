"""Methods that overwrite a tensor with random numbers of a distribution: ``x.exponential_()`` and its like.

    u uniform in [0, 1)     exponential  -log(1 - u) / λ        geometric  ⌈log(1 - u) / log(1 - p)⌉
                            cauchy       median + σ tan(π (u - ½))

What was there gets a gradient of 0, as from any write that does not depend on it. `uniform_`, `normal_` and `bernoulli_` stand
beside their functions, in ``random.py``.

Mirrors ``aten/src/ATen/native/Distributions.cpp``.
"""

import math

import numpy as np

from minigrad._core.inplace import write
from minigrad.errors import ShapeError
from minigrad.ops import overwriting
from minigrad.ops.base import integer
from minigrad.random import stream
from minigrad.tensor import install_methods

__all__ = []

# The integers up to here are numbers of the dtype: `random_` without arguments draws from them.
WHOLE = {"float16": 2 ** 11, "float32": 2 ** 24, "float64": 2 ** 53, "bool": 1}


def continuous(x, name):
    """Raise unless x holds floating point numbers."""
    if not x.dtype.is_floating_point:
        raise ShapeError("MG-E203", f"{name} distribution is a continuous probability distribution. dtype must be a floating point "
                         f"but you specified {x.dtype.name}")


def exponential_(self, lambd=1, *, generator=None):
    """Fill self with random numbers of the density λ e^(-λx), x > 0. Mirrors ``torch.Tensor.exponential_``.

    Raises:
        RuntimeError: `lambd` is not positive, or self is no floating point tensor.

    >>> bool((mg.empty(100).exponential_() > 0).all())
    True
    """
    continuous(self, "Exponential")
    if not lambd > 0:
        raise ShapeError("MG-E302", f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    numbers = stream(generator)

    def draw(k, shape, dtype):      # the smallest u above 0: none of them is 0
        return k.div(k.neg(k.log1p(k.neg(k.uniform(numbers, shape, 2.0 ** -25, 1, dtype)))), lambd)
    return write(overwriting.Exponential.op, self, (draw,))


def geometric_(self, p, *, generator=None):
    """Fill self with how many trials of probability `p` it takes to succeed: k with probability (1 - p)^(k-1) p.

    Mirrors ``torch.Tensor.geometric_``.

    Raises:
        RuntimeError: `p` lies outside (0, 1).

    >>> bool((mg.empty(100).geometric_(0.5) >= 1).all())
    True
    """
    if not 0 < p < 1:
        raise ShapeError("MG-E302", f"geometric_ expects p to be in (0, 1), but got p={p}")
    numbers = stream(generator)

    def draw(k, shape, dtype):
        u = k.uniform(numbers, shape, 2.0 ** -53, 1, np.dtype("float64"))
        return k.cast(k.ceil(k.div(k.log1p(k.neg(u)), math.log1p(-p))), dtype)
    return write(overwriting.Geometric.op, self, (draw,))


def log_normal_(self, mean=1, std=2, *, generator=None):
    """Fill self with random numbers whose logarithms are normal. Mirrors ``torch.Tensor.log_normal_``.

    Raises:
        RuntimeError: `std` is not positive, or self is no floating point tensor.

    >>> bool((mg.empty(100).log_normal_() > 0).all())
    True
    """
    continuous(self, "LogNormal")
    if not std > 0:
        raise ShapeError("MG-E302", f"log_normal_ expects std > 0.0, but found std={std}")
    numbers = stream(generator)
    return write(overwriting.LogNormal.op, self, (lambda k, shape, dtype: k.exp(k.normal(numbers, shape, mean, std, dtype)),))


def cauchy_(self, median=0, sigma=1, *, generator=None):
    """Fill self with random numbers of the density σ / (π ((x - median)² + σ²)). Mirrors ``torch.Tensor.cauchy_``.

    Raises:
        RuntimeError: `sigma` is not positive, or self is no floating point tensor.

    >>> mg.empty(3).cauchy_().shape
    minigrad.Size([3])
    """
    continuous(self, "Cauchy")
    if not sigma > 0:
        raise ShapeError("MG-E302", f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    numbers = stream(generator)

    def draw(k, shape, dtype):
        return k.add(k.mul(k.tan(k.uniform(numbers, shape, -math.pi / 2, math.pi / 2, dtype)), sigma), median)
    return write(overwriting.Cauchy.op, self, (draw,))


def random_(self, from_=None, to=None, *, generator=None, **old):
    """Fill self with random integers in [from, to): ``random_(to)`` begins at 0, ``random_()`` takes those that the dtype can hold.

    Mirrors ``torch.Tensor.random_``.

    Raises:
        RuntimeError: the range is empty.

    >>> x = mg.empty(100).random_(2, 5); x.min() >= 2 and x.max() < 5
    tensor(True)
    """
    low = old.get("from", from_)
    numbers = stream(generator)
    if low is None and to is None:
        rule, low, high = overwriting.Random, 0, limit(self.dtype) + 1
    elif low is None or to is None:
        rule, low, high = overwriting.RandomTo, 0, integer(to if low is None else low, "to", "random_")
    else:
        rule, low, high = overwriting.RandomRange, integer(low, "from", "random_"), integer(to, "to", "random_")
    if low >= high:
        raise ShapeError("MG-E302", f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return write(rule.op, self, (lambda k, shape, dtype: k.cast(np.asarray(numbers.integers(low, high, shape)), dtype),))


def limit(dtype):
    """The largest integer that `random_` draws for a dtype."""
    return WHOLE.get(dtype.name) or int(np.iinfo(dtype.numpy).max)


install_methods({"exponential_": exponential_, "geometric_": geometric_, "log_normal_": log_normal_, "cauchy_": cauchy_,
                 "random_": random_})
