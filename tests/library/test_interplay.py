"""Operators together with hooks, checkpoints, anomaly mode, forward mode, threads; NumPy and numba under them."""

import threading

import numpy as np
import pytest

import minigrad
from tests.core.engine_tools import leaf, ours, raises, value
from tests.library.tools import define, numpy_sin, product, with_formula


def test_saved_tensors_hooks(m):
    """custom_op/B-90"""
    op = product(m)
    x, y = leaf(m, 2.0), leaf(m, 3.0)
    packed = []

    def pack(t):
        packed.append(value(t))
        return t.detach() * 10
    with m.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        z = op(x, y)
    assert packed == [2, 3]
    z.backward()
    assert (value(x.grad), value(y.grad)) == (30, 20)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint(m, reentrant):
    """custom_op/B-91: the operator runs again in the backward."""
    from_torch = m is not minigrad
    if from_torch:
        from torch.utils.checkpoint import checkpoint
    else:
        from minigrad.utils.checkpoint import checkpoint
    calls = []

    def f(x: m.Tensor) -> m.Tensor:
        calls.append(1)
        return m.from_numpy(np.exp(x.detach().numpy()))
    op = define(m, f)
    op.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0],
                         setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output))
    x = leaf(m, 1.0, 2.0)
    y = checkpoint(lambda x: op(x * 1) * 2, x, use_reentrant=reentrant)
    assert len(calls) == 1
    y.sum().backward()
    assert len(calls) == 2 and np.allclose(value(x.grad), 2 * np.exp([1.0, 2.0]))


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_anomaly_mode_names_the_node(m):
    """custom_op/B-91"""
    op = numpy_sin(m)
    op.register_autograd(lambda ctx, g: g * float("nan"))
    with m.autograd.detect_anomaly(check_nan=True):
        y = op(leaf(m, 1.0, 1.0))
        with pytest.warns(UserWarning, match="Error detected in GeneratedBackwardFor_tests_sin"):
            with raises(RuntimeError, f"Function '{y.grad_fn.name()}' returned nan values in its 0th output"):
                y.sum().backward()


def test_hooks_on_the_node(m):
    op = with_formula(m)
    seen = []
    x = leaf(m, 0.0, 0.0)
    y = op(x)
    y.grad_fn.register_prehook(lambda grads: seen.append(("pre", value(grads))))
    y.grad_fn.register_hook(lambda grads_in, grads_out: seen.append(("post", value(grads_in), value(grads_out))))
    y.sum().backward()
    assert seen == [("pre", [[1, 1]]), ("post", [[1, 1]], [[1, 1]])]


def test_forward_mode_raises(m):
    """custom_op/B-92, for arguments that require a gradient"""
    import importlib
    fw = importlib.import_module(f"{m.__name__}.autograd.forward_ad")
    op = with_formula(m)
    with fw.dual_level():
        x = fw.make_dual(leaf(m, 1.0, 2.0), m.ones(2))
        with raises(NotImplementedError, "You must implement the jvp function"):
            op(x)


@pytest.mark.differs(
    what="A custom op of a dual tensor, when no argument requires a gradient",
    there="The tangent is lost without a word.",
    here="NotImplementedError: the operator has no forward mode.")
@ours
def test_no_tangent_is_lost(m):
    """custom_op/B-92: also if no input requires a gradient, where PyTorch drops the tangent; and in lists."""
    from minigrad.autograd import forward_ad as fw

    def total(xs: list[m.Tensor]) -> m.Tensor:
        return xs[0] + xs[1]
    op = define(m, total)
    with fw.dual_level():
        x = fw.make_dual(m.ones(2), m.ones(2))
        for f in (lambda: with_formula(m)(x), lambda: op([m.ones(2), x])):
            with raises(NotImplementedError, "does not support forward mode AD"):
                f()
            with m.no_grad(), raises(NotImplementedError, "does not support forward mode AD"):
                f()
        assert value(op([m.ones(2), m.ones(2)])) == [2, 2]      # no tangent, no objection
        assert value(op([m.ones(2), fw.unpack_dual(x).primal])) == [2, 2]


