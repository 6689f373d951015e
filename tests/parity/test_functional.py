"""The tests of derivatives of functions (tests/autograd/test_functional.py, tests/func) on PyTorch, except those marked `ours`."""

import pytest
import torch

from tests.autograd import test_functional as _functional
from tests.func import test_forward as _forward
from tests.func import test_functional_call as _call
from tests.func import test_grad as _grad
from tests.func import test_vmap as _vmap

for _module in (_functional, _grad, _forward, _call, _vmap):
    for _name, _test in list(vars(_module).items()):
        if _name.startswith("test_") and not getattr(_test, "ours", False):
            globals()[f"{_name}_of_{_module.__name__.rpartition('_')[2]}"] = _test


@pytest.fixture
def m():
    return torch
