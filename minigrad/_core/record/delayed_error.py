"""A node that raises when it runs: the second derivative of a function that has only a first derivative.

    @once_differentiable
    def backward(ctx, g): ...       results ── Error ──> the nodes that computed g

The edges of the node lead to the nodes behind the incoming gradients. So a derivative along any such path raises the
error, and no result is silently taken for a constant. (PyTorch's node has no edges, and `grad` says instead that the
input was not used.)

Mirrors ``torch/csrc/autograd/functions/basic_ops.{h,cpp}`` (Error, DelayedError).
"""

import cython
from cython.cimports.minigrad._core.graph.accumulate_grad import gradient_edge
from cython.cimports.minigrad._core.graph.node import clear_node
from cython.cimports.minigrad._core.graph.tensor import TensorBase, alias
from cython.cimports.minigrad._core.graph.thread_state import current

from minigrad._core.graph.node import Node
from minigrad.errors import AutogradError


@cython.binding(False)
@cython.cclass
class Error(Node):
    """Raises an error when it runs, because there is no second derivative."""

    def __init__(self, message, fix, sources):
        clear_node(self)
        self.message = message
        self.fix = fix
        state = current()
        self.sequence = state.next_sequence
        state.next_sequence += 1
        nodes = [gradient_edge(x) for x in sources]
        self.connect(tuple(nodes), tuple([cython.cast(TensorBase, x)._output_number if node is not None else 0
                                          for x, node in zip(sources, nodes)]))

    def compute(self, grad, wanted, results):
        raise AutogradError("MG-E147", self.message, fix=self.fix)


def delayed_error(message, fix, sources, results):
    """Return a tuple of `results` (tensors and other objects) in which differentiating any tensor raises an error.

    `sources` are the tensors from which the results were computed.
    """
    node: Error = Error(message, fix, sources)
    outs = []
    metas = []
    i: cython.int
    for i, x in enumerate(results):
        metas.append(None)
        if isinstance(x, TensorBase) and cython.cast(TensorBase, x)._meta.dtype.differentiable:
            metas[i] = cython.cast(TensorBase, x)._meta
            out: TensorBase = alias(x)
            out._node = node
            out._output_number = i
            x = out
        outs.append(x)
    node.meta = tuple(metas)
    return tuple(outs)
