"""Build a homework set: what students get, the solution, and zips for Gradescope and for a course page.

    dist/hw3/
        student/            hw3.ipynb, hw3.py, adapters.py, test_public.py
        solution/           the same with solutions; hw3.ipynb is also a source for nbgrader; rubric.md, for teachers
        hw3-student.zip     for a course page
        hw3-gradescope.zip  setup.sh, run_autograder, the checks; and a wheelhouse, if one is given

Nothing is written before the set has been tried: `find_faults` reads it, and `try_set` grades the solution, the skeleton and the
mutants. nbgrader's preprocessors remove the solutions; `leaks` then looks for their tokens in all that students get.
"""

import io
import re
import shutil
import stat
import tempfile
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from minigrad.grading.grade import grade
from minigrad.grading.server import Server
from minigrad.grading.sets import Set, SetError

__all__ = ["Trial", "build", "find_faults", "leaks", "release", "table", "try_set", "variants"]

PAIRS = ("SOLUTION", "HIDDEN TESTS")
WINDOW = 10         # so many tokens of a solution in a row are a leak, and a line of LINE tokens; twice as many of a hidden test
LINE = 8
MUTANT = "\n\n# %%\nimport types as _types\nsolution = _types.SimpleNamespace(**globals())\n\n# %%\n"


# ---- faults that can be read ------------------------------------------------------------------------------------------

def regions(path, what):
    """(first line, text) of each region between ``### BEGIN <what>`` and ``### END <what>``. Raises `SetError` if one is open."""
    found, begin = [], None
    lines = path.read_text(encoding="utf-8").splitlines()
    for i, line in enumerate(lines, 1):
        if f"BEGIN {what}" in line:
            if begin is not None:
                raise SetError(f"{path}, line {i}: BEGIN {what} inside the region that begins in line {begin}")
            begin = i
        elif f"END {what}" in line:
            if begin is None:
                raise SetError(f"{path}, line {i}: END {what} without a BEGIN {what} before it")
            found.append((begin, "\n".join(lines[begin:i - 1])))
            begin = None
        elif begin is not None and re.match(r"# *%%", line):
            raise SetError(f"{path}, line {begin}: BEGIN {what} has no END {what} in its cell")
    if begin is not None:
        raise SetError(f"{path}, line {begin}: BEGIN {what} has no END {what}")
    return found


def find_faults(homework):
    """Raise `SetError` for the first fault that can be seen without running anything."""
    source = homework.source
    for path in (source, homework.folder / "adapters.py", homework.folder / "test_public.py"):
        if not path.is_file():
            raise SetError(f"{path} is missing")
    if not regions(source, "SOLUTION"):
        raise SetError(f"{source}: there is no ### BEGIN SOLUTION")
    regions(source, "HIDDEN TESTS")
    cell_line, cell_is_solution, has_region = 1, False, True
    for i, line in enumerate([*source.read_text(encoding="utf-8").splitlines(), "# %%"], 1):
        if re.match(r"# *%%(?!%)", line):
            if cell_is_solution and not has_region:
                raise SetError(f"{source}, line {cell_line}: a solution cell has no ### BEGIN SOLUTION")
            cell_line, cell_is_solution, has_region = i, '"solution": true' in line, False
        elif "BEGIN SOLUTION" in line:
            has_region = True
            if not cell_is_solution:
                raise SetError(f"{source}, line {i}: a solution in a cell whose nbgrader metadata does not say \"solution\": true")
    check_points(homework)
    for number, part in enumerate(homework.parts, 1):
        checks = [check for check in homework.checks if check.part == str(number)]
        if sum(check.weight for check in checks) != part["points"]:
            raise SetError(f"{homework.folder / 'set.toml'}: part {number} has {part['points']:g} points, and its checks have "
                           + (" + ".join(f"{check.weight:g} ({check.file}, line {check.line})" for check in checks) or "none"))
    for check in homework.checks:
        if not check.part.isdigit() or not 0 < int(check.part) <= len(homework.parts):
            raise SetError(f"{homework.folder / check.file}, line {check.line}: {check.function} has the number {check.number!r}, "
                           "which begins with that of no part")
    for path in homework.mutants():
        if not path.read_text(encoding="utf-8").startswith("# wrong:"):
            raise SetError(f"{path}: the first line of a mutant says what is wrong: # wrong: ...")


