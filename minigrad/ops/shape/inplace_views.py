"""Views taken in place: ``x.t_()`` and its like change how x looks at its memory, and no number in it.

The rules are those of the views; PyTorch numbers their nodes apart (`TBackward1`). What is special about them is in
``_core/mutation/inplace_views.py``. `resize_` and `set_` have no derivative.

Mirrors ``aten/src/ATen/native/{TensorShape,Resize}.cpp``.
"""

from minigrad._core.graph.thread_state import current
from minigrad._core.mutation.inplace_views import apply_inplace_view, set_array, set_source
from minigrad._core.record.forward_ad import tangent_of
from minigrad._core.record.operands import translate_kernel_error
from minigrad.errors import AutogradError, ShapeError
from minigrad.ops.base.rule import dimension, dimensions, op, tensor_argument
from minigrad.ops.shape.strided import AsStrided, geometry_in
from minigrad.ops.shape.views import Alias, Squeeze, SqueezeDim, SqueezeDims, T, Transpose, Unsqueeze, as_shape, check_matrix


@op("t_", "T1")
class TInPlace(T):
    """`T`, in place"""


@op("transpose_", "Transpose1")
class TransposeInPlace(Transpose):
    """`Transpose`, in place"""


@op("transpose_0d_", "Transpose1")
class TransposeNothing(Alias):
    """`Transpose` of a 0-d tensor, in place"""


@op("unsqueeze_", "Unsqueeze1")
class UnsqueezeInPlace(Unsqueeze):
    """`Unsqueeze`, in place"""


@op("squeeze_", "Squeeze3")
class SqueezeInPlace(Squeeze):
    """`Squeeze`, in place"""


@op("squeeze_dim_", "Squeeze4")
class SqueezeDimInPlace(SqueezeDim):
    """`SqueezeDim`, in place"""


@op("squeeze_dims_", "Squeeze5")
class SqueezeDimsInPlace(SqueezeDims):
    """`SqueezeDims`, in place"""


@op("as_strided_", "AsStrided1")
class AsStridedInPlace(AsStrided):
    """`AsStrided`, in place"""


# ---- methods ----------------------------------------------------------------------------------------------


def t_(self):
    """Transpose this matrix in place: its shape changes, its memory does not. Mirrors ``torch.Tensor.t_``.

    Raises:
        RuntimeError: more than two dimensions, or self may not be written to.

    >>> mg.tensor([[1., 2.]]).t_()
    tensor([[1.],
            [2.]])
    """
    check_matrix("t_", self)
    return apply_inplace_view(TInPlace.op, self, ())


def transpose_(self, dim0, dim1):
    """Swap two dimensions in place. Mirrors ``torch.Tensor.transpose_``.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: self may not be written to.

    >>> mg.zeros(2, 3).transpose_(0, 1).shape
    minigrad.Size([3, 2])
    """
    at = dimension(dim0, self.ndim), dimension(dim1, self.ndim)
    return apply_inplace_view(TransposeInPlace.op, self, at) if self.ndim else apply_inplace_view(TransposeNothing.op, self, ())


def swapaxes_(self, axis0, axis1):
    """`transpose_` under NumPy's name. Mirrors ``torch.Tensor.swapaxes_``.

    >>> mg.zeros(2, 3).swapaxes_(0, 1).shape
    minigrad.Size([3, 2])
    """
    return transpose_(self, axis0, axis1)


def unsqueeze_(self, dim):
    """Insert a dimension of size 1 in place. Mirrors ``torch.Tensor.unsqueeze_``.

    Raises:
        IndexError: `dim` is outside [-ndim - 1, ndim].
        RuntimeError: self may not be written to.

    >>> mg.zeros(2).unsqueeze_(0).shape
    minigrad.Size([1, 2])
    """
    return apply_inplace_view(UnsqueezeInPlace.op, self, (dimension(dim, self.ndim + 1),))


def squeeze_(self, dim=None):
    """Drop dimensions of size 1 in place. Mirrors ``torch.Tensor.squeeze_``.

    Args:
        dim (int or tuple, optional): only these; those of another size stay.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: self may not be written to.

    >>> mg.zeros(1, 3, 1).squeeze_().shape
    minigrad.Size([3])
    """
    dims = tuple([d for d in dimensions(dim, self.ndim) if self.shape[d] == 1])
    rule = SqueezeInPlace if dim is None else SqueezeDimsInPlace if isinstance(dim, (tuple, list)) else SqueezeDimInPlace
    return apply_inplace_view(rule.op, self, (dims,))


def as_strided_(self, size, stride, storage_offset=None):
    """`minigrad.as_strided` in place. Mirrors ``torch.Tensor.as_strided_``.

    Raises:
        RuntimeError: it would reach beyond the memory, or self may not be written to.

    >>> mg.arange(6).as_strided_((2, 2), (3, 1), 1)
    tensor([[1, 2],
            [4, 5]])
    """
    source, geometry = geometry_in(self, size, stride, storage_offset)
    if source is self:
        return apply_inplace_view(AsStridedInPlace.op, self, geometry)
    set_array(self, self.device.backend.kernels.as_strided(source._array, *geometry), "as_strided_")
    return self


def resize_(self, *sizes):
    """Give self another shape, keeping as many numbers as fit. Mirrors ``torch.Tensor.resize_``.

    Args:
        sizes (ints, or one tuple): if they ask for more numbers than the storage has, self moves to a larger one, in which
            the new numbers are 0, and leaves its views behind.

    Raises:
        RuntimeError: self requires a gradient (outside inference mode), or a size is negative.

    >>> mg.arange(4).resize_(2, 3)
    tensor([[0, 1, 2],
            [3, 0, 0]])
    """
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


def resize_as_(self, the_template):
    """``self.resize_(the_template.shape)``. Mirrors ``torch.Tensor.resize_as_``.

    >>> mg.arange(4).resize_as_(mg.zeros(2, 1))
    tensor([[0],
            [1]])
    """
    return resize_(self, *tensor_argument("resize_as_", the_template, "the_template").shape)


def set_(self, source=None):
    """Make self look at the memory of the tensor `source`, or at none. Mirrors ``torch.Tensor.set_``.

    Raises:
        RuntimeError: self requires a gradient, or the dtypes or devices differ.
        TypeError: `source` is no tensor.

    >>> x, y = mg.zeros(3), mg.ones(2)
    >>> x.set_(y).data_ptr() == y.data_ptr()
    True
    """
    if source is None:
        source = self.new_empty((0,))
    tensor_argument("set_", source, "source")
    if source.dtype is not self.dtype:
        raise ShapeError("MG-E203", f"Could not set tensor of type {source.dtype.name} to a tensor of type {self.dtype.name}")
    if source.device != self.device:
        raise ShapeError("MG-E202", f"set_(): self is on {self.device}, the source on {source.device}")
    return set_source(self, source)


METHODS = {
    "t_": t_, "transpose_": transpose_, "swapdims_": transpose_, "swapaxes_": swapaxes_, "unsqueeze_": unsqueeze_,
    "squeeze_": squeeze_, "as_strided_": as_strided_, "resize_": resize_, "resize_as_": resize_as_, "set_": set_,
}
