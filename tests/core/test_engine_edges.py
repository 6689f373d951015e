"""Gradient edges: the results of `get_gradient_edge`, and edges instead of tensors as roots and as inputs."""

import gc

import pytest

from tests.core.engine_tools import accumulator, leaf, note, ours, raises, runs, value
from tests.core.function_tools import function, scaled


def edge_to(m, x):
    return m.autograd.graph.get_gradient_edge(x)


def remarked(m, backward=lambda ctx, *gs: gs[0] * 2):
    """Two times x, and three outputs without a gradient: a text, integers, and a constant."""
    def forward(ctx, x):
        constant = x * 3
        ctx.mark_non_differentiable(constant)
        return x * 2, "text", x.to(m.int64), constant
    return function(m, forward, backward)


def test_edge_is_a_named_tuple(m):
    """graph/E-01"""
    make = m.autograd.graph.GradientEdge
    node = (leaf(m, 1.) * 2).grad_fn
    edge = make(node, 0)
    assert isinstance(edge, tuple) and make._fields == ("node", "output_nr", "ownership_token")
    assert edge == (node, 0, None) == make(node=node, output_nr=0, ownership_token=None) and edge.node is node


@pytest.mark.parametrize("grad_mode", [True, False])
def test_edges_of_tensors(m, grad_mode):
    """graph/E-02, graph/T-06: a leaf, an inner tensor, a second output, an output of a Function; also without grad mode."""
    x = leaf(m, 1., 2.)
    y, (_, b), f = x * 2, x.split(1), scaled(m).apply(x)
    with m.set_grad_enabled(grad_mode):
        for t, node, number in [(x, accumulator(x) if grad_mode else None, 0), (y, y.grad_fn, 0), (b, b.grad_fn, 1), (f, f.grad_fn, 0)]:
            edge = edge_to(m, t)
            assert isinstance(edge, m.autograd.graph.GradientEdge) and edge.output_nr == number == t.output_nr
            assert edge.node is node or (t is x and edge.node.variable is x)
    fresh = leaf(m, 1.)         # no graph holds an accumulator yet
    with m.set_grad_enabled(grad_mode):
        assert edge_to(m, fresh).node.variable is fresh


def test_no_edge_without_a_gradient(m):
    """graph/E-03"""
    with raises(RuntimeError, "for a Tensor that does not require"):
        edge_to(m, m.tensor(1.))


def test_ownership_token(m):
    """graph/E-05: the token is None for the nodes of the library."""
    x = leaf(m, 1.)
    assert edge_to(m, x * 2).ownership_token is None and edge_to(m, x).ownership_token is None
    assert len(edge_to(m, scaled(m).apply(x))) == 3


@pytest.mark.parametrize("builtin", [True, False])
def test_edge_keeps_the_graph(m, builtin):
    """graph/E-06"""
    x = leaf(m, 3.)
    y = x * x * 2 if builtin else scaled(m).apply(x * x)
    edge = edge_to(m, y)
    del y
    gc.collect()
    m.autograd.backward(edge)
    assert value(x.grad) == 12


def test_edges_in_the_place_of_tensors(m):
    """graph/E-07, graph/E-09"""
    x, w = leaf(m, 1., 2.), leaf(m, 3., 4.)
    y = x * w
    _, b = y.split(1)
    z = y.sum() + b.sum()
    for t in (x, w, y, b):
        expected, = m.autograd.grad(z, t, retain_graph=True)
        for outputs in (z, edge_to(m, z), [edge_to(m, z)]):
            for inputs in (edge_to(m, t), [edge_to(m, t)], {"t": edge_to(m, t)}):
                found = m.autograd.grad(outputs, inputs, retain_graph=True)
                assert value(found["t"] if isinstance(found, dict) else found[0]) == value(expected)
    found = m.autograd.grad([edge_to(m, y), z], [x, edge_to(m, w)], [m.ones(2), None], retain_graph=True)
    assert value(found) == [[6, 12], [2, 6]]
    m.autograd.backward((edge_to(m, y), y), (m.ones(2), m.ones(2)), inputs=[edge_to(m, x), w])
    assert value(x.grad) == [6, 8] and value(w.grad) == [2, 4]


@pytest.mark.parametrize("values, dtype", [((1., 2.), "float32"), ((1 + 1j,), "complex64")], ids=["two", "complex"])
def test_no_implicit_gradient_of_an_edge(m, values, dtype):
    """graph/E-08"""
    y = leaf(m, *values, dtype=dtype) * 2
    with raises(RuntimeError, "implicitly created only for"):
        m.autograd.backward(edge_to(m, y))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_implicit_gradient_of_an_edge(m, shape):
    """graph/E-08: one, of the shape and dtype that the node remembers."""
    x = m.zeros(shape, dtype=m.float64, requires_grad=True)
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append((tuple(g.shape), g.dtype, value(g.sum()))))
    m.autograd.backward(edge_to(m, y))
    assert seen == [(shape, m.float64, 1)] and x.grad.shape == shape


