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
# # A pipeline of four
#
# **Time** 20 minutes, and as long again for the exercises. **Level** advanced. **You need** the backward of a stage, whole and in
# two halves ([tutorial 18](18_split_backward.py)); for four real processes,
# `pip install "minigrad-autograd[mpi]"`, but only one cell needs it. **Afterwards** you can read a schedule, count how long its
# machines wait and what they save, write a schedule of your own, and train a model on several ranks.
#
# **The question.** A model is cut into four stages, and each stage is on its own machine. The input of a stage is the output of
# the stage before it. So while one machine works, three seem to wait. How can all four work at the same time?
#
# Our model has four equal layers, and a batch of 16 rows. A machine's place in the line is its **rank**, from 0 to 3. This way to
# use several machines is called **pipeline parallelism**.

# %%
import minigrad as mg
from minigrad.distributed import pipelining as pp
from minigrad.distributed.pipelining import local_groups, simulate, step_together

nn = mg.nn


def make_model():
    """Four layers and a batch: the same numbers each time."""
    mg.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(8, 8), nn.Tanh()).double() for _ in range(4)]
    return layers, *[mg.randn(16, 8, dtype=mg.float64) for _ in range(2)]


layers, x, target = make_model()
whole = nn.Sequential(*layers)
loss = nn.functional.mse_loss(whole(x), target)
loss.backward()
right = [p.grad.clone() for p in whole.parameters()]
print(f"loss of the whole model: {loss.item():.6f}")

# %% [markdown]
# ## The first idea: one batch after another
#
# Send the whole batch through the four stages, and the gradients back. `F` is a forward and takes 1 unit of time, `B` a whole
# backward, which takes 2. `simulate` computes when each rank can start, and `mg.viz.schedule` draws it. A line is idle time:

# %%
mg.viz.schedule(simulate("GPipe", ranks=4, microbatches=1), title="One batch, four ranks")

# %% [markdown]
# Each rank waits for three quarters of the time. Four machines have four times the memory of one, but they are as slow as one.
#
# ## Microbatches
#
# A rank that has sent its output on could begin with other rows of the batch. So cut the batch into parts of equally many rows, and
# send one after the other. Such a part is a **microbatch**. Is the gradient still the same? The loss is a mean over the rows,
# so the loss of the batch is the mean of the losses of its parts, and its gradient is the mean of their gradients. They
# add up in `.grad`, as always ([tutorial 3](03_leaves.py)):

# %%
whole.zero_grad()
for rows, wanted in zip(x.chunk(4), target.chunk(4)):
    nn.functional.mse_loss(whole(rows), wanted).backward()
print(all([mg.allclose(p.grad / 4, g) for p, g in zip(whole.parameters(), right)]))

# %% [markdown]
# (A layer that looks at all rows together, such as `BatchNorm`, sees only a microbatch now. Then the model itself is another.)
#
# ## A schedule is a table
#
# Now each rank has several things to do. In which order? A **schedule** is a table that says so. It has a row for each rank, its
# *actions* in order. `2F0` is the forward of microbatch 0 in stage 2. The simplest one is called GPipe: first all forwards, then
# all backwards.

# %%
for rank, row in pp.ScheduleGPipe.make_table(4, 1, 4).items():
    print("rank", rank, *row)
mg.viz.schedule(simulate("GPipe", ranks=4, microbatches=4), title="GPipe: 4 microbatches")

# %% [markdown]
# The table has no times. *When* an action runs follows from what it waits for: its rank must be free, and its input must be there.
#
# Time in which a rank waits is called a **bubble**. Count it: rank 3 waits for 3 forwards before its first one, and for 3 backwards
# after its last one. Rank 0 waits for the same in the middle. With $P$ ranks it is $P - 1$ of each, whatever the number $M$ of
# microbatches. A rank works for $M$ of each, so
#
# $$ \text{bubble} = \frac{P - 1}{M + P - 1} . $$
#
# ![Four ranks over time, as rows. The forward of microbatch 0 goes down from rank 0 to rank 3, one unit of time on each, and its
# backward comes up again, two units on each. Arrows show the messages. Microbatch 1 follows one place behind.](pictures/pipeline.svg)
#
# **Predict.** How many microbatches do four ranks need, so that they wait for less than a tenth of the time?
#
# <details><summary>Answer</summary>
#
# 28: $3 / (M + 3) < 0.1$ if $M > 27$. So more microbatches make the bubble small. What is their price? We see it next.
#
# </details>

