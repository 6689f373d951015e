"""The public checks of homework 2. Run them with ``python -m pytest -q test_public.py``."""

import adapters

import minigrad as mg
from minigrad.grading.checks import fail, number, same, used, weight

READ = "01_derivative_to_graph"


@weight(12)
@number("1.1")
def test_formulas_at_a_point():
    """The four formulas at a point"""
    x = mg.tensor([[0.5, -1.0], [2.0, 0.25]], requires_grad=True)
    y = mg.tensor([[1.5, 0.5], [-0.5, 1.0]], requires_grad=True)
    for op, z in (("mul", x * y), ("exp", x.exp()), ("tanh", x.tanh()), ("mm", x @ y)):
        expected = mg.autograd.grad(z.sum(), [x, y], retain_graph=True, allow_unused=True)
        try:
            with mg.grading.swap("vjp", adapters.vjp(op), of=op) as part:
                found = mg.autograd.grad(z.sum(), [x, y], retain_graph=True, allow_unused=True)
        except mg.grading.SwapError as error:
            fail(str(error), z, READ)
        used(part, f"backward of {op} was run without it", z, READ)
        for name, mine, ours in zip("xy", found, expected):
            if ours is not None:
                same(mine, ours, f"{op}: the gradient of {name}", z, READ)


@weight(10)
@number("2.1")
def test_sum_to_shape_of_the_text():
    """sum_to_shape for the shapes of the text"""
    grad = mg.arange(6.0).reshape(2, 3)
    for shape, expected in (((3,), [3.0, 5.0, 7.0]), ((2, 1), [[3.0], [12.0]]), ((), 15.0), ((2, 3), grad.tolist())):
        same(adapters.sum_to_shape()(grad, shape), mg.tensor(expected), f"shape (2, 3) to {shape}", read=READ)


@weight(10)
@number("3.1")
def test_numerical_gradient_of_a_square():
    """The numerical gradient of a sum of squares is 2 x, and x stays as it is"""
    x = mg.tensor([[1.0, -2.0, 0.5]], dtype=mg.float64)
    found = adapters.numerical_gradient()(lambda x: (x * x).sum(), x)
    same(found, mg.tensor([[2.0, -4.0, 1.0]], dtype=mg.float64), "the gradient", read=READ, tolerance=1e-7)
    same(x, mg.tensor([[1.0, -2.0, 0.5]], dtype=mg.float64), "x after the call", read=READ, tolerance=0)
