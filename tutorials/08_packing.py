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
# # Packing: saved tensors, smaller or elsewhere
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** [tutorial 7](07_saved_tensors.py).
# **Afterwards** you can write two hooks that see every saved tensor, halve the memory of saved tensors, and say why the obvious way
# needs more memory.
#
# **The question.** Between the forward and the backward, nothing reads the saved tensors of a graph. Can they be smaller in the
# meantime, or be stored somewhere else?
#
# Our example is a network of eight layers, $h_{i+1} = \tanh(h_i W_i)$, on 4,096 rows of 64 numbers. Each $h_i$ takes $4096 \cdot 64
# \cdot 4$ bytes: one mebibyte.

# %%
import contextlib
import gc
import itertools
import os
import tempfile
import threading
import tracemalloc
import weakref

import minigrad as mg

hooks = mg.autograd.graph.saved_tensors_hooks

mg.manual_seed(0)
x = mg.randn(4096, 64)
weights = [(mg.randn(64, 64) / 8).requires_grad_() for _ in range(8)]


def net(x, weights):
    for w in weights:
        x = (x @ w).tanh()
    return x.square().mean()


mg.viz.draw(net(x, weights[:2]))

# %% [markdown]
# We need two more functions. One computes the gradients, with the forward inside a given context. The other measures how much
# memory the forward leaves in use: Python's `tracemalloc` counts allocations since its start. (The first run, without counting,
# creates the objects that are created only once.)

# %%
def gradients(context, data=x):
    with context:
        loss = net(data, weights)
    return mg.autograd.grad(loss, weights)


def mebibytes(context):
    gradients(context)
    tracemalloc.start()
    with context:
        loss = net(x, weights)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    mg.autograd.grad(loss, weights)
    return f"{kept / 2 ** 20:4.1f} MiB"


exact = gradients(contextlib.nullcontext())
print("as it is:", mebibytes(contextlib.nullcontext()))

# %% [markdown]
# Tutorial 7 predicts this: in each layer `tanh` saves its result, and the next product saves the same tensor again. Eight
# results, 8 MiB. (The data and the weights existed before.)
#
# ## Not the program, only its saved tensors
#
# A `float16` number takes two bytes instead of four. We could run the whole program with such numbers. But then every step of the
# forward and of the backward is rounded. Let us see the effect, on 64 of the rows:

# %%
def error(found, wanted):
    """The largest relative error of a gradient."""
    pairs = zip(found, wanted)
    return max((f.float() - w).norm().item() / w.norm().item() for f, w in pairs)


some = x[:64]
wanted = gradients(contextlib.nullcontext(), some)
low = net(some.half(), [w.half() for w in weights])
right = net(some, weights).item()
print(f"the loss is off by {abs(low.item() - right) / right:.0e}")
print(f"the gradients are off by {error(mg.autograd.grad(low, weights), wanted):.0e}")

# %% [markdown]
# We want something else: the *same* forward, the *same* backward, and smaller tensors only in between.
#
# ## Two functions
#
# `saved_tensors_hooks(pack, unpack)` is a context manager. Inside it, each operation calls `pack` with every tensor that it saves.
# The node keeps the object that `pack` returns, instead of the tensor. When the backward needs the tensor, it calls `unpack` with
# this object, and `unpack` must return a tensor. Here is a pair that only prints:

# %%
def pack(t):
    how = "a leaf" if t.is_leaf else f"of {t.grad_fn.name()}"
    print(f"  pack   {how:<16}  gradients are on: {mg.is_grad_enabled()}")
    return t.detach()


def unpack(t):
    print("  unpack")
    return t


a = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = mg.tensor([0.5, 0.2, 0.1], requires_grad=True)
print("forward")
with hooks(pack, unpack):
    y = (a * b).exp().sum()
print("backward")
y.backward()

