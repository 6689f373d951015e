"""Kernels that compute each number from the numbers with the same index. Begin with ``elementwise.py``."""
