"""Stages and schedules that run: every schedule has the loss, the outputs and the gradients of the unsplit model."""

import copy
import gc
import itertools
import weakref

import pytest

import minigrad as mg
from minigrad.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleZBVZeroBubble,
    local_groups,
    step_together,
)
from minigrad.distributed.pipelining._actions import F, _Action, _merge_bw
from minigrad.distributed.pipelining.schedules import get_schedule_class

MEAN = mg.nn.MSELoss()
# name, ranks, stages on each rank
RUNS = [("GPipe", 4, 1), ("1f1b", 4, 1), ("Interleaved1F1B", 2, 2), ("LoopedBFS", 2, 2), ("InterleavedZeroBubble", 2, 2),
        ("InterleavedZeroBubble", 4, 1), ("ZBVZeroBubble", 2, 2), ("ZBVZeroBubble", 1, 2), ("GPipe", 1, 1)]


def parts(count, features=4):
    mg.manual_seed(count)
    return [mg.nn.Sequential(mg.nn.Linear(features, 6), mg.nn.Tanh(), mg.nn.Linear(6, features)).double() for _ in range(count)]


def batch(rows=8, features=4):
    mg.manual_seed(1)
    return mg.randn(rows, features, dtype=mg.float64), mg.randn(rows, features, dtype=mg.float64)


def ranks_of(name, ranks, local, stages, microbatches=4, loss_fn=MEAN, **more):
    """The schedule of each rank."""
    cls, count = get_schedule_class(name), ranks * local
    made = []
    for rank, group in enumerate(local_groups(ranks)):
        mine = (rank, count - 1 - rank) if cls is ScheduleZBVZeroBubble else range(rank, count, ranks)
        found = [PipelineStage(stages[i], i, count, group=group) for i in mine]
        made.append(cls(found if local > 1 else found[0], microbatches, loss_fn=loss_fn, **more))
    return made


def gradients(stages):
    return [parameter.grad for stage in stages for parameter in stage.parameters()]


def close(found, expected):
    return len(found) == len(expected) and all(mg.allclose(f, e, rtol=0, atol=1e-13) for f, e in zip(found, expected))


@pytest.mark.parametrize("name, ranks, local", RUNS)
def test_equals_the_unsplit_model(name, ranks, local):
    """pipelining_backward/Q-01, pipelining_backward/O-06, pipelining_backward/X-52, pipelining_backward/X-33"""
    stages, (x, y) = parts(ranks * local), batch()
    whole = mg.nn.Sequential(*copy.deepcopy(stages))
    expected = whole(x)
    loss = MEAN(expected, y)
    loss.backward()
    schedules, losses = ranks_of(name, ranks, local, stages), ["old"]
    for _ in range(2):          # a second step begins as the first did
        for stage in stages:
            stage.zero_grad()
        outputs = step_together(schedules, x, target=y, losses=losses)
        assert mg.allclose(outputs, expected)
        assert len(losses) == 4 and abs(float(sum(losses).detach()) / 4 - loss.item()) < 1e-13
        assert close(gradients(stages), gradients(whole))


def test_a_loss_that_is_a_sum():
    """pipelining_backward/O-06"""
    stages, (x, y) = parts(2), batch()
    whole, loss_fn = mg.nn.Sequential(*copy.deepcopy(stages)), mg.nn.MSELoss(reduction="sum")
    loss_fn(whole(x), y).backward()
    step_together(ranks_of("GPipe", 2, 1, stages, loss_fn=loss_fn, scale_grads=False), x, target=y)
    assert close(gradients(stages), gradients(whole))


def test_uneven_microbatches():
    """pipelining_backward/K-05, pipelining_backward/K-08"""
    stages, (x, y) = parts(2), batch(7)
    whole, loss_fn = mg.nn.Sequential(*copy.deepcopy(stages)), mg.nn.MSELoss(reduction="sum")
    loss_fn(whole(x), y).backward()
    step_together(ranks_of("1F1B", 2, 1, stages, loss_fn=loss_fn, scale_grads=False), x, target=y)
    assert close(gradients(stages), gradients(whole))


