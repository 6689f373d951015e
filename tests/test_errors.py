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


# The codes that only one class of RuntimeError may raise, and those that ShapeError may raise.
OF_ONE_CLASS = {"MG-E112": "DtypeError", "MG-E202": "DeviceError", "MG-E203": "DtypeError", "MG-E208": "ScalarError", "MG-E310": "DeviceError"}
OF_SHAPES = {"MG-E204", "MG-E205", "MG-E206", "MG-E207", "MG-E209", "MG-E210", "MG-E350", "MG-E352", "MG-E360", "MG-E361", "MG-E362"}


def test_the_class_fits_the_code():
    """A wrong dtype is no ShapeError."""
    found = [(path.name, kind, code) for path in PACKAGE.rglob("*.py")
             for kind, code in re.findall(r'\b(\w+Error)\(\s*"(MG-E\d+)"', path.read_text("utf-8"))]
    runtime = [(name, kind, code) for name, kind, code in found
               if kind in ("ShapeError", "ArgumentError", "AutogradError", *OF_ONE_CLASS.values())]
    assert [one for one in runtime if OF_ONE_CLASS.get(one[2], one[1]) != one[1]] == []
    assert [one for one in runtime if one[1] in OF_ONE_CLASS.values() and one[2] not in OF_ONE_CLASS] == []
    assert [one for one in runtime if one[1] == "ShapeError" and one[2] not in OF_SHAPES] == []


@pytest.mark.parametrize("call, kind", [
    (lambda: bool(mg.ones(2)), "ScalarError"), (lambda: mg.zeros(2, device="toaster"), "DeviceError"),
    (lambda: mg.ones(2, 2) @ mg.ones(2, 2, dtype=mg.float64), "DtypeError"), (lambda: mg.ones(2) + mg.ones(3), "ShapeError"),
    (lambda: mg.tensor([1], requires_grad=True), "DtypeError"), (lambda: mg.arange(0, 3, -1), "ArgumentError"),
    (lambda: mg.nn.functional.nll_loss(mg.ones(2, 3), mg.ones(2)), "DtypeError"),
    (lambda: mg.ones(2).to(mg.device("xpu")), "DeviceError"),
])
def test_kinds(call, kind):
    """Each is the RuntimeError of PyTorch."""
    with pytest.raises(RuntimeError) as caught:
        call()
    assert type(caught.value).__name__ == kind


@pytest.mark.parametrize("call, lines", [
    (lambda: mg.ones(3, 4) @ mg.ones(3, 2), ["expected: as many columns in the first as rows in the second",
                                             "found:    4 columns in the first, 3 rows in the second"]),
    (lambda: mg.ones(2, 3, 4) @ mg.ones(2, 1, 2), ["found:    4 columns in the first, 1 row in the second"]),
    (lambda: mg.ones(3, 4) @ mg.ones(5), ["found:    4 columns in the matrix, 5 numbers in the vector"]),
    *[(lambda shape=shape, bias=bias: mg.nn.Linear(10, 3, bias=bias)(mg.ones(*shape)), [
        "expected: an input whose last size is 10, for Linear(in_features=10)",
        f"found:    an input of shape {[*shape]}, whose last size is 12"])
      for shape in [(12,), (5, 12), (2, 5, 12)] for bias in (True, False)],
])
def test_products_say_what_does_not_fit(call, lines):
    with pytest.raises(RuntimeError) as caught:
        call()
    for line in lines:
        assert f"\n  {line}\n" in str(caught.value)


def test_the_first_advice_is_not_what_its_page_calls_wrong():
    y = mg.ones(2, requires_grad=True).exp().sum()
    y.backward()
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    assert "fix:      run the forward again" in str(caught.value)
    _, text = catalogue()["MG-E101"]
    assert text.index("Run the forward again") < text.index("retain_graph")


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
    assert re.search(r"\n  node: +MulBackward0\n  where: +tests.test_errors.py, line \d+: y.backward.mg.ones.2..\n  fix: .*(\n .*)?retain_graph=True", str(caught.value))


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
