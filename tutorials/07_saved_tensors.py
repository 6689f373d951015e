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
# **The question.** A backward needs numbers from the forward. Which ones, who keeps them, and for how long?
#
# You need: [tutorial 1](01_derivative_to_graph.py), and of [tutorial 4](04_retain_graph.py) what is let go of, and when. You get:
# for every operation the reason why it keeps what it keeps; a function of eight lines that foretells it; and the bytes that a
# network keeps, layer by layer.
#
# Our example all the way down is
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
# The safe idea is that every operation keeps all that went in and all that came out. Whatever a formula asks for, it is there. Let
# us see what that would cost for a chain of 100 additions, on 1,000 numbers each:

# %%
big = mg.ones(1000, requires_grad=True)
tensors, z = [big], big
for _ in range(100):
    z = z + 1.0
    tensors.append(z)
print(f"everything:    {sum(t.numel() * t.element_size() for t in tensors):>7,} bytes")
print(f"minigrad keeps {mg.debug.saved(z).nbytes:>7,}")

# %% [markdown]
# Nothing at all. The derivative of $z + 1$ is 1, whatever $z$ is. So a node does not keep what the operation *had*. It keeps what
# its formula *asks for*. (`mg.debug.saved` walks over a graph and lists what lies in its nodes. We will use it often.)
#
# ## What the formulas ask for
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
# And this is what the nodes have. What is kept has a name that begins with `_saved_`. The operands of an operation are called
# `self` and `other`, as in `self * other`, and what comes out is the `result`:

# %%
def saved(tensor):
    """What the node of a tensor has kept: name -> value. Of tensors the shape."""
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
# Compare with the table. The product has its two factors, the exponential its result. The sum has no tensor: a shape and two
# options are a few numbers, however large the tensor was.
#
# ## Only what is needed
#
# **Predict.** Now $c$ is a constant: nobody wants a gradient for it. What does the node of `x * c` keep, $x$, $c$, or both?
#
# <details><summary>Answer</summary>
#
# Only $c$. The formula for $\bar x$ asks for the other factor. $x$ would be needed for $\bar c$, and that is not computed.
#
# </details>

# %%
c = mg.tensor([4.0, 5.0, 6.0])
print("x * w:", saved(x * w))
print("x * c:", saved(x * c))
print("x * 2:", saved(x * 2.0))
print("c * c:", (c * c).grad_fn)

# %% [markdown]
# So the question is not which operands require a gradient, but what *their formulas* ask for. With a number there is no tensor
# to keep; and where no gradient is wanted, there is no node.
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
# A layer whose parameters are frozen keeps its parameters, and not the batch. And if the data wants no gradient and the first
# layers are frozen, these have no nodes, and keep nothing at all. That is why training only the last layers takes little memory.
#
# ## The input, or the result?
#
# The derivative of $e^u$ can be written with $u$ or with $h$. The sine's cannot: $\cos u$ is not a function of $\sin u$ alone,
# since the sign is lost. The logarithm's could, $1/u = e^{-h}$, at the price of an exponential. Here are some functions of one
# number, each with what it keeps. `self` is the input.

# %%
p = mg.tensor([0.2, 0.5, 0.9], requires_grad=True)
for f in ("exp", "sqrt", "sigmoid", "tanh", "relu", "log", "sin", "cos", "abs"):
    kept = saved(getattr(p, f)())
    print(f"{f:<8} {', '.join(kept)}")

# %% [markdown]
# Where the result does as well, the result is kept. There are three reasons.
#
# *It is there.* $e^u$ has been computed once. From $u$ it would have to be computed again.
#
# *The next operation often keeps it too.* A matrix product keeps its input. If that is the result of a `tanh`, both keep the same
# tensor, and its memory is there once. After a `sin`, which keeps its input, there are two:

# %%
m = mg.ones(64, 64, requires_grad=True)


def layer(f):
    return f(a @ m) @ m


for f in (mg.relu, mg.tanh, mg.sin):
    found = mg.debug.saved(layer(f))
    kept = found.nbytes - found.leaf_nbytes
    print(f"{f.__name__:<5} {kept:>8,} bytes beside the leaves")

