"""A backward leaves the modes of its thread as it found them, whatever hooks do in between: differences.md 3."""

import ast
import re
import signal
import threading
import time
import warnings
from pathlib import Path

import pytest

import minigrad
from minigrad._build import pure as _pure
from minigrad._core.graph.thread_state import current
from tests.core.engine_tools import leaf, ours, task_id, value

SEEN = []       # the tensors that the pack hook of this thread has seen


def saved_hooks_are_on(m):
    SEEN.clear()
    with m.enable_grad():
        leaf(m, 1.).exp()
    return len(SEEN)


def saved_hooks_are_disabled(m):
    try:
        with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return False
    except RuntimeError:
        return True


def mutation_is_allowed(m):
    with m.enable_grad():
        a = leaf(m, 2.).clone()
        b = a * a
    try:
        a.mul_(3)
        b.backward()
        return True
    except (RuntimeError, AssertionError):
        return False


MODES = {
    "saved_tensors_hooks": (lambda m: m.autograd.graph.saved_tensors_hooks(lambda t: SEEN.append(1) or t, lambda t: t), saved_hooks_are_on),
    "disable_saved_tensors_hooks": (lambda m: m.autograd.graph.disable_saved_tensors_hooks("none here"), saved_hooks_are_disabled),
    "allow_mutation_on_saved_tensors": (lambda m: m.autograd.graph.allow_mutation_on_saved_tensors(), mutation_is_allowed),
    "set_multithreading_enabled": (lambda m: m.autograd.set_multithreading_enabled(False), lambda m: m.autograd.is_multithreading_enabled()),
    "no_grad": (lambda m: m.no_grad(), lambda m: m.is_grad_enabled()),
    "set_grad_enabled": (lambda m: m.set_grad_enabled(False), lambda m: m.is_grad_enabled()),
    "inference_mode": (lambda m: m.inference_mode(), lambda m: m.is_inference_mode_enabled()),
    "forward mode off": (lambda m: m.autograd.forward_ad._set_fwd_grad_enabled(False), lambda m: m._C._is_fwd_grad_enabled()
                         if m.__name__ == "torch" else m.autograd.forward_ad._is_fwd_grad_enabled()),
}
modes = pytest.mark.parametrize("name", MODES)


def in_a_thread(function):
    """The result or the error of `function` in a new thread, with modes of its own."""
    found = []

    def work():
        try:
            found.append(function())
        except BaseException as error:
            found.append(error)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


@modes
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_entered_by_a_hook(m, name, fails, nested):
    """differences/M-01: and not left."""
    make, state = MODES[name]

    def program():
        x = leaf(m, 1.)
        y = x * 2
        inner = leaf(m, 1.) * 3

        def enter(g):
            make(m).__enter__()
            if fails:
                raise ValueError("on purpose")

        def run(g):
            inner.backward(m.tensor(1.))
        (inner if nested else y).register_hook(enter)
        if nested:
            y.register_hook(run)
        before = state(m)
        try:
            y.backward()
        except ValueError:
            assert fails
        return before, state(m), task_id(m)
    before, after, task = in_a_thread(program)
    assert before == after and task == -1


@modes
def test_left_by_a_hook(m, name):
    """differences/M-01: a context that was entered outside is on again after the backward."""
    make, state = MODES[name]

    def program():
        x = leaf(m, 1.)
        y = x * 2
        outside = state(m)
        context = make(m)       # some are on as soon as they are made
        inside = []

        def leave(g):
            context.__exit__(None, None, None)
            inside.append(state(m))
        y.register_hook(leave)
        context.__enter__()
        before = state(m)
        y.backward()
        after = state(m)
        if m is minigrad:
            current().set_keeper(None)      # which the context, left once, will not do again; writes would be watched to the end
        return outside, before, inside[0], after
    outside, before, inside, after = in_a_thread(program)
    if name == "allow_mutation_on_saved_tensors" and m.__name__ == "torch":
        return          # torch turns half of it on again, and cannot run a backward
    assert before == after != outside
    if name not in ("no_grad", "set_grad_enabled", "inference_mode"):       # in a backward gradients are off anyway
        assert inside == outside


