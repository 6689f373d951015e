"""Learning rate schedules: they set the learning rate for each epoch.

    optimizer = mg.optim.SGD(model.parameters(), lr=0.1)
    scheduler = mg.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=30)

    _scheduler.py       the base class                      _plateau.py     depends on a metric, such as the loss
    _factors.py         multiply by a factor                _sequence.py    made of other schedules
    _cycles.py          follow a curve                      _cyclic.py      up and down in straight lines

Mirrors ``torch/optim/lr_scheduler.py``.
"""

from minigrad.optim._cycles import CosineAnnealingLR, CosineAnnealingWarmRestarts, OneCycleLR
from minigrad.optim._cyclic import CyclicLR
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

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
           "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
           "ReduceLROnPlateau", "SequentialLR", "StepLR"]


class _LRScheduler(LRScheduler):
    """The older name of `LRScheduler`, from which programs derive their own schedules."""


for _class in __all__:      # programs print the place of a schedule, and PyTorch's is this module
    globals()[_class].__module__ = __name__
