"""Writing a checkpoint. Mirrors ``torch/distributed/checkpoint/state_dict_saver.py``.

    save({"model": model, "optimizer": optimizer}, checkpoint_id="step3")

    all ranks   compare the names, dtypes and shapes of what they would save
    rank 0      step3/.state.pt.1f0a  --flush, fsync, rename-->  step3/state.pt
    all ranks   learn whether it worked

The name appears when the file is complete, so a rank that is killed while it writes leaves the checkpoint before it as it was.

Read next: ``state_dict_loader.py``.
"""

import os
from typing import Any

from minigrad import serialization
from minigrad.distributed import distributed_c10d as dist
from minigrad.distributed._errors import DistError
from minigrad.distributed._memory import describe
from minigrad.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer
from minigrad.errors import AutogradError, TensorTypeError
from minigrad.optim.optimizer import UnsupportedOption
from minigrad.tensor import Tensor

__all__ = ["FILE", "file_of", "save"]

FILE = "state.pt"       # in the folder of a checkpoint; `minigrad.load` and ``torch.load`` read it too


def save(state_dict, *, checkpoint_id=None, storage_writer=None, planner=None, process_group=None, no_dist=False):
    """Write a checkpoint, whole or not at all. All ranks call it; rank 0 writes.

    Args:
        state_dict (dict): names and values: tensors, numbers, strings, dicts and lists of them; and whatever has a method
            ``state_dict()``, such as a module, an optimizer or a `ZeroRedundancyOptimizer`, whose state comes from all ranks.
        checkpoint_id (str or path): a folder. It is made, and a checkpoint that is there is replaced.
        storage_writer, planner: None; minigrad writes files only.
        process_group (ProcessGroup, optional): the ranks; all if it is not given. Without `init_process_group`, this process alone.
        no_dist (bool): each rank that calls it writes, without the others, into a folder of its own.

    Raises:
        RuntimeError: the ranks have different names, dtypes or shapes; or rank 0 could not write, on the other ranks.
        OSError: the file cannot be written, on rank 0. So it is with other errors of `minigrad.save`.
        TypeError: `state_dict` is no dict, or `checkpoint_id` is no path.
        NotImplementedError: an argument that is not supported.

    Mirrors ``torch.distributed.checkpoint.save``, which writes a file for each rank.

    >>> import tempfile
    >>> from minigrad.distributed import checkpoint
    >>> folder, model = tempfile.mkdtemp(), nn.Linear(2, 1)
    >>> checkpoint.save({"model": model, "epoch": 3}, checkpoint_id=folder)
    >>> state = {"model": nn.Linear(2, 1), "epoch": 0}
    >>> checkpoint.load(state, checkpoint_id=folder)
    >>> mg.equal(state["model"].weight, model.weight), state["epoch"]
    (True, 3)
    """
    for name, value in (("storage_writer", storage_writer), ("planner", planner)):
        if value is not None:
            raise UnsupportedOption("MG-E403", f"checkpoint.save() does not support {name}", fix="checkpoint_id=, a folder")
    path = file_of(state_dict, checkpoint_id, "save")
    alone = no_dist or not dist.is_initialized()
    writes = alone or dist.get_rank(process_group) == 0
    values = {name: value_of(value, writes, alone) for name, value in state_dict.items()}
    if not alone:
        spread = [name for name, value in state_dict.items() if isinstance(value, ZeroRedundancyOptimizer)]
        compare([line for name, value in values.items() for line in lines_of(value if name not in spread else None, name)],
                process_group)
    problem: Any = None
    if writes:
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            serialization.save(values, path)
        except Exception as error:      # the other ranks wait for the news
            problem = error
    if not alone:
        news = [problem and f"{type(problem).__name__}: {problem}"]
        dist.broadcast_object_list(news, group=process_group, group_src=0)
        if news[0] and not writes:
            raise DistError("MG-E403", f"rank 0 could not write {path}", cause=news[0], fix="see the error of rank 0")
    if problem is not None:
        raise problem


def file_of(state_dict, checkpoint_id, function):
    """Check the arguments of `save` and `load`, and return the name of the file."""
    if not isinstance(state_dict, dict):
        raise TensorTypeError("MG-E403", f"checkpoint.{function}() takes a dict, got {type(state_dict).__name__}",
                              fix='{"model": model, "optimizer": optimizer}')
    try:
        return os.path.join(os.fsdecode(checkpoint_id), FILE)
    except TypeError:
        raise TensorTypeError("MG-E403", f"checkpoint.{function}(): argument 'checkpoint_id' must be the name of a folder, not "
                              f"{type(checkpoint_id).__name__}", fix='checkpoint_id="checkpoints/step3"') from None


def value_of(value, writes, alone):
    """Return the state of a value, if it has any. That of a `ZeroRedundancyOptimizer` is None on the ranks that do not write."""
    if isinstance(value, ZeroRedundancyOptimizer) and not alone:
        value.consolidate_state_dict(to=0)
        return value.state_dict() if writes else None
    return value.state_dict() if hasattr(value, "state_dict") else value


def lines_of(value, name):
    """Return what the ranks compare: a line for each tensor, and one for each other value."""
    if isinstance(value, dict):
        return [line for key, part in value.items() for line in lines_of(part, f"{name}.{key}")]
    if isinstance(value, (list, tuple)):
        return [line for i, part in enumerate(value) for line in lines_of(part, f"{name}.{i}")]
    return [f"{name} {describe(value)}" if isinstance(value, Tensor) else name]


def compare(lines, group):
    """Compare what this rank would save with what the others would.

    Raises:
        RuntimeError: they differ. All ranks get the error.
    """
    theirs: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(theirs, lines, group=group)
    for rank, other in enumerate(theirs):
        if other != theirs[0]:
            odd = sorted(set(other) ^ set(theirs[0])) or ["another order"]
            raise AutogradError("MG-E613", f"the ranks save one checkpoint, and rank {rank} has other values than rank 0",
                                found="; ".join(odd[:6]), cause="stages of a pipeline, or models that differ",
                                fix='a folder for each: save(..., checkpoint_id=f"step3/rank{dist.get_rank()}", no_dist=True)')
