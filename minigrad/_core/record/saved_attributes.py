"""What you see of the values that a node has saved: ``y.grad_fn._saved_self``, ``y.grad_fn._raw_saved_self``.

    y = x * b           the rule of mul calls its inputs x and y, PyTorch calls them self and other
                        y.grad_fn._saved_other          the value in the slot of "y", unpacked
                        y.grad_fn._raw_saved_other      a `RawSavedTensor`, which can get pack hooks
                        y.grad_fn._saved_self           None: only the gradient of b would need it

Mirrors the getters that PyTorch generates into ``python_functions.cpp``.
"""

import cython
from cython.cimports.minigrad._core.graph.tensor import alias
from cython.cimports.minigrad._core.graph.thread_state import current
from cython.cimports.minigrad._core.record.op_node import OpNode
from cython.cimports.minigrad._core.record.packed_tensor import PackedTensor, pack_tensor
from cython.cimports.minigrad._core.record.primitive import Plan
from cython.cimports.minigrad._core.record.saved_tensor import SavedTensor, SavedTuple, error_freed

from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.op_node import use_attributes
from minigrad._core.record.packed_tensor import check_hooks
from minigrad._core.record.primitive import Source
from minigrad.errors import AutogradError, AutogradTypeError

NOT_A_TENSOR = cython.declare(cython.int, -1)
NOT_AN_OUTPUT = cython.declare(cython.int, Source.NOT_AN_OUTPUT)
NOTHING = cython.declare(cython.int, -1)            # the slot of a value that was not saved


def saved_names(node: OpNode):
    """PyTorch's names of the saved values: x in our rules is ``self``, z is ``result``. None if PyTorch does not save it."""
    rule = cython.cast(Plan, node.plan).op.rule
    return [torch_name(rule, name) for name in cython.cast(Plan, node.plan).names]


def savable_names(node: OpNode):
    """PyTorch's names of the values that the op would save if all inputs required a gradient."""
    op = cython.cast(Plan, node.plan).op
    needs = [op.joint] if op.joint is not None else [f for f in op.formulas if f is not None]
    found = [torch_name(op.rule, name) for _, names in needs for name in names]
    return [name for name in dict.fromkeys(found) if name is not None]


def torch_name(rule, name):
    """PyTorch's name for the saved value `name` of `rule`: ``x_shape`` is ``self_sym_sizes``. None if PyTorch does not save it."""
    if name in rule.hidden or name.endswith("_by_columns"):
        return None
    if name in rule.torch_names:
        return rule.torch_names[name]
    if name.endswith("_shape"):
        of = name.removesuffix("_shape")
        return rule.torch_names.get(of, of) + "_sym_sizes"
    return name


def look_up(node: OpNode, name):
    """``node._saved_self`` or ``node._raw_saved_self``: `OpNode.__getattr__`."""
    raw: cython.bint = name.startswith("_raw_saved_")
    if not raw and not name.startswith("_saved_"):
        raise AttributeError(name)
    wanted = name[11:] if raw else name[7:]
    names = saved_names(node)
    if wanted not in names:
        constants = cython.cast(Plan, node.plan).op.rule.constants
        if wanted in constants and not raw:
            return constants[wanted]
        if wanted in savable_names(node):       # as in PyTorch: None for a value that this node did not need
            return RawSavedTensor(node, NOTHING) if raw else None
        raise AttributeError(f"{node.name()} has not saved {wanted!r}; it has saved: "
                             f"{', '.join([name for name in names if name]) or 'nothing'}")
    slot = names.index(wanted)
    if raw:
        held = node.saved_in(slot)
        if isinstance(held, SavedTuple):
            return tuple([RawSavedTensor(node, slot, i) for i in range(len(cython.cast(SavedTuple, held).items))])
        return RawSavedTensor(node, slot)
    if node.freed:
        raise error_freed(node)
    return node.value(slot, True)


