"""Functions that the layers above supply to the core.

`_core` and `kernels` import nothing above them. Yet the engine sometimes needs an op, because only an op records
history: to copy a gradient under ``create_graph=True``, or to sum a gradient to a smaller shape. When the ops are
imported, they put these functions here. None of them is on the hot path. The module of a `Late` one is imported with
its first use.
"""

from typing import Any

__all__ = ["Upcalls", "upcalls"]


class Late:
    """A function that is not here yet: its first use imports the module that puts it here, into the dict of the instance.

    (A method ``Upcalls.__getattr__`` would make all other functions slower, 100 instructions a use.)
    """

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner):
        if instance is None:
            return self
        instance.load(self.name)
        return vars(instance)[self.name]


class Upcalls:
    """Functions of tensors, supplied by the ops."""

    backward: Any = None            # backward(tensor, ...): autograd.backward, behind Tensor.backward
    device: Any = None              # device(name) -> Device: a pickle calls it
    enter_device: Any = None        # enter_device(device): new tensors are on this device, until exit_device()
    exit_device: Any = None
    bfloat16: Any = None            # bfloat16() -> the DType, made now
    rounding: Any = None            # rounding() -> the kernels of float16 and bfloat16 tensors on the CPU
    clone: Any = None               # clone(tensor) -> tensor
    copied: Any = None              # copied(tensor) -> tensor: also a copy, recorded as a write to new memory
    sum_to: Any = None              # sum_to(tensor, shape) -> tensor
    cast: Any = None                # cast(tensor, dtype) -> tensor
    real: Any = None                # real(tensor) -> the real part of a complex tensor
    as_real: Any = Late()           # as_real(tensor) -> a complex tensor as pairs of real numbers
    as_complex: Any = Late()        # as_complex(tensor) -> pairs of real numbers as a complex tensor
    zeros_like: Any = Late()        # zeros_like(tensor) -> tensor
    as_strided: Any = Late()        # as_strided(tensor, base_strides, shape, strides, offset) -> tensor
    as_strided_scatter: Any = Late()    # a copy of the tensor with another tensor written to that part
    as_strided_op: Any = Late()     # the Primitive of view_strided
    view_strided: Any = Late()      # as_strided, but the result is a view
    as_strided_parts_op: Any = Late()   # the Primitive of view_parts
    view_parts: Any = Late()        # view_strided between a complex and a real tensor
    page: Any = None                # page(record) -> the HTML that a notebook shows for a record of `mg.debug`
    load: Any = None                # load(name): import the module that puts the function `name` here


upcalls = Upcalls()
