"""Switches of oneDNN, which minigrad does not use. Mirrors ``torch/backends/mkldnn/__init__.py``."""

__all__ = ["is_available"]

enabled = True
deterministic = False
allow_tf32 = False


def is_available():
    """False: minigrad does not use oneDNN. Mirrors ``torch.backends.mkldnn.is_available``.

    >>> mg.backends.mkldnn.is_available()
    False
    """
    return False
