"""Processes: Python's ``multiprocessing``, and `spawn`. Mirrors ``torch/multiprocessing/__init__.py``.

A tensor that a process sends to another one is copied: the processes do not share its memory.
"""

import multiprocessing
from multiprocessing import *  # pyright: ignore[reportWildcardImportFromLibrary]  # noqa: F403

from minigrad._arguments import callable_argument, listed
from minigrad.errors import AutogradAssertionError, AutogradError, TensorValueError
from minigrad.ops.base.arguments import in_words, integer

__all__ = [*multiprocessing.__all__, "ProcessExitedException", "ProcessRaisedException", "get_all_sharing_strategies",     # pyright: ignore
           "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes"]

STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


class ProcessRaisedException(AutogradError):
    """A process of `spawn` has raised an error; the message has its traceback."""

    own_name = True


class ProcessExitedException(AutogradError):
    """A process of `spawn` has ended with an exit code, or was killed."""

    own_name = True


def get_all_sharing_strategies():
    """The names that `set_sharing_strategy` takes. Mirrors ``torch.multiprocessing.get_all_sharing_strategies``.

    >>> sorted(mg.multiprocessing.get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return set(STRATEGIES)


def get_sharing_strategy():
    """The name that `set_sharing_strategy` has set. Mirrors ``torch.multiprocessing.get_sharing_strategy``.

    >>> mg.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return _strategy


def set_sharing_strategy(new_strategy):
    """Accept how processes should share tensors. Here they get copies. Mirrors ``torch.multiprocessing.set_sharing_strategy``.

    Raises:
        AssertionError: no strategy has this name.

    >>> mg.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    global _strategy
    if not isinstance(new_strategy, str) or new_strategy not in STRATEGIES:
        raise AutogradAssertionError("MG-E321", f"unknown sharing strategy {new_strategy!r}",
                                     expected=", ".join(sorted(STRATEGIES)))
    _strategy = new_strategy


def _run(fn, i, args, errors):
    """Run ``fn(i, *args)`` in a process; send the text of an error."""
    import traceback
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        errors.put((i, traceback.format_exc()))
        raise SystemExit(1) from None


class ProcessContext:
    """The processes of `spawn` with ``join=False``."""

    def __init__(self, processes, errors):
        self.processes, self._errors = processes, errors

    def pids(self):
        """The numbers of the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout=None):
        """Wait for the processes. When one of them fails, end the others and raise its error.

        Returns:
            bool: whether all have ended.
        """
        from multiprocessing.connection import wait
        running = [p for p in self.processes if p.is_alive()]
        ended = wait([p.sentinel for p in running], timeout) if running else []
        for process in self.processes:
            if process.sentinel in ended or not process.is_alive():
                process.join()
        failed = next(((i, p) for i, p in enumerate(self.processes) if p.exitcode), None)
        if failed is None:
            return all(p.exitcode == 0 for p in self.processes)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
            process.join()
        i, process = failed
        if process.exitcode == 1 and not self._errors.empty():
            i, text = self._errors.get()
            raise ProcessRaisedException("MG-E334", f"\n\n-- Process {i} terminated with the following error:\n{text}")
        raise ProcessExitedException("MG-E334", f"process {i} terminated with exit code {process.exitcode}")


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Run ``fn(i, *args)`` in the processes i = 0, 1, ... `nprocs` - 1. Mirrors ``torch.multiprocessing.start_processes``.

    Args:
        fn (Callable): a function of a module: a new process imports it.
        args (tuple): its further arguments, which are pickled.
        nprocs (int): the number of processes.
        join (bool): wait for them. False returns a `ProcessContext`.
        daemon (bool): end them with this process.
        start_method (str): "spawn", "fork" or "forkserver".

    Raises:
        RuntimeError: a process raised an error or was killed. The others have been ended.
        ValueError: there is no such start method.

    >>> mg.multiprocessing.start_processes(print, ("started",), nprocs=0)
    """
    callable_argument(fn, "fn", "start_processes")
    args, nprocs = tuple(listed(args, "args", "start_processes", "tuple")), integer(nprocs, "nprocs", "start_processes")
    if not isinstance(start_method, str) or start_method not in multiprocessing.get_all_start_methods():
        raise TensorValueError("MG-E302", f"start_processes(): cannot find context for {in_words(start_method)}",
                               expected=", ".join(multiprocessing.get_all_start_methods()))
    context = multiprocessing.get_context(start_method)
    errors = context.SimpleQueue()
    processes = [context.Process(target=_run, args=(fn, i, args, errors), daemon=daemon) for i in range(nprocs)]    # pyright: ignore
    for process in processes:
        process.start()
    found = ProcessContext(processes, errors)
    if not join:
        return found
    while not found.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """`start_processes` with new interpreters. Mirrors ``torch.multiprocessing.spawn``.

    >>> mg.multiprocessing.spawn(print, ("started",), nprocs=0)
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)
