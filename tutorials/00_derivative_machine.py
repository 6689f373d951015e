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
# # A derivative is a machine that can be built
#
# **Time** 20 minutes, and as long again for the exercises. **Level** first steps. **You need** Python, and the derivative of a
# function of one variable. **Afterwards** you can compute every derivative of a small network by hand, train it with plain Python
# numbers, and say what `backward()` does.
#
# **The question.** A network is a formula with many numbers in it. Training changes these numbers a little, again and again, so
# that the result gets better. Which of the numbers must go up, which must go down, and how can a program find out?
#
# We build the answer from small parts. Nothing here needs a library: until the end, all numbers are Python's own.

# %%
import math

import minigrad as mg

# %% [markdown]
# ## A derivative is a factor
#
# Take $f(x) = x^2$ at $x = 3$. Move $x$ a little, and look how far the result moves:

# %%
def square(x):
    return x * x


for step in (1.0, 0.1, 0.001):
    moved = square(3 + step) - square(3)
    print(f"x by {step:<5}  f by {moved:8.6f}: {moved / step:.3f} times as far")

# %% [markdown]
# The smaller the step, the closer the factor is to 6. This factor is the derivative: $f'(3) = 2 \cdot 3 = 6$. Keep this picture
# for the whole course:
#
# > **A derivative is a factor.** If the input moves by a small step, the result moves by the derivative times the step.
#
# A derivative of $-2$ means that the result moves twice as far, in the other direction. A derivative of 0 means that a small step
# changes (almost) nothing.
#
# ## Several inputs: the sign ∂
#
# Most formulas have several inputs. The area of a field is $A = w \cdot h$, width times height. Here $w = 5$ and $h = 2$. We can
# ask a question for each input: what happens if *only this input* moves?

# %%
def area(w, h):
    return w * h


step = 0.001
print(f"only w moves: {(area(5 + step, 2) - area(5, 2)) / step:.3f}")
print(f"only h moves: {(area(5, 2 + step) - area(5, 2)) / step:.3f}")

# %% [markdown]
# Such a factor is a **partial derivative**. It has its own sign, a round d: read $\partial A/\partial w$ as "del A by del w". It
# means: *the derivative of A if only w moves, and all other inputs stay where they are*. So for us the other inputs are constants,
# and you need no new rules. In $w \cdot h$, with $h$ a constant, the derivative with respect to $w$ is that constant:
#
# $$ \frac{\partial A}{\partial w} = h = 2, \qquad \frac{\partial A}{\partial h} = w = 5. $$
#
# The list of all partial derivatives, $(2, 5)$, is the **gradient** of $A$. It has one number per input. It answers the question of
# this tutorial: a positive number says "move this input up, and the result goes up".
#
# ## Machines in a row: the chain rule
#
# Now let the result of one formula be the input of the next one:
#
# $$ u = 3x, \qquad y = u^2 \qquad\text{at } x = 2. $$
#
# A step of $x$ becomes a step of $u$ that is 3 times as long. A step of $u$ becomes a step of $y$ that is $2u = 12$ times as long.
# So from $x$ to $y$ the factor is $12 \cdot 3 = 36$. This is the **chain rule**: *along a path, multiply*. Two gear wheels in a
# row do the same.

# %%
def row(x):
    u = 3 * x
    return u * u


print(f"{(row(2 + 1e-6) - row(2)) / 1e-6:.3f}")

# %% [markdown]
# ## Two paths: add
#
# Here is the case that decides everything. The input is used *twice*:
#
# $$ u = x^2, \qquad v = 3x, \qquad y = u + v \qquad\text{at } x = 2. $$
#
# **Predict.** Along the upper path, through $u$, the factor is $2x = 4$. Along the lower path, through $v$, it is 3. What is the
# factor from $x$ to $y$: 3, 4, 7 or 12?
#
# <details><summary>Answer</summary>
#
# It is 7. If $x$ moves by 0.001, then $u$ moves by about 0.004 *and* $v$ moves by 0.003. Both arrive at $y$, which is their sum, so
# $y$ moves by about 0.007. The paths do not replace each other, and one does not act on the other: both steps happen.
#
# </details>

