"""A tensor plus a product, in one op: beta b + alpha (x ∘ y) for matrices, vectors and elementwise; and lerp.

Mirrors ``aten/src/ATen/native/{LinearAlgebra,Blas,PointwiseOps,Lerp}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from cython.cimports.minigrad._core.graph.tensor import TensorBase
from cython.cimports.minigrad._core.record.apply import call
from cython.cimports.minigrad.ops.base.rule import conj

from minigrad._core.graph.metadata import INTEGER
from minigrad.errors import AutogradNotImplementedError, DtypeError, ShapeError
from minigrad.kernels.contract import NUMBER
from minigrad.ops.base.arguments import convert_number, number, tensor_argument
from minigrad.ops.base.autocast import cast_operands
from minigrad.ops.base.inplace_pairs import in_place_too
from minigrad.ops.base.out import into
from minigrad.ops.base.precision import in_float32, round_to, to_wide, wide_on_cpu
from minigrad.ops.base.rule import BOOL, Elementwise, Op, op, write_by_kernel
from minigrad.ops.elementwise.selection import promote_tensors
from minigrad.ops.linalg.matrix import Bmm, add_product, addmm_operands, check, check_bmm, check_inner_sizes, check_same_dtype
from minigrad.ops.shape.clone_cast import cast, contiguous
from minigrad.ops.shape.views import expand, t, transpose, unsqueeze

if TYPE_CHECKING:
    from minigrad.types import Number, Tensor

__all__ = ["addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "baddbmm", "lerp"]

ADDCMUL, ADDCDIV, LERP = NUMBER["addcmul"], NUMBER["addcdiv"], NUMBER["lerp"]


class AddedProduct(Op):
    """Base of the ops z = beta b + alpha (x ∘ y); with beta = 0, b is not read, even where it is nan"""

    inputs = 3

    def vjp_b(g, beta):
        return g if beta == 1 else g * beta

    @classmethod
    def jvp_of(cls, args, outs, tangents):
        _, x, y, beta, alpha = args
        tb, tx, ty = tangents
        total = outs[0].new_zeros(outs[0].shape) if tb is None else expand(tb * beta, outs[0].shape)
        if tx is not None:
            total = call(cls.op, (total, tx, y, 1, alpha))
        return total if ty is None else call(cls.op, (total, x, ty, 1, alpha))


def combine(k, b, product, beta, alpha):
    """beta b + alpha product, for arrays."""
    if alpha != 1:
        product = k.mul(product, alpha)
    return product if beta == 0 else k.add(b if beta == 1 else k.mul(b, beta), product)


def scale_gradient(g, alpha):
    """alpha g"""
    return g if alpha == 1 else g * alpha


@op("addmm_scaled", "Addmm0")
class AddmmScaled(AddedProduct):
    """z = beta b + alpha x y, for matrices; b broadcasts"""

    torch_names = {"b": "self", "x": "mat1", "y": "mat2"}

    def forward(k, b, x, y, beta, alpha):
        z = k.matmul(wide_on_cpu(k, x), wide_on_cpu(k, y))
        return round_to(k, combine(k, wide_on_cpu(k, b), z, beta, alpha), b)

    def vjp_x(g, y, alpha):
        return scale_gradient(g @ conj(t(y)), alpha)

    def vjp_y(g, x, alpha):
        return scale_gradient(conj(t(x)) @ g, alpha)


@op("addmv")
class Addmv(AddedProduct):
    """z = beta b + alpha x y, for a matrix x and a vector y; b broadcasts"""

    torch_names = {"b": "self", "x": "mat", "y": "vec"}

    def forward(k, b, x, y, beta, alpha):
        z = k.select(k.matmul(wide_on_cpu(k, x), k.unsqueeze(wide_on_cpu(k, y), 1)), 1, 0)
        return round_to(k, combine(k, wide_on_cpu(k, b), z, beta, alpha), b)

    def vjp_x(g, y, alpha):
        return scale_gradient(unsqueeze(g, 1) * conj(y), alpha)

    def vjp_y(g, x, alpha):
        return scale_gradient(conj(t(x)) @ g, alpha)


@op("addr")
class Addr(AddedProduct):
    """z = beta b + alpha x yᵀ, for vectors; b broadcasts"""

    torch_names = {"b": "self", "x": "vec1", "y": "vec2"}

    def forward(k, b, x, y, beta, alpha):
        z = k.mul(k.unsqueeze(to_wide(k, x), 1), to_wide(k, y))
        return round_to(k, combine(k, to_wide(k, b), z, beta, alpha), b)

    def vjp_x(g, y, alpha):
        return scale_gradient(g @ conj(y), alpha)

    def vjp_y(g, x, alpha):
        return scale_gradient(t(g) @ conj(x), alpha)


@op("baddbmm")
class Baddbmm(AddedProduct):
    """z[i] = beta b[i] + alpha x[i] y[i], for batches of matrices; b broadcasts"""

    torch_names = {"b": "self", "x": "batch1", "y": "batch2"}

    def forward(k, b, x, y, beta, alpha):
        z = k.matmul(wide_on_cpu(k, x), wide_on_cpu(k, y))
        return round_to(k, combine(k, wide_on_cpu(k, b), z, beta, alpha), b)

    def vjp_x(g, y, alpha):
        return scale_gradient(g @ conj(transpose(y, 1, 2)), alpha)

    def vjp_y(g, x, alpha):
        return scale_gradient(conj(transpose(x, 1, 2)) @ g, alpha)


@op("addbmm")
class Addbmm(AddedProduct):
    """z = beta b + alpha Σ x[i] y[i], for batches of matrices; b broadcasts"""

    torch_names = {"b": "self", "x": "batch1", "y": "batch2"}

    def forward(k, b, x, y, beta, alpha):
        product = k.sum(k.matmul(to_wide(k, x), to_wide(k, y)), (0,), False)
        return round_to(k, combine(k, to_wide(k, b), product, beta, alpha), b)

    @in_float32
    def vjp_x(g, y, alpha):
        return call(Bmm.op, (repeat_matrix(scale_gradient(g, alpha), y), conj(transpose(y, 1, 2))))

    @in_float32
    def vjp_y(g, x, alpha):
        return call(Bmm.op, (conj(transpose(x, 1, 2)), repeat_matrix(scale_gradient(g, alpha), x)))


def repeat_matrix(g, batch):
    """Return the matrix g, expanded to the size of `batch`. BLAS needs rows with their own memory, so g is made contiguous."""
    return expand(contiguous(g), (batch.shape[0], *g.shape))


@op("addcmul")
class Addcmul(Elementwise):
    """z = b + value x y"""

    inputs = 3
    torch_names = {"b": "self", "x": "tensor1", "y": "tensor2"}

    def forward(k, b, x, y, value):
        return round_to(k, k.addcmul(to_wide(k, b), to_wide(k, x), to_wide(k, y), value), b)

    def write(k, b, x, y, value):
        write_by_kernel(k, ADDCMUL, b, x, y, value)

    def vjp_b(g):
        return g

    def vjp_x(g, y, value):
        return scale_gradient(g, value) * conj(y)

    def vjp_y(g, x, value):
        return scale_gradient(g, value) * conj(x)


@op("addcdiv")
class Addcdiv(Elementwise):
    """z = b + value x / y"""

    inputs = 3
    torch_names = {"b": "self", "x": "tensor1", "y": "tensor2"}

    def forward(k, b, x, y, value):
        return round_to(k, k.addcdiv(to_wide(k, b), to_wide(k, x), to_wide(k, y), value), b)

    def write(k, b, x, y, value):
        write_by_kernel(k, ADDCDIV, b, x, y, value)

    def vjp_b(g):
        return g

    def vjp_x(g, y, value):
        return scale_gradient(g, value) / conj(y)

    @in_float32
    def vjp_y(g, x, y, value):
        return -scale_gradient(g, value) * conj((x / y) / y)


@op("lerp_scalar", "Lerp0")
class LerpScalar(Elementwise):
    """z = x + w (y - x), for a number w"""

    inputs = 2
    torch_names = {"x": "self", "y": "end", "w": "weight"}

    def forward(k, x, y, w):
        return round_to(k, k.lerp(to_wide(k, x), to_wide(k, y), w), x)

    def write(k, x, y, w):
        write_by_kernel(k, LERP, x, y, w)

    def vjp_x(g, w):
        return g * conj(1 - w)

    def vjp_y(g, w):
        return g * conj(w)


@op("lerp", "Lerp1")
class Lerp(LerpScalar):
    """z = x + w (y - x)"""

    inputs = 3
    write = None        # pyright: ignore[reportAssignmentType]  (the kernel is for a number)

    def forward(k, x, y, w):
        like, x, y, w = x, to_wide(k, x), to_wide(k, y), to_wide(k, w)
        d = k.sub(y, x)                 # from the nearer end, so that a weight of 1 gives y exactly
        z = k.where(k.lt(k.abs(w), 0.5), k.add(x, k.mul(d, w)), k.sub(y, k.mul(d, k.rsub(w, 1))))
        return round_to(k, z, like)

    def vjp_w(g, x, y):
        return g * conj(y - x)


# ---- public functions -------------------------------------------------------------------------------------


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """beta input + alpha mat1 mat2. Mirrors ``torch.addmm``.

    Args:
        input (Tensor): broadcasts to (n, p); not read if beta is 0.
        mat1, mat2 (Tensor): matrices (n, m) and (m, p).
        beta, alpha (number, optional): the factors of `input` and of the product.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> mg.addmm(mg.tensor([10., 20.]), mg.ones(2, 3), mg.ones(3, 2))
    tensor([[13., 23.],
            [13., 23.]])
    """
    if out is not None:
        return into(out, addmm, input, mat1, mat2, beta=beta, alpha=alpha)
    if type(beta) is int and type(alpha) is int and beta == 1 and alpha == 1:
        return add_product(input, mat1, mat2)
    input, mat1, mat2 = cast_operands("addmm", input, mat1, mat2)
    addmm_operands("addmm", input, mat1, mat2)
    return call(AddmmScaled.op, (input, mat1, mat2, *check_factors("addmm", mat1, beta, alpha)))


@in_place_too
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1):
    """beta input + alpha mat vec. Mirrors ``torch.addmv``.

    Args:
        input (Tensor): broadcasts to (n); not read if beta is 0.
        mat, vec (Tensor): a matrix (n, m) and a vector (m).
        beta, alpha (number, optional): the factors of `input` and of the product.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> mg.tensor([10., 20.]).addmv(mg.ones(2, 3), mg.ones(3))
    tensor([13., 23.])
    """
    check("addmv", mat, vec, 2, 1)
    check_inner_sizes("addmv", mat, vec, mat.shape[1], vec.shape[0])
    return Addmv.op, (check_addend("addmv", input, mat, (mat.shape[0],)), mat, vec, *check_factors("addmv", mat, beta, alpha))


@in_place_too
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1):
    """beta input + alpha times the outer product of two vectors. Mirrors ``torch.addr``.

    Args:
        input (Tensor): broadcasts to (n, m); not read if beta is 0.
        vec1, vec2 (Tensor): vectors (n) and (m).
        beta, alpha (number, optional): the factors of `input` and of the product.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> mg.zeros(2, 2).addr(mg.tensor([1., 2.]), mg.tensor([3., 4.]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    check("addr", vec1, vec2, 1, 1)
    addend = check_addend("addr", input, vec1, (vec1.shape[0], vec2.shape[0]))
    return Addr.op, (addend, vec1, vec2, *check_factors("addr", vec1, beta, alpha))


@in_place_too
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1):
    """beta input + alpha batch1[i] batch2[i], for batches of matrices. Mirrors ``torch.baddbmm``.

    Args:
        input (Tensor): broadcasts to (b, n, p); not read if beta is 0.
        batch1, batch2 (Tensor): (b, n, m) and (b, m, p).
        beta, alpha (number, optional): the factors of `input` and of the products.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> mg.zeros(1, 1, 1).baddbmm(mg.ones(1, 1, 3), mg.ones(1, 3, 1), alpha=2)
    tensor([[[6.]]])
    """
    input, batch1, batch2 = cast_operands("baddbmm", input, batch1, batch2)
    check("baddbmm", batch1, batch2, 3, 3)
    check_inner_sizes("baddbmm", batch1, batch2, batch1.shape[2], batch2.shape[1])
    if batch1.shape[0] != batch2.shape[0]:
        raise ShapeError("MG-E209", f"baddbmm(): batch sizes differ, {batch1.shape[0]} and {batch2.shape[0]}")
    shape = batch1.shape[0], batch1.shape[1], batch2.shape[2]
    addend = check_addend("baddbmm", input, batch1, shape)
    return Baddbmm.op, (addend, batch1, batch2, *check_factors("baddbmm", batch1, beta, alpha))


@in_place_too
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1):
    """beta input + alpha Σ batch1[i] batch2[i], for batches of matrices. Mirrors ``torch.addbmm``.

    Args:
        input (Tensor): broadcasts to (n, p); not read if beta is 0.
        batch1, batch2 (Tensor): (b, n, m) and (b, m, p).
        beta, alpha (number, optional): the factors of `input` and of the sum.

    Raises:
        RuntimeError: the shapes do not fit, or the dtypes differ.

    >>> mg.zeros(1, 1).addbmm(mg.ones(2, 1, 3), mg.ones(2, 3, 1))
    tensor([[6.]])
    """
    input, batch1, batch2 = cast_operands("addbmm", input, batch1, batch2)
    check_bmm(batch1, batch2)
    shape = batch1.shape[1], batch2.shape[2]
    return Addbmm.op, (check_addend("addbmm", input, batch1, shape), batch1, batch2, *check_factors("addbmm", batch1, beta, alpha))


