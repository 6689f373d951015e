"""A page of text and lines, written as SVG and as PDF: one list of items, two writers, so that both show the same.

    drawing = Drawing(842, 595, "Cheat sheet")
    drawing.text(20, 40, "Hello", size=18, face="bold")
    drawing.svg()  ->  str          drawing.pdf()  ->  bytes

Lengths are points (1/72 inch), and y counts downwards, as in SVG. The text is set in IBM Plex, and both files contain their glyphs.
So the width of each text is known here, and `check` can refuse a page with overlapping or cut text.
"""

import base64
import functools
import html
import io
import re
from typing import Any

from tools.docs.fonts import cut, packaged

__all__ = ["FACES", "SMALLEST", "Drawing", "font", "pieces", "width"]

SMALLEST = 7.0      # the smallest text that still reads well on paper
FACES = {"sans": ("fontpkg_ibm_plex_sans_condensed", "IBMPlexSansCondensed-Regular.ttf"),
         "bold": ("fontpkg_ibm_plex_sans_condensed", "IBMPlexSansCondensed-SemiBold.ttf"),
         "mono": ("fontpkg_ibm_plex_mono", "IBMPlexMono-Regular.ttf")}
MARKS = {"`": "mono", "*": "bold"}


def font(face):
    """The file of a face."""
    package, name = FACES[face]
    return packaged(package, f"files/{name}", f"the documentation needs {package.replace('_', '-')}, a font")


@functools.cache
def advances(face):
    """Width of each character of a face, in thousandths of the size."""
    from fontTools.ttLib import TTFont

    with TTFont(font(face)) as found:
        head: Any = found["head"]       # its fields are made while it is read
        characters: Any = found.getBestCmap()
        return {chr(code): found["hmtx"][name][0] * 1000 / head.unitsPerEm for code, name in characters.items()}


def width(text, face, size):
    """Width of a text in one line. A character that the font lacks raises KeyError."""
    return sum([advances(face)[c] for c in text]) * size / 1000


def pieces(markup):
    """``"a `b` *c*"`` as [("a ", "sans"), ("b", "mono"), (" ", "sans"), ("c", "bold")]."""
    found = re.split(r"(`[^`]+`|\*[^*]+\*)", markup)
    return [(part[1:-1], MARKS[part[0]]) if part[0] in MARKS and len(part) > 2 else (part, "sans") for part in found if part]


def words(markup):
    """The words of a text, each a list of pieces without a space. Code that has spaces is one word: it is not broken."""
    found: list[list[tuple[str, str]]] = [[]]
    for part, face in pieces(markup):
        for i, word in enumerate([part] if face == "mono" else part.split(" ")):
            if i:
                found.append([])
            if word:
                found[-1].append((word, face))
    return [word for word in found if word]


