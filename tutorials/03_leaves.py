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
# # Leaves, and where gradients end
#
# **Time** 20 minutes, and as long again for the exercises. **Level** beginner. **You need** *node*, *edge* and *graph*, from
# [tutorial 1](01_derivative_to_graph.py), and the steps of a training loop with an optimizer. **Afterwards** you can say which
# tensors get a `.grad`, what a backward does to it, and why a training loop that looks right may train nothing.
#
# **The question.** A backward passes gradients (in the books also *adjoints*) from node to node. Where do they end? Why does one
# tensor have a `.grad` afterwards, while another has None? And why does a training loop that looks right sometimes train nothing?
#
# Our example is a product of a parameter and some data, with a loss behind it:

# %%
import copy
import functools
import gc
import warnings
import weakref

import minigrad as mg

w = mg.tensor([1.0, 2.0], requires_grad=True)
x = mg.tensor([3.0, 4.0])
h = w * x
loss = (h * h).sum()
loss.backward()
print("w.grad:", w.grad.tolist())

# %% [markdown]
# Three tensors took part besides the loss. Which of them have a gradient now?

# %%
print("   requires_grad   is_leaf   .grad")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for name, tensor in (("w", w), ("x", x), ("h", h)):
        print(f"{name}  {tensor.requires_grad!s:<15} {tensor.is_leaf!s:<9} {tensor.grad}")
print(len(said), "warning:", str(said[0].message).split(". ")[0])

# %% [markdown]
# `x` does not require a gradient. `h` has a gradient in the mathematical sense, and the backward did compute it, on its way to
# `w`. But it was not stored: reading `h.grad` gives a warning, and None.
#
# ## What is a leaf?
#
# A **leaf** is a tensor without a `grad_fn`: autograd did not record how it was computed. There are two kinds. Some leaves
# require a gradient, because you said so. The others do not.

# %%
with mg.no_grad():
    unrecorded = w * 2

print(f"{'':<32} requires_grad   is_leaf   grad_fn")
for what, tensor in [
    ("made with requires_grad=True", mg.tensor([1.0], requires_grad=True)),
    ("a parameter of a module", mg.nn.Linear(2, 1).weight),
    ("made without", mg.tensor([1.0])),
    ("computed from such", mg.tensor([1.0]) * 2),
    ("computed under no_grad", unrecorded),
    ("detached", (w * 2).detach()),
    ("an index, from argmax", w.argmax()),
    ("computed from a leaf that does", w * 2),
]:
    node = None if tensor.grad_fn is None else tensor.grad_fn.name()
    print(f"{what:<32} {tensor.requires_grad!s:<15} {tensor.is_leaf!s:<9} {node}")

# %% [markdown]
# Read the last line again: only this tensor is not a leaf. "Leaf" is a position in a graph, its end. A tensor that belongs to no
# graph is also called a leaf.
#
# So a tensor gets a `.grad` if it is a *leaf that requires a gradient*. Why these, and not every tensor? Because of memory. The
# gradient of a leaf is used later, for a step of training. The gradient of an intermediate result is needed only once, by the
# node that computed the result. All these gradients together would take as much memory as all results of the forward.
#
# `requires_grad_()` turns a leaf of the second kind into one of the first. It takes effect from then on: earlier results have
# no record of the leaf.

# %%
v = mg.tensor([1.0, 2.0])
before = v * 2
v.requires_grad_()
after = v * 2
print("before:", before.requires_grad, "  after:", after.requires_grad)

# %% [markdown]
# You can switch it off on a leaf, too. On a result you cannot: every other use of the result would lose its path as well.

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E113"):
    after.requires_grad_(False)

# %% [markdown]
# ## The node of a leaf
#
# A leaf has no `grad_fn`. But an edge must lead to *some* node. So a leaf that requires a gradient gets a special node, an
# **AccumulateGrad**. In pictures it is round:

# %%
h = w * x
loss = (h * h).sum()
mg.viz.draw(loss)

# %% [markdown]
# It holds the leaf, as its `variable`, because its task is to change the leaf's `.grad`. It has no edges of its own:

# %%
node = h.grad_fn.next_functions[0][0]
print(node.name(), node.variable is w, node.next_functions)

# %% [markdown]
# There is **one per leaf**. Every operation that uses the leaf finds the same one, in this graph or in another:

# %%
elsewhere = (w + 1).exp() * w
print(elsewhere.grad_fn.next_functions[1][0] is node)
print(mg.autograd.graph.get_gradient_edge(w).node is node)

# %% [markdown]
# This is where contributions meet. If `w` is used five times, five edges lead to one node, and the engine runs the node once,
# with the sum.
#
# ### Deeper: how an operation finds the node
#
# How does an operation find the node? The leaf has a *weak* reference to it, which does not keep it alive. The node has a strong
# reference to the leaf. If both were strong, the leaf and its node would keep each other alive, and reference counting would
# never free them. So the node lives as long as some graph leads to it. When the last graph is freed, the node is freed too, and
# the next operation creates a new one.

# %%
gc.collect()
leaf = mg.tensor([1.0, 2.0], requires_grad=True)
first, second = leaf * 2, leaf * 3
there = weakref.ref(first.grad_fn.next_functions[0][0])
del first
print("one of two graphs is left, the node lives:", there() is not None)
del second
print("no graph is left, the node lives:         ", there() is not None)

# %% [markdown]
# ## What it does
#
# An AccumulateGrad has one task: add the arriving gradient to `.grad`. If `.grad` is None, there is nothing to add to. So there
# are two cases, and each has a second form. The record says which of them happened:

# %%
def how(action):
    """Run it, and say what each AccumulateGrad did."""
    with mg.debug.record() as r:
        action()
    return [(event.data["how"], event.why)
            for event in r.events if event.kind == "accumulate"]


w.grad = None
print("first: ", *how(lambda: (w * 3).sum().backward()))
print("second:", *how(lambda: (w * 3).sum().backward()))

# %% [markdown]
# **Stolen.** The product's node has computed a new tensor, `[3, 3]`. The engine needs it no longer, and nothing else refers to
# it. A copy would be a waste, so this tensor *becomes* `.grad`. The numbers do not move.
#
# **In place.** There is already a `.grad`. The new numbers are added into its memory. `.grad` remains the same object, and its
# *version*, the number of writes to its memory, goes up ([tutorial 9](09_version_counters.py)):

# %%
w.grad = None
(w * 3).sum().backward()
grad = w.grad
print("version", grad._version, grad.tolist())
(w * 3).sum().backward()
print("version", grad._version, grad.tolist(), "  the same object:", w.grad is grad)

# %% [markdown]
# **Copied.** Stealing is right only if nothing else refers to the tensor. Perhaps a hook has stored the gradient, or you passed
# it in yourself, or it is still on its way to another leaf. Then it is copied. Otherwise the next in-place addition would change
# the numbers of the other owner:

# %%
w.grad, mine = None, mg.ones(2)
print(*how(lambda: w.backward(mine)))
w.backward(mine)
print("w.grad:", w.grad.tolist(), "  mine:", mine.tolist())

# %% [markdown]
# **Predict.** In `(w + u).sin().sum()` both leaves receive the same gradient, $\cos(w + u)$. Is it stolen or copied at the first
# leaf, and at the second? And in `(w + u).sum()`?
#
# <details><summary>Answer</summary>
#
# The first leaf copies it, because it is also on its way to the second. The second leaf steals it, since nothing else holds it
# any more. The gradient of a plain sum is an *expanded* one: two elements, but one number in memory. In-place addition into such
# a tensor is impossible, so both leaves copy it.
#
# </details>

# %%
u = mg.tensor([5.0, 6.0], requires_grad=True)
w.grad = None
print([kind for kind, _ in how(lambda: (w + u).sin().sum().backward())])
w.grad = u.grad = None
print([kind for kind, _ in how(lambda: (w + u).sum().backward())])

