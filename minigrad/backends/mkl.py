"""Intel's MKL: minigrad uses the BLAS of NumPy. Mirrors ``torch/backends/mkl/__init__.py``."""

__all__ = ["is_available"]


def is_available():
    """False: products of matrices use the BLAS of NumPy. Mirrors ``torch.backends.mkl.is_available``.

    >>> mg.backends.mkl.is_available()
    False
    """
    return False
