"""Operators that take and return lists of tensors, and optional tensors."""

import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.library.tools import define


def scaled_all(m, result, seen=None, setup_context=None):
    """(xs, y, ks) -> ([k x for each], y): with a backward that returns ``result(grads)``."""
    def f(xs: list[m.Tensor], y: m.Tensor, ks: list[int]) -> tuple[list[m.Tensor], m.Tensor]:
        return [x * k for x, k in zip(xs, ks)], y + 1
    op = define(m, f)

    def backward(ctx, *grads):
        if seen is not None:
            seen.append((ctx.needs_input_grad, grads))
        return result(grads)
    op.register_autograd(backward, setup_context=setup_context)
    return op


def test_lists_are_differentiated_by_element(m):
    """custom_op/B-60, custom_op/B-61, custom_op/B-62, custom_op/B-63: with None in between, custom_op/T-03."""
    seen = []
    op = scaled_all(m, lambda grads: ([grads[0][0] * 2, None, grads[0][2] * 4], grads[1], None), seen)
    a, b, c, y = leaf(m, 1.0), m.tensor(2.0), leaf(m, 3.0), leaf(m, 4.0)
    xs, z = op([a, b, c], y, [2, 3, 4])
    assert type(xs) is list and value(xs) == [2, 6, 12] and value(z) == 5
    assert all(x.requires_grad and x.grad_fn is z.grad_fn for x in xs)
    (xs[0] + xs[2] * 2).backward()
    needs, grads = seen.pop()
    assert needs == ([True, False, True], True, False)
    assert type(grads[0]) is list and value(grads) == [[1, 0, 2], 0]
    assert (value(a.grad), value(c.grad), value(y.grad)) == (2, 8, 0) and b.grad is None


def test_setup_context_sees_lists(m):
    """custom_op/B-60: inputs and output as they were given."""
    seen = []
    op = scaled_all(m, None, setup_context=lambda ctx, inputs, output: seen.append((inputs, output)))
    a, y = leaf(m, 1.0), leaf(m, 4.0)
    op((a, a), y, (2, 3))
    inputs, output = seen.pop()
    assert [type(x) for x in inputs] == [list, m.Tensor, list] and inputs[0][0] is a and inputs[1] is y and inputs[2] == [2, 3]
    assert type(output) is tuple and type(output[0]) is list and value(output) == [[2, 3], 5]


@pytest.mark.differs(
    what="`ctx.needs_input_grad` in `setup_context`, with lists of tensors",
    there="The tuple is flat, and has entries for hidden arguments.",
    here="The tuple has the form of the arguments, as in the formula.")
@ours
def test_setup_context_sees_the_nesting_of_needs_input_grad(m):
    """custom_op/B-62: in PyTorch flat there, with a hidden argument at the end."""
    seen = []
    op = scaled_all(m, None, setup_context=lambda ctx, inputs, output: seen.append(ctx.needs_input_grad))
    op([leaf(m, 1.0), m.tensor(1.0)], m.tensor(1.0), [1, 2])
    assert seen == [([True, False], False, False)]


@pytest.mark.parametrize("result", [
    lambda g: ((g[0][0], None), g[1], None), lambda g: (None, g[1], None), lambda g: ([g[0][0]], g[1], None),
    lambda g: ([g[0][0], None], g[1]), lambda g: ([g[0][0], 3], g[1], None), lambda g: [[g[0][0], None], g[1], None],
    lambda g: ([g[0][0], None], g[1], [None, None]), lambda g: g[1]],
    ids=["tuple", "None", "short", "few", "number", "no tuple", "list for numbers", "single"])
def test_gradients_of_another_structure(m, result):
    """custom_op/B-61"""
    xs, _ = scaled_all(m, result)([leaf(m, 1.0), leaf(m, 2.0)], leaf(m, 3.0), [1, 2])
    with raises(RuntimeError, "same structure as the inputs"):
        (xs[0] + xs[1]).backward()


