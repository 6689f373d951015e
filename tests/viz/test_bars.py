"""`mg.viz.bars`: a picture with the same numbers as the text, two series that differ in more than colour, and its errors."""

import re

import pytest

import minigrad as mg
from tests.viz.test_step import Reader


def widths(html, kind):
    return [float(wide) for wide in re.findall(rf'<rect [^>]*width="([\d.]+)" height="14"{kind}/>', html)]


def test_one_number_for_each_label():
    drawn = mg.viz.bars({1: 64, 8: 15.5, "zero": 0}, "tensors <kept>")
    assert repr(drawn).splitlines() == ["tensors <kept>", "   1    64  " + "#" * 40, "   8  15.5  " + "#" * 10, "zero     0"]
    html = drawn._repr_html_()
    Reader(html)
    assert "tensors &lt;kept&gt;. 1: 64; 8: 15.5; zero: 0" in html
    full, quarter, nothing = widths(html, "")
    assert quarter / full == pytest.approx(15.5 / 64, abs=1e-3) and nothing == 0


def test_two_numbers_for_each_label():
    drawn = mg.viz.bars({"a": [1, 2], "b": (4, 0)}, names=("freed", "kept"))
    html = drawn._repr_html_()
    Reader(html)
    assert len(widths(html, "")) == len(widths(html, ' class="mg-second"')) == 3     # the legend has one of each
    assert "stroke-dasharray" in re.findall(r"\.mg-bars rect\.mg-second\{(.*?)\}", html)[0]
    assert "freed and kept. a: 1 and 2; b: 4 and 0" in html
    assert repr(drawn).splitlines()[1] == "   kept   2  " + "#" * 20


def test_all_are_zero_and_there_are_none():
    assert repr(mg.viz.bars({"a": 0})) == "a  0"
    assert repr(mg.viz.bars({})) == ""
    Reader(mg.viz.bars({})._repr_html_())


def test_nothing_is_drawn_outside():
    html = mg.viz.bars({"a long label": 1_234_567_890, "b": 3})._repr_html_()
    wide = float(re.findall(r'viewBox="0 0 (\d+)', html)[0])
    for x, anchor, text in re.findall(r'<text x="([\d.]+)"[^>]*anchor="(\w+)">([^<]*)', html):
        start = float(x) - (7.3 * len(text) if anchor == "end" else 0)
        assert start >= 0 and start + 7.3 * len(text) <= wide


def test_save(tmp_path):
    mg.viz.bars({"a": 1}, "numbers").save(tmp_path / "bars.html")
    assert "<title>minigrad: numbers</title>" in (tmp_path / "bars.html").read_text("utf-8")


@pytest.mark.parametrize("numbers, names", [({"a": "x"}, ()), ({"a": None}, ()), ({"a": 1j}, ()), ({"a": mg.ones(1)}, ()), ({"a": mg.ones(2)}, ()),
                                            ({"a": (1, 2)}, (1, 2)), ({"a": -1}, ()), ({"a": float("nan")}, ()), ({"a": (1, 2)}, ()), ({"a": 1}, ("x", "y")), ({"a": 1}, ("x",))])
def test_what_it_refuses(numbers, names):
    with pytest.raises(ValueError, match=r"viz.bars\(\) expects (?s:.*)MG-E177"):
        mg.viz.bars(numbers, names=names)
    for arguments in [([1, 2],), ({"a": 1}, 3), ({"a": 1}, "", None), ({"a": 1}, "", 3)]:
        with pytest.raises(TypeError, match=r"bars\(\): argument"):
            mg.viz.bars(*arguments)
    assert mg.viz.bars({"a": 10 ** 400}).rows == {"a": (10 ** 400,)}


def test_the_class_checks_its_arguments_itself():
    with pytest.raises(TypeError, match=r"bars\(\): argument 'numbers' must be Mapping, not int(?s:.*)MG-E201"):
        type(mg.viz.bars({}))(0, "", ())
    with pytest.raises(ValueError, match="MG-E177"):
        type(mg.viz.bars({}))({}, "", ("a",))
