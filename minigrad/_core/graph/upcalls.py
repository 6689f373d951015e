"""Functions that the layers above supply to the core.

`_core` and `kernels` import nothing above them. Yet the engine sometimes needs an op, because only an op records
history: to copy a gradient under ``create_graph=True``, or to sum a gradient to a smaller shape. When the ops are
imported, they put these functions here. None of them is on the hot path. Those without a value come from modules that are imported
with the first use of one of them.
"""

from typing import Any

__all__ = ["Upcalls", "upcalls"]


class Upcalls:
    """Functions of tensors, supplied by the ops."""

    backward: Any = None            # backward(tensor, ...): autograd.backward, behind Tensor.backward
    device: Any = None              # device(name) -> Device: a pickle calls it
    enter_device: Any = None        # enter_device(device): new tensors are on this device, until exit_device()
    exit_device: Any = None
    clone: Any = None               # clone(tensor) -> tensor
    copied: Any = None              # copied(tensor) -> tensor: also a copy, recorded as a write to new memory
    sum_to: Any = None              # sum_to(tensor, shape) -> tensor
    cast: Any = None                # cast(tensor, dtype) -> tensor
    real: Any = None                # real(tensor) -> the real part of a complex tensor
    as_real: Any                    # as_real(tensor) -> a complex tensor as pairs of real numbers
    as_complex: Any                 # as_complex(tensor) -> pairs of real numbers as a complex tensor
    zeros_like: Any                 # zeros_like(tensor) -> tensor
    as_strided: Any                 # as_strided(tensor, base_strides, shape, strides, offset) -> tensor
    as_strided_scatter: Any         # a copy of the tensor with another tensor written to that part
    as_strided_op: Any              # the Primitive of view_strided
    view_strided: Any               # as_strided, but the result is a view
    as_strided_parts_op: Any        # the Primitive of view_parts
    view_parts: Any                 # view_strided between a complex and a real tensor
    page: Any = None                # page(record) -> the HTML that a notebook shows for a record of `mg.debug`
    load: Any = None                # load(name): import the module that puts the function `name` here

    def __getattr__(self, name: str) -> Any:
        """Python calls this for a function that is not here yet."""
        if name not in Upcalls.__annotations__:
            raise AttributeError(f"there is no upcall {name!r}")
        self.load(name)
        return vars(self)[name]


upcalls = Upcalls()
