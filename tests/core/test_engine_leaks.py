"""Hooks leave nothing behind: whatever they hang on dies with the last reference to it, by reference counting alone.

Only where the user has closed a cycle (a hook that holds the tensor on which it is) the garbage collector is needed, and enough.
"""

import gc
import threading
import weakref

import pytest

from tests.core.engine_tools import accumulator, leaf, ours, queue_callback, value

pytestmark = pytest.mark.usefixtures("no_collection")


@pytest.fixture(scope="module", autouse=True)
def little_to_look_at():
    """Collections skip all objects that exist now: with torch loaded each would take a tenth of a second."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


class Failure(ValueError):
    """Unlike a ValueError it can be referred to weakly."""


class Hook:
    """A callable with weak references, so that its end can be watched. It may hold an object, to close a cycle."""

    def __init__(self, holds=None, fails=False):
        self.holds = holds
        self.fails = fails
        self.calls = 0

    def __call__(self, *args):
        self.calls += 1
        if self.fails:
            raise Failure("on purpose")


def on_nonleaf(m, x, y, hook):
    return y.register_hook(hook)


def on_leaf(m, x, y, hook):
    return x.register_hook(hook)


def before_node(m, x, y, hook):
    return y.grad_fn.register_prehook(hook)


def after_node(m, x, y, hook):
    return y.grad_fn.register_hook(hook)


def before_accumulation(m, x, y, hook):
    return accumulator(x).register_prehook(hook)


def after_accumulation(m, x, y, hook):
    return accumulator(x).register_hook(hook)


def post_accumulate(m, x, y, hook):
    return x.register_post_accumulate_grad_hook(hook)


def from_within(m, x, y, hook):
    """Registered by another hook while the node is about to run."""
    ref = weakref.ref(y)

    def register(g):
        tensor = ref()
        assert tensor is not None
        tensor.grad_fn.register_hook(hook)
    return y.register_hook(register)


KINDS = [on_nonleaf, on_leaf, before_node, after_node, before_accumulation, after_accumulation, post_accumulate, from_within]


def not_at_all(m, x, z):
    pass


def once(m, x, z):
    z.sum().backward()


def often(m, x, z):
    for _ in range(3):
        z.sum().backward(retain_graph=True)


def for_a_result(m, x, z):
    m.autograd.grad(z.sum(), x)


def to_a_leaf(m, x, z):
    z.sum().backward(inputs=[x])


def with_graph(m, x, z):
    g, = m.autograd.grad(z.sum(), x, create_graph=True)
    m.autograd.grad((g * x).sum(), x)


def in_a_thread(m, x, z):
    thread = threading.Thread(target=lambda: z.sum().backward())
    thread.start()
    thread.join()


def in_a_run(m, x, z):
    outer, inner = leaf(m, 1.) * 2, z.sum()
    outer.register_hook(lambda g: inner.backward())
    outer.backward()


def under_anomaly_mode(m, x, z):
    with m.autograd.set_detect_anomaly(True):
        (z * z).sum().backward()


RUNS = [not_at_all, once, often, for_a_result, to_a_leaf, with_graph, in_a_thread, in_a_run, under_anomaly_mode]


class Token:
    """An object in the metadata of a node, which dies with it: torch's nodes do not support weak references."""


def watched(*things):
    refs = []
    for thing in things:
        if hasattr(thing, "next_functions"):
            thing = thing.metadata.setdefault("token", Token())
        refs.append(weakref.ref(thing))
    return refs


def dead(refs):
    return all(ref() is None for ref in refs)


def built(m, register, hook):
    """A leaf, two results, and the handle of a hook on them."""
    x = leaf(m, 1., 2.)
    y = x.exp()
    z = y * x
    return x, y, z, register(m, x, y, hook)


@pytest.mark.parametrize("register", KINDS)
@pytest.mark.parametrize("run", RUNS)
def test_freed_by_reference_counts(m, register, run):
    """graph/R-01: hooks, nodes, tensors and gradients go when the graph and its leaf do, though the handle stays."""
    hook = Hook()
    x, y, z, handle = built(m, register, hook)
    y.retain_grad()
    run(m, x, z)
    refs = watched(hook, x, y, z, y.grad_fn, z.grad_fn, *[t.grad for t in (x, y) if t.grad is not None])
    del hook, x, y, z
    assert dead(refs)
    handle.remove()


@pytest.mark.parametrize("register", KINDS[:-1])
@pytest.mark.parametrize("run", [not_at_all, once])
def test_freed_when_removed(m, register, run):
    """graph/R-03: a removed hook is freed although its tensor or node stays alive."""
    hook = Hook()
    x, _y, z, handle = built(m, register, hook)
    run(m, x, z)
    refs = watched(hook)
    calls = hook.calls
    del hook
    assert not dead(refs)
    handle.remove()
    assert dead(refs) and calls == (run is once)


