"""The projects run as plain scripts, in small; their exercises can be failed; their models train in PyTorch as they do here."""

import importlib.util
import random
import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")
pytest.importorskip("tqdm")

from matplotlib.figure import Figure

import minigrad as mg
from minigrad.demo.pictures import Inline
from tests.docs.test_tutorials import (
    each_of,
    the_cells_are_short,
    the_exercises_can_be_failed,
    the_script_runs,
    torch_says_so,
)
from tools.docs import tutorials

PROJECTS = tutorials.projects()
each = each_of(PROJECTS)
SECTIONS = ["**The goal.**", "## One batch, seen by autograd", "## The training", "## What goes wrong", "## Full size",
            "## The same in PyTorch", "## Exercises", "## What to remember"]
TWIN = re.compile(r'^# %% tags=\["twin"\]\n(.*?)(?=^# %%)', re.MULTILINE | re.DOTALL)
torch_installed = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setenv("SIZE", "small")


@each
def test_runs_as_a_script(path, ran, capsys):
    the_script_runs(ran(path), capsys)


@each
def test_exercises_can_be_failed(path, ran, capsys):
    the_exercises_can_be_failed(ran(path), capsys)


@each
def test_parts(path):
    text = path.read_text("utf-8")
    places = [text.find(section) for section in SECTIONS]
    assert min(places) >= 0 and places == sorted(places), dict(zip(SECTIONS, places))
    for part in ("mg.viz.draw(", "**Predict.**", 'code="MG-E', "disable=None", "mg.manual_seed("):
        assert part in text
    assert text.count('# %% tags=["hide-cell", "solution"]') == 3


@each
def test_cells_are_short(path):
    the_cells_are_short(path)


@torch_installed
@each
def test_pytorch_says_so(path):
    torch_says_so(path)


# ---- outputs, as the text describes them ---------------------------------------------------------------------------

def test_digits_tell_what_the_text_tells(ran):
    names = ran(tutorials.PROJECTS / "digits_cnn.py")
    assert names["read"][-1] > 0.7
    assert names["alive"] == 0, "the ReLUs of the run with too large a rate are dead"
    runs = names["runs"]
    right, late, twice = [np.mean(runs[name][0][-4:]) for name in ("right", "late zero_grad", "softmax twice")]
    assert right < twice < late and min(runs["softmax twice"][0]) > 1.46
    assert max(runs["lr = 0.4"][0]) > 20


def test_gpt_tells_what_the_text_tells(ran):
    names = ran(tutorials.PROJECTS / "char_gpt.py")
    assert np.mean(names["losses"][-3:]) < names["losses"][0] - 0.3
    assert names["all_kept"] > 2 * names["few_kept"] and names["more_runs"] == 2 * names["runs_of_a_block"]
    assert mg.equal(names["plain"], names["lean"])
    reached, ahead = names["reached"], names["ahead"]
    assert mg.equal(reached, reached.tril()) and not mg.equal(ahead, ahead.tril())
    assert set(names["text"]) <= set(names["LETTERS"]) and len(names["text"]) > 400_000


def test_a_figure_is_the_same_bytes_each_time():
    def drawn(title):
        figure = Figure(figsize=(2, 1))
        figure.subplots().plot([1, 2, 1], "o-")
        return Inline(figure, title)._repr_html_()

    one, other = drawn("one"), drawn("the <other>")
    assert one == drawn("one") and 'aria-label="the &lt;other&gt;"' in other
    names = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (one, other)]
    assert names[0] and names[0].isdisjoint(names[1])       # both may stand in one page
    assert "#000000" not in one and not re.search(r"20\d\d-\d\d", one)


# ---- the same in PyTorch -----------------------------------------------------------------------------------------

def twin(path, library):
    """The names that the cells marked as twins define, with the imports of the page from `library`."""
    text = path.read_text("utf-8")
    imports = re.findall(r"^(?:import minigrad.*|from minigrad(?:\.utils\.checkpoint)? import .*|import random|from collections import .*)$", text, re.MULTILINE)
    source = "\n".join([*imports, *TWIN.findall(text)])
    names = {"__name__": path.stem}
    exec(compile(source.replace("minigrad", library), f"<{path.stem} with {library}>", "exec"), names)
    return names


def trained(path, dtype, build, data, learning_rate):
    """The losses that minigrad and PyTorch have, from the same weights, on the same batches."""
    import torch
    torch.set_num_threads(1)
    mg.manual_seed(0)
    found, weights = [], None
    for m, library in ((mg, "minigrad"), (torch, "torch")):
        names = twin(path, library)
        model = build(names).to(getattr(m, dtype))
        if weights is None:
            weights = [p.detach().numpy().copy() for p in model.parameters()]
        with m.no_grad():
            for p, values in zip(model.parameters(), weights, strict=True):
                p.copy_(m.from_numpy(values))
        optimizer = m.optim.AdamW(model.parameters(), lr=learning_rate)
        losses = names["train"](model, optimizer, data(names, m))
        found.append(losses[0] if isinstance(losses, tuple) else losses)
    return found


def agree(found, dtype):
    ours, theirs = map(np.array, found)
    assert np.mean(ours[-5:]) < 0.95 * ours[0], "nothing was learnt"
    if dtype == "float64":
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    else:
        assert np.mean(ours[-5:]) == pytest.approx(np.mean(theirs[-5:]), rel=0.02)


@torch_installed
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_digits_train_as_in_pytorch(dtype):
    from minigrad.demo.data import digits
    (images, labels), _ = digits()
    images, labels = images[:640].numpy().astype(dtype), labels[:640].numpy()

    def build(names):
        model = names["network"]()
        model.drop.p = 0.0          # each library draws its own zeros
        return model

    def data(names, m):
        return names["batches"](m.from_numpy(images), m.from_numpy(labels), 4, seed=1)

    agree(trained(tutorials.PROJECTS / "digits_cnn.py", dtype, build, data, 3e-3), dtype)


@torch_installed
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gpt_trains_as_in_pytorch(dtype):
    text = random.Random(0).choices(range(20), range(20), k=2000)

    def build(names):
        model = names["GPT"](20, 16, 2, 2, 16)
        model.lean = True           # the checkpoints too
        return model

    agree(trained(tutorials.PROJECTS / "char_gpt.py", dtype, build, lambda names, m: names["batches"](text, 20, 4, 16), 1e-2), dtype)
