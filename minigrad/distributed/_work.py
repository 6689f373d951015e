"""A communication that is under way. Mirrors ``Work`` of ``torch/csrc/distributed/c10d/Work.hpp``.

MPI's own waiting takes a whole core, and for ever. Ours asks, sleeps for a moment, and asks again, until it has been too long.
"""

import time

from minigrad.distributed._errors import DistBackendError

__all__ = ["Work", "WorkFuture", "until"]

LONGEST = 0.001     # seconds between two questions


class Work:
    """What a collective with ``async_op=True``, an `isend` or an `irecv` returns. Mirrors ``torch.distributed.Work``.

    >>> mg.distributed.Work([], None, "nothing", 1.0).wait()
    True
    """

    def __init__(self, requests, finish, what, timeout, result=None):
        self._value = result            # the tensor that is written
        self._requests = list(requests)
        self._finish = finish           # called once, when all requests are complete
        self._what = what               # for the error: "all_reduce of float32 (3,)"
        self._timeout = timeout         # seconds

    def get_future(self):
        """Return a future of the tensor that is written.

        >>> mg.distributed.Work([], None, "nothing", 1.0, result=mg.ones(1)).get_future().wait()
        tensor([1.])
        """
        def result():
            self.wait()
            return self._value
        return WorkFuture(self.is_completed, result)

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


class WorkFuture:
    """What a work will have written, as a future: asked for when a program waits for it. Mirrors ``torch.futures.Future``."""

    def __init__(self, completed, result):
        """``completed()`` tells whether ``result()`` need not wait."""
        self._completed, self._result = completed, result
        self._value = None

    def done(self):
        """Whether the result is there."""
        return self._value is not None or self._completed()

    def wait(self):
        """Wait for the result, and return it."""
        if self._value is None:
            self._value = (self._result(),)
        return self._value[0]

    value = wait

    def then(self, callback):
        """Return a future of ``callback(self)``."""
        def run():
            self.wait()
            return callback(self)
        return WorkFuture(self.done, run)


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
