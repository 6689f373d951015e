"""One function per schedule: for each rank, its actions in order.

A rank runs its list from the front, and waits at each action for what that needs. Only the order is decided here; when an action
runs follows from it (``time_slots`` of ``_actions.py``). P ranks, M microbatches, and L stages on each rank:

    GPipe          all F, then all B                            all activations of all microbatches exist at the same time
    1F1B           a warm-up of F, then B and F in turn         at most P - rank are
    interleaved    1F1B over L stages on each rank              a shorter warm-up, for more messages
    zero bubble    I instead of B, and W where a rank waits     no rank waits for a W
    ZB-V           two stages on each rank, in a V              the rank of the loss is the rank of the input

Sources: Huang et al., GPipe, 2018, arXiv:1811.06965; Narayanan et al., PipeDream, 2019, and Efficient Large-Scale Language Model
Training, 2021, arXiv:2104.04473 (interleaved); Lamy-Poirier, Breadth-First Pipeline Parallelism, 2022, arXiv:2211.05953; Qi et al.,
Zero Bubble Pipeline Parallelism, 2023, arXiv:2401.10241.

Mirrors the orders that the classes of ``torch/distributed/pipelining/schedules.py`` have in ``pipeline_order``, without its idle
slots. Read before: ``_actions.py``.
"""

from minigrad.distributed.pipelining._actions import B, F, I, W, _Action
from minigrad.errors import TensorValueError

__all__ = ["gpipe", "interleaved_1f1b", "interleaved_zero_bubble", "looped_bfs", "one_forward_one_backward", "zbv_zero_bubble"]


def gpipe(ranks, microbatches):
    """GPipe: all forwards, then all backwards.

    >>> from minigrad.distributed.pipelining._tables import gpipe
    >>> gpipe(2, 2)
    {0: [0F0, 0F1, 0B0, 0B1], 1: [1F0, 1F1, 1B0, 1B1]}
    """
    return {rank: [_Action(rank, kind, m) for kind in (F, B) for m in range(microbatches)] for rank in range(ranks)}


def one_forward_one_backward(ranks, microbatches):
    """1F1B: each rank starts as many forwards as there are stages from it to the end, then runs a B before each F.

    Raises:
        ValueError: fewer microbatches than stages.

    >>> from minigrad.distributed.pipelining._tables import one_forward_one_backward
    >>> one_forward_one_backward(2, 3)
    {0: [0F0, 0F1, 0B0, 0F2, 0B1, 0B2], 1: [1F0, 1B0, 1F1, 1B1, 1F2, 1B2]}
    """
    check_1f1b(ranks, microbatches)
    table = {}
    for rank in range(ranks):
        warm_up = min(microbatches, ranks - rank)
        row = [_Action(rank, F, m) for m in range(warm_up)]
        for m in range(microbatches):
            row.append(_Action(rank, B, m))
            if warm_up + m < microbatches:
                row.append(_Action(rank, F, warm_up + m))
        table[rank] = row
    return table


def check_1f1b(ranks, microbatches):
    """Raise if there are fewer microbatches than stages."""
    if microbatches < ranks:
        raise TensorValueError("MG-E233", f"1F1B: the number of microbatches ({microbatches}) must be greater than or equal to the "
                               f"number of stages ({ranks}).",
                               fix=f"split the batch into {ranks} microbatches or more, or use ScheduleGPipe")


def looped_bfs(ranks, local_stages, microbatches):
    """Breadth first: all microbatches through the first stage of a rank, then through its second; backwards in reverse order.

    >>> from minigrad.distributed.pipelining._tables import looped_bfs
    >>> looped_bfs(1, 2, 2)
    {0: [0F0, 0F1, 1F0, 1F1, 1B1, 1B0, 0B1, 0B0]}
    """
    return {rank: [_Action(stage, kind, m)
                   for kind, step in ((F, 1), (B, -1))
                   for stage in range(rank, ranks * local_stages, ranks)[::step]
                   for m in range(microbatches)[::step]] for rank in range(ranks)}


def interleaved_1f1b(ranks, local_stages, microbatches):
    """1F1B with several stages on each rank: rank r holds the stages r, r + P, r + 2 P, ...

    Raises:
        ValueError: the microbatches do not fill whole rounds.

    >>> from minigrad.distributed.pipelining._tables import interleaved_1f1b
    >>> interleaved_1f1b(2, 2, 2)[1]
    [1F0, 1F1, 3F0, 3B0, 3F1, 3B1, 1B0, 1B1]
    """
    return {rank: interleave(rank, ranks, local_stages, microbatches, 2, B) for rank in range(ranks)}


