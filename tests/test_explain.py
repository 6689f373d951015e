"""`minigrad.explain` prints: in a script, at a prompt, in a notebook; for a code, an error, words, and the last error."""

import subprocess
import sys
import types

import pytest

import minigrad as mg
from minigrad.errors import catalogue


@pytest.fixture
def said(capsys):
    """What explain prints, as lines."""
    def lines(*args):
        assert mg.explain(*args) is None        # so that a prompt does not show the text a second time, as one line
        return capsys.readouterr().out.splitlines()
    return lines


@pytest.fixture
def session(monkeypatch):
    """Set the last error of the session, as an interpreter does. Newer Pythons set last_exc."""
    def last(error, name="last_value"):
        for other in ("last_exc", "last_value"):
            monkeypatch.delattr(sys, other, raising=False)
        if error is not None:
            monkeypatch.setattr(sys, name, error, raising=False)
    last(None)
    return last


def raised(call):
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


def shapes():
    return mg.ones(2) + mg.ones(3)


@pytest.mark.parametrize("code", catalogue())
def test_a_code(said, code):
    title, text = catalogue()[code]
    assert said(code) == [f"{code}  {title}", "", *text.splitlines(), ""]


@pytest.mark.parametrize("spelling", ["mg-e102", "E102", " MG-E102\n", '  help:     mg.explain("MG-E102")'])
def test_a_code_in_another_spelling(said, spelling):
    assert said(spelling) == said("MG-E102")


def test_a_code_that_there_is_not(said):
    with pytest.raises(KeyError, match="no error code MG-E999; search with words"):
        said("MG-E999")


def test_something_else(said):
    with pytest.raises(TypeError, match="expected a code, an exception or words, not int"):
        said(102)


def test_an_error(said):
    lines = said(raised(shapes))
    assert lines[0] == "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0"
    assert lines[2:] == said("MG-E204")


def test_an_error_that_was_raised_from_ours(said):
    def wrapped():
        try:
            shapes()
        except RuntimeError as error:
            raise ValueError("training failed") from error
    lines = said(raised(wrapped))
    assert lines[0] == "ValueError: training failed" and lines[2].startswith("MG-E204")


def test_an_error_of_another_program(said):
    lines = said(raised(lambda: {}["crumbs"]))
    assert lines[:3] == ["KeyError: 'crumbs'", "", "This error has no code: minigrad did not raise it."]


@pytest.mark.parametrize("words, code", [
    ("modified by an inplace operation", "MG-E102"), ("modified by an in-place operation", "MG-E102"),
    ("Trying to backward through the graph a second time", "MG-E101"), ("second time", "MG-E101"),
    ("grad can be implicitly created only for scalar outputs", "MG-E108"),
    ("does not require grad and does not have a grad_fn", "MG-E110"),
    ("mat1 and mat2 shapes cannot be multiplied", "MG-E209"), ("appears to not have been used in the graph", "MG-E109"),
    ("a leaf Variable that requires grad is being used in an in-place operation", "MG-E121"),
])
def test_the_words_of_a_message(said, words, code):
    assert said(words)[0].startswith(code)


@pytest.mark.parametrize("words, code", [("multiply matrices", "MG-E209"), ("leaf in place", "MG-E121"), ("broadcast shapes", "MG-E204"),
                                         ("cuda device", "MG-E202")])
def test_other_words_list_the_codes_that_fit(said, words, code):
    lines = said(words)
    assert lines[0] == f"The errors that are about {words!r}, best first:"
    assert code in [line.split()[0] for line in lines[2:5]] and lines[-2].startswith("Read one: mg.explain(")
    assert len(lines) <= 12


@pytest.mark.parametrize("words", ["crumbs", "", "the", "123"])
def test_words_of_no_error(said, words):
    assert said(words)[0] == f"No error of minigrad is about {words!r}."


@pytest.mark.parametrize("name", ["last_exc", "last_value"])
def test_the_last_error_of_the_session(said, session, name):
    session(raised(shapes), name)
    assert said()[2].startswith("MG-E204")


def test_the_error_that_is_handled(said, session):
    session(raised(lambda: mg.exp([1.0])))
    try:
        shapes()
    except RuntimeError:
        assert said()[2].startswith("MG-E204")


def test_without_an_error_all_codes(said, session):
    lines = said()
    assert lines[0].startswith("No error") and lines[2].strip() == "MG-E101  Backward through the graph a second time"
    assert len(lines[2:-1]) == len(catalogue())


def test_ipython_shows_it(said, monkeypatch):
    """A notebook takes the Markdown, and IPython in a terminal the text."""
    shown = []
    shell = types.SimpleNamespace(compile=types.SimpleNamespace(format_code_name=lambda file: ("Cell", "In[7]")))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=shown.append))
    assert said("MG-E101") == []
    assert repr(shown[0]).startswith("MG-E101  Backward through the graph a second time\n\nA node keeps")
    assert shown[0]._repr_markdown_().startswith("**MG-E101  Backward through the graph a second time**\n\nA node keeps")
    assert "\n  where:    Cell In[7], line" in str(raised(shapes))


def test_at_a_prompt_of_python():
    """The page is seen, and seen once."""
    program = "import minigrad as mg\nmg.ones(2) + mg.ones(3)\nmg.explain()\n"
    run = subprocess.run([sys.executable, "-i", "-q"], input=program, capture_output=True, text=True, timeout=120, check=False)
    assert run.stdout.count("MG-E204  Shapes do not go together") == 1 and "\\n" not in run.stdout
