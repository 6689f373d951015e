"""The public tensor: the named methods, how tensors are copied and pickled.

Most methods are ops and come from the registry: ``ops/`` defines the function ``sum(input, ...)`` once, and
`install_methods` makes it also ``Tensor.sum``. What stands here is what is no op; what is one in another form, such as
``x.item()`` and ``x.numpy()``, stands in ``_conversions.py``. The operators and the attributes of autograd are in the
compiled base classes (``_core/surface/operators.py``, ``variable.py``).

Mirrors ``torch/_tensor.py``.
"""

import copy
import warnings

import numpy as np

from minigrad._conversions import Conversions
from minigrad._core.graph.method_checks import Checked
from minigrad._core.graph.tensor import address, owner_of, use_tensor_class
from minigrad._core.graph.upcalls import upcalls
from minigrad._core.record.operands import translate_kernel_error
from minigrad._core.surface.operators import use_operators
from minigrad._core.surface.variable import new_tensor
from minigrad._data import as_array
from minigrad.dtypes import as_device, as_dtype, float32
from minigrad.errors import ArgumentError, AutogradError, ShapeError
from minigrad.ops.base.rule import dimension, flag, tensor_argument
from minigrad.ops.shape.formats import channels_last, channels_last_3d, check_format
from minigrad.ops.shape.views import as_shape

__all__ = ["Tensor"]


