"""The results of one submission and of a class, the decorators, and the command."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import minigrad as mg
from minigrad.grading import checks, class_report
from minigrad.grading.__main__ import main
from minigrad.grading.grade import for_gradescope, grade, junit, schema
from minigrad.grading.sets import Set
from minigrad.grading.submission import load
from tests.grading.conftest import HIDDEN, SOURCE, TOML, write_set

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the grader needs os.fork")
ROOT = Path(__file__).parents[2]
WRONG = SOURCE + "\n# %%\ndef double(x):\n    print('<b>x</b>')\n    return x\n"


def write(folder, name, text):
    (folder / name).mkdir(parents=True)
    (folder / name / "tiny.py").write_text(text)
    return folder / name


# ---- one submission -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text", [SOURCE, WRONG, "", None], ids=["right", "wrong", "empty", "missing"])
def test_schema(tiny, server, tmp_path, text):
    jsonschema = pytest.importorskip("jsonschema")
    if text is not None:
        write(tmp_path, "a", text)
    results = grade(tiny, tmp_path / "a", server)
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(results, schema())
    assert results["score"] == sum(test["score"] for test in results["tests"])


def test_a_right_submission(tiny, server, tmp_path):
    results = grade(tiny, write(tmp_path, "a", SOURCE), server, seed=5)
    assert results["score"] == 10 and results["extra_data"]["seed"] == 5
    assert [(test["number"], test["status"], test["visibility"]) for test in results["tests"]] == [
        ("1.1", "passed", "visible"), ("2.1", "passed", "after_published")]
    assert results["leaderboard"] == [{"name": "right", "value": 4, "order": "desc"}]


def test_gradescope_shows_no_outcome_of_a_check_that_comes_later(tiny, server, tmp_path):
    shown = []
    for text in (SOURCE, WRONG):
        results = grade(tiny, write(tmp_path, str(len(text)), text + "\n# %%\n1 / 0\n"), server)
        found = for_gradescope(results)
        shown.append(found["output"].splitlines()[:2])
        assert found["score"] == results["score"] and "Note: a cell was skipped" in found["output"]
    assert shown[0] == shown[1] == ["tiny: Tiny", "1 of 1 checks passed: 6 of 6 points. 1 more checks are not shown here."]
    for test in results["tests"]:
        test["visibility"] = "visible"
    assert for_gradescope(results) is results


def test_what_a_failed_check_says(tiny, server, tmp_path):
    text = SOURCE + "\n# %%\ndef add_gradients(old, new):\n    return old * 1\n\n\ndef double(x):\n    return x\n"
    first, second = grade(tiny, write(tmp_path, "a", text), server)["tests"]
    assert first["output"].startswith("x.grad: expected 6., found 3.\n\non this graph:\n    node")
    assert "MulBackward0" in first["output"] and first["output"].endswith("tutorials/02_the_engine.py explains it.")
    assert second["output"] == "some numbers are wrong"        # hide_errors


def test_an_error_names_the_line(tiny, server, tmp_path):
    text = SOURCE + "\n# %%\ndef add_gradients(old, new):\n    return old / zero\n"
    first, _ = grade(tiny, write(tmp_path, "a", text), server)["tests"]
    assert "NameError: name 'zero' is not defined" in first["output"] and "tiny.py, line 22, in add_gradients" in first["output"]


def test_a_part_that_was_not_used(tiny, server, tmp_path):
    text = SOURCE + "\n# %%\nclass add_gradients:\n    def __init__(self, old, new): pass\n"
    first, _ = grade(tiny, write(tmp_path, "a", text), server)["tests"]
    assert "SwapError" in first["output"] and "returned no sum" in first["output"]


def test_partial_credit(tiny, server, tmp_path):
    text = SOURCE + "\n# %%\nseen = []\ndef double(x):\n    seen.append(x)\n    return 2 * x if len(seen) < 4 else None\n"
    assert [test["score"] for test in grade(tiny, write(tmp_path, "a", text), server)["tests"]] == [6, 3]


def test_the_seed_decides_what_is_drawn(monkeypatch):
    monkeypatch.setenv("MINIGRAD_SEED", "1")
    one = checks.rng("a").random()
    assert one == checks.rng("a").random() != checks.rng("b").random()
    monkeypatch.setenv("MINIGRAD_SEED", "2")
    assert one != checks.rng("a").random()


def test_junit(tiny, server, tmp_path):
    root = ElementTree.fromstring(junit(grade(tiny, write(tmp_path, "a", WRONG + "\nprint('\\x1b')"), server)))
    assert root.get("tests") == "2" and root.get("failures") == "1"
    assert root.findall("testcase")[1].find("failure").get("message") == "some numbers are wrong"


@pytest.fixture(scope="module")
def choice(tmp_path_factory):
    """The tiny set, where the better one of two parts counts."""
    toml = "choose = 1\n" + TOML.replace("points = 10", "points = 6").replace("points = 4", "points = 6")
    hidden = HIDDEN.replace("partial_credit(4)", "partial_credit(6)").replace("set_score(right)", "set_score(right + 2)")
    return Set.read(write_set(tmp_path_factory.mktemp("choice"), set__toml=toml, test_hidden__py=hidden))


@pytest.mark.parametrize(("text", "score", "best", "failures"), [
    (SOURCE, 6, "1", "0"), (WRONG, 6, "1", "0"), (SOURCE.replace("old.clone() + new", "old"), 6, "2", "0"), ("x = 1\n", 0, "1", "1")])
def test_the_best_part_counts(choice, server, tmp_path, text, score, best, failures):
    results = grade(choice, write(tmp_path, "a", text), server)
    assert results["score"] == score and [test["number"][0] for test in results["tests"] if test["extra_data"]["counts"]] == [best]
    assert f"of 1 checks passed: {score} of 6 points" in results["output"]
    assert f"Only the best of 2 parts counts: part {best} (" in results["output"]
    root = ElementTree.fromstring(junit(results))
    assert root.get("failures") == failures and int(root.get("skipped")) == len(root.findall(".//skipped"))


def test_a_class_with_a_choice(choice, tmp_path, capsys):
    folder = write(tmp_path, "ann", SOURCE.replace("old.clone() + new", "old"))
    class_report.grade_class(choice, [folder, write(tmp_path, "bob", "x = 1\n")], tmp_path / "report")
    index, page = ((tmp_path / "report" / name).read_text() for name in ("index.html", "feedback/ann.html"))
    assert "part 2 (Double), 6 points. Not counted: part 1 (Add), 0 points" in index and "part 2 (Double)" in page
    assert "1.1 Gradients are added</h2>" not in page and "1.1 Gradients are added:" not in page and "2.1 Numbers are doubled: 6 of 6" in page
    assert main(["grade", str(choice.folder), str(folder)]) == 0
    assert "unused      0 of 6    1.1 Gradients are added\npassed " in capsys.readouterr().out


def test_decorators():
    @checks.weight(3)
    @checks.number("1.2")
    @checks.visibility("hidden")
    @checks.hide_errors("no")
    @checks.leaderboard("speed", "asc")
    def check(set_leaderboard_value=None):
        set_leaderboard_value(7)
    check()
    assert (check.__weight__, check.__number__, check.__visibility__, check.__hide_errors__) == (3, "1.2", "hidden", "no")
    assert check.__leaderboard__ == ("speed", "asc") and check.__values__ == {"leaderboard": 7}
    with pytest.raises(ValueError, match="visibility"):
        checks.visibility("never")


def test_same_asks_for_a_tensor():
    for found in (3.0, None, mg.tensor([3.0])):
        with pytest.raises(pytest.fail.Exception, match=r"expected (a Tensor|shape)"):
            checks.same(found, mg.tensor(3.0), "x")
    checks.same(mg.tensor(3.0), mg.tensor(3.0), "x")


def test_lines_of_cells(tmp_path, monkeypatch):
    (tmp_path / "cells.py").write_text('# %%\ntext = """\n# %% no cell\n"""\n\n# %%\nx = 1 / 0\n\n# %%\ny = 2\n')
    module = load(tmp_path / "cells.py", "cells_of_a_student")
    monkeypatch.delitem(sys.modules, "cells_of_a_student")
    assert module.__problems__ == ["cells.py, line 7: ZeroDivisionError: division by zero"] and module.y == 2
    with pytest.raises(AttributeError, match=r"has no 'x'\. These cells were skipped:\n    cells.py, line 7"):
        _ = module.x


