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
# # A network that reads digits
#
# **The goal.** Train a convolutional network to read handwritten digits, and look into autograd while it learns: which tensors it
# saves, where the gradients are large, what the network looks for, and how common mistakes show in the numbers.
#
# You need: tutorials 1 to 7, and scikit-learn and matplotlib (`pip install "minigrad-autograd[demo]"`). You get: a whole training that you
# can change, and methods to inspect the training of any network.
#
# The sizes are in the first cell. The sizes of this page are small, because the interpreted engine computes the page.
# `SIZE=full python digits_cnn.py` runs the large sizes, and `SIZE=small` is for a test of the script.

# %%
import os
import random
import time
from collections import Counter, OrderedDict

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

import minigrad as mg
import minigrad.nn.functional as F
from minigrad import nn
from minigrad.autograd.graph import saved_tensors_hooks
from minigrad.demo.data import digits
from minigrad.demo.pictures import Inline

SIZE = os.environ.get("SIZE", "page")
EPOCHS, SHORT = {       # passes over the data; steps of an experiment
    "small": (2, 16), "page": (5, 50), "full": (40, 100)}[SIZE]
BATCH = 64
mg.manual_seed(0)
mg.set_num_threads(1)

# %% [markdown]
# ## The data
#
# The data are 1,797 scans of 8 by 8 pixels from scikit-learn. Every fifth scan is for the test: the network never trains on it.

# %%
(images, labels), (test_images, test_labels) = digits(seed=0)
print(images.shape, images.dtype, "from", images.min().item(), "to", images.max().item())
print(test_images.shape, "of each digit", mg.bincount(test_labels).tolist())


