"""One run of the engine: taking ready nodes, calling them, and passing on what they computed.

    take      the gradient out of the node's buffer
    compute   the node, which puts the gradients of its inputs into `results`
    deliver   each to the buffer of the node behind that edge, whose dependencies go down by one; at zero its
              gradient is complete, and it is pushed into the queue

A node that has hooks, and every node of a run with ``inputs=`` or under anomaly mode, goes through
`run_watched`, which has all the steps of PyTorch's evaluate_function in its order; the loop itself has only
those three, since nearly all nodes need no others.

Note [Adding in place]
    The second gradient to reach a buffer is added into the first, without a new tensor, if nobody else can
    see the first: one reference to the tensor and one to its array, which must own its memory. Gradients
    that a hook has kept, that the user passed in, that went to two nodes at once, or that are broadcast
    views fail this and are summed out of place. Under create_graph they always are.

Mirrors Engine::thread_main and evaluate_function of ``torch/csrc/autograd/engine.cpp``, and
``input_buffer.cpp``. Read before: ``dependencies.py``. Read next: ``graph/accumulate_grad.py``.
"""

import cython
from cython.cimports.minigrad._core.engine.ready_queue import pop_ready, push_ready
from cython.cimports.minigrad._core.engine.tensor_hooks import run_hooks_on_tensors
from cython.cimports.minigrad._core.engine.validate import validate_gradient
from cython.cimports.minigrad._core.graph.anomaly import Anomaly, check_results
from cython.cimports.minigrad._core.graph.capi import check_signals, reference_count
from cython.cimports.minigrad._core.graph.hooks import run_post_hooks, run_pre_hooks
from cython.cimports.minigrad._core.graph.switches import Switches
from cython.cimports.minigrad._core.graph.tensor import TensorBase, is_exclusive
from cython.cimports.minigrad._core.graph.thread_state import current

from minigrad._core.engine.dependencies import Dependencies
from minigrad._core.graph.anomaly import anomaly as _switch
from minigrad._core.graph.node import Node
from minigrad._core.graph.switches import switches as _switches
from minigrad._core.graph.thread_state import State

NEEDED = cython.declare(cython.int, 1)      # as in dependencies.py
EVERYTHING = cython.declare(cython.longlong, -1)
ACCUMULATE = cython.declare(cython.int, 0)  # number of the kernel of that name in the contract
# References to a buffer's tensor while `add_gradients` decides whether it may add in place, if nobody else holds it: ownership.py.
SOLE_OWNER = cython.declare(cython.Py_ssize_t, -1)
SIGNALS_EVERY = cython.declare(cython.ulonglong, 4095)      # nodes between two looks at pending signals, 2**n - 1
anomaly = cython.declare(Anomaly, _switch)
switches = cython.declare(Switches, _switches)


