"""Layers that normalise each channel, over the batch or within a sample.

Mirrors ``torch/nn/modules/batchnorm.py`` and ``torch/nn/modules/instancenorm.py``.
"""

import warnings

from minigrad.creation import ones, tensor, zeros
from minigrad.dtypes import int64
from minigrad.errors import TensorValueError
from minigrad.nn import functional as F
from minigrad.nn._optional import flag_of, register_optional
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.normalization import reset

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _Norm(Module):
    """Per channel a weight and a bias, and running mean and variance with the number of batches they come from."""

    def __init__(self, num_features, eps, momentum, affine, track_running_stats, device, dtype, bias):
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

    def reset_running_stats(self):
        """Forget the batches seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Weight 1 and bias 0, and no batches seen."""
        self.reset_running_stats()
        reset(self)

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")


class _BatchNorm(_Norm):
    dims: tuple[int, ...] = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *,
                 bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input):
        if input.ndim not in self.dims:
            raise TensorValueError("MG-E205", f"expected {' or '.join(f'{n}D' for n in self.dims)} input (got {input.ndim}D input)")
        momentum = self.momentum or 0.0
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:       # the mean over all batches
                momentum = 1.0 / self.num_batches_tracked.item()
        own = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if keep else None, self.running_var if keep else None, self.weight, self.bias,
                            own, momentum, self.eps)


class _InstanceNorm(_Norm):
    dims: tuple[int, ...] = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None, *,
                 bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input):
        if input.ndim not in self.dims:
            raise TensorValueError("MG-E205", f"expected {' or '.join(f'{n}D' for n in self.dims)} input (got {input.ndim}D input)")
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
    """Each channel of (N, C) or (N, C, L) with mean 0 and variance 1, over the batch. See `minigrad.nn.functional.batch_norm`.

    Mirrors ``torch.nn.BatchNorm1d``.

    >>> nn.BatchNorm1d(2)(mg.ones(2, 2, 3)).shape
    minigrad.Size([2, 2, 3])
    """

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Each channel of (N, C, H, W) with mean 0 and variance 1, over the batch. See `minigrad.nn.functional.batch_norm`.

    Mirrors ``torch.nn.BatchNorm2d``.

    >>> nn.BatchNorm2d(2)(mg.ones(2, 2, 3, 3)).shape
    minigrad.Size([2, 2, 3, 3])
    """

    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """Each channel of (N, C, D, H, W) with mean 0 and variance 1, over the batch. See `minigrad.nn.functional.batch_norm`.

    Mirrors ``torch.nn.BatchNorm3d``.

    >>> nn.BatchNorm3d(2)(mg.ones(1, 2, 3, 3, 3)).shape
    minigrad.Size([1, 2, 3, 3, 3])
    """

    dims = (5,)


class InstanceNorm1d(_InstanceNorm):
    """Each channel of (C, L) or (N, C, L) with mean 0 and variance 1, within each sample.

    See `minigrad.nn.functional.instance_norm`.

    Mirrors ``torch.nn.InstanceNorm1d``.

    >>> nn.InstanceNorm1d(2)(mg.ones(2, 2, 3)).shape
    minigrad.Size([2, 2, 3])
    """

    dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Each channel of (C, H, W) or (N, C, H, W) with mean 0 and variance 1, within each sample.

    See `minigrad.nn.functional.instance_norm`.

    Mirrors ``torch.nn.InstanceNorm2d``.

    >>> nn.InstanceNorm2d(2)(mg.ones(2, 2, 3, 3)).shape
    minigrad.Size([2, 2, 3, 3])
    """

    dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Each channel of (C, D, H, W) or (N, C, D, H, W) with mean 0 and variance 1, within each sample.

    See `minigrad.nn.functional.instance_norm`.

    Mirrors ``torch.nn.InstanceNorm3d``.

    >>> nn.InstanceNorm3d(2)(mg.ones(1, 2, 3, 3, 3)).shape
    minigrad.Size([1, 2, 3, 3, 3])
    """

    dims = (4, 5)
