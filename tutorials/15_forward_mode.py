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
# **The question.** A backward pass tells how one number depends on all inputs. What if there are many outputs and few inputs, or
# if the whole matrix of derivatives is wanted, or second derivatives? And who checks that any of them is right?
#
# You need: [tutorial 1](01_derivative_to_graph.py), what `create_graph` is for ([tutorial 5](05_double_backward.py)), and what a matrix times a vector
# is. You get: forward mode in ten lines; a count of what
# each way costs; Jacobians by rows and by columns; Hessians, and products with them that never build one; and a derivative
# checker, with what it says of four typical mistakes.
#
# Our example takes two numbers, a radius and an angle, and gives three:
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
# Let the inputs move. $r$ grows by $\dot r$ per second, $t$ by $\dot t$: these speeds are called **tangents**. How fast does each
# result move? Every step of the program answers that for itself:
#
# $$ \begin{aligned} z &= x + y: & \dot z &= \dot x + \dot y \\ z &= x\,y: & \dot z &= \dot x\,y + x\,\dot y \\
#    z &= \sin x: & \dot z &= \cos x\;\dot x \end{aligned} $$
#
# All that a step needs is there when the step is taken: the values of its inputs, and their tangents. So let a number carry its
# tangent with it. Such a pair is a **dual number**.

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
# That is all that forward-mode differentiation needs for our example. There is no tape, no graph, and no second walk: when the
# program has ended, the derivatives are there.

# %%
for z in polar(Dual(2.0, 1.0), Dual(0.5, 0.0)):
    print(f"value {z.value:7.4f}   tangent {z.tangent:7.4f}")

# %% [markdown]
# We have let $r$ move at speed 1 and $t$ rest. What came out is the first column of $J$: $\cos t$, $\sin t$, $2r$. With another
# direction $v = (\dot r, \dot t)$ we get that mixture of the columns which $v$ says: the product $J v$, the
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
# minigrad, like PyTorch, has dual numbers that are tensors. They exist inside a **level**, `dual_level()`. `make_dual` gives a
# tensor a tangent, `unpack_dual` takes the two apart. In between the program stays as it is.

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
# The part that is not the tangent is called the **primal**. `y` has no node: nothing was recorded, since no input requires a
# gradient. That is the great saving of forward mode. A tangent lives as long as its tensor, and reverse mode keeps what its
# formulas need until the end. Count what a chain of a thousand sines saves, each way, with a hook on what is saved
# ([tutorial 8](08_packing.py)):

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
# Reverse mode multiplies the same matrix from the other side. Give each output a weight $u_i$; what comes out is
# $u^{\mathsf T} J$, the **vector-Jacobian product** or **vjp**. `mg.func` has a function for each.

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
# The two are tied together: $u^{\mathsf T}(J v) = (u^{\mathsf T} J)\,v$.
# That holds for every $u$ and $v$, and is the cheapest check there is of a backward against a forward:

# %%
print(f"{(u @ Jv).item():.4f}  {(uJ @ v).item():.4f}")

# %% [markdown]
# ## A matrix by columns, and by rows
#
# A direction that is 1 in one place and 0 elsewhere picks a column of $J$. A weight of this kind picks a row. So there are two
# ways to get the whole matrix:

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
# **Predict.** A function has 3 numbers in and 1 out. Which way is cheaper? And for 1 in and 1,000 out?
#
# <details><summary>Answer</summary>
#
# A pass of either kind costs a few times what the function costs, whatever the number of inputs and outputs. So count passes: with
# $n$ numbers in and $m$ out it takes $n$ forward passes by columns, and one forward and $m$ backward ones by rows. For 3 in and 1
# out rows are cheaper, one backward. For 1 in and 1,000 out columns are, one pass.
#
# </details>
#
# Let us count. `g` notes its calls, and the record notes where a backward begins.

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
# A loss is one number and has millions of inputs: that is why networks are trained in reverse mode. Where a curve is computed
# from a few parameters, forward mode wins.
#
# `mg.func.jacrev` and `mg.func.jacfwd` are these two functions, for all shapes and for trees of tensors.

# %%
print(mg.func.jacrev(f)(p))
print(bool((mg.func.jacrev(f)(p) == mg.func.jacfwd(f)(p)).all()))
print("jacrev:", passes(lambda g, x: mg.func.jacrev(g)(x), 2, 3))
print("jacfwd:", passes(lambda g, x: mg.func.jacfwd(g)(x), 2, 3))

