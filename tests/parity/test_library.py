"""The tests of custom operators (tests/library) on PyTorch: torch must pass them too.

Tests marked `ours` are left out: there minigrad is better than torch.
"""

import importlib
from pathlib import Path

import pytest
import torch

for _path in sorted((Path(__file__).parent.parent / "library").glob("test_*.py")):
    for _name, _test in vars(importlib.import_module(f"tests.library.{_path.stem}")).items():
        if _name.startswith("test_") and not getattr(_test, "ours", False):
            assert _name not in globals(), f"two tests are called {_name}: one would hide the other"
            globals()[_name] = _test


@pytest.fixture
def m():
    return torch
