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
# # create_graph and double backward
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** [tutorial
# 1](01_derivative_to_graph.py), the order of nodes ([tutorial 2](02_the_engine.py)), and `retain_graph` ([tutorial
# 4](04_retain_graph.py)). **Afterwards** you can compute second derivatives and products with a Hessian, add a penalty on a
# gradient to a loss, and say what this keeps in memory.
#
# **The question.** The backward is a program too: it computes a gradient. Can we differentiate this program? What must be kept for
# it, and what does it cost?
#
# Our example has well-known derivatives:
#
# $$ y = x^3, \qquad y' = 3x^2, \qquad y'' = 6x, \qquad y''' = 6 \qquad\text{at } x = 5\colon\quad 125,\ 75,\ 30,\ 6. $$

# %%
import gc
import itertools
import math
import textwrap
import warnings
import weakref

import minigrad as mg

x = mg.tensor(5.0, requires_grad=True)
y = x * x * x
(g,) = mg.autograd.grad(y, x, create_graph=True)
(h,) = mg.autograd.grad(g, x, create_graph=True)
(third,) = mg.autograd.grad(h, x)
print(*[v.item() for v in (y, g, h, third)])

# %% [markdown]
# `autograd.grad(y, x)` runs a backward and returns the gradient; it leaves `x.grad` alone. With `create_graph=True` the
# gradient is a result like any other: it has a graph of its own, and `grad` can be applied to it. This is how it looks:

# %%
(g,) = mg.autograd.grad(x * x * x, x, create_graph=True)
mg.viz.draw(g)

# %% [markdown]
# It is a sum of three products, one for each place where $x$ stands in $x \cdot x \cdot x$. (The two `MulBackward0` in which
# `x` is not named are products with the 1 that a backward begins with.)
#
# ## A tape that is walked again
#
# The tape of [tutorial 1](01_derivative_to_graph.py) could not do this. It held *slopes*, which were numbers. The walk
# multiplied numbers, and numbers leave no trace. Two changes are enough. An operation no longer records a slope, but a
# **formula**, which takes the gradient of the result and returns the gradient of an input. And the formula computes with
# the same objects as the program:

# %%
numbers = itertools.count()


class Var:
    """A number that leaves a trace: of each input, the formula of its gradient."""

    def __init__(self, value, *inputs):
        self.value, self.inputs, self.number = value, inputs, next(numbers)

    def __add__(self, other):
        value = self.value + other.value
        return Var(value, (self, lambda g: g), (other, lambda g: g))

    def __mul__(self, other):
        value = self.value * other.value
        return Var(value, (self, lambda g: g * other), (other, lambda g: g * self))

    def sin(self):
        return Var(math.sin(self.value), (self, lambda g: g * self.cos()))

    def cos(self):
        return Var(math.cos(self.value), (self, lambda g: g * self.sin() * Var(-1.0)))


# %% [markdown]
# The walk is the same as in tutorial 1. It returns the gradient that has arrived at `x`:

# %%
def grad(y, x):
    """The derivative of y, which is a Var."""
    arrived = {y: Var(1.0)}
    while arrived:
        result = max(arrived, key=lambda v: v.number)       # the latest first
        g = arrived.pop(result)
        if result is x:
            return g
        for v, formula in result.inputs:
            new = formula(g)
            arrived[v] = arrived[v] + new if v in arrived else new
    return Var(0.0)


# %% [markdown]
# Look at `g * other`: both are `Var`, so this product *is recorded*. So is the `+` where contributions meet. While the walk goes
# over one graph, it builds another, and returns the end of the new graph.

# %%
a = Var(5.0)
derivatives = [a * a * a]
for _ in range(4):
    derivatives.append(grad(derivatives[-1], a))
print([v.value for v in derivatives])

b = Var(1.0)
derivatives = [b.sin()]
for _ in range(3):
    derivatives.append(grad(derivatives[-1], b))
print([round(v.value, 4) for v in derivatives])

# %% [markdown]
# Nothing in `grad` is special to second derivatives. It computes a first derivative of a program, and this program may contain a
# derivative itself. But the walk always records, even if we never differentiate again. So there must be a switch.
#
# ## The same in the engine
#
# Formulas of minigrad are written on tensors. `cos` here is the `mg.cos` that you would call, and `*` the product of two
# tensors:

# %%
mg.utils.source.source_of("ops/elementwise/functions.py", "Sin")

# %% [markdown]
# Grad mode decides whether they are recorded. This is the flag that `no_grad()` switches off ([tutorial 6](06_grad_modes.py)). A
# backward sets it to the value of `create_graph`, and restores it at the end. So one backward serves both cases. A hook
# ([tutorial 12](12_hooks.py)) runs in the middle of a backward, and can show the flag:

# %%
def report(gradient):
    print("grad mode:", mg.is_grad_enabled(), "  a history:", gradient.requires_grad)


y = x * x
handle = x.register_hook(report)
mg.autograd.grad(y, x, retain_graph=True)
with mg.no_grad():
    mg.autograd.grad(y, x, create_graph=True)
handle.remove()

# %% [markdown]
# The second call is under `no_grad()`, but this makes no difference.
#
# ## Step by step
#
# Here is the backward of $x \cdot x \cdot x$ with `create_graph=True`. There is a new kind of step, `made`: an op that runs
# *inside* a node creates a new node. Watch the two sums at the end: they are `AddBackward0` nodes.

# %%
with mg.debug():        # each operation records its source line
    y = x * x * x
with mg.debug.record() as r:
    (g,) = mg.autograd.grad(y, x, create_graph=True)
mg.viz.step(r)

# %%
for event in r.events:
    if event.kind in ("made", "compute", "receive", "result"):
        told = f"{event.what}; {event.why}".rstrip("; ")
        print(f"{event.step:2} {event.kind:<8} {event.node} {event.op:<14}  {told}")

# %% [markdown]
# ### Deeper: side by side with an ordinary backward
#
# The same without `create_graph`, side by side. Three things differ. No node is created. Saved tensors are released immediately.
# And where gradients meet, they are added in place, into memory that nothing else uses. Under `create_graph` this is not allowed:
# the sum is a result with two inputs, and other operations may need both inputs.

# %%
with mg.debug():
    y = x * x * x
with mg.debug.record() as plain:
    mg.autograd.grad(y, x)
mg.viz.diff(plain, r, labels=("without create_graph", "with create_graph"))

# %%
for name, record in (("without", plain), ("with", r)):
    kinds = [event.kind for event in record.events]
    added = [event.data["how"] for event in record.events
             if event.kind == "receive" and event.op == "AccumulateGrad"]
    print(f"{name:<8}made: {kinds.count('made')}   released: {kinds.count('release')}"
          f"   added: {', '.join(added)}")

# %% [markdown]
# ## The graph of a gradient
#
# From here on, `grad` is minigrad's. To see how the two graphs hang together, take an exponential function. Its node saves its
# *result*:

# %%
grad = mg.autograd.grad
y = x.exp()
(g,) = grad(y, x, create_graph=True)
mg.viz.draw(y, g)

# %% [markdown]
# The gradient is $1 \cdot e^x$. Its graph has one node of its own, and then goes on *into the graph of the function*: the
# formula took the saved result, and that is `y`, with its history. It is the very same node:

# %%
print(g.grad_fn.next_functions[1][0] is y.grad_fn)

# %% [markdown]
# This is why a formula gets the saved values *with their history*. It reads $x$, or $e^x$, and its result leads back to $x$.
#
# **Predict.** $y = 2x$. What does `grad(y, x, create_graph=True)` give, and what is its `grad_fn`?
#
# <details><summary>Answer</summary>
#
# The number 2, without a `grad_fn`. The formula is $g \cdot 2$. It does not read $x$, and $g$ is the constant 1 that the backward
# begins with. No input of the formula requires a gradient, so nothing was recorded, although grad mode was on.
#
# </details>

# %%
(g,) = grad(2 * x, x, create_graph=True)
print(g.item(), g.grad_fn, g.requires_grad)

# %% [markdown]
# ## What is kept alive
#
# If you do not give `retain_graph`, it has the value of `create_graph`. The picture shows why: the graph of the gradient needs
# the graph of the function, with its saved tensors. If these are freed, the second backward fails:

# %%
y = x.exp()
(g,) = grad(y, x, create_graph=True, retain_graph=False)
with mg.testing.expect_error(RuntimeError, code="MG-E101"):
    grad(g, x)

# %% [markdown]
# (This is not true for every function. The gradient of `x ** 3` saves everything it needs itself, so a second backward would
# work. The default does not distinguish these cases.)
#
# So with `create_graph=True` nothing is freed, and more is added. For a thousand numbers of four bytes:

# %%
v, seed = mg.ones(1000, requires_grad=True), mg.ones(1000)
y = (v * v).tanh()
print(f"the function has saved       {mg.debug.saved(y).nbytes:6,} bytes")
(g,) = grad(y, v, seed, create_graph=True)
print(f"with its gradient            {mg.debug.saved(g).nbytes:6,} bytes")
(hv,) = grad(g, v, seed)
print(f"after the second backward    {mg.debug.saved(g).nbytes:6,} bytes")

# %% [markdown]
# The last call was an ordinary one. It has freed everything on its way, which here was both graphs. To run another backward from
# `y` or from `g`, we would have needed `retain_graph=True`.
#
# ### Deeper: the cycle of `backward(create_graph=True)`
#
# `backward` puts the gradient into `.grad`. With `create_graph=True` the gradient has a graph, the graph ends at the leaf, and
# the leaf holds its gradient. This is a reference cycle. minigrad warns about it once, as PyTorch does:

# %%
p = mg.tensor(5.0, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    (p * p * p).backward(create_graph=True)
for warning in caught:
    print(textwrap.fill(str(warning.message), 88))
mg.viz.draw(p.grad)

# %% [markdown]
# The picture begins with `p.grad` and ends at `p`. Python frees most objects by counting references, but in a cycle no count
# falls to zero. Only the garbage collector can free it. We switch the collector off to see this:

# %%
def with_backward():
    p = mg.tensor(5.0, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (p * p * p).backward(create_graph=True)
    return weakref.ref(p)


def with_grad():
    p = mg.tensor(5.0, requires_grad=True)
    grad(p * p * p, p, create_graph=True)
    return weakref.ref(p)


gc.collect()
gc.disable()
print("autograd.grad: freed immediately:", with_grad()() is None)
leaf = with_backward()
print("backward:      freed immediately:", leaf() is None, end="")
gc.collect()
print("   by the garbage collector:", leaf() is None)
gc.enable()

# %% [markdown]
# In PyTorch the cycle goes through C++, where Python's garbage collector does not see it, so `gc.collect()` does not free it (a
# test below shows this). So use `autograd.grad` when you create a graph, or set `.grad` to None when you are done.
#
# ## Uses
#
# ### A product with the Hessian
#
# A function of $n$ variables has $n^2$ second derivatives, its **Hessian** $H$. For a million variables, that is too many. But
# many methods only need a product $Hv$ with a vector, and this product costs only one more backward, since
#
# $$ H v = \nabla\bigl(\nabla f \cdot v\bigr) \qquad\text{for a constant } v. $$

# %%
def f(x):
    return (x ** 3).sum() + x[0] * x[1] * x[2]


point = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
v = mg.tensor([1.0, 0.0, -1.0])
(g,) = grad(f(point), point, create_graph=True)
(hv,) = grad((g * v).sum(), point)
print("Hv        ", hv.tolist())

H = mg.autograd.functional.hessian(f, point.detach())
print("by all of H", (H @ v).tolist())
print(H)

# %% [markdown]
# `grad(g, point, grad_outputs=v)` is the same without writing the product. Note that the familiar `grad(g.sum(), point)` is the
# product with $v = (1, 1, 1)$: the sums of the rows. It is the diagonal of $H$ only if $f$ has no terms that combine different
# variables.
#
# ### Deeper: Newton's method
#
# To find where a derivative is zero, step by $-f'/f''$. For $f(t) = e^t - 2t$ that is at $t = \ln 2$:

# %%
t = mg.tensor(2.0, dtype=mg.float64, requires_grad=True)
for step in range(5):
    (slope,) = grad(t.exp() - 2 * t, t, create_graph=True)
    (curvature,) = grad(slope, t)
    with mg.no_grad():
        t -= slope / curvature
    error = abs(t.item() - math.log(2))
    print(f"step {step + 1}   t = {t.item():.8f}   error {error:.0e}")

# %% [markdown]
# In the end the number of correct digits doubles from step to step: this is the advantage of the second derivative. The update is
# under `no_grad()` because it is not part of the function.
#
# ### A penalty on a gradient
#
# Here the first derivative is part of a *loss*, and the second derivative is with respect to something else. A function with
# parameters $w$ should have slopes of length 1 at given points. So we add a penalty for other lengths, and compute the derivative
# of the penalty with respect to $w$:

# %%
double = {"dtype": mg.float64, "requires_grad": True}
w = mg.tensor([[0.5], [-0.8]], **double)
points = mg.tensor([[1.0, 2.0], [0.0, 0.5], [-1.0, 1.0]], **double)


def penalty(w):
    (slope,) = grad((points @ w).tanh().sum(), points, create_graph=True)
    return (((slope ** 2).sum(1).sqrt() - 1) ** 2).mean()


(by_grad,) = grad(penalty(w), w)
h = 1e-3
nudges = mg.tensor([[[h], [0.0]], [[0.0], [h]]], dtype=mg.float64)
by_nudging = [((penalty(w + d) - penalty(w - d)) / (2 * h)).item() for d in nudges]
for name, values in (("grad   ", by_grad.flatten().tolist()), ("nudging", by_nudging)):
    print(name, [f"{number:.3f}" for number in values])

# %% [markdown]
# The sum over the points is correct here: the output of one point does not depend on another point, so row $i$ of `slope` is the
# slope at point $i$.
#
# ## Deeper: higher orders
#
# Each gradient is again a function with a graph. How large do the graphs become?

# %%
def count_nodes(tensor):
    seen, to_do = {tensor.grad_fn}, [tensor.grad_fn]
    while to_do:
        for node, _ in to_do.pop().next_functions:
            if node is not None and node not in seen:
                seen.add(node)
                to_do.append(node)
    return len(seen)


def sizes(f, orders):
    x = mg.tensor(2.0, requires_grad=True)
    y, found = f(x), []
    for _ in range(orders + 1):
        found.append(count_nodes(y))
        (y,) = grad(y, x, create_graph=True)
    return found


print("sin x        ", sizes(lambda x: x.sin(), 7))
print("sin(exp x)   ", sizes(lambda x: x.exp().sin(), 7))

# %% [markdown]
# The derivatives of a sine stay small: one formula, one factor. In the other case, each graph is nearly three times as large as
# the one before. The derivative of a product is a sum of two products. The engine follows the chain rule and simplifies nothing:
# factors of 1 stay, and equal terms are computed several times. So a second derivative costs a small multiple of a first
# derivative. For a tenth derivative, use another method, such as arithmetic with power series.
#
# ## Deeper: kinks
#
# `relu` is $0$ to the left and $x$ to the right. Its slope is 0 or 1, which is constant nearly everywhere:

# %%
z = mg.tensor([-1.0, 0.0, 2.0], requires_grad=True)
(g,) = grad(z.relu().sum(), z, create_graph=True)
print(g)
print(grad(g.sum(), z)[0])

# %% [markdown]
# The second derivative is 0, also at the kink. This is a convention: at a kink there is no first derivative and no second one.
# There is a node, and its formula returns zeros:

# %%
mg.utils.source.source_of("ops/elementwise/functions.py", "ReluBackward")

# %% [markdown]
# So a network of `relu` and linear layers is linear between its kinks, and its Hessian with respect to its *inputs* is zero. A
# gradient penalty still works, since the slope depends on the weights. Newton's method in the inputs does not. If you need
# curvature, take `tanh`, `softplus` or `gelu`.
#
# A second derivative can be zero in two other ways, which look different. In $y = w z$ the slope with respect to $z$ is $w$. It
# has a graph, but the graph does not lead to $z$:

# %%
w, z = mg.tensor(3.0, requires_grad=True), mg.tensor(2.0, requires_grad=True)
(g,) = grad(w * z, z, create_graph=True)
print(g)

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E109"):
    grad(g, z, retain_graph=True)

# %%
print("but", grad(g, z, materialize_grads=True)[0])

# %% [markdown]
# And in $y = 2z$ the slope has no graph at all, as we saw. A program that should work for every function has to handle both
# cases: the first with `materialize_grads=True`, the second with a test of `g.requires_grad`. (See exercise 2.)
#
# ## Deeper: a Function of your own
#
# A `Function` is an operation whose backward you write ([tutorial 14](14_function.py)). The same engine runs your backward, in the
# same mode. So it can be differentiated, if everything it computes with has a history: the gradient that arrives, and the tensors
# from `ctx.saved_tensors`. A value that `forward` stored on `ctx` has no history, because nothing is recorded inside `forward`.

# %%
class Cube(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors        # x itself, with its history
        return g * 3 * x * x


class WrongCube(Cube):
    @staticmethod
    def forward(ctx, x):
        ctx.slope = 3 * x * x           # a number without history
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        return g * ctx.slope


def second(f, x):
    (first,) = grad(f(x), x, create_graph=True)
    return grad(first, x)[0].item()


one = mg.tensor(1.0, requires_grad=True)
print("right", second(lambda x: Cube.apply(x) ** 2, one))
print("wrong", second(lambda x: WrongCube.apply(x) ** 2, one))

# %% [markdown]
# The function is $x^6$, and its second derivative at 1 is 30. With $f$ for the cube, this derivative is $2 f f'' + 2 f'^2$. The
# wrong class has lost the first term, without an error. `gradgradcheck` finds the mistake:

# %%
several = mg.tensor([0.5, 1.5], **double)
print("first derivative, wrong one: ", mg.autograd.gradcheck(WrongCube.apply, several))
print("second derivative, right one:", mg.autograd.gradgradcheck(Cube.apply, several))
with mg.testing.expect_error(RuntimeError, code="MG-E260", quiet=True) as caught:
    mg.autograd.gradgradcheck(WrongCube.apply, several)
print("second derivative, wrong one:", type(caught.value).__name__)

# %% [markdown]
# If your backward cannot be differentiated, because it computes with Python numbers or NumPy, mark it. Then a second derivative
# is an error, and not silently wrong:

# %%
class Once(Cube):
    @staticmethod
    @mg.autograd.function.once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return mg.tensor(g.item() * 3 * x.item() ** 2)


with mg.testing.expect_error(RuntimeError, code="MG-E147"):
    second(lambda x: Once.apply(x) ** 2, one)

# %% [markdown]
# More about this: {doc}`/errors/function-second-derivative`.
#
# ## The source
#
# This is the function that runs one backward. Look for `create_graph`; the rest handles errors, and backwards inside
# backwards.

# %%
mg.utils.source.source_of("_core/engine/execute.py", "run_task")

# %% [markdown]
# Where gradients meet, the engine adds them. It adds in place only if nothing else holds the first gradient, and never under
# `create_graph`:

# %%
mg.utils.source.source_of("_core/engine/graph_task.py", "add_gradients")

# %% [markdown]
# And this is what a leaf does with a gradient while grad mode is on. The new `.grad` is a new tensor: a clone, or a sum with its
# own graph. The old `.grad` does not change, since the program may have computed with it:

# %%
accumulate = "AccumulateGrad.accumulate_with_history"
mg.utils.source.source_of("_core/graph/accumulate_grad.py", accumulate)

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# >>> import torch
# >>> grad = torch.autograd.grad
# >>> x = torch.tensor(5.0, requires_grad=True)
# >>> g, = grad(x * x * x, x, create_graph=True)
# >>> h, = grad(g, x, create_graph=True)
# >>> g, h, grad(h, x)[0]
# (tensor(75., grad_fn=<AddBackward0>), tensor(30., grad_fn=<AddBackward0>), tensor(6.))
# >>> y = x.exp()
# >>> g, = grad(y, x, create_graph=True)
# >>> g.grad_fn.next_functions[1][0] is y.grad_fn
# True
# >>> grad(2 * x, x, create_graph=True)
# (tensor(2.),)
#
# ```
#
# ### Deeper: the cycle, and where it all is in PyTorch
#
# ```python
# >>> import gc, warnings, weakref
# >>> warnings.simplefilter("ignore")
# >>> def after_backward():
# ...     p = torch.tensor(5.0, requires_grad=True)
# ...     (p * p * p).backward(create_graph=True)
# ...     return weakref.ref(p)
# ...
# >>> leaf, _ = after_backward(), gc.collect()
# >>> leaf() is None                  # the circle is still there
# False
# >>> leaf().grad = None
# >>> leaf() is None
# True
#
# ```
#
# | mechanism | minigrad | PyTorch |
# |---|---|---|
# | `retain_graph` follows `create_graph` | `minigrad/autograd/_backward.py`, `grad` | [`torch/autograd/__init__.py`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/autograd/__init__.py), `grad` |
# | grad mode of a backward | `minigrad/_core/engine/execute.py`, `run_task` | [`graph_task.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/graph_task.h), `grad_mode` of `GraphTask` |
# | adding gradients that meet | `minigrad/_core/engine/graph_task.py`, `add_gradients` | [`input_buffer.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/input_buffer.h), `InputBuffer` |
# | a `.grad` with a history | `minigrad/_core/graph/accumulate_grad.py`, `accumulate_with_history` | [`accumulate_grad.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/functions/accumulate_grad.h), `accumulateGrad`, case 3 |
# | the node that raises | `minigrad/_core/record/delayed_error.py` | [`basic_ops.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/functions/basic_ops.h), `DelayedError` |
#
# Both compute the same values, but their graphs differ a little. Some formulas are written differently, so a graph may have more
# or fewer nodes. For instance, the third derivative of `x ** 3` still has a graph in PyTorch, and the fourth is 0. In minigrad
# the third derivative is a constant, and computing the fourth raises the first error below. Also, minigrad finds the node of
# `once_differentiable` on any path; in the last example above, PyTorch's `grad` says that the input was not used.
#
# ## What goes wrong
#
# **`create_graph` was forgotten.** The gradient is a number without a history. The error always looks like this, and does not
# name the call that needs the flag:

# %%
(g,) = grad(x ** 3, x)
with mg.testing.expect_error(RuntimeError, code="MG-E110"):
    grad(g, x)

# %% [markdown]
# The same error appears if the first derivative is constant, as for `2 * x`, with or without the flag.
#
# ### Deeper: more cases
#
# **First and second derivative in one `.grad`.** Every backward adds to `.grad`. What is this number?

# %%
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    (x ** 3).backward(create_graph=True)
x.grad.backward()
print(x.grad.item())
x.grad = None

# %% [markdown]
# It is 75 + 30, which has no meaning. `autograd.grad` returns the two separately.
#
# **The history was cut on the way, without an error.** This penalty should change `w`. But `detach()`, or `item()`, or a
# second `mg.tensor(...)` makes the slope a constant. The rest of the loss has a graph, so there is no error:

# %%
w = mg.tensor(2.0, requires_grad=True)
for cut in (lambda slope: slope, lambda slope: slope.detach()):
    (slope,) = grad((w * x / 5).tanh(), x, create_graph=True)
    loss = w * 0.1 + (cut(slope) - 1) ** 2
    print(f"loss {loss.item():.4f}   gradient {grad(loss, w)[0].item():.4f}")

# %% [markdown]
# The loss is the same, but the gradient is not. If you are in doubt, look at the picture: a tensor that is not in
# `mg.viz.draw(loss)` does not contribute to the gradient.
#
# **Memory grows.** With `create_graph=True` nothing is freed while the gradient lives. A list of such gradients, for a report,
# keeps every graph: {doc}`/errors/memory-grows`.
#
# ## Exercises
#
# Each exercise has a check. Write your answer, then call the check with it, as in `check_second(predicted)`. The solutions
# are folded below.
#
# **1. Predict.** What is the second derivative with respect to $x$ at $x = 2$, with $w = 3$ and `create_graph=True`? Answer with a
# number, with `"MG-E109"` if the graph does not lead to $x$, or with `"MG-E110"` if there is no graph.

# %%
PROGRAMS = ["(w * x) ** 2", "w * x", "x * x.detach()", "x.relu()", "x.exp() * 0"]
predicted = [None, None, None, None, None]      # your answers go here


# %%
@mg.testing.exercise(1)
def check_second(predicted):
    assert len(predicted) == len(PROGRAMS), "five answers, one for each program"
    for text, told in zip(PROGRAMS, predicted):
        x = mg.tensor(2.0, requires_grad=True)
        names = {"x": x, "w": mg.tensor(3.0, requires_grad=True)}
        (g,) = grad(eval(text, names), x, create_graph=True)
        try:
            right = grad(g, x)[0].item()
        except RuntimeError as error:
            right = error.code
        assert told == right, f"{text}: not {told}. Its first derivative is {g!r}"
    print("right")


# %% tags=["help"]
check_second.hints = [
    "Write down the first derivative. Which tensors does it contain with their history?",
    "If nothing in it requires a gradient, it has no graph.",
    "If it has a graph, but x is not in it, the graph does not lead to x."]
check_second.wrong = {
    "(w * x) ** 2: not 36": "That is the first derivative. Differentiate it again.",
    "w * x: not 0":
        "The first derivative is w, and no path leads from w to x. `grad` raises an error for "
        "this, and does not return 0.",
    "x * x.detach(): not 2":
        "`detach()` has cut one of the two paths: the first derivative is the value of "
        "`x.detach()`, a constant.",
    "x * x.detach(): not 0":
        "The first derivative is a constant without a graph. `grad` raises an error for this, "
        "and does not return 0."}


# %% tags=["hide-cell", "solution"]
check_second([18.0,         # 9 x^2, twice differentiated
              "MG-E109",    # the first one is w, and does not lead to x
              "MG-E110",    # the first one is a constant, the value of x.detach()
              0.0,          # there is a node, and its formula gives zeros
              0.0])         # 0 times e^x has a graph that leads to x

# %% [markdown]
# **2. The n-th derivative.** Write `derivative(f, x, n)`, which returns $f^{(n)}(x)$ for a scalar tensor x. It must also work if
# the derivative is zero because there is no graph, or because the graph does not lead to x.

# %%
def derivative(f, x, n):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_derivative(derivative):
    x = mg.tensor(2.0, dtype=mg.float64, requires_grad=True)
    c = mg.tensor(3.0, dtype=mg.float64, requires_grad=True)
    for text, n, wanted in (("x.sin()", 3, -math.cos(2)), ("x ** 4", 0, 16),
                            ("x * x * x", 2, 12), ("x * x * x", 5, 0),
                            ("c * x", 2, 0), ("x.relu()", 2, 0)):
        f = eval(f"lambda x: {text}", {"c": c})
        try:
            got = derivative(f, x, n)
        except mg.errors.MinigradError as error:
            got = error.code
        right = isinstance(got, mg.Tensor) and abs(got.item() - wanted) < 1e-12
        assert right, f"derivative {n} of {text}: {got} instead of {wanted}"
    print("right")


# %% tags=["help"]
check_derivative.hints = [
    "Repeat n times: replace y by its derivative.",
    "Each derivative but the last is differentiated again, so it needs a graph.",
    "Two cases end early: y requires no gradient, or its graph does not lead to x. Ask "
    "`y.requires_grad` for the first, and look up `materialize_grads` for the second."]


# %% tags=["hide-cell", "solution"]
def derivative_solution(f, x, n):
    y = f(x)
    for _ in range(n):
        if not y.requires_grad:
            return mg.zeros_like(x)
        (y,) = grad(y, x, create_graph=True, materialize_grads=True)
    return y


check_derivative(derivative_solution)

# %% [markdown]
# **3. Repair a Function.** This Function computes $\ln(1 + e^x)$. Its first derivative is right, but its second is not. Correct it,
# but keep its advantage: forward computes $e^x$ once, and backward does not compute it again.

# %%
class Softplus(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.e = x.exp()
        return (1 + ctx.e).log()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.e / (1 + ctx.e)


# %%
@mg.testing.exercise(3)
def check_softplus(cls):
    x = mg.tensor([-1.0, 0.3, 2.0], dtype=mg.float64, requires_grad=True)
    assert mg.autograd.gradcheck(cls.apply, x)
    assert mg.autograd.gradgradcheck(cls.apply, x)
    print("right")


# %% tags=["help"]
check_softplus.hints = [
    "The second derivative treats `ctx.e` as a constant, because it has no history.",
    "What `ctx.save_for_backward` has saved comes back with a history, if it was an input or "
    "an output.",
    "So make e an output too. Then backward gets one more argument, the gradient of e."]


# %% tags=["hide-cell", "solution"]
class Mended(mg.autograd.Function):
    """e^x is a second output, so it has a history, and gets a gradient."""

    @staticmethod
    def forward(ctx, x):
        e = x.exp()
        ctx.save_for_backward(e)
        return (1 + e).log(), e

    @staticmethod
    def backward(ctx, g, g_e):
        (e,) = ctx.saved_tensors
        return g * e / (1 + e) + g_e * e


class First:
    """The check calls this class. Only the backward needs the second output."""

    @staticmethod
    def apply(x):
        return Mended.apply(x)[0]


check_softplus(First)

# %% [markdown] tags=["solution"]
# For this function there is a shorter way, since the slope can be computed from the result: $e^x/(1 + e^x) = 1 - e^{-y}$. Save
# $y$, which is already an output. A second output, as above, works for every function.

# %% [markdown]
# ## What to remember
#
# * Formulas compute with tensors. With `create_graph=True` the backward runs with grad mode on, and so its operations are
#   recorded.
# * The graph of a gradient leads into the graph of the function, through the saved values. So `retain_graph` follows
#   `create_graph`.
# * Prefer `autograd.grad`. `backward(create_graph=True)` creates a reference cycle through `.grad`, and adds derivatives of
#   different orders there.
# * A product with the Hessian costs one more backward: $Hv = \nabla(\nabla f \cdot v)$. Each further order costs a multiple of
#   the order before.
# * A second derivative can be zero (`relu`), unconnected (MG-E109), or without a graph (MG-E110).
# * It is silently wrong if values have lost their history: by `detach`, `item`, or attributes on `ctx`. `gradgradcheck` finds the
#   last kind.
#
# **Next:** [the grad modes](06_grad_modes.py), and other ways to leave something out of the graph.
