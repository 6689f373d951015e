"""Each lock of interpreted code, tried at each instruction that it protects: _core/graph/locks.py has the list.

A case makes a subject and returns three functions. `first` and `second` use the subject in two threads, and `holds` says whether
the result is right. `interleaving.py` runs them once for each instruction k of the watched functions: `second` runs before the k-th.
Two tests take each case:

    with the lock       the result is right for every k
    without it          the result is wrong for some k, so the lock is needed, and a lock that is missing would be noticed

The watched functions are those that hold the lock. Compiled code has no such instructions, so conftest.py collects these tests
only if minigrad is interpreted.
`test_threads_shared.py` has the tests with many threads and all of minigrad.
"""

import importlib.util
import itertools
import sys
import types
from collections import OrderedDict
from contextlib import nullcontext

import numpy as np
import pytest

import minigrad as mg
from minigrad._core.engine import dependencies
from minigrad._core.graph import accumulate_grad, locks, switches, thread_state
from minigrad._core.observe import recorder
from minigrad._core.record.history import log_of
from minigrad._debug import context
from minigrad._lazy import importing, lazy
from minigrad.autograd import forward_ad
from minigrad.grading import swaps
from minigrad.kernels.meta import array as meta_array
from minigrad.random import _generator, _stream
from tests.core.interleaving import Interleaving, ScheduledLock, schedule_locks

CASES = []


class Case:
    """One thing that a lock protects.

    Args:
        lock: the lock, or None if an object has one of its own. Then ``make(lock)`` gives it to the object.
        make (callable): returns (first, second, holds) for a new subject.
        watched (dict): end of a file's name -> names of the functions in it that hold the lock.
        needed (bool): without the lock, some k breaks the result.
        patient, patch: see `Interleaving`; a function that gets monkeypatch, and prepares the case.
    """

    def __init__(self, lock, make, watched, needed=True, patient=True, patch=None):
        self.lock, self.make, self.watched, self.needed, self.patient, self.patch = lock, make, watched, needed, patient, patch

    def broken(self, monkeypatch, lock):
        """All k at which the result is wrong, each with the errors of the threads; and the number of instructions."""
        if self.patch is not None:
            self.patch(monkeypatch)
        found, codes = {}, set()
        for k in itertools.count():
            first, second, holds = self.make() if self.lock is not None else self.make(lock)
            run = Interleaving(k, self.watched, codes, self.patient).run(first, second)
            try:
                right = holds()
            except Exception as error:
                right = run.errors.append(error)
            if run.errors or not right:
                found[k] = run.errors
            if k and not run.reached:
                return found, k - 1


def case(lock, watched, **options):
    """Decorator: add a case. The name of the function says what holds."""
    def add(make):
        CASES.append(pytest.param(Case(lock, make, watched, **options), id=make.__name__))
        return make
    return add


@pytest.fixture(autouse=True)
def no_finalizers(no_collection):
    """No garbage collection, which may run anything at any instruction."""


# ---- sharing ----------------------------------------------------------------------------------------------------------


@case(locks.sharing, {"graph/version.py": "bump"})
def each_write_counts():
    x = mg.zeros(2)
    parts = x[0], x[1]
    return lambda: parts[0].add_(1), lambda: parts[1].add_(1), lambda: x._version == 2


@case(locks.sharing, {"graph/version.py": "announce"})
def a_storage_has_one_log():
    x = mg.zeros(2)
    parts = x[0], x[1]
    context.count_contexts(1)

    def holds():
        context.count_contexts(-1)
        return len(x._version_counter().log) == 2
    return lambda: parts[0].add_(1), lambda: parts[1].add_(1), holds


@case(locks.sharing, {"record/history.py": "log_of"})
def a_record_and_the_writes_use_one_log():
    counter = mg.zeros(2)[0]._version_counter()
    found = []
    return lambda: found.append(log_of(counter)), lambda: found.append(log_of(counter)), lambda: found[0] is found[1] is counter.log


@case(locks.sharing, {"graph/tensor.py": "shared_counter"})
def all_views_share_one_counter():
    x = mg.zeros(2)
    views = []

    def holds():
        x.add_(1)
        return [view._version for view in views] == [1, 1]
    return lambda: views.append(x[:1]), lambda: views.append(x[1:]), holds


@case(locks.sharing, {"graph/tensor.py": "extras"})
def a_tensor_has_one_record_of_extra_fields():
    x = mg.ones(1, requires_grad=True)
    seen = []

    def set_grad():
        x.grad = mg.ones(1)

    def holds():
        x.sum().backward()
        return len(seen) == 1 and x.grad.item() == 2
    return set_grad, lambda: x.register_hook(seen.append), holds


