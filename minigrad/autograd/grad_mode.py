"""Switching the recording of ops off and on.

    with no_grad(): ...         ops leave no nodes
    with enable_grad(): ...     they do again
    set_grad_enabled(flag)      either, as a context, a decorator, or a plain call
    with inference_mode(): ...  no nodes, and results that can never take part in autograd

and switches of the backward: `set_multithreading_enabled`, `enforce_grad_layout_policy`, `_force_original_view_tracking`.

The modes are per thread. As decorators they also work on generators and coroutines, where the mode holds
while the body runs and not between its steps.

Mirrors ``torch/autograd/grad_mode.py`` and ``torch/utils/_contextlib.py``.
"""

import functools
import threading
import types
import warnings
from typing import Any

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.graph.thread_state import current
from minigrad.errors import AutogradTypeError

__all__ = ["enable_grad", "enforce_grad_layout_policy", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled",
           "is_multithreading_enabled", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


def is_grad_enabled():
    """Whether ops record nodes in this thread. Mirrors ``torch.is_grad_enabled``.

    >>> with mg.no_grad(): mg.is_grad_enabled()
    False
    """
    return current().grad_enabled


def is_inference_mode_enabled():
    """Whether this thread is in inference mode. Mirrors ``torch.is_inference_mode_enabled``.

    >>> mg.is_inference_mode_enabled()
    False
    """
    return current().inference


class Mode:
    """A context manager and decorator that sets the modes of this thread and restores them.

    One object may be entered several times, also nested: it keeps a stack of what to restore.
    """

    def __init__(self):
        self.before = []

    def enter(self, state):
        """Set the modes."""
        raise NotImplementedError

    def clone(self):
        """A fresh context of the same kind: each call of a decorated function gets its own."""
        return type(self)()

    def __enter__(self):
        state = current()
        self.before.append((state.grad_enabled, state.inference, state.forward_enabled))
        self.enter(state)

    def __exit__(self, *exc_info):
        current().set_modes(*self.before.pop())

    def __call__(self, function):
        return decorated(self.clone, function)


class BareMode(Mode):
    """A mode that works as a decorator with and without parentheses."""

    def __new__(cls, orig_func=None):
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)

    def __init__(self, orig_func=None):
        super().__init__()


def decorated(context, function):
    """`function` with a fresh ``context()`` around each call, or around each step of a generator or coroutine."""
    import inspect  # 8 ms: not at every import of minigrad

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
            return (yield from stepwise(context, function(*args, **kwargs)))
        return generate
    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def run(*args, **kwargs):
            return await Stepwise(context, function(*args, **kwargs))
        return run

    @functools.wraps(function)
    def call(*args, **kwargs):
        with context():
            return function(*args, **kwargs)
    return call


def stepwise(context, body):
    """Drive a generator or coroutine, with the mode set only while its body runs."""
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


class Stepwise:
    """An awaitable whose steps run under a mode, so that the mode never leaks into other tasks of the loop."""

    def __init__(self, context, coroutine):
        self.context = context
        self.coroutine = coroutine

    def __await__(self):
        return stepwise(self.context, self.coroutine)


