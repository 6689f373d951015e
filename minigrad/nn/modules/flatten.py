"""Modules that change the shape. Mirrors ``torch/nn/modules/flatten.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.nn.modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Merge the dimensions from `start_dim` to `end_dim` into one. Mirrors ``torch.nn.Flatten``.

    >>> nn.Flatten()(mg.ones(5, 2, 3)).shape
    minigrad.Size([5, 6])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split a dimension into several. Mirrors ``torch.nn.Unflatten``.

    Args:
        dim (int): the dimension.
        unflattened_size (tuple of ints): the new sizes. One of them may be -1.

    Raises:
        TypeError: `unflattened_size` is not a tuple or list of ints.

    >>> nn.Unflatten(1, (2, 3))(mg.ones(5, 6)).shape
    minigrad.Size([5, 2, 3])
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}")
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError("unflattened_size must be tuple of ints, but found element of type "
                                f"{type(size).__name__} at pos {i}")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
