"""A result that comes later. Mirrors ``torch/futures/__init__.py``; ``concurrent.futures`` does the work."""

import concurrent.futures

from minigrad._arguments import callable_argument, instance, listed
from minigrad.errors import AutogradAssertionError

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A result that comes later, or an error. Mirrors ``torch.futures.Future``.

    >>> future = mg.futures.Future()
    >>> double = future.then(lambda f: f.wait() * 2)
    >>> future.set_result(3)
    >>> future.done(), double.wait()
    (True, 6)
    """

    def __init__(self, *, devices=None):
        self._future = concurrent.futures.Future()

    def done(self):
        """Whether the result or the error is there."""
        return self._future.done()

    def wait(self):
        """Wait for the result, and return it. Raises the error if there is one."""
        return self._future.result()

    def value(self):
        """The result. Raises `RuntimeError` if it is not there yet."""
        if not self.done():
            raise RuntimeError("value() was called before the Future was completed; wait() waits for it")
        return self._future.result()

    def set_result(self, result):
        """Set the result. Raises `RuntimeError` if there is one."""
        self._require_open()
        self._future.set_result(result)

    def set_exception(self, result):
        """Set an error, which `wait` raises. Raises `RuntimeError` if there is a result, `AssertionError` if it is not an error."""
        if not isinstance(result, BaseException):
            raise AutogradAssertionError("MG-E201", f"{result!r:.100} is of type {type(result).__name__}, not an Exception.")
        self._require_open()
        self._future.set_exception(result)

    def _require_open(self):
        if self.done():
            raise RuntimeError("Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                               "completed once.")

    def add_done_callback(self, callback):
        """Call ``callback(self)`` when the result is there, immediately if it is."""
        callable_argument(callback, "callback", "add_done_callback")
        self._future.add_done_callback(lambda _: callback(self))

    def then(self, callback):
        """A `Future` of ``callback(self)``, which is called when the result is there."""
        callable_argument(callback, "callback", "then")
        following = Future()

        def run(_):
            try:
                following.set_result(callback(self))
            except Exception as error:
                following.set_exception(error)
        self._future.add_done_callback(run)
        return following


def collect_all(futures):
    """A `Future` of the list of these futures, complete when they are. Mirrors ``torch.futures.collect_all``.

    >>> future = mg.futures.Future()
    >>> future.set_result(3)
    >>> [f.wait() for f in mg.futures.collect_all([future]).wait()]
    [3]
    """
    futures, collected = checked(futures, "collect_all"), Future()

    def check(_):
        if all(f.done() for f in futures) and not collected.done():
            collected.set_result(futures)
    for future in futures:
        future.add_done_callback(check)
    if not futures:
        collected.set_result([])
    return collected


def wait_all(futures):
    """Wait for all futures; return the list of their results. Mirrors ``torch.futures.wait_all``.

    >>> future = mg.futures.Future()
    >>> future.set_result(3)
    >>> mg.futures.wait_all([future])
    [3]
    """
    return [future.wait() for future in checked(futures, "wait_all")]


def checked(futures, function):
    """Return `futures` as a list; raise `TypeError` unless they are futures."""
    return [instance(future, Future, "futures", function, "list of Futures")
            for future in listed(futures, "futures", function, "list of Futures")]