def test_gradient_of_an_edge_that_does_not_fit(m):
    """graph/E-08: the gradient is checked against the metadata of the node."""
    y = leaf(m, 1., 2.) * 2
    with raises(RuntimeError, "Mismatch in shape"):
        m.autograd.backward(edge_to(m, y), m.ones(3))


def test_backward_into_edges(m):
    """graph/E-10: the edge of a leaf accumulates; the node of an inner tensor runs, and no gradient is stored."""
    x = leaf(m, 3.)
    y = x * 2
    z = y * 5
    z.backward(inputs=[edge_to(m, x)], retain_graph=True)
    assert value(x.grad) == 10 and not y.retains_grad
    ran = []
    runs(ran, y=y.grad_fn)
    z.backward(inputs=[edge_to(m, y)])
    assert ran == ["y"] and value(x.grad) == 10 and not y.retains_grad


@pytest.mark.parametrize("make, key", [
    (lambda m, y: (y.grad_fn, 0), "have to be Tensors or GradientEdges"),
    (lambda m, y: m.autograd.graph.GradientEdge(y, 0), "GradientEdge's first object must be"),
    (lambda m, y: m.autograd.graph.GradientEdge(None, 0), "GradientEdge's first object must be"),
], ids=["tuple", "tensor", "None"])
@pytest.mark.parametrize("how", ["grad", "backward"])
def test_what_is_no_edge(m, make, key, how):
    """graph/E-11, graph/E-12"""
    x = leaf(m, 3.)
    y = x * 2
    bad = make(m, y)
    with raises(RuntimeError, key):
        m.autograd.grad(y, [x, bad]) if how == "grad" else y.backward(inputs=[x, bad])
    assert x.grad is None
    y.backward()
    assert value(x.grad) == 2


@pytest.mark.differs(
    what="`backward` of a `GradientEdge` whose first field is no node",
    there="AttributeError: a tensor has no `_input_metadata`.",
    here="RuntimeError, which says that the first field must be a node.")
@ours
def test_root_that_is_no_edge(m):
    """graph/E-12: torch fails over an attribute."""
    y = leaf(m, 3.) * 2
    for bad in (y, None, "node"):
        with raises(RuntimeError, "GradientEdge's first object must be"):
            m.autograd.backward(m.autograd.graph.GradientEdge(bad, 0), m.ones(()))


@pytest.mark.differs(
    what="A `GradientEdge` with a number that no output of the node has",
    there="The process crashes.",
    here="RuntimeError: the number is out of range. No call from Python may end the process.")
@ours
@pytest.mark.parametrize("number", [1, -1, 2 ** 40, 0.5, "0", None])
def test_edge_of_an_output_that_there_is_not(m, number):
    """graph/E-13: where torch dies."""
    x = leaf(m, 3.)
    a, _ = leaf(m, 1., 2.).split(1)
    y = x * 2
    for node, n in ((y.grad_fn, number), (accumulator(x), number), (a.grad_fn, number if number != 1 else 2)):
        edge = m.autograd.graph.GradientEdge(node, n)
        for run in (lambda: m.autograd.grad(y, edge, retain_graph=True),                            # noqa: B023
                    lambda: m.autograd.backward(edge, m.ones(()), retain_graph=True),               # noqa: B023
                    lambda: m.autograd.grad(edge, x, m.ones(()), retain_graph=True),                # noqa: B023
                    lambda: m.autograd.backward(y, inputs=[edge], retain_graph=True)):              # noqa: B023
            with raises(RuntimeError, "out of range"):
                run()
    y.backward()
    assert value(x.grad) == 2


@pytest.mark.parametrize("number", [1, 2, 3])
def test_edge_of_an_output_without_a_gradient(m, number):
    """graph/E-13: as a root it is an error, as an input no gradient arrives. A text, integers, and a constant."""
    x = leaf(m, 1., 2.)
    ran = []

    def backward(ctx, *gs):
        ran.append("backward")
        return gs[0] * 2
    y, *_ = remarked(m, backward).apply(x)
    edge = m.autograd.graph.GradientEdge(y.grad_fn, number)
    for gradient in (None, m.ones(2)):
        with pytest.raises(RuntimeError):
            m.autograd.backward(edge, gradient)
    assert m.autograd.grad(y.sum(), edge, allow_unused=True, retain_graph=True) == (None,) and ran == []
    with raises(RuntimeError, "appears to not have been used"):
        m.autograd.grad(y.sum(), edge, retain_graph=True)
    y.sum().backward(inputs=[edge], retain_graph=True)
    assert ran == ["backward"] and x.grad is None
    y.sum().backward()
    assert value(x.grad) == [2, 2]


