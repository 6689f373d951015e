"""Checkpointing with hooks on saved tensors: the graph is the ordinary one, but without its saved tensors.

    forward     each tensor that an op in the function saves     op's node ── Holder 0 ─┐
                is replaced by an empty Holder                   op's node ── Holder 1 ─┤
                                                                                        ├─ Frame: function, inputs
    backward    the first Holder that the backward reads makes                          │
                the frame run the function again; its ops save                     runs ┘
                the same tensors in the same order                    GraphTask ─> Run: {0: value, 1: value}

A `Frame` is one checkpointed call. The holders keep the frame alive, and the frame refers to them weakly, so it is freed with the
graph. A `Run` is one recomputation. It belongs to the backward that needs it, and is freed with that backward. It drops each value
when the backward reads it.

Note [Stopping a recomputation early]
    When the run has the last value, the rest of the function is not needed. So the hook that receives this value raises `Stop`, and
    `Frame.run_again` catches it. `Stop` is not an `Exception`, so that an ``except Exception`` of the function does not
    catch it. If the function catches it with a bare ``except``, the next saved tensor raises it again.
    Most ops save their tensors after they have run. If the last op saves its inputs, it does not need to run, and it may be half
    of the work. So while only a few values are `missing`, ops take the slower path, which saves the inputs first
    (`save_early` in ``_core/record/packed_tensor.py``). An interceptor that only runs the op switches to this path.

Note [Nested checkpoints]
    Only the innermost pair of hooks is called. So the tensors that an inner checkpointed function saves go to the inner frame. The
    inner frame saves its inputs under the hooks of the outer frame. When the backward reads a holder of the inner frame, the
    inner function must run again. It needs its inputs, and so the outer function runs again first.
    A backward inside the function finds a frame that is not `complete`. The recomputation may then save more tensors than the
    forward has saved so far.

Mirrors ``_CheckpointFrame``, ``_recomputation_hook`` and ``_checkpoint_hook`` of ``torch/utils/checkpoint.py``. Read next:
``_checkpoint/selective.py``.
"""

import contextvars
import weakref

from minigrad import random
from minigrad._core.engine.execute import current_task
from minigrad._core.graph.thread_state import current
from minigrad._core.record.saved_tensor import SavedTensors
from minigrad.autograd.grad_mode import enable_grad
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.errors import AutogradError
from minigrad.tensor import Tensor
from minigrad.utils._python_dispatch import get_operator


class CheckpointError(AutogradError):
    """The recomputation of a checkpointed function differs from its forward. Mirrors ``torch.utils.checkpoint.CheckpointError``.

    >>> runs = []
    >>> def moody(x):
    ...     runs.append(x)
    ...     return x.sin() if len(runs) == 1 else x
    >>> x = mg.tensor([1.], requires_grad=True)
    >>> y = mg.utils.checkpoint.checkpoint(moody, x, use_reentrant=False)
    >>> try:
    ...     y.backward()
    ... except mg.utils.checkpoint.CheckpointError as error:
    ...     print(error.code)
    MG-E160
    """

    own_name = True


class Stop(BaseException):
    """Stops the recomputation `run`. See Note [Stopping a recomputation early]."""

    def __init__(self, run):
        self.run = run


class Holder:
    """The object that the graph stores instead of the saved tensor number `index` of a frame."""

    __slots__ = ("__weakref__", "frame", "index")

    def __init__(self, frame, index):
        self.frame = frame
        self.index = index

    def value(self):
        """Return the recomputed tensor."""
        return self.frame.value(self.index)


