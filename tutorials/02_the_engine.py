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
# # The engine: who waits for whom
#
# **Time** 20 minutes, and as long again for the exercises. **Level** beginner. **You need** *node*, *edge* and *graph*, from
# [tutorial 1](01_derivative_to_graph.py). **Afterwards** you can write an engine of some twenty lines, explain why three simpler
# engines are wrong, and find the four files of minigrad that contain the engine.
#
# **The question.** There is a graph of nodes and edges, and a gradient at its end. In which order must the nodes run, and
# what must have arrived at a node before it can run?
#
# Our example has one value that is used twice:
#
# $$ h = x^2, \qquad y = h\,\sin h \qquad\text{at } x = 2. $$

# %%
import itertools
import math
import threading

import minigrad as mg

x = mg.tensor(2.0, requires_grad=True)
h = x * x
y = h.sin() * h
mg.viz.draw(y)

# %% [markdown]
# Two paths lead from $y$ to $h$: one through the sine, one directly. Two more lead from $h$ to $x$, since $h$ is `x * x`. The
# right result is
#
# $$ \frac{\mathrm dy}{\mathrm dx} = 2x\,(h\cos h + \sin h) . $$

# %%
exact = 2 * 2 * (4 * math.cos(4) + math.sin(4))
print(f"dy/dx = {exact:.4f}")

# %% [markdown]
# ## What an engine can use
#
# An engine knows nothing about products and sines. It has a node, it can *call* the node, and it can follow the edges. So let us
# put everything else behind one function, `call`. It takes a node and the gradient of its result, and returns the gradients of
# its inputs, one per edge. The engine calls the node of a leaf like any other. This node stores the gradient, and has no edges.
# (For tensors, a call computes a *vector-Jacobian product*: [tutorial 1b](01b_tensors.py).)

# %%
grads = {}          # leaf -> its gradient
ran = []            # the nodes that were called, in order


def accumulate(node, g):
    grads[node.variable] = grads.get(node.variable, 0.0) + g
    return ()


FORMULAS = {
    "AddBackward0": lambda node, g: (g, g),
    "MulBackward0": lambda node, g: (g * node._saved_other.item(),
                                     g * node._saved_self.item()),
    "SinBackward0": lambda node, g: (g * math.cos(node._saved_self.item()),),
    "AccumulateGrad": accumulate,
}


def call(node, g):
    ran.append(node)
    return FORMULAS[node.name()](node, g)


def edges(node, parts):
    """The nodes behind the edges, each with the gradient that goes there."""
    pairs = zip(node.next_functions, parts)
    return [(following, part) for (following, _), part in pairs if following]


def run(engine, y):
    """What an engine finds for x, and how often it has called a node."""
    grads.clear()
    ran.clear()
    engine(y.grad_fn, 1.0)
    return f"dy/dx = {grads[x]:8.4f}   {len(ran)} calls"


# %% [markdown]
# ## Wrong engine 1: follow each path
#
# A node computes one gradient for each of its edges. Send each gradient along its edge, and do the same at the next node.

# %%
def each_path(node, g):
    for following, part in edges(node, call(node, g)):
        each_path(following, part)


print(run(each_path, y))

# %% [markdown]
# The number is right. Formulas are linear in the gradient that arrives: if we call a node twice, with two parts of a gradient, it
# returns two parts of the result. But look at the number of calls. There are only four nodes here.

# %%
print(*[node.name() for node in ran], sep="\n")

# %% [markdown]
# The node of $h$ was called twice, since two paths lead to it, and the node of $x$ four times. Now repeat the pattern to build a
# *ladder*, in which each rung uses the rung below twice.

# %%
def ladder(x, rungs):
    for _ in range(rungs):
        x = x.sin() * x
    return x


for rungs in (1, 2, 4, 8, 12):
    z = ladder(x, rungs)
    run(each_path, z)
    print(f"{rungs:3} rungs   {len(set(ran)):3} nodes   {len(ran):6,} calls")

# %% [markdown]
# Each rung has two nodes, and doubles the calls. Sixty rungs would need more than $10^{18}$ calls. Real networks look like this:
# in a residual block, `x = x + f(x)`, the input takes two ways.
#
# ### Deeper: two more faults
#
# There are two more faults. A chain needs as many nested calls as it has nodes, and Python's stack ends at about a thousand:

