"""Parametrizations, weight norm, spectral norm, orthogonal weights, fusion: the same on both libraries."""

import copy
import importlib
import pickle
import warnings

import numpy as np
import pytest
import torch

import minigrad as mg
from tests.parity.test_names import same

BOTH = pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])
P = "m.nn.utils.parametrize"


def parametrize(m):
    return importlib.import_module(f"{m.__name__}.nn.utils.parametrize")


def parametrizations(m):
    return importlib.import_module(f"{m.__name__}.nn.utils.parametrizations")


def fill(m, model, seed=0):
    """Give all parameters and buffers the same numbers on both libraries."""
    generator = np.random.default_rng(seed)
    with m.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.copy_(m.tensor(generator.normal(size=tuple(tensor.shape)).astype("float32")))
    return model


def symmetric(m, inverse=True):
    class Symmetric(m.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)
    if inverse:
        Symmetric.right_inverse = lambda self, x: x.triu()
    return Symmetric()


def numbers(x):
    return np.round(x.detach().numpy().astype("float64"), 4).tolist()


@BOTH
@pytest.mark.parametrize("inverse", [True, False])
def test_register_and_remove(m, inverse):
    p = parametrize(m)
    layer = fill(m, m.nn.Linear(3, 3))
    before = numbers(layer.weight)
    original = layer.weight
    assert not p.is_parametrized(layer)
    assert p.register_parametrization(layer, "weight", symmetric(m, inverse)) is layer
    assert p.is_parametrized(layer) and p.is_parametrized(layer, "weight") and not p.is_parametrized(layer, "bias")
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, m.nn.Linear)
    assert p.type_before_parametrizations(layer) is m.nn.Linear
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert [name for name, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    assert repr(layer) == ("ParametrizedLinear(\n  in_features=3, out_features=3, bias=True\n  (parametrizations): ModuleDict(\n"
                           "    (weight): ParametrizationList(\n      (0): Symmetric()\n    )\n  )\n)")
    assert layer.parametrizations.weight.original is original
    upper = np.triu(np.array(before))
    assert np.allclose(numbers(layer.weight), upper + np.triu(upper, 1).T, atol=1e-3)
    layer(m.ones(1, 3)).sum().backward()
    assert numbers(original.grad) == [[1.0, 2.0, 2.0], [0.0, 1.0, 2.0], [0.0, 0.0, 1.0]]
    if inverse:
        layer.weight = m.eye(3)
        assert numbers(layer.weight) == numbers(m.eye(3)) and layer.parametrizations.weight.original is original
    else:
        with pytest.raises(RuntimeError, match="parametrization Symmetric does not implement right_inverse"):
            layer.weight = m.eye(3)
    copied = copy.deepcopy(layer)
    assert numbers(copied.weight) == numbers(layer.weight) and copied.parametrizations.weight.original is not original
    with pytest.raises(RuntimeError, match=r"Serialization of parametrized modules is only supported through state_dict\(\)"):
        pickle.dumps(layer)
    value = numbers(layer.weight)
    p.remove_parametrizations(layer, "weight")
    assert type(layer) is m.nn.Linear and layer.weight is original and numbers(layer.weight) == value
    assert not hasattr(layer, "parametrizations") and list(layer.state_dict()) == ["bias", "weight"]


@BOTH
def test_chains_caches_and_transfers(m):
    p = parametrize(m)
    layer = fill(m, m.nn.Linear(2, 2))
    raw = numbers(layer.weight)
    calls = []

    class Counted(m.nn.Module):
        def forward(self, x):
            calls.append(1)
            return x * 2
    p.register_parametrization(layer, "weight", Counted())
    p.register_parametrization(layer, "weight", m.nn.Tanh())
    p.register_parametrization(layer, "bias", m.nn.Tanh())
    assert np.allclose(numbers(layer.weight), np.tanh(2 * np.array(raw)), atol=1e-3) and len(layer.parametrizations.weight) == 2
    calls.clear()
    with p.cached():
        assert layer.weight is layer.weight
        with p.cached():
            layer(m.ones(1, 2))
        layer(m.ones(1, 2))
    assert len(calls) == 1
    assert layer.weight is not layer.weight
    other = m.nn.Linear(2, 2)
    assert p.transfer_parametrizations_and_params(layer, other) is other
    assert numbers(other.weight) == numbers(layer.weight)
    assert other.parametrizations.bias.original is layer.parametrizations.bias.original
    p.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert numbers(layer.weight) == raw and p.is_parametrized(layer) and type(layer).__name__ == "ParametrizedLinear"
    p.remove_parametrizations(layer, "bias")
    assert type(layer) is m.nn.Linear
    norm = m.nn.BatchNorm1d(2)
    p.register_parametrization(norm, "running_var", m.nn.Softplus())
    assert "parametrizations.running_var.original" in norm.state_dict() and len(list(norm.parameters())) == 2


@BOTH
def test_several_originals(m):
    p = parametrize(m)

    class Product(m.nn.Module):
        def forward(self, a, b):
            return a @ b

        def right_inverse(self, x):
            return x, m.eye(2)
    layer = fill(m, m.nn.Linear(2, 2))
    raw = numbers(layer.weight)
    p.register_parametrization(layer, "weight", Product())
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original0", "parametrizations.weight.original1"]
    assert numbers(layer.weight) == raw
    layer.weight = m.ones(2, 2)
    assert numbers(layer.weight) == [[1.0, 1.0]] * 2
    with pytest.raises(ValueError, match="Cannot leave unparametrized"):
        p.remove_parametrizations(layer, "weight", leave_parametrized=False)
    p.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, m.nn.Parameter) and layer.weight.is_leaf and numbers(layer.weight) == [[1.0, 1.0]] * 2


