"""Tests on a GPU: ``make test-cuda``, on numba's simulator if there is no GPU. The report says which one runs.

    NUMBA_ENABLE_CUDASIM=1 pytest tests/cuda
"""

import os
import sys
from collections import Counter

import minigrad as mg

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
if SIMULATED:
    # The simulator's threads wait for each other at every syncthreads, and its main thread polls meanwhile. With Python's 5 ms before
    # another thread gets its turn, a kernel of many barriers takes ten times as long.
    sys.setswitchinterval(1e-4)
HERE = mg.cuda.is_available()
collect_ignore_glob = [] if HERE else ["test_*.py"]


def pytest_report_header(config):
    if not HERE:
        return ["tests/cuda NOT collected: no GPU, or no numba-cuda; NUMBA_ENABLE_CUDASIM=1 runs them on its simulator"]
    return [f"tests/cuda run on {where()}"]


def where():
    """The device that the tests run on."""
    return "the simulator of numba-cuda" if SIMULATED else mg.cuda.get_device_name() if HERE else "nothing: there is no GPU"


def pytest_terminal_summary(terminalreporter):
    """Count the cases: an op that reports a missing kernel passes its test, but must not count as computed."""
    ended = [(how, report) for how in ("passed", "failed", "skipped") for report in terminalreporter.stats.get(how, ())
             if "tests/cuda/" in report.nodeid and (how == "skipped" or report.when == "call")]
    if not ended:
        return
    terminalreporter.section("tests/cuda: what ran where")
    for line in counted(ended):
        terminalreporter.write_line(line)


def counted(ended):
    """The lines of the summary, of (how it ended, report)."""
    done = [report for how, report in ended if how != "skipped"]
    compiled = [report for report in done if "/test_compile_" in report.nodeid]
    properties = [(name, value) for report in done for name, value in report.user_properties]
    lacking, refused = [Counter([value for name, value in properties if name == which]) for which in ("lacking", "refused")]
    yield f"{len(done) - len(compiled) - lacking.total()} tests computed on {where()}"
    if dtypes := Counter([value for name, value in properties if name == "ran"]):
        yield f"    {dtypes.total()} of them cases of ops: " + ", ".join([f"{n} in {dtype}" for dtype, n in dtypes.most_common()])
    if raised := Counter([value for name, value in properties if name == "raised"]):
        yield f"    {raised.total()} of them raise the error of the CPU: {', '.join(sorted(raised))}"
    if lacking:
        yield (f"{lacking.total()} cases of ops computed nothing and say so, NotImplementedError, for want of the kernels "
               + ", ".join([f"{kernel} ({n})" for kernel, n in sorted(lacking.items())]))
    if refused:
        yield (f"{refused.total()} calls of kernels, in tests of others, were refused for their dtype: "
               + ", ".join([f"{kernel} ({n})" for kernel, n in sorted(refused.items())]))
    if compiled:
        yield f"{len(compiled)} tests compiled kernels for a GPU, and ran none"
    reasons = Counter([report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
                       for how, report in ended if how == "skipped"])
    for reason, n in sorted(reasons.items()):
        yield f"{n} tests did not run: {reason.removeprefix('Skipped: ')}"