# %%
chain = x
for _ in range(5000):
    chain = chain + 1.0
with mg.testing.expect_error(RecursionError, quiet=True):
    run(each_path, chain)

# %% [markdown]
# And if you look at a gradient on its way, you see only pieces of it. A function that the engine calls with a gradient on its way
# is a **hook** ([tutorial 12](12_hooks.py)). Suppose you want to clip the gradient of $h$ to the range from $-1$ to $1$. Two
# pieces arrive:

# %%
def clip(g):
    return max(-1.0, min(1.0, g))


through_the_sine, directly = 4 * math.cos(4), math.sin(4)
print(f"each clipped:       {clip(through_the_sine) + clip(directly):.4f}")
print(f"their sum, clipped: {clip(through_the_sine + directly):.4f}")

# %% [markdown]
# A hook has to see the sum. So a node must run **once**, with **all** the gradients that reach it.
#
# ## Wrong engine 2: depth first, each node once
#
# So let us visit each node once. A table keeps the gradient that has arrived at each node, and a stack keeps the nodes that we
# still have to visit. (Because this is our own stack, the deep chain works too.)

# %%
def depth_first(root, g, take=-1):
    arrived, done, waiting = {root: g}, set(), [root]
    while waiting:
        node = waiting.pop(take)
        if node not in done:
            done.add(node)
            for following, part in edges(node, call(node, arrived[node])):
                arrived[following] = arrived.get(following, 0.0) + part
                waiting.append(following)


print(run(depth_first, y))

# %% [markdown]
# Four calls for four nodes, and a wrong number. In which order did they run?

# %%
print([node.name() for node in ran])

# %% [markdown]
# The product $h\,\sin h$ came first. It put the sine on the stack, and then the node of $h$, so $h$ was taken first. It ran with
# the gradient that had arrived by then, $\sin h$. Then the sine ran, and brought the other part too late: $h$ was done.

# %%
print(f"without the part through the sine: {2 * 2 * math.sin(4):.4f}")

# %% [markdown]
# A cleverer choice of the next node does not help, if it looks only at nearby nodes. Whether $h$ is complete depends on edges that
# may come from anywhere in the graph. **The engine must know all edges before the first node runs.**
#
# ### Deeper: the same product, the other way round
#
# **Predict.** Is the engine right for `h * h.sin()`? It is the same product, with its factors exchanged. And what if we take
# nodes from the other end of the list, breadth first?
#
# <details><summary>Answer</summary>
#
# Depth first is right for it: the edge to $h$ is now the first one, so the sine is on top of the stack and runs before $h$.
# Breadth first is wrong for it, and right for the other. Each order is right on one program and wrong on the other.
#
# </details>

# %%
def breadth_first(root, g):
    depth_first(root, g, take=0)


programs = {"h.sin() * h": h.sin() * h, "h * h.sin()": h * h.sin()}
for order in (depth_first, breadth_first):
    for text, value in programs.items():
        print(f"{order.__name__:<13}  {text}   {run(order, value)}")

# %% [markdown]
# This is the worst kind of fault: small tests pass.
#
# ## Wrong engine 3: gradients kept on the nodes
#
# So walk over the graph first, and put the nodes into a good order: each node comes after all nodes that lead to it. This is a
# **topological order**. The numbers of the nodes give such an order, because an operation that uses a value is created after the
# value. Leaves go to the end.

# %%
def ordered(root):
    """All nodes behind `root`, the latest first."""
    nodes, to_do = {root}, [root]
    while to_do:
        for following, _ in to_do.pop().next_functions:
            if following is not None and following not in nodes:
                nodes.add(following)
                to_do.append(following)

    def number(node):
        return node._sequence_nr() if node.next_functions else -1

    return sorted(nodes, key=number, reverse=True)


# %% [markdown]
# And where do we keep a node's gradient while it grows? Let us try the node itself. (Every node has a dict, `metadata`, for
# notes of the user.)

# %%
def kept_on_nodes(root, g):
    root.metadata["grad"] = g
    for node in ordered(root):
        for following, part in edges(node, call(node, node.metadata["grad"])):
            before = following.metadata.get("grad", 0.0)
            following.metadata["grad"] = before + part


print(run(kept_on_nodes, y))

