"""Conversions of a tensor: to other dtypes and devices, Python numbers, NumPy arrays, DLPack and text.

`Tensor` inherits these methods.

Mirrors ``torch/_tensor.py`` and ``torch/csrc/utils/tensor_numpy.cpp``.
"""

# pyright: reportReturnType=false, reportAttributeAccessIssue=false, reportArgumentType=false, reportAssignmentType=false
# (the class that the stubs call Tensor is made here)

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.metadata import DType, named_dtype
from minigrad._core.graph.thread_state import current
from minigrad._core.graph.upcalls import upcalls as core
from minigrad._core.surface.variable import Variable
from minigrad.creation._from_data import as_tensor
from minigrad.creation._legacy import device_of_type
from minigrad.dtypes import (
    TENSOR_TYPES,  # pyright: ignore[reportAttributeAccessIssue]
    TYPE_NAMES,  # pyright: ignore[reportAttributeAccessIssue]
    as_device,
    as_dtype,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from minigrad.errors import ArgumentError, AutogradError, DtypeError, ScalarError, ShapeError, TensorTypeError, TensorValueError
from minigrad.ops.base.arguments import tensor_argument, truth
from minigrad.ops.shape.formats import check_format

if TYPE_CHECKING:
    from builtins import bool as _bool
    from builtins import float as _float
    from builtins import int as _int
    from collections.abc import Iterator
    from typing import Any

    from minigrad.ops.shape.formats import memory_format
    from minigrad.types import DeviceLike, Number, Tensor


def to_dtype(x, dtype, memory_format):
    """``x.to(dtype, memory_format=memory_format)``, with less to look at: 0.1 us instead of 1, if nothing changes."""
    return core.cast(x, dtype) if memory_format is None else x.to(dtype, memory_format=memory_format)


class Conversions(Variable):
    """The methods of `Tensor` that return its numbers in another form."""

    __slots__ = ()
    __array_priority__ = 1000       # ndarray + Tensor asks us

    # ---- dtypes and devices --------------------------------------------------------------------------------

    def to(self, *args: DType | DeviceLike | Tensor | _bool | None, dtype: DType | None = None, device: DeviceLike | None = None,
           non_blocking: _bool = False, copy: _bool = False, memory_format: memory_format | None = None) -> Tensor:
        """Return this tensor in another dtype or on another device; itself if nothing changes.

        Args:
            args: a dtype, a device, a tensor whose dtype and device to take, or a device and a dtype.
            non_blocking (bool): do not wait for a copy from pinned memory to a GPU. Do not write to this tensor before
                the copy is complete (``mg.cuda.synchronize()``).
            copy (bool): make a copy even if nothing changes.
            memory_format (optional): ``mg.contiguous_format`` makes a copy, if there is one, row-major. See `contiguous` for
                ``mg.channels_last``.

        Mirrors ``torch.Tensor.to``.

        >>> mg.tensor([1.9]).to(mg.int64)
        tensor([1])
        """
        for arg in args:
            if type(arg) is DType:
                dtype = arg
            elif isinstance(arg, Variable):
                dtype, device = arg.dtype, arg.device
            elif isinstance(arg, bool):
                continue
            elif arg is None or isinstance(arg, str) or hasattr(arg, "backend"):
                device = arg
            else:
                dtype = arg
        out = self if dtype is None else core.cast(self, as_dtype(dtype))
        target = out._meta.device if device is None else as_device(device)
        if target is out._meta.device and copy is False and memory_format is None:
            return out
        from minigrad.ops.shape.clone_cast import CHANNELS_LAST, clone, contiguous, move
        out = move(out, target, not non_blocking)
        if truth(copy, "copy", "to") and out is self:
            return clone(self, memory_format=memory_format)
        memory_format = check_format("to", memory_format, CHANNELS_LAST)
        if memory_format in CHANNELS_LAST:
            return contiguous(out, memory_format=memory_format)
        return contiguous(out) if memory_format == "contiguous_format" and out is not self else out

    def type(self, dtype=None, non_blocking=False):
        """Return the name of this tensor's type, or this tensor in another dtype. Mirrors ``torch.Tensor.type``.

        The name is PyTorch's, because programs compare it with ``"torch.FloatTensor"``.

        Args:
            dtype (optional): a dtype, a type such as ``mg.DoubleTensor``, or the name of one. Names may begin with ``torch.`` or
                ``minigrad.``.
            non_blocking (bool): do not wait for a copy from pinned memory to a GPU.

        Raises:
            ValueError: no type has this name.
            TypeError: `dtype` is none of these, or a type of tensors on a GPU where there is none.

        >>> mg.zeros(2).type(mg.int64).dtype
        minigrad.int64
        >>> mg.zeros(2).type("torch.DoubleTensor").type()
        'torch.DoubleTensor'
        """
        if dtype is None:
            return f"torch.{'' if self.is_cpu else self.device.type + '.'}{TYPE_NAMES[self.dtype.name]}"
        if isinstance(dtype, str):
            package, _, name = dtype.partition(".")
            if name == "BFloat16Tensor":
                named_dtype("bfloat16")         # adds the name to TENSOR_TYPES
            where, name = ("cuda", name[5:]) if name.startswith("cuda.") else ("cpu", name)
            if package not in ("torch", "minigrad") or name not in TENSOR_TYPES:
                raise TensorValueError("MG-E302", f"invalid type: {dtype!r}", expected="torch.FloatTensor or its like")
            return self.to(TENSOR_TYPES[name], device=where, non_blocking=non_blocking)
        if isinstance(dtype, type) and dtype.__name__ in TENSOR_TYPES:
            return self.to(TENSOR_TYPES[dtype.__name__], device=device_of_type(dtype) or "cpu", non_blocking=non_blocking)
        if isinstance(dtype, type) and issubclass(dtype, Variable):
            return self.to(get_default_dtype(), non_blocking=non_blocking)
        if any(dtype is kind for kind in (float, int, bool, complex)):
            raise TensorValueError("MG-E302", f"invalid type: {dtype.__name__!r}", fix="a dtype, such as minigrad.float32")
        return self.to(dtype, non_blocking=non_blocking)

    def type_as(self, other: Tensor) -> Tensor:
        """This tensor in the dtype of `other`.

        >>> mg.tensor([1.5]).type_as(mg.tensor(1))
        tensor([1])
        """
        return self.to(tensor_argument("type_as", other, "other").dtype)

    def half(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor as float16.

        >>> mg.tensor([1.5]).half()
        tensor([1.5000], dtype=minigrad.float16)
        """
        return to_dtype(self, float16, memory_format)

    def bfloat16(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor as bfloat16, which has the range of float32 and two to three decimal digits.

        Raises:
            ModuleNotFoundError: the package ml_dtypes is not installed.

        >>> mg.tensor([1.5, 3.1416]).bfloat16()
        tensor([1.5000, 3.1406], dtype=minigrad.bfloat16)
        """
        return to_dtype(self, named_dtype("bfloat16"), memory_format)

    def float(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor as float32.

        >>> mg.tensor([1]).float()
        tensor([1.])
        """
        return to_dtype(self, float32, memory_format)

    def double(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor as float64.

        >>> mg.tensor([1.5]).double()
        tensor([1.5000], dtype=minigrad.float64)
        """
        return to_dtype(self, float64, memory_format)

    def cfloat(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor as complex64.

        >>> mg.tensor([1.5]).cfloat()
        tensor([1.5000+0.j])
        """
        return to_dtype(self, complex64, memory_format)

    def cdouble(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor as complex128.

        >>> mg.tensor([1.5]).cdouble()
        tensor([1.5000+0.j], dtype=minigrad.complex128)
        """
        return to_dtype(self, complex128, memory_format)

    def char(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor as int8.

        >>> mg.tensor([1.9]).char()
        tensor([1], dtype=minigrad.int8)
        """
        return to_dtype(self, int8, memory_format)

    def byte(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor as uint8.

        >>> mg.tensor([1.9]).byte()
        tensor([1], dtype=minigrad.uint8)
        """
        return to_dtype(self, uint8, memory_format)

    def short(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor as int16.

        >>> mg.tensor([1.9]).short()
        tensor([1], dtype=minigrad.int16)
        """
        return to_dtype(self, int16, memory_format)

    def int(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor as int32.

        >>> mg.tensor([1.9]).int()
        tensor([1], dtype=minigrad.int32)
        """
        return to_dtype(self, int32, memory_format)

    def long(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor as int64.

        >>> mg.tensor([1.9]).long()
        tensor([1])
        """
        return to_dtype(self, int64, memory_format)

    def bool(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor as bool: False where an element is 0.

        >>> mg.tensor([0., 0.5]).bool()
        tensor([False,  True])
        """
        return to_dtype(self, bool_, memory_format)

    def cpu(self, memory_format: memory_format | None = None) -> Tensor:
        """This tensor on the CPU; itself if it is there already.

        >>> mg.tensor([1.]).cpu()
        tensor([1.])
        """
        return self.to(device="cpu", memory_format=memory_format)

    def cuda(self, device: DeviceLike | None = None, non_blocking: _bool = False,
             memory_format: memory_format | None = None) -> Tensor:
        """This tensor on a GPU; itself if it is there already.

        Args:
            device (optional): the GPU; by default the current one.

        Raises:
            RuntimeError: minigrad can use no GPU.

        Mirrors ``torch.Tensor.cuda``.

        >>> x = mg.zeros(2)
        >>> x = x.cuda() if mg.cuda.is_available() else x
        """
        return self.to(device="cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device,
                       non_blocking=non_blocking, memory_format=memory_format)

    # ---- to Python ------------------------------------------------------------------------------------------

    @property
    def mH(self):
        """The adjoints of a batch of matrices: the last two dimensions swapped, and conjugated."""
        return self.adjoint()

    @property
    def H(self):
        """The adjoint of a matrix: transposed and conjugated. Raises `RuntimeError` unless the tensor is a matrix."""
        if self.ndim not in (0, 2):
            raise ShapeError("MG-E209", f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.",
                             fix="x.mH, for batches of matrices")
        return self.adjoint() if self.ndim else self.conj()

    def is_same_size(self, other: Tensor | Number) -> _bool:
        """Whether `other` has the same shape. Mirrors ``torch.Tensor.is_same_size``.

        >>> mg.zeros(2, 3).is_same_size(mg.ones(2, 3))
        True
        """
        return self.shape == tensor_argument("is_same_size", other, "other").shape

    def is_signed(self) -> _bool:
        """Whether the dtype has negative numbers. Mirrors ``torch.Tensor.is_signed``.

        >>> mg.zeros(2).is_signed(), mg.zeros(2).byte().is_signed()
        (True, False)
        """
        return self.dtype.name not in ("bool", "uint8")

    def item(self) -> Any:
        """Return the only element as a Python number.

        Raises:
            RuntimeError: the tensor does not have exactly one element.

        >>> mg.tensor([2.5]).item()
        2.5
        """
        if self._meta.numel != 1:
            raise ScalarError("MG-E208", f"a Tensor with {self._meta.numel} elements cannot be converted to Scalar",
                              fix="reduce it first, for instance with .sum() or .mean(), or use .tolist()")
        return self._array.item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers; for a 0-d tensor, one number.

        >>> mg.tensor([[1, 2], [3, 4]]).tolist()
        [[1, 2], [3, 4]]
        """
        return self._array.tolist()

    def __len__(self) -> _int:
        if self.ndim == 0:
            raise TensorTypeError("MG-E208", "len() of a 0-d tensor")
        return self._meta.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if self.ndim == 0:
            raise TensorTypeError("MG-E208", "iteration over a 0-d tensor", fix="x.item() is its number")
        return iter(self.unbind(0))

    def __contains__(self, element: Tensor | Number) -> _bool:
        if isinstance(element, (Variable, int, float, complex)):
            return bool(self.eq(element)._array.any())
        raise ArgumentError("MG-E201", f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __bool__(self) -> _bool:
        if self._meta.numel != 1:
            what = "no values" if self._meta.numel == 0 else "more than one value"
            raise ScalarError("MG-E208", f"Boolean value of Tensor with {what} is ambiguous",
                              fix="use .any() or .all(), or compare with `is None`")
        return bool(self._array.item())

    def _scalar(self, convert):
        if self._meta.numel != 1:
            raise TensorValueError("MG-E208", "only one element tensors can be converted to Python scalars",
                                   found=f"shape {list(self.shape)}")
        if self.requires_grad:
            warnings.warn("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                          "Consider using tensor.detach() first.", UserWarning, stacklevel=3)
        value = self._array.item()
        if type(value) is complex and convert is not complex:
            if value.imag != 0:
                raise DtypeError("MG-E203", f"value cannot be converted to type {convert.__name__} without overflow",
                                 expected="a number whose imaginary part is 0", found=str(value), fix="x.real, or x.abs()")
            value = value.real
        return convert(value)

    def __float__(self) -> _float:
        return self._scalar(float)

    def __int__(self) -> _int:
        return self._scalar(int)

    def __complex__(self) -> complex:
        return self._scalar(complex)

    def __index__(self) -> _int:
        if self._meta.numel != 1 or self.dtype.differentiable or self.dtype is bool_:
            raise TensorTypeError("MG-E208", "only integer tensors of a single element can be converted to an index",
                                  found=f"{self.dtype.name} {list(self.shape)}")
        return int(self._array.item())

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        from minigrad._tensor.tensor_str import tensor_str  # late: many programs print no tensor
        return tensor_str(self)

    def __format__(self, spec: str) -> str:
        return format(self._array.item(), spec) if self.ndim == 0 and not self.is_meta else object.__format__(self, spec)

    # ---- to NumPy and others --------------------------------------------------------------------------------

    def numpy(self, *, force: _bool = False) -> np.ndarray:
        """Return a NumPy array on the memory of this tensor.

        Args:
            force (bool): also detach the tensor if it requires a gradient, and copy it if it is on a GPU.

        Raises:
            RuntimeError: it requires a gradient, and gradients are enabled.
            TypeError: it is on a GPU, or is bfloat16, which NumPy does not have.

        Mirrors ``torch.Tensor.numpy``.

        >>> mg.tensor([1., 2.]).numpy()
        array([1., 2.], dtype=float32)
        """
        if self.requires_grad and not force and current().grad_enabled:
            raise AutogradError("MG-E115", "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
                                fix="x.detach().numpy(): the array is outside the graph, and writes to it go unnoticed")
        if self.device.type != "cpu":
            if force:
                return self.detach().cpu().numpy()
            raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
                            "host memory first.")
        if self.dtype.name == "bfloat16":
            raise TensorTypeError("MG-E203", "Got unsupported ScalarType BFloat16", fix="x.float().numpy(), with the same numbers")
        return self._array.view()

    def __dir__(self):
        return [name for name in object.__dir__(self) if name != "__cuda_array_interface__" or self.device.type == "cuda"]

    @property
    def __cuda_array_interface__(self):
        """The CUDA array interface: the place of this tensor on a GPU, for CuPy, numba and PyTorch.

        Raises:
            AttributeError: it is on the CPU; `hasattr` then returns False.
            RuntimeError: it requires a gradient, and gradients are enabled.

        Mirrors ``torch.Tensor.__cuda_array_interface__``, which raises with gradients disabled too.
        """
        if self.device.type != "cuda":
            raise AttributeError(f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is "
                                 "required use tensor.cuda() to copy tensor to device memory.")
        if self.requires_grad and current().grad_enabled:
            raise AutogradError("MG-E115", "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients "
                                "aren't required, use var.detach() to get Variable that doesn't require grad.",
                                fix="x.detach(): what is done to its numbers is outside the graph, and writes to it go unnoticed")
        array = self._array
        return {"typestr": array.dtype.str, "shape": tuple(self.shape), "version": 2,
                "strides": None if self.is_contiguous() else array.strides,
                "data": (array.address if self._meta.numel else 0, False)}

    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> np.ndarray:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"a copy is needed to give {self.dtype} as {dtype}")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: _bool = False) -> Any:
        """Wrap the result of a NumPy function on a tensor in a tensor."""
        return self._of_array(np.asarray(array))

    @staticmethod
    def _of_array(array):
        """Return a tensor on the memory of an array."""
        return as_tensor(array)

    def __dlpack__(self, **kwargs: Any) -> Any:
        """Return the DLPack capsule of this tensor. Raises `BufferError` if it requires a gradient, or is on a GPU."""
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.device.type != "cpu":
            raise BufferError(f"Can't export tensors on {self.device} by DLPack: use tensor.cpu(), or __cuda_array_interface__")
        return self._array.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[_int, _int]:
        if self.device.type == "cuda":
            return 2, self.device.index         # DLPack's number for memory of CUDA
        return self._array.__dlpack_device__()
