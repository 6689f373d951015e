"""docs/from-pytorch.md: every public name of PyTorch is there, or has a reason; every reason is needed."""

import re

import pytest

import minigrad as mg
from minigrad.run.check import resolve, torch_names
from minigrad.run.missing import REASONS, reason
from tools.docs import coverage


@pytest.mark.parametrize("module", torch_names())
def test_each_name_is_there_or_has_a_reason(module):
    assert not coverage.missing(module).get("not there yet"), "add a reason to minigrad/run/missing.py"


def test_each_reason_is_needed():
    missing = [(module, name) for module in torch_names() for names in coverage.missing(module).values() for name in names]
    used = {reason(module, name) for module, name in missing}
    assert set(REASONS.values()) - used == set()


def test_the_names_of_a_reason_are_public():
    for (module, names), why in REASONS.items():
        re.compile(module), re.compile(names)
        assert why[0].islower() or why.split()[0].rstrip("'s") == "PyTorch", why


def test_the_table():
    text = coverage.table()
    rows = re.findall(r"^\| `(torch[\w.]*)` \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    assert [name for name, _, _ in rows] == list(torch_names())
    for name, every, there in rows:
        absent = sum(map(len, coverage.missing(name).values()))
        assert int(every) == len(torch_names()[name]) and int(there) == int(every) - absent
    assert "| `torch.autograd.functional` | 6 | 6 |" in text
    assert "**Not in `minigrad.autograd.functional`**" not in text


@pytest.mark.parametrize(("name", "there"), [
    ("torch.nn.Linear", True), ("torch.nn.functional.relu", True), ("torch.Tensor.backward", True), ("torch.no_such", False),
    ("torch.nn.no_such.further", False), ("torch.tensor.anything", True)])
def test_resolve(name, there):
    found, reached = resolve(name)
    assert found == there
    assert name.startswith(reached)
    assert hasattr(mg, "nn")
