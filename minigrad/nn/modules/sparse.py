"""Embedding: a learnable table, and the look-up of its rows. Mirrors ``torch/nn/modules/sparse.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad.autograd.grad_mode import no_grad
from minigrad.creation import empty
from minigrad.errors import AutogradAssertionError
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.base.arguments import integer, tensor_argument

if TYPE_CHECKING:
    from typing import Self

    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["Embedding"]


class Embedding(Module):
    """The row of a table for each index. See `minigrad.nn.functional.embedding`.

    Args:
        num_embeddings (int): V, the number of rows.
        embedding_dim (int): D, the size of a row.
        padding_idx (int, optional): a row that is initially 0 and gets no gradient.
        max_norm, norm_type, scale_grad_by_freq, sparse: as in the function.
        device, dtype (optional): the device and dtype of the table.

    `weight` is the table, (V, D). Its initial values are from the standard normal distribution. Mirrors ``torch.nn.Embedding``.

    Raises:
        AssertionError: `padding_idx` is not in [-V, V).

    >>> nn.Embedding(10, 3)(mg.tensor([[1, 2], [4, 4]])).shape
    minigrad.Size([2, 2, 3])
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
                 norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Tensor | None = None,
                 _freeze: bool = False, device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings = integer(num_embeddings, "num_embeddings", "Embedding")
        self.embedding_dim = embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= integer(padding_idx, "padding_idx", "Embedding") < num_embeddings:
                raise AutogradAssertionError("MG-E332", "Padding_idx must be within num_embeddings",
                                             expected=f"below {num_embeddings}", found=str(padding_idx))
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if _weight is not None:
            if list(tensor_argument("Embedding", _weight, "_weight", 8).shape) != [num_embeddings, embedding_dim]:
                raise AutogradAssertionError("MG-E332", "Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(_weight, requires_grad=not _freeze)
        else:
            self.weight = Parameter(empty(num_embeddings, embedding_dim, device=device, dtype=dtype), requires_grad=not _freeze)
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw a new table."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                           self.sparse)

    def extra_repr(self) -> str:
        said = [str(self.num_embeddings), str(self.embedding_dim)]
        for name, usual in (("padding_idx", None), ("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            if getattr(self, name) != usual:
                said.append(f"{name}={getattr(self, name)}")
        return ", ".join(said) + (", sparse=True" if self.sparse else "")

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None,
                        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Self:
        """Return a layer with a given table.

        Args:
            embeddings (Tensor): the table, (V, D).
            freeze (bool): whether the table requires no gradient.
            padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse: as in the constructor.

        Raises:
            AssertionError: the table does not have 2 dimensions.

        >>> nn.Embedding.from_pretrained(mg.tensor([[1., 2.]]))(mg.tensor(0))
        tensor([1., 2.])
        """
        if embeddings.ndim != 2:
            raise AutogradAssertionError("MG-E332", "Embeddings parameter is expected to be 2-dimensional")
        return cls(*embeddings.shape, padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type,
                   scale_grad_by_freq=scale_grad_by_freq, sparse=sparse, _weight=embeddings, _freeze=freeze)
