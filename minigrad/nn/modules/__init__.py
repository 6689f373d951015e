"""Layers, one file per kind, as in ``torch/nn/modules``."""

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
