"""The digits CNN and the small GPT in eight parts, for pipelines of four ranks: what they are trained on, and their loss."""

import importlib
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import minigrad as mg

PARTS, STEPS = 8, 3
ROWS, LENGTH = 16, 6


class Places(mg.nn.Module):
    """The first part of a GPT: letters and their places."""

    def __init__(self, gpt):
        super().__init__()
        self.letter, self.place = gpt.letter, gpt.place

    def forward(self, tokens):
        return self.letter(tokens) + self.place(mg.arange(tokens.shape[1]))


class Scores(mg.nn.Module):
    """Scores (N, T, letters) as rows (N * T, letters), for the loss."""

    def forward(self, x):
        return x.flatten(0, 1)


def digits_cnn():
    """The parts of a CNN for images of 8 by 8."""
    nn = mg.nn
    mg.manual_seed(0)
    layers = [(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU()), (nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
              (nn.Conv2d(4, 8, 3, padding=1), nn.ReLU()), (nn.Conv2d(8, 8, 3, padding=1), nn.MaxPool2d(2), nn.Flatten()),
              (nn.Linear(32, 16), nn.Tanh()), (nn.Linear(16, 16), nn.Tanh()), (nn.Linear(16, 16), nn.Tanh()), (nn.Linear(16, 10),)]
    return [nn.Sequential(*part).double() for part in layers]


def scans():
    """Batches of the digits of scikit-learn, and their labels."""
    from sklearn.datasets import load_digits
    images, labels = load_digits(return_X_y=True)
    x, y = mg.tensor(images / 16).reshape(-1, 1, 8, 8), mg.tensor(labels)
    return [(x[i * ROWS:(i + 1) * ROWS].clone(), y[i * ROWS:(i + 1) * ROWS].clone()) for i in range(STEPS)]


def example():
    """The module examples/gpt.py."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
    return importlib.import_module("gpt")


def small_gpt():
    """The parts of the GPT of examples/gpt.py, with a block in each but the first and the last."""
    mg.manual_seed(0)
    sizes = SimpleNamespace(width=8, heads=2, length=LENGTH, layers=PARTS - 2)
    model = example().network(mg, len(example().corpus()[1]), sizes).double()
    return [Places(model), *model.blocks, mg.nn.Sequential(model.norm, model.head, Scores())]


def pieces():
    """Batches of the text that the example learns, and the letters that follow."""
    batches = example().batches(mg, example().corpus()[0], ROWS, LENGTH, 0)
    return [next(batches) for _ in range(STEPS)]


# name: (the parts of the model, its batches)
MODELS = {"digits": (digits_cnn, scans), "gpt": (small_gpt, pieces)}


def loss_of(scores, target):
    """The mean over all letters or digits. Scores of a microbatch are rows; its targets have the shape of the batch."""
    return mg.nn.functional.cross_entropy(scores, target.reshape(-1))


def curve_of_one(parts, batches, optimizer):
    """The loss of each step, in one process: what all others should have."""
    model = mg.nn.Sequential(*parts)
    steps = optimizer(model.parameters())
    losses = []
    for x, y in batches:
        steps.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        steps.step()
        losses.append(loss.item())
    assert len(set(losses)) == STEPS and all(map(math.isfinite, losses))
    return losses
