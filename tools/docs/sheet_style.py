"""What the two pages of the cheat sheet share: the size, twelve columns, one type scale, few colours, headings and tables."""

from tools.docs.drawing import SMALLEST

PAGE = 841.89, 595.28
MARGIN, GUTTER = 28.0, 18.0
COLUMN = (PAGE[0] - 2 * MARGIN - 11 * GUTTER) / 12
TITLE, HEADING, BODY, SMALL = 18.0, 10.0, 7.6, SMALLEST
LEADING = 9.8
INK, SOFT, RULE, PANEL = "#1b1f24", "#57606a", "#d0d7de", "#f6f8fa"
BLUE, PALE_BLUE, VIOLET, PALE_VIOLET, AMBER = "#0550ae", "#e6f1ff", "#6a3fb5", "#f1e8ff", "#9a5b00"
GAP = 4.5       # between paragraphs
ROW = 12.0      # of a table


def column(n):
    """The left edge of column `n`."""
    return MARGIN + n * (COLUMN + GUTTER)


def span(n):
    """The width of `n` columns."""
    return n * COLUMN + (n - 1) * GUTTER


def heading(d, x, y, wide, number, text):
    """A rule over the width of a section, and its title. Return the first baseline below."""
    d.line([(x, y), (x + wide, y)], RULE)
    d.line([(x, y), (x + 22, y)], BLUE, 1.6)
    end = d.text(x, y + 14.5, f"{number}", HEADING, "bold", BLUE)
    d.text(end + 5, y + 14.5, text, HEADING, "bold")
    return y + 30


def table(d, columns, y, wide, names):
    """The head of a table. Return the baseline of its first row."""
    for x, name in zip(columns, names):
        d.text(x, y, name, SMALL, colour=SOFT)
    d.line([(columns[0], y + 3.2), (columns[0] + wide, y + 3.2)], RULE, 0.6)
    return y + ROW + 1.5
