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
# # The first nan: anomaly mode
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** the graph ([tutorial
# 1](01_derivative_to_graph.py)), and hooks only for the folded parts ([tutorial 12](12_hooks.py)). **Afterwards** you can find
# the line of a program whose derivative is nan, say why it is, and write it so that it is not.
#
# **The question.** The loss was 2, and in the next step it is nan, and so are all parameters. The step before looked fine. Which
# line is the cause?
#
# Our example places three points in the plane. Their distances should be the `wanted` ones. Points 1 and 2 happen to start at the
# same place:

# %%
import math
import re
import warnings

import minigrad as mg
from minigrad.utils._python_dispatch import TorchDispatchMode

wanted = mg.tensor([[0.0, 5.0, 5.0], [5.0, 0.0, 1.0], [5.0, 1.0, 0.0]])


def start():
    return mg.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0]], requires_grad=True)


def distances(points):
    differences = points[:, None, :] - points[None, :, :]
    squares = (differences ** 2).sum(-1)
    return squares.sqrt()


def stress(points):
    return ((distances(points) - wanted) ** 2).sum()


# %%
points, losses = start(), []
for step in range(3):
    points.grad = None
    loss = stress(points)
    loss.backward()
    losses.append(loss.item())
    print(f"step {step}: loss {losses[-1]}, gradient of point 0 {points.grad[0].tolist()}")
    with mg.no_grad():
        points -= 0.1 * points.grad
assert losses[0] == 2.0 and math.isnan(losses[1]) and points.isnan().all()

# %% [markdown]
# The loss of step 0 is right: one distance is 0 instead of 1, and it counts twice. But the *gradient* is nan already, before any
# parameter is. So a nan in the loss is a late symptom. The first nan was in the backward of the step before.
#
# ## What a nan is
#
# *Not a number* is the result of an operation that has no right answer. There are not many of them:

# %%
inf = float("inf")
for text in ("inf - inf", "0 * inf", "inf / inf"):
    value = eval(text)
    print(f"{text:<10} {value}")
    assert math.isnan(value)
zero = mg.zeros(1)
print("0 / 0     ", (zero / zero).item(), "  1 / 0:", (1 / zero).item())
assert (zero / zero).isnan() and (1 / zero).isinf() and mg.tensor(-1.0).sqrt().isnan()

# %% [markdown]
# Two properties make it unpleasant. It *spreads*: each sum and each product with a nan is nan, so one entry of a gradient spoils
# a whole layer, and the next forward spoils the rest. And every comparison with it is false, also `nan == nan`, so a test such as
# `loss > 1000` does not see it. Use `isnan()`.

# %%
nan = mg.tensor(float("nan"))
print((nan == nan).item(), (nan > 1000).item(), nan.isnan().item(), (nan * 0).item())
assert nan != nan and not nan > 1000 and nan.isnan() and (nan * 0).isnan()

# %% [markdown]
# ## Anomaly mode
#
# `set_detect_anomaly(True)` does two things. Each new {doc}`node </notes/glossary>` notes where in the program it is made. And
# after each node has run in the backward, its results are tested for nan. The first nan is an error, and a warning shows the
# lines that made the node. This function runs a program in the mode and prints both in short:

# %%
def first_nan(program):
    """Run a program in anomaly mode. Print the error, and the lines that made the node."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with mg.autograd.set_detect_anomaly(True):
            expected = mg.testing.expect_error(RuntimeError, code="MG-E124", quiet=True)
            with expected as caught:
                program()
    print(str(caught.value).splitlines()[0])
    lines = re.findall(r"in (.+)\n    (.+)", str(told[0].message))
    for function, line in lines[-2:]:
        print(f"    in {function}: {line}")
    return lines[-1][1] if lines else None


found = first_nan(lambda: stress(start()).backward())
assert found == "return squares.sqrt()"

# %% [markdown]
# That is the line. Now, why? The derivative of $\sqrt s$ is $1/(2\sqrt s)$. For two points at the same place, $s = 0$, and the
# slope is infinite. An infinite slope alone is no nan. But the slope of $s = d^2$ is $2d = 0$ there, and $\infty \cdot 0$ is nan.
# On the diagonal, each point has the distance 0 from itself: there the gradient that *arrives* is 0, and $0 \cdot \infty$ is nan
# as well.
#
# **Predict.** `x` is `[0, 4]`. What is the gradient of `x.sqrt().sum()`, and does the mode say anything?
#
# <details><summary>Answer</summary>
#
# Infinity, and a quarter. The mode is silent: it looks for nan, and not for infinity. The infinity becomes a nan when it meets a
# zero.
#
# </details>

# %%
def gradient(f, *values):
    x = mg.tensor(list(values), requires_grad=True)
    f(x).sum().backward()
    return x.grad.tolist()


with mg.autograd.set_detect_anomaly(True):
    found = gradient(mg.sqrt, 0.0, 4.0)
print(found)
assert found == [inf, 0.25]

# %% [markdown]
# ### The forward must be inside
#
# A node that was made before the mode was on has noted nothing:

# %%
loss = stress(start())
assert first_nan(loss.backward) is None

# %% [markdown]
# A traceback for each node and a test of each gradient make a program slower. Turn the mode on when you look for a mistake, and
# off again. `mg.autograd.detect_anomaly()` is the same as a context manager only, and begins with a warning about this price.
#
# ### Deeper: the note
#
# And here is the note itself. It is a list of strings, the traceback of the call, with the innermost call last:

# %%
x = mg.tensor(4.0, requires_grad=True)
with mg.autograd.set_detect_anomaly(True):
    y = x.sqrt()
noted = y.grad_fn.metadata["traceback_"][-1].splitlines()[-1].strip()
print(noted)
assert noted == "y = x.sqrt()" and x.sqrt().grad_fn.metadata == {}

# %% [markdown]
# ## where, and the branch not taken
#
# The obvious way to correct a root at 0 is to ask first:

# %%
def masked(x):
    return mg.where(x > 0, x.sqrt(), mg.zeros_like(x))


x = mg.tensor([0.0, 4.0], requires_grad=True)
print("value:   ", masked(x).tolist())
print("gradient:", gradient(masked, 0.0, 4.0))
found = first_nan(lambda: gradient(masked, 0.0, 4.0))
assert masked(x).tolist() == [0.0, 2.0] and math.isnan(gradient(masked, 0.0, 4.0)[0])
assert found == "return mg.where(x > 0, x.sqrt(), mg.zeros_like(x))"

# %% [markdown]
# The value is right and the gradient is nan. `where` computes *both* branches and selects among the results. Its backward sends 0
# to the branch that was not taken. Then the root multiplies this 0 by its infinite slope. A 0 says "this does not matter", but
# arithmetic does not know that.
#
# The solution is to ask **before** the function: give it an argument at which its slope is finite. This is called the *double
# where*.

# %%
def masked_twice(x):
    inside = mg.where(x > 0, x, mg.ones_like(x))
    return mg.where(x > 0, inside.sqrt(), mg.zeros_like(x))


print(masked_twice(x).tolist(), gradient(masked_twice, 0.0, 4.0))
assert masked_twice(x).tolist() == [0.0, 2.0]
assert gradient(masked_twice, 0.0, 4.0) == [0.0, 0.25]

# %% [markdown]
# ### Deeper: it is the slope that counts
#
# **Predict.** `mg.where(x > 0, x.log(), 0)` at $x = -1$. The logarithm of -1 is nan in the forward. What is the gradient?
#
# <details><summary>Answer</summary>
#
# 0, and no nan. The slope $1/x$ is -1, a finite number, and $0 \cdot (-1)$ is 0 (printed as -0.0). What counts is the *slope* of
# the branch not taken, and not its value. For the root of -1 the slope is nan as well, and so is the gradient.
#
# </details>

# %%
of_log = gradient(lambda x: mg.where(x > 0, x.log(), 0.0), -1.0)
of_root = gradient(lambda x: mg.where(x > 0, x.sqrt(), 0.0), -1.0)
print(of_log, of_root)
assert of_log == [0.0] and math.isnan(of_root[0])

# %% [markdown]
# ## Deeper: a nan that cancels
#
# The mode stops at the first nan in *any* gradient. But not each nan reaches a parameter. In this program, `where` comes first,
# and the root of 0 makes a nan, as before. Then the backward of `where` replaces it by 0, since that branch does not depend on
# `x`:

# %%
def harmless(x):
    positive = mg.where(x > 0, x, 0.0)
    return positive.sqrt() * (x > 0)


print(gradient(harmless, -1.0, 4.0))
assert gradient(harmless, -1.0, 4.0) == [0.0, 0.25]
found = first_nan(lambda: gradient(harmless, -1.0, 4.0))
assert found == "return positive.sqrt() * (x > 0)"

# %% [markdown]
# The gradient is right, and the mode raises an error. So an error of the mode means "here is a nan", and not "your gradient is
# wrong". Correct it anyway: the next change may let the nan through. If you want only the tracebacks, for another error, use
# `check_nan=False`.
#
# ## What the mode does not see
#
# It tests gradients. A nan of the *forward* is not tested. Often it appears in a gradient soon. But here the loss is nan, and the
# gradient is an innocent 0:

# %%
x = mg.tensor([1e38, 1.0], requires_grad=True)
with mg.autograd.set_detect_anomaly(True):
    big = x * 10
    loss = (big - big).sum()            # inf - inf
    loss.backward()
print(loss.item(), x.grad.tolist())
assert math.isnan(loss.item()) and x.grad.tolist() == [0.0, 0.0]

# %% [markdown]
# So test the loss as well: `assert loss.isfinite()` costs little, in each step. To find the operation, you can test the result of
# each module with a forward hook, or of each operation, as in the fold.

# %% mystnb={"code_prompt_show": "Deeper: the first nan of the forward", "code_prompt_hide": "Hide"} tags=["hide-cell", "deeper"]
class NanOfTheForward(TorchDispatchMode):
    """Sees each op as it runs, and raises after the first that returns nan."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for t in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(t, mg.Tensor) and t.is_floating_point() and t.isnan().any():
                raise ArithmeticError(f"{func} made the first nan of the forward")
        return out


