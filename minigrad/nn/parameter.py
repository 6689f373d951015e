"""Parameters: tensors that a module counts as its own.

Mirrors ``torch/nn/parameter.py``.
"""

from minigrad._core.graph.tensor import use_parameter_class
from minigrad._core.surface.operators import use_operators
from minigrad._core.surface.variable import as_class, new_tensor
from minigrad._tensor_str import tensor_str
from minigrad.ops.base.rule import tensor_argument
from minigrad.tensor import Tensor

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor):
    """A tensor that, assigned as an attribute of a `Module`, appears among its parameters.

    Args:
        data (Tensor): the numbers, whose memory it shares; none for an empty one.
        requires_grad (bool): True unless told otherwise.

    The results of ops on it are plain tensors. Mirrors ``torch.nn.Parameter``.

    >>> nn.Parameter(mg.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            return new_tensor(cls, Tensor()._array, requires_grad)
        out = as_class(tensor_argument("Parameter", data, "data").detach(), cls)
        if requires_grad:
            out.requires_grad = True
        return out

    @classmethod
    def _result_class(cls, other):
        return Tensor if other is None else other

    def __repr__(self, *, tensor_contents=None):
        return tensor_str(self, "Parameter containing:\ntensor(")


class Buffer(Tensor):
    """A tensor that, assigned as an attribute of a `Module`, is part of its state but no parameter.

    Args:
        data (Tensor): the numbers, whose memory it shares.
        persistent (bool): whether `state_dict` includes it.

    Mirrors ``torch.nn.Buffer``.

    >>> nn.Buffer(mg.zeros(2))
    tensor([0., 0.])
    """

    def __new__(cls, data=None, *, persistent=True):
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
