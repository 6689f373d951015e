"""Matrix products.

    z = x y       dx = g yᴴ      dy = xᴴ g

`matmul` calls dot, mv, mm or bmm, depending on the shapes of its operands. The graph shows which one ran, as in PyTorch.

A factor may be stored column by column, such as the `weight.t()` of a linear layer. Then its gradient is stored
column by column too (`x_by_columns`), so that the leaf, `weight`, can steal its gradient without a copy.

Mirrors ``aten/src/ATen/native/{LinearAlgebra,Linear}.cpp``.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import cython
import numpy as np
from cython.cimports.minigrad._core.graph.metadata import Meta, meta_of
from cython.cimports.minigrad._core.graph.tensor import TensorBase, is_plain, wrap
from cython.cimports.minigrad._core.graph.thread_state import current
from cython.cimports.minigrad._core.record.apply import call
from cython.cimports.minigrad.ops.base.rule import conj

from minigrad.errors import DtypeError, ShapeError
from minigrad.ops.base.arguments import tensor_argument
from minigrad.ops.base.autocast import cast_operands
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import Linear, Op, op
from minigrad.ops.shape.clone_cast import contiguous
from minigrad.ops.shape.views import SqueezeDimOfResult, UnsafeView, expand, reshape, t, transpose, unsqueeze, view

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["bmm", "dot", "linear", "matmul", "mm", "mv"]


@cython.cfunc
@cython.annotation_typing(True)
def product(x: TensorBase, x_turned: cython.bint, y: TensorBase, y_turned: cython.bint):
    """The product of two matrices, each as it is or transposed, for the gradients.

    If nothing is recorded, we transpose the arrays and make no tensors of them. For small matrices this saves a third of the
    time of a gradient.
    """
    state = current()
    if state.fast_path and not state.grad_enabled and is_plain(x) and is_plain(y):
        kernels = x._meta.backend.kernels
        array = kernels.matmul(kernels.t(x._array) if x_turned else x._array, kernels.t(y._array) if y_turned else y._array)
        return wrap(array, meta_of(array, x._meta.device))
    return call(Mm.op, (t(x) if x_turned else x, t(y) if y_turned else y))


def gradient_of_first(g, y, by_columns):
    """dx = g yᴴ for z = x y"""
    y = conj(y)
    return t(product(y, False, g, True)) if by_columns else product(g, False, y, True)


def gradient_of_second(g, x, by_columns):
    """dy = xᴴ g for z = x y"""
    x = conj(x)
    return t(product(g, True, x, False)) if by_columns else product(x, True, g, False)


@op("mm")
class Mm(Linear):
    """z = x y, for matrices"""

    torch_names = {"x": "self", "y": "mat2"}

    def forward(k, x, y):
        return k.matmul(x, y)

    def vjp_x(g, y, x_by_columns):
        return gradient_of_first(g, y, x_by_columns)

    def vjp_y(g, x, y_by_columns):
        return gradient_of_second(g, x, y_by_columns)


@op("bmm")
class Bmm(Linear):
    """z[i] = x[i] y[i], for batches of matrices, of the same dimensions"""

    torch_names = {"x": "self", "y": "mat2"}

    def forward(k, x, y):
        return k.matmul(x, y)

    def vjp_x(g, y):
        return call(Bmm.op, (g, conj(transpose(y, -2, -1))))

    def vjp_y(g, x):
        return call(Bmm.op, (conj(transpose(x, -2, -1)), g))


@op("mv")
class Mv(Linear):
    """z = x y, for a matrix and a vector"""

    torch_names = {"x": "self", "y": "vec"}

    def forward(k, x, y):
        return k.select(k.matmul(x, k.unsqueeze(y, 1)), 1, 0)

    def vjp_x(g, y):        # dx = g yᴴ, an outer product
        return unsqueeze(g, 1) * conj(y)

    def vjp_y(g, x):
        return call(Mv.op, (conj(t(x)), g))


@op("dot")
class Dot(Linear):
    """z = Σ x y, for vectors"""

    torch_names = {"x": "self", "y": "tensor"}

    def forward(k, x, y):
        return k.dot(x, y)

    def vjp_x(g, y):
        return g * conj(y)

    def vjp_y(g, x):
        return g * conj(x)


@op("addmm")
class Addmm(Op):
    """z = b + x y, for matrices; b broadcasts"""

    torch_names = {"x": "mat1", "y": "mat2", "b": "self"}

    def forward(k, b, x, y):
        return k.addmm(b, x, y)

    def vjp_b(g):
        return g

    def vjp_x(g, y, x_by_columns):
        return gradient_of_first(g, y, x_by_columns)

    def vjp_y(g, x, y_by_columns):
        return gradient_of_second(g, x, y_by_columns)

    def jvp(ts, b, x, y):
        tb, tx, ty = ts
        total = None if tb is None else expand(tb, (x.shape[0], y.shape[1]))
        for part in (None if tx is None else call(Mm.op, (tx, y)), None if ty is None else call(Mm.op, (x, ty))):
            if part is not None:
                total = part if total is None else total + part
        return total


# ---- public functions -------------------------------------------------------------------------------------


@cython.cfunc
@cython.annotation_typing(True)
def can_multiply(x, y) -> cython.bint:
    """Whether x and y are two matrices that can be multiplied: a quick check of the usual case."""
    if not isinstance(x, TensorBase) or not isinstance(y, TensorBase):
        return False
    a: Meta = cython.cast(TensorBase, x)._meta
    b: Meta = cython.cast(TensorBase, y)._meta
    return a.ndim == 2 and b.ndim == 2 and a.dtype is b.dtype and a.shape[1] == b.shape[0]


@cython.cfunc
@cython.annotation_typing(True)
def can_apply_linear(x, weight) -> cython.bint:
    """Whether x and ``weight.t()`` are two matrices that can be multiplied: a quick check of the usual case."""
    if not isinstance(x, TensorBase) or not isinstance(weight, TensorBase):
        return False
    a: Meta = cython.cast(TensorBase, x)._meta
    b: Meta = cython.cast(TensorBase, weight)._meta
    return a.ndim == 2 and b.ndim == 2 and a.dtype is b.dtype and a.shape[1] == b.shape[1]


@cython.cfunc
@cython.annotation_typing(True)
def is_row(b, y: TensorBase, dim: cython.int) -> cython.bint:
    """Whether `b` is a vector with the size of the matrix `y` along `dim`, and of the same dtype."""
    if not isinstance(b, TensorBase):
        return False
    a: Meta = cython.cast(TensorBase, b)._meta
    return a.ndim == 1 and a.dtype is y._meta.dtype and a.shape[0] == y._meta.shape[dim]


def check(function, x, y, dims_x, dims_y):
    """Raise unless x and y are tensors of `dims_x` and `dims_y` dimensions and of one dtype."""
    tensor_argument(function, x)
    tensor_argument(function, y, "mat2", 2)
    if x.ndim != dims_x or y.ndim != dims_y:
        raise ShapeError("MG-E209", f"{function}(): expected a {dims_x}D and a {dims_y}D tensor, but got {x.ndim}D and {y.ndim}D",
                         found=f"shapes {list(x.shape)} and {list(y.shape)}", fix="matmul() takes any number of dimensions")
    check_same_dtype(function, x, y)


def check_same_dtype(function, x, y):
    """Raise unless `x` and `y` have one dtype: matrix products do not promote."""
    if x.dtype is not y.dtype:
        raise DtypeError("MG-E203", f"expected m1 and m2 to have the same dtype, but got: {x.dtype.name} != {y.dtype.name}, "
                         f"in {function}()", fix="convert one of them: x.to(y.dtype)")


def check_inner_sizes(function, x, y, a, b):
    """Raise unless `a` and `b`, the sizes that the product sums over, are equal."""
    if a != b:
        raise ShapeError("MG-E209", f"{function}(): mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, x.shape))} and "
                         f"{'x'.join(map(str, y.shape))})",
                         expected="as many columns in the first as rows in the second",
                         found=f"{counted(a, 'column')} in the first, {counted(b, 'row')} in the second",
                         fix="transpose one of them with .mT, or check the sizes of the layers")


def check_features(input, weight):
    """Raise unless `weight` (out, in) takes as many features as `input` (..., in) has."""
    features, size = weight.shape[1], input.shape[-1]
    if size != features:
        raise ShapeError("MG-E209", f"linear(): mat1 and mat2 shapes cannot be multiplied ({prod(input.shape[:-1])}x{size} and "
                         f"{features}x{weight.shape[0]})",
                         expected=f"an input whose last size is {features}, for Linear(in_features={features})",
                         found=f"an input of shape {list(input.shape)}, whose last size is {size}",
                         fix=f"Linear(in_features={size}), or give the input another shape before, as with x.flatten(1)")


def counted(n, noun):
    """``1 row``, ``3 rows``."""
    return f"{n} {noun}" + "s" * (n != 1)


def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices. Mirrors ``torch.mm``.

    Args:
        input, mat2 (Tensor): of shapes (n, m) and (m, p), and of one dtype. The result is (n, p).

    Raises:
        RuntimeError: an argument is not a matrix, or the inner sizes or the dtypes differ.

    >>> mg.mm(mg.tensor([[1., 2.]]), mg.tensor([[3.], [4.]]))
    tensor([[11.]])
    """
    if out is not None:
        return into(out, mm, input, mat2)
    if not can_multiply(input, mat2):
        input, mat2 = cast_operands("mm", input, mat2)
        check("mm", input, mat2, 2, 2)
        check_inner_sizes("mm", input, mat2, input.shape[1], mat2.shape[0])
    return call(Mm.op, (input, mat2))


