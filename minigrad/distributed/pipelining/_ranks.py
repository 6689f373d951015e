"""Stages on several ranks: the messages of a pipeline between processes.

    rank 0   0F1  --->  send(1, 0F1, (y,))      two messages of MPI: what it is, in a pickle; then the numbers of each tensor
    rank 1              receive(0F1)  --->  1F1

What has arrived for a later action waits in a dict. A message says the shapes of its tensors, so ranks need not exchange them
first, and the last microbatch may be smaller than the others.

Mirrors the point-to-point part of ``torch/distributed/pipelining/schedules.py``. The other group is in ``_local.py``.
"""

import pickle
import weakref
from collections import defaultdict, deque

import numpy as np

from minigrad.creation import empty
from minigrad.distributed._memory import Place
from minigrad.distributed._work import Work, until
from minigrad.tensor import Tensor

__all__ = ["RankGroup", "rank_group"]

WHAT, NUMBERS = 0, 1        # tags
_of = weakref.WeakKeyDictionary()


def rank_group(group):
    """Return the `RankGroup` of a process group. All stages share it."""
    if group not in _of:
        _of[group] = RankGroup(group)
    return _of[group]


class RankGroup:
    """The messages of a pipeline among the ranks of a process group."""

    def __init__(self, group):
        self.rank, self.size = group.rank(), group.size()
        self.group = group
        self._communicator = group.pipeline
        self._arrived = defaultdict(deque)      # action: values; of several steps, if a rank is ahead
        self._under_way = []        # what has been sent, and may not have been taken yet

    def send(self, rank, action, value):
        """Send what `action` has made, a tuple of tensors and None, to a rank."""
        values = [v.detach().contiguous() if isinstance(v, Tensor) else v for v in value]
        shapes = [(v.dtype, tuple(v.shape), str(v.device)) if isinstance(v, Tensor) else None for v in values]
        line = np.frombuffer(pickle.dumps((action, shapes)), np.uint8)
        requests = [self._communicator.Isend(line, rank, WHAT)]
        requests += [self._communicator.Isend(Place(v, "send").bytes, rank, NUMBERS) for v in values if isinstance(v, Tensor)]
        self._under_way = [work for work in self._under_way if not work.is_completed()]
        self._under_way.append(Work(requests, None, f"the message of {action} to rank {rank}", self.group.seconds))

    def receive(self, action):
        """Return ``(True, what the action has made)`` once, or ``(False, None)`` if it has not arrived."""
        while not self._arrived[action] and self._communicator.Iprobe(tag=WHAT):
            self._take_next()
        return (True, self._arrived[action].popleft()) if self._arrived[action] else (False, None)

    def _take_next(self):
        """Receive the next message, whatever it is."""
        from mpi4py import MPI
        status = MPI.Status()
        self._communicator.Probe(MPI.ANY_SOURCE, WHAT, status)
        source, line = status.Get_source(), np.empty(status.Get_count(MPI.BYTE), np.uint8)
        self._communicator.Recv(line, source, WHAT)
        action, shapes = pickle.loads(line.tobytes())
        values = [None if of is None else empty(of[1], dtype=of[0], device=of[2]) for of in shapes]
        places = [Place(value, "receive") for value in values if value is not None]
        for place in places:        # the messages of one rank keep their order, so these are those of this action
            work = Work([self._communicator.Irecv(place.bytes, source, NUMBERS)], place.written,
                        f"the tensors of {action} from rank {source}", self.group.seconds)
            work.wait()
        self._arrived[action].append(tuple(values))

    def wait(self, action, awaited, rank):
        """Wait until the message of the action `awaited` has arrived from a rank.

        Raises:
            DistBackendError: it has not come in time.
        """
        def arrived():
            if not self._arrived[awaited] and self._communicator.Iprobe(tag=WHAT):
                self._take_next()
            return bool(self._arrived[awaited])
        until(arrived, self.group.seconds, lambda: f"rank {self.rank} waits at {action} for {awaited} of rank {rank}, which has "
                                                   f"not come within {self.group.seconds:g} s")

    def drain(self):
        """Wait until the other ranks have taken all that this one has sent."""
        for work in self._under_way:
            work.wait()
        self._under_way.clear()

    def clear(self):
        """Nothing: what has arrived belongs to the next step, of a rank that is ahead."""
