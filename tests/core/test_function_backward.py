"""The backward of a Function: its arguments, its results, and its own derivative."""

import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.core.function_tools import exponential, function, scaled, square

# ---- arguments ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("create_graph", [True, False])
def test_grad_mode(m, create_graph):
    """function/B-01."""
    seen = []
    y = function(m, lambda ctx, x: x * 2, lambda ctx, g: seen.append(m.is_grad_enabled()) or g * 2).apply(leaf(m, 1.0))
    m.autograd.grad(y, y.grad_fn.next_functions[0][0].variable, create_graph=create_graph)
    assert seen == [create_graph] and m.is_grad_enabled()


@pytest.mark.parametrize("materialize", [True, False])
def test_undefined_gradients(m, materialize):
    """Zeros of the output's shape and dtype, or None; the hooks of the node see None in either case.

    function/B-02, function/B-03, function/T-04, engine/U-05, function/H-02.
    """
    seen, hooked = [], []

    def forward(ctx, x):
        ctx.set_materialize_grads(materialize)
        return x * 2, x.double().reshape(1, 2), x * 3
    x = leaf(m, 1.0, 2.0)
    outs = function(m, forward, lambda ctx, *gs: seen.extend(gs) or gs[0] * 2).apply(x)
    node = outs[0].grad_fn
    node.register_prehook(lambda grads: hooked.append(value(grads)))
    node.register_hook(lambda results, grads: hooked.append((value(results), value(grads))))
    outs[0].sum().backward()
    assert hooked == [[[1, 1], None, None], ([[2, 2]], [[1, 1], None, None])]
    if materialize:
        assert value(seen) == [[1, 1], [[0, 0]], [0, 0]] and seen[1].dtype == m.float64
    else:
        assert value(seen) == [[1, 1], None, None]


@pytest.mark.parametrize("materialize", [True, False])
def test_no_gradient_at_all(m, materialize):
    """A scheduled backward runs even without any gradient. function/B-04."""
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(materialize)
        return x * 2
    x = leaf(m, 1.0)
    y = function(m, forward, lambda ctx, g: seen.append(value(g)) or g).apply(x)
    function(m, lambda ctx, x: x * 2, lambda ctx, g: None).apply(y).backward()
    assert seen == [0.0 if materialize else None] and value(x.grad) == (0.0 if materialize else None)


# ---- results ---------------------------------------------------------------------------------------------------


def returning(m, *results, bare=False):
    """A Function of (x, n, w) with a backward that returns `results`."""
    found = results[0] if bare else results
    return function(m, lambda ctx, x, n, w: x * w, lambda ctx, g: found)


def test_results(m):
    """function/B-05, function/B-06, function/B-10, engine/V-02."""
    x, w = leaf(m, 1.0), leaf(m, 2.0)
    g = m.tensor(3.0)
    for results in [(g, None, g), (g, None, None), (g, None, g, None, None)]:
        x.grad = w.grad = None
        returning(m, *results).apply(x, 1, w).backward()
        assert value(x.grad) == 3 and value(w.grad) == value(results[2])
    with raises(RuntimeError, "appears to not have been used in the graph"):
        m.autograd.grad(returning(m, g, None, None).apply(x, 1, w), w)
    for results in [(g,), (g, None), (g, None, g, g), (g, None, g, None, g), ()]:
        with raises(RuntimeError, "incorrect number of gradients (expected 3, got "):
            returning(m, *results).apply(x, 1, w).backward()
    with raises(RuntimeError, "MineBackward"):
        returning(m, g).apply(x, 1, w).backward()


def test_wrong_results(m):
    """function/B-05, function/B-07, function/B-08."""
    x, w = leaf(m, 1.0), leaf(m, 2.0)
    g = m.tensor(3.0)
    with raises(RuntimeError, "gradient different than None at position 2"):
        returning(m, g, g, g).apply(x, 1, w).backward()
    with raises(RuntimeError, "expected Variable or None (got int)"):
        returning(m, 5, None, g).apply(x, 1, w).backward()
    one = function(m, lambda ctx, x: x * 2, lambda ctx, g: [g])
    with raises(RuntimeError, "expected Variable or None (got list)"):
        one.apply(x).backward()
    with raises(RuntimeError, "incorrect number of gradients (expected 3, got 1)"):
        returning(m, [g, None, g], bare=True).apply(x, 1, w).backward()
    assert x.grad is None and w.grad is None


