"""Errors: every code is explained, every explanation is true, the message has its four parts, the classes are torch's."""

import pickle
import re
from pathlib import Path

import pytest

import minigrad as mg
from minigrad import errors
from minigrad._build import pure as _pure
from minigrad.errors import MinigradError, catalogue
from minigrad.ops import REGISTRY
from minigrad.testing._catalogue import run

PACKAGE = Path(mg.__file__).parent
INTERPRETED = {"MG-E105"}       # needs a broken graph, and no program can break one compiled


def used():
    """The codes that the sources raise."""
    sources = [path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".pyx") and path.name != "errors.py"]
    return {code for path in sources for code in re.findall(r'"(MG-E\d+)"', path.read_text("utf-8"))}


def test_every_code_is_explained_and_every_explanation_used():
    assert used() == set(catalogue())


def test_codes_are_in_order():
    assert list(catalogue()) == sorted(catalogue())


@pytest.mark.parametrize("code", catalogue())
def test_explanation(code):
    """A title, and a text of some lines that fits on a screen."""
    title, text = catalogue()[code]
    assert title and not title.endswith(".")
    assert 3 <= len(text.splitlines()) <= 25 and len(text) > 150
    assert all(len(line) <= 132 for line in text.splitlines())
    assert mg.explain(code) == f"{code}  {title}\n\n{text}\n"


@pytest.mark.filterwarnings("ignore:Error detected in")     # anomaly mode says where
@pytest.mark.parametrize("code", catalogue())
def test_example(code):
    """The statement marked `# raises` raises an error with this code, and the others run. The site shows the same example."""
    before = dict(REGISTRY)
    steps = [step for part in run(code) if not isinstance(part, str) for step in part]
    assert sum([step.marked for step in steps]) == 1
    for step in steps:
        if step.marked and (_pure.PURE or code not in INTERPRETED):
            assert isinstance(step.error, MinigradError) and step.error.code == code, step
        elif not step.marked:
            assert step.error is None, step
    assert before == REGISTRY


def test_unknown_code_and_the_list():
    with pytest.raises(KeyError, match=r"no error code 'MG-E999'; minigrad.explain\(\) lists them all"):
        mg.explain("MG-E999")
    assert mg.explain().splitlines()[0] == "MG-E101  Backward through the graph a second time"
    assert len(mg.explain().splitlines()) == len(catalogue())


@pytest.mark.parametrize("name, builtin", [
    ("AutogradError", RuntimeError), ("UnknownOperatorError", AttributeError), ("AutogradAssertionError", AssertionError), ("AutogradTypeError", TypeError), ("ShapeError", RuntimeError), ("TensorTypeError", TypeError),
    ("TensorValueError", ValueError), ("OutOfRangeError", IndexError), ("ArgumentError", RuntimeError),
])
def test_classes(name, builtin):
    """An `except` clause for PyTorch's class of error catches minigrad's error too."""
    assert issubclass(getattr(errors, name), (MinigradError, builtin)) and issubclass(getattr(errors, name), builtin)


def test_four_parts():
    """A message has four parts: what happened, the tensor and node, expected and found, the fix. Missing parts are left out."""
    error = errors.ShapeError("MG-E204", "it broke", tensor="float32 [2]", node="MulBackward0", expected="1", found="2",
                              fix="mend it")
    assert str(error).splitlines() == [
        "it broke", "  tensor:   float32 [2]", "  node:     MulBackward0", "  expected: 1", "  found:    2", "  fix:      mend it",
        '  help:     minigrad.explain("MG-E204")']
    assert str(errors.ShapeError("MG-E204", "it broke")).splitlines() == ["it broke", '  help:     minigrad.explain("MG-E204")']


def test_a_real_message_names_the_node_and_the_remedy():
    x = mg.ones(2, requires_grad=True)
    y = x * x
    y.backward(mg.ones(2))
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time") as caught:
        y.backward(mg.ones(2))
    assert re.search(r"\n  node: +MulBackward0\n  fix: .*retain_graph=True", str(caught.value))


def test_errors_travel_between_processes():
    error = pickle.loads(pickle.dumps(errors.ShapeError("MG-E204", "it broke", fix="mend it")))
    assert type(error) is errors.ShapeError and error.code == "MG-E204" and error.what == "it broke" and "mend it" in str(error)
