"""The font of the formulas: STIX Two Math with the glyphs that they need, 40 kB, one file of the site.

MathML needs a font with tables for fractions, roots and tall brackets. Many systems have none.
"""

import base64
import functools
import unicodedata

from tools.docs.fonts import cut, packaged
from tools.docs.formulas import characters

__all__ = ["font", "style"]

CSS = """@font-face { font-family: "minigrad math"; src: url("{font}") format("woff"); font-display: swap; }
math { font-family: "minigrad math", math; font-size: 1.08em; }
div.math { overflow-x: auto; overflow-y: hidden; margin: 1rem 0; padding: 0.1rem 0; }
"""


def style(address=""):
    """The style sheet that formulas need. `address` is that of the font; without one, the font is a part of the sheet."""
    return CSS.replace("{font}", address or f"data:font/woff;base64,{base64.b64encode(font()).decode()}")


def glyphs():
    """The characters of formulas, and the italic form of each letter, which a browser shows instead of it."""
    known = characters()
    italic = [chr(i) for i in (*range(0x1D434, 0x1D468), *range(0x1D6A4, 0x1D71C), 0x210E)]
    return known + "".join([c for c in italic if unicodedata.normalize("NFKD", c) in known])


@functools.cache
def font():
    """The font of formulas with the glyphs that it needs: a WOFF file."""
    file = packaged("ziamath", "fonts/STIXTwoMath-Regular.ttf", "formulas need ziamath, which contains the font STIX Two Math")
    return cut(file, glyphs(), [0, 1, 2, 4, 5, 13, 14], change=narrow_roots)


def narrow_roots(found):
    """Make the higher forms of the root sign as narrow as the lowest. A browser leaves room for the widest, whichever it shows."""
    variants = found["MATH"].table.MathVariants
    root = found.getBestCmap()[ord("√")]
    wide = found["hmtx"][root][0]
    forms = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(root)]
    forms.GlyphAssembly = None
    for name in [record.VariantGlyph for record in forms.MathGlyphVariantRecord]:
        glyph, factor = found["glyf"][name], wide / found["hmtx"][name][0]
        glyph.coordinates.scale((factor, 1))
        glyph.coordinates.toInt()
        glyph.recalcBounds(found["glyf"])
        found["hmtx"][name] = wide, glyph.xMin
