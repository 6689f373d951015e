"""What programs reach of `Module` besides its documented methods: import paths, tables of hooks, protected methods."""

import importlib
import warnings

import pytest
import torch

import minigrad as mg
from tests.parity.test_names import same

BOTH = pytest.mark.parametrize("m", [mg, torch], ids=["minigrad", "torch"])

PATHS = """
activation CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish MultiheadAttention PReLU ReLU
activation ReLU6 SELU Sigmoid SiLU Softmax Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold
batchnorm BatchNorm1d BatchNorm2d BatchNorm3d _BatchNorm _NormBase
channelshuffle ChannelShuffle
container ModuleDict ModuleList ParameterDict ParameterList Sequential
conv Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d _ConvNd _ConvTransposeNd
dropout Dropout Dropout2d _DropoutNd
instancenorm InstanceNorm1d InstanceNorm2d InstanceNorm3d _InstanceNorm
lazy LazyModuleMixin
linear Bilinear Identity Linear
loss BCELoss BCEWithLogitsLoss CrossEntropyLoss HuberLoss KLDivLoss L1Loss MSELoss NLLLoss SmoothL1Loss TripletMarginLoss _Loss _WeightedLoss
module Module register_module_forward_hook _IncompatibleKeys _global_forward_hooks _global_backward_hooks
normalization GroupNorm LayerNorm LocalResponseNorm RMSNorm
padding ConstantPad2d ReflectionPad2d ZeroPad2d _ConstantPadNd
pixelshuffle PixelShuffle PixelUnshuffle
pooling AvgPool2d MaxPool2d _AvgPoolNd _MaxPoolNd _AdaptiveAvgPoolNd
rnn GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase
sparse Embedding
transformer Transformer TransformerEncoderLayer _get_activation_fn _get_clones
upsampling Upsample
utils _ntuple _single _pair _triple _quadruple _reverse_repeat_tuple _list_with_default consume_prefix_in_state_dict_if_present
"""


@pytest.mark.parametrize("line", PATHS.split("\n")[1:-1])
def test_paths(line):
    file, *names = line.split()
    for m in (mg, torch):
        for name in names:
            assert hasattr(importlib.import_module(f"{m.__name__}.nn.modules.{file}"), name), name
            assert hasattr(getattr(m.nn.modules, file), name)


def test_the_bases():
    assert issubclass(mg.nn.NLLLoss, mg.nn.modules.loss._WeightedLoss) and issubclass(mg.nn.BCELoss, mg.nn.modules.loss._WeightedLoss)
    assert issubclass(mg.nn.L1Loss, mg.nn.modules.loss._Loss) and not issubclass(mg.nn.L1Loss, mg.nn.modules.loss._WeightedLoss)
    assert issubclass(mg.nn.BatchNorm2d, mg.nn.modules.batchnorm._NormBase)