@pytest.mark.parametrize("register", KINDS)
def test_freed_after_an_error(m, register):
    """engine/X-22: with the error go the run, its buffers and the graph."""
    hook = Hook(fails=True)
    x, y, z, _ = built(m, register, hook)
    refs = watched(hook, x, y, z, y.grad_fn, z.grad_fn)
    try:
        z.sum().backward()
    except ValueError as error:
        refs += watched(error)
    assert hook.calls == 1
    del hook, x, y, z
    assert dead(refs)


@pytest.mark.parametrize("register", KINDS[:4])
def test_gradients_that_hooks_see(m, register):
    """engine/B-03: after the run no reference to them is left, except those that the hook kept."""
    seen, kept = [], []

    def hook(*args):
        grads = [g for arg in args for g in (arg if isinstance(arg, tuple) else (arg,)) if g is not None]
        seen.extend(watched(*grads))
        kept.append(grads[0])
    z = built(m, register, hook)[2]
    z.sum().backward()
    assert seen and all(ref() is kept[0] for ref in seen if ref() is not None)
    kept.clear()
    assert dead(seen)


def test_accumulator_hooks_go_with_the_graph(m):
    """engine/H-20: the leaf lives on."""
    x = leaf(m, 1.)
    hooks = Hook(), Hook()
    y = x * 2
    before_accumulation(m, x, y, hooks[0])
    after_accumulation(m, x, y, hooks[1])
    refs = watched(*hooks)
    del hooks, y
    assert dead(refs)


def test_hooks_of_an_overwritten_value(m):
    """engine/H-23: those before a write in place live as long as the node they were on."""
    x = leaf(m, 1., 2.)
    y = x * 2
    hooks = Hook(), Hook()
    y.register_hook(hooks[0])
    y.mul_(3)
    y.register_hook(hooks[1])
    y.sum().backward()
    refs = watched(*hooks)
    assert [hook.calls for hook in hooks] == [1, 1]
    del hooks
    assert not any(ref() is None for ref in refs)
    del y
    assert dead(refs)


