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
# # Forward mode: derivatives that travel along
#
# **Time** 20 minutes, and as long again for the exercises. **Level** advanced. **You need** [tutorial
# 1](01_derivative_to_graph.py), `create_graph` ([tutorial 5](05_double_backward.py)), and the product of a matrix and a vector.
# **Afterwards** you can write forward mode in ten lines, compute a Jacobian by rows or by columns, choose the cheaper way, and
# check a derivative.
#
# **The question.** A backward pass computes how one number depends on all inputs. What if there are many outputs and few inputs, or
# if you need the whole matrix of derivatives, or second derivatives? And how do you check that they are right?
#
# Our example takes two numbers, a radius and an angle, and returns three:
#
# $$ f(r, t) = (r\cos t,\; r\sin t,\; r^2) $$
#
# at $r = 2$, $t = 0.5$.

# %%
import math
import textwrap
import warnings

import minigrad as mg
import minigrad.autograd.forward_ad as fwAD


def polar(r, t):
    return r * t.cos(), r * t.sin(), r * r


# %% [markdown]
# Its derivatives form a matrix, the **Jacobian** $J$: a row for each output, a column for each input.
#
# $$ J = \begin{pmatrix} \partial x/\partial r & \partial x/\partial t \\ \partial y/\partial r & \partial y/\partial t \\
#    \partial q/\partial r & \partial q/\partial t \end{pmatrix}
#    = \begin{pmatrix} \cos t & -r\sin t \\ \sin t & r\cos t \\ 2r & 0 \end{pmatrix} $$
#
# ## Dual numbers
#
# Let the inputs change over time. $r$ grows by $\dot r$ per second, $t$ by $\dot t$: these speeds are called **tangents**. How fast
# does each result change? Every step of the program has a formula for its own result:
#
# $$ \begin{aligned} z &= x + y: & \dot z &= \dot x + \dot y \\ z &= x\,y: & \dot z &= \dot x\,y + x\,\dot y \\
#    z &= \sin x: & \dot z &= \cos x\;\dot x \end{aligned} $$
#
# When a step runs, everything that the formula needs is available: the values of the inputs, and their tangents. So we store each
# number together with its tangent. Such a pair is a **dual number**.

# %%
class Dual:
    def __init__(self, value, tangent):
        self.value, self.tangent = value, tangent

    def __mul__(self, other):
        return Dual(self.value * other.value,
                    self.tangent * other.value + self.value * other.tangent)

    def sin(self):
        return Dual(math.sin(self.value), math.cos(self.value) * self.tangent)

    def cos(self):
        return Dual(math.cos(self.value), -math.sin(self.value) * self.tangent)


# %% [markdown]
# Forward-mode differentiation needs nothing else for our example. There is no graph and no second pass: at the end of the program,
# the derivatives are computed.

# %%
for z in polar(Dual(2.0, 1.0), Dual(0.5, 0.0)):
    print(f"value {z.value:7.4f}   tangent {z.tangent:7.4f}")

# %% [markdown]
# Here $r$ grows at speed 1 and $t$ is constant. The result is the first column of $J$: $\cos t$, $\sin t$, $2r$. Another direction
# $v = (\dot r, \dot t)$ gives a combination of the columns with the weights $v$. This is the product $J v$, the
# **Jacobian-vector product** or **jvp**.
#
# **Predict.** Which direction gives the second column? And with $v = (1, 2)$, what is the tangent of $r^2$?
#
# <details><summary>Answer</summary>
#
# $(0, 1)$ gives the second column. $r^2$ does not depend on $t$, so its tangent is $2r \cdot 1 + 0 \cdot 2 = 4$.
#
# </details>

# %%
for v in ((0.0, 1.0), (1.0, 2.0)):
    moved = polar(Dual(2.0, v[0]), Dual(0.5, v[1]))
    print(f"v = {v}   J v =", *[f"{z.tangent:8.4f}" for z in moved])

# %% [markdown]
# ## Dual tensors
#
# minigrad, like PyTorch, has dual tensors. They exist inside a **level**, `dual_level()`. `make_dual` makes a dual tensor from a
# value and a tangent, and `unpack_dual` returns the two. The program between these two calls needs no change.

# %%
def f(p):
    return mg.stack(polar(p[0], p[1]))


p = mg.tensor([2.0, 0.5])
with fwAD.dual_level():
    x = fwAD.make_dual(p, mg.tensor([1.0, 0.0]))
    y = f(x)
    primal, tangent = fwAD.unpack_dual(y)
    print(x)
    print(y)
    print("node of y:", y.grad_fn)
print("tangent:", tangent)

