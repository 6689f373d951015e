"""The pages for teachers: a homework set is written by copying the code blocks of a page, and built; the syllabus names what exists."""

import os
import re
from pathlib import Path

import pytest

from minigrad.grading.sets import Set, SetError

tutorials = pytest.importorskip("tools.docs.tutorials")      # a wheel brings the tests alone

ROOT = Path(__file__).parents[2]
TEACH = ROOT / "docs/teach"
BLOCK = re.compile(r"^```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = (TEACH / "write-your-own.md").read_text("utf-8")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the grader needs os.fork")


def copy_blocks(folder):
    """Write the files of the page below `folder`, as a reader does. Returns the folder of the set."""
    for name, text in BLOCK.findall(PAGE):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder / "momentum"


@needs_fork
def test_write_your_own(tmp_path):
    pytest.importorskip("nbgrader")
    from minigrad.grading.build import build
    folder = copy_blocks(tmp_path)
    solution, skeleton, *mutants = build(folder, tmp_path / "out", jobs=1)
    assert solution.results["score"] == Set.read(folder).points == 20 and skeleton.results["score"] == 0
    for trial in mutants:       # the page says which checks each fails
        assert f"{trial.name:<32}{trial.results['score']:5g} points" in PAGE
        assert f"   fails {' '.join(trial.failed)}\n" in PAGE
    assert len(mutants) == 4


CELL = ('# %% nbgrader={"grade": false, "grade_id": "step", "locked": false, "schema_version": 3, "solution": true, "task": false}\n'
        "import minigrad")
# What a teacher forgets: the file, the text that is replaced, and what replaces it; None removes the file. The page has each message.
FORGOTTEN = {
    "the end of a solution": ("momentum.py", 'state["speed"])\n    ### END SOLUTION\n', 'state["speed"])\n'),
    "the metadata of a cell": ("momentum.py", CELL, "# %%\nimport minigrad"),
    "a point": ("test_public.py", "@weight(6)", "@weight(5)"),
    "that students read the text": ("momentum.py", "Write to `param` in place.\n", 'Write to `param` in place.\n# `speed = state.get("speed")`\n'),
    "to try the solution": ("momentum.py", "grad * (limit / length) for", "grad * (length / limit) for"),
    "a mutant": ("mutants/no_memory.py", None, None),
}


@needs_fork
@pytest.mark.parametrize("what", FORGOTTEN)
def test_what_a_teacher_forgets_is_refused(tmp_path, what):
    pytest.importorskip("nbgrader")
    from minigrad.grading.build import build
    folder = copy_blocks(tmp_path)
    name, old, new = FORGOTTEN[what]
    if old is None:
        (folder / name).unlink()
    else:
        text = (folder / name).read_text("utf-8")
        assert text.count(old) == 1
        (folder / name).write_text(text.replace(old, new), "utf-8")
    with pytest.raises(SetError) as refused:
        build(folder, tmp_path / "out", jobs=1)
    first, *_ = str(refused.value).splitlines()
    assert f"`{first.replace(f'{tmp_path.resolve()}/', '')}`" in PAGE
    assert not (tmp_path / "out").exists()


# ---- the syllabus -------------------------------------------------------------------------------------------------------------

def weeks():
    """The rows of the syllabus: (week, numbers of tutorials as "1" or "1b", set, minutes)."""
    text = (TEACH / "syllabus.md").read_text("utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if re.match(r"\| \d+ \|", line)]
    return [(int(row[0]), re.findall(r"\d+b?", row[2]), row[3], row[4]) for row in rows]


def test_the_syllabus_has_every_tutorial_once():
    there = [tutorials.number(path) for path in tutorials.scripts()]
    more = re.search(r"^Tutorials (\d+) to (\d+) are for those who want more", (TEACH / "syllabus.md").read_text("utf-8"), re.MULTILINE)
    assert more and more[2] == there[-1]
    assert [number for _, numbers, _, _ in weeks() for number in numbers] == there[:there.index(more[1])]
    assert [week for week, *_ in weeks()] == list(range(1, 11))


@pytest.mark.parametrize("folder", sorted(path.parent for path in (ROOT / "tutorials/homework").glob("*/set.toml")), ids=lambda path: path.name)
def test_the_syllabus_has_every_set_after_its_tutorials(folder):
    homework, known = Set.read(folder), set()
    for _, numbers, name, minutes in weeks():
        known.update(numbers)
        if name == homework.name:
            assert {tutorials.number(Path(tutorial)) for tutorial in homework.about["tutorials"]} <= known
            assert minutes == str(homework.minutes)
            return
    pytest.fail(f"{homework.name} has no week")
