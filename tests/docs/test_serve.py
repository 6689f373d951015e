"""The server of `make docs-serve`: who is let in, what it sends, and that the site itself has no part of it."""

import http.client
import json
import re
import socket

import pytest

from tests.docs.conftest import HTML, ROOT, live_server, why_no_site
from tools.docs import editions, serve, tutorials

FOREIGN = """c = get_config()
c.ServerApp.ip = "0.0.0.0"
c.ServerApp.allow_origin = "*"
c.IdentityProvider.token = ""
"""
SCRIPTS = [path for path in [*tutorials.scripts(), *tutorials.projects()] if "@mg.testing.exercise" in path.read_text("utf-8")]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A site of two files, and a configuration of Jupyter in the working folder that would open the server to everybody."""
    pytest.importorskip("jupyter_server")
    folder = tmp_path_factory.mktemp("live")
    (folder / "site/tutorials").mkdir(parents=True)
    (folder / "site/tutorials/02_the_engine.html").write_text("<html><body>pages</body></html>", "utf-8")
    (folder / "site/plain.txt").write_text("a file", "utf-8")
    (folder / "secret.html").write_text("not of the site", "utf-8")
    (folder / "jupyter_server_config.py").write_text(FOREIGN, "utf-8")
    with live_server(folder / "site", folder) as about:
        yield about


def ask(server, path, method="GET", body=None, **headers):
    """The status, the headers and the text of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server["port"], timeout=60)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    found = answer.status, answer.headers, answer.read().decode()
    connection.close()
    return found


PAGE = "/minigrad/tutorials/02_the_engine.html"


def test_without_the_token_it_refuses(server):
    """A page leads to the question for the token; what runs programs says no."""
    assert len(server["token"]) >= 32
    for path in (PAGE, "/minigrad/plain.txt", "/live/files/live.js"):
        status, headers, text = ask(server, path)
        assert status == 302 and headers["Location"].startswith("/login?"), path
        assert "pages" not in text and "a file" not in text
    assert ask(server, "/api/kernels")[0] == 403
    assert ask(server, "/api/kernels", "POST", "{}")[0] == 403
    assert ask(server, "/live/show", "POST", "{}")[0] == 403
    assert ask(server, PAGE, Authorization="token wrong")[0] == 302


def test_it_listens_on_this_machine_only(server):
    assert server["url"] == f"http://127.0.0.1:{server['port']}/"
    with socket.socket(socket.AF_INET) as other:     # 127.0.0.2 answers where a server listens on all addresses
        assert other.connect_ex(("127.0.0.2", server["port"])) != 0


def test_it_serves_a_page_and_puts_the_live_part_in(server):
    own = {"Authorization": f"token {server['token']}"}
    status, headers, text = ask(server, PAGE, **own)
    assert status == 200 and headers["Content-Type"].startswith("text/html") and not headers["Access-Control-Allow-Origin"]
    about = json.loads(re.search(r'id="mg-live">(.*?)</script>', text)[1])
    assert about["page"] == "tutorials/02_the_engine" and [one["number"] for one in about["exercises"]] == [1, 2, 3]
    assert text.startswith("<html><body>pages") and text.endswith("</body></html>")
    assert ask(server, "/minigrad/plain.txt", **own)[2] == "a file"
    assert "class Kernel" in ask(server, "/live/files/live.js", **own)[2]
    for path in ("/minigrad/none.html", "/minigrad/../secret.html", "/minigrad/%2e%2e/secret.html"):
        status, _, text = ask(server, path, **own)
        assert status in (403, 404) and "not of the site" not in text, path


def test_pages_of_other_sites_are_refused(server):
    """The browser sends the cookie, but the page has another origin, another name for this machine, or no `_xsrf`."""
    _, headers, text = ask(server, f"{PAGE}?token={server['token']}")
    cookie = "; ".join([value.partition(";")[0] for value in headers.get_all("Set-Cookie")])
    xsrf = json.loads(re.search(r'id="mg-live">(.*?)</script>', text)[1])["xsrf"]
    body = json.dumps({"kind": "python", "text": "x = 1"})
    assert ask(server, "/live/show", "POST", body, Cookie=cookie, X_XSRFToken=xsrf)[0] == 200
    assert ask(server, "/live/show", "POST", "null", Cookie=cookie, X_XSRFToken=xsrf)[0] == 400
    assert ask(server, "/live/show", "POST", body, Cookie=cookie)[0] == 403
    assert ask(server, "/live/show", "POST", body, Cookie=cookie, X_XSRFToken=xsrf, Origin="http://example.org")[0] in (403, 404)
    assert ask(server, PAGE, Cookie=cookie, Host="example.org")[0] == 403


def test_colours_and_markdown():
    pytest.importorskip("myst_nb")
    assert serve.shown("python", "x = 1\n") == serve.shown("python", "x = 1").removesuffix("\n")
    text = serve.shown("markdown", "*two*\n\n```python\na < b\n```\n\n<script>x</script>")
    assert "<em>two</em>" in text and '<span class="o">&lt;</span>' in text and "<script>" not in text


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_check_asks_for_the_reader_s_answer(path):
    """It calls the check of the student's edition, with the name that the stub binds. No solution is in what the page gets."""
    pytest.importorskip("jupytext")
    notebook = editions.read_notebook(path)
    found = editions.exercises(notebook)
    sent = serve.exercises(f"{editions.folder(path)}/{path.stem}")
    assert [one["number"] for one in sent] == [one.number for one in found]
    for one, exercise in zip(sent, found):
        assert one["verdict"] == f"print({exercise.check}.verdict({exercise.answer}))"
        compile(one["help"], "help", "exec")
        assert not any(notebook.cells[i].source in json.dumps(one) for i in exercise.solutions)


@pytest.mark.skipif(why_no_site() != "", reason=why_no_site())
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_cells_of_a_page_are_those_of_its_script(path):
    """So the numbers of stubs and checks are right on the page."""
    page = (HTML / editions.folder(path) / f"{path.stem}.html").read_text("utf-8")
    cells = re.findall(r'<div class="cell[ "].*?<pre>(.*?)</pre>', page, re.DOTALL)
    programs = [re.sub(r"<[^>]*>", "", cell) for cell in cells]
    for one in serve.exercises(f"{editions.folder(path)}/{path.stem}"):
        assert f"@mg.testing.exercise({one['number']}" in programs[one["check"]]
        assert "solution" not in programs[one["stub"]] and one["stub"] < one["check"]


def test_the_site_has_no_part_of_it():
    """A page that is opened as a file, or from another server, shows no buttons."""
    for path in (ROOT / "docs").rglob("*.*"):
        if path.suffix in (".py", ".js", ".css", ".md"):
            assert "mg-live" not in path.read_text("utf-8"), path
    for path in HTML.rglob("*.html") if HTML.exists() else ():
        assert "live.js" not in path.read_text("utf-8"), path
