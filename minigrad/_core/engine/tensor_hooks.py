"""Tensor hooks and retain_grad: they run on the gradient of a tensor before its node gets it.

A node stands for the tensors that its op produced. It has the hooks of these tensors, by output number, in the order in
which each tensor got its first hook. The hooks of a leaf stay on the leaf, because its node lives only as long as a graph
uses it. A retained gradient is always the gradient after the hooks.

Mirrors call_tensor_pre_hooks of ``torch/csrc/autograd/engine.cpp`` and RetainsGradHook of ``cpp_hook.cpp``.
Read next: ``graph_task.py``.
"""

import cython
from cython.cimports.minigrad._core.graph.accumulate_grad import AccumulateGrad
from cython.cimports.minigrad._core.graph.capi import dict_values
from cython.cimports.minigrad._core.graph.handle import Hooks
from cython.cimports.minigrad._core.graph.hooks import run_tensor_hooks
from cython.cimports.minigrad._core.graph.node import NodeExtra
from cython.cimports.minigrad._core.graph.tensor import AutogradMeta, TensorBase
from cython.cimports.minigrad._core.graph.thread_state import current

from minigrad._core.graph.locks import sharing
from minigrad._core.graph.node import Node
from minigrad._core.graph.switches import switches
from minigrad._core.graph.upcalls import upcalls


def run_hooks_on_tensors(node, grad):
    """Pass the buffer of `node` through the hooks of the tensors that it stands for."""
    extra: NodeExtra = node.extra
    leaf: AutogradMeta
    if isinstance(node, AccumulateGrad):
        leaf = cython.cast(AccumulateGrad, node).variable._extra
        if leaf is not None and leaf.hooks:
            grad = run_tensor_hooks(leaf.hooks, grad)
        return grad
    if extra is None:
        return grad
    if extra.tensor_hooks is not None:
        for hooks in extra.tensor_hooks:        # hooks that a hook adds wait for the next run
            if type(node.meta) is not tuple:
                grad = run_tensor_hooks(hooks, grad)
            else:
                output: cython.int = cython.cast(Hooks, hooks).output
                grad[output] = run_tensor_hooks(hooks, grad[output])
    if extra.retains:
        for number, tensor in list(extra.retains.items()):
            accumulate_retained(tensor(), grad[number] if type(node.meta) is tuple else grad)
    return grad


@cython.cfunc
def accumulate_retained(tensor, grad) -> object:
    """Add `grad` to ``tensor.grad``, out of place: the engine never shares the gradient that it passes on."""
    if tensor is None or grad is None:
        return None
    extra = cython.cast(TensorBase, tensor).extras()
    while True:
        old = extra.grad
        total = upcalls.clone(grad) if old is None else old + grad
        if replace_retained(extra, old, total):     # not if another thread was faster
            break
    if switches.recording:
        switches.note("retain", current().node, {"grad": total})
    return None


@cython.cfunc
def replace_retained(extra: AutogradMeta, old, new) -> cython.bint:
    """Replace the retained gradient `old` with `new`. Returns False if another thread has replaced `old` meanwhile."""
    if cython.compiled:     # See Note [Interpreted threads take turns] in locks.py
        if extra.grad is not old:
            return False
        extra.grad = new
    else:
        with sharing:
            if extra.grad is not old:
                return False
            extra.grad = new
    return True


def hooks_of(node: Node):
    """The hooks around a node in the order in which they run: pairs (kind, function), with None for retain_grad."""
    leaf: AutogradMeta = cython.cast(AccumulateGrad, node).variable._extra if isinstance(node, AccumulateGrad) else None
    extra: NodeExtra = node.extra
    found = [] if leaf is None else [("tensor hook", hook) for hook in dict_values(leaf.hooks or {})]
    if extra is not None:
        for hooks in extra.tensor_hooks or ():
            found += [("tensor hook", hook) for hook in dict_values(hooks)]
        found += [("retain_grad", None) for _ in extra.retains or ()]
        found += [("pre-hook", hook) for hook in dict_values(extra.pre_hooks or {})]
        found += [("post-hook", hook) for hook in dict_values(extra.post_hooks or {})]
    if leaf is not None:
        found += [("post-accumulate hook", hook) for hook in dict_values(leaf.post_accumulate_hooks or {})]
    return found
