"""Ops that read and write at places that indices or masks name: gather, scatter, ``x[...]``. Begin with ``indexing.py``."""
