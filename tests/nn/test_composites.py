"""Functions composed of ops have second derivatives and forward mode; and details of these functions beyond test_layers.py."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from minigrad.nn import functional as F

FUNCTIONS = {
    "elu": lambda x: (F.elu, x(5)), "gelu": lambda x: (F.gelu, x(5)), "gelu tanh": lambda x: (lambda a: F.gelu(a, approximate="tanh"), x(5)),
    "mish": lambda x: (F.mish, x(5)), "logsigmoid": lambda x: (F.logsigmoid, x(5)), "softplus": lambda x: (F.softplus, x(5)),
    "prelu": lambda x: (F.prelu, x(2, 3), x(3)), "glu": lambda x: (F.glu, x(2, 4)),
    "layer_norm": lambda x: (lambda a, w, b: F.layer_norm(a, (3,), w, b), x(2, 3), x(3), x(3)),
    "rms_norm": lambda x: (lambda a, w: F.rms_norm(a, (3,), w), x(2, 3), x(3)),
    "group_norm": lambda x: (lambda a: F.group_norm(a, 2), x(2, 4, 2)),
    "batch_norm": lambda x: (lambda a, w: F.batch_norm(a, None, None, w, training=True), x(3, 2), x(2)),
    "normalize": lambda x: (F.normalize, x(2, 3)), "cosine_similarity": lambda x: (F.cosine_similarity, x(2, 3), x(2, 3)),
    "pad": lambda x: (lambda a: F.pad(a, (1, 2), "reflect"), x(1, 4)), "huber_loss": lambda x: (F.huber_loss, x(4), x(4)),
    "bce": lambda x: (F.binary_cross_entropy_with_logits, x(4), mg.tensor([0.0, 1.0, 0.3, 0.5], dtype=mg.float64)),
    "attention": lambda x: (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), x(3, 2), x(3, 2), x(3, 2)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_of_both_orders(name):
    rng = np.random.default_rng(11)
    function, *inputs = FUNCTIONS[name](lambda *shape: mg.tensor(rng.standard_normal(shape), requires_grad=True))
    assert mg.autograd.gradcheck(function, inputs, check_forward_ad=True)
    assert mg.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}, {"mask": "bool"}, {"mask": "float"}, {"enable_gqa": True}],
                         ids=str)
def test_attention_is_torchs(options, torch):
    rng = np.random.default_rng(2)
    heads = 2 if "enable_gqa" in options else 4
    arrays = [rng.standard_normal(shape) for shape in ((2, 4, 3, 5), (2, heads, 6, 5), (2, heads, 6, 2))]
    mask = rng.random((3, 6)) > 0.4
    mask[1] = False         # this query may attend to nothing
    outcomes = []
    for m in (mg, torch):
        inputs = [m.tensor(a, requires_grad=True) for a in arrays]
        given = {k: v for k, v in options.items() if k != "mask"}
        if "mask" in options:
            given["attn_mask"] = m.tensor(mask if options["mask"] == "bool" else np.where(mask, 0.5, -1.0))
        z = m.nn.functional.scaled_dot_product_attention(*inputs, **given)
        (z * z).sum().backward()
        outcomes.append([z.detach().numpy(), *[i.grad.numpy() for i in inputs]])
    for ours, theirs in zip(*outcomes):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_attention_with_two_masks(torch):
    for m in (mg, torch):
        q = m.ones(2, 2)
        with pytest.raises(RuntimeError, match="attn_mask should not be set when is_causal=True"):
            m.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=m.ones(2, 2), is_causal=True)


@pytest.mark.parametrize("make", [lambda n: n.BatchNorm1d(3), lambda n: n.BatchNorm1d(3, momentum=None),
                                  lambda n: n.InstanceNorm1d(3, track_running_stats=True)])
def test_running_statistics_are_torchs(make, torch):
    layers = [make(m.nn).double() for m in (mg, torch)]
    for step in range(4):
        batch = np.random.default_rng(step).standard_normal((5, 3, 2))
        for m, layer in zip((mg, torch), layers):
            layer(m.tensor(batch))
    for (name, ours), theirs in zip(layers[0].state_dict().items(), layers[1].state_dict().values()):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("layer, shape", [(nn.Dropout1d(0.4), (40, 50, 3)), (nn.Dropout2d(0.4), (40, 50, 2, 2)),
                                          (nn.Dropout3d(0.4), (40, 50, 1, 2, 2))])
def test_whole_channels_are_dropped(layer, shape):
    mg.manual_seed(0)
    z = layer(mg.ones(*shape)).numpy().reshape(*shape[:2], -1)
    assert ((z == 0).all(-1) | np.isclose(z, 1 / 0.6).all(-1)).all()
    assert 0.35 < (z == 0).mean() < 0.45


@pytest.mark.parametrize("layer", [nn.AlphaDropout(0.3), nn.FeatureAlphaDropout(0.3)])
def test_alpha_dropout_keeps_mean_and_variance(layer):
    mg.manual_seed(0)
    z = layer(mg.randn(300, 300)).numpy()
    assert abs(z.mean()) < 0.03 and abs(z.std() - 1) < 0.03


def test_assigning_again_keeps_the_place(torch):
    for m in (mg, torch):
        model = m.nn.Sequential(m.nn.ReLU(), m.nn.Tanh())
        model[0] = m.nn.Sigmoid()
        assert [type(layer).__name__ for layer in model] == ["Sigmoid", "Tanh"]
