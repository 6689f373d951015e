"""Runs that stop at the given inputs, and the hooks that fire in them: engine.md 5, 6, 12.3 and the matrix M-01."""

import pytest

from tests.core.engine_tools import accumulator, leaf, note, raises, runs, value


def test_without_inputs_everything_runs(m):
    """engine/X-01"""
    x, w = leaf(m, 2.), leaf(m, 3.)
    y = x * w
    ran = []
    runs(ran, y=y.grad_fn, x=accumulator(x), w=accumulator(w))
    y.backward()
    assert sorted(ran) == ["w", "x", "y"]


def test_only_what_is_needed_runs(m):
    """engine/X-02, engine/X-06, engine/H-12: no node, hook or gradient off the paths to the inputs."""
    x, w = leaf(m, 2.), leaf(m, 3.)
    a, b = x.exp(), w.sin()
    c = a * b
    ran = []
    runs(ran, a=a.grad_fn, b=b.grad_fn, c=c.grad_fn)
    b.register_hook(note(ran, "hook of b"))
    w.register_hook(note(ran, "hook of w"))
    b.retain_grad()
    m.autograd.grad(c, x, retain_graph=True)
    c.backward(inputs=[x])
    assert ran == ["c", "a"] * 2 and b.grad is None and w.grad is None


@pytest.mark.parametrize("part", [lambda m, x: x.unbind()[1], lambda m, x: x.chunk(2)[1], lambda m, x: x.sin(), lambda m, x: m.cat([x, x])])
def test_last_node_computes_nothing(m, part):
    """engine/X-09, engine/X-04: the node of the requested tensor runs, but no gradient of its inputs is needed."""
    y = part(m, leaf(m, 1., 2.))
    seen = []
    y.grad_fn.register_hook(lambda grads, _: seen.extend(grads))
    y.sum().backward(inputs=[y])
    assert set(seen) == {None} and y.grad is not None


def test_edges_of_nothing_joined(m):
    """graph/N-10: an edge per tensor, even if no tensor has an element."""
    x = m.zeros(0, requires_grad=True)
    y = m.cat([x, x * 1])
    assert [node.name().split("::")[-1] for node, _ in y.grad_fn.next_functions] == ["AccumulateGrad", "MulBackward0"]
    y.sum().backward()
    assert x.grad.tolist() == []


def test_formulas_compute_what_is_needed(m):
    """engine/X-09: a product computes no gradient of its second factor if the caller does not request it."""
    x, w = leaf(m, 2.), leaf(m, 3.)
    y = x * w
    seen = []
    y.grad_fn.register_hook(lambda grads, _: seen.append([g is not None for g in grads]))
    m.autograd.grad(y, x, retain_graph=True)
    m.autograd.grad(y, w, retain_graph=True)
    y.backward()
    assert seen == [[True, False], [False, True], [True, True]]


def test_captured_between(m):
    """engine/X-03: a requested node runs only if another one is behind it; also with several outputs of one node."""
    x = leaf(m, 1., 2.)
    a, b = (x * 3).split(1)
    ran = []
    runs(ran, split=a.grad_fn)
    y = (a * 5 + b * 7).sum()
    assert value(m.autograd.grad(y, [b, a], retain_graph=True)) == [[7], [5]] and ran == []
    assert value(m.autograd.grad(y, [a, x, b, a], retain_graph=True)) == [[5], [15, 21], [7], [5]] and ran == ["split"]


def test_backward_to_a_nonleaf_runs_it(m):
    """engine/X-04: its hooks fire, and its saved values are freed."""
    x = leaf(m, 2.)
    y = x.exp()
    ran = []
    runs(ran, y=y.grad_fn)
    (y * 3).backward(inputs=[y])
    assert ran == ["y"] and value(y.grad) == 3 and x.grad is None
    with raises(RuntimeError, "through the graph a second time"):
        m.autograd.grad(y, x)


def test_captured_node_keeps_what_it_saved(m):
    """engine/X-07"""
    x = leaf(m, 0.)
    y = x.exp()
    seen = []
    y.register_hook(note(seen, "tensor hook"))
    m.autograd.grad(y * 3, y)
    assert seen == ["tensor hook"] and value(m.autograd.grad(y, x)) == [1]


