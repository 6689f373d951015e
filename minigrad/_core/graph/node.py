"""A node of the backward graph, and its edges.

Each op of the forward pass whose result requires a gradient makes one node. The node is a function from the gradients of
the op's outputs to the gradients of its inputs. Its edges lead to the nodes that receive those gradients next:

    a = tensor(2., requires_grad=True)               MulBackward0
    b = tensor(3., requires_grad=True)                 edge 0 --> AccumulateGrad of a, input 0
    y = a * b                                          edge 1 --> AccumulateGrad of b, input 0

An edge is a pair (node, input number). The gradient on it belongs to that output of the next node's forward op.
The pairs are made when `next_functions` is read. (An object for each edge took an eighth of a small graph's time. A tuple of
nodes took a quarter of the time to build and free a graph, because the garbage collector visits every object that can hold
other objects.) Most ops have one or two inputs and one output, so that most input numbers are zero. For these, two fields suffice:

    next0        the node behind edge 0
    next_rest    None, or the node behind edge 1. If there are more edges, or an input number is not zero, it is a tuple: the
                 nodes behind edges 1, 2, ..., then the input numbers of all edges, unless all are zero

Likewise `meta` describes the output of the op; for several outputs it is a tuple with one `Meta` for each.

The engine uses only five things of a node: its edges, `sequence`, `compute`, `release` and the scratch fields. The kinds
of node:

    OpNode           a built-in op                        op_node.py
    AccumulateGrad   adds the gradient to a leaf's .grad  accumulate_grad.py
    PyNode           a custom Function                    function/node.py

Note [What the collector is shown]
    Python's garbage collector visits every object again and again, and a graph is many objects. Most fields of a node are
    None, and the objects in `meta` and `plan` never lead back to a node. So, compiled, a node shows the collector only its other
    fields (`show_less`), and so does a tensor. A graph of 20,000 nodes is built and freed in three quarters of the time. This is
    safe: the collector keeps every object with a reference that it does not see.

Invariants
  * Edges point from later nodes to earlier nodes, so the graph has no cycles. Nothing here recurses over the graph. Freeing
    a chain of two million nodes is safe because of `mg_free_in_turn` in ``_capi/memory.h``, and ``trashcan`` in node.pxd.
  * A node holds its next nodes strongly, and never a tensor that holds the node.
  * `sequence` grows in the order of creation within a thread. The engine runs the latest node first.

Mirrors ``torch/csrc/autograd/node.h`` and ``edge.h``. Read next: ``record/apply.py``.
"""

import cython
from cython.cimports.minigrad._core.graph.handle import Hooks, add_hook

from minigrad._core.graph.locks import registering, sharing
from minigrad.errors import AutogradTypeError

if not cython.compiled:     # compiled, the first four are in _capi/nodes.h
    from minigrad._core.graph.capi import allocate_node, count_seldom, keep_nodes, show_less  # noqa: F401 (for op_node.py)
    from minigrad._core.graph.method_checks import check_methods

# The flags of `Node.needed`, in a run with ``inputs=``.
NEEDED = 1          # the node runs: a path leads from it to a requested node
CAPTURED = 2        # the gradient that reaches the node is a result of the task
_call = cython.declare(object, None)        # supplied by node_call.py, which knows tensors


@cython.binding(False)
@cython.freelist(1024)
@cython.cclass
class NodeExtra:
    """Fields that few nodes need: hooks, retained gradients, metadata. Compiled, they all start empty."""

    def __init__(self):
        self.metadata = None        # the user's notes on the node, a dict
        self.pre_hooks = None       # handle id -> hook(grad_outputs)
        self.post_hooks = None      # handle id -> hook(grad_inputs, grad_outputs)
        self.tensor_hooks = None    # the `Hooks` of the op's outputs, first registered first
        self.retains = None         # output number -> weak reference to the tensor that retains its grad
        self.place = None           # (file, line) where the node was made and saved its values, if it was noted


