"""`exercise`: a check of a tutorial that answers in a sentence, and always ends.

    @mg.testing.exercise(2)
    def check_paths(paths): ...

    check_paths(paths)          the stub            not yet: exercise 2
    check_paths(endless)        stopped             AssertionError: exercise 2: stopped after 10 seconds. ...

PyTorch has no such function. Read next: ``_expect.py``.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
import time
from typing import TYPE_CHECKING

from minigrad.errors import MinigradError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["exercise"]

SECONDS = 10        # until a check stops its answer; a right one needs a small part of it


class Stopped(BaseException):
    """Raised in the thread of an answer that takes too long. It is no Exception, so that the answer does not catch it."""


def exercise(number: int, hint: str = "A loop may never end, or follow every path of a graph instead of visiting every node once.",
             ) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Decorate the check of an exercise, a function of one argument: the answer of the reader.

    The check prints ``not yet: exercise 2`` for an answer that raises NotImplementedError, as a stub does, and for a list of None
    or of empty strings. It stops an answer after 10 seconds.

    Args:
        number (int): the number of the exercise.
        hint (str): what to say when an answer has been stopped.

    Raises:
        AssertionError: by the check, or the answer took too long, called itself too often, or returned None by mistake.

    >>> @mg.testing.exercise(2)
    ... def check_double(double):
    ...     assert double(3) == 6, f"double(3) is {double(3)}"
    ...     print("right")
    >>> def double(x):
    ...     raise NotImplementedError       # your code goes here
    >>> check_double(double)
    not yet: exercise 2. Replace `raise NotImplementedError` with your answer.
    >>> check_double(lambda x: x * 2)
    right
    """
    def decorate(check):
        @functools.wraps(check)
        def checked(answer):
            if isinstance(answer, list) and all([one is None or one == "" for one in answer]):
                print(f"not yet: exercise {number}. Write your answers into the list.")
                return
            try:
                with stopped_after(SECONDS):
                    check(answer)
            except Stopped:
                raise AssertionError(f"exercise {number}: stopped after {SECONDS} seconds. {hint}") from None
            except Exception as error:
                if is_stub(error):
                    print(f"not yet: exercise {number}. Replace `raise NotImplementedError` with your answer.")
                    return
                said = sentence(error)
                if said is None:
                    raise
                raise AssertionError(f"exercise {number}: {said}") from error
        return checked
    return decorate


def is_stub(error):
    """Whether `error`, or the error that was being handled when it was raised, is the NotImplementedError of a stub."""
    while error is not None:
        if isinstance(error, NotImplementedError) and not isinstance(error, MinigradError):
            return True
        error = error.__context__
    return False


def sentence(error):
    """What a common mistake means, or None."""
    if isinstance(error, RecursionError):
        return "a function calls itself for each node, and Python's stack ends at about 1,000 calls. Use a loop, and a list of " \
               "the nodes to visit."
    if isinstance(error, (TypeError, AttributeError)) and "NoneType" in str(error):
        return f"the check got None where it needs a value ({error}). Is a `return` missing?"
    return None


@contextlib.contextmanager
def stopped_after(seconds):
    """Raise `Stopped` in this thread when the process has computed for so many seconds. It waits for the end of a call into C.

    We count the processor's time: on a busy machine a right answer may wait for long.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    end = time.process_time() + seconds
    ended = threading.Event()
    deciding = threading.Lock()

    def watch():
        while not ended.wait(0.05):
            if time.process_time() > end:
                with deciding:
                    if not ended.is_set():
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(Stopped))
                return

    with contextlib.suppress(RuntimeError):     # a Python without threads, as in a browser: no limit
        threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with deciding:
            ended.set()
