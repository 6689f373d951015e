"""Memory: who owns it, in what order it lies, and how to look at it differently.

The two rules of PyTorch for the layout of a gradient (torch/csrc/autograd/functions/accumulate_grad.h):
it has the strides of its tensor if that is dense, so that an optimiser walks both in step; otherwise it
is row-major.
"""

import math
from builtins import slice as slice_

import numpy as np
from numpy.lib import stride_tricks

from minigrad.kernels.numpy_ref.precision import quiet
from minigrad.kernels.refusals import not_complex, too_long

__all__ = ["accumulate", "add_", "as_strided", "as_strided_add", "as_strided_scatter", "by_columns", "cast", "contiguous",
           "copy", "copy_", "copy_with_layout", "diagonal", "empty", "expand", "fill_", "from_host", "full", "geometry", "imag",
           "number", "obeys_layout", "owns", "permute", "real", "resize", "select", "slice", "storage", "to_host", "transpose",
           "tril", "triu", "unsqueeze", "view", "view_as_complex", "view_as_real"]


def dense(x):
    """Whether the elements of `x` fill a block of memory without gaps or overlaps, in whatever order."""
    expected = x.itemsize
    for stride, size in sorted(zip(x.strides, x.shape)):
        if size == 0:
            return True
        if size > 1:
            if stride != expected:
                return False
            expected *= size
    return True


def owns(x):
    return x.base is None and x.flags.owndata and x.flags.writeable and dense(x)


def wanted_strides(x):
    """The strides that the gradient of `x` should have, for an array of x's itemsize."""
    if dense(x):
        return x.strides
    strides = [x.itemsize] * x.ndim
    for dim in range(x.ndim - 2, -1, -1):
        strides[dim] = strides[dim + 1] * max(x.shape[dim + 1], 1)
    return tuple(strides)


def same_order(g, strides, itemsize):
    """Whether `g` has `strides`, given for elements of `itemsize` bytes; a dimension of size 1 has none."""
    return all(size <= 1 or a * itemsize == b * g.itemsize for a, b, size in zip(g.strides, strides, g.shape))


def obeys_layout(g, x):
    return g.shape == x.shape and same_order(g, wanted_strides(x), x.itemsize)


def copy_with_layout(g, x):
    if g.shape != x.shape:
        return g.copy()
    order = sorted(range(x.ndim), key=lambda dim: -wanted_strides(x)[dim])
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


@quiet      # nan and inf have some integer value, as in C
def cast(x, dtype):
    if x.dtype == dtype:
        return x
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    return x.astype(dtype, order="C" if 0 in x.strides else "K")


def number(value, dtype):
    kind = dtype.kind
    if kind == "f":
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


# ---- views --------------------------------------------------------------------------------------------


# ---- views -----------------------------------------------------------------------------------------------
# Of no elements too PyTorch knows the strides and where they begin; NumPy forgets both.


class Placed:
    """What NumPy makes an array of `base` of: its own slices of no elements forget where they begin."""

    def __init__(self, base, interface):
        self.base, self.__array_interface__ = base, interface


def empty_view(x, shape, strides, start):
    """A view of no elements that begins `start` bytes after `x` does, which may be anywhere."""
    interface = dict(x.__array_interface__)
    address_, readonly = interface["data"]
    return np.asarray(Placed(x, {**interface, "shape": tuple(shape), "strides": tuple(strides),
                                 "data": (address_ + start, readonly)}))


def steps_of(x):
    """The strides of `x` in bytes. NumPy gives none to a new array of no elements."""
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
    try:
        return x.reshape(shape, copy=False)
    except ValueError:
        return None


def permute(x, dims):
    seen = x.transpose(dims)
    return seen if x.size else empty_view(x, seen.shape, [steps_of(x)[d] for d in dims], 0)


def transpose(x, dim0, dim1):
    if not x.ndim:
        return x.view()
    order = list(range(x.ndim))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(x, order)


def expand(x, shape):
    lead = len(shape) - x.ndim
    if lead < 0 or min(shape, default=0) < 0 or any([n not in (1, target) for n, target in zip(x.shape, shape[lead:])]):
        raise ValueError(f"an array of shape {x.shape} cannot be expanded to {shape}")
    strides = (0,) * lead + tuple([stride if size == target else 0
                                   for stride, size, target in zip(steps_of(x), x.shape, shape[lead:])])
    return placed(x, shape, strides)


