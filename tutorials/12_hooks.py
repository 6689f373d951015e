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
# # Tensor hooks and node hooks: the order
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** [tutorial
# 1](01_derivative_to_graph.py); that a node waits for all its gradients ([tutorial 2](02_the_engine.py)); and the `AccumulateGrad`
# of a leaf ([tutorial 3](03_leaves.py)). **Afterwards** you can see and change gradients on their way, say in which order hooks are
# called, and log the gradient norms of a network.
#
# **The question.** `backward()` is one call, and all intermediate gradients are gone when it returns. How can a program see them on
# the way, or change them? And if several functions wait for the same gradient, which comes first?
#
# Our example uses one value twice:
#
# $$ h = 3x, \qquad y = 2h + 5h \qquad\text{at } x = 2. $$
#
# So $\partial y/\partial h = 2 + 5 = 7$ and $\partial y/\partial x = 21$.

# %%
import minigrad as mg

x = mg.tensor(2.0, requires_grad=True)
h = x * 3
y = h * 2 + h * 5

# %% [markdown]
# ## A hook on a tensor
#
# A **hook** is your own function that the engine calls. The simplest kind is registered on a tensor. The engine calls it with the
# gradient of this tensor, when the backward has computed it:

# %%
h.register_hook(lambda g: print("gradient of h:", g.item()))
x.register_hook(lambda g: print("gradient of x:", g.item()))
mg.viz.draw(y)

# %% [markdown]
# The picture shows where they are. `h` was computed, so it has a node, and its hook is there. `x` is a leaf. Its hook is listed
# with its `AccumulateGrad`.
#
# **Predict.** Two edges lead to the node of `h`. They bring 2 and 5. What does its hook print, and how often?
#
# <details><summary>Answer</summary>
#
# Once, with 7. The engine waits at a node until all its gradients have arrived, and then calls the hook. So a hook never sees a
# part of a gradient, and does not depend on how often its tensor was used.
#
# </details>

# %%
y.backward()

# %% [markdown]
# ### It may replace the gradient
#
# If a hook returns None, as `print` does, nothing changes. If it returns a tensor, this tensor replaces the gradient from then on:
# here for the node of `h`, and so for `x`.

# %%
x = mg.tensor(2.0, requires_grad=True)
h = x * 3
y = h * 2 + h * 5
h.register_hook(lambda g: g * 10)
h.register_hook(lambda g: print("the second hook gets", g.item()))
y.backward()
x.grad

# %% [markdown]
# Several hooks on one tensor are called in the order of their registration. Each hook gets the result of the hook before it.
#
# ### It must not write to it
#
# Other tensors may share the gradient that a hook gets. The derivative of a sum is 1 for both operands, so the node of a sum sends
# *one* tensor along both of its edges. A write to it also changes the gradient of the other operand. Here the right result is
# $3 + 5 \cdot 10 = 53$:

# %%
def tenfold(p, q, change):
    """The gradient of x through p + q, if `change` is a hook on q."""
    q.register_hook(change)
    x.grad = None
    (p + q).backward()
    return x.grad.item()


print("returned: ", tenfold(x * 3, x * 5, lambda g: g * 10))
print("written:  ", tenfold(x * 3, x * 5, lambda g: g.mul_(10)))

# %% [markdown]
# 80 is $3 \cdot 10 + 5 \cdot 10$. The product `x * 5` was made later, so its node ran first, and its hook multiplied the gradient
# of the other product too. There was no error. On an `x * 3` made later than `x * 5` the result would have been right, by luck.
# So: return a new tensor.
#
# ### On a leaf
#
# A hook on a leaf gets the gradient *of this backward*, before it is added to `.grad`. There is another kind of hook for
# afterwards. It is for leaves only, and it is called with the leaf itself:

# %%
w = mg.tensor(1.0, requires_grad=True)
w.register_hook(lambda g: print(f"arrives: {g.item()}   .grad is {w.grad}"))
w.register_post_accumulate_grad_hook(
    lambda leaf: print(f"   afterwards .grad is {leaf.grad}"))
(w * 4).backward()
(w * 6).backward()

# %% [markdown]
# A *post-accumulate hook* may change `.grad`, use it, or set it to None. It must return None. With such a hook, an optimizer can make
# its step inside the backward, one parameter at a time: see [tutorial 13](13_accumulation_hooks.py).
#
# ### retain_grad
#
# The `.grad` of a computed tensor remains None, unless you call `retain_grad()`. The engine then stores the gradient at the same
# place, right after the hooks of the tensor, even if `retain_grad()` was called before they were registered:

# %%
h = x * 3
h.retain_grad()
h.register_hook(lambda g: g * 10)
(h * 2 + h * 5).backward()
h.grad

# %% [markdown]
# ## Hooks on a node
#
# Nodes can have hooks as well. A node represents an operation with inputs and outputs, so there are two kinds:
#
# * `node.register_prehook(f)` calls `f(grad_outputs)` before the formula of the node runs. The argument is a tuple: the gradients
#   of the operation's *outputs*. In the backward, these gradients arrive at the node.
# * `node.register_hook(f)` calls `f(grad_inputs, grad_outputs)` after it. The first argument is the result of the formula: a tuple
#   with one gradient per edge.
#
# Both may return None, or a tuple of the same length that replaces the first argument.

# %%
x = mg.tensor(2.0, requires_grad=True)
h = x * 3
y = h * 2 + h * 5
h.grad_fn.register_prehook(lambda grad_outputs: print("before:", grad_outputs))
h.grad_fn.register_hook(lambda grad_inputs, grad_outputs: print("after: ", grad_inputs))
y.backward()

# %% [markdown]
# The node of `x * 3` has two edges. The second leads nowhere, since 3 needs no derivative: None.
#
# Which kind should you use? A tensor hook is about a *value*: what is the gradient here? A node hook is about an *operation*. It
# sees the incoming and the outgoing gradients together, for all inputs. So it can find out "this operation turned numbers into nan".
#
# ## The complete order
#
# We know five things that can happen around a node: tensor hooks, `retain_grad`, pre-hooks, post-hooks, post-accumulate hooks. In
# which order? Let us ask the engine. This program registers all of them on `h` and on `x`, *in the wrong order on purpose*, and logs
# each call, with the value of `.grad` at that time:

# %%
log = []


def text(value):
    """A gradient, or a tuple of gradients, as a short string."""
    if isinstance(value, tuple):
        return "(" + ", ".join([text(v) for v in value]) + ")"
    return "None" if value is None else f"{value.item():g}"


def listener(moment):
    def hook(*arguments):
        given = ", ".join([text(a) for a in arguments])
        log.append((moment, given, text(h.grad), text(x.grad)))
    hook.__name__ = "listener"
    return hook


# %%
def everywhere():
    """Register every kind of hook on h and x; the last to be called first."""
    accumulator = h.grad_fn.next_functions[0][0]
    accumulator.register_hook(listener("x  post-hook of its node"))
    x.register_post_accumulate_grad_hook(listener("x  post-accumulate hook"))
    accumulator.register_prehook(listener("x  pre-hook of its node"))
    x.register_hook(listener("x  tensor hook, first"))
    x.register_hook(listener("x  tensor hook, second"))
    h.grad_fn.register_hook(listener("h  post-hook of its node"))
    h.grad_fn.register_prehook(listener("h  pre-hook of its node"))
    h.retain_grad()
    h.register_hook(listener("h  tensor hook, first"))
    h.register_hook(listener("h  tensor hook, second"))


x = mg.tensor(2.0, requires_grad=True)
h = x * 3
y = h * 2 + h * 5
everywhere()
y.backward()

print(f"{'called':<27}{'with':<18}{'h.grad':<9}x.grad")
for moment, arguments, of_h, of_x in log:
    print(f"{moment:<27}{arguments:<18}{of_h:<9}{of_x}")

# %% [markdown]
# Read the columns on the right as well. `h.grad` is there from the pre-hook of its node on: `retain_grad` came between. `x.grad`
# is there from the post-accumulate hook on. (That one is called with the leaf, which is 2.) So:
#
# | order | a computed tensor and its node | a leaf and its AccumulateGrad |
# |---|---|---|
# | 1 | tensor hooks, as registered | tensor hooks, as registered |
# | 2 | `retain_grad`: `.grad` is set | |
# | 3 | pre-hooks of the node | pre-hooks of the node |
# | 4 | the formula | the gradient is added to `.grad` |
# | 5 | | post-accumulate hooks |
# | 6 | post-hooks of the node | post-hooks of the node |
#
# The order of registration counts within a cell. Between the cells it does not.
#
# The same as a railway, with the call that registers each hook. `n` is the node:
#
# ![Two tracks with stations from top to bottom. A gradient of a computed tensor h passes tensor hooks, retain_grad, pre-hooks
# of the node, the node, hooks of the node, and is delivered. A gradient of a leaf x passes tensor hooks, pre-hooks, the
# addition to x.grad, post-accumulate hooks and hooks of the node.](pictures/railway.svg)
#
# ### Deeper: every stage multiplies
#
# **Predict.** Every stage of `h` now multiplies: its tensor hook by 10, the pre-hook by 100, the post-hook by 1000. The gradient
# that arrives is 7. What are `h.grad` and `x.grad`?
#
# <details><summary>Answer</summary>
#
# `h.grad` is 70: after the tensor hooks, before the pre-hooks. `x.grad` is 7 · 10 · 100 · 3 · 1000 = 21,000,000, with the 3 from
# the formula: each stage gets the result of the stage before it.
#
# </details>

# %%
x = mg.tensor(2.0, requires_grad=True)
h = x * 3
y = h * 2 + h * 5
h.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0] * 1000, None))
h.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 100,))
h.register_hook(lambda g: g * 10)
h.retain_grad()
y.backward()
print(f"h.grad = {h.grad.item():,.0f}   x.grad = {x.grad.item():,.0f}")

