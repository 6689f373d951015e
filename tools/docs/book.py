"""The course as one file: an EPUB, and a PDF where there is a Chromium to print it. ``make docs-book`` makes both.

    a page of the site (HTML)  ->  Chapter  ->  course/minigrad-course.epub
                                            ->  build/docs/book/course.html  ->  course/minigrad-course.pdf

The pages have been built, so nothing runs again. On paper nothing can be pressed: folded parts are open, a step-through is the
picture of its last step, and hints, checks and downloads are left out. The solutions stand together at the end. A link to a page
of the site that is not in the book is plain text.

Read next: epub.py.
"""

import html
import posixpath
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import minigrad as mg
from minigrad.viz import _page
from tools.docs import epub, math_font, picture, tutorials
from tools.docs.paths import HTML, ROOT

__all__ = ["FOLDER", "Chapter", "chapter", "chromium", "listed", "note", "write"]

TITLE = "minigrad: PyTorch's autograd from the inside"
NAME = "minigrad-course"
FOLDER = "course"           # of the site
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LEFT_OUT = "script, style, button, nav, .headerlink, .downloads, [role=tooltip], .toctree-wrapper"
SOLUTIONS = "solutions"

PREFACE = """<h1>{title}</h1>
<p class="under">The course: version {version}</p>
<p>This book has the tutorials of minigrad with everything that they print, a page on notation, and the glossary. It is made of the
pages of the site. There you can walk through each backward step by step, and run the programs. Here you see the last step.</p>
<p>Each tutorial ends with exercises. Try them in its notebook or its script, which have the checks and the hints. The solutions are
at the end of the book.</p>
<p>Parts whose title begins with “Deeper:” are for a second reading.</p>
"""

# Words of code that have no colour of their own. Each would be an element of the PDF, of which there would be 100,000.
PLAIN = re.compile(r'<span(?: class="(?:n|p|w|pre)")?>([^<>]*)</span>')

# Of step-throughs and drawings only the pictures are left, so only the rules about them.
PICTURED = re.compile(r"^\.(?:mg-node|mg-leaf|mg-tensor|mg-edge|mg-label)\b.*?\}$", re.MULTILINE | re.DOTALL)

CSS = """
body { font-family: Georgia, "Source Serif 4", "DejaVu Serif", serif; line-height: 1.5; color: #1b1f24; }
h1, h2, h3, h4, th, .under, figcaption, .unfolded { font-family: "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
h1, h2, h3, h4 { line-height: 1.25; }
h1, h2, h3, h4, .unfolded { break-after: avoid; }
pre, code { font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 0.84em; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.35; padding: 0.5em 0.7em; background: #f6f8fa; }
.cell_output pre { background: none; border-left: 3px solid #2e7d32; }
.raised pre { border-left: 3px solid #b42318; }
p code, li code, td code { overflow-wrap: anywhere; }
table { border-collapse: collapse; font-size: 0.9em; margin: 1em 0; }
th, td { border-bottom: 1px solid #c4ccd4; padding: 0.25em 0.6em 0.25em 0; text-align: left; vertical-align: top; }
td p { margin: 0; }
figure { margin: 1em 0; text-align: center; break-inside: avoid; }
figure svg { max-width: 100%; height: auto; }
figcaption { font-size: 0.8em; color: #57606a; }
img { max-width: 100%; }
a { color: #0550ae; text-decoration: none; }
.unfolded { font-weight: bold; margin-bottom: 0; }
.folded { border-left: 3px solid #c4ccd4; padding-left: 0.8em; }
.admonition { border-left: 3px solid #0550ae; padding-left: 0.8em; }
.under { color: #57606a; }
"""
PRINTED = """
@page { size: A4; margin: 20mm 20mm 22mm;
  @bottom-center { content: counter(page); font: 9pt Arial, "DejaVu Sans", sans-serif; color: #57606a; } }
@page :first { @bottom-center { content: none; } }
body { font-size: 10.5pt; margin: 0; }
main { break-before: page; }
svg.mg-graph { max-height: 150mm; }
"""


class Chapter(NamedTuple):
    """A page of the site as a chapter."""

    name: str                               # its file, without the ending
    title: str
    body: str                               # XHTML
    sections: list[tuple[str, str]]         # (id, title) of each
    solutions: list[tuple[int, str]]        # (exercise, XHTML)
    images: dict[str, Path]                 # name -> file


def pages():
    """The pages of the course, in order."""
    return ["start", *[f"tutorials/{path.stem}" for path in tutorials.scripts()], "notes/notation", "notes/glossary"]


def chromium():
    """The program that prints the PDF; None if there is none."""
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


# ---- a page becomes a chapter -------------------------------------------------------------------------------


