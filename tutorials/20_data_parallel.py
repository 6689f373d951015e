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
# # Data parallel from hooks
#
# **Time** 20 minutes, and as long again for the exercises. **Level** intermediate. **You need** tensors ([tutorial
# 1b](01b_tensors.py)) and the post-accumulate hook of a leaf ([tutorial 13](13_accumulation_hooks.py)). **Afterwards** you can write a
# `DistributedDataParallel` of thirty lines, say what it sends when, and explain why some programs on several computers wait for ever.
#
# **The question.** A batch has too many rows for one computer. Two computers have the same network, and each takes half of the
# rows. After each backward, both need the gradient of the *whole* batch. How do they get it, almost without waiting?
#
# Our example is a network of three layers, and a batch of eight rows. The loss is a mean over the rows:
#
# $$ L = \frac{1}{8} \sum_{i=1}^{8} \bigl(f(x_i) - y_i\bigr)^2 . $$

# %%
import inspect
import tempfile
import warnings

import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed import checkpoint

nn = mg.nn
loss_fn = nn.MSELoss()


def new_net(seed=0):
    mg.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(),
                         nn.Linear(8, 1)).double()


def new_batch(rows=8):
    mg.manual_seed(1)
    return mg.randn(rows, 4, dtype=mg.float64), mg.randn(rows, 1, dtype=mg.float64)


X, Y = new_batch()

# %% [markdown]
# ## The mean of two gradients
#
# A sum can be computed in parts, and the gradient of a sum is the sum of the gradients. Let the parts have four rows each:
#
# $$ \nabla L = \frac18 \sum_{i=1}^{8} \nabla \ell_i
#   = \frac12 \Bigl( \underbrace{\frac14 \sum_{i=1}^{4} \nabla \ell_i}_{\text{first part}}
#   + \underbrace{\frac14 \sum_{i=5}^{8} \nabla \ell_i}_{\text{second part}} \Bigr) . $$
#
# So each computer runs its own forward and backward, with the loss of its part. The *mean* of the two gradients is the gradient
# of the whole batch. Let us test it, with two copies of the network in one program:

# %%
def largest_difference(a, b):
    """Between the gradients of two networks."""
    return max([(p.grad - q.grad).abs().max().item()
                for p, q in zip(a.parameters(), b.parameters())])


whole, first, second = new_net(), new_net(), new_net()
loss_fn(whole(X), Y).backward()
loss_fn(first(X[:4]), Y[:4]).backward()
loss_fn(second(X[4:]), Y[4:]).backward()
for p, q in zip(first.parameters(), second.parameters()):
    p.grad = q.grad = (p.grad + q.grad) / 2
print("the same as of the whole batch:", largest_difference(first, whole) < 1e-12)

# %% [markdown]
# Both copies now have one gradient, so an optimizer makes the same step in both. They begin equal and stay equal, so no parameter
# is ever sent again. This is **data parallelism**: the same model everywhere, other data everywhere.
#
# Each of the processes that work together has a number from 0 on, its **rank**. We also call the process itself a rank. An
# **all-reduce** is what we did by hand: each rank brings a tensor, and each gets the sum or the mean of all.
#
# ## Too late: after the backward
#
# The obvious program runs the whole backward, and then an all-reduce for each gradient. It is right, and it has two faults.
#
# *Nothing happens at the same time.* During the backward the network cable is idle, and during the all-reduces the processor is.
# Yet the gradient of the last layer was complete long before the backward ended.
#
# *There are too many messages.* However short a message is, it costs some time: the **latency**. A large network has hundreds of
# parameters, and many are short, such as the biases.
#
# ## Which gradient is complete first?
#
# A post-accumulate hook is called at the moment when the gradient of a parameter is complete, during the backward.
#
# **Predict.** The parameters are `0.weight`, `0.bias`, `2.weight` and so on. In which order are their hooks called?
#
# <details><summary>Answer</summary>
#
# The last layer comes first. In our network the order is exactly the reverse of the order of `named_parameters()`: in each layer
# the bias is added last, so its gradient comes before that of the weight.
#
# </details>

