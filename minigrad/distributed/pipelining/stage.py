"""One stage of a pipeline: a part of the model, with what it keeps of each microbatch between forward and backward.

    F   input  --detach, requires_grad-->  [ submodule ]  -->  output           kept: (outputs, inputs), by microbatch
    B   dY  -->  stage_backward         -->  dX for the stage before, dW in .grad
    I   dY  -->  stage_backward_input   -->  dX for the stage before            kept: the groups of parameters
    W        -->  stage_backward_weight  -->  dW in .grad

A stage knows nothing of schedules, ranks or messages; ``schedules.py`` calls its methods and carries what they return. Inputs are
detached, so that the graph of each stage ends there: a pipeline has one small graph per stage and microbatch, and no large one.

The first stage has nothing to pass on, so its I computes nothing and its W runs the whole backward.

Mirrors ``torch/distributed/pipelining/stage.py``. Read before: ``_backward.py``. Read next: ``schedules.py``.
"""

from typing import Any

from minigrad.distributed._memory import describe
from minigrad.distributed.distributed_c10d import GroupMember, ProcessGroup
from minigrad.distributed.pipelining._backward import stage_backward, stage_backward_input, stage_backward_weight
from minigrad.distributed.pipelining._debug import describe_value
from minigrad.distributed.pipelining._ranks import rank_group
from minigrad.errors import AutogradAssertionError, AutogradError, TensorTypeError, TensorValueError
from minigrad.nn import Module
from minigrad.tensor import Tensor
from minigrad.utils._pytree import tree_leaves

__all__ = ["PipelineStage"]