class Tensor(Conversions, metaclass=Checked):
    """A multi-dimensional array of numbers of one dtype that autograd can differentiate through.

    Make one with `tensor`, `zeros`, `rand` and their like. ``Tensor(2, 3)`` gives uninitialised float32 numbers of
    that shape and ``Tensor([1, 2])`` float32 ones with these values, as in PyTorch.

    Mirrors ``torch.Tensor``.

    >>> x = mg.tensor([1., 2.], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ()

    def __new__(cls, *data, device=None):
        as_device(device)
        if not data:
            return new_tensor(cls, np.empty(0, np.float32))
        if len(data) == 1 and isinstance(data[0], Tensor):
            return new_tensor(cls, data[0]._array)
        if len(data) == 1 and not isinstance(data[0], int):
            return new_tensor(cls, as_array(data[0], np.dtype("float32"), copy=True))
        from minigrad.creation import empty
        return new_tensor(cls, empty(data, dtype=float32)._array)

    def __init_subclass__(cls, **kwargs):
        """Ops on a subclass give instances of it, unless the class says otherwise with `_result_class`."""
        super().__init_subclass__(**kwargs)

    @classmethod
    def _result_class(cls, other):
        """The class of an op's result, one operand being a `cls`, another an `other` (or None)."""
        return cls if other is None or issubclass(cls, other) else other

    def as_subclass(self, cls):
        """This tensor's numbers and history as an instance of `cls`. Mirrors ``torch.Tensor.as_subclass``.

        >>> class Mine(mg.Tensor): pass
        >>> type(mg.ones(2).as_subclass(Mine) + 1).__name__
        'Mine'
        """
        from minigrad.ops.shape.views import alias_as
        return alias_as(self, cls)

    @staticmethod
    def _make_subclass(cls, data, require_grad=False):  # pyright: ignore[reportSelfClsParameterName]
        """A leaf of class `cls` on the memory of `data`. Mirrors ``torch.Tensor._make_subclass``."""
        tensor_argument("_make_subclass", data, "data", 2)
        return new_tensor(cls, data._array, require_grad, data.device)

    # ---- shape ------------------------------------------------------------------------------------------

    def size(self, dim=None):
        """The shape, or the size of one dimension. Mirrors ``torch.Tensor.size``.

        >>> mg.zeros(2, 3).size(), mg.zeros(2, 3).size(1)
        (minigrad.Size([2, 3]), 3)
        """
        return self.shape if dim is None else self.shape[dimension(dim, self.ndim)]

    def dim(self):
        """Number of dimensions.

        >>> mg.zeros(2, 3).dim()
        2
        """
        return self.ndim

    def numel(self):
        """Number of elements.

        >>> mg.zeros(2, 3).numel()
        6
        """
        return self._meta.numel

    nelement = numel
    ndimension = dim

    def stride(self, dim=None):
        """How many elements apart neighbours along each dimension (or one) lie in memory.

        >>> mg.zeros(2, 3).stride()
        (3, 1)
        """
        strides = self._meta.backend.kernels.geometry(self._array, self._array)[2]
        return strides if dim is None else strides[dimension(dim, self.ndim)]

    def storage_offset(self):
        """How many elements this tensor begins after its storage does.

        >>> mg.arange(4)[2:].storage_offset()
        2
        """
        if not isinstance(self._array, np.ndarray):
            return self._array.start        # on a GPU, where a block of memory is a storage
        return (address(self._array) - address(owner_of(self._array))) // self._array.itemsize

    def is_contiguous(self, *, memory_format=None):
        """Whether the elements lie row by row without gaps. Mirrors ``torch.Tensor.is_contiguous``.

        Args:
            memory_format (optional): the default, or ``mg.channels_last``: whether they lie so in the order (N, H, W, C).

        >>> mg.zeros(2, 3).is_contiguous(), mg.zeros(2, 3).t().is_contiguous()
        (True, False)
        """
        if memory_format is channels_last or memory_format is channels_last_3d:
            dims = 4 if memory_format is channels_last else 5
            return self.ndim == dims and self.detach().movedim(1, -1).is_contiguous()
        check_format("is_contiguous", memory_format)
        return self._meta.backend.kernels.contiguous(self._array)

    def data_ptr(self):
        """Address of the first element; 0 if there is none.

        >>> x = mg.zeros(2)
        >>> x.data_ptr() == x.detach().data_ptr()
        True
        """
        array = self._array
        if not self._meta.numel:
            return 0
        return address(array) if isinstance(array, np.ndarray) else array.address

    def element_size(self):
        """Size of an element in bytes.

        >>> mg.zeros(2).element_size()
        4
        """
        return self.dtype.itemsize

    @property
    def itemsize(self):
        """Size of an element in bytes."""
        return self.dtype.itemsize

    @property
    def nbytes(self):
        """Size of all elements in bytes."""
        return self.dtype.itemsize * self.numel()

    @property
    def T(self):
        """The dimensions in reverse order: for a matrix, its transpose. A view."""
        return self.permute(*range(self.ndim - 1, -1, -1))

    @property
    def mT(self):
        """The last two dimensions swapped: for a batch of matrices, their transposes. A view."""
        if self.ndim < 2:
            raise ShapeError("MG-E209", f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D "
                             "tensor.")
        return self.transpose(-2, -1)

    @property
    def real(self):
        """The real part, a view; a real tensor itself. What is assigned to it is written there, as to ``x.imag``."""
        from minigrad.ops.elementwise.selection import real_part
        return real_part(self)

    @real.setter
    def real(self, value):
        self.real.copy_(value)      # pyright: ignore[reportAttributeAccessIssue]

    @property
    def imag(self):
        """The imaginary part of a complex tensor, a view. Raises `RuntimeError` for a real one, which has none."""
        from minigrad.ops.elementwise.complex_numbers import imag
        return imag(self)

    @imag.setter
    def imag(self, value):
        self.imag.copy_(value)      # pyright: ignore[reportAttributeAccessIssue]

    @property
    def is_cpu(self):
        """Whether it lives in the memory of the CPU."""
        return self.device.type == "cpu"

    @property
    def is_cuda(self):
        """Whether it lives on a GPU."""
        return self.device.type == "cuda"

    def is_floating_point(self):
        """Whether the dtype is a floating point one.

        >>> mg.zeros(2).is_floating_point()
        True
        """
        return self.dtype.is_floating_point

    def is_complex(self):
        """Whether the dtype is a complex one.

        >>> mg.zeros(2).is_complex()
        False
        """
        return self.dtype.is_complex

    def conj(self):
        """The complex conjugate; a real tensor itself.

        >>> mg.tensor([1+2j]).conj()
        tensor([1.-2.j])
        """
        from minigrad._core.record.apply import call
        from minigrad.ops.elementwise.selection import Conj
        return call(Conj.op, (self,)) if self.dtype.is_complex else self

    # ---- autograd ---------------------------------------------------------------------------------------

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Compute the gradients of this tensor with respect to the leaves of its graph, adding them to ``.grad``.

        Args:
            gradient (Tensor, optional): the gradient of this tensor; may be left out for a single real number.
            retain_graph (bool, optional): keep what the nodes saved, for a second backward. As `create_graph` by
                default.
            create_graph (bool): record the backward itself, for higher derivatives.
            inputs (sequence of Tensor, optional): accumulate into these alone.

        See `minigrad.autograd.backward` for what is raised. Mirrors ``torch.Tensor.backward``.

        >>> x = mg.tensor(3., requires_grad=True)
        >>> (x * x).backward()
        >>> x.grad
        tensor(6.)
        """
        upcalls.backward(self, gradient, retain_graph, create_graph, inputs=inputs)    # pyright: ignore[reportArgumentType]

    def requires_grad_(self, requires_grad=True):
        """Set `requires_grad` and return this tensor.

        Raises:
            RuntimeError: on False for a tensor that is no leaf, or True for a dtype without gradients.

        >>> mg.zeros(2).requires_grad_()
        tensor([0., 0.], requires_grad=True)
        """
        if requires_grad is not True or self.is_leaf:       # a tensor with a history requires one already
            self.requires_grad = requires_grad
        return self

    # ---- shape of another --------------------------------------------------------------------------------

    def view_as(self, other):
        """``self.view(other.shape)``

        >>> mg.arange(4).view_as(mg.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
        """
        return self.view(tuple(tensor_argument("view_as", other, "other").shape))

    def reshape_as(self, other):
        """``self.reshape(other.shape)``

        >>> mg.arange(4).reshape_as(mg.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
        """
        return self.reshape(tuple(tensor_argument("reshape_as", other, "other").shape))

    def expand_as(self, other):
        """``self.expand(other.shape)``

        >>> mg.tensor([1, 2]).expand_as(mg.zeros(2, 2))
        tensor([[1, 2],
                [1, 2]])
        """
        return self.expand(tuple(tensor_argument("expand_as", other, "other").shape))

    # ---- new tensors like this one --------------------------------------------------------------------------

    def new_tensor(self, data, *, dtype=..., device=None, requires_grad=False):
        """A tensor with a copy of `data`, by default of this tensor's dtype. Mirrors ``torch.Tensor.new_tensor``.

        >>> mg.zeros(1, dtype=mg.float64).new_tensor([1, 2])
        tensor([1., 2.], dtype=minigrad.float64)
        """
        from minigrad.creation import made
        kind = self.dtype if dtype is ... else None if dtype is None else as_dtype(dtype)
        array = as_array(data, None if kind is None else kind.numpy, copy=True)
        return made(array, self.device if device is None else device, requires_grad)

    def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False):
        """A tensor of one value, by default of this tensor's dtype. Mirrors ``torch.Tensor.new_full``.

        >>> mg.tensor([1]).new_full((2,), 5)
        tensor([5, 5])
        """
        from minigrad.creation import full
        return full(size, fill_value, dtype=self.dtype if dtype is None else dtype,
                    device=self.device if device is None else device, requires_grad=requires_grad)

    def new_zeros(self, *size, dtype=None, device=None, requires_grad=False):
        """Zeros, by default of this tensor's dtype. Mirrors ``torch.Tensor.new_zeros``.

        >>> mg.tensor([1]).new_zeros(2)
        tensor([0, 0])
        """
        return self._filled(size, 0, dtype, device, requires_grad)

    def new_ones(self, *size, dtype=None, device=None, requires_grad=False):
        """Ones, by default of this tensor's dtype. Mirrors ``torch.Tensor.new_ones``.

        >>> mg.tensor([1]).new_ones(2)
        tensor([1, 1])
        """
        return self._filled(size, 1, dtype, device, requires_grad)

    def new_empty(self, *size, dtype=None, device=None, requires_grad=False):
        """Elements not yet set, by default of this tensor's dtype. Mirrors ``torch.Tensor.new_empty``.

        >>> mg.tensor([1]).new_empty(2).shape
        minigrad.Size([2])
        """
        return self._filled(size, None, dtype, device, requires_grad)

    def _filled(self, size, value, dtype, device, requires_grad):
        """A leaf with `value` everywhere, None for whatever is there. Gradients are made so: it has to be quick."""
        shape = as_shape(size, "new_tensor")
        if min(shape, default=0) < 0:
            raise ShapeError("MG-E206", f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
        as_device(device)
        if requires_grad is not False:
            flag(requires_grad, "requires_grad", "new_tensor")
        kind = (self.dtype if dtype is None else as_dtype(dtype)).numpy
        kernels = self._meta.backend.kernels
        try:
            array = kernels.empty(shape, kind) if value is None else kernels.full(shape, value, kind)
        except (ValueError, MemoryError) as error:
            raise translate_kernel_error("new_tensor", error) from None
        return new_tensor(Tensor, array, requires_grad, self.device)

    # ---- copies and pickles ---------------------------------------------------------------------------------

    def __deepcopy__(self, memo):
        if self.grad_fn is not None:
            raise AutogradError("MG-E116", "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                                "protocol at the moment.", node=self.grad_fn.name(), fix="copy.deepcopy(x.detach())")
        if id(self) in memo:
            return memo[id(self)]
        out = new_tensor(type(self), self._meta.backend.kernels.copy(self._array), self.requires_grad, self.device)
        memo[id(self)] = out
        attributes = _attributes(self)
        if attributes:
            out.__dict__.update(copy.deepcopy(attributes, memo))
        if self.grad is not None:
            out.grad = copy.deepcopy(self.grad, memo)
        return out

    def __reduce_ex__(self, protocol):
        for hook in (self._backward_hooks or {}).values():
            if not getattr(hook, "__torch_unserializable__", False):
                warnings.warn(f"backward hook {hook!r} on tensor will not be serialized. If this is expected, you can decorate the "
                              "function with @minigrad.utils.hooks.unserializable_hook to suppress this warning", UserWarning,
                              stacklevel=2)
        array = self._meta.backend.kernels.to_host(self._array)
        where = () if self.device.type == "cpu" else (str(self.device),)
        return _rebuild, (type(self), array, self.requires_grad, _attributes(self), *where)


def _attributes(tensor):
    """What the user has set on an instance of a subclass: in the interpreted mode our own fields lie beside it."""
    return {name: value for name, value in getattr(tensor, "__dict__", {}).items() if name not in _OUR_FIELDS}


def _rebuild(cls, array, requires_grad, attributes=None, device="cpu"):
    """What a pickled tensor is made of again: always a leaf, on the device that it was on."""
    out = new_tensor(cls, array, requires_grad, as_device(device))
    if attributes:
        out.__dict__.update(attributes)
    return out


# Empty when compiled.
_OUR_FIELDS = frozenset(getattr(new_tensor(Tensor, np.empty(0, np.float32)), "__dict__", ()))


def install_methods(functions):
    """Make methods of ops: `functions` maps the name of a method to the function whose first argument is self."""
    for name, function in functions.items():
        if name in vars(Tensor) or name in vars(Conversions):
            raise ArgumentError("MG-E501", f"Tensor has a method {name!r} already")
        setattr(Tensor, name, function)


use_tensor_class(Tensor)
use_operators(Tensor)
