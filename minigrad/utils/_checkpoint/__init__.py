"""The code of activation checkpointing. Begin with ``frames.py``; the public functions are in ``../checkpoint.py``."""
