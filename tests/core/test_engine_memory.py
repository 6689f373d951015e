"""Memory that a program can see is never reused or overwritten, and memory that it cannot see is freed.

The engine turns a gradient into .grad, adds gradients in place and reuses arrays. For all of this it relies on reference counts
(Notes [Stealing a gradient] and [Adding in place], kernels/cpu/pool.pyx). These tests keep references to numbers in every possible
way, and check that the numbers stay.
"""

import gc
import multiprocessing
import random
import signal
import threading
import time
import tracemalloc
import weakref

import numpy as np
import pytest

from minigrad._build import pure as _pure
from minigrad._core.engine.dependencies import claiming
from minigrad._core.graph.accumulate_grad import _making
from tests.core.engine_tools import leaf, ours, value
from tests.internals import needs


def product(m, w):
    """A product: its gradient reaches `w` as the transpose of a transposed product."""
    return m.ones(3, 4, requires_grad=True) @ w.t()


@needs("counts")
@ours
@pytest.mark.parametrize("shape", [(2, 4), (4, 4)])
def test_view_of_the_whole_is_stolen(m, shape):
    """engine/G-04: the gradient of a linear layer's weight is not copied."""
    w = m.ones(shape, requires_grad=True)
    seen = []
    w.register_hook(lambda g: seen.append((g.data_ptr(), g._is_view())))
    product(m, w).sum().backward()
    assert seen == [(w.grad.data_ptr(), True)] and not w.grad._is_view() and w.grad._version == 0
    assert value(w.grad) == np.full(shape, 3).tolist()


HOLD = {
    "tensor": lambda g: g, "base": lambda g: g._base, "view": lambda g: g[:1], "detach": lambda g: g.detach(), "data": lambda g: g.data,
    "numpy": lambda g: g.numpy(), "array of the base": lambda g: g._base.numpy(), "memoryview": lambda g: memoryview(g.numpy()),
    "dlpack": lambda g: np.from_dlpack(g), "transpose": lambda g: g.t(), "array": lambda g: np.asarray(g)[0],
}


@pytest.mark.differs(
    what="A gradient of which a hook keeps a view or an array",
    there="`.grad` is the same memory, so a later change of `.grad` also changes the view.",
    here="`.grad` is a copy when anything else still holds the memory.")
@ours
@pytest.mark.parametrize("how", sorted(HOLD))
def test_view_that_somebody_holds_is_copied(m, how):
    """engine/G-04"""
    w = m.ones(2, 4, requires_grad=True)
    kept = []
    w.register_hook(lambda g: kept.append(HOLD[how](g)))
    product(m, w).sum().backward()
    w.grad.mul_(100)
    assert np.all(np.asarray(kept[0]) == 3)


@pytest.mark.parametrize("make", [
    lambda m, w: w.t() * 1, lambda m, w: w[:, 1:].t() @ m.ones(2, 4), lambda m, w: w.expand(2, 2, 4) * 1, lambda m, w: w.view(4, 2).t() + 0,
    lambda m, w: m.cat([w, w]), lambda m, w: w.sum(0), lambda m, w: m.ones(3, 2) @ w])
def test_other_views_are_right(m, make):
    """engine/G-04: twice, the second time added to the first, and the gradient is then written to."""
    w = m.ones(2, 4, requires_grad=True)
    make(m, w).sum().backward()
    once = w.grad.clone().numpy()
    make(m, w).sum().backward()
    assert np.array_equal(w.grad.clone().numpy(), 2 * once) and w.grad.stride() == w.stride()
    w.grad.zero_()
    assert value(w) == np.ones((2, 4)).tolist()


# ---- a storm ----------------------------------------------------------------------------------------------


class Witness:
    """Keeps objects that show numbers, together with the numbers."""

    def __init__(self, dice):
        self.dice = dice
        self.kept = []

    def see(self, x):
        thing = self.dice.choice([lambda: x, lambda: x.detach(), lambda: x.detach().numpy(), lambda: memoryview(x.detach().numpy()),
                                  lambda: x.data, lambda: x.detach()[:1], lambda: x.detach().t(),
                                  lambda: np.from_dlpack(x.detach())])()
        self.kept.append((thing, self.numbers(thing).copy()))
        if len(self.kept) > 40:
            del self.kept[self.dice.randrange(40)]

    @staticmethod
    def numbers(thing):
        return np.asarray(thing.detach() if hasattr(thing, "detach") else thing)

    def check(self):
        for thing, before in self.kept:
            assert np.array_equal(self.numbers(thing), before, equal_nan=True), f"a {type(thing).__name__} changed"


