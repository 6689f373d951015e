"""Random numbers from the words of a `RandomStream`: the numbers that PyTorch draws on a CPU.

    uniform    low + (high - low) u
    normal     mean + std r cos θ,  mean + std r sin θ      r = √(-2 log(1 - u)), θ = 2π v      (Box and Muller, 1958)
    bernoulli  u < p
    gamma, Poisson: rejection.py

PyTorch draws 16 normal numbers or more in blocks of 16 (u are the first eight uniform numbers of a block, v the others), and
fewer in pairs of float64. Some last digits differ: PyTorch's vectorized logarithm, sine and cosine are approximations. PyTorch
draws in other orders for tensors that are not contiguous, for float16 and bfloat16 (`randn` of 16 and more), for `log_normal_`, and
on processors of Intel for `bernoulli` (MKL).

Mirrors ``aten/src/ATen/native/cpu/DistributionTemplates.h`` and ``aten/src/ATen/core/DistributionsHelper.h``.
"""

import math

import numpy as np

from minigrad.kernels.numpy_ref.precision import quiet

__all__ = ["bernoulli", "dropout", "dropout_backward", "integers", "normal", "permutation", "uniform"]

BLOCK = 16      # normal numbers that are drawn together


def draw_complex(draw, generator, shape, a, b, dtype):
    """Complex random numbers, each from two real ones by `draw`."""
    parts = draw(generator, (*shape, 2), a, b, np.dtype(f"f{dtype.itemsize // 2}"))
    return parts.view(dtype).reshape(shape)


@quiet
def uniform(generator, shape, low, high, dtype):
    if dtype.kind == "c":
        return draw_complex(uniform, generator, shape, low, high, dtype)
    wide = np.dtype("float32") if dtype.itemsize == 2 else dtype
    x = generator.fractions(math.prod(shape), wide).reshape(shape)
    if (low, high) != (0, 1):
        x = x * wide.type(high - low) + wide.type(low)
    if wide is dtype:
        return np.asarray(x)
    x = np.asarray(x).astype(dtype)         # rounded to 16 bits, the largest numbers reach `high`: they become `low`
    x[x.astype(wide) >= wide.type(high)] = low
    return x


@quiet
def normal(generator, shape, mean, std, dtype):
    if dtype.kind == "c":       # std is the standard deviation of the complex number
        return np.asarray(draw_complex(normal, generator, shape, 0, std * 0.5 ** 0.5, dtype) + dtype.type(mean))
    if dtype.itemsize == 2:
        return normal(generator, shape, mean, std, np.dtype("float32")).astype(dtype)
    count = math.prod(shape)
    x = normal_pairs(generator, count) if count < BLOCK else normal_blocks(generator, count, dtype)
    if (mean, std) != (0, 1):
        x = x * x.dtype.type(std) + x.dtype.type(mean)
    return x.astype(dtype, copy=False).reshape(shape)


def box_muller(u, v):
    """Two arrays of normal numbers from uniform numbers u in (0, 1] and v in [0, 1)."""
    radius, angle = np.sqrt(-2 * np.log(u)), v.dtype.type(2 * math.pi) * v
    return radius * np.cos(angle), radius * np.sin(angle)


def normal_blocks(generator, count, dtype):
    """`count` >= 16 normal numbers. A last block that is not full begins earlier, and is drawn again as a whole."""
    def of_uniform(u):
        u = u.reshape(-1, 2, BLOCK // 2)
        return np.stack(box_muller(1 - u[:, 0], u[:, 1]), 1).reshape(-1)

    full = count - count % BLOCK
    u = generator.fractions(count, dtype)
    x = np.empty(count, dtype)
    x[:full] = of_uniform(u[:full])
    if full < count:
        x[-BLOCK:] = of_uniform(generator.fractions(BLOCK, dtype))
    return x


def normal_pairs(generator, count):
    """`count` normal numbers of float64, each pair from two uniform ones; the second of a pair waits for the next call."""
    with generator.pairing:
        x = [] if generator.spare_normal is None or not count else [generator.spare_normal]
        if x:
            generator.spare_normal = None
        pairs = (count - len(x) + 1) // 2
        u = generator.fractions(2 * pairs, np.float64).reshape(-1, 2)
        radius, angle = np.sqrt(-2 * np.log1p(-u[:, 1])), 2 * math.pi * u[:, 0]
        x = np.append(x, np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1))
        if x.size > count:
            generator.spare_normal = float(x[-1])
        return x[:count]


def bernoulli(generator, shape, p, dtype):
    wide = getattr(p, "dtype", None) == np.float64 or not hasattr(p, "dtype")
    u = generator.fractions(math.prod(shape), np.dtype("float64" if wide else "float32"))
    return np.asarray(u.reshape(shape) < p).astype(dtype)


def integers(generator, shape, low, high):
    return generator.integers(low, high, math.prod(shape)).reshape(shape)


def permutation(generator, n):
    return generator.permutation(n)


def dropout(generator, x, p):
    kept = bernoulli(generator, x.shape, 1 - p, np.dtype(bool))
    return dropout_backward(x, kept, p), kept


@quiet
def dropout_backward(g, kept, p):
    return np.asarray(g * (kept * g.dtype.type(1 / (1 - p))))
