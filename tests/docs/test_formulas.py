r"""Formulas: LaTeX becomes MathML when the site is built; one that cannot be read fails the build, with its page and line."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from tests.docs.conftest import HTML, ROOT, why_no_site
from tools.docs import formulas, math_font
from tools.docs.formulas import FormulaError, mathml

PAGES = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "tutorials").rglob("*.py")]


def shape(latex):
    """The elements of a formula: a tag with its text or with its children."""
    def of(element):
        tag = element.tag.rpartition("}")[2]
        return f"{tag}({', '.join([of(child) for child in element]) or (element.text or '').strip()})" if tag != "mspace" else "space"
    return of(ElementTree.fromstring(mathml(latex)))[len("math("):-1]


@pytest.mark.parametrize("latex, structure", [
    ("x", "mi(x)"), ("3x^2", "mrow(mn(3), msup(mi(x), mn(2)))"), (r"100{,}000", "mn(100,000)"), (r"-1", "mrow(mo(−), mn(1))"),
    (r"\frac{\partial A}{\partial w} = 2", "mrow(mfrac(mrow(mi(∂), mi(A)), mrow(mi(∂), mi(w))), mo(=), mn(2))"),
    (r"\frac12", "mfrac(mn(1), mn(2))"), (r"\frac nk", "mfrac(mi(n), mi(k))"), (r"\sqrt n", "msqrt(mi(n))"),
    (r"\bar x = g\,J", "mrow(mover(mi(x), mo(¯)), mo(=), mi(g), space, mi(J))"),
    (r"x_i^2", "msubsup(mi(x), mi(i), mn(2))"), (r"\sum_i x_i", "mrow(munder(mo(∑), mi(i)), msub(mi(x), mi(i)))"),
    ("f'^2", "msup(mrow(mi(f), mo(′)), mn(2))"), ("f''", "mrow(mi(f), mo(′′))"),
    (r"h\cos h", "mrow(mi(h), space, mi(cos), space, mi(h))"), (r"\cos(h)", "mrow(mi(cos), mo((), mi(h), mo()))"),
    (r"W^{\mathsf T}", "msup(mi(W), mi(𝖳))"), (r"\mathrm{cross\ entropy}", "mi(cross\xa0entropy)"), (r"\text{if } i", "mrow(mtext(if), mi(i))"),
    (r"\underbrace{a}_{\text{b}}", "munder(munder(mi(a), mo(⏟)), mtext(b))"), (r"\Bigl(a\Bigr)", "mrow(mo((), mi(a), mo()))"),
    (r"\big(a\big)", "mrow(mo((), mi(a), mo()))"),
    (r"\left(\frac12\right)", "mrow(mo((), mfrac(mn(1), mn(2)), mo()))"),
    (r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}",
     "mrow(mo((), mtable(mtr(mtd(mi(a)), mtd(mi(b))), mtr(mtd(mi(c)), mtd(mi(d)))), mo()))"),
    (r"\begin{aligned} a &= b \end{aligned}", "mtable(mtr(mtd(mi(a)), mtd(mrow(mo(=), mi(b)))))")])
def test_structure(latex, structure):
    assert shape(latex) == structure


def test_its_text():
    """The LaTeX is there for those who cannot see a formula, and what HTML would read is escaped."""
    assert 'alttext="a &lt; b"' in mathml("a <\n b") and "<mo" in mathml("a<b") and "&lt;</mo>" in mathml("a<b")
    assert 'display="block"' in mathml("x", True) and "display=" not in mathml("x")


@pytest.mark.parametrize("latex, said", [
    (r"\foo x", r"\\foo, which tools/docs/formulas.py does not know, in the formula \$\\foo x\$"),
    (r"\begin{align} a \end{align}", "the environment align, which tools/docs/formulas.py does not know"),
    (r"\begin{aligned} a \end{cases}", r"not ended by \\end\{aligned\}"), ("{x", "the end where } was expected"), ("x}", "} without what it ends"),
    (r"\frac{1}", "a command without what it is applied to"), ("x_1_2", "two _"), (r"\text{x", "{ without }"), ("", "nothing"),
    (r"\left(x", r"the end where \\right was expected"), (r"\bigl x", "x, which is no bracket"), (r"\+", r"\\\+, which tools"), ("ü", "ü, which has no meaning"),
    (r"\begin{pmatrix} a", "the end in the environment pmatrix")])
def test_what_cannot_be_read(latex, said):
    with pytest.raises(FormulaError, match=said):
        mathml(latex)


def test_every_formula_of_the_sources():
    """Those of the pages and of the tutorials, between dollar signs."""
    found = 0
    for path in PAGES:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", re.sub("^# ?", "", path.read_text("utf-8"), flags=re.MULTILINE), flags=re.DOTALL)
        if path.suffix == ".py":
            text = "".join(re.findall(r"%% \[markdown\](.*?)(?=^%%|\Z)", text, re.DOTALL | re.MULTILINE))
        for block, inline in re.findall(r"\$\$(.+?)\$\$|\$((?!\s)[^$]+?)\$", text, re.DOTALL):
            ElementTree.fromstring(mathml(block or inline, bool(block)))
            found += 1
    assert found > 300


# ---- the font -----------------------------------------------------------------------------------------------


def test_the_font():
    """It has each sign, with the tables that formulas need; the higher roots are as narrow as the lowest; it is the same each time."""
    pytest.importorskip("ziamath")
    tt = pytest.importorskip("fontTools.ttLib")
    import io
    data = math_font.font()
    found = tt.TTFont(io.BytesIO(data))
    known = found.getBestCmap()
    assert not [c for c in math_font.glyphs() if c > " " and ord(c) not in known]
    assert "MATH" in found and "SIL Open Font License" in found["name"].getDebugName(13) and len(data) < 50_000
    variants = found["MATH"].table.MathVariants
    forms = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(known[ord("√")])].MathGlyphVariantRecord
    assert len(forms) > 2 and len({found["hmtx"][form.VariantGlyph][0] for form in forms}) == 1
    math_font.font.cache_clear()
    assert math_font.font() == data
    assert "base64" in math_font.style() and math_font.style("x.woff").startswith('@font-face { font-family: "minigrad math"; src: url("x.woff")')


# ---- in a page ----------------------------------------------------------------------------------------------


def test_markdown_of_a_live_page():
    pytest.importorskip("mdit_py_plugins")
    markdown = pytest.importorskip("markdown_it").MarkdownIt
    assert "<mi>x</mi></math>" in formulas.in_markdown(markdown()).render("It is $x$.")
    assert "<code>\\foo</code>" in formulas.in_markdown(markdown(), strict=False).render(r"It is $\foo$.")
    with pytest.raises(FormulaError):
        formulas.in_markdown(markdown()).render(r"It is $\foo$.")


def test_the_build_names_the_page_and_the_line(tmp_path):
    for module in ("sphinx", "myst_nb"):
        pytest.importorskip(module)
    (tmp_path / "conf.py").write_text('extensions = ["myst_nb", "tools.docs.formulas"]\nmyst_enable_extensions = ["dollarmath"]\n'
                                      'html_math_renderer = "mathml"\nmyst_update_mathjax = False\n', "utf-8")
    (tmp_path / "index.md").write_text("# Formulas\n\nRight: $x^2$.\n\n$$\n\\bar y\n$$\n\nWrong: $a +\n\\foo$.\n", "utf-8")
    ran = subprocess.run([sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(tmp_path), str(tmp_path / "html")],
                         cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode != 0 and re.search(r"index\.md:9: WARNING: \\foo, which tools/docs/formulas.py does not know", ran.stderr), ran.stderr
    page = (tmp_path / "html/index.html").read_text("utf-8")
    assert "<msup><mi>x</mi><mn>2</mn></msup></math>" in page and '<div class="math"><math' in page and "mathjax" not in page.lower()


@pytest.mark.skipif(why_no_site() != "", reason=why_no_site())
def test_no_page_loads_a_program_for_formulas():
    assert not [path for path in HTML.rglob("*") if "mathjax" in path.name.lower()]
    for path in HTML.rglob("*.html"):
        assert not re.search(r"<script[^>]*mathjax|MathJax", path.read_text("utf-8")) or path.stem == "changelog", path
    page = (HTML / "tutorials/01_derivative_to_graph.html").read_text("utf-8")
    assert "<mover accent=\"true\"><mi>u</mi><mo stretchy=\"false\">¯</mo></mover>" in page
    assert (HTML / "_static/formulas.woff").stat().st_size < 50_000
