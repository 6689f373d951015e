"""Tangents leave nothing behind: they die with their tensors by reference counting alone, or with their level.

So do the ctx of a Function with a jvp, and the tensors that it saved. Only a cycle that a program has closed needs the collector.
"""

import gc
import weakref

import pytest

from tests.core.engine_tools import leaf, ours
from tests.core.function_tools import function

pytestmark = pytest.mark.usefixtures("no_collection")


@pytest.fixture(scope="module", autouse=True)
def little_to_look_at():
    """Collections skip all objects that exist now: with torch loaded each would take a tenth of a second."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def tangent(m, x):
    return m.autograd.forward_ad.unpack_dual(x).tangent


def dual(m, requires_grad=False):
    return m.autograd.forward_ad.make_dual(m.ones(3, requires_grad=requires_grad), m.ones(3))


COMPUTED = {
    "product": lambda m, x: x * x, "copy": lambda m, x: x.clone(), "view": lambda m, x: x[1:], "view of a view": lambda m, x: x[1:].view(2, 1),
    "write": lambda m, x: (x * 1).mul_(x), "write to a view": lambda m, x: written(m.zeros(3), lambda y: y[:2].add_(x[:2])),
    "write to the base": lambda m, x: written(m.zeros(3), lambda y: y.add_(x))[1:], "chunks": lambda m, x: x.split(1)[1],
    "copied into": lambda m, x: m.zeros(3).copy_(x), "chain": lambda m, x: ((x * 2).exp() + x).sum(), "detached": lambda m, x: (x * x).detach(),
    "largest": lambda m, x: x.max(0)[0], "setitem": lambda m, x: written(m.zeros(3), lambda y: y.__setitem__(0, x[0])),
    "Function": lambda m, x: cubed(m).apply(x), "in-place Function": lambda m, x: doubled(m).apply(x * 1), "Function of a view": lambda m, x: seen(m).apply(x),
}


def written(y, write):
    write(y)
    return y


def cubed(m):
    def forward(ctx, x):
        ctx.save_for_forward(x)
        ctx.save_for_backward(x)
        return x ** 3
    return function(m, forward, lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2, jvp=lambda ctx, t: t * 3 * ctx.saved_tensors[0] ** 2)


def doubled(m):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)
    return function(m, forward, lambda ctx, g: g * 2, jvp=lambda ctx, t: t.mul_(2))


def seen(m):
    return function(m, lambda ctx, x: x[1:], lambda ctx, g: m.cat([g[:1] * 0, g]), jvp=lambda ctx, t: t[1:])


def watched(m, *tensors):
    """Weak references to tensors and their tangents."""
    return [weakref.ref(x) for x in tensors] + [weakref.ref(t) for t in (tangent(m, x) for x in tensors) if t is not None]


class Mark:
    """An object that supports weak references, unlike a node of PyTorch."""


def node_of(x):
    """A weak reference to an object that dies with the grad_fn of `x`."""
    mark = x.grad_fn.metadata["mark"] = Mark()
    return weakref.ref(mark)


def alive(refs):
    return [i for i, ref in enumerate(refs) if ref() is not None]


@pytest.mark.parametrize("requires_grad", [False, True], ids=["plain", "recorded"])
@pytest.mark.parametrize("name", COMPUTED)
def test_tangent_dies_with_its_tensor(m, name, requires_grad):
    """Inside the level."""
    with m.autograd.forward_ad.dual_level():
        x = dual(m, requires_grad)
        y = COMPUTED[name](m, x)
        refs = watched(m, y)
        del y
        assert alive(refs) == []
        refs = watched(m, x)
        del x
        assert alive(refs) == []


@pytest.mark.parametrize("requires_grad", [False, True], ids=["plain", "recorded"])
@pytest.mark.parametrize("name", COMPUTED)
def test_tangent_dies_with_its_level(m, name, requires_grad):
    """tensor_surface/W-05: the tangent of a tensor that the program keeps dies too."""
    with m.autograd.forward_ad.dual_level():
        x = dual(m, requires_grad)
        y = COMPUTED[name](m, x)
        refs = [weakref.ref(t) for t in (tangent(m, x), tangent(m, y)) if t is not None]
        assert refs
    assert alive(refs) == []
    assert tangent(m, x) is None and tangent(m, y) is None


@pytest.mark.parametrize("name", COMPUTED)
def test_tangent_outlives_its_level_if_held(m, name):
    with m.autograd.forward_ad.dual_level():
        y = COMPUTED[name](m, dual(m))
        t = tangent(m, y)
    if t is not None:
        assert t.shape == y.shape and bool((t * 0 == 0).all())


@pytest.mark.parametrize("name", [name for name in COMPUTED if name != "detached"])
def test_graph_of_duals_is_freed(m, name):
    """Forward over reverse: the graph, its saved tensors and the tangents of these."""
    with m.autograd.forward_ad.dual_level():
        x = dual(m, True)
        y = COMPUTED[name](m, x)
        g, = m.autograd.grad(y.sum(), x)
        refs = [*watched(m, g, y, x), node_of(y)]
        del g, y, x
        assert alive(refs) == []


@pytest.mark.parametrize("name", [name for name in COMPUTED if name != "detached"])
def test_graph_of_a_tangent_is_freed(m, name):
    """Reverse over forward."""
    p, t = leaf(m, [1.0, 2.0, 3.0]), leaf(m, [1.0, 2.0, 3.0])
    with m.autograd.forward_ad.dual_level():
        x = m.autograd.forward_ad.make_dual(p, t)
        s = tangent(m, COMPUTED[name](m, x))
        refs = [weakref.ref(s), node_of(s)]
        m.autograd.grad(s.sum(), t)
        del s, x
        assert alive(refs) == []


def test_graph_built_in_a_level_is_freed_after_it(m):
    with m.autograd.forward_ad.dual_level():
        x = dual(m, True)
        y = (x * x).exp()
        refs = [node_of(y), weakref.ref(x)]
    del x, y
    assert alive(refs) == []


@pytest.mark.parametrize("error", ["in jvp", "in forward", "no jvp", "wrong tangent"])
def test_duals_freed_after_an_error(m, error):
    def fail(*_):
        raise RuntimeError("on purpose")
    methods = {"in jvp": (lambda ctx, x: x * 2, fail), "in forward": (fail, lambda ctx, t: t), "no jvp": (lambda ctx, x: x * 2, None),
               "wrong tangent": (lambda ctx, x: x * 2, lambda ctx, t: (t, t))}
    forward, jvp = methods[error]
    mine = function(m, forward, **({"jvp": jvp} if jvp else {}))
    with m.autograd.forward_ad.dual_level():
        x = dual(m)
        refs = watched(m, x)
        try:
            mine.apply(x)
        except (RuntimeError, NotImplementedError):
            pass
        else:
            raise AssertionError("nothing was raised")
        del x
        assert alive(refs) == []


def test_ctx_lets_go_of_what_it_saved_for_forward(m):
    """function/X-16: dropped after apply."""
    refs = []

    def forward(ctx, x):
        middle = x * 2
        refs.append(weakref.ref(middle))
        ctx.save_for_forward(middle)
        return middle * 3
    mine = function(m, forward, lambda ctx, g: g * 6, jvp=lambda ctx, t: t * 6 + ctx.saved_tensors[0] * 0)
    with m.autograd.forward_ad.dual_level():
        y = mine.apply(dual(m, True))
        assert alive(refs) == []
    mine.apply(m.ones(3))
    assert alive(refs) == [] and y.grad_fn is not None


@pytest.mark.parametrize("levels", [1, 5])
def test_nothing_is_left_of_many_duals(m, levels):
    """Of the list of those that have a tangent, too."""
    for _ in range(levels):
        with m.autograd.forward_ad.dual_level():
            kept = dual(m)
            for _ in range(50):
                kept = kept * 1
            refs = watched(m, kept)
        del kept
        assert alive(refs) == []


@ours
@pytest.mark.parametrize("closed", ["tangent on ctx", "output on ctx", "dual on ctx"])
def test_cycles_of_duals_are_collected(m, closed):
    """function/G-02, function/G-03: the collector frees a cycle of duals through ctx."""
    def forward(ctx, x):
        ctx.save_for_forward(x)
        if closed == "dual on ctx":
            ctx.kept = x
        return x * 2

    def jvp(ctx, t):
        if closed == "tangent on ctx":
            ctx.kept = t
        return t * 2
    with m.autograd.forward_ad.dual_level():
        x = dual(m, True)
        y = function(m, forward, lambda ctx, g: g * 2, jvp=jvp).apply(x)
        if closed == "output on ctx":
            y.grad_fn.kept = y
        refs = [*watched(m, y, x), node_of(y)]
        del x, y
        gc.collect()
        assert alive(refs) == []
