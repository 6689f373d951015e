"""``python -m benchmarks.gpu``: the speed table of a GPU, as ratios to PyTorch eager on the same one, in the same process."""

import argparse
import datetime
import os
import sys
import time
import warnings
from pathlib import Path

SECONDS = 0.5       # of measuring each scenario
LIMIT = 220         # no scenario starts after this many seconds


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=(__doc__ or "").partition(": ")[2])
    parser.add_argument("--toy", action="store_true", help="tiny sizes, without PyTorch: whether it runs, also on the simulator")
    parser.add_argument("--only", default="", help="only scenarios with this in their name, and the copy")
    parser.add_argument("--patience", type=float, default=1.0, metavar="S", help="measure so many times as long")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as Markdown, too")
    options = parser.parse_args()
    if options.toy:
        os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

    import minigrad
    from benchmarks.gpu.measuring import Machine, measure
    from benchmarks.gpu.operations import operations
    from benchmarks.gpu.programs import programs

    if not minigrad.cuda.is_available():
        print("there is no GPU here, or no numba-cuda: pip install 'minigrad-autograd[cuda]'; --toy runs on the simulator",
              file=sys.stderr)
        return 2
    warnings.filterwarnings("ignore", message="Grid size")      # numba, of kernels of a block or two
    machine = Machine(minigrad, None if options.toy else torch_with_cuda(),
                      simulated=os.environ.get("NUMBA_ENABLE_CUDASIM") == "1")
    if machine.simulated:
        sys.setswitchinterval(1e-4)     # as in tests/cuda/conftest.py
    # The copy comes first, then scenarios with a floor, in case the time is too short for all.
    scenarios = sorted([*operations(options.toy), *programs(options.toy)],
                       key=lambda s: (s.name != "copy", s.ratio is None and s.share is None))
    chosen = [s for s in scenarios if options.only in s.name or s.name == "copy"]
    start, results = time.perf_counter(), []
    for i, scenario in enumerate(chosen):
        if not machine.simulated and time.perf_counter() - start > LIMIT * max(options.patience, 1):
            print("out of time: left out " + ", ".join([s.name for s in chosen[i:]]), flush=True)
            break
        result = measure(scenario, machine, 0 if machine.simulated else SECONDS * options.patience)
        if scenario.name == "copy":
            machine.copy = scenario.nbytes / min([t for t in (result.ours, result.theirs) if t] or [float("inf")]) or None
        results.append(result)
        print(f"{time.perf_counter() - start:5.0f} s  {brief(result, machine.copy)}", flush=True)
    order = {s.name: i for i, s in enumerate([*operations(options.toy), *programs(options.toy)])}
    results.sort(key=lambda r: order[r.scenario.name])
    table = [cells(r, machine.copy) for r in results]
    print()
    for row in [HEADINGS, *table]:
        print(f"{row[0]:<66}" + "".join([f"{cell:>{width}}" for cell, width in zip(row[1:], WIDTHS)]))
    for r in results:
        for library, error in (("minigrad", r.error), ("torch", r.torch_error)):
            if error:
                print(f"FAILED: {r.scenario.name}, {library}: {error}")
    if options.markdown is not None:
        options.markdown.write_text(markdown(machine, results, table), "utf-8")
    return 1 if any(r.error for r in results) else 0


def torch_with_cuda():
    """PyTorch, if it is there and sees the GPU."""
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: only minigrad is timed", flush=True)
        return None
    if torch.cuda.is_available():
        return torch
    print(f"PyTorch {torch.__version__} sees no GPU: only minigrad is timed", flush=True)
    return None


# ---- the table --------------------------------------------------------------------------------------------

HEADINGS = "scenario", "minigrad", "torch", "ratio", "rate", "of copy", "floor", ""
WIDTHS = 14, 14, 8, 16, 9, 20, 8


def of(value, form):
    return "" if value is None else format(value, form)


def microseconds(seconds):
    return "" if seconds is None else f"{1e6 * seconds:,.1f} µs" if seconds < 1e-4 else f"{1e6 * seconds:,.0f} µs"


def rate(result):
    """The bytes or floating-point operations of minigrad per second."""
    if not result.ours:
        return ""
    if result.scenario.flops:
        return f"{result.scenario.flops / result.ours / 1e12:.1f} TFLOP/s"
    return f"{result.scenario.nbytes / result.ours / 1e9:,.0f} GB/s" if result.scenario.nbytes else ""


def floors(scenario):
    wanted = [of(scenario.ratio, ".2f"), f"{scenario.share:.0%} of copy" if scenario.share else ""]
    return ", ".join([text for text in wanted if text])


def cells(result, copy):
    """A line of the table."""
    s = result.scenario
    verdict = "FAILED" if result.error else {True: "ok", False: "BELOW", None: ""}[result.reached(copy)]
    return (s.name, microseconds(result.ours), "FAILED" if result.torch_error else microseconds(result.theirs),
            of(result.ratio, ".2f"), rate(result), of(result.share(copy), ".0%"), floors(s), verdict)


def brief(result, copy):
    return " | ".join([cell for cell in cells(result, copy) if cell]) + (f": {result.error}" if result.error else "")


def markdown(machine, results, table):
    """The table as benchmarks/results/gpu.md has it."""
    import minigrad
    from minigrad._build import pure as _pure
    torch = "no PyTorch" if machine.torch is None else f"PyTorch {machine.torch.__version__} (CUDA {machine.torch.version.cuda})"
    today = datetime.date.today()
    copy = "" if machine.copy is None else f" A copy moves {machine.copy / 1e12:.2f} TB/s."
    lines = [
        f"Measured on {today.day} {today:%B %Y} by `python -m benchmarks.gpu`: minigrad {minigrad.__version__} ({_pure.mode()}), "
        f"{torch}, Python {sys.version_info.major}.{sys.version_info.minor}, {minigrad.cuda.get_device_name()}.{copy}", "",
        "| " + " | ".join(HEADINGS) + " |", "|---|" + "--:|" * 6 + ":-:|",
        *["| " + " | ".join([cell.replace("|", "\\|") for cell in row]) + " |" for row in table]]
    failed = [f"* FAILED: {r.scenario.name}: {error}".split("\n")[0]
              for r in results for error in (r.error, r.torch_error) if error]
    return "\n".join(lines + ([""] + failed if failed else [])) + "\n"


if __name__ == "__main__":
    sys.exit(main())
