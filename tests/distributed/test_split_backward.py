"""B, I and W of a pipeline stage: their results, their effects on the graph, and their errors."""

import gc
import weakref

import pytest

from tests.core.engine_tools import leaf, ours, raises, value
from tests.distributed.stages import NESTED, PLAIN, close, lib, numbers, run, shared_scale, stack, tied, tied_at_both_ends

# ---- B: stage_backward -----------------------------------------------------------------------------------------


def test_composite_outputs(m):
    """pipelining_backward/S-01, pipelining_backward/S-02"""
    x, w, plain = leaf(m, 1., 2.), leaf(m, 3.), m.ones(2)
    outputs = {"a": [x * w, (x + w, 7)], "b": plain, "c": (x * 5,), "d": "text"}
    grads = {"a": [m.ones(2), (m.ones(2) * 2, None)], "b": "anything", "c": None, "d": None}
    assert value(lib(m).stage_backward(outputs, grads, [x])) == [[5., 5.]]
    assert value(w.grad) == 7.


@pytest.mark.parametrize("output, grad, keys", [
    (lambda y: y, 3, ["Expected Tensor or None gradient"]),
    (lambda y: [y], 3, ["grad_value expected to have type"]),
    (lambda y: (y, y), (None,), ["Expected len(output_val) == len(grad_val)"]),
    (lambda y: {"a": y}, {"b": None}, ["Expected keys"]),
    (lambda y: {"a": y}, [None], ["Expected dict"]),
])
def test_gradients_nested_otherwise(m, output, grad, keys):
    """pipelining_backward/S-01, pipelining_backward/S-09"""
    x = leaf(m, 1., 2.)
    with raises(RuntimeError, "Failed to run stage backward:") as caught:
        lib(m).stage_backward(output(x * 2), grad, [x])
    assert isinstance(caught.value.__cause__, AssertionError)
    assert all(key in str(caught.value.__cause__) for key in keys)
    assert x.grad is None


def test_nothing_to_differentiate(m):
    """pipelining_backward/S-01, pipelining_backward/S-03"""
    x = leaf(m, 1., 2.)
    assert lib(m).stage_backward([x * 2], None, [x]) == (None,)
    assert lib(m).stage_backward([m.ones(2)], [m.ones(2)], [x, 3]) == (None, None)
    assert lib(m).stage_backward([], [], []) == ()


def test_loss_stage(m):
    """pipelining_backward/S-04"""
    x = leaf(m, 1., 2.)
    assert value(lib(m).stage_backward((x * x).sum(), None, [x])) == [[2., 4.]]


def test_gradients_of_inputs_are_taken_out(m):
    """pipelining_backward/S-05, pipelining_backward/S-06"""
    x, plain = leaf(m, 1., 2.), m.ones(2)
    for _ in range(2):
        y = x * plain
        assert value(lib(m).stage_backward([y], [m.ones(2)], [x, "text", plain, None])) == [[1., 1.], None, None, None]
        assert x.grad is None


@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_inputs_that_are_no_leaves(m):
    """pipelining_backward/S-07"""
    batch = leaf(m, 1., 2.)
    one, two = batch * 1, batch * 1
    one.retain_grad()
    found = lib(m).stage_backward([one * 2 + two * 3], [m.ones(2)], [one, two])
    assert value(found) == [[2., 2.], None] and one.grad is None


def test_outputs_with_grads_idxs(m):
    """pipelining_backward/S-08"""
    x = leaf(m, 1., 2.)
    found = lib(m).stage_backward([x * 2, x * 3, x * 5], [m.ones(2)] * 3, [x], [0, 2])
    assert value(found) == [[7., 7.]]


