"""Call a node yourself: ``y.grad_fn(g)``. Or let nodes drop what they have saved: `release_nodes`.

The engine does more than `compute`: it adds up the gradients that reach a node, runs hooks, and releases saved values. Here
only the node runs: it computes the gradients of its inputs from the gradients of its outputs.

Mirrors ``torch/csrc/autograd/python_cpp_function.cpp`` (THPCppFunction_call). Read next: ``execute.py``.
"""

import cython
from cython.cimports.minigrad._core.engine.validate import validate_gradient
from cython.cimports.minigrad._core.graph.node import Node
from cython.cimports.minigrad._core.graph.tensor import TensorBase

from minigrad._core.graph.node import use_call
from minigrad.errors import AutogradTypeError


def call_node(node: Node, grads: tuple, keywords: dict):
    """Implements `Node.__call__`."""
    if keywords:
        raise AutogradTypeError("MG-E130", "keyword arguments are not supported", node=node.name(), fix="node(grad), by position")
    expected: cython.int = node.number_of_outputs()
    if len(grads) != expected:
        raise AutogradTypeError("MG-E130", f"expected {expected} arguments, got {len(grads)} instead", node=node.name(),
                                fix="one gradient for each output of the forward op; None where it is undefined")
    for i, grad in enumerate(grads):
        if grad is not None and not isinstance(grad, TensorBase):
            raise AutogradTypeError("MG-E130", f"argument {i} is not a Variable", node=node.name(), expected="a Tensor or None",
                                    found=type(grad).__name__)
    results: list = [None] * node.edges
    node.compute(list(grads) if type(node.meta) is tuple else grads[0], -1, results)
    for i in range(node.edges):     # undo broadcasting, as the engine does
        if results[i] is not None and node.next_node(i) is not None:
            results[i] = validate_gradient(results[i], node.next_node(i), node.input_number(i), node, i)
    return results[0] if node.edges == 1 else tuple(results)


def release_nodes(nodes):
    """Let nodes drop what they have saved, as after a backward without retain_graph. A pipeline does so between its I and its W."""
    for item in nodes:
        node: Node = item
        node.release()


use_call(call_node)
