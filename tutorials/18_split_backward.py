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
# # One backward in two halves
#
# **Time** 20 minutes, and as long again for the exercises. **Level** advanced. **You need** how the engine waits and counts
# ([tutorial 2](02_the_engine.py)), pre-hooks of nodes ([tutorial 12](12_hooks.py)), and what a node saves
# ([tutorial 7](07_saved_tensors.py)). **Afterwards** you can split a backward into the half that another machine waits for and the
# half that nobody waits for, say which nodes run in each, and when the memory of each is free.
#
# **The question.** A model is too large for one machine, so two machines have a half each. In the backward the first machine waits
# for a gradient from the second. The second computes this gradient, and with it the gradients of its weights, which are needed only
# when the optimizer makes its step. Can it compute first what the other one waits for, and the rest later?
#
# The part of a model on one machine is a **stage**. Ours is so small that you can compute all gradients in your head: two products
# with a weight, and a `relu` between them. It gets $x$ from the stage before it, and gives $y$ to the stage behind it:
#
# $$ x = 2 \;\to\; w_1 x = 3 \cdot 2 = 6 \;\to\; \mathrm{relu} = 6 \;\to\; y = w_2 \cdot 6 = 30 \qquad (w_2 = 5). $$

# %%
import weakref

import minigrad as mg
from minigrad.autograd import grad
from minigrad.autograd.graph import GradientEdge
from minigrad.distributed.pipelining import PipelineStage, simulate
from minigrad.distributed.pipelining._backward import (
    stage_backward_input,
    stage_backward_weight,
)

nn = mg.nn
x = mg.tensor(2.0, requires_grad=True)
w1, w2 = nn.Parameter(mg.tensor(3.0)), nn.Parameter(mg.tensor(5.0))


def stage(x):
    return (x * w1).relu() * w2


y = stage(x)
mg.viz.draw(y)

# %% [markdown]
# The graph ends at $x$. In the whole model $x$ was computed by another stage, on another machine. A stage detaches its inputs and
# makes them leaves, so each machine has a small graph of its own.
#
# The whole backward of a stage is called **B**. It computes the gradient of $x$ for the stage before, and those of the weights:

# %%
def formulas(record):
    """Each formula that ran: the gradient that arrived -> the gradients of its operands."""
    return [f"{e.op:<14} {e.what}" for e in record.events if e.kind == "compute"]


with mg.debug.record() as r:
    y.backward()
print(*formulas(r), sep="\n")
print("x:", x.grad.item(), "  w1:", w1.grad.item(), "  w2:", w2.grad.item())

# %% [markdown]
# Read the first line: 1 arrived at the last product. Its formula computed two gradients, 5 for the result of `relu` and 6 for
# $w_2$. The other machine waits for 15, which is the first number of the last line. It does not wait for the 6 and the 10.
#
# ## The first idea: two walks
#
# `grad(y, x)` computes only what leads to $x$ ([tutorial 2](02_the_engine.py)). So call it first, and later run a second backward
# for the weights:

# %%
def forget():
    x.grad = w1.grad = w2.grad = None


forget()
y = stage(x)
with mg.debug.record() as now:
    (dx,) = grad(y, x, retain_graph=True)
with mg.debug.record() as later:
    y.backward(inputs=[w1, w2])
print("now:", *formulas(now), sep="\n   ")
print("later:", *formulas(later), sep="\n   ")

# %% [markdown]
# The numbers are right, and the first walk is what we want: where there is "nothing", the formula did not compute the gradient of
# the weight. In a large model this is half of the work.
#
# The second walk is the fault. It goes through the whole graph again, since the gradient of $w_1$ needs the gradient that arrives
# at the first product, and that one comes from the last product by way of `relu`. So the later half computes again what the first
# half had in its hands: the 5 appears in both. In a deep stage, the two walks together cost one and a half times B.
#
# ## The cut
#
# What does the gradient of a weight need? Only two things: what its node has saved, and the gradient that *arrives* at this node.
# $w_2$ needs the 1 that arrives at the last product, $w_1$ needs the 5 that arrives at the first. Both pass by during the first
# walk. So record them.
#
# ![A stage as a graph. The path of I goes from the gradient of y through the last product, relu and the first product to the gradient
# of x. At each of the two products, the gradient that arrives is recorded: 1 and 5. The two steps of W begin at these records and lead to
# the gradients of w2 and w1, 6 and 10.](pictures/two-halves.svg)
#
# * The **first half, I**, walks from $y$ to $x$. It returns the gradient of the *inputs*.
# * The **second half, W**, starts where a weight joins this path, and computes the gradients of the *weights*.
#
# Such a node, where the way from a weight joins the path from $x$ to $y$, is called an *intermediate*. Ours are the two
# products. Together, I and W are a **split backward**: B = I + W. A pre-hook of a node gets the gradient that arrives there, so the
# first half is a few lines:

# %%
def backward_input(y, x, intermediates):
    """I: the gradient of x; and for each intermediate, the gradient that arrived."""
    arrived = {}

    def recorder(node):
        return lambda grads: arrived.update({node: grads[0]})

    handles = [node.register_prehook(recorder(node)) for node in intermediates]
    (dx,) = grad(y, x, retain_graph=True)
    for handle in handles:
        handle.remove()
    return dx, arrived


y = stage(x)
last = y.grad_fn
first = last.next_functions[0][0].next_functions[0][0]
dx, arrived = backward_input(y, x, [last, first])
print("x:", dx.item(), "  arrived:", [g.item() for g in arrived.values()])

# %% [markdown]
# For the second half the engine has to start in the middle of the graph. A `GradientEdge` says where: it is a node, with the
# number of its output. `backward` takes such edges as well as tensors, each with the gradient that arrives there.
#
# **Predict.** Let the engine start at *both* products at the same time, with the recorded gradients 1 and 5, and with
# `inputs=[w1, w2]`. The right gradients are 10 and 6. What do we get?
#
# <details><summary>Answer</summary>
#
# 20 for $w_1$, and 6 for $w_2$. One walk starts at the last product with 1. Because $w_1$ is among the inputs, it goes on through
# `relu` and brings 5 to the first product. There another 5 is waiting: ours. The engine adds the two.
#
# </details>

# %%
forget()
edges = [GradientEdge(node, 0) for node in arrived]
mg.autograd.backward(edges, list(arrived.values()), inputs=[w1, w2], retain_graph=True)
print("w1:", w1.grad.item(), "  w2:", w2.grad.item())

# %% [markdown]
# A recorded gradient is already *complete*: it has everything from the nodes behind. So the run for a weight must start at the
# intermediates of this weight, and at no others:

# %%
forget()
with mg.debug.record() as r:
    for node, weight in ((last, w2), (first, w1)):
        mg.autograd.backward([GradientEdge(node, 0)], [arrived[node]], inputs=[weight])
print(*formulas(r), sep="\n")
print("w1:", w1.grad.item(), "  w2:", w2.grad.item())

# %% [markdown]
# This is the other half of each formula, and nothing else. `relu` has no weight, so it does not run in W. The order of the
# two runs does not matter, and neither does the time: the runs of W may come much later, and one by one.
#
# ## Find the intermediates
#
# We have picked the two nodes by hand. A program finds them with the edges alone, in three steps:
#
# 1. List for each node the nodes that point to it. (A node knows only the nodes *below* it, towards the leaves.)
# 2. Walk up from $x$. This gives the path: all nodes through which a gradient goes to $x$.
# 3. Walk up from a weight. The first nodes of the path that you meet are its intermediates.
#
# Weights with a common intermediate are a *group*, and one run computes all of them. The weight and the bias of a
# `Linear` layer are a group, because one node, `addmm`, has both as operands. `stage_backward_input` does all of this; its name,
# its arguments and its groups are those of PyTorch:

# %%
layers = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
parameters = list(layers.parameters())
batch = mg.ones(100, 64, requires_grad=True)
y = layers(batch)
dx, groups = stage_backward_input([y], [mg.ones_like(y)], [batch], parameters)
for group in groups:
    (node,), ((g,),) = group["intermediates"], group["grads"]
    print(len(group["params"]), "parameters join at", node.name(), "with", list(g.shape))
print([p.grad for p in parameters])
stage_backward_weight(parameters, groups)
print([tuple(p.grad.shape) for p in parameters])

# %% [markdown]
# ## What waits, and when memory is free
#
# Between I and W something has to be kept. What? We count the memory of the saved tensors: each is wrapped while a node holds
# it ([tutorial 8](08_packing.py)). The weights do not count, they are there anyway.

# %%
alive = weakref.WeakSet()


class Saved:
    """A saved tensor, in `alive` as long as a node holds it."""

    def __init__(self, tensor):
        self.tensor = tensor
        alive.add(self)


