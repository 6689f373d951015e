"""Checkpoints trade time for memory: they drop the saved tensors of a function, and compute them again in the backward.

    y = checkpoint(f, x, use_reentrant=False)       runs f; saves f and x, but no tensor that the ops of f save
    y.sum().backward()                              runs f again, and uses the tensors that its ops save now

There are two variants. With ``use_reentrant=False`` the graph is the ordinary one, but without its saved tensors; see
``_checkpoint/frames.py``. The older variant, ``use_reentrant=True``, has one node for the whole function, which runs a nested
backward; see `CheckpointFunction`. Use the first: it has no restrictions.

Mirrors ``torch/utils/checkpoint.py``. Read next: ``_checkpoint/frames.py``.
"""

from __future__ import annotations

import contextlib
import contextvars
import warnings
from typing import TYPE_CHECKING

from minigrad._arguments import callable_argument, listed
from minigrad.autograd.grad_mode import is_grad_enabled
from minigrad.errors import AutogradError, TensorValueError
from minigrad.ops.base.arguments import integer
from minigrad.utils._checkpoint.debug import Debug
from minigrad.utils._checkpoint.frames import CheckpointError, Frame, GraphExecGroup, describe_metadata, describe_nothing
from minigrad.utils._checkpoint.reentrant import CheckpointFunction, check_backward_validity, detach_variable
from minigrad.utils._checkpoint.selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, Literal

__all__ = ["SAC_IGNORED_OPS", "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "GraphExecGroup",
           "SelectiveCheckpointContext", "check_backward_validity", "checkpoint", "checkpoint_sequential",
           "create_selective_checkpoint_contexts", "detach_variable", "noop_context_fn", "set_checkpoint_debug_enabled",
           "set_checkpoint_early_stop"]

DETERMINISM_CHECKS = {"default": describe_metadata, "none": describe_nothing}

# None: use the argument of `checkpoint`.
_early_stop = contextvars.ContextVar[bool | None]("minigrad_checkpoint_early_stop", default=None)
_debug = contextvars.ContextVar[bool | None]("minigrad_checkpoint_debug", default=None)


