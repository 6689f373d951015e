# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Homework 3: the engine
#
# **The question.** A graph of nodes and edges is there, and a gradient at its end. You write the engine that brings it to the
# leaves. At the end, a network learns with your engine instead of minigrad's.
#
# You need: tutorial 2, *The engine: who waits for whom*, which develops this engine for numbers. You get: minigrad's real graph. You call
# its nodes, and you follow its edges. About 240 minutes, 100 points.
#
# | part | points | you write |
# |---|---|---|
# | 1 | 25 | `count_dependencies` |
# | 2 | 20 | `ReadyQueue` |
# | 3 | 10 | `receive` |
# | 4 | 40 | `run_backward` |
# | 5 | 5 | nothing: a training uses your engine |
#
# Run `python -m pytest -q test_public.py` beside this file after each part. Graders run these checks and some more, on graphs that
# they draw at random. Write your code where it says `raise NotImplementedError()`.

# %%
import heapq
import itertools

import minigrad as mg

# %% [markdown]
# ## What you can use
#
# * `node.next_functions`: a tuple of edges. An edge is a pair `(next node, number)`, where the number says to which output of the
#   next node's operation the gradient belongs. An edge that leads nowhere is `(None, 0)`.
# * `node._sequence_nr()`: a number that increases with each new node. The node of a leaf has the largest number of all.
# * `len(node._input_metadata)`: how many outputs the operation had. So many gradients the node takes.
# * `call(node, *grads)`: run a node on one gradient for each output. You get a tuple with one gradient for each edge. Some may be None.
#
# `call` is here, so that a node with one edge returns a tuple too:

# %%
def call(node, *grads):
    """Run `node` on gradients, one for each output. Returns a tuple, one gradient for each edge."""
    results = node(*grads)
    return results if isinstance(results, tuple) else (results,)


x = mg.tensor(2.0, requires_grad=True)
h = x * x
y = h.sin() * h
if __name__ == "__main__":
    print(mg.viz.draw(y))
    print(call(y.grad_fn, mg.tensor(1.0)))

# %% [markdown]
# ## Part 1: for how many gradients does a node wait?
#
# `count_dependencies(*roots)` returns a dict from each node that can be reached from the roots to the number of **edges** that
# lead to it. A root to which no edge leads is in the dict with 0. Follow the edges of each node once, however many edges lead to
# the node; and do not recurse: some graphs are 100,000 nodes deep.

# %% nbgrader={"grade": false, "grade_id": "count", "locked": false, "schema_version": 3, "solution": true, "task": false}
def count_dependencies(*roots):
    """The number of edges that lead to each node behind `roots`."""
    ### BEGIN SOLUTION
    waits, to_do = dict.fromkeys(roots, 0), list(dict.fromkeys(roots))
    while to_do:
        for following, _ in to_do.pop().next_functions:
            if following is None:
                continue
            if following not in waits:
                waits[following] = 0
                to_do.append(following)
            waits[following] += 1
    return waits
    ### END SOLUTION


# %% [markdown]
# Try it. The node of `h` and the node of `x` each wait for two gradients.

# %% nbgrader={"grade": true, "grade_id": "count-check", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
if __name__ == "__main__":
    found = count_dependencies(y.grad_fn)
    print({node.name(): number for node, number in found.items()})
    assert found[h.grad_fn] == 2
    ### BEGIN HIDDEN TESTS
    assert count_dependencies(h.grad_fn, y.grad_fn)[h.grad_fn] == 2
    ### END HIDDEN TESTS

# %% [markdown]
# ## Part 2: which node is next?
#
# Several nodes may be ready. The engine takes the one that was **created last**, and leaves before all others. `push` puts a
# node in, `pop` takes the next one out. With a thousand nodes in the queue, neither may look at all of them: use `heapq`. Two
# leaves have the same number, and nodes cannot be compared; `self.counter` helps.

# %% nbgrader={"grade": false, "grade_id": "queue", "locked": false, "schema_version": 3, "solution": true, "task": false}
class ReadyQueue:
    """The nodes that are ready: the latest first."""

    def __init__(self):
        self.heap = []
        self.counter = itertools.count()

    def __len__(self):
        return len(self.heap)

    def push(self, node):
        """Put a node in."""
        ### BEGIN SOLUTION
        heapq.heappush(self.heap, (-node._sequence_nr(), next(self.counter), node))
        ### END SOLUTION

    def pop(self):
        """Take out the node that was created last."""
        ### BEGIN SOLUTION
        _, _, latest = heapq.heappop(self.heap)
        return latest
        ### END SOLUTION


