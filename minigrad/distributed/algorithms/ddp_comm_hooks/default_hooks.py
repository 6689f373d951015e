"""Hooks for `DistributedDataParallel.register_comm_hook`.

    model.register_comm_hook(None, default_hooks.fp16_compress_hook)        half of the bytes

Mirrors ``torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py``. `TopK` stands for the compressions of
``powerSGD_hook.py``: what a rank does not send now is added to what it sends next.
"""

from typing import Any

from minigrad._arguments import instance
from minigrad.autograd.grad_mode import no_grad
from minigrad.creation import empty_like, zeros_like
from minigrad.distributed._collectives import all_gather, mean_of
from minigrad.distributed._reducer import GradBucket
from minigrad.distributed._work import WorkFuture
from minigrad.distributed._world import get_world_size
from minigrad.dtypes import float16
from minigrad.errors import TensorValueError

__all__ = ["TopK", "allreduce_hook", "fp16_compress_hook", "top_k_hook"]


def allreduce_hook(process_group, bucket):
    """Return a future of the mean over the ranks. Mirrors ``default_hooks.allreduce_hook``.

    Raises:
        TypeError: `bucket` is no `GradBucket`. `DistributedDataParallel` makes them.

    >>> from minigrad.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(None, default_hooks.allreduce_hook)
    >>> model(mg.ones(1, 2)).sum().backward()
    >>> model.module.weight.grad
    tensor([[1., 1.]])
    >>> mg.distributed.destroy_process_group()
    """
    return mean_of(buffer_of(bucket, "allreduce_hook"), process_group).get_future()


def fp16_compress_hook(process_group, bucket):
    """The same, sent as float16: half of the bytes, three digits. Mirrors ``default_hooks.fp16_compress_hook``.

    Raises:
        TypeError: `bucket` is no `GradBucket`.

    >>> from minigrad.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    >>> model(mg.ones(1, 2)).sum().backward()
    >>> model.module.weight.grad
    tensor([[1., 1.]])
    >>> mg.distributed.destroy_process_group()
    """
    with no_grad():
        small = buffer_of(bucket, "fp16_compress_hook").to(float16)
    return mean_of(small, process_group, half=True).get_future().then(lambda future: future.value().to(bucket.buffer().dtype))


class TopK:
    """The state of `top_k_hook`: which share of the numbers is sent, and what was left over, for each bucket.

    Args:
        share (float): between 0 and 1.
        group (ProcessGroup, optional): the ranks.

    Raises:
        ValueError: `share` is not in (0, 1].

    >>> from minigrad.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> default_hooks.TopK(0.01).share
    0.01
    """

    def __init__(self, share, group=None):
        if not 0 < share <= 1:
            raise TensorValueError("MG-E613", f"a share between 0 and 1 of the gradients is sent, got {share!r}",
                                   fix="TopK(0.01), say")
        self.share, self.group, self.left = share, group, {}


def top_k_hook(state, bucket):
    """Send the largest numbers of a bucket only, and keep the rest for the next time (error feedback).

    Each rank sends positions and values, and adds up what all have sent. Source: Stich et al., 2018, arXiv:1809.07599.

    Args:
        state (TopK): what was left over.
        bucket (GradBucket): the gradients.

    Raises:
        TypeError: one of them is something else.

    >>> from minigrad.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> mg.distributed.init_process_group()       # one rank, without mpiexec
    >>> model = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> model.register_comm_hook(default_hooks.TopK(1.0), default_hooks.top_k_hook)
    >>> model(mg.ones(1, 2)).sum().backward()
    >>> model.module.weight.grad
    tensor([[1., 1.]])
    >>> mg.distributed.destroy_process_group()
    """
    with no_grad():
        instance(state, TopK, "state", "top_k_hook")
        whole = buffer_of(bucket, "top_k_hook") + state.left.get(bucket.index(), 0)
        count = max(1, int(state.share * whole.numel()))
        places = whole.abs().topk(count).indices
        values = whole[places]
        left = whole.clone()
        left[places] = 0
        state.left[bucket.index()] = left
        ranks = get_world_size(state.group)
        all_values, all_places = [empty_like(values) for _ in range(ranks)], [empty_like(places) for _ in range(ranks)]
    works: list[Any] = [all_gather(all_values, values, state.group, async_op=True),
                        all_gather(all_places, places, state.group, async_op=True)]

    def mean():
        for work in works:
            work.wait()
        with no_grad():
            total = zeros_like(whole)
            for where, what in zip(all_places, all_values):
                total.index_add_(0, where, what)
            return total / ranks
    return WorkFuture(lambda: all([work.is_completed() for work in works]), mean)


def buffer_of(bucket, hook):
    """The flat tensor of the gradients in a bucket; raise for anything else."""
    return instance(bucket, GradBucket, "bucket", hook).buffer()