def inverse(returns):
    """The source of a module whose right inverse returns this."""
    return f"type('C', (m.nn.Module,), dict(forward=lambda self, x: x, right_inverse=lambda self, x: {returns}))()"


@pytest.mark.parametrize("snippet", [
    f"{P}.register_parametrization(m.nn.Linear(2, 3), 'weight', m.nn.Flatten(0))",
    f"{P}.register_parametrization(m.nn.Linear(2, 3), 'weight', m.nn.Flatten(0), unsafe=True).weight.shape",
    f"{P}.register_parametrization(m.nn.Linear(2, 3), 'other', m.nn.Tanh())",
    f"{P}.remove_parametrizations(m.nn.Linear(2, 3), 'weight')", f"{P}.ParametrizationList([], m.nn.Parameter(m.ones(1)))",
    f"{P}.register_parametrization(m.nn.Linear(2, 3), 'weight', {inverse('3')})",
    f"{P}.register_parametrization(m.nn.Linear(2, 3), 'weight', {inverse('x.double()')})",
    f"{P}.register_parametrization(m.nn.Linear(2, 3), 'weight', {inverse('(x, 3)')}, unsafe=True)",
    f"{P}.register_parametrization({P}.register_parametrization(m.nn.Linear(2, 3), 'weight', m.nn.Tanh()), 'weight', m.nn.Flatten(0))",
    f"{P}.register_parametrization({P}.register_parametrization(m.nn.Linear(2, 3), 'weight', m.nn.Tanh()), 'weight', {inverse('x[0]')})",
    f"{P}.register_parametrization(m.nn.Linear(2, 3).eval(), 'weight', m.nn.Dropout()).parametrizations.weight[0].training",
    "m.nn.utils.parametrizations.orthogonal(m.nn.Linear(2, 2), 'other')", "m.nn.utils.parametrizations.orthogonal(m.nn.Linear(2, 2), 'bias')",
    "m.nn.utils.parametrizations.orthogonal(m.nn.Linear(2, 2), orthogonal_map='qr')",
    "m.nn.utils.parametrizations.spectral_norm(m.nn.Linear(2, 2), n_power_iterations=0)",
    "m.nn.utils.parametrizations.spectral_norm(m.nn.Linear(2, 2), dim=4)", "m.nn.utils.parametrizations.spectral_norm(m.nn.Linear(2, 2), 'other')",
    "m.nn.utils.parametrizations.spectral_norm(m.nn.ConvTranspose2d(2, 3, 2)).parametrizations.weight[0].dim",
    "list(m.nn.utils.parametrizations.spectral_norm(m.nn.Conv2d(2, 3, 2)).state_dict())",
    "list(m.nn.utils.parametrizations.weight_norm(m.nn.Conv2d(2, 3, 2), dim=None).state_dict())",
    "m.nn.utils.parametrizations.weight_norm(m.nn.Conv2d(2, 3, 2), dim=1).parametrizations.weight.original0.shape",
    "list(m.nn.utils.parametrizations.orthogonal(m.nn.Linear(2, 3)).state_dict())",
    "list(m.nn.utils.parametrizations.orthogonal(m.nn.Linear(2, 3), use_trivialization=False).state_dict())",
    "m.nn.utils.remove_weight_norm(m.nn.Linear(2, 2))", "m.nn.utils.remove_spectral_norm(m.nn.Linear(2, 2))",
    "m.nn.utils.weight_norm(m.nn.utils.weight_norm(m.nn.Linear(2, 2)))", "m.nn.utils.weight_norm(m.nn.LazyLinear(2))",
    "m.nn.utils.spectral_norm(m.nn.utils.spectral_norm(m.nn.Linear(2, 2)))", "m.nn.utils.spectral_norm(m.nn.Linear(2, 2), n_power_iterations=0)",
    "m.nn.utils.spectral_norm(m.nn.Linear(2, 2, bias=False), 'bias')", "m.nn.utils.spectral_norm(m.nn.LazyLinear(2))",
    "list(m.nn.utils.weight_norm(m.nn.Linear(2, 2)).state_dict()), list(m.nn.utils.spectral_norm(m.nn.Linear(2, 2)).state_dict())",
    "m.nn.utils.skip_init(m.nn.Linear, 2, 3).weight.shape", "m.nn.utils.skip_init(m.nn.ReLU)", "m.nn.utils.skip_init(int)",
    "m.nn.utils.stateless.functional_call(m.nn.Linear(1, 1), {'weight': m.ones(1, 1), 'bias': m.ones(1)}, m.ones(1))",
])
def test_snippets(snippet):
    same(snippet)