# %% [markdown]
# The value without the tangent is called the **primal**. `y` has no node: nothing was recorded, since no input requires a
# gradient. This is the great advantage of forward mode. A tangent exists only as long as its tensor, but reverse mode keeps the
# saved tensors until the backward.
#
# ### Deeper: what each mode saves
#
# A pack hook ([tutorial 8](08_packing.py)) counts the tensors that a chain of a thousand sines
# saves in each mode:

# %%
def chain(x):
    for _ in range(1000):
        x = x.sin()
    return x


def tensors_saved(x):
    saved = []

    def pack(value):
        saved.append(value.numel())
        return value.detach()

    with mg.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
        y = chain(x)        # noqa: F841
    return len(saved)


print("reverse:", tensors_saved(mg.tensor(1.0, requires_grad=True)))
with fwAD.dual_level():
    print("forward:", tensors_saved(fwAD.make_dual(mg.tensor(1.0), mg.tensor(1.0))))

# %% [markdown]
# ## The two products
#
# Reverse mode multiplies the same matrix from the other side. Give each output a weight $u_i$; the result is
# $u^{\mathsf T} J$, the **vector-Jacobian product** or **vjp**. `mg.func` has a function for each product.

# %%
v = mg.tensor([1.0, 2.0])
u = mg.tensor([1.0, 0.0, 10.0])
_, Jv = mg.func.jvp(f, (p,), (v,))
_, vjp = mg.func.vjp(f, p)
uJ, = vjp(u)
print("J v   =", Jv)
print("u^T J =", uJ)

# %% [markdown]
# ```text
#                  v             jvp: a direction v goes in, n numbers;
#         ┌─────────────────┐         m numbers come out, one per output
#      u  │   J:  m by n    │  J v
#         └─────────────────┘    vjp: weights u go in, m numbers;
#                u^T J                n numbers come out, one per input
# ```
#
# An identity connects the two: $u^{\mathsf T}(J v) = (u^{\mathsf T} J)\,v$ for every $u$ and $v$.
# It compares a backward with forward mode, cheaply:

# %%
print(f"{(u @ Jv).item():.4f}  {(uJ @ v).item():.4f}")

# %% [markdown]
# ## A matrix by columns, and by rows
#
# A direction $v$ with one 1 and zeros elsewhere selects a column of $J$. A weight $u$ of this kind selects a row. So there are two
# ways to compute the whole matrix:

# %%
def unit(like, i):
    e = mg.zeros_like(like)
    e[i] = 1.0
    return e


def by_columns(f, p):
    """One pass forward for each input."""
    columns = []
    for j in range(len(p)):
        with fwAD.dual_level():
            y = f(fwAD.make_dual(p, unit(p, j)))
            columns.append(fwAD.unpack_dual(y).tangent)
    return mg.stack(columns, dim=1)


def by_rows(f, p):
    """One pass forward, then one backward for each output."""
    x = p.detach().requires_grad_()
    y = f(x)
    rows = []
    for i in range(len(y)):
        row, = mg.autograd.grad(y, x, unit(y, i), retain_graph=True)
        rows.append(row)
    return mg.stack(rows)


print(by_columns(f, p))
print(by_rows(f, p))

# %% [markdown]
# **Predict.** A function has 3 inputs and 1 output. Which way is cheaper? And for 1 input and 1,000 outputs?
#
# <details><summary>Answer</summary>
#
# Each pass, forward or backward, costs a few times as much as the function, for any number of inputs and outputs. So we count
# passes. With $n$ inputs and $m$ outputs, columns need $n$ forward passes; rows need one forward and $m$ backward passes. For 3
# inputs and 1 output rows are cheaper, with one backward. For 1 input and 1,000 outputs columns are cheaper, with one pass.
#
# </details>
#
# A loss is one number and depends on millions of inputs. Therefore networks are trained in reverse mode. If a program computes a
# curve from a few parameters, forward mode is cheaper.
#
# ### Deeper: the passes, counted
#
# `g` counts its calls, and the record shows where a backward begins.

# %%
def passes(jacobian, n, m):
    calls = []
    W = mg.ones(m, n)

    def g(x):
        calls.append(1)
        return (W @ x).tanh()

    with mg.debug.record() as r:
        J = jacobian(g, mg.ones(n))
    assert J.shape == (m, n)
    begun = [event for event in r.events if event.kind == "begin"]
    return f"{len(calls):3} forward {len(begun):3} backward"


for n, m in ((2, 3), (200, 1), (1, 200)):
    print(f"{n:3} in {m:3} out   by columns: {passes(by_columns, n, m)}"
          f"   by rows: {passes(by_rows, n, m)}")

