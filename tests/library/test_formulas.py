"""Differentiating operators: with and without a formula; the arguments and results of setup_context and backward."""

import gc
import weakref

import numpy as np
import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.library.tools import define, numpy_sin, product, with_formula

# ---- no formula -------------------------------------------------------------------------------------------------


def test_without_a_formula_only_the_backward_fails(m):
    """custom_op/B-30, custom_op/T-01"""
    op = numpy_sin(m)
    x = leaf(m, 0.0, 1.0)
    y = op(x)
    assert y.requires_grad and np.allclose(value(y), np.sin([0.0, 1.0]))
    with raises(RuntimeError, "no autograd formula was registered"):
        y.sum().backward()
    assert x.grad is None


def test_the_name_of_the_node(m):
    """custom_op/B-31"""
    op = m.library.custom_op("tests::named", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    name = op(leaf(m, 1.0)).grad_fn.name()
    assert name.startswith("GeneratedBackwardFor_") and name == "GeneratedBackwardFor_tests_named_defaultBackward"


def test_what_is_not_recorded(m):
    """custom_op/B-32: under no_grad, and without a tensor that requires a gradient, setup_context is not called."""
    events = []

    def f(x: m.Tensor, y: m.Tensor) -> m.Tensor:
        events.append("kernel")
        return x + y
    op = define(m, f)
    op.register_autograd(lambda ctx, g: (g, g), setup_context=lambda ctx, inputs, output: events.append("setup"))
    x, y = leaf(m, 1.0), m.tensor(2.0)
    with m.no_grad():
        assert not op(x, y).requires_grad
    assert not op(x.detach(), y).requires_grad
    assert events == ["kernel", "kernel"]
    assert op(y, x).requires_grad
    assert events[2:] == ["kernel", "setup"]


def test_a_function_of_no_tensor(m):
    def f(n: int) -> m.Tensor:
        return m.ones(n)
    assert value(define(m, f)(2)) == [1, 1]


# ---- setup_context and backward ---------------------------------------------------------------------------------


def test_what_the_kernel_sees(m):
    """custom_op/B-10: grad mode off, and the caller's tensors."""
    seen = []

    def f(x: m.Tensor, y: m.Tensor) -> m.Tensor:
        seen.append((x, y, m.is_grad_enabled(), (x * y).requires_grad))
        return x * y
    op = define(m, f)
    x, y = leaf(m, 1.0), m.tensor(2.0)
    op(x, y)
    a, b, enabled, recorded = seen.pop()
    assert a is x and b is y and a.requires_grad and not enabled and not recorded and m.is_grad_enabled()
    op(y, y)
    assert seen[0][0] is y and seen[0][1] is y


@pytest.mark.differs(
    what="The kernel of a custom op, when no argument requires a gradient",
    there="Gradients are on in the kernel.",
    here="Gradients are off in each call, so that a kernel always runs in the same way.")
@ours
def test_the_kernel_runs_with_gradients_off(m):
    """custom_op/B-10: also if no argument requires one, so that it always runs in the same way; in PyTorch they are on then."""
    def f(x: m.Tensor) -> bool:
        return m.is_grad_enabled()
    assert define(m, f)(m.ones(1)) is False and m.is_grad_enabled()


def test_what_setup_context_is_called_with(m):
    """custom_op/B-40, custom_op/B-12: by name; all positional arguments with defaults; the caller's tensors; grad mode off; an output
    that has no history yet."""
    seen = []

    def f(x: m.Tensor, n: int = 3, s: float = 0.5) -> m.Tensor:
        return x * n * s
    op = define(m, f)

    def setup_context(ctx, inputs, output):
        seen.append((inputs, output.requires_grad, m.is_grad_enabled()))
    op.register_autograd(lambda ctx, g: (g, None, None), setup_context=setup_context)
    x = leaf(m, 1.0)
    for args, kwargs, expected in [((x,), {}, (3, 0.5)), ((x, 4), {}, (4, 0.5)), ((), {"s": 1, "x": x}, (3, 1.0)), ((x, 3, 0.5), {}, (3, 0.5))]:
        op(*args, **kwargs)
        inputs, requires_grad, enabled = seen.pop()
        assert type(inputs) is tuple and inputs[0] is x and inputs[1:] == expected
        assert not requires_grad and not enabled


def test_keyword_only_arguments_come_apart(m):
    """custom_op/B-40: (ctx, inputs, keyword_only_inputs, output), the last but one a dict, with defaults."""
    seen = []

    def f(x: m.Tensor, n: int = 3, *, flag: bool = False, s: float = 1.0) -> m.Tensor:
        return x * n * s
    op = define(m, f)

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        seen.append((inputs, keyword_only_inputs, output))
    op.register_autograd(lambda ctx, g: (g, None), setup_context=setup_context)
    x = leaf(m, 1.0)
    op(x, s=2)
    inputs, keywords, output = seen.pop()
    assert inputs[0] is x and inputs[1:] == (3,) and keywords == {"flag": False, "s": 2.0} and value(output) == 6
    op(x).backward()
    assert value(x.grad) == 1


def test_ctx_is_that_of_function(m):
    """custom_op/B-41: save_for_backward, attributes, mark_non_differentiable, set_materialize_grads."""
    def f(x: m.Tensor) -> tuple[m.Tensor, m.Tensor, m.Tensor]:
        return x * 2, x.abs(), x + 1
    op = define(m, f)
    seen = []

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], None, output[0])
        ctx.note = "attribute"
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    def backward(ctx, *grads):
        seen.append((value(ctx.saved_tensors), ctx.note, value(grads)))
        return grads[0]
    op.register_autograd(backward, setup_context=setup_context)
    x = leaf(m, 1.0, -1.0)
    a, b, c = op(x)
    assert (a.requires_grad, b.requires_grad, c.requires_grad) == (True, False, True)
    a.sum().backward()
    saved, note, grads = seen.pop()
    assert note == "attribute" and saved == [[1, -1], None, [2, -2]]
    assert grads[0] == [1, 1] and grads[2] is None
    assert value(x.grad) == [1, 1]


