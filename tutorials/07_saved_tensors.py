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
# # Saved tensors: what each operation keeps, and why
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** [tutorial
# 1](01_derivative_to_graph.py), and when saved values are freed ([tutorial 4](04_retain_graph.py)). **Afterwards** you can predict
# what an operation saves, say who keeps it alive, and compute the bytes that a network saves.
#
# **The question.** A backward needs numbers from the forward. Which numbers, who keeps them, and for how long?
#
# The example of this whole tutorial is
#
# $$ u = x\,w, \qquad h = e^u, \qquad y = \sum_i h_i . $$

# %%
import gc
import inspect
import itertools
import math
import weakref

import minigrad as mg
from minigrad.ops.elementwise.arithmetic import Add, Div, Mul, Sub
from minigrad.ops.elementwise.functions import Exp, Log, Relu, Sigmoid, Sin, Sqrt, Tanh

nn = mg.nn

x = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = mg.tensor([0.5, 0.2, 0.1], requires_grad=True)
u = x * w
h = u.exp()
y = h.sum()
mg.viz.draw(y)

# %% [markdown]
# ## Keeping everything
#
# The safe idea is that every operation keeps all its inputs and outputs. Then every formula finds what it needs. Let us see what
# this would cost for a chain of 100 additions, on 1,000 numbers each:

# %%
big = mg.ones(1000, requires_grad=True)
tensors, z = [big], big
for _ in range(100):
    z = z + 1.0
    tensors.append(z)
print(f"everything:    {sum(t.numel() * t.element_size() for t in tensors):>7,} bytes")
print(f"minigrad keeps {mg.debug.saved(z).nbytes:>7,}")

# %% [markdown]
# Nothing at all. The derivative of $z + 1$ is 1 for every $z$. So a node does not keep all inputs and outputs. It keeps what its
# formula *needs*. (`mg.debug.saved` walks over a graph and lists the values in its nodes. We will use it often.)
#
# ## What the formulas need
#
# Write $\bar u$ for the gradient of $u$, as before, and apply the chain rule to our three lines. All products are element by
# element.
#
# | step | formulas | values from the forward |
# |---|---|---|
# | $u = x\,w$ | $\bar x = \bar u\,w, \quad \bar w = \bar u\,x$ | $w$ and $x$: each for the *other's* gradient |
# | $h = e^u$ | $\bar u = \bar h\,e^u = \bar h\,h$ | $h$, the **result** |
# | $y = \sum h_i$ | $\bar h_i = \bar y$ | none; only how many numbers there were |
#
# And this is what the nodes have saved. Each saved value has a name that begins with `_saved_`. The operands of an operation are
# called `self` and `other`, as in `self * other`, and its output is the `result`:

# %%
def saved(tensor):
    """The saved values of a tensor's node: name -> value, or the shape of a tensor."""
    node, found = tensor.grad_fn, {}
    for name in dir(node):
        if name.startswith("_saved_"):
            value = getattr(node, name)
            if isinstance(value, mg.Tensor):
                value = f"tensor {list(value.shape)}"
            found[name.removeprefix("_saved_")] = value
    return found


for tensor in (u, h, y):
    print(f"{tensor.grad_fn.name():<14} {saved(tensor)}")

# %% [markdown]
# The product has its two factors, the exponential its result. The sum has no tensor: a shape and two options are a few numbers,
# for a tensor of any size.
#
# ## Only what is needed
#
# **Predict.** Now $c$ is a constant, and needs no gradient. What does the node of `x * c` keep: $x$, $c$, or both?
#
# <details><summary>Answer</summary>
#
# Only $c$. The formula for $\bar x$ needs the other factor. $x$ would be needed for $\bar c$, which is not computed.
#
# </details>

# %%
c = mg.tensor([4.0, 5.0, 6.0])
print("x * w:", saved(x * w))
print("x * c:", saved(x * c))
print("x * 2:", saved(x * 2.0))
print("c * c:", (c * c).grad_fn)

# %% [markdown]
# So look at the operands that require a gradient, and at what *their formulas* need. If the other factor is a Python number, there
# is no tensor to keep; and if no operand requires a gradient, there is no node.
#
# ### Deeper: a product of matrices
#
# For matrices this matters. `a @ m` is a product, so it keeps the other factor as well. Let `a` be the large thing that went
# through a layer, a batch of 256 rows, and `m` the small matrix of its parameters:

# %%
a, m = mg.ones(256, 64, requires_grad=True), mg.ones(64, 8, requires_grad=True)


def bytes_of_product(a, m):
    return f"{mg.debug.saved(a @ m).nbytes:>7,} bytes"


print("gradients for both:   ", bytes_of_product(a, m))
print("the parameters frozen:", bytes_of_product(a, m.detach()))
print("only the parameters:  ", bytes_of_product(a.detach(), m))

# %% [markdown]
# A layer whose parameters are frozen keeps its parameters, and not the batch. If the data needs no gradient and the first layers
# are frozen, these layers have no nodes, and keep nothing at all. So training only the last layers takes little memory.
#
# ## The input, or the result?
#
# The derivative of $e^u$ can be written with $u$ or with $h$. For the sine this is impossible: $\cos u$ is not a function of
# $\sin u$ alone, since the sign is lost. For the logarithm it is possible, $1/u = e^{-h}$, but costs an exponential. Here are some
# functions of one number, each with its saved tensor. `self` is the input.

# %%
p = mg.tensor([0.2, 0.5, 0.9], requires_grad=True)
for f in ("exp", "sqrt", "sigmoid", "tanh", "relu", "log", "sin", "cos", "abs"):
    kept = saved(getattr(p, f)())
    print(f"{f:<8} {', '.join(kept)}")

# %% [markdown]
# If a formula can use the result, the result is saved. There are three reasons.
#
# *The result is already computed.* From $u$, the backward would have to compute $e^u$ again.
#
# *The next operation often saves it too.* A matrix product saves its input. If this input is the result of a `tanh`, both save the
# same tensor, and its memory exists once. After a `sin`, which saves its input, there are two tensors:

# %%
m = mg.ones(64, 64, requires_grad=True)


def layer(f):
    return f(a @ m) @ m


for f in (mg.relu, mg.tanh, mg.sin):
    found = mg.debug.saved(layer(f))
    kept = found.nbytes - found.leaf_nbytes
    print(f"{f.__name__:<5} {kept:>8,} bytes beside the leaves")

# %% [markdown]
# *The input is free.* An operation that saves its result does not need its input, which can then be overwritten or freed.
#
# Relu shows the first two reasons. Its formula needs to know only where the input was positive. The result contains this
# information too, and the next layer saves the result anyway.
#
# ## Deeper: a shape, or nothing
#
# Operations that only move numbers, or add them up, do not need the values:

# %%
t = mg.ones(2, 6, requires_grad=True)
print("add ", saved(t + t))
print("neg ", saved(-t))
print("t   ", saved(t.t()))
print("view", saved(t.view(3, 4)))
print("sum ", saved(t.sum(0)))

# %% [markdown]
# Operations that *select* numbers must know their selection. `max` along a dimension saves the position of the largest number of
# each row: one integer per number of its result. Indexing saves the index. Neither needs the values of its input:

# %%
print("max  ", saved(t.max(1).values))
print("index", saved(t[:, mg.tensor([0, 3])]))

# %% [markdown]
# ## Deeper: the rule says so
#
# Where does minigrad define what is saved? Only in the formulas. They are functions, and their **parameters** are the values that
# they need. Here are the rules for the product and for the exponential. `g` is the gradient that arrives, `x` and `y` are the
# inputs, and `z` is the result.

# %%
mg.utils.source.source_of("ops/elementwise/arithmetic.py", "Mul")

# %%
mg.utils.source.source_of("ops/elementwise/functions.py", "Exp")

# %% [markdown]
# `vjp_x` computes the gradient of `x`, and needs `y`. So we can predict what a node saves by reading names. Take the formulas of
# the inputs that require a gradient, and collect their parameters, without `g`:

# %%
def foretold(rule, wanted):
    """What a node of this rule keeps if the inputs in `wanted` require a gradient."""
    found = []
    for name in wanted:
        formula = getattr(rule, "vjp_" + name)
        _g, *needs = inspect.signature(formula).parameters
        found += [need for need in needs if need not in found]
    return found


QUESTIONS = [(Mul, "xy"), (Mul, "x"), (Mul, "y"), (Div, "x"), (Div, "y"), (Exp, "x")]
for rule, wanted in QUESTIONS:
    name = f"{rule.op.name}, gradients of {', '.join(wanted)}"
    print(f"{name:<22} keeps {foretold(rule, wanted)}")

# %% [markdown]
# Look at the quotient: the gradient of the numerator needs only the denominator, but the gradient of the denominator needs both.
# Is the prediction right for real nodes? We compare some rules with the saved values of their nodes.

# %%
CALLED = {"x": "self", "y": "other", "z": "result"}     # how the nodes call them
one, two = mg.ones(3, requires_grad=True), mg.ones(3, requires_grad=True)

for rule in (Add, Sub, Mul, Div):
    for wanted in ("x", "y", "xy"):
        left, right = one.detach(), two.detach()
        left.requires_grad_("x" in wanted)
        right.requires_grad_("y" in wanted)
        node = getattr(mg, rule.op.name)(left, right).grad_fn
        kept = {value.name for value in mg.debug.saved(node, graph=False)}
        assert kept == {CALLED[name] for name in foretold(rule, wanted)}

for rule in (Exp, Log, Relu, Sigmoid, Sin, Sqrt, Tanh):
    node = getattr(mg, rule.op.name)(one).grad_fn
    kept = {value.name for value in mg.debug.saved(node, graph=False)}
    assert kept == {CALLED[name] for name in foretold(rule, "x")}
print("all as foretold")

# %% [markdown]
# ## Who keeps what alive
#
# A tensor lives as long as something holds a reference to it, and a node can be that thing. We delete `u`, and test with a *weak*
# reference, which does not keep its object alive, whether the tensor still exists:

# %%
def survives(f):
    """Whether `u` lives on after the program has forgotten it, because of f(u)."""
    u = x * w
    look = weakref.ref(u)
    result = f(u)
    del u
    return look() is not None, result.grad_fn.name()


for f in (mg.sin, mg.exp, mg.neg, lambda u: u * c, lambda u: u * w):
    print(*survives(f))

# %% [markdown]
# The sine holds its input. The next three do not need `u`, so it is freed immediately. The last one needs it again: $w$ requires a
# gradient, whose formula needs $u$.
#
# A node holds the tensor itself, not a copy: `u.sin().grad_fn._saved_self is u`.
#
# ### Deeper: handles
#
# For each `_saved_` name there is a name with `_raw_saved_`. It does not return the tensor, but a handle to its place in the node.
# With the handle you can read the tensor later, or register hooks that pack it ([tutorial 8](08_packing.py)).

# %%
sine = u.sin()
handle = sine.grad_fn._raw_saved_self
print(handle.unpack() is u)

# %% [markdown]
# ### Deeper: a saved result
#
# A saved result is a problem. A result holds its node, as `grad_fn`. If the node also held the result, they would hold each other.
# Python frees an object when its last reference is gone, but in such a **cycle** one reference always remains:

# %%
class Result:
    """Holds a node, and the node holds it."""

    def __init__(self):
        self.grad_fn = [self]


gc.disable()
result = Result()
look = weakref.ref(result)
del result
print("still there:", look() is not None)
gc.collect()        # looks for cycles
print("still there:", look() is not None)

# %% [markdown]
# Python's garbage collector does find cycles, but only some time later. Until then, the memory of a whole graph would not be
# free. So a node does not save the result itself, but another tensor with the same memory, *without* history. When the formula
# reads it, it gets its history back:

# %%
h = u.exp()
kept = h.grad_fn._saved_result
print("the same tensor: ", kept is h)
print("the same memory: ", kept.data_ptr() == h.data_ptr())
print("the same history:", kept.grad_fn is h.grad_fn)

# %% [markdown]
# No cycle: without the collector, the result is gone when we forget it, and its node with it.

# %%
look = weakref.ref(h)
del h, kept
print("still there:", look() is not None)
gc.enable()

# %% [markdown]
# ## Bytes, layer by layer
#
# Now a network. With `saved_tensors_hooks`, our own function is called with each tensor that is saved, and the node keeps the
# value that our function returns ([tutorial 8](08_packing.py) does more with this). Here it only counts bytes. Memory that is saved
# twice counts once, and parameters do not count, since they exist anyway.

# %%
def tensor_bytes(t):
    return t.numel() * t.element_size()


class Count:
    """Count the bytes that are saved while it is open."""

    def __init__(self, parameters):
        self.known = {p.data_ptr() for p in parameters}
        self.bytes = 0
        self.hooks = mg.autograd.graph.saved_tensors_hooks(self.pack, lambda t: t)

    def pack(self, t):
        if t.data_ptr() not in self.known:
            self.known.add(t.data_ptr())
            self.bytes += tensor_bytes(t)
        return t.detach()


# %% [markdown]
# `pack` returns `t.detach()`. If it returned `t` itself, it would create the cycle that we have just seen.

# %%
mg.manual_seed(0)
net = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 128), nn.ReLU(),
                    nn.Linear(128, 10), nn.LogSoftmax(1))


