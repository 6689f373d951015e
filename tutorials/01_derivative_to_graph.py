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
# **Time** 20 minutes, and as long again for the exercises. **Level** beginner. **You need** partial derivatives and the chain rule,
# for which there is [tutorial 0](00_derivative_machine.py), and a little Python. **Afterwards** you can write a reverse-mode
# differentiator of twenty-one lines, and explain the words *node*, *edge* and *graph*.
#
# **The question.** A program computes a number from other numbers. How can it find out how the result changes with each
# input, if there is no formula for the derivative of the whole?
#
# The example of this whole tutorial is
#
# $$ y = \sin(a\,b) + a \qquad\text{at } a = 2,\ b = 3. $$

# %%
import math

import minigrad as mg


def f(a, b):
    return math.sin(a * b) + a


f(2.0, 3.0)

# %% [markdown]
# Note that $a$ is used twice: in the product, and in the sum. This causes most of the interesting effects below.
#
# ## Nudging
#
# A derivative is a ratio of small changes. So the first idea is to make a small change of an input, and look at the result.

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
# *It is not exact.* With a large $h$, the function bends between the two points. With a small $h$, the two values agree in most
# of their digits, and the subtraction loses these digits. There is a best $h$ in between, but even this $h$ leaves an error:

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
# A table of formulas gives the derivative of each line. These derivatives are called *local*: each belongs to one step only.
#
# | step | local derivatives | at our numbers |
# |---|---|---|
# | $u = a\,b$ | $\partial u/\partial a = b, \quad \partial u/\partial b = a$ | 3, 2 |
# | $s = \sin u$ | $\mathrm ds/\mathrm du = \cos u$ | $\cos 6 = 0.96$ |
# | $y = s + a$ | $\partial y/\partial s = 1, \quad \partial y/\partial a = 1$ | 1, 1 |
#
# Now go through the table from the last line to the first. For each name, ask: how does $y$ change with it? Write $\bar u$ for
# $\partial y/\partial u$, the **adjoint** of $u$, and so on.
#
# $$ \bar y = 1, \qquad \bar s = 1 \cdot \bar y, \qquad \bar u = \cos u \cdot \bar s, \qquad \bar b = a \cdot \bar u, $$
#
# $$ \bar a = \underbrace{1 \cdot \bar y}_{\text{through the sum}} + \underbrace{b \cdot \bar u}_{\text{through the product}}. $$
#
# This walk is **backpropagation**. Three things are worth a second look.
#
# 1. One walk gives *all* derivatives, even with a million inputs.
# 2. Each step multiplies the derivative that arrives by a local derivative, and passes the product on.
# 3. If a name was used twice, two contributions arrive, and they are **added**.

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
# We did this by hand. A program needs two things to do it: the steps in order, and the local derivatives. Both are known
# when a step runs. So let every operation record what it did, on a growing list: a **tape**.

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
# That is all of reverse-mode automatic differentiation. Run the program on `Var` numbers, and play the tape backwards:

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
# Look at `+=` in `backward`: it adds the contributions. Now look at `reversed`. A result is only used after it was computed. So
# when the walk reaches a result, it has already visited everything that used it, and the `grad` of the result is complete. (Every
# result on the tape comes after its inputs: this is a **topological order**, and the walk takes it in reverse.)
#
# ## From a tape to a graph
#
# One tape for the whole program has three disadvantages:
#
# * It never forgets. Results that will never be differentiated stay on it, with everything that they refer to.
# * `backward(y)` walks over the whole tape, even over steps that have nothing to do with `y`.
# * Two computations that run at the same time would mix their lines.
#
# The solution is to cut the tape into pieces, and to give each piece to the result that it describes. Such a piece is a **node**.
# A node points to the nodes of its inputs: these pointers are **edges**. When the last reference to a result is gone, its node is
# freed too. The list has become a **graph**, the **computation graph** of `y`, and `y` holds the end of it.
#
# minigrad and PyTorch build this graph. The program does not change:

# %%
a = mg.tensor(2.0, requires_grad=True)
b = mg.tensor(3.0, requires_grad=True)
y = (a * b).sin() + a
y

# %% [markdown]
# `requires_grad=True` says: I want the derivative with respect to this number. Such a tensor is a **leaf**. Every tensor
# that is computed from a leaf gets a node, its `grad_fn`:

