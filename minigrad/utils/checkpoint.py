"""Trading time for memory: what a function saves for its backward is thrown away, and computed again when it is needed.

    y = checkpoint(f, x, use_reentrant=False)       f runs; of what its ops save nothing is kept, only f and x
    y.sum().backward()                              f runs again, its saved tensors are used and dropped

There are two variants. ``use_reentrant=False`` leaves the graph as it is and replaces what is saved in it; see
``_checkpoint/frames.py``. ``use_reentrant=True``, the older one, hides the function behind one node, which runs a
backward of its own within the backward; see `CheckpointFunction`. The first has no restrictions; take it.

Mirrors ``torch/utils/checkpoint.py``. Read next: ``_checkpoint/frames.py``.
"""

import contextlib
import contextvars
import warnings

from minigrad._arguments import listed
from minigrad.autograd.grad_mode import is_grad_enabled
from minigrad.errors import AutogradError, TensorValueError
from minigrad.ops.base.rule import integer
from minigrad.utils._checkpoint.debug import Debug
from minigrad.utils._checkpoint.frames import CheckpointError, Frame, GraphExecGroup, metadata, nothing
from minigrad.utils._checkpoint.reentrant import CheckpointFunction, check_backward_validity, detach_variable
from minigrad.utils._checkpoint.selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = ["SAC_IGNORED_OPS", "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "GraphExecGroup",
           "SelectiveCheckpointContext", "check_backward_validity", "checkpoint", "checkpoint_sequential",
           "create_selective_checkpoint_contexts", "detach_variable", "noop_context_fn", "set_checkpoint_debug_enabled",
           "set_checkpoint_early_stop"]

DETERMINISM_CHECKS = {"default": metadata, "none": nothing}

# None: as the argument of `checkpoint` says.
_early_stop = contextvars.ContextVar("minigrad_checkpoint_early_stop", default=None)
_debug = contextvars.ContextVar("minigrad_checkpoint_debug", default=None)


def noop_context_fn():
    """The default of ``context_fn``: two contexts that do nothing. Mirrors ``torch.utils.checkpoint.noop_context_fn``.

    >>> forward, recompute = mg.utils.checkpoint.noop_context_fn()
    >>> with forward: pass
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default", debug=False,
               early_stop=True, preserve_rng_state=True, **kwargs):
    """``function(*args, **kwargs)``, whose saved tensors are computed again in the backward instead of being kept.

    Args:
        function (callable): does the same each time it is called with the same arguments.
        use_reentrant (bool): which variant; give False. True supports only plain `backward`, no keyword arguments, and tracks
            no tensors inside of lists or dicts.
        context_fn (callable): returns two contexts, for the forward and for the recomputation.
        determinism_check (str): ``"default"`` compares shape, dtype and device of what is saved in the two runs; ``"none"``
            does not.
        debug (bool): if the runs differ, the error lists the operations of both.
        early_stop (bool): end the recomputation once everything is there that is needed.
        preserve_rng_state (bool): the recomputation sees the same random numbers as the forward.

    `context_fn`, `determinism_check`, `debug` and `early_stop` are for ``use_reentrant=False``. Without gradients (`no_grad`) the
    function is just called.

    Raises:
        ValueError: arguments that do not go together, or an unknown `determinism_check`.
        CheckpointError: in the backward, if the recomputation did not save what the forward did.
        RuntimeError: in the backward, if a tensor among the arguments has been written to since.

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
    use_reentrant = _variant(use_reentrant, "checkpoint")
    if use_reentrant:
        if kwargs:
            raise _unexpected(kwargs)
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
        context_fn = logs.contexts
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
                            "during the checkpointed forward: there is no result to return.", fix="let exceptions pass")
    return result


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Call `functions` one after the other on `input`, in `segments` parts, all but the last of them checkpointed.

    Args:
        functions (Sequential or list of callables): each is called with the result of the one before.
        segments (int): how many parts; the last one also takes what cannot be divided.
        preserve_rng_state (bool): as in `checkpoint`.

    Raises:
        ValueError: unknown keyword arguments, or `segments` is not between 1 and the number of functions.

    Mirrors ``torch.utils.checkpoint.checkpoint_sequential``.

    >>> model = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.ReLU(), mg.nn.Linear(3, 1))
    >>> mg.utils.checkpoint.checkpoint_sequential(model, 2, mg.ones(4, 2), use_reentrant=False).shape
    minigrad.Size([4, 1])
    """
    use_reentrant = _variant(use_reentrant, "checkpoint_sequential")
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise _unexpected(kwargs)
    functions = listed(functions, "functions", "checkpoint_sequential", "Sequential or list of callables")
    if not 1 <= integer(segments, "segments", "checkpoint_sequential") <= len(functions):
        raise TensorValueError("MG-E163", "checkpoint_sequential: segments has to lie between 1 and the number of functions, "
                               f"{len(functions)}, but got {segments}")

    def part(start, end):
        def run(x):
            for function in functions[start:end]:
                x = function(x)
            return x
        return run

    size = len(functions) // segments
    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(part(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(last, len(functions))(input)


def _variant(use_reentrant, name):
    """`use_reentrant`, or True with a warning."""
    if use_reentrant is None:
        warnings.warn(f"{name}: the use_reentrant parameter should be passed explicitly. It will be True by default for now; "
                      "use_reentrant=False is recommended, as it has no restrictions.", stacklevel=3)
        return True
    return use_reentrant


def _unexpected(kwargs):
    return TensorValueError("MG-E163", "Unexpected keyword arguments: " + ",".join(kwargs),
                            fix="use_reentrant=False passes keyword arguments on to the function")


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Context manager: whether checkpoints made inside end their recomputation early, whatever their argument says.

    It holds for this thread. Mirrors ``torch.utils.checkpoint.set_checkpoint_early_stop``.

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
def set_checkpoint_debug_enabled(enabled):
    """Context manager: ``debug=enabled`` for the checkpoints made inside; None leaves it to their argument.

    It holds for this thread. Mirrors ``torch.utils.checkpoint.set_checkpoint_debug_enabled``.

    >>> with mg.utils.checkpoint.set_checkpoint_debug_enabled(True):
    ...     y = mg.utils.checkpoint.checkpoint(mg.sin, mg.ones(1, requires_grad=True), use_reentrant=False)
    """
    token = _debug.set(enabled)
    try:
        yield
    finally:
        _debug.reset(token)
