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
# # Tensors: a thousand numbers in one node
#
# **Time** 20 minutes, and as long again for the exercises. **Level** beginner. **You need** the graph and the tape of [tutorial
# 1](01_derivative_to_graph.py), and the product of two matrices. **Afterwards** you can derive the backward of any operation on
# tensors, check it, and say what a Jacobian and a vector-Jacobian product are.
#
# **The question.** Until now, each node was one number. A network has millions of numbers. What is the derivative of an operation
# that takes a whole array and returns another one, and what does its node compute?
#
# Our example is the last layer of a network that sorts things into classes:
#
# $$ Z = X W + b, \qquad L = \mathrm{cross\ entropy}(Z, \text{the right classes}). $$
#
# At the end you will have written its whole backward by hand, in three lines.

# %%
import minigrad as mg

generator = mg.manual_seed(1)

# %% [markdown]
# ## Fewer, larger nodes
#
# A **tensor** is an array of numbers with a *shape*: `[]` is a single number, `[3]` a row of three, `[4, 3]` four rows of three.
# Let us double a hundred numbers, and add up the results. First with a tensor per number, then with one tensor for all of them:

# %%
numbers = [mg.tensor(float(i), requires_grad=True) for i in range(100)]
one_by_one = sum([number * 2.0 for number in numbers])
row = mg.arange(100.0).requires_grad_()
as_a_tensor = (row * 2.0).sum()
print("the results:", one_by_one.item(), as_a_tensor.item())
print("the nodes:  ", *[len(mg.viz.draw(y).nodes) for y in (one_by_one, as_a_tensor)])

# %% [markdown]
# Three nodes instead of three hundred: a product, a sum, and the leaf. A node costs time and memory whatever its size, so we want
# few and large ones. The price: the factor of a node is no longer one number.
#
# ## The Jacobian: all factors in a table
#
# Here is an operation with three inputs and two outputs:
#
# $$ y_0 = x_0\, x_1, \qquad y_1 = x_1 + 5\, x_2 . $$
#
# For each output and each input there is a partial derivative $\partial y_i/\partial x_j$: six numbers. The table of these
# numbers is the **Jacobian** $J$, with a row per output and a column per input. minigrad can compute it:

# %%
def f(x):
    return mg.stack([x[0] * x[1], x[1] + 5 * x[2]])


x = mg.tensor([2.0, 3.0, 4.0])
J = mg.autograd.functional.jacobian(f, x)
J

# %% [markdown]
# Row 0 says: $y_0$ moves 3 times as far as $x_0$, twice as far as $x_1$, and not at all with $x_2$.
#
# **Predict.** What does the Jacobian of `x.sin()` look like, for an `x` of three numbers?
#
# <details><summary>Answer</summary>
#
# It has three rows and three columns. Each output depends only on the input at the same place, so only the diagonal is not 0, and
# there is $\cos x_i$. Every operation that works element by element has a diagonal Jacobian.
#
# </details>

# %%
mg.autograd.functional.jacobian(mg.sin, x)

# %% [markdown]
# A Jacobian is rarely something that you can store. Take a layer with 1,000 inputs and 1,000 outputs, and a batch of 64 examples:

# %%
outputs = inputs = 64 * 1000
print(f"{outputs * inputs:,} numbers, {outputs * inputs * 4 / 1e9:.0f} GB in float32")

# %% [markdown]
# Almost all of these numbers are 0. We do not want this table. Do we need it?
#
# ## The vector-Jacobian product
#
# A backward never asks for the whole table. It arrives at the node with an adjoint for *each output*: a tensor $g$ of the shape of
# $y$, where $g_i = \partial L/\partial y_i$. It wants an adjoint for each input. The two rules of [tutorial
# 0](00_derivative_machine.py) say how: from $x_j$ a path leads through every output $y_i$. *Along a path, multiply; where paths
# meet, add*:
#
# $$ \bar x_j = \sum_i g_i\, \frac{\partial y_i}{\partial x_j}, \qquad\text{in short}\quad \bar x = g\,J . $$
#
# A row of numbers times a matrix: this is the **vector-Jacobian product**, the **vjp**. All of reverse mode consists of them.

# %%
g = mg.tensor([1.0, 10.0])
print("with the table:", (g @ J).tolist())
leaf = x.clone().requires_grad_()
f(leaf).backward(g)
print("by a backward: ", leaf.grad.tolist())

