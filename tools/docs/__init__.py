"""The documentation site: what is written by hand in docs/ and tutorials/, and what is made of the sources.

    python -m tools.docs            build/docs/source -> build/docs/html
    python -m tools.docs --serve    and show it

    docs/, tutorials/ ----+
    minigrad/errors.md ---+-> stage.py -> build/docs/source -> Sphinx, with docs/conf.py -> build/docs/html
    docstrings, Notes ----+

`stage` gathers all pages in one folder, so that nothing that is made lies in the tree; each kind of page that is made has its file:
errors.py, reference.py, notes.py, tutorials.py, differences.py; inventories.py has the links to other sites, which no build asks.
"""
