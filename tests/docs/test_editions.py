"""The editions of a tutorial: students get no solutions, their checks say what is right, and teachers get the points."""

import ast
import functools
import importlib.util
import json
import os
import re
import runpy
import subprocess
import sys

import pytest

from minigrad.grading.build import read_notebook
from minigrad.testing import _exercise
from tests.docs.test_tutorials import APART, RUN_HERE, SIMULATED, each_of, each_run, on_the_simulator
from tests.docs.wrong_answers import WRONG
from tools.docs import editions, make_editions, tutorials

pytest.importorskip("jupytext")

ALL = [*tutorials.scripts(), *tutorials.projects()]
FIRST = tutorials.TUTORIALS / "01_derivative_to_graph.py"
WITHOUT_HINTS = ("16_", "17_", "char_gpt", "digits_cnn")
SITE = "https://example.org/minigrad"


student = functools.cache(editions.student)


def lines(source):
    return {line.strip() for line in source.split("\n") if len(line.strip()) > 3}


@each_of(ALL)
def test_students_get_no_line_of_a_solution(path):
    cells = read_notebook(path).cells
    hidden = set().union(*[lines(cell.source) for cell in cells if "solution" in cell.metadata.get("tags", ())])
    hidden -= set().union(*[lines(cell.source) for cell in cells if "solution" not in cell.metadata.get("tags", ())])
    assert len(hidden) >= 8
    notebook, script = student(path), editions.student_script(path)
    assert not hidden & set().union(*[lines(cell.source) for cell in notebook.cells])
    assert not hidden & lines(re.sub(r"^# ?", "", script, flags=re.MULTILINE)) and not hidden & lines(script)


@each_of(ALL)
def test_the_text_is_plain_markdown(path, monkeypatch):
    """Each link is complete, or there is none; what a role and a directive of the site say is text."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt()
    for site in ("", SITE):
        monkeypatch.setenv("MINIGRAD_SITE", site)
        cells = [cell for cell in editions.student(path).cells if cell.cell_type == "markdown"]
        links = [token.attrs["href"] for cell in cells for block in markdown.parse(cell.source) for token in block.children or ()
                 if token.type == "link_open"]
        assert all([link.startswith("https://") for link in links]), links
        assert any([link.startswith(SITE) for link in links]) == bool(site) or path in tutorials.projects()
        text = "\n".join([cell.source for cell in cells])
        assert not re.search(r"\{[\w:-]+\}`|^[`:]{3,}\{", text, re.MULTILINE) and "folded below" not in text


@each_of(ALL)
def test_the_notebook_is_valid_and_has_no_outputs(path):
    notebook = json.loads(editions.written(student(path)))         # nbformat has looked at it
    assert not any([cell.get("outputs") for cell in notebook["cells"]])
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert sum([cell["id"].startswith("try-") for cell in notebook["cells"]]) == 3


def nothing(*args, **kwargs):
    return None


def played(path, folder, monkeypatch):
    """The names of a student's script after it has run with its stubs, and [(check, verdict)]."""
    script = folder / path.name
    script.write_text(editions.student_script(path), "utf-8")
    monkeypatch.setattr(_exercise, "collected", [])
    names = runpy.run_path(str(script), run_name="exercises")
    return names, [(check, verdict) for check, verdict in _exercise.collected if verdict is not None]