def unsqueeze(x, dim):
    steps = steps_of(x)
    stride = x.shape[dim] * steps[dim] if dim < x.ndim else x.itemsize      # NumPy's own gives it the stride 0
    return placed(x, (*x.shape[:dim], 1, *x.shape[dim:]), (*steps[:dim], stride, *steps[dim:]))


def placed(x, shape, strides):
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


def diagonal(x, offset, dim1, dim2):        # NumPy's own is read-only
    if not 0 <= dim1 < x.ndim > dim2 >= 0 or dim1 == dim2:
        raise ValueError(f"no diagonal of the shape {x.shape} along the dimensions {dim1} and {dim2}")
    down, right = max(-offset, 0), max(offset, 0)
    length = max(min(x.shape[dim1] - down, x.shape[dim2] - right), 0)
    first = slice(slice(x, dim1, down, None, 1), dim2, right, None, 1) if length else x
    others = [d for d in range(x.ndim) if d not in (dim1, dim2)]
    steps = steps_of(x)
    return placed(first, (*[x.shape[d] for d in others], length), (*[steps[d] for d in others], steps[dim1] + steps[dim2]))


def real(x):
    return x.real


def imag(x):
    return x.imag


def view_as_real(x):
    if x.dtype.kind != "c":     # as a tangent may be that somebody else has made
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
    return tuple([s * x.itemsize for s in strides])


def span(shape, strides):
    """How many elements of memory a tensor of that shape and strides stretches over."""
    if 0 in shape:
        return 0
    return 1 + sum([(n - 1) * s for n, s in zip(shape, strides)])


def laid_out(x, strides):
    """(memory, x): `x` with `strides`, in elements, on 1-d memory that begins at its first element."""
    check_strides(x.shape, strides)
    if same_order(x, in_bytes(strides, x), x.itemsize):
        return stride_tricks.as_strided(x, (span(x.shape, strides),), (x.itemsize,)), x
    return copied(x, strides)


def copied(x, strides):
    """`laid_out`, always in new memory."""
    check_strides(x.shape, strides)
    memory = np.zeros(span(x.shape, strides), x.dtype)
    copy = stride_tricks.as_strided(memory, x.shape, in_bytes(strides, x))
    copy[...] = x
    return memory, copy


def check_strides(shape, strides):
    """Raise unless elements that are so far apart lie one after the other: NumPy's `as_strided` asks nothing."""
    if len(shape) != len(strides) or min(strides, default=0) < 0 or min(shape, default=0) < 0:
        raise ValueError(f"strides {strides} for the shape {shape}")


def part_of(memory, shape, strides, offset):
    check_strides(shape, strides)
    if 0 in shape:
        return empty_view(memory, shape, in_bytes(strides, memory), offset * memory.itemsize)
    if offset < 0 or offset + span(shape, strides) > memory.size:
        raise ValueError(f"no part of {memory.size} elements has the shape {shape}, strides {strides} and offset {offset}")
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
    """How many bytes it is from the first element to the end of the last."""
    return sum([(n - 1) * s for n, s in zip(x.shape, x.strides)], x.itemsize) if x.size else 0


def storage(x):
    owner = base = x
    while base is not None:         # NumPy's own strided views hold their array by an object in between
        owner = base if isinstance(base, np.ndarray) else owner
        base = getattr(base, "base", None)
    before = address(x) - address(owner)
    if dense(owner) and (not x.size or (before % x.itemsize == 0 and 0 <= before <= owner.nbytes - reach(x))):
        memory = stride_tricks.as_strided(owner, (owner.size,), (owner.itemsize,)).view(np.uint8)
        return memory[:memory.size // x.itemsize * x.itemsize].view(x.dtype)
    return stride_tricks.as_strided(x, (reach(x) // x.itemsize if x.size else 0,), (x.itemsize,))


def as_strided(x, base_strides, shape, strides, offset):
    return part_of(laid_out(x, base_strides)[0], shape, strides, offset)


def as_strided_scatter(x, y, base_strides, shape, strides, offset):
    memory, copy = copied(x, base_strides)
    part_of(memory, shape, strides, offset)[...] = y
    return copy


def as_strided_add(y, base_shape, base_strides, shape, strides, offset):
    check_strides(base_shape, base_strides)
    memory = np.zeros(span(base_shape, base_strides), y.dtype)
    positions = part_of(np.arange(memory.size), shape, strides, offset)
    np.add.at(memory, positions.reshape(-1), np.broadcast_to(y, positions.shape).reshape(-1))    # of one dimension: see joining.py
    return stride_tricks.as_strided(memory, base_shape, in_bytes(base_strides, memory))