def trained(m, build, inputs, steps=2):
    """The outputs and the state after some training steps."""
    model = build(m)
    x = m.tensor(inputs)
    sgd = m.optim.SGD(model.parameters(), 0.1)
    seen = []
    for _ in range(steps):
        y = model(x)
        seen.append(numbers(y))
        sgd.zero_grad()
        (y * y).sum().backward()
        sgd.step()
    model.eval()
    return seen, numbers(model(x)), {key: numbers(value) for key, value in model.state_dict().items()}


LINE = np.linspace(-1, 1, 12).astype("float32").reshape(4, 3)
IMAGE = np.linspace(-1, 1, 36).astype("float32").reshape(2, 2, 3, 3)


def quiet(function, *args, **kwargs):
    with warnings.catch_warnings(action="ignore"):
        return function(*args, **kwargs)


@pytest.mark.parametrize("build, inputs", [
    (lambda m: fill(m, parametrizations(m).weight_norm(m.nn.Linear(3, 2))), LINE),
    (lambda m: parametrizations(m).weight_norm(fill(m, m.nn.Linear(3, 2)), dim=None), LINE),
    (lambda m: parametrizations(m).weight_norm(fill(m, m.nn.Conv2d(2, 3, 2)), dim=1), IMAGE),
    (lambda m: parametrizations(m).weight_norm(fill(m, m.nn.Linear(3, 2)), "bias"), LINE),
    (lambda m: fill(m, parametrizations(m).spectral_norm(m.nn.Linear(3, 2))), LINE),
    (lambda m: fill(m, parametrizations(m).spectral_norm(m.nn.Conv2d(2, 3, 2), n_power_iterations=3)), IMAGE),
    (lambda m: fill(m, parametrizations(m).spectral_norm(m.nn.ConvTranspose2d(2, 3, 2))), IMAGE),
    (lambda m: parametrizations(m).spectral_norm(fill(m, m.nn.Linear(3, 2)), "bias"), LINE),
    (lambda m: fill(m, quiet(m.nn.utils.weight_norm, m.nn.Linear(3, 2))), LINE),
    (lambda m: quiet(m.nn.utils.weight_norm, fill(m, m.nn.Conv2d(2, 3, 2)), dim=1), IMAGE),
    (lambda m: quiet(m.nn.utils.weight_norm, fill(m, m.nn.Linear(3, 2)), dim=None), LINE),
    (lambda m: fill(m, m.nn.utils.spectral_norm(m.nn.Linear(3, 2))), LINE),
    (lambda m: fill(m, m.nn.utils.spectral_norm(m.nn.ConvTranspose2d(2, 3, 2), n_power_iterations=2)), IMAGE),
    *[(lambda m, kind=kind: parametrizations(m).orthogonal(fill(m, m.nn.Linear(3, 3)), orthogonal_map=kind), LINE)
      for kind in ("matrix_exp", "cayley", "householder", None)],
    (lambda m: parametrizations(m).orthogonal(fill(m, m.nn.Linear(3, 2)), use_trivialization=False), LINE),
    (lambda m: parametrizations(m).orthogonal(fill(m, m.nn.Linear(3, 5)), use_trivialization=False), LINE),
])
def test_training(build, inputs):
    """Outputs, gradients through them, and the keys and values of the state."""
    ours, theirs = trained(mg, build, inputs), trained(torch, build, inputs)
    assert list(ours[2]) == list(theirs[2])
    for a, b in zip((*ours[0], ours[1], *ours[2].values()), (*theirs[0], theirs[1], *theirs[2].values())):
        assert np.allclose(a, b, atol=2e-3), (a, b)