# %% [markdown]
# The two agree, but the backward has never made the table. For each operation there is a short formula for the *product*. For the
# sine it is `g * x.cos()`: three multiplications instead of a matrix with nine entries. A node stores no Jacobian. It stores the
# tensors that this formula needs.
#
# So an operation needs two functions, one forward, and its vjp. To write a vjp, ask for each input element: *along which paths does
# it reach the outputs?* We do this now for the operations of our layer. Two helpers first. The first one is the **tape** of
# tutorial 1, where a local derivative was a number. The only change: it is a function now, the vjp.

# %%
tape = []       # of (result, ((input, vjp), ...)), oldest first


class Var:
    """A tensor that leaves a trace."""

    def __init__(self, value):
        self.value, self.grad = value, mg.zeros_like(value)


def record(value, *inputs):
    result = Var(value)
    tape.append((result, inputs))
    return result


def backward(y):
    y.grad = mg.ones_like(y.value)
    for result, inputs in reversed(tape):
        for x, vjp in inputs:
            x.grad = x.grad + vjp(result.grad)


x = Var(mg.tensor([2.0, 3.0, 4.0]))
s = record(x.value.sin(), (x, lambda g: g * x.value.cos()))
y = record(s.value.sum(), (s, lambda g: g.expand(3)))
backward(y)
print(x.grad, x.value.cos())

# %% [markdown]
# The second helper checks a vjp. `mg.autograd.gradcheck` moves each input element by a small step, computes the whole Jacobian in
# this way, and compares it with the one that the vjp gives. Use it with small tensors, and with float64, which has enough digits.
# (The class puts a forward and a vjp into minigrad's graph: [tutorial 14](14_function.py).)