def check_factors(function, x, beta, alpha):
    """Return (beta, alpha); raise if they are not numbers, or are complex where x is real."""
    return tuple([check_factor(number(value, name, function), x) for value, name in ((beta, "beta"), (alpha, "alpha"))])


def check_factor(value, x):
    if isinstance(value, (complex, np.complexfloating)) and not x.dtype.is_complex:
        raise DtypeError("MG-E203", f"value cannot be converted to type {x.dtype.name} without overflow", found=str(value))
    return value


def check_addend(function, x, like, shape):
    """Return `x`; raise unless it broadcasts to `shape` and has the dtype of `like`."""
    check_same_dtype(function, x, like)
    if tuple(x.shape) != tuple(shape):
        expand(x, *shape)       # raises the error
    return x


@in_place_too
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1):
    """input + value tensor1 tensor2, elementwise. Mirrors ``torch.addcmul``.

    Args:
        input, tensor1, tensor2 (Tensor): the shapes broadcast, and the dtypes are promoted.
        value (number, optional): the factor of the product. For integers its fraction is dropped.

    Raises:
        RuntimeError: the shapes cannot be broadcast together.

    >>> mg.tensor([1., 1.]).addcmul(mg.tensor([1., 2.]), mg.tensor([3., 4.]), value=10)
    tensor([31., 81.])
    """
    operands = promote_three("addcmul", input, tensor1, tensor2)
    return Addcmul.op, (*operands, factor_in("addcmul", value, operands[0].dtype))