# %%
net = new_net()
names = {p: name for name, p in net.named_parameters()}
for p in net.parameters():
    p.register_post_accumulate_grad_hook(lambda p: print(names[p], end="  "))
loss_fn(net(X), Y).backward()
print()

# %% [markdown]
# ## Buckets
#
# Put the parameters into groups, in reverse order. Such a group is a **bucket**: its gradients travel together, in one flat tensor.
# When the last gradient of a bucket is there, its all-reduce *starts*, and the backward goes on. Only its end waits for what is
# still under way.
#
# ![Two lanes over time. The backward computes layers 4, 2 and 0. Below, the all-reduces of buckets 0 and 1 run beside it. Only
# that of bucket 2 runs after it.](pictures/buckets.svg)
#
# Small buckets are full early, but mean more messages. Large ones mean few messages, but start late. PyTorch's size is 25
# megabytes, and 1 megabyte for the first that is full.
#
# And one rule: **all ranks start the buckets in the same order**, even if a later one is full earlier. The tensors have no names on
# the way. The first all-reduce of one rank meets the first of the others, whatever is in it.
#
# ## A DistributedDataParallel of thirty lines
#
# `dist.all_reduce(..., async_op=True)` starts an all-reduce. It returns a *work*, and `work.wait()` waits until the mean is there.

# %%
class Parallel:
    """A module whose gradients become the means over all ranks, while the backward runs."""

    def __init__(self, module, cap):
        self.module, self.sync, self.buckets = module, True, [[]]
        for p in reversed(list(module.parameters())):
            dist.broadcast(p.detach(), src=0)           # all begin as rank 0
            if sum([q.numel() for q in self.buckets[-1]]) >= cap:
                self.buckets.append([])
            self.buckets[-1].append(p)
            p.register_post_accumulate_grad_hook(self.ready)

    def __call__(self, x):
        self.waits, self.works = set(self.module.parameters()), []
        return self.module(x)

    def ready(self, p):             # the hook: p has its gradient
        if self.sync:
            self.waits.remove(p)
            for bucket in self.buckets[len(self.works):]:
                if self.waits.intersection(bucket):
                    break           # not full: those behind it wait too
                flat = mg.cat([q.grad.flatten() for q in bucket])
                work = dist.all_reduce(flat, dist.ReduceOp.AVG, async_op=True)
                self.works.append((work, flat, bucket))
            if not self.waits:      # the end of the backward
                for work, flat, bucket in self.works:
                    work.wait()
                    means = flat.split([q.numel() for q in bucket])
                    for q, mean in zip(bucket, means):
                        q.grad.copy_(mean.view_as(q))


# %% [markdown]
# A program that was started in the usual way is *one* rank, whose mean changes nothing. This is enough to see the order of events:

# %%
if not dist.is_initialized():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")         # it says that there is one rank
        dist.init_process_group()
model = Parallel(new_net(), cap=16)
names = {p: name for name, p in model.module.named_parameters()}
for number, bucket in enumerate(model.buckets):
    print(f"bucket {number}:", *[names[p] for p in bucket])

# %%
for p in model.module.parameters():             # called after `ready`
    p.register_post_accumulate_grad_hook(
        lambda p: print(f"{names[p]:<9} is ready. Buckets sent: {len(model.works)}"))
loss_fn(model(X), Y).backward()

# %% [markdown]
# The first bucket is on its way when `2.bias` is ready. The backward then computes three more gradients, and the second bucket
# leaves before the first layer begins.
#
# ## Two ranks
#
# Here are three steps of training, in one process. Nothing in `train` has to change for several ranks:

