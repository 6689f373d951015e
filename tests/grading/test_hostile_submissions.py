"""Whatever a submission does, each check has a score and a reason, and nothing else is touched."""

import json
import os
import sys
import time

import pytest

from minigrad.grading.grade import grade
from tests.grading.conftest import SOURCE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the grader needs os.fork")

# what the file does when it is read -> what the reason says
AT_IMPORT = {
    "os._exit": ("import os; os._exit(0)", "ended the process, with exit status 0"),
    "an endless loop": ("while True: pass", ("used more than 1 s", "took more than 3 s")),
    "sleep": ("import time; time.sleep(600)", "took more than 3 s"),
    "a segmentation fault": ("import ctypes; ctypes.string_at(0)", "segmentation fault"),
    "endless recursion": ("import sys; sys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self): return repr(self)\n"
                          "def f(x): return [*map(f, [x])]\nf(0)", ("segmentation fault", "was killed", "used more than")),
    "a fork bomb": ("import os\nwhile True: os.fork()", "may not start or stop processes (os.fork)"),
    "a program": ("import subprocess; subprocess.run(['sleep', '60'])", "may not start or stop processes (subprocess.Popen)"),
    "a fork in C": ("import ctypes, time\nif ctypes.CDLL(None).fork() == 0:\n    ctypes.CDLL(None).setsid()\ntime.sleep(60)",
                    "started more than 0 processes"),
    "killing": ("import os, signal; os.kill(os.getppid(), signal.SIGKILL)", "may not start or stop processes (os.kill)"),
    "killing in C": ("import ctypes, os; ctypes.CDLL(None).kill(os.getppid(), 9)\nimport time; time.sleep(1)",
                     "ended the process that grades it"),
    "printing without end": ("while True: print('x' * 1000)", "printed more than 64 kB"),
    "writing to stdout": ("import os\nwhile True: os.write(1, b'x' * 1000)", "printed more than 64 kB"),
    "memory": ("def add_gradients(old, new):\n    return bytearray(1 << 32)", "MemoryError"),
    "a large file": ("import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
                     "with open('large', 'wb') as f:\n    for _ in range(100): f.write(bytes(1 << 20))", "wrote a file of more than 32 MB"),
    "another numpy": ("import numpy; numpy.allclose = lambda *args, **keywords: True", "your file replaced numpy.allclose"),
    "another pytest": ("import pytest; pytest.fail = lambda *args, **keywords: None", "your file replaced pytest.fail"),
    "another check": ("from minigrad.grading import checks; checks.same.__code__ = (lambda *args, **keywords: None).__code__",
                      "your file replaced minigrad.grading.checks.same"),
    "another check of the set": ("import sys\nfor name in ('test_public', 'test_hidden'):\n    if name in sys.modules:\n"
                                 "        sys.modules[name].same = lambda *args, **keywords: None", "your file replaced test_public.same"),
    "another method": ("import minigrad; minigrad.Tensor.backward = lambda self: None", "your file replaced minigrad"),
    "another sum": ("import builtins; builtins.sum = lambda *args: 4", "your file replaced builtins.sum"),
    "pytest.skip": ("import pytest\ndef add_gradients(old, new):\n    pytest.skip('no')", "was skipped"),
    "pytest.exit": ("import pytest\ndef add_gradients(old, new):\n    pytest.exit('no', 0)", "was stopped before it ended"),
    "Ctrl-C": ("def add_gradients(old, new):\n    raise KeyboardInterrupt", "was stopped before it ended"),
    "a result of its own": ("import json, os\nfor fd in range(3, 9):\n    try: os.write(fd, json.dumps({'outcome': 'passed'}).encode())\n"
                            "    except OSError: pass\nos._exit(0)", "ended the process"),
}
HARMLESS = ["import sys; sys.exit(1)", "raise KeyboardInterrupt", "import pytest; pytest.skip('no')", "import pytest; pytest.exit('no', 0)",
            "raise SystemError", "x = bytearray(1 << 32)", "raise BaseException"]


