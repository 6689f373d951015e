"""How exact products are, and how deterministic. Mirrors functions of ``torch/__init__.py``."""

from __future__ import annotations

import warnings

from minigrad._build.config import are_deterministic_algorithms_enabled, use_deterministic_algorithms
from minigrad.errors import AutogradError, TensorTypeError

__all__ = ["get_deterministic_debug_mode", "get_float32_matmul_precision", "is_deterministic_algorithms_warn_only_enabled",
           "set_deterministic_debug_mode", "set_float32_matmul_precision"]

PRECISIONS = ("highest", "high", "medium")
MODES = ("default", "warn", "error")
_precision = "highest"


def get_float32_matmul_precision() -> str:
    """The precision that `set_float32_matmul_precision` has set. Mirrors ``torch.get_float32_matmul_precision``.

    >>> mg.get_float32_matmul_precision()
    'highest'
    """
    return _precision


def set_float32_matmul_precision(precision: str) -> None:
    """Allow products of float32 matrices to be less exact. minigrad keeps the value and always computes in float32.

    Mirrors ``torch.set_float32_matmul_precision``.

    Args:
        precision (str): "highest", "high" or "medium". PyTorch warns about another name and ignores it; so does minigrad.

    >>> mg.set_float32_matmul_precision("high"); mg.get_float32_matmul_precision()
    'high'
    >>> mg.set_float32_matmul_precision("highest")
    """
    global _precision
    if not isinstance(precision, str):
        raise TensorTypeError("MG-E201", f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision in PRECISIONS:
        _precision = precision
    else:
        warnings.warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has "
                      "no effect.", stacklevel=2)


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """False: no op of minigrad is refused, so there is nothing to warn of.

    Mirrors ``torch.is_deterministic_algorithms_warn_only_enabled``.

    >>> mg.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return False


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` under another name: "default" (0), "warn" (1) or "error" (2).

    Mirrors ``torch.set_deterministic_debug_mode``.

    Raises:
        RuntimeError: `debug_mode` is none of these.

    >>> mg.set_deterministic_debug_mode("error"); mg.get_deterministic_debug_mode()
    2
    >>> mg.set_deterministic_debug_mode(0)
    """
    number = MODES.index(debug_mode) if debug_mode in MODES else debug_mode    # pyright: ignore[reportArgumentType]
    if number not in (0, 1, 2):
        raise AutogradError("MG-E302", "invalid value of debug_mode, expected `default`, `warn`, or `error`, but got "
                            f"{debug_mode}")
    use_deterministic_algorithms(number != 0)


def get_deterministic_debug_mode() -> int:
    """0, or 2 while deterministic algorithms are required. Mirrors ``torch.get_deterministic_debug_mode``.

    >>> mg.get_deterministic_debug_mode()
    0
    """
    return 2 if are_deterministic_algorithms_enabled() else 0