@cython.binding(False)
@cython.trashcan(True)     # and in node.pxd, where subclasses look for it
@cython.cclass
class Node:
    """One recorded operation: it computes the gradients of its inputs from the gradients of its outputs.

    Locked: the making of `extra` and of `metadata` in it (`sharing`), the tables of hooks in it (`registering`), and the choice
    of the task that the scratch fields belong to (`claiming` in engine/dependencies.py). The other fields do not change once the
    op is recorded.
    """

    def __init__(self):
        clear_node(self)

    # ---- what a kind of node supplies ---------------------------------------------------------------

    def compute(self, grad, wanted, results):
        """Compute the gradients of the forward op's inputs, given those of its outputs.

        `grad` is the gradient of the output, or a list of gradients if the op has several outputs; None is an undefined
        gradient. The gradient for edge i goes into ``results[i]``, which is None before. Bit i of `wanted` is set if the
        engine will use that gradient (-1: all of them).
        """
        raise NotImplementedError

    def release(self):
        """Drop what was saved for the backward."""

    def explain_error(self, error):
        """The error to raise for `error`, which was raised while this node ran."""
        return error

    def twin(self):
        """The node to run instead of this one in a recorded backward: itself, or a copy that owns its saved values.

        See Note [The result of a write in its own formula] in mutation/views.py.
        """
        return self

    def name(self):
        """The name of the function, such as ``MulBackward0``."""
        return type(self).__name__

    # ---- shape of the graph --------------------------------------------------------------------------

    def number_of_outputs(self):
        return len(self.meta) if type(self.meta) is tuple else 1

    def output_meta(self, number):
        return self.meta[number] if type(self.meta) is tuple else self.meta

    @cython.nonecheck(False)
    def next_node(self, i):
        """The node that edge `i` leads to, or None."""
        if i == 0:
            return self.next0
        return cython.cast(tuple, self.next_rest)[i - 1] if type(self.next_rest) is tuple else cython.cast(Node, self.next_rest)

    def next_nodes(self):
        """The nodes that the edges lead to."""
        return tuple([self.next_node(i) for i in range(self.edges)])

    def connect(self, nodes, numbers):
        """Set the edges: they lead to `nodes`, with the input numbers `numbers` (None if all are zero)."""
        self.edges = len(nodes)
        self.next0 = nodes[0] if self.edges > 0 else None
        if numbers is not None:
            self.next_rest = (*nodes[1:], *numbers)
        else:
            self.next_rest = None if self.edges < 2 else nodes[1] if self.edges == 2 else nodes[1:]

    def copy_edges(self, other):
        """Let the edges lead where those of the node `other` lead."""
        self.edges = other.edges
        self.next0 = other.next0
        self.next_rest = other.next_rest

    def lead_to(self, edge, following, number):
        """Let edge `edge` lead to input `number` of the node `following`."""
        if edge == 0 and self.input_number(0) == number:
            self.next0 = following
            return
        nodes = list(self.next_nodes())
        numbers = [self.input_number(i) for i in range(self.edges)]
        nodes[edge] = following
        numbers[edge] = number
        self.connect(tuple(nodes), tuple(numbers))

    def input_number(self, edge):
        if type(self.next_rest) is not tuple:
            return 0
        rest: tuple = self.next_rest
        return rest[self.edges - 1 + edge] if len(rest) >= self.edges else 0

    def extras(self):
        if self.extra is None:
            if cython.compiled:     # See Note [Interpreted threads take turns] in locks.py
                self.extra = NodeExtra.__new__(NodeExtra)
            else:
                with sharing:
                    if self.extra is None:
                        self.extra = NodeExtra()
        return self.extra

    @property
    def next_functions(self):
        """The edges: a tuple of pairs (node or None, input number), one per input of the forward op."""
        pairs = []
        for i in range(self.edges):
            node = self.next_node(i)
            pairs.append((node, self.input_number(i) if node is not None else 0))
        return tuple(pairs)

    @property
    def metadata(self):
        """A dict for your own notes on this node. Anomaly mode stores its traceback here."""
        extra = self.extras()
        if extra.metadata is None:
            if cython.compiled:     # See Note [Interpreted threads take turns] in locks.py
                extra.metadata = {}
            else:
                with sharing:
                    if extra.metadata is None:
                        extra.metadata = {}
        return extra.metadata

    def __call__(self, *grads, **keywords):
        """Compute the gradients of the forward op's inputs from the gradients of its outputs, immediately.

        Args:
            grads (Tensor or None): one gradient for each output of the forward op, with its shape; None is an undefined
                gradient.

        Returns:
            Tensor or None: the gradient of the input. For several inputs a tuple of gradients, with None where no gradient is
            needed. An `AccumulateGrad` adds to ``.grad`` and returns (). The gradients have a history if gradients are
            enabled and the saved values have one.

        Raises:
            TypeError: the number of gradients is wrong, or one is not a tensor.
            RuntimeError: the saved values have been freed, for example by a backward without retain_graph.

        Only this node runs: not its hooks, and not the nodes behind it. Nothing is freed. With this method and
        `next_functions` you can write your own engine in ten lines. Mirrors ``torch/csrc/autograd/python_cpp_function.cpp``.

        >>> x = mg.tensor([3.], requires_grad=True)
        >>> (x ** 2).grad_fn(mg.ones(1))
        tensor([6.], grad_fn=<MulBackward0>)
        """
        return _call(self, grads, keywords)

    def register_hook(self, fn):
        """Call ``fn(grad_inputs, grad_outputs)`` after the node has run; both are tuples of tensors and Nones.

        Args:
            fn (callable): called with two tuples. It returns a tuple that replaces `grad_inputs`, or None to change nothing.

        Returns:
            RemovableHandle: removes the hook.

        Raises:
            TypeError: `fn` is not callable.
        """
        if cython.compiled:     # See Note [Two threads, one table of hooks]
            return add_post_hook(self, fn)
        else:
            with registering:
                return add_post_hook(self, fn)

    def register_prehook(self, fn):
        """Call ``fn(grad_outputs)`` before the node runs, with a tuple of tensors and Nones.

        Args:
            fn (callable): called with one tuple. It returns a tuple that replaces `grad_outputs`, or None to change nothing.

        Returns:
            RemovableHandle: removes the hook.

        Raises:
            TypeError: `fn` is not callable.
        """
        if cython.compiled:     # See Note [Two threads, one table of hooks]
            return add_pre_hook(self, fn)
        else:
            with registering:
                return add_pre_hook(self, fn)

    @property
    def requires_grad(self):
        """Always True: a node exists only where a gradient is required."""
        return True

    @property
    def _input_metadata(self):
        """The shape, dtype and device of each output of the forward op, which is an input of this node."""
        return self.meta if type(self.meta) is tuple else (self.meta,)

    def _sequence_nr(self):
        """The sequence number, which orders the ready queue."""
        return self.sequence

    def _set_sequence_nr(self, number):
        """Change the sequence number. For experiments."""
        self.sequence = number

    def __reduce__(self):
        raise AutogradTypeError("MG-E131", f"cannot pickle {type(self).__name__!r} object", node=self.name(),
                                fix="pickle or copy x.detach(), and compute the graph again")

    def __repr__(self):
        return f"<{self.name()} object at {id(self):#x}>"


