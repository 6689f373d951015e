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
# # Checkpointing: recompute instead of saving
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** [tutorial
# 1](01_derivative_to_graph.py) and [tutorial 2](02_the_engine.py); hooks on saved tensors ([tutorial 8](08_packing.py)) are
# explained in a line. **Afterwards** you can trade memory for time with checkpoints, choose the number of segments, and name the
# mistakes of a program that runs twice.
#
# **The question.** A network saves tensors of each layer until the backward. Could it save less, and compute the rest again when
# the backward needs it?
#
# Our example is a chain of 64 layers. A real layer would have weights. Ours is a sine, and it counts how often it runs:

# %%
import math
import random
import warnings
from collections import Counter
from itertools import count

import minigrad as mg
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.utils._python_dispatch import TorchDispatchMode
from minigrad.utils.checkpoint import (
    checkpoint,
    checkpoint_sequential,
    create_selective_checkpoint_contexts,
    set_checkpoint_early_stop,
)

ran = Counter()


def layer(h):
    h = h.sin()
    ran["layer"] += 1
    return h


def layers(n):
    """n layers, one after the other."""
    def run(h):
        for _ in range(n):
            h = layer(h)
        return h
    return run


x = mg.linspace(0.5, 1.5, 1000).requires_grad_()
y = layers(64)(x)
print(ran["layer"], "layers have run")

# %% [markdown]
# The derivative of a sine is the cosine of its *input*. So the node of each layer keeps the input of that layer:

# %%
saved = mg.debug.saved(y)
print(len(saved), "tensors,", saved.nbytes, "bytes")

# %% [markdown]
# These are 64 tensors of 1000 numbers, four bytes each. All of them are in memory when the backward begins. In the training of a
# large network, such tensors often need most of the memory.
#
# ## A meter
#
# We want to know the *largest* number of tensors that are kept at the same time. For this we must see each tensor that is saved,
# with **hooks on saved tensors**. They are two functions. The first gets the tensor, and the node keeps its return value instead
# of the tensor. When the backward needs the tensor, the second function gets this value, and must return the tensor. Our first
# function puts the tensor into a box, and the second takes it out. We count the boxes; two boxes of the same memory count once.

# %%
class Box:
    """A tensor that is kept for the backward, and counted while it is."""

    held = Counter()        # address -> how many boxes
    peak = 0

    def __init__(self, tensor):
        self.tensor = tensor.detach()
        Box.held[self.tensor.data_ptr()] += 1
        Box.peak = max(Box.peak, len(Box.held))

    def __del__(self):
        address = self.tensor.data_ptr()
        Box.held[address] -= 1
        if not Box.held[address]:
            del Box.held[address]

    def take(self):
        return self.tensor


def measured(f):
    """For f and its backward: the most tensors kept, the layers run, the gradient."""
    x.grad, Box.peak, ran["layer"] = None, 0, 0
    with saved_tensors_hooks(Box, Box.take):
        f(x).sum().backward()
    return Box.peak, ran["layer"], x.grad


# %%
peak, runs, right = measured(layers(64))
print(f"{peak} tensors at most, {runs} layers run")

# %% [markdown]
# ## The two ends
#
# One extreme is to keep everything. The other extreme is to keep only `x`. When the backward needs the input of a layer, begin at
# `x`, and run all layers before it. Here it is for a single number, without a graph:

# %%
def frugal(h0, n):
    """The derivative of n sines, with one number kept; and the layers run."""
    runs, g = 0, 1.0
    for i in reversed(range(n)):
        h = h0
        for _ in range(i):
            h = math.sin(h)
        runs += i
        g *= math.cos(h)
    return g, runs + n          # n for the forward


g, runs = frugal(0.5, 64)
print(f"{g:.6f}, {runs} layers run;  right is {right[0].item():.6f}")

# %% [markdown]
# One tensor instead of 64. But 2080 layers instead of 64: the work grows with the square of $n$.
#
# ## The middle: segments
#
# Cut the chain into $k$ **segments** of $n/k$ layers. In the forward, keep only the input of each segment. In the backward, the
# last segment comes first. Run it again from its input, and this time keep everything. Run its backward. Then free its tensors, and
# do the same with the segment before it.
#
# What must be in memory at the same time? The inputs of $k$ segments, and the inside of *one* of them:
#
# $$ k + \frac nk - 1 . $$
#
# (The $-1$: the first layer's input is the segment's input, which is already counted.) And each layer runs twice. In the other
# extreme it ran 32 times, on average.
#
# Here is one segment. In the first run each saved tensor is dropped, and the node keeps its number in the order of saving. When the
# first node needs its tensor, the function runs again. The second run saves the tensors in the same order.

# %%
def by_hand(f, x):
    """Compute f(x), and keep only f and x for the backward."""
    places, box, again = count(), Box(x), {}

    def pack(tensor):
        return next(places)

    def unpack(place):
        if not again:
            with saved_tensors_hooks(keep, Box.take), mg.enable_grad():
                f(box.tensor.requires_grad_())
        return again.pop(place).tensor

    def keep(tensor):
        again[len(again)] = Box(tensor)

    with saved_tensors_hooks(pack, unpack):
        return f(x)


def in_segments(n, k, make=by_hand):
    def run(h):
        for _ in range(k):
            h = make(layers(n // k), h)
        return h
    return run


# %% [markdown]
# The backward does not know about this. It walks over the same graph, and each node unpacks its saved tensor.

# %%
for k in (1, 2, 4, 8, 16, 32, 64):
    peak, runs, g = measured(in_segments(64, k))
    assert mg.equal(g, right)
    print(f"{k:2} segments   {peak:2} tensors at most   {runs} layers run")

# %% [markdown]
# Without checkpoints there were 64 tensors, and 64 layers ran. Both ends of the table are as bad as that. A single segment runs
# again as a whole, and then it is in memory as a whole. With 64 segments, all inputs of segments are in memory. The best number is
# in the middle, where both parts are equal: $k = n/k$, so $k = \sqrt n$. Then at most $2\sqrt n - 1$ tensors are kept.
#
# ![A curve for a chain of 64 layers. With 1 or 64 segments, 64 tensors are kept at most. The fewest, 15, are kept with 8
# segments, the square root of 64. One part of the sum, the inputs of segments, rises; the other, the inside of one segment,
# falls.](pictures/root-n.svg)
#
# | layers, $n$ | kept without | kept with $\sqrt n$ segments |
# |---|---|---|
# | 64 | 64 | 15 |
# | 400 | 400 | 39 |
# | 10,000 | 10,000 | 199 |
#
# The price is one more forward. A backward costs about two forwards, so a step takes some four parts instead of three. That is a
# rule of thumb, and depends on the layers.
#
# **Predict.** A chain of 100 layers is cut into 4 segments. How many tensors are kept at most? How many with 10?
#
# <details><summary>Answer</summary>
#
# $4 + 25 - 1 = 28$, and $10 + 10 - 1 = 19$.
#
# </details>

# %%
print([measured(in_segments(100, k))[0] for k in (4, 10)])

# %% [markdown]
# ## checkpoint
#
# `checkpoint(f, x, use_reentrant=False)` does what `by_hand` does. (What *reentrant* means comes below. Always give the argument.)

# %%
def real(f, x):
    return checkpoint(f, x, use_reentrant=False)


x.grad, ran["layer"] = None, 0
with saved_tensors_hooks(Box, Box.take):
    y = in_segments(64, 8, real)(x)
print("forward: ", ran["layer"], "layers run,", len(Box.held), "tensors kept")
y.sum().backward()
print("backward:", ran["layer"], "layers run,", "right:", mg.equal(x.grad, right))

# %% [markdown]
# The graph has the same nodes as without a checkpoint. But each node keeps a `Holder` instead of a tensor. A Holder contains no
# numbers; it says how to get the tensor:

# %%
u = mg.tensor([0.5, 1.0], requires_grad=True)
plain, checked = layers(2)(u), real(layers(2), u)
mg.debug.saved(checked)

# %%
mg.viz.draw(checked, names={"u": u, "checked": checked})

# %% [markdown]
# ### Deeper: a list of functions
#
# `checkpoint_sequential` cuts a list of functions into segments. It does not checkpoint the last segment: its backward comes
# immediately, so a second run would save nothing.

# %%
x.grad, ran["layer"] = None, 0
y = checkpoint_sequential([layer] * 64, 8, x, use_reentrant=False)
y.sum().backward()
print(ran["layer"], "layers run, right:", mg.equal(x.grad, right))

# %% [markdown]
# ### Deeper: it stops early
#
# Look at `in_segments` above: 64 layers ran in the forward, and 120 in total, not 128. In each of the 8 segments, the last layer did
# not run again. The backward needs its *input*, which was saved, but not its result. So the second run stops as soon as the last
# tensor is saved. You can switch this off:

# %%
for early in (True, False):
    ran["layer"] = 0
    with set_checkpoint_early_stop(early):
        y = in_segments(64, 8, real)(x)
    y.sum().backward()
    print(f"early stop {early!s:<6} {ran['layer']} layers run")

# %% [markdown]
# How can minigrad stop your function in the middle? When the hook has received the last tensor, it raises an exception, which is
# caught around the function.
#
# ### Deeper: randomness is repeated
#
# Dropout sets a random half of the numbers to zero. If the second run drew other random numbers, it would drop other elements, and
# the gradient would belong to a function that was never computed. Our `by_hand` has this fault:

# %%
def dropped(h):
    return mg.nn.functional.dropout(h, 0.5).sin()


def same_places(make):
    """Whether the gradient is zero exactly where the forward has dropped a number."""
    mg.manual_seed(0)
    ones = mg.ones(1000, requires_grad=True)
    y = make(dropped, ones)
    y.sum().backward()
    return mg.equal(y == 0, ones.grad == 0)


print("by hand:   ", same_places(by_hand))
print("checkpoint:", same_places(real))

# %% [markdown]
# `checkpoint` saves the state of the random numbers before the first run, sets it for the second run, and restores it afterwards.
# With `preserve_rng_state=False` it does not. This saves a little time, and is right if nothing in the function is random:

# %%
def other_numbers(f, x):
    return checkpoint(f, x, use_reentrant=False, preserve_rng_state=False)


print(same_places(other_numbers))

# %% [markdown]
# **Predict.** That was a wrong gradient. Was there an error?
#
# <details><summary>Answer</summary>
#
# No. The second run saved as many tensors as the first, with the same shapes. The old numbers were not kept, so they cannot be
# compared.
#
# </details>
#
# ## Step by step
#
# Here are two layers and a sum, with a checkpoint. In the forward each `pack` stores a Holder instead of a tensor. In the backward
# look for the first `unpack`: while that node runs, new nodes are created. This is the second run of the function. The next `unpack`
# creates no nodes.

# %%
u.grad = None
with mg.debug.record() as recorded:
    checked = real(layers(2), u)
    checked.sum().backward()
mg.viz.step(recorded)

# %% [markdown]
# ### Deeper: as a table, and side by side

# %%
for event in recorded.events:
    if event.kind in ("made", "pack", "unpack"):
        what = f"{event.op:<13} {event.what:<27}"
        print(f"{event.step:2} {event.kind:<7} {what} {event.why}")

# %% [markdown]
# Beside it is the same without a checkpoint. The additional steps on the left are the second run. The other differences are in the
# values that the nodes keep:

# %%
u.grad = None
with mg.debug.record() as unchecked:
    plain = layers(2)(u)
    plain.sum().backward()
mg.viz.diff(recorded, unchecked, labels=("checkpoint", "without"))

# %% [markdown]
# ## Deeper: the other kind: reentrant
#
# PyTorch had `checkpoint` before it had hooks on saved tensors. The older way is to hide the segment behind a single node: a
# Function ([tutorial 14](14_function.py)), whose forward runs `f` without recording anything, and whose backward runs it again with recording,
# and then calls *backward itself*.

# %%
class Rerun(mg.autograd.Function):
    """A checkpoint of one argument."""

    @staticmethod
    def forward(ctx, f, x):         # in here nothing is recorded
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with mg.enable_grad():
            y = ctx.f(x)
        y.backward(g)
        return None, x.grad


for make in (Rerun.apply, lambda f, x: checkpoint(f, x, use_reentrant=True)):
    peak, runs, g = measured(in_segments(64, 8, make))
    print(f"{peak} tensors at most, {runs} layers run, right: {mg.equal(g, right)}")

# %% [markdown]
# The engine is entered again while it runs ([tutorial 2](02_the_engine.py)): this explains the name. The memory is the same. There are 8 layers
# more, since nothing stops early. (The meter sees inside here. The second run saves its tensors in the ordinary way, in boxes.)
#
# There is one node per segment, whatever is in it:

# %%
hidden = checkpoint(layers(2), u, use_reentrant=True)
print(hidden.grad_fn.name(), "->", hidden.grad_fn.next_functions[0][0].name())

# %% [markdown]
# All other differences follow from this:
#
# | question | `use_reentrant=False` | `use_reentrant=True` |
# |---|---|---|
# | the graph | as without a checkpoint | one node |
# | the first run | records | does not |
# | the second run | stops early | runs to the end |
# | `autograd.grad`, `inputs=` | yes | an error |
# | an argument that requires a gradient | not needed | needed, else no gradients |
# | keyword arguments for `f` | yes | an error |
#
# Weights that `f` uses from outside get their gradient in the inner backward, which fills their `.grad`. The outer engine does not
# know them, since no edge leads to them. So it cannot *return* such a gradient, or leave it out:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E169"):
    mg.autograd.grad(hidden.sum(), u)
g, = mg.autograd.grad(real(layers(2), u).sum(), u)
print([round(number, 4) for number in g.tolist()])

# %% [markdown]
# The Function takes a sequence of positional arguments, so it cannot take keyword arguments:

# %%
with mg.testing.expect_error(ValueError, code="MG-E163"):
    checkpoint(lambda h, factor: (h * factor).sin(), u, factor=2.0, use_reentrant=True)

# %% [markdown]
# ## Deeper: keep some, compute the others again
#
# A matrix product is expensive, a sine is cheap, and their results take the same memory. So it may be best to keep the products and
# recompute the rest. This is **selective checkpointing**: for each operation, a policy says whether its result is kept.
#
# To see which operations really run, we put a *mode* around the program, which is called for each:

# %%
class Operations(TorchDispatchMode):
    """Counts the operations that are run within."""

    def __init__(self):
        self.count = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count[str(func)] += 1
        return func(*args, **(kwargs or {}))


def block(h, w):
    return ((h @ w).sin() @ w).sin()


def operations(**how):
    """What runs in the forward and the second run of a block."""
    h, w = mg.ones(3, 3, requires_grad=True), mg.eye(3).requires_grad_()
    with Operations() as seen:
        y = checkpoint(block, h, w, use_reentrant=False, early_stop=False, **how)
        first = Counter(seen.count)
        y.grad_fn._saved_self       # asks for a tensor
    return dict(first), dict(seen.count - first)


# %% [markdown]
# Reading a saved tensor of a node is enough to start the second run. So we do this instead of a backward, whose operations would be
# counted too.

# %%
def keep_products():
    return create_selective_checkpoint_contexts(["mm"])


print("all again:    ", *operations())
print("products kept:", *operations(context_fn=keep_products))

# %% [markdown]
# The price is memory: here the two products are kept. Instead of a list, the policy may be a function that is called for each
# operation; see the third exercise.
#
# ## The source
#
# A checkpointed call is a `Frame`. Its `pack` is like ours, with a `Holder` instead of a number, and also a description of the tensor:

# %%
mg.utils.source.source_of("utils/_checkpoint/frames.py", "Frame.pack")

# %% [markdown]
# This is our `unpack`. The tensors belong to a *run*, and each backward has its own run, so a second backward over a retained graph
# computes them again:

# %%
mg.utils.source.source_of("utils/_checkpoint/frames.py", "Frame.value")

# %% [markdown]
# The second run, with the random numbers of the first run. `Stop` is the exception that stops it:

# %%
mg.utils.source.source_of("utils/_checkpoint/frames.py", "Frame.run_again")

# %% [markdown]
# Here it is raised. This is the hook of the second run:

# %%
mg.utils.source.source_of("utils/_checkpoint/frames.py", "Run.__call__")

# %% [markdown]
# ### Deeper: the other kind
#
# And the other kind, our `Rerun`:

# %%
mg.utils.source.source_of("utils/_checkpoint/reentrant.py", "CheckpointFunction.backward")

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# >>> import torch
# >>> from torch.utils.checkpoint import checkpoint
# >>> runs = []
# >>> def layers(h):
# ...     for _ in range(8):
# ...         h = h.sin()
# ...         runs.append(1)
# ...     return h
# >>> x = torch.linspace(0.5, 1.5, 1000, requires_grad=True)
# >>> plain = torch.autograd.grad(layers(x).sum(), x)[0]
# >>> runs.clear()
# >>> y = checkpoint(layers, x, use_reentrant=False)
# >>> y.grad_fn.name(), len(runs)
# ('SinBackward0', 8)
# >>> y.sum().backward()
# >>> torch.equal(x.grad, plain), len(runs)
# (True, 15)
#
# ```
#
# ### Deeper: reentrant, and where it is in PyTorch
#
# ```python
# >>> runs.clear()
# >>> hidden = checkpoint(layers, x, use_reentrant=True)
# >>> hidden.sum().backward()
# >>> hidden.grad_fn.name(), len(runs)
# ('CheckpointFunctionBackward', 16)
#
# ```
#
# | mechanism | minigrad, in `minigrad/utils` | PyTorch, in [`torch/utils/checkpoint.py`][checkpoint.py] |
# |---|---|---|
# | the two kinds | `checkpoint.py`, `checkpoint` | `checkpoint` |
# | one call, and what it must keep | `_checkpoint/frames.py`, `Frame` | `_CheckpointFrame` |
# | the place of a tensor | the same file, `Holder` | `_Holder` |
# | the hooks of the first run | the same file, `Frame.pack`, `Frame.value` | `_checkpoint_hook` |
# | the hook of the second run | the same file, `Run` | `_recomputation_hook` |
# | stopping early | the same file, `Stop` | `_StopRecomputationError` |
# | reentrant | `_checkpoint/reentrant.py`, `CheckpointFunction` | `CheckpointFunction` |
# | selective | `_checkpoint/selective.py` | `create_selective_checkpoint_contexts` |
#
# [checkpoint.py]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/utils/checkpoint.py
#
# In PyTorch the policy of a selective checkpoint gets operators, such as `torch.ops.aten.mm.default`; in minigrad it gets names.
#
# ## What goes wrong
#
# **The second run differs from the first.** Here the function reads a list that it has changed itself. The second run saves fewer
# tensors than the first:

# %%
calls = []


def moody(h):
    calls.append(1)
    return h.sin().exp() if len(calls) == 1 else h.sin()


y = checkpoint(moody, u, use_reentrant=False)
with mg.testing.expect_error(RuntimeError, code="MG-E160"):
    y.sum().backward()

# %% [markdown]
# **The same, without an error.** If the shapes are right and only the numbers differ, minigrad does not notice. So pass values that
# may change as tensor *arguments*: a write to an argument is noticed, as we will see. Random numbers from other sources, such as
# Python's, are not repeated either:

# %%
random.seed(1)
t = mg.tensor(1.0, requires_grad=True)
y = checkpoint(lambda h: (h * random.random()).sin(), t, use_reentrant=False)
y.backward()
factor = math.asin(y.item())
print(f"is {t.grad.item():.4f}, should be {factor * math.cos(factor):.4f}")

# %% [markdown]
# ### Deeper: more cases
#
# **The second run saves as many tensors, but of other shapes.** That is noticed too:

# %%
scale = [mg.ones(2)]
y = checkpoint(lambda h: (h * scale[0]).sin(), u, use_reentrant=False)
scale[0] = mg.ones(3, 2)
with mg.testing.expect_error(RuntimeError, code="MG-E161"):
    y.sum().backward()

# %% [markdown]
# **The program writes to an argument.** The second run needs the old values of the arguments. Arguments are kept like saved tensors,
# with their version ([tutorial 9](09_version_counters.py)). So every write to them is noticed:

# %%
h = u * 1
y = checkpoint(layers(2), h, use_reentrant=False)
h += 1
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    y.sum().backward()

# %% [markdown]
# If the function itself writes to its argument, its second run fails as well:

# %%
def doubles(h):
    h *= 2
    return h.sin()


y = checkpoint(doubles, u * 1, use_reentrant=False)
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    y.sum().backward()

# %% [markdown]
# Without a checkpoint both programs are right or wrong by other rules. `doubles` is fine there.
#
# **`use_reentrant` is not given.** Then it is True, with a warning, for the sake of old programs. (PyTorch's warning announces an
# error for version 2.9. In 2.13 it still warns.)

# %%
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    y = checkpoint(layers(2), u)
print(y.grad_fn.name())
print(str(warned[0].message).partition(". ")[0])

# %% [markdown]
# **No argument requires a gradient.** The first layer of a network gets data, and only its *weights* require a gradient. A reentrant
# checkpoint sees its arguments, but not the weights. Its Function has nothing to differentiate, so there is no node, and the weights
# get no gradient:

# %%
weight, data = mg.tensor(3.0, requires_grad=True), mg.tensor([0.5, 1.0])
for reentrant in (True, False):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        y = checkpoint(lambda h: (h * weight).sin(), data, use_reentrant=reentrant)
    print(f"use_reentrant={reentrant!s:<6} requires a gradient: {y.requires_grad}")
    print(*[f"    {warning.message}" for warning in warned], sep="")

# %% [markdown]
# If other parts of the network require a gradient, the training continues without an error, but this part does not learn.
#
# **Side effects happen twice.** The second run prints again and counts again, and a batch norm updates its running means again:

# %%
norm = mg.nn.BatchNorm1d(2)
rows = mg.tensor([[1.0, 2.0], [3.0, 6.0]], requires_grad=True)
checkpoint(norm, rows, use_reentrant=False).sum().backward()
print("batches seen:", norm.num_batches_tracked.item())

# %% [markdown]
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. Checkpoints within checkpoints.** Write `halves(n, h)`: it runs `n` layers (a power of two) on `h`. It checkpoints only the
# first of its two halves, and does the same inside each half. After the forward, $\log_2 n + 1$ tensors are kept. Use
# `real`.

# %%
def halves(n, h):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(1)
def check_halves(halves):
    for n in (2, 8, 64):
        x.grad, ran["layer"] = None, 0
        expected, = mg.autograd.grad(layers(n)(x).sum(), x)
        ran["layer"] = 0
        with saved_tensors_hooks(Box, Box.take):
            y = halves(n, x)
        assert ran["layer"] == n, f"{ran['layer']} layers have run in the forward"
        levels = int(math.log2(n))
        assert len(Box.held) == levels + 1, \
            f"{len(Box.held)} tensors kept for {n} layers instead of {levels + 1}"
        y.sum().backward()
        assert mg.equal(x.grad, expected), f"a wrong gradient for {n} layers"
        assert ran["layer"] <= n * (levels + 1), f"{ran['layer']} layers run for {n}"
    print("right")


# %% tags=["help"]
check_halves.hints = [
    "The function calls itself for both halves. Which of the two calls is inside a checkpoint?",
    "`real(f, h)` is a checkpoint of `f` at `h`. Inside it, run the first half: `f` is the "
    "same function, for `n // 2` layers.",
    "If `n` is 1, run `layer(h)`. Otherwise, give the first call to `real` in a `lambda`, and "
    "make the second call with its result, without `real`."]
check_halves.wrong = {
    "8 tensors kept for 8 layers instead of 4":
        "There is no checkpoint: each layer has kept its input.",
    "1 tensors kept for 2 layers instead of 2":
        "One checkpoint covers everything. In its backward, all layers would be kept at the "
        "same time.",
    "2 tensors kept for 8 layers instead of 4":
        "Both halves are in checkpoints. The second half runs next in the backward, so it "
        "needs none.",
    "5 tensors kept for 8 layers instead of 4":
        "The first half is in a checkpoint, but the second half must be cut into halves too."}


# %% tags=["hide-cell", "solution"]
def halves_solution(n, h):
    if n == 1:
        return layer(h)
    h = real(lambda h: halves_solution(n // 2, h), h)
    return halves_solution(n // 2, h)


check_halves(halves_solution)

# %% [markdown]
# **2. Randomness, by hand.** Write `repeated(f, x)`: like `by_hand`, but with the same random numbers in the second run. After
# the backward, the random numbers must continue as if there had been no second run. Use `mg.get_rng_state()` and
# `mg.set_rng_state(state)`. You may call `by_hand`.

# %%
def repeated(f, x):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_repeated(repeated):
    assert same_places(repeated), "different numbers were dropped"

    def numbers(make):
        mg.manual_seed(0)
        y = make(dropped, mg.ones(9, requires_grad=True))
        mg.rand(3)          # so the backward does not begin where the forward ended
        y.sum().backward()
        return mg.rand(3)

    assert mg.equal(numbers(repeated), numbers(real)), "wrong numbers after the backward"
    print("right")


# %% tags=["help"]
check_repeated.hints = [
    "The second run must begin with the state that the first run began with. When do you have "
    "to read this state?",
    "Read `mg.get_rng_state()` before the first run. Give `by_hand` a function that notices "
    "whether it runs for the first or for the second time.",
    "In the second run, read the current state, set the old one, and run `f`. Set the current "
    "state again in a `finally`."]
check_repeated.wrong = {
    "different numbers were dropped":
        "The second run drew new random numbers. Set the state of the first run before it.",
    "wrong numbers after the backward":
        "The second run has changed the state. Restore the state from before this run."}


# %% tags=["hide-cell", "solution"]
def repeated_solution(f, x):
    state, first = mg.get_rng_state(), [True]

    def run(h):
        if first:
            first.clear()
            return f(h)
        outside = mg.get_rng_state()
        mg.set_rng_state(state)
        try:
            return f(h)
        finally:
            mg.set_rng_state(outside)

    return by_hand(run, x)


check_repeated(repeated_solution)

# %% [markdown]
# **3. A policy.** Write `policy(ctx, op, *args)`: it returns True if the result of the operation should be kept. `str(op)` is the name
# of the operation, and `args` are its arguments. Keep matrix products (`mm`), but only if the result has at most ten numbers.

# %%
def policy(ctx, op, *args):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_policy(policy):
    def again(rows):
        h, w = mg.ones(rows, 3, requires_grad=True), mg.eye(3).requires_grad_()
        contexts = lambda: create_selective_checkpoint_contexts(policy)     # noqa: E731
        with Operations() as seen:
            y = checkpoint(block, h, w, use_reentrant=False, early_stop=False,
                           context_fn=contexts)
            first = Counter(seen.count)
            y.grad_fn._saved_self
        return dict(seen.count - first)

    assert again(3) == {"sin": 2}, f"{again(3)} were run again for 3 rows"
    assert again(4) == {"mm": 2, "sin": 2}, f"{again(4)} were run again for 4 rows"
    print("right")


# %% tags=["help"]
check_policy.hints = [
    "You do not have the result yet. Can you tell its size from the shapes of the arguments?",
    "A product of an `n x k` and a `k x m` matrix has `n * m` numbers. `args[0].shape` is the "
    "shape of the first matrix.",
    'Two conditions: `str(op)` is `"mm"`, and the rows of the first matrix times the columns '
    "of the second are at most 10."]
check_policy.wrong = {
    "{'sin': 2} were run again for 4 rows":
        "You ignored the size: these results have twelve numbers, and should not be kept.",
    "{'mm': 2} were run again for 3 rows":
        "This is the opposite: True means that the result is kept.",
    "{} were run again for 3 rows": "Everything was kept, even the sines."}


# %% tags=["hide-cell", "solution"]
def policy_solution(ctx, op, *args):
    return str(op) == "mm" and args[0].shape[0] * args[1].shape[1] <= 10


check_policy(policy_solution)

# %% [markdown]
# ## What to remember
#
# * A checkpoint keeps the input of a segment, and runs the segment again in the backward.
# * $k$ segments of $n$ layers keep $k + n/k - 1$ tensors at most: with $\sqrt n$ segments about $2\sqrt n$. The price is one more
#   forward.
# * `use_reentrant=False` uses hooks on saved tensors. The graph does not change. The first node that needs its tensor starts the
#   second run, which stops early. Use this variant.
# * `use_reentrant=True` uses a Function: one node, and a backward within the backward.
# * The function runs twice. So it must do the same both times, and it must not have side effects.
#
# **Next:** [tutorial 12](12_hooks.py), hooks: your own functions that see the gradients while the backward runs.
