"""One run of the engine: take ready nodes, call them, and pass their results on.

    take      take the gradient out of the node's buffer
    compute   call the node, which puts the gradients of its inputs into `results`
    deliver   add each result to the buffer of the node behind that edge, and decrease that node's dependencies by one.
              At zero its gradient is complete, and the node goes into the ready queue

The loop has only these three steps, because nearly all nodes need no others. A node with hooks, and every node of a run
with ``inputs=`` or under anomaly mode, goes through `run_watched`. It has all the steps of PyTorch's evaluate_function,
in the same order.

Note [Adding in place]
    The second gradient to reach a buffer is added to the first in place, without a new tensor, if only the buffer holds
    the first: there is one reference to the tensor and one to its array, and the array owns its memory. This is not so
    if a hook has kept the gradient, the user passed it in, it went to two nodes, or it is a broadcast view. Then the sum
    is a new tensor. Under create_graph it always is.

Mirrors Engine::thread_main and evaluate_function of ``torch/csrc/autograd/engine.cpp``, and
``input_buffer.cpp``. Read before: ``dependencies.py``. Read next: ``graph/accumulate_grad.py``.
"""

import cython
from cython.cimports.minigrad._core.engine.tensor_hooks import run_hooks_on_tensors
from cython.cimports.minigrad._core.engine.validate import validate_gradient
from cython.cimports.minigrad._core.graph.anomaly import Anomaly, check_results
from cython.cimports.minigrad._core.graph.capi import check_signals, reference_count
from cython.cimports.minigrad._core.graph.hooks import run_post_hooks, run_pre_hooks
from cython.cimports.minigrad._core.graph.switches import Switches
from cython.cimports.minigrad._core.graph.tensor import TensorBase, is_exclusive
from cython.cimports.minigrad._core.graph.thread_state import current

from minigrad._core.engine.ready_queue import ReadyQueue
from minigrad._core.graph.anomaly import anomaly as _switch
from minigrad._core.graph.node import NEEDED as _NEEDED
from minigrad._core.graph.node import Node
from minigrad._core.graph.switches import switches as _switches
from minigrad._core.graph.thread_state import State
from minigrad.errors import AutogradError

NEEDED = cython.declare(cython.int, _NEEDED)
EVERYTHING = cython.declare(cython.longlong, -1)
# How many references a tensor has in `add_gradients` if only its buffer holds it: ownership.py.
SOLE_OWNER = cython.declare(cython.Py_ssize_t, -1)
SIGNALS_EVERY = cython.declare(cython.ulonglong, 4095)      # we check for signals after so many nodes; 2**n - 1
anomaly = cython.declare(Anomaly, _switch)
switches = cython.declare(Switches, _switches)


@cython.binding(False)
@cython.cclass
class Scratch:
    """A task's count and buffer for a node whose own fields belong to another task. See Note [Scratch on the node]."""

    def __init__(self):
        self.grad = None
        self.dependencies = 0
        self.needed = 0


