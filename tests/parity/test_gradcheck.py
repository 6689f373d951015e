"""gradcheck in minigrad and in torch: the same verdicts on the same derivatives, and the tests of tests/autograd on torch."""

import pytest
import torch

import minigrad as mg
from tests.autograd import test_gradcheck as _tests
from tests.autograd.derivatives import CASES, MODES

for _name, _test in list(vars(_tests).items()):
    if _name.startswith("test_") and not getattr(_test, "ours", False):
        globals()[_name] = _test

# torch looks for output i among all outputs where it means the i-th that requires a gradient, or the other way round.
MISCOUNTED = {"beside_an_index", "beside_a_constant", "one_output_wrong_beside_an_index"}
SAME = [(n, mode) for n, (_, _, only) in CASES.items() for mode in MODES if mode in only and n not in MISCOUNTED
        and (n, mode) != ("detached", "forward, fast")]     # torch: IndexError


@pytest.fixture
def m():
    return torch


@pytest.mark.parametrize("name, mode", SAME)
def test_same_verdict(name, mode):
    """tensor_surface/Z-04: 55 derivatives in nine modes."""
    assert _tests.judge(mg, name, mode) == _tests.judge(torch, name, mode)