def test_failure_of_b_tells_shapes(m):
    """pipelining_backward/S-09, pipelining_backward/Q-09"""
    x = m.ones(2, 3, requires_grad=True)
    with raises(RuntimeError, "Failed to run stage backward:") as caught:
        lib(m).stage_backward({"y": x * 2}, {"y": m.ones(5)}, [x, 7])
    text = str(caught.value)
    lines = [line.strip() for line in text.splitlines()]
    output, = [line for line in lines if line.startswith("Stage output: ")]
    gradient, = [line for line in lines if line.startswith("Output gradient: ")]
    given, = [line for line in lines if line.startswith("Input: ")]
    assert "[2, 3]" in output and "grad=True" in output and "float32" in output and "'y'" in output
    assert "[5]" in gradient and "grad=False" in gradient
    assert "[2, 3]" in given and "7" in given
    assert "1." not in text and "Mismatch in shape" in str(caught.value.__cause__)
    assert value(lib(m).stage_backward([x * 2], [m.ones(2, 3)], [x])) == [[[2.] * 3] * 2]


def test_b_holds_no_activation(m, no_collection):
    """pipelining_backward/S-10"""
    x = leaf(m, 1., 2.)
    hidden = x.exp()
    gone = weakref.ref(hidden)
    y = [hidden.sin()]
    del hidden
    lib(m).stage_backward(y, [m.ones(2)], [x])
    del y
    assert gone() is None
    with raises(RuntimeError, "Failed"):
        lib(m).stage_backward([x * 2], [3], [x])


# ---- I: stage_backward_input -----------------------------------------------------------------------------------


def test_input_half(m):
    """pipelining_backward/I-01, pipelining_backward/I-06, pipelining_backward/I-12"""
    x, w, plain = leaf(m, 1., 2.), leaf(m, 3.), m.ones(2)
    outputs = (x * w, m.ones(2), (x + 1) * 2)
    found, groups = lib(m).stage_backward_input(outputs, [m.ones(2), None, m.ones(2)], ["text", plain, x], [w])
    assert type(found) is tuple and value(found) == [None, None, [5., 5.]]
    assert w.grad is None and len(groups) == 1


def test_input_half_without_output_grads(m):
    """pipelining_backward/I-02"""
    x, w = leaf(m, 1., 2.), leaf(m, 3.)
    found, _ = lib(m).stage_backward_input([x * w, (x * x).sum()], None, [x], [w])
    assert value(found) == [[5., 7.]]


def test_what_groups_record(m):
    """pipelining_backward/I-03, pipelining_backward/I-04, pipelining_backward/I-09"""
    x, w, v = leaf(m, 1., 2.), leaf(m, 3.), leaf(m, 5.)
    inner = x * w
    inner_node = inner.grad_fn
    y = inner * v
    outer_node = y.grad_fn
    del inner
    _, groups = lib(m).stage_backward_input([y], [m.ones(2)], [x], iter([w, v]))
    assert [g["intermediates"] for g in groups] == [[inner_node], [outer_node]]
    assert [value(g["grads"]) for g in groups] == [[[[5., 5.]]], [[[1., 1.]]]]
    assert [[n.variable for n in g["params"]] == [p] for g, p in zip(groups, (w, v))] == [True, True]


def test_input_half_without_inputs_that_require_gradients(m):
    """pipelining_backward/I-05, pipelining_backward/Q-08: nothing runs."""
    x, w = m.ones(2), leaf(m, 3.)
    y = x * w
    y.grad_fn.register_hook(lambda *args: pytest.fail("the node has run"))
    found, _ = lib(m).stage_backward_input([y], [m.ones(2)], [x, 1], [w])
    assert found == (None, None) and w.grad is None


def test_input_that_is_not_used(m):
    """pipelining_backward/I-05"""
    x, other, w = leaf(m, 1., 2.), leaf(m, 1.), leaf(m, 3.)
    found, _ = lib(m).stage_backward_input([x * w], None, [x, other], [w])
    assert value(found) == [[3., 3.], None] and other.grad is None


