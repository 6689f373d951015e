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
# # Homework 1: a tape of numbers
#
# **The question.** How can a program find the derivative of what it has just computed? You write the smallest answer that is
# right: numbers that remember how they were made, and a walk back over them. Then you compare it with minigrad.
#
# You need: tutorial 1, *From a derivative to a graph*. About 150 minutes, 100 points.
#
# | part | points | you write |
# |---|---|---|
# | 1 | 30 | `add`, `mul`, `sin`, `exp`, `tanh`: the local derivatives |
# | 2 | 25 | `backward_order` |
# | 3 | 35 | `backward` |
# | 4 | 10 | nothing: a neuron learns with your tape |
#
# Run `python -m pytest -q test_public.py` beside this file after each part. Write your code where it says
# `raise NotImplementedError()`.

# %%
import math

import minigrad as mg

# %% [markdown]
# ## A number that remembers
#
# A `Number` has a value. If it is the result of an operation, it also has *edges*: one for each operand, a pair of the operand and
# the **local derivative** of the result with respect to that operand. A number that was not computed is a *leaf*, without edges.
#
# For $z = x\,y$ at $x = 2$, $y = 5$ the edges are $(x, 5)$ and $(y, 2)$: $\partial z/\partial x = y$ and $\partial z/\partial y = x$.

# %%
class Number:
    """A value, the edges to the numbers that it was computed from, and the derivative of the result with respect to it."""

    def __init__(self, value, edges=()):
        self.value, self.edges, self.grad = float(value), tuple(edges), 0.0

    def __add__(self, other):
        return add(self, other if isinstance(other, Number) else Number(other))

    def __mul__(self, other):
        return mul(self, other if isinstance(other, Number) else Number(other))

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other):
        return self + other * -1.0

    def __repr__(self):
        return f"Number({self.value:.6g}, grad={self.grad:.6g})"


# %% [markdown]
# ## Part 1: local derivatives
#
# Each function returns a new `Number` with its value and its edges. An operand that appears twice, as in `mul(x, x)`, gets two
# edges. The derivative of $\tanh x$ is $1 - \tanh^2 x$, and that of $e^x$ is $e^x$: you have already computed both.

# %% nbgrader={"grade": false, "grade_id": "local", "locked": false, "schema_version": 3, "solution": true, "task": false}
def add(x, y):
    """``x + y``"""
    ### BEGIN SOLUTION
    return Number(x.value + y.value, [(x, 1.0), (y, 1.0)])
    ### END SOLUTION


def mul(x, y):
    """``x * y``"""
    ### BEGIN SOLUTION
    return Number(x.value * y.value, [(x, y.value), (y, x.value)])
    ### END SOLUTION


def sin(x):
    """The sine of `x`."""
    ### BEGIN SOLUTION
    return Number(math.sin(x.value), [(x, math.cos(x.value))])
    ### END SOLUTION


def exp(x):
    """The exponential function of `x`."""
    ### BEGIN SOLUTION
    power = math.exp(x.value)
    return Number(power, [(x, power)])
    ### END SOLUTION


def tanh(x):
    """The hyperbolic tangent of `x`."""
    ### BEGIN SOLUTION
    bounded = math.tanh(x.value)
    return Number(bounded, [(x, 1.0 - bounded * bounded)])
    ### END SOLUTION


# %% [markdown]
# ## Part 2: an order in which every number comes before its operands
#
# `backward_order(root)` returns a list of all numbers behind `root`, each **once**, the root first. A number may come only after
# every number that was computed from it: it must wait until its whole derivative has arrived. (This is a *topological order*.)
#
# One way is to count, for each number, the edges that lead to it; a number whose count has fallen to zero is next. Do not recurse:
# a long computation has more numbers than Python has room for calls.

# %% nbgrader={"grade": false, "grade_id": "order", "locked": false, "schema_version": 3, "solution": true, "task": false}
def backward_order(root):
    """All numbers behind `root`, each before the numbers that it was computed from."""
    ### BEGIN SOLUTION
    uses, to_do = {root: 0}, [root]
    while to_do:
        for operand, _ in to_do.pop().edges:
            if operand not in uses:
                uses[operand] = 0
                to_do.append(operand)
            uses[operand] += 1
    found, free = [], [root]
    while free:
        found.append(free.pop())
        for operand, _ in found[-1].edges:
            uses[operand] -= 1
            if uses[operand] == 0:
                free.append(operand)
    return found
    ### END SOLUTION


# %% [markdown]
# ## Part 3: the walk back
#
# The derivative of the root with respect to itself is 1. Walk in the order of part 2. A number passes its derivative on along each
# edge, times the local derivative (the **chain rule**), and what arrives at an operand along several edges is **added**.
#
# The numbers' `grad` may be different from zero already, from a backward before. `backward` adds to it, as PyTorch does. So collect
# the derivatives of this walk somewhere else first.

# %% nbgrader={"grade": false, "grade_id": "backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def backward(root):
    """Add to ``grad`` of each number behind `root` the derivative of `root` with respect to it."""
    ### BEGIN SOLUTION
    arrived = {root: 1.0}
    for number in backward_order(root):
        for operand, local in number.edges:
            arrived[operand] = arrived.get(operand, 0.0) + arrived[number] * local
    for number, derivative in arrived.items():
        number.grad += derivative
    ### END SOLUTION


# %% [markdown]
# Try it. minigrad computes the same, on tensors.

# %% nbgrader={"grade": true, "grade_id": "backward-check", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
if __name__ == "__main__":
    x = Number(2.0)
    h = x * x
    backward(sin(h) * h)
    t = mg.tensor(2.0, requires_grad=True)
    ((t * t).sin() * (t * t)).backward()
    print("yours:", x.grad, "  minigrad's:", t.grad.item())
    assert abs(x.grad - t.grad.item()) < 1e-4
    ### BEGIN HIDDEN TESTS
    y = Number(3.0)
    backward(y * y + y)
    assert y.grad == 7.0
    ### END HIDDEN TESTS

# %% [markdown]
# ## Part 4: a neuron learns with your tape
#
# A neuron $\tanh(w_1 a + w_2 b + c)$ learns to say which of two numbers is larger. Each step builds a new graph, walks back over
# it, and moves the three parameters against their derivatives.

# %%
def train(steps=60):
    """Train the neuron. Returns the losses and the parameters."""
    points = [(-1.0, 0.5), (0.25, -0.75), (0.5, 1.0), (1.0, -0.25), (-0.5, -1.0), (-0.25, 0.0)]
    parameters = [Number(0.1), Number(0.2), Number(0.0)]
    losses = []
    for _ in range(steps):
        w1, w2, c = parameters
        loss = Number(0.0)
        for a, b in points:
            difference = tanh(w1 * a + w2 * b + c) - (1.0 if a > b else -1.0)
            loss = loss + difference * difference
        for parameter in parameters:
            parameter.grad = 0.0
        backward(loss)
        for parameter in parameters:
            parameter.value -= 0.1 * parameter.grad
        losses.append(loss.value)
    return losses, [parameter.value for parameter in parameters]


if __name__ == "__main__":
    losses, parameters = train()
    print(f"loss: {losses[0]:.3f} at first, {losses[-1]:.3f} at last; parameters {[round(p, 2) for p in parameters]}")

# %% [markdown]
# ## Rubric
#
# A check passes or fails as a whole. Comments and style are not graded. The hidden checks ask for what this text asks for: random
# expressions, numbers that are used many times, long computations, and several backwards.
