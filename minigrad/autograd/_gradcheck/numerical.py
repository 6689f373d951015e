"""Derivatives by central differences: what gradcheck holds to be true.

    (f(x + ε d) - f(x - ε d)) / 2ε          for one direction d at a time

A complex number is a pair of real ones. So a tensor has *parts*, one if it is real and two if it is complex, and every
Jacobian is an array of real numbers

    (parts of the input, elements of the input, parts of the output, elements of the output)

The inputs are written to in place, through an alias that has no history, and are put back to the bit, whatever `fn` does. The
numbers are NumPy's and of double precision: the ops under test do not judge themselves.

Mirrors the numerical half of ``torch/autograd/gradcheck.py``. Read next: ``_gradcheck/analytical.py``.
"""

import numpy as np

from minigrad.errors import AutogradAssertionError, AutogradTypeError
from minigrad.random import rand
from minigrad.tensor import Tensor

__all__ = ["as_tuple", "components", "difference", "numerical_jacobian", "numerical_jvp", "outputs_of", "parts",
           "uniform"]


def as_tuple(x):
    """A tuple of what may be one thing, a list or a tuple."""
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def parts(x):
    """The units of the parts of a tensor's numbers."""
    return (1.0, 1j) if x.dtype.is_complex else (1.0,)


def components(x):
    """The numbers of a tensor as an array (parts, elements). A copy: the tensor may share the memory that is written to."""
    flat = x.detach().cpu().numpy().reshape(-1)
    return np.array([flat.real, flat.imag] if x.dtype.is_complex else [flat], dtype=np.float64)


def uniform(shape, dtype, generator):
    """Random numbers, each part between -1 and 1."""
    real, *imaginary = [rand(*shape, dtype=dtype.to_real(), generator=generator) * 2 - 1 for _ in range(1 + dtype.is_complex)]
    return (real + imaginary[0] * 1j).to(dtype) if imaginary else real


def outputs_of(fn, inputs):
    """What `fn` returns, as a tuple of tensors."""
    outputs = as_tuple(fn(*inputs))
    for i, y in enumerate(outputs):
        if not isinstance(y, Tensor):
            raise AutogradTypeError("MG-E266", "gradcheck expects func to return a tensor, or a tuple of tensors",
                                    found=f"output {i} is of type {type(y).__name__}",
                                    fix="return what is differentiated and nothing else: lambda x: func(x)[0]")
    return outputs


def difference(fn, inputs, place, step, eps):
    """(f(x + step) - f(x - step)) / 2 eps for each output, as an array (parts, elements). `place` is the memory of x, or a view
    of the element that moves.
    """
    kept = place.clone()
    try:
        place.copy_(kept - step)
        behind = outputs_of(fn, inputs)
        low = [components(y) for y in behind]
        place.copy_(kept + step)
        ahead = outputs_of(fn, inputs)
        high = [components(y) for y in ahead]
    finally:
        place.copy_(kept)
    expect_alike(behind, ahead)
    with np.errstate(invalid="ignore"):     # inf - inf: the report says it
        return [(h - l) / (2 * eps) for l, h in zip(low, high)]


def expect_alike(behind, ahead):
    """A difference needs two outputs of one form."""
    for what, before, after in (("number", [len(behind)], [len(ahead)]),
                                ("shape", [tuple(y.shape) for y in behind], [tuple(y.shape) for y in ahead]),
                                ("dtype", [y.dtype.name for y in behind], [y.dtype.name for y in ahead])):
        if before != after:
            raise AutogradAssertionError(
                "MG-E266", f"Expected `func` to return outputs with the same {what} when inputs are perturbed",
                expected=str(before)[1:-1], found=str(after)[1:-1],
                fix="check where no decision flips: move the inputs away from the values at which func chooses another branch")


def numerical_jacobian(fn, inputs, x, outputs, eps):
    """The Jacobians of all outputs with respect to `x`, which is one of the inputs: two calls of `fn` per real number in x."""
    data = x.data
    rows = [[difference(fn, inputs, data[at], eps * unit, eps) for at in np.ndindex(tuple(x.shape))] for unit in parts(x)]
    return [np.array([[row[o] for row in block] for block in rows]).reshape(len(parts(x)), x.numel(), len(parts(y)), y.numel())
            for o, y in enumerate(outputs)]


def numerical_jvp(fn, inputs, x, outputs, directions, eps):
    """The derivatives of all outputs along one direction for each part of `x`: arrays (parts of x, parts, elements)."""
    rows = [difference(fn, inputs, x.data, eps * unit * u, eps) for unit, u in zip(parts(x), directions)]
    return [np.array([row[o] for row in rows]) for o in range(len(outputs))]
