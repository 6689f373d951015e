"""The public checks of homework 6. Run them with ``python -m pytest -q test_public.py``."""

import adapters

import minigrad as mg
from minigrad.grading.checks import fail, number, same, weight

FUNCTION, DOUBLE, FORWARD = "14_function", "05_double_backward", "15_forward_mode"


@weight(10)
@number("1.1")
def test_cube():
    """Cube: value, first and second derivative"""
    x = mg.tensor([1.0, -2.0], requires_grad=True)
    y = adapters.cube()(x)
    same(y, mg.tensor([1.0, -8.0]), "x ** 3", read=FUNCTION)
    first, = mg.autograd.grad(y.sum(), x, create_graph=True)
    same(first, mg.tensor([3.0, 12.0]), "the derivative of x ** 3", y, FUNCTION)
    if not first.requires_grad:
        fail("the derivative cannot be differentiated again: save x with ctx.save_for_backward", y, DOUBLE)
    second, = mg.autograd.grad(first.sum(), x)
    same(second, mg.tensor([6.0, -12.0]), "the second derivative of x ** 3", y, DOUBLE)


@weight(10)
@number("2.1")
def test_large_numbers():
    """LogSumExp of large numbers"""
    x = mg.tensor([[100.0, 101.0], [-200.0, -200.0]], requires_grad=True)
    y = adapters.log_sum_exp()(x)
    same(y, mg.tensor([101.3132617, -199.3068528]), "log_sum_exp", read=FUNCTION)
    y.sum().backward()
    same(x.grad, mg.tensor([[0.2689414, 0.7310586], [0.5, 0.5]]), "x.grad", y, FUNCTION, tolerance=1e-4)


@weight(10)
@number("3.1")
def test_products_of_the_text():
    """The products for a polynomial of two numbers"""
    x, v = mg.tensor([1.0, 2.0], dtype=mg.float64), mg.tensor([3.0, -1.0], dtype=mg.float64)

    def f(x):
        return x[0] ** 3 + x[0] * x[1] ** 2
    same(adapters.hessian_vector()(f, x, v), mg.tensor([6.0 * 3 + 4.0 * -1, 4.0 * 3 + 2.0 * -1], dtype=mg.float64),
         "H v of x0^3 + x0 x1^2 at (1, 2), for v = (3, -1)", read=DOUBLE)
    value, slope = adapters.directional()(f, x, v)
    same(value, mg.tensor(5.0, dtype=mg.float64), "the value", read=FORWARD)
    same(slope, mg.tensor(7.0 * 3 + 4.0 * -1, dtype=mg.float64), "the derivative along v", read=FORWARD)
