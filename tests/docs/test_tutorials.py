"""Every tutorial runs as a plain script in this mode. Exercises reject wrong answers; PyTorch prints what the text shows."""

import ast
import doctest
import importlib.util
import os
import re
import subprocess
import sys

import pytest

from tools.docs import tutorials

SCRIPTS = tutorials.scripts()
# A tutorial must request numba's simulator before numba is imported, so it runs in its own process.
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
APART = [path for path in SCRIPTS if "NUMBA_ENABLE_CUDASIM" in path.read_text("utf-8")]
RUN_HERE = [path for path in SCRIPTS if SIMULATED or path not in APART]


def each_of(scripts):
    return pytest.mark.parametrize("path", scripts, ids=lambda path: path.stem)


each = each_of(SCRIPTS)
SECTIONS = ["**The question.**", "## Step by step", "## The source", "## The same in PyTorch", "## What goes wrong", "## Exercises",
            "## What to remember", "**Next:**"]


@each_of(RUN_HERE)
def test_runs_as_a_script(path, ran, capsys):
    the_script_runs(ran(path), capsys)


def the_script_runs(names, capsys):
    assert capsys.readouterr().out.count("right\n") >= len(checks(names))


def checks(names):
    return {name: value for name, value in names.items() if name.startswith("check_") and callable(value)}


@each_of(RUN_HERE)
def test_exercises_can_be_failed(path, ran, capsys):
    the_exercises_can_be_failed(ran(path), capsys)


def the_exercises_can_be_failed(names, capsys):
    """A check that accepts an answer that does nothing checks nothing."""
    found = checks(names)
    assert len(found) == 3
    for name, check in found.items():
        capsys.readouterr()
        try:
            check(lambda *args, **kwargs: None)
        except Exception as error:
            assert isinstance(error, (AssertionError, TypeError, AttributeError)), f"{name}: {error!r}"
        assert "right" not in capsys.readouterr().out, f"{name} accepts an answer that does nothing"


@pytest.mark.skipif(SIMULATED, reason="they run here")
@pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda, which has the simulator, is not installed")
@each_of(APART)
def test_on_the_simulator(path):
    """The two tests above, in a process of their own."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", __file__, "-k", f"{path.stem} and (script or failed)"]
    ended = subprocess.run(command, env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@each
def test_parts(path):
    """The parts that every tutorial has, in order."""
    text = path.read_text("utf-8")
    places = [text.find(section) for section in SECTIONS]
    assert min(places) >= 0 and places == sorted(places), dict(zip(SECTIONS, places))
    for part in ("mg.viz.step(", "source_of(", 'expect_error(', 'code="MG-E'):
        assert part in text
    assert text.count('# %% tags=["hide-cell"]') == 3       # the solutions


@each
def test_cells_are_short(path):
    the_cells_are_short(path)


def the_cells_are_short(path):
    """Five to thirty lines at a time, and none so wide that a laptop has to scroll."""
    for cell in re.split(r"^# %%", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        code = [line for line in cell.splitlines()[1:] if line.strip()]
        if not cell.startswith(" [markdown]"):
            assert len(code) <= 30, code[0]
            assert max(map(len, code)) <= 92, max(code, key=len)
            ast.parse("\n".join(code))


@each
def test_links_under_the_title(path):
    the_links_are_there(path)


def the_links_are_there(path):
    assert f"<{path.stem}.ipynb>" in tutorials.page(path) and f"<{path.name}>" in tutorials.page(path)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@each
def test_pytorch_says_so(path):
    torch_says_so(path)


def torch_says_so(path):
    blocks = re.findall(r"^# ```python\n((?:#[^\n]*\n)*?)# ```$", path.read_text("utf-8"), re.MULTILINE)
    source = "\n".join([line.removeprefix("#").removeprefix(" ") for block in blocks for line in block.splitlines()])
    test = doctest.DocTestParser().get_doctest(source + "\n", {}, path.stem, None, 0)
    assert test.examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    said = []
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_there_is_one():
    assert SCRIPTS