class Frame:
    """One checkpointed call: the data to repeat it, and descriptions of the tensors that it saved in the forward."""

    def __init__(self, function, args, kwargs, context, preserve_rng_state, early_stop, describe, explain):
        self.function = function
        self.context = context              # around each recomputation
        self.early_stop = early_stop
        self.describe = describe            # tensor -> the facts that must be equal in the recomputation
        self.explain = explain              # error -> the error with the logs of debug=True, or None
        self.rng_state = random.get_rng_state() if preserve_rng_state else None
        self.autocast = current().autocast
        self.holders = []                   # weak references
        self.descriptions = []              # of the tensors that the holders replace
        self.complete = False               # the forward has returned
        self.runs = weakref.WeakKeyDictionary()     # task or group -> Run
        # The frame saves its tensor arguments as an op does. So autograd notices a write to them, and an outer checkpoint
        # recomputes them. See Note [Nested checkpoints].
        arguments = [*args, *kwargs.values()]
        self.names = tuple(kwargs)
        self.saved = SavedTensors([x for x in arguments if isinstance(x, Tensor)], "checkpoint")
        self.others = [None if isinstance(x, Tensor) else (x,) for x in arguments]

    def unpack_arguments(self):
        """Return the arguments of the call, as (args, kwargs)."""
        tensors = iter(self.saved.unpack())
        arguments = [next(tensors) if other is None else other[0] for other in self.others]
        positional = len(arguments) - len(self.names)
        return arguments[:positional], dict(zip(self.names, arguments[positional:]))

    def pack(self, x):
        """The pack hook of the forward: return a holder instead of the tensor."""
        holder = Holder(self, len(self.holders))
        self.holders.append(weakref.ref(holder))
        self.descriptions.append(self.describe(x))
        return holder

    def hooks(self):
        """Return a context: holders replace the tensors that ops save inside."""
        return saved_tensors_hooks(self.pack, Holder.value)

    def value(self, index):
        """Return the tensor of holder `index`, once. Recompute it if this backward has not done so yet."""
        backward = _group.get() or current_task()           # if both are None, the run serves for one value only
        run = self.runs.get(backward) if backward is not None else None
        try:
            if run is None:
                run = self.run_again()
                if backward is not None:
                    self.runs[backward] = run
            return run.take(index)
        except CheckpointError as error:
            if self.explain is None:
                raise
            raise self.explain(error) from error

    def run_again(self):
        """Call the function again, and return the `Run` with the tensors that it saves."""
        run = Run(self)
        args, kwargs = self.unpack_arguments()
        state = current()
        interceptors, autocast = state.interceptors, state.autocast
        with random.fork_rng(enabled=self.rng_state is not None):
            if self.rng_state is not None:
                random.set_rng_state(self.rng_state)
            try:
                with enable_grad(), saved_tensors_hooks(run, _return_unchanged), self.context:
                    run.save_inputs_first()
                    state.set_autocast(self.autocast and self.autocast.renewed())
                    self.function(*args, **kwargs)
            except Stop as stop:
                if stop.run is not run:
                    raise
            finally:
                state.set_interceptors(interceptors)
                state.set_autocast(autocast)
        run.check()
        return run


