"""The public tensor: the named methods, and how a tensor meets Python, NumPy and pickle.

Most methods are ops and come from the registry: ``ops/`` defines the function ``sum(input, ...)`` once, and
`install_methods` makes it also ``Tensor.sum``. What stands here is what is no op. The operators and the
attributes of autograd are in the compiled base class (``_core/variable.py``).

Mirrors ``torch/_tensor.py``.
"""

import copy
import warnings

import numpy as np

from minigrad._core.tensor import use_tensor_class
from minigrad._core.variable import Variable, new_tensor, use_operators
from minigrad._data import as_array
from minigrad._tensor_str import tensor_str
from minigrad.dtypes import (
    as_device,
    as_dtype,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from minigrad.errors import ArgumentError, AutogradError, ShapeError, TensorValueError
from minigrad.ops.base import dimension, tensor_argument
from minigrad.ops.views import as_shape

__all__ = ["Tensor"]


class Tensor(Variable):
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
    __array_priority__ = 1000       # ndarray + Tensor asks us

    def __new__(cls, *data, device=None):
        as_device(device)
        if not data:
            return new_tensor(cls, np.empty(0, np.float32))
        if len(data) == 1 and isinstance(data[0], Tensor):
            return new_tensor(cls, data[0]._array)
        if len(data) == 1 and not isinstance(data[0], int):
            return new_tensor(cls, as_array(data[0], np.dtype("float32"), copy=True))
        return new_tensor(cls, np.empty(data or (0,), np.float32))

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
        from minigrad.ops.views import alias_as
        return alias_as(self, cls)

    @staticmethod
    def _make_subclass(cls, data, require_grad=False):  # pyright: ignore[reportSelfClsParameterName]
        """A leaf of class `cls` on the memory of `data`. Mirrors ``torch.Tensor._make_subclass``."""
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

    def stride(self, dim=None):
        """How many elements apart neighbours along each dimension (or one) lie in memory.

        >>> mg.zeros(2, 3).stride()
        (3, 1)
        """
        array = self._array if self._meta.numel else np.empty([max(n, 1) for n in self.shape], self._array.dtype)
        strides = tuple([s // array.itemsize for s in array.strides])
        return strides if dim is None else strides[dimension(dim, self.ndim)]

    def storage_offset(self):
        """How many elements this tensor begins after its storage does.

        >>> mg.arange(4)[2:].storage_offset()
        2
        """
        base = self._array
        while isinstance(base.base, np.ndarray):
            base = base.base
        return (self.data_ptr() - base.__array_interface__["data"][0]) // self._array.itemsize

    def is_contiguous(self):
        """Whether the elements lie row by row without gaps.

        >>> mg.zeros(2, 3).is_contiguous(), mg.zeros(2, 3).t().is_contiguous()
        (True, False)
        """
        return self._meta.backend.kernels.contiguous(self._array)

    def data_ptr(self):
        """Address of the first element.

        >>> x = mg.zeros(2)
        >>> x.data_ptr() == x.detach().data_ptr()
        True
        """
        return self._array.__array_interface__["data"][0]

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
        """The real part, a view; a real tensor itself."""
        from minigrad.ops.elementwise import real_part
        return real_part(self)

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
        from minigrad._core.apply import call
        from minigrad.ops.elementwise import Conj
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
        from minigrad.autograd import backward
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)    # pyright: ignore[reportArgumentType]

    def requires_grad_(self, requires_grad=True):
        """Set `requires_grad` and return this tensor.

        Raises:
            RuntimeError: on False for a tensor that is no leaf, or True for a dtype without gradients.

        >>> mg.zeros(2).requires_grad_()
        tensor([0., 0.], requires_grad=True)
        """
        self.requires_grad = requires_grad
        return self

    # ---- dtypes and devices --------------------------------------------------------------------------------

    def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False):
        """This tensor in another dtype or on another device; itself if nothing changes.

        Args:
            args: a dtype, a device, another tensor to be like, or a device and a dtype.
            copy (bool): make a copy even so.

        Mirrors ``torch.Tensor.to``.

        >>> mg.tensor([1.9]).to(mg.int64)
        tensor([1])
        """
        for arg in args:
            if isinstance(arg, Tensor):
                dtype, device = arg.dtype, arg.device
            elif isinstance(arg, bool):
                continue
            elif arg is None or isinstance(arg, str) or hasattr(arg, "backend"):
                device = arg
            else:
                dtype = arg
        if device is not None:
            as_device(device)
        from minigrad.ops.views import cast, clone
        out = self if dtype is None else cast(self, as_dtype(dtype))
        return clone(self) if copy and out is self else out

    def type(self, dtype=None):
        """The name of this tensor's type, or this tensor in another dtype.

        >>> mg.zeros(2).type(mg.int64).dtype
        minigrad.int64
        """
        return f"minigrad.{self.dtype.name}" if dtype is None else self.to(dtype)

    def type_as(self, other):
        """This tensor in the dtype of `other`.

        >>> mg.tensor([1.5]).type_as(mg.tensor(1))
        tensor([1])
        """
        return self.to(tensor_argument("type_as", other, "other").dtype)

    def half(self):
        """This tensor as float16.

        >>> mg.tensor([1.5]).half()
        tensor([1.5000], dtype=minigrad.float16)
        """
        return self.to(float16)

    def float(self):
        """This tensor as float32.

        >>> mg.tensor([1]).float()
        tensor([1.])
        """
        return self.to(float32)

    def double(self):
        """This tensor as float64.

        >>> mg.tensor([1.5]).double()
        tensor([1.5000], dtype=minigrad.float64)
        """
        return self.to(float64)

    def cfloat(self):
        """This tensor as complex64.

        >>> mg.tensor([1.5]).cfloat()
        tensor([1.5000+0.j])
        """
        return self.to(complex64)

    def cdouble(self):
        """This tensor as complex128.

        >>> mg.tensor([1.5]).cdouble()
        tensor([1.5000+0.j], dtype=minigrad.complex128)
        """
        return self.to(complex128)

    def char(self):
        """This tensor as int8.

        >>> mg.tensor([1.9]).char()
        tensor([1], dtype=minigrad.int8)
        """
        return self.to(int8)

    def byte(self):
        """This tensor as uint8.

        >>> mg.tensor([1.9]).byte()
        tensor([1], dtype=minigrad.uint8)
        """
        return self.to(uint8)

    def short(self):
        """This tensor as int16.

        >>> mg.tensor([1.9]).short()
        tensor([1], dtype=minigrad.int16)
        """
        return self.to(int16)

    def int(self):
        """This tensor as int32.

        >>> mg.tensor([1.9]).int()
        tensor([1], dtype=minigrad.int32)
        """
        return self.to(int32)

    def long(self):
        """This tensor as int64.

        >>> mg.tensor([1.9]).long()
        tensor([1])
        """
        return self.to(int64)

    def bool(self):
        """This tensor as bool: whether each element differs from 0.

        >>> mg.tensor([0., 0.5]).bool()
        tensor([False,  True])
        """
        return self.to(bool_)

    def cpu(self):
        """This tensor in the memory of the CPU; itself if it is there.

        >>> mg.tensor([1.]).cpu()
        tensor([1.])
        """
        return self.to(device="cpu")

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
        kind = (self.dtype if dtype is None else as_dtype(dtype)).numpy
        kernels = self._meta.backend.kernels
        array = kernels.empty(shape, kind) if value is None else kernels.full(shape, value, kind)
        return new_tensor(Tensor, array, requires_grad, self.device)

    # ---- to Python ------------------------------------------------------------------------------------------

    def item(self):
        """The only element, as a Python number.

        Raises:
            RuntimeError: there is not exactly one.

        >>> mg.tensor([2.5]).item()
        2.5
        """
        if self._meta.numel != 1:
            raise ShapeError("MG-E208", f"a Tensor with {self._meta.numel} elements cannot be converted to Scalar",
                             fix="reduce it first, for instance with .sum() or .mean(), or use .tolist()")
        return self._array.item()

    def tolist(self):
        """The elements as nested lists of Python numbers; a number if 0-d.

        >>> mg.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return self._array.tolist()

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._meta.shape[0]

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element):
        if isinstance(element, (Tensor, int, float, complex)):
            return bool(self.eq(element)._array.any())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __bool__(self):
        if self._meta.numel != 1:
            what = "no values" if self._meta.numel == 0 else "more than one value"
            raise ShapeError("MG-E208", f"Boolean value of Tensor with {what} is ambiguous",
                             fix="use .any() or .all(), or compare with `is None`")
        return bool(self._array.item())

    def _scalar(self, convert):
        if self._meta.numel != 1:
            raise TensorValueError("MG-E208", "only one element tensors can be converted to Python scalars",
                                   found=f"shape {list(self.shape)}")
        if self.requires_grad:
            warnings.warn("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                          "Consider using tensor.detach() first.", UserWarning, stacklevel=3)
        return convert(self._array.item())

    def __float__(self):
        return self._scalar(float)

    def __int__(self):
        return self._scalar(int)

    def __complex__(self):
        return self._scalar(complex)

    def __index__(self):
        if self._meta.numel != 1 or self.dtype.differentiable or self.dtype is bool_:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self._array.item())

    def __repr__(self, *, tensor_contents=None):
        return tensor_str(self)

    def __format__(self, spec):
        return format(self._array.item(), spec) if self.ndim == 0 else object.__format__(self, spec)

    # ---- to NumPy and others --------------------------------------------------------------------------------

    def numpy(self, *, force=False):
        """This tensor's numbers as a NumPy array on the same memory.

        Args:
            force (bool): detach first, if it requires a gradient.

        Raises:
            RuntimeError: it requires a gradient.

        Mirrors ``torch.Tensor.numpy``.

        >>> mg.tensor([1., 2.]).numpy()
        array([1., 2.], dtype=float32)
        """
        if self.requires_grad and not force:
            raise AutogradError("MG-E115", "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
                                fix="x.detach().numpy(): the array is outside the graph, and writes to it go unnoticed")
        return self._array.view()

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"a copy is needed to give {self.dtype} as {dtype}")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(self, array, context=None, return_scalar=False):
        """What a NumPy function makes of a tensor is a tensor again."""
        return self._of_array(np.asarray(array))

    @staticmethod
    def _of_array(array):
        """A tensor on the memory of an array."""
        from minigrad.creation import as_tensor
        return as_tensor(array)

    def __dlpack__(self, **kwargs):
        """The DLPack capsule of this tensor's memory. Raises `BufferError` if it requires a gradient."""
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self._array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    # ---- copies and pickles ---------------------------------------------------------------------------------

    def __deepcopy__(self, memo):
        if self.grad_fn is not None:
            raise AutogradError("MG-E116", "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                                "protocol at the moment.", node=self.grad_fn.name(), fix="copy.deepcopy(x.detach())")
        if id(self) in memo:
            return memo[id(self)]
        out = new_tensor(type(self), self._array.copy(), self.requires_grad, self.device)
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
        return _rebuild, (type(self), self._array, self.requires_grad, _attributes(self))


def _attributes(tensor):
    """What the user has set on an instance of a subclass: in the interpreted mode our own fields lie beside it."""
    return {name: value for name, value in getattr(tensor, "__dict__", {}).items() if name not in _OUR_FIELDS}


def _rebuild(cls, array, requires_grad, attributes=None):
    """What a pickled tensor is made of again: always a leaf."""
    out = new_tensor(cls, array, requires_grad)
    if attributes:
        out.__dict__.update(attributes)
    return out


# Empty when compiled.
_OUR_FIELDS = frozenset(getattr(new_tensor(Tensor, np.empty(0, np.float32)), "__dict__", ()))


def install_methods(functions):
    """Make methods of ops: `functions` maps the name of a method to the function whose first argument is self."""
    for name, function in functions.items():
        if hasattr(Tensor, name) and name in Tensor.__dict__:
            raise ArgumentError("MG-E501", f"Tensor has a method {name!r} already")
        setattr(Tensor, name, function)


use_tensor_class(Tensor)
use_operators(Tensor)
