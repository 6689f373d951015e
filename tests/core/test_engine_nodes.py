"""Nodes as a program sees them: their classes, their lifetime, their attributes, and the arguments of their hooks."""

import gc
import random
import threading
import weakref

import pytest

from tests.core.engine_tools import accumulator, leaf, note, ours, raises, runs, value
from tests.core.function_tools import function, scaled, square


def kinds(m):
    """A node of each kind, by its name."""
    x = leaf(m, 1., 2.)
    y = x * 1
    y[0] = 5.
    return {"MulBackward0": (x * 2).grad_fn, "AccumulateGrad": accumulator(x), "MineBackward": scaled(m).apply(x).grad_fn,
            "CopySlices": y.grad_fn, "SplitBackward0": x.split(1)[0].grad_fn}


# ---- class relations ----------------------------------------------------------------------------------------


def test_node_is_abstract(m):
    """graph/N-01"""
    with raises(TypeError, "abstract"):
        m.autograd.graph.Node()


def test_every_node_is_a_node(m):
    """graph/N-02: without deriving from it."""
    for name, node in kinds(m).items():
        assert isinstance(node, m.autograd.graph.Node) and issubclass(type(node), m.autograd.graph.Node), name
        assert m.autograd.graph.Node not in type(node).__mro__
    assert not isinstance(m.ones(1), m.autograd.graph.Node) and not isinstance(None, m.autograd.graph.Node)


def test_subclass_does_not_inherit_the_answer(m):
    """graph/N-03"""
    class Special(m.autograd.graph.Node):
        pass
    assert issubclass(Special, m.autograd.graph.Node)
    for name, node in kinds(m).items():
        assert not isinstance(node, Special), name


def test_ctx_is_the_node(m):
    """graph/N-04: in forward, in backward and afterwards."""
    seen = []

    def forward(ctx, x):
        seen.append(ctx)
        return x * 2

    def backward(ctx, g):
        seen.append(ctx)
        return g * 2
    y = function(m, forward, backward).apply(leaf(m, 1.))
    y.backward()
    assert len(seen) == 2 and seen[0] is seen[1] is y.grad_fn


# ---- identity and lifetime ----------------------------------------------------------------------------------


def test_identity_of_nodes(m):
    """graph/N-05: one object, whichever way it is reached; equal and hashed by identity."""
    x = leaf(m, 1., 2.)
    y = x * 2
    z = y.exp()
    assert y.grad_fn is y.grad_fn is z.grad_fn.next_functions[0][0]
    assert {y.grad_fn: "y", z.grad_fn: "z"}[y.grad_fn] == "y"
    assert y.grad_fn == y.grad_fn != (x * 2).grad_fn and len({y.grad_fn, y.grad_fn, z.grad_fn}) == 2


def test_notes_on_a_node(m):
    """graph/N-06, graph/N-15: a dict, empty at first and always the same; seen on every path while the graph is alive."""
    for name, node in kinds(m).items():
        assert node.metadata == {} and node.metadata is node.metadata, name
    y = leaf(m, 1.) * 2
    z = y.exp()
    y.grad_fn.metadata["note"] = value
    gc.collect()
    assert z.grad_fn.next_functions[0][0].metadata == {"note": value}
    w = scaled(m).apply(y)
    w.grad_fn.mine = 3
    assert w.exp().grad_fn.next_functions[0][0].mine == 3


def test_node_keeps_what_is_behind_it(m):
    """graph/N-07: towards the leaves; not the tensors that were computed from it, nor its own."""
    x = leaf(m, 2.)
    y = x * 3
    z = y.sin()
    node = z.grad_fn
    dead = [weakref.ref(t) for t in (z, z * 5)]
    edge = m.autograd.graph.GradientEdge(node, 0)
    del y, z
    gc.collect()
    assert [d() for d in dead] == [None, None]
    behind, = [n for n, _ in node.next_functions]
    assert behind.name().startswith("MulBackward") and behind.next_functions[0][0].variable is x
    m.autograd.backward(edge)
    assert value(x.grad) == pytest.approx(3 * 0.9601703)


