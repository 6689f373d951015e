"""A picture of a tutorial: a `Drawing` with a name, whose colours follow the page, light or dark.

    picture = Picture("two-paths", 560, 200, "Two paths", "Two paths lead from x to y. ...")
    box(picture, 60, 100, 90, 40, "x", "value")

The colours are CSS variables. A page says whether it is dark as furo and JupyterLab do; if it says nothing, the system does. The
file is complete in itself, as the cheat sheet is: it contains the glyphs that it uses. A notebook shows it too.

Read next: pictures.py, which draws all of them.
"""

import html

from tools.docs.drawing import Drawing, number, tag, width
from tools.docs.paths import ROOT

__all__ = ["BODY", "DARK", "FOLDER", "LIGHT", "SMALL", "Picture", "arrow", "box", "cells", "inline", "label"]

FOLDER = ROOT / "tutorials/pictures"
BODY, SMALL = 13.0, 11.5
LIGHT = {"paper": "#ffffff", "ink": "#1b1f24", "soft": "#57606a", "rule": "#c4ccd4", "panel": "#f3f5f8", "blue": "#0550ae",
         "pale-blue": "#e6f1ff", "violet": "#6a3fb5", "pale-violet": "#f1e8ff", "amber": "#8a5000", "pale-amber": "#fff3da",
         "red": "#b42318", "pale-red": "#ffebe9"}
DARK = {"paper": "#131416", "ink": "#e6edf3", "soft": "#a4aeb8", "rule": "#4a525b", "panel": "#1f242a", "blue": "#82bdff",
        "pale-blue": "#10253f", "violet": "#c8adff", "pale-violet": "#2b2142", "amber": "#f0b45a", "pale-amber": "#38290f",
        "red": "#ff9a90", "pale-red": "#43201d"}


class Picture(Drawing):
    """A drawing whose colours are the names in `LIGHT` and `DARK`."""

    def __init__(self, name, width, height, title, description):
        super().__init__(width, height, title, description, margin=6.0)
        self.name = name

    def svg(self):
        """The picture as SVG. Two of them can be in one page: ids and fonts have the name of the picture."""
        def variables(palette):
            return "".join([f"--{colour}:{value};" for colour, value in palette.items()])

        size = f"{number(self.width)} {number(self.height)}"
        dark = f"{{{variables(DARK)}}}"
        style = (f"#{self.name}{{{variables(LIGHT)}}}"
                 f"@media(prefers-color-scheme:dark){{#{self.name}:not([data-theme=light] *,[data-jp-theme-light=true] *){dark}}}"
                 f":is([data-theme=dark],[data-jp-theme-light=false]) #{self.name}{dark}"
                 f"#{self.name} text{{font-kerning:none;font-variant-ligatures:none;white-space:pre}}"
                 f"{self.fonts(self.name, f'#{self.name} ')}")
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" id="{self.name}" width="{number(self.width)}" '
                f'height="{number(self.height)}" viewBox="0 0 {size}" role="img" '
                f'aria-labelledby="{self.name}-title {self.name}-desc">')
        return "\n".join([head, f'<title id="{self.name}-title">{html.escape(self.title)}</title>',
                          f'<desc id="{self.name}-desc">{html.escape(self.description)}</desc>', f"<style>{style}</style>",
                          '<rect width="100%" height="100%" rx="6" fill="var(--paper)"/>',
                          *[tag(*[colour(part) for part in item]) for item in self.items], "</svg>", ""])


def colour(part):
    """A part of an item; the name of a colour as its CSS variable."""
    return f"var(--{part})" if isinstance(part, str) and part in LIGHT else part


def inline(path):
    """The HTML of a picture inside a page. It can be scrolled on a small screen, so the keyboard reaches it."""
    return f'<figure class="picture" tabindex="0">\n{path.read_text("utf-8")}</figure>'


def label(d, x, y, text, size=SMALL, face="sans", ink="soft", anchor="middle"):
    """A text; by default a small one, centred at `x`."""
    return d.text(x, y, text, size, face, ink, anchor)


def box(d, x, y, wide, high, title, below="", kind="blue", radius=4.0):
    """A box with its centre at (x, y): a title in fixed pitch, and a line of text below it."""
    d.rect(x - wide / 2, y - high / 2, wide, high, f"pale-{kind}" if kind != "rule" else "panel", kind, radius)
    size = BODY if width(title, "mono", BODY) < wide - 8 else SMALL
    label(d, x, y - 3 if below else y + 4.5, title, size, "mono", "ink")
    if below:
        label(d, x, y + 13, below)


def cells(d, x, y, values, kind="blue", wide=34.0, high=24.0, marked=()):
    """A row of numbers in memory, from its left edge `x` and its top edge `y` on. `marked` cells are amber."""
    for i, value in enumerate(values):
        shade = "amber" if i in marked else kind
        d.rect(x + i * wide, y, wide, high, "panel" if shade == "rule" else f"pale-{shade}", shade)
        label(d, x + (i + 0.5) * wide, y + high / 2 + 4.5, value, BODY, "mono", "ink")


def arrow(d, points, ink="soft", thickness=1.4, **how):
    """A line with an arrowhead at its end."""
    d.line(points, ink, thickness, arrow=True, head=9.0, **how)
