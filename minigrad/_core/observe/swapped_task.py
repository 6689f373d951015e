"""A run of the engine in which some parts are the user's functions. Homework does this: see ``minigrad/grading``.

    part                  what it does                                  here, instead of
    run_backward          the whole run                                 GraphTask.run
    count_dependencies    how many gradients each node waits for        compute_dependencies
    ready_queue           which ready node runs next                    push, choose_next
    add_gradients         the sum of two gradients that reach a node    receive
    call_hooks            hooks and the node, in their order            run_steps
    vjp                   the gradients of the inputs of one op         Node.compute
    accumulate_grad       add to ``.grad``                              AccumulateGrad.compute

All other steps are those of `RecordingTask`, so such a run can be recorded too. `parts` has a function for each swapped part.
``minigrad/grading`` makes these functions: they call the user's, check what that returns, and raise the errors.

Mirrors nothing: no part of PyTorch's engine can be replaced. Read next: ``minigrad/grading/_engine.py``.
"""

import functools
from typing import Any

import cython
from cython.cimports.minigrad._core.engine.execute import GraphRoot
from cython.cimports.minigrad._core.engine.graph_task import buffer_as_tuple
from cython.cimports.minigrad._core.engine.tensor_hooks import accumulate_retained, run_hooks_on_tensors
from cython.cimports.minigrad._core.engine.validate import validate_gradient
from cython.cimports.minigrad._core.graph.accumulate_grad import AccumulateGrad
from cython.cimports.minigrad._core.graph.capi import dict_values
from cython.cimports.minigrad._core.graph.handle import Hooks
from cython.cimports.minigrad._core.graph.hooks import run_post_accumulate_hooks, run_post_hooks, run_pre_hooks
from cython.cimports.minigrad._core.graph.node import NodeExtra
from cython.cimports.minigrad._core.graph.tensor import AutogradMeta, TensorBase

from minigrad._core.engine.execute import use_swapped_task
from minigrad._core.graph.node import Node
from minigrad._core.graph.switches import switches
from minigrad._core.graph.thread_state import State, current
from minigrad._core.observe.graph_memory import sequence_of
from minigrad._core.observe.recording_task import RecordingTask
from minigrad.errors import AutogradError


class Parts:
    """The functions of the swapped parts; None where a part is ours. There is one such object, `parts`, for all threads."""

    def __init__(self):
        self.run_backward = None        # (roots, grads, call, nodes, inputs or None) -> gradients of the inputs, or None
        self.count_dependencies = None  # (root, nodes) -> {node: number of gradients}
        self.too_many = None            # (node): another gradient has reached a node that waited for none. Raises
        self.left_waiting = None        # (nodes): the run has ended, and they wait for gradients. Raises
        self.make_queue = None          # () -> queue
        self.push = None                # (queue, node)
        self.pop = None                 # (queue, {waiting node: None}) -> node
        self.add_gradients = None       # (old, new) -> sum
        self.call_hooks = None          # (node, gradients, hooks by kind, call) -> results
        self.vjps = {}                  # name of a node -> (node, gradients) -> results
        self.accumulate_grad = None     # (leaf, gradient)


parts: Any = Parts()


