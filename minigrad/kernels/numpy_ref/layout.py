"""Memory: who owns it, its layout, copies and views of it.

A gradient has the layout that PyTorch gives it (torch/csrc/autograd/functions/accumulate_grad.h). If its tensor is dense, the
gradient has the same strides, so that an optimiser reads both in the same order. Otherwise it is row-major.
"""

import math
from builtins import slice as slice_

import numpy as np
from numpy.lib import stride_tricks

from minigrad.kernels.numpy_ref.precision import quiet
from minigrad.kernels.refusals import not_complex, too_long

__all__ = ["accumulate", "add_", "as_strided", "as_strided_add", "as_strided_scatter", "by_columns", "cast", "contiguous",
           "copy", "copy_", "copy_with_layout", "diagonal", "empty", "expand", "fill_", "from_host", "full", "geometry", "imag",
           "number", "obeys_layout", "owns", "permute", "real", "resize", "select", "slice", "storage", "t", "to_host",
           "transpose", "tril", "triu", "unsqueeze", "view", "view_as_complex", "view_as_real"]


def dense(x):
    """Whether the elements of `x` fill a block of memory without gaps or overlaps, in any order of the dimensions."""
    expected = x.itemsize
    for stride, size in sorted(zip(x.strides, x.shape)):
        if size == 0:
            return True
        if size > 1:
            if stride != expected:
                return False
            expected *= size
    return True


def on_layout(of_layout, name):
    """Return a view kernel of NumPy arrays as a kernel for arrays that have a NumPy array as their `layout`: GPU, meta."""
    def kernel(x, *args):
        found = of_layout(x.layout, *args)
        return None if found is None else x.make_view(found)
    kernel.__name__ = kernel.__qualname__ = name
    kernel.__doc__ = of_layout.__doc__
    return kernel


def owns(x):
    return x.base is None and x.flags.owndata and x.flags.writeable and dense(x)


def gradient_strides(x):
    """The strides in bytes that the gradient of `x` should have, if its elements have the size of x's elements."""
    if dense(x):
        return x.strides
    strides = [x.itemsize] * x.ndim
    for dim in range(x.ndim - 2, -1, -1):
        strides[dim] = strides[dim + 1] * max(x.shape[dim + 1], 1)
    return tuple(strides)


def same_order(g, strides, itemsize):
    """Whether `g` has `strides`, in bytes for elements of `itemsize` bytes. Dimensions of size 0 or 1 do not count."""
    return all(size <= 1 or a * itemsize == b * g.itemsize for a, b, size in zip(g.strides, strides, g.shape))


def obeys_layout(g, x):
    return g.shape == x.shape and same_order(g, gradient_strides(x), x.itemsize)


def copy_with_layout(g, x):
    if g.shape != x.shape:
        return g.copy()
    order = sorted(range(x.ndim), key=lambda dim: -gradient_strides(x)[dim])
    out = np.empty([g.shape[dim] for dim in order], g.dtype).transpose(np.argsort(order).tolist())
    out[...] = g
    return out


@quiet
def accumulate(x, y):
    if not owns(x) or x.shape != y.shape or x.dtype != y.dtype or x.strides != y.strides:
        return False
    np.add(x, y, out=x)
    return True


@quiet
def add_(x, y):
    np.add(x, y, out=x)


def empty(shape, dtype):
    return np.empty(shape, dtype)


@quiet
def full(shape, value, dtype):
    return np.full(shape, number(value, np.dtype(dtype)), dtype)


def copy(x):
    return x.copy(order="C")


@quiet      # nan and inf become some integer, as in C
def cast(x, dtype):
    if x.dtype == dtype:
        return x
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    if x.dtype.kind == "O":         # integers of more than 64 bits, which bfloat16 does not convert
        x = x.astype(np.float64)
    return x.astype(dtype, order="C" if 0 in x.strides else "K")


def number(value, dtype):
    kind = dtype.kind
    if kind in "fV":        # V: bfloat16, which is not NumPy's own
        return float(value)
    if kind == "c":
        return complex(value)
    if kind == "b":
        return bool(value)
    value = int(value)
    if value.bit_length() > 64:
        raise too_long(value)
    span = 1 << 8 * dtype.itemsize
    value %= span
    return value - span if kind == "i" and value >= span >> 1 else value


def to_host(x):
    return x


def from_host(x, wait):
    return x


def copy_(x, y):
    if x.dtype != y.dtype:
        y = cast(y, x.dtype)
    x[...] = y


@quiet
def fill_(x, value):
    x[...] = number(value, x.dtype)


# ---- views -----------------------------------------------------------------------------------------------
# PyTorch keeps the strides and the offset of a view without elements; NumPy forgets both.


class ArrayInterface:
    """An object from which NumPy makes a view of `base`. (A slice without elements would forget its offset.)"""

    def __init__(self, base, interface):
        self.base, self.__array_interface__ = base, interface