# %%
def gallery(pictures, titles, columns, name, **options):
    """Pictures in rows, each with its title."""
    rows = -(-len(pictures) // columns)
    figure = Figure(figsize=(0.62 * columns, 0.8 * rows))
    figure.subplots_adjust(0, 0, 1, 1 - 0.2 / (0.8 * rows), wspace=0.1, hspace=0.35)
    axes = np.ravel(figure.subplots(rows, columns, squeeze=False))
    for axis in axes:
        axis.axis("off")
    for axis, picture, title in zip(axes, pictures, titles):
        axis.imshow(picture, **{"cmap": "gray_r", "interpolation": "none"} | options)
        axis.set_title(title, fontsize=9, pad=2)
    return Inline(figure, name)


gallery(images[:20, 0].numpy(), labels[:20].tolist(), 10, "Twenty digits to learn from")

# %% [markdown]
# All digits are about equally frequent. So a network that always returns the same digit is right for one image in ten. Our network
# begins there.
#
# ## The model
#
# The model has two convolutions with filters of 3 by 3 pixels; a maximum over fields of 2 by 2; and two linear layers. The result
# is ten scores. A *softmax* turns the scores into a probability of each digit, and `cross_entropy` is minus the logarithm of the
# probability of the right digit.

# %% tags=["twin"]
def network():
    """Images (N, 1, 8, 8) in, scores (N, 10) out."""
    return nn.Sequential(OrderedDict(
        conv1=nn.Conv2d(1, 16, 3, padding=1), relu1=nn.ReLU(),
        conv2=nn.Conv2d(16, 32, 3, padding=1), relu2=nn.ReLU(),
        pool=nn.MaxPool2d(2), flat=nn.Flatten(), drop=nn.Dropout(0.25),
        linear1=nn.Linear(32 * 4 * 4, 64), relu3=nn.ReLU(),
        linear2=nn.Linear(64, 10)))


# %%
model = network()
for name, parameter in model.named_parameters():
    print(f"{name:<15} {tuple(parameter.shape)!s:<16} {parameter.numel():6,}")
print(f"{'together':<32} {sum(p.numel() for p in model.parameters()):6,}")

# %% [markdown]
# Before any training, the loss should be close to the loss of a guess, $-\ln\frac1{10}$. If it is not, there is already a mistake, and
# training will not show you which.

# %%
model.eval()
with mg.no_grad():
    first = F.cross_entropy(model(test_images), test_labels).item()
print(f"a guess {np.log(10):.2f}, the network {first:.2f}")

# %% [markdown]
# ## One batch, seen by autograd
#
# **Predict.** The network has ten layers. How many nodes does the graph of the loss have: about 10, 20 or 100? And which layer
# makes no node?
#
# <details><summary>Answer</summary>
#
# About 20. Each of the eight parameters is a leaf with its own accumulator. A linear layer makes two nodes: one transposes its
# weight, and the other multiplies and adds. In evaluation, dropout returns its input, and makes no node.
#
# </details>

# %%
def nodes(tensor):
    """All nodes behind a tensor."""
    found, to_do = {tensor.grad_fn}, [tensor.grad_fn]
    while to_do:
        for node, _ in to_do.pop().next_functions:
            if node is not None and node not in found:
                found.add(node)
                to_do.append(node)
    return found


x, y = images[:BATCH], labels[:BATCH]
loss = F.cross_entropy(model(x), y)
for name, number in sorted(Counter(node.name() for node in nodes(loss)).items()):
    print(number, name)

# %%
mg.viz.draw(loss, names=dict(model.named_parameters()) | {"loss": loss})

# %% [markdown]
# Gradients travel along the arrows, from the loss to the leaves. A node lists its saved values: these values take most of the memory
# of a training. Hooks on saved tensors measure how much each layer saves. A *forward pre-hook* stores which layer runs next.

# %%
def kept_by_layer(model, x, y):
    """Layer -> bytes that it saves for the backward, without parameters."""
    now, kept, seen = ["loss"], Counter(), {p.data_ptr() for p in model.parameters()}

    def pack(tensor):
        if tensor.data_ptr() not in seen:       # two layers may save the same memory
            seen.add(tensor.data_ptr())
            kept[now[-1]] += tensor.nbytes
        return tensor

    def note(name):
        return lambda module, args: now.append(name)

    handles = [layer.register_forward_pre_hook(note(name))
               for name, layer in model.named_children()]
    with saved_tensors_hooks(pack, lambda tensor: tensor):
        scores = model(x)
        now.append("loss")
        F.cross_entropy(scores, y)
    for handle in handles:
        handle.remove()
    return kept


model.train()
kept = kept_by_layer(model, x, y)
for name, size in kept.items():
    print(f"{name:<8} {size:9,} bytes")
print(f"together {sum(kept.values()):9,}; the parameters "
      f"{sum(p.nbytes for p in model.parameters()):,}")

# %% [markdown]
# The results of the layers need far more memory than the parameters, and they grow with the batch. `conv2` is not listed: it saves
# its input, which `relu1` has already saved. `flat` and `linear2` also save no additional memory. `pool` saves the position of each
# maximum, a number of 8 bytes.
#
# ## The training
#
# One pass over the data is an *epoch*. `batches` returns the data in random order. A step is four lines. `train` calls `watch` between
# the backward and the step of the optimizer, when the gradients exist.

# %% tags=["twin"]
def batches(images, labels, epochs, seed=0, size=64):
    """The data, `epochs` times, each time in another order."""
    order, rng = list(range(len(labels))), random.Random(seed)
    for _ in range(epochs):
        rng.shuffle(order)
        for start in range(0, len(order), size):
            chosen = order[start:start + size]
            yield images[chosen], labels[chosen]


def train(model, optimizer, data, watch=lambda: None):
    """Make a step for each batch of `data`. Return the losses."""
    losses = []
    model.train()
    for x, y in data:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        watch()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% [markdown]
# During the training we store the norm of each weight's gradient. After each epoch we count the test digits that the network reads
# correctly. (The bar of tqdm is visible only in a terminal. `data` is a list, so that the bar knows its length.)

# %%
def accuracy(model, images=test_images, labels=test_labels):
    """The share of the images that the model reads correctly."""
    model.eval()
    with mg.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


weights = {name: p for name, p in model.named_parameters() if name.endswith("weight")}
norms = {name: [] for name in weights}


def watch():
    for name, weight in weights.items():
        norms[name].append(weight.grad.norm().item())


filters_before = model.conv1.weight.detach().clone()
optimizer = mg.optim.AdamW(model.parameters(), lr=3e-3)
losses, read, start = [], [], time.perf_counter()
for epoch in range(EPOCHS):
    data = list(batches(images, labels, 1, seed=epoch))
    bar = tqdm(data, f"epoch {epoch + 1}", leave=False, disable=None)
    losses += train(model, optimizer, bar, watch)
    read.append(accuracy(model))
if SIZE == "full":
    print(f"{time.perf_counter() - start:.1f} seconds")
print(f"loss {np.mean(losses[:10]):.2f} at first, {np.mean(losses[-10:]):.2f} at the end")
print(f"{read[-1]:.1%} of the test digits are read correctly")


# %%
def curves(lines, name, ylabel, **options):
    """Lines over the steps: {what: numbers}."""
    figure = Figure(figsize=(5.8, 2.6), layout="constrained")
    axis = figure.subplots()
    for label, numbers in lines.items():
        axis.plot(numbers, label=label, linewidth=1.0)
    axis.set(xlabel="step", ylabel=ylabel, **options)
    axis.spines[["top", "right"]].set_visible(False)
    if len(lines) > 1:
        axis.legend(frameon=False, fontsize=9, ncols=3, loc="lower left",
                    bbox_to_anchor=(0, 1))
    return Inline(figure, name)


curves({"loss": losses}, "The loss of each step", "cross entropy")

# %%
curves(norms, "The norm of the gradient of each weight", "norm", yscale="log")

# %% [markdown]
# The gradients show how the network learns. At first all of them are small. The gradient of the first layer is the smallest: this layer
# comes last in the backward, and its gradient has gone through all the others. When the scores begin to differ, the gradients grow
# tenfold, and the loss falls. Later they become smaller again, with jumps: the network reads most batches correctly, but a few still
# contain a misread digit.
#
# ## Does it read?
#
# Which digits does the network confuse? Each row is the right digit, and each column the digit that the network read. The diagonal
# counts the correct ones.

# %%
model.eval()
with mg.no_grad():
    found = model(test_images).argmax(1)
confusion = np.zeros((10, 10), int)
np.add.at(confusion, (test_labels.numpy(), found.numpy()), 1)
print("     " + "".join([f"{digit:4}" for digit in range(10)]))
for digit, row in enumerate(confusion):
    print(f"{digit:4} " + "".join([f"{number or '.':>4}" for number in row]))

# %% [markdown]
# And these are the misread images. Each title has the right digit and the digit that the network read. Can you read them?

# %%
wrong = np.flatnonzero(found.numpy() != test_labels.numpy()).tolist()[:18]
titles = [f"{test_labels[i].item()} as {found[i].item()}" for i in wrong]
gallery([test_images[i, 0].numpy() for i in wrong], titles, 9, "Misread digits")

# %% [markdown]
# ## What the network has learnt
#
# These are the 16 filters of the first layer: two rows from before the training, and two rows from after it, in the same order. Red
# weights are positive, blue weights negative. A filter with a red side and a blue side finds edges.

# %%
both = [*filters_before[:, 0].numpy(), *model.conv1.weight.detach()[:, 0].numpy()]
gallery(both, [*range(16), *range(16)], 8, "Filters before and after", cmap="RdBu_r",
        vmin=-0.8, vmax=0.8)

# %% [markdown]
# A gradient answers another question: **which pixels matter?** Not only parameters can have gradients. We let the *image* require a
# gradient, and differentiate the score of the right digit. Where the gradient is red, more ink raises the score; where it is blue,
# more ink lowers the score.
#
# **Predict.** `backward` needs a single number, and we have ten images. Is it right to add up their scores?
#
# <details><summary>Answer</summary>
#
# Yes. The score of an image depends only on its own pixels, so each image gets the gradient of its own score. With batch
# normalisation in training mode this would be wrong, because the results for the images of a batch depend on each other.
#
# </details>

# %%
ten = [(test_labels == digit).nonzero()[0, 0].item() for digit in range(10)]
x = test_images[ten].clone().requires_grad_()
scores = model(x)
(slope,) = mg.autograd.grad(scores[range(10), range(10)].sum(), x)
shown = [*x.detach()[:, 0].numpy(), *slope[:, 0].numpy()]
gallery(shown[:10], range(10), 10, "Ten test digits")

# %%
gallery(shown[10:], range(10), 10, "The gradient of the right score",
        cmap="RdBu_r", vmin=-3, vmax=3)

# %% [markdown]
# ## Parts of the gradient
#
# **A large batch from small ones.** A backward adds to `.grad`. So we can cut a batch that does not fit into memory: we run a backward
# for each piece, and one step at the end. The loss is a mean, so we weight the mean of each piece by the size of the piece.

# %%
x, y = images[:BATCH], labels[:BATCH]


def gradient(model, pieces):
    """The gradient of all parameters, computed for the batch in `pieces` pieces."""
    model.zero_grad()
    for part_x, part_y in zip(x.chunk(pieces), y.chunk(pieces)):
        loss = F.cross_entropy(model(part_x), part_y) * (len(part_y) / len(y))
        loss.backward()
    return nn.utils.parameters_to_vector([p.grad for p in model.parameters()])


whole, summed = gradient(model, 1), gradient(model, 4)
print("equal but for rounding:", mg.allclose(whole, summed, atol=1e-5))
kept = [sum(kept_by_layer(model, x[:n], y[:n]).values()) for n in (BATCH, BATCH // 4)]
print(f"kept at a time: {kept[0]:,} bytes, and {kept[1]:,}")

# %% [markdown]
# (The model is in evaluation mode here. With dropout each piece would draw its own zeros, and the two gradients would differ.)
#
# **A frozen layer.** If a parameter does not require a gradient, no path leads to it, and nothing is saved for this path alone.
# Here we freeze the convolutions, as in the training of a trained network for a new task.

# %%
def size_of_graph():
    loss = F.cross_entropy(model(x), y)
    return len(nodes(loss)), sum(kept_by_layer(model, x, y).values())


print("all learn:   {:3} nodes, {:9,} bytes kept".format(*size_of_graph()))
for layer in (model.conv1, model.conv2):
    layer.requires_grad_(False)
print("convs frozen: {:2} nodes, {:9,} bytes kept".format(*size_of_graph()))
model.requires_grad_(True)
print("all again:   {:3} nodes, {:9,} bytes kept".format(*size_of_graph()))

# %% [markdown]
# The layers before the first linear layer have no node now: they run only a forward.
#
# **A check for NaN.** After one gradient that is not finite, the next step of the optimizer destroys every parameter. Hooks on the
# parameters find this gradient before the step, and name the parameter. Here we damage an image on purpose:

# %%
def guard(name):
    def look(g):
        if not g.isfinite().all():
            raise FloatingPointError(f"the gradient of {name} is not finite")
    return look


handles = [p.register_hook(guard(name)) for name, p in model.named_parameters()]
damaged = x.clone()
damaged[3, 0, 4, 4] = float("inf")
with mg.testing.expect_error(FloatingPointError):
    F.cross_entropy(model(damaged), y).backward()
for handle in handles:
    handle.remove()
model.zero_grad()

# %% [markdown]
# The last layer gets its gradient first. The error ends the backward, so no layer before it gets a gradient.
#
# ## What goes wrong
#
# Here are five mistakes that raise no error. Each run is short and begins with the same weights, so that you can compare the numbers.

# %%
def short_run(step, lr=3e-3):
    """The losses of a short training with another `step(model, optimizer, x, y)`."""
    mg.manual_seed(1)
    model, losses = network(), []
    optimizer = mg.optim.AdamW(model.parameters(), lr=lr)
    for _, (x, y) in zip(range(SHORT), batches(images, labels, 10)):
        losses.append(step(model, optimizer, x, y).item())
    return losses, accuracy(model), model


def right(model, optimizer, x, y):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def no_zero_grad(model, optimizer, x, y):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


# %%
def softmax_twice(model, optimizer, x, y):
    loss = F.cross_entropy(model(x).softmax(1), y)      # cross_entropy has one in it
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def zeroed_too_late(model, optimizer, x, y):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss


runs = {"right": short_run(right), "no zero_grad": short_run(no_zero_grad),
        "softmax twice": short_run(softmax_twice), "lr = 0.4": short_run(right, lr=0.4),
        "late zero_grad": short_run(zeroed_too_late)}
for name, (found, share, _) in runs.items():
    print(f"{name:<14} loss {found[0]:.2f}, at most {max(found):7.2f},",
          f"at last {found[-1]:.2f}; {share:5.1%} read correctly")

# %%
curves({name: found for name, (found, *_) in runs.items()}, "The losses of five runs",
       "cross entropy", ylim=(0, 5))

# %% [markdown]
# * **`zero_grad` forgotten.** Each step uses the sum of all gradients so far. At first the sum still points downhill, so the network
#   learns. Then the steps go past each minimum.
# * **A softmax before `cross_entropy`**, which contains a softmax. `cross_entropy` gets scores between 0 and 1, so the loss cannot fall
#   below $-\ln\frac{e}{e + 9} = 1.46$. It still falls, so the network seems to learn slowly.
# * **A learning rate that is too large.** The loss jumps up immediately, and again from time to time. In between it is the loss of a
#   guess. The next cell finds the reason.
# * **`zero_grad` between backward and step.** The optimizer finds no gradients. The loss never falls.
#
# %%
found, _, dead = runs["lr = 0.4"]
with mg.no_grad():
    alive = (dead[:-1](test_images) > 0).any(0).sum().item()
print(alive, "of the 64 numbers before the last layer are positive for any digit at all")
F.cross_entropy(dead(test_images), test_labels).backward()
print("norm of the gradient of conv1:", dead.conv1.weight.grad.norm().item())

# %% [markdown]
# These ReLUs are dead: all their inputs are negative, so they return 0. They also pass on a gradient of 0, so no step can change this.
# Only the bias of the last layer still learns: it learns how frequent each digit is.
#
# You notice the fifth mistake only after the training: **`eval()` forgotten**. Dropout still sets a quarter of the numbers to zero, and
# the same image gets a different result each time.

# %%
model.train()
with mg.no_grad():
    one, other = [model(test_images).softmax(1) for _ in range(2)]
    model.eval()
    quiet, same = [model(test_images).softmax(1) for _ in range(2)]
print(f"with dropout, a probability differs by {(one - other).abs().max().item():.2f}")
print(f"in evaluation by {(quiet - same).abs().max().item():.2f}")

# %% [markdown]
# One mistake raises an error, and many questions in forums are about it: a second backward for the same loss.

# %%
loss = F.cross_entropy(model(x), y)
loss.backward()
with mg.testing.expect_error(RuntimeError, code="MG-E101"):
    loss.backward()

# %% [markdown]
# ## Full size
#
# `SIZE=full python tutorials/projects/digits_cnn.py`, compiled, on one thread of a shared two-core machine:
#
# | run | epochs | loss of the last ten steps | test digits read correctly | seconds of training |
# |---|---|---|---|---|
# | full size | 40 | 0.01 | 98.1% | 12 |
#
# `python -m minigrad.demo` trains nearly the same network and reaches 99%. There are three differences: it trains for 60 epochs, moves
# each batch by up to one pixel, and lowers the learning rate. Try which of the three matters.
#
# ## The same in PyTorch
#
# Only the imports change; `network`, `batches` and `train` need no change. A test replaces our imports by these lines, and trains
# from the same weights on the same batches. The loss after 40 steps is the same within 2%, and in float64 to nine digits.
#
# ```python
# >>> import torch as mg
# >>> import torch.nn.functional as F
# >>> from torch import nn
# >>> from torch.autograd.graph import saved_tensors_hooks
# >>> conv = nn.Conv2d(1, 16, 3, padding=1)
# >>> y = conv(mg.zeros(64, 1, 8, 8)).relu()
# >>> y.grad_fn.name(), y.grad_fn.next_functions[0][0].name()
# ('ReluBackward0', 'ConvolutionBackward0')
# >>> y.grad_fn._saved_result.nbytes
# 262144
#
# ```
#
# | in this page | PyTorch |
# |---|---|
# | `digits`, which returns tensors | `torch.from_numpy(...)` of scikit-learn's arrays |
# | `mg.viz.draw` | torchviz, a separate package |
# | `mg.testing.expect_error` | `pytest.raises` |
# | everything else | the same names |
#
# ## Exercises
#
# **1. Clip.** Write `clip(parameters, most)`: if the norm of all gradients together is above `most`, multiply all gradients by one
# factor, so that the norm is `most`. Return the norm before the clipping. (`nn.utils.clip_grad_norm_` does this; do not use it.)

# %%
def clip(parameters, most):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(1)
def check_clip(clip):
    a, b = [mg.zeros(n, requires_grad=True) for n in (1, 2)]
    for most, wanted in ((100.0, [3.0, 4.0, 12.0]), (6.5, [1.5, 2.0, 6.0])):
        a.grad, b.grad = mg.tensor([3.0]), mg.tensor([4.0, 12.0])
        norm = clip([a, b], most)
        assert abs(float(norm) - 13.0) < 1e-4, f"the norm was 13, not {norm}"
        assert mg.allclose(mg.cat([a.grad, b.grad]), mg.tensor(wanted))
    c = mg.zeros(1, requires_grad=True)         # has no gradient yet
    a.grad = mg.tensor([3.0])
    b.grad = None
    clip([c, a, b], 1.0)
    assert mg.allclose(a.grad, mg.tensor([1.0])) and c.grad is None
    print("right")


# %% tags=["hide-cell", "solution"]
def clip_solution(parameters, most):
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = sum((g * g).sum() for g in gradients).sqrt()
    if norm > most:
        for g in gradients:
            g *= most / norm
    return norm


check_clip(clip_solution)

# %% [markdown]
# **2. Mislead.** Write `mislead(model, x, y, by)`: it returns the images, with `by` added to or subtracted from each pixel, so that the
# loss grows as much as possible. The gradients of the parameters must not change; here they must stay None. Hint: the sign of a gradient.

# %%
def mislead(model, x, y, by):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_mislead(mislead):
    model.eval()
    model.zero_grad()
    before = test_images.clone()
    moved = mislead(model, test_images, test_labels, 0.1)
    assert not moved.requires_grad and mg.equal(before, test_images)
    assert (moved - test_images).abs().max() <= 0.1 + 1e-6, "moved too far"
    assert all(p.grad is None for p in model.parameters()), "the parameters have gradients"
    noise = test_images + 0.1 * (mg.rand(test_images.shape) - 0.5).sign()
    right, noisy, misled = accuracy(model), accuracy(model, noise), accuracy(model, moved)
    print(f"{right:.0%} right; {noisy:.0%} with noise as large; {misled:.0%} when misled")
    assert misled < noisy - 0.03
    print("right")


# %% tags=["hide-cell", "solution"]
def mislead_solution(model, x, y, by):
    x = x.detach().clone().requires_grad_()
    (g,) = mg.autograd.grad(F.cross_entropy(model(x), y), x)    # does not change any .grad
    return x.detach() + by * g.sign()


check_mislead(mislead_solution)

# %% [markdown]
# **3. Between the layers.** Write `between(model, x, y)`: it returns a dict. For the name of each layer, it contains the norm of the
# loss's gradient with respect to the *result* of this layer. Remove all your hooks from the model at the end. Hint: the model calls
# a forward hook as `hook(layer, args, result)`, and a tensor has `register_hook`.

# %%
def between(model, x, y):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_between(between):
    model.eval()
    found, h, results = between(model, x, y), x, {}
    for name, layer in model.named_children():
        h = layer(h)
        results[name] = h
    wanted = mg.autograd.grad(F.cross_entropy(h, y), list(results.values()))
    for name, g in zip(results, wanted):
        assert abs(float(found[name]) - g.norm().item()) < 1e-4, name
    assert not any(layer._forward_hooks for layer in model), "a hook is left"
    print("right")


# %% tags=["hide-cell", "solution"]
def between_solution(model, x, y):
    norms, handles = {}, []

    def watch(name):
        def forward_hook(layer, args, result):
            result.register_hook(lambda g: norms.__setitem__(name, g.norm().item()))
        return forward_hook

    for name, layer in model.named_children():
        handles.append(layer.register_forward_hook(watch(name)))
    try:
        F.cross_entropy(model(x), y).backward()
    finally:
        for handle in handles:
            handle.remove()
    return norms


check_between(between_solution)

# %% [markdown]
# ## What to remember
#
# * Before the training, check the loss of a guess, the number of nodes, and the memory of each layer.
# * Most memory is for the **results of layers**, which grow with the batch. If you split a batch and add up the gradients, the training
#   needs less memory. Frozen layers at the beginning need none.
# * The norm of the gradient of each layer, over the steps, shows more than the loss. A hook can stop at the first NaN.
# * The image may require a gradient as well. One `backward` shows which pixels the network uses, and how to mislead it.
# * Most mistakes in a training raise no error. Learn the typical loss curve of each.
