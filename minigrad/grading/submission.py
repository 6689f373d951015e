"""A student's file: find it, read it whatever it is, and run it cell by cell.

    find_file(folder, "hw3")    the file to grade, and what to tell the student about it
    read_cells(path)            its cells: of a notebook, of a script with ``# %%`` lines, or the whole script
    load(path, "hw3")           a module. A cell that does not compile or that raises is skipped, and the others run

A student whose last cell is unfinished still has the points for the others. ``module.__problems__`` lists what was skipped.
"""

import ast
import itertools
import json
import linecache
import re
import sys
import types
from dataclasses import dataclass

__all__ = ["Cell", "SubmissionError", "find_file", "load", "read_cells"]

MOST_BYTES = 20_000_000
MARKER = re.compile(r"^# *%%(?!%)")


class SubmissionError(Exception):
    """A submission that cannot be graded. The message is for the student."""


@dataclass
class Cell:
    """Some lines of a student's file.

    Args:
        source (str): the code.
        name (str): where it is, in messages: "cell 3", or the name of the file.
        line (int): the number of its first line in the file.
    """

    source: str
    name: str
    line: int = 1


def find_file(folder, name, newest=False):
    """The file of a submission: ``<name>.py`` or ``<name>.ipynb``, or the only script or notebook there.

    Args:
        folder (Path): the submission; it may be the file itself.
        name (str): the name that the file should have, without its ending.
        newest (bool, optional): of two files take the one that was saved last.

    Returns:
        (Path, list of str): the file, and messages for the student.

    Raises:
        SubmissionError: there is no file, or it is not clear which.
    """
    if folder.is_file() and folder.suffix in (".py", ".ipynb"):
        return folder, []
    if folder.is_file():
        raise SubmissionError(f"{folder.name} is neither a script nor a notebook")
    if not folder.is_dir():
        raise SubmissionError(f"there is no folder {folder.name}")
    there = sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".ipynb") and path.is_file()
                   and not any(part.startswith((".", "__")) for part in path.relative_to(folder).parts))
    named = [path for path in there if path.stem == name]
    others = [path for path in there if path.name not in ("adapters.py", "conftest.py") and not path.name.startswith("test_")]
    if not others:
        raise SubmissionError(f"no file {name}.py or {name}.ipynb was handed in")
    if not named:
        if len(others) == 1:
            return others[0], [f"the file is called {others[0].name}; it should be called {name}{others[0].suffix}"]
        raise SubmissionError(f"{len(others)} files were handed in, and none is called {name}.py or {name}.ipynb: "
                              + ", ".join(path.name for path in others[:5]))
    if len(named) == 1:
        return named[0], []
    if newest:
        return max(named, key=lambda path: path.stat().st_mtime), []
    chosen = min(named, key=lambda path: (path.read_bytes().count(b"NotImplementedError"), path.suffix != ".py"))
    return chosen, [f"{len(named)} files were handed in ({', '.join(str(path.relative_to(folder)) for path in named)}): "
                    f"{chosen.relative_to(folder)} was graded, the one with fewer unfinished parts. Hand in one file"]


def read_text(path):
    """(text, messages) of a file in any encoding."""
    if path.stat().st_size > MOST_BYTES:
        raise SubmissionError(f"{path.name} is larger than {MOST_BYTES // 1_000_000} MB; clear the outputs of the notebook")
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig"), []
    except UnicodeDecodeError as error:
        line = data[:error.start].count(b"\n") + 1
        return data.decode("cp1252", "replace"), [f"{path.name} is not UTF-8 (line {line}): it was read as Windows-1252. "
                                                  "Save it as UTF-8"]


def read_cells(path):
    """(cells, messages) of a notebook or script."""
    text, messages = read_text(path)
    if path.suffix != ".ipynb":
        return split_script(text, path.name), messages
    try:
        found = json.loads(text)["cells"]
        sources = ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError) as error:
        kind = type(error).__name__
        raise SubmissionError(f"{path.name} is not a notebook ({kind}: {error}); save it again in Jupyter") from None
    return [Cell(without_magics(source), f"{path.name}, code cell {i}") for i, source in enumerate(sources, 1)], messages


def without_magics(source):
    """A notebook cell without the lines that only Jupyter understands. They stay as comments, so that lines keep their numbers."""
    if source.lstrip().startswith("%%"):
        return ""
    return re.sub(r"^(?=[ \t]*[%!][\w. ])", "# ", source, flags=re.MULTILINE)


def split_script(text, name):
    """The cells of a script, which ``# %%`` lines separate. Markers inside a string separate nothing, if the script compiles."""
    lines = text.splitlines(keepends=True)
    starts = [i for i, line in enumerate(lines) if MARKER.match(line)]
    try:
        inside = [(node.lineno, node.end_lineno) for node in ast.parse(text).body]
        starts = [i for i in starts if not any(first <= i + 1 <= last for first, last in inside)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    bounds = [0, *(i for i in starts if i), len(lines)]
    return [Cell("".join(lines[a:b]), name, a + 1) for a, b in itertools.pairwise(bounds)]


def load(path, name):
    """Run the file as the module `name`. Cells that do not compile or that raise are skipped; ``__problems__`` lists them.

    ``__notes__`` has other messages for the student.
    """
    (cells, notes), problems = read_cells(path), []
    module = StudentModule(name)
    module.__dict__.update(__file__=str(path), __problems__=problems, __notes__=notes)
    sys.modules[name] = module
    texts = {}      # name in tracebacks -> lines
    for cell in cells:
        file = cell.name
        lines = texts.setdefault(file, [])
        lines += cell.source.splitlines(keepends=True)
        linecache.cache[file] = (sum(map(len, lines)), None, lines, file)
        try:
            exec(compile("\n" * (cell.line - 1) + cell.source, file, "exec"), module.__dict__)
        except BaseException as error:      # also sys.exit(), or pytest.skip()
            problems.append(describe(error, file))
    return module


def describe(error, file):
    """One line about an exception: its kind, its text, and the line of the student's file."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    line, step = None, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == file:
            line = step.tb_lineno
        step = step.tb_next
    return f"{file}, line {line}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".rstrip(": ")


class StudentModule(types.ModuleType):
    """A module that says why it lacks a name."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        skipped = "".join(f"\n    {line}" for line in vars(self)["__problems__"][:5])
        raise AttributeError(f"{self.__name__} has no {name!r}" + (f". These cells were skipped:{skipped}" if skipped else ""))
