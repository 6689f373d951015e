"""Links to other sites: docs/links.txt is turned into inventories, so that no build has to fetch them.

    python  py:exception  RuntimeError  library/exceptions.html#$

A line has the site, the role, the name, and the page; ``$`` stands for the name. Sphinx reads the result like the ``objects.inv``
of any site, which `intersphinx <https://www.sphinx-doc.org/en/master/usage/extensions/intersphinx.html>`_ would otherwise fetch.
"""

import zlib

from tools.docs.paths import DOCS

__all__ = ["SITES", "links", "write"]

SITES = {"python": "https://docs.python.org/3", "torch": "https://docs.pytorch.org/docs/stable"}


def links():
    """(site, role, name, page) for each line of docs/links.txt."""
    lines = [line.split() for line in (DOCS / "links.txt").read_text("utf-8").splitlines() if line.strip() and line[0] != "#"]
    return [tuple(line) for line in lines]


def write(folder):
    """Write one inventory for each site into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for site in SITES:
        entries = "".join([f"{name} {role} 1 {page} -\n" for where, role, name, page in links() if where == site])
        head = (f"# Sphinx inventory version 2\n# Project: {site}\n# Version: \n"
                "# The remainder of this file is compressed using zlib.\n")
        (folder / f"{site}.inv").write_bytes(head.encode() + zlib.compress(entries.encode(), 9))
