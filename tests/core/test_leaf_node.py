"""Note [A leaf and its node] in ``_core/graph/accumulate_grad.py``: a leaf finds its node as long as a graph holds it."""

import gc
import weakref

import minigrad as mg


def leaf_node(y):
    """The node of the leaf x, where y is the result of an op on x."""
    return y.grad_fn.next_functions[0][0]


def test_a_leaf_has_one_node_while_a_graph_holds_it():
    x = mg.tensor([1., 2.], requires_grad=True)
    y, z = x * 2, x * 3
    assert leaf_node(y) is leaf_node(z)
    assert leaf_node(y).variable is x
    before = weakref.ref(leaf_node(y))
    del y, z
    assert before() is None
    for _ in range(3):
        (x * 5).sum().backward()
    assert x.grad.tolist() == [15, 15]


def test_a_graph_outlives_its_leaf():
    y = mg.tensor([3.], requires_grad=True) * 2
    x = leaf_node(y).variable
    y.backward()
    assert x.grad.tolist() == [2]


def test_a_cycle_through_a_hook_is_freed():
    x = mg.tensor([1.], requires_grad=True)
    y = x * 2
    x.register_hook(lambda grad, y=y: None)
    node, leaf = weakref.ref(leaf_node(y)), weakref.ref(x)
    del x, y
    gc.collect()
    assert node() is None and leaf() is None


def test_a_finalizer_in_a_cycle_uses_the_leaf():
    class Last:
        def __del__(self):
            (self.x * 7).backward()
            found.append(self.x.grad.item())

    found = []
    last = Last()
    last.me, last.x = last, mg.tensor([1.], requires_grad=True)
    last.y = last.x * 2
    last.x.register_hook(lambda grad, y=last.y: None)
    del last
    gc.collect()
    assert found == [7]


def test_a_leaf_that_was_unpacked_outlives_the_graph():
    class Keep(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            kept.append(ctx.saved_tensors[0])
            return g

    kept = []
    x = mg.tensor([2.], requires_grad=True)
    with mg.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        y = Keep.apply(x)
    y.backward()
    other, = kept
    assert other is not x and other.requires_grad
    del y
    gc.collect()
    (other * 3).backward()      # its gradient goes to the leaf that was saved
    assert x.grad.tolist() == [4] and other.grad is None
    del x
    gc.collect()
    (other * 3).backward()


def test_other_data_gets_another_node():
    x = mg.tensor([1., 2.], requires_grad=True)
    y = x * 2
    before = leaf_node(y)
    x.data = mg.tensor([1., 2., 3.])
    z = x * 3
    assert leaf_node(z) is not before
    del y, before
    gc.collect()
    assert leaf_node(z) is leaf_node(x * 1)
    z.sum().backward()
    assert x.grad.tolist() == [3, 3, 3]


def test_saved_attributes_have_their_history_under_no_grad():
    x = mg.tensor([1., 2.], requires_grad=True)
    with mg.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t):
        y = x * x
        z = y.exp()
    with mg.no_grad():
        assert y.grad_fn._saved_self.requires_grad
        assert z.grad_fn._saved_result.grad_fn is z.grad_fn
