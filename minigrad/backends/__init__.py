"""The libraries that compute, and their switches. Mirrors ``torch.backends``.

    mg.backends.cudnn.benchmark = True          a program may set every switch
    mg.backends.mps.is_available()              False

minigrad has its own kernels, and uses none of NVIDIA's libraries. So a switch keeps its value but does not change a result:
the CPU is always deterministic, and on a GPU `use_deterministic_algorithms` decides.
"""

from minigrad._lazy import lazy as _lazy

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "quantized"]    # pyright: ignore[reportUnsupportedDunderAll]

__getattr__, __dir__ = _lazy(__name__, __all__)