def saves_number(node: OpNode, name):
    """Whether the node has saved a value that PyTorch calls `name` and that is not a tensor: it has no raw form."""
    names = saved_names(node)
    if name not in names:
        return False
    value = node.saved_in(names.index(name))
    return value is not None and not isinstance(value, (TensorBase, SavedTensor, SavedTuple, PackedTensor))


def list_names(node: OpNode):
    """The names that `look_up` knows."""
    names = savable_names(node)
    constants = cython.cast(Plan, node.plan).op.rule.constants
    return [*["_saved_" + name for name in (*names, *constants)],
            *["_raw_saved_" + name for name in names if not saves_number(node, name)]]


use_attributes(look_up, list_names)


@cython.binding(False)
@cython.cclass
class RawSavedTensor:
    """One saved tensor, not unpacked: ``node._raw_saved_self``. Mirrors ``torch._C._autograd.SavedTensor``.

    >>> x = mg.tensor([3.], requires_grad=True)
    >>> y = x.exp()
    >>> y.grad_fn._raw_saved_result.register_hooks(lambda t: t.numpy(force=True), lambda a: mg.from_numpy(a))
    >>> y.grad_fn._saved_result
    tensor([20.0855], grad_fn=<ExpBackward0>)
    """

    def __init__(self, node, slot, item=-1):
        self.node = node
        self.slot = slot
        self.item = item        # position of the tensor in a tuple, or -1

    def register_hooks(self, pack_hook, unpack_hook):
        """Replace the saved tensor by ``pack_hook(tensor)``. The node calls `unpack_hook` on that when it needs the tensor.

        Args:
            pack_hook (callable): ``pack_hook(tensor)`` returns any object. It is called immediately.
            unpack_hook (callable): ``unpack_hook(obj)`` returns a tensor of the same shape and dtype.

        Raises:
            RuntimeError: the tensor has been freed or already has hooks, or the saved value is None.
            TypeError: a hook is not callable.
        """
        check_hooks(pack_hook, unpack_hook)
        set_hooks(self.node, self.slot, self.item, pack_hook, unpack_hook)

    def unpack(self):
        """Return the tensor. Raises `RuntimeError` if it has been freed, or modified since it was saved."""
        if self.slot == NOTHING:
            return None
        if self.node.freed:
            raise error_freed(self.node)
        value = self.node.value(self.slot, True)
        return value if self.item < 0 else value[self.item]


@cython.cfunc
def set_hooks(node: OpNode, slot: cython.int, item: cython.int, pack, unpack) -> object:
    """Pack the value in `slot` now, or one item if it is a tuple. See `RawSavedTensor.register_hooks`."""
    if node.freed and slot != NOTHING:
        raise AutogradError("MG-E128", "Calling register_hooks on a saved tensor after it has been freed.", node=node.name(),
                            fix="register the hooks before the backward, or run it with retain_graph=True")
    held = node.saved_in(slot)
    if item >= 0:
        held = cython.cast(SavedTuple, held).items[item]
    if held is None:
        raise AutogradError("MG-E128", "Calling register_hooks on a saved tensor with value None is forbidden",
                            node=node.name())
    if isinstance(held, PackedTensor):
        raise AutogradError("MG-E128", "Calling register_hooks on a saved tensor whose hooks have already been set.",
                            node=node.name(), fix="register the hooks once, and not inside saved_tensors_hooks")
    value = node.value(slot, True)
    if item >= 0:
        cython.cast(SavedTuple, node.saved_in(slot)).items[item] = pack_tensor(
            value[item], pack, unpack, NOT_AN_OUTPUT, current(), alias(value[item]))
        return
    if not isinstance(value, TensorBase):
        raise AutogradTypeError("MG-E128", f"Calling register_hooks on a saved {type(value).__name__}: only tensors are packed",
                                node=node.name())
    source: cython.int = cython.cast(Plan, node.plan).source[slot]
    number = -1 - source if source < 0 else NOT_AN_OUTPUT
    node.put(slot, pack_tensor(value, pack, unpack, number, current(), alias(value)), NOT_A_TENSOR)