# %%
def train(model, parameters, x, y):
    sgd = mg.optim.SGD(parameters, lr=0.1)
    for _ in range(3):
        sgd.zero_grad()
        loss = nn.MSELoss()(model(x), y)
        loss.backward()
        sgd.step()
        yield loss.detach()


net = new_net()
print(*[f"{loss.item():.6f}" for loss in train(net, net.parameters(), X, Y)])

# %% [markdown]
# A rank is a process, and does not have the functions of this page. So we send it their text. `mg.testing.run_ranks` starts
# `mpiexec -n 2 python`, and returns what each rank has printed. Each rank trains with its own four rows:

# %%
def text_of(*functions):
    return "\n".join([inspect.getsource(function) for function in functions])


HEAD = "import minigrad as mg\nimport minigrad.distributed as dist\nnn = mg.nn\n"
START = (HEAD + text_of(new_net, new_batch, train) + "\nclass Parallel:\n"
         + text_of(Parallel.__init__, Parallel.__call__, Parallel.ready))
TRAIN = """
dist.init_process_group()
rank = dist.get_rank()
X, Y = new_batch()
mine = slice(4 * rank, 4 * rank + 4)
model = Parallel(new_net(seed=rank), cap=16)
for loss in train(model, model.module.parameters(), X[mine], Y[mine]):
    mean = loss.clone()
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    print(f"my part {loss.item():.6f}   whole batch {mean.item():.6f}")
"""
print(mg.testing.run_ranks(START + TRAIN, ranks=2))

# %% [markdown]
# The losses of the parts differ. The losses of the whole batch are those of one process.
#
# ## The real one
#
# `mg.nn.parallel.DistributedDataParallel` is this class, built from the same public hook:

# %%
ddp = nn.parallel.DistributedDataParallel(new_net())
loss_fn(ddp(X), Y).backward()
print("the same as of the whole batch:", largest_difference(ddp.module, whole) < 1e-12)

# %% [markdown]
# It has answers to our open questions:
#
# * If a part is too large for one backward, run several, the first ones in `with ddp.no_sync():`. There a backward only adds to
#   `.grad`. (Our flag `sync` does this.) The last backward shares the sum.
# * It names parameters that got no gradient. With `find_unused_parameters=True` it looks for them before each backward.
# * It compares the parameters of all ranks, and sends *buffers*, such as the running means of a batch norm.
# * Another function may do the work of the all-reduce: `register_comm_hook`.
#
# ## Deeper: several backwards, one message
#
# Sometimes even the part of one rank is too large. Then it runs several backwards before a step, and the gradients add up in
# `.grad` ([tutorial 3](03_leaves.py)). Only the last of them has to share, since the mean of sums is the sum of means:

# %%
model = Parallel(new_net(), cap=16)
model.sync = False
(loss_fn(model(X[:4]), Y[:4]) / 2).backward()
print("sent:", len(model.works))
model.sync = True
(loss_fn(model(X[4:]), Y[4:]) / 2).backward()
print("sent:", len(model.works), "  the same as of the whole batch:",
      largest_difference(model.module, whole) < 1e-12)

# %% [markdown]
# ## Deeper: parameters without a gradient
#
# If the loss does not depend on a parameter, its hook is not called, and its bucket is never full. So DDP must know before the
# backward which hooks will be called. With `find_unused_parameters=True` it walks over the graph behind the output, as in [tutorial
# 1](01_derivative_to_graph.py). A parameter whose `AccumulateGrad` it does not find is marked as ready immediately, with zeros:

# %%
class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(2, 1), nn.Linear(2, 1)

    def forward(self, x, left):
        return self.left(x) if left else self.right(x)


ddp = nn.parallel.DistributedDataParallel(Branches(), find_unused_parameters=True)
ddp(mg.ones(1, 2), True).sum().backward()
for name, p in ddp.module.named_parameters():
    print(f"{name:<13} {None if p.grad is None else p.grad.tolist()}")

