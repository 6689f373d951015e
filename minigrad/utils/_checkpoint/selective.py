"""Selective checkpointing: the results of some ops are saved for the recomputation, the others are computed again.

    forward         mm ──> saved     relu ──> not saved      mm ──> saved       SaveMode asks the policy about each op
    recomputation   mm <── saved     relu runs               mm <── saved       ReuseMode returns the saved results

Both modes count the runs of each op: the n-th ``mm`` of the recomputation gets the saved result of the n-th ``mm`` of the forward,
once. The modes are below autograd (``_core/record/interceptor.py``). So the recomputation records the same nodes, and saves the
same tensors for the backward, as a full recomputation.

Mirrors the selective activation checkpointing of ``torch/utils/checkpoint.py``.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from minigrad.errors import AutogradError, TensorTypeError, TensorValueError
from minigrad.utils._python_dispatch import TorchDispatchMode, operator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

# The policy is not called for these ops. Programs may add names.
SAC_IGNORED_OPS = set()


class CheckpointPolicy(enum.Enum):
    """What to do with the result of an op. Mirrors ``torch.utils.checkpoint.CheckpointPolicy``.

    In minigrad, MUST and PREFER have the same effect (in PyTorch, `compile` may overrule PREFER). minigrad does not offload: it
    saves the results of CPU_OFFLOAD.

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
    """The first argument of a policy. Mirrors ``torch.utils.checkpoint.SelectiveCheckpointContext``.

    Attributes:
        is_recompute (bool): always False, because the policy is only called in the forward.
        op_output (Tensor or tuple): the result of the op.

    >>> from minigrad.utils.checkpoint import SelectiveCheckpointContext
    >>> SelectiveCheckpointContext(is_recompute=False, op_output=mg.ones(2)).op_output.shape
    minigrad.Size([2])
    """

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute = is_recompute
        self.op_output = op_output


def create_selective_checkpoint_contexts(policy_fn_or_list: Callable[..., Any] | Sequence[str],
                                         allow_cache_entry_mutation: bool = False) -> tuple[Any, Any]:
    """Return two contexts for ``checkpoint(context_fn=...)``, which save the results of some ops instead of recomputing them.

    In-place ops and views always run again, and the policy is not called for them: a skipped write would be missing, and a view
    costs almost nothing.

    Args:
        policy_fn_or_list (Callable, or list of str): the names of the ops whose results are saved, such as
            ``["mm", "convolution"]``; or a function ``policy(ctx, op, *args, **kwargs)``. It is called in the forward after each
            op, with a `SelectiveCheckpointContext`, the `Operator` and its arguments. It returns a `CheckpointPolicy`, or
            True to save and False to recompute.
        allow_cache_entry_mutation (bool): use a saved result even if the program has written to it.

    Returns:
        tuple: the contexts of the forward and of the recomputation.

    Raises:
        ValueError: an element of the list is not the name of an op.
        TypeError: the argument is neither a list nor callable; or the policy returns another type.
        RuntimeError: in the backward, a result is needed a second time; a saved result has been written to; or the function runs
            an op more often than in the forward.

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
    return SaveMode(policy, storage), ReuseMode(storage, allow_cache_entry_mutation)


def _check_op(op):
    """Raise unless `op` is the name of an op."""
    if isinstance(op, str):
        try:
            operator(op)
            return
        except KeyError:
            pass
    packet = hasattr(op, "default")     # a custom operator: the name of all its overloads
    raise TensorValueError(
        "MG-E166", f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}."
        + (" Please update the OpOverloadPacket to a specific OpOverload." if packet else ""),
        expected="the name of an op, as a string",
        fix="op.default instead of op" if packet else 'such as "mm"; minigrad.ops.REGISTRY has all names')


class SavedResult:
    """The result of one run of an op, and the versions of its tensors at that time."""

    def __init__(self, out):
        self.out = out
        self.versions = self.read_versions()

    def read_versions(self):
        """The present versions of the tensors."""
        return [x._version for x in (self.out if isinstance(self.out, tuple) else (self.out,)) if not x.is_inference()]


# The storage has one of these instead of a `SavedResult`: the op must run again, or its result has been used.
_RECOMPUTE, _CONSUMED = "recompute", "consumed"


def runs_again(func):
    """Whether an op always runs again: an in-place op, a view, or an ignored op."""
    return func.in_place or func.is_view or func in SAC_IGNORED_OPS


class SaveMode(TorchDispatchMode):
    """The mode of the forward: it saves results."""

    def __init__(self, policy, storage):
        self.policy = policy
        self.storage = storage      # operator -> for each of its runs a SavedResult or _RECOMPUTE

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if runs_again(func):
            return out
        ctx = SelectiveCheckpointContext(is_recompute=False, op_output=out)
        answer = self.policy(ctx, func, *args, **(kwargs or {}))
        if not isinstance(answer, (bool, CheckpointPolicy)):
            raise TensorTypeError("MG-E166", f"a policy returned {type(answer).__name__} for {func}, expected a "
                                  "CheckpointPolicy or bool")
        save = answer is True or (answer is not False and answer not in RECOMPUTED)
        self.storage.setdefault(func, []).append(SavedResult(out) if save else _RECOMPUTE)
        return out


class ReuseMode(TorchDispatchMode):
    """The mode of the recomputation: it returns saved results instead of running their ops."""

    def __init__(self, storage, allow_mutation):
        self.storage = storage
        self.allow_mutation = allow_mutation
        self.runs = {}              # operator -> the number of its runs so far

    def __enter__(self):
        self.runs = {}
        return super().__enter__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if runs_again(func):
            return func(*args, **(kwargs or {}))
        number = self.runs.get(func, 0)
        self.runs[func] = number + 1
        results = self.storage.get(func, ())
        if number >= len(results):
            raise AutogradError(
                "MG-E167", f"{func} encountered during backward but not found in storage: the function runs it more often "
                "than in the forward.", expected=f"at most {len(results)} times", fix="make the function do the same each time")
        entry = results[number]
        if entry is _RECOMPUTE:
            return func(*args, **(kwargs or {}))
        if entry is _CONSUMED:
            raise AutogradError(
                "MG-E167", "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint.", fix="run the forward again, or checkpoint without a policy")
        if not self.allow_mutation and entry.read_versions() != entry.versions:
            raise AutogradError(
                "MG-E168", f"Tensor cached during selective activation checkpoint has been mutated: the result of {func}.",
                expected=f"version {entry.versions}", found=f"version {entry.read_versions()}",
                fix="write x = x * 2 instead of x *= 2; or recompute this op")
        results[number] = _CONSUMED
        return entry.out
