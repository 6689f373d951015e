"""The negative log likelihood of the right classes, its gradient, and the look for classes that do not exist.

    x (N, C)            target      loss                        gradient of the sum
    -0.1  -2.4  -4.0    0           0.1                         -1   0   0
    -3.0  -0.2  -1.8    2           1.8                          0   0  -1
    -1.1  -1.1  -1.1    ignored     0                            0   0   0

    idea        a thread for each target reads one number of its row. The losses and the weights are added up on the way, by block,
                and one block adds up what the blocks have
    bytes       forward 8 for the target and 4 for the number, though memory delivers 32 at a time; backward writes N C zeros first
    operations  one product a target
    so          forward takes little time beside the softmax before it; backward that of filling memory
    measured    cross entropy with its log_softmax 31 to 34% of what a copy moves on an H100, counted as one read of x

Whether all classes exist has to be known before they are used as places in memory, so `class_outside` waits for the GPU. PyTorch
asserts inside its kernel instead, which costs no wait, and ends the process's use of the GPU when it fails. So the look comes
before the softmax: the wait is for what is queued already, and while the GPU computes the softmax the CPU queues the rest.

Between the look and the use somebody may write to the targets. So both kernels compare each class once more, and what is none
makes nan: of the loss, and in the row of the gradient. Nothing is read or written outside of an array, and nobody waits.

Mirrors ``aten/src/ATen/native/cuda/Loss.cu`` and ``NLLLoss2d.cu``.
"""

from functools import cache

import numpy as np
from numba import cuda, from_dtype

from minigrad.kernels.cuda.elementwise.elementwise import collapsed, filled, in_elements, offset
from minigrad.kernels.cuda.reductions.reduce import ENOUGH, pieces, planes, tree
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
    """found[0] becomes the number of the first target that is no class. Atomics meet only where there are such targets."""
    for i in range(cuda.grid(1), size, cuda.gridsize(1)):
        c = target[t0 + offset(i, shape, t_steps)]
        if c != ignored and (c < 0 or c >= classes):
            cuda.atomic.min(found, 0, i)


@cache
def picking(wide, real, weighted, each):
    """The losses of the targets, if they are wanted `each`, and what those of a block and their weights add up to."""
    none, one, nan, room_size, number = real(0), real(1), real(np.nan), 2 * THREADS, from_dtype(np.dtype(real))
    _, put = planes(2)
    joined = tree(add_pairs, 2, real)

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
                weight = wide(w[w0 + c * w_step]) if weighted else one      # without weights those are 1, and `w` is anything
                if weight != none:                  # a weight of 0 is 0 times inf, too
                    loss = -wide(x[x0 + offset(i, shape, x_steps) + c * x_step]) * weight
            if each:
                losses[i] = loss
            all_losses += loss
            all_weights += weight
        a = joined(room, cuda.threadIdx.x, cuda.threadIdx.x, THREADS, 1, (all_losses, all_weights))
        if cuda.threadIdx.x == 0:
            put(partial, cuda.blockIdx.x, cuda.gridDim.x, a)
    return kernel


@cache
def totalling(real, reduction):
    """One block adds up what the blocks of `picking` have: the loss, for the mean divided by the total weight, and that."""
    none, room_size, number = real(0), 2 * THREADS, from_dtype(np.dtype(real))
    get, _ = planes(2)
    joined = tree(add_pairs, 2, real)
    summed, mean = reduction != "none", reduction == "mean"

    @cuda.jit
    def kernel(blocks, partial, loss, total):
        room = cuda.shared.array(room_size, number)
        a = none, none
        for i in range(cuda.threadIdx.x, blocks, THREADS):
            b = get(partial, i, blocks)
            a = a[0] + b[0], a[1] + b[1]
        a = joined(room, cuda.threadIdx.x, cuda.threadIdx.x, THREADS, 1, a)
        if cuda.threadIdx.x == 0:
            if summed:
                loss[0] = a[0] / a[1] if mean else a[0]
            total[0] = a[1]
    return kernel


@cache
def placing(wide, real, weighted, mean):
    """The gradient: - weight g, for the mean divided by the total weight, at the class of each target."""
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


def weights_or(x, weight):
    """The same of the weights, with the stride; of anything else if there are none."""
    return (*pointers(x), 0) if weight is None else (*pointers(weight), weight.strides[0] // weight.itemsize)


def by_class(x):
    """(strides of x without dimension 1, the stride of that), in elements."""
    steps = [s // x.itemsize for s in x.strides]
    return [*steps[:1], *steps[2:]], steps[1]


def class_outside(target, n, ignore_index):
    if not target.size:
        return None
    found = filled((1,), target.size, INT64, target.device)
    shape, steps = collapsed(target.shape, in_elements(target, target.shape))
    launch_each(find_outside, target.size, target.device, target.size, n, ignore_index, shape, *pointers(target), steps,
                found.block.of(INT64))
    at = int(to_host(found)[0])
    if at == target.size:
        return None
    one = target.layout[tuple(slice(int(i), int(i) + 1) for i in np.unravel_index(at, target.shape))]
    return int(to_host(target.seen_as(one)).item())


def nll_loss(x, target, weight, ignore_index, reduction):
    if x.dtype.kind != "f":
        raise missing("nll_loss", x.dtype)
    wide, real = wide_of(x.dtype)
    x_steps, x_step = by_class(x)
    n, each = target.size, reduction == "none"
    loss, total = [empty_array(s, x.dtype, x.device) for s in (target.shape if each else (), ())]
    blocks = max(min(pieces(n, THREADS), ENOUGH), 1)
    partial = empty_array((2, blocks), real, x.device)
    shape, t_steps, x_steps = collapsed(target.shape, in_elements(target, target.shape), x_steps)
    launch(picking(wide, real, weight is not None, each), blocks, THREADS, x.device, n, x.shape[1], ignore_index, shape,
           *pointers(target), t_steps, *pointers(x), x_steps, x_step, *weights_or(x, weight),
           *[a.block.of(a.dtype) for a in (loss, partial)])
    launch(totalling(real, reduction), 1, THREADS, x.device, blocks, *[a.block.of(a.dtype) for a in (partial, loss, total)])
    return loss, total


def nll_loss_backward(g, x_shape, target, weight, total, ignore_index, reduction):
    if g.dtype.kind != "f":
        raise missing("nll_loss_backward", g.dtype)
    wide, real = wide_of(g.dtype)
    z = filled(x_shape, 0, g.dtype, g.device)
    z_steps, z_step = by_class(z)
    steps = in_elements(target, target.shape), in_elements(g, target.shape), z_steps
    shape, t_steps, g_steps, z_steps = collapsed(target.shape, *steps)
    launch_each(placing(wide, real, weight is not None, reduction == "mean"), target.size, g.device, target.size, x_shape[1],
                ignore_index, shape, *pointers(target), t_steps, *pointers(g), g_steps, *weights_or(g, weight), *pointers(total),
                z.block.of(z.dtype), z_steps, z_step)
    return z