# %% [markdown]
# ### Deeper: jacrev and jacfwd
#
# `mg.func.jacrev` and `mg.func.jacfwd` do the same as these two functions, for all shapes and for trees of tensors.

# %%
print(mg.func.jacrev(f)(p))
print(bool((mg.func.jacrev(f)(p) == mg.func.jacfwd(f)(p)).all()))
print("jacrev:", passes(lambda g, x: mg.func.jacrev(g)(x), 2, 3))
print("jacfwd:", passes(lambda g, x: mg.func.jacfwd(g)(x), 2, 3))

# %% [markdown]
# Both call $f$ only once. `jacrev` works like our function. `jacfwd` is a surprise: for two inputs it runs three *backwards*, and it
# uses no dual tensor. The reason is that $u^{\mathsf T} J$ is linear in $u$. So `jacfwd` runs one backward with `create_graph`, for
# some $u$. Then it differentiates the result *with respect to $u$*, with the weight $v$: this gives $J v$. It needs this first
# backward and one more for each column, and $f$ runs only once. You write this in exercise 2.
#
# ## Deeper: one rule, two formulas
#
# The rule of an operation has two products: `vjp` for the backward, `jvp` for forward mode. Here is the rule of the inverse of a
# matrix, $z = A^{-1}$. From $A z = 1$ follows $\dot A z + A \dot z = 0$, and from this the jvp, $\dot z = -z\,\dot A\,z$. The
# vjp has the same form with transposed matrices:

# %%
mg.utils.source.source_of("ops/linalg/inverses.py", "LinalgInvEx")

# %% [markdown]
# (`adjoint` is the transpose; for complex numbers it is the conjugate transpose. `ts` are the tangents of the inputs. `info` is an
# integer that says whether the inverse exists; it has no derivative.) The identity of the two products holds here as well. The
# vectors have the shape of a matrix here, so their dot product is the sum over all elements of the elementwise product.

# %%
A = mg.tensor([[2.0, 1.0], [0.5, 3.0]])
g = mg.tensor([[1.0, -2.0], [0.0, 4.0]])
t = mg.tensor([[0.0, 1.0], [3.0, 1.0]])
_, moved = mg.func.jvp(mg.linalg.inv, (A,), (t,))
_, back = mg.func.vjp(mg.linalg.inv, A)
print(f"{(g * moved).sum().item():.4f}  {(back(g)[0] * t).sum().item():.4f}")

# %% [markdown]
# Most operations need no second formula. If element $i$ of the result depends only on element $i$ of the input, the Jacobian is
# diagonal. A diagonal matrix equals its transpose, so for real numbers the vjp *is* the jvp:

# %%
mg.utils.source.source_of("ops/base/rule.py", "Elementwise.jvp_from")

# %% [markdown]
# For a linear operation, such as a sum or a transpose, the jvp is the operation itself, applied to the tangent.

# %%
mg.utils.source.source_of("ops/base/rule.py", "Linear.jvp_from")

# %% [markdown]
# ## Second derivatives
#
# The gradient of a function with one output is also a function, from $n$ numbers to $n$. The Jacobian of the gradient is the
# **Hessian** $H$: the derivatives of the derivatives. The product $H v$ says how the gradient changes when the inputs move along $v$.
#
# Both modes can differentiate a backward.
#
# *Reverse over reverse*: run the backward with `create_graph=True`, so that it is recorded, and run a second backward through it
# ([tutorial 5](05_double_backward.py)).
#
# *Forward over reverse*: make the inputs dual, and run the backward on dual tensors. The gradient comes out dual, and its
# tangent is $H v$.

# %%
def h(p):
    return (p[0] * p[1]).sin() + p[0] ** 3


def reverse_over_reverse(h, p, v):
    x = p.detach().requires_grad_()
    gradient, = mg.autograd.grad(h(x), x, create_graph=True)
    return mg.autograd.grad(gradient, x, v)[0]


def forward_over_reverse(h, p, v):
    with fwAD.dual_level():
        x = fwAD.make_dual(p, v).requires_grad_()
        gradient, = mg.autograd.grad(h(x), x)
        return fwAD.unpack_dual(gradient).tangent


for product in (reverse_over_reverse, forward_over_reverse):
    print(f"{product.__name__:<21} H v = {product(h, p, v)}")

# %% [markdown]
# Reverse over reverse computes $v^{\mathsf T} H$, and forward over reverse $H v$. A Hessian is symmetric, so the two are equal.
#
# ### Deeper: all of the Hessian
#
# $n$ such products give the whole Hessian. `mg.func.hessian` computes it as `jacfwd(jacrev(h))`.