def test_deep_selection(m):
    """engine/X-05: no recursion, and a path found at the very end."""
    x, w = leaf(m, 1.), leaf(m, 1.)
    y = x
    for _ in range(20000):
        y = y + 0
    ran = []
    y.grad_fn.register_hook(note(ran, "y"))
    assert value(m.autograd.grad(y + w, x)) == [1] and ran == ["y"]


@pytest.mark.parametrize("used", ["never", "elsewhere"])
def test_unreachable_leaf(m, used):
    """engine/X-08: a leaf without a node is not taken for the end of every edge that leads nowhere."""
    x, w = leaf(m, 2.), leaf(m, 3.)
    other = w * 2 if used == "elsewhere" else None
    assert value(m.autograd.grad(x * 2, [x, w], allow_unused=True)) == [2, None]
    (x * 2).backward(inputs=[w])
    assert w.grad is None and x.grad is None
    del other


# ---- M-01 -------------------------------------------------------------------------------------------------

RUNS = {
    "backward": lambda m, z, x, y: z.backward(),
    "backward to leaf": lambda m, z, x, y: z.backward(inputs=[x]),
    "backward to nonleaf": lambda m, z, x, y: z.backward(inputs=[y]),
    "grad of leaf": lambda m, z, x, y: m.autograd.grad(z, x),
    "grad of nonleaf": lambda m, z, x, y: m.autograd.grad(z, y),
    "grad of both": lambda m, z, x, y: m.autograd.grad(z, [x, y]),
}
# y's tensor hook, its retained gradient, its node's pre- and post-hook; x's tensor hook, its accumulator's
# pre- and post-hook, and its post-accumulate hook
ALL_OF_Y, ALL_OF_X = ["tensor y", "pre y", "post y"], ["tensor x", "pre x", "post-accumulate x", "post x"]
FIRED = {
    "backward": ALL_OF_Y + ALL_OF_X,
    "backward to leaf": ALL_OF_Y + ALL_OF_X,
    "backward to nonleaf": ALL_OF_Y,
    "grad of leaf": ALL_OF_Y + ["tensor x"],
    "grad of nonleaf": ["tensor y"],
    "grad of both": ALL_OF_Y + ["tensor x"],
}


@pytest.mark.parametrize("how", RUNS)
def test_what_fires(m, how):
    """engine/M-01, engine/H-10, engine/H-11, engine/H-02: tensor hooks fire whenever the gradient is computed, the others
    only when the node runs. Every hook multiplies, so the values show which hooks saw which gradient."""
    x = leaf(m, 1.)
    y = x * 2
    z = y * 3
    acc = y.grad_fn.next_functions[0][0]
    events = []

    def hook(name, factor, tuples=False):
        def run(g, *rest):
            events.append(name)
            return tuple(h if h is None else h * factor for h in g) if tuples else g * factor
        return run
    y.register_hook(hook("tensor y", 10))
    y.retain_grad()
    y.grad_fn.register_prehook(hook("pre y", 100, True))
    y.grad_fn.register_hook(hook("post y", 1000, True))
    x.register_hook(hook("tensor x", 7))
    acc.register_prehook(hook("pre x", 11, True))
    acc.register_hook(note(events, "post x"))
    x.register_post_accumulate_grad_hook(note(events, "post-accumulate x"))
    found = RUNS[how](m, z, x, y)
    assert events == FIRED[how]
    upstream = 3 * 10 * 100 * 2 * 1000 * 7
    assert value(found) == {"grad of leaf": [upstream], "grad of nonleaf": [30], "grad of both": [upstream, 3]}.get(how)
    assert value(y.grad) == 30
    assert value(x.grad) == (upstream * 11 if "backward" in how and "nonleaf" not in how else None)


@pytest.mark.parametrize("also", [True, False])
def test_captured_before_or_after_the_hooks(m, also):
    """engine.md 6.2: if the node runs too, the captured gradient is the one from before the tensor hooks."""
    w = leaf(m, 1.)
    y = w * 2
    y.register_hook(lambda g: g * 10)
    found = m.autograd.grad(y.sum(), (y, w) if also else y)
    assert value(found) == ([1, 20] if also else [10])