# %% [markdown]
# If rank 0 takes the left branch and rank 1 the right one, each parameter gets the mean of one gradient and zeros. A parameter that
# *no* rank has used keeps its `.grad`: the ranks also add up who has used what.
#
# The walk costs time in each forward. If the graph is always the same, `static_graph=True` walks once.
#
# ## Deeper: fewer bytes
#
# A *communication hook* gets each full bucket, and returns a future of the flat tensor of means. This one looks, and then does the
# usual:

# %%
default_hooks = dist.algorithms.ddp_comm_hooks.default_hooks


def look(state, bucket):
    size, last = bucket.buffer().numel(), bucket.is_last()
    print(f"bucket {bucket.index()}: {size} numbers, last: {last}")
    return default_hooks.allreduce_hook(state, bucket)


ddp = nn.parallel.DistributedDataParallel(new_net(), bucket_cap_mb=0.0001)
ddp.register_comm_hook(None, look)
loss_fn(ddp(X), Y).backward()

# %% [markdown]
# Gradients need not be exact. `fp16_compress_hook` sends them as float16: half of the bytes of float32, and three digits.
#
# `top_k_hook` sends only the largest numbers. What it does not send must not be lost: small gradients of one sign would never have
# an effect. So each rank keeps the rest, and adds it to its next gradients: **error feedback**. (Exercise 3 builds it.)

# %%
def error_with(state, hook, backwards=1):
    """The largest error of the sum of some gradients, in percent of the largest of them."""
    ddp = nn.parallel.DistributedDataParallel(new_net())
    ddp.register_comm_hook(state, hook)
    total = [mg.zeros_like(p) for p in ddp.parameters()]
    for _ in range(backwards):
        ddp.zero_grad()
        loss_fn(ddp(X), Y).backward()
        total = [t + p.grad for t, p in zip(total, ddp.parameters())]
    right = [p.grad * backwards for p in whole.parameters()]
    errors = [(t - g).abs().max() for t, g in zip(total, right)]
    return 100 * (max(errors) / max([g.abs().max() for g in right])).item()


print(f"float16:             {error_with(None, default_hooks.fp16_compress_hook):.2f} %")
top_k = default_hooks.top_k_hook
for backwards in (1, 10, 100):
    error = error_with(default_hooks.TopK(0.1), top_k, backwards)
    print(f"a tenth, {backwards:>3} times: {error:.1f} %")

# %% [markdown]
# The sum becomes better and better: what is left over stays small, since a number is sent when it has grown long enough.
#
# ## Deeper: which rows
#
# `DistributedSampler` gives each rank its rows: every n-th of a random order. All ranks must have the same order, so it comes from
# the seed and the epoch: call `set_epoch` before each epoch. And all must have equally many rows, so the first ones come twice if
# the rows do not divide:

# %%
for rank in (0, 1):
    sampler = mg.utils.data.DistributedSampler(range(5), num_replicas=2, rank=rank, seed=0)
    for epoch in (0, 1):
        sampler.set_epoch(epoch)
        print(f"rank {rank}, epoch {epoch}:", list(sampler))

# %% [markdown]
# ## Deeper: the state of the optimizer, once
#
# Adam keeps two more numbers for each parameter, and with data parallelism every rank keeps the same ones. `ZeroRedundancyOptimizer`
# makes one rank the *owner* of each parameter. Only the owner has the state, and makes the step. Then it sends the new value to the
# others. The numbers are the same to the last bit.
#
# The same program writes a checkpoint: all ranks call `save`, rank 0 writes, and the file has its name only when it is complete. A
# rank that is killed on the way leaves the checkpoint before as it was.

