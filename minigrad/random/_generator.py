"""Generators of random numbers, the default one, and its state.

The stream is Philox (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011). It is counter-based: the kernels
of a GPU take a key from it and count on by themselves (kernels/cuda/elementwise/randoms.py). The same seed gives the same
numbers, but the CPU, a GPU and PyTorch each give different ones.

Mirrors ``torch/random.py`` and ``torch.Generator``.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from minigrad.dtypes import as_device
from minigrad.errors import TensorTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


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


def manual_seed(seed: int) -> Generator:
    """Begin the default stream that belongs to the int `seed`; returns its generator.

    Mirrors ``torch.manual_seed``.

    Raises:
        TypeError: `seed` is no int.

    >>> g = mg.manual_seed(0); a = mg.rand(2)
    >>> g = mg.manual_seed(0); a.tolist() == mg.rand(2).tolist()
    True
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Begin a default stream that nobody can foresee; returns its seed. Mirrors ``torch.seed``.

    >>> mg.seed() == mg.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default stream. Mirrors ``torch.initial_seed``.

    >>> g = mg.manual_seed(3)
    >>> mg.initial_seed()
    3
    """
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """Where in the default stream we are. Mirrors ``torch.get_rng_state``.

    >>> state = mg.get_rng_state()
    >>> a = mg.rand(2)
    >>> mg.set_rng_state(state)
    >>> mg.rand(2).tolist() == a.tolist()
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Go on from where `get_rng_state` was called. Mirrors ``torch.set_rng_state``.

    >>> state = mg.get_rng_state(); a = mg.rand(2)
    >>> mg.set_rng_state(state); a.tolist() == mg.rand(2).tolist()
    True
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(enabled: bool = True) -> Iterator[None]:
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
