"""The backward engine: in what order the nodes run, and how gradients travel between them.

One call of ``backward`` or ``grad`` is one `GraphTask`:

    1. count     From the roots, walk over all edges once, and count for every node how many edges lead to it: its
                 *dependencies*. With ``inputs=``, the same walk finds the nodes on a path to a requested node. Only
                 these will run.                                                      dependencies.py
    2. run       Put the root's gradient into its buffer, and the root into the ready queue. Then, until the queue is
                 empty: take the node that was created last, and call it on its buffer. Add each result to the buffer
                 of the node behind that edge, and decrease that node's dependencies. When they reach zero, its
                 gradient is complete and the node is ready.                          graph_task.py, ready_queue.py

        queue: Mul#7            Mul#7 runs -> buffer of Add#5 complete -> queue: Add#5
        queue: Add#5            Add#5 runs -> buffers of Exp#3 and Sin#4 complete
        queue: Sin#4, Exp#3     latest first: Sin#4, then Exp#3

So a node runs at most once in a task, with the sum of all gradients that reach it. Nothing here recurses over the graph,
and every step is linear in the number of edges.

Note [Reentrant backward]
    A hook or a custom Function may call backward: a task within a task, which runs to its end before the call returns.
    Each nested call uses stack, of C and of Python. After MOST_NESTED nested calls, the next call runs in a new thread,
    which has a fresh stack, while the calling thread waits. The new thread *borrows the State* of the calling thread:
    grad mode, hooks, running node and sequence numbers. So code that runs there sees no difference but the name of the
    thread. Ctrl-C reaches the waiting thread. It sets `State.interrupt`, which stops the other thread, and goes on
    waiting: the State is its own again when the other thread has ended.

Mirrors ``torch/csrc/autograd/engine.cpp`` (Engine::execute, execute_with_graph_task, queue_callback). Read next:
``dependencies.py``.
"""

import contextvars
import itertools
from typing import Any

import cython
from cython.cimports.minigrad._core.engine.dependencies import clear_buffers, count_dependencies
from cython.cimports.minigrad._core.engine.graph_task import GraphTask
from cython.cimports.minigrad._core.engine.ready_queue import ReadyQueue
from cython.cimports.minigrad._core.engine.stream_task import StreamTask
from cython.cimports.minigrad._core.engine.validate import cast_gradient
from cython.cimports.minigrad._core.graph.accumulate_grad import gradient_edge
from cython.cimports.minigrad._core.graph.anomaly import Anomaly, report
from cython.cimports.minigrad._core.graph.node import clear_node
from cython.cimports.minigrad._core.graph.switches import Switches
from cython.cimports.minigrad._core.graph.tensor import TensorBase, wrap
from cython.cimports.minigrad._core.graph.thread_state import Modes, State, current

from minigrad._core.engine.dependencies import claiming, live
from minigrad._core.graph.anomaly import anomaly as _switch
from minigrad._core.graph.node import CAPTURED, NEEDED, Node
from minigrad._core.graph.streams import carried, streaming
from minigrad._core.graph.switches import switches as _switches
from minigrad._core.graph.thread_state import borrow
from minigrad.errors import AutogradError

MOST_NESTED = cython.declare(cython.int, 60)
anomaly = cython.declare(Anomaly, _switch)
switches = cython.declare(Switches, _switches)
recording_task: Any = None      # RecordingTask, supplied by observe/recording_task.py
swapped_task: Any = None        # SwappedTask, supplied by observe/swapped_task.py
_ids = itertools.count(1)


def use_recording_task(cls):
    """Supply the class of tasks that run while a recorder is active."""
    global recording_task
    recording_task = cls


def use_swapped_task(cls):
    """Supply the class of tasks that run while a part of the engine is swapped."""
    global swapped_task
    swapped_task = cls


@cython.binding(False)
@cython.cclass
class GraphRoot(Node):
    """A node in front of several roots: it passes each root its gradient."""

    def __init__(self, nodes, numbers, grads):
        clear_node(self)
        self.connect(nodes, numbers)
        self.grads = grads

    def compute(self, grad, wanted, results):
        results[:] = self.grads


