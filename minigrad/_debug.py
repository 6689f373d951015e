"""`mg.debug`: what one cannot see: saves and writes, what a graph keeps, who keeps the graph, what the engine does.

    with mg.debug():                    note the file and line of every save and every write
        y = x * w; w.mul_(2)
        y.sum().backward()              the error tells both

    mg.debug.versions(w)                the writes to a tensor's memory
    mg.debug.saved(y)                   what the graph behind y has saved for its backward
    mg.debug.holders(y)                 who keeps that graph alive                              _holders.py
    mg.debug.record()                   what the engine does, and why next                      _record.py

`debug` is a class: an instance is the context, and the static methods read out. They work outside of the context too;
then they have no files and lines.

Read next: ``_core/graph/switches.py``, for what is noted while it is on.
"""

import threading
from typing import Any, NamedTuple

from minigrad._core.graph.node import Node
from minigrad._core.graph.switches import switches
from minigrad._core.graph.tensor import owner_of
from minigrad._core.observe.graph_memory import current_version, list_saved
from minigrad._core.record.history import describe_location, describe_use, noted_writes, save_location
from minigrad._holders import Holder, found
from minigrad._record import Event, Record
from minigrad.autograd.grad_mode import BareMode  # pyright: ignore[reportAttributeAccessIssue]
from minigrad.errors import AutogradTypeError
from minigrad.tensor import Tensor

__all__ = ["Event", "Holder", "Holders", "Record", "SavedTensors", "SavedValue", "Versions", "Write", "debug"]


class Write(NamedTuple):
    """One write to a tensor's memory: the version after it, the op that wrote, and where in the program."""

    version: int
    op: str
    file: str
    line: int

    def __str__(self):
        return f"version {self.version}: {self.op}  {describe_location(self.file, self.line)}"


class Versions:
    """The version of a tensor's memory, and the writes that were noted, oldest first. See `debug.versions`."""

    def __init__(self, version, writes):
        self.version = version
        self.writes = writes

    def __repr__(self):
        rows = [(f"version {w.version}", w.op, describe_location(w.file, w.line)) for w in self.writes]
        missing = self.version - len(self.writes)
        if missing:
            rows.append(("", "", f"{missing} of {self.version} writes not noted: debug() was off"))
        return "\n".join([f"at version {self.version}", *table(rows)])


class SavedValue(NamedTuple):
    """A tensor that a node has saved. See `debug.saved`.

    node            the node
    name            PyTorch's name of the value: the node of an op shows it as ``_saved_<name>``
    purpose         what the node needs it for, such as ``the gradient of self``
    value           the tensor itself, an alias without history if it is an output of the node, or what a hook has packed
    version         the version of its memory when it was saved, None for what a hook has packed
    now             its version now: if it differs, the backward will refuse
    where           (file, line) of the op, None if debug() was off
    """

    node: Any
    name: str
    purpose: str
    value: Any
    version: int | None
    now: int | None
    where: tuple[str, int] | None

    @property
    def nbytes(self):
        """The size of its elements; 0 for what a hook has packed, unless that is a tensor."""
        return self.value.numel() * self.value.element_size() if isinstance(self.value, Tensor) else 0

    @property
    def modified(self):
        """Whether it has been written to since it was saved."""
        return self.version != self.now


class SavedTensors(list):
    """What nodes have saved, in the order in which a backward runs them: a list of `SavedValue`. See `debug.saved`.

    A storage counts once in `nbytes`, however many tensors on it are saved, and whole, for the smallest view
    keeps it alive. `leaf_nbytes` is the part of it that belongs to leaves, which somebody else holds anyway.
    """

    def __init__(self, values=()):
        super().__init__(values)

    def storages(self):
        """The storages that are kept: address -> (bytes, whether a leaf lies in it)."""
        found = {}
        for saved in self:
            if isinstance(saved.value, Tensor):
                memory = owner_of(saved.value._array)
                owner = saved.value if saved.value._base is None else saved.value._base
                leaf = owner.requires_grad and owner.is_leaf        # of a view we do not ask: that may regenerate its history
                found[id(memory)] = memory.nbytes, leaf or found.get(id(memory), (0, False))[1]
        return found

    @property
    def nbytes(self):
        """Bytes of all storages that are kept, each counted once."""
        return sum(size for size, _ in self.storages().values())

    @property
    def leaf_nbytes(self):
        """Bytes of those storages in which a leaf that requires a gradient lies."""
        return sum(size for size, leaf in self.storages().values() if leaf)

    def __repr__(self):
        rows = [("node", "saved", "what", "version", "bytes", "for", "where")]
        for saved in self:
            tensor = isinstance(saved.value, Tensor)
            version = "" if saved.version is None else f"{saved.version}, now {saved.now}" if saved.modified else f"{saved.version}"
            rows.append((saved.node.name(), saved.name,
                         ("" if saved.version is not None else "packed: ")
                         + (f"{saved.value.dtype} {list(saved.value.shape)}".removeprefix("minigrad.") if tensor
                            else type(saved.value).__name__),
                         version, f"{saved.nbytes:,}" if tensor else "?", saved.purpose,
                         "" if saved.where is None else describe_location(*saved.where)))
        storages = self.storages()
        total = f"{len(self)} tensors in {len(storages)} storages: {self.nbytes:,} bytes, {self.leaf_nbytes:,} of them of leaves"
        return "\n".join([*table(rows), total] if self else ["nothing saved"])


