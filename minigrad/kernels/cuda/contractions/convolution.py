"""Convolutions over 1, 2 or 3 dimensions: contractions over windows, without a copy of the windows.

    windows     of x (N, C, H, W): an array P (N, C, OH, OW, KH, KW), which is a view of x with other strides
    forward     z[o; n, oy, ox]   = Σ w[o; c, i, j] P[c, i, j; n, oy, ox]           see contraction.py: rows; inner; columns
    weight      w'[o; c, i, j]    = Σ g[o; n, oy, ox] P[n, oy, ox; c, i, j]
    input       x'[c; n, y, x]    = Σ w[c; o, -i, -j] Q[o, i, j; n, y, x] for stride 1, where Q are the windows of g, padded with 0
                P'[c, i, j; n, oy, ox] = Σ w[c, i, j; o] g[o; n, oy, ox] for other strides; then P' is added to x' at its windows

    idea        a convolution is a matrix product with offsets into x instead of a matrix: im2col without columns. With padding, x
                is copied first, with zeros around it, so that the tiles need no tests of bounds
    bytes       as a matrix product reads; each number of x is read KH KW times, mostly from the cache
    operations  2 N OH OW O C KH KW / groups, in each of the three
    so          arithmetic limits all three. If there are few channels, the columns P' of `conv_input` limit it
    measured    24 TFLOP/s of float32 on an H100 for 3 x 3 windows of 64 channels; both gradients 9, measured before the gradient
                of the input had its formula for stride 1

Note [Adding windows without atomics]
    Where windows overlap, several numbers of P' belong to one number of x'. A thread for each number of x' finds them, and adds
    them in a fixed order: no thread waits for another, and the result is always the same. If windows do not overlap (the
    patches of a vision transformer, a convolution of size 1), the contraction writes its result directly to x'.

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
from minigrad.kernels.cuda.elementwise.elementwise import device_function, new_full, row_major_strides, width
from minigrad.kernels.cuda.elementwise.quad_kernels import FEW, make_division, unsigned
from minigrad.kernels.cuda.runtime.launch import launch_each
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.runtime.streams import SIMULATED
from minigrad.kernels.cuda.shape.layout import copy, row_major
from minigrad.kernels.numpy_ref import convolution as reference
from minigrad.kernels.resampling import window_count

__all__ = ["col2im", "conv", "conv_input", "conv_weight", "im2col"]

MANY = 64 if SIMULATED else 1 << 20     # numbers of a gradient from which on the weights are copied into the order of reading
MOST_COLUMNS = 1 << 25      # numbers of P' that `conv_input` keeps: twice as many as fit in the cache of a large GPU


# ---- windows ----------------------------------------------------------------------------------------------


def interior(padding):
    """The index of a padded array that removes the padding."""
    return (..., *[slice(p, -p or None) for p in padding])


@cache
def pad_kernel(few):
    """The kernel that copies planes with zeros around them. If `few`, there are less than 2^32 numbers: 32-bit divisions."""
    divided = make_division(few)

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


def pad(x, padding, whole=None):
    """Return `x` with zeros around its last dimensions; `x` itself, if there are none to add.

    Args:
        x: the array.
        padding: for each of the last dimensions, how many zeros are before it.
        whole: the sizes with zeros. By default there are as many zeros behind as before.
    """
    n = len(padding)
    whole = tuple([s + 2 * p for s, p in zip(x.shape[-n:], padding)]) if whole is None else whole
    if whole == x.shape[-n:]:
        return x
    z, x = empty_array((*x.shape[:-n], *whole), x.dtype, x.device), row_major(x)
    sizes = to_three(whole, 1), to_three(x.shape[-n:], 1), to_three(padding, 0)
    launch_each(pad_kernel(z.size < FEW), z.size, z.device, z.size, *sizes, z.block.of(z.dtype), z.start,
                x.block.of(x.dtype), x.start)
    return z


def to_three(numbers, fill):
    """Return one to three numbers as a tuple of three, with `fill` in front: the kernels have three dimensions."""
    return (*[fill] * (3 - len(numbers)), *[int(number) for number in numbers])


def windows(x, size, stride, dilation):
    """Return the view (..., OH, OW, KH, KW) of x (..., H, W)."""
    if not x.flags.c_contiguous:
        return x.make_view(reference.windows(x.layout, size, stride, (0,) * len(size), dilation))
    return x.make_view(CPU.as_strided(x.layout, *window_strides(x.shape, size, stride, dilation), 0))


@lru_cache(4096)
def window_strides(shape, size, stride, dilation):
    """For a row-major array of this shape: (its strides in elements, the shape of its windows, their strides)."""
    n, steps = len(size), row_major_strides(shape)
    count = [window_count(*each) for each in zip(shape[-n:], size, stride, (0,) * n, dilation)]
    return steps, (*shape[:-n], *count, *size), (*steps[:-n], *[a * b for a, b in zip(steps[-n:], stride)],
                                                 *[a * b for a, b in zip(steps[-n:], dilation)])


def rearrange(x, split, dims):
    """Return the view of `x` in the shape `split`, which divides dimensions, with its dimensions in the order `dims`."""
    return CudaArray(x.block, x.layout.reshape(split).transpose(dims))


def dims_from(first, n):
    """The n dimensions from `first` on."""
    return tuple(range(first, first + n))


def group_shape(x, groups):
    """The shape (N, groups, C / groups, ...) of x (N, C, ...)."""
    return (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])


# ---- the three contractions -------------------------------------------------------------------------------------


def correlate(name, x, w, stride, dilation):
    """z[o; n, oy, ox] = Σ w[o; c, i, j] P[c, i, j; n, oy, ox] in each group, for weights (groups, O, C, KH, KW)."""
    n, groups = len(stride), w.shape[0]
    patches = windows(x, w.shape[3:], stride, dilation)
    z = empty_array((x.shape[0], groups * w.shape[1], *patches.shape[2:2 + n]), x.dtype, x.device)
    contract(name, rearrange(z, group_shape(z, groups), (1, 2, 0, *dims_from(3, n))), w,
             rearrange(patches, group_shape(patches, groups), (1, 2, *dims_from(3 + n, n), 0, *dims_from(3, n))), 1, 1 + n)
    return z


def conv(x, w, stride, padding, dilation, groups):
    by_group = rearrange(w, (groups, w.shape[0] // groups, *w.shape[1:]), dims_from(0, w.ndim + 1))
    return correlate("conv", pad(x, padding), by_group, stride, dilation)


def conv_weight(g, x, w_shape, stride, padding, dilation, groups):
    n = len(stride)
    patches = windows(pad(x, padding), w_shape[2:], stride, dilation)
    patches = patches.make_view(patches.layout[(slice(None), slice(None), *[slice(c) for c in g.shape[2:]])])     # g may have fewer
    z = empty_array(w_shape, x.dtype, x.device)
    by_group = (groups, w_shape[0] // groups, *w_shape[1:])
    contract("conv_weight", rearrange(z, by_group, dims_from(0, 3 + n)),
             rearrange(g, group_shape(g, groups), (1, 2, 0, *dims_from(3, n))),
             rearrange(patches, group_shape(patches, groups), (1, 0, *dims_from(3, n), 2, *dims_from(3 + n, n))), 1, 1 + n)
    return z


def conv_input(g, w, x_shape, stride, padding, dilation, groups):
    n, size, count = len(stride), w.shape[2:], g.shape[2:]
    reach = [d * (k - 1) for d, k in zip(dilation, size)]
    rim = tuple([r - p for r, p in zip(reach, padding)])
    if all(s == 1 for s in stride) and min(rim) >= 0:
        return correlate_flipped(pad(g, rim, tuple([s + r for s, r in zip(x_shape[2:], reach)])), w, dilation, groups)
    if all(s > d * (k - 1) or c == 1 for s, d, k, c in zip(stride, dilation, size, count)):
        shape = (*x_shape[:2], *[length + 2 * p for length, p in zip(x_shape[2:], padding)])
        every = all(s == k and (d == 1 or k == 1) and c * s == length
                    for s, k, d, c, length in zip(stride, size, dilation, count, shape[2:]))    # whether windows cover all of x
        whole = empty_array(shape, g.dtype, g.device) if every else new_full(shape, 0, g.dtype, g.device)
        patches = windows(whole, size, stride, dilation)
        patches = patches.make_view(patches.layout[(slice(None), slice(None), *[slice(c) for c in count])])
        compute_columns(patches, g, w, groups)
        return copy(whole.make_view(whole.layout[interior(padding)])) if any(padding) else whole
    z = empty_array(x_shape, g.dtype, g.device)
    per_image = x_shape[1] * prod(size) * prod(count)
    images = max(MOST_COLUMNS // max(per_image, 1), 1)
    for first in range(0, x_shape[0], images):
        some = slice(first, min(first + images, x_shape[0]))
        columns = empty_array((some.stop - first, x_shape[1], *size, *count), sum_dtype("conv_input", g.dtype), g.device)
        compute_columns(columns.make_view(columns.layout.transpose(0, 1, *dims_from(2 + n, n), *dims_from(2, n))),
                        g.make_view(g.layout[some]), w, groups)
        add_windows(z.make_view(z.layout[some]), columns, size, count, stride, padding, dilation)
    return z


def correlate_flipped(g, w, dilation, groups):
    """`conv_input` for stride 1: a convolution of g, padded with zeros, with w flipped.

    The zeros are multiplied too, as the padding of x is in the forward. So an infinite weight gives nan at the border.
    """
    n = w.ndim - 2
    w = w.make_view(w.layout[(..., *[slice(None, None, -1)] * n)])
    w = rearrange(w, (groups, w.shape[0] // groups, *w.shape[1:]), (0, 2, 1, *dims_from(3, n)))
    return correlate("conv_input", g, copy(w) if g.size >= MANY else w, (1,) * n, dilation)


def compute_columns(patches, g, w, groups):
    """Compute P', of shape (N, C, OH, OW, KH, KW), for `conv_input`."""
    n = g.ndim - 2
    contract("conv_input", rearrange(patches, group_shape(patches, groups), (1, 2, *dims_from(3 + n, n), 0, *dims_from(3, n))),
             rearrange(w, (groups, w.shape[0] // groups, *w.shape[1:]), (0, 2, *dims_from(3, n), 1)),
             rearrange(g, group_shape(g, groups), (1, 2, 0, *dims_from(3, n))), 1 + n, 1 + n)


# ---- columns ---------------------------------------------------------------------------------------------------


def im2col(x, size, stride, padding, dilation):
    n, lead, channels = len(size), x.shape[:-len(size) - 1], x.shape[-len(size) - 1]
    patches = windows(pad(x, padding), size, stride, dilation)
    first = len(lead) + 1
    z = copy(patches.make_view(patches.layout.transpose(*range(first), *dims_from(first + n, n), *dims_from(first, n))))
    return z.make_view(z.layout.reshape(*lead, channels * prod(size), prod(patches.shape[first:first + n])))


def col2im(x, shape, size, stride, padding, dilation):
    count = [window_count(*each) for each in zip(shape[-len(size):], size, stride, padding, dilation)]
    if x.shape[-2:] != (shape[-len(size) - 1] * prod(size), prod(count)):
        raise ValueError(f"col2im: columns of shape {x.shape[-2:]} do not come from windows of {tuple(shape)}")
    z = empty_array(shape, x.dtype, x.device)
    add_windows(z, row_major(x), size, count, stride, padding, dilation)
    return z


@lru_cache(None, typed=True)        # zeros of two dtypes are equal, and their kernels are not
def add_windows_kernel(number, zero, few):
    """The kernel that adds windows. `number` converts a number before it is added to `zero`; `few` is as in `pad_kernel`."""
    divided = make_division(few)

    @device_function
    def window_of(a, stride, count):
        """The index of the window that begins at `a`, or -1."""
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
    """Set z to the sum of the row-major `columns` (..., KH, KW, OH, OW). See Note [Adding windows without atomics]."""
    wide = sum_dtype("col2im", z.dtype)
    n = len(size)
    kernel = add_windows_kernel(width(columns.dtype), wide.type(0), max(z.size, columns.size) < FEW)
    sizes = [to_three(numbers, fill) for numbers, fill in ((z.shape[-n:], 1), (size, 1), (count, 1), (stride, 1), (padding, 0),
                                                           (dilation, 1))]
    launch_each(kernel, z.size, z.device, z.size, *sizes, z.block.of(z.dtype), z.start, columns.block.of(columns.dtype),
                columns.start)
