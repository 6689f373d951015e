"""The steps as an animated SVG: one frame per step, with the states and texts of the timeline; it is well-formed XML."""

import re
from xml.etree import ElementTree

import pytest

import minigrad as mg
from minigrad.viz._animation import look_of, palette, rules, written
from minigrad.viz._step_builder import STATES, build_steps
from minigrad.viz._timeline import Timeline
from tests.viz.programs import RECORDS, diamond, everything

SVG = "{http://www.w3.org/2000/svg}"


class Shown:
    """An animated picture at any time, as a browser would show it: each look lasts until the next one."""

    def __init__(self, text):
        self.root = ElementTree.fromstring(text)
        self.css = self.root.find(f"{SVG}style").text
        self.frames, self.animated, times = {}, {}, set()
        for name, body, selector, used, time in re.findall(
                r"@keyframes (a\d+)\{((?:[^{}]*\{[^{}]*\})*)\}([^{}]+)\{animation:(a\d+) ([\d.]+)s step-end infinite\}", self.css):
            assert name == used
            self.frames[name] = sorted([(float(at), look) for places, look in re.findall(r"([^{}]*)\{([^{}]*)\}", body)
                                        for at in places.replace("%", "").split(",")])
            assert self.frames[name][0][0] == 0
            self.animated[selector] = name
            times.add(float(time))
        self.time, = times

    def at(self, name, seconds):
        return [look for begins, look in self.frames[name] if begins <= 100 * seconds / self.time][-1]

    def fills(self, seconds):
        """Node -> its colour."""
        return {key: re.search(r"fill:([^;]*)", self.at(name, seconds))[1] for selector, name in self.animated.items()
                for key in re.findall(r'^\.mg-node\[data-c="(\w+)\.s"\] rect$', selector)}

    def texts(self, seconds):
        """The texts that can be seen."""
        return [e.text for e in self.root.iter(f"{SVG}text") if "visible" in (
            self.at(e.get("class").split()[0], seconds) if re.match(r"a\d+", e.get("class", "")) else "visible")]


@pytest.mark.parametrize("name", RECORDS)
def test_each_step_is_a_frame(name, tmp_path):
    """With the ready nodes in the colour of ready ones, and its number in the caption; all steps take their time."""
    r = RECORDS[name]()
    mg.viz.step(r).save(tmp_path / "steps.svg", animate=0.5)
    shown, state = Shown((tmp_path / "steps.svg").read_text("utf-8")), {}
    assert shown.time == 0.5 * len(r.events)
    nodes = set(shown.fills(0))
    ever = set()
    for k, step in enumerate(build_steps(Timeline(r))):
        state.update(step.changes)
        ready = {key[:-2] for key, value in state.items() if re.fullmatch(r"n\d+\.s", key) and value == "ready"}
        found = {node for node, fill in shown.fills(0.5 * k + 0.25).items() if fill == palette()["ready"]}
        assert found == ready and ready <= nodes, k
        ever |= ready
        said = shown.texts(0.5 * k + 0.25)
        kinds = "|".join({event.kind for event in r.events})
        assert [text for text in said if re.match(rf"\d+ ({kinds})( n|$)", text or "")] == [
            f"{step.event.step} {step.event.kind} {step.event.node or ''} {step.event.op}".rstrip()]
        assert all(value in said for key, value in state.items() if re.fullmatch(r"n\d+\.t", key) and value and key[:-2] in nodes)
    assert ever


def test_a_part_of_a_record(tmp_path):
    mg.viz.step(everything(), first=50, most=20).save(tmp_path / "part.svg", animate=2)
    shown = Shown((tmp_path / "part.svg").read_text("utf-8"))
    assert shown.time == 40 and any(text.startswith("50 ") for text in shown.texts(1) if text)


def test_less_motion(tmp_path):
    """Without the animation the picture is that of the last step."""
    mg.viz.step(diamond()).save(tmp_path / "steps.svg", animate=1)
    mg.viz.step(diamond()).save(tmp_path / "last.svg")
    moving, still = [(tmp_path / name).read_text("utf-8") for name in ("steps.svg", "last.svg")]
    assert "prefers-reduced-motion:reduce){*{animation:none!important}}" in moving and "animation" not in still
    nodes = r'data-c="(n\d+\.s)" data-v="(\w+)"'
    assert re.findall(nodes, moving) == re.findall(nodes, still) and 'data-v="done"' in still
    ElementTree.fromstring(still)
    seen = [e.text for e in ElementTree.fromstring(moving).iter(f"{SVG}text") if e.get("style", "visible") != "visibility:hidden"]
    assert re.match(r"42 end n\d SumBackward0", seen[-2]) and "ran 1st" in seen


def test_it_needs_nothing_else(tmp_path):
    mg.viz.step(diamond()).save(tmp_path / "steps.svg", animate=1)
    text = (tmp_path / "steps.svg").read_text("utf-8")
    assert not re.search(r"<script|url\(|@import|var\(|href", text)


@pytest.mark.parametrize("state", ["", *STATES])
def test_each_look_is_complete(state):
    """Every state sets the same properties; otherwise one would stay from an earlier state."""
    assert "fill" in rules()[".mg-node rect"]
    for more in ("", ".mg-leaf rect"):
        assert set(look_of(".mg-node", more, "rect", state)) == {"fill", "stroke", "stroke-width", "stroke-dasharray", "opacity"}
    assert "var(" not in written(look_of(".mg-node", "", "rect", state))


@pytest.mark.parametrize("name, seconds", [("steps.html", 1), ("steps.svg", 0), ("steps.svg", -1)])
def test_refusals(name, seconds, tmp_path):
    with pytest.raises(ValueError, match="animates an SVG"):
        mg.viz.step(diamond()).save(tmp_path / name, animate=seconds)


def test_nothing_recorded(tmp_path):
    mg.viz.step(mg.debug.record()).save(tmp_path / "none.svg", animate=1)
    ElementTree.fromstring((tmp_path / "none.svg").read_text("utf-8"))
