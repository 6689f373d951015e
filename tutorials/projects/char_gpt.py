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
# # A GPT that writes docstrings
#
# **The goal.** Train a small GPT, letter by letter, on the docstrings of Python's standard library, and look into autograd while
# it learns: how much memory attention keeps, how much a checkpoint saves, and on which letters a prediction depends.
#
# You need: tutorials 1 to 7, and matplotlib (`pip install "minigrad-autograd[demo]"`); {doc}`digits_cnn` is the easier project. You get: a
# whole language model that you can change, and a test with gradients that finds a wrong mask.
#
# The sizes are in the first cell. The sizes of this page are small, because the interpreted engine computes the page.
# `SIZE=full python char_gpt.py` runs the large sizes, and `SIZE=small` is for a test of the script. The docstrings differ a little
# between versions of Python, and so do the results.

# %%
import ast
import importlib.util
import os
import random
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

import minigrad as mg
import minigrad.nn.functional as F
from minigrad import nn
from minigrad.demo.pictures import Inline
from minigrad.utils.checkpoint import checkpoint

SIZE = os.environ.get("SIZE", "page")
WIDTH, HEADS, LAYERS, LENGTH, BATCH, STEPS, SHORT = {       # SHORT: steps of an experiment
    "small": (16, 2, 2, 16, 4, 12, 8),
    "page": (32, 2, 2, 32, 8, 200, 140),
    "full": (96, 4, 3, 64, 16, 1800, 300)}[SIZE]
mg.manual_seed(0)
mg.set_num_threads(1)

# %% [markdown]
# ## The text
#
# The text is the docstrings of 40 modules. We parse the sources, and do not run them.

# %%
MODULES = [
    "argparse", "asyncio.events", "asyncio.tasks", "calendar", "collections",
    "configparser", "contextlib", "dataclasses", "difflib", "doctest", "email.message",
    "enum", "fractions", "functools", "heapq", "http.client", "imaplib", "inspect",
    "ipaddress", "json.decoder", "logging", "optparse", "pdb", "pickle", "random",
    "shutil", "smtplib", "socket", "statistics", "subprocess", "tarfile", "tempfile",
    "textwrap", "threading", "turtle", "typing", "unittest.case", "unittest.mock",
    "urllib.parse", "urllib.request"]
LETTERS = "\n" + "".join(map(chr, range(32, 127)))      # a token is an index of it


def docstrings(module):
    """All docstrings of a module, one after the other."""
    source = Path(importlib.util.find_spec(module).origin).read_text("utf-8")
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    found = [ast.get_docstring(part) for part in ast.walk(ast.parse(source))
             if isinstance(part, kinds)]
    return "\n\n".join([text for text in found if text])


