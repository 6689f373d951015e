"""``out=``: writing a result into a tensor that is there already.

    mg.add(x, y, out=z)     1. nothing may require a gradient: z would get a value without a history
                            2. compute as without `out`
                            3. does it fit z's dtype? z gets its shape, if it has another, with a warning
                            4. write, and count the version up

A function that takes `out` begins with

    if out is not None:
        return into(out, add, input, other, alpha=alpha)

so that it costs nothing where it is not given. (PyTorch's kernels write to `out` directly and save the memory of the result.
Ours make new arrays, so this is a convenience.)

Mirrors ``aten/src/ATen/native/Resize.cpp`` (resize_output) and the ``out`` functions of the generated ``VariableType.cpp``.
"""

import functools
import inspect
import warnings

from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.graph.thread_state import current

from minigrad._core.mutation.inplace import apply_inplace, check_memory
from minigrad._core.mutation.inplace_views import set_array
from minigrad._core.record.forward_ad import refuse_tangents
from minigrad._core.record.operands import translate_kernel_error
from minigrad.errors import AutogradError, ShapeError, TensorTypeError

__all__ = ["fills_out", "into"]


def into(out, function, *args, **kwargs):
    """Write ``function(*args, **kwargs)`` to `out`, and return `out`. A function with several results takes a tuple of tensors.

    Raises:
        TypeError: `out` is no tensor, or not as many as there are results.
        RuntimeError: `out` or an argument requires a gradient; or the result is of a higher category of dtypes; or
            `out` may not be written to.
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
        receive(name, out, result)
        return out
    if not several or isinstance(result, TensorBase) or len(result) != len(out):
        raise TensorTypeError("MG-E201", f"{name}(): argument 'out' must hold a tensor for each result",
                              expected=f"{1 if isinstance(result, TensorBase) else len(result)}",
                              found=str(len(out)) if several else type(out).__name__)
    for target, x in zip(out, result):
        if target.dtype is not x.dtype:
            raise ShapeError("MG-E203", f"{name}(): Expected out tensor to have dtype {x.dtype.name}, but got {target.dtype.name} "
                             "instead")
    for target, x in zip(out, result):
        receive(name, target, x)
    return type(result)(*out) if hasattr(result, "_fields") else tuple(out)


def receive(name, out, result):
    """Write the tensor `result` to `out`."""
    if result.dtype.category > out.dtype.category:
        raise ShapeError("MG-E203", f"result type {result.dtype.name} can't be cast to the desired output type {out.dtype.name}",
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
    from minigrad.ops.base.overwriting import Copy  # which needs rule.py, whose functions take out=

    apply_inplace(Copy.op, out, (result,))


def fills_out(function):
    """Decorator: give a function that makes a tensor the arguments `out`, and `size` where it takes the sizes one by one."""
    parameters = list(inspect.signature(function).parameters.values())
    sizes = parameters[0].kind is inspect.Parameter.VAR_POSITIONAL

    @functools.wraps(function)
    def made(*args, out=None, **kwargs):
        if sizes and not args and "size" in kwargs:
            args = (kwargs.pop("size"),)
        if out is None:
            try:
                return function(*args, **kwargs)
            except (ValueError, IndexError, MemoryError, OverflowError) as error:
                raise translate_kernel_error(function.__name__, error) from None
        if isinstance(out, TensorBase):
            dtype = kwargs.setdefault("dtype", out.dtype)
            if dtype is not None and dtype is not out.dtype:
                raise ShapeError("MG-E203", f"dtype {dtype} does not match dtype of out parameter ({out.dtype})")
        return into(out, function, *args, **kwargs)

    first = next(i for i, p in enumerate(parameters) if p.kind is inspect.Parameter.KEYWORD_ONLY)
    parameters.insert(first, inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    del made.__wrapped__        # which inspect would ask instead
    made.__signature__ = inspect.Signature(parameters)
    return made
