"""Every layer: signature, repr, output, gradients and errors. Comparisons with PyTorch are skipped without it."""

import inspect
import re

import numpy as np
import pytest

import minigrad as mg
from minigrad import nn
from tests.nn.cases import LAYERS, MISTAKES

NAMES = [name for name in nn.__all__ if isinstance(getattr(nn, name), type) and issubclass(getattr(nn, name), nn.Module)]


def ids(case):
    return case[0]


def outcome(m, layer, arrays):
    """(result, gradients of the inputs, gradients of the parameters), after filling the parameters with known numbers."""
    for i, p in enumerate(layer.parameters() if hasattr(layer, "parameters") else ()):
        with m.no_grad():
            p.copy_(m.tensor(np.cos(np.arange(p.numel()) + i).reshape(tuple(p.shape))))
    inputs = [m.tensor(a).requires_grad_(a.dtype.kind == "f") for a in arrays]
    z = layer(*inputs)
    weights = m.tensor(np.sin(np.arange(z.numel()) + 1.0).reshape(tuple(z.shape)))
    (z * weights).sum().backward()
    parameters = [p.grad for p in layer.parameters()] if hasattr(layer, "parameters") else []
    return [t if t is None else t.detach().numpy() for t in (z, *[x.grad for x in inputs], *parameters)]


def compare(ours, theirs, loose=False):
    single = loose or any(t is not None and t.dtype == np.float32 for t in theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if b is not None:
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            np.testing.assert_allclose(a, b, rtol=1e-5 if single else 1e-10, atol=1e-7 if single else 1e-12)


@pytest.mark.parametrize("case", LAYERS, ids=ids)
def test_layer_is_torchs(case, torch):
    name, make, arrays = case
    ours, theirs = make(mg).double(), make(torch).double()
    assert repr(ours) == repr(theirs)
    assert [(n, tuple(p.shape)) for n, p in ours.named_parameters()] == [(n, tuple(p.shape)) for n, p in theirs.named_parameters()]
    assert list(ours.state_dict()) == list(theirs.state_dict())
    # PyTorch has 1/6 in float32 there, whatever the dtype.
    compare(outcome(mg, ours, arrays), outcome(torch, theirs, arrays), loose=name.startswith("Hardsigmoid"))


@pytest.mark.parametrize("call, error, words", MISTAKES)
def test_mistakes(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call(mg)


@pytest.mark.parametrize("call, error, words", MISTAKES)
def test_mistakes_are_torchs(call, error, words, torch):
    """The table above agrees with PyTorch."""
    with pytest.raises(error, match=re.escape(words)):
        call(torch)


def parameters_of(function):
    return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("Module", "Tanh", "Sigmoid", "LogSigmoid", "Softsign", "Tanhshrink",
                                                                "RNN", "LSTM", "GRU")])     # those say *args: test_recurrent.py
def test_constructor_signature(name, torch):
    ours, theirs = parameters_of(getattr(nn, name)), parameters_of(getattr(torch.nn, name))
    for found in (ours, theirs):        # a function as a default: each library has its own
        found[:] = [(n, kind, getattr(default, "__name__", default)) for n, kind, default in found]
    assert ours == theirs


@pytest.mark.parametrize("case", LAYERS, ids=ids)
def test_layer_alone(case):
    """Without PyTorch: it runs, every float input gets a gradient, and so does every parameter."""
    _, make, arrays = case
    z, *grads = outcome(mg, make(mg).double(), arrays)
    assert z.dtype == np.float64
    wanted = [a.dtype.kind == "f" for a in arrays]
    assert [g is not None for g in grads[:len(arrays)]] == wanted and all(g is not None for g in grads[len(arrays):])


