"""Memory of Functions: reference counting alone frees them, at any depth; the collector frees the cycles that programs make."""

import gc
import weakref

import pytest

from minigrad._build import pure as _pure
from tests.core.engine_tools import leaf, ours, raises, value
from tests.core.function_tools import exponential, function, scaled, square
from tests.internals import needs


class Big:
    """An object with weak references, so that its end can be watched."""


def noting(m, note):
    """A Function that calls ``note(ctx, x, y)`` in forward, and has a `Big` on its ctx."""
    def forward(ctx, x):
        ctx.big = Big()
        y = x * 2
        note(ctx, x, y)
        return y
    return function(m, forward, lambda ctx, g: (ctx.saved_tensors and None) or g * 2)


SAVING = {
    "nothing": lambda ctx, x, y: None, "input": lambda ctx, x, y: ctx.save_for_backward(x),
    "output": lambda ctx, x, y: ctx.save_for_backward(y), "both": lambda ctx, x, y: ctx.save_for_backward(y, None, x),
    "attribute": lambda ctx, x, y: setattr(ctx, "x", x), "intermediate": lambda ctx, x, y: ctx.save_for_backward(x * 1),
    "constant output": lambda ctx, x, y: ctx.mark_non_differentiable(y),
}


@pytest.mark.parametrize("run", ["not run", "run", "run and kept"])
@pytest.mark.parametrize("saving", SAVING)
def test_a_function_is_freed_at_once(m, no_collection, saving, run):
    """function/G-01, function/T-07."""
    x = leaf(m, 1.0)
    y = noting(m, SAVING[saving]).apply(x * 1)
    if y.requires_grad:
        watched = weakref.ref(y.grad_fn.big)
        if run != "not run":
            y.backward(retain_graph=run == "run and kept")
    else:
        watched = weakref.ref(y)
    del y
    assert watched() is None


@pytest.mark.parametrize("kind", ["as it is", "view", "dirty", "dirty view", "several"])
def test_outputs_are_freed_at_once(m, no_collection, kind):
    """function/G-01. A saved result of a write to a view is a cycle in PyTorch."""
    def forward(ctx, x):
        ctx.big = Big()
        watched.append(weakref.ref(ctx.big))
        if kind.startswith("dirty"):
            ctx.mark_dirty(x)
            x.mul_(2)
            if kind == "dirty" or m.__name__ != "torch":
                ctx.save_for_backward(x)
            return x
        ctx.save_for_backward(x)
        return (x * 2, x * 3) if kind == "several" else x if kind == "as it is" else x[:1]
    watched = []
    a = leaf(m, 1.0, 2.0) * 1
    y = function(m, forward, lambda ctx, *gs: gs[0]).apply(a[:1] if kind == "dirty view" else a)
    assert watched[0]() is not None
    del a, y
    assert watched[0]() is None


def output_on_ctx(m, y):
    y.grad_fn.y = y


def node_in_a_hook(m, y):
    node = y.grad_fn
    y.grad_fn.register_hook(lambda *args: (node, None)[1])


def output_in_a_hook(m, y):
    y.grad_fn.register_hook(lambda *args: (y, None)[1])


def output_in_metadata(m, y):
    y.grad_fn.metadata["y"] = y


def node_in_metadata(m, y):
    y.grad_fn.metadata["node"] = y.grad_fn


def output_in_a_pack(m, y):
    y.grad_fn._raw_saved_tensors[0].register_hooks(lambda t: y, lambda packed: packed)


def ctx_on_itself(m, y):
    y.grad_fn.needs_input_grad = (y.grad_fn,)


CYCLES = {"output on ctx": output_on_ctx, "node in a hook": node_in_a_hook}
OUR_CYCLES = {"node in metadata": node_in_metadata, "output in a hook": output_in_a_hook, "output in metadata": output_in_metadata,
              "output in a pack": output_in_a_pack,
              "ctx on itself": ctx_on_itself}




@pytest.mark.parametrize("run", [False, True])
@pytest.mark.parametrize("cycle", CYCLES)
def test_cycles_of_the_user(m, no_collection, cycle, run):
    """function/G-02, function/G-03, saved_and_versions/S-08."""
    y = noting(m, SAVING["both"]).apply(leaf(m, 1.0))
    CYCLES[cycle](m, y)
    watched = weakref.ref(y.grad_fn.big)
    if run:
        y.backward()
    del y
    assert watched() is not None
    gc.collect()
    assert watched() is None


@pytest.mark.differs(
    what="A node whose hooks, pack hooks or metadata hold its output",
    there="The cycle is never freed.",
    here="The garbage collector frees it.")
