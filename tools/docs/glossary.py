"""The glossary as data: an index of concepts, and definitions that show in the tutorials.

    rows()              (words, meaning, last column) for each row of docs/notes/glossary.md
    notes/concepts.md   each concept, with the tutorial that teaches it, its entry, and the reference
    explain             the first use of a word on the page of a tutorial shows its definition

The page of the glossary gets an id for each word, so that links can lead to an entry.
"""

import functools
import re
from html import escape

from tools.docs import tutorials
from tools.docs.paths import DOCS

__all__ = ["EXPLAINED", "PUBLIC", "TAUGHT", "anchor", "by_concept", "concepts", "explain", "identify", "rows", "taught", "write"]

PAGE = "notes/glossary"
ROW = re.compile(r"^\| (\*\*.+?) \| (.+?) \| (.*?) ?\|$", re.MULTILINE)
# Which tutorial teaches a concept that is no entry of the glossary, or whose entry names no tutorial.
TAUGHT = {"0": "chain rule, gradient descent, loss", "1": "edge, grad_fn, node, record, sequence number",
          "1b": "shape", "2": "dependencies, engine, graph task, ready queue, reentrant backward, root",
          "3": "AccumulateGrad, accumulator, leaf, to accumulate, to steal a gradient", "4": "retain_graph, to release",
          "5": "double backward, Hessian", "6": "inference tensor, mode, no_grad", "7": "plan, to save",
          "8": "hook on saved tensors, pack hook, unpack hook", "9": "in-place op, version",
          "10": "offset, stale view, stride, to rebase",
          "11": "checkpointing", "12": "hook", "13": "gradient edge", "14": "Function",
          "15": "dual tensor, forward mode, gradcheck, jvp", "18": "split backward, stage",
          "19": "bubble, microbatch, pipeline parallelism, rank, schedule",
          "20": "all-reduce, bucket, data parallelism, error feedback",
          "21": "custom operator, undefined gradient", "22": "anomaly mode", "23": "module hook",
          "24": "per-example gradient, vmap"}
# Which page, with its title, explains a word of the code that no tutorial needs.
EXPLAINED = {"[Add an op in one place](add-an-op.md)": "op, rule", "[Kernels](kernels.md)": "kernel",
             "[The first half hour](half-hour.md)": "fast path",
             "[The graph and its engine](graph.md)": "floor, interceptor, metadata, room, switch, upcall"}
# What a program calls, where a name of minigrad has the concept.
PUBLIC = {"mg.Tensor": "tensor", "mg.Tensor.backward": "backpropagation, retain_graph, reverse mode, to accumulate",
          "mg.Tensor.is_leaf": "leaf", "mg.Tensor.register_hook": "hook", "mg.Tensor.retain_grad": "adjoint",
          "mg.Tensor.stride": "stride", "mg.Tensor.view": "view", "mg.autograd.Function": "Function",
          "mg.autograd.detect_anomaly": "anomaly mode", "mg.autograd.forward_ad.make_dual": "dual tensor, tangent",
          "mg.autograd.functional.hessian": "Hessian", "mg.autograd.functional.jacobian": "Jacobian",
          "mg.autograd.grad": "gradient",
          "mg.autograd.gradcheck": "gradcheck", "mg.autograd.graph.Node": "node",
          "mg.autograd.graph.get_gradient_edge": "edge, gradient edge",
          "mg.autograd.graph.saved_tensors_hooks": "hook on saved tensors, pack hook, unpack hook",
          "mg.broadcast_to": "broadcasting",
          "mg.debug.record": "record", "mg.func.jvp": "forward mode, jvp", "mg.func.vjp": "vjp",
          "mg.func.vmap": "per-example gradient, vmap",
          "mg.inference_mode": "inference tensor", "mg.library.custom_op": "custom operator", "mg.no_grad": "no_grad",
          "mg.optim.SGD": "gradient descent", "mg.utils.checkpoint.checkpoint": "checkpointing"}
# Words with an everyday sense too: their first use on a page need not be that of the glossary.
COMMON = {"base", "dependencies", "fast path", "floor", "gradient", "history", "mode", "op", "plan", "rank", "record", "room",
          "root", "rule", "schedule", "stage", "switch", "tangent", "task", "tensor", "twin", "version"}
HEAD = """# Concepts, from A to Z

Each concept with the tutorial that teaches it, or with the page that explains a word of the code; its entry in the
[glossary](glossary.md); and a name that a program calls. The signs are on the page [Notation](notation.md).

| concept | taught in | glossary | reference |
|---|---|---|---|
"""


def by_concept(table):
    """The table with a key for each concept in its values."""
    return {word: key for key, words in table.items() for word in words.split(", ")}


@functools.cache
def rows():
    """(words, meaning, last column) for each row of the glossary."""
    text = (DOCS / f"{PAGE}.md").read_text("utf-8")
    return [(re.findall(r"\*\*(.+?)\*\*", cell), meaning, place) for cell, meaning, place in ROW.findall(text)]


def anchor(word):
    """The id of a word's entry."""
    return "term-" + re.sub(r"\W+", "-", word.lower())


