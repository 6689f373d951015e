"""The node of a custom Function, and the `ctx` of its methods: they are one object.

    class Square(Function):                     y = Square.apply(x)
        def forward(ctx, x): ...                    ctx = an instance of SquareBackward, a subclass of PyNode
        def backward(ctx, g): ...               y.grad_fn is ctx

The attributes that the user sets on ctx are in its ``__dict__``. The tensors of `save_for_backward` are saved like the saved
values of other nodes. This happens after forward has returned and its outputs have their history. So the node recognizes
its own outputs and saves an alias of them (Note [Saved outputs] in saved_tensor.py).

    engine    the gradient of each output, None where undefined
      grads_in      replaces None by zeros, unless the user has turned that off
      backward      the user's method: one result for each *argument* of forward
      grads_out     checks the results, and passes on one result for each *tensor* argument: these are the edges
    engine

Mirrors ``torch/csrc/autograd/python_function.{h,cpp}`` (PyNode, THPFunction). Read next: ``function/outputs.py``.
"""

import cython
from cython.cimports.minigrad._core.graph.anomaly import note_creation
from cython.cimports.minigrad._core.graph.capi import allocate, as_tuple, call2, call_rest, new_tuple, put_item
from cython.cimports.minigrad._core.graph.node import clear_node
from cython.cimports.minigrad._core.graph.switches import Switches
from cython.cimports.minigrad._core.graph.tensor import alias, wrap
from cython.cimports.minigrad._core.graph.thread_state import current
from cython.cimports.minigrad._core.record.packed_tensor import PackedTensor, pack_tensor
from cython.cimports.minigrad._core.record.saved_tensor import SavedTensor, error_freed, save

from minigrad._core.function.methods import use_node_class
from minigrad._core.graph.metadata import CPU, Meta, named_dtype
from minigrad._core.graph.node import Node
from minigrad._core.graph.switches import switches as _switches
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.record.packed_tensor import check_hooks
from minigrad._core.record.primitive import Source
from minigrad.errors import AutogradError, AutogradTypeError

if not cython.compiled:
    from minigrad._core.graph.private import hide

NOT_AN_OUTPUT = cython.declare(cython.int, Source.NOT_AN_OUTPUT)
switches = cython.declare(Switches, _switches)
_EMPTY = cython.declare(tuple, ())
NO_RECORD = Meta((), named_dtype("float32"), CPU)      # for an output that has no gradient, as PyTorch shows it