def graded(tiny, server, tmp_path, text, name="tiny.py"):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return grade(tiny, tmp_path, server, seed=1)


@pytest.mark.parametrize("name", AT_IMPORT)
def test_hostile(tiny, server, tmp_path, name):
    program, expected = AT_IMPORT[name]
    if name == "endless recursion" and sys.version_info >= (3, 14):
        pytest.skip("Python 3.14 stops it itself, with a RecursionError, before the stack ends")
    start = time.monotonic()
    (tmp_path / "tiny.py").write_text(SOURCE + "\n# %%\n" + program + "\n")
    check = tiny.checks[0]
    found = server.check({"set": str(tiny.folder), "name": "tiny", "file": check.file, "function": check.function, "imports": [], "environment": {},
                          "submission": str(tmp_path / "tiny.py"), "seed": 1, "limits": tiny.limits})
    assert found["outcome"] == "failed"
    assert any(text in found["reason"] for text in ([expected] if isinstance(expected, str) else expected)), found
    assert time.monotonic() - start < 20
    # and the next submission is graded as if nothing had been
    assert len(found["output"]) <= 10_000


def test_after_hostile_submissions_all_is_well(tiny, server, tmp_path):
    found = graded(tiny, server, tmp_path, SOURCE)
    assert found["score"] == 10 and all(test["status"] == "passed" for test in found["tests"])


def test_cells_that_fail_are_skipped(tiny, server, tmp_path):
    found = graded(tiny, server, tmp_path, "\n# %%\n".join([*HARMLESS, SOURCE, *HARMLESS]))
    assert found["score"] == 10


def test_a_file_that_does_not_end_costs_its_time_once(tiny, server, tmp_path):
    start = time.monotonic()
    found = graded(tiny, server, tmp_path, SOURCE + "\nwhile True: pass\n")
    assert found["score"] == 0 and time.monotonic() - start < 5
    assert "Not graded: " in found["output"] and all("loop" in test["output"] or "took" in test["output"] for test in found["tests"])


def test_one_check_takes_nothing_else_with_it(tiny, server, tmp_path):
    text = SOURCE + "\n# %%\ndef double(x):\n    import os\n    os._exit(3)\n"
    found = graded(tiny, server, tmp_path, text)
    assert [test["score"] for test in found["tests"]] == [6, 0]
    assert "exit status 3" in found["tests"][1]["output"]


def test_processes_are_ended(tiny, server, tmp_path):
    # a process in C that leaves the session: nothing of it is left
    text = SOURCE + """
# %%
import ctypes, os
c = ctypes.CDLL(None)
if c.fork() == 0:
    c.setsid()
    if c.fork() == 0:
        c.sleep(77)
    os._exit(0)
"""
    graded(tiny, server, tmp_path, text)
    if os.path.isdir("/proc"):
        from minigrad.grading.server import descendants
        assert not descendants(server.process.pid)


# ---- files of every kind ----------------------------------------------------------------------------------------------------

def notebook(*cells):
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "code", "id": str(i), "metadata": {}, "outputs": [], "execution_count": None, "source": cell}
        for i, cell in enumerate(cells)]})


ADD, DOUBLE = (cell.split("\n", 1)[1] for cell in SOURCE.split("# %% nbgrader")[1:])


def test_no_file(tiny, server, tmp_path):
    (tmp_path / "notes.txt").write_text("soon")
    found = grade(tiny, tmp_path, server)
    assert found["score"] == 0 and "no file tiny.py or tiny.ipynb was handed in" in found["output"]
    assert all("no file tiny.py" in test["output"] for test in found["tests"])


