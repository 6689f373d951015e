"""How many bytes the graphs of a stage have saved, action by action, beside what the schedules promise."""

import contextlib
from collections import Counter

import pytest

import minigrad as mg
from minigrad.distributed.pipelining import step_together
from tests.distributed.test_pipeline import batch, ranks_of

RANKS, MICROBATCHES, ROWS = 3, 6, 2
NUMBER = 8      # bytes


class Meter:
    """Counts the tensors that the forward of a stage saves, each memory once, as long as the graph has them; parameters left out.

    `record` has a pair (action, bytes) for each action of the stage, in order.
    """

    def __init__(self, stage):
        self.record = []
        self._saved, self._sizes = Counter(), {}
        self._weights = {parameter.data_ptr() for parameter in stage.submod.parameters()}
        for name, kind in (("forward_one_chunk", "F"), ("backward_one_chunk", "B"), ("backward_weight_one_chunk", "W")):
            setattr(stage, name, self._measured(getattr(stage, name), kind))

    def _measured(self, method, kind):
        def run(microbatch, *args, **kwargs):
            hooks = mg.autograd.graph.saved_tensors_hooks(lambda tensor: Saved(tensor, self), lambda saved: saved.tensor)
            with hooks if kind == "F" else contextlib.nullcontext():
                found = method(microbatch, *args, **kwargs)
            letter = "I" if kwargs.get("full_backward") is False else kind
            self.record.append((f"{letter}{microbatch}", self.bytes()))
            return found
        return run

    def bytes(self):
        return sum([self._sizes[key] for key, count in self._saved.items() if count])

    def peak(self):
        return max([size for _, size in self.record])


class Saved:
    """A saved tensor. The meter counts it while it lives."""

    def __init__(self, tensor, meter):
        self.tensor, self.saved, self.key = tensor, meter._saved, tensor.data_ptr()
        meter._sizes[self.key] = 0 if self.key in meter._weights else tensor.numel() * tensor.element_size()
        self.saved[self.key] += 1

    def __del__(self):
        self.saved[self.key] -= 1


def measured(name):
    """The meter of each rank, after a step."""
    mg.manual_seed(0)
    nn = mg.nn
    stages = [nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 4), nn.GELU()).double() for _ in range(RANKS)]
    x, y = batch(ROWS * MICROBATCHES)
    schedules = ranks_of(name, RANKS, 1, stages, MICROBATCHES)
    meters = [Meter(stage) for schedule in schedules for stage in schedule._stages.values()]
    step_together(schedules, x, target=y)
    return meters


# Of one microbatch: the input of each linear layer and of each GELU.
OF_F = ROWS * (4 + 6 + 6 + 4) * NUMBER
# I releases what each GELU has saved: the weights need only the inputs of their layers.
OF_I = ROWS * (4 + 6) * NUMBER


@pytest.mark.parametrize("name, bound", [
    ("GPipe", lambda rank: MICROBATCHES),
    ("1F1B", lambda rank: RANKS - rank),
    ("InterleavedZeroBubble", lambda rank: RANKS),
])
def test_the_bound_of_a_schedule(name, bound):
    """pipelining_backward/Q-04: GPipe has saved all microbatches at its peak, 1F1B as many as there are ranks from here on, and
    ZB-H1 no more than 1F1B on its first rank, as the paper says. After a step nothing is left."""
    meters = measured(name)
    assert [meter.record[-1][1] for meter in meters] == [0] * RANKS
    for rank, meter in enumerate(meters):
        if name == "InterleavedZeroBubble":
            assert meter.peak() <= bound(rank) * OF_F
        else:
            assert meter.peak() == bound(rank) * OF_F


def test_1f1b_is_below_gpipe():
    for gpipe, other in zip(measured("GPipe"), measured("1F1B")):
        assert other.peak() <= gpipe.peak() / 2


@pytest.mark.differs(
    what="What the nodes between two layers have saved, after `stage_backward_input`",
    there="It is kept until the weights have their gradients.",
    here="It is released.")
def test_bytes_between_i_and_w():
    """pipelining_backward/Q-05: F saves, I releases what only the gradients of inputs need, W releases the rest."""
    for meter in measured("InterleavedZeroBubble")[1:]:
        before, changes = 0, {"F": set(), "I": set(), "B": set(), "W": set()}
        for action, size in meter.record:
            changes[action[0]].add(size - before)
            before = size
        assert changes == {"F": {OF_F}, "I": {OF_I - OF_F}, "B": set(), "W": {-OF_I}}
