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
# **The question.** A node keeps a tensor for the backward. Before the backward comes, the program overwrites that tensor. How
# does the engine know? And why does it let some writes pass, and refuse others that change nothing?
#
# You need: [tutorial 1](01_derivative_to_graph.py); that a node saves values for its formula ([tutorial 7](07_saved_tensors.py)); and operations in
# place (`y += 1`, `y.mul_(2)`, `y[0] = 5`). You get: the mechanism, which is a number and a comparison; a table of which writes
# are harmless; and a quiz of eight programs to try yourself on.
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
# It keeps no copy of these numbers. Copies would take as much memory again as the results of the forward. It looks at the
# memory of `y`. What if the program writes there? Adding 1 to `y` does not change its derivative. We add it through `.data`, a
# back door that the engine does not watch:

# %%
x.grad = None
y = x.exp()
y.data += 1
y.sum().backward()
print("gradient:", show(x.grad))

# %% [markdown]
# Both numbers are wrong, by 1. There was no error, and no warning. A model may even train like this, only worse.
#
# That is what must not happen. Without the back door it does not:

# %%
y = x.exp()
y += 1
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    y.sum().backward()

# %% [markdown]
# ## A number that goes up
#
# Every piece of memory has a **version**: how many times it has been written to. Each operation in place counts one.

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
# `no_grad()` makes no difference. It says that a write is not to be *differentiated*. The memory changes all the same.
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
# Two of them stand apart. `clone()` has memory of its own. `.data` has not: it looks at the memory of `a`, with a counter of
# its own. Writes through it are counted there, where nobody looks. That was our back door.
#
# **Predict.** `p` is a parameter, and an optimizer has stepped three times. What is its version?
#
# <details><summary>Answer</summary>
#
# It is 3. A step is a write in place. That is the whole point of it: the parameter stays the same tensor, with other numbers.
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
# When a node saves a tensor it notes the version. When its formula asks for the tensor, the version must still be the same.
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
# There is no more to it. The real nodes do the same, and `mg.debug.saved` shows what they have noted: the version at the time
# of saving, and the one now if it is another.

# %%
y = x.exp()
first = y[0]
y += 1
mg.debug.saved(y.sum())

# %% [markdown]
# In a picture, with `first`, which looks at the memory of `y`:

# %%
mg.viz.draw(y.sum(), names={"x": x, "y": y, "first": first})

# %% [markdown]
# ## Step by step
#
# Look at the table of storages, and at the version in the table of what is saved. The write comes early. The error comes when
# `ExpBackward0` unpacks. With *predict* you are asked what comes next, and whether it will raise.

# %%
with mg.debug.record() as refused:
    y = x.exp()
    y += 1
    with mg.testing.expect_error(RuntimeError, code="MG-E102", quiet=True):
        y.sum().backward()
mg.viz.step(refused)

# %% [markdown]
# As a table, without what is not about versions:

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
# The check is made **at use**, not at the write. A write cannot know whether anyone will ever run the backward. If nobody does,
# there is nothing to complain about:

# %%
y = x.exp()
y += 1              # somebody has saved y; no error here
print(show(y))      # and none later, if this is all that we wanted

# %% [markdown]
# The price is that the error is raised far from the line that is to blame. More about that below.
#
# ## The source
#
# Here is the counter. Every write that the engine should know of comes by `bump`:

# %%
mg.utils.source.source_of("_core/graph/version.py", "VersionCounter")

# %% [markdown]
# And here is the check. Most of it is the message; the comparison is one line, `if now != version`:

# %%
mg.utils.source.source_of("_core/record/saved_tensor.py", "check_version")

