"""Every tutorial runs as a plain script in this mode. Exercises reject wrong answers; PyTorch prints what the text shows."""

import ast
import doctest
import importlib.util
import inspect
import os
import re
import runpy
import subprocess
import sys

import pytest

from tests.distributed.launch import several
from tools.docs import reading, tutorials

SCRIPTS = tutorials.scripts()
ROOT = tutorials.TUTORIALS.parent
# A tutorial must request numba's simulator before numba is imported, so it runs in its own process.
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
APART = [path for path in SCRIPTS if "NUMBA_ENABLE_CUDASIM" in path.read_text("utf-8")]
RUN_HERE = [path for path in SCRIPTS if SIMULATED or path not in APART]


def each_of(scripts):
    return pytest.mark.parametrize("path", scripts, ids=lambda path: path.stem)


def each_run(scripts):
    """As `each_of`, for tests that run the scripts: one with several ranks is left out where there is no MPI."""
    return each_of([pytest.param(path, marks=several) if "run_ranks(" in path.read_text("utf-8") else path for path in scripts])


each = each_of(SCRIPTS)
APPENDICES = [path for path in SCRIPTS if path.stem.startswith(("16_", "17_"))]
SECTIONS = ["**The question.**", "## Step by step", "## The source", "## The same in PyTorch", "## What goes wrong", "## Exercises",
            "## What to remember", "**Next:**"]


@each_run(RUN_HERE)
def test_runs_as_a_script(path, ran, capsys):
    the_script_runs(ran(path), capsys)


def the_script_runs(names, capsys):
    assert capsys.readouterr().out.count("right\n") >= len(checks(names))


def checks(names):
    return {name: value for name, value in names.items() if name.startswith("check_") and callable(value)}


@each_run(RUN_HERE)
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


@each_run(RUN_HERE)
def test_the_stubs_are_not_yet_answers(path, ran, capsys):
    """A reader who runs the check first reads a sentence, and no traceback."""
    names = ran(path)
    for i, (name, check) in enumerate(checks(names).items(), 1):
        (parameter,) = inspect.signature(check).parameters
        if parameter in names:
            capsys.readouterr()
            check(names[parameter])
            assert capsys.readouterr().out.startswith(f"not yet: exercise {i}."), name
    assert "Your code goes here" not in path.read_text("utf-8")


def each_path(tensor, *_):
    """An answer that follows each path: on a ladder of 60 it takes longer than the Earth is old."""
    to_do, found = [tensor.grad_fn], 0
    while to_do:
        node = to_do.pop()
        found += not node.next_functions
        to_do += [following for following, _ in node.next_functions if following is not None]
    return found


def itself(tensor, leaf):
    """A right answer to the third exercise of tutorial 2, but for what the text forbids: it calls itself."""
    found = {}

    def leads(node):
        if node is not None and node not in found:
            found[node] = (node.name() == "AccumulateGrad" and node.variable is leaf) + sum([leads(n) for n, _ in node.next_functions]) > 0
        return node is not None and found[node]

    leads(tensor.grad_fn)
    return sum(found.values()) - 1


@pytest.mark.parametrize("tutorial, check", [("02_the_engine", "check_paths"), ("02_the_engine", "check_needed")])
def test_an_answer_that_never_ends_is_stopped(tutorial, check, ran, monkeypatch):
    monkeypatch.setattr("minigrad.testing._exercise.SECONDS", 0.5)
    answer = each_path if check == "check_paths" else endless
    with pytest.raises(AssertionError, match=r"exercise \d: stopped after 0.5 seconds. \w+ each node once"):
        ran(tutorials.TUTORIALS / f"{tutorial}.py")[check](answer)


def endless(*_):
    while True:
        pass


def test_an_answer_that_calls_itself_is_refused(ran):
    with pytest.raises(AssertionError, match="exercise 3: a function calls itself for each node"):
        ran(tutorials.TUTORIALS / "02_the_engine.py")["check_needed"](itself)


