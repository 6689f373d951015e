"""The backward engine: in what order the nodes run, and how gradients travel between them.

One call of ``backward`` or ``grad`` is one `GraphTask`:

    1. count     From the roots, walk over the edges once and count for every node how many edges lead to
                 it: its *dependencies*. With ``inputs=``, find out on the same walk which nodes lie on a
                 path to one of them: only those will run.
    2. run       Put the root's gradient into its buffer, and the root into the ready queue. Then, until the
                 queue is empty: take the node that was created last, call it on its buffer, add each result
                 to the buffer of the node behind that edge, and count that node's dependencies down. At
                 zero its gradient is complete and it is ready.

        queue: Mul#7            Mul#7 runs -> buffer of Add#5 complete -> queue: Add#5
        queue: Add#5            Add#5 runs -> buffers of Exp#3 and Sin#4 complete
        queue: Sin#4, Exp#3     latest first: Sin#4, then Exp#3

A node therefore runs at most once per task, whatever its fan-in, with the sum of all that reaches it.

Note [Scratch on the node]
    The count and the buffer of a node lie in fields of the node, stamped with the number of the task, so
    that the hot loop touches no dict: nothing has to be cleared between tasks, since a stale stamp is as
    good as none. If another *live* task has stamped the node (a backward inside a hook, or in another
    thread), this task keeps its own `Scratch` for it in `others`.

Note [Adding in place]
    The second gradient to reach a buffer is added into the first, without a new tensor, if nobody else can
    see the first: one reference to the tensor and one to its array, which must own its memory. Gradients
    that a hook has kept, that the user passed in, that went to two nodes at once, or that are broadcast
    views fail this and are summed out of place. Under create_graph they always are.

Note [Order of the ready queue]
    A heap on the sequence number. Leaf accumulators have the largest, so they run as soon as they are ready
    and their buffers are freed. Ties, which only they have, come out in the order of libstdc++'s heap,
    whose algorithm we follow, because PyTorch's order is that one and hooks can see it.

Nothing here recurses over the graph, and every step is linear in the number of edges.

Mirrors ``torch/csrc/autograd/engine.cpp`` (Engine::execute, compute_dependencies, thread_main,
evaluate_function, GraphTask) and ``input_buffer.cpp``.
"""

import threading

import cython

from minigrad._core.accumulate import AccumulateGrad
from minigrad._core.given import given
from minigrad._core.meta import Meta
from minigrad._core.node import Node, NodeExtra
from minigrad._core.tensor import AutogradMeta, TensorBase
from minigrad.errors import AutogradError

if not cython.compiled:
    from minigrad._core.c import check_signals, references
    from minigrad._core.hooks import run_post_hooks, run_pre_hooks, run_tensor_hooks
    from minigrad._core.node import start
    from minigrad._core.saved import describe
    from minigrad._core.state import current
    from minigrad._core.tensor import exclusive

# What a requested or intermediate node is needed for, with `inputs=`.
NEEDED = cython.declare(cython.int, 1)      # it runs: a path leads from it to a requested node
CAPTURED = cython.declare(cython.int, 2)    # its buffer is a result

EVERYTHING = cython.declare(cython.longlong, -1)
ACCUMULATE = cython.declare(cython.int, 0)  # number of the kernel of that name in the contract
# References to a buffer's tensor while we decide whether to add to it in place; see accumulate.py.
HELD = cython.declare(cython.Py_ssize_t, 1 if cython.compiled else 2)
SIGNALS_EVERY = 4095                        # nodes between two looks at pending signals, a power of 2 less 1

_next_id = cython.declare(cython.ulonglong, 1)
_live = cython.declare(dict, {})            # number -> task, of those running in any thread
_claiming = threading.Lock()                # interpreted, two threads might stamp one node at once


@cython.cclass
class Scratch:
    """A task's notes on a node that another task has stamped."""

    def __init__(self):
        self.grad = None
        self.dependencies = 0
        self.needed = 0


@cython.cclass
class GraphRoot(Node):
    """Stands before several roots and hands each its gradient."""

    def __init__(self, nodes, numbers, grads):
        start(self)
        self.next_nodes = nodes
        self.input_numbers = numbers
        self.grads = grads

    def apply(self, grad, wanted, results):
        results[:] = self.grads