def saved_bytes():
    """Each memory counts once, also if two nodes have saved it."""
    own = {p.data_ptr() for p in parameters}
    sizes = {s.tensor.data_ptr(): s.tensor.numel() * s.tensor.element_size() for s in alive}
    return sum([size for place, size in sizes.items() if place not in own])


with mg.autograd.graph.saved_tensors_hooks(Saved, lambda saved: saved.tensor):
    y = layers(batch)
print(f"after F {saved_bytes():>8,}")
dx, groups = stage_backward_input([y], [mg.ones_like(y)], [batch], parameters)
recorded = sum([4 * g.numel() for group in groups for (g,) in group["grads"]])
print(f"after I {saved_bytes():>8,}   and {recorded:,} bytes of recorded gradients")
stage_backward_weight(parameters, groups)
print(f"after W {saved_bytes():>8,}")

# %% [markdown]
# After the forward, F, three tensors are saved: the inputs of the two layers, of $100 \cdot 64$ and $100 \cdot 256$ numbers, and
# the input of `GELU`. The formula for a weight needs the *input of its layer*. It does not need what `GELU` has saved, so I has
# released that: $100 \cdot 256 \cdot 4 = 102{,}400$ bytes.
#
# But I has also recorded the gradients that arrived at the two layers, and they wait for W as well. 25,600 bytes of them are the
# gradient of $y$, which was there before; the other 102,400 are new. Is I a gain, then? It depends on the stage. Between two
# layers, I records one tensor, and releases what *all* operations there have saved. Here this is one operation, so the two
# are equal. In the attention of a transformer there are several, and the softmax among them has saved the largest tensor of all.
#
# The price of waiting is clear now: a W that runs late keeps the inputs of its layers for so long. A good order of I and W is a
# matter of time *and* of memory.
#
# ## Why all this: nobody waits for W
#
# Here are two ranks, machines with one stage each, and a forward, `F`, that takes 1 unit of time. So do I and W, and B takes 2.
# `simulate` computes when each action can start. (An action is a stage, a letter, and the number of a part of the batch.)

# %%
whole = simulate({0: ["0F0", "0B0"], 1: ["1F0", "1B0"]})
split = simulate({0: ["0F0", "0B0"], 1: ["1F0", "1I0", "1W0"]})
print("step time:", whole.step_time, "and", split.step_time)
mg.viz.schedule(split, title="Rank 1 runs W while rank 0 works")

# %% [markdown]
# With a whole backward, rank 0 waits for a W that it does not need. With the split, it starts one unit earlier. And W
# fills time in which rank 1 would only wait. The paper that found this calls it *zero bubble*: a *bubble* is time in which a
# machine waits. [Tutorial 19](19_pipeline.py) runs four ranks with several parts of a batch, and counts the bubbles.
#
# ## Deeper: a weight that is used twice
#
# In `(x * w).tanh() * w` the weight joins the path at two nodes. Both are intermediates of one weight, so one run starts at both.
# But now a walk from the second product passes the first one, and brings the same gradient again: the mistake of the prediction
# above, this time within a group. `stage_backward_weight` therefore *clamps* each intermediate, with a pre-hook that ignores what
# arrives and returns what I has recorded:

# %%
mg.utils.source.source_of("distributed/pipelining/_backward.py", "make_clamp")

# %%
w = nn.Parameter(mg.tensor(0.5))
y = (x * w).tanh() * w
(right,) = grad(y, w, retain_graph=True)
with mg.debug.record() as r:
    _, groups = stage_backward_input([y], None, [x], [w])
    stage_backward_weight([w], groups)
print(len(groups), "group; right:", (w.grad == right).item())
for e in r.events:
    if e.kind in ("compute", "hook"):
        print(f"{e.kind:<8}{e.op:<14} {e.what}")

# %% [markdown]
# If other weights join between the two nodes, the run of the first group would free the nodes that the second needs. Then the
# groups are united: `unite_dependent_groups` in `minigrad/distributed/pipelining/_groups.py`.
#
# ## Deeper: the stage of a pipeline
#
# `PipelineStage` has a method for each letter, and keeps what waits between them. Here is a stage in the middle of three:

# %%
middle = PipelineStage(layers, stage_index=1, num_stages=3)
layers.zero_grad()
y = middle.forward_one_chunk(0, (mg.ones(100, 64),))                                # F
middle.backward_one_chunk(0, output_grads=(mg.ones_like(y),), full_backward=False)  # I
print("for the stage before:", tuple(middle.get_local_bwd_output(0)[0].shape))
print("before W:", layers[0].weight.grad)
middle.backward_weight_one_chunk(0)                                                 # W
print("after W: ", tuple(layers[0].weight.grad.shape))

# %% [markdown]
# The first stage has no stage before it, and nobody waits for its I. So its I does nothing, and its W runs the whole backward.
#
# ## Step by step
#
# Both halves, on our small stage. In the first half, watch the two hooks that record, and which gradient is "nothing". In the
# second half, look at where the engine begins, which hooks run now, and which nodes do not run at all:

# %%
forget()
with mg.debug.record() as r:
    y = stage(x)
    _, groups = stage_backward_input([y], None, [x], [w1, w2])
    stage_backward_weight([w1, w2], groups)
mg.viz.step(r)

# %% [markdown]
# ## The source
#
# This is one run of W. The engine has no code for pipelines: everything is made from edges, hooks and `backward`.

# %%
mg.utils.source.source_of("distributed/pipelining/_backward.py", "run_group")

# %% [markdown]
# And this is the walk upward, which finds the path, and with `target_nodes` also the intermediates:

# %%
mg.utils.source.source_of("distributed/pipelining/_groups.py", "reverse_closure")

# %% [markdown]
# ## The same in PyTorch
#
# ```python
# >>> import torch
# >>> from torch.distributed.pipelining._backward import stage_backward_input, stage_backward_weight
# >>> x = torch.tensor(2.0, requires_grad=True)
# >>> w1, w2 = torch.nn.Parameter(torch.tensor(3.0)), torch.nn.Parameter(torch.tensor(5.0))
# >>> y = (x * w1).relu() * w2
# >>> dx, groups = stage_backward_input([y], [torch.tensor(1.0)], [x], iter([w1, w2]))
# >>> dx, w1.grad
# ((tensor(15.),), None)
# >>> sorted([group["grads"][0][0].item() for group in groups])
# [1.0, 5.0]
# >>> _ = stage_backward_weight(iter([w1, w2]), groups)
# >>> w1.grad, w2.grad
# (tensor(10.), tensor(6.))
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | mechanism | `minigrad/distributed/pipelining` | PyTorch |
# |---|---|---|
# | I and W | `_backward.py`, `stage_backward_input`, `stage_backward_weight` | [`_backward.py`][backward] |
# | the intermediates | `_groups.py`, `get_param_groups` | [`_backward.py`][backward], `get_param_groups` |
# | what a stage keeps | `stage.py`, `PipelineStage` | [`stage.py`][stage], `PipelineStage` |
#
# [backward]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/distributed/pipelining/_backward.py
# [stage]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/distributed/pipelining/stage.py
#
# PyTorch keeps what `relu` has saved until W, and does not clamp. The idea is from P. Qi, X. Wan, G. Huang and M. Lin, [Zero Bubble
# Pipeline Parallelism](https://arxiv.org/abs/2401.10241), 2023, where I is called B.
#
# ## What goes wrong
#
# **W was forgotten.** There is no error. The weights have no gradient, and an optimizer skips a parameter whose `.grad` is None:

# %%
forget()
dx, groups = stage_backward_input([stage(x)], None, [x], [w1, w2])
mg.optim.SGD([w1, w2], lr=0.1).step()
print(w1.item(), w2.item(), "as before")

# %% [markdown]
# A schedule is therefore checked before it runs: for each I there is one W.
#
# **W twice.** The groups have dropped their nodes after the first time:

# %%
stage_backward_weight([w1, w2], groups)
with mg.testing.expect_error(RuntimeError, code="MG-E231"):
    stage_backward_weight([w1, w2], groups)

# %% [markdown]
# ### Deeper: two more mistakes
#
# **A backward after I.** I has released what `relu` had saved. And it has detached the output, so that the nodes behind the last
# intermediate are free. Another backward finds no graph:

# %%
y = stage(x)
dx, groups = stage_backward_input([y], None, [x], [w1, w2])
with mg.testing.expect_error(RuntimeError, code="MG-E110"):
    y.backward()

# %% [markdown]
# **The input was not detached.** Here `x * w1` was computed by the *same* weights, outside of the stage. There is no cut that has
# $w_1$ only on one side:

# %%
inner = x * w1
with mg.testing.expect_error(RuntimeError, code="MG-E230"):
    stage_backward_input([stage(inner)], None, [inner], [w1, w2])

# %% [markdown]
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. Predict.** In each of these stages, x is the input, and w and b are the weights. How many intermediates are there?

# %%
PROGRAMS = ["x * w", "x * w + b", "x * (w + b)", "(x * w).tanh() * w",
            "x.relu() + (w * w).exp() * b"]
predicted = [None, None, None, None, None]      # your numbers go here


# %%
@mg.testing.exercise(1)
def check_counts(predicted):
    assert len(predicted) == len(PROGRAMS), "five numbers, one for each program"
    for text, told in zip(PROGRAMS, predicted):
        x = mg.tensor(2.0, requires_grad=True)
        w, b = nn.Parameter(mg.tensor(0.5)), nn.Parameter(mg.tensor(1.0))
        _, groups = stage_backward_input([eval(text)], None, [x], [w, b])
        right = sum([len(group["intermediates"]) for group in groups])
        assert told == right, f"{text}: not {told}. See mg.viz.draw({text})"
    print("right")


# %% tags=["help"]
check_counts.hints = [
    "Mark the path from x to the result. Then go up from each weight until you meet it.",
    "Only the first node of the path counts: what is above it is reached through it.",
    "A weight may meet the path at several nodes, and two weights may meet each other before "
    "they meet the path."]
check_counts.wrong = {
    "x * w + b: not 1": "w joins at the product, and b joins at the sum.",
    "x * (w + b): not 2": "w and b meet at their sum, which is not on the path. They join "
                          "the path together, at the product.",
    "(x * w).tanh() * w: not 1": "w is used twice, and both uses are on the path.",
    "(x * w).tanh() * w: not 3": "tanh is on the path, but no weight goes into it directly.",
    "x.relu() + (w * w).exp() * b: not 2":
        "The product with b is not on the path: no gradient for x goes through it.",
    "x.relu() + (w * w).exp() * b: not 3":
        "Only the sum is on the path. Everything else leads to weights alone."}


# %% tags=["hide-cell", "solution"]
check_counts([1,    # the product
              2,    # w joins at the product, b at the sum
              1,    # the sum of w and b joins at the product
              2,    # w joins at both products
              1])   # both join at the sum; the path is x, relu, sum

# %% [markdown]
# **2. Find them.** Write `intermediates(y, x, w)`. It returns the set of nodes where the leaf `w` joins the path from `x` to `y`.
# Each node must be visited only once: the check has a graph with $2^{60}$ paths.

# %%
def ladder(h):
    for _ in range(60):
        h = h + h
    return h


def intermediates(y, x, w):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_intermediates(intermediates):
    for text in ("x * w", "(x * w).tanh()", "x * w.sin()", "(x * w).tanh() + w",
                 "x.relu()", "ladder(x) * w"):
        x, w = mg.tensor(2.0, requires_grad=True), nn.Parameter(mg.tensor(0.5))
        y = eval(text, {"x": x, "w": w, "ladder": ladder})
        found = intermediates(y, x, w)
        _, groups = stage_backward_input([y], None, [x], [w])
        right = {node for group in groups for node in group["intermediates"]}
        told, wanted = [sorted([n.name() for n in nodes]) for nodes in (found, right)]
        assert set(found) == right, f"{text}: {told} instead of {wanted}"
    print("right")


# %% tags=["help"]
check_intermediates.hints = [
    "From which nodes do edges lead to x? And from which to w?",
    "`next_functions` leads down. Collect for each node the nodes above it, then walk up from "
    "`mg.autograd.graph.get_gradient_edge(leaf).node`.",
    "An intermediate leads to x, and it has an edge to a node that leads to w but not to x."]
check_intermediates.wrong = {
    "(x * w).tanh(): ['MulBackward0', 'TanhBackward0'] instead of":
        "tanh is on the path, but w comes to it only through the product: the way of w has "
        "joined the path before.",
    "x * w.sin(): ['SinBackward0'] instead of":
        "w is an operand of sin, but sin is not on the path: no gradient for x goes through it.",
    "x * w.sin(): [] instead of":
        "w need not be an operand of the intermediate. Other nodes may be between them.",
    "(x * w).tanh() + w: ['MulBackward0'] instead of": "w joins the path at two nodes."}