def layers(net, batch):
    """For each layer: its name, the bytes that it saves, the bytes of its parameters."""
    count, rows = Count(net.parameters()), []
    data = mg.randn(batch, 64)
    with count.hooks:
        for part in net:
            before = count.bytes
            data = part(data)
            own = sum(tensor_bytes(p) for p in part.parameters())
            rows.append((type(part).__name__, count.bytes - before, own))
    return rows


for name, kept, own in layers(net, 256):
    print(f"{name:<11} saves {kept:>8,} bytes   has {own:>7,} bytes of parameters")

# %% [markdown]
# The first layer saves the data, for the gradient of its weight. Tanh and relu save their results. The second and third linear
# layers save their inputs, which are the same tensors, so they add no memory. These tensors between the layers are called
# **activations**.
#
# **Predict.** With a batch of 1,024 instead of 256, which of the columns changes?
#
# <details><summary>Answer</summary>
#
# Only what is saved: four times as much. There is an activation for each example in the batch. The parameters are the same for
# all.
#
# </details>

# %%
for batch in (1, 16, 256, 1024):
    rows = layers(net, batch)
    kept, own = sum(row[1] for row in rows), sum(row[2] for row in rows)
    print(f"batch {batch:>5}: {kept:>9,} bytes saved, {own:>7,} bytes of parameters")

