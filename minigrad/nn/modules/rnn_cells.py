"""Recurrent cells: a single step of a recurrent layer. ``rnn.py`` has the layers.

Mirrors ``torch/nn/modules/rnn.py``. Read next: ``nn/_recurrent.py``, which computes the step.
"""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# (the results of ops have no types inside the package)
import math
from typing import TYPE_CHECKING

from minigrad.creation import zeros
from minigrad.errors import ShapeError, TensorValueError
from minigrad.nn import init
from minigrad.nn._optional import flag_of, register_optional
from minigrad.nn._recurrent import cell
from minigrad.nn.modules.module import Module
from minigrad.ops.base.arguments import integer

if TYPE_CHECKING:
    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """The base of the cells.

    Args:
        input_size (int): I, the number of features of the input.
        hidden_size (int): H, the number of features of the state.
        bias (bool): whether there are biases.
        num_chunks (int): the number of blocks of H rows in the weights.
        device, dtype (optional): the device and dtype of the parameters.

    `weight_ih` (num_chunks · H, I) and `weight_hh` (num_chunks · H, H) are W and U. `bias_ih` and `bias_hh` (num_chunks · H) are
    their biases. The initial values are uniform in ±1/√H. Mirrors ``torch.nn.RNNCellBase``.

    >>> nn.RNNCellBase(2, 3, bias=False, num_chunks=4).weight_ih.shape
    minigrad.Size([12, 2])
    """

    states = 1          # the number of tensors in the state

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__()
        self.input_size = input_size = integer(input_size, "input_size", type(self).__name__)
        self.hidden_size = hidden_size = integer(hidden_size, "hidden_size", type(self).__name__)
        self.bias = flag_of(self, "bias", bias)
        rows = integer(num_chunks, "num_chunks", "RNNCellBase") * hidden_size
        for name, shape in (("weight_ih", (rows, input_size)), ("weight_hh", (rows, hidden_size)), ("bias_ih", (rows,)),
                            ("bias_hh", (rows,))):
            register_optional(self, name, self.bias or name.startswith("weight"), shape, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        return (f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")
                + (f", nonlinearity={self.nonlinearity}" if getattr(self, "nonlinearity", "tanh") != "tanh" else ""))

    def _step(self, mode, input, hx):
        """Return the new state, a tuple, for the input (N, I) or (I) and the state `hx`, a tuple or None."""
        name = type(self).__name__
        if input.ndim not in (1, 2):
            raise TensorValueError("MG-E361", f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        batched = input.ndim == 2
        x = input if batched else input.unsqueeze(0)
        if x.shape[1] != self.input_size:
            raise ShapeError("MG-E361", f"input has inconsistent input_size: got {x.shape[1]} expected {self.input_size}")
        if hx is None:
            hx = (zeros(x.shape[0], self.hidden_size, dtype=x.dtype, device=x.device),) * self.states
        else:
            hx = [check_state(self, i, h, batched, x) for i, h in enumerate(hx)]
        state = cell(mode, x, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return state if batched else tuple([h.squeeze(0) for h in state])


def check_state(module, i, h, batched, x):
    """Return `h`, tensor `i` of a state, with a batch dimension; raise unless it fits the input `x`."""
    if h.ndim not in (1, 2):
        which = f"hx[{i}]" if module.states > 1 else "hidden"
        raise TensorValueError("MG-E361", f"{type(module).__name__}: Expected {which} to be 1D or 2D, got {h.ndim}D instead")
    h = h if batched else h.unsqueeze(0)
    if h.shape[0] != x.shape[0]:
        raise ShapeError("MG-E361", f"Input batch size {x.shape[0]} doesn't match hidden{i} batch size {h.shape[0]}")
    if h.ndim != 2 or h.shape[1] != module.hidden_size:
        raise ShapeError("MG-E361", f"hidden{i} has inconsistent hidden_size: got {h.shape[1]}, expected {module.hidden_size}")
    return h


class RNNCell(RNNCellBase):
    """h <- tanh(W x + b + U h + b'), or relu instead of tanh: one step of an `RNN`.

    Args:
        input_size, hidden_size, bias, device, dtype: as in `RNNCellBase`.
        nonlinearity (str): ``"tanh"`` or ``"relu"``.

    Mirrors ``torch.nn.RNNCell``.

    Raises:
        RuntimeError: in the call: a size does not fit, or the nonlinearity is unknown.
        ValueError: in the call: the number of dimensions does not fit.

    >>> nn.RNNCell(2, 3)(mg.ones(5, 2)).shape
    minigrad.Size([5, 3])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
                 device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the new state (N, H) for the input (N, I) and the state `hx` (N, H), zeros by default. N may be missing in all."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise ShapeError("MG-E361", f"Unknown nonlinearity: {self.nonlinearity}", expected="'tanh' or 'relu'")
        return self._step("RNN_" + self.nonlinearity.upper(), input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """One step of an `LSTM`. The arguments are as in `RNNCellBase`. Mirrors ``torch.nn.LSTMCell``.

    Raises:
        RuntimeError: in the call: a size does not fit.
        ValueError: in the call: the number of dimensions does not fit.

    >>> h, c = nn.LSTMCell(2, 3)(mg.ones(5, 2))
    >>> h.shape, c.shape
    (minigrad.Size([5, 3]), minigrad.Size([5, 3]))
    """

    states = 2

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Return the new state (h, c), (N, H) each, for the input (N, I) and the state `hx` = (h, c), zeros by default.

        N may be missing in all of them.
        """
        if hx is not None and len(hx) != 2:
            raise ShapeError("MG-E361", "lstm_cell expects two hidden states", expected="hx=(h, c)", found=f"{len(hx)} tensors")
        return self._step("LSTM", input, hx)  # pyright: ignore[reportReturnType]


class GRUCell(RNNCellBase):
    """One step of a `GRU`. The arguments are as in `RNNCellBase`. Mirrors ``torch.nn.GRUCell``.

    Raises:
        RuntimeError: in the call: a size does not fit.
        ValueError: in the call: the number of dimensions does not fit.

    >>> nn.GRUCell(2, 3)(mg.ones(5, 2)).shape
    minigrad.Size([5, 3])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the new state (N, H) for the input (N, I) and the state `hx` (N, H), zeros by default. N may be missing in all."""
        return self._step("GRU", input, None if hx is None else (hx,))[0]
