"""Names for annotations: ``x: Tensor``, ``alpha: Number``.

The sources use these names in annotations alone (``if TYPE_CHECKING``), for readers and type checkers: importing minigrad does not
import this file. Cython converts nothing by them (``annotation_typing`` in setup.py).

Mirrors ``torch/types.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType

    from minigrad.dtypes import Device
    from minigrad.dtypes import dtype as DType
    from minigrad.tensor import QR, SVD, SignAndLogarithm, Size, Tensor, ValuesAndIndices

__all__ = ["QR", "SVD", "DType", "Device", "DeviceLike", "Index", "Number", "SignAndLogarithm", "Size", "Tensor",
           "ValuesAndIndices"]

Number: TypeAlias = "bool | int | float | complex"
DeviceLike: TypeAlias = "Device | str"
Index: TypeAlias = "int | slice | EllipsisType | Tensor | Sequence[Any] | tuple[Any, ...] | None"