def test_gradient_that_nobody_wants(m):
    """function/B-09: ignored, whatever it looks like, also by the nodes that run after."""
    seen = []
    x, w = leaf(m, 1.0), m.tensor(2.0)
    a = x * 1
    a.grad_fn.register_hook(lambda results, grads: seen.append(value(grads)))
    y = function(m, lambda ctx, w, x: x * w, lambda ctx, g: (m.ones(7), g * 2)).apply(w, a)
    y.backward()
    assert value(x.grad) == 2 and w.grad is None and seen == [[2.0]]


def test_shapes_and_dtypes(m):
    """function/B-11."""
    x = leaf(m, 1.0, 2.0)
    function(m, lambda ctx, x: x * 2, lambda ctx, g: m.ones(3, 2).double()).apply(x).sum().backward()
    assert value(x.grad) == [3, 3] and x.grad.dtype == m.float32
    with raises(RuntimeError, "returned an invalid gradient at index 0"):
        function(m, lambda ctx, x: x * 2, lambda ctx, g: m.ones(3)).apply(x).sum().backward()


def test_results_are_not_written_to(m):
    """The engine does not write to a gradient that backward keeps or returns twice. function/B-12, function/B-13."""
    kept = m.ones(2) * 5

    def backward(ctx, g):
        ctx.g = g
        return kept, kept, g
    x, y, z = (leaf(m, 1.0, 2.0) for _ in range(3))
    out = function(m, lambda ctx, x, y, z: x + y + z, backward).apply(x, y, z)
    (out + x + z + z).sum().backward()
    for grad in (x.grad, y.grad, z.grad):
        grad.add_(100)
    assert value(kept) == [5, 5] and value(out.grad_fn.g) == [1, 1]
    assert (value(x.grad), value(y.grad), value(z.grad)) == ([106, 106], [105, 105], [103, 103])


def test_an_exception_is_itself(m):
    """function/T-09, function/G-07."""
    error = KeyError("backward")

    def backward(ctx, g):
        raise error
    x = leaf(m, 1.0)
    w = x * 2
    y = function(m, lambda ctx, x: x * 2, backward).apply(w)
    with pytest.raises(KeyError) as info:
        y.backward()
    assert info.value is error and x.grad is None and m.is_grad_enabled()
    w.backward()
    assert value(x.grad) == 2


def test_hooks_from_inside(m):
    """function/H-01: backward may register one on its own node."""
    seen = []

    def backward(ctx, g):
        ctx.register_hook(lambda results, grads: seen.append((value(results), len(grads))))
        return g * 2, None
    x = leaf(m, 1.0)
    function(m, lambda ctx, x, n: x * n, backward).apply(x, 2).backward()
    assert len(seen) == 1 and seen[0][0] == [2.0] and value(x.grad) == 2


# ---- Functions within Functions ----------------------------------------------------------------------------------


def test_a_backward_within(m):
    """function/T-06, function/G-06: of a detached copy, or through another Function."""
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    def backward(ctx, g):
        copy = ctx.saved_tensors[0].detach().requires_grad_()
        with m.enable_grad():
            inner = copy ** 3
        inner.backward(g)
        return scaled(m, 1.0).apply(copy.grad)
    x = leaf(m, 2.0)
    y = function(m, forward, backward).apply(square(m).apply(x))
    y.backward()
    assert value(x.grad) == 6 * 2 ** 5


# ---- differentiating backward --------------------------------------------------------------------------------------


def test_second_derivatives(m):
    """function/D-01, function/T-05: by saved inputs and outputs, to any order."""
    for Mine, derivative in [(square(m), [4.0, 2.0]), (exponential(m), [7.389056] * 3)]:
        x = leaf(m, 2.0)
        y = Mine.apply(x)
        for expected in derivative:
            y, = m.autograd.grad(y, x, create_graph=True)
            assert value(y) == pytest.approx(expected, rel=1e-5)


def test_several_outputs_twice(m):
    """function/T-05: y = x², z = eˣ, by both an input and an output saved."""
    def forward(ctx, x):
        y, z = x * x, x.exp()
        ctx.save_for_backward(x, z)
        return y, z

    def backward(ctx, g, h):
        x, z = ctx.saved_tensors
        return 2 * g * x + h * z
    x = leaf(m, 1.0)
    y, z = function(m, forward, backward).apply(x)
    first, = m.autograd.grad(y * z, x, create_graph=True)
    second, = m.autograd.grad(first, x)
    e = 2.7182817
    assert value(first) == pytest.approx(3 * e, rel=1e-5) and value(second) == pytest.approx(7 * e, rel=1e-5)


