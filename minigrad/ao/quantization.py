"""Quantization in simulation: training with rounded weights and activations, without 8-bit numbers.

    model.qconfig = get_default_qat_qconfig("fbgemm")
    prepare_qat(model, inplace=True)        layers round their weights and their outputs, and learn the ranges
    ... train ...
    convert(model.eval(), inplace=True)     the weights become the rounded ones, and the ranges stay as they are

An observer follows the smallest and the largest number, and computes a scale and a zero point from them. A `FakeQuantize` rounds
with these: see ``_observers.py``. In PyTorch, `convert` and `quantize_dynamic` replace layers by ones that compute with 8-bit
integers; here the layers stay, and compute with rounded float32 weights. The file of a saved model does not get smaller.

Mirrors ``torch/ao/quantization``.
"""

import copy
import functools
from collections import namedtuple

from minigrad import nn
from minigrad._arguments import instance, listed
from minigrad.ao._observers import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
)
from minigrad.autograd.grad_mode import no_grad
from minigrad.errors import AutogradAssertionError
from minigrad.functional._fake_quantize import per_channel_symmetric, per_tensor_symmetric, qint8
from minigrad.nn.utils.fusion import fuse_conv_bn_eval
from minigrad.ops.base.arguments import truth

__all__ = ["DeQuantStub", "FakeQuantize", "FusedMovingAvgObsFakeQuantize", "HistogramObserver", "MinMaxObserver",
           "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver", "PerChannelMinMaxObserver", "QConfig",
           "QuantStub", "QuantWrapper", "convert", "default_dynamic_qconfig", "default_fake_quant", "default_observer",
           "default_qat_qconfig", "default_qconfig", "default_weight_fake_quant", "default_weight_observer",
           "disable_fake_quant", "disable_observer", "enable_fake_quant", "enable_observer", "fuse_modules", "fuse_modules_qat",
           "get_default_qat_qconfig", "get_default_qconfig", "prepare", "prepare_qat", "quantize_dynamic"]

QConfig = namedtuple("QConfig", ["activation", "weight"])
BACKENDS = ("fbgemm", "x86", "qnnpack", "onednn")


def _each(method):
    def apply(mod):
        if isinstance(mod, FakeQuantize):
            getattr(mod, method)()
    apply.__name__ = method
    apply.__doc__ = f"Call `{method}` of a `FakeQuantize`: ``model.apply({method})``. Mirrors ``torch.ao.quantization.{method}``."
    return apply


enable_observer, disable_observer = _each("enable_observer"), _each("disable_observer")
enable_fake_quant, disable_fake_quant = _each("enable_fake_quant"), _each("disable_fake_quant")


# ---- the usual choices ----------------------------------------------------------------------------

default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_weight_observer = MinMaxObserver.with_args(dtype=qint8, qscheme=per_tensor_symmetric)
default_fake_quant = FakeQuantize.with_args(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, reduce_range=True)
default_weight_fake_quant = FakeQuantize.with_args(observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=qint8,
                                                   qscheme=per_tensor_symmetric)
default_qconfig = QConfig(default_observer, default_weight_observer)
default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)
default_dynamic_qconfig = QConfig(default_observer, default_weight_observer)


def check_backend(backend, function):
    """Raise unless PyTorch has a `backend` of this name. Here all but "qnnpack" are the same."""
    if instance(backend, str, "backend", function) not in BACKENDS:
        raise AutogradAssertionError("MG-E302", f"{function}(): backend: {backend} not supported", expected=", ".join(BACKENDS))


def get_default_qconfig(backend="x86", version=0):
    """The usual observers. Mirrors ``torch.ao.quantization.get_default_qconfig``.

    Raises:
        AssertionError: `backend` is not "fbgemm", "x86", "qnnpack" or "onednn".
    """
    check_backend(backend, "get_default_qconfig")
    return QConfig(HistogramObserver.with_args(reduce_range=backend != "qnnpack"),
                   PerChannelMinMaxObserver.with_args(dtype=qint8, qscheme=per_channel_symmetric)
                   if backend != "qnnpack" else default_weight_observer)