def test_undefined_gradients_are_zeros(m):
    """custom_op/B-42: one gradient per output; zeros by default; None for an output that is not a tensor."""
    seen = []

    def f(x: m.Tensor) -> tuple[m.Tensor, int, m.Tensor]:
        return x * 2, 3, x * 4
    op = define(m, f)

    def backward(ctx, *grads):
        seen.append(value(grads))
        return grads[2]
    op.register_autograd(backward)
    x = leaf(m, 1.0, 1.0)
    _, n, z = op(x)
    assert n == 3
    z.sum().backward()
    assert seen == [[[0, 0], None, [1, 1]]] and value(x.grad) == [1, 1]


def two_inputs(m, result):
    def f(x: m.Tensor, y: m.Tensor) -> m.Tensor:
        return x * y
    op = define(m, f)
    op.register_autograd(lambda ctx, g: result(g))
    x, y = leaf(m, 1.0), leaf(m, 2.0)
    return op(x, y), x, y


def test_the_number_of_gradients(m):
    """custom_op/B-43: surplus Nones do no harm; a single tensor for a single argument."""
    z, x, y = two_inputs(m, lambda g: (g, 2 * g, None))
    z.backward()
    assert (value(x.grad), value(y.grad)) == (1, 2)
    z, x, y = two_inputs(m, lambda g: (None, None))
    z.backward()
    assert x.grad is None and y.grad is None
    for result, key in [(lambda g: (g,), "returned an incorrect number of gradients"), (lambda g: g, "an incorrect number of gradients"),
                        (lambda g: [g, g], "an incorrect number of gradients"), (lambda g: (g, "a"), "expected Variable or None (got str)")]:
        with raises(RuntimeError, key):
            two_inputs(m, result)[0].backward()


