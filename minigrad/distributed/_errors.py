"""Errors of several processes. Mirrors the classes of ``torch/csrc/distributed/c10d/exception.h``."""

from minigrad.errors import MinigradError

__all__ = ["DistBackendError", "DistError"]


class DistError(MinigradError, RuntimeError):
    """Base of the errors of `minigrad.distributed`. Mirrors ``torch.distributed.DistError``.

    >>> issubclass(mg.distributed.DistBackendError, mg.distributed.DistError)
    True
    """

    own_name = True


class DistBackendError(DistError):
    """A rank is missing, is late, or does something else than the others. Mirrors ``torch.distributed.DistBackendError``.

    >>> issubclass(mg.distributed.DistBackendError, RuntimeError)
    True
    """


class NoGroupError(MinigradError, ValueError):
    """There is no process group, or it has no such rank."""
