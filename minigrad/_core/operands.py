"""What an op demands of its operands together: one device, shapes that broadcast. And what it says if not."""


from minigrad.errors import ShapeError, TensorTypeError

__all__ = ["broadcast_shape", "not_a_tensor", "on_one_device"]


def on_one_device(op, first, tensor):
    """`first`, the first tensor of those met so far, or now `tensor`. Raises if the two are on different devices."""
    if first is not None and first._meta.device is not tensor._meta.device and first._meta.device != tensor._meta.device:
        raise ShapeError(
            "MG-E202", "Expected all tensors to be on the same device, but found at least two devices, "
            f"{first._meta.device} and {tensor._meta.device}, in {op.name}().",
            fix="move one of them: x.to(y.device)")
    return tensor if first is None else first


def not_a_tensor(op, x):
    """The error for an argument that has to be a tensor."""
    return TensorTypeError("MG-E201", f"{op.name}(): argument must be Tensor, not {type(x).__name__}",
                           fix="make it one with minigrad.tensor(...)")


def broadcast_shape(metas):
    """The shape that tensors with these metadata broadcast to. Raises if they do not."""
    a = metas[0].shape
    for meta in metas[1:]:
        b = meta.shape
        n = max(len(a), len(b))
        wide_a = (1,) * (n - len(a)) + a
        wide_b = (1,) * (n - len(b)) + b
        for dim in range(n):
            if wide_a[dim] != wide_b[dim] and 1 not in (wide_a[dim], wide_b[dim]):
                raise ShapeError(
                    "MG-E204", f"The size of tensor a ({wide_a[dim]}) must match the size of tensor b ({wide_b[dim]}) "
                    f"at non-singleton dimension {dim}",
                    found=f"shapes {list(a)} and {list(b)}",
                    fix="shapes are aligned at the right; sizes must be equal or 1. reshape(), unsqueeze() or "
                        "transpose() one of them")
        a = tuple([q if p == 1 else p for p, q in zip(wide_a, wide_b)])
    return a
