"""Helpers that several distributions use: broadcasting of parameters, probabilities and logits, base noise.

    probs ∈ [0, 1]   ── probs_to_logits ──▶   logits = log(p / (1 - p)), or log p for several classes
                     ◀── logits_to_probs ──

Mirrors ``torch/distributions/utils.py``.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING

import numpy as np

import minigrad as mg
from minigrad._arguments import callable_argument
from minigrad._core.record.operands import translate_kernel_error
from minigrad.creation._filled import sizes_argument
from minigrad.distributions._arguments import check_tensors
from minigrad.errors import TensorValueError
from minigrad.ops.base.arguments import integer
from minigrad.random._generator import stream

if TYPE_CHECKING:
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
           "vec_to_tril_matrix"]

EULER_CONSTANT = 0.57721566490153286060


def broadcast_all(*values: Tensor | float) -> tuple[Tensor, ...]:
    """Return the values as tensors of one shape. A number becomes a tensor in the dtype of the first tensor.

    Mirrors ``torch.distributions.utils.broadcast_all``.

    Args:
        values (Tensors or numbers): at least one. If all are numbers, the tensors have the default dtype.

    Raises:
        ValueError: a value is neither a tensor nor a number.

    >>> mg.distributions.utils.broadcast_all(1., mg.tensor([2., 3.]))
    (tensor([1., 1.]), tensor([2., 3.]))
    """
    for value in values:
        if not isinstance(value, (mg.Tensor, numbers.Number)):
            raise TensorValueError("MG-E373", "Input arguments must all be instances of Number or Tensor",
                                   found=type(value).__name__)
    first = next((v for v in values if isinstance(v, mg.Tensor)), None)
    dtype, device = (mg.get_default_dtype(), None) if first is None else (first.dtype, first.device)
    tensors = [v if isinstance(v, mg.Tensor) else mg.tensor(v, dtype=dtype, device=device) for v in values]
    return tuple(mg.broadcast_tensors(*tensors))


def clamp_probs(probs: Tensor) -> Tensor:
    """Clamp probabilities to [eps, 1 - eps], where eps is the spacing of the dtype at 1. Their logits are then finite.

    Mirrors ``torch.distributions.utils.clamp_probs``.

    >>> mg.distributions.utils.clamp_probs(mg.tensor([0., 0.5])) > 0
    tensor([True, True])
    """
    check_tensors("clamp_probs", probs=probs)
    eps = mg.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return log(p / (1 - p)) if `is_binary`, else log p, which are logits of a categorical distribution.

    Mirrors ``torch.distributions.utils.probs_to_logits``.

    >>> mg.distributions.utils.probs_to_logits(mg.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    check_tensors("probs_to_logits", probs=probs)
    p = clamp_probs(probs)
    return mg.log(p) - mg.log1p(-p) if is_binary else mg.log(p)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Return the sigmoid of the logits if `is_binary`, else the softmax over their last dimension.

    Mirrors ``torch.distributions.utils.logits_to_probs``.

    >>> mg.distributions.utils.logits_to_probs(mg.tensor([0., 0.]))
    tensor([0.5000, 0.5000])
    """
    return mg.sigmoid(logits) if is_binary else mg.softmax(logits, -1)


