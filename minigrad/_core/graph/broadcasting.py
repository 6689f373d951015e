"""The rules of broadcasting: align the shapes at the right; then in each dimension the sizes must be equal, or 1.

Mirrors ``aten/src/ATen/ExpandUtils.cpp``.
"""

from minigrad.errors import ShapeError

__all__ = ["broadcast_shape"]


def broadcast_shape(metas):
    """The shape that tensors with these `Meta` records broadcast to, a tuple. Raises `ShapeError` if they do not broadcast."""
    a = metas[0].shape
    for meta in metas[1:]:
        b = meta.shape
        if a == b or not b:
            continue
        n = max(len(a), len(b))
        wide_a = (1,) * (n - len(a)) + a
        wide_b = (1,) * (n - len(b)) + b
        for dim in range(n - 1, -1, -1):
            if wide_a[dim] != wide_b[dim] and 1 not in (wide_a[dim], wide_b[dim]):
                raise ShapeError(
                    "MG-E204", f"The size of tensor a ({wide_a[dim]}) must match the size of tensor b ({wide_b[dim]}) "
                    f"at non-singleton dimension {dim}",
                    found=f"shapes {list(a)} and {list(b)}",
                    fix="shapes are aligned at the right; sizes must be equal or 1. reshape(), unsqueeze() or "
                        "transpose() one of the tensors")
        a = tuple([q if p == 1 else p for p, q in zip(wide_a, wide_b)])
    return a
