"""Warnings that come once in a process. Mirrors ``TORCH_WARN_ONCE`` of c10/util/Exception.h."""

import warnings

from minigrad.errors import AutogradError

__all__ = ["is_warn_always_enabled", "set_warn_always"]

_always = False
_seen = set()


def set_warn_always(b, /):
    """Whether warnings that come once in a process come each time. Mirrors ``torch.set_warn_always``.

    Raises:
        RuntimeError: `b` is no bool.

    >>> mg.set_warn_always(True); mg.is_warn_always_enabled()
    True
    >>> mg.set_warn_always(False)
    """
    global _always
    if not isinstance(b, bool):
        raise AutogradError("MG-E201", f"set_warn_always(): setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    _always = b


def is_warn_always_enabled():
    """Whether `set_warn_always` has been asked for. Mirrors ``torch.is_warn_always_enabled``.

    >>> mg.is_warn_always_enabled()
    False
    """
    return _always


def warn_once(text, stacklevel):
    """Warn, if nobody has been told yet; `stacklevel` as for `warnings.warn`, counted from the caller."""
    if _always or text not in _seen:
        _seen.add(text)
        warnings.warn(text, UserWarning, stacklevel=stacklevel + 1)
