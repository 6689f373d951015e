"""``make docs-serve``: the site with a Python behind it. A page that this server sends can run its cells; the site does not change.

    /minigrad/tutorials/02_the_engine.html      a file of the site, with live/live.js and the page's exercises put in
    /api/kernels, and a websocket               jupyter_server: one kernel for each page
    /live/show                                  Python in colours, Markdown as HTML

The server is jupyter_server with settings of its own: it reads no configuration. It listens on 127.0.0.1 only. Every request needs
the token, or the cookie that the browser gets for the token. Pages of other sites are refused, because their requests name another
origin and lack the page's own `_xsrf`. A program on a page may do all that its user may.

Read next: live/live.js, editions.py.
"""

import json
import os
from pathlib import Path

from tools.docs import editions, formulas, tutorials
from tools.docs.paths import HTML, ROOT

__all__ = ["PORT", "app", "environment", "exercises", "serve", "shown"]

LIVE = Path(__file__).with_name("live")
PORT = 8462         # always the same, because a browser keeps what a reader typed by address and port

# What a page gets before its end.
LIVE_PART = """<link rel="stylesheet" href="/live/files/live.css"><script type="application/json" id="mg-live">{about}</script>
<script src="/live/files/live.js"></script></body>"""

# Tracebacks call the file of a cell "cell 3". A path would differ from run to run, and one name for all cells would show the lines
# of another cell.
KERNEL = """c = get_config()
c.IPKernelApp.log_level = 40
from ipykernel.compiler import XCachingCompiler
XCachingCompiler.get_code_name = lambda self, raw_code, code, number: f"cell {number}"
"""


def exercises(page):
    """The exercises of a page such as "tutorials/02_the_engine", for live.js. A cell is its number on the page, from 0."""
    found = [path for path in [*tutorials.scripts(), *tutorials.projects()] if f"{editions.folder(path)}/{path.stem}" == page]
    if not found:
        return []
    notebook = editions.read_notebook(found[0])
    order = [i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code" and "help" not in editions.tags(cell)]
    return [{"number": one.number, "stub": order.index(one.stub), "check": order.index(one.place),
             "help": "\n".join([notebook.cells[i].source for i in one.help]),
             "verdict": f"print({one.check}.verdict({one.answer}))"} for one in editions.exercises(notebook)]


def coloured(code):
    """Python as HTML, in the colours of the site."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    lexer = get_lexer_by_name("ipython3", stripnl=False, ensurenl=False)
    return highlight(code, lexer, HtmlFormatter(nowrap=True)).removesuffix("\n")


def shown(kind, text):
    """What a page shows for Python ("python") and for Markdown ("markdown"), as HTML."""
    if kind == "python":
        return coloured(text)
    from markdown_it import MarkdownIt

    def fence(renderer, tokens, i, options, env):
        return f'<div class="highlight-python"><div class="highlight"><pre>{coloured(tokens[i].content)}</pre></div></div>'
    markdown = formulas.in_markdown(MarkdownIt("commonmark", {"html": False}).enable("table"), strict=False)
    markdown.add_render_rule("fence", fence)
    return markdown.render(text)


def environment():
    """What the kernels find in their environment: those of the build, and those of the live pages, which print the same."""
    profile = HTML.parent / "ipython/profile_default"       # without it, a kernel warns that it uses TCP
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(KERNEL, "utf-8")
    return {"MINIGRAD_PURE": "1", "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1",
            "IPYTHONDIR": str(profile.parent), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}


def app(folder, port, browser):
    """The server, ready to start, for the site in `folder`."""
    for name in [name for name in os.environ if name.startswith("JUPYTER_") and name != "JUPYTER_RUNTIME_DIR"]:
        del os.environ[name]
    os.environ.update(environment(), JUPYTER_NO_CONFIG="1", JUPYTER_PREFER_ENV_PATH="1")
    os.environ.setdefault("JUPYTER_RUNTIME_DIR", str(HTML.parent / "jupyter"))
    from jupyter_server.base.handlers import APIHandler, JupyterHandler
    from jupyter_server.serverapp import ServerApp
    from tornado import web
    from traitlets.config import Config

    class Page(JupyterHandler):
        """A page of the site. What makes it live is put in on its way."""

        @web.authenticated
        def get(self, path):
            file = (folder / path).resolve()
            if not file.is_relative_to(folder.resolve()) or not file.is_file():
                raise web.HTTPError(404)
            page = path.removesuffix(".html")
            about = json.dumps({"xsrf": self.xsrf_token.decode(), "page": page, "exercises": exercises(page)})
            before, _, after = file.read_text("utf-8").rpartition("</body>")
            self.set_header("Cache-Control", "no-store")
            self.finish(before + LIVE_PART.format(about=about.replace("<", "\\u003c")) + after)

    class Show(APIHandler):
        """Colours and Markdown, for live.js."""

        @web.authenticated
        def post(self):
            body = self.get_json_body()
            if not body or not {"kind", "text"} <= set(body):
                raise web.HTTPError(400, 'expected {"kind": "python" or "markdown", "text": ...}')
            self.finish(shown(body["kind"], body["text"]))

    class File(JupyterHandler, web.StaticFileHandler):      # pyright: ignore[reportIncompatibleMethodOverride]
        """Any other file of the site; live.js and live.css."""

        @web.authenticated
        async def get(self, path, include_body=True):       # pyright: ignore[reportIncompatibleMethodOverride]
            await web.StaticFileHandler.get(self, path, include_body)

    class Server(ServerApp):
        """The user's configuration of other Jupyter servers is not ours: it may open them to a network."""

        def load_config_file(self, suppress_errors=True):
            pass

    config = Config()
    config.ServerApp.update(ip="127.0.0.1", port=port, root_dir=str(tutorials.TUTORIALS), open_browser=browser, log_level="ERROR",
                            allow_origin="", allow_remote_access=False, allow_root=True, terminals_enabled=False, answer_yes=True,
                            default_url="/minigrad/index.html", jpserver_extensions={})
    config.MappingKernelManager.update(cull_idle_timeout=1800, cull_interval=300)    # of pages whose browser has gone
    server = Server.instance(config=config)
    server.initialize(argv=[], find_extensions=False)
    assert server.web_app is not None
    server.web_app.add_handlers(".*$", [(r"/minigrad/(.*\.html)", Page), (r"/minigrad/(.*)", File, {"path": str(folder)}),
                                        (r"/live/show", Show), (r"/live/files/(.*)", File, {"path": str(LIVE)})])
    return server


def serve(folder=HTML, port=PORT, browser=True):
    """Show the site until Ctrl-C."""
    app(folder, port, browser).start()
