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
# # Homework 2: from numbers to tensors
#
# **The question.** A tensor has a million numbers, and so has the result of an operation. Nobody wants a million times a million
# local derivatives. What do you need instead? You write the answer for four operations, for broadcasting, and for the test that
# finds a wrong one. At the end, a network learns with your formulas inside minigrad.
#
# You need: homework 1, and tutorial 1, *From a derivative to a graph*. About 180 minutes, 100 points.
#
# | part | points | you write |
# |---|---|---|
# | 1 | 40 | `mul_vjp`, `exp_vjp`, `tanh_vjp`, `mm_vjp` |
# | 2 | 20 | `sum_to_shape` |
# | 3 | 30 | `numerical_gradient` and `agrees` |
# | 4 | 10 | nothing: a network learns with your formulas |
#
# Run `python -m pytest -q test_public.py` beside this file after each part. Write your code where it says
# `raise NotImplementedError()`.

# %%
import minigrad as mg

# %% [markdown]
# ## Vector times Jacobian
#
# Let $z = f(x)$, and let $L$ be a number that is computed from $z$. Backward needs $\bar x = \partial L/\partial x$, and it has
# $\bar z = \partial L/\partial z$, a tensor with the shape of $z$:
#
# $$ \bar x_i = \sum_j \bar z_j \frac{\partial z_j}{\partial x_i} . $$
#
# This is a vector times the Jacobian matrix of $f$: a **vector-Jacobian product**, or vjp. You never make the matrix. For an
# operation on each number alone, such as $z_i = e^{x_i}$, the sum has one term: $\bar x_i = \bar z_i\, e^{x_i}$.
#
# In minigrad a node computes the vjp of its operation. It has *saved* what the formula needs: `node._saved_self`,
# `node._saved_other` and so on. You may see them with `dir(node)`.

# %%
if __name__ == "__main__":
    x, y = mg.tensor([1.0, 2.0], requires_grad=True), mg.tensor([3.0, 4.0], requires_grad=True)
    for z in (x * y, x.exp(), x.tanh()):
        print(z.grad_fn.name(), [name for name in dir(z.grad_fn) if name.startswith("_saved_")])

# %% [markdown]
# ## Part 1: four formulas
#
# Each function gets the node and the gradient of its result. It returns the gradient of its input, and `mul_vjp` and `mm_vjp` return
# a tuple of two. A node saves only what it needs: if `y` of `x * y` requires no gradient, then nobody needs `x`, and
# `node._saved_self` is None. Then return None for the gradient of `y`.
#
# For a product of matrices $Z = X\,Y$ you need $\bar X$ and $\bar Y$. Look at the shapes: only one product of $\bar Z$ and $Y$, one
# of them transposed, has the shape of $X$.

# %% nbgrader={"grade": false, "grade_id": "vjps", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mul_vjp(node, grad):
    """The gradients of x and y of ``x * y``. Saved: `_saved_self` is x, `_saved_other` is y."""
    ### BEGIN SOLUTION
    x, y = node._saved_self, node._saved_other
    return None if y is None else grad * y, None if x is None else grad * x
    ### END SOLUTION


def exp_vjp(node, grad):
    """The gradient of x of ``x.exp()``. Saved: `_saved_result`."""
    ### BEGIN SOLUTION
    return grad * node._saved_result
    ### END SOLUTION


def tanh_vjp(node, grad):
    """The gradient of x of ``x.tanh()``. Saved: `_saved_result`."""
    ### BEGIN SOLUTION
    bounded = node._saved_result
    return grad * (1.0 - bounded * bounded)
    ### END SOLUTION


def mm_vjp(node, grad):
    """The gradients of x and y of ``x @ y``, two matrices. Saved: `_saved_self` is x, `_saved_mat2` is y."""
    ### BEGIN SOLUTION
    x, y = node._saved_self, node._saved_mat2
    return None if y is None else grad @ y.t(), None if x is None else x.t() @ grad
    ### END SOLUTION


# %% [markdown]
# Put one into minigrad and look. Everything else is minigrad's own.

# %%
if __name__ == "__main__":
    with mg.grading.swap("vjp", mul_vjp, of="mul") as part:
        (x * y).sum().backward()
    part.check_used()
    print(x.grad, y.grad)

# %% [markdown]
# ## Part 2: what broadcasting leaves to do
#
# In `x + b` with `x` of shape (2, 3) and `b` of shape (3,), each number of `b` is used twice. So its gradient is the **sum** over
# the places where it was used. In general, let `grad` have the shape of the result, and `shape` the shape of the operand:
#
# * The result may have more dimensions, in front. Sum over them.
# * A dimension of size 1 of the operand was repeated. Sum over it, and keep it with size 1.
#
# The engine does this for every node, so a vjp need not.