# %% [markdown]
# ## Step by step
#
# Here the engine runs with hooks of several kinds. Step to the node of `h`, and look at its gradient before and after each hook.
# Between the two hooks, `retain_grad` stores the gradient:

# %%
def ten_times(g):
    return g * 10


def look(grads):
    pass


x = mg.tensor(2.0, requires_grad=True)
with mg.debug.record() as hooked:
    h = x * 3
    y = h * 2 + h * 5
    handle = h.register_hook(ten_times)
    h.retain_grad()
    h.grad_fn.register_prehook(look)
    y.backward()
mg.viz.step(hooked)

# %% [markdown]
# ### Deeper: as a table

# %%
for event in hooked.events:
    if event.kind in ("hook", "retain", "compute", "accumulate"):
        print(f"{event.step:3} {event.kind:<10} {event.node} {event.op:<14} {event.what}")

# %% [markdown]
# ### Deeper: a hook removed
#
# Registering a hook returns a **handle**. `handle.remove()` removes the hook. Here is the same program with this line added, and the
# two runs side by side. Where do they begin to differ?

# %%
x = mg.tensor(2.0, requires_grad=True)
with mg.debug.record() as plain:
    h = x * 3
    y = h * 2 + h * 5
    handle = h.register_hook(ten_times)
    h.retain_grad()
    h.grad_fn.register_prehook(look)
    handle.remove()
    y.backward()
