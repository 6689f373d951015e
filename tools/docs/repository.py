"""Where the repository is: in the texts of the site, and behind its pencil, "edit this page".

MINIGRAD_REPOSITORY has the address, so that the site of a fork shows the fork's: ``https://github.com/you/minigrad``, or with a
branch ``https://github.com/you/minigrad/tree/course``. The default is Repository in pyproject.toml's ``[project.urls]``. Without
both, the texts have no links, and there is no pencil.

MINIGRAD_SITE has the address of the site itself, and Documentation in ``[project.urls]`` is the default: the notebooks that a page
offers link to other pages there.
"""

import os
import re
import tomllib
from functools import cache

from tools.docs.paths import DOCS, READMES, ROOT

__all__ = ["address", "edit", "linked", "site", "source"]

CLONE = re.compile(r"\ba clone of (?:minigrad|the repository)\b|(?:(?<=\b[Ii]n )|(?<=\b[Ff]rom ))a clone\b(?! of )")


@cache
def urls(pyproject):
    """``[project.urls]`` in the text of a pyproject.toml."""
    return tomllib.loads(pyproject)["project"].get("urls", {})


def known(variable, name):
    """An address from the environment, or else from pyproject.toml; "" without both."""
    found = os.environ.get(variable)
    return urls((ROOT / "pyproject.toml").read_text("utf-8")).get(name, "") if found is None else found


def site():
    """The address of the site, without a slash at its end; "" if none is known."""
    found = known("MINIGRAD_SITE", "Documentation").rstrip("/")
    if found and not re.fullmatch(r"https?://[\w.:-]+(/[\w.~-]+)*", found):
        raise SystemExit(f"MINIGRAD_SITE is {found!r}, expected an address as https://you.github.io/minigrad")
    return found


def address():
    """The address of the repository and its branch; ("", "") if none is known."""
    found = known("MINIGRAD_REPOSITORY", "Repository")
    found, _, branch = found.rstrip("/").removesuffix(".git").partition("/-/tree/" if "/-/tree/" in found else "/tree/")
    if found and not re.fullmatch(r"https://[\w.:-]+(/[\w.~-]+){2,}", found):
        raise SystemExit(f"MINIGRAD_REPOSITORY is {found!r}, expected an address as https://github.com/you/minigrad")
    return (found, branch or "main") if found else ("", "")


def edit(path):
    """The address at which a file of the repository is edited; empty if no repository is known."""
    place, branch = address()
    if not place:
        return ""
    host = place.split("/")[2]
    step = "-/edit" if "gitlab" in host else "_edit" if host == "codeberg.org" else "edit"
    return f"{place}/{step}/{branch}/{path}"


def source(page):
    """The file from which a page of the site is made; empty if it is generated from more than a file."""
    places = {place.removesuffix(".md"): name for name, place in READMES.items()}
    if page in places:
        return places[page]
    if re.fullmatch(r"errors/MG-E\d+", page):
        return "minigrad/errors.md"
    written = [DOCS / f"{page}.md", ROOT / f"{page}.py", ROOT / f"tutorials/{page}.py"]
    return next((path.relative_to(ROOT).as_posix() for path in written if path.exists()), "")


def linked(text):
    """A page whose first "in a clone" or "from a clone" is a link to the repository. Headings, code and links stay as they are."""
    place, _ = address()
    lines = text.splitlines(keepends=True) if place else []
    fence = ""
    for i, line in enumerate(lines):
        mark = re.match("`{3,}", line)
        if mark:
            fence = "" if fence and line.startswith(fence) else fence or mark[0]
        elif not fence and not line.startswith("#"):
            parts = re.split(r"(`[^`]*`|\[[^\]]*\]\([^)]*\))", line)
            for j in range(0, len(parts), 2):
                parts[j], found = CLONE.subn(lambda match: f"[{match[0]}]({place})", parts[j], count=1)
                if found:
                    lines[i] = "".join(parts)
                    return "".join(lines)
    return text
