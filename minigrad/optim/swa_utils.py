"""Averages of weights: the mean (SWA), or an exponential moving average (EMA); and the learning rate schedule for SWA.

    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
    for ...:
        optimizer.step()
        ema.update_parameters(model)        # ema.module is a copy of `model` with averaged parameters

Izmailov et al., "Averaging weights leads to wider optima and better generalization", 2018. Mirrors ``torch/optim/swa_utils.py``.
"""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (modules have no types inside the package)
import copy
import itertools
import math
from typing import TYPE_CHECKING

from minigrad._arguments import instance
from minigrad.autograd.grad_mode import no_grad
from minigrad.creation import tensor
from minigrad.dtypes import int64
from minigrad.errors import AutogradAssertionError, TensorValueError
from minigrad.nn.modules.batchnorm import _BatchNorm
from minigrad.nn.modules.module import Module
from minigrad.ops.base.arguments import real, wrong_type
from minigrad.optim._scheduler import LRScheduler, check, per_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal

    from minigrad.optim.optimizer import Optimizer
    from minigrad.types import DeviceLike, Tensor

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
           "update_bn"]


def check_decay(decay):
    """Return `decay`; raise unless it is in [0, 1]."""
    if not 0 <= real(decay, "decay", "get_ema_avg_fn") <= 1:
        raise TensorValueError("MG-E364", f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
    return decay


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Tensor | int], Tensor]:
    """Return a function for `AveragedModel`: average ← decay · average + (1 - decay) · parameter.

    Mirrors ``torch.optim.swa_utils.get_ema_avg_fn``.

    Raises:
        ValueError: `decay` is outside [0, 1].

    >>> from minigrad.optim.swa_utils import get_ema_avg_fn
    >>> get_ema_avg_fn(0.75)(mg.tensor([1.]), mg.tensor([5.]), 3)
    tensor([2.])
    """
    decay = check_decay(decay)

    def ema_update(ema_param, current_param, num_averaged):
        with no_grad():
            return decay * ema_param + (1 - decay) * current_param
    return ema_update


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Tensor | int], Tensor]:
    """Return a function for `AveragedModel`: average ← average + (parameter - average) / (n + 1).

    Mirrors ``torch.optim.swa_utils.get_swa_avg_fn``.

    >>> from minigrad.optim.swa_utils import get_swa_avg_fn
    >>> get_swa_avg_fn()(mg.tensor([1.]), mg.tensor([5.]), 3)
    tensor([2.])
    """
    def swa_update(averaged_param, current_param, num_averaged):
        with no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)
    return swa_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[list[Tensor], list[Tensor], Tensor | int], None]:
    """`get_ema_avg_fn` for lists of tensors. The function overwrites the averages.

    Mirrors ``torch.optim.swa_utils.get_ema_multi_avg_fn``.

    Raises:
        ValueError: `decay` is outside [0, 1].

    >>> from minigrad.optim.swa_utils import get_ema_multi_avg_fn
    >>> average = [mg.tensor([1.])]
    >>> get_ema_multi_avg_fn(0.75)(average, [mg.tensor([5.])], 3); average
    [tensor([2.])]
    """
    decay = check_decay(decay)

    def ema_update(ema_param_list, current_param_list, num_averaged):
        mix(ema_param_list, current_param_list, 1 - decay)
    return ema_update


def get_swa_multi_avg_fn() -> Callable[[list[Tensor], list[Tensor], Tensor | int], None]:
    """`get_swa_avg_fn` for lists of tensors. The function overwrites the averages.

    Mirrors ``torch.optim.swa_utils.get_swa_multi_avg_fn``.

    >>> from minigrad.optim.swa_utils import get_swa_multi_avg_fn
    >>> average = [mg.tensor([1.])]
    >>> get_swa_multi_avg_fn()(average, [mg.tensor([5.])], 3); average
    [tensor([2.])]
    """
    def swa_update(averaged_param_list, current_param_list, num_averaged):
        mix(averaged_param_list, current_param_list, 1 / (int(num_averaged) + 1))
    return swa_update


def mix(averages, values, part):
    """average ← average + part · (value - average), in place. As in PyTorch, integers are truncated."""
    with no_grad():
        for average, value in zip(averages, values, strict=True):
            average.copy_(average + (value - average) * part)