class Drawing:
    """Items on a page. Each is a tuple: what it is, then its numbers and looks."""

    def __init__(self, width, height, title, description="", margin=20.0):
        self.width = width
        self.height = height
        self.title = title
        self.description = description
        self.margin = margin        # no text there
        self.items: list[tuple] = []

    # ---- what can be drawn ------------------------------------------------------------------------------

    def rect(self, x, y, wide, high, fill="none", stroke="none", radius=0.0):
        self.items.append(("rect", x, y, wide, high, fill, stroke, radius))

    def circle(self, x, y, radius, fill="none", stroke="none", thickness=1.0):
        self.items.append(("circle", x, y, radius, fill, stroke, thickness))

    def line(self, points, colour, thickness=0.8, arrow=False, dashed=False, curved=False, head=5.0):
        """Straight lines through `points`; or, if `curved`, a Bezier curve, whose points are four. `head` is an arrow's length."""
        points = list(points)
        if arrow:
            (x0, y0), (x1, y1) = points[-2:]
            length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
            ux, uy = (x1 - x0) / length, (y1 - y0) / length
            back, side = (x1 - head * ux, y1 - head * uy), 0.4 * head
            self.items.append(("polygon", ((x1, y1), (back[0] - side * uy, back[1] + side * ux),
                                           (back[0] + side * uy, back[1] - side * ux)), colour))
            points[-1] = (x1 - 0.8 * head * ux, y1 - 0.8 * head * uy)
        self.items.append(("line", tuple(points), curved, colour, thickness, dashed))

    def text(self, x, y, text, size, face="sans", colour="#1b1f24", anchor="start"):
        """A text whose baseline is at `y`. Return the x at which it ends."""
        wide = width(text, face, size)
        x -= {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        self.items.append(("text", x, y, text, size, face, colour))
        return x + wide

    def paragraph(self, x, y, wide, markup, size, leading, colour="#1b1f24", code_colour=None):
        """Lines of text, broken at `wide`, from the baseline `y` on. Return the baseline of the line after it.

        `code` is in a fixed pitch, *bold* is bold. A word that is wider than the column raises ValueError.
        """
        space = width(" ", "sans", size)
        at = x
        line: list[tuple[float, str, str]] = []

        def flush():
            for left, text, face in line:
                self.text(left, y, text, self.size(face, size), face, code_colour or colour if face == "mono" else colour)
            line.clear()

        for word in words(markup):
            needed = sum([width(text, face, self.size(face, size)) for text, face in word])
            if needed > wide:
                raise ValueError(f"{''.join([text for text, _ in word])!r} is wider than its column, {wide:.0f} points")
            if line and at + 1.4 * space + needed > x + wide:
                flush()
                at, y = x, y + leading
            between = " " if line else ""
            for text, face in word:
                if between and line[-1][2] == face != "mono":       # one run of text, so that it can be searched and copied
                    at, before, _ = line.pop()
                    text = before + between + text
                elif between:
                    at += space * (1.4 if "mono" in (face, line[-1][2]) else 1)
                line.append((at, text, face))
                at += width(text, face, self.size(face, size))
                between = ""
        flush()
        return y + leading

    @staticmethod
    def size(face, size):
        """Code beside text of a size: its letters are wider and look larger."""
        return max(SMALLEST, size * 0.92) if face == "mono" else size

    # ---- what can be wrong ------------------------------------------------------------------------------

    def boxes(self):
        """Each text and the rectangle that its letters fill: (text, left, top, right, bottom)."""
        return [(text, x, y - 0.72 * size, x + width(text, face, size), y + 0.2 * size)
                for kind, *rest in self.items if kind == "text" for x, y, text, size, face, _ in [rest]]

    def check(self):
        """Raise ValueError if a text is too small, is in the margin, overlaps another, or crosses the edge of a box."""
        small = [item[3] for item in self.items if item[0] == "text" and item[4] < SMALLEST]
        boxes = self.boxes()
        edge = self.margin - 0.5
        outside = [b[0] for b in boxes if min(b[1], b[2], self.width - b[3], self.height - b[4]) < edge]
        overlapping = [(a[0], b[0]) for i, a in enumerate(boxes) for b in boxes[:i]
                       if a[1] < b[3] and b[1] < a[3] and a[2] < b[4] and b[2] < a[4]]
        edges = [item[1:5] for item in self.items if item[0] == "rect"]
        crossing = [b[0] for b in boxes for x, y, w, h in edges if b[1] < x + w and x < b[3] and b[2] < y + h and y < b[4]
                    and not (x < b[1] and b[3] < x + w and y < b[2] and b[4] < y + h)]
        if small or outside or overlapping or crossing:
            raise ValueError(f"texts that are too small: {small}; in the margin: {outside}; on another text: {overlapping}; "
                             f"on the edge of a box: {crossing}")

    # ---- SVG --------------------------------------------------------------------------------------------

    def svg(self):
        """The page as SVG, complete in itself: with its fonts, and a white background."""
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width / 72 * 25.4:.0f}mm" '
                f'height="{self.height / 72 * 25.4:.0f}mm" viewBox="0 0 {number(self.width)} {number(self.height)}" role="img">')
        return "\n".join([head, f"<title>{html.escape(self.title)}</title>", f"<desc>{html.escape(self.description)}</desc>",
                          f"<style>text{{font-kerning:none;font-variant-ligatures:none;white-space:pre}}{self.fonts('sheet')}</style>",
                          '<rect width="100%" height="100%" fill="#fff"/>', *[tag(*item) for item in self.items], "</svg>", ""])

    def fonts(self, name, scope=""):
        """The style rules of the faces that the page uses. `scope` is a selector: the rules are for the texts in it."""
        return "".join([f"@font-face{{font-family:{name}-{face};src:url(data:font/woff;base64,{self.subset(face)})}}"
                        f"{scope}.{face}{{font-family:{name}-{face},{'monospace' if face == 'mono' else 'sans-serif'}}}"
                        for face in FACES if self.characters(face)])

    def characters(self, face):
        """The characters that the page uses of a face."""
        return "".join(sorted({c for item in self.items if item[0] == "text" and item[5] == face for c in item[3]}))

    def subset(self, face):
        """The glyphs that the page uses of a face: a WOFF font in base64."""
        return base64.b64encode(cut(font(face), self.characters(face) + " ", dropped=["meta"])).decode()

    # ---- PDF --------------------------------------------------------------------------------------------

    def pdf(self, *more):
        """The page as PDF, and more drawings as its next pages. The same drawings give the same bytes."""
        from reportlab.pdfbase import pdfmetrics
        from reportlab.pdfbase.ttfonts import TTFont
        from reportlab.pdfgen.canvas import Canvas

        for face in FACES:
            if f"sheet-{face}" not in pdfmetrics.getRegisteredFontNames():
                pdfmetrics.registerFont(TTFont(f"sheet-{face}", str(font(face))))
        target = io.BytesIO()
        canvas = Canvas(target, pagesize=(self.width, self.height), invariant=1, pageCompression=1, lang="en")
        canvas.setTitle(self.title)
        canvas.setSubject(self.description)
        canvas.setAuthor("the minigrad authors")
        canvas.setCreator("minigrad")
        for drawing in (self, *more):
            drawing.paint(canvas)
            canvas.showPage()
        canvas.save()
        return target.getvalue()

    def paint(self, canvas):
        """Draw the items on a page of a PDF."""
        from reportlab.lib.colors import HexColor

        canvas.setLineCap(1)
        canvas.setLineJoin(1)

        def paint(fill, stroke, thickness=0.8):
            if fill != "none":
                canvas.setFillColor(HexColor(fill))
            if stroke != "none":
                canvas.setStrokeColor(HexColor(stroke))
            canvas.setLineWidth(thickness)
            return {"fill": int(fill != "none"), "stroke": int(stroke != "none")}

        for kind, *rest in self.items:
            if kind == "text":
                x, y, text, size, face, colour = rest
                canvas.setFillColor(HexColor(colour))
                canvas.setFont(f"sheet-{face}", size)
                canvas.drawString(x, self.height - y, text)
            elif kind == "rect":
                x, y, wide, high, fill, stroke, radius = rest
                canvas.roundRect(x, self.height - y - high, wide, high, radius, **paint(fill, stroke))
            elif kind == "circle":
                x, y, radius, fill, stroke, thickness = rest
                canvas.circle(x, self.height - y, radius, **paint(fill, stroke, thickness))
            else:
                points = [(x, self.height - y) for x, y in rest[0]]
                path = canvas.beginPath()
                path.moveTo(*points[0])
                if kind == "line" and rest[1]:
                    path.curveTo(*points[1], *points[2], *points[3])
                else:
                    for point in points[1:]:
                        path.lineTo(*point)
                if kind == "polygon":
                    path.close()
                    canvas.drawPath(path, **paint(rest[1], "none"))
                else:
                    canvas.setDash(*([1.5, 2.5] if rest[4] else []))
                    canvas.drawPath(path, **paint("none", rest[2], rest[3]))
                    canvas.setDash()


