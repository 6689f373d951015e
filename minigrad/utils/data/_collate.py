"""Make one batch from a list of samples. Mirrors ``torch/utils/data/_utils/collate.py``."""

from collections.abc import Mapping, Sequence

import numpy as np

from minigrad._arguments import sized
from minigrad.creation import as_tensor, tensor
from minigrad.dtypes import float64
from minigrad.errors import ArgumentError, TensorTypeError
from minigrad.ops import stack
from minigrad.ops.base.arguments import wrong_type
from minigrad.tensor import Tensor

__all__ = ["default_collate", "default_convert"]


def default_collate(batch):
    """Make one batch from a list of samples.

    Tensors, arrays and numbers are stacked in a new first dimension. Strings stay a list. For samples that are dicts, tuples or
    lists, each element is collated separately.

    Args:
        batch (sequence): one or more samples of the same structure.

    Returns:
        Tensor, or a container of tensors: it has the structure of a sample.

    Raises:
        TypeError: a sample has another type.
        RuntimeError: the samples are sequences of different lengths, or tensors of different shapes.

    Mirrors ``torch.utils.data.default_collate``.

    >>> mg.utils.data.default_collate([{"x": 1, "y": "a"}, {"x": 2, "y": "b"}])
    {'x': tensor([1, 2]), 'y': ['a', 'b']}
    """
    if isinstance(batch, Mapping) or not len(sized(batch, "batch", "default_collate")):
        raise wrong_type("default_collate", "batch", "list of one sample or more", batch)
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch), 0)
    if isinstance(first, np.ndarray):
        if first.dtype.kind not in "biufc":
            raise make_type_error(first.dtype)
        return stack([as_tensor(b) for b in batch], 0)
    if isinstance(first, np.generic):
        return as_tensor(np.array(batch))
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([b[key] for b in batch]) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*[default_collate(part) for part in zip(*batch)])
    if isinstance(first, Sequence):
        if any(len(b) != len(first) for b in batch):
            raise ArgumentError("MG-E333", "each element in list of batch should be of equal size",
                                found=", ".join(sorted({str(len(b)) for b in batch})) + " elements")
        return [default_collate(part) for part in zip(*batch)]
    raise make_type_error(type(first))


def default_convert(data):
    """Convert the arrays of a sample to tensors, and its tuples to lists. `DataLoader` calls it if there are no batches.

    Mirrors ``torch.utils.data.default_convert``.

    >>> import numpy as np
    >>> mg.utils.data.default_convert([np.ones(2), "a"])
    [tensor([1., 1.], dtype=minigrad.float64), 'a']
    """
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind in "biufc":
        return as_tensor(data)
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*[default_convert(part) for part in data])
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return [default_convert(part) for part in data]
    return data


def make_type_error(kind):
    """Return the error for samples of a type that `default_collate` does not know."""
    return TensorTypeError("MG-E333", "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
                           f"found {kind}",
                           fix="pass your own collate_fn to DataLoader")
