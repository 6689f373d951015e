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
# # Homework 5: hooks, in the right order
#
# **The question.** A program wants to see a gradient, or to change it, in the middle of a backward. When exactly is its function
# called, on what, and what happens to the result? You write the table of hooks, the order around a node, and a tool that is made of
# hooks alone. At the end, a network learns while the engine calls all hooks through your function.
#
# You need: tutorials 12 and 13, on hooks, and homework 3. About 200 minutes, 100 points.
#
# | part | points | you write |
# |---|---|---|
# | 1 | 25 | `Hooks`: a table, and handles that remove |
# | 2 | 40 | `call_hooks`: everything around a node |
# | 3 | 20 | `gradients_at`: gradients at edges of the graph |
# | 4 | 15 | `limit_gradients`, made of hooks; a network learns |
#
# Run `python -m pytest -q test_public.py` beside this file after each part. Write your code where it says
# `raise NotImplementedError()`.

# %%
import minigrad as mg

# %% [markdown]
# ## Part 1: a table of hooks
#
# `register` puts a function into the table and returns a *handle*: a function without arguments that removes it again. To remove it
# twice does no harm. The same function may be in the table twice; each handle removes its own entry.
#
# `run(grad)` calls the functions in the order of registration. A result that is not None **replaces** the gradient for the functions
# after it. `run` returns the last gradient. It works on a **snapshot**: a function that is registered during a run waits for the next
# run; one that is removed during a run is still called in this one.

# %% nbgrader={"grade": false, "grade_id": "table", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Hooks:
    """A table of functions of a gradient."""

    def __init__(self):
        ### BEGIN SOLUTION
        self.functions, self.made = {}, 0
        ### END SOLUTION

    def register(self, function):
        """Put a function into the table. Returns a function that removes it."""
        ### BEGIN SOLUTION
        number = self.made
        self.made += 1
        self.functions[number] = function
        return lambda: self.functions.pop(number, None)
        ### END SOLUTION

    def run(self, grad):
        """Pass a gradient through all functions, and return what comes out."""
        ### BEGIN SOLUTION
        for function in list(self.functions.values()):
            replaced = function(grad)
            if replaced is not None:
                grad = replaced
        return grad
        ### END SOLUTION


# %%
if __name__ == "__main__":
    table = Hooks()
    remove = table.register(lambda grad: grad * 10)
    table.register(lambda grad: print("sees", grad))
    print(table.run(3.0))
    remove()
    print(table.run(3.0))

# %% [markdown]
# ## Part 2: around a node
#
# When all gradients of a node have arrived, this happens, in this order:
#
# 1. The **tensor hooks** of each output, on the gradient of that output. A result replaces it.
# 2. **retain_grad**: the gradient of an output is stored in the `.grad` of that tensor.
# 3. The **pre-hooks** of the node, on the tuple of all gradients. A result, a tuple, replaces it.
# 4. The node itself: `call(grads)` returns a tuple of results, one for each edge.
# 5. The **post-hooks** of the node, on the results and the gradients that the node was called on. A result, a tuple, replaces the
#    results.
# 6. For the node of a leaf, the **post-accumulate hooks**. They have no arguments here.
#
# `hooks` is a dict. `hooks["tensor hook"]` and `hooks["retain_grad"]` are lists of pairs `(number of the output, function)`; the
# function of retain_grad stores the gradient that it is called on. `hooks["pre-hook"]`, `hooks["post-hook"]` and
# `hooks["post-accumulate hook"]` are lists of functions. Return the results.

