"""A step of a pipeline: the batch is split, each rank runs its list of actions, and the losses and gradients come out.

    actions of a rank      0F0   0F1   0B0   0B1           from _tables.py, checked by _actions.py
                            |     |     |     |
    for each action        take what it needs: the microbatch, or a message of another stage
                           call the method of the stage (stage.py)
                           hand on what it returns: to a stage of this rank directly, to others by the group

A step is a generator: it yields where it waits for a message. So one code serves ranks that take turns in one process
(``_local.py``) and ranks that are processes.

Invariant: after a step, ``.grad`` of every parameter is that of the unsplit model with the mean of the microbatches' losses, for
every schedule.

Mirrors ``torch/distributed/pipelining/schedules.py``. Read before: ``_actions.py``, ``_tables.py``, ``stage.py``.
"""

from time import perf_counter
from typing import Any

from minigrad.autograd.grad_mode import is_grad_enabled, no_grad
from minigrad.distributed.pipelining import _tables
from minigrad.distributed.pipelining._actions import B, F, I, TimedAction, W, _merge_bw, _validate_schedule, needs
from minigrad.distributed.pipelining._local import LocalGroup
from minigrad.distributed.pipelining.microbatch import merge_chunks, split_args_kwargs_into_chunks
from minigrad.distributed.pipelining.stage import PipelineStage, check_shared, shapes_of
from minigrad.errors import AutogradError, TensorTypeError, TensorValueError

__all__ = ["Schedule1F1B", "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS",
           "ScheduleZBVZeroBubble", "get_schedule_class"]


