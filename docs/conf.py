"""How Sphinx builds the site: ``make docs``. tools/docs gathers the pages first; here is how they look, run and link.

Built interpreted (MINIGRAD_PURE=1), so that signatures and sources show. Nothing is fetched: formulas are
MathML, their font lies in build/docs/static, and the inventories of other sites are made of links.txt.
"""

import contextlib
import copy
import importlib
import os
import pkgutil
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build/docs"
sys.path.insert(0, str(ROOT))
if os.environ.get("MINIGRAD_PURE") != "1":
    raise SystemExit("the site is built interpreted, where signatures and sources show: make docs")

from docutils import nodes  # noqa: E402
from myst_nb.core import render  # noqa: E402
from sphinx import addnodes  # noqa: E402
from sphinx.util.docutils import SphinxRole  # noqa: E402

import minigrad as mg  # noqa: E402
from minigrad.distributed import _launch  # noqa: E402
from tools.docs import glossary, picture, reading, repository  # noqa: E402
from tools.docs.inventories import SITES  # noqa: E402

if _launch.mpiexec() is None or not _launch.is_mpi_available():
    raise SystemExit(f"pages run programs on several ranks, which needs MPI: {_launch.INSTALL}")

project = "minigrad"
version = release = mg.__version__
copyright = "the minigrad authors, MIT license"
language = "en"
html_title = "minigrad"
html_theme = "furo"
html_static_path = ["_static", str(BUILD / "static")]
html_css_files = ["formulas.css", "minigrad.css"]
html_js_files = ["minigrad.js"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": False}       # the arrow keys belong to the step-throughs
if repository.address()[0]:
    html_theme_options["footer_icons"] = [{"name": "Repository", "url": repository.address()[0], "html": "Repository", "class": ""}]
pygments_style, pygments_dark_style = "default", "github-dark"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx.ext.intersphinx",
              "sphinx_design", "sphinx_copybutton", "tools.docs.formulas", "tools.docs.search_index", "tools.docs.navigation"]
exclude_patterns = ["_made", "tutorials/_made", "*/student"]       # student: downloads
html_math_renderer = "mathml"
myst_update_mathjax = False