def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of each matrix of a batch with the matrix of another batch. Mirrors ``torch.bmm``.

    Args:
        input, mat2 (Tensor): of shapes (b, n, m) and (b, m, p), and of one dtype. The result is (b, n, p).

    Raises:
        RuntimeError: an argument is not 3-d, the sizes do not fit, or the dtypes differ.

    >>> mg.bmm(mg.ones(2, 1, 3), mg.ones(2, 3, 1)).flatten()
    tensor([3., 3.])
    """
    if out is not None:
        return into(out, bmm, input, mat2)
    input, mat2 = cast_operands("bmm", input, mat2)
    check_bmm(input, mat2)
    return call(Bmm.op, (input, mat2))


def check_bmm(input, mat2):
    """Raise unless `bmm` can multiply the two batches."""
    check("bmm", input, mat2, 3, 3)
    if input.shape[0] != mat2.shape[0]:
        raise ShapeError("MG-E209", f"bmm(): batch sizes differ, {input.shape[0]} and {mat2.shape[0]}: Expected size for first two "
                         "dimensions of batch2 tensor to match", found=f"shapes {list(input.shape)} and {list(mat2.shape)}")
    check_inner_sizes("bmm", input, mat2, input.shape[2], mat2.shape[1])


def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix and a vector. Mirrors ``torch.mv``.

    Args:
        input, vec (Tensor): of shapes (n, m) and (m), and of one dtype. The result is (n).

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> mg.mv(mg.tensor([[1., 2.], [3., 4.]]), mg.tensor([1., 1.]))
    tensor([3., 7.])
    """
    if out is not None:
        return into(out, mv, input, vec)
    check("mv", input, vec, 2, 1)
    if input.shape[1] != vec.shape[0]:
        raise ShapeError("MG-E209", f"size mismatch, got input ({input.shape[0]}), mat ({input.shape[0]}x{input.shape[1]}), vec "
                         f"({vec.shape[0]})", expected="as many columns in the matrix as numbers in the vector",
                         found=f"{counted(input.shape[1], 'column')} in the matrix, {counted(vec.shape[0], 'number')} in the "
                               "vector")
    return call(Mv.op, (input, vec))


