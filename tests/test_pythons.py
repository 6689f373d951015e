"""``make pythons`` and ``make test-pythons``: which Python is found, what is said of one that is missing, and how tests are counted.

No test asks a registry, and none makes a virtual environment.
"""

import io
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pythons = pytest.importorskip("tools.pythons")      # a wheel brings the tests alone
table = pytest.importorskip("tools.python_table")

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


def test_a_python_must_run_and_have_the_version():
    assert not pythons.usable("/bin/false", HERE) and not pythons.usable("/no/such/file", HERE)
    assert not pythons.usable(sys.executable, "3.10")
    assert pythons.find("2.6") is None
    free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    assert not pythons.usable(sys.executable, HERE if free else HERE + "t")     # with a GIL, or without one, as asked


def test_the_newest_source_is_found(monkeypatch):
    """A mirror lists its folders, or it does not and is asked for each release."""
    listing = "".join(f'<a href="python3.14_3.14.{z}.orig.tar.xz">' for z in (2, 10, 9)) + '<a href="python3.14_3.14.11.debian.tar.xz">'
    monkeypatch.setattr(pythons, "mirror", lambda: ("http://mirror/debian/", ""))
    monkeypatch.setattr(pythons.urllib.request, "urlopen", lambda *args, **kwargs: io.BytesIO(listing.encode()))
    newest = "http://mirror/debian/pool/main/p/python3.14/python3.14_3.14.10.orig.tar.xz"
    assert pythons.newest_source("3.14") == newest

    def ask(request, **kwargs):
        if isinstance(request, str) or request.full_url != newest:
            raise pythons.urllib.error.HTTPError("", 404, "Not Found", None, None)
        return io.BytesIO()

    monkeypatch.setattr(pythons.urllib.request, "urlopen", ask)
    assert pythons.newest_source("3.14") == newest
    with pytest.raises(pythons.Unavailable, match=r"Debian has no source of Python 3\.13"):
        pythons.newest_source("3.13")


def test_a_python_that_cannot_be_had_says_why(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(pythons, "HERE", tmp_path)
    monkeypatch.setattr(pythons.shutil, "which", lambda name: None)     # no apt
    monkeypatch.setattr(sys, "argv", ["pythons", "2.6"])
    assert pythons.main() == 1
    said = capsys.readouterr().out
    assert "Python 2.6 is NOT here" in said and "only Debian's packages" in said and "Install it by any other way" in said


def test_the_words_of_apt_reach_the_user(monkeypatch):
    def refuse(*args, **kwargs):
        return subprocess.CompletedProcess(args, 100, stdout="Reading...\nE: Unable to locate package python3.99\nE: more\n")

    monkeypatch.setattr(pythons.subprocess, "run", refuse)
    with pytest.raises(pythons.Unavailable, match=r"apt says: E: Unable to locate package python3\.99$"):
        pythons.apt("install", "python3.99")


def test_results_are_counted(monkeypatch, tmp_path):
    monkeypatch.setattr(table, "HERE", tmp_path)
    for name, text in {"passes": "def test(): pass", "fails": "def test(): assert 0", "breaks": "1 / 0", "is_left_out":
                       "import pytest\npytest.importorskip('no_such_package')"}.items():
        Path(tmp_path, f"test_{name}.py").write_text(text)
    found = table.run_tests(sys.executable, tmp_path, "interpreted", ["test_passes.py", "test_fails.py", "test_is_left_out.py"], [])
    assert (found["passed"], found["skipped"], found["failed"]) == (1, 1, 1)
    assert table.run_tests(sys.executable, tmp_path, "interpreted", ["test_breaks.py"], [])["failed"] == 1
    assert table.run_tests(sys.executable, tmp_path, "interpreted", ["test_no_such_file.py"], [])["failed"] == 1


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(table.EXTRAS, "no_such_package", "nothing")
    missing = table.absent(sys.executable)
    assert "no_such_package" in missing and "numpy" not in missing


def test_a_row_without_its_python_fails(monkeypatch, capsys):
    monkeypatch.setattr(table, "get", lambda versions: {v: pythons.Unavailable("it is not here") for v in versions})
    monkeypatch.setattr(sys, "argv", ["python_table", "3.99:2.0"])
    assert table.main()
    assert "3.99      2.0      did not run: it is not here" in capsys.readouterr().out
