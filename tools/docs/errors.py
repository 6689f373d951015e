"""A page for each error code: the text of the catalogue, its example, and the message that the example raised when it was run.

A page written by hand in docs/errors/ names its codes in its front matter, ``codes: MG-E101``; the pages of these codes link to it.
The list of all codes is errors/codes.md.
"""

import builtins
import re

from minigrad.errors import MinigradError, catalogue
from minigrad.testing._catalogue import run
from tools.docs.paths import DOCS

__all__ = ["AREAS", "example", "longer", "page", "write"]

AREAS = {"1": "Graph and engine", "2": "Shapes, dtypes, derivatives, operators", "3": "Values, indices and data",
         "4": "Modules, optimisers and files", "5": "minigrad itself", "6": "Several ranks"}


def longer():
    """The pages written by hand about each code: code -> [(page, title)]."""
    found: dict[str, list[tuple[str, str]]] = {}
    for path in sorted((DOCS / "errors").glob("*.md")):
        text = path.read_text("utf-8")
        codes = re.search(r"^codes: (.+)$", text, re.MULTILINE)
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        for code in codes[1].split(", ") if codes else []:
            found.setdefault(code, []).append((path.stem, title[1] if title else path.stem))
    return found


def example(code, steps):
    """A block of code that was run, in Markdown: the code, the text that it printed, the error that it raised."""
    text, shown = [], []

    def flush():
        lines = "\n".join(shown).strip("\n")
        if lines:
            text.append(f"```python\n{lines}\n```")
        shown.clear()

    for step in steps:
        assert step.marked or step.error is None, f"{code}: {step.source}\n{step.error}"
        shown.append(step.source)
        said = step.printed
        if step.error is not None:
            assert isinstance(step.error, MinigradError) and step.error.code == code, f"{code} has raised {step.error!r}"
            said += f"{type(step.error).__module__}.{type(step.error).__qualname__}: {step.error}"
        elif step.value is not None and step is steps[-1]:
            said += repr(step.value)
        if step.error is not None or said.strip():
            flush()
            kind = "raised" if step.error is not None else "printed"
            text.append(f"```{{code-block}} text\n:class: {kind}\n\n{plain(said).strip()}\n```")
    flush()
    return "\n\n".join(text)


def plain(text):
    """`text` without memory addresses, so that the same sources give the same page."""
    return re.sub(r"0x[0-9a-f]{6,}", "0x...", text)


def page(code, more=()):
    """The page for a code. `more` has the (page, title) of each longer page about it."""
    title, _ = catalogue()[code]
    lines = [f"---\norphan: true\n---\n\n# {code}  {title}\n"]        # see write()
    raised = []
    for part in run(code):
        if isinstance(part, str):
            lines.append(prose(part) + "\n")
        else:
            raised += [step for step in part if step.error is not None]
            lines.append(example(code, part) + "\n")
    assert len(raised) == 1, f"the example of {code} must raise once; it raised {len(raised)} times"
    kinds = [c.__name__ for c in type(raised[0].error).__mro__ if getattr(builtins, c.__name__, None) is c]
    lines.insert(1, f"*{type(raised[0].error).__name__}, which is a* {{py:exc}}`{kinds[0]}`\n")
    if more:
        listed = "\n".join([f"- {{doc}}`{name}`" for name, _ in more])
        lines.append(f"```{{admonition}} At length\n:class: seealso\n\n{listed}\n```\n")
    lines.append(f"The same text without a browser: `mg.explain(\"{code}\")`. The others: [all error codes](codes.md).\n")
    return "\n".join(lines)


def prose(text):
    """Text of the catalogue as MyST: codes become links."""
    return re.sub(r"(?<![`\w-])(MG-E\d{3})\b", r"[\1](\1.md)", text)


def write(pages):
    """Add the page of every code, and a list of links to them.

    The list is no table of contents: each page of the site shows the whole tree of contents, and with 147 codes in it the tree took
    two thirds of the time of a build.
    """
    more = longer()
    unknown = set(more) - set(catalogue())
    assert not unknown, f"pages about codes that do not exist: {unknown}"
    for code in catalogue():
        pages.write(f"errors/{code}.md", page(code, more.get(code, ())))
    lines = ["# All error codes\n", "Every error that minigrad raises has a code, at the end of its message. Each code has a page, "
             "whose example was run when the site was built, so that the message is the real one.\n"]
    for area, name in AREAS.items():
        codes = [code for code in catalogue() if code[4] == area]
        lines.append(f"## {name}\n\n" + "\n".join([f"* [{code}  {catalogue()[code][0]}]({code}.md)" for code in codes]) + "\n")
    pages.write("errors/codes.md", "\n".join(lines))
