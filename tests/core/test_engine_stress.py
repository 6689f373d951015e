"""Many threads, many runs, runs within runs: nothing is lost and nothing is counted twice. engine.md 14 and 16.

All numbers are small integers in float64, so that sums are exact in whatever order they are made. ``MINIGRAD_STRESS=20`` runs twenty
times as many backwards, and goes down as many times deeper, for a machine that has the time.
"""

import collections
import os
import sys
import threading

import pytest

from minigrad._build import pure as _pure
from tests.core.engine_tools import accumulator, leaf, note, ours, task_id, value

TIMES = int(os.environ.get("MINIGRAD_STRESS", "1"))
THREADS = 8
RUNS = (1_250 if _pure.mode() == "compiled" else 500) * TIMES        # a thread
DEEP = 1_000 * TIMES


@pytest.fixture(autouse=True)
def frequent_switches():
    """Let Python change threads often: every 10 µs is about every line."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(work, n=THREADS):
    """Run ``work(i)`` in n threads that start together. Raise the error of one of them."""
    results, errors, barrier = [None] * n, [], threading.Barrier(n)

    def run(i):
        barrier.wait()
        try:
            results[i] = work(i)
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


class Counts:
    """Counters of hooks, by thread: each thread adds to its own, so that no count can be lost by the test itself."""

    def __init__(self):
        self.by_thread = collections.defaultdict(collections.Counter)

    def hook(self, name):
        def hook(*_):
            self.by_thread[threading.get_ident()][name] += 1
        return hook

    def total(self):
        return dict(sum(self.by_thread.values(), collections.Counter()))


def hooked_leaf(m, counts, name):
    """A leaf with a hook of every kind, and a graph that keeps its accumulator."""
    w = leaf(m, 1., 2., dtype="float64")
    w.register_hook(counts.hook(f"{name}: tensor"))
    w.register_post_accumulate_grad_hook(counts.hook(f"{name}: accumulated"))
    keep = w.view_as(w)
    node = accumulator(w)
    node.register_prehook(counts.hook(f"{name}: pre"))
    node.register_hook(counts.hook(f"{name}: post"))
    return w, keep


def test_graphs_of_their_own_on_shared_leaves(m):
    """engine/G-10, engine/W-03: 10,000 runs (interpreted 4,000) in 8 threads; each thread builds its own graphs on two common leaves."""
    counts = Counts()
    (w, keep_w), (v, keep_v) = hooked_leaf(m, counts, "w"), hooked_leaf(m, counts, "v")

    def work(i):
        for _ in range(RUNS):
            y = w * (i + 1) + v
            y.register_hook(counts.hook("y"))
            z = y + w
            z.grad_fn.register_hook(counts.hook("z"))
            z.sum().backward()
    in_threads(work)
    runs = THREADS * RUNS
    assert counts.total() == {f"{leaf}: {kind}": runs for leaf in "wv" for kind in ("tensor", "accumulated", "pre", "post")} | {
        "y": runs, "z": runs}
    assert value(w.grad) == [RUNS * sum(range(2, THREADS + 2))] * 2 and value(v.grad) == [runs] * 2
    del keep_w, keep_v


def test_shared_graph(m):
    """engine/W-03, engine/G-10: 10,000 runs (interpreted 4,000) through the same nodes, each with its own counts and sums."""
    counts = Counts()
    w, keep = hooked_leaf(m, counts, "w")
    y = w * 2
    for k in range(4):
        a, b = y * 3, y + w
        y = a - b * 2       # y, less 2 w
        y.register_hook(counts.hook(f"y{k}"))
        y.grad_fn.register_prehook(counts.hook(f"pre{k}"))
    z = y.sum()

    def work(i):
        for _ in range(RUNS):
            z.backward(retain_graph=True)
    in_threads(work)
    runs = THREADS * RUNS
    assert counts.total() == {f"w: {kind}": runs for kind in ("tensor", "accumulated", "pre", "post")} | {
        f"{name}{k}": runs for name in ("y", "pre") for k in range(4)}
    assert value(w.grad) == [runs * (2 - 2 * 4)] * 2
    del keep


def test_hooks_come_and_go(m):
    """engine/W-04, graph/R-07: each thread hears all its runs, whatever the others register and remove meanwhile."""
    w = leaf(m, 1., 2., dtype="float64")
    shared = w * 3
    z = shared.sum()

    def work(i):
        me, heard = threading.get_ident(), collections.Counter()

        def hook_for(kind):
            def hook(*_):
                if threading.get_ident() == me:
                    heard[kind] += 1
            return hook
        for _ in range(RUNS // 5):
            handles = [w.register_hook(hook_for("leaf")), shared.register_hook(hook_for("tensor")),
                       shared.grad_fn.register_prehook(hook_for("pre")), shared.grad_fn.register_hook(hook_for("post")),
                       w.register_post_accumulate_grad_hook(hook_for("accumulated"))]
            z.backward(retain_graph=True)
            for handle in handles:
                handle.remove()
        return heard
    kinds = ("leaf", "tensor", "pre", "post", "accumulated")
    assert in_threads(work) == [dict.fromkeys(kinds, RUNS // 5)] * THREADS
    assert value(w.grad) == [3 * THREADS * (RUNS // 5)] * 2 and not w._backward_hooks


def test_failures_among_successes(m):
    """engine/X-22, engine/W-03: a run that fails adds nothing to the leaf behind the hook; the others add all they have."""
    w, u = leaf(m, 1., 2., dtype="float64"), leaf(m, 1., dtype="float64")

    def work(i):
        failed = 0
        for k in range(RUNS // 2):
            y = w * 2
            if (i + k) % 7 == 0:
                def fail(g):
                    raise ValueError("on purpose")
                y.register_hook(fail)
            try:
                (y.sum() + u).backward()
            except ValueError:
                failed += 1
                assert task_id(m) == -1
        return failed
    failed = sum(in_threads(work))
    runs = THREADS * (RUNS // 2)
    assert failed == sum((i + k) % 7 == 0 for i in range(THREADS) for k in range(RUNS // 2))
    assert value(w.grad) == [2 * (runs - failed)] * 2 and runs - failed <= value(u.grad) <= runs


def test_gradients_without_accumulation(m):
    """engine/W-03: ``grad`` through a shared graph gives each thread its own result, and leaves the leaf alone."""
    w = leaf(m, 1., 2., dtype="float64")
    a = w * 2
    z = (a + w).sum()

    def work(i):
        expected = [[i + 1.] * 2, [3. * (i + 1)] * 2]
        g = m.tensor(float(i + 1), dtype=m.float64)
        return sum(value(m.autograd.grad(z, (a, w), g, retain_graph=True)) == expected for _ in range(RUNS // 2))
    assert in_threads(work) == [RUNS // 2] * THREADS and w.grad is None


# ---- runs within runs -------------------------------------------------------------------------------------------


def run_in_hook(m, depth, events):
    """``depth`` runs, each started by a hook of the one before. Returns the gradient of the outermost: one more per run."""
    def run(n):
        with m.enable_grad():
            x = leaf(m, 1., dtype="float64")
            y = x * 1
            y.register_hook(lambda g: events.append(n) or (g + run(n - 1) if n > 1 else None))
        y.backward()
        return x.grad
    return run(depth)


def run_in_function(m, depth, events):
    """The same, each started by the backward of a Function."""
    class Nested(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n = n
            return x * 1

        @staticmethod
        def backward(ctx, g):
            events.append(ctx.n)
            return (g + run(ctx.n - 1) if ctx.n > 1 else g), None

    def run(n):
        with m.enable_grad():
            x = leaf(m, 1., dtype="float64")
            y = Nested.apply(x, n)
        y.backward()
        return x.grad
    return run(depth)


@pytest.mark.parametrize("nested", [run_in_hook, run_in_function])
def test_a_thousand_deep(m, nested):
    """engine/E-01, engine/E-03"""
    events = []
    assert value(nested(m, DEEP, events)) == DEEP
    assert events == list(range(DEEP, 0, -1)) and task_id(m) == -1 and m.is_grad_enabled()


@pytest.mark.differs(
    what="An error in a backward that is nested a thousand deep",
    there="PyTorch can lose it between two threads, and raises SystemError.",
    here="It passes through all levels to the caller.")
@ours
@pytest.mark.parametrize("nested", [run_in_hook, run_in_function])
def test_error_from_a_thousand_deep(m, nested):
    """engine/E-04: it passes through all the runs. torch loses it on the way from thread to thread, and raises a SystemError."""
    class Full(list):
        def append(self, n):
            if n == 1:
                raise ValueError("at the bottom")
            super().append(n)
    events = Full()
    with pytest.raises(ValueError, match="at the bottom"):
        nested(m, DEEP, events)
    assert len(events) == DEEP - 1 and task_id(m) == -1 and value(nested(m, 2, [])) == 2


def test_deep_in_every_thread(m):
    """engine/E-03, engine/W-02: each thread goes down on stacks of its own."""
    assert [value(g) for g in in_threads(lambda i: run_in_hook(m, 100 + i, []))] == [100 + i for i in range(THREADS)]


def test_deep_through_one_graph(m):
    """engine/E-01: runs within runs through the same node, which is in use by all of them."""
    x = leaf(m, 1., dtype="float64")
    y = x * 1
    z = y * 1
    depth, seen = min(DEEP, 2_000) // 2, []

    def hook(g):
        seen.append(task_id(m))
        if len(seen) < depth:
            z.backward(retain_graph=True)
    y.register_hook(hook)
    z.backward(retain_graph=True)
    assert value(x.grad) == depth == len(set(seen)) and seen == sorted(seen)


def test_callbacks_in_threads(m):
    """engine/K-02, engine/W-03: each run its own callbacks, once, in its thread."""
    x = leaf(m, 1., dtype="float64")
    y = x * 1
    ran = Counts()
    y.register_hook(lambda g: m.autograd.Variable._execution_engine.queue_callback(ran.hook("callback")))

    def work(i):
        for _ in range(RUNS // 2):
            y.backward(retain_graph=True)
        return ran.by_thread[threading.get_ident()]["callback"]
    assert in_threads(work) == [RUNS // 2] * THREADS


def test_events_stay_in_their_thread(m):
    """engine/W-01: the notes of a thread's hooks are in the order of its run."""
    x = leaf(m, 1., dtype="float64")

    def work(i):
        orders = set()
        for _ in range(RUNS // 25):
            events, y = [], x
            for k in range(10):
                y = y * 1
                y.register_hook(note(events, k))
            y.backward()
            orders.add(tuple(events))
        return orders
    assert in_threads(work) == [{tuple(range(9, -1, -1))}] * THREADS and value(x.grad) == THREADS * (RUNS // 25)