@pytest.mark.parametrize("run", RUNS)
def test_function_with_hooks(m, run):
    """function/H-01: hooks on a ctx, inside and outside of backward; the ctx holds no cycle."""
    class Double(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            inner = Hook()
            ctx.register_hook(inner)
            refs.extend(watched(inner))
            return g * 2 + h * 3
    x, refs = leaf(m, 1., 2.), []
    y, z = Double.apply(x)
    hook = Hook()
    y.grad_fn.register_hook(hook)
    y.grad_fn.register_prehook(hook)
    z.register_hook(hook)
    run(m, x, y + z)
    refs += watched(hook, y, z, y.grad_fn)
    del hook, y, z
    assert dead(refs)


@pytest.mark.parametrize("run", RUNS)
def test_saved_tensor_hooks_are_freed(m, run):
    """graph/S-38: the pair of hooks lives as long as the tensors that it packed."""
    class Pair(Hook):
        def __call__(self, *args):
            super().__call__()
            return args[0].detach()
    pack, unpack, x = Pair(), Pair(), leaf(m, 1., 2.)
    with m.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.exp() * x
    refs = watched(unpack)
    run(m, x, y)
    assert pack.calls == 3 and (unpack.calls > 0) == (run is not not_at_all)
    refs += watched(pack, y.grad_fn)
    del pack, unpack, y
    assert dead(refs)


@pytest.mark.parametrize("fails", [False, True])
def test_callbacks_are_let_go_of(m, fails):
    """engine/K-02, engine/K-04: gone with the run, also those that were not called."""
    refs = []

    def hook(g):
        for _ in range(2):
            callback = Hook(fails=fails)
            refs.extend(watched(callback))
            queue_callback(m, callback)
    y = leaf(m, 1.) * 2
    y.register_hook(hook)
    try:
        y.backward()
    except ValueError:
        assert fails
    assert len(refs) == 2 and dead(refs)


def test_last_node_is_let_go_of(m):
    """engine/E-02: no reference to the last node is left, in this thread or in one that has ended."""
    def run():
        y = leaf(m, 1.) * 2
        y.register_hook(Hook())
        refs.extend(watched(y, y.grad_fn))
        y.backward()
    refs = []
    run()
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(refs) == 4 and dead(refs)


# ---- modules ----------------------------------------------------------------------------------------------------


def module_hooks(m, layer, hook):
    return [layer.register_forward_pre_hook(hook), layer.register_forward_hook(hook), layer.register_full_backward_hook(hook),
            layer.register_full_backward_pre_hook(hook)]


@pytest.mark.parametrize("run", [not_at_all, once, for_a_result, with_graph])
@pytest.mark.parametrize("first", ["module", "graph"])
def test_module_hooks_are_freed(m, run, first):
    """graph/R-01: module and graph go one by one; the graph holds the module, for its hooks, and not the other way."""
    layer, hook, x = m.nn.Tanh(), Hook(), leaf(m, 1., 2.)
    handles = module_hooks(m, layer, hook)
    y = layer(x)
    run(m, x, y)
    refs, graph = watched(layer, hook), watched(y, y.grad_fn)
    if first == "graph":
        del y
        assert dead(graph) and not any(ref() is None for ref in refs)
        del layer, hook
    else:
        del layer, hook
        del y
    assert dead(refs + graph)
    for handle in handles:
        handle.remove()


# ---- cycles of a program ------------------------------------------------------------------------------------------


@pytest.mark.differs(
    what="A hook that holds the node or the tensor it belongs to",
    there="Many of these cycles are never freed.",
    here="The garbage collector frees them, after a backward too.")
@ours
@pytest.mark.parametrize("register", KINDS)
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("what", ["tensor", "node", "result", "leaf", "gradient"])
def test_cycles_through_hooks(m, register, run, what):
    """graph/R-01: found by the collector. torch leaks those through the hooks of a node."""
    hook = Hook()
    x, y, z, _ = built(m, register, hook)
    run(m, x, z)
    hook.holds = {"tensor": y, "node": z.grad_fn, "result": z, "leaf": x, "gradient": (x.grad, y)}[what]
    refs = watched(hook, x, y, z, y.grad_fn, z.grad_fn)
    del hook, x, y, z, _
    gc.collect()
    assert dead(refs)


@ours
@pytest.mark.parametrize("hold", [
    lambda hook, layer, y: layer, lambda hook, layer, y: y, lambda hook, layer, y: y.grad_fn])
def test_cycles_through_module_hooks(m, hold):
    """graph/R-01"""
    layer, hook, x = m.nn.Tanh(), Hook(), leaf(m, 1., 2.)
    module_hooks(m, layer, hook)
    y = layer(x)
    y.sum().backward()
    hook.holds = hold(hook, layer, y)
    refs = watched(layer, hook, x, y, y.grad_fn)
    del layer, hook, x, y
    gc.collect()
    assert dead(refs)


@ours
def test_cycle_through_a_function(m):
    """function/H-01: a ctx that holds its own output, and a hook that holds the ctx."""
    class Keeps(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2
    x, hook = leaf(m, 1.), Hook()
    y = Keeps.apply(x)
    y.grad_fn.output = y
    y.grad_fn.register_hook(hook)
    hook.holds = y.grad_fn
    y.backward()
    refs = watched(hook, y, y.grad_fn)
    del hook, y
    gc.collect()
    assert dead(refs)


# ---- counts -------------------------------------------------------------------------------------------------------


def train_with_hooks(m, x, layer):
    """A step with hooks of every kind, that are removed in the end."""
    handles = module_hooks(m, layer, Hook())
    y = layer(x)
    y.retain_grad()
    z = y.exp()
    handles += [register(m, x, z, Hook()) for register in KINDS[:-1]]
    z.sum().backward()
    for handle in handles:
        handle.remove()
    x.grad = None


def fail_with_hooks(m, x, layer):
    """A step that fails in one of the hooks; a part of them stays, with the graph."""
    z = layer(x).exp()
    for register in (on_nonleaf, before_node, after_node):
        register(m, x, z, Hook(fails=register is after_node))
    with pytest.raises(ValueError, match="on purpose"):
        z.sum().backward()


def nest_with_hooks(m, x, layer):
    """A run within a run, and a callback of each."""
    z, inner = layer(x).exp(), (x * 2).sum()
    inner.register_hook(lambda g: queue_callback(m, Hook()))
    z.register_hook(lambda g: (queue_callback(m, Hook()), inner.backward())[1])
    z.sum().backward()
    x.grad = None


@ours
@pytest.mark.parametrize("step", [train_with_hooks, fail_with_hooks, nest_with_hooks])
def test_number_of_objects(m, step):
    """graph/R-01: as many objects after a hundred steps as before."""
    x, layer = leaf(m, 1., 2.), m.nn.Tanh()

    def steps(n):
        for _ in range(n):
            step(m, x, layer)
        return len(gc.get_objects())
    steps(100)      # until all caches are full
    gc.collect()    # cycles that pytest.raises leaves
    before = steps(1)
    gc.collect()
    after = steps(100)
    if step is fail_with_hooks:
        gc.collect()
        after = steps(1)
    assert after <= before + 2 and value(x) == [1, 2] and not x._backward_hooks
