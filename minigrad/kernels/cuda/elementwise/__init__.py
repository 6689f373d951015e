"""Kernels that compute each number from the numbers at its place. Begin with ``elementwise.py``."""