@in_place_too
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1):
    """input + value tensor1 / tensor2, elementwise. Mirrors ``torch.addcdiv``.

    Args:
        input, tensor1, tensor2 (Tensor): the shapes broadcast, and the dtypes are promoted.
        value (number, optional): the factor of the quotient.

    Raises:
        RuntimeError: the shapes cannot be broadcast together, or `tensor1` and `tensor2` both hold integers.

    >>> mg.tensor([1., 1.]).addcdiv(mg.tensor([1., 2.]), mg.tensor([2., 2.]))
    tensor([1.5000, 2.0000])
    """
    operands = promote_three("addcdiv", input, tensor1, tensor2)
    if not tensor1.dtype.differentiable and not tensor2.dtype.differentiable:
        raise DtypeError("MG-E203", "Integer division with addcdiv is no longer supported", found=operands[0].dtype.name)
    return Addcdiv.op, (*operands, factor_in("addcdiv", value, operands[0].dtype))


def factor_in(function, value, dtype):
    """Return the factor `value` of a product in `dtype`: for integers without its fraction, as in PyTorch."""
    value = number(value, "value", function)
    if dtype is BOOL:
        raise AutogradNotImplementedError("MG-E203", f'"{function}" not implemented for bool', fix="convert first: x.int()")
    if dtype.is_floating_point and isinstance(value, float):
        return value
    return int(convert_number(value, dtype)) if dtype.category == INTEGER else convert_number(value, dtype)


