"""``python -m benchmarks``: the speed table, as ratios to PyTorch eager in the same process."""

import argparse
import os
import sys
from pathlib import Path

# One thread each, and before NumPy is imported, which is when BLAS reads these.
for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[variable] = "1"

HEADINGS = "scenario", "minigrad", "torch", "ratio", "floor", "", "spread", "pairs"


def markdown(head, rows, memory):
    """The file results/cpu.md: where and when it was measured, the table, and the lines about memory."""
    lines = [f"| {' | '.join(row)} |" for row in (HEADINGS, *rows)]
    lines.insert(1, "|---|--:|--:|--:|--:|:-:|--:|--:|")
    return "\n".join([head, "", *lines, "", *[f"* {line}" for line in memory], ""])


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("--only", default="", help="only scenarios with this in their name")
    parser.add_argument("--patience", type=float, default=1.0, help="a factor for the time of each measurement")
    parser.add_argument("--markdown", nargs="?", const=True, type=Path, metavar="FILE",
                        help="print the table as Markdown; or write it to a file, as results/cpu.md has it")
    options = parser.parse_args()
    try:
        import torch
        from rich import box
        from rich.console import Console
        from rich.progress import track
        from rich.table import Table
    except ImportError as error:
        print(f"the benchmarks need the package {error.name}: pip install 'minigrad-autograd[bench]'", file=sys.stderr)
        return 2

    import minigrad
    from benchmarks import records
    from benchmarks.harness import measure
    from benchmarks.memory import STEPS, bytes_per_node, peak_of_step
    from benchmarks.scenarios import SCENARIOS
    from minigrad._build import pure as _pure

    machine = records.machine(["torch"])
    chosen = [s for s in SCENARIOS if options.only in s.name]
    results = [measure(s, minigrad, torch, options.patience)
               for s in track(chosen, "measuring", console=Console(stderr=True), transient=True)]

    table = Table(title=f"minigrad {minigrad.__version__} ({_pure.mode()}) and PyTorch {torch.__version__}, one thread each",
                  box=box.MARKDOWN if options.markdown else box.SIMPLE)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "scenario" else "right", no_wrap=True)
    rows = [(r.scenario.name, f"{1e6 * r.ours:,.0f} µs", f"{1e6 * r.theirs:,.0f} µs", f"{r.ratio:.2f}", f"{r.scenario.floor:.1f}",
             "ok" if r.ratio >= r.scenario.floor else "BELOW", f"{r.spread:.2f}", str(r.pairs)) for r in results]
    for row in rows:
        table.add_row(*row)
    Console(width=160).print(table)
    memory = []
    if not options.only and os.path.exists("/proc/self/statm"):
        for both, what in ((False, "x*b, b constant"), (True, "x*b, both require a gradient")):
            memory.append(f"bytes per node, {what}: minigrad {bytes_per_node('minigrad', both):.0f}, torch "
                          f"{bytes_per_node('torch', both):.0f}")
            print(memory[-1])
        for scenario, sizes in STEPS:
            ours, theirs = [peak_of_step(module, scenario, sizes) / 1e6 for module in ("minigrad", "torch")]
            memory.append(f"peak memory of a training step, {scenario} {sizes}: minigrad {ours:.1f} MB, torch {theirs:.1f} MB, "
                          f"ratio {ours / theirs:.2f}")
            print(memory[-1])
    if isinstance(options.markdown, Path):
        head = records.describe({"command": "python -m benchmarks", "machine": machine, "load_at_end": records.load()})
        options.markdown.write_text(markdown(head, rows, memory), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