# %%
def two_paths(x):
    u = x * x
    v = 3 * x
    return u + v


print(f"{(two_paths(2 + 1e-6) - two_paths(2)) / 1e-6:.3f}")

# %% [markdown]
# ![Two paths lead from x to y. The upper path goes through u equals x times x, with the factor 4. The lower path goes through v
# equals 3 x, with the factor 3. At y, both steps arrive and add up to 7.](pictures/two-paths.svg)
#
# *Along a path, multiply. Where paths meet, add.* There is no third rule.
#
# The rules are even enough to find formulas that you know. In $x \cdot x$ the input is used twice. If only the left $x$ moves, the
# factor is the right one, $x$. If only the right one moves, the factor is the left one, $x$. Together: $x + x = 2x$.
#
# <details><summary>Deeper: why may we add?</summary>
#
# Give the two uses of $x$ different names, $p$ and $q$: $y = g(p, q)$. First move $p$ alone, then move $q$ alone. The first
# changes $y$ by $\frac{\partial g}{\partial p}\,\Delta$, the second by $\frac{\partial g}{\partial q}\,\Delta$, where the second
# factor belongs to the point after the first move. Both hold up to an error that is small compared with $\Delta$. If the factors are
# continuous, the first move changes the second factor less and less as $\Delta$ gets smaller. So in the limit, the derivative is the
# sum of the two factors at the point itself.
#
# </details>
#
# ## The picture has a name
#
# A picture like the one above is a **computation graph**: a node for every value, and an arrow from every value to the values that
# are computed from it. Here is the graph of a longer formula, as a list of lines. Each line computes one value from earlier ones:
#
# $$ u = a\,b, \qquad v = u + a, \qquad y = u\,v \qquad\text{at } a = 2,\ b = 3. $$

# %%
a, b = 2.0, 3.0
u = a * b
v = u + a
y = u * v
print(f"u = {u}, v = {v}, y = {y}")

# %% [markdown]
# ## A topological order, and backpropagation
#
# The lines are in a **topological order**: every value comes after the values that it needs. (Every program that runs has computed
# its values in such an order. There may be several.)
#
# Now we want the factor from $a$ to $y$, and from $b$ to $y$. We *could* list all paths: $a$ reaches $y$ by three of them. A large
# network has more paths than the universe has atoms. There is a better way. Go through the lines **from the last to the
# first**, and find for each value its factor to $y$. This factor is the **adjoint** of the value. We write $\bar u$ for
# $\partial y/\partial u$, and in Python `u_`.
#
# The adjoint of $y$ is 1: it moves exactly as far as itself. Then each line, read backwards, passes its adjoint on to its inputs,
# multiplied by its own factors:

# %%
y_ = 1.0
# y = u * v
u_ = v * y_         # the first part for u ...
v_ = u * y_
# v = u + a
u_ += 1.0 * v_      # ... and the second: paths meet, so we add
a_ = 1.0 * v_
# u = a * b
a_ += b * u_
b_ = a * u_
print(f"u_ = {u_}, v_ = {v_}, a_ = {a_}, b_ = {b_}")

# %% [markdown]
# ![The graph of the formula: a and b lead to u, u and a lead to v, u and v lead to y. Each arrow has its factor, and each box
# the value and the adjoint. The adjoint of u is 14: 8 directly from y, and 6 through v.](pictures/adjoints.svg)
#
# This way through the lines is **backpropagation**: in the reverse of a topological order, multiply along each arrow, and add where
# arrows meet. In this order, an adjoint is complete before it is used: everything that used $u$ comes after $u$, so backwards it
# comes before.
#
# Look at the price, too. Moving the inputs costs one run of the program *per input*. Backpropagation costs about as much as a few
# runs of the program, for *all* inputs together. This is why a network with a billion numbers can be trained.
#
# ### Deeper: check it
#
# Move the inputs, and compare:

# %%
def formula(a, b):
    u = a * b
    v = u + a
    return u * v


print(f"a: {(formula(2 + 1e-6, 3) - formula(2, 3)) / 1e-6:.3f}")
print(f"b: {(formula(2, 3 + 1e-6) - formula(2, 3)) / 1e-6:.3f}")

# %% [markdown]
# ## A neuron
#
# A **neuron** multiplies its input by a *weight* $w$, adds a *bias* $b$, and bends the result, here with the hyperbolic tangent:
#
# $$ z = w\,x + b, \qquad y = \tanh z. $$
#
# The input $x$ and the wanted result $t$ (the *target*) are given. The **loss** says how wrong the neuron is: $L = (y - t)^2$. You
# need one more derivative from a book: $\tanh' z = 1 - \tanh^2 z$, which is $1 - y^2$.

# %%
x, t = 1.5, 0.8
w, b = 0.2, -0.1

z = w * x + b
y = math.tanh(z)
loss = (y - t) ** 2

y_ = 2 * (y - t)            # and backwards: L = (y - t)²
z_ = (1 - y * y) * y_       # y = tanh z
w_ = x * z_                 # z = w x + b
b_ = 1.0 * z_
print(f"loss {loss:.4f}   dL/dw = {w_:.4f}   dL/db = {b_:.4f}")

# %% [markdown]
# Both numbers are negative: if the weight goes up, the loss goes *down*. We want a small loss, so we move each number *against* its
# derivative, by a small part of it. This is a step of **gradient descent**; the small part is the *learning rate*, here 0.1:

# %%
for step in range(5):
    y = math.tanh(w * x + b)
    z_ = (1 - y * y) * 2 * (y - t)
    print(f"step {step}   y = {y:.4f}   loss {(y - t) ** 2:.4f}")
    w -= 0.1 * x * z_
    b -= 0.1 * z_

# %% [markdown]
# The neuron learns. Its result moves to the target, 0.8.
#
# ## A small network
#
# A single neuron cannot learn "exactly one of the two" (in logic: *xor*). Three neurons can: two look at both inputs, and the third
# one adds up their results. Here are the four examples, and nine numbers to train. They begin with values that we chose freely.
#
# ![A network of three neurons. The inputs x1 and x2 both lead to both neurons h1 and h2, which lead to y. Each of the six
# arrows has a weight, and each of the three neurons has a bias.](pictures/network.svg)

# %%
EXAMPLES = [((0.0, 0.0), -1.0), ((0.0, 1.0), 1.0), ((1.0, 0.0), 1.0), ((1.0, 1.0), -1.0)]
START = [0.9, 0.7, 0.2,     # the first neuron: two weights and a bias
         -0.6, -0.9, 0.8,   # the second
         0.4, 0.6, 0.1]     # the third, which does not bend its result


def backpropagation(p):
    """The loss over all examples, and its gradient: a number per parameter."""
    loss, grad = 0.0, [0.0] * 9
    for (x1, x2), target in EXAMPLES:
        h1 = math.tanh(p[0] * x1 + p[1] * x2 + p[2])
        h2 = math.tanh(p[3] * x1 + p[4] * x2 + p[5])
        y = p[6] * h1 + p[7] * h2 + p[8]
        loss += (y - target) ** 2
        y_ = 2 * (y - target)                   # from here on, backwards
        z1_ = (1 - h1 * h1) * p[6] * y_
        z2_ = (1 - h2 * h2) * p[7] * y_
        here = [x1 * z1_, x2 * z1_, z1_, x1 * z2_, x2 * z2_, z2_, h1 * y_, h2 * y_, y_]
        grad = [sum_so_far + part for sum_so_far, part in zip(grad, here)]
    return loss, grad


# %% [markdown]
# All four examples use the same nine numbers: again paths that meet, so again we add. Now train:

# %%
loss, grad = backpropagation(START)
print("gradient:", *[f"{g:.2f}" for g in grad])
p = list(START)
for step in range(161):
    loss, grad = backpropagation(p)
    if step % 40 == 0:
        print(f"step {step:3}   loss {loss:.5f}")
    p = [value - 0.1 * g for value, g in zip(p, grad)]
by_hand = p
assert loss < 1e-4, "it has not learned"

# %% [markdown]
# It has learned all four examples, in less than forty lines and without a library. What is wrong with it, then? The lower half of
# `backpropagation` was written by hand. If you add a neuron, you have to find the new formulas, and check them again.
#
# ### Deeper: is the gradient right?
#
# A mistake in such a function is easy to make and hard to see. So compare each number with a small move, before you trust it:

# %%
loss, grad = backpropagation(START)
for i in range(9):
    moved = list(START)
    moved[i] += 1e-6
    by_moving = (backpropagation(moved)[0] - loss) / 1e-6
    assert abs(by_moving - grad[i]) < 1e-4, f"number {i}: {grad[i]} instead of {by_moving}"
print("all nine are right")

# %% [markdown]
# ## The machine
#
# But look how the lower half comes from the upper half. For each operation, we wrote down its factors. We went through the lines
# from the last to the first. We multiplied, and we added where values met. No step of this needs a human. So let a machine do it:
# numbers that *remember how they were computed*. This is what minigrad is, and PyTorch too.
#
# We write only the upper half. `mg.tensor(...)` makes a number for the machine. `requires_grad=True` says: "I want the derivative
# with respect to this number". `mg.float64` asks for numbers with as many digits as Python's own.

# %%
def forward(p):
    loss = 0.0
    for (x1, x2), target in EXAMPLES:
        h1 = (p[0] * x1 + p[1] * x2 + p[2]).tanh()
        h2 = (p[3] * x1 + p[4] * x2 + p[5]).tanh()
        y = p[6] * h1 + p[7] * h2 + p[8]
        loss = loss + (y - target) ** 2
    return loss


p = [mg.tensor(value, dtype=mg.float64, requires_grad=True) for value in START]
forward(p).backward()       # the whole lower half
print("gradient:", *[f"{value.grad.item():.2f}" for value in p])

# %% [markdown]
# The same nine numbers. Here is the graph that the machine has recorded for the neuron from above. Each box is an operation. The
# arrows lead backwards, the way that the adjoints go.

# %%
w = mg.tensor(0.2, requires_grad=True)
b = mg.tensor(-0.1, requires_grad=True)
loss = ((w * 1.5 + b).tanh() - 0.8) ** 2
mg.viz.draw(loss, names={"w": w, "b": b, "loss": loss})

# %% [markdown]
# ### Deeper: the same training
#
# The machine trains the same network, to the same numbers:

# %%
p = [mg.tensor(value, dtype=mg.float64, requires_grad=True) for value in START]
for step in range(161):
    loss = forward(p)
    if step % 40 == 0:
        print(f"step {step:3}   loss {loss.item():.5f}")
    for value in p:
        value.grad = None           # begin a new sum
    loss.backward()
    with mg.no_grad():              # the step itself is not differentiated
        for value in p:
            value -= 0.1 * value.grad
difference = max([abs(q.item() - r) for q, r in zip(p, by_hand)])
assert difference < 1e-9
print(f"the largest difference to the numbers by hand is below 1e-9: {difference < 1e-9}")

# %% [markdown]
# (Why `value.grad = None`? The machine adds to `.grad`: see [tutorial 3](03_leaves.py). Why `no_grad`? See [tutorial
# 6](06_grad_modes.py).)
#
# ## Step by step
#
# And here it works. Press the arrow key, and watch the number that arrives at each node: these are our `y_`, `z_`, `w_` and `b_`.

# %%
with mg.debug.record(w=w, b=b) as r:
    loss = ((w * 1.5 + b).tanh() - 0.8) ** 2
    loss.backward()
mg.viz.step(r)