# %% [markdown]
# Right, and every node was called once. micrograd works in this way, and so do many small engines. Run it once more:

# %%
print(run(kept_on_nodes, y))

# %% [markdown]
# The first run left its gradients on the nodes, and the second run added to them.
#
# ### Deeper: set them to zero first
#
# The solution seems clear: set them to zero first. Here is the engine with that line. It is now a generator that pauses before each
# node, so that we can do something in between.

# %%
def cleared(root, g):
    nodes = ordered(root)
    for node in nodes:
        node.metadata["grad"] = 0.0
    root.metadata["grad"] = g
    for node in nodes:
        yield node
        for following, part in edges(node, call(node, node.metadata["grad"])):
            following.metadata["grad"] += part


def finish(steps):
    for _ in steps:
        pass


def twice(engine):
    finish(engine(y.grad_fn, 1.0))
    finish(engine(y.grad_fn, 1.0))


def added(test, engine, wanted):
    """What the runs of a test have added to the gradient of x."""
    grads.clear()
    test(engine)
    verdict = "right" if abs(grads[x] - wanted) < 1e-4 else "wrong"
    print(f"{test.__name__:<9} {grads[x]:9.4f}, should be {wanted:9.4f}: {verdict}")


added(twice, cleared, 2 * exact)

# %% [markdown]
# Now let two runs overlap. We compute a second result from the same $h$, and run a backward for each result. Two runs can overlap
# in two ways. They may *take turns*, as two threads do. Or one may happen *inside* the other: while a backward runs, the engine
# calls a hook, and the hook calls backward.

# %%
z = h.sin() + h
both = exact + 2 * 2 * (math.cos(4) + 1)


def in_turns(engine):
    one, other = engine(y.grad_fn, 1.0), engine(z.grad_fn, 1.0)
    finish(itertools.zip_longest(one, other))


def nested(engine):
    for node in engine(y.grad_fn, 1.0):
        if node is h.grad_fn:
            finish(engine(z.grad_fn, 1.0))


added(in_turns, cleared, both)
added(nested, cleared, both)

# %% [markdown]
# Both are wrong, and the fault of the second is easy to follow. When the outer run comes to $h$, the gradient that it has
# collected is on the node. The inner run sets it to zero, because it needs the place itself.
#
# ### A gradient belongs to the run
#
# A gradient on its way belongs to the *run*, and not to the graph. A graph can have many runs, even at the same time. minigrad
# and PyTorch call a run a **task**.
#
# ## The right engine
#
# Now we have all parts. Before the first node runs, walk over all edges once, and count for each node the edges that lead to it:
# this is the number of gradients that it **waits for**. Then run the nodes. A gradient that arrives is added to the node's
# **input buffer**, and the count decreases by one. At zero the gradient is complete, and the node is **ready**. All three tables
# belong to the run.

# %%
def count(root):
    waits, to_do = {root: 0}, [root]
    while to_do:
        for following, _ in to_do.pop().next_functions:
            if following is not None:
                if following not in waits:
                    waits[following] = 0
                    to_do.append(following)
                waits[following] += 1
    return waits


def engine(root, g):
    waits, buffers, ready = count(root), {root: g}, [root]
    while ready:
        node = max(ready, key=lambda n: n._sequence_nr())
        ready.remove(node)
        yield node
        for following, part in edges(node, call(node, buffers.pop(node))):
            buffers[following] = buffers.get(following, 0.0) + part
            waits[following] -= 1
            if waits[following] == 0:
                ready.append(following)


# %% [markdown]
# **Predict.** For how many gradients do the nodes of $h$ and of $x$ wait?
#
# <details><summary>Answer</summary>
#
# Two and two. Edges are counted, not nodes: both edges of `x * x` lead to the node of $x$.
#
# </details>

# %%
for node, number in count(y.grad_fn).items():
    print(number, "for", "y" if node is y.grad_fn else node.name())

# %% [markdown]
# Here is the moment after the first node, the product, has run. The sine has got its only gradient, so it is ready. The node of
# $h$ has got one of its two, and waits for the part through the sine:
#
# ![Four nodes in the middle of a backward. The product has run and sent two gradients. The sine has got its only one, so it is
# ready. The node of h has got one of two: it waits. The leaf has got none of two: it waits.](pictures/waiting.svg)
#
# Now all the programs that went wrong above. Some are from the parts that are folded: a deep chain, two runs one after the other,
# two runs in turns, and one run inside another:

# %%
def right(root, g):
    finish(engine(root, g))


programs |= {"a chain of 5,000": chain, "a ladder of 12": ladder(x, 12)}
for text, value in programs.items():
    print(f"{text:<16}   {run(right, value)}")
added(twice, engine, 2 * exact)
added(in_turns, engine, both)
added(nested, engine, both)

# %% [markdown]
# ## Deeper: what it costs
#
# The first walk looks at every edge once. The second walk calls every node once and sends one gradient along every edge. The cost
# is linear in the size of the graph, and does not depend on the number of paths. Here are minigrad's own runs, from its record:

# %%
def own_run(rungs):
    z = ladder(x, rungs)
    with mg.debug.record() as r:
        z.backward()
    sent = [event for event in r.events
            if event.kind == "receive" and event.data["from"] is not None]
    return len(r.order), len(sent)


for rungs in (1, 12, 60, 1000):
    nodes, sent = own_run(rungs)
    print(f"{rungs:4} rungs, 2**{rungs:<4} paths: "
          f"{nodes:5,} nodes ran, {sent:5,} gradients were sent")

# %% [markdown]
# ## Step by step
#
# Watch the two tables: how many gradients each node still waits for, and what is in its buffer. When does the node of $h$ become
# ready?

# %%
x.grad = None
with mg.debug():        # each operation records its source line
    h = x * x
    y = h.sin() * h
with mg.debug.record() as r:
    y.backward()
mg.viz.step(r)

# %% [markdown]
# ### Deeper: as a table
#
# These are the events that we have discussed:

# %%
for event in r.events:
    if event.kind in ("count", "receive", "enqueue", "dequeue"):
        why = f"   ({event.why})" if event.kind != "count" else ""
        print(f"{event.step:2} {event.kind:<8}",
              f"{event.node} {event.op:<15} {event.what}{why}")

# %% [markdown]
# ## Deeper: which of the ready nodes?
#
# Often several nodes are ready. Each has its complete gradient, so the engine may run any of them: the result is the same.
# minigrad and PyTorch take the node that was **created last**. So the backward visits the operations of the forward in reverse,
# and the tensors that were saved last are freed first.

# %%
p, q = x.sin(), x.exp()
z = p * q
with mg.debug.record() as r:
    z.backward()
print([r.nodes[name] for name in r.order])

# %% [markdown]
# The number that decides is `_sequence_nr()`. For an experiment, we can change it. The order changes, but the gradients do not:

# %%
p, q = x.sin(), x.exp()
z = p * q
p.grad_fn._set_sequence_nr(q.grad_fn._sequence_nr() + 1)
with mg.debug.record() as r:
    z.backward()
print([r.nodes[name] for name in r.order])

# %% [markdown]
# Nodes of leaves are an exception. They have the largest possible number, so they run immediately when they are ready: the
# complete gradient goes into `.grad`, and its buffer is free.

# %%
print(x.sin().grad_fn.next_functions[0][0]._sequence_nr() == 2 ** 64 - 1)

# %%
w, b = mg.tensor(3.0, requires_grad=True), mg.tensor(5.0, requires_grad=True)
z = (x * w).sin() + b
with mg.debug.record(w=w, b=b) as r:
    z.backward()
for event in r.events:
    if event.kind == "dequeue":
        print(f"{event.node} {event.op:<15} {event.why}")

# %% [markdown]
# ### Why count, when the nodes are numbered?
#
# The engine that kept gradients on nodes ran them in the order of their numbers, and so did tutorial 1. But a node gets its
# number when it is created, and *each thread counts separately*. Let another thread compute the sine:

# %%
x.grad = None
h = x * x
box = []
thread = threading.Thread(target=lambda: box.append(h.sin()))
thread.start()
thread.join()
y = box[0] * h
made = {"h": h, "the sine": box[0], "y": y}
print("by the numbers, made first to last:",
      sorted(made, key=lambda name: made[name].grad_fn._sequence_nr()))

# %% [markdown]
# By the numbers, the sine was created before its input $h$. An engine that follows the numbers runs $h$ too early, and
# loses the gradient from the sine. An engine that has counted the edges does not:

# %%
def by_number(root, g):
    finish(cleared(root, g))


print("by number:  ", run(by_number, y))
print("by counting:", run(right, y))
y.backward()
print(f"minigrad:    dy/dx = {x.grad.item():8.4f}")

# %% [markdown]
# So the counts decide *whether* a node can run. The numbers only decide which of the ready nodes comes first.
#
# ## Deeper: buffers with several slots
#
# Our buffer held one number. But an operation may have several results, and then its node needs several gradients: the
# buffer has a **slot** for each. The number in an edge says which slot to use.

# %%
first, second, third = mg.tensor([5.0, 7.0, 9.0], requires_grad=True).unbind()
with mg.debug.record() as r:
    (first * second).backward()
for event in r.events:
    if event.op == "UnbindBackward0" and event.kind in ("receive", "dequeue"):
        print(f"{event.kind:<8} {event.what:<16} {event.why}")

# %% [markdown]
# Nothing used the third result, so its slot stays empty. A node must be able to handle this: here the gradient of the unused
# result counts as zero.
#
# ## Deeper: a backward within a backward
#
# A hook may call backward, and one kind of [checkpointing](11_checkpointing.py) does so too. This call is a second task, which
# runs to its end before the call returns. The two tasks must not disturb each other. This is `nested` from above, on the real
# engine.

# %%
x.grad = None
h = x * x
y, z = h.sin() * h, h.sin() + h


def inner(g):
    if inner.wanted:
        inner.wanted = False
        z.backward(retain_graph=True)


inner.wanted = True
h.register_hook(inner)
with mg.debug.record() as r:
    y.backward()
print(f"x.grad = {x.grad.item():.4f}, should be {both:.4f}")
for event in r.events:
    if event.kind in ("begin", "dequeue", "end"):
        indent = "    " * event.depth
        print(f"task {event.task}  {indent}{event.kind:<7} {event.node} {event.op}")

# %% [markdown]
# (Why `retain_graph=True`? The inner backward runs nodes that the outer backward still needs: [tutorial
# 4](04_retain_graph.py).)
#
# Each nested backward uses some of the stack. After sixty levels, the next backward runs in a new thread with a fresh stack, and
# the calling thread waits for it. PyTorch does the same.
#
# ## The source
#
# The engine has four files: `_core/engine/execute.py` begins and ends a task, `dependencies.py` counts the edges, `graph_task.py`
# runs the nodes, and `ready_queue.py` chooses the next node.
#
# The first walk is our `count`, with its own stack. The count is not in a dict but in a field of the node. Another field, the
# *stamp*, has the number of the task that the count belongs to. We will soon see why.

# %%
mg.utils.source.source_of("_core/engine/dependencies.py", "compute_dependencies")

# %% [markdown]
# Next, the loop of the second walk. `ready` serves the frequent case of a single ready node, which needs no queue. `hooked`
# nodes take a longer way, `run_watched`, which contains the same three steps.

# %%
mg.utils.source.source_of("_core/engine/graph_task.py", "GraphTask.run")

# %% [markdown]
# ### Deeper: deliver, the queue, the stamp
#
# The engine delivers the results of a node edge by edge. Note that a gradient of None also reduces the count. A formula may
# return None when there is nothing to send, and the next node must not wait for ever.

# %%
mg.utils.source.source_of("_core/engine/graph_task.py", "GraphTask.deliver")

# %% [markdown]
# Our `max(ready)` looks at all ready nodes. The ready queue keeps them in a row, in the order in which they run. A node that becomes
# ready was usually created before all that wait, so its place is near the end. This function puts it there. (A node that would go far
# up the row goes into a heap instead.)

# %%
mg.utils.source.source_of("_core/engine/ready_queue.py", "ReadyQueue.insert")

# %% [markdown]
# Last, the stamp. A dict per task, like ours, costs one look-up per edge on the hottest path of the engine. So the counts and
# buffers are on the node, as in wrong engine 3. But they have the number of the task as a stamp. If a task finds the stamp of
# another *running* task, it keeps its own counts and buffers in a dict. So `twice`, `in_turns` and `nested` work.

# %%
mg.utils.source.source_of("_core/engine/dependencies.py", "claim")

