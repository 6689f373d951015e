"""Stages of a pipeline for the tests, in either library: each builder returns (forward, its parameters)."""

import importlib
import math


def lib(m):
    """The module under test: torch's or minigrad's."""
    return importlib.import_module(f"{m.__name__}.distributed.pipelining._backward")


def numbers(m, *shape, grad=True, shift=0.):
    """A leaf of fixed, uneven numbers between -1 and 1, the same in both libraries."""
    count = 1
    for n in shape:
        count *= n
    flat = [((7 * i + 3) % 11) / 5.5 - 1 + shift for i in range(count)]
    return m.tensor(flat, dtype=m.float64).reshape(*shape).detach().requires_grad_(grad)


def node(x):
    """The node that the gradient of `x` goes to."""
    return x.grad_fn if x.grad_fn is not None else x.view_as(x).grad_fn.next_functions[0][0]


def close(found, expected):
    """Whether two results are equal up to rounding, since sums may have another order: tensors, numbers, None, and sequences."""
    found, expected = [x.tolist() if hasattr(x, "tolist") else x for x in (found, expected)]
    if isinstance(found, (list, tuple)):
        return len(found) == len(expected) and all(close(f, e) for f, e in zip(found, expected))
    return found is expected if None in (found, expected) else math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-12)


def linear(m, shift=0.):
    layer = m.nn.Linear(3, 3, dtype=m.float64)
    with m.no_grad():
        layer.weight.copy_(numbers(m, 3, 3, shift=shift))
        layer.bias.copy_(numbers(m, 3, shift=shift))
    return layer


def stack(m):
    a, b = linear(m), linear(m, 0.1)
    return lambda x: b(a(x).tanh()), [*a.parameters(), *b.parameters()]


def residual(m):
    a, b = linear(m), linear(m, 0.1)
    return lambda x: b((x + a(x).tanh()).tanh()) + x, [*a.parameters(), *b.parameters()]


def normalised(m):
    g, b = numbers(m, 3), numbers(m, 3, shift=0.2)

    def forward(x):
        centred = x - x.mean(-1, keepdim=True)
        return centred / ((centred * centred).mean(-1, keepdim=True) + 1).sqrt() * g + b
    return forward, [g, b]


def product(m):
    a, b = numbers(m, 3, 2), numbers(m, 2, 3)
    return lambda x: x @ (a @ b), [a, b]


def branch(m):
    """A branch of weights only."""
    v, w = numbers(m, 3), numbers(m, 3, shift=0.3)
    return lambda x: x * v + (w * w).exp(), [v, w]


def unused(m):
    forward, weights = stack(m)
    return forward, [*weights, numbers(m, 2)]


def tied(m):
    layer = linear(m)
    return lambda x: layer(layer(x).tanh()), list(layer.parameters())


def tied_at_both_ends(m):
    """The graph has the bias between two uses of the weight, and the weight between two uses of the bias."""
    w, b = numbers(m, 3, 3), numbers(m, 3)
    return lambda x: (x @ w + b).tanh() @ w.t() * b, [w, b]


def shared_scale(m):
    """A scale that is used in three layers."""
    layers, scale = [linear(m, 0.1 * i) for i in range(3)], numbers(m, 3, shift=0.2)

    def forward(x):
        for layer in layers:
            x = (layer(x) * scale).tanh()
        return x
    return forward, [*[p for layer in layers for p in layer.parameters()], scale]


def looped(m):
    """One block, three times."""
    forward, weights = stack(m)
    return lambda x: forward(forward(forward(x))), weights


PLAIN = [stack, residual, normalised, product, branch, unused, tied]
NESTED = [tied_at_both_ends, shared_scale, looped]


def run(m, build, split):
    """(dX, gradients of the weights) of one B, or of I and W."""
    forward, weights = build(m)
    x = numbers(m, 2, 3)
    y = forward(x)
    g = numbers(m, 2, 3, grad=False, shift=0.4)
    if split:
        dinputs, groups = lib(m).stage_backward_input([y], [g], [x], weights)
        assert all(w.grad is None for w in weights)
        lib(m).stage_backward_weight(weights, groups)
    else:
        dinputs = lib(m).stage_backward(y, g, [x])
    return dinputs, [w.grad for w in weights]
