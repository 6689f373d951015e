"""Random numbers whose distribution is described by tensors: bernoulli(p), normal(mean, std).

    p ── bernoulli ── z = 0 or 1        z jumps from 0 to 1: its gradient with respect to p is 0 wherever it has one

The numbers are drawn, so a small change of `mean` or `std` has no effect on them that could be followed, and PyTorch gives their
gradient as 0 too. For a gradient that passes through the numbers write them as a function of others that depend on nothing:
``mean + std * randn(shape)``.

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/Distributions.cpp``. The functions are in ``random.py``.
"""

import numpy as np

from minigrad.ops.base.rule import Op, op


class Sampled(Op):
    """Base of the ops that draw numbers: the gradient of what describes them is 0."""

    def vjp_x(g, x_shape):
        return g.new_zeros(x_shape)

    def jvp(ts, z):
        return z.new_zeros(z.shape)


class OfTwo(Sampled):
    """Base of those that two tensors describe."""

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
    """z = random counts whose mean is x"""

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
    """z = random numbers of mean x and deviation `std`, a number"""

    torch_names = {"x": "mean"}

    def forward(k, x, std, generator):
        return k.add(k.normal(generator, x.shape, 0, std, x.dtype), x)


@op("normal_of_std", "Normal2")
class NormalOfStd(Sampled):
    """z = random numbers of mean `mean`, a number, and deviation x"""

    torch_names = {"x": "std"}

    def forward(k, x, mean, generator):
        return k.add(k.mul(k.normal(generator, x.shape, 0, 1, x.dtype), x), mean)


@op("normal_of_both", "Normal3")
class NormalOfBoth(OfTwo):
    """z = random numbers of mean x and deviation y, which broadcast"""

    torch_names = {"x": "mean", "y": "std"}

    def forward(k, x, y, generator):
        drawn = k.normal(generator, np.broadcast_shapes(x.shape, y.shape), 0, 1, x.dtype)
        return k.add(k.mul(drawn, k.cast(y, x.dtype)), x)
