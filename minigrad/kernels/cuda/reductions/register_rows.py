"""Rows in registers: what rows.py and normalization.py share.

    row of 1024 float32, a warp         lane 0    numbers 0 ... 3, 128 ... 131, ..., 896 ... 899      8 packs of 4
                                        lane 1    numbers 4 ... 7, 132 ... 135, ..., 900 ... 903
                                        ...

    idea        the lanes of a row read it once, and keep it: a multiprocessor has 256 KB of registers, more than any other memory
                near it. A kernel can then walk over the row as often as it needs, so the simplest algorithm is the best: first the
                maximum and then the exponentials, first the mean and then the deviations
    bytes       each number is read once and written once
    operations  those of the formula, and log2(lanes) shuffles for each number that all lanes need
    so          memory limits it. All packs of a row are under way together (Note [Many under way] in lanes.py)

Note [Registers have no numbers]
    An array of a thread (`cuda.local.array`) stays in registers only if the compiler knows each index. So `packs`, the number of
    packs of a lane, is a constant of the kernel. There is a kernel for each power of 2, and its loops over packs are unrolled. The
    number of lanes is a constant too: the address of a pack is then part of the instruction, and needs no register. And no thread
    takes a second row, since the compiler would compute what all rows share once, and keep it in registers.

Note [Warps need no barrier]
    Up to 32 lanes share a row by shuffles alone. Up to 1024 lanes need one barrier for each number that they exchange. Each number
    uses other places of shared memory: to use the same places again would need a second barrier. `shfl_xor_sync` exchanges the
    numbers of two lanes. After log2(lanes) steps every lane has joined all numbers, in the same order.

Read next: ``rows.py``.
"""

from functools import cache, lru_cache
from typing import NamedTuple

from numba import cuda

from minigrad.kernels.cuda.elementwise.elementwise import device_function
from minigrad.kernels.cuda.elementwise.vector_io import BYTES, aligned, pack
from minigrad.kernels.cuda.reductions.lanes import make_shuffle, pieces, planes, power_of_2
from minigrad.kernels.cuda.runtime.launch import THREADS, WARP
from minigrad.kernels.cuda.runtime.streams import SIMULATED
from minigrad.kernels.cuda.runtime.tuples import map_each_with, read_tuple

__all__ = ["SLOTS", "Seats", "all_reduce", "bounds_for", "carrier", "seats_for", "width_of"]

MOST_LANES = THREADS if SIMULATED else 1024     # the most threads of a block
NUMBERS = 4 if SIMULATED else 32                # of 4 bytes that a lane keeps
SLOTS = THREADS if SIMULATED else WARP          # places of shared memory: in the simulator one per lane, else one per warp
BLOCKS = {256: 3, 512: 2, 1024: 1}              # of each size on a multiprocessor: 64 to 80 registers per thread


def bounds_for(threads):
    """The options of the compiler that limit the registers of a thread, for blocks of `threads` threads."""
    return {} if SIMULATED else {"launch_bounds": (threads, BLOCKS[threads])}


@cache
def carrier(width):
    """Device functions (fetch, bring) that move a pack of `width` numbers between memory and an array of a thread.

    fetch(x, at, held, k) sets held[k], ... to x[at], ...; bring(z, at, held, k) sets z[at], ... to held[k], ...
    """
    load, store = pack(width)

    def spread(n):
        if n == 1:
            def put_one(held, k, p):
                held[k] = p[0]
            return device_function(put_one)
        half = n // 2
        low, high = spread(half), spread(n - half)

        def put_all(held, k, p):
            low(held, k, p[:half])
            high(held, k + half, p[half:])
        return device_function(put_all)

    put, get = spread(width), read_tuple(width)

    @device_function
    def fetch(x, at, held, k):
        put(held, k, load(x, at))

    @device_function
    def bring(z, at, held, k):
        store(z, at, get(held, k))
    return fetch, bring


@cache
def all_reduce(join, count, kind, lanes):
    """A device function that joins the accumulators `a` of the `lanes` of each row, and returns the result to all lanes.

    join(a, b) must be join(b, a) bit by bit, as it is for a sum or a maximum. `room` is shared memory of NumPy type `kind`. `turn`
    says which count x SLOTS numbers of it are used: each call needs another turn. All threads of a block must call it.
    """
    join = device_function(join)
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
    beside = map_each_with(make_shuffle(cuda.shfl_xor_sync, kind), count)

    @cache
    def among(near):
        """A device function that joins the accumulators of `near` neighbouring lanes, without a loop: half, a quarter, ..."""
        if near == 1:
            return device_function(lambda a: a)
        half = near // 2
        rest = among(half)

        def step(a):
            return rest(join(a, beside(a, half)))
        return device_function(step)

    warps = max(lanes // WARP, 1)
    of_warp, of_warps = among(min(lanes, WARP)), among(warps)

    @cuda.jit(device=True)
    def join_lanes(room, turn, t, a):
        a = of_warp(a)
        if lanes > WARP:
            if t % WARP == 0:
                put(room, turn * count * SLOTS + t // WARP, SLOTS, a)
            cuda.syncthreads()
            a = of_warps(get(room, turn * count * SLOTS + t // lanes * warps + t % warps, SLOTS))
        return a
    return join_lanes


# ---- which thread has which numbers -------------------------------------------------------------------------------------


class Seats(NamedTuple):
    """Which thread has which numbers of a row.

    Attributes:
        lanes: threads of a row.
        threads: threads of a block.
        packs, width: packs of a lane, and numbers of a pack.
        whole: whether the packs of all lanes have exactly the numbers of the row.
    """

    lanes: int
    threads: int
    packs: int
    width: int
    whole: bool


def power_above(n):
    """The smallest power of 2 that is not smaller than `n`."""
    return 1 if n <= 1 else 2 * power_of_2(n - 1)


def width_of(n, *arrays):
    """How many numbers a pack has, for rows of `n` numbers in row-major arrays of one dtype."""
    width = max(BYTES // arrays[0].itemsize, 1)
    return width if n % width == 0 and all(aligned(x, width) for x in arrays) else 1


@lru_cache(4096)
def seats_for(n, width, itemsize, arrays=1):
    """The `Seats` for rows of `n` numbers, if a lane keeps the numbers of `arrays` arrays; None for rows that are too long."""
    most = max(NUMBERS * 4 // max(itemsize, 4) // arrays, width)
    lanes = min(power_above(pieces(n, width)), WARP, THREADS)
    lanes = max(lanes, power_above(pieces(n, most)))
    if lanes > MOST_LANES:
        return None
    packs = power_above(pieces(n, lanes * width))
    return Seats(lanes, max(lanes, THREADS), packs, width, n == lanes * packs * width)