def test_grad_of_an_input(m):
    """pipelining_backward/I-07"""
    x, w = leaf(m, 1., 2.), leaf(m, 3.)
    (first,), _ = lib(m).stage_backward_input([x * w], None, [x], [w])
    assert x.grad is first
    (second,), _ = lib(m).stage_backward_input([x * x], None, [x], [w])
    assert value(second) == [2., 4.] and value(x.grad) == [5., 7.]


@pytest.mark.differs(
    what="`stage_backward_input`, then a change of an input's `.grad`",
    there="The change also goes into the gradients that the weights get.",
    here="The two do not share memory.")
@ours
def test_groups_do_not_notice_what_happens_to_the_grad_of_an_input(m):
    """pipelining_backward/I-07: dX of x + w is the gradient that arrived at +. PyTorch adds to this tensor in place."""
    x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
    g = m.ones(2)
    _, groups = lib(m).stage_backward_input([x + w], [g], [x], [w])
    lib(m).stage_backward_input([x * 5], None, [x], [])
    lib(m).stage_backward_weight([w], groups)
    assert value(w.grad) == [1., 1.] and value(g) == [1., 1.] and value(x.grad) == [6., 6.]


@pytest.mark.differs(
    what="`stage_backward_input` with the same input twice",
    there="Its gradient is doubled.",
    here="Its gradient is right.")
@ours
def test_an_input_that_is_listed_twice(m):
    """pipelining_backward/I-07: its .grad is its gradient; PyTorch doubles it."""
    x = leaf(m, 1., 2.)
    found, _ = lib(m).stage_backward_input([x * 3], None, [x, x], [])
    assert value(found) == [[3., 3.], [3., 3.]] and value(x.grad) == [3., 3.]


def test_outputs_are_detached(m):
    """pipelining_backward/I-08, pipelining_backward/Q-05"""
    forward, weights = stack(m)
    x = numbers(m, 2, 3)
    y = forward(x)
    lib(m).stage_backward_input([y], None, [x], weights)
    assert y.grad_fn is None and not y.requires_grad
    assert [w.grad for w in weights] == [None] * 4


@pytest.mark.differs(
    what="`stage_backward_input` with a view among the outputs",
    there="RuntimeError: a view cannot be detached in place.",
    here="Views are not detached. The other outputs are.")
@ours
def test_outputs_that_are_not_detached(m):
    """pipelining_backward/I-08: views cannot be detached; detached leaves would break; tensors that W needs keep their history."""
    x, w = m.ones(2, 2, requires_grad=True), leaf(m, 3.)
    inner = x * w
    view, last = (x + w).t(), inner * w
    outputs = [view, inner, last, w, x]
    _, groups = lib(m).stage_backward_input(outputs, [m.ones(2, 2)] * 3 + [m.tensor(1.), m.ones(2, 2)], [x], [w])
    assert [y.requires_grad for y in outputs] == [True, True, False, True, True]
    lib(m).stage_backward_weight([w], groups)
    assert value(w.grad) == 4 + 4 + 24 + 1


@pytest.mark.parametrize("where", ["outputs", "hook"])
def test_input_half_that_fails(m, where):
    """pipelining_backward/I-10, pipelining_backward/I-11, pipelining_backward/Q-09"""
    x, w = leaf(m, 1., 2.), leaf(m, 3.)
    inner = x * w
    y = inner.exp()

    def fail(*args):
        raise ValueError("on purpose")
    handle = inner.grad_fn.register_hook(fail) if where == "hook" else None
    with raises(RuntimeError, "Failed to run stage backward input:") as caught:
        lib(m).stage_backward_input([y], [m.ones(2 if where == "hook" else 5)], [x], [w])
    assert all(f"{label}: " in str(caught.value) for label in ("Stage output", "Output gradient", "Input"))
    assert isinstance(caught.value.__cause__, ValueError if where == "hook" else RuntimeError)
    if handle:
        handle.remove()
    assert x.grad is None and y.requires_grad
    found, groups = lib(m).stage_backward_input([y], [m.ones(2)], [x], [w])     # no hook is left that would replace anything
    lib(m).stage_backward_weight([w], groups)
    assert value(found[0]) == pytest.approx(value((w * inner.exp()).detach()))
    assert value(w.grad) == pytest.approx(value((x * inner.exp()).sum().detach()))


