"""``python -m benchmarks.growth``: time and memory per node as graphs grow, from a hundred nodes to two million.

    chain    each node multiplies the result of the one before
    tree     sums of pairs, of pairs of pairs, and so on up to a root
    fan-in   products of one leaf, added one after another; the program holds the products
    grid     each node adds its left and its upper neighbour

Each is built, run backward, and then freed. The nodes compute on single numbers, so we measure the work around the arithmetic.
minigrad and PyTorch take turns, with Python's garbage collector and without it (A B C D A B C D ...). A figure is the median of
its turns, in nanoseconds per node. The collector counts new objects, and now and then visits all that are alive. So a program that
holds many tensors pays for each more than once. The difference between the two lines of a library is the time of the collector.

The bytes per node are the growth of resident memory at the end of the forward, in a process of its own. Small graphs are built many
times over until they have 200,000 nodes, since memory grows by pages.

The result is ``results/growth.json``. The page about performance shows it: ``tools/docs/measurements.py``.
"""

import argparse
import gc
import math
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import records

__all__ = ["PROGRAMS", "SIZES", "VARIANTS", "bytes_per_node", "main", "measure"]

SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000)
VARIANTS = ("minigrad", "minigrad, no collector", "torch", "torch, no collector")
TURN = 0.005        # the shortest turn, in seconds
ENOUGH = 200_000    # nodes, for the bytes of small graphs


# ---- the programs: (module, about so many nodes) -> (build, leaf, number of nodes). build() returns the root and what is held ----

def chain(m, n):
    x, factor = m.tensor(1.0, requires_grad=True), m.tensor(1.0)

    def build():
        y = x
        for _ in range(n):
            y = y * factor
        return y, None
    return build, x, n


def tree(m, n):
    x = m.tensor(1.0, requires_grad=True)

    def build():
        level = [x] * (n + 1)
        while len(level) > 1:
            sums = [a + b for a, b in zip(level[::2], level[1::2])]
            level = sums + level[2 * len(sums):]
        return level[0], None
    return build, x, n


def fan_in(m, n):
    x, factor = m.tensor(1.0, requires_grad=True), m.tensor(1.0)
    count = (n + 1) // 2

    def build():
        products = [x * factor for _ in range(count)]
        total = products[0]
        for product in products[1:]:
            total = total + product
        return total, products
    return build, x, 2 * count - 1


def grid(m, n):
    """Its numbers are zeros: as many paths lead from the first node to the last as no float can count."""
    x = m.tensor(0.0, requires_grad=True)
    side = math.isqrt(n)

    def build():
        row = [x] * side
        for _ in range(side):
            left, below = x, []
            for upper in row:
                left = left + upper
                below.append(left)
            row = below
        return row[-1], row
    return build, x, side * side


PROGRAMS = {"chain": chain, "tree": tree, "fan-in": fan_in, "grid": grid}


# ---- time -------------------------------------------------------------------------------------------------

class Variant:
    """A program of one library, with the collector or without it. A turn is a pair: seconds per node of the run, and of freeing."""

    def __init__(self, module, program, nodes, collector):
        self.build, self.leaf, self.nodes = PROGRAMS[program](module, nodes)
        self.gradient = module.tensor(0.0 if program == "grid" else 1.0)
        self.collector = collector
        self.runs = 1
        self.turns = []

    def turn(self):
        gc.collect()        # each turn begins with the same state of the collector
        if not self.collector:
            gc.disable()
        running = freeing = 0.0
        try:
            for _ in range(self.runs):
                start = time.perf_counter()
                root, held = self.build()
                root.backward(self.gradient)
                middle = time.perf_counter()
                del root, held
                end = time.perf_counter()
                self.leaf.grad = None
                running += middle - start
                freeing += end - middle
        finally:
            gc.enable()
        total = self.runs * self.nodes
        return running / total, freeing / total


def measure(modules, program, nodes, seconds=6.0, most=31):
    """The point of a program and a size: a dict with the figures of each variant.

    Args:
        modules (dict): "minigrad", and maybe "torch", -> the module.
        program (str): a name of `PROGRAMS`.
        nodes (int): about so many nodes.
        seconds (float): about so long.
        most (int): the largest number of turns. There are at least 3, however long they take.
    """
    variants = {name: Variant(modules[name.partition(",")[0]], program, nodes, "," not in name) for name in VARIANTS
                if name.partition(",")[0] in modules}
    small = nodes <= 30_000
    start = time.perf_counter()
    for variant in variants.values():
        if small:
            variant.turn()          # larger ones need no warming up
        first = variant.turn()
        variant.runs = max(1, round(TURN / (sum(first) * variant.nodes)))
        if not small and variant.runs == 1:
            variant.turns.append(first)
    turns = max(len(variant.turns) for variant in variants.values())
    while turns < 3 or (turns < most and time.perf_counter() - start < seconds):
        turns += 1
        for variant in variants.values():
            variant.turns.append(variant.turn())
    figures = {name: {part: records.quartiles([1e9 * turn[i] for turn in variant.turns]) for i, part in enumerate(("run", "free"))}
               for name, variant in variants.items()}
    return {"program": program, "nodes": variants["minigrad"].nodes, "turns": turns, "nanoseconds": figures, "bytes": {}}


