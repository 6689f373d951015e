"""Automatic differentiation: the calls that run the engine.

    backward(tensors)         adds the gradients of the leaves to their ``.grad``
    grad(outputs, inputs)     returns gradients, and touches no ``.grad``

Both are in ``_backward.py``. They check their arguments and then run one task of the engine (``_core/engine/execute.py``).

Mirrors ``torch/autograd/__init__.py``.
"""

from minigrad._lazy import lazy as _lazy
from minigrad.autograd import anomaly_mode, grad_mode, graph
from minigrad.autograd._backward import backward, grad
from minigrad.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from minigrad.autograd.gradcheck import gradcheck, gradgradcheck
from minigrad.autograd.grad_mode import (
    _unsafe_preserve_version_counter,  # pyright: ignore[reportAttributeAccessIssue]
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)

__getattr__, __dir__ = _lazy(__name__, modules=("forward_ad", "function", "functional", "profiler", "variable"),
                             names={"function": "Function", "variable": "Variable"})

__all__ = ["Function", "Variable", "anomaly_mode", "backward", "detect_anomaly", "enable_grad", "enforce_grad_layout_policy",
           "forward_ad", "function", "functional", "grad", "grad_mode", "gradcheck", "gradgradcheck", "graph", "inference_mode",
           "is_multithreading_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
           "set_multithreading_enabled"]