@cython.binding(False)
@cython.cclass
class SwappedTask(RecordingTask):
    """A `RecordingTask` that calls the functions in `parts`.

    queue       the user's ready queue, or None
    waiting     the nodes in it
    """

    def __init__(self, number, keep_graph, create_graph, selective, outer):
        RecordingTask.__init__(self, number, keep_graph, create_graph, selective, outer)
        self.queue = None if parts.make_queue is None else parts.make_queue()
        self.waiting = {}

    def run(self, root, state):
        if parts.run_backward is not None:
            return self.run_whole(root, state)
        if parts.count_dependencies is not None:
            self.set_dependencies(root)
        RecordingTask.run(self, root, state)
        if parts.count_dependencies is not None:
            self.check_dependencies(root)
        return None

    def run_whole(self, root, state):
        """Run the user's engine, which calls `call_node` for each node."""
        node: Node
        inputs = None
        order: list = []
        if self.selective:
            if not self.captures:
                raise AutogradError("MG-E181", "run_backward is swapped, and backward(inputs=...) is not a part of it",
                                    fix="use autograd.grad, or swap the parts of the engine one by one")
            order = [(position, node, number) for node, places in self.captures.items() for number, position in places]
            order.sort(key=first)
            inputs = [(node, number) for _, node, number in order]
        if isinstance(root, GraphRoot):
            roots = list(root.next_functions)
            grads = list(cython.cast(GraphRoot, root).grads or ())
        else:
            grad: Any = self.take(root)
            number = [g is None for g in grad].index(False) if type(root.meta) is tuple else 0
            roots = [(root, number)]
            grads = [grad[number] if type(root.meta) is tuple else grad]
        nodes = self.nodes_reached(root)
        found = parts.run_backward(roots, grads, functools.partial(call_node, self, state), nodes, inputs)
        if inputs is not None:
            for (position, _, _), grad in zip(order, found, strict=True):
                self.captured[position] = grad
        if not self.keep_graph:
            for item in nodes:
                cython.cast(Node, item).release()
        return None

    # ---- counting ----------------------------------------------------------------------------------------

    def set_dependencies(self, root):
        """Let each node wait for as many gradients as the user's function says."""
        node: Node
        nodes = self.nodes_reached(root)
        counts = parts.count_dependencies(root, nodes)
        for item in nodes:
            node = cython.cast(Node, item)
            wanted: cython.int = counts.get(node, 0)
            self.waits(node, self.waits(node, 0) - wanted)
        return None

    def check_dependencies(self, root):
        """After the run: no node that is needed may still wait for a gradient."""
        node: Node
        left = []
        for item in self.nodes_reached(root):
            node = cython.cast(Node, item)
            if node is not root and (not self.selective or self.needed(node) != 0) and RecordingTask.waits(self, node, 0) > 0:
                left.append(node)
        if left:
            parts.left_waiting(left)
        return None

    def waits(self, node, less):
        if less == 1 and RecordingTask.waits(self, node, 0) <= 0 and parts.too_many is not None:
            parts.too_many(node)
        return RecordingTask.waits(self, node, less)

    # ---- the ready queue ------------------------------------------------------------------------------------

    def push(self, node):
        if self.queue is None:
            return RecordingTask.push(self, node)
        self.waiting[node] = None
        parts.push(self.queue, node)
        return None

    def choose_next(self):
        node: Node
        if self.queue is None:
            return RecordingTask.choose_next(self)
        if self.ready is not None:      # the root
            node = self.ready
            self.ready = None
            self.push(node)
        if not self.waiting:
            return None
        node = parts.pop(self.queue, self.waiting)
        del self.waiting[node]
        if switches.recording:
            switches.note("dequeue", node, {"gradient": self.buffer(node), "rule": "swapped", "runs": bool(self.runs(node)),
                                            "others": sorted(self.waiting, key=sequence_of, reverse=True)})
        return node

    # ---- sums -------------------------------------------------------------------------------------------------

    def receive(self, node, number, grad):
        if parts.add_gradients is None:
            return RecordingTask.receive(self, node, number, grad)
        old = self.slot(node, number)
        return self.put(node, number, grad if old is None else parts.add_gradients(old, grad))

    def put(self, node, number, grad):
        """Put `grad` into the buffer of `node`, instead of what is there for its output `number`."""
        value = grad
        if type(node.meta) is tuple:
            value = self.buffer(node) or [None] * node.number_of_outputs()
            value[number] = grad
        if node.task == self.id:
            node.grad = value
        else:
            scratch = self.scratch(node)
            scratch.grad = value
        return None

    # ---- around a node ----------------------------------------------------------------------------------------

    def run_steps(self, node):
        """The steps of `GraphTask.run_steps`, with the user's order of hooks, formula or accumulation."""
        extra: NodeExtra = node.extra
        grad = self.take(node)
        runs: cython.bint = self.runs(node)
        if self.selective and node in self.captures:
            if not runs and node.hooked:
                grad = run_hooks_on_tensors(node, grad)
            self.capture(node, grad)
        if not runs:
            return None
        if parts.call_hooks is not None:
            grads = buffer_as_tuple(node, grad)
            self.note_call(node, grad)
            grad = None
            self.results[:node.edges] = parts.call_hooks(node, grads, hooks_by_kind(node),
                                                         functools.partial(call_in_task, self, node))
            self.finish(node, None)
            return None
        before: tuple = ()
        if node.hooked:
            grad = run_hooks_before(node, grad)
            if extra is not None and extra.post_hooks:
                before = buffer_as_tuple(node, grad)
        self.note_call(node, grad)
        self.compute(node, grad)
        grad = None
        self.finish(node, before)
        return None

    def compute(self, node, grad):
        """Call the node on its gradient, or the user's function instead. The results go into `results`."""
        grads: tuple
        if isinstance(node, AccumulateGrad) and (parts.accumulate_grad is not None or parts.call_hooks is not None):
            leaf = cython.cast(AccumulateGrad, node).variable
            if grad is not None and parts.accumulate_grad is not None:
                parts.accumulate_grad(leaf, grad)
            elif grad is not None and current().grad_enabled:
                cython.cast(AccumulateGrad, node).accumulate_with_history(grad)
            elif grad is not None:
                cython.cast(AccumulateGrad, node).accumulate(grad, False)
            extra: AutogradMeta = leaf.extras()
            if parts.call_hooks is None and extra.post_accumulate_hooks:
                run_post_accumulate_hooks(extra.post_accumulate_hooks, leaf)
        elif type(node).__name__ in parts.vjps:
            grads = buffer_as_tuple(node, grad)
            self.results[:node.edges] = parts.vjps[type(node).__name__](node, grads)
        else:
            node.compute(grad, self.wanted(node), self.results)
        return None

    def compute_tuple(self, node, grads):
        """`compute` for a tuple of gradients. Returns a tuple of results."""
        self.compute(node, list(grads) if type(node.meta) is tuple else grads[0])
        found = tuple(self.results[:node.edges])
        self.results[:node.edges] = [None] * node.edges
        return found


