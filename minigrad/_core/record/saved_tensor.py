"""Saved tensors: values that a node keeps for the backward, and the check that they have not changed since.

    y = x.exp()         ExpBackward0 needs y again:  g * y
    y.mul_(2)           y is overwritten: version 0 -> 1
    y.sum().backward()  saved at version 1?  no, 0:  "modified by an inplace operation"

Note [Version check on unpack]
    When a node saves a tensor, it notes the version of the tensor's storage. When the backward unpacks the tensor, the
    version must be the same. If it is not, the numbers have changed since the forward, and the gradient would be wrong
    without any sign of it. The check is `!=` on a counter, so it costs nearly nothing. It is at unpack and not at the
    write, because a write is not an error if the graph never runs.

Note [Saved outputs]
    A node saves an input as it is, and the formula gets the same tensor. It must not save an *output* as it is: the
    output holds the node, so the two would form a cycle, which only the garbage collector could free. The node saves an
    alias instead, with the same storage and version counter but without history. When it unpacks the value, it gives
    the history back (`restore_history`).

Nodes of built-in ops save their first three values in fields of their own, and follow these two notes there
(``op_node.py``). Only further values are `SavedTensor` objects.

Mirrors ``torch/csrc/autograd/saved_variable.cpp``. Read next: ``engine/execute.py``.
"""

import cython
from cython.cimports.minigrad._core.graph.node import clear_node
from cython.cimports.minigrad._core.graph.tensor import AutogradMeta, alias, wrap
from cython.cimports.minigrad._core.graph.thread_state import current
from cython.cimports.minigrad._core.record.forward_ad import dual_slot
from cython.cimports.minigrad._core.record.history import describe_saver, describe_writes
from cython.cimports.minigrad._core.record.packed_tensor import PackedTensor, inference_save_error, pack_tensor

from minigrad._core.graph.anomaly import anomaly
from minigrad._core.graph.node import Node
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.graph.thread_state import State
from minigrad._core.record.primitive import Source
from minigrad.errors import AutogradError

NOT_AN_OUTPUT = cython.declare(cython.int, Source.NOT_AN_OUTPUT)


@cython.binding(False)
@cython.freelist(32)
@cython.cclass
class SavedTensor:
    """One tensor that a node saved. `output` is its output number if the node itself produced it, else NOT_AN_OUTPUT."""

    def value(self, owner, history):
        """Check and return the tensor. `owner` is the node that saved it. With `history`, a saved output gets its history."""
        if self.freed:
            raise error_freed(owner)
        check_version(self.data, self.version, self.interior, self.name, owner, self.output)
        if self.output == NOT_AN_OUTPUT or not history:
            return self.data
        return restore_history(self.data, owner, self.output)

    def release(self):
        """Drop the tensor."""
        self.data = None
        self.freed = True


@cython.binding(False)
@cython.cclass
class SavedTuple:
    """Several values that have one name in a formula, such as the tensors and Nones of an index."""

    def value(self, owner):
        """The values as a tuple; tensors are unpacked and checked."""
        return tuple([cython.cast(SavedTensor, item).value(owner, False) if isinstance(item, SavedTensor)
                      else cython.cast(PackedTensor, item).value(owner, True) if isinstance(item, PackedTensor)
                      else item for item in self.items])


def save_tuple(values, name, state):
    """Save a tuple that contains tensors. Each tensor is saved, or packed, like a single tensor."""
    saved: SavedTuple = SavedTuple.__new__(SavedTuple)
    saved.items = []
    for value in values:
        if isinstance(value, TensorBase):
            if state.saved_hooks:
                pack, unpack = state.saved_hooks[-1]
                value = pack_tensor(value, pack, unpack, NOT_AN_OUTPUT, state)
            else:
                value = save(value, name, NOT_AN_OUTPUT, state)
        saved.items.append(value)
    return saved


def alias_output(tensor, state):
    """An alias of `tensor` without history, see Note [Saved outputs]. In forward mode it shares the slot of the tangent."""
    data = alias(tensor)
    if state.forward:
        extra: AutogradMeta = data.extras()
        extra.dual = dual_slot(tensor.extras())
    return data


def save(tensor, name, output, state):
    """Save `tensor` as a `SavedTensor`. `name` is its name in the formula."""
    if tensor._inference:
        raise inference_save_error(tensor)
    saved: SavedTensor = SavedTensor.__new__(SavedTensor)
    saved.name = name
    saved.output = output
    saved.freed = False
    saved.version = tensor.version()
    saved.interior = output == NOT_AN_OUTPUT and tensor._node is not None
    saved.data = tensor if output == NOT_AN_OUTPUT else alias_output(tensor, state)
    return saved


