"""The options that all functions have which make tensors: ``out=``, ``layout=``, ``pin_memory=``, ``memory_format=``.

    @fills_out                  zeros, arange, rand ...: `out` and the others, and ``size=`` for functions of ``*size``
    @takes_storage_options      zeros_like, empty_strided ...: the others

`storage_options` checks them. There is one layout; a pinned tensor needs a GPU; and memory formats change no number.

Mirrors ``c10/core/TensorOptions.h``.
"""

import functools
import inspect
from typing import Any

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.operands import translate_kernel_error
from minigrad.errors import DtypeError
from minigrad.ops.base.arguments import flag, wrong_type
from minigrad.ops.base.out import into
from minigrad.ops.shape.formats import check_format, layout

__all__ = ["fills_out", "storage_options", "takes_storage_options"]

_Layout = layout


def storage_options(function, tensor, layout, pin_memory, memory_format=None) -> Any:
    """Check the options of `function`, and return `tensor`, or a copy in pinned memory."""
    if layout is not None and not isinstance(layout, _Layout):
        raise wrong_type(function, "layout", "minigrad.layout", layout)
    check_format(function, memory_format)
    return tensor.pin_memory() if pin_memory is not False and flag(pin_memory, "pin_memory", function) else tensor


def add_parameters(function, made, *parameters):
    """Give `made`, the wrapper of `function`, its signature with more keyword-only parameters."""
    signature = inspect.signature(function)
    known = list(signature.parameters.values())
    known += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
              for name, default, annotation in parameters if name not in signature.parameters]
    del made.__wrapped__       # else inspect.signature would return the signature of `function`
    made.__signature__ = signature.replace(parameters=known)
    return made


OPTIONS = (("layout", None, "layout | None"), ("pin_memory", False, "bool"), ("memory_format", None, "memory_format | None"))


def takes_storage_options(function):
    """Decorator: give a function that makes a tensor the arguments `layout`, `pin_memory` and `memory_format`."""
    @functools.wraps(function)
    def made(*args, layout=None, pin_memory=False, memory_format=None, **kwargs):
        out = function(*args, **kwargs)
        if layout is None and pin_memory is False and memory_format is None:
            return out
        return storage_options(function.__name__, out, layout, pin_memory, memory_format)
    return add_parameters(function, made, *OPTIONS)


def fills_out(function):
    """Decorator: give a function that makes a tensor `out` and the options; also `size=`, if it takes its sizes as ``*size``."""
    parameters = list(inspect.signature(function).parameters.values())
    sizes = parameters[0].kind is inspect.Parameter.VAR_POSITIONAL

    @functools.wraps(function)
    def made(*args, out=None, layout=None, pin_memory=False, memory_format=None, **kwargs):
        if sizes and not args and "size" in kwargs:
            args = (kwargs.pop("size"),)
        if out is None:
            try:
                found = function(*args, **kwargs)
            except (ValueError, IndexError, MemoryError, OverflowError) as error:
                raise translate_kernel_error(function.__name__, error) from None
            if layout is None and pin_memory is False and memory_format is None:
                return found
            return storage_options(function.__name__, found, layout, pin_memory, memory_format)
        if isinstance(out, TensorBase):
            dtype = kwargs.setdefault("dtype", out.dtype)
            if dtype is not None and dtype is not out.dtype:
                raise DtypeError("MG-E203", f"dtype {dtype} does not match dtype of out parameter ({out.dtype})")
        return storage_options(function.__name__, into(out, function, *args, **kwargs), layout, False, memory_format)

    return add_parameters(function, made, ("out", None, "Tensor | None"), *OPTIONS)