# %% [markdown]
# `pack` is called once for each saved tensor: the two factors of the product, and the result of the exponential. The sum saves no
# tensor. The argument is the tensor of the program: leaves are leaves, and a result already has its node. Inside `pack`, no graph is
# recorded.
#
# `unpack` is called the same number of times, here after the end of the context. The hooks belong to the tensors saved inside it.
#
# **Predict.** How many calls of `pack` do these four lines make? And how many of `unpack`?
#
# ```python
# with hooks(pack, unpack):
#     s = (a * a + 1.0).sum()
# s.backward(retain_graph=True)
# s.backward()
# ```
#
# <details><summary>Answer</summary>
#
# Two, and four. The product saves both its factors, though they are the same tensor. Packing is done once, unpacking in each
# backward.
#
# </details>

# %%
calls = []
with hooks(lambda t: (calls.append("pack"), t.detach())[1],
           lambda t: (calls.append("unpack"), t)[1]):
    s = (a * a + 1.0).sum()
s.backward(retain_graph=True)
s.backward()
print(calls.count("pack"), calls.count("unpack"))

# %% [markdown]
# ### Deeper: values in, the same place in the graph
#
# The result of `unpack` gives the *values*. The node also remembers the tensor's place in the graph, so a second derivative works
# through a packed tensor:

# %%
with hooks(lambda t: t.tolist(), lambda numbers: mg.tensor(numbers)):
    s = (a ** 3).sum()
first, = mg.autograd.grad(s, a, create_graph=True)
second, = mg.autograd.grad(first.sum(), a)
print(first.tolist(), second.tolist())

# %% [markdown]
# $3a^2$ and $6a$. The nodes kept Python lists, which know nothing about graphs.
#
# The operations inside `unpack` are not differentiated. Here `unpack` doubles the values. The sine's formula then computes with
# $2a$, but there is no factor 2 from the doubling:

# %%
with hooks(lambda t: t.detach(), lambda t: t * 2.0):
    s = a.sin().sum()
got, = mg.autograd.grad(s, a)
print(mg.equal(got, (2.0 * a).cos()))

# %% [markdown]
# The gradient was wrong, and there was no error. The unpacked tensor must equal the packed tensor, as closely as your training needs.
#
# ## Half precision
#
# The pair is short. And the error? On the same 64 rows:

# %%
def half(t):
    return t.half()


def whole(t):
    return t.float()


found = gradients(hooks(half, whole), some)
print(f"the gradients are off by {error(found, wanted):.0e}")

# %% [markdown]
# Each saved number is rounded once, to 11 binary digits. All computations still use full precision, and the loss does not change.
# Now the memory.
#
# **Predict.** It was 8 MiB. How much is it with numbers of half the size?
#
# <details><summary>Answer</summary>
#
# Not 4, but a little more than 8. Read on for the reason.
#
# </details>

# %%
print("as it is:", mebibytes(contextlib.nullcontext()))
print("halved:  ", mebibytes(hooks(half, whole)))

# %% [markdown]
# There are two reasons, and tutorial 7 has shown both.
#
# *Shared tensors are packed twice.* `tanh` saves its result and the next product saves its input, which share one memory. Now each
# of them has its own copy, of half the size.
#
# *Leaves are packed as well.* The data and the weights exist anyway, so a copy of them only adds memory.
#
# So a hook has to look at its argument. Ours should not pack leaves, nor views of leaves, such as the `weight.t()` of a linear
# layer. Integers, such as indices, cannot be halved. And it should pack a tensor only once. To recognize a tensor, it keeps a weak
# reference to it, and its version: after a write to the tensor, it must be packed again.

# %%
class Box:
    """A packed tensor. (A list or a string cannot have a weak reference.)"""

    def __init__(self, value):
        self.value = value


class Packing(hooks):
    """Pack tensors that were computed, each once. Leaves stay as they are."""

    def __init__(self, pack, unpack):
        # id of a tensor -> a weak reference to it, its version, a weak one to its box
        self.boxes = {}

        def pack_once(t):
            owner = t if t._base is None else t._base
            if owner.is_leaf or not t.is_floating_point():
                return t.detach()
            look, version, box = self.boxes.get(id(t), (lambda: None, 0, lambda: None))
            if look() is t and version == t._version and box() is not None:
                return box()
            new = Box(pack(t))
            self.boxes[id(t)] = weakref.ref(t), t._version, weakref.ref(new)
            return new

        def unpack_box(kept):
            return unpack(kept.value) if isinstance(kept, Box) else kept

        super().__init__(pack_once, unpack_box)


