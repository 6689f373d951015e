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
# **The question.** After a backward all gradients lie there at once, as large together as all the parameters, and wait for the
# optimizer. Must they? Each was complete at some moment *during* the backward, and could have been used and dropped then.
#
# You need: [tutorial 1](01_derivative_to_graph.py); of [tutorial 2](02_the_engine.py) that a node waits for all its gradients; and the node of a leaf
# ([tutorial 3](03_leaves.py)). [Tutorial 12](12_hooks.py) has the other kinds of hooks. You get: the hook that runs when a gradient has been added to
# `.grad`, an optimizer that steps inside the backward, and what it saves, in bytes; a hook on several gradients at once; and
# `GradientEdge`, which stands for the gradient of a tensor when the tensor itself is gone.
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
# This is the usual order: a backward, then the steps, then the gradients go.

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
# A step needs to be told when the gradient of its weight is complete. There is a hook that one meets first, `register_hook`: it is
# called with the gradient when that has arrived at the tensor. Let us step in it.

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
# The step is right. A leaf's hook sees the sum of all contributions. But nothing has been saved: the hook runs *before* the
# gradient is added to `.grad`, and so the gradient lies in `.grad` in the end. The hook cannot drop what is not there yet. And
# an optimizer, which reads `.grad`, would have found None, or the gradient of last time.
#
# ## At the right moment
#
# The work at the end of each path is done by the leaf's node, `AccumulateGrad`: it adds what has arrived to `.grad`. What one can
# hang around it runs in this order:
#
# | | called with | `.grad` |
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
# A post-accumulate hook gets the leaf and has to return None. What it wants to do, it does to the leaf. That is our `descend`,
# as it stands:

# %%
weights = new_weights()
before = loss_of(weights).item()
for w in weights:
    w.register_post_accumulate_grad_hook(descend)
loss_of(weights).backward()
print(f"gradients: {held(weights)} bytes")
print("the loss has fallen:", loss_of(weights).item() < before)

# %% [markdown]
# There is no other line. The backward is the training step.
#
# **Predict.** How many bytes of gradients exist at once, at most, during such a backward? And are the weights afterwards the
# same as by the usual order, to the bit?
#
# <details><summary>Answer</summary>
#
# One gradient, 1 MiB. Each is dropped before the next weight's turn. And the weights are the same: the layers below have used
# $W_k$ already where they needed it, as we will see, so the step changes nothing that is still to be read.
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
# The count looks at `.grad` only. What does the backward really take? `tracemalloc` counts all memory that Python and NumPy ask
# for:

# %%
def peak(weights):
    """By how many bytes a backward exceeds, at its worst, what there was before it."""
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
# It does not grow with the number of layers. Interpreted it is 3 MiB: the gradient, and what the step needs besides. Compiled it is
# between 1 and 5 MiB, since minigrad then keeps a few arrays that nobody needs any more, to use them again, and it depends on how
# many are there already.
#
# ### With an optimizer
#
# An optimizer of `mg.optim` steps for all its parameters at once. So give each parameter one of its own. Their states, such as the
# momentum, stay apart as they would within one.

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
# tensor is used, [tutorial 9](09_version_counters.py).) So when exactly does a leaf have its turn?
#
# As every node, an `AccumulateGrad` waits until *all* that will reach it has arrived. All nodes through which a gradient flows
# to $W_k$ have run by then, and each has used what it has saved. For a weight that is used twice that is after the second of its
# uses. And as soon as it waits for nothing more, it runs before all other nodes that are ready. (Of these the one made last goes
# first, and an `AccumulateGrad` counts as later than all: [tutorial 2](02_the_engine.py).)

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
# $W_2$ has its turn when its product has run, while the first layer is still to come. That is what makes the memory fall:
# gradients come one by one, and so they can go one by one.
#
# ## Several gradients at once
#
# Sometimes one gradient is not enough: the norm of all gradients of a layer; a message that two heads of a network are both
# done. A hook on several tensors should be called **once per backward**, when all their gradients are there. The obvious way is
# to count:

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
# Three faults. The gradients come in the order in which they arrive, and not in that of the tensors. In the second backward $c$
# has no part, so the hook waits in vain. And the two that it has got are still in its list when the third backward begins: what
# it reports then is a mixture.
#
# To do it right one has to know how many will come *in this backward*. Only the engine knows, which has looked at the graph
# before the first node runs. And what has come must be noted per backward. `register_multi_grad_hook` does both:

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
# A backward comes from the end: $q$ first, so it is the one of "any"; and $s$ last, so "all" is called there.
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
# With "any", a library learns that the backward has come to a part of the network, and can fetch from elsewhere what that part
# needs. With "all" it learns that the part is done.
#
# The function cannot change the gradients: what it returns is ignored.
#
# ## An edge instead of a tensor
#
# All these hooks hang on tensors. `autograd.grad` asks for tensors, too. But what the engine needs of one is little: the node
# that its gradient goes to, and the number of the slot there, which is 0 unless the node has several results. That pair is an edge
# of the graph, and `get_gradient_edge` gives it.

