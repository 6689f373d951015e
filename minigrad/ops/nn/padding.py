"""Padding: adding elements at the ends of dimensions. The public function is in ``nn/functional/_padding.py``.

    constant    0 0 | a b c | 0 0
    reflect     c b | a b c | b a           does not repeat the element at the edge
    replicate   a a | a b c | c c
    circular    b c | a b c | a b           has no op of its own in PyTorch

`padding` has (before, after) for the last dimension, then for the second-last, and so on. A negative number removes elements.
All are linear (apart from the constant). The adjoint of constant padding removes the padding. The adjoint of the others
adds the padding's gradient to the elements that were copied.

Mirrors ``aten/src/ATen/native/{PadNd,ReflectionPad,ReplicationPadding}.cpp``.
"""

import functools

import numpy as np
from cython.cimports.minigrad._core.record.apply import call

from minigrad.ops.base.precision import round_to, to_wide
from minigrad.ops.base.rule import Linear, Op, op

__all__: list[str] = []


def find_padded_dims(x, padding):
    """Return (dim, number of elements before, number after) for each dimension that changes."""
    return [(x.ndim - 1 - i, padding[2 * i], padding[2 * i + 1]) for i in range(len(padding) // 2)
            if padding[2 * i] or padding[2 * i + 1]]


@op("constant_pad_nd")
class ConstantPadNd(Op):
    """z = x, with a constant around it"""

    inputs = 1
    torch_names = {"x": "self", "padding": "pad"}

    def forward(k, x, padding, value):
        shape = list(x.shape)
        grows = False
        for dim, before, after in find_padded_dims(x, padding):
            if before < 0 or after < 0:
                x = k.slice(x, dim, max(-before, 0), shape[dim] - max(-after, 0), 1)
            shape[dim] += before + after
            grows = grows or before > 0 or after > 0
        if not grows:
            return k.copy(x)
        z = middle = k.full(tuple(shape), value, x.dtype)
        for dim, before, _ in find_padded_dims(x, padding):
            start = max(before, 0)
            middle = k.slice(middle, dim, start, start + x.shape[dim], 1)
        k.copy_(middle, x)
        return z

    def vjp_x(g, padding):
        return call(ConstantPadNd.op, (g, tuple([-n for n in padding]), 0))

    def jvp_x(t, padding):
        return call(ConstantPadNd.op, (t, padding, 0))


# ---- the other modes, and their adjoints -----------------------------------------------------


@functools.lru_cache(maxsize=256)
def source_places(size, before, after, mode):
    """Return where, along a dimension of `size` elements, the padded dimension has its elements from."""
    i = np.arange(-before, size + after)
    if mode == "circular":      # what a negative number cuts off is not a part of the period
        start, period = max(-before, 0), size + min(before, 0) + min(after, 0)
        i = (i - start) % max(period, 1) + start
    elif mode == "reflect":
        i = size - 1 - np.abs(size - 1 - np.abs(i))
    else:
        i = i.clip(0, max(size - 1, 0))
    i.flags.writeable = False
    return i


def add_reflected(k, z, dim, first, last):
    """Add `first` and `last`, the gradients of a reflected padding, to the elements of z that were copied, in place."""
    n, before, after = z.shape[dim], first.shape[dim], last.shape[dim]
    k.add_(k.slice(z, dim, 1, before + 1, 1), k.flip(first, (dim,)))
    k.add_(k.slice(z, dim, n - 1 - after, n - 1, 1), k.flip(last, (dim,)))


def add_replicated(k, z, dim, first, last):
    """The same for a replicated padding: add the sums to the elements of z at the edges."""
    n = z.shape[dim]
    if first.shape[dim]:
        k.add_(k.slice(z, dim, 0, 1, 1), k.sum(first, (dim,), True))
    if last.shape[dim]:
        k.add_(k.slice(z, dim, n - 1, n, 1), k.sum(last, (dim,), True))


def pad_array(k, x, padding, mode):
    """Return x with padding."""
    places = [None] * x.ndim
    for dim, before, after in find_padded_dims(x, padding):
        places[dim] = k.from_host(source_places(x.shape[dim], before, after, mode), False)
    return k.take_grid(x, places)


def add_wrapped(k, z, dim, first, last, before, after):
    """The same for a circular padding. What a negative number of `before` and `after` cut off of z is not a part of the period."""
    start, stop = max(-before, 0), z.shape[dim] - max(-after, 0)
    if first.shape[dim]:
        k.add_(k.slice(z, dim, stop - before, stop, 1), first)
    if last.shape[dim]:
        k.add_(k.slice(z, dim, start, start + after, 1), last)


def fold_edges(k, g, shape, padding, mode):
    """The adjoint of `pad_array`: remove the padding of g, and add it to the elements that were copied."""
    z = to_wide(k, g)
    for dim, before, after in reversed(find_padded_dims(g, padding)):
        n, length = shape[dim], z.shape[dim]
        first = k.slice(z, dim, 0, max(before, 0), 1)
        last = k.slice(z, dim, length - max(after, 0), length, 1)
        inner = k.slice(z, dim, max(before, 0), length - max(after, 0), 1)
        if before < 0 or after < 0:
            z = k.full((*z.shape[:dim], n, *z.shape[dim + 1:]), 0, z.dtype)
            k.copy_(k.slice(z, dim, max(-before, 0), n - max(-after, 0), 1), inner)
        else:
            z = k.copy(inner)
        if mode == "circular":
            add_wrapped(k, z, dim, first, last, before, after)
        elif mode == "reflect":
            add_reflected(k, z, dim, first, last)
        else:
            add_replicated(k, z, dim, first, last)
    return round_to(k, z, g)


@op("circular_pad")
class CircularPad(Linear):
    """z = x, with a period of it on each side"""

    inputs = 1

    def forward(k, x, padding):
        return pad_array(k, x, padding, "circular")

    def vjp_x(g, x, padding):
        return call(CircularPadBackward.op, (g, tuple(x.shape), padding))


@op("circular_pad_backward")
class CircularPadBackward(Linear):
    """z = g without its edges, which are added to where they came from"""

    inputs = 1

    def forward(k, g, shape, padding):
        return fold_edges(k, g, shape, padding, "circular")

    def vjp_g(v, padding):
        return call(CircularPad.op, (v, padding))


class ReflectionPad(Linear):
    """z = x, with the numbers next to its edges around it in reverse order"""

    inputs = 1

    def forward(k, x, padding):
        return pad_array(k, x, padding, "reflect")


class ReflectionPadBackward(Linear):
    """z = g without its edges, which are added to where they came from"""

    inputs = 1
    torch_names = {"g": "grad_output"}

    def forward(k, g, shape, padding):
        return fold_edges(k, g, shape, padding, "reflect")


class ReplicationPad(Linear):
    """z = x, with the numbers at its edges around it"""

    inputs = 1

    def forward(k, x, padding):
        return pad_array(k, x, padding, "replicate")


class ReplicationPadBackward(Linear):
    """z = g without its edges, which are added to where they came from"""

    inputs = 1
    torch_names = {"g": "grad_output"}

    def forward(k, g, shape, padding):
        return fold_edges(k, g, shape, padding, "replicate")


@op("reflection_pad1d", "ReflectionPad1D0")
class ReflectionPad1d(ReflectionPad):
    """z = x, with the numbers next to the edges of the last dimension around it"""

    def vjp_x(g, x, padding):
        return call(ReflectionPad1dBackward.op, (g, tuple(x.shape), padding))


@op("reflection_pad1d_backward", "ReflectionPad1DBackward0")
class ReflectionPad1dBackward(ReflectionPadBackward):
    """z = the gradient of reflection_pad1d, given the output's gradient g"""

    def vjp_g(v, padding):
        return call(ReflectionPad1d.op, (v, padding))


@op("reflection_pad2d", "ReflectionPad2D0")
class ReflectionPad2d(ReflectionPad):
    """z = x, with the numbers next to the edges of the last two dimensions around it"""

    def vjp_x(g, x, padding):
        return call(ReflectionPad2dBackward.op, (g, tuple(x.shape), padding))


@op("reflection_pad2d_backward", "ReflectionPad2DBackward0")
class ReflectionPad2dBackward(ReflectionPadBackward):
    """z = the gradient of reflection_pad2d, given the output's gradient g"""

    def vjp_g(v, padding):
        return call(ReflectionPad2d.op, (v, padding))


@op("reflection_pad3d", "ReflectionPad3D0")
class ReflectionPad3d(ReflectionPad):
    """z = x, with the numbers next to the edges of the last three dimensions around it"""

    def vjp_x(g, x, padding):
        return call(ReflectionPad3dBackward.op, (g, tuple(x.shape), padding))


@op("reflection_pad3d_backward", "ReflectionPad3DBackward0")
class ReflectionPad3dBackward(ReflectionPadBackward):
    """z = the gradient of reflection_pad3d, given the output's gradient g"""

    def vjp_g(v, padding):
        return call(ReflectionPad3d.op, (v, padding))


@op("replication_pad1d", "ReplicationPad1D0")
class ReplicationPad1d(ReplicationPad):
    """z = x, with the numbers at the edges of the last dimension around it"""

    def vjp_x(g, x, padding):
        return call(ReplicationPad1dBackward.op, (g, tuple(x.shape), padding))


@op("replication_pad1d_backward", "ReplicationPad1DBackward0")
class ReplicationPad1dBackward(ReplicationPadBackward):
    """z = the gradient of replication_pad1d, given the output's gradient g"""

    def vjp_g(v, padding):
        return call(ReplicationPad1d.op, (v, padding))


@op("replication_pad2d", "ReplicationPad2D0")
class ReplicationPad2d(ReplicationPad):
    """z = x, with the numbers at the edges of the last two dimensions around it"""

    def vjp_x(g, x, padding):
        return call(ReplicationPad2dBackward.op, (g, tuple(x.shape), padding))


@op("replication_pad2d_backward", "ReplicationPad2DBackward0")
class ReplicationPad2dBackward(ReplicationPadBackward):
    """z = the gradient of replication_pad2d, given the output's gradient g"""

    def vjp_g(v, padding):
        return call(ReplicationPad2d.op, (v, padding))


@op("replication_pad3d", "ReplicationPad3D0")
class ReplicationPad3d(ReplicationPad):
    """z = x, with the numbers at the edges of the last three dimensions around it"""

    def vjp_x(g, x, padding):
        return call(ReplicationPad3dBackward.op, (g, tuple(x.shape), padding))


@op("replication_pad3d_backward", "ReplicationPad3DBackward0")
class ReplicationPad3dBackward(ReplicationPadBackward):
    """z = the gradient of replication_pad3d, given the output's gradient g"""

    def vjp_g(v, padding):
        return call(ReplicationPad3d.op, (v, padding))


# mode -> the ops for the last 1, 2 and 3 dimensions
PADS = {
    "reflect": (ReflectionPad1d.op, ReflectionPad2d.op, ReflectionPad3d.op),
    "replicate": (ReplicationPad1d.op, ReplicationPad2d.op, ReplicationPad3d.op),
}
