"""The formula of a step: its numbers give its result, and the values in the boxes are those of the program."""

import math
import re

import pytest

import minigrad as mg
from minigrad.viz._step_builder import build_steps
from minigrad.viz._timeline import Timeline, brief
from tests.viz.programs import everything

PROGRAMS = {
    "sin": lambda x, y: (x * y).sin(), "cos": lambda x, y: x.cos(), "exp": lambda x, y: x.exp(), "log": lambda x, y: x.log(),
    "sqrt": lambda x, y: x.sqrt(), "div": lambda x, y: x / y, "sub": lambda x, y: x - y * x, "tanh": lambda x, y: x.tanh(),
    "sigmoid": lambda x, y: (x - y).sigmoid(), "reciprocal": lambda x, y: -1 / x, "tan": lambda x, y: (x * 1).tan() * y,
    "log1p": lambda x, y: x.log1p(), "atan": lambda x, y: x.atan()}


def worked(program, *numbers):
    """The formulas of the backward of a program, and its timeline."""
    x, y = [mg.tensor(number, requires_grad=True) for number in numbers]
    with mg.debug.record(x=x, y=y) as r:
        program(x, y).backward()
    timeline = Timeline(r)
    return [step.formula for step in build_steps(timeline) if step.formula], timeline


def computed(text):
    """The value of a formula with numbers."""
    for sign, code in (("·", "*"), ("^", "**"), ("²", "**2"), ("³", "**3"), ("√", "sqrt")):
        text = text.replace(sign, code)
    return eval(text, {"__builtins__": {}}, vars(math))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_numbers_give_the_result(name):
    formulas, _ = worked(PROGRAMS[name], 0.75, -1.5)
    assert formulas
    with_numbers = 0
    for part in re.split(r"; |: ", "; ".join(formulas)):
        name, *steps = part.split(" = ")
        if name in ("dx", "dy") and len(steps) == 3:
            with_numbers += 1
            assert computed(steps[1]) == pytest.approx(float(steps[2]), rel=2e-3)
    assert with_numbers


def test_the_formula_of_a_product():
    assert worked(lambda x, y: x * y, 2., 3.)[0] == ["z = x y: dx = g y = 1 · 3 = 3; dy = g x = 1 · 2 = 2"]
    assert worked(lambda x, y: x.sin(), 6., 1.)[0] == ["z = sin x: dx = g cos(x) = 1 · cos(6) = 0.9602"]
    assert worked(lambda x, y: x ** 2, 3., 1.)[0][0].endswith("dx = g y x^(y - 1) = 6")      # the number y is not in the record


def test_vectors_have_the_formula_alone():
    assert worked(lambda x, y: (x * y).sum(), [1., 2.], [3., 4.])[0] == ["z = x y: dx = g y; dy = g x"]


def test_values_and_gradients_in_the_boxes():
    """A value is known if a node has saved it: under its name, or as the operand of the next node."""
    _, timeline = worked(lambda x, y: (x * y).sin() * y, 2., 3.)
    state = {}
    for step in build_steps(timeline):
        state.update(step.changes)
    boxes = {op: {(state.get(f"{name}.v"), state.get(f"{name}.d")) for name in timeline.nodes if timeline.ops[name] == op}
             for op in timeline.ops.values()}
    assert boxes["SinBackward0"] == {("= -0.2794", "g = 3")}
    assert ("= 6", "g = 2.881") in boxes["MulBackward0"]
    assert boxes["AccumulateGrad"] == {("x = 2", "x.grad = 8.642"), ("y = 3", "y.grad = 5.482")}


def test_boxes_stay_narrow():
    timeline = Timeline(everything())
    build_steps(timeline)
    assert all(room <= 22 for key, room in timeline.rooms.items() if re.fullmatch(r"n\d+\.[vd]", key))
    assert brief("x", {"dtype": "float32", "shape": [8], "numbers": [1.25] * 8}) == "x: [8]"