# %% [markdown]
# ### Deeper: parameters, images, no_grad
#
# The memory for parameters is fixed: the parameters, their gradients, and two averages for an optimizer such as Adam. Together
# this is four times the size of the parameters. Activations grow with the batch. In a convolution they also grow with the image,
# since the same few parameters are used at every position:

# %%
conv = nn.Conv2d(3, 64, 3, padding=1)
own = sum(tensor_bytes(p) for p in conv.parameters())
for size in (8, 16, 32):
    count = Count(conv.parameters())
    with count.hooks:
        conv(mg.ones(1, 3, size, size)).relu()
    image = f"one image of {size} x {size}:"
    print(f"{image:<22} {count.bytes:>8,} bytes saved, {own:,} of parameters")

# %% [markdown]
# This is why memory runs out in training and not in inference. Under `no_grad` there are no nodes, so an activation is freed as
# soon as the next layer has used it. ([Checkpointing](11_checkpointing.py) trains with less memory.)

# %%
count = Count(net.parameters())
with count.hooks, mg.no_grad():
    net(mg.randn(256, 64))
print(count.bytes, "bytes")

# %% [markdown]
# ## When saved tensors are freed
#
# A node frees its saved values right after it has run, unless you pass `retain_graph=True` ([tutorial 4](04_retain_graph.py)). The
# backward runs from the end, so the memory falls in the reverse order in which it rose. We measure it at each layer's result in
# the forward, and at the same places in the backward, with a hook:

# %%
data, weight = mg.ones(100, 10), mg.full((10, 10), 0.1, requires_grad=True)
history, places = [], []
for _ in range(4):
    data = (data @ weight).tanh()
    places.append(data)
    history.append(mg.debug.saved(data).nbytes)
loss = data.sum()
for place in places:
    place.register_hook(lambda g: history.append(mg.debug.saved(loss).nbytes))
loss.backward()
history.append(mg.debug.saved(loss).nbytes)
print("bytes kept:", *history)

# %% [markdown]
# ![A bar for each moment: the bytes saved for the backward. They rise with each layer of the forward, are largest when the
# backward begins, and fall with each node that has run, to 0.](pictures/saved.svg)
#
# The maximum is between forward and backward. A graph that never runs frees its values too, when the program deletes it: the weak
# references above have shown it.
#
# ## Step by step
#
# Watch the saved tensors. Which node has none to unpack? When does the exponential free its result?

# %%
x.grad = w.grad = None
with mg.debug():        # have each operation note its line
    y = (x * w).exp().sum()
with mg.debug.record() as r:
    y.backward()
mg.viz.step(r)

# %% [markdown]
# ### Deeper: as a table
#
# These are the events that we have discussed:

# %%
for event in r.events:
    if event.kind in ("dequeue", "unpack", "release") and event.op != "AccumulateGrad":
        print(f"{event.step:>2} {event.kind:<8} {event.op:<14} {event.what}")

