"""Kernels that sum products: matrix products and convolutions; and pooling. Begin with ``contraction.py``."""