@cython.binding(False)
@cython.cclass
class PyNode(Node):
    """The node of a custom Function, which is also the `ctx` of its methods.

    needs_input_grad    which arguments of forward require a gradient, a tuple of bools
    to_save, non_differentiable, dirty_tensors, saved_for_forward
                        the arguments of the methods of ctx; None after apply has returned
    methods             the methods of its Function's class
    variables           which arguments are tensors, a tuple of bools; None if all are
    arity               the number of arguments
    opaque              the numbers of the outputs that have no derivative; None if there are none
    saved               the saved tensors, a list; None if there are none, or if they were freed
    rewrites            whether the node saves an output that is a view to which forward has written
    """

    if not cython.compiled:
        # see Note [Names on ctx] in private.py
        __slots__ = ("_core", "dirty_tensors", "needs_input_grad", "non_differentiable", "saved_for_forward", "to_save")

        def __init__(self):
            clear_fields(self)

    # ---- backward ---------------------------------------------------------------------------------------

    def __call__(self, *grads, **keywords):
        raise AutogradTypeError("MG-E130", f"{type(self).__name__!r} object is not callable", node=self.name(),
                                fix="call its apply, as in PyTorch: y.grad_fn.apply(grad)")

    def apply(self, *grads):
        """Call the user's backward with `grads`, one for each output, and return its result unchecked.

        No hook runs, and nothing is freed. Mirrors ``torch.autograd.function.BackwardCFunction.apply``.
        """
        return self.backward_of()(self, *grads)

    def compute(self, grad, wanted, results):
        backward = self.backward_of()
        grads = self.grads_in(grad)
        grad = None
        found = call_rest(backward, self, grads, 0) if type(grads) is tuple else call2(backward, self, grads)
        grads = None
        self.grads_out(found, results)
        return None

    def backward_of(self):
        """The user's method that computes the gradients: `backward` or `vjp`."""
        self.methods.update()
        if self.methods.backward is None:
            raise AutogradError(
                "MG-E140", "Implementing both 'backward' and 'vjp' for a custom Function is not allowed: "
                f"{self.methods.cls.__name__} has both.", node=self.name(),
                fix="remove one of them: they are two names for one method")
        return self.methods.backward

    def grads_in(self, grad):
        """The arguments for backward: one gradient, a tuple of gradients, or a list if `boxed_grads_call` is set."""
        i: cython.Py_ssize_t
        if type(self.meta) is not tuple:
            if grad is None and not self.undefined_as_none and self.meta is not None:
                grad = zeros_of(self.meta)
            return [grad] if self.boxed else grad
        grads: list = list(grad)
        if not self.undefined_as_none:
            for i in range(len(grads)):
                if (grads[i] is None and self.output_meta(i) is not None
                        and not (self.opaque_as_none and self.opaque is not None and i in self.opaque)):
                    grads[i] = zeros_of(self.output_meta(i))
        return grads if self.boxed else tuple(grads)

    def grads_out(self, found, results):
        """Check the result of backward, and put the gradients into `results`."""
        i: cython.Py_ssize_t
        edge: cython.Py_ssize_t = 0
        n: cython.Py_ssize_t = self.arity
        grads: tuple
        if isinstance(found, tuple):
            grads = tuple(found)
        elif n == 1 and isinstance(found, TensorBase) and self.edges == 1:
            if self.next0 is not None or self.hooked:
                results[0] = found
            return None
        else:
            grads = (found,)
        if len(grads) != n:
            surplus = grads[n:]
            if len(grads) < n or any([grad is not None for grad in surplus]):
                raise AutogradError(
                    "MG-E144", f"function {self.name()} returned an incorrect number of gradients (expected {n}, got {len(grads)})",
                    node=self.name(), fix="backward returns one value per argument of forward, after ctx: a gradient for a "
                    "tensor, None for anything else")
        for i in range(n):
            grad = grads[i]
            if self.variables is not None and not self.variables[i]:
                if grad is not None:
                    raise AutogradError(
                        "MG-E144", f"function {self.name()} returned a gradient different than None at position {i + 1}, but the "
                        "corresponding forward input was not a Variable", node=self.name(),
                        fix="return None for arguments that are not tensors")
                continue
            if grad is not None:
                if not isinstance(grad, TensorBase):
                    raise AutogradError(
                        "MG-E144", f"function {self.name()}: expected Variable or None (got {type(grad).__name__})",
                        node=self.name(), found=f"a {type(grad).__name__} as the gradient of argument {i + 1}",
                        fix="return a tensor, or a tuple of tensors and Nones")
                if self.next_node(edge) is not None or self.hooked:     # as in PyTorch, hooks see unneeded gradients too
                    results[edge] = grad
            edge += 1
        return None

    def position(self, x, args):
        """The number of the edge for the gradient of `x`, one of the arguments."""
        edge: cython.int = 0
        for argument in args:
            if argument is x:
                break
            if isinstance(argument, TensorBase):
                edge += 1
        return edge

    @property
    def _input_metadata(self):
        """The shape, dtype and device of each output of forward; `NO_RECORD` for an output without a derivative."""
        metas = self.meta if type(self.meta) is tuple else (self.meta,)
        if self.opaque is None:
            return metas
        return tuple([NO_RECORD if i in self.opaque else meta for i, meta in enumerate(metas)])

    # ---- saved tensors ------------------------------------------------------------------------------------

    def keep(self, state, renamed):
        """Save the tensors of `save_for_backward`.

        `renamed` (a dict or None) maps the id of an output of forward to the tensor that the caller gets instead.
        """
        i: cython.Py_ssize_t
        if not isinstance(self.to_save, tuple):
            raise AutogradTypeError("MG-E142", f"to_save is expected to be a tuple but is a {type(self.to_save).__name__}",
                                    node=self.name(), fix="ctx.save_for_backward(x, y)")
        values: tuple = tuple(self.to_save)
        self.to_save = None
        for i in range(len(values)):
            if values[i] is not None and not isinstance(values[i], TensorBase):
                raise AutogradTypeError(
                    "MG-E142", f"save_for_backward can only save variables, but argument {i} is of type {type(values[i]).__name__}",
                    node=self.name(), fix="set other objects as attributes of ctx: ctx.n = n")
        self.saves = len(values) > 0        # if a pack hook fails below, `saved` stays None, as if freed
        kept: list = [None] * len(values)
        for i in range(len(values)):
            value = values[i]
            if value is None:
                continue
            if renamed is not None:
                value = renamed.get(id(value), value)
            tensor = cython.cast(TensorBase, value)
            output: cython.int = NOT_AN_OUTPUT
            if tensor._node is self:
                output = tensor._output_number
            elif tensor._view_base is not None and self.dirty_tensors is not None and is_among(value, self.dirty_tensors):
                output = 0      # it was written to, so its grad_fn has been regenerated and is not this node
                self.rewrites = True
            if state.saved_hooks:
                pack, unpack = state.saved_hooks[-1]
                kept[i] = pack_tensor(value, pack, unpack, output, state)
            else:
                kept[i] = save(value, "saved_tensors", output, state)
        if self.saves:
            self.saved = kept
        return None

    def twin(self):
        if not self.rewrites:
            return self
        twin: PyNode = new_function_node(self.methods, current())
        twin.copy_edges(self)
        twin.meta, twin.saved, twin.freed = self.meta, self.saved, self.freed
        twin.needs_input_grad, twin.variables = self.needs_input_grad, self.variables
        twin.opaque, twin.arity = self.opaque, self.arity
        twin.undefined_as_none, twin.opaque_as_none = self.undefined_as_none, self.opaque_as_none
        twin.boxed, twin.once, twin.taken, twin.saves = self.boxed, self.once, self.taken, self.saves
        cython.cast(object, twin).__dict__ = cython.cast(object, self).__dict__      # the user's attributes are shared
        return twin

    def release(self):
        self.freed = True
        self.saved = None
        return None

    @property
    def saved_tensors(self):
        """The arguments of `save_for_backward`: a tuple of tensors and Nones. Empty while forward runs.

        Raises `RuntimeError` if they have been freed, or if one of them has been modified in place since.
        """
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        kept = self.saved
        if self.taken:
            raise AutogradError(
                "MG-E143", f"saved_tensors of {self.name()} can only be accessed once, as clear_saved_tensors_on_access is set.",
                node=self.name(), fix="read it once, x, y = ctx.saved_tensors, or do not set clear_saved_tensors_on_access")
        if self.freed or (kept is None and self.saves):     # the garbage collector may have cleared `saved`
            raise error_freed(self)
        if kept is None:
            return ()
        i: cython.Py_ssize_t
        values: tuple = new_tuple(len(kept))
        for i in range(len(kept)):
            put_item(values, i, unpack_value(self, kept[i]))
        if self.once:
            self.taken = True
            self.saved = None
        return as_tuple(values)

    @property
    def _raw_saved_tensors(self):
        """A handle for each saved tensor, which can pack it: see `RawSavedVariable`."""
        if self.freed:
            raise error_freed(self)
        return () if self.saved is None else tuple([RawSavedVariable(self, i) for i in range(len(self.saved))])

    def maybe_clear_saved_tensors(self):
        """In backward: drop the saved tensors now, unless retain_graph is set."""
        task = current().task
        if task is not None and not task.keep_graph:
            self.release()

    # ---- options ----------------------------------------------------------------------------------------

    @property
    def materialize_grads(self):
        """Whether backward gets zeros instead of None for undefined gradients."""
        return not self.undefined_as_none

    @materialize_grads.setter
    def materialize_grads(self, value):
        self.undefined_as_none = not check_flag(value)

    @property
    def _materialize_non_diff_grads(self):
        """Whether backward gets zeros instead of None for outputs without a derivative."""
        return not self.opaque_as_none

    @_materialize_non_diff_grads.setter
    def _materialize_non_diff_grads(self, value):
        self.opaque_as_none = not check_flag(value)


