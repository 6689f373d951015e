"""An activation that is one node in PyTorch is one node here, with the same name, inputs and saved values."""

import numpy as np
import pytest
import torch

import minigrad as mg

NUMBERS = np.random.default_rng(7).standard_normal((4, 6)) * 3
# the arguments of each
FUNCTIONS = {
    "elu": (0.7,), "selu": (), "celu": (0.7,), "silu": (), "mish": (), "gelu": (), "softplus": (2, 3), "logsigmoid": (),
    "hardtanh": (-0.5, 0.7), "relu6": (), "hardswish": (), "hardsigmoid": (), "leaky_relu": (0.2,), "threshold": (0.1, 20.0),
    "softshrink": (0.3,), "hardshrink": (0.3,), "glu": (), "tanhshrink": (), "softsign": (), "relu": (),
}
IN_PLACE = ["elu", "selu", "celu", "silu", "mish", "hardtanh", "relu6", "hardswish", "hardsigmoid", "leaky_relu", "threshold", "relu"]
LAYERS = {
    "ELU": (0.7,), "SELU": (), "CELU": (0.7,), "SiLU": (), "Mish": (), "GELU": ("tanh",), "Softplus": (2, 3), "LogSigmoid": (),
    "Hardtanh": (-0.5, 0.7), "ReLU6": (), "Hardswish": (), "Hardsigmoid": (), "LeakyReLU": (0.2,), "Threshold": (0.1, 20.0),
    "Softshrink": (0.3,), "Hardshrink": (0.3,), "GLU": (0,), "PReLU": (), "Tanhshrink": (), "Softsign": (), "ReLU": (),
}
LAYERS_IN_PLACE = ["ELU", "SELU", "CELU", "SiLU", "Mish", "Hardtanh", "ReLU6", "Hardswish", "Hardsigmoid", "LeakyReLU", "Threshold", "ReLU"]
# In PyTorch too these are made of several ops.
OF_SEVERAL = ("tanhshrink", "softsign", "Tanhshrink", "Softsign")
# The nodes of a second backward: PyTorch writes these two with ops, and has no formula for the third.
OTHER_SECOND_NODES = {"silu", "mish", "hardsigmoid"}


def leaf(m, numbers=NUMBERS):
    return m.tensor(numbers, dtype=m.float64, requires_grad=True)


def name(node):
    return None if node is None else node.name().split("::")[-1]


def plain(value):
    """What was saved, as numbers."""
    if hasattr(value, "detach"):
        return np.array(value.detach().tolist())
    if type(value) is int and value >= 1 << 63:     # PyTorch shows dim=-1 without its sign
        return value - (1 << 64)
    return value


def saved(node):
    found = {attribute: plain(getattr(node, attribute)) for attribute in dir(node) if attribute.startswith("_saved_")}
    return found, sorted([attribute for attribute in dir(node) if attribute.startswith("_raw_saved_")])


def compare(ours, theirs):
    """Compare two nodes: name, next nodes, what is saved."""
    assert name(ours) == name(theirs)
    assert [name(n) for n, _ in ours.next_functions] == [name(n) for n, _ in theirs.next_functions]
    (our_values, our_raw), (their_values, their_raw) = saved(ours), saved(theirs)
    assert sorted(our_values) == sorted(their_values)
    assert our_raw == their_raw
    for attribute, value in their_values.items():
        if isinstance(value, (str, bool)) or value is None:
            assert our_values[attribute] == value, attribute
        else:
            np.testing.assert_allclose(our_values[attribute], value, rtol=1e-12, err_msg=attribute)


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f not in OF_SEVERAL])
def test_function(function):
    """differences/N-03"""
    ours, theirs = [getattr(m.nn.functional, function)(leaf(m), *FUNCTIONS[function]) for m in (mg, torch)]
    compare(ours.grad_fn, theirs.grad_fn)


@pytest.mark.parametrize("function", IN_PLACE)
def test_in_place(function):
    """differences/N-03"""
    found = []
    for m in (mg, torch):
        x = leaf(m) * 1
        y = getattr(m.nn.functional, function)(x, *FUNCTIONS[function], inplace=True)
        assert y is x and x._version == 1
        found.append(y.grad_fn)
    compare(*found)


@pytest.mark.parametrize("layer, inplace", [*[(layer, False) for layer in LAYERS if layer not in OF_SEVERAL],
                                           *[(layer, True) for layer in LAYERS_IN_PLACE]])
