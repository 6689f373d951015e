"""A homework set of two checks, and a server that runs checks. See ``tiny`` and ``server``."""

import os

import pytest

from minigrad.grading.server import Server
from minigrad.grading.sets import Set

SOURCE = '''\
# %% [markdown]
# # A tiny homework: add and double

# %% nbgrader={"grade": false, "grade_id": "add", "locked": false, "schema_version": 3, "solution": true, "task": false}
def add_gradients(old, new):
    """The sum of two gradients."""
    ### BEGIN SOLUTION
    summed = old.clone() + new
    return summed
    ### END SOLUTION


# %% nbgrader={"grade": false, "grade_id": "double", "locked": false, "schema_version": 3, "solution": true, "task": false}
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    return x * 2 + 0 * 1 - 0
    ### END SOLUTION
'''
ADAPTERS = '''\
from minigrad.grading.checks import student


def add_gradients():
    return student("tiny").add_gradients


def double():
    return student("tiny").double
'''
PUBLIC = '''\
import adapters

import minigrad as mg
from minigrad.grading.checks import number, same, used, weight


@weight(6)
@number("1.1")
def test_add():
    """Gradients are added"""
    x = mg.tensor(3.0, requires_grad=True)
    with mg.grading.swap("add_gradients", adapters.add_gradients()) as part:
        (x * x).backward()
    used(part, "backward was run without it")
    same(x.grad, mg.tensor(6.0), "x.grad", x * x, "02_the_engine")
'''
HIDDEN = '''\
import adapters

from minigrad.grading.checks import fail, hide_errors, leaderboard, number, partial_credit, rng, visibility


@partial_credit(4)
@leaderboard("right", "desc")
@number("2.1")
@visibility("after_published")
@hide_errors("some numbers are wrong")
def test_double(set_score=None, set_leaderboard_value=None):
    """Numbers are doubled"""
    double, random = adapters.double(), rng("2.1")
    right = sum(double(n) == 2 * n for n in [random.randint(1, 99) for _ in range(4)])
    set_score(right)
    set_leaderboard_value(right)
    if not right:
        fail("no number was right")
'''
TOML = '''\
title = "Tiny"
points = 10
minutes = 5

[[parts]]
title = "Add"
points = 6

[[parts]]
title = "Double"
points = 4

[limits]
seconds = 1
memory_mb = 256
output_kb = 64
'''
MUTANTS = {
    "overwrites": "# wrong: the second gradient replaces the first\ndef add_gradients(old, new):\n    return new.clone()\n",
    "triples": "# wrong: three times x\ndef double(x):\n    return 3 * x\n",
}
FILES = {"tiny.py": SOURCE, "adapters.py": ADAPTERS, "test_public.py": PUBLIC, "test_hidden.py": HIDDEN, "set.toml": TOML,
         **{f"mutants/{name}.py": text for name, text in MUTANTS.items()}}


def write_set(folder, **changed):
    """Write the tiny set, with some files changed: ``file__py="text"``; None leaves a file out."""
    files = {**FILES, **{name.replace("__", "."): text for name, text in changed.items()}}
    for name, text in files.items():
        if text is not None:
            path = folder / "tiny" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return folder / "tiny"


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """The tiny set."""
    return Set.read(write_set(tmp_path_factory.mktemp("sets")))


@pytest.fixture(scope="session")
def server():
    """A server that runs checks."""
    if not hasattr(os, "fork"):
        pytest.skip("the grader needs os.fork")
    with Server() as found:
        yield found