# %%
get_edge = mg.autograd.graph.get_gradient_edge
h = a * b
edge = get_edge(h)
print(edge.node.name(), edge.output_nr)
print(edge.node is h.grad_fn, get_edge(a).node.name())

# %% [markdown]
# An edge can stand wherever autograd takes a tensor: as an input, for the gradient there, and as an output, to begin at.

# %%
y = h.sin()
by_tensor, = mg.autograd.grad(y, h, retain_graph=True)
by_edge, = mg.autograd.grad(y, edge, retain_graph=True)
onwards, = mg.autograd.grad(edge, a)
print(f"dy/dh = {by_tensor.item():.4f}, by the edge {by_edge.item():.4f}")
print(f"dh/da = {onwards.item():.4f}, from the edge on")

# %% [markdown]
# What for? An edge keeps the *graph* behind it alive and not the tensor. A result can be large; if nothing has saved it, its
# memory can go, and its gradient can still be asked for:

# %%
h = mg.ones(512, 512) * a
y = (h + 1.0).sum()
edge, size, tensor = get_edge(h), h.nbytes, weakref.ref(h)
del h
print(f"the tensor of {size / MIB:.0f} MiB is gone:", tensor() is None)
grad, = mg.autograd.grad(y, edge)
print("its gradient:", list(grad.shape))

# %% [markdown]
# With edges one can also cut a backward in two, at a place of one's choice. The upper half ends at the edge. The lower half
# starts there, perhaps much later, with the gradient that has been found. Pipelines over several devices do this, to send the
# gradient to the next device at once and to compute those of the weights when there is time. Exercise 3 is about it.
#
# ## Step by step
#
# Two layers, and a step after each accumulation. Watch the versions of the storages, which count the writes. At which step does
# that of `W2` go up, and what has become by then of the `W2` that the product had saved?

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
# Beside it the usual order. The hooks and their writes come within the backward on the left, and after its end on the right. All
# else is the same, step by step, down to the numbers:

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
# What the node of a leaf does. Mind that the post-accumulate hooks are called even if no gradient has arrived, when all that
# reached the leaf was None.

# %%
mg.utils.source.source_of("_core/graph/accumulate_grad.py", "AccumulateGrad.compute")

# %% [markdown]
# The call of the hooks, and the check that they return nothing:

# %%
mg.utils.source.source_of("_core/graph/hooks.py", "run_post_accumulate_hooks")

# %% [markdown]
# The notes of a hook on several tensors. `rounds` has an entry per backward, or *task*, and holds the task weakly: nothing is
# carried over to the next one. `will_execute` asks the engine what it has counted.

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
# | | minigrad | PyTorch |
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
# **The hook is on no leaf.** Only leaves accumulate, so only they can have such a hook. On other tensors `register_hook` sees the
# gradient.

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
# **Two losses.** Both were computed with the same weights. The first backward steps, and then the second uses what was saved
# before the step. minigrad notices, and so does PyTorch:

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
# **A detached copy of a weight.** `w.detach()` shares the memory of `w`, and no edge leads from its uses to `w`. So nobody
# waits for them:

# %%
w.grad = None
x = mg.tensor([3.0, 4.0], requires_grad=True)
early = x * w.detach()          # saves the memory of w; made first, so it runs last
late = w * 2.0
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    (early + late).sum().backward()

# %% [markdown]
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
# **What needs all gradients at once, finds none.** Here nothing is raised. Clipping by the norm of all gradients comes too late
# when each has been used and dropped:

# %%
weights = new_weights(layers=2, n=2)
for w in weights:
    w.register_post_accumulate_grad_hook(descend)
loss_of(weights).backward()
print("the norm of all gradients:", mg.nn.utils.clip_grad_norm_(weights, 1.0).item())

# %% [markdown]
# The same holds for gradients that are to be summed over several batches (exercise 2 mends that). And `autograd.grad` calls no
# post-accumulate hooks: it gives the gradients to you, and accumulates nothing.
#
# **The hook hangs on the node of the leaf.** A leaf holds its node weakly: the node lives as long as some graph, or somebody,
# holds it, and the next graph makes another. A hook on the node goes with it, without a word. One on the leaf stays.

