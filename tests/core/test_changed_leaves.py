"""Leaves that change their shape or their memory in place while an old graph still leads to them."""

import pytest

import minigrad as mg


def accumulator(y):
    """The node of the leaf behind y = (leaf * number).sum()."""
    return y.grad_fn.next_functions[0][0].next_functions[0][0]


def test_set_makes_a_new_accumulator():
    """differences/S-03."""
    x = mg.ones(2, requires_grad=True)
    old = (x * 2).sum()
    fired = []
    accumulator(old).register_hook(lambda inputs, outputs: fired.append("old"))
    with mg.no_grad():
        x.set_(mg.ones(3))
    new = (x * 3).sum()
    assert accumulator(new) is not accumulator(old)
    new.backward()
    assert x.grad.tolist() == [3, 3, 3] and fired == []
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(3\) must match the size of tensor b \(2\)"):
        old.backward()
    assert x.grad.tolist() == [3, 3, 3]


def test_the_old_graph_does_not_lead_to_the_leaf():
    """differences/S-03."""
    x = mg.ones(2, requires_grad=True)
    y = (x * 2).sum()
    with mg.no_grad():
        x.set_(mg.ones(3))
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        mg.autograd.grad(y, x, retain_graph=True)
    assert mg.autograd.grad(y, x, allow_unused=True) == (None,)


def test_hooks_of_the_old_node_and_of_the_leaf():
    """differences/S-03: hooks of the old node fire for its own graph, hooks of the leaf for both graphs."""
    x = mg.ones(2, requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    y = (x * 2).sum()
    accumulator(y).register_prehook(lambda grads: seen.append("old"))
    with mg.no_grad():
        x.set_(mg.zeros(2))
    (x * 3).sum().backward()
    assert seen == [[3, 3]]
    y.backward()
    assert seen == [[3, 3], "old", [2, 2]] or seen == [[3, 3], [2, 2], "old"]
    assert x.grad.tolist() == [5, 5]


def test_a_hook_put_on_the_leaf_afterwards():
    """differences/S-03: it is the old graph's as well."""
    x = mg.ones(2, requires_grad=True)
    y = (x * 2).sum()
    with mg.no_grad():
        x.set_(mg.zeros(2))
    x.register_hook(lambda g: g * 3)
    y.backward()
    assert x.grad.tolist() == [6, 6]


CHANGES = {
    "t_": lambda x: x.t_(), "transpose_": lambda x: x.transpose_(0, 1), "as_strided_": lambda x: x.as_strided_((2,), (1,)),
    "as_strided_ larger": lambda x: x.as_strided_((2, 2, 3), (0, 3, 1)), "set_": lambda x: x.set_(mg.ones(5)), "set_ to nothing": lambda x: x.set_(),
    "unsqueeze_": lambda x: x.unsqueeze_(0), "unsqueeze_ last": lambda x: x.unsqueeze_(2), "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "data": lambda x: setattr(x, "data", mg.ones(4)),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_a_gradient_of_the_old_shape(name, create_graph):
    """differences/S-04: it broadcasts to the shape that the leaf has by now, or is refused."""
    x = mg.ones(2, 3, requires_grad=True)
    y = (x * 2).sum()
    with mg.no_grad():
        CHANGES[name](x)
    if name in ("unsqueeze_", "as_strided_ larger"):
        y.backward(create_graph=create_graph)
        assert x.grad.shape == x.shape and (x.grad == 2).all()
        x.grad = None
    else:
        with pytest.raises(RuntimeError, match=r"The size of tensor a|doesn't match the broadcast shape"):
            y.backward(create_graph=create_graph)
        assert x.grad is None


@pytest.mark.differs(
    what="`x.squeeze_()` on a leaf under `no_grad`, then the backward of an older graph",
    there="`x.grad` has the old shape, which is not the shape of `x`.",
    here="RuntimeError: a tensor and its gradient have one shape.")
def test_a_leaf_that_lost_a_dimension():
    """differences/S-04: PyTorch leaves a .grad of shape (1, 3) on a leaf of shape (3,)."""
    x = mg.ones(1, 3, requires_grad=True)
    y = (x * 2).sum()
    with mg.no_grad():
        x.squeeze_()
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        y.backward()
    assert x.grad is None


@pytest.mark.parametrize("name", CHANGES)
def test_a_saved_leaf(name):
    """differences/S-04: a graph that has saved the leaf refuses it."""
    x = mg.ones(2, 3, requires_grad=True)
    y = (x * x).sum()
    with mg.no_grad():
        CHANGES[name](x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation" if name != "data" else "The size of tensor a"):
        y.backward()
    assert x.grad is None


@pytest.mark.parametrize("name", CHANGES)
def test_the_next_graph(name):
    """differences/S-04: a graph that is made after the change knows the new shape."""
    x = mg.ones(2, 3, requires_grad=True)
    with mg.no_grad():
        CHANGES[name](x)
    (x * 2).sum().backward()
    assert x.grad.shape == x.shape and (x.grad == 2).all()
