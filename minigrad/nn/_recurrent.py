"""Recurrent layers: from the state h and the next input x to the next state.

    tanh     h <- tanh(W x + U h + b)                                           or relu
    LSTM     i, f, o = σ(W x + U h + b)     g = tanh(..)     c <- f c + i g     h <- o tanh(c)
    GRU      r, z = σ(W x + U h + b)        n = tanh(W x + b + r (U h + b'))    h <- (1 - z) n + z h

W x does not depend on the state. So one product computes it for all steps, and each step receives its own ``W x + b``. Where the
biases of W and U are simply added, b is their sum.

On a CPU a layer is one rule, ``ops/nn/recurrent.py``: one node, whose kernels run all steps. The code here computes it by ops, step
by step. It serves what the rule does not: other devices, other dtypes, autocast, projections, packed sequences, and cells.

Inside a layer the features are the first dimension and the batch is the last: h is (H, N) and the gates are (4 H, N). Each gate is
then a contiguous block of memory, which C loops handle fast. With the batch first, the gates are columns, and a step of an LSTM
with H = 32 and N = 8 took twice the time. For the same reason we use products and sums here, although addcmul and lerp would be
shorter.

Mirrors ``aten/src/ATen/native/RNN.cpp``.
"""

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportGeneralTypeIssues=false, reportIndexIssue=false
# (the results of ops have no types inside the package)

from minigrad._core.graph.metadata import named_dtype
from minigrad._core.graph.thread_state import current
from minigrad._core.record.apply import call
from minigrad.nn.functional._padding import pad
from minigrad.ops import cat, chunk, matmul, relu, sigmoid, split, stack, tanh, transpose, unbind, unsqueeze
from minigrad.ops.base.registry import REGISTRY
from minigrad.ops.linalg.matrix import linear
from minigrad.ops.nn.recurrent import MkldnnRnnLayer

__all__ = ["GATES", "cell", "layer", "packed_layer"]

# The number of blocks in a weight, each with `hidden_size` rows.
GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


def rnn_step(function):
    """Return the step of a layer without gates: h <- function(x + U h)."""
    def step(x, state, u):
        h = function(x + matmul(u, state[0]))
        return h, (h,)
    return step


def lstm_step(x, state, u, projection=None):
    """The step of an LSTM (Hochreiter & Schmidhuber, "Long short-term memory", 1997); with a projection: Sak et al., 2014."""
    h, c = state
    i, f, g, o = chunk(x + matmul(u, h), 4)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
    if projection is not None:
        h = matmul(projection, h)
    return h, (h, c)


def gru_step(x, state, u, bias=None):
    """The step of a GRU (Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014).

    As in PyTorch, r multiplies U h, and not h itself.
    """
    h, = state
    gates, new = x
    u_gates, u_new = u
    r, z = chunk(sigmoid(gates + matmul(u_gates, h)), 2)
    inner = matmul(u_new, h)
    n = tanh(new + r * (inner if bias is None else inner + bias))
    h = n + z * (h - n)
    return h, (h,)


# The rules that compute all steps of a layer.
RNN = REGISTRY["rnn_layer"]
RULES = {"LSTM": MkldnnRnnLayer.op, "GRU": REGISTRY["gru_layer"], "RNN_TANH": RNN, "RNN_RELU": RNN}
FLOATS = (named_dtype("float32"), named_dtype("float64"))

STEPS = {"RNN_TANH": rnn_step(tanh), "RNN_RELU": rnn_step(relu), "LSTM": lstm_step, "GRU": gru_step}


def prepare(mode, x, w, u, b, c):
    """Return (W x + b for all steps, the arguments of each step after the state).

    The first is (T, gates · H, N). For a GRU both are in two parts: the gates r and z, and n.
    """
    if mode != "GRU":
        return features_first(linear(x, w, None if b is None else b + c)), (u,)
    size = u.shape[1]
    cut = [2 * size, size]
    inner = ()
    if b is not None:
        c, new = split(c, cut)
        b, inner = b + pad(c, (0, size)), (unsqueeze(new, 1),)
    return [features_first(part) for part in split(linear(x, w, b), cut, -1)], (split(u, cut), *inner)


