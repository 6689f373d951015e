"""Tensor hooks and retain_grad: they run on the gradient of a tensor before its node gets it.

A node stands for the tensors that its op produced. It has the hooks of these tensors, by output number, in the order in
which each tensor got its first hook. The hooks of a leaf stay on the leaf, because its node lives only as long as a graph
uses it. A retained gradient is always the gradient after the hooks.

Mirrors call_tensor_pre_hooks of ``torch/csrc/autograd/engine.cpp`` and RetainsGradHook of ``cpp_hook.cpp``.
Read next: ``graph_task.py``.
"""

import cython
from cython.cimports.minigrad._core.graph.accumulate_grad import AccumulateGrad
from cython.cimports.minigrad._core.graph.hooks import run_tensor_hooks
from cython.cimports.minigrad._core.graph.node import NodeExtra
from cython.cimports.minigrad._core.graph.tensor import AutogradMeta, TensorBase
from cython.cimports.minigrad._core.graph.thread_state import current

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
    i: cython.Py_ssize_t
    for i in range(len(extra.tensor_hooks)):        # hooks that a hook adds wait for the next run
        number, hooks = extra.tensor_hooks[i]
        if node.metas is None:
            grad = run_tensor_hooks(hooks, grad)
        else:
            grad[number] = run_tensor_hooks(hooks, grad[number])
    if extra.retains:
        for number, tensor in list(extra.retains.items()):
            accumulate_retained(tensor(), grad if node.metas is None else grad[number])
    return grad


@cython.cfunc
def accumulate_retained(tensor, grad) -> object:
    """Add `grad` to ``tensor.grad``, out of place: the engine never shares the gradient that it passes on."""
    if tensor is None or grad is None:
        return None
    extra = cython.cast(TensorBase, tensor).extras()
    extra.grad = upcalls.clone(grad) if extra.grad is None else extra.grad + grad
    if switches.recording:
        switches.note("retain", current().node, {"grad": extra.grad})
    return None


def hooks_of(node: Node):
    """The hooks around a node in the order in which they run: pairs (kind, function), with None for retain_grad."""
    leaf: AutogradMeta = cython.cast(AccumulateGrad, node).variable._extra if isinstance(node, AccumulateGrad) else None
    extra: NodeExtra = node.extra
    found = [] if leaf is None else [("tensor hook", hook) for hook in (leaf.hooks or {}).values()]
    if extra is not None:
        for _, hooks in extra.tensor_hooks:
            found += [("tensor hook", hook) for hook in hooks.values()]
        found += [("retain_grad", None) for _ in extra.retains or ()]
        found += [("pre-hook", hook) for hook in (extra.pre_hooks or {}).values()]
        found += [("post-hook", hook) for hook in (extra.post_hooks or {}).values()]
    if leaf is not None:
        found += [("post-accumulate hook", hook) for hook in (leaf.post_accumulate_hooks or {}).values()]
    return found
