"""Random numbers of other distributions: methods that overwrite a tensor, such as ``x.exponential_()``, and `multinomial`.

    u uniform in [0, 1)     exponential  -log(1 - u) / λ        geometric  ⌈log(1 - u) / log(1 - p)⌉
                            cauchy       median + σ tan(π (u - ½))

What was there gets a gradient of 0, as from any write that does not depend on it. `uniform_`, `normal_` and `bernoulli_` stand
beside their functions, in ``random.py``.

Mirrors ``aten/src/ATen/native/Distributions.cpp``.
"""

import math

import numpy as np

from minigrad._core.mutation.inplace import apply_inplace
from minigrad._core.record.apply import call
from minigrad.dtypes import float64, int64
from minigrad.errors import AutogradNotImplementedError, ShapeError
from minigrad.ops import searchsorted
from minigrad.ops.base import overwriting
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import HALF, SINGLE
from minigrad.ops.base.rule import flag, integer, real, tensor_argument
from minigrad.ops.elementwise import sampling
from minigrad.random import rand, randint, renamed, stream
from minigrad.tensor import install_methods

__all__ = ["multinomial", "poisson", "randint_like"]

LARGEST_RATE = 9e18      # the counts have 64 bits
# The integers up to here are numbers of the dtype: `random_` without arguments draws from them.
WHOLE = {"float16": 2 ** 11, "float32": 2 ** 24, "float64": 2 ** 53, "bool": 1}


def continuous(x, name):
    """Raise unless x holds floating point numbers."""
    if not x.dtype.is_floating_point:
        raise ShapeError("MG-E203", f"{name} distribution is a continuous probability distribution. dtype must be a floating point "
                         f"but you specified {x.dtype.name}")


def drawn(draw):
    """Numbers of float16 are drawn in float32: too many of those between 0 and 1 are 0 or 1 in float16."""
    def numbers(k, shape, dtype):
        return k.cast(draw(k, shape, SINGLE), dtype) if dtype == HALF else draw(k, shape, dtype)
    return numbers