@cython.binding(False)
@cython.cclass
class GraphTask(Dependencies):
    """One run of the engine: it takes the latest ready node, calls it, and passes on the gradients that it computed."""

    def __init__(self, number, keep_graph, create_graph, selective, outer):
        self.id = number
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.out_of_place = create_graph    # how gradients are added: also in forward mode, with their tangents
        self.selective = selective
        self.outer = outer          # the task in one of whose nodes this one was started, or None
        self.root = None            # where it begins
        self.callbacks = []         # run when all nodes are done
        self.others = {}            # node -> Scratch, see Note [Scratch on the node]
        self.requested = {}         # node -> NEEDED or CAPTURED
        self.captures = {}          # node -> [(number of its output, position in `captured`)]
        self.captured = []
        self.results = []           # what the running node computed, by edge; one list for all nodes
        self.modes = None           # as they are for each node: see `run_watched`
        self.heap = []
        self.ready = None           # stands for a heap of one, which is what a chain of nodes needs

    @cython.nonecheck(False)
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
                node = pop_ready(self.heap)
            else:
                break
            executed += 1
            if executed & SIGNALS_EVERY == 0:
                check_signals()
                if state.interrupt is not None:
                    raise state.interrupt
            while len(results) < node.edges:
                results.append(None)
            state.node = node
            if node.hooked or self.selective or anomaly.enabled:
                self.run_watched(node)
                continue
            grad = self.take(node)
            node.compute(grad, EVERYTHING, results)
            grad = None
            if node.hooked:         # by its own backward
                self.finish(node, ())
                continue
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

    @cython.nonecheck(False)
    def deliver(self, node, checked):
        """Pass on the results of `node`, and put into the queue whatever is complete now."""
        following: Node
        results: list = self.results
        i: cython.Py_ssize_t
        number: cython.int
        for i in range(node.edges):
            grad = results[i]
            following = node.next_node(i)
            if following is None:
                if grad is not None:
                    results[i] = None       # a Function may return gradients that go nowhere
                continue
            number = 0 if node.input_numbers is None else node.input_numbers[i]
            if grad is not None:
                results[i] = None
                if not checked and (following.metas is not None or not isinstance(grad, TensorBase)
                                    or cython.cast(TensorBase, grad)._meta is not following.meta):
                    grad = validate_gradient(grad, following, number, node, i)
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
                node.grad = add_gradients(old, grad, self.out_of_place)
        else:
            if node.grad is None:
                node.grad = [None] * len(node.metas)
            buffer = node.grad
            old = buffer[number]
            if old is None:
                buffer[number] = grad
            else:
                buffer[number] = None
                buffer[number] = add_gradients(old, grad, self.out_of_place)
        return None

    def push(self, node):
        """Put `node` into the ready queue. See ``ready_queue.py``."""
        if self.ready is None and not self.heap:
            self.ready = node
            return None
        if self.ready is not None:
            self.heap.append(self.ready)
            self.ready = None
        push_ready(self.heap, node)
        return None

    # ---- nodes with hooks, runs with inputs=, anomaly mode ------------------------------------------------

    def wanted(self, node):
        """Which of the node's results this task will use, as a bit mask."""
        if not self.selective:
            return EVERYTHING
        mask: cython.longlong = 0
        i: cython.int
        for i in range(node.edges):
            following = node.next_node(i)
            if i > 62:
                return EVERYTHING
            if following is not None and self.needed(following) != 0:
                mask |= cython.cast(cython.longlong, 1) << i
        return mask

    def run_watched(self, node):
        """Run a node with all the steps around it. A mode that its hooks enter and do not leave is over when the next node runs."""
        if not node.hooked:
            return self.run_steps(node)
        state: State = current()
        if self.modes is None:
            self.modes = state.modes()
        self.run_steps(node)
        if not state.has(self.modes):
            state.restore(self.modes)
        return None

    def run_steps(self, node):
        """The node itself, its hooks and what follows; one that only is a result of the task does not run.

        A result is what has passed the tensor's hooks, unless the node runs as well: then it is what they
        were given. That is an accident of PyTorch's, which we keep.
        """
        grad = self.take(node)
        runs: cython.bint = not self.selective or self.needed(node) & NEEDED != 0
        if self.selective and node in self.captures:
            if not runs and node.hooked:
                grad = run_hooks_on_tensors(node, grad)
            self.capture(node, grad)
        if not runs:
            return None
        before: tuple = ()
        if node.hooked:
            grad = run_hooks_on_tensors(node, grad)
            if node.extra is not None and node.extra.pre_hooks:
                grads = run_pre_hooks(node.extra.pre_hooks, buffer_as_tuple(node, grad))
                grad = list(grads) if node.metas is not None else grads[0]
                grads = None
            if node.extra is not None and node.extra.post_hooks:
                before = buffer_as_tuple(node, grad)
        self.calling(node, grad)
        node.compute(grad, self.wanted(node), self.results)
        grad = None
        if anomaly.enabled or switches.recording or (node.extra is not None and node.extra.post_hooks):
            self.finish(node, before)
            return None
        if not self.keep_graph:
            node.release()
        self.deliver(node, False)
        return None

    def capture(self, node, grad):
        """Keep what has reached `node`: it is a result of the task."""
        for number, position in self.captures[node]:
            self.captured[position] = grad[number] if node.metas is not None else grad
        return None

    def calling(self, node, grad):
        """`node` is called on `grad` next. `RecordingTask` notes it."""
        return None

    def finish(self, node, before):
        """What follows on a watched node's backward; `before` is what its post-hooks are told it was given."""
        results: list = self.results
        n: cython.Py_ssize_t = node.edges
        i: cython.Py_ssize_t
        for i in range(n):
            if results[i] is not None and node.next_node(i) is not None:
                results[i] = validate_gradient(results[i], node.next_node(i), node.input_number(i), node, i)
        if node.extra is not None and node.extra.post_hooks:
            found = tuple(results[:n])
            after = run_post_hooks(node.extra.post_hooks, found, before)
            if after is not found:
                results[:n] = after
        if not self.keep_graph:
            node.release()
        if anomaly.enabled and anomaly.check_nan:
            check_results(node, results)
        self.deliver(node, True)
        return None


@cython.cfunc
def add_gradients(old, new, out_of_place: cython.bint) -> object:
    """``old + new``. See Note [Adding in place]."""
    nobody_else: cython.bint = reference_count(old) == SOLE_OWNER    # counted before `a` is one more
    a = cython.cast(TensorBase, old)
    b = cython.cast(TensorBase, new)
    if (nobody_else and not out_of_place and a._meta is b._meta and a._node is None
            and not a._leaf_requires_grad and is_exclusive(a)
            and a._meta.backend.table[ACCUMULATE](a._array, b._array)):
        return old
    return old + new


def adds_in_place(count, first, second):
    """Whether a buffer that holds the only item of the list `first` adds `second` to it in place, if SOLE_OWNER is `count`."""
    global SOLE_OWNER
    SOLE_OWNER = count
    node: Node = Node()
    task: GraphTask = GraphTask(0, False, False, False, None)
    number = id(first[0])
    node.meta = cython.cast(TensorBase, second, typecheck=True)._meta
    node.grad = cython.cast(TensorBase, first.pop(), typecheck=True)
    task.receive(node, 0, second)
    return id(node.grad) == number


@cython.cfunc
def buffer_as_tuple(node: Node, grad) -> tuple:
    """The buffer of a node as hooks see it."""
    return tuple(grad) if node.metas is not None else (grad,)
