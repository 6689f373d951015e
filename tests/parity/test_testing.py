"""The messages of assert_close equal torch's word for word, and torch passes its tests."""

import pytest
import torch

import minigrad as mg
from tests.testing import test_assert_close as _tests

for _name, _test in list(vars(_tests).items()):
    if _name.startswith("test_") and not getattr(_test, "ours", False):
        globals()[_name] = _test


@pytest.fixture
def m():
    return torch


@pytest.mark.parametrize("name", _tests.CASES)
def test_same_words(name):
    assert _tests.answer(mg, name) == _tests.answer(torch, name)
