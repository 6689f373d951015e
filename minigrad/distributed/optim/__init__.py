"""Optimizers of several ranks. Mirrors ``torch.distributed.optim``."""

from minigrad.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
