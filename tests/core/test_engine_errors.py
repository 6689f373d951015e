"""The state after an error, and the results that a node may return: engine.md 18 and 7."""

import gc
import traceback
import weakref

import numpy as np
import pytest

from minigrad._build import pure as _pure
from tests.core.engine_tools import leaf, note, ours, raises, running_node, task_id, value


class Interrupt(BaseException):
    pass


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, Interrupt, StopIteration])
@pytest.mark.parametrize("run", ["backward", "grad"])
def test_the_first_error_wins(m, error, run):
    """engine/X-20: the caller gets the exception object itself, with the frame of the hook last, and no further node runs."""
    x = leaf(m, 1.)
    a, b = x.exp(), x.sin()
    raised = error("first")
    events = []

    def fail(g):
        raise raised
    b.register_hook(fail)
    a.register_hook(note(events, "a"))
    with pytest.raises(error) as found:
        (a + b).backward() if run == "backward" else m.autograd.grad(a + b, x)
    assert found.value is raised and events == []
    assert traceback.extract_tb(found.tb)[-1].name == "fail"


def test_what_was_done_stays(m):
    """engine/X-21, engine/X-22: and the engine works as before."""
    x, w = leaf(m, 1.), leaf(m, 2.)
    y = x * 2

    def fail(g):
        raise ValueError("late")
    handle = y.register_hook(fail)
    z = y + w
    with raises(ValueError, "late"):
        z.backward()
    assert value(w.grad) == 1 and x.grad is None
    assert task_id(m) == -1 and running_node(m) is None and m.is_grad_enabled()
    handle.remove()
    z.backward()
    assert value([x.grad, w.grad]) == [2, 2]


@pytest.mark.parametrize("k", range(5))
def test_error_in_node_k(m, k):
    """engine/M-04: leaves that were finished before the error have gradients, the others have none; the next backward is right."""
    xs = [leaf(m, float(i)) for i in range(5)]

    def build():
        y = m.tensor(0.)
        links = []
        for x in xs:
            y = y + x * 2
            links.append(y)
        return y, links

    def fail(*_):
        raise ValueError("here")
    y, links = build()
    handle = links[k].grad_fn.register_prehook(fail)
    with raises(ValueError, "here"):
        y.backward()
    assert [x.grad is not None for x in xs] == [i > k for i in range(5)]
    handle.remove()
    for x in xs:
        x.grad = None
    build()[0].backward()
    assert value([x.grad for x in xs]) == [2] * 5


@pytest.mark.parametrize("again", ["same graph", "other graph"])
def test_half_filled_buffers_are_forgotten(m, again):
    """engine/X-22: gradients that had reached a node before the error do not count in the next run."""
    x = leaf(m, 1.)
    y = x * 1
    a, b = y * 3, y * 5

    def fail(g):
        raise ValueError("a")
    handle = a.register_hook(fail)
    z = a + b
    with raises(ValueError, "a"):
        z.backward(retain_graph=True)
    handle.remove()
    (z if again == "same graph" else y * 8).backward()
    assert value(x.grad) == 8


def test_buffers_of_nested_runs_are_forgotten(m):
    """engine/X-22: also on nodes that an outer run is using."""
    x = leaf(m, 1.)
    y = x * 1
    a, b = y * 3, y * 5
    z = a + b
    depth = []

    def hook(g):
        depth.append(True)
        if len(depth) == 1:
            with raises(ValueError, "inner"):
                z.backward(retain_graph=True)
        elif len(depth) == 2:
            raise ValueError("inner")
    a.register_hook(hook)
    z.backward(retain_graph=True)
    assert value(x.grad) == 8
    z.backward()
    assert value(x.grad) == 16


@ours
@pytest.mark.parametrize("fails", [False, True])
def test_no_task_outlives_its_call(m, fails):
    """engine/X-22: whatever happens; while any other task lives, nodes with its stamp are costlier to use."""
    from minigrad._core.engine.dependencies import live
    x = leaf(m, 1.)
    y, z = x * 2, x * 3
    seen = []

    def hook(g):
        m.autograd.grad(z, x)
        seen.append(len(live))
        if fails:
            raise ValueError("here")
    y.register_hook(hook)
    if fails:
        with raises(ValueError, "here"):
            y.backward()
    else:
        y.backward()
    assert seen == [1] and not live