class lazy_property:
    """A property that computes its value on first use, with gradients enabled, and then stores it in the object.

    Mirrors ``torch.distributions.utils.lazy_property``.

    >>> class Circle:
    ...     @mg.distributions.utils.lazy_property
    ...     def area(self):
    ...         print("computed")
    ...         return 3
    >>> c = Circle()
    >>> c.area, c.area
    computed
    (3, 3)
    """

    def __init__(self, wrapped):
        self.wrapped = callable_argument(wrapped, "wrapped", "lazy_property")
        self.__doc__ = wrapped.__doc__
        self.__name__ = getattr(wrapped, "__name__", "")

    if TYPE_CHECKING:       # __init__ may store the value itself
        def __set__(self, instance: Any, value: Any) -> None: ...

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with mg.enable_grad():
            value = self.wrapped(instance)
        instance.__dict__[self.__name__] = value        # from now on Python finds this first
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the entries of (..., n, n) matrices on and below a diagonal, row by row, as vectors.

    Mirrors ``torch.distributions.utils.tril_matrix_to_vec``.

    Args:
        mat (Tensor): the matrices.
        diag (int): the number of the diagonal: 0 is the main diagonal, -1 the one below it.

    Raises:
        ValueError: there is no such diagonal.

    >>> mg.distributions.utils.tril_matrix_to_vec(mg.tensor([[1., 0.], [2., 3.]]))
    tensor([1., 2., 3.])
    """
    check_tensors("tril_matrix_to_vec", mat=mat)
    n, diag = mat.shape[-1], integer(diag, "diag", "tril_matrix_to_vec")
    if diag < -n or diag >= n:
        raise TensorValueError("MG-E373", f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = np.tril_indices(n, diag)
    return mat[..., mg.tensor(rows.tolist(), dtype=mg.int64), mg.tensor(columns.tolist(), dtype=mg.int64)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return the (..., n, n) matrices whose entries on and below a diagonal are `vec`; the others are 0.

    Mirrors ``torch.distributions.utils.vec_to_tril_matrix``.

    Args:
        vec (Tensor): the entries, row by row, as `tril_matrix_to_vec` returns them.
        diag (int): the number of the diagonal.

    Raises:
        ValueError: no matrix has this number of entries.

    >>> mg.distributions.utils.vec_to_tril_matrix(mg.tensor([1., 2., 3.]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    check_tensors("vec_to_tril_matrix", vec=vec)
    size, diag = vec.shape[-1], integer(diag, "diag", "vec_to_tril_matrix")
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * size + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n:
        raise TensorValueError("MG-E373", f"The size of last dimension is {size} which cannot be expressed as the lower triangular "
                               "part of a square D x D matrix.")
    n = round(n)
    rows, columns = np.tril_indices(n, diag)
    flat = mg.tensor((rows * n + columns).tolist(), dtype=mg.int64)
    zeros = vec.new_zeros((*vec.shape[:-1], n * n))
    return zeros.scatter(-1, flat.expand(vec.shape), vec).reshape(*vec.shape[:-1], n, n)


def sum_rightmost(value, dims):
    """Sum out the last `dims` dimensions."""
    return value if dims == 0 else value.reshape(*value.shape[:value.ndim - dims], -1).sum(-1)


def standard_normal(shape, like):
    """Normal noise in the dtype and on the device of `like`."""
    return mg.randn(tuple(shape), dtype=like.dtype, device=like.device)


def _standard_normal(shape, dtype, device):
    """Normal noise, under the name that programs import from PyTorch."""
    return mg.randn(tuple(shape), dtype=dtype, device=device)


def uniform(shape, like):
    """Uniform noise in the open interval (0, 1), in the dtype and on the device of `like`."""
    info = mg.finfo(like.dtype)
    return mg.rand(tuple(shape), dtype=like.dtype, device=like.device).clamp(min=info.tiny, max=1 - info.eps)


def draw(function, sampler, shape, like, *parameters):
    """Return numbers that NumPy draws, as a tensor in the dtype and on the device of `like`.

    Args:
        function (str): the name in messages.
        sampler (callable): called with the NumPy generator of the default stream, the shape and the parameters.
        shape (Size): of the result.
        like (Tensor): gives dtype and device.
        parameters (Tensors): go to `sampler` as float64 arrays of the CPU.
    """
    shape, arrays = sizes_argument((tuple(shape),), function), [p.detach().cpu().double().numpy() for p in parameters]
    try:
        return mg.tensor(np.asarray(sampler(stream(None).numpy, shape, *arrays), np.float64), dtype=like.dtype, device=like.device)
    except (ValueError, MemoryError) as error:
        raise translate_kernel_error(function, error) from None