def test_the_gradient_at_a_cut():
    """pipelining_backward/Q-03, pipelining_backward/O-01, pipelining_backward/O-02"""
    (first, second), (x, y) = parts(2), batch()
    cut = first(x).detach().requires_grad_()
    MEAN(second(cut), y).backward()
    stages = [PipelineStage(first, 0, 2), PipelineStage(second, 1, 2)]
    hidden = stages[0].forward_one_chunk(0, (x,))
    loss = MEAN(stages[1].forward_one_chunk(0, (hidden,)), y)
    assert hidden.grad_fn is not None
    stages[1].backward_one_chunk(0, loss, full_backward=False)
    (found,) = stages[1].get_local_bwd_output(0)
    assert mg.allclose(found, cut.grad)
    stages[0].backward_one_chunk(0, output_grads=(found,), full_backward=False)
    assert all(parameter.grad is None or stage is second for stage in (first, second) for parameter in stage.parameters())
    for stage in stages:
        stage.backward_weight_one_chunk(0)
    assert all(parameter.grad is not None for parameter in first.parameters())


def test_weights_later_in_any_order():
    """pipelining_backward/Q-06, pipelining_backward/O-03"""
    (module,), (x, y) = parts(1), batch()
    whole = copy.deepcopy(module)
    MEAN(whole(x), y).backward()
    stage = PipelineStage(module, 1, 2)
    losses = [MEAN(stage.forward_one_chunk(m, (x[2 * m:2 * m + 2],)), y[2 * m:2 * m + 2]) for m in range(4)]
    for m in (2, 0, 3, 1):
        stage.backward_one_chunk(m, losses[m], full_backward=False)
    for m in (1, 3, 2, 0):
        stage.backward_weight_one_chunk(m)
    stage.scale_grads(4)
    assert close(gradients([module]), gradients([whole]))


class Rows(mg.nn.Module):
    """A first stage whose input is integers."""

    def __init__(self):
        super().__init__()
        self.table = mg.nn.Embedding(5, 3)

    def forward(self, index, scale=None, name="x"):
        assert name == "x"
        found = self.table(index)
        return found if scale is None else found * scale


def test_a_first_stage_without_gradients_of_its_input():
    """pipelining_backward/Q-08"""
    module, target = Rows(), mg.ones(4, 3)
    index = mg.tensor([0, 1, 1, 4])
    whole = copy.deepcopy(module)
    MEAN(whole(index), target).backward()
    step_together(ranks_of("InterleavedZeroBubble", 2, 1, [module, mg.nn.Identity()], 2), index, target=target)
    assert mg.allclose(module.table.weight.grad, whole.table.weight.grad)


