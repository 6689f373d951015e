"""Random numbers: generators, and tensors drawn from them.

The stream is Philox (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011). It is counter-based: the
kernels of a GPU take a key from it and count on by themselves (kernels/cuda/elementwise/randoms.py), with other numbers than the
CPU's, the same for the same seed. PyTorch's numbers are others again; the distributions are alike.

Mirrors ``torch/random.py`` and ``torch.Generator``.
"""

import contextlib

import numpy as np

from minigrad._core.mutation.inplace import apply_inplace
from minigrad._core.record.apply import call
from minigrad._core.record.promotion import default_dtype
from minigrad.creation import like, made, sizes_argument
from minigrad.dtypes import as_device, as_dtype, int64
from minigrad.errors import ShapeError, TensorTypeError
from minigrad.ops.base import overwriting
from minigrad.ops.base.broadcasting import explain_misfit
from minigrad.ops.base.inplace_pairs import run
from minigrad.ops.base.out import fills_out, into
from minigrad.ops.base.rule import integer, number, real, tensor_argument
from minigrad.ops.elementwise import sampling
from minigrad.ops.shape.clone_cast import clone
from minigrad.ops.shape.views import expand
from minigrad.tensor import Tensor, install_methods

__all__ = ["Generator", "bernoulli", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "normal",
           "rand", "rand_like", "randint", "randn", "randn_like", "randperm", "seed", "set_rng_state"]


class Generator:
    """A stream of random numbers. Mirrors ``torch.Generator``.

    >>> g = mg.Generator().manual_seed(0)
    >>> a = mg.rand(3, generator=g)
    >>> a.tolist() == mg.rand(3, generator=g.manual_seed(0)).tolist()
    True
    """

    def __init__(self, device="cpu"):
        self.device = as_device(device)
        self.manual_seed(67280421310721)

    def manual_seed(self, seed):
        """Begin the stream that belongs to the int `seed`; returns this generator.

        >>> g = mg.Generator().manual_seed(3)
        >>> g.initial_seed()
        3
        """
        if not isinstance(seed, (int, np.integer)):
            raise TensorTypeError("MG-E201", f"manual_seed expected a long, but got {type(seed).__name__}")
        self._seed = int(seed)
        self._numpy = None
        return self

    @property
    def numpy(self):
        """The NumPy generator behind this one. Made on first use: importing ``numpy.random`` takes 10 ms."""
        if self._numpy is None:
            self._numpy = np.random.Generator(np.random.Philox(self._seed % (1 << 64)))
        return self._numpy

    def initial_seed(self):
        """The seed with which the stream began.

        >>> mg.Generator().manual_seed(3).initial_seed()
        3
        """
        return self._seed

    def seed(self):
        """Begin a stream that nobody can foresee; returns its seed.

        >>> g = mg.Generator()
        >>> g.seed() == g.initial_seed()
        True
        """
        self.manual_seed(int(np.random.SeedSequence().generate_state(1, np.uint64)[0]))
        return self._seed

    def get_state(self):
        """Where in the stream it is: pass it to `set_state` to go on from here again.

        >>> g = mg.Generator()
        >>> state = g.get_state()
        >>> a = mg.rand(2, generator=g)
        >>> mg.rand(2, generator=g.set_state(state)).tolist() == a.tolist()
        True
        """
        return self._seed, self.numpy.bit_generator.state

    def set_state(self, new_state):
        """Go on from where `get_state` was called; returns this generator.

        >>> g = mg.Generator()
        >>> g.set_state(g.get_state()) is g
        True
        """
        try:
            seed, state = new_state
            numbers = np.random.Generator(np.random.Philox(0))
            numbers.bit_generator.state = state
        except (TypeError, ValueError, KeyError, OverflowError):
            raise TensorTypeError("MG-E201", "set_state(): argument 'new_state' must be what get_state() has returned, not "
                                  f"{type(new_state).__name__}") from None
        self._seed, self._numpy = seed, numbers
        return self