@each_run([*RUN_HERE, *tutorials.projects()])
def test_what_the_checks_say(path, tmp_path, monkeypatch, capsys):
    """Of stubs, "not yet"; of wrong answers anything else than "right"; and of the solutions "right"."""
    for needed in ("sklearn", "tqdm", "matplotlib") if path in tutorials.projects() else ():
        pytest.importorskip(needed)
    monkeypatch.setenv("SIZE", "small")
    monkeypatch.chdir(tmp_path)
    names, said = played(path, tmp_path, monkeypatch)
    assert [check.number for check, _ in said] == [1, 2, 3]
    for check, verdict in said:
        assert re.match(rf"not yet: exercise {check.number}\. \w.{{10,}}", verdict), verdict
    monkeypatch.setattr(_exercise, "collected", None)
    cells = read_notebook(path)
    answers = []
    for exercise in editions.exercises(cells):
        exec(editions.solution(cells.cells, exercise), names)
        answers.append(names[exercise.answer])
    for (check, _), mine in zip(said, answers):
        assert check.verdict(mine) == "right"
        for wrong in (nothing, [0] * 5, *[answer for answer in answers if answer is not mine]):
            assert check.verdict(wrong).startswith("not yet: exercise "), (check.number, wrong)
    ideas(path.stem, names, dict(zip([check.__name__ for check, _ in said], answers)))


@pytest.mark.skipif(SIMULATED, reason="it runs here")
@pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda, which has the simulator, is not installed")
@each_of(APART)
def test_on_the_simulator(path):
    on_the_simulator(__file__, f"{path.stem} and say")


def ideas(tutorial, names, answers):
    """Each sentence about a wrong answer is said of some answer, and each wrong answer earns one. Each exercise with hints has three."""
    programs = WRONG.get(tutorial.partition("_")[0], {})
    assert set(programs) <= set(answers)
    assert tutorial.startswith(WITHOUT_HINTS) or all([len(names[name].hints) == 3 for name in answers])
    for name, mine in answers.items():
        check = names[name]
        wrong = []
        for code in programs.get(name, ()):
            there = dict(names)
            exec(code, there)
            wrong.append(there["wrong"])
        for text in names.get("PROGRAMS", ()) if isinstance(mine, list) else ():
            said = [key.removeprefix(f"{text}: not ") for key in check.wrong if key.startswith(f"{text}: not ")]
            place = names["PROGRAMS"].index(text)
            kind = set if isinstance(mine[place], set) else lambda value: value     # a message shows a set as a list, in order
            wrong += [[*mine[:place], kind(ast.literal_eval(value)), *mine[place + 1:]] for value in said]
        found = set()
        for answer in wrong:
            with pytest.raises(AssertionError) as error:
                check(answer)
            message = str(error.value)
            found |= {key for key, sentence in check.wrong.items() if key in message and message.endswith(sentence)} or {message}
        assert found == set(check.wrong), name


def test_check_in_a_process_of_its_own(tmp_path):
    """One answer right, one wrong, one missing; and a wrong one never makes the program say right."""
    script = editions.student_script(FIRST)
    script = script.replace("predicted = [None, None, None, None, None]", "predicted = [3, 5, 2, 5, 0]")
    script = script.replace("def depth(tensor):\n    raise NotImplementedError", "def depth(tensor):\n    print('right')\n    return 4")
    path = tmp_path / "01.py"
    path.write_text(script, "utf-8")
    ended = subprocess.run([sys.executable, path, "--check"], env=os.environ | {"PYTHONPATH": str(tutorials.ROOT)}, capture_output=True,
                           text=True, check=False)
    assert ended.stdout.splitlines() == [
        "not yet: exercise 1. a * a * a: not 5. See mg.viz.draw(a * a * a)", "You counted the leaf at each use. It has one node.",
        "not yet: exercise 2. Replace `raise NotImplementedError` with your answer.", "not yet: exercise 3. x * 2: 4 instead of 2"]
    assert ended.returncode == 1 and ended.stderr == ""


# ---- the page --------------------------------------------------------------------------------------------------------------

@each_of(ALL)
def test_a_page_offers_the_students_edition_alone(path):
    text = tutorials.page(path)
    assert f"<student/{path.stem}.ipynb>" in text and f"<student/{path.name}>" in text
    assert "nb-download" not in text and "teacher" not in text.split("**")[0]
    assert ".hints = [" not in text and ".wrong = {" not in text


