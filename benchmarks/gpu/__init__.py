"""Speed on a GPU, as ratios to PyTorch eager on the same GPU in the same process: ``python -m benchmarks.gpu``. See ../README.md.

    measuring.py    how a scenario is timed
    operations.py   ops on large tensors, one kernel each or a few
    programs.py     what a CPU has to do: many small ops, training steps
    __main__.py     the table
"""
