"""What several threads may share: docs/notes/threads.md has the list, and _core/graph/locks.py the locks.

Each test is for the lock that its docstring names. Interpreted, the threads change inside the functions that take these locks, at
each instruction of Python (`step`): under a GIL they would hardly ever change there. On a free-threaded Python they really run in
parallel. Compiled, no thread changes inside these functions.
"""

import gc
import subprocess
import sys
import threading
import time
import weakref

import pytest

import minigrad as mg
from minigrad.utils.data import DataLoader, TensorDataset

N = 8       # threads
WATCHED = {"bump", "announce", "shared_counter", "extras", "grad_accumulator", "new_accumulator", "refresh_once", "stream",
           "normal_pairs", "replace_retained", "swap_grad", "keeper_entered", "update_derived", "dict_values", "claim"}


left = []      # an item for each change of threads that the test may still make


def step(frame, event, arg):
    """At each instruction of a watched function, let another thread run; no longer when the test has done so often enough."""
    try:
        left.pop()
        time.sleep(0)
    except IndexError:
        pass
    return step


def watch(frame, event, arg):
    """The trace function of a thread: watch the functions of minigrad with these names."""
    if frame.f_code.co_name in WATCHED and "minigrad" in frame.f_code.co_filename:
        frame.f_trace_opcodes = True
        return step
    return None


@pytest.fixture(autouse=True)
def frequent_switches():
    """Let Python change threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work, n=N):
    """Run ``work(i)`` in n threads, which begin together. Returns their results; raises the first error."""
    results, errors = [None] * n, []
    barrier = threading.Barrier(n)
    left[:] = [True] * 3000

    def run(i):
        barrier.wait()
        sys.settrace(watch)
        try:
            results[i] = work(i)
        except BaseException as error:
            errors.append(error)
        finally:
            sys.settrace(None)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def race(attempts, prepare, work):
    """Let N threads run ``work(i, subject)`` for all subjects, which ``prepare()`` makes. Returns the subjects and the results.

    The thread that is ahead has the most to make, so the others catch up, and two threads meet at many subjects.
    """
    subjects = [prepare() for _ in range(attempts)]
    found = [[None] * N for _ in range(attempts)]

    def run(i):
        for k, subject in enumerate(subjects):
            found[k][i] = work(i, subject)
    in_threads(run)
    return subjects, found


# ---- made on first use ------------------------------------------------------------------------------------------------


def test_one_counter_for_a_storage():
    """`sharing` in TensorBase.shared_counter: all views made in parallel share the version of the storage."""
    subjects, found = race(8, lambda: mg.zeros(N), lambda i, x: x[i:])
    for x, views in zip(subjects, found, strict=True):
        x.add_(1)
        assert [view._version for view in views] == [1] * N


def test_one_record_of_extra_fields():
    """`sharing` in TensorBase.extras: no thread's hook or accumulator is in a record that is lost."""
    def work(i, x):
        if i % 2:
            x.register_hook(seen.append)
            return None
        return x * 1
    seen = []
    subjects, found = race(8, lambda: mg.ones(1, requires_grad=True), work)
    for results in found:
        results[0].sum().backward()
        assert len({y.grad_fn.next_functions[0][0] for y in results[::2]}) == 1
    assert len(seen) == 8 * N // 2 and all(x.grad.item() == 1 for x in subjects)


def test_one_record_of_a_node():
    """`sharing` in Node.extras: hooks on a node, and the notes of users on it."""
    def work(i, x):
        if i % 2:
            x.grad_fn.register_hook(note)
        else:
            x.grad_fn.metadata[i] = i

    def note(grads, outputs):
        seen.append(1)
    seen = []
    subjects, _ = race(8, lambda: mg.ones(1, requires_grad=True) * 2, work)
    for x in subjects:
        assert len(x.grad_fn.metadata) == N // 2
        x.sum().backward()
    assert len(seen) == 8 * N // 2


def test_one_accumulator():
    """`_making` in grad_accumulator: one node for a leaf, however many threads build the first graph on it."""
    _, found = race(8, lambda: mg.ones(1, requires_grad=True), lambda i, x: x * 1)
    assert all(len({y.grad_fn.next_functions[0][0] for y in results}) == 1 for results in found)


