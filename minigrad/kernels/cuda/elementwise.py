"""Elementwise kernels: one template for each kind of operands, and a table of expressions.

    idea        thread i computes element i, and then those a grid further on (Note [Grid-stride loops] in launch.py)
    bytes       each operand is read once and the result written once: for z = x + y of float32, 12 bytes an element
    operations  one, or some dozens for exp and its kind: far fewer than a GPU does while it waits for 12 bytes
    so          the time is that of the memory, and all that counts is that neighbouring threads read neighbouring numbers

An expression is a function of one element of each operand. Where the operands lie in the same order without gaps, the kernel walks
over memory; otherwise it computes where each element is, from as few dimensions as are needed (`collapsed`).
Note [Few dimensions] A division takes longer than all the rest. Most strided operands are a row or a column that is repeated, for
which two dimensions are enough.

Mirrors ``aten/src/ATen/native/cuda/CUDALoops.cuh`` (gpu_kernel) and ``TensorIterator.cpp`` (coalesce_dimensions).
Read next: ``reduction.py``.
"""

from functools import cache

import numpy as np
from numba import cuda

from minigrad.kernels.cuda import expressions
from minigrad.kernels.cuda.array import CudaArray
from minigrad.kernels.cuda.launch import launch_each, pointers
from minigrad.kernels.cuda.memory import empty_array, like
from minigrad.kernels.cuda.missing import missing
from minigrad.kernels.cuda.streams import SIMULATED
from minigrad.kernels.numpy_ref.layout import dense, number

BOOL = np.dtype(bool)


@cache
def compiled(function):
    """An expression as a function that kernels call. The simulator calls it as it is."""
    return function if SIMULATED else cuda.jit(device=True)(function)


@compiled
def plain(x):
    return x


@compiled
def offset(i, shape, strides):
    """Where element `i`, counted row by row, lies. There is at least one dimension; the first needs no division."""
    at = 0
    for dim in range(len(shape) - 1, 0, -1):
        at += i % shape[dim] * strides[dim]
        i //= shape[dim]
    return at + i * strides[0]


# ---- templates ------------------------------------------------------------------------------------------
# `f` is the expression, and `wide` the type that it is computed in: float32 for float16, else that of the operand.


@cache
def one(f, wide):
    """Kernels for one operand: (in order, strided)."""
    @cuda.jit
    def in_order(n, z, z0, x, x0):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            z[z0 + i] = f(wide(x[x0 + i]))

    @cuda.jit
    def strided(n, shape, z, z0, sz, x, x0, sx):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            z[z0 + offset(i, shape, sz)] = f(wide(x[x0 + offset(i, shape, sx)]))
    return in_order, strided


@cache
def one_and_number(f, wide):
    """For an operand and a number."""
    @cuda.jit
    def in_order(n, z, z0, x, x0, value):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            z[z0 + i] = f(wide(x[x0 + i]), value)

    @cuda.jit
    def strided(n, shape, z, z0, sz, x, x0, sx, value):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            z[z0 + offset(i, shape, sz)] = f(wide(x[x0 + offset(i, shape, sx)]), value)
    return in_order, strided


@cache
def two(f, wide):
    """For two operands."""
    @cuda.jit
    def in_order(n, z, z0, x, x0, y, y0):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            z[z0 + i] = f(wide(x[x0 + i]), wide(y[y0 + i]))

    @cuda.jit
    def strided(n, shape, z, z0, sz, x, x0, sx, y, y0, sy):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            z[z0 + offset(i, shape, sz)] = f(wide(x[x0 + offset(i, shape, sx)]), wide(y[y0 + offset(i, shape, sy)]))
    return in_order, strided


@cuda.jit
def where_in_order(n, z, z0, c, c0, x, x0, y, y0):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        z[z0 + i] = x[x0 + i] if c[c0 + i] else y[y0 + i]


@cuda.jit
def where_strided(n, shape, z, z0, sz, c, c0, sc, x, x0, sx, y, y0, sy):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        z[z0 + offset(i, shape, sz)] = (x[x0 + offset(i, shape, sx)] if c[c0 + offset(i, shape, sc)]
                                        else y[y0 + offset(i, shape, sy)])


# ---- which of them, and on what ---------------------------------------------------------------------------


def width(dtype):
    """What an expression on `dtype` is computed in."""
    return np.float32 if dtype == np.float16 else plain


def collapsed(shape, *strides):
    """`shape` and the strides of several arrays of that shape, with dimensions joined that are one walk through memory in all."""
    joined = []
    for n, *steps in zip(shape, *strides):
        if n == 1:
            continue
        if joined and all(before == step * n for before, step in zip(joined[-1][1], steps)):
            joined[-1] = (joined[-1][0] * n, steps)
        else:
            joined.append((n, steps))
    if not joined:
        joined = [(1, [0] * len(strides))]
    return tuple([n for n, _ in joined]), *[tuple([steps[i] for _, steps in joined]) for i in range(len(strides))]


