"""The version of minigrad, and what it was built with. Mirrors ``torch/version.py``."""

from minigrad._version import __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]

debug = False
cuda = None         # minigrad compiles its CUDA kernels when they are first used
hip = None
xpu = None
git_version = "unknown"
