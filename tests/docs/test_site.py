"""The built site, where there is one (`make docs`): search, downloads, and no request that leaves it."""

import json
import re

import pytest

from minigrad.errors import catalogue
from tests.docs.conftest import HTML, ROOT, why_no_site
from tools.docs import editions, tutorials

pytestmark = pytest.mark.skipif(why_no_site() != "", reason=why_no_site())


@pytest.fixture(scope="module")
def index():
    text = (HTML / "searchindex.js").read_text("utf-8")
    return json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))


@pytest.mark.parametrize("word, page", [
    ("inplac", "errors/modified-by-an-inplace-operation"), ("retain_graph", "errors/backward-a-second-time"),
    ("leaf", "errors/leaf-in-place"), ("squar", "notes/add-an-op"), ("topolog", "tutorials/02_the_engine"),
    ("adjoint", "tutorials/00_derivative_machine"), ("backpropag", "tutorials/01_derivative_to_graph"),
    ("topolog", "tutorials/00_derivative_machine"), ("chain", "tutorials/00_derivative_machine"),
    ("backpropag", "tutorials/00_derivative_machine"), ("transpos", "notes/notation"),
    ("jacobian", "tutorials/01b_tensors"), ("tape", "tutorials/01_derivative_to_graph")])
def test_search_finds(index, word, page):
    """The index has the stem of a word, for the words of a text and of titles apart."""
    found = [index[part].get(word, []) for part in ("terms", "titleterms")]
    numbers = {n for places in found for n in (places if isinstance(places, list) else [places])}
    assert page in {index["docnames"][n] for n in numbers}, word


@pytest.mark.parametrize("word", ["topolog", "chain", "backpropag"])
def test_a_title_of_the_tutorial_that_teaches_a_word_has_it(index, word):
    """A search puts titles first."""
    found = index["titleterms"].get(word, [])
    assert "tutorials/00_derivative_machine" in {index["docnames"][n] for n in (found if isinstance(found, list) else [found])}


def test_a_word_of_the_glossary_shows_its_definition_once():
    """Under the pointer, with the keyboard (it is a link), and to a screen reader."""
    text = (HTML / "tutorials/09_version_counters.html").read_text("utf-8")
    names = re.findall(r'href="../notes/glossary.html#term-[\w-]+" aria-describedby="([\w-]+)"', text)
    assert len(names) >= 3 and len(set(names)) == len(names)
    for name in names:
        assert text.count(f'<span role="tooltip" id="{name}">') == 1
    glossary = (HTML / "notes/glossary.html").read_text("utf-8")
    assert all([f'id="{name.removeprefix("about-")}"' in glossary for name in names])


def test_arrow_keys_do_not_leave_the_page():
    """They belong to the step-throughs."""
    assert re.search(r"NAVIGATION_WITH_KEYS: false", (HTML / "_static/documentation_options.js").read_text("utf-8"))


def test_each_code_has_a_page():
    assert {path.stem for path in (HTML / "errors").glob("MG-E*.html")} == set(catalogue())


def test_nothing_is_loaded_from_elsewhere():
    """Links may lead to other sites, but a page loads nothing from them."""
    for path in HTML.rglob("*.html"):
        text = path.read_text("utf-8")
        loaded = re.findall(r'<(?:script|img|iframe|source)[^>]*\bsrc="([^"]+)"', text)
        loaded += re.findall(r'<link[^>]*rel="(?:stylesheet|preload|icon)"[^>]*href="([^"]+)"', text)
        assert not [url for url in loaded if url.startswith(("http:", "https:", "//"))], path


def test_each_step_shows_its_line():
    """Also where the line is in another cell than the step-through."""
    for path in (HTML / "tutorials").glob("*.html"):
        assert "its text cannot be read" not in path.read_text("utf-8"), path


def test_no_path_of_the_machine_that_built_it():
    for path in HTML.rglob("*.html"):
        assert str(ROOT) not in path.read_text("utf-8"), path


def test_size():
    """Without the book, which `make docs-book` puts beside the pages."""
    assert sum([path.stat().st_size for path in HTML.rglob("*") if path.is_file() and path.parent.name != "course"]) < 64e6


@pytest.mark.parametrize("script", [*tutorials.scripts(), *tutorials.projects()], ids=lambda path: path.stem)
def test_the_notebook_and_the_script_can_be_downloaded(script):
    """Those for students. No page, and no other file of the site, is a notebook with solutions."""
    folder = HTML / script.parent.name
    page = (folder / f"{script.stem}.html").read_text("utf-8")
    links = re.findall(r'href="(\.\./_downloads/[^"]+)"', page)
    notebook, plain = [(folder / next(link for link in links if link.endswith(f"{script.stem}{kind}"))).read_text("utf-8")
                       for kind in (".ipynb", ".py")]
    assert notebook == editions.written(editions.student(script)) and plain == editions.student_script(script)
    assert len([path for path in HTML.rglob("*") if path.name in (f"{script.stem}.ipynb", f"{script.stem}.py")]) == 2
