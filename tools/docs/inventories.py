"""What other sites document and we link to: docs/links.txt, made into inventories, so that no build has to fetch any.

    python  py:exception  RuntimeError  library/exceptions.html#$

A line has the site, the role, the name, and the page; ``$`` stands for the name. Sphinx reads the result as it reads any site's
``objects.inv``. `Sphinx <https://www.sphinx-doc.org/en/master/usage/extensions/intersphinx.html>`_ would fetch these by itself.
"""

import zlib

from tools.docs.stage import DOCS

__all__ = ["SITES", "links", "write"]

SITES = {"python": "https://docs.python.org/3", "torch": "https://docs.pytorch.org/docs/stable"}


def links():
    """(site, role, name, page) of each line."""
    lines = [line.split() for line in (DOCS / "links.txt").read_text("utf-8").splitlines() if line.strip() and line[0] != "#"]
    return [tuple(line) for line in lines]


def write(folder):
    """One inventory per site."""
    folder.mkdir(parents=True, exist_ok=True)
    for site in SITES:
        entries = "".join([f"{name} {role} 1 {page} -\n" for where, role, name, page in links() if where == site])
        head = (f"# Sphinx inventory version 2\n# Project: {site}\n# Version: \n"
                "# The remainder of this file is compressed using zlib.\n")
        (folder / f"{site}.inv").write_bytes(head.encode() + zlib.compress(entries.encode(), 9))
