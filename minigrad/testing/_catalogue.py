"""Run the examples of the catalogue of errors, statement by statement: for its test, and for its pages on the site.

    run("MG-E101")  ->  "A node keeps the tensors that its formula needs ...",      prose, unchanged
                        [Step("x = mg.tensor(...)"), ..., Step("y.backward()", error), ...]     a block of code that was run

A statement marked ``# raises`` should raise; the others should run. This file does not check that: a `Step` says what happened, and
the caller compares it with `Step.marked`.
"""

import ast
import contextlib
import io
import linecache
import re
import textwrap
import warnings
from typing import Any, NamedTuple

from minigrad.errors import MinigradError, catalogue
from minigrad.library import _custom_ops
from minigrad.ops import REGISTRY

__all__ = ["Step", "run"]

MARK = re.compile(r"#\s*raises\b")
FILE = "example.py"     # the name of each block in messages


class Step(NamedTuple):
    """One statement of an example, and its outcome.

    source      its lines, with the comments and blank lines before it
    marked      whether one of these lines has ``# raises``
    error       the exception that it raised, or None
    value       its value, if it is an expression
    printed     the text that it printed, without warnings, which contain paths of files
    """

    source: str
    marked: bool
    error: BaseException | None
    value: Any
    printed: str


def run(code):
    """The parts of the text of `code`, in order: a str for prose, a list of `Step` for code. All blocks share their variables."""
    import minigrad as mg

    names: dict[str, Any] = {"mg": mg, "__name__": "__main__"}
    tables = REGISTRY, _custom_ops.REGISTRY        # examples may define ops
    before = [dict(table) for table in tables]
    try:
        with warnings.catch_warnings():
            return [list(steps(textwrap.dedent(part), names)) if part.startswith("    ") else part
                    for part in parts(catalogue()[code][1])]
    finally:
        linecache.cache.pop(FILE, None)
        for table, entries in zip(tables, before):
            table.clear()
            table.update(entries)


def parts(text):
    """The prose and the blocks of code of a text, alternating. The lines of a block are indented by four."""
    found: list[list[str]] = []
    code = None
    for line in text.splitlines():
        if line.strip():
            if line.startswith("    ") is not code:
                code = line.startswith("    ")
                found.append([])
        if found:
            found[-1].append(line)
    return ["\n".join(lines).rstrip() for lines in found]


def steps(source, names):
    """Run a block; yield a `Step` for each statement."""
    lines = source.splitlines()
    shown = [line.partition("#")[0] if MARK.search(line) else line for line in lines]
    linecache.cache[FILE] = len(source), None, shown, FILE          # messages show lines of it
    done = 0
    for statement in ast.parse(source).body:
        last = statement.end_lineno or statement.lineno
        text = "\n".join(lines[done:last])
        done = last
        said = io.StringIO()
        value = error = None
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
                if isinstance(statement, ast.Expr):
                    value = eval(compile(ast.Expression(statement.value), FILE, "eval"), names)
                else:
                    exec(compile(ast.Module([statement], []), FILE, "exec"), names)
        except Exception as caught:
            error = caught.with_traceback(None) if isinstance(caught, MinigradError) else caught
        yield Step(text, bool(MARK.search(text)), error, value, said.getvalue())