# %%
for microbatches in (1, 4, 8, 27, 28):
    bubble = simulate("GPipe", 4, microbatches).bubble
    print(f"{microbatches:2} microbatches: bubble {bubble:.1%}")

# %% [markdown]
# ## 1F1B: the same time, less memory
#
# With GPipe, all microbatches have run forward before the first backward begins. So everything that their forwards have saved
# exists at the same time. But rank 3 could run the backward of microbatch 0 immediately after its forward. *1F1B*, one forward
# and one backward in turn, does so:

# %%
mg.viz.schedule(simulate("1F1B", ranks=4, microbatches=8), title="1F1B: 8 microbatches")

# %% [markdown]
# Rank 0 starts 4 forwards, rank 1 starts 3, and so on. From then on each rank runs a backward before the next forward, so it
# never has more microbatches in its memory than at the start. The bubble is that of GPipe: only the order within the working time
# has changed.
#
# Let us measure it in the real engine. `step_together` runs the four ranks in this one process: they take turns, and each stops
# where it would wait for a message. A module around each layer counts the graphs that are alive: from the forward of a microbatch
# to its backward:

# %%
class Counted(nn.Module):
    """A layer that counts how many of its graphs are alive, and the most of them."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.alive, self.most = layer, 0, 0

    def forward(self, x):
        y = self.layer(x)
        self.alive += 1
        self.most = max(self.most, self.alive)
        y.register_hook(self.forget)
        return y

    def forget(self, gradient):
        self.alive -= 1


# %%
def run(cls, microbatches):
    """One step with four ranks in this process. Return the layers and the losses."""
    layers, x, target = make_model()
    parts = [Counted(layer) for layer in layers]
    stages = [pp.PipelineStage(part, rank, 4, group=group)
              for rank, (part, group) in enumerate(zip(parts, local_groups(4)))]
    schedules = [cls(stage, microbatches, loss_fn=nn.MSELoss()) for stage in stages]
    losses = []
    step_together(schedules, x, target=target, losses=losses)
    return parts, losses


for cls in (pp.ScheduleGPipe, pp.Schedule1F1B):
    parts, losses = run(cls, 8)
    found = [p.grad for part in parts for p in part.parameters()]
    same = all([mg.allclose(g, wanted) for g, wanted in zip(found, right)])
    print(f"{cls.__name__:13} graphs alive: {[part.most for part in parts]}, same: {same}")
    assert abs(sum(losses).item() / 8 - loss.item()) < 1e-12

# %% [markdown]
# The loss and the gradients are those of the whole model, with each schedule. (A step ends with a division of the gradients by
# the number of microbatches.) GPipe keeps all 8, and with 28 it would keep 28. 1F1B keeps 4, 3, 2 and 1, however many there are.
# So 1F1B can have many microbatches, and hence a small bubble.
#
# ## Zero bubble: W where a rank would wait
#
# Look at the picture of 1F1B again. At the end, rank 0 waits for gradients of rank 1, and rank 1 cannot send one before its whole B
# has ended. But the half that rank 0 waits for is I. So split B into I and W ([tutorial 18](18_split_backward.py)), send the
# gradient after I, and run the W when there is nothing better to do:

# %%
mg.viz.schedule(simulate("InterleavedZeroBubble", ranks=4, microbatches=8),
                title="Zero bubble (ZB-H1): 8 microbatches")

# %% [markdown]
# Compare the ends: in the last units of time, W fills what was a bubble. What remains are 3 units on each rank, near the start:
# rank 3 waits for the first forward, and rank 0 for the first gradient. Here are all schedules in numbers. The unit of time is a
# forward of a quarter of the model. Each forward saves 10 bytes: I frees 6 of them, and W frees 4.

# %%
SCHEDULES = {"GPipe": 1, "1F1B": 1, "Interleaved1F1B": 2, "InterleavedZeroBubble": 1,
             "ZBVZeroBubble": 2}
print("schedule               time  bubble  most bytes on each rank")
for name, local in SCHEDULES.items():
    found = simulate(name, 4, 8, local, F=1 / local, I=1 / local, W=1 / local,
                     bytes_I=6 / local, bytes_W=4 / local)
    peak = [round(number) for number in found.peak_bytes]
    print(f"{name:21} {found.step_time:5g}  {found.bubble:6.1%}  {peak}")

# %% [markdown]
# No row is the best. *Interleaved* cuts the model into eight stages and gives two to each rank, so the first input comes to the
# last rank earlier; the price is twice as many messages, and more memory. *ZB-V* also has two stages on each rank, with the first
# and the last one on rank 0, and every rank keeps as much as the first rank of 1F1B. Zero bubble keeps more on the last ranks
# than 1F1B, since its Ws wait.
#
# ### Deeper: pictures of the two with two stages on a rank
#
# A box shows the stage too. In the first picture rank 0 has the stages 0 and 4, in the second the stages 0 and 7:

# %%
mg.viz.schedule(simulate("Interleaved1F1B", 4, 4, 2), title="Interleaved 1F1B")

# %%
mg.viz.schedule(simulate("ZBVZeroBubble", 4, 7), title="ZB-V")

# %% [markdown]
# The ends of the second picture are parallel lines: each rank starts a little after the one before it, and ends as much later. If
# the next step may begin before all ranks have ended, there is no bubble at all.
#
# ## Four real ranks
#
# Now four processes. `mpiexec -n 4 python train.py` starts a program four times; `init_process_group` tells each copy its rank,
# and the four exchange messages. Here the program is a text, and `mg.testing.run_ranks` starts it and shows what each rank has
# printed. It is an ordinary training program for one stage. Each rank calls `step`; only the first gives it the batch, only the
# last the targets. (Without MPI, the cell says how to install it. Nothing after it needs this.)

# %%
PROGRAM = """
import minigrad as mg
import minigrad.distributed as dist
from minigrad.distributed.pipelining import PipelineStage, Schedule1F1B