def test_function_node_without_its_output(m):
    """graph/N-08"""
    x = leaf(m, 2.)
    y = square(m).apply(x)
    node = y.grad_fn
    del y
    gc.collect()
    assert node.name() == "MineBackward" and node.next_functions[0][0].variable is x and node.metadata == {}
    assert value(node.saved_tensors) == [2]


# ---- members ------------------------------------------------------------------------------------------------


def test_names(m):
    """graph/N-09"""
    for name, node in kinds(m).items():
        assert node.name().split("::")[-1] == name and f"{name} object at 0x" in repr(node)


def test_edges_of_a_builtin(m):
    """graph/N-10: one per tensor argument, and for a number; nowhere without a gradient."""
    x, w, c = leaf(m, 2.), leaf(m, 3.), m.tensor(4.)
    acc, other = accumulator(x), accumulator(w)
    held = x.exp(), w.exp()
    for y, expected in [(x * w, ((acc, 0), (other, 0))), (w * x, ((other, 0), (acc, 0))), (x * c, ((acc, 0), (None, 0))),
                        (x * 2, ((acc, 0), (None, 0))), (x.exp(), ((acc, 0),))]:
        found = y.grad_fn.next_functions
        assert type(found) is tuple and len(found) == len(expected)
        # some graph has held the accumulator of the leaf all the time
        assert [(n and n.variable, i) for n, i in found] == [(n and n.variable, i) for n, i in expected]
    del held


def test_edges_of_a_function(m):
    """graph/N-11: tensors only."""
    double = function(m, lambda ctx, x, y: x * 2, lambda ctx, g: (g * 2, None))
    x = leaf(m, 2.)
    acc = accumulator(x)
    node, nothing = double.apply(x, m.tensor(1.)).grad_fn.next_functions
    assert node[0].variable is x and nothing == (None, 0)
    (node, number), = double.apply(x, 3).grad_fn.next_functions
    assert node.variable is x and number == 0
    del acc


def test_edges_to_several_outputs(m):
    """graph/N-12"""
    a, b = leaf(m, 1., 2.).chunk(2)
    assert a.grad_fn is b.grad_fn and (a.output_nr, b.output_nr) == (0, 1)
    assert (a * b).grad_fn.next_functions == ((a.grad_fn, 0), (a.grad_fn, 1))


def test_accumulators(m):
    """graph/N-13, graph/N-14: one per leaf, as long as a graph holds it."""
    x = leaf(m, 2.)
    y, z = x * 2, x.exp()
    acc = y.grad_fn.next_functions[0][0]
    assert acc is z.grad_fn.next_functions[0][0] is accumulator(x)
    assert acc.next_functions == () and acc.variable is x
    acc.metadata["mine"] = True
    del acc, y, z
    gc.collect()
    assert accumulator(x).metadata == {}


def test_input_metadata(m):
    """graph/N-16: shape, dtype and device of each output; a record that says nothing for one without a gradient."""
    x = m.zeros(2, 3, dtype=m.float64, requires_grad=True)
    record, = (x * 2).grad_fn._input_metadata
    assert (tuple(record.shape), record.dtype, str(record.device)) == ((2, 3), m.float64, "cpu")
    assert [tuple(r.shape) for r in x.split([2, 1], dim=1)[0].grad_fn._input_metadata] == [(2, 2), (2, 1)]
    record, = accumulator(x)._input_metadata
    assert (tuple(record.shape), record.dtype) == ((2, 3), m.float64)

    def forward(ctx, x):
        constant = x * 3
        ctx.mark_non_differentiable(constant)
        return x * 2, "text", x.to(m.int64), constant
    y, *_ = function(m, forward, lambda ctx, *gs: gs[0] * 2).apply(x)
    assert [(tuple(r.shape), r.dtype) for r in y.grad_fn._input_metadata] == [((2, 3), m.float64)] + 3 * [((), m.float32)]


