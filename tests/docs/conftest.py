"""The tests of this folder are about docs/, tutorials/ and tools/docs, which only a source tree has."""

import importlib.util
import runpy
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
