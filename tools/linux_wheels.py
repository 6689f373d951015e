"""Compiled wheels for Linux, built and tested here: ``python -m tools.linux_wheels 3.12 3.14``, or ``make wheels``.

    committed files --> a wheel for each Python --> auditwheel --> a clean environment: the doctor, and tests/core
                                                       |
                                                       v
                                      build/wheels/*-manylinux_2_34_x86_64.whl

Each Python needs a wheel of its own: see "Wheels" in CONTRIBUTING.md. All share the C sources that Cython writes for the first.
PyPI takes a wheel for Linux only with a *manylinux* tag. The tag names the oldest C library (2.34, say) that has everything the
wheel asks for. auditwheel finds it, and copies libgomp, the threads of the kernels, into the wheel. Our modules need glibc 2.14. So
the tag depends on the copied libgomp, and ``--libraries`` names a folder with an older one: that of Debian 11 gives manylinux_2_17.

``--aarch64`` makes wheels for 64-bit ARM instead, and tests them in an emulator, which `tools.aarch64` gets from Debian. Debian has
no Python 3.12 for that test.

An argument that is a wheel is only repaired: ``python -m tools.linux_wheels dist/*.whl``. The workflow release.yml builds what PyPI
gets, also for musl, macOS and Windows, with cibuildwheel. `tools.pythons` finds the Pythons.
"""

import argparse
import io
import shutil
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

from tools import aarch64
from tools.python_table import call, make_environment
from tools.pythons import Unavailable, get
from tools.release import git, repair

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "build/wheels"
VERSIONS = ["3.11", "3.12", "3.13", "3.14", "3.15"]
TESTS = ["tests/core"]
IMPORT = "from time import perf_counter as now; began = now(); import minigrad; print(f'import minigrad: {now() - began:.3f} s')"


def build(inside, source, folder, settings):
    """Compile a wheel of the files in `source` with the Python `inside`. Return its path.

    Raises:
        Unavailable: it does not compile.
    """
    epoch = git("log", "-1", "--format=%ct").decode().strip()
    if call(inside, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
            "--wheel-dir", folder, source, env={"MINIGRAD_BUILD": "require", "SOURCE_DATE_EPOCH": epoch, **settings}):
        raise Unavailable(f"minigrad does not compile with {inside}; the compiler's words are above")
    return next(folder.glob("*.whl"))


def make_clean(python, inside, folder):
    """Make a virtual environment without pip. Return its Python, and the command that installs into it."""
    if call(python, "-m", "venv", "--without-pip", folder):
        raise Unavailable(f"{python} made no virtual environment")
    clean = folder / "bin" / "python"
    return clean, [inside, "-m", "pip", "--python", clean, "install"]


def test(clean, install, wheel, source, folder, tests):
    """Install a wheel with the Python `clean`, far from the sources. Then run the doctor and tests of the compiled modules.

    Raises:
        Unavailable: something of this failed.
    """
    with open(source / "pyproject.toml", "rb") as file:
        settings = tomllib.load(file)["tool"]["cibuildwheel"]
    shutil.copytree(source / "tests", folder / "tests")
    shutil.copy(source / "pyproject.toml", folder)      # pytest's settings
    commands = [
        (*install, "--quiet", "--disable-pip-version-check", wheel, *settings["test-requires"]),
        (clean, "-m", "minigrad.doctor"),
        (clean, "-c", IMPORT),
        (clean, "-m", "pytest", "-p", "no:cacheprovider", *tests)]
    for command in commands:
        if call(*command, cwd=folder, env=settings["test-environment"]):
            raise Unavailable(f"{wheel.name}: this failed: {' '.join(map(str, command))}")


def make(version, python, source, libraries, arm):
    """Build, repair and test the wheel for a Python. Return its path. Before the tests, it is in the folder ``untested``."""
    inside = make_environment(python, version, "", ["setuptools>=77"])
    with tempfile.TemporaryDirectory() as folder:
        built = build(inside, source, Path(folder), aarch64.settings(version) if arm else {})
        wheel = repair(built, TARGET / "untested", libraries or (aarch64.LIBRARIES if arm else ""))
        print(f"{wheel.stat().st_size:11,} bytes  {wheel.name}", flush=True)
        place = Path(folder) / "clean"
        environment = aarch64.make_environment(version, inside, place) if arm else make_clean(python, inside, place)
        test(*environment, wheel, source, Path(folder), aarch64.TESTS if arm else TESTS)
    return wheel.rename(TARGET / wheel.name)


def make_all(versions, libraries, arm):
    """Make the wheels for some Pythons from the committed files. Return a message for each that is missing."""
    missing = []
    with tempfile.TemporaryDirectory() as source:
        with tarfile.open(fileobj=io.BytesIO(git("-c", "tar.umask=0022", "archive", "HEAD"))) as archive:
            archive.extractall(source, filter="data")
        for version, python in get(versions).items():
            try:
                if not isinstance(python, str):
                    raise python or Unavailable("it was not found")
                make(version, python, Path(source), libraries, arm)
            except Unavailable as error:
                missing.append(f"no tested wheel for Python {version}: {error}")
    return missing


def main(arguments=None):
    """Make all wheels. The exit status is 1 if one is missing."""
    parser = argparse.ArgumentParser(prog="python -m tools.linux_wheels", description="Compiled wheels for Linux.")
    parser.add_argument("what", nargs="*", default=VERSIONS, help="Pythons such as 3.12, or wheels that are only repaired")
    parser.add_argument("--libraries", default="", help="a folder where auditwheel looks for libgomp first")
    parser.add_argument("--aarch64", action="store_true", help="wheels for 64-bit ARM; needs Debian, on another machine")
    options = parser.parse_args(arguments)
    wheels = [name for name in options.what if name.endswith(".whl")]
    for name in wheels:
        print(f"{Path(name).name} --> {repair(Path(name), TARGET, options.libraries).relative_to(ROOT)}")
    versions = [name for name in options.what if name not in wheels]
    missing = make_all(versions, options.libraries, options.aarch64) if versions else []
    print("\n".join(missing) or f"all are in {TARGET.relative_to(ROOT)}")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