@ours
@pytest.mark.parametrize("cycle", OUR_CYCLES)
def test_cycles_that_leak_in_pytorch(m, no_collection, cycle):
    """function/G-03: cycles through an object that the node holds and that holds the tensor."""
    y = noting(m, SAVING["both"]).apply(leaf(m, 1.0))
    OUR_CYCLES[cycle](m, y)
    watched = weakref.ref(y.grad_fn.big)
    del y
    gc.collect()
    assert watched() is None


@pytest.mark.differs(
    what="`ctx.save_for_backward(y[:1])`, where `y` is the output",
    there="The cycle is never freed.",
    here="The garbage collector frees it.")
@ours
def test_saved_view_of_the_output(m, no_collection):
    """The view holds its base, the output, which holds the node. Only the collector frees this cycle; PyTorch never does."""
    def forward(ctx, x):
        y = x * 2
        ctx.big = Big()
        ctx.save_for_backward(y[:1])
        return y
    y = function(m, forward).apply(leaf(m, 1.0, 2.0))
    watched = weakref.ref(y.grad_fn.big)
    del y
    gc.collect()
    assert watched() is None


def test_taken_apart_by_the_collector(m):
    """function/G-04: a node that the collector has cleared says that its saved tensors are gone, and does not crash."""
    class Finalizer:
        def __init__(self, node):
            self.node = node

        def __del__(self):
            try:
                seen.append(self.node.saved_tensors)
            except RuntimeError as error:
                seen.append(str(error))
    seen = []
    y = square(m).apply(leaf(m, 1.0))
    y.grad_fn.y = y
    y.grad_fn.finalizer = Finalizer(y.grad_fn)
    del y
    gc.collect()
    assert len(seen) == 1 and (type(seen[0]) is tuple or "second time" in seen[0])


def test_arguments_are_let_go(m, no_collection):
    """Nothing keeps the arguments of apply after it has returned, not even ctx."""
    big = Big()
    watched = weakref.ref(big)
    y = function(m, lambda ctx, x, big: x * 2, lambda ctx, g: (g, None)).apply(leaf(m, 1.0), big)
    del big
    assert watched() is None and y.requires_grad


def test_results_of_backward_are_let_go(m, no_collection):
    """The gradients that came in and went out are gone when the run is over."""
    seen = []

    def backward(ctx, g):
        out = g * 2
        seen.extend([weakref.ref(g), weakref.ref(out)])
        return out
    x = leaf(m, 1.0, 2.0)
    y = function(m, lambda ctx, x: x * 2, backward).apply(x * 1)
    y.sum().backward()
    assert [w() for w in seen] == [None, None]


@needs("counts")
@ours
def test_a_result_is_stolen(m):
    """A new gradient from backward without other references becomes .grad itself."""
    seen = []

    def backward(ctx, g):
        out = g * 2
        seen.append(out.data_ptr())
        return out
    x = leaf(m, *range(1000))
    function(m, lambda ctx, x: x * 2, backward).apply(x).sum().backward()
    assert x.grad.data_ptr() == seen[0]


# ---- depth -------------------------------------------------------------------------------------------------------


DEEP = 100_000 if _pure.mode() == "compiled" else 5_000


@pytest.mark.parametrize("then", ["run", "drop", "collect"])
@pytest.mark.parametrize("saves", [scaled, exponential])
def test_a_long_chain(m, shallow_stack, saves, then):
    """function/G-05, function/T-08: built, run, freed."""
    Mine = saves(m, 1.0) if saves is scaled else saves(m)
    x = leaf(m, 1.0 if saves is scaled else -50.0)
    y = x
    for _ in range(DEEP):
        y = Mine.apply(y)
        if saves is exponential:
            y = y - 1e9
    if then == "run":
        y.backward()
        assert value(x.grad) == (1 if saves is scaled else 0)
    elif then == "collect":
        y.grad_fn.metadata["cycle"] = y.grad_fn
        del y
        gc.collect()
        return
    del y


def test_a_chain_through_attributes(m, shallow_stack):
    """Each ctx holds the tensor before, and with it the ctx before that."""
    def forward(ctx, x):
        ctx.x = x
        return x * 1
    Mine = function(m, forward, lambda ctx, g: g)
    y = leaf(m, 1.0)
    for _ in range(DEEP // 4):
        y = Mine.apply(y)
    del y


def test_second_reading(m):
    """Saved tensors can be read any number of times before their release, and not after it."""
    y = square(m).apply(leaf(m, 3.0))
    node = y.grad_fn
    assert node.saved_tensors[0] is node.saved_tensors[0]
    y.backward()
    with raises(RuntimeError, "second time"):
        _ = node.saved_tensors
