"""Write the submissions of a class that does not exist, to try a homework set, a machine, or the report.

    python -m tools.synthetic_class hw3 submissions                     30 students, 10 of them with submissions that are broken
    python -m tools.synthetic_class hw3 submissions --report report     the same, and grade them: `make class`

Two thirds hand in the solution, a mutant, or the skeleton; each of the others has another kind of fault.
"""

import argparse
import json
import sys
from pathlib import Path

from minigrad.grading.build import read_notebook, release, variants
from minigrad.grading.class_report import grade_class
from minigrad.grading.sets import Set

__all__ = ["surprises", "write_class"]

HARMLESS = ("solution", "syntax-error", "not-utf8")     # a last cell that is no Python is skipped; Windows-1252 is read


def broken(homework):
    """{kind: {file: bytes}}: submissions that a grader must survive."""
    name = homework.name
    source = homework.source.read_text(encoding="utf-8")
    cells = [cell.source for cell in read_notebook(homework.source).cells if cell.cell_type == "code"]

    def notebook(*sources):
        return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
            {"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [], "execution_count": None, "source": text}
            for i, text in enumerate(sources)]}).encode()

    def script(end):
        return {f"{name}.py": f"{source}\n# %%\n{end}\n".encode()}
    return {
        "no-file": {"readme.txt": b"I was ill."},
        "two-files": {"a.py": source.encode(), "b.py": source.encode()},
        "syntax-error": {f"{name}.ipynb": notebook(*cells, "def unfinished(:")},
        "not-utf8": {f"{name}.py": source.encode() + "# r\xe9ponse\n".encode("latin-1")},
        "exits": script("import os\nos._exit(0)"),
        "endless-loop": script("while True:\n    pass"),
        "crashes": script("import ctypes\nctypes.string_at(0)"),
        "forks": script("import os\nwhile True:\n    os.fork()"),
        "prints": script("while True:\n    print('x' * 1000)"),
        "patches": script("import numpy\nnumpy.allclose = lambda *args, **keywords: True"),
    }


def write_class(where, out, students=30):
    """Write `students` submissions into folders below `out`. Returns {student: what was handed in}."""
    homework = Set.read(where)
    kinds = [*broken(homework).items()][:students // 3]
    texts = variants(homework, release(homework)[f"{homework.name}.py"])
    good = [("solution", texts["solution"])] * max(1, students // 4) + [item for item in texts.items() if item[0] != "solution"]
    kinds += [(kind, {f"{homework.name}.py": text.encode()}) for kind, text in (good * students)[:students - len(kinds)]]
    told = {}
    for i, (kind, files) in enumerate(kinds):
        student = f"student{i * 7 % students if students % 7 else i:03}"
        told[student] = kind
        folder = Path(out) / student
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
    return told


def surprises(told, points, report):
    """Print what each kind of submission got. Returns the students whose score is not that of their kind."""
    scores = {student: json.loads((report / f"results/{student}.json").read_text("utf-8"))["score"] for student in told}
    print("".join(f"{student}   {kind:<28}{scores[student]:5g} of {points:g}\n" for student, kind in sorted(told.items())), end="")
    return [student for student, kind in told.items() if (scores[student] == points) != (kind in HARMLESS)
            or (scores[student] > 0 and kind not in HARMLESS and not kind.startswith("mutant"))]


def main():
    """The command."""
    parser = argparse.ArgumentParser(description="Write the submissions of a class that does not exist.")
    parser.add_argument("set", help="a homework set")
    parser.add_argument("out", type=Path, help="the folder to write")
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--report", type=Path, help="grade the class into this folder, and compare the scores")
    options = parser.parse_args()
    told = write_class(options.set, options.out, options.students)
    if options.report is None:
        print("".join(f"{student}   {kind}\n" for student, kind in sorted(told.items())), end="")
        return 0
    homework = Set.read(options.set)
    status = grade_class(homework, [options.out / student for student in told], options.report)
    if status == 0 and (wrong := surprises(told, homework.points, options.report)):
        print(f"graded wrongly: {', '.join(wrong)}", file=sys.stderr)
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