default_generator = Generator()


def manual_seed(seed):
    """Begin the default stream that belongs to the int `seed`; returns its generator.

    Mirrors ``torch.manual_seed``.

    Raises:
        TypeError: `seed` is no int.

    >>> g = mg.manual_seed(0); a = mg.rand(2)
    >>> g = mg.manual_seed(0); a.tolist() == mg.rand(2).tolist()
    True
    """
    return default_generator.manual_seed(seed)


def seed():
    """Begin a default stream that nobody can foresee; returns its seed. Mirrors ``torch.seed``.

    >>> mg.seed() == mg.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed():
    """The seed of the default stream. Mirrors ``torch.initial_seed``.

    >>> g = mg.manual_seed(3)
    >>> mg.initial_seed()
    3
    """
    return default_generator.initial_seed()


def get_rng_state():
    """Where in the default stream we are. Mirrors ``torch.get_rng_state``.

    >>> state = mg.get_rng_state()
    >>> a = mg.rand(2)
    >>> mg.set_rng_state(state)
    >>> mg.rand(2).tolist() == a.tolist()
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state):
    """Go on from where `get_rng_state` was called. Mirrors ``torch.set_rng_state``.

    >>> state = mg.get_rng_state(); a = mg.rand(2)
    >>> mg.set_rng_state(state); a.tolist() == mg.rand(2).tolist()
    True
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(enabled=True):
    """A context that leaves the default stream where it found it. Mirrors ``torch.random.fork_rng``.

    >>> with mg.random.fork_rng():
    ...     a = mg.rand(2)
    >>> a.tolist() == mg.rand(2).tolist()
    True
    """
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


def stream(generator):
    """The NumPy generator behind an argument."""
    if generator is None:
        return default_generator.numpy
    if not isinstance(generator, Generator):
        raise TensorTypeError("MG-E201", f"argument 'generator' must be minigrad.Generator, not {type(generator).__name__}")
    return generator.numpy


def floating(dtype, function):
    """The dtype of random floats."""
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    if not (kind.is_floating_point or (kind.is_complex and function != "bernoulli")):
        raise ShapeError("MG-E203", f"{function}() is not implemented for {kind.name}; it needs a floating point dtype")
    return kind


@fills_out
def rand(*size, generator=None, dtype=None, device=None, requires_grad=False):
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
    return made(kernels.uniform(stream(generator), shape, 0, 1, floating(dtype, "rand").numpy), device, requires_grad)


@fills_out
def randn(*size, generator=None, dtype=None, device=None, requires_grad=False):
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
    return made(kernels.normal(stream(generator), shape, 0, 1, floating(dtype, "randn").numpy), device, requires_grad)


def rand_like(input, *, generator=None, dtype=None, device=None, requires_grad=False):
    """`rand` in the shape and dtype of `input`. Mirrors ``torch.rand_like``.

    >>> mg.rand_like(mg.zeros(2)).shape
    minigrad.Size([2])
    """
    dtype, device = like(input, dtype, device)
    return rand(tuple(input.shape), generator=generator, dtype=dtype, device=device, requires_grad=requires_grad)


def randn_like(input, *, generator=None, dtype=None, device=None, requires_grad=False):
    """`randn` in the shape and dtype of `input`. Mirrors ``torch.randn_like``.

    >>> mg.randn_like(mg.zeros(2)).shape
    minigrad.Size([2])
    """
    dtype, device = like(input, dtype, device)
    return randn(tuple(input.shape), generator=generator, dtype=dtype, device=device, requires_grad=requires_grad)


@fills_out
def normal(mean=0.0, std=1.0, size=None, *, generator=None, dtype=None, device=None, requires_grad=False):
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
    kernels = as_device(device).backend.kernels
    return made(kernels.normal(stream(generator), sizes_argument((size,), "normal"), mean, std, floating(dtype, "normal").numpy),
                device, requires_grad)


def normal_of_tensors(mean, std, numbers):
    """Normal random numbers, one for each element of `mean` and `std`, of which at least one is a tensor."""
    of_mean, of_std = isinstance(mean, Tensor), isinstance(std, Tensor)
    if not of_mean:
        tensor_argument("normal", std, "std", 2)
        mean = mean_of(mean, std.dtype, "normal")
    floating((mean if of_mean else std).dtype, "normal")    # pyright: ignore[reportAttributeAccessIssue]
    if of_std and std.dtype.is_complex:
        raise ShapeError("MG-E203", "normal expects standard deviation to be non-complex")
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
    least = std.detach().min().item() if isinstance(std, Tensor) and std.numel() else 0 if isinstance(std, Tensor) else std
    if least < 0:
        raise ShapeError("MG-E302", f"normal expects std >= 0.0, but found std {least}")


@fills_out
def randint(low, high=None, size=None, *, generator=None, dtype=None, device=None, requires_grad=False):
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
        raise ShapeError("MG-E302", f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    kind = int64 if dtype is None else as_dtype(dtype)
    numbers = stream(generator).integers(low, high, shape)
    return made(np.asarray(numbers).astype(kind.numpy), device, requires_grad)


@fills_out
def randperm(n, *, generator=None, dtype=None, device=None, requires_grad=False):
    """The integers from 0 to n - 1 in random order. Mirrors ``torch.randperm``.

    Raises:
        RuntimeError: `n` is negative.

    >>> sorted(mg.randperm(4).tolist())
    [0, 1, 2, 3]
    """
    if integer(n, "n", "randperm") < 0:
        raise ShapeError("MG-E302", f"n must be non-negative, got {n}")
    kind = int64 if dtype is None else as_dtype(dtype)
    return made(stream(generator).permutation(n).astype(kind.numpy), device, requires_grad)


def bernoulli(input, p=None, *, generator=None, out=None):
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
    array = p.device.backend.kernels.to_host(p._array)
    if not ((array >= 0) & (array <= 1)).all():
        raise ShapeError("MG-E302", "Expected p_in >= 0 && p_in <= 1 to be true: probabilities lie between 0 and 1")


# ---- methods that overwrite ---------------------------------------------------------------------------------


def renamed(old, from_, function):
    """What ``from=`` gave, which is no name in Python, or else `from_`."""
    for name in old:
        if name != "from":
            raise TensorTypeError("MG-E201", f"{function}() got an unexpected keyword argument '{name}'")
    return old.get("from", from_)


def uniform_(self, from_=0, to=1, *, generator=None, **old):
    """Fill self with random numbers uniform in [from, to). Mirrors ``torch.Tensor.uniform_``.

    Raises:
        RuntimeError: `to` is less than `from`, or self is no floating point tensor.

    >>> mg.empty(2).uniform_(0, 1).shape
    minigrad.Size([2])
    """
    low, to = real(renamed(old, from_, "uniform_"), "from", "uniform_"), real(to, "to", "uniform_")
    floating(self.dtype, "uniform_")
    if to < low:
        raise ShapeError("MG-E302", f"uniform_ expects to return a [from, to) range, but found from={low} > to={to}")
    numbers = stream(generator)
    return apply_inplace(overwriting.Uniform.op, self,
                 (lambda k, shape, dtype: k.uniform(numbers, shape, low, to, dtype),))


def normal_(self, mean=0, std=1, *, generator=None):
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


def bernoulli_(self, p=0.5, *, generator=None):
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
        raise ShapeError("MG-E302", f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return apply_inplace(overwriting.Bernoulli.op, self,
                 (lambda k, shape, dtype: k.bernoulli(numbers, shape, p, dtype),))


install_methods({"bernoulli": bernoulli, "uniform_": uniform_, "normal_": normal_, "bernoulli_": bernoulli_})