with NanOfTheForward(), mg.testing.expect_error(ArithmeticError):
    big = x * 10
    loss = (big - big).sum()

# %% [markdown]
# ## The usual causes
#
# In the left column, the gradient of `x` has a nan. The right column is the same formula, corrected:

# %%
f = mg.nn.functional
CAUSES = [          # what, the values of x, with nan, corrected
    ("a length at 0", (0.0, 0.0), lambda x: (x * x).sum().sqrt(), lambda x: x.norm()),
    ("a direction at 0", (0.0, 0.0), lambda x: x / x.norm(),
     lambda x: f.normalize(x, dim=0)),
    ("a large exponent", (100.0, 0.0), lambda x: x.exp() / x.exp().sum(),
     lambda x: x.softmax(0)),
    ("log of exp", (100.0, 0.0), lambda x: (1 + x.exp()).log(), f.softplus),
    ("log of sigmoid", (-200.0, 0.0), lambda x: x.sigmoid().log(), f.logsigmoid),
    ("p log p at 0", (0.0, 0.5), lambda x: x * x.log(),
     lambda x: x * x.clamp(min=1e-9).log()),
    ("clamped too late", (0.0, 4.0), lambda x: x.log().clamp(min=-9),
     lambda x: x.clamp(min=1e-4).log()),
    ("masked too late", (0.0, 4.0), lambda x: x.sqrt() * (x > 0), masked_twice),
    ("std of one number", (3.0,), lambda x: x.std(), lambda x: x.std(correction=0)),
    ("0 / 0", (0.0, 1.0), lambda x: x.sin() / x, lambda x: mg.sinc(x / math.pi)),
]
for what, values, bad, good in CAUSES:
    wrong, right = gradient(bad, *values), gradient(good, *values)
    assert any(map(math.isnan, wrong)) and not any(map(math.isnan, right))
    print(f"{what:<18} {[round(v, 3) for v in wrong]!s:<16} {[round(v, 3) for v in right]}")

# %% [markdown]
# There are three rules in this table. **Use the function that computes it as a whole** (`log_softmax`, `softplus`, `norm`, a loss
# `...with_logits`): it knows the limit. **Keep the argument inside the domain before the function**, by `clamp` or `where`;
# afterwards is too late. And **a float32 ends at about $3 \cdot 10^{38}$**, so `exp` ends at 88.
#
# The direction at 0 has a finite gradient now, but a very large one. Where a direction does not exist, no derivative is right.
#
# In our example, `differences.norm(dim=-1)` is enough:

# %%
def stress_mended(points):
    differences = points[:, None, :] - points[None, :, :]
    return ((differences.norm(dim=-1) - wanted) ** 2).sum()


points = start()
stress_mended(points).backward()
print(stress_mended(points).item(), points.grad.tolist())
assert stress_mended(points).item() == 2.0 and points.grad.tolist() == [[0.0, 0.0]] * 3

# %% [markdown]
# The gradient is 0: no nan, but the two points never part. Which direction should it be? No derivative can say. Start them at
# different places.
#
# ## Step by step
#
# Watch the gradient of the first entry on its way through `masked`: 1, then 0, then nan:

# %%
x = mg.tensor([0.0, 4.0], requires_grad=True)
with mg.debug.record() as r:
    masked(x).sum().backward()
mg.viz.step(r)

# %%
seen = [f"{event.op:<15} {event.what}" for event in r.events if event.kind == "compute"]
print("\n".join(seen))
assert seen[-1] == "SqrtBackward0   [0, 1] -> [nan, 0.25]"

# %% [markdown]
# ## The source
#
# A new node notes its place. This runs for each node, so the first lines return if no mode is on:

# %%
mg.utils.source.source_of("_core/graph/anomaly.py", "note_creation")

# %% [markdown]
# After a node has run, and after its hooks, its results are tested. A nan is the only number that does not equal itself:

# %%
mg.utils.source.source_of("_core/graph/anomaly.py", "check_results")

# %% [markdown]
# <details><summary>Deeper: nodes that a backward has made</summary>
#
# With `create_graph=True`, a backward makes nodes too ([tutorial 5](05_double_backward.py)). The line of the program that made
# such a node is a call of `backward` or `grad`, which does not help. So the node also notes its *parent*: the node that was
# running. If it fails, there is a second warning, "Previous calculation was induced by ...", with the line that made the parent.
# The folded cell below shows both.
#
# </details>

# %% mystnb={"code_prompt_show": "Deeper: two warnings", "code_prompt_hide": "Hide"} tags=["hide-cell", "deeper"]
x = mg.tensor([0.0, 4.0], requires_grad=True)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    with mg.autograd.set_detect_anomaly(True):
        with mg.testing.expect_error(RuntimeError, code="MG-E124", quiet=True):
            y = (x ** 1.5).sum()
            (first,) = mg.autograd.grad(y, x, create_graph=True)
            (first * mg.tensor([0.0, 1.0])).sum().backward()
last = str(told[1].message).strip().splitlines()
print(last[0], "...", last[-1])
assert len(told) == 2 and last[-1].strip() == "y = (x ** 1.5).sum()"

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# >>> import torch, warnings
# >>> x = torch.tensor([0.0, 4.0], requires_grad=True)
# >>> torch.where(x > 0, x.sqrt(), torch.zeros(2)).sum().backward()
# >>> x.grad
# tensor([   nan, 0.2500])
# >>> with warnings.catch_warnings(record=True) as told:
# ...     warnings.simplefilter("always")
# ...     with torch.autograd.set_detect_anomaly(True):
# ...         loss = torch.where(x > 0, x.sqrt(), torch.zeros(2)).sum()
# ...         loss.backward()
# Traceback (most recent call last):
# RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
# >>> str(told[0].message).splitlines()[0]
# 'Error detected in SqrtBackward0. Traceback of forward call that caused the error:'
# >>> inside = torch.where(x > 0, x, torch.ones(2))
# >>> x.grad = None
# >>> torch.where(x > 0, inside.sqrt(), torch.zeros(2)).sum().backward()
# >>> x.grad
# tensor([0.0000, 0.2500])
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | | in `minigrad` | PyTorch |
# |---|---|---|
# | the contexts | `autograd/anomaly_mode.py` | [`torch/autograd/anomaly_mode.py`][mode] |
# | the note on a node | `_core/graph/anomaly.py`, `note_creation` | [`anomaly_mode.h`][h], `AnomalyMetadata` |
# | the test | the same file, `check_results` | [`engine.cpp`][engine], `call_function` and `evaluate_function` |
#
# [mode]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/autograd/anomaly_mode.py
# [h]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/anomaly_mode.h
# [engine]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/autograd/engine.cpp
#
# All names are in {doc}`minigrad.autograd </reference/autograd>`. What goes wrong without a nan: {doc}`/errors/does-not-learn`.
#
# ## What goes wrong
#
# **Only the backward is in the mode.** The error names a node, and no line. We have seen it above: put the forward into the block
# too.
#
# **The mode stays on.** As a call, `set_detect_anomaly(True)` lasts until the next call, for *all threads*, and your program
# remains slow. As a context manager it ends with the block, also after an error:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E124", quiet=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with mg.autograd.set_detect_anomaly(True):
            masked(x).sum().backward()
print(mg.is_anomaly_enabled())
assert not mg.is_anomaly_enabled()

# %% [markdown]
# ### Deeper: two wrong ways to correct it
#
# **The nan is removed where it is seen.** `nan_to_num` on the gradients, or a hook that writes zeros, hides the symptom. The
# entry that made the nan has no right gradient, and from then on there is no message.
#
# **A small number is added in the wrong place.** `(s + 1e-12).sqrt()` has a finite slope at 0, and `s.sqrt() + 1e-12` has not:

# %%
inside = gradient(lambda x: ((x * x).sum() + 1e-12).sqrt(), 0.0, 0.0)
outside = gradient(lambda x: (x * x).sum().sqrt() + 1e-12, 0.0, 0.0)
print(inside, outside)
assert inside == [0.0, 0.0] and all(map(math.isnan, outside))

# %% [markdown]
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. Predict.** `x` is `[0, 4]`, and `c` is `[0, 1]`. What is the first entry of the gradient of `x` in each program: `"nan"`,
# `"inf"`, or `"finite"`?

# %%
PROGRAMS = ["(x * x).sqrt()", "x.sqrt() + x", "(x + 1).log() * c", "x.sqrt() * c",
            "mg.where(x > 0, 1 / x, x)", "mg.where(x > 0, x, 1.0).log()"]
predicted = [None, None, None, None, None, None]


# %%
@mg.testing.exercise(1)
def check_first(predicted):
    assert len(predicted) == len(PROGRAMS), "six words, one for each program"
    for text, told in zip(PROGRAMS, predicted):
        x, c = mg.tensor([0.0, 4.0], requires_grad=True), mg.tensor([0.0, 1.0])
        eval(text, {"x": x, "c": c, "mg": mg}).sum().backward()
        first = x.grad[0].item()
        right = "nan" if math.isnan(first) else "inf" if math.isinf(first) else "finite"
        assert told == right, f"{text}: not {told!r}. Is a slope infinite? What meets it?"
    print("right")


# %% tags=["help"]
check_first.hints = [
    "Follow the gradient of the first entry back. Which slope is infinite at 0, and which "
    "number meets it?",
    "`inf + 1` is inf. But `0 * inf` is nan, and it does not matter which of the two arrives "
    "first.",
    "The slopes at 0: infinite for the root and for `1 / x`, 1 for `log(x + 1)`. `mg.where` "
    "sends a gradient of 0 into the branch that it did not choose."]
check_first.wrong = {
    "(x * x).sqrt(): not 'finite'":
        "The engine does not know that this is |x|. The slope of the root at 0 is infinite, "
        "and meets `2 * x = 0`.",
    "(x * x).sqrt(): not 'inf'":
        "The infinite slope of the root meets `2 * x = 0`, and `0 * inf` is nan.",
    "x.sqrt() + x: not 'nan'":
        "`inf + 1` is inf. For a nan, the infinite slope has to meet a 0.",
    "x.sqrt() * c: not 'finite'": "A factor 0 does not help: `0 * inf` is nan.",
    "x.sqrt() * c: not 'inf'": "A gradient of 0 arrives at the root, and `0 * inf` is nan.",
    "mg.where(x > 0, 1 / x, x): not 'finite'":
        "`where` sends 0 into the branch that it did not choose. There it meets an infinite "
        "slope.",
    "mg.where(x > 0, x, 1.0).log(): not 'nan'":
        "Here the choice comes before the function: the logarithm sees 1 instead of 0."}


# %% tags=["hide-cell", "solution"]
check_first(["nan",         # the slope inf of the root meets 2x = 0
             "inf",         # inf + 1
             "finite",      # the slope of log at 1 is 1
             "nan",         # 0 arrives at the root, and meets inf
             "nan",         # where sends 0 to 1/x, whose slope is -inf
             "finite"])     # where comes before the function

# %% [markdown]
# **2. Mend it.** Write `entropy(p)`, the sum of $-p_i \ln p_i$ for probabilities, where $0 \ln 0$ counts as 0. The gradient of an
# entry that is 0 should be 0 as well (its slope is infinite, and we choose not to move it). All others must be exact: $-\ln p_i -
# 1$.

# %%
def entropy(p):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_entropy(entropy):
    values = [0.0, 0.25, 0.75]
    p = mg.tensor(values, dtype=mg.float64, requires_grad=True)
    h = entropy(p)
    right = -sum([v * math.log(v) for v in values if v])
    assert not h.isnan(), "the entropy is nan"
    assert abs(h.item() - right) < 1e-12, f"the entropy is {h.item()}, and not {right}"
    h.backward()
    found, exact = p.grad.tolist(), [0.0] + [-math.log(v) - 1 for v in values if v]
    assert not any(map(math.isnan, found)), f"the gradient is {found}"
    assert found[0] == 0, f"the gradient at 0 is {found[0]:.2f}, and not 0"
    assert all([abs(f - e) < 1e-12 for f, e in zip(found, exact)]), f"{found}, not {exact}"
    print("right")


