"""Lines per file and folder: ``python -m tools.sizes [revision]``.

With a revision, it also prints how many lines were added since. Blank lines and lines with only a comment do not count; docstrings
count, since they are most of the text that a reader reads.
"""

import subprocess
import sys
from pathlib import Path

SUFFIXES = {".py", ".pyx", ".pxd", ".h"}
FOLDERS = ("minigrad", "tests", "benchmarks", "tools")
LIMIT = 250     # a longer file of the package should be split in two


def lines(text, suffix):
    """The number of lines of `text` that are code or docstring."""
    comment = "//" if suffix == ".h" else "#"
    return sum(bool(line.strip()) and not line.strip().startswith(comment) for line in text.splitlines())


def now(root):
    """The number of lines of each file in the working tree."""
    return {path.relative_to(root).as_posix(): lines(path.read_text("utf-8"), path.suffix)
            for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in SUFFIXES}


def then(root, revision):
    """The number of lines of each file in a revision."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout

    paths = [Path(p) for p in git("ls-tree", "-r", "--name-only", revision, *FOLDERS).splitlines()]
    return {p.as_posix(): lines(git("show", f"{revision}:{p.as_posix()}"), p.suffix) for p in paths if p.suffix in SUFFIXES}


def main(root, revision=None):
    files = now(root)
    before = then(root, revision) if revision else files

    def row(name, path_filter, mark=""):
        count = sum(n for p, n in files.items() if path_filter(p))
        grown = count - sum(n for p, n in before.items() if path_filter(p))
        print(f"{count:7,}{f'{grown:+7,}' if revision else ''}  {name}{mark}")

    folder = None
    for path in files:
        parent = path.rpartition("/")[0]
        if parent != folder:
            folder = parent
            print()
            row(folder + "/", lambda p, f=folder: p.rpartition("/")[0] == f)
        long = files[path] > LIMIT and path.startswith("minigrad")
        row("    " + path.rpartition("/")[2], lambda p, q=path: p == q, f"   more than {LIMIT}" if long else "")
    print()
    for top in FOLDERS:
        row(top, lambda p, t=top: p.startswith(t + "/"))


if __name__ == "__main__":
    main(Path(__file__).parents[1], *sys.argv[1:])
