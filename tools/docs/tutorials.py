"""The tutorials and the projects as pages: the scripts of tutorials/, with links to download them under the title.

Sphinx reads and runs the scripts unchanged (jupytext's percent format). The links give the executed notebook and the script.
A file's name begins with the number of the tutorial, 00, 01, 01b; its page has the number before the title.
"""

import re

from tools.docs.paths import ROOT

__all__ = ["PROJECTS", "TUTORIALS", "number", "page", "projects", "scripts", "write"]

TUTORIALS = ROOT / "tutorials"
PROJECTS = TUTORIALS / "projects"
TITLE = re.compile(r"^# # (.+)$", re.MULTILINE)


def scripts():
    """The tutorials, in order."""
    return sorted(TUTORIALS.glob("[0-9][0-9]*_*.py"))


def number(path):
    """The number of a tutorial, as its name and the index have it: "1b" for 01b_tensors.py."""
    return re.sub("^0", "", path.stem.partition("_")[0])


def projects():
    """The projects: complete trainings."""
    return sorted(PROJECTS.glob("*.py"))


def page(path):
    """The text of a tutorial or a project, with the number of a tutorial before its title, and the links under it."""
    text = path.read_text("utf-8")
    before = f"{number(path)}. " if path.parent == TUTORIALS else ""
    links = f"""#
# ```{{div}} downloads
# {{nb-download}}`the executed notebook <{path.stem}.ipynb>` · {{download}}`the script <{path.name}>`
# ```"""
    return TITLE.sub(lambda match: f"# # {before}{match[1]}\n{links}", text, count=1)


def write(pages):
    for path in scripts():
        pages.write(f"tutorials/{path.name}", page(path))
    for path in projects():
        pages.write(f"projects/{path.name}", page(path))