@case(locks.sharing, {"graph/node.py": "extras"})
def a_node_has_one_record_of_extra_fields():
    node = (mg.ones(1, requires_grad=True) * 1).grad_fn
    seen = []

    def holds():
        node(mg.ones(1))
        return node.metadata == {"note": 1} and len(node.extra.pre_hooks) == 1
    return lambda: node.register_prehook(seen.append), lambda: node.metadata.update(note=1), holds


@case(locks.sharing, {"graph/node.py": "metadata"})
def a_node_has_one_dict_of_notes():
    node = (mg.ones(1, requires_grad=True) * 1).grad_fn
    return lambda: node.metadata.update(a=1), lambda: node.metadata.update(b=2), lambda: node.metadata == {"a": 1, "b": 2}


@case(locks.sharing, {"engine/tensor_hooks.py": "accumulate_retained replace_retained"})
def retained_gradients_add_up():
    y = mg.ones(2, requires_grad=True) * 2
    y.retain_grad()
    loss = y.sum()
    return (lambda: loss.backward(retain_graph=True)), (lambda: loss.backward(retain_graph=True)), lambda: y.grad.tolist() == [2., 2.]


@case(locks.sharing, {"mutation/views.py": "refresh refresh_once regenerate_grad_fn"})
def a_stale_view_gets_one_new_grad_fn():
    base = mg.ones(4, requires_grad=True) * 1
    view = base[:2]
    base.mul_(3)
    found = []
    return lambda: found.append(view.grad_fn), lambda: found.append(view.grad_fn), lambda: found[0] is found[1]


# ---- registering ------------------------------------------------------------------------------------------------------


@case(locks.registering, {"surface/variable.py": "add_tensor_hook", "graph/handle.py": "add_hook"})
def both_first_hooks_of_a_leaf_run():
    x = mg.ones(2, requires_grad=True)
    seen = []

    def holds():
        x.sum().backward()
        return len(seen) == 2
    return lambda: x.register_hook(seen.append), lambda: x.register_hook(seen.append), holds


@case(locks.registering, {"surface/variable.py": "add_tensor_hook", "graph/handle.py": "add_hook"})
def the_table_of_a_result_has_both_first_hooks():
    y = mg.ones(2, requires_grad=True) * 2
    seen = []

    def holds():
        y.sum().backward()
        return len(seen) == len(y._backward_hooks) == 2
    return lambda: y.register_hook(seen.append), lambda: y.register_hook(seen.append), holds


@case(locks.registering, {"surface/variable.py": "add_post_accumulate_hook"})
def both_post_accumulate_hooks_run():
    x = mg.ones(2, requires_grad=True)
    seen = []

    def register():
        x.register_post_accumulate_grad_hook(lambda leaf: seen.append(1))

    def holds():
        x.sum().backward()
        return len(seen) == 2
    return register, register, holds


@case(locks.registering, {"graph/node.py": "add_pre_hook"})
def both_pre_hooks_run():
    y = mg.ones(2, requires_grad=True) * 2
    y.grad_fn.metadata["note"] = "so the extra fields exist"
    seen = []

    def holds():
        y.sum().backward()
        return len(seen) == 2
    return lambda: y.grad_fn.register_prehook(seen.append), lambda: y.grad_fn.register_prehook(seen.append), holds


@case(locks.registering, {"graph/node.py": "add_post_hook"})
def both_post_hooks_run():
    y = mg.ones(2, requires_grad=True) * 2
    y.grad_fn.metadata["note"] = "so the extra fields exist"
    seen = []

    def register():
        y.grad_fn.register_hook(lambda results, grads: seen.append(1))

    def holds():
        y.sum().backward()
        return len(seen) == 2
    return register, register, holds


@case(locks.registering, {"graph/node.py": "retain_output"})
def all_outputs_of_a_node_retain_their_gradients():
    parts = (mg.ones(2, requires_grad=True) * 1).unbind()

    def holds():
        sum(parts).backward()
        return [None if part.grad is None else part.grad.item() for part in parts] == [1., 1.]
    return parts[0].retain_grad, parts[1].retain_grad, holds


class Table(OrderedDict):
    """A table of hooks whose values are copied in several steps, as a Python without a GIL copies those of an OrderedDict."""

    def values(self):
        return [self[key] for key in self]


STEPS = {"test_interleavings.py": "values <listcomp>"}


