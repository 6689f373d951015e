"""In-place views: ``x.t_()`` changes the shape and strides of x, but no number in its memory.

The rules are the rules of the views, but PyTorch gives their nodes other numbers (`TBackward1`). Read next:
``_core/mutation/inplace_views.py``. `resize_` and `set_` have no derivative.

Mirrors ``aten/src/ATen/native/{TensorShape,Resize}.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.graph.thread_state import current
from minigrad._core.mutation.inplace_views import apply_inplace_view, set_array, set_source
from minigrad._core.record.forward_ad import tangent_of
from minigrad._core.record.operands import translate_kernel_error
from minigrad.errors import AutogradError, DeviceError, DtypeError, ShapeError
from minigrad.ops.base.arguments import dimension, dimensions, tensor_argument
from minigrad.ops.base.rule import variant
from minigrad.ops.shape.formats import check_format
from minigrad.ops.shape.strided import AsStrided, geometry_in
from minigrad.ops.shape.views import Alias, Squeeze, SqueezeDim, SqueezeDims, T, Transpose, Unsqueeze, as_shape, check_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minigrad.ops.shape.formats import memory_format
    from minigrad.types import Tensor

TInPlace = variant(T, "t_", "T1", "`T`, in place")
TransposeInPlace = variant(Transpose, "transpose_", "Transpose1", "`Transpose`, in place")
TransposeNothing = variant(Alias, "transpose_0d_", "Transpose1", "`Transpose` of a 0-d tensor, in place")
UnsqueezeInPlace = variant(Unsqueeze, "unsqueeze_", "Unsqueeze1", "`Unsqueeze`, in place")
SqueezeInPlace = variant(Squeeze, "squeeze_", "Squeeze3", "`Squeeze`, in place")
SqueezeDimInPlace = variant(SqueezeDim, "squeeze_dim_", "Squeeze4", "`SqueezeDim`, in place")
SqueezeDimsInPlace = variant(SqueezeDims, "squeeze_dims_", "Squeeze5", "`SqueezeDims`, in place")
AsStridedInPlace = variant(AsStrided, "as_strided_", "AsStrided1", "`AsStrided`, in place")

# ---- methods ----------------------------------------------------------------------------------------------


def t_(self) -> Tensor:
    """Transpose this matrix in place: its shape changes, its memory does not. Mirrors ``torch.Tensor.t_``.

    Raises:
        RuntimeError: self has more than two dimensions, or may not be written to.

    >>> mg.tensor([[1., 2.]]).t_()
    tensor([[1.],
            [2.]])
    """
    check_matrix("t_", self)
    return apply_inplace_view(TInPlace.op, self, ())


def transpose_(self, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions in place. Mirrors ``torch.Tensor.transpose_``.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: self may not be written to.

    >>> mg.zeros(2, 3).transpose_(0, 1).shape
    minigrad.Size([3, 2])
    """
    at = dimension(dim0, self.ndim), dimension(dim1, self.ndim)
    return apply_inplace_view(TransposeInPlace.op, self, at) if self.ndim else apply_inplace_view(TransposeNothing.op, self, ())


def swapaxes_(self, axis0: int, axis1: int) -> Tensor:
    """`transpose_` under NumPy's name. Mirrors ``torch.Tensor.swapaxes_``.

    >>> mg.zeros(2, 3).swapaxes_(0, 1).shape
    minigrad.Size([3, 2])
    """
    return transpose_(self, axis0, axis1)


def unsqueeze_(self, dim: int) -> Tensor:
    """Insert a dimension of size 1 in place. Mirrors ``torch.Tensor.unsqueeze_``.

    Raises:
        IndexError: `dim` is outside [-ndim - 1, ndim].
        RuntimeError: self may not be written to.

    >>> mg.zeros(2).unsqueeze_(0).shape
    minigrad.Size([1, 2])
    """
    return apply_inplace_view(UnsqueezeInPlace.op, self, (dimension(dim, self.ndim + 1),))