def check_points(homework):
    """Raise `SetError` if the points of the parts do not add up to those of the set."""
    toml, points, choose = homework.folder / "set.toml", [part["points"] for part in homework.parts], homework.choose
    if choose is None:
        if sum(points) != homework.points:
            raise SetError(f"{toml}: the parts have {sum(points):g} points together, the set has {homework.points:g}")
    elif not isinstance(choose, int) or not 0 < choose < len(points):
        raise SetError(f"{toml}: choose = {choose!r}: expected how many parts count, fewer than the {len(points)} there are")
    elif any(each * choose != homework.points for each in points):
        raise SetError(f"{toml}: choose = {choose}: each part needs {homework.points / choose:g} points, so that all choices have "
                       f"the {homework.points:g} of the set; they have {', '.join(f'{each:g}' for each in points)}")


# ---- what students get -----------------------------------------------------------------------------------------------------

def release(homework):
    """{file name: text} of the notebook and the script that students get, without solutions and hidden tests."""
    import jupytext
    import nbformat
    from nbgrader.preprocessors import ClearHiddenTests, ClearSolutions
    notebook = read_notebook(homework.source)
    try:
        for cleaner in (ClearSolutions(), ClearHiddenTests()):
            notebook, _ = cleaner.preprocess(notebook, {})  # pyright: ignore[reportArgumentType]
    except RuntimeError as error:
        raise SetError(f"{homework.source}: nbgrader says: {error}") from None
    return {f"{homework.name}.ipynb": nbformat.writes(notebook) + "\n",
            f"{homework.name}.py": jupytext.writes(notebook, fmt="py:percent")}


def read_notebook(source):
    """A jupytext script as a notebook. Its cells have the same ids each time."""
    import jupytext
    notebook = jupytext.read(source)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for i, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{i}"
    return notebook


def tokens(text):
    """The words and signs of a text. Layout and ``#`` are left out, so code in a comment or in Markdown has the same tokens."""
    return re.findall(r"\w+|[^\w\s#]", text)


def leaks(homework, files):
    """(line of the solution, file, tokens) of each row of tokens of a solution or hidden test that is in `files`, {name: text}."""
    import nbformat
    found = []
    hidden = [(line, region, WINDOW) for line, region in regions(homework.source, "SOLUTION")]
    hidden += [(line, region, 2 * WINDOW) for line, region in regions(homework.source, "HIDDEN TESTS")]
    for name, text in files.items():
        if name.endswith(".ipynb"):
            text = "\n".join(cell.source for cell in nbformat.reads(text, as_version=4).cells)
        there = tokens(re.sub(r"^\s*def .*", "", text, flags=re.MULTILINE))     # a solution may call what has this signature
        rows = {size: {tuple(there[i:i + size]) for i in range(len(there) - size + 1)} for size in range(5, 2 * WINDOW + 1)}
        for line, region, window in hidden:
            row = tokens(region)
            size = min(window, len(row))
            pieces = [row[i:i + size] for i in range(len(row) - size + 1)] if size >= 5 else []
            pieces += [words for words in map(tokens, region.splitlines()) if LINE <= len(words) <= window]
            found += [(line, name, " ".join(piece)) for piece in pieces if tuple(piece) in rows[len(piece)]]
    return found


# ---- trying it ----------------------------------------------------------------------------------------------------------

@dataclass
class Trial:
    """How one variant of the source was graded: "solution", "skeleton", or a mutant."""

    name: str
    results: dict

    @property
    def failed(self):
        """The numbers of the checks that failed."""
        return [test["number"] for test in self.results["tests"] if test["status"] != "passed"]


def variants(homework, skeleton):
    """{name: text of a submission}: the solution, the skeleton, and each mutant."""
    solution = homework.source.read_text(encoding="utf-8")
    mutants = {f"mutant {path.stem}": solution + MUTANT + path.read_text(encoding="utf-8") for path in homework.mutants()}
    return {"solution": solution, "skeleton": skeleton, **mutants}