def get_default_qat_qconfig(backend="x86", version=1):
    """The usual rounding in training. Mirrors ``torch.ao.quantization.get_default_qat_qconfig``.

    Raises:
        AssertionError: `backend` is not "fbgemm", "x86", "qnnpack" or "onednn".
    """
    check_backend(backend, "get_default_qat_qconfig")
    if backend == "qnnpack":
        return QConfig(FakeQuantize.with_args(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255),
                       default_weight_fake_quant)
    weight = FusedMovingAvgObsFakeQuantize.with_args(observer=MovingAveragePerChannelMinMaxObserver, quant_min=-128, quant_max=127,
                                                     dtype=qint8, qscheme=per_channel_symmetric)
    return QConfig(FusedMovingAvgObsFakeQuantize.with_args(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255,
                                                           reduce_range=True), weight)


# ---- models ---------------------------------------------------------------------------------------


class QuantStub(nn.Module):
    """Where the quantized part of a model begins. Mirrors ``torch.ao.quantization.QuantStub``."""

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class DeQuantStub(QuantStub):
    """Where the quantized part of a model ends. Mirrors ``torch.ao.quantization.DeQuantStub``."""


class QuantWrapper(nn.Module):
    """A module between a `QuantStub` and a `DeQuantStub`. Mirrors ``torch.ao.quantization.QuantWrapper``."""

    def __init__(self, module):
        super().__init__()
        self.quant, self.dequant = QuantStub(), DeQuantStub()
        self.module = instance(module, nn.Module, "module", "QuantWrapper")
        self.train(module.training)

    def forward(self, X):
        return self.dequant(self.module(self.quant(X)))


LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)


def configured(module, qconfig=None):
    """(module, its `qconfig`), for all modules below that have one, by themselves or from a module above."""
    qconfig = getattr(module, "qconfig", qconfig)
    if qconfig is not None:
        yield module, qconfig
    for child in module.children():
        yield from configured(child, qconfig)


def round_output(module, args, output):
    """A hook: what `activation_post_process` makes of an output."""
    return module.activation_post_process(output)


def own_model(model, inplace, function):
    """The model that a function may change: `model` itself if `inplace`, else a copy of it."""
    instance(model, nn.Module, "model", function)
    return model if truth(inplace, "inplace", function) else copy.deepcopy(model)


def watch_outputs(model, inner):
    """Give each stub and layer of a model its `activation_post_process`, and call ``inner(layer, qconfig)`` on the layers."""
    for module, qconfig in list(configured(model)):
        if type(module) is QuantStub or isinstance(module, LAYERS):
            module.activation_post_process = qconfig.activation()
            module.register_forward_hook(round_output)
        if isinstance(module, LAYERS):
            inner(module, qconfig)
    return model


def rounded_forward(layer, x):
    """The forward of a layer with its rounded weight."""
    weight = layer.weight_fake_quant(layer.weight)
    if isinstance(layer, nn.Linear):
        return nn.functional.linear(x, weight, layer.bias)
    return layer._conv_forward(x, weight, layer.bias)


def round_weight(layer, qconfig):
    """Let a layer round its weight in each forward."""
    layer.weight_fake_quant = qconfig.weight()
    layer.forward = functools.partial(rounded_forward, layer)


def prepare_qat(model, mapping=None, inplace=False):
    """Let the layers of a model round their weights and outputs while it trains. Mirrors ``torch.ao.quantization.prepare_qat``.

    Raises:
        AssertionError: the model is not in training mode.
    """
    model = own_model(model, inplace, "prepare_qat")
    assert model.training, "prepare_qat only works on models in training mode"
    return watch_outputs(model, round_weight)