# %% [markdown]
# ## The same in PyTorch
#
# The order and the rules are the same. Python can also call a node directly, so an engine like ours needs no table of formulas:
#
# ```python
# >>> import torch
# >>> x = torch.tensor(2.0, requires_grad=True)
# >>> h = x * x
# >>> y = h.sin() * h
# >>> nodes = [y.grad_fn, y.grad_fn.next_functions[0][0], h.grad_fn]
# >>> nodes[0]._sequence_nr() > nodes[1]._sequence_nr() > nodes[2]._sequence_nr()
# True
# >>> with torch.no_grad():
# ...     nodes[0](torch.tensor(1.0))
# (tensor(4.), tensor(-0.7568))
#
# ```
#
# ### Deeper: our engine on PyTorch's nodes, and where PyTorch's is
#
# ```python
# >>> def engine(root, g):
# ...     waits, to_do, buffers, ready = {root: 0}, [root], {root: g}, [root]
# ...     while to_do:
# ...         for following, _ in to_do.pop().next_functions:
# ...             if following is not None:
# ...                 if following not in waits:
# ...                     waits[following] = 0
# ...                     to_do.append(following)
# ...                 waits[following] += 1
# ...     while ready:
# ...         node = max(ready, key=lambda n: n._sequence_nr())
# ...         ready.remove(node)
# ...         parts = node(buffers.pop(node))
# ...         parts = parts if isinstance(parts, tuple) else (parts,)
# ...         for (following, _), part in zip(node.next_functions, parts):
# ...             if following is not None:
# ...                 buffers[following] = buffers.get(following, 0.0) + part
# ...                 waits[following] -= 1
# ...                 if waits[following] == 0:
# ...                     ready.append(following)
# ...
# >>> with torch.no_grad():
# ...     engine(y.grad_fn, torch.tensor(1.0))
# >>> x.grad
# tensor(-13.4855)
# >>> y.backward()
# >>> x.grad
# tensor(-26.9710)
#
# ```
#
# | mechanism | minigrad | PyTorch, in `torch/csrc/autograd` |
# |---|---|---|
# | one run | `minigrad/_core/engine/graph_task.py`, `GraphTask` | [`graph_task.h`][graph_task.h], `struct GraphTask` |
# | counting | `minigrad/_core/engine/dependencies.py`, `compute_dependencies` | [`engine.cpp`][engine.cpp], `compute_dependencies` |
# | the loop | `minigrad/_core/engine/graph_task.py`, `GraphTask.run` | the same file, `thread_main` |
# | one node, its results delivered | `minigrad/_core/engine/graph_task.py`, `run_watched`, `deliver` | the same file, `evaluate_function` |
# | input buffers | `minigrad/_core/engine/graph_task.py`, `GraphTask.receive` | [`input_buffer.h`][input_buffer.h], `struct InputBuffer` |
# | the ready queue | `minigrad/_core/engine/ready_queue.py` | [`engine.h`][engine.h], `struct ReadyQueue` |
# | a backward within a backward | `minigrad/_core/engine/execute.py`, `run_in_new_thread` | the same file, `MAX_DEPTH` |
#
# [graph_task.h]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/graph_task.h
# [engine.cpp]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/engine.cpp
# [input_buffer.h]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/input_buffer.h
# [engine.h]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/engine.h
#
# PyTorch keeps the counts and the buffers in dicts of the task, `dependencies_` and `not_ready_`, and it has a queue and a thread
# for each GPU.
#
# ## What goes wrong
#
# **A hook fails in the middle.** The engine stops there, and does not undo its work: the leaves whose nodes have already run keep
# their gradients, and the other leaves have none.

# %%
a, b = mg.tensor(2.0, requires_grad=True), mg.tensor(3.0, requires_grad=True)
s = a.exp()


def refuse(g):
    raise ValueError("not today")


s.register_hook(refuse)
with mg.testing.expect_error(ValueError):
    (s + b).backward()
print("a:", a.grad, "  b:", b.grad)

# %% [markdown]
# So after an error that you catch, clear the gradients before you go on.
#
# ### Deeper: more errors
#
# **A call outside of a backward.** You can add a callback for the end of a task, or ask which nodes the task will run. Both work
# only while a task is running:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E125"):
    mg.autograd.Variable._execution_engine.queue_callback(lambda: None)