def try_set(homework, skeleton, jobs=2, seed=0):
    """Grade the solution, the skeleton and the mutants.

    Returns:
        list of Trial: how each was graded.

    Raises:
        SetError: the solution lacks points, the skeleton has some or fails otherwise than by NotImplementedError, a mutant has all
            points, or no mutant fails a check.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = SimpleQueue()
        for _ in range(jobs):
            servers.put(stack.enter_context(Server()))

        def run(item):
            name, text = item
            path = folder / name / f"{homework.name}.py"
            path.parent.mkdir()
            path.write_text(text, encoding="utf-8")
            server = servers.get()
            try:
                return Trial(name, grade(homework, path, server, seed))
            finally:
                servers.put(server)
        with ThreadPoolExecutor(jobs) as pool:
            trials = list(pool.map(run, variants(homework, skeleton).items()))
    solution, empty, *mutants = trials
    for test in solution.results["tests"]:
        if test["status"] != "passed" or test["score"] != test["max_score"]:
            raise SetError(f"{homework.source}: the solution fails check {test['name']}:\n{test['output']}")
    for test in empty.results["tests"]:
        if test["status"] == "passed" or test["extra_data"]["kind"] != "NotImplementedError":
            found = "passes" if test["status"] == "passed" else "says: " + test["output"]
            raise SetError(f"{where(homework, test)}: check {test['name']} should fail by NotImplementedError on what "
                           f"students get, but it {found}")
    for trial in mutants:
        if not trial.failed:
            raise SetError(f"{homework.folder / 'mutants' / trial.name.removeprefix('mutant ')}.py gets all points")
    graded = [trial for trial in mutants if trial.results["extra_data"]["graded"]]      # a refusal tells nothing of a check
    killed = {number for trial in graded for number in trial.failed}
    for test in solution.results["tests"]:
        if test["number"] not in killed:
            raise SetError(f"{where(homework, test)}: no mutant fails check {test['name']}, so it may check nothing. Add a mutant")
    return trials


def table(built):
    """A table of {set name: (trials, seconds)}: how many checks and mutants each has, and how many mutants each check fails."""
    rows = [("set", "checks", "mutants", "seconds", "mutants that fail each check")]
    for name, ((solution, _, *mutants), seconds) in built.items():
        numbers = [test["number"] for test in solution.results["tests"]]
        killed = Counter(number for mutant in mutants for number in mutant.failed)
        rows.append((name, str(len(numbers)), str(len(mutants)), f"{seconds:.0f}",
                     "  ".join(f"{number}: {killed[number]}" for number in numbers)))
    widths = [max(map(len, column)) for column in zip(*(row[:-1] for row in rows))]
    return "\n".join(f"{row[0]:<{widths[0]}}  " + "  ".join(f"{text:>{width}}" for text, width in zip(row[1:-1], widths[1:]))
                     + f"  {row[-1]}" for row in rows)


def where(homework, test):
    """The file and line of a check."""
    file, _, function = test["extra_data"]["check"].partition("::")
    line = next(check.line for check in homework.checks if (check.file, check.function) == (file, function))
    return f"{homework.folder / file}, line {line}"


# ---- writing it -------------------------------------------------------------------------------------------------------------

SETUP = """#!/usr/bin/env bash
# Gradescope runs this once, when it builds the container.
set -e
cd "$(dirname "$0")"
python=""
for found in python3.14 python3.13 python3.12 python3.11 python3; do
    if command -v $found > /dev/null && $found -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then python=$found; break; fi
done
if [ -z "$python" ]; then
    apt-get update
    apt-get install -y python3.11
    python=python3.11
fi
$python -m venv /autograder/venv || {{ apt-get update; apt-get install -y ${{python}}-venv; $python -m venv /autograder/venv; }}
if [ -d wheelhouse ]; then
    /autograder/venv/bin/pip install --no-index --find-links wheelhouse "minigrad-autograd{extras}=={version}" pytest
else
    /autograder/venv/bin/pip install "minigrad-autograd{extras}=={version}" pytest
fi
"""
RUN = """#!/usr/bin/env bash
# Gradescope runs this for each submission.
cd /tmp
exec /autograder/venv/bin/python -m minigrad.grading grade /autograder/source/{name} /autograder/submission \\
    --json /autograder/results/results.json
"""


RUBRIC = """# {name}: {title}

