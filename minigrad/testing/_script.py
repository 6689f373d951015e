"""`check_script`: the options of a student's script, ``--check`` and ``--hint``.

    python 01_derivative_to_graph.py --check        exercise 1: right
                                                    not yet: exercise 2. Replace `raise NotImplementedError` with your answer.
    python 01_derivative_to_graph.py --hint 2       hint 1 of 3: ...

The script calls its checks itself. While it runs here, each check leaves its verdict in `_exercise.collected`.
PyTorch has no such function. Read next: ``_expect.py``.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import runpy
import traceback
from typing import TYPE_CHECKING

from minigrad._arguments import instance, listed
from minigrad.testing import _exercise

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

__all__ = ["check_script"]


def check_script(path: str | PathLike[str], arguments: Sequence[str] | None = None) -> None:
    """Do what the command line of a script with exercises asks for, and end the program. Without options, return.

    ``--check`` runs the script without its output and prints a line for each exercise: that it is right, or a sentence that begins
    with "not yet". The exit status is 0 if all are right, and otherwise 1. ``--hint 2`` prints the first hint to exercise 2, and
    ``--hint 2 3`` the third.

    Args:
        path (path): the script, ``__file__`` in the script itself.
        arguments (sequence of str, optional): the command line; by default that of this program.

    Raises:
        SystemExit: an option was given.
        TypeError: `path` is not a path, or `arguments` is not a sequence.

    >>> mg.testing.check_script("exercises.py", [])        # no option: the script goes on
    """
    instance(path, (str, os.PathLike), "path", "check_script", "str or os.PathLike")
    arguments = None if arguments is None else listed(arguments, "arguments", "check_script", "sequence of str")
    parser = argparse.ArgumentParser(prog=f"python {os.path.basename(path)}", description="A tutorial with exercises. "
                                     "Without an option, it runs as a program.")
    parser.add_argument("--check", action="store_true", help="say which exercises are right")
    parser.add_argument("--hint", type=int, nargs="+", metavar=("EXERCISE", "STEP"), help="print a hint: --hint 2, then --hint 2 2")
    chosen = parser.parse_args(arguments)
    if not chosen.check and chosen.hint is None:
        return
    checks, verdicts, end = collect(path)
    if chosen.hint is not None:
        number, step, *_ = [*chosen.hint, 1]
        found = checks.get(number)
        if found is None:
            parser.error(f"there is no exercise {number}; there are {', '.join(map(str, sorted(checks)))}" if checks else end)
        found.hint(step)
        if step < len(found.hints):
            print(f"The next hint: --hint {number} {step + 1}")
        raise SystemExit(0)
    for number in sorted(checks):
        said = verdicts.get(number, f"not yet: exercise {number}. Its check was not called.")
        print(f"exercise {number}: right" if said == "right" else said)
    if end:
        print(end)
    raise SystemExit(bool(end) or not checks or any(verdicts.get(number) != "right" for number in checks))


def collect(path):
    """Run a script, and return its checks and their verdicts by number, and a sentence if it ended with an error.

    An exercise that is checked twice is right if both answers are.
    """
    checks, verdicts, end = {}, {}, ""
    outside, _exercise.collected = _exercise.collected, []
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                runpy.run_path(os.fspath(path), run_name="exercises")
            except (Exception, SystemExit) as error:
                end = f"The script ends in line {line(error, path)}: {type(error).__name__}: {error}"
        for check, verdict in _exercise.collected:
            checks[check.number] = check
            if verdict is not None and verdicts.get(check.number, "right") == "right":
                verdicts[check.number] = verdict
    finally:
        _exercise.collected = outside
    return checks, verdicts, end


def line(error, path):
    """The last line of the script in the traceback of an error."""
    if isinstance(error, SyntaxError):
        return error.lineno
    lines = [entry.lineno for entry in traceback.extract_tb(error.__traceback__) if entry.filename == os.fspath(path)]
    return lines[-1] if lines else "?"
