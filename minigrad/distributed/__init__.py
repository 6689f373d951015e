"""Training on several ranks. Mirrors ``torch.distributed``.

``import minigrad`` leaves it out; ``import minigrad.distributed as dist``, and ``minigrad.distributed.pipelining``. Ranks are
processes that mpiexec starts: ``distributed_c10d.py``. A program that was started without mpiexec runs as one rank.
"""

from minigrad.distributed import distributed_c10d
from minigrad.distributed._launch import is_mpi_available
from minigrad.distributed._world import GroupMember
from minigrad.distributed.distributed_c10d import *     # torch.distributed has these names too

__all__ = ["is_gloo_available", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched"]
__all__ += distributed_c10d.__all__

group = GroupMember     # group.WORLD, as in PyTorch


def is_nccl_available():
    """False: MPI is what there is. Mirrors ``torch.distributed.is_nccl_available``.

    >>> mg.distributed.is_nccl_available()
    False
    """
    return False


def is_gloo_available():
    """False: MPI is what there is. Mirrors ``torch.distributed.is_gloo_available``.

    >>> mg.distributed.is_gloo_available()
    False
    """
    return False


def is_torchelastic_launched():
    """False: mpiexec starts the ranks. Mirrors ``torch.distributed.is_torchelastic_launched``.

    >>> mg.distributed.is_torchelastic_launched()
    False
    """
    return False
