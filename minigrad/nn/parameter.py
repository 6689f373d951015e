"""Parameters and buffers: tensors that a module registers when they are assigned to it.

Mirrors ``torch/nn/parameter.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minigrad._core.graph.tensor import use_parameter_class
from minigrad._core.surface.operators import use_operators
from minigrad._core.surface.variable import as_class, new_tensor
from minigrad._tensor.tensor_str import tensor_str
from minigrad.ops.base.rule import tensor_argument
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from typing import Any, Self

__all__ = ["Buffer", "Parameter"]


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


use_parameter_class(Parameter)
use_operators(Parameter)
