"""The reference: nothing public is missing, and nothing is on two pages."""

import re

import pytest

from tests.docs.test_error_pages import Pages
from tests.test_doctests import CLASSES, DOCUMENTED
from tools.docs import reference


@pytest.fixture(scope="module")
def entries():
    """Full name -> page, of all that the pages document."""
    pages, found = Pages(), {}
    reference.write(pages)
    for file, text in pages.items():
        module = cls = ""
        for line in text.splitlines():
            match = re.match(r"( *)\.\. (?:py:)?(currentmodule|module|auto\w+|function|class|data|method):: ([\w.]+)", line)
            if not match:
                continue
            indent, kind, name = match.groups()
            if kind.endswith("module"):
                module = name
                continue
            full = name if kind.startswith("auto") else f"{cls if indent else module}.{name}"
            cls = full if not indent else cls
            assert full not in found, f"{full} is in {file} and in {found[full]}"
            found[full] = file
    return found


def test_nothing_public_is_missing(entries):
    """Every name with a tested docstring is on a page."""
    missing = [name for name in DOCUMENTED if name.replace("mg.", "minigrad.", 1) not in entries]
    assert not missing, missing


def test_names_that_are_not_functions_are_there(entries):
    assert {"minigrad.float32", "minigrad.contiguous_format", "minigrad.Tensor.shape", "minigrad.Tensor.grad", "minigrad.default_generator",
            "minigrad.Tensor.add_", "minigrad.Tensor.exp", "minigrad.nn.functional.relu"} <= set(entries)


def test_every_public_name_of_every_namespace(entries):
    for page in reference.PAGES:
        for name in reference.offered(page.namespace):
            assert f"{page.namespace}.{name}" in entries, f"{page.namespace}.{name} is on no page"


def test_the_namespaces_are_those_of_the_doctests():
    """A namespace whose examples are tested has a page."""
    from tests.test_doctests import NAMESPACES
    known = {page.namespace for page in reference.PAGES}
    assert {name.replace("mg", "minigrad", 1) for name in NAMESPACES} <= known
    assert CLASSES


def test_what_is_on_no_page_is_noticed(monkeypatch):
    monkeypatch.setattr(reference, "PAGES", [page for page in reference.PAGES if page.name != "complex"])
    with pytest.raises(AssertionError, match=r"on no page of the reference: .*view_as_complex"):
        reference.write(Pages())