# %% [markdown]
# ### Deeper: as a table
#
# Compare it with the numbers that we computed by hand:

# %%
for event in r.events:
    if event.kind == "receive":
        print(f"{event.op:<15} receives {event.what}")
print(f"by hand:   dL/dw = {w_:.4f}   dL/db = {b_:.4f}")
assert abs(w.grad.item() - w_) < 1e-6 and abs(b.grad.item() - b_) < 1e-6

# %% [markdown]
# ## The source
#
# The machine needs the factor of each operation. This is minigrad's rule for the hyperbolic tangent. `g` is the adjoint that
# arrives, `z` is the result. (`tanh_backward` is the formula $g\,(1 - z^2)$; `conj` does nothing to real numbers.)

# %%
mg.utils.source.source_of("ops/elementwise/functions.py", "Tanh")

# %% [markdown]
# ## The same in PyTorch
#
# Write `torch` instead of `mg`. The names and the numbers are the same:
#
# ```python
# >>> import torch
# >>> w = torch.tensor(0.2, requires_grad=True)
# >>> b = torch.tensor(-0.1, requires_grad=True)
# >>> loss = ((w * 1.5 + b).tanh() - 0.8) ** 2
# >>> loss.backward()
# >>> w.grad, b.grad
# (tensor(-1.7374), tensor(-1.1583))
#
# ```
#
# ### Deeper: our words in the machine
#
# | our word | where the machine has it |
# |---|---|
# | a value with its history | a tensor, and its node `grad_fn` |
# | the computation graph | the nodes, and their edges `next_functions` |
# | the adjoint of an input | `.grad` |
# | backpropagation | `loss.backward()` |
#
# ## What goes wrong
#
# **A part is lost.** The most frequent mistake in a backward by hand: `=` instead of `+=`. The second path then replaces the first.
# There is no error, only a wrong number:

# %%
a, b = 2.0, 3.0
u, y_ = a * b, 1.0
u_ = (u + a) * y_
v_ = u * y_
u_ = 1.0 * v_               # should be +=
print(f"dy/db = {a * u_}, should be 28.0")

# %% [markdown]
# ### Deeper: two more cases
#
# **The step is too long.** The derivative is a factor for *small* steps. With a large learning rate, each step jumps over the
# valley, and the next one is even longer:

# %%
value = 1.0                 # the loss is value², with the derivative 2 value
for _ in range(4):
    print(f"value {value:6.2f}   loss {value ** 2:7.2f}")
    value -= 1.2 * 2 * value

# %% [markdown]
# **The machine was not told.** Without `requires_grad=True`, nothing is recorded, and there is nothing to go through:

# %%
w = mg.tensor(0.2)
loss = (w * 1.5).tanh() ** 2
with mg.testing.expect_error(RuntimeError, code="MG-E110"):
    loss.backward()

# %% [markdown]
# More about it: {doc}`/errors/no-grad-fn`. All words of this tutorial are in the {doc}`glossary </notes/glossary>`.
#
# ## Exercises
#
# Each exercise has a check. Write your answer, then call the check with it, as in `check_partial(predicted)`. The solutions are
# folded below.
#
# **1. Predict.** Find $\partial y/\partial a$ for each of these formulas, at $a = 2$ and $b = 3$. Use the two rules, and no
# computer.

# %%
FORMULAS = ["a * b", "a + b", "a * a * b", "a * (a + b)", "b * b"]
predicted = [None, None, None, None, None]      # your numbers go here


# %%
@mg.testing.exercise(1)
def check_partial(predicted):
    assert len(predicted) == len(FORMULAS), "five numbers, one for each formula"
    for text, number in zip(FORMULAS, predicted):
        here, moved = (eval(text, {"a": a, "b": 3}) for a in (2, 2 + 1e-6))
        right = number is not None and abs(number - (moved - here) / 1e-6) < 1e-3
        assert right, f"{text}: not {number}. Move a by a small step"
    print("right")


