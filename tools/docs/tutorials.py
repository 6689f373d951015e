"""The tutorials and the projects as pages: the scripts of tutorials/, with links to download them under the title.

Sphinx reads and runs the scripts unchanged (jupytext's percent format). The links give the executed notebook and the script.
"""

import re

from tools.docs.paths import ROOT

__all__ = ["PROJECTS", "TUTORIALS", "page", "projects", "scripts", "write"]

TUTORIALS = ROOT / "tutorials"
PROJECTS = TUTORIALS / "projects"
TITLE = re.compile(r"^# # (.+)$", re.MULTILINE)


def scripts():
    """The tutorials, in order."""
    return sorted(TUTORIALS.glob("[0-9][0-9]_*.py"))


def projects():
    """The projects: complete trainings."""
    return sorted(PROJECTS.glob("*.py"))


def title(text):
    match = TITLE.search(text)
    assert match, "a tutorial begins with a title: # # ..."
    return match[1]


def page(path):
    """The text of a tutorial, with the links under its title."""
    text = path.read_text("utf-8")
    links = f"""#
# ```{{div}} downloads
# {{nb-download}}`the executed notebook <{path.stem}.ipynb>` · {{download}}`the script <{path.name}>`
# ```"""
    return TITLE.sub(lambda match: f"{match[0]}\n{links}", text, count=1)


def write(pages):
    for path in scripts():
        pages.write(f"tutorials/{path.name}", page(path))
    for path in projects():
        pages.write(f"projects/{path.name}", page(path))
