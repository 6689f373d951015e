"""Each code that the package raises has a page, and each page shows its error, raised when the page was made."""

import re

import pytest

from minigrad._build import pure as _pure
from minigrad.errors import catalogue
from tests.docs.conftest import ROOT
from tests.test_errors import used
from tools.docs import errors

ONLY_INTERPRETED = {"MG-E105"}     # see tests/test_errors.py


class Pages(dict):
    """Takes the place of a `Stage`."""

    write = dict.__setitem__


@pytest.mark.filterwarnings("ignore:Error detected in", "ignore:.*should not be instantiated")
@pytest.mark.skipif(not _pure.PURE, reason="the site is made interpreted")
def test_each_code_has_its_page_and_each_page_raises_its_code():
    pages = Pages()
    errors.write(pages)
    assert {f"errors/{code}.md" for code in used()} == set(pages) - {"errors/codes.md"}
    for code in catalogue():
        text = pages[f"errors/{code}.md"]
        assert text.count(":class: raised") == 1 and f"\n# {code}  {catalogue()[code][0]}\n" in text
        assert re.search(rf"mg\.explain\(\"{code}\"\)\n```", text), "the message, with its last line"
        assert f"({code}.md)" in pages["errors/codes.md"]


@pytest.mark.parametrize("code", ["MG-E101", "MG-E121", "MG-E291"])
def test_a_page(code):
    text = errors.page(code, errors.longer().get(code, ()))
    assert catalogue()[code][0] in text and "py:exc" in text
    assert "0x" not in text.replace("0x...", "")


def test_long_pages_are_about_codes_that_there_are():
    assert set(errors.longer()) <= set(catalogue())
    assert {"MG-E101", "MG-E102", "MG-E108", "MG-E109", "MG-E110", "MG-E111", "MG-E121", "MG-E147", "MG-E260"} <= set(errors.longer())


def test_an_example_that_does_not_raise_fails(monkeypatch):
    """Otherwise the tests above would show nothing."""
    title, text = catalogue()["MG-E121"]
    monkeypatch.setitem(catalogue(), "MG-E121", (title, text.replace("w -= 0.1                            # raises", "w = w - 0.1")))
    with pytest.raises(AssertionError, match="must raise once"):
        errors.page("MG-E121")


def test_an_example_that_raises_another_code_fails(monkeypatch):
    monkeypatch.setitem(catalogue(), "MG-E121", ("t", "    mg.ones(2, 3) * mg.ones(2)          # raises"))
    with pytest.raises(AssertionError, match="MG-E121 has raised ShapeError"):
        errors.page("MG-E121")


def test_the_list_of_messages_names_every_long_page():
    index = (ROOT / "docs/errors/index.md").read_text("utf-8")
    for path in (ROOT / "docs/errors").glob("*.md"):
        assert path.name == "index.md" or f"[]({path.name})" in index, f"{path.name} is not in the list of messages"
