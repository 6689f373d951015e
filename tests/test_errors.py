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
                              where="here", fix="mend it")
    assert str(error).splitlines() == [
        "it broke", "  tensor:   float32 [2]", "  node:     MulBackward0", "  expected: 1", "  found:    2", "  where:    here",
        "  fix:      mend it", '  help:     mg.explain("MG-E204")']
    assert str(errors.ShapeError("MG-E204", "it broke", where="here")).splitlines() == [
        "it broke", "  where:    here", '  help:     mg.explain("MG-E204")']


def test_a_real_message_names_the_node_and_the_remedy():
    x = mg.ones(2, requires_grad=True)
    y = x * x
    y.backward(mg.ones(2))
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time") as caught:
        y.backward(mg.ones(2))
    assert re.search(r"\n  node: +MulBackward0\n  where: +tests.test_errors.py, line \d+: y.backward.mg.ones.2..\n  fix: .*retain_graph=True", str(caught.value))


def user_line(folder, source):
    """The line after `where:` in the message of the error that the file hw.py raises."""
    path = folder / "hw.py"
    path.write_text("import copy\nimport minigrad as mg\n" + source, "utf-8")
    with pytest.raises(MinigradError) as caught:
        exec(compile(path.read_text("utf-8"), str(path), "exec"), {})
    return next(iter(re.findall(r"^  where: +(.*)$", str(caught.value), re.MULTILINE)), None)


@pytest.mark.parametrize("source, line", [
    ("mg.ones(2, 3) @ mg.ones(2, 3)", "hw.py, line 3: mg.ones(2, 3) @ mg.ones(2, 3)"),
    ("def f(x):\n    return x + mg.ones(3)\nf(mg.ones(2))", "hw.py, line 4: return x + mg.ones(3)"),
    ("model = mg.nn.Sequential(mg.nn.Linear(3, 4), mg.nn.Linear(3, 1))\n\nmodel(mg.ones(5, 3))", "hw.py, line 5: model(mg.ones(5, 3))"),
    ("w = mg.ones(2, requires_grad=True)\ncopy.deepcopy(w * 2)", "hw.py, line 4: copy.deepcopy(w * 2)"),       # through Python's library
    ("exec('mg.ones(2) + mg.ones(3)')", None),      # no file has this line
])
def test_a_message_shows_the_line_of_the_program(tmp_path, source, line):
    assert user_line(tmp_path, source) == line


def test_a_long_line_is_cut(tmp_path):
    line = user_line(tmp_path, "mg.ones(2) + mg.ones(3)" + " + 1" * 30)
    assert len(line) < 110 and line.endswith("...")


def test_a_file_in_the_current_folder_has_its_relative_name(tmp_path, monkeypatch):
    (tmp_path / "part").mkdir()
    monkeypatch.chdir(tmp_path)
    assert user_line(tmp_path / "part", "mg.ones(2) + mg.ones(3)").startswith(str(Path("part", "hw.py")) + ", line 3")


def test_errors_travel_between_processes():
    error = pickle.loads(pickle.dumps(errors.ShapeError("MG-E204", "it broke", fix="mend it")))
    assert type(error) is errors.ShapeError and error.code == "MG-E204" and error.what == "it broke" and "mend it" in str(error)