# %%
print(mg.func.hessian(h)(p))
print(mg.stack([forward_over_reverse(h, p, unit(p, j)) for j in range(2)], dim=1))

# %% [markdown]
# ### Deeper: a product without the Hessian
#
# Often a method needs only the products. For $n = 100{,}000$ the Hessian would have $10^{10}$ numbers, which are 40 GB. A product
# with the Hessian is a vector of 100,000 numbers:

# %%
def long_valley(x):
    return ((x[1:] - x[:-1] ** 2) ** 2).sum() + ((1 - x) ** 2).sum()


point = mg.linspace(-1.0, 1.0, 100_000)
direction = mg.ones(100_000)
found = forward_over_reverse(long_valley, point, direction)
also = reverse_over_reverse(long_valley, point, direction)
print(found.shape, bool(mg.allclose(found, also, atol=1e-4)))

# %% [markdown]
# ## Step by step
#
# Here is $H v$ by reverse over reverse, for $y = \sin(a\,b)$ and the direction $(1, 0)$. The record has two backwards, called
# *tasks*. Watch the first task: its formulas record new nodes, but the first task does not run them. The second task runs these new
# nodes, and also old ones.

# %%
a = mg.tensor(2.0, requires_grad=True)
b = mg.tensor(0.5, requires_grad=True)
with mg.debug(), mg.debug.record() as r:
    y = (a * b).sin()
    ga, gb = mg.autograd.grad(y, (a, b), create_graph=True)
    haa, hab = mg.autograd.grad(ga, (a, b))
mg.viz.step(r)

# %% [markdown]
# ### Deeper: the graph of a gradient, and forward over reverse
#
# This is the graph behind `ga`: three nodes that the first task has recorded, and the old product below them.

# %%
mg.viz.draw(ga)

# %% [markdown]
# And these are the nodes that have run:

# %%
for task in (1, 2):
    print(f"task {task}:", *[r.nodes[event.node] for event in r.events
                             if event.kind == "compute" and event.task == task])
print(f"H v = ({haa.item():.4f}, {hab.item():.4f})")

# %% [markdown]
# **Predict.** How many tasks does forward over reverse take, and how many nodes run?
#
# <details><summary>Answer</summary>
#
# One task, and the two nodes of $y$. The tangents of the gradients are the second derivative. So there is no second backward, and
# the first one need not be recorded.
#
# </details>

# %%
with fwAD.dual_level(), mg.debug.record() as r:
    da = fwAD.make_dual(a.detach(), mg.tensor(1.0)).requires_grad_()
    db = fwAD.make_dual(b.detach(), mg.tensor(0.0)).requires_grad_()
    moved = mg.autograd.grad((da * db).sin(), (da, db))
    haa, hab = [fwAD.unpack_dual(grad).tangent for grad in moved]
for task in {event.task for event in r.events if event.kind == "compute"}:
    print(f"task {task}:", *[r.nodes[event.node] for event in r.events
                             if event.kind == "compute" and event.task == task])
print(f"H v = ({haa.item():.4f}, {hab.item():.4f})")

# %% [markdown]
# ## Is a derivative right?
#
# Each of these many formulas can be wrong. We can compare them with the definition of a derivative: change an input a little, and
# look at the change of the output. It is better to change the input in both directions,
#
# $$ \frac{f(x + \varepsilon) - f(x - \varepsilon)}{2\varepsilon}, $$
#
# because then the curvature of $f$ cancels. How large should the step $\varepsilon$ be? Here is the error for $x^3$ at $0.7$:

# %%
def error(eps, dtype):
    x = mg.tensor(0.7, dtype=dtype)
    ahead, behind = x + eps, x - eps
    difference = (ahead * ahead * ahead - behind * behind * behind) / (2 * eps)
    return abs(difference.item() - 3 * x.item() ** 2)


for exponent in (1, 2, 3, 4, 5, 6, 8, 10):
    eps = 10.0 ** -exponent
    print(f"eps = 1e-{exponent:<2}   float64: {error(eps, mg.float64):.0e}"
          f"   float32: {error(eps, mg.float32):.0e}")

# %% [markdown]
# A large step gives an error because $f$ is curved: this error falls with $\varepsilon^2$. A small step gives an error because the
# two values agree in most of their digits, and the difference keeps only the last digits: this error grows with $1/\varepsilon$.
# float64 has about sixteen digits. With $\varepsilon = 10^{-6}$, as in `gradcheck`, about ten digits of the result are right. float32
# has seven digits, and with $10^{-6}$ one or two of them are right. **Check derivatives in float64.** The formula is the same.
#
# A checker takes a few lines. It compares two Jacobians:

# %%
def numerical(f, x, eps=1e-6):
    columns = []
    for j in range(len(x)):
        step = eps * unit(x, j)
        columns.append((f(x + step) - f(x - step)) / (2 * eps))
    return mg.stack(columns, dim=1)


def check(f, x):
    n, a = numerical(f, x), by_rows(f, x)
    return bool(((n - a).abs() <= 1e-5 + 1e-3 * n.abs()).all())


p64 = p.double()
print("f:              ", check(f, p64))
print("a lost term:    ", check(lambda x: x * x.detach(), p64))

# %% [markdown]
# `mg.autograd.gradcheck` does this, and also checks several inputs and outputs, complex numbers, forward mode, missing gradients, and
# that a second backward gives the same result. It raises an error if something differs:

# %%
print(mg.autograd.gradcheck(f, p64.requires_grad_(), check_forward_ad=True))

# %% [markdown]
# ### Deeper: the messages of gradcheck
#
# Here are three Functions ([tutorial 14](14_function.py)) with a mistake in the backward: a wrong factor, a wrong sign, and a matrix
# that should be transposed.

# %%
def custom(value, gradient):
    class Custom(mg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return value(x)

        @staticmethod
        def backward(ctx, g):
            return gradient(ctx.saved_tensors[0], g)
    return Custom.apply


M = mg.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=mg.float64)
wrong_factor = custom(lambda x: x ** 3, lambda x, g: 2 * x ** 2 * g)
wrong_sign = custom(lambda x: x.cos(), lambda x, g: x.sin() * g)
not_transposed = custom(lambda x: M @ x, lambda x, g: M @ g)

# %% [markdown]
# In the messages a row belongs to an *input* and a column to an output, as in PyTorch. This matrix is our $J$, transposed.

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E260"):
    mg.autograd.gradcheck(wrong_factor, p64)

# %% [markdown]
# After the two matrices, the message says where they differ most, and guesses the cause. The guess comes from the numbers: here
# one matrix is $2/3$ of the other. The guesses for the two other Functions:

# %%
def said(f, x, check=mg.autograd.gradcheck):
    try:
        check(f, x)
    except RuntimeError as error:
        cause = next(line.strip() for line in str(error).splitlines() if "cause:" in line)
        return textwrap.fill(cause, 84, subsequent_indent="          ")


print(said(wrong_sign, p64))
print(said(not_transposed, p64))

# %% [markdown]
# **Predict.** The backward of $\cos x$ has the wrong sign. Does the check at $x = 0$ find this?
#
# <details><summary>Answer</summary>
#
# No, it passes: $\sin 0 = 0 = -\sin 0$. A check tests one point only. Take points without zeros, ones or equal values. Random
# points with a seed are good.
#
# </details>

# %%
origin = mg.zeros(2, dtype=mg.float64, requires_grad=True)
print(mg.autograd.gradcheck(wrong_sign, origin))

# %% [markdown]
# ### Deeper: the second derivative
#
# A backward can be right while its own derivative is wrong. This backward computes with a detached number, so a second backward does
# not know that the number depends on $x$. `gradcheck` passes. `gradgradcheck` checks the gradient as a function of $x$, and fails:

# %%
half = custom(lambda x: x * x, lambda x, g: 2 * x.detach() * g)
print(mg.autograd.gradcheck(half, p64))
print(said(half, p64, mg.autograd.gradgradcheck))

# %% [markdown]
# ## The source
#
# If an input of an operation has a tangent, this function computes the tangents of the results. Between the two calls of `set_modes`
# forward mode is off: a tangent cannot have a tangent.

# %%
mg.utils.source.source_of("_core/record/forward_ad.py", "push_tangents")

# %% [markdown]
# ### Deeper: jvp_of, and numerical differences
#
# `jvp_of` calls the formulas of the rule. Some rules have one `jvp` for all inputs, like the inverse. Others have a `jvp` for each
# input; then `jvp_of` adds the contributions of the inputs that have a tangent, as in the product rule.

# %%
mg.utils.source.source_of("ops/base/rule.py", "Op.jvp_of")

# %% [markdown]
# And this function of `gradcheck` computes the difference. It writes to the input in place, and restores the old numbers even if the
# checked function raises an error.

