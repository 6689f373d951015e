"""The graph at all steps, as an animated SVG: for slides, where a page with buttons does not fit.

    <style>@keyframes a0 { 0% {fill: ...} 12.5% {fill: ...} }       the colours of a box, step by step
           [data-c="n2.s"] rect { animation: a0 24s step-end infinite }</style>
    <text class="a1">waits for 1</text> <text class="a2">ready</text>   a text that changes is there once for each value

Nothing moves between two steps: ``step-end`` keeps each look until the next one. A reader who wants less motion sees the last step,
and so does a program that does not animate. The colours come from ``style.css``, the light ones.

The button of the page makes the same picture from what the browser shows (``step.js``).
"""

import functools
import re
from collections.abc import Sequence
from html import escape

from minigrad.viz._page import palette, text
from minigrad.viz._panels import about_graph, boxes_and_arrows, occurring
from minigrad.viz._picture import lay_out, svg
from minigrad.viz._timeline import Timeline, TimelineStep

__all__ = ["animated"]

LEAST = 460         # the width of a picture, at least: its caption needs room
CAPTION = 54        # the height of the caption
LETTER = 7.9        # the width of a letter of the caption
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
CHANGING = re.compile(r'(<text[^>]*?)(?: data-c="[^"]*" data-v="[^"]*")? data-t="([^"]*)">[^<]*</text>')
STILL = {"stroke-dasharray": "none", "opacity": "1"}       # properties that some states set


def animated(timeline: Timeline, steps: Sequence[TimelineStep], before: dict[str, str], seconds: float | None) -> str:
    """The picture of the graph after the last step; with `seconds` the steps follow each other, each for that time.

    Args:
        timeline (Timeline): the record.
        steps (list): the steps to show.
        before (dict): the state before the first of them.
        seconds (float or None): the time of a step; None for a picture that does not move.
    """
    states, state = [], before
    for step in steps:
        state = {**state, **step.changes}
        states.append(state)
    boxes, arrows = boxes_and_arrows(timeline, occurring(timeline, steps))
    layout = lay_out(boxes, arrows)
    about = about_graph(boxes)
    picture = svg(boxes, arrows, layout, about, lambda key: state.get(key, "")).partition(">")[2].removesuffix("</svg>")
    width, height = max(layout.width, LEAST), layout.height + (CAPTION if seconds else 0)
    left = (layout.width - width) / 2
    css = [f"{selector}{{{written(rule)}}}" for selector, rule in rules().items()]
    if seconds:
        film = Film(states, seconds)
        for box in boxes:
            film.look(f"{box.key}.s", ".mg-node", ".mg-leaf rect" if box.kind == "leaf" else "", "rect")
        for arrow in arrows:
            film.look(f"{arrow.key}.s", ".mg-edge", "", "path")
            film.look(f"{arrow.key}.s", ".mg-edge", ".mg-edge .mg-head", ".mg-head")
        picture = CHANGING.sub(film.texts, picture)
        most = int((width - 20) / LETTER)
        for line, y in ((first_line, 20), (lambda step: step.event.what, 40)):
            said = [shorten(line(step), most) for step in steps]
            picture += film.variants(f'<text class="mg-caption" x="{left + 10:g}" y="{layout.height + y:g}"', said)
        css += [*film.css, "@media (prefers-reduced-motion:reduce){*{animation:none!important}}"]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(about)}" width="{width:g}" '
            f'height="{height:g}" viewBox="{left:g} 0 {width:g} {height:g}"><style>{"".join(css)}</style>'
            f'<rect x="{left:g}" width="{width:g}" height="{height:g}" fill="{palette()["bg"]}"/>{picture}</svg>\n')


def first_line(step):
    """The first line of the caption."""
    event = step.event
    return f"{event.step} {event.kind} {event.node or ''} {event.op}".rstrip()


def shorten(words, most):
    return words if len(words) <= most else words[:most - 3] + "..."


class Film:
    """The rules of the animation. `states` is the state of all keys at each step, `seconds` the time of a step."""

    def __init__(self, states, seconds):
        self.states = states
        self.time = f"{seconds * len(states):g}s step-end infinite"
        self.css = []

    def animate(self, selector, looks):
        """Animate what `selector` finds: `looks` has its declarations at each step."""
        frames: dict[str, list[str]] = {}
        for k, look in enumerate(looks):
            if not k or look != looks[k - 1]:
                frames.setdefault(look, []).append(f"{100 * k / len(looks):.7g}%")
        name = f"a{len(self.css)}"
        parts = "".join([f"{','.join(times)}{{{look}}}" for look, times in frames.items()])
        self.css.append(f"@keyframes {name}{{{parts}}}{selector or '.' + name}{{animation:{name} {self.time}}}")
        return name

    def look(self, key, group, more, part):
        """Animate the colours of a part of a box or of an edge with its state."""
        values = [state.get(key, "") for state in self.states]
        if len(set(values)) > 1:
            self.animate(f'{group}[data-c="{key}"] {part}', [written(look_of(group, more, part, value)) for value in values])

    def texts(self, found):
        """The variants of a text; a label of an edge is seen while its gradient passes."""
        start, key = found.groups()
        values = [state.get(key, "") for state in self.states]
        if 'class="mg-label"' in start:
            states = [state.get(f"{key.removesuffix('.t')}.s", "") for state in self.states]
            values = [value if state == "now" else "" for value, state in zip(values, states)]
        return self.variants(start, values)

    def variants(self, start, values):
        """A text element for each of the values, seen at the steps that have it."""
        found = []
        for value in dict.fromkeys(values):
            seen = ["visibility:visible" if other == value else "visibility:hidden" for other in values]
            name = self.animate("", seen) if len(set(seen)) > 1 else ""
            style, _, rest = start.partition('class="')
            classed = f'{style}class="{name} {rest}' if rest else f'{start} class="{name}"'
            found.append(f'{classed} style="{seen[-1]}">{escape(value)}</text>' if value else "")
        return "".join(found)


# ---- the style sheet ----------------------------------------------------------------------------------------


@functools.cache
def rules():
    """The rules of ``style.css`` for graphs: selector -> declarations, with numbers for colours."""
    found = {".mg-caption": {"font": "13px ui-monospace,Menlo,Consolas,monospace", "fill": palette()["fg"]}}
    for line in text("style.css").splitlines():
        for selectors, body in RULE.findall(line) if line.startswith((".mg-node", ".mg-leaf", ".mg-edge", ".mg-label")) else ():
            plain = re.sub(r"var\(--([\w-]+)\)", lambda name: palette()[name[1]], body)
            for selector in selectors.split(","):
                if "mg-here" not in selector and ":not" not in selector:
                    found.setdefault(selector, {}).update(
                        [(name, value) for name, _, value in [pair.partition(":") for pair in plain.split(";")] if name])
    return found


def look_of(group, more, part, state):
    """All declarations of a part in a state. Each state has the same properties, or one would stay from an earlier state."""
    quoted = state or '""'
    known = rules()
    return STILL | known[f"{group} {part}"] | known.get(more, {}) | known.get(f"{group}[data-v={quoted}]", {}) \
        | known.get(f"{group}[data-v={quoted}] {part}", {})


def written(declarations):
    return ";".join([f"{name}:{value}" for name, value in declarations.items()])
