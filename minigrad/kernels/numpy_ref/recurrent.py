"""A layer of a recurrent network in one direction, all steps: RNN, LSTM and GRU. ``ops/nn/recurrent.py`` has the formulas."""

import numpy as np

from minigrad.kernels.numpy_ref.elementwise import relu, relu_backward, sigmoid, sigmoid_backward, tanh, tanh_backward
from minigrad.kernels.numpy_ref.precision import quiet, total

__all__ = ["rnn_layer", "rnn_layer_backward"]


def split(x, count):
    """The gates of a step, side by side in x."""
    return np.split(x, count, -1)


@quiet
def rnn_layer(x, w, u, b, c, h, m, mode, reverse):
    size = u.shape[1]
    a, inner = np.matmul(x, w.T), 0
    if b is not None and mode == "GRU":
        a, inner = a + (b + np.pad(c[:2 * size], (0, size))), c[2 * size:]
    elif b is not None:
        a = a + (b + c)
    z = np.empty((*x.shape[:2], size), x.dtype)
    gates, cells = (np.empty(shape if mode in ("LSTM", "GRU") else (0,), x.dtype) for shape in (a.shape, z.shape))
    memory = m if mode == "LSTM" else np.empty((0,), x.dtype)
    for t in range(len(x))[::-1 if reverse else 1]:
        p = np.matmul(h, u.T)
        if mode == "LSTM":
            i, f, g, o = split(a[t] + p, 4)
            i, f, g, o = sigmoid(i), sigmoid(f), tanh(g), sigmoid(o)
            memory = f * memory + i * g
            h = o * np.tanh(memory)
            gates[t], cells[t] = np.concatenate((i, f, g, o), -1), memory
        elif mode == "GRU":
            r, s = split(sigmoid(a[t, :, :2 * size] + p[:, :2 * size]), 2)
            q = p[:, 2 * size:] + inner
            n = tanh(a[t, :, 2 * size:] + r * q)
            h = n + s * np.subtract(h, n)
            gates[t], cells[t] = np.concatenate((r, s, n), -1), q
        else:
            h = (tanh if mode == "RNN_TANH" else relu)(a[t] + p)
        z[t] = h
    return z, np.array(h), np.array(memory), gates, cells


@quiet
def rnn_layer_backward(gz, gh, gm, ggates, gcells, x, w, u, h, m, z, gates, cells, mode, reverse, needs):
    size = u.shape[1]
    order = range(len(x))[::1 if reverse else -1]
    earlier = np.concatenate((z[1:], h[None]) if reverse else (h[None], z[:-1]))
    d, e = np.zeros_like(h) if gh is None else gh, 0 if gm is None else gm
    gx = np.empty((*x.shape[:2], len(w)), x.dtype)
    gs = gx if mode != "GRU" else np.empty_like(gx)
    for t in order:
        d = d if gz is None else d + gz[t]
        more = [0] * 4 if ggates is None else split(ggates[t], 4 if mode == "LSTM" else 3)
        of_cell = 0 if gcells is None else gcells[t]
        direct = 0
        if mode == "LSTM":
            i, f, g, o = split(gates[t], 4)
            y, memory = tanh(cells[t]), m if t == order[-1] else cells[t + (1 if reverse else -1)]
            e = e + of_cell + tanh_backward(d * o, y)
            gx[t] = np.concatenate((sigmoid_backward(e * g + more[0], i), sigmoid_backward(e * memory + more[1], f),
                                    tanh_backward(e * i + more[2], g), sigmoid_backward(d * y + more[3], o)), -1)
            e = e * f
        elif mode == "GRU":
            r, s, n = split(gates[t], 3)
            v = tanh_backward(d * (1 - s) + more[2], n)
            of_r, of_s = sigmoid_backward(v * cells[t] + more[0], r), sigmoid_backward(d * (earlier[t] - n) + more[1], s)
            gx[t], gs[t] = np.concatenate((of_r, of_s, v), -1), np.concatenate((of_r, of_s, v * r + of_cell), -1)
            direct = d * s
        else:
            gx[t] = (tanh_backward if mode == "RNN_TANH" else relu_backward)(d, z[t])
        d = np.matmul(gs[t], u) + direct
    flat, of_states = gx.reshape(-1, len(w)), gs.reshape(-1, len(w))
    results = (lambda: np.matmul(gx, w), lambda: np.matmul(flat.T, x.reshape(-1, x.shape[2])),
               lambda: np.matmul(of_states.T, earlier.reshape(-1, size)), lambda: total(flat, 0, False),
               lambda: total(of_states, 0, False), lambda: d,
               lambda: e if mode == "LSTM" else np.empty((0,), x.dtype))
    return tuple([np.asarray(result()) if need else np.empty((0,), x.dtype) for result, need in zip(results, needs)])