class _PipelineSchedule:
    """What all schedules share. A subclass says in `make_table` in which order its ranks run their actions.

    Args:
        stages (PipelineStage or list): the stages of this rank.
        n_microbatches (int): into how many microbatches a batch is split.
        loss_fn (Callable, optional): called as ``loss_fn(output, target)`` with each microbatch. Without it, there is no backward.
        args_chunk_spec, kwargs_chunk_spec, output_merge_spec (optional): see `split_args_kwargs_into_chunks`, `merge_chunks`.
        scale_grads (bool): divide the gradients by the number of microbatches, as a loss that is a mean needs.

    Raises:
        TypeError: `stages` are no stages.
        ValueError: the numbers of stages, ranks and microbatches do not fit the schedule; or two stages share a parameter.

    With ``schedule.record = True``, a step sets ``schedule.timeline``: a list with a `TimedAction` for each action of this rank, in
    seconds of ``time.perf_counter``. On Linux this clock is the same for all processes of a machine. An action starts when it has
    received what it needs, and ends when it has handed on its result. ``all_gather_object`` collects the lists of all ranks.
    """

    record = False

    def __init__(self, stages, n_microbatches, loss_fn=None, args_chunk_spec=None, kwargs_chunk_spec=None, output_merge_spec=None,
                 scale_grads=True):
        stages = list(stages) if isinstance(stages, (list, tuple)) else [stages]
        if not stages or not all(isinstance(stage, PipelineStage) for stage in stages):
            raise TensorTypeError("MG-E235", "a schedule runs stages of a pipeline", expected="PipelineStage, or a list of them",
                                  found=", ".join([type(stage).__name__ for stage in stages]) or "an empty list",
                                  fix="wrap each part of the model: PipelineStage(part, stage_index, num_stages, group=group)")
        if not isinstance(n_microbatches, int) or n_microbatches < 1:
            raise TensorValueError("MG-E234", f"n_microbatches must be a positive int, got {n_microbatches!r}", fix="pass 4, say")
        check_shared(stages)
        self._stages = {stage.stage_index: stage for stage in stages}
        self._group = stages[0].group
        self._n_microbatches = n_microbatches
        self._loss_fn = loss_fn
        self._specs = args_chunk_spec, kwargs_chunk_spec, output_merge_spec
        self.scale_grads = scale_grads
        self._has_backward = loss_fn is not None
        self._num_stages = stages[0].num_stages
        self.timeline = []
        rank, ranks = (0, 1) if self._group is None else (self._group.rank, self._group.size)
        # Called pipeline_order in PyTorch.
        self.pipeline_order = self.make_table(ranks, len(stages), n_microbatches)
        self.actions = self.pipeline_order[rank]
        stages_of = {r: {action.stage_index for action in row} for r, row in self.pipeline_order.items()}
        total = sum(map(len, stages_of.values()))
        if stages_of[rank] != set(self._stages) or total != self._num_stages:
            raise TensorValueError("MG-E235", f"{type(self).__name__}: rank {rank} of {ranks} does not hold the stages that this "
                                   "schedule runs there.", expected=f"the stages {sorted(stages_of[rank])} of {total}",
                                   found=f"{sorted(self._stages)} of {self._num_stages}",
                                   fix="give each rank its stages, and each stage the number of all stages; "
                                       f"start enough ranks: mpiexec -n {-(-self._num_stages // len(stages))} python train.py")
        self._rank_of = _validate_schedule(self.pipeline_order, ranks, total, n_microbatches)

    @staticmethod
    def make_table(ranks, local_stages, microbatches):
        """Return the actions of each rank."""
        raise NotImplementedError

    @property
    def holds_first(self):
        """Whether this rank has the first stage, which gets the batch."""
        return 0 in self._stages

    @property
    def holds_last(self):
        """Whether this rank has the last stage, which gets the targets and returns the outputs."""
        return self._num_stages - 1 in self._stages

    def step(self, *args, target=None, losses=None, return_outputs=True, loss_kwargs=None, **kwargs):
        """Run one iteration with a whole batch: forward, loss, backward. The optimizer's step is yours.

        Args:
            args: the batch, on the rank of the first stage; nothing on the others.
            target (optional): the targets of the batch, on the rank of the last stage.
            losses (list, optional): on the rank of the last stage, filled with the loss of each microbatch, in order.
            return_outputs (bool): merge the outputs and return them.
            loss_kwargs (dict, optional): more arguments of the loss function.
            kwargs: keyword arguments of all stages; tensors among them are split.

        Returns:
            On the rank of the last stage, the outputs of all microbatches together; None elsewhere.

        Raises:
            RuntimeError: gradients are disabled; the batch has too few rows; with `scale_grads`, its rows do not divide into the
                microbatches; or a stage failed.

        Mirrors ``step`` of PyTorch's schedules.
        """
        if isinstance(self._group, LocalGroup) and self._group.size > 1:
            raise AutogradError("MG-E233", "step() would wait for the other ranks, which are in this process.",
                                fix="run all of them: step_together(schedules, batch, target=target)")
        steps = self._start(args, kwargs, target, losses, return_outputs, loss_kwargs)
        try:
            while True:
                action, awaited = next(steps)       # a single rank waits for nothing
                self._group.wait(action, awaited, self._rank_of[awaited.stage_index])
        except StopIteration as end:
            if self._group is not None:
                self._group.drain()
            return end.value
        finally:
            self.reset()

    def eval(self, *args, target=None, losses=None, **kwargs):
        """Run the forwards only, without recording. Arguments and result as `step`.

        Mirrors ``eval`` of PyTorch's schedules.
        """
        before = self._has_backward
        self._has_backward = False
        try:
            with no_grad():
                return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            self._has_backward = before

    def reset(self):
        """Forget what a step has left in the stages and in the group's messages."""
        for stage in self._stages.values():
            stage.clear_runtime_states()
        if self._group is not None:
            self._group.clear()

    def _start(self, args, kwargs, target, losses, return_outputs=True, loss_kwargs=None):
        """Check the arguments, and return the step as a generator. It yields ``(action, the actions it waits for)``."""
        if self._has_backward and not is_grad_enabled():
            raise AutogradError("MG-E232", "step() requires gradients to be enabled for the backward.",
                                fix="call it outside of no_grad(), or call eval()")
        args_spec, kwargs_spec, _ = self._specs
        chunks: list[tuple[Any, Any]] = [((), {}) for _ in range(self._n_microbatches)]
        if args or kwargs:
            chunks = list(zip(*split_args_kwargs_into_chunks(args, kwargs, self._n_microbatches, args_spec, kwargs_spec)))
            self._expect(chunks, "microbatches of arguments")
        targets = [None] * self._n_microbatches
        if target is not None:
            targets = [args[0] for args in split_args_kwargs_into_chunks((target,), {}, self._n_microbatches)[0]]
            self._expect(targets, "microbatches of targets")
        for stage in self._stages.values():
            stage.has_backward = self._has_backward
        return self._run(chunks, targets, losses, return_outputs, loss_kwargs or {})

    def _expect(self, pieces, what):
        """Raise unless there are as many pieces as microbatches, and, where their means are added, all of one size."""
        count = len(pieces)
        if count != self._n_microbatches:
            raise AutogradError("MG-E234", f"Expecting {self._n_microbatches} {what} but got {count}: the batch has too few rows.",
                                fix=f"pass a batch of at least {self._n_microbatches} rows, or lower n_microbatches")
        first, last = shapes_of(pieces[0]), shapes_of(pieces[-1])
        if self._has_backward and self.scale_grads and first != last:
            raise AutogradError("MG-E234", f"The batch does not divide into {count} {what} of one size, so the mean of their "
                                "losses is not that of the batch", found=f"{', '.join(first)} first, and {', '.join(last)} last",
                                fix="leave out the rest (DataLoader(..., drop_last=True)), or choose another n_microbatches; or "
                                    "take a loss that is a sum, and scale_grads=False")

    def _run(self, chunks, targets, losses, return_outputs, loss_kwargs):
        """Run the actions of this rank, one after the other."""
        made, of_losses = {}, {}
        actions = self.actions if self._has_backward else [a for a in self.actions if a is not None and a.computation_type is F]
        self.timeline = []
        for action in _merge_bw(actions):
            received = yield from self._take(action, made)
            start = perf_counter() if self.record else None
            self._act(action, received, chunks, targets, of_losses, loss_kwargs, made)
            if start is not None:
                self.timeline.append(TimedAction(action, start, perf_counter()))
        if self._has_backward and self.scale_grads:
            for stage in self._stages.values():
                stage.scale_grads(self._n_microbatches)
        if not self.holds_last:
            return None
        if losses is not None:
            if len(of_losses) != self._n_microbatches:
                raise AutogradError("MG-E234", f"Expecting {self._n_microbatches} losses but got {len(of_losses)}: there is no "
                                    "loss function, or no target.", fix="pass loss_fn= to the schedule and target= to step()")
            losses[:] = [of_losses[m] for m in sorted(of_losses)]
        outputs = self._stages[self._num_stages - 1].output_chunks
        return merge_chunks([outputs[m] for m in sorted(outputs)], self._specs[2]) if return_outputs else None

    def _act(self, action, received, chunks, targets, of_losses, loss_kwargs, made):
        """Run one action with what it has received, and hand on what it makes."""
        index, kind, m = action
        stage = self._stages[index]
        if kind is W:
            stage.backward_weight_one_chunk(m)
        elif kind is F:
            args, kwargs = chunks[m]
            output = stage.forward_one_chunk(m, args if stage.is_first else received, kwargs)
            if stage.is_last and self._loss_fn is not None and (self._has_backward or targets[m] is not None):
                of_losses[m] = self._loss_fn(output, targets[m], **loss_kwargs)
            elif not stage.is_last:
                self._pass_on(action, index + 1, output if isinstance(output, tuple) else (output,), made)
        else:
            stage.backward_one_chunk(m, of_losses.get(m), received, full_backward=kind is B)
            if not stage.is_first:
                self._pass_on(action, index - 1, stage.get_local_bwd_output(m), made)

    def _take(self, action, made):
        """Return what the neighbour stage has made for `action`, None if it needs nothing. Yield until it is there."""
        neighbours = [group for group in needs(action, self._num_stages) if group[0].stage_index != action.stage_index]
        if not neighbours:
            return None
        key = name_of(neighbours[0][0])
        if neighbours[0][0].stage_index in self._stages:
            return made.pop(key)
        while True:
            arrived, value = self._group.receive(key)
            if arrived:
                return value
            yield action, key

    def _pass_on(self, action, neighbour, value, made):
        """Give a neighbour stage what `action` has made: directly if it is on this rank, else as a message."""
        if neighbour in self._stages:
            made[name_of(action)] = value
        else:
            self._group.send(self._rank_of[neighbour], name_of(action), value)


