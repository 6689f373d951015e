"""A tutorial as slides: one idea on each, answers come later, and nothing is fetched."""

import html.parser
import json
import re

import pytest

from minigrad.grading.build import read_notebook
from tests.docs.test_tutorials import each_of
from tools.docs import editions, slides, tutorials

for needed in ("jupytext", "markdown_it", "mdit_py_plugins", "pygments", "ziamath", "fontTools"):
    pytest.importorskip(needed)

SOURCE = '''# %% [markdown]
# # Title
#
# Text with $a < b$, and a formula:
#
# $$ x^2 $$

# %%
x = 2
x

# %% [markdown]
# A remark.
#
# ## Another idea
#
# **Predict.** What is `x + 1`?
#
# <details><summary>Answer</summary>
#
# It is **three**.
#
# </details>

# %%
print(x + 1)

# %% [markdown]
# A second slide under the same heading, since this text explains what the code below does.
#
# ```python
# # no heading
# ```

# %%
f = None        # your code goes here


# %%
@mg.testing.exercise(1)
def check_f(f):
    print("right")


# %% tags=["help"]
check_f.hints = ["Think."]


# %% tags=["hide-cell", "solution"]
check_f(3)
'''


@pytest.fixture
def notebook(tmp_path):
    path = tmp_path / "x.py"
    path.write_text(SOURCE, "utf-8")
    return slides.slides(path)


def test_what_is_on_which_slide(notebook):
    kinds = [(cell.metadata.slideshow.slide_type, cell.source.partition("\n")[0]) for cell in notebook.cells]
    assert kinds == [("slide", "# Title"), ("-", "x = 2"), ("-", "A remark."), ("slide", "## Another idea"), ("subslide", "**Predict.** What is `x + 1`?"),
                     ("fragment", "It is **three**."), ("fragment", "print(x + 1)"),
                     ("subslide", "A second slide under the same heading, since this text explains what the code below does."),
                     ("-", "f = None        # your code goes here")]


class Fetched(html.parser.HTMLParser):
    """Everything that a browser loads with a page."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name == "src" or (tag == "link" and name == "href")]


def test_the_deck(notebook):
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    text = slides.deck(slides.run(notebook, tutorials.ROOT))
    assert Fetched(text).found == [] and "@import" not in text and set(re.findall(r'url\("?(\w+)', text)) == {"data"}
    shown = text.partition("<section>")[2].split("<section>")
    assert len(shown) == 4 and "&lt;</mo><mi>b</mi>" in shown[0] and re.search('<math [^>]*display="block" alttext="x\\^2"', shown[0])
    assert "<pre class='out'>2</pre>" in shown[0] and "A remark." in shown[0]
    assert re.search(r"<div class='later hidden'><p>It is <strong>three</strong>", shown[2]) and "<pre class='out'>3\n</pre></div>" in shown[2]
    assert "<p class='of'>Another idea</p>" in shown[3] and "Think" not in text and "check_f" not in text


def test_outputs():
    assert slides.output({"output_type": "stream", "text": "a < b"}) == "<pre class='out'>a &lt; b</pre>"
    for kind, value, said in (("text/html", "<b>x</b>", "<div><b>x</b></div>"), ("image/svg+xml", "<svg></svg>", "<div><svg></svg></div>"),
                              ("image/png", "AAAA\n", "<img alt='' src='data:image/png;base64,AAAA'>")):
        assert slides.output({"data": {"text/plain": "x", kind: value}}) == said
    assert slides.output({"output_type": "error", "traceback": ["first", "last"]}) == "<pre class='out'>first\nlast</pre>"


@each_of(tutorials.scripts())
def test_a_tutorial(path):
    notebook = slides.slides(path)
    editions.written(notebook)      # nbformat looks at it
    kinds = [cell.metadata.slideshow.slide_type for cell in notebook.cells]
    assert kinds[0] == "slide" and kinds.count("slide") >= 8 and "fragment" in kinds
    source = read_notebook(path)
    found = editions.exercises(source)
    secret = {source.cells[i].source for exercise in found for i in (exercise.place, *exercise.help, *exercise.solutions)}
    assert not secret & {cell.source for cell in notebook.cells}
    code = [cell.source for cell in source.cells if cell.cell_type == "code" and cell.source not in secret]
    assert [cell.source for cell in notebook.cells if cell.cell_type == "code"] == code
    assert Fetched(slides.deck(notebook)).found == []
    assert "<details" not in json.dumps(notebook)