@pytest.mark.differs(
    what="`backward` of a `GradientEdge` of an output that has no gradient",
    there="An internal assertion fails.",
    here="RuntimeError, which says that this output has no gradient to start from.")
@ours
def test_error_of_an_output_without_a_gradient(m):
    """graph/E-13: it says why, and before anything runs."""
    y, *_ = remarked(m).apply(leaf(m, 1., 2.))
    for number in (1, 2, 3):
        for gradient in (None, m.ones(()), m.ones(2)):
            with raises(RuntimeError, f"output {number} of MineBackward has no gradient to start from"):
                m.autograd.backward(m.autograd.graph.GradientEdge(y.grad_fn, number), gradient)


def test_no_zeros_for_an_edge(m):
    """graph/E-14"""
    x, w = leaf(m, 3.), leaf(m, 4.)
    held = w * 1
    with raises(RuntimeError, "when the given input is a GradientEdge"):
        m.autograd.grad(x * 2, [x, edge_to(m, held)], materialize_grads=True)
    found = m.autograd.grad(x * 2, [edge_to(m, x)], materialize_grads=True)
    assert value(found) == [2]


def test_batched_gradients_of_an_edge(m):
    """graph/E-15: as of a tensor, where they have its shape behind the first dimension."""
    x = leaf(m, 1., 2.)
    y = x * 2
    edge, rows = edge_to(m, y), m.tensor([[0., 1.], [2., 3.], [4., 5.]])
    assert value(m.autograd.grad(edge, x, rows, is_grads_batched=True, retain_graph=True)) == [[[0, 2], [4, 6], [8, 10]]]
    assert value(m.autograd.grad(y, [edge], rows, is_grads_batched=True, retain_graph=True)) == [value(rows)]
    for bad in (m.ones(3), m.ones(3, 3)):
        with raises(RuntimeError, "not supported with GradientEdge"):
            m.autograd.grad(edge, x, bad, is_grads_batched=True)


def test_node_or_accumulator(m):
    """graph/E-16"""
    of = m.autograd.graph._get_grad_fn_or_grad_acc
    x = leaf(m, 1.)
    y = x * 2
    assert of(y) is y.grad_fn is of(edge_to(m, y)) and of(x) is accumulator(x)
    fresh = leaf(m, 1.)
    with m.no_grad():
        assert of(fresh).variable is fresh
    with raises(AssertionError, "Expected gradient function to be set"):
        of(m.tensor(1.))


def test_hooks_along_edges(m):
    """graph/E-07: as if the tensor had been given; the accumulator's own hooks do not fire for `grad`."""
    x = leaf(m, 1.)
    y = x * 2
    events = []
    x.register_hook(note(events, "tensor x"))
    y.register_hook(note(events, "tensor y"))
    accumulator(x).register_prehook(note(events, "pre x"))
    m.autograd.grad(y, [edge_to(m, x), edge_to(m, y)])
    assert events == ["tensor y", "tensor x"]


@pytest.mark.parametrize("op", ["exp", "mul", "constant", "addcmul", "cat", "in place", "power in place", "write"])
def test_edges_to_later_outputs(m, op):
    """Edges to other outputs than the first, of nodes with one edge, two and more; the gradients arrive at these outputs."""
    def two(ctx, x):
        return x * 2, x * 3
    x, c = leaf(m, 1., 2.), m.tensor([3., 4.])
    a, b = function(m, two, lambda ctx, g, h: g * 2 + h * 3).apply(x)
    node = b.grad_fn
    if op == "exp":
        y, edges, expected = b.exp(), [(node, 1)], 3 * (3 * x).exp()
    elif op == "mul":
        y, edges, expected = b * a, [(node, 1), (node, 0)], 12 * x
    elif op == "constant":
        y, edges, expected = c * b, [(None, 0), (node, 1)], 3 * c
    elif op == "addcmul":
        y, edges, expected = m.addcmul(c, b, a), [(None, 0), (node, 1), (node, 0)], 12 * x
    elif op == "cat":
        y, edges, expected = m.cat([c, b, a, b]), [(None, 0), (node, 1), (node, 0), (node, 1)], x * 0 + 8
    elif op == "in place":
        y, edges, expected = b.mul_(a), [(node, 1), (node, 0)], 12 * x
    elif op == "power in place":
        y, edges, expected = b.pow_(2), [(node, 1)], 18 * x
    else:
        b[0] = a[1]
        y, edges, expected = b, [(node, 1), (a[1].grad_fn, 0)], m.tensor([0., 5.])
    found = y.grad_fn.next_functions
    if op == "write":
        assert found[0] == edges[0] and len(found) == 2
    else:
        assert list(found) == edges
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx(expected.tolist())