text = "\n\n".join([docstrings(module) for module in MODULES])
text = "".join([letter for letter in text if letter in LETTERS])
tokens = [LETTERS.index(letter) for letter in text]
learn, held_out = tokens[:-len(tokens) // 10], tokens[-len(tokens) // 10:]
print(f"{len(MODULES)} modules, {len(text):,} letters, {len(LETTERS)} different ones")
print(text[:300])

# %% [markdown]
# The last tenth is held out: the model never trains on it.
#
# What is the loss of a guess? If all letters are equally likely, it is $\ln 96$. A guess by the frequency of each letter is better. A
# useful model must have a smaller loss than both: it has to use the letters before.

# %%
counts = np.bincount(tokens)
share = counts[counts > 0] / len(tokens)
print(f"all equal {np.log(len(LETTERS)):.2f},",
      f"by frequency {-(share * np.log(share)).sum():.2f}")

# %% [markdown]
# ## The model
#
# A token becomes a row of numbers: the sum of a row for the letter and a row for its position. Then the rows go through several blocks.
# A block has two parts. In the first, the **attention**, each position uses the positions before it, and itself. It computes a query
# $q$, a key $k$ and a value $v$ for each position. Its result is a sum of values with the weights
#
# $$ \operatorname{softmax}\Bigl(\frac{q k^{\mathsf T}}{\sqrt d}\Bigr),\qquad
#    \text{after the scores of later places were set to } -\infty . $$
#
# This is the **causal mask**: the model has to guess the next letter, so it must not see this letter. (Here the softmax is a layer, so
# that a hook can read its result. `hide_from` can also move the mask to a wrong place; we need this later.)

# %% tags=["twin"]
class Attention(nn.Module):
    """Each place uses the places before it, and itself."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.hide_from = heads, 1       # hidden: places 1 or more later
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = [part.view(n, t, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(x).chunk(3, dim=2)]
        scores = q @ k.transpose(2, 3) / q.shape[3] ** 0.5          # (n, heads, t, t)
        hidden = mg.ones(t, t, dtype=mg.bool).triu(self.hide_from)
        mixed = self.softmax(scores.masked_fill(hidden, float("-inf"))) @ v
        return self.project(mixed.transpose(1, 2).reshape(n, t, width))


# %% [markdown]
# The other part is a **perceptron**, which computes each position separately. Each part adds its result to its input. We need `lean`
# later, too.

# %% tags=["twin"]
class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2, self.wide = nn.LayerNorm(width), nn.Linear(width, 4 * width)
        self.gelu, self.narrow = nn.GELU(), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(self.gelu(self.wide(self.norm2(x))))


class GPT(nn.Module):
    """Tokens (N, T) in, scores (N, T, letters) out: at each place, of the next letter."""

    def __init__(self, letters, width, heads, layers, length):
        super().__init__()
        self.letter, self.place = nn.Embedding(letters, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters)
        self.lean = False

    def forward(self, tokens):
        x = self.letter(tokens) + self.place(mg.arange(tokens.shape[1]))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.lean else block(x)
        return self.head(self.norm(x))


# %%
def fresh(seed=0):
    """A model before its training."""
    mg.manual_seed(seed)
    model = GPT(len(LETTERS), WIDTH, HEADS, LAYERS, LENGTH)
    for part in (model.letter, model.place, model.head):
        nn.init.normal_(part.weight, std=0.02)      # small: at first all scores are about 0
    return model


model = fresh()
print(f"{sum(p.numel() for p in model.parameters()):,} parameters")

# %% [markdown]
# ## One batch, seen by autograd
#
# A batch has random pieces of the text as inputs. The target of each letter is the letter after it.

# %% tags=["twin"]
def batches(tokens, steps, size, length, seed=0):
    """Random pieces (size, length), and the same pieces shifted by one letter."""
    rng = random.Random(seed)
    for _ in range(steps):
        starts = [rng.randrange(len(tokens) - length) for _ in range(size)]
        pieces = mg.tensor([tokens[at:at + length + 1] for at in starts])
        yield pieces[:, :-1], pieces[:, 1:]


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


# %%
x, y = next(batches(learn, 1, BATCH, LENGTH))
print(repr("".join([LETTERS[i] for i in x[0].tolist()])))
print(repr("".join([LETTERS[i] for i in y[0].tolist()])))
loss = loss_of(model, x, y)
print(f"a guess {np.log(len(LETTERS)):.2f}, the model {loss.item():.2f}")

# %% [markdown]
# **Predict.** A linear layer makes two nodes. A block has four linear layers, two normalisations and an attention. How many nodes does
# a block make, without the accumulators of its 12 parameters: about 10, 50 or 200?
#
# <details><summary>Answer</summary>
#
# About 50. Most of them do no arithmetic: `view`, `transpose` and `expand` have nodes as well, which apply the reverse step to the
# gradient. Below is the graph of the attention alone.
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


block = model.blocks[0]
ops = [node for node in nodes(block(mg.zeros(1, LENGTH, WIDTH))) if node.next_functions]
print(len(ops), "nodes of a block;", len(nodes(loss)), "behind the loss")

# %%
attention, one = block.attention, mg.zeros(1, 4, WIDTH)
mg.viz.draw(attention(one), names=dict(attention.named_parameters()))

# %% [markdown]
# **Predict.** Each node saves the values that its formula needs in the backward. If the pieces of text were twice as long, which kind
# of node would save twice as much, and which four times as much?
#
# <details><summary>Answer</summary>
#
# Nearly all nodes save numbers for each letter: twice as much. The softmax and the mask save a number for each pair of letters: four
# times as much. The softmax shares its result with the products (`Bmm`), and we count it there. The products also save queries, keys
# and values, so their row grows by a factor between two and four.
#
# </details>

# %%
def kept_by_kind(length):
    """Kind of node -> bytes that it saves for the backward, without parameters."""
    found, seen = Counter(), {p.data_ptr() for p in model.parameters()}
    for saved in mg.debug.saved(loss_of(model, x[:, :length], y[:, :length])):
        if saved.value.data_ptr() not in seen:      # two nodes may save the same memory
            seen.add(saved.value.data_ptr())
            found[saved.node.name()] += saved.nbytes
    return found


half, whole = kept_by_kind(LENGTH // 2), kept_by_kind(LENGTH)
for name, size in sorted(whole.items(), key=lambda row: (-row[1], row[0]))[:7]:
    print(f"{name:<25} {half[name]:9,} bytes, {size:9,}: {size / half[name]:.1f} times")
print(f"{'together':<25} {half.total():9,} bytes, {whole.total():9,}")

# %% [markdown]
# At this length the perceptron needs the most memory. At the length of a real model, thousands of letters, the attention needs the
# most. Therefore some attention kernels do not save the weights, and compute them again in the backward. For the other layers there is
# **checkpointing**: a block saves only its input, and runs once more in the backward.

# %%
def measured(lean):
    """One forward and backward: the bytes saved, the runs of a block, the gradient."""
    runs = []
    handles = [block.register_forward_pre_hook(lambda *_: runs.append(1))
               for block in model.blocks]
    model.lean = lean
    model.zero_grad()
    loss = loss_of(model, x, y)
    saved = mg.debug.saved(loss)
    kept = saved.nbytes - saved.leaf_nbytes + lean * LAYERS * BATCH * LENGTH * WIDTH * 4
    loss.backward()
    model.lean = False
    for handle in handles:
        handle.remove()
    return kept, len(runs), mg.cat([p.grad.flatten() for p in model.parameters()])


all_kept, runs_of_a_block, plain = measured(lean=False)
few_kept, more_runs, lean = measured(lean=True)
print(f"plain: {all_kept:9,} bytes, {runs_of_a_block} runs of a block")
print(f"lean:  {few_kept:9,} bytes, {more_runs} runs of a block")
print("the same gradient:", mg.equal(plain, lean))

# %% [markdown]
# (The checkpoints keep the inputs of the blocks. `mg.debug.saved` does not see them, so we have added them by hand.)
#
# ## The training
#
# If the norm of all gradients is too large, `clip_grad_norm_` multiplies all of them by one factor. So an unusual batch does no harm.
# It returns the norm before the clipping, and we plot this norm.

# %% tags=["twin"]
def train(model, optimizer, data):
    """Make a step for each batch. Return the losses and the norms of the gradient."""
    losses, norms = [], []
    for x, y in data:
        loss = loss_of(model, x, y)
        optimizer.zero_grad()
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 1.0).item())
        optimizer.step()
        losses.append(loss.item())
    return losses, norms


# %% [markdown]
# To write, the model computes the probability of each next letter. We draw one letter, append it, and run the model again. Nothing is
# differentiated here, so we use `no_grad`.

# %%
def write(model, count, start="\n", seed=0, length=LENGTH):
    """Return the text `start`, continued by `count` letters."""
    rng, written = np.random.default_rng(seed), [LETTERS.index(letter) for letter in start]
    with mg.no_grad():
        for _ in range(count):
            scores = model(mg.tensor([written[-length:]]))[0, -1]
            chances = scores.double().softmax(0).numpy()
            written.append(int(rng.choice(len(LETTERS), p=chances / chances.sum())))
    return "".join([LETTERS[i] for i in written])


def held_out_loss(model, length=LENGTH):
    with mg.no_grad():
        return loss_of(model, *next(batches(held_out, 1, 128, length, seed=1))).item()


optimizer = mg.optim.AdamW(model.parameters(), lr=2e-3 if SIZE == "full" else 5e-3)
losses, norms, start = [], [], time.perf_counter()
for part in range(3):
    steps = STEPS // 3
    print(f"--- after {len(losses)} steps, held out {held_out_loss(model):.2f}:")
    print(write(model, 90, "Return the "))
    data = tqdm(batches(learn, steps, BATCH, LENGTH, seed=part), f"part {part + 1} of 3",
                steps, leave=False, disable=None)
    for found, new in zip((losses, norms), train(model, optimizer, data)):
        found += new
seconds = time.perf_counter() - start
print(f"--- after {len(losses)} steps, held out {held_out_loss(model):.2f}:")
print(write(model, 400 if SIZE == "full" else 90, "Return the "))
if SIZE == "full":
    print(f"{seconds:.0f} seconds")


# %%
def curves(lines, name, ylabel, **options):
    """Lines over the steps: {what: numbers}."""
    figure = Figure(figsize=(5.8, 2.4), layout="constrained")
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
curves({"norm": norms}, "The norm of the gradient before it was clipped", "norm")

# %% [markdown]
# First the model learns how frequent each letter is: the text has the right letters, in a random order. Then it learns which letter
# follows which: vowels between consonants, spaces between words. Whole words come much later; see *Full size* below. The loss of the
# held out text stays close to the training loss: such a small model cannot memorize the text.
#
# ## What the model looks at
#
# **The weights.** A forward hook on each softmax stores them. Each letter has a row, with the weights of the letters before it and of
# itself. The sum of each row is 1.

# %%
def weights_of(model, x):
    """The weights of each attention: a list of (n, heads, t, t)."""
    found = []

    def take(module, args, result):
        found.append(result.detach())

    handles = [block.attention.softmax.register_forward_hook(take)
               for block in model.blocks]
    with mg.no_grad():
        model(x)
    for handle in handles:
        handle.remove()
    return found


def squares(pictures, titles, letters, name):
    """Tables of numbers, with letters along both sides."""
    figure = Figure(figsize=(2.9 * len(pictures), 3.1), layout="constrained")
    axes = figure.subplots(1, len(pictures))
    for axis, picture, title in zip(axes, pictures, titles):
        axis.imshow(picture, cmap="Blues", vmin=0, interpolation="none")
        axis.set_title(title, fontsize=9)
        axis.set_xticks(range(len(letters)), letters, fontsize=7)
        axis.set_yticks(range(len(letters)), letters, fontsize=7)
        axis.tick_params(length=0)
    return Inline(figure, name)


phrase = "the first line"[:LENGTH]
asked = mg.tensor([[LETTERS.index(letter) for letter in phrase]])
letters = [letter.replace(" ", "_") for letter in phrase]
weights = weights_of(model, asked)
squares(weights[0][0, :2].numpy(), ["block 1, head 1", "block 1, head 2"], letters,
        "The weights of the first block")

# %% [markdown]
# **The gradient.** The weights show which letters one block uses. On which letters does the *prediction* depend, through all blocks? We
# compute the derivative of a score with respect to the embedding of each letter. A forward hook stores the result of the embedding,
# which is a tensor in the graph.

# %%
def reach(model, x):
    """(t, t): how much the scores at each place depend on the letter at each place."""
    taken, t = [], x.shape[1]
    handle = model.letter.register_forward_hook(lambda module, args, out: taken.append(out))
    scores = model(x)
    handle.remove()
    best = scores[0].amax(1)
    rows = [mg.autograd.grad(best[i], taken[0], retain_graph=True)[0][0] for i in range(t)]
    return mg.stack(rows).norm(dim=2)


reached = reach(model, asked)
print("nothing depends on a later letter:", mg.equal(reached, reached.tril()))
squares([reached.numpy(), np.log10(reached.numpy() + 1e-9) + 9],
        ["the gradient", "its logarithm"], letters, "What each prediction depends on")

# %% [markdown]
# Above the diagonal are exact zeros, not small numbers. For a score of $-\infty$ the softmax is 0, and its derivative too. So `reach`
# tests the mask, without any training.
#
# ## What goes wrong
#
# **The mask is missing.** The loss becomes too small: the next letter is in the input, one position later, and the attention learns to
# copy it. With short pieces of text, as here, it learns this quickly.

# %%
def short_run(lr=1e-2, hide_from=1, length=8):
    """Train a model for a short time. Return the model and its losses."""
    model = fresh()
    for block in model.blocks:
        block.attention.hide_from = hide_from
    optimizer = mg.optim.AdamW(model.parameters(), lr=lr)
    losses, _ = train(model, optimizer, batches(learn, SHORT, BATCH, length))
    return model, losses


runs = {"right": short_run(), "no mask": short_run(hide_from=LENGTH),
        "lr = 1": short_run(lr=1.0)}
for name, (found, fell) in runs.items():
    print(f"{name:<8} {np.mean(fell[-10:]):6.2f}, held out {held_out_loss(found, 8):6.2f}")
curves({name: fell for name, (_, fell) in runs.items()}, "The losses of three runs",
       "cross entropy", yscale="log")

# %% [markdown]
# Held out text does not reveal this mistake, because it also has the next letter in the input. But the model cannot write, because
# there is no next letter then. And `reach` shows the mistake immediately.

# %%
cheat, _ = runs["no mask"]
ahead = reach(cheat, asked[:, :8])
print("depends on later letters:", not mg.equal(ahead, ahead.tril()))
print(repr(write(cheat, 60, "Return the ", length=8)))

# %% [markdown]
# (The curve of `lr = 1` is typical for a learning rate that is too large. It jumps up, and stays above the loss of a guess by
# frequencies.)
#
# **The mask is off by one**, so that a position does not see itself. Then the first position sees nothing, and all its scores are
# $-\infty$: their softmax is 0/0. Anomaly detection stops at the first node that returns NaN:

# %%
broken = fresh()
broken.blocks[0].attention.hide_from = 0
loss = loss_of(broken, x, y)
print("the loss is", loss.item())
with warnings.catch_warnings(action="ignore"), mg.autograd.detect_anomaly():
    with mg.testing.expect_error(RuntimeError, code="MG-E124"):
        loss.backward()

# %% [markdown]
# The error names the node that was recorded last and runs first in the backward. The NaN comes from an earlier layer, and has passed
# through all later layers. To find its origin, look at the forward. This is exercise 3.
#
# **The text is too long.** The model has rows only for a fixed number of positions. So `write` cuts the text, with `written[-length:]`.
# Without the cut there is an error:

# %%
with mg.testing.expect_error(IndexError, code="MG-E301"):
    model(mg.zeros(1, LENGTH + 1, dtype=mg.int64))

# %% [markdown]
# ## Full size
#
# `SIZE=full python tutorials/projects/char_gpt.py`, compiled, on one thread of a shared two-core machine, with the text of Python
# 3.11:
#
# | steps | loss, held out | |
# |---|---|---|
# | 0 | 4.56 | `Return the ]8# lvYeSxl q!e0qS<G!+` |
# | 600 | 2.24 | `Return the peB stionss s.pcrecialons.ytent(), anoumed` |
# | 1,200 | 1.90 | ``Return the name, notri: 'oconed" is duunnncation`` |
# | 1,800 | 1.76 | `Return the name.  This tase: Me5 yword() - ashend_close stor empty file of name versts` |
#
# (A space stands for each end of a line.) The whole script took two minutes of processor time. At the end there are words, and brackets
# after names, but the sentences have no sense yet. This needs longer pieces of text, more layers, and far more text.
#
# ## The same in PyTorch
#
# Only the imports change; the model, `batches`, `loss_of` and `train` need no change. A test replaces our imports by these lines, and
# trains from the same weights on the same batches. The loss after 20 steps is the same within 2%, and in float64 to nine digits.
#
# ```python
# >>> import torch as mg
# >>> import torch.nn.functional as F
# >>> from torch import nn
# >>> from torch.utils.checkpoint import checkpoint
# >>> scores = mg.zeros(3, requires_grad=True)
# >>> hidden = mg.tensor([False, False, True])
# >>> chances = scores.masked_fill(hidden, float("-inf")).softmax(0)
# >>> chances
# tensor([0.5000, 0.5000, 0.0000], grad_fn=<SoftmaxBackward0>)
# >>> mg.autograd.grad(chances[0], scores)
# (tensor([ 0.2500, -0.2500,  0.0000]),)
#
# ```
#
# | in this page | PyTorch |
# |---|---|
# | `mg.debug.saved` | no such function; hooks on saved tensors can count them, as in {doc}`digits_cnn` |
# | the attention, step by step | `F.scaled_dot_product_attention(q, k, v, is_causal=True)`, which minigrad has too |
# | everything else | the same names |
#
# ## Exercises
#
# **1. Does it look ahead?** Write `looks_ahead(model, x)`: it returns whether any score depends on a later letter. The embedding of the
# model is `model.letter`. The gradients of the parameters have to stay None.

# %%
def looks_ahead(model, x):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(1)
def check_looks_ahead(looks_ahead):
    for hide_from, wanted in ((1, False), (2, True), (LENGTH, True)):
        model = fresh(3)
        for block in model.blocks[1:]:          # the first block is right in any case
            block.attention.hide_from = hide_from
        assert looks_ahead(model, x[:1]) is wanted, f"wrong for hide_from = {hide_from}"
        assert all(p.grad is None for p in model.parameters()), "parameters have gradients"
    print("right")


# %% tags=["hide-cell", "solution"]
def looks_ahead_solution(model, x):
    taken = []
    handle = model.letter.register_forward_hook(lambda module, args, out: taken.append(out))
    scores = model(x)
    handle.remove()
    for place in range(x.shape[1] - 1):
        (g,) = mg.autograd.grad(scores[:, place].logsumexp(1).sum(), taken[0],
                                retain_graph=True)
        if g[:, place + 1:].any():
            return True
    return False


check_looks_ahead(looks_ahead_solution)

# %% [markdown]
# **2. One weight for two layers.** The embedding has a row for each letter, and so has the weight of the head. Many models use the same
# numbers for both. Write `tie(model)`, which makes the two layers share one weight. What is the gradient of a parameter that is used
# twice?

# %%
def tie(model):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_tie(tie):
    two, one = fresh(), fresh()
    with mg.no_grad():
        two.head.weight.copy_(two.letter.weight)
    tie(one)
    count = [sum(p.numel() for p in model.parameters()) for model in (two, one)]
    assert count[0] - count[1] == len(LETTERS) * WIDTH, "as many parameters as before"
    for model in (two, one):
        loss_of(model, x, y).backward()
    both = two.letter.weight.grad + two.head.weight.grad
    assert mg.allclose(one.letter.weight.grad, both, atol=1e-6), "the gradient is wrong"
    print("right")


# %% tags=["hide-cell", "solution"]
def tie_solution(model):
    # two paths lead to one leaf: their gradients are added
    model.head.weight = model.letter.weight


check_tie(tie_solution)

# %% [markdown]
# **3. The first NaN.** Write `first_bad(model, x)`: it returns the name of the first layer with a result that is not finite, or None.
# The first layer is the one that runs first. Ignore layers that contain other layers. Remove all hooks. Hint: `named_modules`,
# `children`.

# %%
def first_bad(model, x):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_first_bad(first_bad):
    broken = fresh()
    broken.blocks[1].attention.hide_from = 0
    assert first_bad(broken, x) == "blocks.1.attention.softmax"
    assert first_bad(broken, x) == "blocks.1.attention.softmax", "differs the second time"
    broken = fresh()
    with mg.no_grad():
        broken.place.weight[2, 1] = float("nan")
    assert first_bad(broken, x) == "place"
    assert first_bad(fresh(), x) is None
    assert not any(part._forward_hooks for part in broken.modules()), "a hook is left"
    print("right")


# %% tags=["hide-cell", "solution"]
def first_bad_solution(model, x):
    bad, handles = [], []

    def watch(name):
        def look(module, args, result):
            if not result.isfinite().all():
                bad.append(name)
        return look

    for name, part in model.named_modules():
        if not list(part.children()):
            handles.append(part.register_forward_hook(watch(name)))
    with mg.no_grad():
        model(x)
    for handle in handles:
        handle.remove()
    return bad[0] if bad else None


check_first_bad(first_bad_solution)

# %% [markdown]
# ## What to remember
#
# * The graph of a model is like any other: you can count its nodes, and the bytes that they save. Attention saves a number for each
#   **pair** of letters.
# * A **checkpoint** keeps only the input of a block and runs the block twice: less memory, more time, the same gradient.
# * The derivative of a prediction with respect to the inputs shows on which inputs it depends. Exact zeros above the diagonal prove
#   that the mask is right.
# * A loss that is **too good** is a sign of a mistake, like a loss that is too bad. Held out text does not always reveal it.
# * `.grad` of a parameter that is used in two places is the sum of both.