def chapter(page, text, names):
    """The chapter of a page of the site.

    Args:
        page (str): its path without the ending, such as "tutorials/02_the_engine".
        text (str): its HTML.
        names (dict): page -> the file of its chapter, for all chapters.
    """
    from bs4 import BeautifulSoup

    soup = BeautifulSoup(text, "html.parser")
    main = soup.find("article")
    assert main is not None, f"{page} has no article, which the theme writes around the text of a page"
    name = names[page]
    pictures(main, soup)
    solutions = take_solutions(main, soup)
    for element in main.select(LEFT_OUT):
        element.decompose()
    unfold(main, soup)
    images = local(main, page, names)
    heading = main.find("h1")
    assert heading is not None, f"{page} has no title"
    sections = [(str(section["id"]), title.get_text()) for section in main.select("section section[id]")
                if (title := section.find("h2", recursive=False))]
    return Chapter(name, heading.get_text(), xhtml(main), sections, [(number, xhtml(cell)) for number, cell in solutions], images)


def take_solutions(main, soup):
    """Remove the checks, the hints and the solutions of the exercises. Return the solutions: (number of the exercise, cells)."""
    number, found = 0, []
    for cell in main.select("div.cell"):
        if "testing.exercise(" in cell.get_text():
            number += 1
            cell.decompose()
        elif "tag_solution" in cell.get("class", ()):
            inside = soup.new_tag("div")
            for part in cell.select(".cell_input, .cell_output"):
                inside.append(part.extract())
            found.append((number, inside))
            cell.decompose()
    for details in main.select("details"):
        if not details.decomposed and details.summary and re.match(r"\s*Hint \d", details.summary.get_text()):
            details.decompose()
    return found


def pictures(main, soup):
    """Keep the pictures of step-throughs and drawings, and make the colours of the drawn ones those of paper."""
    for shown in main.select(".mg-viz"):
        figure = soup.new_tag("figure")
        for drawn in shown.select("svg.mg-graph"):
            figure.append(drawn.extract())
        caption = soup.new_tag("figcaption")
        steps = re.fullmatch(r".*: (\d+) steps", str(shown.get("aria-label")))
        caption.string = f"After the last of {steps[1]} steps." if steps else str(shown.get("aria-label", ""))
        figure.append(caption)
        shown.replace_with(figure)
    for figure in main.select("figure.picture"):
        style = figure.svg.style
        if style is not None:       # the fonts and faces stay; what is left out are colours, light and dark
            rules = re.sub(r"[^{}]*\{--[^{}]*\}", "", style.get_text())
            text = re.sub(r"@media[^{}]*\{\s*\}", "", rules)
            style.name = "kept-style"       # so that it outlives the others
            style.string = text
        del figure["tabindex"]
    for svg in main.select("svg"):
        svg["xmlns"] = "http://www.w3.org/2000/svg"


def unfold(main, soup):
    """What is folded is open. A title such as "Answer" stays above it."""
    for details in main.select("details"):
        details.name = "div"
        deeper = "deeper" in details.get("class", ())
        details.attrs = {"class": "folded"}
        if details.summary is not None:
            if deeper:
                details.summary.decompose()
            else:
                summary = details.summary
                summary.name, summary.attrs = "p", {"class": "unfolded"}
                for title in summary.select(".expanded"):
                    title.decompose()
                for part in summary.select("p"):
                    part.unwrap()
    for word in main.select(".mg-explained"):
        word.unwrap()


def local(main, page, names):
    """Links inside the book, and those to other sites, stay links. Ids begin with the chapter's name. Return the images."""
    images = {}
    used = set()
    for element in main.select("[id]"):
        if element.find_parent("svg") is None and element.name != "svg":
            identity = f"{names[page]}--{element['id']}"
            element["id"] = identity
            if identity in used:
                del element["id"]
            used.add(identity)
    for described in main.select("[aria-describedby]"):
        del described["aria-describedby"]
    for link in main.select("a[href]"):
        target, _, place = link["href"].partition("#")
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        other = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)).removesuffix(".html") if target else page
        if other in names:
            link["href"] = f"{names[other]}.xhtml" + (f"#{names[other]}--{place}" if place else "")
            del link["title"]
        else:
            link.unwrap()
    for image in main.select("img[src]"):
        source = image["src"]
        if not source.startswith("data:"):
            file = HTML / posixpath.normpath(posixpath.join(posixpath.dirname(page), source))
            images[file.name] = file
            image["src"] = file.name
        image["alt"] = image.get("alt") or "a plot"
    return images


def xhtml(element):
    """The inside of an element as XML. The parser writes all names in small letters, and SVG has one that is not."""
    text = PLAIN.sub(r"\1", element.decode_contents(formatter="minimal"))
    colours = re.sub(r"var\(--([\w-]+)\)", lambda match: picture.LIGHT.get(match[1], "currentColor"), text)
    return colours.replace(" viewbox=", " viewBox=").replace("kept-style", "style")


# ---- the book -----------------------------------------------------------------------------------------------


def resolved(chapters):
    """The chapters without links to places that are not there, such as hints."""
    known = {place for one in chapters for place in re.findall(r' id="([^"]+)"', one.body)}

    def keep(match):
        return match[0] if match[1] in known else match[2]
    return [one._replace(body=re.sub(r'<a [^>]*href="[\w-]+\.xhtml#([^"]+)"[^>]*>(.*?)</a>', keep, one.body, flags=re.DOTALL))
            for one in chapters]


