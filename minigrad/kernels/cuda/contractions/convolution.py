"""Convolutions over 1, 2 or 3 dimensions: contractions over windows that are never written down.

    windows     of x (N, C, H, W): an array P (N, C, OH, OW, KH, KW), each number of which lies in x at some stride: a view
    forward     z[o; n, oy, ox]   = Σ w[o; c, i, j] P[c, i, j; n, oy, ox]           see contraction.py: rows; inner; columns
    weight      w'[o; c, i, j]    = Σ g[o; n, oy, ox] P[n, oy, ox; c, i, j]
    input       x'[c; n, y, x]    = Σ w[c; o, -i, -j] Q[o, i, j; n, y, x] for stride 1, Q being the windows of g with zeros around
                P'[c, i, j; n, oy, ox] = Σ w[c, i, j; o] g[o; n, oy, ox] for others; these are added where their windows lie in x

    idea        the product of matrices that a convolution is, with offsets into x instead of a matrix: im2col without columns.
                With padding x is copied first, zeros around it, which spares the tiles all bounds
    bytes       as a matrix product reads; each number of x comes KH KW times, mostly from the cache
    operations  2 N OH OW O C KH KW / groups, in each of the three
    so          arithmetic limits all three, but for few channels, where the columns of `conv_input` do
    measured    24 TFLOP/s of float32 on an H100 for 3 x 3 windows of 64 channels; both gradients 9, when that of the input took
                windows with stride 1 for any others

Note [Adding windows without atomics]
    Where windows overlap, several numbers of P' belong to one of x. A thread for each number of x looks for those that do and adds
    them in a fixed order: nobody waits for anybody, and the result is always the same. Where they do not overlap (the patches of
    a vision transformer, a convolution of size 1), the contraction writes its result to where it belongs at once.

Mirrors ``aten/src/ATen/native/cuda/ConvolutionMM2d.cu`` and ``im2col.cuh``. After S. Chetlur et al., "cuDNN: Efficient Primitives
for Deep Learning", 2014, section 3.2, whose kernels form the tiles of the column matrix in shared memory.
Read next: ``pooling.py``.
"""

from functools import cache, lru_cache
from math import prod

from numba import cuda

from minigrad.kernels import CPU
from minigrad.kernels.cuda.array import CudaArray
from minigrad.kernels.cuda.contractions.contraction import contract, sum_dtype
from minigrad.kernels.cuda.elementwise.elementwise import compiled, filled, row_major_strides, width
from minigrad.kernels.cuda.elementwise.quad_kernels import FEW, division, unsigned
from minigrad.kernels.cuda.runtime.launch import launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.runtime.streams import SIMULATED
from minigrad.kernels.cuda.shape.layout import copy, row_major
from minigrad.kernels.numpy_ref import convolution as reference
from minigrad.kernels.resampling import window_count

__all__ = ["col2im", "conv", "conv_input", "conv_weight", "im2col"]

MANY = 64 if SIMULATED else 1 << 20     # numbers of a gradient for which weights are copied into the order that they are read in
MOST_COLUMNS = 1 << 25      # numbers of P' that `conv_input` has at a time: twice as much as the cache of a large GPU holds


# ---- windows ----------------------------------------------------------------------------------------------


def around(padding):
    """The part of a padded array that is no padding."""
    return (..., *[slice(p, -p or None) for p in padding])


@cache
def surrounding(few):
    """The kernel that copies planes with zeros around them; `few` numbers are less than 2^32, whose places take short divisions."""
    divided = division(few)

    @cuda.jit
    def kernel(n, shape, inside, padding, z, z0, x, x0):
        i, step = cuda.grid(1), cuda.gridsize(1)
        while i < n:
            rest = divided(i, shape[2])
            across = i - rest * shape[2] - padding[2]
            lead = divided(rest, shape[1])
            down = rest - lead * shape[1] - padding[1]
            plane = divided(lead, shape[0])
            deep = lead - plane * shape[0] - padding[0]
            if 0 <= across < inside[2] and 0 <= down < inside[1] and 0 <= deep < inside[0]:
                z[z0 + i] = x[unsigned(x0 + ((plane * inside[0] + deep) * inside[1] + down) * inside[2] + across)]
            else:
                z[z0 + i] = 0
            i += step
    return kernel


def padded(x, padding, whole=None):
    """`x` with zeros around its last dimensions, before which there are `padding`; itself, if there are none.

    Args:
        whole: the sizes with zeros; if not given, there are as many behind.
    """
    n = len(padding)
    whole = tuple([s + 2 * p for s, p in zip(x.shape[-n:], padding)]) if whole is None else whole
    if whole == x.shape[-n:]:
        return x
    z, x = empty_array((*x.shape[:-n], *whole), x.dtype, x.device), row_major(x)
    launch_each(surrounding(z.size < FEW), z.size, z.device, z.size, three(whole, 1), three(x.shape[-n:], 1), three(padding, 0),
                z.block.of(z.dtype), z.start, x.block.of(x.dtype), x.start)
    return z


