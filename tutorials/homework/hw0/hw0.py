# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Homework 0: set-up, and a derivative by hand
#
# **The question.** Does everything work on your machine? And what does it mean that a program computes a derivative? You compute one
# by hand, one by small steps, and one with minigrad, and see that they agree.
#
# You need: Python, and what a derivative is. About 60 minutes, 50 points.
#
# | part | points | you write |
# |---|---|---|
# | 1 | 5 | `mode` |
# | 2 | 15 | `by_hand` and `by_small_steps` |
# | 3 | 15 | `by_minigrad` |
# | 4 | 15 | `fit_line` |
#
# Run `python -m pytest -q test_public.py` beside this file after each part. Write your code where it says
# `raise NotImplementedError()`.
#
# ## Part 1: set-up
#
# `python -m minigrad.doctor` checks your installation. If you ask for help, send what it prints. minigrad runs *compiled* or
# *interpreted*: the results are the same, and interpreted it is slower but a debugger can step through it. The doctor's first lines
# say which you have. `mode` returns that word; every homework works in both.

# %% nbgrader={"grade": false, "grade_id": "mode", "locked": false, "schema_version": 3, "solution": true, "task": false}
import math

import minigrad as mg


def mode():
    """"compiled" or "interpreted": what the doctor says on your machine. You may also compute it."""
    ### BEGIN SOLUTION
    return "compiled" if "compiled" in mg.show_config() and "interpreted" not in mg.show_config() else "interpreted"
    ### END SOLUTION


# %% [markdown]
# ## Part 2: by hand, and by small steps
#
# Our function is $f(x) = x^2 \sin x$. `by_hand` returns its derivative, from the product rule. `by_small_steps` knows nothing about
# the function. It returns $\big(f(x + h) - f(x - h)\big)/2h$ for a small $h$.

# %% nbgrader={"grade": false, "grade_id": "hand", "locked": false, "schema_version": 3, "solution": true, "task": false}
def f(x):
    return x * x * math.sin(x)


def by_hand(x):
    """The derivative of `f` at `x`."""
    ### BEGIN SOLUTION
    return 2 * x * math.sin(x) + x * x * math.cos(x)
    ### END SOLUTION


def by_small_steps(function, x, h=1e-6):
    """The derivative of a function of a number at `x`, by a central difference."""
    ### BEGIN SOLUTION
    return (function(x + h) - function(x - h)) / (2 * h)
    ### END SOLUTION


# %% [markdown]
# ## Part 3: by minigrad
#
# `by_minigrad(function, x)` gets a function of a *tensor* and a number. Make a tensor that requires a gradient, in float64, call the
# function, call `backward`, and return `.grad` as a Python number (`item()`).

# %% nbgrader={"grade": false, "grade_id": "minigrad", "locked": false, "schema_version": 3, "solution": true, "task": false}
def by_minigrad(function, x):
    """The derivative of a function of a tensor at `x`, a number."""
    ### BEGIN SOLUTION
    leaf = mg.tensor(x, dtype=mg.float64, requires_grad=True)
    function(leaf).backward()
    return leaf.grad.item()
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "minigrad-check", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
if __name__ == "__main__":
    print(by_hand(2.0), by_small_steps(f, 2.0), by_minigrad(lambda x: x * x * x.sin(), 2.0))
    assert abs(by_hand(2.0) - by_minigrad(lambda x: x * x * x.sin(), 2.0)) < 1e-9
    ### BEGIN HIDDEN TESTS
    assert abs(by_minigrad(lambda x: x.exp(), 1.0) - math.e) < 1e-9
    ### END HIDDEN TESTS

# %% [markdown]
# ## Part 4: something that learns
#
# `fit_line(inputs, targets)` finds the slope and the intercept of the line with the smallest mean square error. Both arguments are
# tensors with one dimension. Start with two tensors of zeros that require gradients; in each of 500 steps compute the error, call
# `backward`, and move both tensors against their gradients, times 0.1. Inside `with mg.no_grad():` a tensor may be changed in place
# (`slope -= ...`). Do not forget that `.grad` adds up: set it to None before the next step.

# %% nbgrader={"grade": false, "grade_id": "fit", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fit_line(inputs, targets, steps=500):
    """The slope and the intercept of the best line, as two Python numbers."""
    ### BEGIN SOLUTION
    slope, intercept = mg.zeros((), requires_grad=True), mg.zeros((), requires_grad=True)
    for _ in range(steps):
        error = ((slope * inputs + intercept - targets) ** 2).mean()
        error.backward()
        with mg.no_grad():
            for parameter in (slope, intercept):
                parameter -= 0.1 * parameter.grad
                parameter.grad = None
    return slope.item(), intercept.item()
    ### END SOLUTION


# %%
if __name__ == "__main__":
    mg.manual_seed(0)
    inputs = mg.rand(50) * 2 - 1
    slope, intercept = fit_line(inputs, 3.0 * inputs - 1.0 + 0.1 * mg.randn(50))
    print(f"slope {slope:.2f}, intercept {intercept:.2f}")

# %% [markdown]
# ## Rubric
#
# A check passes or fails as a whole. Comments and style are not graded.