# ---- memory -----------------------------------------------------------------------------------------------

def resident():
    """Bytes of memory of this process that are no file's."""
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("RssAnon"))


def print_bytes(library, points, enough):
    """Print the bytes per node of each (program, nodes), of copies with at least `enough` nodes together.

    A child of this process builds each, and its memory goes with it.
    """
    module = __import__(library)
    for program, nodes in points:
        pid = os.fork()
        if pid == 0:
            status = 1      # if the memory does not suffice
            try:
                build, _, _ = PROGRAMS[program](module, 1000)
                build()
                build, _, count = PROGRAMS[program](module, nodes)
                copies = max(1, enough // count)
                gc.collect()
                before = resident()
                held = [build() for _ in range(copies)]
                print(f"{(resident() - before) / (len(held) * count):.1f}", flush=True)
                status = 0
            finally:
                os._exit(status)
        if os.waitpid(pid, 0)[1] != 0:
            print("nan", flush=True)


def bytes_per_node(library, points):
    """The bytes per node of each (program, nodes), in order; an empty list where the system has no ``/proc`` or no ``fork``."""
    if not (hasattr(os, "fork") and os.path.exists("/proc/self/status")):
        return []
    program = f"from benchmarks.growth import print_bytes; print_bytes({library!r}, {points!r}, {ENOUGH})"
    root = str(Path(__file__).parents[1])
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True, cwd=root,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": root})
    return [None if line == "nan" else float(line) for line in done.stdout.split()]


# ---- the command ------------------------------------------------------------------------------------------

def parser():
    made = argparse.ArgumentParser(prog="python -m benchmarks.growth", description="Time and memory per node as graphs grow.")
    made.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="NODES")
    made.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS))
    made.add_argument("--seconds", type=float, default=6.0, help="of measuring each program in each size, about")
    made.add_argument("--turns", type=int, default=31, help="at most so many in each size, but at least 3")
    made.add_argument("--limit", type=float, default=30.0,
                      help="a library is left out of the larger sizes of a program when a turn would take more seconds")
    made.add_argument("--alone", action="store_true", help="without PyTorch")
    made.add_argument("--output", type=Path, default=records.RESULTS / "growth.json", metavar="FILE")
    return made


def main(arguments=None):
    options = parser().parse_args(arguments)
    if min(options.sizes) < 1:
        print("--sizes are numbers of nodes, at least 1", file=sys.stderr)
        return 2
    try:
        from rich.console import Console
        from rich.progress import track
    except ImportError as error:
        print(f"the benchmarks need the package {error.name}: pip install 'minigrad-autograd[bench]'", file=sys.stderr)
        return 2
    import minigrad

    modules = {"minigrad": minigrad}
    if not options.alone:
        try:
            import torch
            modules["torch"] = torch
        except ImportError:
            print("PyTorch is not installed: only minigrad is measured", file=sys.stderr)
    for module in modules.values():
        module.set_num_threads(1)
    record = {"command": records.command("benchmarks.growth", arguments), "machine": records.machine(modules), "load_at_end": None,
              "left_out": [], "points": []}
    slowest: dict[tuple[str, str], float] = {}
    work = [(size, program) for size in sorted(set(options.sizes)) for program in options.programs]
    for size, program in track(work, "measuring", console=Console(stderr=True), transient=True):
        chosen = {}
        for library, module in modules.items():
            if library == "minigrad" or slowest.get((program, library), 0.0) * size < options.limit:
                chosen[library] = module
            else:
                record["left_out"].append(f"{library}, {program}, {size:,} nodes: a turn would take more than {options.limit:g} s")
        point = measure(chosen, program, size, options.seconds, options.turns)
        record["points"].append(point)
        for library in chosen:
            slowest[program, library] = 1e-9 * sum([figure[0] for figure in point["nanoseconds"][library].values()])
        if program == options.programs[-1]:         # what is measured stays when the rest is interrupted
            rows = [point for point in record["points"] if not point["bytes"]]
            for library in modules:
                found = bytes_per_node(library, [(point["program"], point["nodes"]) for point in rows])
                for point, number in zip(rows, found):
                    point["bytes"][library] = number
            record["points"].sort(key=lambda point: (list(PROGRAMS).index(point["program"]), point["nodes"]))
            record["load_at_end"] = records.load()
            records.save(options.output, record)
    report(record)
    return 0


def report(record):
    """Print the figures."""
    libraries = list(record["points"][0]["nanoseconds"]) if record["points"] else []
    print("nanoseconds per node: forward + backward, then freeing")
    print(f"{'program':<8} {'nodes':>10} " + " ".join([f"{name:>24}" for name in libraries]) + "   bytes per node")
    for point in record["points"]:
        times = [f"{figures['run'][0]:,.0f} + {figures['free'][0]:,.0f}" for figures in point["nanoseconds"].values()]
        print(f"{point['program']:<8} {point['nodes']:>10,} " + " ".join([f"{text:>24}" for text in times]) + "   "
              + ", ".join([f"{name} {number}" for name, number in point["bytes"].items()]))
    for text in record["left_out"]:
        print("left out:", text)


if __name__ == "__main__":
    for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):     # before NumPy is imported
        os.environ[variable] = "1"
    sys.exit(main())