def three(numbers, fill):
    """What a kernel for three dimensions is told of at most so many."""
    return (*[fill] * (3 - len(numbers)), *[int(number) for number in numbers])


def windows(x, size, stride, dilation):
    """The view (..., OH, OW, KH, KW) of x (..., H, W)."""
    if not x.flags.c_contiguous:
        return x.seen_as(reference.windows(x.layout, size, stride, (0,) * len(size), dilation))
    return x.seen_as(CPU.as_strided(x.layout, *walk(x.shape, size, stride, dilation), 0))


@lru_cache(4096)
def walk(shape, size, stride, dilation):
    """The strides of a row-major array of this shape, in elements; shape and strides of its windows."""
    n, steps = len(size), row_major_strides(shape)
    count = [window_count(*each) for each in zip(shape[-n:], size, stride, (0,) * n, dilation)]
    return steps, (*shape[:-n], *count, *size), (*steps[:-n], *[a * b for a, b in zip(steps[-n:], stride)],
                                                 *[a * b for a, b in zip(steps[-n:], dilation)])


def arranged(x, split, dims):
    """The view of `x` in the shape `split`, which divides dimensions, with these reordered."""
    return CudaArray(x.block, x.layout.reshape(split).transpose(dims))


def numbered(first, n):
    return tuple(range(first, first + n))


def grouped(x, groups):
    """(N, C, ...) -> (N, groups, C / groups, ...): the shape."""
    return (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])


# ---- the three contractions -------------------------------------------------------------------------------------


def correlated(name, x, w, stride, dilation):
    """z[o; n, oy, ox] = Σ w[o; c, i, j] P[c, i, j; n, oy, ox] in each group, for weights (groups, O, C, KH, KW)."""
    n, groups = len(stride), w.shape[0]
    patches = windows(x, w.shape[3:], stride, dilation)
    z = empty_array((x.shape[0], groups * w.shape[1], *patches.shape[2:2 + n]), x.dtype, x.device)
    contract(name, arranged(z, grouped(z, groups), (1, 2, 0, *numbered(3, n))), w,
             arranged(patches, grouped(patches, groups), (1, 2, *numbered(3 + n, n), 0, *numbered(3, n))), 1, 1 + n)
    return z


