"""Every op and layer is as accurate in float32 and float16 as PyTorch is, on axes of thousands; the measure is in measure.py.

A case runs in one of four ways: in float32 or float16, on wide or on ordinary numbers, each time with another of its sizes made long.
``MINIGRAD_EVERY=1`` runs all four (`make accuracy`), and ``python -m tests.accuracy`` all sizes of all cases in all of them.
Without it, an eighth of the cases runs compiled, another interpreted (tests/conftest.py).
"""

import importlib.util
import os

import pytest

from minigrad._build import pure as _pure
from tests.accuracy import table
from tests.accuracy.exceptions import treatment
from tests.accuracy.forms import forms_of
from tests.accuracy.judge import WAYS, examine
from tests.accuracy.memory import growth
from tests.accuracy.survey import CASES, asked_of


def ways(name):
    """How a case is examined here; interpreted, in another way than compiled."""
    return WAYS if os.environ.get("MINIGRAD_EVERY") == "1" else [WAYS[(list(CASES).index(name) + _pure.PURE) % len(WAYS)]]


@pytest.mark.parametrize("name", CASES)
def test_as_accurate_as_pytorch(name):
    """differences/A-01, A-02, A-03, A-04, A-05, A-06, A-11"""
    complaints = [str(finding) for asked in asked_of(name, ways(name)) for finding in examine(*asked) if finding.complaint]
    assert not complaints, "\n".join(complaints)


@pytest.mark.skipif(importlib.util.find_spec("tools") is None, reason="an installed minigrad, without the tool that looks into ops")
@pytest.mark.skipif(_pure.PURE, reason="the same in both modes: the compiled run has it")
def test_every_derivative_is_measured():
    """An op that has a derivative runs in a form, or in the backward of one."""
    from tools import op_facts, op_table
    measured = {name for name in CASES if forms_of(CASES[name])}
    facts = op_facts.facts(op_table.every_case()).values()
    assert not [fact.name for fact in facts if fact.vjp and not (fact.cases[0] | fact.cases[1]) & measured]


def test_the_table_has_all_cases():
    """`make ops` shows figures that ``python -m tests.accuracy --table`` has measured; of new cases there are none yet."""
    assert set(table.read()) == {name for name in CASES if forms_of(CASES[name]) and treatment(name, "value") != "skipped"}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_take_the_memory_of_their_forward(name):
    """No matrix of all pairs: four times the numbers take at most some four times the memory, or as the forward does."""
    forms = forms_of(CASES[name])
    if forms:
        form = forms[list(CASES).index(name) % len(forms)]
        assert not too_much(form) or not too_much(form)     # at random, Python's own memory grows during the short one, or the long one


def too_much(form):
    """What takes more memory than it may."""
    return {asked: times for asked, (times, allowed, _) in growth(form).items() if times > allowed}
