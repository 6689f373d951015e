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
# # From a derivative to a graph
#
# **The question.** A program computes a number from other numbers. How does it find out how that number changes with each
# of them, without being told a single formula for the whole?
#
# You need: derivatives of one variable, the chain rule, a little Python. You get: a working reverse-mode differentiator of
# twenty-one lines, and then the three words in which PyTorch and minigrad think: *node*, *edge*, *graph*.
#
# Our example all the way down is
#
# $$ y = \sin(a\,b) + a \qquad\text{at } a = 2,\ b = 3. $$

# %%
import math

import minigrad as mg


def f(a, b):
    return math.sin(a * b) + a


f(2.0, 3.0)

# %% [markdown]
# Note that $a$ is used twice: in the product, and in the sum. Most of what is interesting below happens because of that.
#
# ## Nudging
#
# A derivative is a ratio of small changes, so the first idea is to make a small change and look.

# %%
h = 1e-6
nudged_a = (f(2.0 + h, 3.0) - f(2.0, 3.0)) / h
nudged_b = (f(2.0, 3.0 + h) - f(2.0, 3.0)) / h
print(f"dy/da = {nudged_a:.6f}   dy/db = {nudged_b:.6f}")

# %% [markdown]
# It works, and it has two faults.
#
# *It is slow.* Each input costs one more run of the program. A network with a million parameters would run a million times
# for one gradient.
#
# *It is not exact.* With a large $h$ the function bends between the two points. With a small one the two values agree in most of
# their digits, and the subtraction throws those away. There is a best $h$ in between, and even that leaves an error:

# %%
exact = 3 * math.cos(6) + 1
for exponent in (1, 4, 8, 12, 15):
    h = 10.0 ** -exponent
    error = abs((f(2.0 + h, 3.0) - f(2.0, 3.0)) / h - exact)
    print(f"h = 1e-{exponent:<2}   error {error:.0e}")

# %% [markdown]
# (Nudging is still the best way to *check* a derivative. `mg.autograd.gradcheck` does it, more carefully than we did: [tutorial
# 15](15_forward_mode.py).)
#
# ## One step at a time
#
# Where did `exact` come from? From the chain rule. Give every intermediate result a name:
#
# $$ u = a\,b, \qquad s = \sin u, \qquad y = s + a. $$
#
# Each line has a derivative that a table of formulas knows. They are called *local*: they speak of one step only.
#
# | step | local derivatives | at our numbers |
# |---|---|---|
# | $u = a\,b$ | $\partial u/\partial a = b, \quad \partial u/\partial b = a$ | 3, 2 |
# | $s = \sin u$ | $\mathrm ds/\mathrm du = \cos u$ | $\cos 6 = 0.96$ |
# | $y = s + a$ | $\partial y/\partial s = 1, \quad \partial y/\partial a = 1$ | 1, 1 |
#
# Now go through the table from the last line to the first, and ask of each name: how does $y$ change with it? Write $\bar u$ for
# $\partial y/\partial u$, and so on.
#
# $$ \bar y = 1, \qquad \bar s = 1 \cdot \bar y, \qquad \bar u = \cos u \cdot \bar s, \qquad \bar b = a \cdot \bar u, $$
#
# $$ \bar a = \underbrace{1 \cdot \bar y}_{\text{through the sum}} + \underbrace{b \cdot \bar u}_{\text{through the product}}. $$
#
# Three things are worth a second look.
#
# 1. One walk gives *all* derivatives. A million inputs would need no second one.
# 2. Each step multiplies what arrives by a local derivative, and passes the product on.
# 3. Where a name was used twice, two contributions arrive, and they are **added**.

# %%
u = 2.0 * 3.0
y_ = 1.0
s_ = 1.0 * y_
u_ = math.cos(u) * s_
b_ = 2.0 * u_
a_ = 1.0 * y_ + 3.0 * u_
print(f"dy/da = {a_:.6f}   dy/db = {b_:.6f}   off by {abs(a_ - exact):.0e}")

# %% [markdown]
# ## A tape
#
# We did this by hand. For a program to do it, it needs two things: the steps in order, and the local derivatives. Both are known
# while the steps are taken. So let every operation write down what it did, on a list that grows: a *tape*.

# %%
tape = []       # of (result, ((input, local derivative), ...)), oldest first


