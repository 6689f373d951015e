"""``make wheels``: where a wheel is before its tests and after them, and what the wheels for 64-bit ARM need.

No test compiles anything, asks a registry, or makes a virtual environment.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

wheels = pytest.importorskip("tools.linux_wheels")      # a wheel brings the tests alone
aarch64 = pytest.importorskip("tools.aarch64")
pythons = pytest.importorskip("tools.pythons")

NAME = "minigrad_autograd-1-cp314-cp314-manylinux_2_34_x86_64.whl"


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Stand-ins for what takes minutes. The commands that would have run; a command with a word of `calls.fail` fails."""
    class Calls(list):
        fail = "nothing fails"

    made = Calls()

    def call(*command, **settings):
        made.append((" ".join(map(str, command)), settings))
        return made.fail in made[-1][0]

    def build(inside, source, folder, settings):
        made.append(("build", settings))
        return folder / "built.whl"

    def repair(wheel, target, libraries):
        target.mkdir(parents=True, exist_ok=True)
        (target / NAME).touch()
        return target / NAME

    for name, stand_in in (("call", call), ("build", build), ("repair", repair), ("TARGET", tmp_path / "wheels"),
                           ("make_environment", lambda *args: Path("inside"))):
        monkeypatch.setattr(wheels, name, stand_in)
    return made


@pytest.fixture
def source(tmp_path):
    (tmp_path / "source/tests").mkdir(parents=True)
    shutil.copy(wheels.ROOT / "pyproject.toml", tmp_path / "source")
    return tmp_path / "source"


def test_a_wheel_is_tested_before_it_is_offered(calls, source, tmp_path):
    made = wheels.make("3.14", "python", source, "", False)
    assert made == tmp_path / "wheels" / NAME and made.exists()
    assert not list((tmp_path / "wheels/untested").iterdir())
    ran = [command for command, _ in calls]
    assert "-m venv" in ran[1] and f"install --quiet --disable-pip-version-check {tmp_path / 'wheels/untested' / NAME} pytest" in ran[2]
    assert ran[3].endswith("-m minigrad.doctor") and ran[-1].endswith("tests/core")
    for _, settings in calls[2:]:       # far from the sources, and compiled
        assert settings["env"]["MINIGRAD_EXPECT"] == "compiled" and source not in (settings["cwd"], *settings["cwd"].parents)


def test_a_wheel_that_fails_is_not_offered(calls, source, tmp_path):
    calls.fail = "pytest -p"
    with pytest.raises(pythons.Unavailable, match=rf"^{NAME}: this failed: .*tests/core$"):
        wheels.make("3.14", "python", source, "", False)
    assert not (tmp_path / "wheels" / NAME).exists() and (tmp_path / "wheels/untested" / NAME).exists()


@pytest.fixture
def debian(monkeypatch, tmp_path):
    """A Debian whose packages are empty. What was asked of it: (packages, folder, suites, architecture)."""
    asked = []

    def fetch(packages, root, suites=pythons.SUITES, architecture=""):
        asked.append((packages, root, suites, architecture))
        root.mkdir(parents=True)

    monkeypatch.setattr(aarch64, "fetch", fetch)
    monkeypatch.setattr(aarch64, "call", lambda *command: None)
    monkeypatch.setattr(aarch64, "release", lambda: "bookworm")
    monkeypatch.setattr(aarch64, "FOLDER", tmp_path)
    monkeypatch.setattr(aarch64, "TOOLS", tmp_path / "tools")
    return asked


def test_the_compiler_for_arm_is_unpacked_once(debian, tmp_path):
    settings = aarch64.settings("3.14")
    assert settings == aarch64.settings("3.14")
    assert settings["SETUPTOOLS_EXT_SUFFIX"] == ".cpython-314-aarch64-linux-gnu.so"
    assert len(debian) == 1 and debian[0][2:] == (["bookworm"], "")
    assert f'exec {tmp_path}/tools/usr/bin/aarch64-linux-gnu-gcc --sysroot={tmp_path}/tools "$@"' in Path(settings["CC"]).read_text()


def test_a_python_in_the_emulator(debian, tmp_path):
    """Its program is a script, so that subprocess and pip can start it as any other; it knows its packages."""
    python, install = aarch64.make_environment("3.14", "python", tmp_path / "clean")
    assert debian == [(["python3.14", "libstdc++6"], tmp_path / "3.14", ["bookworm", *pythons.SUITES], "arm64")]
    assert (tmp_path / "clean/pyvenv.cfg").read_text().startswith(f"home = {tmp_path}/3.14/usr/bin\n")
    emulator = tmp_path / "tools/usr/bin/qemu-aarch64-static"
    emulator.parent.mkdir(parents=True)
    emulator.write_text('#!/bin/sh\necho "$@"\n')
    emulator.chmod(0o755)
    said = subprocess.run([python, "-c", "a b"], capture_output=True, text=True, check=True).stdout
    assert said == f"-cpu cortex-a72 -L {tmp_path}/3.14 -0 {python} {tmp_path}/3.14/usr/bin/python3.14 -c a b\n"
    assert tmp_path / "clean/lib/python3.14/site-packages" in install and "manylinux_2_34_aarch64" in install


def test_packages_of_another_machine(monkeypatch, tmp_path):
    """apt is asked for them in its own words, and does not know the packages that are installed here."""
    asked = []
    monkeypatch.setattr(pythons, "HERE", tmp_path)
    monkeypatch.setattr(pythons, "mirror", lambda: ("http://mirror/debian", ""))

    def apt(*arguments):
        asked.append(arguments)
        settings = (tmp_path / "apt/apt.conf").read_text()
        assert 'APT::Architecture "arm64";\nAPT::Architectures { "arm64"; };\n' in settings
        assert (tmp_path / "apt/sources.list").read_text() == "deb http://mirror/debian testing main\n"

    monkeypatch.setattr(pythons, "apt", apt)
    pythons.fetch(["python3.14"], tmp_path / "root", ["testing"], "arm64")
    assert asked == [("update",), ("install", "--download-only", "python3.14")] and not (tmp_path / "apt").exists()
