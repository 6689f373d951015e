"""Scale the loss, so that small gradients in float16 do not become 0. Mirrors ``torch/amp/grad_scaler.py``.

    scale(loss)             loss * S; so all gradients are S times as large
    unscale_(optimizer)     gradients / S; notes whether one is inf or nan
    step(optimizer)         unscale_ if the program has not; optimizer.step() unless a gradient was inf or nan
    update()                S * backoff_factor after an inf or nan; S * growth_factor after growth_interval steps without
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from minigrad._arguments import instance
from minigrad._warnings import warn_once
from minigrad.amp.autocast_mode import has_gpu
from minigrad.autograd.grad_mode import no_grad
from minigrad.dtypes import float16
from minigrad.errors import AutogradAssertionError, AutogradError, MinigradError, TensorValueError
from minigrad.ops.base.arguments import integer, real, truth, wrong_type
from minigrad.tensor import Tensor

__all__ = ["GradScaler"]

READY, UNSCALED, STEPPED = "ready", "unscaled", "stepped"     # what has happened to an optimizer since the last update()


class MissingEntryError(MinigradError, KeyError):
    """A state dict of a scaler is not complete."""


class GradScaler:
    """Scales the loss and its gradients, and leaves out steps whose gradients are not finite. Mirrors ``torch.amp.GradScaler``.

    Args:
        device (str): "cpu" or "cuda". For "cuda" without a GPU it warns and is disabled, as in PyTorch.
        init_scale (float): the first factor of the loss.
        growth_factor (float): multiplies the factor after `growth_interval` steps; greater than 1.
        backoff_factor (float): multiplies the factor after a gradient that is not finite; less than 1.
        growth_interval (int): the number of steps.
        enabled (bool): False for a scaler that changes nothing.

    Raises:
        AssertionError: a factor is not in its range, or methods are called in the wrong order.

    >>> w = mg.nn.Parameter(mg.ones(1))
    >>> optimizer, scaler = mg.optim.SGD([w], lr=0.5), mg.amp.GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale((w * 3).sum()).backward()
    >>> w.grad
    tensor([24.])
    >>> scaler.step(optimizer); scaler.update()
    >>> w.grad, w.detach()
    (tensor([3.]), tensor([-0.5000]))
    """

    def __init__(self, device="cuda", init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000,
                 enabled=True):
        self._device = instance(device, str, "device", "GradScaler")
        self._enabled = enabled = truth(enabled, "enabled", "GradScaler")
        if enabled and device == "cuda" and not has_gpu():
            warn_once("torch.cuda.amp.GradScaler is enabled, but CUDA is not available. Disabling.", stacklevel=2)
            self._enabled = False
        if self._enabled:
            require(real(growth_factor, "growth_factor", "GradScaler") > 1.0, "The growth factor must be > 1.0.")
            require(real(backoff_factor, "backoff_factor", "GradScaler") < 1.0, "The backoff factor must be < 1.0.")
            init_scale = float(real(init_scale, "init_scale", "GradScaler"))
            growth_interval = integer(growth_interval, "growth_interval", "GradScaler")
        self._init_scale = init_scale
        self._scale: Any = None     # the factor; None before the first call of `scale`
        self._growth_factor, self._backoff_factor, self._growth_interval = growth_factor, backoff_factor, growth_interval
        self._growth_tracker = 0
        self._optimizers = {}       # id of an optimizer -> (what has happened to it, whether a gradient was not finite)

    def scale(self, outputs):
        """Multiply a tensor, or each tensor of an iterable, by the factor. The result has the structure of `outputs`."""
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._scale = self._init_scale
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, Iterable) and not isinstance(outputs, str):
            parts = [self.scale(part) for part in outputs]
            return type(outputs)(parts) if isinstance(outputs, (list, tuple)) else parts
        raise TensorValueError("MG-E302", "outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer):
        """Divide the gradients of the optimizer's parameters by the factor; call it before you clip them.

        Raises:
            RuntimeError: it has been called since the last `update`, or after `step`.
            ValueError: a gradient is float16: the parameters should be float32.
        """
        if not self._enabled:
            return
        check_optimizer(optimizer, "unscale_")
        self._require_scale("unscale_")
        state, _ = self._optimizers.get(id(optimizer), (READY, None))
        if state is UNSCALED:
            raise AutogradError("MG-E402", "unscale_() has already been called on this optimizer since the last update().",
                                fix="call scaler.update() at the end of each step")
        if state is STEPPED:
            raise AutogradError("MG-E402", "unscale_() is being called after step().", fix="call unscale_() before step()")
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(grad.dtype is float16 for grad in grads):
            raise TensorValueError("MG-E402", "Attempting to unscale FP16 gradients.", fix="keep the parameters in float32")
        finite, inverse = True, float(np.float32(1 / self._scale))
        with no_grad():
            for grad in grads:
                finite = finite and bool(grad.isfinite().all())
                grad.mul_(inverse)
        self._optimizers[id(optimizer)] = (UNSCALED, not finite if grads else None)

    def step(self, optimizer, *args, **kwargs):
        """Call ``optimizer.step(*args, **kwargs)`` unless a gradient is inf or nan; `unscale_` first if you have not.

        Returns:
            The result of ``optimizer.step``; None if it was left out.

        Raises:
            RuntimeError: it has been called since the last `update`, or with a closure.
            AssertionError: no parameter has a gradient.
        """
        check_optimizer(optimizer, "step")
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise AutogradError("MG-E402", "Closure use is not currently supported if GradScaler is enabled.",
                                fix="optimizer.step(closure), without a scaler")
        self._require_scale("step")
        if self._optimizers.get(id(optimizer), (READY,))[0] is STEPPED:
            raise AutogradError("MG-E402", "step() has already been called since the last update().", fix="call scaler.update()")
        if id(optimizer) not in self._optimizers:
            self.unscale_(optimizer)
        _, overflow = self._optimizers[id(optimizer)]
        require(overflow is not None, "No inf checks were recorded for this optimizer.")
        result = None if overflow else optimizer.step(*args, **kwargs)
        self._optimizers[id(optimizer)] = (STEPPED, overflow)
        return result

    def update(self, new_scale=None):
        """Change the factor: see the head of this file. `new_scale` sets it.

        Raises:
            AssertionError: there has been no `step` or `unscale_` since the last call.
            TypeError: `new_scale` is not a number or a tensor of one element.
        """
        if not self._enabled:
            return
        self._require_scale("update")
        if new_scale is not None:
            if isinstance(new_scale, Tensor) and new_scale.numel() == 1:
                new_scale = new_scale.item()
            self._scale = float(real(new_scale, "new_scale", "update"))
        else:
            found = [overflow for _, overflow in self._optimizers.values() if overflow is not None]
            require(found, "No inf checks were recorded prior to update.")
            self._growth_tracker = 0 if any(found) else self._growth_tracker + 1
            if any(found):
                self._scale *= self._backoff_factor
            elif self._growth_tracker == self._growth_interval:
                grown = float(np.float32(self._scale * self._growth_factor))
                self._scale = grown if math.isfinite(grown) else self._scale
                self._growth_tracker = 0
        self._optimizers.clear()

    def _require_scale(self, method):
        """Raise `AssertionError` if `scale` has not been called."""
        require(self._scale is not None, f"Attempted {method} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration.")

    def get_scale(self):
        """The factor; 1 if the scaler is disabled."""
        return (self._init_scale if self._scale is None else self._scale) if self._enabled else 1.0

    def is_enabled(self):
        """Whether the scaler changes anything."""
        return self._enabled

    def get_growth_factor(self):
        """The growth factor."""
        return self._growth_factor

    def set_growth_factor(self, new_factor):
        """Set the growth factor."""
        self._growth_factor = real(new_factor, "new_factor", "set_growth_factor")

    def get_backoff_factor(self):
        """The backoff factor."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor):
        """Set the backoff factor."""
        self._backoff_factor = real(new_factor, "new_factor", "set_backoff_factor")

    def get_growth_interval(self):
        """The number of steps between two growths."""
        return self._growth_interval

    def set_growth_interval(self, new_interval):
        """Set the number of steps between two growths."""
        self._growth_interval = integer(new_interval, "new_interval", "set_growth_interval")

    def state_dict(self):
        """The state as a dict of numbers; empty if the scaler is disabled."""
        if not self._enabled:
            return {}
        return {"scale": self.get_scale(), "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker}

    def load_state_dict(self, state_dict):
        """Restore a state that `state_dict` returned; a disabled scaler ignores it.

        Raises:
            RuntimeError: the dict is empty: it comes from a disabled scaler.
            KeyError: an entry is missing.
        """
        if not self._enabled:
            return
        if not instance(state_dict, Mapping, "state_dict", "load_state_dict", "dict"):
            raise AutogradError("MG-E402", "The source state dict is empty, possibly because it was saved from a disabled "
                                "instance of GradScaler.", fix="do not load it")
        missing = [name for name in self.state_dict() if name not in state_dict]
        if missing:
            raise MissingEntryError("MG-E402", f"load_state_dict(): the state dict has no entry {missing[0]!r}",
                                    expected=", ".join(self.state_dict()), found=", ".join([str(name) for name in state_dict]))
        scale, growth, backoff = (real(state_dict[name], name, "load_state_dict") for name in (
            "scale", "growth_factor", "backoff_factor"))
        interval, tracker = (integer(state_dict[name], name, "load_state_dict") for name in ("growth_interval", "_growth_tracker"))
        self._init_scale, self._scale = scale, None if self._scale is None else scale
        self._growth_factor, self._backoff_factor, self._growth_interval, self._growth_tracker = growth, backoff, interval, tracker


def check_optimizer(optimizer, method):
    """Raise `TypeError` unless `optimizer` has what an optimizer has. (The layers below `optim` do not know the class.)"""
    if isinstance(optimizer, type) or not hasattr(optimizer, "param_groups"):
        raise wrong_type(f"GradScaler.{method}", "optimizer", "Optimizer", optimizer)


def require(condition, what):
    """Raise `AssertionError` with the message `what` unless `condition` is true."""
    if not condition:
        raise AutogradAssertionError("MG-E402", what)