@pytest.mark.differs(
    what="A formula of a custom op that returns too few gradients",
    there="The message counts a hidden argument: it asks for one gradient too many.",
    here="The message asks for one gradient per argument.")
@ours
def test_the_real_number_of_gradients(m):
    """custom_op/B-43: PyTorch counts a hidden argument, and asks for three."""
    for result, key in [(lambda g: (g,), "(expected 2, got 1)"), (lambda g: (g, g, g), "(expected 2, got 3)")]:
        with raises(RuntimeError, key):
            two_inputs(m, result)[0].backward()


def test_a_gradient_for_what_is_no_tensor(m):
    def f(x: m.Tensor, n: int) -> m.Tensor:
        return x * n
    op = define(m, f)
    op.register_autograd(lambda ctx, g: (g, g))
    with raises(RuntimeError, "returned a gradient different than None at position 2"):
        op(leaf(m, 1.0), 3).backward()


@pytest.mark.differs(
    what="`ctx.needs_input_grad`, when an argument keeps its default",
    there="That argument has no entry.",
    here="Each argument of the schema has an entry.")
@ours
def test_needs_input_grad_has_an_entry_per_argument(m):
    """custom_op/B-44: also for arguments that were left at their default, and in setup_context. PyTorch leaves them out."""
    seen = []

    def f(x: m.Tensor, n: int = 2, y: m.Tensor | None = None) -> m.Tensor:
        return x * n
    op = define(m, f)
    op.register_autograd(lambda ctx, g: (seen.append(ctx.needs_input_grad), (g, None, None))[1],
                         setup_context=lambda ctx, inputs, output: seen.append(ctx.needs_input_grad))
    x = leaf(m, 1.0)
    for args, expected in [((x,), (True, False, False)), ((x, 3), (True, False, False)), ((x, 3, x), (True, False, True)),
                           ((x.detach(), 3, x), (False, False, True))]:
        y = op(*args)
        y.backward()
        assert seen == [expected, expected] and y.grad_fn.needs_input_grad == expected
        seen.clear()


def test_needs_input_grad_when_all_is_given(m):
    """custom_op/B-44"""
    seen = []

    def f(x: m.Tensor, n: int, y: m.Tensor) -> m.Tensor:
        return x * n
    op = define(m, f)
    op.register_autograd(lambda ctx, g: (seen.append(ctx.needs_input_grad), (g, None, None))[1])
    op(leaf(m, 1.0), 3, m.tensor(1.0)).backward()
    assert seen == [(True, False, False)]


def test_registering_again_replaces_the_formula(m):
    """custom_op/B-45, custom_op/T-05: an old graph runs the new backward on the tensors that the old setup_context saved."""
    op = numpy_sin(m)

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    op.register_autograd(lambda ctx, g: g * 1000, setup_context=setup_context)
    x = leaf(m, 3.0, 4.0)
    y = op(x)
    op.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0])
    y.sum().backward()
    assert value(x.grad) == [3, 4]
    m.library.register_autograd(op, lambda ctx, g: g * 5)
    m.library.register_autograd(op._qualname, lambda ctx, g: g * 6)
    x.grad = None
    op(x).sum().backward()
    assert value(x.grad) == [6, 6]


def test_nothing_is_saved_without_setup_context(m):
    """custom_op/B-46"""
    op = numpy_sin(m)
    op.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0])
    with pytest.raises(IndexError):
        op(leaf(m, 1.0, 1.0)).sum().backward()


def test_unknown_operators(m):
    """custom_op/B-47"""
    with pytest.raises(AttributeError):
        m.library.register_autograd("tests::nowhere", lambda ctx, g: g)
    with raises(ValueError, "register_autograd(3): got unexpected type for op"):
        m.library.register_autograd(3, lambda ctx, g: g)


@pytest.mark.differs(
    what="`register_kernel` for an operator that does not exist",
    there="It is accepted.",
    here="AttributeError, which lists the operators of the namespace.")
@ours
def test_unknown_operators_have_one_error(m):
    """custom_op/B-47: PyTorch accepts kernels for operators that there are not."""
    m.library.custom_op("tests::known", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    for call in (lambda: m.library.register_kernel("tests::nowhere", "cpu", abs), lambda: m.library.register_fake("tests::nowhere", abs),
                 lambda: m.library.get_op("tests::nowhere")):
        with pytest.raises(AttributeError, match="has no operator 'nowhere'") as caught:
            call()
        assert "tests::known" in str(caught.value)


def test_double_backward(m):
    """custom_op/B-48: by saved inputs and recorded ops."""
    op = with_formula(m)
    x = leaf(m, 0.5, 1.0, dtype="float64")
    y = op(x)
    g, = m.autograd.grad(y.sum(), x, create_graph=True)
    assert g.requires_grad
    h, = m.autograd.grad(g.sum(), x, create_graph=True)
    assert np.allclose(value(h), -np.sin([0.5, 1.0]))
    k, = m.autograd.grad(h.sum(), x)
    assert np.allclose(value(k), -np.cos([0.5, 1.0]))


def test_double_backward_through_a_saved_output(m):
    """custom_op/B-48: y = e^x, dy = y g; without a cycle."""
    def exp(x: m.Tensor) -> m.Tensor:
        return m.from_numpy(np.exp(x.numpy()))
    op = define(m, exp)
    op.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0],
                         setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output))
    x = leaf(m, 0.5, 1.0, dtype="float64")
    for _ in range(2):
        y = op(x)
        g, = m.autograd.grad(y.sum(), x, create_graph=True)
        h, = m.autograd.grad(g.sum(), x)
        assert np.allclose(value(h), np.exp([0.5, 1.0]))
    y = op(x)
    with m.no_grad():
        y.mul_(2)
    with raises(RuntimeError, "modified by an inplace operation"):
        y.sum().backward()


def test_integral_outputs(m):
    """custom_op/B-50"""
    def f(x: m.Tensor) -> tuple[m.Tensor, m.Tensor]:
        return x * 2, (x > 0).long()
    op = define(m, f)
    op.register_autograd(lambda ctx, g, _: g * 2)
    x = leaf(m, 1.0, -1.0)
    y, positive = op(x)
    assert y.requires_grad and not positive.requires_grad and value(positive) == [1, 0]
    y.sum().backward()
    assert value(x.grad) == [2, 2]


def test_order_of_events(m):
    """custom_op/B-40, custom_op/B-42: two operators in a row, forward and backward."""
    events = []

    def made(name):
        def f(x: m.Tensor, y: m.Tensor) -> m.Tensor:
            events.append((name, "kernel", value(x), value(y)))
            return x * y
        op = define(m, f)

        def setup_context(ctx, inputs, output):
            events.append((name, "setup", value(inputs), value(output)))
            ctx.save_for_backward(*inputs)

        def backward(ctx, g):
            x, y = ctx.saved_tensors
            events.append((name, "backward", value(g), ctx.needs_input_grad, m.is_grad_enabled()))
            return g * y, g * x
        op.register_autograd(backward, setup_context=setup_context)
        return op
    x, y = leaf(m, 2.0), leaf(m, 3.0)
    z = made("b")(made("a")(x, y), y)
    z.backward()
    assert (value(x.grad), value(y.grad)) == (9, 12)
    assert events == [("a", "kernel", 2, 3), ("a", "setup", [2, 3], 6), ("b", "kernel", 6, 3), ("b", "setup", [6, 3], 18),
                      ("b", "backward", 1, (True, True), False), ("a", "backward", 3, (True, True), False)]


