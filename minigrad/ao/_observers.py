"""The observers of quantization, and the layer that rounds with the range of its observer.

    observer(x)                         min_val, max_val: the smallest and the largest number so far
    observer.calculate_qparams()        (scale, zero_point): z = (q - zero_point) scale, for the integers q of its dtype
    FakeQuantize(MinMaxObserver)(x)     follows x with the observer, and rounds it

Mirrors ``torch/ao/quantization/observer.py`` and ``fake_quantize.py``. Read next: ``quantization.py``, which gives them to models.
"""

import functools
from typing import Any

from minigrad import nn
from minigrad._arguments import callable_argument, instance
from minigrad.autograd.grad_mode import no_grad
from minigrad.creation import ones, tensor, zeros
from minigrad.errors import AutogradAssertionError
from minigrad.functional._fake_quantize import (
    Named,
    fake_quantize_per_channel_affine,
    fake_quantize_per_tensor_affine,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    quint8,
)
from minigrad.ops.base.arguments import in_words, integer, real, tensor_argument, truth

__all__ = ["FakeQuantize", "FusedMovingAvgObsFakeQuantize", "HistogramObserver", "MinMaxObserver", "MovingAverageMinMaxObserver",
           "MovingAveragePerChannelMinMaxObserver", "PerChannelMinMaxObserver"]


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
        name = type(self).__name__
        if not isinstance(dtype, Named) or dtype.low is None:
            raise AutogradAssertionError("MG-E302", f"{name}(): argument 'dtype' must be quint8, qint8 or qint32, not "
                                         f"{in_words(dtype)}")
        self.dtype, self.qscheme = dtype, instance(qscheme, Named, "qscheme", name, "a scheme such as per_tensor_affine")
        self.ch_axis = integer(options.get("ch_axis", 0), "ch_axis", name)
        low: Any
        high: Any
        low, high = dtype.low, dtype.high
        if quant_min is not None and quant_max is not None:
            low, high = integer(quant_min, "quant_min", name), integer(quant_max, "quant_max", name)
            if low > high:
                raise AutogradAssertionError("MG-E302", f"{name}(): quant_min must be less than or equal to quant_max",
                                             found=f"{low} and {high}")
        self.quant_min, self.quant_max = (low // 2, high // 2) if truth(reduce_range, "reduce_range", name) else (low, high)
        self.averaging_constant = real(options.get("averaging_constant", 0.01), "averaging_constant", name)
        self.register_buffer("min_val", tensor(float("inf")))
        self.register_buffer("max_val", tensor(float("-inf")))

    @classmethod
    def with_args(cls, **options):
        """The class with some of its arguments, for a `QConfig`."""
        return functools.partial(cls, **options)

    def forward(self, x_orig):
        x = tensor_argument(type(self).__name__, x_orig, "x_orig").detach()
        if x.numel():
            x = x.movedim(self.ch_axis, 0).flatten(1) if self.channels else x.reshape(1, -1)
            low, high = x.amin(1), x.amax(1)
            self.min_val, self.max_val = self.follow(*((low, high) if self.channels else (low[0], high[0])))
        return x_orig

    def follow(self, low, high):
        """The new smallest and largest number, from those of the input."""
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
        observer = callable_argument(observer, "observer", type(self).__name__)(quant_min=quant_min, quant_max=quant_max, **options)
        self.activation_post_process = instance(observer, MinMaxObserver, "observer", type(self).__name__, "a class of observers")
        for name in ("fake_quant_enabled", "observer_enabled"):
            self.register_buffer(name, tensor([1], dtype=zeros(0).byte().dtype))
        self.register_buffer("scale", ones(1))
        self.register_buffer("zero_point", zeros(1).int())

    with_args = classmethod(MinMaxObserver.with_args.__func__)

    def enable_fake_quant(self, enabled=True):
        self.fake_quant_enabled[0] = int(truth(enabled, "enabled", "enable_fake_quant"))

    def disable_fake_quant(self):
        self.enable_fake_quant(False)

    def enable_observer(self, enabled=True):
        self.observer_enabled[0] = int(truth(enabled, "enabled", "enable_observer"))

    def disable_observer(self):
        self.enable_observer(False)

    def calculate_qparams(self):
        """The scale and the zero point of the observer."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X):
        tensor_argument(type(self).__name__, X, "X")
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