def test_two_files(tiny, server, tmp_path):
    skeleton = "def add_gradients(old, new):\n    raise NotImplementedError()\n"
    (tmp_path / "tiny.py").write_text(skeleton)
    found = graded(tiny, server, tmp_path, notebook(ADD, DOUBLE), "tiny.ipynb")
    assert found["score"] == 10 and "2 files were handed in (tiny.ipynb, tiny.py): tiny.ipynb was graded" in found["output"]


def test_two_files_of_other_names(tiny, server, tmp_path):
    (tmp_path / "a.py").write_text(SOURCE)
    found = graded(tiny, server, tmp_path, SOURCE, "b.py")
    assert found["score"] == 0 and "none is called tiny.py" in found["output"]


def test_another_name(tiny, server, tmp_path):
    found = graded(tiny, server, tmp_path, SOURCE, "my homework.py")
    assert found["score"] == 10 and "it should be called tiny.py" in found["output"]


def test_notebook_with_syntax_error(tiny, server, tmp_path):
    found = graded(tiny, server, tmp_path, notebook("%matplotlib inline\n!pip list\nimport math", ADD, "def double(x):\n    return (", "x ="),
                   "tiny.ipynb")
    assert [test["score"] for test in found["tests"]] == [6, 0]
    assert "tiny.ipynb, code cell 3, line 2: SyntaxError" in found["tests"][1]["output"]


def test_notebook_with_unfinished_cell(tiny, server, tmp_path):
    found = graded(tiny, server, tmp_path, notebook("%%time\nx = 1", ADD, "print(undefined)", DOUBLE), "tiny.ipynb")
    assert found["score"] == 10
    assert "a cell was skipped: tiny.ipynb, code cell 3, line 1: NameError: name 'undefined' is not defined" in found["output"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 3}', '{"cells": [{"cell_type": "code", "source": 3}]}'])
def test_no_notebook(tiny, server, tmp_path, text):
    found = graded(tiny, server, tmp_path, text, "tiny.ipynb")
    assert found["score"] == 0 and "is not a notebook" in found["output"]


def test_script_with_syntax_error(tiny, server, tmp_path):
    found = graded(tiny, server, tmp_path, SOURCE + "\n# %%\ndef unfinished(:\n")
    assert found["score"] == 10


def test_not_utf8(tiny, server, tmp_path):
    found = graded(tiny, server, tmp_path, SOURCE.encode() + "# caf\xe9\n".encode("latin-1"))
    assert found["score"] == 10 and "is not UTF-8 (line 19)" in found["output"]


@pytest.mark.parametrize("text", [b"", b"\0\0\0", b"\xff\xfe\x00", b"(" * 5000, b"x = " + b"-" * 100_000 + b"1"])
def test_no_python(tiny, server, tmp_path, text):
    found = graded(tiny, server, tmp_path, text)
    assert found["score"] == 0 and all(test["output"] for test in found["tests"])


def test_too_large(tiny, server, tmp_path):
    with open(tmp_path / "tiny.py", "wb") as file:
        file.truncate(30_000_000)
    assert "larger than 20 MB" in grade(tiny, tmp_path, server)["output"]


def test_score_that_is_no_number(tiny, server, tmp_path):
    # a value that is equal to everything
    text = SOURCE + "\n# %%\nclass Yes:\n    def __eq__(self, other): return float('nan')\ndef double(x): return Yes()\n"
    found = graded(tiny, server, tmp_path, text)
    assert 0 <= found["tests"][1]["score"] <= 4
    json.loads(json.dumps(found, allow_nan=False))


def test_a_busy_machine_costs_nobody_points(monkeypatch):
    from minigrad.grading import server
    monkeypatch.setattr(server.os, "cpu_count", lambda: 2)
    for load, wanted in ((0.5, 1), (2.0, 1), (20.0, 10)):
        monkeypatch.setattr(server.os, "getloadavg", lambda load=load: (load, 0, 0), raising=False)
        assert server.crowd() == wanted
    monkeypatch.setattr(server.os, "getloadavg", lambda: os.stat(os.devnull + "/x"), raising=False)
    assert server.crowd() == 1
