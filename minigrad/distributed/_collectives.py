"""What all ranks of a group do together. Mirrors a part of ``torch/distributed/distributed_c10d.py``.

                  rank 0   rank 1               rank 0   rank 1
    broadcast     a        .          --->      a        a
    all_reduce    a        b          --->      a+b      a+b
    reduce        a        b          --->      a+b      .
    all_gather    a        b          --->      a b      a b
    gather        a        b          --->      a b      .
    scatter       a b      .          --->      a        b
    reduce_       a b      c d        --->      a+c      b+d
      scatter

All write into tensors that the caller has made, as in PyTorch. With ``async_op=True`` they return immediately, with a `Work`
to wait for; until then nobody may use the tensors.

Read before: ``_group.py``.
"""

from typing import Any

import numpy as np

from minigrad.distributed._memory import Place, describe
from minigrad.distributed._operations import ReduceOp, operation
from minigrad.distributed._world import group_of, member
from minigrad.errors import TensorTypeError, TensorValueError

__all__ = ["all_gather", "all_gather_into_tensor", "all_reduce", "barrier", "broadcast", "gather", "reduce",
           "reduce_scatter", "reduce_scatter_tensor", "scatter"]


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Put the tensors of all ranks together, element by element. Each rank gets the result in its `tensor`.

    Args:
        tensor (Tensor): contiguous; of one shape and dtype on all ranks.
        op (str): of `ReduceOp`.
        group (ProcessGroup, optional): the ranks; all if it is not given.
        async_op (bool): return a `Work` immediately.

    Returns:
        Work or None.

    Raises:
        RuntimeError: the ranks disagree, one does not come, or the dtype has no such operation.
        ValueError: the tensor is not contiguous, or there is no group.

    Half floats are added up in float32. Mirrors ``torch.distributed.all_reduce``. In a program of several ranks::

        loss = loss.detach()
        dist.all_reduce(loss, dist.ReduceOp.AVG)

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> x = mg.ones(2)
    >>> mg.distributed.all_reduce(x)
    >>> x
    tensor([1., 1.])
    >>> mg.distributed.destroy_process_group()
    """
    group = member(group, "all_reduce")
    return group and reduce_to(None, tensor, op, group, async_op, "all_reduce")


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Put the tensors of all ranks together; only rank `dst` gets the result. Arguments and errors as for `all_reduce`.

    Args:
        dst, group_dst (int): that rank, by its number in the world or in the group.

    Mirrors ``torch.distributed.reduce``.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> x = mg.ones(2)
    >>> mg.distributed.reduce(x, dst=0, op=mg.distributed.ReduceOp.MAX)
    >>> x
    tensor([1., 1.])
    >>> mg.distributed.destroy_process_group()
    """
    group = member(group, "reduce")
    return group and reduce_to(root_of(group, dst, group_dst), tensor, op, group, async_op, "reduce")


def mean_of(tensor, group, half=False):
    """Start the mean over the ranks, for a bucket of gradients: a `Work`, whose future is the tensor.

    The ranks have compared their parameters before, so they compare nothing here, and none waits for another. `half`: a sum in
    float16 would lose digits, and one in float32 would send twice the bytes; so the numbers travel as they are, and each rank adds.
    """
    group = group_of(group)
    if not half or group.size() == 1:
        return reduce_to(None, tensor, ReduceOp.AVG, group, True, "all_reduce", compare=False)
    place = Place(tensor, "all_reduce")
    parts = np.empty((group.size(), place.array.size), place.array.dtype)

    def finish():
        place.array[:] = parts.mean(0, dtype=np.float32)
        place.written()
    request = group.communicator.Iallgather(place.bytes, parts.reshape(-1).view(np.uint8))
    return group.start(f"all_reduce AVG {describe(tensor)}", [request], finish, True, tensor)


def reduce_to(root, tensor, op, group, async_op, name, compare=True):
    """Do the work of `reduce`, and with root None that of `all_reduce`."""
    place = Place(tensor, name, wide=True)
    what = f"{name} {op} {describe(tensor)}" + ("" if root is None else f" to {root}")
    if group.size() == 1:
        return group.start(what, [], None, async_op, tensor)
    mpi = operation(op, tensor, name)
    if compare:
        group.agree(what)
    from mpi4py import MPI
    if root is None:
        request = group.communicator.Iallreduce(MPI.IN_PLACE, place.array, mpi)
    elif root == group.rank():
        request = group.communicator.Ireduce(MPI.IN_PLACE, place.array, mpi, root)
    else:
        request = group.communicator.Ireduce(place.array, None, mpi, root)

    finish = (lambda: write_result(place, op, group)) if root in (None, group.rank()) else None
    return group.start(what, [request], finish, async_op, tensor)


