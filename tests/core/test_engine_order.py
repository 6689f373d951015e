"""The order in which nodes run, and how often: engine.md 2 (the task), 3 (dependencies), 4 (the ready queue)."""

import random
import threading
import warnings

import pytest

from tests.core.engine_tools import (
    accumulator,
    inside,
    leaf,
    note,
    ours,
    queue_callback,
    raises,
    running_node,
    runs,
    task_id,
    value,
)

# ---- the task -------------------------------------------------------------------------------------------


def test_task_id(m):
    """engine/T-02, graph/Q-01: -1 outside; each call has a number of its own."""
    x = leaf(m, 1.)
    seen = []
    x.register_hook(lambda g: seen.append(task_id(m)))
    for _ in range(2):
        (x * 2).backward()
        m.autograd.grad(x * 2, x)
    assert task_id(m) == -1 and len(set(seen)) == 4 and seen == sorted(seen) and min(seen) >= 0


def test_running_node(m):
    """graph/Q-02"""
    x = leaf(m, 1.)
    y = x * 2
    z = y.exp()
    seen = []
    y.register_hook(lambda g: seen.append(running_node(m)))
    z.grad_fn.register_hook(lambda *_: seen.append(running_node(m)))
    z.backward()
    assert seen == [z.grad_fn, y.grad_fn] and running_node(m) is None


@ours
@pytest.mark.parametrize("keep, create, selective", [(False, False, False), (True, False, True), (True, True, False)])
def test_what_a_task_holds(m, keep, create, selective):
    """engine/T-01: its flags, its number, the task that it is nested in, and its final callbacks."""
    from minigrad._core.engine.execute import current_task
    x, w = leaf(m, 2.), leaf(m, 2.)
    seen = []
    w.register_hook(lambda g: seen.append(current_task()))

    def hook(g):
        seen.append(current_task())
        queue_callback(m, lambda: None)
        m.autograd.grad(z, w)
    y, z = x * x, w * 2
    y.register_hook(hook)
    if selective:
        m.autograd.grad(y, x, retain_graph=keep, create_graph=create)
    else:
        m.autograd.backward(y, retain_graph=keep, create_graph=create)
    outer, inner = seen
    assert (outer.keep_graph, outer.create_graph, outer.selective) == (keep, create, selective)
    assert outer.outer is None and inner.outer is outer and inner.selective and not inner.keep_graph
    assert inner.id > outer.id and len(outer.callbacks) == 1 and inner.callbacks == [] and current_task() is None


def test_will_execute(m):
    """graph/Q-03"""
    x, w = leaf(m, 1.), leaf(m, 1.)
    y, other = x * 2, w * 3
    a, b = y.exp(), y.sin()
    z = a + b * w
    seen = []

    def hook(g):
        ask = inside(m)._will_engine_execute_node
        seen.append([ask(n) for n in (a.grad_fn, b.grad_fn, y.grad_fn, other.grad_fn)])
    z.register_hook(hook)
    z.backward(retain_graph=True)
    m.autograd.grad(z, a, retain_graph=True)
    z.backward(inputs=[w])
    assert seen == [[True, True, True, False], [True, False, False, False], [False, False, False, False]]
    with raises(RuntimeError, "only be called during the backward pass"):
        inside(m)._will_engine_execute_node(y.grad_fn)


@pytest.mark.parametrize("run", ["backward", "grad", "inputs"])
def test_execution_order(m, run):
    """graph/Q-04: a hook on the root reads the planned order, and the nodes run in this order."""
    x, w = leaf(m, 1.), leaf(m, 1.)
    y = x * 2
    a, b, c = y.exp(), w.sin(), y.cos()
    d = a * b
    z = (d + c) * w
    nodes = {"y": y, "a": a, "b": b, "c": c, "d": d, "z": z}
    names = {t.grad_fn: name for name, t in nodes.items()}
    ran, foretold = [], []
    runs(ran, **{name: t.grad_fn for name, t in nodes.items()})
    z.register_hook(lambda g: foretold.extend(inside(m)._current_graph_task_execution_order()))
    with raises(RuntimeError, "executed with multithreading disabled"):
        z.backward()
    with m.autograd.set_multithreading_enabled(False):
        if run == "backward":
            z.backward()
        elif run == "grad":
            m.autograd.grad(z, x)
        else:
            z.backward(inputs=[b])
    found = [names[n] for n in foretold if n in names]
    assert found == ran == {"backward": ["z", "d", "c", "b", "a", "y"], "grad": ["z", "d", "c", "a", "y"],
                            "inputs": ["z", "d", "b"]}[run]
    with pytest.raises(RuntimeError):
        inside(m)._current_graph_task_execution_order()