def taught():
    """The tutorial that teaches each concept: `TAUGHT`, or the one that its entry names, or the first that has the word in bold."""
    scripts = {tutorials.number(path): path for path in tutorials.scripts()}
    texts = {path: path.read_text("utf-8") for path in scripts.values()}
    found = {}
    for words, _, place in rows():
        named = re.search(r"\(\.\./tutorials/(\w+\.py)\)", place)
        for word in words:
            bold = [path for path, text in texts.items() if f"**{word}" in text]
            found[word] = tutorials.TUTORIALS / named[1] if named else bold[0] if bold else None
    return found | {word: scripts[number] for word, number in by_concept(TAUGHT).items()}


def concepts():
    """The index of concepts, as a page."""
    entries = {word for words, _, _ in rows() for word in words}
    names, pages, lines = by_concept(PUBLIC), by_concept(EXPLAINED), []
    for word, path in sorted(taught().items(), key=lambda item: item[0].removeprefix("to ").lower()):
        place = "in the code only"
        if path:
            place = f"[{tutorials.number(path)}. {tutorials.title(path)}](../tutorials/{path.name})"
        elif word in pages:
            place = pages[word]
        entry = f"{{ref}}`{word} <{anchor(word)}>`" if word in entries else ""
        name = f"{{name}}`{names[word]}`" if word in names else ""
        lines.append(f"| {word} | {place} | {entry} | {name} |\n")
    return HEAD + "".join(lines)


def write(pages):
    pages.write("notes/concepts.md", concepts())


# ---- in Sphinx ---------------------------------------------------------------------------------------------------------------

def identify(app, doctree):
    """Give each row of the glossary the ids of its words, as labels that other pages may link to."""
    from docutils import nodes

    if app.env.docname != PAGE:
        return
    labels = app.env.get_domain("std").anonlabels
    for row in doctree.findall(nodes.row):
        for word in [strong.astext() for strong in row[0].findall(nodes.strong)]:
            row["ids"].append(anchor(word))
            labels[anchor(word)] = (PAGE, anchor(word))


@functools.cache
def definitions():
    """The first sentence of each entry, without Markdown, for the words that a tutorial cannot mean otherwise."""
    found = {}
    for words, meaning, _ in rows():
        first = re.split(r"(?<=\.) ", re.sub(r"[*`]", "", meaning))[0]
        found |= {word: first for word in words if word not in COMMON and not word.startswith("to ")}
    return found


def pattern(word):
    """Finds a word in the singular or plural."""
    plural = {"leaf": "lea(?:f|ves)", "history": "histor(?:y|ies)"}.get(word, rf"{re.escape(word)}s?")
    return re.compile(rf"(?<![\w-]){plural}(?![\w-])", re.IGNORECASE if word.islower() else 0)


def explain(app, doctree, page):
    """On the page of a tutorial, the first use of a word shows its definition. Where a word is bold, the text defines it itself."""
    from docutils import nodes

    if app.builder.format != "html" or not page.startswith(("tutorials/", "projects/")):
        return
    bold = " ".join([strong.astext() for strong in doctree.findall(nodes.strong)])
    open_words = {word: pattern(word) for word in definitions() if not pattern(word).search(bold)}
    address = app.builder.get_relative_uri(page, PAGE)
    for link in list(doctree.findall(nodes.reference)):
        word = link.astext()
        if link.get("refuri") == address and word in open_words:        # a link to the page of the glossary, which the author wrote
            del open_words[word]
            link.parent.replace(link, term(word, word, address))
    for paragraph in paragraphs(doctree):
        for text in [node for node in paragraph.findall(nodes.Text) if node.parent is paragraph]:
            rest, parts = text.astext(), []
            while hits := [(hit, word) for word, regex in open_words.items() if (hit := regex.search(rest))]:
                hit, word = min(hits, key=lambda one: (one[0].start(), -len(one[1])))
                del open_words[word]
                parts += [nodes.Text(rest[:hit.start()]), term(word, hit[0], address)]
                rest = rest[hit.end():]
            if parts:
                paragraph.replace(text, [*parts, nodes.Text(rest)])


def paragraphs(doctree):
    """The paragraphs of a page: first those in sight, then those in a fold, which is between two pieces of HTML."""
    from docutils import nodes

    depth, found = 0, ([], [])
    for node in doctree.findall(lambda node: isinstance(node, (nodes.raw, nodes.paragraph))):
        if isinstance(node, nodes.raw):
            depth += node.astext().count("<details") - node.astext().count("</details")
        else:
            found[depth > 0].append(node)
    return [*found[0], *found[1]]


def term(word, said, address):
    """A link to the entry of a word, with its definition beside it for the pointer, the keyboard and a screen reader."""
    from docutils import nodes

    name = f"about-{anchor(word)}"
    opens = f'<a class="mg-term" href="{address}#{anchor(word)}" aria-describedby="{name}">'
    about = f'<span role="tooltip" id="{name}">{escape(definitions()[word])}</span>'
    # A search for the word finds the entry, and not each page that shows it.
    return nodes.inline("", "", nodes.raw("", opens, format="html"), nodes.Text(said), nodes.raw("", "</a>", format="html"),
                        nodes.inline("", "", nodes.raw("", about, format="html"), classes=["no-search"]), classes=["mg-explained"])