@case(locks.registering, STEPS)
def a_hook_may_be_removed_while_the_table_is_copied():
    x = mg.ones(2, requires_grad=True)
    x._backward_hooks = Table()
    handles = [x.register_hook(lambda grad: None) for _ in range(2)]
    return x.sum().backward, handles[0].remove, lambda: x.grad.tolist() == [1., 1.]


@case(locks.registering, STEPS)
def a_hook_may_be_added_while_the_table_is_copied():
    x = mg.ones(2, requires_grad=True)
    x._backward_hooks = Table()
    x.register_hook(lambda grad: None)
    return x.sum().backward, lambda: x.register_hook(lambda grad: None), lambda: x.grad.tolist() == [1., 1.]


# ---- leaves and tasks ---------------------------------------------------------------------------------------------------


@case(accumulate_grad._making, {"graph/accumulate_grad.py": "grad_accumulator new_accumulator"})
def a_leaf_has_one_accumulator():
    x = mg.ones(1, requires_grad=True)
    made = []
    return (lambda: made.append(x * 1)), (lambda: made.append(x * 1)), lambda: len({y.grad_fn.next_functions[0][0] for y in made}) == 1


def leaf_with(lock):
    """A leaf, and its AccumulateGrad, which has this lock."""
    w = mg.ones(2, requires_grad=True)
    node = (w * 1).grad_fn.next_functions[0][0]
    node.lock = lock
    return w, node


@case(None, {"graph/accumulate_grad.py": "accumulate replace_grad swap_grad"})
def both_first_gradients_arrive(lock):
    w, node = leaf_with(lock)
    return (w * 2).sum().backward, (w * 3).sum().backward, lambda: w.grad.tolist() == [5., 5.] and node.variable is w


@case(None, {"graph/accumulate_grad.py": "accumulate_with_history replace_grad swap_grad"})
def both_gradients_with_a_history_arrive(lock):
    w, node = leaf_with(lock)
    losses = (w * 2).sum(), (w * 3).sum()
    return (lambda: losses[0].backward(create_graph=True), lambda: losses[1].backward(create_graph=True),
            lambda: w.grad.tolist() == [5., 5.] and node.variable is w)


def add_in_two_steps(x, y):
    """The kernel of ``x += y``, with a change of threads inside."""
    total = x + y
    np.copyto(x, total)


def slow_kernel(monkeypatch):
    monkeypatch.setattr(mg.ones(1)._meta.backend.kernels, "add_", add_in_two_steps)


@case(None, {"graph/accumulate_grad.py": "accumulate add_in_place", "test_interleavings.py": "add_in_two_steps"}, patch=slow_kernel)
def both_gradients_are_added(lock):
    w, node = leaf_with(lock)
    w.sum().backward()
    return (w * 2).sum().backward, (w * 3).sum().backward, lambda: w.grad.tolist() == [6., 6.] and node.variable is w


def shared_graph():
    """A leaf, and the loss of a small graph on it. The gradient is 2."""
    w = mg.ones(2, requires_grad=True)
    y = w * 2
    y.register_hook(lambda grad: Interleaving.current.pause())      # in the second thread's backward, which so ends later
    return w, y.sum()


@case(dependencies.claiming, {"engine/dependencies.py": "compute_dependencies claim add_dependency"})
def two_backwards_share_a_graph():
    w, loss = shared_graph()
    return lambda: loss.backward(retain_graph=True), lambda: loss.backward(retain_graph=True), lambda: w.grad.tolist() == [4., 4.]


@case(dependencies.claiming, {"engine/dependencies.py": "select_nodes claim add_dependency mark"})
def a_selective_backward_shares_a_graph():
    w, loss = shared_graph()
    found = []
    return (lambda: found.extend(mg.autograd.grad(loss, w, retain_graph=True)), lambda: loss.backward(retain_graph=True),
            lambda: w.grad.tolist() == found[0].tolist() == [2., 2.])


# ---- switches and modes ---------------------------------------------------------------------------------------------------------


def count_case(method, count):
    """A case for a method of Switches that counts threads."""
    def make():
        subject = switches.Switches()

        def first():
            getattr(subject, method)(1)
        return first, first, lambda: getattr(subject, count) == 2
    return make


case(switches._counting, {"graph/switches.py": "keeper_entered"})(count_case("keeper_entered", "keepers"))
case(switches._counting, {"graph/switches.py": "stream_entered"})(count_case("stream_entered", "streams"))


