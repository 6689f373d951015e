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
# # A program that did not know it was differentiated
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** the graph ([tutorial
# 1](01_derivative_to_graph.py)), second derivatives ([tutorial 5](05_double_backward.py)), and from [tutorial
# 15](15_forward_mode.py) what a Jacobian is. **Afterwards** you can take a function as it is and get its Jacobian, its Hessian,
# or the product of either with a vector; treat a network as a function of its parameters; and compute one gradient for each
# example of a batch.
#
# **The question.** There is a function that was written without a thought of gradients: no `requires_grad`, no `backward`. Can we
# get its derivatives from outside, without a change and without a trace in its arguments?
#
# Our example is a narrow, bent valley. Its lowest point is $(1, 1)$, and we stand at $(1, 2)$, on the slope:
#
# $$ r(x, y) = \bigl(1 - x,\; 10\,(y - x^2)\bigr), \qquad f = r_0^2 + r_1^2 . $$

# %%
import minigrad as mg
from minigrad import func

functional = mg.autograd.functional


def residuals(p):
    x, y = p
    return mg.stack([1 - x, 10 * (y - x * x)])


def height(p):
    return (residuals(p) ** 2).sum()


p = mg.tensor([1.0, 2.0])
print(residuals(p), height(p))
assert residuals(p).tolist() == [0, 10] and height(p).item() == 100

# %% [markdown]
# ## By hand
#
# `p` requires no gradient. The obvious way is to change this: call `p.requires_grad_()`, then `backward()`. But then every later
# computation with `p` is recorded, and `.grad` adds up over the calls. Better is a new {doc}`leaf </notes/glossary>` for this
# purpose, and `grad`, which returns the gradient instead of storing it:

# %%
def gradient_of(f, p):
    leaf = p.detach().requires_grad_()
    (g,) = mg.autograd.grad(f(leaf), leaf)
    return g


print(gradient_of(height, p), p.requires_grad, p.grad)
assert gradient_of(height, p).tolist() == [-400, 200]
assert not p.requires_grad and p.grad is None

# %% [markdown]
# These three lines are the whole idea of this page. All functions below call the program with new leaves, run one or more
# backwards, and return tensors. `p` stays as it was.
#
# ## The Jacobian
#
# `residuals` has two outputs. The table of all derivatives, one row for each output and one column for each input, is the
# *Jacobian* $J$:

# %%
J = functional.jacobian(residuals, p)
print(J)
assert J.tolist() == [[-1, 0], [-20, 10]] and not J.requires_grad

# %% [markdown]
# A backward computes one row. It starts with a *vector* $u$ of gradients, one for each output, and returns $J^\top u$, a
# {doc}`vjp </notes/glossary>`. With $u = (0, 1)$ this is the second row. The other product, $J v$, says how the outputs move if
# the input moves in the direction $v$, a {doc}`jvp </notes/glossary>`.
#
# **Predict.** With the $J$ above: what are $J^\top u$ for $u = (1, 1)$, and $J v$ for $v = (1, 0)$?
#
# <details><summary>Answer</summary>
#
# $J^\top u$ is the sum of the rows, $(-21, 10)$. $J v$ is the first column, $(-1, -20)$.
#
# </details>

# %%
value, back = functional.vjp(residuals, p, mg.tensor([1.0, 1.0]))
value, ahead = functional.jvp(residuals, p, mg.tensor([1.0, 0.0]))
print(back, ahead)
assert back.tolist() == [-21, 10] and ahead.tolist() == [-1, -20]

# %% [markdown]
# Both also return the value of the function. Neither builds $J$: for a million inputs, that would be a table with a million
# columns.
#
# ## The Hessian, and its product with a vector
#
# The second derivatives of `height` are a table as well, the *Hessian* $H$. `hvp` computes $H v$ without the table: the gradient
# of $g^\top v$, where $g$ is the gradient.

# %%
H = functional.hessian(height, p)
value, Hv = functional.hvp(height, p, mg.tensor([1.0, 0.0]))
print(H)
print(Hv)
assert H.tolist() == [[402, -400], [-400, 200]] and Hv.tolist() == H[:, 0].tolist()

# %% [markdown]
# With the Hessian we can walk down the valley by Newton's method: each step goes to the lowest point of the parabola that fits
# best. We start at $(0, 0)$. The first step knows only the parabola, and leaves the valley; the second one arrives:

# %%
q, path = mg.zeros(2), []
for _ in range(2):
    q = q - mg.linalg.solve(functional.hessian(height, q), gradient_of(height, q))
    path.append((q.tolist(), height(q).item()))
    print(*path[-1])
assert path == [([1, 0], 100), ([1, 1], 0)]

# %% [markdown]
# What does each cost? We count the backwards, for a function with 100 inputs. `square` has 100 outputs, `cubes` has one:

# %%
def backwards(program):
    with mg.debug.record() as record:
        program()
    return len({event.task for event in record.events if event.kind == "compute"})


def square(p):
    return p * p


def cubes(p):
    return (p ** 3).sum()


at, v = mg.ones(100), mg.ones(100)
cost = {"vjp": backwards(lambda: functional.vjp(square, at, v)),
        "jvp": backwards(lambda: functional.jvp(square, at, v)),
        "jacobian": backwards(lambda: functional.jacobian(square, at)),
        "hvp": backwards(lambda: functional.hvp(cubes, at, v)),
        "vhp": backwards(lambda: functional.vhp(cubes, at, v)),
        "hessian": backwards(lambda: functional.hessian(cubes, at))}
print(cost)
assert list(cost.values()) == [1, 2, 100, 3, 2, 101]

# %% [markdown]
# A product with a vector costs a few backwards, a table one for each row. (`jvp` is the derivative of $J^\top u$ with respect to
# $u$, so two backwards. `func.jvp` uses [forward mode](15_forward_mode.py), and no backward.)
#
# <details><summary>Deeper: vhp, strategies, and results with a history</summary>
#
# `vhp` computes $v^\top H$. Since $H$ is symmetric, this is the same vector, for one backward less than `hvp`. `jacobian(...,
# strategy="forward-mode", vectorize=True)` computes the columns by forward mode, which is better if there are fewer inputs than
# outputs.
#
# The results have no history. With `create_graph=True` they have one, so you can differentiate them again with respect to `p` (if
# `p` requires a gradient) or to parameters in `f`.
#
# </details>
#
# ## Functions of functions
#
# `func.grad(f)` does not compute a gradient. It returns a *function* that computes it. So it can be applied again. The cube has
# the derivatives $3x^2$, $6x$ and 6:

# %%
def cube(x):
    return x ** 3


first = func.grad(cube)
second = func.grad(first)
third = func.grad(second)
two = mg.tensor(2.0)
print(first(two), second(two), third(two))
assert (first(two).item(), second(two).item(), third(two).item()) == (12, 12, 6)

# %% [markdown]
# They compose: the Hessian is the Jacobian of the gradient. `jacrev` computes a Jacobian by rows, `jacfwd` by columns.

# %%
same = [func.hessian(height)(p), func.jacrev(func.grad(height))(p),
        func.jacfwd(func.grad(height))(p)]
assert all([h.tolist() == H.tolist() for h in same])

# %% [markdown]
# `argnums` selects arguments, and an argument may be a tree: a dict of parameters has a dict of gradients. `has_aux=True` is for
# a function that returns `(loss, anything else)`.

# %%
def error(params, x):
    found = params["slope"] * x + params["shift"]
    return (found - 10) ** 2, found


params = {"slope": mg.tensor(3.0), "shift": mg.tensor(1.0)}
grads, found = func.grad(error, has_aux=True)(params, mg.tensor(2.0))
print(grads, found)
assert (grads["slope"].item(), grads["shift"].item(), found.item()) == (-12, -6, 7)

# %% [markdown]
# ## A module is a function of its parameters
#
# A network keeps its parameters inside. `func.functional_call(net, params, args)` calls it with *other* parameters, for this one
# call. So the loss becomes a function of the parameters, as the functions above need it:

# %%
net = mg.nn.Linear(2, 1)
X = mg.tensor([[1.0, 2.0], [3.0, 0.0], [0.0, 1.0]])
target = mg.tensor([[0.0], [1.0], [1.0]])
params = {"weight": mg.tensor([[1.0, -1.0]]), "bias": mg.tensor([0.5])}


def loss(params, x, target):
    return ((func.functional_call(net, params, (x,)) - target) ** 2).mean()


grads = func.grad(loss)(params, X, target)
print({name: [round(v, 4) for v in g.flatten().tolist()] for name, g in grads.items()})
assert mg.allclose(grads["weight"], mg.tensor([[14 / 3, -5 / 3]]))
assert mg.allclose(grads["bias"], mg.tensor([1 / 3])) and net.weight.grad is None

# %% [markdown]
# ## A gradient for each example
#
# The loss of a batch is a mean, so its gradient is the mean of the gradients of the examples. The single gradients cannot be found
# from the mean. But sometimes you need them: to find the example that disturbs the training, or to limit the influence of
# each.
#
# **Predict.** Could you call `backward()` on the batch and read the gradients of the examples anywhere in the graph?
#
# <details><summary>Answer</summary>
#
# Not for the parameters. The product `X @ W.T` is one node, and its formula for `W` sums over the rows. A single gradient is
# never computed. You need a backward for each example, or another formula.
#
# </details>
#
# `func.vmap(f)` turns a function of one example into a function of a batch. `in_dims` says which arguments have the dimension of
# the batch: None for the parameters, 0 for the data. Together with `grad`:

# %%
per_example = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(params, X, target)
print(per_example["weight"].shape, per_example["bias"].flatten().tolist())
assert per_example["weight"].shape == (3, 1, 2)
assert per_example["bias"].flatten().tolist() == [-1, 5, -3]
assert mg.allclose(per_example["weight"].mean(0), grads["weight"])

# %% [markdown]
# The first dimension is the example. The mean over it is the gradient of the batch, as it must be. Now each gradient can be
# shortened to a length of at most 1 before the mean:

# %%
def clipped_mean(per_example, limit=1.0):
    norms = mg.stack([g.flatten(1).norm(dim=1) for g in per_example.values()]).norm(dim=0)
    factors = (limit / norms).clamp(max=1.0)
    return {name: (g * factors.view(-1, *[1] * (g.ndim - 1))).mean(0)
            for name, g in per_example.items()}, norms


clipped, norms = clipped_mean(per_example)
print([f"{n:.3f}" for n in norms.tolist()])
assert mg.allclose(norms ** 2, mg.tensor([1.0 + 4 + 1, 225.0 + 25, 9.0 + 9]))
total = sum([(g * g).sum() for g in clipped.values()]).sqrt().item()
assert total <= 1.0

# %% [markdown]
# <details><summary>Deeper: what vmap does here, and in PyTorch</summary>
#
# minigrad's `vmap` calls the function once for each example and stacks the results. So you can step through it with a debugger,
# and the function may use `.item()` and `if`. The price is the time of a loop. PyTorch calls the function *once*, with tensors
# that hide a dimension, and has a rule for each operation. That is fast, but `.item()` and a branch on a value raise an error
# there.
#
# The same holds for the next section: a batch of gradients is a loop of backwards here, and one backward in PyTorch.
#
# </details>
#
# ## Batches of gradients
#
# `vmap` maps a function. If you have a graph already, you can ask it for several backwards together. With `is_grads_batched=True`
# the first dimension of `grad_outputs` numbers the backwards. With the unit vectors, the result is the Jacobian:

# %%
leaf = p.detach().requires_grad_()
r = residuals(leaf)
(rows,) = mg.autograd.grad(r, leaf, mg.eye(2), is_grads_batched=True)
print(rows)
assert rows.tolist() == J.tolist()

# %% [markdown]
# ## Step by step
#
# `jacobian` records the function once and runs one backward for each output. Find where the second backward begins. Why are the
# saved values of the first still there?

# %%
with mg.debug.record() as record:
    functional.jacobian(residuals, p)
mg.viz.step(record)

# %%
ran = [event.task for event in record.events if event.op == "StackBackward0"
       and event.kind == "compute"]
print(len(ran), "runs of the stack, in", len(set(ran)), "backwards")
assert len(ran) == len(set(ran)) == 2

# %% [markdown]
# (They are kept: `retain_graph`, [tutorial 4](04_retain_graph.py).)
#
# ## The source
#
# Each row is one call of `grad`, with a unit vector:

# %%
mg.utils.source.source_of("autograd/_jacobians.py", "jacobian_rows")

# %% [markdown]
# And `func.grad` is our three lines, with trees of tensors, and a *level* that makes the new leaves. With levels, an inner `grad`
# does not take the variables of an outer one for its own:

# %%
mg.utils.source.source_of("func/_reverse.py", "differentiate")

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# >>> import torch
# >>> from torch import func
# >>> def residuals(p):
# ...     x, y = p
# ...     return torch.stack([1 - x, 10 * (y - x * x)])
# >>> def height(p):
# ...     return (residuals(p) ** 2).sum()
# >>> p = torch.tensor([1.0, 2.0])
# >>> torch.autograd.functional.jacobian(residuals, p)
# tensor([[ -1.,   0.],
#         [-20.,  10.]])
# >>> torch.autograd.functional.hvp(height, p, torch.tensor([1.0, 0.0]))[1]
# tensor([ 402., -400.])
# >>> func.grad(height)(p), func.hessian(height)(p)
# (tensor([-400.,  200.]), tensor([[ 402., -400.],
#         [-400.,  200.]]))
# >>> func.vmap(func.grad(height))(torch.tensor([[1.0, 2.0], [2.0, 4.0]]))
# tensor([[-400.,  200.],
#         [   2.,    0.]])
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | | in `minigrad` | PyTorch |
# |---|---|---|
# | derivatives of functions | `autograd/functional.py` | [`torch/autograd/functional.py`][functional] |
# | transforms | `func/_reverse.py`, `func/_jacobians.py` | [`torch/_functorch/eager_transforms.py`][eager] |
# | levels | `func/_levels.py` | the same file, and C++ |
# | `vmap` | `func/_vmap.py`, a loop | [`torch/_functorch/vmap.py`][vmap], a rule for each op |
# | a module as a function | `func/_functional_call.py` | [`torch/nn/utils/stateless.py`][stateless] |
#
# [functional]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/autograd/functional.py
# [eager]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_functorch/eager_transforms.py
# [vmap]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_functorch/vmap.py
# [stateless]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/nn/utils/stateless.py
#
# All names: {doc}`minigrad.autograd.functional </reference/autograd.functional>` and {doc}`minigrad.func </reference/func>`. Which of the two? `func` composes, takes trees, and
# looks at the grad mode for whether its results have a history. `autograd.functional` is older, takes tuples of tensors, and has
# `strict`.
#
# ## What goes wrong
#
# **More than one number.** A gradient belongs to one number. For several outputs there is a Jacobian:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E252"):
    func.grad(residuals)(p)

# %% [markdown]
# **The program leaves the graph.** A function that did not know may use `.item()`, `.detach()` or NumPy in the middle. From there
# on, the numbers are constants. There is no error, and the derivative lacks a part or is 0. `strict=True` refuses an output that
# does not depend on the input at all:

# %%
def forgetful(p):
    return mg.stack([p[0] * p[0].item(), p[1].detach() * 3])


J = functional.jacobian(forgetful, p)
print(J)
assert J.tolist() == [[1, 0], [0, 0]]               # and not [[2, 0], [0, 3]]
with mg.testing.expect_error(RuntimeError, code="MG-E253"):
    functional.jacobian(lambda p: p.detach() * 3, p, strict=True)

# %% [markdown]
# `strict` accepts the wrong first row. `mg.autograd.gradcheck` would find it.
#
# ### Deeper: two more cases
#
# **The program writes to its argument.** The argument is a leaf now, and a leaf must not be overwritten. Let the program work on
# a copy:

# %%
def writes(p):
    p.mul_(2)
    return p.sum()


with mg.testing.expect_error(RuntimeError, code="MG-E121"):
    func.grad(writes)(p)
assert func.grad(lambda p: writes(p.clone()))(p).tolist() == [2, 2]

# %% [markdown]
# **The batch does not fit.** All mapped arguments need the same size in their dimension. And random numbers in the function are
# an error, until you say whether each example draws its own:

# %%
with mg.testing.expect_error(ValueError, code="MG-E254"):
    func.vmap(mg.dot)(mg.ones(3, 2), mg.ones(4, 2))
with mg.testing.expect_error(RuntimeError, code="MG-E254"):
    func.vmap(lambda x: x + mg.rand(2))(mg.ones(3, 2))
noisy = func.vmap(lambda x: x + mg.rand(2), randomness="different")
assert noisy(mg.ones(3, 2)).shape == (3, 2)

# %% [markdown]
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. Predict.** `g` takes a tensor of three numbers and returns a tensor of two. `s` takes the same and returns one number, a 0-d
# tensor. `x` is a tensor of three numbers, and `B` is a batch of five such tensors. What are the shapes? Answer with tuples.

# %%
PROGRAMS = ["functional.jacobian(g, x)", "functional.hessian(s, x)", "func.grad(s)(x)",
            "func.vmap(func.grad(s))(B)", "func.vmap(func.jacrev(g))(B)",
            "functional.vjp(g, x, mg.ones(2))[1]"]
predicted = [None, None, None, None, None, None]


# %%
@mg.testing.exercise(1)
def check_shapes(predicted):
    assert len(predicted) == len(PROGRAMS), "six shapes, one for each program"
    names = {"g": lambda x: x[:2] * x[2], "s": lambda x: (x ** 3).sum(), "x": mg.ones(3),
             "B": mg.ones(5, 3), "func": func, "functional": functional, "mg": mg}
    for text, told in zip(PROGRAMS, predicted):
        right = tuple(eval(text, names).shape)
        assert told == right, f"{text}: not {told}. How many outputs, and how many inputs?"
    print("right")


# %% tags=["help"]
check_shapes.hints = [
    "Count first: how many numbers go in, how many come out?",
    "A Jacobian has the shape of the output, followed by that of the input. A Hessian has the "
    "shape of the input twice. A gradient and a vjp have that of the input.",
    "`vmap` puts the length of the batch in front of the shape for one example. The last "
    "program returns a pair, and `[1]` is the vjp."]
check_shapes.wrong = {
    "functional.jacobian(g, x): not (3, 2)":
        "A row for each output, and a column for each input.",
    "functional.hessian(s, x): not (3,)":
        "This is the shape of the gradient. The Hessian is the Jacobian of the gradient.",
    "func.grad(s)(x): not ()": "A gradient has the shape of the input.",
    "func.vmap(func.grad(s))(B): not (3,)":
        "There is one gradient for each of the five examples.",
    "func.vmap(func.jacrev(g))(B): not (2, 3)":
        "There is one Jacobian for each of the five examples.",
    "func.vmap(func.jacrev(g))(B): not (5, 2, 5, 3)":
        "`vmap` differentiates each example by itself, and not with respect to the others.",
    "functional.vjp(g, x, mg.ones(2))[1]: not (2,)":
        "The vector has the shape of the output, and the vjp that of the input."}


# %% tags=["hide-cell", "solution"]
check_shapes([(2, 3), (3, 3), (3,), (5, 3), (5, 2, 3), (3,)])

# %% [markdown]
# **2. Curvature.** Write `curvature(f, p, v)`: the second derivative of `f` at `p` along `v`, $v^\top H v$, a 0-d tensor. Do not
# build the Hessian: the check uses a `p` of 100,000 numbers.

# %%
def curvature(f, p, v):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_curvature(curvature):
    found = curvature(height, p, mg.tensor([1.0, 1.0]))
    assert isinstance(found, mg.Tensor) and found.ndim == 0, "return a 0-d tensor"
    right = 402 - 400 - 400 + 200
    assert found.item() == right, f"{found.item()}, and not {right}"
    large = mg.ones(100_000)
    found = curvature(lambda p: (p ** 3).sum(), large, 2 * large)
    assert found.item() == 6 * 4 * 100_000, f"for a sum of cubes: {found.item()}"
    print("right")


# %% tags=["help"]
check_curvature.hints = [
    "You need `H v`, and not `H`. Which function computes this product?",
    "`functional.hvp(f, p, v)` returns a pair: the value of `f`, and the product of the "
    "Hessian and `v`.",
    "Take the second entry of the pair. Multiply it by `v`, element by element, and add up."]
check_curvature.wrong = {
    "return a 0-d tensor":
        "The product of the Hessian and `v` is a vector. Multiply it by `v` once more, and "
        "return a tensor instead of a Python number.",
    "for a sum of cubes: 1200000.0":
        "You added the entries of `H v`. Multiply them by those of `v` first.",
    "-200.0, and not -198": "This is the slope along `v`, the first derivative.",
    "100.0, and not -198": "This is the value of `f`, the first entry of the pair."}


# %% tags=["hide-cell", "solution"]
def curvature_solution(f, p, v):
    return (functional.hvp(f, p, v)[1] * v).sum()


check_curvature(curvature_solution)

# %% [markdown]
# **3. Which example?** Write `influence(net, loss_fn, X, target)`. It returns a tensor with one number for each example: the length
# of the example's gradient with respect to all parameters of the network together. `loss_fn(output, target)` takes batches, even a
# batch of one example. The parameters and their `.grad` must not change.

# %%
def influence(net, loss_fn, X, target):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_influence(influence):
    mg.manual_seed(0)
    net = mg.nn.Sequential(mg.nn.Linear(2, 3), mg.nn.Tanh(), mg.nn.Linear(3, 1))
    loss_fn = mg.nn.MSELoss()
    X = mg.tensor([[1.0, 2.0], [-1.0, 0.5], [3.0, 0.0], [0.0, 0.0]])
    target = mg.tensor([[0.0], [1.0], [50.0], [0.0]])
    found = influence(net, loss_fn, X, target)
    assert isinstance(found, mg.Tensor) and found.shape == (4,), "one number per example"
    assert all([q.grad is None for q in net.parameters()]), "a .grad has changed"
    for i in range(4):
        one = loss_fn(net(X[i:i + 1]), target[i:i + 1])
        grads = mg.autograd.grad(one, net.parameters())
        right = sum([(g * g).sum() for g in grads]).sqrt().item()
        assert abs(found[i].item() - right) < 1e-3 * (1 + right), \
            f"example {i}: {found[i].item():.2f}, and not {right:.2f}"
    print("right")


# %% tags=["help"]
check_influence.hints = [
    "You need one gradient for each example, and not the gradient of their mean. Which "
    "transformation runs a function once per example?",
    "`func.grad` differentiates a function of the parameters, and `func.vmap` runs it for each "
    "example. `func.functional_call` runs the net with given parameters.",
    "Write `loss(params, x, t)` for one example, which makes a batch of one with "
    "`unsqueeze(0)`. Use `in_dims=(None, 0, 0)`. Add the squares over all parameters of an "
    "example, and take the root at the end."]
check_influence.wrong = {
    "a .grad has changed":
        "`backward` adds to `.grad`. `func.grad` and `autograd.grad` return the gradients "
        "instead.",
    "one number per example":
        "You have one gradient for the whole batch. Each example needs its own.",
    "example 0: 0.91, and not 0.95": "The root is missing: this is the square of the length.",
    "example 0: 1.63, and not 0.95":
        "You added the lengths of the parameters' gradients. Add the squares, and take the "
        "root of the sum."}


# %% tags=["hide-cell", "solution"]
def influence_solution(net, loss_fn, X, target):
    params = {name: q.detach() for name, q in net.named_parameters()}

    def loss(params, x, t):
        output = func.functional_call(net, params, (x.unsqueeze(0),))       # a batch of one
        return loss_fn(output, t.unsqueeze(0))

    grads = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(params, X, target)
    return sum([(g * g).flatten(1).sum(1) for g in grads.values()]).sqrt()


check_influence(influence_solution)

# %% [markdown]
# ## What to remember
#
# * To differentiate a function from outside: call it with a **new leaf**, and use `grad`, which returns the gradient.
# * `vjp` is $J^\top u$, `jvp` is $J v$, `hvp` is $H v$. None of them builds the table. `jacobian` runs one backward for each
#   output.
# * `func.grad(f)` is a **function**, so it composes: `grad` of `grad`, `jacrev` of `grad`, `vmap` of `grad`.
# * `functional_call` makes a module a function of its **parameters**.
# * The gradient of a batch is a mean. `vmap(grad(loss), in_dims=(None, 0, 0))` gives **one gradient for each example**.
# * `is_grads_batched=True` runs several backwards through one graph.
# * `.item()` and `.detach()` in the function make constants, silently.
#
# **Next:** [tutorial 15](15_forward_mode.py), where $J v$ is computed without a backward.
