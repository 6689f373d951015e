"""Schedules: how the learning rate changes from epoch to epoch.

    optimizer = mg.optim.SGD(model.parameters(), lr=0.1)
    scheduler = mg.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=30)

What they share stands in ``_scheduler.py``, the schedules in ``_factors.py`` (multiply by a factor), ``_cycles.py`` (follow a
curve), ``_plateau.py`` (look at the loss) and ``_sequence.py`` (made of others).

Mirrors ``torch/optim/lr_scheduler.py``.
"""

from minigrad.optim._cycles import CosineAnnealingLR, CosineAnnealingWarmRestarts, OneCycleLR
from minigrad.optim._factors import (
                                     ConstantLR,
                                     ExponentialLR,
                                     LambdaLR,
                                     LinearLR,
                                     MultiplicativeLR,
                                     MultiStepLR,
                                     PolynomialLR,
                                     StepLR,
)
from minigrad.optim._plateau import ReduceLROnPlateau
from minigrad.optim._scheduler import LRScheduler
from minigrad.optim._sequence import ChainedScheduler, SequentialLR

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "ExponentialLR", "LRScheduler",
           "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau",
           "SequentialLR", "StepLR"]