def squeeze_(self, dim: int | None = None) -> Tensor:
    """Remove dimensions of size 1 in place. Mirrors ``torch.Tensor.squeeze_``.

    Args:
        dim (int or tuple, optional): remove only these dimensions, where they have size 1.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: self may not be written to.

    >>> mg.zeros(1, 3, 1).squeeze_().shape
    minigrad.Size([3])
    """
    dims = tuple([d for d in dimensions(dim, self.ndim) if self.shape[d] == 1])
    rule = SqueezeInPlace if dim is None else SqueezeDimsInPlace if isinstance(dim, (tuple, list)) else SqueezeDimInPlace
    return apply_inplace_view(rule.op, self, (dims,))


def as_strided_(self, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """`minigrad.as_strided` in place. Mirrors ``torch.Tensor.as_strided_``.

    Args:
        size, stride (tuple of int): for each dimension; strides are not negative.
        storage_offset (int, optional): the place of the first element in the storage; by default it does not change.

    Raises:
        RuntimeError: the view would reach beyond the memory, or self may not be written to.

    >>> mg.arange(6).as_strided_((2, 2), (3, 1), 1)
    tensor([[1, 2],
            [4, 5]])
    """
    source, geometry = geometry_in(self, size, stride, storage_offset)
    if source is self:
        return apply_inplace_view(AsStridedInPlace.op, self, geometry)
    set_array(self, self.device.backend.kernels.as_strided(source._array, *geometry), "as_strided_")
    return self


def resize_(self, *sizes: int | Sequence[int], memory_format: memory_format | None = None) -> Tensor:
    """Give self another shape, keeping as many elements as fit. Mirrors ``torch.Tensor.resize_``.

    Args:
        sizes (ints, or one tuple): the new shape. If the storage is too small for it, self moves to a larger storage. The new
            elements are 0 there, and the views of self stay on the old storage.

    Raises:
        RuntimeError: self requires a gradient (outside inference mode), or a size is negative.

    >>> mg.arange(4).resize_(2, 3)
    tensor([[0, 1, 2],
            [3, 0, 0]])
    """
    check_format("resize_", memory_format)
    shape = as_shape(sizes, "resize_")
    if min(shape, default=0) < 0:
        raise ShapeError("MG-E206", f"resize_(): invalid shape {list(shape)}")
    if self.requires_grad and not self.is_inference() and not current().inference:
        raise AutogradError("MG-E212", "cannot resize variables that require grad", found=f"shape {list(self.shape)}",
                            fix="x.detach().clone().resize_(...), or pad or slice x")
    if tangent_of(self) is not None:
        raise AutogradError("MG-E212", "cannot resize variables that has a forward grad", found=f"shape {list(self.shape)}",
                            fix="x.detach().clone().resize_(...), or pad or slice x")
    if shape != self.shape:
        try:
            array = self.device.backend.kernels.resize(self._array, shape)
        except (ValueError, MemoryError) as error:
            raise translate_kernel_error("resize_", error) from None
        set_array(self, array, "resize_")
    return self


def resize_as_(self, the_template: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """``self.resize_(the_template.shape)``. Mirrors ``torch.Tensor.resize_as_``.

    >>> mg.arange(4).resize_as_(mg.zeros(2, 1))
    tensor([[0],
            [1]])
    """
    return resize_(self, *tensor_argument("resize_as_", the_template, "the_template").shape, memory_format=memory_format)


def set_(self: Tensor, source: Tensor | None = None) -> Tensor:
    """Make self share the memory and shape of the tensor `source`, or become empty. Mirrors ``torch.Tensor.set_``.

    Raises:
        RuntimeError: self requires a gradient, or the dtypes or devices differ.
        TypeError: `source` is not a tensor.

    >>> x, y = mg.zeros(3), mg.ones(2)
    >>> x.set_(y).data_ptr() == y.data_ptr()
    True
    """
    if source is None:
        source = self.new_empty((0,))
    tensor_argument("set_", source, "source")
    if source.dtype is not self.dtype:
        raise DtypeError("MG-E203", f"Could not set tensor of type {source.dtype.name} to a tensor of type {self.dtype.name}")
    if source.device != self.device:
        raise DeviceError("MG-E202", f"set_(): self is on {self.device}, the source on {source.device}")
    return set_source(self, source)


METHODS = {
    "t_": t_, "transpose_": transpose_, "swapdims_": transpose_, "swapaxes_": swapaxes_, "unsqueeze_": unsqueeze_,
    "squeeze_": squeeze_, "as_strided_": as_strided_, "resize_": resize_, "resize_as_": resize_as_, "set_": set_,
}