@ours
def test_the_message_shows_both_structures(m):
    xs, _ = scaled_all(m, lambda g: (g[1], (None, None), 3))([leaf(m, 1.0), leaf(m, 2.0)], leaf(m, 3.0), [1, 2])
    with pytest.raises(RuntimeError) as caught:
        xs[0].backward()
    assert "expected: (a list of 2, a tensor or None, a tensor or None)" in str(caught.value)
    assert "found:    (a Tensor, a tuple of 2, a int)" in str(caught.value)


@ours
def test_surplus_nones_do_no_harm_with_lists_either(m):
    """custom_op/B-43"""
    a = leaf(m, 1.0)
    xs, _ = scaled_all(m, lambda g: ([g[0][0]], g[1], None, None))([a], leaf(m, 3.0), [1])
    xs[0].backward()
    assert value(a.grad) == 1


def test_a_gradient_for_numbers(m):
    """custom_op/B-63"""
    xs, _ = scaled_all(m, lambda g: ([g[0][0]], g[1], g[1]))([leaf(m, 1.0)], leaf(m, 3.0), [1])
    with raises(RuntimeError, "returned a gradient different than None"):
        xs[0].backward()


def test_empty_lists(m):
    op = scaled_all(m, lambda g: ([], g[1], None))
    y = leaf(m, 3.0)
    xs, z = op([], y, [1])
    assert xs == []
    z.backward()
    assert value(y.grad) == 1


def test_a_list_alone(m):
    """custom_op/B-60, custom_op/B-61"""
    def f(xs: list[m.Tensor]) -> list[m.Tensor]:
        return [x * 2 for x in xs]
    op = define(m, f)
    op.register_autograd(lambda ctx, grads: [g * 2 for g in grads] if isinstance(grads, list) else None)
    a, b = leaf(m, 1.0), leaf(m, 1.0)
    c, d = op([a, b])
    (c * 3 + d).backward()
    assert (value(a.grad), value(b.grad)) == (6, 2)


def test_one_tensor_twice_in_a_list(m):
    def f(xs: list[m.Tensor]) -> m.Tensor:
        return xs[0] * xs[1]
    op = define(m, f)

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[0])

    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return [g * y, g * x]
    op.register_autograd(backward, setup_context=setup_context)
    a = leaf(m, 3.0)
    y = op([a, a])
    g, = m.autograd.grad(y, a, create_graph=True)
    assert value(g) == 6
    assert value(m.autograd.grad(g, a)[0]) == 2


def test_optional_tensors(m):
    """custom_op/T-03: passed and not passed."""
    def f(x: m.Tensor, bias: m.Tensor | None = None) -> m.Tensor:
        return x.clone() if bias is None else x + bias
    op = define(m, f)
    seen = []

    def setup_context(ctx, inputs, output):
        ctx.has_bias = inputs[1] is not None

    def backward(ctx, g):
        seen.append(ctx.has_bias)
        return g, g if ctx.has_bias else None
    op.register_autograd(backward, setup_context=setup_context)
    x, bias = leaf(m, 1.0), leaf(m, 2.0)
    op(x, bias).backward()
    op(x, None).backward()
    op(x).backward()
    assert (value(x.grad), value(bias.grad), seen) == (3, 1, [True, False, False])


@pytest.mark.differs(
    what="A custom op with a parameter `list[Tensor | None]`",
    there="The tensors in the list get no gradient.",
    here="They get their gradients.")
@ours
def test_optional_tensors_in_a_list(m):
    """PyTorch does not look for gradients there."""
    def f(xs: list[m.Tensor | None]) -> m.Tensor:
        return xs[0] * 2
    op = define(m, f)
    op.register_autograd(lambda ctx, g: [2 * g, None])
    x = leaf(m, 1.0)
    op([x, None]).backward()
    assert value(x.grad) == 2
