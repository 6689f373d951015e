"""The graph as users reach it: nodes, and edges that stand for a gradient.

Mirrors ``torch/autograd/graph.py``.
"""

import abc
from typing import NamedTuple

from minigrad._core import engine
from minigrad._core.accumulate import accumulator
from minigrad._core.node import Node as _Node
from minigrad.errors import AutogradError
from minigrad.tensor import Tensor

__all__ = ["GradientEdge", "Node", "get_gradient_edge"]


class Node(abc.ABC):
    """The type of every node of the graph, for `isinstance`.

    The nodes themselves are made in ``_core/``; they answer to this class without deriving from it.
    Mirrors ``torch.autograd.graph.Node``.

    >>> y = mg.tensor(2., requires_grad=True) * 3
    >>> isinstance(y.grad_fn, mg.autograd.graph.Node), y.grad_fn.name()
    (True, 'MulBackward0')
    """

    @abc.abstractmethod
    def name(self):
        """The name, such as ``MulBackward0``."""

    @property
    @abc.abstractmethod
    def next_functions(self):
        """The edges: pairs (node or None, input number), one per input of the forward op."""

    @abc.abstractmethod
    def metadata(self):
        """A dict for notes on this node."""

    @property
    @abc.abstractmethod
    def _input_metadata(self):
        """Shape, dtype and device of each output of the forward op."""

    @abc.abstractmethod
    def register_hook(self, fn):
        """Call ``fn(grad_inputs, grad_outputs)`` after the node has run."""

    @abc.abstractmethod
    def register_prehook(self, fn):
        """Call ``fn(grad_outputs)`` before the node runs."""

    @classmethod
    def __subclasshook__(cls, subclass):
        if cls is Node and issubclass(subclass, _Node):
            return True
        return NotImplemented


class GradientEdge(NamedTuple):
    """An edge of the graph: the gradient of one output of a node. Mirrors ``torch.autograd.graph.GradientEdge``.

    >>> x = mg.tensor([1.], requires_grad=True)
    >>> edge = mg.autograd.graph.get_gradient_edge(x * 2)
    >>> edge.node.name(), edge.output_nr
    ('MulBackward0', 0)
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def get_gradient_edge(tensor):
    """The edge that carries the gradient of `tensor`: usable wherever autograd takes the tensor itself.

    It keeps the graph alive, not the tensor. Mirrors ``torch.autograd.graph.get_gradient_edge``.

    Raises:
        RuntimeError: the tensor requires no gradient.

    >>> x = mg.tensor(2., requires_grad=True)
    >>> edge = mg.autograd.graph.get_gradient_edge(x * 3)
    >>> mg.autograd.grad(edge, x)
    (tensor(3.),)
    """
    if not tensor.requires_grad:
        raise AutogradError("MG-E107", "It is not possible to get the gradient edge for a Tensor that does not require gradients",
                            fix="x.requires_grad_()")
    return GradientEdge(_get_grad_fn_or_grad_acc(tensor), tensor.output_nr)    # pyright: ignore[reportArgumentType]


def _get_grad_fn_or_grad_acc(t):
    """The node that the gradient of a tensor or edge goes to."""
    if isinstance(t, GradientEdge):
        return t.node
    node = t.grad_fn
    if node is None and t.requires_grad:
        node = accumulator(t)
    if node is None:
        raise AssertionError("Expected gradient function to be set")
    return node


def _edge(x, what):
    """A tensor or GradientEdge as the pair (node or None, number)."""
    if isinstance(x, GradientEdge):
        if not isinstance(x.node, _Node):
            raise AutogradError("MG-E107", "GradientEdge's first object must be an autograd.graph.Node",
                                found=type(x.node).__name__)
        outputs = len(x.node._input_metadata)   # pyright: ignore[reportArgumentType]
        if not 0 <= x.output_nr < outputs:
            raise AutogradError("MG-E107", f"GradientEdge's output_nr {x.output_nr} is out of range: {x.node.name()} belongs to an "
                                f"op with {outputs} outputs")
        return x.node, x.output_nr
    if isinstance(x, Tensor):
        return x.grad_fn, x.output_nr
    raise AutogradError("MG-E107", f"{what} have to be Tensors or GradientEdges", found=type(x).__name__)


def _engine_run_backward(roots, grads, keep_graph, create_graph, inputs=None, accumulate=True):
    """Run the engine from `roots`; see `minigrad._core.engine.execute`."""
    return engine.execute(roots, grads, keep_graph, create_graph, inputs, accumulate)


# ---- inside a backward -----------------------------------------------------------------------------------


def _current_graph_task_id():
    """The number of the backward that is running in this thread, -1 outside of one.

    Mirrors ``torch._C._current_graph_task_id``.
    """
    task = engine.current_task()
    return -1 if task is None else task.id


def _current_autograd_node():
    """The node that is running in this thread, None outside of one. Mirrors ``torch._C._current_autograd_node``."""
    return engine.current_node()


def _will_engine_execute_node(node):
    """Whether the gradient of what `node` stands for is computed in the backward that is running.

    Unlike ``torch._C._will_engine_execute_node`` it also answers for a leaf under ``grad``.

    Raises:
        RuntimeError: no backward is running.
    """
    return engine.will_execute(node)


def _current_graph_task_execution_order():
    """The nodes of the backward that is running, in the order in which gradients reach them.

    Unlike ``torch._C._current_graph_task_execution_order`` it may be asked at any time, and with several roots.

    Raises:
        RuntimeError: no backward is running; `set_multithreading_enabled` is not off.
    """
    return engine.execution_order()
