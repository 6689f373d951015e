"""Autocast, which minigrad accepts and does not do. Mirrors ``torch/amp/autocast_mode.py``.

PyTorch's autocast lets products of matrices and convolutions compute in bfloat16 or float16. It makes them faster on hardware for
these dtypes. minigrad has no bfloat16, and a CPU computes float16 more slowly than float32. So an autocast region computes in the
dtypes of its tensors. The numbers are those without autocast, which are more exact. A warning says so once.
"""

from __future__ import annotations

import functools
from typing import Any

from minigrad._warnings import warn_once
from minigrad.dtypes import as_device, device, float16
from minigrad.errors import ArgumentError, ShapeError, TensorTypeError, TensorValueError

__all__ = ["autocast", "bfloat16", "custom_bwd", "custom_fwd", "get_autocast_dtype", "is_autocast_available", "is_autocast_enabled",
           "set_autocast_enabled"]


class _BFloat16:
    """The name of a dtype that minigrad does not have: a program may say it, but no tensor has it."""

    name = "bfloat16"
    itemsize = 2
    is_floating_point = True
    is_complex = False

    def __repr__(self):
        return "minigrad.bfloat16"


bfloat16 = _BFloat16()


def has_gpu():
    """Whether minigrad can compute on a GPU. This file may not import ``minigrad.cuda``, which imports it."""
    try:
        return as_device("cuda") is not None
    except ShapeError:
        return False


class autocast:
    """Context manager or decorator that PyTorch's programs use for mixed precision. Here it changes nothing, and warns once.

    Args:
        device_type (str): "cpu" or "cuda".
        dtype (optional): ``mg.bfloat16`` or ``mg.float16``.
        enabled (bool): False for no warning either.
        cache_enabled (bool, optional): accepted as in PyTorch.

    Raises:
        RuntimeError: no device has this name.
        ValueError: `device_type` is not a str.

    Mirrors ``torch.autocast``.

    >>> with mg.autocast("cpu", enabled=False):
    ...     y = mg.ones(2, 2) @ mg.ones(2, 2)
    >>> y.dtype
    minigrad.float32
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise TensorValueError("MG-E201", f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device(device_type).type
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        self._enabled = False
        if enabled and self.device == "cuda" and not has_gpu():
            warn_once("User provided device_type of 'cuda', but CUDA is not available. Disabling autocast: minigrad computes on "
                      "the CPU, in the dtypes of the tensors", stacklevel=2)
        elif enabled:
            reason = ("minigrad has no bfloat16" if self.fast_dtype is bfloat16 else
                      "minigrad does not convert the arguments of ops")
            warn_once(f"autocast changes nothing: {reason}, so the ops compute in the dtypes of their tensors. The numbers are "
                      "those without autocast", stacklevel=2)

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        return False

    def __call__(self, func):
        return func


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype that autocast has for a kind of device: float16 for "cuda", else bfloat16, which minigrad does not have.

    Mirrors ``torch.get_autocast_dtype``.

    >>> mg.get_autocast_dtype("cuda")
    minigrad.float16
    """
    return float16 if device_type == "cuda" else bfloat16


def is_autocast_available(device_type: str) -> bool:
    """False: minigrad accepts autocast, and does not do it. Mirrors ``torch.amp.is_autocast_available``.

    >>> mg.amp.is_autocast_available("cpu")
    False
    """
    return False


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """False, in an autocast region too. Mirrors ``torch.is_autocast_enabled``.

    >>> mg.is_autocast_enabled()
    False
    """
    return False


def set_autocast_enabled(*args: Any) -> None:
    """Accept that autocast is switched off. Mirrors ``torch.set_autocast_enabled``.

    Raises:
        TypeError: not one or two arguments.
        RuntimeError: it is switched on: ``with mg.autocast(...)`` warns that nothing changes.

    >>> mg.set_autocast_enabled("cpu", False)
    """
    if len(args) not in (1, 2):
        raise TensorTypeError("MG-E201", f"set_autocast_enabled() takes 1 or 2 arguments, but {len(args)} were given",
                              expected="(enabled) or (device_type, enabled)")
    if args[-1]:
        raise ArgumentError("MG-E510", "minigrad has no autocast", fix="compute in the dtypes of the tensors")


def custom_fwd(fwd=None, *, device_type="cuda", cast_inputs=None):
    """Decorator for the forward of a `Function` that autocast should call. It returns the function unchanged.

    Mirrors ``torch.amp.custom_fwd``.

    >>> @mg.amp.custom_fwd(device_type="cpu")
    ... def forward(ctx, x):
    ...     return x * 2
    """
    return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs) if fwd is None else fwd


def custom_bwd(bwd=None, *, device_type="cuda"):
    """Decorator for the backward of a `Function` that autocast should call. It returns the function unchanged.

    Mirrors ``torch.amp.custom_bwd``.

    >>> @mg.amp.custom_bwd(device_type="cpu")
    ... def backward(ctx, grad):
    ...     return grad * 2
    """
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd
