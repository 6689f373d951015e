"""The lazy forms of batch and instance normalization. Mirrors ``torch/nn/modules/batchnorm.py``."""

from __future__ import annotations

# pyright: reportAttributeAccessIssue=false
# (the parameters are uninitialized at first)
from typing import TYPE_CHECKING

from minigrad.creation import tensor
from minigrad.dtypes import int64
from minigrad.errors import ShapeError
from minigrad.nn.modules.batchnorm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    _BatchNorm,
    _InstanceNorm,
    _NormBase,
)
from minigrad.nn.modules.lazy import LazyModuleMixin
from minigrad.nn.parameter import UninitializedBuffer, UninitializedParameter
from minigrad.ops.base.arguments import tensor_argument, truth

if TYPE_CHECKING:
    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
           "LazyInstanceNorm3d"]


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """What the lazy normalizations share: the number of channels is that of the first input."""

    def __init__(self, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True, track_running_stats: bool = True,
                 device: DeviceLike | None = None, dtype: DType | None = None, *, bias: bool = True) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine = truth(affine, "affine", type(self).__name__)
        self.track_running_stats = track_running_stats = truth(track_running_stats, "track_running_stats", type(self).__name__)
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if truth(bias, "bias", type(self).__name__):
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0, and reset the running statistics, if their shapes are known."""
        if not self.has_uninitialized_params() and self.num_features:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take ``num_features`` from dimension 1 of the input.

        Args:
            input (Tensor): the input of the first call.
        """
        tensor_argument(type(self).__name__, input)
        if input.ndim < 2:
            raise ShapeError("MG-E205", f"{type(self).__name__}: expected input of shape (N, C, ...)", found=str(list(input.shape)))
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for value in (self.weight, self.bias, self.running_mean, self.running_var):
                if value is not None:
                    value.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm1d` that takes ``num_features`` from its first input, and is a `BatchNorm1d` from then on.

    The arguments are as in `BatchNorm1d`, without ``num_features``. Here `affine` and `track_running_stats` are True by default.
    Mirrors ``torch.nn.LazyBatchNorm1d``.

    >>> layer = nn.LazyBatchNorm1d()
    >>> layer(mg.ones(2, 3, 4)).shape, layer.weight.shape
    (minigrad.Size([2, 3, 4]), minigrad.Size([3]))
    """

    cls_to_become = BatchNorm1d
    dims = BatchNorm1d.dims


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm2d` that takes ``num_features`` from its first input, and is a `BatchNorm2d` from then on.

    The arguments are as in `BatchNorm2d`, without ``num_features``. Here `affine` and `track_running_stats` are True by default.
    Mirrors ``torch.nn.LazyBatchNorm2d``.

    >>> layer = nn.LazyBatchNorm2d()
    >>> layer(mg.ones(2, 3, 4, 4)).shape, layer.weight.shape
    (minigrad.Size([2, 3, 4, 4]), minigrad.Size([3]))
    """

    cls_to_become = BatchNorm2d
    dims = BatchNorm2d.dims


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm3d` that takes ``num_features`` from its first input, and is a `BatchNorm3d` from then on.

    The arguments are as in `BatchNorm3d`, without ``num_features``. Here `affine` and `track_running_stats` are True by default.
    Mirrors ``torch.nn.LazyBatchNorm3d``.

    >>> layer = nn.LazyBatchNorm3d()
    >>> layer(mg.ones(2, 3, 4, 4, 4)).shape, layer.weight.shape
    (minigrad.Size([2, 3, 4, 4, 4]), minigrad.Size([3]))
    """

    cls_to_become = BatchNorm3d
    dims = BatchNorm3d.dims


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """A `InstanceNorm1d` that takes ``num_features`` from its first input, and is a `InstanceNorm1d` from then on.

    The arguments are as in `InstanceNorm1d`, without ``num_features``. Here `affine` and `track_running_stats` are True by default.
    Mirrors ``torch.nn.LazyInstanceNorm1d``.

    >>> layer = nn.LazyInstanceNorm1d()
    >>> layer(mg.ones(2, 3, 4)).shape, layer.weight.shape
    (minigrad.Size([2, 3, 4]), minigrad.Size([3]))
    """

    cls_to_become = InstanceNorm1d
    dims = InstanceNorm1d.dims


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """A `InstanceNorm2d` that takes ``num_features`` from its first input, and is a `InstanceNorm2d` from then on.

    The arguments are as in `InstanceNorm2d`, without ``num_features``. Here `affine` and `track_running_stats` are True by default.
    Mirrors ``torch.nn.LazyInstanceNorm2d``.

    >>> layer = nn.LazyInstanceNorm2d()
    >>> layer(mg.ones(2, 3, 4, 4)).shape, layer.weight.shape
    (minigrad.Size([2, 3, 4, 4]), minigrad.Size([3]))
    """

    cls_to_become = InstanceNorm2d
    dims = InstanceNorm2d.dims


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """A `InstanceNorm3d` that takes ``num_features`` from its first input, and is a `InstanceNorm3d` from then on.

    The arguments are as in `InstanceNorm3d`, without ``num_features``. Here `affine` and `track_running_stats` are True by default.
    Mirrors ``torch.nn.LazyInstanceNorm3d``.

    >>> layer = nn.LazyInstanceNorm3d()
    >>> layer(mg.ones(2, 3, 4, 4, 4)).shape, layer.weight.shape
    (minigrad.Size([2, 3, 4, 4, 4]), minigrad.Size([3]))
    """

    cls_to_become = InstanceNorm3d
    dims = InstanceNorm3d.dims