@pytest.mark.parametrize("view", [False, True])
def test_in_place_twice(m, view):
    """function/T-05: e to the x, in place and by its result."""
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.exp_()
        ctx.save_for_backward(x)
        return x
    a = leaf(m, 1.0, 2.0)
    x = a * 1
    target = x[:1] if view else x
    function(m, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(target)
    first, = m.autograd.grad((x * x).sum(), a, create_graph=True)
    e = [2.7182817 ** 2, 2.7182817 ** 4]
    assert value(first) == pytest.approx([2 * e[0], 4.0 if view else 2 * e[1]], rel=1e-5)
    second, = m.autograd.grad(first.sum(), a)
    assert value(second) == pytest.approx([4 * e[0], 2.0 if view else 4 * e[1]], rel=1e-5)


def test_saved_intermediate(m):
    """function/D-02: a saved intermediate result has no history, so the second derivative lacks its term."""
    def forward(ctx, x):
        middle = x * x
        ctx.save_for_backward(middle)
        return middle * x

    def backward(ctx, g):
        return 3 * g * ctx.saved_tensors[0]
    x = leaf(m, 2.0)
    first, = m.autograd.grad(function(m, forward, backward).apply(x), x, create_graph=True)
    assert value(first) == 12 and not first.requires_grad


def once(m, results=lambda g: g * 2, **attributes):
    def backward(ctx, *gs):
        ctx.modes.append(m.is_grad_enabled())
        return results(*gs)
    backward.__doc__ = "Documented."

    def forward(ctx, x):
        ctx.modes = []
        return x * 2
    return function(m, forward, m.autograd.function.once_differentiable(backward), **attributes)


@pytest.mark.parametrize("results", [lambda g: g * 2, lambda g: (g * 2,), lambda g: (g * 2, None)])
def test_once_differentiable(m, results):
    """function/D-03, function/D-05, function/D-06."""
    Once = once(m, results)
    assert Once.backward.__name__ == "backward" and Once.backward.__doc__ == "Documented."
    x = leaf(m, 3.0)
    y = Once.apply(x)
    y.backward(retain_graph=True)
    assert value(x.grad) == 2 and y.grad_fn.modes == [False]
    first, = m.autograd.grad(y * y, x, create_graph=True)
    assert value(first) == 24 and first.requires_grad and y.grad_fn.modes == [False, False]
    with raises(RuntimeError, "differentiate twice a function"):
        first.backward()


def test_once_differentiable_of_a_constant_gradient(m):
    """function/D-04."""
    x = leaf(m, 3.0)
    first, = m.autograd.grad(once(m).apply(x), x, create_graph=True)
    assert value(first) == 2 and not first.requires_grad and first.grad_fn is None


@pytest.mark.differs(
    what="`grad` of a gradient that a `once_differentiable` function computed",
    there="The message says that `x` was not used in the graph.",
    here="The message says that the function cannot be differentiated twice.")
@ours
def test_once_differentiable_by_grad(m):
    """PyTorch's `grad` says that x was not used, since the error's node leads nowhere."""
    x = leaf(m, 3.0)
    y = once(m).apply(x)
    first, = m.autograd.grad(y * y, x, create_graph=True)
    with raises(RuntimeError, "differentiate twice a function"):
        m.autograd.grad(first, x)


@ours
def test_once_differentiable_with_none(m):
    """function/D-05."""
    x = leaf(m, 3.0)
    Two = function(m, lambda ctx, x, n: x * n, m.autograd.function.once_differentiable(lambda ctx, g: (g * 2, None)))
    y = Two.apply(x, 2)
    first, = m.autograd.grad(y * y, x, create_graph=True)
    assert first.grad_fn.name() == "Error" and value(first) == 24


def test_finite_differences(m):
    """function/T-05: the gradients of a few Functions against differences."""
    for Mine in (square(m), exponential(m), scaled(m, 3.0)):
        x = leaf(m, 0.3, -0.7, dtype="float64")
        first, = m.autograd.grad(Mine.apply(x).sum(), x)
        step = 1e-6
        with m.no_grad():
            numeric = (Mine.apply(x + step) - Mine.apply(x - step)) / (2 * step)
        assert value(first) == pytest.approx(value(numeric), rel=1e-6)
