"""Layers that are imported with their first use: the same on both libraries."""

import numpy as np
import pytest
import torch

import minigrad as mg
from tests.parity.test_names import same


@pytest.mark.parametrize("snippet", [
    "m.nn.Softmax2d()(m.arange(8.).view(1, 2, 2, 2)), m.nn.Softmax2d()(m.arange(8.).view(2, 2, 2)), m.nn.Softmax2d()", "m.nn.Softmax2d()(m.ones(2))",
    "m.nn.RReLU(), m.nn.RReLU(.2, .4, True), m.nn.RReLU().eval()(m.tensor([-1., 2.])), m.nn.RReLU(.3, .3)(m.tensor([-1., 2.]))",
    "m.nn.EmbeddingBag(4, 2), m.nn.EmbeddingBag(4, 2, max_norm=1., mode='sum', padding_idx=-1), m.nn.EmbeddingBag(4, 2, norm_type=1, scale_grad_by_freq=True)",
    "m.nn.EmbeddingBag(4, 2, padding_idx=1).weight[1], m.nn.EmbeddingBag(4, 2).weight.shape",
    "m.nn.EmbeddingBag.from_pretrained(m.arange(6.).view(3, 2), mode='sum')(m.tensor([[0, 1], [2, 2]])), m.nn.EmbeddingBag.from_pretrained(m.ones(2, 2)).weight.requires_grad",
    "m.nn.NLLLoss2d()(m.zeros(1, 2, 1, 1) - 1, m.tensor([[[0]]]))",
    "m.nn.CTCLoss(), m.nn.CTCLoss(2, 'sum', True)(m.log_softmax(m.arange(18.).view(3, 2, 3), -1), m.tensor([[1], [0]]), (3, 2), (1, 1))",
    "m.nn.MultiLabelMarginLoss(), m.nn.MultiLabelMarginLoss(reduction='sum')(m.tensor([[.1, .2, .4, .8]]), m.tensor([[3, 0, -1, 1]]))",
    "m.nn.TripletMarginWithDistanceLoss(margin=2.)(m.zeros(1, 2), m.ones(1, 2), m.ones(1, 2) * 2)", "m.nn.TripletMarginWithDistanceLoss(margin=0.)",
    "m.nn.SyncBatchNorm(3), m.nn.SyncBatchNorm(3).eval()(m.ones(2, 3, 2))", "m.nn.SyncBatchNorm(3).eval()(m.ones(3))",
    "m.nn.SyncBatchNorm.convert_sync_batchnorm(m.nn.Sequential(m.nn.Conv2d(1, 2, 3), m.nn.BatchNorm2d(2, momentum=.3)))",
    "m.nn.SyncBatchNorm.convert_sync_batchnorm(m.nn.BatchNorm1d(2)).state_dict().keys()",
    "m.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10])", "m.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2., head_bias=True).state_dict().keys()",
    "m.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [])", "m.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 4])", "m.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [20])",
    "m.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5])(m.ones(2, 8), m.tensor([1, 20]))", "m.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5])(m.ones(2, 8), m.tensor([1]))",
    "m.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5])(m.ones(8), m.tensor(7)).output.shape, m.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5])(m.ones(2, 2, 8), m.tensor(7))",
    "[m.nn.common_types._size_2_t is not None, m.nn.modules.adaptive.__name__[-8:]]",
])
def test_snippets(snippet):
    same(snippet)


@pytest.mark.parametrize("bias", [False, True])
def test_adaptive_softmax(bias):
    found = []
    for m in (mg, torch):
        generator = np.random.default_rng(0)
        layer = m.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 9, 15], div_value=2.0, head_bias=bias).double()
        with m.no_grad():
            for p in layer.parameters():
                p.copy_(m.tensor(generator.normal(size=tuple(p.shape))))
        x = m.tensor(generator.normal(size=(6, 8)), requires_grad=True)
        output, loss = layer(x, m.tensor([0, 3, 4, 10, 19, 8]))
        grads = m.autograd.grad(loss + (output ** 2).sum(), [x, *layer.parameters()])
        tensors = [output, loss, layer.log_prob(x), layer.predict(x), layer(x[0], m.tensor(17)).output, *grads]
        found.append([t.detach().numpy() for t in tensors])
    assert all(a.shape == b.shape and np.allclose(a, b) for a, b in zip(*found))


def test_sync_batch_norm_trains_on_one_process():
    """PyTorch's trains on a GPU only. Here it computes what a batch normalization computes."""
    x = mg.tensor(np.random.default_rng(0).normal(size=(4, 3, 5)).astype("float32"))
    sync, plain = mg.nn.SyncBatchNorm(3), mg.nn.BatchNorm1d(3)
    assert mg.allclose(sync(x), plain(x)) and mg.allclose(sync.running_var, plain.running_var)
