"""The drawn pictures of the tutorials: each is well drawn, can be read in light and dark, says what it shows, and is used."""

import functools
import importlib.util
import re
import xml.etree.ElementTree as ElementTree

import pytest

from tools.docs import drawing, pictures, stage, tutorials
from tools.docs.picture import DARK, LIGHT, Picture
from tools.docs.pictures import PICTURES

SVG = "{http://www.w3.org/2000/svg}"
SHOWN = {path: re.findall(r"!\[([^!]*?)\]\(pictures/([\w-]+)\.svg\)", re.sub(r"\n# ?", " ", path.read_text("utf-8")))
         for path in tutorials.scripts()}
LACKING = [module for module in ("fontTools", *[package for package, _ in drawing.FACES.values()])
           if importlib.util.find_spec(module) is None]
needs_fonts = pytest.mark.skipif(bool(LACKING), reason="the drawing needs the extra `docs`")


def each(test):
    """Run a test with the name of each picture."""
    return needs_fonts(pytest.mark.parametrize("name", PICTURES)(test))


@functools.cache
def svg(name):
    return PICTURES[name]().svg()


@needs_fonts
def test_the_files_are_what_is_drawn(monkeypatch, tmp_path):
    monkeypatch.setattr(pictures, "FOLDER", tmp_path / "pictures")
    pictures.write()
    (tmp_path / "pictures/old.svg").write_text("<svg/>")
    pictures.write()
    assert {path.stem: path.read_text("utf-8") for path in pictures.FOLDER.iterdir()} == {name: svg(name) for name in PICTURES}


@each
def test_a_screen_reader_has_words(name):
    root = ElementTree.fromstring(svg(name))
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None and description is not None and title.text and len(description.text or "") > 80
    assert root.attrib["role"] == "img" and root.attrib["aria-labelledby"] == f"{title.attrib['id']} {description.attrib['id']}"


@each
def test_a_tutorial_shows_it_with_its_description(name):
    root = ElementTree.fromstring(svg(name))
    alternatives = [words for found in SHOWN.values() for words, shown in found if shown == name]
    assert alternatives == [root.findtext(f"{SVG}desc")]


def test_each_picture_of_a_tutorial_exists():
    assert {name for found in SHOWN.values() for _, name in found} == set(PICTURES)


@each
def test_no_text_is_outside(name):
    root = ElementTree.fromstring(svg(name))
    _, _, wide, high = map(float, root.attrib["viewBox"].split())
    texts = root.findall(f"{SVG}text")
    assert texts
    for text in texts:
        x, y, size = [float(text.attrib[key]) for key in ("x", "y", "font-size")]
        assert x >= 0 and x + drawing.width(text.text or "", text.attrib["class"], size) <= wide, text.text
        assert y - 0.72 * size >= 0 and y + 0.2 * size <= high, text.text


@each
def test_each_colour_is_in_both_palettes(name):
    used = set(re.findall(r"var\(--([\w-]+)\)", svg(name)))
    assert used <= set(LIGHT) == set(DARK)
    assert not re.findall(r'(?:fill|stroke)="#', svg(name)), "a colour that stays the same in the dark"


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum([weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear)])


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read(palette):
    """The contrast that WCAG asks for: 4.5."""
    for ink in ("ink", "soft", "blue", "violet", "amber", "red"):
        for ground in ("paper", "panel", *[name for name in palette if name == f"pale-{ink}" or (ink in ("ink", "soft") and "-" in name)]):
            dark, light = sorted([luminance(palette[name]) for name in (ink, ground)])
            assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{ink} on {ground}"


@needs_fonts
def test_two_pictures_share_no_name():
    """In one page, the rules of one picture must not change another."""
    first, second = [Picture(name, 60, 40, name, "").svg() for name in ("one", "two")]
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (first, second)]
    assert not ids[0] & ids[1]
    for rule in re.findall(r"([^{}]*)\{[^{}]*\}", first.partition("<style>")[2].partition("</style>")[0]):
        assert "#one" in rule or "@font-face" in rule, rule


def test_the_page_about_speed_has_a_picture_of_the_saved_results():
    page = stage.speed()
    assert page.startswith("```{raw} html\n<div") and "1,000,000 numbers: " in page and "PyTorch: 1" in page


def test_no_tutorial_prints_bars():
    assert not [path.stem for path in tutorials.scripts() if re.search(r"""['"][#*=]['"] ?\* ?""", path.read_text("utf-8"))]