@pytest.mark.differs(
    what="`stage_backward_input` with too few gradients",
    there="IndexError.",
    here="RuntimeError, which shows outputs, gradients and inputs, as for all other failures.")
@ours
def test_too_few_output_grads(m):
    """pipelining_backward/I-11: whatever goes wrong, the message is there; PyTorch's is of an index."""
    x = leaf(m, 1., 2.)
    with raises(RuntimeError, "Failed to run stage backward input:") as caught:
        lib(m).stage_backward_input([x * 2, x * 3], [m.ones(2)], [x], [])
    assert isinstance(caught.value.__cause__, IndexError)


@pytest.mark.differs(
    what="`stage_backward_input`, where a weight lies behind an input",
    there="`stage_backward_weight` fails later, with `KeyError('grads')`.",
    here="RuntimeError: such a weight belongs to another stage.")
@ours
def test_a_weight_behind_an_input(m):
    """Nodes behind an input belong to another stage; PyTorch fails in W, with KeyError('grads')."""
    x, w = leaf(m, 1., 2.), leaf(m, 3.)
    inner = x * w
    with raises(RuntimeError, "Failed to run stage backward input:") as caught:
        lib(m).stage_backward_input([inner * 2], None, [inner], [w])
    assert "a weight lies behind an input" in str(caught.value.__cause__)


def test_hooks_are_removed(m):
    """pipelining_backward/I-10, pipelining_backward/W-03: a backward through the same graph is an ordinary one."""
    forward, weights = tied(m)
    x = numbers(m, 2, 3)
    y = forward(x)
    z = y * 1
    _, groups = lib(m).stage_backward_input([z], None, [x], weights)
    lib(m).stage_backward_weight(weights, groups, retain_graph=True)
    found = [w.grad.detach() * 1 for w in weights]
    for w in weights:
        w.grad = None
    (y * 2).sum().backward()
    assert close([w.grad for w in weights], [2 * g for g in found])


# ---- W: stage_backward_weight ----------------------------------------------------------------------------------


def halves(m, build, **kwargs):
    forward, weights = build(m)
    x = numbers(m, 2, 3)
    _, groups = lib(m).stage_backward_input([forward(x)], None, [x], weights)
    return weights, groups


def test_weight_half_returns_what_was_there(m):
    """pipelining_backward/W-01, pipelining_backward/W-02"""
    weights, groups = halves(m, stack)
    assert lib(m).stage_backward_weight(iter(weights), groups) == (None,) * 4
    first = [w.grad for w in weights]
    numbers_then = value(first)
    _, groups = halves_of(m, weights)
    before = lib(m).stage_backward_weight(iter(weights), groups)
    assert all(b is g and w.grad is g for b, g, w in zip(before, first, weights))
    assert close(first, twice(numbers_then))


def halves_of(m, weights):
    """Another microbatch of `stack` with these weights."""
    a, b, c, d = weights
    x = numbers(m, 2, 3)
    y = m.nn.functional.linear(m.nn.functional.linear(x, a, b).tanh(), c, d)
    return lib(m).stage_backward_input([y], None, [x], weights)


def twice(numbers):
    return [twice(n) for n in numbers] if isinstance(numbers, list) else 2 * numbers


@pytest.mark.parametrize("build", PLAIN)
def test_two_halves_are_the_whole(m, build):
    """pipelining_backward/W-03, pipelining_backward/W-07, pipelining_backward/W-21, pipelining_backward/Q-03"""
    (dx, dw), (whole_dx, whole_dw) = run(m, build, True), run(m, build, False)
    assert close(dx, whole_dx) and close(dw, whole_dw)


