"""Elementwise kernels: which expression runs in which template, and on which arrays.

    idea        a thread computes *quads*, four neighbouring elements: it reads four of each operand, and writes four
                (quad_kernels.py)
    bytes       each operand is read once and the result is written once: for z = x + y of float32, 12 bytes per element
    operations  one, or some dozens for exp and similar functions: a GPU does far more while it waits for 12 bytes
    so          memory limits it: neighbouring threads read neighbouring quads, 16 bytes of float32 by one instruction, and all
                reads of a thread are under way before it uses the first
    measured    99 to 101% of the speed of a copy on an H100, for 2^28 float32; 98% where a row or a column is repeated

An expression is a function of one element of each operand. If all operands have the same order in memory without gaps, the kernel
walks over memory. Otherwise it computes the address of each quad, from as few dimensions as possible (`collapse`).

Note [Few dimensions]
    A division takes longer than all the rest. Most strided operands are a row or a column that is repeated. For these two
    dimensions are enough: one division per quad. It is a division of 32 bits (`quotient` in vector_io.py), so arrays of more than
    2^31 quads are computed in parts.

Mirrors ``aten/src/ATen/native/cuda/CUDALoops.cuh`` (gpu_kernel) and ``TensorIterator.cpp`` (coalesce_dimensions).
Read next: ``quad_kernels.py``.
"""

import math
from functools import cache, lru_cache

import numpy as np

from minigrad.kernels.cuda.array import CudaArray
from minigrad.kernels.cuda.elementwise import expressions
from minigrad.kernels.cuda.elementwise.quad_kernels import (
    QUAD,
    TILE,
    device_function,
    fill_kernels,
    one,
    one_and_number,
    plain,
    three,
    two,
)
from minigrad.kernels.cuda.elementwise.vector_io import BYTES, aligned
from minigrad.kernels.cuda.runtime.launch import THREADS, launch, pointers
from minigrad.kernels.cuda.runtime.memory import empty_array, empty_like
from minigrad.kernels.cuda.runtime.missing import missing
from minigrad.kernels.cuda.runtime.streams import SIMULATED
from minigrad.kernels.numpy_ref.elementwise import activations, composed
from minigrad.kernels.numpy_ref.layout import dense, number

BOOL = np.dtype(bool)


@device_function
def offset(i, shape, strides):
    """The offset of element `i`, counted row by row. There is at least one dimension; the first needs no division."""
    at = 0
    for dim in range(len(shape) - 1, 0, -1):
        at += i % shape[dim] * strides[dim]
        i //= shape[dim]
    return at + i * strides[0]


MOST = 1 << 31      # the most quads of a strided kernel


# ---- choosing a kernel, and its arguments ---------------------------------------------------------------------------


def width(dtype):
    """The type in which an expression on `dtype` is computed: float32 for float16; else `plain`, the type itself."""
    return np.float32 if dtype == np.float16 else plain


def collapse(shape, *strides):
    """Return (shape, strides of each array), with dimensions joined.

    Two neighbouring dimensions are joined if one step of the first is as far as all steps of the second, in every array.
    """
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


def element_strides(x, shape):
    """The strides of `x`, broadcast to `shape`, in elements."""
    return broadcast_strides(x.shape, x.strides, x.itemsize, shape)


