"""GPUs of Intel: minigrad cannot compute there. Mirrors ``torch/xpu/__init__.py``."""

from minigrad._absent import absent

__all__ = ["current_device", "device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all", "synchronize"]


def is_available():
    """False. Mirrors ``torch.xpu.is_available``.

    >>> mg.xpu.is_available()
    False
    """
    return False


def device_count():
    """0. Mirrors ``torch.xpu.device_count``.

    >>> mg.xpu.device_count()
    0
    """
    return 0


def empty_cache():
    """Do nothing: there is no such GPU. Mirrors ``torch.xpu.empty_cache``.

    >>> mg.xpu.empty_cache()
    """


def manual_seed(seed):
    """Do nothing: there is no such GPU. Mirrors ``torch.xpu.manual_seed``.

    >>> mg.xpu.manual_seed(0)
    """


def manual_seed_all(seed):
    """Do nothing: there is no such GPU. Mirrors ``torch.xpu.manual_seed_all``.

    >>> mg.xpu.manual_seed_all(0)
    """


def current_device():
    """Raise `NotImplementedError`: there is no such GPU."""
    raise absent("GPU of the kind xpu", "mg.xpu.is_available() is False: compute on the CPU")


def synchronize(device=None):
    """Raise `NotImplementedError`: there is no such GPU."""
    raise absent("GPU of the kind xpu", "mg.xpu.is_available() is False: compute on the CPU")