# %%
def check(forward, vjp, *inputs):
    """Whether `vjp(g, *inputs)` returns the gradients of all inputs of `forward`."""
    class ByHand(mg.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return vjp(g, *ctx.saved_tensors)

    return mg.autograd.gradcheck(ByHand.apply, inputs)


def some(*shape):
    """Random numbers to check with."""
    return mg.randn(*shape, dtype=mg.float64, requires_grad=True)


print(check(mg.sin, lambda g, x: g * x.cos(), some(3)))

# %% [markdown]
# ## A sum
#
# $y = \sum_j x_j$. Each element reaches the result along one path, with the factor 1. So each gets the whole adjoint of the sum:
# the backward of a sum *copies* one number to all elements. If the sum runs over one axis only, each element gets the adjoint of
# the sum that it is part of:

# %%
print(check(mg.sum, lambda g, x: g.expand(x.shape), some(4, 3)))
print(check(lambda x: x.sum(0), lambda g, x: g.expand(4, 3), some(4, 3)))
print(check(lambda x: x.sum(1), lambda g, x: g.unsqueeze(1).expand(4, 3), some(4, 3)))

# %% [markdown]
# `g.expand(4, 3)` repeats rows without copying them. In the last line, `g` has a number per row, so it must become a column first:
# `unsqueeze(1)` makes the shape `[4, 1]`.
#
# ## Broadcasting
#
# The bias $b$ is a row of three numbers, and is added to *every* row of a matrix:

# %%
Z = mg.zeros(4, 3)
b = mg.tensor([1.0, 2.0, 3.0])
Z + b

# %% [markdown]
# This is **broadcasting**. Shapes are compared from the right. In each dimension the sizes must be equal, or one of them is 1 or
# missing: then it is repeated. So `[4, 3]` and `[3]` go together, also `[4, 3]` and `[4, 1]`, but not `[4, 3]` and `[4]`.
#
# Now the backward. An adjoint of shape `[4, 3]` arrives, but the gradient of `b` must have the shape of `b`, `[3]`.
#
# **Predict.** Which axis disappears, and how: by a sum, by a mean, or by taking the first row?
#
# <details><summary>Answer</summary>
#
# By a sum. $b_0$ was used in four places, once in each row: four paths, and where paths meet we add. So the backward of
# broadcasting is **the sum over the axes that were repeated**. It is the mirror image of the sum, whose backward is a broadcast.
#
# </details>

# %%
print(check(mg.add, lambda g, Z, b: (g, g.sum(0)), some(4, 3), some(3)))
print(check(mg.mul, lambda g, Z, c: (g * c, (g * Z).sum(1, keepdim=True)),
            some(4, 3), some(4, 1)))

# %% [markdown]
# ![A row of three numbers is repeated as four rows, forward. Backward, the four rows of the gradient are summed, column by
# column, to a row of three.](pictures/broadcasting.svg)
#
# In the second line a column was repeated along axis 1, so the sum runs over axis 1. `keepdim=True` keeps it as an axis of size 1.
# First the formula of the product, as if nothing had been repeated; then the sum.
#
# ### Deeper: where this sum is
#
# In minigrad no formula says so. The rule of a product returns `g * c` in the wide shape, and the engine sums it to the shape of
# the input, with a function that finds the repeated axes itself:

# %%
print(mg.sum_to(mg.ones(4, 3), (3,)), mg.sum_to(mg.ones(4, 3), (4, 1)).tolist())

# %% [markdown]
# ## A product of matrices
#
# $Z = X\,W$, with $X$ of shape `[n, k]` and $W$ of shape `[k, m]`. One element is $Z_{ij} = \sum_l X_{il} W_{lj}$. Where is
# $X_{il}$ used? In every element of row $i$ of $Z$: in $Z_{ij}$ with the factor $W_{lj}$. Add over these paths:
#
# $$ \bar X_{il} = \sum_j g_{ij}\, W_{lj}, \qquad\text{in short}\quad \bar X = g\,W^{\mathsf T},
# \qquad\text{and in the same way}\quad \bar W = X^{\mathsf T} g . $$
#
# You need not remember this. $\bar X$ must have the shape of $X$, `[n, k]`. From $g$, `[n, m]`, and $W$, `[k, m]`, there is only
# one product with this shape. (`W.mT` is $W^{\mathsf T}$, the matrix with rows and columns exchanged.)

# %%
print(check(mg.matmul, lambda g, X, W: (g @ W.mT, X.mT @ g), some(4, 2), some(2, 3)))

# %% [markdown]
# ## Softmax
#
# The layer computes a number per class, a *score* or *logit*. **Softmax** turns the scores into probabilities, which are positive
# and have the sum 1: $p_i = e^{z_i} / \sum_k e^{z_k}$. A large score would overflow: $e^{1000}$ is not a float. So subtract the
# largest score of the row first. This multiplies the numerator and the denominator by the same factor, and changes nothing else.

# %%
def softmax(z):
    e = (z - z.amax(1, keepdim=True)).exp()
    return e / e.sum(1, keepdim=True)


softmax(mg.tensor([[1.0, 2.0, 3.0], [1000.0, 0.0, 0.0]]))

# %% [markdown]
# Each score is in every probability of its row, because it is in the denominator. So the Jacobian of a row is full:
#
# $$ \frac{\partial p_i}{\partial z_j} = p_i\,(\delta_{ij} - p_j), \qquad \delta_{ij} = 1 \text{ if } i = j, \text{ otherwise } 0. $$
#
# The vjp does not need it as a table. Multiply by $g_i$ and add over $i$:
#
# $$ \bar z_j = \sum_i g_i\, p_i\,(\delta_{ij} - p_j) = p_j\,\Bigl(g_j - \sum_i g_i\, p_i\Bigr). $$

# %%
def softmax_vjp(g, z):
    p = softmax(z)
    return p * (g - (g * p).sum(1, keepdim=True))


print(check(softmax, softmax_vjp, some(4, 3)))

# %% [markdown]
# <details><summary>Deeper: where the formula of the Jacobian comes from</summary>
#
# Write $s = \sum_k e^{z_k}$, so $p_i = e^{z_i}/s$. The score $z_j$ reaches $p_i$ by two paths. Through the denominator: $\partial
# s/\partial z_j = e^{z_j}$ and $\partial p_i/\partial s = -e^{z_i}/s^2$, together $-p_i\,p_j$. Through the numerator, only if
# $i = j$: $e^{z_i}/s = p_i$. Add both.
#
# </details>
#
# ## Cross-entropy
#
# For each example we know the right class. The **cross-entropy** is $-\log p$ of the right class, as a mean over the examples. It
# is 0 if the right class has probability 1, and large if its probability is small. With $p_t = e^{z_t}/s$ it is
#
# $$ L = -\log p_t = \log s - z_t . $$
#
# Both parts are easy to differentiate: $\log s$ gives $e^{z_j}/s = p_j$, and $-z_t$ gives $-1$ for the right class. So the
# gradient is *what the network says, minus what is right*: $\bar z_j = p_j - \delta_{jt}$. Divide by the number of examples, for
# the mean.

# %%
classes = mg.tensor([2, 0, 1, 2])       # the right class of each of four examples
right = mg.nn.functional.one_hot(classes, 3).double()


def cross_entropy(z):
    largest = z.amax(1, keepdim=True)
    log_s = (z - largest).exp().sum(1).log() + largest.squeeze(1)
    return (log_s - (z * right).sum(1)).mean()


def cross_entropy_vjp(g, z):
    return g * (softmax(z) - right) / len(z)


print(check(cross_entropy, cross_entropy_vjp, some(4, 3)))

# %% [markdown]
# ## The whole layer
#
# Now put the parts together. Two lines forward, three lines backward, in the reverse order:

# %%
X, W, b = some(4, 2), some(2, 3), some(3)

with mg.no_grad():          # we do not need the machine here
    Z = X @ W + b
    loss = cross_entropy(Z)
    Z_ = cross_entropy_vjp(1.0, Z)
    b_ = Z_.sum(0)
    W_ = X.mT @ Z_

mg.nn.functional.cross_entropy(X @ W + b, classes).backward()
same = mg.allclose(W_, W.grad) and mg.allclose(b_, b.grad)
assert same
print("the same as minigrad's:", same)

# %% [markdown]
# ## Step by step
#
# The same with a smaller layer, in minigrad's engine. Look at the shapes of what arrives. Where is the gradient of the bias summed?

# %%
X = mg.tensor([[1.0, 2.0], [3.0, -1.0]])
W = mg.tensor([[0.5, -0.5], [0.0, 1.0]], requires_grad=True)
b = mg.tensor([0.0, 1.0], requires_grad=True)
with mg.debug.record(W=W, b=b) as r:
    loss = mg.nn.functional.cross_entropy(X @ W + b, mg.tensor([1, 0]))
    loss.backward()
mg.viz.step(r)

# %% [markdown]
# ### Deeper: as a table
#
# The line of the bias, the first AccumulateGrad, says that its gradient came in the shape `[2, 2]`:

# %%
for event in r.events:
    if event.kind == "receive":
        print(f"{event.op:<19} {event.what}   {event.why}")

# %% [markdown]
# ## The source
#
# The rule of a product of matrices. `by_columns` is about the order of the numbers in memory; the formulas are ours.

# %%
mg.utils.source.source_of("ops/linalg/matrix.py", "gradient_of_first")

# %%
mg.utils.source.source_of("ops/linalg/matrix.py", "gradient_of_second")

# %% [markdown]
# And the rule of softmax, with the formula that we derived:

# %%
mg.utils.source.source_of("ops/nn/softmax.py", "Softmax")

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# >>> import torch
# >>> W = torch.tensor([[0.5, -0.5], [0.0, 1.0]], requires_grad=True)
# >>> b = torch.tensor([0.0, 1.0], requires_grad=True)
# >>> X = torch.tensor([[1.0, 2.0], [3.0, -1.0]])
# >>> Z = X @ W + b
# >>> torch.nn.functional.cross_entropy(Z, torch.tensor([1, 0])).backward()
# >>> p = Z.detach().softmax(1)
# >>> Z_ = (p - torch.tensor([[0.0, 1.0], [1.0, 0.0]])) / 2
# >>> torch.allclose(W.grad, X.mT @ Z_), torch.allclose(b.grad, Z_.sum(0))
# (True, True)
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | | minigrad | PyTorch |
# |---|---|---|
# | the formulas | `vjp_x` and `vjp_y` of a rule, in `minigrad/ops/` | [`derivatives.yaml`](https://github.com/pytorch/pytorch/blob/v2.13.0/tools/autograd/derivatives.yaml) |
# | the sum over repeated axes | `sum_to`, called by the engine | [`ExpandUtils.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/aten/src/ATen/ExpandUtils.h), `sum_to` |
# | the whole table | `mg.autograd.functional.jacobian` | `torch.autograd.functional.jacobian` |
#
# ## What goes wrong
#
# **The shapes do not go together.** This is the good case, since you get a message:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E204"):
    mg.zeros(4, 3) + mg.zeros(4)

# %% [markdown]
# **The shapes do go together, but should not.** This is the bad case. Results of a network often have the shape
# `[4, 1]`, and targets the shape `[4]`. Broadcasting makes a table of all pairs, without a message. The loss is wrong, and the
# training does not work:

# %%
results, targets = mg.tensor([[1.0], [2.0], [3.0], [4.0]]), mg.tensor([1.0, 2.0, 3.0, 4.0])
for differences in (results - targets, results.squeeze(1) - targets):
    print("the shape:", list(differences.shape), "  the loss:", differences.square().mean())

# %% [markdown]
# ### Deeper: two more cases
#
# **A path is forgotten.** Here is the vjp of softmax without the denominator. Only the diagonal of the Jacobian is left. gradcheck
# finds it, and shows both tables:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E260"):
    check(softmax, lambda g, z: g * softmax(z), mg.zeros(1, 3).double().requires_grad_())

# %% [markdown]
# **gradcheck in float32.** It has too few digits for small steps, so a right formula can fail:
# {doc}`/errors/gradcheck-float32`. More about shapes: {doc}`/errors/shapes`.
#
# ## Exercises
#
# Each exercise has a check. Write your answer, then call the check with it, as in `check_gradients(predicted)`. The solutions are
# folded below.
#
# **1. Predict.** `v` is `[1, 2, 3]`. Write down the gradient of `v` for each program, as a list of three numbers.

# %%
PROGRAMS = ["v.sum()", "(v * 6).mean()", "(v + mg.ones(4, 3)).sum()", "(v * v).sum()",
            "(v.unsqueeze(1) + v).sum()"]
predicted = [None, None, None, None, None]      # your lists go here


# %%
@mg.testing.exercise(1)
def check_gradients(predicted):
    assert len(predicted) == len(PROGRAMS), "five lists, one for each program"
    for text, told in zip(PROGRAMS, predicted):
        v = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
        eval(text, {"mg": mg, "v": v}).backward()
        shown = told and [float(number) for number in told]
        assert shown == v.grad.tolist(), f"{text}: not {shown}. Count the paths"
    print("right")


# %% tags=["help"]
check_gradients.hints = [
    "The gradient has three numbers, as `v` has. Each says how much the result moves if this "
    "element moves.",
    "For each element, count its paths to the result. Each path gives the product of its "
    "slopes, and the paths are added.",
    "Broadcasting puts an element into several places, and each place is a path. `mean` gives "
    "each of its elements the slope `1 / n`."]
check_gradients.wrong = {
    "v.sum(): not [1.0, 2.0, 3.0]":
        "These are the numbers of `v`. If one of them grows by 1, so does the sum.",
    "(v * 6).mean(): not [6.0, 6.0, 6.0]": "A mean divides by the number of elements.",
    "(v + mg.ones(4, 3)).sum(): not [1.0, 1.0, 1.0]":
        "Broadcasting repeats `v` in each of the four rows.",
    "(v * v).sum(): not [1.0, 2.0, 3.0]": "You took one path. `v` is used twice in the product.",
    "(v * v).sum(): not [1.0, 4.0, 9.0]": "These are the values of `v * v`, and not its slopes.",
    "(v.unsqueeze(1) + v).sum(): not [3.0, 3.0, 3.0]": "You counted one of the two uses of `v`.",
    "(v.unsqueeze(1) + v).sum(): not [2.0, 2.0, 2.0]":
        "There are two uses, and broadcasting repeats each of them three times."}


# %% tags=["hide-cell", "solution"]
check_gradients([[1.0, 1.0, 1.0],       # a sum copies
                 [2.0, 2.0, 2.0],       # 6, divided by the number of elements
                 [4.0, 4.0, 4.0],       # each element is in four rows
                 [2.0, 4.0, 6.0],       # two paths: v + v
                 [6.0, 6.0, 6.0]])      # each is in three places of a row, and of a column

# %% [markdown]
# **2. The outer product.** `a` has the shape `[n]`, `b` the shape `[m]`, and $y_{ij} = a_i\, b_j$. Write `outer_vjp(g, a, b)`: it
# returns the gradients of `a` and of `b`. Use a product of a matrix and a vector, and no loop.

# %%
def outer_vjp(g, a, b):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_outer(outer_vjp):
    a, b, g = some(3), some(4), some(3, 4).detach()
    wanted = mg.autograd.grad(mg.outer(a, b), (a, b), g)
    found = outer_vjp(g, a.detach(), b.detach())
    for name, told, right in zip("ab", found, wanted):
        assert told.shape == right.shape, f"{name}: the shape is {list(told.shape)}"
        assert mg.allclose(told, right), f"{name}: {told.tolist()}, not {right.tolist()}"
    assert check(mg.outer, outer_vjp, a, b)
    print("right")


# %% tags=["help"]
check_outer.hints = [
    "Which elements of `y` does `a_0` move? What is the slope of each?",
    "The gradient of `a_i` is a sum over `j` of `g_ij` times `b_j`. Which product of a matrix "
    "and a vector computes such sums?",
    "For `a`, the columns of `g` meet the elements of `b`. For `b`, the rows of `g` meet the "
    "elements of `a`: there you need the transpose, `g.mT`."]
check_outer.wrong = {
    "a: the shape is [4]":
        "A gradient has the shape of its tensor. You returned the gradient of `b` first.",
    "a: the shape is [3, 4]":
        "These are the contributions. Each `a_i` is used in a whole row, so add them along the "
        "row.",
    "MG-E209":
        "Compare the shapes: `g` has a row for each element of `a`, and a column for each "
        "element of `b`."}


# %% tags=["hide-cell", "solution"]
def outer_vjp_solution(g, a, b):
    return g @ b, g.mT @ a      # a_i is in row i, each time with a factor b_j


check_outer(outer_vjp_solution)

# %% [markdown]
# **3. Rows that sum to 1.** The function $y_{ij} = x_{ij} / s_i$ with $s_i = \sum_k x_{ik}$ divides each row by its sum. Write
# `shares_vjp(g, x)`: it returns the gradient of `x`. Do not build a Jacobian: a row of a million numbers must work. Hint: there are
# two paths, as in softmax.

# %%
def shares(x):
    return x / x.sum(1, keepdim=True)


def shares_vjp(g, x):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3, hint="A Jacobian of a million numbers has 10^12 entries.")
def check_shares(shares_vjp):
    numbers = [[1.0, 2.0, 1.0], [1.0, 3.0, 4.0]]
    x = mg.tensor(numbers, dtype=mg.float64, requires_grad=True)
    g = mg.tensor([[1.0, 0.0, 2.0], [0.0, 5.0, -1.0]], dtype=mg.float64)
    (wanted,) = mg.autograd.grad(shares(x), x, g)
    told = shares_vjp(g, x.detach())
    assert told.shape == x.shape, f"the shape is {list(told.shape)}, not {list(x.shape)}"
    assert mg.allclose(told, wanted), f"{told.tolist()} instead of {wanted.tolist()}"
    assert check(shares, shares_vjp, x)
    long = mg.ones(1, 1_000_000)
    assert shares_vjp(long, long).abs().max() < 1e-6, "a common factor changes no share"
    print("right")


