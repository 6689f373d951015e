"""Ops that read and write at indices or masks: gather, scatter, ``x[...]``. Begin with ``indexing.py``."""