class PipelineStage:
    """A part of a model that runs forwards and backwards of microbatches.

    Args:
        submodule (nn.Module): the part.
        stage_index (int): which stage it is, from 0.
        num_stages (int): how many stages the model has.
        device (str or device, optional): where it computes; the parameters are already there.
        group (ProcessGroup, optional): the ranks that hold the stages; or one of `local_groups`, for ranks in one process.
            Without a group, all ranks of `init_process_group`, or this process alone.

    Raises:
        TypeError: `submodule` is no module.
        ValueError: there is no such stage.

    A parameter belongs to one stage. If two stages of one process share one, the schedule raises an error. On two ranks, tied
    weights are two parameters, and nothing shows that they were one. Add their gradients after each step, in a group of both::

        ends = dist.new_group([0, 3])           # on all ranks
        schedule.step(x, target=y)
        if dist.get_rank() in (0, 3):
            dist.all_reduce(embedding.weight.grad, group=ends)

    Mirrors ``torch.distributed.pipelining.PipelineStage``. Ours takes no example inputs or outputs: a message carries its shape.

    >>> from minigrad.distributed.pipelining import PipelineStage
    >>> stage = PipelineStage(mg.nn.Linear(2, 1), 0, 1)
    >>> y = stage.forward_one_chunk(0, (mg.ones(4, 2),))
    >>> stage.backward_one_chunk(0, loss=y.sum())
    >>> stage.submod.weight.grad
    tensor([[4., 4.]])
    """

    def __init__(self, submodule, stage_index, num_stages, device=None, group=None):
        if not isinstance(submodule, Module):
            raise TensorTypeError("MG-E235", f"a stage is made of an nn.Module, got {type(submodule).__name__}",
                                  fix="wrap a function in a module whose forward calls it")
        if not isinstance(stage_index, int) or not isinstance(num_stages, int) or not 0 <= stage_index < num_stages:
            raise TensorValueError("MG-E235", f"stage_index {stage_index!r} is out of range for {num_stages!r} stages",
                                   fix="number the stages from 0 to num_stages - 1")
        self.submod = submodule
        self.stage_index = stage_index
        self.num_stages = num_stages
        self.device = device
        self.group = group_of_stage(group)
        self.is_first = stage_index == 0
        self.is_last = stage_index == num_stages - 1
        self.has_backward = True
        self.output_chunks = {}         # microbatch: the last stage's output, for the user
        self._forwards = {}             # microbatch: (outputs, input values)
        self._input_grads = {}          # microbatch: for the stage before
        self._split = {}                # microbatch: what W needs
        self._shapes: Any = None        # of the arguments and outputs of the last forward

    def __repr__(self):
        return f"PipelineStage({self.stage_index} of {self.num_stages}, {type(self.submod).__name__})"

    def forward_one_chunk(self, fwd_chunk_id, args, kwargs=None):
        """Run the forward of one microbatch.

        Args:
            fwd_chunk_id (int): the microbatch.
            args (tuple): in the first stage, its arguments; in another, the outputs of the stage before.
            kwargs (dict, optional): its keyword arguments, those of the whole pipeline.

        Returns:
            The output of the module.

        Raises:
            RuntimeError: the module failed. The message has the shapes of its arguments, and ``__cause__`` is the first error. Or
                it returned other shapes or dtypes than for the microbatch before, whose arguments had the same shapes.
            AssertionError: the microbatch has already run, and its backward has not.

        Mirrors ``PipelineStage.forward_one_chunk`` of ``torch/distributed/pipelining/stage.py``.
        """
        kwargs = {} if kwargs is None else kwargs
        if fwd_chunk_id in self._forwards:
            raise self._out_of_turn(f"the forward of microbatch {fwd_chunk_id} ran before", "run its backward first")
        if not self.is_first:
            args = tuple([fresh_leaf(value, self.has_backward) for value in args])
        try:
            output = self.submod(*args, **kwargs)
        except Exception as error:
            shown = describe_value(args) + (f", {describe_value(kwargs)}" if kwargs else "")
            raise AutogradError("MG-E235", f"Stage {self.stage_index} failed to run forward of microbatch {fwd_chunk_id}: "
                                f"args {shown}", fix="see the error that caused this one, above") from error
        self._check_shapes(fwd_chunk_id, (args, kwargs), output)
        outputs = output if isinstance(output, tuple) else (output,)
        if self.is_last:
            self.output_chunks[fwd_chunk_id] = output
        if self.has_backward:
            self._forwards[fwd_chunk_id] = outputs, (tuple(args), tuple(tree_leaves(kwargs)))
        return output

    def _check_shapes(self, microbatch, arguments, output):
        """Compare the shapes of the outputs with those of the last forward whose arguments had the same shapes."""
        key, found = (self.submod.training, describe_value(arguments)), shapes_of(output)
        before, self._shapes = self._shapes, (key, found)
        if before is not None and before[0] == key and before[1] != found:
            raise AutogradError("MG-E235", f"Stage {self.stage_index}: the outputs of microbatch {microbatch} have other shapes "
                                "than those of the microbatch before, whose arguments had the same shapes",
                                expected=", ".join(before[1]), found=", ".join(found),
                                fix="return as many tensors, of the same shapes, for each microbatch: pad what is shorter")

    def backward_one_chunk(self, bwd_chunk_id, loss=None, output_grads=None, full_backward=True):
        """Run the backward of one microbatch: a B, or an I.

        Args:
            bwd_chunk_id (int): the microbatch.
            loss (Tensor, optional): its loss. The last stage needs it.
            output_grads (tuple, optional): the gradients of the outputs, from the stage behind. The other stages need them.
            full_backward (bool): B. If False, I: `backward_weight_one_chunk` computes the gradients of the parameters later.

        Raises:
            AssertionError: the forward of this microbatch has not run, or its backward has.
            RuntimeError: the backward failed.

        Mirrors ``PipelineStage.backward_one_chunk`` of ``torch/distributed/pipelining/stage.py``.
        """
        if not self.has_backward:
            return
        if bwd_chunk_id not in self._forwards:
            raise self._out_of_turn(f"backward of microbatch {bwd_chunk_id} without first running its forward, or a second time",
                                    "run each microbatch forward, then backward, once")
        outputs, (args, others) = self._forwards.pop(bwd_chunk_id)
        roots, grads = ([loss], [None]) if self.is_last else with_gradients(outputs, output_grads)
        inputs = [*args, *others]
        if full_backward:
            found = stage_backward(roots, grads, inputs)
        elif self.is_first:
            self._split[bwd_chunk_id] = roots, grads, inputs
            found = (None,) * len(inputs)
        else:
            found, groups = stage_backward_input(roots, None if self.is_last else grads, inputs, self.submod.parameters())
            for value in inputs:
                if isinstance(value, Tensor):
                    value.grad = None
            self._split[bwd_chunk_id] = groups
        if not self.is_first:
            self._input_grads[bwd_chunk_id] = found[:len(args)]
        if self.is_last and not self.is_first:
            for value in outputs:           # only the user wants them now; the graph can go
                if isinstance(value, Tensor) and value.grad_fn is not None and value._base is None:
                    value.detach_()

    def backward_weight_one_chunk(self, bwd_chunk_id):
        """Accumulate the gradients of the parameters that an I has left: a W.

        Raises:
            AssertionError: the I of this microbatch has not run, or its W has.

        Mirrors ``PipelineStage.backward_weight_one_chunk`` of ``torch/distributed/pipelining/stage.py``.
        """
        if not self.has_backward:
            return
        if bwd_chunk_id not in self._split:
            raise self._out_of_turn(f"backward_weight_one_chunk for microbatch {bwd_chunk_id} without first calling "
                                    "backward_one_chunk(full_backward=False)", "run I, then W, once for each microbatch")
        kept = self._split.pop(bwd_chunk_id)
        if self.is_first:
            stage_backward(*kept)
        else:
            stage_backward_weight(self.submod.parameters(), kept)

    def get_local_bwd_output(self, mb_index):
        """Return the gradients of the stage's inputs for one microbatch, once. They belong to the stage before.

        Raises:
            AssertionError: its backward has not run, or they have been taken.
        """
        if mb_index not in self._input_grads:
            raise self._out_of_turn(f"no input gradients of microbatch {mb_index}", "run its backward first")
        return self._input_grads.pop(mb_index)

    def scale_grads(self, grad_scale_factor):
        """Divide the gradients of all parameters by a number, in place: by that of the microbatches, if the loss is a mean.

        Mirrors ``PipelineStage.scale_grads`` of ``torch/distributed/pipelining/stage.py``.
        """
        if grad_scale_factor != 1:
            for parameter in self.submod.parameters():
                if parameter.grad is not None:
                    parameter.grad.div_(grad_scale_factor)

    def clear_runtime_states(self):
        """Forget all microbatches: after a step, or after one that failed.

        Mirrors ``PipelineStage.clear_runtime_states`` of ``torch/distributed/pipelining/stage.py``.
        """
        for kept in (self.output_chunks, self._forwards, self._input_grads, self._split):
            kept.clear()

    def _out_of_turn(self, what, fix):
        return AutogradAssertionError("MG-E235", f"Stage {self.stage_index}: {what}", fix=fix)


