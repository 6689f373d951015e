"""All steps of a recurrent layer in one direction as one rule: one node for a layer, instead of a dozen nodes for each step.

    P = U h + b'        the product that a step waits for. W x + b, A below, is one product for all steps
    RNN     h <- tanh(A + P) or relu(A + P)
    LSTM    i, f, g, o = σ(A + P), g with tanh          m <- f m + i g          h <- o tanh(m)
    GRU     r, s = σ(A + P)     n = tanh(A + r q) with q = P        h <- n + s (h - n)

The backward walks through the steps from the last one, with d, the gradient of h, and e, the gradient of m. It finds the gradients
a and p of A and P at each step. Then each weight takes one product for all steps: dW = Σ aᵀ x, dU = Σ pᵀ h.

The gates and the memories (of a GRU: q) of all steps are outputs too, so that they are saved, and second derivatives go through
them. Under ``create_graph`` the backward computes by ops (`by_ops`), which are recorded; otherwise it is a kernel. Forward mode
computes by ops, too (`tangents`).

Mirrors ``mkldnn_rnn_layer`` in ``aten/src/ATen/native/mkldnn/RNN.cpp``, and ``mkldnn_rnn_layer_differentiable_backward`` in
``torch/csrc/autograd/FunctionsManual.cpp``. Read next: ``nn/_recurrent.py``, which says when a layer uses this rule.
"""

from minigrad._core.graph.thread_state import current
from minigrad._core.record.apply import binary, call
from minigrad.ops.base.rule import Op, constant, op, variant
from minigrad.ops.elementwise.functions import ReluBackward, SigmoidBackward, TanhBackward, tanh
from minigrad.ops.linalg.matrix import matmul
from minigrad.ops.reduce.reduction import sum
from minigrad.ops.shape.cat_split import cat, chunk, stack, unbind
from minigrad.ops.shape.views import reshape, transpose

__all__: list[str] = []


@op("mkldnn_rnn_layer")
class MkldnnRnnLayer(Op):
    """(h of all steps, the last h, the last m, gates, memories) of an LSTM"""

    inputs = 7
    outputs = ("z", "last", "memory", "gates", "cells")
    torch_names = {"x": "input", "w": "weight0", "u": "weight1", "b": "weight2", "c": "weight3", "h": "hx_", "m": "cx_tmp",
                   "z": "result0", "last": "result1", "memory": "result2", "gates": "result3"}
    hidden = ("cells",)

    def forward(k, x, w, u, b, c, h, m, mode, reverse):
        return k.rnn_layer(x, w, u, b, c, h, m, mode, reverse)

    def vjp(gs, needs, x, w, u, h, m, z, gates, cells, mode, reverse):
        state = current()
        if state.grad_enabled or state.forward:
            return by_ops(gs, needs, x, w, u, h, m, z, gates, cells, mode, reverse)
        found = call(RnnLayerBackward.op, (*gs, x, w, u, h, m, constant(z), constant(gates), constant(cells), mode, reverse, needs))
        return [d if need else None for d, need in zip(found, needs)]

    def jvp(ts, x, w, u, h, m, z, gates, cells, mode, reverse):
        return tangents(ts, x, w, u, h, m, z, gates, cells, mode, reverse)


# PyTorch has one node for such a layer on a GPU only, CudnnRnnBackward0.
variant(MkldnnRnnLayer, "gru_layer", "GruLayer0", "(h of all steps, the last h, nothing, gates, q) of a GRU")
variant(MkldnnRnnLayer, "rnn_layer", "RnnLayer0", "(h of all steps, the last h, nothing, nothing, nothing) of an RNN")


@op("rnn_layer_backward")
class RnnLayerBackward(Op):
    """The gradients of x, W, U, b, b', h and m, of the shape (0,) where they are not needed"""

    inputs = 13
    differentiable = False      # what needs derivatives of them computes them by ops

    def forward(k, gz, gh, gm, ggates, gcells, x, w, u, h, m, z, gates, cells, mode, reverse, needs):
        return k.rnn_layer_backward(gz, gh, gm, ggates, gcells, x, w, u, h, m, z, gates, cells, mode, reverse, needs)


def by_ops(gs, needs, x, w, u, h, m, z, gates, cells, mode, reverse):
    """`rnn_layer_backward` as ops, which can be differentiated. Returns None where a gradient is not needed."""
    gz, d, e, ggates, gcells = gs
    count, size = x.shape[0], u.shape[1]
    states = unbind(z)
    earlier = [*states[1:], h] if reverse else [h, *states[:-1]]
    gates, cells = [unbind(part) if part.ndim == 3 else (None,) * count for part in (gates, cells)]
    memories = [*cells[1:], m] if reverse else [m, *cells[:-1]]
    gz, ggates, gcells = [(None,) * count if part is None else unbind(part) for part in (gz, ggates, gcells)]
    d = h.new_zeros(h.shape) if d is None else d
    of_a, of_p = [None] * count, [None] * count
    for t in range(count) if reverse else reversed(range(count)):
        d = add(d, gz[t])
        if mode == "LSTM":
            a, e = lstm_step(d, add(e, gcells[t]), gates[t], cells[t], memories[t], ggates[t])
            of_a[t] = of_p[t] = a
            d = matmul(a, u)
        elif mode == "GRU":
            of_a[t], p, direct = gru_step(d, gates[t], cells[t], earlier[t], ggates[t], gcells[t])
            of_p[t] = p
            d = matmul(p, u) + direct
        else:
            a = of_a[t] = of_p[t] = binary((TanhBackward if mode == "RNN_TANH" else ReluBackward).op, d, states[t])
            d = matmul(a, u)
    a = stack(of_a)
    p = stack(of_p) if mode == "GRU" else a
    flat, of_products = reshape(a, -1, a.shape[2]), reshape(p, -1, a.shape[2])
    results = (lambda: matmul(a, w), lambda: matmul(transpose(flat, 0, 1), reshape(x, -1, x.shape[2])),
               lambda: matmul(transpose(of_products, 0, 1), reshape(stack(earlier), -1, size)),
               lambda: sum(flat, 0), lambda: sum(of_products, 0), lambda: d, lambda: e)
    return [result() if need else None for result, need in zip(results, needs)]