mg.viz.diff(hooked, plain, labels=("with the hook", "without it"))

# %% [markdown]
# Everything up to the turn of `h` is the same. From there on all numbers differ by the factor.
#
# A handle is also a context manager, for a hook that you need in only one block:

# %%
with x.register_hook(lambda g: print("in the block: ", g.item())):
    (x * 3).backward()
(x * 3).backward()                  # prints nothing

# %% [markdown]
# ## Deeper: which hooks are called at all
#
# `backward()` runs every node. `backward(inputs=...)` and `grad(...)` run only the nodes that lead to the inputs. `grad` does not even
# run the nodes of the inputs: the gradient that reaches them *is* the result. What does this mean for hooks?

# %%
KINDS = ("tensor hook", "pre-hook", "post-hook", "post-accumulate hook")


def called(name, run):
    """Which kinds of hooks on h, or on x, are called by `run(y, h, x)`."""
    global h, x
    x = mg.tensor(2.0, requires_grad=True)
    h = x * 3
    log.clear()
    everywhere()
    run(h * 2 + h * 5, h, x)
    moments = [moment for moment, *_ in log]
    found = [kind for kind in KINDS
             if any([m.startswith(f"{name}  {kind}") for m in moments])]
    return ", ".join(found) or "none"


for what, run in {
    "y.backward()": lambda y, h, x: y.backward(),
    "y.backward(inputs=[h])": lambda y, h, x: y.backward(inputs=[h]),
    "grad(y, x)": lambda y, h, x: mg.autograd.grad(y, x),
    "grad(y, h)": lambda y, h, x: mg.autograd.grad(y, h),
}.items():
    print(f"{what:<24}h: {called('h', run)}")
    print(f"{'':<24}x: {called('x', run)}")

