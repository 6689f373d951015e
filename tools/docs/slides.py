"""A tutorial as slides: its own cells, one idea on each, with what the cells print.

    a heading               begins a slide
    any other text          begins a slide under the same heading; a remark of a line or two after some code stays there
    a code cell             is on the slide of the text before it, with its outputs
    an answer               comes with the next key: what is in <details>, and the code after **Predict.**

`slides` writes this into a notebook as Jupyter's slideshow metadata, which RISE and `jupyter nbconvert --to slides` read. `deck`
makes one HTML file of it, which is complete: no other file, no network. Checks, hints and solutions are left out.
"""

import html
import re

from tools.docs import editions, formulas, math_font

__all__ = ["deck", "slides"]

REMARK = 200        # characters

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>
body {{ margin: 0; font: 1.5rem/1.45 system-ui, sans-serif; color: #1b1f24; }}
section {{ display: none; box-sizing: border-box; width: 100vw; height: 100vh; overflow: auto; padding: 2rem 8vw 4rem; }}
section.now {{ display: block; }}
section > p.of {{ color: #6a737d; font-size: 1rem; margin: 0; }}
.later.hidden {{ visibility: hidden; }}
h1, h2, h3 {{ line-height: 1.15; margin: 0.4em 0; }}
pre {{ font-size: 1.15rem; line-height: 1.35; overflow-x: auto; padding: 0.6em 0.8em; margin: 0.6em 0; }}
.highlight pre {{ background: #f6f8fa; }}
pre.out {{ border-left: 4px solid #2e7d32; }}
table {{ border-collapse: collapse; font-size: 1.1rem; }}
td, th {{ border: 1px solid #d0d7de; padding: 0.3em 0.6em; text-align: left; }}
svg, img {{ max-width: 100%; }}
{formulas}#at {{ position: fixed; right: 1rem; bottom: 0.6rem; color: #6a737d; font-size: 1rem; }}
@media print {{ section {{ display: block; height: auto; break-after: page; }} .later.hidden {{ visibility: visible; }} }}
{style}
</style>
</head><body>
{sections}
<div id="at" aria-live="polite"></div>
<script>
const all = [...document.querySelectorAll("section")];
let now = Math.min(Math.max(parseInt(location.hash.slice(1)) || 1, 1), all.length) - 1;
function show(place) {{
  now = Math.min(Math.max(place, 0), all.length - 1);
  all.forEach((one, i) => one.classList.toggle("now", i === now));
  document.getElementById("at").textContent = `${{now + 1}} / ${{all.length}}`;
  history.replaceState(null, "", `#${{now + 1}}`);
}}
function next() {{
  const later = all[now].querySelector(".later.hidden");
  if (later) later.classList.remove("hidden"); else show(now + 1);
}}
addEventListener("keydown", event => {{
  if (event.target.closest("input, button, select, summary, .mg-step")) return;
  if (["ArrowRight", "PageDown", " "].includes(event.key)) {{ next(); event.preventDefault(); }}
  if (["ArrowLeft", "PageUp"].includes(event.key)) {{ show(now - 1); event.preventDefault(); }}
}});
show(now);
</script></body></html>
"""


def reader():
    """A reader of Markdown with tables and formulas."""
    from markdown_it import MarkdownIt
    return formulas.in_markdown(MarkdownIt("commonmark", {"html": True}).enable("table"))


def pieces(text, markdown):
    """A text cell in pieces: at each heading, at **Predict.**, and before and after what is folded in <details>."""
    cuts = {0}
    for token in markdown.parse(text):
        if token.level == 0 and token.map:
            begin, end = token.map
            first = text.split("\n")[begin]
            if token.type == "heading_open" or first.startswith(("**Predict.**", "<details>")):
                cuts.add(begin)
            if first.startswith("</details>"):
                cuts.add(end)
    lines, cuts = text.split("\n"), sorted(cuts)
    found = ["\n".join(lines[begin:end]).strip() for begin, end in zip(cuts, [*cuts[1:], len(lines)])]
    return [piece for piece in found if piece]


def slides(path):
    """The notebook of a tutorial with Jupyter's slideshow metadata."""
    notebook = editions.read_notebook(path)
    left_out = {i for exercise in editions.exercises(notebook) for i in (exercise.place, *exercise.help, *exercise.solutions)}
    markdown, cells, asked = reader(), [], False
    for i, cell in enumerate(notebook.cells):
        if i in left_out:
            continue
        plain = editions.for_readers(cell, path)
        if plain.cell_type == "code":
            later = asked or "quiz" in editions.tags(cell)
            plain.metadata.clear()
            cells.append((plain, "fragment" if later else "-"))
            asked = False
        else:
            found = pieces(plain.source, markdown)
            for piece, following in zip(found, [*found[1:], ""]):
                answer = piece.startswith("<details>")
                remark = len(piece) < REMARK and following.startswith("#")      # no code of its own follows
                kind = "fragment" if answer else "slide" if piece.startswith("#") else "-" if remark else "subslide"
                cells.append((editions.with_pictures(unfolded(piece) if answer else piece, cell.id), kind))
                asked = piece.startswith("**Predict.**") or (answer and asked)
    notebook.cells = []
    for number, (cell, kind) in enumerate(cells):
        cell.id = f"slide-{number}"
        cell.metadata["slideshow"] = {"slide_type": kind}
        notebook.cells.append(cell)
    return editions.cleared(notebook)


def unfolded(text):
    """What is in <details>, without the fold: on a slide it comes with a key."""
    return re.sub(r"<details><summary>.*?</summary>|</details>", "", text).strip()


def run(notebook, folder):
    """Run the cells of a notebook, and keep their outputs in it."""
    from nbclient import NotebookClient
    NotebookClient(notebook, timeout=600, kernel_name="python3", extra_arguments=["--IPKernelApp.log_level=40"],
                   resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def deck(notebook):
    """The slides of a notebook as one HTML page."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer
    markdown, formatter = reader(), HtmlFormatter()
    sections, heading = [], ""
    for cell in notebook.cells:
        kind = cell.metadata["slideshow"]["slide_type"]
        if cell.cell_type == "markdown":
            shown = markdown.render(cell.source)
            for name, bundle in cell.get("attachments", {}).items():
                shown = re.sub(f'<img src="attachment:{name}"[^>]*>', lambda _, svg=bundle["image/svg+xml"]: svg, shown)
            if kind == "slide":
                heading = re.sub(r"[#*`$]", "", cell.source.partition("\n")[0]).strip()
        else:
            shown = highlight(cell.source, PythonLexer(), formatter) + "".join([output(one) for one in cell.get("outputs", ())])
        if kind in ("slide", "subslide") or not sections:
            sections.append(f"<p class='of'>{html.escape(heading)}</p>\n" if kind == "subslide" else "")
        sections[-1] += f"<div class='later hidden'>{shown}</div>" if kind == "fragment" else shown
    title = re.sub(r"^# ", "", notebook.cells[0].source.partition("\n")[0])
    return PAGE.format(title=html.escape(title), style=formatter.get_style_defs(".highlight"), formulas=math_font.style(),
                       sections="\n".join([f"<section>{section}</section>" for section in sections]))


def output(found):
    """An output of a cell as HTML."""
    data = found.get("data", {"text/plain": found.get("text", "\n".join(found.get("traceback", ())))})
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            return f"<div>{data[kind]}</div>"
    if "image/png" in data:
        return f"<img alt='' src='data:image/png;base64,{data['image/png'].strip()}'>"
    return f"<pre class='out'>{html.escape(data.get('text/plain', ''))}</pre>"
