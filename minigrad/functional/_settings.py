"""Names and settings that programs ask for.

Mirrors ``torch/__init__.py`` and ``torch/csrc/Module.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._build.config import get_num_threads
from minigrad._core.graph.tensor import TensorBase
from minigrad.autograd.anomaly_mode import set_detect_anomaly
from minigrad.errors import ArgumentError

if TYPE_CHECKING:
    from typing import Any

__all__ = ["compiled_with_cxx11_abi", "get_num_interop_threads", "set_anomaly_enabled", "set_flush_denormal",
           "set_num_interop_threads", "typename"]


def typename(obj: Any, /) -> str:
    """The name of the type of `obj`, with its module: for a tensor ``x.type()``. Mirrors ``torch.typename``.

    >>> mg.typename(mg.ones(2)), mg.typename(3)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, TensorBase):
        return obj.type()       # pyright: ignore[reportAttributeAccessIssue]
    named = obj if hasattr(obj, "__qualname__") else type(obj) if getattr(obj, "__module__", None) or not hasattr(
        obj, "__name__") else None
    if named is None:
        return obj.__name__
    module = getattr(named, "__module__", "") or ""
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"




def get_num_interop_threads() -> int:
    """The number of threads for independent ops: 1, as ops run one after another here. Mirrors ``torch.get_num_interop_threads``.

    >>> mg.get_num_interop_threads()
    1
    """
    return min(1, get_num_threads())


def set_num_interop_threads(n: int, /) -> None:
    """Without effect: see `get_num_interop_threads`. Mirrors ``torch.set_num_interop_threads``.

    Raises:
        RuntimeError: `n` is not a positive integer.

    >>> mg.set_num_interop_threads(2)
    """
    if not isinstance(n, int) or isinstance(n, bool):
        raise ArgumentError("MG-E302", f"set_num_interop_threads expects an int, but got {type(n).__name__}")
    if n < 1:
        raise ArgumentError("MG-E302", "set_num_interop_threads expects a positive integer", found=str(n))


def set_flush_denormal(mode: bool, /) -> bool:
    """Return whether the processor now treats the smallest numbers as 0: False, it keeps them.

    Mirrors ``torch.set_flush_denormal``.

    Raises:
        RuntimeError: `mode` is not a bool.

    >>> mg.set_flush_denormal(True)
    False
    """
    if not isinstance(mode, bool):
        raise ArgumentError("MG-E302", f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return False


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """``mg.autograd.set_detect_anomaly``. Mirrors ``torch.set_anomaly_enabled``.

    >>> mg.set_anomaly_enabled(False)
    """
    set_detect_anomaly(enabled, check_nan)


def compiled_with_cxx11_abi() -> bool:
    """True: there is no other C++ here. Mirrors ``torch.compiled_with_cxx11_abi``.

    >>> mg.compiled_with_cxx11_abi()
    True
    """
    return True


def _assert(condition, message):
    """Raise `AssertionError` with `message` unless the condition holds. Mirrors ``torch._assert``."""
    if not condition:
        raise AssertionError(message)
