"""Checkpoints of several ranks. Mirrors ``torch.distributed.checkpoint``.

    state_dict_saver.py     rank 0 writes what all ranks have
    state_dict_loader.py    each rank reads it, be they as many as before or not

It is for data parallelism, where all ranks have the same model. The stages of a pipeline have different ones: one checkpoint each.
"""

from minigrad.distributed.checkpoint.state_dict_loader import load
from minigrad.distributed.checkpoint.state_dict_saver import save

__all__ = ["load", "save"]
