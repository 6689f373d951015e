"""Training in several processes, which minigrad does not have. Mirrors ``torch/nn/parallel/distributed.py``."""

from minigrad._absent import absent
from minigrad.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Raise `NotImplementedError`: minigrad has no processes that train together.

    Mirrors ``torch.nn.parallel.DistributedDataParallel``.

    >>> nn.parallel.DistributedDataParallel(nn.ReLU())
    Traceback (most recent call last):
    NotImplementedError: minigrad has no torch.nn.parallel.DistributedDataParallel
      fix:      train in one process: if minigrad.distributed.is_initialized(): ...
      help:     mg.explain("MG-E510")
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0, **options):
        raise absent("torch.nn.parallel.DistributedDataParallel",
                     "train in one process: if minigrad.distributed.is_initialized(): ...")
