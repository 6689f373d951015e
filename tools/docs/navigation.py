"""A Sphinx extension: the navigation beside each page is computed quickly, and is the same.

The theme shows the titles of all pages beside each page. Sphinx (8.1 to 9.0 at least) copies for it the whole contents of all
pages, with each section and each documented name, and then throws away everything but the titles: a second for each page, most
of a build. Here the contents are cut down to titles once, before they are copied. Pages of a folder that are in no contents,
such as those with the sources of a module, share one tree: nothing in it is marked, and its links are the same.
"""

import functools
import posixpath

from docutils import nodes
from sphinx import addnodes

__all__ = ["setup", "titles"]


def titles(toc):
    """The contents of one page with nothing but its title, and the lists of pages under it."""
    toc = toc.deepcopy()
    for entry in toc:
        if isinstance(entry, nodes.list_item) and len(entry) > 1:       # the title, and what is under it
            below = list(entry.findall(addnodes.toctree))
            entry[1:] = [nodes.bullet_list("", *below)] if below else []
    return toc


class Navigation:
    """Stands between the theme and Sphinx's function ``toctree``."""

    def __init__(self, env):
        self.env = env
        self.titles = {page: titles(toc) for page, toc in env.tocs.items()}
        self.shared = {}

    def tree(self, page, toctree, **options):
        """What ``toctree(**options)`` returns for a page."""
        if not options.get("titles_only"):
            return toctree(**options)
        key = (posixpath.dirname(page), *sorted(options.items()))
        if page in self.titles or key not in self.shared:
            whole, self.env.tocs = self.env.tocs, self.titles
            try:
                found = toctree(**options)
            finally:
                self.env.tocs = whole
            if page in self.titles:
                return found
            self.shared[key] = found
        return self.shared[key]


def setup(app):
    made = []

    def quick(app, pagename, templatename, context, doctree):
        if not made:
            made.append(Navigation(app.env))
        context["toctree"] = functools.partial(made[0].tree, pagename, context["toctree"])

    app.connect("html-page-context", quick, priority=100)       # before the theme asks
    return {"parallel_read_safe": True, "parallel_write_safe": True}
