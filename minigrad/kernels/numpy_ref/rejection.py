"""Random numbers by rejection: gamma and Poisson, one element after the other, from the words that PyTorch draws for them.

    gamma       x normal, u uniform: accept (1 + c x)³ if u is small enough     Marsaglia and Tsang, "A simple method for generating
                                                                                gamma variables", 2000
    poisson     mean below 10: multiply uniform numbers until e^(-mean)         Knuth, The Art of Computer Programming 2, 3.4.1
                else accept a quotient of two uniform numbers                   Hörmann, "The transformed rejection method", 1993

How many words an element takes depends on the words, and the next element takes those that follow. So this is a loop in Python,
1 µs for each element. Compiled, it is one in C (``cpu/rejection.pyx``). NumPy's own samplers give other numbers.

Mirrors sample_gamma in ``aten/src/ATen/native/Distributions.h``, and sample_poisson in ``aten/src/ATen/native/Distributions.cpp``.
"""

import math

import numpy as np

__all__ = ["poisson", "standard_gamma"]

MOST = 1 << 16      # uniform numbers that are drawn in advance
THIRD = np.float32(1) / np.float32(3)
SQUEEZE = float(np.float32(0.0331))


class Numbers:
    """Uniform and normal numbers of float64, one by one.

    Args:
        generator (RandomStream): where the words come from. `close` gives those back that were not used.
        expected (int): about how many uniform numbers will be needed.
    """

    def __init__(self, generator, expected):
        self.generator, self.size = generator, min(max(expected, 16), MOST)
        self.fill()

    def fill(self):
        """Draw uniform numbers in advance."""
        self.before = self.generator.numpy.bit_generator.state
        self.drawn = self.generator.fractions(self.size, np.float64).tolist()
        self.drawn.reverse()

    def uniform(self):
        """The next number in [0, 1)."""
        if not self.drawn:
            self.fill()
        return self.drawn.pop()

    def normal(self):
        """The next normal number: as `normal_pairs` of randoms.py."""
        spare = self.generator.spare_normal
        if spare is not None:
            self.generator.spare_normal = None
            return spare
        angle, u = 2 * math.pi * self.uniform(), self.uniform()
        radius = math.sqrt(-2 * math.log1p(-u))
        self.generator.spare_normal = radius * math.sin(angle)
        return radius * math.cos(angle)

    def close(self):
        """Set the generator behind the last word that was used."""
        if self.drawn:
            self.generator.numpy.bit_generator.state = self.before
            self.generator.fractions(self.size - len(self.drawn), np.float64)


def standard_gamma(generator, shapes):
    """(s, log b) of float64, so that b s has the gamma distribution with these shape parameters.

    b is not 1 where a shape parameter is below 1. It may be so small that float64 has only its logarithm.

    Args:
        generator (RandomStream): where the words come from.
        shapes (array): of float32 or float64; the steps that PyTorch computes in its dtype are computed in it too.
    """
    if (shapes < 0).any():
        raise ValueError("a shape parameter of a gamma distribution is negative")
    small = shapes < 1
    d = np.where(small, shapes + shapes.dtype.type(1), shapes) - shapes.dtype.type(THIRD)
    d = d.astype(np.float64).reshape(-1)
    c = 1 / np.sqrt(9 * d)
    with np.errstate(divide="ignore"):
        powers = np.where(small, 1 / shapes, 0).astype(np.float64).reshape(-1)
    numbers = Numbers(generator, 4 * d.size)
    s, log_b = [], []
    for d_, c_, power in zip(d.tolist(), c.tolist(), powers.tolist()):
        if power == math.inf:           # PyTorch returns 0 for a shape parameter of 0, and takes no word for it
            s.append(0.0)
            log_b.append(0.0)
            continue
        if d_ != d_:
            s.append(math.nan)
            log_b.append(0.0)
            continue
        log_b.append(power * math.log(1 - numbers.uniform()) if power else 0.0)
        s.append(marsaglia(numbers, d_, c_))
    numbers.close()
    return np.array(s).reshape(shapes.shape), np.array(log_b).reshape(shapes.shape)


def marsaglia(numbers, d, c):
    """A gamma variable with shape parameter d + 1/3, by the method of Marsaglia and Tsang; c = 1 / √(9 d)."""
    while True:
        x = numbers.normal()
        y = 1 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - numbers.uniform()
        xx = x * x
        if u < 1 - SQUEEZE * xx * xx or math.log(u) < 0.5 * xx + d * (1 - v + math.log(v)):
            return d * v


def poisson(generator, x):
    """Random counts with these means, which are not negative."""
    means = np.asarray(x, np.float64)
    numbers = Numbers(generator, int(min(2 * means.size + means[means < 10].sum(), MOST)))
    found = [hoermann(numbers, mean) if mean >= 10 else knuth(numbers, mean) if mean else 0.0 for mean in means.ravel().tolist()]
    numbers.close()
    return np.array(found).reshape(means.shape).astype(x.dtype)


def knuth(numbers, mean):
    """A count: how many uniform numbers have a product above e^(-mean), one after the other."""
    limit, product, count = math.exp(-mean), numbers.uniform(), 0
    while product > limit:
        product *= numbers.uniform()
        count += 1
    return float(count)


def hoermann(numbers, mean):
    """A count by transformed rejection, for a mean of 10 or more."""
    log_mean = math.log(mean)
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = numbers.uniform() - 0.5
        v = numbers.uniform()
        u_s = 0.5 - abs(u)
        if u_s == 0:
            continue
        k = math.floor((2 * a / u_s + b) * u + mean + 0.43)
        if u_s >= 0.07 and v <= v_r:
            return float(k)
        if k < 0 or (u_s < 0.013 and v > u_s) or v == 0:
            continue
        if math.log(v) + math.log(inverse_alpha) - math.log(a / (u_s * u_s) + b) <= k * log_mean - mean - math.lgamma(k + 1):
            return float(k)
