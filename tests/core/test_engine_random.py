"""Random graphs against a reference: engine.md M-02.

The reference goes over the ops in reverse order of creation, on plain numbers: fifteen lines without queues or
dependencies. The engine must agree with its gradients, and also with the nodes that run, how often, in which order,
and with which gradient.
"""

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from tests.core.engine_tools import leaf, ours, value

# name -> (function of tensors, local derivatives on numbers); each is linear or bilinear, so numbers stay exact
OPS = {
    "add": (lambda a, b: a + b, lambda a, b: (1, 1)),
    "sub": (lambda a, b: a - b, lambda a, b: (1, -1)),
    "mul": (lambda a, b: a * b, lambda a, b: (b, a)),
    "twice": (lambda a, b: a * 2, lambda a, b: (2, 0)),
    "neg": (lambda a, b: -a, lambda a, b: (-1, 0)),
}
LEAVES = 3
programs = st.lists(st.tuples(st.sampled_from(sorted(OPS)), st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=25)
fast = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def operands(program):
    """(op, numbers of its operands) of each step; the leaves come first."""
    steps = []
    for k, (op, a, b) in enumerate(program):
        numbers = (a % (LEAVES + k), b % (LEAVES + k))
        steps.append((op, numbers if op in ("add", "sub", "mul") else numbers[:1]))
    return steps


def reference(program, values, roots, wanted=None):
    """The gradient of every value (None: undefined), and the steps that run, in order.

    With `wanted`, a value is needed if it is in `wanted`, or depends on a value that is.
    """
    steps = operands(program)
    grads = [None] * len(values)
    needed = [wanted is None or i in wanted for i in range(len(values))]
    for k, (_, xs) in enumerate(steps):
        needed[LEAVES + k] = needed[LEAVES + k] or any(needed[x] for x in xs)
    for r in roots:
        grads[r] = (grads[r] or 0) + 1
    order = []
    for k in reversed(range(len(steps))):
        op, xs = steps[k]
        g = grads[LEAVES + k]
        if g is not None and any(needed[x] for x in xs):
            order.append(k)
            for x, d in zip(xs, OPS[op][1](values[xs[0]], values[xs[-1]])):
                grads[x] = (grads[x] or 0) + g * d
    return [g if n else None for g, n in zip(grads, needed)], order


def run_forward(m, program, starts):
    values = [leaf(m, float(s), dtype="float64") for s in starts]
    for op, xs in operands(program):
        values.append(OPS[op][0](values[xs[0]], values[xs[-1]]))
    return values


starting = st.lists(st.sampled_from([-1, 1, 2]), min_size=LEAVES, max_size=LEAVES)


@given(programs, starting, st.lists(st.integers(0, 99), min_size=1, max_size=3), st.booleans())
@fast
def test_backward(m, program, starts, roots, create):
    """engine/M-02: gradients, nodes that run, their order."""
    tensors = run_forward(m, program, starts)
    roots = [r % len(tensors) for r in roots]
    expected, order = reference(program, [value(t) for t in tensors], roots)
    ran, seen = [], {}
    for k, t in enumerate(tensors[LEAVES:]):
        t.grad_fn.register_hook(lambda *_, k=k: ran.append(k))
        t.register_hook(lambda g, k=k: seen.update({LEAVES + k: value(g)}))
    leaves = tensors[:LEAVES]
    m.autograd.backward([tensors[r] for r in roots], retain_graph=True)
    assert ran == order
    assert value([x.grad for x in leaves]) == expected[:LEAVES]
    assert seen == {i: g for i, g in enumerate(expected) if i >= LEAVES and g is not None}
    found = m.autograd.grad([tensors[r] for r in roots], leaves, allow_unused=True, create_graph=create)
    assert value(found) == expected[:LEAVES]


@given(programs, starting, st.lists(st.integers(0, 99), min_size=1, max_size=3))
@fast
def test_grad_of_any_value(m, program, starts, inputs):
    """engine/M-02: with inputs=, a node runs only if it leads to an input; a node that is only an input itself does not run."""
    tensors = run_forward(m, program, starts)
    inputs = [i % len(tensors) for i in inputs]
    root = len(tensors) - 1
    expected, order = reference(program, [value(t) for t in tensors], [root], set(inputs))
    ran = []
    for k, t in enumerate(tensors[LEAVES:]):
        t.grad_fn.register_hook(lambda *_, k=k: ran.append(k))
    found = m.autograd.grad(tensors[root], [tensors[i] for i in inputs], allow_unused=True)
    assert value(found) == [expected[i] for i in inputs] and ran == order


@ours
@given(programs, starting)
@fast
def test_finite_differences(m, program, starts):
    """engine/M-02: the same without any formula of ours."""
    def f(values):
        values = list(values)
        for op, xs in operands(program):
            values.append(OPS[op][0](values[xs[0]], values[xs[-1]]))
        return values[-1]
    tensors = run_forward(m, program, starts)
    found = m.autograd.grad(tensors[-1], tensors[:LEAVES], allow_unused=True)
    if abs(value(tensors[-1])) > 1e3:
        return
    for i, g in enumerate(found):
        step = [complex(s, 1e-20 if j == i else 0) for j, s in enumerate(starts)]     # complex step: no cancellation
        assert (value(g) or 0) == pytest.approx(f(step).imag / 1e-20, rel=1e-9)


@given(programs, starting)
@fast
def test_second_order(m, program, starts):
    """engine/M-02, engine/C-01: the graph of the gradient is a graph; its own gradient is symmetric."""
    tensors = run_forward(m, program, starts)
    leaves = tensors[:LEAVES]
    grads = m.autograd.grad(tensors[-1], leaves, allow_unused=True, create_graph=True)
    rows = []
    for g in grads:
        if g is None or not g.requires_grad:
            rows.append([0] * LEAVES)
            continue
        rows.append([value(h) or 0 for h in m.autograd.grad(g, leaves, allow_unused=True, retain_graph=True)])
    assert rows == [list(column) for column in zip(*rows)]
