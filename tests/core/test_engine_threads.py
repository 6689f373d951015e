"""Backward from several threads: engine.md 16 and G-10."""

import sys
import threading
import time

import pytest

from tests.core.engine_tools import leaf, note, ours, raises, running_node, task_id, value


@pytest.fixture(autouse=True)
def frequent_switches():
    """Let Python change threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(n, work):
    """Run ``work(i)`` in n threads in parallel; return the result or the error of each."""
    results = [None] * n
    barrier = threading.Barrier(n)

    def run(i):
        barrier.wait()
        try:
            results[i] = work(i)
        except Exception as error:
            results[i] = error
    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results


def test_hooks_run_in_the_calling_thread(m):
    """engine/W-01"""
    def work(i):
        x = leaf(m, 1.)
        seen = []
        x.register_hook(lambda g: seen.append(threading.current_thread()))
        (x * 2).backward()
        return seen == [threading.current_thread()]
    assert in_threads(3, work) == [True] * 3 and threading.active_count() <= 2


def test_state_is_per_thread(m):
    """engine/W-02: a new thread starts with gradients enabled, no task, no node, and sequence number 0."""
    x = leaf(m, 1.)

    def look(i):
        made = x * 1
        return m.is_grad_enabled(), made.grad_fn._sequence_nr(), task_id(m), running_node(m), m.autograd.is_multithreading_enabled()
    inside = []

    def hook(g):
        inside.extend(in_threads(2, look))
    y = x * 2
    y.register_hook(hook)
    with m.no_grad(), m.autograd.set_multithreading_enabled(False):
        assert in_threads(2, look) == [(True, 0, -1, None, True)] * 2
        y.backward()
        assert not m.is_grad_enabled()
    assert inside == [(True, 0, -1, None, True)] * 2


def test_disjoint_graphs(m):
    """engine/W-03"""
    def work(i):
        x = leaf(m, float(i), 1.)
        for _ in range(20):
            y = x
            for _ in range(10):
                y = y * 1 + x
            y.sum().backward()
        return value(x.grad)
    assert in_threads(4, work) == [[220, 220]] * 4


def test_shared_graph_with_retain(m):
    """engine/W-03, engine/G-10: every run counts, and nothing is lost."""
    x = leaf(m, 1., 2.)
    y = x.exp() * 0 + x
    for _ in range(5):
        y = y + x * 1
    z = y.sum()

    def work(i):
        for _ in range(20):
            z.backward(retain_graph=True)
    assert in_threads(4, work) == [None] * 4
    assert value(x.grad) == [4 * 20 * 6] * 2


def test_shared_graph_without_retain(m):
    """engine/W-03: each either gets its gradients or the error for a second run, and some run is the first."""
    for _ in range(20):
        x = leaf(m, 1., 2.)
        z = x
        for _ in range(5):
            z = z * x.detach() * 1.0
        z = z.sum()
        results = in_threads(4, lambda i, z=z: z.backward())
        failed = [r for r in results if r is not None]
        assert len(failed) < 4 and all(isinstance(r, RuntimeError) and "a second time" in str(r) for r in failed)
        assert x.grad is not None


@pytest.mark.parametrize("size, rounds, runs", [(2, 30, 3), (200_000, 2, 10)])
def test_accumulation_from_many_graphs(m, size, rounds, runs):
    """engine/G-10: one leaf, a graph per thread; also the first gradient, and arrays for which NumPy lets others run."""
    for _ in range(rounds):
        x = m.zeros(size, requires_grad=True)

        def work(i, x=x):
            for _ in range(runs):
                (x * 1).sum().backward()
        assert in_threads(4, work) == [None] * 4
        assert value(x.grad.min()) == value(x.grad.max()) == 4 * runs


def test_grad_mode_while_the_state_of_another_thread_dies(m):
    """engine/W-02: the state of a dead thread may run other threads when it is freed, in the middle of the first step of an op."""
    dying, entered, over = threading.Event(), threading.Event(), threading.Event()

    class Slow:
        def __call__(self, x):
            return x

        def __del__(self):
            dying.set()
            entered.wait(5)

    def leave_hooks():
        m.autograd.graph.saved_tensors_hooks(Slow(), lambda x: x).__enter__()
        m.zeros(2) * 1

    def stay_without_gradients():
        dying.wait(5)
        with m.no_grad():
            assert not (x * 1).requires_grad
            entered.set()
            over.wait(5)

    x = leaf(m, 1., 2.)
    other = threading.Thread(target=stay_without_gradients)
    other.start()
    first = threading.Thread(target=leave_hooks)
    first.start()
    first.join()
    assert [(x * 1).requires_grad for _ in range(3)] == [True] * 3
    over.set()
    other.join()


@ours
def test_a_leaf_is_locked_while_it_is_added_to(m):
    """engine/W-04, engine/G-10: only one thread at a time adds to a gradient, even if the addition lets other threads run."""
    class Slow(m.Tensor):
        def add_(self, other):
            inside.append(True)
            most.append(len(inside))
            time.sleep(0.002)
            inside.pop()
            return super().add_(other)
    inside, most = [], []
    x = leaf(m, 1., 2.)
    x.grad_dtype = None         # so that a gradient of another dtype comes to the method of the one that is there
    x.grad = m.zeros(2, dtype=m.float64).as_subclass(Slow)
    assert in_threads(4, lambda i: [(x * 1).sum().backward() for _ in range(3)] and None) == [None] * 4
    assert most == [1] * 12 and value(x.grad) == [12, 12]


@ours
def test_accumulation_with_history(m):
    """engine/G-10: out of place under create_graph, and yet no addition is lost."""
    x = leaf(m, 2., 2.)

    def work(i):
        for _ in range(25):
            (x * x).sum().backward(create_graph=True)
    assert in_threads(4, work) == [None] * 4 and value(x.grad) == [400, 400]
    x.grad = None


@ours
def test_accumulation_with_history_starts_again(m):
    """engine/G-10: if another thread was faster between the sum and its storing."""
    class Sneaky(m.Tensor):
        def __add__(self, other):
            if not entered:
                entered.append(True)
                assert in_threads(1, lambda i: (x * x).backward(create_graph=True)) == [None]
            return super().__add__(other)
    entered = []
    x = leaf(m, 3.)
    x.grad = m.tensor(0.).as_subclass(Sneaky)
    (x * x).backward(create_graph=True)
    assert entered and value(x.grad) == 12
    x.grad = None


def test_one_leaf_has_one_accumulator(m):
    """engine/G-11, engine/W-04: also when several threads request it at the same time; its lock makes sums exact."""
    for _ in range(30):
        x = leaf(m, 1.)
        nodes = in_threads(4, lambda i, x=x: (x * 1).grad_fn)
        assert len({id(node.next_functions[0][0]) for node in nodes}) == 1


def test_no_lock_is_held_in_hooks(m):
    """engine/W-04: a hook may wait for another thread that runs backward into the same leaf and through the same nodes."""
    x = leaf(m, 1.)
    y = x * 2
    z = y * 3
    entered = []

    def hook(*_):
        if not entered:
            entered.append(True)
            assert in_threads(1, lambda i: z.backward(retain_graph=True)) == [None]
    for register in (y.register_hook, y.grad_fn.register_prehook, x.register_hook, x.register_post_accumulate_grad_hook):
        entered.clear()
        x.grad = None
        handle = register(hook)
        z.backward(retain_graph=True)
        handle.remove()
        assert value(x.grad) == 12


def test_random_graphs_in_threads(m):
    """engine/M-02: the same random graph, run by several threads in parallel while others build theirs."""
    def build(seed):
        xs = [leaf(m, float(i + 1)) for i in range(3)]
        nodes = list(xs)
        for k in range(40):
            seed = (seed * 1103515245 + 12345) % 2 ** 31
            a, b = nodes[seed // 7 % len(nodes)], nodes[seed // 1001 % len(nodes)]
            nodes.append((a + b if k % 3 else a * 0.5 - b) * 0.5)
        return xs, sum(nodes[3:], nodes[0])
    shared_xs, shared = build(5)
    expected = value(m.autograd.grad(shared, shared_xs, retain_graph=True))

    def work(i):
        found = []
        for _ in range(5):
            found.append(value(m.autograd.grad(shared, shared_xs, retain_graph=True)) == expected)
            xs, y = build(5)
            found.append(value(m.autograd.grad(y, xs)) == expected)
        return all(found)
    assert in_threads(4, work) == [True] * 4


@pytest.mark.parametrize("how", ["context", "call", "decorator"])
def test_set_multithreading_enabled(m, how):
    """engine/W-05"""
    enabled, switch = m.autograd.is_multithreading_enabled, m.autograd.set_multithreading_enabled
    assert enabled()
    if how == "context":
        with switch(False):
            assert not enabled() and in_threads(1, lambda i: enabled()) == [True]
    elif how == "call":
        switch(False)
        assert not enabled()
        switch(True)
    elif m.__name__ == "minigrad":      # torch's leaves it switched off
        assert switch(False)(enabled)() is False
    assert enabled()


def test_errors_stay_in_their_thread(m):
    """engine/W-02, engine/X-22"""
    x = leaf(m, 1.)
    events = []

    def work(i):
        y = x * 2
        if i == 0:
            def fail(g):
                raise ValueError("mine")
            y.register_hook(fail)
        else:
            y.register_hook(note(events, i))
        y.backward()
    results = in_threads(4, work)
    with raises(ValueError, "mine"):
        raise results[0]
    assert results[1:] == [None] * 3 and sorted(events) == [1, 2, 3] and value(x.grad) == 6