def test_sequence_numbers(m):
    """graph/N-17, graph/N-18, graph/N-19"""
    x = leaf(m, 1.)
    a, b, c = x * 2, x * 3, scaled(m).apply(x)
    first = a.grad_fn._sequence_nr()
    assert [n.grad_fn._sequence_nr() - first for n in (a, b, c)] == [0, 1, 2]
    assert accumulator(x)._sequence_nr() == 2 ** 64 - 1
    numbers = []
    thread = threading.Thread(target=lambda: numbers.extend((x * i).grad_fn._sequence_nr() for i in range(2)))
    thread.start()
    thread.join()
    assert numbers == [0, 1]
    assert all(node.requires_grad is True for node in kinds(m).values())
    # the later of the ready nodes runs first: here the one that says so
    ran = []
    runs(ran, a=a.grad_fn, b=b.grad_fn)
    a.grad_fn._set_sequence_nr(first + 10)
    assert a.grad_fn._sequence_nr() == first + 10
    (a + b).backward()
    assert ran == ["a", "b"]


def test_saved_values_by_name(m):
    """graph/N-20: saved values have the names of arguments, and a handle each; a value that is not needed is None."""
    x, c = leaf(m, 2.), m.tensor(3.)
    product, e = (x * c).grad_fn, x.exp().grad_fn
    assert value(product._saved_other) == 3 and product._saved_self is None and value(e._saved_result) == pytest.approx(7.389056)
    assert hasattr(product, "_raw_saved_other") and hasattr(e, "_raw_saved_result")
    assert {"_saved_self", "_saved_other", "_raw_saved_self", "_raw_saved_other"} <= set(dir(product))
    with pytest.raises(AttributeError):
        e._saved_other          # noqa: B018


@pytest.mark.parametrize("seed", range(4))
def test_reached_exactly_where_a_path_leads(m, seed):
    """graph/N-22: whatever a library prunes by, a gradient arrives where there is a path, and nowhere else."""
    random.seed(seed)
    x = leaf(m, 1.)
    nodes, behind = [x], {0: {0}}
    for i in range(1, 30):
        a, b = random.choices(range(max(0, i - 8), i), k=2)
        nodes.append(nodes[a] * 0.5 if a == b else nodes[a] + nodes[b])
        behind[i] = {i} | behind[a] | behind[b]
    for root in random.sample(range(30), 8):
        found = m.autograd.grad(nodes[root], nodes, allow_unused=True, retain_graph=True)
        assert {i for i, g in enumerate(found) if g is not None} == behind[root]


# ---- post-hooks ---------------------------------------------------------------------------------------------


def test_post_hooks(m):
    """graph/N-30, graph/N-32, graph/N-38: hooks get tuples, with None for unneeded gradients; each sees the result of the last."""
    x, c = leaf(m, 1.), m.tensor(3.)
    y = x * c
    seen = []

    def hook(grads, outs):
        assert type(grads) is type(outs) is tuple
        seen.append(value([grads, outs]))
        return grads[0] * 10, None
    handle = y.grad_fn.register_hook(hook)
    y.grad_fn.register_hook(lambda grads, outs: seen.append(value([grads, outs])))
    y.backward(retain_graph=True)
    assert seen == [[[3, None], [1]], [[30, None], [1]]] and value(x.grad) == 30
    handle.remove()
    y.backward()
    assert seen[2:] == [[[3, None], [1]]]


def test_node_hooks_fire_if_the_node_runs(m):
    """graph/N-31, graph/N-43: not if its gradient is merely captured."""
    x = leaf(m, 1.)
    y = x * 2
    z = y * 3
    events = []
    y.grad_fn.register_hook(note(events, "post"))
    y.grad_fn.register_prehook(note(events, "pre"))
    m.autograd.grad(z, y, retain_graph=True)
    assert events == []
    m.autograd.grad(z, x, retain_graph=True)
    assert events == ["pre", "post"]


