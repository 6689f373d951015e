"""The tests of the engine and of writes in place (tests/core) on PyTorch: torch must pass them too.

Tests marked `ours` are left out: there minigrad is better than torch, or torch has no counterpart.
"""

import importlib
from pathlib import Path

import pytest
import torch

CORE = Path(__file__).parent.parent / "core"
ALIKE = ("versions", "views", "inplace", "saved_errors", "inference", "allow_mutation",
         "inplace_table", "inplace_views", "out", "setitem", "forward", "drawn")
for _path in [*sorted(CORE.glob("test_engine_*.py")), *[CORE / f"test_{name}.py" for name in ALIKE],
              *sorted(CORE.glob("test_function*.py"))]:
    for _name, _test in vars(importlib.import_module(f"tests.core.{_path.stem}")).items():
        if _name.startswith("test_") and not getattr(_test, "ours", False):
            assert _name not in globals(), f"two tests are called {_name}: one would hide the other"
            globals()[_name] = _test


@pytest.fixture
def m():
    return torch