# %% [markdown]
# ## The source
#
# Our `foretold` is minigrad's `Plan`. There is one plan for each operation and each set of inputs that require a gradient (the bits
# of `mask`), and all such nodes share it. The last lines find out what a name refers to: an argument, a result, or only the shape of
# an argument.

# %%
mg.utils.source.source_of("_core/record/primitive.py", "Plan.__init__")

# %% [markdown]
# This method stores a value in the node. With hooks, it stores the value that the pack hook returned. For a result (`output` is
# its number), it stores an alias without history. It also stores the version of the memory, to notice a later write.

# %%
mg.utils.source.source_of("_core/record/op_node.py", "OpNode.store")

# %% [markdown]
# ### Deeper: the way back
#
# This function gives a saved result its history back:

# %%
mg.utils.source.source_of("_core/record/saved_tensor.py", "restore_history")

# %% [markdown]
# ## The same in PyTorch
#
# With few exceptions, PyTorch saves the same tensors, for the same reasons. There, a formula is a line of text, and a code
# generator finds the names in it:
#
# ```yaml
# - name: exp(Tensor self) -> Tensor
#   self: grad * result.conj()
# ```
#
# ```python
# >>> import torch
# >>> x = torch.tensor([1., 2., 3.], requires_grad=True)
# >>> c = torch.tensor([4., 5., 6.])
# >>> (x * c).grad_fn._saved_self, (x * c).grad_fn._saved_other
# (None, tensor([4., 5., 6.]))
# >>> h = x.exp()
# >>> kept = h.grad_fn._saved_result
# >>> kept is h, kept.data_ptr() == h.data_ptr(), kept.grad_fn is h.grad_fn
# (False, True, True)
# >>> s = h.sin()
# >>> s.grad_fn._saved_self is h
# True
# >>> def kept(f):
# ...     names = dir(getattr(h, f)().grad_fn)
# ...     return [n for n in ("_saved_self", "_saved_result") if n in names]
# ...
# >>> all(kept(f) == ["_saved_result"] for f in ("exp", "sqrt", "sigmoid", "tanh", "relu"))
# True
# >>> all(kept(f) == ["_saved_self"] for f in ("log", "sin", "cos", "abs"))
# True
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | mechanism | minigrad | PyTorch |
# |---|---|---|
# | a formula | a method `vjp_x` of the rule | [`derivatives.yaml`][yaml] |
# | what it asks for | its parameters: `minigrad/ops/base/rule.py`, `formula_of` | [`load_derivatives.py`][load] |
# | only what is needed | `minigrad/_core/record/primitive.py`, `Plan` | [`gen_variable_type.py`][gen], `guard_for` |
# | one saved tensor | `minigrad/_core/record/op_node.py`, `OpNode.store` | [`saved_variable.cpp`][saved], `SavedVariable` |
# | its history given back | `minigrad/_core/record/saved_tensor.py`, `restore_history` | the same file, `SavedVariable::unpack` |
#
# [yaml]: https://github.com/pytorch/pytorch/blob/v2.13.0/tools/autograd/derivatives.yaml
# [load]: https://github.com/pytorch/pytorch/blob/v2.13.0/tools/autograd/load_derivatives.py
# [gen]: https://github.com/pytorch/pytorch/blob/v2.13.0/tools/autograd/gen_variable_type.py
# [saved]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/saved_variable.cpp
#
# There are three differences. In PyTorch, values that are not tensors have other names, such as `_saved_self_sym_sizes` for a
# shape. A number in a product is saved as a tensor without dimensions. And a few operations save more or less: PyTorch's `gather`,
# for example, also saves its input. PyTorch has no `debug.saved`.
#
# ## What goes wrong
#
# **A saved tensor is overwritten.** The exponential has saved its result. We write to it, and the number that the formula needs is
# gone. minigrad notices this when the backward uses the value ([tutorial 9](09_version_counters.py)):