@pytest.mark.parametrize("hook, error, key", [
    (lambda m, g: 1.0, TypeError, "expected Variable, but hook returned"),
    (lambda m, g: g.double(), RuntimeError, "has changed the type of value"),
    (lambda m, g: g.reshape(1, 2), RuntimeError, "has changed the size of value"),
    (lambda m, g: g[:1], RuntimeError, "has changed the size of value"),
], ids=["type", "dtype", "shape", "broadcastable"])
@pytest.mark.parametrize("kind", ["pre", "post"])
def test_entries_that_do_not_fit(m, hook, error, key, kind):
    """graph/N-36, graph/N-41: the message names the hook."""
    y = leaf(m, 1., 2.) * 2

    def mine(grads, outs=None):
        return (hook(m, grads[0]), *grads[1:])
    y.grad_fn.register_prehook(mine) if kind == "pre" else y.grad_fn.register_hook(mine)
    with raises(error, key) as caught:
        y.sum().backward()
    if error is RuntimeError:
        assert "mine" in str(caught.value)


def test_hook_without_a_name(m):
    """graph/N-36"""
    class Hook:
        def __call__(self, grads):
            return grads + grads
    y = leaf(m, 1., 2.) * 2
    y.grad_fn.register_prehook(Hook())
    with raises(RuntimeError, "<unknown>"):
        y.sum().backward()


# ---- pre-hooks ----------------------------------------------------------------------------------------------


def test_pre_hooks(m):
    """graph/N-40: a tuple with an entry per output."""
    x = leaf(m, 1., 2.)
    a, b = x.split(1)
    seen = []

    def hook(grads):
        assert type(grads) is tuple
        seen.append(value(grads))
        return (grads[0] * 10, grads[1])
    a.grad_fn.register_prehook(hook)
    (a * 3).sum().backward(retain_graph=True)
    (a * 3 + b).sum().backward()
    assert seen == [[[3], None], [[3], [1]]] and value(x.grad) == [60, 1]


def test_pre_hook_that_takes_a_gradient_away(m):
    """graph/N-42"""
    x = leaf(m, 1.)
    y = x * 2
    seen = []
    y.grad_fn.register_prehook(lambda grads: (None,))
    y.grad_fn.register_hook(lambda grads, outs: seen.append((grads, outs)))
    y.backward()
    assert x.grad is None and seen == [((None, None), (None,))]


def test_function_gets_zeros_after_the_pre_hook(m):
    """graph/N-44"""
    seen = []

    def backward(ctx, *grads):
        seen.append(value(grads))
        return grads[0] + grads[1]
    y, z = function(m, lambda ctx, x: (x * 1, x * 2), backward).apply(leaf(m, 1.))
    y.grad_fn.register_prehook(lambda grads: seen.append(value(grads)))
    z.backward()
    assert seen == [[None, 1], [0, 1]]


# ---- the module ---------------------------------------------------------------------------------------------


@ours
def test_public_names_of_graph(m):
    """The names of torch, without those about CUDA graphs and the compiler."""
    torch = pytest.importorskip("torch")
    theirs, mine = set(torch.autograd.graph.__all__), set(m.autograd.graph.__all__)
    assert theirs - mine == {"set_override_stale_capture_stream", "region_activation_memory_budget"} and mine <= theirs
    for name in ("_get_grad_fn_or_grad_acc", "_engine_run_backward", "_register_logging_hooks_on_whole_graph", "_MultiHandle"):
        assert hasattr(m.autograd.graph, name) and hasattr(torch.autograd.graph, name)
    assert theirs >= mine and all(hasattr(m.autograd.graph, name) for name in mine)


def test_stream_mismatch(m):
    """graph/O-01"""
    for enabled in (False, True):
        assert m.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(enabled) is None
    with raises(RuntimeError, "must be a bool"):
        m.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(1)