@case(switches._counting, {"graph/switches.py": "update_derived"})
def a_switch_that_goes_off_leaves_the_others_on():
    subject = switches.Switches()
    subject.debug = True
    subject.update_derived()

    def leave_debug():
        subject.debug = False
        subject.update_derived()
    return leave_debug, lambda: subject.keeper_entered(1), lambda: subject.notes_writes


@case(thread_state._deriving, {"graph/thread_state.py": "update_derived derive"})
def all_threads_enter_a_dual_level():
    states = []

    def first():
        states.append(thread_state.current())
        states[0].update_derived()

    def holds():
        found = states[0].forward, states[0].fast_path
        thread_state.set_dual_level(False)
        return found == (True, False)
    return first, lambda: thread_state.set_dual_level(True), holds


@case(thread_state._deriving, {"_weakrefset.py": "__iter__"}, needed=sys.version_info < (3, 14))    # since then it iterates over a copy
def a_thread_may_begin_while_another_enters_a_dual_level():
    return lambda: thread_state.set_dual_level(False), thread_state.current, lambda: True


# ---- random numbers ---------------------------------------------------------------------------------------------------


def draw(g):
    return mg.rand(1, generator=g, dtype=mg.float64).item()


@case(_generator._seeding, {"random/_generator.py": "stream"})
def a_generator_has_one_stream():
    g = mg.Generator().manual_seed(3)
    found = []
    return lambda: found.append(draw(g)), lambda: found.append(draw(g)), lambda: found[0] != found[1]


@case(_generator._seeding, {"random/_generator.py": "manual_seed"})
def a_new_seed_begins_one_stream():
    g = mg.Generator().manual_seed(3)
    found = []
    return (lambda: found.append(g.manual_seed(5)), lambda: found.append(draw(g)), lambda: draw(g) not in found)


@case(_generator._seeding, {"random/_generator.py": "stream"})
def an_old_stream_ends_with_a_new_seed():
    g = mg.Generator().manual_seed(3)
    expected = draw(mg.Generator().manual_seed(5))
    found = []

    def holds():
        found.append(draw(g))
        return expected in found
    return lambda: found.append(draw(g)), lambda: g.manual_seed(5), holds


@case(_generator._seeding, {"random/_generator.py": "set_state"})
def a_new_state_or_a_new_seed_comes_last():
    g = mg.Generator().manual_seed(3)
    source = mg.Generator().manual_seed(4)
    draw(source)
    state = source.get_state()
    last = (4, draw(source)), (5, draw(mg.Generator().manual_seed(5)))
    return lambda: g.set_state(state), lambda: g.manual_seed(5), lambda: (g.initial_seed(), draw(g)) in last


@case(_generator._seeding, {"random/_generator.py": "get_state"})
def a_state_has_the_seed_of_its_stream():
    g = mg.Generator().manual_seed(3)
    numbers = {seed: draw(mg.Generator().manual_seed(seed)) for seed in (3, 5)}
    found = []

    def holds():
        g.set_state(found[0])
        return draw(g) == numbers[g.initial_seed()]
    return lambda: found.append(g.get_state()), lambda: g.manual_seed(5), holds


@case(_stream.RandomStream.pairing, {"random/_stream.py": "save_state"})
def a_state_is_of_one_moment():
    g = mg.Generator().manual_seed(3)
    found = []

    def one():
        return mg.randn(1, generator=g, dtype=mg.float64).item()

    def holds():
        expected = mg.Generator().manual_seed(3)
        numbers = [mg.randn(1, generator=expected, dtype=mg.float64).item() for _ in range(3)]
        g.set_state(found[0])
        return [one(), one()] in (numbers[:2], numbers[1:])
    return lambda: found.append(g.get_state()), one, holds


@case(_stream.RandomStream.pairing, {"numpy_ref/randoms.py": "normal_pairs"})
def a_normal_number_is_drawn_once():
    g = mg.Generator().manual_seed(3)
    mg.randn(1, generator=g)        # the second number of the pair is left
    found = []

    def one():
        found.append(mg.randn(1, generator=g, dtype=mg.float64).item())
    return one, one, lambda: found[0] != found[1]


# ---- records, and other settings of the process ---------------------------------------------------------------------------------


@case(None, {"observe/recorder.py": "note name"})
def each_node_has_its_name(lock):
    nodes = [(mg.ones(1, requires_grad=True) * 1).grad_fn for _ in range(2)]
    r = recorder.Recorder()
    r._lock = lock
    return (lambda: r.note("dequeue", nodes[0], {}), lambda: r.note("dequeue", nodes[1], {}),
            lambda: sorted(r.ops) == ["n1", "n2"] and sorted(event[1] for event in r.events) == ["n1", "n2"])


