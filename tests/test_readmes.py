"""The READMEs are true: their examples print the text shown, and the files and names in them exist.

`minigrad/_core/README.md` looks at fields that only the interpreted mode shows to Python, and runs there.
"""

import ast
import doctest
import re
from pathlib import Path

import pytest

import minigrad as mg
from minigrad._build import pure as _pure
from minigrad.ops import REGISTRY

PACKAGE = Path(mg.__file__).parent
ROOT = PACKAGE.parent
INTERPRETED = ["_core/README.md"]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
OUTSIDE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks/README.md"]
READMES = [path for path in (*OUTSIDE, *sorted(PACKAGE.rglob("README.md"))) if path.exists()]


def name(path):
    return path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT).as_posix()


def examples(path):
    """The ``python`` blocks of a README, the other lines blanked so that failures name the right line."""
    lines, inside = [], False
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("```"):
            inside = line == "```python"
            line = ""
        lines.append(line if inside else "")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", READMES, ids=name)
def test_examples(path):
    if name(path) in INTERPRETED and not _pure.PURE:
        pytest.skip("shows fields that compiled classes hide")
    test = doctest.DocTestParser().get_doctest(examples(path), {"mg": mg}, name(path), str(path), 0)
    if name(path) != "README.md" and not path.is_relative_to(PACKAGE):
        assert not test.examples
        return
    output = []
    registered = dict(REGISTRY)
    failed = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=output.append).failed
    REGISTRY.clear()        # without the op of the example
    REGISTRY.update(registered)
    assert test.examples
    assert failed == 0, "".join(output)


@pytest.mark.parametrize("path", READMES, ids=name)
def test_links_lead_somewhere(path):
    targets = [t for t in re.findall(r"\]\(([^)#]+)\)", path.read_text("utf-8")) if "://" not in t]
    assert path.parent != ROOT or targets
    if (ROOT / "setup.py").exists():        # an installed package lies alone
        assert [t for t in targets if not (path.parent / t).exists()] == []


def test_core_readme_names_every_file_and_note():
    """A file or Note that is added to the core appears in the reading order."""
    text = (PACKAGE / "_core/README.md").read_text("utf-8")
    sources = {path.relative_to(PACKAGE / "_core").as_posix(): path.read_text("utf-8") for path in (PACKAGE / "_core").rglob("*.py")
               if path.stem != "__init__"}
    assert {f for f in sources if f"`{f}`" not in text} == set()
    notes = {(note, f) for f, source in sources.items() for note in re.findall(r"^Note \[(.+)\]", source, re.M)}
    assert set(re.findall(r"^\| ([^|]+?) \| `([\w/]+\.py)` \|", text.partition("## Notes")[2], re.M)) == notes


def lines_of(path, name):
    """How many lines the head of a file has, or a function, method or class of it."""
    tree = ast.parse(path.read_text("utf-8"))
    if name == "its head":
        return tree.body[0].end_lineno
    found = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name == name.rpartition(".")[2]]
    assert len(found) == 1, f"{path.name} has {len(found)} things called {name}"
    return found[0].end_lineno - found[0].lineno + 1


def test_the_first_half_hour_is_half_an_hour():
    """The files on the reading list of the core's README exist, and have no more lines than it says."""
    text = (PACKAGE / "_core/README.md").read_text("utf-8").partition("## The first half hour")[2]
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (.*?) \|", text, re.M)
    told = [(file, name.strip("`")) for _, _, cell in rows for file, names in re.findall(r"`([\w/]+\.py)`: ([^;]+)", cell)
            for name in names.split(", ")]
    assert len(told) >= 20 and sum(int(minutes) for _, minutes, _ in rows) == 30
    lines = sum(lines_of(PACKAGE / "_core" / file, name) for file, name in told)
    assert lines <= 700 and f"{lines} lines" in text
    page = ROOT / "docs/notes/half-hour.md"
    if page.exists():       # an installed package lies alone
        shown = re.findall(r'^(?:head_of|source_of)\("_core/([\w/]+\.py)"(?:, "([\w.]+)")?\)', page.read_text("utf-8"), re.M)
        assert [(file, name.rpartition(".")[2] or "its head") for file, name in shown] == [
            (file, name.rpartition(".")[2]) for file, name in told]


@pytest.mark.parametrize("folder, files", [("ops", "**/*.py"), ("kernels", "**/*.py*"), ("kernels", "**/*.h")])
def test_readme_names_every_file(folder, files):
    text = (PACKAGE / folder / "README.md").read_text("utf-8")
    found = {p.name for p in (PACKAGE / folder).glob(files) if p.stem != "__init__" and p.suffix in (".py", ".pyx", ".h")}
    assert {f for f in found if f"`{f}`" not in text} == set()


def test_make_targets_exist():
    """Every ``make x`` that the README or the CI script tells of is a target."""
    makefile = ROOT / "Makefile"
    if not makefile.exists():
        pytest.skip("an installed package has no Makefile")
    targets = set(re.findall(r"^([a-z-]+):", makefile.read_text("utf-8"), re.M))
    text = "\n".join(file.read_text("utf-8") for file in (*READMES, ROOT / ".ci/run", ROOT / ".ci/full"))
    told = set(re.findall(r"(?:`|^\s*)make ([a-z]+(?:-[a-z]+)*)", text, re.M))
    assert told <= targets and {"demo", "test", "bench", "release"} <= told
