"""Layers, one file per kind as in ``torch/nn/modules``."""

from minigrad.nn.modules import nonlinearity
from minigrad.nn.modules.activation import LogSoftmax, ReLU, Sigmoid, Softmax, Tanh
from minigrad.nn.modules.container import Sequential
from minigrad.nn.modules.conv import Conv2d
from minigrad.nn.modules.dropout import Dropout
from minigrad.nn.modules.flatten import Flatten, Unflatten
from minigrad.nn.modules.linear import Identity, Linear
from minigrad.nn.modules.loss import CrossEntropyLoss, MSELoss, NLLLoss
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.nonlinearity import *
from minigrad.nn.modules.pooling import AvgPool2d, MaxPool2d

__all__ = ["AvgPool2d", "Conv2d", "CrossEntropyLoss", "Dropout", "Flatten", "Identity", "Linear", "LogSoftmax", "MSELoss",
           "MaxPool2d", "Module", "NLLLoss", "ReLU", "Sequential", "Sigmoid", "Softmax", "Tanh", "Unflatten"]
__all__ += nonlinearity.__all__
