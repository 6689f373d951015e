"""Complex numbers and their parts: views that show a complex number as two real ones, and ops that make one of two.

    z = [1+2j, 3+4j]        in memory  1 2 3 4
    real  [1, 3]   imag  [2, 4]   view_as_real  [[1, 2], [3, 4]]        the same memory

The gradient of a real loss L with respect to z is dL/d(Re z) + i dL/d(Im z). So the gradients of the parts of z are the parts
of its gradient. The rule of `real` is in ``selection.py``, where abs needs it. After a write to
such a view, or when a stale one regenerates its grad_fn, view and base are both seen as real numbers: `AsStridedParts`, and
``_core/mutation/views.py``.

Mirrors ``aten/src/ATen/native/ComplexHelper.h`` and ``tools/autograd/derivatives.yaml``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.graph.upcalls import upcalls
from minigrad._core.mutation.inplace import apply_inplace
from minigrad._core.record.apply import call
from minigrad._core.record.promotion import default_dtype
from minigrad.errors import DtypeError, ShapeError
from minigrad.ops.base.arguments import tensor_argument
from minigrad.ops.base.autocast import cast_operands
from minigrad.ops.base.broadcasting import call_broadcasting
from minigrad.ops.base.inplace_pairs import IN_PLACE
from minigrad.ops.base.out import into
from minigrad.ops.base.rule import Elementwise, Linear, View, conj, op
from minigrad.ops.elementwise.functions import cos, sin
from minigrad.ops.elementwise.selection import abs, real_part, where
from minigrad.ops.shape.strided import AsStridedAdd

if TYPE_CHECKING:
    from minigrad.types import Tensor

__all__ = ["angle", "complex", "conj_physical", "imag", "polar", "real", "resolve_conj", "resolve_neg", "view_as_complex",
           "view_as_real"]


@op("imag")
class Imag(View):
    """z = the imaginary part of x, a view"""

    def forward(k, x):
        return k.imag(x)

    def vjp_x(g):
        return g * 1j


@op("view_as_real")
class ViewAsReal(View):
    """z = x, of complex numbers, with a last dimension for their two parts"""

    def forward(k, x):
        return k.view_as_real(x)

    def vjp_x(g):
        return as_complex(g)


@op("view_as_complex")
class ViewAsComplex(View):
    """z = x, whose last dimension has the two parts of complex numbers"""

    def forward(k, x):
        return k.view_as_complex(x)

    def vjp_x(g):
        return as_real(g)


@op("as_strided_parts", "AsStrided0")
class AsStridedParts(View):
    """z = a part of x by its strides; if x or z is complex, the strides count its real numbers"""

    inputs = 1

    def forward(k, x, base_strides, shape, strides, offset, made_complex):
        if not made_complex:
            x = k.view_as_real(x)
        z = k.as_strided(x, base_strides, shape, strides, offset)
        return k.view_as_complex(z) if made_complex else z

    def vjp_x(g, x_shape, base_strides, shape, strides, offset, made_complex):
        if made_complex:
            return call(AsStridedAdd.op, (as_real(g), x_shape, base_strides, shape, strides, offset))
        return as_complex(call(AsStridedAdd.op, (g, (*x_shape, 2), base_strides, shape, strides, offset)))


@op("conj_physical")
class ConjPhysical(Linear):
    """z = the complex conjugate of x"""

    inputs = 1

    def forward(k, x):
        return k.conj(x)

    def vjp_x(g):
        return conj_physical(g)


@op("angle")
class Angle(Elementwise):
    """z = the angle of x in the complex plane; 0 or π for a real x"""

    inputs = 1

    def forward(k, x):
        return k.angle(x)

    def vjp_x(g, x):            # dx = i g x / |x|²
        if not x.dtype.is_complex:
            return g.new_zeros(g.shape)
        size = abs(x)
        return where(size == 0, 0.0, g * 1j * x / (size * size))

    def jvp_x(t, x):            # Im(t / x)
        if not x.dtype.is_complex:
            return t.new_zeros(t.shape)
        size = abs(x)
        return where(size == 0, 0.0, imag(t * conj(x)) / (size * size))


@op("complex")
class Complex(Elementwise):
    """z = x + i y"""

    torch_names = {"x": "real", "y": "imag"}

    def forward(k, x, y):
        return k.complex(x, y)

    def vjp_x(g):
        return real_part(g)

    def vjp_y(g):
        return imag(g)

    def jvp_x(t):
        return t + 0j

    def jvp_y(t):
        return t * 1j


@op("polar")
class Polar(Elementwise):
    """z = x exp(i y)"""

    torch_names = {"x": "abs", "y": "angle", "z": "result"}

    def forward(k, x, y):
        return k.complex(k.mul(x, k.cos(y)), k.mul(x, k.sin(y)))

    def vjp_x(g, y):            # dx = Re(g exp(-i y))
        return real_part(g) * cos(y) + imag(g) * sin(y)

    def vjp_y(g, z):            # dy = Im(g z̄)
        return imag(g * conj(z))

    def jvp_x(t, y):
        return complex(t * cos(y), t * sin(y))

    def jvp_y(t, z):
        return t * 1j * z


# ---- public functions -------------------------------------------------------------------------------------


def real(input: Tensor) -> Tensor:
    """The real part of `input`, a view. A real tensor is returned as it is. Mirrors ``torch.real``.

    >>> mg.real(mg.tensor([1 + 2j]))
    tensor([1.])
    """
    return real_part(tensor_argument("real", input))


def imag(input: Tensor) -> Tensor:
    """The imaginary part of `input`, a view. Mirrors ``torch.imag``.

    Raises:
        RuntimeError: `input` is not complex.

    >>> mg.imag(mg.tensor([1 + 2j]))
    tensor([2.])
    """
    if not tensor_argument("imag", input).dtype.is_complex:
        raise DtypeError("MG-E203", "imag is not implemented for tensors with non-complex dtypes.", found=input.dtype.name)
    return call(Imag.op, (input,))


def view_as_real(input: Tensor) -> Tensor:
    """A view of complex numbers as pairs of real numbers, along a new last dimension. Mirrors ``torch.view_as_real``.

    Raises:
        RuntimeError: `input` is not complex.

    >>> mg.view_as_real(mg.tensor([1 + 2j, 3 + 4j]))
    tensor([[1., 2.],
            [3., 4.]])
    """
    return call(ViewAsReal.op, (tensor_argument("view_as_real", input),))


def view_as_complex(input: Tensor) -> Tensor:
    """A view of the pairs of real numbers along the last dimension as complex numbers. Mirrors ``torch.view_as_complex``.

    Args:
        input (Tensor): float32 or float64, of shape (..., 2). The two numbers of a pair are neighbours in memory.

    Returns:
        Tensor: complex64 or complex128, of shape (...).

    Raises:
        RuntimeError: the dtype is not float32 or float64; the last dimension does not have size 2 and stride 1; or
            another stride, or the storage offset, is odd.

    >>> mg.view_as_complex(mg.tensor([[1., 2.], [3., 4.]]))
    tensor([1.+2.j, 3.+4.j])
    """
    dtype = tensor_argument("view_as_complex", input).dtype
    if dtype.name not in ("float32", "float64"):
        raise DtypeError("MG-E203", "view_as_complex is only supported for half, float and double tensors, but got a tensor of "
                         f"scalar type: {dtype.name}", fix="there is no complex dtype for half here: convert with input.float()")
    if input.ndim == 0:
        raise ShapeError("MG-E204", "Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise ShapeError("MG-E204", "Tensor must have a last dimension of size 2", found=str(tuple(input.shape)))
    *strides, last = input.stride()
    fix = "copy: view_as_complex(input.contiguous())"
    if last != 1:
        raise ShapeError("MG-E204", "Tensor must have a last dimension with stride 1", found=f"stride {last}", fix=fix)
    if any([stride % 2 for stride in strides]):
        raise ShapeError("MG-E204", "Tensor must have a stride divisible by 2 for all but last dimension", found=str(strides),
                         fix=fix)
    if input.storage_offset() % 2:
        raise ShapeError("MG-E204", "Tensor must have a storage_offset divisible by 2", found=str(input.storage_offset()), fix=fix)
    return call(ViewAsComplex.op, (input,))


def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate of `input`. A real tensor is returned as it is. Mirrors ``torch.conj_physical``.

    >>> mg.conj_physical(mg.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    if out is not None:
        return into(out, conj_physical, input)
    return call(ConjPhysical.op, (input,)) if tensor_argument("conj_physical", input).dtype.is_complex else input


def conj_physical_(self) -> Tensor:
    """In place: `minigrad.conj_physical`. Mirrors ``torch.Tensor.conj_physical_``.

    >>> mg.tensor([1 + 2j]).conj_physical_()
    tensor([1.-2.j])
    """
    return apply_inplace(ConjPhysical.op, self, ()) if self.dtype.is_complex else self


IN_PLACE["conj_physical_"] = conj_physical_


def resolve_conj(input: Tensor) -> Tensor:
    """Return `input`: tensors have no conjugate bit here. Mirrors ``torch.resolve_conj``.

    >>> mg.tensor([1 + 2j]).conj().resolve_conj()
    tensor([1.-2.j])
    """
    return tensor_argument("resolve_conj", input)


def resolve_neg(input: Tensor) -> Tensor:
    """Return `input`: tensors have no negative bit here. Mirrors ``torch.resolve_neg``.

    >>> mg.tensor([1 + 2j]).conj().imag.resolve_neg()
    tensor([-2.])
    """
    return tensor_argument("resolve_neg", input)


def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of `input` in the complex plane, from -π to π: for real numbers 0, or π if negative. Mirrors ``torch.angle``.

    >>> mg.angle(mg.tensor([1j, -1]))
    tensor([1.5708, 3.1416])
    """
    if out is not None:
        return into(out, angle, input)
    x = tensor_argument("angle", input)
    return call(Angle.op, (x if x.dtype.differentiable else x.to(default_dtype()),))


