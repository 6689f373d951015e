"""OpenMP, which divides large arrays among threads. Mirrors ``torch/backends/openmp/__init__.py``."""

from minigrad._build import config

__all__ = ["is_available"]


def is_available():
    """Whether the compiled kernels use OpenMP; False if minigrad runs interpreted. Mirrors ``torch.backends.openmp.is_available``.

    >>> mg.backends.openmp.is_available() in (True, False)
    True
    """
    return config._threads is not None and bool(config._threads.has_openmp())
