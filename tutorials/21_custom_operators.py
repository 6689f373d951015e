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
# # An operator of your own: any function, one node
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** saved tensors ([tutorial
# 7](07_saved_tensors.py)) and the three methods of a `Function` ([tutorial 14](14_function.py)); no C, and no GPU.
# **Afterwards** you can put a function of NumPy, SciPy or numba into the graph, give it a derivative, and test that it keeps its promises.
#
# **The question.** We have a function that computes with arrays. Autograd cannot look inside. How does it become an operation
# like `sin` or `matmul`, with a name, a derivative, and checks?
#
# Our example is a bucket with a hole. In each step it keeps the share $a$ of its water, and $x_t$ is poured in:
#
# $$ y_t = a\,y_{t-1} + x_t, \qquad y_{-1} = 0 . $$

# %%
import warnings

import numpy as np

import minigrad as mg
from minigrad.library import custom_op, infer_schema, opcheck


def leak_numpy(x, a):
    y, water = np.empty_like(x), 0.0
    for t in range(len(x)):
        water = a * water + x[t]
        y[t] = water
    return y


x = mg.tensor([1.0, 0.0, 0.0, 4.0, 0.0, 0.0], requires_grad=True)
a = mg.tensor(0.5, requires_grad=True)

# %% [markdown]
# ## Two ideas that do not work well
#
# **Call it.** A tensor gives its memory to NumPy with `numpy()`. But NumPy records nothing, so minigrad refuses. If we follow the
# advice in the message, the result is right, and has no {doc}`history </notes/glossary>`: no gradient ever reaches `x`.

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E115"):
    leak_numpy(x.numpy(), 0.5)
y = mg.from_numpy(leak_numpy(x.detach().numpy(), 0.5))
assert y.tolist() == [1.0, 0.5, 0.25, 4.125, 2.0625, 1.03125]
print(y, y.requires_grad)

# %% [markdown]
# **Write the loop with tensors.** Then each step is recorded. This is right, but six numbers make 19 nodes, and a thousand would
# make 3,001:

# %%
def leak_of_tensors(x, a):
    water, out = mg.zeros(()), []
    for t in range(len(x)):
        water = a * water + x[t]
        out.append(water)
    return mg.stack(out)


def count_nodes(tensor):
    return sum([op != "AccumulateGrad" for op in mg.viz.draw(tensor).nodes.values()])


slow = leak_of_tensors(x, a)
assert slow.tolist() == y.tolist() and count_nodes(slow) == 3 * 6 + 1
print(count_nodes(slow), "nodes: a product, an index and a sum per step, and one stack")

# %% [markdown]
# ## custom_op
#
# `custom_op` turns a function into an operator. It needs a name with a namespace, and type hints. `mutates_args` lists the
# arguments that the function writes to: none.

# %%
@custom_op("tutorial::leak", mutates_args=())
def leak(x: mg.Tensor, a: mg.Tensor) -> mg.Tensor:
    return mg.from_numpy(leak_numpy(x.numpy(), a.item()))


y = leak(x, a)
assert y.tolist() == slow.tolist() and count_nodes(y) == 1
print(y.grad_fn.name())

# %% [markdown]
# One node, for any number of steps. Inside the function nothing is recorded, so `x.numpy()` is allowed.
#
# ### The schema
#
# From the type hints, `custom_op` makes a *schema*: the types of the arguments and of the results, with the defaults. Each call
# is checked against it.

# %%
def power(x: mg.Tensor, n: int = 2) -> mg.Tensor:
    return x ** n


def stir(x: mg.Tensor, rest: list[mg.Tensor]) -> tuple[mg.Tensor, int]:
    return x, len(rest)


print(infer_schema(power, mutates_args=()))
print(infer_schema(stir, mutates_args={"x"}))
assert infer_schema(power, mutates_args=()) == "(Tensor x, SymInt n=2) -> Tensor"
assert (infer_schema(stir, mutates_args={"x"})
        == "(Tensor(a0!) x, Tensor[] rest) -> (Tensor, SymInt)")

# %% [markdown]
# `Tensor[]` is a list of tensors, and `SymInt` is PyTorch's name for an integer in a schema. The exclamation mark says that the
# operator writes to `x`. An argument of another type is an error before the function runs:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E273"):
    leak(x, "half")

# %% [markdown]
# ### Without a formula
#
# **Predict.** `y` has a node. We have not said what the derivative is. What happens at `y.sum().backward()`?
#
# <details><summary>Answer</summary>
#
# An error. The forward works, because many programs need only that. The node is there so that the backward can *raise*: without
# it, the gradient would be missing silently.
#
# </details>

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E276"):
    y.sum().backward()

# %% [markdown]
# ## The formula
#
# Write $\lambda_t$ for the gradient of the water at time $t$. The water goes into the result $y_t$, and the share $a$ of it into
# the next step. So the chain rule is a bucket again, *from the end to the beginning*:
#
# $$ \lambda_t = \bar y_t + a\,\lambda_{t+1}, \qquad \bar x_t = \lambda_t, \qquad \bar a = \sum_t \lambda_t\,y_{t-1} . $$
#
# What does the backward need from the forward? $\lambda$ needs $a$, and $\bar a$ needs the *result* $y$ as well. No formula needs
# $x$. `setup_context` runs after the function, and saves. `ctx.needs_input_grad` tells it which gradients will be wanted:

# %%
def setup_context(ctx, inputs, output):
    _, a = inputs
    _, for_a = ctx.needs_input_grad
    ctx.save_for_backward(a, output if for_a else None)


def backward(ctx, g):
    a, y = ctx.saved_tensors
    of_water = leak(g.flip(0), a).flip(0)           # the same operator, backwards in time
    of_a = None
    if y is not None:
        of_a = (of_water[1:] * y[:-1]).sum()
    return of_water, of_a


leak.register_autograd(backward, setup_context=setup_context)

# %% [markdown]
# **Predict.** The loss is the sum of all $y_t$. What is the gradient of the last $x_t$, and of the one before it?
#
# <details><summary>Answer</summary>
#
# 1, and 1.5. The last water is in one result only. The water before is in its own result, and half of it in the next one.
#
# </details>

# %%
y = leak(x, a)
y.sum().backward()
found = x.grad, a.grad
x.grad = a.grad = None
leak_of_tensors(x, a).sum().backward()
assert x.grad.tolist() == found[0].tolist() == [1.96875, 1.9375, 1.875, 1.75, 1.5, 1.0]
assert a.grad.item() == found[1].item() == 11.5625
print("one node: ", found[0], found[1].item())
print("19 nodes: ", x.grad, a.grad.item())

# %% [markdown]
# And this is what the node {doc}`saves </notes/glossary>`, depending on who wants a gradient. (It cannot save an intermediate
# result with a derivative: only inputs and results have a history, see [way 4 of tutorial 14](14_function.py).)

# %%
def kept(x, a):
    return [None if t is None else list(t.shape) for t in leak(x, a).grad_fn.saved_tensors]


print("for both:    ", kept(x, a))
print("for x alone: ", kept(x, a.detach()))
print("for a alone: ", kept(x.detach(), a))
assert kept(x, a) == kept(x.detach(), a) == [[], [6]] and kept(x, a.detach()) == [[], None]

# %% [markdown]
# ## The contract of backward
#
# It gets one gradient for each output, and returns one value for each positional argument. minigrad checks the *number* and the
# *shape*. We register wrong formulas; each replaces the one before:

# %%
leak.register_autograd(lambda ctx, g: g, setup_context=setup_context)
with mg.testing.expect_error(RuntimeError, code="MG-E277"):
    leak(x, a).sum().backward()

# %%
leak.register_autograd(lambda ctx, g: (g[:2], g.sum()), setup_context=setup_context)
with mg.testing.expect_error(RuntimeError, code="MG-E106"):
    leak(x, a).sum().backward()

# %% [markdown]
# No check of shapes sees a wrong *number*. Here the factor $a$ is forgotten. The backward runs, and only a comparison with finite
# differences finds it (`opcheck` makes float64 copies for this test):

# %%
leak.register_autograd(lambda ctx, g: (g, None), setup_context=setup_context)
x.grad = None
leak(x, a).sum().backward()
assert x.grad.tolist() == [1.0] * 6
print("wrong:", x.grad)
with mg.testing.expect_error(mg.library.OpCheckError, quiet=True) as caught:
    opcheck(leak, (x, a), test_utils="test_gradcheck")
print(str(caught.value).splitlines()[0])
leak.register_autograd(backward, setup_context=setup_context)       # the right one again

# %% [markdown]
# The formula is looked up when the backward runs. So an existing graph uses the formula that was registered last.
#
# ## opcheck
#
# An operator makes promises that a call does not check, because this would be slow: that it writes only to what it says, and
# that an output which requires a gradient has a formula. `opcheck` runs it on copies of sample arguments. The two tests of the
# derivatives must be named:

# %%
promises = opcheck(leak, (x, a))
derivatives = opcheck(leak, (x, a), test_utils=("test_gradcheck", "test_double_backward"))
assert list((promises | derivatives).values()) == ["SUCCESS"] * 4
print(promises)
print(derivatives)

# %% [markdown]
# The second derivative is right because `backward` computes with operations that have derivatives: `flip`, a product, a sum, and
# `leak` itself.
#
# ## Deeper: lists of tensors
#
# A list in the schema is a list in the formula. Tensors in a list take part in the graph, each with its own {doc}`edge
# </notes/glossary>`, and `needs_input_grad` has the same form. (In a `Function`, tensors in a list are constants.)

# %%
@custom_op("tutorial::pour", mutates_args=())
def pour(buckets: list[mg.Tensor], share: float = 1.0) -> tuple[mg.Tensor, list[mg.Tensor]]:
    return sum([b.sum() for b in buckets]) * share, [b * (1 - share) for b in buckets]


def pour_setup(ctx, inputs, output):
    _, ctx.share = inputs               # a number: an attribute is enough


def pour_backward(ctx, of_total, of_rests):
    of_buckets = [of_total * ctx.share + of_rest * (1 - ctx.share) if wanted else None
                  for of_rest, wanted in zip(of_rests, ctx.needs_input_grad[0])]
    return of_buckets, None


pour.register_autograd(pour_backward, setup_context=pour_setup)
p, q = mg.ones(2, requires_grad=True), mg.ones(3)
total, (rest_p, rest_q) = pour([p, q], 0.25)
(total * 8 + rest_p.sum() * 4).backward()
assert total.item() == 5 * 0.25 and q.grad is None
assert p.grad.tolist() == [8 * 0.25 + 4 * 0.75] * 2
print(total.item(), p.grad, q.grad)

# %% [markdown]
# No gradient reached `rest_q`: it is {doc}`undefined </notes/glossary>`. The formula got zeros instead, as in a `Function`.
#
# <details><summary>Deeper: what is checked in the structure of the gradients</summary>
#
# A list must come back as a list of the same length, with a tensor or None in each place. A tuple instead of a list, a list that
# is too short, or a tensor instead of the list is the error MG-E277, with the expected and the found structure. Additional values
# None at the end are ignored. PyTorch counts one hidden argument too many in its message; minigrad says the real numbers.
#
# </details>
#
# ## Deeper: another implementation: numba, SciPy
#
# The loop in Python is slow. The formula does not depend on *how* the forward is computed, so we can exchange the {doc}`kernel
# </notes/glossary>`. numba compiles the loop as it is. SciPy has it as a filter. Where a package is not installed, the cell says
# so.

# %%
try:
    import numba
except ImportError:
    print("numba is not installed")
else:
    compiled = numba.njit(leak_numpy)

    @leak.register_kernel("cpu")
    def leak_numba(x, a):
        return mg.from_numpy(compiled(x.numpy(), a.item()))

    assert leak(x, a).tolist() == [1.0, 0.5, 0.25, 4.125, 2.0625, 1.03125]
    opcheck(leak, (x, a), test_utils="test_gradcheck")
    print("numba:", leak(x, a).tolist())

# %%
try:
    from scipy.signal import lfilter
except ImportError:
    print("SciPy is not installed")
else:
    @leak.register_kernel("cpu")
    def leak_scipy(x, a):
        y = lfilter([1.0], [1.0, -a.item()], x.numpy())
        return mg.from_numpy(y).to(x.dtype)         # SciPy computes in float64

    assert leak(x, a).tolist() == [1.0, 0.5, 0.25, 4.125, 2.0625, 1.03125]
    opcheck(leak, (x, a), test_utils="test_gradcheck")
    print("SciPy:", leak(x, a).tolist())

# %% [markdown]
# ## Deeper: operators that write
#
# An operator may write to an argument, if it says so. Each call then increments the {doc}`version </notes/glossary>` of that
# tensor, even if NumPy does the writing. So a node that has saved it notices ([tutorial 9](09_version_counters.py)):

# %%
@custom_op("tutorial::halve_", mutates_args={"x"})
def halve_(x: mg.Tensor) -> None:
    array = x.numpy()
    array /= 2


h = mg.tensor([1.0, 2.0], requires_grad=True) * 1
square = h * h
halve_(h)
assert h.tolist() == [0.5, 1.0] and h._version == 1
with mg.testing.expect_error(RuntimeError, code="MG-E102"):
    square.sum().backward()

# %% [markdown]
# Such an operator cannot have a formula. If you need one, let the operator return a new tensor.

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E276"):
    halve_.register_autograd(lambda ctx: None)

# %% [markdown]
# ## Step by step
#
# The backward of `leak` calls `leak`. Watch the node unpack what it saved; the inner call makes no node, since no second derivative
# is needed:

# %%
with mg.debug.record() as r:
    leak(x, a).sum().backward()
mg.viz.step(r)

# %%
happened = [event.kind for event in r.events if event.op.startswith("GeneratedBackwardFor")]
print(happened)
assert "unpack" in happened and happened.index("unpack") < happened.index("release")

# %% [markdown]
# ## The source
#
# A call runs the kernel of the device, with gradients disabled, and checks its output:

# %%
mg.utils.source.source_of("library/_custom_ops.py", "CustomOpDef._run")

# %% [markdown]
# And an operator is a `Function` that minigrad writes for you. Its `forward` runs the kernel and your `setup_context`. Its
# `backward` calls your formula, between an `unflatten` and a `flatten` of the lists:

# %%
mg.utils.source.source_of("library/_autograd.py", "make_function")

# %% [markdown]
# <details><summary>Deeper: the first generation</summary>
#
# Before `custom_op` there were two other ways, and you will meet both in programs.
#
# | | `Function` | `CustomOp`, `impl_backward` (deprecated) | `custom_op` |
# |---|---|---|---|
# | what is it? | a class with static methods | a schema, and functions registered one by one | a function, and functions registered |
# | who saves? | `forward` or `setup_context` | `save_for_backward` returns *any tree*: a dict, a list, tensors and numbers | `setup_context` |
# | the formula returns | a tuple by position | a dict by name | a tuple by position |
# | without a formula | an error in the backward | an error in the *forward* | an error in the backward |
# | writes to arguments | `mark_dirty` | no | `mutates_args`, without a formula |
# | tensors in lists | are constants | take part | take part |
#
# The folded cells below run both for the bucket. In PyTorch, the second way also has the form `Library("mylib", "DEF")` with
# `lib.define(schema)` and `lib.impl(name, fn, "Autograd")`. There, the function for `"Autograd"` is usually the `apply` of a
# `Function`.
#
# </details>

# %% mystnb={"code_prompt_show": "Deeper: the bucket as a Function", "code_prompt_hide": "Hide"} tags=["hide-cell", "deeper"]
class Leak(mg.autograd.Function):
    @staticmethod
    def forward(x, a):
        return mg.from_numpy(leak_numpy(x.detach().numpy(), a.item()))

    setup_context = staticmethod(setup_context)
    backward = staticmethod(backward)


x.grad = a.grad = None
Leak.apply(x, a).sum().backward()
assert x.grad.tolist() == found[0].tolist() and a.grad.item() == 11.5625
print(x.grad, a.grad.item())

# %% mystnb={"code_prompt_show": "Deeper: the deprecated CustomOp", "code_prompt_hide": "Hide"} tags=["hide-cell", "deeper"]
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from minigrad._custom_op.impl import CustomOp
    old = CustomOp("tutorial::old_leak", "(Tensor x, Tensor a) -> Tensor")


@old.impl()
def old_kernel(x, a):
    return mg.from_numpy(leak_numpy(x.detach().numpy(), a.item()))


@old.impl_save_for_backward()
def old_save(inputs, output):
    return {"a": inputs.a, "results": [output, len(output)]}        # any tree


@old.impl_backward()
def old_backward(ctx, saved, g):
    y, n = saved["results"]
    of_water = leak(g.flip(0), saved["a"]).flip(0)
    return {"x": of_water, "a": (of_water[1:] * y[:n - 1]).sum()}


x.grad = a.grad = None
old(x, a).sum().backward()
assert x.grad.tolist() == found[0].tolist() and a.grad.item() == 11.5625
print(x.grad, a.grad.item())

# %% [markdown]
# ## The same in PyTorch
#
# All functions have the same names in `torch.library`.
#
# ```python
# >>> import torch
# >>> @torch.library.custom_op("tutorial::leak", mutates_args=())
# ... def leak(x: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
# ...     y, water = torch.empty_like(x), 0.0
# ...     for t in range(len(x)):
# ...         water = a * water + x[t]
# ...         y[t] = water
# ...     return y
# >>> x = torch.tensor([1.0, 0.0, 0.0, 4.0, 0.0, 0.0], requires_grad=True)
# >>> a = torch.tensor(0.5, requires_grad=True)
# >>> leak(x, a).sum().backward()
# Traceback (most recent call last):
# RuntimeError: Trying to backward through tutorial.leak.default but no autograd formula was registered...
# >>> def setup_context(ctx, inputs, output):
# ...     ctx.save_for_backward(inputs[1], output)
# >>> def backward(ctx, g):
# ...     a, y = ctx.saved_tensors
# ...     of_water = leak(g.flip(0), a).flip(0)
# ...     return of_water, (of_water[1:] * y[:-1]).sum()
# >>> leak.register_autograd(backward, setup_context=setup_context)
# >>> leak(x, a).sum().backward()
# >>> x.grad, a.grad
# (tensor([1.9688, 1.9375, 1.8750, 1.7500, 1.5000, 1.0000]), tensor(11.5625))
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | | in `minigrad` | PyTorch |
# |---|---|---|
# | the operator | `library/_custom_ops.py`, `CustomOpDef` | [`torch/_library/custom_ops.py`][custom_ops] |
# | the schema | `library/_infer_schema.py` | [`torch/_library/infer_schema.py`][infer] |
# | its node | `library/_autograd.py` | [`torch/_library/autograd.py`][autograd] |
# | the checks | `library/_opcheck.py` | `torch/testing/_internal/optests` |
# | the first generation | `_custom_op/autograd.py` | [`torch/_custom_op/autograd.py`][old] |
#
# [custom_ops]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_library/custom_ops.py
# [infer]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_library/infer_schema.py
# [autograd]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_library/autograd.py
# [old]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_custom_op/autograd.py
#
# PyTorch's `opcheck` has no test for derivatives: there you call `gradcheck`. All names: {doc}`minigrad.library </reference/library>`.
#
# ## What goes wrong
#
# **A type hint is missing.** Without it there is no schema:

# %%
with mg.testing.expect_error(ValueError, code="MG-E270"):
    @custom_op("tutorial::no_hint", mutates_args=())
    def no_hint(x, n: int) -> mg.Tensor:
        return x * n

# %% [markdown]
# **The result is an argument.** `relu` of positive numbers could return its input. But then a write to the result changes the
# input, and no graph knows it. So a call raises. Return `x.clone()` instead:

# %%
@custom_op("tutorial::lazy_relu", mutates_args=())
def lazy_relu(x: mg.Tensor) -> mg.Tensor:
    return x if (x >= 0).all() else x.clamp(min=0)


with mg.testing.expect_error(RuntimeError, code="MG-E275"):
    lazy_relu(mg.ones(2))

# %% [markdown]
# **It writes, and does not say so.** No call notices, because a comparison of all arguments would be slow. `opcheck` does:

# %%
@custom_op("tutorial::sly", mutates_args=())
def sly(x: mg.Tensor) -> mg.Tensor:
    y = x * 2
    x.zero_()
    return y


with mg.testing.expect_error(mg.library.OpCheckError, code="MG-E282"):
    opcheck(sly, (mg.ones(2),))

# %% [markdown]
# **Forward mode.** An operator has no `jvp`. A tangent would be lost, so the call raises ([tutorial 15](15_forward_mode.py)).
# Write a `Function` with a `jvp` if you need it:

# %%
with mg.autograd.forward_ad.dual_level():
    dual = mg.autograd.forward_ad.make_dual(mg.ones(3), mg.ones(3))
    with mg.testing.expect_error(NotImplementedError, code="MG-E278"):
        leak(dual, a.detach())

# %% [markdown]
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. Predict.** Neither `bare` nor `sly` has a formula, and `sly` writes to its argument. When is there an error: `"forward"`,
# `"backward"` or `"never"`? The programs run `y = ...` and then, if `y` requires a gradient, `y.sum().backward()`.

# %%
@custom_op("tutorial::bare", mutates_args=())
def bare(x: mg.Tensor) -> mg.Tensor:
    return x * 2


PROGRAMS = ["bare(x)", "bare(x.detach())", "bare([x])", "bare(x) * 0 + x",
            "sly(x.detach())"]
predicted = [None, None, None, None, None]


# %%
@mg.testing.exercise(1)
def check_when(predicted):
    assert len(predicted) == len(PROGRAMS), "five words, one for each program"
    for text, told in zip(PROGRAMS, predicted):
        names = {"bare": bare, "sly": sly, "x": mg.ones(2, requires_grad=True)}
        right = "forward"
        try:
            y = eval(text, names)
            right = "backward"
            if y.requires_grad:
                y.sum().backward()
            right = "never"
        except RuntimeError:
            pass
        assert told == right, f"{text}: not {told!r}. Is there a node, and does it run?"
    print("right")


# %% tags=["help"]
check_when.hints = [
    "When is a schema checked? When is a formula needed? Does anything look for a write that "
    "was not announced?",
    "An operator without a formula still leaves a node, if an input requires a gradient. The "
    "error comes when this node runs.",
    "Arguments are checked before the forward. A factor 0 makes a gradient of zeros, which is "
    "still a gradient. Only `opcheck` looks for hidden writes."]
check_when.wrong = {
    "bare(x): not 'forward'":
        "The forward needs no formula. It leaves a node, and the error comes when the node "
        "runs.",
    "bare(x): not 'never'":
        "`x` requires a gradient, so the backward runs a node that has no formula.",
    "bare(x.detach()): not 'backward'": "Nothing requires a gradient here, so there is no node.",
    "bare([x]): not 'backward'":
        "A list is not a tensor. The arguments are checked before the forward.",
    "bare([x]): not 'never'": "The schema says Tensor, and a list of tensors is not one.",
    "bare(x) * 0 + x: not 'never'": "A gradient of zeros goes through the node too.",
    "sly(x.detach()): not 'forward'": "A call does not look for writes. Only `opcheck` does."}


# %% tags=["hide-cell", "solution"]
check_when(["backward",
            "never",            # nothing requires a gradient, so there is no node
            "forward",          # the schema says Tensor, and not Tensor[]
            "backward",         # a gradient of zeros goes through the node as well
            "never"])           # only opcheck would notice

# %% [markdown]
# **2. A running maximum.** `running_max` returns, for each place, the largest number so far and where it was. Write its
# `backward(ctx, g, of_places)` for a row `x`: the gradient of each result goes to the place of the maximum. The places are
# integers, so their gradient has no meaning. `ctx.saved_tensors` is `(places,)`. Several results may have the same place.

# %%
@custom_op("tutorial::running_max", mutates_args=())
def running_max(x: mg.Tensor) -> tuple[mg.Tensor, mg.Tensor]:
    row = x.numpy()
    values = np.maximum.accumulate(row)
    new = np.concatenate([[True], row[1:] > values[:-1]])
    places = np.maximum.accumulate(np.where(new, np.arange(len(row)), 0))
    return mg.from_numpy(values), mg.from_numpy(places)


def running_backward(ctx, g, of_places):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_running(running_backward):
    def save_places(ctx, inputs, output):
        ctx.save_for_backward(output[1])

    running_max.register_autograd(running_backward, setup_context=save_places)
    x = mg.tensor([1.0, 3.0, 2.0, 0.0, 5.0], dtype=mg.float64, requires_grad=True)
    values, places = running_max(x)
    assert places.tolist() == [0, 1, 1, 1, 4]
    values.sum().backward()
    assert x.grad is not None, "x gets no gradient"
    assert x.grad.tolist() == [1, 3, 0, 0, 1], f"{x.grad.tolist()}, and not [1, 3, 0, 0, 1]"
    assert mg.autograd.gradcheck(lambda x: running_max(x)[0], x)
    assert mg.autograd.gradgradcheck(lambda x: running_max(x)[0], x)
    print("right")


# %% tags=["help"]
check_running.hints = [
    "Each result is a copy of one element of `x`. Where does its gradient go? What if two "
    "results are copies of the same element?",
    "Begin with zeros in the shape of `g`, and *add* each gradient at its place. An assignment "
    "to the same place twice would keep only one.",
    "`zeros.index_add(0, places, g)` adds the entries of `g` at the places. It is an op of "
    "minigrad, so it can be differentiated again."]
check_running.wrong = {
    "[1.0, 1.0, 0.0, 0.0, 1.0], and not":
        "Three results have the same place, and an assignment keeps one of them. Add.",
    "[1.0, 1.0, 1.0, 1.0, 1.0], and not":
        "The gradient of a result goes to the place of its maximum, and not to its own place.",
    "MG-E265": "NumPy leaves no graph. For the second derivative, compute with ops of minigrad."}


# %% tags=["hide-cell", "solution"]
def running_solution(ctx, g, of_places):
    (places,) = ctx.saved_tensors
    return mg.zeros_like(g).index_add(0, places, g)     # out[places] = g would lose some


check_running(running_solution)

# %% [markdown]
# **3. An operator that is its own backward.** If $x$ solves $A x = b$, then $\bar b$ solves $A^\top \bar b = \bar x$, and
# $\bar A = -\bar b\,x^\top$. Write `make_solve()`. It returns an operator `solve(A, b)` that computes with `np.linalg.solve`, for a
# matrix and a vector. The second derivative must be right as well, and $\bar A$ should be None if it is not needed.

# %%
def make_solve():
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_solve(make_solve):
    solve = make_solve()
    A = mg.tensor([[2.0, 1.0], [0.0, 4.0]], dtype=mg.float64, requires_grad=True)
    b = mg.tensor([4.0, 8.0], dtype=mg.float64, requires_grad=True)
    x = solve(A, b)
    assert x.tolist() == [1.0, 2.0], f"the solution is [1, 2], and not {x.tolist()}"
    assert x.requires_grad and count_nodes(x) == 1, "expected one node"
    assert mg.autograd.gradcheck(solve, (A, b)), "the first derivative"
    assert mg.autograd.gradgradcheck(solve, (A, b)), "the second derivative"
    of_A, *_ = solve(A.detach(), b).grad_fn.apply(mg.ones(2, dtype=mg.float64))
    assert of_A is None, "the gradient of A was computed, but is not needed"
    assert opcheck(solve, (A, b))
    print("right")


# %% tags=["help"]
check_solve.hints = [
    "`backward` has to solve an equation too. Which operator does this, and for which matrix?",
    "Write the three parts: the operator with `custom_op`, a `setup_context` that saves `A` "
    "and the result, and a `backward`. `ctx.needs_input_grad` says what is needed.",
    "In `backward`, the gradient of `b` is `solve(A.t(), g)`: the operator calls itself. The "
    "gradient of `A` is the negative outer product of this result and `x`. If it is not "
    "needed, return None instead of it."]
check_solve.wrong = {
    "the sign is wrong": "The formula for the gradient of `A` has a minus.",
    "Jacobian mismatch": "The gradient of `b` solves an equation with the *transpose* of `A`.",
    "the gradient of A was computed, but is not needed":
        "Ask `ctx.needs_input_grad[0]` before you compute it.",
    "MG-E115":
        "NumPy cannot be differentiated. Call your operator in `backward`, and there is a "
        "second derivative."}


# %% tags=["hide-cell", "solution"]
def make_solve_solution():
    @custom_op("tutorial::solve", mutates_args=())
    def solve(A: mg.Tensor, b: mg.Tensor) -> mg.Tensor:
        return mg.from_numpy(np.linalg.solve(A.numpy(), b.numpy()))

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], output)

    def backward(ctx, g):
        A, x = ctx.saved_tensors
        of_b = solve(A.t(), g)      # the operator itself: there is a second derivative
        return -mg.outer(of_b, x) if ctx.needs_input_grad[0] else None, of_b

    solve.register_autograd(backward, setup_context=setup_context)
    return solve


check_solve(make_solve_solution)

# %% [markdown]
# ## What to remember
#
# * `custom_op` makes an operator from any function: a **name**, a **schema** from the type hints, and **one node** in the graph.
# * `setup_context` saves what the formula needs, and for whom: see `ctx.needs_input_grad`. `backward` returns a value for each
#   positional argument, and a list for a list.
# * Number, structure and shape of the gradients are checked. Their **values** are not: run `opcheck` with `test_gradcheck`.
# * Without a formula the forward works, and the backward raises.
# * The function returns **new** memory, and writes only to `mutates_args`. `opcheck` checks what a call does not.
# * If `backward` computes with operations that have formulas, there is a second derivative.
#
# **Next:** [tutorial 17](17_your_own_cuda_op.py), the same with a kernel for a GPU; or [tutorial 22](22_first_nan.py), about a
# number that spoils a training.