def conv(x, w, stride, padding, dilation, groups):
    by_group = arranged(w, (groups, w.shape[0] // groups, *w.shape[1:]), numbered(0, w.ndim + 1))
    return correlated("conv", padded(x, padding), by_group, stride, dilation)


def conv_weight(g, x, w_shape, stride, padding, dilation, groups):
    n = len(stride)
    patches = windows(padded(x, padding), w_shape[2:], stride, dilation)
    patches = patches.seen_as(patches.layout[(slice(None), slice(None), *[slice(c) for c in g.shape[2:]])])     # g may have fewer
    z = empty_array(w_shape, x.dtype, x.device)
    by_group = (groups, w_shape[0] // groups, *w_shape[1:])
    contract("conv_weight", arranged(z, by_group, numbered(0, 3 + n)),
             arranged(g, grouped(g, groups), (1, 2, 0, *numbered(3, n))),
             arranged(patches, grouped(patches, groups), (1, 0, *numbered(3, n), 2, *numbered(3 + n, n))), 1, 1 + n)
    return z


def conv_input(g, w, x_shape, stride, padding, dilation, groups):
    n, size, count = len(stride), w.shape[2:], g.shape[2:]
    reach = [d * (k - 1) for d, k in zip(dilation, size)]
    rim = tuple([r - p for r, p in zip(reach, padding)])
    if all(s == 1 for s in stride) and min(rim) >= 0:
        return turned_round(padded(g, rim, tuple([s + r for s, r in zip(x_shape[2:], reach)])), w, dilation, groups)
    if all(s > d * (k - 1) or c == 1 for s, d, k, c in zip(stride, dilation, size, count)):
        shape = (*x_shape[:2], *[length + 2 * p for length, p in zip(x_shape[2:], padding)])
        every = all(s == k and (d == 1 or k == 1) and c * s == length
                    for s, k, d, c, length in zip(stride, size, dilation, count, shape[2:]))    # whether all of x is in a window
        whole = empty_array(shape, g.dtype, g.device) if every else filled(shape, 0, g.dtype, g.device)
        patches = windows(whole, size, stride, dilation)
        patches = patches.seen_as(patches.layout[(slice(None), slice(None), *[slice(c) for c in count])])
        columns_of(patches, g, w, groups)
        return copy(whole.seen_as(whole.layout[around(padding)])) if any(padding) else whole
    z = empty_array(x_shape, g.dtype, g.device)
    per_image = x_shape[1] * prod(size) * prod(count)
    images = max(MOST_COLUMNS // max(per_image, 1), 1)
    for first in range(0, x_shape[0], images):
        some = slice(first, min(first + images, x_shape[0]))
        columns = empty_array((some.stop - first, x_shape[1], *size, *count), sum_dtype("conv_input", g.dtype), g.device)
        columns_of(columns.seen_as(columns.layout.transpose(0, 1, *numbered(2 + n, n), *numbered(2, n))),
                   g.seen_as(g.layout[some]), w, groups)
        add_windows(z.seen_as(z.layout[some]), columns, size, count, stride, padding, dilation)
    return z


def turned_round(g, w, dilation, groups):
    """`conv_input` for stride 1: a convolution of g, which has zeros around it, with w turned round.

    They are multiplied too, as those around x are forward: where a weight is infinite, there is nan at the border.
    """
    n = w.ndim - 2
    w = w.seen_as(w.layout[(..., *[slice(None, None, -1)] * n)])
    w = arranged(w, (groups, w.shape[0] // groups, *w.shape[1:]), (0, 2, 1, *numbered(3, n)))
    return correlated("conv_input", g, copy(w) if g.size >= MANY else w, (1,) * n, dilation)


def columns_of(patches, g, w, groups):
    """Compute P' (N, C, OH, OW, KH, KW) for `conv_input`."""
    n = g.ndim - 2
    contract("conv_input", arranged(patches, grouped(patches, groups), (1, 2, *numbered(3 + n, n), 0, *numbered(3, n))),
             arranged(w, (groups, w.shape[0] // groups, *w.shape[1:]), (0, 2, *numbered(3, n), 1)),
             arranged(g, grouped(g, groups), (1, 2, 0, *numbered(3, n))), 1 + n, 1 + n)


# ---- columns ---------------------------------------------------------------------------------------------------


def im2col(x, size, stride, padding, dilation):
    n, lead, channels = len(size), x.shape[:-len(size) - 1], x.shape[-len(size) - 1]
    patches = windows(padded(x, padding), size, stride, dilation)
    first = len(lead) + 1
    z = copy(patches.seen_as(patches.layout.transpose(*range(first), *numbered(first + n, n), *numbered(first, n))))
    return z.seen_as(z.layout.reshape(*lead, channels * prod(size), prod(patches.shape[first:first + n])))


def col2im(x, shape, size, stride, padding, dilation):
    count = [window_count(*each) for each in zip(shape[-len(size):], size, stride, padding, dilation)]
    if x.shape[-2:] != (shape[-len(size) - 1] * prod(size), prod(count)):
        raise ValueError(f"col2im: columns of shape {x.shape[-2:]} do not come from windows of {tuple(shape)}")
    z = empty_array(shape, x.dtype, x.device)
    add_windows(z, row_major(x), size, count, stride, padding, dilation)
    return z


@lru_cache(None, typed=True)        # zeros of two dtypes are equal, and their kernels are not
def gathering(number, zero, few):
    """The kernel that adds windows; `number` is what a number is made before it is added to `zero`. `few` as for `surrounding`."""
    divided = division(few)

    @compiled
    def window_of(a, stride, count):
        """Which window begins at `a`, and -1 if none does."""
        found = divided(a, stride) if a >= 0 else -1
        return found if found * stride == a and found < count else -1

    @cuda.jit
    def kernel(n, shape, size, count, stride, padding, dilation, z, z0, x, x0):
        at, grid = cuda.grid(1), cuda.gridsize(1)
        while at < n:
            rest = divided(at, shape[2])
            lead = divided(rest, shape[1])
            plane = divided(lead, shape[0])
            across, down = at - rest * shape[2] + padding[2], rest - lead * shape[1] + padding[1]
            deep = lead - plane * shape[0] + padding[0]
            total = zero
            for i in range(size[0]):
                a = window_of(deep - i * dilation[0], stride[0], count[0])
                if a >= 0:
                    for j in range(size[1]):
                        b = window_of(down - j * dilation[1], stride[1], count[1])
                        if b >= 0:
                            row = ((plane * size[0] + i) * size[1] + j) * size[2]
                            for k in range(size[2]):
                                c = window_of(across - k * dilation[2], stride[2], count[2])
                                if c >= 0:
                                    column = (a * count[1] + b) * count[2] + c
                                    total += number(x[unsigned(x0 + (row + k) * (count[0] * count[1] * count[2]) + column)])
            z[z0 + at] = total
            at += grid
    return kernel


def add_windows(z, columns, size, count, stride, padding, dilation):
    """z = zeros with the row-major `columns` (..., KH, KW, OH, OW) added. See Note [Adding windows without atomics]."""
    wide = sum_dtype("col2im", z.dtype)
    n = len(size)
    kernel = gathering(width(columns.dtype), wide.type(0), max(z.size, columns.size) < FEW)
    launch_each(kernel, z.size, z.device, z.size, three(z.shape[-n:], 1), three(size, 1), three(count, 1), three(stride, 1),
                three(padding, 0), three(dilation, 1), z.block.of(z.dtype), z.start, columns.block.of(columns.dtype), columns.start)
