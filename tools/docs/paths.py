"""Where the sources of the site are, and where its pages go. Every file of this folder may import these names."""

from pathlib import Path

__all__ = ["DOCS", "HTML", "ROOT", "SOURCE"]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "build/docs/source"
HTML = ROOT / "build/docs/html"