# %% [markdown]
# Only the nodes hold the box: when they free their saved values, it is freed too.

# %%
print("as it is:    ", mebibytes(contextlib.nullcontext()))
print("halved:      ", mebibytes(hooks(half, whole)))
print("halved, once:", mebibytes(Packing(half, whole)))
for context in (hooks(half, whole), Packing(half, whole)):
    print(f"off by {error(gradients(context), exact):.0e}")

# %% [markdown]
# Half of it, as it should be. The gradients are better as well, since the data and the weights are no longer rounded.
#
# ## Deeper: on disk
#
# The object that `pack` returns need not contain numbers: a file name is enough. The file must be deleted when it is no longer
# needed. So we delete it together with an object: `weakref.finalize` calls a function when this object is freed.

# %%
folder = tempfile.TemporaryDirectory()
numbers = itertools.count()


class File:
    """A tensor in a file, which is removed with this object."""

    def __init__(self, t):
        self.path = os.path.join(folder.name, f"{next(numbers)}.pt")
        mg.save(t.detach(), self.path)
        weakref.finalize(self, os.remove, self.path)


def from_file(file):
    return mg.load(file.path)


print("on disk:", mebibytes(Packing(File, from_file)))
print("off by less than 1e-6:", error(gradients(Packing(File, from_file)), exact) < 1e-6)

# %% [markdown]
# Nothing is rounded.
#
# **Predict.** How many files are in the folder after the forward, and how many after the backward?
#
# <details><summary>Answer</summary>
#
# Eight, one for each result of a `tanh`; then none. A node frees its saved values when it has run. A file that two nodes use is
# deleted after the second one.
#
# </details>

# %%
with Packing(File, from_file):
    loss = net(x, weights)
print(len(os.listdir(folder.name)), "files")
loss.backward()
print(len(os.listdir(folder.name)), "files")

# %% [markdown]
# ## Deeper: in the memory of the host
#
# The usual reason for packing is an accelerator with a small memory in a machine with a large memory. `save_on_cpu` is a pair of
# hooks for this: it copies to the host, and back when the tensor is needed. Here is all of it:

# %%
mg.utils.source.source_of("autograd/graph.py", "save_on_cpu")

# %% [markdown]
# If a tensor is already in the memory of the host, `to("cpu")` does nothing. So there is no copy here, and no gain. With
# `pin_memory=True` there is always a copy, because an accelerator copies faster to *pinned* memory, which is never moved. On the CPU
# minigrad only copies. So this repeats both mistakes, in full precision:

# %%
on_cpu = mg.autograd.graph.save_on_cpu
print("save_on_cpu():               ", mebibytes(on_cpu()))
print("save_on_cpu(pin_memory=True):", mebibytes(on_cpu(pin_memory=True)))

# %% [markdown]
# The same happens with an accelerator: a tensor that two nodes have saved is copied twice, and parameters are copied although they
# stay on the device.
#
# ## Deeper: which hooks are called
#
# Contexts can be nested. Only the **innermost** pair is called; the pairs are not combined.

# %%
def talking(name):
    return hooks(lambda t: (print("packed by the", name), t.detach())[1], lambda t: t)


with talking("outer"):
    u = a.exp()
    with talking("inner"):
        v = a.exp()

# %% [markdown]
# You can register a pair for a single saved tensor, after the forward. It is packed immediately. The name of its place begins with
# `_raw_saved_`:

# %%
y = a.exp()
place = y.grad_fn._raw_saved_result
place.register_hooks(lambda t: (print("packed:", t.dtype), t.half())[1],
                     lambda t: (print("kept:  ", t.dtype), t.float())[1])
