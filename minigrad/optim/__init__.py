"""Optimisers. Mirrors ``torch.optim``."""

from minigrad.optim.adam import Adam
from minigrad.optim.adamw import AdamW
from minigrad.optim.optimizer import Optimizer
from minigrad.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
