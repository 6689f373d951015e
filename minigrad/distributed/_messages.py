"""From one rank to another, and Python objects. Mirrors a part of ``torch/distributed/distributed_c10d.py``.

Objects travel as pickles, so receive them only from ranks that you trust, as in PyTorch.

Read before: ``_group.py``.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minigrad.distributed._work import Work
from minigrad.distributed._world import member
from minigrad.errors import TensorTypeError, TensorValueError

__all__ = ["P2POp", "all_gather_object", "batch_isend_irecv", "broadcast_object_list", "irecv", "isend", "recv", "send"]


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Start to send a tensor to a rank. Until the returned `Work` is waited for, the tensor must not change.

    Args:
        tensor (Tensor): contiguous.
        dst, group_dst (int): the rank, by its number in the world or in the group.
        group (ProcessGroup, optional): both ranks are in it.
        tag (int): the receiver gives the same.

    Raises:
        ValueError: there is no such rank, it is this one, or the tensor is not contiguous.

    Mirrors ``torch.distributed.isend``.
    """
    group = member(group, "isend")
    return group and group.isend(tensor, group.peer(dst, group_dst, "destination"), tag)


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """Start to receive a tensor from a rank. It has its values when the returned `Work` is complete.

    Args and errors as for `isend`. ``wait()`` raises `RuntimeError` if the rank sends another shape or dtype, or nothing in time.

    Mirrors ``torch.distributed.irecv``, which also receives from any rank; here only `recv` does.
    """
    group = member(group, "irecv")
    return group and group.irecv(tensor, group.peer(src, group_src, "source"), tag)


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Send a tensor to a rank, and wait until it may change again. Args and errors as for `isend`.

    Mirrors ``torch.distributed.send``.
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receive a tensor from a rank, or from any if none is given. Return the rank, or -1 outside the group.

    Raises:
        RuntimeError: nothing comes in time, or a tensor of another shape or dtype.
        ValueError: there is no such rank, it is this one, or the tensor is not contiguous.

    Mirrors ``torch.distributed.recv``.
    """
    group = member(group, "recv")
    if group is None:
        return -1
    if src is None and group_src is None:
        source = group.any_source(tag)
    else:
        source = group.peer(src, group_src, "source")
    group.irecv(tensor, source, tag).wait()
    return group.ranks[source]


@dataclass
class P2POp:
    """An `isend` or `irecv` for `batch_isend_irecv`. Mirrors ``torch.distributed.P2POp``.

    Args:
        op: `isend` or `irecv`.
        tensor (Tensor): sent or written.
        peer, group_peer (int): the other rank, by its number in the world or in the group.
    """

    op: Callable
    tensor: Any
    peer: int | None = None
    group: Any = None
    tag: int = 0
    group_peer: int | None = None

    def __post_init__(self):
        if self.op not in (isend, irecv):
            raise TensorValueError("MG-E612", f"Invalid op {self.op!r}: isend or irecv is expected",
                                   fix="P2POp(dist.isend, x, 1), without parentheses after isend")


def batch_isend_irecv(p2p_op_list):
    """Start several sends and receives, in any order. Return a list of `Work`.

    Raises:
        TypeError: the list has something else than `P2POp`.

    Mirrors ``torch.distributed.batch_isend_irecv``.
    """
    if not isinstance(p2p_op_list, (list, tuple)) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise TensorTypeError("MG-E612", "batch_isend_irecv takes a list of P2POp", fix="[P2POp(dist.isend, x, 1), ...]")
    found = []
    for op in p2p_op_list:
        found.append(op.op(op.tensor, op.peer, op.group, op.tag, op.group_peer))
    return [work for work in found if work is not None]


def all_gather_object(object_list, obj, group=None):
    """Give each rank the objects of all, in a list in the order of the ranks.

    Args:
        object_list (list): as many elements as ranks; written.
        obj: anything that pickle takes.

    Raises:
        ValueError: the list has another length.
        RuntimeError: a rank does not come.

    Mirrors ``torch.distributed.all_gather_object``.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> found = [None]
    >>> mg.distributed.all_gather_object(found, {"epoch": 3})
    >>> found
    [{'epoch': 3}]
    >>> mg.distributed.destroy_process_group()
    """
    group = member(group, "all_gather_object")
    if group is None:
        return
    if len(object_list) != group.size():
        raise TensorValueError("MG-E611", f"all_gather_object: the list has {len(object_list)} elements for {group.size()} ranks",
                               fix="[None] * dist.get_world_size()")
    mine = np.frombuffer(pickle.dumps(obj), np.uint8)
    if group.size() == 1:
        object_list[0] = pickle.loads(mine.tobytes())
        return
    group.agree("all_gather_object")
    sizes = np.empty(group.size(), np.int64)
    finish([group.communicator.Iallgather(np.array([mine.size]), sizes)], group, "the sizes of objects")
    array = np.empty(int(sizes.sum()), np.uint8)
    ends = np.cumsum(sizes)
    finish([group.communicator.Iallgatherv(mine, [array, (sizes, ends - sizes)])], group, "objects")
    object_list[:] = [pickle.loads(array[end - size:end].tobytes()) for size, end in zip(sizes, ends)]


def finish(requests, group, what):
    """Wait for requests."""
    Work(requests, None, what, group.seconds).wait()


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Give the objects in the list of rank `src` to all ranks, which write them into their lists.

    Raises:
        RuntimeError: a rank does not come, or its list has another length.

    Mirrors ``torch.distributed.broadcast_object_list``.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> objects = ["digits", 3]
    >>> mg.distributed.broadcast_object_list(objects)
    >>> objects
    ['digits', 3]
    >>> mg.distributed.destroy_process_group()
    """
    group = member(group, "broadcast_object_list")
    if group is None:
        return
    root = group.number_of(src or 0) if group_src is None else group_src
    if group.size() == 1:
        return
    group.agree(f"broadcast_object_list of {len(object_list)} from {root}")
    mine = root == group.rank()
    packed = bytearray(pickle.dumps(list(object_list)) if mine else b"")
    size = np.array([len(packed)])
    finish([group.communicator.Ibcast(size, root)], group, "the size of objects")
    packed = packed if mine else bytearray(int(size[0]))
    finish([group.communicator.Ibcast(packed, root)], group, "objects")
    if not mine:
        object_list[:] = pickle.loads(packed)
