"""Another project that PyPI calls `minigrad` shares our folder: minigrad says so. See Note [The name on PyPI] in minigrad/_build."""

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import minigrad as mg
from minigrad._build import DISTRIBUTION, config, refuse_other_project

PACKAGE = Path(mg.__file__).parent
THEIRS = {"__init__.py": "from minigrad.engine import Value\n", "nn.py": "from minigrad import Value\n", "engine.so": ""}


@pytest.fixture
def folder(tmp_path):
    """The files of the package that an import meets first."""
    for name in ("_build", "engine"):
        shutil.copytree(PACKAGE / name, tmp_path / "minigrad" / name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
    shutil.copy(PACKAGE / "__init__.py", tmp_path / "minigrad")
    return tmp_path / "minigrad"


def error(folder, code="import minigrad"):
    """The last lines that `code` prints before it fails."""
    done = subprocess.run([sys.executable, *code.split(None, 1)] if code.startswith("-m ") else [sys.executable, "-c", code],
                          env={**os.environ, "PYTHONPATH": str(folder.parent), "MINIGRAD_PURE": "1"}, cwd=folder.parent,
                          capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr


@pytest.mark.parametrize("code", ["import minigrad", "import minigrad.nn", "from minigrad.tensor import Tensor", "-m minigrad.doctor"])
@pytest.mark.parametrize("files", [["nn.py", "engine.so"], ["nn.py"], ["__init__.py", "nn.py", "engine.so"]],
                         ids=["ours came second", "an old version", "theirs came second"])
def test_files_of_the_other_project(folder, files, code):
    for name in files:
        (folder / name).write_text(THEIRS[name], "utf-8")
    said = error(folder, code)
    assert "ImportError: minigrad is not installed as a whole: another project has used its folder" in said
    assert f"folder:   {folder}" in said and f"pip uninstall -y minigrad {DISTRIBUTION}, then install {DISTRIBUTION} again" in said
    assert ", ".join(sorted(set(files) - {"__init__.py"})) + " of another project, which PyPI calls minigrad" in said


def test_an_uninstall_of_the_other_project_has_removed_ours(folder):
    (folder / "__init__.py").unlink()
    with pytest.raises(ImportError, match=r"no __init__\.py: an uninstall of another project"):
        refuse_other_project(str(folder))
    if PACKAGE.parent.name == "site-packages":
        return      # Python prefers the installed package to a folder without __init__.py
    shutil.copy(PACKAGE / "doctor.py", folder)
    assert "no __init__.py" in error(folder, "-m minigrad.doctor")


def test_our_own_folder_passes(folder):
    refuse_other_project(str(folder))
    import minigrad.engine  # its check passes too
    assert minigrad.engine.__doc__.startswith("Not the engine")


def test_doctor_notices_the_other_distribution(tmp_path, monkeypatch):
    """Where both are installed, also if their files do not meet: in two folders of the path."""
    (tmp_path / "minigrad-0.0.6.dist-info").mkdir()
    (tmp_path / "minigrad-0.0.6.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: minigrad\nVersion: 0.0.6\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert metadata.version("minigrad") == "0.0.6"
    assert [(what, remedy) for what, remedy in config.problems() if "a distribution called minigrad (0.0.6)" in what
            and f"pip uninstall -y minigrad {DISTRIBUTION}" in remedy]
