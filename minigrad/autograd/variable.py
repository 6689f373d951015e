"""`Variable`, the old class that wrapped a tensor to differentiate it, and the engine as an object.

    Variable(x)                                     x without its history; new programs use the tensor itself
    Variable._execution_engine.queue_callback(f)    call f() at the end of the running backward

Mirrors ``torch/autograd/variable.py`` and ``torch/csrc/autograd/python_engine.cpp``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from minigrad._core.engine import execute
from minigrad.creation import tensor
from minigrad.errors import TensorTypeError
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

__all__ = ["ImperativeEngine", "Variable"]


class ImperativeEngine:
    """The engine as an object. Mirrors ``torch._C._EngineBase``."""

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Call `callback` at the end of the running backward, after all its nodes.

        Callbacks run in the order in which they were queued, before the call of backward returns. If the backward fails, they do
        not run. A callback may queue another callback.

        Args:
            callback (Callable): a function without arguments. Its result is ignored.

        Raises:
            RuntimeError: no backward is running.

        Mirrors ``queue_callback`` of ``torch.autograd.Variable._execution_engine``.

        >>> x = mg.tensor(2., requires_grad=True)
        >>> queue = mg.autograd.Variable._execution_engine.queue_callback
        >>> handle = x.register_hook(lambda grad: queue(lambda: print("all done:", x.grad.item())))
        >>> (x * 3).backward()
        all done: 3.0
        """
        execute.queue_callback(callback)

    def is_checkpoint_valid(self) -> bool:
        """Return False if a running backward of this thread has ``inputs=``, which a reentrant checkpoint cannot handle.

        Mirrors ``is_checkpoint_valid`` of ``torch.autograd.Variable._execution_engine``.

        >>> mg.autograd.Variable._execution_engine.is_checkpoint_valid()
        True
        """
        return execute.is_checkpoint_valid()


class VariableMeta(type):
    """Makes ``isinstance(x, Variable)`` true for every tensor. Mirrors ``torch.autograd.variable.VariableMeta``."""

    def __instancecheck__(cls, other):
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """The old name of a tensor: ``Variable(x)`` is x without its history, ``Variable()`` an empty tensor.

    Args:
        data (Tensor, optional): the tensor whose values the result shares.
        requires_grad (bool): whether the result requires a gradient.
        volatile (bool): accepted with a warning, and ignored. Use `minigrad.no_grad`.

    Returns:
        Tensor: a detached tensor that shares the memory of `data`.

    Raises:
        TypeError: `data` is not a tensor.

    Mirrors ``torch.autograd.Variable`` (``torch/csrc/autograd/python_variable.cpp``, THPVariable_pynew).

    >>> isinstance(mg.ones(2), mg.autograd.Variable)
    True
    """

    _execution_engine = ImperativeEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Self:
        if volatile:
            warnings.warn("volatile was removed and now has no effect. Use `with minigrad.no_grad():` instead.", UserWarning,
                          stacklevel=2)
        if data is None:
            data = tensor([])
        if not isinstance(data, Tensor):
            raise TensorTypeError("MG-E201", f"Variable data has to be a tensor, but got {type(data).__name__}",
                                  fix="minigrad.tensor(data)")
        return data.detach().requires_grad_(requires_grad)  # pyright: ignore[reportReturnType]
