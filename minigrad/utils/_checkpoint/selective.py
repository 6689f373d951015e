"""Selective checkpointing: some results are kept for the recomputation, the others are computed again.

    forward         mm ──> kept      relu ──> not     mm ──> kept       _Keep asks the policy about each op
    recomputation   mm <── kept      relu runs        mm <── kept       _Reuse hands out what was kept

Both modes count: the n-th ``mm`` of the recomputation gets what the n-th ``mm`` of the forward has left, once. The graph is
made again above them (``_core/record/interceptor.py``), so what is saved for the backward is what a full recomputation would save.

Mirrors the selective activation checkpointing of ``torch/utils/checkpoint.py``.
"""

import enum

from minigrad.errors import AutogradError, TensorTypeError, TensorValueError
from minigrad.utils._python_dispatch import TorchDispatchMode, operator

# Ops about which no policy is asked. Users may add names.
SAC_IGNORED_OPS = set()


class CheckpointPolicy(enum.Enum):
    """What to do with the result of an op. Mirrors ``torch.utils.checkpoint.CheckpointPolicy``.

    The MUST and the PREFER variants are the same here (in PyTorch, `compile` may overrule PREFER), and there is
    no offloading: what is to be offloaded is saved.

    >>> from minigrad.utils.checkpoint import CheckpointPolicy
    >>> CheckpointPolicy.MUST_SAVE.name
    'MUST_SAVE'
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


RECOMPUTED = (CheckpointPolicy.MUST_RECOMPUTE, CheckpointPolicy.PREFER_RECOMPUTE)


class SelectiveCheckpointContext:
    """What a policy is told besides the op and its arguments. Mirrors ``torch.utils.checkpoint.SelectiveCheckpointContext``.

    Attributes:
        is_recompute (bool): False: policies are asked in the forward.
        op_output (Tensor or tuple): the result.

    >>> from minigrad.utils.checkpoint import SelectiveCheckpointContext
    >>> SelectiveCheckpointContext(is_recompute=False, op_output=mg.ones(2)).op_output.shape
    minigrad.Size([2])
    """

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute = is_recompute
        self.op_output = op_output


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """Two contexts for ``checkpoint(context_fn=...)``: of some ops the results are saved, not recomputed.

    Args:
        policy_fn_or_list (callable, or list of names of ops): the ops whose results are saved, such as ``["mm", "convolution"]``;
            or ``policy(ctx, op, *args, **kwargs)``, which is called in the forward after each op and returns a
            `CheckpointPolicy`, or True to save and False to recompute. `op` is an
            `Operator` (``minigrad/utils/_python_dispatch.py``): its name, which can be called.
        allow_cache_entry_mutation (bool): let a saved result be used even if it has been written to.

    Writes in place and views are always done again, and no policy is asked: the first would be lost otherwise, and the
    second cost nothing.

    Raises:
        ValueError: an element of the list is no name of an op.
        TypeError: it is neither a list nor callable; a policy returned something else.
        RuntimeError: in the backward, if it is the second one, if a saved result has been written to, or if the function runs
            ops that it has not run in the forward.

    Mirrors ``torch.utils.checkpoint.create_selective_checkpoint_contexts``.

    >>> from minigrad.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> def policy(ctx, op, *args, **kwargs):
    ...     print("asked about", op)
    ...     return op == "mm"
    >>> w = mg.ones(2, 2, requires_grad=True)
    >>> y = checkpoint(lambda w: (w @ w).exp(), w, use_reentrant=False,
    ...                context_fn=lambda: create_selective_checkpoint_contexts(policy))
    asked about mm
    asked about exp
    >>> y.sum().backward()
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            _check_op(op)
        names = frozenset(policy_fn_or_list)
        policy = lambda ctx, op, *args, **kwargs: op in names      # noqa: E731
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TensorTypeError("MG-E166", "policy_fn_or_list must be either a function or a list of ops.",
                              found=type(policy_fn_or_list).__name__)
    storage = {}
    return _Keep(policy, storage), _Reuse(storage, allow_cache_entry_mutation)


def _check_op(op):
    """Raise unless `op` is the name of an op."""
    if isinstance(op, str):
        try:
            operator(op)
            return
        except KeyError:
            pass
    packet = hasattr(op, "default")     # a custom operator, which counts as all its overloads
    raise TensorValueError(
        "MG-E166", f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}."
        + (" Please update the OpOverloadPacket to a specific OpOverload." if packet else ""),
        expected="the name of an op, as a string",
        fix="op.default in place of op" if packet else 'such as "mm"; minigrad.ops.REGISTRY has all names')


class _Kept:
    """The result of one op, with the versions that its tensors had."""

    def __init__(self, out):
        self.out = out
        self.versions = self.now()

    def now(self):
        return [x._version for x in (self.out if isinstance(self.out, tuple) else (self.out,)) if not x.is_inference()]


# What else the storage has for an op, where a `_Kept` might be.
_RECOMPUTE, _CONSUMED = "recompute", "consumed"


def _always_redone(func):
    return func.in_place or func.is_view or func in SAC_IGNORED_OPS


class _Keep(TorchDispatchMode):
    """The mode of the forward."""

    def __init__(self, policy, storage):
        self.policy = policy
        self.storage = storage      # operator -> what is kept of each of its runs

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if _always_redone(func):
            return out
        ctx = SelectiveCheckpointContext(is_recompute=False, op_output=out)
        answer = self.policy(ctx, func, *args, **(kwargs or {}))
        if not isinstance(answer, (bool, CheckpointPolicy)):
            raise TensorTypeError("MG-E166", f"a policy returned {type(answer).__name__} for {func}, expected a "
                                  "CheckpointPolicy or bool")
        save = answer is True or (answer is not False and answer not in RECOMPUTED)
        self.storage.setdefault(func, []).append(_Kept(out) if save else _RECOMPUTE)
        return out


class _Reuse(TorchDispatchMode):
    """The mode of the recomputation."""

    def __init__(self, storage, allow_mutation):
        self.storage = storage
        self.allow_mutation = allow_mutation
        self.runs = {}              # operator -> how often it has run so far

    def __enter__(self):
        self.runs = {}
        return super().__enter__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if _always_redone(func):
            return func(*args, **(kwargs or {}))
        number = self.runs.get(func, 0)
        self.runs[func] = number + 1
        kept = self.storage.get(func, ())
        if number >= len(kept):
            raise AutogradError(
                "MG-E167", f"{func} encountered during backward but not found in storage: the function runs it more often "
                "than in the forward.", expected=f"at most {len(kept)} times", fix="the function has to do the same each time")
        entry = kept[number]
        if entry is _RECOMPUTE:
            return func(*args, **(kwargs or {}))
        if entry is _CONSUMED:
            raise AutogradError(
                "MG-E167", "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint.", fix="run the forward again, or checkpoint without a policy")
        if not self.allow_mutation and entry.now() != entry.versions:
            raise AutogradError(
                "MG-E168", f"Tensor cached during selective activation checkpoint has been mutated: the result of {func}.",
                expected=f"version {entry.versions}", found=f"version {entry.now()}",
                fix="write x = x * 2 instead of x *= 2; or recompute this op")
        kept[number] = _CONSUMED
        return entry.out
