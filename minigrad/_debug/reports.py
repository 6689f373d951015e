"""The reports that `mg.debug.versions`, `mg.debug.saved` and `mg.debug.holders` return. They print as tables.

Read next: ``_core/observe/graph_memory.py``, which lists the saved tensors.
"""

from typing import Any, NamedTuple

from minigrad._core.graph.tensor import owner_of
from minigrad._core.observe.graph_memory import current_version
from minigrad._core.record.history import describe_location, describe_use, save_location
from minigrad._debug.tables import table
from minigrad.tensor import Tensor

__all__ = ["Holders", "SavedTensors", "SavedValue", "Versions", "Write"]


class Write(NamedTuple):
    """One write to a tensor's memory: the version after the write, the op, and the file and line of the call."""

    version: int
    op: str
    file: str
    line: int

    def __str__(self):
        return f"version {self.version}: {self.op}  {describe_location(self.file, self.line)}"


class Versions:
    """The version of a tensor's memory, and the noted writes, oldest first. See `debug.versions`."""

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
    name            PyTorch's name of the value; the node of an op shows the value as ``_saved_<name>``
    purpose         what the node computes from it, such as ``the gradient of self``
    value           the tensor; for an output of the node, an alias without history; or the object that a pack hook returned
    version         the version of its memory when it was saved; None for a packed object
    now             the version now; if the two versions differ, the backward raises an error
    where           (file, line) of the op; None if debug() was off
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
        """The size of its elements in bytes; 0 for a packed object that is not a tensor."""
        return self.value.numel() * self.value.element_size() if isinstance(self.value, Tensor) else 0

    @property
    def modified(self):
        """Whether it has been modified since it was saved."""
        return self.version != self.now


class SavedTensors(list):
    """A list of `SavedValue`, in the order in which a backward runs the nodes. See `debug.saved`.

    `nbytes` counts each storage once and in full, because even a small view keeps the whole storage alive. `leaf_nbytes` counts
    only the storages of leaves, which the program usually holds anyway.
    """

    def __init__(self, values=()):
        super().__init__(values)

    def storages(self):
        """Return the storages that the saved tensors keep alive: address -> (bytes, whether a leaf uses it)."""
        found = {}
        for saved in self:
            if isinstance(saved.value, Tensor):
                memory = owner_of(saved.value._array)
                owner = saved.value if saved.value._base is None else saved.value._base
                leaf = owner.requires_grad and owner.is_leaf        # the base, not the view: a read may regenerate a view's history
                found[id(memory)] = memory.nbytes, leaf or found.get(id(memory), (0, False))[1]
        return found

    @property
    def nbytes(self):
        """The bytes of all storages that the saved tensors keep alive. Each storage counts once."""
        return sum(size for size, _ in self.storages().values())

    @property
    def leaf_nbytes(self):
        """The bytes of the storages of leaves that require a gradient."""
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
        total = (f"{len(self)} tensors in {len(storages)} storages: {self.nbytes:,} bytes, "
                 f"of which {self.leaf_nbytes:,} belong to leaves")
        return "\n".join([*table(rows), total] if self else ["nothing saved"])


class Holders(list):
    """The objects that keep a graph alive: a list of `Holder`, the largest first. See `debug.holders`."""

    def __repr__(self):
        rows = [("held by", "which is", "holds", "nodes", "bytes")]
        rows += [(h.path, h.where, h.node, str(h.nodes), f"{h.nbytes:,}") for h in self]
        return "\n".join(table(rows) if self else ["nothing holds it"])


def saved_values(entries):
    """Return the entries of `list_saved` as `SavedTensors`."""
    return SavedTensors([
        SavedValue(owner, name, describe_use(owner, letter) or "its backward", value, version,
                   None if version is None else current_version(value), save_location(owner))
        for owner, letter, name, value, version in entries])
