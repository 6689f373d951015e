"""Kernels that sum products: matrices, convolutions; and windows. Begin with ``contraction.py``."""
