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
        wide, narrow = (a, b) if len(a) >= len(b) else (b, a)
        shape = list(wide)
        for k in range(1, len(narrow) + 1):     # aligned at the right
            p, q = wide[-k], narrow[-k]
            if p == 1:
                shape[-k] = q
            elif q != 1 and q != p:
                raise ShapeError(
                    "MG-E204", f"The size of tensor a ({a[-k]}) must match the size of tensor b ({b[-k]}) "
                    f"at non-singleton dimension {len(wide) - k}",
                    found=f"shapes {list(a)} and {list(b)}",
                    fix="shapes are aligned at the right; sizes must be equal or 1. reshape(), unsqueeze() or "
                        "transpose() one of the tensors")
        a = tuple(shape)
    return a
