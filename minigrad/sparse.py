"""Sparse tensors, which minigrad stores dense: so programs on graphs and word vectors run, with the same numbers.

    adj = mg.sparse_coo_tensor([[0, 1], [1, 0]], [1., 1.], (2, 2))      an ordinary tensor with two entries that are not 0
    adj.indices(), adj.values()                                         the places and the values of these entries
    mg.sparse.mm(adj, x)                                                adj @ x

PyTorch stores only the entries. Here they cost as much memory and time as a dense tensor, and its gradient is dense too. Two things
differ: an entry that is 0 is not listed, and `is_sparse` is False.

The functions that take the name of a tensor, such as `coalesce`, are methods of `Tensor` too.

Mirrors ``torch/sparse/__init__.py`` and ``aten/src/ATen/native/sparse/SparseTensor.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._arguments import listed
from minigrad.creation import _legacy, as_tensor, zeros
from minigrad.creation._ranges import arange
from minigrad.dtypes import int64
from minigrad.errors import ArgumentError, ShapeError
from minigrad.ops import addmm as _addmm
from minigrad.ops import log_softmax as _log_softmax
from minigrad.ops import matmul, where
from minigrad.ops import softmax as _softmax
from minigrad.ops.base.arguments import flag, integers, tensor_argument, wrong_type

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from minigrad.types import Device, DType, Tensor

__all__ = ["addmm", "log_softmax", "mm", "softmax", "spdiags", "sum"]


# ---- making them ----------------------------------------------------------------------------------


def sparse_coo_tensor(indices: Any, values: Any = None, size: Sequence[int] | None = None, *, dtype: DType | None = None,
                      device: Device | str | None = None, pin_memory: bool = False, requires_grad: bool = False,
                      check_invariants: bool | None = None, is_coalesced: bool | None = None) -> Tensor:
    """Make a tensor from the places and the values of its entries; the others are 0. It is stored dense.

    Args:
        indices (Tensor or nested list): (d, n), the n places, one index for each of the first d dimensions. With a size alone,
            ``sparse_coo_tensor((2, 3))``, all entries are 0.
        values (Tensor or list): (n, ...), the values. Values of the same place are added.
        size (sequence of int, optional): the shape; by default the smallest one that holds all places.
        dtype, device, requires_grad: of the result.
        pin_memory, check_invariants, is_coalesced: without effect: the places are always checked.

    Mirrors ``torch.sparse_coo_tensor``.

    Raises:
        RuntimeError: `indices` does not have 2 dimensions, or not as many places as there are values; or a place is outside.

    >>> mg.sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], (2, 3))
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None:
        return zeros(*(size or indices), dtype=dtype, device=device, requires_grad=requires_grad)
    values = as_tensor(values, dtype=dtype, device=device)
    indices = as_tensor(indices, device=values.device).long()
    if indices.ndim != 2 or values.ndim < 1 or indices.shape[1] != values.shape[0]:
        raise ShapeError("MG-E204", "indices must have the shape (dimensions, n) and values the shape (n, ...)",
                         found=f"{tuple(indices.shape)} and {tuple(values.shape)}")
    if size is None:
        size = [*(indices.amax(1) + 1).tolist(), *values.shape[1:]]
    size = listed(size, "size", "sparse_coo_tensor")
    if indices.numel() and (bool((indices < 0).any()) or bool((indices.amax(1) >= as_tensor(list(size)[:len(indices)])).any())):
        raise ArgumentError("MG-E301", "size is inconsistent with indices: an index is outside the shape",
                            expected=f"below {tuple(size)}", found=f"{indices.amax(1).tolist()}")
    found = zeros(*size, dtype=values.dtype, device=values.device)
    found = found.index_put(tuple(indices), values, accumulate=True)
    return found.detach().requires_grad_() if flag(requires_grad, "requires_grad", "sparse_coo_tensor") else found


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Sequence[int] | None = None, *,
                      dtype: DType | None = None, device: Device | str | None = None, pin_memory: bool = False,
                      requires_grad: bool = False, check_invariants: bool | None = None) -> Tensor:
    """Make a matrix from its rows of entries: row i has those from `crow_indices[i]` to `crow_indices[i + 1]`. It is stored dense.

    Args:
        crow_indices (Tensor or list): (rows + 1), where the entries of each row begin.
        col_indices, values (Tensor or list): (n), the column and the value of each entry.
        size, dtype, device, requires_grad: as in `sparse_coo_tensor`.
        pin_memory, check_invariants: without effect.

    Mirrors ``torch.sparse_csr_tensor``.

    >>> mg.sparse_csr_tensor([0, 1, 2], [1, 0], [5., 6.], (2, 2))
    tensor([[0., 5.],
            [6., 0.]])
    """
    starts, columns = as_tensor(crow_indices).long(), as_tensor(col_indices).long()
    rows = arange(len(starts) - 1).repeat_interleave(starts.diff())
    if size is None:
        size = (len(starts) - 1, int(columns.max()) + 1)
    return sparse_coo_tensor(rows.new_tensor([rows.tolist(), columns.tolist()]), values, size, dtype=dtype, device=device,
                             requires_grad=requires_grad)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Any = None) -> Tensor:
    """A matrix with the given diagonals: column j of row k of `diagonals` lands in column j. Mirrors ``torch.sparse.spdiags``.

    Args:
        diagonals (Tensor): (count, n), a row for each diagonal; or (n), a single one.
        offsets (Tensor): int64, (count): 0 is the main diagonal, 1 the one above it.
        shape (pair of int): of the result.
        layout: without effect.

    Raises:
        RuntimeError: `offsets` does not have one int64 for each diagonal, or has one twice; or `shape` is not of two sizes.

    >>> mg.sparse.spdiags(mg.tensor([[1., 2., 3.]]), mg.tensor([1]), (3, 3))
    tensor([[0., 2., 0.],
            [0., 0., 3.],
            [0., 0., 0.]])
    """
    tensor_argument("spdiags", diagonals, "diagonals")
    tensor_argument("spdiags", offsets, "offsets", 2)
    shape = integers(shape, "shape", "spdiags")
    diagonals = diagonals.unsqueeze(0) if diagonals.ndim == 1 else diagonals
    offsets = offsets.reshape(1) if offsets.ndim == 0 else offsets
    check_diagonals(diagonals, offsets, shape)
    found = zeros(*shape, dtype=diagonals.dtype)
    columns, rows = arange(shape[1]), arange(shape[0]).unsqueeze(1)
    for line, offset in zip(diagonals, offsets.tolist()):
        line = line[:shape[1]]
        line = line if len(line) == shape[1] else zeros(shape[1], dtype=line.dtype).index_put((columns[:len(line)],), line)
        found = where(columns - rows == offset, line, found)
    return found


