"""The times of a schedule whose table is too large to write down: all ranks move one action at a time, together, in NumPy.

    sweep      1    2    3    4    5    6
    rank 0    0F0  0F1   .    .   0B0  0B1          the ranks that have what they need run their next action;
    rank 1     .   1F0  1F1  1B0  1B1               the others wait for the next sweep

1,024 ranks and 65,536 microbatches are 134 million actions. But they need only 133,118 sweeps, and a sweep is some thirty
operations on arrays with a number for each rank. The times are those of ``simulate.py``, for any times of the stages: only the
order in which they are computed is another. What is remembered: counts, and the ends of actions that no neighbour has used yet.

The order of actions on a rank is one rule for five schedules, with `f` forwards, `b` backwards and `w` weight gradients behind it:

    W    if b - w > delay, or if all backwards are done
    F    if f < min(all, ahead + b)
    B    else; I for a schedule with W

Only `ahead` and `delay` differ (`order_of`). A test compares the rule with the tables of ``_tables.py``.
"""

from typing import Any, NamedTuple

import numpy as np

from minigrad.distributed.pipelining import _tables

__all__ = ["Order", "order_of", "run"]

START = 64      # the ends of so many actions of a stage are remembered at first


class Order(NamedTuple):
    """The order of the actions on all ranks, as a rule.

    per_round: the number of microbatches through one stage before a rank turns to its next.
    ahead: for each rank, the number of forwards before its first backward.
    delay: for each rank, how many I its W are behind; None without W.
    """
    ranks: int
    local_stages: int
    microbatches: int
    per_round: int
    ahead: np.ndarray[Any, Any]
    delay: np.ndarray[Any, Any] | None


def order_of(name, ranks, microbatches, local_stages):
    """Return the order of a schedule's class by the name of that; None for a class that has no such rule.

    Raises:
        ValueError: the schedule has no table for these numbers.
    """
    behind = ranks - 1 - np.arange(ranks)       # the number of ranks behind each rank
    per_round, delay = microbatches, None
    if name in ("ScheduleGPipe", "ScheduleLoopedBFS"):
        ahead = np.full(ranks, microbatches * local_stages)
    elif name == "Schedule1F1B":
        _tables.check_1f1b(ranks, microbatches)
        ahead = behind + 1
    elif name in ("ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble"):
        split = name.endswith("ZeroBubble")
        per_round = _tables.microbatches_per_round(ranks, microbatches)
        ahead = (local_stages - 1) * per_round + (1 if split else 2) * behind + 1
        delay = np.arange(ranks) if split else None
    else:
        return None
    return Order(ranks, local_stages, microbatches, per_round, ahead, delay)


def run(order, costs, merge):
    """Run all actions of an order.

    Args:
        order (Order): from `order_of`.
        costs (Costs): of each stage; see ``simulate.py``.
        merge (bool): join an I that its W follows immediately into a B.

    Returns:
        tuple: the end of the last action; and two lists with a number for each rank: the end of its last action, and the most
        bytes that were saved at one time. Numbers are float64, exact for integers below 2**53.
    """
    P, L, per_round, total = order.ranks, order.local_stages, order.per_round, order.microbatches * order.local_stages
    delay = np.zeros(P, np.int64) if order.delay is None else order.delay
    # On these ranks a backward is one action: there is no W, or it follows its I immediately, and they are to be joined.
    fused = np.full(P, order.delay is None) | (merge & ((delay == 0) | (total == 1)))
    rank = np.arange(P)
    stages = rank + P * np.arange(L)[:, None]       # stages[local, rank]
    F, I, W, saved, freed = [np.array(values, np.float64)[stages] for values in (
        costs.F, costs.I, costs.W, np.add(costs.bytes_I, costs.bytes_W), costs.bytes_I)]
    time = np.stack([F, np.where(fused, I + W, I), W])              # [kind, local, rank], of F, I or B, W
    change = np.stack([saved, np.where(fused, -saved, -freed), freed - saved])
    f, b, w = np.zeros((3, P), np.int64)            # how many forwards, backwards and weight gradients each rank has run
    free, live, peak = np.zeros((3, P))
    # A line of `made` and `ended` for each stage and direction: first the forwards of stage -1, 0, 1, ..., then the backwards of
    # stage -1, 0, 1, ... Before the first stage and behind the last, everything has been made, at time 0.
    # made: how many of its actions have run; taken: how many of them its neighbour has used; ended[n % window]: the end of the n-th
    width, window, sweeps = P * L + 2, START, 0
    made, taken = np.zeros((2, 2 * width), np.int64)
    made[[0, -1]] = np.iinfo(np.int64).max
    taken[[width - 2, width + 1]] = np.iinfo(np.int64).max      # the forwards of the last stage, the backwards of the first
    ended = np.zeros((2 * width, window))
    message = np.tile(np.pad(np.array(costs.message, np.float64) * (P > 1), 1), 2)
    local, n_line = 0, rank
    while w.min() < total:
        if sweeps % (window // 2) == 0 and np.subtract(made, taken)[1:-1].max() > window // 2:
            ended, window = wider(ended, made), 2 * window
        sweeps += 1
        is_w = (b - w > delay) | (b == total)
        is_f = (f < np.minimum(total, order.ahead + b)) & ~is_w
        kind = np.where(is_f, 0, 1 + is_w)
        n = np.where(is_f, f, b - (b - w) * is_w)
        if L > 1:
            turn, place = np.divmod(n, per_round)
            lap, local = np.divmod(turn, L)
            n = lap * per_round + place
            local = np.where(is_f, local, L - 1 - local)
            n_line = local * P + rank
        source = n_line + np.where(is_f, 0, width + 2)      # of the stage before; of the stage behind
        go = (is_w | (made[source] > n)) & (w < total)
        arrived = ended.ravel()[source * window + (n & (window - 1))] + message[source]
        free = np.where(go, np.where(is_w, free, np.maximum(free, arrived)) + time[kind, local, rank], free)
        live = live + np.where(go, change[kind, local, rank], 0)
        peak = np.maximum(peak, live)
        passes = np.flatnonzero(go & ~is_w)
        source, n = source[passes], n[passes]
        taken[source] += 1
        line = source + np.where(is_f[passes], 1, -1)
        made[line] += 1
        ended.ravel()[line * window + (n & (window - 1))] = free[passes]
        f += go & is_f
        b += go & (kind == 1)
        w += go & (is_w | (fused & (kind == 1)))
    return free.max().item(), free.tolist(), peak.tolist()


def wider(ended, made):
    """Return `ended` with room for twice as many ends, each at its new place."""
    lines, window = ended.shape
    result = np.zeros((lines, 2 * window))
    made = np.minimum(made, np.iinfo(np.int64).max - 1)
    n = np.maximum(made[:, None] - 1 - np.arange(window), 0)       # the last that are known; the 0-th may be written twice
    line = np.arange(lines)[:, None]
    result[line, n % (2 * window)] = ended[line, n % window]
    return result
