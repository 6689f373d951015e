"""What `build` refuses, what students get, and the zips."""

import importlib.util
import io
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from minigrad._build import pure
from minigrad.grading.__main__ import main
from minigrad.grading.sets import Set, SetError
from tests.grading.conftest import HIDDEN, PUBLIC, SOURCE, TOML, write_set

pytest.importorskip("nbgrader")
pytest.importorskip("jupytext")

from minigrad.grading import build as building

ROOT = Path(__file__).parents[2]
HOMEWORK = sorted(path.parent for path in (ROOT / "tutorials/homework").glob("*/set.toml"))
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the grader needs os.fork")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the tiny set, built."""
    folder = tmp_path_factory.mktemp("built")
    building.build(write_set(folder), folder / "out", jobs=1)
    return folder / "out"


@needs_fork
def test_what_is_written(built):
    assert sorted(str(path.relative_to(built)) for path in built.rglob("*") if path.is_file()) == [
        "solution/adapters.py", "solution/test_public.py", "solution/tiny.ipynb", "solution/tiny.py",
        "student/adapters.py", "student/test_public.py", "student/tiny.ipynb", "student/tiny.py",
        "tiny-gradescope.zip", "tiny-student.zip"]
    text = (built / "student/tiny.py").read_text()
    assert text.count("raise NotImplementedError()") == 2 and "summed" not in text and "SOLUTION" not in text
    assert "summed" in (built / "solution/tiny.py").read_text()


@needs_fork
def test_the_zip_for_gradescope(built):
    archive = zipfile.ZipFile(built / "tiny-gradescope.zip")
    assert sorted(archive.namelist()) == ["run_autograder", "setup.sh", "tiny/adapters.py", "tiny/set.toml", "tiny/test_hidden.py",
                                          "tiny/test_public.py"]
    for name in ("run_autograder", "setup.sh"):
        assert archive.getinfo(name).external_attr >> 16 & 0o111
        assert subprocess.run(["bash", "-n"], input=archive.read(name)).returncode == 0
    assert b"python -m minigrad.grading grade /autograder/source/tiny" in archive.read("run_autograder")
    assert not any("summed" in archive.read(name).decode() for name in archive.namelist())


@needs_fork
def test_the_graders_copy_grades(built, tmp_path, server):
    from minigrad.grading.grade import grade
    zipfile.ZipFile(built / "tiny-gradescope.zip").extractall(tmp_path)
    homework = Set.read(tmp_path / "tiny")
    assert grade(homework, built / "solution/tiny.ipynb", server)["score"] == 10
    assert grade(homework, built / "student", server)["score"] == 0


@needs_fork
def test_nbgraders_own_release(built, tmp_path):
    import nbformat
    (tmp_path / "source/tiny").mkdir(parents=True)
    for name in ("tiny.ipynb", "adapters.py", "test_public.py"):
        (tmp_path / "source/tiny" / name).write_bytes((built / "solution" / name).read_bytes())
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])      # it calls alembic by name
    done = subprocess.run([sys.executable, "-m", "nbgrader", "generate_assignment", "tiny", "--create"], cwd=tmp_path,
                          capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "release/tiny").iterdir()) == ["adapters.py", "test_public.py", "tiny.ipynb"]
    theirs, ours = (nbformat.read(folder / "tiny.ipynb", as_version=4) for folder in (tmp_path / "release/tiny", built / "student"))
    assert [cell.source for cell in theirs.cells] == [cell.source for cell in ours.cells]


@needs_fork
def test_building_again_gives_the_same_bytes(built, tmp_path, monkeypatch):
    monkeypatch.setattr(building, "try_set", lambda *args: [])
    building.build(write_set(tmp_path), tmp_path / "out", jobs=1)
    for path in built.rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "out" / path.relative_to(built)).read_bytes(), path


def test_rubric_and_extras(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "try_set", lambda *args: [])
    rubric = 'points = 6\nrubric = """\nFull: added, not\nwritten to.\nHalf: added.\nNone: replaced.\n"""\n'
    toml = 'extras = ["simulator"]\n' + TOML.replace("points = 6\n", rubric)
    building.build(write_set(tmp_path, set__toml=toml), tmp_path / "out", jobs=1)
    text = (tmp_path / "out/solution/rubric.md").read_text()
    assert "## Part 1: Add, 6 points\n\n* **Full:** added, not\nwritten to.\n* **Half:** added.\n" in text and "Part 2" not in text
    assert not (tmp_path / "out/student/rubric.md").exists()
    setup = zipfile.ZipFile(tmp_path / "out/tiny-gradescope.zip").read("setup.sh").decode()
    assert setup.count("minigrad-autograd[simulator]==") == 2


