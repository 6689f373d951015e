"""Hostile calls: no call of minigrad may crash or hang, and every error must be minigrad's own.

    python -m tests.hostile --calls 20000 --seed 1          # MINIGRAD_PURE=1 for the interpreted mode
    python -m tests.hostile --show 1:4711                   # one call again, in this process, with its traceback

    subjects.py     the callables: every callable of every namespace, and each position of its arguments
    values.py       the arguments: plausible values, wrong types, hostile sizes, odd memory
    attacks.py      programs that change the data of an op, a layer or an optimiser between two of its steps
    calls.py        number -> call; the same seed gives the same calls on every machine and in both modes
    processes.py    each call runs in a process that may crash, under limits of time and memory
    verdicts.py     the outcome: a result, an error of minigrad, a bare error, a crash, a hang, or other numbers than PyTorch's

If PyTorch is installed and accepts the call, its numbers are compared with minigrad's.
"""
