"""Making tensors: from data, from other libraries, filled with something.

What becomes of nested lists is in ``_data.py``.

Mirrors ``torch/csrc/utils/tensor_new.cpp``, ``aten/src/ATen/native/TensorFactories.cpp``.
"""

import math
import warnings

import numpy as np

from minigrad._core.record.operands import translate_kernel_error
from minigrad._core.record.promotion import default_dtype
from minigrad._core.surface.variable import new_tensor
from minigrad._data import as_array, check_array
from minigrad.dtypes import as_device, as_dtype, bool_, int64
from minigrad.errors import AutogradError, ShapeError, TensorTypeError, TensorValueError
from minigrad.ops.base.out import fills_out
from minigrad.ops.base.rule import WRITTEN_AS, converted, flag, integer, integers, number, real, wrong_type
from minigrad.ops.shape.formats import check_format
from minigrad.ops.shape.strided import as_strided
from minigrad.tensor import Tensor

__all__ = ["arange", "as_tensor", "empty", "empty_like", "empty_strided", "eye", "from_dlpack", "from_numpy", "frombuffer", "full",
           "full_like", "linspace", "ones", "ones_like", "scalar_tensor", "tensor", "zeros", "zeros_like"]


# ---- from data ----------------------------------------------------------------------------------------


def tensor(data, *, dtype=None, device=None, requires_grad=False):
    """A tensor with a copy of `data`.

    Args:
        data: a number, a nested list or tuple of numbers of even lengths, or an array. Python floats give the
            default dtype, ints int64, bools bool; arrays keep theirs.
        dtype (optional): the dtype instead.
        device (optional): where; by default the CPU, or where a tensor is that is given as `data`.
        requires_grad (bool): record the ops on it.

    Mirrors ``torch.tensor``.

    Raises:
        ValueError: the lengths of nested lists differ.
        TypeError: something in `data` is no number.
        RuntimeError: `requires_grad` with a dtype that has no gradient.

    >>> mg.tensor([[1., 2.], [3., 4.]])
    tensor([[1., 2.],
            [3., 4.]])
    """
    if isinstance(data, Tensor):
        warnings.warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                      "sourceTensor.detach().clone().requires_grad_(True), rather than minigrad.tensor(sourceTensor).",
                      UserWarning, stacklevel=2)
        device = data.device if device is None else device
    array = as_array(data, None if dtype is None else as_dtype(dtype).numpy, copy=True)
    return made(array, device, requires_grad)


def made(array, device, requires_grad):
    """A leaf around `array`. Says "only Tensors of ..." where a gradient is impossible."""
    where = as_device(device)
    out = new_tensor(Tensor, array, False, where)
    if flag(requires_grad, "requires_grad", "tensor"):
        if not out.dtype.differentiable:
            raise ShapeError("MG-E112", "Only Tensors of floating point and complex dtype can require gradients",
                             found=out.dtype.name, fix="give dtype=minigrad.float32, or write the numbers with a point")
        out.requires_grad = True
    return out


def as_tensor(data, dtype=None, device=None):
    """`data` as a tensor, without a copy where that is possible. Mirrors ``torch.as_tensor``.

    A tensor of the right dtype is returned as it is; an array shares its memory.

    >>> x = mg.tensor([1.])
    >>> mg.as_tensor(x) is x
    True
    """
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=device)
    return made(as_array(data, None if dtype is None else as_dtype(dtype).numpy, copy=not isinstance(data, np.ndarray)), device,
                False)


