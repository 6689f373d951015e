"""Kernels that read and write at given indices, and that sort. Begin with ``indexing.py``."""