y.sum().backward()

# %% [markdown]
# If your code needs its saved tensors unchanged, it can forbid these hooks. The text is the message of the error:

# %%
with mg.autograd.graph.disable_saved_tensors_hooks("not inside of this"):
    with mg.testing.expect_error(RuntimeError):
        with Packing(half, whole):
            pass

# %% [markdown]
# Hooks belong to the thread that has entered them. Another thread's operations are not packed:

# %%
with talking("main thread"):
    other = threading.Thread(target=a.exp)
    other.start()
    other.join()
    u = a.sin()

# %% [markdown]
# ## Step by step
#
# A small network, with and without packing. Where is `pack` called? And what does an `unpack` say about versions?

# %%
def small(context):
    with mg.debug.record(a=a, b=b) as r:
        with context:
            s = (a * b).tanh().sum()
        mg.autograd.grad(s, (a, b))
    return r


plain = small(contextlib.nullcontext())
packed = small(hooks(half, whole))
mg.viz.step(packed)

# %% [markdown]
# Without hooks minigrad compares versions ([tutorial 9](09_version_counters.py)). With hooks it does not: it does not know what the
# hooks have kept. The two beside each other:

# %%
mg.viz.diff(plain, packed, labels=("as it is", "packed"))

# %% [markdown]
# ### Deeper: as tables
#
# These are the events that we have discussed:

# %%
for r in (plain, packed):
    for event in r.events:
        if event.kind in ("pack", "unpack"):
            place = f"{event.kind} {event.op.removesuffix('Backward0')}"
            print(f"{event.step:>2} {place:<11} {event.what:<33} {event.why}")
    print()

# %% [markdown]
# ## The source
#
# This is what happens when a tensor is saved. Grad mode is switched off, and `pack` is called. The version shows whether `pack` has
# written to its argument. Then the place in the graph is stored: for an input, the node that its gradient goes to.

# %%
mg.utils.source.source_of("_core/record/packed_tensor.py", "pack_tensor")

# %% [markdown]
# And the way back. The values come from the hook, and the place in the graph from the node. `wrap` creates a new tensor with the
# same memory, so a graph that `unpack` has built is dropped.

# %%
mg.utils.source.source_of("_core/record/packed_tensor.py", "PackedTensor.value")

# %% [markdown]
# ## The same in PyTorch
#
# Names and rules are the same:
#
# ```python
# >>> import torch
# >>> hooks = torch.autograd.graph.saved_tensors_hooks
# >>> a = torch.tensor([1., 2., 3.], requires_grad=True)
# >>> calls = []
# >>> with hooks(lambda t: (calls.append("pack"), t.detach())[1], lambda t: (calls.append("unpack"), t)[1]):
# ...     s = (a * a + 1.0).sum()
# >>> s.backward(retain_graph=True)
# >>> s.backward()
# >>> calls.count("pack"), calls.count("unpack")
# (2, 4)
# >>> with hooks(lambda t: t.detach(), lambda t: t * 2.0):
# ...     s = a.sin().sum()
# >>> got, = torch.autograd.grad(s, a)
# >>> torch.allclose(got, (2.0 * a).cos())
# True
# >>> h = a.exp()
# >>> h.grad_fn._raw_saved_result.register_hooks(lambda t: t.half(), lambda t: t.float())
# >>> h.grad_fn._saved_result.dtype
# torch.float32
# >>> with torch.autograd.graph.disable_saved_tensors_hooks("not inside of this"):
# ...     with torch.autograd.graph.save_on_cpu():
# ...         pass
# Traceback (most recent call last):
# RuntimeError: not inside of this
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | mechanism | minigrad | PyTorch |
# |---|---|---|
# | the contexts | `minigrad/autograd/graph.py` | [`torch/autograd/graph.py`][graph] |
# | calling them | `minigrad/_core/record/packed_tensor.py` | [`python_saved_variable_hooks.cpp`][hooks] |
# | the place in the graph | the same | [`saved_variable.cpp`][saved], `SavedVariable` |
#
# [graph]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/autograd/graph.py
# [hooks]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/python_saved_variable_hooks.cpp
# [saved]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/saved_variable.cpp
#
# In PyTorch a number that a tensor is multiplied by is saved as a tensor; no hook is called for it either.
#
# ## What goes wrong
#
# **A pack hook writes to its tensor.** Its argument is not a copy: the program still uses it, and other nodes may have saved it.

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E127"):
    with hooks(lambda t: t.mul_(0.5), lambda t: t * 2.0):
        y = (a * 1.0).sin()