def write_result(place, op, group):
    """Finish a reduction that MPI has left in a place: a mean is a sum that is divided now."""
    if op == "AVG":
        np.divide(place.array, group.size(), out=place.array)
    place.written()


def root_of(group, rank, group_rank):
    """Return the number in the group of the rank that gives or gets. The rank 0 of the world if none is named."""
    if rank is not None and group_rank is not None:
        raise TensorValueError("MG-E612", "Cannot specify both the rank in the world and the rank in the group",
                               fix="broadcast(x, src=1), or broadcast(x, group_src=1)")
    return group.number_of(rank or 0) if group_rank is None else group_rank


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Give the tensor of rank `src` to all ranks. Arguments and errors as for `all_reduce`.

    Mirrors ``torch.distributed.broadcast``. So all ranks start from the same parameters::

        for parameter in model.parameters():
            dist.broadcast(parameter.data, src=0)

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> x = mg.ones(2)
    >>> mg.distributed.broadcast(x, src=0)
    >>> x
    tensor([1., 1.])
    >>> mg.distributed.destroy_process_group()
    """
    group = member(group, "broadcast")
    if group is None:
        return None
    root, place = root_of(group, src, group_src), Place(tensor, "broadcast")
    what = f"broadcast {describe(tensor)} from {root}"
    if group.size() == 1:
        return group.start(what, [], None, async_op)
    group.agree(what)
    request = group.communicator.Ibcast(place.bytes, root)
    return group.start(what, [request], None if root == group.rank() else place.written, async_op)


def lists_match(tensors, tensor, count, what):
    """Check that there is a tensor for each rank, all like `tensor`.

    Raises:
        TypeError: it is no list.
        ValueError: another number of them, or another shape or dtype.
    """
    if not isinstance(tensors, (list, tuple)):
        raise TensorTypeError("MG-E611", f"{what} takes a list of tensors, got {type(tensors).__name__}", fix="one for each rank")
    if len(tensors) != count or any([describe(t) != describe(tensor) for t in tensors]):
        raise TensorValueError("MG-E611", f"{what}: the list has one tensor for each rank, all like the other argument",
                               expected=f"{count} of {describe(tensor)}", found=", ".join(map(describe, tensors)) or "none",
                               fix="[mg.empty_like(x) for _ in range(dist.get_world_size())]")


def whole(tensors, what):
    """Return the places of some tensors, and an array as large as all together."""
    places = [Place(tensor, what) for tensor in tensors]
    return places, np.empty(sum([place.bytes.size for place in places]), np.uint8)


def spread(array, places):
    """Write an array into places, one after the other."""
    begin = 0
    for place in places:
        end = begin + place.bytes.size
        place.bytes[:] = array[begin:end]
        place.written()
        begin = end


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Give each rank the tensors of all, in a list in the order of the ranks. Errors as for `all_reduce`.

    Args:
        tensor_list (list of Tensor): as many as ranks; written.
        tensor (Tensor): this rank's.

    Mirrors ``torch.distributed.all_gather``.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> found = [mg.empty(2) for _ in range(mg.distributed.get_world_size())]
    >>> mg.distributed.all_gather(found, mg.ones(2))
    >>> found
    [tensor([1., 1.])]
    >>> mg.distributed.destroy_process_group()
    """
    group = member(group, "all_gather")
    if group is None:
        return None
    lists_match(tensor_list, tensor, group.size(), "all_gather")
    place, what = Place(tensor, "all_gather"), f"all_gather {describe(tensor)}"
    places, array = whole(tensor_list, "all_gather")
    if group.size() == 1:
        array[:] = place.bytes
        return group.start(what, [], lambda: spread(array, places), async_op)
    group.agree(what)
    return group.start(what, [group.communicator.Iallgather(place.bytes, array)], lambda: spread(array, places), async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Give each rank the tensors of all in one tensor, joined along the first axis or stacked. Errors as for `all_reduce`.

    Mirrors ``torch.distributed.all_gather_into_tensor``.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> found = mg.empty(2 * mg.distributed.get_world_size())
    >>> mg.distributed.all_gather_into_tensor(found, mg.ones(2))
    >>> found
    tensor([1., 1.])
    >>> mg.distributed.destroy_process_group()
    """
    group = member(group, "all_gather_into_tensor")
    if group is None:
        return None
    parts = same_size(output_tensor, input_tensor, group, "all_gather_into_tensor")
    return all_gather(parts, input_tensor, group, async_op)


def same_size(large, small, group, what):
    """Return the parts of the tensor `large`, one for each rank, with the shape of `small`.

    Raises:
        ValueError: it has not as many elements as all of them.
    """
    if large.dtype != small.dtype or large.numel() != small.numel() * group.size():
        raise TensorValueError("MG-E611", f"{what}: one tensor has the elements of all {group.size()} ranks, the other of one",
                               found=f"{describe(large)} and {describe(small)}")
    Place(large, what)      # it must be contiguous, for the parts to be views
    return [part.reshape(small.shape) for part in large.detach().reshape(group.size(), -1)]


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Give rank `dst` the tensors of all ranks, in `gather_list`; the others give none. Errors as for `all_reduce`.

    Mirrors ``torch.distributed.gather``.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> found = [mg.empty(2)] if mg.distributed.get_rank() == 0 else None
    >>> mg.distributed.gather(mg.ones(2), found)
    >>> found
    [tensor([1., 1.])]
    >>> mg.distributed.destroy_process_group()
    """
    group = member(group, "gather")
    if group is None:
        return None
    root, place = root_of(group, dst, group_dst), Place(tensor, "gather")
    places: list[Place] = []
    array: Any = None
    if root == group.rank():
        lists_match(gather_list, tensor, group.size(), "gather")
        places, array = whole(gather_list, "gather")
    what = f"gather {describe(tensor)} to {root}"
    if group.size() == 1:
        array[:] = place.bytes
        return group.start(what, [], lambda: spread(array, places), async_op)
    group.agree(what)
    return group.start(what, [group.communicator.Igather(place.bytes, array, root)], lambda: spread(array, places), async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Give each rank its tensor of the list that rank `src` has; the others give none. Errors as for `all_reduce`.

    Mirrors ``torch.distributed.scatter``.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> x = mg.empty(2)
    >>> mg.distributed.scatter(x, [mg.ones(2)])
    >>> x
    tensor([1., 1.])
    >>> mg.distributed.destroy_process_group()
    """
    group = member(group, "scatter")
    if group is None:
        return None
    root, place = root_of(group, src, group_src), Place(tensor, "scatter")
    array: Any = None
    if root == group.rank():
        lists_match(scatter_list, tensor, group.size(), "scatter")
        array = np.concatenate([Place(part, "scatter").bytes for part in scatter_list or ()])
    what = f"scatter {describe(tensor)} from {root}"
    if group.size() == 1:
        place.bytes[:] = array
        return group.start(what, [], place.written, async_op)
    group.agree(what)
    return group.start(what, [group.communicator.Iscatter(array, place.bytes, root)], place.written, async_op)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Put the lists of all ranks together, element by element; rank r gets tensor r of the result. Errors as for `all_reduce`.

    Mirrors ``torch.distributed.reduce_scatter``.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> x = mg.empty(2)
    >>> mg.distributed.reduce_scatter(x, [mg.ones(2)])
    >>> x
    tensor([1., 1.])
    >>> mg.distributed.destroy_process_group()
    """
    group = member(group, "reduce_scatter")
    if group is None:
        return None
    lists_match(input_list, output, group.size(), "reduce_scatter")
    place = Place(output, "reduce_scatter", wide=True)
    array = np.concatenate([Place(part, "reduce_scatter", wide=True).array for part in input_list])
    what = f"reduce_scatter {op} {describe(output)}"
    if group.size() == 1:
        place.array[:] = array
        return group.start(what, [], place.written, async_op)
    mpi = operation(op, output, "reduce_scatter")
    group.agree(what)
    request = group.communicator.Ireduce_scatter_block(array, place.array, mpi)
    return group.start(what, [request], lambda: write_result(place, op, group), async_op)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """As `reduce_scatter`, with the list as one tensor. Mirrors ``torch.distributed.reduce_scatter_tensor``.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> x = mg.empty(2)
    >>> mg.distributed.reduce_scatter_tensor(x, mg.ones(2))
    >>> x
    tensor([1., 1.])
    >>> mg.distributed.destroy_process_group()
    """
    group = member(group, "reduce_scatter_tensor")
    if group is None:
        return None
    return reduce_scatter(output, same_size(input, output, group, "reduce_scatter_tensor"), op, group, async_op)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Wait until all ranks of the group are here. Mirrors ``torch.distributed.barrier``.

    Raises:
        RuntimeError: a rank does not come.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> mg.distributed.barrier()
    >>> mg.distributed.destroy_process_group()
    """
    group = member(group, "barrier")
    if group is None:
        return None
    before, group.seconds = group.seconds, group.seconds if timeout is None else timeout.total_seconds()
    try:
        group.agree("barrier")
    finally:
        group.seconds = before
    return group.start("barrier", [], None, async_op)