# %% [markdown]
# ## Part 3: gradients that meet
#
# Before a node runs, its gradients are collected in its *buffer*: a list with a slot for each output. `receive` puts a gradient
# into a slot, or adds it to what is there. An empty slot has None, and a gradient of None adds nothing.
#
# The tensor in the slot may also be used elsewhere: `x + x` sends *the same* tensor along both edges. So do not write to it.

# %% nbgrader={"grade": false, "grade_id": "receive", "locked": false, "schema_version": 3, "solution": true, "task": false}
def receive(buffers, node, number, grad):
    """Add `grad` to slot `number` of the buffer of `node`. `buffers` is a dict from nodes to lists."""
    ### BEGIN SOLUTION
    slots = buffers.setdefault(node, [None] * len(node._input_metadata))
    if grad is not None:
        slots[number] = grad if slots[number] is None else slots[number] + grad
    ### END SOLUTION


# %% [markdown]
# ## Part 4: the whole run
#
# `run_backward(roots, grads, call)` gets a list of pairs `(node, number of its output)` and a gradient for each. It runs every node
# behind the roots once, when all its gradients have arrived. The node of a leaf adds to `.grad` when you call it. A gradient of
# None also reduces the count of the next node. A root may lie behind another root: then it waits too. Use the `call` that you are
# given: minigrad's also runs the hooks of a node.

# %% nbgrader={"grade": false, "grade_id": "run", "locked": false, "schema_version": 3, "solution": true, "task": false}
def run_backward(roots, grads, call=call):
    """Bring `grads` from the roots to all leaves."""
    ### BEGIN SOLUTION
    waits = count_dependencies(*[node for node, _ in roots])
    buffers, queue = {}, ReadyQueue()
    for (node, number), grad in zip(roots, grads):
        receive(buffers, node, number, grad)
    for node in list(buffers):
        if waits[node] == 0:
            queue.push(node)
    while len(queue):
        node = queue.pop()
        results = call(node, *buffers.pop(node))
        for (following, number), part in zip(node.next_functions, results):
            if following is None:
                continue
            receive(buffers, following, number, part)
            waits[following] -= 1
            if waits[following] == 0:
                queue.push(following)
    ### END SOLUTION


# %% [markdown]
# Put it into minigrad. Everything else is the real engine: `backward` begins the run, your function does it.

# %%
if __name__ == "__main__":
    with mg.grading.swap("run_backward", run_backward) as part:
        y.backward(retain_graph=True)
    part.check_used()
    print("with your engine:", x.grad, "  minigrad's:", mg.autograd.grad(y, x, retain_graph=True)[0])

# %% [markdown]
# ## Part 5: a network learns with your engine
#
# Two spirals of points, and a small network that tells them apart.

# %%
def spirals(points=100):
    """Points on two spirals, and which spiral each is on."""
    turn = mg.linspace(0.25, 1.25, points) * 6.0
    arm = mg.stack([turn * turn.cos(), turn * turn.sin()], 1) / 7.5
    return mg.cat([arm, -arm]), mg.cat([mg.zeros(points), mg.ones(points)]).long()


def train(steps=150):
    """Train the network. Returns the losses."""
    mg.manual_seed(3)
    points, labels = spirals()
    model = mg.nn.Sequential(mg.nn.Linear(2, 24), mg.nn.Tanh(), mg.nn.Linear(24, 24), mg.nn.Tanh(), mg.nn.Linear(24, 2))
    optimizer = mg.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = mg.nn.functional.cross_entropy(model(points), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    with mg.grading.swap("run_backward", run_backward) as part:
        losses = train()
    part.check_used()
    print(f"loss: {losses[0]:.3f} at first, {losses[-1]:.3f} at last, in {part.calls} backwards by your engine")

# %% [markdown]
# ## Rubric
#
# A check passes or fails as a whole. Comments and style are not graded. The hidden checks ask for what this text asks for: many
# random graphs, several roots, operations with several outputs, deep graphs, graphs with many paths, and the order of the nodes.
