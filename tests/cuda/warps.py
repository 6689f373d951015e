"""The instructions of instructions.py on the simulator: the threads of a warp meet, and each takes its part of the result.

After "Parallel Thread Execution ISA", sections 9.7.14.5.8 (fragments of m16n8k16) and 9.7.14.5.15 (ldmatrix).
"""

import threading

import numpy as np

WARP = 32
_lock, _warps = threading.Lock(), {}


class Meeting:
    """A meeting point of the threads of a warp: each brings a value, and sees the values of all."""

    def __init__(self):
        self.brought = [None] * WARP
        self.barrier = threading.Barrier(WARP, timeout=60)

    def of(self, lane, thing):
        self.brought[lane] = thing
        self.barrier.wait()
        found = list(self.brought)
        self.barrier.wait()
        return found


def gather(thing):
    """(the number of this thread in its warp, the values of all its threads)."""
    thread = threading.current_thread()
    t = int(thread.threadIdx.x)
    block = thread.blockIdx
    with _lock:
        meeting = _warps.setdefault((int(block.x), t // WARP), Meeting())
    return t % WARP, meeting.of(t % WARP, thing)


def words(halves):
    return [int(word) for word in np.ascontiguousarray(halves, np.float16).view(np.int32)]


def halves(word):
    return np.array([word], np.int32).view(np.float16)


def copy_later(room, at, x, i, n):
    assert at % 8 == 0 and n % 2 == 0 and 0 <= n <= 16
    assert n == 0 or i % 8 == 0
    room[at:at + 8] = 0
    room[at:at + n // 2] = x[i:i + n // 2]


def commit():
    pass


def make_wait(n):
    return commit


def load_blocks(room, at):
    lane, places = gather(at)
    rows = [np.array(room[place:place + 8]) for place in places]
    return [words(rows[8 * quarter + lane // 4][lane % 4 * 2:lane % 4 * 2 + 2])[0] for quarter in range(4)]


def load_blocks_transposed(room, at):
    lane, places = gather(at)
    rows = [np.array(room[place:place + 8]) for place in places]
    return [words([rows[8 * quarter + lane % 4 * 2 + e][lane // 4] for e in range(2)])[0] for quarter in range(4)]


def multiply_add(a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
    lane, brought = gather(((a0, a1, a2, a3), (b0, b1)))
    a, b = np.zeros((16, 16), np.float32), np.zeros((16, 8), np.float32)
    for i, (of_a, of_b) in enumerate(brought):
        row, column = i // 4, i % 4 * 2
        for part, word in enumerate(of_a):
            a[row + part % 2 * 8, column + part // 2 * 8:][:2] = halves(word)
        for part, word in enumerate(of_b):
            b[column + part * 8:, row][:2] = halves(word)
    product = a @ b
    row, column = lane // 4, lane % 4 * 2
    return (c0 + product[row, column], c1 + product[row, column + 1], c2 + product[row + 8, column], c3 + product[row + 8, column + 1])
