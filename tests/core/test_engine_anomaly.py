"""Anomaly mode: engine.md 19."""

import contextlib
import math
import threading
import warnings

import pytest

from tests.core.engine_tools import accumulator, leaf, ours, queue_callback, raises, value


@pytest.fixture(autouse=True)
def off_again(m):
    """Whatever a test does, the mode ends as it began."""
    yield
    m.autograd.set_detect_anomaly(False, True)


def state(m):
    return m.is_anomaly_enabled(), m.is_anomaly_check_nan_enabled()


@contextlib.contextmanager
def warned():
    """The messages of the warnings given inside."""
    messages = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            yield messages
        finally:
            messages.extend(str(w.message) for w in found)


def detect(m, **options):
    """detect_anomaly without its warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return m.autograd.detect_anomaly(**options)


def failing(x):
    """A node after `x` that fails when it runs."""
    y = x.exp()

    def fail(_):
        raise ValueError("on purpose")
    y.grad_fn.register_prehook(fail)
    return y


def test_detect_anomaly(m):
    """engine/Y-01, engine/Y-02: it warns when it is made, and acts when it is entered."""
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        context = m.autograd.detect_anomaly(check_nan=False)
    assert state(m) == (False, True)
    with context:
        assert state(m) == (True, False)
    assert state(m) == (False, True)


def test_set_detect_anomaly(m):
    """engine/Y-01, engine/Y-02: it takes effect immediately; the exit restores both flags."""
    with m.autograd.set_detect_anomaly(True, check_nan=False):
        assert state(m) == (True, False)
        with m.autograd.set_detect_anomaly(False):
            assert state(m) == (False, True)
        assert state(m) == (True, False)
    assert state(m) == (False, True)
    m.autograd.set_detect_anomaly(True)
    assert state(m) == (True, True)
    m.autograd.set_detect_anomaly(False, check_nan=False)
    assert state(m) == (False, False)


def test_for_all_threads(m):
    """engine/Y-02"""
    seen = []
    with m.autograd.set_detect_anomaly(True):
        thread = threading.Thread(target=lambda: seen.append(state(m)))
        thread.start()
        thread.join()
    assert seen == [(True, True)]


MAKERS = {
    "op": lambda x: x.exp(), "binary": lambda x: x * x, "call": lambda x: x.reshape(1, 2), "sum": lambda x: x.sum(),
    "inplace": lambda x: x.clone().mul_(2), "copy slices": lambda x: write_to_a_part(x.clone())}


def write_to_a_part(y):
    y[:1].mul_(2)
    return y


@pytest.mark.parametrize("make", MAKERS)
def test_trace(m, make):
    """engine/Y-03: the stack of the forward call, for nodes made while it is on."""
    x = leaf(m, 1., 2.)
    before = MAKERS[make](x)
    with m.autograd.set_detect_anomaly(True):
        y = MAKERS[make](x)
    assert "traceback_" not in before.grad_fn.metadata and "parent_" not in y.grad_fn.metadata
    trace = y.grad_fn.metadata["traceback_"]
    assert isinstance(trace, list) and "y = MAKERS[make](x)" in "".join(trace)


def test_trace_of_an_accumulator(m):
    """engine/Y-03"""
    x = leaf(m, 1.)
    with m.autograd.set_detect_anomaly(True):
        node = accumulator(x)
    assert "test_trace_of_an_accumulator" in "".join(node.metadata["traceback_"])


@ours
def test_trace_ends_with_the_users_line(m):
    """engine/Y-03: interpreted, our own frames would follow."""
    x = leaf(m, 1.)
    with m.autograd.set_detect_anomaly(True):
        y = x * 2
        z = m.exp(x)
    assert y.grad_fn.metadata["traceback_"][-1].rstrip().endswith("y = x * 2")
    assert z.grad_fn.metadata["traceback_"][-1].rstrip().endswith("z = m.exp(x)")


def test_parent(m):
    """engine/Y-04"""
    x = leaf(m, 2.)
    with m.autograd.set_detect_anomaly(True):
        y = x.exp()
        g, = m.autograd.grad(y, x, create_graph=True)
    assert g.grad_fn.metadata["parent_"] is y.grad_fn


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("backward", [True, False])
def test_report(m, forward, backward):
    """engine/Y-05, engine/Y-07: once, if it is on in the backward; with the trace, if it was on in the forward."""
    x = leaf(m, 2.)
    with m.autograd.set_detect_anomaly(forward):
        y = failing(x) * 2
    with warned() as messages, m.autograd.set_detect_anomaly(backward), raises(ValueError, "on purpose"):
        y.backward()
    assert len(messages) == backward
    if backward:
        assert "Error detected in ExpBackward0" in messages[0]
        assert ("No forward pass information available" in messages[0]) is not forward
        assert ("y = x.exp()" in messages[0]) is forward


def test_report_of_parents(m):
    """engine/Y-05: of third order, two."""
    x = leaf(m, 2.)
    with warned() as messages, m.autograd.set_detect_anomaly(True):
        y = x ** 4
        g, = m.autograd.grad(y, x, create_graph=True)
        h, = m.autograd.grad(g, x, create_graph=True)

        def fail(_):
            raise ValueError("on purpose")
        h.grad_fn.register_prehook(fail)
        with raises(ValueError, "on purpose"):
            h.backward()
    assert "Error detected in MulBackward0" in messages[0]
    assert ["Previous calculation was induced by" in text for text in messages] == [False, True, True]
    assert "induced by PowBackward0" in messages[2]


def test_one_report_per_task(m):
    """engine/Y-05: nested runs report one each."""
    x, w = leaf(m, 1.), leaf(m, 1.)
    with warned() as messages, m.autograd.set_detect_anomaly(True):
        inner = failing(w) * 2
        outer = x.sin()
        outer.register_hook(lambda g: inner.backward())
        with raises(ValueError, "on purpose"):
            (outer * 2).backward()
    assert ["Error detected in ExpBackward0" in messages[0], "Error detected in SinBackward0" in messages[1]] == [True, True]
    assert len(messages) == 2


def test_no_report_of_a_callback(m):
    """engine/Y-05: a callback is no node, so anomaly mode reports nothing about it."""
    x = leaf(m, 1.)

    def fail():
        raise ValueError("callback")
    with warned() as messages, m.autograd.set_detect_anomaly(True):
        y = x * 2
        y.register_hook(lambda g: queue_callback(m, fail))
        with raises(ValueError, "callback"):
            y.backward()
    assert messages == []


def test_nan(m):
    """engine/Y-06: the node and the output are named, and nothing is accumulated from it."""
    x, w = leaf(m, 0.), leaf(m, 1.)
    y = x.sqrt() * 0 * w
    with warned(), m.autograd.set_detect_anomaly(True):
        with raises(RuntimeError, "SqrtBackward0' returned nan values in its 0th output."):
            y.backward(retain_graph=True)
    assert x.grad is None
    y.backward()                # engine/Y-07: it is off
    assert math.isnan(value(x.grad))


def test_nan_of_the_second_output(m):
    """engine/Y-06: 0/w has the gradients 1/w and -0/w**2."""
    x, w = leaf(m, 0.), leaf(m, 1e-30)
    with warned(), m.autograd.set_detect_anomaly(True):
        with raises(RuntimeError, "DivBackward0' returned nan values in its 1th output."):
            (x / (w * 0)).backward()


@pytest.mark.parametrize("case", ["inf", "root", "no check", "only at forward"])
def test_no_nan(m, case):
    """engine/Y-06, engine/Y-07: no error for Inf, for a nan in the root gradient, or without check_nan."""
    x = leaf(m, 0.)
    with warned(), m.autograd.set_detect_anomaly(True, check_nan=case != "no check"):
        if case == "root":
            y, g = x, m.tensor(float("nan"))
        else:
            y, g = x.sqrt() * (1 if case == "inf" else 0), m.tensor(1.)
        if case != "only at forward":
            y.backward(g)
    if case == "only at forward":
        y.backward(g)
    assert not math.isfinite(value(x.grad))


def test_nan_from_the_user(m):
    """engine/Y-06: the first node that is fed by it fails."""
    x = leaf(m, 0.)
    with warned(), m.autograd.set_detect_anomaly(True), raises(RuntimeError, "AddBackward0' returned nan"):
        (x + 1).backward(m.tensor(float("nan")))


def test_right_results(m):
    """The mode changes no number, and hooks, inputs= and create_graph work under it."""
    x = leaf(m, 2., 3.)
    seen = []
    with m.autograd.set_detect_anomaly(True):
        y = x * x
        y.register_hook(lambda g: seen.append(value(g)))
        g, = m.autograd.grad(y.sum(), x, create_graph=True)
        g.sum().backward(inputs=[x])
    assert seen == [[1, 1]] and value([g, x.grad]) == [[4, 6], [2, 2]]


@pytest.mark.parametrize("on", [False, True])
def test_hint_of_the_version_error(m, on):
    """engine/Y-08"""
    x = leaf(m, 2.)
    with warned(), m.autograd.set_detect_anomaly(on):
        y = x.exp()
        y.add_(1)
        with raises(RuntimeError, "modified by an inplace operation") as error:
            y.backward()
    assert ("set_detect_anomaly(True" in str(error.value)) is not on
    assert ("backtrace" in str(error.value) or "traceback" in str(error.value)) is on