# %% [markdown]
# ## Which writes are harmless
#
# A write does harm if somebody needs what is overwritten. So it depends on *what the operation has saved*: its input, its
# output, or nothing. Let us ask each: write to the input, write to the output, and see whether the backward runs.

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
# `reshape` saves nothing, but its result looks at the memory of its input: for a node that has saved one of them, a write to the
# other counts.
#
# Three groups. Operations whose derivative does not depend on the numbers (sums, multiples, changes of shape) save nothing. For
# others the formula needs the input. And for some the derivative is most easily said with the output: $e^x$, $\sqrt{x}$,
# $\tanh x$, $1/x$ and their like. There the *input* may be overwritten.
#
# That is why `relu_()` after a linear layer is fine and saves memory, and `x.exp().relu_()` is not: what counts is the
# operation *before*.
#
# Another rule: what no formula needs is not saved. In a product each factor is kept for the gradient of the *other*. If the
# other needs none, the factor is not kept:

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
# Read the message: nothing in it says "which is output 0 of ...". The tensor was no result of a recorded operation. A mask, a
# table of indices, a running mean: a tensor need not require a gradient itself to be needed for one. More about who keeps what:
# [tutorial 7](07_saved_tensors.py).
#
# ## Careful, not clever
#
# The engine compares *numbers of writes*. It does not look at what was written. So it also refuses programs that would have
# been right:

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
# To find out that these do no harm, the engine would have to keep a copy and compare, element by element: more memory and more
# time for every program. Two numbers are compared in no time. If they are equal, no write was counted. If they are not, the
# gradient *may* be wrong.
#
# (`undone` would not even be exact: `h + 1 - 1` is not `h`, for small `h`.)
#
# ## Who wrote?
#
# The message says which node has saved, and what. It cannot say which line wrote: nobody took that down. Inside `mg.debug()`
# somebody does. It costs time, so it is switched on for looking, and off again.

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
# Look at the lines behind `where:`. There is the line that saved, and there is the line that wrote. The write was to `z`, which
# does not occur in the message; but `z` shares the memory of `y`.
#
# ## What to do about it
#
# In this order:
#
# 1. **Do not write.** `y = y + 1` instead of `y += 1`. It makes a new tensor. The old one stays as it was for the node that has
#    saved it.
# 2. **Write earlier**: before the operation that saves.
# 3. **Write to a copy**: `z = y.clone()`, then write to `z`. The clone has to be made *before* the write, and it has to be the
#    thing written to.
# 4. **Copy on demand.** Inside `mg.autograd.graph.allow_mutation_on_saved_tensors()` each write first makes a copy of what
#    somebody has saved. The backward has to run inside, too.

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
# ## The optimizer between forward and backward
#
# Here is a common way to meet the error. A state is carried from one iteration to the next. A first attempt failed with
# "backward through the graph a second time" ([tutorial 4](04_retain_graph.py)), so somebody added `retain_graph=True`:

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
# The third backward does not stop at its own iteration. It walks on through `h` into the second one. There the product has
# saved `w`, as it was then, at version 1. Since then a step has been taken. (In the first iteration `h` needed no gradient. So
# the product had no use for `w`, and did not keep it.)
#
# The message looks like one about the layer. It is about the state. What was meant is that each iteration is differentiated by
# itself:

# %%
print(train(detach=True))

# %% [markdown]
# The same happens with two losses and two steps, as in a game of a generator against a discriminator. The order that always
# works: all forwards and backwards that belong together, then the steps.
#
# ## Quiz
#
# Eight programs. Each takes a leaf `x` with two numbers, and gives a loss; then `backward` is called. Say for each: **does it
# raise? And if not, is the gradient right?** The answers are folded away. They are executed: `judge` runs the program, and
# compares the gradient with what nudging `x` gives.

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
judge(three, "Nobody needs h: x * 2 saves nothing of its result, and exp saves its own.")


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
judge(seven, "Three writes to total. A sum saves nothing: nobody needs what was there.")


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
# | | minigrad | PyTorch |
# |---|---|---|
# | the counter | `minigrad/_core/graph/version.py`, `VersionCounter` | [`TensorImpl.h`][a], `VariableVersion` |
# | a write counts | `bump`, before the write | [`VariableTypeUtils.h`][b], `increment_version`, after it |
# | what a node keeps | `minigrad/_core/record/saved_tensor.py`, `SavedTensor` | [`saved_variable.h`][c], `SavedVariable` |
# | the check | `saved.py`, `check` | [`saved_variable.cpp`][d], `SavedVariable::unpack` |
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
# Besides the error itself, there is its absence. Four ways to write behind the engine's back. Each gives a wrong gradient in
# silence.
#
# **`.data`** we have seen. Where you read it in old code, write `detach()`: it shares the memory and the counter. If an error
# appears then, the old code was wrong.

# %%
y = x.exp()
y.detach().add_(1)
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    y.sum().backward()