def check_diagonals(diagonals, offsets, shape):
    """Raise unless `spdiags` can make a matrix of these."""
    wrong = None
    if diagonals.ndim != 2:
        wrong = "Diagonals must be vector or matrix"
    elif len(shape) != 2:
        wrong = "Output shape must be 2d"
    elif offsets.ndim != 1:
        wrong = "Offsets must be scalar or vector"
    elif offsets.dtype is not int64:
        wrong = f"Offset Tensor must have dtype Long but got {offsets.dtype.name}"
    elif len(diagonals) != len(offsets):
        wrong = f"Number of diagonals ({len(diagonals)}) does not match the number of offsets ({len(offsets)})"
    elif len(set(offsets.tolist())) < len(offsets):
        wrong = "Offset tensor contains duplicate values"
    if wrong:
        raise ShapeError("MG-E204", f"spdiags(): {wrong}",
                         found=f"diagonals {list(diagonals.shape)}, offsets {list(offsets.shape)}, shape {shape}")


# ---- products and sums ----------------------------------------------------------------------------


def mm(sparse: Tensor, dense: Tensor, reduce: str | None = None) -> Tensor:
    """The product of two matrices. Mirrors ``torch.sparse.mm``.

    Args:
        sparse, dense (Tensor): (n, m) and (m, k).
        reduce (str, optional): ``"sum"`` is the only one here.

    Raises:
        NotImplementedError: another `reduce`.

    >>> mg.sparse.mm(mg.eye(2), mg.tensor([[1.], [2.]]))
    tensor([[1.],
            [2.]])
    """
    if reduce is not None and not isinstance(reduce, str):
        raise wrong_type("sparse.mm", "reduce", "str", reduce)
    if reduce not in (None, "sum"):
        from minigrad._absent import absent
        raise absent(f"sparse.mm with reduce={reduce!r}", "scatter_reduce, or a masked mean over the neighbours")
    tensor_argument("mm", sparse)
    return matmul(sparse, dense)


spmm = dsmm = mm


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """β `mat` + α `mat1` @ `mat2`. Mirrors ``torch.sparse.addmm``.

    >>> mg.sparse.addmm(mg.ones(1, 1), mg.eye(1), mg.ones(1, 1))
    tensor([[2.]])
    """
    return _addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: Tensor, dim: int | Sequence[int] | None = None, dtype: DType | None = None) -> Tensor:
    """The sum of all entries, or along dimensions. Mirrors ``torch.sparse.sum``.

    >>> mg.sparse.sum(mg.eye(3), dim=0)
    tensor([1., 1., 1.])
    """
    tensor_argument("sum", input)
    return input.sum(dtype=dtype) if dim is None else input.sum(dim, dtype=dtype)


def _fill_places(input, value):
    """`input` with `value` in the places that have no entry: there PyTorch's softmax of a sparse tensor has no probability."""
    return where(input == 0, value, input)


def softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """The softmax over the entries that are not 0; the others stay 0. Mirrors ``torch.sparse.softmax``.

    >>> mg.sparse.softmax(mg.tensor([[1., 0., 1.]]), dim=1)
    tensor([[0.5000, 0.0000, 0.5000]])
    """
    tensor_argument("softmax", input)
    found = _softmax(_fill_places(input, -float("inf")), dim, dtype=dtype)
    return where(input == 0, 0.0, found)


