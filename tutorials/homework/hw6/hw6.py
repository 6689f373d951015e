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
# # Homework 6: formulas of your own, and derivatives of derivatives
#
# **The question.** You know a better formula than autograd would find. How do you give it to autograd, so that second derivatives
# still come out right? And what are second derivatives good for? You write three Functions, a product with a Hessian matrix that is
# never made, and Newton's method.
#
# You need: tutorials 5, 14 and 15, on double backward, Function and forward mode. About 220 minutes, 100 points.
#
# | part | points | you write |
# |---|---|---|
# | 1 | 30 | `Cube` and `Scale`: a formula, and what it saves |
# | 2 | 25 | `LogSumExp`: a formula that is better than autograd's |
# | 3 | 30 | `hessian_vector` and `directional` |
# | 4 | 15 | nothing: Newton's method with your products |
#
# Run `python -m pytest -q test_public.py` beside this file after each part. Write your code where it says
# `raise NotImplementedError()`.

# %%
import minigrad as mg
from minigrad.autograd import Function

# %% [markdown]
# ## Part 1: a formula, and what it saves
#
# A `Function` has a `forward`, which runs without recording, and a `backward`, which gets the gradients of the results. What the
# backward needs, `forward` saves with `ctx.save_for_backward`: only so are second derivatives right and writes noticed. Numbers and
# other objects go into attributes of `ctx`.
#
# `Cube` computes $x^3$. Its backward must be made of operations on `x` that can be differentiated again.
#
# `Scale` computes `x * factor`, where `factor` is a tensor with one number, or a Python number. For a tensor, its gradient is
# $\sum_i \bar z_i x_i$, with the shape of `factor`. `ctx.needs_input_grad` says for which inputs a gradient is needed: do not compute
# the others, and do not save what nobody needs. For a Python number the gradient is None.

# %% nbgrader={"grade": false, "grade_id": "functions", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Cube(Function):
    """``x ** 3``"""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        return x * x * x
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad):
        ### BEGIN SOLUTION
        x, = ctx.saved_tensors
        return grad * 3 * x * x
        ### END SOLUTION


class Scale(Function):
    """``x * factor``, where `factor` is a tensor with one number, or a Python number."""

    @staticmethod
    def forward(ctx, x, factor):
        ### BEGIN SOLUTION
        tensor = isinstance(factor, mg.Tensor)
        ctx.number = None if tensor else factor
        ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, factor if tensor and ctx.needs_input_grad[0] else None)
        return x * factor
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad):
        ### BEGIN SOLUTION
        x, factor = ctx.saved_tensors
        of_x = grad * (factor if ctx.number is None else ctx.number) if ctx.needs_input_grad[0] else None
        return of_x, (grad * x).sum() if ctx.needs_input_grad[1] else None
        ### END SOLUTION


# %%
if __name__ == "__main__":
    x = mg.tensor([1.0, 2.0], requires_grad=True)
    first, = mg.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    second, = mg.autograd.grad(first.sum(), x)
    print(first, second)

# %% [markdown]
# ## Part 2: a better formula
#
# `log_sum_exp` is $\log \sum_i e^{x_i}$ over the last dimension. Written like this, it overflows: $e^{100}$ is too large for float32.
# With $m = \max_i x_i$ it is $m + \log \sum_i e^{x_i - m}$, which never does. And the derivative is known: it is the softmax, $e^{x_i -
# z}$, where $z$ is the result. So nothing needs to be saved but `x` and `z`, and the backward needs no maximum.
#
# Second derivatives must be right too. So save `x` and the **result** itself with `save_for_backward`: then the formula can be
# differentiated with respect to both.

# %% nbgrader={"grade": false, "grade_id": "logsumexp", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LogSumExp(Function):
    """The logarithm of the sum of the exponentials over the last dimension."""

    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        most = x.max(-1, keepdim=True).values
        result = ((x - most).exp().sum(-1, keepdim=True).log() + most).squeeze(-1)
        ctx.save_for_backward(x, result)
        return result
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad):
        ### BEGIN SOLUTION
        x, result = ctx.saved_tensors
        return grad.unsqueeze(-1) * (x - result.unsqueeze(-1)).exp()
        ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "logsumexp-check", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