# %% [markdown]
# **An unpack hook returns no tensor.** This shows when the backward needs it, which may be far from the mistake:

# %%
with hooks(lambda t: t.tolist(), lambda numbers: numbers):
    y = a.sin()
with mg.testing.expect_error(TypeError, code="MG-E126"):
    y.sum().backward()

# %% [markdown]
# **Hooks are registered twice.** A place takes only one pair. An empty place takes none:

# %%
with hooks(half, whole):
    y = a.sin()
with mg.testing.expect_error(RuntimeError, code="MG-E128"):
    y.grad_fn._raw_saved_self.register_hooks(half, whole)

# %% [markdown]
# ### Deeper: mistakes without an error
#
# The other mistakes raise no error.
#
# **A write is not noticed.** With hooks, versions are not compared. If the packed object shares memory with the tensor, as
# `t.detach()` does, the backward computes with the overwritten numbers:

# %%
with hooks(lambda t: t.detach(), lambda t: t):
    y = a.exp()
y += 100.0
print([f"{g:.0f}" for g in mg.autograd.grad(y.sum(), a)[0].tolist()], "instead of",
      [f"{g:.0f}" for g in a.exp().tolist()])

# %% [markdown]
# **A number is too large.** The largest number of half precision is 65,504. Larger numbers become infinite:

# %%
with hooks(half, whole):
    y = mg.tensor([12.0], requires_grad=True).exp()
print(f"{y.item():.0f}", y.grad_fn._saved_result.item())

# %% [markdown]
# **A shape is wrong.** It is not compared. The formula of the sine is a product, a single number fits everywhere, and so it is used
# three times:

# %%
with hooks(lambda t: t.detach(), lambda t: t[:1]):
    y = a.sin()
print([f"{g:.4f}" for g in mg.autograd.grad(y.sum(), a)[0].tolist()], "instead of",
      [f"{g:.4f}" for g in a.cos().tolist()])

# %% [markdown]
# **Random numbers are drawn again.** Dropout multiplies by a mask of zeros and ones. Why save the mask, if it can be drawn again?
# Because the new mask would be different. Then the gradient goes through numbers that were dropped:

# %%
def mask_of(shape):
    return (mg.rand(shape) < 0.5).float()


ones = mg.ones(8, requires_grad=True)
with hooks(lambda t: t.shape, mask_of):
    y = ones * mask_of(8)
print("result:  ", y.int().tolist())
print("gradient:", mg.autograd.grad(y.sum(), ones)[0].int().tolist())

# %% [markdown]
# Instead, save the seed of the mask. Here `pack` returns the seed.

# %%
def seeded(seed):
    mg.manual_seed(seed)
    return mask_of(8)


with hooks(lambda t: 5, seeded):
    y = ones * seeded(5)
print("result:  ", y.int().tolist())
print("gradient:", mg.autograd.grad(y.sum(), ones)[0].int().tolist())

# %% [markdown]
# **A pack hook returns its argument.** If the argument is a result, its node now holds it, and it holds its node: a cycle, which
# only Python's garbage collector frees. Return `t.detach()`.

# %%
gc.disable()
for kept in (lambda t: t, lambda t: t.detach()):
    with hooks(kept, lambda t: t):
        y = a.exp()
    look = weakref.ref(y)
    del y
    print("still there:", look() is not None)
gc.enable()