@ours
def test_writes_are_watched_again(m):
    """differences/M-01: the count of threads that announce writes follows the mode."""
    from minigrad._core.graph.switches import switches
    before = switches.keepers

    def program():
        y = leaf(m, 1.) * 2
        y.register_hook(lambda g: m.autograd.graph.allow_mutation_on_saved_tensors().__enter__() and None)
        y.backward()
        return switches.keepers
    assert in_a_thread(program) == before == switches.keepers


@ours
def test_every_mode_is_copied(m):
    """A field that is added to `Modes` is copied and compared too."""
    folder = Path(minigrad.__file__).parent / "_core/graph"
    declared = re.search(r"cdef class Modes:\n((?:    cdef .*\n)+)", (folder / "thread_state.pxd").read_text())[1]
    fields = set(re.findall(r"(\w+)$", declared, re.M))
    functions = {n.name: n for n in ast.walk(ast.parse((folder / "thread_state.py").read_text())) if isinstance(n, ast.FunctionDef)}
    copied = {t.attr for n in ast.walk(functions["copy_modes"]) if isinstance(n, ast.Assign) for t in n.targets}
    compared = {n.attr for n in ast.walk(functions["has"]) if isinstance(n, ast.Attribute) and n.value.id == "self"}
    assert fields == copied == compared and len(fields) >= 9


# ---- anomaly mode ----------------------------------------------------------------------------------------------------


class Bad(Exception):
    """The error that a backward raises."""


def failing(m, how):
    x = leaf(m, 0.)
    if how == "nan":
        return x.sqrt() * 0
    if how == "function":
        class Fails(m.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                raise Bad("on purpose")
        return Fails.apply(x)
    y = x * 2

    def fail(g):
        raise Bad("on purpose")
    y.register_hook(fail)
    return y * 1


@pytest.mark.parametrize("how, error, key", [("nan", RuntimeError, "returned nan values"), ("function", Bad, "on purpose"), ("hook", Bad, "on purpose")])
def test_warnings_as_errors(m, how, error, key):
    """differences/M-02: the report never replaces the error that it reports."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context = m.autograd.detect_anomaly()
    with context:
        y = failing(m, how)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(error, match=key) as caught:
                y.backward()
    if m.__name__ != "torch":
        assert any("Error detected in" in note for note in caught.value.__notes__)


# ---- Ctrl-C and threads --------------------------------------------------------------------------------------------------


def endless(m, begun):
    """A backward within a backward, without an end."""
    def run(n):
        with m.enable_grad():
            y = leaf(m, 1.) * 1

            def hook(g):
                if n == 150:
                    begun.set()
                time.sleep(0 if n < 150 else 0.001)
                run(n + 1)
            y.register_hook(hook)
        y.backward()
    run(0)


@ours
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals between threads")
def test_interrupted_deep_down(m):
    """differences/H-04: the helpers end before the exception leaves, and depth and tasks are as before."""
    begun = threading.Event()
    me = threading.get_ident()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupter = threading.Thread(target=lambda: begun.wait() and signal.pthread_kill(me, signal.SIGINT))
    interrupter.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            endless(m, begun)
        helpers = [t for t in threading.enumerate() if t.name == "minigrad-reentrant-backward"]
    finally:
        signal.signal(signal.SIGINT, before)
        begun.set()
        interrupter.join()
    assert helpers == [] and task_id(m) == -1 and m.is_grad_enabled()
    x = leaf(m, 3.)
    (x * x).backward()
    assert value(x.grad) == 6
    if _pure.mode() == "interpreted":
        from minigrad._core.engine.dependencies import live
        from minigrad._core.graph.thread_state import current
        assert current().depth == 0 and not live and current().interrupt is None


@pytest.mark.differs(
    what="`p.grad = None` in one thread, while another runs a backward",
    there="An internal assertion can fail, or the process crashes.",
    here="The two take turns: `p.grad` is None or a gradient.")
@ours
def test_grad_is_set_to_none_meanwhile(m):
    """differences/H-05: one of the two threads wins, and neither fails on the other's None."""
    p = m.ones(5000, requires_grad=True)
    errors, stop = [], threading.Event()

    def forget():
        while not stop.is_set():
            p.grad = None

    def train():
        try:
            for _ in range(300):
                (p * 2).sum().backward()
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=forget), *[threading.Thread(target=train) for _ in range(2)]]
    for thread in threads:
        thread.start()
    for thread in threads[1:]:
        thread.join()
    stop.set()
    threads[0].join()
    assert errors == []
    assert p.grad is None or (p.grad % 2 == 0).all()
