"""The version of minigrad, and of the libraries that PyTorch is built with and minigrad is not.

    mg.version.__version__, mg.version.cuda, mg.version.hip

Mirrors ``torch/version.py``.
"""

from minigrad._version import __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]

cuda = None         # minigrad is not built with CUDA: numba compiles the kernels for the GPU that it finds (mg.cuda.is_available())
hip = None
xpu = None
debug = False
git_version = "Unknown"
