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
# # Backward a second time: retain_graph
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** [tutorial
# 1](01_derivative_to_graph.py), and from [tutorial 2](02_the_engine.py) that nodes run one after the other. **Afterwards** you can
# say which values a backward frees and when, find which of four causes an error has, and correct the cause without
# `retain_graph=True`.
#
# **The question.** Why can you call `backward` only once? What has the first call freed, when exactly, and when should it not?

# %%
import weakref

import minigrad as mg

w = mg.tensor([1.0, 2.0], requires_grad=True)
loss = (w.exp() * w).sum()
loss.backward()
with mg.testing.expect_error(RuntimeError, code="MG-E101"):
    loss.backward()

# %% [markdown]
# The message says what happened: a node *has freed its saved values*. So first, what does a node save?
#
# ## What a graph keeps
#
# A node has a formula, and the formula needs values of the forward pass. The derivative of $e^w$ is $e^w$, so the node of `exp`
# keeps its result. The node of a product keeps both factors. The node of a sum needs only a shape. ([Tutorial
# 7](07_saved_tensors.py) goes through all of them.)

# %%
loss = (w.exp() * w).sum()
mg.viz.draw(loss)

# %%
mg.debug.saved(loss)

# %% [markdown]
# Three tensors are saved, but only two pieces of memory: two nodes need the result of `exp`, and both use the same memory.
# Nothing is copied. To save a tensor is to hold a reference to it. This keeps the tensor alive, even though our program has no
# name for $e^w$.
#
# In a network these are the *activations* of all layers, and they are often the largest thing in memory.
#
# ## When the values are freed
#
# Here is what happens to them in a backward:

# %%
def releases(r):
    for event in r.events:
        if event.kind in ("dequeue", "release", "end"):
            what = event.what if event.kind == "release" else ""
            row = f"{event.step:3}  {event.kind:<8} {event.node} {event.op:<15} {what}"
            print(row.rstrip())


with mg.debug.record() as r:
    loss.backward()
releases(r)

# %% [markdown]
# They are not freed at the end, but **right after each node has run**, before the next one runs. A node runs once in a task, so
# *this* task will not need its values again.

# %%
mg.debug.saved(loss)

# %% [markdown]
# The values are really gone: a weak reference to a saved tensor, which does not keep the tensor alive, now returns None.

# %%
constant = mg.tensor([10.0, 20.0])
there = weakref.ref(constant)
loss = (w * constant).sum()
del constant
print("before:", there() is not None)
loss.backward()
print("after: ", there() is not None)

# %% [markdown]
# But the graph is still there. Nodes and edges live as long as something holds the result. Only the saved values are missing, so
# the nodes can no longer compute. You will often read that "the graph is freed", but this is not exact. **The values are freed,
# the graph stays.**

# %%
product = loss.grad_fn.next_functions[0][0]
print(product.name(), product.next_functions[0][0].name())

# %% [markdown]
# ## Measured
#
# We take eight layers, each with a result of one megabyte. Before each node runs, we measure how much the graph still keeps.
# (The engine calls a *prehook* just before its node: [tutorial 12](12_hooks.py).)

# %%
def chain():
    x = mg.ones(250_000, requires_grad=True)
    for _ in range(8):
        x = x.tanh()
    return x.sum()


def megabytes(loss):
    return mg.debug.saved(loss).nbytes // 1_000_000


def kept_while_running(retain_graph):
    loss, seen = chain(), []
    node = loss.grad_fn
    while node.next_functions:
        node.register_prehook(lambda grads: seen.append(megabytes(loss)))
        node = node.next_functions[0][0]
    loss.backward(retain_graph=retain_graph)
    return [*seen, megabytes(loss)]


falls, stays = kept_while_running(False), kept_while_running(True)
print("megabytes, without:  ", *falls)
print("with retain_graph:   ", *stays)
moments = [*[f"before node {i + 1}" for i in range(len(falls) - 1)], "at the end"]
mg.viz.bars(dict(zip(moments, zip(falls, stays))), "megabytes kept",
            names=("without", "with retain_graph"))

# %% [markdown]
# Without `retain_graph`, the backward frees memory as it advances, and can use this memory for its own results. With it,
# everything stays until the loss itself is freed. In a loop, this usually happens when the variable gets its next value, *after*
# the next forward. Then two graphs are in memory for a while.
#
# ## Step by step, with and without
#
# The same graph twice. `retain_graph=True` changes one thing: the steps called `release` are missing.

# %%
def recorded(retain_graph):
    w = mg.tensor([1.0, 2.0], requires_grad=True)
    with mg.debug():        # each operation records its source line
        loss = (w.exp() * w).sum()
    with mg.debug.record(w=w, loss=loss) as r:
        loss.backward(retain_graph=retain_graph)
    return r


freed, kept = recorded(retain_graph=False), recorded(retain_graph=True)
mg.viz.step(freed)

# %%
mg.viz.diff(freed, kept, labels=("without", "with retain_graph"))

# %% [markdown]
# ### Deeper: the missing steps

# %%
kinds = {event.kind for event in kept.events}
print(len(freed.events), "steps and", len(kept.events))
print("only without:", [f"{e.kind} {e.op}" for e in freed.events if e.kind not in kinds])

# %% [markdown]
# ## Deeper: some graphs allow a second backward
#
# **Predict.** Which of these allow a second backward? `(w + 1).sum()`, `(w * 2).sum()`, `w.exp().sum()`, `w.relu().sum()`,
# `w.reshape(1, 2).sum()`, `(w - w).mean()`.
#
# <details><summary>Answer</summary>
#
# The first and the last two. Their formulas need no tensor, so their nodes saved nothing that could be freed. `relu` keeps its
# result, since its derivative depends on the sign. `w * 2` keeps the 2. It costs no memory, but it is freed too, as in PyTorch.
#
# </details>

# %%
def survives(loss):
    loss.backward()
    try:
        loss.backward()
    except RuntimeError:
        return False
    return True


for text in ("(w + 1).sum()", "(w * 2).sum()", "w.exp().sum()", "w.relu().sum()",
             "w.reshape(1, 2).sum()", "(w - w).mean()"):
    print(f"{text:<22} {'twice' if survives(eval(text)) else 'once'}")

# %% [markdown]
# This explains a puzzle. A program with a second backward can run for months, and then fail when you add a product to it.
#
# ## Four ways to the error
#
# **One: the same loss twice.** This is the first cell of this page. Usually the second call is a mistake: there is one call in a
# function and another after it.
#
# **Two: a state that is carried over iterations.** The loss is new each time. But it depends on the state of the iteration
# before. So the new graph leads into the old one, whose values are freed.

# %%
inputs = mg.tensor([[0.5, -0.3], [0.1, 0.9], [-0.7, 0.2], [0.4, 0.4]])


def step(w, state, x):
    return (w * state + x).tanh()


state = mg.zeros(2)
with mg.testing.expect_error(RuntimeError, code="MG-E101"):
    for i, x in enumerate(inputs):
        print("iteration", i)
        state = step(w, state, x)
        state.sum().backward()

# %% [markdown]
# The state has many forms: the hidden state of a recurrent network, a running mean of the loss, or a value that is computed from
# a parameter once, *before* the loop.
#
# **Three: two losses share a part.**

# %%
hidden = w.exp()
first, second = (hidden * 3).sum(), (hidden * hidden).sum()
first.backward()
with mg.testing.expect_error(RuntimeError, code="MG-E101"):
    second.backward()

# %% [markdown]
# The message names the node whose values are freed. Ask *where the program called the operation of this node*: before the loop,
# in an earlier iteration, before both losses?
#
# ### Deeper: the fourth way
#
# **Four: reading a saved value.** Here there is no second backward. The program reads a saved value after it was freed.

# %%
hidden = w.exp()
hidden.sum().backward()
with mg.testing.expect_error(RuntimeError, code="MG-E101"):
    print(hidden.grad_fn._saved_result)

# %% [markdown]
# ## retain_graph treats only the symptom
#
# With `retain_graph=True` each of the four errors disappears. For the second case, you find this advice everywhere. So let us
# count what it does there:

# %%
def train(policy):
    w = mg.tensor([1.0, 2.0], requires_grad=True)
    state, nodes, total = mg.zeros(2), [], 0.0
    for x in inputs:
        if policy == "detach":
            state = state.detach()
        state = step(w, state, x)
        total = total + state.sum()
        if policy != "one backward":
            with mg.debug.record() as r:
                state.sum().backward(retain_graph=policy == "retain_graph")
            nodes.append(len(r.order))
    if policy == "one backward":
        with mg.debug.record() as r:
            total.backward()
        nodes.append(len(r.order))
    return nodes, w.grad.tolist()


for policy in ("retain_graph", "one backward", "detach"):
    nodes, gradient = train(policy)
    terms = "+".join(map(str, nodes))
    numbers = ", ".join([f"{number:.4f}" for number in gradient])
    print(f"{policy:<13} nodes run: {terms:<10} = {sum(nodes)}   gradient: {numbers}")

# %% [markdown]
# With `retain_graph`, each backward goes back to the very first iteration. The thousandth backward would go through a thousand
# iterations, and the memory grows in the same way. The gradient is right. But the second line gives the same gradient: add the
# losses, and call backward once, at the end of the sequence. Then every node runs once.
#
# The third line treats the past as a constant in each iteration. `detach` returns the same numbers without the history, so the
# graph ends there ([tutorial 6](06_grad_modes.py)). This is **truncated backpropagation through time**. Every iteration has the
# same cost. The gradient is different: it ignores the influence of $w$ through earlier states. This is a decision about the
# learning method, and usually it is the right one.
#
# ### Deeper: the next error
#
# With an optimizer in the loop, `retain_graph` leads to the next error. The old nodes have saved $w$, which has changed since:

# %%
v = mg.tensor([1.0, 2.0], requires_grad=True)
optimizer = mg.optim.SGD([v], lr=0.1)
state = mg.zeros(2)
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    for x in inputs:
        state = step(v, state, x)
        state.sum().backward(retain_graph=True)
        optimizer.step()

# %% [markdown]
# This error protects you ([tutorial 9](09_version_counters.py)). A gradient of the loss at the old $w$, computed with values of
# the new $w$, would not be the gradient of any function.
#
# ## Losses that share a part: add them
#
# The gradient of a sum of losses is the sum of their gradients. One backward of the sum runs the shared part only once:

# %%
def two_losses(together):
    w = mg.tensor([1.0, 2.0], requires_grad=True)
    hidden = w.sin().exp().tanh()
    first, second = (hidden * 3).sum(), (hidden * hidden).sum()
    with mg.debug.record() as r:
        if together:
            (first + second).backward()
        else:
            first.backward(retain_graph=True)
            second.backward()
    return len(r.order), w.grad


print("one after the other:", *two_losses(together=False))
print("added:              ", *two_losses(together=True))

# %% [markdown]
# ## Where retain_graph is right
#
# If you need the gradients of several results **separately**, you need several backwards over one forward. Then retain the graph
# in all but the last. Examples are the rows of a Jacobian, and a comparison of the gradients of two losses:

# %%
hidden = w.exp()
first, second = (hidden * 3).sum(), (hidden * hidden).sum()
(of_first,) = mg.autograd.grad(first, w, retain_graph=True)
(of_second,) = mg.autograd.grad(second, w)
print(of_first, of_second)
print(mg.debug.saved(second))

# %% [markdown]
# The last backward frees the values, so nothing is left behind.
#
# `create_graph=True` retains the graph too, unless you say otherwise: you will differentiate the gradient, and this uses the same
# nodes again ([tutorial 5](05_double_backward.py)).
#
# ## Deeper: in two halves
#
# A node frees its values when it has *run*. `autograd.grad` runs only the nodes between its outputs and its inputs. The rest of
# the graph keeps its values, and you can continue from there:

# %%
w.grad = None
hidden = w.exp()
loss = (hidden * hidden).sum()
(at_hidden,) = mg.autograd.grad(loss, hidden)   # frees the upper half
print(mg.debug.saved(hidden))
hidden.backward(at_hidden)                      # and now the lower one
print(w.grad)

# %% [markdown]
# No node ran twice, so there was nothing to retain. In this way you can look at a gradient on its way, or change it, or split a
# model between two machines.
#
# ## Deeper: a step of a GAN
#
# A GAN has two networks, two losses and one shared part, and many people meet the error there. The generator makes something from
# noise, and the discriminator scores it. The discriminator's loss is small if the score is low, the generator's loss if it is
# high.

# %%
softplus = mg.nn.functional.softplus
noise, real = mg.tensor([0.5, -1.0]), mg.tensor([2.0, 1.0])


def networks():
    g = mg.tensor([0.3, 0.7], requires_grad=True)
    d = mg.tensor([0.2, -0.4], requires_grad=True)
    return g, d


def loss_of_discriminator(d, fake):
    return softplus(-(d * real).sum()) + softplus((d * fake).sum())


def loss_of_generator(d, fake):
    return softplus(-(d * fake).sum())


g, d = networks()
fake = (g * noise).tanh()
loss_of_discriminator(d, fake).backward()
with mg.testing.expect_error(RuntimeError, code="MG-E101"):
    loss_of_generator(d, fake).backward()
print("the generator's gradient:", g.grad)

# %% [markdown]
# The error is only the symptom. Look at the last line: the first backward went on through `fake` into the generator, which this
# loss should not train. The gradient there even has the wrong sign, since it lowers the score. `retain_graph=True` would hide the
# error and keep this mistake. The discriminator should take `fake` as a constant:

# %%
g, d = networks()
improve_g, improve_d = mg.optim.SGD([g], lr=0.1), mg.optim.SGD([d], lr=0.1)
fake = (g * noise).tanh()

with mg.debug.record() as of_d:
    loss_of_discriminator(d, fake.detach()).backward()
print("after the discriminator's backward:", d.grad, g.grad)
improve_d.step()

with mg.debug.record() as of_g:
    loss_of_generator(d, fake).backward()
improve_g.step()
improve_d.zero_grad()       # the generator's backward has added to d.grad
improve_g.zero_grad()
for whose, r in (("discriminator", of_d), ("generator", of_g)):
    into_g = "TanhBackward0" in r.nodes.values()
    print(f"the {whose}'s: {len(r.order)} nodes, into the generator: {into_g}")

# %% [markdown]
# `fake` was computed once. `detach` does not copy it; it is the same memory, without the history. The generator's loss is computed
# *after* the discriminator's step, since it must use the new `d`. If it were computed before, it would have saved the old `d`, and
# its backward would end in MG-E102 as above.
#
# ## The source
#
# A node frees its values in `release`. `HOLDS_TENSOR` says that it has saved a tensor. `saves_operand` says that it has saved an
# operand that could have been a tensor, such as the 2 of `w * 2`.

# %%
mg.utils.source.source_of("_core/record/op_node.py", "OpNode.release")

# %% [markdown]
# The engine calls it: `if not keep: node.release()`, in the loop that [tutorial 2](02_the_engine.py) shows. Setting `keep` is all
# that `retain_graph` does.
#
# If the node runs again, or a program reads a saved value, `freed` is set, and this error is raised:

# %%
mg.utils.source.source_of("_core/record/saved_tensor.py", "error_freed")

# %% [markdown]
# ## The same in PyTorch
#
# The rules are the same, for each operation of this page:
#
# ```python
# >>> import torch
# >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
# >>> loss = (w.exp() * w).sum()
# >>> product = loss.grad_fn.next_functions[0][0]
# >>> product._saved_self
# tensor([2.7183, 7.3891], grad_fn=<ExpBackward0>)
# >>> loss.backward(retain_graph=True)
# >>> loss.backward()
# >>> w.grad
# tensor([10.8731, 44.3343])
# >>> product._saved_self
# Traceback (most recent call last):
#     ...
# RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have ...
# >>> [node.name() for node, _ in product.next_functions]
# ['ExpBackward0', 'torch::autograd::AccumulateGrad']
# >>> loss = (w + 1).sum()
# >>> loss.backward()
# >>> loss.backward()
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | mechanism | minigrad | PyTorch |
# |---|---|---|
# | what a node has saved | `minigrad/_core/record/saved_tensor.py`, `SavedTensor` | [`saved_variable.h`][saved_variable.h] |
# | freeing the values | `minigrad/_core/record/op_node.py`, `OpNode.release` | `release_variables`, in generated code |
# | who calls it | `minigrad/_core/engine/graph_task.py`, `GraphTask.run` | [`engine.cpp`][engine.cpp], `evaluate_function` |
# | the error | `minigrad/_core/record/saved_tensor.py`, `error_freed` | [`saved_variable.cpp`][saved_variable.cpp], `unpack` |
# | `retain_graph` | `minigrad/autograd/_backward.py`, `backward` | [`torch/autograd/__init__.py`][autograd], `backward` |
#
# [saved_variable.h]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/saved_variable.h
# [saved_variable.cpp]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/saved_variable.cpp
# [engine.cpp]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/engine.cpp
# [autograd]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/autograd/__init__.py
#
# PyTorch's message does not name the node.
#
# ## What goes wrong
#
# **The second backward fails in the middle, and is not undone.** It begins like any other, and fails at the first node whose
# values are freed. The leaves whose nodes ran before that have received a second gradient:

# %%
w.grad = None
b = mg.tensor([1.0, 1.0], requires_grad=True)
loss = (w * w).sum() + b.sum()
loss.backward()
with mg.testing.expect_error(RuntimeError, code="MG-E101"):
    loss.backward()
print("w:", w.grad, "  b:", b.grad)

# %% [markdown]
# `b` has its gradient twice, `w` once. If you catch this error, clear all gradients.
#
# ### Deeper: a graph is kept by accident
#
# There is no error here. With `retain_graph=True` in every iteration, each loss keeps the activations
# of its iteration. If you collect the losses for a plot, all activations stay in memory:

# %%
def epoch(retain_graph):
    losses = []
    for _ in range(5):
        loss = chain()
        loss.backward(retain_graph=retain_graph)
        losses.append(loss)         # loss.item() is what a plot needs
    return sum(megabytes(loss) for loss in losses)


print("megabytes, without: ", epoch(retain_graph=False))
print("with retain_graph:  ", epoch(retain_graph=True))

# %% [markdown]
# `mg.debug.holders(loss)` lists the objects that hold a graph. More on this: {doc}`/errors/memory-grows`. More on the error:
# {doc}`/errors/backward-a-second-time`.
#
# ## Exercises
#
# Each exercise has a check. Write your answer, then call the check with it, as in `check_works(predicted)`. The solutions are
# folded below.
#
# **1. Predict.** Which of these programs work, and which end with the error of this page?

# %%
PROGRAMS = ["h = w.exp(); (h * 2).sum().backward(); (h * 3).sum().backward()",
            "h = w + 1;   (h * 2).sum().backward(); (h * 3).sum().backward()",
            "h = w.exp(); y = (h * h).sum(); y.backward(); h.sum().backward()",
            "h = w.exp(); y = (h * h).sum(); grad(y, h);   h.sum().backward()",
            "y = (w * w).sum(); grad(y, w, create_graph=True); y.backward()"]
predicted = [None, None, None, None, None]      # True where it works, False where not


# %%
@mg.testing.exercise(1)
def check_works(predicted):
    assert len(predicted) == len(PROGRAMS), "five answers, one for each program"
    for text, told in zip(PROGRAMS, predicted):
        leaf = mg.tensor([1.0, 2.0], requires_grad=True)
        works, why = True, "no node needs a value that was freed"
        try:
            exec(text, {"w": leaf, "grad": mg.autograd.grad})
        except RuntimeError as error:
            works, why = False, str(error).splitlines()[0]
        assert told is works, f"{text}\nnot {told}: {why}"
    print("right")


# %% tags=["help"]
check_works.hints = [
    "A backward that runs a node needs what the node has saved, and frees it.",
    "`w + 1` saves nothing. `exp` saves its result, and a product its factors.",
    "`grad(y, h)` runs only the nodes between y and h. `create_graph=True` retains the graph."]


# %% tags=["hide-cell", "solution"]
check_works([False,     # both go through the node of exp, which has saved its result
             True,      # both go through the node of w + 1, which has saved nothing
             False,     # the first backward has gone on to w, through exp
             True,      # the first one stopped at h: exp has not run yet
             True])     # create_graph retains the graph

# %% [markdown]
# **2. Row by row.** Write `rows(y, x)`: it returns the Jacobian of a vector `y`, as a list of gradients, one per element.
# Afterwards the graph must not keep any saved values.

# %%
def rows(y, x):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_rows(rows):
    x = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x.exp() * x[0]
    found = mg.stack(rows(y, x))
    wanted = mg.autograd.functional.jacobian(lambda x: x.exp() * x[0], x)
    assert mg.allclose(found, wanted), f"{found} instead of {wanted}"
    assert not mg.debug.saved(y), "the graph still keeps something"
    print("right")


# %% tags=["help"]
check_rows.hints = [
    "A row is the gradient of one element, `y[i]`: one call of `mg.autograd.grad` for each.",
    "All rows go through the same nodes, so each call must leave the saved values for the next.",
    "Nothing comes after the last row. Its call need not retain the graph, and frees it."]


# %% tags=["hide-cell", "solution"]
def rows_solution(y, x):
    last = len(y) - 1
    return [mg.autograd.grad(y[i], x, retain_graph=i < last)[0] for i in range(len(y))]


check_rows(rows_solution)

# %% [markdown]
# **3. Truncate every k steps.** Write `truncated(w, inputs, k)`. It begins with a state of zeros, calls `step` for each input, and
# has the loss `state.sum()` after each step. After every `k` inputs, it calls backward once, for the last `k` losses, and detaches
# the state. (The number of inputs is a multiple of `k`.) The gradients add up in `w.grad`.

# %%
def truncated(w, inputs, k):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_truncated(truncated):
    def run(k):
        w = mg.tensor([1.0, 2.0], requires_grad=True)
        with mg.debug.record() as r:
            truncated(w, inputs, k)
        assert w.grad is not None, "no gradient"
        backwards = [event for event in r.events if event.kind == "begin"]
        assert len(backwards) == 4 // k, f"{len(backwards)} backwards for k = {k}"
        return w.grad

    for k, policy in ((1, "detach"), (4, "one backward")):
        right = mg.tensor(train(policy)[1])
        assert mg.allclose(run(k), right), f"a different gradient for k = {k}"
    by_hand = mg.tensor([1.0, 2.0], requires_grad=True)
    state = mg.zeros(2)
    for x, y in ((inputs[0], inputs[1]), (inputs[2], inputs[3])):
        middle = step(by_hand, state.detach(), x)
        state = step(by_hand, middle, y)
        (middle.sum() + state.sum()).backward()
    assert mg.allclose(run(2), by_hand.grad), "a different gradient for k = 2"
    print("right")


# %% tags=["help"]
check_truncated.hints = [
    "Collect the losses of the steps since the last backward in a list.",
    "After every k-th step, call backward once, on the sum of the list.",
    "Then begin again, with an empty list and with a state that is detached."]


# %% tags=["hide-cell", "solution"]
def truncated_solution(w, inputs, k):
    state, losses = mg.zeros(2), []
    for i, x in enumerate(inputs, 1):
        state = step(w, state, x)
        losses.append(state.sum())
        if i % k == 0:
            sum(losses).backward()
            state, losses = state.detach(), []


check_truncated(truncated_solution)

# %% [markdown]
# ## What to remember
#
# * A node keeps the tensors that its formula needs, and frees them **right after it has run**. The graph itself stays.
# * A second backward fails at the first node whose saved values are freed. A node that saved nothing can run again.
# * Four causes: the same loss twice, a state carried over, a shared part, a look at freed values.
# * Four solutions: one call; `detach`, or one backward at the end; add the losses; look before the backward.
# * Use `retain_graph=True` if you need several gradients of one forward *separately*: in all calls but the last.
#
# **Next:** [the backward of a backward](05_double_backward.py), which needs the graph of the first one.
