"""Steps of optimisers, each one kernel: every number of the parameter, its gradient and its moments is read once and written once.

    Adam, step by step              as one kernel
    g*g            read 1 write 1   read w g m v, compute all of it in registers, write w m v
    v*beta2 + ..   read 2 write 1
    sqrt(v) ...    14 in all        7

    idea        *fusion*: what an elementwise kernel writes and the next one reads need never be in memory
    bytes       sgd 12 an element of float32, with momentum 20, Adam 28, AMSGrad 36
    operations  2 to 15, one of them a root and two a division
    so          memory limits it; that is why Adam costs little more than its three additional arrays

What differs between a step's variants (which sign, which kind of decay) is known before it starts. A branch on it would be the same
for all threads, and is free beside the memory; but for each set of variants a kernel of its own is compiled, so that there is none.

The formulas are those of numpy_ref/nn.py. Mirrors ``aten/src/ATen/native/cuda/fused_adam_utils.cuh``.
Read next: ``randoms.py``.
"""

from functools import cache

import numpy as np
from numba import cuda

from minigrad.kernels.cuda import mathematics as m
from minigrad.kernels.cuda.elementwise import compiled, offset, walked, width
from minigrad.kernels.cuda.launch import launch_each
from minigrad.kernels.cuda.missing import missing

__all__ = ["adam_", "sgd_"]


# ---- SGD ----------------------------------------------------------------------------------------------------


@cache
def gradient(maximize, decays):
    """What is stepped against: g, or -g, with the decay of w or without."""
    if maximize:
        return compiled(lambda w, g, decay: decay * w - g) if decays else compiled(lambda w, g, decay: -g)
    return compiled(lambda w, g, decay: g + decay * w) if decays else compiled(lambda w, g, decay: g)


@cache
def sgd(maximize, decays, wide):
    """w <- w - lr g"""
    towards = gradient(maximize, decays)

    @cuda.jit
    def kernel(n, shape, w, w0, sw, g, g0, sg, lr, decay):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            at = w0 + offset(i, shape, sw)
            here = wide(w[at])
            w[at] = here - lr * towards(here, wide(g[g0 + offset(i, shape, sg)]), decay)
    return kernel


@cache
def sgd_with_momentum(maximize, decays, nesterov, first, wide):
    """b <- momentum b + (1 - dampening) g, at first g;  w <- w - lr b, or for Nesterov w - lr (g + momentum b)"""
    towards = gradient(maximize, decays)
    ahead = compiled(lambda g, b, momentum: g + momentum * b) if nesterov else compiled(lambda g, b, momentum: b)
    begun = compiled(lambda g, b, momentum, new: g) if first else compiled(lambda g, b, momentum, new: momentum * b + new * g)

    @cuda.jit
    def kernel(n, shape, w, w0, sw, g, g0, sg, b, b0, sb, lr, decay, momentum, new):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            at, buffer = w0 + offset(i, shape, sw), b0 + offset(i, shape, sb)
            here = wide(w[at])
            d = towards(here, wide(g[g0 + offset(i, shape, sg)]), decay)
            speed = begun(d, wide(b[buffer]), momentum, new)
            b[buffer] = speed
            w[at] = here - lr * ahead(d, speed, momentum)
    return kernel


def sgd_(w, g, momentum_buffer, lr, momentum, dampening, weight_decay, nesterov, maximize, first):
    wide, kinds = width(w.dtype), (bool(maximize), bool(weight_decay))
    if momentum:
        step(sgd_with_momentum(*kinds, bool(nesterov), bool(first), wide), [w, g, momentum_buffer],
             lr, weight_decay, momentum, 1 - dampening)
    else:
        step(sgd(*kinds, wide), [w, g], lr, weight_decay)


# ---- Adam ---------------------------------------------------------------------------------------------------


@compiled
def lower_bound(v, most):
    return v if v > most or v != v else most


@cache
def adam(maximize, decays, decoupled, largest, wide):
    """m <- m + (1 - beta1)(g - m);  v <- beta2 v + (1 - beta2) g g;  w <- w - rate m / (sqrt(v) / root + eps)

    `largest`, for AMSGrad: with the largest v so far, in `top`, in place of v. Otherwise `top` is anything.
    """
    towards = gradient(maximize, decays and not decoupled)

    @cuda.jit
    def kernel(n, shape, w, w0, sw, g, g0, sg, m1, m0, sm, v2, v0, sv, top, t0, st, rate, root, new1, beta2, new2, eps, decay,
               keep):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            at, mean, square = w0 + offset(i, shape, sw), m0 + offset(i, shape, sm), v0 + offset(i, shape, sv)
            here = wide(w[at])
            d = towards(here, wide(g[g0 + offset(i, shape, sg)]), decay)
            m_new = wide(m1[mean]) + (d - wide(m1[mean])) * new1
            v_new = wide(v2[square]) * beta2 + new2 * (d * d)
            m1[mean] = m_new
            v2[square] = v_new
            if largest:
                most = t0 + offset(i, shape, st)
                v_new = lower_bound(v_new, wide(top[most]))
                top[most] = v_new
            w[at] = here * keep - rate * m_new / (m.sqrt(v_new) / root + eps)
    return kernel


def adam_(w, g, m, v, v_max, step_number, lr, beta1, beta2, eps, weight_decay, decoupled, maximize):
    if w.dtype.kind == "c":
        raise missing("adam_", w.dtype)
    kernel = adam(bool(maximize), bool(weight_decay), bool(decoupled), v_max is not None, width(w.dtype))
    step(kernel, [w, g, m, v, v if v_max is None else v_max], lr / (1 - beta1 ** step_number), (1 - beta2 ** step_number) ** 0.5,
         1 - beta1, beta2, 1 - beta2, eps, weight_decay, 1 - lr * weight_decay if decoupled and weight_decay else 1)


def step(kernel, arrays, *numbers):
    """Queue `kernel` for the elements of the arrays, which have one shape."""
    w = arrays[0]
    wide = {"f": np.dtype(f"f{max(w.itemsize, 4)}"), "c": np.dtype(f"f{w.itemsize // 2}")}[w.dtype.kind].type
    launch_each(kernel, w.size, w.device, w.size, *walked(*arrays), *[wide(n) for n in numbers])