def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """The logarithm of `softmax` over the entries that are not 0; the others stay 0. Mirrors ``torch.sparse.log_softmax``.

    >>> mg.sparse.log_softmax(mg.tensor([[2., 0., 2.]]), dim=1)
    tensor([[-0.6931,  0.0000, -0.6931]])
    """
    tensor_argument("log_softmax", input)
    found = _log_softmax(_fill_places(input, -float("inf")), dim, dtype=dtype)
    return where(input == 0, 0.0, found)


# ---- methods of `Tensor` --------------------------------------------------------------------------


def to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Any = None, blocksize: Any = None,
              dense_dim: int | None = None) -> Tensor:
    """A copy of this tensor: it stays dense. Mirrors ``torch.Tensor.to_sparse``.

    >>> mg.eye(2).to_sparse().values()
    tensor([1., 1.])
    """
    return self.clone()


def to_sparse_coo(self: Tensor) -> Tensor:
    """A copy of this tensor: it stays dense. Mirrors ``torch.Tensor.to_sparse_coo``.

    >>> mg.eye(2).to_sparse_coo().values()
    tensor([1., 1.])
    """
    return self.clone()


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """A copy of this matrix: it stays dense. Mirrors ``torch.Tensor.to_sparse_csr``.

    >>> mg.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return self.clone()


def coalesce(self: Tensor) -> Tensor:
    """Return this tensor: values of the same place are already added. Mirrors ``torch.Tensor.coalesce``.

    >>> mg.eye(2).coalesce().values()
    tensor([1., 1.])
    """
    return self


def is_coalesced(self: Tensor) -> bool:
    """True. Mirrors ``torch.Tensor.is_coalesced``.

    >>> mg.eye(2).to_sparse().is_coalesced()
    True
    """
    return True


def indices(self: Tensor) -> Tensor:
    """The places of the entries that are not 0, (dimensions, n). Mirrors ``torch.Tensor.indices``.

    >>> mg.tensor([[0., 3.], [4., 0.]]).to_sparse().indices()
    tensor([[0, 1],
            [1, 0]])
    """
    return self.detach().nonzero().t()


def values(self: Tensor) -> Tensor:
    """The values of the entries that are not 0, (n). Mirrors ``torch.Tensor.values``.

    >>> mg.tensor([[0., 3.], [4., 0.]]).to_sparse().values()
    tensor([3., 4.])
    """
    return self[tuple(indices(self))]


def _nnz(self: Tensor) -> int:
    """The number of entries that are not 0. Mirrors ``torch.Tensor._nnz``.

    >>> mg.eye(3).to_sparse()._nnz()
    3
    """
    return int(self.detach().count_nonzero())


_indices, _values = indices, values


def sparse_dim(self: Tensor) -> int:
    """The number of dimensions. Mirrors ``torch.Tensor.sparse_dim``.

    >>> mg.eye(3).to_sparse().sparse_dim()
    2
    """
    return self.ndim


def dense_dim(self: Tensor) -> int:
    """0: each entry is a number. Mirrors ``torch.Tensor.dense_dim``.

    >>> mg.eye(3).to_sparse().dense_dim()
    0
    """
    return 0


def crow_indices(self: Tensor) -> Tensor:
    """Where the entries of each row begin, and their number. Mirrors ``torch.Tensor.crow_indices``.

    >>> mg.tensor([[0., 3.], [4., 5.]]).to_sparse_csr().crow_indices()
    tensor([0, 1, 3])
    """
    counts = (self.detach() != 0).sum(-1).cumsum(-1)
    return counts.new_zeros(self.shape[0] + 1).index_put((arange(1, self.shape[0] + 1),), counts)


def col_indices(self: Tensor) -> Tensor:
    """The columns of the entries, row by row. Mirrors ``torch.Tensor.col_indices``.

    >>> mg.tensor([[0., 3.], [4., 5.]]).to_sparse_csr().col_indices()
    tensor([1, 0, 1])
    """
    return indices(self)[-1]


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """This tensor, with 0 where `mask` has no entry. Mirrors ``torch.Tensor.sparse_mask``.

    Args:
        mask (Tensor): of the same shape; its values do not matter, only whether they are 0.

    >>> mg.ones(2, 2).sparse_mask(mg.eye(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return where(mask == 0, 0, self)


def __getattr__(name):
    """The legacy types: ``mg.sparse.FloatTensor(indices, values, size)``. Mirrors ``torch.sparse.FloatTensor``."""
    if name not in _legacy.__all__ or not name.endswith("Tensor"):
        raise AttributeError(f"module 'minigrad.sparse' has no attribute {name!r}")
    dtype = getattr(_legacy, name).dtype

    def make(*arguments, device=None):
        if len(arguments) < 2:
            return zeros(*(arguments[0] if arguments else (0,)), dtype=dtype, device=device)
        return sparse_coo_tensor(arguments[0], as_tensor(arguments[1]).to(dtype), *arguments[2:], device=device)
    make.__name__ = name
    return make
