"""What every fragment of a page is made of: elements, an id, the style, the script.

A fragment stands alone: style, script and data are in it, and nothing is fetched. Its id is made of its content, and of how
many of the same content there have been in this process: so it is its own within a page, and the same in every run of the
same program.

Read next: ``_step_through.py``.
"""

import functools
import hashlib
import json
from collections import Counter
from html import escape
from importlib import resources

__all__ = ["escape", "fragment", "page", "script", "style", "tag", "told"]

_seen: Counter[str] = Counter()


def tag(name: str, inner: str = "", /, **attributes: str | bool) -> str:
    """An element; `inner` is HTML, and the attributes are texts: ``data_t="n2.t"`` is written as ``data-t``, ``cls`` as ``class``.

    >>> from minigrad.viz._page import tag
    >>> tag("td", "2", cls="mg-num", data_t="a<b", hidden=True)
    '<td class="mg-num" data-t="a&lt;b" hidden>2</td>'
    """
    written = []
    for key, value in attributes.items():
        key = "class" if key == "cls" else key.replace("_", "-")
        if value is True:
            written.append(f" {key}")
        elif value is not False:
            written.append(f' {key}="{escape(value)}"')
    return f"<{name}{''.join(written)}>{inner}</{name}>"


@functools.cache
def text(name: str) -> str:
    """A file of this package."""
    return resources.files("minigrad.viz").joinpath(name).read_text(encoding="utf-8")


@functools.cache
def style() -> str:
    """The style sheet of all fragments, light and dark.

    A page is dark if the system is and the page does not say otherwise, or if it says so, as furo and JupyterLab do.
    """
    rules = " ".join(text("dark.css").split())
    silent = "html:not([data-theme=light]) body:not([data-theme=light]):not([data-jp-theme-light=true])"
    dark = (f"@media (prefers-color-scheme:dark){{{silent} .mg-viz{{{rules}}}}}\n"
            f":is([data-theme=dark],[data-jp-theme-light=false]) .mg-viz{{{rules}}}")
    return f"<style>{text('style.css').replace('$dark', dark)}</style>"


@functools.cache
def script(name: str) -> str:
    """A script, without its comments and indentation."""
    lines = [line.partition("      // ")[0].strip() for line in text(name).splitlines()]
    return "<script>" + "\n".join([line for line in lines if line and not line.startswith("//")]) + "</script>"


def told(data: object) -> str:
    """Data for a script, in a form that ends no element."""
    plain = json.dumps(data, separators=(",", ":"))
    return tag("script", plain.replace("<", "\\u003c"), type="application/json")


def fragment(kind: str, label: str, inner: str, **attributes: str | bool) -> str:
    """An element with an id of its own. `label` is a text."""
    digest = hashlib.sha256(inner.encode()).hexdigest()[:10]
    _seen[digest] += 1
    number = "" if _seen[digest] == 1 else f"-{_seen[digest]}"
    return tag("div", inner, cls=f"mg-viz {kind}", id=f"mg-{digest}{number}", role="group", aria_label=label, **attributes)


def page(title: str, inner: str) -> str:
    """A whole page around a fragment."""
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
            f'<meta name="viewport" content="width=device-width,initial-scale=1"><title>{escape(title)}</title></head>'
            '<body style="margin:8px;font-family:system-ui,sans-serif"><main>'
            f'<h1 style="font-size:18px;margin:8px">{escape(title)}</h1>'
            f"{inner}</main></body></html>\n")