# %% [markdown]
# ### Deeper: reference counts, and create_graph
#
# How does minigrad know that something else holds the tensor? It asks Python for the reference counts of the tensor and of its
# array. It expects one reference to each; one more means another owner. The layout must fit, too. `.grad` should have the same
# memory layout as its leaf, because an optimizer walks over both together. A gradient that comes through a transpose does not.

# %%
matrix = mg.ones(2, 3).requires_grad_()
print([kind for kind, _ in how(lambda: (matrix.t() * 2).sin().sum().backward())])
print("strides:", matrix.stride(), matrix.grad.stride())

# %% [markdown]
# **Out of place.** With `create_graph=True` the gradient itself has a graph, so that you can differentiate it again
# ([tutorial 5](05_double_backward.py)). An operation may already have saved the old `.grad`, and a write would change the saved
# value. So the sum is a new tensor, which remembers how it was computed:

# %%
with warnings.catch_warnings():
    warnings.simplefilter("ignore")     # about a cycle: w -> .grad -> its graph -> w
    w.grad = None
    print("first: ", *how(lambda: (w * w).sum().backward(create_graph=True)))
    grad = w.grad
    print("second:", *how(lambda: (w * w).sum().backward(create_graph=True)))
print(f"a new object: {w.grad is not grad}   the old one: {grad.tolist()}")
print(f"it has a graph: {w.grad.requires_grad}")
w.grad = grad = None

# %% [markdown]
# ## Step by step
#
# Two backwards reach one leaf. Look at the table of arrived gradients, and at the version of the storage of `.grad`. With
# *predict*, the page asks you what comes next.

# %%
w.grad = None
with mg.debug.record() as r:
    (w * x).sum().backward()
    (w * w).sum().backward()
mg.viz.step(r)

# %% [markdown]
# The same as a table, at the leaf only. The first column is the number of the backward. In the second backward two
# contributions arrive, and the node runs once:

# %%
for event in r.events:
    if event.op == "AccumulateGrad" and event.kind in ("receive", "accumulate"):
        print(f"{event.task} {event.kind:<10} {event.what:<22} {event.why}")

# %% [markdown]
# ## The source
#
# This function finds the node of a leaf, or creates it. It needs the lock because two threads may use a leaf for the first time
# at the same moment, and both must get the same node:

# %%
mg.utils.source.source_of("_core/graph/accumulate_grad.py", "grad_accumulator")

# %% [markdown]
# This function steals, copies, or adds in place. (`forward` belongs to another mode of differentiation; assume that it is
# False.)

# %%
mg.utils.source.source_of("_core/graph/accumulate_grad.py", "AccumulateGrad.accumulate")

# %% [markdown]
# ## Backwards add up
#
# `.grad` is a *sum over all backwards* since it was last None or zero. This is intended: several losses, or several parts of a
# batch, can contribute to one step. The price is that your program must say when a new sum begins.

# %%
model = mg.nn.Linear(2, 1)
with mg.no_grad():
    model.weight.copy_(mg.tensor([[0.5, -0.5]]))
    model.bias.zero_()
data = mg.arange(12.0).reshape(6, 2) / 10
target = mg.tensor([[1.0], [0.0], [1.0], [0.0], [1.0], [1.0]])


def gradients(clear):
    """The gradient of the weights after each of three backwards of the same loss."""
    model.zero_grad()
    found = []
    for _ in range(3):
        if clear:
            model.zero_grad()
        (model(data) - target).square().mean().backward()
        found.append([round(number, 4) for number in model.weight.grad[0].tolist()])
    return found


print("with zero_grad:   ", gradients(clear=True))
print("without zero_grad:", gradients(clear=False))

# %% [markdown]
# The second line shows the effect of a forgotten `zero_grad()`. There is no error, but each step also includes all gradients of
# the steps before.
#
# ### Deeper: none or zeros?
#
# `zero_grad()` sets `.grad` to None. `zero_grad(set_to_none=False)` writes zeros into it. If every loss uses every parameter,
# both give the same numbers. Three things differ.
#
# *Memory and work.* With None, the memory is free until the next backward, whose result is stolen. With zeros, the memory stays
# in use, the zeros have to be written, and the next gradient has to be added:

# %%
for set_to_none in (True, False):
    (w * 3).sum().backward()
    mg.optim.SGD([w], lr=0.1).zero_grad(set_to_none=set_to_none)
    print(f"set_to_none={set_to_none!s:<5}  .grad: {w.grad}")
    (next_one,) = how(lambda: (w * 3).sum().backward())
    print("what becomes of the next gradient:", next_one[0])
w.grad = None

# %% [markdown]
# Here they are side by side. On the left the gradient is stolen. On the right there is a write of zeros, and the gradient is
# added:

# %%
def next_backward(set_to_none):
    """The record of a backward after zero_grad."""
    (w * 3).sum().backward()
    mg.optim.SGD([w], lr=0.1).zero_grad(set_to_none=set_to_none)
    with mg.debug.record() as r:
        (w * 3).sum().backward()
    w.grad = None
    return r


mg.viz.diff(next_backward(True), next_backward(False), labels=("None", "zeros"))

# %% [markdown]
# *The step of the optimizer.* An optimizer skips a parameter whose `.grad` is None. If `.grad` is zero, it takes a step. This
# step has length zero, but not if the optimizer has a weight decay or a momentum:

# %%
for set_to_none in (True, False):
    used, unused = [mg.tensor([1.0], requires_grad=True) for _ in range(2)]
    optimizer = mg.optim.SGD([used, unused], lr=0.1, weight_decay=0.5)
    (used + unused).sum().backward()
    optimizer.zero_grad(set_to_none=set_to_none)
    used.sum().backward()               # a loss that does not use `unused`
    optimizer.step()
    print(f"set_to_none={set_to_none!s:<5}  unused is now {unused.item():.4f}")

# %% [markdown]
# *Other references.* Your program may have stored the tensor `.grad` in another variable. Zeros change this tensor, too; None
# does not.
#
# ## Deeper: gradients of a large batch, in small parts
#
# Suppose that a batch of 6 does not fit into memory, but parts of 2 do. The gradient of a sum is the sum of the gradients, and
# `.grad` is a sum. So run a backward for each part, and step once:

# %%
def large():
    model.zero_grad()
    (model(data) - target).square().mean().backward()
    return model.weight.grad.clone()


def in_parts(size):
    model.zero_grad()
    for begin in range(0, len(data), size):
        part, wanted = data[begin:begin + size], target[begin:begin + size]
        loss = (model(part) - wanted).square().mean()
        (loss * len(part) / len(data)).backward()   # a mean of weighted means
    return model.weight.grad.clone()


print("all six:    ", [f"{number:.5f}" for number in large()[0].tolist()])
print("by two:     ", [f"{number:.5f}" for number in in_parts(2)[0].tolist()])
print("four, two:  ", [f"{number:.5f}" for number in in_parts(4)[0].tolist()])

# %% [markdown]
# Note the factor. If the loss is a *mean*, weight each part by its share of the batch; without the factor, the gradient would be
# three times as long. For parts of equal size, this is the well-known `loss / steps`. For a shorter last part it is not. A loss
# that is a *sum* needs no factor.
#
# The results agree up to rounding, because the order of additions differs. They do not agree for a layer that looks at the whole
# batch, such as batch norm: it sees only a part of the batch.
#
# This saves memory, because the graph of a part is freed before the next graph is built:

# %%
for rows in (6000, 2000):
    loss = model(mg.zeros(rows, 2)).tanh().square().mean()
    print(f"{rows} rows: {mg.debug.saved(loss).nbytes:7,} bytes saved for the backward")

# %% [markdown]
# ## Deeper: the gradient of a result
#
# Sometimes you do want to look at `h.grad`. Say so before the backward:

# %%
w.grad = None
h = w * x
h.retain_grad()
h.square().sum().backward()
print("h.grad:", h.grad.tolist(), "  h is a leaf:", h.is_leaf)

