"""More names for an argument: ``axis=`` for ``dim=``, ``keepdims=`` for ``keepdim=``, as NumPy spells them.

    mg.cumsum(x, axis=0)        = mg.cumsum(x, dim=0)
    mg.sort(x, way=0)           TypeError: sort() got an unexpected keyword argument 'way', and which arguments it has

PyTorch takes NumPy's names in all functions that are written in C++. Here `accept_names` gives them to the functions with a `dim`.
Such a call first raises the `TypeError` of an unknown keyword; then `retry` renames the keywords and calls again. So a call without
these names costs nothing: a compiled function itself calls `retry` (``_capi/calls.h``). An interpreted one needs a wrapper, which
would cost a compiled one 0.1 us a call. Functions of numbers, such as `exp`, have only their own names.

Mirrors ``numpy_compat_arg_names`` of ``torch/csrc/utils/python_arg_parser.cpp``.
"""

import functools
import inspect
from typing import Any

from cython.cimports.minigrad.ops.base.capi import handle_type_errors

from minigrad.errors import TensorTypeError

__all__ = ["accept_names", "accept_names_everywhere"]

# NumPy's names: name -> parameter
NUMPY = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
# Functions that PyTorch writes in Python; these have only the names of their parameters.
WITHOUT = {"norm", "split", "unique", "unique_consecutive"}
# What a function accepts besides: function -> name -> parameter
OTHERS = {
    "linalg_norm": {"input": "A", "x": "A", "a": "A"},
    "max": {"other": "dim"}, "min": {"other": "dim"}, "scatter": {"value": "src"}, "scatter_": {"value": "src"},
    "split": {"split_size": "split_size_or_sections"},
    **{name: {"sections": "indices_or_sections", "indices": "indices_or_sections"}
       for name in ("tensor_split", "hsplit", "vsplit", "dsplit")},
}


@functools.cache
def names_of(function):
    """The names that `function` accepts besides those of its parameters: name -> parameter."""
    parameters = inspect.signature(function).parameters
    name = function.__name__
    numpy = {} if name in WITHOUT or not {"dim", "keepdim"} & set(parameters) else NUMPY
    return {new: old for new, old in {**numpy, **OTHERS.get(name, {})}.items() if old in parameters and new not in parameters}


def unexpected(function, name):
    """Return the error for an argument that `function` does not have."""
    known = [p for p in inspect.signature(function).parameters.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    also = ", ".join([f"{new}= for {old}=" for new, old in names_of(function).items() if new in ("axis", "keepdims", "value")])
    return TensorTypeError("MG-E201", f"{function.__name__}() got an unexpected keyword argument {name!r}",
                           expected=", ".join([p.name for p in known]) + (f"; also {also}" if also else ""))


def rename(function, given):
    """Return the keyword arguments `given` with the names of the parameters of `function`. Raises `TypeError` for other names."""
    names, parameters = names_of(function), inspect.signature(function).parameters
    renamed: dict[str, Any] = {}
    for name, value in given.items():
        parameter = name if name in parameters else names.get(name)
        if parameter is None or parameters[parameter].kind is inspect.Parameter.VAR_KEYWORD:
            raise unexpected(function, name)
        if parameter in renamed or (parameter in given and parameter != name):
            raise TensorTypeError("MG-E201", f"{function.__name__}() got multiple values for argument {parameter!r}",
                                  found=f"{name}= and {parameter}=")
        renamed[parameter] = value
    return renamed


def retry(function, error, args, kwargs):
    """Call `function`, which has raised `error`, with renamed keywords. Raise `error` if it had all of these keywords."""
    known = inspect.signature(function).parameters
    if all([name in known for name in kwargs]):
        raise error
    return function(*args, **rename(function, kwargs))


def accept_names(function):
    """Decorator: let callers use NumPy's names for the arguments of `function`. Returns `function`, or a wrapper."""
    if handle_type_errors(function, retry):
        return function

    @functools.wraps(function)
    def named(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except TypeError as raised:
            error = raised
        try:
            return retry(function, error, args, kwargs)
        finally:
            del error       # its traceback refers to this frame
    return named


def parameter_names(function):
    """The names of the parameters of `function`. (`inspect.signature` would take 40 us for each.)"""
    while True:
        signature = getattr(function, "__signature__", None)
        if signature is not None:
            return tuple(signature.parameters)
        if not hasattr(function, "__wrapped__"):
            code = function.__code__
            return code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
        function = function.__wrapped__


def accept_names_everywhere(functions):
    """Return the functions with a `dim`, and others that have more names, after `accept_names`: name -> function."""
    wrapped = {}
    for function in functions.values():
        if function in wrapped or not hasattr(function, "__code__"):
            continue
        parameters = parameter_names(function)
        if ("dim" in parameters and function.__name__ not in WITHOUT) or "keepdim" in parameters or function.__name__ in OTHERS:
            wrapped[function] = accept_names(function)
    return {name: wrapped[function] for name, function in functions.items() if function in wrapped}
