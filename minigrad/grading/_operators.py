"""The swaps below the graph: the forward of an op, its kernels, and what is saved for the backward.

An op is swapped by a dispatch mode (``utils/_python_dispatch.py``): below autograd, so minigrad records the op and has its
derivative.
"""

import numpy as np

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.primitive import Primitive
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.creation import empty, from_numpy
from minigrad.grading.swaps import SwapError
from minigrad.ops import REGISTRY
from minigrad.utils._python_dispatch import TorchDispatchMode

__all__ = ["cuda_kernel", "find_op", "forward", "kernel", "saved_tensor"]

THREADS = 128       # of a block, for a swapped kernel


def find_op(student) -> Primitive:
    """The op that ``of=`` names. Raises `SwapError` if there is none."""
    found = REGISTRY.get(student.of) if isinstance(student.of, str) else None
    if found is None:
        raise SwapError("MG-E180", f"swap({student.part!r}): there is no op {student.of!r}", expected="the name of a rule, such as "
                        "'mul' or 'softmax'", fix="`make ops` prints all names; a dispatch mode prints those that run")
    return found


class OpMode(TorchDispatchMode):
    """A dispatch mode that computes one op by ``compute(student, func, args)``."""

    def __init__(self, student, compute):
        self.student, self.op, self.compute = student, find_op(student), compute

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if getattr(func, "primitive", None) is self.op and not func.in_place:
            return self.compute(self.student, func, args)
        return func(*args, **(kwargs or {}))


def mode(student, compute):
    """(enter, leave) of an `OpMode`."""
    found = OpMode(student, compute)
    return found.__enter__, lambda before: found.__exit__(None, None, None)


def check_result(student, found, ours):
    """Return `found` if it is a tensor like `ours`. Raises `SwapError` if it is not."""
    if not isinstance(found, TensorBase) or found.shape != ours.shape or found.dtype != ours.dtype:
        raise student.error(f"returned another kind of result for {student.of}",
                            expected=f"a Tensor of {ours.dtype}, shape {list(ours.shape)}", found=found)
    return found


def forward(student):
    def compute(student, func, args):
        return check_result(student, student(*args), func(*args))
    return mode(student, compute)


def kernel(student):
    def compute(student, func, args):
        arrays = [x.numpy() if isinstance(x, TensorBase) else x for x in args]
        found = student(*arrays)
        if not isinstance(found, (np.ndarray, np.generic)):
            raise student.error(f"returned no array for {student.of}", expected="a NumPy array", found=found)
        found = np.asarray(found)
        if any(isinstance(x, np.ndarray) and np.may_share_memory(found, x) for x in arrays):
            raise student.error(f"returned memory of its arguments for {student.of}", expected="a new array")
        return check_result(student, from_numpy(found), func(*args))
    return mode(student, compute)


def cuda_kernel(student):
    def compute(student, func, args):
        from minigrad.cuda import as_numba
        tensors = [x for x in args if isinstance(x, TensorBase)]
        if not tensors or any(x.device.type != "cuda" for x in tensors):
            raise student.error(f"was called for tensors that are not on a GPU, by {student.of}", expected="x.cuda()",
                                fix="set NUMBA_ENABLE_CUDASIM=1 before Python starts, and make the tensors with device='cuda'")
        ours = func(*args)
        out = empty(ours.numel(), dtype=ours.dtype, device=ours.device)
        given = [as_numba(x.detach().expand(ours.shape).contiguous().reshape(-1)) if isinstance(x, TensorBase) else x for x in args]
        student.count()
        student.function[max(1, -(-ours.numel() // THREADS)), THREADS](*given, as_numba(out))
        return out.reshape(ours.shape)
    return mode(student, compute)


def saved_tensor(student):
    made = student.function()
    for name in ("pack", "unpack"):
        if not callable(getattr(made, name, None)):
            raise student.error(f"has no method {name}", expected="a class with pack(self, tensor) and unpack(self, packed)")

    def pack(tensor):
        student.count()
        return made.pack(tensor), tensor.shape, tensor.dtype

    def unpack(packed):
        packed, shape, dtype = packed
        found = made.unpack(packed)
        if not isinstance(found, TensorBase) or found.shape != shape or found.dtype != dtype:
            raise student.error("did not return the tensor that was packed", expected=f"a Tensor of {dtype}, shape {list(shape)}",
                                found=found, function=type(made).unpack)
        return found
    hooks = saved_tensors_hooks(pack, unpack)
    return hooks.__enter__, lambda before: hooks.__exit__(None, None, None)
