"""Initial values: their ranges and variances, the fans, and what layers begin with."""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.nn import init

SHAPE = (300, 200)


def spread(x):
    return x.numpy().mean(), x.numpy().std(), np.abs(x.numpy()).max()


@pytest.mark.parametrize("fill, std", [
    (lambda x: init.xavier_uniform_(x), math.sqrt(2 / 500)),
    (lambda x: init.xavier_uniform_(x, gain=3), 3 * math.sqrt(2 / 500)),
    (lambda x: init.kaiming_uniform_(x), math.sqrt(2 / 200)),
    (lambda x: init.kaiming_uniform_(x, a=math.sqrt(5)), math.sqrt(1 / 3 / 200)),
    (lambda x: init.kaiming_uniform_(x, mode="fan_out", nonlinearity="relu"), math.sqrt(2 / 300)),
    (lambda x: init.uniform_(x, -2, 2), 2 / math.sqrt(3)),
], ids=["xavier", "xavier gain", "kaiming", "kaiming a", "kaiming fan_out", "uniform"])
def test_uniform(fill, std):
    """Variance as promised, and no number beyond √3 standard deviations: that is what uniform means."""
    x = mg.empty(*SHAPE)
    assert fill(x) is x
    mean, found, largest = spread(x)
    assert abs(mean) < 0.03 * std and abs(found / std - 1) < 0.01
    assert 0.99 * math.sqrt(3) * std < largest <= math.sqrt(3) * std * (1 + 1e-6)


@pytest.mark.parametrize("fill, std", [
    (lambda x: init.xavier_normal_(x), math.sqrt(2 / 500)),
    (lambda x: init.kaiming_normal_(x), math.sqrt(2 / 200)),
    (lambda x: init.kaiming_normal_(x, mode="fan_out", nonlinearity="tanh"), 5 / 3 / math.sqrt(300)),
    (lambda x: init.normal_(x, 0, 3), 3),
], ids=["xavier", "kaiming", "kaiming tanh", "normal"])
def test_normal(fill, std):
    x = mg.empty(*SHAPE)
    assert fill(x) is x
    mean, found, largest = spread(x)
    assert abs(mean) < 0.03 * std and abs(found / std - 1) < 0.01 and largest > 3.5 * std


def test_fills():
    assert init.constant_(mg.empty(2), 3).tolist() == [3, 3]
    assert init.ones_(mg.empty(2)).tolist() == [1, 1] and init.zeros_(mg.empty(2)).tolist() == [0, 0]
    assert init.eye_(mg.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert abs(init.normal_(mg.empty(10_000), 5, 0.1).numpy().mean() - 5) < 0.01


@pytest.mark.parametrize("shape, fans", [((3, 2), (2, 3)), ((4, 2, 3, 3), (18, 36)), ((0, 2), (2, 0)), ((5, 1, 7), (7, 35))])
def test_fans(shape, fans):
    assert init._calculate_fan_in_and_fan_out(mg.empty(*shape)) == fans


@pytest.mark.parametrize("name, gain", [("linear", 1), ("conv2d", 1), ("sigmoid", 1), ("tanh", 5 / 3), ("relu", math.sqrt(2)),
                                        ("selu", 3 / 4),
                                        ("leaky_relu", math.sqrt(2 / (1 + 1e-4)))])
def test_gain(name, gain):
    assert init.calculate_gain(name) == pytest.approx(gain)


def test_gain_of_a_slope():
    assert init.calculate_gain("leaky_relu", 2) == pytest.approx(math.sqrt(2 / 5))


def test_generator():
    draw = [init.uniform_(mg.empty(4), generator=mg.Generator().manual_seed(s)).tolist() for s in (1, 1, 2)]
    assert draw[0] == draw[1] != draw[2]


def test_nothing_is_recorded():
    p = nn.Parameter(mg.empty(3, 3))
    for fill in (init.kaiming_uniform_, init.xavier_normal_, init.zeros_, init.eye_, init.normal_):
        fill(p)
        assert p.is_leaf and p.requires_grad and p.grad_fn is None


def test_zero_element_tensors():
    for fill in (init.kaiming_uniform_, init.kaiming_normal_):
        with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
            assert fill(mg.empty(0, 2)).shape == (0, 2)


@pytest.mark.parametrize("make, bound", [(lambda: nn.Linear(50, 400), 1 / math.sqrt(50)), (lambda: nn.Conv2d(6, 300, (3, 4),
        groups=2), 1 / math.sqrt(36))],
                         ids=["Linear", "Conv2d"])
def test_layers_begin_uniform(make, bound):
    """±1/√fan_in for weight and bias, as in PyTorch."""
    layer = make()
    for p in layer.parameters():
        _, std, largest = spread(p.detach())
        assert largest <= bound and std == pytest.approx(bound / math.sqrt(3), rel=0.1)
    before = layer.weight.detach().clone()
    layer.reset_parameters()
    assert not np.array_equal(before.numpy(), layer.weight.detach().numpy())


@pytest.mark.parametrize("name", ["kaiming_uniform_", "kaiming_normal_", "xavier_uniform_", "xavier_normal_", "uniform_",
                                  "normal_"])
def test_distribution_is_torchs(name):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    ours = getattr(init, name)(mg.empty(200, 30, 3, 3)).numpy()
    theirs = getattr(torch.nn.init, name)(torch.empty(200, 30, 3, 3)).numpy()
    np.testing.assert_allclose(np.quantile(ours, np.linspace(0.01, 0.99, 21)), np.quantile(theirs, np.linspace(0.01, 0.99, 21)),
                               atol=0.08 * theirs.std())
