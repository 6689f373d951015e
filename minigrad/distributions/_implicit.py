"""Samples of the gamma and Dirichlet distributions, with implicit gradients.

    forward     a sampler that rejects candidates: no formula leads from noise to the sample (kernels/numpy_ref/rejection.py)
    backward    dx/da = -(∂F/∂a) / p(x), which needs the sample only: ``_gamma_gradients.py``

Mirrors ``torch._standard_gamma`` and ``torch._sample_dirichlet``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg
from minigrad import kernels
from minigrad.autograd.function import Function, once_differentiable
from minigrad.distributions._gamma_gradients import dirichlet_gradient, gamma_gradient
from minigrad.random._generator import stream

__all__ = ["sample_dirichlet", "standard_gamma"]

CPU: Any = kernels.CPU


def compute(function, *tensors):
    """Return `function` of float64 arrays with the numbers of `tensors`, as a tensor like the first."""
    arrays = np.broadcast_arrays(*[t.detach().cpu().double().numpy() for t in tensors])
    return mg.tensor(function(*arrays), dtype=tensors[0].dtype, device=tensors[0].device)


class StandardGamma(Function):
    """x ~ Gamma(a, 1); the gradient of a is g · dx/da."""

    @staticmethod
    def forward(ctx, concentration):
        x = from_host(draw_gamma(on_host(concentration)), concentration)
        x = x.clamp(min=mg.finfo(x.dtype).tiny)         # a small shape gives numbers that round to 0
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        x, concentration = ctx.saved_tensors
        return grad * compute(gamma_gradient, x, concentration)


class SampleDirichlet(Function):
    """x ~ Dirichlet(a); the gradient of a_j is dx_j/da_j / (1 - x_j) · (g_j - Σ_i x_i g_i)."""

    @staticmethod
    def forward(ctx, concentration):
        x = from_host(draw_dirichlet(on_host(concentration.double())), concentration)
        info = mg.finfo(x.dtype)
        x = x.clamp(info.tiny, 1 - info.eps / 2)     # PyTorch's bounds: the smallest number, and the one next to 1
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        x, concentration = ctx.saved_tensors
        total = concentration.sum(-1, keepdim=True).expand(x.shape)
        return compute(dirichlet_gradient, x, concentration, total) * (grad - (x * grad).sum(-1, keepdim=True))


def on_host(x):
    """The numbers of a tensor as an array of float32 or float64."""
    return x.detach().cpu().to(mg.float32 if x.dtype is mg.float16 else x.dtype).numpy()


def from_host(array, like):
    """A tensor of these numbers, with the dtype and on the device of `like`."""
    return mg.tensor(array, dtype=like.dtype, device=like.device)


def draw_gamma(concentration):
    """Gamma variables, PyTorch's for the same seed."""
    s, log_b = CPU.standard_gamma(stream(None), concentration)
    return s * np.exp(log_b)


def draw_dirichlet(concentration):
    """Normalized gamma variables, computed by their logarithms. In PyTorch the small ones underflow, and all may be equal."""
    s, log_b = CPU.standard_gamma(stream(None), concentration)
    with np.errstate(divide="ignore"):
        logs = np.log(s) + log_b
    x = np.exp(logs - logs.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def standard_gamma(concentration):
    """Samples of Gamma(concentration, 1), with a gradient."""
    return StandardGamma.apply(concentration)


def sample_dirichlet(concentration):
    """Samples of Dirichlet(concentration), with a gradient."""
    return SampleDirichlet.apply(concentration)