class Holders(list):
    """Who keeps a graph alive: a list of `Holder`, the largest first. See `debug.holders`."""

    def __repr__(self):
        rows = [("held by", "which is", "holds", "nodes", "bytes")]
        rows += [(h.path, h.where, h.node, str(h.nodes), f"{h.nbytes:,}") for h in self]
        return "\n".join(table(rows) if self else ["nobody holds it"])


def node_of(tensor, who):
    """The node of a tensor, or the node itself; `who` is named in the error."""
    node = tensor.grad_fn if isinstance(tensor, Tensor) else tensor
    if node is not None and not isinstance(node, Node):
        raise AutogradTypeError("MG-E177", f"debug.{who}() expects a tensor or a node, but got {type(tensor).__name__}")
    return node


def saved_values(entries):
    """What `list_saved` has listed, as a table."""
    return SavedTensors([
        SavedValue(owner, name, describe_use(owner, letter) or "its backward", value, version,
                   None if version is None else current_version(value), save_location(owner))
        for owner, letter, name, value, version in entries])


def table(rows):
    """Rows of texts as lines, in columns."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join([cell.ljust(width) for cell, width in zip(row, widths)]).rstrip() for row in rows]


_switching = threading.Lock()
_inside = 0     # contexts that are open, in all threads: they may be left in any order


def entered(more):
    """Count the contexts that are open, and set the switch."""
    global _inside
    with _switching:
        _inside += more
        switches.debug = _inside > 0
        switches.update_derived()


class debug(BareMode):
    """Context manager and decorator: note where every tensor is saved and written to; and, as a name, read-outs.

    While it is on, in whatever thread, an op that saves tensors notes the file and line from which it was called, and
    so does every write in place. The error that a saved tensor was modified then names both. It costs some microseconds
    an op: this is for finding a mistake. Anomaly mode notes the same.

    Without a counterpart in PyTorch.

    >>> x = mg.tensor([1., 2.], requires_grad=True)
    >>> with mg.debug():
    ...     y = x.exp()
    ...     z = y.mul_(2)
    >>> mg.debug.versions(y).writes[0].op
    'mul_'
    """

    def __enter__(self):
        entered(1)

    def __exit__(self, *exc_info):
        entered(-1)

    @staticmethod
    def versions(tensor):
        """The version of the memory of `tensor`, and the writes to it that were noted.

        Args:
            tensor (Tensor): a view and its base, and what `detach` makes of them, share what is shown.

        Returns:
            Versions: ``version``, and ``writes``: a list of `Write` (version, op, file, line), the latest 1000.

        Raises:
            TypeError: `tensor` is none.

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
        """What has been saved for the backward from `tensor`, why, and how many bytes that keeps alive.

        Args:
            tensor (Tensor or Node): where the backward would start.
            graph (bool): of all nodes that it would run; False for the first one alone.

        Returns:
            SavedTensors: a list of `SavedValue`, in the order of the backward; ``nbytes`` is the memory that is kept.
            Empty after a backward that has let go of it.

        Raises:
            TypeError: `tensor` is neither.

        >>> x = mg.ones(1000, requires_grad=True)
        >>> y = (x.exp() * 2).tanh()
        >>> mg.debug.saved(y)
        node           saved   what            version  bytes  for                   where
        TanhBackward0  result  float32 [1000]  0        4,000  the gradient of self
        ExpBackward0   result  float32 [1000]  0        4,000  the gradient of self
        2 tensors in 2 storages: 8,000 bytes, 0 of them of leaves
        >>> y.sum().backward()
        >>> mg.debug.saved(y)
        nothing saved
        """
        node = node_of(tensor, "saved")
        return SavedTensors() if node is None else saved_values(list_saved(node, graph))

    @staticmethod
    def holders(tensor):
        """Who keeps the graph behind `tensor` alive, and with it all that was saved for its backward.

        A graph lives as long as somebody holds a tensor that was computed, or a node: a variable, a list of losses, an
        attribute, a function that uses it. Of each holder the table says how it is reached, and how many nodes and bytes it keeps.

        Args:
            tensor (Tensor or Node): what the graph is behind.

        Returns:
            Holders: a list of `Holder` (path, where, node, nodes, nbytes). It holds no tensor itself.

        Raises:
            TypeError: `tensor` is neither.

        All objects that the garbage collector knows are looked at, so it takes from some hundredths of a second to some seconds.
        Of what is held from C alone (a value that is being computed, a variable of a generator) it cannot tell the name.

        >>> x = mg.ones(1000, requires_grad=True)
        >>> losses = []
        >>> def train():
        ...     losses.append(x.exp().sum())        # the graph stays: losses.append(loss.item()) would let it go
        >>> train()
        >>> [(h.nodes, h.nbytes) for h in mg.debug.holders(losses[0]) if h.path == "losses[0]"]
        [(2, 4000)]
        """
        node = node_of(tensor, "holders")
        return Holders() if node is None else Holders(found(node, lambda nodes: saved_values(
            [value for owner in nodes for value in list_saved(owner, False)]).nbytes))

    @staticmethod
    def record(**names):
        """Take down what the engine does: what ran, in which order, and why next.

        Args:
            **names (Tensor): what to call tensors in pictures: ``record(x=x, w=w)``. In a notebook, and at the top level of a
                script, the names of all variables are known without.

        Returns:
            Record: a context manager. Every backward that begins inside it, in whatever thread, is taken down, step by step, and
            so are new nodes, writes in place, and pack hooks. After it, and inside,

            * ``print(r)`` shows a table, one line per event;
            * ``r.events`` is the same as a list of `Event` (step, kind, node, op, task, depth, thread, data, what, why);
            * ``r.order`` names the nodes in the order in which they ran, and ``r.nodes`` says what each is;
            * ``r.to_json()`` is all of it as JSON, for which ``r.schema()`` is the schema;
            * ``r.to_dot()`` draws the graph for Graphviz, with the gradients on the edges;
            * ``mg.viz.step(r)`` is a page to step through it, which a notebook shows for `r` itself.

        Raises:
            TypeError: one of `names` is no tensor.
            RuntimeError: the record is entered a second time while it is being taken.

        Nodes are called n1, n2, ... in the order in which they appear. How to read the table: each backward begins with what
        its nodes wait for (`count`). Then a node is taken out of the queue (`dequeue`), with the gradient that has gathered in
        its buffer, and why it is its turn; it unpacks what it has saved (`unpack`), computes (`compute`), and lets go of what it
        has saved (`release`). Each result goes to the buffer behind its edge (`receive`): it is the first there, or is added. A
        node that waits for nothing more is ready (`enqueue`). At a leaf the gradient becomes ``.grad``, or is added to it
        (`accumulate`). Hooks are shown with what they were given and what they made of it. What happens in a backward within a
        backward is indented.

        A record holds numbers and names, no tensor and no node: it keeps nothing alive, and the engine computes just what it would
        without it. If a backward fails, the record ends with the error. A backward that had begun before is not taken down.

        Without a counterpart in PyTorch.

        >>> x = mg.tensor([1., 2.], requires_grad=True)
        >>> y = (x * x).sum()
        >>> with mg.debug.record() as r:
        ...     y.backward()
        >>> r
        step  event       node               what                      why
           1  begin       n1 SumBackward0    a backward over 3 nodes   saved tensors are freed on the way
           2  count       n1 SumBackward0    n1: 0, n2: 1, n3: 2       gradients to wait for: one per edge that leads there
           3  receive     n1 SumBackward0    1                         where it begins
           4  enqueue     n1 SumBackward0    ready                     waits for nothing
           5  dequeue     n1 SumBackward0    1                         ready since step 4; the only one
           6  compute     n1 SumBackward0    1 -> [1, 1]
           7  receive     n2 MulBackward0    [1, 1]                    from n1
           8  enqueue     n2 MulBackward0    ready                     n1 was the last to wait for
           9  dequeue     n2 MulBackward0    [1, 1]                    ready since step 8; the only one
          10  unpack      n2 MulBackward0    other = [1, 2]            saved at version 0, now 0: unchanged
          11  unpack      n2 MulBackward0    self = [1, 2]             saved at version 0, now 0: unchanged
          12  compute     n2 MulBackward0    [1, 1] -> [1, 2], [1, 2]
          13  release     n2 MulBackward0    2 saved tensors           the graph is not to be kept
          14  receive     n3 AccumulateGrad  [1, 2]                    from n2; waits for 1 more
          15  receive     n3 AccumulateGrad  [1, 2] + [1, 2] = [2, 4]  from n2, added in place
          16  enqueue     n3 AccumulateGrad  ready                     n2 was the last to wait for
          17  dequeue     n3 AccumulateGrad  [2, 4]                    ready since step 16; the only one
          18  accumulate  n3 AccumulateGrad  .grad = [2, 4]            nobody else has the gradient: it becomes .grad itself
          19  end         n1 SumBackward0    3 nodes have run          nothing is ready
        >>> r.order
        ['n1', 'n2', 'n3']
        """
        for name, tensor in names.items():
            if not isinstance(tensor, Tensor):
                raise AutogradTypeError("MG-E177", f"debug.record() expects tensors, but {name} is a {type(tensor).__name__}")
        return Record(names)
