"""The libraries that compute, and their switches. Mirrors ``torch.backends``.

    mg.backends.cudnn.benchmark = True          a program may set every switch
    mg.backends.mps.is_available()              False

minigrad has its own kernels, and uses none of NVIDIA's libraries. So a switch keeps its value but does not change a result:
the CPU is always deterministic, and on a GPU `use_deterministic_algorithms` decides.
"""

import importlib

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]    # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name):
    """Import a module when a program reads its name."""
    if name in __all__:
        return importlib.import_module(f"minigrad.backends.{name}")
    raise AttributeError(f"module 'minigrad.backends' has no attribute {name!r}")