def group_of_stage(group):
    """Return what carries the messages of a stage: for a process group, a `RankGroup`."""
    group = GroupMember.WORLD if group is None else group
    return rank_group(group) if isinstance(group, ProcessGroup) else group


def check_shared(stages):
    """Raise unless each parameter and buffer belongs to one of the stages.

    Raises:
        ValueError: two stages share one.
    """
    owners = {}
    for stage in stages:
        for name, value in [*stage.submod.named_parameters(), *stage.submod.named_buffers()]:
            other, other_name = owners.setdefault(id(value), (stage, name))
            if other is not stage:
                raise TensorValueError(
                    "MG-E235", f"stages {other.stage_index} and {stage.stage_index} share one tensor: weights tied across stages",
                    found=f"{other_name!r} of stage {other.stage_index} is {name!r} of stage {stage.stage_index}",
                    fix="put both uses into one stage; or give each stage a copy (copy.deepcopy), and after each step add the two "
                        "gradients: dist.all_reduce(weight.grad, group=group_of_both_ranks)")


def shapes_of(values):
    """Return the dtypes and shapes of all tensors in nested values, as texts."""
    return [describe(value) for value in tree_leaves(values) if isinstance(value, Tensor)]


def with_gradients(outputs, output_grads):
    """Return the outputs that got a gradient, and the gradients. The stage behind may not use all of them."""
    found = [(y, g) for y, g in zip(outputs, output_grads) if g is not None]
    return [y for y, _ in found], [g for _, g in found]


def fresh_leaf(value, requires_grad):
    """Return a tensor as a leaf, so that the graph of a stage begins with its inputs; other values as they are."""
    if not isinstance(value, Tensor):
        return value
    leaf = value.detach()
    return leaf.requires_grad_() if requires_grad and leaf.is_floating_point() else leaf