def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex numbers real + i imag. Mirrors ``torch.complex``.

    Args:
        real, imag (Tensor): both float32, or both float64. The shapes broadcast.

    Returns:
        Tensor: complex64 or complex128.

    Raises:
        RuntimeError: the dtypes differ or are not float32 or float64, or the shapes cannot be broadcast together.

    >>> mg.complex(mg.tensor([1.]), mg.tensor([2.]))
    tensor([1.+2.j])
    """
    if out is not None:
        return into(out, complex, real, imag)
    return call_broadcasting(Complex.op, parts("complex", real, imag, ("real", "imag")))


def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex numbers abs · exp(i angle). Mirrors ``torch.polar``.

    Args:
        abs, angle (Tensor): both float32, or both float64. The shapes broadcast; angles are in radians.

    Returns:
        Tensor: complex64 or complex128.

    Raises:
        RuntimeError: the dtypes differ or are not float32 or float64, or the shapes cannot be broadcast together.

    >>> mg.polar(mg.tensor([2.]), mg.tensor([0.]))
    tensor([2.+0.j])
    """
    if out is not None:
        return into(out, polar, abs, angle)
    abs, angle = cast_operands("polar", abs, angle)
    return call_broadcasting(Polar.op, parts("polar", abs, angle, ("abs", "angle")))