# %%
print(y.grad_fn.name())
for node, number in y.grad_fn.next_functions:
    print("   ->", node.name(), number)

# %% [markdown]
# The last operation was the sum, so `y` holds an `AddBackward0`. It had two inputs, so it has two edges, in the same order. One
# leads to the node of the sine. The other leads to $a$. A leaf was not computed by an operation, so it has no such node.
# Instead, it has an `AccumulateGrad`, which adds the gradients that arrive to `a.grad` ([tutorial 3](03_leaves.py)).
#
# Here is the whole graph. A box is an operation, with the dtype and the shape of its result (`[]` is a single number) and with
# the values that it has saved for the way back. A leaf is round:

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
# An edge is a pair: a node, and a number. The number says *which output* of that node's operation was used here. It is almost
# always 0, because almost all operations have one output. `unbind` has several:

# %%
first, second = mg.tensor([5.0, 7.0], requires_grad=True).unbind()
for node, number in (first * second).grad_fn.next_functions:
    print("   ->", node.name(), number)

# %% [markdown]
# If an input needs no derivative, the edge leads nowhere: it is the pair `(None, 0)`.
#
# ### What a node holds
#
# Our tape held numbers: the local derivatives. A node holds the *values that its formula needs*. The formula itself belongs to
# the type of the node. A product needs its two factors, a sine needs its angle:

# %%
sine = y.grad_fn.next_functions[0][0]
product = sine.next_functions[0][0]
print("sine:   ", sine._saved_self)
print("product:", product._saved_self, product._saved_other)

# %% [markdown]
# Why not the local derivative itself? For tensors it is not a number but a matrix, the **Jacobian**, often a huge one with almost
# only zeros: see [tutorial 1b](01b_tensors.py).
# The formula needs only a product with this matrix: $\bar u = \bar s \cdot \cos u$, element by element. There is a second reason:
# a formula that runs later can be differentiated too, see [tutorial 5](05_double_backward.py). ([Tutorial 7](07_saved_tensors.py)
# shows which values each operation saves, and why.)
#
# ### The order of the nodes
#
# The tape knew which step came last. The graph knows it too: each new node gets the next number.

# %%
for node in (product, sine, y.grad_fn):
    print(node.name(), node._sequence_nr() - product._sequence_nr())

# %% [markdown]
# ## The walk, by hand
#
# Now we have everything that `backward` needs. Here it is, on minigrad's own graph, with a table of three formulas. Among the
# nodes that a gradient has reached, the walk always takes the node that was created last. (The walk computes with tensors, too.
# `no_grad()` keeps autograd from recording it: [tutorial 6](06_grad_modes.py).)

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
# And minigrad's own result:

# %%
y.backward()
print(f"dy/da = {a.grad.item():.6f}   dy/db = {b.grad.item():.6f}")

# %% [markdown]
# The two agree.
#
# ## Step by step
#
# `mg.debug.record` records what the real engine does. Step through it: first the program creates the nodes, then the backward
# runs them. Watch the two contributions to $a$: which comes first, and when does the leaf get its gradient?

# %%
a.grad = b.grad = None
with mg.debug.record() as r:
    y = (a * b).sin() + a
    y.backward()
mg.viz.step(r)

# %% [markdown]
# The engine differs from our walk in one point. At a leaf, as at every node, it *waits* until all gradients have arrived: it
# has counted the edges beforehand. [Tutorial 2](02_the_engine.py) explains why.
#
# ### Deeper: as a table
#
# These are the events in which a gradient moves:

# %%
for event in r.events:
    if event.kind in ("receive", "compute", "accumulate"):
        print(f"{event.kind:<10}  {event.node} {event.op:<15}  {event.what}")

# %% [markdown]
# ## The source
#
# minigrad is written to be read. This is how a node gets its edges when an operation runs. The first two edges have their own
# fields, since few operations have more inputs. The numbers of the edges are not stored while all of them are 0.

# %%
mg.utils.source.source_of("_core/graph/node.py", "Node.connect")

# %% [markdown]
# ### Deeper: the pairs, and a rule
#
# The pairs that we looked at are created when a program reads `next_functions`:

# %%
mg.utils.source.source_of("_core/graph/node.py", "Node.next_functions")

# %% [markdown]
# And this is the rule for a product, with both formulas. Here `g` is the gradient that arrives, $\bar u$ in our table. (`conj`
# does nothing to real numbers.)

