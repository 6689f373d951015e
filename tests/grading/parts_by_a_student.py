"""Right parts, written as a student would: with the public names only."""

import heapq

import minigrad as mg


class Queue:
    """The latest node first. Equal numbers: the first pushed."""

    def __init__(self):
        self.heap, self.pushed = [], 0

    def push(self, node):
        heapq.heappush(self.heap, (-node._sequence_nr(), self.pushed, node))
        self.pushed += 1

    def pop(self):
        return heapq.heappop(self.heap)[2]


def count_dependencies(*roots):
    counts, seen, stack = {}, set(roots), list(seen_in_order(roots))
    while stack:
        for following, _ in stack.pop().next_functions:
            if following is not None:
                counts[following] = counts.get(following, 0) + 1
                if following not in seen:
                    seen.add(following)
                    stack.append(following)
    return counts


def seen_in_order(nodes):
    return dict.fromkeys(nodes)


def nodes_before(targets, counts, roots):
    """The nodes from which a path leads to a target."""
    before = {}
    for node in [*seen_in_order(roots), *counts]:
        for following, _ in node.next_functions:
            before.setdefault(following, []).append(node)
    found, stack = set(), list(targets)
    while stack:
        for node in before.get(stack.pop(), ()):
            if node not in found:
                found.add(node)
                stack.append(node)
    return found


def run_backward(roots, grads, call, inputs=None):
    starts = [node for node, _ in roots]
    counts = count_dependencies(*starts)
    needed = None if inputs is None else nodes_before([node for node, _ in inputs], counts, starts)
    buffers, results, queue, left = {}, {}, Queue(), 0

    def receive(node, number, grad):
        buffer = buffers.setdefault(node, [None] * len(node._input_metadata))
        if grad is not None:
            buffer[number] = grad if buffer[number] is None else buffer[number] + grad

    for (node, number), grad in zip(roots, grads):
        receive(node, number, grad)
    for node in seen_in_order(starts):
        if counts.get(node, 0) == 0:
            queue.push(node)
            left += 1
    while left:
        node = queue.pop()
        left -= 1
        grad = buffers.pop(node, [None] * len(node._input_metadata))
        for i, (target, number) in enumerate(inputs or ()):
            if target is node:
                results[i] = grad[number]
        found = call(node, *grad) if needed is None or node in needed else [None] * len(node.next_functions)
        for (following, number), part in zip(node.next_functions, found):
            if following is not None:
                receive(following, number, part)
                counts[following] -= 1
                if counts[following] == 0:
                    queue.push(following)
                    left += 1
    return None if inputs is None else [results.get(i) for i in range(len(inputs))]


def add_gradients(old, new):
    return old + new


def accumulate_grad(leaf, grad):
    leaf.grad = grad.clone() if leaf.grad is None else leaf.grad + grad


def call_hooks(node, grads, hooks, call):
    grads = list(grads)
    for number, hook in hooks["tensor hook"]:
        replaced = hook(grads[number])
        grads[number] = grads[number] if replaced is None else replaced
    for number, store in hooks["retain_grad"]:
        store(grads[number])
    for hook in hooks["pre-hook"]:
        grads = list(hook(tuple(grads)) or grads)
    results = call(tuple(grads))
    for hook in hooks["post-hook"]:
        replaced = hook(results, tuple(grads))
        results = results if replaced is None else replaced
    for hook in hooks["post-accumulate hook"]:
        hook()
    return results


class Saved:
    def pack(self, tensor):
        return tensor, tensor._version

    def unpack(self, packed):
        tensor, version = packed
        if tensor._version != version:
            raise RuntimeError("one of the saved tensors has been modified by an inplace operation")
        return tensor


def vjp_of_mul(node, grad):
    x, y = node._saved_self, node._saved_other
    return None if y is None else grad * y, None if x is None else grad * x


def sgd(param, grad, group, state):
    param.add_(grad, alpha=-group["lr"])


def linear(self, x):
    return x @ self.weight.t() + self.bias


ENGINE = {"run_backward": run_backward, "count_dependencies": count_dependencies, "ready_queue": Queue,
          "add_gradients": add_gradients, "accumulate_grad": accumulate_grad, "call_hooks": call_hooks, "saved_tensor": Saved}
OTHERS = [("vjp", vjp_of_mul, "mul"), ("forward", lambda x, y: x * y, "mul"), ("kernel", lambda x, y: x * y, "mul"),
          ("optimizer_step", sgd, mg.optim.SGD), ("layer", linear, mg.nn.Linear)]
