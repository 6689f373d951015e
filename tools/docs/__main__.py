"""``python -m tools.docs``: build the site; every warning is an error. With ``--serve``, show it afterwards.

It needs the extra `docs`, but no network. It runs interpreted, since compiled functions have neither signatures nor sources.
"""

import argparse
import functools
import http.server
import importlib.util
import os
import subprocess
import sys
import webbrowser

from tools.docs.drawing import FACES
from tools.docs.paths import HTML, ROOT, SOURCE
from tools.docs.stage import stage

# Tracebacks call the file of a cell "cell 3". A path would differ from run to run, and one name for all cells would show the lines
# of another cell.
KERNEL = """c = get_config()
c.IPKernelApp.log_level = 40
from ipykernel.compiler import XCachingCompiler
XCachingCompiler.get_code_name = lambda self, raw_code, code, number: f"cell {number}"
"""
# What the extra `docs` installs, and a folder without it lacks.
NEEDED = ("sphinx", "myst_nb", "furo", "jupytext", "numba_cuda", "reportlab", "fontTools",
          *[package for package, _ in FACES.values()])


def build(arguments):
    """Run Sphinx; return its exit status."""
    profile = HTML.parent / "ipython/profile_default"       # or the kernels of the pages warn that they use TCP
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(KERNEL, "utf-8")
    environment = os.environ | {"MINIGRAD_PURE": "1", "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1",
                                "IPYTHONDIR": str(HTML.parent / "ipython"), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q", "-j", "2", "-b", "html", "-c", str(ROOT / "docs"),
               "-d", str(HTML.parent / "doctrees"), *arguments, str(SOURCE), str(HTML)]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def serve(port):
    """Show the site on this machine until Ctrl-C."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(HTML))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        address = f"http://127.0.0.1:{server.server_port}/"
        print(f"{address}  (Ctrl-C ends it)")
        webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description="Build the documentation site.")
    parser.add_argument("--stage", action="store_true", help="only gather the pages in build/docs/source")
    parser.add_argument("--serve", action="store_true", help="show the site when it is built")
    parser.add_argument("--port", type=int, default=0, help="the port for --serve; any free port by default")
    parser.add_argument("--all", action="store_true", help="build every page again")
    chosen = parser.parse_args(arguments)
    lacking = [name for name in dict.fromkeys(NEEDED) if importlib.util.find_spec(name) is None]
    if lacking:
        print(f"the documentation needs {', '.join(lacking)}: pip install -e '.[docs]', or make docs", file=sys.stderr)
        return 1
    stage()
    status = 0 if chosen.stage else build(["-E", "-a"] if chosen.all else [])
    if status == 0 and not chosen.stage:
        print(f"{HTML / 'index.html'}: {len(list(HTML.rglob('*.html')))} pages, "
              f"{sum(p.stat().st_size for p in HTML.rglob('*') if p.is_file()) / 1e6:.1f} MB")
    if chosen.serve and status == 0:
        serve(chosen.port)
    return status


if __name__ == "__main__":
    if os.environ.get("MINIGRAD_PURE") != "1":      # generating the pages needs the sources too
        os.environ["MINIGRAD_PURE"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "tools.docs", *sys.argv[1:]])
    sys.exit(main())
