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
# **The question.** Some steps of a program are not to be differentiated: an evaluation, the update of the parameters, a target
# that counts as given. How are they kept out of the graph, and what is given up each time?
#
# You need: [tutorial 1](01_derivative_to_graph.py), and that a node saves values for its formula ([tutorial
# 4](04_retain_graph.py)). You get: a table of the ways, computed by a program, and for each way what it is right for and the
# error that it ends in where it is not.
#
# A tensor has three things, and each way deals with them differently:
#
# | | what it is | seen by |
# |---|---|---|
# | **storage** | the memory with the numbers | `data_ptr()` |
# | **version** | how often that memory has been written to; one counter for all tensors that share it | `_version` |
# | **history** | the node that computed it, and all behind it | `grad_fn` |
#
# The example is a small model with parameters $w$, and a loss that compares what it says of two inputs:

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
# The obvious idea is to compute as always, and to throw the graph away afterwards. The result is right. But while the
# computation goes on, every value that a formula might need is kept, and for an evaluation that is all in vain. So it is better
# not to record at all. For the tape of tutorial 1 this takes one flag:

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
# Three details matter. The flag is put back after an error too. It is put back to what it *was*, not to `True`, so that blocks
# can be nested. And it is looked at when an operation runs, not when a function is defined.
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
# The result requires no gradient, although `x` does. It is a leaf: as far as the graph knows, it came from nowhere.
#
# There are four switches. `no_grad()` and `enable_grad()` switch off and on; `set_grad_enabled(flag)` does either;
# `inference_mode()` is a stronger `no_grad`, of which more below. All are put back at the end of the block:

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
# `set_grad_enabled(flag)` is the only one that also acts without `with`: called on its own it sets the flag, and nobody puts it
# back. And look at the fifth line: `inference_mode(False)` means "back to normal", and that includes grad mode.
#
# All four are decorators as well. Of a generator they cover the body and not what happens between two values:

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
# ### Per thread
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
# So `no_grad()` around a pool of workers does nothing for the workers. Each has to say it for itself; a decorator on what they
# run does.
#
# ### What does not ask
#
# Two things do not look at the flag. A tensor that you make with `requires_grad=True` requires a gradient: you said so. And a
# backward runs in a mode of its own ([tutorial 5](05_double_backward.py)), so it may be started under `no_grad()`, if only
# the forward was not:

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
# A mode is about a stretch of the *program*. Sometimes the matter is one *tensor*: its values are to be used, its history not.
# In our loss let `model(later)` be a target. It is computed with the same `w`, but it counts as given; the prediction is to
# move towards it, and not the other way round. `detach()` gives a tensor with the same numbers and no history:

# %%
target = model(later)
loss = ((model(now) - target.detach()) ** 2).sum()
mg.viz.draw(loss)

# %% [markdown]
# The second path is gone, and it is gone from this loss alone: `target` itself has its history still.
#
# **Predict.** $y = x \cdot \bar x$, where $\bar x$ is `x.detach()`. What is $dy/dx$ at 3?
#
# <details><summary>Answer</summary>
#
# It is 3. One factor is $x$, the other is a number that happens to be as large. For the engine $y = 3x$.
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
# And with `detach`, side by side. Both make nodes for the target, since `detach` comes after it; in the second run nobody goes
# there, and the leaf waits for one gradient only:

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
# `detach()` copies nothing. The result looks at the same memory, so a write through one is seen through the other. It also
# shares the **version counter**, and that makes it safe. A node that has saved the values notices that they are not what they
# were ([tutorial 9](09_version_counters.py)):

# %%
y = w.exp()             # its node saves the result
alias = y.detach()
alias.zero_()
print("the versions:", alias._version, y._version)

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    y.sum().backward()

# %% [markdown]
# `.data` is older and has nothing of this. The memory is the same, the history is cut off, and so is the counter. The write is
# not counted where it matters, and the gradient of $e^w$ becomes zero:

# %%
y = w.exp()
alias = y.data
alias.zero_()
print("the versions:", alias._version, y._version)
print("the gradient, which is wrong:", mg.autograd.grad(y.sum(), w)[0])

# %% [markdown]
# This is the whole difference between the two, and the reason to write `detach()`. Only one use of `.data` is left: as the
# target of an assignment, `t.data = other`, it gives a tensor other memory.
#
# `clone()` is the opposite of both: new memory, a counter of its own, and a history. It is an operation like any other, with a
# derivative of 1. For a copy that nobody else sees and no graph knows, take both: `x.detach().clone()`.
#
# ## Views made under no_grad
#
# A view shares memory *and* has a place in the graph: when it is written to, its base gets a new history ([tutorial
# 10](10_views_in_place.py)). What if the view was
# made while nothing was recorded, and the write comes later? Should the write be recorded or not? Both could be meant, so it is
# refused:

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
# history. What is computed from it has a graph that leads nowhere. (*What goes wrong* has an example.)
#
# ## Inference mode
#
# `no_grad` leaves no nodes. But each result can still take part in a graph later: writes to it are counted, and a view knows
# its base. `inference_mode()` gives up that as well. A tensor that was made under it is marked for life, and what would need
# its version is refused. Outside of the mode it cannot be written to, saved by a node, or made to require a gradient:

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
# Reading it is no problem. Where a formula does not need its values, it may even be part of a graph: the derivative of $w + c$
# is 1, whatever $c$ is. And `clone()` makes a normal tensor of it:

# %%
print((w + c).grad_fn.name(), (w * c.clone()).grad_fn.name(), c.clone().is_inference())

# %% [markdown]
# Inside the mode, normal tensors stay normal. They can be written to, and the write is counted; `detach()` of one, or a view of
# one, is normal.
#
# ## The table
#
# Now we can ask a program. For each way we take a fresh `x` that was computed, and see what the way makes of it: does the
# result share the storage, and does it see writes to `x` in its version? Has it a history, and does it require a gradient
# (`grad?`)? May a node save it, and may one write to it, with recording on and under `no_grad`? Where the answer is no, the
# table has the code of the error.

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
# What to read off:
#
# * *Storage* and *version* say the same but for `.data`: same memory, other counter. That one row is where a write goes
#   unnoticed. (Results of inference mode have no version.)
# * *History* is there only with recording on and without `detach`. *Grad?* says the same but for three rows: a view made under
#   a mode says yes because of its base, and `requires_grad_()` makes a leaf, where gradients end instead of passing through.
# * Results of inference mode are the only ones that may not be saved, and the only ones that may not be written to under
#   `no_grad` either.
# * The row of `x * 1` under `no_grad` has no entry that forbids anything. That is why `no_grad` is the one to take if you are
#   in doubt.
#
# If `x` is a leaf that requires a gradient, two rows change. Writing to it, or to a view of it, is refused while recording is
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
# **The update of parameters**: `no_grad()` and an operation in place. `w` stays the same object, a leaf, and its version goes
# up, so that a graph from before the update cannot be walked by mistake:

# %%
stale = (w * w).sum()
with mg.no_grad():
    w -= 0.1 * w.grad
print(w.requires_grad, w.is_leaf, w._version)
with mg.testing.expect_error(RuntimeError, code="MG-E102", quiet=True) as caught:
    stale.backward()
print(caught.value.code)

# %% [markdown]
# **A target**, or a state that is carried over to the next step: `detach()`, if it was computed anyway. If nobody needs its
# history, `no_grad()` around the computation, which saves the memory too.
#
# **Logging**: a number, `loss.item()`. A list of losses keeps all their graphs alive; a list of numbers keeps nothing.
#
# **A copy to compare with later**: `w.detach().clone()`. Without `clone` it would change with `w`.
#
# **A part of the model that is not to be trained**: `requires_grad_(False)` on its parameters. Gradients still pass *through*
# it to what lies before. Under `no_grad()` they would not, and `detach()` behind it would stop them as well:

# %%
frozen = mg.tensor(2.0)
first = mg.tensor(3.0, requires_grad=True)
(g,) = mg.autograd.grad((first * frozen).sin(), first)
with mg.no_grad():
    cut = (first * frozen).sin()
print("through:", f"{g.item():.4f}", "  under no_grad:", cut.requires_grad)

# %% [markdown]
# **A gradient inside of an evaluation**, for a picture of what the model looks at: `enable_grad()` inside of `no_grad()`.
# Inside of inference mode `enable_grad()` does not help; `inference_mode(False)` does, for normal tensors.
#
# ## The source
#
# A mode is an assignment to three flags of the thread: grad, inference, and forward mode. `no_grad` leaves forward mode alone,
# `inference_mode` does not:

# %%
mg.utils.source.source_of("autograd/grad_mode.py", "no_grad.enter")

# %%
mg.utils.source.source_of("autograd/grad_mode.py", "inference_mode.enter")

# %% [markdown]
# This is an op on one tensor. `state.ordinary` is false in inference mode, and then `slow` takes over. `grad_enabled` is looked
# at after the forward, when it is to be decided whether a node is made:

# %%
mg.utils.source.source_of("_core/record/apply.py", "unary")

# %% [markdown]
# And this is the difference between `detach` and `.data`. `alias` hands the counter on, `wrap` does not:

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
# | | minigrad | PyTorch |
# |---|---|---|
# | the modes | `minigrad/autograd/grad_mode.py` | [`torch/autograd/grad_mode.py`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/autograd/grad_mode.py) |
# | the flag of a thread | `minigrad/_core/graph/thread_state.py`, `State` | [`GradMode.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/c10/core/GradMode.h), [`InferenceMode.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/c10/core/InferenceMode.h) |
# | the version counter | `minigrad/_core/graph/version.py` | [`TensorImpl.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/c10/core/TensorImpl.h), `VariableVersion` |
# | `detach`, `.data` | `minigrad/_core/surface/variable.py` | [`variable.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/variable.h), `variable_data` |
# | how a view was made | `minigrad/_core/mutation/views.py` | [`variable.h`](https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/variable.h), `CreationMeta` |
#
# The table above comes out the same there, without the codes. One reading differs: in `enable_grad()` inside of inference mode
# `torch.is_grad_enabled()` says True, ours False; neither records.
#
# ## What goes wrong
#
# **An update that is recorded.** In place it is refused, out of place it loses the leaf: [tutorial 3](03_leaves.py) shows both.
#
# **An update that makes a new tensor.** `w - ...` under `no_grad()` requires no gradient, and the name `v` now stands for that.
# Nothing fails here; the next iteration does:

# %%
v = mg.tensor([0.5, -1.0], requires_grad=True)
with mg.no_grad():
    v = v - 0.1
with mg.testing.expect_error(RuntimeError, code="MG-E110"):
    (v * v).sum().backward()

# %% [markdown]
# The same error, for the same reason, if the *forward* stood under `no_grad()`.
#
# **A view made under `no_grad()`.** The view says that it requires a gradient, a result of it does too, the backward runs, and
# nothing arrives anywhere:

# %%
v = mg.tensor([0.5, -1.0], requires_grad=True)
with mg.no_grad():
    part = v[:1]
y = (part * 3).sum()
y.backward()
print(y.requires_grad, v.grad)

# %% [markdown]
# **A view that is to forget.** `detach_()` forgets in place. It is refused for views, whose base would still remember:

# %%
y = v * 2
with mg.testing.expect_error(RuntimeError, code="MG-E115"):
    y[:1].detach_()
y = y.detach()

# %% [markdown]
# **`.data` in an update.** It works, and that is the trouble: a graph from before the update does not notice. This gradient is
# taken at the new value, which the loss was never computed for:

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
# Each has a check that runs: fill in what is missing, then call the check with it, as in `check_slopes(predicted)`. Solutions
# are folded away below.
#
# **1. Predict.** What is the derivative at $a = 3$, according to the engine? A number, or `None` where there is no graph to walk
# over.

# %%
PROGRAMS = ["(a + a.detach()) * a", "(a - a.detach()).exp()", "(a * a).detach() + a",
            "a.clone() * a.data", "a.detach() * 2"]
predicted = ["", "", "", "", ""]        # your answers go here


# %%
def check_slopes(predicted):
    assert len(predicted) == len(PROGRAMS), "five answers, one for each program"
    for text, told in zip(PROGRAMS, predicted):
        a = mg.tensor(3.0, requires_grad=True)
        y = eval(text, {"a": a})
        right = mg.autograd.grad(y, a)[0].item() if y.requires_grad else None
        assert told == right, f"{text}: not {told!r}. Put 3.0 where the history is cut"
    print("right")


# %% tags=["hide-cell"]
check_slopes([9.0,      # of (a + 3) a: 2 a + 3
              1.0,      # of exp(a - 3), at a = 3; the value is 1 for every a
              1.0,      # of 9 + a
              3.0,      # of a times 3: clone has a history, .data has none
              None])    # of 6

# %% [markdown]
# **2. A slow copy.** Write `follow_(average, parameter, rate)`, which moves `average` a part of the way towards `parameter`, in
# place: $a \leftarrow a + r\,(p - a)$. No history, no gradient for `average`, and a graph that has used the parameter must
# still be good.

# %%
def follow_(average, parameter, rate):
    """Your lines go here."""


# %%
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


# %% tags=["hide-cell"]
@mg.no_grad()
def follow_solution(average, parameter, rate):
    average += rate * (parameter - average)


check_follow(follow_solution)

# %% [markdown]
# **3. Straight through.** Rounding has slope 0 everywhere, so nothing behind it learns. Write `round_through(x)`: its value is
# `x.round()`, its derivative that of $x$. One line, with `detach`, no Function.

# %%
def round_through(x):
    """Your lines go here."""


# %%
def check_round_through(round_through):
    x = mg.tensor([0.2, 1.7, -2.6], requires_grad=True)
    y = round_through(x)
    right = mg.allclose(y.detach(), mg.tensor([0.0, 2.0, -3.0]))
    assert right, f"the value: {y.tolist()} instead of [0.0, 2.0, -3.0]"
    (y * mg.tensor([1.0, 2.0, 3.0])).sum().backward()
    found = x.grad.tolist()
    assert found == [1.0, 2.0, 3.0], f"the gradient: {found} instead of [1.0, 2.0, 3.0]"
    print("right")


# %% tags=["hide-cell"]
def round_through_solution(x):
    return x + (x.round() - x).detach()


check_round_through(round_through_solution)

# %% [markdown]
# ## What to remember
#
# * A mode is about a stretch of the program, in one thread; `detach` is about one tensor. A backward has a mode of its own.
# * `detach` shares memory and version: writes are noticed. `.data` shares memory only: they are not. `clone` shares nothing,
#   and has a history.
# * `no_grad` leaves no nodes. `inference_mode` leaves no version counters either, and its results can never be saved by a node.
# * Update with `no_grad()` and in place. Freeze with `requires_grad_(False)`. Log with `item()`.
# * A view made under `no_grad` has no history, whatever its `requires_grad` says. Make views in the mode in which they are
#   used.
#
# **Next:** [saved tensors](07_saved_tensors.py): what each operation keeps while it is recorded.