# %% [markdown]
# **NumPy.** An array of a tensor is its memory. NumPy counts nothing. If you must write, say so afterwards:

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
# **A Function that keeps tensors by itself** ([tutorial 14](14_function.py)). `save_for_backward` notes the version. An attribute of `ctx` is
# just an attribute (and an output kept there makes a cycle of references, which only the garbage collector can free):

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
# **Hooks on saved tensors** ([tutorial 8](08_packing.py)). What a hook has packed belongs to the hook, and the engine does not check it. A
# pack hook that returns the tensor as it is, without copying it, switches the check off:

# %%
def by_hooks():
    with mg.autograd.graph.saved_tensors_hooks(lambda kept: kept, lambda kept: kept):
        y = x.exp()
    y += 1
    return y


print("wrong:", gradient(by_hooks))

# %% [markdown]
# The last case is loud again: **a clone that comes too late.** The error was raised, and the advice was "use clone". This one
# copies what has been overwritten already:

# %%
y = x.exp()
y += 1
with mg.testing.expect_error(RuntimeError, code="MG-E102", quiet=True) as caught:
    y.clone().sum().backward()
print(caught.value.code)

# %% [markdown]
# More about the error and about the advice that circulates: {doc}`/errors/modified-by-an-inplace-operation`.
#
# ## Exercises
#
# Each has a check that runs. Solutions are folded away below it.
#
# **1. A node of your own.** Write `Product`, the node of $x y$, by hand, as we did for `Exp`. `backward(g)` gives a pair: the
# gradients of $x$ and of $y$, None for one that does not require a gradient. Keep only what is needed, and raise a RuntimeError
# if what is needed has been written to.

# %%
class Product:
    """Your lines go here."""

    def __init__(self, x, y):
        pass

    def backward(self, g):
        pass


# %%
def check_product(cls):
    def factors(*needs):
        numbers = zip((2.0, 3.0), needs, strict=True)
        return [mg.tensor([number, 1.0]).requires_grad_(need) for number, need in numbers]

    def write(tensor):
        with mg.no_grad():
            tensor += 1

    g = mg.ones(2)
    gx, gy = cls(*factors(True, True)).backward(g)
    got = gx.tolist(), gy.tolist()
    assert got == ([3.0, 1.0], [2.0, 1.0]), f"the gradients at (2, 1) and (3, 1): {got}"
    x, y = factors(True, False)
    node = cls(x, y)
    write(x)            # x is needed for the gradient of y alone, and y wants none
    gx, gy = node.backward(g)
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


# %% tags=["hide-cell"]
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
# **2. Mend it.** This program fills a table row by row: each row is the one before, times `w`. Its backward raises. Find out
# why, and write `powers(w, n)` so that it returns the same table and can be differentiated.

# %%
def powers_broken(w, n):
    table = mg.ones(n, 2)
    for i in range(1, n):
        table[i] = table[i - 1] * w
    return table


def powers(w, n):
    """Your lines go here."""


# %%
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


# %% tags=["hide-cell"]
def powers_solution(w, n):
    # The product saves table[i - 1], a view, and every later write to the table counts.
    # So do not write; collect, and join at the end.
    rows = [mg.ones(2)]
    for _ in range(1, n):
        rows.append(rows[-1] * w)
    return mg.stack(rows)


check_powers(powers_solution)

# %% [markdown]
# **3. One memory or two?** Write `share_counter(a, b)`: whether a write to `a` counts as a write to `b`. The numbers and the
# versions have to be afterwards what they were before. Hint: look up `mg.autograd.graph.increment_version` and
# `mg.autograd._unsafe_preserve_version_counter`.

# %%
def share_counter(a, b):
    """Your lines go here."""


# %%
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


# %% tags=["hide-cell"]
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
# * Memory has a **version**, which every write in place counts up, under `no_grad()` too. Views and `detach()` share it;
#   `.data` does not.
# * A node notes the version of what it saves, and compares **when it uses it**. Unequal means: perhaps wrong, and so an error.
# * Whether a write does harm depends on what the operation *before* has saved: its input, its output, or nothing.
# * `mg.debug()` names the line that saved and the line that wrote. The remedy is nearly always `y = y + 1` in place of
#   `y += 1`.
# * A step of the optimizer is a write. Run all backwards that need the old values before it.
#
# **Next:** [tutorial 10](10_views_in_place.py), which says what a write through a view does to the history of its base.
