"""Programs of many small ops, limited by the CPU that launches the kernels, and training steps.

The launch overhead is wall-clock time without waiting for the GPU: the time after which Python goes on.
"""

import time

from benchmarks.gpu.measuring import Scenario
from benchmarks.scenarios import array, gpt, rng, training_step

__all__ = ["programs"]

SLOWEST = 1 / 1.5       # the floor of the ratio: at most 1.5 times PyTorch's time per op


def small_ops(n, with_grad):
    """Seconds per op of a chain of n products and sums of 64 numbers."""
    def make(m):
        x, factor, offset = [m.randn(64, device="cuda") for _ in range(3)]
        factor.mul_(0.01).add_(1)
        x.requires_grad_(with_grad)

        def run():
            m.cuda.synchronize()
            start = time.perf_counter()
            y = x
            for _ in range(n // 2):
                y = y * factor + offset
            return (time.perf_counter() - start) / n
        if with_grad:
            return run

        def without_grad():
            with m.no_grad():
                return run()
        return without_grad
    return make


def small_backward(n):
    """Seconds per node of the backward of such a chain."""
    def make(m):
        x, factor, offset, gradient = [m.randn(64, device="cuda") for _ in range(4)]
        x.requires_grad_()

        def run():
            y = x
            for _ in range(n // 2):
                y = y * factor + offset
            m.cuda.synchronize()
            start = time.perf_counter()
            y.backward(gradient)
            found = (time.perf_counter() - start) / n
            x.grad = None
            return found
        return run
    return make


def digits_step(batch, channels):
    """A training step of the small convolutional network of tutorials/projects/digits_cnn.py, on 8 x 8 images."""
    images, labels = array((batch, 1, 8, 8)), rng.integers(0, 10, batch)

    def make(m):
        nn = m.nn
        model = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1), nn.ReLU(), nn.Conv2d(channels, 2 * channels, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * channels, 64), nn.ReLU(), nn.Linear(64, 10)).to("cuda")
        return training_step(m, model, m.optim.AdamW(model.parameters(), lr=3e-3), images, labels, "cuda")
    return make


def programs(toy):
    """The scenarios; with `toy`, tiny ones that only show that they run."""
    ops, nodes, batch, channels = (4, 4, 2, 1) if toy else (1000, 200, 64, 16)
    size = {"batch": 2, "length": 3, "width": 4, "layers": 1, "heads": 2, "vocabulary": 5} if toy else {}
    step = gpt(**size, device="cuda")
    return [
        Scenario("launch of an op of 64 numbers, no_grad", small_ops(ops, False), wall=True, ratio=SLOWEST),
        Scenario("the same, with gradients", small_ops(ops, True), wall=True, ratio=SLOWEST),
        Scenario("backward of a chain, by the node", small_backward(nodes), wall=True, ratio=SLOWEST),
        Scenario("digits CNN training step, batch 64, AdamW", digits_step(batch, channels)),
        Scenario("GPT training step, batch 8, 32 tokens, width 64, 2 layers, AdamW", lambda m: step(m, "")),
    ]
