"""The tests of derivatives of functions (tests/autograd/test_functional.py, tests/func) on PyTorch, but for those marked `ours`."""

import pytest
import torch

from tests.autograd import test_functional as _functional

for _module in (_functional,):
    for _name, _test in list(vars(_module).items()):
        if _name.startswith("test_") and not getattr(_test, "ours", False):
            assert _name not in globals(), f"two tests are called {_name}: one would hide the other"
            globals()[_name] = _test


@pytest.fixture
def m():
    return torch
