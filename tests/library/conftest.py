"""The tests of custom operators take the library as `m`, so that tests/parity/test_library.py can run them on PyTorch."""

import pytest

import minigrad


@pytest.fixture
def m():
    return minigrad