def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors, without conjugation. Mirrors ``torch.dot``.

    Args:
        input, tensor (Tensor): vectors of one size and one dtype.

    Raises:
        RuntimeError: an argument is not a vector, or the sizes or dtypes differ.

    >>> mg.dot(mg.tensor([1., 2.]), mg.tensor([3., 4.]))
    tensor(11.)
    """
    if out is not None:
        return into(out, dot, input, tensor)
    tensor_argument("dot", input)
    tensor_argument("dot", tensor, "tensor", 2)
    if input.ndim != 1 or tensor.ndim != 1:
        raise ShapeError("MG-E209", f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors")
    if input.dtype is not tensor.dtype:
        raise DtypeError("MG-E203", f"dot : expected both vectors to have same dtype, but found {input.dtype.name} and "
                         f"{tensor.dtype.name}")
    if input.shape[0] != tensor.shape[0]:
        raise ShapeError("MG-E209", f"inconsistent tensor size, expected tensor {list(input.shape)} and src {list(tensor.shape)} "
                         f"to have the same number of elements, but got {input.shape[0]} and {tensor.shape[0]} elements "
                         "respectively")
    return call(Dot.op, (input, tensor))


def add_product(b, x, y):
    """b + x y, for matrices x and y, after checks; b broadcasts."""
    if not (can_multiply(x, y) and is_row(b, y, 1)):
        b, x, y = cast_operands("addmm", b, x, y)
        addmm_operands("addmm", b, x, y)
    return call(Addmm.op, (b, x, y))


def addmm_operands(function, input, mat1, mat2):
    """Raise unless `addmm` can compute input + mat1 mat2."""
    tensor_argument(function, input)
    check(function, mat1, mat2, 2, 2)
    check_inner_sizes(function, mat1, mat2, mat1.shape[1], mat2.shape[0])
    check_same_dtype(function, input, mat1)
    if (input.shape or (1,))[-1] not in (1, mat2.shape[1]) or input.ndim > 2 or \
            (input.ndim == 2 and input.shape[0] not in (1, mat1.shape[0])):
        expand(input, mat1.shape[0], mat2.shape[1])     # raises the error


def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product of two tensors. It depends on their numbers of dimensions:

        1, 1    inner product
        2, 2    product of matrices
        2, 1    matrix times vector
        1, 2    vector times matrix: the vector is a row
        more    batches of matrices; all but the last two dimensions broadcast

    Mirrors ``torch.matmul``.

    Raises:
        RuntimeError: the shapes do not fit, an operand is 0-d, or the dtypes differ.

    >>> mg.matmul(mg.ones(2, 3), mg.ones(3))
    tensor([3., 3.])
    """
    if out is not None:
        return into(out, matmul, input, other)
    if can_multiply(input, other):
        return call(Mm.op, (input, other))
    input, other = cast_operands("matmul", input, other)
    tensor_argument("matmul", input)
    tensor_argument("matmul", other, "other", 2)
    m, n = input.ndim, other.ndim
    if m == 2 and n == 2:
        return mm(input, other)
    if m == 0 or n == 0:
        raise ShapeError("MG-E209", f"both arguments to matmul need to be at least 1D, but they are {m}D and {n}D")
    if m == 1 and n == 1:
        return dot(input, other)
    if n == 1 and m == 2:
        return mv(input, other)
    if m == 1 and n == 2:
        return call(SqueezeDimOfResult.op, (mm(unsqueeze(input, 0), other), (0,)))
    check_same_dtype("matmul", input, other)
    return matmul_batches(input, other)