def test_a_kernel_that_raises(m):
    """custom_op/T-08: the very exception comes out, and grad mode is as it was."""
    error = KeyError("mine")

    def f(x: m.Tensor) -> m.Tensor:
        raise error
    op = define(m, f)
    for x in (leaf(m, 1.0), m.tensor(1.0)):
        with pytest.raises(KeyError) as caught:
            op(x)
        assert caught.value is error and m.is_grad_enabled()
    with m.no_grad(), pytest.raises(KeyError):
        op(x)


def test_a_setup_context_or_backward_that_raises(m):
    """custom_op/T-08"""
    def fails(*args, **kwargs):
        raise KeyError("mine")
    op = numpy_sin(m)
    op.register_autograd(lambda ctx, g: g, setup_context=fails)
    with pytest.raises(KeyError, match="mine"):
        op(leaf(m, 1.0, 1.0))
    assert m.is_grad_enabled()
    op.register_autograd(fails)
    x = leaf(m, 1.0, 1.0)
    with pytest.raises(KeyError, match="mine"):
        op(x).sum().backward()
    assert m.is_grad_enabled() and x.grad is None


@ours
def test_the_private_name_on_ctx(m):
    """custom_op/B-64: guarded for every operator; PyTorch does it for those with lists."""
    op = numpy_sin(m)
    op.register_autograd(lambda ctx, g: g, setup_context=lambda ctx, inputs, output: setattr(ctx, "_mg_metadata", 1))
    with raises(RuntimeError, "Please don't set ctx._mg_metadata"):
        op(leaf(m, 1.0, 1.0))


# ---- memory -----------------------------------------------------------------------------------------------------


@ours
def test_an_operator_that_was_replaced_is_freed(m, no_collection):
    """custom_op/B-08, custom_op/T-05: it is freed immediately, without the garbage collector; its graphs still work."""
    def f(x: m.Tensor) -> m.Tensor:
        return x * 2
    old = m.library.custom_op("tests::replaced", f, mutates_args=())
    old.register_autograd(lambda ctx, g: 2 * g)
    x = leaf(m, 1.0, 1.0)
    y = old(x)
    gone = weakref.ref(old)
    m.library.custom_op("tests::replaced", f, mutates_args=())
    del old
    assert gone() is None
    y.sum().backward()
    assert value(x.grad) == [2, 2]


def test_a_new_operator_of_the_same_name(m):
    """custom_op/B-08: no error, and the name means the new one."""
    for n in (2, 3):
        @m.library.custom_op("tests::again", mutates_args=())
        def again(x: m.Tensor) -> m.Tensor:
            return x * n    # noqa: B023
        assert value(again(m.ones(1))) == [n]
    m.library.register_autograd("tests::again", lambda ctx, g: g * 3)
    x = leaf(m, 1.0, 1.0)
    again(x).sum().backward()
    assert value(x.grad) == [3, 3]


def test_a_graph_is_freed_with_its_result(m, no_collection):
    """custom_op/T-05: no cycle through ctx, the saved output, or the formula."""
    op = product(m)
    big = m.ones(1000, requires_grad=True)
    inner = big * 2
    y = op(inner, inner)
    gone = weakref.ref(inner)
    del inner
    assert gone() is not None       # saved
    del y
    assert gone() is None


def test_a_graph_is_freed_by_the_backward(m, no_collection):
    op = product(m)
    x = leaf(m, 2.0, 3.0)
    inner = x * 2
    gone = weakref.ref(inner)
    y = op(inner, inner)
    del inner
    y.sum().backward()
    assert gone() is None and value(x.grad) == [16, 24]
    with raises(RuntimeError, "Trying to backward through the graph a second time"):
        y.sum().backward()


@ours
def test_nothing_is_left_of_many_calls(m):
    op = product(m)
    x = leaf(m, 1.0, 2.0)

    def step():
        op(op(x, x), x).sum().backward()
    step()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(50):
        step()
    gc.collect()
    assert len(gc.get_objects()) - before < 20
