"""Backward inside backward, and callbacks at its end: engine.md 14 and 15."""

import contextvars
import gc
import threading
import weakref

import pytest

from tests.core.engine_tools import leaf, note, ours, queue_callback, raises, running_node, runs, task_id, value


def nested(m, depth, at_the_bottom=lambda: None):
    """A backward within a backward, `depth` of them. Returns the gradient of the outermost."""
    def run(n):
        with m.enable_grad():
            x = leaf(m, 1.)
            y = x * 1

            def hook(g):
                if n > 1:
                    return g + run(n - 1)
                at_the_bottom()
            y.register_hook(hook)
        y.backward()
        return x.grad
    return run(depth)


def test_inner_run_is_complete(m):
    """engine/E-01: and nodes that are ready outside do not run meanwhile, even if they were made later."""
    x, w = leaf(m, 1.), leaf(m, 1.)
    inner = w.exp()
    inner2 = inner * 2
    outer_ready = x.cos()
    y = x.sin()
    events = []
    runs(events, inner=inner.grad_fn, inner2=inner2.grad_fn, ready=outer_ready.grad_fn, y=y.grad_fn)

    def hook(g):
        events.append("begin")
        inner2.backward()
        events.append(("end", w.grad is not None))
    y.register_hook(hook)
    m.autograd.backward([y, outer_ready])
    assert events == ["begin", "inner2", "inner", ("end", True), "y", "ready"]


def test_state_is_restored(m):
    """engine/E-02: the task, the node, the grad mode."""
    x, w = leaf(m, 1.), leaf(m, 1.)
    inner, y = w * w, x * 2
    seen = []

    def state():
        seen.append((task_id(m), running_node(m), m.is_grad_enabled()))

    def hook(g):
        state()
        m.autograd.grad(inner, w, create_graph=True)
        state()
    w.register_hook(lambda g: state())
    y.register_hook(hook)
    y.backward()
    assert seen[0] == seen[2] and seen[0][1] is y.grad_fn and seen[0][2] is False
    assert seen[1][0] > seen[0][0] and seen[1][2] is True and task_id(m) == -1


@pytest.mark.parametrize("depth", [1, 2, 59, 60, 61, 130, 300])
def test_depth(m, depth):
    """engine/E-03"""
    assert value(nested(m, depth)) == depth
    assert task_id(m) == -1 and m.is_grad_enabled()


@ours
def test_depth_beyond_one_stack_goes_to_another(m):
    """engine/E-03: the state of the thread goes along to the other thread and back: modes, task, context variables."""
    variable = contextvars.ContextVar("v")
    variable.set("mine")
    seen = []

    def look():
        seen.append((threading.current_thread(), variable.get(), m.is_grad_enabled(), m.autograd.is_multithreading_enabled(),
                     task_id(m) > 0, running_node(m) is not None))
    with m.autograd.set_multithreading_enabled(False):
        nested(m, 60, look)
        nested(m, 61, look)
    assert seen[0][0] is threading.main_thread() and seen[1][0] is not threading.main_thread()
    assert seen[0][1:] == seen[1][1:] == ("mine", False, False, True, True)
    assert threading.active_count() == 1 or not any(t.name == "minigrad-reentrant-backward" for t in threading.enumerate())


@ours
def test_sequence_numbers_go_on_in_the_other_thread(m):
    """engine/E-03: nodes made in the other thread get later numbers than earlier nodes."""
    made = []
    x = leaf(m, 1.)

    def look():
        with m.enable_grad():
            made.append(x * 1)
    before = x * 1
    nested(m, 61, look)
    assert before.grad_fn._sequence_nr() < made[0].grad_fn._sequence_nr() < (x * 1).grad_fn._sequence_nr()


@pytest.mark.parametrize("depth", [1, 59, 60, 61])
def test_errors_from_below(m, depth):
    """engine/E-03, engine/E-04: of whatever depth."""
    def fail():
        raise ValueError("from below")
    with raises(ValueError, "from below"):
        nested(m, depth, fail)
    assert task_id(m) == -1 and m.is_grad_enabled() and value(nested(m, 2)) == 2


@pytest.mark.differs(
    what="KeyboardInterrupt in a backward that is nested more than 60 deep",
    there="PyTorch loses it between two threads, and raises SystemError.",
    here="It passes through all levels to the caller.")
