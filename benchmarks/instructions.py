"""``make perf-check``: the instructions of small programs, against the numbers in ``results/instructions.json``.

A busy machine changes times by half; the number of instructions it changes by a thousandth. So that a slowdown is seen the day it
is made, valgrind counts the instructions of a run of each program here, and a rise of more than 3% fails. Whoever has a reason to
accept it says so, and the reason stays in the file, with the former number:

    make perf-check PERF_ARGS="--accept 'the engine checks the dtypes of gradients'"

The programs are those of ``scenarios.py``, in small: what counts is the work around the arithmetic. Numbers are compared only if
Python, NumPy, the compiler and valgrind have the versions with which the file was written. It needs Linux, valgrind and a
compiled minigrad, and takes a minute.

One thing is left to chance: Python's cache of attributes finds its entries by the addresses of names, and two that meet in one
entry take their turns in it. An unlucky layout cost 100 AdamW updates 11%. So what has risen is counted again, alone.
"""

import argparse
import datetime
import gc
import json
import platform
import re
import subprocess
import sys
import sysconfig
import tempfile
import zlib
from pathlib import Path

from benchmarks import callgrind, scenarios
from benchmarks.two_speeds import ROOT

__all__ = ["PROGRAMS", "compare"]

FILE = ROOT / "benchmarks" / "results" / "instructions.json"
MOST = 0.03         # the rise that is accepted without a reason
WARM, RUNS = 4, 3
PROGRAMS = {
    "chain, ()": scenarios.chain((), "x"),
    "chain, (64,)": scenarios.chain((64,), "x"),
    "chain, gradients of x, b and a": scenarios.chain((8,), "xba"),
    "chain, no_grad": scenarios.chain((8,), "", grad=False),
    "fan-in, 16": scenarios.fan_in(16),
    "fan-in, 512": scenarios.fan_in(512),
    "network of single numbers": scenarios.scalar_network(),
    "broadcast and reduce": scenarios.broadcast_and_reduce((8, 4)),
    "in-place ops": scenarios.in_place("x"),
    "in-place ops on a view": scenarios.in_place("x", slice(32)),
    "saved-tensor hooks": scenarios.packed("mul"),
    "tensor hooks": scenarios.hooked("tensor"),
    "hooks before nodes": scenarios.hooked("pre"),
    "hooks after nodes": scenarios.hooked("post"),
    "custom Functions": scenarios.function(),
    "views and cat": scenarios.views(),
    "chain of views": scenarios.view_chain(),
    "u''": scenarios.second_derivative("input", batch=2, sizes=(2, 4, 4, 1)),
    "Hessian-vector product": scenarios.second_derivative("hvp", batch=2, sizes=(2, 4, 4, 1)),
    "gradient penalty": scenarios.second_derivative("penalty", batch=2, sizes=(2, 4, 4, 1)),
    "build and free": scenarios.build_and_free(2000),
    "build and free, held in a list": scenarios.build_and_free(2000, held=True),
    "perceptron, Adam": scenarios.mlp(4, (8, 8, 4)),
    "perceptron, SGD": scenarios.perceptron(1, (8, 8, 4)),
    "RNN": scenarios.rnn(8, 2, 4),
    "LSTM": scenarios.recurrent_layer("LSTM", 4, 2, 4),
    "GPT": scenarios.gpt(1, 4, 8, 1, 2, 8),
    "LeNet": scenarios.lenet(1),
    "AdamW, 100 parameters": scenarios.optimizer_step("AdamW", shape=(2, 2)),
}


def versions():
    """What the numbers depend on besides our code: other builds of Python, or a processor without AVX2, need other instructions."""
    import numpy

    def first_number(command):
        found = re.search(r"\d+(\.\d+)*", subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return found[0] if found else ""
    options = sysconfig.get_config_var("CONFIG_ARGS") or ""
    return {"python": f"{platform.python_version()}, configured {zlib.crc32(options.encode()):08x}", "numpy": numpy.__version__,
            "gcc": first_number(["gcc", "-dumpfullversion"]), "valgrind": first_number(["valgrind", "--version"]),
            "libc": " ".join(platform.libc_ver()), "avx2": "avx2" in Path("/proc/cpuinfo").read_text()}


def measured(names, folder):
    """The programs under valgrind."""
    import minigrad

    minigrad.set_num_threads(1)
    counted = callgrind.counter(folder)
    for name in names:
        run = PROGRAMS[name](minigrad, "minigrad")
        for _ in range(WARM):
            run()
        gc.collect()
        gc.disable()            # when the collector comes depends on everything that was made before
        counted(run, RUNS)
        gc.enable()


def count(names):
    """The instructions of a run of each program."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/counts"
        callgrind.run(f"from benchmarks.instructions import measured; measured({names!r}, {folder!r})", out)
        texts = [Path(f"{out}.{i + 1}").read_text() for i in range(len(names))]
        return {name: int(re.findall(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)[-1]) // RUNS
                for name, text in zip(names, texts)}


def compare(before, after):
    """The programs that need more instructions than before, by more than `MOST`, and by how much.

    >>> compare({"chain": 1000, "fan-in": 1000}, {"chain": 1029, "fan-in": 1100})
    {'fan-in': 0.1}
    """
    return {name: round(after[name] / before[name] - 1, 4) for name in after
            if name in before and after[name] > (1 + MOST) * before[name]}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description="Compare instructions with the file.")
    parser.add_argument("--accept", metavar="REASON", help="write the numbers, and why they may differ, into the file")
    parser.add_argument("--only", default="", help="only programs with this in their name")
    options = parser.parse_args()
    lacking = callgrind.lacking()
    if lacking:
        print(f"{' and '.join(lacking)} is needed, for example: apt-get install valgrind gcc", file=sys.stderr)
        return 2
    held = json.loads(FILE.read_text()) if FILE.exists() else {"versions": {}, "instructions": {}, "accepted": []}
    here, before = versions(), held["instructions"]
    print("counting, a minute ...", file=sys.stderr, flush=True)
    after = count([name for name in PROGRAMS if options.only in name])
    for name in compare(before, after):         # again, alone: it may have lain badly
        after |= {name: min(after[name], *count([name]).values())}
    print(f"{'instructions of a run':40s} {'in the file':>12s} {'now':>12s}")
    for name, n in after.items():
        change = f"{n / before[name] - 1:+8.2%}" if name in before else "     new"
        print(f"{name:40s} {before.get(name, 0):12,d} {n:12,d} {change}")
    if options.accept is not None:
        changed = {name: [before.get(name), n] for name, n in after.items() if abs(n - before.get(name, 0)) > 0.003 * n}
        held["accepted"].append({"date": datetime.date.today().isoformat(), "reason": options.accept, "changed": changed})
        held |= {"versions": here, "instructions": before | after}
        FILE.write_text(json.dumps(held, indent=1) + "\n")
        return 0
    if held["versions"] != here:
        print(f"not compared: the file was written with {held['versions']}, and here are {here}")
        return 0
    risen = compare(before, after)
    for name, rise in risen.items():
        print(f"{name} needs {rise:.1%} more instructions than the file says. If that has a reason: make perf-check "
              f"PERF_ARGS=\"--accept 'the reason'\"", file=sys.stderr)
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())