# %% [markdown]
# Two rules explain all of it.
#
# 1. Tensor hooks are called when the *gradient of the tensor is computed*, whatever it is computed for.
# 2. Hooks of a node, and post-accumulate hooks, are called when the *node runs*.
#
# The gradient that `grad` returns for `h` has passed the hooks of `h`. There is one exception. If the node of `h` has to run as well,
# because another input is behind it, `grad` takes the result *before* the hooks. PyTorch does this, and minigrad does the same:

# %%
x = mg.tensor(2.0, requires_grad=True)
h = x * 3
h.register_hook(lambda g: g * 10)
print("grad of h alone:  ", mg.autograd.grad(h * 2 + h * 5, h))
print("grad of h and x:  ", mg.autograd.grad(h * 2 + h * 5, (h, x)))

# %% [markdown]
# ## Deeper: where hooks are stored
#
# The hooks of a computed tensor are stored on its node. This has three consequences.
#
# ### A new forward has new nodes
#
# A hook on an intermediate result is called whenever a backward goes through *that* graph. The next forward creates new tensors, with
# new nodes and without hooks. A parameter remains the same tensor, and keeps its hooks. So they are stored on the leaf, and not on its
# node: an `AccumulateGrad` lives only as long as a graph that uses it. A hook on this node disappears with the node:

# %%
w = mg.tensor(1.0, requires_grad=True)
w.register_hook(lambda g: print("hook on the leaf"))
y = w * 3
y.grad_fn.next_functions[0][0].register_prehook(lambda grads: print("hook on its node"))
y.backward()
del y
print("the next graph:")
(w * 3).backward()

# %% [markdown]
# ### Writing in place gives a tensor another node
#
# After `h.mul_(4)` the object `h` is the same, but it has another value, and a new node. The new node's edge leads to the old node
# ([tutorial 10](10_views_in_place.py)). A hook belongs to a value. So the existing hooks stay with the old node:

# %%
x = mg.tensor(2.0, requires_grad=True)
h = x * 3
h.retain_grad()
h.register_hook(lambda g: print("registered before the write:", g.item()))
h.mul_(4)
h.register_hook(lambda g: print("registered after the write: ", g.item()))
y = h * 2
mg.viz.draw(y)

# %%
y.backward()
print("h.grad:", h.grad.item())

# %% [markdown]
# Both are right. The gradient of the value after the write is 2, and the gradient of the value before is $4 \cdot 2$. `retain_grad`
# is different: it belongs to the tensor, moves to the new node, and stores the gradient of the last value.
#
# ### Views
#
# A view is a tensor with its own node. So a hook on a view sees the gradient that comes through the view, and a hook on the base
# sees the whole gradient:

# %%
x = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
base = x * 1
view = base[:2]
view.register_hook(lambda g: print("view:", g.tolist()))
base.register_hook(lambda g: print("base:", g.tolist()))
((view * 10).sum() + base.sum()).backward()