@cython.cfunc
def check_flag(value) -> cython.bint:
    if value is not True and value is not False:
        raise AutogradTypeError("MG-E150", f"expected a bool, but got {type(value).__name__}", fix="True or False")
    return value is True


@cython.cfunc
def unpack_value(node: PyNode, item) -> object:
    """Unpack a saved tensor for the user."""
    if item is None:
        return None
    if isinstance(item, SavedTensor):
        saved = cython.cast(SavedTensor, item)
        if switches.recording and not saved.freed:
            switches.note("unpack", node, {"name": saved.name, "value": saved.data, "saved": saved.version,
                                        "now": saved.data.version()})
        return saved.value(node, True)
    return cython.cast(PackedTensor, item).value(node, True)


def is_among(x, items):
    """Whether `x` itself is one of `items`."""
    for item in items:
        if item is x:
            return True
    return False


def zeros_of(meta):
    """A tensor of zeros with the metadata `meta`."""
    return wrap(meta.backend.kernels.full(meta.shape, 0, meta.dtype.numpy), meta)


def new_function_node(methods, state):
    """Make a node without edges for a call of the Function with these `methods`."""
    node = cython.cast(PyNode, allocate(PyNode, methods.node_class, _EMPTY))
    if not cython.compiled:
        clear_fields(node)
    node.methods = methods
    node.boxed = methods.boxed
    node.once = methods.once
    node.sequence = state.next_sequence
    state.next_sequence += 1
    if switches.notes_nodes:
        note_creation(node, state)
    return node


