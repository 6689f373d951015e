"""Functions made of other ops: covariances, views written to out of place, a few names for what there is already.

    x.select_scatter(y, dim, i)     a copy of x, with y in the slice that select(dim, i) looks at; and its two relatives
    cov, corrcoef                   rows are variables, columns are observations

They have no rule of their own, and need none.

Mirrors ``aten/src/ATen/native/{Correlation,TensorShape,LinearAlgebra}.cpp``.
"""

import cython

from minigrad.errors import ShapeError
from minigrad.ops.base import BOOL, INT64, dimension, flag, integer, tensor_argument
from minigrad.ops.copies import cast
from minigrad.ops.joining import few_enough, narrow, select
from minigrad.ops.reduction import sum
from minigrad.ops.scattering import index_copy
from minigrad.ops.selection import where
from minigrad.ops.strided import DiagonalBackward, diagonal
from minigrad.ops.views import as_shape, reshape, transpose, unsqueeze

if not cython.compiled:
    from minigrad._core.apply import call

__all__ = ["adjoint", "corrcoef", "cov", "diagonal_scatter", "select_scatter", "slice_scatter", "sum_to_size", "vander"]


def fitting(function, x, view, src):
    """`src` in the dtype of x. Raises unless it has the shape of `view`, the part of x that it replaces."""
    if tensor_argument(function, src, "src", 2).shape != view.shape:
        raise ShapeError("MG-E204", "expected src to have a size equal to the slice of self. src size = "
                         f"{list(src.shape)}, slice size = {list(view.shape)}, in {function}()")
    return cast(src, x.dtype)


def select_scatter(input, src, dim, index):
    """A copy of `input` with `src` in the slice at `index` along `dim`. Mirrors ``torch.select_scatter``.

    Raises:
        RuntimeError: `src` has not the shape of the slice.
        IndexError: there is no such dimension or index.

    >>> mg.select_scatter(mg.zeros(2, 2), mg.tensor([1., 2.]), 0, 1)
    tensor([[0., 0.],
            [1., 2.]])
    """
    part = select(tensor_argument("select_scatter", input), dim, index)
    at = dimension(dim, input.ndim)
    place = input.new_tensor([index % input.shape[at]], dtype=INT64)
    return index_copy(input, at, place, unsqueeze(fitting("select_scatter", input, part, src), at))


def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """A copy of `input` with `src` in ``input[..., start:end:step, ...]``. Mirrors ``torch.slice_scatter``.

    Raises:
        RuntimeError: `src` has not the shape of the slice, or `step` is not positive.
        IndexError: there is no such dimension.

    >>> mg.slice_scatter(mg.zeros(4), mg.tensor([1., 2.]), start=1, end=4, step=2)
    tensor([0., 1., 0., 2.])
    """
    at = dimension(dim, tensor_argument("slice_scatter", input).ndim)
    if integer(step, "step", "slice_scatter") <= 0:
        raise ShapeError("MG-E303", f"slice step must be positive, got {step}")
    part = input[(slice(None),) * at + (slice(start, end, step),)]
    places = list(range(input.shape[at])[slice(start, end, step)])
    return index_copy(input, at, input.new_tensor(places, dtype=INT64), fitting("slice_scatter", input, part, src))


def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """A copy of `input` with `src` on a diagonal. Mirrors ``torch.diagonal_scatter``.

    Raises:
        RuntimeError: `src` has not the shape of the diagonal.
        IndexError: there is no such dimension.

    >>> mg.diagonal_scatter(mg.zeros(2, 2), mg.tensor([1., 2.]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    part = diagonal(tensor_argument("diagonal_scatter", input), offset, dim1, dim2)
    at = (tuple(input.shape), offset, dimension(dim1, input.ndim), dimension(dim2, input.ndim))
    there = call(DiagonalBackward.op, (part.new_ones(part.shape, dtype=BOOL), *at))
    return where(there, call(DiagonalBackward.op, (fitting("diagonal_scatter", input, part, src), *at)), input)


def adjoint(input):
    """The matrices of `input` transposed and conjugated; ``x.mH`` and, of one matrix, ``x.H``. Mirrors ``torch.adjoint``.

    Raises:
        RuntimeError: there is only one dimension.

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


def sum_to_size(input, *size):
    """`input` summed to `size`, which broadcasts to its shape: the adjoint of `expand`. Mirrors ``torch.Tensor.sum_to_size``.

    Raises:
        RuntimeError: `size` does not broadcast to the shape.

    >>> mg.sum_to_size(mg.ones(2, 3), 1, 3)
    tensor([[2., 2., 2.]])
    """
    shape, target = tuple(tensor_argument("sum_to_size", input).shape), as_shape(size, "sum_to_size")
    missing = len(shape) - len(target)
    if missing < 0 or any([n not in (1, m) for n, m in zip(target, shape[missing:])]):
        raise ShapeError("MG-E204", f"size {{{list(target)}}} is not expandable to size {{{list(shape)}}}.")
    if not target:
        return sum(input)
    dims = [d for d in range(len(shape)) if d < missing or target[d - missing] == 1 != shape[d]]
    return reshape(sum(input, dims, True), target) if dims else input


