"""What a wheel and an sdist must hold: ``python -m tools.wheel dist/*.whl dist/*.tar.gz``."""

import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def missing(archive):
    """The files that an archive should hold and does not, and those that it should not."""
    if archive.endswith(".whl"):
        with zipfile.ZipFile(archive) as file:
            held = set(file.namelist())
    else:
        with tarfile.open(archive) as file:
            held = {name.partition("/")[2] for name in file.getnames()}
    suffixes = {".py", ".pyx", ".pxd", ".h", ".md", ".typed", ".pyi", ".css", ".js"}
    wanted = {p.relative_to(ROOT).as_posix() for p in (ROOT / "minigrad").rglob("*") if p.suffix in suffixes}
    if archive.endswith(".whl"):
        compiled = {p.relative_to(ROOT).as_posix() for p in (ROOT / "minigrad").rglob("*.pyx")}
        compiled |= {p.relative_to(ROOT).with_suffix(".py").as_posix() for p in (ROOT / "minigrad/_core").rglob("*.pxd") if
                     p.stem not in ("__init__", "capi")}
        built = {name.partition(".")[0] for name in held if name.endswith((".so", ".pyd"))}
        wanted |= {name for name in compiled if name.partition(".")[0] not in built}
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
