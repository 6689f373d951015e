"""The dtypes and devices under the names of PyTorch: ``mg.float32``, ``mg.float``, ``mg.device("cpu")``."""

import numpy as np

from minigrad._core.graph.metadata import CPU, Device, named_dtype
from minigrad._core.graph.upcalls import upcalls
from minigrad._core.record.promotion import as_dtype, default_dtype, operands_dtype, promote
from minigrad._core.record.promotion import set_default_dtype as _set_default_dtype
from minigrad.errors import AutogradTypeError, ShapeError

__all__ = ["as_device", "as_dtype", "can_cast", "finfo", "get_default_dtype", "iinfo", "promote_types", "result_type",
           "set_default_dtype"]

float16 = half = named_dtype("float16")
float32 = named_dtype("float32")
float64 = double = named_dtype("float64")
complex64 = cfloat = named_dtype("complex64")
complex128 = cdouble = named_dtype("complex128")
uint8 = named_dtype("uint8")
int8 = named_dtype("int8")
int16 = short = named_dtype("int16")
int32 = named_dtype("int32")
int64 = long = named_dtype("int64")
bool_ = named_dtype("bool")

# The types of tensors by their old names, of which some are in ``_legacy.py`` too.
TENSOR_TYPES = {"HalfTensor": float16, "FloatTensor": float32, "DoubleTensor": float64, "ComplexFloatTensor": complex64,
                "ComplexDoubleTensor": complex128, "ByteTensor": uint8, "CharTensor": int8, "ShortTensor": int16,
                "IntTensor": int32, "LongTensor": int64, "BoolTensor": bool_}
TYPE_NAMES = {kind.name: name for name, kind in TENSOR_TYPES.items()}


_cuda = None        # gives the device of a GPU, by its number: minigrad/cuda, which lies above this file


def use_cuda(function):
    """Supply what gives the `Device` of a GPU."""
    global _cuda
    _cuda = function


def as_device(device):
    """The `Device` that an argument means: None (the CPU), one of ours, or a string such as ``"cpu"`` or ``"cuda:0"``."""
    if device is None:
        return CPU
    if isinstance(device, Device):
        return device
    if isinstance(device, str):
        kind, _, number = device.partition(":")
        if kind == "cuda" and _cuda is not None and (number.isdecimal() or device == "cuda"):
            return _cuda(int(number) if number else None)
    else:
        raise AutogradTypeError("MG-E202", f"device must be a string or a minigrad.device, not {type(device).__name__}")
    if kind == "cpu":
        return CPU
    raise ShapeError("MG-E202", f"Expected one of cpu, cuda device type at start of device string: {kind}",
                     fix='device="cpu", or device="cuda" for a GPU')


def device(type, index=None):
    """The device called `type`, such as ``"cpu"`` or ``"cuda:0"``. Mirrors ``torch.device``.

    Args:
        type (str or Device): what it is, or all of it in one string.
        index (int, optional): which of several.

    Raises:
        RuntimeError: there is no such device.

    >>> mg.device("cpu")
    device(type='cpu')
    """
    return as_device(type if index is None else f"{type}:{index}")


upcalls.device = device


def get_default_dtype():
    """The dtype of floating point tensors that nothing else decides. Mirrors ``torch.get_default_dtype``.

    >>> mg.get_default_dtype()
    minigrad.float32
    """
    return default_dtype()


def set_default_dtype(d):
    """Make `d`, a floating point dtype, the default. Mirrors ``torch.set_default_dtype``.

    Raises:
        TypeError: `d` is no floating point dtype.

    >>> mg.set_default_dtype(mg.float64); mg.tensor(1.0).dtype
    minigrad.float64
    >>> mg.set_default_dtype(mg.float32)
    """
    d = as_dtype(d)
    if not d.is_floating_point:
        raise AutogradTypeError("MG-E203", f"only floating-point types are supported as the default type, not {d.name}")
    _set_default_dtype(d)


def promote_types(type1, type2):
    """The smallest dtype that holds both. Mirrors ``torch.promote_types``.

    >>> mg.promote_types(mg.int64, mg.float16)
    minigrad.float16
    """
    return promote(as_dtype(type1), as_dtype(type2))


def result_type(tensor1, tensor2):
    """The dtype in which an op on the two, tensors or numbers, computes. Mirrors ``torch.result_type``.

    >>> mg.result_type(mg.tensor([1, 2]), 1.0)
    minigrad.float32
    """
    return operands_dtype((tensor1, tensor2))


def can_cast(from_, to):
    """Whether a dtype can be converted to another in place: not to one of a lower kind. Mirrors ``torch.can_cast``.

    >>> mg.can_cast(mg.float64, mg.float32), mg.can_cast(mg.float32, mg.int64)
    (True, False)
    """
    from_, to = as_dtype(from_), as_dtype(to)
    return from_.category <= to.category


def finfo(type=None):
    """The limits of a floating point dtype: ``eps``, ``max``, ``min``, ``tiny``. Mirrors ``torch.finfo``.

    >>> float(mg.finfo(mg.float32).max) > 3e38
    True
    """
    kind = default_dtype() if type is None else as_dtype(type)
    if not kind.differentiable:
        raise AutogradTypeError("MG-E203", f"finfo() requires a floating point input type. Use iinfo() for {kind.name}.")
    return np.finfo(kind.numpy)


def iinfo(type):
    """The limits of an integer dtype: ``max`` and ``min``. Mirrors ``torch.iinfo``.

    >>> mg.iinfo(mg.int8).max
    127
    """
    kind = as_dtype(type)
    if kind.differentiable or kind is bool_:
        raise AutogradTypeError("MG-E203", f"iinfo() requires an integer input type. Use finfo() for {kind.name}.")
    return np.iinfo(kind.numpy)    # pyright: ignore
