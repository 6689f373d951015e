"""`compile`, which returns the function as it is: minigrad runs every op immediately. Mirrors ``torch/compiler/__init__.py``."""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from minigrad._warnings import warn_once
from minigrad.errors import TensorTypeError

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
           "is_dynamo_compiling", "is_exporting", "list_backends", "reset", "set_stance"]


def compile(model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: Any = "inductor",
            mode: str | None = None, options: dict[str, Any] | None = None, name: str | None = None, disable: bool = False,
            recompile_limit: int | None = None, isolate_recompiles: bool = False, shapes_spec: Any = None) -> Any:
    """Return `model` unchanged, a function or a module, and warn once. It is also a decorator, with and without arguments.

    Args:
        model (Callable, optional): the function or module. Without it, the result is a decorator.
        fullgraph, dynamic, backend, mode, options, name, recompile_limit, isolate_recompiles, shapes_spec: accepted as in PyTorch.
        disable (bool): True for no warning.

    Mirrors ``torch.compile``, whose result computes the same.

    >>> @mg.compile(disable=True)
    ... def f(x):
    ...     return x * 2
    >>> f(mg.ones(2))
    tensor([2., 2.])
    """
    if not isinstance(disable, bool):
        raise TensorTypeError("MG-E201", f"compile(): argument 'disable' must be bool, not {type(disable).__name__}")
    if not disable:
        warn_once("compile: minigrad has no compiler for models, so the function or module stays as it is, and computes the same",
                  stacklevel=2)
    return functools.partial(compile, disable=True) if model is None else model


def disable(fn=None, recursive=True, *, reason=None):
    """Return `fn` unchanged. Mirrors ``torch.compiler.disable``.

    >>> mg.compiler.disable(len)("abc")
    3
    """
    return disable if fn is None else fn


def allow_in_graph(fn):
    """Return `fn` unchanged. Mirrors ``torch.compiler.allow_in_graph``.

    >>> mg.compiler.allow_in_graph(len)("abc")
    3
    """
    return fn


def assume_constant_result(fn):
    """Return `fn` unchanged. Mirrors ``torch.compiler.assume_constant_result``.

    >>> mg.compiler.assume_constant_result(len)("abc")
    3
    """
    return fn


def reset():
    """Do nothing: there is no compiled code. Mirrors ``torch.compiler.reset``.

    >>> mg.compiler.reset()
    """


def cudagraph_mark_step_begin():
    """Do nothing: there is no compiled code. Mirrors ``torch.compiler.cudagraph_mark_step_begin``.

    >>> mg.compiler.cudagraph_mark_step_begin()
    """


def set_stance(stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
    """Context manager that does nothing: there is no compiled code. Mirrors ``torch.compiler.set_stance``.

    >>> with mg.compiler.set_stance("force_eager"):
    ...     x = mg.ones(2)
    """
    return contextlib.nullcontext()


def list_backends(exclude_tags=("debug", "experimental")):
    """The compilers: none. Mirrors ``torch.compiler.list_backends``.

    >>> mg.compiler.list_backends()
    []
    """
    return []


def is_compiling():
    """False. Mirrors ``torch.compiler.is_compiling``.

    >>> mg.compiler.is_compiling()
    False
    """
    return False


def is_dynamo_compiling():
    """False. Mirrors ``torch.compiler.is_dynamo_compiling``.

    >>> mg.compiler.is_dynamo_compiling()
    False
    """
    return False


def is_exporting():
    """False. Mirrors ``torch.compiler.is_exporting``.

    >>> mg.compiler.is_exporting()
    False
    """
    return False
