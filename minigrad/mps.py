"""GPUs of Apple: minigrad cannot compute there. Mirrors ``torch/mps/__init__.py``."""

from minigrad._absent import absent

__all__ = ["current_allocated_memory", "device_count", "driver_allocated_memory", "empty_cache", "manual_seed", "seed",
           "synchronize"]


def device_count():
    """0. Mirrors ``torch.mps.device_count``.

    >>> mg.mps.device_count()
    0
    """
    return 0


def manual_seed(seed):
    """Do nothing: there is no such GPU. Mirrors ``torch.mps.manual_seed``.

    >>> mg.mps.manual_seed(0)
    """


def seed():
    """Do nothing: there is no such GPU. Mirrors ``torch.mps.seed``.

    >>> mg.mps.seed()
    """


def refuse():
    """Raise `NotImplementedError`: there is no such GPU."""
    raise absent("GPU of the kind mps", "mg.backends.mps.is_available() is False: compute on the CPU")


def empty_cache():
    """Raise `NotImplementedError`, a `RuntimeError`: there is no such GPU."""
    refuse()


def synchronize():
    """Raise `NotImplementedError`, a `RuntimeError`: there is no such GPU."""
    refuse()


def current_allocated_memory():
    """Raise `NotImplementedError`, a `RuntimeError`: there is no such GPU."""
    refuse()


def driver_allocated_memory():
    """Raise `NotImplementedError`, a `RuntimeError`: there is no such GPU."""
    refuse()