def exponential_(self, lambd=1, *, generator=None):
    """Fill self with random numbers of the density λ e^(-λx), x > 0. Mirrors ``torch.Tensor.exponential_``.

    Raises:
        RuntimeError: `lambd` is not positive, or self is no floating point tensor.

    >>> bool((mg.empty(100).exponential_() > 0).all())
    True
    """
    continuous(self, "Exponential")
    lambd = real(lambd, "lambd", "exponential_")
    if not lambd > 0:
        raise ShapeError("MG-E302", f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    numbers = stream(generator)

    def draw(k, shape, dtype):      # the smallest u above 0: none of them is 0
        return k.div(k.neg(k.log1p(k.neg(k.uniform(numbers, shape, 2.0 ** -25, 1, dtype)))), lambd)
    return apply_inplace(overwriting.Exponential.op, self, (drawn(draw),))


def geometric_(self, p, *, generator=None):
    """Fill self with how many trials of probability `p` it takes to succeed: k with probability (1 - p)^(k-1) p.

    Mirrors ``torch.Tensor.geometric_``.

    Raises:
        RuntimeError: `p` lies outside (0, 1).

    >>> bool((mg.empty(100).geometric_(0.5) >= 1).all())
    True
    """
    p = real(p, "p", "geometric_")
    if not 0 < p < 1:
        raise ShapeError("MG-E302", f"geometric_ expects p to be in (0, 1), but got p={p}")
    numbers = stream(generator)

    def draw(k, shape, dtype):
        u = k.uniform(numbers, shape, 2.0 ** -53, 1, np.dtype("float64"))
        return k.cast(k.ceil(k.div(k.log1p(k.neg(u)), math.log1p(-float(p)))), dtype)
    return apply_inplace(overwriting.Geometric.op, self, (draw,))


def log_normal_(self, mean=1, std=2, *, generator=None):
    """Fill self with random numbers whose logarithms are normal. Mirrors ``torch.Tensor.log_normal_``.

    Raises:
        RuntimeError: `std` is not positive, or self is no floating point tensor.

    >>> bool((mg.empty(100).log_normal_() > 0).all())
    True
    """
    continuous(self, "LogNormal")
    mean, std = real(mean, "mean", "log_normal_"), real(std, "std", "log_normal_")
    if not std > 0:
        raise ShapeError("MG-E302", f"log_normal_ expects std > 0.0, but found std={std}")
    numbers = stream(generator)

    def draw(k, shape, dtype):
        return k.exp(k.normal(numbers, shape, mean, std, dtype))
    return apply_inplace(overwriting.LogNormal.op, self, (drawn(draw),))


def cauchy_(self, median=0, sigma=1, *, generator=None):
    """Fill self with random numbers of the density σ / (π ((x - median)² + σ²)). Mirrors ``torch.Tensor.cauchy_``.

    Raises:
        RuntimeError: `sigma` is not positive, or self is no floating point tensor.

    >>> mg.empty(3).cauchy_().shape
    minigrad.Size([3])
    """
    continuous(self, "Cauchy")
    median, sigma = real(median, "median", "cauchy_"), real(sigma, "sigma", "cauchy_")
    if not sigma > 0:
        raise ShapeError("MG-E302", f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    numbers = stream(generator)

    def draw(k, shape, dtype):
        return k.add(k.mul(k.tan(k.uniform(numbers, shape, -math.pi / 2, math.pi / 2, dtype)), sigma), median)
    return apply_inplace(overwriting.Cauchy.op, self, (drawn(draw),))


def random_(self, from_=None, to=None, *, generator=None, **old):
    """Fill self with random integers in [from, to): ``random_(to)`` begins at 0, ``random_()`` takes those that the dtype can hold.

    Mirrors ``torch.Tensor.random_``.

    Raises:
        RuntimeError: the range is empty.

    >>> x = mg.empty(100).random_(2, 5); x.min() >= 2 and x.max() < 5
    tensor(True)
    """
    low = renamed(old, from_, "random_")
    numbers = stream(generator)
    if low is None and to is None:
        rule, low, high = overwriting.Random, 0, limit(self.dtype) + 1
    elif low is None or to is None:
        rule, low, high = overwriting.RandomTo, 0, integer(to if low is None else low, "to", "random_")
    else:
        rule, low, high = overwriting.RandomRange, integer(low, "from", "random_"), integer(to, "to", "random_")
    if low >= high:
        raise ShapeError("MG-E302", f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return apply_inplace(rule.op, self, (lambda k, shape, dtype: k.cast(k.from_host(np.asarray(numbers.integers(low, high, shape)),
                                                                           True), dtype),))


def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
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
    if replacement:         # where uniform numbers fall among the running sums; what has weight 0 has no width
        sums = weights.cumsum(-1)
        at = rand((*weights.shape[:-1], num_samples), generator=generator, dtype=float64) * sums[..., -1:]
        return searchsorted(sums, at, right=True)
    # Of exponential waiting times at the rates w, each is the first with probability w (Efraimidis and Spirakis, 2006).
    times = weights.new_empty(weights.shape).exponential_(generator=generator)
    return (weights / times).topk(num_samples, -1).indices


def poisson(input, generator=None):
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
        raise ShapeError("MG-E302", "invalid Poisson rate, expected rate to be non-negative")
    if not bool((means < LARGEST_RATE).all()):
        raise ShapeError("MG-E302", f"poisson(): a rate is too large, expected less than {LARGEST_RATE:g}")
    return call(sampling.Poisson.op, (input, stream(generator)))


def check_weights(weights, num_samples, replacement):
    """Weights as float64, checked."""
    if not weights.dtype.is_floating_point:
        raise ShapeError("MG-E203", f"multinomial only supports floating-point dtypes for input, got: {weights.dtype.name}")
    if weights.ndim not in (1, 2):
        raise ShapeError("MG-E205", "prob_dist must be 1 or 2 dim", found=f"{weights.ndim}-d")
    if num_samples <= 0:
        raise ShapeError("MG-E302", f"cannot sample n_sample <= 0 samples, got {num_samples}")
    if not replacement and num_samples > weights.shape[-1]:
        raise ShapeError("MG-E302", "cannot sample n_sample > prob_dist.size(-1) samples without replacement",
                         found=f"{num_samples} of {weights.shape[-1]}")
    weights = weights.double()
    if weights.numel():
        if not bool((weights.isfinite() & (weights >= 0)).all()):
            raise ShapeError("MG-E302", "probability tensor contains either `inf`, `nan` or element < 0")
        if not bool((weights.sum(-1) > 0).all()):
            raise ShapeError("MG-E302", "invalid multinomial distribution (sum of probabilities <= 0)")
    return weights


def randint_like(input, low, high=None, *, generator=None, dtype=None, device=None, requires_grad=False):
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


def limit(dtype):
    """The largest integer that `random_` draws for a dtype."""
    return WHOLE.get(dtype.name) or int(np.iinfo(dtype.numpy).max)


install_methods({"exponential_": exponential_, "geometric_": geometric_, "log_normal_": log_normal_, "cauchy_": cauchy_,
                 "random_": random_, "multinomial": multinomial})
