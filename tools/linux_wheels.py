"""Compiled wheels for Linux, built and tested here: ``python -m tools.linux_wheels 3.12 3.14``, or ``make wheels``.

    committed files --> a wheel for each Python --> auditwheel --> a clean environment: the doctor, and tests/core
                                                       |
                                                       v
                                      build/wheels/*-manylinux_2_34_x86_64.whl

Each Python needs a wheel of its own: see "Wheels" in CONTRIBUTING.md. PyPI takes a wheel for Linux only with a *manylinux* tag.
The tag names the oldest C library (2.34, say) that has everything the wheel asks for. auditwheel finds it, and copies libgomp, the
threads of the kernels, into the wheel. Our modules need glibc 2.14. So the tag depends on the copied libgomp, and ``--libraries``
names a folder with an older one: that of Debian 11 gives manylinux_2_17.

An argument that is a wheel is only repaired: ``python -m tools.linux_wheels dist/*.whl``. The workflow release.yml builds what PyPI
gets, also for musl, aarch64, macOS and Windows, with cibuildwheel. `tools.pythons` finds the Pythons.
"""

import argparse
import io
import shutil
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

from tools.python_table import call, make_environment
from tools.pythons import Unavailable, get
from tools.release import git, repair

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "build/wheels"
VERSIONS = ["3.11", "3.12", "3.13", "3.14", "3.15"]
TESTS = ["tests/core"]


def build(inside, source, folder):
    """Compile a wheel of the files in `source` with the Python `inside`. Return its path.

    Raises:
        Unavailable: it does not compile.
    """
    epoch = git("log", "-1", "--format=%ct").decode().strip()
    if call(inside, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
            "--wheel-dir", folder, source, env={"MINIGRAD_BUILD": "require", "SOURCE_DATE_EPOCH": epoch}):
        raise Unavailable(f"minigrad does not compile with {inside}; the compiler's words are above")
    return next(folder.glob("*.whl"))


def test(python, inside, wheel, source, folder):
    """Install a wheel into a new virtual environment, far from the sources. Then run the doctor and tests of the compiled modules.

    Raises:
        Unavailable: something of this failed.
    """
    with open(source / "pyproject.toml", "rb") as file:
        settings = tomllib.load(file)["tool"]["cibuildwheel"]
    clean = folder / "clean" / "bin" / "python"
    shutil.copytree(source / "tests", folder / "tests")
    pip = (inside, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", clean)
    commands = [
        (python, "-m", "venv", "--without-pip", clean.parents[1]),
        (*pip, "install", wheel, *settings["test-requires"]),
        (clean, "-m", "minigrad.doctor"),
        (clean, "-m", "pytest", "-p", "no:cacheprovider", *TESTS)]
    for command in commands:
        if call(*command, cwd=folder, env=settings["test-environment"]):
            raise Unavailable(f"{wheel.name}: this failed: {' '.join(map(str, command))}")


def make(version, python, source, libraries):
    """Build, repair and test the wheel for a Python. Return its path."""
    inside = make_environment(python, version, "", ["setuptools>=77"])
    with tempfile.TemporaryDirectory() as folder:
        wheel = repair(build(inside, source, Path(folder)), TARGET, libraries)
        print(f"{wheel.stat().st_size:11,} bytes  {wheel.name}", flush=True)
        test(python, inside, wheel, source, Path(folder))
    return wheel


def make_all(versions, libraries):
    """Make the wheels for some Pythons from the committed files. Return a message for each that is missing."""
    missing = []
    with tempfile.TemporaryDirectory() as source:
        with tarfile.open(fileobj=io.BytesIO(git("-c", "tar.umask=0022", "archive", "HEAD"))) as archive:
            archive.extractall(source, filter="data")
        for version, python in get(versions).items():
            try:
                if not isinstance(python, str):
                    raise python or Unavailable("it was not found")
                make(version, python, Path(source), libraries)
            except Unavailable as error:
                missing.append(f"no tested wheel for Python {version}: {error}")
    return missing


def main(arguments=None):
    """Make all wheels. The exit status is 1 if one is missing."""
    parser = argparse.ArgumentParser(prog="python -m tools.linux_wheels", description="Compiled wheels for Linux.")
    parser.add_argument("what", nargs="*", default=VERSIONS, help="Pythons such as 3.12, or wheels that are only repaired")
    parser.add_argument("--libraries", default="", help="a folder where auditwheel looks for libgomp first")
    options = parser.parse_args(arguments)
    wheels = [name for name in options.what if name.endswith(".whl")]
    for name in wheels:
        print(f"{Path(name).name} --> {repair(Path(name), TARGET, options.libraries).relative_to(ROOT)}")
    versions = [name for name in options.what if name not in wheels]
    missing = make_all(versions, options.libraries) if versions else []
    print("\n".join(missing) or f"all are in {TARGET.relative_to(ROOT)}")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
