"""Making tensors: from data, from other libraries, filled, evenly spaced.

Everything here makes leaves of the class that ops return. `Tensor` builds on it, so nothing here imports ``tensor.py``.

Mirrors ``torch/csrc/utils/tensor_new.cpp`` and ``aten/src/ATen/native/TensorFactories.cpp``.
"""

from minigrad.creation._filled import (
    empty,
    empty_like,
    empty_strided,
    full,
    full_like,
    ones,
    ones_like,
    scalar_tensor,
    zeros,
    zeros_like,
)
from minigrad.creation._from_data import as_tensor, from_dlpack, from_numpy, frombuffer, tensor
from minigrad.creation._grids import broadcast_shapes, eye, tril_indices, triu_indices
from minigrad.creation._legacy import (
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
    set_default_tensor_type,
)
from minigrad.creation._ranges import arange, linspace, logspace

__all__ = ["BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
           "ShortTensor", "arange", "as_tensor", "broadcast_shapes", "empty", "empty_like", "empty_strided", "eye", "from_dlpack",
           "from_numpy", "frombuffer", "full", "full_like", "linspace", "logspace", "ones", "ones_like", "scalar_tensor",
           "set_default_tensor_type", "tensor", "tril_indices", "triu_indices", "zeros", "zeros_like"]
