"""A small convolutional network, and its training."""

import time
from dataclasses import dataclass, field

import minigrad as mg
import minigrad.nn.functional as F
from minigrad import nn
from minigrad.demo.data import batches


def network():
    """Two convolutions, a pooling, two linear layers: 8 by 8 pixels in, 10 scores out."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(32 * 4 * 4, 64), nn.ReLU(),
        nn.Linear(64, 10),
    )


@dataclass
class History:
    """The history of a training: a loss for each step, a test accuracy for each epoch, and the time."""

    losses: list = field(default_factory=list)
    accuracies: list = field(default_factory=list)
    seconds: float = 0.0        # spent in training steps
    interrupted: bool = False


def predictions(model, images):
    """The digit that the model reads in each image: int64 of shape (N,)."""
    model.eval()
    with mg.no_grad():
        found = model(images).argmax(1)
    model.train()
    return found


def accuracy(model, images, labels):
    """The share of images that the model reads correctly."""
    return float((predictions(model, images) == labels).float().mean())


def train(model, training, test, epochs, batch_size, lr, progress):
    """Train with AdamW. Ctrl-C ends the training early; the model keeps its current parameters.

    Args:
        model (Module): the network.
        training, test: pairs (images, labels).
        epochs (int): the number of passes over the training part.
        batch_size (int): digits per step.
        lr (float): the learning rate of the first step; it falls linearly to 0.
        progress: a tqdm bar with one unit per step.

    Returns:
        History: the losses and accuracies.
    """
    optimizer = mg.optim.AdamW(model.parameters(), lr=lr)
    history = History()
    steps = epochs * -(-len(training[0]) // batch_size)
    try:
        for _ in range(epochs):
            for images, labels in batches(training[0], training[1], batch_size):
                start = time.perf_counter()
                for group in optimizer.param_groups:        # the learning rate falls linearly to 0
                    group["lr"] = lr * (1 - len(history.losses) / steps)
                loss = F.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                history.seconds += time.perf_counter() - start
                history.losses.append(loss.item())
                progress.update()
            history.accuracies.append(accuracy(model, *test))
            progress.set_postfix(loss=f"{history.losses[-1]:.3f}", test=f"{history.accuracies[-1]:.1%}")
    except KeyboardInterrupt:
        history.interrupted = True
    return history
