"""Modes that switch the recording of ops off and on.

    with no_grad(): ...         ops record no nodes
    with enable_grad(): ...     ops record nodes, also inside no_grad
    set_grad_enabled(flag)      one or the other, as a context manager, a decorator or a plain call
    with inference_mode(): ...  no nodes, and the results can never take part in autograd

This file also has the settings of the backward: `set_multithreading_enabled`, `enforce_grad_layout_policy` and
`_force_original_view_tracking`.

Each thread has its own modes. As decorators they also work on generators and coroutines: the mode is set while the body runs,
not between its steps.

Mirrors ``torch/autograd/grad_mode.py`` and ``torch/utils/_contextlib.py``.
"""

from __future__ import annotations

import functools
import types
import warnings
from _thread import _local as ThreadLocal  # threading.local, without the import of threading
from typing import TYPE_CHECKING, Any

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.graph.thread_state import current
from minigrad.errors import AutogradTypeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

__all__ = ["enable_grad", "enforce_grad_layout_policy", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled",
           "is_multithreading_enabled", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


def is_grad_enabled() -> bool:
    """Return whether ops record nodes in this thread. Mirrors ``torch.is_grad_enabled``.

    >>> with mg.no_grad(): mg.is_grad_enabled()
    False
    """
    return current().grad_enabled


def is_inference_mode_enabled() -> bool:
    """Return whether this thread is in inference mode. Mirrors ``torch.is_inference_mode_enabled``.

    >>> mg.is_inference_mode_enabled()
    False
    """
    return current().inference


class Mode:
    """A context manager and decorator that sets the modes of this thread and restores them.

    You may enter one object several times, also nested: it has a stack of the modes to restore.
    """

    def __init__(self):
        self.before = []

    def enter(self, state):
        """Set the modes in `state`, the state of this thread."""
        raise NotImplementedError

    def clone(self) -> Self:
        """Return a new context of the same kind: each call of a decorated function enters its own."""
        return type(self)()

    def __enter__(self) -> None:
        state = current()
        self.before.append((state.grad_enabled, state.inference, state.forward_enabled))
        self.enter(state)

    def __exit__(self, *exc_info: Any) -> None:
        current().set_modes(*self.before.pop())

    def __call__(self, function: Callable[..., Any]) -> Any:
        return decorate(self.clone, function)


class BareMode(Mode):
    """A mode that works as a decorator with and without parentheses."""

    def __new__(cls, orig_func=None):
        return object.__new__(cls) if orig_func is None else cls()(orig_func)

    def __init__(self, orig_func: Callable[..., Any] | None = None) -> None:
        self.before = []        # without super(): each step of an optimizer makes one


def decorate(context, function):
    """Wrap `function`: each call, or each step of a generator or coroutine, runs inside a new ``context()``."""
    import inspect  # here and not at the top: importing it takes 8 ms

    if inspect.isclass(function):
        warnings.warn("Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                      "functions or methods. To preserve the current behavior of class decoration, you can directly decorate the "
                      "`__init__` method and nothing else.", FutureWarning, stacklevel=3)

        @functools.wraps(function, updated=())
        def make(*args, **kwargs):
            with context():
                return function(*args, **kwargs)
        return make
    if inspect.isasyncgenfunction(function):
        raise AutogradTypeError("MG-E117", "an async generator cannot be decorated with a grad mode: use `with` inside it",
                                found=function.__name__)
    if inspect.isgeneratorfunction(function):
        @functools.wraps(function)
        def generate(*args, **kwargs):
            return (yield from run_steps(context, function(*args, **kwargs)))
        return generate
    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def run(*args, **kwargs):
            return await ModeAwaitable(context, function(*args, **kwargs))
        return run

    @functools.wraps(function)
    def call(*args, **kwargs):
        with context():
            return function(*args, **kwargs)
    return call


def run_steps(context, body):
    """Run a generator or coroutine step by step. The mode is set only while the body runs."""
    try:
        with context():
            out = body.send(None)
        while True:
            try:
                sent = yield out
            except GeneratorExit:
                with context():
                    body.close()
                raise
            except BaseException as error:
                with context():
                    out = body.throw(error)
            else:
                with context():
                    out = body.send(sent)
    except StopIteration as stop:
        return stop.value


class ModeAwaitable:
    """An awaitable whose steps run inside a mode. Between the steps, other tasks of the event loop run without the mode."""

    def __init__(self, context, coroutine):
        self.context = context
        self.coroutine = coroutine

    def __await__(self):
        return run_steps(self.context, self.coroutine)


class no_grad(BareMode):
    """Context manager and decorator: ops record no nodes, and save nothing for a backward.

    The result of an op inside requires no gradient, even if an operand does. A factory function still follows its argument
    ``requires_grad=True``. Mirrors ``torch.no_grad``.

    >>> x = mg.tensor([1.], requires_grad=True)
    >>> with mg.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    def enter(self, state):
        state.set_modes(False, state.inference, state.forward_enabled)


class enable_grad(BareMode):
    """Context manager and decorator: ops record nodes, also inside `no_grad`. Mirrors ``torch.enable_grad``.

    >>> x = mg.tensor([1.], requires_grad=True)
    >>> with mg.no_grad(), mg.enable_grad():
    ...     (x * 2).requires_grad
    True
    """

    def enter(self, state):
        state.set_modes(not state.inference, state.inference, state.forward_enabled)


class set_grad_enabled(Mode):
    """Switch the recording of nodes on or off: immediately, and as a context manager or decorator until the block ends.

    Args:
        mode (bool): whether ops record nodes.

    Mirrors ``torch.set_grad_enabled``.

    >>> with mg.set_grad_enabled(False):
    ...     mg.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        state = current()
        self.prev = state.grad_enabled
        self.mode = mode
        self.enter(state)

    def enter(self, state):
        state.set_modes(bool(self.mode) and not state.inference, state.inference, state.forward_enabled)

    def __enter__(self) -> None:
        state = current()
        self.before.append((self.prev, state.inference, state.forward_enabled))
        self.enter(state)

    def clone(self) -> Self:
        return set_grad_enabled(self.mode)  # pyright: ignore[reportReturnType]

    def __call__(self, function: Callable[..., Any]) -> Any:
        state = current()
        state.set_modes(self.prev, state.inference, state.forward_enabled)    # restore what __init__ changed
        return super().__call__(function)

    def __repr__(self) -> str:
        return f"set_grad_enabled(mode={self.mode})"


class inference_mode(Mode):
    """Context manager and decorator: like `no_grad`, and the results are inference tensors.

    An inference tensor has no version counter, and no graph can save it.

    Args:
        mode (bool): False leaves inference mode inside the block, and enables gradients.

    Mirrors ``torch.inference_mode``.

    >>> with mg.inference_mode():
    ...     y = mg.ones(2)
    >>> y.is_inference()
    True
    """

    def __new__(cls, mode=True) -> Any:     # `mode` is a function if `@inference_mode` has no parentheses
        if isinstance(mode, (types.FunctionType, type)):
            return cls()(mode)
        return super().__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = mode

    def enter(self, state):
        state.set_modes(not self.mode, bool(self.mode), not self.mode)

    def clone(self) -> Self:
        return inference_mode(self.mode)


# ---- settings of the backward ----------------------------------------------------------------------------


class Switch:
    """Sets a flag of this thread: immediately, and as a context manager or decorator until the block ends."""

    field = ""
    owner = staticmethod(current)       # returns the object of this thread that has the flag

    def __init__(self, mode: bool) -> None:
        state = self.owner()
        self.prev = getattr(state, self.field)
        self.mode = bool(mode)
        setattr(state, self.field, self.mode)

    def __enter__(self) -> None:
        setattr(self.owner(), self.field, self.mode)

    def __exit__(self, *exc_info: Any) -> None:
        setattr(self.owner(), self.field, self.prev)

    def __call__(self, function: Callable[..., Any]) -> Any:
        setattr(self.owner(), self.field, self.prev)        # restore what __init__ changed
        return decorate(lambda: type(self)(self.mode), function)


class set_multithreading_enabled(Switch):
    """Allow or forbid a backward to use other threads than the calling one.

    The flag changes nothing in the backward: minigrad runs it in the calling thread in any case. Only
    ``graph._current_graph_task_execution_order`` requires that the flag is off.

    Args:
        mode (bool): whether other threads are allowed.

    Mirrors ``torch.autograd.set_multithreading_enabled``.

    >>> with mg.autograd.set_multithreading_enabled(False):
    ...     mg.autograd.is_multithreading_enabled()
    False
    """

    field = "multithreading"


def is_multithreading_enabled() -> bool:
    """Return whether `set_multithreading_enabled` is on in this thread. It is on by default.

    Mirrors ``torch.autograd.is_multithreading_enabled``.

    >>> mg.autograd.is_multithreading_enabled()
    True
    """
    return current().multithreading


class enforce_grad_layout_policy(Switch):
    """Require, or do not require, that the first ``.grad`` of a leaf has the memory layout of the leaf.

    Args:
        enable (bool): True copies a gradient with another layout. False stores a gradient that nothing else refers to, without a
            copy.

    Mirrors ``torch.autograd.enforce_grad_layout_policy``.

    >>> w = mg.ones(2, 3).T.requires_grad_()
    >>> with mg.autograd.enforce_grad_layout_policy(False):
    ...     w.backward(mg.ones(3, 2) * 2)
    >>> w.grad.shape
    minigrad.Size([3, 2])
    """

    field = "grad_layout"

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)