class Var:
    """A number that leaves a trace."""

    def __init__(self, value):
        self.value, self.grad = value, 0.0

    def __add__(self, other):
        return record(self.value + other.value, (self, 1.0), (other, 1.0))

    def __mul__(self, other):
        x, y = self.value, other.value
        return record(x * y, (self, y), (other, x))

    def sin(self):
        return record(math.sin(self.value), (self, math.cos(self.value)))


def record(value, *inputs):
    result = Var(value)
    tape.append((result, inputs))
    return result


def backward(y):
    y.grad = 1.0
    for result, inputs in reversed(tape):
        for x, local in inputs:
            x.grad += local * result.grad


# %% [markdown]
# That is all of reverse-mode automatic differentiation. Run the program on such numbers, and play the tape backwards:

# %%
a, b = Var(2.0), Var(3.0)
y = (a * b).sin() + a
backward(y)
print(f"dy/da = {a.grad:.6f}   dy/db = {b.grad:.6f}")

# %%
for result, inputs in tape:
    parts = [f"{x.value:.4f} (slope {local:.4f})" for x, local in inputs]
    print(f"{result.value:8.4f}   made of", *parts)

# %% [markdown]
# Look at `+=` in `backward`: it is the rule that contributions are added. Look at `reversed`: a result is only used after it was
# made, so when the walk reaches it, everything that used it has been visited already, and its `grad` is complete.
#
# ## From a tape to a graph
#
# A tape has one owner and one order. That becomes a burden:
#
# * It never forgets. Results that nobody will differentiate stay on it, with all that they refer to.
# * `backward(y)` walks over everything, also over what has nothing to do with `y`.
# * Two computations that run at once would write between each other's lines.
#
# The remedy is to cut the tape up, and to give each piece to the result that it belongs to. A piece is then a **node**. What it
# says about its inputs, it says by pointing to *their* pieces: those pointers are **edges**. When the last reference to a result is
# gone, its node goes too. There is no list any more. There is a **graph**, and `y` holds the end of it.
#
# This is what minigrad builds, and PyTorch. The program stays as it was:

# %%
a = mg.tensor(2.0, requires_grad=True)
b = mg.tensor(3.0, requires_grad=True)
y = (a * b).sin() + a
y

# %% [markdown]
# `requires_grad=True` says: this is one of the numbers that I want a derivative for. Such a tensor is a **leaf**. Whatever
# is computed from a leaf gets a node, its `grad_fn`:

# %%
print(y.grad_fn.name())
for node, number in y.grad_fn.next_functions:
    print("   ->", node.name(), number)

# %% [markdown]
# The last operation was the sum, so `y` holds an `AddBackward0`. It had two inputs, so it has two edges, in the same order. One
# leads to the node of the sine. The other leads to $a$. A leaf was not computed, so it has no such node; in its place stands an
# `AccumulateGrad`, whose work is to add what arrives to `a.grad` ([tutorial 3](03_leaves.py)).
#
# Here is the whole graph. A box is an operation, with the type and the shape of its result (`[]` is a single number) and with what
# it has saved for the way back. What is round is a leaf:

# %%
mg.viz.draw(y)

# %% [markdown]
# **Predict.** How many nodes does the graph of `a * a + a` have? How many edges?
#
# <details><summary>Answer</summary>
#
# Three nodes, `AddBackward0`, `MulBackward0` and one `AccumulateGrad`, and four edges. Both edges of the product lead to the
# same node: there is one per leaf, however often the leaf is used.
#
# </details>

# %%
z = a * a + a
product = z.grad_fn.next_functions[0][0]
print([node.name() for node, _ in product.next_functions])
print(product.next_functions[0][0] is product.next_functions[1][0])

# %% [markdown]
# ### What an edge is
#
# An edge is a pair: a node, and a number. The number says *which output* of that node's operation was the input here. Nearly always
# it is 0, because nearly all operations have one output. `unbind` has several:

# %%
first, second = mg.tensor([5.0, 7.0], requires_grad=True).unbind()
for node, number in (first * second).grad_fn.next_functions:
    print("   ->", node.name(), number)

# %% [markdown]
# And where no derivative is wanted, there is no node to lead to:

# %%
(a * 10.0).grad_fn.next_functions[1]

