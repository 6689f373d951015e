"""Ops that exist only in place: the values they write do not depend on the old values.

    x.copy_(y)      x.zero_()       x.fill_(v)      x.uniform_()

Mirrors ``tools/autograd/derivatives.yaml`` and ``aten/src/ATen/native/{Copy,Fill}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.capi import is_c_contiguous
from cython.cimports.minigrad._core.graph.tensor import TensorBase

from minigrad._core.mutation.inplace import apply_inplace
from minigrad._core.record.apply import call
from minigrad.errors import ShapeError
from minigrad.ops.base.arguments import NUMBERS, convert_number, tensor_argument, tensor_error
from minigrad.ops.base.rule import Op, op, variant
from minigrad.ops.elementwise.selection import number_tensor
from minigrad.ops.shape.cat_split import select
from minigrad.ops.shape.clone_cast import move
from minigrad.ops.shape.views import expand

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

__all__ = ["METHODS"]

ndarray = cython.declare(object, np.ndarray)


@op("copy_", "CopyBackwards")
class Copy(Op):
    """z = y, in the shape and dtype of x"""

    casts = True
    torch_names = {"x": "self", "y": "src"}

    def forward(k, x, y):
        return k.expand(y, x.shape)

    def vjp_x(g):
        return g.new_zeros(g.shape)

    def vjp_y(g):
        return g

    def jvp(ts, x):
        return tangent_after_write(x, ts[1])


def tangent_after_write(x, t):
    """Return the tangent of x after a write to all of x; `t` is the tangent of the written values, None for zero."""
    return x.new_zeros(x.shape) if t is None else expand(t.to(x.dtype), *x.shape)


class Constant(Op):
    """Base of the ops that write values which depend on no tensor"""

    inputs = 1

    def vjp_x(g):
        return g.new_zeros(g.shape)

    def jvp_x(t):
        return t.new_zeros(t.shape)


@op("zero_", "Zero0")
class Zero(Constant):
    """z = 0"""

    def forward(k, x):
        return k.full(x.shape, 0, x.dtype)

    def write(k, x):
        k.fill_(x, 0)


@op("fill_", "Fill2")
class Fill(Constant):
    """z = a number"""

    def forward(k, x, value):
        return k.full(x.shape, value, x.dtype)

    def write(k, x, value):
        k.fill_(x, value)


@op("fill_tensor_", "Fill3")
class FillTensor(Op):
    """z = y, a 0-d tensor, everywhere"""

    casts = True
    torch_names = {"x": "self", "y": "value"}

    def forward(k, x, y):
        return k.expand(y, x.shape)

    def vjp_x(g):
        return g.new_zeros(g.shape)

    def vjp_y(g):
        return g.sum()

    def jvp(ts, x):
        return tangent_after_write(x, ts[1])


Filled = variant(Fill, "fill", "Fill0", "z = a number, in the shape and dtype of x")


@op("fill_tensor", "Fill1")
class FilledTensor(FillTensor):
    """z = y, a 0-d tensor, in the shape and dtype of x"""

    def forward(k, x, y):
        return k.copy(k.expand(k.cast(y, x.dtype), x.shape))


class Drawn(Constant):
    """Base of the ops that overwrite x with random numbers: z = draw(kernels, shape, dtype)"""

    def forward(k, x, draw):
        return draw(k, x.shape, x.dtype)


Uniform = variant(Drawn, "uniform_", "Uniform0", "z = uniform random numbers")
Normal = variant(Drawn, "normal_", "Normal0", "z = normal random numbers")
Bernoulli = variant(Drawn, "bernoulli_", "Bernoulli2", "z = 0 or 1 at random")
Exponential = variant(Drawn, "exponential_", "Exponential0", "z = random numbers, exponentially distributed")
Geometric = variant(Drawn, "geometric_", "Geometric0", "z = random numbers, geometrically distributed")
LogNormal = variant(Drawn, "log_normal_", "LogNormal0", "z = random numbers whose logarithms are normal")
Cauchy = variant(Drawn, "cauchy_", "Cauchy0", "z = random numbers, Cauchy distributed")
RandomRange = variant(Drawn, "random_range_", "Random0", "z = random integers in a range")
RandomTo = variant(Drawn, "random_to_", "Random1", "z = random integers in [0, n)")
Random = variant(Drawn, "random_", "Random2", "z = random integers among all that the dtype can hold")

# ---- methods ----------------------------------------------------------------------------------------------


def copy_(self, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Copy the values of `src` into self, in place. Mirrors ``torch.Tensor.copy_``.

    Args:
        src (Tensor or number): broadcasts to the shape of self, and is converted to the dtype and device of self.
        non_blocking (bool, optional): accepted, and ignored.

    Raises:
        RuntimeError: `src` does not broadcast to self, or self may not be written to.

    >>> mg.zeros(2).copy_(mg.tensor([1., 2.]))
    tensor([1., 2.])
    """
    if isinstance(src, NUMBERS):
        src = number_tensor(src, self)
    tensor_argument("copy_", src, "other", 1)
    if not broadcasts_to(src._meta.shape, self._meta.shape):
        expand(src, *self._meta.shape)        # raises the error
    if src._meta.device is not self._meta.device:
        src = move(src, self.device)
    return apply_inplace(Copy.op, self, (src,))


