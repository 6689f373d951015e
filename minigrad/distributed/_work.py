"""A communication that is under way. Mirrors ``Work`` of ``torch/csrc/distributed/c10d/Work.hpp``.

MPI's own waiting takes a whole core, and for ever. Ours asks, sleeps for a moment, and asks again, until it has been too long.
"""

import time

from minigrad.distributed._errors import DistBackendError

__all__ = ["Work"]

LONGEST = 0.001     # seconds between two questions


class Work:
    """What a collective with ``async_op=True``, an `isend` or an `irecv` returns. Mirrors ``torch.distributed.Work``.

    >>> mg.distributed.Work([], None, "nothing", 1.0).wait()
    True
    """

    def __init__(self, requests, finish, what, timeout):
        self._requests = list(requests)
        self._finish = finish           # called once, when all requests are complete
        self._what = what               # for the error: "all_reduce of float32 (3,)"
        self._timeout = timeout         # seconds

    def is_under_way(self):
        """Whether MPI may still use the memory, as far as we know without asking it.

        >>> mg.distributed.Work([], None, "nothing", 1.0).is_under_way()
        False
        """
        return bool(self._requests)

    def is_completed(self):
        """Whether it is done. If it is, the tensor has its values. It does not wait.

        >>> mg.distributed.Work([], None, "nothing", 1.0).is_completed()
        True
        """
        while self._requests:
            if not self._requests[0].Test():
                return False
            del self._requests[0]
        if self._finish is not None:
            finish, self._finish = self._finish, None
            finish()
        return True

    def wait(self, timeout=None):
        """Wait until it is done, and return True.

        Args:
            timeout (timedelta, optional): the longest time; otherwise that of the group.

        Raises:
            DistBackendError: it takes longer; or MPI fails.

        >>> mg.distributed.Work([], None, "nothing", 1.0).wait()
        True
        """
        seconds = self._timeout if timeout is None else timeout.total_seconds()
        until(self.is_completed, seconds, lambda: f"{self._what} was not complete after {seconds:g} s")
        return True


def until(ready, seconds, message):
    """Call ``ready()`` until it is true.

    Raises:
        DistBackendError: it still is not after some seconds.
    """
    end, pause = time.monotonic() + seconds, 0.0
    while not ready():
        if time.monotonic() > end:
            raise DistBackendError("MG-E610", message(), cause="another rank hangs, has ended, or has not come so far",
                                   fix="look at what the other ranks do; to wait longer, init_process_group(timeout=...)")
        time.sleep(pause)
        pause = min(LONGEST, pause + LONGEST / 50)
