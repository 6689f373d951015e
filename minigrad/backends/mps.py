"""GPUs of Apple: minigrad cannot compute there. Mirrors ``torch/backends/mps/__init__.py``."""

__all__ = ["is_available", "is_built", "is_macos13_or_newer"]


def is_available():
    """False. Mirrors ``torch.backends.mps.is_available``.

    >>> mg.backends.mps.is_available()
    False
    """
    return False


def is_built():
    """False. Mirrors ``torch.backends.mps.is_built``.

    >>> mg.backends.mps.is_built()
    False
    """
    return False


def is_macos13_or_newer(minor=0):
    """False. Mirrors ``torch.backends.mps.is_macos13_or_newer``.

    >>> mg.backends.mps.is_macos13_or_newer()
    False
    """
    return False
