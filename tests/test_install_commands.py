"""No text names an install command that leads elsewhere: `minigrad` on PyPI is another project, ours is `minigrad-autograd`."""

import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import minigrad as mg
from minigrad._build import DISTRIBUTION

ROOT = Path(mg.__file__).parent.parent
SUFFIXES = {"", ".py", ".md", ".toml", ".yml", ".yaml", ".json", ".cff", ".txt", ".in", ".pyx", ".pxd", ".h", ".cfg", ".sh"}
COMMAND = re.compile(r"(?:pip3?|uv|pipx|poetry|pdm)[\"',]* (?:--?\S+ )*(?:install|add|wheel|download)\b([^`\n#;)]*)")
OURS = re.compile(r"(?<![\w./-])minigrad(?:\[[a-z]|==|>=|~=)")        # a requirement, in a command or not

pytestmark = pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs a source tree")


def texts():
    """The text files of the repository. The sdist has no git, and what a build has made there is ours too."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    else:
        listed = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if not {"build", ".venv"} & set(path.parts)]
    this = Path(__file__).relative_to(ROOT) if Path(__file__).is_relative_to(ROOT) else None
    return [path for path in map(Path, listed) if path.suffix in SUFFIXES and path != this and (ROOT / path).is_file()]


def extras():
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    assert project["name"] == DISTRIBUTION
    return set(project["optional-dependencies"])


def wrong(line, known):
    """What is wrong with the install commands and requirements of a line: a list of texts."""
    found = [match[0] for match in OURS.finditer(line)]
    for command in COMMAND.finditer(line):
        quotes = [mark for mark in "\"'" if command[1].count(mark) % 2]      # the quotes of the text that the command stands in
        words = command[1].translate({ord(mark): " " for mark in quotes})
        found += [word for word in shlex.split(words) if re.match(r"minigrad(?![\w-])", word)]
    for listed in re.findall(rf"(?:{DISTRIBUTION}|(?<=[\s\"'])\.)\[([a-z, ]+)\]", line):
        found += [f"no extra {name}" for name in listed.replace(" ", "").split(",") if name not in known]
    return found


def test_every_install_command_leads_here():
    known, files = extras(), texts()
    assert len(files) > 400
    offenders = [f"{path.as_posix()}:{number}: {', '.join(found)}: {line.strip()}" for path in files
                 for number, line in enumerate((ROOT / path).read_text("utf-8").splitlines(), 1) if (found := wrong(line, known))]
    assert not offenders, "\n" + "\n".join(offenders)


@pytest.mark.parametrize("line", [
    'pip install "minigrad[demo]"', "pip install minigrad", "python -m pip install --upgrade minigrad", "uv add minigrad",
    "uv pip install 'minigrad[viz]'", '"rich>=13", "minigrad[parity,threads]"', "(``pip install minigrad[save]``)", "pip install minigrad==0.1.0",
    "the extra `minigrad[cuda]`", 'print("pip install minigrad")', "pip install 'minigrad-autograd[nonsense]'", 'pip install ".[nonsense]"',
    "PIP_NO_BINARY=1 pip install --no-binary minigrad minigrad-autograd"])
def test_a_wrong_command_would_be_found(line):
    assert wrong(line, {"demo", "viz"})


@pytest.mark.parametrize("line", [
    'pip install "minigrad-autograd[demo]"', "pip install .", 'pip install ".[demo,viz]"', "pip uninstall -y minigrad minigrad-autograd",
    "import minigrad", "python -m pip install pre-commit", "    ls minigrad_autograd-*-py3-none-any.whl"])
def test_a_right_command_passes(line):
    assert not wrong(line, {"demo", "viz"})