# %% [markdown]
# Now write to the base. The view has other numbers afterwards, so its old node is no longer right, and the view gets a new node when
# the program next uses it. Its hook stays on the old node, where no edge leads any more:

# %%
base = x * 1
view = base[:2]
view.register_hook(lambda g: print("the old view:", g.tolist()))
base.register_hook(lambda g: print("base, before the write:", g.tolist()))
base.mul_(10)
new_view = base[:2]
new_view.register_hook(lambda g: print("the new view:", g.tolist()))
(view * new_view).sum().backward()

# %% [markdown]
# Both views have the same numbers, and a gradient came through both. But the hook of the old view was not called. Create the view,
# and register its hook, after the last in-place write.
#
# ## What hooks are good for
#
# ### A log of gradient norms
#
# A network of 12 layers, each a product with a matrix and a `tanh`. How large is the gradient at each layer?

# %%
mg.manual_seed(0)
layers = [(mg.randn(8, 8) * 1.2).requires_grad_() for _ in range(12)]


def forward(matrices, seen=None):
    h = mg.ones(8) * 0.1
    for i, matrix in enumerate(matrices):
        h = mg.tanh(matrix @ h)
        if seen is not None:
            h.register_hook(lambda g, i=i: seen.append((i, g.norm().item())))
    return h.sum()


norms = []
forward(layers, norms).backward()
print("norms, from layer 11 to layer 0:", *[f"{norm:.1f}" for _, norm in norms])
mg.viz.bars({f"layer {i}": norm for i, norm in norms}, "norm of the gradient")

# %% [markdown]
# The last layer comes first, since a backward goes from the end to the beginning. On its way, the gradient has grown by a factor of
# about sixteen.
#
# Note the `i=i`. A lambda looks up names when it is called, so without it all hooks would report layer 11. Note also `.item()`: the
# log keeps a number, and no tensor.
#
# ### Deeper: clipping
#
# A hook that returns a shorter gradient clips it. `clip_grad_norm_` changes `.grad` after the backward. A hook works during the
# backward, so all earlier layers get the clipped gradient:

# %%
def clip(limit):
    def hook(g):
        norm = g.norm().item()
        return g * (limit / norm) if norm > limit else None
    return hook


def clipped_forward(matrices, seen, limit):
    h = mg.ones(8) * 0.1
    for i, matrix in enumerate(matrices):
        h = mg.tanh(matrix @ h)
        h.register_hook(clip(limit))
        h.register_hook(lambda g, i=i: seen.append((i, g.norm().item())))
    return h.sum()


norms = []
clipped_forward(layers, norms, limit=5.0).backward()
print([f"{norm:.1f}" for _, norm in norms])

# %% [markdown]
# ### Deeper: an alarm
#
# A hook may raise an error. `backward()` then raises it, and no further node runs. This hook reports the first place where a gradient
# became too large:

# %%
class Exploding(ArithmeticError):
    pass


def alarm(name, limit):
    def hook(g):
        norm = g.norm().item()
        if not norm <= limit:           # written so that nan is caught too
            raise Exploding(f"gradient of {name}: norm {norm:.1f}, more than {limit}")
    return hook


def watched_forward(matrices, limit):
    h = mg.ones(8) * 0.1
    for i, matrix in enumerate(matrices):
        h = mg.tanh(matrix @ h)
        h.register_hook(alarm(f"layer {i}", limit))
    return h.sum()


with mg.testing.expect_error(Exploding):
    watched_forward(layers, limit=20.0).backward()

# %% [markdown]
# ## The source
#
# The order above is one method of the engine. In a plain backward a node comes here only if its flag `hooked` is set, so nodes
# without hooks cost nothing. `calling` writes to the record; `finish` runs the post-hooks.

# %%
mg.utils.source.source_of("_core/engine/graph_task.py", "GraphTask.run_watched")

# %% [markdown]
# Steps 1 and 2 are here, for leaves and for the others:

# %%
mg.utils.source.source_of("_core/engine/tensor_hooks.py", "run_hooks_on_tensors")