# %%
folder = tempfile.TemporaryDirectory()
ZERO = f"""
from minigrad.distributed import checkpoint
from minigrad.distributed.optim import ZeroRedundancyOptimizer
dist.init_process_group()
X, Y = new_batch()
rows = list(mg.utils.data.DistributedSampler(X, shuffle=False))
model = nn.parallel.DistributedDataParallel(new_net())
adam = ZeroRedundancyOptimizer(model.parameters(), mg.optim.Adam, lr=0.01)
for step in range(3):
    adam.zero_grad()
    nn.MSELoss()(model(X[rows]), Y[rows]).backward()
    adam.step()
print("rows", rows, "  parameters with a state here:", len(adam.optim.state))
state = {{"model": model.module, "optimizer": adam}}
checkpoint.save(state, checkpoint_id={folder.name!r})
"""
written = mg.testing.run_ranks(HEAD + text_of(new_net, new_batch) + ZERO, ranks=2)
print(written)

# %% [markdown]
# The owners are chosen so that each has about the same number of numbers: here 64 and 57.
#
# Two ranks have written the file. We read it here, on one rank, into a usual Adam, and compare with three steps in one process:

# %%
def three_steps():
    net = new_net()
    adam = mg.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        adam.zero_grad()
        loss_fn(net(X), Y).backward()
        adam.step()
    return net


if written:                         # MPI is installed
    net = new_net(seed=7)
    adam = mg.optim.Adam(net.parameters())
    checkpoint.load({"model": net, "optimizer": adam}, checkpoint_id=folder.name)
    right = three_steps()
    alike = [mg.allclose(p, q, rtol=0, atol=1e-12)
             for p, q in zip(net.parameters(), right.parameters())]
    print("the same parameters:", all(alike), "  states:", len(adam.state))
folder.cleanup()

# %% [markdown]
# ## Step by step
#
# Two layers without a bias, and a bucket for each. Step to the first hook, `ready`. What is the engine's next node? In a program of
# two ranks, the all-reduce of the last layer runs beside it:

# %%
layers = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False))
model = Parallel(layers, cap=1)
with mg.debug.record() as r:
    model(mg.ones(1, 2)).sum().backward()
mg.viz.step(r)

# %% [markdown]
# ## The source
#
# The hook of the real one. It copies the gradient into its place in the bucket:

# %%
mg.utils.source.source_of("distributed/_reducer.py", "Reducer.ready")

# %% [markdown]
# This starts what is full, in order. `future.done()` is there because MPI moves numbers only while a program asks it:

# %%
mg.utils.source.source_of("distributed/_reducer.py", "Reducer._done")

# %% [markdown]
# ### Deeper: which parameters a backward reaches

# %%
mg.utils.source.source_of("distributed/_reducer.py", "parameters_reached")

# %% [markdown]
# ## The same in PyTorch
#
# Its DDP has hooks at the same place, in C++. Here it runs as one rank:
#
# ```python
# >>> import torch
# >>> import torch.distributed as dist
# >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
# >>> ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
# >>> ddp(torch.ones(3, 2)).sum().backward()
# >>> ddp.module.weight.grad
# tensor([[3., 3.]])
# >>> dist.destroy_process_group()
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | | in `minigrad` | PyTorch |
# |---|---|---|
# | the module | `nn/parallel/distributed.py` | [`torch/nn/parallel/distributed.py`][ddp] |
# | buckets and hooks | `distributed/_reducer.py` | [`reducer.cpp`][reducer] |
# | communication hooks | `distributed/algorithms/ddp_comm_hooks` | [the folder of this name][hooks] |
#
# [ddp]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/nn/parallel/distributed.py
# [reducer]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/csrc/distributed/c10d/reducer.cpp
# [hooks]: https://github.com/pytorch/pytorch/tree/v2.13.0/torch/distributed/algorithms/ddp_comm_hooks
#
# The design is described by Li et al., 2020, [arXiv:2006.15704](https://arxiv.org/abs/2006.15704).
#
# ## What goes wrong
#
# **A parameter gets no gradient.** Its bucket is never full, so *no* later bucket is sent either. The gradients of this backward are
# those of one rank. The next forward notices it:

# %%
two = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1)])
two.forward = lambda x: two[0](x)
ddp = nn.parallel.DistributedDataParallel(two)
ddp(mg.ones(1, 2)).sum().backward()
with mg.testing.expect_error(RuntimeError, code="MG-E613"):
    ddp(mg.ones(1, 2))

# %% [markdown]
# **A parameter gets no gradient on one rank.** Then the other rank waits for an all-reduce that never comes. In PyTorch it waits
# without a word, until a timeout. minigrad's ranks first tell each other what they are about to do:

# %%
BRANCHES = """
dist.init_process_group()
model = Parallel(nn.ModuleList([nn.Linear(2, 1, bias=False) for _ in range(2)]), cap=1)
one, two = model.module
model.module.forward = lambda x: one(x) + two(x) if dist.get_rank() == 0 else one(x)
try:
    model(mg.ones(1, 2)).sum().backward()
    print("my backward has ended, with", len(model.works), "buckets sent")
    dist.barrier()
except RuntimeError as error:
    print(*str(error).splitlines()[:3], sep="\\n")
"""
print(mg.testing.run_ranks(START + BRANCHES, ranks=2))

# %% [markdown]
# The layer that rank 1 does not use has the first bucket. Rank 0 sends it. Rank 1 sends nothing, and goes on in the program.
#
# **Parts of different sizes.** There is no error. If one rank has six rows and the other two, each of the two counts three times as
# much as one of the six. Exercise 2 repairs this.
#
# **The sum instead of the mean.** If `ReduceOp.AVG` is forgotten, the gradient grows with the number of ranks. A learning rate that
# was right on one rank is too large on eight.
#
# **The module inside is called.** After `ddp.module(x)`, DDP does not expect a backward. Each rank keeps its own gradient, and
# the models drift apart.
#
# ### Deeper: more cases
#
# **The same with the real DDP.** Its ranks have compared their parameters in the beginning, so they do not tell each other about each
# bucket: this would cost time. The rank that waits gets an error after the `timeout` of `init_process_group`.
#
# **Two backwards after one forward.** The first one shares its gradients. DDP expects no second one, so it only adds the gradients of
# this rank, without an error. Add up the losses, and call `backward` once.
#
# **A step inside the backward.** The optimizer of [tutorial 13](13_accumulation_hooks.py) makes its step in a post-accumulate hook.
# But at that moment a gradient is still that of one rank: the mean comes with the last bucket. So step after the backward.

# %%
dist.destroy_process_group()        # of our one rank

# %% [markdown]
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it. No exercise needs several ranks.
#
# **1. Predict.** The model is one number `w`, and the loss of a row `x` is `w * x`. So `mean(2, 4)` is a forward and a backward with
# the loss $(2w + 4w)/2$, and `total(2, 4)` one with $2w + 4w$. On the left of the line is what rank 0 does, on the right what
# rank 1 does. If there are two backwards, the first is under `no_sync`. `nothing` is a forward that does not use `w`, with
# `find_unused_parameters=True`. What is `w.grad` at the end, on both ranks?

# %%
def gradient(program):
    """w.grad of a rank, before the ranks share it."""
    w = mg.tensor(1.0, requires_grad=True)
    backwards = {"mean": lambda *x: (w * mg.tensor(x)).mean(dtype=mg.float32).backward(),
                 "total": lambda *x: (w * mg.tensor(x)).sum().backward(), "nothing": None}
    eval(program, backwards)
    return 0.0 if w.grad is None else w.grad.item()


PROGRAMS = ["mean(2, 4) | mean(6, 8)", "mean(2, 4) | mean(9)", "total(2, 4) | total(6, 8)",
            "(mean(2), mean(4)) | (mean(6), mean(8))", "mean(2, 4) | nothing"]
predicted = [None, None, None, None, None]      # your numbers go here