def test_one_operator_in_many_threads(m):
    """custom_op/T-07: each call has a ctx of its own."""
    op = product(m)
    barrier = threading.Barrier(4)
    wrong = []

    def work(n):
        barrier.wait()
        for i in range(50):
            x, y = leaf(m, float(n)), leaf(m, float(i))
            op(op(x, y), y).backward()
            if (value(x.grad), value(y.grad)) != (i * i, 2 * n * i):
                wrong.append((n, i))
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_formulas_registered_while_others_run(m):
    """custom_op/T-07"""
    op = product(m)
    stop = threading.Event()
    errors = []

    def work():
        x, y = leaf(m, 2.0), leaf(m, 3.0)
        while not stop.is_set():
            try:
                op(x, y).backward()
            except Exception as error:
                errors.append(error)
    thread = threading.Thread(target=work)
    thread.start()

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    for _ in range(200):
        op.register_autograd(lambda ctx, g: (g, g), setup_context=setup_context)
    stop.set()
    thread.join()
    assert not errors


def test_an_operator_calls_another(m):
    sin = with_formula(m)

    def twice(x: m.Tensor) -> m.Tensor:
        return sin(sin(x))
    op = define(m, twice)

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, g):
        with m.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            return m.autograd.grad(sin(sin(x)), x, g)
    op.register_autograd(backward, setup_context=setup_context)
    x = leaf(m, 0.5, 1.0)
    y = op(x)
    assert y.grad_fn.next_functions[0][0].name().endswith("AccumulateGrad")
    y.sum().backward()
    assert np.allclose(value(x.grad), np.cos(np.sin([0.5, 1.0])) * np.cos([0.5, 1.0]))


def test_inference_mode(m):
    op = with_formula(m)
    with m.inference_mode():
        y = op(m.ones(2))
        assert y.is_inference() and not y.requires_grad
        assert op(m.ones(2, requires_grad=True)).is_inference()


def test_a_numpy_function(m):
    """custom_op/T-01: from NumPy to a third derivative."""
    op = with_formula(m)
    x = leaf(m, 0.1, 0.2, dtype="float64")
    y, expected = op(x), (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x))
    for f in expected:
        y, = m.autograd.grad(y.sum(), x, create_graph=True)
        assert np.allclose(value(y), f(np.array([0.1, 0.2])))


def test_a_numba_function(m):
    """In ten lines: compiled forward and backward, each an operator, so that the second derivative is known too."""
    numba = pytest.importorskip("numba")

    @numba.njit
    def polynomial(x, coefficients):
        y = np.zeros_like(x)
        for c in coefficients:
            y = y * x + c
        return y

    def horner(x: m.Tensor, coefficients: list[float]) -> m.Tensor:
        return m.from_numpy(polynomial(x.numpy(), np.array(coefficients)))
    op = define(m, horner)

    def setup_context(ctx, inputs, output):
        x, ctx.coefficients = inputs
        ctx.save_for_backward(x)

    def backward(ctx, grad):
        x, = ctx.saved_tensors
        n = len(ctx.coefficients)
        return grad * op(x, [c * (n - 1 - i) for i, c in enumerate(ctx.coefficients[:-1])]), None
    op.register_autograd(backward, setup_context=setup_context)

    x = leaf(m, 1.0, 2.0, dtype="float64")
    y = op(x, [1.0, 0.0, 2.0, 5.0])         # x³ + 2x + 5
    assert value(y) == [8, 17]
    g, = m.autograd.grad(y.sum(), x, create_graph=True)
    assert value(g) == [5, 14]
    assert value(m.autograd.grad(g.sum(), x)[0]) == [6, 12]


@ours
def test_numpy_of_a_tracked_tensor_while_gradients_are_off(m):
    """So a kernel says x.numpy(), as in PyTorch."""
    x = leaf(m, 1.0, 2.0)
    with m.no_grad():
        assert x.numpy().tolist() == [1, 2] and np.asarray(x).tolist() == [1, 2]
    with raises(RuntimeError, "Can't call numpy() on Tensor that requires grad"):
        x.numpy()
