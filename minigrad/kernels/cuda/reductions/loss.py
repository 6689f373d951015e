"""The negative log likelihood of the target classes, its gradient, and the search for classes that do not exist.

    x (N, C)            target      loss                        gradient of the sum
    -0.1  -2.4  -4.0    0           0.1                         -1   0   0
    -3.0  -0.2  -1.8    2           1.8                          0   0  -1
    -1.1  -1.1  -1.1    ignored     0                            0   0   0

    idea        a thread for each target reads one number of its row. Each block adds its losses and weights, and then one block
                adds the sums of all blocks
    bytes       forward 8 for the target and 4 for the number, though memory delivers 32 at a time; backward writes N C zeros first
    operations  one product per target
    so          forward takes little time beside the softmax before it; backward takes as long as to fill the gradient with zeros
    measured    cross entropy with its log_softmax 31 to 34% of the speed of a copy on an H100, counted as one read of x

A class is used as an index, so the program must know before whether all classes exist: `class_outside` waits for the GPU. PyTorch
asserts inside its kernel instead. That needs no wait, but if the assertion fails, the process cannot use the GPU any more. The
search comes before the softmax: it waits for the work that is queued already, and while the GPU computes the softmax, the CPU
queues the rest.

A program may write to the targets between the search and their use. So both kernels test each class again. For a class that does
not exist, the loss and a number in its row of the gradient are nan. Nothing outside an array is read or written, and nobody waits.

Mirrors ``aten/src/ATen/native/cuda/Loss.cu`` and ``NLLLoss2d.cu``.
"""

from functools import cache

import numpy as np
from numba import cuda, from_dtype

from minigrad.kernels.cuda.elementwise.elementwise import collapse, element_strides, new_full, offset
from minigrad.kernels.cuda.reductions.lanes import ENOUGH, pieces, planes, tree
from minigrad.kernels.cuda.reductions.reduction import wide_of
from minigrad.kernels.cuda.runtime.launch import THREADS, launch, launch_each, pointers
from minigrad.kernels.cuda.runtime.memory import empty_array
from minigrad.kernels.cuda.runtime.missing import missing
from minigrad.kernels.cuda.shape.layout import to_host

__all__ = ["class_outside", "nll_loss", "nll_loss_backward"]

INT64 = np.dtype(np.int64)


def add_pairs(a, b):
    return a[0] + b[0], a[1] + b[1]