# %%
@mg.testing.exercise(1)
def check_shared(predicted):
    assert len(predicted) == len(PROGRAMS), "five numbers, one for each program"
    for text, told in zip(PROGRAMS, predicted):
        both = [gradient(program.strip()) for program in text.split("|")]
        assert told == sum(both) / 2, f"{text}: not {told}. The ranks bring {both}"
    print("right")


# %% tags=["help"]
check_shared.hints = [
    "First compute the gradient of each rank alone. What does an all-reduce make of the two?",
    "A mean divides by the rows of its own rank. Several backwards add up in `.grad`, and "
    "nothing divides them.",
    "Add the gradients of the two ranks, and divide by 2, however many rows each of them has. "
    "A rank that did not use `w` brings 0."]
check_shared.wrong = {
    "mean(2, 4) | mean(6, 8): not 10": "You added the two. The ranks share the mean.",
    "mean(2, 4) | mean(9): not 5":
        "This is the mean over the three rows. The ranks do not know how many rows they have.",
    "total(2, 4) | total(6, 8): not 5": "A sum of losses is not divided by the rows.",
    "total(2, 4) | total(6, 8): not 20":
        "You added the two ranks. The loss is a sum, but the ranks still share the mean.",
    "(mean(2), mean(4)) | (mean(6), mean(8)): not 5":
        "Two backwards add up in `.grad`. Nothing divides by their number.",
    "mean(2, 4) | nothing: not 3":
        "You divided by the ranks that used `w`. The mean is over all ranks, with a 0.",
    "mean(2, 4) | nothing: not 0":
        "The hook of rank 1 is not called, but its bucket is sent, with zeros."}


# %% tags=["hide-cell", "solution"]
check_shared([5.0,      # (3 + 7) / 2, as over the four rows
              6.0,      # (3 + 9) / 2, although the mean of the rows is 5
              10.0,     # (6 + 14) / 2
              10.0,     # 2 + 4 and 6 + 8 add up in .grad
              1.5])     # (3 + 0) / 2

# %% [markdown]
# **2. Parts of different sizes.** Write `loss_of_part(losses, rows, ranks)`. `losses` is a tensor with the loss of each row of this
# rank, `rows` the number of rows of the whole batch, `ranks` the number of ranks. It returns the number that this rank calls
# `backward` on. The *mean* over the ranks should then be the gradient of the whole batch. A part may also be empty.

# %%
def loss_of_part(losses, rows, ranks):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_part(loss_of_part):
    for parts in ([[2, 4], [9]], [[1, 2, 3, 6], [], [4]]):
        rows, ranks, grads = sum(map(len, parts)), len(parts), []
        for part in parts:
            w = mg.tensor(1.0, dtype=mg.float64, requires_grad=True)
            losses = w * mg.tensor(part, dtype=mg.float64)
            loss = loss_of_part(losses, rows, ranks)
            assert not loss.isnan(), f"the part {part} gives nan"
            loss.backward()
            grads.append(w.grad.item())
        mean, right = sum(grads) / ranks, sum(map(sum, parts)) / rows
        assert abs(mean - right) < 1e-9, f"the parts {parts}: {mean:.3f}, not {right:.3f}"
    print("right")


# %% tags=["help"]
check_part.hints = [
    "By what does the loss of the whole batch divide the sum of all losses? What do the ranks "
    "divide by, when they share the mean?",
    "Each row should count the same, on whichever rank it is. So a rank should use the sum of "
    "its losses, and not their mean.",
    "The ranks will divide by `ranks`, so multiply by it: the sum, times `ranks`, divided by "
    "`rows`. The sum of an empty tensor is 0."]
check_part.wrong = {
    "6.000, not 5.000": "This is the mean of the means. A row of a small part counts too much.",
    "2.500, not 5.000": "The ranks divide by their number, after you have divided by all rows.",
    "7.500, not 5.000": "The sum has to be divided by the rows of the whole batch.",
    "the part [] gives nan": "The mean of an empty part is 0 / 0. Use a sum."}