def name_of(action):
    """Return the name of a message: B and I send the same."""
    return action._replace(computation_type=B) if action.computation_type is I else action


class ScheduleGPipe(_PipelineSchedule):
    """GPipe: all forwards, then all backwards. One stage on each rank.

    Arguments as in PyTorch: ``ScheduleGPipe(stage, n_microbatches, loss_fn=None, ...)``. Source: Huang et al., 2018,
    arXiv:1811.06965. Mirrors ``torch.distributed.pipelining.ScheduleGPipe``.

    >>> from minigrad.distributed.pipelining import PipelineStage, ScheduleGPipe
    >>> schedule = ScheduleGPipe(PipelineStage(mg.nn.Linear(2, 1), 0, 1), 2, loss_fn=mg.nn.MSELoss())
    >>> schedule.step(mg.ones(4, 2), target=mg.zeros(4, 1)).shape
    minigrad.Size([4, 1])
    >>> schedule.actions
    [0F0, 0F1, 0B0, 0B1]
    """

    @staticmethod
    def make_table(ranks, local_stages, microbatches):
        return _tables.gpipe(ranks, microbatches)


class Schedule1F1B(_PipelineSchedule):
    """1F1B: after a warm-up, one backward and one forward in turn. One stage on each rank, at least as many microbatches.

    Source: Narayanan et al., PipeDream, 2019. Mirrors ``torch.distributed.pipelining.Schedule1F1B``.

    >>> from minigrad.distributed.pipelining import PipelineStage, Schedule1F1B, local_groups
    >>> [Schedule1F1B(PipelineStage(mg.nn.ReLU(), rank, 2, group=group), 2).actions for rank, group in enumerate(local_groups(2))]
    [[0F0, 0F1, 0B0, 0B1], [1F0, 1B0, 1F1, 1B1]]
    """

    @staticmethod
    def make_table(ranks, local_stages, microbatches):
        return _tables.one_forward_one_backward(ranks, microbatches)


