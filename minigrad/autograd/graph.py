"""The graph as users reach it: nodes, edges that stand for a gradient, and what is saved for the backward.

Parts of it that are files of their own: hooks on several tensors (``_multi_grad.py``), the log of what runs
(``_graph_logging.py``), writes to what is saved (``_mutation.py``).

Mirrors ``torch/autograd/graph.py``.
"""

import abc
import contextlib
import logging
from typing import NamedTuple

from minigrad._core.engine import execute, node_call  # noqa: F401  (nodes can be called)
from minigrad._core.graph.accumulate_grad import grad_accumulator
from minigrad._core.graph.node import Node as _Node
from minigrad._core.graph.streams import set_warns
from minigrad._core.graph.thread_state import current
from minigrad._core.record.packed_tensor import check_hooks
from minigrad.autograd._graph_logging import logged
from minigrad.autograd._multi_grad import (
    _MultiHandle,  # noqa: F401  # pyright: ignore[reportAttributeAccessIssue]
    register_multi_grad_hook,
)
from minigrad.autograd._mutation import mutation_allowed
from minigrad.errors import AutogradAssertionError, AutogradError, AutogradTypeError
from minigrad.ops.base.rule import tensor_argument
from minigrad.tensor import Tensor

__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
           "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
           "set_warn_on_accumulate_grad_stream_mismatch"]

log = logging.getLogger(__name__)


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
    def _sequence_nr(self):
        """The number of the node in the order in which its thread has made them."""

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
    if not tensor_argument("get_gradient_edge", tensor, "tensor").requires_grad:
        raise AutogradError("MG-E107", "It is not possible to get the gradient edge for a Tensor that does not require gradients",
                            fix="x.requires_grad_()")
    return GradientEdge(_get_grad_fn_or_grad_acc(tensor), tensor.output_nr)    # pyright: ignore[reportArgumentType]


def increment_version(tensor):
    """Count the version of tensors up, as a write to their memory that minigrad cannot see would have to.

    Args:
        tensor (Tensor or iterable of Tensors): one listed twice goes up by two. Inference tensors, which have no
            version, are passed over.

    Raises:
        RuntimeError: it is neither, or something else than a tensor is among them.

    Mirrors ``torch.autograd.graph.increment_version``.

    >>> x = mg.ones(2)
    >>> mg.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    if isinstance(tensor, Tensor):
        tensor = (tensor,)
    try:
        tensors = list(tensor)
    except TypeError:
        raise AutogradError("MG-E129", "increment_version expects tensor to be a Tensor or an Iterable[Tensor]",
                            found=type(tensor).__name__) from None
    for x in tensors:
        if not isinstance(x, Tensor):
            raise AutogradError("MG-E129", "increment_version expects each element of the iterable to be a tensor",
                                found=type(x).__name__)
    for x in tensors:
        if not x.is_inference():
            x.bump("increment_version()")


class saved_tensors_hooks:
    """Context manager: what ops save for the backward passes through a pair of functions.

    Args:
        pack_hook (callable): gets a tensor that is about to be saved and returns anything; that is kept in its
            place. It runs with gradients disabled, once per tensor and use, and must not write to the tensor.
        unpack_hook (callable): gets what `pack_hook` returned, each time the tensor is needed, and returns a tensor
            of the same content. That takes the place of the original in the graph.

    Return ``x.detach()``, not ``x``, to keep a tensor as it is: an output of the op that is being recorded holds the node that
    would hold it. Only the innermost pair is called. The version of a packed tensor is not checked any more: if the packed object
    shares its memory, a write to it goes unnoticed.

    Raises:
        TypeError: a hook is not callable, when the context is entered; `unpack_hook` returns no tensor, in the backward.
        RuntimeError: `pack_hook` wrote to its argument, or hooks are disabled (`disable_saved_tensors_hooks`).

    Mirrors ``torch.autograd.graph.saved_tensors_hooks``.

    >>> a = mg.tensor([2.], requires_grad=True)
    >>> def pack(x):
    ...     print("packing", x)
    ...     return x.detach()
    >>> with mg.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
    ...     y = a.exp()
    packing tensor([7.3891], grad_fn=<ExpBackward0>)
    >>> y.backward(); a.grad
    tensor([7.3891])
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self):
        state = current()
        if state.saved_hooks_disabled is not None:
            raise RuntimeError(state.saved_hooks_disabled)
        check_hooks(self.pack_hook, self.unpack_hook)
        state.saved_hooks = (*state.saved_hooks, (self.pack_hook, self.unpack_hook))    # pyright: ignore[reportAttributeAccessIssue]

    def __exit__(self, *exc_info):
        state = current()
        if not state.saved_hooks:
            raise AutogradError("MG-E128", "there are no saved tensors hooks to leave: a context was left twice, or in "
                                "another thread")
        state.saved_hooks = state.saved_hooks[:-1]      # pyright: ignore[reportAttributeAccessIssue]


