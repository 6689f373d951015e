"""tools/release.py: the version, the notes and the obstacles. `make release` itself, which .ci/run calls, builds and compares."""

import gzip
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import minigrad as mg

ROOT = Path(mg.__file__).parent.parent
if not (ROOT / "tools/release.py").exists():
    pytest.skip("needs a source tree", allow_module_level=True)

from tools.release import newest, problems, repair  # noqa: E402

CHANGELOG = """# Changelog

## [0.2.0] - 2026-12-01

### Added
- One thing.

## [0.1.0] - 2026-11-01
- The first.
"""


def test_notes_are_the_newest_section():
    assert newest(CHANGELOG) == ("0.2.0", "2026-12-01", "### Added\n- One thing.\n")
    assert newest(CHANGELOG.replace("## [0.2.0] - 2026-12-01", "## [Unreleased]: 0.2.0"))[:2] == ("0.2.0", None)
    assert newest("## [0.1.0] - 2026-11-01\n- The first.\n") == ("0.1.0", "2026-11-01", "- The first.\n")
    with pytest.raises(SystemExit, match="no heading such as"):
        newest("# Changelog\n")


def test_our_changelog_names_this_version():
    version, _, notes = newest((ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert version == mg.__version__ and notes.strip()


@pytest.mark.parametrize("change, said", [
    ({}, []),
    ({"tag": "v0.3.0"}, ["the tag is v0.3.0, but minigrad/_version.py says 0.2.0"]),
    ({"tag": "0.2.0"}, ["the tag is 0.2.0, but minigrad/_version.py says 0.2.0"]),
    ({"dated": ("0.2.0", None)}, ["the newest heading of CHANGELOG.md should be `## [0.2.0] - YYYY-MM-DD`"]),
    ({"dated": ("0.1.0", "2026-11-01")}, ["the newest heading of CHANGELOG.md should be `## [0.2.0] - YYYY-MM-DD`"]),
    ({"citation": "version: 0.1.0\n"}, ["CITATION.cff should say `version: 0.2.0`"]),
    ({"changed": ["setup.py"]}, ["uncommitted changes: setup.py"]),
])
def test_what_stands_against_a_release(change, said):
    right = {"tag": "v0.2.0", "version": "0.2.0", "dated": ("0.2.0", "2026-12-01"), "citation": "a: b\nversion: 0.2.0\n", "changed": []}
    assert problems(**right | change) == said


SETUP = """
import os, runpy, sys, setuptools
kept = setuptools.setup
setuptools.setup = lambda **options: kept(name="small", version="1", py_modules=["small"], cmdclass={"sdist": options["cmdclass"]["sdist"]})
here, there = os.getcwd(), sys.argv.pop()
os.environ["MINIGRAD_BUILD"] = "0"
sys.argv[0] = "setup.py"
runpy.run_path(there)
"""


def test_an_sdist_does_not_depend_on_the_machine(tmp_path):
    """The same sources with other times, owners and rights, in another folder: the same bytes, where SOURCE_DATE_EPOCH is set."""
    pytest.importorskip("Cython")
    made = []
    for name, when, rights in (("one", 1_000_000_000, 0o600), ("two", 1_500_000_000, 0o664)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "small.py").write_text("x = 1\n", "utf-8")
        (folder / "make.py").write_text(SETUP, "utf-8")
        (folder / "tools").mkdir()
        (folder / "tools/__init__.py").touch()
        (folder / "tools/stubs.py").touch()
        (folder / "small.py").chmod(rights)
        os.utime(folder / "small.py", (when, when))
        done = subprocess.run([sys.executable, "make.py", "--quiet", "sdist", str(ROOT / "setup.py")], cwd=folder, text=True,
                              env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        made.append(next((folder / "dist").glob("*.tar.gz")))
    assert made[0].read_bytes() == made[1].read_bytes()
    with tarfile.open(made[0]) as archive:
        entries = archive.getmembers()
        assert {entry.mtime for entry in entries} == {1700000000} and {entry.uid for entry in entries} == {0}
        assert archive.extractfile("small-1/small.py").read() == b"x = 1\n"
    with gzip.open(made[0]) as file:
        file.read()
        assert file.mtime == 1700000000


MODULE = """
#include <omp.h>
int PyInit_small(void) { return omp_get_max_threads(); }
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="manylinux wheels are for Linux with glibc")
def test_a_wheel_for_linux_gets_a_tag_that_pypi_takes(tmp_path):
    """auditwheel copies the library of the threads into the wheel, and its tag no longer names this machine only."""
    pytest.importorskip("auditwheel")
    name = f"small.cpython-311-{platform.machine()}-linux-gnu.so"
    (tmp_path / "small.c").write_text(MODULE, "utf-8")
    if not shutil.which("gcc"):
        pytest.skip("needs gcc")
    subprocess.run(["gcc", "-shared", "-fPIC", "-fopenmp", "small.c", "-o", name], cwd=tmp_path, check=True)
    wheel = tmp_path / f"small-1-cp311-cp311-linux_{platform.machine()}.whl"
    tag = f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {wheel.stem[8:]}\n"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(tmp_path / name, name)
        about = {"WHEEL": tag, "METADATA": "Metadata-Version: 2.1\nName: small\nVersion: 1\n"}
        for file, text in about.items():
            archive.writestr(f"small-1.dist-info/{file}", text)
        archive.writestr("small-1.dist-info/RECORD", "".join(f"{file},,\n" for file in archive.namelist()))
    repaired = repair(wheel, tmp_path / "repaired")
    assert re.fullmatch(rf"small-1-cp311-cp311-.*manylinux_2_\d+_{platform.machine()}\.whl", repaired.name)
    with zipfile.ZipFile(repaired) as archive:
        assert any(re.match(r"small\.libs/libgomp-\w+\.so", file) for file in archive.namelist())
    assert [path.name for path in repaired.parent.iterdir()] == [repaired.name] and wheel.exists()
