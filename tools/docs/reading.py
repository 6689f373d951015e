"""How long a tutorial takes: the words and the lines of code that a reader meets, in minutes.

A reader in a second language reads about 200 words a minute, and follows about 10 lines of code a minute. What is folded is deeper:
it stands between <details> and </details>, or in a section whose title begins with "Deeper: " (docs/conf.py folds such sections).
The exercises are apart: each reader needs another time for them. The solutions, which are folded too, count for nothing.
"""

import re
from typing import NamedTuple

__all__ = ["DEEPER", "Time", "fold", "sections", "time"]

WORDS, LINES = 200, 10      # in a minute
DEEPER = "Deeper: "
CELL = re.compile(r"^# %%(.*)\n", re.MULTILINE)
FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)


class Time(NamedTuple):
    """What there is to read: words, and lines of code."""

    words: int = 0
    lines: int = 0

    def __add__(self, other):
        return Time(self.words + other.words, self.lines + other.lines)

    @property
    def minutes(self):
        return self.words / WORDS + self.lines / LINES


def sections(path):
    """The titles of a script's sections, each with its level, the time for what is open and the time for what is folded.

    A section in a folded one is folded too.
    """
    found, folded = [], 7       # a section is folded if its level is deeper than `folded`
    _, *cells = CELL.split(path.read_text("utf-8"))
    for kind, cell in zip(cells[::2], cells[1::2]):
        if "hide-cell" in kind:
            continue
        if "[markdown]" in kind:
            parts = re.split(r"^(?=#+ )", re.sub("^# ?", "", cell, flags=re.MULTILINE), flags=re.MULTILINE)
        else:
            parts = [f"```\n{cell}\n```\n"]
        for part in parts:
            heading = re.match("(#+) (.+)", part)
            if heading:
                level = len(heading[1])
                if level <= folded:
                    folded = level if heading[2].startswith(DEEPER) else 7
                found.append((heading[2], level, Time(), Time()))
            if found:
                title, level, core, deeper = found[-1]
                whole, opened = count(part), Time() if folded < 7 else count(FOLDED.sub("", part))
                rest = Time(whole.words - opened.words, whole.lines - opened.lines)
                found[-1] = title, level, core + opened, deeper + rest
    return found


def count(text):
    """The time for Markdown: fenced lines are code, everything else words."""
    _, *rest = re.split(r"^```.*\n", f"\n{text}", flags=re.MULTILINE)
    code = "".join(rest[::2])
    words = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return Time(len(re.findall(r"\w[^\s|]*", words)), len([line for line in code.splitlines() if line.strip()]))


def time(path):
    """The time for the core of a tutorial, and for all of it, without the exercises."""
    core = deeper = Time()
    for title, _, opened, folded in sections(path):
        if title != "Exercises":
            core, deeper = core + opened, deeper + folded
    return core, core + deeper


def fold(app, doctree):
    """Fold each section of a page whose title begins with "Deeper: ". The title stays in sight, and so do links to it."""
    from docutils import nodes

    for section in doctree.findall(nodes.section):
        if section[0].astext().startswith(DEEPER):
            section.insert(1, nodes.raw("", '<details class="deeper"><summary>Show this part</summary>', format="html"))
            section.append(nodes.raw("", "</details>", format="html"))
