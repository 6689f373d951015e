"""Checkpointing by hooks on saved tensors: the graph is made as ever, but remembers nothing.

    forward     each tensor that an op in the function saves     op's node ── Holder 0 ─┐
                is replaced by an empty Holder                   op's node ── Holder 1 ─┤
                                                                                        ├─ Frame: function, inputs
    backward    the first Holder that is asked for its value has the frame              │
                run the function again; what is saved this time,                   runs ┘
                in the same order, are the values                     GraphTask ─> Run: {0: value, 1: value}

A `Frame` is one checkpointed call. Holders keep it alive, and it them only weakly: it dies with the graph. A `Run` is one
recomputation; it belongs to the backward that needed it and dies with that, and it lets go of each value as it is
taken.

Note [Stopping a recomputation early]
    Once the last value is there, the rest of the function would compute what nobody asked for. So the hook that has
    received it raises `Stop`, which passes through the user's function up to `Frame.run_again`. It is no
    `Exception`, lest the function catch it in an ``except Exception``; if it is caught all the same, nothing is lost.
    Most values are saved when their op has run. But for the inputs of the last op it need not run, and that may be half
    of the work: so while the last few are `missing`, ops take the slower path on which inputs are saved first
    (`save_early` in ``_core/record/apply.py``). An interceptor that does nothing sees to that.

Note [Nested checkpoints]
    Only the innermost pair of hooks is called. So what a checkpointed function within a checkpointed function saves goes
    to the inner frame; but the inner frame keeps its inputs as saved tensors of the outer one. The inner function is run
    again when its holders are asked; for that its inputs are needed; and that runs the outer function again.
    A backward inside the function finds a frame that is not `complete`: its run then sees more being saved, and rightly.

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
from minigrad.utils._python_dispatch import operator_of


class CheckpointError(AutogradError):
    """The recomputation of a checkpointed function did not do what its forward did. Mirrors ``torch.utils.checkpoint``.

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
    """See Note [Stopping a recomputation early]."""

    def __init__(self, run):
        self.run = run


class Holder:
    """Stands in the graph for the saved tensor number `index` of a frame."""

    __slots__ = ("__weakref__", "frame", "index")

    def __init__(self, frame, index):
        self.frame = frame
        self.index = index

    def value(self):
        """The tensor, recomputed."""
        return self.frame.value(self.index)


class Frame:
    """One checkpointed call: what is needed to repeat it, and what it saved the first time."""

    def __init__(self, function, args, kwargs, context, preserve_rng_state, early_stop, describe, explain):
        self.function = function
        self.context = context              # around each recomputation
        self.early_stop = early_stop
        self.describe = describe            # tensor -> what has to be the same again
        self.explain = explain              # error -> the error with the logs of debug=True, or None
        self.rng_state = random.get_rng_state() if preserve_rng_state else None
        self.holders = []                   # weak references
        self.descriptions = []              # of the tensors that they stand for
        self.complete = False               # the forward has returned
        self.runs = weakref.WeakKeyDictionary()     # task or group -> Run
        # The tensors among the arguments are saved like those of an op, so that a write to one of them is noticed, and
        # that a checkpoint around this one recomputes them. See Note [Nested checkpoints].
        arguments = [*args, *kwargs.values()]
        self.names = tuple(kwargs)
        self.saved = SavedTensors([x for x in arguments if isinstance(x, Tensor)], "checkpoint")
        self.others = [None if isinstance(x, Tensor) else (x,) for x in arguments]

    def inputs(self):
        """The arguments of the call, as (args, kwargs)."""
        tensors = iter(self.saved.unpack())
        arguments = [next(tensors) if other is None else other[0] for other in self.others]
        positional = len(arguments) - len(self.names)
        return arguments[:positional], dict(zip(self.names, arguments[positional:]))

    def pack(self, x):
        """The hook of the forward."""
        holder = Holder(self, len(self.holders))
        self.holders.append(weakref.ref(holder))
        self.descriptions.append(self.describe(x))
        return holder

    def hooks(self):
        """What is saved within is replaced by holders."""
        return saved_tensors_hooks(self.pack, Holder.value)

    def value(self, index):
        """The tensor that holder `index` stands for, recomputed if this backward has not done so yet. Once only."""
        backward = _group.get() or current_task()           # outside of both, a run is used for one value
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
        """Call the function again and return the `Run` that has what it saved."""
        run = Run(self)
        args, kwargs = self.inputs()
        state = current()
        interceptors = state.interceptors
        with random.fork_rng(enabled=self.rng_state is not None):
            if self.rng_state is not None:
                random.set_rng_state(self.rng_state)
            try:
                with enable_grad(), saved_tensors_hooks(run, _itself), self.context:
                    run.approach()
                    self.function(*args, **kwargs)
            except Stop as stop:
                if stop.run is not run:
                    raise
            finally:
                state.set_interceptors(interceptors)
        run.check()
        return run


