"""Extensions in C++, which minigrad does not have. Mirrors ``torch/utils/cpp_extension.py``."""

from minigrad._absent import absent

__all__ = ["CUDA_HOME", "BuildExtension", "CUDAExtension", "CppExtension", "load", "load_inline"]

CUDA_HOME = None
FIX = "minigrad.library.custom_op makes an operator of any Python function: of Cython's, numba's or ctypes' too"


def load(name, sources, *args, **kwargs):
    """Raise `NotImplementedError`. Mirrors ``torch.utils.cpp_extension.load``."""
    raise absent("torch.utils.cpp_extension.load", FIX)


def load_inline(name, cpp_sources, *args, **kwargs):
    """Raise `NotImplementedError`. Mirrors ``torch.utils.cpp_extension.load_inline``."""
    raise absent("torch.utils.cpp_extension.load_inline", FIX)


def CppExtension(name, sources, *args, **kwargs):
    """Raise `NotImplementedError`. Mirrors ``torch.utils.cpp_extension.CppExtension``."""
    raise absent("torch.utils.cpp_extension.CppExtension", FIX)


def CUDAExtension(name, sources, *args, **kwargs):
    """Raise `NotImplementedError`. Mirrors ``torch.utils.cpp_extension.CUDAExtension``."""
    raise absent("torch.utils.cpp_extension.CUDAExtension", FIX)


class BuildExtension:
    """Raise `NotImplementedError`. Mirrors ``torch.utils.cpp_extension.BuildExtension``."""

    def __init__(self, *args, **kwargs):
        raise absent("torch.utils.cpp_extension.BuildExtension", FIX)
