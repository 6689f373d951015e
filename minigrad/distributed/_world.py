"""The process groups: all ranks, and parts of them. Mirrors a part of ``torch/distributed/distributed_c10d.py``.

Read before: ``_launch.py``. Read next: ``_group.py``, ``_collectives.py``.
"""

import datetime
import os

from minigrad._build.config import available_cpus, get_num_threads, set_num_threads
from minigrad.distributed import _launch
from minigrad.distributed._errors import DistBackendError, NoGroupError
from minigrad.distributed._group import ProcessGroup, outside
from minigrad.distributed._memory import say_once
from minigrad.errors import TensorTypeError, TensorValueError

__all__ = [
    "GroupMember", "destroy_process_group", "get_backend", "get_global_rank", "get_group_rank", "get_process_group_ranks",
    "get_rank", "get_world_size", "group_of", "init_process_group", "is_available", "is_initialized", "member",
    "new_group",
]

DEFAULT_TIMEOUT = datetime.timedelta(minutes=30)


class GroupMember:
    """The group of all ranks, and what a rank outside a new group gets instead. Mirrors ``torch.distributed.GroupMember``.

    >>> mg.distributed.GroupMember.WORLD is None
    True
    """

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = object()


def is_available():
    """True: a program can run as several ranks. Mirrors ``torch.distributed.is_available``.

    >>> mg.distributed.is_available()
    True
    """
    return True


def is_initialized():
    """Whether `init_process_group` has been called. Mirrors ``torch.distributed.is_initialized``.

    >>> mg.distributed.is_initialized()
    False
    """
    return GroupMember.WORLD is not None


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="",
                       pg_options=None, device_id=None):
    """Connect this process with the others that mpiexec has started. Call it once, before all else.

    Args:
        backend (str, optional): "mpi", or None. Another name gives a warning: MPI serves there too.
        init_method, store: of no use here, since mpiexec has connected the processes.
        timeout (timedelta, optional): how long a rank waits for another. 30 minutes if it is not given.
        world_size, rank (int, optional): if given, they must be those that mpiexec has set.
        group_name, pg_options, device_id: of no use here.

    A program that was not started by mpiexec runs as one rank, and a warning says so. From here on, an error that ends one
    rank ends all of them. Of several ranks each computes with one thread, as with torchrun, unless OMP_NUM_THREADS or
    `mg.set_num_threads` says otherwise.

    Raises:
        RuntimeError: it was called before; the number of ranks is another; or MPI is not there.
        ModuleNotFoundError: mpi4py is not installed.

    Mirrors ``torch.distributed.init_process_group``.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> mg.distributed.get_rank(), mg.distributed.get_world_size()
    (0, 1)
    >>> mg.distributed.destroy_process_group()
    """
    if is_initialized():
        raise NoGroupError("MG-E612", "trying to initialize the default process group twice!", fix="call it once, at the start")
    if backend not in (None, "mpi"):
        say_once(f"minigrad.distributed communicates by MPI, instead of by {backend!r}")
    communicator = _launch.world()
    size, own = (1, 0) if communicator is None else (communicator.size, communicator.rank)
    if world_size not in (-1, size) or rank not in (-1, own):
        raise DistBackendError("MG-E610", f"this is rank {own} of {size}, and the program asks to be rank {rank} of {world_size}",
                               fix=f"mpiexec -n {max(world_size, 1)} python train.py, and leave out rank= and world_size=")
    if communicator is not None and size > 1:
        _launch.abort_on_errors(communicator)
        if "OMP_NUM_THREADS" not in os.environ and get_num_threads() == available_cpus():     # that would make all ranks slow
            set_num_threads(1)
    seconds = (DEFAULT_TIMEOUT if timeout is None else timeout).total_seconds()
    GroupMember.WORLD = ProcessGroup(communicator, list(range(size)), seconds)


def destroy_process_group(group=None):
    """End a group, or all of them. All its ranks call it. Mirrors ``torch.distributed.destroy_process_group``.

    Raises:
        ValueError: there is none.

    >>> mg.distributed.destroy_process_group()
    Traceback (most recent call last):
    ValueError: Default process group has not been initialized, please make sure to call init_process_group.
    ...
    """
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    ended = group_of(group)
    if ended is GroupMember.WORLD:
        GroupMember.WORLD = None
    ended.free()