# Tutorials are scripts in jupytext's percent format; pages with code are Markdown. Both are run, and an error fails the build.
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "force"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_code_prompt_show, nb_code_prompt_hide = "Show the solution", "Hide the solution"     # cells with the tag hide-cell
nb_ipywidgets_js = {}
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline", "attrs_block"]
myst_heading_anchors = 3
myst_url_schemes = ["http", "https"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_use_param = False      # types are words here ("Tensor or sequence of them"), and no names to be looked up
napoleon_use_rtype = False
napoleon_use_ivar = True
viewcode_line_numbers = True
add_module_names = False
toc_object_entries_show_parents = "hide"
intersphinx_mapping = {site: (url, str(BUILD / f"inventories/{site}.inv")) for site, url in SITES.items()}
nitpicky = True
default_role = "name"


class Name(SphinxRole):
    """`x`: code, and a link where something of minigrad is called that; in a docstring most such names are parameters."""

    def run(self):
        literal = nodes.literal(self.rawtext, self.text, classes=["xref", "py"])
        target = re.sub(r"^mg\.", "minigrad.", self.text.removesuffix("()"))
        if not target.replace(".", "").replace("_", "").isalnum():
            return [literal], []
        context = {key: self.env.ref_context.get(key) for key in ("py:module", "py:class")}
        wrapped = addnodes.pending_xref(self.rawtext, refdomain="py", reftype="obj", reftarget=target, refexplicit=True,
                                        refwarn=False, by_name=True, **context)
        wrapped += literal
        return [wrapped], []


def leave(app, env, node, contnode):
    """A name in backticks that nothing is called is no mistake; an error class may be named without its module."""
    if node.get("by_name"):
        return contnode
    if node.get("reftype") in ("exc", "class"):
        target = node["reftarget"]
        python = env.get_domain("py")
        found = sorted([n for n in python.objects if n.endswith(f".{target}")], key=len)
        if found:
            return python.resolve_xref(env, node["refdoc"], app.builder, node["reftype"], found[0], node, contnode)
    return None


def prepare(app, what, name, obj, options, lines):
    """Docstrings are written for the terminal: |x| is an absolute value, ** a power, what is indented a formula as it stands."""
    section = blank = literal = False
    done = []
    for line in lines:
        if line.strip():
            indented = line.startswith("    ")
            if not indented:
                section, literal = re.fullmatch(r"[A-Z][a-z]+:", line) is not None, line.endswith("::")
            elif blank and not section and not literal:
                done += ["::", ""]
                literal = True
            if not literal and not line.lstrip().startswith((">>>", "...")):
                parts = re.split(r"(``.*?``|`.*?`)", line)
                line = "".join([p if p.startswith("`") else p.replace("|", r"\|").replace("**", r"\*\*") for p in parts])
        blank = not line.strip()
        done.append(line)
    lines[:] = done


def whole_sentences(app, what, name, obj, options, lines):
    """Napoleon takes what stands before a colon in the docstring of an attribute for its type; ours are sentences."""
    kinds = [i for i, line in enumerate(lines) if line.startswith(":type: ")]
    if what in ("property", "attribute") and kinds:
        lines[0] = f"{lines.pop(kinds[0]).removeprefix(':type: ')}: {lines[0]}"


def joined(outputs):
    """What a cell has printed, in one piece. A kernel sends it in several when it is slow, also in the middle of a line;
    myst-nb puts each piece on a line of its own."""
    done = []
    for output in outputs or []:
        earlier = [o for o in done if o["output_type"] == "stream" and o.get("name") == output.get("name")]
        if output["output_type"] == "stream" and earlier:
            earlier[0]["text"] += output["text"]
        else:
            done.append(copy.copy(output))     # the notebook to be downloaded keeps its own
    return coalesce(done)


coalesce = render.coalesce_streams
render.coalesce_streams = joined


def mark_errors(app, doctree):
    """The message of an expected error looks like one, and its long lines are broken: it is there to be read."""
    for block in doctree.findall(nodes.literal_block):
        if re.search(r"^[\w.]+(Error|Exception): ", block.astext(), re.MULTILINE):
            block["classes"].append("raised")


def draw_inline(app, doctree):
    """A drawn picture becomes a part of its page, so that its colours follow the theme which the reader has chosen."""
    for image in list(doctree.findall(nodes.image)):
        if image["uri"].startswith("pictures/"):
            path = picture.FOLDER / Path(image["uri"]).name
            app.env.note_dependency(str(path))
            image.parent.replace_self(nodes.raw("", picture.inline(path), format="html"))


def level_of_captions(app, pagename, templatename, context, doctree):
    """Sphinx calls the captions of the navigation headings, and does not say of which level."""
    tree = context.get("furo_navigation_tree")
    if isinstance(tree, str):
        context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')


def mend(app, pagename, templatename, context, doctree):
    """An empty cell is no header. The list of all modules has lists between its items instead of in them."""
    if "body" not in context:       # a page that the theme makes
        return
    context["body"] = re.sub(r'<th class="head[^"]*">(?:<p></p>)?</th>', "<td></td>", context["body"])
    if pagename == "_modules/index":
        for old, new in (("</li>\n<ul>", "\n<ul>"), ("</ul><li>", "</ul></li>\n<li>"), ("</ul></ul>", "</ul></li></ul>")):
            context["body"] = context["body"].replace(old, new)


def edit_button(app, pagename, templatename, context, doctree):
    """The theme's pencil leads to the file that the page is made from, which often has another path. Generated pages have none."""
    path = repository.source(pagename)
    context["theme_source_edit_link"] = repository.edit(path) if path else ""
    if not context["theme_source_edit_link"]:
        context["page_source_suffix"] = ""


def spread(app, env, pages):
    """Sphinx reads the pages in groups of neighbours, two groups at a time. Pages that run are neighbours, and their group would
    be read long after all others: here each group gets some of them."""
    pages[:] = [page for first in range(10) for page in pages[first::10]]


def load_all():
    """Import each module that there is without a GPU: some wait until they are asked for, and have errors of their own."""
    for module in pkgutil.walk_packages(mg.__path__, "minigrad."):
        if not re.search(r"cuda|__main__", module.name):
            with contextlib.suppress(ModuleNotFoundError):      # it has no interpreted form
                importlib.import_module(module.name)


def errors(cls):
    """A class and all that derive from it."""
    return [cls, *[found for sub in cls.__subclasses__() for found in errors(sub)]]


def setup(app):
    for cls in (mg.dtype, mg.device):       # what they are called in the program, instead of where they are written
        cls.__name__ = cls.__qualname__ = cls.__name__.lower()
        cls.__module__ = "minigrad"
    load_all()
    for cls in errors(mg.errors.MinigradError):     # and these by their own names: a traceback shows the builtin's
        cls.__module__, cls.__qualname__ = cls.home
    app.add_role("name", Name())
    app.connect("env-before-read-docs", spread)
    app.connect("doctree-read", draw_inline, priority=100)      # before Sphinx looks for the file in the folder of pages
    app.connect("doctree-read", mark_errors)
    app.connect("doctree-read", reading.fold)
    app.connect("doctree-read", glossary.identify)
    app.connect("doctree-resolved", glossary.explain)
    app.connect("html-page-context", level_of_captions, priority=900)
    app.connect("html-page-context", mend, priority=900)
    app.connect("html-page-context", edit_button, priority=900)
    app.connect("missing-reference", leave, priority=900)
    app.connect("autodoc-process-docstring", prepare, priority=100)
    app.connect("autodoc-process-docstring", whole_sentences, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
