"""Derivatives by central differences: the reference of gradcheck.

    (f(x + ε d) - f(x - ε d)) / 2ε          for each direction d

A complex number is a pair of real numbers. So a real tensor has one *part* and a complex tensor has two. Every Jacobian is an
array of real numbers

    (parts of the input, elements of the input, parts of the output, elements of the output)

These functions write to the inputs in place, through an alias without a history. Afterwards they restore every bit, whatever `fn`
does. They compute with NumPy in double precision, so the check does not depend on the ops under test.

Mirrors the numerical half of ``torch/autograd/gradcheck.py``. Read next: ``_gradcheck/analytical.py``.
"""

import numpy as np

from minigrad.errors import AutogradAssertionError, AutogradTypeError
from minigrad.random import rand
from minigrad.tensor import Tensor

__all__ = ["as_tuple", "call_function", "components", "difference", "draw_uniform", "numerical_jacobian", "numerical_jvp",
           "part_units"]


def as_tuple(x):
    """Return a list or tuple as a tuple, and another object as a tuple of one."""
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def part_units(x):
    """The units of the parts of `x`: 1, and i for a complex tensor."""
    return (1.0, 1j) if x.dtype.is_complex else (1.0,)


def components(x):
    """The numbers of a tensor as an array (parts, elements). It is a copy, because `difference` may write to the same memory."""
    flat = x.detach().cpu().numpy().reshape(-1)
    return np.array([flat.real, flat.imag] if x.dtype.is_complex else [flat], dtype=np.float64)


def draw_uniform(shape, dtype, generator):
    """Draw random numbers; each part is between -1 and 1."""
    real, *imaginary = [rand(*shape, dtype=dtype.to_real(), generator=generator) * 2 - 1 for _ in range(1 + dtype.is_complex)]
    return (real + imaginary[0] * 1j).to(dtype) if imaginary else real


def call_function(fn, inputs):
    """Call `fn`, and return its outputs as a tuple of tensors."""
    outputs = as_tuple(fn(*inputs))
    for i, y in enumerate(outputs):
        if not isinstance(y, Tensor):
            raise AutogradTypeError("MG-E266", "gradcheck expects func to return a tensor, or a tuple of tensors",
                                    found=f"output {i} is of type {type(y).__name__}",
                                    fix="return only the tensors to differentiate: lambda x: func(x)[0]")
    return outputs


def difference(fn, inputs, place, step, eps):
    """(f(x + step) - f(x - step)) / 2 eps for each output, as an array (parts, elements).

    `place` is an alias of the input x, or a view of the element of x that changes.
    """
    original = place.clone()
    try:
        place.copy_(original - step)
        behind = call_function(fn, inputs)
        low = [components(y) for y in behind]
        place.copy_(original + step)
        ahead = call_function(fn, inputs)
        high = [components(y) for y in ahead]
    finally:
        place.copy_(original)
    expect_alike(behind, ahead)
    with np.errstate(invalid="ignore"):     # inf - inf gives nan, which the report explains
        return [(h - l) / (2 * eps) for l, h in zip(low, high)]


def expect_alike(behind, ahead):
    """Raise if the two calls return different numbers of outputs, shapes or dtypes."""
    for what, before, after in (("number", [len(behind)], [len(ahead)]),
                                ("shape", [tuple(y.shape) for y in behind], [tuple(y.shape) for y in ahead]),
                                ("dtype", [y.dtype.name for y in behind], [y.dtype.name for y in ahead])):
        if before != after:
            raise AutogradAssertionError(
                "MG-E266", f"Expected `func` to return outputs with the same {what} when inputs are perturbed",
                expected=str(before)[1:-1], found=str(after)[1:-1],
                fix="choose inputs far from the values at which func takes another branch")


def numerical_jacobian(fn, inputs, x, outputs, eps):
    """The Jacobians of all outputs with respect to `x`, one of the inputs: two calls of `fn` for each real number in x."""
    data = x.data
    rows = [[difference(fn, inputs, data[at], eps * unit, eps) for at in np.ndindex(tuple(x.shape))] for unit in part_units(x)]
    return [np.array([[row[o] for row in block] for block in rows])
            .reshape(len(part_units(x)), x.numel(), len(part_units(y)), y.numel()) for o, y in enumerate(outputs)]


def numerical_jvp(fn, inputs, x, outputs, directions, eps):
    """The derivatives of all outputs along one direction for each part of `x`: arrays (parts of x, parts, elements)."""
    rows = [difference(fn, inputs, x.data, eps * unit * u, eps) for unit, u in zip(part_units(x), directions)]
    return [np.array([row[o] for row in rows]) for o in range(len(outputs))]
