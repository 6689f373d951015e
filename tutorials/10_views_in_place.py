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
# # Views and in-place writes: CopySlices
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** [tutorial
# 1](01_derivative_to_graph.py), and version counters ([tutorial 9](09_version_counters.py)). **Afterwards** you can compute the
# gradient of an in-place write through a view, explain the node `CopySlices`, and say which views you cannot write to.
#
# **The question.** Two tensors share memory. A program writes through one of them, and the numbers of the other change too. How
# does the gradient of the other tensor take this into account?
#
# Our example has four numbers. A middle part of them is multiplied in place, through a view. $L$ is the loss.
#
# $$ \begin{aligned} a &= (x_0, x_1, x_2, x_3) \\ (a_1, a_2) &\leftarrow (w_0\,a_1,\ w_1\,a_2) \\
#    L &= 5\,a_0 + 6\,a_1 + 7\,a_2 + 8\,a_3 \end{aligned} $$

# %%
import itertools

import minigrad as mg

c = mg.tensor([5.0, 6.0, 7.0, 8.0])


def start():
    """x and w, which are leaves, and a, which is not."""
    x = mg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    w = mg.tensor([10.0, 20.0], requires_grad=True)
    return x, w, x * 1


x, w, a = start()
v = a[1:3]
v.mul_(w)
print(a.tolist())

# %% [markdown]
# The program has written to `v`, and `a` has changed.
#
# ## What a view is
#
# A tensor is a piece of memory and a way to read it: a shape, a **stride** for each dimension, and an **offset**. The stride is the
# distance, in numbers, to the next element of the dimension. The offset is the position of the first element. Here is all of it:

# %%
def read(memory, shape, stride, offset):
    """The elements of a tensor, as nested lists."""
    if not shape:
        return memory[offset]
    return [read(memory, shape[1:], stride[1:], offset + i * stride[0])
            for i in range(shape[0])]


# %% [markdown]
# A **view** reads the memory of another tensor in another way. Nothing is copied, so a view costs almost nothing:

# %%
numbers = mg.tensor([1.0, 2.0, 3.0, 4.0])
square = numbers.view(2, 2)
views = {"numbers[1:3]": numbers[1:3], "numbers[::2]": numbers[::2],
         "numbers[3]": numbers[3], "square": square,
         "square.t()": square.t(), "square[:, 1]": square[:, 1]}
for text, view in views.items():
    shape, stride, offset = tuple(view.shape), view.stride(), view.storage_offset()
    assert read(numbers.tolist(), shape, stride, offset) == view.tolist()
    where = f"shape {shape!s:<7} stride {stride!s:<7} offset {offset}"
    print(f"{text:<13} {where}   {view.tolist()}")

# %% [markdown]
# Not every part of a tensor is a view. A list of positions, or a mask, can select elements that no stride can describe. So such an
# index always makes a copy, even if a slice could select the same elements. Write to `numbers`, and see which results change:

# %%
others = {"numbers[[1, 2]]": numbers[[1, 2]],
          "numbers[numbers > 1]": numbers[numbers > 1],
          "numbers * 1": numbers * 1, "numbers.clone()": numbers.clone(),
          "square.t().reshape(4)": square.t().reshape(4),
          "numbers.detach()": numbers.detach()}
seen_before = {text: tensor.tolist() for text, tensor in (views | others).items()}
numbers.mul_(10)
for text, tensor in (views | others).items():
    sees = "sees the write" if tensor.tolist() != seen_before[text] else "is a copy"
    print(f"{text:<22} {sees:<15} {'a view' if tensor._is_view() else ''}")

# %% [markdown]
# `reshape` returns a view if strides can describe it, and otherwise a copy; `view` never copies. `detach()` shares the memory, but
# autograd does not treat its result as a view: it should have no history, so a write must not give it one.
#
# The tensor that owns the memory is the **base** of the view. A view of a view has the same base as the first view. There are no
# chains.

# %%
square = a.view(2, 2)
column = square[:, 1]
print(square._base is a, column._base is a)

# %% [markdown]
# ## A write replaces a history
#
# First a write without any view. The numbers of `b` are overwritten, so its `grad_fn` no longer describes how they were computed.
# `b` gets a new `grad_fn`, the node of the product, whose edge leads to the old one:

# %%
b = x * 1
old = b.grad_fn
b.mul_(5)
print(b.grad_fn is old, b.grad_fn.name(), b.grad_fn.next_functions[0][0] is old)

# %% [markdown]
# The tensor is the same object, but it has a new **history**: the code calls this *rebase*. So a tensor can change its history.
# Results that were computed from `b` before the write still point to the old node, and this is right.
#
# **Predict.** What is the gradient of `x`?
#
#     b = x * 1
#     d = b + 0
#     b.mul_(5)
#     (b + d).sum().backward()
#
# <details><summary>Answer</summary>
#
# It is 6 everywhere: 5 through the new history of `b`, and 1 through `d`, which was computed when `b` was still `x`.
#
# </details>

# %%
b = x * 1
d = b + 0
b.mul_(5)
(b + d).sum().backward()
print(x.grad.tolist())

# %% [markdown]
# ## The wrong idea: only the view changes
#
# Now a write through a view. The obvious idea is to do the same for `v` as for `b`: give `v` a new node, and change nothing else.
# Then `a` keeps its history, which says `x * 1`. We can see what this means for `a`, because a write through `.data` changes no
# history.

# %%
x, w, a = start()
v = a[1:3]
v.data.mul_(w.data)
loss = (a * c).sum()
loss.backward()
print("loss:", loss.item(), "  x:", x.grad.tolist(), "  w:", w.grad)

# %% [markdown]
# The loss is right, since the memory is right. The gradient of `x` is wrong where it was multiplied, and `w` gets no gradient at
# all, although the loss depends on it. There was no error. The write must also change the history of `a`.
#
# ## What is right, by hand
#
# To see what the history of `a` should be, write the same program without a write. Call the new value $a'$:
#
# $$ a' = (a_0,\; w_0\,a_1,\; w_1\,a_2,\; a_3) . $$
#
# So a write through a view is an operation **on the base**: *replace this part by the result of the operation*. Now its backward.
# The gradient $g = \partial L/\partial a' = (5, 6, 7, 8)$ arrives.
#
# | part of $a$ | its derivative |
# |---|---|
# | outside of the view, $a'$ is $a$ | $\bar a_0 = g_0 = 5, \quad \bar a_3 = g_3 = 8$ |
# | inside, the part of $g$ that the view sees goes through the product | $\bar a_1 = w_0\,g_1 = 60, \quad \bar a_2 = w_1\,g_2 = 140$ |
# | and on to the other factor | $\bar w_0 = a_1\,g_1 = 12, \quad \bar w_1 = a_2\,g_2 = 21$ |
#
# The last line uses the *old* $a_1 = 2$ and $a_2 = 3$. They have been overwritten, so we need a copy of them.
#
# Only the formula in the middle is special to products. With another formula, the same recipe works for any operation: **take** the
# part out, send it **through** the formula of the operation, **put** it back.

# %%
def copy_slices(g, part, formula):
    """The gradients of the old base and of the other operands."""
    through, *rest = formula(g[part])           # take, through
    whole = list(g)
    whole[part] = through                       # put
    return whole, *rest


def product(g):
    """The formula of v.mul_(w) at our numbers: for the old v, and for w."""
    old_v, w = [2.0, 3.0], [10.0, 20.0]
    return [p * q for p, q in zip(g, w)], [p * q for p, q in zip(g, old_v)]


to_base, to_w = copy_slices([5.0, 6.0, 7.0, 8.0], slice(1, 3), product)
print("to the base:", to_base, "  to w:", to_w)

# %% [markdown]
# And minigrad's own result:

# %%
x, w, a = start()
v = a[1:3]
v.mul_(w)
(a * c).sum().backward()
print("x:", x.grad.tolist(), "  w:", w.grad.tolist())

# %% [markdown]
# ## CopySlices
#
# There is a node for this recipe. It is called `CopySlices`, and the write has made it the `grad_fn` of `a`:

# %%
x, w, a = start()
v = a[1:3]
v.mul_(w)
for node, number in a.grad_fn.next_functions:
    print(a.grad_fn.name(), "->", node.name(), number)

# %% [markdown]
# Its first edge leads to the old history of `a`: the product `x * 1`. The second edge leads to `w`. And where is the node of
# `v.mul_(w)`? It is *inside* the `CopySlices`, which calls it as we called `product`. It does not appear in the graph:

# %%
mg.viz.draw(v, names={"x": x, "w": w, "a": a, "v": v})

# %% [markdown]
# And this is what it does with the gradient, with the numbers of our example:
#
# ![The gradient of a has four numbers, and arrives at CopySlices. The outer two pass unchanged. The two that the view sees are
# taken out, go through the product with w, and are put back. The other factor, w, gets its gradient as
# well.](pictures/copy-slices.svg)
#
# Look at the top of the graph. `v` has a new history as well: one node, `AsStridedBackward0`, that takes `v` out of the present `a`. Gradients
# through `v` also go through the `CopySlices`, since the numbers of `v` have been multiplied. We explain this below.
#
# **Predict.** Instead of `v.mul_(w)`, let the program say `a[1:3] = w`. What are the gradients of `x` and `w`?
#
# <details><summary>Answer</summary>
#
# The old numbers in the middle are lost, so their gradient is zero: `[5, 0, 0, 8]`. They were replaced by `w`, which gets the part
# that was taken out: `[6, 7]`. It is the same node with another formula inside.
#
# </details>

# %%
x, w, a = start()
a[1:3] = w
(a * c).sum().backward()
print(a.grad_fn.name(), x.grad.tolist(), w.grad.tolist())

# %% [markdown]
# ### Deeper: views of views, and one write after the other
#
# You can take a part in several steps. The base is the same, and the strides say where the part is. So there is one `CopySlices`,
# for any number of views:

# %%
def chain(tensor):
    """The names of the nodes along the first edges."""
    names, node = [], tensor.grad_fn
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


x, w, a = start()
a.view(2, 2)[:, 1].mul_(w)
print(a.tolist(), chain(a))

# %% [markdown]
# Each write adds a node to the history of the base. Two overlapping writes are two nodes, the later one first. The number that was
# written twice is multiplied twice:

# %%
x, w, a = start()
a[0:2].mul_(2)
a[1:3].mul_(3)
(a * c).sum().backward()
print(chain(a))
print(x.grad.tolist(), "=", [5 * 2, 6 * 2 * 3, 7 * 3, 8])

# %% [markdown]
# **Predict.** `a[1:3] *= w` is one line. How many nodes called `CopySlices` does it make?
#
# <details><summary>Answer</summary>
#
# Two. Python runs three steps: `v = a[1:3]`, then `v *= w`, then `a[1:3] = v`. The last step copies numbers onto themselves.
# The gradient is still right. `a[1:3].mul_(w)` makes only one.
#
# </details>

# %%
x, w, a = start()
a[1:3] *= w
(a * c).sum().backward()
print(chain(a))
print(x.grad.tolist(), w.grad.tolist())

# %% [markdown]
# ## Deeper: the other views
#
# The write went through `v`. An earlier view, `u`, overlaps with `v`, so its numbers have changed too. What about its history?

# %%
x, w, a = start()
v, u = a[1:3], a[2:4]
before = u.grad_fn
v.mul_(w)
print(before.name(), "->", chain(u))

# %%
u.sum().backward()
print("x:", x.grad.tolist(), "  w:", w.grad.tolist())

# %% [markdown]
# It is right: $u = (w_1 x_2,\ x_3)$. But the write did not update `u`. For that, `a` would need a list of all its views, and would
# have to go through the list at each write. Look at which nodes are created, and when:

# %%
x, w, a = start()
v, u = a[1:3], a[2:4]
with mg.debug.record() as r:
    v.mul_(w)
    written = len(r.events)
    u.grad_fn
for event in r.events:
    if event.kind in ("made", "write"):
        when = "at the write:" if event.step <= written else "when asked:  "
        print(when, event.kind, event.op or event.what)

# %% [markdown]
# The write creates the node of the product, the `CopySlices`, and the new history of `v` itself. (It also creates the
# AccumulateGrad of `w`, which is used here for the first time.) The history of `u` is created when the program *reads* `u.grad_fn`.
# Until then, `u` is **stale**: it remembers the version at which its history was created, but the memory now has a later version.
# Here is a view that does the same, by hand:

# %%
class Lazy:
    """A view that regenerates its history when the program reads it, if needed."""

    def __init__(self, base, shape, stride, offset):
        self.base, self.where = base, (shape, stride, offset)
        self.version, self.made = None, 0

    @property
    def grad_fn(self):
        if self.version != self.base._version:          # stale, or never made
            self.version = self.base._version
            self.node = mg.as_strided(self.base, *self.where).grad_fn
            self.made += 1
        return self.node


x, w, a = start()
lazy = Lazy(a, (2,), (1,), 2)
print(lazy.grad_fn is lazy.grad_fn, lazy.made)
for _ in range(10):
    a[1:3].mul_(w)
print(chain(lazy)[:3], lazy.made)

# %% [markdown]
# After ten writes, the history was regenerated once, not ten times. So versions are useful here too: the check compares two
# numbers, and a view that is never read costs nothing.
#
# The same happens if the write goes to the base itself, or if the base had no history when the view was created:

# %%
buffer = mg.zeros(4)
part = buffer[1:3]
print(part.requires_grad, part.grad_fn)
buffer.copy_(x)
print(part.tolist(), part.requires_grad, chain(part))

# %% [markdown]
# ## Step by step
#
# Here is everything, forward and backward. In the forward, watch how `a` gets a new history at the write. In the backward, watch
# the gradient `[5, 6, 7, 8]` enter `CopySlices`, and look at the gradient on each of its two edges.

# %%
x, w, a = start()
with mg.debug.record() as multiplied:
    a = x * 1
    v = a[1:3]
    v.mul_(w)
    (a * c).sum().backward()
mg.viz.step(multiplied)

# %%
for event in multiplied.events:
    if event.op == "CopySlices" and event.kind in ("receive", "compute"):
        print(f"{event.kind:<8} {event.what}")

# %% [markdown]
# ### Deeper: a copy instead of a product
#
# Beside it is the same program with `v.copy_(w)` instead of `v.mul_(w)`. Both backwards walk over the same graph. Only the node
# inside `CopySlices` differs, which is created just before the write: for `copy_` it saves nothing, and returns no gradient for
# the middle.

# %%
x.grad = w.grad = None
with mg.debug.record() as copied:
    a = x * 1
    v = a[1:3]
    v.copy_(w)
    (a * c).sum().backward()
mg.viz.diff(multiplied, copied, labels=("v.mul_(w)", "v.copy_(w)"))

# %% [markdown]
# ## The source
#
# This function performs a write. It first saves the numbers that a formula will need. Then the version goes up and the memory
# changes, and finally the tensor gets its new history.

# %%
mg.utils.source.source_of("_core/mutation/inplace.py", "write_result")

# %% [markdown]
# The old $a_1, a_2$ are copied only if the formula needs them. The next function decides which histories change:

# %%
mg.utils.source.source_of("_core/mutation/views.py", "rebase_history")

# %% [markdown]
# Take, through, put. `geometry` says where the view is in its base, and `inner` is the node of the operation. `found` gets one
# gradient per operand; at `position` is the gradient of the overwritten part. (With `create_graph=True`, another method does the
# same with recorded operations.)

# %%
mg.utils.source.source_of("_core/mutation/views.py", "CopySlices.compute_by_kernels")

# %% [markdown]
# Last, this function runs when the program reads the history of a view. `regenerate_grad_fn` corresponds to the line with
# `as_strided` in our `Lazy`:

# %%
mg.utils.source.source_of("_core/mutation/views.py", "refresh")

# %% [markdown]
# ## Deeper: why have it at all?
#
# We could write the same program without a write, and would need none of this. But there are two reasons for it. The first is
# that people write such programs:

# %%
writes = {"a[0] = 9.0": (0, 9.0), "a[1:3] = w": (slice(1, 3), w),
          "a[a > 2] = 0.0": (None, 0.0), "a[[0, 2]] = w": ([0, 2], w)}
for text, (key, value) in writes.items():
    a = x * 1
    a[a > 2 if key is None else key] = value
    print(f"{text:<15} {a.grad_fn.name():<18} {a.tolist()}")

# %% [markdown]
# Note the last two. Indexing with a mask or a list of positions gives no view, as we saw, so these writes are operations on `a`
# itself. They replace its history without a `CopySlices`. Through a view there is one again: `a[1:3][mask] = 0`.
#
# The other reason is memory. In the forward, the write changes only the part. Without it, you need a new `a` to change one number.
#
# But the backward does not save memory. Each `CopySlices` creates a new gradient for the *whole* base. So if you fill a table row
# by row, each row costs a gradient of the whole table:

# %%
def count_numbers(tensor):
    """How many numbers the writes behind a tensor pass on to its old history."""
    node, total = tensor.grad_fn.next_functions[0][0], 0
    while node is not None:         # the earliest write has no old history to pass to
        total += tensor.numel()
        node = node.next_functions[0][0]
    return total


for n in (10, 20, 40):
    rows = [(x * i).sin() for i in range(n)]
    table = mg.zeros(n, 4)
    for i, row in enumerate(rows):
        table[i] = row
    assert mg.equal(table, mg.stack(rows))
    passed = count_numbers(table)
    print(f"{n:3} rows: {table.numel():4} numbers in the table, {passed:5} passed back")

# %% [markdown]
# Twice as many rows need four times the work. `mg.stack(rows)` makes the same table with one node. A few writes are fine. Replace a
# loop of writes by a list and a `stack`.
#
# ## The same in PyTorch
#
# Names and values are the same:
#
# ```python
# >>> import torch
# >>> x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
# >>> w = torch.tensor([10.0, 20.0], requires_grad=True)
# >>> a = x * 1
# >>> v, u = a[1:3], a[2:4]
# >>> u.grad_fn.name()
# 'SliceBackward0'
# >>> v.mul_(w)
# tensor([20., 60.], grad_fn=<AsStridedBackward0>)
# >>> a
# tensor([ 1., 20., 60.,  4.], grad_fn=<CopySlices>)
# >>> [(node.name(), number) for node, number in a.grad_fn.next_functions]
# [('MulBackward0', 0), ('torch::autograd::AccumulateGrad', 0)]
# >>> u.grad_fn.name(), u.grad_fn.next_functions[0][0] is a.grad_fn
# ('AsStridedBackward0', True)
# >>> (a * torch.tensor([5.0, 6.0, 7.0, 8.0])).sum().backward()
# >>> x.grad, w.grad
# (tensor([  5.,  60., 140.,   8.]), tensor([12., 21.]))
# >>> first, second = (x * 1).chunk(2)
# >>> try:
# ...     first.mul_(2)
# ... except RuntimeError as error:
# ...     print(str(error)[:58])
# Output 0 of Split is a view and is being modified inplace.
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | mechanism | minigrad | PyTorch, in `torch/csrc/autograd` |
# |---|---|---|
# | what a view remembers: base, version, how it was made | `minigrad/_core/graph/tensor.py`, `AutogradMeta` | [`variable.h`][variable.h], `struct DifferentiableViewMeta` |
# | the new history of base or tensor | `minigrad/_core/mutation/views.py`, `rebase_history` | [`variable.cpp`][variable.cpp], `rebase_history` |
# | the history of a stale view | the same file, `refresh` | the same file, `VariableHooks::grad_fn` |
# | take, through, put | the same file, `CopySlices` | [`functions/tensor.cpp`][tensor.cpp], `CopySlices` |
# | may it be written to? | `minigrad/_core/mutation/inplace.py`, `check_inplace` | [`VariableTypeUtils.h`][VariableTypeUtils.h], `check_inplace` |
# | how a view was made | `minigrad/_core/mutation/views.py`, `check_creation` | `variable.h`, `enum class CreationMeta` |
#
# [variable.h]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/variable.h
# [variable.cpp]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/variable.cpp
# [tensor.cpp]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/functions/tensor.cpp
# [VariableTypeUtils.h]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/VariableTypeUtils.h
#
# In PyTorch the node of `CopySlices` has a namespace in its `name()`, `torch::autograd::CopySlices`.
#
# ## What goes wrong
#
# **The base is a leaf.** A leaf has no history that could be replaced, and its gradient belongs to its present value. A write to a
# part of a leaf is also a write to the leaf:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E121"):
    x[0] = 0.0

# %% [markdown]
# To change the leaf itself, as an optimizer does, write under `no_grad()` ([tutorial 3](03_leaves.py)). Otherwise write to a copy:
# this is why all our programs begin with `a = x * 1`. In your own programs, use `x.clone()`.
#
# **One operation returned several views.** `unbind`, `split` and `chunk` have one node for all their results. The history of a
# single result cannot be replaced:

# %%
x, w, a = start()
first, second = a.chunk(2)
with mg.testing.expect_error(RuntimeError, code="MG-E120"):
    first.mul_(2)

# %% [markdown]
# Slices do not have this problem: `a[0:2].mul_(2)`. The error has a second form. Here the write is correct, but makes an earlier
# view unusable. The error comes where the program *uses* this view:

# %%
a[3] = 0.0
with mg.testing.expect_error(RuntimeError, code="MG-E120"):
    second.sum()

# %% [markdown]
# ### Deeper: more cases
#
# **The view was created under `no_grad`.** Should the write be recorded? The mode of the view and the mode of the write disagree, so
# minigrad does not guess:

# %%
with mg.no_grad():
    v = a[1:3]
with mg.testing.expect_error(RuntimeError, code="MG-E120"):
    v.mul_(2)

# %% [markdown]
# **A custom Function returned the view** ([tutorial 14](14_function.py)). You wrote its backward, and a new history computed from
# the strides would skip it:

# %%
class Fold(mg.autograd.Function):
    """A view, with a backward of its own."""

    @staticmethod
    def forward(ctx, x):
        return x.view(2, 2)

    @staticmethod
    def backward(ctx, g):
        return 100 * g.reshape(4)


folded = Fold.apply(a)
with mg.testing.expect_error(RuntimeError, code="MG-E120"):
    folded.mul_(2)

# %% [markdown]
# You can write to a `clone()` of the result.
#
# **Several elements share one number.** `expand` repeats a number with a stride of 0. Which element should the memory store after
# a write?

# %%
repeated = mg.zeros(1).expand(3)
print(repeated.stride())
with mg.testing.expect_error(RuntimeError, code="MG-E122"):
    repeated.add_(mg.tensor([1.0, 2.0, 3.0]))

# %% [markdown]
# **A saved part, and a write elsewhere.** This loop writes each number once, and never reads a number before its write. It still
# fails:

# %%
def running_product(x):
    out = mg.zeros(4)
    out[0] = x[0]
    for i in range(1, 4):
        out[i] = out[i - 1] * x[i]
    return out


y = running_product(x)
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    y.sum().backward()

# %% [markdown]
# The product saves `out[i - 1]`, which is a view. Its memory is the memory of `out`, with one counter for all of it, and the next
# write counts. Autograd does not look at which numbers changed. [Tutorial 9](09_version_counters.py) says why.
#
# **The write has no effect, without an error.** An index that copies looks like a view. Then the write goes to a copy that is
# dropped:

# %%
x, w, a = start()
a[[1, 2]].mul_(w)
print("after a[[1, 2]].mul_(w):  ", a.tolist())
v = a[1:3]
v = v * w
print("after v = v * w:          ", a.tolist())

# %% [markdown]
# The second is a similar mistake: `v = v * w` creates a new tensor, and calls it `v`.
#
# **A hook that is no longer called** ([tutorial 12](12_hooks.py)). A hook on a view is registered at its node. After a write the view
# has another node, and the hook remains at the old one:

# %%
a = x * 1
v = a[1:3]
v.register_hook(lambda g: print("the hook sees", g.tolist()))
v.mul_(2)
(v * 3).sum().backward()
print("done")

# %% [markdown]
# Register it after the write.
#
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. The positions of a view.** Write `positions(view)`: it returns the positions of the elements in memory, in reading order. Use
# the shape, `stride()` and `storage_offset()` of the view, and none of its numbers.

# %%
def positions(view):
    raise NotImplementedError      # your code goes here: a list of whole numbers


# %%
@mg.testing.exercise(1)
def check_positions(positions):
    base = mg.arange(24.0)          # each number is its own place
    cube = base.view(2, 3, 4)
    for view in (base[5:9], base[1::3], cube[1], cube[:, 1, ::2], cube.permute(2, 0, 1),
                 cube[1, 2, 3], cube[:, :, 1].t()[1:], base[:1].expand(3)):
        expected = view.reshape(-1).tolist()
        assert positions(view) == expected, f"{positions(view)} instead of {expected}"
    print("right")


# %% tags=["help"]
check_positions.hints = [
    "Where in memory is the element with index `(0, 0)`? How far is it from there to `(0, 1)`, "
    "and to `(1, 0)`?",
    "The first element is at `storage_offset()`. A step along axis `k` moves by `stride()[k]` "
    "places.",
    "The position of an index is the offset plus the sum of index times stride over the axes. "
    "`itertools.product` of the ranges of the shape gives the indices in reading order."]
check_positions.wrong = {
    "[0, 1, 2, 3] instead of [5.0, 6.0, 7.0, 8.0]":
        "A view need not begin at the first element of the memory: add `storage_offset()`.",
    "[1, 2, 3, 4, 5, 6, 7, 8] instead of":
        "The elements of a view need not be neighbours in memory: use `stride()`.",
    "21, 22, 23] instead of [0.0, 4.0, 8.0, 12.0":
        "These are the same places in the order of memory. In reading order, the last index "
        "moves fastest."}


# %% tags=["hide-cell", "solution"]
def positions_solution(view):
    ranges = [range(n) for n in view.shape]
    return [view.storage_offset() + sum(i * s for i, s in zip(index, view.stride()))
            for index in itertools.product(*ranges)]


check_positions(positions_solution)

# %% [markdown]
# **2. Writes, backwards.** A program starts with `a = x * 1` and makes some writes: `("mul", part, factor)` stands for
# `a[part].mul_(factor)`, and `("fill", part, value)` for `a[part].fill_(value)`. A part is a slice. Write `gradient(g, writes)`: it
# computes the gradient of `x`, as a list, from `g`, the gradient of the final `a`. Use plain lists.

# %%
def gradient(g, writes):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_gradient(gradient):
    middle, even, end = slice(1, 3), slice(0, 4, 2), slice(2, 4)
    for writes in ([("mul", middle, 10.0)], [("fill", even, 7.0)],
                   [("mul", middle, 2.0), ("mul", even, 3.0), ("mul", end, 5.0)],
                   [("mul", even, 3.0), ("fill", end, 1.0), ("mul", end, 9.0)]):
        x, _, a = start()
        for name, part, number in writes:
            getattr(a[part], name + "_")(number)
        (a * c).sum().backward()
        got = gradient(c.tolist(), writes)
        assert got == x.grad.tolist(), f"{got} instead of {x.grad.tolist()} for {writes}"
    print("right")


# %% tags=["help"]
check_gradient.hints = [
    "Take the last write. You know the gradient after it. What is the gradient before it, "
    "inside the part and outside?",
    "Outside the part nothing changes. Inside, `mul` multiplies the gradient by its factor. "
    "What was there before a `fill` has no influence at all.",
    "Go through the writes from the last to the first. Replace `whole[part]` by a list of "
    "products: with the factor for `mul`, and with 0 for `fill`."]
check_gradient.wrong = {
    "[35.0, 6.0, 49.0, 8.0] instead of":
        "You used the value of the `fill` as a factor. A constant has the slope 0.",
    "[5.0, 6.0, 7.0, 8.0] instead of":
        "You skipped the `fill`. It replaces what was there, so no gradient flows there.",
    "[0.0, 0.0, 0.0, 0.0] instead of":
        "A `fill` replaces only its part. Elsewhere the gradient flows on.",
    "[5.0, 0.6, 0.7, 8.0] instead of":
        "You divided. The gradient is multiplied by the same factor as the value."}


# %% tags=["hide-cell", "solution"]
def gradient_solution(g, writes):
    whole = list(g)
    for name, part, number in reversed(writes):         # the last write is the first node
        factor = number if name == "mul" else 0.0       # after a fill nothing flows there
        whole[part] = [factor * entry for entry in whole[part]]
    return whole


check_gradient(gradient_solution)

# %% [markdown]
# **3. Repair the loop.** Write `mended(x)`: it returns the same numbers as `running_product(x)`. Its result has a graph, without a
# `CopySlices` in it.

# %%
def mended(x):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_mended(mended):
    x = mg.tensor([2.0, 3.0, 4.0, 5.0], requires_grad=True)
    y = mended(x)
    assert y.tolist() == [2.0, 6.0, 24.0, 120.0], y
    assert "CopySlices" not in mg.viz.draw(y).nodes.values(), "there is a write in it"
    (y * c).sum().backward()
    assert x.grad.tolist() == [587.0, 388.0, 282.0, 192.0], x.grad
    print("right")


# %% tags=["help"]
check_mended.hints = [
    "Each step of the loop writes into a view of `out`. Where can the results go instead?",
    "A list holds tensors without a write to any memory. `mg.stack` joins a list of tensors.",
    "Begin with the list `[x[0]]`. Append the last entry times `x[i]`, for each `i` from 1 on. "
    "Join at the end."]
check_mended.wrong = {
    "there is a write in it":
        "An assignment such as `out[i] = ...` is a write. Collect the results in a list.",
    "MG-E110":
        "A `detach()` or a `no_grad()` has cut the graph. The result needs a path to `x`.",
    "'list' object has no attribute 'tolist'":
        "The result is a list of tensors. Join them with `mg.stack`.",
    "tensor([  5.,  12.,  42., 192.])":
        "Only the newest factor is on a path. Do not detach the product of the earlier ones."}


# %% tags=["hide-cell", "solution"]
def mended_solution(x):
    out = [x[0]]
    for i in range(1, len(x)):
        out.append(out[-1] * x[i])
    return mg.stack(out)


check_mended(mended_solution)

# %% [markdown]
# ## What to remember
#
# * A **view** is another way to read the memory of its **base**: shape, strides, offset. A view of a view has the same base.
# * A write gives a tensor a new history. A write through a view is an operation on the base, and gives *the base* a new history.
# * `CopySlices` is that history: **take** the part out of the gradient, send it **through** the formula, **put** it back.
# * A write does not update the other views. A view with an old version is **stale**, and regenerates its history when the program
#   reads it.
# * You cannot write to views of leaves, to views from an operation with several views, to views from a custom Function, or to
#   elements that share memory. A view from `no_grad` can only be written to under `no_grad`.
# * A few writes are cheap. For many, make a list and `stack` it.
#
# **Next:** [tutorial 11](11_checkpointing.py). Saved values need not be kept: they can be computed again.