def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None,
              device_id=None, sort_ranks=True):
    """Make a group of some ranks. All ranks of the world call it, also those outside.

    Args:
        ranks (list of int, optional): ranks of the world; all if it is not given. They are sorted unless `sort_ranks` is False.
        timeout (timedelta, optional): how long a rank waits for another; as in the world if it is not given.
        backend, pg_options, use_local_synchronization, group_desc, device_id: of no use here.

    Returns:
        ProcessGroup; ``GroupMember.NON_GROUP_MEMBER`` on a rank outside.

    Raises:
        ValueError: there is no such rank, or one is given twice.
        RuntimeError: the ranks call it with different lists.

    Mirrors ``torch.distributed.new_group``.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> some = mg.distributed.new_group([0])
    >>> mg.distributed.get_world_size(some)
    1
    >>> mg.distributed.destroy_process_group()
    """
    world = group_of(None)
    ranks = list(world.ranks) if ranks is None else [world.number_of(rank) for rank in ranks]
    if len(set(ranks)) != len(ranks) or not ranks:
        raise TensorValueError("MG-E612", f"the ranks of a group are different ranks, got {ranks}", fix="name each rank once")
    ranks = sorted(ranks) if sort_ranks else ranks
    world.agree(f"new_group {ranks}")
    if world.rank() not in ranks:
        return GroupMember.NON_GROUP_MEMBER
    communicator = None
    if world.communicator is not None:
        communicator = world.communicator.Create_group(world.communicator.Get_group().Incl(ranks))
    seconds = world.seconds if timeout is None else timeout.total_seconds()
    return ProcessGroup(communicator, ranks, seconds, name=f"group of {ranks}")


def group_of(group):
    """Return the group that an argument ``group=`` means: the world for None.

    Raises:
        ValueError: there is no world yet.
        TypeError: it is no group.
    """
    if GroupMember.WORLD is None:
        raise NoGroupError("MG-E612", "Default process group has not been initialized, please make sure to call "
                           "init_process_group.", fix="minigrad.distributed.init_process_group(), at the start of the program")
    if group is None:
        return GroupMember.WORLD
    if not isinstance(group, ProcessGroup):
        raise TensorTypeError("MG-E612", f"group= takes a group of init_process_group or new_group, got {type(group).__name__}")
    return group


def member(group, what):
    """Return the group, or None on a rank outside, which has nothing to do in the collective `what`."""
    if group is GroupMember.NON_GROUP_MEMBER:
        return outside(what)
    return group_of(group)


def get_rank(group=None):
    """Return the number of this process in a group, from 0; -1 outside. Mirrors ``torch.distributed.get_rank``.

    Raises:
        ValueError: there is no group yet.

    >>> mg.distributed.get_rank()
    Traceback (most recent call last):
    ValueError: Default process group has not been initialized, please make sure to call init_process_group.
    ...
    """
    return -1 if group is GroupMember.NON_GROUP_MEMBER else group_of(group).rank()


def get_world_size(group=None):
    """Return the number of ranks of a group; -1 outside. Mirrors ``torch.distributed.get_world_size``.

    Raises:
        ValueError: there is no group yet.

    >>> mg.distributed.get_world_size(mg.distributed.GroupMember.NON_GROUP_MEMBER)
    -1
    """
    return -1 if group is GroupMember.NON_GROUP_MEMBER else group_of(group).size()


def get_backend(group=None):
    """Return "mpi". Mirrors ``torch.distributed.get_backend``.

    Raises:
        ValueError: there is no group yet.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> mg.distributed.get_backend()
    'mpi'
    >>> mg.distributed.destroy_process_group()
    """
    group_of(group)
    return "mpi"


def get_process_group_ranks(group):
    """Return the ranks of a group, by their numbers in the world. Mirrors ``torch.distributed.get_process_group_ranks``.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> mg.distributed.get_process_group_ranks(mg.distributed.new_group([0]))
    [0]
    >>> mg.distributed.destroy_process_group()
    """
    return list(group_of(group).ranks)


def get_group_rank(group, global_rank):
    """Return the number in a group of a rank of the world. Mirrors ``torch.distributed.get_group_rank``.

    Raises:
        ValueError: it is not in the group.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> mg.distributed.get_group_rank(mg.distributed.new_group([0]), 0)
    0
    >>> mg.distributed.destroy_process_group()
    """
    return group_of(group).number_of(global_rank)


def get_global_rank(group, group_rank):
    """Return the number in the world of a rank of a group. Mirrors ``torch.distributed.get_global_rank``.

    Raises:
        ValueError: the group has no such rank.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> mg.distributed.get_global_rank(mg.distributed.new_group([0]), 0)
    0
    >>> mg.distributed.destroy_process_group()
    """
    ranks = group_of(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise TensorValueError("MG-E612", f"Group rank {group_rank} is not part of group {ranks}")
    return ranks[group_rank]
