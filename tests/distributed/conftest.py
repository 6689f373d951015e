"""As in tests/core: the library is `m`, so that tests/parity/test_engine.py can run these tests on PyTorch too."""

import warnings

import pytest

import minigrad
import minigrad.distributed as dist
from minigrad.distributed import _launch
from tests.distributed.launch import check_mpi


@pytest.fixture(scope="session")
def mpi():
    """For tests of several ranks."""
    check_mpi()


@pytest.fixture
def m():
    return minigrad


@pytest.fixture
def alone(monkeypatch):
    """This process is the only rank, also if mpiexec has started the tests. Returns what `init_process_group` has warned of."""
    for name in _launch.LAUNCHED:
        monkeypatch.delenv(name, raising=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        dist.init_process_group()
    yield [str(w.message) for w in said]
    dist.destroy_process_group()
