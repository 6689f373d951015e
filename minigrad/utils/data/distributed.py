"""The part of a data set that one of several processes reads. Mirrors ``torch/utils/data/distributed.py``."""

import math

from minigrad.errors import AutogradError, TensorValueError
from minigrad.random import Generator, randperm
from minigrad.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler):
    """The numbers rank, rank + n, rank + 2n, ... of a (random) order of the samples. All processes get equally many.

    Args:
        dataset (Dataset): any object with a length.
        num_replicas (int, optional): the number n of processes. If it is not given, that of `minigrad.distributed`.
        rank (int, optional): the number of this process, from 0. If it is not given, that of `minigrad.distributed`.
        shuffle (bool): use a new random order for each epoch; call `set_epoch` before each.
        seed (int): of the random order, the same in all processes.
        drop_last (bool): leave out the last samples if they do not suffice for all. Otherwise the first samples come again.

    Raises:
        RuntimeError: `num_replicas` or `rank` is missing, and there is no process group.
        ValueError: `rank` is not less than `num_replicas`.

    Mirrors ``torch.utils.data.distributed.DistributedSampler``.

    >>> from minigrad.utils.data.distributed import DistributedSampler
    >>> [list(DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in (0, 1)]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None or rank is None:
            from minigrad import distributed as dist
            if not dist.is_initialized():
                raise AutogradError("MG-E333", "Requires distributed package to be available",
                                    fix="call init_process_group() before, or give num_replicas and rank")
            num_replicas = dist.get_world_size() if num_replicas is None else num_replicas
            rank = dist.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise TensorValueError("MG-E333", f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        size = len(dataset)
        self.num_samples = size // num_replicas if drop_last else math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        size = len(self.dataset)
        order = list(range(size))
        if self.shuffle:
            order = randperm(size, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        while order and len(order) < self.total_size:
            order += order[:self.total_size - len(order)]
        return iter(order[self.rank:self.total_size:self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Set the number of the epoch, which with `seed` determines the random order."""
        self.epoch = epoch
