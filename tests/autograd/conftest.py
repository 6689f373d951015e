"""As in tests/core: the library is `m`, so that tests/parity can run these tests on PyTorch too."""

import pytest

import minigrad


@pytest.fixture
def m():
    return minigrad
