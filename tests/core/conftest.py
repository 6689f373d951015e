"""The tests of the engine take the library as `m`, so that tests/parity/test_engine.py can run them on PyTorch."""

import pytest

import minigrad
from minigrad._build import pure as _pure

# Compiled, no thread changes inside the functions that these tests watch.
collect_ignore = ["test_interleavings.py"] * (_pure.mode() != "interpreted")


@pytest.fixture
def m():
    return minigrad