def answers(chapters):
    """The last chapter: all solutions."""
    parts, sections = ["<h1>Solutions</h1>"], []
    for one in chapters:
        if one.solutions:
            place = f"{SOLUTIONS}--{one.name}"
            sections.append((place, one.title))
            parts.append(f'<section id="{place}"><h2>{html.escape(one.title)}</h2>')
            parts += [f"<h3>Exercise {number}</h3>\n{cells}" for number, cells in one.solutions]
            parts.append("</section>")
    return Chapter(SOLUTIONS, "Solutions", "\n".join(parts), sections, [], {})


def style():
    """The style sheet of the book: its own rules, those of formulas and of pictures, the colours of code."""
    from pygments.formatters import HtmlFormatter

    rules = "\n".join(PICTURED.findall(_page.text("style.css")))
    drawn = re.sub(r"var\(--([\w-]+)\)", lambda match: _page.palette().get(match[1], "currentColor"), rules)
    return f"{CSS}{math_font.style('formulas.woff')}{HtmlFormatter(style='default').get_style_defs('.highlight')}\n{drawn}\n"


def chapters_of(site):
    """All chapters, made of the site in a folder."""
    names = {page: posixpath.basename(page) for page in pages() if (site / f"{page}.html").exists()}
    found = [chapter(page, (site / f"{page}.html").read_text("utf-8"), names) for page in names]
    found = resolved(found)
    preface = Chapter("preface", TITLE, PREFACE.format(title=html.escape(TITLE), version=mg.__version__), [], [], {})
    return [preface, *found, answers(found)]


def printed(chapters):
    """The book as one page of HTML, to be printed."""
    preface, *others = chapters
    contents = "".join([f'<li><a href="#{one.name}">{html.escape(one.title)}</a></li>' for one in others])
    bodies = "\n".join([f'<main id="{one.name}">{one.body}</main>' for one in others])
    text = (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(TITLE)}</title>'
            f"<style>{style()}{PRINTED}</style></head><body>{preface.body}<main><h1>Contents</h1><ul>{contents}</ul></main>\n"
            f"{bodies}</body></html>\n")
    return re.sub(r'href="([\w-]+)\.xhtml(?:#([^"]+))?"', lambda match: f'href="#{match[2] or match[1]}"', text)


def print_pdf(program, page, target):
    """Print a page with Chromium: A4, with page numbers and an outline."""
    with tempfile.TemporaryDirectory() as profile:
        ran = subprocess.run([program, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                              "--allow-file-access-from-files", "--no-pdf-header-footer", "--generate-pdf-document-outline",
                              f"--print-to-pdf={target}", page.as_uri()], capture_output=True, text=True, check=False, timeout=600)
    if ran.returncode or not target.exists():
        raise SystemExit(f"{program} could not print {page}:\n{ran.stderr}")


def listed(wanted):
    """The files of the course on the site: those that a build is going to write, or those that an earlier one wrote."""
    if wanted:
        return [f"{NAME}.epub", *([f"{NAME}.pdf"] if chromium() else [])]
    return sorted([path.name for path in (HTML / FOLDER).glob(f"{NAME}.*")])


def note(files, up):
    """The line of a page with links to the files; empty if there are none. `up` leads from the page to the site's first page."""
    links = " and ".join([f'<a href="{up}{FOLDER}/{name}">{name.rpartition(".")[2].upper()}</a>' for name in files])
    return f'<div class="downloads">The course as a book: {links}.</div>\n' if links else "<!-- no book -->\n"


def write(site=HTML, folder=HTML.parent / "book"):
    """Write the EPUB into the site and, with a Chromium, the PDF. Return their paths."""
    chapters = chapters_of(site)
    target = site / FOLDER
    for place in (target, folder):
        place.mkdir(parents=True, exist_ok=True)
    images = {name: path.read_bytes() for one in chapters for name, path in one.images.items()}
    files = {"book.css": style().encode(), "formulas.woff": math_font.font(), **images}
    found = re.search(r"^## \[[\d.]+\] - (\d{4}-\d\d-\d\d)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    about = {"title": TITLE, "author": "the minigrad authors", "date": found[1] if found else "2026-01-01"}
    made = target / f"{NAME}.epub"
    epub.write(made, [(one.name, one.title, one.body, one.sections) for one in chapters], files, about)
    wrong = epub.faults(made)
    if wrong:
        raise SystemExit("the EPUB is wrong:\n" + "\n".join(wrong))
    for name, data in files.items():
        (folder / name).write_bytes(data)
    (folder / "course.html").write_text(printed(chapters), "utf-8")
    program = chromium()
    if program is None:
        print(f"no PDF, which needs a Chromium: apt install chromium. Or print {folder / 'course.html'} with any browser.")
        return [made]
    print_pdf(program, folder / "course.html", target / f"{NAME}.pdf")
    return [made, target / f"{NAME}.pdf"]
