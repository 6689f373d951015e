"""Hostile calls: whatever a program does with minigrad, no process dies, none hangs, and every error is ours.

    python -m tests.hostile --calls 20000 --seed 1          # MINIGRAD_PURE=1 for the interpreted mode
    python -m tests.hostile --show 1:4711                   # one call again, in this process, with its traceback

    subjects.py     what is called: every callable of every namespace, and each position of its arguments
    values.py       what it is given: plausible values, wrong types, hostile sizes, odd memory
    attacks.py      programs that change what an op, a layer or an optimiser holds between two of its steps
    calls.py        number -> call; the same seed gives the same calls on every machine and in both modes
    processes.py    each call runs in a process that may die, under limits of time and memory
    verdicts.py     what came of it: a result, an error of ours, a bare error, a crash, a hang, or other numbers than PyTorch's

Where PyTorch is installed and takes the call, its numbers are compared with ours.
"""