# %% [markdown]
# ### What a node holds
#
# Our tape held numbers: the local derivatives. A node holds the *values that its formula needs*, and the formula belongs to its
# kind. For a product these values are the two factors, for a sine it is the angle:

# %%
sine = y.grad_fn.next_functions[0][0]
product = sine.next_functions[0][0]
print("sine:   ", sine._saved_self)
print("product:", product._saved_self, product._saved_other)

# %% [markdown]
# Why not the local derivative itself? Because it need not be a number. For tensors it is a matrix, often a huge one that is nearly
# all zeros, while the formula needs only a product with it: $\bar u = \bar s \cdot \cos u$, element by element. And a formula that
# is run later can be differentiated itself: [tutorial 5](05_double_backward.py). (What each operation keeps, and why: [tutorial
# 7](07_saved_tensors.py).)
#
# ### What became of the order
#
# The tape knew which step came last. So does the graph: nodes are numbered as they are made.

# %%
for node in (product, sine, y.grad_fn):
    print(node.name(), node._sequence_nr() - product._sequence_nr())

# %% [markdown]
# ## The walk, by hand
#
# Now we have all that `backward` needs. Here it is, on minigrad's own graph, with a table of three formulas. Of the nodes that
# something has reached, it always takes the one that was made last. (The walk computes with tensors, too. `no_grad()` keeps it from
# being recorded: [tutorial 6](06_grad_modes.py).)

# %%
FORMULAS = {
    "AddBackward0": lambda node, g: (g, g),
    "MulBackward0": lambda node, g: (g * node._saved_other, g * node._saved_self),
    "SinBackward0": lambda node, g: (g * node._saved_self.cos(),),
}


def walk(y):
    arrived = {y.grad_fn: 1.0}      # node -> the sum of what has reached it
    leaves = {}
    while arrived:
        node = max(arrived, key=lambda n: n._sequence_nr())
        passed_on = FORMULAS[node.name()](node, arrived.pop(node))
        for (following, _), g in zip(node.next_functions, passed_on):
            if following is None:
                continue
            at_leaf = following.name() == "AccumulateGrad"
            there = leaves if at_leaf else arrived
            there[following] = there.get(following, 0.0) + g
    return {leaf.variable: float(g) for leaf, g in leaves.items()}


with mg.no_grad():
    by_hand = walk(y)
print(f"dy/da = {by_hand[a]:.6f}   dy/db = {by_hand[b]:.6f}")

# %% [markdown]
# And what minigrad says:

# %%
y.backward()
print(f"dy/da = {a.grad.item():.6f}   dy/db = {b.grad.item():.6f}")

# %% [markdown]
# The two agree.
#
# ## Step by step
#
# `mg.debug.record` notes what the real engine does. Step through it: first the program makes the nodes, then the backward runs
# them. Watch the two contributions to $a$: which comes first, and when does the leaf get its gradient?

# %%
a.grad = b.grad = None
with mg.debug.record() as r:
    y = (a * b).sin() + a
    y.backward()
mg.viz.step(r)

# %% [markdown]
# The same as a table, for the events in which a gradient moves:

# %%
for event in r.events:
    if event.kind in ("receive", "compute", "accumulate"):
        print(f"{event.kind:<10}  {event.node} {event.op:<15}  {event.what}")

# %% [markdown]
# The engine differs from our walk in one point. It *waits* at a leaf, as at every node, until all that will arrive has arrived: it
# has counted the edges beforehand. [Tutorial 2](02_the_engine.py) is about why.
#
# ## The source
#
# minigrad is written to be read. This is how a node gets its edges when an operation runs. The first two have fields of their own,
# since few operations have more inputs; and the input numbers are left out while all of them are 0.

# %%
mg.utils.source.source_of("_core/graph/node.py", "Node.connect")

# %% [markdown]
# The pairs that we looked at are made when somebody asks for them:

# %%
mg.utils.source.source_of("_core/graph/node.py", "Node.next_functions")

# %% [markdown]
# And this is the rule for a product, with both formulas. The letters are those of our table: `g` is what arrives. (`conj` does
# nothing to real numbers.)

# %%
mg.utils.source.source_of("ops/elementwise/arithmetic.py", "Mul")

