"""``python -m benchmarks.rivals``: the same work by minigrad, PyTorch, torch.compile, JAX, HIPS autograd, MyGrad and micrograd.

All run in one process on one core and take turns (A B C A B C ...), as in ``harness.py``. ``rival_programs.py`` writes each program
once for all of them. The first results of a library are compared with minigrad's, so that all do the same work. The first call is
timed apart, because there a library compiles. The figures are medians of the later calls.

A library that is not installed or cannot do a program is left out by name, with the reason. They are the extra `rivals`:
``make bench-docs`` installs it. The result is ``results/rivals.json``. The page about performance shows it.
"""

import argparse
import functools
import gc
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import records
from benchmarks.harness import TURN, timed
from benchmarks.rival_programs import KITS, PROGRAMS, SMALL, USUAL

__all__ = ["main", "measure", "ready"]


def ready(kits=KITS):
    """The libraries that can be measured here, prepared; and name -> reason for the others."""
    found, missing = [], {}
    for kit in [make() for make in kits]:
        reason = kit.why_not()
        if not reason:
            try:
                kit.prepare()
            except Exception as error:
                reason = brief(error)
        if reason:
            missing[kit.name] = reason
        else:
            found.append(kit)
    return found, missing


def brief(error):
    """The first line of an error."""
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:160]


def numbers(kit, result):
    """The numbers of a result, as NumPy arrays: the value of the loss, if the library has computed it, and the list."""
    value, listed = result
    return None if value is None else np.array(kit.number(value)), [np.array(kit.number(item)) for item in listed]


def same(result, wanted):
    """Whether two results agree, as far as float32 does."""
    pairs = [*zip(result[1], wanted[1]), *([(result[0], wanted[0])] if result[0] is not None and wanted[0] is not None else [])]
    return len(result[1]) == len(wanted[1]) and all([
        a.shape == b.shape and np.allclose(a, b, rtol=1e-2, atol=1e-3 * max(1e-3, float(np.abs(b).max()))) for a, b in pairs])


def measure(program, kits, sizes, seconds=4.0):
    """Run a program on all libraries.

    Args:
        program (Program): from rival_programs.py.
        kits (list): prepared libraries; minigrad is the first.
        sizes (dict): `USUAL`, or `SMALL` to see that it works.
        seconds (float): about the time of the measurement, without the first calls.

    Returns:
        dict: the name of the program; name of a library -> median and quartiles in microseconds; name -> seconds of the first call;
        name -> why the library is left out.
    """
    record = {"program": program.name, "turns": 0, "microseconds": {}, "first": {}, "left_out": {}}
    runs, turns, wanted = {}, {}, None
    for kit in kits:
        if program.kind in kit.lacks or (not program.scalar and kit.total is None):
            record["left_out"][kit.name] = kit.lacks.get(program.kind, "single numbers only")
            continue
        constants, parameters, vectors = program.make(sizes, np.random.default_rng(0))
        try:
            loss = functools.partial(program.loss, kit)
            start = time.perf_counter()
            run = getattr(kit, program.kind)(loss, constants, parameters, *([vectors] if vectors else []))
            result = run()
            kit.wait(result)
            record["first"][kit.name] = float(f"{time.perf_counter() - start:.4g}")
            result = numbers(kit, result)
            if wanted is None:
                wanted = result
            if not same(result, wanted):
                raise ValueError("its results are not minigrad's")

            def once(run=run, wait=kit.wait):
                wait(run())
            for _ in range(3):
                once()
            runs[kit.name] = once
            turns[kit.name] = max(1, round(TURN / timed(once)))
        except Exception as error:
            record["left_out"][kit.name] = brief(error)
            record["first"].pop(kit.name, None)
    times = {name: [] for name in runs}
    gc.collect()
    start = time.perf_counter()
    while record["turns"] < 7 or time.perf_counter() - start < seconds:
        record["turns"] += 1
        for name, run in runs.items():
            times[name].append(1e6 * timed(run, turns[name]))
        if sizes is SMALL:
            break
    record["microseconds"] = {name: records.quartiles(found) for name, found in times.items()}
    return record


def parser():
    made = argparse.ArgumentParser(prog="python -m benchmarks.rivals", description="The same work by several libraries.")
    made.add_argument("--only", default="", help="only programs with this in their name")
    made.add_argument("--seconds", type=float, default=4.0, help="of measuring each program, about")
    made.add_argument("--without", nargs="+", default=[], metavar="NAME", help="leave out these libraries")
    made.add_argument("--small", action="store_true", help="tiny sizes, a turn each: whether it runs")
    made.add_argument("--output", type=Path, default=records.RESULTS / "rivals.json", metavar="FILE")
    return made


def main(arguments=None):
    options = parser().parse_args(arguments)
    try:
        from rich.console import Console
        from rich.progress import track
    except ImportError as error:
        print(f"the benchmarks need the package {error.name}: pip install 'minigrad-autograd[rivals]'", file=sys.stderr)
        return 2
    kits, missing = ready([kit for kit in KITS if kit.name not in options.without])
    missing.update(dict.fromkeys(options.without, "left out by --without"))
    record = {"command": records.command("benchmarks.rivals", arguments), "machine": records.machine([]), "load_at_end": None,
              "left_out": missing, "programs": []}
    record["machine"] |= {kit.name: kit.version() for kit in kits if kit.name not in ("minigrad", "torch.compile", "jax.jit")}
    chosen = [program for program in PROGRAMS if options.only in program.name]
    for program in track(chosen, "measuring", console=Console(stderr=True), transient=True):
        record["programs"].append(measure(program, kits, SMALL if options.small else USUAL, options.seconds))
    record["load_at_end"] = records.load()
    records.save(options.output, record)
    report(record, [kit.name for kit in KITS])
    return 0


def report(record, names):
    """Print the figures, and what is left out."""
    for program in record["programs"]:
        print(f"\n{program['program']} ({program['turns']} turns)")
        for name in names:
            if name in program["microseconds"]:
                median, _, _ = program["microseconds"][name]
                print(f"  {name:<14} {median:>12,.1f} µs {median / program['microseconds']['minigrad'][0]:>9.2f} of minigrad's"
                      f"   first call {1e3 * program['first'][name]:>10,.1f} ms")
            elif name in program["left_out"]:
                print(f"  {name:<14} left out: {program['left_out'][name]}")
    for name, reason in record["left_out"].items():
        print(f"{name} is left out: {reason}")


if __name__ == "__main__":
    for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "TORCHINDUCTOR_COMPILE_THREADS"):
        os.environ[variable] = "1"
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    records.one_core()
    with tempfile.TemporaryDirectory() as folder:       # so that torch.compile finds nothing of an earlier run
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        status = main()
    sys.exit(status)
