"""Operators for the tests, made in the library `m`: minigrad here, torch in tests/parity."""

import itertools

import numpy as np

_numbers = itertools.count()


def define(m, function, mutates_args=(), **options):
    """`function` as an operator under a name of its own."""
    name = f"tests::{function.__name__.strip('<>')}_{next(_numbers)}"
    return m.library.custom_op(name, function, mutates_args=mutates_args, **options)


def numpy_sin(m):
    """y = sin x, by NumPy; no formula yet."""
    def sin(x: m.Tensor) -> m.Tensor:
        return m.from_numpy(np.sin(x.numpy()))
    return define(m, sin)


def with_formula(m):
    """y = sin x, by NumPy, with a formula that can be differentiated again."""
    op = numpy_sin(m)

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * x.cos()

    op.register_autograd(backward, setup_context=setup_context)
    return op


def product(m):
    """z = x y, saves both."""
    def mul(x: m.Tensor, y: m.Tensor) -> m.Tensor:
        return x * y
    op = define(m, mul)

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x

    op.register_autograd(backward, setup_context=setup_context)
    return op