@pytest.mark.differs(
    what="`stage_backward_weight`, where the paths of two groups overlap",
    there="RuntimeError: the first group has freed a part of the graph that the second one needs.",
    here="The groups can be used one by one, in any order.")
@ours
@pytest.mark.parametrize("build", NESTED)
@pytest.mark.parametrize("order", [1, -1])
def test_two_halves_of_nested_groups(m, build, order):
    """pipelining_backward/W-20: "second time" in PyTorch. Groups can be used one by one, in any order."""
    whole_dx, whole_dw = run(m, build, False)
    forward, weights = build(m)
    x, g = numbers(m, 2, 3), numbers(m, 2, 3, grad=False, shift=0.4)
    dx, groups = lib(m).stage_backward_input([forward(x)], [g], [x], weights)
    for group in groups[::order]:
        lib(m).stage_backward_weight(weights, [group])
    assert close(dx, whole_dx) and close([w.grad for w in weights], whole_dw)


@pytest.mark.parametrize("build", NESTED)
def test_two_halves_of_nested_groups_with_retain_graph(m, build):
    """pipelining_backward/W-20"""
    whole_dx, whole_dw = run(m, build, False)
    forward, weights = build(m)
    x, g = numbers(m, 2, 3), numbers(m, 2, 3, grad=False, shift=0.4)
    dx, groups = lib(m).stage_backward_input([forward(x)], [g], [x], weights)
    lib(m).stage_backward_weight(weights, groups, retain_graph=True)
    assert close(dx, whole_dx) and close([w.grad for w in weights], whole_dw)


def test_what_is_left_of_a_group(m):
    """pipelining_backward/W-04, pipelining_backward/Q-05"""
    weights, groups = halves(m, tied)
    lib(m).stage_backward_weight(weights, groups)
    assert [set(g) for g in groups] == [{"params"}]


def test_memory_of_the_halves(m, no_collection):
    """pipelining_backward/W-04, pipelining_backward/I-09, pipelining_backward/Q-05: no cycles; I frees the tensors that only the
    outputs needed, W frees the rest."""
    x, w = leaf(m, 1., 2.), leaf(m, 3.)
    upper = [m.ones(2), m.ones(2)]
    inner = x.exp()
    gone = [weakref.ref(inner), *[weakref.ref(c) for c in upper]]
    joint = inner * w
    y = joint * upper[0] * upper[1]
    del inner, joint, upper
    _, groups = lib(m).stage_backward_input([y], None, [x], [w])
    assert [r() is None for r in gone] == [False, True, True]
    lib(m).stage_backward_weight([w], groups)
    assert gone[0]() is None
    gc.collect()
    del groups, y
    assert gc.collect() == 0


def test_weight_half_frees_the_graph(m):
    """pipelining_backward/W-05"""
    x, w = leaf(m, 1., 2.), leaf(m, 3.)
    for retain in (True, False):
        branch = w * w
        hidden = branch.grad_fn
        _, groups = lib(m).stage_backward_input([x * branch], None, [x], [w])
        del branch
        lib(m).stage_backward_weight([w], groups, retain_graph=retain)
        if retain:
            assert value(hidden._saved_self) == 3.
        else:
            with raises(RuntimeError, "after they have already been freed" if m.__name__ == "torch" else "second time"):
                _ = hidden._saved_self
    assert value(w.grad) == 36.


def test_no_groups(m):
    """pipelining_backward/W-06"""
    w = leaf(m, 3.)
    assert lib(m).stage_backward_weight([w], []) == (None,) and w.grad is None