# %% [markdown]
# And this passes a gradient through the hooks. `values` is a snapshot, so a hook may remove itself while it runs.

# %%
mg.utils.source.source_of("_core/graph/hooks.py", "run_tensor_hooks")

# %% [markdown]
# ## The same in PyTorch
#
# All kinds of hooks have the same names there, and are called in the same order:
#
# ```python
# >>> import torch
# >>> x = torch.tensor(2.0, requires_grad=True)
# >>> h = x * 3
# >>> y = h * 2 + h * 5
# >>> node = h.grad_fn
# >>> _ = node.register_hook(lambda inputs, outputs: print("post-hook  ", inputs))
# >>> _ = node.register_prehook(lambda outputs: print("pre-hook   ", outputs, h.grad))
# >>> _ = h.register_hook(lambda g: print("tensor hook", g, h.grad))
# >>> _ = x.register_post_accumulate_grad_hook(lambda leaf: print("afterwards ", leaf.grad))
# >>> h.retain_grad()
# >>> y.backward()
# tensor hook tensor(7.) None
# pre-hook    (tensor(7.),) tensor(7.)
# post-hook   (tensor(21.), None)
# afterwards  tensor(21.)
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | mechanism | minigrad, in `minigrad/_core` | PyTorch, in `torch/csrc/autograd` |
# |---|---|---|
# | all steps around a node | `task.py`, `GraphTask.run_watched` | [`engine.cpp`][engine.cpp], `Engine::evaluate_function` |
# | tensor hooks, then retain_grad | `tensor_hooks.py` | the same file, `call_tensor_pre_hooks` |
# | what a hook may return | `hooks.py`, `check_value` | [`python_hook.cpp`][python_hook.cpp] |
# | post-accumulate hooks | `accumulate.py` | [`functions/accumulate_grad.h`][accumulate_grad.h] |
# | handles | `handle.py` | [`torch/utils/hooks.py`][hooks.py], `RemovableHandle` |
#
# [engine.cpp]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/engine.cpp
# [python_hook.cpp]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/python_hook.cpp
# [accumulate_grad.h]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/functions/accumulate_grad.h
# [hooks.py]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/utils/hooks.py
#
# The kinds of hooks of a node are explained in a comment in PyTorch's
# [`node.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/node.h), above `tensor_pre_hooks_`.
#
# ## What goes wrong
#
# **It returns something by accident.** A lambda returns the value of its expression. This one should only look:

# %%
v = mg.tensor([1.0, 2.0], requires_grad=True)
y = v * 3
y.register_hook(lambda g: g.norm())
with mg.testing.expect_error(RuntimeError, code="MG-E111"):
    y.sum().backward()

# %% [markdown]
# If the tensor were a single number, the shape would be right, and the norm would silently replace the gradient.
#
# **A node hook returns a tensor.** It gets tuples, and has to return a tuple:

# %%
y = v * 3
y.grad_fn.register_prehook(lambda grad_outputs: grad_outputs[0] * 2)
with mg.testing.expect_error(TypeError, code="MG-E111"):
    y.sum().backward()

# %% [markdown]
# ### Deeper: more cases
#
# **There is no gradient to wait for,** or no `.grad`. Then registering the hook is an error:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E111"):
    mg.ones(2).register_hook(print)
with mg.testing.expect_error(RuntimeError, code="MG-E111"):
    (v * 3).register_post_accumulate_grad_hook(print)

# %% [markdown]
# **It is registered once per iteration.** On a computed tensor this is right, since each forward creates a new tensor. On a parameter
# the number of hooks grows, and there is no error:

# %%
v = mg.tensor([1.0, 2.0], requires_grad=True)
calls = []
for iteration in range(3):
    v.register_hook(lambda g, iteration=iteration: calls.append(iteration))
    (v * 3).sum().backward()
print(calls)

# %% [markdown]
# **It is called with None.** A gradient can be undefined, if a Function ([tutorial 14](14_function.py)) returns None. The engine still
# calls the hooks. Our alarm would then fail with an AttributeError.

