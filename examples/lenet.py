"""LeNet-5 learns to read handwritten digits.

Y. LeCun et al., "Gradient-based learning applied to document recognition", 1998, with ReLU and maxima where it had sigmoids and
means. The digits are the 1,797 scans of 8 by 8 pixels in scikit-learn, enlarged to the 28 by 28 that the network was made for.

    python examples/lenet.py                        with minigrad
    python examples/lenet.py --library both         and with PyTorch, from the same weights
"""

import sys

import numpy as np
from common import arguments, run, same_weights, train
from sklearn.datasets import load_digits


def network(nn):
    """The layers, from 28 by 28 pixels to 10 scores."""

    class LeNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
            self.linear1, self.linear2, self.linear3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

        def forward(self, x):
            F = nn.functional
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)      # 6 maps of 14 by 14
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)      # 16 maps of 5 by 5
            x = F.relu(self.linear1(x.flatten(1)))
            return self.linear3(F.relu(self.linear2(x)))

    return LeNet()


def digits(m):
    """Images (N, 1, 28, 28) in [0, 1] and labels (N)."""
    scans, labels = load_digits(return_X_y=True)
    images = m.tensor((scans / 16).astype(np.float32)).reshape(-1, 1, 8, 8)
    return m.nn.functional.interpolate(images, size=(28, 28), mode="bilinear", align_corners=False), m.tensor(labels)


def batches(images, labels, size, seed):
    """Random batches, without end."""
    rng = np.random.default_rng(seed)
    while True:
        chosen = rng.integers(0, len(labels), size).tolist()
        yield images[chosen], labels[chosen]


def train_one(m, options):
    """Train with the library `m`. Returns the loss of each step."""
    model = network(m.nn)
    same_weights(m, model, options.seed)
    optimizer = m.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9)
    images, labels = digits(m)

    def loss_of(model, batch):
        x, y = batch
        return m.nn.functional.cross_entropy(model(x), y)

    losses = train(model, optimizer, loss_of, batches(images, labels, options.batch_size, options.seed), options.steps, m.__name__)
    with m.no_grad():
        right = (model(images).argmax(1) == labels).float().mean().item()
    print(f"{m.__name__} reads {right:.1%} of all digits")
    return losses


def main(argv=None):
    options = arguments(__doc__, steps=(400, "training steps"), batch_size=(32, "digits per step"), lr=(0.02, "learning rate"))
    return run(options.parse_args(argv), train_one)


if __name__ == "__main__":
    main(sys.argv[1:])
