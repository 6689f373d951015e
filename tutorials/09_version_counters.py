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
# # Version counters, and "modified by an inplace operation"
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** [tutorial
# 1](01_derivative_to_graph.py); that a node saves values for its formula ([tutorial 7](07_saved_tensors.py)); and in-place
# operations (`y += 1`, `y.mul_(2)`, `y[0] = 5`). **Afterwards** you can say how the engine notices a write, predict which writes
# are harmless, and correct a program that is refused.
#
# **The question.** A node saves a tensor for the backward. Before the backward runs, the program overwrites that tensor. How
# does the engine notice? And why does it accept some writes, and refuse others that change nothing?
#
# ## A wrong gradient
#
# The derivative of $y = e^x$ is $y$ itself. So the node of `exp` keeps its result, and its formula is a product:

# %%
import textwrap

import minigrad as mg


def show(tensor):
    """The numbers of a tensor, to four digits."""
    return [round(number, 4) for number in tensor.tolist()]


x = mg.tensor([0.0, 1.0], requires_grad=True)
y = x.exp()
print(y.grad_fn.name(), "keeps", show(y.grad_fn._saved_result))
y.sum().backward()
print("gradient:", show(x.grad))

# %% [markdown]
# The node does not copy these numbers, because copies would double the memory. It uses the memory of `y`. What if the program
# writes to this memory? Adding 1 to `y` does not change its derivative. We add it through `.data`, which the engine does not
# watch:

# %%
x.grad = None
y = x.exp()
y.data += 1
y.sum().backward()
print("gradient:", show(x.grad))

# %% [markdown]
# Both numbers are wrong, by 1. There was no error, and no warning. A model may even train with such gradients, only worse.
#
# This must not happen. Without `.data` it does not:

# %%
y = x.exp()
y += 1
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    y.sum().backward()

# %% [markdown]
# ## A number that goes up
#
# Every piece of memory has a **version**: the number of writes to it. Each in-place operation adds one.

# %%
a = mg.zeros(2, 2)
print("new:        ", a._version)
a += 1
print("a += 1      ", a._version)
a[0] = 5.0
print("a[0] = 5    ", a._version)
with mg.no_grad():
    a.mul_(2)
print("no_grad     ", a._version)
mg.add(a, 1, out=a)
print("out=a       ", a._version)
b = a + 1
print("b = a + 1   ", a._version, "(nothing was written to a)")

# %% [markdown]
# `no_grad()` makes no difference. It says that a write should not be *differentiated*. But the write changes the memory.
#
# The version belongs to the memory, not to the tensor. Tensors that share memory share the counter. Write to one, and look at
# the others:

# %%
a = mg.zeros(2, 2)
family = {"a": a, "a view, a[0]": a[0], "a view of it": a[0][1:], "a.t()": a.t(),
          "a.detach()": a.detach(), "a.data": a.data, "a.clone()": a.clone()}
a += 1
for name, tensor in family.items():
    print(f"{name:<14} version {tensor._version}")

# %% [markdown]
# ![The tensors a, a[0], a.t() and a.detach() share one memory and one version counter, which says 1 after a write. a.data
# shares the memory, but has a counter of its own, which says 0. A node that saved a at version 0 refuses to
# run.](pictures/version.svg)
#
# Two of them differ. `clone()` has its own memory. `.data` shares the memory of `a`, but has its own counter. Writes through it
# are counted only there, and no node compares that counter. So the engine did not notice our write.
#
# **Predict.** `p` is a parameter, and an optimizer has stepped three times. What is its version?
#
# <details><summary>Answer</summary>
#
# It is 3. A step is an in-place write: the parameter remains the same tensor, with new numbers.
#
# </details>

# %%
p = mg.tensor([1.0, 2.0], requires_grad=True)
optimizer = mg.optim.SGD([p], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    (p * p).sum().backward()
    optimizer.step()
print(p._version)

# %% [markdown]
# ## A number that is kept
#
# When a node saves a tensor, it stores the version. When its formula reads the tensor, the version must still be the same.
# This is a node of `exp`, written by hand:

# %%
class Exp:
    """Keeps the result of an exponential, and the version that it had."""

    def __init__(self, result):
        self.result, self.version = result, result._version

    def backward(self, g):
        now = self.result._version
        if now != self.version:
            raise RuntimeError(f"saved at version {self.version}, now at version {now}")
        return g * self.result


y = x.exp().detach()
node = Exp(y)
print(show(node.backward(mg.ones(2))))
y[0] = 7.0
with mg.testing.expect_error(RuntimeError):
    node.backward(mg.ones(2))

# %% [markdown]
# That is all. The real nodes do the same, and `mg.debug.saved` shows the stored version, and the present version if it is
# different.

# %%
y = x.exp()
first = y[0]
y += 1
mg.debug.saved(y.sum())

# %% [markdown]
# Here is a picture, with `first`, which shares the memory of `y`:

# %%
mg.viz.draw(y.sum(), names={"x": x, "y": y, "first": first})

# %% [markdown]
# ## Step by step
#
# Look at the table of storages, and at the version in the table of saved tensors. The write comes early. The error comes when
# `ExpBackward0` unpacks. With *predict*, the page asks you what comes next, and whether it will raise.

# %%
with mg.debug.record() as refused:
    y = x.exp()
    y += 1
    with mg.testing.expect_error(RuntimeError, code="MG-E102", quiet=True):
        y.sum().backward()
mg.viz.step(refused)

# %% [markdown]
# The node checks the version **at use**, not at the write. At the write, nothing knows whether the backward will ever run. If it
# does not run, the write does no harm:

# %%
y = x.exp()
y += 1              # a node has saved y; no error here
print(show(y))      # and none later, if this is all that we wanted

# %% [markdown]
# The price is that the error is raised far from the line that caused it. More about this below.
#
# ### Deeper: as a table, and side by side
#
# These are the events about versions:

# %%
for event in refused.events:
    if event.kind in ("write", "unpack", "error"):
        what = event.what.partition(": one of")[0]
        print(f"{event.step:3} {event.kind:<7} {what:<20} {event.why}")

# %% [markdown]
# Now with `y = y + 1`, which makes a new tensor. Put the two side by side: on the right there is no write, and the node finds
# what it has saved:

# %%
x.grad = None
with mg.debug.record() as accepted:
    y = x.exp()
    y = y + 1
    y.sum().backward()
mg.viz.diff(refused, accepted, labels=("y += 1", "y = y + 1"))

# %% [markdown]
# ## The source
#
# Here is the counter. Every write that the engine should notice calls `bump`:

# %%
mg.utils.source.source_of("_core/graph/version.py", "VersionCounter")

# %% [markdown]
# And here is the check. Most of it is the message; the comparison is one line, `if now != version`:

# %%
mg.utils.source.source_of("_core/record/saved_tensor.py", "check_version")

# %% [markdown]
# ## Which writes are harmless
#
# A write does harm if a formula needs the overwritten values. So it depends on *what the operation has saved*: its input, its
# output, or nothing. Let us try each operation: write to the input, write to the output, and see whether the backward runs.

# %%
OPERATIONS = {
    "h + 1": lambda h: h + 1,
    "h * 3": lambda h: h * 3,
    "h.sum()": lambda h: h.sum(),
    "h.reshape(2, 1)": lambda h: h.reshape(2, 1),
    "h * h": lambda h: h * h,
    "h ** 2": lambda h: h ** 2,
    "h.sin()": lambda h: h.sin(),
    "h.log()": lambda h: h.log(),
    "h.abs()": lambda h: h.abs(),
    "h.exp()": lambda h: h.exp(),
    "h.sqrt()": lambda h: h.sqrt(),
    "h.tanh()": lambda h: h.tanh(),
    "h.sigmoid()": lambda h: h.sigmoid(),
    "h.relu()": lambda h: h.relu(),
    "h.softmax(0)": lambda h: h.softmax(0),
    "h.reciprocal()": lambda h: h.reciprocal(),
}


# %%
def survives(operation, write_to):
    """Whether the backward runs after a write to the "input" or the "output"."""
    h = mg.tensor([0.5, 0.7], requires_grad=True) * 1
    y = operation(h)
    with mg.no_grad():
        {"input": h, "output": y}[write_to].mul_(2)
    try:
        y.sum().backward()
    except RuntimeError as error:
        assert error.code == "MG-E102"
        return False
    return True


print(f"{'':<16} {'saves':<18} {'write to input':<16} write to output")
for name, operation in OPERATIONS.items():
    saved = mg.debug.saved(operation(mg.ones(2, requires_grad=True)), graph=False)
    kinds = {"its output" if entry.name == "result" else "its input" for entry in saved}
    inputs, outputs = ["fine" if survives(operation, to) else "error"
                       for to in ("input", "output")]
    print(f"{name:<16} {', '.join(kinds) or 'nothing':<18} {inputs:<16} {outputs}")

# %% [markdown]
# `reshape` saves nothing, but its result shares the memory of its input. If a node has saved one of them, a write to the other
# counts, too.
#
# There are three groups. Operations whose derivative does not depend on the numbers (sums, multiples, changes of shape) save
# nothing. Other formulas need the input. And some derivatives are simplest in terms of the output: $e^x$, $\sqrt{x}$, $\tanh x$,
# $1/x$ and similar functions. For these, you may overwrite the *input*.
#
# So `relu_()` after a linear layer works and saves memory, but `x.exp().relu_()` fails: the operation *before* the write decides.
#
# ### Deeper: values that no formula needs
#
# Another rule: values that no formula needs are not saved. A product saves each factor for the gradient of the *other* factor. If
# the other factor needs no gradient, this factor is not saved:

# %%
mask = mg.tensor([1.0, 0.0])
h = x * 1
y = h * mask            # keeps mask, for the gradient of h; not h, since mask needs none
with mg.no_grad():
    h.zero_()
y.sum().backward()
print("a write to h: fine")

y = (x * 1) * mask
mask.fill_(1.0)
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    y.sum().backward()

# %% [markdown]
# Read the message: it does not say "which is output 0 of ...", because the tensor was not the result of a recorded operation. A
# formula can also need tensors that require no gradient: a mask, a table of indices, a running mean. [Tutorial
# 7](07_saved_tensors.py) shows what each operation saves.
#
# ## Deeper: the check is cautious
#
# The engine compares *numbers of writes*, and not the written values. So it also refuses programs that would have been right:

# %%
def same_numbers(h):
    y = h * h
    h.copy_(h.clone())          # what was there before
    return y


def undone(h):
    y = h * h
    h += 1
    h -= 1                      # two writes, which cancel
    return y


def other_part(h):
    y = h[0] * h[0]
    h[1] = 0.0                  # not what was saved, but in the same memory
    return y


for function in (same_numbers, undone, other_part):
    with mg.testing.expect_error(RuntimeError, code="MG-E102", quiet=True):
        function(x.clone()).sum().backward()
    print("refused:", function.__name__)

# %% [markdown]
# To see that these writes are harmless, the engine would have to keep a copy and compare every element. That costs memory and
# time in every program. Comparing two numbers costs almost nothing. If they are equal, there was no counted write. If they are not,
# the gradient *may* be wrong.
#
# (`undone` would not even be exact: for small `h`, `h + 1 - 1` is not `h`.)
#
# ## Which line wrote?
#
# The message says which node has saved the tensor. It cannot say which line wrote to it, because writes are not recorded. Inside
# `mg.debug()` they are. This costs time, so switch it on only to find an error.

# %%
with mg.debug():
    y = x.exp()
    z = y.detach()
    z.mul_(2)
    with mg.testing.expect_error(RuntimeError, code="MG-E102"):
        y.sum().backward()
    print()
    print(mg.debug.versions(y))

# %% [markdown]
# Look at the lines after `where:`. They show the line that saved and the line that wrote. The write was to `z`, which is not in the
# message; but `z` shares the memory of `y`.
#
# ## What to do about it
#
# In this order:
#
# 1. **Do not write.** Use `y = y + 1` instead of `y += 1`. This creates a new tensor, and the old one stays unchanged for the node
#    that has saved it.
# 2. **Write earlier**: before the operation that saves.
# 3. **Write to a copy**: `z = y.clone()`, then write to `z`. Clone *before* the write, and write to the clone.
# 4. **Copy on demand.** Inside `mg.autograd.graph.allow_mutation_on_saved_tensors()`, each write first copies a tensor that a node
#    has saved. The backward must run inside, too.
#
# ### Deeper: all four, run

# %%
def gradient(program):
    x.grad = None
    program().sum().backward()
    return show(x.grad)


def first_remedy():
    y = x.exp()
    return y + 1        # a new tensor


def second_remedy():
    h = x * 1
    h += 1              # before exp
    return h.exp()


def third_remedy():
    y = x.exp()
    z = y.clone()
    z += 1
    return y + z


for remedy in (first_remedy, second_remedy, third_remedy):
    print(f"{remedy.__name__:<14}", gradient(remedy))

with mg.autograd.graph.allow_mutation_on_saved_tensors():
    x.grad = None
    y = x.exp()
    y += 1
    y.sum().backward()
print(f"{'copy on demand':<14}", show(x.grad))

# %% [markdown]
# ## Deeper: the optimizer between forward and backward
#
# Here is a common cause of the error. A program carries a state from one iteration to the next. The first attempt failed with
# "backward through the graph a second time" ([tutorial 4](04_retain_graph.py)), so the author added `retain_graph=True`:

# %%
def train(detach):
    w = mg.tensor([0.5, 0.7], requires_grad=True)
    optimizer = mg.optim.SGD([w], lr=0.1)
    h = mg.ones(2)
    for iteration in range(3):
        print(f"iteration {iteration}")
        if detach:
            h = h.detach()
        h = (h * w).tanh()
        optimizer.zero_grad()
        h.square().sum().backward(retain_graph=not detach)
        optimizer.step()
    return w


with mg.debug(), mg.testing.expect_error(RuntimeError, code="MG-E102"):
    train(detach=False)

# %% [markdown]
# The third backward does not stop at its own iteration. It goes on through `h` into the second iteration. There the product has
# saved `w` at version 1. Since then, the optimizer has made a step. (In the first iteration `h` needed no gradient. So the product
# did not need `w`, and did not save it.)
#
# The message seems to be about the layer, but the cause is the state. Each iteration should be differentiated separately:

# %%
print(train(detach=True))

# %% [markdown]
# The same happens with two losses and two steps, as with a generator and a discriminator. This order always works: first all
# forwards and backwards that belong together, then the steps.
#
# ## Deeper: a quiz of eight programs
#
# There are eight programs. Each takes a leaf `x` with two numbers, and returns a loss; then we call `backward`. Say for each
# program: **does it raise an error? And if not, is the gradient right?** The answers are folded: `judge` runs the program, and
# compares the gradient with finite differences.

# %%
def judge(program, because):
    """Run a program of the quiz, and print the verdict."""
    def value(numbers):
        return program(mg.tensor(numbers, dtype=mg.float64, requires_grad=True)).item()

    at, step = [0.5, 1.5], 1e-6
    x = mg.tensor(at, dtype=mg.float64, requires_grad=True)
    loss = program(x)
    try:
        loss.backward()
    except RuntimeError as error:
        assert error.code == "MG-E102"
        print("It raises.")
        print(textwrap.fill(because, 84))
        return
    nudged = []
    for i in range(2):
        more, less = list(at), list(at)
        more[i], less[i] = at[i] + step, at[i] - step
        nudged.append((value(more) - value(less)) / (2 * step))
    off = max(abs(got - wanted) for got, wanted in zip(x.grad.tolist(), nudged))
    found = "right" if off < 1e-5 else "WRONG"
    print(f"It does not raise, and the gradient is {found}.")
    print(textwrap.fill(because, 84))


# %% [markdown]
# **One.**

# %%
def one(x):
    y = x.sin()
    y += 1
    return y.sum()


# %% tags=["hide-cell", "quiz"]
judge(one, "sin saves its input. The write was to the output.")


# %% [markdown]
# **Two.**

# %%
def two(x):
    y = x.exp()
    with mg.no_grad():
        y += 1
    return y.sum()


# %% tags=["hide-cell", "quiz"]
judge(two, "exp saves its output. no_grad() keeps the addition out of the graph; "
           "the write is counted.")


# %% [markdown]
# **Three.**

# %%
def three(x):
    h = x * 2
    y = h.exp()
    h.zero_()
    return y.sum()


# %% tags=["hide-cell", "quiz"]
judge(three, "No node needs h: x * 2 saves nothing of its result, and exp saves its own.")


# %% [markdown]
# **Four.**

# %%
def four(x):
    h = x.clone()
    y = h[1] * h[1]
    h[0] = 0.0
    return y


# %% tags=["hide-cell", "quiz"]
judge(four, "The product saves h[1], a view. A view and its base have one counter, "
            "so a write to h[0] counts. It would have done no harm.")


# %% [markdown]
# **Five.**

# %%
def five(x):
    h = x.clone()
    h[0] = 5.0
    return (h * h).sum()


# %% tags=["hide-cell", "quiz"]
judge(five, "The write comes before the save: the product saves h at version 1, "
            "and finds it at version 1. The gradient of x[0] is 0.")


# %% [markdown]
# **Six.**

# %%
def six(x):
    y = x.exp()
    y.data += 1
    return y.sum()


# %% tags=["hide-cell", "quiz"]
judge(six, ".data has its own counter. The engine sees no write, "
           "and multiplies with e^x + 1.")


# %% [markdown]
# **Seven.**

# %%
def seven(x):
    total = mg.zeros((), dtype=mg.float64)
    for _ in range(3):
        total += (x * x).sum()
    return total


# %% tags=["hide-cell", "quiz"]
judge(seven, "Three writes to total. A sum saves nothing: no formula needs the old values.")


# %% [markdown]
# **Eight.**

# %%
def eight(x):
    h = (x * 3).relu_()
    h.add_(1)
    return h.sum()


# %% tags=["hide-cell", "quiz"]
judge(eight, "relu_ saves its output, at the version after its own write: 1. "
             "add_ makes that 2. The other way round, add_ then relu_, is fine.")

# %% [markdown]
# ## The same in PyTorch
#
# The rules are the same, and so is what each operation of our table saves:
#
# ```python
# >>> import torch
# >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
# >>> y = x.exp()
# >>> view, detached, data = y[0], y.detach(), y.data
# >>> y += 1
# >>> y._version, view._version, detached._version, data._version
# (1, 1, 1, 0)
# >>> try:
# ...     y.sum().backward()
# ... except RuntimeError as error:
# ...     print(str(error).split("which is ")[1].split(".")[0])
# output 0 of Exp, is at version 1; expected version 0 instead
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | mechanism | minigrad | PyTorch |
# |---|---|---|
# | the counter | `minigrad/_core/graph/version.py`, `VersionCounter` | [`TensorImpl.h`][a], `VariableVersion` |
# | a write counts | `bump`, before the write | [`VariableTypeUtils.h`][b], `increment_version`, after it |
# | what a node keeps | `minigrad/_core/record/saved_tensor.py`, `SavedTensor` | [`saved_variable.h`][c], `SavedVariable` |
# | the check | `minigrad/_core/record/saved_tensor.py`, `check_version` | [`saved_variable.cpp`][d], `SavedVariable::unpack` |
# | what an operation saves | the parameters of its `vjp`, in `minigrad/ops/` | [`derivatives.yaml`][e]: `self`, `result` |
# | copy on demand | `minigrad/autograd/_mutation.py` | [`graph.py`][f], `allow_mutation_on_saved_tensors` |
# | who wrote | `mg.debug()` | nothing; anomaly detection finds the line that saved |
#
# [a]: https://github.com/pytorch/pytorch/blob/v2.13.0/c10/core/TensorImpl.h
# [b]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/VariableTypeUtils.h
# [c]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/saved_variable.h
# [d]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/saved_variable.cpp
# [e]: https://github.com/pytorch/pytorch/blob/v2.13.0/tools/autograd/derivatives.yaml
# [f]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/autograd/graph.py
#
# ## What goes wrong
#
# It is worse if the error is missing. In four ways a program can write so that the engine does not notice. Each gives a wrong
# gradient silently.
#
# **`.data`** we have seen. If you find it in old code, replace it by `detach()`, which shares the memory and the counter. If an
# error appears then, the old code was wrong.

# %%
y = x.exp()
y.detach().add_(1)
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    y.sum().backward()

# %% [markdown]
# ### Deeper: NumPy, attributes, hooks, and a clone that comes too late
#
# **NumPy.** The array of a tensor shares its memory, and NumPy does not count writes. If you must write, report it afterwards:

# %%
def by_numpy(honest):
    y = x.exp()
    y.detach().numpy()[:] = 0.0
    if honest:
        mg.autograd.graph.increment_version(y)
    return y


print("wrong:", gradient(lambda: by_numpy(honest=False)))
with mg.testing.expect_error(RuntimeError, code="MG-E102", quiet=True):
    gradient(lambda: by_numpy(honest=True))

# %% [markdown]
# **A Function that stores tensors as attributes** ([tutorial 14](14_function.py)). `save_for_backward` stores the version. An
# attribute of `ctx` is only an attribute (and an output stored there creates a reference cycle, which only the garbage collector can
# free):

# %%
class Exponential(mg.autograd.Function):
    @staticmethod
    def forward(ctx, x, careful):
        y = x.exp()
        if careful:
            ctx.save_for_backward(y)
        else:
            ctx.y = y
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors or (ctx.y,)
        return g * y, None


def by_function(careful):
    y = Exponential.apply(x, careful)
    y += 1
    return y


print("wrong:", gradient(lambda: by_function(careful=False)))
with mg.testing.expect_error(RuntimeError, code="MG-E102", quiet=True):
    gradient(lambda: by_function(careful=True))

# %% [markdown]
# **Hooks on saved tensors** ([tutorial 8](08_packing.py)). The engine does not check objects that a hook has packed. A pack hook that
# returns the tensor without a copy switches the check off:

# %%
def by_hooks():
    with mg.autograd.graph.saved_tensors_hooks(lambda kept: kept, lambda kept: kept):
        y = x.exp()
    y += 1
    return y


print("wrong:", gradient(by_hooks))

# %% [markdown]
# The last case raises an error again: **a clone that comes too late.** The usual advice is "use clone". But this clone copies
# values that are already overwritten:

# %%
y = x.exp()
y += 1
with mg.testing.expect_error(RuntimeError, code="MG-E102", quiet=True) as caught:
    y.clone().sum().backward()
print(caught.value.code)

# %% [markdown]
# More about the error and about common advice: {doc}`/errors/modified-by-an-inplace-operation`.
#
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. Your own node.** Write `Product`, the node of $x y$, by hand, as we did for `Exp`. `backward(g)` returns a pair: the
# gradients of $x$ and of $y$, or None for a factor that does not require a gradient. Save only the tensors that you need, and raise
# a RuntimeError if the program has written to one of them.

# %%
class Product:
    def __init__(self, x, y):
        raise NotImplementedError      # your code goes here

    def backward(self, g):
        raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(1)
def check_product(cls):
    def factors(*needs):
        numbers = zip((2.0, 3.0), needs, strict=True)
        return [mg.tensor([number, 1.0]).requires_grad_(need) for number, need in numbers]

    def write(tensor):
        with mg.no_grad():
            tensor += 1

    gx, gy = cls(*factors(True, True)).backward(g := mg.ones(2))
    got = gx.tolist(), gy.tolist()
    assert got == ([3.0, 1.0], [2.0, 1.0]), f"the gradients at (2, 1) and (3, 1): {got}"
    x, y = factors(True, False)
    node = cls(x, y)
    write(x)            # x is needed only for the gradient of y, which is not required
    try:
        gx, gy = node.backward(g)
    except RuntimeError:
        raise AssertionError("no formula that runs needs x, but it was saved") from None
    assert gx.tolist() == [3.0, 1.0], f"the gradient of x is {gx.tolist()}"
    assert gy is None, "y requires no gradient, so it gets None"
    for which in (0, 1):
        both = factors(True, True)
        node = cls(*both)
        write(both[which])
        try:
            node.backward(g)
        except RuntimeError:
            continue
        raise AssertionError(f"a write to factor {which} was not noticed")
    print("right")


# %% tags=["help"]
check_product.hints = [
    "The gradient of `x` is `g` times `y`. So which factor do you save if only `x` requires a "
    "gradient?",
    "Save a tensor together with its `_version`. `backward` compares this number with the "
    "version that the tensor has then.",
    "Save a list of two entries, one for each factor. An entry is None, or a pair of the "
    "*other* factor and its version. `backward` goes through the list, and the None entries "
    "stay None."]
check_product.wrong = {
    "the gradients at (2, 1) and (3, 1): ([2.0, 1.0], [3.0, 1.0])":
        "You exchanged the two gradients: the slope with respect to `x` is `y`.",
    "no formula that runs needs x, but it was saved":
        "Only the gradient of `y` needs `x`. If `y` requires none, do not save `x`.",
    "a write to factor 0 was not noticed":
        "Save the version beside the tensor, and compare it in `backward`. A copy would hide "
        "the write.",
    "y requires no gradient, so it gets None": "Ask `requires_grad` when the node is made."}


# %% tags=["hide-cell", "solution"]
class ProductSolution:
    def __init__(self, x, y):
        # for the gradient of x we need y, and the other way round
        self.saved = [(other, other._version) if tensor.requires_grad else None
                      for tensor, other in ((x, y), (y, x))]

    def backward(self, g):
        gradients = []
        for entry in self.saved:
            if entry is not None and entry[0]._version != entry[1]:
                raise RuntimeError("a factor has been modified in place")
            gradients.append(None if entry is None else g * entry[0].detach())
        return tuple(gradients)


check_product(ProductSolution)

# %% [markdown]
# **2. Repair it.** This program fills a table row by row: each row is the row before, times `w`. Its backward raises an error. Find
# out why, and write `powers(w, n)` so that it returns the same table and can be differentiated.

# %%
def powers_broken(w, n):
    table = mg.ones(n, 2)
    for i in range(1, n):
        table[i] = table[i - 1] * w
    return table


def powers(w, n):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_powers(powers):
    w = mg.tensor([2.0, 3.0], requires_grad=True)
    with mg.testing.expect_error(RuntimeError, code="MG-E102", quiet=True):
        powers_broken(w, 4).sum().backward()
    table = powers(w, 4)
    assert mg.equal(table, powers_broken(w, 4)), f"the table is {table.tolist()}"
    w.grad = None
    table.sum().backward()
    wanted = [1 + 2 * 2 + 3 * 4, 1 + 2 * 3 + 3 * 9]     # of 1 + w + w**2 + w**3
    assert w.grad.tolist() == wanted, f"the gradient is {w.grad.tolist()}"
    print("right")


# %% tags=["help"]
check_powers.hints = [
    "Which tensor does each product save? What writes to its memory afterwards?",
    "The product saves `table[i - 1]`, a view of the table. Every later row is a write to the "
    "same memory.",
    "Do not write to a tensor that is saved. Collect the rows in a list: each new row is the "
    "last entry times `w`. Join them at the end with `mg.stack`."]
check_powers.wrong = {
    "MG-E102":
        "The rows are still written into one tensor, and a product has saved a part of it.",
    "the gradient is [7.0, 13.0]":
        "The factor was cut out of the graph, by `.data` or `detach()`. The error is gone, and "
        "so is a part of the gradient.",
    "the table is [[2.0, 3.0], [4.0, 9.0], [8.0, 27.0], [16.0, 81.0]]":
        "The first row is a row of ones."}


# %% tags=["hide-cell", "solution"]
def powers_solution(w, n):
    # The product saves table[i - 1], a view, and every later write to the table counts.
    # So do not write; collect, and join at the end.
    rows = [mg.ones(2)]
    for _ in range(1, n):
        rows.append(rows[-1] * w)
    return mg.stack(rows)


check_powers(powers_solution)

# %% [markdown]
# **3. One memory or two?** Write `share_counter(a, b)`: it returns whether a write to `a` counts as a write to `b`. It must not
# change the numbers or the versions. Hint: look up `mg.autograd.graph.increment_version` and
# `mg.autograd._unsafe_preserve_version_counter`.

# %%
def share_counter(a, b):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_share_counter(share_counter):
    a, leaf = mg.ones(3), mg.ones(3, requires_grad=True)
    pairs = [(a, a[0], True), (a[:2], a[2:], True), (a, a.detach(), True),
             (leaf, leaf[1:].detach(), True), (a, a.data, False), (a, a.clone(), False),
             (leaf, leaf * 1, False)]
    for i, (first, second, wanted) in enumerate(pairs):
        before = first._version, second._version
        found = share_counter(first, second)
        assert found is wanted, f"pair {i}: {found} instead of {wanted}"
        assert (first._version, second._version) == before, "the versions have changed"
    assert a.tolist() == leaf.tolist() == [1.0, 1.0, 1.0], "the numbers have changed"
    print("right")


# %% tags=["help"]
check_share_counter.hints = [
    "How can you find out whether two tensors share a counter, if you may change it for a "
    "moment?",
    "`mg.autograd.graph.increment_version(a)` counts a write to `a`, and writes nothing. Look "
    "at `b._version` before and after.",
    "`with mg.autograd._unsafe_preserve_version_counter(a):` restores the version of `a` when "
    "the block ends. Do the rest inside, and return whether the version of `b` has changed."]
check_share_counter.wrong = {
    "pair 1: False instead of True":
        "The addresses of the first elements differ. But both are views of one memory, and "
        "they share its counter.",
    "pair 4: True instead of False": "`a.data` has the memory of `a`, and a counter of its own.",
    "the versions have changed":
        "No write may remain. Count a write without writing, and restore the version."}


# %% tags=["hide-cell", "solution"]
def share_counter_solution(a, b):
    # puts the version back at the end
    with mg.autograd._unsafe_preserve_version_counter(a):
        before = b._version
        mg.autograd.graph.increment_version(a)
        return b._version != before


check_share_counter(share_counter_solution)

# %% [markdown]
# ## What to remember
#
# * Memory has a **version**, which every in-place write increases, also under `no_grad()`. Views and `detach()` share it; `.data`
#   does not.
# * A node stores the version of each saved tensor, and compares it **when it uses the tensor**. If the versions differ, the gradient
#   may be wrong, so this is an error.
# * Whether a write does harm depends on what the operation *before* it has saved: its input, its output, or nothing.
# * `mg.debug()` names the line that saved and the line that wrote. The solution is nearly always `y = y + 1` instead of `y += 1`.
# * A step of the optimizer is a write. Run all backwards that need the old values before it.
#
# **Next:** [tutorial 10](10_views_in_place.py), which shows what a write through a view does to the history of its base.
