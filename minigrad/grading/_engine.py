"""The swaps of the parts of the engine: each sets a field of `parts` in ``_core/observe/swapped_task.py``.

A function here takes the `Student` and returns (enter, leave). The field gets a function that calls the student's and checks what
it returns, so that the engine itself never meets a wrong value.
"""

from collections.abc import Mapping

from minigrad._core.graph.node import Node
from minigrad._core.graph.switches import switches
from minigrad._core.graph.tensor import TensorBase
from minigrad._core.observe.swapped_task import Parts, parts
from minigrad.grading._operators import find_op

__all__ = ["accumulate_grad", "add_gradients", "call_hooks", "count_dependencies", "ready_queue", "run_backward", "vjp"]

EMPTY = vars(Parts())
MOST_CALLS = 1000       # of `run_backward`, for each node of the graph: an engine that follows each path alone would never end


def update_switch():
    """Tell `execute` whether a part is swapped."""
    switches.swapped = vars(parts) != EMPTY
    switches.update_derived()


def fields(**values):
    """(enter, leave) that set these fields of `parts`, and set them back."""
    def enter():
        before = {name: getattr(parts, name) for name in values}
        vars(parts).update(values)
        update_switch()
        return before

    def leave(before):
        vars(parts).update(before)
        update_switch()
    return enter, leave


def name_of(node):
    """A node in a message. The name of its class, because a custom Function may store another `name` on its ctx."""
    return type(node).__name__ if isinstance(node, Node) else repr(node)


def node_outputs(node):
    """How many gradients a node is called with."""
    return len(node._input_metadata)


def check_gradients(student, found, count, whose):
    """`found` as a tuple of `count` tensors and Nones. Raises `SwapError` if it is not."""
    found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
    if len(found) != count:
        raise student.error(f"returned {len(found)} gradients for {whose}", expected=f"a tuple of {count}, one for each edge; None "
                            "where there is none", found=found)
    for i, grad in enumerate(found):
        if grad is not None and not isinstance(grad, TensorBase):
            raise student.error(f"returned something that is not a gradient, at position {i}, for {whose}",
                                expected="a Tensor or None", found=grad)
    return found


def run_backward(student):
    def run(roots, grads, call, nodes, inputs):
        most = MOST_CALLS * len(nodes)
        count = 0

        def call_checked(node, *given):
            nonlocal count
            count += 1
            if count > most:
                raise student.error(f"has called nodes {count} times, and the graph has {len(nodes)}",
                                    expected="one call for each node, when all its gradients have arrived")
            if not isinstance(node, Node):
                raise student.error("called something that is not a node", expected="call(node, *grads)", found=node)
            return call(node, check_gradients(student, given, node_outputs(node), f"call() of {name_of(node)}"))
        found = student(roots, grads, call_checked) if inputs is None else student(roots, grads, call_checked, inputs)
        if inputs is None:
            return None
        if not isinstance(found, (tuple, list)):
            raise student.error("returned no list of gradients", expected=f"a list of {len(inputs)}, one for each input",
                                found=found)
        return check_gradients(student, found, len(inputs), "the inputs")
    return fields(run_backward=run)


def count_dependencies(student):
    def count(root, nodes):
        counts = student(root)
        if not isinstance(counts, Mapping):
            raise student.error("returned no dict", expected="a dict from nodes to ints", found=counts)
        for node in nodes:
            number = counts.get(node, 0 if node is root else None)
            if type(number) is not int or number < 0:
                raise student.error(f"has no count for {name_of(node)}" if number is None else
                                    f"returned a count for {name_of(node)} that is not a number of edges",
                                    expected="a number for each node behind the root, leaves too", found=number)
        return counts

    def too_many(node):
        raise student.error(f"counted too few edges: another gradient has reached {name_of(node)}, which was complete",
                            fix="count edges, not nodes: in x * x two edges lead to x")

    def left_waiting(nodes):
        raise student.error(f"counted too many edges: {', '.join(map(name_of, nodes[:5]))} never became ready",
                            fix="follow the edges of each node once, however many edges lead to the node")
    return fields(count_dependencies=count, too_many=too_many, left_waiting=left_waiting)


def ready_queue(student):
    def make_queue():
        queue = student.function()
        for name in ("push", "pop"):
            if not callable(getattr(queue, name, None)):
                raise student.error(f"has no method {name}", expected="a class with push(self, node) and pop(self)")
        return queue

    def push(queue, node):
        queue.push(node)

    def pop(queue, waiting):
        student.count()
        node = queue.pop()
        if not isinstance(node, Node) or node not in waiting:
            raise student.error("returned " + (f"{name_of(node)}, which does not wait" if isinstance(node, Node) else
                                               "no node") + f"; {len(waiting)} node{'s' * (len(waiting) != 1)} wait",
                                expected="a node that was pushed and not yet popped: " + ", ".join(map(name_of, list(waiting)[:5])),
                                found=node, function=type(queue).pop)
        return node
    return fields(make_queue=make_queue, push=push, pop=pop)


def add_gradients(student):
    def add(old, new):
        shape, dtype = old.shape, old.dtype     # the function may change `old`
        found = student(old, new)
        if not isinstance(found, TensorBase) or found.shape != shape or found.dtype != dtype:
            raise student.error("returned no sum", expected=f"a Tensor of {dtype}, shape {list(shape)}", found=found)
        return found
    return fields(add_gradients=add)


def accumulate_grad(student):
    def accumulate(leaf, grad):
        found = student(leaf, grad)
        if found is not None:
            raise student.error("returned something", expected="None: it changes leaf.grad", found=found)
        if not isinstance(leaf.grad, TensorBase) or leaf.grad.shape != leaf.shape:
            raise student.error("left no gradient in leaf.grad", expected=f"a Tensor of shape {list(leaf.shape)}", found=leaf.grad)
    return fields(accumulate_grad=accumulate)


def call_hooks(student):
    def around(node, grads, hooks, call):
        calls = []

        def call_once(given):
            calls.append(node)
            if len(calls) > 1:
                raise student.error(f"called {name_of(node)} twice", expected="one call(grads)")
            return call(check_gradients(student, given, len(grads), f"call() of {name_of(node)}"))
        found = student(node, grads, hooks, call_once)
        if not calls:
            raise student.error(f"did not call {name_of(node)}", expected="one call(grads)")
        if not isinstance(found, (tuple, list)):
            raise student.error("returned no tuple of results", expected=f"a tuple of {len(node.next_functions)}", found=found)
        return check_gradients(student, found, len(node.next_functions), name_of(node))
    return fields(call_hooks=around)


def vjp(student):
    name = find_op(student).node_name

    def apply(node, grads):
        if all(grad is None for grad in grads):
            return (None,) * len(node.next_functions)
        return check_gradients(student, student(node, *grads), len(node.next_functions), name_of(node))

    def enter():
        before = parts.vjps
        parts.vjps = {**before, name: apply}
        update_switch()
        return before

    def leave(before):
        parts.vjps = before
        update_switch()
    return enter, leave
