"""The functions of neural networks: layers without parameters of their own, and losses.

    this folder         activations, losses, attention, dropout ...: they check arguments, then call or compose ops
    ``ops/nn/``         the rules: convolution, pooling, normalization, cross entropy ...

Mirrors ``torch/nn/functional.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad import ops as _ops
from minigrad._lazy import lazy as _lazy
from minigrad.nn.functional import (
    _activations, _attention, _class_losses, _dropout, _embedding, _losses, _multi_head, _normalization, _padding, _pair_losses,
    _piecewise)
from minigrad.nn.functional._activations import *
from minigrad.nn.functional._activations import implicit_dim
from minigrad.nn.functional._attention import *
from minigrad.nn.functional._class_losses import *
from minigrad.nn.functional._dropout import *
from minigrad.nn.functional._embedding import *
from minigrad.nn.functional._losses import *
from minigrad.nn.functional._multi_head import *
from minigrad.nn.functional._normalization import *
from minigrad.nn.functional._padding import *
from minigrad.nn.functional._pair_losses import *
from minigrad.nn.functional._piecewise import *
from minigrad.ops.base import arguments as _base
from minigrad.ops.linalg.matrix import linear
from minigrad.ops.linalg.pairwise import bilinear, pdist
from minigrad.ops.nn import averaging as _averaging
from minigrad.ops.nn import convolution as _convolution
from minigrad.ops.nn import interpolation as _interpolation
from minigrad.ops.nn import pooling as _pooling
from minigrad.ops.nn import softmax as _softmax
from minigrad.ops.nn import unfolding as _unfolding
from minigrad.ops.nn.averaging import *
from minigrad.ops.nn.convolution import *
from minigrad.ops.nn.interpolation import *
from minigrad.ops.nn.losses import cross_entropy, mse_loss, nll_loss
from minigrad.ops.nn.pooling import *
from minigrad.ops.nn.unfolding import *
from minigrad.ops.sort.counting import one_hot

if TYPE_CHECKING:
    from minigrad.types import DType, Tensor

__all__ = ["bilinear", "cross_entropy", "linear", "log_softmax", "mse_loss", "nll_loss", "one_hot", "pdist", "relu",
           "sigmoid", "softmax", "tanh"]
for _part in (_activations, _attention, _class_losses, _dropout, _embedding, _losses, _multi_head, _normalization, _padding,
              _pair_losses, _piecewise, _averaging, _convolution, _interpolation, _pooling, _unfolding):
    __all__ += _part.__all__    # pyright: ignore[reportUnsupportedDunderAll]
# Functions that few programs use: they are imported when a program asks for them.
_late_names = {
    "_bags": "embedding_bag", "_ctc": "ctc_loss", "_grids": "affine_grid grid_sample",
    "_in_place": "celu_ elu_ hardtanh_ leaky_relu_ relu_ selu_ threshold_ triplet_margin_with_distance_loss",
    "_late": "max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices multilabel_margin_loss rrelu rrelu_",
}
__getattr__, __dir__ = _lazy(__name__, names=_late_names)
__all__ += " ".join(_late_names.values()).split()     # pyright: ignore[reportUnsupportedDunderAll]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0) for each element x of `input`. Mirrors ``torch.nn.functional.relu``.

    Args:
        input (Tensor): of any shape and real dtype.
        inplace (bool): write the result over `input`.

    >>> F.relu(mg.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    _base.tensor_argument("relu", input)
    return input.relu_() if _base.truth(inplace, "inplace", "relu") else _ops.relu(input)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + e^-x) for each element x of `input`. Mirrors ``torch.nn.functional.sigmoid``.

    >>> F.sigmoid(mg.tensor([0., 2.]))
    tensor([0.5000, 0.8808])
    """
    return _ops.sigmoid(input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element. Mirrors ``torch.nn.functional.tanh``.

    >>> F.tanh(mg.tensor([0., 1.]))
    tensor([0.0000, 0.7616])
    """
    return _ops.tanh(input)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """e^x / Σ e^x along `dim`.

    Args:
        input (Tensor): of any shape.
        dim (int): the dimension along which the results sum to 1. If it is None, a warning says that this is deprecated.
        dtype (dtype, optional): convert the input to it first.

    `_stacklevel` has no effect. Mirrors ``torch.nn.functional.softmax``.

    >>> F.softmax(mg.tensor([0., 0.]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return _softmax.softmax(input, implicit_dim("softmax", dim, _base.tensor_argument("softmax", input).ndim), dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """The logarithm of softmax along `dim`: x - log Σ e^x. The arguments are as in `softmax`.

    Mirrors ``torch.nn.functional.log_softmax``.

    >>> F.log_softmax(mg.tensor([0., 0.]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    _base.tensor_argument("log_softmax", input)
    return _softmax.log_softmax(input, implicit_dim("log_softmax", dim, input.ndim), dtype=dtype)