# %% [markdown]
# `retain_grad()` marks the node of `h`: when the gradient is complete, the engine puts it into `h.grad`. This does not make `h`
# a leaf, and adds no node. On a leaf it has no effect. There are two more ways, `autograd.grad` and a hook ([tutorial
# 12](12_hooks.py)):

# %%
h = w * x
print("autograd.grad:", mg.autograd.grad(h.square().sum(), h)[0].tolist())
seen = []
h = w * x
h.register_hook(seen.append)
h.square().sum().backward()
print("a hook:       ", seen[0].tolist())

# %% [markdown]
# **Predict.** Call `h.retain_grad()`, compute `y = h.sum()`, and call backward on `y` twice. What is in `h.grad`, and is it the
# same object as after the first backward?
#
# <details><summary>Answer</summary>
#
# The sum of both gradients, in a new tensor. For a result, gradients are added out of place: the first gradient went on to `h`'s
# node, and something else may hold it.
#
# </details>

# %%
h = w * x
h.retain_grad()
y = h.sum()
y.backward(retain_graph=True)
grad = h.grad
y.backward()
print(h.grad.tolist(), grad.tolist(), h.grad is grad)

# %% [markdown]
# ## The same in PyTorch
#
# The classes have the same names and do the same, down to the cases:
#
# ```python
# >>> import torch
# >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
# >>> y, z = w * 3, w + 1
# >>> node = y.grad_fn.next_functions[0][0]
# >>> node.name(), node.variable is w, node.next_functions
# ('torch::autograd::AccumulateGrad', True, ())
# >>> z.grad_fn.next_functions[0][0] is node
# True
# >>> y.sum().backward()
# >>> grad = w.grad
# >>> grad._version, grad
# (0, tensor([3., 3.]))
# >>> z.sum().backward()
# >>> grad._version, grad, w.grad is grad
# (1, tensor([4., 4.]), True)
# >>> w.grad = None
# >>> mine = torch.ones(2)
# >>> w.backward(mine)
# >>> w.grad.data_ptr() == mine.data_ptr()
# False
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | mechanism | minigrad | PyTorch |
# |---|---|---|
# | the node, and its cases | `minigrad/_core/graph/accumulate_grad.py`, `AccumulateGrad` | [`accumulate_grad.h`][a], `accumulateGrad` |
# | finding it | `minigrad/_core/graph/accumulate_grad.py`, `grad_accumulator` | [`variable.cpp`][b], `impl::grad_accumulator` |
# | a leaf's `.grad` | `minigrad/_core/graph/tensor.py`, `AutogradMeta.grad` | [`variable.h`][c], `AutogradMeta::grad_` |
# | the gradient of a result | `minigrad/_core/engine/tensor_hooks.py`, `retain` | [`variable.cpp`][b], `VariableHooks::retain_grad` |
# | None or zeros | `minigrad/optim/optimizer.py`, `zero_grad` | [`torch/optim/optimizer.py`][d], `zero_grad` |
#
# [a]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/functions/accumulate_grad.h
# [b]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/variable.cpp
# [c]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/variable.h
# [d]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/optim/optimizer.py
#
# PyTorch, too, uses the reference count of the gradient to decide whether it can steal it. Under `create_graph=True`, both
# record the copy as a node of its own, `CopyBackwards`.
#
# ## What goes wrong
#
# **The step is recorded.** This is a step of gradient descent as a book writes it:

# %%
w = mg.tensor([1.0, 2.0], requires_grad=True)
(w * w).sum().backward()
w = w - 0.1 * w.grad
print(w)

# %% [markdown]
# The numbers are right. But `w` is now the name of another tensor: the result of a subtraction, with the old leaf behind it.
# The next backward goes through the subtraction and adds to the `.grad` of the *old* leaf, which no longer has a name. The
# `.grad` of the new `w` is None:

# %%
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    (w * w).sum().backward()
    with mg.testing.expect_error(TypeError):
        w = w - 0.1 * w.grad

# %% [markdown]
# The picture shows what happened:

# %%
mg.viz.draw((w * w).sum(), names={"w": w})

# %% [markdown]
# **The step is an error.** A write to a leaf is an operation like any other. If autograd recorded it, the leaf would become a
# result:

