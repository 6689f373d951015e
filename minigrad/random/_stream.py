"""The random words from which the kernels make random numbers: PyTorch's for the same seed.

    seed -> MT19937 -> words of 32 bits -> uniform  (24 bits of one word, or 53 bits of two)
                                        -> normal   (two numbers of two uniform ones, by Box and Muller)
                                        -> integers (a word modulo the range)

The Mersenne Twister is the CPU generator of PyTorch, and NumPy has it. So a program draws the same initial weights, the same
batches and the same dropout masks here and in PyTorch. A GPU takes one key per call from these words (cuda/elementwise/randoms.py).

Sources: M. Matsumoto, T. Nishimura, "Mersenne Twister", ACM TOMACS 8, 1998. Mirrors ``aten/src/ATen/CPUGeneratorImpl.cpp`` and
``aten/src/ATen/core/MT19937RNGEngine.h``. Read next: numpy_ref/randoms.py.
"""

import ctypes
import os
from functools import cache, cached_property
from typing import Any
from weakref import WeakSet

import numpy as np

from minigrad._core.graph.locks import new_lock

__all__ = ["STATE", "RandomStream"]

WORDS = 624                     # the state of MT19937
FEW = 1 << 28                   # from this range on, an integer is made of two words
LOW_53 = np.uint64((1 << 53) - 1)

# The layout of PyTorch's `get_rng_state()`, 5056 bytes.
STATE = np.dtype({
    "names": ["seed", "left", "seeded", "next", "words", "spare", "has_spare"],
    "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", WORDS), "<f8", "<i4"],
    "offsets": [0, 8, 12, 16, 24, 24 + 8 * WORDS + 8, 24 + 8 * WORDS + 24],
    "itemsize": 5056})


@cache
def unseeded() -> Any:
    """What a new generator of NumPy asks for its first words. `_legacy_seeding` replaces them; random ones would take 70 us."""
    class Unseeded(np.random.bit_generator.ISeedSequence):
        def generate_state(self, n_words, dtype: Any = np.uint32):
            return [0] * n_words
    return Unseeded()


class RandomStream:
    """The words of one generator, in order.

    Args:
        seed (int): the stream begins with its lower 32 bits.

    Locked: each draw of words (by NumPy). And `pairing`, one lock for all streams: the draw of normal numbers in pairs, so that
    two threads do not both get `spare_normal`; and reading the words and `spare_normal` of one moment.
    """

    pairing = new_lock()
    alive = WeakSet()

    def __init__(self, seed):
        twister = np.random.MT19937(unseeded())
        twister._legacy_seeding(seed & 0xFFFFFFFF)      # pyright: ignore[reportAttributeAccessIssue]  # as in the paper
        self.numpy = np.random.Generator(twister)       # for distributions that PyTorch's numbers do not matter for
        self.capsule, self.lock = twister.capsule, twister.lock     # for drawing in C (kernels/cpu/randoms.pyx)
        self.spare_normal = None        # normal numbers are made in pairs: the second one of the last pair
        self.alive.add(self)

    def words(self, count):
        """The next `count` words of 32 bits."""
        return self.numpy.integers(0, 1 << 32, count, dtype=np.uint32)

    def long_words(self, count):
        """The next `count` words of 64 bits. The upper half comes first."""
        pairs = self.words(2 * count).reshape(-1, 2).astype(np.uint64)
        return (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]

    def fractions(self, count, dtype):
        """The next `count` numbers in [0, 1), float32 (multiples of 2^-24) or float64 (multiples of 2^-53)."""
        if dtype == np.float32:
            return (self.words(count) & np.uint32(0xFFFFFF)).astype(np.float32) * np.float32(2.0 ** -24)
        return (self.long_words(count) & LOW_53).astype(np.float64) * 2.0 ** -53

    def remainders(self, count, high, long):
        """The next `count` integers in [0, high), int64, made of `long` words or of words of 32 bits."""
        return (self.long_words(count) % np.uint64(high) if long else self.words(count) % np.uint32(high)).astype(np.int64)

    def integers(self, low, high, count):
        """The next `count` integers in [low, high), int64."""
        return self.remainders(count, high - low, high - low >= FEW) + low

    def permutation(self, n):
        """The integers 0 to n - 1 in random order, int64: each swaps its place with a later one (Fisher and Yates)."""
        order = list(range(n))
        if n > 1:
            offsets = self.words(n - 1) % np.arange(n, 1, -1, dtype=np.uint32)
            for i, offset in enumerate(offsets.tolist()):
                order[i], order[i + offset] = order[i + offset], order[i]
        return np.array(order, np.int64)

    @cached_property
    def memory(self):
        """The 624 words of the state and the position among them, uint32, in the memory of NumPy's generator.

        Its attribute ``state`` makes 624 Python ints of them, which takes 40 microseconds; checkpointing saves and restores the
        state in each step. None if another version of NumPy keeps them in another way.
        """
        twister = self.numpy.bit_generator
        found = np.ctypeslib.as_array((ctypes.c_uint32 * (WORDS + 1)).from_address(twister.ctypes.state_address))
        with twister.lock:
            state = twister.state["state"]
            return found if (found[:WORDS] == state["key"]).all() and found[WORDS] == state["pos"] else None

    def place(self):
        """The words and the position. NumPy's lock keeps draws in C from changing them meanwhile."""
        twister = self.numpy.bit_generator
        with twister.lock:
            if self.memory is None:
                state = twister.state["state"]
                return state["key"], state["pos"]
            return self.memory[:WORDS].copy(), int(self.memory[WORDS])

    def save_state(self, seed):
        """Where in the stream it is, as bytes (uint8) in PyTorch's layout."""
        with self.pairing:
            spare = self.spare_normal
            words, position = self.place()
        state = np.zeros((), STATE)
        state["seed"], state["seeded"], state["words"] = seed % (1 << 64), 1, words
        state["next"] = position % WORDS        # 0 before the first word, and after the last one of the 624
        state["left"] = WORDS + 1 - position
        if spare is not None:
            state["spare"], state["has_spare"] = spare, 1
        return state.reshape(1).view(np.uint8)

    def load_state(self, array):
        """Continue from a saved state; returns its seed.

        Raises:
            ValueError: the bytes are no such state.
        """
        if array.dtype != np.uint8 or array.shape != (STATE.itemsize,):
            raise ValueError(f"a state of {STATE.itemsize} bytes (uint8)")
        state = np.ascontiguousarray(array).view(STATE)[0]
        left, following = int(state["left"]), int(state["next"])
        if not (state["seeded"] == 1 and 1 <= left <= WORDS and 0 <= following <= WORDS):
            raise ValueError("a state that get_state() has returned")
        position = WORDS if left == 1 else following
        twister = self.numpy.bit_generator
        with self.pairing, twister.lock:
            if self.memory is not None:
                self.memory[:WORDS], self.memory[WORDS] = state["words"], position
            else:
                words = {"key": state["words"].astype(np.uint32), "pos": position}
                twister.state = {"bit_generator": "MT19937", "state": words}
            self.spare_normal = float(state["spare"]) if state["has_spare"] else None
        return int(state["seed"])


def free_locks():
    """Free NumPy's locks after a fork, as `new_lock` does with ours: a thread that was drawing does not exist in the child."""
    for stream in RandomStream.alive:
        stream.lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=free_locks)
