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
    """What happened in training: a loss per step, an accuracy on the test part per epoch, and the time it took."""

    losses: list = field(default_factory=list)
    accuracies: list = field(default_factory=list)
    seconds: float = 0.0        # spent in training steps
    interrupted: bool = False


def predictions(model, images):
    """The digit that the model reads in each image."""
    model.eval()
    with mg.no_grad():
        found = model(images).argmax(1)
    model.train()
    return found


def accuracy(model, images, labels):
    """The share of images that are read rightly."""
    return float((predictions(model, images) == labels).float().mean())


def train(model, training, test, epochs, batch_size, lr, progress):
    """Train with AdamW; Ctrl-C stops after the current step and keeps what has been learnt.

    Args:
        progress: a tqdm bar with one unit per step.

    Returns:
        History
    """
    optimizer = mg.optim.AdamW(model.parameters(), lr=lr)
    history = History()
    steps = epochs * -(-len(training[0]) // batch_size)
    try:
        for _ in range(epochs):
            for images, labels in batches(training[0], training[1], batch_size):
                start = time.perf_counter()
                for group in optimizer.param_groups:        # the learning rate falls to 0 along a line
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