def empty_view(x, shape, strides, start):
    """A view without elements that begins `start` bytes after `x` does. It may begin outside the memory of `x`."""
    interface = dict(x.__array_interface__)
    address_, readonly = interface["data"]
    seen = np.asarray(ArrayInterface(x, {**interface, "shape": tuple(shape), "strides": tuple(strides),
                                         "data": (address_ + start, readonly)}))
    return seen if seen.dtype == x.dtype else seen.view(x.dtype)       # the interface has no name for bfloat16


def steps_of(x):
    """The strides of `x` in bytes, also for a new array without elements, whose strides are 0 in NumPy."""
    if x.size or any(x.strides):
        return x.strides
    steps = [x.itemsize] * x.ndim
    for d in range(x.ndim - 2, -1, -1):
        steps[d] = steps[d + 1] * max(x.shape[d + 1], 1)
    return tuple(steps)


def view(x, shape):
    if not x.size:
        seen = x.reshape(shape)
        return empty_view(x, seen.shape, steps_of(x if seen.shape == x.shape else np.empty(shape, x.dtype)), 0)
    if x.flags.c_contiguous:
        return x.reshape(shape)
    return reshape_without_copy(x, shape)


if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
    def reshape_without_copy(x, shape):
        """A view of `x` with this shape, or None if only a copy can have it."""
        try:
            return x.reshape(shape, copy=False)
        except ValueError:
            return None
else:       # NumPy 2.0: `reshape` has no `copy`. Newer versions deprecate a write to `shape`.
    def reshape_without_copy(x, shape):
        """A view of `x` with this shape, or None if only a copy can have it."""
        seen = x.view()
        try:
            seen.shape = shape
        except AttributeError:
            return None
        return seen


def permute(x, dims):
    seen = x.transpose(dims)
    return seen if x.size else empty_view(x, seen.shape, [steps_of(x)[d] for d in dims], 0)


def transpose(x, dim0, dim1):
    if not x.ndim:
        return x.view()
    order = list(range(x.ndim))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(x, order)


def t(x):
    return permute(x, list(range(x.ndim))[::-1])


def expand(x, shape):
    lead = len(shape) - x.ndim
    if lead < 0 or min(shape, default=0) < 0 or any([n not in (1, target) for n, target in zip(x.shape, shape[lead:])]):
        raise ValueError(f"an array of shape {x.shape} cannot be expanded to {shape}")
    strides = (0,) * lead + tuple([stride if size == target else 0
                                   for stride, size, target in zip(steps_of(x), x.shape, shape[lead:])])
    return make_view(x, shape, strides)


def unsqueeze(x, dim):
    steps = steps_of(x)
    stride = x.shape[dim] * steps[dim] if dim < x.ndim else x.itemsize      # NumPy would give it the stride 0
    return make_view(x, (*x.shape[:dim], 1, *x.shape[dim:]), (*steps[:dim], stride, *steps[dim:]))


def make_view(x, shape, strides):
    """The view of `x` with this shape and these strides in bytes. It may have no elements."""
    return stride_tricks.as_strided(x, shape, strides) if x.size and 0 not in shape else empty_view(x, shape, strides, 0)


def select(x, dim, index):
    part = x[(slice_(None),) * dim + (index, ...)]
    if part.size:
        return part
    steps = steps_of(x)
    return empty_view(x, part.shape, (*steps[:dim], *steps[dim + 1:]), index * steps[dim])


def slice(x, dim, start, stop, step):
    part = x[(slice_(None),) * dim + (slice_(start, stop, step),)]
    if part.size:
        return part
    steps = steps_of(x)
    return empty_view(x, part.shape, (*steps[:dim], steps[dim] * (step or 1), *steps[dim + 1:]), (start or 0) * steps[dim])


def tril(x, diagonal):
    return np.tril(x, diagonal)


def triu(x, diagonal):
    return np.triu(x, diagonal)


def diagonal(x, offset, dim1, dim2):        # np.diagonal is read-only
    if not 0 <= dim1 < x.ndim > dim2 >= 0 or dim1 == dim2:
        raise ValueError(f"an array of shape {x.shape} has no diagonal along the dimensions {dim1} and {dim2}")
    down, right = max(-offset, 0), max(offset, 0)
    length = max(min(x.shape[dim1] - down, x.shape[dim2] - right), 0)
    first = slice(slice(x, dim1, down, None, 1), dim2, right, None, 1) if length else x
    others = [d for d in range(x.ndim) if d not in (dim1, dim2)]
    steps = steps_of(x)
    return make_view(first, (*[x.shape[d] for d in others], length), (*[steps[d] for d in others], steps[dim1] + steps[dim2]))


def real(x):
    return x.real


def imag(x):
    return x.imag


def view_as_real(x):
    if x.dtype.kind != "c":     # a tangent from elsewhere may be real
        raise not_complex(x.dtype)
    real = x.real
    return stride_tricks.as_strided(real, (*real.shape, 2), (*real.strides, real.itemsize))