def clear_node(node):
    """Set every field of a new node to its empty value.

    Compiled, it does nothing: ``Node.__new__`` has done it.
    """
    if not cython.compiled:
        node.edges = 0
        node.next0 = node.next_rest = None
        node.meta = None
        node.extra = None
        node.sequence = 0
        node.plan = None
        node.saved0 = node.saved1 = node.saved_rest = None
        node.version0 = node.version1 = node.version2 = -1
        node.interior = 0
        node.freed = False
        node.grad = None
        node.task = 0
        node.dependencies = 0
        node.needed = 0
        node.hooked = False


def use_call(function):
    """Supply `call_node` of node_call.py."""
    global _call
    _call = function


@cython.cfunc
def add_pre_hook(node: Node, hook) -> object:
    extra: NodeExtra = node.extras()
    hooks = Hooks.__new__(Hooks) if extra.pre_hooks is None else extra.pre_hooks
    handle = add_hook(hooks, hook)
    extra.pre_hooks = hooks
    node.hooked = True
    return handle


@cython.cfunc
def add_post_hook(node: Node, hook) -> object:
    extra: NodeExtra = node.extras()
    hooks = Hooks.__new__(Hooks) if extra.post_hooks is None else extra.post_hooks
    handle = add_hook(hooks, hook)
    extra.post_hooks = hooks
    node.hooked = True
    return handle


def retain_output(node: Node, number: cython.int, tensor) -> object:
    """Make `node` store the gradient of its output `number` in ``.grad`` of that output. `tensor` is a weak reference to it."""
    extra: NodeExtra = node.extras()
    if cython.compiled:     # See Note [Two threads, one table of hooks] in handle.py
        if extra.retains is None:
            extra.retains = {}
    else:
        with registering:
            if extra.retains is None:
                extra.retains = {}
    extra.retains[number] = tensor
    node.hooked = True
    return None


show_less(Node)
count_seldom(Node)
if not cython.compiled:
    globals()["Node"] = check_methods(Node)
