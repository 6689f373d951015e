"""Warnings that are shown once in a process. Mirrors ``TORCH_WARN_ONCE`` of c10/util/Exception.h."""

from __future__ import annotations

import warnings

from minigrad.errors import AutogradError

__all__ = ["is_warn_always_enabled", "set_warn_always"]

_always = False
_seen = set()


def set_warn_always(b: float, /) -> None:
    """Set whether warnings that are shown once in a process are shown every time. Mirrors ``torch.set_warn_always``.

    Raises:
        RuntimeError: `b` is not a bool.

    >>> mg.set_warn_always(True); mg.is_warn_always_enabled()
    True
    >>> mg.set_warn_always(False)
    """
    global _always
    if not isinstance(b, bool):
        raise AutogradError("MG-E201", f"set_warn_always(): setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _always = b


def is_warn_always_enabled() -> bool:
    """Whether `set_warn_always(True)` is in effect. Mirrors ``torch.is_warn_always_enabled``.

    >>> mg.is_warn_always_enabled()
    False
    """
    return _always


def warn_once(text, stacklevel):
    """Warn, unless this text has been shown before. `stacklevel` counts from the caller, as in `warnings.warn`."""
    if _always or text not in _seen:
        _seen.add(text)
        warnings.warn(text, UserWarning, stacklevel=stacklevel + 1)