def promote_three(function, input, tensor1, tensor2):
    """Return the three operands in their promoted dtype."""
    tensor_argument(function, tensor1, "tensor1", 2)
    tensor_argument(function, tensor2, "tensor2", 3)
    return promote_tensors(function, input, input, tensor1, tensor2)


@in_place_too
def lerp(input: Tensor, end: Tensor, weight: Tensor | Number):
    """Linear interpolation, input + weight (end - input), elementwise. Mirrors ``torch.lerp``.

    Args:
        input, end (Tensor): of one dtype. The shapes broadcast.
        weight (number or Tensor): 0 gives `input`, 1 gives `end`. A tensor broadcasts; with dimensions, it has the same dtype.

    Raises:
        RuntimeError: the shapes cannot be broadcast together, or the dtypes differ.

    >>> mg.tensor([0., 10.]).lerp(mg.tensor([10., 20.]), 0.5)
    tensor([ 5., 15.])
    """
    check_same_dtype("lerp", input, tensor_argument("lerp", end, "end", 2))
    if not input.dtype.differentiable:
        raise AutogradNotImplementedError("MG-E203", f'"lerp" not implemented for {input.dtype.name}', fix="x.float()")
    if not isinstance(weight, TensorBase):
        return LerpScalar.op, (input, end, number(weight, "weight", "lerp"))
    if weight.ndim == 0:
        weight = cast(weight, input.dtype)
    check_same_dtype("lerp", input, weight)
    return Lerp.op, (input, end, weight)