class Run:
    """One recomputation: the tensors that it saved, and that nobody has taken yet."""

    def __init__(self, frame):
        self.frame = weakref.proxy(frame)       # which keeps the run
        self.values = {}            # index -> (tensor, its version)
        self.descriptions = []      # of all, in order
        self.watched = False        # see `approach`
        self.beyond = False         # more was saved than so far in the forward, which is still going on

    @property
    def missing(self):
        """How many tensors it still waits for; 0 if it goes on to the end anyway."""
        return max(len(self.frame.holders) - len(self.descriptions), 0) if self.frame.early_stop else 0

    def approach(self):
        """Have inputs be saved before their op runs, when the end is near."""
        if not self.watched and 0 < self.missing <= FEW:
            self.watched = True
            state = current()
            state.set_interceptors((_nothing_special, *state.interceptors))

    def __call__(self, x):
        """The pack hook of the recomputation."""
        frame = self.frame
        index = len(self.descriptions)
        if index >= len(frame.holders):
            if frame.early_stop:
                raise Stop(self)    # again: the function has caught the first one
            if frame.complete:
                raise CheckpointError(
                    "MG-E160", "checkpoint: trying to save more tensors during recomputation than during the original forward "
                    "pass.", expected=f"{len(frame.holders)} tensors", fix=WHY)
            self.beyond = True
            return x
        x = x.detach() if x.requires_grad else x
        self.descriptions.append(frame.describe(x))
        if frame.holders[index]() is not None:      # else its node is gone
            self.values[index] = x, _version(x)
        if frame.early_stop and len(self.descriptions) == len(frame.holders):
            raise Stop(self)
        self.approach()
        return x

    def check(self):
        """Raise unless the forward saved the same kinds of tensors."""
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
        """The tensor number `index`, which is let go of."""
        try:
            x, version = self.values.pop(index)
        except KeyError:
            if _group.get() is not None:
                raise CheckpointError(
                    "MG-E162", "Performing two backward calls that overlap (i.e. require the same saved activation in order to "
                    "compute gradients) is not allowed while under the GraphExecGroup context.",
                    fix="one GraphExecGroup for each of them; or one backward") from None
            raise CheckpointError(
                "MG-E162", "Unpack is being triggered for a tensor that was already unpacked once.",
                fix="in the backward of a Function, read ctx.saved_tensors once and keep it in a variable") from None
        if _version(x) != version:
            raise CheckpointError(
                "MG-E102", "one of the variables needed for gradient computation has been modified by an inplace operation: the "
                f"checkpointed function has written to a tensor after saving it: version {version}, now {_version(x)}.",
                fix="write x = x * 2 instead of x *= 2 in the function")
        return x


FEW = 3     # the most inputs that a costly op saves

WHY = ("the function has to do the same each time, whatever has happened since: no change of its closure or of global state, no "
       "random decisions of Python's or NumPy's. checkpoint(..., debug=True) shows the operations of both runs")


class GraphExecGroup:
    """Context manager: the backward passes inside share one recomputation of each checkpointed function.

    No two of them may need the same saved tensor. Mirrors ``torch.utils.checkpoint.GraphExecGroup``.

    Raises:
        RuntimeError: it is entered inside another one.
        CheckpointError: in the backward, if two need the same saved tensor.

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


def metadata(x):
    """What ``determinism_check="default"`` compares."""
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


def nothing(x):
    """What ``determinism_check="none"`` compares."""
    return None


def _itself(x):
    return x


def _nothing_special(op, args, in_place, **keywords):
    """An interceptor that runs the op."""
    return operator_of(op, in_place)(*args, **keywords)


def _version(x):
    return None if x.is_inference() else x._version
