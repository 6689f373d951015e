"""``out=``: writing a result into an existing tensor.

    mg.add(x, y, out=z)     1. raise if a tensor requires a gradient: z would get a value without a history
                            2. compute the result as without `out`
                            3. raise if z's dtype cannot hold it; resize z, with a warning, if its shape differs
                            4. write the result to z, and increment z's version

A function that takes `out` begins with

    if out is not None:
        return into(out, add, input, other, alpha=alpha)

A call without `out` pays only for that comparison. (PyTorch's kernels write to `out` directly and save the memory of the
result. Ours make new arrays, so here `out` is only a convenience.)

Mirrors ``aten/src/ATen/native/Resize.cpp`` (resize_output) and the ``out`` functions of the generated ``VariableType.cpp``.
"""

import functools
import inspect
import warnings
from typing import Any

from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.graph.thread_state import current

from minigrad._core.mutation.inplace import apply_inplace, check_memory
from minigrad._core.mutation.inplace_views import set_array
from minigrad._core.record.forward_ad import refuse_tangents
from minigrad.errors import AutogradError, DtypeError, TensorTypeError
from minigrad.ops.base.registry import REGISTRY

__all__ = ["accept_out", "into"]


def into(out, function, *args, **kwargs) -> Any:
    """Write ``function(*args, **kwargs)`` to `out`, and return `out`. A function with several results takes a tuple of tensors.

    Raises:
        TypeError: `out` is not a tensor, or has another number of tensors than there are results.
        RuntimeError: `out` or an argument requires a gradient; `out` has a lower category of dtypes than the result (integer
            instead of floating point); or `out` may not be written to.
    """
    name = function.__name__
    several = isinstance(out, (tuple, list))
    for target in out if several else (out,):
        if not isinstance(target, TensorBase):
            raise TensorTypeError("MG-E201", f"{name}(): argument 'out' must be Tensor, not {type(target).__name__}")
    operands = [y for x in (out, *args) for y in (x if isinstance(x, (tuple, list)) else (x,))]
    refuse_tangents(f"{name}_out", operands, "it is an out= function")
    if current().grad_enabled:
        for y in operands:
            if isinstance(y, TensorBase) and y.requires_grad:
                raise AutogradError("MG-E213", f"{name}(): functions with out=... arguments don't support automatic "
                                    "differentiation, but one of the arguments requires grad.",
                                    fix=f"leave out= away, z = {name}(...), or write under no_grad()")
    for target in out if several else (out,):
        check_memory(target)
    result = function(*args, **kwargs)
    if not several and isinstance(result, TensorBase):
        receive(out, result)
        return out
    if not several or isinstance(result, TensorBase) or len(result) != len(out):
        raise TensorTypeError("MG-E201", f"{name}(): argument 'out' must hold a tensor for each result",
                              expected=f"{1 if isinstance(result, TensorBase) else len(result)}",
                              found=str(len(out)) if several else type(out).__name__)
    for target, x in zip(out, result):
        if target.dtype is not x.dtype:
            raise DtypeError("MG-E203", f"{name}(): Expected out tensor to have dtype {x.dtype.name}, but got {target.dtype.name} "
                             "instead")
    for target, x in zip(out, result):
        receive(target, x)
    return type(result)(*out) if hasattr(result, "_fields") else tuple(out)


def accept_out(function):
    """Return `function`, which has several results, with the argument `out`: a tuple of tensors."""
    @functools.wraps(function)
    def made(*args, out=None, **kwargs):
        return function(*args, **kwargs) if out is None else into(out, function, *args, **kwargs)

    signature = inspect.signature(function)
    filled: Any = made
    del filled.__wrapped__      # else inspect.signature would return the signature of `function`
    filled.__signature__ = signature.replace(parameters=[
        *signature.parameters.values(),
        inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="tuple[Tensor, ...] | None")])
    return filled


def receive(out, result):
    """Write the tensor `result` to `out`, after resizing `out` if its shape differs."""
    if result.dtype.category > out.dtype.category:
        raise DtypeError("MG-E203", f"result type {result.dtype.name} can't be cast to the desired output type {out.dtype.name}",
                         fix=f"make it with dtype=minigrad.{result.dtype.name}")
    if out.shape == result.shape:
        write_to(out, result)
        return
    if out.numel():
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not match the "
            f"required output shape {list(result.shape)}. This behavior is deprecated: you can explicitly reuse an out tensor t "
            "by resizing it, inplace, to zero elements with t.resize_(0).", UserWarning, stacklevel=4)
    kernels = out.device.backend.kernels
    memory = kernels.resize(out._array, tuple(result.shape))
    kernels.copy_(memory, result._array)
    set_array(out, memory, "out=")


def write_to(out, result):
    """``out.copy_(result)``"""
    apply_inplace(REGISTRY["copy_"], out, (result,))