def matmul_batches(x, y):
    """`matmul` where one operand has at least three dimensions."""
    check_inner_sizes("matmul", x, y, x.shape[-1], y.shape[-2] if y.ndim > 1 else y.shape[0])
    if can_fold(x, y):
        return fold_batches(x, y) if x.ndim >= y.ndim else fold_second_batches(x, y)
    a = unsqueeze(x, 0) if x.ndim == 1 else x
    b = unsqueeze(y, 1) if y.ndim == 1 else y
    batch = cython.declare(tuple, tuple(a.shape[:-2]))
    other = cython.declare(tuple, tuple(b.shape[:-2]))
    try:
        batch = batch if batch == other else tuple(np.broadcast_shapes(batch, other))
    except ValueError:
        raise ShapeError("MG-E204", f"The batch dimensions of {list(x.shape)} and {list(y.shape)} cannot be broadcast together: "
                         "the size of tensor a must match the size of tensor b at non-singleton dimensions") from None
    n = prod(batch)
    p = reshape(expand(a, *batch, *a.shape[-2:]), n, *a.shape[-2:])
    q = reshape(expand(b, *batch, *b.shape[-2:]), n, *b.shape[-2:])
    shape = (*batch, *a.shape[-2:-1][:x.ndim - 1], *b.shape[-1:][:y.ndim - 1])
    return call(UnsafeView.op, (call(Bmm.op, (p, q)), shape))


