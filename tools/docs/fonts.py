"""The fonts of drawings and formulas: files of packages of PyPI, cut to the characters that a page shows."""

import importlib.util
import io
from pathlib import Path
from typing import Any

__all__ = ["cut", "packaged"]


def packaged(package, name, missing):
    """The path of a file of a package. If the package is not installed, the program ends with the message `missing`."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{missing}: pip install -e '.[docs]'")
    return Path(spec.submodule_search_locations[0]) / name


def cut(file, characters, name_ids=(), dropped=(), change=lambda font: None):
    """A font with the glyphs of some characters: a WOFF file. The same arguments give the same bytes.

    Args:
        file (Path): the whole font.
        characters (str): what it needs glyphs for.
        name_ids (sequence of int, optional): the entries of its table of names that stay.
        dropped (sequence of str, optional): tables that go, besides those that fontTools drops.
        change (Callable, optional): is called with the cut font before it is written.
    """
    from fontTools import subset

    options = subset.Options(flavor="woff", layout_features=[], hinting=False, name_IDs=list(name_ids), notdef_outline=True)
    options.drop_tables += dropped
    found = subset.load_font(str(file), options)
    head: Any = found["head"]
    head.modified, found.recalcTimestamp = head.created, False
    cutter = subset.Subsetter(options)
    cutter.populate(text=characters)
    cutter.subset(found)
    change(found)
    target = io.BytesIO()
    found.flavor = "woff"
    found.save(target)
    return target.getvalue()