def test_wheelhouse(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "try_set", lambda *args: [])
    (tmp_path / "wheels").mkdir()
    with pytest.raises(SetError, match="no wheel of minigrad-autograd"):
        building.build(write_set(tmp_path), tmp_path / "out", wheelhouse=tmp_path / "wheels", jobs=1)
    (tmp_path / "wheels/minigrad_autograd-0.1.0-py3-none-any.whl").write_bytes(b"wheel")
    building.build(tmp_path / "tiny", tmp_path / "out", wheelhouse=tmp_path / "wheels", jobs=1)
    archive = zipfile.ZipFile(io.BytesIO((tmp_path / "out/tiny-gradescope.zip").read_bytes()))
    assert archive.read("wheelhouse/minigrad_autograd-0.1.0-py3-none-any.whl") == b"wheel"


# ---- refusals: what is changed -> what the message says --------------------------------------------------------------------

def without(text, line):
    assert line in text
    return text.replace(line, "", 1)


READ = {
    "no end of a solution": (dict(tiny__py=without(SOURCE, "    ### END SOLUTION\n")),
                             r"tiny\.py, line 7: BEGIN SOLUTION has no END SOLUTION in its cell"),
    "no end in the last cell": (dict(tiny__py=SOURCE.replace("    return x * 2 + 0 * 1 - 0\n    ### END SOLUTION\n", "")),
                                r"tiny\.py, line 16: BEGIN SOLUTION has no END SOLUTION"),
    "no begin of a solution": (dict(tiny__py=without(SOURCE, "    ### BEGIN SOLUTION\n")),
                               r"tiny\.py, line 9: END SOLUTION without a BEGIN SOLUTION"),
    "a solution in a solution": (dict(tiny__py=SOURCE.replace("    summed =", "    ### BEGIN SOLUTION\n    summed =")),
                                 r"tiny\.py, line 8: BEGIN SOLUTION inside the region that begins in line 7"),
    "a solution cell without marker": (dict(tiny__py=SOURCE.replace("    ### BEGIN SOLUTION\n    return", "    return")
                                            .replace("- 0\n    ### END SOLUTION\n", "- 0\n")),
                                       r"tiny\.py, line 13: a solution cell has no ### BEGIN SOLUTION"),
    "a marker in another cell": (dict(tiny__py=SOURCE.replace('"solution": true', '"solution": false')),
                                 r"tiny\.py, line 7: a solution in a cell whose nbgrader metadata"),
    "no solutions": (dict(tiny__py="x = 1\n"), r"tiny\.py: there is no ### BEGIN SOLUTION"),
    "an open hidden test": (dict(tiny__py=SOURCE + "### BEGIN HIDDEN TESTS\n"), r"line 19: BEGIN HIDDEN TESTS has no END"),
    "parts and set": (dict(set__toml=TOML.replace("points = 10", "points = 11")), r"set\.toml: the parts have 10 points .* the set has 11"),
    "a choice of all parts": (dict(set__toml="choose = 2\n" + TOML), r"set\.toml: choose = 2: expected .* fewer than the 2 there are"),
    "a choice of unequal parts": (dict(set__toml="choose = 1\n" + TOML), r"set\.toml: choose = 1: each part needs 10 points, .* they have 6, 4"),
    "checks and part": (dict(test_public__py=PUBLIC.replace("@weight(6)", "@weight(5)")),
                        r"set\.toml: part 1 has 6 points, and its checks have 5 \(test_public\.py, line 9\)"),
    "a check of no part": (dict(test_hidden__py=HIDDEN + '\n\n@partial_credit(0)\n@number("7.1")\ndef test_more(set_score=None):\n    pass\n'),
                           r"test_hidden\.py, line \d+: test_more has the number '7\.1'"),
    "a check without points": (dict(test_hidden__py=HIDDEN.replace("@partial_credit(4)\n", "")), r"test_double has no @weight"),
    "points that are computed": (dict(test_public__py=PUBLIC.replace("weight(6)", "weight(2 * 3)")), r"line 7: weight\(\) needs constants"),
    "a syntax error in the checks": (dict(test_public__py="def test_x(:\n"), r"test_public\.py, line 1"),
    "no points": (dict(set__toml='title = "x"\n'), r"set\.toml: points, minutes, parts is missing"),
    "no TOML": (dict(set__toml="title = \n"), r"set\.toml"),
    "an unknown limit": (dict(set__toml=TOML + "hours = 3\n"), r"\[limits\] has no hours"),
    "no adapters": (dict(adapters__py=None), r"adapters\.py is missing"),
    "a mutant without a reason": ({"mutants/zero__py": "def double(x):\n    return 0\n"}, r"zero\.py: the first line of a mutant"),
    "a solution in the handout": (dict(tiny__py=SOURCE + "\n# %% [markdown]\n# Write `summed = old.clone() + new` and `return summed`.\n"),
                                  r"tiny\.py, line 7: a part of this solution is also in tiny\.ipynb"),
    "a solution in the public checks": (dict(test_public__py=PUBLIC + "\n\ndef ours(old, new):\n    summed = old.clone() + new\n    return summed\n"),
                                        r"line 7: a part of this solution is also in test_public\.py"),
}