# %%
w = mg.tensor([1.0, 2.0], requires_grad=True)
get_edge(w).node.register_hook(lambda *grads: print("a hook on a node that nobody held"))
(w * w).sum().backward()
node = get_edge(w).node
node.register_hook(lambda *grads: print("a hook on a node that we hold"))
(w * w).sum().backward()

# %% [markdown]
# ## Exercises
#
# Each has a check that runs. Solutions are folded away below it.
#
# **1. Momentum.** Write `attach(weights, lr, momentum)`. After it, each backward makes a step of gradient descent with
# momentum: $v \leftarrow \mu v + g$, $W \leftarrow W - \eta v$, where $v$ begins as the first $g$. It leaves no gradient
# behind, and returns a list of handles; when they are removed, all is as before.

# %%
def attach(weights, lr, momentum):
    """Your lines go here."""


# %%
def check_attach(attach):
    mine, right = new_weights(3, 4), new_weights(3, 4)
    handles = attach(mine, 0.5, 0.9)
    sgd = mg.optim.SGD(right, lr=0.5, momentum=0.9)
    for _ in range(4):
        loss_of(mine).backward()
        assert held(mine) == 0, "a gradient is left after the backward"
        loss_of(right).backward()
        sgd.step()
        sgd.zero_grad()
    alike = [mg.allclose(w, v, atol=1e-5) for w, v in zip(mine, right)]
    assert all(alike), "other weights than by mg.optim.SGD after four steps"
    for handle in handles:
        handle.remove()
    loss_of(mine).backward()
    assert held(mine) > 0, "the hooks are still there"
    print("right")


# %% tags=["hide-cell"]
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
# **2. Every third batch.** A batch is too large, so it comes in parts; gradients are summed over $k$ backwards, and then one
# step is made. Write `attach_every(weights, k)`, whose hooks step, by `descend`, in every $k$-th backward, and let `.grad` grow
# in the others. Does a weight that has no part in one of the backwards trouble you? It need not, here.

# %%
def attach_every(weights, k):
    """Your lines go here."""


# %%
def check_attach_every(attach_every):
    mine, right = new_weights(3, 4), new_weights(3, 4)
    attach_every(mine, 3)
    for _ in range(2):
        for part in (1.0, 2.0, 3.0):
            start = [w.detach().clone() for w in mine]
            (part * loss_of(mine)).backward()
            moved = any([bool((w != v).any()) for w, v in zip(mine, start)])
            assert moved == (part == 3.0), f"part {part:.0f}: moved is {moved}"
        assert held(mine) == 0, "a gradient is left"
        (6.0 * loss_of(right)).backward()
        for w in right:
            descend(w)
    alike = [mg.allclose(w, v, atol=1e-5) for w, v in zip(mine, right)]
    assert all(alike), "other weights"
    print("right")


# %% tags=["hide-cell"]
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
# **3. A backward in two halves.** Write `halves(loss, edge, upper, lower)`. It returns the gradients of the weights `upper`,
# which lie between the edge and the loss, and then of the weights `lower`, behind the edge: one list. Each node may run once.
# Hint: an edge is an input first, and an output then.

# %%
def halves(loss, edge, upper, lower):
    """Your lines go here."""


# %%
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
    assert all(alike), f"right of upper, then lower: {alike}"
    ran = [event.node for event in r.events if event.kind == "compute"]
    assert len(ran) == len(set(ran)) == 10, "a node has run twice"
    begun = [event for event in r.events if event.kind == "begin"]
    assert len(begun) == 2, f"{len(begun)} backwards instead of two"
    print("right")


# %% tags=["hide-cell"]
def halves_solution(loss, edge, upper, lower):
    at_edge, *of_upper = mg.autograd.grad(loss, [edge, *upper])
    of_lower = mg.autograd.grad(edge, lower, at_edge)
    return [*of_upper, *of_lower]


check_halves(halves_solution)

# %% [markdown]
# ## What to remember
#
# * At a leaf: tensor hooks, then the gradient is added to `.grad`, then **post-accumulate hooks**, with the leaf.
# * A step in such a hook can drop the gradient at once. Then the gradients never exist all together.
# * It is safe because a leaf waits for all nodes through which a gradient reaches it, and those have used what they saved. A
#   second loss and a detached copy are outside of that.
# * **`register_multi_grad_hook`**: once per backward, with all gradients ("all") or with the first ("any"). The engine knows
#   how many will come.
# * A **`GradientEdge`** is a node and a number: it stands for the gradient of a tensor, and does not keep the tensor.
#
# **Next:** [tutorial 14](14_function.py), an operation of your own, with a derivative of your own.