def interleaved_zero_bubble(ranks, local_stages, microbatches):
    """ZB1P: as `interleaved_1f1b`, but each B is split. Rank r runs its W r microbatches behind its I, and the last W at the end.

    Raises:
        ValueError: the microbatches do not fill whole rounds.

    >>> from minigrad.distributed.pipelining._tables import interleaved_zero_bubble
    >>> interleaved_zero_bubble(2, 1, 2)
    {0: [0F0, 0F1, 0I0, 0W0, 0I1, 0W1], 1: [1F0, 1I0, 1F1, 1I1, 1W0, 1W1]}
    """
    return {rank: delay_weights(interleave(rank, ranks, local_stages, microbatches, 1, I), rank) for rank in range(ranks)}


def microbatches_per_round(ranks, microbatches):
    """Return how many microbatches a rank runs through one of its stages before it turns to its next: a round.

    Raises:
        ValueError: the microbatches do not fill whole rounds.
    """
    rounds = max(1, microbatches // ranks)
    if microbatches % rounds:
        raise TensorValueError("MG-E233", f"The number of microbatches ({microbatches}) must be a multiple of the number of rounds "
                               f"({rounds}), which is microbatches // ranks.",
                               fix=f"split the batch into {microbatches // ranks * ranks} microbatches")
    return microbatches // rounds


def interleave(rank, ranks, local_stages, microbatches, factor, backward):
    """Return one rank's order of forwards and backwards over its stages.

    A rank nearer to the first stage starts `factor` forwards more than the one behind it.
    """
    per_round, total = microbatches_per_round(ranks, microbatches), microbatches * local_stages

    def action(kind, step):
        """The `step`-th action of a kind: the stages take turns, a round each, and the backward begins with the last."""
        turn, place = divmod(step, per_round)
        lap, local = divmod(turn, local_stages)
        local = local if kind is F else local_stages - 1 - local
        return _Action(local * ranks + rank, kind, lap * per_round + place)

    warm_up = min((local_stages - 1) * per_round + factor * (ranks - 1 - rank), total)
    row = [action(F, step) for step in range(warm_up)]
    for step in range(total):
        if warm_up + step < total:
            row.append(action(F, warm_up + step))
        row.append(action(backward, step))
    return row


def delay_weights(row, delay):
    """Insert the W of each I, `delay` I later; those that remain go to the end."""
    result, waiting = [], []
    for stage, kind, m in row:
        result.append(_Action(stage, kind, m))
        if kind is I:
            waiting.append(_Action(stage, W, m))
            if len(waiting) > delay:
                result.append(waiting.pop(0))
    return result + waiting


def zbv_zero_bubble(ranks, microbatches):
    """ZB-V: rank r holds the stages r and 2 P - 1 - r, so that the forward goes down the ranks and up again.

    With fewer than 2 P - 1 microbatches, the order is that for 2 P - 1, without the surplus.

    >>> from minigrad.distributed.pipelining._tables import zbv_zero_bubble
    >>> zbv_zero_bubble(1, 2)
    {0: [0F0, 1F0, 1I0, 1W0, 0F1, 0I0, 0W0, 1F1, 1I1, 1W1, 0I1, 0W1]}
    """
    planned = max(microbatches, 2 * ranks - 1)
    return {rank: [action for action in vee(rank, ranks, planned) if action.microbatch_index < microbatches]
            for rank in range(ranks)}


def vee(rank, ranks, microbatches):
    """Return one rank's order in the V: `down` is its stage in the first half, `up` that in the second."""
    down, up = rank, 2 * ranks - 1 - rank
    row, done = [], {(stage, kind): 0 for stage in (down, up) for kind in (F, I, W)}

    def run(stage, *kinds):
        for kind in kinds:
            row.append(_Action(stage, kind, done[stage, kind]))
            done[stage, kind] += 1

    for _ in range(2 * (ranks - rank) - 1):         # the forward reaches the last rank and comes back to this one
        run(down, F)
    for _ in range(rank):
        run(up, F)
        run(down, F)
    for _ in range(ranks - rank):                   # the first gradients
        run(up, F, I, W)
    while done[up, F] < microbatches:               # one forward and one backward in each half
        if done[down, F] < microbatches:
            run(down, F)
        run(down, I, W)
        run(up, F, I, W)
    for _ in range(rank):                           # the last gradients go first; W fills the time that is left
        run(down, I)
        run(up, I)
    for _ in range(ranks - rank):
        run(down, I, W)
    for stage in (up, down):
        while done[stage, W] < microbatches:
            run(stage, W)
    return row
