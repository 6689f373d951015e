"""The contracts of docs/contracts: each that is in scope has a test, and each that a test cites is there."""

import re

import pytest

contracts = pytest.importorskip("tools.docs.contracts", reason="needs a source tree")

ALL, CITED = contracts.contracts(), contracts.citations()
WAITING = re.compile(r"pipelining_backward/[OKVXQ]-")       # stages and schedules, which are not built yet


def test_each_has_a_test():
    assert len(ALL) > 850
    assert [name for name, text in ALL.items() if contracts.in_scope(text) and not WAITING.match(name) and name not in CITED] == []


def test_each_that_is_cited_is_there():
    files = {name.partition("/")[0] for name in ALL}
    assert [name for name in CITED if name.partition("/")[0] in files and name not in ALL] == []


def test_page():
    text = "# Contract: x\n\n## 1. y\n- A-01 One tensor\n  or a sequence.\n- A-02 Two.\n"
    made = contracts.page("x", text, {"x/A-01": [("tests/a.py", "test_b"), ("tests/c.py", None)]})
    assert '- <span id="A-01"></span>**A-01** One tensor\n  or a sequence. *Tested by `tests/a.py`: `test_b`; `tests/c.py`.*\n' in made
    assert made.endswith('**A-02** Two. *No test yet.*')