def execute(roots, grads, keep_graph, create_graph, inputs=None, accumulate=True):
    """Run a backward.

    Args:
        roots (list of pairs): (node, number of its output).
        grads (list): a gradient for each root, a tensor or None. The engine never writes to them.
        keep_graph (bool): whether the nodes keep their saved values.
        create_graph (bool): whether to record the backward itself.
        inputs (list of pairs, optional): (node, number of its output), or (None, 0) for an input that no graph has used.
            Only nodes on a path to these nodes run. Default: accumulate into every leaf that is reached.
        accumulate (bool): with `inputs`: run these nodes too (``backward(inputs=)``). False: return the gradients that
            reach them instead (``grad``).

    Returns:
        list: the gradients of `inputs`, None where no gradient arrived. Empty without `inputs`.

    Raises:
        RuntimeError: a gradient does not fit its root, or a node fails.
    """
    number: cython.int
    state = current()
    for i, (node, number) in enumerate(roots):
        grads[i] = cast_root_gradient(grads[i], node, number, i)
    task: GraphTask
    if switches.watched:
        watched = swapped_task if switches.swapped else recording_task
        task = watched(next(_ids), keep_graph, create_graph, inputs is not None, state.task)
    elif switches.streamed and streaming():
        task = StreamTask(next(_ids), keep_graph, create_graph, inputs is not None, state.task)
    else:
        task = GraphTask(next(_ids), keep_graph, create_graph, inputs is not None, state.task)
    if inputs is not None:
        task.captured = [None] * len(inputs)
        for position, (node, number) in enumerate(inputs):
            if node is None:
                continue
            task.requested[node] = task.requested.get(node, 0) | (NEEDED if accumulate else CAPTURED)
            if not accumulate:
                task.captures.setdefault(node, []).append((number, position))
    if state.depth < MOST_NESTED:
        run_task(task, state, roots, grads)
    else:
        run_in_new_thread(task, state, roots, grads)
    return task.captured


def execute_from_tensors(tensors, gradients, inputs, keep_graph, create_graph):
    """`execute` for the usual arguments: from tensors to all leaves behind them, or to a list of tensors, for their gradients.

    `tensors` and `gradients` are each a tensor, or a list or tuple of tensors; a gradient may be None. Returns None, and runs
    nothing, if an argument is another: then the caller has to check each of them.
    """
    sources = tensors if type(tensors) is list or type(tensors) is tuple else (tensors,)
    given = gradients if type(gradients) is list or type(gradients) is tuple else (gradients,)
    n: cython.Py_ssize_t = len(sources)
    if n == 0 or (gradients is not None and len(given) != n):
        return None
    roots = []
    grads = []
    i: cython.Py_ssize_t
    for i in range(n):
        x = sources[i]
        gradient = None if gradients is None else given[i]
        if not isinstance(x, TensorBase):
            return None
        root = cython.cast(TensorBase, x)
        node = gradient_edge(root)
        meta = root._meta
        if root._node is None:
            return None
        if gradient is None:
            if meta.numel != 1 or not meta.dtype.is_floating_point:
                return None
            one = wrap(meta.backend.kernels.full(meta.shape, 1, meta.dtype.numpy), meta)
            one._inference = current().inference
            gradient = one
        elif not isinstance(gradient, TensorBase) or cython.cast(TensorBase, gradient)._meta is not meta:
            return None
        roots.append((node, root._output_number))
        grads.append(gradient)
    targets = None
    if inputs is not None:
        targets = []
        for x in inputs:
            target = gradient_edge(x) if isinstance(x, TensorBase) else None
            if target is None:
                return None
            targets.append((target, cython.cast(TensorBase, x)._output_number))
    return execute(roots, grads, keep_graph, create_graph, targets, False)


@cython.cfunc
def run_task(task: GraphTask, state: State, roots: list, grads: list) -> object:
    """Count the dependencies, run the task, and restore the thread's state, even after an error."""
    root: Node
    number: cython.int
    if len(roots) == 1:
        root, number = roots[0]
    else:
        root = GraphRoot(tuple([r[0] for r in roots]), tuple([r[1] for r in roots]), tuple(grads))
        number = 0
    task.root = root
    if state.interrupt is not None:
        raise state.interrupt
    outer = state.task, state.node
    modes: Modes = state.modes()
    live[task.id] = task
    state.depth += 1
    try:
        if cython.compiled:     # See Note [Interpreted threads take turns] in locks.py
            count_dependencies(task, root)
        else:
            with claiming:
                count_dependencies(task, root)
        state.task = task
        task.out_of_place = task.create_graph or state.forward
        state.set_modes(task.create_graph and not state.inference, state.inference, state.forward_enabled)
        try:
            if len(roots) == 1:
                task.receive(root, number, grads[0])
                grads.clear()
            task.run(root, state)
            state.node = outer[1]
            for callback in task.callbacks:     # the list may grow meanwhile: a callback may install another
                callback()
        except BaseException as error:
            failed: Node = state.node
            clear_buffers(task, root)
            if failed is outer[1]:
                raise
            explained = failed.explain_error(error)
            if anomaly.enabled:
                report(failed, explained)
            try:
                if explained is error:
                    raise
                raise explained from error
            finally:
                del explained       # its traceback holds this frame: a cycle would keep the graph
    finally:
        state.depth -= 1
        state.task, state.node = outer
        state.restore(modes)
        live.pop(task.id, None)


