"""Rows held in registers: what rows.py and normalization.py share.

    row of 1024 float32, a warp         lane 0    numbers 0 ... 3, 128 ... 131, ..., 896 ... 899      8 packs of 4
                                        lane 1    numbers 4 ... 7, 132 ... 135, ..., 900 ... 903
                                        ...

    idea        the lanes of a row read it once, and keep it: a multiprocessor has 256 KB of registers, more than any other memory
                near it. So a row may be walked over as often as one likes, and the simplest algorithm is the best: the maximum
                first and then the exponentials, the mean first and then the deviations
    bytes       each number is read once and written once
    operations  no more than the formula has, and log2(lanes) shuffles for each number that all lanes have to know
    so          the time is that of the memory. All packs of a row are asked for at once (Note [Many under way] in reduce.py)

Note [Registers have no numbers]
    An array of a thread (`cuda.local.array`) stays in registers only where each index is known when the kernel is compiled. So
    `packs`, how many a lane holds, is a constant of the kernel, and there is a kernel for each power of 2. The loops over them are
    unrolled. The number of lanes is a constant too, so that where a pack lies is in the instruction, and takes no register. And no
    thread takes a second row: what is the same for all rows would be computed once, and kept in registers.

Note [Warps need no barrier]
    Up to 32 lanes share a row by shuffles alone, and up to 1024 by one barrier for each number that they tell each other, each time
    in other places of shared memory: a second barrier would be needed before those are written again. `shfl_xor_sync` gives a lane
    what the lane beside it has, and takes its own: after log2(lanes) steps all lanes have joined all, in the same order.

Read next: ``rows.py``.
"""

from functools import cache, lru_cache
from typing import NamedTuple

from numba import cuda

from minigrad.kernels.cuda.elementwise.elementwise import compiled
from minigrad.kernels.cuda.elementwise.vector_io import BYTES, aligned, pack
from minigrad.kernels.cuda.reductions.reduce import pieces, planes, power_of_2, shuffled
from minigrad.kernels.cuda.runtime.launch import THREADS, WARP
from minigrad.kernels.cuda.runtime.streams import SIMULATED
from minigrad.kernels.cuda.runtime.tuples import gathered, mapped_with

__all__ = ["SLOTS", "Seats", "bounds_for", "carrier", "everyone", "seats_for", "width_of"]

MOST_LANES = THREADS if SIMULATED else 1024     # threads that a block has at most
NUMBERS = 4 if SIMULATED else 32                # of 4 bytes that a lane holds
SLOTS = THREADS if SIMULATED else WARP          # of a room: on the simulator one for each lane, else for each warp
BLOCKS = {256: 3, 512: 2, 1024: 1}              # on a multiprocessor, for each size: 64 to 80 registers a thread


def bounds_for(threads):
    """What the compiler is told of the registers that there are, for blocks of `threads` threads."""
    return {} if SIMULATED else {"launch_bounds": (threads, BLOCKS[threads])}


@cache
def carrier(width):
    """(fetch, bring): a pack of `width` numbers from an array of memory to place `at` of an array of a thread, and back."""
    load, store = pack(width)

    def spread(n):
        if n == 1:
            def put_one(held, k, p):
                held[k] = p[0]
            return compiled(put_one)
        half = n // 2
        low, high = spread(half), spread(n - half)

        def put_all(held, k, p):
            low(held, k, p[:half])
            high(held, k + half, p[half:])
        return compiled(put_all)

    put, get = spread(width), gathered(width)

    @compiled
    def fetch(x, at, held, k):
        put(held, k, load(x, at))

    @compiled
    def bring(z, at, held, k):
        store(z, at, get(held, k))
    return fetch, bring


@cache
def everyone(join, count, kind, lanes):
    """A device function that joins the accumulators `a` of the `lanes` of each row; all of the lanes have the result.

    join(a, b) has to be join(b, a) bit by bit, as a sum or a maximum is. `room` is shared memory of NumPy type `kind`, `turn` which
    count SLOTS of its numbers are used: others for each call. All threads of a block have to come here.
    """
    join = compiled(join)
    get, put = planes(count)

    @cuda.jit(device=True)
    def in_room(room, turn, t, a):
        at = turn * count * SLOTS + t
        put(room, at, SLOTS, a)
        half = lanes // 2
        while half > 0:
            cuda.syncthreads()
            if t % lanes < half:
                a = join(a, get(room, at + half, SLOTS))
                put(room, at, SLOTS, a)
            half //= 2
        cuda.syncthreads()
        return get(room, at - t % lanes, SLOTS)

    if SIMULATED:
        return in_room
    beside = mapped_with(shuffled(cuda.shfl_xor_sync, kind), count)

    @cache
    def among(near):
        """Joins what `near` neighbouring lanes have, written out: half, a quarter, ..."""
        if near == 1:
            return compiled(lambda a: a)
        half = near // 2
        rest = among(half)

        def step(a):
            return rest(join(a, beside(a, half)))
        return compiled(step)

    warps = max(lanes // WARP, 1)
    of_warp, of_warps = among(min(lanes, WARP)), among(warps)

    @cuda.jit(device=True)
    def joined(room, turn, t, a):
        a = of_warp(a)
        if lanes > WARP:
            if t % WARP == 0:
                put(room, turn * count * SLOTS + t // WARP, SLOTS, a)
            cuda.syncthreads()
            a = of_warps(get(room, turn * count * SLOTS + t // lanes * warps + t % warps, SLOTS))
        return a
    return joined


# ---- how rows are seated -------------------------------------------------------------------------------------


class Seats(NamedTuple):
    """Who holds what: `lanes` threads a row, blocks of `threads`, `packs` of `width` numbers each; `whole` if those fill all."""

    lanes: int
    threads: int
    packs: int
    width: int
    whole: bool


def power_above(n):
    """The smallest power of 2 that is not smaller."""
    return 1 if n <= 1 else 2 * power_of_2(n - 1)


def width_of(n, *arrays):
    """How many numbers a pack has, for rows of `n` numbers of these row-major arrays, which all have one dtype."""
    width = max(BYTES // arrays[0].itemsize, 1)
    return width if n % width == 0 and all(aligned(x, width) for x in arrays) else 1


@lru_cache(4096)
def seats_for(n, width, itemsize, arrays=1):
    """The `Seats` for rows of `n` numbers where a lane holds those of so many arrays, or None for rows that are too long."""
    most = max(NUMBERS * 4 // max(itemsize, 4) // arrays, width)
    lanes = min(power_above(pieces(n, width)), WARP, THREADS)
    lanes = max(lanes, power_above(pieces(n, most)))
    if lanes > MOST_LANES:
        return None
    packs = power_above(pieces(n, lanes * width))
    return Seats(lanes, max(lanes, THREADS), packs, width, n == lanes * packs * width)