# %%
w = mg.tensor([1.0, 2.0], requires_grad=True)
(w * w).sum().backward()
with mg.testing.expect_error(RuntimeError, code="MG-E121"):
    w -= 0.1 * w.grad

# %% [markdown]
# The same line corrects both. We do not want to differentiate the step, so it belongs under `no_grad()`
# ([tutorial 6](06_grad_modes.py)). There, write *into* the leaf, instead of giving its name to another tensor:

# %%
with mg.no_grad():
    w -= 0.1 * w.grad
w.grad = None
print(w, "  a leaf:", w.is_leaf)

# %% [markdown]
# ### Deeper: more cases
#
# **The parameter was converted after the optimizer was created.** An optimizer holds tensors, not names. If `to()` has to convert
# something, it returns a new tensor. This tensor is a result, and the optimizer changes the leaf behind it. The loss uses the
# result, which is never computed again:

# %%
w = mg.tensor([1.0, 2.0], requires_grad=True)
held = w
optimizer = mg.optim.SGD([w], lr=0.1)
w = w.to(mg.float64)
for _ in range(3):
    optimizer.zero_grad()
    loss = (w * w).sum()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item()}   the optimizer holds {held}")

# %% [markdown]
# There is no error and no warning. Gradients arrive, but the loss does not change. (The gradient is three times the same,
# because `w` is three times the same.)
#
# Convert first, then call `requires_grad_()`, then create the optimizer. You can convert a *module* at any time: `Module.to`
# keeps its Parameters, and replaces their data. It converts existing gradients, too.

# %%
layer = mg.nn.Linear(2, 1)
held = layer.weight
layer.to(mg.float64)
print(layer.weight is held, held.dtype, held.is_leaf)

# %% [markdown]
# **The optimizer holds a copy.** `copy.deepcopy`, `clone().detach()`, and loading a model again create new tensors. The gradients
# arrive at the tensors of the loss. The optimizer holds the others, whose `.grad` remains None, and skips them.

# %%
w = mg.tensor([1.0, 2.0], requires_grad=True)
optimizer = mg.optim.SGD([copy.deepcopy(w)], lr=0.1)
(w * w).sum().backward()
optimizer.step()
(held,) = optimizer.param_groups[0]["params"]
print(f"after a step: {w.tolist()}   the .grad of what the optimizer holds: {held.grad}")

# %% [markdown]
# **The optimizer gets a result.** This is an error. `mg.randn(2, requires_grad=True) * 0.01` looks like a parameter with small
# numbers, but the leaf is the tensor before the product.

# %%
with mg.testing.expect_error(ValueError, code="MG-E402"):
    mg.optim.SGD([mg.randn(2, requires_grad=True) * 0.01], lr=0.1)

# %% [markdown]
# **A stored gradient changes.** A backward adds to `.grad` in place. If you append `.grad` to a list after each backward, the
# list contains the same tensor several times, unless you set `.grad` to None in between:

# %%
w = mg.tensor([1.0, 2.0], requires_grad=True)
history = []
for k in (1.0, 2.0, 3.0):
    (w * k).sum().backward()
    history.append(w.grad)
print("put aside:", [grad[0].item() for grad in history])

w.grad, history = None, []
for k in (1.0, 2.0, 3.0):
    (w * k).sum().backward()
    history.append(w.grad.clone())
print("cloned:   ", [grad[0].item() for grad in history])

# %% [markdown]
# More about a missing gradient: {doc}`/errors/grad-is-none`. More about writes to leaves: {doc}`/errors/leaf-in-place`.
#
# ## Exercises
#
# Each exercise has a check. Write your answer, then call the check with it, as in `check_how(predicted)`. The solutions are
# folded below.
#
# **1. Predict.** Each program begins with a new leaf `w` of two numbers, without a gradient. Is the arriving gradient
# `"stolen"`, `"copied"` or added `"in place"`?

