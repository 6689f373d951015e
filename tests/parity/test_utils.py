"""The tests of checkpointing, of dispatch modes and of trees (tests/utils) on PyTorch, except those marked `ours`."""

import pytest
import torch

from tests.utils import test_checkpoint as _plain
from tests.utils import test_checkpoint_selective as _selective
from tests.utils import test_python_dispatch as _dispatch
from tests.utils import test_pytree as _trees
from tests.utils.test_checkpoint import no_gc as no_gc

for _module in (_plain, _selective, _dispatch, _trees):
    for _name, _test in list(vars(_module).items()):
        if _name.startswith("test_") and not getattr(_test, "ours", False):
            assert _name not in globals(), f"two tests are called {_name}: one would hide the other"
            globals()[_name] = _test


@pytest.fixture
def m():
    return torch