@cython.cclass
class GraphTask:
    """One run of the engine. See the head of this file."""

    def __init__(self, keep_graph, create_graph, selective):
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.selective = selective
        self.callbacks = []         # run when all nodes are done
        self.others = {}            # node -> Scratch, see Note [Scratch on the node]
        self.requested = {}         # node -> NEEDED or CAPTURED
        self.captures = {}          # node -> [(number of its output, position in `captured`)]
        self.captured = []
        self.results = []           # what the running node computed, by edge; one list for all nodes
        self.heap = []
        self.ready = None           # stands for a heap of one, which is what a chain of nodes needs
        self.id = 0

    # ---- 1. count ---------------------------------------------------------------------------------------

    def claim(self, node):
        """Make notes on `node` possible. False if they were so already."""
        if node.task == self.id:
            return False
        if node.task != 0 and len(_live) > 1 and node.task in _live:
            if node in self.others:
                return False
            self.others[node] = Scratch()
        else:
            if self.others and node in self.others:
                return False
            node.task = self.id
            node.dependencies = 0
            node.grad = None
            node.needed = 0
        return True

    def scratch(self, node):
        """Our notes on a node that carries another task's stamp."""
        found = self.others.get(node)
        if found is None:
            raise AutogradError("MG-E105", f"dependency not found for {node.name()}", node=node.name(),
                                fix="do not change the graph (`next_functions`) while a backward runs on it")
        return found

    def depend(self, node):
        """One more edge leads to `node`. True if it is the first."""
        first: cython.bint = self.claim(node)
        if node.task == self.id:
            node.dependencies += 1
        else:
            scratch = self.scratch(node)
            scratch.dependencies += 1
        return first

    def count(self, root):
        """Count the dependencies of every node behind `root`.

        The stack is a list whose top we keep ourselves: popping from a list that is nearly empty gives its
        memory back each time, which for a chain is at every node.
        """
        stack: list = [root]
        top: cython.Py_ssize_t = 1
        node: Node
        following: Node
        self.claim(root)
        while top > 0:
            top -= 1
            node = cython.cast(Node, stack[top])
            for item in node.next_nodes:
                if item is None:
                    continue
                following = cython.cast(Node, item)
                if following.task == self.id:
                    following.dependencies += 1
                elif self.depend(following):
                    if top == len(stack):
                        stack.append(following)
                    else:
                        stack[top] = following
                    top += 1
        return None

    def select(self, root):
        """`count`, and decide which nodes are needed: those from which a requested one is reached.

        A depth-first walk. When a node is left, all that lies behind it has been decided; a node met a
        second time has been left already, since there are no cycles.
        """
        path: list = [root]
        position: list = [0]
        node: Node
        i: cython.Py_ssize_t
        self.claim(root)
        self.need(root, self.requested.get(root, 0))
        while path:
            node = cython.cast(Node, path[-1])
            i = position[-1]
            if i == len(node.next_nodes):
                path.pop()
                position.pop()
                if path and self.needed(node) != 0:
                    self.need(path[-1], NEEDED)
                continue
            position[-1] = i + 1
            following = node.next_nodes[i]
            if following is None:
                continue
            if self.depend(following):
                self.need(following, self.requested.get(following, 0))
                path.append(following)
                position.append(0)
            elif self.needed(following) != 0:
                self.need(node, NEEDED)
        return None

    def need(self, node: Node, what: cython.int):
        """Note what `node` is needed for."""
        if node.task == self.id:
            node.needed |= what
        else:
            scratch = self.scratch(node)
            scratch.needed |= what

    def needed(self, node):
        return node.needed if node.task == self.id else self.scratch(node).needed

    # ---- 2. run -----------------------------------------------------------------------------------------

    def run(self, root, state):
        """Run all that is ready, beginning with `root`, whose buffer has been filled."""
        node: Node
        executed: cython.ulonglong = 0
        keep: cython.bint = self.keep_graph
        results: list = self.results
        self.push(root)
        while True:
            if self.ready is not None:
                node = self.ready
                self.ready = None
            elif self.heap:
                node = self.pop()
            else:
                break
            executed += 1
            if executed & SIGNALS_EVERY == 0:
                check_signals()
            while len(results) < len(node.next_nodes):
                results.append(None)
            state.node = node
            grad = self.take(node)
            if node.hooked or self.selective:
                self.run_watched(node, grad)
                continue
            node.apply(grad, EVERYTHING, results)
            grad = None
            if not keep:
                node.release()
            self.deliver(node, False)
        return None

    def take(self, node):
        """Empty the buffer of `node`."""
        if node.task == self.id:
            grad = node.grad
            node.grad = None
        else:
            scratch = self.scratch(node)
            grad = scratch.grad
            scratch.grad = None
        if grad is None and node.metas is not None:
            return [None] * len(node.metas)
        return grad

    def deliver(self, node, checked):
        """Pass on the results of `node`, and put into the queue whatever is complete now."""
        following: Node
        scratch: Scratch
        results: list = self.results
        i: cython.Py_ssize_t
        number: cython.int
        for i in range(len(node.next_nodes)):
            grad = results[i]
            if node.next_nodes[i] is None:
                continue
            following = cython.cast(Node, node.next_nodes[i])
            number = 0 if node.input_numbers is None else node.input_numbers[i]
            if grad is not None:
                results[i] = None
                if not checked:
                    grad = validated(grad, following, number, node, i)
            if following.task == self.id:
                if self.selective and following.needed == 0:
                    continue
                if grad is not None:
                    if following.grad is None and following.metas is None:
                        following.grad = grad
                    else:
                        self.receive(following, number, grad)
                following.dependencies -= 1
                if following.dependencies == 0:
                    self.push(following)
            else:
                scratch = self.scratch(following)
                if self.selective and scratch.needed == 0:
                    continue
                if grad is not None:
                    self.receive(following, number, grad)
                scratch.dependencies -= 1
                if scratch.dependencies == 0:
                    self.push(following)
        return None

    def receive(self, node, number, grad):
        """Add `grad` to the buffer of `node`, for its output `number`."""
        buffer: list
        if node.task != self.id:
            scratch = self.scratch(node)
            if node.metas is None:
                scratch.grad = grad if scratch.grad is None else scratch.grad + grad
            else:
                if scratch.grad is None:
                    scratch.grad = [None] * len(node.metas)
                buffer = scratch.grad
                buffer[number] = grad if buffer[number] is None else buffer[number] + grad
        elif node.metas is None:
            if node.grad is None:
                node.grad = grad
            else:
                old = node.grad
                node.grad = None
                node.grad = summed(old, grad, self.create_graph)
        else:
            if node.grad is None:
                node.grad = [None] * len(node.metas)
            buffer = node.grad
            old = buffer[number]
            if old is None:
                buffer[number] = grad
            else:
                buffer[number] = None
                buffer[number] = summed(old, grad, self.create_graph)
        return None

    def push(self, node):
        """Put `node` into the ready queue. See Note [Order of the ready queue]."""
        if self.ready is None and not self.heap:
            self.ready = node
            return None
        if self.ready is not None:
            self.heap.append(self.ready)
            self.ready = None
        self.heap.append(node)
        sift_up(self.heap, len(self.heap) - 1, node)
        return None

    def pop(self):
        """Take the node that comes first out of the heap."""
        heap = self.heap
        top = cython.cast(Node, heap[0])
        last = cython.cast(Node, heap.pop())
        n: cython.Py_ssize_t = len(heap)
        if n == 0:
            return top
        hole: cython.Py_ssize_t = 0
        child: cython.Py_ssize_t = 0
        while child < (n - 1) // 2:
            child = 2 * (child + 1)
            if cython.cast(Node, heap[child]).sequence < cython.cast(Node, heap[child - 1]).sequence:
                child -= 1
            heap[hole] = heap[child]
            hole = child
        if n & 1 == 0 and child == (n - 2) // 2:
            child = 2 * (child + 1)
            heap[hole] = heap[child - 1]
            hole = child - 1
        sift_up(heap, hole, last)
        return top

    # ---- nodes with hooks, and runs with inputs= ----------------------------------------------------------

    def wanted(self, node):
        """Which of the node's results this task will use, as a bit mask."""
        if not self.selective:
            return EVERYTHING
        mask: cython.longlong = 0
        i: cython.int
        for i in range(len(node.next_nodes)):
            following = node.next_nodes[i]
            if i > 62:
                return EVERYTHING
            if following is not None and self.needed(following) != 0:
                mask |= cython.cast(cython.longlong, 1) << i
        return mask

    def run_watched(self, node, grad):
        """Run a node that has hooks or is a result of the task; one that only is a result does not run.

        The order is that of Engine::evaluate_function: captures, tensor hooks, retained gradients,
        pre-hooks, the node, post-hooks.
        """
        runs: cython.bint = not self.selective or self.needed(node) & NEEDED != 0
        results: list = self.results
        n: cython.Py_ssize_t = len(node.next_nodes)
        i: cython.Py_ssize_t
        if self.selective and node in self.captures:
            if not runs and node.hooked:
                grad = run_hooks_on_tensors(node, grad)
            for number, position in self.captures[node]:
                self.captured[position] = grad[number] if node.metas is not None else grad
        if not runs:
            return None
        if node.hooked:
            grad = run_hooks_on_tensors(node, grad)
            if node.extra is not None and node.extra.pre_hooks:
                grads = run_pre_hooks(node.extra.pre_hooks, as_tuple(node, grad))
                grad = list(grads) if node.metas is not None else grads[0]
                grads = None
        before = as_tuple(node, grad) if node.hooked else ()
        node.apply(grad, self.wanted(node), results)
        for i in range(n):
            if results[i] is not None:
                results[i] = None if node.next_nodes[i] is None else validated(
                    results[i], node.next_nodes[i], node.input_number(i), node, i)
        if node.extra is not None and node.extra.post_hooks:
            results[:n] = run_post_hooks(node.extra.post_hooks, tuple(results[:n]), before)
        if not self.keep_graph:
            node.release()
        self.deliver(node, True)
        return None

    def forget(self, root):
        """After an error: empty the buffers that this task has left behind on nodes."""
        stack: list = [root]
        node: Node
        while stack:
            node = cython.cast(Node, stack.pop())
            if node.task == self.id:
                node.task = 0
                node.grad = None
                stack.extend([n for n in node.next_nodes if n is not None])
        self.others.clear()
        return None


