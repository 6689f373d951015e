"""Sentences that only a second reading yields do not come back: the patterns of CONTRIBUTING.md, in code, errors and pages."""

import re
from pathlib import Path

import pytest

import minigrad as mg

ROOT = Path(mg.__file__).parent.parent
PATTERNS = {
    r"\banew\b": "again; regenerate",
    r"\bshall\b": "should, or will",
    r"\bthe (?:former|latter)\b": "name the thing",
    r"\bin place of (?:an?|it|x|y|that|this)\b": "instead of: 'in place' is for writes",
    r"\bof the user's\b": "the user's",
    r"\bwhoever\b": "name who: a node, a program, you",
    r"as nearly as one can": "how closely?",
    r", if there is one, be\b": "if `x` is given, ...",
}
FILES = [path for folder in ("minigrad", "docs", "tutorials") for path in sorted((ROOT / folder).rglob("*"))
         if path.suffix in (".py", ".md", ".pyx", ".pxd", ".h")]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_pattern(pattern):
    found = [f"{path.relative_to(ROOT)}:{number}: {line.strip()}" for path in FILES
             for number, line in enumerate(path.read_text("utf-8").splitlines(), 1) if re.search(pattern, line)]
    assert found == [], f"write instead: {PATTERNS[pattern]}"


def test_the_patterns_would_be_found():
    assert len(FILES) > 300
    for sentence in ("made anew", "it shall run", "that of the latter", "in place of a tensor", "hooks of the user's", "whoever asks"):
        assert any(re.search(pattern, sentence) for pattern in PATTERNS)