# %%
h = x.exp()
h *= 2.0
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    h.sum().backward()

# %% [markdown]
# ### Deeper: a write to another result
#
# **Predict.** And with `x.sin()` instead of `x.exp()`?
#
# <details><summary>Answer</summary>
#
# It works. The sine has saved its input, and no node has saved its result.
#
# </details>

# %%
x.grad = None
h = x.sin()
h *= 2.0
h.sum().backward()
print([f"{value:.4f}" for value in x.grad.tolist()],
      [f"{2 * math.cos(value):.4f}" for value in x.tolist()])

# %% [markdown]
# ### Deeper: more cases
#
# **A tensor that must not be saved.** A tensor from `inference_mode` ([tutorial 6](06_grad_modes.py)) has no version, so a node
# could not notice a write to it. If a formula needs the tensor, you get an error; otherwise you get none:

# %%
with mg.inference_mode():
    scale = mg.tensor([4.0, 5.0, 6.0])
shifted = x + scale
with mg.testing.expect_error(RuntimeError, code="MG-E176"):
    scaled = x * scale

# %% [markdown]
# **A small view keeps a large memory.** There is no error here. The sine of one number saves this number, which is a view, and a
# view keeps the whole memory of its base alive. A copy of the number would be enough:

# %%
large = mg.ones(1000, requires_grad=True) * 1.0
print("a view:", mg.debug.saved(large[:1].sin()).nbytes, "bytes")
print("a copy:", mg.debug.saved(large[:1].clone().sin()).nbytes, "bytes")

# %% [markdown]
# **A result keeps its graph.** If you collect losses in a list, they keep all the values that were saved for them. Collect numbers
# instead: `losses.append(loss.item())`. More about this: {doc}`/errors/memory-grows`.
#
# ## Exercises
#
# Each exercise has a check. Write your answer, then call the check with it, as in `check_kept(predicted)`. The solutions are
# folded below.
#
# **1. Predict.** Which tensors does the *last* node of each program keep? $x$ requires a gradient, $c$ does not. Answer with a set
# of `"self"`, `"other"` and `"result"`.