def prepare(model, inplace=False, allow_list=None, observer_non_leaf_module_list=None, prepare_custom_config_dict=None):
    """Let observers follow the outputs of the layers. Mirrors ``torch.ao.quantization.prepare``."""
    def follow_weight(layer, qconfig):
        layer.qconfig = qconfig
    return watch_outputs(own_model(model, inplace, "prepare"), follow_weight)


def convert(module, mapping=None, inplace=False, remove_qconfig=True, is_reference=False, convert_custom_config_dict=None,
            use_precomputed_fake_quant=False):
    """Round the weights for good, and keep the ranges as they are. Mirrors ``torch.ao.quantization.convert``."""
    module = own_model(module, inplace, "convert")
    for part in list(module.modules()):
        if isinstance(part, LAYERS) and "activation_post_process" in part._modules:
            fake = part._modules.pop("weight_fake_quant", None) or as_fake_quantize(part.qconfig.weight())
            with no_grad():
                part.weight.copy_(fake(part.weight))
            vars(part).pop("forward", None)
        post = part._modules.get("activation_post_process")
        if isinstance(part, (QuantStub, *LAYERS)) and post is not None:
            part.activation_post_process = post = as_fake_quantize(post)
            post.disable_observer()
    return module


def as_fake_quantize(observer):
    """A `FakeQuantize` with the range of an observer."""
    if isinstance(observer, FakeQuantize):
        return observer
    fake = FakeQuantize(lambda **options: observer)      # pyright: ignore[reportArgumentType]
    if bool((observer.min_val <= observer.max_val).all()):
        fake.scale, fake.zero_point = [x.reshape(-1) for x in observer.calculate_qparams()]
    return fake


def quantize_dynamic(model, qconfig_spec=None, dtype=qint8, mapping=None, inplace=False):
    """Round the weights of linear layers. Mirrors ``torch.ao.quantization.quantize_dynamic``.

    >>> model = mg.ao.quantization.quantize_dynamic(nn.Linear(2, 2), {nn.Linear}, dtype=mg.qint8)
    >>> model(mg.ones(1, 2)).shape
    minigrad.Size([1, 2])
    """
    model = own_model(model, inplace, "quantize_dynamic")
    with no_grad():
        for layer in model.modules():
            if isinstance(layer, nn.Linear):
                layer.weight.copy_(as_fake_quantize(default_weight_observer())(layer.weight))
    return model


def fuse_modules(model, modules_to_fuse, inplace=False, fuser_func=None, fuse_custom_config_dict=None):
    """Put a batch norm into the convolution before it, in evaluation mode. Mirrors ``torch.ao.quantization.fuse_modules``.

    Args:
        model (Module): it has the modules.
        modules_to_fuse (list of list of str, or list of str): the names, such as ``["conv", "bn", "relu"]``.
        inplace (bool): change `model` itself.

    Raises:
        AssertionError: a list has fewer than two names.
    """
    model = own_model(model, inplace, "fuse_modules")
    groups = listed(modules_to_fuse, "modules_to_fuse", "fuse_modules", "list of lists of str")
    for names in [groups] if all(isinstance(name, str) for name in groups) else groups:
        names = listed(names, "modules_to_fuse", "fuse_modules", "list of lists of str")
        if len(names) < 2:
            raise AutogradAssertionError("MG-E302", f"fuse_modules(): did not find a method to fuse {names}",
                                         expected="the names of two modules or more")
        first, second = model.get_submodule(names[0]), model.get_submodule(names[1])
        if isinstance(second, nn.modules.batchnorm._BatchNorm) and not model.training:  # pyright: ignore[reportAttributeAccessIssue]
            model.set_submodule(names[0], fuse_conv_bn_eval(first, second))
            model.set_submodule(names[1], nn.Identity())
    return model


def fuse_modules_qat(model, modules_to_fuse, inplace=False, fuser_func=None, fuse_custom_config_dict=None):
    """Check the names; in training the modules stay as they are. Mirrors ``torch.ao.quantization.fuse_modules_qat``."""
    return fuse_modules(model, modules_to_fuse, inplace)
