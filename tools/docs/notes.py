"""All Notes of the sources on one page. A Note is an explanation that several places point to."""

import ast
import re
import textwrap

from tools.docs.paths import ROOT

__all__ = ["notes", "write"]

HEADING = re.compile(r"^Note \[(.+)\]$")
HEAD = """# The Notes in the sources

An explanation that several places of the sources need is written once and has a name. The code points to it:
`# See Note [Adding in place]`. This page has all Notes, in the order of the files.

"""


def notes():
    """(file, title, text) for each Note in the docstring of a module: a line ``Note [title]``, and the indented text below it."""
    found = []
    for path in sorted((ROOT / "minigrad").rglob("*.py")):
        lines = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").splitlines()
        for i, line in enumerate(lines):
            match = HEADING.match(line)
            if match:
                body = []
                for following in lines[i + 1:]:
                    if following.strip() and not following.startswith(" "):
                        break
                    body.append(following)
                found.append((path.relative_to(ROOT).as_posix(), match[1], textwrap.dedent("\n".join(body)).strip()))
    return found


def markdown(text):
    """Text of a docstring as MyST: indented pictures become blocks of code."""
    parts = []
    for part in re.split(r"\n\s*\n", text):
        parts.append(f"```text\n{textwrap.dedent(part)}\n```" if part.startswith("    ") else re.sub(r"``([^`]+)``", r"`\1`", part))
    return "\n\n".join(parts)


def write(pages):
    text = [HEAD]
    for file, title, body in notes():
        text.append(f"## {title}\n\n*`{file}`*\n\n{markdown(body)}\n")
    pages.write("notes/notes.md", "\n".join(text))