# %% tags=["help"]
check_partial.hints = [
    "Only `a` moves, and `b` stands still. How many times as far as `a` does `y` move?",
    "There are two rules. Along a path, multiply the factors. Where several paths lead from "
    "`a` to `y`, add what they give.",
    "Write the formula as a picture, with an arrow for each use of `a`, and a factor on each "
    "arrow. In `a * a * b` two arrows leave `a`. In `b * b` none does."]
check_partial.wrong = {
    "a * a * b: not 6":
        "You followed one path. `a` is used twice, so a second path gives as much again.",
    "a * b: not 6": "6 is the value of the formula. Ask how far it moves if `a` moves.",
    "a * b: not 2":
        "2 is the derivative with respect to `b`. Here `a` moves, and its factor is `b`.",
    "a + b: not 5": "5 is the value of the formula. Ask how far it moves if `a` moves.",
    "a + b: not 2": "You let both numbers move. In a partial derivative, `b` stands still.",
    "a * (a + b): not 5":
        "This is the path through the first `a`. Another path leads through the sum.",
    "a * (a + b): not 2":
        "This is the path through the sum. Another path leads through the first `a`.",
    "b * b: not 6": "6 is the derivative with respect to `b`. There is no `a` in this formula."}


# %% tags=["hide-cell", "solution"]
check_partial([3.0,     # b is a constant
               1.0,     # a sum passes each step on as it is
               12.0,    # two paths: a b + a b
               7.0,     # through the first a: 5; through the sum: 2
               0.0])    # no path leads from a to y

# %% [markdown]
# **2. A neuron with two inputs.** Write `neuron(w1, w2, b, x1, x2, t)`. It returns a list of three numbers: the derivatives with
# respect to `w1`, `w2` and `b` of the loss $L = (y - t)^2$, where $y = \tanh(w_1 x_1 + w_2 x_2 + b)$. Use plain numbers.

# %%
def neuron(w1, w2, b, x1, x2, t):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_neuron(neuron):
    for numbers in ((0.2, -0.3, 0.1, 1.5, 0.5, 0.8), (1.0, 0.4, -0.7, -0.2, 2.0, -1.0)):
        p = [mg.tensor(v, dtype=mg.float64, requires_grad=True) for v in numbers[:3]]
        w1, w2, b = p
        x1, x2, t = numbers[3:]
        ((w1 * x1 + w2 * x2 + b).tanh() - t).square().backward()
        found = neuron(*numbers)
        assert len(found) == 3, "three numbers: for w1, w2 and b"
        for name, told, leaf in zip(("w1", "w2", "b"), found, p):
            right = leaf.grad.item()
            assert abs(told - right) < 1e-9, f"{name}: {told:.4f} instead of {right:.4f}"
    print("right")


# %% tags=["help"]
check_neuron.hints = [
    "Give each intermediate value a name: the sum `z`, then `y = tanh(z)`, then the loss. Go "
    "back from the loss, one name at a time.",
    "The slope of the square is `2 * (y - t)`. The slope of `tanh` is `1 - y * y`: it needs "
    "the result.",
    "The product of these two slopes is the adjoint of `z`. From `z`, three arrows lead back "
    "to `w1`, `w2` and `b`. Their factors are `x1`, `x2` and 1."]
check_neuron.wrong = {
    "w1: -1.6652 instead of -1.5654": "The slope of `tanh` is missing.",
    "w1: -1.5612 instead of -1.5654":
        "The slope of `tanh` is `1 - y * y`. Use its result `y`, and not its argument.",
    "w1: -0.7827 instead of -1.5654": "The slope of a square has a factor 2.",
    "w1: 1.5654 instead of -1.5654": "The sign is wrong: `y` has a plus in `(y - t)`.",
    "w1: -1.0436 instead of -1.5654":
        "This is the adjoint of the sum. On the way to `w1` it is multiplied by `x1`."}