def from_numpy(ndarray):
    """A tensor on the memory of a NumPy array: what is written to one is seen in the other.

    Mirrors ``torch.from_numpy``.

    Raises:
        TypeError: it is no array, or of a dtype that no tensor has.
        ValueError: it has a negative stride, or a foreign byte order.

    >>> import numpy as np
    >>> a = np.zeros(2); x = mg.from_numpy(a); a[0] = 5.; x
    tensor([5., 0.], dtype=minigrad.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise TensorTypeError("MG-E305", f"expected np.ndarray (got {type(ndarray).__name__})")
    check_array(ndarray)
    warn_if_read_only(ndarray, "NumPy array")
    return made(ndarray.view(np.ndarray), None, False)


def warn_if_read_only(array, what):
    """Warn that a tensor on the memory of `array` will not let itself be written to."""
    if not array.flags.writeable:
        warnings.warn(f"The given {what} is not writable, and minigrad does not support non-writable tensors: writing to this "
                      "tensor fails. Copy it first if you need to write.", UserWarning, stacklevel=3)


def from_dlpack(ext_tensor):
    """A tensor on the memory of another library's, through the DLPack protocol. Mirrors ``torch.from_dlpack``.

    Args:
        ext_tensor: an object with ``__dlpack__`` and ``__dlpack_device__``.

    >>> import numpy as np
    >>> mg.from_dlpack(np.arange(3.0))
    tensor([0., 1., 2.], dtype=minigrad.float64)
    """
    if not hasattr(ext_tensor, "__dlpack__"):
        raise TensorTypeError("MG-E305", f"from_dlpack(): expected an object with __dlpack__, got {type(ext_tensor).__name__}")
    try:
        return made(np.from_dlpack(ext_tensor), None, False)
    except BufferError as error:
        raise TensorTypeError("MG-E305", f"from_dlpack(): {error}") from None


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-d tensor on the memory of an object with the buffer protocol. Mirrors ``torch.frombuffer``.

    Args:
        buffer: such as a ``bytearray``.
        dtype: of the elements.
        count (int): how many; -1 for as many as there are.
        offset (int): bytes to skip at the beginning.

    Raises:
        ValueError: the buffer is too small, empty, or its size no multiple of the element's.

    >>> mg.frombuffer(bytearray(b"\\x01\\x00\\x02\\x00"), dtype=mg.int16)
    tensor([1, 2], dtype=minigrad.int16)
    """
    count, offset = integer(count, "count", "frombuffer"), integer(offset, "offset", "frombuffer")
    try:
        nbytes = memoryview(buffer).nbytes
    except TypeError:
        raise wrong_type("frombuffer", "buffer", "an object with the buffer protocol", buffer) from None
    if count == 0 or nbytes == 0:
        raise TensorValueError("MG-E305", "both buffer length and count must not be 0", found=f"count {count}")
    try:
        array = np.frombuffer(buffer, as_dtype(dtype).numpy, count, offset)
    except ValueError as error:
        raise TensorValueError("MG-E305", f"frombuffer(): {error}",
                               found=f"{nbytes} bytes, count {count}, offset {offset}") from None
    warn_if_read_only(array, "buffer")
    return made(array, None, requires_grad)


# ---- filled -------------------------------------------------------------------------------------------


def sizes_argument(size, function):
    """The sizes of a factory function, given one by one or as a tuple."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    shape = integers(size, "size", function)
    if min(shape, default=0) < 0:
        raise ShapeError("MG-E206", f"{function}: Dimension size must be non-negative.", found=f"size {list(shape)}")
    return shape


def filled(function, size, value, dtype, device, requires_grad):
    """A tensor of the given size, every element being `value`."""
    shape = sizes_argument(size, function)
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    value = converted(value, kind if function == "full_like" else WRITTEN_AS.get(kind, kind))
    kernels = as_device(device).backend.kernels
    try:
        return made(kernels.full(shape, value, kind.numpy), device, requires_grad)
    except (ValueError, MemoryError, OverflowError) as error:
        raise translate_kernel_error(function, error) from None


@fills_out
def zeros(*size, dtype=None, device=None, requires_grad=False):
    """A tensor of zeros. Mirrors ``torch.zeros``.

    Args:
        size (ints, or one tuple): the shape.
        dtype (optional): the default dtype (float32) if not given.

    Raises:
        RuntimeError: a size is negative.

    >>> mg.zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    return filled("zeros", size, 0, dtype, device, requires_grad)


@fills_out
def ones(*size, dtype=None, device=None, requires_grad=False):
    """A tensor of ones. Mirrors ``torch.ones``.

    Args:
        size (ints, or one tuple): the shape.
        dtype (optional): the default dtype (float32) if not given.

    Raises:
        RuntimeError: a size is negative.

    >>> mg.ones(2)
    tensor([1., 1.])
    """
    return filled("ones", size, 1, dtype, device, requires_grad)


@fills_out
def empty(*size, dtype=None, device=None, requires_grad=False):
    """A tensor whose elements have not been set. Mirrors ``torch.empty``.

    >>> mg.empty(2, 3).shape
    minigrad.Size([2, 3])
    """
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    return made(as_device(device).backend.kernels.empty(sizes_argument(size, "empty"), kind.numpy), device, requires_grad)


