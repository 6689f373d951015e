"""Recurrent layers, step by step: what the state becomes when the next input comes.

    tanh     h <- tanh(W x + U h + b)                                           or relu
    LSTM     i, f, o = σ(W x + U h + b)     g = tanh(..)     c <- f c + i g     h <- o tanh(c)
    GRU      r, z = σ(W x + U h + b)        n = tanh(W x + b + r (U h + b'))    h <- (1 - z) n + z h

W x does not wait for the state, so it is one product for all steps, and a step gets ``W x + b`` of its time. A bias of U is added
to that of W, where nothing stands between them.

Inside of a layer the features stand first and the batch last: h is (H, N) and the gates are (4 H, N), so that each gate is a block
of memory of its own, for which there are loops in C. With the batch first, gates are columns, and a step of an LSTM with
H = 32 and N = 8 took twice the time. For the same reason products and sums stand here where addcmul and lerp would be shorter.

Mirrors ``aten/src/ATen/native/RNN.cpp``.
"""

# pyright: reportOperatorIssue=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportGeneralTypeIssues=false, reportIndexIssue=false
# (the results of ops have no types inside the package)

from minigrad.nn.functional._padding import pad
from minigrad.ops import chunk, matmul, relu, sigmoid, split, stack, tanh, transpose, unbind, unsqueeze
from minigrad.ops.linalg.matrix import linear

__all__ = ["GATES", "cell", "layer"]

# What stands below each other in the weights: so many blocks of `hidden_size` rows.
GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


def rnn_step(function):
    """A step without gates."""
    def step(x, state, u):
        h = function(x + matmul(u, state[0]))
        return h, (h,)
    return step


def lstm_step(x, state, u, projection=None):
    """Hochreiter & Schmidhuber, "Long short-term memory", 1997; with a projection: Sak et al., 2014."""
    h, c = state
    i, f, g, o = chunk(x + matmul(u, h), 4)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    h = sigmoid(o) * tanh(c)
    if projection is not None:
        h = matmul(projection, h)
    return h, (h, c)


def gru_step(x, state, u, bias=None):
    """Cho et al., "Learning phrase representations using RNN encoder-decoder", 2014; with U h inside of r ( ), as in PyTorch."""
    h, = state
    gates, new = x
    u_gates, u_new = u
    r, z = chunk(sigmoid(gates + matmul(u_gates, h)), 2)
    inner = matmul(u_new, h)
    n = tanh(new + r * (inner if bias is None else inner + bias))
    h = n + z * (h - n)
    return h, (h,)


STEPS = {"RNN_TANH": rnn_step(tanh), "RNN_RELU": rnn_step(relu), "LSTM": lstm_step, "GRU": gru_step}


def prepared(mode, x, w, u, b, c):
    """(W x + b of all steps, (T, gates · H, N), the arguments of each step after the state). Of a GRU both are in two parts."""
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
    """(.., N, H) -> (.., H, N), one block of memory, and back."""
    return transpose(x, -2, -1).contiguous()


def cell(mode, x, state, w, u, b=None, c=None):
    """One step: (N, I) and the state, a tuple of (N, H) -> the new state.

    The weights are W (gates · H, I) and U (gates · H, H), the biases b and c (gates · H), or None both.
    """
    x, rest = prepared(mode, x, w, u, b, c)
    return tuple([transpose(h, 0, 1) for h in STEPS[mode](x, [transpose(h, 0, 1) for h in state], *rest)[1]])


def layer(mode, x, state, weights, reverse):
    """One layer in one direction: (T, N, I) and the state -> (T, N, H) and the state after the last step.

    Args:
        mode (str): a key of `GATES`.
        state (tuple of Tensor): h, and c of an LSTM, (N, H) each.
        weights (list of Tensor): W, U, b, c without the biases if there are none, and the projection of an LSTM that has one.
        reverse (bool): begin with the last input.
    """
    w, u, *more = weights
    b, c = more[:2] if len(more) > 1 else (None, None)
    x, rest = prepared(mode, x, w, u, b, c)
    if len(more) % 2:
        rest = *rest, more[-1]
    inputs = list(zip(*[unbind(part) for part in x])) if mode == "GRU" else unbind(x)
    step, state = STEPS[mode], [features_first(h) for h in state]
    outputs = []
    for x in reversed(inputs) if reverse else inputs:
        h, state = step(x, state, *rest)
        outputs.append(h)
    return features_first(stack(outputs[::-1] if reverse else outputs)), [transpose(h, 0, 1) for h in state]