# %% tags=["hide-cell", "solution"]
def neuron_solution(w1, w2, b, x1, x2, t):
    y = math.tanh(w1 * x1 + w2 * x2 + b)
    z_ = (1 - y * y) * 2 * (y - t)
    return [x1 * z_, x2 * z_, z_]


check_neuron(neuron_solution)

# %% [markdown]
# **3. The machine.** Write `adjoints(lines)`. A line is a pair: the name of a value, and a list of its inputs. Each input is a pair
# of a name and a factor. The lines are in a topological order, and the last one computes the result. Return a dict with the adjoint
# of every name that has a path to the result. For the formula $u = a\,b$, $v = u + a$, $y = u\,v$ from above, the lines are:

# %%
LINES = [("u", [("a", 3.0), ("b", 2.0)]),
         ("v", [("u", 1.0), ("a", 1.0)]),
         ("y", [("u", 8.0), ("v", 6.0)])]


def adjoints(lines):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3, hint="Go through each line once: a ladder has 2^60 paths.")
def check_adjoints(adjoints):
    found = adjoints(LINES)
    assert found == {"y": 1.0, "u": 14.0, "v": 6.0, "a": 48.0, "b": 28.0}, f"LINES: {found}"
    twice = [("y", [("x", 3.0), ("x", 4.0)])]
    assert adjoints(twice) == {"y": 1.0, "x": 7.0}, "a line may have the same name twice"
    aside = [("u", [("x", 2.0)]), ("unused", [("u", 5.0)]), ("y", [("u", 3.0)])]
    assert adjoints(aside).get("x") == 6.0, "no path leads from `unused` to the result"
    ladder = [(f"v{i + 1}", [(f"v{i}", 1.0), (f"v{i}", 1.0)]) for i in range(60)]
    assert adjoints(ladder)["v0"] == 2.0 ** 60, "a ladder of 60 rungs"
    print("right")


# %% tags=["help"]
check_adjoints.hints = [
    "The adjoint of the result is 1. Which line can you work on next, and which adjoint must "
    "be complete first?",
    "Go through the lines from the last to the first. A line passes `factor * adjoint` on to "
    "each of its inputs.",
    "Keep the adjoints in a dict, and begin with the name of the last line. Add to what is "
    "there already: `get(name, 0.0)`. Skip a line whose name is not in the dict."]
check_adjoints.wrong = {
    "LINES: {'y': 1.0, 'u': 6.0, 'v': 6.0, 'a': 18.0, 'b': 12.0}":
        "You replaced a contribution by the next one. Where two paths meet, add.",
    "LINES: {'y': 1.0, 'a': 0.0, 'b': 0.0, 'u': 8.0, 'v': 6.0}":
        "You went from the first line to the last. The adjoint of a name is complete only "
        "after all lines below it.",
    "'unused'":
        "No adjoint has reached this name: no path leads from it to the result. Skip such a "
        "line.",
    "a line may have the same name twice":
        "Both pairs are contributions, and they are added. A dict of the inputs would lose one."}


# %% tags=["hide-cell", "solution"]
def adjoints_solution(lines):
    found = {lines[-1][0]: 1.0}
    for name, inputs in reversed(lines):
        if name in found:           # otherwise no path leads from it to the result
            for other, factor in inputs:
                found[other] = found.get(other, 0.0) + factor * found[name]
    return found


check_adjoints(adjoints_solution)

# %% [markdown]
# With this exercise, you have built the machine.
#
# ## What to remember
#
# * A derivative is a **factor** for small steps. ∂ says that only this input moves. The **gradient** is the list of all partial
#   derivatives.
# * Along a path, **multiply**. Where paths meet, **add**.
# * A **computation graph** shows which value is computed from which. In a **topological order**, each value comes after its inputs.
# * The **adjoint** of a value is its factor to the result. **Backpropagation** finds all adjoints in the reverse order, each once.
# * Training moves each number a little against its derivative.
#
# **Next:** [from a derivative to a graph](01_derivative_to_graph.py): the machine, in twenty lines, and then the real one.