def copy_strided(x):
    """Return a copy of x with the same strides and the node CopyBackwards, as PyTorch copies a gradient for create_graph=True."""
    new = x.new_empty(x.shape) if x.is_contiguous() else x.detach().clone()
    return copy_(new, x)


def broadcasts_to(small, large):
    """Whether a tensor of shape `small` broadcasts to `large`."""
    lead = len(large) - len(small)
    return lead >= 0 and all([small[i] in (1, large[lead + i]) for i in range(len(small))])


def zero_(self) -> Tensor:
    """Set every element to 0. Mirrors ``torch.Tensor.zero_``.

    >>> mg.ones(2).zero_()
    tensor([0., 0.])
    """
    apply_inplace(Zero.op, unexpand(self), ())
    return self


def fill_(self, value: Tensor | Number) -> Tensor:
    """Set every element to `value`, a number or a 0-d tensor. Mirrors ``torch.Tensor.fill_``.

    Raises:
        RuntimeError: `value` is a tensor with dimensions.

    >>> mg.zeros(2).fill_(7)
    tensor([7., 7.])
    """
    if not isinstance(value, TensorBase):
        if not isinstance(value, NUMBERS):
            raise tensor_error("fill_", value, "value", 1)
        value = convert_number(value, self.dtype)
        apply_inplace(Fill.op, unexpand(self), (value,))
        return self
    if value.ndim > 0:
        raise ShapeError("MG-E204", f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return apply_inplace(FillTensor.op, self, (value,))


def fill(input: Tensor, value: Tensor | Number) -> Tensor:
    """A tensor of the shape and dtype of `input` with `value`, a number or a 0-d tensor, everywhere. Mirrors ``torch.fill``.

    Raises:
        RuntimeError: `value` is a tensor with dimensions.

    >>> mg.fill(mg.zeros(2), 7)
    tensor([7., 7.])
    """
    tensor_argument("fill", input)
    if not isinstance(value, TensorBase):
        if not isinstance(value, NUMBERS):
            raise tensor_error("fill", value, "value", 2)
        return call(Filled.op, (input, convert_number(value, input.dtype)))
    if value.ndim > 0:
        raise ShapeError("MG-E204", f"fill only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return call(FilledTensor.op, (input, value))


def unexpand(x):
    """Return `x`; if it is expanded, the tensor before the expansion. So `fill_` writes each place in memory once."""
    if type(x._array) is ndarray and is_c_contiguous(x._array):
        return x
    if x.numel() > 1:
        for dim, stride in enumerate(x._array.strides):
            if stride == 0 and x.shape[dim] > 1:
                return unexpand(select(x, dim, 0))
    return x


METHODS = {"copy_": copy_, "zero_": zero_, "fill_": fill_}
