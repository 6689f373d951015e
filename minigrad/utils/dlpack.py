"""Share memory with other libraries. Mirrors ``torch/utils/dlpack.py``."""

from minigrad import from_dlpack
from minigrad.ops.base.arguments import tensor_argument

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor):
    """The capsule of a tensor, which another library's `from_dlpack` takes. Mirrors ``torch.utils.dlpack.to_dlpack``."""
    return tensor_argument("to_dlpack", tensor, "tensor").__dlpack__()