@cython.binding(False)
@cython.cclass
class RawSavedVariable:
    """One saved tensor of a Function's node, not unpacked. Mirrors ``torch._C._autograd.SavedTensor``."""

    def __init__(self, node, slot):
        self.node = node
        self.slot = slot

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
        if self.node.saved is None:
            raise AutogradError("MG-E128", "Calling register_hooks on a saved tensor after it has been freed.",
                                node=self.node.name(), fix="register the hooks before the backward")
        held = self.node.saved[self.slot]
        if held is None:
            raise AutogradError("MG-E128", "Calling register_hooks on a saved tensor with value None is forbidden",
                                node=self.node.name())
        if isinstance(held, PackedTensor):
            raise AutogradError("MG-E128", "Calling register_hooks on a saved tensor whose hooks have already been set.",
                                node=self.node.name(), fix="register the hooks once, and not inside saved_tensors_hooks")
        tensor = unpack_value(self.node, held)
        self.node.saved[self.slot] = pack_tensor(tensor, pack_hook, unpack_hook, cython.cast(SavedTensor, held).output, current(),
                                           alias(tensor))

    def unpack(self):
        """Return the tensor. Raises `RuntimeError` if it has been freed, or modified since it was saved."""
        if self.node.saved is None:
            raise error_freed(self.node)
        return unpack_value(self.node, self.node.saved[self.slot])


# Interpreted, the fields and methods to hide from the user: see Note [Names on ctx] in private.py.
FIELDS = ("methods", "variables", "opaque", "saved", "arity", "undefined_as_none", "opaque_as_none", "boxed", "once", "taken",
          "saves", "rewrites")
METHODS = ("compute", "release", "twin", "number_of_outputs", "output_meta", "next_node", "next_nodes", "connect", "copy_edges",
           "lead_to", "input_number", "extras", "backward_of", "grads_in", "grads_out", "keep", "position")


def clear_fields(node):
    """Set every field to its empty value."""
    node._core = {}
    clear_node(node)
    node.needs_input_grad = node.to_save = node.non_differentiable = node.dirty_tensors = node.saved_for_forward = None
    node.methods = node.variables = node.opaque = node.saved = None
    node.arity = 0
    node.undefined_as_none = node.opaque_as_none = node.boxed = node.once = node.taken = node.saves = node.rewrites = False


use_node_class(PyNode)
if not cython.compiled:
    hide(PyNode, (*vars(Node()), *FIELDS), METHODS)
