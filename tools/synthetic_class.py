"""Write the submissions of a class that does not exist, to try a homework set, a machine, or the report.

    python -m tools.synthetic_class hw3 submissions         30 students, 10 of them with submissions that are broken
    python -m minigrad.grading grade hw3 submissions/*/ --jobs 2 --out report

Two thirds hand in the solution, a mutant, or a part of the solution; each of the others has another kind of fault.
"""

import argparse
import json
from pathlib import Path

from minigrad.grading.build import read_notebook, release, variants
from minigrad.grading.sets import Set

__all__ = ["write_class"]


def broken(homework):
    """{kind: {file: bytes}}: submissions that a grader must survive."""
    name = homework.name
    source = homework.source.read_text(encoding="utf-8")
    cells = [cell.source for cell in read_notebook(homework).cells if cell.cell_type == "code"]

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


def main():
    """The command."""
    parser = argparse.ArgumentParser(description="Write the submissions of a class that does not exist.")
    parser.add_argument("set", help="a homework set")
    parser.add_argument("out", type=Path, help="the folder to write")
    parser.add_argument("--students", type=int, default=30)
    options = parser.parse_args()
    for student, kind in sorted(write_class(options.set, options.out, options.students).items()):
        print(f"{student}   {kind}")


if __name__ == "__main__":
    main()
