"""A Sphinx extension: the search index of a second build is complete.

A build reads the index of the build before it, and replaces the parts of the pages that it writes. But Sphinx (8.1 to 9.0 at least)
does not read back the index entries, the names that a search finds directly. So a second build lost those of each page that had not
changed: 150 of 500 kB. Here they are taken from the old file, before the new one is written.
"""

import json

__all__ = ["entries_of", "setup"]


def entries_of(text):
    """The index entries in a searchindex.js: page -> [(entry, anchor, "main" or "")], as Sphinx keeps them."""
    frozen = json.loads(text[text.index("(") + 1:text.rindex(")")])
    found: dict[str, list[tuple[str, str, str]]] = {}
    for entry, places in frozen.get("indexentries", {}).items():
        for number, anchor, main in places:
            found.setdefault(frozen["docnames"][number], []).append((entry, anchor, "main" if main else ""))
    return found


def restore(app):
    """Give the entries of the last build to the pages that this build does not write. The old file is still there."""
    indexer = getattr(app.builder, "indexer", None)
    old = app.outdir / "searchindex.js"
    if indexer is not None and old.exists():
        for page, entries in entries_of(old.read_text("utf-8")).items():
            if page in indexer._titles:
                indexer._index_entries.setdefault(page, entries)
    return ()       # no more pages


def setup(app):
    app.connect("html-collect-pages", restore)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