# %%
mg.utils.source.source_of("ops/elementwise/arithmetic.py", "Mul")

# %% [markdown]
# ## The same in PyTorch
#
# Write `torch` instead of `mg`, and everything above this line that reads `grad_fn`, `next_functions`, `_saved_self` or
# `_sequence_nr` gives the same answers:
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
# ### Deeper: where it is in PyTorch
#
# | mechanism | minigrad | PyTorch |
# |---|---|---|
# | a node | `minigrad/_core/graph/node.py`, `Node` | [`node.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/node.h), `struct Node` |
# | an edge | a pair in `next_functions` | [`edge.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/edge.h), `struct Edge` |
# | the end of an edge at a leaf | `minigrad/_core/graph/accumulate_grad.py` | [`accumulate_grad.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/functions/accumulate_grad.h) |
# | the formula of a product | `minigrad/ops/elementwise/arithmetic.py`, `Mul` | [`derivatives.yaml`](https://github.com/pytorch/pytorch/blob/v2.13.0/tools/autograd/derivatives.yaml), `name: mul.Tensor`, from which C++ is generated |
#
# In PyTorch, the names of some nodes have a namespace, `torch::autograd::AccumulateGrad`; in minigrad they do not.
#
# ## What goes wrong
#
# **No leaf requires a gradient.** Then nothing was recorded, and there is no graph to walk over:

# %%
c = mg.tensor(2.0)
y = (c * c).sin()
with mg.testing.expect_error(RuntimeError, code="MG-E110"):
    y.backward()

# %% [markdown]
# **The computation leaves the graph.** NumPy records nothing, so an array cannot remember how its numbers were computed.
# minigrad refuses to return an array unless you explicitly detach the tensor first:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E115"):
    (a * b).numpy()

# %% [markdown]
# **The computation leaves the graph without an error.** This is the worst of the three, since you get no message. `item()`
# returns a plain number, and a tensor made from this number is a new leaf, at the beginning of a new graph:

# %%
a.grad = None
u = a * b
y = mg.tensor(math.sin(u.item()), requires_grad=True) + 1
y.backward()
print("the gradient of a:", a.grad)

# %% [markdown]
# If a gradient is unexpectedly None, draw the graph of the loss: `mg.viz.draw(loss)`. A tensor that is not in the picture is not
# connected to the loss. More about this: {doc}`/errors/grad-is-none`.
#
# ## Exercises
#
# Each exercise has a check. Write your answer, then call the check with it, as in `check_nodes(predicted)`. The solutions are
# folded below.
#
# **1. Predict.** How many nodes does the graph of each program have? Count the nodes of leaves too. Write the numbers down before
# you run anything.

# %%
a, b = mg.tensor(2.0, requires_grad=True), mg.tensor(3.0, requires_grad=True)
PROGRAMS = ["a * b", "a * a * a", "a + 1.0", "(a * b).sin() * b",
            "mg.tensor(a.item()) * 2.0"]
predicted = [None, None, None, None, None]      # your numbers go here


# %%
@mg.testing.exercise(1)
def check_nodes(predicted):
    assert len(predicted) == len(PROGRAMS), "five numbers, one for each program"
    for text, number in zip(PROGRAMS, predicted):
        y = eval(text)
        right = len(mg.viz.draw(y).nodes) if y.requires_grad else 0
        assert number == right, f"{text}: not {number}. See mg.viz.draw({text})"
    print("right")


# %% tags=["help"]
check_nodes.hints = [
    "An operation has a node if one of its inputs requires a gradient. Each leaf has one too.",
    "A leaf has one node, however often it is used. The number `1.0` is not a tensor.",
    "Draw what you are not sure about: `mg.viz.draw(a * a * a)`. What does `item()` return?"]
check_nodes.wrong = {
    "a * b: not 1": "You counted the operation. The two leaves have nodes too.",
    "a * a * a: not 2": "You counted the operations. The leaf has a node too.",
    "a * a * a: not 4": "There are three uses of a, but only two products, and a has one node.",
    "a * a * a: not 5": "You counted the leaf at each use. It has one node.",
    "a + 1.0: not 3": "`1.0` is a number. It needs no gradient, so its edge leads nowhere.",
    "(a * b).sin() * b: not 6": "You counted b at each use. A leaf has one node.",
    "mg.tensor(a.item()) * 2.0: not 2": "`item()` returns a plain number: there is no graph.",
    "mg.tensor(a.item()) * 2.0: not 3": "`item()` returns a plain number: there is no graph."}


