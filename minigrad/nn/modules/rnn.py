"""Recurrent layers: `RNN`, `LSTM` and `GRU`.

    layer   (T, N, I) -> (T, N, H) and the last state      all steps, several layers, both directions      this file
    cell    (N, I) and a state -> the next state           a single step                                   rnn_cells.py

This file has parameters, states and checks. The parameters of layer 0 are ``weight_ih_l0`` (W), ``weight_hh_l0`` (U), their biases
``bias_ih_l0`` and ``bias_hh_l0``, and ``weight_hr_l0`` (the projection of an LSTM). The names of the other direction end in
``_reverse``.

Mirrors ``torch/nn/modules/rnn.py``. Read next: ``nn/_recurrent.py``, which computes the steps.
"""

from __future__ import annotations

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportGeneralTypeIssues=false, reportIndexIssue=false
# (the results of ops have no types inside the package)
import math
import numbers
import warnings
from typing import TYPE_CHECKING

from minigrad._arguments import instance
from minigrad._core.graph.thread_state import current
from minigrad.creation import empty, zeros
from minigrad.errors import ShapeError, TensorTypeError, TensorValueError
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn._optional import flag_of
from minigrad.nn._recurrent import GATES, layer, packed_layer
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.rnn_cells import *  # noqa: F403  (PyTorch has them in this file)
from minigrad.nn.parameter import Parameter
from minigrad.nn.utils.rnn import PackedSequence
from minigrad.ops import cat, stack, unbind
from minigrad.ops.base.arguments import integer, real

if TYPE_CHECKING:
    from typing import Any

    from minigrad.types import DeviceLike, DType, Tensor

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]


