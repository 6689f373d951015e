"""The values that a backward releases, and the nodes that it records under create_graph: engine.md 10 and 11."""

import gc
import weakref

import pytest

import minigrad as mg
from tests.core.engine_tools import leaf, raises, value

AGAIN = "through the graph a second time"


@pytest.mark.parametrize("run", ["backward", "grad"])
def test_second_run(m, run):
    """engine/R-01, engine/R-02: the error of a second backward says what to do."""
    x = leaf(m, 2.)
    y = x.exp()

    def go(keep):
        y.backward(retain_graph=keep) if run == "backward" else m.autograd.grad(y, x, retain_graph=keep)
    go(True)
    go(False)
    with raises(RuntimeError, AGAIN) as error:
        go(False)
    assert "retain_graph=True" in str(error.value)
    with raises(RuntimeError, AGAIN):
        _ = y.grad_fn._saved_result


def test_saved_tensors_are_dropped_at_once(m):
    """engine/R-01: each node's right after it has run, while the others still have theirs."""
    x = leaf(m, 2.)
    y = x * x.detach().clone()
    saved = weakref.ref(y.grad_fn._saved_other)
    z = y.exp()
    alive = []
    y.register_hook(lambda g: alive.append(saved() is not None))
    x.register_hook(lambda g: alive.append(saved() is not None))
    z.backward()
    gc.collect()
    assert alive[0] and not alive[1] and saved() is None
    with raises(RuntimeError, AGAIN):
        _ = z.grad_fn._saved_result


def test_nodes_without_saved_values_run_again(m):
    """engine/R-03"""
    x = leaf(m, 1., 2.)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert value(x.grad) == [2, 2]


def test_shared_part(m):
    """engine/R-04"""
    x = leaf(m, 2.)
    shared = x.exp()
    first, second = shared * 2, shared.sin()
    first.backward()
    with raises(RuntimeError, AGAIN):
        second.backward()


def test_copy_slices(m):
    """engine/R-06"""
    x = leaf(m, 1., 2., 3.)
    y = x * 1
    y[:2].mul_(y[1:].detach().clone())
    z = y.sum()
    z.backward(retain_graph=True)
    z.backward()
    assert value(x.grad) == [4, 6, 2]
    with raises(RuntimeError, AGAIN):
        z.backward()


def test_error_midway(m):
    """engine/R-07: the nodes before it are freed, those after are not."""
    x = leaf(m, 2.)
    a = x.exp()
    b = a.exp()
    c = b.exp()

    def fail(g):
        raise ValueError("midway")
    handle = b.register_hook(fail)
    with raises(ValueError, "midway"):
        c.backward()
    handle.remove()
    with raises(RuntimeError, AGAIN):
        m.autograd.grad(c, b)
    assert value(m.autograd.grad(b, x)) == [pytest.approx(b.item() * a.item(), rel=1e-5)]


# ---- create_graph -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("create", [False, True])
def test_mode_of_the_run(m, create):
    """engine/C-01, engine/F-03: formulas, hooks and sums."""
    x = leaf(m, 2.)
    y = x * 1
    modes = []
    y.register_hook(lambda g: modes.append(m.is_grad_enabled()))
    y.grad_fn.register_prehook(lambda g: modes.append(m.is_grad_enabled()))
    y.grad_fn.register_hook(lambda g, _: modes.append(m.is_grad_enabled()))
    x.register_hook(lambda g: g * x)
    with m.no_grad():
        g, = m.autograd.grad(y, x, create_graph=create)
    assert modes == [create] * 3 and g.requires_grad is create and value(g) == 2


def test_sums_are_recorded(m):
    """engine/C-01"""
    x = leaf(m, 2.)
    y = x * 1
    g, = m.autograd.grad(y * y * y + y * y, x, create_graph=True)
    h, = m.autograd.grad(g, x, create_graph=True)
    k, = m.autograd.grad(h, x)
    assert value([g, h, k]) == [3 * 4 + 4, 6 * 2 + 2, 6]


def test_linear_maps(m):
    """engine/C-02: their gradients depend on nothing."""
    x = leaf(m, 1., 2.)
    g, = m.autograd.grad((x * 3).sum(), x, create_graph=True)
    assert not g.requires_grad and g.grad_fn is None


def test_originals_are_saved(m):
    """engine/C-03: second derivatives reach them, leaf or not."""
    x, w = leaf(m, 2.), leaf(m, 3.)
    u = w * 1
    y = x * u
    assert y.grad_fn._saved_other is u and y.grad_fn._saved_self is x
    g, = m.autograd.grad(y, x, create_graph=True)
    assert value(m.autograd.grad(g, [u, w])) == [1, 1]


@pytest.mark.parametrize("f, again", [
    (lambda m, x: x.sum(0), True), (lambda m, x: x[:1], True), (lambda m, x: x.mean(1), True), (lambda m, x: 2 - x, True),
    (lambda m, x: m.cat([x, x]), True), (lambda m, x: x * 2, False), (lambda m, x: x.index_select(0, m.tensor([0])), False),
    (lambda m, x: x[m.tensor([0, 1])], False), (lambda m, x: m.where(x.detach() > 0, x, x), False), (lambda m, x: x ** 2, False)])
def test_what_can_run_again(m, f, again):
    """engine/R-03, engine/R-02: a release keeps shapes and options, and frees indices and numbers instead of tensors."""
    x = m.ones(2, 2, requires_grad=True)
    y = f(m, x).sum()
    y.backward()
    if again:
        y.backward()
    else:
        with raises(RuntimeError, AGAIN):
            y.backward()


class Box:
    """A Python object that a graph can hold, and that can hold the graph."""


class Boxed(mg.autograd.Function):
    box = None

    @staticmethod
    def forward(ctx, x):
        ctx.box = Boxed.box
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g


def on(node, box):
    node.metadata["box"] = box
    return node


def boxed_by_a_function(box):
    Boxed.box, x = box, mg.ones(2, requires_grad=True)
    z, Boxed.box = Boxed.apply(x), None
    return z


def made(n):
    return [mg.ones(2, requires_grad=True) * 1 for _ in range(n)]


def held_by(way):
    def make(box):
        xs = made(4)
        on(xs[-1].grad_fn, box)
        return way(xs)
    return make


CYCLES = {
    "metadata": lambda box: (y := made(1)[0], on(y.grad_fn, box))[0],
    "a next node": held_by(lambda xs: xs[3] + 1), "the second": held_by(lambda xs: xs[0] + xs[3]), "the last": held_by(mg.cat),
    "a saved tensor": held_by(lambda xs: xs[3].exp()), "the second saved": held_by(lambda xs: xs[0] * xs[3]),
    "the third": held_by(lambda xs: mg.addcmul(xs[0], xs[1], xs[3])),
    "a hook": lambda box: (y := made(1)[0], y.register_hook(lambda g: box))[0],
    "a Function": boxed_by_a_function,
}


@pytest.mark.parametrize("way", CYCLES)
def test_cycles_through_nodes_are_collected(way):
    """The collector sees every reference that leads from a node back to it. See Note [What the collector is shown] in node.py."""
    box = Box()
    watcher = weakref.ref(box)
    gc.collect()
    gc.disable()
    try:
        box.graph = CYCLES[way](box)
        del box
        assert watcher() is not None, "there is no cycle"
    finally:
        gc.enable()
    gc.collect()
    assert watcher() is None