def check_version(tensor, version, interior, name, owner, output=-1):
    """Raise if `tensor` has changed since `owner` saved it. See Note [Version check on unpack].

    `version` is the version when it was saved, `interior` whether it had a grad_fn then. If `tensor` is the alias of an output
    of `owner`, `output` is the number of that output.
    """
    if interior and tensor._node is None:
        raise AutogradError(
            "MG-E103",
            "Trying to use a saved tensor that has been detached in-place: "
            f"[{describe_meta(tensor._meta)}] had a grad_fn when it was saved, and detach_() took it away.",
            node=describe_saver(owner, name),
            fix="use x = x.detach() instead of x.detach_()",
        )
    now = tensor.version()
    if now != version:
        what = f"[{describe_meta(tensor._meta)}]"
        if tensor._node is not None:
            what += f", which is output {tensor._output_number} of {op_name(tensor._node)},"
        elif output != NOT_AN_OUTPUT and tensor._meta.dtype.differentiable:
            what += f", which is output {output} of {op_name(owner)},"
        if anomaly.enabled:
            hint = "Hint: the traceback above shows the forward call whose gradient could not be computed. The variable was " \
                   "changed in there or anywhere later."
        else:
            hint = "Hint: find the forward call whose gradient could not be computed with " \
                   "minigrad.autograd.set_detect_anomaly(True, check_nan=False)."
        story = describe_writes(tensor, version, owner)
        raise AutogradError(
            "MG-E102",
            "one of the variables needed for gradient computation has been modified by an inplace operation: "
            f"{what} is at version {now}; expected version {version} instead. {hint}",
            node=describe_saver(owner, name), where=story,
            fix="write x = x * 2 instead of x *= 2, or change a clone(), between forward and backward" + (
                "" if story else "; `with minigrad.debug():` around both shows where the tensor was saved and written to"),
        )


def restore_history(data, owner, output):
    """The saved output `data` with its history: its grad_fn is `owner`."""
    tensor = wrap(data._array, data._meta)
    tensor._counter = data._counter
    if data._extra is not None:
        extra: AutogradMeta = tensor.extras()
        extra.dual = data._extra.dual
    tensor._node = owner
    tensor._output_number = output
    return tensor


def error_freed(owner):
    """The error for a node that has released its saved values."""
    return AutogradError(
        "MG-E101",
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
        f"freed). {owner.name()} has released its saved values.",
        node=owner.name(),
        fix="run the forward again before each backward; detach() a state that a loop carries over; add losses that share a part\n"
            "of the graph. Specify retain_graph=True only if you need to backward through one graph twice.",
    )


def describe_meta(meta):
    """The metadata as text for error messages: ``float32 [2, 3]``."""
    return f"{meta.dtype.name} {list(meta.shape)}"


def op_name(node):
    """The name of the op of this node: ``MulBackward0 -> Mul``."""
    name = node.name()
    head, backward, digits = name.rpartition("Backward")
    return head if backward and (not digits or digits.isdigit()) else name


@cython.binding(False)
@cython.cclass
class SavedTensors(Node):
    """Tensors saved outside any op, under the same rules: ``SavedTensors([x, w], "checkpoint").unpack()`` checks their versions.

    It is a node, because a saved tensor needs a node as its owner. No edge leads to it. `owner` is its name in errors.
    Mirrors ``torch._C._autograd._make_saved_tensor``.
    """

    def __init__(self, tensors, owner):
        clear_node(self)
        state: State = current()
        self.owner = owner
        self.saved = []
        for x in tensors:
            tensor = cython.cast(TensorBase, x, typecheck=True)
            if state.saved_hooks:
                pack, unpack = state.saved_hooks[-1]
                self.saved.append(pack_tensor(tensor, pack, unpack, NOT_AN_OUTPUT, state))
            else:
                self.saved.append(save(tensor, "input", NOT_AN_OUTPUT, state))

    def name(self):
        return self.owner

    def unpack(self):
        """The tensors. Raises `RuntimeError` if one has been modified since it was saved."""
        return [cython.cast(PackedTensor, x).value(self, True) if isinstance(x, PackedTensor)
                else cython.cast(SavedTensor, x).value(self, True) for x in self.saved]