class Replay(ThreadLocal):
    """The flag of `_force_original_view_tracking`, for each thread."""

    view_replay = False


_replay = Replay()


class _force_original_view_tracking(Switch):
    """Accepted as in PyTorch: regenerate the history of a stale view by the views that led to it, one by one.

    Args:
        mode (bool): has no effect. False by default.

    minigrad always regenerates the history of a view from its base in one step, from the strides (``_core/mutation/views.py``). The
    gradients are the same; only the names of the nodes differ.
    Mirrors ``torch.autograd.grad_mode._force_original_view_tracking``.

    >>> with mg.autograd.grad_mode._force_original_view_tracking(True):
    ...     x = mg.ones(2, 2, requires_grad=True) * 1
    ...     row = x[0]
    ...     x.mul_(3).shape, row.grad_fn.name()
    (minigrad.Size([2, 2]), 'AsStridedBackward0')
    """

    field = "view_replay"

    @staticmethod
    def owner() -> Any:
        """Return the object with the flag: the core does not have it."""
        return _replay


class _unsafe_preserve_version_counter:
    """Context manager: restore the versions of tensors at the end, so that autograd does not see the writes inside.

    Use it only to write back the numbers that a tensor had before: a node that has saved the tensor computes with the
    numbers that are in it when the backward runs.

    Args:
        tensors (Tensor or tuple of Tensors): the tensors whose versions are restored.

    Raises:
        AssertionError: `tensors` is neither a tensor nor a tuple.

    Mirrors ``torch.autograd._unsafe_preserve_version_counter``.

    >>> x = mg.ones(2)
    >>> with mg.autograd._unsafe_preserve_version_counter(x):
    ...     x.zero_()
    tensor([0., 0.])
    >>> x._version
    0
    """

    def __init__(self, tensors):
        self.tensors = (tensors,) if isinstance(tensors, TensorBase) else tensors
        if not isinstance(self.tensors, tuple):
            raise AssertionError("Expected tensors to be a tuple")
        self.versions = tuple([x._version for x in self.tensors])

    def __enter__(self):
        return None

    def __exit__(self, *exc_info):
        for x, version in zip(self.tensors, self.versions):
            x._set_version(version)