def storm(m, seed, rounds):
    """Random training steps; everything that hooks and the caller get is looked at again and again."""
    dice = random.Random(seed)
    witness = Witness(dice)
    ws = [m.tensor(np.random.default_rng(seed + i).standard_normal((4, 4)).astype("float32"), requires_grad=True) for i in range(3)]

    def hook(g):
        if dice.random() < 0.4:
            witness.see(g)
        if dice.random() < 0.05:
            raise KeyError("midway")
        return dice.choice([None, None, g, g * 1, g.detach(), g.t().t()])
    ops = [lambda a, b: a * b, lambda a, b: a @ b.t(), lambda a, b: a + b, lambda a, b: a.t() + 0 * b, lambda a, b: (a - b).tanh(),
           lambda a, b: m.cat([a[:2], b[2:]]), lambda a, b: a + b.sum(0), lambda a, b: a.view(-1).view(4, 4)]
    for _ in range(rounds):
        values = list(ws)
        for _ in range(dice.randint(1, 8)):
            out = dice.choice(ops)(dice.choice(values), dice.choice(values))
            if dice.random() < 0.3:
                out.register_hook(hook)
            if dice.random() < 0.2:
                out.retain_grad()
            if dice.random() < 0.2:
                out.grad_fn.register_hook(lambda ins, outs: [witness.see(g) for g in (*ins, *outs) if g is not None][:0] or None)
            values.append(out)
            if dice.random() < 0.3:
                witness.see(out)
        handle = dice.choice(ws).register_hook(hook)
        given = m.tensor(np.ones((4, 4), "float32"))
        try:
            if dice.random() < 0.7:
                witness.see(given)
                values[-1].backward(given, retain_graph=dice.random() < 0.3)
            else:
                for g in m.autograd.grad(values[-1], ws, given, allow_unused=True, create_graph=dice.random() < 0.3):
                    if g is not None:
                        witness.see(g)
        except KeyError:
            pass
        handle.remove()
        for w in ws:
            if w.grad is not None and dice.random() < 0.3:
                witness.see(w.grad.detach().clone() if dice.random() < 0.5 else w.grad.clone())
            if dice.random() < 0.5:
                w.grad = None
        witness.check()


@ours
@pytest.mark.parametrize("seed", range(6))
def test_nothing_visible_changes(m, seed):
    """engine/G-04, engine/B-03"""
    storm(m, seed, 60)


@ours
def test_nothing_visible_changes_in_threads(m):
    """engine/G-04: each thread with a storm of its own, all on the same recycled arrays."""
    errors = []

    def work(seed):
        try:
            storm(m, seed, 25)
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


# ---- freeing ----------------------------------------------------------------------------------------------


def through_a_hook(m, x):
    y = x * 2
    y.register_hook(lambda g: g * y.detach().sum())
    return y


def through_a_node_hook(m, x):
    y = x.exp()
    y.grad_fn.register_hook(lambda ins, outs: (y, None)[1])
    return y


def through_metadata(m, x):
    y = x.exp()
    y.grad_fn.metadata["result"] = y
    return y


def through_its_gradient(m, x):
    x.grad = None
    y = x * x
    g, = m.autograd.grad(y.sum(), x, create_graph=True)
    x.grad = g
    return y


def through_a_leaf_hook(m, x):
    x.register_post_accumulate_grad_hook(lambda p: (x, None)[1])
    return x * 1


@ours
@pytest.mark.parametrize("make", [through_a_hook, through_a_node_hook, through_metadata, through_its_gradient, through_a_leaf_hook])
@pytest.mark.parametrize("run", [False, True])
def test_cycles_are_collected(m, make, run):
    x = leaf(m, 1., 2.)
    y = make(m, x)
    if run:
        y.sum().backward()
    dead = weakref.ref(x), weakref.ref(y)
    del x, y
    gc.collect()
    assert [d() for d in dead] == [None, None]


