"""Iterate over batches that worker processes fetch.

    work 0, 1, 2, 3 ...     goes to worker 0, 1, 0, 1 ...      `prefetch_factor` for each worker in advance
    batch 1, 0, 2, 3 ...    comes back in any order, and is returned in the order 0, 1, 2, 3 ...

Each worker has a pipe of its own, so a worker that is killed can block no other one. The program waits for the pipes and for the
ends of the processes. So it notices immediately if one dies.

Mirrors ``_MultiProcessingDataLoaderIter`` of ``torch/utils/data/dataloader.py``.
"""

import multiprocessing
import os
import weakref
from collections import deque
from multiprocessing.connection import wait
from typing import Any

from minigrad.errors import AutogradError
from minigrad.utils.data._worker import End, Failure, run

__all__ = ["WorkerIterator"]


class WorkerIterator:
    """An iterator over the batches of a `DataLoader`, which owns the worker processes."""

    _pid = None

    def __init__(self, loader, options, base_seed):
        context: Any = loader.multiprocessing_context or multiprocessing
        forks = context.get_start_method() == "fork"
        self._loader = weakref.ref(loader)      # a loader with persistent workers refers to its iterator
        self._timeout, self._in_order, self._persistent = loader.timeout, loader.in_order, loader.persistent_workers
        self._prefetch = max(1, loader.prefetch_factor)
        self._processes, self._pipes = [], []
        self._epoch = 0
        self._pid = os.getpid()
        try:
            for worker in range(loader.num_workers):
                ours, theirs = context.Pipe()
                self._pipes.append(ours)
                others = list(self._pipes) if forks else []
                process = context.Process(target=run, daemon=True, name=f"DataLoader {worker}", args=(
                    theirs, others, worker, loader.num_workers, base_seed + worker, loader.dataset, options, loader.worker_init_fn))
                process.start()
                self._processes.append(process)
                theirs.close()
        except BaseException:
            self.close()
            raise

    def begin(self, source):
        """Begin to iterate: `source` gives the work for each batch."""
        self._epoch += 1
        self._source = source
        self._sent = 0
        self._order = deque()       # the numbers of the batches that the program has not got yet, oldest first
        self._owners = {}           # number -> worker
        self._results = {}          # number -> what its worker has answered
        self._active = [True] * len(self._processes)
        self._next_worker = 0
        for _ in range(self._prefetch * len(self._processes)):
            self._send()
        return self

    def _send(self):
        """Give the next work to the next worker that has samples."""
        if not any(self._active):
            return
        for work in self._source:
            while not self._active[self._next_worker]:
                self._next_worker = (self._next_worker + 1) % len(self._active)
            worker = self._next_worker
            self._next_worker = (worker + 1) % len(self._active)
            self._order.append(self._sent)
            self._owners[self._sent] = worker
            try:
                self._pipes[worker].send((self._epoch, self._sent, work))
            except (BrokenPipeError, ConnectionResetError):
                self._raise_dead([worker])
            self._sent += 1
            return

    def __iter__(self):
        return self

    def __len__(self):
        loader: Any = self._loader()
        return len(loader)

    def __next__(self):
        while self._order:
            ready = next((n for n in self._order if n in self._results), None) if not self._in_order else \
                self._order[0] if self._order[0] in self._results else None
            if ready is None:
                self._receive()
                continue
            self._order.remove(ready)
            del self._owners[ready]
            answer = self._results.pop(ready)
            self._send()
            if isinstance(answer, Failure):
                answer.reraise()
            return answer
        if not self._persistent:
            self.close()
        raise StopIteration

    def _receive(self):
        """Wait until a worker answers, and read what is there."""
        if not self._processes:
            raise AutogradError("MG-E334", "the workers of this iterator have ended", fix="iterate over the DataLoader again")
        timeout = self._timeout or None
        sentinels = {process.sentinel: worker for worker, process in enumerate(self._processes)}
        ready = wait([*self._pipes, *sentinels], timeout)
        if not ready:
            self.close()
            raise AutogradError("MG-E334", f"DataLoader timed out after {self._timeout} seconds",
                                fix="a larger timeout, or num_workers=0 to see where the data set waits")
        answered = False
        for worker, pipe in enumerate(self._pipes):
            if pipe not in ready:
                continue
            try:
                epoch, number, answer = pipe.recv()
            except (EOFError, ConnectionResetError):
                continue
            answered = True
            if epoch != self._epoch:
                continue        # of an iteration that the program has left
            if isinstance(answer, End):
                self._finish_worker(worker)
            else:
                self._results[number] = answer
        if not answered:
            self._raise_dead([sentinels[each] for each in ready if each in sentinels])

    def _finish_worker(self, worker):
        """Note that the samples of a worker have ended: its numbers get no batch, and other workers get more work."""
        self._active[worker] = False
        for number in [n for n in self._order if self._owners[n] == worker and n not in self._results]:
            self._order.remove(number)
            del self._owners[number]
        self._send()

    def _raise_dead(self, workers):
        """End all workers, and raise an error about those that have died."""
        for worker in workers:
            self._processes[worker].join(1)
        dead = [self._processes[worker] for worker in workers] or self._processes
        pids = ", ".join(str(process.pid) for process in dead)
        codes = ", ".join(str(process.exitcode) for process in dead)
        self.close()
        raise AutogradError("MG-E334", f"DataLoader worker (pid(s) {pids}) exited unexpectedly", found=f"exit code {codes}",
                            cause="a negative exit code is the signal that killed it; -9 is often lack of memory",
                            fix="num_workers=0 fetches the batches in the program itself")

    def close(self):
        """End the workers: tell them, wait a moment, and kill those that do not listen."""
        if self._pid != os.getpid():
            return      # a copy in a forked process
        for pipe in self._pipes:
            try:
                pipe.send(None)
            except (OSError, ValueError):
                pass
            pipe.close()
        for process in self._processes:
            process.join(1)
            if process.is_alive():
                process.terminate()
                process.join()
        self._processes, self._pipes = [], []

    def __del__(self):
        try:
            self.close()
        except Exception:       # the interpreter is ending
            pass
