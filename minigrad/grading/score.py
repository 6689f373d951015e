"""``python -m minigrad.grading score ready_queue my_queue.py``: how well your part does, behaviour by behaviour.

    1. load     the function or class of your file
    2. check    each program of a suite, on minigrad and with your part: the same log, or what differs
                behaviours.py: the engine; samples.py: ops, optimizers, layers
    3. show     the first failure: what was expected and found, its steps, and the page that explains it
    4. train    the digits with your part, with its time beside ours

A program that runs for too long fails. The exit status is 0 if all behaviours passed.
"""

import functools
import importlib.util
import inspect
import math
import signal
import sys
import threading
import time
import traceback
from contextlib import contextmanager
from pathlib import Path

import minigrad as mg
from minigrad.grading.behaviours import BEHAVIOURS, ENGINE_PARTS, Behaviour, deep_graph
from minigrad.grading.parts import PARTS
from minigrad.grading.swaps import SwapError, swap

__all__ = ["add_arguments", "check", "main", "same"]

CLASSES = ("ready_queue", "saved_tensor")       # the parts that are classes
SITE = "docs"                                   # the folder with the pages that behaviours name
STEPS_SHOWN, WIDTH = 14, 150


def add_arguments(parser):
    """Add the arguments of ``score`` to a parser of argparse."""
    parser.add_argument("part", choices=sorted(PARTS), help="the part that your file replaces")
    parser.add_argument("file", type=Path, help="your Python file")
    parser.add_argument("--name", help="the function or class in it; default: the one with the name of the part, or the only one")
    parser.add_argument("--of", help="the op, such as mul, or the class, such as SGD or Linear, for parts that need one")
    parser.add_argument("--seconds", type=float, default=20, help="time limit of a behaviour (default: 20)")
    parser.add_argument("--depth", type=int, default=1_000_000, help="nodes of the deep graph (default: 1000000)")
    parser.add_argument("--steps", type=int, default=60, help="training steps on the digits; 0 for none (default: 60)")
    parser.add_argument("--html", type=Path, help="save the step-through of the first failure here")


class Unusable(Exception):
    """The file cannot be scored. The message says why."""


