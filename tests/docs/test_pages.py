"""The pages with code run as they stand, in this mode; the deliberate errors on them are checked by expect_error."""

import ast
import linecache
import re
import warnings

import pytest

from minigrad.ops import REGISTRY
from tests.docs.conftest import ROOT

CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [path for path in sorted((ROOT / "docs").rglob("*.md")) if CELL.search(path.read_text("utf-8"))]


def name(path):
    return path.relative_to(ROOT / "docs").as_posix()


@pytest.fixture
def registry():
    """A page may define ops."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


def cells(path):
    """The code on a page; lines that begin with a colon are for Sphinx."""
    return [re.sub(r"^:[^\n]*\n", "", cell, flags=re.MULTILINE) for cell in CELL.findall(path.read_text("utf-8"))]


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_runs(path, registry, capsys, hide_torch):
    if path.stem == "from-pytorch":
        hide_torch()
    if "IPython" in path.read_text("utf-8"):
        pytest.importorskip("IPython")
    names = {"__name__": "__main__"}
    for i, cell in enumerate(cells(path)):
        file = f"<{name(path)}, cell {i + 1}>"
        linecache.cache[file] = len(cell), None, cell.splitlines(keepends=True), file
        tree = ast.parse(cell)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        with warnings.catch_warnings():
            warnings.simplefilter("error")      # a page that warns says so
            exec(compile(tree, file, "exec"), names)
            if isinstance(last, ast.Expr):
                repr(eval(compile(ast.Expression(last.value), file, "eval"), names))    # the page shows this


def test_there_are_pages():
    found = [name(path) for path in PAGES]
    assert len([n for n in found if n.startswith("errors/")]) >= 11 and "start.md" in found and "notes/add-an-op.md" in found


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_front_matter(path):
    """The front matter that Sphinx needs to run the page."""
    head = path.read_text("utf-8").split("---")[1]
    assert "file_format: mystnb" in head and "name: python3" in head