class no_grad(BareMode):
    """Context manager and decorator: ops record no nodes, so nothing is saved for a backward.

    A tensor made inside requires no gradient, whatever its operands do (but a factory called with
    ``requires_grad=True`` still obeys). Mirrors ``torch.no_grad``.

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
    """Switch the recording of nodes on or off: at once, and, as a context manager, until it is left.

    Args:
        mode (bool): on or off.

    Mirrors ``torch.set_grad_enabled``.

    >>> with mg.set_grad_enabled(False):
    ...     mg.is_grad_enabled()
    False
    """

    def __init__(self, mode):
        super().__init__()
        state = current()
        self.prev = state.grad_enabled
        self.mode = mode
        self.enter(state)

    def enter(self, state):
        state.set_modes(bool(self.mode) and not state.inference, state.inference, state.forward_enabled)

    def __enter__(self):
        state = current()
        self.before.append((self.prev, state.inference, state.forward_enabled))
        self.enter(state)

    def clone(self):
        return set_grad_enabled(self.mode)

    def __call__(self, function):
        state = current()
        state.set_modes(self.prev, state.inference, state.forward_enabled)    # undo what the construction did
        return super().__call__(function)

    def __repr__(self):
        return f"set_grad_enabled(mode={self.mode})"


class inference_mode(Mode):
    """Context manager and decorator: like `no_grad`, and the results can never take part in autograd.

    Args:
        mode (bool): False goes back to normal inside inference mode, and switches gradients on.

    Tensors made inside have no version counter. Mirrors ``torch.inference_mode``.

    >>> with mg.inference_mode():
    ...     y = mg.ones(2)
    >>> y.is_inference()
    True
    """

    def __new__(cls, mode=True) -> Any:     # a mode, or a function decorated with one
        if isinstance(mode, (types.FunctionType, type)):
            return cls()(mode)
        return super().__new__(cls)

    def __init__(self, mode=True):
        super().__init__()
        self.mode = mode

    def enter(self, state):
        state.set_modes(not self.mode, bool(self.mode), not self.mode)

    def clone(self):
        return inference_mode(self.mode)


# ---- switches of the backward ----------------------------------------------------------------------------


class Switch:
    """A flag of this thread: set at once, and, as a context manager or decorator, for a while."""

    field = ""
    owner = staticmethod(current)       # whose flag it is, in this thread

    def __init__(self, mode):
        state = self.owner()
        self.prev = getattr(state, self.field)
        self.mode = bool(mode)
        setattr(state, self.field, self.mode)

    def __enter__(self):
        setattr(self.owner(), self.field, self.mode)

    def __exit__(self, *exc_info):
        setattr(self.owner(), self.field, self.prev)

    def __call__(self, function):
        setattr(self.owner(), self.field, self.prev)        # undo what the construction did
        return decorated(lambda: type(self)(self.mode), function)


class set_multithreading_enabled(Switch):
    """Whether a backward may use threads other than the calling one.

    Ours never does for ordinary work, so this changes nothing; it is here because
    ``graph._current_graph_task_execution_order`` asks for it. Mirrors ``torch.autograd.set_multithreading_enabled``.

    >>> with mg.autograd.set_multithreading_enabled(False):
    ...     mg.autograd.is_multithreading_enabled()
    False
    """

    field = "multithreading"


def is_multithreading_enabled():
    """Whether `set_multithreading_enabled` is on in this thread, as it is by default.

    >>> mg.autograd.is_multithreading_enabled()
    True
    """
    return current().multithreading


class enforce_grad_layout_policy(Switch):
    """Whether the first ``.grad`` of a leaf must have the leaf's memory layout, even if that takes a copy.

    Args:
        enable (bool): False takes a gradient that nobody else holds as it is.

    Mirrors ``torch.autograd.enforce_grad_layout_policy``.

    >>> w = mg.ones(2, 3).T.requires_grad_()
    >>> with mg.autograd.enforce_grad_layout_policy(False):
    ...     w.backward(mg.ones(3, 2) * 2)
    >>> w.grad.shape
    minigrad.Size([3, 2])
    """

    field = "grad_layout"

    def __init__(self, enable=True):
        super().__init__(enable)


class Replay(threading.local):
    """Whether `_force_original_view_tracking` is on."""

    view_replay = False


_replay = Replay()


class _force_original_view_tracking(Switch):
    """Whether a view whose base was written to gets its history from the chain of views that led to it.

    Args:
        mode (bool): on or off; off by default.

    Ours always gets it from the base in one step, by its strides (``_core/mutation/views.py``). The gradients are the same,
    and only the names of the nodes would tell the difference; so this changes nothing, and is here for programs that set it.
    Mirrors ``torch.autograd.grad_mode._force_original_view_tracking``.

    >>> with mg.autograd.grad_mode._force_original_view_tracking(True):
    ...     x = mg.ones(2, 2, requires_grad=True) * 1
    ...     row = x[0]
    ...     x.mul_(3).shape, row.grad_fn.name()
    (minigrad.Size([2, 2]), 'AsStridedBackward0')
    """

    field = "view_replay"

    @staticmethod
    def owner():
        """The flags of this thread that the core does not know."""
        return _replay


class _unsafe_preserve_version_counter:
    """Context manager: on leaving it, the versions of tensors are set back, so that writes inside go unnoticed.

    Args:
        tensors (Tensor or tuple of Tensors): whose writes count for nothing. Whoever has saved them gets whatever is there
            then: this is for restoring numbers that had been put elsewhere, and for nothing else.

    Raises:
        AssertionError: it is neither.

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
