"""Generators of random numbers, the default one, and its state.

A generator on a CPU gives the same numbers as PyTorch's for the same seed: its words are those of the same Mersenne Twister, and
the kernels make numbers of them in the same way (random/_stream.py). On a GPU, each call takes a key from this stream, and
the kernels count on by themselves; there the numbers are not PyTorch's.

Mirrors ``torch/random.py`` and ``torch.Generator``.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.locks import new_lock
from minigrad.creation import from_numpy
from minigrad.dtypes import as_device, uint8
from minigrad.errors import ArgumentError, TensorTypeError, TensorValueError
from minigrad.random._stream import RandomStream
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any
__all__ = ["Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

_seeding = new_lock()


class Generator:
    """A stream of random numbers. Mirrors ``torch.Generator``.

    Locked: the making of the stream, a new seed and a new state (`_seeding`), and each draw (see `RandomStream`). So threads that
    share a generator never get the same numbers; which thread gets which is chance.

    >>> g = mg.Generator().manual_seed(0)
    >>> a = mg.rand(3, generator=g)
    >>> a.tolist() == mg.rand(3, generator=g.manual_seed(0)).tolist()
    True
    """

    def __init__(self, device="cpu"):
        self.device = as_device(device)
        self._draws = 0         # how often numbers were drawn: `vmap` asks whether its function drew any
        self.manual_seed(67280421310721)

    def manual_seed(self, seed):
        """Begin the stream that belongs to the int `seed`; returns this generator.

        >>> g = mg.Generator().manual_seed(3)
        >>> g.initial_seed()
        3
        """
        if not isinstance(seed, (int, np.integer)):
            raise TensorTypeError("MG-E201", f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(1 << 63) <= seed < 1 << 64:
            raise TensorValueError("MG-E302", "Overflow when unpacking long long", expected="a seed of 64 bits", found=str(seed))
        with _seeding:
            self._seed = int(seed) % (1 << 64)
            self._stream = None
        return self

    def __getstate__(self):
        return self.device, self.get_state()

    def __setstate__(self, saved):
        device, state = saved
        self.__init__(device)
        self.set_state(state)

    @property
    def stream(self):
        """The words behind the numbers. Made on first use: importing ``numpy.random`` takes 10 ms."""
        found = self._stream
        if found is None:
            with _seeding:
                found = self._stream
                if found is None:
                    found = self._stream = RandomStream(self._seed)
        return found

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
        """Where in the stream it is, 5056 bytes as in PyTorch: pass them to `set_state` to go on from here again.

        >>> g = mg.Generator()
        >>> state = g.get_state()
        >>> a = mg.rand(2, generator=g)
        >>> mg.rand(2, generator=g.set_state(state)).tolist() == a.tolist()
        True
        """
        with _seeding:
            stream, seed = self.stream, self._seed
        return from_numpy(stream.save_state(seed))

    def set_state(self, new_state):
        """Go on from where `get_state` was called; returns this generator. PyTorch's states work as well.

        Raises:
            TypeError: `new_state` is not a tensor of bytes.
            RuntimeError: it is no state of a generator.

        >>> g = mg.Generator()
        >>> g.set_state(g.get_state()) is g
        True
        """
        if not isinstance(new_state, Tensor) or new_state.dtype is not uint8:
            raise TensorTypeError("MG-E201", "set_state(): argument 'new_state' must be a ByteTensor of get_state(), not "
                                  f"{getattr(new_state, 'dtype', type(new_state).__name__)}")
        state = new_state.detach().cpu().numpy()
        with _seeding:
            stream = RandomStream(0) if self._stream is None else self._stream
            try:
                self._seed = stream.load_state(state)
            except ValueError as expected:
                raise ArgumentError("MG-E302", "RNG state is wrong", expected=str(expected),
                                    found=f"{new_state.numel()} bytes") from None
            self._stream = stream
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


def get_rng_state() -> Tensor:
    """Where in the default stream we are, 5056 bytes (uint8). Mirrors ``torch.get_rng_state``.

    >>> state = mg.get_rng_state()
    >>> a = mg.rand(2)
    >>> mg.set_rng_state(state)
    >>> mg.rand(2).tolist() == a.tolist()
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Go on from where `get_rng_state` was called. Mirrors ``torch.set_rng_state``.

    >>> state = mg.get_rng_state(); a = mg.rand(2)
    >>> mg.set_rng_state(state); a.tolist() == mg.rand(2).tolist()
    True
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Iterable[Any] | None = None, enabled: bool = True,
             *, device_type: str = "cuda") -> Iterator[None]:
    """A context that leaves the default stream where it found it. Mirrors ``torch.random.fork_rng``.

    Args:
        devices, device_type: without effect: the streams of GPUs go on.
        enabled (bool): False makes the context do nothing.

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
    """The stream of words behind an argument, for a draw."""
    if generator is None:
        generator = default_generator
    elif not isinstance(generator, Generator):
        raise TensorTypeError("MG-E201", f"argument 'generator' must be minigrad.Generator, not {type(generator).__name__}")
    generator._draws += 1
    return generator.stream