# %% [markdown]
# **No path leads to the input.** `autograd.grad` runs only the nodes on a path to the inputs. If there is no such path, it raises
# an error, because a silent zero could hide a mistake:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E109"):
    mg.autograd.grad(a * 3.0, b)

# %% [markdown]
# **A program relies on the order.** This raises no error, so it is hard to find. Two hooks on nodes that do not lead to each
# other run in the order of the numbers. If you move a line in the forward, or use a thread, this order can change. Only edges
# guarantee an order.
#
# ## Exercises
#
# Each exercise has a check. Write your answer, then call the check with it, as in `check_order(predicted)`. The solutions are
# folded below.
#
# **1. Predict.** In which order do the nodes run? Write their names without `Backward0`, and `leaf` for the node of a leaf: the
# first answer begins with `Mul`. Think about what Python computes first.

# %%
PROGRAMS = ["a.exp() * b.sin()", "b.sin() * a.exp().cos()", "(a * b).sin() + a"]
predicted = ["", "", ""]        # your names go here, with spaces between them


# %%
@mg.testing.exercise(1)
def check_order(predicted):
    names = {"a": mg.tensor(2.0, requires_grad=True),
             "b": mg.tensor(3.0, requires_grad=True)}
    assert len(predicted) == 3, "three answers, one for each program"
    for text, told in zip(PROGRAMS, predicted):
        y = eval(text, names)
        with mg.debug.record() as r:
            y.backward()
        ops = [r.nodes[name].removesuffix("Backward0") for name in r.order]
        right = " ".join(ops).replace("AccumulateGrad", "leaf")
        assert told == right, f"{text}: not {told!r}. Step through it with mg.viz.step"
    print("right")


# %% tags=["help"]
check_order.hints = [
    "The root runs first. After each node, the latest of the ready nodes runs.",
    "Python computes the left factor first, so its nodes are the earlier ones.",
    "A leaf that is ready runs before all others. It is ready when all its gradients "
    "have arrived, not when the first one has."]
check_order.wrong = {
    "a.exp() * b.sin(): not 'Mul Exp leaf Sin leaf'":
        "You went from left to right. The sine was created last, so it runs first.",
    "a.exp() * b.sin(): not 'Mul Sin Exp leaf leaf'":
        "A leaf does not wait for the other nodes: it runs as soon as it is ready.",
    "a.exp() * b.sin(): not 'Mul Exp Sin leaf leaf'":
        "The latest node runs first, and a leaf runs as soon as it is ready.",
    "b.sin() * a.exp().cos(): not 'Mul Sin leaf Cos Exp leaf'":
        "You went from left to right. The cosine was created last, so it runs first.",
    "(a * b).sin() + a: not 'Add leaf Sin Mul leaf'":
        "a gets a second gradient, through the product. Its node waits for it."}


# %% tags=["hide-cell", "solution"]
check_order([
    "Mul Sin leaf Exp leaf",        # the sine is the latest; a leaf runs immediately
    "Mul Cos Exp leaf Sin leaf",    # the sine was made first, so it runs last
    "Add Sin Mul leaf leaf",        # a waits for its second gradient
])

# %% [markdown]
# **2. Count the paths.** Write `paths(tensor)`: it returns the number of paths from a tensor to the leaves. Do not walk
# along each path; the ladder has $2^{60}$ of them. Hint: the engine adds up gradients. What if it added something else?

# %%
def paths(tensor):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2, hint="Visit each node once: the ladder has 2^60 paths.")
def check_paths(paths):
    def check(text, tensor, right):
        got = paths(tensor)
        assert got == right, f"{text}: {got} instead of {right}"

    x = mg.tensor(1.0, requires_grad=True)
    h = x * x
    check("x * 2", x * 2, 1)
    check("x * x", h, 2)
    check("h.sin() * h", h.sin() * h, 4)
    check("a ladder of 60", ladder(x, 60), 2 ** 60)
    print("right")


# %% tags=["help"]
check_paths.hints = [
    "Two edges to the same node are two paths.",
    "The number of paths to a node is a sum over the edges that lead to it. Each edge brings "
    "the number of paths to the node where it begins.",
    "Take the engine of this page. Send a 1 into the root. Each node passes on the sum of what "
    "has arrived, without a formula. Add up what arrives at the leaves."]