def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariances of the rows of `input`, whose columns are observations. Mirrors ``torch.cov``.

    Args:
        correction (int): the sum over n observations is divided by n - correction.
        fweights (Tensor, optional): how often each observation was made, integers.
        aweights (Tensor, optional): how much each counts.

    Raises:
        RuntimeError: there are more than two dimensions, or the weights do not fit.

    >>> mg.cov(mg.tensor([[0., 1., 2.], [2., 1., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if tensor_argument("cov", input).ndim > 2:
        raise ShapeError("MG-E205", "cov(): expected input to have two or fewer dimensions but got an input with "
                         f"{input.ndim} dimensions")
    if input.dtype.name == "bool":
        raise ShapeError("MG-E203", "cov(): bool dtype is not supported for input")
    x = input if input.ndim == 2 else reshape(input, (1, -1))
    integer(correction, "correction", "cov")
    n = x.shape[1]
    w = weights_of(n, fweights, aweights)
    total = n if w is None else sum(w)
    mean = (sum(x, 1, True) if w is None else sum(x * w, 1, True)) / total
    if w is None or aweights is None or correction == 0:
        norm = total - correction
    else:
        norm = total - correction * sum(w * aweights) / total
    norm = max(norm, 0) if w is None else norm.clamp(min=0)
    d = x - mean
    z = (d if w is None else d * w) @ transpose(d, 0, 1).conj() / norm
    return z if input.ndim == 2 else reshape(z, ())


def weights_of(n, fweights, aweights):
    """The product of the two weights, or None."""
    found = None
    for name, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        if tensor_argument("cov", w, name).ndim > 1 or w.numel() != n:
            raise ShapeError("MG-E204", f"cov(): expected {name} to have one dimension, and as many elements as there are "
                             "observations", found=f"shape {list(w.shape)} and {n} observations")
        if (name == "fweights") == w.dtype.differentiable or w.dtype.is_complex:
            kind = "integral" if name == "fweights" else "floating point"
            raise ShapeError("MG-E203", f"cov(): expected {name} to have {kind} dtype but got {name} with {w.dtype.name} dtype")
        if w.numel() and w.detach().min().item() < 0:
            raise ShapeError("MG-E302", f"cov(): {name} cannot be negative")
        found = w if found is None else found * w
    return found


def corrcoef(input):
    """The correlations of the rows of `input`: their covariances over the products of standard deviations, within [-1, 1].

    Mirrors ``torch.corrcoef``.

    Raises:
        RuntimeError: there are more than two dimensions.

    >>> mg.corrcoef(mg.tensor([[0., 1., 2.], [4., 2., 0.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if tensor_argument("corrcoef", input).ndim > 2:
        raise ShapeError("MG-E205", "corrcoef(): expected input to have two or fewer dimensions but got an input with "
                         f"{input.ndim} dimensions")
    c = cov(input)
    if c.ndim == 0:
        return c / c
    s = diagonal(c).real.sqrt() if c.dtype.is_complex else diagonal(c).sqrt()
    z = c / unsqueeze(s, 1) / unsqueeze(s, 0)
    return z if z.dtype.is_complex else z.clamp(-1, 1)


def vander(x, N=None, *, increasing=False):
    """The powers of the numbers in a vector, a row each: x^(N-1), ..., x, 1, or the other way round. Mirrors ``torch.vander``.

    Raises:
        RuntimeError: `x` is no vector, or `N` is negative.

    >>> mg.vander(mg.tensor([2, 3]), 3)
    tensor([[4, 2, 1],
            [9, 3, 1]])
    """
    if tensor_argument("vander", x, "x").ndim != 1:
        raise ShapeError("MG-E205", "x must be a one-dimensional tensor.", found=f"{x.ndim}-d")
    n = x.shape[0] if N is None else integer(N, "N", "vander")
    if n < 0:
        raise ShapeError("MG-E302", "N must be non-negative.")
    few_enough("vander", n, "powers")
    up = range(n) if flag(increasing, "increasing", "vander") else range(n - 1, -1, -1)
    powers = x.new_tensor(list(up), dtype=None if n else x.dtype)
    return unsqueeze(x, 1) ** powers if n else narrow(unsqueeze(x, 1), 1, 0, 0)
