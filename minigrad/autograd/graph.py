"""The public view of the graph: nodes, gradient edges, and the tensors that are saved for the backward.

Other files have the hooks on several tensors (``_multi_grad.py``), the log of a backward (``_graph_logging.py``) and the context
that allows writes to saved tensors (``_mutation.py``).

Mirrors ``torch/autograd/graph.py``.
"""

from __future__ import annotations

import abc
import contextlib
import sys
from typing import TYPE_CHECKING, NamedTuple

from minigrad._core.engine import execute, node_call  # noqa: F401  (the import of node_call makes nodes callable)
from minigrad._core.graph.accumulate_grad import grad_accumulator
from minigrad._core.graph.node import Node as _Node
from minigrad._core.graph.streams import set_warns
from minigrad._core.graph.thread_state import current
from minigrad._core.record import saved_attributes  # noqa: F401  (and this one their saved values attributes)
from minigrad._core.record.packed_tensor import check_hooks
from minigrad.autograd._multi_grad import (
    _MultiHandle,  # noqa: F401  # pyright: ignore[reportAttributeAccessIssue]
    register_multi_grad_hook,
)
from minigrad.autograd._mutation import allow_mutation
from minigrad.errors import AutogradAssertionError, AutogradError, AutogradTypeError
from minigrad.ops.base.arguments import tensor_argument
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

__all__ = ["GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
           "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
           "set_warn_on_accumulate_grad_stream_mismatch"]


DEBUG = 10      # logging.DEBUG


