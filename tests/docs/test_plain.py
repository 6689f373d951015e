"""The text of a page for readers elsewhere."""

import pytest

from tools.docs import repository
from tools.docs.plain import plain

SITE = "https://example.org/minigrad"


@pytest.mark.parametrize("text, with_site, without", [
    ("See {doc}`/errors/leaf-in-place`.", f"See [A leaf was changed in place]({SITE}/errors/leaf-in-place.html).", "See A leaf was changed in place."),
    ("See {doc}`this page </errors/leaf-in-place>`.", f"See [this page]({SITE}/errors/leaf-in-place.html).", "See this page."),
    ("{doc}`02_the_engine`", f"[The engine]({SITE}/tutorials/02_the_engine.html)", "The engine"),
    ("{doc}`/notes/kernels`", f"[Kernels]({SITE}/notes/kernels.html)", "Kernels"),
    ("{nb-download}`the notebook <x.ipynb>`, {download}`x.py`, {ref}`a word <label>`", *["the notebook, x.py, a word"] * 2),
    ("[tutorial\n3](03_leaves.py)", f"[tutorial\n3]({SITE}/tutorials/03_leaves.html)", "tutorial\n3"),
    ("[x](../errors/hooks.md#order)", f"[x]({SITE}/errors/hooks.html#order)", "x"),
    ("[x](https://a.org/b.html) [y](#here) `[z](a.py)` ``{doc}`x` ``", *["[x](https://a.org/b.html) [y](#here) `[z](a.py)` ``{doc}`x` ``"] * 2),
    ("```python\n[z](a.py)\n{doc}`x`\n```\n[z](a.py)", f"```python\n[z](a.py)\n{{doc}}`x`\n```\n[z]({SITE}/tutorials/a.html)",
     "```python\n[z](a.py)\n{doc}`x`\n```\nz"),
    ("```{note}\n:class: wide\nText.\n```\nMore.", *["Text.\nMore."] * 2),
    (":::{div} downloads\nText.\n:::", *["Text."] * 2),
])
def test_plain(text, with_site, without):
    titles = {"A leaf was changed in place": plain("{doc}`/errors/leaf-in-place`", "tutorials", ""), "Kernels": plain("{doc}`/notes/kernels`", "", ""),
              "The engine": plain("{doc}`/tutorials/02_the_engine`", "", "")}
    assert all(titles.values())
    for said, title in titles.items():      # whatever the titles are today
        with_site, without = with_site.replace(said, title), without.replace(said, title)
    assert plain(text, "tutorials", SITE) == with_site
    assert plain(text, "tutorials", "") == without


def test_a_page_that_is_not_there():
    with pytest.raises(ValueError, match=r"no page errors/nothing with a title"):
        plain("{doc}`/errors/nothing`", "tutorials", "")


def test_the_address_of_the_site(monkeypatch):
    for given, found in (("https://you.github.io/minigrad/", "https://you.github.io/minigrad"), ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
                         ("", "")):
        monkeypatch.setenv("MINIGRAD_SITE", given)
        assert repository.site() == found
    monkeypatch.setenv("MINIGRAD_SITE", "you.github.io")
    with pytest.raises(SystemExit, match=r"MINIGRAD_SITE is 'you.github.io', expected an address as https://"):
        repository.site()
    monkeypatch.delenv("MINIGRAD_SITE")
    assert not repository.site() or repository.site().startswith("https://")
