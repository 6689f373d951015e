"""Test minigrad on several Pythons, and print a table: ``python -m tools.python_table 3.12:2.0 3.14 3.15 --tests tests/core``.

A row is a Python, a NumPy and a build:

    3.14        Python 3.14 and the newest NumPy that it can have
    3.12:2.0    Python 3.12 and NumPy 2.0.*
    3.14t       the free-threaded Python 3.14: interpreted without the GIL, compiled with it

Each pair has a virtual environment in build/pythons/venvs, with minigrad's extra ``test``. The interpreted tests run in this
folder. For the compiled ones, each Python has a build of its own in build/pythons/lib, which all its NumPys share, as they
share a wheel.

Where an extra has no build for a Python, its tests are skipped, or not collected. Below the table, a line names what is missing.
``make test-pythons`` calls this file. `tools.pythons` finds the Pythons.
"""

import argparse
import glob
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from tools.pythons import HERE, Unavailable, answer, get

TREE = Path(__file__).parents[1]
ROWS = ["3.12", "3.13", "3.14", "3.15", "3.12:2.0"]
BARE = "pytest>=8 pytest-xdist>=3.6 hypothesis>=6.100 jsonschema>=4.18 rich>=13 -e ."    # some of the extra `test` has no 3.14t
TESTS = ["tests/core", "tests/autograd", "tests/ops"]
OLD = 1_000_000_000     # the time that we give to NumPy's and Cython's declarations: 2001
BUILDS = ["interpreted", "compiled"]
# The packages whose absence leaves tests out. The extras `parity`, `simulator` and `demo` bring them.
EXTRAS = {"torch": "tests/parity, tests/accuracy and comparisons elsewhere", "numba": "tests of numba's arrays",
          "numba_cuda": "tests/cuda", "sklearn": "tests/test_demo.py", "matplotlib": "tests/test_demo.py",
          "pygraphviz": "pictures of large graphs", "safetensors": "files of other libraries"}