def number(value):
    """A number with two digits after the point, at most."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def tag(kind, *rest):
    """An item as SVG."""
    if kind == "text":
        x, y, text, size, face, colour = rest
        return (f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" class="{face}" fill="{colour}">'
                f"{html.escape(text)}</text>")
    if kind == "rect":
        x, y, wide, high, fill, stroke, radius = rest
        return (f'<rect x="{number(x)}" y="{number(y)}" width="{number(wide)}" height="{number(high)}" rx="{number(radius)}" '
                f'fill="{fill}" stroke="{stroke}" stroke-width=".8"/>')
    if kind == "circle":
        x, y, radius, fill, stroke, thickness = rest
        return (f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" fill="{fill}" stroke="{stroke}" '
                f'stroke-width="{number(thickness)}"/>')
    points = [f"{number(x)} {number(y)}" for x, y in rest[0]]
    if kind == "polygon":
        return f'<path d="M{" L".join(points)}Z" fill="{rest[1]}"/>'
    _, curved, colour, thickness, dashed = rest
    path = f"M{points[0]} C{' '.join(points[1:])}" if curved else f"M{' L'.join(points)}"
    dash = ' stroke-dasharray="1.5 2.5"' if dashed else ""
    return (f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{number(thickness)}" stroke-linecap="round" '
            f'stroke-linejoin="round"{dash}/>')