@cython.binding(False)
@cython.cclass
class GraphTask(ReadyQueue):
    """One run of the engine: until no node is ready, it takes the latest ready node, calls it, and delivers its results.

    Not locked: only the thread that runs the task uses it. A node's scratch fields are the task's while `dependencies.live` has
    the task, and another task does not touch them (`claiming`).
    """

    def __init__(self, number, keep_graph, create_graph, selective, outer):
        ReadyQueue.__init__(self)
        self.id = number
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.out_of_place = create_graph    # whether to add gradients out of place; also in forward mode, for their tangents
        self.selective = selective
        self.outer = outer          # the task whose node started this one, or None
        self.root = None            # the node at which the run begins
        self.callbacks = []         # functions to call when all nodes have run
        self.others = {}            # node -> Scratch, see Note [Scratch on the node]
        self.requested = {}         # node -> NEEDED or CAPTURED
        self.captures = {}          # node -> [(number of its output, position in `captured`)]
        self.captured = []
        self.results = []           # the results of the running node, by edge; one list for all nodes
        self.modes = None           # the modes for each node: see `run_watched`

    def scratch(self, node):
        """Our scratch for a node whose own fields belong to another task."""
        found = self.others.get(node)
        if found is None:
            raise AutogradError("MG-E105", f"dependency not found for {node.name()}", node=node.name(),
                                fix="do not change the graph (`next_functions`) while a backward runs on it")
        return found

    def needed(self, node):
        """What this task needs `node` for, as flags; 0 if for nothing. Set by `select_nodes`."""
        return node.needed if node.task == self.id else self.scratch(node).needed

    def runs(self, node):
        """Whether this task calls `node`. It does not if the node's gradient is only a result of the task."""
        return not self.selective or self.needed(node) & NEEDED != 0

    @cython.boundscheck(False)
    @cython.wraparound(False)
    @cython.nonecheck(False)
    def run(self, root, state):
        """Run all nodes, beginning with `root`, whose buffer has its gradient."""
        node: Node
        executed: cython.ulonglong = 0
        keep: cython.bint = self.keep_graph
        results: list = self.results
        self.push(root)
        while True:
            node = self.ready       # what `pop` does first, without a call
            if node is not None:
                self.ready = None
            else:
                node = self.pop()
                if node is None:
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
            if node.hooked:         # its own backward has added a hook
                self.finish(node, ())
                continue
            if not keep:
                node.release()
            self.deliver(node, False)
        return None

    @cython.nonecheck(False)
    def take(self, node):
        """Return the gradient in the buffer of `node`, and empty the buffer."""
        if node.task == self.id:
            grad = node.grad
            node.grad = None
        else:
            scratch = self.scratch(node)
            grad = scratch.grad
            scratch.grad = None
        if grad is None and type(node.meta) is tuple:
            return [None] * node.number_of_outputs()
        return grad

    @cython.boundscheck(False)
    @cython.wraparound(False)
    @cython.nonecheck(False)
    def deliver(self, node, checked):
        """Add the results of `node` to the buffers behind its edges, and push the nodes that are ready now.

        `checked`: the results have been validated.
        """
        following: Node
        results: list = self.results
        i: cython.Py_ssize_t
        number: cython.int
        for i in range(node.edges):
            grad = results[i]
            following = node.next_node(i) if i > 0 else node.next0      # most edges are the first
            if following is None:
                if grad is not None:
                    results[i] = None       # a Function may return gradients that go nowhere
                continue
            number = node.input_number(i) if type(node.next_rest) is tuple else 0
            if grad is not None:
                results[i] = None
                if not checked and (not isinstance(grad, TensorBase) or cython.cast(TensorBase, grad)._meta is not following.meta):
                    grad = validate_gradient(grad, following, number, node, i)
            if following.task == self.id:
                if self.selective and following.needed == 0:
                    continue
                if grad is not None:
                    if following.grad is None and type(following.meta) is not tuple:
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

    @cython.nonecheck(False)
    def receive(self, node, number, grad):
        """Add `grad` to the buffer of `node`, for its output `number`."""
        buffer: list
        if node.task != self.id:
            scratch = self.scratch(node)
            if type(node.meta) is not tuple:
                scratch.grad = grad if scratch.grad is None else scratch.grad + grad
            else:
                if scratch.grad is None:
                    scratch.grad = [None] * node.number_of_outputs()
                buffer = scratch.grad
                buffer[number] = grad if buffer[number] is None else buffer[number] + grad
        elif type(node.meta) is not tuple:
            if node.grad is None:
                node.grad = grad
            else:
                old = node.grad
                node.grad = None
                node.grad = add_gradients(old, grad, self.out_of_place)
        else:
            if node.grad is None:
                node.grad = [None] * node.number_of_outputs()
            buffer = node.grad
            old = buffer[number]
            if old is None:
                buffer[number] = grad
            else:
                buffer[number] = None
                buffer[number] = add_gradients(old, grad, self.out_of_place)
        return None

    # ---- nodes with hooks, runs with inputs=, anomaly mode ------------------------------------------------

    def wanted(self, node):
        """The results of `node` that this task will use, as a bit mask."""
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
        """Run a node with all the steps around it, and then restore the modes, in case a hook has changed them."""
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
        """Run a node, its hooks and the steps that follow. If its gradient is only a result of the task, do not call it.

        In that case the result is the gradient after the tensor's hooks. If the node runs as well, the result is the
        gradient before these hooks. PyTorch does the same, by accident.
        """
        grad = self.take(node)
        runs: cython.bint = self.runs(node)
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
                grad = list(grads) if type(node.meta) is tuple else grads[0]
                grads = None
            if node.extra is not None and node.extra.post_hooks:
                before = buffer_as_tuple(node, grad)
        self.note_call(node, grad)
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
        """Store the gradient that has reached `node` as a result of the task."""
        for number, position in self.captures[node]:
            self.captured[position] = grad[number] if type(node.meta) is tuple else grad
        return None

    def note_call(self, node, grad):
        """Does nothing. `RecordingTask` notes here that `node` is called on `grad` next."""
        return None

    def finish(self, node, before):
        """Validate the results of a watched node, run its post-hooks and deliver.

        `before` has the node's gradients, for the post-hooks; None if these have run.
        """
        results: list = self.results
        n: cython.Py_ssize_t = node.edges
        i: cython.Py_ssize_t
        for i in range(n):
            if results[i] is not None and node.next_node(i) is not None:
                results[i] = validate_gradient(results[i], node.next_node(i), node.input_number(i), node, i)
        if before is not None and node.extra is not None and node.extra.post_hooks:
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


@cython.nonecheck(False)
@cython.cfunc
def add_gradients(old, new, out_of_place: cython.bint) -> object:
    """``old + new``. See Note [Adding in place]."""
    nobody_else: cython.bint = reference_count(old) == SOLE_OWNER    # counted before `a` adds a reference
    a = cython.cast(TensorBase, old)
    b = cython.cast(TensorBase, new)
    if (nobody_else and not out_of_place and a._meta is b._meta and a._node is None
            and not a._leaf_requires_grad and is_exclusive(a)
            and a._meta.backend.accumulate(a._array, b._array)):
        return old
    return old + new


def adds_in_place(count, first, second):
    """Set SOLE_OWNER to `count`, and test whether a buffer with the only item of the list `first` adds `second` in place."""
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
    """The buffer of a node as a tuple, as its hooks get it."""
    return tuple(grad) if type(node.meta) is tuple else (grad,)
