"""The dtype bfloat16, made when a program first names it: it needs the package ml_dtypes, which ``import minigrad`` need not load.

    mg.bfloat16  ──┐
    mg.load(...) ──┼──> named_dtype("bfloat16") ──> this module: import ml_dtypes, make the DType
    pickle       ──┘

Read next: Note [Rounding] in ``_core/graph/metadata.py``, and ``kernels/rounding.py``.
"""

from types import SimpleNamespace

import numpy as np

from minigrad._core.graph.metadata import add_bfloat16
from minigrad.creation._legacy import tensor_type
from minigrad.dtypes import TENSOR_TYPES, TYPE_NAMES  # pyright: ignore[reportAttributeAccessIssue]

try:
    import ml_dtypes
except ModuleNotFoundError as error:
    if error.name != "ml_dtypes":
        raise
    raise ModuleNotFoundError(
        "minigrad.bfloat16 needs the package ml_dtypes, which teaches NumPy this dtype: pip install ml_dtypes\n"
        "Without it: float32, or float16 for small files.", name="ml_dtypes") from None

__all__ = ["BFloat16Tensor", "bfloat16"]

_numpy = np.dtype(ml_dtypes.bfloat16)
_limits = SimpleNamespace(bits=16, dtype="bfloat16", precision=2, resolution=0.01, **{
    name: float(getattr(ml_dtypes.finfo(_numpy), name)) for name in ("eps", "max", "min", "smallest_normal", "tiny")})
bfloat16 = add_bfloat16(_limits)
TENSOR_TYPES["BFloat16Tensor"] = bfloat16
TYPE_NAMES["bfloat16"] = "BFloat16Tensor"
BFloat16Tensor = tensor_type("BFloat16Tensor")
