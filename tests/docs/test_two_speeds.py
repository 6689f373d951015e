"""Tutorial 16 records measurements of its steps and the traps of compiled code; these tests check the records."""

import importlib.util
import re
import shutil
import subprocess
import sys

import pytest

from benchmarks import two_speeds, where


def rows(text, heading):
    """The first cells of the rows of a table."""
    lines = [line.removeprefix("# ") for line in text.splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    end = next(i for i in range(start, len(lines)) if not lines[i].startswith("|"))
    return [re.split(r"\s*\|\s*", line)[1] for line in lines[start + 2:end]]


def test_the_tables_are_those_of_the_benchmarks():
    text = two_speeds.TUTORIAL.read_text("utf-8")
    assert rows(text, "step") == [two_speeds.PLAIN, *two_speeds.sources()]
    assert set(rows(text, "work")) == {name for name, _ in where.PLACES} | {"total"}
    assert rows(text, "numbers") == [f"{size:,}" for size in two_speeds.SIZES]


def test_every_step_changes_something_and_no_result():
    versions = list(two_speeds.sources().values())
    assert len(set(versions)) == len(versions) == 6
    found = set()
    for source in versions:
        names = {}
        exec(source, names)
        found.add(names["chain"](300))
    assert len(found) == 1
    assert found.pop() == pytest.approx(0.999 ** 300)


needs_compiler = pytest.mark.skipif(shutil.which("cc") is None or importlib.util.find_spec("setuptools") is None,
                                    reason="there is no C compiler, or no setuptools")


@needs_compiler
def test_compiled_it_gives_the_same_to_the_last_bit(tmp_path, monkeypatch):
    monkeypatch.setenv("CFLAGS", "-O0 -g0")
    source = two_speeds.sources()["safe again"]
    binary = two_speeds.build(source, tmp_path / "tape")
    names = {}
    exec(source, names)
    assert two_speeds.load(binary).chain(300) == names["chain"](300)
    # and a long chain can be freed
    program = f"from importlib import util; s = util.spec_from_file_location('tape', {str(binary)!r})\n" \
              "m = util.module_from_spec(s); s.loader.exec_module(m); print(m.chain(1_000_000) < 1e-300)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False).stdout == "True\n"


@needs_compiler
def test_traps_are_what_the_tutorial_says(tmp_path, monkeypatch):
    monkeypatch.setenv("CFLAGS", "-O0 -g0 -fwrapv")
    wanted = two_speeds.written("TRAPS", "COMPILED")
    names = vars(two_speeds.load(two_speeds.build(wanted["TRAPS"], tmp_path / "traps")))
    for expression, recorded in wanted["COMPILED"].items():
        try:
            result = repr(eval(expression, names))
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
        assert result.startswith(recorded), expression
