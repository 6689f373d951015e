"""The tests of this folder are about docs/, tutorials/ and tools/docs, which only a source tree has."""

import contextlib
import importlib.util
import json
import os
import runpy
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

import minigrad as mg

ROOT = Path(mg.__file__).parents[1]
HERE = (ROOT / "docs").exists() and importlib.util.find_spec("tools") is not None
collect_ignore_glob = [] if HERE else ["test_*.py"]
HTML = ROOT / "build/docs/html"


def why_no_site():
    """The reason why the built site cannot be tested; empty if it can."""
    index = HTML / "searchindex.js"
    if not index.exists():
        return "the site is not built: make docs"
    sources = [path for folder in ("docs", "tutorials", "tools/docs") for path in (ROOT / folder).rglob("*.*")]
    if any(path.stat().st_mtime > index.stat().st_mtime for path in sources if "__pycache__" not in path.parts):
        return "the site is older than its sources: make docs"
    return ""


def pytest_report_header(config):
    return [] if HERE else ["tests/docs NOT collected: docs/ and tools/ are not here"]


@pytest.fixture(scope="module")
def ran():
    """Script -> its names after it has run, once."""
    done = {}

    def run(path):
        if path not in done:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                done[path] = runpy.run_path(str(path), run_name="__main__")
        return done[path]
    return run


@contextlib.contextmanager
def live_server(site, folder):
    """The server of tools/docs/serve.py for the pages in `site`; `folder` is its working folder. It yields the server's own notes."""
    notes = folder / "runtime"
    environment = os.environ | {"JUPYTER_RUNTIME_DIR": str(notes), "PYTHONPATH": str(ROOT), "MINIGRAD_PURE": "1"}
    program = f"from pathlib import Path; from tools.docs.serve import serve; serve(Path({str(site)!r}), 0, False)"
    with open(folder / "log", "w+", encoding="utf-8") as log:
        running = subprocess.Popen([sys.executable, "-c", program], cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            about = None
            while about is None:
                assert running.poll() is None, (folder / "log").read_text("utf-8")
                time.sleep(0.2)
                with contextlib.suppress(StopIteration, json.JSONDecodeError, ConnectionRefusedError):
                    noted = json.loads(next(notes.glob("jpserver-*.json")).read_text("utf-8"))      # no file, or half of one
                    socket.create_connection(("127.0.0.1", noted["port"])).close()      # jupyter_server writes it before it listens
                    about = noted
            yield about
        finally:
            running.terminate()
            running.wait()
