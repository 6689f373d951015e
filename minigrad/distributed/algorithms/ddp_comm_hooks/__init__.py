"""What ranks may do with a bucket of gradients, instead of their mean. Mirrors ``torch.distributed.algorithms.ddp_comm_hooks``."""

from minigrad.distributed.algorithms.ddp_comm_hooks import default_hooks

__all__ = ["default_hooks"]