# %% [markdown]
# ## The same in PyTorch
#
# Write `torch` for `mg`, and everything above this line that asks for `grad_fn`, `next_functions`, `_saved_self` or `_sequence_nr`
# gives the same answers:
#
# ```python
# >>> import torch
# >>> a = torch.tensor(2.0, requires_grad=True)
# >>> b = torch.tensor(3.0, requires_grad=True)
# >>> y = (a * b).sin() + a
# >>> [(node.name(), number) for node, number in y.grad_fn.next_functions]
# [('SinBackward0', 0), ('torch::autograd::AccumulateGrad', 0)]
# >>> product = y.grad_fn.next_functions[0][0].next_functions[0][0]
# >>> product._saved_self, product._saved_other
# (tensor(2., requires_grad=True), tensor(3., requires_grad=True))
# >>> y.backward()
# >>> a.grad, b.grad
# (tensor(3.8805), tensor(1.9203))
#
# ```
#
# | | minigrad | PyTorch |
# |---|---|---|
# | a node | `minigrad/_core/graph/node.py`, `Node` | [`node.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/node.h), `struct Node` |
# | an edge | a pair in `next_functions` | [`edge.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/edge.h), `struct Edge` |
# | the end of an edge at a leaf | `minigrad/_core/graph/accumulate_grad.py` | [`accumulate_grad.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/functions/accumulate_grad.h) |
# | the formula of a product | `minigrad/ops/elementwise/arithmetic.py`, `Mul` | [`derivatives.yaml`](https://github.com/pytorch/pytorch/blob/v2.13.0/tools/autograd/derivatives.yaml), `name: mul.Tensor`, from which C++ is generated |
#
# The names of some nodes carry a namespace in PyTorch, `torch::autograd::AccumulateGrad`; here they do not.
#
# ## What goes wrong
#
# **No leaf asked for a gradient.** Then nothing was noted down, and there is no graph to walk over:

# %%
c = mg.tensor(2.0)
y = (c * c).sin()
with mg.testing.expect_error(RuntimeError, code="MG-E110"):
    y.backward()

# %% [markdown]
# **The computation left the graph on the way.** NumPy notes nothing down, so an array cannot remember where its numbers come from.
# minigrad refuses to hand one out without being asked to forget:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E115"):
    (a * b).numpy()

# %% [markdown]
# **The computation left the graph, and nobody refused.** This is the worst of the three, since there is no error. `item()` gives a
# plain number, and the tensor that is made of it is a new leaf, at the beginning of a new graph:

# %%
a.grad = None
u = a * b
y = mg.tensor(math.sin(u.item()), requires_grad=True) + 1
y.backward()
print("the gradient of a:", a.grad)

# %% [markdown]
# If a gradient is None that should not be, draw the graph of the loss: `mg.viz.draw(loss)`. What is not in the picture is not
# connected. More about this: {doc}`/errors/grad-is-none`.
#
# ## Exercises
#
# Each has a check that runs: fill in what is missing, then call the check with it, as in `check_nodes(predicted)`. Solutions are
# folded away below.
#
# **1. Predict.** How many nodes does the graph of each of these have? Those of leaves count. Write the numbers down before you run
# anything.

# %%
a, b = mg.tensor(2.0, requires_grad=True), mg.tensor(3.0, requires_grad=True)
PROGRAMS = ["a * b", "a * a * a", "a + 1.0", "(a * b).sin() * b",
            "mg.tensor(a.item()) * 2.0"]
predicted = [None, None, None, None, None]      # your numbers go here


# %%
def check_nodes(predicted):
    assert len(predicted) == len(PROGRAMS), "five numbers, one for each program"
    for text, number in zip(PROGRAMS, predicted):
        y = eval(text)
        right = len(mg.viz.draw(y).nodes) if y.requires_grad else 0
        assert number == right, f"{text}: not {number}. See mg.viz.draw({text})"
    print("right")


# %% tags=["hide-cell"]
check_nodes([3,     # a product and two leaves
             3,     # two products and one leaf, however often it is used
             2,     # a sum and one leaf; nobody wants a gradient of 1.0
             5,     # three operations and two leaves
             0])    # item() has left the graph

# %% [markdown]
# **2. Quotients and exponentials.** Give `Var` the methods `__truediv__` and `exp`, by writing a class `More` that derives
# from it. The local derivatives of $z = x / y$ are $1/y$ and $-x/y^2$; that of $z = e^x$ you know.