def view_as_complex(x):
    return np.squeeze(x.view(np.result_type(x.dtype, np.complex64)), -1)


def resize(x, shape):
    memory = x
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    if memory.dtype != x.dtype or not memory.flags.c_contiguous:
        memory, start = x.reshape(-1), 0
    else:
        start = (x.__array_interface__["data"][0] - memory.__array_interface__["data"][0]) // x.itemsize
    memory = memory.reshape(-1)[start:]
    size = math.prod(shape)
    if memory.size < size:
        larger = np.zeros(size, x.dtype)
        larger[:memory.size] = memory
        memory = larger
    return memory[:size].reshape(shape)


def by_columns(x):
    return x.flags.f_contiguous and not x.flags.c_contiguous


def contiguous(x):
    return x.flags.c_contiguous


# ---- parts of a base, by their strides -------------------------------------------------------------------


def in_bytes(strides, x):
    """Strides in bytes, from strides in elements of `x`."""
    return tuple([s * x.itemsize for s in strides])


def span(shape, strides):
    """The number of elements from the first to the last of an array with this shape and these strides."""
    if 0 in shape:
        return 0
    return 1 + sum([(n - 1) * s for n, s in zip(shape, strides)])


def lay_out(x, strides):
    """(1-d memory that begins with the first element, the array on it): `x`, or a copy of it, with `strides` in elements."""
    check_strides(x.shape, strides)
    if same_order(x, in_bytes(strides, x), x.itemsize):
        return stride_tricks.as_strided(x, (span(x.shape, strides),), (x.itemsize,)), x
    return lay_out_copy(x, strides)


def lay_out_copy(x, strides):
    """`lay_out`, always with a copy."""
    check_strides(x.shape, strides)
    memory = np.zeros(span(x.shape, strides), x.dtype)
    copy = stride_tricks.as_strided(memory, x.shape, in_bytes(strides, x))
    copy[...] = x
    return memory, copy


def check_strides(shape, strides):
    """Raise if a size or a stride is negative, or their numbers differ: NumPy's `as_strided` checks nothing."""
    if len(shape) != len(strides) or min(strides, default=0) < 0 or min(shape, default=0) < 0:
        raise ValueError(f"strides {strides} do not fit the shape {shape}")


def part_of(memory, shape, strides, offset):
    """The view of 1-d `memory` with this shape, and strides and offset in elements. Raises if it is not inside."""
    check_strides(shape, strides)
    if 0 in shape:
        return empty_view(memory, shape, in_bytes(strides, memory), offset * memory.itemsize)
    if offset < 0 or offset + span(shape, strides) > memory.size:
        raise ValueError(f"shape {shape}, strides {strides} and offset {offset} go beyond {memory.size} elements")
    return stride_tricks.as_strided(memory[offset:], shape, in_bytes(strides, memory))


def geometry(x, base):
    start = address(x) - address(base)
    if x.size and (start < 0 or start + reach(x) > reach(base)):
        start = -x.itemsize
    return (tuple([s // x.itemsize for s in steps_of(base)]), x.shape, tuple([s // x.itemsize for s in steps_of(x)]),
            start // x.itemsize)


def address(x):
    """Address of the first element."""
    return x.__array_interface__["data"][0]


def reach(x):
    """The number of bytes from the first element to the end of the last."""
    return sum([(n - 1) * s for n, s in zip(x.shape, x.strides)], x.itemsize) if x.size else 0


def storage(x):
    owner = base = x
    while base is not None:         # between a strided view and its array NumPy puts another object
        owner = base if isinstance(base, np.ndarray) else owner
        base = getattr(base, "base", None)
    before = address(x) - address(owner)
    if dense(owner) and (not x.size or (before % x.itemsize == 0 and 0 <= before <= owner.nbytes - reach(x))):
        memory = stride_tricks.as_strided(owner, (owner.size,), (owner.itemsize,)).view(np.uint8)
        return memory[:memory.size // x.itemsize * x.itemsize].view(x.dtype)
    return stride_tricks.as_strided(x, (reach(x) // x.itemsize if x.size else 0,), (x.itemsize,))


def as_strided(x, base_strides, shape, strides, offset):
    return part_of(lay_out(x, base_strides)[0], shape, strides, offset)


def as_strided_scatter(x, y, base_strides, shape, strides, offset):
    memory, copy = lay_out_copy(x, base_strides)
    part_of(memory, shape, strides, offset)[...] = y
    return copy


def as_strided_add(y, base_shape, base_strides, shape, strides, offset):
    check_strides(base_shape, base_strides)
    memory = np.zeros(span(base_shape, base_strides), y.dtype)
    positions = part_of(np.arange(memory.size), shape, strides, offset)
    np.add.at(memory, positions.reshape(-1), np.broadcast_to(y, positions.shape).reshape(-1))    # 1-d: see joining.py
    return stride_tricks.as_strided(memory, base_shape, in_bytes(base_strides, memory))