def parts(function, x, y, names):
    """Return (x, y); raise unless both are float32 tensors, or both float64."""
    for i, v in enumerate((x, y)):
        tensor_argument(function, v, names[i], i + 1)
    for v in (x, y):
        if v.dtype.name not in ("float32", "float64"):
            raise DtypeError("MG-E203", "Expected both inputs to be Half, Float or Double tensors but got "
                             f"{x.dtype.name} and {y.dtype.name}")
    if x.dtype is not y.dtype:
        raise DtypeError("MG-E203", f"Expected object of scalar type {x.dtype.name} but got scalar type {y.dtype.name} for second "
                         "argument")
    return x, y


# ---- for the core ---------------------------------------------------------------------------------------------


def as_real(g):
    """A complex gradient, seen as pairs of real numbers."""
    return call(ViewAsReal.op, (g,))


def as_complex(g):
    """A gradient of pairs, seen as complex numbers. It is copied if the numbers of a pair are not neighbours in memory."""
    if g.stride()[-1] != 1 or any([s % 2 for s in g.stride()[:-1]]):
        g = g.contiguous()
    return call(ViewAsComplex.op, (g,))


upcalls.as_real, upcalls.as_complex = as_real, as_complex
upcalls.as_strided_parts_op = AsStridedParts.op
upcalls.view_parts = lambda x, *geometry: call(AsStridedParts.op, (x, *geometry))