@ours
@pytest.mark.parametrize("depth", [1, 61, 121])
def test_interrupts_from_below(m, depth):
    """engine/E-03: torch loses a BaseException when it changes threads; minigrad raises it. The error dies with its handler."""
    class Interrupt(BaseException):
        def __init__(self):
            seen.append(weakref.ref(self))

    def fail():
        raise Interrupt
    seen = []
    gc.collect()
    gc.disable()
    try:
        nested(m, depth, fail)
    except Interrupt:
        pass
    finally:
        gc.enable()
    assert seen[0]() is None and task_id(m) == -1 and m.is_grad_enabled()


def test_caught_error(m):
    """engine/E-04: the outer run goes on."""
    x, w = leaf(m, 1.), leaf(m, 1.)
    inner = w * 2

    def fail(g):
        raise ValueError("inner")
    inner.register_hook(fail)
    y = x * 2

    def hook(g):
        with raises(ValueError, "inner"):
            inner.backward()
        assert running_node(m) is y.grad_fn
    y.register_hook(hook)
    y.backward()
    assert value(x.grad) == 2 and w.grad is None


def test_inner_run_through_the_same_nodes(m):
    """engine/E-01: both runs keep their own counts and sums for a node that both are using."""
    x = leaf(m, 1.)
    a = x * 2
    b, c = a * 3, a * 5
    z = b + c
    results = []
    first = []

    def hook(g):
        if not first:
            first.append(True)
            results.extend(m.autograd.grad(z, [a, x], retain_graph=True))
            z.backward(retain_graph=True)
    c.register_hook(hook)
    z.backward()
    assert value(results) == [8, 16] and value(x.grad) == 32


@pytest.mark.parametrize("outer", ["backward", "inputs", "grad"])
@pytest.mark.parametrize("inner", ["backward", "grad"])
def test_checkpoint_is_valid(m, outer, inner):
    """engine/E-05: only if every run on the stack is a plain backward."""
    x, w = leaf(m, 1.), leaf(m, 1.)
    y, z = x * 2, w * 2
    valid = m.autograd.Variable._execution_engine.is_checkpoint_valid
    seen = []
    z.register_hook(lambda g: seen.append(valid()))
    y.register_hook(lambda g: z.backward() if inner == "backward" else m.autograd.grad(z, w) and None)
    {"backward": y.backward, "inputs": lambda: y.backward(inputs=[x]), "grad": lambda: m.autograd.grad(y, x)}[outer]()
    assert seen == [outer == "backward" and inner == "backward"] and valid()


# ---- callbacks --------------------------------------------------------------------------------------------


def test_callback_outside(m):
    """engine/K-01"""
    with raises(RuntimeError, "only be installed during backward pass"):
        queue_callback(m, lambda: None)


def test_callbacks(m):
    """engine/K-02, engine/T-05: when all is done, in order, those installed by callbacks too, in the state of the task."""
    x = leaf(m, 1.)
    y = x * 2
    events = []

    def first():
        events.append(("first", value(x.grad), m.is_grad_enabled(), task_id(m) == ids[0], running_node(m)))
        queue_callback(m, note(events, "third"))
    ids = []

    def hook(g):
        ids.append(task_id(m))
        queue_callback(m, first)
        queue_callback(m, note(events, "second"))
    y.register_hook(hook)
    y.backward()
    assert events == [("first", 2, False, True, None), "second", "third"] and task_id(m) == -1


def test_callback_of_an_inner_run(m):
    """engine/K-03"""
    x, w = leaf(m, 1.), leaf(m, 1.)
    y, z = x * 2, w * 2
    events = []

    def hook(g):
        queue_callback(m, note(events, "outer callback"))
        z.backward()
        events.append("after inner")
    z.register_hook(lambda g: queue_callback(m, note(events, "inner callback")))
    y.register_hook(hook)
    y.backward()
    assert events == ["inner callback", "after inner", "outer callback"]


@pytest.mark.parametrize("where", ["node", "callback"])
def test_callbacks_and_errors(m, where):
    """engine/K-04: callbacks are skipped if the task failed; accumulated gradients stay if a callback fails."""
    x = leaf(m, 1.)
    y = x * 2
    z = y * 3
    events = []

    def fail(*_):
        raise ValueError("failed")
    z.register_hook(lambda g: (queue_callback(m, fail if where == "callback" else note(events, "ran")), None)[1])
    z.register_hook(lambda g: queue_callback(m, note(events, "later")))
    if where == "node":
        y.register_hook(fail)
    with raises(ValueError, "failed"):
        z.backward()
    assert events == [] and value(x.grad) == (6 if where == "callback" else None) and task_id(m) == -1
