"""Kernels that read and write where indices say, and that sort. Begin with ``indexing.py``."""