def test_hints_are_folds_in_folds():
    text = tutorials.page(FIRST)
    blocks = re.findall(r"^# <details><summary>Hint 1.*?\n\n", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        assert re.findall(r"Hint \d", block) == ["Hint 1", "Hint 2", "Hint 3"] and block.endswith("# </details>\n" * 3 + "\n")
    assert "# Draw what you are not sure about: `mg.viz.draw(a * a * a)`." in blocks[0]


def test_what_the_site_ships():
    class Pages:
        def __init__(self):
            self.names = set()

        def write(self, name, text):
            if "_made" not in name:
                self.names.add(name)
    pages = Pages()
    tutorials.write(pages)
    editions.write(pages)
    assert pages.names == {f"{path.parent.name}/{part}" for path in ALL
                           for part in (path.name, f"student/{path.name}", f"student/{path.stem}.ipynb")}


# ---- the teacher's ---------------------------------------------------------------------------------------------------------

@each_of(tutorials.scripts())
def test_the_teachers_notebook(path):
    notebook = json.loads(editions.written(editions.teacher(path)))
    marked = [cell for cell in notebook["cells"] if "nbgrader" in cell["metadata"]]
    about = [cell["metadata"]["nbgrader"] for cell in marked]
    assert len({entry["grade_id"] for entry in about}) == len(about)
    assert [entry["points"] for entry in about if entry["grade"]] == [1, 2, 3]
    assert [entry["locked"] for entry in about if entry["solution"]] == [False] * 3
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        assert ("### BEGIN SOLUTION" in source) == (cell in marked and cell["metadata"]["nbgrader"]["solution"])


@each_of(tutorials.scripts())
def test_nbgrader_makes_the_students_cells_of_it(path):
    preprocessors = pytest.importorskip("nbgrader.preprocessors")
    from nbgrader.nbgraderformat import MetadataValidator
    notebook = editions.teacher(path)
    MetadataValidator().validate_nb(notebook)
    stubs = {"python": "# your code goes above"}
    assert json.dumps(stubs) in editions.CONFIG
    released, _ = preprocessors.ClearSolutions(code_stub=stubs).preprocess(notebook, {})
    code = [line for cell in released.cells if cell.cell_type == "code" and not cell.id.startswith("points") for line in cell.source.split("\n")]
    mine = [line for cell in student(path).cells if cell.cell_type == "code" and not cell.id.startswith("try") for line in cell.source.split("\n")]
    assert [line for line in code if line.strip() and line != stubs["python"]] == [line for line in mine if line.strip()]


def test_the_command(tmp_path, capsys):
    first, name = str(FIRST), FIRST.stem
    make_editions.main([first, "--student", "--out", str(tmp_path)])
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")} == {f"student/{name}.ipynb", f"student/{name}.py"}
    make_editions.main([first, "--teacher", "--out", str(tmp_path / "class")])
    assert {path.relative_to(tmp_path / "class").as_posix() for path in (tmp_path / "class").rglob("*.*")} \
        == {f"teacher/source/{name}/{name}.ipynb", "teacher/nbgrader_config.py"}
    assert f"{name}.ipynb" in capsys.readouterr().out


def test_where_an_exercise_is_incomplete(tmp_path):
    source = "# %%\n{stub}\n\n# %%\n@mg.testing.exercise(1)\ndef check_a(a):\n    pass\n\n# %% tags=[\"solution\"]\n{end}\n"
    path = tmp_path / "x.py"
    for stub, end, said in (("print(1)", "check_a(1)", "the last statement of a stub binds the name"),
                            ("a = None", "b = 1", "the last line of the solution calls check_a")):
        path.write_text(source.format(stub=stub, end=end), "utf-8")
        with pytest.raises(ValueError, match=said):
            editions.teacher(path)
    path.write_text(source.partition("# %% tags")[0].format(stub="a = None"), "utf-8")
    with pytest.raises(ValueError, match="exercise 1 has no solution after its check"):
        editions.student(path)