# %% tags=["help"]
check_entropy.hints = [
    "Where does the nan come from, in the forward and in the backward? They have the same "
    "cause: the logarithm of 0.",
    "`mg.where` behind the logarithm corrects the forward only. The logarithm must not see the 0 "
    "at all.",
    "Choose twice with `mg.where`. Inside, put 1 where `p` is 0, and take the logarithm of "
    "that. Outside, choose 0 at the same places. Then sum, with a minus."]
check_entropy.wrong = {
    "the entropy is nan": "`0 * log(0)` is 0 times -inf, a nan. Choose with `mg.where`.",
    "the gradient is [nan":
        "The forward is correct, but a 0 still meets an infinite slope in the backward. Choose "
        "*before* the logarithm.",
    "and not 0":
        "A lower bound makes the slope large instead of infinite. Where `p` is 0, no gradient "
        "should flow: choose with `mg.where`."}


# %% tags=["hide-cell", "solution"]
def entropy_solution(p):
    inside = mg.where(p > 0, p, 1.0)            # log 1 = 0, and the slope is finite
    return -mg.where(p > 0, inside * inside.log(), 0.0).sum()


check_entropy(entropy_solution)

# %% [markdown]
# **3. The line.** Write `line_of_nan(program)`. It calls `program()` in anomaly mode; the program runs a forward and a backward.
# `line_of_nan` returns, as a string, the line of the program that made the first nan of the backward. If there is no nan, it
# returns `""`. Afterwards the mode is as before. The warning has the traceback of the forward; its last line is the line to return.

# %%
def line_of_nan(program):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_line(line_of_nan):
    x = mg.tensor([0.0, 4.0], requires_grad=True)

    def bad():
        root = x.sqrt()
        (root * mg.tensor([0.0, 1.0])).sum().backward()

    def good():
        (x * x).sum().backward()

    found = line_of_nan(bad)
    assert found == "root = x.sqrt()", f"the line is root = x.sqrt(), and not {found!r}"
    assert line_of_nan(good) == "", "the second program makes no nan"
    assert not mg.is_anomaly_enabled(), "the mode is still on"
    with mg.autograd.set_detect_anomaly(True, check_nan=False):
        line_of_nan(good)
        assert mg.is_anomaly_enabled(), "the mode was on before, and is off now"
    print("right")


# %% tags=["help"]
check_line.hints = [
    "In anomaly mode, a nan raises an error. Before this, a warning shows where the forward "
    "made the node. You need the warning.",
    "`warnings.catch_warnings(record=True)` gives a list of the warnings. "
    "`mg.autograd.set_detect_anomaly(True)` in a `with` puts the mode back.",
    'Run the program in both contexts, with `warnings.simplefilter("always")`. Catch the '
    "RuntimeError. Then take the last line of the first warning's message, without spaces "
    "around it."]
check_line.wrong = {
    "root = x.sqrt(), and not ''":
        "The error was caught, but the line is in the warning. Record the warnings.",
    "root = x.sqrt(), and not 'Function":
        "This is the error, which names the node. The line of the program is in the warning.",
    "the second program makes no nan": "Without a nan there is no line: return an empty string.",
    "the mode is still on": "Use the mode in a `with` block, so that it ends with the block.",
    "the mode was on before, and is off now":
        "Do not switch the mode off at the end. A `with` block puts back what was there."}


# %% tags=["hide-cell", "solution"]
def line_of_nan_solution(program):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with mg.autograd.set_detect_anomaly(True):
            try:
                program()
            except RuntimeError:
                return str(told[0].message).rstrip().splitlines()[-1].strip()
    return ""


check_line(line_of_nan_solution)

# %% [markdown]
# ## What to remember
#
# * A nan in the loss is a late symptom. The first one is usually in a **gradient**, one step before.
# * `set_detect_anomaly(True)` around **forward and backward** raises at the first node that returns nan, and a warning shows the
#   line that made the node. It is slow, and does not test the forward.
# * An infinite slope is no nan. It becomes one when it meets a **0**: $0 \cdot \infty$.
# * `where` computes both branches. Ask **before** the function, not after it.
# * A nan may cancel, and the mode raises all the same.
# * Use functions that compute the whole (`log_softmax`, `softplus`, `norm`), and keep arguments inside the domain.
#
# **Next:** [tutorial 23](23_module_hooks.py), hooks on modules. A forward hook can find the module with the first nan.
