"""Steps of optimisers, each in one kernel: it reads and writes each number of the parameter and of its moments once.

    Adam, step by step              as one kernel
    g*g            read 1 write 1   read w g m v, compute all of it in registers, write w m v
    v*beta2 + ..   read 2 write 1
    sqrt(v) ...    14 in all        7

    idea        *fusion*: a value that one elementwise kernel writes and the next reads need never be in memory
    bytes       sgd 12 per element of float32, with momentum 20, Adam 28, AMSGrad 36
    operations  2 to 15, among them a root and two divisions
    so          memory limits it; that is why Adam costs little more than its three additional arrays
    measured    a step of Adam: 98% of the speed of a copy on an H100

A thread computes a quad (quad_kernels.py): `after`, for four elements, all of which it reads before it writes the first.

The variants of a step (which sign, which kind of decay) are known before it starts. All threads would take the same branch, which
costs nothing beside the memory. Still each set of variants is compiled as a kernel of its own, without branches.

The formulas are those of numpy_ref/nn.py. Mirrors ``aten/src/ATen/native/cuda/fused_adam_utils.cuh``.
Read next: ``randoms.py``.
"""

from functools import cache

import numpy as np
from numba import cuda

from minigrad.kernels.cuda.elementwise.elementwise import run_by_rows, width
from minigrad.kernels.cuda.elementwise.quad_kernels import device_function, last_of, place, read, write
from minigrad.kernels.cuda.runtime import mathematics as m
from minigrad.kernels.cuda.runtime.missing import missing

__all__ = ["adam_", "sgd_"]


# ---- SGD ----------------------------------------------------------------------------------------------------


@cache
def gradient(maximize, decays):
    """A device function (w, g, decay) -> the gradient of the step: g, or -g to maximize, plus decay w if it `decays`."""
    if maximize:
        return device_function(lambda w, g, decay: decay * w - g) if decays else device_function(lambda w, g, decay: -g)
    return device_function(lambda w, g, decay: g + decay * w) if decays else device_function(lambda w, g, decay: g)


@cache
def sgd(maximize, decays, wide):
    """w <- w - lr g"""
    towards = gradient(maximize, decays)
    after = device_function(lambda w, g, lr, decay: wide(w) - lr * towards(wide(w), wide(g), decay))

    @cuda.jit
    def kernel(n, shape, length, packed, w, w0, sw, g, g0, sg, lr, decay):
        i = cuda.grid(1)
        if i < n:
            last = last_of(i, shape[-1], length)
            at = w0 + place(i, shape, sw)
            a = read(w, at, sw[-1], packed[0], last)
            d = read(g, g0 + place(i, shape, sg), sg[-1], packed[1], last)
            write(w, at, sw[-1], packed[0], last, (after(a[0], d[0], lr, decay), after(a[1], d[1], lr, decay),
                                                   after(a[2], d[2], lr, decay), after(a[3], d[3], lr, decay)))
    return kernel


@cache
def sgd_with_momentum(maximize, decays, nesterov, first, wide):
    """b <- momentum b + (1 - dampening) g, at first g;  w <- w - lr b, or for Nesterov w - lr (g + momentum b)"""
    towards = gradient(maximize, decays)
    ahead = device_function(lambda g, b, momentum: g + momentum * b) if nesterov else device_function(lambda g, b, momentum: b)
    next_buffer = device_function((lambda g, b, momentum, new: g) if first else
                                  (lambda g, b, momentum, new: momentum * b + new * g))

    @device_function
    def after(w, g, b, lr, decay, momentum, new):
        d = towards(wide(w), wide(g), decay)
        speed = next_buffer(d, wide(b), momentum, new)
        return wide(w) - lr * ahead(d, speed, momentum), speed

    @cuda.jit
    def kernel(n, shape, length, packed, w, w0, sw, g, g0, sg, b, b0, sb, lr, decay, momentum, new):
        i = cuda.grid(1)
        if i < n:
            last = last_of(i, shape[-1], length)
            at, buffer = w0 + place(i, shape, sw), b0 + place(i, shape, sb)
            a = read(w, at, sw[-1], packed[0], last)
            d = read(g, g0 + place(i, shape, sg), sg[-1], packed[1], last)
            c = read(b, buffer, sb[-1], packed[2], last)
            p, q = after(a[0], d[0], c[0], lr, decay, momentum, new), after(a[1], d[1], c[1], lr, decay, momentum, new)
            r, s = after(a[2], d[2], c[2], lr, decay, momentum, new), after(a[3], d[3], c[3], lr, decay, momentum, new)
            write(w, at, sw[-1], packed[0], last, (p[0], q[0], r[0], s[0]))
            write(b, buffer, sb[-1], packed[2], last, (p[1], q[1], r[1], s[1]))
    return kernel


