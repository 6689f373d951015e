"""As in tests/core: the library is `m`, so that tests/parity/test_functional.py can run these tests on PyTorch too."""

import pytest

import minigrad


@pytest.fixture
def m():
    return minigrad
