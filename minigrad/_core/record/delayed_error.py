"""A node that raises when it is run: the second derivative of what has only a first one.

    @once_differentiable
    def backward(ctx, g): ...       results ── Error ──> what g was computed from

Its edges lead on to where the incoming gradients came from, so that a derivative along any such path
meets the error, and no result is silently taken for a constant. (PyTorch's node has edges to nothing, and `grad`
says instead that the input was not used.)

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
    """Raises when it runs, since there is no second derivative."""

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
    """`results` (tensors and other things) as they are, but differentiating a tensor among them raises.

    `sources` are the tensors from which they were computed.
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
    node.metas = tuple(metas)
    return tuple(outs)
