"""The pages of docs/contracts: each contract gets an anchor and the names of the tests that cite it.

A contract is a list item that begins with its number: ``- A-03 ...``. A test cites it with the name of the page: ``engine/A-03``.
"""

import ast
import re
from collections import defaultdict

from tools.docs.paths import DOCS, ROOT

__all__ = ["CITATION", "citations", "contracts", "in_scope", "page", "write"]

FOLDER = DOCS / "contracts"
ITEM = re.compile(r"^- ([A-Z]{1,2}-\d+[a-z]?)\b(.*(?:\n(?![-#\n]).*)*)", re.M)
CITATION = re.compile(r"\b([a-z_]+/[A-Z]{1,2}-\d+[a-z]?)\b")
SHOWN = 3       # how many tests are named beside a contract


def contracts():
    """The text of every contract by its name, such as ``engine/A-03``."""
    return {f"{path.stem}/{number}": " ".join(text.split())
            for path in sorted(FOLDER.glob("*.md")) for number, text in ITEM.findall(path.read_text("utf-8"))}


def in_scope(text):
    """Whether a contract needs a test: it is neither out of scope nor optional."""
    return "[skip]" not in text and "[opt]" not in text


def citations():
    """The tests that cite each contract, as pairs (file, innermost function or class around the citation, or None)."""
    found = defaultdict(dict)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = path.read_text("utf-8")
        if not CITATION.search(text):
            continue
        spans = [(min([node.lineno, *[d.lineno for d in node.decorator_list]]), node.end_lineno or node.lineno, node.name)
                 for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        for number, line in enumerate(text.splitlines(), 1):
            for name in CITATION.findall(line):
                around = [span for span in spans if span[0] <= number <= span[1]]
                found[name][path.relative_to(ROOT).as_posix(), max(around)[2] if around else None] = True
    return {name: list(tests) for name, tests in found.items()}


def page(stem, text, cited):
    """The page for one file: an anchor before each contract, and its tests after it."""
    if len(re.findall(r"^# ", text, re.M)) > 1:     # several titles: the later ones become parts below the first
        title, rest = text.split("\n", 1)
        text = title + "\n" + re.sub(r"^(#+ )", r"#\1", rest, flags=re.M)

    def item(match):
        number, body = match.groups()
        tests = cited.get(f"{stem}/{number}", [])
        named = [f"`{file}`" + (f": `{function}`" if function else "") for file, function in tests[:SHOWN]]
        more = f", and {len(tests) - SHOWN} more" if len(tests) > SHOWN else ""
        tested = f" *Tested by {'; '.join(named)}{more}.*" if named else " *No test yet.*" if in_scope(body) else ""
        return f'- <span id="{number}"></span>**{number}**{body.rstrip()}{tested}'
    return ITEM.sub(item, text)


def write(pages):
    """Add the pages of all contracts to the site."""
    cited = citations()
    for path in sorted(FOLDER.glob("*.md")):
        pages.write(f"contracts/{path.name}", page(path.stem, path.read_text("utf-8"), cited))
