"""Kernels that move numbers: views and copies. Begin with ``layout.py``."""