@pytest.mark.parametrize("name", READ)
def test_refused_unrun(tmp_path, monkeypatch, name):
    changed, message = READ[name]
    monkeypatch.setattr(building, "try_set", lambda *args: pytest.fail("the set was run"))
    with pytest.raises(SetError, match=message):
        building.build(write_set(tmp_path, **changed), tmp_path / "out")
    assert not (tmp_path / "out").exists()


RUN = {
    "a wrong solution": (dict(tiny__py=SOURCE.replace("x * 2", "x * 5")), r"the solution fails check 2\.1 Numbers are doubled"),
    "a check that passes on nothing": (dict(test_hidden__py=HIDDEN.replace("    double, random = adapters.double(), rng(\"2.1\")\n", "    double, random = (lambda n: 2 * n), rng(\"2.1\")\n")),
                                       r"test_hidden\.py, line 11: check 2\.1 .* should fail by NotImplementedError .* but it passes"),
    "a mutant with all points": ({"mutants/right__py": "# wrong: nothing\n"}, r"mutants/right\.py gets all points"),
    "a check that no mutant fails": ({"mutants/triples__py": "# wrong: adds\ndef add_gradients(old, new):\n    return old\n"},
                                     r"test_hidden\.py, line 11: no mutant fails check 2\.1"),
    "a mutant that is refused": ({"mutants/triples__py": "# wrong: patches\nimport numpy\nnumpy.allclose = None\n"},
                                 r"test_hidden\.py, line 11: no mutant fails check 2\.1"),
}


@needs_fork
@pytest.mark.parametrize("name", RUN)
def test_refused_after_a_trial(tmp_path, name):
    changed, message = RUN[name]
    with pytest.raises(SetError, match=message):
        building.build(write_set(tmp_path, **changed), tmp_path / "out", jobs=1)
    assert not (tmp_path / "out").exists()


@needs_fork
def test_several_sets_and_a_table(tmp_path, capsys):
    folders = [write_set(tmp_path / "a"), write_set(tmp_path / "b", adapters__py=None).rename(tmp_path / "faulty")]
    assert main(["build", *map(str, folders), "--out", str(tmp_path / "out"), "--jobs", "1"]) == 1
    found = capsys.readouterr()
    table = found.out.splitlines()[-2:]
    assert table[0].split() == ["set", "checks", "mutants", "seconds", "mutants", "that", "fail", "each", "check"]
    assert re.fullmatch(r"tiny +2 +2 +\d+  1\.1: 1  2\.1: 1", table[1])
    assert "faulty.py is missing" in found.err and found.err.endswith("not built: faulty\n")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["tiny"]


def test_a_folder_with_other_files_is_not_replaced(tmp_path):
    (tmp_path / "out/student").mkdir(parents=True)
    (tmp_path / "out/grades.csv").write_text("Ada, 10\n")
    with pytest.raises(SetError, match=r"out has files that no build has written, such as grades\.csv"):
        building.build(write_set(tmp_path), tmp_path / "out")
    assert (tmp_path / "out/grades.csv").read_text() == "Ada, 10\n"


def test_tokens_leave_layout_out():
    assert building.tokens("# a  =  b\n\n    #+ c_1") == ["a", "=", "b", "+", "c_1"]


# ---- the sets that we ship ----------------------------------------------------------------------------------------------------

def needs_packages(folder):
    """Skip the test if a package that the set needs is not installed."""
    if "simulator" in Set.read(folder).about.get("extras", ()):
        pytest.importorskip("numba_cuda")


