"""Making tensors: from data, from other libraries, filled, evenly spaced.

Everything here makes leaves of the class that ops return. `Tensor` builds on it, so nothing here imports ``tensor.py``.

Mirrors ``torch/csrc/utils/tensor_new.cpp`` and ``aten/src/ATen/native/TensorFactories.cpp``.
"""

from minigrad._lazy import lazy as _lazy
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

LATE = {"_grids": "broadcast_shapes eye tril_indices triu_indices", "_ranges": "arange linspace logspace"}

__getattr__, __dir__ = _lazy(__name__, names=LATE)

__all__ = ["BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
           "ShortTensor", "as_tensor", "empty", "empty_like", "empty_strided", "from_dlpack", "from_numpy", "frombuffer", "full",
           "full_like", "ones", "ones_like", "scalar_tensor", "set_default_tensor_type", "tensor", "zeros", "zeros_like"]
