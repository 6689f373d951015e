"""What Binder and Colab read, as far as it can be tried here: the files of .binder, and the lines of docs/teach/setup.md."""

import os
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.docs.conftest import ROOT
from tools.docs import editions, make_editions, tutorials

BINDER = ROOT / ".binder"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_binder_installs_minigrad_and_jupyterlab():
    """`.[demo]` is this folder: pip runs in the folder of the repository."""
    lines = [line for line in (BINDER / "requirements.txt").read_text("utf-8").splitlines() if line and not line.startswith("#")]
    here, *others = lines
    assert here.startswith(".[") and set(here[2:-1].split(",")) <= set(PROJECT["optional-dependencies"])
    lab = PROJECT["optional-dependencies"]["lab"]
    assert "jupyterlab" in [Requirement(line).name for line in others] and set(others) <= set(lab)


def test_binder_has_a_python_that_minigrad_supports():
    name, _, version = (BINDER / "runtime.txt").read_text("utf-8").strip().partition("-")
    assert name == "python" and version in SpecifierSet(PROJECT["requires-python"])


def test_binder_makes_the_notebooks(tmp_path, capsys):
    """With the command of postBuild, which is a program. A notebook has no solution, and its kernel is the one that Colab has too."""
    script = BINDER / "postBuild"
    assert os.access(script, os.X_OK)
    command = script.read_text("utf-8").splitlines()[-1].split()
    assert command == ["python", "-m", "tools.docs.make_editions", "--student", "--out", "notebooks"]
    if sys.platform != "win32":
        subprocess.run(["bash", "-n", str(script)], check=True)
    pytest.importorskip("jupytext")
    path = tutorials.scripts()[1]
    make_editions.main([str(path), "--student", "--out", str(tmp_path / "notebooks")])
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(tmp_path / f"notebooks/student/{path.stem}.ipynb", 4)
    assert notebook.metadata.kernelspec.name == "python3" and not any("solution" in editions.tags(cell) for cell in notebook.cells)


def test_colab_installs_this_project():
    """The name in the line for Colab is that of the project: `minigrad` on PyPI is another one."""
    text = (ROOT / "docs/teach/setup.md").read_text("utf-8").partition("## In Colab")[2].partition("\n## ")[0]
    line = next(line for line in text.splitlines() if line.startswith("%pip install"))
    assert PROJECT["name"] in line.split() and "minigrad" not in line.split()
    assert "notebook" in text and "Upload notebook" in text