@pytest.mark.parametrize("snippet", [
    "[f(3) for f in (m.nn.modules.utils._single, m.nn.modules.utils._pair, m.nn.modules.utils._triple, m.nn.modules.utils._quadruple)]",
    "m.nn.modules.utils._pair((1, 2)), m.nn.modules.utils._pair([1, 2, 3]), m.nn.modules.utils._pair.__name__",
    "m.nn.modules.utils._reverse_repeat_tuple((1, 2, 3), 2), m.nn.modules.utils._list_with_default([None, 3], [5, 6, 7])",
    "m.nn.modules.utils._list_with_default([None, 3], [5, 6])",
    "(d := {'module.a': 1, 'b': 2}, m.nn.modules.utils.consume_prefix_in_state_dict_if_present(d, 'module.'))[0]",
    "m.nn.Module(1)", "m.nn.Module(a=1)", "m.nn.Module.dump_patches, m.nn.Module.call_super_init",
    "m.nn.Conv2d(2, 4, 3, padding=(1, 2))._reversed_padding_repeated_twice, m.nn.Conv2d(2, 4, 3, padding='same')._reversed_padding_repeated_twice",
    "m.nn.Conv2d(2, 4, 3).transposed, m.nn.ConvTranspose2d(2, 4, 3).transposed",
    "(c := m.nn.Conv2d(1, 1, 1))._conv_forward(m.ones(1, 1, 2, 2), m.full((1, 1, 1, 1), 3.), None)",
    "(c := m.nn.Conv1d(1, 1, 3, padding=1, padding_mode='circular'))._conv_forward(m.arange(4.).view(1, 1, 4), m.ones(1, 1, 3), m.ones(1))",
    "m.nn.modules.conv._ConvNd(2, 4, (3, 3), (1, 1), (0, 0), (1, 1), False, (0, 0), 1, True, 'zeros').weight.shape",
    "m.nn.modules.conv._ConvNd(2, 4, (3,), (1,), (0,), (1,), True, (0,), 2, False, 'zeros').weight.shape",
    "m.nn.BatchNorm2d(2)._check_input_dim(m.ones(2))", "m.nn.BatchNorm2d(2)._check_input_dim(m.ones(1, 2, 3, 3))",
    "m.nn.modules.batchnorm._BatchNorm(3)(m.ones(2, 3))", "m.nn.modules.batchnorm._BatchNorm(3)",
    "[name for name, _ in m.nn.Linear(2, 1)._named_members(lambda x: x._parameters.items(), prefix='p')]",
    "m.nn.modules.transformer._get_activation_fn('relu').__name__, len(m.nn.modules.transformer._get_clones(m.nn.Linear(1, 1), 3))",
    "m.nn.modules.transformer._get_activation_fn('tanh')",
])
def test_snippets(snippet):
    same(snippet)


@BOTH
def test_tables_of_hooks(m):
    """The tables map an id to the hook itself. Removing the handle also removes the options."""
    layer = m.nn.ReLU()
    events = []

    def pre(module, args, kwargs=None):
        events.append("pre")

    def post(module, args, kwargs, output):
        events.append(("post", kwargs))
    layer.register_forward_pre_hook(pre)
    handle = layer.register_forward_hook(post, with_kwargs=True, always_call=True)
    assert list(layer._forward_pre_hooks.values()) == [pre] and dict(layer._forward_hooks) == {handle.id: post}
    assert list(layer._forward_hooks_with_kwargs) == list(layer._forward_hooks_always_called) == [handle.id]
    layer(input=m.ones(1))
    assert events == ["pre", ("post", {"input": m.ones(1)})]
    handle.remove()
    assert not layer._forward_hooks and not layer._forward_hooks_with_kwargs and not layer._forward_hooks_always_called
    layer._forward_pre_hooks.clear()
    layer(m.ones(1))
    assert len(events) == 2
    module = importlib.import_module(f"{m.__name__}.nn.modules.module")
    with module.register_module_forward_hook(lambda *args: events.append("all")) as handle:
        assert list(module._global_forward_hooks) == [handle.id]
        layer(m.ones(1))
    assert events[2:] == ["all"] and not module._global_forward_hooks
    full = layer.register_full_backward_hook(post)
    assert dict(layer._backward_hooks) == {full.id: post} and layer._is_full_backward_hook is True