# %%
mg.utils.source.source_of("autograd/_gradcheck/numerical.py", "difference")

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# >>> import torch
# >>> import torch.autograd.forward_ad as fwAD
# >>> def f(p):
# ...     r, t = p[0], p[1]
# ...     return torch.stack([r * t.cos(), r * t.sin(), r * r])
# >>> p = torch.tensor([2.0, 0.5])
# >>> with fwAD.dual_level():
# ...     y = f(fwAD.make_dual(p, torch.tensor([1.0, 2.0])))
# ...     primal, tangent = fwAD.unpack_dual(y)
# >>> y.grad_fn is None, tangent
# (True, tensor([-1.0401,  3.9898,  4.0000]))
# >>> torch.func.vjp(f, p)[1](torch.tensor([1.0, 0.0, 10.0]))
# (tensor([40.8776, -0.9589]),)
# >>> torch.func.jacfwd(f)(p)
# tensor([[ 0.8776, -0.9589],
#         [ 0.4794,  1.7552],
#         [ 4.0000,  0.0000]])
# >>> with fwAD.dual_level():
# ...     x = fwAD.make_dual(p, torch.tensor([1.0, 2.0])).requires_grad_()
# ...     g, = torch.autograd.grad((x[0] * x[1]).sin() + x[0] ** 3, x)
# ...     hv = fwAD.unpack_dual(g).tangent
# >>> hv
# tensor([11.1873, -7.0329])
# >>> torch.autograd.gradcheck(f, p.double().requires_grad_(), check_forward_ad=True)
# True
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | mechanism | minigrad | PyTorch |
# |---|---|---|
# | levels, `make_dual` | `minigrad/autograd/forward_ad.py` | [`torch/autograd/forward_ad.py`][forward_ad.py] |
# | the tangent of a tensor | `minigrad/_core/record/forward_ad.py` | [`torch/csrc/autograd/forward_grad.h`][forward_grad.h], `struct ForwardGrad` |
# | tangents of views | the same file, Note [Tangents of views] | [`torch/csrc/autograd/autograd_meta.cpp`][autograd_meta.cpp], Note [Forward Grad View/inplace] |
# | the two formulas | `vjp` and `jvp` of a rule in `minigrad/ops` | [`tools/autograd/derivatives.yaml`][derivatives.yaml], entries such as `self:` (vjp) and `result:` (jvp) |
# | Jacobians, Hessians | `minigrad/func/_jacobians.py` | [`torch/_functorch/eager_transforms.py`][eager_transforms.py], `jacrev`, `jacfwd`, `hessian` |
# | `gradcheck` | `minigrad/autograd/gradcheck.py` | [`torch/autograd/gradcheck.py`][gradcheck.py] |
#
# [forward_ad.py]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/autograd/forward_ad.py
# [forward_grad.h]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/forward_grad.h
# [autograd_meta.cpp]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/autograd_meta.cpp
# [derivatives.yaml]: https://github.com/pytorch/pytorch/blob/v2.13.0/tools/autograd/derivatives.yaml
# [eager_transforms.py]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_functorch/eager_transforms.py
# [gradcheck.py]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/autograd/gradcheck.py
#
# There are three differences. `torch.func` computes the rows or columns of a Jacobian in a batch, by `vmap`; minigrad computes them
# one by one. `torch.func.jacfwd` uses dual tensors, and ours uses the two backwards of exercise 2. And `torch.autograd.gradcheck`
# prints the two matrices without a cause.
#
# ## What goes wrong
#
# **Two levels.** A dual number of dual numbers would give second derivatives. But minigrad, like PyTorch, has only one level:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E291"):
    with fwAD.dual_level():
        with fwAD.dual_level():
            pass

# %% [markdown]
# Use forward mode over a backward instead, as above.
#
# ### Deeper: more cases
#
# (`mg.func.jvp` may be nested, like `torch.func.jvp`. In minigrad the inner call then uses two backwards instead of a level.)
#
# **A tangent of another shape.** A tangent says how each element moves, so it has the shape of the tensor:

# %%
with fwAD.dual_level():
    with mg.testing.expect_error(RuntimeError, code="MG-E292"):
        fwAD.make_dual(p, mg.tensor(1.0))

# %% [markdown]
# **The tangent is lost.** This raises no error. At the end of the level all tensors lose their tangents: unpack them before. And the
# results of `item()`, `numpy()` and `detach()` have no tangent, as they have no history in reverse mode. (`numpy()` raises an error
# for a tensor that requires a gradient, but not for a dual tensor.)

# %%
with fwAD.dual_level():
    x = fwAD.make_dual(mg.tensor(2.0), mg.tensor(1.0))
    y = x * x
    by_number = mg.tensor(x.item()) * x
    print("d(x x) =", fwAD.unpack_dual(y).tangent.item(),
          "  through item():", fwAD.unpack_dual(by_number).tangent.item())
print("after the level:", fwAD.unpack_dual(y).tangent)

# %% [markdown]
# **An output that cannot have a tangent.** `out=` writes into an existing tensor, and there is no rule for its tangent. This is an
# error:

# %%
with fwAD.dual_level():
    x = fwAD.make_dual(p, v)
    with mg.testing.expect_error(RuntimeError, code="MG-E290"):
        mg.mul(x, 2.0, out=mg.zeros(2))

# %% [markdown]
# **gradcheck in float32.** The formula is right, but the check fails. minigrad warns first, and the error names float32 as the cause:

# %%
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    print(said(lambda x: x ** 3, mg.tensor([0.7, 2.0], requires_grad=True)))
print(str(warned[0].message).split(". ")[0])

# %% [markdown]
# **A kink.** $|x|$ has no derivative at 0. Its slopes are $-1$ and $1$, and the difference gives their mean, 0. The formula also gives
# 0, so the check passes. For relu the formula gives 0 at this point, and the difference gives $1/2$:

# %%
print(mg.autograd.gradcheck(lambda x: x.abs(), origin))
print(said(lambda x: x.relu(), origin))

# %% [markdown]
# Both results are about a point without a derivative. Neither says anything about the formula at other points. See
# {doc}`/errors/gradcheck-float32`.
#
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. More dual numbers.** Write a class `More`, derived from `Dual`, with `__truediv__`, `exp` and `__pow__` for a whole number.
# All its results must be of class `More`, even the results of `*`.

# %%
class More(Dual):
    def __truediv__(self, other):
        raise NotImplementedError      # your code goes here

    def exp(self):
        raise NotImplementedError      # your code goes here

    def __pow__(self, n):
        raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(1)
def check_more(cls):
    """Compare with a difference, at x = 1.3 and y = 0.7, along (1, 2)."""
    def program(x, y, exp):
        return (exp(x * y) / y) ** 3 / x

    def at(s):
        return program(1.3 + s, 0.7 + 2 * s, math.exp)

    cls(0.0, 1.0).exp()         # an answer that is not there yet says so here
    z = program(cls(1.3, 1.0), cls(0.7, 2.0), lambda x: x.exp())
    wanted = (at(1e-6) - at(-1e-6)) / 2e-6
    assert abs(z.value - at(0.0)) < 1e-9, f"value {z.value:.3f}, not {at(0.0):.3f}"
    assert abs(z.tangent - wanted) < 1e-4, f"tangent {z.tangent:.3f}, not {wanted:.3f}"
    print("right")


# %% tags=["help"]
check_more.hints = [
    "Each method returns a pair: the value, and how fast it moves when the inputs move at "
    "their tangents.",
    "The slopes are those of a textbook: `exp(x)` for `exp`, and `n * x ** (n - 1)` for a "
    "power. Each is multiplied by the tangent.",
    "For the quotient `z = x / y`, the tangent is (tangent of `x` minus `z` times tangent of "
    "`y`) divided by `y`. Override `__mul__` too: wrap what `super().__mul__(other)` returns."]
check_more.wrong = {
    "'Dual' object has no attribute 'exp'":
        "`*` still returns a `Dual`. Its result must be of class `More`.",
    "tangent 154.893, not 19.234":
        "The tangent of a quotient is not the quotient of the tangents.",
    "tangent -218.032, not 19.234": "`exp` has to multiply its slope by the tangent.",
    "tangent 2.616, not 19.234": "The power has to multiply its slope by the tangent."}


# %% tags=["hide-cell", "solution"]
class Solution(Dual):
    def __mul__(self, other):
        z = super().__mul__(other)
        return Solution(z.value, z.tangent)

    def __truediv__(self, other):
        z = self.value / other.value
        return Solution(z, (self.tangent - z * other.tangent) / other.value)

    def exp(self):
        z = math.exp(self.value)
        return Solution(z, z * self.tangent)

    def __pow__(self, k):
        return Solution(self.value ** k, k * self.value ** (k - 1) * self.tangent)


check_more(Solution)

# %% [markdown]
# **2. Forward by two backwards.** Write `push(f, x, v)`, which computes $J v$ without a dual tensor. First compute a vjp for a
# weight $u$ that requires a gradient. Then compute its derivative with respect to $u$. Does it matter which $u$ you take?

# %%
def push(f, x, v):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_push(push):
    def mixed(x):
        return (x * x.sum()).exp()

    for function, at in ((f, p), (mixed, mg.tensor([0.3, -0.2, 0.1]))):
        for direction in (mg.ones_like(at), unit(at, 1)):
            with mg.debug.record() as r:
                found = push(function, at, direction)
            right = mg.func.jvp(function, (at,), (direction,))[1]
            assert mg.allclose(found, right, atol=1e-6), f"{found} instead of {right}"
            begun = [event for event in r.events if event.kind == "begin"]
            assert len(begun) == 2, f"{len(begun)} backwards instead of two"
    print("right")


