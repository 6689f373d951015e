"""The workflows, the Dockerfile and the release settings: they follow their schemas, agree with each other, and name what exists."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import minigrad as mg

ROOT = Path(mg.__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="needs a clone")


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def run(*arguments):
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("schema, files", [("github-workflows", WORKFLOWS), ("dependabot", [ROOT / ".github/dependabot.yml"])])
def test_schema(schema, files):
    """The schemas are part of check-jsonschema, so this needs no network."""
    pytest.importorskip("check_jsonschema")
    run("check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, files))


def pythons(text):
    """The Pythons that a text names as cp311 or 3.11."""
    return {f"3.{minor}" for minor in re.findall(r'cp3(\d\d)-|"3\.(\d\d)"', text) for minor in minor if minor}


def test_each_supported_python_is_tested_and_gets_a_wheel(project):
    matrix = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/ci.yml").read_text("utf-8"))[1]
    classified = {name.rpartition(" ")[2] for name in project["project"]["classifiers"] if re.search(r"Python :: 3\.\d", name)}
    assert classified <= pythons(matrix) == pythons(project["tool"]["cibuildwheel"]["build"])


@pytest.mark.parametrize("platform, kinds", [("linux", {"manylinux", "musllinux"}), ("macos", {"macosx"}), ("windows", {"win"})])
def test_wheels(project, platform, kinds):
    """cibuildwheel understands its settings: which wheels would it build?"""
    pytest.importorskip("cibuildwheel")
    names = [name.split("-") for name in run("cibuildwheel", "--platform", platform, "--print-build-identifiers").split()]
    assert {target.partition("_")[0] for _, target in names} == kinds
    assert {f"3.{tag[3:]}" for tag, _ in names} == pythons(project["tool"]["cibuildwheel"]["build"])


def test_the_tested_folders_exist(project):
    settings = project["tool"]["cibuildwheel"]
    folders = {name for command in settings["test-command"] for name in re.findall(r"\btests/\w+", command)}
    assert folders and all((ROOT / name).is_dir() for name in folders)
    assert set(settings["test-extras"]) <= set(project["project"]["optional-dependencies"])


@pytest.mark.parametrize("file", [*WORKFLOWS, *[ROOT / name for name in ("Dockerfile", ".devcontainer/devcontainer.json")]],
                         ids=lambda path: path.name)
def test_make_targets_exist(file):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    named = re.findall(r"(?:run: |minigrad |\[\"|: \")make(?:\", \"| )([a-z-]+)", file.read_text("utf-8"))
    assert set(named) <= targets and (named or file.name in ("ci.yml", "devcontainer.json"))


def test_container():
    """The container of the editor is that of the Dockerfile, which has what the README's commands need."""
    settings = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    dockerfile = ROOT / ".devcontainer" / settings["build"]["dockerfile"]
    text = dockerfile.resolve().read_text("utf-8")
    assert {"gcc", "libc6-dev", "make", "python3-dev", "python3-venv"} <= set(text.split())


def test_only_the_publishing_job_may_ask_for_an_identity():
    """Trusted publishing: one job holds `id-token: write`, after all others, and no workflow reads a secret."""
    texts = {path.name: path.read_text("utf-8") for path in WORKFLOWS}
    assert sum(text.count("id-token: write") for text in texts.values()) == 1
    job = re.search(r"^  publish:\n((?:    .*\n|\n)+)", texts["release.yml"], re.M)[1]
    assert "id-token: write" in job and "needs: [source, compiled]" in job and "if: github.event_name == 'push'" in job
    assert not any("secrets." in text for text in texts.values())