# %%
class Stop(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return None


h = mg.tensor(2.0, requires_grad=True) * 3
h.register_hook(lambda g: print("gets", g))
Stop.apply(h).backward()

# %% [markdown]
# More cases, with what to do about them: {doc}`/errors/hooks`. A hook that holds the tensor on which it hangs keeps a graph alive:
# {doc}`/errors/memory-grows`.
#
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. Reverse a gradient.** Write `reverse(x)`. Its result equals `x`, and the gradient that flows back through it is multiplied by
# -1. Other uses of `x` are not affected, and it also accepts tensors that require no gradient. (Networks that should *unlearn* a
# distinction have such a layer.)

# %%
def reverse(x):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(1)
def check_reverse(reverse):
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    y = reverse(x)
    assert y.tolist() == [1.0, 2.0], f"the result is {y.tolist()}, and not x"
    (y * 3).sum().backward()
    assert x.grad.tolist() == [-3.0, -3.0], f"{x.grad.tolist()} instead of [-3, -3]"
    x.grad = None
    (reverse(x) * 3 + x * 5).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0], "another use of x was affected"
    assert reverse(mg.ones(2)).tolist() == [1.0, 1.0], "wrong without a gradient"
    print("right")


# %% tags=["help"]
check_reverse.hints = [
    "A hook on `x` sees the gradients of all uses of `x` together. Whose gradient should the "
    "hook see instead?",
    "`x.clone()` is a new result with the same numbers. `register_hook` calls a function with "
    "its gradient, and uses what the function returns.",
    "Make a clone. If it requires a gradient, register a hook on it that returns the negative "
    "of what it gets. Return the clone."]
check_reverse.wrong = {
    "another use of x was affected":
        "A hook on `x` sees the sum over all its uses. Put the hook on a result of your own.",
    "the result is [-1.0, -2.0], and not x":
        "Only the gradient is reversed. The forward returns the numbers as they are.",
    "MG-E111": "A tensor that requires no gradient accepts no hook. Ask `requires_grad` first.",
    "[3.0, 3.0] instead of [-3, -3]": "The hook returned None, so the gradient stays as it is.",
    "MG-E110": "Through a detached tensor no gradient flows, and nothing can be reversed."}


# %% tags=["hide-cell", "solution"]
def reverse_solution(x):
    y = x.clone()       # a value of its own: a hook on x would see the other uses as well
    if y.requires_grad:
        y.register_hook(lambda g: -g)
    return y


check_reverse(reverse_solution)

# %% [markdown]
# **2. A log that cleans up.** Write a context manager `grad_norms(**tensors)`. It yields a dict: the name of each tensor, and the
# norm of its gradient in the backward that runs in the block. After the block no hook remains, even if the block ended with an
# error.

# %%
def grad_norms(**tensors):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_grad_norms(grad_norms):
    x = mg.tensor([3.0, 4.0], requires_grad=True)
    h = x * 2
    y = (h * h).sum()
    with grad_norms(x=x, h=h) as norms:
        y.backward(retain_graph=True)
    assert norms == {"h": 20.0, "x": 40.0}, norms
    norms.clear()
    y.backward(retain_graph=True)
    assert norms == {}, "there are hooks left"
    try:
        with grad_norms(x=x) as norms:
            raise KeyError
    except KeyError:
        pass
    y.backward()
    assert norms == {}, "there are hooks left after an error"
    print("right")


# %% tags=["help"]
check_grad_norms.hints = [
    "The block needs something at its beginning and something at its end. The end must come "
    "even after an error.",
    "`register_hook` returns a handle, and `handle.remove()` removes the hook. A class with "
    "`__enter__` and `__exit__` is a context manager.",
    "Each hook must know its own name: make it in a function that gets the name. Keep the "
    "handles in a list, and remove them in `__exit__`, or in a `finally`."]
