"""PyTorch, for the tests that compare with it: they are skipped without it."""

import pytest


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch")