def test_half_filled_buffers_are_freed(m):
    """engine/X-22: input buffers are freed immediately and not with the graph, also those of a nested run."""
    x = leaf(m, 1., 2.)
    y = x * 1
    a, b = y * 3, y * 5
    z = (a + b).sum()
    alive = []
    b.grad_fn.register_hook(lambda grads, _: alive.append(weakref.ref(grads[0])))

    def fail(g):
        if not nested:
            nested.append(True)
            with raises(ValueError, "a"):
                z.backward(retain_graph=True)
            gc.collect()
            assert alive[0]() is not None and alive[1]() is None
        raise ValueError("a")
    nested = []
    a.register_hook(fail)
    with raises(ValueError, "a"):
        z.backward(retain_graph=True)
    gc.collect()
    assert [ref() for ref in alive] == [None, None]


# ---- results of a node -------------------------------------------------------------------------------------


def bad_op(result, shape=(2,), dtype="float32"):
    """An op of one input (its result has the input's shape) whose formula returns ``result(mg)``."""
    import minigrad as mg
    from minigrad._core.record.apply import call
    from minigrad.ops.base.registry import REGISTRY
    from minigrad.ops.base.rule import Op, op

    class Bad(Op):
        def forward(k, x):
            return k.copy(x)

        def vjp_x(g):
            return result(mg)
    op("bad_for_test")(Bad)
    del REGISTRY["bad_for_test"]
    x = mg.zeros(shape, dtype=getattr(mg, dtype), requires_grad=True)
    return x, call(Bad.op, (x,))


@ours
@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("shape, result, expected", [
    ((2,), lambda m: m.ones(3, 2), [3, 3]),                                # engine/V-04: summed down
    ((1,), lambda m: m.ones(3, 2), [6]),
    ((), lambda m: m.ones(3, 2), 6),
    ((2,), lambda m: m.ones(2, dtype=m.float64), [1, 1]),                  # engine/V-05: cast
    ((2,), lambda m: m.ones(2, dtype=m.int64), [1, 1]),
    ((2,), lambda m: None, None),                                          # engine/V-03
])
def test_results_that_are_made_to_fit(m, shape, result, expected, hooked):
    """engine/V-01: a gradient is fitted to the metadata of its tensor, before the post-hooks of the node run."""
    x, y = bad_op(result, shape)
    seen = []
    if hooked:
        y.grad_fn.register_hook(lambda grads, _: seen.append(value(grads[0])))
    y.sum().backward()
    assert value(x.grad) == expected and (x.grad is None or x.grad.dtype is m.float32)
    assert seen == ([expected] if hooked else [])


@ours
@pytest.mark.parametrize("shape, dtype, result", [
    ((2,), "float32", lambda m: m.ones(3)), ((2,), "float32", lambda m: m.tensor(1.)), ((2, 3), "float32", lambda m: m.ones(3)),
    ((2,), "float32", lambda m: m.ones(2, 1)),
    ((2,), "float32", lambda m: m.ones(2, dtype=m.complex64)), ((2,), "complex64", lambda m: m.ones(2, dtype=m.int64)),
    ((2,), "float32", lambda m: 1.0), ((2,), "float32", lambda m: np.ones(2))])
def test_results_that_do_not_fit(m, shape, dtype, result):
    """engine/V-04, engine/V-05: the error names the node and the index."""
    x, y = bad_op(result, shape, dtype)
    with pytest.raises(RuntimeError, match=r"Function BadBackward0 returned an? .* index 0"):
        m.autograd.grad(y, x, m.ones(shape, dtype=getattr(m, dtype)))


@ours
def test_real_gradient_of_a_complex_tensor(m):
    """engine/V-05: a floating gradient is cast, whatever the tensor."""
    x, y = bad_op(lambda m: m.ones(2), dtype="complex64")
    g, = m.autograd.grad(y, x, m.ones(2, dtype=m.complex64))
    assert g.dtype is m.complex64 and value(g) == [1, 1]


@ours
@pytest.mark.skipif(_pure.mode() == "compiled", reason="only interpreted code can change the edges of a node")
def test_an_edge_that_was_not_counted(m):
    """engine/D-05"""
    x = leaf(m, 1.)
    y = (x * 2).exp()
    stranger = (leaf(m, 1.) * 3).grad_fn

    def rewire(grad_outputs):
        y.grad_fn.connect((stranger,), None)
    y.grad_fn.register_prehook(rewire)
    with raises(RuntimeError, "dependency not found for MulBackward0"):
        y.backward()
    z = x * 2
    z.backward()
    assert value(x.grad) == 2, "the engine is as good as before"
