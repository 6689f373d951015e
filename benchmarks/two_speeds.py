"""The gain from compiling: ``python -m benchmarks.two_speeds`` measures the tables of ``tutorials/16_two_speeds.py``.

The tutorial writes one small engine in six steps, from plain Python to the form that Cython compiles best. This
program compiles each step in a temporary directory and compares it with the first step in Python. The sources come from the
tutorial itself. Then it measures minigrad: the same ops interpreted, compiled with ``numpy_ref``, and compiled with
the C kernels, for few numbers and for many.

All programs of a table take turns (A B C A B C ...), as in ``harness.py``; a figure is the median of its turns. It is processor
time, which a busy machine changes little. With ``--instructions`` valgrind counts instructions, which do not depend on the load.

It is not a part of ``make bench``: these figures have no floor, and are not compared with PyTorch.
"""

import argparse
import ast
import importlib.machinery
import importlib.util
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

__all__ = ["CHAIN", "KINDS", "PLAIN", "SIZES", "build", "load", "sources", "written"]

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "tutorials/16_two_speeds.py"
PLAIN = "not compiled"
CHAIN = 1000                        # of the tutorial's engine: 2,000 nodes
SIZES = (1, 8, 1024, 16384, 1_000_000)
KINDS = ("interpreted", "compiled, kernels in NumPy", "compiled")
OPS = 200


def written(*names):
    """The values that the tutorial assigns to these names. Of the rest, only its function `edit` is run."""
    wanted = []
    for node in ast.parse(TUTORIAL.read_text("utf-8")).body:
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            target = target.value if isinstance(target, ast.Subscript) else target
            if isinstance(target, ast.Name) and target.id in names:
                wanted.append(node)
        elif isinstance(node, ast.FunctionDef) and node.name == "edit":
            wanted.append(node)
    found: dict = {}
    exec(compile(ast.Module(wanted, []), str(TUTORIAL), "exec"), found)
    return found


def sources():
    """The source of each step of the tutorial: name -> source."""
    return written("NODE", "ENGINE", "CHAIN", "TAPE", "FIELDS", "INIT", "MAKE_NODE", "STEPS")["STEPS"]


def build(source, folder):
    """Compile a source with the command of the tutorial. Return the path of the extension module.

    Raises:
        RuntimeError: the source does not compile, or no C compiler is installed.
    """
    folder.mkdir(parents=True)
    (folder / "tape.py").write_text(source, "utf-8")
    done = subprocess.run([sys.executable, "-m", "Cython.Build.Cythonize", "-q", "-i", "-3", "tape.py"], cwd=folder,
                          capture_output=True, text=True, check=False)
    found = [path for suffix in importlib.machinery.EXTENSION_SUFFIXES for path in folder.glob(f"tape{suffix}")]
    if done.returncode != 0 or not found:
        raise RuntimeError(f"tape.py did not compile:\n{done.stdout}\n{done.stderr}")
    return found[0]


def load(path):
    """Load the module ``tape`` from a file, a source or a binary."""
    spec = importlib.util.spec_from_file_location("tape", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def in_turns(runs, turns):
    """The median of the results of each function over the turns, in seconds, by name."""
    found = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(turns):
        for name, run in runs.items():
            found[name].append(run())
    return {name: statistics.median(times) for name, times in found.items()}


def timed(run, times):
    """Processor time per run, in seconds."""
    start = time.process_time()
    for _ in range(times):
        run()
    return (time.process_time() - start) / times


INSTRUCTIONS = """
import sys; from benchmarks.two_speeds import CHAIN, load
tape = load(sys.argv[1]); [tape.chain(CHAIN) for _ in range(int(sys.argv[2]))]"""


def instructions(path):
    """Instructions per node: the difference between 12 runs and 2, by valgrind."""
    counts = []
    for runs in ("2", "12"):
        told = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c", INSTRUCTIONS,
                               str(path), runs], cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": "0"}, capture_output=True,
                              text=True, check=True).stderr
        match = re.search(r"Collected : (\d+)", told)
        assert match, told
        counts.append(int(match[1]))
    return (counts[1] - counts[0]) / 10 / (2 * CHAIN)