@fills_out
def full(size, fill_value, *, dtype=None, device=None, requires_grad=False):
    """A tensor of one value. Mirrors ``torch.full``.

    Args:
        size (tuple): the shape.
        fill_value (number): decides the dtype if none is given.

    >>> mg.full((2,), 7)
    tensor([7, 7])
    """
    if not isinstance(size, (tuple, list)):
        raise TensorTypeError("MG-E206", f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    fill_value = number(fill_value, "fill_value", "full")
    if dtype is None:
        dtype = bool_ if isinstance(fill_value, bool) else int64 if isinstance(fill_value, int) else default_dtype().to_complex() \
            if isinstance(fill_value, complex) else default_dtype()
    return filled("full", (size,), fill_value, dtype, device, requires_grad)


def like(input, dtype, device):
    """The size, dtype and device of `input`, where they are not given."""
    if not isinstance(input, Tensor):
        raise TensorTypeError("MG-E201", f"argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return input.dtype if dtype is None else dtype, input.device if device is None else device


def zeros_like(input, *, dtype=None, device=None, requires_grad=False, memory_format=None):
    """Zeros in the shape and dtype of `input`. Mirrors ``torch.zeros_like``.

    >>> mg.zeros_like(mg.tensor([1, 2]))
    tensor([0, 0])
    """
    check_format("zeros_like", memory_format)
    dtype, device = like(input, dtype, device)
    return filled("zeros_like", (tuple(input.shape),), 0, dtype, device, requires_grad)


def ones_like(input, *, dtype=None, device=None, requires_grad=False, memory_format=None):
    """Ones in the shape and dtype of `input`. Mirrors ``torch.ones_like``.

    >>> mg.ones_like(mg.tensor([1., 2.]))
    tensor([1., 1.])
    """
    check_format("ones_like", memory_format)
    dtype, device = like(input, dtype, device)
    return filled("ones_like", (tuple(input.shape),), 1, dtype, device, requires_grad)


def full_like(input, fill_value, *, dtype=None, device=None, requires_grad=False, memory_format=None):
    """One value in the shape and dtype of `input`. Mirrors ``torch.full_like``.

    >>> mg.full_like(mg.tensor([1., 2.]), 3)
    tensor([3., 3.])
    """
    check_format("full_like", memory_format)
    dtype, device = like(input, dtype, device)
    return filled("full_like", (tuple(input.shape),), number(fill_value, "fill_value", "full_like"), dtype, device, requires_grad)


def empty_like(input, *, dtype=None, device=None, requires_grad=False, memory_format=None):
    """Elements that have not been set, in the shape and dtype of `input`. Mirrors ``torch.empty_like``.

    >>> mg.empty_like(mg.zeros(2, 3)).shape
    minigrad.Size([2, 3])
    """
    check_format("empty_like", memory_format)
    dtype, device = like(input, dtype, device)
    return empty(tuple(input.shape), dtype=dtype, device=device, requires_grad=requires_grad)


def empty_strided(size, stride, *, dtype=None, device=None, requires_grad=False):
    """Elements that have not been set, in a shape and with strides. Mirrors ``torch.empty_strided``.

    Args:
        size, stride (tuple of int): for each dimension; several elements may lie in one place.

    Raises:
        RuntimeError: a size or stride is negative, or there is not one stride for each size.

    >>> mg.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    size, stride = integers(size, "size", "empty_strided"), integers(stride, "stride", "empty_strided")
    if len(size) != len(stride):
        raise ShapeError("MG-E206", f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})")
    if min(size, default=0) < 0:
        raise ShapeError("MG-E206", f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    if min(stride, default=0) < 0:
        raise ShapeError("MG-E206", f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    span = 0 if 0 in size else 1 + sum([(n - 1) * step for n, step in zip(size, stride)])
    if span >= 1 << 63:
        raise ShapeError("MG-E206", f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    flag(requires_grad, "requires_grad", "empty_strided")
    whole = as_strided(empty((span,), dtype=dtype, device=device), size, stride)
    return made(whole._array, device, requires_grad)        # pyright: ignore[reportAttributeAccessIssue]


def scalar_tensor(s, *, dtype=None, device=None, requires_grad=False):
    """A 0-d tensor, float32 unless told otherwise. Mirrors ``torch.scalar_tensor``.

    >>> mg.scalar_tensor(2)
    tensor(2.)
    """
    return full((), s, dtype=default_dtype() if dtype is None else dtype, device=device, requires_grad=requires_grad)


@fills_out
def arange(start=0, end=None, step=1, *, dtype=None, device=None, requires_grad=False):
    """The numbers from `start` (0 if only one is given) up to but without `end`, in steps.

    Args:
        dtype (optional): int64 if all three are ints, else the default dtype.

    Mirrors ``torch.arange``.

    Raises:
        RuntimeError: the step is 0, or leads away from `end`.

    >>> mg.arange(3), mg.arange(1, 2, 0.5)
    (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    if end is None:
        start, end = 0, start
    start, end, step = [real(x, name, "arange") for name, x in (("start", start), ("end", end), ("step", step))]
    if step == 0:
        raise ShapeError("MG-E302", "step must be nonzero")
    if (end - start) * step < 0:
        raise ShapeError("MG-E302", "upper bound and lower bound inconsistent with step sign",
                         found=f"arange({start}, {end}, {step})")
    if not (math.isfinite(start) and math.isfinite(end) and step == step):
        raise ShapeError("MG-E302", f"unsupported range: {start} -> {end}, in steps of {step}")
    whole = all(isinstance(x, (int, np.integer)) for x in (start, end, step))
    if whole and max(abs(start), abs(end), abs(step)) >= 1 << 63:
        raise ShapeError("MG-E302", "value cannot be converted to type int64 without overflow",
                         found=f"arange({start}, {end}, {step})")
    kind = (int64 if whole else default_dtype()) if dtype is None else as_dtype(dtype)
    n = -((start - end) // step) if whole else math.ceil((end - start) / step)      # pyright: ignore[reportOperatorIssue]
    exact = np.int64 if whole else np.float64
    array = np.arange(n, dtype=exact) * exact(step) + exact(start)
    return made(array.astype(kind.numpy), device, requires_grad)


def one_number(function, name, x):
    """`x`, a number or a 0-d tensor. (PyTorch takes one that requires a gradient too, and its history is lost.)"""
    if isinstance(x, Tensor) and x.ndim:
        raise ShapeError("MG-E208", f"{function} only supports 0-dimensional start and end tensors, but got one with {x.ndim} "
                         "dimension(s).")
    if isinstance(x, Tensor) and x.requires_grad:
        raise AutogradError("MG-E307", f"The function '{function}' is not differentiable with respect to argument '{name}'. This "
                            "input cannot have requires_grad True.",
                            fix=f"start + (end - start) * minigrad.linspace(0, 1, steps); or {name}.detach()")
    return number(x, name, function)


@fills_out
def linspace(start, end, steps, *, dtype=None, device=None, requires_grad=False):
    """`steps` numbers from `start` to `end`, both included, at equal distances. Mirrors ``torch.linspace``.

    Raises:
        RuntimeError: `steps` is negative.

    >>> mg.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    if integer(steps, "steps", "linspace") >= (1 << 63) - 1:
        raise ShapeError("MG-E206", "linspace(): Storage size calculation overflowed", found=f"{steps} steps")
    if steps < 0:
        raise ShapeError("MG-E302", "number of steps must be non-negative")
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    start, end = one_number("linspace", "start", start), one_number("linspace", "end", end)
    if not kind.is_complex and any([isinstance(x, (complex, np.complexfloating)) for x in (start, end)]):
        raise ShapeError("MG-E203", f"linspace(): inferred dtype complex can't be safely cast to passed dtype {kind.name}")
    start, end = [x if isinstance(x, (complex, np.complexfloating)) else float(x) for x in (start, end)]
    exact_dtype = np.complex128 if kind.is_complex else np.float64
    with np.errstate(all="ignore"):
        if steps == 1:          # of which NumPy makes nan, if the end is infinite
            return made(np.full(1, start, exact_dtype).astype(kind.numpy), device, requires_grad)
        exact = np.linspace(start, end, steps, dtype=exact_dtype)
        return made(exact.astype(kind.numpy), device, requires_grad)


@fills_out
def eye(n, m=None, *, dtype=None, device=None, requires_grad=False):
    """The n by m matrix (n by n if m is not given) with ones on the diagonal. Mirrors ``torch.eye``.

    Raises:
        RuntimeError: a size is negative.

    >>> mg.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    rows, columns = sizes_argument((n, n if m is None else m), "eye")
    kind = default_dtype() if dtype is None else as_dtype(dtype)
    return made(np.eye(rows, columns, dtype=kind.numpy), device, requires_grad)
