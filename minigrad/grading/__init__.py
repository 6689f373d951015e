"""Homework on the real engine: replace one part of minigrad with a function of your own, and run everything else as it is.

    with mg.grading.swap("ready_queue", MyQueue) as swap:
        loss.backward()                 # the engine asks MyQueue which node runs next
    swap.check_used()                   # an error if it never did

    python -m minigrad.grading parts                            the parts, and what each gets and returns
    python -m minigrad.grading score ready_queue my_queue.py    some forty behaviours of the engine, with your part

`PARTS` describes the parts. A part that returns something wrong raises `SwapError`, which names your function and its line.
While nothing is swapped, nothing here costs anything: a backward reads one flag, as it does for a recorder.

Mirrors nothing: no part of PyTorch's engine can be replaced. Read next: ``parts.py``, then ``_engine.py``.
"""

from minigrad.grading.parts import PARTS, Part
from minigrad.grading.swaps import Swap, SwapError, swap

__all__ = ["PARTS", "Part", "Swap", "SwapError", "swap"]