def test_weights_that_need_no_gradient(m):
    """pipelining_backward/W-07, pipelining_backward/A-02: frozen ones, and ones that were not used."""
    x, w, frozen, idle = leaf(m, 1., 2.), leaf(m, 3.), m.ones(2), leaf(m, 1.)
    _, groups = lib(m).stage_backward_input([x * w * frozen], None, [x], [frozen, w, idle])
    lib(m).stage_backward_weight([frozen, w, idle], groups)
    assert value([frozen.grad, w.grad, idle.grad]) == [None, 3., None]


@pytest.mark.differs(
    what="`stage_backward_weight`, a second time with the same groups",
    there="KeyError.",
    here="RuntimeError, which says that the group has been used already.")
@ours
def test_a_group_is_used_once(m):
    """pipelining_backward/W-04: in PyTorch a KeyError."""
    weights, groups = halves(m, tied)
    lib(m).stage_backward_weight(weights, groups)
    found = value([w.grad for w in weights])
    with raises(RuntimeError, "has been used already"):
        lib(m).stage_backward_weight(weights, groups)
    assert value([w.grad for w in weights]) == found


@pytest.mark.differs(
    what="`stage_backward_weight` without one of the weights",
    there="KeyError, after some gradients have been added.",
    here="RuntimeError, before any gradient is added.")
@ours
def test_a_weight_that_is_missing(m):
    """In PyTorch a KeyError, after some of the gradients have been accumulated."""
    weights, groups = halves(m, stack)
    with raises(RuntimeError, "is not among `weights`"):
        lib(m).stage_backward_weight(weights[1:], groups)
    assert [w.grad for w in weights] == [None] * 4
    lib(m).stage_backward_weight(weights, groups)
    assert None not in [w.grad for w in weights]


@pytest.mark.differs(
    what="`stage_backward_weight` again, after a hook has raised",
    there="KeyError: the group has lost its data.",
    here="It works: a failure leaves the group as it was.")
@ours
def test_weight_half_that_fails_can_be_repeated(m):
    """The group is as it was, and no hook is left. Without retain_graph a part of the graph would be gone, as after any
    backward."""
    x, w, b = leaf(m, 1., 2.), leaf(m, 3.), leaf(m, 1.)
    fail = [True]

    def hook(grad):
        if fail:
            raise ValueError(fail.pop())
    handle = (branch := w * w).register_hook(hook)
    _, groups = lib(m).stage_backward_input([(x * branch).exp() * branch + b], None, [x], [w, b])
    with raises(ValueError, "True"):
        lib(m).stage_backward_weight([w, b], groups[:1], retain_graph=True)
    assert w.grad is None
    lib(m).stage_backward_weight([w, b], groups)
    handle.remove()
    again = m.autograd.grad(((x * (w * w)).exp() * (w * w) + b).sum(), [w, b])
    assert close([w.grad, b.grad], again)


@pytest.mark.differs(
    what="A hook on a tensor at which the two halves meet",
    there="Both halves apply what the hook does.",
    here="It is applied once.")
@ours
def test_hooks_act_once(m):
    """A hook on an intermediate output runs in both halves; PyTorch applies its changes twice."""
    x, w = leaf(m, 1., 2.), leaf(m, 3.)
    y = x * w
    y.register_hook(lambda grad: grad * 10)
    y.grad_fn.register_prehook(lambda grads: (grads[0] + 1,))
    w.register_hook(lambda grad: grad * 2)
    seen = []
    w.register_post_accumulate_grad_hook(lambda leaf: seen.append(value(leaf.grad)))
    z = y * 1
    found, groups = lib(m).stage_backward_input([z], [m.ones(2)], [x], [w])
    lib(m).stage_backward_weight([w], groups)
    assert value(found) == [[33., 33.]] and value(w.grad) == 66. and seen == [66.]


@pytest.mark.differs(
    what="`stage_backward_input` with an output that depends on weights only",
    there="The weights do not get its gradient, and a backward can fail.",
    here="The weights get it in `stage_backward_weight`.")
