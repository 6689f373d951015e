"""Check that a wheel or an sdist contains the right files: ``python -m tools.wheel dist/*.whl dist/*.tar.gz``."""

import json
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def missing(archive):
    """The files that an archive lacks, and those that it should not contain."""
    noted = set()       # the modules that the build of the wheel compiled
    if archive.endswith(".whl"):
        with zipfile.ZipFile(archive) as file:
            held = set(file.namelist())
            if not archive.endswith("-none-any.whl"):
                noted = {name.replace(".", "/") for name in json.loads(file.read("minigrad/_built.json"))}
    else:
        with tarfile.open(archive) as file:
            held = {name.partition("/")[2] for name in file.getnames()}
    suffixes = {".py", ".pyx", ".pxd", ".h", ".md", ".typed", ".pyi", ".css", ".js"}
    wanted = {p.relative_to(ROOT).as_posix() for p in (ROOT / "minigrad").rglob("*") if p.suffix in suffixes}
    if archive.endswith(".whl"):
        built = {name.partition(".")[0] for name in held if name.endswith((".so", ".pyd"))}
        wanted |= {f"{name}, compiled" for name in noted - built}
        elsewhere = ("tests/", "tools/", "benchmarks/", "docs/", "tutorials/", "build/")
        extra = {name for name in held if name.startswith(elsewhere) or name.endswith(".c")}
    else:
        folders = ("tests", "tools", "benchmarks", "docs", "tutorials")
        wanted |= {p.relative_to(ROOT).as_posix() for folder in folders for p in (ROOT / folder).rglob("*.py")}
        wanted |= {"README.md", "CHANGELOG.md", "LICENSE", "Makefile", "pyproject.toml", "setup.py"}
        extra = {name for name in held if name.endswith((".so", ".c", ".pyc")) or name.startswith("build/")}
    return sorted(wanted - held), sorted(extra)


def main(archives):
    wrong = 0
    for archive in archives:
        lacking, extra = missing(archive)
        wrong += bool(lacking or extra)
        print(f"{archive}: lacks {lacking or 'nothing'}; has needlessly {extra or 'nothing'}")
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
