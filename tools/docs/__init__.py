"""The documentation site: pages written by hand in docs/ and tutorials/, and pages generated from the sources.

    python -m tools.docs            build/docs/source -> build/docs/html
    python -m tools.docs --serve    builds the site, and shows it with a Python behind each page: serve.py

    docs/, tutorials/ ----+
    minigrad/errors.md ---+-> stage.py -> build/docs/source -> Sphinx, with docs/conf.py -> build/docs/html
    docstrings, Notes ----+

`stage` gathers all pages in one folder, so the source tree has no generated pages. Each kind of generated page has its file:
contracts.py, differences.py, errors.py, notes.py, reference.py, tutorials.py. inventories.py has the links to other sites, so that
no build needs the network.
"""
