"""Quantization in simulation: training with rounded weights and activations, without 8-bit numbers.

    model.qconfig = get_default_qat_qconfig("fbgemm")
    prepare_qat(model, inplace=True)        layers round their weights and their outputs, and learn the ranges
    ... train ...
    convert(model.eval(), inplace=True)     the weights become the rounded ones, and the ranges stay as they are

An observer follows the smallest and the largest number, and computes a scale and a zero point from them. A `FakeQuantize` rounds
with these: see ``functional/_fake_quantize.py``. In PyTorch, `convert` and `quantize_dynamic` replace layers by ones that compute
with 8-bit integers; here the layers stay, and compute with rounded float32 weights. The file of a saved model does not get smaller.

Mirrors ``torch/ao/quantization``.
"""

import copy
import functools
from collections import namedtuple
from typing import Any

from minigrad import nn
from minigrad.autograd.grad_mode import no_grad
from minigrad.creation import ones, tensor, zeros
from minigrad.functional._fake_quantize import (
    fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    quint8,
)
from minigrad.nn.utils.fusion import fuse_conv_bn_eval

__all__ = ["DeQuantStub", "FakeQuantize", "FusedMovingAvgObsFakeQuantize", "HistogramObserver", "MinMaxObserver",
           "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver", "PerChannelMinMaxObserver", "QConfig",
           "QuantStub", "QuantWrapper", "convert", "default_dynamic_qconfig", "default_fake_quant", "default_observer",
           "default_qat_qconfig", "default_qconfig", "default_weight_fake_quant", "default_weight_observer",
           "disable_fake_quant", "disable_observer", "enable_fake_quant", "enable_observer", "fuse_modules", "fuse_modules_qat",
           "get_default_qat_qconfig", "get_default_qconfig", "prepare", "prepare_qat", "quantize_dynamic"]

QConfig = namedtuple("QConfig", ["activation", "weight"])


# ---- observers: the range of the numbers ----------------------------------------------------------


class MinMaxObserver(nn.Module):
    """Follows the smallest and the largest number. Mirrors ``torch.ao.quantization.MinMaxObserver``.

    Args:
        dtype (quint8 or qint8): the integers.
        qscheme (per_tensor_affine, per_tensor_symmetric, per_channel_symmetric): a symmetric one has the zero point in the middle.
        reduce_range (bool): leave out one bit.
        quant_min, quant_max (int, optional): the range of the integers, instead of that of `dtype`.

    >>> observer = mg.ao.quantization.MinMaxObserver()
    >>> x = observer(mg.tensor([0., 2.55])); observer.calculate_qparams()
    (tensor(0.0100), tensor(0, dtype=minigrad.int32))
    """

    channels = False

    def __init__(self, dtype=quint8, qscheme=per_tensor_affine, reduce_range=False, quant_min=None, quant_max=None, **options):
        super().__init__()
        self.dtype, self.qscheme, self.ch_axis = dtype, qscheme, options.get("ch_axis", 0)
        low: Any
        high: Any
        low, high = (dtype.low, dtype.high) if quant_min is None or quant_max is None else (quant_min, quant_max)
        self.quant_min, self.quant_max = (low // 2, high // 2) if reduce_range else (low, high)
        self.averaging_constant = options.get("averaging_constant", 0.01)
        self.register_buffer("min_val", tensor(float("inf")))
        self.register_buffer("max_val", tensor(float("-inf")))

    @classmethod
    def with_args(cls, **options):
        """The class with some of its arguments, for a `QConfig`."""
        return functools.partial(cls, **options)

    def forward(self, x_orig):
        x = x_orig.detach()
        if x.numel():
            x = x.movedim(self.ch_axis, 0).flatten(1) if self.channels else x.reshape(1, -1)
            low, high = x.amin(1), x.amax(1)
            self.min_val, self.max_val = self.follow(*((low, high) if self.channels else (low[0], high[0])))
        return x_orig

    def follow(self, low, high):
        """The new smallest and largest number."""
        return self.min_val.minimum(low), self.max_val.maximum(high)

    def calculate_qparams(self):
        """The scale and the zero point."""
        low, high = self.min_val.clamp(max=0), self.max_val.clamp(min=0)
        smallest = 1.1920928955078125e-07
        if self.qscheme in (per_tensor_symmetric, per_channel_symmetric):
            scale = ((-low).maximum(high) / ((self.quant_max - self.quant_min) / 2)).clamp(min=smallest)
            return scale, (zeros(scale.shape) + (128 if self.dtype is quint8 else 0)).int()
        scale = ((high - low) / (self.quant_max - self.quant_min)).clamp(min=smallest)
        return scale, (self.quant_min - (low / scale).round()).clamp(self.quant_min, self.quant_max).int()

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}"


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Follows moving averages of both. Mirrors ``torch.ao.quantization.MovingAverageMinMaxObserver``."""

    def follow(self, low, high):
        if bool((self.min_val == float("inf")).any()):
            return low, high
        return self.min_val.lerp(low, self.averaging_constant), self.max_val.lerp(high, self.averaging_constant)


class PerChannelMinMaxObserver(MinMaxObserver):
    """Follows both for each channel. Mirrors ``torch.ao.quantization.PerChannelMinMaxObserver``."""

    channels = True


class MovingAveragePerChannelMinMaxObserver(MovingAverageMinMaxObserver):
    """Follows moving averages for each channel. Mirrors ``torch.ao.quantization.MovingAveragePerChannelMinMaxObserver``."""

    channels = True


class HistogramObserver(MinMaxObserver):
    """Here a `MinMaxObserver`; PyTorch searches a histogram for the best range.

    Mirrors ``torch.ao.quantization.HistogramObserver``.
    """


# ---- rounding -------------------------------------------------------------------------------------


class FakeQuantize(nn.Module):
    """Rounds its input with the range that its observer has found. Mirrors ``torch.ao.quantization.FakeQuantize``.

    Args:
        observer (class): the observer, `activation_post_process`.
        quant_min, quant_max (int, optional): the range of the integers.
        options: arguments of the observer.

    >>> fake = mg.ao.quantization.FakeQuantize(mg.ao.quantization.MinMaxObserver)
    >>> fake(mg.tensor([0., 0.104, 25.5]))
    tensor([ 0.0000,  0.1000, 25.5000])
    """

    def __init__(self, observer=MovingAverageMinMaxObserver, quant_min=None, quant_max=None, **options):
        super().__init__()
        self.activation_post_process = observer(quant_min=quant_min, quant_max=quant_max, **options)
        for name in ("fake_quant_enabled", "observer_enabled"):
            self.register_buffer(name, tensor([1], dtype=zeros(0).byte().dtype))
        self.register_buffer("scale", ones(1))
        self.register_buffer("zero_point", zeros(1).int())

    with_args = classmethod(MinMaxObserver.with_args.__func__)

    def enable_fake_quant(self, enabled=True):
        self.fake_quant_enabled[0] = int(enabled)

    def disable_fake_quant(self):
        self.enable_fake_quant(False)

    def enable_observer(self, enabled=True):
        self.observer_enabled[0] = int(enabled)

    def disable_observer(self):
        self.enable_observer(False)

    def calculate_qparams(self):
        """The scale and the zero point of the observer."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X):
        observer = self.activation_post_process
        if self.observer_enabled[0]:
            observer(X.detach())
            with no_grad():
                scale, zero_point = observer.calculate_qparams()
                self.scale, self.zero_point = scale.reshape(-1), zero_point.reshape(-1)
        if not self.fake_quant_enabled[0]:
            return X
        if observer.channels:
            return fake_quantize_per_channel_affine(X, self.scale, self.zero_point, observer.ch_axis, observer.quant_min,
                                                    observer.quant_max)
        return fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, observer.quant_min, observer.quant_max)

    def extra_repr(self):
        return f"scale={self.scale}, zero_point={self.zero_point}"


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """Here a `FakeQuantize`; PyTorch computes it in one pass. Mirrors ``torch.ao.quantization.FusedMovingAvgObsFakeQuantize``."""


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