def broadcast_strides(own, strides, itemsize, shape):
    """The strides, in elements, of an array of shape `own` and `strides` in bytes, broadcast to `shape`."""
    return (0,) * (len(shape) - len(own)) + tuple([0 if n == 1 else s // itemsize for n, s in zip(own, strides)])


def row_major_strides(shape):
    """The strides of a row-major array of this shape, in elements."""
    return tuple([math.prod(shape[dim + 1:]) for dim in range(len(shape))])


def run(kernels, z, arrays, numbers=()):
    """Queue one of the two `kernels` (in order, strided) for the elements of `z`, to which `arrays` broadcast."""
    in_order, strided = kernels
    if not run_in_order(in_order, z, arrays, numbers, QUAD, TILE, THREADS) and z.size:
        run_by_rows(strided, (z, *arrays), numbers)


def run_by_rows(strided, operands, numbers):
    """Queue `strided` for `operands`, which broadcast to the shape of the first."""
    n, shape, length, packed, strides = strided_plan(
        operands[0].shape, *[(x.shape, x.strides, x.itemsize, x.address % BYTES) for x in operands])
    if n > MOST:
        run_strided(strided, (*shape[:-1], length), operands, [x.start for x in operands], strides, numbers)
        return
    parts = [part for x, s in zip(operands, strides) for part in (*pointers(x), s)]
    launch(strided, -(-n // THREADS), THREADS, operands[0].device, n, shape, length, packed, *parts, *numbers)


@lru_cache(4096)
def strided_plan(shape, *arrays):
    """The arguments of a strided kernel for `arrays`, each (shape, strides, itemsize, address modulo 16).

    Returns:
        (number of quads, shape with quads as the last dimension, length of a row, which arrays are read in packs, their strides)
    """
    shape, *strides = sort_dimensions(shape, *[array[:3] for array in arrays])
    quads = -(-shape[-1] // QUAD)
    packed = [packs_fit(address, itemsize, s) for (_, _, itemsize, address), s in zip(arrays, strides)]
    return math.prod(shape[:-1]) * quads, (*shape[:-1], quads), shape[-1], tuple(packed), strides


def alike(z, arrays):
    """Whether `z` and `arrays` have one shape and one order in memory, without gaps."""
    return dense(z) and all(x.shape == z.shape and all(
        [n == 1 or s * z.itemsize == t * x.itemsize for n, s, t in zip(x.shape, x.strides, z.strides)]) for x in arrays)


def run_in_order(kernel, z, arrays, numbers, quad, tile, threads):
    """Queue `kernel` for the elements of `z` and `arrays` if they are `alike`; return whether they are."""
    if not alike(z, arrays):
        return False
    if z.size:
        packed = int(all([aligned(x, quad) for x in (z, *arrays)]))
        launch(kernel, -(-z.size // tile), threads, z.device, z.size, packed, *pointers(z, *arrays), *numbers)
    return True


if not SIMULATED:
    try:
        from minigrad.kernels.cuda.quick import alike, run_in_order
    except (ImportError, OSError):      # interpreted, or this machine has no CUDA driver
        pass


def run_strided(strided, shape, arrays, starts, strides, numbers):
    """Queue `strided` for rows of shape[-1] elements; in two halves, if there are more quads than its division can count."""
    if len(shape) > 1 and shape[0] == 1:
        run_strided(strided, shape[1:], arrays, starts, [s[1:] for s in strides], numbers)
        return
    rows, length = shape[:-1], shape[-1]
    quads = -(-length // QUAD)
    n = math.prod(rows) * quads
    if n > MOST:
        half = max(shape[0] // 2 // QUAD, 1) * QUAD if shape[0] > QUAD else 1
        run_strided(strided, (half, *shape[1:]), arrays, starts, strides, numbers)
        run_strided(strided, (shape[0] - half, *shape[1:]), arrays, [i + half * s[0] for i, s in zip(starts, strides)], strides,
                    numbers)
        return
    packed = tuple([can_pack(x, start, s) for x, start, s in zip(arrays, starts, strides)])
    parts = [part for x, start, s in zip(arrays, starts, strides) for part in (x.block.of(x.dtype), start, s)]
    launch(strided, -(-n // THREADS), THREADS, arrays[0].device, n, (*rows, quads), length, packed, *parts, *numbers)


def can_pack(x, start, strides):
    """`packs_fit` for the rows of an array whose first element is element `start` of its block."""
    return packs_fit(x.block.address + start * x.itemsize, x.itemsize, strides)


def packs_fit(address, itemsize, strides):
    """Whether the rows of an array at `address` can be read in packs, that begin at every fourth element: 1 or 0."""
    return int(strides[-1] == 1 and address % min(QUAD * itemsize, BYTES) == 0 and all([s % QUAD == 0 for s in strides[:-1]]))


@lru_cache(4096)
def sort_dimensions(shape, *arrays):
    """Return (shape, strides of each array) with the fewest dimensions, in the order of the first array in memory.

    Each of `arrays` is (shape, strides in bytes, itemsize), and broadcasts to `shape`. The strides returned are in elements.
    """
    order = sorted(range(len(shape)), key=lambda dim: -math.fabs(arrays[0][1][dim]))        # `abs` is a kernel here
    strides = [broadcast_strides(*array, shape) for array in arrays]
    return collapse([shape[dim] for dim in order], *[[s[dim] for dim in order] for s in strides])


broadcast_shapes = lru_cache(4096)(np.broadcast_shapes)


def result(arrays, dtype):
    """Allocate a result of `dtype`, in the order of its operands in memory if they are `alike`."""
    first = arrays[0]
    if alike(first, arrays[1:]):
        return empty_like(first, dtype)
    return empty_array(broadcast_shapes(*[x.shape for x in arrays]), dtype, first.device)


def as_value(value, dtype):
    """Return a Python number as an argument of a kernel on `dtype`."""
    return (np.float32 if dtype == np.float16 else dtype.type)(number(value, dtype))


def function_of(name, expression, dtype):
    """The device function of `expression` for `dtype`. Raises `NotImplementedError` if it has none."""
    f = expression.of(dtype)
    if f is None:
        raise missing(name, dtype)
    return device_function(f)


@cache
def swap_operands(f):
    """A device function (y, x) -> f(x, y)."""
    return device_function(lambda y, x: f(x, y))


def same_or_apart(out, arrays):
    """Whether each of `arrays` is `out`, or shares no memory with it.

    Otherwise a thread could write an element of `out` that another thread still has to read.
    """
    return all([x is out or x.block is not out.block
                or (x.address == out.address and x.shape == out.shape and x.strides == out.strides) for x in arrays])


def make_unary(name, expression):
    """Return the kernel `name` of the contract, for one operand."""
    @cache
    def kernels_for(dtype):
        kinds = {"bool": BOOL, "real": real_of(dtype)}
        return one(function_of(name, expression, dtype), width(dtype)), kinds.get(expression.gives, dtype)

    def kernel(x, out=None):
        """Return f(x), written to `out` if given."""
        kernels, gives = kernels_for(x.dtype)
        if out is None:
            out = result([x], gives)
        run(kernels, out, [x])
        return out
    return name_kernel(kernel, name, expression)


def make_binary(name, expression):
    """Return the kernel `name` of the contract, for two arrays, or an array and a number."""
    @cache
    def kernels_for(dtype):
        f, wide = function_of(name, expression, dtype), width(dtype)
        gives = {"same": dtype, "bool": BOOL}.get(expression.gives)
        return two(f, wide), one_and_number(f, wide), one_and_number(swap_operands(f), wide), gives or complex_of(dtype)

    def kernel(x, y, out=None):
        """Return f(x, y), written to `out` if given."""
        arrays = [a for a in (x, y) if isinstance(a, CudaArray)]
        dtype = arrays[0].dtype
        both, before, after, gives = kernels_for(dtype)
        z = out
        if out is None or not same_or_apart(out, arrays):
            z = result(arrays, gives)
        if len(arrays) == 2:
            run(both, z, arrays)
        elif arrays[0] is x:
            run(before, z, arrays, [as_value(y, dtype)])
        else:
            run(after, z, arrays, [as_value(x, dtype)])
        if out is not None and z is not out:
            run(one(plain, plain), out, [z])
        return z
    return name_kernel(kernel, name, expression)


def name_kernel(kernel, name, expression):
    """Give `kernel` a name, and the attribute `in_place` of the contract if its `out` may be an operand."""
    kernel.__name__ = kernel.__qualname__ = name
    kernel.in_place = kernel if expression.gives == "same" else None
    return kernel


def real_of(dtype):
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def complex_of(dtype):
    return np.dtype(f"c{dtype.itemsize * 2}")


for _name, _expression in expressions.ONE.items():
    globals()[_name] = make_unary(_name, _expression)
for _name, _expression in expressions.TWO.items():
    globals()[_name] = make_binary(_name, _expression)


@device_function
def choose(c, x, y):
    return x if c else y


def where(c, x, y):
    arrays = [a for a in (x, y) if isinstance(a, CudaArray)]
    dtype = arrays[0].dtype
    x, y = [a if isinstance(a, CudaArray) else new_full((), a, dtype, c.device) for a in (x, y)]
    z = result([c, x, y], dtype)
    run(three(choose), z, [c, x, y])
    return z


def equal(x, y):
    return bool(eq(x, y).all())     # noqa: F821 - made by the table above


lerp, add_scaled, addcmul, addcdiv, huber = composed(
    *[globals()[_name] for _name in ("add", "sub", "mul", "div", "minimum", "abs")])


def clamp(x, low, high):
    if x.dtype.kind in "iu":        # a limit may be outside the range of the dtype
        least, most = int(np.iinfo(x.dtype).min), int(np.iinfo(x.dtype).max)
        low, high = [min(max(n, least), most) if type(n) is int else n for n in (low, high)]
    z = x
    if low is not None:
        z = maximum(z, low)     # noqa: F821 - made by the table above
    if high is not None:
        z = minimum(z, high)    # noqa: F821
    return z


threshold, zero_within, softshrink, softplus, elu, log_sigmoid, bce_with_logits, bce_with_logits_slope = activations(
    where, *[globals()[_name] for _name in ("le", "gt", "abs", "sub", "mul", "div", "minimum", "exp", "expm1", "log1p")], clamp)


def fill_(x, value):
    run(fill_kernels, x, [], [as_value(value, x.dtype)])


def new_full(shape, value, dtype, device):
    """Return a new array of `shape`, with `value` everywhere."""
    z = empty_array(shape, dtype, device)
    fill_(z, value)
    return z
