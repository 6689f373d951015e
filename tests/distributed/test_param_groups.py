"""Where parameters join the way from inputs to outputs: the graph walks behind the split backward."""

from collections import defaultdict

import pytest

from tests.core.engine_tools import leaf, ours, raises
from tests.distributed.stages import branch, lib, linear, looped, node, numbers, shared_scale, stack, tied, tied_at_both_ends


def groups_of(m, outputs, inputs, weights):
    """The groups, with parameters as their places in `weights` and the number of intermediates, and as they are."""
    reverse = lib(m).construct_reverse_graph([node(y) for y in outputs])
    nodes = [node(w) for w in weights]
    found = lib(m).get_param_groups([node(x) for x in inputs], nodes, reverse)
    return [(sorted(nodes.index(p) for p in g["params"]), len(g["intermediates"])) for g in found], found


def built(m, build):
    forward, weights = build(m)
    x = numbers(m, 2, 3)
    return groups_of(m, [forward(x)], [x], weights)[0]


# ---- the node of a tensor --------------------------------------------------------------------------------------


def test_node_of_a_tensor(m):
    """pipelining_backward/A-01, pipelining_backward/A-02"""
    find = lib(m)._get_grad_fn_or_grad_acc
    x = leaf(m, 1., 2.)
    y = x * 2
    assert find(x) is y.grad_fn.next_functions[0][0] and find(x).variable is x
    assert find(y) is y.grad_fn
    assert find(m.ones(2)) is None
    with m.no_grad():
        assert find(y) is y.grad_fn and find(m.ones(2)) is None


def test_node_of_a_leaf_without_gradients(m):
    """pipelining_backward/A-03"""
    with m.no_grad(), raises(RuntimeError, "Attempted to get grad_fn, but got None") as caught:
        lib(m)._get_grad_fn_or_grad_acc(leaf(m, 1.))
    assert "no-grad context" in str(caught.value)


# ---- walks -----------------------------------------------------------------------------------------------------


def test_reverse_graph(m):
    """pipelining_backward/R-01, pipelining_backward/R-03, pipelining_backward/R-04"""
    x = leaf(m, 2.)
    a = x * x
    y = a.exp() + a * 3
    reverse = lib(m).construct_reverse_graph([y.grad_fn])
    exp, times = y.grad_fn.next_functions[0][0], y.grad_fn.next_functions[1][0]
    assert type(reverse) is defaultdict
    assert dict(reverse) == {exp: [y.grad_fn], times: [y.grad_fn], a.grad_fn: [exp, times], node(x): [a.grad_fn, a.grad_fn]}
    assert list(reverse) == [exp, times, a.grad_fn, node(x)]
    assert reverse[y.grad_fn] == []


def test_reverse_graph_of_several_roots(m):
    """pipelining_backward/R-02: breadth first, each root once."""
    x = leaf(m, 2.)
    y, z = x.exp(), x.sin()
    reverse = lib(m).construct_reverse_graph([y.grad_fn, None, z.grad_fn, y.grad_fn])
    assert dict(reverse) == {node(x): [y.grad_fn, z.grad_fn]}


@pytest.mark.differs(
    what="`construct_reverse_graph`, where one root lies below another",
    there="Some edges are listed twice.",
    here="Each edge is listed once.")
@ours
def test_reverse_graph_of_a_root_below_another(m):
    """pipelining_backward/R-02, R-03: in PyTorch its edges are there twice."""
    x = leaf(m, 2.)
    y = x.exp()
    z = y.sin()
    for roots in ([z, y], [y, z]):
        assert dict(lib(m).construct_reverse_graph([r.grad_fn for r in roots])) == {y.grad_fn: [z.grad_fn], node(x): [y.grad_fn]}


def test_walks_do_not_recurse(m, shallow_stack):
    """pipelining_backward/R-05"""
    x, w = leaf(m, 2.), leaf(m, 3.)
    y = x
    for _ in range(3000):
        y = y + 1
    y = y * w
    reverse = lib(m).construct_reverse_graph([y.grad_fn])
    assert len(reverse) == 3002
    closure, _ = lib(m).reverse_closure([node(x)], set(), reverse)
    assert len(closure) == 3002
    assert [g["intermediates"] for g in lib(m).get_param_groups([node(x)], [node(w)], reverse)] == [{y.grad_fn}]


