"""List the memory that a graph keeps for its backward: every tensor that its nodes have saved.

    list_saved(root, True)      walks over the nodes behind `root`, without recursion, and lists their saved values

A packed tensor is listed as the packed object. Nothing is unpacked, so listing changes nothing.

Read next: ``minigrad/_debug/reports.py``, which shows it.
"""

import cython
from cython.cimports.minigrad._core.function.node import PyNode
from cython.cimports.minigrad._core.mutation.views import CopySlices
from cython.cimports.minigrad._core.record.op_node import OpNode
from cython.cimports.minigrad._core.record.packed_tensor import PackedTensor
from cython.cimports.minigrad._core.record.primitive import Plan
from cython.cimports.minigrad._core.record.saved_attributes import saved_names
from cython.cimports.minigrad._core.record.saved_tensor import SavedTensor, SavedTuple

from minigrad._core.graph.node import Node
from minigrad._core.graph.tensor import TensorBase


def list_saved(root, whole):
    """The saved tensors of `root` and, if `whole`, of all nodes behind it, in the order of a backward.

    Returns a list of (node, name in the formula, PyTorch's name, tensor or packed object, version at the save or None).
    """
    found: list = []
    nodes = nodes_behind(root) if whole else [root]
    for item in nodes:
        node = cython.cast(Node, item)
        if isinstance(node, CopySlices):
            inner = cython.cast(CopySlices, node).inner
            if inner is None:
                continue
            node = inner
        if isinstance(node, OpNode):
            collect_slots(node, found)
        elif isinstance(node, PyNode):
            for i, value in enumerate(cython.cast(PyNode, node).saved or ()):
                note_value(node, "saved_tensors", f"saved_tensors[{i}]", value, -1, found)
    return found


@cython.cfunc
def collect_slots(owner: OpNode, found: list) -> object:
    """Add the tensors in the slots of `owner` to `found`."""
    plan = cython.cast(Plan, owner.plan)
    names = saved_names(owner)
    slot: cython.int
    for slot in range(plan.saved):
        held = owner.saved_in(slot)
        version = owner.version0 if slot == 0 else owner.version1 if slot == 1 else owner.version2
        for value in cython.cast(SavedTuple, held).items if isinstance(held, SavedTuple) else [held]:
            note_value(owner, plan.names[slot], names[slot], value, version, found)
    return None


@cython.cfunc
def note_value(owner: Node, letter, name, value, version: cython.Py_ssize_t, found: list) -> object:
    """Add `value`, from a slot of `owner`, to `found` if it is a tensor or a packed tensor."""
    if isinstance(value, SavedTensor):
        version = cython.cast(SavedTensor, value).version
        value = cython.cast(SavedTensor, value).data
    if isinstance(value, PackedTensor):
        found.append((owner, letter, name, cython.cast(PackedTensor, value).data, None))
    elif isinstance(value, TensorBase):
        found.append((owner, letter, name, value, version))
    return None


def nodes_behind(root):
    """`root` and all nodes behind it, in the order of a backward."""
    seen = {root}
    waiting = [root]
    while waiting:
        node = cython.cast(Node, waiting.pop())
        for other in node.next_nodes():
            if other is not None and other not in seen:
                seen.add(other)
                waiting.append(other)
    return sorted(seen, key=sequence_of, reverse=True)


def sequence_of(node):
    """The sequence number of `node`, by which a backward orders its nodes."""
    return node._sequence_nr()


def current_version(tensor):
    """The version of the storage of `tensor`. It works for an inference tensor too."""
    return tensor.version()