class RNNBase(Module):
    """The base of `RNN`, `LSTM` and `GRU`.

    Args:
        mode (str): ``"RNN_TANH"``, ``"RNN_RELU"``, ``"LSTM"`` or ``"GRU"``.
        input_size (int): I, the number of features of the input.
        hidden_size (int): H, the number of features of the state.
        num_layers (int): the number of layers. Each takes the outputs of the one before as its inputs.
        bias (bool): whether there are biases.
        batch_first (bool): input and output are (N, T, ...) instead of (T, N, ...). The states stay as they are.
        dropout (float): the probability of dropping an output between two layers, in training.
        bidirectional (bool): add a second direction, from the last input to the first. Its outputs follow the others.
        proj_size (int): P, the size of the projection of h in an LSTM; 0 for no projection.
        device, dtype (optional): the device and dtype of the parameters.

    The initial values of the parameters are uniform in ±1/√H. Mirrors ``torch.nn.RNNBase``.

    Raises:
        ValueError: a size is out of range, or the mode is unknown.
        TypeError: `hidden_size` is not an integer.

    >>> nn.RNNBase("GRU", 2, 3).hidden_size
    3
    """

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        super().__init__()
        self.mode = instance(mode, str, "mode", type(self).__name__)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = flag_of(self, "bias", bias)
        self.batch_first = flag_of(self, "batch_first", batch_first)
        self.dropout = dropout if isinstance(dropout, bool) else float(real(dropout, "dropout", type(self).__name__))
        self.bidirectional = flag_of(self, "bidirectional", bidirectional)
        self.proj_size = proj_size
        check_options(self)
        if dropout > 0 and num_layers == 1:
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                          f"greater than 1, but got dropout={dropout} and num_layers={num_layers}", UserWarning, stacklevel=3)
        directions = 2 if self.bidirectional else 1
        own, rows = proj_size or hidden_size, GATES[mode] * hidden_size
        self._names = []            # one list of parameter names per layer and direction
        for number in range(num_layers):
            shapes = {"weight_ih": (rows, own * directions if number else input_size), "weight_hh": (rows, own)}
            if self.bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in ("", "_reverse")[:directions]:
                self._names.append([f"{name}_l{number}{suffix}" for name in shapes])
                for name, shape in zip(self._names[-1], shapes.values()):
                    setattr(self, name, Parameter(empty(*shape, device=device, dtype=dtype)))
        self.reset_parameters()

    @property
    def all_weights(self):
        """The parameters, in a list per layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._names]

    def flatten_parameters(self) -> None:
        """Do nothing: here parameters need not be adjacent in memory.

        >>> nn.GRU(2, 3).flatten_parameters()
        """

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def forward(self, input: Any, hx: Tensor | tuple[Tensor, Tensor] | None = None) -> tuple[Any, Any]:
        """Run all steps of all layers.

        Args:
            input (Tensor or PackedSequence): (T, N, I), or (N, T, I) with `batch_first`, or (T, I) without a batch; or a packed
                sequence, and then the output is one too.
            hx (Tensor, optional): the initial states, (layers · directions, N, H), without N if `input` has no batch. For an LSTM a
                pair (h, c). Zeros by default.

        Returns:
            (output, state): the outputs of the last layer at all steps, (T, N, directions · H), and the states of all layers and
            directions after the last step, of the shape of `hx`.

        Raises:
            ValueError: the dimensions or the dtype of `input` do not fit.
            RuntimeError: a size does not fit, or there is no step.
        """
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.ndim not in (2, 3):
            raise TensorValueError("MG-E361", f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D instead")
        batched = input.ndim == 3
        x = input.unsqueeze(1) if not batched else input.transpose(0, 1) if self.batch_first else input
        states = None if hx is None else [unbind(h) for h in self._states(hx, batched, x.shape[1])]
        check_input(self, x)
        if states is None:
            states = [[zeros(*shape[1:], dtype=x.dtype, device=x.device)] * shape[0] for shape in self._state_shapes(x.shape[1])]
        x, last = self._run(x, states)
        if not batched:
            x = x.squeeze(1)
        elif self.batch_first:
            x = x.transpose(0, 1)
        ends = [stack(parts) if batched else stack(parts).squeeze(1) for parts in zip(*last)]
        return x, tuple(ends) if self.mode == "LSTM" else ends[0]

    def _run(self, x, states, sizes=None):
        """Run all layers. Return (the outputs of the last one, a list with the last state of each layer and direction).

        Args:
            x (Tensor): the inputs (T, N, I), or packed ones with their batch `sizes`.
            states (list of lists of Tensor): h, and c for an LSTM, of each layer and direction.
        """
        directions = 2 if self.bidirectional else 1
        weights, last = self.all_weights, []
        for number in range(self.num_layers):
            if number and self.dropout and self.training:
                x = F.dropout(x, self.dropout)
            outputs = []
            for direction in range(directions):
                place = number * directions + direction
                arguments = self.mode, x, tuple([h[place] for h in states]), weights[place], direction == 1
                z, state = layer(*arguments) if sizes is None else packed_layer(*arguments, sizes)
                outputs.append(z)
                last.append(state)
            x = outputs[0] if directions == 1 else cat(outputs, -1)
        return x, last

    def _forward_packed(self, packed, hx):
        """`forward` for a `PackedSequence`. The states are in the order of the sequences before they were sorted."""
        data, batch_sizes, order, back = packed
        sizes = batch_sizes.tolist()
        if data.ndim != 2:
            raise ShapeError("MG-E361", f"input must have 2 dimensions, got {data.ndim}")
        check_input(self, data.unsqueeze(0))
        shapes = self._state_shapes(sizes[0])
        if hx is None:
            states = [[zeros(*shape[1:], dtype=data.dtype, device=data.device)] * shape[0] for shape in shapes]
        else:
            parts = self._states(hx, True, sizes[0])
            states = [unbind(h if order is None else h.index_select(1, order)) for h in parts]
        z, last = self._run(data, states, sizes)
        ends = [stack(parts) if back is None else stack(parts).index_select(1, back) for parts in zip(*last)]
        return PackedSequence(z, batch_sizes, order, back), tuple(ends) if self.mode == "LSTM" else ends[0]

    def _states(self, hx, batched, batch):
        """Return `hx` as a tuple of tensors with three dimensions; raise unless it fits an input of `batch` sequences."""
        pair = self.mode == "LSTM"
        parts = tuple(hx[:2]) if pair else (hx,)
        if len(parts) < 2 and pair:
            raise ShapeError("MG-E361", "lstm expects two hidden states", expected="hx=(h, c)", found=f"{len(parts)} tensors")
        wanted = 3 if batched else 2
        if any(h.ndim != wanted for h in parts):
            kind = f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx "
            found = ", ".join(f"{h.ndim}-D" for h in parts)
            kind += f"and cx should also be {wanted}-D but got ({found}) tensors" if pair else (
                f"should also be {wanted}-D but got {found} tensor")
            raise ShapeError("MG-E361", kind)
        parts = parts if batched else tuple([h.unsqueeze(1) for h in parts])
        for i, (h, shape) in enumerate(zip(parts, self._state_shapes(batch))):
            if tuple(h.shape) != shape:
                raise ShapeError("MG-E361", f"Expected hidden{f'[{i}]' if pair else ''} size {shape}, got {list(h.shape)}")
        return parts

    def _state_shapes(self, batch):
        """The shapes of h and c for `batch` sequences."""
        count = self.num_layers * (2 if self.bidirectional else 1)
        sizes = (self.proj_size or self.hidden_size, *[self.hidden_size] * (self.mode == "LSTM"))
        return [(count, batch, size) for size in sizes]

    def extra_repr(self) -> str:
        said = [f"{self.input_size}, {self.hidden_size}"]
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        return ", ".join(said + [f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value])


def check_options(module):
    """Raise unless the mode is known and the sizes and the dropout of a layer are in range."""
    def expect(condition, what):
        if not condition:
            raise TensorValueError("MG-E361", what)
    expect(module.mode in GATES, f"Unrecognized RNN mode: {module.mode}")
    expect(isinstance(module.dropout, numbers.Number) and not isinstance(module.dropout, bool) and 0 <= module.dropout <= 1,
           "dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
    if not isinstance(module.hidden_size, int):
        raise TensorTypeError("MG-E361", f"hidden_size should be of type int, got: {type(module.hidden_size).__name__}")
    for name in ("input_size", "hidden_size", "num_layers"):
        expect(integer(getattr(module, name), name, module.mode) > 0, f"{name} must be greater than zero")
    expect(integer(module.proj_size, "proj_size", module.mode) >= 0,
           "proj_size should be a positive integer or zero to disable projections")
    expect(not module.proj_size or module.mode == "LSTM", "proj_size argument is only supported for LSTM, not RNN or GRU")
    expect(module.proj_size < module.hidden_size, "proj_size has to be smaller than hidden_size")


def check_input(module, x):
    """Raise unless the input (T, N, I) fits the parameters."""
    dtype = module.weight_ih_l0.dtype
    if x.dtype is not dtype and current().autocast is None:
        raise TensorValueError("MG-E361", f"RNN input dtype ({x.dtype}) does not match weight dtype ({dtype}).",
                               fix=f"convert the input: input.to({dtype}), or the layer: layer.to({x.dtype})")
    if x.shape[2] != module.input_size:
        raise ShapeError("MG-E361", f"input.size(-1) must be equal to input_size. Expected {module.input_size}, got {x.shape[2]}")
    if not x.shape[0]:
        raise ShapeError("MG-E361", "Expected sequence length to be larger than 0 in RNN")


class RNN(RNNBase):
    """h <- tanh(W x + b + U h + b') at each step, or relu instead of tanh (Elman, "Finding structure in time", 1990).

    Args:
        nonlinearity (str): ``"tanh"`` or ``"relu"``.
        input_size, hidden_size, ...: as in `RNNBase`, without the mode.

    Mirrors ``torch.nn.RNN``.

    Raises:
        ValueError: a size is out of range, or the nonlinearity is unknown.

    >>> output, h = nn.RNN(2, 4, num_layers=3)(mg.ones(5, 1, 2))
    >>> output.shape, h.shape
    (minigrad.Size([5, 1, 4]), minigrad.Size([3, 1, 4]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: DeviceLike | None = None, dtype: DType | None = None) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise TensorValueError("MG-E361", f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_" + nonlinearity.upper(), input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, proj_size, device, dtype)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """A state h and a memory c. Gates control what is kept in c, written to it and read from it (Hochreiter & Schmidhuber, 1997).

        i, f, o = σ(W x + b + U h + b')      g = tanh(..)      c <- f c + i g      h <- o tanh(c)

    The arguments are as in `RNNBase`, without the mode. The rows of the weights are in the order i, f, g, o.
    Mirrors ``torch.nn.LSTM``.

    Raises:
        ValueError: a size is out of range.

    >>> output, (h, c) = nn.LSTM(2, 4, batch_first=True, bidirectional=True)(mg.ones(1, 5, 2))
    >>> output.shape, h.shape, c.shape
    (minigrad.Size([1, 5, 8]), minigrad.Size([2, 1, 4]), minigrad.Size([2, 1, 4]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device,
                         dtype)


class GRU(RNNBase):
    """A state h. The gate z mixes it with a new state n; the gate r controls how n depends on h (Cho et al., 2014).

        r, z = σ(W x + b + U h + b')      n = tanh(W x + b + r (U h + b'))      h <- (1 - z) n + z h

    The arguments are as in `RNNBase`, without the mode. The rows of the weights are in the order r, z, n.
    Mirrors ``torch.nn.GRU``.

    Raises:
        ValueError: a size is out of range.

    >>> output, h = nn.GRU(2, 4)(mg.ones(5, 2))
    >>> output.shape, h.shape
    (minigrad.Size([5, 4]), minigrad.Size([1, 4]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: DeviceLike | None = None,
                 dtype: DType | None = None) -> None:
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device,
                         dtype)
