"""The map from PyTorch to minigrad, docs/map.md, with links: to the reference, to a page with the code, and to PyTorch's sources.

    `minigrad/autograd/graph.py`: `saved_tensors_hooks`      public: its entry in the reference
    `minigrad/_core/graph/node.py`: `Node`                   private: the page notes/code, which has the text of each such name
    `torch/csrc/autograd/node.h`: `Node`                     the file on GitHub, at the tag of the release that we compare with
"""

import re

from minigrad.utils.source import source_of
from tools.docs.paths import DOCS

__all__ = ["code", "linked", "write"]

OURS = re.compile(r"`minigrad/([\w/]+\.py)`(?:: `([\w.]+)`)?")
THEIRS = re.compile(r"`((?:torch|c10|tools|aten)/[\w/]+\.(?:h|py|yaml))`")
GITHUB = "https://github.com/pytorch/pytorch/blob/v2.13.0/"
HEAD = """---
orphan: true
nosearch: true
---

# The code that the map names

The functions and classes of minigrad that the [map](../map.md) names and the reference does not have, as they are in the sources.

"""


def label(path, name):
    """The anchor of a name on the page of code."""
    return re.sub(r"\W+|_+", "-", f"code {path.removesuffix('.py')} {name}").strip("-").lower()


def public(path, name):
    """Whether the reference has a name: no part of its path is private."""
    return bool(name) and not path.startswith("ops/") and not any(part.startswith("_") for part in [*path.split("/"), name])


def link(match):
    """A place of minigrad with its link: on the name, or on the path of a whole file."""
    path, name = match.groups()
    place = f"minigrad/{path}"
    if public(path, name):
        return f"`{place}`: {{py:obj}}`{name} <{place.removesuffix('.py').replace('/', '.')}.{name}>`"
    return f"`{place}`: [`{name}`](#{label(path, name)})" if name else f"[`{place}`](#{label(path, '')})"


def linked(text):
    """The map with links in its tables."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if line.startswith("| "):
            lines[i] = THEIRS.sub(rf"[`\1`]({GITHUB}\1)", OURS.sub(link, line))
    return "\n".join(lines) + "\n"


def code(text):
    """The page with the code of all names of the map that the reference does not have, each once."""
    places = dict.fromkeys([place for line in text.splitlines() if line.startswith("| ") for place in OURS.findall(line)])
    found = [HEAD]
    for path, name in sorted([place for place in places if not public(*place)]):
        source = source_of(path, name or None)
        found.append(f"({label(path, name)})=\n\n## `{name or path}`\n\n`minigrad/{path}`, line {source.line}\n\n"
                     f"`````python\n{source.text}\n`````\n")
    return "\n".join(found)


def write(pages):
    """Write the map, and the page with the code."""
    text = (DOCS / "map.md").read_text("utf-8")
    pages.write("map.md", linked(text))
    pages.write("notes/code.md", code(text))
