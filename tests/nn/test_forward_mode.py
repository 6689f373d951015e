"""Forward-mode AD through layers, losses and small networks, compared with PyTorch and with reverse mode."""

import numpy as np
import pytest

import minigrad as mg
from tests.nn.cases import LAYERS

torch = pytest.importorskip("torch")


def tangent(m, x):
    return m.autograd.forward_ad.unpack_dual(x).tangent


def dual(m, x, seed=0):
    """`x` with a tangent of random numbers, the same for both libraries."""
    t = np.random.default_rng(seed + x.numel()).standard_normal(tuple(x.shape))
    return m.autograd.forward_ad.make_dual(x, m.tensor(t, dtype=x.dtype))


def functional(m, network, *inputs):
    """The network on dual inputs, with dual parameters in the place of its own."""
    for module in network.modules():
        for i, (name, p) in enumerate(list(module.named_parameters(recurse=False))):
            delattr(module, name)
            setattr(module, name, dual(m, p, i))
    return network(*inputs)


def same_parameters(ours, theirs):
    """Give `ours` the numbers of `theirs`."""
    with mg.no_grad():
        for p, q in zip(ours.parameters(), theirs.parameters()):
            p.copy_(mg.tensor(q.detach().numpy()))


@pytest.mark.parametrize("case", LAYERS, ids=lambda c: c[0])
def test_layer(case):
    name, make, arrays = case
    if name in ("Embedding padded", "Embedding bounded") or "'eps': 0.7" in name:
        pytest.skip("PyTorch's forward mode goes another way than its backward: through the padding, the bound of the variance")
    if name.startswith("Dropout of"):
        pytest.skip("test_dropout")
    networks = {m: make(m).double() if hasattr(make(m), "double") else make(m) for m in (torch, mg)}
    same_parameters(networks[mg], networks[torch])
    found = []
    for m in (torch, mg):
        with m.autograd.forward_ad.dual_level():
            xs = [m.tensor(a) for a in arrays]
            z = functional(m, networks[m], *[dual(m, x) if x.dtype == m.float64 else x for x in xs])
            t = tangent(m, z)
            found.append((z.tolist(), None if t is None else t.tolist()))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-7, atol=1e-9)


def mlp(m):
    return m.nn.Sequential(m.nn.Linear(6, 8), m.nn.Tanh(), m.nn.Dropout(0.3), m.nn.Linear(8, 8), m.nn.ReLU(), m.nn.Linear(8, 3),
                           m.nn.LogSoftmax(dim=1))


def cnn(m):
    return m.nn.Sequential(m.nn.Unflatten(1, (1, 6)), m.nn.Unflatten(2, (2, 3)), m.nn.Conv2d(1, 4, 2, padding=1), m.nn.ReLU(),
                           m.nn.MaxPool2d(2), m.nn.Conv2d(4, 2, 1), m.nn.Sigmoid(), m.nn.AvgPool2d((1, 2)), m.nn.Flatten(), m.nn.Linear(2, 3))


def rnn(m):
    class Recurrent(m.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer, self.last = m.nn.Linear(2, 5), m.nn.Linear(5, 5), m.nn.Linear(5, 3)

        def forward(self, x):
            h = m.zeros(x.shape[0], 5, dtype=x.dtype)
            states = []
            for step in x.reshape(-1, 3, 2).unbind(1):
                h = m.tanh(self.inner(step) + self.outer(h))
                states.append(h)
            weights = m.softmax(m.stack(states, 1).sum(-1), 1)
            return self.last((m.stack(states, 1) * weights[..., None]).sum(1))
    return Recurrent()


@pytest.mark.parametrize("make", [mlp, cnn, rnn])
def test_network(make):
    """The tangent of the loss, of dual inputs and parameters, is PyTorch's."""
    networks = {m: make(m).double().eval() for m in (torch, mg)}
    same_parameters(networks[mg], networks[torch])
    x = np.random.default_rng(4).standard_normal((4, 6))
    found = []
    for m in (torch, mg):
        with m.autograd.forward_ad.dual_level():
            z = functional(m, networks[m], dual(m, m.tensor(x)))
            found.append(tangent(m, m.nn.functional.cross_entropy(z, m.tensor([0, 2, 1, 1]))).item())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


@pytest.mark.parametrize("make", [mlp, cnn, rnn])
def test_network_against_reverse_mode(make):
    """It is the inner product of the tangents and the gradients."""
    network = make(mg).double().eval()
    x = mg.tensor(np.random.default_rng(4).standard_normal((4, 6)), requires_grad=True)
    target = mg.tensor([0, 2, 1, 1])
    parameters = [x, *network.parameters()]
    grads = mg.autograd.grad(mg.nn.functional.cross_entropy(network(x), target), parameters)
    with mg.autograd.forward_ad.dual_level():
        place = [0, *[i for module in network.modules() for i, _ in enumerate(module.named_parameters(recurse=False))]]
        expected = sum((g * tangent(mg, dual(mg, p, i))).sum().item() for g, p, i in zip(grads, parameters, place))
        found = tangent(mg, mg.nn.functional.cross_entropy(functional(mg, network, dual(mg, x)), target)).item()
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("p", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("training", [False, True])
def test_dropout(p, training):
    """The tangent has the mask of the values."""
    x = mg.ones(50)
    with mg.autograd.forward_ad.dual_level():
        z = mg.nn.functional.dropout(mg.autograd.forward_ad.make_dual(x, mg.full((50,), 3.0)), p, training)
        np.testing.assert_allclose(tangent(mg, z).numpy(), 3 * z.numpy(), rtol=1e-6)


def test_gradient_by_tangents():
    """A gradient by forward mode, one parameter at a time."""
    network = mlp(mg).double().eval()
    x, target = mg.tensor(np.random.default_rng(4).standard_normal((4, 6))), mg.tensor([0, 2, 1, 1])
    bias = network[5].bias
    expected, = mg.autograd.grad(mg.nn.functional.nll_loss(network(x), target), bias)
    found = []
    for i in range(3):
        with mg.autograd.forward_ad.dual_level():
            delattr(network[5], "bias")
            network[5].bias = mg.autograd.forward_ad.make_dual(bias.detach(), mg.tensor([float(i == j) for j in range(3)], dtype=mg.float64))
            found.append(tangent(mg, mg.nn.functional.nll_loss(network(x), target)).item())
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-9)