# %% tags=["help"]
check_push.hints = [
    "A vjp is `u` times `J`. As a function of `u`, it is linear. What is its derivative with "
    "respect to `u`?",
    "`autograd.grad(y, x, u, create_graph=True)` is a vjp that can be differentiated again. "
    "`u` must require a gradient.",
    "The second call differentiates the result of the first with respect to `u`, and takes `v` "
    "as its third argument. The numbers in `u` do not matter: you can use zeros."]
check_push.wrong = {
    "0 backwards instead of two": "This is forward mode itself. Build it from two backwards.",
    "MG-E110": "The first backward has left no graph. Use `create_graph=True`.",
    "MG-E204":
        "You differentiated with respect to `x` again, and got the shape of `x`. Differentiate "
        "with respect to `u`.",
    "MG-E107": "The weight `u` must require a gradient, before the first backward."}


# %% tags=["hide-cell", "solution"]
def push_solution(f, x, v):
    x = x.detach().requires_grad_()
    y = f(x)
    u = mg.zeros_like(y, requires_grad=True)        # any u: the gradient is linear in u
    pulled, = mg.autograd.grad(y, x, u, create_graph=True)
    return mg.autograd.grad(pulled, u, v)[0]


check_push(push_solution)

# %% [markdown]
# **3. Three diagonals.** In many systems each output depends only on one input and its two neighbours, as in a wave on a string.
# Then $J$ is zero except on three diagonals, and three forward passes are enough for any $n$. Write `band(f, x)`, which returns the
# whole $n \times n$ matrix. Hint: one pass can compute several columns that share no row.

# %%
def band(f, x):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_band(band):
    calls = []

    def string(x):
        calls.append(1)
        left = mg.cat([mg.zeros(1), x[:-1]])
        right = mg.cat([x[1:], mg.zeros(1)])
        return left * x - (x * x).sin() + 3 * right

    for n in (3, 10, 50):
        x = mg.linspace(-1.0, 1.0, n)
        right = mg.func.jacrev(string)(x)
        calls.clear()
        found = band(string, x)
        assert found.shape == (n, n) and mg.allclose(found, right), f"wrong for n = {n}"
        assert len(calls) <= 3, f"{len(calls)} passes for n = {n}"
    print("right")


# %% tags=["help"]
check_band.hints = [
    "One forward pass with a direction gives a combination of columns. When can you take the "
    "columns apart again?",
    "Column `j` has numbers only in rows `j - 1`, `j` and `j + 1`. So the columns 0, 3, 6, ... "
    "share no row.",
    "For each of `first = 0, 1, 2`: make a direction with ones at `first::3`, and run one "
    "pass. Then copy the three rows around each `j` into column `j`."]
check_band.wrong = {
    "wrong for n = 3":
        "If only `x[j]` moves, the outputs move by *column* `j`. Columns 0 and 2 share row 1, "
        "so two passes are not enough.",
    "wrong for n = 10":
        "One pass gives several columns at the same time. Each of them has only the rows `j - "
        "1` to `j + 1`.",
    "10 passes for n = 10":
        "One pass for each column is correct, and too slow. Let columns without a common row "
        "share a pass."}


# %% tags=["hide-cell", "solution"]
def band_solution(f, x):
    n = len(x)
    J = mg.zeros(n, n)
    for first in range(3):
        v = mg.zeros(n)
        v[first::3] = 1.0
        with fwAD.dual_level():
            moved = fwAD.unpack_dual(f(fwAD.make_dual(x, v))).tangent
        for j in range(first, n, 3):        # only column j of v has these rows
            rows = slice(max(j - 1, 0), j + 2)
            J[rows, j] = moved[rows]
    return J


check_band(band_solution)

# %% [markdown]
# ## What to remember
#
# * A **dual** tensor carries a **tangent**, its derivative along one direction. Each operation computes the tangent of its result;
#   nothing is recorded.
# * Forward mode gives $J v$, a combination of columns; reverse mode gives $u^{\mathsf T} J$, a combination of rows. Use forward mode
#   for few inputs, and reverse mode for few outputs.
# * A whole Jacobian takes a pass for each column (`jacfwd`) or for each row (`jacrev`).
# * Forward over reverse computes $H v$ without $H$.
# * `gradcheck` compares with differences. Use float64, and points without zeros, equal values or kinks. `gradgradcheck` checks the
#   second derivative.
#
# **Next:** [tutorial 16](16_two_speeds.py), how Cython makes this code fast.
