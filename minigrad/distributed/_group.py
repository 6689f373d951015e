"""Ranks that communicate. Mirrors ``torch/csrc/distributed/c10d/ProcessGroup.hpp`` and ``ProcessGroupWrapper.cpp``.

Before a collective begins, all ranks of the group tell each other which one it is, on which dtype and shape:

    rank 0   all_reduce SUM float32 (3,)  --->  rank 1        the same everywhere: it begins
    rank 1   all_reduce SUM float32 (4,)  --->  rank 0        else: the same error on all ranks, with this list

PyTorch does so for TORCH_DISTRIBUTED_DEBUG=DETAIL only, and otherwise hangs or gives wrong numbers. These messages are short, and
each goes from one rank to one other, so that a rank which does not come is known by its number.

A message from rank to rank (`send`) is preceded in the same way by its dtype and shape.
"""

from typing import Any

import numpy as np

from minigrad._arguments import sized
from minigrad.distributed._errors import DistBackendError
from minigrad.distributed._memory import Place, describe, say_once
from minigrad.distributed._work import Work, until
from minigrad.errors import AutogradTypeError, TensorValueError

__all__ = ["ProcessGroup"]

LINE = 160      # bytes of one announcement


class ProcessGroup:
    """Some ranks, and the communicators of MPI between them. `init_process_group` and `new_group` make it.

    Mirrors ``torch.distributed.ProcessGroup``.

    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> mg.distributed.GroupMember.WORLD
    ProcessGroup(default_pg, rank 0 of 1)
    >>> mg.distributed.destroy_process_group()
    """

    def __init__(self, communicator, ranks, seconds, name="default_pg"):
        """``ranks[i]`` is the rank in the world of rank i in here. The communicator is None if this process is alone."""
        if not hasattr(communicator, "Dup") and communicator is not None:
            raise AutogradTypeError("MG-E201", "ProcessGroup(): argument 'communicator' must be a communicator of MPI or None, "
                                    f"not {type(communicator).__name__}", fix="init_process_group() and new_group() make groups")
        self.ranks = sized(ranks, "ranks", "ProcessGroup", "sequence of int")
        self.name = name
        self.seconds = seconds
        self.communicator: Any = communicator
        # Communicators of their own, so that no message is taken for another: announcements, lines before a send, pipelines.
        # All ranks make them together, so they are made here.
        self.announcements: Any = None
        self.headers: Any = None
        self.pipeline: Any = None
        self._under_way = []        # keeps the memory of what was started and not waited for
        if communicator is not None:
            self.announcements, self.headers, self.pipeline = [communicator.Dup() for _ in range(3)]

    def __repr__(self):
        return f"ProcessGroup({self.name}, rank {self.rank()} of {self.size()})"

    def rank(self):
        """Return the number of this rank in the group."""
        return 0 if self.communicator is None else self.communicator.rank

    def size(self):
        """Return the number of ranks."""
        return len(self.ranks)

    def free(self):
        """Give the communicators back to MPI. All ranks of the group do this together."""
        if self.communicator is None:
            return
        for communicator in (self.pipeline, self.headers, self.announcements):
            communicator.Free()
        if self.name != "default_pg":       # that one is MPI's
            self.communicator.Free()

    def agree(self, what):
        """Compare what this rank is about to do with what the others are about to do.

        Raises:
            DistBackendError: they differ, or a rank does not come.
        """
        if self.size() == 1:
            return
        mine = line_of(what)
        theirs = np.empty((self.size(), LINE), np.uint8)
        theirs[self.rank()] = mine
        others = [rank for rank in range(self.size()) if rank != self.rank()]
        arriving = {rank: self.announcements.Irecv(theirs[rank], rank) for rank in others}
        sent = [self.announcements.Isend(mine, rank) for rank in others]

        def arrived():
            for rank in [rank for rank, request in arriving.items() if request.Test()]:
                del arriving[rank]
            return not arriving
        until(arrived, self.seconds, lambda: f"{what}: nothing came from rank {', '.join([str(self.ranks[r]) for r in arriving])} "
                                             f"within {self.seconds:g} s")
        until(lambda: all(request.Test() for request in sent), self.seconds, lambda: f"{what}: the ranks do not listen")
        texts = [text_of(line) for line in theirs]
        if len(set(texts)) > 1:
            raise DistBackendError("MG-E611", "The ranks do not call the same collective on tensors of one dtype and shape",
                                   found="\n".join([f"rank {self.ranks[rank]}: {text}" for rank, text in enumerate(texts)]),
                                   fix="all ranks of a group call the same functions in the same order; pad what is shorter")

    def start(self, what, requests, finish, async_op, result=None) -> Any:
        """Return the work of a collective, or wait for it."""
        work = self.keep(Work(requests, finish, what, self.seconds, result))
        return work if async_op else (work.wait(), None)[1]

    def keep(self, work):
        """Hold a work, and with it the memory that MPI reads or writes, until it is complete. Return it."""
        self._under_way = [other for other in self._under_way if other.is_under_way()]
        self._under_way.append(work)
        return work

    # ---- from rank to rank ----

    def peer(self, rank, group_rank, what):
        """Return the number in the group of a rank of the world, or of the group.

        Raises:
            ValueError: both or none are given; there is no such rank; or it is this one.
        """
        if (rank is None) == (group_rank is None):
            raise TensorValueError("MG-E612", f"{what} must specify exactly one of the rank in the world and the rank in the group",
                                   fix="send(x, 1), or send(x, group_dst=1)")
        if rank is not None:
            group_rank = self.number_of(rank)
        elif not 0 <= group_rank < self.size():
            raise TensorValueError("MG-E612", f"{what}: group rank {group_rank} is not one of the {self.size()} ranks of the group")
        if group_rank == self.rank():
            raise TensorValueError("MG-E612", f"Invalid {what} rank: it should not be the same as the rank of the current process.",
                                   fix="a rank does not send to itself; use the tensor directly")
        return group_rank

    def number_of(self, rank):
        """Return the number in the group of a rank of the world.

        Raises:
            ValueError: the group has no such rank.
        """
        if rank not in self.ranks:
            raise TensorValueError("MG-E612", f"Global rank {rank} is not part of group {self.name}",
                                   found=f"the ranks {self.ranks}", fix="start more ranks: mpiexec -n 4 python train.py")
        return self.ranks.index(rank)

    def isend(self, tensor, to, tag):
        """Start to send a tensor, and before it a line that says which. mpi4py's requests keep the memory."""
        place = Place(tensor, "send")
        requests = [self.headers.Isend(line_of(describe(tensor)), to, tag), self.communicator.Isend(place.bytes, to, tag)]
        return self.keep(Work(requests, None, f"send of {describe(tensor)} to rank {self.ranks[to]}", self.seconds))

    def irecv(self, tensor, source, tag):
        """Start to receive a tensor. The line before it is compared first."""
        place = Place(tensor, "recv")
        line = np.empty(LINE, np.uint8)
        what = f"recv of {describe(tensor)} from rank {self.ranks[source]}"
        header = Checked(self.headers.Irecv(line, source, tag), lambda: self.compare(line, tensor, source))
        return self.keep(Work([header, self.communicator.Irecv(place.bytes, source, tag)], place.written, what, self.seconds))

    def compare(self, line, tensor, source):
        """Compare the line that a rank has sent before a tensor with the tensor that is to receive it.

        Raises:
            DistBackendError: they differ.
        """
        sent = text_of(line)
        if sent != describe(tensor):
            raise DistBackendError("MG-E611", f"rank {self.ranks[source]} sends {sent}, and rank {self.ranks[self.rank()]} "
                                   f"receives it as {describe(tensor)}", fix="receive into a tensor of the same dtype and shape")

    def any_source(self, tag):
        """Wait for the line of the next message from any rank. Return the rank in the group; the message is not taken."""
        from mpi4py import MPI
        status = MPI.Status()
        until(lambda: self.headers.Iprobe(MPI.ANY_SOURCE, tag, status), self.seconds,
              lambda: f"recv from any rank: nothing came within {self.seconds:g} s")
        return status.Get_source()


class Checked:
    """A request whose completion is followed by a check, before the next one is looked at."""

    def __init__(self, request, check):
        self._request, self._check = request, check

    def Test(self):     # mpi4py's name
        if not self._request.Test():
            return False
        self._check()
        return True


def line_of(text):
    """Return a text as the bytes of an announcement."""
    return np.frombuffer(text.encode()[:LINE].ljust(LINE), np.uint8)


def text_of(line):
    """Return the text of an announcement."""
    return line.tobytes().decode(errors="replace").strip()


def outside(what):
    """Say that this rank is not in the group of a collective, which does nothing then."""
    say_once(f"Running {what} on a rank that does not belong to the given group does nothing")