@cython.cfunc
def sift_up(heap: list, hole: cython.Py_ssize_t, node: Node) -> object:
    parent: cython.Py_ssize_t
    while hole > 0:
        parent = (hole - 1) // 2
        if not cython.cast(Node, heap[parent]).sequence < node.sequence:
            break
        heap[hole] = heap[parent]
        hole = parent
    heap[hole] = node
    return None


@cython.cfunc
def summed(old, new, create_graph: cython.bint) -> object:
    """``old + new``. See Note [Adding in place]."""
    a = cython.cast(TensorBase, old)
    b = cython.cast(TensorBase, new)
    if (not create_graph and references(old) == HELD and a._meta is b._meta and a._node is None
            and not a._leaf_requires_grad and exclusive(a)
            and a._meta.backend.table[ACCUMULATE](a._array, b._array)):
        return old
    return old + new


@cython.cfunc
def as_tuple(node: Node, grad) -> tuple:
    """The buffer of a node as hooks see it."""
    return tuple(grad) if node.metas is not None else (grad,)


@cython.cfunc
def run_hooks_on_tensors(node: Node, grad) -> object:
    """The hooks of the tensors that `node` stands for, then the gradients that they retain."""
    extra: NodeExtra = node.extra
    leaf: AutogradMeta
    if isinstance(node, AccumulateGrad):
        leaf = cython.cast(AccumulateGrad, node).variable._extra
        if leaf is not None and leaf.hooks:
            grad = run_tensor_hooks(leaf.hooks, grad)
        return grad
    if extra is None:
        return grad
    for number, hooks in extra.tensor_hooks:
        if node.metas is None:
            grad = run_tensor_hooks(hooks, grad)
        else:
            grad[number] = run_tensor_hooks(hooks, grad[number])
    for number, tensor in extra.retains.items():
        retain(tensor(), grad if node.metas is None else grad[number])
    return grad


@cython.cfunc
def retain(tensor, grad) -> object:
    """Add `grad` to ``tensor.grad``, out of place: the gradient in flight is never shared."""
    if tensor is None or grad is None:
        return None
    extra = cython.cast(TensorBase, tensor).extras()
    extra.grad = given.clone(grad) if extra.grad is None else extra.grad + grad
    return None


# ---- what a gradient must look like ---------------------------------------------------------------------


@cython.cfunc
def validated(grad, following: Node, number: cython.int, node: Node, index: cython.int) -> object:
    """`grad` in the shape and dtype of the tensor that it is the gradient of, or an error.

    A gradient of the broadcast shape is summed down: that is how broadcasting is undone, for every op, here
    and nowhere else.
    """
    if not isinstance(grad, TensorBase):
        raise AutogradError("MG-E106", f"Function {node.name()} returned a {type(grad).__name__} as the gradient at "
                            f"index {index}; expected Variable or None")
    meta: Meta = following.meta if following.metas is None else following.metas[number]
    if cython.cast(TensorBase, grad)._meta is meta:
        return grad
    return fitted(grad, meta, f"Function {node.name()}", index)


def fitted(grad, meta, who, index):
    """`validated` for a gradient whose metadata is not the very record that was expected."""
    found: Meta = cython.cast(TensorBase, grad)._meta
    if found.shape != meta.shape:
        if not is_expandable(meta.shape, found.shape):
            raise AutogradError(
                "MG-E106", f"{who} returned an invalid gradient at index {index} - got {list(found.shape)} but "
                f"expected shape compatible with {list(meta.shape)}",
                expected=describe(meta), found=describe(found),
                fix="the gradient of a tensor has the shape of that tensor")
        grad = given.sum_to(grad, meta.shape)
    if found.dtype is not meta.dtype:
        if found.dtype.is_complex and not meta.dtype.is_complex:
            raise AutogradError(
                "MG-E106", f"{who} returned an invalid gradient at index {index} - expected dtype {meta.dtype.name} "
                f"but got {found.dtype.name}",
                fix="the gradient of a real tensor is real: take .real")
        grad = given.cast(grad, meta.dtype)
    if found.device is not meta.device and found.device != meta.device:
        raise AutogradError(
            "MG-E106", f"{who} returned an invalid gradient at index {index} - expected device {meta.device} but "
            f"got {found.device}")
    return grad


