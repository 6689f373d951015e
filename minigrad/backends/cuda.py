"""Switches of the products of matrices on a GPU. Mirrors ``torch/backends/cuda/__init__.py``."""

import contextlib as _contextlib

from minigrad import cuda as _cuda

__all__ = ["enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp", "flash_sdp_enabled", "is_built", "math_sdp_enabled",
           "matmul", "mem_efficient_sdp_enabled", "sdp_kernel"]


def is_built():
    """Whether minigrad can compute on a GPU here. In PyTorch: whether it was compiled with CUDA.

    >>> mg.backends.cuda.is_built() == mg.cuda.is_available()
    True
    """
    return _cuda.is_available()


class _Matmul:
    """Switches of a product of matrices. minigrad keeps them, and always computes float32 products in float32."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul = _Matmul()


def enable_flash_sdp(enabled):
    """Accepted as in PyTorch; attention is always computed by its formula.

    >>> mg.backends.cuda.enable_flash_sdp(True)
    """


def enable_mem_efficient_sdp(enabled):
    """Accepted as in PyTorch; attention is always computed by its formula.

    >>> mg.backends.cuda.enable_mem_efficient_sdp(True)
    """


def enable_math_sdp(enabled):
    """Accepted as in PyTorch; attention is always computed by its formula.

    >>> mg.backends.cuda.enable_math_sdp(True)
    """


def flash_sdp_enabled():
    """False: minigrad has no such kernel.

    >>> mg.backends.cuda.flash_sdp_enabled()
    False
    """
    return False


def mem_efficient_sdp_enabled():
    """False: minigrad has no such kernel.

    >>> mg.backends.cuda.mem_efficient_sdp_enabled()
    False
    """
    return False


def math_sdp_enabled():
    """True: attention is computed by its formula.

    >>> mg.backends.cuda.math_sdp_enabled()
    True
    """
    return True


@_contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Accepted as in PyTorch; attention is always computed by its formula. Deprecated there: use `nn.attention.sdpa_kernel`.

    >>> with mg.backends.cuda.sdp_kernel(enable_flash=False):
    ...     pass
    """
    yield {}