if __name__ == "__main__":
    x = mg.tensor([100.0, 101.0], requires_grad=True)
    LogSumExp.apply(x).backward()
    print(LogSumExp.apply(x), x.grad)
    assert abs(x.grad.sum().item() - 1.0) < 1e-5
    ### BEGIN HIDDEN TESTS
    assert mg.autograd.gradgradcheck(LogSumExp.apply, mg.tensor([[0.5, -1.0]], dtype=mg.float64, requires_grad=True))
    ### END HIDDEN TESTS

# %% [markdown]
# ## Part 3: products with matrices that are never made
#
# For a function $f$ of $n$ numbers, the Hessian matrix $H$ has $n \times n$ second derivatives. `hessian_vector(f, x, v)` returns $H v$
# at the cost of two backwards: the gradient of $\nabla f(x) \cdot v$. `x` may or may not require a gradient; do not change it, nor its
# `.grad`.
#
# `directional(f, x, v)` returns $f(x)$ and its derivative along $v$, $\nabla f(x) \cdot v$, in **one forward** and without a graph:
# with `mg.autograd.forward_ad`, a tensor carries its tangent along. `f` may return a tensor of any shape.

# %% nbgrader={"grade": false, "grade_id": "products", "locked": false, "schema_version": 3, "solution": true, "task": false}
def hessian_vector(function, x, v):
    """The Hessian matrix of a function with one number as its result, times `v`."""
    ### BEGIN SOLUTION
    leaf = x.detach().requires_grad_()
    slopes = mg.autograd.grad(function(leaf), leaf, create_graph=True)[0]
    return mg.autograd.grad((slopes * v).sum(), leaf)[0]
    ### END SOLUTION


def directional(function, x, v):
    """The value of a function, and its derivative along `v`."""
    ### BEGIN SOLUTION
    with mg.autograd.forward_ad.dual_level(), mg.no_grad():
        value, tangent = mg.autograd.forward_ad.unpack_dual(function(mg.autograd.forward_ad.make_dual(x.detach(), v)))
        return value, mg.zeros_like(value) if tangent is None else tangent
    ### END SOLUTION


# %% [markdown]
# ## Part 4: Newton's method
#
# A step of gradient descent goes down; a step of Newton's method goes where a parabola has its minimum. It needs $d$ with $H d = -g$.
# The method of conjugate gradients finds $d$ with products $H v$ alone: yours. We fit a small model of logistic regression.

# %%
def newton(steps=8):
    """Fit a logistic regression by Newton's method, with `hessian_vector`, `LogSumExp` and `directional`. Returns the losses."""
    mg.manual_seed(4)
    inputs = mg.randn(40, 3, dtype=mg.float64)
    labels = (inputs[:, 0] - 0.5 * inputs[:, 1] + 0.3 * mg.randn(40, dtype=mg.float64) > 0).long()

    def loss(w):
        scores = mg.stack([inputs @ w, -(inputs @ w)], 1)
        chosen = scores.gather(1, (1 - labels).reshape(-1, 1)).squeeze(1)
        return (LogSumExp.apply(scores) - chosen).mean() + 0.01 * (w * w).sum()

    w, losses = mg.zeros(3, dtype=mg.float64), []
    for _ in range(steps):
        leaf = w.clone().requires_grad_()
        value = loss(leaf)
        gradient, = mg.autograd.grad(value, leaf)
        losses.append(value.item())
        step, rest = mg.zeros_like(w), -gradient
        direction = rest.clone()
        for _ in range(3):
            product = hessian_vector(loss, w, direction)
            length = (rest @ rest) / (direction @ product)
            step = step + length * direction
            after = rest - length * product
            direction = after + (after @ after) / (rest @ rest) * direction
            rest = after
        w = w + step
    slope = directional(lambda w: (w ** 3).sum(), w, step)[1].item()
    return losses, slope


if __name__ == "__main__":
    losses, slope = newton()
    print("losses:", ", ".join(f"{loss:.8f}" for loss in losses), f"  slope along the last step: {slope:.2e}")

# %% [markdown]
# ## Rubric
#
# A check passes or fails as a whole. Comments and style are not graded. The hidden checks ask for what this text asks for: gradients and
# second derivatives against finite differences, what is saved, large numbers, and products on random functions.