def is_expandable(small, large):
    """Whether a tensor of shape `small` can be broadcast to shape `large`."""
    if len(small) > len(large):
        return False
    for size, target in zip(reversed(small), reversed(large)):
        if size != target and size != 1:
            return False
    return True


# ---- the entry ------------------------------------------------------------------------------------------


def execute(roots, grads, keep_graph, create_graph, inputs=None, accumulate=True):
    """Run a backward.

    Args:
        roots: list of pairs (node, number of its output).
        grads: list of gradients, one per root; they are never written to.
        inputs: None: accumulate into every leaf that is reached. Otherwise a list of pairs like `roots`,
            (None, 0) for an input that no graph has used: only what leads there runs.
        accumulate: with `inputs`: run those nodes too (``backward(inputs=)``) instead of returning what
            reaches them (``grad``).

    Returns:
        The gradients of `inputs`, None where nothing arrived; the empty list without them.
    """
    global _next_id
    root: Node
    number: cython.int
    state = current()
    task = GraphTask(keep_graph, create_graph, inputs is not None)
    task.id = _next_id
    _next_id += 1
    if inputs is not None:
        task.captured = [None] * len(inputs)
        for position, (node, number) in enumerate(inputs):
            if node is None:
                continue
            task.requested[node] = task.requested.get(node, 0) | (NEEDED if accumulate else CAPTURED)
            if not accumulate:
                task.captures.setdefault(node, []).append((number, position))
    for i, (node, number) in enumerate(roots):
        grads[i] = fitted_root(grads[i], node, number, i)
    if len(roots) == 1:
        root, number = roots[0]
    else:
        root = GraphRoot(tuple([r[0] for r in roots]), tuple([r[1] for r in roots]), tuple(grads))
        number = 0

    outer = state.task, state.node, state.grad_enabled, state.inference, state.forward_level
    _live[task.id] = task
    state.depth += 1
    try:
        with _claiming:
            if task.selective:
                task.select(root)
            else:
                task.count(root)
        state.task = task
        state.set_modes(create_graph, False, state.forward_level)
        try:
            if len(roots) == 1:
                task.receive(root, number, grads[0])
                grads.clear()
            task.run(root, state)
            for callback in task.callbacks:     # grows while we walk it: a callback may install another
                callback()
        except BaseException:
            task.forget(root)
            raise
    finally:
        state.depth -= 1
        state.task, state.node, grad_enabled, inference, level = outer
        state.set_modes(grad_enabled, inference, level)
        _live.pop(task.id, None)
    return task.captured


@cython.cfunc
def fitted_root(grad, node: Node, number: cython.int, index: cython.int) -> object:
    """The root's gradient in the root's dtype; its shape has been checked by the caller."""
    if grad is None:
        return None
    meta = node.output_meta(number)
    return grad if cython.cast(TensorBase, grad)._meta is meta else fitted(grad, meta, "The caller", index)