def sgd_(w, g, momentum_buffer, lr, momentum, dampening, weight_decay, nesterov, maximize, first):
    wide, kinds = width(w.dtype), (bool(maximize), bool(weight_decay))
    if momentum:
        step(sgd_with_momentum(*kinds, bool(nesterov), bool(first), wide), [w, g, momentum_buffer],
             lr, weight_decay, momentum, 1 - dampening)
    else:
        step(sgd(*kinds, wide), [w, g], lr, weight_decay)


# ---- Adam ---------------------------------------------------------------------------------------------------


@device_function
def lower_bound(v, most):
    return v if v > most or v != v else most


@cache
def adam(maximize, decays, decoupled, largest, wide):
    """m <- m + (1 - beta1)(g - m);  v <- beta2 v + (1 - beta2) g g;  w <- w - rate m / (sqrt(v) / root + eps)

    If `largest` (AMSGrad), the rule uses the largest v so far, kept in `top`, instead of v. Otherwise `top` is not used.
    """
    towards = gradient(maximize, decays and not decoupled)

    @device_function
    def after(w, g, m1, v2, top, rate, root, new1, beta2, new2, eps, decay, keep):
        d = towards(wide(w), wide(g), decay)
        m_new = wide(m1) + (d - wide(m1)) * new1
        v_new = wide(v2) * beta2 + new2 * (d * d)
        most = lower_bound(v_new, wide(top)) if largest else v_new
        return wide(w) * keep - rate * m_new / (m.sqrt(most) / root + eps), m_new, v_new, most

    @cuda.jit
    def kernel(n, shape, length, packed, w, w0, sw, g, g0, sg, m1, m0, sm, v2, v0, sv, top, t0, st, rate, root, new1, beta2, new2,
               eps, decay, keep):
        i = cuda.grid(1)
        if i < n:
            last = last_of(i, shape[-1], length)
            at, mean, square = w0 + place(i, shape, sw), m0 + place(i, shape, sm), v0 + place(i, shape, sv)
            a = read(w, at, sw[-1], packed[0], last)
            d = read(g, g0 + place(i, shape, sg), sg[-1], packed[1], last)
            b = read(m1, mean, sm[-1], packed[2], last)
            c = read(v2, square, sv[-1], packed[3], last)
            e = c
            if largest:
                e = read(top, t0 + place(i, shape, st), st[-1], packed[4], last)
            p = after(a[0], d[0], b[0], c[0], e[0], rate, root, new1, beta2, new2, eps, decay, keep)
            q = after(a[1], d[1], b[1], c[1], e[1], rate, root, new1, beta2, new2, eps, decay, keep)
            r = after(a[2], d[2], b[2], c[2], e[2], rate, root, new1, beta2, new2, eps, decay, keep)
            s = after(a[3], d[3], b[3], c[3], e[3], rate, root, new1, beta2, new2, eps, decay, keep)
            write(w, at, sw[-1], packed[0], last, (p[0], q[0], r[0], s[0]))
            write(m1, mean, sm[-1], packed[2], last, (p[1], q[1], r[1], s[1]))
            write(v2, square, sv[-1], packed[3], last, (p[2], q[2], r[2], s[2]))
            if largest:
                write(top, t0 + place(i, shape, st), st[-1], packed[4], last, (p[3], q[3], r[3], s[3]))
    return kernel


def adam_(w, g, m, v, v_max, step_number, lr, beta1, beta2, eps, weight_decay, decoupled, maximize):
    if w.dtype.kind == "c":
        raise missing("adam_", w.dtype)
    kernel = adam(bool(maximize), bool(weight_decay), bool(decoupled), v_max is not None, width(w.dtype))
    step(kernel, [w, g, m, v, v if v_max is None else v_max], lr / (1 - beta1 ** step_number), (1 - beta2 ** step_number) ** 0.5,
         1 - beta1, beta2, 1 - beta2, eps, weight_decay, 1 - lr * weight_decay if decoupled and weight_decay else 1)


def step(kernel, arrays, *numbers):
    """Queue `kernel` for the elements of `arrays`, which have the same shape."""
    w = arrays[0]
    wide = {"f": np.dtype(f"f{max(w.itemsize, 4)}"), "c": np.dtype(f"f{w.itemsize // 2}")}[w.dtype.kind].type
    if w.size:
        run_by_rows(kernel, arrays, [wide(n) for n in numbers])
