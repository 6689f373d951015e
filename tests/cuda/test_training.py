"""Training on a GPU: from the same weights and batches, the losses of the CPU, step by step. Toy sizes on the simulator."""

import numpy as np
import pytest

import minigrad as mg
import minigrad.nn.functional as F
from minigrad import nn
from tests.cuda.conftest import SIMULATED

RELATIVE = 1e-4         # float32: sums are taken in another order, and each step trains on what the last left

OPTIMIZERS = {
    "SGD": lambda parameters: mg.optim.SGD(parameters, lr=0.02, momentum=0.9),
    "AdamW": lambda parameters: mg.optim.AdamW(parameters, lr=1e-3),
}


def digits_cnn(side, channels, hidden):
    """The network of tutorials/projects/digits_cnn.py."""
    return nn.Sequential(
        nn.Conv2d(1, channels, 3, padding=1), nn.ReLU(), nn.Conv2d(channels, 2 * channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(2 * channels * (side // 2) ** 2, hidden), nn.ReLU(), nn.Linear(hidden, 10))


class Block(nn.Module):
    """Causal attention, and a perceptron, on what has been normalised; both are added."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.perceptron = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = [part.view(n, t, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=2)]
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(mixed.transpose(1, 2).reshape(n, t, width))
        return x + self.perceptron(self.norm2(x))


class GPT(nn.Module):
    """Tokens (N, T) in, scores (N, T, letters) out."""

    def __init__(self, letters, width, heads, layers, length):
        super().__init__()
        self.letter, self.place = nn.Embedding(letters, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters)

    def forward(self, tokens):
        x = self.letter(tokens) + self.place(mg.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(x)))


def losses(model, weights, optimizer, batches, device):
    """The losses of training a model that begins with `weights`, a step per batch."""
    model.load_state_dict(weights)
    model.to(device)
    optimizer = OPTIMIZERS[optimizer](model.parameters())
    found = []
    for x, y in batches:
        optimizer.zero_grad()
        scores = model(mg.tensor(x, device=device))
        loss = F.cross_entropy(scores.flatten(0, -2), mg.tensor(y, device=device).flatten())
        loss.backward()
        assert all(p.grad.device.type == device for p in model.parameters())
        optimizer.step()
        found.append(loss.detach())
    return [loss.item() for loss in found]


def check(make, optimizer, batches):
    mg.manual_seed(0)
    first = make()
    weights = {name: value.clone() for name, value in first.state_dict().items()}
    expected = losses(first, weights, optimizer, batches, "cpu")
    found = losses(make(), weights, optimizer, batches, "cuda")
    np.testing.assert_allclose(found, expected, rtol=RELATIVE)
    assert expected[-1] < expected[0]       # it has learnt something


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_cnn_on_digits(optimizer):
    side, channels, hidden, batch, steps = (4, 1, 4, 3, 3) if SIMULATED else (8, 16, 64, 64, 25)
    rng = np.random.default_rng(0)
    means = rng.standard_normal((10, 1, side, side))        # a digit is a pattern and noise
    batches = []
    for _ in range(steps):
        y = rng.integers(0, 10, batch)
        batches.append(((means[y] + 2 * rng.standard_normal((batch, 1, side, side))).astype(np.float32), y))
    if SIMULATED:
        batches = batches[:1] * steps       # so few steps teach something of one batch only
    check(lambda: digits_cnn(side, channels, hidden), optimizer, batches)


def test_a_gpt_on_letters():
    letters, width, heads, layers, length, batch, steps = (5, 4, 2, 1, 3, 2, 3) if SIMULATED else (64, 64, 4, 2, 32, 8, 40)
    rng = np.random.default_rng(0)
    text = np.cumsum(rng.integers(1, 3, 4000)) % letters    # a letter is one or two after the last
    batches = []
    for _ in range(steps):
        starts = rng.integers(0, len(text) - length - 1, batch)
        pieces = np.stack([text[at:at + length + 1] for at in starts])
        batches.append((pieces[:, :-1], pieces[:, 1:]))
    if SIMULATED:
        batches = batches[:1] * steps
    check(lambda: GPT(letters, width, heads, layers, length), "AdamW", batches)