def test_layer(layer, inplace):
    """differences/N-03"""
    options = {"inplace": True} if inplace else {}
    compare(*[getattr(m.nn, layer)(*LAYERS[layer], **options).to(m.float64)(leaf(m) * 1).grad_fn for m in (mg, torch)])


@pytest.mark.parametrize("needs", [True, False])
@pytest.mark.parametrize("shape", [(), (1,), (6,)])
def test_prelu(shape, needs):
    """differences/N-03"""
    compare(*[m.nn.functional.prelu(leaf(m), m.full(shape, 0.3, dtype=m.float64, requires_grad=needs)).grad_fn for m in (mg, torch)])


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f not in OTHER_SECOND_NODES])
def test_gradient_of_a_function(function):
    """differences/N-03: with create_graph the gradient is one node too."""
    found = []
    for m in (mg, torch):
        x, g = leaf(m), leaf(m, 1.0)
        y = getattr(m.nn.functional, function)(x, *FUNCTIONS[function])
        found.append(m.autograd.grad(y, x, g.expand(y.shape), create_graph=True)[0].grad_fn)
    if function in (*OF_SEVERAL, "relu", "celu"):       # of celu PyTorch has 1 / 0.7 in float32
        assert name(found[0]) == name(found[1])
    else:
        compare(*found)


def test_gradients_of_prelu():
    """differences/N-03: both gradients are results of one node."""
    found = []
    for m in (mg, torch):
        x, w = leaf(m), m.full((6,), 0.3, dtype=m.float64, requires_grad=True)
        dw = m.autograd.grad((m.nn.functional.prelu(x, w) * x).sum(), (x, w), create_graph=True)[1]
        while name(dw.grad_fn) != "PreluKernelBackwardBackward0":       # the sum over the rows
            dw = type("Edge", (), {"grad_fn": dw.grad_fn.next_functions[0][0]})
        found.append(dw.grad_fn)
    compare(*found)


@pytest.mark.parametrize("function", ["elu", "celu", "leaky_relu"])
def test_a_write_after_one_in_place_is_found(function):
    """differences/N-03: its result is saved, and a backward after a write to it is refused."""
    for m in (mg, torch):
        y = getattr(m.nn.functional, function)(leaf(m) * 1, inplace=True)
        y.add_(1)
        with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
            y.sum().backward()


@pytest.mark.parametrize("function", ["silu", "mish", "hardtanh", "threshold", "hardswish"])
def test_a_write_after_another_in_place_is_fine(function):
    """differences/N-03: a copy of the input is saved."""
    found = []
    for m in (mg, torch):
        x = leaf(m)
        y = getattr(m.nn.functional, function)(x * 1, *FUNCTIONS[function], inplace=True)
        y.add_(1)
        y.sum().backward()
        found.append(plain(x.grad))
    np.testing.assert_allclose(*found, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f not in OF_SEVERAL])
def test_node_in_other_dtypes(function, dtype):
    """differences/N-03: float16 adds no conversions to the graph."""
    found = []
    for m in (mg, torch):
        x = m.tensor(NUMBERS, dtype=getattr(m, dtype), requires_grad=True)
        node = getattr(m.nn.functional, function)(x, *FUNCTIONS[function]).grad_fn
        found.append((name(node), [name(n) for n, _ in node.next_functions]))
    assert found[0] == found[1]


@pytest.mark.differs(
    what="`leaky_relu(x, -0.5, inplace=True)`",
    there="The backward raises: the result does not tell where `x` was negative.",
    here="It works: `x` is kept in this case.")
def test_a_falling_slope_in_place():
    """PyTorch refuses the backward: its result does not tell where x was below 0. Here x itself is kept then."""
    x, y = leaf(mg), leaf(mg)
    mg.nn.functional.leaky_relu(x * 1, -0.5, inplace=True).sum().backward()
    mg.nn.functional.leaky_relu(y, -0.5).sum().backward()
    assert x.grad.tolist() == y.grad.tolist()
    mg.nn.functional.elu(x * 1, -0.5, inplace=True).sum().backward()


def test_in_place_elu_keeps_the_digits_of_its_slope():
    """From the result, -0.99999994, the slope e^-16 would be the difference of two almost equal numbers."""
    x = mg.tensor([-16.0, -3.0], requires_grad=True)
    mg.nn.functional.elu(x * 1, inplace=True).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([-16.0, -3.0]), rtol=3e-7)
