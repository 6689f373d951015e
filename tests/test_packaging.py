"""The files of an installation, and the cost of an import. Checks that take minutes (wheels, builds without a compiler) are in .ci/run."""

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import minigrad as mg

PACKAGE = Path(mg.__file__).parent
ROOT = PACKAGE.parent
SOURCE_TREE = (ROOT / "setup.py").exists()


def python(code, **variables):
    """The JSON that `code` prints in a new interpreter."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MINIGRAD_")} | {"PYTHONPATH": str(ROOT)} | variables
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("file", [
    "py.typed", "errors.md", "_core/README.md", "ops/README.md", "kernels/README.md", "_core/engine/execute.py", "_core/engine/execute.pxd",
    "kernels/cpu/elementwise.pyx", "kernels/cpu/loops.h", "tensor.pyi", "viz/style.css",
    "viz/dark.css", "viz/step.js", "viz/diff.js", "viz/draw.js"])
def test_ships(file):
    assert (PACKAGE / file).exists()


def test_version():
    try:
        assert metadata.version("minigrad-autograd") == mg.__version__
    except metadata.PackageNotFoundError:
        assert SOURCE_TREE


def test_import_brings_only_numpy():
    """`import minigrad` imports NumPy, and nothing else outside the standard library."""
    code = """
import json, sys
import numpy
before = set(sys.modules)
import minigrad
new = {name.partition(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)
print(json.dumps(sorted(n for n in new if not n.startswith(("_cython", "cython_runtime")))))
"""
    assert set(python(code)) <= {"minigrad", "cython", "numpy"}


@pytest.mark.parametrize("before", ["", "import cython; "], ids=["without Cython", "after the installed Cython"])
def test_interpreted_runs_bring_their_own_decorators(before):
    """No version of Cython is needed at run time, and an installed one that is imported first is used as it is."""
    if before:
        pytest.importorskip("Cython")
    found = python(f"{before}import json, minigrad as mg, cython; x = mg.ones(2, requires_grad=True); (x * x).sum().backward(); "
                   "print(json.dumps([x.grad.tolist(), cython.compiled]))",
                   MINIGRAD_PURE="1")
    assert found == [[2.0, 2.0], False]


def test_import_leaves_out_what_few_need():
    assert python("""
import json, sys
import minigrad
print(json.dumps([name for name in sys.modules if name.startswith(("minigrad.distributed", "minigrad.demo", "minigrad.distributions", "minigrad.viz"))]))
""") == []


@pytest.mark.parametrize("variables, expected", [
    ({"MINIGRAD_PURE": "1"}, "interpreted"), ({"MINIGRAD_PURE": "0"}, None), ({}, None)])
def test_mode_follows_the_environment(variables, expected):
    """MINIGRAD_PURE=1 runs the sources, even beside binaries; 0 has no effect."""
    found = python("import json, minigrad as mg; from minigrad._build import pure as _pure; print(json.dumps(_pure.mode()))", **variables)
    built = any((PACKAGE / f"_core/engine/execute{suffix}").exists() for suffix in EXTENSION_SUFFIXES)
    assert found == (expected or ("compiled" if built else "interpreted"))


def test_doctor():
    """It prints the mode and finds the gradients right."""
    done = subprocess.run([sys.executable, "-m", "minigrad.doctor"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "gradients right" in done.stdout and f"minigrad  {mg.__version__}" in done.stdout


@pytest.mark.skipif(not SOURCE_TREE or shutil.which("make") is None, reason="needs a source tree and make")
@pytest.mark.parametrize("python", ["", "/bin/false"])
def test_makefile_says_which_python_it_needs(tmp_path, python):
    shutil.copy(ROOT / "Makefile", tmp_path)
    done = subprocess.run(["make", f"PYTHON={python}", "test"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "minigrad needs a Python from 3.11 to 3.15" in done.stderr


@pytest.mark.skipif(not SOURCE_TREE, reason="needs a source tree")
def test_the_citation_names_this_version():
    assert f"\nversion: {mg.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


@pytest.mark.skipif(not SOURCE_TREE, reason="needs a source tree")
def test_size_report():
    done = subprocess.run([sys.executable, "-m", "tools.sizes"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "minigrad/_core/" in done.stdout and "execute.py" in done.stdout
