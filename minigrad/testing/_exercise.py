"""`exercise`: a check of a tutorial that answers in a sentence, and always ends.

    @mg.testing.exercise(2)
    def check_paths(paths): ...

    check_paths(paths)          the stub            not yet: exercise 2
    check_paths(endless)        stopped             AssertionError: exercise 2: stopped after 10 seconds. ...
    check_paths.hint()          one at a time       hint 1 of 3: ...

The tutorial puts its hints and its sentences about typical wrong answers into `Check.hints` and `Check.wrong`.
PyTorch has no such function. Read next: ``_script.py``.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import io
import re
import threading
import time
from typing import TYPE_CHECKING

from minigrad.errors import MinigradError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

__all__ = ["Check", "exercise"]

SECONDS = 10        # until a check stops its answer; a right one needs a small part of it
collected: list[tuple[Check, str | None]] | None = None     # _script.py: the checks, and their verdicts instead of errors


class Stopped(BaseException):
    """Raised in the thread of an answer that takes too long. It is no Exception, so that the answer does not catch it."""


class Check:
    """What `exercise` makes of a function: call it with an answer.

    Attributes:
        number (int): the number of the exercise.
        hints (sequence of str): what `hint` prints, one at a time.
        wrong (dict): a part of the message of an error to a sentence, which is added to that message. It is found between
            words and numbers: ``"not 4"`` is in ``"a * a: not 4."``, but not in ``"a * a: not 40."``; a 4
            is also a 4.0.

    >>> @mg.testing.exercise(1)
    ... def check_double(double):
    ...     assert double(3) == 6, f"double(3) is {double(3)}"
    >>> check_double(lambda x: x + 3)
    >>> check_double.wrong = {"is 9": "You took the square."}
    >>> check_double(lambda x: x ** 2)
    Traceback (most recent call last):
    AssertionError: double(3) is 9
    You took the square.
    """

    def __init__(self, check: Callable[[Any], None], number: int, advice: str) -> None:
        functools.update_wrapper(self, check)
        self._check, self._advice, self._given = check, advice, 0
        self.number = number
        self.hints: Sequence[str] = ()
        self.wrong: Mapping[str, str] = {}
        if collected is not None:
            collected.append((self, None))

    def __call__(self, answer: Any) -> None:
        """Print "right" or a sentence that begins with "not yet", or raise AssertionError. See `exercise`."""
        if collected is not None:
            collected.append((self, self.verdict(answer)))
            return
        missing = self._run(answer)
        if missing:
            print(missing)

    def grade(self, answer: Any) -> None:
        """Like a call, but "not yet" is an error too: a cell with this line has points in nbgrader.

        Raises:
            AssertionError: the answer is wrong, or there is none yet.
        """
        missing = self._run(answer)
        if missing:
            raise AssertionError(missing)

    def verdict(self, answer: Any) -> str:
        """"right", or a sentence that begins with "not yet". Nothing is printed.

        >>> @mg.testing.exercise(1)
        ... def check_double(double):
        ...     assert double(3) == 6, f"double(3) is {double(3)}"
        >>> check_double.verdict(lambda x: x * 2)
        'right'
        >>> check_double.verdict(lambda x: x ** 2)
        'not yet: exercise 1. double(3) is 9'
        """
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                return self._run(answer) or "right"
            except AssertionError as error:
                said = str(error).removeprefix(f"exercise {self.number}: ") or "The check does not accept your answer."
            except SystemExit:
                said = "Your answer ends the program."
            except Exception as error:
                said = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        return f"not yet: exercise {self.number}. {said}"

    def hint(self, step: int | None = None) -> None:
        """Print the next hint, or the one with this number.

        >>> @mg.testing.exercise(1)
        ... def check_double(double):
        ...     assert double(3) == 6
        >>> check_double.hints = ["What is 3 + 3?", "Multiply by 2."]
        >>> check_double.hint()
        hint 1 of 2: What is 3 + 3?
        >>> check_double.hint()
        hint 2 of 2: Multiply by 2.
        """
        if not self.hints:
            print(f"Exercise {self.number} has no hints.")
            return
        self._given = min(max(self._given + 1 if step is None else step, 1), len(self.hints))
        print(f"hint {self._given} of {len(self.hints)}: {self.hints[self._given - 1]}")

    def _run(self, answer):
        """None if the answer is right, a sentence if there is none yet. A wrong one raises."""
        if isinstance(answer, list) and all([one is None or one == "" for one in answer]):
            return f"not yet: exercise {self.number}. Write your answers into the list."
        try:
            with stopped_after(SECONDS):
                self._check(answer)
        except Stopped:
            raise AssertionError(f"exercise {self.number}: stopped after {SECONDS} seconds. {self._advice}") from None
        except Exception as error:
            if is_stub(error):
                return f"not yet: exercise {self.number}. Replace `raise NotImplementedError` with your answer."
            said, idea = sentence(error), self._idea(str(error))
            if said is None and idea is None:
                raise
            said = str(error) if said is None else f"exercise {self.number}: {said}"
            raise AssertionError("\n".join([line for line in (said, idea) if line])) from error
        return None

    def _idea(self, message):
        """The sentence about the wrong idea behind this message, or None."""
        for part, idea in self.wrong.items():
            if re.search(rf"(?<![\w.]){re.escape(part)}(\.0)?(?!\w|\.\d)", message):
                return idea
        return None


def exercise(number: int, hint: str = "A loop may never end, or follow every path of a graph instead of visiting every node once.",
             ) -> Callable[[Callable[[Any], None]], Check]:
    """Decorate the check of an exercise, a function of one argument: the answer of the reader. It becomes a `Check`.

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
    >>> check_double.wrong = {"is 9": "3 * 3 is the square of 3. What is its double?"}
    >>> check_double(lambda x: x ** 2)
    Traceback (most recent call last):
        ...
    AssertionError: double(3) is 9
    3 * 3 is the square of 3. What is its double?
    """
    return lambda check: Check(check, number, hint)


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

    # A variable holds the thread. Otherwise a free-threaded Python would delete it when it ends, in the thread that it has just
    # stopped, and Python ignores an error that is raised while it deletes an object.
    watcher = threading.Thread(target=watch, daemon=True)
    with contextlib.suppress(RuntimeError):     # a Python without threads, as in a browser: no limit
        watcher.start()
    try:
        yield
    finally:
        with deciding:
            ended.set()
