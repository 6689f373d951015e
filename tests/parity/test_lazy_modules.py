"""Lazy modules and uninitialized parameters: one snippet, run on both libraries, gives the same."""

import copy
import pickle

import pytest
import torch

import minigrad as mg
from tests.parity.test_names import same

LAZY = "m.nn.LazyLinear(3)"
W = "m.nn.UninitializedParameter()"


@pytest.mark.parametrize("snippet", [
    f"{W}.shape", f"{W} + 1", f"m.ones(1) + {W}", f"{W}.size()", W, f"{W}.ndim", f"{W}.numel()", f"{W}.dtype, {W}.device, {W}.grad",
    f"{W}.data", f"m.relu({W})", f"{W}.is_leaf, {W}.requires_grad, {W}._version, {W}.is_floating_point()", f"{W}.detach()",
    f"{W}.sum()", f"len({W})", f"{W}[0]", f"{W}.tolist()", f"{W}.fill_(1)", f"m.nn.init.normal_({W})", f"{W}.zero_()",
    f"{W}.stride()", f"{W}.is_contiguous()", f"{W}.requires_grad_()", f"{W}.element_size()", f"{W}.cpu()", f"{W}.view(-1)",
    "m.nn.UninitializedParameter(False).requires_grad, m.nn.UninitializedParameter(dtype=m.float64).dtype",
    "m.nn.UninitializedBuffer(), m.nn.UninitializedBuffer().requires_grad", "m.nn.UninitializedBuffer().shape",
    "m.nn.UninitializedBuffer() * 2",
    f"isinstance({W}, m.nn.Parameter), isinstance({W}, m.nn.parameter.UninitializedTensorMixin), m.nn.parameter.is_lazy({W})",
    "m.nn.parameter.is_lazy(m.nn.UninitializedBuffer()), m.nn.parameter.is_lazy(m.ones(1)), m.nn.parameter.is_lazy(3)",
    f"(w := {W}).materialize((2, 3)), w.shape, w.requires_grad, type(w).__name__, w.dtype, w.numel()",
    f"(w := {W}).materialize((2,), dtype=m.float64), w.dtype",
    "(b := m.nn.UninitializedBuffer()).materialize((2,)), type(b).__name__, b.shape, b.requires_grad",
    f"(w := {W}).materialize((2,)), (w * 3).sum().backward(), w.grad",
])
def test_uninitialized(snippet):
    same(snippet)


@pytest.mark.parametrize("snippet", [
    LAZY, "m.nn.LazyLinear(3, bias=False)", f"list({LAZY}.parameters())", f"sum(p.numel() for p in {LAZY}.parameters())",
    f"{LAZY}.state_dict()", f"{LAZY}.in_features, {LAZY}.cls_to_become.__name__, {LAZY}.has_uninitialized_params()",
    f"(l := {LAZY})(m.ones(2, 5)).shape, l, type(l).__name__, l.weight.shape, l.bias.shape, dict(l._forward_pre_hooks)",
    f"(l := {LAZY})(m.ones(2, 5)) is not None and l(m.ones(2, 4))", f"hasattr({LAZY}, '_initialize_hook')",
    f"{LAZY}.double().weight.dtype, {LAZY}.double()(m.ones(2, 4).double()).dtype, {LAZY}.to(m.float64).weight, {LAZY}.half().weight.dtype",
    f"{LAZY}.eval(), {LAZY}.zero_grad(), {LAZY}.reset_parameters()", f"{LAZY}.requires_grad_(False)",
    f"(l := {LAZY}).initialize_parameters(m.ones(2, 4)), l.weight.shape, type(l).__name__, l.has_uninitialized_params()",
    f"m.nn.Linear(2, 3).load_state_dict({LAZY}.state_dict())", f"{LAZY}.load_state_dict({LAZY}.state_dict())",
    f"(l := {LAZY}).load_state_dict(m.nn.Linear(2, 3).state_dict()), l.weight.shape, l, l(m.ones(1, 2)).shape, l",
    f"{LAZY}.load_state_dict({{}})", f"{LAZY}.load_state_dict(m.nn.Linear(2, 3, bias=False).state_dict(), strict=False)",
    f"{LAZY}.load_state_dict(m.nn.Linear(2, 3).state_dict() | {{'other': m.ones(1)}})",
    "m.nn.LazyConv1d(4, 3), m.nn.LazyConv2d(4, 3, bias=False), m.nn.LazyConv3d(4, 3, 2, 1), m.nn.LazyConvTranspose2d(3, 2)",
    "(l := m.nn.LazyConv1d(4, 3))(m.ones(2, 3, 5)).shape, l", "(l := m.nn.LazyConv2d(4, 3))(m.ones(2, 3, 5, 5)).shape, l, l.weight.shape",
    "(l := m.nn.LazyConv2d(4, 3))(m.ones(3, 5, 5)).shape, l", "(l := m.nn.LazyConv3d(4, 3))(m.ones(2, 3, 5, 5, 5)).shape, l",
    "(l := m.nn.LazyConvTranspose1d(4, 3))(m.ones(2, 3, 5)).shape, l, l.weight.shape",
    "(l := m.nn.LazyConvTranspose2d(4, 3, groups=2))(m.ones(2, 6, 5, 5)).shape, l, l.weight.shape",
    "(l := m.nn.LazyConvTranspose3d(4, 3))(m.ones(2, 3, 5, 5, 5)).shape, l",
    "m.nn.LazyConv2d(4, 3)(m.ones(2, 3))", "m.nn.LazyConv2d(4, 3, groups=2)(m.ones(1, 3, 5, 5))", "m.nn.LazyConv2d(4, 3).in_channels",
    "m.nn.LazyConv2d(4, 3, padding='same')(m.ones(1, 3, 5, 5)).shape, m.nn.LazyConv2d(4, 3, padding=1, padding_mode='reflect')(m.ones(1, 3, 5, 5)).shape",
    "m.nn.LazyBatchNorm1d(), m.nn.LazyBatchNorm1d().state_dict()", "m.nn.LazyBatchNorm1d(affine=False, track_running_stats=False)",
    "(l := m.nn.LazyBatchNorm1d())(m.ones(2, 3)).shape, l, l.state_dict()", "(l := m.nn.LazyBatchNorm2d())(m.ones(2, 3, 4, 4)).shape, l",
    "(l := m.nn.LazyBatchNorm3d(affine=False))(m.ones(2, 3, 4, 4, 4)).shape, l, l.state_dict()", "m.nn.LazyBatchNorm2d()(m.ones(2, 3))",
    "m.nn.LazyInstanceNorm1d(), (l := m.nn.LazyInstanceNorm1d(affine=False))(m.ones(2, 3, 4)).shape, l",
    "(l := m.nn.LazyInstanceNorm2d())(m.ones(2, 3, 4, 4)).shape, l, list(l.state_dict())",
    "(l := m.nn.LazyInstanceNorm3d())(m.ones(2, 3, 4, 4, 4)).shape, l",
    "(s := m.nn.Sequential(m.nn.LazyLinear(3), m.nn.LazyBatchNorm1d()))(m.ones(4, 2)).shape, s",
    "len(m.optim.SGD(m.nn.LazyLinear(3).parameters(), 0.1).param_groups[0]['params'])",
])
def test_lazy(snippet):
    same(snippet)


@pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])
def test_loaded_before_the_first_input(m):
    lazy = m.nn.LazyLinear(3)
    lazy.load_state_dict(m.nn.Linear(2, 3).state_dict())
    assert type(lazy) is m.nn.LazyLinear and not lazy.has_uninitialized_params() and lazy.in_features == 0
    with pytest.raises(AssertionError, match=r"The in_features inferred from input: 4 is not equal to in_features from self.weight: 2"):
        lazy(m.ones(1, 4))
    assert lazy(m.ones(1, 2)).shape == (1, 3) and type(lazy) is m.nn.Linear and lazy.in_features == 2


@pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])
def test_copies_and_training(m):
    """A copy and a pickle of a lazy module are lazy. An optimizer made before the first call trains its parameters."""
    for lazy in (copy.deepcopy(m.nn.LazyLinear(3)), pickle.loads(pickle.dumps(m.nn.LazyLinear(3)))):
        assert lazy.has_uninitialized_params() and lazy(m.ones(1, 2)).shape == (1, 3) and type(lazy) is m.nn.Linear
    model = m.nn.Sequential(m.nn.LazyLinear(2), m.nn.ReLU(), m.nn.LazyLinear(1))
    before = list(model.parameters())
    sgd = m.optim.SGD(model.parameters(), 0.1)
    model(m.ones(3, 4)).sum().backward()
    assert all(a is b for a, b in zip(before, model.parameters()))
    bias = model[2].bias.item()
    sgd.step()
    assert model[2].bias.item() == pytest.approx(bias - 0.3)
    assert [type(p) for p in model.parameters()] == [m.nn.Parameter] * 4


@pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])
def test_a_mixin_of_ones_own(m):
    from importlib import import_module
    mixin = import_module(f"{m.__name__}.nn.modules.lazy").LazyModuleMixin

    class Scale(mixin, m.nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = m.nn.UninitializedParameter()

        def initialize_parameters(self, input):
            if self.has_uninitialized_params() and input.ndim > 1:
                self.factor.materialize(input.shape[-1:])

        def forward(self, input):
            return self.factor * input

    class Nothing(mixin, m.nn.Module):
        def forward(self, x):
            return x
    with pytest.raises(RuntimeError, match="module Scale has not been fully initialized"):
        Scale()(m.ones(1))
    scale = Scale()
    assert scale(m.ones(1, 3)).shape == (1, 3) and type(scale) is Scale and not hasattr(scale, "_load_hook")
    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for Nothing"):
        Nothing()(m.ones(1))
