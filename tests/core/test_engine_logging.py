"""The log of a backward: one record per node that runs."""

import contextlib
import logging
import threading

import pytest

from tests.core.engine_tools import leaf, note, ours, raises, value
from tests.core.test_engine_threads import in_threads


@contextlib.contextmanager
def listening(m, level=logging.DEBUG):
    """The records of the logger while inside, which lets them through from `level` on."""
    logger = logging.getLogger(m.autograd.graph.__name__)
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False
    try:
        yield records
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]


def nodes_of(records):
    """The names of the nodes, without overload numbers."""
    names = ("Sum", "Mul", "Split", "AccumulateGrad", "Exp", "Add", "Sin")
    return [next(name for name in names if name in record.getMessage()) for record in records]


@pytest.mark.parametrize("how", ["backward", "grad", "edge", "leaf"])
def test_records(m, how):
    """graph/L-01, graph/L-02: a record for each node in running order, with the dtype and shape of its gradients."""
    x = leaf(m, 1., 2., 3.)
    y = (x * 2).exp()
    z = y.sum()
    with listening(m) as records:
        if how == "backward":
            z.backward()
        elif how == "grad":
            m.autograd.grad(z, [y, x])
        elif how == "edge":
            m.autograd.backward(m.autograd.graph.get_gradient_edge(z))
        else:
            x.backward(m.ones(3))
    expected = {"backward": [("Sum", "[f32[]]"), ("Exp", "[f32[3]]"), ("Mul", "[f32[3]]"), ("AccumulateGrad", "[f32[3]]")],
                "grad": [("Sum", "[f32[]]"), ("Exp", "[f32[3]]"), ("Mul", "[f32[3]]")],
                "leaf": [("AccumulateGrad", "[f32[3]]")]}
    assert len(records) == len(expected.get(how, expected["backward"]))
    for record, (name, grads) in zip(records, expected.get(how, expected["backward"])):
        assert record.levelno == logging.DEBUG and name in record.getMessage() and record.getMessage().endswith(grads)


def test_record_names_node_and_gradients(m):
    """graph/L-01: None for an undefined gradient; abbreviated dtypes."""
    x = leaf(m, 1., 2., dtype="float64")
    a, _ = x.split(1)
    y = (a * (1 + 2j)).sum()
    split = a.grad_fn
    with listening(m) as records:
        y.backward(m.ones((), dtype=m.complex128))
    text = [r.getMessage() for r in records if repr(split) in r.getMessage()]
    assert len(text) == 1 and text[0].endswith("[f64[1],None]")
    assert any(r.getMessage().endswith("[c128[1]]") for r in records)


def test_hooks_of_the_log_are_removed(m):
    """graph/L-03: also when the backward failed."""
    x = leaf(m, 1.)
    y = x * 2
    z = y.exp()

    def fail(g):
        raise ValueError("mine")
    handle = y.register_hook(fail)
    with listening(m) as records, raises(ValueError, "mine"):
        z.backward(retain_graph=True)
    handle.remove()
    assert nodes_of(records) == ["Exp"]
    with listening(m, logging.INFO) as records:
        z.backward(retain_graph=True)
    assert records == []
    with listening(m) as records:       # and are not there twice now
        z.backward()
    assert nodes_of(records) == ["Exp", "Mul", "AccumulateGrad"]


def test_no_hooks_above_debug(m, monkeypatch):
    """graph/L-04"""
    def never(outputs):
        raise AssertionError("nobody listens")
    monkeypatch.setattr(m.autograd.graph, "_register_logging_hooks_on_whole_graph", never)
    x = leaf(m, 1.)
    for level in (logging.INFO, logging.WARNING):
        with listening(m, level) as records:
            (x * 2).backward()
            m.autograd.grad(x * 2, x)
        assert records == []
    with listening(m), raises(AssertionError, "nobody listens"):
        (x * 2).backward()


def test_logging_by_hand(m):
    """graph/L-05, graph/L-06: each node once, however many paths lead to it, until the hooks are removed."""
    x = leaf(m, 1.)
    y = x * 2
    z = y + y.exp() + y.sin()
    logger = logging.getLogger(m.autograd.graph.__name__)
    remove = m.autograd.graph._register_logging_hooks_on_whole_graph([z, y])
    # the level is lowered after the backward has begun, so the inner one adds no hooks
    z.register_hook(lambda g: logger.setLevel(logging.DEBUG))
    with listening(m, logging.INFO) as records:
        z.backward(retain_graph=True)
    assert nodes_of(records) == ["Add", "Sin", "Add", "Exp", "Mul", "AccumulateGrad"]
    remove()
    with listening(m, logging.INFO) as records:
        z.backward()
    assert records == []


@ours
def test_nearest_nodes_first(m):
    """graph/L-06"""
    from minigrad.autograd._graph_logging import behind
    x, w = leaf(m, 1.), leaf(m, 2.)
    a, b = x.exp(), w * 2
    z = a * b.sin()
    found = [n.name().split("Backward")[0] for n in behind([z.grad_fn, a.grad_fn])]
    assert found == ["Mul", "Exp", "Sin", "AccumulateGrad", "Mul", "AccumulateGrad"]


@ours
def test_each_task_is_told_once(m):
    """graph/L-02: each of several nested backwards puts its hooks on the nodes, as in torch; a node that runs once is
    still logged once."""
    x = leaf(m, 1.)
    y = x * 2
    z = y.exp()
    begun = []

    def hook(g):
        if not begun:
            begun.append(True)
            z.backward(retain_graph=True)
    z.register_hook(hook)
    with listening(m) as records:
        remove = m.autograd.graph._register_logging_hooks_on_whole_graph([z])
        z.backward(retain_graph=True)
        remove()
    assert nodes_of(records) == 2 * ["Exp", "Mul", "AccumulateGrad"] and value(x.grad) == pytest.approx(4 * 7.389056)


@pytest.mark.differs(
    what="The log of a backward, when several threads run a backward",
    there="Each backward also logs what others run on the nodes that they share.",
    here="Each backward logs its own nodes.")
@ours
def test_log_of_threads(m):
    """graph/L-02: each backward logs in its own thread. In torch it also logs the runs of others on shared nodes."""
    x = leaf(m, 1.)
    with listening(m) as records:
        assert in_threads(3, lambda i: (x * i).exp().backward()) == [None] * 3
    for thread in {r.thread for r in records}:
        assert nodes_of([r for r in records if r.thread == thread]) == ["Exp", "Mul", "AccumulateGrad"]
    assert len(records) == 9 and threading.get_ident() not in {r.thread for r in records}


def test_log_and_other_hooks(m):
    """graph/L-01: the logger is a pre-hook: it sees the results of tensor hooks and of earlier pre-hooks."""
    y = leaf(m, 1.) * 2
    events = []
    y.register_hook(note(events, "tensor"))
    y.grad_fn.register_prehook(lambda grads: (None,))
    with listening(m) as records:
        y.backward()
    assert [r.getMessage()[-6:] for r in records] == ["[None]", "[None]"] and events == ["tensor"]
