"""Parameters and buffers: tensors that a module registers when they are assigned to it.

The shape of an uninitialized parameter or buffer is not known yet. It has a dtype and a device, and no op accepts it. When the
shape is known, `materialize` makes it an ordinary one: the same object, with another class. ``modules/lazy.py`` has the modules
that do this.

Mirrors ``torch/nn/parameter.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.graph.tensor import use_parameter_class
from minigrad._core.surface.operators import use_operators
from minigrad._core.surface.variable import as_class, new_tensor
from minigrad._tensor.conversions import Conversions
from minigrad._tensor.tensor_str import tensor_str
from minigrad.creation import empty
from minigrad.errors import AutogradError, TensorValueError
from minigrad.ops.base.arguments import tensor_argument
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any, NoReturn, Self

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class Parameter(Tensor):
    """A tensor that becomes a parameter of a `Module` when it is assigned as an attribute.

    Args:
        data (Tensor, optional): the values. The parameter shares their memory. An empty tensor by default.
        requires_grad (bool): whether it requires a gradient.

    Ops on a parameter return plain tensors. Mirrors ``torch.nn.Parameter``.

    >>> nn.Parameter(mg.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        if data is None:
            return new_tensor(cls, Tensor()._array, requires_grad)
        out = as_class(tensor_argument("Parameter", data, "data").detach(), cls)
        if requires_grad:
            out.requires_grad = True
        return out

    @classmethod
    def _result_class(cls, other):
        return Tensor if other is None else other

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return tensor_str(self, "Parameter containing:\ntensor(")

    def __deepcopy__(self, memo: Any) -> Self:
        out = super().__deepcopy__(memo)
        out.grad = None         # as in PyTorch, where only the copy of a plain tensor has a gradient
        return out


class Buffer(Tensor):
    """A tensor that becomes a buffer of a `Module` when it is assigned: part of the state, but not a parameter.

    Args:
        data (Tensor, optional): the values. The buffer shares their memory. An empty tensor by default.
        persistent (bool): whether `state_dict` includes it.

    Mirrors ``torch.nn.Buffer``.

    >>> nn.Buffer(mg.zeros(2))
    tensor([0., 0.])
    """

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        out = new_tensor(cls, Tensor()._array) if data is None else as_class(tensor_argument("Buffer", data, "data").detach(), cls)
        if data is not None and data.requires_grad:
            out.requires_grad = True
        out.persistent = persistent
        return out

    @classmethod
    def _result_class(cls, other):
        return Tensor if other is None else other


# The methods that an uninitialized parameter or buffer has. PyTorch allows the same ones.
_ALLOWED = {"char", "copy_", "cpu", "cuda", "double", "float", "get_device", "half", "int", "is_complex", "is_floating_point",
            "long", "materialize", "register_hook", "short", "size", "to"}


class UninitializedTensorMixin(Tensor):
    """What `UninitializedParameter` and `UninitializedBuffer` share: `materialize`, and errors where values are needed."""

    # A subclass of Tensor, because Python lets an object change its class only if both classes have the same layout.

    __slots__ = ()
    cls_to_become: type[Tensor] = Tensor

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Make this an ordinary parameter or tensor of `shape`, with uninitialized values.

        Args:
            shape (tuple of int): the new shape.
            device, dtype (optional): the new device and dtype; by default they stay.

        Mirrors ``torch.nn.parameter.UninitializedTensorMixin.materialize``.

        >>> w = nn.UninitializedParameter()
        >>> w.materialize((2, 3))
        >>> type(w).__name__, w.shape
        ('Parameter', minigrad.Size([2, 3]))
        """
        self.data = empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = self.cls_to_become     # pyright: ignore[reportAttributeAccessIssue]

    @property
    def shape(self) -> Any:     # pyright: ignore[reportIncompatibleVariableOverride]
        raise AutogradError(
            "MG-E366", "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` to "
            "initialize the parameters before accessing their attributes.")

    def __getattribute__(self, name: str) -> Any:
        if name not in _ALLOWED and not name.startswith("_"):
            method = vars(Tensor).get(name) or vars(Conversions).get(name)
            if callable(method) or name in ("detach", "detach_"):
                raise_uninitialized(name)
        return super().__getattribute__(name)

    def size(self, dim: int | None = None) -> Any:
        return self.data.size(dim)

    def __len__(self) -> int:
        raise_uninitialized("len")

    def __getitem__(self, index: Any) -> Any:
        raise_uninitialized("__getitem__")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: Any) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, proto: Any) -> Any:
        return type(self), (self.requires_grad, self.device, self.dtype)

    @classmethod
    def _result_class(cls, other):
        raise_uninitialized("an op")


def raise_uninitialized(function) -> NoReturn:
    """Raise the error of a method or op that needs values."""
    raise TensorValueError(
        "MG-E366", f"Attempted to use an uninitialized parameter in {function}. This error happens when you are using a "
        "`LazyModule` or explicitly manipulating `minigrad.nn.parameter.UninitializedParameter` objects. When using LazyModules "
        "Call `forward` with a dummy batch to initialize the parameters before calling other functions", fix="model(example_input)")


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # pyright: ignore[reportIncompatibleVariableOverride]
    """A parameter whose shape is not known yet, as the lazy modules have it.

    Args:
        requires_grad (bool): whether it requires a gradient.
        device, dtype (optional): the device and dtype.

    Mirrors ``torch.nn.parameter.UninitializedParameter``.

    Raises:
        ValueError: for ops and methods that need values.
        RuntimeError: for its shape.

    >>> nn.UninitializedParameter()
    <UninitializedParameter>
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Self:
        return as_lazy(cls, requires_grad, device, dtype)


class UninitializedBuffer(UninitializedTensorMixin):
    """A buffer whose shape is not known yet, as the lazy modules have it. See `UninitializedParameter`.

    Args:
        requires_grad (bool): whether it requires a gradient.
        device, dtype (optional): the device and dtype.

    Mirrors ``torch.nn.parameter.UninitializedBuffer``.

    Raises:
        ValueError: for ops and methods that need values.
        RuntimeError: for its shape.

    >>> nn.UninitializedBuffer()
    <UninitializedBuffer>
    """

    __slots__ = ()

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> Self:
        return as_lazy(cls, requires_grad, device, dtype)


def as_lazy(cls, requires_grad, device, dtype):
    """An instance of `cls` without elements."""
    out = as_class(empty(0, device=device, dtype=dtype), cls)
    if requires_grad:
        out.requires_grad = True
    return out


def is_lazy(param: Any) -> bool:
    """Whether a value is an `UninitializedParameter` or an `UninitializedBuffer`.

    Args:
        param: any value.

    Mirrors ``torch.nn.parameter.is_lazy``.

    >>> from minigrad.nn.parameter import is_lazy
    >>> is_lazy(nn.LazyLinear(2).weight), is_lazy(nn.Linear(1, 2).weight)
    (True, False)
    """
    return isinstance(param, UninitializedTensorMixin)


use_parameter_class(Parameter)
use_operators(Parameter)
