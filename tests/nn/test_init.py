"""Initial values: their ranges and variances, the fans, and the initial parameters of layers."""

import inspect
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
    """The variance is right, and no number is beyond √3 standard deviations, so the distribution is uniform."""
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


@pytest.mark.parametrize("mean, std, a, b", [(0, 1, -2, 2), (0.5, 0.1, 0.4, 0.9), (0, 5, -1, 1), (1, 2, -100, 100), (0, 1, 1.5, 4)])
def test_truncated_normal(mean, std, a, b):
    """All quantiles equal the quantiles of the normal distribution between the bounds."""
    x = mg.empty(*SHAPE, dtype=mg.float64)
    assert init.trunc_normal_(x, mean, std, a, b) is x
    numbers = np.sort(x.numpy().reshape(-1))
    assert a <= numbers[0] and numbers[-1] <= b

    def below(t):
        return math.erf((t - mean) / std / math.sqrt(2))
    expected = [(below(t) - below(a)) / (below(b) - below(a)) for t in np.linspace(a, b, 30)]
    np.testing.assert_allclose(np.searchsorted(numbers, np.linspace(a, b, 30)) / numbers.size, expected, atol=0.01)


def test_truncated_normal_is_torchs():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    ours = init.trunc_normal_(mg.empty(*SHAPE), 0.5, 2.0).numpy()
    theirs = torch.nn.init.trunc_normal_(torch.empty(*SHAPE), 0.5, 2.0).numpy()
    np.testing.assert_allclose(np.quantile(ours, np.linspace(0.01, 0.99, 21)), np.quantile(theirs, np.linspace(0.01, 0.99, 21)), atol=0.05)


def test_truncated_normal_far_from_its_mean_warns():
    torch = pytest.importorskip("torch")
    for m in (mg, torch):
        with pytest.warns(UserWarning, match=r"mean is more than 2 std from \[a, b\] in nn.init.trunc_normal_"):
            x = m.nn.init.trunc_normal_(m.empty(100), 0.0, 1.0, 5.0, 6.0)
        assert x.min() >= 5 and x.max() <= 6 and x.mean() < 5.4


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (7, 3), (4, 2, 3), (2, 3, 2), (1, 4), (4, 1)], ids=str)
@pytest.mark.parametrize("gain", [1, 2.5])
def test_orthogonal(shape, gain):
    x = mg.empty(*shape)
    assert init.orthogonal_(x, gain) is x
    matrix = x.numpy().reshape(shape[0], -1).astype("f8")
    product = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(product, np.eye(min(matrix.shape)) * gain**2, atol=1e-5)


def test_orthogonal_has_no_direction_that_it_prefers():
    """Each entry is as often positive as negative: the signs that a decomposition chooses are undone."""
    signs = sum((init.orthogonal_(mg.empty(3, 3)).numpy() > 0) for _ in range(400)) / 400
    assert (abs(signs - 0.5) < 0.13).all()
    assert init.orthogonal_(mg.empty(0, 3)).shape == (0, 3)


@pytest.mark.parametrize("shape, groups", [((3, 3, 3), 1), ((4, 2, 3), 2), ((2, 5, 3, 4), 1), ((6, 2, 1, 2, 3), 3), ((5, 2, 4), 1)], ids=str)
def test_dirac_is_torchs(shape, groups):
    torch = pytest.importorskip("torch")
    ours, theirs = [m.nn.init.dirac_(m.full(shape, 7.0), groups) for m in (mg, torch)]
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_dirac_is_the_identity_of_convolutions():
    x = mg.randn(2, 3, 5, 5)
    assert mg.allclose(nn.functional.conv2d(x, init.dirac_(mg.empty(3, 3, 3, 3)), padding=1), x)


@pytest.mark.parametrize("sparsity", [0.0, 0.1, 0.5, 1.0])
def test_sparse_is_torchs(sparsity):
    torch = pytest.importorskip("torch")
    ours, theirs = [m.nn.init.sparse_(m.empty(15, 4), sparsity, std=3.0) for m in (mg, torch)]
    assert (ours == 0).sum(0).tolist() == (theirs == 0).sum(0).tolist()
    assert sparsity == 1 or abs(init.sparse_(mg.empty(3000, 3), sparsity, std=3.0).numpy().std() / math.sqrt(1 - sparsity) - 3) < 0.3


@pytest.mark.parametrize("name", init.__all__)
def test_signature(name):
    torch = pytest.importorskip("torch")
    ours, theirs = [[(p.name, p.default) for p in inspect.signature(getattr(m, name)).parameters.values()] for m in (init, torch.nn.init)]
    assert ours == theirs


def test_nothing_is_missing():
    torch = pytest.importorskip("torch")
    assert {n for n in dir(torch.nn.init) if n.endswith("_") and not n.startswith("_")} <= set(init.__all__)


def test_fills():
    assert init.constant_(mg.empty(2), 3).tolist() == [3, 3]
    assert init.ones_(mg.empty(2)).tolist() == [1, 1] and init.zeros_(mg.empty(2)).tolist() == [0, 0]
    assert init.eye_(mg.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert abs(init.normal_(mg.empty(10_000), 5, 0.1).numpy().mean() - 5) < 0.01


@pytest.mark.parametrize("shape, fans", [((3, 2), (2, 3)), ((4, 2, 3, 3), (18, 36)), ((0, 2), (2, 0)), ((5, 1, 7), (7, 35))])
def test_fans(shape, fans):
    assert init._calculate_fan_in_and_fan_out(mg.empty(*shape)) == fans


@pytest.mark.parametrize("name, gain", [("linear", 1), ("conv2d", 1), ("conv_transpose3d", 1), ("sigmoid", 1), ("tanh", 5 / 3), ("relu", math.sqrt(2)),
                                        ("selu", 3 / 4),
                                        ("leaky_relu", math.sqrt(2 / (1 + 1e-4)))])
def test_gain(name, gain):
    assert init.calculate_gain(name) == pytest.approx(gain)


def test_gain_of_a_slope():
    assert init.calculate_gain("leaky_relu", 2) == pytest.approx(math.sqrt(2 / 5))


def test_generator():
    for fill in (init.uniform_, init.orthogonal_, init.trunc_normal_, lambda x, generator: init.sparse_(x, 0.5, generator=generator)):
        draw = [fill(mg.empty(4, 3), generator=mg.Generator().manual_seed(s)).tolist() for s in (1, 1, 2)]
        assert draw[0] == draw[1] != draw[2]


def test_nothing_is_recorded():
    p = nn.Parameter(mg.empty(3, 3))
    for fill in (init.kaiming_uniform_, init.xavier_normal_, init.zeros_, init.eye_, init.normal_, init.orthogonal_,
                 init.trunc_normal_, lambda p: init.sparse_(p, 0.5)):
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
