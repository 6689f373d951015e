"""What is left of the time when a tensor had to be wrapped to be differentiated: a name, and the engine's handle.

    Variable(x)                                     x without history; use the tensor itself
    Variable._execution_engine.queue_callback(f)    call f() when the running backward is done

Mirrors ``torch/autograd/variable.py`` and ``torch/csrc/autograd/python_engine.cpp``.
"""

import warnings

from minigrad._core.engine import execute
from minigrad.creation import tensor
from minigrad.errors import TensorTypeError
from minigrad.tensor import Tensor

__all__ = ["ImperativeEngine", "Variable"]


class ImperativeEngine:
    """The engine as an object. Mirrors ``torch._C._EngineBase``."""

    def queue_callback(self, callback):
        """Call `callback`, without arguments, when all nodes of the backward that is running have run.

        Callbacks run in the order in which they were installed, before the call of backward returns, and only if
        nothing failed. One may install another.

        Raises:
            RuntimeError: no backward is running.

        >>> x = mg.tensor(2., requires_grad=True)
        >>> queue = mg.autograd.Variable._execution_engine.queue_callback
        >>> handle = x.register_hook(lambda grad: queue(lambda: print("all done:", x.grad.item())))
        >>> (x * 3).backward()
        all done: 3.0
        """
        execute.queue_callback(callback)

    def is_checkpoint_valid(self):
        """Whether no backward that runs in this thread was given ``inputs=``: a reentrant checkpoint needs that."""
        return execute.is_checkpoint_valid()


class VariableMeta(type):
    def __instancecheck__(cls, other):
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """The old name of a tensor: ``Variable(x)`` is x without its history, ``Variable()`` an empty tensor.

    Args:
        data (Tensor, optional)
        requires_grad (bool)
        volatile: had a meaning once. Accepted with a warning; see `minigrad.no_grad`.

    Raises:
        TypeError: `data` is no tensor.

    Mirrors ``torch.autograd.Variable`` (``torch/csrc/autograd/python_variable.cpp``, THPVariable_pynew).

    >>> isinstance(mg.ones(2), mg.autograd.Variable)
    True
    """

    _execution_engine = ImperativeEngine()

    def __new__(cls, data=None, requires_grad=False, volatile=False):
        if volatile:
            warnings.warn("volatile was removed and now has no effect. Use `with minigrad.no_grad():` instead.", UserWarning,
                          stacklevel=2)
        if data is None:
            data = tensor([])
        if not isinstance(data, Tensor):
            raise TensorTypeError("MG-E201", f"Variable data has to be a tensor, but got {type(data).__name__}",
                                  fix="minigrad.tensor(data)")
        return data.detach().requires_grad_(requires_grad)
