"""TorchScript, which minigrad does not have: a scripted or traced function is the function as it is. Mirrors ``torch/jit``."""

import builtins
import contextlib
import typing
from collections import namedtuple

from minigrad._absent import absent
from minigrad._arguments import callable_argument, instance
from minigrad._warnings import warn_once
from minigrad.futures import Future
from minigrad.nn.modules.module import Module
from minigrad.ops.base.arguments import wrong_type

__all__ = ["Attribute", "Final", "Future", "ScriptModule", "annotate", "export", "fork", "freeze", "ignore", "interface",
           "is_scripting", "is_tracing", "isinstance", "load", "optimize_for_inference", "optimized_execution", "save", "script",
           "script_if_tracing", "script_method", "trace", "trace_module", "unused", "wait"]

ScriptModule = Module
Final = typing.Final


class Attribute(namedtuple("Attribute", ["value", "type"])):
    """A value with a type for TorchScript. Mirrors ``torch.jit.Attribute``.

    >>> mg.jit.Attribute(3, int).value
    3
    """

    __slots__ = ()


def warn():
    """Say once that nothing is compiled."""
    warn_once("jit: minigrad has no TorchScript, so the function or module stays as it is, and computes the same", stacklevel=3)


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """Return a function, class or module unchanged, and warn once. Mirrors ``torch.jit.script``.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     f = mg.jit.script(lambda x: x * 2)
    >>> f(mg.ones(2))
    tensor([2., 2.])
    """
    warn()
    return obj


def trace(func, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True,
          _force_outplace=False, _module_class=None, example_kwarg_inputs=None):
    """Return a function or module unchanged, and warn once. In PyTorch the result repeats the ops of one call.

    Mirrors ``torch.jit.trace``.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     f = mg.jit.trace(mg.nn.ReLU(), mg.ones(2))
    >>> f(mg.ones(2))
    tensor([1., 1.])
    """
    warn()
    return func


def trace_module(mod, inputs, *args, **kwargs):
    """Return a module unchanged, and warn once. Mirrors ``torch.jit.trace_module``.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     module = mg.jit.trace_module(mg.nn.ReLU(), {"forward": mg.ones(2)})
    """
    warn()
    return mod


def save(m, f, _extra_files=None):
    """Raise `NotImplementedError`: there is no program to save. Mirrors ``torch.jit.save``.

    >>> mg.jit.save(mg.nn.ReLU(), "relu.pt")
    Traceback (most recent call last):
    NotImplementedError: minigrad has no torch.jit.save
      fix:      mg.save(model.state_dict(), f); to load it, build the model and call load_state_dict
      help:     mg.explain("MG-E510")
    """
    raise absent("torch.jit.save", "mg.save(model.state_dict(), f); to load it, build the model and call load_state_dict")


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """Raise `NotImplementedError`: minigrad cannot run a saved program. Mirrors ``torch.jit.load``.

    >>> mg.jit.load("relu.pt")
    Traceback (most recent call last):
    NotImplementedError: minigrad has no torch.jit.load
      fix:      in PyTorch: torch.save(torch.jit.load(f).state_dict(), g); then mg.load(g)
      help:     mg.explain("MG-E510")
    """
    raise absent("torch.jit.load", "in PyTorch: torch.save(torch.jit.load(f).state_dict(), g); then mg.load(g)")


def ignore(drop=False, **kwargs):
    """Decorator that returns its function unchanged, with and without arguments. Mirrors ``torch.jit.ignore``.

    >>> mg.jit.ignore(len)("abc")
    3
    """
    return drop if callable(drop) else unchanged


def unchanged(fn):
    """Return `fn`."""
    return fn


def unused(fn):
    """Decorator that returns its function unchanged. Mirrors ``torch.jit.unused``.

    >>> mg.jit.unused(len)("abc")
    3
    """
    return fn


def export(fn):
    """Decorator that returns its function unchanged. Mirrors ``torch.jit.export``.

    >>> mg.jit.export(len)("abc")
    3
    """
    return fn


def script_method(fn):
    """Decorator that returns its function unchanged. Mirrors ``torch.jit.script_method``.

    >>> mg.jit.script_method(len)("abc")
    3
    """
    return fn


def script_if_tracing(fn):
    """Decorator that returns its function unchanged. Mirrors ``torch.jit.script_if_tracing``.

    >>> mg.jit.script_if_tracing(len)("abc")
    3
    """
    return fn


def interface(obj):
    """Decorator that returns its class unchanged. Mirrors ``torch.jit.interface``.

    >>> mg.jit.interface(int)
    <class 'int'>
    """
    return obj


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """Return a module unchanged. Mirrors ``torch.jit.freeze``.

    >>> mg.jit.freeze(mg.nn.ReLU())
    ReLU()
    """
    return mod


def optimize_for_inference(mod, other_methods=None):
    """Return a module unchanged. Mirrors ``torch.jit.optimize_for_inference``.

    >>> mg.jit.optimize_for_inference(mg.nn.ReLU())
    ReLU()
    """
    return mod


def optimized_execution(should_optimize):
    """Context manager that does nothing. Mirrors ``torch.jit.optimized_execution``.

    >>> with mg.jit.optimized_execution(True):
    ...     x = mg.ones(2)
    """
    return contextlib.nullcontext()


def annotate(the_type, the_value):
    """Return `the_value`. Mirrors ``torch.jit.annotate``.

    >>> mg.jit.annotate(int, 3)
    3
    """
    return the_value


def isinstance(obj, target_type):
    """Python's `isinstance`, for plain classes. Mirrors ``torch.jit.isinstance``.

    >>> mg.jit.isinstance(3, int)
    True
    """
    try:
        return builtins.isinstance(obj, typing.get_origin(target_type) or target_type)
    except TypeError:
        raise wrong_type("isinstance", "target_type", "class", target_type) from None


def is_scripting():
    """False. Mirrors ``torch.jit.is_scripting``.

    >>> mg.jit.is_scripting()
    False
    """
    return False


def is_tracing():
    """False. Mirrors ``torch.jit.is_tracing``.

    >>> mg.jit.is_tracing()
    False
    """
    return False


def fork(func, *args, **kwargs):
    """Call `func` immediately; return a `Future` with its result. Mirrors ``torch.jit.fork``.

    >>> mg.jit.wait(mg.jit.fork(max, 2, 3))
    3
    """
    callable_argument(func, "func", "fork")
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future):
    """The result of a `Future`. Mirrors ``torch.jit.wait``.

    >>> mg.jit.wait(mg.jit.fork(max, 2, 3))
    3
    """
    return instance(future, Future, "future", "wait").wait()