# %% tags=["hide-cell", "solution"]
check_nodes([3,     # a product and two leaves
             3,     # two products and one leaf, however often it is used
             2,     # a sum and one leaf; the constant 1.0 needs no gradient
             5,     # three operations and two leaves
             0])    # item() has left the graph

# %% [markdown]
# **2. Quotients and exponentials.** Write a class `More` that derives from `Var` and adds the methods `__truediv__` and `exp`.
# The local derivatives of $z = x / y$ are $1/y$ and $-x/y^2$; you know the derivative of $z = e^x$.

# %%
class More(Var):
    """Note that `record` returns a Var, not a More."""

    def __truediv__(self, other):
        raise NotImplementedError      # your code goes here

    def exp(self):
        raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
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


# %% tags=["help"]
check_more.hints = [
    "Read `__mul__` of `Var` again: it computes the result, and one local derivative per input.",
    "The derivative of `exp` at x is the result itself: compute it once, and use it twice.",
    "`record` returns a `Var`, which has no `exp`. So write a `record` of your own, which "
    "returns your class, and give `+` and `*` the same."]
check_more.wrong = {
    "'Var' object has no attribute":
        "`record` returns a `Var`, which has none of your methods. All your results have to be "
        "of your class.",
    "unsupported operand type(s) for /": "A `Var` cannot divide. The results of `+` and `*` have "
                                         "to be of your class too.",
    "dx:":
        "Begin with the quotient: its local derivative with respect to x is 1/y. For `exp` it "
        "is the result.",
    "dy:": "dx is right. Look at the derivative with respect to y: its sign, and a square."}


# %% tags=["hide-cell", "solution"]
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
# **3. The longest path.** Write `depth(tensor)`: it returns the number of nodes on the longest path through the tensor's graph,
# with the `AccumulateGrad` at its end. It must work on a chain of 5,000 operations. (A function that calls itself once per node
# fails there: Python's stack ends at about 1,000 calls. minigrad's engine does not call itself either.) It must also work on a
# graph with $2^{60}$ paths: many paths lead to a node, but you must visit the node only once.
#
# Hint: in which order must you visit the nodes, so that a node's depth is known before it is needed?

# %%
def depth(tensor):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3, hint="Visit each node once: one graph has 2^60 paths.")
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


# %% tags=["help"]
check_depth.hints = [
    "The depth of a node is 1 more than the largest depth of the nodes that lead to it.",
    "So every node that leads to a node must come before it. The numbers of the nodes give "
    "such an order: begin with the latest node.",
    "It is the walk of this page, with `max` instead of `+`. First collect all nodes, each "
    "once; sort them by `_sequence_nr()`; then go along their edges."]
check_depth.wrong = {
    "1 instead of 2": "You counted the edges, or left out the leaf's node. Count the nodes.",
    "2 instead of 4": "You took the shortest path, or followed only one edge of the sum.",
    "3 instead of 4": "You used the first path to a node as its depth. A longer path came later."}


# %% tags=["hide-cell", "solution"]
def depth_solution(tensor):
    nodes, to_do = {tensor.grad_fn}, [tensor.grad_fn]
    while to_do:
        for node, _ in to_do.pop().next_functions:
            if node is not None and node not in nodes:
                nodes.add(node)
                to_do.append(node)
    # Edges lead from later nodes to earlier ones, so the latest first: the walk
    # above, with max instead of +. Leaves have no edges to follow.
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
# * Reverse mode needs the steps and, for each step, the values in its formula. One walk gives all derivatives.
# * A **node** is one operation that was run: its formula, the values that it saved, its edges.
# * An **edge** is a pair (node, output number): where the derivative of an input goes next. It leads nowhere if the input needs no
#   derivative.
# * A result holds its **graph**. Nodes are numbered as they are created; the walk goes from the latest to the earliest.
# * Where paths meet, contributions are added.
#
# The words of this tutorial are in the {doc}`glossary </notes/glossary>`.
#
# **Next:** [tensors](01b_tensors.py), many numbers in one node; or [the engine](02_the_engine.py), and why a node has to wait.
