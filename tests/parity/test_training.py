"""Small models, each written once as a function of the library, trained on both: the loss curves are the same.

Both start from the same numbers. In float64 the curves agree to ten digits, so nothing but rounding can differ.
"""

import numpy as np
import pytest
import torch

import minigrad as mg

STEPS = 30


def mlp(m):
    model = m.nn.Sequential(m.nn.Linear(5, 16), m.nn.Tanh(), m.nn.Linear(16, 16), m.nn.ReLU(), m.nn.Linear(16, 3))
    return model, lambda x, y: m.nn.functional.cross_entropy(model(x), y), (12, 5)


def conv(m):
    model = m.nn.Sequential(m.nn.Conv2d(1, 4, 3, padding=1), m.nn.ReLU(), m.nn.MaxPool2d(2), m.nn.Conv2d(4, 6, 3, stride=2,
            padding=1), m.nn.Tanh(),
                            m.nn.AvgPool2d(2), m.nn.Flatten(), m.nn.Linear(6, 3))
    return model, lambda x, y: m.nn.functional.cross_entropy(model(x), y, label_smoothing=0.1), (12, 1, 8, 8)


def rnn(m):
    class Cell(m.nn.Module):
        """h ← tanh(W x + U h), read out at the end."""

        def __init__(self):
            super().__init__()
            self.inward, self.across, self.outward = m.nn.Linear(2, 8), m.nn.Linear(8, 8, bias=False), m.nn.Linear(8, 3)
            self.start = m.nn.Parameter(m.zeros(8))

        def forward(self, x):
            h = self.start.expand(x.shape[0], 8)
            for t in range(x.shape[1]):
                h = m.tanh(self.inward(x[:, t]) + self.across(h))
            return self.outward(h)
    model = Cell()
    return model, lambda x, y: m.nn.functional.nll_loss(m.nn.functional.log_softmax(model(x), dim=1), y), (12, 6, 2)


def attention(m):
    """One head, written out: matrix products of three dimensions, softmax, residuals."""
    class Block(m.nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value = m.nn.Linear(4, 4), m.nn.Linear(4, 4), m.nn.Linear(4, 4)
            self.out = m.nn.Linear(4, 3)

        def forward(self, x):
            scores = self.query(x) @ self.key(x).transpose(1, 2) / 2.0
            x = x + m.softmax(scores, -1) @ self.value(x)
            x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()
            return self.out(x).mean(1)
    model = Block()
    return model, lambda x, y: m.nn.functional.cross_entropy(model(x), y), (12, 5, 4)


OPTIMIZERS = {"SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True}, "Adam": {"lr": 0.01}, "AdamW": {"lr": 0.01, "amsgrad": True}}


def curve(m, build, name, dtype):
    """The loss at each step."""
    rng = np.random.default_rng(0)
    model, loss_of, shape = build(m)
    model = model.double() if dtype == "float64" else model
    with m.no_grad():
        for p in model.parameters():
            p.copy_(m.tensor(rng.uniform(-0.4, 0.4, tuple(p.shape)).astype(dtype)))
    x, y = m.tensor(rng.standard_normal(shape).astype(dtype)), m.tensor(rng.integers(0, 3, shape[0]))
    optimizer = getattr(m.optim, name)(model.parameters(), **OPTIMIZERS[name])
    losses = []
    for _ in range(STEPS):
        loss = loss_of(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses)


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), ("float64", 1e-10)])
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("build", [mlp, conv, rnn, attention], ids=lambda f: f.__name__)
def test_loss_curves(build, name, dtype, tolerance):
    ours, theirs = curve(mg, build, name, dtype), curve(torch, build, name, dtype)
    assert theirs[-1] < 0.9 * theirs[0]     # it learns: a flat curve would prove little
    # in float32 rounding grows along the way, the more so the faster it learns
    np.testing.assert_allclose(ours, theirs, rtol=tolerance * (10 if dtype == "float32" else 1), atol=tolerance)
