"""The parts of every HTML fragment: elements, an id, the style, the script.

A fragment is complete: style, script and data are in it, and the browser fetches nothing. Its id is a hash of its content and a
count of equal fragments in this process. So the id is unique on a page, and the same in every run of the same program.

Read next: ``_step_through.py``.
"""

import functools
import hashlib
import json
import re
from collections import Counter
from html import escape
from importlib import resources

__all__ = ["escape", "fragment", "json_data", "page", "palette", "script", "standalone", "style", "tag"]

_seen: Counter[str] = Counter()


def tag(name: str, inner: str = "", /, **attributes: str | bool) -> str:
    """An HTML element. `inner` is HTML, attributes are plain text: ``data_t="n2.t"`` becomes ``data-t``, ``cls`` becomes ``class``.

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
    """The text of a file of this package."""
    return resources.files("minigrad.viz").joinpath(name).read_text(encoding="utf-8")


@functools.cache
def palette() -> dict[str, str]:
    """The light colours of ``style.css``: name -> number."""
    return dict(re.findall(r"--([\w-]+):(#\w+)", text("style.css").partition("}")[0]))


@functools.cache
def style() -> str:
    """The style sheet of all fragments, light and dark.

    A page is dark if it says so itself, as furo and JupyterLab do; if it says nothing, it follows the system.
    """
    rules = " ".join(text("dark.css").split())
    silent = "html:not([data-theme=light]) body:not([data-theme=light]):not([data-jp-theme-light=true])"
    dark = (f"@media (prefers-color-scheme:dark){{{silent} .mg-viz{{{rules}}}}}\n"
            f":is([data-theme=dark],[data-jp-theme-light=false]) .mg-viz{{{rules}}}")
    return f"<style>{text('style.css').replace('$dark', dark)}</style>"


@functools.cache
def script(name: str) -> str:
    """A script element with a script of this package, without its comments and indentation."""
    lines = [line.partition("      // ")[0].strip() for line in text(name).splitlines()]
    return "<script>" + "\n".join([line for line in lines if line and not line.startswith("//")]) + "</script>"


def json_data(data: object) -> str:
    """A script element with data as JSON. A ``<`` is escaped, so that no text can end the element."""
    plain = json.dumps(data, separators=(",", ":"))
    return tag("script", plain.replace("<", "\\u003c"), type="application/json")


def fragment(kind: str, label: str, inner: str, **attributes: str | bool) -> str:
    """A ``div`` with a unique id. `label` is plain text for screen readers."""
    digest = hashlib.sha256(inner.encode()).hexdigest()[:10]
    _seen[digest] += 1
    number = "" if _seen[digest] == 1 else f"-{_seen[digest]}"
    return tag("div", inner, cls=f"mg-viz {kind}", id=f"mg-{digest}{number}", role="group", aria_label=label, **attributes)


def page(title: str, inner: str) -> str:
    """A complete HTML page around a fragment."""
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
            f'<meta name="viewport" content="width=device-width,initial-scale=1"><title>{escape(title)}</title></head>'
            '<body style="margin:8px;font-family:system-ui,sans-serif"><main>'
            f'<h1 style="font-size:18px;margin:8px">{escape(title)}</h1>'
            f"{inner}</main></body></html>\n")


def standalone(picture: str, kind: str) -> str:
    """An SVG element as the text of a file, with the style sheet in it. `kind` is the class of the fragments of such pictures."""
    head, _, rest = picture.partition(">")
    head = head.replace("mg-graph", f"mg-graph mg-viz {kind}").replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    return f"{head}>{style()}{rest}\n"