# %% nbgrader={"grade": false, "grade_id": "around", "locked": false, "schema_version": 3, "solution": true, "task": false}
def call_hooks(node, grads, hooks, call):
    """Call all hooks around `node`, and the node. Returns the tuple of results."""
    ### BEGIN SOLUTION
    grads = list(grads)
    for number, hook in hooks["tensor hook"]:
        replaced = hook(grads[number])
        if replaced is not None:
            grads[number] = replaced
    for number, store in hooks["retain_grad"]:
        store(grads[number])
    grads = tuple(grads)
    for hook in hooks["pre-hook"]:
        replaced = hook(grads)
        if replaced is not None:
            grads = replaced
    results = call(grads)
    for hook in hooks["post-hook"]:
        replaced = hook(results, grads)
        if replaced is not None:
            results = replaced
    for hook in hooks["post-accumulate hook"]:
        hook()
    return results
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "around-check", "locked": true, "points": 0, "schema_version": 3, "solution": false, "task": false}
if __name__ == "__main__":
    x = mg.tensor(2.0, requires_grad=True)
    y = x * x
    y.retain_grad()
    y.register_hook(lambda grad: grad * 10)
    with mg.grading.swap("call_hooks", call_hooks) as part:
        (y * 3).backward()
    part.check_used()
    print(y.grad, x.grad)
    assert (y.grad.item(), x.grad.item()) == (30.0, 120.0)
    ### BEGIN HIDDEN TESTS
    assert part.calls == 3
    ### END HIDDEN TESTS

# %% [markdown]
# ## Part 3: gradients at edges
#
# A tensor stands for a place in the graph: an edge to its node. `mg.autograd.graph.get_gradient_edge` returns this
# `GradientEdge`. It stays valid when the tensor is gone, or when its variable has got another value in place. `autograd.grad` takes
# edges instead of tensors.
#
# `gradients_at(function, x)` calls `function(x, note)`. The function computes a result with one number, and calls `note(tensor)` at
# tensors on its way. It may write to such a tensor afterwards! Return a list with the gradient at each noted place, in order; None for
# a place that the result does not use. Do not change any `.grad`.

# %% nbgrader={"grade": false, "grade_id": "edges", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gradients_at(function, x):
    """The gradients of ``function(x, note)`` at all tensors that it notes."""
    ### BEGIN SOLUTION
    edges = []
    result = function(x, lambda tensor: edges.append(mg.autograd.graph.get_gradient_edge(tensor)))
    return list(mg.autograd.grad(result, edges, allow_unused=True)) if edges else []
    ### END SOLUTION


# %%
if __name__ == "__main__":
    def program(x, note):
        y = x * 2
        note(y)
        y += 1      # y is another place of the graph from here on
        note(y)
        return (y * y).sum()

    print(gradients_at(program, mg.tensor([1.0, 2.0], requires_grad=True)))

# %% [markdown]
# ## Part 4: a tool made of hooks
#
# `limit_gradients(parameters, most)` keeps the 2-norm of each parameter's `.grad` at most at `most`: as soon as a gradient has been
# accumulated, it is scaled down if it is longer. Return a function that takes all hooks away again. Use
# `register_post_accumulate_grad_hook`, which calls your function with the parameter.

# %% nbgrader={"grade": false, "grade_id": "limit", "locked": false, "schema_version": 3, "solution": true, "task": false}
def limit_gradients(parameters, most):
    """Scale each ``.grad`` down to a norm of `most`, whenever it is accumulated. Returns a function that ends this."""
    ### BEGIN SOLUTION
    def limit(parameter):
        norm = parameter.grad.norm().item()
        if norm > most:
            parameter.grad *= most / norm

    handles = [parameter.register_post_accumulate_grad_hook(limit) for parameter in parameters]

    def end():
        for handle in handles:
            handle.remove()
    return end
    ### END SOLUTION


# %%
def train(steps=60):
    """Fit a recurrent network to a sum of its inputs, with limited gradients. Returns the losses."""
    mg.manual_seed(0)
    inputs = mg.rand(32, 6, 1) - 0.5
    wanted = inputs.sum(1)
    cell, out = mg.nn.RNN(1, 12, batch_first=True), mg.nn.Linear(12, 1)
    parameters = [*cell.parameters(), *out.parameters()]
    end = limit_gradients(parameters, 0.5)
    optimizer = mg.optim.Adam(parameters, lr=0.02)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((out(cell(inputs)[0][:, -1]) - wanted) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    end()
    return losses


if __name__ == "__main__":
    with mg.grading.swap("call_hooks", call_hooks) as part:
        losses = train()
    part.check_used()
    print(f"loss: {losses[0]:.3f} at first, {losses[-1]:.4f} at last; {part.calls} nodes ran through your function")

# %% [markdown]
# ## Rubric
#
# A check passes or fails as a whole. Comments and style are not graded. The hidden checks ask for what this text asks for: the order
# of all hooks, replaced gradients, operations with several outputs, hooks that add and remove hooks, places that are written to.
