"""The minutes of a tutorial, and the folds of its page."""

import pytest

from tools.docs import reading, tutorials

SCRIPT = """# %% [markdown]
# # Title
#
# One two three.
#
# ```python
# >>> four()
# ```

# %%
a = 1

b = 2

# %% [markdown]
# ## Deeper: five
#
# <details><summary>Six</summary>
#
# Seven.
#
# </details>
#
# ### Eight

# %%
c = 3

# %% [markdown]
# ## Nine
#
# <details><summary>Ten</summary>
#
# Eleven.
#
# </details>
#
# ## Exercises

# %%
d = 4

# %% tags=["hide-cell"]
e = 5
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "99_script.py"
    path.write_text(SCRIPT, "utf-8")
    return path


def test_what_is_open_and_what_is_folded_are_counted_apart(path):
    assert [(title, level, core.lines, deeper.lines) for title, level, core, deeper in reading.sections(path)] == [
        ("Title", 1, 3, 0), ("Deeper: five", 2, 0, 0), ("Eight", 3, 0, 1), ("Nine", 2, 0, 0), ("Exercises", 2, 1, 0)]
    core, whole = reading.time(path)
    assert core == (5, 3) and whole.lines == 4
    assert whole.words > 9


def test_minutes():
    assert reading.Time(400, 30).minutes == 5


def test_deeper_sections_are_folded():
    nodes = pytest.importorskip("docutils.nodes", reason="docutils is not installed")
    page = nodes.section()
    for name in ("Open", "Deeper: closed"):
        page += nodes.section("", nodes.title("", name), nodes.paragraph("", "text"))
    page.insert(0, nodes.title("", "Title"))
    reading.fold(None, page)
    assert [len(part) for part in page] == [1, 2, 4]
    _, opens, text, ends = page[2]
    assert "<details" in opens.astext() and text.astext() == "text" and ends.astext() == "</details>"


def test_the_index_has_each_tutorial_and_each_path():
    assert tutorials.times().count("\n| [") == len(tutorials.scripts())
    assert tutorials.paths().count("minutes of reading") == len(tutorials.PATHS) == 3
