"""Special functions: the inverse of erf, the derivatives of log gamma, and `nan_to_num`.

    idea        the formulas of numpy_ref/special.py, a thread for each element; a loop ends when its element is computed
    bytes       each number is read once and written once
    operations  some hundred, in float64 even for float32: near a zero of digamma, sums of large terms lose the digits of float32
    so          unlike other elementwise kernels, arithmetic limits these; GPUs for graphics have 1 unit for float64 for every 64
                units for float32

Mirrors ``aten/src/ATen/native/cuda/Math.cuh``. Read next: ``optim.py``.
"""

import math
from functools import cache

import numpy as np
from numba import cuda

from minigrad.kernels.cuda.elementwise.elementwise import as_value, device_function, one, result, run, width
from minigrad.kernels.cuda.elementwise.quad_kernels import TILE, last_of, place, unsigned
from minigrad.kernels.cuda.runtime import mathematics as m
from minigrad.kernels.cuda.runtime.launch import THREADS
from minigrad.kernels.cuda.runtime.missing import missing
from minigrad.kernels.cuda.shape.layout import copy
from minigrad.kernels.cuda.shape.views import view_as_real
from minigrad.kernels.numpy_ref.special import BERNOULLI as NUMBERS
from minigrad.kernels.numpy_ref.special import DEEP, factorial

__all__ = ["digamma", "erfinv", "nan_to_num", "polygamma"]

BERNOULLI = tuple([float(b) for b in NUMBERS])      # B2, B4, ...
EPSILON = float(np.finfo(np.float64).eps)
SLOPE = math.sqrt(math.pi) / 2
A, B = 0.147, 2 / (math.pi * 0.147)                 # in Winitzki's approximation


def compute_in_float64(name, x, f):
    """Return f of each element, computed in float64."""
    if x.dtype.kind != "f":
        raise missing(name, x.dtype)
    z = result([x], x.dtype)
    run(one(f, np.float64), z, [x])
    return z


@device_function
def inverse_of_erf(x):
    """erfinv(x): a first guess, within 2e-3, and three steps of Halley's method. From p = 0.5 on it uses erfc: 1 - p is exact."""
    p = abs(x)
    if not p < 1.0:
        return x * np.inf if p == 1.0 else np.nan
    w = m.log1p(-p * p)
    b = B + w / 2.0
    z = m.sqrt(max(m.sqrt(b * b - w / A) - b, 0.0))
    for _ in range(3):
        residual = m.erf(z) - p if p < 0.5 else (1.0 - p) - m.erfc(z)
        step = residual * m.exp(z * z) * SLOPE
        z = z - step / (1.0 + z * step)
    return m.copysign(z, x)


@device_function
def slope_of_log_gamma(x):
    """digamma(x): the recurrence up to 10, an asymptotic series from there on, and a reflection below 0."""
    if x == 0.0:
        return m.copysign(np.inf, -x)
    if x < 0.0 and x == m.floor(x):
        return np.nan
    y = 1.0 - x if x < 0.0 else x
    total = 0.0
    while y < 10.0:
        total -= 1.0 / y
        y += 1.0
    if m.isinf(y):
        return y
    series = 0.0
    for k in range(len(BERNOULLI)):
        j = len(BERNOULLI) - k
        series = (series + BERNOULLI[j - 1] / (2.0 * j)) / (y * y)
    total += m.log(y) - 0.5 / y - series
    if x < 0.0:
        total -= math.pi / m.tan(math.pi * (x - m.floor(x + 0.5)))
    return total


@cache
def derivative(n):
    """The n-th derivative of digamma, n > 0: a factor times Hurwitz's zeta function, Σ_k (x + k)^-s for s = n + 1."""
    s = float(n + 1)
    factor = (-1.0) ** (n + 1) * factorial(n)
    weights = tuple([b * s * math.prod([s + i for i in range(1, 2 * j - 1)]) / math.factorial(2 * j)
                     for j, b in enumerate(BERNOULLI, 1)])

    @device_function
    def hurwitz(x):
        total, q, far = 0.0, x, False
        while q < 10.0 and not far:
            term = m.pow(q, -s)
            total += term
            far = q < -10.0 and abs(term) < EPSILON * abs(total)       # so far below 0 that the other terms are too small to count
            q += 1.0
        if far or m.isinf(q):
            return total
        power = m.pow(q, -s)
        tail = q * power / (s - 1.0) + power / 2.0
        power /= q
        for weight in weights:
            tail += weight * power
            power /= q * q
        return total + tail

    def of(x):
        if x <= 0.0 and x == m.floor(x):
            return np.nan if m.isinf(x) else factor * np.inf
        if x >= DEEP:
            return factor * hurwitz(x)
        p = x - m.floor(x)          # as in numpy_ref/special.py
        below = hurwitz(1.0 - p) - hurwitz(1.0 - p - m.floor(x))
        return factor * (hurwitz(p) + (below if n % 2 else -below))
    return device_function(of)


def erfinv(x):
    return compute_in_float64("erfinv", x, inverse_of_erf)


def digamma(x):
    return compute_in_float64("digamma", x, slope_of_log_gamma)


def polygamma(x, n):
    return compute_in_float64("polygamma", x, derivative(n)) if n else digamma(x)


# ---- nan_to_num ---------------------------------------------------------------------------------------------


@cache
def nan_to_num_kernels(wide):
    """Kernels for `nan_to_num`: (in order, strided)."""
    def replace(x, nan, high, low):
        return nan if x != x else (high if x > 0 else low) if m.isinf(x) else x
    replace = device_function(replace)

    @cuda.jit
    def in_order(n, packed, z, z0, x, x0, nan, high, low):
        first = cuda.blockIdx.x * TILE
        for i in range(first + cuda.threadIdx.x, min(first + TILE, n), THREADS):
            z[unsigned(z0 + i)] = replace(wide(x[unsigned(x0 + i)]), nan, high, low)

    @cuda.jit
    def strided(n, shape, length, packed, z, z0, sz, x, x0, sx, nan, high, low):
        i = cuda.grid(1)
        if i < n:
            to, at = z0 + place(i, shape, sz), x0 + place(i, shape, sx)
            for k in range(last_of(i, shape[-1], length) + 1):
                z[unsigned(to + k * sz[-1])] = replace(wide(x[unsigned(at + k * sx[-1])]), nan, high, low)
    return in_order, strided


def nan_to_num(x, nan, posinf, neginf):
    if x.dtype.kind not in "fc":
        return copy(x)
    z = result([x], x.dtype)
    parts = [view_as_real(x), view_as_real(z)] if x.dtype.kind == "c" else [x, z]
    kind = np.finfo(parts[0].dtype)
    values = [0.0 if nan is None else nan, kind.max if posinf is None else posinf, kind.min if neginf is None else neginf]
    run(nan_to_num_kernels(width(kind.dtype)), parts[1], parts[:1], [as_value(v, parts[0].dtype) for v in values])
    return z