# %% [markdown]
# Both call $f$ once only. `jacrev` is as ours. `jacfwd` surprises: two inputs, three *backwards*, and no dual tensor. It uses a
# trick. $u^{\mathsf T} J$ is linear in $u$. So it runs one backward with `create_graph`, for some $u$, and then differentiates
# the result *by $u$*, with the weight $v$: that is $J v$. One backward to prepare, one for each column, and $f$ need not run
# again. Exercise 2 is to write it.
#
# ## One rule, two formulas
#
# minigrad has to know two products for each operation: `vjp` for the backward, `jvp` for forward mode. Here is the inverse of
# a matrix, $z = A^{-1}$. From $A z = 1$ follows $\dot A z + A \dot z = 0$, and from that the jvp, $\dot z = -z\,\dot A\,z$. The
# vjp is the same with everything transposed:

# %%
mg.utils.source.source_of("ops/linalg/inverses.py", "LinalgInvEx")

# %% [markdown]
# (`adjoint` is the transpose, and for complex numbers the conjugate too. `ts` are the tangents of the inputs, and `info` is an
# integer that says whether all went well; it has no derivative.) The identity of the two products holds here as well. The sum
# over all elements of a product is how one multiplies vectors that have the shape of a matrix.

# %%
A = mg.tensor([[2.0, 1.0], [0.5, 3.0]])
g = mg.tensor([[1.0, -2.0], [0.0, 4.0]])
t = mg.tensor([[0.0, 1.0], [3.0, 1.0]])
_, moved = mg.func.jvp(mg.linalg.inv, (A,), (t,))
_, back = mg.func.vjp(mg.linalg.inv, A)
print(f"{(g * moved).sum().item():.4f}  {(back(g)[0] * t).sum().item():.4f}")

# %% [markdown]
# Most operations need no second formula. Where the result's element $i$ depends only on the input's element $i$, the Jacobian is
# diagonal. A diagonal matrix is its own transpose, so for real numbers the vjp *is* the jvp:

# %%
mg.utils.source.source_of("ops/base/rule.py", "Elementwise.jvp_from")

# %% [markdown]
# And an operation that is linear, as a sum or a transpose, moves as its input does: its jvp is the operation itself, on the
# tangent.

# %%
mg.utils.source.source_of("ops/base/rule.py", "Linear.jvp_from")

# %% [markdown]
# ## Second derivatives
#
# The gradient of a function with one output is itself a function, from $n$ numbers to $n$. Its Jacobian is the **Hessian** $H$:
# the derivatives of the derivatives. Its Jacobian-vector product $H v$ says how the gradient moves when the inputs move along
# $v$.
#
# Either mode can be put over a backward.
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
# A Hessian is symmetric, so it does not matter that the one computes $v^{\mathsf T} H$ and the other $H v$. With $n$ such products
# one has the whole of it, which `mg.func.hessian` does, as `jacfwd(jacrev(h))`.

# %%
print(mg.func.hessian(h)(p))
print(mg.stack([forward_over_reverse(h, p, unit(p, j)) for j in range(2)], dim=1))

# %% [markdown]
# Often the products are all one needs. For $n = 100{,}000$ the Hessian would have $10^{10}$ numbers, 40 GB of them. A product
# with it is a vector of 100,000:

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
# Here is $H v$ by reverse over reverse, for $y = \sin(a\,b)$ and the direction $(1, 0)$. The record holds two backwards, which it
# calls *tasks*. Watch the first one: as its formulas run, they make new nodes, which it does not walk over. The second task walks
# over those, and over old ones too.

# %%
a = mg.tensor(2.0, requires_grad=True)
b = mg.tensor(0.5, requires_grad=True)
with mg.debug(), mg.debug.record() as r:
    y = (a * b).sin()
    ga, gb = mg.autograd.grad(y, (a, b), create_graph=True)
    haa, hab = mg.autograd.grad(ga, (a, b))
mg.viz.step(r)

# %% [markdown]
# This is the graph behind `ga`: three nodes that the first task has made, and the old product below them.

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
# One task, and the two nodes of $y$. The second derivative travels along as tangents of the gradients, so there is nothing to
# walk over a second time, and the backward need not be recorded.
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
# We have many formulas now, and each can be wrong. The judge is the definition: nudge an input, and look. It is better to nudge
# both ways,
#
# $$ \frac{f(x + \varepsilon) - f(x - \varepsilon)}{2\varepsilon}, $$
#
# since then the curvature of $f$ cancels. How large should the step $\varepsilon$ be? Here is the error for $x^3$ at $0.7$:

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
# A large step is wrong because $f$ bends: that error falls with $\varepsilon^2$. A small one is wrong because the two values
# agree in most of their digits, and the difference keeps only the last ones: that error grows with $1/\varepsilon$. float64 has
# some sixteen digits, and at $\varepsilon = 10^{-6}$, which `gradcheck` uses, about ten of the result's are right. float32 has
# seven digits, and at $10^{-6}$ one or two are left. **Check derivatives in float64.** The formula is the same one.
#
# With that, a checker takes a few lines. It compares two Jacobians:

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
# `mg.autograd.gradcheck` does this, and more: several inputs and outputs, complex numbers, forward mode, gradients that are
# missing, a second backward that must give the same. It raises where something differs:

# %%
print(mg.autograd.gradcheck(f, p64.requires_grad_(), check_forward_ad=True))

# %% [markdown]
# ### What it says
#
# Here are three Functions of our own ([tutorial 14](14_function.py)) with a mistake in the backward: a wrong factor, a wrong sign, and a
# matrix that should be transposed.

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
# In the messages a row belongs to an *input* and a column to an output: PyTorch prints them so as well. It is our $J$ transposed.

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E260"):
    mg.autograd.gradcheck(wrong_factor, p64)

# %% [markdown]
# After the two matrices it says where they differ most, and guesses why. The guess is made from the numbers: here one matrix is
# $2/3$ of the other. For the two others:

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
# **Predict.** The backward of $\cos x$ has the wrong sign, but what if it is checked at $x = 0$?
#
# <details><summary>Answer</summary>
#
# It passes: $\sin 0 = 0 = -\sin 0$. A check says something about one point. Take points where nothing is zero, one or equal;
# random ones, from a seed, are good.
#
# </details>

# %%
origin = mg.zeros(2, dtype=mg.float64, requires_grad=True)
print(mg.autograd.gradcheck(wrong_sign, origin))

# %% [markdown]
# ### The second derivative
#
# A backward can be right and its own derivative wrong. This one computes with a number that it has detached, so a second
# backward does not know that it depends on $x$. `gradcheck` passes. `gradgradcheck`, which checks the gradient as a function of
# $x$, does not:

# %%
half = custom(lambda x: x * x, lambda x, g: 2 * x.detach() * g)
print(mg.autograd.gradcheck(half, p64))
print(said(half, p64, mg.autograd.gradgradcheck))

# %% [markdown]
# ## The source
#
# When an operation has run, and one of its inputs has a tangent, this makes those of its results. Between the two `set_modes`
# forward mode is off: a tangent has no tangent itself.

# %%
mg.utils.source.source_of("_core/record/forward_ad.py", "push_tangents")

# %% [markdown]
# `jvp_of` calls the formulas of the rule: one `jvp` for all inputs, as that of the inverse; or one for each input that moves,
# and then the contributions are added, as in the product rule.

# %%
mg.utils.source.source_of("ops/base/rule.py", "Op.jvp_of")

# %% [markdown]
# And this is the nudge of `gradcheck`. It writes to the input in place, and puts the old numbers back, whatever the function does.

# %%
mg.utils.source.source_of("autograd/_gradcheck/numerical.py", "difference")

# %% [markdown]
# ## The same in PyTorch
#
# The names and the numbers are the same:
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
# | | minigrad | PyTorch |
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
# Three differences. `torch.func` computes the rows or columns of a Jacobian in a batch, by `vmap`; here they are computed one
# by one. `torch.func.jacfwd` does that with dual tensors, and ours with the trick of exercise 2. And `torch.autograd.gradcheck`
# prints the two matrices and no cause.
#
# ## What goes wrong
#
# **Two levels.** A dual number made of dual numbers would give second derivatives, but there is one level, here and in PyTorch:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E291"):
    with fwAD.dual_level():
        with fwAD.dual_level():
            pass

# %% [markdown]
# Put forward mode over a backward, as above. (`mg.func.jvp` may be nested, and so may `torch.func.jvp`. Here the inner one then
# takes two backwards instead of a level.)
#
# **A tangent of another shape.** A tangent says how each element moves, so it has the shape of the tensor:

# %%
with fwAD.dual_level():
    with mg.testing.expect_error(RuntimeError, code="MG-E292"):
        fwAD.make_dual(p, mg.tensor(1.0))

# %% [markdown]
# **The tangent is gone.** Here nothing is raised. At the end of the level all tensors lose their tangents: unpack them before.
# And `item()`, `numpy()` and `detach()` leave the tangent behind, as they leave the graph behind in reverse mode. (`numpy()` of
# a tensor that requires a gradient refuses. Of a dual one it does not.)

# %%
with fwAD.dual_level():
    x = fwAD.make_dual(mg.tensor(2.0), mg.tensor(1.0))
    y = x * x
    by_number = mg.tensor(x.item()) * x
    print("d(x x) =", fwAD.unpack_dual(y).tangent.item(),
          "  through item():", fwAD.unpack_dual(by_number).tangent.item())
print("after the level:", fwAD.unpack_dual(y).tangent)

