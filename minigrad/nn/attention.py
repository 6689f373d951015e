"""The implementation of `scaled_dot_product_attention`: a program chooses, and minigrad always computes the formula.

Mirrors ``torch/nn/attention/__init__.py``.
"""

import contextlib
import enum

from minigrad.errors import TensorTypeError

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.IntEnum):
    """The implementations that PyTorch has. Mirrors ``torch.nn.attention.SDPBackend``."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Accepted as in PyTorch: attention is always computed by its formula. Mirrors ``torch.nn.attention.sdpa_kernel``.

    Args:
        backends (SDPBackend or list of SDPBackend): which implementations PyTorch may use.
        set_priority (bool): their order counts.

    Raises:
        TypeError: one of `backends` is no `SDPBackend`.

    >>> from minigrad.nn.attention import SDPBackend, sdpa_kernel
    >>> q = mg.ones(1, 2, 3)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     F.scaled_dot_product_attention(q, q, q).shape
    minigrad.Size([1, 2, 3])
    """
    for backend in backends if isinstance(backends, (list, tuple)) else [backends]:
        if not isinstance(backend, SDPBackend):
            raise TensorTypeError("MG-E203", "sdpa_kernel needs an SDPBackend or a list of them", found=type(backend).__name__)
    yield {}
