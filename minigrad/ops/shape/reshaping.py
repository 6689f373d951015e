"""More changes of shape, built from the functions of ``views.py``; some are other names for them.

Mirrors ``aten/src/ATen/native/TensorShape.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cython.cimports.minigrad._core.record.apply import call

from minigrad.errors import ShapeError, TensorTypeError
from minigrad.ops.base.arguments import dimension, integers, tensor_argument
from minigrad.ops.shape.clone_cast import contiguous
from minigrad.ops.shape.views import Permute, alias, expand, infer_size, reshape, transpose, view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.types import Tensor

__all__ = ["adjoint", "broadcast_to", "flatten", "moveaxis", "movedim", "ravel", "swapaxes", "swapdims", "unflatten"]


def movedim(input: Tensor, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """`input` with dimensions moved to other positions; a view. Mirrors ``torch.movedim``.

    Args:
        input (Tensor): of any shape.
        source, destination (int or tuple): the dimensions to move, and their new positions. The others keep their order.

    Raises:
        RuntimeError: `source` and `destination` differ in length, or one names a dimension twice.
        IndexError: there is no such dimension.

    >>> mg.zeros(2, 3, 5).movedim(0, 2).shape
    minigrad.Size([3, 5, 2])
    """
    tensor_argument("movedim", input)
    for name, dims in (("source", source), ("destination", destination)):
        if not isinstance(dims, (int, tuple, list)):
            raise TensorTypeError("MG-E206", f"movedim(): argument '{name}' must be int or tuple of ints, not "
                                  f"{type(dims).__name__}")
    sources = [dimension(d, input.ndim) for d in ((source,) if isinstance(source, int) else source)]
    targets = [dimension(d, input.ndim) for d in ((destination,) if isinstance(destination, int) else destination)]
    if len(sources) != len(targets) or len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise ShapeError("MG-E205", "movedim: source and destination must name as many different dimensions",
                         found=f"{source} and {destination}")
    if input.ndim == 0:
        return alias(input)
    rest = iter([d for d in range(input.ndim) if d not in sources])
    place = dict(zip(targets, sources))
    return call(Permute.op, (input, tuple([place[d] if d in place else next(rest) for d in range(input.ndim)])))

moveaxis = movedim


def broadcast_to(input: Tensor, shape: int | Sequence[int]) -> Tensor:
    """`expand` under NumPy's name. Mirrors ``torch.broadcast_to``.

    >>> mg.broadcast_to(mg.tensor([1., 2.]), (2, 2))
    tensor([[1., 2.],
            [1., 2.]])
    """
    return expand(input, shape)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """`input` with the dimensions from `start_dim` to `end_dim` merged into one. Mirrors ``torch.flatten``.

    Args:
        input (Tensor): of any shape; a 0-d tensor becomes a vector.
        start_dim, end_dim (int, optional): the first and the last dimension to merge.

    Returns:
        Tensor: `input` itself, a view where the strides allow one, else a copy.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: `start_dim` comes after `end_dim`.

    >>> mg.zeros(2, 3, 5).flatten(1).shape
    minigrad.Size([2, 15])
    """
    tensor_argument("flatten", input)
    first, last = dimension(start_dim, input.ndim), dimension(end_dim, input.ndim)
    if first > last:
        raise ShapeError("MG-E205", "flatten() has invalid args: start_dim cannot come after end_dim")
    shape = input._meta.shape
    if input.ndim == 0:
        return reshape(input, 1)
    if first == last:
        return input
    merged = 1
    for size in shape[first:last + 1]:
        merged *= size
    return reshape(input, *shape[:first], merged, *shape[last + 1:])


def unflatten(input: Tensor, dim: int, sizes: int | Sequence[int]) -> Tensor:
    """`input` with one dimension split into several; a view. Mirrors ``torch.unflatten``.

    Args:
        input (Tensor): of at least one dimension.
        dim (int): the dimension to split.
        sizes (tuple): the new sizes; their product is the size of `dim`. One may be -1 and is inferred.

    Raises:
        RuntimeError: the sizes do not multiply to the size of `dim`.
        IndexError: there is no such dimension.

    >>> mg.zeros(2, 6).unflatten(1, (2, -1)).shape
    minigrad.Size([2, 2, 3])
    """
    tensor_argument("unflatten", input)
    at = dimension(dim, input.ndim)
    shape = input._meta.shape
    if not shape:
        raise ShapeError("MG-E205", f"unflatten(): Dimension specified as {at} but tensor has no dimensions")
    return view(input, *shape[:at], *infer_size(integers(sizes, "sizes", "unflatten"), shape[at]), *shape[at + 1:])


def ravel(input: Tensor) -> Tensor:
    """`input` as a contiguous vector. Mirrors ``torch.ravel``.

    >>> mg.zeros(2, 3).ravel().shape
    minigrad.Size([6])
    """
    return reshape(contiguous(tensor_argument("ravel", input)), -1)


def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """`transpose` under NumPy's name. Mirrors ``torch.swapaxes``.

    >>> mg.zeros(2, 3).swapaxes(0, 1).shape
    minigrad.Size([3, 2])
    """
    return transpose(input, axis0, axis1)

swapdims = transpose


def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of each matrix of `input`: ``x.mH``, or ``x.H`` for one matrix. Mirrors ``torch.adjoint``.

    Raises:
        RuntimeError: `input` is a vector.

    >>> mg.adjoint(mg.tensor([[1 + 2j, 3j]]))
    tensor([[1.-2.j],
            [0.-3.j]])
    """
    if tensor_argument("adjoint", input).ndim == 0:
        return input.conj()
    if input.ndim < 2:
        raise ShapeError("MG-E205", "tensor.adjoint() is only supported on matrices or batches of matrices. Got "
                         f"{input.ndim}-D tensor.")
    return transpose(input, -2, -1).conj()
