"""The hidden checks of homework 0: other points, other functions, noise."""

import functools
import math

import adapters

import minigrad as mg
from minigrad.grading import checks
from minigrad.grading.checks import fail, number, rng, visibility, weight

READ = "01_derivative_to_graph"
close = functools.partial(checks.close, read=READ)


@weight(5)
@number("2.2")
@visibility("after_published")
def test_by_hand_elsewhere():
    """by_hand agrees with minigrad at random points"""
    random = rng("2.2")
    for _ in range(10):
        at = random.uniform(-4, 4)
        x = mg.tensor(at, dtype=mg.float64, requires_grad=True)
        (x * x * x.sin()).backward()
        close(adapters.function("by_hand")(at), x.grad.item(), f"by_hand({at:.3f})", tolerance=1e-9)


@weight(5)
@number("2.3")
@visibility("after_published")
def test_central_difference():
    """by_small_steps is a central difference: for x x x it is 3 x x + h h"""
    step = adapters.function("by_small_steps")
    close(step(lambda x: x * x * x, 2.0, h=0.01), 12.0 + 0.0001, "by_small_steps(x x x, 2, h=0.01)", tolerance=1e-9)
    close(step(math.exp, 1.0), math.e, "by_small_steps(exp, 1)")


@weight(10)
@number("3.2")
@visibility("after_published")
def test_by_minigrad_with_other_functions():
    """by_minigrad for other functions, in double precision, and twice in a row"""
    random, minigrad = rng("3.2"), adapters.function("by_minigrad")
    functions = {"exp": (lambda x: x.exp(), math.exp), "x x x": (lambda x: x ** 3, lambda x: 3 * x * x),
                 "tanh": (lambda x: x.tanh(), lambda x: 1 - math.tanh(x) ** 2), "5 x": (lambda x: 5 * x, lambda x: 5.0)}
    for name, (function, derivative) in functions.items():
        for _ in range(2):
            at = random.uniform(-1, 1)
            close(minigrad(function, at), derivative(at), f"by_minigrad({name}, {at:.3f})", tolerance=1e-12)


@weight(10)
@number("4.2")
@visibility("after_published")
def test_line_with_noise():
    """fit_line finds the line with the smallest error, and leaves its arguments as they are"""
    mg.manual_seed(rng("4.2").randrange(1000))
    inputs = mg.rand(40) * 2 - 1
    targets = -1.5 * inputs + 0.5 + 0.3 * mg.randn(40)
    before = inputs.tolist(), targets.tolist()
    slope, intercept = adapters.function("fit_line")(inputs, targets)
    centred = inputs - inputs.mean()
    best = ((centred * targets).sum() / (centred * centred).sum()).item()
    close(slope, best, "the slope", tolerance=5e-3)
    close(intercept, targets.mean().item() - best * inputs.mean().item(), "the intercept", tolerance=5e-3)
    if (inputs.tolist(), targets.tolist()) != before:
        fail("fit_line has changed its arguments", read=READ)