def can_fold(x, y):
    """Whether to fold the batches of one operand into its rows. The other must be one matrix or vector for all batches."""
    large, small = (x, y) if x.ndim >= y.ndim else (y, x)
    if large.ndim < 3 or small.ndim > 2:
        return False
    if small.requires_grad or large.numel() == 0:
        return True     # without folding, the gradient of `small` would be a batch of matrices, and then their sum
    return x.ndim != 2 and large.is_contiguous()


def fold_batches(x, y):
    """x y, with the batches of x as further rows; y is a matrix or a vector."""
    rows = reshape(x, prod(x.shape[:-1]), x.shape[-1])
    z = call(Mv.op if y.ndim == 1 else Mm.op, (rows, y))
    return call(UnsafeView.op, (z, (*x.shape[:-1], *y.shape[1:])))


def fold_second_batches(x, y):
    """x y, with the batches of y as further columns: (yᵀ xᵀ)ᵀ."""
    z = fold_batches(transpose(y, -2, -1), t(x) if x.ndim == 2 else x)
    return contiguous(transpose(z, -2, -1)) if x.ndim == 2 else z


def matmul_operator(x, y):
    """x @ y"""
    if isinstance(x, TensorBase) and isinstance(y, TensorBase):
        return matmul(x, y)
    return NotImplemented


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input weightᵀ + bias: a fully connected layer.

    Args:
        input (Tensor): (..., in_features)
        weight (Tensor): (out_features, in_features), or (in_features)
        bias (Tensor, optional): (out_features), or 0-d

    Mirrors ``torch.nn.functional.linear``.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> F.linear(mg.tensor([1., 2.]), mg.tensor([[3., 4.]]), mg.tensor([0.5]))
    tensor([11.5000])
    """
    if bias is not None and can_apply_linear(input, weight) and is_row(bias, weight, 0):
        return call(Addmm.op, (bias, input, t(weight)))
    input, weight, bias = cast_operands("linear", input, weight, bias)
    tensor_argument("linear", input)
    tensor_argument("linear", weight, "weight", 2)
    if bias is not None:
        tensor_argument("linear", bias, "bias", 3)
    if cython.cast(TensorBase, input)._meta.ndim == 0 or cython.cast(TensorBase, weight)._meta.ndim == 0:
        raise ShapeError("MG-E209", f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and "
                         f"{weight.ndim}D")
    if cython.cast(TensorBase, weight)._meta.ndim == 1:
        if bias is not None and bias.ndim:
            raise ShapeError("MG-E209", "mat2 must be a matrix, got 1-D tensor: with a bias, linear() needs a 2-D weight")
        z = matmul(input, weight)
        return z if bias is None else z + bias
    if weight.ndim == 2:
        check_features(input, weight)
    if bias is None:
        return matmul(input, t(weight))
    if cython.cast(TensorBase, input)._meta.ndim == 2:
        return add_product(bias, input, t(weight))
    check_same_dtype("linear", input, weight)
    rows = view(input, -1, weight.shape[1]) if input.is_contiguous() else reshape(input, -1, weight.shape[1])
    return view(add_product(bias, rows, t(weight)), *input.shape[:-1], weight.shape[0])
