"""Every test run reports its mode, and fails if this is not the expected mode.

    pytest tests                        compiled: fails if the extension modules are not the ones loaded
    MINIGRAD_PURE=1 pytest tests        interpreted
    MINIGRAD_EXPECT=interpreted pytest  for an install that was made without a compiler
    pytest --share 1/4 tests/cuda       every fourth test, the same ones each time

`tests/parity` and `tests/accuracy` compare with PyTorch and are collected only where torch is installed.
"""

import gc
import importlib.util
import os
import random
import sys
import zlib

import numpy as np
import pytest

import minigrad as mg
from minigrad._build import pure as _pure

# The packages that some tests need. A run without one of them says so at its end.
OPTIONAL = ["torch", "numba", "numba_cuda", "safetensors", "sklearn", "matplotlib", "pygraphviz", "rich", "jsonschema", "nbgrader", "jupytext",
            "mpi4py"]
TORCH = importlib.util.find_spec("torch") is not None
# The same in both of our modes, so that an interpreted run leaves them to the compiled one: what looks at the sources, at the table of
# ops, or at PyTorch alone, and the programs that measure speed.
MODELESS = ["parity/test_engine.py", "docs/test_measurements.py", "docs/test_editions.py", "docs/test_slides.py", "kernels/test_portable_c.py",
            "test_layers.py", "test_op_table.py", "test_pythons.py", "test_release.py", "test_types.py", "test_workflows.py"]
collect_ignore = MODELESS * _pure.PURE + ["parity", "accuracy"] * (not TORCH)
# Of the rows of tables (parametrized tests) a run takes a part, the same ones each time, unless MINIGRAD_EVERY=1.
EVERY = os.environ.get("MINIGRAD_EVERY") == "1"
EIGHTH = {"accuracy"}       # one eighth compiled, another interpreted
HALF = {"test_editions.py", "test_slides.py", "test_contract.py"}
ONCE = {"grading", "test_arguments.py", "test_training.py"}     # half compiled, the other half interpreted
SOME = {"nn", "ops", "parity", "kernels", "optim", "utils"}       # all of them compiled, one eighth interpreted


def expected_mode():
    """The mode this run claims to test."""
    return "interpreted" if _pure.PURE else os.environ.get("MINIGRAD_EXPECT", "compiled")


def pytest_report_header(config):
    oracle = "PyTorch is the oracle of tests/parity" if TORCH else "tests/parity NOT collected: torch is not installed"
    return [f"minigrad {mg.__version__}: {_pure.mode()}, {len(_pure.compiled_modules())} extension modules loaded; {oracle}"]


def pytest_addoption(parser):
    parser.addoption("--share", default="1/1", metavar="K/N", help="run part K of N of the tests: each test belongs to one part, by its name")


def has_its_turn(item, number):
    """Whether a run takes this row of a table, if it is one."""
    places = set(item.path.parts[-2:])
    if EVERY or not hasattr(item, "callspec"):
        return True
    if places == {"parity", "test_engine.py"}:      # PyTorch in the engine's tests: what it does changes with its version only
        return number % 4 == 0
    if places & EIGHTH:
        return number % 8 == _pure.PURE
    if places & HALF:
        return number % (8 if _pure.PURE else 2) == 0
    if places & ONCE:
        return number % 2 == _pure.PURE
    return not (_pure.PURE and places & SOME) or number % 8 == 0


def pytest_collection_modifyitems(config, items):
    part, parts = map(int, config.getoption("--share").split("/"))
    if not 1 <= part <= parts:
        raise pytest.UsageError(f"--share {part}/{parts}: of {parts} parts, the first is 1 and the last {parts}")
    numbers = {item: zlib.crc32(item.nodeid.encode()) for item in items}
    ours = {item for item, number in numbers.items() if number % parts == part - 1 and has_its_turn(item, number // parts)}
    config.hook.pytest_deselected(items=[item for item in items if item not in ours])
    items[:] = [item for item in items if item in ours]


def pytest_sessionstart(session):
    found = _pure.mode()
    if found != expected_mode():
        raise pytest.UsageError(
            f"this run expects minigrad to be {expected_mode()}, but it is {found}. Build with `make build`, or set "
            "MINIGRAD_PURE=1 (or MINIGRAD_EXPECT=interpreted) to test the interpreted mode.")


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"mode: {_pure.mode()}")
    if lacking := [name for name in OPTIONAL if importlib.util.find_spec(name) is None]:
        terminalreporter.write_line(f"left out: the tests that need {', '.join(lacking)}, not installed for Python "
                                    f"{sys.version_info[0]}.{sys.version_info[1]}")


@pytest.fixture(autouse=True, scope="module")
def nothing_old_is_collected():
    """Hide what collecting 50,000 tests has made, and what earlier ones have left: many tests call the collector."""
    gc.collect()
    gc.freeze()


def switches():
    """The settings of the whole process that a program may change."""
    cudnn = mg.backends.cudnn
    return {"grad": mg.is_grad_enabled(), "anomaly mode": mg.is_anomaly_enabled(), "deterministic": mg.get_deterministic_debug_mode(),
            "precision": mg.get_float32_matmul_precision(), "tf32": mg.backends.cuda.matmul.allow_tf32,
            "cudnn": (cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.benchmark_limit, cudnn.allow_tf32)}


@pytest.fixture(autouse=True)
def same_numbers_every_time():
    """Every test starts from the same random numbers, the default dtype and gradients enabled, and leaves all switches as they were."""
    mg.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    before = switches()
    yield
    mg.set_default_dtype(mg.float32)
    assert switches() == before, "the test left a switch of the process changed, which a later test would find so"


@pytest.fixture
def hide_torch(monkeypatch):
    """A function after which PyTorch is as if no test had imported it, until the end of the test."""
    def hide():
        for name in [name for name in sys.modules if name == "torch" or name.startswith("torch.")]:
            monkeypatch.delitem(sys.modules, name)
    return hide


@pytest.fixture
def no_collection():
    """Disable the garbage collector, so that only reference counting frees objects."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def shallow_stack():
    """As few frames as pytest itself leaves."""
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 200)
    yield
    sys.setrecursionlimit(limit)
