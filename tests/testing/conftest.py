"""The tests of this folder get the library as `m`; tests/parity runs the tests of assert_close with torch."""

import pytest

import minigrad


@pytest.fixture
def m():
    return minigrad
