"""Numbers as bars: a picture in a notebook, lines of text in a terminal.

A row has a label and one number, or two numbers that are compared. Then the second bar has another colour and a dashed outline, so
that readers who do not see colours can tell them apart too. Each bar has its number beside it.

Read next: ``_page.py``, which has the parts of every fragment.
"""

import math
import os
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from minigrad._arguments import instance, sized
from minigrad.errors import TensorValueError
from minigrad.viz._page import escape, fragment, page, style, tag

__all__ = ["Bars"]

WIDTH = 460.0       # of the picture: on a phone it becomes a little smaller, and can still be read
LETTER = 7.3        # the width of a character of its font
THICK = 14          # the height of a bar
REAL: Any = Real    # Python's and NumPy's numbers, for `isinstance`
COLUMNS = 40        # the longest bar in a terminal


class Bars:
    """Rows of bars. `viz.bars` makes them, and documents them.

    rows        label -> its numbers

    >>> mg.viz.bars({"a": 1, "b": 2}).rows
    {'a': (1,), 'b': (2,)}
    """

    def __init__(self, rows: Mapping[Any, Any], title: str, names: Sequence[str]):
        names = sized(names, "names", "bars", "tuple of str")
        if len(names) not in (0, 2) or not all([isinstance(name, str) for name in names]):
            raise TensorValueError("MG-E177", f"viz.bars() expects the names of two numbers, or none, but got names={names!r}")
        expected = max(len(names), 1)
        self.rows: dict[str, tuple[float, ...]] = {}
        self.title = instance(title, str, "title", "bars")
        self.names = tuple(names)
        for label, value in instance(rows, Mapping, "numbers", "bars").items():
            numbers: tuple[Any, ...] = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
            if len(numbers) != expected or not all([isinstance(number, REAL) and 0 <= number < math.inf for number in numbers]):
                wanted = "two finite numbers" if names else "a finite number"
                raise TensorValueError("MG-E177", f"viz.bars() expects {wanted} of at least 0 for each label, but got {value!r} "
                                       f"for {label!r}", fix="x.item(), or x.tolist()" if hasattr(value, "tolist") else None)
            self.rows[str(label)] = numbers

    def _bars(self):
        """(label, number of the series, number, its part of the largest one) for each bar."""
        most = max([number for numbers in self.rows.values() for number in numbers], default=0) or 1
        return [(label, i, number, number / most) for label, numbers in self.rows.items() for i, number in enumerate(numbers)]

    def svg(self) -> str:
        """The picture as an SVG element, without the style sheet with its colours."""
        bars, both = self._bars(), len(self.names) == 2
        left = LETTER * max(map(len, self.rows), default=0) + 10
        longest = WIDTH - left - 14 - LETTER * max([len(written(number)) for _, _, number, _ in bars], default=0)
        parts, y, x = [], 8, left
        for i, name in enumerate(self.names if both else ()):
            parts += [bar(x, y, 22, i), letters(x + 28, y, name)]
            x += 28 + LETTER * (len(name) + 3)
        y += 26 if both else 0
        for label, i, number, part in bars:
            if i == 0:
                parts.append(letters(left - 8, y + (THICK / 2 if both else 0), label, "end"))
            parts += [bar(left, y, longest * part, i), letters(left + longest * part + 6, y, written(number))]
            y += THICK + (2 if both and i == 0 else 8)
        said = "; ".join([f"{label}: {' and '.join(map(written, numbers))}" for label, numbers in self.rows.items()])
        heading = ", ".join([part for part in (self.title, " and ".join(self.names)) if part])
        return (f'<svg viewBox="0 0 {WIDTH:g} {y:g}" role="img" aria-label="{escape(f"{heading}. {said}" if heading else said)}">'
                f"{''.join(parts)}</svg>")

    def _repr_html_(self) -> str:
        heading = tag("p", escape(self.title), cls="mg-title") if self.title else ""
        return fragment("mg-bars", self.title or "bars", style() + heading + self.svg())

    def __repr__(self) -> str:
        wide = max(map(len, self.rows), default=0)
        name = max(map(len, self.names), default=0)
        bars = self._bars()
        digits = max([len(written(number)) for _, _, number, _ in bars], default=0)
        lines = [self.title] if self.title else []
        for label, i, number, part in bars:
            series = f"{self.names[i]:<{name}}  " if self.names else ""
            line = f"{label if i == 0 else '':>{wide}}  {series}{written(number):>{digits}}  {'#' * round(COLUMNS * part)}"
            lines.append(line.rstrip())
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a complete HTML page."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(page(f"minigrad: {self.title or 'bars'}", self._repr_html_()))


def bar(x, y, wide, series):
    """A bar of the first or the second series."""
    kind = ' class="mg-second"' if series else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{THICK}"{kind}/>'


def letters(x, y, text, anchor="start"):
    """A text in the middle of the bar whose upper edge is `y`."""
    return f'<text x="{x:.1f}" y="{y + THICK - 3:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def written(number):
    """A number as text: an integer with all digits, another one with four."""
    return f"{number:,}" if isinstance(number, int) else f"{number:,.4g}"
