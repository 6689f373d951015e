"""The tests of the engine take the library as `m`, so that tests/parity/test_engine.py can run them on PyTorch."""

import pytest

import minigrad


@pytest.fixture
def m():
    return minigrad
