"""The tutorials and the projects as pages: the scripts of tutorials/, with links to download them under the title.

Sphinx reads and runs the scripts unchanged (jupytext's percent format). The links give the executed notebook and the script.
A file's name begins with the number of the tutorial, 00, 01, 01b; its page has the number before the title.
"""

import re

from tools.docs import reading
from tools.docs.paths import ROOT

__all__ = ["PATHS", "PROJECTS", "TUTORIALS", "number", "page", "paths", "projects", "scripts", "times", "write"]

TUTORIALS = ROOT / "tutorials"
PROJECTS = TUTORIALS / "projects"
TITLE = re.compile(r"^# # (.+)$", re.MULTILINE)

# Three paths through the tutorials, by their numbers.
PATHS = {
    "A first course": "0 1 1b 2 3 4 6",
    "You use PyTorch, and want to understand its errors and its memory": "1 3 4 6 7 9 10 12",
    "You write an engine, or operations of your own": "1 1b 2 5 7 9 10 14 15",
}


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


def title(path):
    """The title of a tutorial."""
    return TITLE.search(path.read_text("utf-8"))[1]


def times():
    """The table of all tutorials: minutes of the core, minutes with all that is folded, lines of code."""
    rows = ["| tutorial | core, minutes | with the deeper parts | lines of code |", "|---|--:|--:|--:|"]
    for path in scripts():
        core, whole = reading.time(path)
        rows.append(f"| [{number(path)}. {title(path)}]({path.name}) | {core.minutes:.0f} | {whole.minutes:.0f} | {whole.lines} |")
    return "\n".join(rows) + "\n"


def paths():
    """The list of PATHS, each with the minutes of its cores."""
    found = {number(path): path for path in scripts()}
    lines = []
    for name, numbers in PATHS.items():
        parts = [found[n] for n in numbers.split()]
        minutes = sum([reading.time(path)[0].minutes for path in parts])
        links = ", ".join([f"[{number(path)}]({path.name})" for path in parts])
        lines.append(f"* **{name}**: {links}. {round(minutes / 10) * 10} minutes of reading.\n")
    return "".join(lines)


def write(pages):
    pages.write("tutorials/_made/paths.md", paths())
    pages.write("tutorials/_made/times.md", times())
    for path in scripts():
        pages.write(f"tutorials/{path.name}", page(path))
    for path in projects():
        pages.write(f"projects/{path.name}", page(path))