def noop_context_fn() -> tuple[Any, Any]:
    """Return two contexts that do nothing: the default of ``context_fn``.

    Mirrors ``torch.utils.checkpoint.noop_context_fn``.

    >>> forward, recompute = mg.utils.checkpoint.noop_context_fn()
    >>> with forward: pass
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
               context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
               determinism_check: Literal['default', 'none'] = "default", debug: bool = False, early_stop: bool = True,
               preserve_rng_state: bool = True, **kwargs: Any) -> Any:
    """Call ``function(*args, **kwargs)`` without its saved tensors. The backward computes them again.

    Args:
        function (Callable): must do the same each time it is called with the same arguments.
        *args, **kwargs: the arguments of `function`.
        use_reentrant (bool): the variant; use False. True supports only plain `backward` and no keyword arguments, and counts
            tensors inside lists or dicts as constants.
        context_fn (Callable): returns two contexts, for the forward and for the recomputation.
        determinism_check (str): ``"default"`` compares shape, dtype and device of the saved tensors of the two runs; ``"none"``
            does not.
        debug (bool): if the runs differ, the error lists the operations of both.
        early_stop (bool): stop the recomputation when it has all saved tensors.
        preserve_rng_state (bool): use the same random numbers in the recomputation as in the forward.

    `context_fn`, `determinism_check`, `debug` and `early_stop` are for ``use_reentrant=False``. Under `no_grad`, checkpoint only
    calls the function.

    Returns:
        The result of `function`.

    Raises:
        ValueError: two arguments contradict each other, or `determinism_check` is unknown.
        CheckpointError: in the backward, the recomputation saves other tensors than the forward.
        RuntimeError: in the backward, a tensor among the arguments has been written to since the forward.

    Mirrors ``torch.utils.checkpoint.checkpoint``.

    >>> from minigrad.utils.checkpoint import checkpoint
    >>> def block(x):
    ...     print("running")
    ...     return x.sin().exp()
    >>> x = mg.tensor([0.], requires_grad=True)
    >>> y = checkpoint(block, x, use_reentrant=False)
    running
    >>> y.backward(); x.grad
    running
    tensor([1.])
    """
    use_reentrant = _check_variant(use_reentrant, "checkpoint")
    callable_argument(function, "function", "checkpoint")
    if use_reentrant:
        if kwargs:
            raise _make_unexpected_error(kwargs)
        if context_fn is not noop_context_fn or debug is not False:
            raise TensorValueError("MG-E163", "Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in DETERMINISM_CHECKS:
        raise TensorValueError("MG-E163", f"determinism_check should be one of {list(DETERMINISM_CHECKS)}, but got "
                               f"{determinism_check}")
    logs = None
    if debug if _debug.get() is None else _debug.get():
        if context_fn is not noop_context_fn:
            raise TensorValueError("MG-E163", "debug=True is incompatible with non-default context_fn")
        logs = Debug()
        context_fn = logs.make_contexts
    forward_context, recompute_context = context_fn()
    if not is_grad_enabled():
        return function(*args, **kwargs)
    frame = Frame(function, args, kwargs, recompute_context, preserve_rng_state,
                  early_stop if _early_stop.get() is None else _early_stop.get(), DETERMINISM_CHECKS[determinism_check],
                  logs and logs.explain)
    result = None
    with frame.hooks(), forward_context:
        result = function(*args, **kwargs)
        frame.complete = True
    if not frame.complete:
        raise AutogradError("MG-E164", "checkpoint: the forward context provided by context_fn suppressed an exception raised "
                            "during the checkpointed forward: there is no result to return.",
                            fix="let exceptions pass through the context")
    return result


def checkpoint_sequential(functions: Iterable[Callable[..., Any]], segments: int, input: Any, use_reentrant: bool | None = None,
                          **kwargs: Any) -> Any:
    """Call `functions` one after the other, in `segments` parts. Each part except the last is checkpointed.

    Args:
        functions (Sequential or list of callables): each takes the result of the function before it.
        segments (int): the number of parts, of equal length. The last part also has the remaining functions.
        input (Any): the argument of the first function.
        use_reentrant (bool): as for `checkpoint`.
        preserve_rng_state (bool): as for `checkpoint`.

    Returns:
        The result of the last function.

    Raises:
        ValueError: a keyword argument is unknown, or `segments` is not between 1 and the number of functions.

    Mirrors ``torch.utils.checkpoint.checkpoint_sequential``.

    >>> model = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.ReLU(), mg.nn.Linear(3, 1))
    >>> mg.utils.checkpoint.checkpoint_sequential(model, 2, mg.ones(4, 2), use_reentrant=False).shape
    minigrad.Size([4, 1])
    """
    use_reentrant = _check_variant(use_reentrant, "checkpoint_sequential")
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise _make_unexpected_error(kwargs)
    functions = listed(functions, "functions", "checkpoint_sequential", "Sequential or list of callables")
    if not 1 <= integer(segments, "segments", "checkpoint_sequential") <= len(functions):
        raise TensorValueError("MG-E163", "checkpoint_sequential: segments must be between 1 and the number of functions, "
                               f"{len(functions)}, but got {segments}")

    def make_segment(start, end):
        def run(x):
            for function in functions[start:end]:
                x = function(x)
            return x
        return run

    size = len(functions) // segments
    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(make_segment(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return make_segment(last, len(functions))(input)


def _check_variant(use_reentrant, name):
    """Return `use_reentrant`; if it is None, warn and return True."""
    if use_reentrant is None:
        warnings.warn(f"{name}: the use_reentrant parameter should be passed explicitly. It will be True by default for now; "
                      "use_reentrant=False is recommended, as it has no restrictions.", stacklevel=3)
        return True
    return use_reentrant


def _make_unexpected_error(kwargs):
    """Return the error about keyword arguments."""
    return TensorValueError("MG-E163", "Unexpected keyword arguments: " + ",".join(kwargs),
                            fix="use_reentrant=False passes keyword arguments on to the function")


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Context manager: set `early_stop` for all checkpoints made inside, in this thread.

    Args:
        enable (bool): the value. It overrides the argument of `checkpoint`.

    Mirrors ``torch.utils.checkpoint.set_checkpoint_early_stop``.

    >>> from minigrad.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> def block(x):
    ...     y = x.sin()
    ...     print("to the end")
    ...     return y
    >>> x = mg.tensor([0.], requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(block, x, use_reentrant=False)
    to the end
    >>> y.backward()
    to the end
    """
    token = _early_stop.set(enable)
    try:
        yield
    finally:
        _early_stop.reset(token)


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Context manager: set `debug` for all checkpoints made inside, in this thread.

    Args:
        enabled (bool or None): the value. It overrides the argument of `checkpoint`; None uses the argument.

    Mirrors ``torch.utils.checkpoint.set_checkpoint_debug_enabled``.

    >>> with mg.utils.checkpoint.set_checkpoint_debug_enabled(True):
    ...     y = mg.utils.checkpoint.checkpoint(mg.sin, mg.ones(1, requires_grad=True), use_reentrant=False)
    """
    token = _debug.set(enabled)
    try:
        yield
    finally:
        _debug.reset(token)
