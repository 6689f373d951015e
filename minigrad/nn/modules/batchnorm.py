"""Batch and instance normalization: each channel gets mean 0 and variance 1, over the batch or within each sample.

Mirrors ``torch/nn/modules/batchnorm.py`` and ``torch/nn/modules/instancenorm.py``.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from minigrad.creation import ones, tensor, zeros
from minigrad.dtypes import int64
from minigrad.errors import TensorValueError
from minigrad.nn import functional as F
from minigrad.nn._optional import flag_of, register_optional
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.normalization import reset

if TYPE_CHECKING:
    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _NormBase(Module):
    """Weight and bias per channel, and running mean and variance with the number of batches so far.

    `dims` are the supported numbers of dimensions of the input. A subclass may override `_check_input_dim` instead.
    """

    dims: tuple[int, ...] = ()
    _version = 2        # of the format of the state dict: 2 has num_batches_tracked

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None,
                 bias=True):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = flag_of(self, "affine", affine)
        self.track_running_stats = track_running_stats
        register_optional(self, "weight", self.affine, num_features, device, dtype)
        register_optional(self, "bias", flag_of(self, "bias", bias) and self.affine, num_features, device, dtype)
        track = flag_of(self, "track_running_stats", track_running_stats)
        self.register_buffer("running_mean", zeros(num_features, device=device, dtype=dtype) if track else None)
        self.register_buffer("running_var", ones(num_features, device=device, dtype=dtype) if track else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device) if track else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Reset the running statistics: mean 0, variance 1, no batches."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0, and reset the running statistics."""
        self.reset_running_stats()
        reset(self)

    def _complete_state_dict(self, state_dict, prefix, version):
        if (version or 1) < 2 and self.num_batches_tracked is not None:
            state_dict.setdefault(prefix + "num_batches_tracked", self.num_batches_tracked)

    def _check_input_dim(self, input):
        """Raise unless the number of dimensions of the input is one of `dims`."""
        if not self.dims:
            raise NotImplementedError(f"{type(self).__name__} must define _check_input_dim(input), or the tuple dims")
        if input.ndim not in self.dims:
            raise TensorValueError("MG-E205", f"expected {' or '.join(f'{n}D' for n in self.dims)} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")


class _BatchNorm(_NormBase):
    """Normalize over the batch."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: DeviceLike | None = None, dtype: DType | None = None, *,
                 bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        momentum = self.momentum or 0.0
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:       # the running statistics are means over all batches
                momentum = 1.0 / self.num_batches_tracked.item()
        own = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if keep else None, self.running_var if keep else None, self.weight, self.bias,
                            own, momentum, self.eps)


class _InstanceNorm(_NormBase):
    """Normalize within each sample. `dims` are the numbers of dimensions of an input without and with a batch."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: DeviceLike | None = None, dtype: DType | None = None, *,
                 bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        at = input.ndim - self.dims[0]
        if input.shape[at] != self.num_features:
            if self.affine:
                raise TensorValueError("MG-E204", f"expected input's size at dim={at} to match num_features ({self.num_features}), "
                                       f"but got: {input.shape[at]}.")
            warnings.warn(f"input's size at dim={at} does not match num_features. You can silence this warning by not passing in "
                          "num_features, which is not used because affine=False", stacklevel=3)
        batch = input if at else input.unsqueeze(0)
        z = F.instance_norm(batch, self.running_mean, self.running_var, self.weight, self.bias,
                            self.training or not self.track_running_stats, self.momentum or 0.0, self.eps)
        return z if at else z.squeeze(0)


class BatchNorm1d(_BatchNorm):
    """Normalize each channel of (N, C) or (N, C, L) over the batch. See `minigrad.nn.functional.batch_norm`.

    Args:
        num_features (int): C.
        eps (float): ε, which is added to the variance.
        momentum (float, optional): the weight of a new batch in the running statistics. None gives all batches the same weight.
        affine (bool): whether there are a weight, initially 1, and a bias, initially 0.
        track_running_stats (bool): keep running statistics, for evaluation.
        device, dtype (optional): the device and dtype of the parameters.
        bias (bool): whether there is a bias.

    Mirrors ``torch.nn.BatchNorm1d``.

    >>> nn.BatchNorm1d(2)(mg.ones(2, 2, 3)).shape
    minigrad.Size([2, 2, 3])
    """

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalize each channel of (N, C, H, W) over the batch. See `minigrad.nn.functional.batch_norm`.

    The arguments are as in `BatchNorm1d`. Mirrors ``torch.nn.BatchNorm2d``.

    >>> nn.BatchNorm2d(2)(mg.ones(2, 2, 3, 3)).shape
    minigrad.Size([2, 2, 3, 3])
    """

    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalize each channel of (N, C, D, H, W) over the batch. See `minigrad.nn.functional.batch_norm`.

    The arguments are as in `BatchNorm1d`. Mirrors ``torch.nn.BatchNorm3d``.

    >>> nn.BatchNorm3d(2)(mg.ones(1, 2, 3, 3, 3)).shape
    minigrad.Size([1, 2, 3, 3, 3])
    """

    dims = (5,)


class InstanceNorm1d(_InstanceNorm):
    """Normalize each channel of (C, L) or (N, C, L) within each sample. See `minigrad.nn.functional.instance_norm`.

    The arguments are as in `BatchNorm1d`, but `affine` and `track_running_stats` are False by default.

    Mirrors ``torch.nn.InstanceNorm1d``.

    >>> nn.InstanceNorm1d(2)(mg.ones(2, 2, 3)).shape
    minigrad.Size([2, 2, 3])
    """

    dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalize each channel of (C, H, W) or (N, C, H, W) within each sample. See `minigrad.nn.functional.instance_norm`.

    The arguments are as in `InstanceNorm1d`. Mirrors ``torch.nn.InstanceNorm2d``.

    >>> nn.InstanceNorm2d(2)(mg.ones(2, 2, 3, 3)).shape
    minigrad.Size([2, 2, 3, 3])
    """

    dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalize each channel of (C, D, H, W) or (N, C, D, H, W) within each sample. See `minigrad.nn.functional.instance_norm`.

    The arguments are as in `InstanceNorm1d`. Mirrors ``torch.nn.InstanceNorm3d``.

    >>> nn.InstanceNorm3d(2)(mg.ones(1, 2, 3, 3, 3)).shape
    minigrad.Size([1, 2, 3, 3, 3])
    """

    dims = (4, 5)