def test_one_history_for_a_stale_view():
    """`sharing` in views.refresh: after a write to the base, the threads that use the view get the same new grad_fn."""
    def prepare():
        base = mg.ones(4, requires_grad=True) * 1
        view = base[:2]
        base.mul_(3)
        return view
    _, found = race(8, prepare, lambda i, view: view.grad_fn)
    assert all(len(set(nodes)) == 1 for nodes in found)


def test_one_stream_of_a_generator():
    """`_seeding` in random.Generator: no two threads draw the same numbers from a generator that is new."""
    _, found = race(8, lambda: mg.Generator().manual_seed(3), lambda i, g: mg.rand(4, generator=g, dtype=mg.float64).tolist())
    assert all(len({tuple(numbers) for numbers in drawn}) == N for drawn in found)


def test_normal_numbers_are_drawn_once():
    """`pairing` in random/_stream.py: the second number of a pair goes to one thread."""
    g = mg.Generator().manual_seed(3)
    drawn = in_threads(lambda i: [mg.randn(1, generator=g, dtype=mg.float64).item() for _ in range(7)])
    expected = mg.Generator().manual_seed(3)
    assert sorted([x for numbers in drawn for x in numbers]) == sorted([mg.randn(1, generator=expected, dtype=mg.float64).item() for _ in range(7 * N)])