def in_elements(x, shape):
    """The strides of `x`, broadcast to `shape`, in elements."""
    lead = len(shape) - x.ndim
    return (0,) * lead + tuple([0 if n == 1 else s // x.itemsize for n, s in zip(x.shape, x.strides)])


def run(kernels, z, arrays, numbers=()):
    """Queue one of the two `kernels` for the elements of `z`, to which `arrays` broadcast."""
    in_order, strided = kernels
    if not z.size:
        return
    if all(x.shape == z.shape for x in arrays) and dense(z) and all(
            [s // x.itemsize for s in x.strides] == [s // z.itemsize for s in z.strides] for x in arrays):
        launch_each(in_order, z.size, z.device, z.size, *pointers(z, *arrays), *numbers)
        return
    launch_each(strided, z.size, z.device, z.size, *walked(z, *arrays), *numbers)


def walked(z, *arrays):
    """What a strided kernel is told: a shape, and of `z` and of arrays that broadcast to it the pointers and strides."""
    arrays = [z, *arrays]
    shape, *strides = collapsed(z.shape, *[in_elements(x, z.shape) for x in arrays])
    return shape, *[part for x, s in zip(arrays, strides) for part in (*pointers(x), s)]


def result(arrays, dtype):
    """An array for a result of `dtype`: in the order of its operands in memory, if they have one."""
    first = arrays[0]
    if all(x.shape == first.shape and x.strides == first.strides for x in arrays) and dense(first):
        return like(first, dtype)
    return empty_array(np.broadcast_shapes(*[x.shape for x in arrays]), dtype, first.device)


def as_value(value, dtype):
    """A Python number as an argument of a kernel."""
    return (np.float32 if dtype == np.float16 else dtype.type)(number(value, dtype))


def function_of(name, expression, dtype):
    """What `expression` computes for numbers of `dtype`. Raises `NotImplementedError` where it has nothing."""
    f = expression.of(dtype)
    if f is None:
        raise missing(name, dtype)
    return compiled(f)


@cache
def turned(f):
    return compiled(lambda y, x: f(x, y))


def unary(name, expression):
    def kernel(x):
        dtype = x.dtype
        f = function_of(name, expression, dtype)
        z = result([x], BOOL if expression.gives == "bool" else real_of(dtype) if expression.gives == "real" else dtype)
        run(one(f, width(dtype)), z, [x])
        return z
    kernel.__name__ = kernel.__qualname__ = name
    return kernel


def binary(name, expression):
    def kernel(x, y):
        arrays = [a for a in (x, y) if isinstance(a, CudaArray)]
        dtype = arrays[0].dtype
        f = function_of(name, expression, dtype)
        z = result(arrays, BOOL if expression.gives == "bool" else complex_of(dtype) if expression.gives == "complex" else dtype)
        if len(arrays) == 2:
            run(two(f, width(dtype)), z, arrays)
        elif arrays[0] is x:
            run(one_and_number(f, width(dtype)), z, arrays, [as_value(y, dtype)])
        else:
            run(one_and_number(turned(f), width(dtype)), z, arrays, [as_value(x, dtype)])
        return z
    kernel.__name__ = kernel.__qualname__ = name
    return kernel


def real_of(dtype):
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def complex_of(dtype):
    return np.dtype(f"c{dtype.itemsize * 2}")


for _name, _expression in expressions.ONE.items():
    globals()[_name] = unary(_name, _expression)
for _name, _expression in expressions.TWO.items():
    globals()[_name] = binary(_name, _expression)


def where(c, x, y):
    arrays = [a for a in (x, y) if isinstance(a, CudaArray)]
    dtype = arrays[0].dtype
    x, y = [a if isinstance(a, CudaArray) else filled((), a, dtype, c.device) for a in (x, y)]
    z = result([c, x, y], dtype)
    run((where_in_order, where_strided), z, [c, x, y])
    return z


def clamp(x, low, high):
    if x.dtype.kind in "iu":        # a limit that no number of the dtype can reach
        least, most = int(np.iinfo(x.dtype).min), int(np.iinfo(x.dtype).max)
        low, high = [min(max(n, least), most) if type(n) is int else n for n in (low, high)]
    z = x
    if low is not None:
        z = maximum(z, low)     # noqa: F821 - made by the table above
    if high is not None:
        z = minimum(z, high)    # noqa: F821
    return z


@cuda.jit
def _fill_in_order(n, z, z0, value):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        z[z0 + i] = value


@cuda.jit
def _fill_strided(n, shape, z, z0, sz, value):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        z[z0 + offset(i, shape, sz)] = value


def fill_(x, value):
    run((_fill_in_order, _fill_strided), x, [], [as_value(value, x.dtype)])


def filled(shape, value, dtype, device):
    """A new array of `shape` that is `value` everywhere."""
    z = empty_array(shape, dtype, device)
    fill_(z, value)
    return z