# %% nbgrader={"grade": false, "grade_id": "sum", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sum_to_shape(grad, shape):
    """`grad`, summed over all dimensions along which a tensor of this shape was broadcast."""
    ### BEGIN SOLUTION
    more = grad.dim() - len(shape)
    if more > 0:
        grad = grad.sum(tuple(range(more)))
    repeated = tuple(i for i, size in enumerate(shape) if size == 1 and grad.shape[i] != 1)
    return grad.sum(repeated, keepdim=True) if repeated else grad
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "sum-check", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
if __name__ == "__main__":
    print(sum_to_shape(mg.ones(2, 3), (3,)), sum_to_shape(mg.ones(2, 3), (2, 1)), sum_to_shape(mg.ones(2, 3), ()))
    assert sum_to_shape(mg.ones(4, 2, 3), (1, 3)).tolist() == [[8.0, 8.0, 8.0]]
    ### BEGIN HIDDEN TESTS
    assert sum_to_shape(mg.ones(2, 3), (2, 3)).shape == (2, 3)
    ### END HIDDEN TESTS

# %% [markdown]
# ## Part 3: how you find a wrong formula
#
# Move one number of `x` a little, and see how much the result moves: $\partial L/\partial x_i \approx
# \big(L(x + h e_i) - L(x - h e_i)\big) / 2h$. This **central difference** has an error of the order $h^2$; with only one side it is
# of the order $h$. In float64, $h = 10^{-6}$ is a good step. In float32 almost no digit would be left.
#
# `numerical_gradient(function, x)` returns a tensor like `x`. `function` takes a tensor and returns a tensor with one number. Do not
# change `x`. `agrees` compares this with the gradient of minigrad, for a function of a float64 tensor.

# %% nbgrader={"grade": false, "grade_id": "numerical", "locked": false, "schema_version": 3, "solution": true, "task": false}
def numerical_gradient(function, x, step=1e-6):
    """The gradient of ``function(x)``, a tensor like `x`, by central differences."""
    ### BEGIN SOLUTION
    moved = x.detach().clone()
    found = mg.zeros_like(moved)
    places, slopes = moved.view(-1), found.view(-1)
    for i in range(moved.numel()):
        before = places[i].item()
        places[i] = before + step
        above = function(moved).item()
        places[i] = before - step
        below = function(moved).item()
        places[i] = before
        slopes[i] = (above - below) / (2 * step)
    return found
    ### END SOLUTION


def agrees(function, x, tolerance=1e-5):
    """Whether minigrad's gradient of ``function(x)`` is right: no number differs by more than `tolerance`, relative to 1 + its size."""
    ### BEGIN SOLUTION
    leaf = x.detach().clone().requires_grad_()
    exact, = mg.autograd.grad(function(leaf), leaf)
    found = numerical_gradient(function, x)
    return bool(((exact - found).abs() <= tolerance * (1.0 + found.abs())).all())
    ### END SOLUTION


# %% [markdown]
# A right formula and a wrong one:

# %%
if __name__ == "__main__":
    x = mg.tensor([[0.3, -0.7], [1.1, 0.2]], dtype=mg.float64)
    print("tanh:", agrees(lambda x: (x.tanh() * x).sum(), x))
    with mg.grading.swap("vjp", lambda node, grad: grad * node._saved_result, of="tanh"):
        print("tanh with a wrong formula:", agrees(lambda x: (x.tanh() * x).sum(), x))

# %% [markdown]
# ## Part 4: a network learns with your formulas

# %%
def train(steps=100):
    """Fit a small network to a sine. Returns the losses."""
    mg.manual_seed(1)
    inputs = mg.linspace(-1.0, 1.0, 32).reshape(32, 1)
    wanted = (inputs * 3.0).sin()
    w1, w2 = mg.randn(1, 16) * 2, mg.randn(16, 1) * 0.2
    parameters = [w.requires_grad_() for w in (w1, mg.zeros(16), w2)]
    optimizer = mg.optim.Adam(parameters, lr=0.02)
    losses = []
    for _ in range(steps):
        w1, b, w2 = parameters
        difference = (inputs @ w1 + b).tanh() @ w2 - wanted
        loss = (difference * difference).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    with mg.grading.swap("vjp", mul_vjp, of="mul") as mul, mg.grading.swap("vjp", tanh_vjp, of="tanh") as tanh, \
            mg.grading.swap("vjp", mm_vjp, of="mm") as mm:
        losses = train()
    print(f"loss: {losses[0]:.3f} at first, {losses[-1]:.5f} at last; your formulas ran {mul.calls + tanh.calls + mm.calls} times")

# %% [markdown]
# ## Rubric
#
# A check passes or fails as a whole. Comments and style are not graded. The hidden checks ask for what this text asks for: random
# shapes, operands that require no gradient, second derivatives of your formulas, and wrong formulas that `agrees` must find.
