"""Where the sources of the site are, and where its pages go. Every file of this folder may import these names."""

import importlib.util
from pathlib import Path

__all__ = ["DOCS", "HTML", "READMES", "ROOT", "SOURCE", "mathjax"]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "build/docs/source"
HTML = ROOT / "build/docs/html"

# README of the sources -> its page on the site. Links in it to files that are no page become plain text.
READMES = {"minigrad/_core/README.md": "notes/graph.md", "minigrad/ops/README.md": "notes/rules.md",
           "minigrad/kernels/README.md": "notes/kernels.md", "CONTRIBUTING.md": "notes/contributing.md",
           "CHANGELOG.md": "changelog.md"}


def mathjax():
    """MathJax, a single file, in the wheel that contains it."""
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("formulas need sphinx-mathjax-offline, which contains MathJax: pip install -e '.[docs]'")
    return Path(spec.submodule_search_locations[0]) / "static/mathjax/tex-svg.js"