# %% tags=["hide-cell", "solution"]
def loss_of_part_solution(losses, rows, ranks):
    return losses.sum() * ranks / rows


check_part(loss_of_part_solution)

# %% [markdown]
# **3. Only the largest.** Write `new_compress(k)`. It returns a function `compress(index, flat)`, which a rank calls for each full
# bucket: `index` is the number of the bucket, `flat` the tensor of its gradients. It returns a tensor of the same shape with the
# `k` numbers that have the largest absolute values, and zeros elsewhere. What is left out is added to the *next* gradients of the
# same bucket, before the largest are chosen. `flat` stays as it is.

# %%
def new_compress(k):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_compress(new_compress):
    compress = new_compress(1)
    calls = [(0, [2.0, -3.0, 1.0], [0.0, -3.0, 0.0]),
             (0, [2.0, -3.0, 1.0], [4.0, 0.0, 0.0]),
             (0, [1.0, 2.0, 1.0], [0.0, 0.0, 3.0]), (1, [0.5, 0.0, 0.25], [0.5, 0.0, 0.0])]
    for number, (index, values, right) in enumerate(calls, 1):
        flat = mg.tensor(values)
        sent = compress(index, flat).tolist()
        assert flat.tolist() == values, f"call {number} has changed flat"
        assert sent == right, f"call {number}, bucket {index}: {sent}, not {right}"
    two = new_compress(2)(0, mg.tensor([1.0, -5.0, 3.0, 4.0])).tolist()
    assert two == [0.0, -5.0, 0.0, 4.0], f"k = 2: {two}, not [0, -5, 0, 4]"
    print("right")


# %% tags=["help"]
check_compress.hints = [
    "What must the function remember from one call to the next? For how many buckets?",
    "Keep a dict: from the number of a bucket to what was left out. `x.abs().topk(k).indices` "
    "are the places of the largest absolute values.",
    "The whole is `flat` plus what is left. Make zeros, and copy the whole into them at the "
    "places. What is left now is the whole minus what you return."]
check_compress.wrong = {
    "call 1, bucket 0: [2.0, 0.0, 0.0]": "You took the largest number. Compare absolute values.",
    "call 2, bucket 0: [0.0, -3.0, 0.0]": "What was left out before is lost.",
    "call 2, bucket 0: [0.0, -6.0, 0.0]":
        "The -3 was sent before. Only what was *not* sent is kept.",
    "call 3, bucket 0: [0.0, 0.0, 2.0]":
        "What was left before and is still not sent is lost. Keep the rest of the whole, and not "
        "the rest of `flat`.",
    "call 4, bucket 1: [1.5, 0.0, 0.0]": "The buckets share one memory. Each needs its own.",
    "call 2 has changed flat":
        "`flat` is the bucket itself. Write to a new tensor: `flat + left`, and not `flat += left`."}


# %% tags=["hide-cell", "solution"]
def new_compress_solution(k):
    left = {}

    def compress(index, flat):
        whole = flat + left.get(index, 0)
        places = whole.abs().topk(k).indices
        sent = mg.zeros_like(whole)
        sent[places] = whole[places]
        left[index] = whole - sent
        return sent

    return compress


check_compress(new_compress_solution)

# %% [markdown]
# ## What to remember
#
# * **Data parallelism**: each **rank** has the same model, and a part of the batch. The mean of the gradients is the gradient of
#   the whole batch, if the loss is a mean and the parts have one size.
# * Gradients are complete one after the other, the last layer first. Post-accumulate hooks fill the **buckets** in this order.
# * A full bucket starts its **all-reduce**, and the backward goes on. Only its end waits.
# * All ranks send the same buckets in the same order. A parameter without a gradient on one rank stops the others.
#
# **Next:** [tutorial 21](21_custom_operators.py), a function of NumPy, SciPy or numba as one node of the graph.
