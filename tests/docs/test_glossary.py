"""The glossary: it has each word once, and the names in its last column exist."""

import ast
import re
from pathlib import Path

import minigrad as mg

PACKAGE = Path(mg.__file__).parent
TEXT = (PACKAGE.parent / "docs/notes/glossary.md").read_text("utf-8")
ROWS = re.findall(r"^\| (\*\*.+?) \| (.+?) \| (.*?) ?\|$", TEXT, re.M)


def names_of(path):
    """The functions, classes, methods and module variables of a file, and the fields that its ``.pxd`` declares."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
    pxd = path.with_suffix(".pxd")
    return found | set(re.findall(r"\b(\w+)$", pxd.read_text("utf-8") if pxd.exists() else "", re.M))


def test_each_word_stands_there_once():
    words = [word for cell, _, _ in ROWS for word in re.findall(r"\*\*(.+?)\*\*", cell)]
    assert len(words) > 50 and len(words) == len(set(words))


def test_what_it_names_is_there():
    named = [pair for _, _, place in ROWS for pair in re.findall(r"`([\w/]+\.py)`(?:: `([\w.]+)`)?", place)]
    assert len(named) > 30
    for file, name in named:
        path = PACKAGE.parent / file if file.startswith("minigrad/") else PACKAGE / "_core" / file
        assert path.exists(), file
        assert not name or name.rpartition(".")[2] in names_of(path), f"{file}: {name}"


def test_the_tutorial_teaches_the_word():
    """Where a row names a tutorial, a word of the row is bold there."""
    taught = [(cell, name) for cell, _, place in ROWS for name in re.findall(r"\(\.\./tutorials/(\w+\.py)\)", place)]
    assert len(taught) >= 8
    for cell, name in taught:
        text = (PACKAGE.parent / "tutorials" / name).read_text("utf-8")
        assert any(word in text for word in re.findall(r"\*\*.+?\*\*", cell)), f"{cell} in {name}"


def test_sentences_are_short():
    """Fewer than 25 words each, as CONTRIBUTING.md asks."""
    for _, meaning, _ in ROWS:
        for sentence in re.split(r"(?<=[.;:]) ", meaning):
            assert len(sentence.split()) < 25, sentence