# %%
PROGRAMS = ["x - x", "x * c", "c / x", "(x + c).tanh()", "x.exp() * 2.0"]
predicted = [None, None, None, None, None]      # your sets; set() is the empty one


# %%
@mg.testing.exercise(1)
def check_kept(predicted):
    assert len(predicted) == len(PROGRAMS), "five sets, one for each program"
    for text, told in zip(PROGRAMS, predicted):
        names = {"x": mg.ones(3, requires_grad=True), "c": mg.ones(3)}
        node = eval(text, names).grad_fn
        right = {value.name for value in mg.debug.saved(node, graph=False)}
        shown = told and sorted(told)
        assert told == right, f"{text}: not {shown}. Write down the formulas that are run"
    print("right")


# %% tags=["help"]
check_kept.hints = [
    "Write down the formulas of the last operation, one for each input. Which values do they "
    "use?",
    "A formula is run only if its input requires a gradient. A formula may use the result "
    "instead of the input.",
    "A sum and a difference need no values. In `x * c`, only the formula for `x` is run. A "
    "plain number such as `2.0` is not a tensor."]
check_kept.wrong = {
    "x - x: not ['other', 'self']":
        "The slopes of a difference are 1 and -1, whatever the numbers are.",
    "x * c: not ['other', 'self']":
        "`c` requires no gradient, so the formula that needs `x` is not run.",
    "x * c: not ['self']": "The gradient of one factor needs the *other* factor.",
    "c / x: not ['other']": "The slope is `-c / x**2`. It needs `c` too.",
    "(x + c).tanh(): not ['self']": "The slope of `tanh` is `1 - y * y`. It needs the result.",
    "x.exp() * 2.0: not ['result']":
        "The exponential keeps its result, but the last node is the product.",
    "x.exp() * 2.0: not ['self']":
        "The slope of a product with 2 is 2. The formula needs the number, and no tensor."}


# %% tags=["hide-cell", "solution"]
check_kept([set(),              # 1 and -1, whatever x is
            {"other"},          # c, for the gradient of x; c needs no gradient
            {"self", "other"},  # -c / x^2 needs both
            {"result"},         # 1 - h^2
            set()])             # a number is not a tensor; exp is another node

# %% [markdown]
# **2. Save less.** The *swish* is $y = x\,\sigma(x)$, where $\sigma$ is the sigmoid. `x * x.sigmoid()` saves two tensors, $x$ and
# $\sigma(x)$. But $\sigma(x)$ can be computed from $x$. Write `Swish` so that it saves only $x$. The derivative is
# $\sigma\,(1 + x\,(1 - \sigma))$. In a `Function` ([tutorial 14](14_function.py)), `forward` computes the result,
# `ctx.save_for_backward` saves tensors, and `backward` gets the gradient of the result.

