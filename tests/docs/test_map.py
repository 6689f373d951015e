"""The map from PyTorch to minigrad names files and functions that exist, on both sides."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from tests.docs.conftest import ROOT
from tools.docs import code_map

ROWS = [line for line in (ROOT / "docs/map.md").read_text("utf-8").splitlines() if line.startswith("| ")]
NAMED = re.compile(r"`((?:minigrad|torch|c10)/[\w/.]+)`(?:: `([\w.]+)`)?")
PLACES = [match for row in ROWS for match in NAMED.findall(row)]
OURS = [place for place in PLACES if place[0].startswith("minigrad/")]
THEIRS = [place for place in PLACES if not place[0].startswith("minigrad/")]


@pytest.mark.parametrize("path, name", OURS)
def test_ours(path, name):
    file = ROOT / path
    assert file.exists()
    if name:
        node = ast.parse(file.read_text("utf-8"))
        for part in name.split("."):
            defined = [n for n in ast.walk(node) if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name == part]
            imported = [n for n in ast.walk(node) if isinstance(n, ast.ImportFrom) and part in [a.asname or a.name for a in n.names]]
            assert defined or imported, f"{path} has no {name}"
            node = defined[0] if defined else node


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@pytest.mark.parametrize("path, name", THEIRS)
def test_theirs(path, name):
    """The wheel of PyTorch has its Python files and its headers."""
    home = Path(importlib.util.find_spec("torch").origin).parent
    file = home.parent / path if path.endswith(".py") else home / "include" / path
    assert file.exists()
    assert not name or re.search(rf"\b{name}\b", file.read_text("utf-8"))


def test_each_name_has_a_link():
    """To the reference, to the page of code, or to PyTorch's sources; each anchor is on the page of code, once."""
    text = (ROOT / "docs/map.md").read_text("utf-8")
    rows = [line for line in code_map.linked(text).splitlines() if line.startswith("| ")]
    assert sum(len(re.findall(r"\]\(#code-|\{py:obj\}", row)) for row in rows) == len([path for path, _ in OURS if path.endswith(".py")])
    assert sum(row.count(f"]({code_map.GITHUB}") for row in rows) >= len(THEIRS)
    page = code_map.code(text)
    anchors = re.findall(r"^\(([\w-]+)\)=$", page, re.M)
    assert len(anchors) == len(set(anchors)) and set(re.findall(r"\]\(#([\w-]+)\)", "".join(rows))) == set(anchors)


def test_the_map_is_read():
    assert len(OURS) > 50 and len(THEIRS) > 45
