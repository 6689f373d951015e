"""What runs in a worker process of a `DataLoader`. Mirrors ``torch/utils/data/_utils/worker.py``.

    program                                         worker
      (epoch, number, work)      ── pipe ──>          a thread puts it into a queue
                                                      fetch(work)
      (epoch, number, batch)     <── pipe ──          or Failure, or End
      None                       ── pipe ──>          the worker ends; also when the program has gone

The thread always reads the pipe, so the program never waits to write its small messages while the worker waits to write a batch.
"""

import builtins
import queue
import random
import threading
import traceback

import numpy as np

from minigrad._build.config import set_num_threads
from minigrad.errors import AutogradError
from minigrad.random import manual_seed
from minigrad.utils.data._fetch import Fetcher

__all__ = ["End", "Failure", "WorkerInfo", "get_worker_info", "run"]

_info = None        # the `WorkerInfo` of this process


class WorkerInfo:
    """What a worker knows about itself: `id`, `num_workers`, `seed`, and `dataset`, its own copy of the data set."""

    def __init__(self, id, num_workers, seed, dataset):
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset

    def __repr__(self):
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed}, dataset={self.dataset!r})"


def get_worker_info():
    """Return the `WorkerInfo` of this process: `id`, `num_workers`, `seed` and `dataset`; None outside of a worker.

    An iterable data set uses it to give each worker other samples. Mirrors ``torch.utils.data.get_worker_info``.

    >>> mg.utils.data.get_worker_info() is None
    True
    """
    return _info


class End:
    """The answer of a worker whose iterable data set has no more samples."""


class Failure:
    """The answer of a worker in which an error was raised: its class, and a text with the traceback."""

    def __init__(self, error, worker):
        kind = type(error)
        self.kind = next(base for base in kind.__mro__ if getattr(builtins, base.__name__, None) is base) \
            if hasattr(error, "code") else kind
        self.text = (f"Caught {kind.__name__} in DataLoader worker process {worker}.\nOriginal {traceback.format_exc()}")

    def reraise(self):
        """Raise an error of the same class, with the text of the worker; a `RuntimeError` if the class needs other arguments."""
        if self.kind is KeyError:
            raise KeyErrorMessage(self.text)
        try:
            error = self.kind(self.text)
        except Exception:
            error = AutogradError("MG-E334", self.text)
        raise error


class KeyErrorMessage(KeyError):
    """A `KeyError` whose text is shown with its lines: Python shows the text of a `KeyError` in one line."""

    def __str__(self):
        return str(self.args[0])


def run(pipe, others, worker, num_workers, seed, dataset, options, init_fn):
    """Answer the messages of the program until None. Runs in the worker process.

    Args:
        pipe (Connection): to the program.
        others (list of Connection): ends of pipes that only the program should have. A forked process closes its copies.
        worker (int): the number of this worker.
        seed (int): of the random numbers of this worker.
        options (tuple): the arguments of `Fetcher` after the data set.
        init_fn (Callable or None): called with the number of this worker.
    """
    global _info
    for each in others:
        each.close()
    set_num_threads(1)      # each worker is one thread; OpenMP's threads do not exist in a forked process
    manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % (1 << 32))
    _info = WorkerInfo(worker, num_workers, seed, dataset)
    try:
        answer_all(pipe, worker, dataset, options, init_fn)
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        pass        # the program has been interrupted too, or has gone


def answer_all(pipe, worker, dataset, options, init_fn):
    """The loop of a worker."""
    messages = queue.SimpleQueue()
    threading.Thread(target=read_all, args=(pipe, messages), daemon=True).start()
    failure, fetcher, current, ended = None, None, 0, False
    try:
        if init_fn is not None:
            init_fn(worker)
    except Exception as error:
        failure = Failure(error, worker)
    while (message := messages.get()) is not None:
        epoch, number, work = message
        if epoch != current:
            fetcher, current, ended = None, epoch, False
        if ended:
            continue
        try:
            if failure is not None:
                answer, failure = failure, None
            else:
                fetcher = fetcher or Fetcher(dataset, *options)
                answer = fetcher.fetch(work)
        except StopIteration as error:
            ended = options[0]
            answer = End() if ended else Failure(error, worker)
        except Exception as error:
            answer = Failure(error, worker)
        try:
            pipe.send((epoch, number, answer))
        except (BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
            raise
        except Exception as error:      # the batch cannot be pickled; nothing has been written
            failed = Failure(error, worker)
            pipe.send((epoch, number, failed))


def read_all(pipe, messages):
    """Move messages from the pipe into a queue, until None or the end of the pipe."""
    message = ()
    while message is not None:
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            message = None
        messages.put(message)
