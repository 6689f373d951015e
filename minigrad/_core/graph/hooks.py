"""Hooks: the user's functions that the engine calls around a node.

    tensor hook       hook(grad) -> grad or None                 before the node, on the gradient of one of its outputs
    pre-hook          hook(grads) -> grads or None               before the node, on the gradients of all its outputs
    post-hook         hook(results, grads) -> results or None    after the node
    post-accumulate   hook(leaf) -> None                         after a leaf's .grad was updated

A dict, `Hooks`, maps the id of each handle to its function (``handle.py``). The hooks run in order of registration, over a
snapshot: a hook may remove itself, and a hook added meanwhile waits for the next backward. The result of a hook replaces
its argument. This file checks that the result has the same dtype, device and shape.

Mirrors ``torch/csrc/autograd/python_hook.cpp``. Read next: ``handle.py``, then ``engine/tensor_hooks.py``.
"""

import cython
from cython.cimports.minigrad._core.graph.capi import call1, call2, dict_values
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
        result = call_hook("tensor hook", hook, (grad,), grad) if switches.recording else call1(hook, grad)
        if result is not None:
            check_value(grad, result, hook)
            grad = result
    return grad


def run_pre_hooks(hooks, grads):
    """Pass the tuple of gradients that reached a node through its pre-hooks."""
    for hook in dict_values(hooks):
        result = call_hook("pre-hook", hook, grads, grads) if switches.recording else call1(hook, grads)
        if result is not None:
            check_tuple(grads, result, hook)
            grads = result
    return grads


def run_post_hooks(hooks, results, grads):
    """Pass the tuple `results` of a node through its post-hooks; `grads` is the tuple that the node was called on."""
    for hook in dict_values(hooks):
        result = call_hook("post-hook", hook, results, results, grads) if switches.recording else call2(hook, results, grads)
        if result is not None:
            check_tuple(results, result, hook)
            results = result
    return results


def run_post_accumulate_hooks(hooks, leaf):
    """Call the post-accumulate hooks of `leaf`, whose ``.grad`` has been updated."""
    for hook in dict_values(hooks):
        result = call_hook("post-accumulate hook", hook, leaf, leaf) if switches.recording else call1(hook, leaf)
        if result is not None and result is not leaf:       # to return the leaf is harmless: ``lambda leaf: leaf.zero_()``
            fix = "change leaf.grad in the hook, and return nothing"
            if isinstance(result, TensorBase):
                raise AutogradError("MG-E111", f"hook {hook_name(hook)!r}: Tensor post accumulate grad hooks should return None.",
                                    found="a tensor", fix=fix)
            raise AutogradTypeError("MG-E111", f"hook {hook_name(hook)!r}: expected Variable, but hook returned "
                                    f"{type(result).__name__}; a post accumulate grad hook must return None", fix=fix)


def hook_name(hook):
    """The name of a hook for error messages."""
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
