"""The navigation beside each page is the one that Sphinx and the theme would make, which take longer."""

import os
import subprocess
import sys

import pytest

from tests.docs.conftest import ROOT

PAGES = {
    "index": "Index\n=====\n\n.. toctree::\n   :caption: First\n\n   one\n   more/index\n\n.. toctree::\n   :caption: Second\n\n   two\n",
    "one": "One\n===\n\nA section\n---------\n\n.. toctree::\n   :hidden:\n\n   more/below\n\nA part\n......\n\nText.\n",
    "two": "Two\n===\n\nA section\n---------\n\n.. py:function:: double(x)\n\n   Text.\n",
    "more/index": "More\n====\n\n.. toctree::\n\n   Another title <a>\n   https://example.org\n",
    "more/a": "A\n=\n\nA section\n---------\n\nText.\n",
    "more/below": "Below\n=====\n\n.. py:function:: half(x)\n\n   Text.\n",
    "alone": ":orphan:\n\nAlone\n=====\n\nA section\n---------\n\nText.\n",
}
CONF = """html_theme = "furo"
html_additional_pages = {"made/a": "page.html", "made/b": "page.html", "made/deeper/c": "page.html"}
"""


def test_the_pages_are_the_same(tmp_path):
    pytest.importorskip("furo", reason="the site needs the extra `docs`")
    source = tmp_path / "source"
    for name, text in PAGES.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / f"{name}.rst").write_text(text, "utf-8")
    built = {}
    for kind, extensions in (("plain", []), ("quick", ["tools.docs.navigation"])):
        html = tmp_path / kind
        (source / "conf.py").write_text(f"{CONF}extensions = {extensions}\n", "utf-8")
        subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "-E", "-d", tmp_path / f"{kind}-read", source, html], check=True,
                       env=os.environ | {"PYTHONPATH": str(ROOT)})
        built[kind] = {path.relative_to(html).as_posix(): path.read_text("utf-8") for path in html.rglob("*.html")}
    assert {f"{name}.html" for name in (*PAGES, "made/a", "made/b", "made/deeper/c", "search", "genindex")} == set(built["plain"])
    assert "current-page" in built["plain"]["more/a.html"] and "Another title" in built["plain"]["made/a.html"]
    assert built["quick"] == built["plain"]
