"""The text of a tutorial as plain Markdown, for notebooks and scripts that leave the site.

    {doc}`/errors/grad-is-none`         [A gradient is None](https://.../errors/grad-is-none.html) if the site has an address,
                                        A gradient is None if it has none
    [tutorial 3](03_leaves.py)          [tutorial 3](https://.../tutorials/03_leaves.html), or: tutorial 3
    ```{note}                           what is between the fences

What stands in code stays as it is.
"""

import posixpath
import re

from tools.docs import repository
from tools.docs.paths import ROOT

__all__ = ["plain"]

# A role, a span of code, or a link to a file. The leftmost one counts, so a span of code hides what looks like a link in it.
INLINE = re.compile(r"\{(?P<role>[\w:-]+)\}`(?P<content>[^`]+)`|(?P<code>`+)[^`]+(?P=code)"
                    r"|\[(?P<label>[^\]]+)\]\((?P<target>(?!\w+:|#)[\w./-]+\.(?:py|md|ipynb|html))(?P<anchor>#[\w-]+)?\)")
FENCE = re.compile(r"(?P<mark>`{3,}|:{3,})(?:\{(?P<directive>[\w:-]+)\})?")


def plain(text, folder, site):
    """The Markdown `text` of a page in `folder` of the site, for readers elsewhere. `site` is the address of the site, or ""."""
    done, block, fence, directive = [], [], "", False

    def flush():
        done.append(INLINE.sub(lambda match: inline(match, folder, site), "\n".join(block)))
        block.clear()

    for line in text.split("\n"):
        mark = FENCE.match(line)
        if fence and mark and line.strip() == fence:
            if not directive:
                done.append(line)
            fence = ""
        elif fence:
            if not (directive and re.match(r":\w+:", line)):        # an option of the directive
                done.append(line)
        elif mark:
            if block:
                flush()
            fence, directive = mark["mark"], mark["directive"] is not None
            if not directive:
                done.append(line)
        else:
            block.append(line)
    if block:
        flush()
    return "\n".join(done)


def inline(match, folder, site):
    """What a role or a link becomes."""
    if match["code"]:
        return match[0]
    if match["label"]:
        return link(match["label"], posixpath.splitext(match["target"])[0], folder, site, match["anchor"])
    title, _, target = match["content"].rstrip(">").rpartition("<")
    if match["role"] != "doc":
        return title.strip() or target
    return link(title.strip() or title_of(page(target, folder)), target, folder, site)


def page(target, folder):
    """The page that `target` means on a page of `folder`, from the root of the site."""
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")


def link(title, target, folder, site, anchor=None):
    return f"[{title}]({site}/{page(target, folder)}.html{anchor or ''})" if site else title


def title_of(name):
    """The title of a page that is written by hand."""
    path = repository.source(name)
    heading = r"^# # (.+)$" if path.endswith(".py") else r"^# (.+)$"
    match = re.search(heading, (ROOT / path).read_text("utf-8"), re.MULTILINE) if path else None
    if match is None:
        raise ValueError(f"no page {name} with a title: write the title into the role, {{doc}}`title <{name}>`")
    return match[1]
