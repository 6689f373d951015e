"""The course as a book: what becomes of a page, that the EPUB is right, and that a wrong one is found."""

import re
import xml.etree.ElementTree as ElementTree
import zipfile

import pytest

from tests.docs.conftest import HTML, why_no_site
from tools.docs import book, epub
from tools.docs.formulas import mathml

PAGE = """<!doctype html><html><head><title>x</title></head><body><nav>menu</nav><div role="main"><article>
<section id="title"><h1>1. Title<a class="headerlink" href="#title">¶</a></h1>
<div class="downloads"><a href="../_downloads/x.ipynb">the notebook</a></div>
<p>A <span class="mg-explained"><a class="mg-term" href="../notes/glossary.html#term-leaf" aria-describedby="about-leaf">leaf</a><span role="tooltip"
id="about-leaf">a tensor</span></span>, <a href="../reference/tensor.html#x">tensor</a>, <a href="https://example.org">elsewhere</a>,
<a href="#deep">below</a>, <a href="#not-there">lost</a>. Is %s &lt; 3?<br>Yes.</p>
<section id="deep"><h2>Deeper: more</h2><details class="deeper"><summary>Show this part</summary><p>The deep part.</p></details></section>
<details><summary>Answer</summary><p>It is three.</p></details>
<div class="mg-viz mg-step" aria-label="Step through what the engine did: 29 steps" id="mg-1"><style>.mg-viz{}</style><button>next</button>
<svg class="mg-graph" viewBox="0 0 9 9"><rect fill="var(--run)"/></svg><ol><li>step</li></ol><script>run()</script></div>
<figure class="picture" tabindex="0"><svg xmlns="http://www.w3.org/2000/svg" id="cut" viewBox="0 0 1 1"><style>#cut{--ink:#1b1f24;}@media(prefers-color-scheme:dark){#cut{--ink:#fff;}}#cut .mono{font-family:m}</style>
<text fill="var(--ink)">a &lt; b</text></svg></figure>
<img src="../_images/plot.png">
<section id="exercises"><h2>Exercises</h2><p>One.</p><div class="cell"><pre>@mg.testing.exercise(1)</pre></div>
<details><summary>Hint 1</summary><p>Think.</p><details><summary>Hint 2</summary><p>Again.</p></details></details>
<div class="cell tag_hide-cell tag_solution"><details><summary><p class="expanded">Hide</p></summary><div class="cell_input"><pre>check(3)</pre></div></details></div>
</section></section></article><footer>the next page</footer></div></body></html>""".replace("%s", mathml("x^2"))
GLOSSARY = """<div role="main"><article><section id="glossary"><h1>Glossary</h1><dl><dt id="term-leaf">leaf</dt></dl></section></article></div>"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site of two pages, which are the course."""
    pytest.importorskip("bs4")
    pytest.importorskip("ziamath")
    pytest.importorskip("fontTools")
    for name, text in (("tutorials/01_a", PAGE), ("notes/glossary", GLOSSARY)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / f"{name}.html").write_text(text, "utf-8")
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images/plot.png").write_bytes(b"png")
    monkeypatch.setattr(book, "HTML", tmp_path)
    monkeypatch.setattr(book, "pages", lambda: ["tutorials/01_a", "notes/glossary"])
    return tmp_path


@pytest.fixture
def chapters(site):
    return book.chapters_of(site)


def test_a_chapter(chapters):
    preface, first, glossary, solutions = chapters
    assert (first.name, first.title) == ("01_a", "1. Title") and first.sections == [("01_a--deep", "Deeper: more"), ("01_a--exercises", "Exercises")]
    root = ElementTree.fromstring(f"<div>{first.body}</div>")
    text = " ".join("".join(root.itertext()).split())
    for left_out in ("¶", "notebook", "a tensor", "menu", "Show this part", "Hint", "Think", "check(3)", "exercise(1)", "next", "step ", "run()", "next page"):
        assert left_out not in text, left_out
    assert "The deep part." in text and re.search("Answer ?It is three", text) and "After the last of 29 steps." in text and "< 3?" in text
    assert "<details" not in first.body and "<msup><mi>x</mi><mn>2</mn></msup>" in first.body
    assert glossary.title == "Glossary" and "minigrad" in preface.title
    assert "Exercise 1" in solutions.body and "check(3)" in solutions.body and solutions.sections == [("solutions--01_a", "1. Title")]


def test_links(chapters):
    """Those to chapters, to parts of this one and to other sites; other pages and places that are not there are plain text."""
    links = re.findall('<a [^>]*href="([^"]+)"', chapters[1].body)
    assert links == ["glossary.xhtml#glossary--term-leaf", "https://example.org", "01_a.xhtml#01_a--deep"]
    assert "lost" in chapters[1].body and "tensor" in chapters[1].body and "aria-describedby" not in chapters[1].body