# %% [markdown]
# *The input is free.* What keeps its result lets go of its input, which may then be overwritten or forgotten.
#
# Relu shows the first two reasons. Its formula asks only where the input was positive. The result says so as well, and the next
# layer needs that anyway.
#
# ## A shape, or nothing
#
# Operations that move numbers about, or that add them up, do not ask for their values:

# %%
t = mg.ones(2, 6, requires_grad=True)
print("add ", saved(t + t))
print("neg ", saved(-t))
print("t   ", saved(t.t()))
print("view", saved(t.view(3, 4)))
print("sum ", saved(t.sum(0)))

# %% [markdown]
# Those that *choose* have to know what they chose. `max` along a dimension keeps for each row the place of the largest number, one
# integer for each number of its result. Indexing keeps the index. The numbers that were chosen from are not needed:

# %%
print("max  ", saved(t.max(1).values))
print("index", saved(t[:, mg.tensor([0, 3])]))

# %% [markdown]
# ## The rule says so
#
# Where does minigrad write down what is kept? Nowhere, apart from the formulas. They are functions, and what a formula needs it has
# for **parameters**. Here are the rules for the product and for the exponential. `g` is the gradient that arrives, `x` and `y` are
# the inputs, and `z` is the result.

# %%
mg.utils.source.source_of("ops/elementwise/arithmetic.py", "Mul")

# %%
mg.utils.source.source_of("ops/elementwise/functions.py", "Exp")

# %% [markdown]
# `vjp_x` computes the gradient of `x`, and asks for `y`. So what a node has to keep can be foretold by reading names. Take the
# formulas of the inputs that want a gradient, and collect their parameters, without `g`:

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
# The quotient is worth a look: for the gradient of the upper one the lower one is enough, for that of the lower one both are
# needed. Does it hold for the nodes? We compare some rules with what their nodes have.

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
# A tensor lives as long as somebody holds it. A node is somebody. We forget `u`, and look with a *weak* reference, which holds
# nothing itself, whether it is still there:

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
# The sine holds its input. The others do not need theirs, so it goes at once. Only the last needs it again: $w$ wants a gradient,
# and that asks for $u$.
#
# What a node holds is the very tensor. No number is copied:

# %%
sine = u.sin()
print(sine.grad_fn._saved_self is u)

# %% [markdown]
# Each `_saved_` has a sibling that begins with `_raw_saved_`. It does not give the tensor, but a handle on the place where it lies.
# One can look there later, or put something else there ([tutorial 8](08_packing.py)).

# %%
handle = sine.grad_fn._raw_saved_self
print(handle.unpack() is u)

# %% [markdown]
# ### A saved result
#
# With a result there is a difficulty. A result holds its node: that is `grad_fn`. If the node held the result, the two would hold
# each other. Python frees an object when the last reference to it goes, and in such a **cycle** there always is one left:

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
# Python's garbage collector does find cycles, but at some later time. Until then the memory of a whole graph would be waiting. So a
# node keeps of a result not the tensor, but another one on the same memory, *without* its history. When it is asked for, it gets
# its history back:

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
# Now a network. Everything that is saved passes through `saved_tensors_hooks`, if one asks for it: a function of ours is called
# with each tensor when it is saved, and what the function returns is kept in its place ([tutorial 8](08_packing.py) does more with
# that). Here it only counts. A memory that is saved twice counts once, and parameters count for nothing, since they are there
# anyway.

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
# Where `pack` returns `t.detach()`, returning `t` itself would make the cycle that we have just spoken of.

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
# The first layer saves the data, for the gradient of its weight. Tanh and relu save their results, one number for each number that
# comes out. The second and third linear layer save their inputs, which are those very results: nothing new. These tensors between
# the layers are called **activations**.
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
# Parameters cost a fixed sum: themselves, their gradients, and with an optimizer such as Adam two averages, four times their size.
# Activations grow with the batch. In a convolution they also grow with the image, since the same few parameters are used at every
# place:

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
# That is why memory runs out in training and not in use: under `no_grad` there are no nodes, and so nobody holds an activation
# once the next layer has had it. ([Checkpointing](11_checkpointing.py) is the way to train with less.)