@ours
def test_outputs_that_no_input_leads_to(m):
    """pipelining_backward/Q-08: a penalty on the weights, and a whole stage; PyTorch computes nothing for them."""
    x, w, plain = leaf(m, 1., 2.), leaf(m, 3.), m.ones(2)
    penalty = w * w
    outputs = [x * penalty, penalty, penalty * 5]
    found, groups = lib(m).stage_backward_input(outputs, [m.ones(2), m.tensor(1.), m.tensor(1.)], [x], [w])
    assert value(found) == [[9., 9.]] and w.grad is None and len(groups) == 1
    lib(m).stage_backward_weight([w], groups)
    assert value(w.grad) == 18. + 6. + 30. and set(groups[0]) == {"params"}
    w.grad = None
    found, groups = lib(m).stage_backward_input([plain * w], None, [plain], [w])
    lib(m).stage_backward_weight([w], groups)
    assert found == (None,) and value(w.grad) == 2.


def test_gradients_that_are_undefined(m):
    """pipelining_backward/W-02: nothing arrives at an intermediate, and nothing begins there."""
    class Stop(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return None
    x, w, v = leaf(m, 1., 2.), leaf(m, 3.), leaf(m, 5.)
    found, groups = lib(m).stage_backward_input([Stop.apply(x * w) * v], None, [x], [w, v])
    assert value([g["grads"] for g in groups]) == [[[None]], [[[1., 1.]]]]
    lib(m).stage_backward_weight([w, v], groups)
    assert found == (None,) and w.grad is None and value(v.grad) == 9.


@pytest.mark.differs(
    what="A split backward, where a weight is also an input",
    there="Its gradient is added twice.",
    here="Its gradient is added once.")
@ours
def test_a_weight_that_is_an_input(m):
    """Its gradient is dX, and counted once."""
    w = leaf(m, 3.)
    _, groups = lib(m).stage_backward_input([w * w], None, [w], [w])
    lib(m).stage_backward_weight([w], groups)
    assert value(w.grad) == 6.


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_delayed_weight_halves(m, order):
    """pipelining_backward/Q-06"""
    forward, weights = stack(m)
    batches = [numbers(m, 2, 3, shift=0.1 * i) for i in range(3)]
    for x in batches:
        lib(m).stage_backward(forward(x).sum(), None, [x])
    expected = [w.grad for w in weights]
    for w in weights:
        w.grad = None
    waiting = [lib(m).stage_backward_input([forward(x).sum()], None, [x], weights)[1] for x in batches]
    for i in order:
        lib(m).stage_backward_weight(weights, waiting[i])
    assert close([w.grad for w in weights], expected)


def test_gradient_at_a_cut(m):
    """pipelining_backward/Q-03: dX of the second of two stages is the gradient at the cut of the whole."""
    (first, _), (second, weights) = stack(m), tied(m)
    x = numbers(m, 2, 3)
    hidden = first(x)
    expected, = m.autograd.grad(second(hidden).sum(), hidden)
    cut = hidden.detach().requires_grad_()
    found, _ = lib(m).stage_backward_input([second(cut).sum()], None, [cut], weights)
    assert close(found, [expected])


@pytest.mark.parametrize("build", [shared_scale, tied_at_both_ends])
def test_whole_backward_of_nested_stages(m, build):
    """pipelining_backward/S-02"""
    forward, weights = build(m)
    x = numbers(m, 2, 3)
    expected = m.autograd.grad(forward(x).sum(), [x, *weights])
    found = lib(m).stage_backward([forward(x).sum()], [None], [x])
    assert close([*found, *[w.grad for w in weights]], expected)


def test_null_coalesce_accumulate(m):
    """pipelining_backward/N-01"""
    add, a, b = lib(m)._null_coalesce_accumulate, m.ones(2), m.ones(2)
    assert add(None, b) is b and add(a, None) is a and add(None, None) is None
    total = add(a, b)
    assert value(total) == [2., 2.] and total is not a and total is not b
