"""Colours: enough contrast for text (WCAG AA), light and dark, and states that differ in more than colour."""

import re

import pytest

from minigrad.viz._page import style, text

LIGHT = dict(re.findall(r"--([\w-]+):(#\w+)", text("style.css").partition("}")[0]))
DARK = dict(re.findall(r"--([\w-]+):(#\w+)", text("dark.css")))
STATES = ["wait", "ready", "run", "done", "fail", "leaf"]
TEXTS = [("fg", "bg"), ("fg", "panel"), ("soft", "bg"), ("soft", "panel"), ("accent", "bg"), ("bg", "accent"), ("leaf-l", "bg"),
         ("fail-l", "bg"), ("fail-l", "panel"), ("done-l", "bg"), ("done-l", "panel"), *[("fg", state) for state in STATES],
         ("soft", "ready"), ("soft", "run"), ("accent", "ready"), ("leaf-l", "ready"), ("accent", "run")]


def luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join([c * 2 for c in colour[1:]])
    parts = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    light, dark = sorted([luminance(a), luminance(b)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast(theme):
    assert set(theme) == set(LIGHT)
    low = {(a, b): round(contrast(theme[a], theme[b]), 2) for a, b in TEXTS if contrast(theme[a], theme[b]) < 4.5}
    low |= {(f"{state}-l", "bg"): round(contrast(theme[f"{state}-l"], theme["bg"]), 2) for state in STATES
            if contrast(theme[f"{state}-l"], theme["bg"]) < 3}
    assert not low


@pytest.mark.parametrize("state", ["wait", "ready", "run", "done", "fail", "skip"])
def test_states_have_a_shape_and_a_word(state):
    from minigrad.viz._step_builder import STATES as WORDS
    rule = re.findall(rf"\.mg-node\[data-v={state}\] rect[^{{]*{{([^}}]*)}}", text("style.css"))
    assert rule and WORDS[state]
    lines = {name: re.findall(r"stroke-(?:width|dasharray):[\d ]+", "".join(
        re.findall(rf"\.mg-node\[data-v={name}\] rect[^{{]*{{([^}}]*)}}", text("style.css")))) for name in WORDS}
    assert all(lines[state] != found for name, found in lines.items() if name not in (state, "made", "result", "fail", "run"))


def test_themes():
    """Dark if the system is and the page is not set to light; dark if the page is set to dark."""
    css = style()
    assert css.count(DARK["bg"]) == 2 and "prefers-color-scheme:dark" in css and "[data-theme=dark]" in css
    assert "prefers-reduced-motion" in css and ":focus-visible" in css and "</" not in css.removesuffix("</style>")
