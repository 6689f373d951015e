"""Run a program that was written for PyTorch, unchanged.

    python -m minigrad.run train.py --epochs 3      the arguments after the script are the script's             __main__.py
    python -m minigrad.run --check train.py         list the names that minigrad lacks; run nothing             check.py
    python -m minigrad.run --record 2 train.py      save a page to step through the second backward             watch.py
    python -m minigrad.run --why train.py           say why it does not train                                   watch.py
    python -m minigrad.run --compare train.py       run it on both libraries, and show the first other loss     compare.py

    mg.as_torch()                                   the same in a notebook: from now on `import torch` is ours  as_torch.py

Without a counterpart in PyTorch. Read next: ``as_torch.py``.
"""

from minigrad.run.as_torch import as_torch

__all__ = ["as_torch"]