def lstm_step(d, e, gates, m, before, of_gates):
    """Return (a, the gradient of the memory before the step), given the gradients of the state, the memory m and the gates."""
    i, f, g, o = chunk(gates, 4, -1)
    of_i, of_f, of_g, of_o = (None,) * 4 if of_gates is None else chunk(of_gates, 4, -1)
    y = tanh(m)
    e = add(binary(TanhBackward.op, d * o, y), e)
    return cat([binary(SigmoidBackward.op, add(e * g, of_i), i), binary(SigmoidBackward.op, add(e * before, of_f), f),
                binary(TanhBackward.op, add(e * i, of_g), g), binary(SigmoidBackward.op, add(d * y, of_o), o)], -1), e * f


def gru_step(d, gates, q, h, of_gates, of_q):
    """Return (a, p, the gradient of h that does not go through p), given the gradients of the next state, the gates and q."""
    r, s, n = chunk(gates, 3, -1)
    of_r, of_s, of_n = (None,) * 3 if of_gates is None else chunk(of_gates, 3, -1)
    v = binary(TanhBackward.op, add(d * (1 - s), of_n), n)
    first, second = binary(SigmoidBackward.op, add(v * q, of_r), r), binary(SigmoidBackward.op, add(d * (h - n), of_s), s)
    return cat([first, second, v], -1), cat([first, second, add(v * r, of_q)], -1), d * s


def tangents(ts, x, w, u, h, m, z, gates, cells, mode, reverse):
    """The tangents of the five outputs, by ops; None for an output that the mode lacks."""
    tx, tw, tu, tb, tc, th, tm = ts
    count, gated = x.shape[0], mode in ("LSTM", "GRU")
    ta = None if tb is None else tb.expand(count, 1, w.shape[0])
    if tx is not None:
        ta = add(matmul(tx, transpose(w, 0, 1)), ta)
    if tw is not None:
        ta = add(matmul(x, transpose(tw, 0, 1)), ta)
    across, of_weight = transpose(u, 0, 1), None if tu is None else transpose(tu, 0, 1)
    th = h.new_zeros(h.shape) if th is None else th
    tm = m.new_zeros(m.shape) if mode == "LSTM" and tm is None else tm
    of_states, of_gates, of_cells = [None] * count, [None] * count, [None] * count
    for t in reversed(range(count)) if reverse else range(count):
        tp = add(matmul(th, across), tc)
        tp = tp if of_weight is None else tp + matmul(h, of_weight)
        a = None if ta is None else ta[t]
        if mode == "LSTM":
            of_gates[t], tm, th = lstm_tangents(add(tp, a), tm, gates[t], m, cells[t])
            of_cells[t], m = tm, cells[t]
        elif mode == "GRU":
            of_gates[t], of_cells[t], th = gru_tangents(a, tp, th, gates[t], cells[t], h)
        else:
            th = binary((TanhBackward if mode == "RNN_TANH" else ReluBackward).op, add(tp, a), z[t])
        of_states[t], h = th, z[t]
    return stack(of_states), th, tm, stack(of_gates) if gated else None, stack(of_cells) if gated else None


def lstm_tangents(ta, tm, gates, before, m):
    """Return the tangents of the gates, the memory m and the state, given the tangents of A + P and of the memory before."""
    i, f, g, o = chunk(gates, 4, -1)
    of_i, of_f, of_g, of_o = chunk(ta, 4, -1)
    of_i, of_f, of_g, of_o = [binary((TanhBackward if gate is g else SigmoidBackward).op, part, gate)
                              for part, gate in ((of_i, i), (of_f, f), (of_g, g), (of_o, o))]
    y = tanh(m)
    tm = of_f * before + f * tm + of_i * g + i * of_g
    return cat([of_i, of_f, of_g, of_o], -1), tm, of_o * y + o * binary(TanhBackward.op, tm, y)


def gru_tangents(ta, tp, th, gates, q, h):
    """Return the tangents of the gates, of q and of the next state, given those of A, P and the state h."""
    r, s, n = chunk(gates, 3, -1)
    of_r, of_s, of_q = chunk(tp, 3, -1)
    more = (None,) * 3 if ta is None else chunk(ta, 3, -1)
    of_r, of_s = binary(SigmoidBackward.op, add(of_r, more[0]), r), binary(SigmoidBackward.op, add(of_s, more[1]), s)
    of_n = binary(TanhBackward.op, add(of_r * q + r * of_q, more[2]), n)
    return cat([of_r, of_s, of_n], -1), of_q, of_n + of_s * (h - n) + s * (th - of_n)


def add(x, y):
    """x + y; x if y is None, y if x is None."""
    return y if x is None else x if y is None else x + y
