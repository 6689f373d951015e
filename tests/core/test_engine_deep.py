"""Deep graphs: nothing recurses, whatever the recursion limit. engine.md 17 and M-05."""

import gc
import sys

import pytest

from minigrad._build import pure as _pure
from tests.core.engine_tools import leaf, note, value

# Interpreted, as in torch, larger graphs would take minutes. These are deeper than any recursion limit.
DEEP, DEEPEST, SHORTER = (100_000, 2_000_000, 20_000) if _pure.mode() == "compiled" else (20_000, 20_000, 5_000)


@pytest.fixture(autouse=True)
def shallow_stack():
    """As few frames as pytest itself leaves."""
    frame, depth = sys._getframe(), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 200)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.parametrize("then", ["run", "run to input", "drop", "drop node", "collect"])
def test_chain(m, then):
    """engine/Z-01, engine/Z-02, engine/M-05: built, run, and freed; freed without a run; found by the garbage collector."""
    x = leaf(m, 1.)
    y = x
    for _ in range(DEEPEST if m.__name__ == "minigrad" and then in ("run", "drop") else DEEP):
        y = y + 0
    if then == "run":
        y.backward()
        assert value(x.grad) == 1
    elif then == "run to input":
        assert value(m.autograd.grad(y, x)) == [1]
    elif then == "drop node":
        node = y.grad_fn
        del y
        assert node.next_functions
        del node
        return
    elif then == "collect":
        y.grad_fn.metadata["cycle"] = y.grad_fn
        del y
        gc.collect()
        return
    del y


@pytest.mark.parametrize("build", [
    lambda x: x * x.detach(), lambda x: x.exp() * 0 + x, lambda x: x.reshape(1).reshape(()), lambda x: (x + x) * 0.5,
    lambda x: x.reshape(1).split(1)[0].reshape(())], ids=["mul", "exp", "views", "fan", "outputs"])
def test_chain_of(m, build):
    """engine/Z-01: with saved tensors, views, fan-out, and nodes of several outputs."""
    x = leaf(m, 1.)
    y = x
    for _ in range(SHORTER):
        y = build(y)
    y.backward(retain_graph=True)
    assert x.grad is not None
    del y


def test_chain_of_inplace_ops(m):
    """engine/Z-01"""
    x = leaf(m, 1.)
    y = x * 1
    for _ in range(SHORTER):
        y.mul_(1)
    y.backward()
    assert value(x.grad) == 1


def test_chain_under_create_graph(m):
    """engine/Z-02: the graph of the gradient is as deep."""
    x = leaf(m, 1., dtype="float64")
    y = x
    for _ in range(5_000):
        y = y * x
    g, = m.autograd.grad(y, x, create_graph=True)
    h, = m.autograd.grad(g, x)
    assert value([g, h]) == [5001, 5001 * 5000]
    del y, g


def test_hooks_all_the_way(m):
    """engine/Z-02"""
    x = leaf(m, 1.)
    y = x
    events = []
    for _ in range(5_000):
        y = y * 1
        y.register_hook(note(events, "tensor"))
        y.grad_fn.register_hook(note(events, "post"))
    y.backward()
    assert len(events) == 10_000


def test_error_in_a_deep_graph(m):
    """engine/Z-02: tidying up after an error does not recurse either."""
    x = leaf(m, 1.)
    y = x * 1

    def fail(g):
        raise ValueError("at the end")
    y.register_hook(fail)
    for _ in range(SHORTER):
        y = y + 0
    with pytest.raises(ValueError, match="at the end"):
        y.backward()
    assert x.grad is None