check_grad_norms.wrong = {
    "there are hooks left after an error":
        "After an error, the lines behind a `yield` do not run, unless they are in a `finally`.",
    "there are hooks left":
        "Remove each hook at the end of the block, with the handle that `register_hook` "
        "returned.",
    "{'h': 40.0}":
        "All hooks use the last name of the loop. Make each hook in a function that gets its "
        "name.",
    "{'x': 5.0, 'h': 10.0}":
        "These are the norms of the tensors. The norms of the gradients are known only in a "
        "hook."}


# %% tags=["hide-cell", "solution"]
class grad_norms_solution:
    def __init__(self, **tensors):
        self.tensors, self.handles = tensors, []

    def __enter__(self):
        norms = {}

        def note(name):
            def hook(g):
                norms[name] = g.norm().item()
            return hook
        self.handles += [tensor.register_hook(note(name))
                         for name, tensor in self.tensors.items()]
        return norms

    def __exit__(self, *exc_info):
        for handle in self.handles:
            handle.remove()


check_grad_norms(grad_norms_solution)

# %% [markdown]
# **3. Find the nan.** Write `blame(y)`. It registers hooks on all nodes behind `y`. A backward then raises `ArithmeticError` with the
# name of the first node that returned a nan although it got none. Which kind of hook sees both? (`mg.autograd.detect_anomaly` does
# this, and also reports the line of the program.)

# %%
def blame(y):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_blame(blame):
    x = mg.tensor([0.0, 4.0], requires_grad=True)
    # the slope of sqrt at 0 is infinite; times 0 it is nan
    y = (x.sqrt() * mg.tensor([0.0, 1.0]) * 2).sum()
    blame(y)
    try:
        y.backward()
    except ArithmeticError as error:
        assert "SqrtBackward0" in str(error), f"{error}, and not SqrtBackward0"
    else:
        raise AssertionError("nobody was blamed")
    good = (x + 1).sqrt().sum()
    blame(good)
    good.backward()
    print("right")


# %% tags=["help"]
check_blame.hints = [
    "A node is to blame if it has returned a nan, and has received none. Which hook sees what "
    "a node received and what it returned?",
    "A hook of `node.register_hook` gets two tuples: the gradients that the node returns, and "
    "those that it got. An entry may be None.",
    "Walk over all nodes behind `y`, each once. Make a hook for each in a function that gets "
    "the node, so that it knows the name. Raise if there is a nan among the first and none "
    "among the second."]
check_blame.wrong = {
    "nobody was blamed": "Each node behind `y` needs a hook, and the hook must raise the error.",
    "and not SqrtBackward0":
        "You blamed another node. A node that only passes a nan on has received one: compare "
        "both sides of a node."}


# %% tags=["hide-cell", "solution"]
def blame_solution(y):
    def has_nan(grads):
        return any([g is not None and g.isnan().any().item() for g in grads])

    def watch(node):
        def hook(grad_inputs, grad_outputs):
            if has_nan(grad_inputs) and not has_nan(grad_outputs):
                raise ArithmeticError(f"{node.name()} made a nan")
        node.register_hook(hook)

    seen, to_do = {y.grad_fn}, [y.grad_fn]
    while to_do:
        node = to_do.pop()
        watch(node)
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                to_do.append(following)


check_blame(blame_solution)

# %% [markdown]
# ## What to remember
#
# * A **tensor hook** gets the complete gradient of its tensor, once. It may return another gradient. It must not write to it.
# * A **node hook** gets tuples: `register_prehook` the incoming gradients, `register_hook` also the outgoing ones. It is called when
#   the node runs.
# * The order: tensor hooks, `retain_grad`, pre-hooks, the formula (on a leaf: the accumulation, then post-accumulate hooks),
#   post-hooks. Each gets the result of the one before it.
# * Hooks of a computed tensor are stored on its node, and stay there when an in-place write gives the tensor another node. Hooks of a
#   leaf are stored on the leaf.
# * Keep the handle, and remove a hook that you no longer need.
#
# **Next:** [tutorial 13](13_accumulation_hooks.py), about the hooks of leaves: one for the moment when `.grad` is complete, and one
# for several leaves.