class Run:
    """One recomputation, with the saved tensors that the backward has not read yet."""

    def __init__(self, frame):
        self.frame = weakref.proxy(frame)       # a weak reference: the frame refers to the run
        self.values = {}            # index -> (tensor, its version)
        self.descriptions = []      # of all saved tensors, in order
        self.watched = False        # `save_inputs_first` has added its interceptor
        self.beyond = False         # it has saved more tensors than the forward, which has not returned yet

    @property
    def missing(self):
        """The number of tensors that are still missing; 0 if the run does not stop early."""
        return max(len(self.frame.holders) - len(self.descriptions), 0) if self.frame.early_stop else 0

    def save_inputs_first(self):
        """Let ops save their inputs before they run, if only a few tensors are missing."""
        if not self.watched and 0 < self.missing <= FEW:
            self.watched = True
            state = current()
            state.set_interceptors((_run_op, *state.interceptors))

    def __call__(self, x):
        """The pack hook of the recomputation: store the tensor."""
        frame = self.frame
        index = len(self.descriptions)
        if index >= len(frame.holders):
            if frame.early_stop:
                raise Stop(self)    # once more: the function has caught the first Stop
            if frame.complete:
                raise CheckpointError(
                    "MG-E160", "checkpoint: trying to save more tensors during recomputation than during the original forward "
                    "pass.", expected=f"{len(frame.holders)} tensors", fix=WHY)
            self.beyond = True
            return x
        x = x.detach() if x.requires_grad else x
        self.descriptions.append(frame.describe(x))
        if frame.holders[index]() is not None:      # otherwise the node is freed
            self.values[index] = x, _read_version(x)
        if frame.early_stop and len(self.descriptions) == len(frame.holders):
            raise Stop(self)
        self.save_inputs_first()
        return x

    def check(self):
        """Raise unless the recomputation saved as many tensors as the forward, with the same descriptions."""
        saved, again = self.frame.descriptions, self.descriptions
        if self.beyond:
            return
        if len(saved) != len(again):
            raise CheckpointError(
                "MG-E160", "checkpoint: A different number of tensors was saved during the original forward and recomputation.",
                expected=f"{len(saved)} tensors, as in the forward", found=f"{len(again)}", fix=WHY)
        different = [f"tensor at position {i}:\n    saved metadata: {a}\n    recomputed metadata: {b}"
                     for i, (a, b) in enumerate(zip(saved, again)) if a != b]
        if different:
            raise CheckpointError(
                "MG-E161", "checkpoint: Recomputed values for the following tensors have different metadata than during the "
                "forward pass.\n  " + "\n  ".join(different), fix=WHY)

    def take(self, index):
        """Return the tensor number `index`, and drop it."""
        try:
            x, version = self.values.pop(index)
        except KeyError:
            if _group.get() is not None:
                raise CheckpointError(
                    "MG-E162", "Performing two backward calls that overlap (i.e. require the same saved activation in order to "
                    "compute gradients) is not allowed while under the GraphExecGroup context.",
                    fix="use one GraphExecGroup for each backward; or one backward for both") from None
            raise CheckpointError(
                "MG-E162", "Unpack is being triggered for a tensor that was already unpacked once.",
                fix="in the backward of a Function, read ctx.saved_tensors once and keep it in a variable") from None
        if _read_version(x) != version:
            raise CheckpointError(
                "MG-E102", "one of the variables needed for gradient computation has been modified by an inplace operation: the "
                f"checkpointed function has written to a tensor after saving it: version {version}, now {_read_version(x)}.",
                fix="write x = x * 2 instead of x *= 2 in the function")
        return x


FEW = 3     # a costly op saves at most this many inputs

WHY = ("make the function do the same each time: it must not depend on variables that change, or on random numbers of Python or "
       "NumPy. checkpoint(..., debug=True) shows the operations of both runs")


class GraphExecGroup:
    """Context manager: the backward passes inside share one recomputation of each checkpointed function.

    Two of these passes must not need the same saved tensor. Mirrors ``torch.utils.checkpoint.GraphExecGroup``.

    Raises:
        RuntimeError: it is entered inside another group.
        CheckpointError: in the backward, two passes need the same saved tensor.

    >>> from minigrad.utils.checkpoint import GraphExecGroup, checkpoint
    >>> def two(x):
    ...     print("running")
    ...     return x.sin(), x.exp()
    >>> a, b = checkpoint(two, mg.tensor(1., requires_grad=True), use_reentrant=False)
    running
    >>> with GraphExecGroup():
    ...     a.backward()
    ...     b.backward()
    running
    """

    def __enter__(self):
        if _group.get() is not None:
            raise AutogradError("MG-E165", f"GraphExecGroup contexts cannot be nested. Already inside group {_group.get()}")
        _group.set(self)
        return self

    def __exit__(self, *exc_info):
        _group.set(None)


_group: contextvars.ContextVar[GraphExecGroup | None] = contextvars.ContextVar("minigrad_graph_exec_group", default=None)


def describe_metadata(x):
    """The description for ``determinism_check="default"``."""
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


def describe_nothing(x):
    """The description for ``determinism_check="none"``: all tensors are equal."""
    return None


def _return_unchanged(x):
    """The unpack hook of the recomputation."""
    return x


def _run_op(op, args, in_place, **keywords):
    """An interceptor that only runs the op."""
    return get_operator(op, in_place)(*args, **keywords)


def _read_version(x):
    """The version of a tensor; None for an inference tensor."""
    return None if x.is_inference() else x._version