@BOTH
def test_register_backward_hook(m):
    """The deprecated kind: it sees the gradients of the last node, and may change them."""
    events = []
    layer = m.nn.ReLU()
    assert layer._is_full_backward_hook is None
    handle = layer.register_backward_hook(lambda module, gin, gout: events.append((module is layer, gin[0].tolist(), gout[0].tolist())))
    x = m.tensor([1.0, -1.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer(x * 1).sum().backward()
    assert events == [(True, [1.0, 0.0], [1.0, 1.0])] and layer._is_full_backward_hook is False
    handle.remove()
    layer.register_backward_hook(lambda module, gin, gout: (gin[0] * 10,))
    x.grad = None
    layer(x * 1).sum().backward()
    assert x.grad.tolist() == [10.0, 0.0]
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        layer.register_full_backward_hook(print)
    full = m.nn.ReLU()
    full.register_full_backward_hook(print)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        full.register_backward_hook(print)


@BOTH
@pytest.mark.parametrize("output", [lambda y: {"a": y}, lambda y: [y, y], lambda y: (y, y * 2), lambda y: y.exp()])
def test_register_backward_hook_warns(m, output):
    class Net(m.nn.Module):
        def forward(self, x):
            return output(x * 2)
    events = []
    net = Net()
    net.register_backward_hook(lambda module, gin, gout: events.append(gout[0].tolist()))
    x = m.ones(1, requires_grad=True)
    with pytest.warns(FutureWarning, match=r"non-full backward hook"):
        y = net(x)
    first = y["a"] if isinstance(y, dict) else y[0] if not isinstance(y, m.Tensor) else y
    first.backward()
    assert events == [[1.0]]


@BOTH
def test_overrides(m):
    """`_apply`, `_save_to_state_dict` and `_load_from_state_dict` of a subclass are called."""
    seen = []

    class Counted(m.nn.Linear):
        def _apply(self, fn, recurse=True):
            seen.append("apply")
            return super()._apply(fn)

        def _save_to_state_dict(self, destination, prefix, keep_vars):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "calls"] = m.tensor(7)

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
            seen.append((prefix, state_dict.pop(prefix + "calls").item(), local_metadata.get("version"), strict))
            super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
    model, other = (m.nn.Sequential(m.nn.Linear(2, 2), Counted(2, 1)) for _ in range(2))
    model.double()
    assert seen == ["apply"] and model[1].weight.dtype == m.float64
    state = model.state_dict()
    assert list(state) == ["0.weight", "0.bias", "1.weight", "1.bias", "1.calls"]
    assert not any(other.load_state_dict(state)) and seen[1:] == [("1.", 7, 1, True)]
    assert other[1].weight.tolist() == model[1].weight.float().tolist()
    state = {**state, "1.weight": m.ones(3, 3), "1.more": m.ones(1), "2.x": m.ones(1)}
    with pytest.raises(RuntimeError, match=r"(?s)Unexpected key.*size mismatch for 1.weight"):
        other.load_state_dict(state)
    del state["1.weight"], state["0.bias"]
    keys = other.load_state_dict(state, strict=False)
    assert set(keys.missing_keys) == {"1.weight", "0.bias"} and set(keys.unexpected_keys) == {"1.more", "2.x"}


@BOTH
def test_older_hooks_of_the_state(m):
    layer = m.nn.Linear(1, 1, bias=False)
    layer._register_state_dict_hook(lambda module, state, prefix, metadata: {**state, "extra": m.ones(1)})
    assert list(layer.state_dict()) == ["weight", "extra"]
    seen = []
    layer._register_load_state_dict_pre_hook(lambda state, prefix, *rest: seen.append((prefix, len(rest), state.pop("extra").item())))
    layer._register_load_state_dict_pre_hook(lambda module, state, *rest: seen.append(module is layer), with_module=True)
    layer.load_state_dict(layer.state_dict())
    assert seen == [("", 5, 1.0), True]


@BOTH
def test_call_super_init(m):
    class Base:
        def __init__(self, width, *, depth):
            self.size = width, depth

    class Net(m.nn.Module, Base):
        call_super_init = True
    assert Net(3, depth=4).size == (3, 4)


@BOTH
def test_a_norm_and_a_convolution_of_ones_own(m):
    conv, batchnorm, utils = (importlib.import_module(f"{m.__name__}.nn.modules.{name}") for name in ("conv", "batchnorm", "utils"))

    class Standardized(conv._ConvNd):
        def __init__(self, inputs, outputs, size):
            pair = utils._pair
            super().__init__(inputs, outputs, pair(size), pair(1), pair(0), pair(1), False, pair(0), 1, True, "zeros")

        def forward(self, x):
            w = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
            return m.nn.functional.conv2d(x, w, self.bias, self.stride, self.padding, self.dilation, self.groups)

    class Any(batchnorm._BatchNorm):
        def _check_input_dim(self, input):
            if input.ndim == 1:
                raise ValueError("no")
    net = Standardized(2, 3, 3)
    y = net(m.ones(1, 2, 4, 4))
    assert y.shape == (1, 3, 2, 2) and m.allclose(y[0, :, 0, 0], net.bias, atol=1e-5)
    assert Any(3)(m.ones(2, 3, 4, 5, 6)).shape == (2, 3, 4, 5, 6)
    with pytest.raises(ValueError, match="no"):
        Any(3)(m.ones(3))