# ---- the command ----------------------------------------------------------------------------------------------------------------

def test_command_for_one(tiny, tmp_path, capsys):
    folder = write(tmp_path, "a", WRONG)
    assert main(["grade", str(tiny.folder), str(folder), "--json", str(tmp_path / "r.json"), "--junit", str(tmp_path / "r.xml")]) == 0
    assert json.loads((tmp_path / "r.json").read_text())["score"] == 6 and (tmp_path / "r.xml").exists()
    assert "1 of 2 checks passed: 6 of 10 points" in capsys.readouterr().out
    assert main(["grade", str(tiny.folder), str(tmp_path / "nobody")]) == 0
    assert main(["grade", str(tmp_path), str(folder)]) == 2


def test_command_parts(capsys):
    assert main(["parts"]) == 0 and "ready_queue" in capsys.readouterr().out
    assert main(["parts", "vjp"]) == 0 and "the name of an op" in capsys.readouterr().out
    assert main(["parts", "nothing"]) == 2


def test_a_grader_that_does_not_start_blames_nobody(tiny, tmp_path, monkeypatch, capsys):
    (tmp_path / "pytest.py").write_text("raise ImportError('no pytest here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    folder = write(tmp_path, "a", SOURCE)
    assert main(["grade", str(tiny.folder), str(folder), "--json", str(tmp_path / "r.json")]) == 2
    assert "the grader does not start" in capsys.readouterr().err and not (tmp_path / "r.json").exists()
    assert main(["grade", str(tiny.folder), str(folder), "--out", str(tmp_path / "report")]) == 2
    assert not list((tmp_path / "report").rglob("*.json"))


# ---- a class --------------------------------------------------------------------------------------------------------------------

@pytest.fixture
def school(tmp_path):
    """The submissions of five students."""
    for name, text in (("ann", SOURCE), ("bob", WRONG), ("c & d", "import os; os._exit(0)"), ("=dan", SOURCE)):
        write(tmp_path / "submissions", name, text)
    (tmp_path / "submissions/eve").mkdir()
    return sorted((tmp_path / "submissions").iterdir())


def test_class(tiny, school, tmp_path, monkeypatch, capsys):
    out = tmp_path / "report"
    assert class_report.grade_class(tiny, school, out) == 0
    rows = {row["student"]: row for row in csv.DictReader((out / "summary.csv").open())}
    assert {name: row["score"] for name, row in rows.items()} == {"ann": "10", "bob": "6", "c & d": "0", "'=dan": "10", "eve": "0"}
    assert "no file tiny.py" in rows["eve"]["note"]
    index = (out / "index.html").read_text()
    assert "5 submissions" in index and "c%20%26%20d.html" in index and "c &amp; d" in index and "2.1 Numbers are doubled" in index
    page = (out / "feedback/bob.html").read_text()
    assert "some numbers are wrong" in page and "<b>" not in page
    assert not list(out.rglob("*.part"))
    assert class_report.message("x < y\n    n1  n2\nread") == 'x &lt; y\n<span class="table">    n1  n2</span>read'

    # again: nothing is graded twice, and what has changed is graded again
    graded = []
    monkeypatch.setattr(class_report, "grade", lambda homework, path, server, seed: graded.append(path.name) or grade(homework, path, server, seed))
    assert class_report.grade_class(tiny, school, out) == 0 and graded == []
    shutil.copy(school[1] / "tiny.py", school[-1] / "tiny.py")
    (out / "results/bob.json").write_text('{"half')
    assert class_report.grade_class(tiny, school, out) == 0 and sorted(graded) == ["bob", "eve"]
    assert "graded 5 of 5 submissions, 3 of them before" in capsys.readouterr().out


def test_other_checks_are_graded_again(school, tmp_path, monkeypatch):
    homework = Set.read(write_set(tmp_path))
    class_report.grade_class(homework, school[:1], tmp_path / "report")
    with open(tmp_path / "tiny/test_public.py", "a") as file:
        file.write("\n# changed\n")
    graded = []
    monkeypatch.setattr(class_report, "grade", lambda homework, path, server, seed: graded.append(path.name) or grade(homework, path, server, seed))
    class_report.grade_class(Set.read(tmp_path / "tiny"), school[:1], tmp_path / "report")
    assert len(graded) == 1


def test_names_of_folders(tmp_path):
    for name in ("a/x", "b/x", "b/y"):
        (tmp_path / name).mkdir(parents=True)
    names = class_report.names_of([tmp_path / "a/x", tmp_path / "b/x", tmp_path / "b/y", tmp_path / "b/y"])
    assert len(names) == 3 and "y" in names and all(name.endswith(("a_x", "b_x", "y")) for name in names)


def test_interrupted(tiny, tmp_path):
    for i in range(6):
        write(tmp_path / "submissions", f"s{i}", SOURCE + "\n# %%\nimport time; time.sleep(0.3)\n")
    command = [sys.executable, "-m", "minigrad.grading", "grade", str(tiny.folder), *map(str, sorted((tmp_path / "submissions").iterdir())),
               "--out", str(tmp_path / "report"), "--jobs", "2"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    results = tmp_path / "report/results"
    deadline = time.monotonic() + 60
    while not list(results.glob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "the same command goes on" in errors
    before = {path.name: path.read_text() for path in results.glob("*.json")}
    assert 1 <= len(before) < 6 and all(json.loads(text)["score"] == 10 for text in before.values())
    assert (tmp_path / "report/index.html").exists()
    found = subprocess.run(command, env=env, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 0 and f"graded 6 of 6 submissions, {len(before)} of them before" in found.stdout
    assert all((results / name).read_text() == text for name, text in before.items())


# ---- a student's own machine -------------------------------------------------------------------------------------------------------

def test_public_checks_on_a_students_machine(tiny, tmp_path):
    for name in ("adapters.py", "test_public.py"):
        shutil.copy(tiny.folder / name, tmp_path)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}

    def run():
        return subprocess.run([sys.executable, "-m", "pytest", "-q", "test_public.py"], cwd=tmp_path, env=env, capture_output=True, text=True)
    (tmp_path / "tiny.py").write_text(SOURCE)
    found = run()
    assert found.returncode == 0, found.stdout
    (tmp_path / "tiny.ipynb").write_text(json.dumps({"cells": [{"cell_type": "code", "source": "def add_gradients(old, new): return old"}]}))
    os.utime(tmp_path / "tiny.py", (1, 1))
    found = run()       # the notebook was saved last
    assert found.returncode == 1 and "x.grad: expected 6., found 3." in found.stdout