def load(path, part, name=None):
    """The function or class of the file at `path` for a part.

    Raises:
        Unusable: the file is missing, fails when it is imported, or has no such function.
    """
    if not path.is_file():
        raise Unusable(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise Unusable(f"{path} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        line = error.lineno if isinstance(error, SyntaxError) else last.lineno
        raise Unusable(f"{path} does not import: {type(error).__name__}: {error} (line {line})") from error
    finally:
        sys.path.remove(str(path.parent))
    kind = inspect.isclass if part in CLASSES else callable
    own = {key: value for key, value in vars(module).items()
           if not key.startswith("_") and kind(value) and getattr(value, "__module__", path.stem) == path.stem}
    wanted = name or (part if part in own or len(own) != 1 else next(iter(own)))
    if wanted not in own:
        raise Unusable(f"{path} has no {wanted}; expected {PARTS[part].signature}"
                       + (f". It has {', '.join(own)}: choose one with --name" if own else ""))
    return own[wanted]


def target(part, name):
    """What ``of=`` of `swap` gets for a name from the command line.

    Raises:
        Unusable: the part needs a name, or there is no such class.
    """
    if not PARTS[part].of:
        return None
    if name is None:
        raise Unusable(f"{part} needs --of: {PARTS[part].of}")
    home = {"optimizer_step": mg.optim, "layer": mg.nn}.get(part)
    if home is None:
        return name
    found = getattr(home, name.rpartition(".")[2], None)
    if not isinstance(found, type):
        raise Unusable(f"there is no {home.__name__}.{name}")
    return found


# ---- run ------------------------------------------------------------------------------------------------------------------


class TooSlow(BaseException):
    """A program has run for too long. Not an `Exception`, so that a program which expects an error does not catch it."""


@contextmanager
def time_limit(seconds):
    """Raise `TooSlow` in the block after so many seconds. On Windows, and outside the main thread, there is no limit."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, frame):
        raise TooSlow(f"it did not end within {seconds:g} s")
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def same(found, wanted):
    """Whether two logs are equal, up to the rounding of numbers."""
    if isinstance(found, (list, tuple)) and isinstance(wanted, (list, tuple)):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(found, float) and isinstance(wanted, float):
        return math.isclose(found, wanted, rel_tol=1e-4, abs_tol=1e-6) or (math.isnan(found) and math.isnan(wanted))
    return found == wanted


def shorten(log):
    text = str(log)
    return text if len(text) <= 300 else text[:297] + "..."


def check(program, part, seconds=20.0):
    """Run a program on minigrad and with a part swapped. Returns None if both give the same log, or what differs, as a text.

    Args:
        program (callable): returns a log, see ``behaviours.py``.
        part (Swap): what `swap` returned.
        seconds (float): the time limit.

    >>> from minigrad.grading.behaviours import square
    >>> check(square, mg.grading.swap("add_gradients", lambda old, new: old + new)) is None
    True
    >>> print(check(square, mg.grading.swap("add_gradients", lambda old, new: new)))
    expected [[4.0, 6.0]]
    found    [[2.0, 3.0]]
    """
    wanted = program()
    try:
        with time_limit(seconds), part:
            found = program()
    except (Exception, TooSlow) as error:
        return f"expected {shorten(wanted)}\nraised   {type(error).__name__}: {error}"
    return None if same(found, wanted) else f"expected {shorten(wanted)}\nfound    {shorten(found)}"


def suite(part, of, depth):
    """The behaviours for a part: a list of `Behaviour`."""
    if part in ENGINE_PARTS:
        deep = functools.partial(deep_graph, depth)
        return [each if each.program is not deep_graph else Behaviour(f"{each.name}, {depth:,} nodes", each.group, each.page, deep)
                for each in BEHAVIOURS]
    from minigrad.grading import samples
    return samples.suite(part, of)


def step_through(program, part, seconds, html):
    """The steps of the last backward of a program with the part swapped, as lines; and a page of them, if `html` is a path."""
    with mg.debug.record() as record:
        try:
            with time_limit(seconds), part:
                program()
        except (Exception, TooSlow):
            pass
    lines = [line if len(line) <= WIDTH else line[:WIDTH - 3] + "..." for line in str(record).splitlines()]
    if html is not None:
        html.write_text(mg.viz.step(record)._repr_html_(), "utf-8")
    head, rest = lines[:1], lines[1:]
    hidden = len(rest) - STEPS_SHOWN
    return lines if hidden <= 0 else [*head, f"      ... {hidden} steps before ...", *rest[-STEPS_SHOWN:]]


# ---- train ----------------------------------------------------------------------------------------------------------------


def images(count=512):
    """Digits of 8 by 8 pixels and their labels; without scikit-learn, noise with ten classes."""
    try:
        from minigrad.demo.data import digits
        (pixels, labels), _ = digits()
        return "digits", pixels[:count].reshape(-1, 64), labels[:count]
    except ImportError:
        mg.manual_seed(0)
        labels = mg.randint(10, (count,))
        return "noise with ten classes (the digits need scikit-learn)", mg.randn(10, 64)[labels] + mg.randn(count, 64), labels


def train(steps, part=None):
    """Train a small network. Returns the seconds, the first and the last loss."""
    _, pixels, labels = images()
    mg.manual_seed(0)
    model = mg.nn.Sequential(mg.nn.Linear(64, 32), mg.nn.ReLU(), mg.nn.Linear(32, 10))
    optimizer = mg.optim.SGD(model.parameters(), lr=0.5)
    losses = []

    def run():
        for _ in range(steps):
            optimizer.zero_grad()
            loss = mg.nn.functional.cross_entropy(model(pixels), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    start = time.perf_counter()
    if part is None:
        run()
    else:
        with part:
            run()
    return time.perf_counter() - start, losses[0], losses[-1]


def report_training(steps, part):
    """Train with minigrad and with the part, and say how both went."""
    data, _, _ = images()
    ours, first, last = train(steps)
    try:
        theirs, _, found = train(steps, part)
    except Exception as error:
        print(f"\nTraining on the {data} stopped: {type(error).__name__}: {error}")
        return
    print(f"\n{steps} training steps on the {data}: loss {first:.3f} -> {found:.3f} with your part, {last:.3f} with minigrad's; "
          f"{theirs:.2f} s and {ours:.2f} s, {theirs / ours:.1f} times as long")


def main(options):
    """Score a part. Returns the exit status: 0 if all behaviours passed, 1 if not, 2 if there is nothing to score."""
    try:
        function = load(options.file, options.part, options.name)
        of = target(options.part, options.of)
        part = swap(options.part, function, of=of)
        behaviours = suite(options.part, of, options.depth)
    except (Unusable, SwapError, TypeError) as error:
        print(error, file=sys.stderr)
        return 2
    failures = []
    for behaviour in behaviours:
        difference = check(behaviour.program, part, options.seconds)
        print(f"{'passed' if difference is None else 'FAILED'}  {behaviour.group:<9} {behaviour.name}", flush=True)
        if difference is not None:
            failures.append((behaviour, difference))
    passed = len(behaviours) - len(failures)
    print(f"\n{passed} of {len(behaviours)} behaviours passed; minigrad called your part {part.calls:,} times")
    if part.calls == 0:
        print("Your function was not used.")
    if failures:
        behaviour, difference = failures[0]
        print(f"\nThe first failure: {behaviour.name}\n{difference}")
        if options.part in ENGINE_PARTS and behaviour.group != "cost":      # the record of a million nodes explains nothing
            print("\nIts last steps:\n" + "\n".join(step_through(behaviour.program, part, options.seconds, options.html)))
        print(f"\nExplained in {SITE}/{behaviour.page}")
    if options.steps > 0:
        report_training(options.steps, part)
    return int(bool(failures) or part.calls == 0)
