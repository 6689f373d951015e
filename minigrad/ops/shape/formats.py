"""How the numbers of a tensor may lie in memory: the names that PyTorch has for it, of which we know the plain ones.

    strided                 any number has its place by strides: every tensor of ours
    contiguous_format       row by row
    preserve_format         as another tensor lies, where that is without gaps

Mirrors ``torch/csrc/{Layout,MemoryFormat}.h``.
"""

from minigrad.errors import ShapeError
from minigrad.ops.base.rule import wrong_type

__all__ = []


class memory_format(str):
    """In which order the numbers of a tensor lie: `contiguous_format`, `preserve_format`. Mirrors ``torch.memory_format``.

    >>> mg.contiguous_format
    minigrad.contiguous_format
    """

    __slots__ = ()

    def __repr__(self):
        return f"minigrad.{self!s}"


class layout:
    """How a tensor lies in memory: `strided`, the only one. Mirrors ``torch.layout``.

    >>> mg.zeros(2).layout
    minigrad.strided
    """

    __slots__ = ()

    def __repr__(self):
        return "minigrad.strided"

    def __reduce__(self):
        return "strided"


strided = layout()
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")


def check_format(function, value):
    """`value`, a memory format that we have, or None. Raises `RuntimeError` for channels_last, `TypeError` for what is none."""
    if value is None:
        return None
    if not isinstance(value, memory_format):
        raise wrong_type(function, "memory_format", "minigrad.memory_format", value)
    if value in (channels_last, channels_last_3d):
        raise ShapeError("MG-E302", f"{function}(): {value} is not supported: our kernels compute row by row",
                         fix="leave out memory_format; the numbers are the same in any format")
    return value
