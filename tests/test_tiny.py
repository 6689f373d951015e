"""Reverse mode in forty lines, and minigrad against it on random expressions.

`Var` is the whole idea on numbers: an operation notes its inputs and the local derivatives; backward visits the
nodes latest first and multiplies. If you are here to learn: read this, then minigrad/_core/engine/execute.py.
"""

import math
import random

import pytest

import minigrad as mg


class Var:
    """A number, the inputs that it was computed of, and its derivative by each of them."""

    made = 0

    def __init__(self, value, inputs=(), slopes=()):
        self.value, self.inputs, self.slopes = value, inputs, slopes
        self.grad = 0.0
        Var.made += 1
        self.number = Var.made

    def __add__(self, other):
        return Var(self.value + other.value, (self, other), (1.0, 1.0))

    def __sub__(self, other):
        return Var(self.value - other.value, (self, other), (1.0, -1.0))

    def __mul__(self, other):
        return Var(self.value * other.value, (self, other), (other.value, self.value))

    def __truediv__(self, other):
        return Var(self.value / other.value, (self, other), (1 / other.value, -self.value / other.value ** 2))

    def __neg__(self):
        return Var(-self.value, (self,), (-1.0,))

    def tanh(self):
        z = math.tanh(self.value)
        return Var(z, (self,), (1 - z * z,))

    def sin(self):
        return Var(math.sin(self.value), (self,), (math.cos(self.value),))

    def sigmoid(self):
        z = 1 / (1 + math.exp(-self.value))
        return Var(z, (self,), (z * (1 - z),))

    def backward(self):
        self.grad, reached, stack = 1.0, {self}, [self]
        while stack:
            for x in stack.pop().inputs:
                if x not in reached:
                    reached.add(x)
                    stack.append(x)
        for node in sorted(reached, key=lambda v: -v.number):      # all that uses a node comes before it
            for x, slope in zip(node.inputs, node.slopes):
                x.grad += slope * node.grad


BINARY = (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (b * b + a.tanh() + THREE[type(b)]))
UNARY = (lambda a: -a, lambda a: a.tanh(), lambda a: a.sin(), lambda a: a.sigmoid())
THREE = {Var: Var(3.0), mg.Tensor: mg.tensor(3.0, dtype=mg.float64)}


def expression(leaves, seed, steps):
    """A random program on `leaves`, the same one for the same seed: every result may be used any number of times."""
    choose = random.Random(seed)
    values = list(leaves)
    for _ in range(steps):
        if choose.random() < 0.6:
            values.append(choose.choice(BINARY)(choose.choice(values), choose.choice(values)))
        else:
            values.append(choose.choice(UNARY)(choose.choice(values)))
    out = values[-1]
    for value in values[-4:-1]:
        out = out + value.tanh()
    return out


@pytest.mark.parametrize("seed", range(60))
def test_random_expressions(seed):
    numbers = [random.Random(1000 + seed).uniform(-1, 1) for _ in range(3)]
    tiny = [Var(x) for x in numbers]
    ours = [mg.tensor(x, dtype=mg.float64, requires_grad=True) for x in numbers]
    a, b = expression(tiny, seed, 5 + seed), expression(ours, seed, 5 + seed)
    assert b.item() == pytest.approx(a.value, rel=1e-9)
    a.backward()
    b.backward()
    for x, y in zip(tiny, ours):
        assert (0.0 if y.grad is None else y.grad.item()) == pytest.approx(x.grad, rel=1e-7, abs=1e-9)


def test_the_diamond():
    """One input reached along two paths: its gradient is the sum, and the shared node is visited once."""
    for make in (Var, lambda v: mg.tensor(v, requires_grad=True)):
        x = make(2.0)
        y = x * x
        (y + y * x).backward()
        assert float(x.grad) == 2 * 2 + 3 * 4
