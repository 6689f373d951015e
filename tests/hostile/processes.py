"""Each call runs in a process that may crash: forked from one that has loaded minigrad, under limits of time and memory.

    parent                        the worker of one core: sends calls by number
      └── fork ── child           makes the arguments, calls, checks the result, reports the outcome on a pipe, some dozens of times

A child that ends without a report has crashed; one that reports nothing for some time hangs, and is killed. A new child goes on with
the next call. A wrong call is repeated in a child that makes only this call.
"""

import faulthandler
import gc
import inspect
import itertools
import linecache
import os
import pickle
import re
import select
import signal
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

import minigrad as mg
from tests.hostile.calls import Attack
from tests.hostile.subjects import twin_of
from tests.limits import SANITIZED, bound_memory
from tests.ops.test_bad_input import plain

ROOT = Path(mg.__file__).parent
MEMORY = 3 << 30        # bytes more than the parent has; Python's and NumPy's MemoryError is one of the things to be seen
LARGEST = 1 << 16       # elements up to which a result is sent to be compared


def run(call, seconds, perform):
    """The outcome of one call in a separate child: ("crash" or "hang", where), or the result of `perform`."""
    return next(outcomes([call], seconds, perform))


def outcomes(calls, seconds, perform):
    """The outcome of each call. They share a child, which is replaced if it crashes or hangs."""
    i = 0
    while i < len(calls):
        child, source, frames = spawned(calls[i:], perform)
        with source, frames:
            said = True
            while said and i < len(calls):
                said = read(source, seconds)
                if said:
                    yield pickle.loads(said)
                    i += 1
            if said is None:
                os.kill(child, signal.SIGUSR1)      # for the frames
                time.sleep(0.3)
                os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            if not said:
                frames.seek(0)
                how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit status {os.WEXITSTATUS(status)}"
                where = where_in(frames.read().decode())
                yield ("hang", where) if said is None else ("crash", f"{how} in {where}")
                i += 1


def spawned(calls, perform):
    """(child, the end of the pipe for its outcomes, a file for its frames)"""
    reading, writing = os.pipe()
    frames = tempfile.TemporaryFile()       # noqa: SIM115    (open in both, and closed by the caller)
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            prepare(frames)
            with os.fdopen(writing, "wb") as out:
                for call in calls:
                    said = pickle.dumps(perform(call))
                    out.write(len(said).to_bytes(8, "little") + said)
                    out.flush()
        except BaseException as error:
            traceback.print_exception(error)
            os._exit(3)
        os._exit(0)
    os.close(writing)
    return child, os.fdopen(reading, "rb", buffering=0), frames


def where_in(text):
    """The innermost frames of a traceback of faulthandler's, those in tests left out."""
    found = re.findall(r'File ".*?((?:minigrad|numpy)/[^"]*)", line (\d+)', text)
    return " < ".join([f"{file}:{line}" for file, line in found if "tests/" not in file][:4]) or "C alone"


def read(source, seconds):
    """The next outcome in the pipe; b"" at its end, None if nothing comes for that many seconds."""
    until, said, length = time.monotonic() + seconds, b"", None
    while length is None or len(said) < length:
        if not select.select([source], [], [], max(0.0, until - time.monotonic()))[0]:
            return None
        part = source.read((8 if length is None else length) - len(said))
        if not part:
            return b""
        said += part
        if length is None and len(said) == 8:
            length, said = int.from_bytes(said, "little"), b""
    return said


def prepare(frames):
    """Set up a child: its own folder, which is removed here, no input, no output, a memory limit."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)        # no file can be made in it any more
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    if not SANITIZED:       # whose reports are on stderr
        os.dup2(nothing, 2)
    bound_memory(MEMORY)
    faulthandler.enable(frames, all_threads=False)
    faulthandler.register(signal.SIGUSR1, frames, all_threads=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()


def perform_ours(call):
    """("result", plain value or None), or ("error", classes, text, whether it is ours, where it was raised)."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if isinstance(call, Attack):
                call.run()
                return "result", None
            args, kwargs = call.arguments(mg)
        except Exception as error:
            return described(error, isinstance(call, Attack))
        try:
            result = call.subject.function(*args, **kwargs)
            if inspect.isgenerator(result):
                result = list(itertools.islice(result, 3))      # only now does its body run
            return "result", looked_at(result)
        except Exception as error:
            return (*described(error, True), belongs(call, args))


def perform_torchs(call):
    """The same for PyTorch; all its errors are equal here."""
    import torch
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            args, kwargs = call.arguments(torch)
            result = twin_of(call.subject)(*args, **kwargs)
            return "result", pickle.loads(pickle.dumps(plain(result)))
        except Exception as error:
            return "error", repr(error)


def belongs(call, args):
    """Whether a method was called on an object of its class: a function of Python's own takes any."""
    owner = call.subject.owner
    return owner is None or not args or isinstance(args[0], owner)


def looked_at(result):
    """The result as it can be sent; every number of it is read, and a backward run, so that memory that is not there is met here."""
    for part in result if isinstance(result, (tuple, list)) else (result,):
        if isinstance(part, mg.Tensor) and part.numel() <= LARGEST:
            repr(part)
            if part.requires_grad and part.dtype.is_floating_point:
                part.sum().backward()
    small = [p for p in (result if isinstance(result, (tuple, list)) else (result,)) if isinstance(p, mg.Tensor)]
    if not small or sum(p.numel() for p in small) > LARGEST:
        return None
    try:
        return pickle.loads(pickle.dumps(plain(result)))
    except Exception:       # of numbers that NumPy lacks, or of what cannot be sent: there is nothing to compare
        return None


def described(error, counts):
    """An error in words. `counts` is False where an argument could not even be made."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    inside = next((f for f in reversed(frames) if "minigrad/" in f.filename), None)
    path = inside.filename.rpartition("minigrad/")[2] if inside else ""
    place = f"{path}:{inside.lineno}" if inside else ""
    line = linecache.getline(str(ROOT / path), inside.lineno).strip() if inside else ""     # compiled code names its files relatively
    meant = last is inside is not None and line.startswith(("raise ", "assert "))
    try:
        text = str(error)
    except Exception as second:
        text = f"(its text raises {second!r})"
    users = last is not None and last.filename.endswith("hostile/values.py")        # raised by the function that was passed
    ours = isinstance(error, mg.errors.MinigradError) or (meant and bool(text)) or users
    return "error" if counts else "no call", [c.__name__ for c in type(error).__mro__], text[:300], ours, place
