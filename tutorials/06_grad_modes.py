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
# # Grad modes, detach, .data and inference
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** [tutorial
# 1](01_derivative_to_graph.py), and that a node saves values for its formula ([tutorial 4](04_retain_graph.py)). **Afterwards** you
# can choose between `no_grad`, `detach`, `.data` and inference mode, and say which error a wrong choice gives.
#
# **The question.** We do not want to differentiate some steps of a program: an evaluation, the update of the parameters, a target
# that should count as a constant. How do we keep them out of the graph, and what do we lose each time?
#
# A tensor has three things, and each way treats them differently:
#
# | name | what it is | seen by |
# |---|---|---|
# | **storage** | the memory with the numbers | `data_ptr()` |
# | **version** | the number of writes to that memory; one counter for all tensors that share it | `_version` |
# | **history** | the node that computed the tensor, and all nodes behind it | `grad_fn` |
#
# The example is a small model with parameters $w$, and a loss that compares its results for two inputs:

# %%
import contextlib
import threading

import minigrad as mg

w = mg.tensor([0.5, -1.0], requires_grad=True)
now, later = mg.tensor([1.0, 2.0]), mg.tensor([2.0, 0.5])


def model(x):
    return (w * x).tanh()


loss = ((model(now) - model(later)) ** 2).sum()
mg.viz.draw(loss)

# %% [markdown]
# Two paths lead from the loss to `w`, one through each call of the model.
#
# ## A switch
#
# The obvious idea is to compute as always, and to drop the graph afterwards. The result is right. But during the computation,
# every value that a formula might need is kept, and an evaluation never needs them. So it is better not to record at all. For
# the tape of tutorial 1 this takes one flag:

# %%
tape = []
recording = True


@contextlib.contextmanager
def without_tape():
    global recording
    before, recording = recording, False
    try:
        yield
    finally:
        recording = before


def multiply(a, b):
    if recording:
        tape.append((a, b))
    return a * b


multiply(2.0, 3.0)
with without_tape():
    multiply(4.0, 5.0)
print(tape)

# %% [markdown]
# Three details matter. The flag is also restored after an error. It is restored to its *previous* value, not to `True`, so that
# you can nest blocks. And an operation reads it when it runs, not when a function is defined.
#
# ## Grad mode
#
# minigrad's flag is called **grad mode**, and `no_grad()` is the block. An operation under it computes the same numbers and
# leaves no node:

# %%
x = mg.ones(1000, requires_grad=True)
y = (x * 2).exp().sin()
print("recorded:", y.grad_fn.name(), f"and {mg.debug.saved(y).nbytes:,} bytes saved")
with mg.no_grad():
    z = (x * 2).exp().sin()
print("no_grad: ", z.grad_fn, " requires_grad:", z.requires_grad, " is_leaf:", z.is_leaf)

# %% [markdown]
# The result requires no gradient, although `x` does. It is a leaf: no graph knows how it was computed.
#
# There are four switches. `no_grad()` and `enable_grad()` switch recording off and on; `set_grad_enabled(flag)` does either;
# `inference_mode()`, explained below, is a stronger `no_grad`. All restore the previous mode at the end of the block:

# %%
def show(what):
    print(f"{what:<38}{mg.is_grad_enabled()!s:<7}{mg.is_inference_mode_enabled()}")


print(f"{'':<38}{'grad':<7}inference")
show("nothing")
with mg.no_grad():
    show("no_grad")
    with mg.enable_grad():
        show("no_grad, enable_grad")
    with mg.set_grad_enabled(True):
        show("no_grad, set_grad_enabled(True)")
    with mg.inference_mode(False):
        show("no_grad, inference_mode(False)")
with mg.inference_mode():
    show("inference_mode")
show("nothing")

# %% [markdown]
# Only `set_grad_enabled(flag)` also works without `with`: a plain call sets the flag, and nothing restores it. And look at the
# fifth line of modes: `inference_mode(False)` means "back to normal", and this includes grad mode.
#
# ### Deeper: as decorators
#
# All four are also decorators. For a generator, the mode applies to its body, but not to the code that runs between two values:

# %%
@mg.no_grad()
def evaluate(x):
    return model(x)


@mg.no_grad()
def values():
    yield mg.is_grad_enabled()
    yield mg.is_grad_enabled()


print("evaluate:", evaluate(now).requires_grad)
print([(inside, mg.is_grad_enabled()) for inside in values()])

# %% [markdown]
# ### Deeper: per thread
#
# The flag belongs to a thread. A new one starts with recording on, whatever the thread that started it was doing:

# %%
seen = []
with mg.no_grad():
    thread = threading.Thread(target=lambda: seen.append(mg.is_grad_enabled()))
    thread.start()
    thread.join()
print("in the new thread:", seen)

# %% [markdown]
# So `no_grad()` around a pool of workers has no effect in the workers. Each worker must set the mode itself, for example with a
# decorator on its function.
#
# ### Deeper: what ignores the flag
#
# Two things ignore the flag. A tensor that you create with `requires_grad=True` requires a gradient, because you said so. And a
# backward has its own mode ([tutorial 5](05_double_backward.py)). So you can call it under `no_grad()`, as long as the forward
# was recorded:

# %%
y = (w * w).sum()
with mg.no_grad():
    print(mg.ones(2, requires_grad=True).requires_grad)
    y.backward()
print(w.grad)
w.grad = None

# %% [markdown]
# ## detach: one edge is cut
#
# A mode applies to a part of the *program*. Sometimes you want to exclude one *tensor*: to use its values, but not its history.
# In our loss, let `model(later)` be a target. It is computed with the same `w`, but should count as a constant: the prediction
# should move towards it, and not the other way round. `detach()` returns a tensor with the same numbers and no history:

# %%
target = model(later)
loss = ((model(now) - target.detach()) ** 2).sum()
mg.viz.draw(loss)

# %% [markdown]
# The second path is gone, but only from this loss: `target` itself still has its history.
#
# ![Two paths lead from the loss back to w. The gradient passes through the upper one, the model of now. Scissors cut the lower
# one between the loss and the target: detach. The target still has its own history.](pictures/cut.svg)
#
# **Predict.** $y = x \cdot \bar x$, where $\bar x$ is `x.detach()`. What is $dy/dx$ at 3?
#
# <details><summary>Answer</summary>
#
# It is 3. One factor is $x$, the other is a constant with the same value. For the engine, $y = 3x$.
#
# </details>

# %%
a = mg.tensor(3.0, requires_grad=True)
(g,) = mg.autograd.grad(a * a.detach(), a)
print(g)

# %% [markdown]
# ## Step by step
#
# Here are the two losses, forward and backward, first without `detach`. The leaf waits for two gradients, and adds them up:

# %%
with mg.debug.record() as attached:
    target = model(later)
    loss = ((model(now) - target) ** 2).sum()
    loss.backward()
print(w.grad)
mg.viz.step(attached)

# %% [markdown]
# And with `detach`, side by side. Both create nodes for the target, since `detach` comes after it. In the second run no edge
# leads to these nodes, and the leaf waits for only one gradient:

# %%
w.grad = None
with mg.debug.record() as detached:
    target = model(later)
    loss = ((model(now) - target.detach()) ** 2).sum()
    loss.backward()
print(w.grad)
mg.viz.diff(attached, detached, labels=("attached", "detached"))

# %%
for name, r in (("attached", attached), ("detached", detached)):
    made = [event.node for event in r.events if event.kind == "made"]
    print(f"{name}: {len(made)} nodes made, {len(r.order)} run:", " ".join(r.order))

# %% [markdown]
# ## Who else sees a write
#
# `detach()` copies nothing. The result uses the same memory, so a write to one tensor changes the other. They also share the
# **version counter**, and this makes `detach()` safe. A node that has saved the values notices that they have changed
# ([tutorial 9](09_version_counters.py)):

# %%
y = w.exp()             # its node saves the result
alias = y.detach()
alias.zero_()
print("the versions:", alias._version, y._version)

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    y.sum().backward()

# %% [markdown]
# `.data` is older and less safe. It has the same memory and no history, but its own counter. So the saved tensor's counter does
# not count the write, and the gradient of $e^w$ becomes zero:

# %%
y = w.exp()
alias = y.data
alias.zero_()
print("the versions:", alias._version, y._version)
print("the gradient, which is wrong:", mg.autograd.grad(y.sum(), w)[0])

# %% [markdown]
# This is the only difference between the two, and the reason to prefer `detach()`. Only one use of `.data` remains: the
# assignment `t.data = other` gives a tensor other memory.
#
# `clone()` is the opposite of both: new memory, its own counter, and a history. It is an operation like any other, with a
# derivative of 1. For an independent copy without history, take both: `x.detach().clone()`.
#
# ## Deeper: views made under no_grad
#
# A view shares memory *and* has a place in the graph: a write to the view gives its base a new history ([tutorial
# 10](10_views_in_place.py)). Suppose the view was created under `no_grad`, and the write comes later. Should the write be
# recorded? You could mean either, so the write is an error:

# %%
y = w * 1
with mg.no_grad():
    view = y[:1]
print(view.requires_grad, view.grad_fn, view._is_view())

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E120"):
    view.mul_(2)

# %%
with mg.no_grad():
    view.mul_(2)        # the same mode as when the view was made
print(y.detach())

# %% [markdown]
# The first line of output is strange too. Such a view says that it requires a gradient, since its base does, but it has no
# history. A result computed from it has a graph that leads nowhere. (*What goes wrong* has an example.)
#
# ## Inference mode
#
# `no_grad` creates no nodes. But each result can still be part of a graph later: writes to it are counted, and a view knows
# its base. `inference_mode()` saves this work, too. A tensor that was created under it is an inference tensor for ever, and has
# no version. Outside of the mode you cannot write to it, save it in a node, or make it require a gradient:

# %%
with mg.inference_mode():
    c = model(now)
print("an inference tensor:", c.is_inference())

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E176"):
    w * c

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E123"):
    c.mul_(2)

# %% [markdown]
# You can read it. If a formula does not need its values, it can even be part of a graph: the derivative of $w + c$ is 1 for
# every $c$. And `clone()` returns a normal tensor:

# %%
print((w + c).grad_fn.name(), (w * c.clone()).grad_fn.name(), c.clone().is_inference())

# %% [markdown]
# Inside the mode, normal tensors stay normal. You can write to them, and the write is counted. `detach()` of a normal tensor, or
# a view of it, is normal.
#
# ## Deeper: the table
#
# Now a program computes the table. For each way we take a new computed `x`, and look at the result. Does it share the storage of
# `x`, and does its version count writes to `x`? Does it have a history, and does it require a gradient (`grad?`)? Can a node save
# it? Can we write to it, with recording on and under `no_grad`? If the answer is no, the table has the code of the error.

# %%
def answer(action):
    try:
        action()
    except RuntimeError as error:
        return error.code
    return "yes"


def write(t):
    with mg.no_grad():
        t.mul_(2)


def facts(make, base):
    x = base()
    t = make(x)
    storage = "yes" if t.data_ptr() == x.data_ptr() else "-"
    history = "yes" if t.grad_fn is not None else "-"
    requires = "yes" if t.requires_grad else "-"
    before = None if t.is_inference() else t._version
    write(x)
    version = "none" if t.is_inference() else "yes" if t._version > before else "-"
    return (storage, version, history, requires, answer(lambda: w * make(base())),
            answer(lambda: make(base()).mul_(2)), answer(lambda: write(make(base()))))


# %%
def under(mode, make):
    def run(x):
        with mode():
            return make(x)
    return run


WAYS = {
    "x": lambda x: x,
    "x.view(2)": lambda x: x.view(2),
    "x * 1": lambda x: x * 1,
    "x.clone()": lambda x: x.clone(),
    "x.detach()": lambda x: x.detach(),
    "x.detach().clone()": lambda x: x.detach().clone(),
    "x.detach().requires_grad_()": lambda x: x.detach().requires_grad_(),
    "x.data": lambda x: x.data,
    "no_grad: x.view(2)": under(mg.no_grad, lambda x: x.view(2)),
    "no_grad: x * 1": under(mg.no_grad, lambda x: x * 1),
    "no_grad, enable: x * 1": under(mg.no_grad, under(mg.enable_grad, lambda x: x * 1)),
    "inference: x.view(2)": under(mg.inference_mode, lambda x: x.view(2)),
    "inference: x.detach()": under(mg.inference_mode, lambda x: x.detach()),
    "inference: x * 1": under(mg.inference_mode, lambda x: x * 1),
}


# %%
def leaf():
    return mg.tensor([1.0, 2.0], requires_grad=True)


def computed():
    return leaf() * 1


def line(name, facts):
    print((f"{name:<28}" + "".join([f"{fact:<8}" for fact in facts])).rstrip())


HEAD = "storage", "version", "history", "grad?", "saved", "write", "no_grad"
line("", HEAD)
for name, make in WAYS.items():
    line(name, facts(make, computed))

# %% [markdown]
# The table shows:
#
# * *Storage* and *version* agree in all rows but `.data`: same memory, other counter. Only in this row is a write not noticed.
#   (Results of inference mode have no version.)
# * There is a *history* only with recording on and without `detach`. *Grad?* agrees with it in all but three rows. A view created
#   under a mode says yes because of its base. `requires_grad_()` makes a leaf, where gradients end.
# * Only the results of inference mode cannot be saved, and only they cannot be written to under `no_grad`.
# * The row of `x * 1` under `no_grad` has no error. So take `no_grad` if you are in doubt.
#
# If `x` is a leaf that requires a gradient, two rows change. Writing to it, or to a view of it, is an error while recording is
# on ([tutorial 3](03_leaves.py)):

# %%
line("", HEAD)
for name, make in WAYS.items():
    if facts(make, leaf) != facts(make, computed):
        line(name, facts(make, leaf))

# %% [markdown]
# ## Which one
#
# **Evaluation**: `inference_mode()`, or `no_grad()` if the results go back into training.
#
# **The update of parameters**: `no_grad()` and an in-place operation. `w` remains the same object, a leaf, and its version goes
# up. So a backward through a graph from before the update is an error:

# %%
stale = (w * w).sum()
with mg.no_grad():
    w -= 0.1 * w.grad
print(w.requires_grad, w.is_leaf, w._version)
with mg.testing.expect_error(RuntimeError, code="MG-E102", quiet=True) as caught:
    stale.backward()
print(caught.value.code)

# %% [markdown]
# **A target**, or a state for the next step: `detach()`, if something else needs its history. Otherwise `no_grad()` around its
# computation, which also saves the memory.
#
# **Logging**: a number, `loss.item()`. A list of losses keeps all their graphs alive; a list of numbers keeps nothing.
#
# **A copy to compare with later**: `w.detach().clone()`. Without `clone` it would change with `w`.
#
# **A part of the model that you do not train**: `requires_grad_(False)` on its parameters. Gradients still pass *through* it to
# earlier layers. `no_grad()` around it would stop them, and so would `detach()` after it:

# %%
frozen = mg.tensor(2.0)
first = mg.tensor(3.0, requires_grad=True)
(g,) = mg.autograd.grad((first * frozen).sin(), first)
with mg.no_grad():
    cut = (first * frozen).sin()
print("through:", f"{g.item():.4f}", "  under no_grad:", cut.requires_grad)

# %% [markdown]
# **A gradient inside an evaluation**, for example to show which inputs matter: `enable_grad()` inside `no_grad()`.
# Inside inference mode `enable_grad()` does not help; `inference_mode(False)` does, for normal tensors.
#
# ## The source
#
# A mode sets three flags of the thread: grad, inference, and forward mode. `no_grad` does not change forward mode,
# `inference_mode` does:

# %%
mg.utils.source.source_of("autograd/grad_mode.py", "no_grad.enter")

# %%
mg.utils.source.source_of("autograd/grad_mode.py", "inference_mode.enter")

# %% [markdown]
# This function runs an op on one tensor. After the forward, it reads the grad mode to decide whether to create a node. In
# inference mode and other special modes, a slower function takes over:

# %%
mg.utils.source.source_of("_core/record/apply.py", "unary")

# %% [markdown]
# And this is the difference between `detach` and `.data`. `alias` shares the counter, `wrap` does not:

# %%
mg.utils.source.source_of("_core/surface/variable.py", "Variable.detach")

# %%
mg.utils.source.source_of("_core/surface/variable.py", "Variable.data")

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# >>> import torch
# >>> w = torch.tensor([0.5, -1.0], requires_grad=True)
# >>> y = w.exp()
# >>> y.detach().zero_()._version, y._version
# (1, 1)
# >>> y = w.exp()
# >>> y.data.zero_()._version, y._version
# (1, 0)
# >>> with torch.no_grad():
# ...     view = y[:1]
# ...     with torch.inference_mode(False):
# ...         print(torch.is_grad_enabled())
# True
# >>> view.requires_grad, view.grad_fn
# (True, None)
# >>> with torch.inference_mode():
# ...     c = w * 2
# >>> c.is_inference(), c.clone().is_inference(), (w + c).requires_grad
# (True, False, True)
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | mechanism | minigrad | PyTorch |
# |---|---|---|
# | the modes | `minigrad/autograd/grad_mode.py` | [`torch/autograd/grad_mode.py`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/autograd/grad_mode.py) |
# | the flag of a thread | `minigrad/_core/graph/thread_state.py`, `State` | [`GradMode.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/c10/core/GradMode.h), [`InferenceMode.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/c10/core/InferenceMode.h) |
# | the version counter | `minigrad/_core/graph/version.py` | [`TensorImpl.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/c10/core/TensorImpl.h), `VariableVersion` |
# | `detach`, `.data` | `minigrad/_core/surface/variable.py` | [`variable.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/variable.h), `variable_data` |
# | how a view was made | `minigrad/_core/mutation/views.py` | [`variable.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/variable.h), `CreationMeta` |
#
# PyTorch gives the same table, without the codes. One answer differs: in `enable_grad()` inside of inference mode,
# `torch.is_grad_enabled()` returns True, and ours returns False. Neither records.
#
# ## What goes wrong
#
# **A recorded update.** In place it is an error, out of place it loses the leaf: [tutorial 3](03_leaves.py) shows both.
#
# **An update that creates a new tensor.** `v - ...` under `no_grad()` requires no gradient, and `v` is now the name of this
# result. There is no error here, but in the next iteration:

# %%
v = mg.tensor([0.5, -1.0], requires_grad=True)
with mg.no_grad():
    v = v - 0.1
with mg.testing.expect_error(RuntimeError, code="MG-E110"):
    (v * v).sum().backward()

# %% [markdown]
# You get the same error, for the same reason, if the *forward* was under `no_grad()`.
#
# ### Deeper: more cases
#
# **A view created under `no_grad()`.** The view says that it requires a gradient, and so does a result computed from it. The
# backward runs, but no gradient arrives anywhere:

# %%
v = mg.tensor([0.5, -1.0], requires_grad=True)
with mg.no_grad():
    part = v[:1]
y = (part * 3).sum()
y.backward()
print(y.requires_grad, v.grad)

# %% [markdown]
# **Detaching a view in place.** `detach_()` removes the history in place. For a view this is an error, because the base would
# keep its history:

# %%
y = v * 2
with mg.testing.expect_error(RuntimeError, code="MG-E115"):
    y[:1].detach_()
y = y.detach()

# %% [markdown]
# **`.data` in an update.** It raises no error, and a graph from before the update does not notice the change. This gradient uses
# the new value of `v`, but the loss was computed with the old value:

# %%
v = mg.tensor([0.5, -1.0], requires_grad=True)
loss = (v * v).sum()
v.data -= 10.0
print(loss.item(), mg.autograd.grad(loss, v)[0])

# %% [markdown]
# More about this: {doc}`/errors/modified-by-an-inplace-operation` and {doc}`/errors/no-grad-fn`.
#
# ## Exercises
#
# Each exercise has a check. Write your answer, then call the check with it, as in `check_slopes(predicted)`. The solutions
# are folded below.
#
# **1. Predict.** What is the derivative at $a = 3$, according to the engine? Answer with a number, or with `None` if there is no
# graph.

# %%
PROGRAMS = ["(a + a.detach()) * a", "(a - a.detach()).exp()", "(a * a).detach() + a",
            "a.clone() * a.data", "a.detach() * 2"]
predicted = ["", "", "", "", ""]        # your answers go here


# %%
@mg.testing.exercise(1)
def check_slopes(predicted):
    assert len(predicted) == len(PROGRAMS), "five answers, one for each program"
    for text, told in zip(PROGRAMS, predicted):
        a = mg.tensor(3.0, requires_grad=True)
        y = eval(text, {"a": a})
        right = mg.autograd.grad(y, a)[0].item() if y.requires_grad else None
        assert told == right, f"{text}: not {told!r}. Put 3.0 where the history is cut"
    print("right")


# %% tags=["help"]
check_slopes.hints = [
    "Where the history is cut, write 3.0. Then differentiate what is left.",
    "`clone()` has a history. `detach()` and `.data` have none.",
    "If no a is left, there is no graph, and so there is no derivative, not even 0."]
check_slopes.wrong = {
    "(a + a.detach()) * a: not 12":
        "This is the derivative of 2 a * a. Write 3.0 instead of the detached a: (a + 3) * a.",
    "(a - a.detach()).exp(): not 0": "The value is 1 for each a. But the engine sees only the "
                                     "first a: exp(a - 3).",
    "(a * a).detach() + a: not 7": "`detach()` cuts off the whole product.",
    "a.clone() * a.data: not 6": "`.data` has no history: a * 3.",
    "a.detach() * 2: not 2": "No a is left, so there is no graph.",
    "a.detach() * 2: not 0": "No a is left, so there is no graph, and not even a zero."}


# %% tags=["hide-cell", "solution"]
check_slopes([9.0,      # of (a + 3) a: 2 a + 3
              1.0,      # of exp(a - 3), at a = 3; the value is 1 for every a
              1.0,      # of 9 + a
              3.0,      # of a times 3: clone has a history, .data has none
              None])    # of 6

# %% [markdown]
# **2. A slow copy.** Write `follow_(average, parameter, rate)`, which moves `average` a part of the way towards `parameter`, in
# place: $a \leftarrow a + r\,(p - a)$. `average` must have no history and require no gradient, and a graph that uses the
# parameter must still work.

# %%
def follow_(average, parameter, rate):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_follow(follow_):
    p = mg.tensor([1.0, 2.0], requires_grad=True)
    average = p.detach().clone()
    loss = (p * p).sum()
    with mg.no_grad():
        average.zero_()
    for _ in range(2):
        follow_(average, p, 0.5)
    assert average.tolist() == [0.75, 1.5], f"{average.tolist()} instead of [0.75, 1.5]"
    assert average.grad_fn is None, "the average has a history"
    assert not average.requires_grad, "the average requires a gradient"
    loss.backward()
    mg.testing.assert_close(p.grad, mg.tensor([2.0, 4.0]))
    print("right")


# %% tags=["help"]
check_follow.hints = [
    "A write that is recorded gives the average a history. In which mode is nothing recorded?",
    "`average += ...` writes in place; `average = average + ...` gives the name to another "
    "tensor.",
    "Do both in one line under `mg.no_grad()`. The parameter is only read, so its graph works."]


# %% tags=["hide-cell", "solution"]
@mg.no_grad()
def follow_solution(average, parameter, rate):
    average += rate * (parameter - average)


check_follow(follow_solution)

# %% [markdown]
# **3. Straight through.** Rounding has slope 0 everywhere, so nothing behind it learns. Write `round_through(x)`: its value is
# `x.round()`, but its derivative is 1. Use one line with `detach`, and no Function.

# %%
def round_through(x):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_round_through(round_through):
    x = mg.tensor([0.2, 1.7, -2.6], requires_grad=True)
    y = round_through(x)
    right = mg.allclose(y.detach(), mg.tensor([0.0, 2.0, -3.0]))
    assert right, f"the value: {y.tolist()} instead of [0.0, 2.0, -3.0]"
    (y * mg.tensor([1.0, 2.0, 3.0])).sum().backward()
    found = x.grad.tolist()
    assert found == [1.0, 2.0, 3.0], f"the gradient: {found} instead of [1.0, 2.0, 3.0]"
    print("right")


# %% tags=["help"]
check_round_through.hints = [
    "The result is a sum of two parts: one has slope 1, the other has no history.",
    "The part with slope 1 is x itself.",
    "Choose the other part so that the value of the sum is `x.round()`."]


# %% tags=["hide-cell", "solution"]
def round_through_solution(x):
    return x + (x.round() - x).detach()


check_round_through(round_through_solution)

# %% [markdown]
# ## What to remember
#
# * A mode applies to a part of the program, in one thread; `detach` applies to one tensor. A backward has its own mode.
# * `detach` shares memory and version, so writes are noticed. `.data` shares only memory, so writes are not noticed. `clone`
#   shares nothing, and has a history.
# * `no_grad` creates no nodes. `inference_mode` creates no version counters either, and no node can save its results.
# * Update with `no_grad()` and in place. Freeze with `requires_grad_(False)`. Log with `item()`.
# * A view created under `no_grad` has no history, even if its `requires_grad` is True. Create views in the mode in which you use
#   them.
#
# **Next:** [saved tensors](07_saved_tensors.py): what each operation keeps when it is recorded.