# %% tags=["hide-cell", "solution"]
def above(y, leaf):
    """The nodes from which edges lead to a leaf, with the node of the leaf."""
    parents, nodes = {}, [y.grad_fn]
    for node in nodes:                      # it grows during the loop
        for below, _ in node.next_functions:
            if below is not None:
                nodes += [below] * (below not in parents)
                parents.setdefault(below, set()).add(node)
    found = {mg.autograd.graph.get_gradient_edge(leaf).node}
    to_do = list(found)
    while to_do:
        new = parents.get(to_do.pop(), set()) - found
        found |= new
        to_do += new
    return found


def intermediates_solution(y, x, w):
    path, ways = above(y, x), above(y, w)
    return {node for node in path & ways
            if any([below in ways - path for below, _ in node.next_functions])}


check_intermediates(intermediates_solution)

# %% [markdown]
# **3. Both halves.** Write `split(y, x, w)`. It returns the gradient of `x`, and a function `later()` that computes `w.grad`. The
# weight `w` may be used at several depths. Nodes above the intermediates must not run a second time. You may use
# `backward_input`, `intermediates_solution` and the idea of the clamp.

# %%
def split(y, x, w):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_split(split):
    for text in ("(x * w).exp().log()", "(x * w * w).sin()", "x.sin() * w + (x * w).cos()"):
        x, w = mg.tensor(2.0, requires_grad=True), nn.Parameter(mg.tensor(3.0))
        y, runs = eval(text), []
        dx, dw = [g.item() for g in grad(y, (x, w), retain_graph=True)]
        y.grad_fn.register_prehook(lambda grads, runs=runs: runs.append(grads))
        told, later = split(y, x, w)
        assert abs(told.item() - dx) < 1e-5, f"{text}: {told.item():.4f}, not dx = {dx:.4f}"
        assert w.grad is None, f"{text}: w.grad is there before later()"
        later()
        assert w.grad is not None, f"{text}: w.grad is None after later()"
        found = w.grad.item()
        assert abs(found - dw) < 1e-5, f"{text}: {found:.4f}, not dw = {dw:.4f}"
        assert len(runs) == 1, f"{text}: the node of y ran {len(runs)} times"
    print("right")


# %% tags=["help"]
check_split.hints = [
    "The first half is `backward_input`. What does it record if w has two intermediates?",
    "The run of `later` starts at all intermediates of w. A walk from one of them may reach "
    "another, which has its complete gradient already.",
    "A pre-hook that returns a tuple replaces what arrives. Register one at each intermediate "
    "that returns the recorded gradient, run `backward` from the edges, and remove the hooks."]
check_split.wrong = {
    "w.grad is there before later()": "The first half must leave the weights alone.",
    "w.grad is None after later()":
        "`grad` returns the gradient, and stores it nowhere. `backward` adds it to `.grad`.",
    "the node of y ran 2 times":
        "That is a second walk from y. Begin at the intermediates, with what was recorded.",
    "(x * w * w).sin(): 11.8857, not dw":
        "The walk from one intermediate passes the other, which then counts twice: clamp them.",
    "x.sin() * w + (x * w).cos(): 0.5588, not dw":
        "You begin at one intermediate. No walk from there leads to the other one."}


# %% tags=["hide-cell", "solution"]
def split_solution(y, x, w):
    dx, arrived = backward_input(y, x, intermediates_solution(y, x, w))

    def later():
        clamps = [node.register_prehook(lambda grads, g=g: (g,))
                  for node, g in arrived.items()]
        edges = [GradientEdge(node, 0) for node in arrived]
        mg.autograd.backward(edges, list(arrived.values()), inputs=[w])
        for clamp in clamps:
            clamp.remove()

    return dx, later


check_split(split_solution)

# %% [markdown]
# ## What to remember
#
# * The backward of a **stage** computes two things: the gradients of its inputs, which the stage before waits for, and those of
#   its weights, which only the optimizer needs.
# * **I** walks from the outputs to the inputs, and records the gradients that arrive where weights join this path. **W** starts
#   there later. Each formula runs in two halves, and nothing is computed twice.
# * A recorded gradient is complete. So a run of W starts only at the intermediates of its own weights, and clamps them.
# * I releases what only the path needed. The inputs of the layers and the recorded gradients stay until W.
# * Nobody waits for W, so it fills the time in which a machine would wait.
#
# **Next:** [a pipeline of four](19_pipeline.py), in which W fills these times.
