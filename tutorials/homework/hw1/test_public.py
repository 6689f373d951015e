"""The public checks of homework 1. Run them with ``python -m pytest -q test_public.py``."""

import functools
import math

import adapters

from minigrad.grading import checks
from minigrad.grading.checks import fail, number, weight

READ = "01_derivative_to_graph"
close = functools.partial(checks.close, read=READ, tolerance=1e-9, absolute=1e-12)


@weight(15)
@number("1.1")
def test_edges_of_a_product():
    """add and mul have an edge with the local derivative for each operand"""
    make = adapters.number()
    x, y = make(2.0), make(5.0)
    for name, value, locals_ in (("add", 7.0, (1.0, 1.0)), ("mul", 10.0, (5.0, 2.0))):
        z = adapters.function(name)(x, y)
        close(z.value, value, f"the value of {name}(2, 5)")
        if [operand for operand, _ in z.edges] != [x, y]:
            fail(f"{name}(x, y): expected one edge to x and one to y, found {len(z.edges)} edges", read=READ)
        for (_, found), expected, operand in zip(z.edges, locals_, "xy"):
            close(found, expected, f"the local derivative of {name}(x, y) with respect to {operand}, at x = 2 and y = 5")


@weight(10)
@number("2.1")
def test_order_of_the_example():
    """The root comes first, and each number after all that were computed from it"""
    x = adapters.number()(2.0)
    h = adapters.function("mul")(x, x)
    s = adapters.function("sin")(h)
    y = adapters.function("mul")(s, h)
    found = list(adapters.backward_order()(y))
    names = {y: "y", s: "s", h: "h", x: "x"}
    if found != [y, s, h, x]:
        fail("h = x x, s = sin(h), y = s h. Expected the order y, s, h, x; "
             f"found {', '.join(names.get(each, '?') for each in found)}", read=READ)


@weight(10)
@number("3.1")
def test_gradient_of_the_example():
    """backward finds the derivative of sin(x x) x x"""
    x = adapters.number()(2.0)
    h = adapters.function("mul")(x, x)
    y = adapters.function("mul")(adapters.function("sin")(h), h)
    adapters.backward()(y)
    close(x.grad, 4.0 * (4.0 * math.cos(4.0) + math.sin(4.0)), "the derivative with respect to x, at x = 2")
    close(y.grad, 1.0, "the derivative of y with respect to itself")