def test_reverse_closure(m):
    """pipelining_backward/C-01, pipelining_backward/C-02"""
    x = leaf(m, 2.)
    a = x.exp()
    b = a.sin()
    y = b + a
    acc, walk = node(x), lib(m).reverse_closure
    reverse = lib(m).construct_reverse_graph([y.grad_fn])
    assert walk([acc, None], set(), reverse) == ({acc, a.grad_fn, b.grad_fn, y.grad_fn}, set())
    assert walk([acc], {b.grad_fn, y.grad_fn}, reverse) == ({acc, a.grad_fn}, {b.grad_fn, y.grad_fn})
    assert walk([acc], {a.grad_fn}, reverse) == ({acc}, {a.grad_fn})
    assert walk([acc, a.grad_fn], {a.grad_fn, y.grad_fn}, reverse) == ({acc, a.grad_fn, b.grad_fn}, {y.grad_fn})


# ---- groups ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("build, expected", [
    (stack, [([0, 1], 1), ([2, 3], 1)]),
    (tied, [([0, 1], 2)]),
    (tied_at_both_ends, [([0], 2), ([1], 2)]),
    (shared_scale, [([0, 1], 1), ([2, 3], 1), ([4, 5], 1), ([6], 3)]),
    (looped, [([0, 1], 3), ([2, 3], 3)]),
    (branch, [([0], 1), ([1], 1)]),
])
def test_groups(m, build, expected):
    """pipelining_backward/G-03, pipelining_backward/G-04, pipelining_backward/G-05, pipelining_backward/G-07"""
    assert built(m, build) == expected


def test_intermediates_are_where_parameters_join(m):
    """pipelining_backward/G-01, pipelining_backward/G-02: only the last exp is between input and output."""
    x, w, b = leaf(m, 1., 2.), leaf(m, 3.), leaf(m, 4.)
    weights_only = (w * 2).sin() * b
    joint = x * weights_only
    y = joint.exp()
    _, (group,) = groups_of(m, [y], [x], [w, b])
    assert group == {"params": {node(w), node(b)}, "intermediates": {joint.grad_fn}}


def test_parameters_in_no_group(m):
    """pipelining_backward/G-06: not reached from the outputs; no input that requires a gradient."""
    layer = linear(m)
    x = numbers(m, 2, 3)
    assert groups_of(m, [x * 2], [x], [layer.weight])[0] == []
    reverse = lib(m).construct_reverse_graph([layer(x.detach()).grad_fn])
    assert lib(m).get_param_groups([], [node(w) for w in layer.parameters()], reverse) == []


@pytest.mark.differs(
    what="`get_param_groups`, where the last parameter connects two groups",
    there="It is merged with one of them only, and the groups overlap.",
    here="The two groups become one.")
@ours
def test_groups_never_overlap(m):
    """pipelining_backward/G-08: the last parameter links two groups, and PyTorch merges it with one of them only."""
    x, u, v, w = [leaf(m, float(i)) for i in range(1, 5)]
    y = (x * (u * w)).exp() * (v * w)
    found, _ = groups_of(m, [y], [x], [u, v, w])
    assert found == [([0, 1, 2], 2)]
    other = leaf(m, 5.)
    assert groups_of(m, [y * other], [x], [u, other, v, w])[0] == [([0, 2, 3], 2), ([1], 1)]
    z = (x * (u * w)).exp() * v
    assert groups_of(m, [z], [x], [u, v, w])[0] == [([0, 2], 1), ([1], 1)]
    assert groups_of(m, [z], [x], [v, w, u])[0] == [([0], 1), ([1, 2], 1)]


@ours
def test_groups_of_a_split_backward_share_no_node(m):
    """pipelining_backward/W-20: groups with overlapping runs are joined into one."""
    for build, expected in ((stack, [2, 2]), (shared_scale, [2, 5]), (tied_at_both_ends, [2]), (looped, [4])):
        forward, weights = build(m)
        x = numbers(m, 2, 3)
        _, groups = lib(m).stage_backward_input([forward(x)], None, [x], weights)
        assert [len(g["params"]) for g in groups] == expected, build