def test_names_that_load_late():
    """`importing` in _lazy.py: threads that first read different names at the same time each get a whole module."""
    program = """if True:
        import sys, threading
        import minigrad as mg
        sys.setswitchinterval(1e-5)
        names, errors, barrier = ("nn", "optim", "func", "distributions"), [], threading.Barrier(4)
        def ask(i):
            barrier.wait()
            try:
                for name in names[i:] + names[:i]:
                    getattr(mg, name)
                mg.nn.Linear, mg.optim.Adam, mg.distributions.Normal
            except Exception as error:
                errors.append(repr(error))
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print(errors)"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout == "[]\n", done.stdout + done.stderr


# ---- forward and backward ----------------------------------------------------------------------------------------------------


def test_sums_of_gradients_are_exact():
    """The lock of AccumulateGrad: parameters that all threads use get every gradient, the first one too."""
    w, b = mg.ones(3, 3, requires_grad=True), mg.zeros(3, requires_grad=True)
    x = mg.ones(2, 3)

    def work(i):
        for _ in range(5):
            (x @ w + b).sum().backward()
    for _ in range(2):
        w.grad = b.grad = None
        in_threads(work)
        assert w.grad.tolist() == [[2. * 5 * N] * 3] * 3 and b.grad.tolist() == [2. * 5 * N] * 3


def test_one_graph_for_all_threads():
    """`claiming`: each backward counts by itself, though the nodes have one set of fields. Selective runs, too."""
    w = mg.ones(2, requires_grad=True)
    y = w * 1
    for _ in range(6):
        y = y + w * 2
    loss = y.sum()

    def work(i):
        for _ in range(4):
            if i % 2:
                loss.backward(retain_graph=True)
            else:
                assert mg.autograd.grad(loss, w, retain_graph=True)[0].tolist() == [13., 13.]
    in_threads(work)
    assert w.grad.tolist() == [13. * 4 * N / 2] * 2


def test_retained_gradients_are_exact():
    """`sharing` in tensor_hooks.py: retain_grad adds up over all backwards, and over all outputs of a node."""
    w = mg.ones(2, requires_grad=True)
    y = w * 2
    y.retain_grad()
    loss = y.sum()
    in_threads(lambda i: [loss.backward(retain_graph=True) for _ in range(4)])
    assert y.grad.tolist() == [4. * N] * 2
    parts = (mg.ones(N, requires_grad=True) * 1).unbind()
    in_threads(lambda i: parts[i].retain_grad())
    sum(parts).backward()
    assert [part.grad.item() for part in parts] == [1.] * N


def test_one_thread_releases_what_another_uses():
    """A backward without retain_graph beside others: each gets its gradients, or the error for a second run. See CopySlices."""
    class Twice(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

    def prepare():
        x = mg.ones(4, requires_grad=True)
        y = Twice.apply(x * 1, x.exp())
        y[:2].mul_(x[2:])
        return (y * y).sum()

    def work(i, loss):
        try:
            loss.backward()
        except RuntimeError as error:
            return "second time" in str(error) or "retain_graph" in str(error)
        return True
    _, found = race(8, prepare, work)
    assert all(all(results) for results in found)


def test_custom_functions():
    """Each call has a ctx of its own: no thread sees what another has saved or set."""
    class Scale(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            ctx.save_for_backward(x)
            return x * factor

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return g * ctx.factor * (x * 0 + 1), None
    w = mg.ones(3, requires_grad=True)

    def work(i):
        return [mg.autograd.grad(Scale.apply(w, float(i)).sum(), w)[0].tolist() == [float(i)] * 3 for _ in range(10)]
    assert all(all(results) for results in in_threads(work))
    in_threads(lambda i: [Scale.apply(w, float(i)).sum().backward() for _ in range(10)])
    assert w.grad.tolist() == [10. * sum(range(N))] * 3


# ---- hooks ------------------------------------------------------------------------------------------------------------


def test_hooks_come_and_go_while_others_run_backward():
    """`registering` in handle.py and in dict_values: a table may change while another thread copies it."""
    w = mg.ones(2, requires_grad=True)
    y = w * 1
    loss = y.sum()
    always = []
    for register in (w.register_hook, y.register_hook, y.grad_fn.register_prehook, w.register_post_accumulate_grad_hook):
        register(lambda *_: always.append(1))
    y.grad_fn.register_hook(lambda *_: always.append(1))

    def work(i):
        if i < 4:
            for _ in range(6):
                loss.backward(retain_graph=True)
        else:
            for _ in range(6):
                handles = [register(lambda *_: None) for register in (
                    w.register_hook, y.register_hook, y.grad_fn.register_hook, y.grad_fn.register_prehook,
                    w.register_post_accumulate_grad_hook)]
                for handle in handles:
                    handle.remove()
    in_threads(work)
    assert len(always) == 5 * 4 * 6 and w.grad.tolist() == [4. * 6] * 2
    assert len(w._backward_hooks) == 1


def test_a_hook_of_several_tensors():
    """One call for each backward, in whichever thread it runs: register_multi_grad_hook counts per task."""
    w, b = mg.ones(2, requires_grad=True), mg.ones(2, requires_grad=True)
    calls = []
    handle = mg.autograd.graph.register_multi_grad_hook((w, b), lambda grads: calls.append([g.tolist() for g in grads]))
    in_threads(lambda i: [(w * (i + 1) + b).sum().backward() for _ in range(10)])
    handle.remove()
    assert sorted(calls) == sorted([[[i + 1.] * 2, [1.] * 2] for i in range(N) for _ in range(10)])


# ---- writes -----------------------------------------------------------------------------------------------------------


def test_each_write_counts():
    """`sharing` in VersionCounter.bump: threads write to parts of one storage that do not overlap, and no write is lost."""
    x = mg.zeros(N, 4)
    parts = [x[i] for i in range(N)]
    in_threads(lambda i: [parts[i].add_(i) for _ in range(5)])
    assert x._version == 5 * N and x.tolist() == [[5. * i] * 4 for i in range(N)]


def test_a_write_is_noticed_beside_other_writes():
    """`sharing` in VersionCounter.bump: a version that a node has saved never comes back."""
    x = mg.zeros(2, N)
    parts = [x[:, i] for i in range(N)]
    w = mg.ones(2, requires_grad=True)

    def work(i):
        for _ in range(3):
            loss = (w * parts[i]).sum()
            parts[i].add_(1)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                loss.backward()
    in_threads(work)


def test_writes_in_debug_mode_are_all_listed():
    """`sharing` in version.announce: one log for a storage."""
    def work(i, x):
        x[i].add_(1)
    with mg.debug():
        subjects, _ = race(8, lambda: mg.zeros(N, 2), work)
    for x in subjects:
        assert len(x._version_counter().log) == N if hasattr(x._version_counter(), "log") else x._version == N


# ---- modes of a thread --------------------------------------------------------------------------------------------------------


def test_modes_belong_to_a_thread():
    """State: no_grad, inference mode and hooks on saved tensors of one thread change nothing in another."""
    w = mg.ones(2, requires_grad=True)

    def work(i):
        found = []
        for _ in range(4):
            if i % 4 == 0:
                with mg.no_grad():
                    found.append(not (w * 2).requires_grad)
            elif i % 4 == 1:
                with mg.inference_mode():
                    found.append((w * 2).is_inference())
            elif i % 4 == 2:
                packed = []

                def pack(x, packed=packed):
                    packed.append(x)
                    return x
                with mg.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
                    y = (w * w).sum()
                found.append(len(packed) == 2 and mg.autograd.grad(y, w)[0].tolist() == [2., 2.])
            else:
                y = (w * w).sum()
                found.append(y.requires_grad and not y.is_inference() and mg.autograd.grad(y, w)[0].tolist() == [2., 2.])
        return all(found)
    assert in_threads(work) == [True] * N
    assert mg.is_grad_enabled() and not mg.is_inference_mode_enabled()


def test_a_decorated_function():
    """@no_grad() makes a context for each call, so threads may share the function."""
    @mg.no_grad()
    def double(x):
        return x * 2
    w = mg.ones(1, requires_grad=True)

    def work(i):
        return [not double(w).requires_grad and (w * 2).requires_grad for _ in range(20)]
    assert all(all(found) for found in in_threads(work))


def test_switches_of_several_threads():
    """`_counting` in switches.py: the last thread to leave a context switches off, and no earlier one."""
    w = mg.ones(2, requires_grad=True)

    def work(i):
        for _ in range(3):
            with mg.autograd.graph.allow_mutation_on_saved_tensors():
                x = mg.ones(2)
                y = (w * x).sum()
                x.mul_(3)
                assert mg.autograd.grad(y, w)[0].tolist() == [1., 1.]
    in_threads(work)
    x = mg.ones(2)
    y = (w * x).sum()
    x.mul_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_records_of_several_threads():
    """The lock of Recorder: the events of all threads, numbered by thread."""
    w = mg.ones(2, requires_grad=True)
    with mg.debug.record() as r:
        in_threads(lambda i: [(w * 1).sum().backward() for _ in range(3)])
    assert len([event for event in r.events if event.kind == "accumulate"]) == 3 * N
    assert len({event.thread for event in r.events}) == N and w.grad.tolist() == [3. * N] * 2


# ---- data, and what is freed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 1])
def test_loaders_in_threads(workers):
    """A loader for each thread, on one data set."""
    data = TensorDataset(mg.arange(32), mg.arange(32) * 2)
    n = N if workers == 0 else 2

    def work(i):
        loader = DataLoader(data, batch_size=4, shuffle=True, num_workers=workers, generator=mg.Generator().manual_seed(i))
        rows = [(x, y) for batch in loader for x, y in zip(batch[0].tolist(), batch[1].tolist(), strict=True)]
        return sorted(rows) == [(k, 2 * k) for k in range(32)]
    assert in_threads(work, n) == [True] * n


def test_training_in_threads():
    """A model and an optimizer for each thread: eight trainings in parallel give the numbers of one."""
    def train(i):
        layer = mg.nn.Linear(2, 1)
        with mg.no_grad():
            layer.weight.fill_(0.5)
            layer.bias.fill_(0)
        optimizer = mg.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
        for _ in range(10):
            optimizer.zero_grad()
            layer(mg.ones(3, 2)).pow(2).mean().backward()
            optimizer.step()
        return layer.weight.tolist(), layer.bias.tolist()
    assert in_threads(train) == [train(0)] * N


def test_graphs_are_freed():
    """What threads build and share is freed when they drop it."""
    def work(i, w):
        y = (w * w).exp()
        y.sum().backward()
        return weakref.ref(y), weakref.ref(y.grad_fn)
    subjects, found = race(5, lambda: mg.ones(2, requires_grad=True), work)
    accumulators = [weakref.ref((w * 1).grad_fn.next_functions[0][0]) for w in subjects]
    gc.collect()
    assert all(y() is None and node() is None for results in found for y, node in results)
    assert all(node() is None for node in accumulators)