class AveragedModel(Module):
    """A copy of a model. Its parameters are averages of the model's parameters over time.

    Args:
        model (Module): the model to copy.
        device (optional): the device of the copy.
        avg_fn (callable, optional): ``(average, parameter, n) -> average`` for a parameter, after n updates.
        multi_avg_fn (callable, optional): ``(averages, parameters, n)`` for lists of tensors of the same dtype. It overwrites the
            averages. Without either function, the average is the mean.
        use_buffers (bool): average the buffers too. Otherwise they are copied.

    Mirrors ``torch.optim.swa_utils.AveragedModel``.

    Raises:
        AssertionError: both functions are given.

    >>> from minigrad.optim.swa_utils import AveragedModel
    >>> model = nn.Linear(1, 1, bias=False)
    >>> average = AveragedModel(model)
    >>> for value in (1., 2., 6.):
    ...     _ = nn.init.constant_(model.weight, value)
    ...     average.update_parameters(model)
    >>> average.module.weight.item(), average.n_averaged
    (3.0, tensor(3))
    """

    def __init__(self, model: Module, device: DeviceLike | None = None,
                 avg_fn: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None,
                 multi_avg_fn: Callable[[list[Tensor], list[Tensor], Tensor], None] | None = None,
                 use_buffers: bool = False) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AutogradAssertionError("MG-E364", "Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(instance(model, Module, "model", "AveragedModel"))
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Update the averages with the parameters of `model`. The first call copies them.

        >>> from minigrad.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
        >>> model = nn.Linear(1, 1)
        >>> ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
        >>> ema.update_parameters(model)
        >>> ema.module.weight.item() == model.weight.item()
        True
        """
        pairs, buffers = tensors_of(self.module, model, "parameters"), tensors_of(self.module, model, "buffers")
        if self.use_buffers:
            pairs, buffers = pairs + buffers, []
        with no_grad():
            if not self.n_averaged:
                buffers = pairs + buffers
            elif self.avg_fn is not None:
                for average, value in pairs:
                    average.copy_(self.avg_fn(average, value, self.n_averaged))
            else:
                function = self.multi_avg_fn or get_swa_multi_avg_fn()
                for _, group in itertools.groupby(sorted(pairs, key=by_dtype), by_dtype):
                    function(*[list(part) for part in zip(*group)], self.n_averaged)
            for copied, value in buffers:
                copied.copy_(value)
            self.n_averaged.add_(1)


def tensors_of(own, model, kind):
    """Return pairs of the parameters or buffers of two models, detached."""
    return [(a.detach(), b.detach()) for a, b in zip(getattr(own, kind)(), getattr(model, kind)(), strict=True)]


def by_dtype(pair):
    return pair[0].dtype.name


def update_bn(loader: Iterable[Any], model: Module, device: DeviceLike | None = None) -> None:
    """Recompute the running statistics of batch norms from all batches of a loader: averaged weights need new statistics.

    Args:
        loader (iterable): batches, or tuples or lists that begin with a batch.
        model (Module): called with each batch, in training mode and without recording. Only its running statistics change.
        device (optional): the device to which batches are moved.

    Mirrors ``torch.optim.swa_utils.update_bn``.

    >>> from minigrad.optim.swa_utils import update_bn
    >>> layer = nn.BatchNorm1d(1)
    >>> update_bn([mg.tensor([[1.], [3.]]), mg.tensor([[5.], [7.]])], layer)
    >>> layer.running_mean
    tensor([4.])
    """
    if not (hasattr(loader, "__iter__") or hasattr(loader, "__getitem__")):
        raise wrong_type("update_bn", "loader", "iterable of batches", loader)      # before the statistics are reset
    momenta = {}
    for module in instance(model, Module, "model", "update_bn").modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    try:
        for module in momenta:
            module.momentum = None          # the running statistics are means over all batches
        with no_grad():
            for batch in loader:
                x = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(x if device is None else x.to(device))
    finally:
        for module, momentum in momenta.items():
            module.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """From the current learning rate to a constant one, within some epochs, along a cosine or a line.

    Args:
        optimizer (Optimizer): its learning rates are set.
        swa_lr (float or list of float): the final learning rate, or a list with a number per group.
        anneal_epochs (int): the number of epochs of the change; 0 changes it immediately.
        anneal_strategy (str): ``"cos"`` or ``"linear"``.
        last_epoch (int): see `LRScheduler`.

    Mirrors ``torch.optim.swa_utils.SWALR``.

    Raises:
        ValueError: the strategy is unknown, `anneal_epochs` is negative, or `swa_lr` has the wrong length.

    >>> from minigrad.optim.swa_utils import SWALR
    >>> optimizer = mg.optim.SGD([mg.zeros(1)], lr=1.)
    >>> scheduler = SWALR(optimizer, swa_lr=0.2, anneal_epochs=2, anneal_strategy="linear")
    >>> for _ in range(3):
    ...     optimizer.step(); scheduler.step(); print(round(scheduler.get_last_lr()[0], 4))
    0.6
    0.2
    0.2
    """

    def __init__(self, optimizer: Optimizer, swa_lr: float | list[float], anneal_epochs: int = 10,
                 anneal_strategy: Literal['cos', 'linear'] = "cos", last_epoch: int = -1) -> None:
        for lr, group in zip(per_group(swa_lr, optimizer, "swa_lr"), optimizer.param_groups):
            group["swa_lr"] = lr
        check(anneal_strategy in ("cos", "linear"),
              f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        check(isinstance(anneal_epochs, int) and anneal_epochs >= 0,
              f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Compute the learning rates of this epoch from the current ones."""
        step = self._step_count - 1
        if not self.anneal_epochs:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        lrs = []
        for lr, group in zip(self._current_lrs(), self.optimizer.param_groups):
            end = group["swa_lr"]
            first = end if before == 1 else (lr - before * end) / (1 - before)
            lrs.append(end * now + first * (1 - now))
        return lrs

    def _part(self, step):
        """The weight of the final learning rate after `step` epochs, in [0, 1]."""
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return t if self.anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2
