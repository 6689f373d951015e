"""``python -m minigrad.doctor``: describe this installation, check that it works, and say what to do if not."""

import sys
import time

import minigrad as mg
from minigrad._build import pure
from minigrad._build.config import problems, show_config


def check():
    """Differentiate a small function and compare with the known gradient. Return an error message, or None."""
    x = mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x.exp()).sum().backward()
    expected = (mg.tensor([1.0, 2.0, 3.0]) + 1) * mg.tensor([1.0, 2.0, 3.0]).exp()
    assert x.grad is not None
    error = float((x.grad - expected).abs().max())
    return None if error < 1e-4 else f"a gradient is off by {error}"


def speed():
    """Measure how many nodes per second the backward of 2,000 small ops runs."""
    best = 0.0
    for _ in range(5):
        x = mg.ones(8, requires_grad=True)
        y = x
        for _ in range(1000):
            y = y * 1.001 + 0.1
        y = y.sum()
        start = time.perf_counter()
        y.backward()
        best = max(best, 2001 / (time.perf_counter() - start))
    return best


def main():
    """Print the report; the exit status is 1 if something is wrong."""
    print(show_config())
    print(f"{'folder':<10}{pure.ROOT}")
    wrong = check()
    print(f"{'gradients':<10}{'right' if wrong is None else 'WRONG: ' + wrong}")
    print(f"{'speed':<10}{speed():,.0f} nodes a second in backward")
    found = problems()
    for what, remedy in found:
        print(f"\nproblem:  {what}\nremedy:   {remedy}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