def test_pictures(chapters):
    """A step-through is one picture; a drawn picture has the colours of paper and keeps its fonts."""
    body = chapters[1].body
    assert body.count("<svg") == 2 and 'viewBox="0 0 9 9"' in body and "var(--" not in body.replace("var(--run)", "")
    assert 'fill="#1b1f24"' in body and "#cut .mono{font-family:m}" in body and "@media" not in body and "tabindex" not in body
    assert '<img alt="a plot" src="plot.png"/>' in body or '<img src="plot.png" alt="a plot"/>' in body


def test_the_style(site):
    style = book.style()
    assert ".mg-node path{fill:#fff" in style and "var(--" not in style and ".mg-bar" not in style and ".highlight .k" in style
    assert style.count("{") == style.count("}")


def test_the_files(site, monkeypatch, capsys):
    """Without a browser: the EPUB is right, the same each time, and a message says what a PDF needs."""
    monkeypatch.setattr(book, "chromium", lambda: None)
    assert book.listed(True) == ["minigrad-course.epub"] and book.listed(False) == []
    made, = book.write(site, site / "made")
    assert made == site / "course/minigrad-course.epub" and epub.faults(made) == [] and "apt install chromium" in capsys.readouterr().out
    data = made.read_bytes()
    book.write(site, site / "made")
    assert made.read_bytes() == data and book.listed(False) == ["minigrad-course.epub"]
    with zipfile.ZipFile(made) as found:
        package = found.read("book/content.opf").decode()
        assert 'href="01_a.xhtml" media-type="application/xhtml+xml" properties="mathml svg"' in package
        assert "01_a.xhtml#01_a--deep" in found.read("book/nav.xhtml").decode() and found.read("book/plot.png") == b"png"
    printed = (site / "made/course.html").read_text("utf-8")
    assert ".xhtml" not in printed and set(re.findall('href="#([^"]+)"', printed)) <= set(re.findall(' id="([^"]+)"', printed))
    assert "counter(page)" in printed


def test_the_links_of_the_site(site):
    assert book.note([], "../").startswith("<!--") and '<a href="../course/minigrad-course.pdf">PDF</a>' in book.note(
        ["minigrad-course.epub", "minigrad-course.pdf"], "../")


@pytest.mark.parametrize("name, old, new, said", [
    ("mimetype", b"zip", b"zap", "mimetype is not the first file"), ("book/a.xhtml", b"</p>", b"", "a.xhtml is no XML"),
    ("book/a.xhtml", b"#here", b"#there", "a.xhtml: the link b.xhtml#there leads nowhere"), ("book/a.xhtml", b"<p>", b"<p id='x'>", "the id x is there twice"),
    ("book/a.xhtml", b"<p>", b"<p><script></script>", "has a script"), ("book/content.opf", b'href="b.xhtml"', b'href="c.xhtml"', "c.xhtml is in the package, and not there"),
    ("book/content.opf", b'href="b.xhtml"', b'href="a.xhtml"', "b.xhtml is not in the package"),
    ("book/content.opf", b'idref="file-b-xhtml"', b'idref="none"', "none in the order of chapters is no file")])
def test_a_wrong_book_is_found(tmp_path, name, old, new, said):
    right, wrong = tmp_path / "right.epub", tmp_path / "wrong.epub"
    epub.write(right, [("a", "A", '<p>x</p><i id="x"/><a href="b.xhtml#here">b</a>', []), ("b", "B", '<p id="here"/>', [])], {"book.css": b""},
               {"title": "T", "author": "A", "date": "2026-01-01"})
    assert epub.faults(right) == []
    with zipfile.ZipFile(right) as source, zipfile.ZipFile(wrong, "w") as target:
        for one in source.infolist():
            data = source.read(one)
            target.writestr(one, data.replace(old, new) if one.filename == name else data)
    assert any(said in fault for fault in epub.faults(wrong)), epub.faults(wrong)


@pytest.mark.skipif(why_no_site() != "" or not (HTML / "course").exists(), reason=why_no_site() or "the book is not made: make docs-book")
def test_the_whole_course():
    made = HTML / "course/minigrad-course.epub"
    assert epub.faults(made) == []
    with zipfile.ZipFile(made) as found:
        names = [name for name in found.namelist() if name.endswith(".xhtml")]
    assert {f"book/{page.rpartition('/')[2]}.xhtml" for page in book.pages()} <= set(names)
    assert f'href="../course/{made.name}"' in (HTML / "tutorials/index.html").read_text("utf-8")
    if (HTML / "course/minigrad-course.pdf").exists():
        assert b"/Outlines" in (HTML / "course/minigrad-course.pdf").read_bytes()
