"""Functions of nn.functional that are imported with their first use: values and gradients are PyTorch's."""

import itertools
import warnings

import numpy as np
import pytest
import torch

import minigrad as mg
from tests.parity.test_names import same


def both(function, *arrays, atol=1e-8):
    """Compare the results of `function(m, *tensors)`, and the gradients of the sum of squares, in float64."""
    found = []
    for m in (mg, torch):
        xs = [m.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
        with warnings.catch_warnings(action="ignore"):
            z = function(m, *xs)
        inputs = [x for x in xs if x.requires_grad]
        grads = m.autograd.grad((z * z).sum(), inputs) if z.requires_grad else []
        found.append([z.detach().numpy(), *[g.numpy() for g in grads]])
    for a, b in zip(*found):
        assert a.shape == b.shape and np.allclose(a, b, rtol=1e-6, atol=atol, equal_nan=True), (a, b)


R = np.random.default_rng(0)
IMAGE, VOLUME = R.normal(size=(2, 3, 4, 5)), R.normal(size=(2, 2, 3, 4, 5))
GRID, GRID3 = R.uniform(-1.6, 1.6, size=(2, 3, 2, 2)), R.uniform(-1.6, 1.6, size=(2, 2, 3, 2, 3))


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(mode, padding, align):
    both(lambda m, x, g: m.nn.functional.grid_sample(x, g, mode, padding, align), IMAGE, GRID)
    if mode != "bicubic":
        both(lambda m, x, g: m.nn.functional.grid_sample(x, g, mode, padding, align), VOLUME, GRID3)


@pytest.mark.parametrize("align", [True, False])
def test_affine_grid(align):
    both(lambda m, t: m.nn.functional.affine_grid(t, (2, 3, 4, 5), align), R.normal(size=(2, 2, 3)))
    both(lambda m, t: m.nn.functional.affine_grid(t, (2, 3, 1, 4, 5), align), R.normal(size=(2, 3, 4)))
    both(lambda m, t, x: m.nn.functional.grid_sample(x, m.nn.functional.affine_grid(t, x.shape, align), align_corners=align),
         R.normal(size=(2, 2, 3)), IMAGE)


T = "m.tensor([[[1., 0., 0.], [0., 1., 0.]]])"


@pytest.mark.parametrize("snippet", [
    f"F.affine_grid({T}, (1, 1, 2, 2))", f"F.affine_grid({T}, (1, 1, 2), False)", f"F.affine_grid({T}, (1, 1, 0, 2), False)",
    f"F.affine_grid({T}[0], (1, 1, 2, 2), False)", f"F.affine_grid({T}.long(), (1, 1, 2, 2), False)",
    "F.grid_sample(m.ones(1, 1, 2, 2), m.zeros(1, 1, 1, 2))", "F.grid_sample(m.ones(1, 1, 2, 2), m.zeros(1, 1, 1, 3), align_corners=True)",
    "F.grid_sample(m.ones(1, 1, 2, 2), m.zeros(2, 1, 1, 2), align_corners=True)", "F.grid_sample(m.ones(1, 2, 2), m.zeros(1, 1, 2), align_corners=True)",
    "F.grid_sample(m.ones(1, 1, 2, 2), m.zeros(1, 1, 1, 2), 'a', align_corners=True)", "F.grid_sample(m.ones(1, 1, 2, 2).double(), m.zeros(1, 1, 1, 2), align_corners=True)",
    "F.grid_sample(m.ones(1, 1, 2, 2), m.zeros(1, 1, 1, 2), padding_mode='a', align_corners=True)",
    "F.grid_sample(m.ones(1, 1, 2, 2, 2), m.zeros(1, 1, 1, 1, 3), 'bicubic', align_corners=True)",
    "F.grid_sample(m.ones(1, 1, 0, 2), m.zeros(1, 1, 1, 2), align_corners=True)",
    "m.nn.init.normal(m.ones(2)).shape, m.nn.init.constant(m.ones(2), 3.), m.nn.init.eye(m.ones(2, 2)), m.nn.init.xavier_normal(m.ones(2, 2)).shape",
    "[hasattr(m.nn.init, n) for n in ('constant', 'dirac', 'kaiming_normal', 'kaiming_uniform', 'orthogonal', 'sparse', 'uniform', 'xavier_uniform', 'ones', 'trunc_normal')]",
    "F.relu_(x := m.tensor([-1., 2.])), x, F.elu_(m.tensor([-1., 2.]), 2.), F.selu_(m.tensor([-1., 2.])), F.celu_(m.tensor([-1., 2.]), 2.)",
    "F.leaky_relu_(m.tensor([-1., 2.])), F.hardtanh_(m.tensor([-3., 2.])), F.threshold_(m.tensor([-1., 2.]), 1, 5), F.rrelu_(m.tensor([-1., 2.]))",
    "F.relu_(m.ones(1, requires_grad=True))", "F.rrelu(m.tensor([-1., 2.]), .2, .4), F.rrelu(m.tensor([-1.]), .3, .3, True)", "F.rrelu(m.ones(1), 1., 0.)",
    "F.max_pool2d_with_indices(m.arange(16.).view(1, 4, 4), 2)", "F.max_pool1d_with_indices(m.arange(4.).view(1, 4), 2, 1), F.max_pool3d_with_indices(m.ones(1, 2, 2, 2), 2)",
    "F.embedding_bag(m.tensor([0, 1]), m.ones(2, 2))", "F.embedding_bag(m.tensor([[0, 1]]), m.ones(2, 2), m.tensor([0]))", "F.embedding_bag(m.tensor(0), m.ones(2, 2))",
    "F.embedding_bag(m.tensor([0, 1]), m.ones(2, 2), m.tensor([1]))", "F.embedding_bag(m.tensor([0, 1]), m.ones(2, 2), m.tensor([0, 5]))",
    "F.embedding_bag(m.tensor([0, 1]), m.ones(2, 2), m.tensor([[0]]))", "F.embedding_bag(m.tensor([[0, 1]]), m.ones(2, 2), mode='a')",
    "F.embedding_bag(m.tensor([[0, 1]]), m.ones(2, 2), per_sample_weights=m.ones(1, 2))", "F.embedding_bag(m.tensor([[0, 1]]), m.ones(2))",
    "F.embedding_bag(m.tensor([[0, 1]]), m.ones(2, 2), per_sample_weights=m.ones(2), mode='sum')", "F.embedding_bag(m.tensor([], dtype=m.int64), m.ones(2, 2), m.tensor([0, 0]))",
    "F.triplet_margin_with_distance_loss(m.ones(1, 2), m.ones(1, 2), m.ones(2))", "F.triplet_margin_with_distance_loss(m.ones(1, 2), m.ones(1, 2), m.ones(1, 2), margin=0.)",
    "F.multilabel_margin_loss(m.ones(2), m.tensor([0, 1, -1]))",
    "F.ctc_loss(m.zeros(3, 1, 4), m.tensor([[1]]), (5,), (1,))", "F.ctc_loss(m.zeros(3, 1, 4), m.tensor([[1]]), (3, 3), (1,))", "F.ctc_loss(m.zeros(3, 1, 4), m.tensor([[1]]), (3,), (1,), blank=7)",
])
def test_snippets(snippet):
    same(snippet)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("options", [{}, {"padding_idx": 1}])
def test_embedding_bag(mode, options):
    table, flat = R.normal(size=(5, 3)), np.array([0, 1, 4, 2, 1, 1, 3])
    both(lambda m, i, w, o: m.nn.functional.embedding_bag(i, w, o, mode=mode, **options), flat, table, np.array([0, 3, 3, 5]))
    both(lambda m, i, w: m.nn.functional.embedding_bag(i, w, mode=mode, **options), flat[:6].reshape(2, 3), table)
    both(lambda m, i, w, o: m.nn.functional.embedding_bag(i, w, o, mode=mode, include_last_offset=True), flat, table, np.array([0, 3, 7]))
    if mode == "sum":
        both(lambda m, i, w, o, f: m.nn.functional.embedding_bag(i, w, o, mode=mode, per_sample_weights=f, **options), flat, table,
             np.array([0, 3, 3, 5]), R.normal(size=7))


@pytest.mark.parametrize("reduction, zero", itertools.product(["none", "mean", "sum"], [False, True]))
def test_ctc_loss(reduction, zero):
    x = R.normal(size=(6, 4, 5))
    targets = np.array([[1, 2, 2], [3, 1, 0], [4, 4, 4], [0, 0, 0]])

    def loss(m, x, t, inputs=(6, 5, 6, 3), sizes=(3, 2, 3, 0), **options):
        lp = m.log_softmax(x, -1)
        return m.nn.functional.ctc_loss(lp, t, inputs, sizes, reduction=reduction, zero_infinity=zero, **options)
    both(loss, x, targets)
    both(lambda m, x, t: loss(m, x, t, m.tensor([6, 5, 6, 3]), m.tensor([3, 2, 3, 0])), x, targets)
    both(lambda m, x, t: loss(m, x, t), x, np.array([1, 2, 2, 3, 1, 4, 4, 4]))
    both(lambda m, x, t: loss(m, x, t - 0, blank=4, sizes=(3, 2, 2, 0)), x, np.array([[1, 2, 2], [3, 1, 0], [0, 0, 0], [0, 0, 0]]))
    if zero:        # a target that is too long for its input
        both(lambda m, x, t: loss(m, x, t, inputs=(2, 5, 6, 3)), x, targets)
    both(lambda m, x: m.nn.functional.ctc_loss(x, m.tensor([[1, 2]] * 4), (6,) * 4, (2,) * 4, reduction=reduction), x)      # no log_softmax


def test_ctc_loss_without_an_alignment():
    for m in (mg, torch):
        assert m.nn.functional.ctc_loss(m.zeros(2, 1, 3), m.tensor([[1, 1]]), (2,), (2,)).item() == float("inf")
    both(lambda m, x: m.nn.functional.ctc_loss(m.log_softmax(x, -1), m.tensor([1, 2]), m.tensor(4), m.tensor(2)), R.normal(size=(4, 5)))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses(reduction):
    a, p, n = R.normal(size=(3, 4, 5))
    for swap in (False, True):
        both(lambda m, a, p, n: m.nn.functional.triplet_margin_with_distance_loss(a, p, n, reduction=reduction, swap=swap), a, p, n)  # noqa: B023
    both(lambda m, a, p, n: m.nn.functional.triplet_margin_with_distance_loss(
        a, p, n, distance_function=lambda x, y: (x - y).abs().sum(-1), margin=2.0, reduction=reduction), a, p, n)
    targets = np.array([[3, 0, -1, 1], [1, -1, 2, 0], [-1, 2, 2, 2], [0, 1, 2, 3]])
    both(lambda m, x, t: m.nn.functional.multilabel_margin_loss(x, t, reduction=reduction), R.normal(size=(4, 4)), targets)
    both(lambda m, x: m.nn.functional.multilabel_margin_loss(x, m.tensor([3, 0, -1, 1]), reduction=reduction), R.normal(size=4))


def test_rrelu_in_training():
    x = mg.full((1000,), -1.0, requires_grad=True)
    y = mg.nn.functional.rrelu(x, 0.2, 0.6, training=True)
    y.sum().backward()
    assert -y.max().item() >= 0.2 and -y.min().item() <= 0.6 and abs(y.mean().item() + 0.4) < 0.02
    assert mg.allclose(x.grad, -y)
