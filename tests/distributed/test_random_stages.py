"""Random stages: I followed by W gives the same gradients as B. pipelining_backward/Q-07

A stage has inputs, weights (some frozen) and ops on any two of the earlier values. So there are branches of weights only,
weights at many depths, and values that are used many times. An output may be used by another output, may not depend on an
input, and may be a view or a weight.
"""

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings

import minigrad
from minigrad.distributed.pipelining._groups import order_nodes
from tests.distributed.stages import close, lib, node, numbers

OPS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "matmul": lambda a, b: a @ b,
    "tanh": lambda a, b: a.tanh(),
    "transposed": lambda a, b: a.t(),
    "swapped": lambda a, b: a[[1, 0]] * 0.5,
}
fast = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
numbers_of_values = st.integers(0, 99)
stages = st.fixed_dictionaries({
    "inputs": st.lists(st.booleans(), min_size=1, max_size=2),          # whether they require a gradient
    "weights": st.lists(st.integers(0, 9).map(bool), min_size=1, max_size=4),
    "ops": st.lists(st.tuples(st.sampled_from(sorted(OPS)), numbers_of_values, numbers_of_values), min_size=1, max_size=15),
    "outputs": st.lists(numbers_of_values, min_size=1, max_size=3),
})


def build(m, stage):
    inputs = [numbers(m, 2, 2, grad=g, shift=0.1 * i) for i, g in enumerate(stage["inputs"])]
    weights = [numbers(m, 2, 2, grad=g, shift=0.3 + 0.1 * i) for i, g in enumerate(stage["weights"])]
    values = [*inputs, *weights]
    for op, a, b in stage["ops"]:
        values.append(OPS[op](values[a % len(values)], values[b % len(values)]))
    # Inputs themselves are not outputs here: B takes their gradient out, and a later stage would not.
    candidates = values[len(inputs):]
    outputs = list({id(y): y for y in [candidates[-1 - i % len(candidates)] for i in stage["outputs"]]}.values())
    grads = [numbers(m, 2, 2, grad=False, shift=0.2 * i) for i in range(len(outputs))]
    return inputs, weights, outputs, grads


def whole(m, stage):
    inputs, weights, outputs, grads = build(m, stage)
    return lib(m).stage_backward(outputs, grads, inputs), [w.grad for w in weights]


@fast
@given(stages, st.randoms(use_true_random=False), st.booleans())
def test_random_stages(stage, random, together):
    inputs, weights, outputs, grads = build(minigrad, stage)
    dinputs, groups = lib(minigrad).stage_backward_input(outputs, grads, inputs, weights)
    assert all(w.grad is None for w in weights)
    params = [p for group in groups for p in group["params"]]
    assert len(params) == len(set(params))
    random.shuffle(groups)
    for part in [groups] if together else [[group] for group in groups]:
        lib(minigrad).stage_backward_weight(weights, part)
    assert close([dinputs, [w.grad for w in weights]], whole(minigrad, stage))
    assert all(set(group) == {"params"} for group in groups)


@fast
@given(stages)
def test_positions(stage):
    """Each node has one place, after all nodes that lead to it, even if one root is below another."""
    *_, outputs, _ = build(minigrad, stage)
    roots = [node(y) for y in outputs if y.requires_grad]
    above = lib(minigrad).construct_reverse_graph(roots)
    position = order_nodes(roots, above)
    assert set(position) == {*roots, *above} and sorted(position.values()) == list(range(len(position)))
    assert all(position[user] < position[used] for used, users in above.items() for user in users)
