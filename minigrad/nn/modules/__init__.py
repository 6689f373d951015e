"""Layers, one file per kind, as in ``torch/nn/modules``.

``LATE`` has the names that few programs use. Their modules are imported with the first use of a name. PyTorch has some classes in
other files than we do; its import paths work here too.
"""

from minigrad._lazy import lazy as _lazy
from minigrad.nn.modules import (
    attention,
    batchnorm,
    conv,
    distance,
    fold,
    lists,
    losses,
    nonlinearity,
    normalization,
    padding,
    pooling,
    rnn,
    rnn_cells,
    sparse,
    transformer,
    upsampling,
)
from minigrad.nn.modules.activation import LogSoftmax, ReLU, Sigmoid, Softmax, Tanh
from minigrad.nn.modules.container import Sequential
from minigrad.nn.modules.dropout import AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d, FeatureAlphaDropout
from minigrad.nn.modules.flatten import Flatten, Unflatten
from minigrad.nn.modules.linear import Bilinear, Identity, Linear
from minigrad.nn.modules.loss import CrossEntropyLoss, MSELoss, NLLLoss
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.batchnorm import *
from minigrad.nn.modules.conv import *
from minigrad.nn.modules.distance import *
from minigrad.nn.modules.fold import *
from minigrad.nn.modules.lists import *
from minigrad.nn.modules.losses import *
from minigrad.nn.modules.nonlinearity import *
from minigrad.nn.modules.normalization import *
from minigrad.nn.modules.padding import *
from minigrad.nn.modules.pooling import *
from minigrad.nn.modules.sparse import *
from minigrad.nn.modules.attention import *
from minigrad.nn.modules.rnn import *
from minigrad.nn.modules.rnn_cells import *
from minigrad.nn.modules.transformer import *
from minigrad.nn.modules.upsampling import *

__all__ = ["AlphaDropout", "Bilinear", "CrossEntropyLoss", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d",
           "FeatureAlphaDropout", "Flatten", "Identity", "Linear", "LogSoftmax", "MSELoss",
           "Module", "NLLLoss", "ReLU", "Sequential", "Sigmoid", "Softmax", "Tanh", "Unflatten"]
for _part in (attention, batchnorm, conv, distance, fold, lists, losses, nonlinearity, normalization, padding, pooling, rnn,
              rnn_cells, sparse, transformer, upsampling):
    __all__ += _part.__all__    # pyright: ignore[reportAttributeAccessIssue, reportUnsupportedDunderAll]

# Module -> its public names. The modules with no names here are PyTorch's paths to layers that are above.
LATE = {
    "channelshuffle": (), "instancenorm": (), "lazy": (), "pixelshuffle": (), "utils": (),
    "_lazy_convolutions": ("LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d",
                           "LazyConvTranspose3d"),
    "_late_layers": ("CTCLoss", "EmbeddingBag", "MultiLabelMarginLoss", "NLLLoss2d", "RReLU", "Softmax2d", "SyncBatchNorm",
                     "TripletMarginWithDistanceLoss"),
    "_lazy_linear": ("LazyLinear",),
    "_lazy_norms": ("LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
                    "LazyInstanceNorm3d"),
    "adaptive": ("AdaptiveLogSoftmaxWithLoss",),
}
LATE_NAMES = {name: module for module, names in LATE.items() for name in names}

__getattr__, __dir__ = _lazy(__name__, LATE, {module: " ".join(names) for module, names in LATE.items()})