# %% tags=["help"]
check_shares.hints = [
    "`x_ij` moves its own share directly. It also moves the sum of its row, and with it all "
    "shares of the row.",
    "The first path has the slope `1 / s`. On the second, `s` has the slope `-x_ik / s**2` for "
    "each share of the row, so add over the row.",
    "Both paths have a factor `1 / s`. Take it out: what remains is `g` minus one number for "
    "each row. Keep the dimension of that sum with `keepdim=True`."]
check_shares.wrong = {
    "[[0.25, 0.0, 0.5], [0.0, 0.625, -0.125]] instead of":
        "You took one path. A number also moves the sum of its row.",
    "[[0.1875, 0.0, 0.375], [0.0, 0.390625, -0.0625]] instead of":
        "You used only the diagonal of the Jacobian. A number also moves the other shares of "
        "its row.",
    "[[-0.5, -0.75, -0.25], [-1.375, -0.75, -1.5]] instead of":
        "A factor `1 / s` is missing on the path through the sum: its slope has `s` squared.",
    "[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]] instead of":
        "You did not use `g`. The shares of a row always add up to 1, so a gradient of ones "
        "gives zeros.",
    "MG-E204":
        "A sum over a row loses its dimension. Use `keepdim=True`, so that it is aligned with "
        "the rows."}


# %% tags=["hide-cell", "solution"]
def shares_vjp_solution(g, x):
    s = x.sum(1, keepdim=True)
    return (g - (g * x / s).sum(1, keepdim=True)) / s


check_shares(shares_vjp_solution)

# %% [markdown]
# ## What to remember
#
# * A **tensor** is an array with a place in the graph. A node computes a whole tensor.
# * The **Jacobian** has the factor from each input element to each output element. It is too large to be stored.
# * A node computes a **vector-Jacobian product** (vjp): $\bar x = g\,J$, by a short formula. To find it, add over the paths.
# * The backward of a sum is a broadcast. The backward of **broadcasting** is a sum over the repeated axes.
# * $Z = X W$: $\bar X = g W^{\mathsf T}$, $\bar W = X^{\mathsf T} g$. The gradient of a tensor has the shape of the tensor.
# * Cross-entropy of softmax: what the network says, minus what is right.
# * Check each formula with **gradcheck**, in float64.
#
# **Next:** [the engine](02_the_engine.py): in which order do the nodes run?
