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
# # Hooks at the leaves: the optimizer step inside backward
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** [tutorial
# 1](01_derivative_to_graph.py); that a node waits for all its gradients ([tutorial 2](02_the_engine.py)); and the node of a leaf
# ([tutorial 3](03_leaves.py)). [Tutorial 12](12_hooks.py) has the other kinds of hooks. **Afterwards** you can run an optimizer
# inside the backward, measure the memory that this saves, and explain why it is safe.
#
# **The question.** After a backward, all gradients are in memory, together as large as all the parameters, and wait for the
# optimizer. Is this necessary? Each gradient was complete at some moment *during* the backward. It could be used and freed then.
#
# Our example is a network of eight layers, with a weight of one mebibyte each ($2^{20}$ bytes):
#
# $$ h_k = \tanh(h_{k-1} W_k), \qquad \text{loss} = \text{mean}(h_8^2) . $$

# %%
import functools
import tracemalloc
import weakref

import minigrad as mg

MIB = 2 ** 20


def new_weights(layers=8, n=512):
    mg.manual_seed(0)
    return [(mg.randn(n, n) / n ** 0.5).requires_grad_() for _ in range(layers)]


def loss_of(weights):
    h = mg.ones(1, len(weights[0]))
    for w in weights:
        h = (h @ w).tanh()
    return (h * h).mean()


def held(weights):
    """The bytes of the gradients that exist now."""
    return sum([w.grad.nbytes for w in weights if w.grad is not None])


# %% [markdown]
# This is the usual order: a backward, then the steps, and then the gradients are freed.

# %%
def descend(w, lr=0.5):
    """One step of gradient descent for one weight."""
    with mg.no_grad():
        w.sub_(w.grad, alpha=lr)
    w.grad = None


weights = new_weights()
loss_of(weights).backward()
print(f"after the backward: {held(weights) / MIB:.0f} MiB of gradients")
for w in weights:
    descend(w)
print(f"after the steps:    {held(weights) / MIB:.0f} MiB")

# %% [markdown]
# ## Too early: a hook on the tensor
#
# The step of a weight must run when the gradient of the weight is complete. The best known hook is `register_hook`: the engine calls
# it with the gradient when it has arrived at the tensor. Let us do the step there.

# %%
w = mg.tensor([1.0, 2.0], requires_grad=True)


def step_too_early(g):
    print("in the hook:  the gradient is", g, "  .grad is", w.grad)
    with mg.no_grad():
        w.sub_(g, alpha=0.5)


handle = w.register_hook(step_too_early)
(w * w).sum().backward()
print("afterwards:   .grad is", w.grad)
handle.remove()

# %% [markdown]
# The step is right: a leaf's hook sees the sum of all contributions. But this saves no memory. The hook runs *before* the gradient
# is added to `.grad`, so at the end the gradient is in `.grad`. The hook cannot drop it before it is there. And an optimizer, which
# reads `.grad`, would find None, or the gradient of the backward before.
#
# ## At the right moment
#
# At the end of each path, the leaf's node, `AccumulateGrad`, adds the gradient to `.grad`. The hooks around it run in this order:
#
# | order | called with | `.grad` |
# |---|---|---|
# | 1. tensor hooks, `leaf.register_hook` | the gradient | as before |
# | 2. the gradient is added to `.grad` | | |
# | 3. post-accumulate hooks, `leaf.register_post_accumulate_grad_hook` | the leaf | up to date |

# %%
w = mg.tensor([1.0, 2.0], requires_grad=True)
w.register_hook(lambda g: print("1. tensor hook:    ", g, w.grad))
w.register_post_accumulate_grad_hook(lambda leaf: print("3. post-accumulate:", leaf.grad))
(w * w).sum().backward()

# %% [markdown]
# (Hooks on the node itself, `register_prehook` and `register_hook`, run just before 2 and just after 3. The whole order, for all
# tensors: [tutorial 12](12_hooks.py).)
#
# A post-accumulate hook gets the leaf and must return None. It changes the leaf itself. Our `descend` does exactly this:

# %%
weights = new_weights()
before = loss_of(weights).item()
for w in weights:
    w.register_post_accumulate_grad_hook(descend)
loss_of(weights).backward()
print(f"gradients: {held(weights)} bytes")
print("the loss has fallen:", loss_of(weights).item() < before)

# %% [markdown]
# No other line is needed. The backward is the training step.
#
# **Predict.** How many bytes of gradients exist at the same time, at most, during such a backward? And are the weights afterwards
# identical to those of the usual order, to the bit?
#
# <details><summary>Answer</summary>
#
# One gradient, 1 MiB. Each gradient is dropped before the next weight gets its gradient. And the weights are identical: as we will
# see, every node that needs $W_k$ has already run, so the step changes no value that is still needed.
#
# </details>

# %%
most = 0


def look_and_descend(w):
    global most
    most = max(most, held(stepped))
    descend(w)


usual, stepped = new_weights(), new_weights()
for w in stepped:
    w.register_post_accumulate_grad_hook(look_and_descend)
for _ in range(3):
    loss_of(usual).backward()
    for w in usual:
        descend(w)
    loss_of(stepped).backward()
print(f"at most {most / MIB:.0f} MiB of gradients")
print("the same weights:", all([bool((a == b).all()) for a, b in zip(usual, stepped)]))

# %% [markdown]
# ### Deeper: all memory, measured
#
# The count looks at `.grad` only. What does the backward really take? `tracemalloc` counts all memory that Python and NumPy ask
# for:

# %%
def peak(weights):
    """The most additional bytes in use at any time during a backward."""
    loss = loss_of(weights)
    tracemalloc.start()
    loss.backward()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


many = new_weights(layers=32)
usual_order = peak(many)
for w in many:
    w.grad = None
    w.register_post_accumulate_grad_hook(descend)
print(f"32 layers take {usual_order / MIB:.0f} MiB")
print("with the step inside, less than a fifth of that:", peak(many) < usual_order / 5)

# %% [markdown]
# It does not grow with the number of layers. Interpreted it is 3 MiB: the gradient, and the memory for the step. Compiled it is
# between 1 and 5 MiB, because compiled minigrad keeps a few freed arrays for reuse, and the result depends on how many there are.
#
# ### Deeper: with an optimizer
#
# An optimizer of `mg.optim` makes a step for all its parameters together. So give each parameter its own optimizer. Each parameter
# has its own state, such as the momentum, in both cases.

# %%
weights = new_weights(layers=3, n=4)
optimizers = {w: mg.optim.SGD([w], lr=0.1, momentum=0.9) for w in weights}


def step(w):
    optimizers[w].step()
    optimizers[w].zero_grad()


for w in weights:
    w.register_post_accumulate_grad_hook(step)
for _ in range(3):
    loss = loss_of(weights)
    loss.backward()
    print(f"{loss.item():.4f}", [w.grad for w in weights])

# %% [markdown]
# ## Why it is safe
#
# A product saves its factors: the formula for the gradient of $h_{k-1}$ needs $W_k$ ([tutorial 7](07_saved_tensors.py)). If the step changed
# $W_k$ first, that gradient would be wrong. (minigrad would notice: writes are counted, and the count is compared when a saved
# tensor is used, [tutorial 9](09_version_counters.py).) So when exactly does the node of a leaf run?
#
# Like every node, an `AccumulateGrad` waits until *all* its gradients have arrived. All nodes through which a gradient flows to
# $W_k$ have run by then, and each has used what it has saved. For a weight that is used twice, this is after the second use. When
# it waits for nothing more, it runs before all other nodes that are ready. (Of these, the node that was made last runs first, and
# an `AccumulateGrad` counts as later than all others: [tutorial 2](02_the_engine.py).)

# %%
W1, W2 = new_weights(layers=2, n=2)
loss = loss_of([W1, W2])
mg.viz.draw(loss, names={"W1": W1, "W2": W2, "loss": loss})

# %%
def step_of_W1(w):
    descend(w)


def step_of_W2(w):
    descend(w)


W1.register_post_accumulate_grad_hook(step_of_W1)
W2.register_post_accumulate_grad_hook(step_of_W2)
with mg.debug.record() as r:
    loss.backward()
for event in r.events:
    if event.kind == "compute":
        print(event.op)
    elif event.kind == "hook":
        print("   ", event.data["function"])

# %% [markdown]
# The step of $W_2$ runs when its product has run, before the first layer. So the gradients are complete one after the other,
# and can be freed one after the other. This keeps the memory low.
#
# ## Deeper: several gradients at once
#
# Sometimes you need several gradients: for the norm of all gradients of a layer, or to know that two heads of a network are both
# done. A hook on several tensors should be called **once per backward**, when all their gradients are there. The obvious way is to
# count:

# %%
def when_all_wrong(tensors, fn):
    arrived = []

    def hook(g):
        arrived.append(g)
        if len(arrived) == len(tensors):
            fn(list(arrived))
            arrived.clear()

    return [x.register_hook(hook) for x in tensors]


a, b, c = [mg.tensor(v, requires_grad=True) for v in (2.0, 3.0, 4.0)]
handles = when_all_wrong([a, b, c], lambda grads: print("all:", grads))
print("a b c:")
(a * b * c).backward()
print("a b:")
(a * b).backward()
print("a b again:")
(a * b).backward()
for handle in handles:
    handle.remove()

# %% [markdown]
# There are three faults. The gradients are in the order of their arrival, and not in the order of the tensors. The second backward
# does not use $c$, so the hook waits in vain. And its two gradients are still in the list when the third backward begins, so the
# hook then reports a mixture.
#
# A correct hook must know how many gradients will come *in this backward*. Only the engine knows this, because it has counted before
# the first node runs. And the hook must keep a separate list for each backward. `register_multi_grad_hook` does both:

# %%
multi = mg.autograd.graph.register_multi_grad_hook
handle = multi([a, b, c], lambda grads: print("all:", grads))
print("a b c:")
(a * b * c).backward()
print("a b:")
(a * b).backward()
handle.remove()

# %% [markdown]
# None stands for a gradient that this backward does not compute. With `mode="any"` the function is called with the first
# gradient that arrives, and not again in this backward:

# %%
with multi([a, b, c], lambda grad: print("the first:", grad), mode="any"):
    (a * b * c).backward()

# %% [markdown]
# **Predict.** Three tensors lie on one path: $s = \sin a$, $e = \exp s$, $q = e^2$. Which of them calls a hook on `[s, e, q]` with
# `mode="any"`, and which one with `"all"`?
#
# <details><summary>Answer</summary>
#
# A backward begins at the end: the gradient of $q$ comes first, so it calls "any". The gradient of $s$ comes last, so it calls "all".
#
# </details>

# %%
s = a.sin()
e = s.exp()
q = e * e
for name, x in {"s": s, "e": e, "q": q}.items():
    x.register_hook(lambda g, name=name: print(f"gradient of {name}"))
multi([s, e, q], lambda grad: print("    any"), mode="any")
multi([s, e, q], lambda grads: print("    all"))
q.backward()

# %% [markdown]
# With "any", a library can notice that the backward has reached a part of the network, and load the data for this part. With "all" it
# notices that the part is done.
#
# The function cannot change the gradients: its return value is ignored.
#
# ## Deeper: an edge instead of a tensor
#
# All these hooks are registered on tensors, and `autograd.grad` takes tensors, too. But the engine needs only two things of a tensor:
# the node that its gradient goes to, and the number of the slot there, which is 0 unless the node has several results. This pair is
# an edge of the graph, and `get_gradient_edge` returns it.

# %%
get_edge = mg.autograd.graph.get_gradient_edge
h = a * b
edge = get_edge(h)
print(edge.node.name(), edge.output_nr)
print(edge.node is h.grad_fn, get_edge(a).node.name())

# %% [markdown]
# You can pass an edge wherever autograd takes a tensor: as an input, to get the gradient there, and as an output, to begin there.

# %%
y = h.sin()
by_tensor, = mg.autograd.grad(y, h, retain_graph=True)
by_edge, = mg.autograd.grad(y, edge, retain_graph=True)
onwards, = mg.autograd.grad(edge, a)
print(f"dy/dh = {by_tensor.item():.4f}, by the edge {by_edge.item():.4f}")
print(f"dh/da = {onwards.item():.4f}, from the edge on")

# %% [markdown]
# What is this good for? An edge keeps the *graph* behind it alive, but not the tensor. A result can be large. If no node has saved
# it, its memory can be freed, and you can still compute its gradient:

# %%
h = mg.ones(512, 512) * a
y = (h + 1.0).sum()
edge, size, tensor = get_edge(h), h.nbytes, weakref.ref(h)
del h
print(f"the tensor of {size / MIB:.0f} MiB is gone:", tensor() is None)
grad, = mg.autograd.grad(y, edge)
print("its gradient:", list(grad.shape))

# %% [markdown]
# With edges you can also split a backward into two parts, at any place. The upper part ends at the edge. The lower part starts there,
# perhaps much later, with the gradient of the upper part. Pipelines over several devices do this: they send the gradient to the next
# device immediately, and compute the gradients of the weights later. See exercise 3.
#
# ## Step by step
#
# Here are two layers, with a step after each accumulation. Watch the versions of the storages, which count the writes. At which step
# does the version of `W2` go up, and has the product used its saved `W2` by then?

# %%
W1, W2 = new_weights(layers=2, n=2)
for w in (W1, W2):
    w.register_post_accumulate_grad_hook(descend)
with mg.debug():
    loss = loss_of([W1, W2])
with mg.debug.record(W1=W1, W2=W2, loss=loss) as r:
    loss.backward()
mg.viz.step(r)

# %% [markdown]
# ### Deeper: side by side with the usual order
#
# Beside it is the usual order. On the left the hooks and their writes are inside the backward, on the right the steps come after it.
# Everything else is the same, including the numbers:

# %%
def usual_order():
    W1, W2 = new_weights(layers=2, n=2)
    with mg.debug():
        loss = loss_of([W1, W2])
    with mg.debug.record(W1=W1, W2=W2, loss=loss) as found:
        loss.backward()
        descend(W1)
        descend(W2)
    return found


mg.viz.diff(r, usual_order(), labels=("inside", "after"))

# %% [markdown]
# The steps on the left as a table, without the queue:

# %%
for event in r.events:
    if event.kind in ("compute", "accumulate", "hook", "write"):
        what = event.op or event.what
        print(f"{event.step:3}  {event.kind:<10}  {what:<17}  {event.why}")

# %% [markdown]
# ## The source
#
# This is the work of a leaf's node. Note that the post-accumulate hooks are also called if only None reached the leaf, so that there
# is no gradient.

# %%
mg.utils.source.source_of("_core/graph/accumulate_grad.py", "AccumulateGrad.compute")

# %% [markdown]
# The call of the hooks, and the check that they return nothing:

# %%
mg.utils.source.source_of("_core/graph/hooks.py", "run_post_accumulate_hooks")

# %% [markdown]
# These are the data of a hook on several tensors. `rounds` has one entry per backward, or *task*, with a weak reference to the task, so
# nothing remains for the next task. `will_execute` asks the engine whether a node will run.

# %%
mg.utils.source.source_of("autograd/_multi_grad.py", "Gathered")

# %% [markdown]
# And the edge of a tensor:

# %%
mg.utils.source.source_of("autograd/graph.py", "get_gradient_edge")

# %% [markdown]
# ## The same in PyTorch
#
# The same names, and the same results:
#
# ```python
# >>> import torch
# >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
# >>> def descend(w):
# ...     with torch.no_grad():
# ...         w.sub_(w.grad, alpha=0.25)
# ...     w.grad = None
# >>> handle = w.register_post_accumulate_grad_hook(descend)
# >>> (w * w).sum().backward()
# >>> w, w.grad
# (tensor([0.5000, 1.0000], requires_grad=True), None)
# >>> a, b, c = [torch.tensor(v, requires_grad=True) for v in (2.0, 3.0, 4.0)]
# >>> handle = torch.autograd.graph.register_multi_grad_hook([a, b, c], print)
# >>> (a * b).backward()
# [tensor(3.), tensor(2.), None]
# >>> h = a * b
# >>> edge = torch.autograd.graph.get_gradient_edge(h)
# >>> y = h + 1
# >>> del h
# >>> torch.autograd.grad(y, edge)
# (tensor(1.),)
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | mechanism | minigrad | PyTorch |
# |---|---|---|
# | the node of a leaf | `minigrad/_core/graph/accumulate_grad.py`, `AccumulateGrad.apply` | [`accumulate_grad.cpp`][accumulate_grad.cpp], `AccumulateGrad::apply` |
# | post-accumulate hooks | `minigrad/_core/surface/variable.py`, `register_post_accumulate_grad_hook` | [`torch/_tensor.py`][_tensor.py], the same name |
# | hooks on several tensors | `minigrad/autograd/_multi_grad.py` | [`torch/autograd/graph.py`][graph.py], `register_multi_grad_hook` |
# | edges | `minigrad/autograd/graph.py`, `GradientEdge` | the same file, the same name |
#
# [accumulate_grad.cpp]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/functions/accumulate_grad.cpp
# [_tensor.py]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_tensor.py
# [graph.py]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/autograd/graph.py
#
# Two differences, both of hooks on several tensors. If one of these is a leaf, the hook works here under `autograd.grad` too;
# PyTorch raises, "A leaf node was passed to _will_engine_execute_node". And if one is what `backward` is called on, as `q` was
# above, PyTorch 2.13 does not count its node as one that will run. It calls "all" one gradient too early, with None for the last.
#
# ## What goes wrong
#
# **The tensor is not a leaf.** Only leaves accumulate, so only they can have such a hook. On other tensors, use `register_hook` to see
# the gradient.

# %%
h = a * b
with mg.testing.expect_error(RuntimeError, code="MG-E111"):
    h.register_post_accumulate_grad_hook(descend)

# %% [markdown]
# **The hook returns something**, often by accident, as a `lambda` returns the value of its expression:

# %%
w = mg.tensor([1.0, 2.0], requires_grad=True)
handle = w.register_post_accumulate_grad_hook(lambda w: w.grad.sum())
with mg.testing.expect_error(RuntimeError, code="MG-E111"):
    (w * w).sum().backward()
handle.remove()

# %% [markdown]
# **Two losses.** Both were computed with the same weights. The first backward changes the weights, but the second needs the saved
# weights from before the step. minigrad notices this, and so does PyTorch:

# %%
w = mg.tensor([1.0, 2.0], requires_grad=True)
w.register_post_accumulate_grad_hook(descend)
first, second = (w * w).sum(), (w * w * w).sum()
first.backward()
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    second.backward()

# %% [markdown]
# Add the losses and run one backward, or compute the second after the step.
#
# **A detached weight.** `w.detach()` shares the memory of `w`, but no edge leads from its uses to `w`. So the step does not wait for
# these uses:

# %%
w.grad = None
x = mg.tensor([3.0, 4.0], requires_grad=True)
early = x * w.detach()          # saves the memory of w; made first, so it runs last
late = w * 2.0
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    (early + late).sum().backward()

# %% [markdown]
# ### Deeper: more cases
#
# **A hook on several tensors, of which one requires no gradient.** It would wait for ever:

# %%
with mg.testing.expect_error(AssertionError, code="MG-E190"):
    multi([a, mg.tensor(1.0)], print)

# %% [markdown]
# **An edge of a tensor without a gradient.** There is none:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E107"):
    get_edge(mg.tensor(1.0))

# %% [markdown]
# **Code that needs all gradients together finds none.** There is no error here. Clipping by the norm of all gradients comes too late,
# because each gradient was already used and dropped:

# %%
weights = new_weights(layers=2, n=2)
for w in weights:
    w.register_post_accumulate_grad_hook(descend)
loss_of(weights).backward()
print("the norm of all gradients:", mg.nn.utils.clip_grad_norm_(weights, 1.0).item())

# %% [markdown]
# The same holds for gradients that you want to sum over several batches (exercise 2 solves this). And `autograd.grad` calls no
# post-accumulate hooks: it returns the gradients, and accumulates nothing.
#
# **The hook is on the node of the leaf.** A leaf has only a weak reference to its node. The node lives as long as something, such as a
# graph, holds it, and the next graph creates a new node. A hook on the node silently disappears with it. A hook on the leaf stays.

# %%
w = mg.tensor([1.0, 2.0], requires_grad=True)
get_edge(w).node.register_hook(lambda *grads: print("a hook on a node that is freed"))
(w * w).sum().backward()
node = get_edge(w).node
node.register_hook(lambda *grads: print("a hook on a node that we hold"))
(w * w).sum().backward()

# %% [markdown]
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. Momentum.** Write `attach(weights, lr, momentum)`. After this call, each backward makes a step of gradient descent with
# momentum: $v \leftarrow \mu v + g$, $W \leftarrow W - \eta v$, where $v$ begins as the first $g$. No gradient remains after the
# backward. `attach` returns a list of handles; when you remove them, backward works as before.

# %%
def attach(weights, lr, momentum):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(1)
def check_attach(attach):
    mine, right = new_weights(3, 4), new_weights(3, 4)
    handles = attach(mine, 0.5, 0.9)
    sgd = mg.optim.SGD(right, lr=0.5, momentum=0.9)
    for step in range(1, 5):
        loss_of(mine).backward()
        assert held(mine) == 0, "a gradient is left after the backward"
        loss_of(right).backward()
        sgd.step()
        sgd.zero_grad()
        alike = [mg.allclose(w, v, atol=1e-5) for w, v in zip(mine, right)]
        assert all(alike), f"the weights differ from mg.optim.SGD after step {step}"
    for handle in handles:
        handle.remove()
    loss_of(mine).backward()
    assert held(mine) > 0, "the hooks are still there"
    print("right")


# %% tags=["help"]
check_attach.hints = [
    "The step needs the complete gradient of a weight. After which event is it in `.grad`?",
    "`w.register_post_accumulate_grad_hook(f)` calls `f(w)` when `.grad` is complete. Each "
    "weight has a velocity of its own: keep them in a dict.",
    "In the hook: the new velocity is the gradient, or `momentum` times the old one plus the "
    "gradient. Subtract `lr` times the velocity from `w`, and set `.grad` to None. Return the "
    "handles."]
check_attach.wrong = {
    "the weights differ from mg.optim.SGD after step 1":
        "The first velocity is the whole first gradient. A factor `1 - momentum` belongs to "
        "another rule.",
    "the weights differ from mg.optim.SGD after step 2":
        "The first step is right, but the second is not. Do you keep a separate velocity for "
        "each weight?",
    "a gradient is left after the backward": "Set `.grad` to None after the step.",
    "must be Tensor, not NoneType":
        "A hook of `register_hook` runs before the gradient is in `.grad`. Use the hook that "
        "runs after it.",
    "the hooks are still there": "Return the handles of all hooks."}


# %% tags=["hide-cell", "solution"]
def attach_solution(weights, lr, momentum):
    velocity = {}

    def step(w):
        with mg.no_grad():
            old = velocity.get(w)
            velocity[w] = w.grad if old is None else momentum * old + w.grad
            w.sub_(velocity[w], alpha=lr)
        w.grad = None

    return [w.register_post_accumulate_grad_hook(step) for w in weights]


check_attach(attach_solution)

# %% [markdown]
# **2. Every third batch.** A batch is too large, so it comes in parts: sum the gradients over $k$ backwards, and then make one step.
# Write `attach_every(weights, k)`. Its hooks call `descend` in every $k$-th backward, and let `.grad` grow in the others. You may
# assume that every backward uses every weight.

# %%
def attach_every(weights, k):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_attach_every(attach_every):
    mine, right = new_weights(3, 4), new_weights(3, 4)
    attach_every(mine, 3)
    for _ in range(2):
        for part in (1.0, 2.0, 3.0):
            start = [w.detach().clone() for w in mine]
            (part * loss_of(mine)).backward()
            moved = sum([bool((w != v).any()) for w, v in zip(mine, start)])
            assert moved == 3 * (part == 3.0), f"part {part:.0f}: {moved} of 3 weights move"
        assert held(mine) == 0, "a gradient is left"
        (6.0 * loss_of(right)).backward()
        for w in right:
            descend(w)
    alike = [mg.allclose(w, v, atol=1e-5) for w, v in zip(mine, right)]
    assert all(alike), "the weights differ"
    print("right")


# %% tags=["help"]
check_attach_every.hints = [
    "A hook is called once per weight and backward. What must it count, and how many counters "
    "are there?",
    "Each weight needs a counter of its own: a list, or an entry of a dict. "
    "`functools.partial` gives a hook a further argument.",
    "In the hook, add 1 to the count. If the count is `k`, set it to 0 and call `descend(w)`. "
    "Otherwise do nothing: `.grad` grows by itself."]
check_attach_every.wrong = {
    "part 1: 1 of 3 weights move":
        "The weights share a counter. Three weights count to 3 in a single backward.",
    "part 1: 3 of 3 weights move": "A step was made in each backward.",
    "part 3: 0 of 3 weights move":
        "The third backward has to make the step: count it before you compare.",
    "the weights differ":
        "The step must use the sum of the gradients of all parts. Do not set `.grad` to None "
        "between them."}


# %% tags=["hide-cell", "solution"]
def attach_every_solution(weights, k):
    def hook(count, w):
        count.append(1)
        if len(count) == k:
            count.clear()
            descend(w)

    for w in weights:
        w.register_post_accumulate_grad_hook(functools.partial(hook, []))


check_attach_every(attach_every_solution)

# %% [markdown]
# **3. A backward in two halves.** Write `halves(loss, edge, upper, lower)`. It returns one list: the gradients of the weights
# `upper`, between the edge and the loss, and then those of the weights `lower`, behind the edge. Each node may run only once. Hint:
# the edge is first an input, and then an output.

# %%
def halves(loss, edge, upper, lower):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_halves(halves):
    weights = new_weights(4, 4)
    right = mg.autograd.grad(loss_of(weights), weights)
    h = mg.ones(1, 4)
    for k, w in enumerate(weights):
        h = (h @ w).tanh()
        if k == 1:
            edge = get_edge(h)
    loss = (h * h).mean()
    del h
    with mg.debug.record() as r:
        found = halves(loss, edge, weights[2:], weights[:2])
    wanted = [*right[2:], *right[:2]]
    assert len(found) == 4, f"{len(found)} gradients instead of four"
    alike = [mg.allclose(g, v) for g, v in zip(found, wanted)]
    assert all(alike), f"right for upper, then lower: {alike}"
    ran = [event.node for event in r.events if event.kind == "compute"]
    assert len(ran) == len(set(ran)) == 10, "a node has run twice"
    begun = [event for event in r.events if event.kind == "begin"]
    assert len(begun) == 2, f"{len(begun)} backwards instead of two"
    print("right")


# %% tags=["help"]
check_halves.hints = [
    "`autograd.grad` accepts an edge where it accepts a tensor. What do you need at the edge, "
    "to go on behind it?",
    "The first call goes from the loss to the edge and to `upper`. The second begins at the "
    "edge, with the gradient that has arrived there.",
    "Ask the first call for `[edge, *upper]`. Its first result is the third argument of the "
    "second call, whose output is `edge` and whose inputs are `lower`."]
check_halves.wrong = {
    "1 backwards instead of two":
        "This is one backward for everything. Stop at the edge, and begin there again.",
    "MG-E101": "Two backwards from the loss share nodes. Let the second begin at the edge.",
    "a node has run twice": "The second backward began at the loss again. Begin it at the edge.",
    "right for upper, then lower: [False, False, False, False]":
        "First the gradients of `upper`, then those of `lower`.",
    "MG-E108":
        "The second backward needs the gradient that the first one has brought to the edge.",
    "[True, True, False, False]":
        "The second half begins with the gradient at the edge, and not with ones."}


# %% tags=["hide-cell", "solution"]
def halves_solution(loss, edge, upper, lower):
    at_edge, *of_upper = mg.autograd.grad(loss, [edge, *upper])
    of_lower = mg.autograd.grad(edge, lower, at_edge)
    return [*of_upper, *of_lower]


check_halves(halves_solution)

# %% [markdown]
# ## What to remember
#
# * At a leaf: tensor hooks, then the gradient is added to `.grad`, then **post-accumulate hooks**, with the leaf.
# * A step in such a hook can drop the gradient immediately. Then the gradients never exist all at the same time.
# * This is safe because a leaf waits for all nodes through which a gradient reaches it, and these nodes have used their saved tensors.
#   It is not safe for a second loss or a detached weight.
# * **`register_multi_grad_hook`** calls a function once per backward, with all gradients ("all") or with the first ("any"). The engine
#   knows how many will come.
# * A **`GradientEdge`** is a node and a number. It represents the gradient of a tensor, without keeping the tensor alive.
#
# **Next:** [tutorial 14](14_function.py), your own operation, with your own derivative.