def on_the_simulator(file, chosen):
    """Run the tests of a file that `chosen` names in a process of their own, on the simulator. They pass."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", file, "-k", chosen]
    ended = subprocess.run(command, env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.skipif(SIMULATED, reason="they run here")
@pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda, which has the simulator, is not installed")
@each_of(APART)
def test_on_the_simulator(path):
    """The two tests above, in a process of their own."""
    on_the_simulator(__file__, f"{path.stem} and (script or failed)")


SHOWN = {"00_derivative_machine": ["0.006001: 6.001 times", "36.000\n7.000", "u_ = 14.0, v_ = 6.0, a_ = 48.0, b_ = 28.0\na: 48.000\nb: 28.000",
                                   "dL/dw = -1.7374   dL/db = -1.1583", "receives -1.737\nby hand:   dL/dw = -1.7374"],
         "01b_tensors": ["300 3", "4,096,000,000 numbers, 16 GB", "[3.0, 12.0, 50.0]\nby a backward:  [3.0, 12.0, 50.0]",
                         "converted from float32 [2, 2]", "the shape: [4, 4]   the loss: tensor(2.5000)"]}


@pytest.mark.parametrize("name", SHOWN)
def test_the_numbers_that_the_text_explains(name, capsys):
    """The sentences around a cell speak about its numbers."""
    runpy.run_path(str(tutorials.TUTORIALS / f"{name}.py"))
    printed = capsys.readouterr().out
    for words in SHOWN[name]:
        assert words in printed, words


@each
def test_parts(path):
    """The parts that every tutorial has, in order."""
    text = path.read_text("utf-8")
    places = [text.find(section) for section in SECTIONS]
    assert min(places) >= 0 and places == sorted(places), dict(zip(SECTIONS, places))
    for part in ("mg.viz.step(", "source_of(", 'expect_error(', 'code="MG-E'):
        assert part in text
    assert text.count('# %% tags=["hide-cell", "solution"]') == 3       # the solutions


@each
def test_a_first_reader_knows_what_it_takes(path):
    """Right under the title: time, level, what you need, what you can do afterwards. The time is that of what is not folded."""
    top = path.read_text("utf-8").partition("**The question.**")[0]
    places = [top.find(f"**{part}** ") for part in ("Time", "Level", "You need", "Afterwards")]
    assert min(places) > 0 and places == sorted(places)
    stated = int(re.search(r"\*\*Time\*\* (\d+) minutes", top)[1])
    assert abs(stated - reading.time(path)[0].minutes) <= 5


@each
def test_a_core_is_read_at_one_sitting(path):
    """What a first reader need not know is folded. 16 and 17 are appendices."""
    limit = 28 if path in APPENDICES else 20
    assert 15 <= reading.time(path)[0].minutes <= limit


@each
def test_no_sentence_is_lost(path):
    """A word behind [markdown] would be a cell's title, which no page shows."""
    assert not re.search(r"^# %% \[markdown\](?! tags=).", path.read_text("utf-8"), re.MULTILINE)


@each
def test_cells_are_short(path):
    the_cells_are_short(path)


def the_cells_are_short(path):
    """Five to thirty lines at a time, and none so wide that a laptop has to scroll."""
    for cell in re.split(r"^# %%", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        code = [line for line in cell.splitlines()[1:] if line.strip()]
        if not cell.startswith((" [markdown]", ' tags=["help"]')):       # the page shows hints as text
            assert len(code) <= 30, code[0]
            assert max(map(len, code)) <= 92, max(code, key=len)
            ast.parse("\n".join(code))


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
@each
def test_pytorch_says_so(path):
    if "init_process_group" in path.read_text("utf-8"):
        torch_says_so_apart(path)
    else:
        torch_says_so(path)


def torch_says_so_apart(path):
    """In a process of its own, and again if it stands still: the threads of PyTorch's process groups (gloo) free Python objects, for
    which they need the GIL, while they hold a lock that the caller, who has the GIL, may wait for.
    """
    program = f"from pathlib import Path; from tests.docs.test_tutorials import torch_says_so; torch_says_so(Path({str(path)!r}))"
    for _ in range(3):
        try:
            done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            continue
        assert done.returncode == 0, done.stderr
        return
    pytest.fail("PyTorch stood still three times")


def torch_says_so(path):
    blocks = re.findall(r"^# ```python\n((?:#[^\n]*\n)*?)# ```$", path.read_text("utf-8"), re.MULTILINE)
    source = "\n".join([line.removeprefix("#").removeprefix(" ") for block in blocks for line in block.splitlines()])
    test = doctest.DocTestParser().get_doctest(source + "\n", {}, path.stem, None, 0)
    assert test.examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    said = []
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_the_note_has_the_same_wrong_engines():
    """The tutorial and the note once called one engine wrong and right."""
    wrong = re.findall(r"^# ## Wrong engine \d: (.+)$", (tutorials.TUTORIALS / "02_the_engine.py").read_text("utf-8"), re.MULTILINE)
    note = (ROOT / "docs/notes/engine.md").read_text("utf-8")
    named = re.findall(r"^\* \*\*(.+)\.\*\*", note, re.MULTILINE)
    assert wrong == [name[0].lower() + name[1:] for name in named] and len(wrong) == 3


def test_there_is_one():
    assert SCRIPTS
