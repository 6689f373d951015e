"""The tutorials and the projects as pages: the scripts of tutorials/, with their hints folded, and links to download them.

Sphinx reads and runs the scripts (jupytext's percent format). A file's name begins with the number of the tutorial (00, 01, 01b),
which its page has before the title. The links give the notebook and the script for students, without solutions.

Read next: editions.py.
"""

import ast
import re

from tools.docs import reading
from tools.docs.paths import ROOT

__all__ = ["PATHS", "PROJECTS", "TUTORIALS", "number", "page", "paths", "projects", "scripts", "times", "write"]

TUTORIALS = ROOT / "tutorials"
PROJECTS = TUTORIALS / "projects"
TITLE = re.compile(r"^# # (.+)$", re.MULTILINE)
HELP = re.compile(r'^# %% tags=\["help"\]\n(.*?)(?=^# %%)', re.MULTILINE | re.DOTALL)

# Three paths through the tutorials, by their numbers.
PATHS = {
    "A first course": "0 1 1b 2 3 4 6",
    "You use PyTorch, and want to understand its errors and its memory": "1 3 4 6 7 9 10 12",
    "You write an engine, or operations of your own": "1 1b 2 5 7 9 10 13 14 15 18 19 20",
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
    """The text of a tutorial or a project: its number before the title, links under it. A cell with hints is a row of folds."""
    text = path.read_text("utf-8")
    before = f"{number(path)}. " if path.parent == TUTORIALS else ""
    links = f"""#
# ```{{div}} downloads
# {{download}}`the notebook <student/{path.stem}.ipynb>` · {{download}}`the script <student/{path.name}>`, without the solutions
# ```"""
    return TITLE.sub(lambda match: f"# # {before}{match[1]}\n{links}", HELP.sub(folds, text), count=1)


def folds(match):
    """The hints of a cell as Markdown."""
    found = [node.value for node in ast.parse(match[1]).body
             if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute) and node.targets[0].attr == "hints"]
    hints = ast.literal_eval(found[0])
    lines = ["%% [markdown]"]
    for i, hint in enumerate(hints, 1):
        lines += [f"<details><summary>Hint {i}</summary>", "", hint, ""]
    lines += ["</details>"] * len(hints)
    return "".join([f"# {line}".rstrip() + "\n" for line in lines]) + "\n"


def title(path):
    """The title of a tutorial."""
    match = TITLE.search(path.read_text("utf-8"))
    assert match, f"{path.name} begins with a title: # # ..."
    return match[1]


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
    for folder, found in (("tutorials", scripts()), ("projects", projects())):
        for path in found:
            pages.write(f"{folder}/{path.name}", page(path))