def step_of_training(m, w):
    loss = (m.ones(3, 2) @ w).tanh().sum()
    loss.backward()
    with m.no_grad():
        w.sub_(w.grad)
    w.grad = None


def step_in_place(m, w):
    y = w * 1
    y[0].mul_(2)
    y.view(-1)[1:].add_(y.detach().reshape(-1)[1:].clone())
    y.sum().backward()
    w.grad = None


def step_that_fails(m, w):
    y = w.exp()
    y.register_hook(lambda g: 1 / 0)
    try:
        y.sum().backward()
    except ZeroDivisionError:
        return
    raise AssertionError("the hook did not run")


def step_of_second_order(m, w):
    g, = m.autograd.grad((w * w * w).sum(), w, create_graph=True)
    g.sum().backward()
    w.grad = None


@ours
@pytest.mark.parametrize("step", [step_of_training, step_in_place, step_that_fails, step_of_second_order])
def test_no_leak(m, step):
    """engine/R-01: by reference counting alone, except on a Python without a GIL, which leaves some objects to the collector."""
    w = m.ones(2, 4, requires_grad=True)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(300):        # until the caches have all that a step needs
            step(m, w)
        if _pure.FREE_THREADED:
            gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(300):
            step(m, w)
        if _pure.FREE_THREADED:
            gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert after - before < 300 * 16      # bytes a step: less than any object


class Late:
    """Garbage in a cycle: when it is collected it runs a backward."""

    def __init__(self, run):
        self.me = self
        self.run = run

    def __del__(self):
        self.run()


@ours
def test_backward_in_a_finalizer(m):
    """engine/G-04: wherever the collector strikes, neither waits for the other and no gradient is lost."""
    w, g = m.ones(4, 2, requires_grad=True), m.ones(4, 2)

    def late():
        with m.enable_grad():       # it may run inside a backward, where gradients are off
            (w * 1).sum().backward()
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()         # the many collections skip the other objects of this process
    try:
        for k in range(60):
            w.grad = None
            gc.set_threshold(0)
            Late(late)
            gc.set_threshold(gc.get_count()[0] + k)     # so many allocations from now
            w.backward(g)
            w.backward(g)
            gc.collect()
            assert value(w.grad) == [[3, 3]] * 4
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


# ---- Ctrl-C and fork --------------------------------------------------------------------------------------


@ours
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
def test_interrupted(m):
    """engine/E-01: everything can be used afterwards, the interrupted graph as well."""
    x = leaf(m, 1.)
    y = x
    for _ in range(20000):
        y = y * 1
    reached = threading.Event()

    def interrupt(g):
        reached.set()
        signal.raise_signal(signal.SIGINT)
        time.sleep(0)
    y.register_hook(interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)      # a shell ignores it for processes in its background
    try:
        with pytest.raises(KeyboardInterrupt):
            y.backward(retain_graph=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert reached.is_set() and x.grad is None and m.is_grad_enabled()
    z = x * 3
    z.backward()
    assert value(x.grad) == 3
    assert value(m.autograd.grad(z * z, z)) == [6]


def in_a_child(queue):
    import minigrad as m
    w = m.ones(2, 4, requires_grad=True)
    step_of_training(m, w)
    queue.put(float(w.detach().sum()))


@ours
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("holds", [False, True])
def test_fork_after_backward(m, holds):
    """Also while another thread holds the locks of the engine: that thread does not exist in the child."""
    context = multiprocessing.get_context("fork")
    w = m.ones(2, 4, requires_grad=True)
    step_of_training(m, w)
    queue = context.SimpleQueue()
    child = context.Process(target=in_a_child, args=(queue,), daemon=True)
    held, forked = threading.Event(), threading.Event()

    def hold():
        with claiming, _making:
            held.set()
            forked.wait()
    thread = threading.Thread(target=hold)
    if holds:
        thread.start()
        held.wait()
    child.start()
    forked.set()
    if holds:
        thread.join()
    child.join(30)
    if child.is_alive():
        child.kill()
    assert child.exitcode == 0 and queue.get() == pytest.approx(float(w.detach().sum()))