def test_every_layer_has_a_case():
    used = {type(m).__name__ for _, make, _ in LAYERS for m in make(mg).modules()}
    elsewhere = {"Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList",                    # test_lists.py
                 "RNN", "LSTM", "GRU", "RNNBase", "RNNCell", "LSTMCell", "GRUCell", "RNNCellBase",          # test_recurrent.py
                 "MultiheadAttention", "Transformer", "TransformerEncoder", "TransformerEncoderLayer",      # test_transformer.py
                 "TransformerDecoder", "TransformerDecoderLayer",
                 *nn.modules.LATE_NAMES,                                                # tests/parity/test_l{ate,azy}*.py
                 "MultiMarginLoss"}     # tests/ops/test_composed.py: in PyTorch it has no forward mode
    assert set(NAMES) - used == elsewhere


# ---- single layers ---------------------------------------------------------------------------------------


def test_dropout_statistics():
    x = mg.ones(100_000)
    y = nn.Dropout(0.3)(x).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1) / np.float32(0.7)}
    assert abs((y == 0).mean() - 0.3) < 0.01
    assert not np.array_equal(y, nn.Dropout(0.3)(x).numpy())


def test_dropout_gradient_is_its_mask():
    x = mg.ones(1000, requires_grad=True)
    y = nn.Dropout(0.5)(x)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())


@pytest.mark.parametrize("layer", [nn.Dropout(0.5, inplace=True), nn.ReLU(inplace=True)], ids=repr)
def test_inplace_layers_overwrite(layer):
    x = mg.tensor([-1.0] * 20 + [1.0] * 20)
    assert layer(x) is x
    assert (x.numpy() >= 0).all() or isinstance(layer, nn.Dropout)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        layer(mg.ones(2, requires_grad=True))


@pytest.mark.parametrize("old, new", [({"size_average": False}, "sum"), ({"reduce": False}, "none"), ({"size_average": True},
        "mean"),
                                      ({"reduce": True, "size_average": False}, "sum"), ({"reduce": False, "size_average": True},
                                              "none")])
def test_old_reduction_arguments(old, new):
    """They are obeyed, with PyTorch's warning, never ignored."""
    x, y = mg.tensor([1.0, 4.0]), mg.tensor([0.0, 0.0])
    expected = nn.MSELoss(reduction=new)(x, y).tolist()
    with pytest.warns(UserWarning, match=f"please use reduction='{new}' instead"):
        assert nn.MSELoss(**old)(x, y).tolist() == expected
    with pytest.warns(UserWarning, match=f"please use reduction='{new}' instead"):
        assert nn.functional.mse_loss(x, y, **old).tolist() == expected
    for loss in (nn.NLLLoss, nn.CrossEntropyLoss):
        with pytest.warns(UserWarning, match="size_average and reduce"):
            assert loss(**old).reduction == new


def test_dtype_and_device_of_parameters():
    for layer in (nn.Linear(2, 3, dtype=mg.float64, device="cpu"), nn.Conv2d(1, 1, 1, dtype=mg.float64, device="cpu")):
        assert {p.dtype for p in layer.parameters()} == {mg.float64}


def test_max_pool2d_layer_returns_indices():
    values, index = nn.MaxPool2d(2, return_indices=True)(mg.tensor([[[1.0, 2.0], [4.0, 3.0]]]))
    assert values.tolist() == [[[4.0]]] and index.tolist() == [[[2]]]


def test_padding_mode_is_refused_by_name():
    with pytest.raises(ValueError, match="padding_mode='mirror'"):
        nn.Conv2d(1, 1, 3, padding_mode="mirror")


@pytest.mark.parametrize(("make", "name"), [
    (lambda a: nn.Linear(2, 3, bias=a), "bias"), (lambda a: nn.Conv2d(1, 1, 1, bias=a), "bias"), (lambda a: nn.GRU(2, 2, bias=a), "bias"),
    (lambda a: nn.LSTMCell(2, 2, bias=a), "bias"), (lambda a: nn.MultiheadAttention(4, 2, add_bias_kv=a), "add_bias_kv"),
    (lambda a: nn.BatchNorm1d(2, affine=a), "affine"), (lambda a: nn.LayerNorm(2, elementwise_affine=a), "elementwise_affine")])
def test_an_array_is_no_flag(make, name):
    """differences/F-03"""
    with pytest.raises(TypeError, match=rf"argument '{name}' must be bool, not ndarray"):
        make(np.ones(2))
