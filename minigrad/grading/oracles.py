"""Graphs on which checks compare the student's part with minigrad's own: drawn from a seed when a submission is graded.

    leaves, y = random_graph(rng("3.2"))
    expected = grads(y, leaves)             # minigrad's own engine
    with mg.grading.swap(...):
        y.backward()                        # the student's
"""

import random

import minigrad as mg
from minigrad._arguments import instance
from minigrad.errors import TensorValueError
from minigrad.ops.base.arguments import integer

__all__ = ["chain", "grads", "ladder", "random_graph"]


def random_graph(rng, steps=8, leaves=3, roots=1):
    """A graph of random operations on float64 vectors, with values that are used several times and an op with several outputs.

    Args:
        rng (random.Random): see `checks.rng`.
        steps (int): about how many operations.
        leaves (int): how many leaves, at least two.
        roots (int): how many results.

    Returns:
        (list of Tensor, Tensor): the leaves and the result, a scalar; with more than one root, a list of scalars.

    Raises:
        TypeError: `rng` is not a `random.Random`, or a number is not an int.
        ValueError: there are too few of them.
    """
    instance(rng, random.Random, "rng", "random_graph", "random.Random")
    for name, number, least in (("steps", steps, 0), ("leaves", leaves, 2), ("roots", roots, 1)):     # y multiplies two values
        if integer(number, name, "random_graph") < least:
            raise TensorValueError("MG-E206", f"random_graph(): argument '{name}' must be at least {least}, but got {number}",
                                   fix=f"pass {name}={least} or more")
    made = [mg.tensor([rng.uniform(-1, 1) for _ in range(3)], dtype=mg.float64, requires_grad=True) for _ in range(leaves)]
    values = list(made)
    for _ in range(steps):
        x, y = rng.choice(values[-4:]), rng.choice(values)
        kind = rng.choice(["add", "mul", "square", "sin", "tanh", "unbind", "broadcast"])
        if kind == "unbind":
            first, second, _ = (x * y).unbind()     # the third output stays unused
            values.append(first * y + second)
        elif kind == "broadcast":
            values.append(x * y.sum())
        elif kind in ("add", "mul"):
            values.append(x + y if kind == "add" else x * y)
        else:
            values.append(x * x if kind == "square" else getattr(x, kind)())
    results = [(value * (number + 1.0)).sum() for number, value in enumerate(values[-roots:])]
    return made, results if roots > 1 else (results[0] + (values[-1] * values[-2]).sum())


def ladder(x, rungs):
    """`x` after some rungs, each of which uses the rung below twice: ``2**rungs`` paths."""
    for _ in range(rungs):
        x = x.sin() * x
    return x


def chain(x, length):
    """`x` after many additions, one behind the other."""
    for _ in range(length):
        x = x + 1.0
    return x


def grads(result, leaves):
    """The gradients of minigrad's own engine; the graph stays."""
    return mg.autograd.grad(result, leaves, retain_graph=True, allow_unused=True)