check_paths.wrong = {
    "0 instead of 1": "Count a path where it ends, at a node without edges.",
    "x * x: 1 instead of 2": "Two edges lead from the product to x. These are two paths.",
    "h.sin() * h: 2 instead of 4":
        "Two paths lead to h, and two lead on from h. You counted only two of the four "
        "combinations.",
    "h.sin() * h: 3 instead of 4": "Two paths lead to h, and each goes on in two ways."}


# %% tags=["hide-cell", "solution"]
def paths_solution(tensor):
    root, total = tensor.grad_fn, 0
    waits, arrived, ready = count(root), {root: 1}, [root]
    while ready:
        node = ready.pop()
        here = arrived.pop(node)        # the number of paths to this node
        if not node.next_functions:
            total += here
        for following, _ in node.next_functions:
            if following is not None:
                arrived[following] = arrived.get(following, 0) + here
                waits[following] -= 1
                if waits[following] == 0:
                    ready.append(following)
    return total


check_paths(paths_solution)

# %% [markdown]
# **3. Only what is needed.** `mg.autograd.grad(y, leaf)` runs a node only if a path leads from it to that leaf. Write
# `needed(tensor, leaf)`: it returns the number of these nodes, without the leaf's own node. (The engine does not call the leaf's
# node: the gradient that reaches it *is* the result.) Decide about each node only once: the check uses the ladder again. The
# function must not call itself.

# %%
def needed(tensor, leaf):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3, hint="Visit each node once: the ladder has 2^60 paths.")
def check_needed(needed):
    def wanted(tensor, leaf):
        with mg.debug.record() as r:
            mg.autograd.grad(tensor, leaf, retain_graph=True)
        return len(r.order)

    a = mg.tensor(2.0, requires_grad=True)
    b = mg.tensor(3.0, requires_grad=True)
    s = a.sin()
    chain = b
    for _ in range(2000):       # too long for a function that calls itself
        chain = chain + 1.0
    for text in ("s * b", "s + (b * 2.0).sin()", "s * ladder(b, 60)",
                 "ladder(s * b, 30)", "s * chain"):
        tensor = eval(text, {"s": s, "b": b, "ladder": ladder, "chain": chain})
        for name, leaf in (("a", a), ("b", b)):
            got, right = needed(tensor, leaf), wanted(tensor, leaf)
            assert got == right, f"{text}, to {name}: {got} instead of {right}"
    print("right")


# %% tags=["help"]
check_needed.hints = [
    "A node is needed if one of its edges leads to a needed node, or to the leaf's node.",
    "So decide about the nodes behind a node before the node itself: begin with the earliest.",
    "`ordered(root)` of this page gives all nodes, each once. Go through them in reverse, "
    "with a set of the needed ones."]
check_needed.wrong = {
    "s * b, to a: 1 instead of 2": "The root and the sine are both on the path to a.",
    "s * b, to a: 3 instead of 2": "You counted the leaf's own node. The engine does not "
                                   "call it: the gradient that reaches it is the result.",
    "s * b, to a: 4 instead of 2": "You counted all nodes, even those that lead only to b.",
    "s * b, to b: 2 instead of 1": "You counted the sine too, which leads only to a."}


# %% tags=["hide-cell", "solution"]
def needed_solution(tensor, leaf):
    found = set()
    # Edges lead to nodes that were created earlier. So we begin with the earliest node:
    # when we reach a node, all nodes behind it are already decided.
    for node in reversed(ordered(tensor.grad_fn)):
        leads = any(following in found for following, _ in node.next_functions)
        if leads or (node.name() == "AccumulateGrad" and node.variable is leaf):
            found.add(node)
    return len(found) - 1


check_needed(needed_solution)

# %% [markdown]
# ## What to remember
#
# * A node runs **once**, when **all** its gradients have arrived. To know when, the engine counts the edges before the first node
#   runs.
# * Contributions are added in the node's **input buffer**, which has a slot for each result of its operation.
# * Among the nodes that are **ready**, the latest runs first; leaves run before all others. The counts are a rule, the numbers only
#   a preference.
# * Counts and buffers belong to the run, the **task**: a graph may have several tasks at the same time.
# * The engine walks twice, each time over every edge once. The cost does not depend on the number of paths.
#
# **Next:** [leaves](03_leaves.py), where gradients end.