# %%
PROGRAMS = ["(w * w).sum().backward()",
            "w.sum().backward()",
            "w.register_hook(seen.append); (w * 3).sum().backward()",
            "w.grad = mg.zeros(2); (w * 3).sum().backward()",
            "(w + w).exp().sum().backward()"]
predicted = ["", "", "", "", ""]        # your words go here


# %%
@mg.testing.exercise(1)
def check_how(predicted):
    assert len(predicted) == len(PROGRAMS), "five words, one for each program"
    for text, told in zip(PROGRAMS, predicted):
        leaf = mg.tensor([1.0, 2.0], requires_grad=True)
        names = {"mg": mg, "w": leaf, "seen": []}
        ((kind, why),) = how(functools.partial(exec, text, names))
        assert told == kind, f"{text}: not {told!r}. The record says: {why}"
    print("right")


# %% tags=["help"]
check_how.hints = [
    "First ask: is there a `.grad` already? Then the new gradient is added to it in place.",
    "Then ask: does anything else hold the tensor that arrives? Or does this tensor have too "
    "little memory of its own?",
    "A sum of two gradients is a new tensor, made by the engine. A hook may keep what it "
    "gets. The gradient of `sum()` is expanded."]
check_how.wrong = {
    "(w * w).sum().backward(): not 'copied'":
        "Two gradients arrive. The engine adds them into a new tensor, which nothing else refers to.",
    "(w * w).sum().backward(): not 'in place'":
        "The sum of the two is made before the leaf's node runs, and `.grad` is still None.",
    "w.sum().backward(): not 'stolen'":
        "The gradient of a sum is expanded: it has two elements, and one number in memory.",
    "w.register_hook(seen.append); (w * 3).sum().backward(): not 'stolen'":
        "The list `seen` holds the gradient too.",
    "w.grad = mg.zeros(2); (w * 3).sum().backward(): not 'stolen'":
        "Zeros are a gradient. A `.grad` is there, so the new one is added to it."}


# %% tags=["hide-cell", "solution"]
check_how(["stolen",        # the engine itself computed the sum of the two
           "copied",        # it is expanded: two elements, one number in memory
           "copied",        # `seen` holds it too
           "in place",      # zeros are a gradient
           "stolen"])       # the same sum again

# %% [markdown]
# **2. Words in parts.** A loss over texts is often a mean over *words*: the sum of the losses of all words, divided by the number
# of words in the batch. The texts have different numbers of words. Write `backward_in_parts(w, texts)`. It runs one backward per
# text. Afterwards `w.grad` is the gradient of the mean over all words. The loss of a word `t` is `(w * t - 1).square()`.

# %%
def backward_in_parts(w, texts):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_parts(backward_in_parts):
    words = ([0.5, 1.0, 1.5], [2.0], [0.1, 0.2, 0.3, 0.4, 0.7])
    texts = [mg.tensor(text) for text in words]
    w = mg.tensor(0.3, requires_grad=True)
    (w * mg.cat(texts) - 1).square().mean().backward()
    wanted, w.grad = w.grad.item(), None
    with mg.debug.record() as r:
        backward_in_parts(w, texts)
    assert w.grad is not None, "no backward has reached w"
    assert abs(w.grad.item() - wanted) < 1e-6, \
        f"{w.grad.item():.4f} instead of {wanted:.4f}"
    backwards = [event for event in r.events if event.kind == "begin"]
    assert len(backwards) == len(texts), "one backward per text"
    print("right")


# %% tags=["help"]
check_parts.hints = [
    "Write down the loss of the whole batch: one sum over all words, divided by one number.",
    "A sum over all words is a sum of sums, one for each text. `.grad` adds up what the "
    "backwards bring.",
    "So divide the sum of each text by the number of the words of the whole batch. Count "
    "these words before the first backward."]
check_parts.wrong = {
    "-1.1617 instead of -0.9362": "This is the mean of the means of the texts. A word of a "
                                  "short text counts more there.",
    "-3.4852 instead of -0.9362": "This is the sum of the means. The texts have different lengths.",
    "-8.4260 instead of -0.9362": "This is the gradient of a sum. Divide by the number of words.",
    "one backward per text":
        "Call `backward` in the loop, so that a text's graph is freed before the next text "
        "needs memory."}