@case(None, {"observe/recorder.py": "storage"})
def each_storage_has_its_name(lock):
    counters = [mg.zeros(2)[0]._version_counter() for _ in range(2)]
    r = recorder.Recorder()
    r._lock = lock
    return (lambda: r.note("other", None, {"storage": counters[0]}), lambda: r.note("other", None, {"storage": counters[1]}),
            lambda: sorted(r.storages) == ["s1", "s2"])


@case(None, {"observe/recorder.py": "stop <dictcomp>"})
def a_record_may_end_while_another_thread_writes(lock):
    r = recorder.Recorder()
    r._lock = lock
    r.program = {"a file": [], "another": []}
    return r.stop, lambda: r.note("write", None, {"op": "add_"}), lambda: True


@case(recorder._switching, {"observe/recorder.py": "start"})
def two_records_may_begin():
    both = recorder.Recorder(), recorder.Recorder()

    def holds():
        active = switches.switches.recorders
        for r in both:
            r.stop()
        return set(active) == set(both)
    return lambda: both[0].start("file", 1), lambda: both[1].start("file", 1), holds


@case(recorder._switching, {"observe/recorder.py": "stop <listcomp>"})
def two_records_may_end():
    both = recorder.Recorder(), recorder.Recorder()
    for r in both:
        r.start("file", 1)

    def holds():
        left = switches.switches.recorders
        for r in both:
            r.stop()
        return not left
    return both[0].stop, both[1].stop, holds


@case(context._switching, {"_debug/context.py": "count_contexts"})
def two_debug_contexts_may_begin():
    def holds():
        found, context._inside = context._inside, 0
        switches.switches.debug = False
        switches.switches.update_derived()
        return found == 2
    return lambda: context.count_contexts(1), lambda: context.count_contexts(1), holds


@case(swaps._counting, {"grading/swaps.py": "count"})
def each_call_of_a_swapped_part_counts():
    student = swaps.Student("vjp", None)
    return student.count, student.count, lambda: student.calls == 2


@case(forward_ad._entering, {"autograd/forward_ad.py": "enter_dual_level"})
def one_thread_enters_the_dual_level():
    refused = []

    def enter():
        try:
            forward_ad.enter_dual_level()
        except RuntimeError as error:
            refused.append(error)

    def holds():
        forward_ad.exit_dual_level()
        return len(refused) == 1
    return enter, enter, holds


@case(meta_array._lock, {"meta/array.py": "__init__"})
def each_array_on_meta_has_its_addresses():
    device = mg.device("meta")
    made = []

    def make():
        made.append(meta_array.Block(64, device))
    return make, make, lambda: made[0].address != made[1].address


# ---- late imports -----------------------------------------------------------------------------------------------------


class Circle:
    """A finder and loader of two modules that import each other."""

    sources = {"circle.one": "import circle; circle.moment(); from circle.two import second; first = 1",
               "circle.two": "import circle.one; second = 2"}

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name in self.sources else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(self.sources[module.__name__], vars(module))


def moment():
    """The moment at which the module is half imported."""


@case(importing, {"test_interleavings.py": "moment"}, patient=False,
      patch=lambda monkeypatch: monkeypatch.setattr(sys, "meta_path", [Circle(), *sys.meta_path]))
def modules_that_import_each_other_are_whole():
    def forget():
        for name in ("circle", *Circle.sources):
            sys.modules.pop(name, None)
    forget()
    package = sys.modules["circle"] = types.ModuleType("circle")
    package.__path__, package.moment = [], moment
    package.__getattr__, package.__dir__ = lazy("circle", modules=("one", "two"))
    found = []

    def holds():
        forget()
        return [module.second for module in found] == [2, 2]
    return lambda: found.append(package.one), lambda: found.append(package.two), holds


# ---- the tests ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_with_the_lock(case, monkeypatch):
    """The result is right, wherever the threads change."""
    schedule_locks(monkeypatch)
    found, instructions = case.broken(monkeypatch, ScheduledLock(locks.new_lock()))
    assert instructions and not found, f"of {instructions} instructions, these are not protected: {found}"


@pytest.mark.parametrize("case", CASES)
def test_without_the_lock(case, monkeypatch):
    """The result is wrong if the threads change at the wrong instruction: the test above can fail."""
    schedule_locks(monkeypatch, case.lock)
    found, instructions = case.broken(monkeypatch, nullcontext())
    print(f"{len(found)} of {instructions} instructions: {list(found)}")
    assert bool(found) == case.needed