def run_in_new_thread(task, state, roots, grads):
    """`run_task` in a new thread. See Note [Reentrant backward]."""
    errors = []
    streams = carried()
    import threading  # late: it takes 1% of the import of minigrad
    done = threading.Lock()     # our own: in Python 3.11 and 3.12 a thread whose `join` was interrupted counts as ended
    done.acquire()
    begun = threading.Lock()    # the thread takes it before it uses our State, or we take it, and the thread does nothing

    def work():
        if not begun.acquire(False):
            return
        try:
            depth = state.depth
            borrow(state)
            state.depth = 0
            try:
                with streams:
                    run_task(task, state, roots, grads)
            finally:
                state.depth = depth
                borrow(None)
        except BaseException as error:
            errors.append(error)
        finally:
            done.release()

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), name="minigrad-reentrant-backward")
    try:
        thread.start()
    except BaseException as error:          # Ctrl-C while `start` waits for the thread, which may already run; or no thread
        if begun.acquire(False):
            raise
        errors.insert(0, error)
        state.interrupt = error
    waiting = True
    while waiting:
        try:
            done.acquire()
            waiting = False
        except BaseException as error:      # Ctrl-C: we must wait, the State is not ours before the thread has ended
            errors.insert(0, error)
            state.interrupt = error         # stops the thread at its next backward, or after some thousands of nodes
    thread.join()
    if errors:
        state.interrupt = None
        try:
            raise errors[0]
        finally:
            errors.clear()                  # a cycle of the error and its traceback would keep all frames alive


@cython.cfunc
def cast_root_gradient(grad, node: Node, number: cython.int, index: cython.int) -> object:
    """Convert the gradient of a root to the dtype of the root. The caller has checked its shape."""
    if grad is None:
        return None
    meta = node.output_meta(number)
    return grad if cython.cast(TensorBase, grad)._meta is meta else cast_gradient(grad, meta, None, index)


# ---- queries about the current task --------------------------------------------------------------------


def current_task():
    """The task that this thread is running, or None outside a backward."""
    return current().task


def current_node():
    """The node that this thread is running, or None outside a backward."""
    return current().node


def queue_callback(callback):
    """Call ``callback()`` when all nodes of the current task have run. Raises `RuntimeError` outside a backward."""
    task = current().task
    if task is None:
        raise AutogradError("MG-E125", "Final callbacks can only be installed during backward pass.",
                            fix="install it from a hook")
    task.callbacks.append(callback)


def will_execute(node):
    """Whether the current task computes the gradient that goes to `node`.

    Raises `RuntimeError` outside a backward.
    """
    return will_receive(require_task("_will_engine_execute_node"), node)


@cython.cfunc
def require_task(function) -> GraphTask:
    task: GraphTask = current().task
    if task is None:
        raise AutogradError("MG-E125", f"{function} can only be called during the backward pass", fix="call it from a hook")
    return task


@cython.cfunc
def will_receive(task: GraphTask, node: Node) -> cython.bint:
    """Whether a gradient reaches `node` in `task`."""
    if node.task != task.id and node not in task.others:
        return False
    return not task.selective or task.needed(node) != 0


def execution_order():
    """The nodes of the current task in the order in which they run: `GraphTask.run` without the gradients.

    Raises `RuntimeError` outside a backward, and, as PyTorch does, unless multithreading is disabled.
    """
    function = "_current_graph_task_execution_order"
    task = require_task(function)
    if current().multithreading:
        raise AutogradError("MG-E125", f"{function} expects the current backward to be executed with multithreading disabled",
                            fix="with minigrad.autograd.set_multithreading_enabled(False): ...")
    node: Node
    waiting = {task.root: 0}
    stack = [task.root]
    while stack:
        node = stack.pop()
        for following in node.next_nodes():
            if following in waiting:
                waiting[following] += 1
            elif following is not None and will_receive(task, following):
                waiting[following] = 1
                stack.append(following)
    order = []
    queue: ReadyQueue = ReadyQueue()
    queue.push(task.root)
    while True:
        node = queue.pop()
        if node is None:
            return order
        if not isinstance(node, GraphRoot):
            order.append(node)
        for following in node.next_nodes():
            if following in waiting:
                waiting[following] -= 1
                if waiting[following] == 0:
                    queue.push(following)


def is_checkpoint_valid():
    """Whether every backward that runs in this thread runs without ``inputs=``.

    A reentrant checkpoint is correct only then: it accumulates into all leaves that it reaches.
    """
    task: GraphTask = current().task
    while task is not None:
        if task.selective:
            return False
        task = task.outer
    return True