@pytest.mark.differs(
    what="`_current_graph_task_execution_order()` when some nodes have already run",
    there="An internal assertion fails, also when there are several roots.",
    here="It returns the whole order at any time.")
@ours
def test_execution_order_at_any_time(m):
    """graph/Q-04: torch fails after the first node, and with several roots."""
    x = leaf(m, 1.)
    y, z = x.exp(), x.sin()
    seen = []
    x.register_hook(lambda g: seen.extend(inside(m)._current_graph_task_execution_order()))
    with m.autograd.set_multithreading_enabled(False):
        m.autograd.backward([y, z])
    assert seen == [z.grad_fn, y.grad_fn, seen[2]] and seen[2].variable is x


@pytest.mark.parametrize("n", [1, 2])
def test_artificial_root(m, n):
    """engine/T-03: a single root gets its gradient as input buffer; several roots get theirs from a hidden node."""
    x = leaf(m, 1.)
    ys = [x * (i + 1) for i in range(n)]
    g = m.tensor(1.)
    seen = []
    for y in ys:
        y.grad_fn.register_prehook(lambda grads: seen.append(grads[0] is g))
    m.autograd.backward(ys, [g] * n)
    assert seen == [True] * n and value(x.grad) == n * (n + 1) / 2


def test_several_roots_on_one_tensor_run_it_once(m):
    """engine/T-04"""
    x = leaf(m, 1.)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(value(g)))
    m.autograd.backward([y, y, y], [m.tensor(1.), m.tensor(10.), m.tensor(100.)])
    assert seen == [111] and value(x.grad) == 222


def test_warnings_reach_the_caller(m):
    """engine/T-06"""
    x = leaf(m, 1.)
    x.register_hook(lambda g: warnings.warn("from a hook", stacklevel=1))
    with pytest.warns(UserWarning, match="from a hook"):
        (x * 2).backward()


# ---- dependencies ---------------------------------------------------------------------------------------


def diamond(x):
    y = x * 2
    return y, y * 3 + y * 5


def wide(x):
    y = x * 2
    return y, sum((y * 1 for _ in range(999)), y * 1)


def squares(x):
    y = x * 2
    for _ in range(10):         # 2 ** 10 paths
        y = y * y
    return y, y * y


@pytest.mark.parametrize("build, at", [(diamond, 1.), (wide, 1.), (squares, 0.5)], ids=["diamond", "wide", "squares"])
def test_a_node_runs_once(m, build, at):
    """engine/D-01, engine/D-03: with the whole sum, however many edges lead to it."""
    x = leaf(m, at)
    y, z = build(x)
    seen = []
    y.grad_fn.register_hook(note(seen, "y"))
    y.register_hook(lambda g: seen.append(value(g)))
    z.backward()
    expected = {"diamond": 8, "wide": 1000, "squares": 2}[build.__name__]
    assert seen == [expected, "y"]
    assert value(x.grad) == {"diamond": 16, "wide": 2000, "squares": 2 ** 12}[build.__name__]


def test_undefined_gradients_count_down(m):
    """engine/D-04: the node still waits for nothing else, and runs."""
    x = leaf(m, 1.)
    y = x * 2
    z = y * 3
    z.grad_fn.register_prehook(lambda grads: (None,))
    ran = []
    runs(ran, y=y.grad_fn)
    (z + y * 5).backward()
    assert ran == ["y"] and value(x.grad) == 10


@pytest.mark.parametrize("wanted", [True, False])
def test_nothing_beyond_the_inputs_runs(m, wanted):
    """engine/D-02: no node behind the requested one runs."""
    x = leaf(m, 1.)
    a = x.exp()
    b = a.sin()
    c = b * 2
    ran = []
    runs(ran, a=a.grad_fn, b=b.grad_fn, c=c.grad_fn)
    if wanted:
        m.autograd.grad(c, b)
    else:
        m.autograd.backward(c, inputs=[b])
    assert ran == (["c"] if wanted else ["c", "b"])


# ---- the ready queue --------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_latest_first(m, order):
    """engine/Q-02, engine/Q-01: whatever the order of the roots."""
    x = leaf(m, 1.)
    ys = [x.exp(), x.sin()]
    ran = []
    runs(ran, first=ys[0].grad_fn, second=ys[1].grad_fn)
    m.autograd.backward([ys[i] for i in order])
    assert ran == ["second", "first"]


def test_latest_first_in_a_graph(m):
    """engine/Q-02: the latest ready node runs first, not the next in breadth."""
    x, w = leaf(m, 1.), leaf(m, 1.)
    a = x.exp()
    b = a.sin()
    c = w.cos()
    d = w.tanh()
    ran = []
    runs(ran, a=a.grad_fn, b=b.grad_fn, c=c.grad_fn, d=d.grad_fn)
    ((c + b) + (a + d)).backward()
    assert ran == ["d", "c", "b", "a"]


