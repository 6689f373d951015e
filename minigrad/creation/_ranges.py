"""Tensors of evenly spaced numbers.

Mirrors ``aten/src/ATen/native/RangeFactories.cpp``.
"""

# pyright: reportOptionalOperand=false, reportOperatorIssue=false, reportArgumentType=false
# (arguments are converted under their own names)

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.metadata import CPU
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.promotion import default_dtype
from minigrad.creation._arrays import cast
from minigrad.creation._from_data import new_leaf
from minigrad.creation._options import fills_out
from minigrad.dtypes import as_dtype, float64, int64
from minigrad.errors import ArgumentError, AutogradError, DtypeError, ScalarError, ShapeError
from minigrad.ops.base.arguments import WRITTEN_AS, convert_number, integer, number, real

if TYPE_CHECKING:
    from minigrad.types import DeviceLike, DType, Number, Tensor

__all__ = ["arange", "linspace", "logspace"]

FEW = 4096      # for so few numbers, a second array takes longer


@fills_out
def arange(start: float = 0, end: float | None = None, step: float = 1, *, dtype: DType | None = None,
           device: DeviceLike | None = None, requires_grad: bool = False) -> Tensor:
    """The numbers from `start` (0 if only one is given) up to but without `end`, in steps.

    Args:
        dtype (optional): int64 if all three are ints, else the default dtype.

    Mirrors ``torch.arange``.

    Raises:
        RuntimeError: the step is 0, or leads away from `end`.

    >>> mg.arange(3), mg.arange(1, 2, 0.5)
    (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    if end is None:
        start, end = 0, start
    start, end, step = real(start, "start", "arange"), real(end, "end", "arange"), real(step, "step", "arange")
    if step == 0:
        raise ArgumentError("MG-E302", "step must be nonzero")
    if (end - start) * step < 0:
        raise ArgumentError("MG-E302", "upper bound and lower bound inconsistent with step sign",
                            found=f"arange({start}, {end}, {step})")
    if not (math.isfinite(start) and math.isfinite(end) and step == step):
        raise ArgumentError("MG-E302", f"unsupported range: {start} -> {end}, in steps of {step}")
    whole = isinstance(start, (int, np.integer)) and isinstance(end, (int, np.integer)) and isinstance(step, (int, np.integer))
    if whole and max(abs(start), abs(end), abs(step)) >= 1 << 63:
        raise ArgumentError("MG-E302", "value cannot be converted to type int64 without overflow",
                            found=f"arange({start}, {end}, {step})")
    kind = (int64 if whole else default_dtype()) if dtype is None else as_dtype(dtype)
    n = -((start - end) // step) if whole else math.ceil((end - start) / step)
    exact = np.int64 if whole else np.float64
    array = np.arange(n, dtype=exact) if whole else count_up(n, exact)
    if step != 1:
        array *= exact(step)
    if start != 0:
        array += exact(start)
    return new_leaf(cast(array, kind.numpy), device, requires_grad)


def count_up(n, dtype):
    """The numbers 0, 1, 2 ... below n, in `dtype`. NumPy counts in int32 in a quarter of the time that it takes in float64."""
    if not FEW < n < 1 << 31:
        return np.arange(n, dtype=dtype)
    return CPU.backend.kernels.cast(np.arange(n, dtype=np.int32), np.dtype(dtype))


def one_number(function, name, x):
    """`x`, a number or a 0-d tensor. (PyTorch takes one that requires a gradient too, and its history is lost.)"""
    if isinstance(x, TensorBase) and x.ndim:
        raise ScalarError("MG-E208", f"{function} only supports 0-dimensional start and end tensors, but got one with {x.ndim} "
                          "dimension(s).")
    if isinstance(x, TensorBase) and x.requires_grad:
        raise AutogradError("MG-E307", f"The function '{function}' is not differentiable with respect to argument '{name}'. This "
                            "input cannot have requires_grad True.",
                            fix=f"start + (end - start) * minigrad.linspace(0, 1, steps); or {name}.detach()")
    return number(x, name, function)


@fills_out
def linspace(start: Number, end: Number, steps: int, *, dtype: DType | None = None, device: DeviceLike | None = None,
             requires_grad: bool = False) -> Tensor:
    """`steps` numbers from `start` to `end`, both included, at equal distances. Mirrors ``torch.linspace``.

    Raises:
        RuntimeError: `steps` is negative.

    >>> mg.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    if integer(steps, "steps", "linspace") >= (1 << 63) - 1:
        raise ShapeError("MG-E206", "linspace(): Storage size calculation overflowed", found=f"{steps} steps")
    if steps < 0:
        raise ArgumentError("MG-E302", "number of steps must be non-negative")
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    start, end = one_number("linspace", "start", start), one_number("linspace", "end", end)
    if not kind.is_complex and any([isinstance(x, (complex, np.complexfloating)) for x in (start, end)]):
        raise DtypeError("MG-E203", f"linspace(): inferred dtype complex can't be safely cast to passed dtype {kind.name}")
    for x in (start, end):
        convert_number(x, WRITTEN_AS.get(kind, kind))
    start, end = [x if isinstance(x, (complex, np.complexfloating)) else float(x) for x in (start, end)]
    exact_dtype = np.complex128 if kind.is_complex else np.float64
    array = count_up(steps, exact_dtype)
    if steps == 1:
        array[0] = start
    elif steps:
        k, gaps = CPU.backend.kernels, steps - 1
        step = (end - start) / gaps
        array = k.mul(array, step) if step else k.mul(k.div(array, gaps), end - start)      # a small step may be 0
        if kind.is_complex or start != 0 or not end > 0:        # else it adds 0 to numbers that are not -0
            array = k.add(array, start)
        array[-1] = end
    return new_leaf(cast(array, kind.numpy), device, requires_grad)


@fills_out
def logspace(start: Number, end: Number | None, steps: int, base: float = 10.0, *, dtype: DType | None = None,
             device: DeviceLike | None = None, requires_grad: bool = False) -> Tensor:
    """`steps` powers of `base`, from base^start to base^end. Mirrors ``torch.logspace``.

    Raises:
        RuntimeError: `steps` is negative.

    >>> mg.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    for name, x in (("start", start), ("end", end)):
        one_number("logspace", name, x)
    base = real(base, "base", "logspace")
    exponents = linspace(start, end, steps, dtype=kind if kind.is_complex else float64)._array
    with np.errstate(all="ignore"):
        return new_leaf(np.power(float(base), exponents).astype(kind.numpy), device, requires_grad)