def get_default_qconfig(backend="x86", version=0):
    """The usual observers. Mirrors ``torch.ao.quantization.get_default_qconfig``."""
    return QConfig(HistogramObserver.with_args(reduce_range=backend != "qnnpack"),
                   PerChannelMinMaxObserver.with_args(dtype=qint8, qscheme=per_channel_symmetric)
                   if backend != "qnnpack" else default_weight_observer)


def get_default_qat_qconfig(backend="x86", version=1):
    """The usual rounding in training. Mirrors ``torch.ao.quantization.get_default_qat_qconfig``."""
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
        self.quant, self.dequant, self.module = QuantStub(), DeQuantStub(), module
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


def watch_outputs(model, inplace, inner):
    """Give each stub and layer of a model its `activation_post_process`, and call ``inner(layer, qconfig)`` on the layers."""
    model = model if inplace else copy.deepcopy(model)
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
    assert model.training, "prepare_qat only works on models in training mode"
    return watch_outputs(model, inplace, round_weight)


def prepare(model, inplace=False, allow_list=None, observer_non_leaf_module_list=None, prepare_custom_config_dict=None):
    """Let observers follow the outputs of the layers. Mirrors ``torch.ao.quantization.prepare``."""
    def follow_weight(layer, qconfig):
        layer.qconfig = qconfig
    return watch_outputs(model, inplace, follow_weight)


def convert(module, mapping=None, inplace=False, remove_qconfig=True, is_reference=False, convert_custom_config_dict=None,
            use_precomputed_fake_quant=False):
    """Round the weights for good, and keep the ranges as they are. Mirrors ``torch.ao.quantization.convert``."""
    module = module if inplace else copy.deepcopy(module)
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
    model = model if inplace else copy.deepcopy(model)
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
    """
    model = model if inplace else copy.deepcopy(model)
    groups = [modules_to_fuse] if isinstance(modules_to_fuse[0], str) else modules_to_fuse
    for names in groups:
        first, second = model.get_submodule(names[0]), model.get_submodule(names[1])
        if isinstance(second, nn.modules.batchnorm._BatchNorm) and not model.training:  # pyright: ignore[reportAttributeAccessIssue]
            model.set_submodule(names[0], fuse_conv_bn_eval(first, second))
            model.set_submodule(names[1], nn.Identity())
    return model


def fuse_modules_qat(model, modules_to_fuse, inplace=False, fuser_func=None, fuse_custom_config_dict=None):
    """Check the names; in training the modules stay as they are. Mirrors ``torch.ao.quantization.fuse_modules_qat``."""
    return fuse_modules(model, modules_to_fuse, inplace)
