"""Hooks: the user's functions that the engine calls around a node.

    tensor hook       hook(grad) -> grad or None                 before the node, on one of its outputs
    pre-hook          hook(grads) -> grads or None               before the node, on all of them
    post-hook         hook(results, grads) -> results or None    after the node
    post-accumulate   hook(leaf) -> None                         after a leaf's .grad was updated

They are kept in ordered dicts from a handle's number to the function (``handle.py``) and run in order of
registration, over a snapshot: a hook may remove itself, and one added meanwhile waits for the next backward. What a
hook returns replaces what it was given, if it is of the same kind; the checks are here.

Mirrors ``torch/csrc/autograd/python_hook.cpp``. Read next: ``execute.py``.
"""

import cython
from cython.cimports.minigrad._core.graph.capi import dict_values
from cython.cimports.minigrad._core.graph.switches import Switches
from cython.cimports.minigrad._core.graph.tensor import TensorBase

from minigrad._core.graph.summary import call_hook
from minigrad._core.graph.switches import switches as _switches
from minigrad.errors import AutogradError, AutogradTypeError

__all__ = ["run_post_accumulate_hooks", "run_post_hooks", "run_pre_hooks", "run_tensor_hooks"]

switches = cython.declare(Switches, _switches)


def run_tensor_hooks(hooks, grad):
    """Pass `grad` (a tensor or None) through the hooks of one tensor."""
    for hook in dict_values(hooks):
        result = call_hook("tensor hook", hook, (grad,), grad) if switches.recording else hook(grad)
        if result is not None:
            check_value(grad, result, hook)
            grad = result
    return grad


def run_pre_hooks(hooks, grads):
    """Pass the tuple of incoming gradients through the pre-hooks of a node."""
    for hook in dict_values(hooks):
        result = call_hook("pre-hook", hook, grads, grads) if switches.recording else hook(grads)
        if result is not None:
            check_tuple(grads, result, hook)
            grads = result
    return grads


def run_post_hooks(hooks, results, grads):
    """Pass what a node computed through its post-hooks; `grads` is what it was given."""
    for hook in dict_values(hooks):
        result = call_hook("post-hook", hook, results, results, grads) if switches.recording else hook(results, grads)
        if result is not None:
            check_tuple(results, result, hook)
            results = result
    return results


def run_post_accumulate_hooks(hooks, leaf):
    """Tell the hooks of `leaf` that its ``.grad`` is up to date."""
    for hook in dict_values(hooks):
        result = call_hook("post-accumulate hook", hook, leaf, leaf) if switches.recording else hook(leaf)
        if result is not None and result is not leaf:       # as ``lambda leaf: leaf.zero_()`` does, which harms nobody
            fix = "change leaf.grad in the hook, and return nothing"
            if isinstance(result, TensorBase):
                raise AutogradError("MG-E111", f"hook {hook_name(hook)!r}: Tensor post accumulate grad hooks should return None.",
                                    found="a tensor", fix=fix)
            raise AutogradTypeError("MG-E111", f"hook {hook_name(hook)!r}: expected Variable, but hook returned "
                                    f"{type(result).__name__}; and a post accumulate grad hook must return None", fix=fix)


def hook_name(hook):
    """How messages call a hook."""
    return getattr(hook, "__name__", "<unknown>")


def check_tuple(before, after, hook):
    """Raise unless `after` may replace the tuple `before`."""
    if not isinstance(after, tuple):
        raise AutogradTypeError(
            "MG-E111", f"hook {hook_name(hook)!r}: expected tuple, but hook returned {type(after).__name__}",
            fix="return a tuple with one entry per gradient, or None to leave them as they are")
    if len(after) != len(before):
        raise AutogradError(
            "MG-E111", f"hook {hook_name(hook)!r} has returned an incorrect number of values "
            f"(got {len(after)}, but expected {len(before)})")
    for old, new in zip(before, after):
        if new is not None:
            check_value(old, new, hook)


def check_value(old, new, hook):
    """Raise unless the tensor `new` may replace `old`."""
    if old is None:
        raise AutogradError("MG-E111", f"hook {hook_name(hook)!r}: can't replace a None gradient with a non-None value")
    if not isinstance(new, TensorBase):
        raise AutogradTypeError(
            "MG-E111", f"hook {hook_name(hook)!r}: expected Variable, but hook returned {type(new).__name__}")
    if old.dtype is not new.dtype or old.device != new.device:
        raise AutogradError(
            "MG-E111", f"hook {hook_name(hook)!r} has changed the type of value "
            f"(was {old.dtype} on {old.device}, got {new.dtype} on {new.device})")
    if old.shape != new.shape:
        raise AutogradError("MG-E111", f"hook {hook_name(hook)!r} has changed the size of value "
                            f"(was {list(old.shape)}, got {list(new.shape)})")
