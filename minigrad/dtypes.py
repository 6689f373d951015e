"""The dtypes and devices under the names of PyTorch: ``mg.float32``, ``mg.float``, ``mg.device("cpu")``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from minigrad._core.graph.metadata import CPU, Backend, Device, limits_of, named_dtype
from minigrad._core.graph.upcalls import upcalls
from minigrad._core.record.promotion import as_dtype, default_dtype, operands_dtype, promote
from minigrad._core.record.promotion import set_default_dtype as _set_default_dtype
from minigrad.errors import AutogradTypeError, DeviceError

if TYPE_CHECKING:

    from minigrad.types import DeviceLike, DType, Number, Tensor

__all__ = ["as_device", "as_dtype", "can_cast", "finfo", "get_default_device", "get_default_dtype", "iinfo", "promote_types",
           "result_type", "set_default_device", "set_default_dtype"]

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

# The legacy names of the types of tensors, which ``creation/_legacy.py`` has as classes.
TENSOR_TYPES = {"HalfTensor": float16, "FloatTensor": float32, "DoubleTensor": float64, "ComplexFloatTensor": complex64,
                "ComplexDoubleTensor": complex128, "ByteTensor": uint8, "CharTensor": int8, "ShortTensor": int16,
                "IntTensor": int32, "LongTensor": int64, "BoolTensor": bool_}
TYPE_NAMES = {kind.name: name for name, kind in TENSOR_TYPES.items()}


_meta = None            # the device "meta", made when it is first used


def meta_device():
    """The `Device` "meta", whose tensors have shapes and dtypes but no numbers."""
    global _meta
    if _meta is None:
        made = Device("meta", None, Backend("meta"))
        made.backend.use(import_module("minigrad.kernels.meta").kernels_of(made))     # this layer imports no kernels by itself
        _meta = made
    return _meta


# The devices of new tensors: the last one is the default, and each `with device:` adds one. All threads share the list.
_defaults = [CPU]

# Devices of PyTorch on which minigrad cannot compute. A program may have `device("mps")`, but no tensor on it.
ELSEWHERE = {"mps", "xpu", "xla", "hpu", "mtia"}


def as_device(device: DeviceLike | None) -> Device:
    """Convert an argument to a `Device`: None (the default device), a `Device`, or a string: ``"cpu"``, ``"cuda:0"``, ``"meta"``.

    Raises:
        RuntimeError: minigrad cannot compute on this device, or not on this machine.
    """
    if device is None:
        return _defaults[-1]
    if isinstance(device, Device):
        return device if device.backend is not None else as_device(str(device))
    if isinstance(device, str):
        kind, _, number = device.partition(":")
        if kind == "cuda" and (number.isdecimal() or device == "cuda"):
            # minigrad/cuda is above this file, which it imports, and loads with its first use
            return import_module("minigrad.cuda._devices").find_device(int(number) if number else None)
    else:
        raise AutogradTypeError("MG-E202", f"device must be a string or a minigrad.device, not {type(device).__name__}")
    if kind == "cpu":
        return CPU
    if kind == "meta" and (number.isdecimal() or device == "meta"):
        return meta_device()
    if kind in ELSEWHERE:
        raise DeviceError("MG-E310", f"minigrad cannot compute on {kind} devices", expected="cpu or cuda",
                          fix='device = "cuda" if minigrad.cuda.is_available() else "cpu"')
    raise DeviceError("MG-E202", f"Expected one of cpu, cuda device type at start of device string: {kind}",
                      fix='device="cpu", or device="cuda" for a GPU')


def device(type: DeviceLike, index: int | None = None) -> Device:
    """Return the device `type`, such as ``"cpu"`` or ``"cuda:0"``. Mirrors ``torch.device``.

    Tensors on the device ``"meta"`` have a shape and a dtype, but no memory and no numbers: ops compute the shapes of results.

    The device need not exist: a tensor on a device that does not exist is the error. In ``with device:``, new tensors are on
    the device.

    Args:
        type (str or Device): the kind of device, or kind and number in one string.
        index (int, optional): the number of the device.

    Raises:
        RuntimeError: no device has this name.

    >>> mg.device("cpu")
    device(type='cpu')
    >>> with mg.device("cpu"):
    ...     x = mg.ones(2)
    """
    if isinstance(type, Device) and index is None:
        return type
    name = f"cuda:{type}" if isinstance(type, int) else type if index is None else f"{type}:{index}"
    try:
        return as_device(name)
    except DeviceError as error:
        kind, _, number = str(name).partition(":")
        if error.code != "MG-E310" or not (number.isdecimal() or name == kind):
            raise
        return Device(kind, int(number) if number else None)


class DeviceType(type):
    """The type of `device`: a call is the function above, and every `Device` is an instance.

    So programs may write ``isinstance(x, mg.device)``, and ``mg.device | None`` in an annotation.
    """

    make = staticmethod(device)

    def __call__(cls, type, index=None):
        return cls.make(type, index)

    def __instancecheck__(cls, instance):
        return isinstance(instance, Device)

    def __repr__(cls):
        return "<class 'minigrad.device'>"


device = DeviceType("device", (), {"__doc__": device.__doc__, "__module__": __name__, "__slots__": ()})     # pyright: ignore


def get_default_device() -> Device:
    """Return the device of new tensors. Mirrors ``torch.get_default_device``.

    >>> mg.get_default_device()
    device(type='cpu')
    """
    return _defaults[-1]


def set_default_device(device: DeviceLike | None) -> None:
    """Make `device` the device of new tensors; None means the CPU. Mirrors ``torch.set_default_device``.

    It holds for all threads. `from_numpy` still makes tensors on the CPU.

    Raises:
        RuntimeError: minigrad cannot compute on this device.

    >>> mg.set_default_device("cpu"); mg.ones(2).device
    device(type='cpu')
    """
    _defaults[0] = CPU if device is None else as_device(device)


upcalls.device = device
upcalls.enter_device = lambda device: _defaults.append(as_device(device))
upcalls.exit_device = _defaults.pop


def get_default_dtype() -> DType:
    """Return the dtype of new floating point tensors. Mirrors ``torch.get_default_dtype``.

    >>> mg.get_default_dtype()
    minigrad.float32
    """
    return default_dtype()


def set_default_dtype(d: DType) -> None:
    """Make `d`, a floating point dtype, the default. Mirrors ``torch.set_default_dtype``.

    Raises:
        TypeError: `d` is not a floating point dtype.

    >>> mg.set_default_dtype(mg.float64); mg.tensor(1.0).dtype
    minigrad.float64
    >>> mg.set_default_dtype(mg.float32)
    """
    d = as_dtype(d)
    if not d.is_floating_point:
        raise AutogradTypeError("MG-E203", f"only floating-point types are supported as the default type, not {d.name}")
    _set_default_dtype(d)


def promote_types(type1: DType, type2: DType) -> DType:
    """Return the smallest dtype that can hold both. Mirrors ``torch.promote_types``.

    >>> mg.promote_types(mg.int64, mg.float16)
    minigrad.float16
    """
    return promote(as_dtype(type1), as_dtype(type2))


def result_type(tensor1: Tensor | Number, tensor2: Tensor | Number) -> DType:
    """Return the dtype of the result of an op on two tensors or numbers. Mirrors ``torch.result_type``.

    >>> mg.result_type(mg.tensor([1, 2]), 1.0)
    minigrad.float32
    """
    return operands_dtype((tensor1, tensor2))


def can_cast(from_: DType, to: DType) -> bool:
    """Whether an in-place op may convert one dtype to another: not to a lower category. Mirrors ``torch.can_cast``.

    >>> mg.can_cast(mg.float64, mg.float32), mg.can_cast(mg.float32, mg.int64)
    (True, False)
    """
    from_, to = as_dtype(from_), as_dtype(to)
    return from_.category <= to.category


class Limits:
    """What `finfo` and `iinfo` return: the limits of a dtype as Python numbers."""

    def __init__(self, name, numbers):
        self.dtype = str(numbers.dtype)
        self.bits = numbers.bits // (2 if self.dtype.startswith("complex") else 1)
        self.names = ("min", "max") if name == "iinfo" else ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        for key in self.names:
            setattr(self, key, float(getattr(numbers, key)) if name == "finfo" else getattr(numbers, key))
        if name == "finfo":
            self.resolution = float(f"1e-{numbers.precision}")

    def __repr__(self):
        limits = [f"{key}={getattr(self, key):.6g}" for key in self.names]
        return f"{'iinfo' if len(self.names) == 2 else 'finfo'}({', '.join(limits)}, dtype={self.dtype})"


def finfo(type: DType | None = None) -> Limits:
    """The limits of a floating point dtype: ``eps``, ``max``, ``min``, ``tiny``. Mirrors ``torch.finfo``.

    >>> mg.finfo(mg.float32).eps
    1.1920928955078125e-07
    """
    kind = default_dtype() if type is None else as_dtype(type)
    if not kind.differentiable:
        raise AutogradTypeError("MG-E203", f"finfo() requires a floating point input type. Use iinfo() for {kind.name}.")
    return Limits("finfo", limits_of(kind))


def iinfo(type: DType) -> Limits:
    """The limits of an integer dtype: ``max`` and ``min``. Mirrors ``torch.iinfo``.

    >>> mg.iinfo(mg.int8).max
    127
    """
    kind = as_dtype(type)
    if kind.differentiable or kind is bool_:
        raise AutogradTypeError("MG-E203", f"iinfo() requires an integer input type. Use finfo() for {kind.name}.")
    return Limits("iinfo", np.iinfo(kind.numpy))    # pyright: ignore
