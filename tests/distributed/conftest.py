"""As in tests/core: the library is `m`, so that tests/parity/test_engine.py can run these tests on PyTorch too."""

import pytest

import minigrad
from tests.distributed.launch import check_mpi


@pytest.fixture(scope="session")
def mpi():
    """For tests of several ranks."""
    check_mpi()


@pytest.fixture
def m():
    return minigrad
