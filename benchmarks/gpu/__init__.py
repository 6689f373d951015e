"""Speed on a GPU, as ratios to PyTorch eager on the same GPU in the same process: ``python -m benchmarks.gpu``. See ../README.md.

    measuring.py    timing of a scenario
    operations.py   ops on large tensors, one kernel each or a few
    programs.py     programs that the CPU limits: many small ops, training steps
    __main__.py     the table
"""
