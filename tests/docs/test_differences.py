"""The tables of differences on the page of the map: each mark on a test is complete, and each reason of the comparisons is shown."""

import ast
import re

import pytest

from tests.docs.conftest import ROOT
from tools.docs import differences

ROWS = differences.decided()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.file}-{row.test}")
def test_a_mark_is_complete(row):
    """The fields are readable: no field is empty, sentences are short and complete, and the two libraries differ."""
    assert all(field.strip() == field != "" for field in row)
    assert row.there != row.here and len(row.what) <= 110
    for text in (row.what, row.there, row.here):
        assert text.count("`") % 2 == 0
        for sentence in re.split(r"(?<=[.:;])\s", text):
            assert len(sentence.split()) < 25
    assert row.there.endswith(".") and row.here.endswith(".") and not row.what.endswith(".")


def test_each_mark_has_a_row():
    """Marks are found in the text of the tests as well, in case that one is written in another way."""
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py")}
    written = {file: len(re.findall(r"^@pytest\.mark\.differs\b", text, re.MULTILINE)) for file, text in texts.items()}
    found = [row.file for row in ROWS]
    assert {file: n for file, n in written.items() if n} == {file: found.count(file) for file in found}
    table = differences.table()
    assert all(f"`{row.test}` |" in table for row in ROWS) and f"There are {len(ROWS)} of them" in table


def test_what_is_better_is_marked():
    """The docstring of a test about an error of PyTorch may begin with [better]; then the test has a mark."""
    marked = {(row.file, row.test) for row in ROWS}
    for path in (ROOT / "tests").rglob("test_*.py"):
        if "[better]" in path.read_text("utf-8"):
            for test in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(test, ast.FunctionDef) and (ast.get_docstring(test) or "").startswith("[better]"):
                    assert (path.relative_to(ROOT).as_posix(), test.name) in marked


@pytest.mark.parametrize("heading", differences.AREAS)
def test_no_table_is_empty(heading):
    assert [row for row in ROWS if differences.area(row.file) == heading]


def test_a_wrong_mark_is_an_error():
    for mark in ("what='a', there='b'", "'a', there='b', here='c'", "what='a', there='b', here='c', why='d'"):
        tree = ast.parse(f"@pytest.mark.differs({mark})\ndef test(): pass")
        with pytest.raises(SystemExit, match="has the fields what, there, here"):
            list(differences.marked("tests/test_this.py", tree))
    with pytest.raises(SystemExit, match="no heading"):
        differences.area("tests/elsewhere/test_this.py")


@pytest.mark.parametrize("heading", differences.EXCEPTIONS)
def test_the_reasons_of_the_comparisons(heading):
    """Each has words, and each table has its rows on the page."""
    rows = differences.allowed(heading)
    assert len(rows) >= 4 and all(row.why.strip() for row in rows) and len({row[:2] for row in rows}) == len(rows)
    assert f"{heading}: {len(rows)} reasons" in differences.comparisons()


def test_how_exceptions_are_read():
    table = differences.evaluated(ast.parse("{**dict.fromkeys([('values', n) for n in ('sin', 'cos')], 'rounding')}", mode="eval").body)
    assert differences.by_name(table) == [("other numbers", "rounding", ("sin",)), ("other numbers", "rounding", ("cos",))]
    assert differences.by_reason({"a": "b", "c": ("d", ("e", "f"))}) == [("", "a", ("b",)), ("", "c", ("d", "e f"))]
    assert differences.messages([("", "m", "a view,"), ("x", "n", "and so")]) == [("", "a view, and so", ("m", "x: n"))]
    with pytest.raises(NameError):
        differences.evaluated(ast.parse("open('file')", mode="eval").body)
    assert differences.reason("torch has 0**0") == r"PyTorch has 0\*\*0"
    assert differences.listed(list("abcdefghij")) == "`a`, `b`, `c`, `d`, `e`, `f`, `g`, `h` and 2 more"