For teachers. The checks give the points. Use this page where you read as well: for an oral exam, for a part whose checks failed by
a slip, in a course that grades understanding. Read the lines that the student wrote, and find the line below that is true of them.
Then ask the student about the line of code that surprised you most. Style, length and comments change nothing.
"""


def rubric(homework):
    """The rubric of a set as Markdown, from the `rubric` of each part; None if there is none."""
    found = ""
    for number, part in enumerate(homework.parts, 1):
        if "rubric" in part:
            lines = re.sub("(?m)^(Full|Half|None):", r"* **\1:**", part["rubric"].strip())
            found += f"\n## Part {number}: {part['title']}, {part['points']:g} points\n\n{lines}\n"
    return RUBRIC.format(name=homework.name, title=homework.title) + found if found else None


def make_zip(files):
    """The bytes of a zip of {name: text or bytes}, the same each time. Scripts are executable."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            script = name.endswith(".sh") or name == "run_autograder"
            info.external_attr = (stat.S_IFREG | (0o755 if script else 0o644)) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return out.getvalue()


def build(where_is, out, wheelhouse=None, jobs=2):
    """Build a set into the folder `out`, which is replaced.

    Args:
        where_is (path): the folder of the set, or its name.
        out (path): the folder to write.
        wheelhouse (path, optional): a folder of wheels to put into the zip for Gradescope.
        jobs (int, optional): how many submissions are graded at the same time.

    Returns:
        list of Trial: how solution, skeleton and mutants were graded.

    Raises:
        SetError: the set has a fault, or `out` has files of others. Nothing has been written.
    """
    import nbformat

    from minigrad._version import __version__
    homework, out = Set.read(where_is), Path(out)
    ours = {"student", "solution", f"{homework.name}-student.zip", f"{homework.name}-gradescope.zip"}
    others = sorted({path.name for path in out.iterdir()} - ours) if out.is_dir() else []
    if others:
        raise SetError(f"{out} has files that no build has written, such as {others[0]}, and a build replaces the folder. "
                       "Name another with --out")
    find_faults(homework)
    beside = {name: (homework.folder / name).read_text(encoding="utf-8") for name in ("adapters.py", "test_public.py")}
    student = {**release(homework), **beside}
    leaked = leaks(homework, student)
    if leaked:
        line, name, row = leaked[0]
        raise SetError(f"{homework.source}, line {line}: a part of this solution is also in {name}, which students get: {row}")
    trials = try_set(homework, student[f"{homework.name}.py"], jobs)
    solution = {f"{homework.name}.ipynb": nbformat.writes(read_notebook(homework.source)) + "\n",
                f"{homework.name}.py": homework.source.read_text(encoding="utf-8"), **beside}
    reading = rubric(homework)
    if reading is not None:
        solution["rubric.md"] = reading
    extras = ",".join(homework.about.get("extras", ()))
    graders = {"setup.sh": SETUP.format(version=__version__, extras=extras and f"[{extras}]"),
               "run_autograder": RUN.format(name=homework.name)}
    for name in ("set.toml", "adapters.py", "test_public.py", "test_hidden.py"):
        if (homework.folder / name).is_file():
            graders[f"{homework.name}/{name}"] = (homework.folder / name).read_text(encoding="utf-8")
    if wheelhouse is not None:
        wheels = sorted(Path(wheelhouse).glob("*.whl"))
        if not any(wheel.name.startswith("minigrad_autograd-") for wheel in wheels):
            raise SetError(f"{wheelhouse}: there is no wheel of minigrad-autograd")
        graders |= {f"wheelhouse/{wheel.name}": wheel.read_bytes() for wheel in wheels}
    part = out.with_name(f".{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    for folder, files in (("student", student), ("solution", solution)):
        (part / folder).mkdir(parents=True)
        for name, text in files.items():
            (part / folder / name).write_text(text, encoding="utf-8")
    for_students = {f"{homework.name}/{name}": text for name, text in student.items()}
    (part / f"{homework.name}-student.zip").write_bytes(make_zip(for_students))
    (part / f"{homework.name}-gradescope.zip").write_bytes(make_zip(graders))
    shutil.rmtree(out, ignore_errors=True)
    part.rename(out)
    return trials
