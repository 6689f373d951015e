"""Random numbers from distributions with tensors as parameters: bernoulli(p), poisson(rate), normal(mean, std).

    p ── bernoulli ── z = 0 or 1        z jumps from 0 to 1: its derivative with respect to p is 0 where it exists

Sampling has no derivative with respect to `mean` or `std`, so their gradients are 0, as in PyTorch. For a gradient through the
numbers, write them as a function of samples that depend on no parameter: ``mean + std * randn(shape)``.

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/Distributions.cpp``. The functions are in ``random.py``.
"""

import numpy as np

from minigrad.ops.base.rule import Op, op


class Sampled(Op):
    """Base of the ops that draw numbers: the gradients of their parameters are 0."""

    def vjp_x(g, x_shape):
        return g.new_zeros(x_shape)

    def jvp(ts, z):
        return z.new_zeros(z.shape)


class OfTwo(Sampled):
    """Base of the distributions with two tensors as parameters."""

    def vjp_y(g, y_shape):
        return g.new_zeros(y_shape)


@op("bernoulli", "Bernoulli0")
class Bernoulli(Sampled):
    """z = 1 with probability x, else 0"""

    hidden = ("x_shape",)

    def forward(k, x, generator):
        return k.bernoulli(generator, x.shape, x, x.dtype)


@op("poisson")
class Poisson(Sampled):
    """z = random counts of a Poisson distribution with mean x"""

    hidden = ("x_shape",)

    def forward(k, x, generator):
        return k.poisson(generator, x)


@op("bernoulli_tensor_", "Bernoulli1")
class BernoulliWritten(OfTwo):
    """z = 1 with probability y, else 0, in the shape and dtype of x"""

    torch_names = {"x": "self", "y": "p"}

    def forward(k, x, y, generator):
        return k.bernoulli(generator, x.shape, y, x.dtype)


@op("normal_of_mean", "Normal1")
class NormalOfMean(Sampled):
    """z = normal random numbers of mean x and standard deviation `std`, a number"""

    torch_names = {"x": "mean"}

    def forward(k, x, std, generator):
        return k.add(k.normal(generator, x.shape, 0, std, x.dtype), x)


@op("normal_of_std", "Normal2")
class NormalOfStd(Sampled):
    """z = normal random numbers of mean `mean`, a number, and standard deviation x"""

    torch_names = {"x": "std"}

    def forward(k, x, mean, generator):
        return k.add(k.mul(k.normal(generator, x.shape, 0, 1, x.dtype), x), mean)


@op("normal_of_both", "Normal3")
class NormalOfBoth(OfTwo):
    """z = normal random numbers of mean x and standard deviation y, which broadcast"""

    torch_names = {"x": "mean", "y": "std"}

    def forward(k, x, y, generator):
        drawn = k.normal(generator, np.broadcast_shapes(x.shape, y.shape), 0, 1, x.dtype)
        return k.add(k.mul(drawn, k.cast(y, x.dtype)), x)