@BOTH
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)])
@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
def test_orthogonal(m, shape, kind):
    layer = parametrizations(m).orthogonal(fill(m, m.nn.Linear(*shape)), orthogonal_map=kind)
    w = layer.weight.detach()
    w = w if w.shape[0] >= w.shape[1] else w.T
    assert m.allclose(w.T @ w, m.eye(w.shape[1]), atol=1e-5)
    layer.weight = m.tensor(np.random.default_rng(1).normal(size=shape[::-1]).astype("float32"))     # made orthogonal
    again = layer.weight.detach()
    again = again if again.shape[0] >= again.shape[1] else again.T
    assert m.allclose(again.T @ again, m.eye(w.shape[1]), atol=1e-4)
    if kind != "householder":
        bare = parametrizations(m).orthogonal(m.nn.Linear(*shape), orthogonal_map=kind, use_trivialization=False)
        with pytest.raises(NotImplementedError, match="It is not possible to assign"):
            bare.weight = layer.weight


@BOTH
def test_removing_norms(m):
    layer = quiet(m.nn.utils.weight_norm, fill(m, m.nn.Linear(3, 2)))
    value = numbers(layer.weight)
    assert not isinstance(layer.weight, m.nn.Parameter)
    m.nn.utils.remove_weight_norm(layer)
    assert isinstance(layer.weight, m.nn.Parameter) and numbers(layer.weight) == value and not layer._forward_pre_hooks
    layer = m.nn.utils.spectral_norm(layer)
    m.nn.utils.remove_spectral_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight"] and not layer._forward_pre_hooks
    old = quiet(m.nn.utils.weight_norm, fill(m, m.nn.Linear(3, 2)))
    new = parametrizations(m).weight_norm(m.nn.Linear(3, 2))
    new.load_state_dict(old.state_dict())
    assert np.allclose(numbers(new.weight), numbers(old.weight))


@BOTH
def test_fusion(m):
    for conv, bn, transpose, x in [(m.nn.Conv2d(2, 3, 2), m.nn.BatchNorm2d(3), False, m.tensor(IMAGE)),
                                   (m.nn.ConvTranspose2d(2, 3, 2, bias=False), m.nn.BatchNorm2d(3), True, m.tensor(IMAGE)),
                                   (m.nn.Conv2d(2, 3, 2), m.nn.BatchNorm2d(3, affine=False), False, m.tensor(IMAGE))]:
        bn.running_var.fill_(3.0)
        bn.running_mean.fill_(1.0)
        conv.eval(), bn.eval()
        fused = m.nn.utils.fuse_conv_bn_eval(conv, bn, transpose)
        assert m.allclose(fused(x), bn(conv(x)), atol=1e-5) and isinstance(fused.bias, m.nn.Parameter)
    linear, bn = m.nn.Linear(3, 2).eval(), m.nn.BatchNorm1d(2).eval()
    bn.running_mean.fill_(1.0)
    assert m.allclose(m.nn.utils.fuse_linear_bn_eval(linear, bn)(m.tensor(LINE)), bn(linear(m.tensor(LINE))), atol=1e-5)
    with pytest.raises(AssertionError, match="To fuse"):
        m.nn.utils.fuse_linear_bn_eval(linear, m.nn.BatchNorm1d(3).eval())
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        m.nn.utils.fuse_linear_bn_eval(linear.train(), bn)


@BOTH
def test_names_that_are_modules_too(m):
    """``nn.utils.weight_norm`` is the function, also after an import of the module of the same name."""
    name = f"{m.__name__}.nn.utils.weight_norm"
    module = importlib.import_module(name)
    assert callable(m.nn.utils.weight_norm) and module.weight_norm is m.nn.utils.weight_norm
    assert issubclass(module.WeightNorm, object)