nn = mg.nn
dist.init_process_group()
rank = dist.get_rank()
mg.manual_seed(0)                       # the same numbers as in one process
layers = [nn.Sequential(nn.Linear(8, 8), nn.Tanh()).double() for _ in range(4)]
x, target = [mg.randn(16, 8, dtype=mg.float64) for _ in range(2)]

stage = PipelineStage(layers[rank], rank, num_stages=4)
schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=nn.MSELoss())
schedule.record = True
losses = []
if rank == 0:
    schedule.step(x)
else:
    schedule.step(target=target if rank == 3 else None, losses=losses)
print(*[timed.action for timed in schedule.timeline])
print(f"norm of the gradient {layers[rank][0].weight.grad.norm().item():.6f}")
if losses:
    print(f"loss {sum(losses).item() / 4:.6f}")
"""
print(mg.testing.run_ranks(PROGRAM, ranks=4))

# %%
print([f"{g.norm().item():.6f}" for g in right[::2]], f"loss {loss.item():.6f}")

# %% [markdown]
# The same numbers. With `schedule.record = True` each rank has noted when its actions began and ended. The times differ with each
# run, so the page keeps a measurement: milliseconds of four processes on a machine with two cores. Their stages slept for 20 ms
# as F, and as long for I and for W, instead of computing.

# %%
MEASURED = """
F0 0-21 F1 21-42 F2 42-63 F3 63-93 B0 224-266 B1 287-328 B2 360-402 B3 427-468
F0 23-44 F1 44-65 F2 66-95 B0 180-222 F3 222-243 B1 244-285 B2 316-358 B3 384-425
F0 46-67 F1 67-97 B0 137-178 F2 178-199 B1 199-244 F3 245-269 B2 270-313 B3 341-382
F0 69-94 B0 94-135 F1 136-157 B1 157-198 F2 200-222 B2 222-269 F3 270-295 B3 295-340
"""
timeline = []
for rank, line in enumerate(MEASURED.split("\n")[1:-1]):
    words = line.split()
    times = [[int(t) for t in span.split("-")] for span in words[1::2]]
    timeline.append([(f"{rank}{action}", *span) for action, span in zip(words[::2], times)])
mg.viz.schedule(simulate("1F1B", 4, 4, F=20, I=20, W=20), timeline)

# %% [markdown]
# The order is the planned one, as the table asks. But messages take time too, and four processes shared two cores. So the step
# took 468 ms instead of 420, and the bubble grew.
#
# ## Step by step
#
# Two ranks in this process, with two microbatches. There are four graphs: one for each stage and microbatch. Each backward of
# rank 1 begins at a loss, and ends at a leaf, the input of the stage. Each backward of rank 0 begins with a gradient that came as
# a message:

# %%
small = [nn.Linear(1, 1), nn.Linear(1, 1)]
stages = [pp.PipelineStage(part, rank, 2, group=group)
          for rank, (part, group) in enumerate(zip(small, local_groups(2)))]
schedules = [pp.Schedule1F1B(stage, 2, loss_fn=nn.MSELoss()) for stage in stages]
with mg.debug.record() as r:
    step_together(schedules, mg.ones(2, 1), target=mg.zeros(2, 1))
mg.viz.step(r)

# %% [markdown]
# ## The source
#
# The table of 1F1B. The warm-up of a rank has as many forwards as there are stages from it to the end:

# %%
mg.utils.source.source_of("distributed/pipelining/_tables.py", "one_forward_one_backward")

# %% [markdown]
# And this is what a rank does with one action, in every schedule, in one process or in four:

# %%
mg.utils.source.source_of("distributed/pipelining/schedules.py", "_PipelineSchedule._act")

# %% [markdown]
# ## The same in PyTorch
#
# The program for four ranks prints the same numbers in PyTorch, with `torch` instead of `mg` and three changes: a stage needs
# `device="cpu"`, there is no `timeline`, and `torchrun --nproc-per-node 4 train.py` starts it. Actions have the same texts:
#
# ```python
# >>> from torch.distributed.pipelining.schedules import _Action, _validate_schedule
# >>> rows = ["0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"]
# >>> table = {r: [_Action.from_str(a) for a in row.split()] for r, row in enumerate(rows)}
# >>> _validate_schedule(table, pp_group_size=2, num_stages=2, num_microbatches=2)
# {0: 0, 1: 1}
#
# ```
#
# ### Deeper: where it is in PyTorch
#
# | mechanism | `minigrad/distributed/pipelining` | PyTorch |
# |---|---|---|
# | the tables | `_tables.py` | [`schedules.py`][schedules], `pipeline_order` of each class |
# | their check | `_actions.py`, `_validate_schedule` | [`schedules.py`][schedules], `_validate_schedule`; it does not look for deadlocks |
# | a step | `schedules.py`, `_PipelineSchedule` | [`schedules.py`][schedules], `_PipelineSchedule` |
# | a stage | `stage.py` | [`stage.py`][stage] |
#
# [schedules]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/distributed/pipelining/schedules.py
# [stage]: https://github.com/pytorch/pytorch/blob/v2.13.0/torch/distributed/pipelining/stage.py
#
# The papers are named in `_tables.py`, with each schedule.
#
# ## What goes wrong
#
# **Too few microbatches.** 1F1B needs at least as many as there are stages, or its warm-up does not end:

# %%
with mg.testing.expect_error(ValueError, code="MG-E233"):
    simulate("1F1B", ranks=4, microbatches=2)

# %% [markdown]
# **A table that cannot go on.** Rank 1 wants to run the backward of microbatch 1 first, but rank 0 wants to send microbatch 1 only
# after it has the gradient of microbatch 0. Each waits for the other. The table is checked before the first step:

# %%
with mg.testing.expect_error(AssertionError, code="MG-E233"):
    simulate({0: ["0F0", "0B0", "0F1", "0B1"], 1: ["1F0", "1F1", "1B1", "1B0"]})

# %% [markdown]
# ### Deeper: two more mistakes
#
# **A batch that does not divide.** 16 rows are no five equal parts, and the mean of unequal parts is not the mean of the batch:

# %%
with mg.testing.expect_error(RuntimeError, code="MG-E234"):
    run(pp.ScheduleGPipe, 5)

# %% [markdown]
# **One tensor in two stages**, as the embedding at both ends of a GPT. On two machines it would be two tensors, each with a part
# of the gradient. The message says what to do:

# %%
tied = nn.Linear(8, 8)
parts = [tied, nn.Sequential(nn.Tanh(), tied)]
stages = [pp.PipelineStage(part, index, 2) for index, part in enumerate(parts)]
with mg.testing.expect_error(ValueError, code="MG-E235"):
    pp.ScheduleInterleavedZeroBubble(stages, 2)

# %% [markdown]
# ## Exercises
#
# Each exercise has a check. The solutions are folded below it.
#
# **1. Predict.** How long is a step? F, I and W take 1 each, and B takes 2.

# %%
PROGRAMS = ["'GPipe', ranks=4, microbatches=1", "'GPipe', ranks=2, microbatches=4",
            "'1F1B', ranks=2, microbatches=4",
            "'InterleavedZeroBubble', ranks=2, microbatches=4"]
predicted = [None, None, None, None]            # your numbers go here


# %%
@mg.testing.exercise(1)
def check_times(predicted):
    assert len(predicted) == len(PROGRAMS), "four numbers, one for each schedule"
    for text, told in zip(PROGRAMS, predicted):
        right = eval(f"simulate({text}).step_time")
        assert told == right, f"{text}: not {told}. See mg.viz.schedule(simulate({text}))"
    print("right")


# %% tags=["help"]
check_times.hints = [
    "How long does a rank work, without any waiting? And how long does it wait?",
    "A rank works 3 for each microbatch. In GPipe and 1F1B it waits for P - 1 forwards and "
    "P - 1 backwards.",
    "In zero bubble, the first rank waits only for the forward and the I of the last one, and "
    "a W fills one unit of that."]
check_times.wrong = {
    "'GPipe', ranks=4, microbatches=1: not 3": "That is the work of one rank. The batch goes "
                                               "through four ranks, one after the other.",
    "'GPipe', ranks=4, microbatches=1: not 8": "A backward takes 2: I and W.",
    "'GPipe', ranks=2, microbatches=4: not 12": "That is the work alone. A rank also waits.",
    "'GPipe', ranks=2, microbatches=4: not 24": "Two ranks work at the same time.",
    "'1F1B', ranks=2, microbatches=4: not 13": "1F1B saves memory. Its bubble is that of GPipe.",
    "'InterleavedZeroBubble', ranks=2, microbatches=4: not 12":
        "The last rank cannot start at 0: the first forward has to arrive.",
    "'InterleavedZeroBubble', ranks=2, microbatches=4: not 15":
        "That is 1F1B. The first rank need not wait for a W of the other."}


# %% tags=["hide-cell", "solution"]
check_times([12,    # 4 forwards and 4 backwards, one after the other
             15,    # 4 times 3, and a bubble of 1 + 2
             15,    # the same bubble
             13])   # 4 times 3, and a bubble of 1: only the start

# %% [markdown]
# **2. The memory of a row.** Write `most(row)` for the row of a rank, a list of texts such as `"0F0"`. F saves 10 bytes; I frees
# 6 of them, W frees 4, and B frees all. It returns the most bytes that are saved at the same time.

# %%
def most(row):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(2)
def check_most(most):
    for name, ranks, local in (("GPipe", 2, 1), ("1F1B", 3, 1),
                               ("InterleavedZeroBubble", 3, 1), ("ZBVZeroBubble", 2, 2)):
        found = simulate(name, ranks, 12, local, bytes_I=6, bytes_W=4)
        for rank, right in enumerate(found.peak_bytes):
            row = [str(timed.action) for timed in found.timeline[rank]]
            told = most(row)
            assert told == right, f"{name}, rank {rank}: {told} instead of {right}"
    print("right")


# %% tags=["help"]
check_most.hints = [
    "Go through the row once. What does each letter do to the number of bytes?",
    "The letter is not always at the same place, since a number may have two digits. But there "
    "is only one letter in each text.",
    "Keep two numbers: what is saved now, and the largest value that it has had."]
check_most.wrong = {
    "GPipe, rank 0: 0 instead of 120": "At the end everything is free. Keep the largest value.",
    "1F1B, rank 0: 120 instead of 30": "A backward frees what its forward has saved.",
    "InterleavedZeroBubble, rank 1: 20 instead of 24":
        "I frees only 6 of the 10. The rest waits for W."}


# %% tags=["hide-cell", "solution"]
def most_solution(row):
    now = largest = 0
    for action in row:
        (kind,) = [letter for letter in action if letter in "FBIW"]
        now += {"F": 10, "B": -10, "I": -6, "W": -4}[kind]
        largest = max(largest, now)
    return largest


check_most(most_solution)

# %% [markdown]
# **3. A schedule of your own.** Write `table(microbatches)` for two ranks with one stage each. It returns a dict with two lists
# of texts, as `simulate` takes it. A step must take only $3M + 1$, and no rank may have more than two microbatches that have run
# F and not W.

# %%
def table(microbatches):
    raise NotImplementedError      # your code goes here


# %%
@mg.testing.exercise(3)
def check_table(table):
    for count in (2, 3, 8):
        made, limit = table(count), 3 * count + 1
        try:
            found = simulate(made, bytes_W=1)
        except mg.errors.MinigradError as error:
            raise AssertionError(f"{count} microbatches: {error.what}") from None
        time, peak = found.step_time, max(found.peak_bytes)
        assert found.busy == [limit - 1] * 2, f"{count} microbatches: work {found.busy}"
        assert time <= limit, f"{count} microbatches: the step takes {time}, not {limit}"
        assert peak <= 2, f"{count} microbatches: {peak} wait for their W"
    print("right")


# %% tags=["help"]
check_table.hints = [
    "Rank 1 cannot start before time 1. So after that it must never wait, and neither may rank "
    "0, except for one unit.",
    "Rank 0 waits for the first I of rank 1. So rank 1 should run this I as early as it can, and "
    "every other I as soon as its F has run. Which Ws can wait?",
    "Rank 0: F0 F1, then I, W and the next F in turn. Rank 1: F, I, and the W of the microbatch "
    "before."]
check_table.wrong = {
    "the step takes 9, not 7": "That is 1F1B: rank 0 waits for a W of rank 1.",
    "the step takes 8, not 7": "All F, all I, all W: rank 0 waits for two units in the middle.",
    "3 microbatches: work": "The table must have all microbatches, and not only two.",
    "Invalid": "Each stage has an F, an I and a W for each microbatch.",
    "Deadlock": "Each rank waits for the other. Draw what each waits for.",
    "3 wait for their W": "The time is right. But rank 0 is too far ahead: it has run an F that "
                          "rank 1 does not need yet."}


# %% tags=["hide-cell", "solution"]
def table_solution(microbatches):
    first, second = ["0F0", "0F1"], []
    for m in range(microbatches):
        first += [f"0I{m}", f"0W{m}"]
        if m + 2 < microbatches:
            first.append(f"0F{m + 2}")
        second += [f"1F{m}", f"1I{m}"]
        if m:
            second.append(f"1W{m - 1}")
    return {0: first, 1: [*second, f"1W{microbatches - 1}"]}


check_table(table_solution)

# %% [markdown]
# ## What to remember
#
# * In **pipeline parallelism** each **rank** has a part of the model. The batch is cut into **microbatches**, whose gradients add
#   up to that of the batch.
# * A **schedule** is a table: for each rank its actions in order. The times follow from what each action waits for.
# * The **bubble** of GPipe and of 1F1B is $(P - 1) / (M + P - 1)$. 1F1B keeps at most $P$ microbatches, GPipe all $M$.
# * Zero bubble splits B: I is sent as early as possible, and W fills the time in which a rank would wait. The Ws keep memory as
#   long as they wait.
# * The program of a rank is `schedule.step(...)`, on every rank. `mpiexec` starts them; in one process, `step_together` does.
#
# **Next:** [data parallel from hooks](20_data_parallel.py), where each rank has the whole model; or {doc}`ten thousand workers on paper
# </notes/planning>`, a plan for a pipeline that you cannot run.