class save_on_cpu(saved_tensors_hooks):
    """Context manager: what ops save for the backward is kept in the memory of the host until it is needed.

    Args:
        pin_memory (bool): in pinned memory, from which a GPU reads without the CPU's help. What is on the CPU is copied.
        device_type (str): accepted as in PyTorch.

    On the CPU nothing is copied unless `pin_memory` is set, so a later write to a saved tensor changes what the
    backward sees, unnoticed. Mirrors ``torch.autograd.graph.save_on_cpu``.

    >>> x = mg.tensor([3.], requires_grad=True)
    >>> with mg.autograd.graph.save_on_cpu(pin_memory=True):
    ...     y = x * x
    >>> y.backward(); x.grad
    tensor([6.])
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        def pack(x):
            if x.device.type == "cpu":
                return x.device, x.detach().clone() if pin_memory else x.detach()
            return x.device, x.detach().cpu().pin_memory() if pin_memory else x.detach().cpu()

        def unpack(packed):
            device, x = packed
            return x.to(device, non_blocking=pin_memory)
        super().__init__(pack, unpack)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """Context manager and decorator: entering `saved_tensors_hooks` inside is an error with this text.

    Raises:
        TypeError: `error_message` is not a string.
        RuntimeError: hooks are active already; the text is `error_message`.

    Mirrors ``torch.autograd.graph.disable_saved_tensors_hooks``.

    >>> with mg.autograd.graph.disable_saved_tensors_hooks("no hooks here"):
    ...     with mg.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
    RuntimeError: no hooks here
    """
    if not isinstance(error_message, str):
        raise AutogradTypeError("MG-E128", f"error_message must be str, not {type(error_message).__name__}")
    state = current()
    if state.saved_hooks:
        raise RuntimeError(error_message)
    before = state.saved_hooks_disabled
    state.saved_hooks_disabled = error_message      # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        state.saved_hooks_disabled = before


def allow_mutation_on_saved_tensors():
    """Context manager: tensors that have been saved for the backward may be written to.

    What is about to be written to is copied first, once, if a node has saved it or a tensor that shares its memory. So
    the gradients are those of the same program without the writes. Forward and backward must run inside the same context.

    Yields:
        An object with the maps ``original`` and ``cloned``, for a look at what has been recorded and copied.

    Raises:
        RuntimeError: contexts are nested.
        AssertionError: a backward outside of the context runs a node that was made inside.

    It holds for this thread. Writes that minigrad cannot see (``.data``, NumPy) are not covered, as ever. Mirrors
    ``torch.autograd.graph.allow_mutation_on_saved_tensors``.

    >>> b = mg.tensor([1., 2.], requires_grad=True)
    >>> with mg.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = b.clone()
    ...     y = (a ** 2).sum()
    ...     _ = a[1:].zero_()
    ...     y.backward()
    >>> b.grad
    tensor([2., 4.])
    """
    return mutation_allowed(saved_tensors_hooks)


def _get_grad_fn_or_grad_acc(t):
    """The node that the gradient of a tensor or edge goes to. Raises `AssertionError` if there is none."""
    if isinstance(t, GradientEdge):
        return t.node
    node = t.grad_fn
    if node is None and t.requires_grad:
        node = grad_accumulator(t)
    if node is None:
        raise AutogradAssertionError("MG-E107", "Expected gradient function to be set: the tensor requires no gradient",
                                     fix="x.requires_grad_()")
    return node


def _edge(x, what):
    """A tensor or GradientEdge as the pair (node or None, number)."""
    if isinstance(x, GradientEdge):
        if not isinstance(x.node, _Node):
            raise AutogradError("MG-E107", "GradientEdge's first object must be an autograd.graph.Node",
                                found=type(x.node).__name__)
        outputs = len(x.node._input_metadata)   # pyright: ignore[reportArgumentType]
        if x.output_nr not in range(outputs):
            raise AutogradError("MG-E107", f"GradientEdge's output_nr {x.output_nr} is out of range: {x.node.name()} belongs to an "
                                f"op with {outputs} outputs")
        return x.node, x.output_nr
    if isinstance(x, Tensor):
        return x.grad_fn, x.output_nr
    raise AutogradError("MG-E107", f"{what} have to be Tensors or GradientEdges", found=type(x).__name__)


def _engine_run_backward(roots, grads, keep_graph, create_graph, inputs=None, accumulate=True):
    """Run the engine from `roots`, and log what it runs if somebody listens; see `minigrad._core.engine.execute`."""
    if not log.isEnabledFor(logging.DEBUG):
        return execute.execute(roots, grads, keep_graph, create_graph, inputs, accumulate)
    remove = _register_logging_hooks_on_whole_graph([GradientEdge(*root) for root in roots])
    try:
        return execute.execute(roots, grads, keep_graph, create_graph, inputs, accumulate)
    finally:
        remove()


def _run_from_number(tensor, keep_graph):
    """`_engine_run_backward` from one real number to all leaves. False if `tensor` is no such, or somebody wants a log."""
    return not log.isEnabledFor(logging.DEBUG) and execute.execute_from_scalar(tensor, keep_graph)


def _register_logging_hooks_on_whole_graph(t_outputs):
    """Log every node that runs behind these tensors or edges, on the logger ``minigrad.autograd.graph`` at level DEBUG.

    At that level every backward does so by itself. Returns a function that removes the hooks.
    Mirrors ``torch.autograd.graph._register_logging_hooks_on_whole_graph``.
    """
    return logged([_get_grad_fn_or_grad_acc(t) for t in t_outputs])


def set_warn_on_accumulate_grad_stream_mismatch(enabled):
    """Whether to warn when the gradient of a leaf is computed on another CUDA stream than its AccumulateGrad node belongs to.

    That node runs on the stream that was current when it was made: in the first forward pass that used the leaf, as long as any
    graph with it is alive. If later passes run on another stream, one waits for the other at each leaf. On by default.

    Raises:
        RuntimeError: `enabled` is no bool.

    Mirrors ``torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch``.

    >>> mg.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    """
    if not isinstance(enabled, bool):
        raise AutogradError("MG-E150", f"enabled must be a bool, but got {type(enabled).__name__}")
    set_warns(enabled)


# ---- inside a backward -----------------------------------------------------------------------------------


def _current_graph_task_id():
    """The number of the backward that is running in this thread, -1 outside of one.

    Mirrors ``torch._C._current_graph_task_id``.
    """
    task = execute.current_task()
    return -1 if task is None else task.id


def _current_autograd_node():
    """The node that is running in this thread, None outside of one. Mirrors ``torch._C._current_autograd_node``."""
    return execute.current_node()


def _will_engine_execute_node(node):
    """Whether the gradient of what `node` stands for is computed in the backward that is running.

    Unlike ``torch._C._will_engine_execute_node`` it also answers for a leaf under ``grad``.

    Raises:
        RuntimeError: no backward is running.
    """
    return execute.will_execute(node)


def _current_graph_task_execution_order():
    """The nodes of the backward that is running, in the order in which gradients reach them.

    Unlike ``torch._C._current_graph_task_execution_order`` it may be asked at any time, and with several roots.

    Raises:
        RuntimeError: no backward is running; `set_multithreading_enabled` is not off.
    """
    return execute.execution_order()
