"""The text of the program beside the graph: which lines of which files.

    record.program, record.entered, the places in the events  ──>  passages

        hw.py                                   a `Passage`: the name of a file and numbered lines
        12  with mg.debug.record() as r:        the block with the `with` of the record
        13      loss = net(x)
        14      loss.backward()
         4  def net(x):                         the functions that it calls
         5      return (x @ w).tanh()

A short file and a cell are shown whole. Of a long file we show the functions and statements in which something happened; of those
that are long themselves, the lines around. Files of Python, of minigrad and of installed packages are not the program.

Read next: ``_timeline.py``, which keeps the passages.
"""

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from minigrad._core.record.history import file_name
from minigrad._debug.record import Record
from minigrad._user_line import is_program

__all__ = ["Passage", "passages"]

WHOLE = 60          # the largest number of lines of a file, or of its blocks, that are shown whole
NEAR = 4            # the number of lines that are shown before and after a line where something happens


class Passage(NamedTuple):
    """The lines of a file that are shown: pairs (number, text)."""

    title: str
    lines: list[tuple[int, str]]


def passages(record: Record, places: Iterable[Mapping[str, Any]]) -> list[Passage]:
    """The passages of the program in which the record was made, and the `places` of its events are. The first has the ``with``."""
    entered, line = record.entered or ("", 0)
    files = {file: lines for file, lines in record.program.items() if lines and is_program(file)}
    used: dict[str, set[int]] = {file: set() for file in files}
    if entered in used:
        used[entered].add(line)
    for place in places:
        for file, lines in files.items():
            if is_line(place, file, lines):
                used[file].add(place["line"])
                break
    found = sorted([file for file in files if used[file]], key=lambda file: file != entered)
    return [Passage(file_name(file), [(number, files[file][number - 1].rstrip()) for number in shown(files[file], used[file])])
            for file in found]


def is_line(place, file, lines):
    """Whether a place of an event, which names no folder, is this line of the file."""
    return (place["file"] == file_name(file) and place["line"] <= len(lines)
            and place["source"] == lines[place["line"] - 1].strip())


def shown(lines: Sequence[str], used: Iterable[int]) -> list[int]:
    """The numbers of the lines to show: those in `used` and what belongs to them."""
    found, first = range(1, len(lines) + 1), set()
    if len(lines) > WHOLE:
        body = statements(lines)
        blocks = {block_with(body, number) for number in used}
        found = sorted({number for a, b in blocks for number in range(a, b + 1)})
        first = {a for a, _ in blocks}
    if len(found) > WHOLE:
        found = [number for number in found if number in first or any(abs(number - line) <= NEAR for line in used)]
    last = max([number for number in found if lines[number - 1].strip()], default=0)
    return [number for number in found if number <= last]


def statements(lines: Sequence[str]) -> list[Any]:
    """The statements of a file; none if it is not plain Python, as a cell with a magic command of IPython."""
    try:
        return ast.parse("".join(lines)).body
    except SyntaxError:
        return []


def block_with(body: list[Any], number: int) -> tuple[int, int]:
    """The first and the last line of the outermost function with a line, or of its statement; otherwise the line alone."""
    for node in body:
        if first_line(node) <= number <= node.end_lineno:
            return block_with(node.body, number) if isinstance(node, ast.ClassDef) else (first_line(node), node.end_lineno)
    return number, number


def first_line(node):
    """The first line of a statement, with its decorators."""
    return min([node.lineno, *[decorator.lineno for decorator in getattr(node, "decorator_list", ())]])