@cuda.jit
def find_outside(size, classes, ignored, shape, target, t0, t_steps, found):
    """Set found[0] to the index of the first target that is not a class. Atomics run only for such targets."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        c = target[t0 + offset(i, shape, t_steps)]
        if c != ignored and (c < 0 or c >= classes):
            cuda.atomic.min(found, 0, i)


@cache
def loss_kernel(wide, real, weighted, each):
    """The kernel of the losses: it writes the sums of the losses and weights of each block and, if `each`, every loss."""
    none, one, nan, room_size, number = real(0), real(1), real(np.nan), 2 * THREADS, from_dtype(np.dtype(real))
    _, put = planes(2)
    join_lanes = tree(add_pairs, 2, real)

    @cuda.jit
    def kernel(size, classes, ignored, shape, target, t0, t_steps, x, x0, x_steps, x_step, w, w0, w_step, losses, partial):
        room = cuda.shared.array(room_size, number)
        all_losses, all_weights = none, none
        for i in range(cuda.grid(1), size, cuda.gridsize(1)):
            c = target[t0 + offset(i, shape, t_steps)]
            weight, loss = none, none
            if c != ignored and (c < 0 or c >= classes):
                weight, loss = nan, nan
            elif c != ignored:
                weight = wide(w[w0 + c * w_step]) if weighted else one      # without weights `w` is not used
                if weight != none:                  # if the weight is 0, the loss is 0, even if x is infinite
                    loss = -wide(x[x0 + offset(i, shape, x_steps) + c * x_step]) * weight
            if each:
                losses[i] = loss
            all_losses += loss
            all_weights += weight
        a = join_lanes(room, cuda.threadIdx.x, cuda.threadIdx.x, THREADS, 1, (all_losses, all_weights))
        if cuda.threadIdx.x == 0:
            put(partial, cuda.blockIdx.x, cuda.gridDim.x, a)
    return kernel


@cache
def total_kernel(real, reduction):
    """The kernel of one block that adds the sums of `loss_kernel`: the loss (divided by the weight for "mean"), and the weight."""
    none, room_size, number = real(0), 2 * THREADS, from_dtype(np.dtype(real))
    get, _ = planes(2)
    join_lanes = tree(add_pairs, 2, real)
    summed, mean = reduction != "none", reduction == "mean"

    @cuda.jit
    def kernel(blocks, partial, loss, total):
        room = cuda.shared.array(room_size, number)
        a = none, none
        for i in range(cuda.threadIdx.x, blocks, THREADS):
            b = get(partial, i, blocks)
            a = a[0] + b[0], a[1] + b[1]
        a = join_lanes(room, cuda.threadIdx.x, cuda.threadIdx.x, THREADS, 1, a)
        if cuda.threadIdx.x == 0:
            if summed:
                loss[0] = a[0] / a[1] if mean else a[0]
            total[0] = a[1]
    return kernel


@cache
def gradient_kernel(wide, real, weighted, mean):
    """The kernel of the gradient: -weight g at the class of each target, for the mean divided by the total weight."""
    one, nan = real(1), real(np.nan)

    @cuda.jit
    def kernel(size, classes, ignored, shape, target, t0, t_steps, g, g0, g_steps, w, w0, w_step, total, total0, z, z_steps,
               z_step):
        for i in range(cuda.grid(1), size, cuda.gridsize(1)):
            c = target[t0 + offset(i, shape, t_steps)]
            if c != ignored and (c < 0 or c >= classes):
                if classes > 0:
                    z[offset(i, shape, z_steps)] = nan
            elif c != ignored:
                share = -(wide(w[w0 + c * w_step]) if weighted else one) * wide(g[g0 + offset(i, shape, g_steps)])
                if mean:
                    share = share / wide(total[total0])
                z[offset(i, shape, z_steps) + c * z_step] = share
    return kernel


def weight_pointers(x, weight):
    """The arguments of a kernel for the weights: block, first element, stride. Without weights, x stands in for them."""
    return (*pointers(x), 0) if weight is None else (*pointers(weight), weight.strides[0] // weight.itemsize)


def class_strides(x):
    """(strides of x without dimension 1, stride of dimension 1), in elements."""
    steps = [s // x.itemsize for s in x.strides]
    return [*steps[:1], *steps[2:]], steps[1]


def class_outside(target, n, ignore_index):
    if not target.size:
        return None
    found = new_full((1,), target.size, INT64, target.device)
    shape, steps = collapse(target.shape, element_strides(target, target.shape))
    launch_each(find_outside, target.size, target.device, target.size, n, ignore_index, shape, *pointers(target), steps,
                found.block.of(INT64))
    at = int(to_host(found)[0])
    if at == target.size:
        return None
    one = target.layout[tuple(slice(int(i), int(i) + 1) for i in np.unravel_index(at, target.shape))]
    return int(to_host(target.make_view(one)).item())


def nll_loss(x, target, weight, ignore_index, reduction):
    if x.dtype.kind != "f":
        raise missing("nll_loss", x.dtype)
    wide, real = wide_of(x.dtype)
    x_steps, x_step = class_strides(x)
    n, each = target.size, reduction == "none"
    loss, total = [empty_array(s, x.dtype, x.device) for s in (target.shape if each else (), ())]
    blocks = max(min(pieces(n, THREADS), ENOUGH), 1)
    partial = empty_array((2, blocks), real, x.device)
    shape, t_steps, x_steps = collapse(target.shape, element_strides(target, target.shape), x_steps)
    launch(loss_kernel(wide, real, weight is not None, each), blocks, THREADS, x.device, n, x.shape[1], ignore_index, shape,
           *pointers(target), t_steps, *pointers(x), x_steps, x_step, *weight_pointers(x, weight),
           *[a.block.of(a.dtype) for a in (loss, partial)])
    launch(total_kernel(real, reduction), 1, THREADS, x.device, blocks, *[a.block.of(a.dtype) for a in (partial, loss, total)])
    return loss, total


def nll_loss_backward(g, x_shape, target, weight, total, ignore_index, reduction):
    if g.dtype.kind != "f":
        raise missing("nll_loss_backward", g.dtype)
    wide, real = wide_of(g.dtype)
    z = new_full(x_shape, 0, g.dtype, g.device)
    z_steps, z_step = class_strides(z)
    steps = element_strides(target, target.shape), element_strides(g, target.shape), z_steps
    shape, t_steps, g_steps, z_steps = collapse(target.shape, *steps)
    kernel = gradient_kernel(wide, real, weight is not None, reduction == "mean")
    launch_each(kernel, target.size, g.device, target.size, x_shape[1], ignore_index, shape, *pointers(target), t_steps,
                *pointers(g), g_steps, *weight_pointers(g, weight), *pointers(total), z.block.of(z.dtype), z_steps, z_step)
    return z
