"""``python -m tools.docs``: build the site; every warning is an error. With ``--serve``, show it afterwards, with
a Python behind each page (serve.py).

It needs the extra `docs`, but no network. It runs interpreted, since compiled functions have neither signatures nor sources.
"""

import argparse
import importlib.util
import os
import subprocess
import sys

from tools.docs import book
from tools.docs.drawing import FACES
from tools.docs.paths import HTML, ROOT, SOURCE
from tools.docs.serve import PORT, environment, serve
from tools.docs.stage import stage

# What the extra `docs` installs, and a folder without it lacks.
NEEDED = ("sphinx", "myst_nb", "furo", "jupytext", "numba_cuda", "jupyter_server", "ziamath", "bs4", "reportlab", "fontTools",
          *[package for package, _ in FACES.values()])


def build(arguments):
    """Run Sphinx; return its exit status."""
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q", "-j", "2", "-b", "html", "-c", str(ROOT / "docs"),
               "-d", str(HTML.parent / "doctrees"), *arguments, str(SOURCE), str(HTML)]
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment(), check=False).returncode


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tools.docs", description="Build the documentation site.")
    parser.add_argument("--stage", action="store_true", help="only gather the pages in build/docs/source")
    parser.add_argument("--serve", action="store_true", help="show the site when it is built")
    parser.add_argument("--port", type=int, default=PORT, help=f"the port for --serve; {PORT} by default")
    parser.add_argument("--all", action="store_true", help="build every page again")
    parser.add_argument("--book", action="store_true", help="write the course as an EPUB and, with a Chromium, as a PDF")
    chosen = parser.parse_args(arguments)
    lacking = [name for name in dict.fromkeys(NEEDED) if importlib.util.find_spec(name) is None]
    if lacking:
        print(f"the documentation needs {', '.join(lacking)}: pip install -e '.[docs]', or make docs", file=sys.stderr)
        return 1
    stage(book=chosen.book)
    status = 0 if chosen.stage else build(["-E", "-a"] if chosen.all else [])
    if status == 0 and chosen.book and not chosen.stage:
        for path in book.write():
            print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    if status == 0 and not chosen.stage:
        print(f"{HTML / 'index.html'}: {len(list(HTML.rglob('*.html')))} pages, "
              f"{sum(p.stat().st_size for p in HTML.rglob('*') if p.is_file()) / 1e6:.1f} MB")
    if chosen.serve and status == 0:
        serve(port=chosen.port)
    return status


if __name__ == "__main__":
    if os.environ.get("MINIGRAD_PURE") != "1":      # generating the pages needs the sources too
        os.environ["MINIGRAD_PURE"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "tools.docs", *sys.argv[1:]])
    sys.exit(main())