# %% [markdown]
# ## Exercises
#
# Each exercise has a check. Write your answer, then call the check with it, as in `check_calls(predicted)`. The solutions are
# folded below.
#
# **1. Predict.** How many times is `pack` called in each program? $x$ requires a gradient, $c$ does not.

# %%
PROGRAMS = ["x * c", "x * 2.0 + c", "x.exp() * x", "(x + c).sin().tanh()", "c.exp() * c"]
predicted = [None, None, None, None, None]      # your numbers go here


# %%
@mg.testing.exercise(1)
def check_calls(predicted):
    packed = []

    def count(t):
        packed.append(t.shape)
        return t.detach()

    assert len(predicted) == len(PROGRAMS), "five numbers, one for each program"
    for text, told in zip(PROGRAMS, predicted):
        packed.clear()
        with hooks(count, lambda t: t):
            y = eval(text, {"x": mg.ones(3, requires_grad=True), "c": mg.ones(3)})
        seen = mg.debug.saved(y) if y.requires_grad else "there is no graph"
        assert told == len(packed), f"{text}: not {told}. What is kept:\n{seen}"
    print("right")


# %% tags=["help"]
check_calls.hints = [
    "`pack` is called once for each tensor that a node saves. Go through the operations, one "
    "at a time.",
    "A node saves what its formulas need. Only a formula whose input requires a gradient "
    "counts. Numbers are not packed.",
    "A sum saves nothing, an exponential its result, a sine its input. If two nodes save the "
    "same tensor, `pack` is called for each."]
check_calls.wrong = {
    "x * c: not 2": "`c` requires no gradient. So the formula that needs `x` is not run.",
    "x * 2.0 + c: not 1": "A plain number is not a tensor, so nothing is packed.",
    "x.exp() * x: not 2":
        "The exponential saves its result too. The product saves the same tensor as a factor, "
        "but `pack` is called again for it.",
    "(x + c).sin().tanh(): not 3": "A sum saves nothing: its slopes are 1.",
    "c.exp() * c: not 3":
        "No input requires a gradient, so there is no node that could save anything."}


# %% tags=["hide-cell", "solution"]
check_calls([1,     # c, for the gradient of x
             0,     # a number is not a tensor, and a sum keeps nothing
             3,     # exp keeps its result; the product keeps both factors
             2,     # the sine keeps its input, tanh its result
             0])    # no gradient is wanted, so there is no node

# %% [markdown]
# **2. One byte.** Write `to_bytes(t)`, which returns an `int8` tensor and a number, and `from_bytes(pair)`, which restores a
# tensor. The number of `t` with the largest absolute value should become 127 or -127. Scale the others in proportion, and round
# them. Handle a tensor of zeros, too. `one_byte` returns both functions.

# %%
def one_byte():
    raise NotImplementedError      # your code goes here: return the two functions


# %%
@mg.testing.exercise(2)
def check_one_byte(one_byte):
    to_bytes, from_bytes = one_byte()
    mg.manual_seed(1)
    large, few = mg.randn(10, 10) * 1000.0, mg.tensor([-3.0, 1.0])
    for t in (mg.randn(100), large, few, mg.zeros(5)):
        kept, scale = to_bytes(t)
        assert kept.dtype is mg.int8, f"{kept.dtype} is kept"
        back = from_bytes((kept, scale))
        step = t.abs().max().item() / 127
        assert back.shape == t.shape, f"{list(back.shape)} instead of {list(t.shape)}"
        assert back.dtype is t.dtype, f"{back.dtype} comes back"
        assert (back - t).abs().max().item() <= 0.51 * step, "not the nearest"
    off = error(gradients(Packing(to_bytes, from_bytes)), exact)
    assert off < 0.05, f"the gradients are off by {off}"
    print("right")


# %% tags=["help"]
check_one_byte.hints = [
    "Every number is stored as a whole number of steps. How large must a step be, so that the "
    "largest number is 127 steps?",
    "`scale = t.abs().max().item() / 127`. What happens to it if all numbers are 0?",
    "Divide by the scale, `round()`, and convert with `.to(mg.int8)`. For the way back, "
    "convert to float and multiply. Instead of a scale of 0, use any other number."]
