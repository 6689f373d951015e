"""Where the sources of the site are, and where its pages go. Every file of this folder may import these names."""

from pathlib import Path

__all__ = ["DOCS", "HTML", "READMES", "ROOT", "SOURCE"]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "build/docs/source"
HTML = ROOT / "build/docs/html"

# README of the sources -> its page on the site. Links in it to files that are no page become plain text.
READMES = {"minigrad/_core/README.md": "notes/graph.md", "minigrad/ops/README.md": "notes/rules.md",
           "minigrad/kernels/README.md": "notes/kernels.md", "CONTRIBUTING.md": "notes/contributing.md",
           "CHANGELOG.md": "changelog.md"}
