"""Ranks, groups and collectives, on MPI. Mirrors ``torch/distributed/distributed_c10d.py``.

    mpiexec -n 4 python train.py

    import minigrad.distributed as dist
    dist.init_process_group()
    dist.all_reduce(x)              # x is now the sum over the ranks, on each of them

    _launch.py        from mpiexec to ranks
    _world.py         the groups of ranks
    _group.py         a group: what its ranks tell each other before a collective, sending and receiving
    _collectives.py   what all ranks of a group do together
    _messages.py      from one rank to another, and Python objects
    _operations.py    sums, means and the like
    _memory.py        the memory of a tensor, for MPI
    _work.py          waiting

MPI moves the numbers. Nothing of transport, launch or meeting is ours.
"""

from minigrad.distributed._collectives import (
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    barrier,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
)
from minigrad.distributed._errors import DistBackendError, DistError
from minigrad.distributed._group import ProcessGroup
from minigrad.distributed._messages import (
    P2POp,
    all_gather_object,
    batch_isend_irecv,
    broadcast_object_list,
    irecv,
    isend,
    recv,
    send,
)
from minigrad.distributed._operations import ReduceOp
from minigrad.distributed._work import Work
from minigrad.distributed._world import (
    GroupMember,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_available,
    is_initialized,
    new_group,
)

__all__ = [
    "DistBackendError", "DistError", "GroupMember", "P2POp", "ProcessGroup", "ReduceOp", "Work", "all_gather",
    "all_gather_into_tensor", "all_gather_object", "all_reduce", "barrier", "batch_isend_irecv", "broadcast",
    "broadcast_object_list", "destroy_process_group", "gather", "get_backend", "get_global_rank", "get_group_rank",
    "get_process_group_ranks", "get_rank", "get_world_size", "init_process_group", "irecv", "is_available",
    "is_initialized", "isend", "new_group", "recv", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "send",
]
