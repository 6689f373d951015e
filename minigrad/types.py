"""Names for annotations: ``x: Tensor``, ``alpha: Number``.

The sources use these names in annotations alone (``if TYPE_CHECKING``), for readers and type checkers: importing minigrad does not
import this file. Cython converts nothing by them (``annotation_typing`` in setup.py).

Mirrors ``torch/types.py``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from types import EllipsisType
    from typing import IO

    from minigrad.dtypes import Device
    from minigrad.dtypes import dtype as DType
    from minigrad.tensor import QR, SVD, SignAndLogarithm, Size, Tensor, ValuesAndIndices

__all__ = ["QR", "SVD", "DType", "Device", "DeviceLike", "Index", "Number", "SignAndLogarithm", "Size", "Tensor",
           "ValuesAndIndices"]

Number: TypeAlias = "bool | int | float | complex"
DeviceLike: TypeAlias = "Device | str"
Index: TypeAlias = "int | slice | EllipsisType | Tensor | Sequence[Any] | tuple[Any, ...] | None"

# PyTorch's private names, for programs that import them: ``from torch.types import _int, _size``.
_bool, _bytes, _complex, _float, _int, _str = bool, bytes, complex, float, int, str
_size = "Size | list[int] | tuple[int, ...]"
_dtype, _device, _layout = "DType", "Device", "layout"
_TensorOrTensors = "Tensor | Sequence[Tensor]"
_Number = (int, float, bool)
FileLike: TypeAlias = "str | PathLike[str] | IO[bytes]"
Storage: TypeAlias = Any


def __getattr__(name):
    """The classes that the annotations name, when a program asks for one: ``from torch.types import Device``."""
    minigrad = sys.modules["minigrad"]
    if name in ("Tensor", "Size"):
        return getattr(minigrad, name)
    if name == "Device":
        return minigrad.device | str | int | None
    raise AttributeError(f"module 'minigrad.types' has no attribute {name!r}")
