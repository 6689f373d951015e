"""The concepts from A to Z, the signs, and the definitions that a tutorial shows."""

import re
from types import SimpleNamespace

import pytest

import minigrad as mg
from tools.docs import glossary, tutorials
from tools.docs.paths import DOCS, READMES, ROOT


def test_each_word_of_the_glossary_is_a_concept():
    page = glossary.concepts()
    for words, _, _ in glossary.rows():
        for word in words:
            assert page.count(f"| {word} | ") == 1 and f"{{ref}}`{word} <{glossary.anchor(word)}>`" in page


def test_they_are_in_the_order_of_the_alphabet():
    words = [word.removeprefix("to ").lower() for word in re.findall(r"^\| ([^|]+) \| (?!taught)", glossary.concepts(), re.MULTILINE)]
    assert len(words) > 70 and words == sorted(words)


def test_the_tutorial_uses_the_word():
    for word, path in glossary.taught().items():
        last = word.lower().split()[-1].removesuffix("f")       # leaves
        assert path is None or last in path.read_text("utf-8").lower(), f"{word} in {path}"


def test_a_word_that_no_tutorial_needs_is_explained_elsewhere():
    """Or its row says that it is a word of the code. No row is empty."""
    assert not re.search(r"^\| [^|]+ \|  \|", glossary.concepts(), re.MULTILINE)
    assert len(re.findall(r"\| in the code only \|", glossary.concepts())) <= 2
    for link, words in glossary.EXPLAINED.items():
        title, page = re.findall(r"\[(.+)\]\((.+)\)", link)[0]
        source = next((ROOT / name for name, place in READMES.items() if place == f"notes/{page}"), DOCS / "notes" / page)
        text = source.read_text("utf-8")
        assert f"# {title}\n" in text and not [word for word in words.split(", ") if word not in text], page


def test_the_names_are_there():
    for name in glossary.PUBLIC:
        assert eval(name, {"mg": mg}) is not None
    assert set(glossary.by_concept(glossary.PUBLIC)) <= set(glossary.taught())


@pytest.mark.parametrize("page", ["notation", "concepts"])
def test_links_lead_to_tutorials(page):
    text = glossary.concepts() if page == "concepts" else (DOCS / "notes/notation.md").read_text("utf-8")
    found = set(re.findall(r"\(\.\./tutorials/(\w+\.py)\)", text))
    assert found and found <= {path.name for path in tutorials.scripts()}
    for name in re.findall(r"\]\((\w+\.md)\)", text):
        assert name == "concepts.md" or f"notes/{name}" in READMES.values() or (DOCS / "notes" / name).exists()


def test_the_notation_is_linked():
    for page in ("start.md", "notes/index.md", "notes/glossary.md"):
        text = (DOCS / page).read_text("utf-8")
        assert "notation.md" in text and "concepts.md" in text


def test_the_first_use_of_a_word_shows_its_definition():
    nodes = pytest.importorskip("docutils.nodes", reason="docutils is not installed")
    builder = SimpleNamespace(format="html", get_relative_uri=lambda page, to: f"../{to}.html")
    page = nodes.section("", nodes.title("", "A leaf"), nodes.raw("", "<details><summary>More</summary>", format="html"),
                         nodes.paragraph("", "", nodes.Text("A leaf and a node in a fold.")), nodes.raw("", "</details>", format="html"),
                         nodes.paragraph("", "", nodes.Text("Two leaves and a "), nodes.literal("", "tape"), nodes.Text(". A leaf is round.")),
                         nodes.paragraph("", "", nodes.strong("", "edge"), nodes.Text(", an edge, a "),
                                         nodes.reference("", "vjp", refuri="../notes/glossary.html"), nodes.Text(", a leaf-like thing.")))
    glossary.explain(SimpleNamespace(builder=builder), page, "tutorials/x")
    html = "".join([raw.astext() for raw in page.findall(nodes.raw)])
    assert re.findall(r'aria-describedby="about-term-(\w+)"', html) == re.findall(r'id="about-term-(\w+)"', html) == ["node", "leaf", "vjp"]
    assert html.count("A tensor that no recorded op computed.") == 1 and "Vector-Jacobian product" in html
    assert page[2].astext().startswith("A leaf and a <a ") and page[4].astext().startswith("Two <a ")


def test_other_pages_are_left_alone():
    pytest.importorskip("docutils", reason="docutils is not installed")
    app = SimpleNamespace(builder=SimpleNamespace(format="html"))
    glossary.explain(app, None, "notes/engine")
    glossary.explain(SimpleNamespace(builder=SimpleNamespace(format="latex")), None, "tutorials/x")