def steps(turns, count):
    """The table of steps: (name, nanoseconds per node, instructions per node or None)."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for number, (name, source) in enumerate(sources().items()):
            paths[name] = build(source, Path(folder, str(number)))
        paths = {PLAIN: Path(folder, "0/tape.py"), **paths}
        modules = {name: load(path) for name, path in paths.items()}
        medians = in_turns({name: lambda tape=tape: timed(lambda: tape.chain(CHAIN), 5) for name, tape in modules.items()}, turns)
        return [(name, 1e9 * medians[name] / (2 * CHAIN), instructions(path) if count else None) for name, path in paths.items()]


def engine_run(size):
    """The function that runs `OPS` ops on so many numbers, forward and backward."""
    import numpy as np

    import minigrad as mg
    mg.set_num_threads(1)
    x, b, a = [mg.tensor(np.full(size, value, np.float32)) for value in (0.5, 0.99, 0.01)]
    x.requires_grad_(True)
    gradient = mg.ones_like(x)

    def run():
        y = x
        for _ in range(OPS // 2):
            y = y * b + a
        y.backward(gradient)
        x.grad = None
    return run


def serve(kind):
    """In a process of its own: for each line ``size times`` on the input, the seconds of one op on the output."""
    if kind == "compiled, kernels in NumPy":
        import minigrad as mg
        from minigrad.kernels import NUMPY
        mg.device("cpu").backend.use(NUMPY)
    runs = {}
    for line in sys.stdin:
        size, times = map(int, line.split())
        if size not in runs:
            runs[size] = engine_run(size)
        print(timed(runs[size], times) / OPS, flush=True)


def engines(turns):
    """The table of the engine: (size, seconds per op by kind)."""
    workers = {}
    for kind in KINDS:
        environment = os.environ | {"MINIGRAD_PURE": "1" if kind == KINDS[0] else "0", "PYTHONPATH": str(ROOT)}
        workers[kind] = subprocess.Popen([sys.executable, "-c", f"from benchmarks.two_speeds import serve; serve({kind!r})"],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def ask(worker, size):
        print(size, 1 if size >= 100_000 else 5, file=worker.stdin, flush=True)
        return float(worker.stdout.readline())

    table = [(size, in_turns({kind: lambda size=size, worker=worker: ask(worker, size) for kind, worker in workers.items()}, turns))
             for size in SIZES]
    for worker in workers.values():
        worker.communicate()
    return table


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.two_speeds", description="What compiling gains, step by step.")
    parser.add_argument("--turns", type=int, default=25, help="how often each program has its turn")
    parser.add_argument("--instructions", action="store_true", help="count instructions as well (needs valgrind; minutes)")
    options = parser.parse_args()
    if options.instructions and shutil.which("valgrind") is None:
        print("--instructions needs valgrind", file=sys.stderr)
        return 2
    print("| step | ns per node | times as fast | instructions per node |\n|---|--:|--:|--:|")
    rows = steps(options.turns, options.instructions)
    for name, ns, count in rows:
        print(f"| {name} | {ns:,.0f} | {rows[0][1] / ns:.1f} | {'' if count is None else f'{count:,.0f}'} |")
    print(f"\n| numbers | {' | '.join([f'{kind}, µs' for kind in KINDS])} | interpreted / compiled |\n|--:|--:|--:|--:|--:|")
    for size, seconds in engines(options.turns):
        print(f"| {size:,} | {' | '.join([f'{1e6 * seconds[kind]:,.2f}' for kind in KINDS])} | "
              f"{seconds[KINDS[0]] / seconds[KINDS[2]]:.1f} |")
    return 0


if __name__ == "__main__":
    for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):     # before NumPy is imported
        os.environ[variable] = "1"
    sys.exit(main())