def features_first(x):
    """(..., N, H) -> (..., H, N), contiguous; and back."""
    return transpose(x, -2, -1).contiguous()


def cell(mode, x, state, w, u, b=None, c=None):
    """Compute one step. Return the new state, a tuple of (N, H).

    Args:
        mode (str): a key of `GATES`.
        x (Tensor): the input, (N, I).
        state (tuple of Tensor): h, and c for an LSTM, (N, H) each.
        w, u (Tensor): W, (gates · H, I), and U, (gates · H, H).
        b, c (Tensor or None): the biases of W and U, (gates · H) each, or None for both.
    """
    x, rest = prepare(mode, x, w, u, b, c)
    return tuple([transpose(h, 0, 1) for h in STEPS[mode](x, [transpose(h, 0, 1) for h in state], *rest)[1]])


def layer(mode, x, state, weights, reverse):
    """Compute one layer in one direction. Return (outputs (T, N, H), the state after the last step).

    Args:
        mode (str): a key of `GATES`.
        x (Tensor): the inputs, (T, N, I).
        state (tuple of Tensor): h, and c for an LSTM, (N, H) each.
        weights (list of Tensor): W, U, then the biases b and c unless the layer has none, then the projection if the LSTM has one.
        reverse (bool): begin with the last input.
    """
    w, u, *more = weights
    b, c = more[:2] if len(more) > 1 else (None, None)
    if one_node(x, (*state, *weights)) and not len(more) % 2:
        outs = call(RULES[mode], (x, w, u, b, c, state[0], state[1] if mode == "LSTM" else None, mode, reverse))
        return outs[0], list(outs[1:1 + len(state)])
    x, rest = prepare(mode, x, w, u, b, c)
    if len(more) % 2:
        rest = *rest, more[-1]
    inputs = list(zip(*[unbind(part) for part in x])) if mode == "GRU" else unbind(x)
    step, state = STEPS[mode], [features_first(h) for h in state]
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        h, state = step(x, state, *rest)
        outputs.append(h)
    return features_first(stack(outputs[::-1] if reverse else outputs)), [transpose(h, 0, 1) for h in state]


def one_node(x, others):
    """Whether one rule can compute a layer: on a CPU, in float32 or float64, and outside of autocast."""
    state = current()
    return (state.autocast is None and x.dtype in FLOATS and x.device.type == "cpu"
            and all(y.dtype is x.dtype and y.device is x.device for y in others))


def packed_layer(mode, x, state, weights, reverse, sizes):
    """Compute one layer in one direction over a packed sequence. Return (outputs (sum of the lengths, H), the last states).

    Args:
        mode, state, weights, reverse: as in `layer`.
        x (Tensor): the packed inputs, (sum of the lengths, I).
        sizes (list of int): the number of sequences at each step, in decreasing order.

    The sequences are sorted by length, so those that have an element at a step are the first columns of the state. Forwards, the
    columns of a sequence leave the state after its end. Backwards, they enter it at its end.
    """
    w, u, *more = weights
    b, c = more[:2] if len(more) > 1 else (None, None)
    x, rest = prepare(mode, x, w, u, b, c)
    if len(more) % 2:
        rest = *rest, more[-1]
    inputs = list(zip(*[split(part, sizes, -1) for part in x])) if mode == "GRU" else split(x, sizes, -1)
    step, first = STEPS[mode], [features_first(h) for h in state]
    outputs, ended = [], []
    steps = list(zip(inputs, sizes))
    state = [h[:, :steps[-1][1]] for h in first] if reverse else first
    for x, size in reversed(steps) if reverse else steps:
        now = state[0].shape[1]
        if size < now:
            ended.append([h[:, size:] for h in state])
            state = [h[:, :size] for h in state]
        elif size > now:
            state = [cat([h, h0[:, now:size]], 1) for h, h0 in zip(state, first)]
        h, state = step(x, state, *rest)
        outputs.append(h)
    last = [cat(parts, 1) if ended else parts[0] for parts in zip(state, *reversed(ended))]
    return features_first(cat(outputs[::-1] if reverse else outputs, 1)), [transpose(h, 0, 1) for h in last]
