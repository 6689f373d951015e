"""``python -m minigrad.run script.py args...``: run a PyTorch program on minigrad, unchanged."""

import argparse
import contextlib
import importlib
import json
import runpy
import sys
from pathlib import Path

from minigrad.run.as_torch import as_torch


def arguments(argv):
    parser = argparse.ArgumentParser(
        prog="python -m minigrad.run",
        description="Run a program that was written for PyTorch on minigrad: `import torch` means minigrad.",
        epilog="Options for minigrad.run come before the script; what follows the script belongs to the script.")
    parser.add_argument("--check", action="store_true", help="list the names in the script that minigrad lacks; run nothing")
    parser.add_argument("--record", type=int, metavar="N", help="save a page to step through the N-th backward, the first being 1")
    parser.add_argument("--out", default="backward.html", help="the file of --record (default: %(default)s)")
    parser.add_argument("--why", action="store_true", help="say at the end what may keep the program from training")
    parser.add_argument("--compare", action="store_true", help="run it on PyTorch, too, and show the first loss that differs")
    parser.add_argument("--rtol", type=float, default=1e-4, help="relative tolerance of --compare (default: %(default)s)")
    parser.add_argument("--library", choices=("minigrad", "torch"), default="minigrad", help=argparse.SUPPRESS)
    parser.add_argument("--losses", help=argparse.SUPPRESS)
    parser.add_argument("script", help="the program")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args(argv)
    if not Path(options.script).is_file():
        parser.error(f"there is no file {options.script}")
    if options.record is not None and options.record < 1:
        parser.error("--record counts from 1")
    return options


def check(script):
    """Print the names that minigrad lacks; return how many there are."""
    from minigrad.run.check import find_missing
    found = find_missing(Path(script).read_text("utf-8"), script)
    for line, name, what in found:
        print(f"{script}:{line}: {name}: {what}")
    print(f"{script}: {len(found) or 'no'} name{'s' * (len(found) != 1)} missing")
    return len(found)


def run(script, args):
    """Run the script as the main program."""
    sys.argv = [script, *args]
    sys.path.insert(0, str(Path(script).resolve().parent))
    runpy.run_path(script, run_name="__main__")


def say(lines, stream=sys.stderr):
    """Print lines about the run, apart from the script's own output."""
    print(*[f"minigrad.run: {line}" for line in lines], sep="\n", file=stream, flush=True)


def main(argv=None):
    options = arguments(argv)
    if options.check:
        return 1 if check(options.script) else 0
    if options.compare:
        from minigrad.run import compare
        try:
            found = compare.compare(options.script, options.args)
        except ModuleNotFoundError as error:
            say([str(error)])
            return 2
        say(compare.report(found, options.rtol), sys.stdout)
        same = compare.first_difference(found.minigrad, found.torch, options.rtol) is None
        return 0 if same and not any(found.status) else 1
    if options.library == "minigrad":
        as_torch()
    library = importlib.import_module(options.library)
    return watch_and_run(options, library)


def watch_and_run(options, library):
    """Run the script, watched as the options ask."""
    from minigrad.run.watch import Losses, Recorder, Why
    watchers = [Losses()] if options.losses else []
    watchers += [Recorder(options.record, options.out)] if options.record else []
    watchers += [Why()] if options.why else []
    with contextlib.ExitStack() as stack:
        for watcher in watchers:
            stack.enter_context(watcher.watching(library))
        try:
            run(options.script, options.args)
        except (AttributeError, ImportError):
            stack.callback(say, [f"if a name is missing: python -m minigrad.run --check {options.script}"])
            raise
        finally:
            for watcher in watchers:
                tell(watcher, options)
    return 0


def tell(watcher, options):
    """Say or save what a watcher has seen."""
    from minigrad.run.watch import Losses, Recorder
    if isinstance(watcher, Losses):
        Path(options.losses).write_text(json.dumps(watcher.values), "utf-8")
    elif isinstance(watcher, Recorder):
        backwards = f"{watcher.count} backward{'s' * (watcher.count != 1)}"
        say([f"written: {options.out}" if watcher.saved else
             f"--record {watcher.which}: the program ran {backwards}; nothing was recorded"])
    else:
        say(watcher.findings() or ["nothing looks wrong: every parameter got gradients, and moved"])


if __name__ == "__main__":
    sys.exit(main())
