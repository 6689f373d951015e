"""Samples of the gamma and Dirichlet distributions, with implicit gradients.

    forward     NumPy's sampler, which rejects candidates: no formula leads from noise to the sample
    backward    dx/da = -(∂F/∂a) / p(x), which needs the sample only: ``_gamma_gradients.py``

Mirrors ``torch._standard_gamma`` and ``torch._sample_dirichlet``.
"""

from __future__ import annotations

import numpy as np

import minigrad as mg
from minigrad.autograd.function import Function, once_differentiable
from minigrad.distributions._gamma_gradients import dirichlet_gradient, gamma_gradient
from minigrad.distributions.utils import draw

__all__ = ["sample_dirichlet", "standard_gamma"]


def compute(function, *tensors):
    """Return `function` of float64 arrays with the numbers of `tensors`, as a tensor like the first."""
    arrays = np.broadcast_arrays(*[t.detach().cpu().double().numpy() for t in tensors])
    return mg.tensor(function(*arrays), dtype=tensors[0].dtype, device=tensors[0].device)


class StandardGamma(Function):
    """x ~ Gamma(a, 1); the gradient of a is g · dx/da."""

    @staticmethod
    def forward(ctx, concentration):
        x = draw(lambda numbers, a: numbers.standard_gamma(a), concentration, concentration)
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
        x = draw(draw_dirichlet, concentration, concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        x, concentration = ctx.saved_tensors
        total = concentration.sum(-1, keepdim=True).expand(x.shape)
        return compute(dirichlet_gradient, x, concentration, total) * (grad - (x * grad).sum(-1, keepdim=True))


def draw_dirichlet(numbers, concentration):
    """Normalized gamma variables, computed by their logarithms: log G(a) = log G(a + 1) + log(U) / a does not underflow."""
    uniform = 1 - numbers.random(concentration.shape)       # in (0, 1]
    logs = np.log(numbers.standard_gamma(concentration + 1)) + np.log(uniform) / concentration
    x = np.exp(logs - logs.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def standard_gamma(concentration):
    """Samples of Gamma(concentration, 1), with a gradient."""
    return StandardGamma.apply(concentration)


def sample_dirichlet(concentration):
    """Samples of Dirichlet(concentration), with a gradient."""
    return SampleDirichlet.apply(concentration)