# %% tags=["hide-cell", "solution"]
def backward_in_parts_solution(w, texts):
    words = sum(len(text) for text in texts)
    for text in texts:
        # the sum over the part, divided by the number of all words
        ((w * text - 1).square().sum() / words).backward()


check_parts(backward_in_parts_solution)

# %% [markdown]
# **3. Strays.** Write `strays(optimizer, loss)`: it returns the parameters of the optimizer that a backward from `loss` would not
# reach. Call such a function when a model does not train. Hint: AccumulateGrad nodes have a `variable`; compare tensors with
# `is`.

# %%
def strays(optimizer, loss):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_strays(strays):
    a, b, c = [mg.tensor([1.0, 2.0], requires_grad=True) for _ in range(3)]
    optimizer = mg.optim.SGD([{"params": [a, b]}, {"params": [c]}], lr=0.1)
    names = {id(a): "a", id(b): "b", id(c): "c"}
    copied = copy.deepcopy(a)
    for text, loss, wanted in (("a * b.detach() + c", a * b.detach() + c, [b]),
                               ("a * b * c", a * b * c, []),
                               ("a copy of a, times b", copied * b, [a, c]),
                               ("a.double()", a.double(), [b, c])):
        found = strays(optimizer, loss.sum())
        told = [names.get(id(tensor), "another tensor") for tensor in found]
        right = [names[id(tensor)] for tensor in wanted]
        assert told == right, f"{text}: {told} instead of {right}"
    print("right")


# %% tags=["help"]
check_strays.hints = [
    "At the end of every path is an `AccumulateGrad`, and its `variable` is the leaf.",
    "Walk from `loss.grad_fn` along `next_functions`, visit each node once, and collect the "
    "variables. Some edges lead nowhere: their node is None.",
    'The parameters are in `optimizer.param_groups`, a list of dicts, under `"params"`. Keep '
    "those that are none of the collected tensors; `in` compares numbers, `is` compares objects."]
check_strays.wrong = {
    "a * b.detach() + c: [] instead of ['b']":
        "No path leads to b: `detach()` has cut it. All three have the same numbers, so compare "
        "tensors with `is`.",
    "a * b.detach() + c: ['a', 'c'] instead of ['b']": "These are the ones that are reached.",
    "a * b.detach() + c: ['a', 'b', 'c'] instead of ['b']":
        "Nothing was recognized. Compare tensors with `is`, and go to the end of each path.",
    "Boolean value of Tensor with more than one value is ambiguous":
        "`==` and `in` compare numbers. Compare tensors with `is`."}


# %% tags=["hide-cell", "solution"]
def strays_solution(optimizer, loss):
    reached, seen, to_do = [], set(), [loss.grad_fn]
    while to_do:
        node = to_do.pop()
        if node is not None and node not in seen:
            seen.add(node)
            to_do += [following for following, _ in node.next_functions]
            if node.name() == "AccumulateGrad":
                reached.append(node.variable)
    held = [tensor for group in optimizer.param_groups for tensor in group["params"]]
    return [tensor for tensor in held if not any(tensor is other for other in reached)]


check_strays(strays_solution)

# %% [markdown]
# ## What to remember
#
# * A **leaf** is a tensor without a `grad_fn`. Leaves that require a gradient get a `.grad`; results do not, unless you called
#   `retain_grad()`.
# * At the end of every path is an **AccumulateGrad**, one per leaf. The leaf finds it through a weak reference.
# * The first gradient is **stolen**, or copied if something else holds it. Later ones are **added in place**. Under
#   `create_graph=True` nothing is done in place.
# * `.grad` is a sum over backwards. `zero_grad()` begins a new sum. So you can also compute a large batch in parts.
# * A parameter is a tensor, not a name. If you give the name to another tensor (`w = w - ...`, `w = w.to(...)`), the optimizer
#   still holds the old one.
#
# **Next:** [the second backward](04_retain_graph.py), and what the first one has freed.
