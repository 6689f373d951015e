"""The class `debug`: an instance is a context manager, and the static methods return reports.

The reports also work outside the context. Then they have no files and lines.

Read next: ``_core/graph/switches.py``, which says what is noted inside the context.
"""

import threading

from minigrad._core.graph.node import Node
from minigrad._core.graph.switches import switches
from minigrad._core.observe.graph_memory import current_version, list_saved
from minigrad._core.record.history import noted_writes
from minigrad._debug.holders import find_holders
from minigrad._debug.record import Record
from minigrad._debug.reports import Holders, SavedTensors, Versions, Write, saved_values
from minigrad.autograd.grad_mode import BareMode  # pyright: ignore[reportAttributeAccessIssue]
from minigrad.errors import AutogradTypeError
from minigrad.tensor import Tensor

__all__ = ["debug"]


def node_of(tensor, who):
    """Return the node of a tensor, or the node itself. The error names the function `who`."""
    node = tensor.grad_fn if isinstance(tensor, Tensor) else tensor
    if node is not None and not isinstance(node, Node):
        raise AutogradTypeError("MG-E177", f"debug.{who}() expects a tensor or a node, but got {type(tensor).__name__}")
    return node


_switching = threading.Lock()
_inside = 0     # the number of open contexts in all threads, which may close in any order


def count_contexts(more):
    """Add to the number of open contexts, and set the switch."""
    global _inside
    with _switching:
        _inside += more
        switches.debug = _inside > 0
        switches.update_derived()


