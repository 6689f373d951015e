"""`minigrad.explain`: the page of an error code, or the codes that fit some words.

    explain("MG-E102")      its page
    explain(error)          the page of its code, or of an error that it was raised from
    explain()               the same for the last error of the session
    explain("inplace ...")  the page with this message, or a list of the codes that fit best

A page is printed. In a notebook IPython shows it as Markdown.

Read next: ``errors.md``, which holds the pages.
"""

from __future__ import annotations

import functools
import math
import os
import re
import sys

from minigrad.errors import MinigradError, catalogue

__all__ = ["explain"]

CODE = re.compile(r"(?:MG-)?E(\d{3})", re.IGNORECASE)
# A code and the message after it, in a source: "MG-E110", "element 0 of tensors does not require grad ..."
RAISED = re.compile(r'"(MG-E\d{3})",\s*((?:f?"(?:[^"\\\n]|\\.)*"\s*)+)')
# Words that name no error.
COMMON = frozenset(re.findall(r"\w+", """
    a an and are at be been but by can for from got has have i in is it its mg minigrad my not of on or so that the then this to
    was what which why with you error runtimeerror typeerror valueerror indexerror
"""))
MOST_LISTED = 5
STEM = 5
LEAST_KNOWN = 0.5       # a code fits if it has this part of the words; a rare word counts more than a frequent one


def explain(what: str | BaseException | None = None) -> None:
    """Print the explanation of an error: what it means, why autograd has this rule, and what to do. It needs no network.

    A notebook shows it as formatted text.

    Args:
        what (str or BaseException, optional): a code such as ``"MG-E102"``, an exception, or words of a message: the page that has
            these words, or a list of the codes that fit best. Without it, the last error of the session, and if there is
            none, the list of all codes.

    Raises:
        KeyError: no error has this code.
        TypeError: `what` is neither a str nor an exception.

    Example:
        >>> import minigrad as mg
        >>> mg.explain("MG-E101")
        MG-E101  Backward through the graph a second time
        ...
        >>> mg.explain("modified by an inplace operation")
        MG-E102  A saved tensor was modified in place
        ...
    """
    show(page_for(what))


class Page:
    """Text that prints as it is, and that a notebook shows as Markdown."""

    def __init__(self, title, text, before=""):
        self.title, self.text, self.before = title, text, before

    def __repr__(self):
        return f"{self.before}{self.title}\n\n{self.text}\n"

    def _repr_markdown_(self):
        before = f"```text\n{self.before.strip()}\n```\n\n" if self.before else ""
        return f"{before}**{self.title}**\n\n{self.text}\n"


def show(page):
    """Print a page; in IPython, let IPython display it."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and ipython.get_ipython() is not None:
        sys.modules["IPython.display"].display(page)
    else:
        print(page)


def page_for(what):
    """The `Page` for a code, an exception or words; for None, that of the last error, or the list of all codes."""
    if what is None:
        what = last_error()
        if what is None:
            return Page("No error has been raised in this session. All codes:", listed(catalogue()))
    if isinstance(what, BaseException):
        return page_of_error(what)
    if not isinstance(what, str):
        raise TypeError(f"explain(): expected a code, an exception or words, not {type(what).__name__}")
    found = CODE.fullmatch(what.strip()) or re.search(r"MG-E(\d{3})", what)
    if found is None:
        return page_of_words(what)
    code = f"MG-E{found[1]}"
    if code not in catalogue():
        raise KeyError(f'no error code {code}; search with words, as in mg.explain("inplace")')
    return page_of_code(code)


def last_error():
    """The exception that is being handled, or else the last one that the interpreter, or IPython, has printed."""
    handled = sys.exc_info()[1]
    if handled is not None:
        return handled
    return getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)     # last_exc: since Python 3.12


def page_of_code(code, before=""):
    title, text = catalogue()[code]
    return Page(f"{code}  {title}", text, before)


def page_of_error(error):
    """The page for `error`: of its code, or of the code of an error that it was raised from, or of the words of its message."""
    before = f"{type(error).__qualname__}: {str(error).partition(chr(10))[0]}\n\n"
    seen: set[int] = set()
    cause = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, MinigradError):
            return page_of_code(cause.code, before)
        cause = cause.__cause__ or cause.__context__
    fits, _ = search(str(error))
    return Page("This error has no code: minigrad did not raise it." + (" These codes are about the same words:" if fits else ""),
                listed(fits), before)


def page_of_words(words):
    fits, exact = search(words)
    if len(exact) == 1 or len(fits) == 1:
        return page_of_code(*(exact or fits))
    if not fits:
        return Page(f"No error of minigrad is about {words!r}.", "Use the words of its message, or its code.")
    return Page(f"The errors that are about {words!r}, best first:", listed(fits) + f'\n\nRead one: mg.explain("{fits[0]}")')


def listed(codes):
    return "\n".join([f"    {code}  {catalogue()[code][0]}" for code in codes])


def search(words):
    """The codes that fit `words`, best first, and those whose message has exactly these words."""
    wanted = split(words)
    scores = {}
    for code, (titles, messages, texts) in index().items():
        fields = (titles, 3), (messages, 2), (texts, 1)
        points = [next((weight for field, weight in fields if word in field), 0) for word in wanted]
        known = sum([rarity(word) for word, point in zip(wanted, points) if point])
        if wanted and known >= LEAST_KNOWN * sum([rarity(word) for word in wanted]):
            scores[code] = sum([rarity(word) * point for word, point in zip(wanted, points)])
    phrase = f" {' '.join(every_word(words))} "
    exact = [code for code in scores if any([phrase in f" {message} " for message in messages_of()[code]])]
    return sorted(scores, key=lambda code: (code not in exact, -scores[code]))[:MOST_LISTED], exact


def every_word(text):
    """The words of `text` in one spelling: in-place, in place and inplace are one word."""
    return re.findall(r"[a-z_][a-z0-9_]*", re.sub(r"\bin[- ]place", "inplace", text.lower()))


def split(text):
    """The words of `text` that say something, each once, by their first letters: multiply and multiplied are one word."""
    return list(dict.fromkeys([word[:STEM] for word in every_word(text) if len(word) > 1 and word not in COMMON]))


@functools.cache
def messages_of():
    """code -> its messages, each as words. They are read from the sources, which are beside the compiled modules too."""
    found = {code: [] for code in catalogue()}
    package = os.path.dirname(__file__)
    for folder, _, files in os.walk(package):
        for name in files:
            if name.endswith(".py"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    for code, message in RAISED.findall(file.read()):
                        text = re.sub(r'"\s*f?"', "", message)
                        found.setdefault(code, []).append(" ".join(every_word(re.sub(r"\{[^}]*\}", " ", text))))
    return found


@functools.cache
def index():
    """code -> the words of its title, of its messages, and of its text."""
    return {code: (set(split(title)), set(split(" ".join(messages_of()[code]))), set(split(text)))
            for code, (title, text) in catalogue().items()}


@functools.cache
def rarity(word):
    """How much a word tells: the logarithm of one over the part of the codes that have it."""
    having = sum([any([word in field for field in fields]) for fields in index().values()])
    return math.log((1 + len(index())) / (1 + having)) + 0.1