class TwoInTwoOut(mg.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = mg.nn.Parameter(mg.ones(3))

    def forward(self, a, b=None, scale=None):
        b = a if b is None else b
        return a * self.scale * (1. if scale is None else scale), b.detach(), b * 3


class Ends(mg.nn.Module):
    def forward(self, a, plain, unused, scale=None):
        return a * a + plain


def test_several_outputs_and_keyword_arguments():
    """pipelining_backward/O-01, pipelining_backward/O-02: what needs no gradient, or gets none, may cross a cut too."""
    x, scale = mg.ones(4, 3, requires_grad=True), mg.arange(12.).reshape(4, 3)
    for name in ("GPipe", "InterleavedZeroBubble"):
        first, last = TwoInTwoOut(), Ends()
        schedules = ranks_of(name, 2, 1, [first, last], 2, loss_fn=lambda out, _: out.sum(), scale_grads=False)
        x.grad = None
        step_together(schedules, x, scale=scale)
        assert mg.allclose(first.scale.grad, (2 * scale * scale).sum(0))
        assert mg.allclose(x.grad, 2 * scale * scale)


def test_eval():
    """pipelining_backward/O-05, pipelining_backward/X-50"""
    (module,), (x, y) = parts(1), batch()
    schedule = ScheduleGPipe(PipelineStage(module, 0, 1), 4, loss_fn=MEAN)
    losses = []
    outputs = schedule.eval(x, target=y, losses=losses)
    assert not outputs.requires_grad and len(losses) == 4 and gradients([module]) == [None] * 4
    assert mg.allclose(outputs, module(x)) and schedule.eval(x).shape == outputs.shape
    schedule.step(x, target=y)
    assert None not in gradients([module])
    with mg.no_grad(), pytest.raises(RuntimeError, match="requires gradients to be enabled"):
        schedule.step(x, target=y)
    assert schedule.step(x, target=y, return_outputs=False) is None


def test_without_a_loss_function():
    """pipelining_backward/X-51"""
    (module,), (x, y) = parts(1), batch()
    schedule = ScheduleGPipe(PipelineStage(module, 0, 1), 4)
    assert mg.allclose(schedule.step(x), module(x)) and gradients([module]) == [None] * 4
    with pytest.raises(RuntimeError, match="Expecting 4 losses but got 0"):
        schedule.step(x, target=y, losses=[])


@pytest.mark.parametrize("name, bound", [("GPipe", lambda rank, ranks, microbatches: microbatches),
                                         ("1F1B", lambda rank, ranks, microbatches: ranks - rank)])
def test_memory(name, bound):
    """pipelining_backward/Q-04: as many activations are alive on a rank as the schedule says, and none afterwards."""
    stages, (x, y) = parts(3), batch(12)
    alive, peaks = [weakref.WeakSet() for _ in stages], [0] * 3

    def watch(rank):
        def hook(module, args, output):
            alive[rank].add(output)         # the next layer saves it
            peaks[rank] = max(peaks[rank], len(alive[rank]))
        return hook
    for rank, stage in enumerate(stages):
        stage[1].register_forward_hook(watch(rank))
    gc.disable()
    try:
        step_together(ranks_of(name, 3, 1, stages, 6), x, target=y)
        assert [len(found) for found in alive] == [0, 0, 0]
    finally:
        gc.enable()
    assert peaks == [bound(rank, 3, 6) for rank in range(3)]


def test_the_last_outputs_are_detached():
    """pipelining_backward/O-04, pipelining_backward/O-07"""
    (module,), (x, y) = parts(1), batch()
    stage = PipelineStage(module, 1, 2)
    output = stage.forward_one_chunk(0, (x,))
    stage.backward_one_chunk(0, MEAN(output, y))
    assert output.grad_fn is None and stage.output_chunks == {0: output}
    (gradient,) = stage.get_local_bwd_output(0)
    assert gradient.shape == x.shape
    stage.clear_runtime_states()
    assert stage.output_chunks == {} and x.grad is None


def test_out_of_turn():
    """pipelining_backward/O-02, pipelining_backward/O-03"""
    (module,), (x, y) = parts(1), batch()
    stage = PipelineStage(module, 0, 1)
    for call in (lambda: stage.backward_one_chunk(0, x.sum()), lambda: stage.get_local_bwd_output(0)):
        with pytest.raises(AssertionError, match="Stage 0"):
            call()
    with pytest.raises(AssertionError, match="without first calling"):
        stage.backward_weight_one_chunk(0)
    loss = MEAN(stage.forward_one_chunk(0, (x,)), y)
    with pytest.raises(AssertionError, match="ran before"):
        stage.forward_one_chunk(0, (x,))
    stage.backward_one_chunk(0, loss)
    with pytest.raises(AssertionError, match="a second time"):
        stage.backward_one_chunk(0, loss)


def test_a_forward_that_fails():
    """pipelining_backward/O-01: the error names the stage, the microbatch and the shapes; the next step is clean."""
    stages, (x, y) = parts(2), batch()
    schedules = ranks_of("1F1B", 2, 1, stages)
    wrong = parts(1, features=5)[0]
    schedules[1]._stages[1].submod = wrong
    with pytest.raises(RuntimeError, match=r"Stage 1 failed to run forward of microbatch 0: args \[Tensor\(\[2, 4\]") as info:
        step_together(schedules, x, target=y)
    assert isinstance(info.value.__cause__, RuntimeError)
    schedules[1]._stages[1].submod = stages[1]
    for stage in stages:
        stage.zero_grad()
    assert step_together(schedules, x, target=y).shape == y.shape


def test_a_deadlock_is_an_error():
    """pipelining_backward/Q-02"""
    schedules = ranks_of("GPipe", 2, 1, parts(2))
    schedules[0].actions = [_Action(0, F, m) for m in (1, 0)]
    schedules[0].actions = schedules[0].actions[:1]
    x, y = batch()
    with pytest.raises(AssertionError, match="Deadlock: rank 1 waits at 1F0 for 0F0"):
        step_together(schedules, x, target=y)


@pytest.mark.parametrize("make, error, key", [
    (lambda: PipelineStage(abs, 0, 1), TypeError, "nn.Module"),
    (lambda: PipelineStage(mg.nn.ReLU(), 2, 2), ValueError, "out of range"),
    (lambda: PipelineStage(mg.nn.ReLU(), "0", 2), ValueError, "out of range"),
    (lambda: ScheduleGPipe(mg.nn.ReLU(), 2), TypeError, "stages of a pipeline"),
    (lambda: ScheduleGPipe([], 2), TypeError, "stages of a pipeline"),
    (lambda: ScheduleGPipe(PipelineStage(mg.nn.ReLU(), 0, 1), 0), ValueError, "positive int"),
    (lambda: ScheduleGPipe(PipelineStage(mg.nn.ReLU(), 0, 2), 2), ValueError, "does not hold the stages"),
    (lambda: ranks_of("1F1B", 4, 1, parts(4), 3), ValueError, "greater than or equal to the number of stages"),
    (lambda: ranks_of("ZBVZeroBubble", 2, 1, parts(2)), ValueError, "requires exactly 2 stages per rank"),
    (lambda: get_schedule_class("nope"), ValueError, "Unknown schedule name"),
    (lambda: step_together([mg.ones(2)], mg.ones(2)), TypeError, "list of schedules"),
    (lambda: local_groups(0), ValueError, "at least one rank"),
    (lambda: ranks_of("GPipe", 2, 1, parts(2))[0].step(batch()[0]), RuntimeError, "step_together"),
    (lambda: step_together(ranks_of("GPipe", 2, 1, parts(2)), batch(2)[0], target=batch(2)[1]), RuntimeError, "Expecting 4 microbatches"),
    (lambda: step_together(ranks_of("GPipe", 2, 1, parts(2)), batch()[0], target=batch(3)[1]), RuntimeError, "Expecting 4 microbatches"),
])
def test_errors(make, error, key):
    """pipelining_backward/X-01, pipelining_backward/X-30, pipelining_backward/X-41, pipelining_backward/K-03"""
    with pytest.raises(error, match=key) as info:
        make()
    assert "MG-E23" in str(info.value)


@pytest.mark.differs(
    what="A schedule with `scale_grads=True`, and a batch whose rows do not divide into the microbatches",
    there="One stage: the gradient of the mean of the microbatches' means, which is not that of the batch.",
    here="RuntimeError, with what to do.")
def test_a_batch_that_does_not_divide():
    """pipelining_backward/K-08: an error where means are added; a forward alone, and a sum, take any rows."""
    (x, y), schedules = batch(7), ranks_of("1F1B", 2, 1, parts(2))
    with pytest.raises(RuntimeError, match=r"(?s)does not divide into 4 microbatches of arguments.*float64 \(2, 4\) first.*drop_last=True"):
        step_together(schedules, x, target=y)
    with pytest.raises(RuntimeError, match=r"does not divide into 4 microbatches of targets"):
        step_together(schedules, x[:4], target=y)
    assert ScheduleGPipe(PipelineStage(parts(1)[0], 0, 1), 4, loss_fn=MEAN).eval(x).shape == (7, 4)


class Grows(mg.nn.Module):
    def forward(self, x, columns=None):
        self.calls = getattr(self, "calls", 0) + 1
        return x.repeat(1, self.calls if columns is None else columns)


def test_outputs_that_change_shape():
    """pipelining_backward/O-01: an error if the arguments have the same shapes; else a sequence may be longer in the next step."""
    x = mg.ones(4, 2)
    with pytest.raises(RuntimeError, match=r"(?s)Stage 0: the outputs of microbatch 1 have other shapes.*float32 \(2, 2\).*float32 \(2, 4\)"):
        step_together(ranks_of("GPipe", 2, 1, [Grows(), mg.nn.Identity()], 2, loss_fn=None), x)
    schedule = ScheduleGPipe(PipelineStage(Grows(), 0, 1), 2)
    assert schedule.step(x, columns=2).shape == (4, 4) and schedule.step(x, columns=3).shape == (4, 6)
    assert schedule.step(x[:, :1], columns=3).shape == (4, 3)


@pytest.mark.differs(
    what="A parameter in two stages of one rank",
    there="The gradient is divided by the number of microbatches twice.",
    here="ValueError, with what to do.")
def test_tied_weights():
    """A parameter in two stages is an error, also of two ranks in one process; a module without parameters may be in both."""
    first, last, rectify = mg.nn.Linear(4, 4), mg.nn.Linear(4, 4), mg.nn.ReLU()
    last.weight = first.weight
    for name, ranks, local in (("Interleaved1F1B", 1, 2), ("ZBVZeroBubble", 1, 2), ("GPipe", 2, 1)):
        for pair in ([first, last], [first, first], [mg.nn.Sequential(first), mg.nn.Sequential(rectify, last)]):
            with pytest.raises(ValueError, match=r"(?s)stages 0 and 1 share one tensor.*weight' of stage 0 is .*copy.deepcopy.*all_reduce"):
                step_together(ranks_of(name, ranks, local, pair), mg.ones(4, 4), target=mg.ones(4, 4))
        step_together(ranks_of(name, ranks, local, [mg.nn.Sequential(copy.deepcopy(m), rectify) for m in (first, last)]),
                      mg.ones(4, 4), target=mg.ones(4, 4))
    norm = mg.nn.BatchNorm1d(4, affine=False)
    with pytest.raises(ValueError, match="'running_mean' of stage 0"):
        ranks_of("LoopedBFS", 1, 2, [norm, norm])


def test_more_stages_than_ranks():
    """pipelining_backward/X-33"""
    for name, local, command in (("GPipe", 1, "mpiexec -n 8 python"), ("Interleaved1F1B", 2, "mpiexec -n 4 python")):
        stages = [PipelineStage(mg.nn.ReLU(), i, 8) for i in range(local)]
        with pytest.raises(ValueError, match=rf"(?s)rank 0 of 1 does not hold the stages.*{command}"):
            get_schedule_class(name)(stages if local > 1 else stages[0], 4)


def test_names():
    """pipelining_backward/X-41"""
    for name, variant in itertools.product(("1F1B", "GPipe", "ZBVZeroBubble"), (str.lower, str.upper, str)):
        assert get_schedule_class(variant(name)).__name__ == f"Schedule{name}"
    assert get_schedule_class("1f1b") is Schedule1F1B


@pytest.mark.parametrize("name, local", [("1F1B", 1), ("InterleavedZeroBubble", 1), ("ZBVZeroBubble", 2)])
def test_record(name, local):
    """The actions as they ran: those of the table with I and W merged, one after the other; nothing without `record`."""
    stages, (x, y) = parts(2 * local), batch()
    schedules = ranks_of(name, 2, local, stages)
    step_together(schedules, x, target=y)
    assert [schedule.timeline for schedule in schedules] == [[], []]
    for count in (1, 2):        # a second step replaces what the first has recorded
        for schedule in schedules:
            schedule.record = True
        step_together(schedules, x, target=y)
        for schedule in schedules:
            assert [each.action for each in schedule.timeline] == _merge_bw(schedule.actions), count
            assert all(each.start <= each.end for each in schedule.timeline)
            assert all(a.end <= b.start for a, b in itertools.pairwise(schedule.timeline))
    assert len(ScheduleGPipe(PipelineStage(stages[0], 0, 1), 2).timeline) == 0


def test_record_of_an_evaluation():
    stages, (x, y) = parts(1), batch()
    schedule = ScheduleGPipe(PipelineStage(stages[0], 0, 1), 2, loss_fn=MEAN)
    schedule.record = True
    schedule.eval(x, target=y)
    assert [str(each.action) for each in schedule.timeline] == ["0F0", "0F1"]
