"""Tables of text for the reports of `mg.debug`."""

__all__ = ["table"]


def table(rows, align_right=()):
    """Return the lines of a table. The cells of `rows` are texts; `align_right` lists the columns that are aligned right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join([cell.rjust(width) if i in align_right else cell.ljust(width)
                       for i, (cell, width) in enumerate(zip(row, widths))]).rstrip() for row in rows]
