"""The order in memory of results: PyTorch gives some a row-major order, and others the order of their input.

    x.permute(2, 0, 1)                      strides (1, 12, 4): the first dimension has the shortest steps
    x.permute(2, 0, 1).clone()              (1, 12, 4) again, also where the elements of x have gaps between them
    x.permute(2, 0, 1).masked_fill(m, 0)    (6, 3, 1), so that a `view` of it works

Mirrors ``infer_dense_strides`` of ``c10/core/TensorImpl.cpp`` and ``aten/src/ATen/ExpandUtils.cpp``.
"""

__all__ = ["copy_in_order", "order_like", "row_major"]


def row_major(k, z):
    """Return the array `z`, or a copy of it if its elements are in another order than row-major."""
    return z if k.contiguous(z) else k.copy(z)


def order_like(k, z, x):
    """Return the row-major array `z`, or a copy of it whose dimensions have the order in memory that they have in `x`."""
    strides = () if k.contiguous(x) else k.geometry(x, x)[2]
    if not strides or 0 in strides:     # expanded elements have no order
        return z
    order = sorted(range(len(strides)), key=lambda dim: -strides[dim])
    return k.permute(k.copy(k.permute(z, order)), [order.index(dim) for dim in range(len(order))])


def copy_in_order(k, x):
    """A copy of `x` without gaps, in the order of `x`."""
    z = order_like(k, x, x)
    return k.copy(x) if z is x else z
