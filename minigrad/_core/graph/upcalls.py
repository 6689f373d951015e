"""What the core is given by the layers above it.

`_core` and `kernels` import nothing above them, yet the engine must now and then do something to a
tensor that only an op can do with its history recorded: copy a gradient under ``create_graph=True``, sum
one down to a smaller shape. The ops put those functions here when they are imported; the core looks
them up when it needs one. None of them is on the hot path.
"""

from typing import Any

__all__ = ["Upcalls", "upcalls"]


class Upcalls:
    """Functions of tensors that the ops supply."""

    backward: Any = None        # backward(tensor, ...): autograd.backward, behind Tensor.backward
    device: Any = None  # device(name) -> Device: also how a pickle finds it again
    clone = None        # clone(tensor) -> tensor
    copied = None       # copied(tensor) -> tensor: the same, as a write to new memory
    sum_to = None       # sum_to(tensor, shape) -> tensor
    cast = None         # cast(tensor, dtype) -> tensor
    real = None         # real(tensor) -> the real part of a complex tensor
    as_real = None      # as_real(tensor) -> a complex tensor as pairs of real numbers
    as_complex = None   # as_complex(tensor) -> pairs of real numbers as a complex tensor
    zeros_like = None   # zeros_like(tensor) -> tensor
    as_strided = None           # as_strided(tensor, base_strides, shape, strides, offset) -> tensor
    as_strided_scatter = None   # the tensor with another in that part of it
    as_strided_op = None        # the Primitive behind view_strided
    view_strided = None         # as_strided, but a view
    as_strided_parts_op = None  # the Primitive behind view_parts
    view_parts = None           # view_strided where one of the two is complex and the other real


upcalls = Upcalls()