check_one_byte.wrong = {
    "not the nearest":
        "Is each number rounded? A conversion to int8 drops the digits after the decimal "
        "point. And is the largest number of *this* tensor 127 steps?",
    "minigrad.float32 is kept":
        "`round()` gives whole numbers, but their dtype is still float32. Convert them to int8.",
    "minigrad.int8 comes back": "Convert to float, and multiply by the step."}


# %% tags=["hide-cell", "solution"]
def one_byte_solution():
    def to_bytes(t):
        scale = t.abs().max().item() / 127 or 1.0
        return (t / scale).round().to(mg.int8), scale

    def from_bytes(pair):
        kept, scale = pair
        return kept.float() * scale

    return to_bytes, from_bytes


check_one_byte(one_byte_solution)

# %% tags=["solution"]
print(mebibytes(Packing(*one_byte_solution())))
print(f"off by {error(gradients(Packing(*one_byte_solution())), exact):.0e}")

# %% [markdown]
# **3. Hooks that check the version.** Write `checked()`, a context in which tensors are saved without a copy. If the program writes to
# such a tensor, the backward must raise a `RuntimeError`. Hint: `t.detach()` shares the memory of `t`, and its version.

# %%
def checked():
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_checked(checked):
    a = mg.tensor([1.0, 2.0], requires_grad=True)
    with checked():
        y, z, unused = a.exp(), a.sin(), a.exp()
    assert y.grad_fn._saved_result.data_ptr() == y.data_ptr(), "it was copied"
    z *= 2.0            # the sine does not need it
    unused *= 2.0       # and this node does not run
    grad, = mg.autograd.grad((y + z).sum(), a)
    assert mg.allclose(grad, a.exp() + 2.0 * a.cos()), "wrong gradient"
    with checked():
        y = a.exp()
    y *= 2.0
    try:
        y.sum().backward()
    except RuntimeError:
        print("right")
    else:
        raise AssertionError("a write to what the exponential needs was not noticed")


# %% tags=["help"]
check_checked.hints = [
    "What can `pack` store beside the tensor, so that `unpack` can see a later write?",
    "`t._version` is a number that each write to the memory of `t` increases. `t.detach()` "
    "shares it.",
    "`pack` returns a pair: `t.detach()`, and the version at this moment. `unpack` compares "
    "this number with the version of the tensor, and raises the error if they differ."]
check_checked.wrong = {
    "it was copied":
        "A copy needs memory for all its numbers. `t.detach()` is a tensor on the same memory.",
    "a write to what the exponential needs was not noticed":
        "`unpack` got different numbers from those that `pack` stored. Let `pack` store the "
        "version, and compare."}


# %% tags=["hide-cell", "solution"]
def checked_solution():
    def pack(t):
        return t.detach(), t._version

    def unpack(kept):
        t, version = kept
        if t._version != version:
            raise RuntimeError(f"saved at version {version}, now at {t._version}")
        return t

    return hooks(pack, unpack)


check_checked(checked_solution)

# %% [markdown]
# ## What to remember
#
# * Inside `saved_tensors_hooks(pack, unpack)` a node keeps what `pack` returns; `unpack` turns it into a tensor, in each backward.
# * Hooks supply values. The node remembers the place in the graph, and the computations of the hooks are not differentiated.
# * `pack` is called once per tensor **and use**, and for leaves too. Pack only computed tensors, and each only once; otherwise the
#   memory grows.
# * Half precision rounds the saved values, not the forward. A disk rounds nothing. `save_on_cpu` is for an accelerator.
# * Only the innermost pair is called. Versions and shapes are not compared: a wrong unpacked tensor gives a wrong gradient.
#
# **Next:** [version counters](09_version_counters.py), with which a node notices a write to a saved tensor. Or continue with memory:
# [checkpointing](11_checkpointing.py) saves less, and recomputes the rest.