# %% [markdown]
# **An output that cannot carry one.** `out=` writes into a tensor that is there already, and no rule says what becomes of its
# tangent. This one does refuse:

# %%
with fwAD.dual_level():
    x = fwAD.make_dual(p, v)
    with mg.testing.expect_error(RuntimeError, code="MG-E290"):
        mg.mul(x, 2.0, out=mg.zeros(2))

# %% [markdown]
# **gradcheck in float32.** The formula is right, and the check fails. minigrad warns beforehand, and says it again as the cause:

# %%
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    print(said(lambda x: x ** 3, mg.tensor([0.7, 2.0], requires_grad=True)))
print(str(warned[0].message).split(". ")[0])

# %% [markdown]
# **A kink.** $|x|$ has no derivative at 0. Half-way between its slopes, $-1$ and $1$, lies 0; that is what the nudge finds, and
# what the formula says, so the check passes. relu has a formula that says 0 there, and the nudge finds $1/2$:

# %%
print(mg.autograd.gradcheck(lambda x: x.abs(), origin))
print(said(lambda x: x.relu(), origin))

# %% [markdown]
# Both verdicts are about a point where there is no derivative; neither says anything about the formula elsewhere. More:
# {doc}`/errors/gradcheck-float32`.
#
# ## Exercises
#
# Each has a check that runs. Solutions are folded away below it.
#
# **1. More dual numbers.** Write a class `More`, derived from `Dual`, with `__truediv__`, `exp` and `__pow__` for a whole
# number. Mind that its results have to be of class `More` too, also those of `*`.

# %%
class More(Dual):
    """Your lines go here."""


# %%
def check_more(cls):
    """Compare with nudging, at x = 1.3 and y = 0.7, along (1, 2)."""
    def program(x, y, exp):
        return (exp(x * y) / y) ** 3 / x

    def at(s):
        return program(1.3 + s, 0.7 + 2 * s, math.exp)

    z = program(cls(1.3, 1.0), cls(0.7, 2.0), lambda x: x.exp())
    nudged = (at(1e-6) - at(-1e-6)) / 2e-6
    assert abs(z.value - at(0.0)) < 1e-9, f"value {z.value} instead of {at(0.0)}"
    assert abs(z.tangent - nudged) < 1e-4, f"tangent {z.tangent} instead of {nudged}"
    print("right")


# %% tags=["hide-cell"]
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
# **2. Forward by two backwards.** Write `push(f, x, v)`, which gives $J v$ with no dual tensor: a vjp for some weight $u$ that
# requires a gradient, then a derivative by $u$. Does it matter which $u$ you take?

# %%
def push(f, x, v):
    """Your lines go here."""


# %%
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


# %% tags=["hide-cell"]
def push_solution(f, x, v):
    x = x.detach().requires_grad_()
    y = f(x)
    u = mg.zeros_like(y, requires_grad=True)        # any: what comes is linear in u
    pulled, = mg.autograd.grad(y, x, u, create_graph=True)
    return mg.autograd.grad(pulled, u, v)[0]


check_push(push_solution)

# %% [markdown]
# **3. A band of three.** In many systems each output depends on an input and its two neighbours only, as in a wave on a string.
# Then $J$ is zero except on three diagonals, and it takes three passes forward to know it, whatever $n$ is. Write `band(f, x)`,
# which returns the whole $n \times n$ matrix. Hint: two columns that share no row can be asked for at once.

# %%
def band(f, x):
    """Your lines go here."""


# %%
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


# %% tags=["hide-cell"]
def band_solution(f, x):
    n = len(x)
    J = mg.zeros(n, n)
    for first in range(3):
        v = mg.zeros(n)
        v[first::3] = 1.0
        with fwAD.dual_level():
            moved = fwAD.unpack_dual(f(fwAD.make_dual(x, v))).tangent
        for j in range(first, n, 3):        # of rows j - 1, j, j + 1 the only column in v
            rows = slice(max(j - 1, 0), j + 2)
            J[rows, j] = moved[rows]
    return J


check_band(band_solution)

# %% [markdown]
# ## What to remember
#
# * A **dual** tensor carries a **tangent**: how it moves. Each operation moves its result; nothing is recorded.
# * Forward mode gives $J v$, a mixture of columns; reverse mode gives $u^{\mathsf T} J$, a mixture of rows. Few inputs:
#   forward. Few outputs: reverse.
# * A whole Jacobian takes a pass for each column (`jacfwd`) or for each row (`jacrev`).
# * $H v$ is forward over reverse, and never needs $H$.
# * `gradcheck` nudges. Use float64, and points where nothing is zero, equal, or at a kink. `gradgradcheck` checks the second
#   derivative.
#
# **Next:** [tutorial 16](16_two_speeds.py), how Cython makes all this fast.