@pytest.mark.parametrize("folder", HOMEWORK, ids=lambda path: path.name)
def test_every_part_has_a_rubric(folder):
    homework = Set.read(folder)
    text = building.rubric(homework)
    for kind in ("Full", "Half", "None"):
        assert text.count(f"* **{kind}:**") == len(homework.parts), kind


@needs_fork
@pytest.mark.skipif(not pure.PURE, reason="make homework builds all sets compiled")
@pytest.mark.parametrize("folder", [path for path in HOMEWORK if path.name in ("hw1", "hw3")], ids=lambda path: path.name)
def test_homework(tmp_path, folder):
    needs_packages(folder)
    # `build` refuses a set whose solution, skeleton or mutants are graded wrongly, or whose solution leaks.
    trials = building.build(folder, tmp_path / "out")
    homework = Set.read(folder)
    solution, skeleton, *mutants = trials
    assert solution.results["score"] == homework.points and skeleton.results["score"] == 0
    everything = sum(part["points"] for part in homework.parts)      # with a choice more than the points of the set
    assert all(sum(trial.results["extra_data"]["parts"].values()) < everything for trial in mutants)
    assert {number for trial in mutants for number in trial.failed} == {check.number for check in homework.checks}
    assert all(trial.results["execution_time"] < 60 for trial in trials)


@pytest.mark.parametrize("folder", HOMEWORK, ids=lambda path: path.name)
def test_a_students_path_through_the_notebook(tmp_path, monkeypatch, folder):
    needs_packages(folder)
    # What students get runs until the first unfinished part is called. With all parts written it runs to its end, and the public
    # checks, run beside the notebook, pass.
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    homework = Set.read(folder)

    def run(notebook):
        client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
        client.execute()

    def check(notebook):
        nbformat.write(notebook, tmp_path / f"{homework.name}.ipynb")
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_public.py"], cwd=tmp_path,
                              capture_output=True, text=True)
        return {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed)", done.stdout.splitlines()[-1])}
    for name in ("adapters.py", "test_public.py"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    number = sum(each.file == "test_public.py" for each in homework.checks)
    given = nbformat.reads(building.release(homework)[f"{homework.name}.ipynb"], as_version=4)
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="NotImplementedError"):
        run(given)
    assert check(given) == {"failed": number}
    written = [cell for cell in building.read_notebook(homework.source).cells if cell.metadata.get("nbgrader", {}).get("solution")]
    for cell in given.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = written.pop(0).source
    run(given)
    assert not written and check(given) == {"passed": number}
    printed = "".join(out.get("text", "") for cell in given.cells if cell.cell_type == "code" for out in cell.outputs)
    assert re.search(r"loss|accuracy|slope", printed)


def test_a_missing_simulator_has_a_name(monkeypatch):
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")     # the file sets it too
    spec = importlib.util.spec_from_file_location("adapters_of_hw7", ROOT / "tutorials/homework/hw7/adapters.py")
    adapters = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adapters)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(pytest.fail.Exception, match="numba-cuda is not installed"):
        adapters.kernel("softmax_kernel")


@needs_fork
def test_a_class_that_does_not_exist(tmp_path):
    tool = pytest.importorskip("tools.synthetic_class")
    told = tool.write_class(write_set(tmp_path), tmp_path / "submissions", students=30)
    broken = {kind for kind in told.values() if kind not in ("solution", "skeleton") and not kind.startswith("mutant")}
    assert len(told) == 30 and len(broken) == 10
    from minigrad.grading import class_report
    report = tmp_path / "report"
    homework = Set.read(tmp_path / "tiny")
    some = {student: kind for kind, student in {kind: student for student, kind in told.items()}.items()}     # one of each kind
    assert class_report.grade_class(homework, [tmp_path / "submissions" / student for student in some], report) == 0
    assert tool.surprises(some, 10, report) == []
    student = next(student for student, kind in some.items() if kind == "exits")
    assert tool.surprises({**some, student: "solution"}, 10, report) == [student]


@pytest.mark.parametrize("folder", HOMEWORK, ids=lambda path: path.name)
def test_homework_runs_as_a_script(folder):
    # The solution as a student would run it: with the training at its end.
    found = subprocess.run([sys.executable, folder / f"{folder.name}.py"], capture_output=True, text=True, cwd=folder,
                           env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])})
    assert found.returncode == 0, found.stderr
    assert re.search(r"loss|accuracy|slope", found.stdout)