@pytest.mark.parametrize("n", [5, 50, 500])
@pytest.mark.parametrize("reach", [1, 10, 1000])
def test_latest_first_in_a_large_graph(m, n, reach):
    """engine/Q-02: each node takes its inputs from the `reach` tensors before it, and the last one takes all, in any order."""
    drawn = random.Random(n)
    tensors = [leaf(m, 1.).exp()]
    for _ in range(n):
        tensors.append(drawn.choice(tensors[-reach:]) * 0.5 + drawn.choice(tensors[-reach:]) * 0.5)
    drawn.shuffle(tensors)
    out = m.stack(tensors).sum()
    waits = {out.grad_fn: 0}        # node -> how many gradients it waits for
    nodes, ran, expected = [out.grad_fn], [], []
    for node in nodes:
        node.register_hook(lambda *_, node=node: ran.append(node._sequence_nr()))
        for following in inputs(node):
            if following not in waits:
                waits[following] = 0
                nodes.append(following)
            waits[following] += 1
    ready = [out.grad_fn]
    while ready:
        node = max(ready, key=lambda node: node._sequence_nr())
        ready.remove(node)
        expected.append(node._sequence_nr())
        for following in inputs(node):
            waits[following] -= 1
            if waits[following] == 0:
                ready.append(following)
    out.backward()
    assert ran == expected


def inputs(node):
    """The nodes behind the edges of a node."""
    return [following for following, _ in node.next_functions if following is not None]


def test_accumulators_run_at_once(m):
    """engine/Q-03: before any other node that is ready."""
    x, y = leaf(m, 1.), leaf(m, 2.)
    u = x.exp()
    v = y.exp()
    events = []
    runs(events, u=u.grad_fn, v=v.grad_fn)
    for name, t in (("x", x), ("y", y)):
        t.register_post_accumulate_grad_hook(note(events, name))
    (u * v).backward()
    assert events == ["v", "y", "u", "x"]
    assert accumulator(x)._sequence_nr() == 2 ** 64 - 1


def test_sequence_numbers_are_per_thread(m):
    """engine/Q-04: a node from a young thread may run late, whenever it was made."""
    x = leaf(m, 1.)
    for _ in range(1000):
        x * 1
    early, late = x.exp(), []
    thread = threading.Thread(target=lambda: late.append(x.sin()))
    thread.start()
    thread.join()
    ran = []
    runs(ran, early=early.grad_fn, late=late[0].grad_fn)
    m.autograd.backward([early, late[0]])
    assert late[0].grad_fn._sequence_nr() < early.grad_fn._sequence_nr() and ran == ["early", "late"]


def test_set_sequence_nr(m):
    """engine/Q-05"""
    x = leaf(m, 1.)
    a, b = x.exp(), x.sin()
    a.grad_fn._set_sequence_nr(b.grad_fn._sequence_nr() + 1)
    ran = []
    runs(ran, a=a.grad_fn, b=b.grad_fn)
    m.autograd.backward([a, b])
    assert ran == ["a", "b"]


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_ties(m, n):
    """engine/Q-06: nodes with equal numbers may run in any order, but each runs; ours is the order of libstdc++'s heap, like torch's."""
    xs = [leaf(m, float(i)) for i in range(n)]
    events = []
    for i, x in enumerate(xs):
        x.register_post_accumulate_grad_hook(note(events, i))
    (m.stack(xs) * 2).sum().backward()
    assert events == {2: [0, 1], 3: [0, 1, 2], 5: [0, 2, 4, 1, 3], 8: [0, 2, 6, 5, 7, 4, 1, 3]}[n]


@pytest.mark.parametrize("op, order", [
    (lambda m, x, w: x * w, [1, 0]), (lambda m, x, w: x / w, [1, 0]), (lambda m, x, w: x ** w, [1, 0]),
    (lambda m, x, w: m.mv(x.reshape(1, 2), w), [0, 1]), (lambda m, x, w: m.nn.functional.mse_loss(x, w), [0, 1]),
    (lambda m, x, w: m.addcmul(x * w, x, w), [0, 1, 2]), (lambda m, x, w: m.lerp(x, w, x * w), [1, 0, 2])])
def test_order_of_the_formulas_of_one_op(m, op, order):
    """engine/Q-02: by the names of the inputs, as in torch: under create_graph, "other" is the earlier node and comes later."""
    x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
    y = op(m, x, w)
    made = []
    y.grad_fn.register_hook(lambda ins, outs: made.extend(-1 if g.grad_fn is None else g.grad_fn._sequence_nr() for g in ins))
    m.autograd.grad(y, (x, w), m.ones_like(y.detach()), create_graph=True)
    assert [sorted(made).index(n) for n in made] == order