class ScheduleInterleaved1F1B(_PipelineSchedule):
    """1F1B over several stages on each rank. Rank r of P holds the stages r, r + P, r + 2 P, ...

    Source: Narayanan et al., 2021, arXiv:2104.04473. Mirrors ``torch.distributed.pipelining.ScheduleInterleaved1F1B``.

    >>> from minigrad.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B
    >>> ScheduleInterleaved1F1B([PipelineStage(mg.nn.ReLU(), stage, 2) for stage in (0, 1)], 2).actions
    [0F0, 1F0, 1B0, 0F1, 0B0, 1F1, 1B1, 0B1]
    """

    make_table = staticmethod(_tables.interleaved_1f1b)


class ScheduleLoopedBFS(_PipelineSchedule):
    """Breadth first: all microbatches through a stage, before the rank turns to its next.

    Source: Lamy-Poirier, 2022, arXiv:2211.05953. Mirrors ``torch.distributed.pipelining.ScheduleLoopedBFS``.

    >>> from minigrad.distributed.pipelining import PipelineStage, ScheduleLoopedBFS
    >>> ScheduleLoopedBFS([PipelineStage(mg.nn.ReLU(), stage, 2) for stage in (0, 1)], 2).actions
    [0F0, 0F1, 1F0, 1F1, 1B1, 1B0, 0B1, 0B0]
    """

    make_table = staticmethod(_tables.looped_bfs)


class ScheduleInterleavedZeroBubble(_PipelineSchedule):
    """Interleaved 1F1B with each backward in two halves, ZB1P. Rank r of P holds the stages r, r + P, r + 2 P, ...

    Source: Qi et al., 2023, arXiv:2401.10241. Mirrors ``torch.distributed.pipelining.ScheduleInterleavedZeroBubble``.

    >>> from minigrad.distributed.pipelining import PipelineStage, ScheduleInterleavedZeroBubble
    >>> ScheduleInterleavedZeroBubble([PipelineStage(mg.nn.ReLU(), stage, 2) for stage in (0, 1)], 2).actions
    [0F0, 1F0, 1I0, 1W0, 0F1, 0I0, 0W0, 1F1, 1I1, 1W1, 0I1, 0W1]
    """

    make_table = staticmethod(_tables.interleaved_zero_bubble)


class ScheduleZBVZeroBubble(_PipelineSchedule):
    """ZB-V: rank r of P holds the stages r and 2 P - 1 - r.

    Raises:
        ValueError: another number of stages on this rank.

    Source: Qi et al., 2023, arXiv:2401.10241. Mirrors ``torch.distributed.pipelining.ScheduleZBVZeroBubble``.

    >>> from minigrad.distributed.pipelining import PipelineStage, ScheduleZBVZeroBubble
    >>> ScheduleZBVZeroBubble([PipelineStage(mg.nn.ReLU(), stage, 2) for stage in (0, 1)], 2).actions
    [0F0, 1F0, 1I0, 1W0, 0F1, 0I0, 0W0, 1F1, 1I1, 1W1, 0I1, 0W1]
    """

    @staticmethod
    def make_table(ranks, local_stages, microbatches):
        if local_stages != 2:
            raise TensorValueError("MG-E235", f"ZB-V requires exactly 2 stages per rank, got {local_stages}",
                                   fix="give rank r of P the stages r and 2 P - 1 - r")
        return _tables.zbv_zero_bubble(ranks, microbatches)


SCHEDULES = {cls.__name__.removeprefix("Schedule"): cls for cls in (
    Schedule1F1B, ScheduleInterleaved1F1B, ScheduleGPipe, ScheduleLoopedBFS, ScheduleInterleavedZeroBubble, ScheduleZBVZeroBubble)}


def get_schedule_class(schedule_name):
    """Return the class of a schedule by its name, such as ``"1F1B"``, in upper or lower case.

    Raises:
        ValueError: there is none of that name.

    Mirrors ``torch.distributed.pipelining.schedules.get_schedule_class``.

    >>> from minigrad.distributed.pipelining.schedules import get_schedule_class
    >>> get_schedule_class("gpipe").__name__
    'ScheduleGPipe'
    """
    for name, cls in SCHEDULES.items():
        if name.lower() == str(schedule_name).lower():
            return cls
    raise TensorValueError("MG-E233", f"Unknown schedule name {schedule_name!r}. The valid options are {list(SCHEDULES)}",
                           fix="choose one of them")