# %%
class More(Var):
    """Your lines go here. Mind that `record` makes a Var, not a More."""


# %%
def check_more(cls):
    """Compare with nudging, at (0.7, 1.9)."""
    def g(x, y):
        return (x / y).exp() * x / (x + y)

    def number(x, y):
        return math.exp(x / y) * x / (x + y)

    tape.clear()
    x, y = cls(0.7), cls(1.9)
    backward(g(x, y))
    h = 1e-6
    by_x = (number(0.7 + h, 1.9) - number(0.7 - h, 1.9)) / (2 * h)
    by_y = (number(0.7, 1.9 + h) - number(0.7, 1.9 - h)) / (2 * h)
    assert abs(x.grad - by_x) < 1e-6, f"dx: {x.grad} instead of {by_x}"
    assert abs(y.grad - by_y) < 1e-6, f"dy: {y.grad} instead of {by_y}"
    print("right")


# %% tags=["hide-cell"]
class Solution(Var):
    """Every result is of this class, so that it has these operations too."""

    def __add__(self, other):
        return made(self.value + other.value, (self, 1.0), (other, 1.0))

    def __mul__(self, other):
        x, y = self.value, other.value
        return made(x * y, (self, y), (other, x))

    def __truediv__(self, other):
        x, y = self.value, other.value
        return made(x / y, (self, 1 / y), (other, -x / y ** 2))

    def exp(self):
        z = math.exp(self.value)
        return made(z, (self, z))


def made(value, *inputs):
    result = Solution(value)
    tape.append((result, inputs))
    return result


check_more(Solution)

# %% [markdown]
# **3. The longest path.** Write `depth(tensor)`: how many nodes lie on the longest path through its graph, the `AccumulateGrad` at
# its end included? It has to cope with a chain of 5,000 operations. (A function that calls itself once per node does not: Python's
# stack ends at about 1,000 calls. minigrad's engine does not call itself either.) And it has to cope with $2^{60}$ paths: a node
# can be reached along many, and must be visited once.
#
# Hint: in which order must you visit the nodes, so that a node's depth is known before it is needed?

# %%
def depth(tensor):
    """Your lines go here."""


# %%
def check_depth(depth):
    def check(text, tensor, right):
        got = depth(tensor)
        assert got == right, f"{text}: {got} instead of {right}"

    x = mg.tensor(1.0, requires_grad=True)
    check("x * 2", x * 2, 2)
    check("(x * 2).sin() + x", (x * 2).sin() + x, 4)
    check("x + (x * 2).sin()", x + (x * 2).sin(), 4)
    y = z = x
    for _ in range(5000):
        y = y + 1.0
    for _ in range(60):
        z = z + z
    check("a chain of 5,000", y, 5001)
    check("z + z, 60 times", z, 61)
    print("right")


# %% tags=["hide-cell"]
def depth_solution(tensor):
    nodes, to_do = {tensor.grad_fn}, [tensor.grad_fn]
    while to_do:
        for node, _ in to_do.pop().next_functions:
            if node is not None and node not in nodes:
                nodes.add(node)
                to_do.append(node)
    # Edges lead from later nodes to earlier ones, so the latest first: the walk
    # above, with max in place of +. Leaves have no edges to follow.
    inner = [n for n in nodes if n.next_functions]
    inner.sort(key=lambda n: n._sequence_nr(), reverse=True)
    longest = {tensor.grad_fn: 1}
    for node in inner:
        for following, _ in node.next_functions:
            if following is not None:
                longest[following] = max(longest.get(following, 0), longest[node] + 1)
    return max(longest.values())


check_depth(depth_solution)

# %% [markdown]
# ## What to remember
#
# * Reverse mode needs the steps, and for each step what its formula needs. One walk gives all derivatives.
# * A **node** is one operation that was run: its formula, the values that it saved, its edges.
# * An **edge** is a pair (node, output number): where the derivative of an input goes next. None where nobody wants it.
# * The **graph** hangs from its results. Nodes are numbered as they are made; the walk goes from late to early.
# * Where paths meet, contributions are added.
#
# **Next:** [the engine](02_the_engine.py), and why a node has to wait.