class debug(BareMode):
    """Context manager and decorator that notes where tensors are saved and written to. Its static methods return reports.

    Inside the context, in all threads, each op that saves tensors notes the file and line that called it. Each in-place
    write does the same. The error for a modified saved tensor then names both lines. The notes cost some microseconds per
    op, so use the context to find a mistake. Anomaly mode takes the same notes.

    Without a counterpart in PyTorch.

    >>> x = mg.tensor([1., 2.], requires_grad=True)
    >>> with mg.debug():
    ...     y = x.exp()
    ...     z = y.mul_(2)
    >>> mg.debug.versions(y).writes[0].op
    'mul_'
    """

    def __enter__(self):
        count_contexts(1)

    def __exit__(self, *exc_info):
        count_contexts(-1)

    @staticmethod
    def versions(tensor):
        """Return the version of the memory of `tensor`, and the noted writes to this memory.

        Args:
            tensor (Tensor): a tensor. Its views, its base and the results of `detach` share its memory, so their report is equal.

        Returns:
            Versions: ``version``, and ``writes``: a list of the latest 1000 `Write` (version, op, file, line).

        Raises:
            TypeError: `tensor` is not a tensor.

        >>> x = mg.zeros(3)
        >>> with mg.debug():
        ...     x[1:].add_(1)
        tensor([1., 1.])
        >>> mg.debug.versions(x)
        at version 1
        version 1  add_  <doctest ...>:2   x[1:].add_(1)
        """
        if not isinstance(tensor, Tensor):
            raise AutogradTypeError("MG-E177", f"debug.versions() expects a tensor, but got {type(tensor).__name__}")
        return Versions(current_version(tensor), [Write(*entry) for entry in noted_writes(tensor)])

    @staticmethod
    def saved(tensor, graph=True):
        """List the tensors saved for the backward from `tensor`, why each is saved, and how many bytes they keep alive.

        Args:
            tensor (Tensor or Node): the tensor or node at which the backward would start.
            graph (bool): if True, list the saved tensors of all nodes that the backward would run. If False, list only those
                of the first node.

        Returns:
            SavedTensors: a list of `SavedValue`, in the order of the backward. ``nbytes`` is the memory that they keep alive.
            The list is empty after a backward that has released the saved tensors.

        Raises:
            TypeError: `tensor` is neither a tensor nor a node.

        >>> x = mg.ones(1000, requires_grad=True)
        >>> y = (x.exp() * 2).tanh()
        >>> mg.debug.saved(y)
        node           saved   what            version  bytes  for                   where
        TanhBackward0  result  float32 [1000]  0        4,000  the gradient of self
        ExpBackward0   result  float32 [1000]  0        4,000  the gradient of self
        2 tensors in 2 storages: 8,000 bytes, of which 0 belong to leaves
        >>> y.sum().backward()
        >>> mg.debug.saved(y)
        nothing saved
        """
        node = node_of(tensor, "saved")
        return SavedTensors() if node is None else saved_values(list_saved(node, graph))

    @staticmethod
    def holders(tensor):
        """List the objects that keep the graph behind `tensor` alive, and so all tensors saved in it.

        A graph lives as long as an object refers to one of its nodes, or to a tensor that it computed. Such a holder is a
        variable, a list of losses, an attribute, or a function that uses the tensor. For each holder, the report says how the
        program reaches it, and how many nodes and bytes it keeps alive.

        Args:
            tensor (Tensor or Node): the end of the graph: usually the loss.

        Returns:
            Holders: a list of `Holder` (path, where, node, nodes, nbytes). The list itself refers to no tensor.

        Raises:
            TypeError: `tensor` is neither a tensor nor a node.

        The search looks at all objects that the garbage collector knows. It takes from some hundredths of a second to some
        seconds. It finds no name for an object that only C code refers to: a temporary value, or a variable of a generator.

        >>> x = mg.ones(1000, requires_grad=True)
        >>> losses = []
        >>> def train():
        ...     losses.append(x.exp().sum())        # this keeps the graph; losses.append(loss.item()) would not
        >>> train()
        >>> [(h.nodes, h.nbytes) for h in mg.debug.holders(losses[0]) if h.path == "losses[0]"]
        [(2, 4000)]
        """
        node = node_of(tensor, "holders")
        return Holders() if node is None else Holders(find_holders(node, lambda nodes: saved_values(
            [value for owner in nodes for value in list_saved(owner, False)]).nbytes))

    @staticmethod
    def record(**names):
        """Record each step of the engine: which node ran, in which order, and why.

        Args:
            **names (Tensor): names for tensors in pictures: ``record(x=x, w=w)``. In a notebook, and at the top level of a
                script, the record finds the names of all variables itself.

        Returns:
            Record: a context manager. It records every backward that begins inside it, in all threads, step by step. It also
            records new nodes, in-place writes and pack hooks. You can read the record `r` inside the context and after it:

            * ``print(r)`` shows a table, one line per event;
            * ``r.events`` is a list of the same events: `Event` (step, kind, node, op, task, depth, thread, data, what, why);
            * ``r.order`` names the nodes in the order in which they ran, and ``r.nodes`` has the op of each node;
            * ``r.to_json()`` returns the record as JSON, and ``r.schema()`` its JSON schema;
            * ``r.to_dot()`` draws the graph for Graphviz, with the gradients on the edges;
            * ``mg.viz.step(r)`` is a page that steps through the record. A notebook shows this page for `r`.

        Raises:
            TypeError: one of `names` is not a tensor.
            RuntimeError: the record is entered a second time before it has ended.

        Nodes are called n1, n2, ... in the order in which they appear. Read the table like this:

        * `count`: a backward begins by counting the gradients that each node waits for.
        * `dequeue`: the engine takes a node out of the ready queue, with the gradient in its input buffer.
        * `unpack`, `compute`, `release`: the node unpacks its saved tensors, computes, and frees its saved tensors.
        * `receive`: a result reaches the input buffer of the next node. It is the first there, or is added.
        * `enqueue`: a node no longer waits for any gradient, so it is ready.
        * `accumulate`: the gradient of a leaf becomes its ``.grad``, or is added to it.
        * `hook`: the engine calls a hook; the table shows its argument and its result.

        The events of a backward within a backward are indented.

        A record has numbers and names, but no tensor and no node. So it keeps nothing alive, and does not change what the engine
        computes. If a backward fails, the record ends with the error. A backward that began before the context is not recorded.

        Without a counterpart in PyTorch.

        >>> x = mg.tensor([1., 2.], requires_grad=True)
        >>> y = (x * x).sum()
        >>> with mg.debug.record() as r:
        ...     y.backward()
        >>> r
        step  event       node               what                      why
           1  begin       n1 SumBackward0    a backward over 3 nodes   each node frees its saved tensors after it has run
           2  count       n1 SumBackward0    n1: 0, n2: 1, n3: 2       a node waits for one gradient per edge to it
           3  receive     n1 SumBackward0    1                         the backward begins here
           4  enqueue     n1 SumBackward0    ready                     it waits for no gradient
           5  dequeue     n1 SumBackward0    1                         ready since step 4; the only ready node
           6  compute     n1 SumBackward0    1 -> [1, 1]
           7  receive     n2 MulBackward0    [1, 1]                    from n1
           8  enqueue     n2 MulBackward0    ready                     its last gradient came from n1
           9  dequeue     n2 MulBackward0    [1, 1]                    ready since step 8; the only ready node
          10  unpack      n2 MulBackward0    other = [1, 2]            saved at version 0, now 0: unchanged
          11  unpack      n2 MulBackward0    self = [1, 2]             saved at version 0, now 0: unchanged
          12  compute     n2 MulBackward0    [1, 1] -> [1, 2], [1, 2]
          13  release     n2 MulBackward0    2 saved tensors           without retain_graph
          14  receive     n3 AccumulateGrad  [1, 2]                    from n2; waits for 1 more
          15  receive     n3 AccumulateGrad  [1, 2] + [1, 2] = [2, 4]  from n2, added in place
          16  enqueue     n3 AccumulateGrad  ready                     its last gradient came from n2
          17  dequeue     n3 AccumulateGrad  [2, 4]                    ready since step 16; the only ready node
          18  accumulate  n3 AccumulateGrad  .grad = [2, 4]            stolen without a copy: nothing else refers to it
          19  end         n1 SumBackward0    3 nodes have run          no node is ready
        >>> r.order
        ['n1', 'n2', 'n3']
        """
        for name, tensor in names.items():
            if not isinstance(tensor, Tensor):
                raise AutogradTypeError("MG-E177", f"debug.record() expects tensors, but {name} is a {type(tensor).__name__}")
        return Record(names)