# %%
count = Count(net.parameters())
with count.hooks, mg.no_grad():
    net(mg.randn(256, 64))
print(count.bytes, "bytes")

# %% [markdown]
# ## When it is let go
#
# A node lets go of what it has saved right after it has run, unless `retain_graph=True` asks it not to ([tutorial
# 4](04_retain_graph.py)). The backward runs from the
# end, so memory falls as it rose, in reverse. We look at each layer's result, going forth; and at the same places on the way back,
# from a hook:

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
for bytes_kept in history:
    print(f"{bytes_kept:>6,}", "#" * (bytes_kept // 400))

# %% [markdown]
# The largest is at the turn. And a graph that nobody runs lets go as well, when it is forgotten: the weak references above have
# shown it.
#
# ## Step by step
#
# Watch the saved tensors. Which node has none to unpack? When does the exponential let go of its result?

# %%
x.grad = w.grad = None
with mg.debug():        # have each operation note its line
    y = (x * w).exp().sum()
with mg.debug.record() as r:
    y.backward()
mg.viz.step(r)

# %% [markdown]
# The same as a table, for the events that we have spoken of:

# %%
for event in r.events:
    if event.kind in ("dequeue", "unpack", "release") and event.op != "AccumulateGrad":
        print(f"{event.step:>2} {event.kind:<8} {event.op:<14} {event.what}")

# %% [markdown]
# ## The source
#
# Our `foretold` is minigrad's `Plan`. It is made once for an operation and a set of inputs that want a gradient (the bits of
# `mask`), and every such node uses it. The last lines are about where a name comes from: an argument, a result, or only the shape
# of an argument.

# %%
mg.utils.source.source_of("_core/record/primitive.py", "Plan.__init__")

# %% [markdown]
# This puts a value where the node keeps it. With hooks, what they have made of it. Of a result (`output` is its number), an alias
# without history. And the version: how often the memory had been written to, so that a later change is noticed.

# %%
mg.utils.source.source_of("_core/record/op_node.py", "OpNode.store")

# %% [markdown]
# The history that a saved result gets back:

# %%
mg.utils.source.source_of("_core/record/saved_tensor.py", "restore_history")

# %% [markdown]
# ## The same in PyTorch
#
# With few exceptions the same tensors are saved, for the same reasons. A formula there is a line of text, and what is saved is
# found by looking for names in it:
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
# | | minigrad | PyTorch |
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
# What differs: what is no tensor has other names there, such as `_saved_self_sym_sizes` for a shape; a number that one multiplies
# by is kept as a tensor of no dimensions; and a few operations keep more or less. `gather` keeps its input there as well, and
# `silu` keeps one tensor where ours, made of two operations, keeps two. (The second exercise mends that.) `debug.saved` has no
# counterpart.
#
# ## What goes wrong
#
# **A saved tensor is overwritten.** The exponential has kept its result. We write to it, and the number that the formula asks for
# is gone. minigrad notices, when the value is needed ([tutorial 9](09_version_counters.py)):

# %%
h = x.exp()
h *= 2.0
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    h.sum().backward()

# %% [markdown]
# **Predict.** And with `x.sin()` in the place of `x.exp()`?
#
# <details><summary>Answer</summary>
#
# It works. The sine has kept its input, and nobody has kept its result.
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
# **A tensor that must not be saved.** Under `inference_mode` ([tutorial 6](06_grad_modes.py)) nobody counts writes, so a node could
# not tell whether its tensor has been changed. Where a formula asks for it, there is an error; where it does not, there is none:

# %%
with mg.inference_mode():
    scale = mg.tensor([4.0, 5.0, 6.0])
shifted = x + scale
with mg.testing.expect_error(RuntimeError, code="MG-E176"):
    scaled = x * scale

# %% [markdown]
# **A small view keeps a large memory.** Nothing is raised here. The sine of one number keeps that number, which is a view; and a
# view keeps the memory it looks at, all of it. A copy of the one number would do:

# %%
large = mg.ones(1000, requires_grad=True) * 1.0
print("a view:", mg.debug.saved(large[:1].sin()).nbytes, "bytes")
print("a copy:", mg.debug.saved(large[:1].clone().sin()).nbytes, "bytes")

# %% [markdown]
# **A result is held, and with it a graph.** Losses that are gathered in a list keep all that was saved for them. Keep numbers:
# `losses.append(loss.item())`. More about this: {doc}`/errors/memory-grows`.
#
# ## Exercises
#
# Each has a check that runs: fill in what is missing, then call the check with it, as in `check_kept(predicted)`. Solutions are
# folded away below.
#
# **1. Predict.** Which tensors does the *last* node of each program keep? $x$ requires a gradient, $c$ does not. Answer with a set
# of `"self"`, `"other"` and `"result"`.

# %%
PROGRAMS = ["x - x", "x * c", "c / x", "(x + c).tanh()", "x.exp() * 2.0"]
predicted = [None, None, None, None, None]      # your sets; set() is the empty one


# %%
def check_kept(predicted):
    assert len(predicted) == len(PROGRAMS), "five sets, one for each program"
    for text, told in zip(PROGRAMS, predicted):
        names = {"x": mg.ones(3, requires_grad=True), "c": mg.ones(3)}
        node = eval(text, names).grad_fn
        right = {value.name for value in mg.debug.saved(node, graph=False)}
        assert told == right, f"{text}: not {told}. Write down the formulas that are run"
    print("right")


# %% tags=["hide-cell"]
check_kept([set(),              # 1 and -1, whatever x is
            {"other"},          # c, for the gradient of x; that of c is not wanted
            {"self", "other"},  # -c / x^2 asks for both
            {"result"},         # 1 - h^2
            set()])             # a number is no tensor; exp is a node of its own

# %% [markdown]
# **2. Save less.** The *swish* is $y = x\,\sigma(x)$, with $\sigma$ the sigmoid. Written as `x * x.sigmoid()`, two memories are
# kept: $x$ and $\sigma(x)$. $\sigma(x)$ can be computed from $x$. Write `Swish` so that only $x$ is kept. The derivative is
# $\sigma\,(1 + x\,(1 - \sigma))$. You need to know of `Function` ([tutorial
# 14](14_function.py)) that `forward` computes, `ctx.save_for_backward` keeps, and
# `backward` is given what arrives.

# %%
class Swish(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        """Your lines go here."""

    @staticmethod
    def backward(ctx, g):
        """And here: x, = ctx.saved_tensors"""


# %%
def check_swish(swish):
    """`swish` is a class such as the one above."""
    base = mg.linspace(-3, 3, 50, dtype=mg.float64, requires_grad=True)
    x = base * 1.0
    y = swish.apply(x)
    assert isinstance(y, mg.Tensor) and mg.allclose(y, x * x.sigmoid()), "another result"
    found = mg.debug.saved(y)
    assert found.nbytes == 400, f"{found.nbytes} bytes are kept instead of 400"
    assert mg.autograd.gradcheck(swish.apply, base)
    print("right")


# %% tags=["hide-cell"]
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
# **3. Frozen layers.** A network is `h = relu(h @ W)`, once for each $W$, beginning with data of `batch` rows that wants no
# gradient. `sizes` are the widths: the first is that of the data. `trained` tells for each $W$ whether it wants a gradient. Write
# `activations(sizes, batch, trained)`: how many *numbers* are kept, the weights left out? Every weight after a trained one is kept
# as well, but that does not count here.

# %%
def activations(sizes, batch, trained):
    """Your lines go here."""


# %%
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


# %% tags=["hide-cell"]
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
# * A node keeps what its **formulas ask for**, and of these only the formulas of inputs that want a gradient.
# * A product keeps the **other** factor. Where the **result** does, the result is kept; sums and views keep a shape or nothing.
# * A saved input is the very tensor; it lives as long as the node. A saved result is an alias without history, since otherwise the
#   two would hold each other.
# * It is let go right after the node has run, or when the graph is forgotten.
# * Parameters cost the same for every batch. Activations grow with it, with the depth, and in a convolution with the image.
#
# **Next:** [packing](08_packing.py), which keeps it smaller, or elsewhere.