# %%
class Swish(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        raise NotImplementedError      # your code goes here

    @staticmethod
    def backward(ctx, g):
        raise NotImplementedError      # and here: x, = ctx.saved_tensors


# %%
@mg.testing.exercise(2)
def check_swish(swish):
    """`swish` is a class such as the one above."""
    base = mg.linspace(-3, 3, 50, dtype=mg.float64, requires_grad=True)
    x = base * 1.0
    y = swish.apply(x)
    assert isinstance(y, mg.Tensor) and mg.allclose(y, x * x.sigmoid()), "wrong result"
    found = mg.debug.saved(y)
    assert found.nbytes == 400, f"{found.nbytes} bytes are kept instead of 400"
    assert mg.autograd.gradcheck(swish.apply, base)
    print("right")


# %% tags=["help"]
check_swish.hints = [
    "What does `backward` need? Which of these values can it compute again from `x`?",
    "`ctx.save_for_backward(x)` saves one tensor. In `backward`, `x.sigmoid()` computes the "
    "sigmoid again.",
    "`forward` saves `x` and returns `x * x.sigmoid()`. `backward` takes `x` out of "
    "`ctx.saved_tensors`, computes the derivative that the task gives, and multiplies it by "
    "`g`."]
check_swish.wrong = {
    "800 bytes are kept instead of 400":
        "Two tensors are saved. The sigmoid can be computed again from `x`.",
    "0 bytes are kept instead of 400":
        "An attribute of `ctx` is not a saved tensor: nothing checks its version. Use "
        "`ctx.save_for_backward`.",
    "wrong result": "`forward` returns `x` times its sigmoid.",
    "Jacobian mismatch":
        "The result is right, but the gradient is not. Is `g` a factor of it? And are both "
        "terms of the product rule there?"}


# %% tags=["hide-cell", "solution"]
class SwishSolution(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        s = x.sigmoid()
        return g * s * (1 + x * (1 - s))


check_swish(SwishSolution)

# %% [markdown]
# **3. Frozen layers.** A network computes `h = relu(h @ W)`, once for each $W$. Its input is data with `batch` rows, which requires
# no gradient. `sizes` are the widths; the first is the width of the data. `trained` says for each $W$ whether it requires a
# gradient. Write `activations(sizes, batch, trained)`: it returns how many *numbers* the network saves, without the weights. (Every
# weight after a trained one is saved as well, but does not count here.)

# %%
def activations(sizes, batch, trained):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_activations(activations):
    def measured(sizes, batch, trained):
        h, count = mg.ones(batch, sizes[0]), Count([])
        weights = [mg.ones(n, k) for n, k in itertools.pairwise(sizes)]
        count.known = {weight.data_ptr() for weight in weights}
        with count.hooks:
            for weight, wanted in zip(weights, trained):
                h = (h @ weight.requires_grad_(wanted)).relu()
        return count.bytes // 4

    sizes = (5, 7, 11, 13)
    for code in range(8):
        trained = [bool(code >> i & 1) for i in range(3)]
        right, got = measured(sizes, 10, trained), activations(sizes, 10, trained)
        assert got == right, f"{got} instead of {right} for {trained}"
    print("right")


# %% tags=["help"]
check_activations.hints = [
    "Go through the layers, and ask for each tensor `h`: which node needs it in the backward?",
    "The product needs its input for the gradient of `W`, if `W` is trained. `relu` needs its "
    "result, if any gradient flows through it.",
    "A gradient flows through a layer if its `W` or an earlier one is trained. The result of "
    "`relu` is also the input of the next product: count it once, with a set of layer numbers."]
check_activations.wrong = {
    "360 instead of 0 for [False, False, False]":
        "Nothing requires a gradient, so there is no graph and nothing is saved.",
    "50 instead of 360 for [True, False, False]":
        "The gradient of the first `W` flows back through every later `relu`, and each of them "
        "keeps its result.",
    "310 instead of 360 for [True, False, False]":
        "The product with a trained `W` keeps its input, even if this input is the data.",
    "430 instead of 360 for [True, True, False]":
        "You counted a tensor twice: the result of `relu` is the input of the next product."}


# %% tags=["hide-cell", "solution"]
def activations_solution(sizes, batch, trained):
    kept, wants = set(), False      # kept: the numbers of the activations, 0 is the data
    for i, wanted in enumerate(trained):
        if wanted:
            kept.add(i)             # the product keeps its input, for the gradient of W
        wants = wants or wanted
        if wants:
            kept.add(i + 1)         # relu keeps its result
    return sum(batch * sizes[i] for i in kept)


check_activations(activations_solution)

# %% [markdown]
# ## What to remember
#
# * A node saves what its **formulas need**; only the formulas of inputs that require a gradient count.
# * A product saves the **other** factor. If a formula can use the **result**, the result is saved. Sums and views save a shape or
#   nothing.
# * A saved input is the tensor itself, and lives as long as the node. A saved result is an alias without history; otherwise it and
#   its node would hold each other.
# * Saved values are freed right after the node has run, or when the graph is deleted.
# * Parameters cost the same for every batch. Activations grow with the batch, with the depth, and in a convolution with the image.
#
# **Next:** [packing](08_packing.py), which makes saved tensors smaller, or stores them elsewhere.