def first(pair):
    """The first item, for sorting."""
    return pair[0]


@cython.cfunc
def run_hooks_before(node: Node, grad) -> object:
    """Pass the buffer of `node` through the hooks of its tensors, and through its pre-hooks.

    `GraphTask.run_steps` has these lines in its own body: deeply nested backwards need the frame.
    """
    grad = run_hooks_on_tensors(node, grad)
    if node.extra is not None and node.extra.pre_hooks:
        grads = run_pre_hooks(node.extra.pre_hooks, buffer_as_tuple(node, grad))
        grad = list(grads) if type(node.meta) is tuple else grads[0]
    return grad


def call_in_task(task: SwappedTask, node: Node, grads):
    """Call `node` on a tuple of gradients, in `task`. Returns a tuple of gradients, one for each edge."""
    return task.compute_tuple(node, tuple(grads))


def call_node(task: SwappedTask, state: State, node: Node, grads):
    """Run `node` on a tuple of gradients with all the steps around it, but deliver nothing. Returns a tuple of gradients."""
    extra: NodeExtra = node.extra
    outer = state.node
    state.node = node
    while len(task.results) < node.edges:
        task.results.append(None)
    grad = list(grads) if type(node.meta) is tuple else grads[0]
    before: tuple = ()
    if node.hooked:
        grad = run_hooks_before(node, grad)
        if extra is not None and extra.post_hooks:
            before = buffer_as_tuple(node, grad)
    found = task.compute_tuple(node, buffer_as_tuple(node, grad))
    results = [None if found[i] is None or node.next_node(i) is None else
               validate_gradient(found[i], node.next_node(i), node.input_number(i), node, i) for i in range(node.edges)]
    found = tuple(results)
    if extra is not None and extra.post_hooks:
        found = tuple(run_post_hooks(extra.post_hooks, found, before))
    if not task.keep_graph:
        node.release()
    state.node = outer
    return found


def hooks_by_kind(node: Node):
    """The hooks around `node`: a dict from each kind to a list, in order of registration.

    Hooks on tensors are pairs of a number of the node's outputs and a function. "retain_grad" has a function that stores the
    gradient of that output. "post-accumulate hook" has functions without arguments.
    """
    leaf: AutogradMeta = cython.cast(AccumulateGrad, node).variable._extra if isinstance(node, AccumulateGrad) else None
    extra: NodeExtra = node.extra
    found: dict = {"tensor hook": [], "retain_grad": [], "pre-hook": [], "post-hook": [], "post-accumulate hook": []}
    if leaf is not None:
        variable = cython.cast(AccumulateGrad, node).variable
        found["tensor hook"] = [(0, hook) for hook in dict_values(leaf.hooks or {})]
        found["post-accumulate hook"] = [functools.partial(hook, variable)
                                         for hook in dict_values(leaf.post_accumulate_hooks or {})]
    if extra is not None:
        for hooks in extra.tensor_hooks or ():
            found["tensor hook"] += [(cython.cast(Hooks, hooks).output, hook) for hook in dict_values(hooks)]
        found["retain_grad"] = [(number, functools.partial(retain, tensor)) for number, tensor in (extra.retains or {}).items()]
        found["pre-hook"] = dict_values(extra.pre_hooks or {})
        found["post-hook"] = dict_values(extra.post_hooks or {})
    return found


def retain(tensor, grad):
    """Add `grad` to ``.grad`` of the tensor to which the weak reference `tensor` leads."""
    held: TensorBase = tensor()
    accumulate_retained(held, grad)


use_swapped_task(SwappedTask)