def call(*command, **settings):
    """Run a command without the settings of another Python in its environment. Its output goes to ours."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MINIGRAD_", "VIRTUAL_"))}
    environment.update(settings.pop("env", {}))
    return subprocess.run([str(part) for part in command], check=False, env=environment, **settings).returncode


def make_environment(python, version, numpy, packages):
    """A virtual environment with this NumPy and `packages`. Returns its Python.

    Raises:
        Unavailable: pip could not install them.
    """
    folder = HERE / "venvs" / f"{version}-numpy-{numpy or 'newest'}"
    inside = folder / "bin" / "python"
    if not inside.exists():
        # An unpacked Python has pip in a wheel beside it, where its `ensurepip` does not look.
        wheels = glob.glob(str(Path(python).parents[1] / "share" / "python-wheels" / "pip-*.whl"))
        shutil.rmtree(folder, ignore_errors=True)
        if call(python, "-m", "venv", *(["--without-pip"] if wheels else []), folder):
            raise Unavailable(f"{python} made no virtual environment")
        if wheels and call(inside, "-m", "pip", "install", "--quiet", "pip", env={"PYTHONPATH": wheels[0]}):
            shutil.rmtree(folder)
            raise Unavailable(f"pip could not be installed for {python}")
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    wanted = ["setuptools>=77", "Cython>=3.3,<3.4", f"numpy=={numpy}.*" if numpy else "numpy>=2.0"]
    constraint = HERE / "venvs" / f"numpy-{numpy or 'newest'}.txt"
    constraint.write_text(wanted[-1] + "\n")
    stamp, now = folder / "installed.txt", "\n".join([*wanted, *packages, (TREE / "pyproject.toml").read_text("utf-8")])
    if stamp.exists() and stamp.read_text("utf-8") == now:
        return inside
    if call(*pip, *wanted) or call(*pip, "--no-build-isolation", "-c", constraint, *packages, cwd=TREE,
                                   env={"MINIGRAD_BUILD": "0"}):
        raise Unavailable(f"pip could not install {' '.join(packages)} with {wanted[-1]} on Python {version}, see above")
    # pip gives every file the present time. Then Cython would write all C sources again, because NumPy's .pxd files are newer, and
    # each Python's build would make those of the others out of date; and two NumPys would not share a build.
    for path in Path(folder, "lib").rglob("*"):
        if path.suffix in (".pxd", ".h"):
            os.utime(path, (OLD, OLD))
    stamp.write_text(now, "utf-8")
    return inside


def compile_for(inside, version, level):
    """The folder with the build for a Python, made or brought up to date, and with a copy of the tests. `level`: gcc's, or "".

    Raises:
        Unavailable: it does not compile.
    """
    base = HERE / "lib" / version
    if call(inside, "setup.py", "--quiet", "build", "--build-base", base, "--build-lib", base / "lib", cwd=TREE,
            env={"MINIGRAD_BUILD": "require", **({"MINIGRAD_OPTIMIZE": level} if level else {})}):
        raise Unavailable(f"minigrad does not compile for Python {version}; the compiler's words are above")
    shutil.rmtree(base / "lib" / "tests", ignore_errors=True)
    shutil.copytree(TREE / "tests", base / "lib" / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    return base / "lib"


def run_tests(inside, folder, build, tests, options):
    """Run the tests. Returns a Counter with the numbers of passed, skipped and failed tests, and the seconds."""
    report = HERE / "report.xml"
    report.unlink(missing_ok=True)
    mode = {"MINIGRAD_PURE": "1"} if build == "interpreted" else {"MINIGRAD_PURE": "0", "MINIGRAD_EXPECT": "compiled"}
    if build == "compiled" and answer(inside, "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED'))") == "1":
        mode["PYTHON_GIL"] = "1"        # what our modules ask for. Python would warn in each program that a test starts
    began = time.monotonic()
    status = call(inside, "-m", "pytest", "-p", "no:cacheprovider", "--junitxml", report, *options, *tests,
                  cwd=folder, env={"OPENBLAS_NUM_THREADS": "1", **mode})
    found = Counter(seconds=round(time.monotonic() - began))
    if report.exists():
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            numbers = {name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")}
            found["failed"] += numbers["failures"] + numbers["errors"]
            found["skipped"] += numbers["skipped"]
            found["passed"] += numbers["tests"] - numbers["failures"] - numbers["errors"] - numbers["skipped"]
    if status not in (0, 1) or not found["passed"]:     # 1: some failed. Anything else is not a test result.
        found["failed"] = max(found["failed"], 1)
    return found


def absent(inside):
    """The packages of `EXTRAS` that a virtual environment lacks."""
    code = f"import importlib.util as u; print(*[n for n in {list(EXTRAS)} if not u.find_spec(n)])"
    return (answer(inside, code) or "").split()


def main():
    """Run all rows. The exit status is 1 if a test failed, or if a row that was asked for could not run."""
    parser = argparse.ArgumentParser(description="Test minigrad on several Pythons.")
    parser.add_argument("rows", nargs="*", default=ROWS, help="VERSION or VERSION:NUMPY, for example 3.14 3.12:2.0")
    parser.add_argument("--tests", default=" ".join(TESTS), help="paths of tests, in one argument")
    parser.add_argument("--builds", default=" ".join(BUILDS), help="interpreted, compiled, or both in one argument")
    parser.add_argument("--optimize", default="", help="the level for all modules, for example -O0; default: as released")
    parser.add_argument("--packages", default="", help=f"what pip installs in each environment: -e .[test]; on 3.14t {BARE}")
    parser.add_argument("--pytest", default="-n auto", help="arguments for pytest")
    chosen = parser.parse_args()
    rows = [row.partition(":")[::2] for row in chosen.rows]
    pythons = get(dict.fromkeys(version for version, _ in rows))
    lines, missing, wrong = [], {}, False
    for version, numpy in rows:
        try:
            python = pythons[version]
            if not isinstance(python, str):
                raise python or Unavailable("it was not found")
            packages = chosen.packages or (BARE if version.endswith("t") else "-e .[test]")
            inside = make_environment(python, version, numpy, packages.split())
            names = (answer(inside, "import platform, numpy; print(platform.python_version(), numpy.__version__)") or "? ?").split()
            missing[" and NumPy ".join(names)] = absent(inside)
            for build in chosen.builds.split():
                folder = TREE
                if build == "compiled":     # with the newest NumPy, like a wheel: all share the C sources made with it
                    folder = compile_for(make_environment(python, version, "", packages.split()), version, chosen.optimize)
                print(f"\n== Python {names[0]}, NumPy {names[1]}, {build}", flush=True)
                found = run_tests(inside, folder, build, chosen.tests.split(), chosen.pytest.split())
                lines.append((*names, build, found["passed"], found["skipped"], found["failed"], found["seconds"]))
                wrong |= bool(found["failed"])
        except Unavailable as error:
            lines.append((version, numpy or "newest", f"did not run: {error}", "", "", "", ""))
            wrong = True
    print(f"\n{'Python':<10}{'NumPy':<9}{'build':<13}{'passed':>8}{'skipped':>9}{'failed':>8}{'seconds':>9}")
    for line in lines:
        print("{:<10}{:<9}{:<13}{:>8}{:>9}{:>8}{:>9}".format(*line).rstrip())
    for name, packages in missing.items():
        for package in packages:
            print(f"left out on Python {name}: {package} is not installed, so {EXTRAS[package]} did not run")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