class Node(abc.ABC):
    """The type of every node of the graph, for `isinstance`.

    The nodes are objects of ``_core/``. They are instances of this class without deriving from it.
    Mirrors ``torch.autograd.graph.Node``.

    >>> y = mg.tensor(2., requires_grad=True) * 3
    >>> isinstance(y.grad_fn, mg.autograd.graph.Node), y.grad_fn.name()
    (True, 'MulBackward0')
    """

    @abc.abstractmethod
    def name(self):
        """Return the name, such as ``MulBackward0``."""

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
        """Return the sequence number: the number of nodes that this thread made before."""

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
    """An edge of the graph: a node, and the number of one of its outputs. Mirrors ``torch.autograd.graph.GradientEdge``.

    >>> x = mg.tensor([1.], requires_grad=True)
    >>> edge = mg.autograd.graph.get_gradient_edge(x * 2)
    >>> edge.node.name(), edge.output_nr
    ('MulBackward0', 0)
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the gradient edge of `tensor`. The functions of autograd take it instead of the tensor.

    The edge keeps the graph alive, but not the tensor.

    Args:
        tensor (Tensor): a tensor that requires a gradient.

    Returns:
        GradientEdge: the node and the output number.

    Raises:
        RuntimeError: the tensor requires no gradient.
        TypeError: the argument is not a tensor.

    Mirrors ``torch.autograd.graph.get_gradient_edge``.

    >>> x = mg.tensor(2., requires_grad=True)
    >>> edge = mg.autograd.graph.get_gradient_edge(x * 3)
    >>> mg.autograd.grad(edge, x)
    (tensor(3.),)
    """
    if not tensor_argument("get_gradient_edge", tensor, "tensor").requires_grad:
        raise AutogradError("MG-E107", "It is not possible to get the gradient edge for a Tensor that does not require gradients",
                            fix="x.requires_grad_()")
    return GradientEdge(_get_grad_fn_or_grad_acc(tensor), tensor.output_nr)    # pyright: ignore[reportArgumentType]


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Increment the version of tensors. Call it after a write to their memory that minigrad cannot see.

    Args:
        tensor (Tensor or iterable of Tensors): a tensor listed twice is incremented twice. Inference tensors
            have no version and are skipped.

    Raises:
        RuntimeError: `tensor` is neither a tensor nor an iterable, or an element is not a tensor.

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
    """Context manager: tensors that ops save for the backward pass through a pair of functions.

    Args:
        pack_hook (Callable): takes a tensor that an op saves, and returns any object. The node stores this object instead. The hook
            runs with gradients disabled, once for each saved tensor of each op. It must not write to the tensor.
        unpack_hook (Callable): takes the object from `pack_hook`, each time the backward needs the tensor, and returns a tensor
            with the same values. The backward uses it instead of the original.

    A `pack_hook` that stores the tensor itself should return ``x.detach()``, not ``x``. An output of the op refers to the new node,
    and the node would refer to the output. Only the innermost pair of hooks is called. The version of a packed tensor is not
    checked: if the packed object shares the memory of the tensor, the backward does not notice a write to it.

    Raises:
        TypeError: a hook is not callable; or, in the backward, `unpack_hook` does not return a tensor.
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

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        state = current()
        if state.saved_hooks_disabled is not None:
            raise RuntimeError(state.saved_hooks_disabled)
        check_hooks(self.pack_hook, self.unpack_hook)
        state.saved_hooks = (*state.saved_hooks, (self.pack_hook, self.unpack_hook))    # pyright: ignore[reportAttributeAccessIssue]

    def __exit__(self, *exc_info: Any) -> None:
        state = current()
        if not state.saved_hooks:
            raise AutogradError("MG-E128", "there are no saved tensors hooks to leave: a program left a context twice, "
                                "or in another thread")
        state.saved_hooks = state.saved_hooks[:-1]      # pyright: ignore[reportAttributeAccessIssue]


class save_on_cpu(saved_tensors_hooks):
    """Context manager: the tensors that ops save for the backward stay in CPU memory until the backward needs them.

    Args:
        pin_memory (bool): use pinned memory, which a GPU reads without the help of the CPU. CPU tensors are then copied too.
        device_type (str): accepted as in PyTorch, and ignored.

    A CPU tensor is copied only with `pin_memory`. Without a copy, a later write to the saved tensor changes the values in the
    backward, and no error is raised. Mirrors ``torch.autograd.graph.save_on_cpu``.

    >>> x = mg.tensor([3.], requires_grad=True)
    >>> with mg.autograd.graph.save_on_cpu(pin_memory=True):
    ...     y = x * x
    >>> y.backward(); x.grad
    tensor([6.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(x):
            if x.device.type == "cpu":
                return x.device, x.detach().clone() if pin_memory else x.detach()
            return x.device, x.detach().cpu().pin_memory() if pin_memory else x.detach().cpu()

        def unpack(packed):
            device, x = packed
            return x.to(device, non_blocking=pin_memory)
        super().__init__(pack, unpack)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Context manager and decorator: entering `saved_tensors_hooks` inside raises an error.

    Args:
        error_message (str): the text of that error.

    Raises:
        TypeError: `error_message` is not a string.
        RuntimeError: hooks are active already. The text is `error_message`.

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


def allow_mutation_on_saved_tensors() -> Any:
    """Context manager: allow in-place writes to tensors that are saved for the backward.

    Before the first write to a memory, each saved tensor in this memory is copied. So the backward uses the values of the forward.
    Forward and backward must run inside the same context. The context applies to this thread. It does not protect against
    writes that minigrad cannot see (``.data``, NumPy).

    Yields:
        An object with the maps ``original`` and ``cloned``: the tensors that were saved and the tensors that were copied.

    Raises:
        RuntimeError: contexts are nested.
        AssertionError: a backward outside of the context runs a node that was made inside.

    Mirrors ``torch.autograd.graph.allow_mutation_on_saved_tensors``.

    >>> b = mg.tensor([1., 2.], requires_grad=True)
    >>> with mg.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = b.clone()
    ...     y = (a ** 2).sum()
    ...     _ = a[1:].zero_()
    ...     y.backward()
    >>> b.grad
    tensor([2., 4.])
    """
    return allow_mutation(saved_tensors_hooks)


def _get_grad_fn_or_grad_acc(t):
    """Return the node of the gradient edge of `t`, a tensor or edge. Raise `AssertionError` if it requires no gradient."""
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
    """Return the pair (node or None, output number) of a tensor or GradientEdge."""
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


_log = None     # the logger, once there is one


def _is_logged():
    """Whether the logger of this module is at level DEBUG.

    It is not while no program has imported `logging`, and then we do not import it either: it takes 2 ms.
    """
    global _log
    if _log is None:
        if "logging" not in sys.modules:
            return False
        import logging
        _log = logging.getLogger(__name__)
    return _log.isEnabledFor(DEBUG)


def _engine_run_backward(roots, grads, keep_graph, create_graph, inputs=None, accumulate=True):
    """Run the engine from `roots`, and log each node at level DEBUG; see `minigrad._core.engine.execute`."""
    if not _is_logged():
        return execute.execute(roots, grads, keep_graph, create_graph, inputs, accumulate)
    remove = _register_logging_hooks_on_whole_graph([GradientEdge(*root) for root in roots])
    try:
        return execute.execute(roots, grads, keep_graph, create_graph, inputs, accumulate)
    finally:
        remove()


def _run_from_tensors(tensors, gradients, inputs, keep_graph, create_graph):
    """Run the engine for the usual arguments (`execute_from_tensors`). Return None for others, and at level DEBUG."""
    return None if _is_logged() else execute.execute_from_tensors(tensors, gradients, inputs, keep_graph, create_graph)


def _register_logging_hooks_on_whole_graph(t_outputs):
    """Log every node behind these tensors or edges when it runs: logger ``minigrad.autograd.graph``, level DEBUG.

    Return a function that removes the hooks. At that level, every backward logs its nodes without this call.
    Mirrors ``torch.autograd.graph._register_logging_hooks_on_whole_graph``.
    """
    from minigrad.autograd._graph_logging import log_nodes
    return log_nodes([_get_grad_fn_or_grad_acc(t) for t in t_outputs])


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Switch on or off a warning: a gradient is computed on another CUDA stream than the AccumulateGrad node runs on.

    An AccumulateGrad node runs on the stream that was current when the node was made, in the first forward pass that used the leaf.
    The node lives as long as a graph contains it. If later passes run on another stream, the streams wait for each other
    at each leaf.

    Args:
        enabled (bool): whether to warn. True by default.

    Raises:
        RuntimeError: `enabled` is not a bool.

    Mirrors ``torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch``.

    >>> mg.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    """
    if not isinstance(enabled, bool):
        raise AutogradError("MG-E150", f"enabled must be a bool, but got {type(enabled).__name__}")
    set_warns(enabled)


# ---- inside a backward -----------------------------------------------------------------------------------


def _current_graph_task_id():
    """Return the number of the graph task that is running in this thread; -1 outside of a backward.

    Mirrors ``torch._C._current_graph_task_id``.
    """
    task = execute.current_task()
    return -1 if task is None else task.id


def _current_autograd_node():
    """Return the node that is running in this thread, or None. Mirrors ``torch._C._current_autograd_node``."""
    return execute.current_node()


def _will_engine_execute_node(node):
    """Return whether the running backward executes `node`.

    Unlike ``torch._C._will_engine_execute_node`` it also works for the accumulator of a leaf under ``grad``.

    Raises:
        RuntimeError: no backward is running.
    """
    return execute.will_execute(node)


def _current_graph_task_execution_order():
    """Return the nodes of the running backward, in the order in which gradients reach them.

    Unlike ``torch._C._current_graph_task_execution_order``, it also works in the middle of a backward and with several roots.

    Raises:
        RuntimeError: no backward is running; or multithreading is on: see `set_multithreading_enabled`.
    """
    return execute.execution_order()
